"""The dispatcher in front of servers: thousands of simulated runs, each held against the specification (FLEET-…)."""
