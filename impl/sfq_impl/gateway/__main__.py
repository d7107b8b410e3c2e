"""`python -m sfq_impl.gateway`, the same as `sfq-gateway`."""

from sfq_impl.gateway.cli import main

main()
