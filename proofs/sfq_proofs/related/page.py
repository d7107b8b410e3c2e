"""The tables of docs/comparison.md, made from runs: what stands between two marks on the page is written here.

<!-- made: NAME -->  …  <!-- end -->
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from difflib import unified_diff
from fractions import Fraction
from functools import cache
from itertools import product

from sfq_proofs.related.granularity import Granularity, worst_lead
from sfq_proofs.related.known import known
from sfq_proofs.related.search import Found, search
from sfq_proofs.workers import workers
from sfq_spec.comparison.compare import compare, scenario
from sfq_spec.comparison.told import table
from sfq_spec.conformance.shorthand import write
from sfq_spec.related import policies
from sfq_spec.related.axes import heavy, returning
from sfq_spec.related.behaviour import QUESTIONS

QUANTUM = {"drr": "drr:quantum=3", "dlpm": "dlpm:quantum=3"}
SHOWN = tuple(QUANTUM.get(name, name) for name in policies.NAMES)
"""The methods of the tables, in their small worlds: with a quantum of the largest cost, where there is one."""
SCENARIOS = ("flood", "heavy", "returns", "drain", "weights", "heavy-tail")
BY_ID = {question.id: question for question in QUESTIONS}
MARKED = re.compile(r"(<!-- made: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
ABSENCES = (8, 32)
COSTS = (4, 16)

Row = Sequence[str]
Tell = Callable[[str], None]


def renewed(text: str, blocks: Mapping[str, str]) -> str:
    """The page with its tables as they are now. Raises `KeyError` for a mark that no table belongs to."""
    return MARKED.sub(lambda mark: f"{mark[1]}{blocks[mark[2]]}\n{mark[3]}", text)


def differences(old: str, new: str) -> Iterator[str]:
    """The lines that differ, as a diff shows them."""
    return unified_diff(old.splitlines(), new.splitlines(), "the page", "the runs", n=0, lineterm="")


def blocks(tell: Tell = lambda what: None) -> dict[str, str]:
    """Every table; about a minute on two cores."""
    jobs = list(product(SHOWN, BY_ID))
    with workers(8) as pool:
        drawn = [pool.submit(figures, name) for name in SCENARIOS]
        leads = [pool.submit(worst_lead, policy) for policy in SHOWN]
        found = []
        for one in pool.map(_asked, jobs):
            found.append(one)
            tell(f"{policies.titled(one.policy)}: {one.question}")
        made = {"questions": questions(found), "runs": runs(found), **quick()}
        made["granularity"] = granularity({policy: lead.result() for policy, lead in zip(SHOWN, leads, strict=True)})
        return made | {name: one.result() for name, one in zip(SCENARIOS, drawn, strict=True)}


def quick() -> dict[str, str]:
    """The tables that take no time."""
    return {"drr": drr(), "axes": axes(), "asked": asked()}


def asked() -> str:
    """What each question says."""
    return _table(("question", "what holds in every run, or does not"), [(q.id, q.says) for q in QUESTIONS])


def questions(found: Sequence[Found]) -> str:
    """A row for each method: the length of the runs in which it holds, or of the shortest run found that breaks it."""
    cells = {(one.policy, one.question): _verdict(one) for one in found}
    rows = [(policies.titled(policy), *(cells[policy, id] for id in BY_ID)) for policy in SHOWN]
    return _table(("method", *BY_ID), rows)


def runs(found: Sequence[Found]) -> str:
    """The runs that break something, each with all methods and questions that it breaks."""
    by_run: dict[str, dict[str, list[str]]] = {}
    for one in found:
        if not one.holds:
            by_run.setdefault(write(one.run), {}).setdefault(one.question, []).append(policies.titled(one.policy))
    lines = []
    for run in sorted(by_run, key=lambda run: (len(run), run)):
        broken = "; ".join(f"{question}: {', '.join(titles)}" for question, titles in by_run[run].items())
        lines.append(f"* `{run}` — {broken}")
    return "\n".join(lines)


def granularity(leads: Mapping[str, Granularity]) -> str:
    """The worst lead between two users that wait all the time, costs 1 and 3."""
    rows = [(policies.titled(policy), _lead(lead)) for policy, lead in leads.items()]
    return _table(("method", "worst lead"), rows)


def axes() -> str:
    """The article's §6.3: one heavy request, and a return from idle."""
    header = ["method"]
    header += [f"cost {cost}: before / after" for cost in COSTS]
    header += [f"away for {absence}: wait, in a row" for absence in ABSENCES]
    rows = []
    for policy in SHOWN:
        paid = [heavy(policy, cost) for cost in COSTS]
        back = [returning(policy, absence) for absence in ABSENCES]
        cells = [f"{one.before} / {one.after}" for one in paid]
        cells += [f"more than {one.wait - 1}, –" if one.never else f"{one.wait}, {one.banked}" for one in back]
        rows.append((policies.titled(policy), *cells))
    return _table(header, rows)


