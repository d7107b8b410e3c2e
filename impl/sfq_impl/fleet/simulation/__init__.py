"""The real dispatcher on a clock that is not real, in an order of tasks drawn from a seed, before servers that fail."""
