"""The page of `sfq-spec validate --html`: what it tells, what it draws, and that nothing in it runs or is fetched."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable, Sequence
from fractions import Fraction
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import pytest

from schedulers import faulty
from schedulers.linear_scan import LinearScan
from sfq_spec.claims import BY_ID
from sfq_spec.conformance import shorthand
from sfq_spec.conformance.case import Case, make
from sfq_spec.conformance.flags import SEEN
from sfq_spec.conformance.judge import judge
from sfq_spec.conformance.page import drawing, following, verdict
from sfq_spec.conformance.page.drawing import picture
from sfq_spec.conformance.page.following import Run, follow
from sfq_spec.conformance.page.scale import scale
from sfq_spec.conformance.subjects import PythonSubject
from sfq_spec.conformance.validate import Report, Result, bundled, validate
from sfq_spec.mutants import BY_NAME
from sfq_spec.scheduler import MachineScheduler
from sfq_spec.table import shown
from sfq_spec.trace import Answer, Arrive, Dispatch, Event

FAULTY = "schedulers.faulty:TiesByUtf16"
RIGHT = "schedulers.linear_scan:LinearScan"


class Told(Protocol):
    status: int
    out: str
    err: str


Running = Callable[..., Told]


class Page(HTMLParser):
    """The outline of a page whose elements are closed as they were opened."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.classes: list[str] = []
        self.text = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = {name: value or "" for name, value in attrs}
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given[name] for name in ("href", "src") if name in given]
        self.classes += given.get("class", "").split()
        assert not [name for name in given if name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def stands_alone(self) -> bool:
        """Nothing is fetched, nothing runs, and each link leads to a place in the page."""
        inside = {link.removeprefix("#") for link in self.links if link.startswith("#")}
        outside = {"script", "link", "img", "iframe", "object"} & set(self.tags)
        return len(inside) == len(set(self.links)) and inside <= set(self.ids) and not outside


@functools.cache
def cases(longest: int = 70) -> tuple[Case, ...]:
    """The shorter vectors."""
    return tuple(case for case in bundled().cases if len(case.events) <= longest)


def report(factory: Callable[[], Any], chosen: Sequence[Case] | None = None, *, name: str = "sample") -> Report:
    with PythonSubject(name, factory) as subject:
        return validate(subject, cases() if chosen is None else chosen, seed=1)


def played(run: str, order: Sequence[str | None], *, any_tie: bool = False) -> Result:
    """A run in which the dispatches gave these requests."""
    events, sent = tuple(shorthand.read(run)), iter(order)
    answers = tuple(Answer(dispatched=next(sent)) if isinstance(event, Dispatch) else Answer() for event in events)
    wrong = judge(events, answers, any_tie=any_tie)
    status: Any = "failed" if wrong else "passed"
    return Result("sample", status, make("sample", "", events), wrong=wrong, events=events, answers=answers)


def drawn(run: str, order: Sequence[str | None], *, any_tie: bool = False) -> Run:
    return follow(played(run, order, any_tie=any_tie), any_tie=any_tie)


# What it tells


def test_the_page_tells_the_verdict_the_fault_and_how_to_draw_it_again(command: Running, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    options = ["--only", "IdsByBytes", "--only", "article-table", "--seed", "3", "--budget", "2"]
    told = command("validate", "--python", FAULTY, *options, "--html", str(path))
    assert (told.status, f"written: {path}" in told.err) == (1, True)
    page = Page(path.read_text(encoding="utf-8"))
    assert page.stands_alone()
    assert "://" not in path.read_text(encoding="utf-8")
    assert page.text.index("Does not conform") < page.text.index("The shortest run that fails")
    (sentence,) = re.findall(r"^  wrong     event (.*)$", told.out, re.M)
    assert f"Event {shown(sentence)}" in page.text
    assert f"R-SELECT {BY_ID['R-SELECT'].says}" in page.text
    assert page.links.count("#claim-R-SELECT") >= 1
    assert page.tags.count("svg") == page.classes.count("sent") / 3 >= 2
    (again,) = re.findall(r"sfq-spec validate --seed=3 .*", page.text.partition("The shortest")[0])
    assert command(*shlex.split(again)[1:]).out == told.out


def test_each_failure_has_its_own_picture_and_the_longer_ones_are_counted() -> None:
    found = report(lambda: MachineScheduler(BY_NAME["frozen-clock"].take))
    page = Page(verdict.page(found))
    assert len(found.failed) > verdict.DRAWN
    assert page.stands_alone()
    assert page.tags.count("svg") == verdict.DRAWN
    assert page.classes.count("fault") == verdict.DRAWN
    assert f"{len(found.failed) - 1} more" in page.text
    assert f"{len(found.failed) - verdict.DRAWN} longer ones are not drawn" in page.text
    assert all(page.text.count(result.id) >= 1 for result in found.results)


def test_a_known_mistake_is_named_with_where_it_has_been_seen() -> None:
    page = Page(verdict.page(report(lambda: MachineScheduler(BY_NAME["forgets-debtors"].take))))
    assert f"behaves as forgets-debtors. {BY_NAME['forgets-debtors'].mistake}" in page.text
    assert f"Public reports of forgets-debtors: {SEEN['ForgetsDebtors'][0]}" in page.text
    assert "ForgetsDebtors" in page.text


def test_without_a_known_mistake_the_kinds_of_fault_of_the_failing_cases_are_told() -> None:
    page = Page(verdict.page(report(faulty.TiesByUtf16)))
    assert "none of the known mistakes" in page.text
    assert "User ids are compared by UTF-16 units" in page.text
    assert re.search(r"IdsByBytes.*[1-9]\d* of [1-9]\d*", page.text)


def test_skips_and_excuses_are_told_with_their_reasons() -> None:
    chosen = [case for case in cases() if case.id in ("ties-utf-16", "article-table", "not-reset-on-return")]
    with PythonSubject("sample", faulty.TiesByUtf16) as subject:
        found = validate(subject, chosen, excused={"ties-utf-16", "article-table"})
    found.results.append(Result("left-out", "skipped", chosen[0], "no <b>weights</b> yet"))
    page = Page(verdict.page(found))
    assert "no <b>weights</b> yet (1)" in page.text
    assert "known to fail, by --skip: ties-utf-16" in page.text
    assert page.text.count("it is excused by --skip and passes: take it off the list") == 2


def test_a_scheduler_that_conforms_has_an_example_and_no_fault(command: Running, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert (
        command("validate", "--python", RIGHT, "--only", "CountsRequests", "--budget", "0", "--html", str(path)).status
        == 0
    )
    page = Page(path.read_text(encoding="utf-8"))
    assert page.stands_alone()
    assert "Conforms" in page.text
    assert "A run that it plays" in page.text
    assert page.tags.count("svg") == 1
    assert not {"fault", "sent", "due", "told", "wrong"} & set(page.classes)
    without = [case for case in cases() if case.id != verdict.EXAMPLE]
    assert "svg" not in Page(verdict.page(report(LinearScan, without))).tags


def test_the_page_where_there_is_no_verdict(command: Running, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    told = command("validate", "--html", str(path), "--budget", "0", "--", "no such <b>program</b>")
    assert told.status == 2
    page = Page(path.read_text(encoding="utf-8"))
    assert page.stands_alone()
    assert "No verdict" in page.text
    assert "no such <b>program</b> cannot be started" in page.text
    assert "svg" not in page.tags


def test_a_page_that_cannot_be_written_is_no_verdict(command: Running, tmp_path: Path) -> None:
    path = tmp_path / "missing" / "page.html"
    told = command("validate", "--python", RIGHT, "--only", "article-table", "--budget", "0", "--html", str(path))
    assert (told.status, "cannot be written" in told.err) == (2, True)


def test_what_the_scheduler_says_is_text() -> None:
    evil = "</title><script>alert(1)</script>\u202e"

    class Evil(LinearScan):
        def dispatch(self) -> str | None:
            return evil if super().dispatch() else None

    made = [make(f"case{n}", evil, [Arrive(evil, evil, 1), Dispatch()], lag=True) for n in range(2)]

    class Subject(PythonSubject):
        def run(self, id: str, events: Sequence[Event]) -> Any:
            return (
                super().run(id, events)
                if id == "smoke"
                else [Answer(lag={evil: Fraction(7)}), Answer(dispatched="<i>")]
            )

    with Subject(evil, LinearScan) as subject:
        html = verdict.page(validate(subject, made), ["sfq-spec", evil])
    page = Page(html)
    assert page.stands_alone()
    assert "i" not in page.tags
    assert "\u202e" not in html
    assert page.text.count("<script>alert(1)</script>\\u202e") > 5
    assert page.tags.count("svg") == 2


def test_the_same_report_gives_the_same_page() -> None:
    pages = [verdict.page(report(faulty.WrapsOnRebase)) for _ in range(2)]
    assert pages[0] == pages[1]


def test_the_docs_tell_the_limits() -> None:
    told = (Path(__file__).resolve().parents[2] / "docs" / "validate.md").read_text(encoding="utf-8")
    _, _, page = told.partition("## The page\n")
    words = {40: "forty", 7: "seven", 12: "twelve"}
    for limit, sentence in (
        (following.WINDOW, "the last {} steps are drawn"),
        (drawing.NAMED, "the {} that matter most have a line"),
        (verdict.DRAWN, "The {} shortest failures are drawn"),
    ):
        assert sentence.format(words[limit]) in page


# What it draws


def test_the_states_are_the_machines_and_the_last_is_the_first_wrong_one() -> None:
    run = drawn("+A 1; +B 1; D; +A 1; D; D", ["A1", "A2", "B1"])
    assert [moment.after.v for moment in run.moments] == [0, 0, 0, 0, 0]
    assert [moment.after.meter.get("A") for moment in run.moments] == [0, 0, 1, 1, 1]
    assert [moment.due for moment in run.moments if isinstance(moment.events[0], Dispatch)] == [("A1",), ("B1",)]
    assert [moment.is_wrong for moment in run.moments] == [False] * 4 + [True]
    assert (run.earlier, run.later) == (0, 1)
    assert picture(run, "").marks == (("due", "B1 was due", Fraction(0)), ("sent", "A2 was sent", Fraction(1)))


def test_where_a_tie_may_go_to_anybody_the_choice_is_followed() -> None:
    run = drawn("+A 1×2; +B 1×2; D×3", ["B1", "A1", "B9"], any_tie=True)
    assert [moment.after.meter["B"] for moment in run.moments if moment.first == 5] == [1]
    assert run.moments[-1].due == ("A2", "B2")
    assert drawn("+A 1×2; +B 1×2; D×3", ["B1", "A1", "B9"]).moments[-1].first == 5


@pytest.mark.parametrize("case", [case for case in cases() if len(case.events) > 40], ids=lambda case: case.id)
def test_the_band_holds_every_meter_of_a_right_run(case: Case) -> None:
    (result,) = report(LinearScan, [case]).results
    for moment in follow(result, any_tie=False).moments:
        s = moment.after
        assert all(meter <= s.v + moment.greatest for meter in s.meter.values())
        assert all(meter >= s.v for user, meter in s.meter.items() if s.waiting[user])


def test_of_a_long_run_the_end_is_drawn_and_that_is_said() -> None:
    result = played("+A 1×300; +B 1×300; D×400", [f"{'AB'[n % 2]}{n // 2 + 1}" for n in range(399)] + ["A1"])
    run = follow(result, any_tie=False)
    assert len(run.moments) == following.WINDOW
    assert (run.moments[-1].last, run.earlier) == (1000, 1000 - following.WINDOW)
    html = verdict.page(Report(report(LinearScan, cases()[:1]).hello, [result]))
    assert "Drawn is the end: 960 earlier events are left out." in html
    assert "(the end; " in html or len(shorthand.write(result.prefix).split("; ")) <= verdict.PARTS
    width = float(re.findall(r'<svg class="run" width="([\d.]+)"', html)[0])
    assert width <= drawing.FULL


def test_arrivals_that_move_nothing_stand_together() -> None:
    run = drawn("+A 3×9; +B 1×2; D", ["A1"])
    assert [(moment.first, moment.last) for moment in run.moments] == [(1, 1), (2, 9), (10, 10), (11, 11), (12, 12)]
    assert "8×+A" in picture(run, "").svg()


def test_of_many_users_those_that_matter_have_a_line() -> None:
    users = [f"user{n:02}" for n in range(40)]
    run = drawn(f"+{','.join(users)} 1×2; D×40; D", [f"{user}1" for user in users] + ["user392"])
    made = picture(run, "")
    assert len(made.named) == drawing.NAMED
    assert {"user00", "user39"} <= set(made.named)
    assert len(made.others) == 33
    assert "least of 33 others" in made.svg()
    assert "greatest of 33 others" in made.svg()


def test_users_of_whom_little_is_heard_have_a_line_where_it_is_about_them() -> None:
    users = [f"user{n:02}" for n in range(20)]
    run = drawn(f"+{','.join(users)} 1; +{','.join(users[5:15])} 1×3; D", ["user191"])
    assert {"user00", "user19"} <= set(picture(run, "").named)


def test_a_request_that_overtakes_its_users_first_is_marked_at_the_same_meter() -> None:
    marks = picture(drawn("+A 5×2; D", ["A2"]), "").marks
    assert marks == (("due", "A1 was due", Fraction(0)), ("sent", "A2 was sent", Fraction(0)))


def test_names_stand_beside_their_lines_and_not_on_each_other() -> None:
    made = picture(drawn("+A 3×9; +B 1×9; +C 1×9; D×7", ["A1", "B1", "C1", "B2", "C2", "B3", "C3"]), "")
    names = re.findall(rf'<text x="{made.edges[-1] + 27}" y="([\d.]+)">(\w+)', made.svg())
    assert [name for _, name in names] == ["v", "A", "B", "C", "v"]
    heights = [float(y) for y, _ in names]
    assert all(low - high >= 15 for high, low in pairwise(heights))
    after = made.run.moments[-1].after
    assert heights[-1] == made.scale.at(after.v) + 4
    assert heights[0] == made.scale.at(after.v + 3) + 4


def test_a_lag_that_is_wrong_is_marked_where_it_was_told() -> None:
    class Ahead(LinearScan):
        def lag(self) -> dict[str, Any]:
            return {user: lag + 2 * self.v for user, lag in super().lag().items()}

    (result,) = report(Ahead, [case for case in cases() if case.id == "article-table"]).results
    made = picture(follow(result, any_tie=False), "")
    assert [words for kind, words, _ in made.marks if kind == "told"] == ["A as told", "B as told"]
    assert [value - made.run.moments[-1].after.v for _, _, value in made.marks] == [4, 3]


@pytest.mark.integration
@pytest.mark.parametrize("factory", [faulty.Float32, faulty.WrapsOnRebase, faulty.ZeroWeight, faulty.CancelledStays])
def test_everything_is_inside_the_picture(factory: Callable[[], Any]) -> None:
    html = verdict.page(report(factory, bundled().cases[:-20]))
    assert Page(html).stands_alone()
    pictures = re.findall(r'<svg class="run" width="([\d.]+)" height="([\d.]+)".*?</svg>', html, re.S)
    assert pictures
    for found in re.finditer(r'<svg class="run" width="([\d.]+)" height="([\d.]+)".*?</svg>', html, re.S):
        width, height = map(float, found.groups())
        xs = re.findall(r' (?:x|cx|x1|x2)="([^"]*)"', found[0])
        ys = re.findall(r' (?:y|cy|y1|y2)="([^"]*)"', found[0])
        for corner in re.findall(r'points="([^"]*)"', found[0]):
            xs += [pair.split(",")[0] for pair in corner.split()]
            ys += [pair.split(",")[1] for pair in corner.split()]
        assert all(0 <= float(x) <= width for x in xs)
        assert all(0 <= float(y) <= height for y in ys)


# The scale


BIG = 2**53


@pytest.mark.parametrize(
    ("values", "telling", "in_order", "written"),
    [
        ([0, 1, 5], [0, 1], False, ["0", "1", "5"]),
        ([BIG, BIG + 1, BIG + 3], [BIG, BIG + 1], False, ["+0", "+1", "+3"]),
        ([0, BIG, BIG + 1], [BIG, BIG + 1], True, ["0", "+0", "+1"]),
        ([0, 1, 10**400], [0, 1], True, ["0", "1", "1e400"]),
        ([Fraction(1, 10**400), 0], [0], True, None),
        ([7], [], False, ["7"]),
    ],
)
def test_what_decides_is_told_apart(
    values: list[Any], telling: list[Any], in_order: bool, written: list[str] | None
) -> None:
    exact = sorted(map(Fraction, values))
    made = scale(exact, list(map(Fraction, telling)), 300, 0)
    heights = [made.at(value) for value in exact]
    assert heights == sorted(heights, reverse=True)
    assert made.in_order == in_order
    near = sorted(made.at(Fraction(value)) for value in telling)
    assert all(high - low >= 4 for low, high in pairwise(near))
    assert written is None or [made.written(value) for value in exact] == written
    assert all(made.tick(value) for value in made.ticks)
