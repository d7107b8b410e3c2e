"""Why what runs is what is right: proofs, exhaustion and refinement. Nothing imports this room."""
