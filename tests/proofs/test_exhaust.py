"""The exhaustive search sees what is there: bounds attained, and broken by rules that are wrong."""

from __future__ import annotations

import pytest

from sfq_proofs.searches.exhaust import Instance, events, graph, monitor
from sfq_proofs.searches.witness import replay
from sfq_spec.machine import Machine, take
from sfq_spec.mutants import BY_NAME
from sfq_spec.watch import Watch

SMALL = Instance(2, (1, 2, 3))
WEIGHED = Instance(2, (1, 3), (1, 2))


@pytest.mark.claims("FAIR-LEAD", "FAIR-PAIR")
def test_the_rules_break_nothing() -> None:
    for instance in (SMALL, WEIGHED, Instance(3, (1, 2))):
        found = graph(instance)
        assert found.broken == []
        assert len(found.edges) > 40
        for i in range(instance.users):
            for j in range(instance.users):
                if i != j:
                    report = monitor(found, i, j)
                    assert report.violation == ()
                    assert 0 < report.worst <= 2 * instance.greatest


@pytest.mark.claims("FAIR-TIGHT")
def test_the_bound_is_attained_by_the_earlier_id_alone() -> None:
    """FAIR-TIGHT: with A before B two of the largest charges are reached; the other way round a tie is lost."""
    found = graph(SMALL)
    first, second = monitor(found, 0, 1), monitor(found, 1, 0)
    assert (first.worst, first.tight) == (6, True)
    assert (second.worst, second.tight) == (5, False)


@pytest.mark.parametrize("instance", [SMALL, WEIGHED])
def test_the_widest_run_is_one_of_the_machine(instance: Instance) -> None:
    report = monitor(graph(instance), 0, 1)
    state, watch = Machine(), Watch()
    for event in events(instance, report.widest):
        taken = take(state, event)
        if not instance.weights:
            assert watch.observe(state, event, taken) == []
        state = taken.state
    if not instance.weights:
        assert watch.worst == report.worst


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("clock-at-finish", "INV-LOWER"),
        ("no-idle-reset", "RESET-LEVEL"),
        ("reset-when-own-queue-empties", "RESET-OWN"),
        ("counts-requests", "DISP-BEFORE"),
        ("last-id-first", "R-SELECT"),
        ("join-behind-everyone", "IDLE-PROMPT"),
    ],
)
def test_wrong_rules_break_claims(name: str, claim: str) -> None:
    rules = BY_NAME[name].rules
    assert rules is not None
    assert claim in {broken for broken, _, _ in graph(Instance(3, (1, 2)), rules).broken}


@pytest.mark.parametrize("name", ["reset-on-return", "leaving-forgives", "counts-requests"])
def test_wrong_rules_pass_the_bound(name: str) -> None:
    mutant = BY_NAME[name]
    assert mutant.rules is not None
    report = monitor(graph(SMALL, mutant.rules), 0, 1)
    assert report.violation
    assert "FAIR-LEAD" in replay(mutant.take, events(SMALL, report.violation))


def test_a_world_that_is_not_small_is_refused() -> None:
    rules = BY_NAME["frozen-clock"].rules
    assert rules is not None
    with pytest.raises(RuntimeError, match="not small"):
        graph(SMALL, rules, most=1_000)
