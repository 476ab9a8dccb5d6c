"""What to leave out at the beginning of a run: a cut that is declared, or one that is found in the values.

K. P. White, An effective truncation heuristic for bias reduction in simulation output, Simulation 69, 1997 (MSER);
of means of five values: K. P. White, M. J. Cobb and S. C. Spratt, A comparison of five steady-state truncation
heuristics for simulation, Winter Simulation Conference 2000 (MSER-5). The sums of squares: B. P. Welford, Note on a
method for calculating corrected sums of squares and products, Technometrics 4, 1962.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ackclock.stats.samples.missing import series

BATCH = 5
LEAST_BATCHES = 10
"""Batches a series must have: the rule looks for a minimum, and of a few any one may be the smallest."""

_LAST = 5  # batches that are never left alone: the spread of so few is small by chance
_NOISE = 1e-14  # a spread below this share of the values is rounding: some fifty times that of one number


@dataclass(frozen=True, slots=True)
class Truncation:
    """Where the warm-up ends: `cut` is how many values to leave out, `mean` that of the others in the full batches.

    Both are ``None`` where the rule refuses: fewer than ten `batches`, or a minimum in the second half, which says that
    the series is too short to have settled.
    """

    cut: int | None
    mean: float | None
    batches: int


def after(time: Sequence[float], values: Sequence[float], warmup: float) -> list[float]:
    """The values from a declared warm-up on, missing ones in their places. Every one must have a time."""
    return [value for at, value in zip(series(time, "times"), values, strict=True) if at >= warmup]


def mser(values: Sequence[float], batch: int = BATCH) -> Truncation:
    """The cut d that minimises ``Σ (Y_i - mean)² / (m - d)²`` over the batch means Y_d+1 … Y_m that it leaves.

    `values` are equally spaced in time, none of them missing; those beyond the last full batch do not count. Of equal
    minima the first is taken.
    """
    if batch < 1:
        raise ValueError(f"a batch has at least one value, not {batch}")
    own = series(values)
    batches = len(own) // batch
    if batches < LEAST_BATCHES:
        return Truncation(None, None, batches)
    means = [math.fsum(own[start : start + batch]) / batch for start in range(0, batches * batch, batch)]
    statistic = [spread / (batches - cut) ** 2 for cut, spread in enumerate(_spreads(means)[: batches - _LAST])]
    cut = statistic.index(min(statistic))
    if cut > batches // 2:
        return Truncation(None, None, batches)
    left = own[cut * batch : batches * batch]
    return Truncation(cut * batch, math.fsum(left) / len(left), batches)


def _spreads(values: Sequence[float]) -> list[float]:
    """The sum of squares about their mean of the values from each place on.

    From the end, where a series has settled, one value after another (Welford): a difference of two sums of squares
    would lose all digits of a spread that is small beside the first values. What is rounding counts as none.
    """
    origin = values[-1]
    mean = spread = size = 0.0
    found = []
    for count, value in enumerate(reversed(values), 1):
        step = (value - origin) - mean
        mean += step / count
        spread += step * ((value - origin) - mean)
        size = max(size, abs(value))
        found.append(spread if spread > count * (_NOISE * size) ** 2 else 0.0)
    return found[::-1]
