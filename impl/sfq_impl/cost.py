"""What a request costs, estimated before it is dispatched, and what is learnt from those that ended (article §7.4).

    cost = input_weight × input tokens + output_weight × estimated output tokens; rounded up, at least 1
    estimated output tokens = cap × ratio, rounded up; ratio = total actual output ÷ total cap

**The ratio** is kept for each model, and for each user of a model. One of few requests leans on the level above it:
with n requests of ratio a, and the ratio b above, it is (n · a + shrink · b) / (n + shrink). Above a user is its model,
and above a model `first_ratio`. The result is held between `least_ratio` and `greatest_ratio`. Old requests fade: a
total that counts `memory` requests is halved. Arithmetic is exact: the same calls in the same order, the same costs.

**Outside the algorithm.** A `Cost` is a frozen value, and what is learnt later changes only later ones (COST-OUTSIDE):
nobody is charged again or refunded for a wrong estimate (article §5.1).

**How far off it is**, with weights 1 and 2, a cap of 4,096 for all, and learning after each request. Total: charged ÷
true. Median: the error of one request. Misallocated: the sum over users of |charged − true|, ÷ true, which is what
bends fairness (article §8), with a ratio for each model only, and for each user too.

    trace                       total   median   misallocated by model   by user too
    Azure 2023, code            1.01       4 %   (one user)
    Azure 2023, conversation    1.02      21 %   (one user)
    ServeGen, hour 0            0.93      21 %   31 %                    10 %
    ServeGen, hour 10           0.93      39 %   54 %                    14 %
    ServeGen, hour 20           0.95      18 %   34 %                     8 %

The traces tell no caps, so this is the hard case: the cap says nothing about its request.

**Limits.** Only what has run to its end may be learnt: the output of a request that failed or was cancelled says
nothing. A user who mixes large caps of short answers with small caps of long ones pays too little for the latter, at
worst by `least_ratio`.
"""

from __future__ import annotations

import math
import os
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from sfq_impl.tokens import TokenCounter, approximate

Key = tuple[str, str | None]
"""A model, and one of its users; None: all of them."""
FORMAT, VERSION = "sfq-cost", 1


class BadField(ValueError):
    """A setting or a quantity that cannot be used: which one, what it is, and what it must be."""

    def __init__(self, field: str, value: object, must: str) -> None:
        shown = repr(value)
        super().__init__(f"field `{field}`: {shown if len(shown) <= 60 else shown[:57] + '...'} is not {must}")
        self.field, self.value = field, value


class BadState(ValueError):
    """Saved totals that cannot be used: where, and why. What was known before is still known."""


@dataclass(frozen=True)
class Settings:
    """How costs are estimated. Numbers may be given as `int`, `float` (read as written) or `Fraction`.

    Raises `BadField`.
    """

    input_weight: Fraction = Fraction(1)
    """Units of cost for a token of input."""
    output_weight: Fraction = Fraction(2)
    """Units of cost for a token of output."""
    cached_weight: Fraction | None = None
    """Units of cost for a token of input that the server is expected to remember; None: as for any other."""
    first_ratio: Fraction = Fraction(1, 4)
    """The ratio where nothing is known yet."""
    least_ratio: Fraction = Fraction(1, 100)
    greatest_ratio: Fraction = Fraction(1)
    shrink: int = 5
    """Requests that the level above counts as."""
    per_user: bool = True
    """Whether users have ratios of their own."""
    default_cap: int = 1_024
    """Tokens of output that a request without a cap is taken to allow."""
    default_caps: Mapping[str, int] = field(default_factory=dict)
    """The same for some models, by name."""
    greatest_cap: int = 131_072
    """A larger cap counts as this one: no request makes the others of its model cheap by the cap that it names."""
    memory: int = 10_000
    """Requests that a total counts before it is halved."""
    most_totals: int = 10_000
    """Models and users that are remembered; beyond, the one that was learnt from longest ago is forgotten."""

    def __post_init__(self) -> None:
        for name in ("input_weight", "output_weight", "first_ratio", "least_ratio", "greatest_ratio"):
            self._exact(name)
        if self.cached_weight is not None:
            self._exact("cached_weight")
        if not 0 < self.least_ratio <= self.greatest_ratio:
            raise BadField("least_ratio", self.least_ratio, "above 0 and at most `greatest_ratio`")
        if not self.input_weight + self.output_weight:
            raise BadField("output_weight", 0, "above 0, as `input_weight` is 0 too and nothing would cost anything")
        for name, least in (("shrink", 0), ("default_cap", 1), ("greatest_cap", 1), ("memory", 2), ("most_totals", 2)):
            _whole(name, getattr(self, name), least)
        for model, cap in self.default_caps.items():
            _whole(f"default_caps.{model}", cap, 1)

    def cap(self, model: str, given: int | None) -> int:
        """The cap that counts: as given, or the default of the model; never above the greatest."""
        cap = self.default_caps.get(model, self.default_cap) if given is None else given
        return min(cap, self.greatest_cap)

    def _exact(self, name: str) -> None:
        value: object = getattr(self, name)
        if isinstance(value, float) and math.isfinite(value):
            value = Fraction(repr(value))
        if isinstance(value, bool) or not isinstance(value, int | Fraction) or value < 0:
            raise BadField(name, value, "a finite number, 0 or above")
        object.__setattr__(self, name, Fraction(value))


