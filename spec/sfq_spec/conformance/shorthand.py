"""Runs in one line: how cases are written down, and how they are shown.

`+A 3` is the arrival of a request of A with cost 3, named A1, A2, … in order; `+A 3×4` four of them; `+A,B 1×2` the
same for A and B in turn; `+A:r7 3` is the arrival of one that has another name. `D` is a dispatch, `x A1` a cancel;
`✓ A1`, `✗ A1` and `⊘ A1` say that a dispatched request was completed, failed, or was cancelled; `w A 1/2` is a weight,
`c A1 7` a new cost, `upkeep` upkeep. Each may be repeated: `D×5`. Parts are separated by `;`. An id with blanks or one
of `;,:"×` in it, or an empty one, stands in quotes, as in JSON.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from sfq_spec import numbers
from sfq_spec.trace import (
    Arrive,
    Cancel,
    Complete,
    Dispatch,
    Event,
    Outcome,
    Recost,
    SetWeight,
    Upkeep,
)

_ENDS: Mapping[str, Outcome] = {"✓": "completed", "✗": "failed", "⊘": "cancelled"}
_SIGNS = {outcome: sign for sign, outcome in _ENDS.items()}

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_BARE = re.compile(r'[^\s;,:"×]+')
_ID = rf"(?:{_QUOTED}|{_BARE.pattern})"
_PARTS = re.compile(rf'(?:{_QUOTED}|[^;"])+')
_FORMS = [
    re.compile(form + r"(?:×(?P<times>[0-9]+))?")
    for form in (
        r"(?P<kind>D|upkeep)",
        rf"(?P<kind>\+)\s*(?P<users>{_ID}(?:,{_ID})*)\s+(?P<number>[^\s×]+)",
        rf"(?P<kind>\+)\s*(?P<user>{_ID}):(?P<request>{_ID})\s+(?P<number>[^\s×]+)",
        rf"(?P<kind>x)\s+(?P<request>{_ID})",
        rf"(?P<kind>[✓✗⊘])\s*(?P<request>{_ID})",
        rf"(?P<kind>w)\s+(?P<user>{_ID})\s+(?P<number>[^\s×]+)",
        rf"(?P<kind>c)\s+(?P<request>{_ID})\s+(?P<number>[^\s×]+)",
    )
]


class BadShorthand(ValueError):
    """A part that stands for no event; the message says which."""


def read(line: str) -> list[Event]:
    """The events of a line. Raises `BadShorthand`."""
    if not line.strip():
        return []
    parts = _PARTS.findall(line)
    if ";".join(parts) != line:
        raise BadShorthand(f"{line!r} has an empty part, or a quotation mark without its other one")
    arrived = Counter[str]()
    return [event for part in parts for event in _part(part.strip(), arrived)]


def write(events: Iterable[Event]) -> str:
    """The line of some events, shorter where events repeat: `read` gives the same events again."""
    arrived = Counter[str]()
    parts: list[tuple[str, int]] = []
    for event in events:
        part = _shown(event, arrived)
        if parts and parts[-1][0] == part:
            parts[-1] = part, parts[-1][1] + 1
        else:
            parts.append((part, 1))
    return "; ".join(part if times == 1 else f"{part}×{times}" for part, times in parts)


def _part(part: str, arrived: Counter[str]) -> Iterator[Event]:
    for form in _FORMS:
        if found := form.fullmatch(part):
            for _ in range(int(found["times"] or 1)):
                yield from _events(found.groupdict(""), arrived)
            return
    raise BadShorthand(f"{part!r} stands for no event: write +A 3, D, x A1, ✓ A1, w A 2, c A1 5 or upkeep")


def _events(part: Mapping[str, str], arrived: Counter[str]) -> Iterator[Event]:
    match part["kind"]:
        case "D":
            yield Dispatch()
        case "upkeep":
            yield Upkeep()
        case "+" if users := part.get("users"):
            for user in map(_id, re.findall(_ID, users)):
                yield Arrive(user, _next(user, arrived), _number(part))
        case "+":
            yield Arrive(_id(part["user"]), _id(part["request"]), _number(part))
        case "x":
            yield Cancel(_id(part["request"]))
        case "w":
            yield SetWeight(_id(part["user"]), _number(part))
        case "c":
            yield Recost(_id(part["request"]), _number(part))
        case end:
            yield Complete(_id(part["request"]), _ENDS[end])


def _next(user: str, arrived: Counter[str]) -> str:
    """The name of the user's next request."""
    arrived[user] += 1
    return f"{user}{arrived[user]}"


def _number(part: Mapping[str, str]) -> Fraction | float:
    try:
        return numbers.read(part["number"])
    except numbers.NotANumber as error:
        raise BadShorthand(str(error)) from None


def _id(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except ValueError:
        raise BadShorthand(f"{text} is not an id in quotes, as JSON has them") from None


def _shown(event: Event, arrived: Counter[str]) -> str:
    match event:
        case Arrive(user=user, request=request, cost=cost):
            named = ""
            if request == f"{user}{arrived[user] + 1}":
                arrived[user] += 1
            else:
                named = f":{_quoted(request)}"
            return f"+{_quoted(user)}{named} {numbers.write(cost)}"
        case Cancel(request=request):
            return f"x {_quoted(request)}"
        case Complete(request=request, outcome=outcome):
            return f"{_SIGNS[outcome]} {_quoted(request)}"
        case SetWeight(user=user, weight=weight):
            return f"w {_quoted(user)} {numbers.write(weight)}"
        case Recost(request=request, cost=cost):
            return f"c {_quoted(request)} {numbers.write(cost)}"
        case Upkeep():
            return "upkeep"
        case _:
            return "D"


def _quoted(id: str) -> str:
    """The id as it stands, or in quotes where it could be taken for something else or does not show."""
    if not id.isprintable():
        return json.dumps(id)
    return id if _BARE.fullmatch(id) else json.dumps(id, ensure_ascii=False)
