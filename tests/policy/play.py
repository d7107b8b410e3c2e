"""Policies as they run, on a clock set by hand: what the searches of `sfq_proofs` have, for tests."""

from __future__ import annotations

from sfq_proofs.related.las_play import Beside, Clock, Play, program_aware

__all__ = ["Beside", "Clock", "Play", "program_aware"]
