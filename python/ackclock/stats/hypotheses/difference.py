"""What separates two samples: paired, as common random numbers allow, or not.

Student's t for pairs; B. L. Welch, The generalization of 'Student's' problem when several different population
variances are involved, Biometrika 34, 1947, without pairs. Ratios are compared by their logarithms. Common random
numbers: A. M. Law, Simulation Modeling and Analysis, 5th edition, 2015, §11.2. Effect sizes: D. Lakens, Calculating and
reporting effect sizes, Frontiers in Psychology 4:863, 2013.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ackclock.stats.samples.missing import check_level, known, known_pairs
from ackclock.stats.samples.spread import NOISE, constant

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Contrast:
    """B against A: a difference of means, or with `ratio` a ratio of geometric means, with its interval.

    `n` counts the pairs, or without pairs the values of the smaller sample. `p` is of the t test of no difference
    (two-sided). `d` is the difference in standard deviations: of the pairs' differences (Cohen's d_z), or without
    pairs of the samples (root mean square of the two); of a ratio both are of logarithms. Interval, `p` and `d` are
    ``None`` for a single value and where nothing varies: without a spread there is nothing to test by.
    """

    value: float
    low: float | None
    high: float | None
    p: float | None
    d: float | None
    n: int
    ratio: bool
    paired: bool


def paired(
    a: Sequence[float | None], b: Sequence[float | None], *, ratio: bool = False, level: float = 0.95
) -> Contrast | None:
    """B against A over pairs of values; ``None`` without pairs, or for a ratio if a value is not above zero."""
    check_level(level)
    own_a, own_b = known_pairs(a, b)
    if not own_a or (ratio and min(*own_a, *own_b) <= 0):
        return None
    from scipy import stats

    x, y = samples(own_a, own_b, ratio=ratio)
    n, mean = len(x), float((y - x).mean())
    if n == 1:
        return _contrast(mean, None, None, None, n, ratio=ratio, is_paired=True)
    if (same := constant_difference(x, y, ratio=ratio)) is not None:
        return _contrast(same, None, None, None, n, ratio=ratio, is_paired=True)
    with unmoved():
        found = stats.ttest_rel(y, x)
    ends = found.confidence_interval(level)
    d = mean / float((y - x).std(ddof=1))
    return _contrast(mean, (ends.low, ends.high), float(found.pvalue), d, n, ratio=ratio, is_paired=True)


def unpaired(
    a: Sequence[float | None], b: Sequence[float | None], *, ratio: bool = False, level: float = 0.95
) -> Contrast | None:
    """B against A where nothing pairs their values (Welch); ``None`` as in :func:`paired`."""
    check_level(level)
    own_a, own_b = known(a), known(b)
    if not own_a or not own_b or (ratio and min(*own_a, *own_b) <= 0):
        return None
    from scipy import stats

    x, y = samples(own_a, own_b, ratio=ratio)
    n, mean = min(len(x), len(y)), float(y.mean() - x.mean())
    if n == 1:
        return _contrast(mean, None, None, None, n, ratio=ratio, is_paired=False)
    if constant(x, ratio=ratio) and constant(y, ratio=ratio):
        same = 0.0 if constant([*x, *y], ratio=ratio) else mean
        return _contrast(same, None, None, None, n, ratio=ratio, is_paired=False)
    with unmoved():
        found = stats.ttest_ind(y, x, equal_var=False)
    ends = found.confidence_interval(level)
    d = mean / math.sqrt(float(x.var(ddof=1) + y.var(ddof=1)) / 2)
    return _contrast(mean, (ends.low, ends.high), float(found.pvalue), d, n, ratio=ratio, is_paired=False)


def samples(a: Sequence[float], b: Sequence[float], *, ratio: bool) -> tuple[Array, Array]:
    """Two samples as arrays, of a ratio their logarithms."""
    import numpy as np

    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return (np.log(x), np.log(y)) if ratio else (x, y)


@contextmanager
def unmoved() -> Iterator[None]:
    """Without scipy's warning of values that hardly vary: one of two samples may well be constant."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Precision loss occurred in moment calculation")
        yield


def constant_difference(x: Array, y: Array, *, ratio: bool = False) -> float | None:
    """The difference that all pairs have, up to rounding; ``None`` if they have several."""
    differences = y - x
    noise = NOISE * (1.0 if ratio else max(float(abs(x).max()), float(abs(y).max())))
    if float(differences.max() - differences.min()) > noise:
        return None
    mean = float(differences.mean())
    return mean if abs(mean) > noise else 0.0


def _contrast(
    mean: float,
    ends: tuple[float, float] | None,
    p: float | None,
    d: float | None,
    n: int,
    *,
    ratio: bool,
    is_paired: bool,
) -> Contrast:
    low, high = (None, None) if ends is None else (float(ends[0]), float(ends[1]))
    if ratio:
        mean = math.exp(mean)
        low, high = (None if end is None else math.exp(end) for end in (low, high))
    return Contrast(mean, low, high, p, d, n, ratio, is_paired)
