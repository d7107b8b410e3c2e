"""The second section of the kit: the `las` strategy of the program-aware policy, in each of its versions."""
