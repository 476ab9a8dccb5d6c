"""How well a point is to be known, and how many replications that takes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ackclock.errors import InputError, unknown
from ackclock.results import summary

PILOT = 5
"""Replications that a precision begins with: of fewer, some look alike by chance, and the sweep would stop there."""


@dataclass(frozen=True, slots=True)
class Precision:
    """When a point has been replicated enough. It begins with :data:`PILOT` replications, or more in the scenario.

    relative: the half-width of the 95 % confidence interval of `metric`, as a share of its mean.
    metric: a metric of the summary (docs/results.md).
    most: replications of a point at most.
    """

    relative: float = 0.05
    metric: str = "goodput_bps"
    most: int = 100

    def __post_init__(self) -> None:
        if not 0 < self.relative < 1:
            raise InputError(f"{self.relative} is not between 0 and 1", "give 0.05 for 5 %", key="precision")
        if self.most < 2:
            raise InputError(f"{self.most} is too few", "give at least 2", key="max_replications")
        if self.metric not in summary.METRICS:
            problem = unknown("metric", self.metric, summary.METRICS)
            raise InputError(problem.problem, problem.remedy, key="metric")

    def check(self, replications: Iterable[int]) -> None:
        """Raises :class:`InputError` if a scenario asks for more replications than are allowed."""
        asked = max(replications)
        if asked > self.most:
            problem = f"the scenario asks for {asked} replications, more than {self.most}"
            raise InputError(problem, "allow as many, or give fewer replications", key="max_replications")

    def first(self, replications: int) -> int:
        """How many replications to begin with, of a scenario that asks for so many."""
        return max(replications, min(PILOT, self.most))

    def reached(self, mean: float, half: float | None) -> bool:
        """Whether a mean with such a half-width is precise enough."""
        return half is not None and half <= self.relative * abs(mean)

    def wanted(self, n: int, mean: float, half: float | None) -> int:
        """Replications that a point needs whose `n` replications give such a mean; `n` if it has enough."""
        allowed = self.relative * abs(mean)
        if n >= self.most or self.reached(mean, half):
            return n
        if half is None or allowed == 0:
            return min(self.most, 2 * n)
        # The half-width falls with the square root of n. Twice as many at most: it is an estimate itself.
        needed = math.ceil(n * (half / allowed) ** 2)
        return min(self.most, max(n + 1, min(needed, 2 * n)))


@dataclass(frozen=True, slots=True)
class Imprecise:
    """A point that has the most replications allowed, and is not known as precisely as was asked for.

    relative: the half-width it has reached, as a share of its mean; None if there is no such share.
    """

    point: int
    replications: int
    relative: float | None
