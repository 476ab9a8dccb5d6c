"""A TCP sender for closed forms: when each segment of a file leaves, and when it has been received in order.

In slow start the window grows by a segment for each that is acknowledged (RFC 5681 §3.1), until round trips grow or
acknowledgments come in a train of half of one (Ha and Rhee, Taming the elephants, 2011; as Linux has it). A loss is
found a round trip later, takes 30 % of the window and is repaired in another round trip; from then on the window grows
as CUBIC's (RFC 9438 §4.2 to §4.7). Queues never overflow, and there are no timeouts: what is lost at the very end is
found by a probe after two round trips (RFC 8985 §7.2).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackclock.models.split import Leg

KEPT = 0.7
"""Share of the window that a loss leaves (RFC 9438 §4.6)."""
_C = 0.4
"""Segments per cubed second (RFC 9438 §4.5)."""
_FRIENDLY = 3 * (1 - KEPT) / (1 + KEPT)
"""Growth per window that gives Reno's rate (RFC 9438 §4.3)."""
_LOOKED_AT = 16
"""Segments of a round whose times say whether round trips have grown: those of eight delayed acknowledgments."""
_TRAIN = 1e-3
"""Seconds: acknowledgments of single segments that are nearer are a train, those of two within 2 ms."""
_PROBED = 3
"""Segments at the end whose loss no three acknowledgments behind them tell."""

Lost = Mapping[int, int]
"""Of each segment that is lost, by its number from 0, how many of its copies are."""


def drawn(segments: int, loss: float, rng: random.Random, first: float) -> Lost:
    """Which of so many segments are lost, each of them and each of their copies with the probability `loss`.

    `first` is the quantile of where the first loss is, which decides most: so means need fewer patterns.
    """
    found: dict[int, int] = {}
    number, quantile = -1, first
    while loss > 0:
        # The next loss is geometrically far away.
        number += 1 + int(math.log1p(-quantile) / math.log1p(-loss))
        if number >= segments:
            break
        found[number] = 1
        while rng.random() < loss:
            found[number] += 1
        quantile = rng.random()
    return found


class Sender:
    """A sender of `segments` segments over a leg, asked for one after the other when each leaves.

    `received` has the time at which each is there and all before it are; times are those of the first link's end.
    """

    def __init__(self, leg: Leg, segments: int, lost: Lost | None = None) -> None:
        self._leg, self._segments, self._lost = leg, segments, lost or {}
        self._each = 8 * leg.mss / leg.rate
        self._room = max(1, int(leg.window // leg.mss)) if leg.window < math.inf else segments
        self._window = float(leg.initial)
        self._growing = True
        self._taken = 0
        """Acknowledgments, or reports of losses, that have come."""
        self._before = self._peak = 0.0
        """CUBIC's largest windows: of the loss before, and where it is going to."""
        self._epoch: tuple[float, float] | None = None
        """When growth after a loss began, and how long it takes to the peak."""
        self._friendly = 0.0
        self._repairs = -1
        """The last segment that had left when a loss was found: losses up to it take no more of the window."""
        self._round = 0
        self._train = (0.0, 0.0)
        """When this round's first acknowledgment came, and the last of those without a gap."""
        self._samples: list[float] = []
        """How long this round's first segments waited at the link."""
        self._most = 0
        """Segments under way at a time, in this round."""
        self._sent: list[float] = []
        self._left: list[float] = []
        self.received: list[float] = []

    def leave(self, earliest: float = 0.0) -> float:
        """When the next segment is there, which nothing but the connection holds back after `earliest`."""
        number = len(self._left)
        at = max(earliest, self._sent[-1] if self._sent else 0.0)
        if number >= self._room:
            at = max(at, self.received[number - self._room] + self._leg.rtt / 2)
        while number + 1 - self._taken > self._window:
            at = max(at, self._take())
        while self._taken < number and self._told(self._taken) < at:
            self._take()
        self._most = max(self._most, number + 1 - self._taken)
        self._sent.append(at)
        self._left.append(max(at, self._left[-1] + self._each) if self._left else at)
        there = self._left[-1] + self._each + self._leg.rtt / 2
        if number in self._lost:
            there += self._lost[number] * self._leg.rtt
            if number >= self._segments - _PROBED:
                there += self._leg.rtt
        self.received.append(max(there, self.received[-1]) if self.received else there)
        return self.received[-1]

    def _told(self, number: int) -> float:
        """When the sender knows what became of a segment."""
        return self._left[number] + self._each + self._leg.rtt

    def _take(self) -> float:
        """An acknowledgment, or a report of a loss, comes. When it does."""
        number, at = self._taken, self._told(self._taken)
        self._taken += 1
        if number in self._lost:
            self._reduce(number)
        elif number > self._repairs:
            self._grow(number, at)
        if number >= self._round:
            self._round, self._most = len(self._left), len(self._left) - number
            self._train = (at, at)
            self._samples = []
        return at

    def _reduce(self, number: int) -> None:
        if number <= self._repairs:
            return
        self._repairs = len(self._left) - 1
        self._growing, self._epoch = False, None
        # Fast convergence (RFC 9438 §4.7).
        self._peak = self._window * (1 + KEPT) / 2 if self._window < self._before else self._window
        self._before = self._window
        self._window = max(2.0, self._window * KEPT)
        self._friendly = self._window

    def _grow(self, number: int, at: float) -> None:
        # A window that is not in use does not grow; in slow start half of it is use enough.
        if self._growing:
            if self._window < 2 * self._most:
                self._window += 1
            self._leave_slow_start(number, at)
            return
        if self._most < self._window - 1:
            return
        if self._epoch is None:
            self._peak = max(self._peak, self._window)
            self._epoch = (at, ((self._peak - self._window) / _C) ** (1 / 3))
        begun, needed = self._epoch
        target = self._peak + _C * (at - begun + self._leg.rtt - needed) ** 3
        self._friendly += _FRIENDLY / self._window
        self._window += max(0.01, min(target, 1.5 * self._window) - self._window) / self._window
        self._window = max(self._window, self._friendly)

    def _leave_slow_start(self, number: int, at: float) -> None:
        rtt = self._leg.rtt
        begun, last = self._train
        if at - last <= _TRAIN:
            self._train = (begun, at)
        if self._window < 16:
            return
        if len(self._samples) < _LOOKED_AT:
            self._samples.append(self._left[number] - self._sent[number])
        slower = len(self._samples) == _LOOKED_AT and min(self._samples) > min(max(rtt / 8, 4e-3), 16e-3)
        if slower or self._train[1] - begun > rtt / 2:
            self._growing = False
            self._peak = self._before = self._window
            self._friendly = self._window
