"""The same requests and servers through every method of scheduling, side by side."""
