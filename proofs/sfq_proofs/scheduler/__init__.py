"""Why the scheduler that runs is the machine, four ways, and what else is shown of it (IMPL-…)."""
