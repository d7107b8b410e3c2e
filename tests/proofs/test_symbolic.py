"""The contracts that CrossHair executes: not empty, about the lines that matter, able to fail; the last full run."""

from __future__ import annotations

import pytest

from sfq_proofs.scheduler import confirming, symbolic
from sfq_proofs.scheduler.confirming import check, confirm, confirm_all, hunt, missed, recorded, samples
from sfq_proofs.scheduler.faults import COMMON, NOT_EXECUTED, Fault
from sfq_proofs.scheduler.symbolic import Contract, Shape, begins, contracts, shapes, steps

UP_TO_TWO = [contract for users in (1, 2) for contract in contracts(users)]
AND_SOME_OF_THREE = [*UP_TO_TWO, Contract(Shape(3, (0, 1, 2), (2,)), "cancel", 1, "a")]

OTHER_FUNCTIONS = {
    "_rebase": "rebasing",
    "upkeep": "rebasing",
    "_recover": "exceptions out of nowhere",
    "virtual_time": "a view",
    "lag": "a view",
    "next_request": "a view",
    "waiting_users": "a view",
    "waiting_requests": "a view",
    "requests_in_flight": "a view",
    "remembered_users": "a view",
    "__init__": "the text of an error",
}
OTHER_LINES = {
    "set_weight: self._rebase(exact.numerator)": "rebasing",
    "arrive: raise Overlapping": "a call within a call",
    "cancel: raise Overlapping": "a call within a call",
    "dispatch: raise Overlapping": "a call within a call",
    "recost: raise Overlapping": "a call within a call",
    "set_weight: raise Overlapping": "a call within a call",
    "arrive: cost = self._read_cost(cost)": "costs that are no integers",
    "_read_cost: self._integral = False": "costs that are no integers",
    "dispatch: self._busy = False": "floats",
    "dispatch: raise charge_lost(request.request, start, cost, per_cost)": "floats",
    'arrive: user, request = _text("user", user), _text("request", request)': "ids that are no text",
    '_text: raise TypeError(f"{field}: an id is a str, not {type(value).__name__}")': "ids that are no text",
}
"""What no contract is about, besides the handlers of exceptions."""


def vacuous(v: int) -> bool:
    """
    pre: v > 0 and v < 0
    post: _
    """
    return True


def wrong(v: int) -> bool:
    """
    pre: v > 0
    post: _
    """
    return v != 123_456_789


def endless(v: int) -> bool:
    """
    pre: v > 0
    post: _
    """
    return len(str(v)) > 0


@pytest.mark.parametrize(
    ("function", "state"), [(vacuous, "PRE_UNSAT"), (wrong, "POST_FAIL"), (endless, "CANNOT_CONFIRM")]
)
def test_what_is_not_shown_is_not_confirmed(function: object, state: str) -> None:
    said = check(state, function, patience=1.5)  # type: ignore[arg-type]
    assert said.state == state
    assert not said.confirmed


@pytest.mark.claims("IMPL-REFINE")
@pytest.mark.parametrize("contract", list(contracts(1))[::4], ids=lambda contract: contract.name)
def test_one_user(contract: Contract) -> None:
    (said,) = confirm([contract])
    assert said.confirmed, said


def test_every_contract_has_states_that_meet_it() -> None:
    for contract in [*UP_TO_TWO, *list(contracts(3))[::20]]:
        assert any(True for _ in samples(contract)), contract.name


def test_a_contract_without_such_states_would_be_found_out() -> None:
    """The first user in the heap is gone, which the invariant excludes whatever the numbers are."""
    impossible = Contract(Shape(2, (0,), (0,)), "arrive", 1)
    assert list(samples(impossible)) == []
    (said,) = confirm([impossible])
    assert said.state == "PRE_UNSAT"


def test_contracts_are_about_the_lines_that_matter() -> None:
    """What their samples run past is what is listed above, no more and no less."""
    left = missed(AND_SOME_OF_THREE)
    assert {line for line in left if line.partition(":")[0] not in OTHER_FUNCTIONS} == set(OTHER_LINES)
    assert {line.partition(":")[0] for line in left} >= set(OTHER_FUNCTIONS)


def test_shapes_are_all_there_are() -> None:
    """The heap's orders, who is gone but never the first and never more than half, and who is known besides."""
    assert [len(list(shapes(users))) for users in (1, 2, 3)] == [3, 12, 62]
    assert len({contract.name for contract in contracts(3)}) == len(list(contracts(3)))


def test_a_wrong_answer_breaks_a_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    contract = Contract(Shape(2, (0, 1)), "dispatch", 0, "a")
    numbers = (0, 0, 3, 1, 2)
    assert begins(contract, numbers)
    assert steps(contract, numbers)
    monkeypatch.setattr(symbolic.under_test, "dispatch", lambda self: None)
    assert not steps(contract, numbers)


def test_the_last_run_of_all_contracts() -> None:
    """It was about the code as it is; where this fails, run `python -m sfq_proofs.scheduler.confirming` again."""
    record = recorded()
    assert record.code == confirming.fingerprint()
    assert record.contracts == sum(len(list(contracts(users))) for users in range(1, record.users + 1))
    assert record.users >= 3
    assert record.confirmed == record.contracts
    assert record.others == ()


@pytest.mark.claims("IMPL-REFINE")
@pytest.mark.deep
def test_up_to_two_users() -> None:
    assert [said for said in confirm_all(2, lambda said: None, most=1) if not said.confirmed] == []


@pytest.mark.claims("IMPL-REFINE")
@pytest.mark.deep
@pytest.mark.parametrize("fault", COMMON, ids=lambda fault: fault.name)
def test_a_planted_fault_breaks_a_contract(fault: Fault) -> None:
    assert (hunt(fault) is None) == (fault.name in NOT_EXECUTED)
