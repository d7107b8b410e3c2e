"""What single transitions promise: selection, charge, rejoining, reset, and the events that change nothing."""

from __future__ import annotations

from collections.abc import Iterator

from sfq_proofs.solver.induction import Obligation
from sfq_proofs.solver.model import Event, Model
from sfq_spec import properties as claim


def obligations(model: Model) -> Iterator[Obligation]:
    """Every step claim of every event that it speaks of."""
    for event in model.events.values():
        before = (*model.known(), *event.happens)
        for name, goal in _goals(model, event).items():
            yield Obligation(f"{event.name}: {name}", (name,), before, goal)


def _goals(model: Model, event: Event) -> dict[str, object]:
    logic, s, step, u, o = model.logic, model.s, event.step, event.user, model.other
    match event.name:
        case "dispatch":
            return {
                "R-SELECT": claim.select_least(logic, s, u, o),
                "DISP-BEFORE": claim.disp_before(logic, s, step, u, event.cost),
                "RESET-ALONE": claim.reset_alone(logic, step),
                "RESET-OWN": claim.reset_own(logic, step, u, o),
            }
        case "cancel":
            return {
                "RESET-ALONE": claim.reset_alone(logic, step),
                "RESET-OWN": claim.reset_own(logic, step, u, o),
            }
        case "arrive":
            return {
                "IDLE-FLOOR": claim.idle_floor(logic, s, step, u),
                "IDLE-PROMPT": claim.idle_prompt(logic, s, step, u, o),
            }
        case "complete":
            return {"R-FINAL": claim.untouched(logic, s, step, o)}
        case "weight":
            return {"R-WEIGHT": claim.untouched(logic, s, step, o)}
        case _:
            return {"R-UPKEEP": claim.untouched(logic, s, step, o)}
