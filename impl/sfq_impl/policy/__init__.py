"""Policies that pick a queue: the interfaces of llm-d's flow control in Python terms, and four policies by name."""
