"""Leads without bound, forgotten debts, picks in advance, and the floor: each shown, and each able to fail."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from sfq_proofs.searches import apart
from sfq_proofs.searches.exhaust import Edge, Instance, graph
from sfq_proofs.searches.search import World, shortest
from sfq_proofs.searches.witness import in_short
from sfq_proofs.solver.induction import prove, refuted
from sfq_proofs.theorems import cycles, granularity, repaired
from sfq_proofs.theorems.cycles import ABUSE, BANK, WORLD, Cycle, find
from sfq_spec import machine
from sfq_spec.competition import SFQ
from sfq_spec.machine import Machine
from sfq_spec.mutants import BY_NAME
from sfq_spec.trace import Arrive, Dispatch


def short(run: tuple[object, ...] | None) -> str:
    return " ".join(in_short(event) if not isinstance(event, frozenset) else "offer" for event in run or ())  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def abuse() -> Cycle:
    found = find(graph(WORLD, ABUSE))
    assert found is not None
    return found


@pytest.mark.claims("FAIR-ABUSE")
def test_a_turn_under_reset_on_return(abuse: Cycle) -> None:
    assert [(edge.kind, edge.user) for edge in abuse.turn] == [("dispatch last", 0), ("arrive", 0)]
    assert abuse.gain == 2
    assert abuse.turn[-1].target == abuse.state
    assert cycles.leads(abuse, 40, ABUSE) == [2 * turn for turn in range(1, 41)]


@pytest.mark.parametrize("instance", [WORLD, Instance(2, (1, 2, 3)), Instance(2, (1, 3), (1, 2)), Instance(3, (1, 2))])
def test_no_turn_gains_by_the_rules(instance: Instance) -> None:
    found = graph(instance)
    pairs = [(i, j) for i in range(instance.users) for j in range(instance.users) if i != j]
    assert [find(found, i, j) for i, j in pairs] == [None] * len(pairs)


def test_other_rules_that_forgive_have_a_turn_too() -> None:
    found = find(graph(WORLD, BY_NAME["leaving-forgives"].rules or SFQ))
    assert found is not None
    assert found.gain > 0


@pytest.mark.claims("FAIR-ABUSE", "FAIR-BANK")
def test_every_event_of_a_turn_is_proved_whatever_v_is() -> None:
    verdicts = [prove(obligation) for obligation in cycles.obligations()]
    assert [claim for verdict in verdicts for claim in verdict.claims] == ["FAIR-ABUSE"] * 2 + ["FAIR-BANK"] * 3
    assert all(verdict.holds for verdict in verdicts)


def test_by_the_rules_it_is_the_return_that_leads_elsewhere() -> None:
    assert [obligation.name for obligation in cycles.obligations(SFQ, SFQ) if refuted(obligation)] == [
        "reset-on-return, event 2 of a turn: arrive",
        "bank-while-idle, A returns",
    ]


def test_a_turn_that_does_not_lead_back_is_refuted(abuse: Cycle) -> None:
    astray = replace(abuse, turn=(abuse.turn[0], abuse.turn[1]._replace(target=((0, 0), (False, True)))))
    obligations = list(cycles.edge_by_edge("astray", ("FAIR-ABUSE",), ABUSE, astray))
    assert [refuted(obligation) for obligation in obligations] == [False, True]


@pytest.mark.claims("FAIR-BANK")
def test_what_is_saved_is_spent() -> None:
    assert [cycles.spent(n, BANK) for n in (0, 1, 10, 50)] == [1, 2, 11, 51]
    assert max(cycles.spent(n, SFQ) for n in (0, 1, 10, 50)) == 2


def test_the_normal_form_of_the_search_is_sound() -> None:
    """Every edge of a small world is one of the real competition, from wherever it stands so (see `exhaust`)."""
    small = Instance(2, (1,))
    edges = [(state, edge) for state, edges in graph(small).edges.items() for edge in edges]
    assert len(edges) > 30
    for state, edge in edges:
        turn = Cycle(state, (), (edge,), 0)
        (obligation,) = cycles.edge_by_edge("normal", ("FAIR-LEAD",), SFQ, turn)
        assert not refuted(obligation), (state, edge)


def test_an_edge_that_is_not_there_is_refuted() -> None:
    level = ((0, 0), (True, True))
    wrong = Cycle(level, (), (Edge("dispatch", 1, 1, 1, ((0, 1), (True, True))),), 0)
    (obligation,) = cycles.edge_by_edge("wrong", ("FAIR-LEAD",), SFQ, wrong)
    assert refuted(obligation)


# Debts, picks, overtaking


@pytest.mark.claims("KEEP-DEBT")
def test_a_forgotten_debtor_is_seen_from_every_state() -> None:
    assert short(apart.forgetful()) == "+A1(1) +B1(1) D upkeep +A2(1) D"
    for instance in apart.WORLDS:
        states, unseen = apart.debtors(instance)
        assert states > 20
        assert unseen == 0


def test_under_reset_on_return_a_debtor_can_be_forgotten() -> None:
    assert apart.debtors(apart.WORLDS[0], ABUSE)[1] > 0


def test_states_of_one_sort_are_told_apart_by_nothing() -> None:
    found = graph(Instance(2, (1, 2)))
    sort = apart.sorts(found)
    assert 1 < len(set(sort.values())) < len(sort)
    for state, edges in found.edges.items():
        for other, others in found.edges.items():
            if sort[state] == sort[other]:
                here = {(edge.kind, edge.user, edge.cost): sort[edge.target] for edge in edges}
                assert here == {(edge.kind, edge.user, edge.cost): sort[edge.target] for edge in others}


@pytest.mark.claims("BATCH-FRESH")
def test_two_picked_at_once() -> None:
    run = apart.picking()
    assert run is not None
    assert short(run) == "+A1(3) +A2(1) D +B1(1) D +B2(1) D"
    assert "INV-LOWER" in apart.broken_by_picking(run)
    assert apart.broken_by_picking(run[:-1]) == []


@pytest.mark.claims("PLACE-OVERTAKE")
def test_v_set_by_who_overtakes() -> None:
    assert short(apart.overtaking()) == "+A1(1) +A2(1) D +B1(1) offer D"
    assert apart.overtaking(SFQ.join) is None


def test_every_search_apart_holds() -> None:
    findings = apart.findings()
    assert all(finding.holds and finding.refuted for finding in findings)
    assert [finding.claims for finding in findings] == [(claim,) for claim in apart.CLAIMS]


def test_a_shortest_run_is_shortest() -> None:
    def sends_b(state: Machine, memory: None, event: object) -> tuple[Machine, None, bool]:
        taken = machine.take(state, event)  # type: ignore[arg-type]
        return taken.state, None, isinstance(event, Dispatch) and taken.answer.user == "B"

    assert shortest(World(), sends_b, None) == (Arrive("B", "B1", 1), Dispatch())
    assert shortest(World(), sends_b, None, longest=1) is None


# The floor, and what is repaired


@pytest.mark.claims("GRAN-FLOOR")
def test_no_order_stays_below_the_larger_charge() -> None:
    (finding,) = granularity.findings()
    assert finding.holds
    (obligation,) = granularity.obligations()
    assert prove(obligation).holds


def test_the_floor_is_no_higher() -> None:
    one, five = Fraction(1), Fraction(5)
    assert granularity.least((one, five)) == 5
    assert granularity.least((one, one)) == 1
    assert granularity.worst((0, 1, 0, 1), (one, one)) == 1
    assert granularity.worst((0, 0, 1), (one, five)) == 5
    assert granularity.worst((1, 0, 0), (one, five)) == 5


def test_a_shorter_order_may_stay_below() -> None:
    assert granularity.worst((0, 0), (Fraction(1), Fraction(5))) == 2


@pytest.mark.claims("FAIR-LEVEL", "DRAIN-SAME")
def test_what_is_repaired_is_proved() -> None:
    verdicts = [prove(obligation) for obligation in repaired.obligations()]
    assert [verdict.claims for verdict in verdicts] == [("FAIR-LEVEL",), ("DRAIN-SAME",)]
    assert all(verdict.holds for verdict in verdicts)


def test_draining_matters_where_debts_are_forgiven() -> None:
    (finding,) = repaired.findings()
    assert finding.holds
    assert finding.refuted == ("reset-on-return", "leaving-forgives")
