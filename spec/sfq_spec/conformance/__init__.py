"""The conformance kit: other people's schedulers are validated, and logs of any scheduler are audited."""