@dataclass(frozen=True)
class Cost:
    """What one request costs, and why. It never changes."""

    model: str
    user: str
    units: int
    """What is charged; at least 1."""
    input_tokens: int
    cached_tokens: int
    """Of these, the ones that a server is expected to remember."""
    cap: int
    """Tokens of output that it may have in all; to be given back to `learn`."""
    cap_is_default: bool
    ratio: Fraction
    output_tokens: int
    """As estimated."""
    requests_of_user: int
    """How many of the user's requests the ratio was learnt from."""
    requests_of_model: int
    settings: Settings

    @property
    def tokens(self) -> int:
        """Input and estimated output: what it will hold in a server's memory."""
        return self.input_tokens + self.output_tokens

    def explain(self) -> str:
        """One line for a log: how the cost came about. It tells nothing of the request's text."""
        weights = self.settings
        said = f"cost {self.units:,} = {float(weights.input_weight):g} × {self.input_tokens:,} input tokens"
        if self.cached_tokens and weights.cached_weight is not None:
            said += f" ({self.cached_tokens:,} of them remembered, at {float(weights.cached_weight):g})"
        if self.cap == 0:
            return said + ", no output"
        said += f" + {float(weights.output_weight):g} × {self.output_tokens:,} output tokens expected"
        cap = f"{'default cap' if self.cap_is_default else 'cap'} {self.cap:,}"
        learnt = f"learnt from {self.requests_of_user:,} requests of {self.user!r}, {self.requests_of_model:,} of"
        return f"{said} ({cap} × ratio {float(self.ratio):.3g}, {learnt} {self.model!r})"


