"""What kind of number a measure is: which value stands for several runs, and where its interval must end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeVar, get_args

from ackclock.stats import Interval, mean_interval, ratio_interval

Kind = Literal["number", "amount", "share", "percent", "correlation", "ratio", "inequality", "happened", "time"]
"""docs/studies.md says what each is for."""

KINDS: tuple[Kind, ...] = get_args(Kind)

BOUNDS: Mapping[Kind, tuple[float, float]] = {
    "number": (-math.inf, math.inf),
    "amount": (0.0, math.inf),
    "share": (0.0, 1.0),
    "percent": (0.0, 100.0),
    "correlation": (-1.0, 1.0),
    "ratio": (0.0, math.inf),
    "inequality": (1.0, math.inf),
    "happened": (0.0, 1.0),
    "time": (0.0, math.inf),
}
"""What a value of a kind can be."""

_NORMAL = 1.959963984540054  # the 97.5 % quantile of the normal distribution

I = TypeVar("I", bound=Interval)  # noqa: E741


def estimate(kind: Kind, values: Sequence[float]) -> Interval:
    """What one value of each replication comes to together, with its 95 % interval. Not for times."""
    if kind == "happened":
        return proportion(values)
    found = ratio_interval((value, 1.0) for value in values) if geometric(kind) else mean_interval(values)
    return clipped(found, *BOUNDS[kind])


def geometric(kind: Kind) -> bool:
    """Whether values are averaged by their logarithms: 2 and 1/2 make 1."""
    return kind in ("ratio", "inequality")


def together(kind: Kind, values: Sequence[float]) -> float:
    """What several runs of one replication come to. They share their random draws: together they are one value."""
    if len(values) > 1 and geometric(kind):
        return math.exp(math.fsum(map(math.log, values)) / len(values)) if min(values) > 0 else 0.0
    return values[0] if len(values) == 1 else math.fsum(values) / len(values)


def quotient(pairs: Sequence[tuple[float, float]]) -> float | None:
    """The geometric mean of ratios; none if a value is not above zero, which has no logarithm."""
    if any(a <= 0 or b <= 0 for a, b in pairs):
        return None
    return math.exp(math.fsum(math.log(a / b) for a, b in pairs) / len(pairs))


def clipped(found: I, low: float, high: float) -> I:
    """An interval without what no value can be: Student's does not know that a share ends at 1."""
    if found.value is None or found.low is None or found.high is None:
        return found
    low, high = min(low, found.value), max(high, found.value)  # the value itself stays within
    return replace(found, low=max(found.low, low), high=min(found.high, high))


def proportion(values: Sequence[float]) -> Interval:
    """The share of runs in which something happened, with the interval of Wilson (J. Amer. Statist. Assoc. 22, 1927).

    A value is 1 or 0, or the share of the runs of a replication, which varies no more than if all were the same.
    """
    n = len(values)
    if n == 0:
        return Interval(None, None, None, 0)
    share = math.fsum(values) / n
    if n == 1:
        return Interval(share, None, None, 1)
    weight = _NORMAL**2 / n
    middle = (share + weight / 2) / (1 + weight)
    half = _NORMAL * math.sqrt(share * (1 - share) / n + weight / (4 * n)) / (1 + weight)
    return Interval(share, max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half)), n)
