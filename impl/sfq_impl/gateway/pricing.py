"""What a request costs when it arrives, and what is learnt when it has ended; what was learnt outlives the process."""

from __future__ import annotations

import asyncio
import logging
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


class Pricing:
    """Outside the algorithm (article §7.4): it may learn, and never changes what was charged."""

    def __init__(self, settings: CostSettings) -> None:
        self.estimator = Estimator()
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
        self.settings = settings
        self.estimator.settings = Settings(
            input_weight=_exact(settings.input_weight),
            output_weight=_exact(settings.output_weight),
            first_ratio=_exact(settings.ratio),
            least_ratio=min(_exact(settings.ratio), Settings.least_ratio) if settings.learn else _exact(settings.ratio),
            greatest_ratio=Settings.greatest_ratio if settings.learn else _exact(settings.ratio),
            per_user=settings.per_user,
            default_cap=settings.cap,
            default_caps=settings.caps,
        )
        self.estimator.counters = {model: tokenizer(path) for model, path in settings.tokenizers.items()}

    def price(self, user: str, asked: Asked) -> Cost:
        """The price of a request that arrives."""
        tokens = self.estimator.count(asked.model, asked.prompt)
        return self.estimator.cost(asked.model, user, tokens, cap=asked.cap, choices=asked.choices)

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
