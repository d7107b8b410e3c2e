"""The sub-commands of `sfq-spec`, one module each. What they do is elsewhere; here is how they speak."""
