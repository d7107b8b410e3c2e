"""Histories of LAS that are drawn: for the vectors, and wider ones to search with."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from random import Random
from typing import Any

from sfq_spec.conformance.las.case import LasCase, Unsure, lines, make
from sfq_spec.conformance.las.model import Mode, model
from sfq_spec.conformance.las.player import Player
from sfq_spec.conformance.las.script import Script
from sfq_spec.conformance.las.written import OURS, SHORT, V1, V2
from sfq_spec.trace import Arrive

DRAWING = "A history that was drawn."
PAUSES = ("0.001", "0.0015", "0.25", "3", "20", "61", "299")
LENGTH = 40
"""Events of a drawn history, about."""
QUICK: Mapping[str, float] = {"evictionTtlSeconds": 90, "evictionSweepSeconds": 10}
BY_AGE: Mapping[str, float] = {"lasWeightService": 0.3, "lasWeightHeadWait": 0.7}
FOR_EVER: Mapping[str, float] = {"evictionTtlSeconds": 0}
Parameters = tuple[Mapping[str, float], ...]
PARAMETERS: Mapping[Mode, Parameters] = {
    V1: ({}, {"lasDecayFactor": 0.5}, {"lasHalfLifeSeconds": 60}, QUICK),
    V2: ({}, {"lasHalfLifeSeconds": 7}, {"lasHalfLifeSeconds": 0}, QUICK),
    OURS: ({}, {"lasDecayFactor": 0.9}, BY_AGE, FOR_EVER),
}
"""What the histories of the vectors are drawn with, in turn."""
WIDER: Mapping[Mode, Parameters] = {
    V1: (
        *PARAMETERS[V1],
        {**BY_AGE, "lasDecayFactor": 0.9},
        FOR_EVER,
        {"lasHalfLifeSeconds": 7, "lasDecayFactor": 0.5},
    ),
    V2: (*PARAMETERS[V2], BY_AGE, FOR_EVER, {**QUICK, "lasHalfLifeSeconds": 0.5}),
    OURS: (*PARAMETERS[OURS], QUICK, {**QUICK, "lasDecayFactor": 0.5}, {"lasHalfLifeSeconds": 0.5}),
}
"""What the others are drawn with, in turn: seven for each mode, so that no number of modes passes some over."""
PROGRAMS = ("A", "B", "b", "", "default-flow", "é")


def drawn(mode: Mode, seed: int, id: str = "") -> LasCase:
    """A random history in which no pick is in doubt, as the vectors have them."""
    rng = Random(f"{mode} {seed}")
    parameters = PARAMETERS[mode][seed % len(PARAMETERS[mode])]
    while True:
        events = _history(rng, mode, parameters)
        try:
            return make(id or f"{SHORT[mode]}-drawn-{seed}", DRAWING, mode, events, parameters=parameters)
        except Unsure:
            continue


def drawn_wider(mode: Mode, seed: int, id: str) -> LasCase:
    """Another one, in which requests also fail and end twice, ids return, and some programs have a priority."""
    rng = Random(f"{mode} {seed} wider")
    parameters = WIDER[mode][seed % len(WIDER[mode])]
    while True:
        events = _Wider(rng, mode, parameters).history()
        try:
            return make(id, DRAWING, mode, events, parameters=parameters)
        except Unsure:
            continue


def _history(rng: Random, mode: Mode, parameters: Mapping[str, float]) -> list[dict[str, Any]]:
    script = Script(Fraction(str(parameters.get("evictionSweepSeconds", 300))))
    users, waiting, flying = "ABCDE"[: rng.randint(2, 5)], list[str](), list[str]()
    scheduler, played, number = Player(model(mode, parameters, collected=False)), 0, 0
    while len(script.events) < LENGTH:
        if rng.random() < 0.5:
            script.at(script.now + Fraction(rng.choice(PAUSES)))
        match rng.randrange(7):
            case 0 | 1 | 2:
                number += 1
                waiting.append(f"{rng.choice(users)}{number}")
                script.arrive(waiting[-1])
            case 3 if waiting and rng.random() < 0.3:
                script.cancel(waiting.pop(rng.randrange(len(waiting))))
            case 4 | 5 if waiting:
                script.send()
            case 6 if flying:
                ended = flying.pop(rng.randrange(len(flying)))
                script.complete(ended, rng.choice([1, 20, 300, 4000]), rng.choice([0, 5, 700]))
        for line in lines(script.events[played:]):
            sent = scheduler.step(line.event, line.told).dispatched
            if isinstance(sent, str):
                waiting.remove(sent)
                flying.append(sent)
        played = len(script.events)
    return script.events


class _Wider:
    """A history that is being drawn."""

    def __init__(self, rng: Random, mode: Mode, parameters: Mapping[str, float]) -> None:
        self.rng, self.mode = rng, mode
        self.script = Script(Fraction(str(parameters.get("evictionSweepSeconds", 300))))
        self.model = model(mode, parameters, collected=False)
        self.player, self.played, self.number = Player(self.model), 0, 0
        self.programs = rng.sample(PROGRAMS, rng.randint(2, 5))
        by_picks = mode == V1 or (mode == OURS and "lasDecayFactor" in parameters)
        self.urgent = set() if by_picks or rng.random() < 0.6 else {rng.choice("ABb")}
        """Programs that wait at another priority; never where decay hangs on how many bands a pick asks."""
        self.waiting, self.flying, self.ended = list[str](), list[str](), list[str]()

    def history(self) -> list[dict[str, Any]]:
        """Draw it."""
        while len(self.script.events) < LENGTH:
            if self.rng.random() < 0.5:
                self.script.at(self.script.now + Fraction(self.rng.choice(PAUSES)))
            self._event()
            self._play()
        return self.script.events

    def _event(self) -> None:
        rng = self.rng
        match rng.randrange(8):
            case 0 | 1 | 2:
                self._arrive()
            case 3 if self.waiting and rng.random() < 0.3:
                self.script.cancel(self._taken(self.waiting))
            case 4 | 5 if self.waiting or rng.random() < 0.3:
                self.script.send()
            case 6 if self.flying:
                self.ended.append(self._taken(self.flying))
                self._complete(self.ended[-1])
            case 7 if self.ended and rng.random() < 0.3:
                self._complete(rng.choice(self.ended))

    def _arrive(self) -> None:
        self.number += 1
        request = f"{self.rng.choice(self.programs)}{self.number}"
        if self.ended and self.rng.random() < 0.1:
            request = self._taken(self.ended)
        self.waiting.append(request)
        self.script.arrive(request, priority=5 if request.rstrip("0123456789") in self.urgent else None)

    def _complete(self, request: str) -> None:
        outcome = self.rng.choice(["completed", "completed", "failed", "cancelled" if self.mode == OURS else "failed"])
        self.script.complete(request, self.rng.choice([1, 20, 300, 4000]), self.rng.choice([0, 5, 700]), outcome)

    def _taken(self, requests: list[str]) -> str:
        return requests.pop(self.rng.randrange(len(requests)))

    def _play(self) -> None:
        for line in lines(self.script.events[self.played :]):
            if isinstance(line.event, Arrive):
                self.model.priorities[line.event.request] = line.priority
            sent = self.player.step(line.event, line.told).dispatched
            if isinstance(sent, str):
                self.waiting.remove(sent)
                self.flying.append(sent)
        self.played = len(self.script.events)
