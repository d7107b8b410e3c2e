"""The table of a run, against the one in the article (§2.7)."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from sfq_spec.running import run
from sfq_spec.scheduler import MachineScheduler, Scheduler, load
from sfq_spec.table import MOST_USERS, layout, observe
from sfq_spec.trace import Entry, read


def script(text: str) -> Iterator[Entry]:
    """A script in short: `+A1 3` an arrival, `D` a dispatch, `x A1` a cancel, `w A 2` a weight."""
    events = []
    for words in map(str.split, text.split(";")):
        match words:
            case ["D"]:
                events.append('{"event":"dispatch"}')
            case ["x", request]:
                events.append(f'{{"event":"cancel","request":"{request}"}}')
            case ["w", user, weight]:
                events.append(f'{{"event":"weight","user":"{user}","weight":{weight}}}')
            case [arrival, cost]:
                user, request = arrival[1], arrival[1:]
                events.append(f'{{"event":"arrive","user":"{user}","request":"{request}","cost":{cost}}}')
    return read(io.BytesIO("\n".join(events).encode()))


def rows(text: str, scheduler: Scheduler | None = None) -> list[list[str]]:
    table = layout(observe(run(script(text), scheduler or MachineScheduler())))
    return [list(table.header), *map(list, table.rows)]


class Fifo:
    """The order of arrival: not SFQ."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    def arrive(self, user: str, request: str, cost: object) -> object:
        self.requests.append(request)
        return None

    def dispatch(self) -> str | None:
        return self.requests.pop(0) if self.requests else None

    def cancel(self, request: str) -> None:
        self.requests.remove(request)


class Lifo(Fifo):
    def dispatch(self) -> str | None:
        return self.requests.pop() if self.requests else None


ARTICLE = ";".join([f"+A{n} 3" for n in range(3)] + [f"+B{n} 1" for n in range(7)] + ["D"] * 8)


@pytest.mark.parametrize("factory", [MachineScheduler, load("schedulers.linear_scan:LinearScan")])
def test_the_table_of_the_article(factory: type[MachineScheduler]) -> None:
    assert rows(ARTICLE, factory()) == [
        ["Dispatch", "v", "Selected", "Charge", "S_A", "S_B"],
        ["Initial", "0", "-", "-", "0", "0"],
        ["1", "0", "A (tie)", "+3", "3", "0"],
        ["2", "0", "B", "+1", "3", "1"],
        ["3", "1", "B", "+1", "3", "2"],
        ["4", "2", "B", "+1", "3", "3"],
        ["5", "3", "A (tie)", "+3", "6", "3"],
        ["6", "3", "B", "+1", "6", "4"],
        ["7", "4", "B", "+1", "6", "5"],
        ["8", "5", "B", "+1", "6", "6"],
    ]


def test_in_plain_text_the_columns_are_padded() -> None:
    table = layout(observe(run(script("+A1 3; +B1 10; D; D"), MachineScheduler())))
    assert list(table.plain()) == [
        "Dispatch  v  Selected  Charge  S_A  S_B",
        " Initial  0  -              -    0    0",
        "       1  0  A (tie)       +3    3    0",
        "       2  0  B            +10    3   10",
    ]


def test_weights_divide_the_charge() -> None:
    assert rows("+A1 1; w A 3; +B1 2; D; D")[2:] == [
        ["1", "0", "A (tie)", "+1/3", "1/3", "0"],
        ["2", "0", "B", "+2", "1/3", "2"],
    ]


def test_who_comes_later_is_blank_until_then_and_joins_at_v() -> None:
    assert rows("+A1 5; +A2 5; D; D; +B1 1; D")[1:] == [
        ["Initial", "0", "-", "-", "0", ""],
        ["1", "0", "A", "+5", "5", ""],
        ["2", "5", "A", "+5", "10", ""],
        ["3", "10", "B", "+1", "10", "11"],
    ]


def test_refusals_cancels_and_empty_dispatches_have_no_row() -> None:
    assert [row[0] for row in rows("D; +A1 5; +A1 5; +A2 0; x A1; D; +A3 2; D; D")[1:]] == ["Initial", "1"]


def test_what_only_the_scheduler_refuses_is_not_carried_out() -> None:
    class Strict(Fifo):
        def arrive(self, user: str, request: str, cost: object) -> object:
            return super().arrive(user, request, cost) if user == "A" else {"refused": "invalid-cost"}

    assert rows("+B1 1; +A1 2; D", Strict())[2:] == [["1", "0", "A", "+2", "2"]]


def test_another_order_is_followed() -> None:
    assert rows("+A1 5; +A2 5; +B1 1; D; D; D", Fifo())[2:] == [
        ["1", "0", "A (tie)", "+5", "5", "0"],
        ["2", "5", "A", "+5", "10", "0"],
        ["3", "0", "B", "+1", "10", "1"],
    ]


def test_another_order_within_a_user_is_followed() -> None:
    assert [row[3] for row in rows("+A1 5; +A2 3; +A3 1; D; D; D", Lifo())[2:]] == ["+1", "+3", "+5"]


def test_what_never_arrived_is_left_out() -> None:
    class Inventive(Fifo):
        def dispatch(self) -> str:
            return "A1"

    assert [row[0] for row in rows("+A1 5; D; D; D", Inventive())[2:]] == ["1"]


def test_of_many_users_only_the_selected_one_is_shown() -> None:
    users = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    for count in (MOST_USERS, MOST_USERS + 1):
        text = ";".join([f"+{user}1 {1 + place}" for place, user in enumerate(users[:count])] + ["D"] * count)
        found = rows(text)
        assert (found[0][4:] == ["S after"]) is (count > MOST_USERS)
        assert found[3][:4] == ["2", "0", "B (tie)", "+2"]
        assert found[3][-1] == ("2" if count > MOST_USERS else "0")


def test_the_many_may_come_after_the_few() -> None:
    text = "+A1 1; D;" + ";".join(f"+{user}1 1; D" for user in "BCDEFGHIJKLMNOP")
    assert [row[-1] for row in rows(text)[2:4]] == ["1", "2"]


def test_what_does_not_print_is_spelled_out() -> None:
    line = b'{"event":"arrive","user":"\\u001b[31mA\\n","request":"A1","cost":1}\n{"event":"dispatch"}'
    table = layout(observe(run(read(io.BytesIO(line)), MachineScheduler())))
    assert table.rows[1][2] == r"\x1b[31mA\n"
    assert all(text.isprintable() for text in table.plain())


def test_no_dispatch_at_all() -> None:
    assert rows("+A1 1") == [["Dispatch", "v", "Selected", "Charge", "S_A"], ["Initial", "0", "-", "-", "0"]]
    assert rows("D") == [["Dispatch", "v", "Selected", "Charge"], ["Initial", "0", "-", "-"]]
