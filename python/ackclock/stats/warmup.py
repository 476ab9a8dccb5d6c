"""What to leave out at the beginning of a run: a cut that is declared, or one that is found in the values.

K. P. White, An effective truncation heuristic for bias reduction in simulation output, Simulation 69, 1997 (MSER);
of means of five values: K. P. White, M. J. Cobb and S. C. Spratt, A comparison of five steady-state truncation
heuristics for simulation, Winter Simulation Conference 2000 (MSER-5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.stats.contrasts import constant

BATCH = 5
LEAST_BATCHES = 10
"""Batches a series must have: the rule looks for a minimum, and of a few any one may be the smallest."""

_LAST = 5  # batches that are never left alone: the spread of so few is small by chance


@dataclass(frozen=True, slots=True)
class Truncation:
    """How many values to leave out at the beginning, and the mean of the others.

    `values` and `mean` are ``None`` where the rule refuses: too few values, or a minimum in the second half, which says
    that the series is too short to have settled.
    """

    values: int | None
    mean: float | None
    batches: int


def after(time: Sequence[float], values: Sequence[float], warmup: float) -> list[float]:
    """The values from a declared warm-up on."""
    return [value for at, value in zip(time, values, strict=True) if at >= warmup]


def mser(values: Sequence[float], batch: int = BATCH) -> Truncation:
    """The cut d that minimises ``Σ (Y_i - mean)² / (m - d)²`` over the batch means Y_d+1 … Y_m that it leaves.

    `values` are equally spaced in time; those beyond the last full batch do not count.
    """
    import numpy as np

    own: Any = np.asarray(values, dtype=np.float64)
    batches = own.size // batch
    if batches < LEAST_BATCHES:
        return Truncation(None, None, batches)
    means = own[: batches * batch].reshape(batches, batch).mean(axis=1)
    if constant(means):
        return Truncation(0, float(means[0]), batches)
    # From the end, so that each sum holds what a cut leaves; about the mean, as squares of large numbers would cancel.
    centred = (means - means.mean())[::-1]
    left = np.arange(1, batches + 1)
    spread = np.cumsum(centred**2) - np.cumsum(centred) ** 2 / left
    statistic = (np.maximum(spread, 0) / left**2)[::-1][: batches - _LAST]
    cut = int(np.argmin(statistic))
    if cut > batches // 2:
        return Truncation(None, None, batches)
    return Truncation(cut * batch, float(means[cut:].mean()), batches)