@dataclass(frozen=True)
class Totals:
    """Of the requests of one model, or of one user of it."""

    requests: int = 0
    cap: int = 0
    output: int = 0

    def with_one(self, cap: int, output: int, memory: int) -> Totals:
        """One request more; then half of everything, where that makes it `memory` requests."""
        more = Totals(self.requests + 1, self.cap + cap, self.output + output)
        return Totals(more.requests // 2, more.cap // 2, more.output // 2) if more.requests >= memory else more

    def ratio(self, above: Fraction, shrink: int) -> Fraction:
        """The ratio of these, which leans on the one above."""
        if not self.requests:
            return above
        # (n · output/cap + shrink · above) / (n + shrink), over one denominator: sums of fractions are slow.
        top = self.requests * self.output * above.denominator + shrink * above.numerator * self.cap
        return Fraction(top, self.cap * above.denominator * (self.requests + shrink))


class Estimator:
    """Costs of requests to come, from those that have ended. One event loop or thread at a time."""

    def __init__(self, settings: Settings | None = None, counters: Mapping[str, TokenCounter] | None = None) -> None:
        self.settings = settings or Settings()
        self.counters = dict(counters or {})
        """How the tokens of some models are counted, by name; of the others by `approximate`."""
        self.learnt = 0
        """Requests that it has learnt from since it was made: whether there is anything to save."""
        self._totals: OrderedDict[Key, Totals] = OrderedDict()
        """Those that were learnt from longest ago first."""

    def __len__(self) -> int:
        return len(self._totals)

    @property
    def settings(self) -> Settings:
        """May be set anew at any time: for costs to come, with all that was learnt."""
        return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self._settings = settings
        self._weights = _as_integers(settings)

    def count(self, model: str, text: str | bytes) -> int:
        """How many tokens a text is to a model; bytes are read as UTF-8."""
        counter = self.counters.get(model)
        if counter is None:
            return approximate(text)
        return counter(text.decode("utf-8", "replace") if isinstance(text, bytes) else text)

    def cost(
        self,
        model: str,
        user: str,
        input_tokens: int,
        *,
        cap: int | None = None,
        choices: int = 1,
        cached_tokens: int = 0,
    ) -> Cost:
        """What a request costs, now and for good.

        `cap` is its greatest number of output tokens, None where it names none, and 0 where it has no output, as
        embeddings have not; `choices` is how many answers it wants, each of which may have so many. Raises `BadField`.
        """
        rules = self._settings
        _text("model", model)
        _text("user", user)
        _whole("input_tokens", input_tokens, 0)
        cached = min(_whole("cached_tokens", cached_tokens, 0), input_tokens)
        if cap is not None:
            _whole("cap", cap, 0)
        allowed = rules.cap(model, cap) * _whole("choices", choices, 1)
        ratio = self.ratio(model, user)
        output = -(-allowed * ratio.numerator // ratio.denominator)
        of_input, of_cached, of_output, unit = self._weights
        parts = of_input * (input_tokens - cached) + of_cached * cached + of_output * output
        return Cost(
            model,
            user,
            max(1, -(-parts // unit)),
            input_tokens,
            cached,
            allowed,
            cap is None,
            ratio,
            output,
            self._of(model, user).requests if rules.per_user else 0,
            self._of(model).requests,
            rules,
        )

    def ratio(self, model: str, user: str) -> Fraction:
        """The part of a cap that a request of this user is expected to use."""
        rules = self._settings
        ratio = self._of(model).ratio(rules.first_ratio, rules.shrink)
        if rules.per_user:
            ratio = self._of(model, user).ratio(ratio, rules.shrink)
        return min(max(ratio, rules.least_ratio), rules.greatest_ratio)

    def learn(self, model: str, user: str, cap: int, actual: int) -> None:
        """A request of this cap has run to its end, and had so many output tokens. One with cap 0 teaches nothing.

        Raises `BadField`, and has learnt nothing then.
        """
        _text("model", model)
        _text("user", user)
        _whole("cap", cap, 0)
        _whole("actual", actual, 0)
        if not cap:
            return
        for key in ((model, user), (model, None)) if self.settings.per_user else ((model, None),):
            self._totals[key] = self._totals.pop(key, Totals()).with_one(cap, actual, self.settings.memory)
        self.learnt += 1
        self._forget()

    def dump(self) -> bytes:
        """All that was learnt, as JSON."""
        saved = [_Saved(model, user, t.requests, t.cap, t.output) for (model, user), t in self._totals.items()]
        return msgspec.json.format(msgspec.json.encode(_State(FORMAT, VERSION, saved)), indent=1) + b"\n"

    def take_in(self, state: bytes) -> None:
        """What was dumped, in place of all that was learnt. Raises `BadState`, and then nothing has changed."""
        totals: OrderedDict[Key, Totals] = OrderedDict()
        for number, saved in enumerate(_read(state)):
            key = saved.model, saved.user
            if key in totals:
                raise BadState(f"field `totals[{number}]`: {saved.user!r} of {saved.model!r} is there twice")
            if saved.cap < saved.requests:
                raise BadState(f"field `totals[{number}].cap`: {saved.cap} is less than 1 for each request")
            totals[key] = Totals(saved.requests, saved.cap, saved.output)
        self._totals = totals
        self._forget()

    def _of(self, model: str, user: str | None = None) -> Totals:
        return self._totals.get((model, user), Totals())

    def _forget(self) -> None:
        while len(self._totals) > self.settings.most_totals:
            self._totals.popitem(last=False)


def save(path: Path, state: bytes) -> None:
    """Write what was dumped, so that a crash at any moment leaves either the old file or the new one.

    One caller at a time for each file. Raises `OSError`.
    """
    new = path.with_name(path.name + ".new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(state)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def load(estimator: Estimator, path: Path, damaged: Literal["refuse", "begin anew"] = "refuse") -> BadState | None:
    """Take in what was saved; nothing where there is no file yet.

    Where the file is damaged, `refuse` raises `BadState` and leaves the estimator as it was; `begin anew` puts the file
    aside as `….damaged`, empties the estimator, and returns the error, to be logged. Raises `OSError`.
    """
    try:
        state = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        estimator.take_in(state)
    except BadState as error:
        told = BadState(f"{path}: {error}; mend it, or remove it to begin anew")
        if damaged == "refuse":
            raise told from None
        path.replace(path.with_name(path.name + ".damaged"))
        estimator.take_in(Estimator(estimator.settings).dump())
        return told
    return None


class _Header(msgspec.Struct):
    format: str
    version: int


class _Saved(msgspec.Struct, forbid_unknown_fields=True):
    model: str
    user: str | None
    requests: Annotated[int, msgspec.Meta(ge=1)]
    cap: Annotated[int, msgspec.Meta(ge=1)]
    output: Annotated[int, msgspec.Meta(ge=0)]


class _State(_Header):
    totals: list[_Saved]


def _read(state: bytes) -> list[_Saved]:
    try:
        header = msgspec.json.decode(state, type=_Header)
        if header.format != FORMAT:
            raise BadState(f"field `format`: {header.format!r} is not {FORMAT!r}")
        if header.version != VERSION:
            raise BadState(f"field `version`: {header.version} is not {VERSION}: another release has written it")
        return msgspec.json.decode(state, type=_State).totals
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadState(str(error)) from None


def _as_integers(rules: Settings) -> tuple[int, int, int, int]:
    """The weights of input, of what is remembered of it, and of output, in parts of a unit; and the parts of a unit."""
    cached = rules.input_weight if rules.cached_weight is None else rules.cached_weight
    weights = (rules.input_weight, cached, rules.output_weight)
    unit = math.lcm(*(weight.denominator for weight in weights))
    return int(weights[0] * unit), int(weights[1] * unit), int(weights[2] * unit), unit


def _whole(name: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadField(name, value, f"a whole number of at least {least}")
    return value


def _text(name: str, value: object) -> None:
    try:
        value.encode()  # type: ignore[attr-defined]
    except (AttributeError, UnicodeEncodeError):
        raise BadField(name, value, "a text of Unicode characters") from None
