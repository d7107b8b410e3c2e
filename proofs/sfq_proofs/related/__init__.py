"""The related methods, put to the same questions, and what came of it (article §4, §6)."""
