"""What runs: the production scheduler. Imports the vocabulary of `sfq_spec.trace` and no rule of the spec."""
