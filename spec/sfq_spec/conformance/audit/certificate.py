"""A bound on every lead, at a fixed price per event, whatever scheduled (article §3.3, read backwards).

The meters S and virtual time v are replayed from the order that was observed: a user joins at max(S, v), is charged
at dispatch, v is the greatest start tag so far, and at the end of a period of congestion v is lifted to the greatest
meter. The lag of a user is S − v while it waits, and at least 0 while it does not. In an interval in which j waits
throughout, W_j is exactly what S_j grew by, W_i is at most what S_i grew by, and v grew by the same for both:

    lead = W_i − W_j  ≤  (lag_i(t2) − lag_i(t1)) + (lag_j(t1) − lag_j(t2))  ≤  range_i + range_j

with the range of a lag taken over the period of congestion that holds the interval. So no lead is above the sum of
the two largest ranges of a period. Where a user of least meter was dispatched each time, every lag is between 0 and
the user's latest charge: then the bound is at most two of the largest charges, and FAIR-LEAD holds in every
interval, by the same sum. That is the case exactly if no lag was ever below 0 (`is_level`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(eq=False, slots=True)
class Meter:
    """What is replayed of a user. Charges are cost over weight, in any unit."""

    S: int = 0
    low: int = 0
    high: int = 0
    """The least and the greatest lag in the period that the user was last seen in, as far as looked at."""
    period: int = 0


class Certificate:
    """The replay, and the bound that comes of it."""

    def __init__(self) -> None:
        self.v = 0
        self.is_level = True
        """Whether no lag has been below 0. Then FAIR-LEAD holds for all pairs and intervals."""
        self.bound = 0
        """No lead in a period that has ended is above it."""
        self.waiting = 0
        """Users that wait."""
        self._greatest = 0
        self._period = 1
        self._first: Meter | None = None
        self._first_range = self._second_range = 0

    def join(self, meter: Meter) -> None:
        """A user begins to wait."""
        if meter.period != self._period:
            meter.period, meter.low, meter.high = self._period, 0, 0
        if self.v > meter.S:
            meter.S = self.v
        self.waiting += 1

    def charge(self, meter: Meter, charge: int, *, stays: bool) -> None:
        """A waiting user is dispatched; `stays` tells whether it has another request waiting."""
        lag = meter.S - self.v
        if lag < 0:
            self.is_level = False
            if lag < meter.low:
                meter.low = lag
            lag = 0
        else:
            self.v = meter.S
        meter.S += charge
        lag = meter.S - self.v
        if lag > meter.high:
            meter.high = lag
        if self._greatest < meter.S:
            self._greatest = meter.S
        self._rank(meter)
        if not stays:
            self._left()

    def leave(self, meter: Meter) -> None:
        """A user stops waiting without being dispatched."""
        self._see(meter)
        self._left()

    def look(self, meters: list[Meter]) -> int:
        """The bound for everything so far, given the meters of all users that wait now."""
        for meter in meters:
            self._see(meter)
        return max(self.bound, self._first_range + self._second_range)

    def multiply(self, factor: int) -> None:
        """From now on charges are told in a unit that is smaller by this factor; meters are scaled by their owner."""
        for name in ("v", "bound", "_greatest", "_first_range", "_second_range"):
            setattr(self, name, getattr(self, name) * factor)

    def _see(self, meter: Meter) -> None:
        """What became of a waiting user's lag while v went on: it is least now."""
        lag = meter.S - self.v
        if lag < 0:
            self.is_level = False
        if lag < meter.low:
            meter.low = lag
        self._rank(meter)

    def _rank(self, meter: Meter) -> None:
        extent = meter.high - meter.low
        if extent > self._first_range:
            if self._first is not meter:
                self._first, self._second_range = meter, self._first_range
            self._first_range = extent
        elif extent > self._second_range and self._first is not meter:
            self._second_range = extent

    def _left(self) -> None:
        self.waiting -= 1
        if not self.waiting:
            self.bound = max(self.bound, self._first_range + self._second_range)
            self.v = max(self.v, self._greatest)
            self._first, self._first_range, self._second_range = None, 0, 0
            self._period += 1
