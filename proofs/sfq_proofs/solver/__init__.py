"""From the transition relation to the solvers: terms, the model, questions, and which fail for which mutant."""
