"""The gateway: OpenAI's HTTP interface in front of a fleet, with the order of dispatch decided by the dispatcher.

It needs the extra `gateway`. The command is `sfq-gateway`.
"""
