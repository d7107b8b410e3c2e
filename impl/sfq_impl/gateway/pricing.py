"""What a request costs when it arrives, and what is learnt when it has ended; what was learnt outlives the process."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

from sfq_impl.cost import BadState, Cost, Estimator, Settings, load, save
from sfq_impl.fleet.policy import Usage
from sfq_impl.gateway.asking import Asked
from sfq_impl.gateway.config import CostSettings
from sfq_impl.gateway.logs import tell
from sfq_impl.tokens import tokenizer

SAVE_EVERY = 60.0
"""Seconds."""
COUNTED_AT_ONCE = 16_384
"""Bytes; a tokenizer takes some milliseconds for them."""


class Pricing:
    """Outside the algorithm (article §7.4): it may learn, and never changes what was charged."""

    def __init__(self, settings: CostSettings) -> None:
        self.estimator = Estimator()
        self._counting = ThreadPoolExecutor(1, "tokens")
        """One, so that long prompts take one processor from what is served, and not all."""
        self._saved = 0
        """How much had been learnt when it was saved last."""
        self.apply(settings)
        if settings.state is not None:
            try:
                damaged = load(self.estimator, settings.state, "begin anew")
            except OSError as error:
                damaged = BadState(f"{settings.state.name}: {error.strerror}")
            if damaged is not None:
                tell(logging.WARNING, "what was learnt is lost", why=str(damaged))

    def apply(self, settings: CostSettings) -> None:
        """Use these from the next request on."""
        counters = {model: tokenizer(path) for model, path in settings.tokenizers.items()}
        self.settings = settings
        self.estimator.settings = Settings(
            input_weight=_exact(settings.input_weight),
            output_weight=_exact(settings.output_weight),
            cached_weight=None if settings.cached_weight is None else _exact(settings.cached_weight),
            first_ratio=_exact(settings.ratio),
            least_ratio=min(_exact(settings.ratio), Settings.least_ratio) if settings.learn else _exact(settings.ratio),
            greatest_ratio=Settings.greatest_ratio if settings.learn else _exact(settings.ratio),
            per_user=settings.per_user,
            default_cap=settings.cap,
            default_caps=settings.caps,
        )
        self.estimator.counters = counters

    async def count(self, asked: Asked) -> int:
        """How many tokens the input is. What a tokenizer takes long for is counted beside all that is on its way."""
        if asked.model in self.estimator.counters and len(asked.text) > COUNTED_AT_ONCE:
            return await asyncio.get_running_loop().run_in_executor(self._counting, self._count, asked)
        return self._count(asked)

    def _count(self, asked: Asked) -> int:
        return self.estimator.count(asked.model, asked.text) + asked.attachments * self.settings.attachment

    def price(self, user: str, asked: Asked, tokens: int | None = None, remembered: int = 0) -> Cost:
        """The price of a request that arrives, of so many tokens of input where they have been counted.

        `remembered` is how many bytes of its input, from the first on, a server is taken to remember.
        """
        if tokens is None:
            tokens = self._count(asked)
        cached = tokens * remembered // len(asked.prompt) if remembered else 0
        return self.estimator.cost(
            asked.model, user, tokens, cap=asked.cap, choices=asked.choices, cached_tokens=cached
        )

    def learn(self, cost: Cost, usage: Usage) -> None:
        """What a request that ran to its end has really taken, as its server told."""
        if self.settings.learn:
            self.estimator.learn(cost.model, cost.user, cost.cap, usage.output_tokens)

    async def keep(self) -> None:
        """Save what was learnt, now and then."""
        while True:
            await asyncio.sleep(SAVE_EVERY)
            if (path := self.settings.state) is not None and self._saved != self.estimator.learnt:
                learnt, state = self.estimator.learnt, self.estimator.dump()
                if await asyncio.to_thread(_written, path, state):
                    self._saved = learnt

    def save(self) -> None:
        """Save what was learnt, if there is a file to save it in and anything new."""
        if (path := self.settings.state) is not None and self._saved != self.estimator.learnt:
            learnt = self.estimator.learnt
            if _written(path, self.estimator.dump()):
                self._saved = learnt


def _written(path: Path, state: bytes) -> bool:
    """Whether it could be written; the log tells why not."""
    try:
        save(path, state)
    except OSError as error:
        tell(logging.WARNING, "what was learnt cannot be saved", why=error.strerror)
        return False
    return True


def _exact(number: float) -> Fraction:
    return Fraction(repr(number))
