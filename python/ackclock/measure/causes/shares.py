"""Where the time of a test's connections went: each step of each connection is put down to what held it back there."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ackclock.measure.causes.courses import Course, Step

State = Literal[
    "filled", "queued", "receive window", "send buffer", "application", "slow-start ramp", "loss", "unexplained"
]
"""`filled`: all connections together have the line. `queued`: packets wait for this one, though the line is thought to
carry more. `loss`: it has lost something, and has not grown back. `unexplained`: nothing known held it back."""

FILLED = 0.9
"""The share of a line that counts as all of it."""

STANDING = 1.25
"""Smoothed round trip over that of the idle line from which on a queue stands."""

RISEN = 0.8
"""A ramp ends where this share of the later rate is reached."""

_GROWS = 1.1
"""A window that becomes larger by this factor later on was still growing."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Of a test: by state the share of its time, and the share of the line that was left free meanwhile."""

    time: Mapping[State, float]
    free: Mapping[State, float]


@dataclass(frozen=True, slots=True)
class Episode:
    """Steps one after the other in which a connection sent again.

    inflation: the largest round trip, over the idle one, of the step before the first and of the first. share: bytes
    sent again over those of the window before. begin, end: numbers of steps.
    """

    begin: int
    end: int
    inflation: float | None
    share: float | None


def episodes(steps: Sequence[Step]) -> list[Episode]:
    """The losses of a connection."""
    found: list[Episode] = []
    marked = [at for at, step in enumerate(steps) if step.lost]
    for _, group in itertools.groupby(enumerate(marked), lambda pair: pair[1] - pair[0]):
        places = [place for _, place in group]
        first, last = places[0], places[-1]
        around = [step.inflation for step in steps[max(0, first - 1) : first + 1] if step.inflation is not None]
        windows = [step.window for step in steps[max(0, first - 2) : first + 1] if step.window]
        again = sum(step.lost or 0.0 for step in steps[first : last + 1])
        share = again / max(windows) if windows else None
        found.append(Episode(first, last, max(around, default=None), share))
    return found


def spent(test: Course, capacity: float | None) -> Spent:
    """Where the time went, on a line that carries so many bit/s. None: nobody knows what it carries.

    Then no step has the line, and all of it counts as free.
    """
    time, free = defaultdict[State, float](float), defaultdict[State, float](float)
    total = test.smooth
    whole = sum(step.seconds for steps in test.connections for step in steps) or 1.0
    for steps in test.connections:
        for at, (step, limits) in enumerate(zip(steps, _states(steps), strict=True)):
            part = step.seconds / whole
            left = max(0.0, 1 - total[at] / capacity) if capacity else 1.0
            found: dict[State, float] = limits if left > 1 - FILLED else {"filled": 1.0}
            for name, share in found.items():
                time[name] += part * share
                free[name] += part * share * left
    return Spent(time, free)


def _states(steps: Sequence[Step]) -> Iterator[dict[State, float]]:
    """What held a connection back, step by step, in shares of it; the line had room."""
    losses = episodes(steps)
    late = [step.rate for step in steps[len(steps) // 2 :]]
    risen = next((at for at, step in enumerate(steps) if step.rate >= RISEN * sum(late) / len(late)), len(steps))
    begun = next((at for at, step in enumerate(steps) if step.rate > 0), len(steps))
    later = [step.window or 0.0 for step in steps]
    for at in range(len(later) - 2, -1, -1):
        later[at] = max(later[at], later[at + 1])
    for at, step in enumerate(steps):
        if step.inflation is not None and step.inflation >= STANDING:
            yield {"queued": 1.0}
            continue
        limits: dict[State, float] = {}
        left = 1.0
        # Until something has arrived the test is about to begin, not without data.
        idle = step.idle if at > begun else None
        ends: tuple[tuple[State, float | None], ...] = (
            ("receive window", step.receive),
            ("send buffer", step.buffer),
            ("application", idle),
        )
        for name, share in ends:
            if share:
                limits[name] = min(left, share)
                left -= limits[name]
        if left > 0:
            rest = _network(steps, at, losses, risen, later)
            limits[rest] = limits.get(rest, 0.0) + left
        yield limits


def _network(steps: Sequence[Step], at: int, losses: Sequence[Episode], risen: int, later: Sequence[float]) -> State:
    """The same of the time in which neither end held it back for long."""
    step = steps[at]
    last = max((episode.end for episode in losses if episode.begin <= at), default=None)
    if at > risen and step.starved and (last is None or at > last + 1):
        return "application"
    if last is not None:
        return "loss"
    # Without losses a window that grows has not come to its end yet.
    growing = step.lost is not None and step.window is not None and later[at] >= _GROWS * step.window
    return "slow-start ramp" if at <= risen or growing else "unexplained"