def drr() -> str:
    """The article's §4.5, as far as a run can tell it."""
    quanta = (1, 3, 6, 12)
    rows = [
        ("parameters", _parameters("drr"), _parameters(policies.SFQ)),
        ("a request of cost 12 waits, of the other user's requests of cost 1,", *_heads(quanta, 12)),
        ("after it the other user gets, before the same user's next,", *_afters(quanta, 12)),
        ("worst lead of two users that wait all the time, costs 1 and 3", *_worst(quanta)),
        ("needs the cost of a request that is not dispatched yet", *(_needs(p) for p in ("drr:quantum=3", "sfq"))),
        ("one of n users returns from idle, without a debt: it waits", *_rounds()),
        ("goes on as if nothing had happened, once nobody waits", *(_level(p) for p in ("drr:quantum=3", "sfq"))),
        ("share of users with weights 1, 2 and 4", *(_shares(p) for p in ("drr:quantum=64", "sfq"))),
    ]
    return _table(("", "DRR", "SFQ"), rows)


def figures(name: str) -> str:
    """A scenario through every method."""
    workload = scenario(name)
    cells = table(compare(workload, policies.NAMES), with_time=False)
    return _table(cells.header, cells.rows)


@cache
def _asked(job: tuple[str, str]) -> Found:
    policy, question = job
    return known(policy, question) or search(policy, BY_ID[question])


def _verdict(found: Found) -> str:
    return f"✓ {found.longest}" if found.holds else f"**no** {len(found.run)}"


def _lead(found: Granularity) -> str:
    if found.grows:
        return "grows without end, as far as it was followed"
    return f"{found.lead}, of all runs" if found.is_all else f"{found.lead}, as far as it was followed"


def _parameters(name: str) -> str:
    names = [] if name == policies.SFQ else [field.name for field in fields(policies.METHODS[name])]
    return ", ".join(names) or "none"


def _heads(quanta: Sequence[int], cost: int) -> tuple[str, str]:
    each = [f"{heavy(f'drr:quantum={quantum}', cost).before} (quantum {quantum})" for quantum in quanta]
    return ", ".join(each), str(heavy("sfq", cost).before)


def _afters(quanta: Sequence[int], cost: int) -> tuple[str, str]:
    each = [f"{heavy(f'drr:quantum={quantum}', cost).after} (quantum {quantum})" for quantum in quanta]
    return ", ".join(each), str(heavy("sfq", cost).after)


def _worst(quanta: Sequence[int]) -> tuple[str, str]:
    each = [f"{worst_lead(f'drr:quantum={quantum}').lead} (quantum {quantum})" for quantum in quanta]
    return ", ".join(each), str(worst_lead("sfq").lead)


def _needs(policy: str) -> str:
    found = search(policy, BY_ID["BLIND"])
    return f"no, in all runs of up to {found.longest} events" if found.holds else f"yes: `{write(found.run)}`"


def _level(policy: str) -> str:
    found = search(policy, BY_ID["LEVEL"])
    return f"yes, in all runs of up to {found.longest} events" if found.holds else f"no: `{write(found.run)}`"


def _rounds() -> tuple[str, str]:
    others = (1, 4, 16)

    def told(policy: str) -> str:
        return ", ".join(f"{returning(policy, 32, n).wait} (n = {n + 1})" for n in others)

    return told("drr:quantum=1"), told("sfq")


def _shares(policy: str) -> str:
    [measured] = compare(scenario("weights"), [policy]).measures
    by_weight = sorted(measured.users, key=lambda user: user.weight)
    least = Fraction(by_weight[0].charged * by_weight[0].weight)
    return " : ".join(f"{float(user.charged * user.weight / least):.2f}" for user in by_weight)


def _table(header: Row, rows: Sequence[Row]) -> str:
    return "\n".join(_lines(header, rows))


def _lines(header: Row, rows: Sequence[Row]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
