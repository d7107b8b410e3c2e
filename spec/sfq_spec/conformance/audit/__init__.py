"""What a trace or a log shows: whether its order is the machine's, and how unfair any scheduler was, exactly."""
