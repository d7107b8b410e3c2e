"""Runs that answer a question with no and are longer than a search goes. Each is played, and must break at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfq_proofs.related.search import Found, Place, after
from sfq_spec.conformance.shorthand import read
from sfq_spec.related.behaviour import QUESTIONS, Question
from sfq_spec.related.model import Model, model
from sfq_spec.trace import Event

BY_ID = {question.id: question for question in QUESTIONS}

RUNS: Mapping[tuple[str, str], str] = {
    # The lift to the least counter of those that wait finds nobody: what A was served alone stands for ever.
    ("vtc-artifact", "LEAD"): "+A 3; D; +A 3; D; +B 1×6; +A 1; D×5",
    ("vtc-artifact", "LEVEL"): "+A 3; D; ✓ A1; +B 1×2; +A 1; D×2",
    # Who has attained most squeezes the difference of the others, and then it is the wait that counts.
    ("las", "OTHERS"): "+B 3; D; ✓ B1; +C 90; D; ✓ C1; +B 1; +A 1; +C 1; D",
    ("las-v1", "OTHERS"): "+B 3; D; ✓ B1; +C 90; D; ✓ C1; +B 1; +A 1; +C 1; D",
}


def known(policy: str, question: str) -> Found | None:
    """The run that is known to break a question, played again. Raises `AssertionError` where it does not break it."""
    run = RUNS.get((policy, question))
    if run is None:
        return None
    events = read(run)
    at = breaks(policy, BY_ID[question], events)
    assert at == len(events), f"{policy}, {question}: {run} breaks it at event {at}, not at its end"
    return Found(policy, question, tuple(events), at)


def breaks(policy: str, question: Question, events: Sequence[Event], scheduler: Model | None = None) -> int | None:
    """The number of the event at which a run breaks a question, on some branch of its monitor; None: it does not.

    Asked of a model that no name stands for, if one is given.
    """
    scheduler = scheduler or model(policy)
    places = [Place(question.first(scheduler), ())]
    for number, event in enumerate(events, start=1):
        following = []
        for place in places:
            for next_place, holds in after(scheduler, question, place, event):
                if not holds:
                    return number
                following.append(next_place)
        places = following
    return None
