"""Equivalence: whether a difference is shown to be smaller than a margin. Not having found one shows nothing.

D. J. Schuirmann, A comparison of the two one-sided tests procedure and the power approach for assessing the equivalence
of average bioavailability, J. Pharmacokinetics and Biopharmaceutics 15, 1987 (TOST). A margin relative to a mean:
S. Sasabuchi, A test of a multivariate normal mean with composite hypotheses determined by linear inequalities,
Biometrika 67, 1980. The side of a test without pairs: B. L. Welch, The generalization of 'Student's' problem when
several different population variances are involved, Biometrika 34, 1947, with the degrees of freedom of F. E.
Satterthwaite, An approximate distribution of estimates of variance components, Biometrics Bulletin 2, 1946.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ackclock.stats.hypotheses.difference import constant_difference, samples
from ackclock.stats.samples.missing import known, known_pairs
from ackclock.stats.samples.spread import constant

if TYPE_CHECKING:
    from ackclock.stats.hypotheses.difference import Array

_PERCENT = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*%")


def tost(
    a: Sequence[float | None],
    b: Sequence[float | None],
    low: float,
    high: float,
    *,
    paired: bool = True,
    ratio: bool = False,
) -> float | None:
    """The p-value of two one-sided tests that ``mean(b) - mean(a)`` lies between `low` and `high`.

    With `ratio` it is that the ratio of geometric means does. Small values show equivalence; it is the larger of the
    two, so that p < 0.05 says that the 90 % interval lies within. ``None`` for fewer than two values, where nothing
    varies, or for a ratio if one is not above zero.
    """
    if not low < high:
        raise ValueError(f"bounds go from the lower to the higher one, not from {low} to {high}")
    own_a, own_b = _known(a, b, paired=paired)
    if len(own_a) < 2 or len(own_b) < 2 or (ratio and min(*own_a, *own_b, low, high) <= 0):
        return None
    x, y = samples(own_a, own_b, ratio=ratio)
    least, most = (math.log(low), math.log(high)) if ratio else (low, high)
    if _constant(x, y, paired=paired, ratio=ratio) is not None:
        return None
    difference = _difference(x, y, paired=paired)
    return max(difference.below(least), difference.above(most))


def tost_relative(
    a: Sequence[float | None],
    b: Sequence[float | None],
    margin: float | str,
    *,
    paired: bool = True,
    ratio: bool = False,
) -> float | None:
    """The p-value of the tests that B is within A ± `margin`, a share of A: 0.05 or ``"5%"``.

    With `ratio` of geometric means. Otherwise of means: as the margin is not known but measured with A, each side is a
    test of ``mean(b - (1 ± margin) a)``, which says the same of the true means. ``None`` as for :func:`tost`, or if
    the mean of A is zero, of which there are no shares.
    """
    share = margin_share(margin)
    if ratio:
        return tost(a, b, 1 - share, 1 + share, paired=paired, ratio=True)
    own_a, own_b = _known(a, b, paired=paired)
    mean = sum(own_a)
    if len(own_a) < 2 or len(own_b) < 2 or mean == 0 or (constant(own_a) and constant(own_b)):
        return None
    smaller, larger = (1 - share, 1 + share) if mean > 0 else (1 + share, 1 - share)
    least, most = ([factor * value for value in own_a] for factor in (smaller, larger))
    return max(_above(own_b, least, paired=paired), _above(most, own_b, paired=paired))


def margin_share(margin: float | str) -> float:
    """A margin as a share of what it is of, from 0.05 or ``"5%"``. Raises :class:`ValueError` if it is none."""
    share = margin
    if isinstance(share, str):
        matched = _PERCENT.fullmatch(share.strip())
        share = math.nan if matched is None else float(matched[1]) / 100
    if not 0 < share < 1:
        shown = f"'{margin}'" if isinstance(margin, str) else f"{100 * margin:g} %"
        raise ValueError(f"{shown} is not a margin: give a share such as 0.05 or '5%', above 0 and below 100 %")
    return float(share)


def _known(a: Sequence[float | None], b: Sequence[float | None], *, paired: bool) -> tuple[list[float], list[float]]:
    return known_pairs(a, b) if paired else (known(a), known(b))


def _above(a: Sequence[float], b: Sequence[float], *, paired: bool) -> float:
    """The p-value of the one-sided test that the mean of `a` is above that of `b`."""
    x, y = samples(b, a, ratio=False)
    same = _constant(x, y, paired=paired, ratio=False)
    return float(not same > 0) if same is not None else _difference(x, y, paired=paired).below(0.0)


def _constant(x: Array, y: Array, *, paired: bool, ratio: bool) -> float | None:
    """The difference of Y from X where nothing varies, so that there is no t test."""
    if paired:
        return constant_difference(x, y, ratio=ratio)
    varies = not (constant(x, ratio=ratio) and constant(y, ratio=ratio))
    return None if varies else float(y.mean() - x.mean())


@dataclass(frozen=True, slots=True)
class _Difference:
    """A difference of means with its standard error and degrees of freedom, as a t test has them."""

    mean: float
    error: float
    degrees: float

    def below(self, bound: float) -> float:
        """The p-value of the hypothesis that the true difference is at most `bound`: small if it is above."""
        return self._tail(self.mean - bound)

    def above(self, bound: float) -> float:
        """The p-value of the hypothesis that the true difference is at least `bound`: small if it is below."""
        return self._tail(bound - self.mean)

    def _tail(self, gap: float) -> float:
        from scipy.special import stdtr

        t = gap / self.error if self.error else math.copysign(math.inf, gap)  # of values that have no squares
        return float(stdtr(self.degrees, -t))


def _difference(x: Array, y: Array, *, paired: bool) -> _Difference:
    """Y against X, of which something varies: Student's for pairs, Welch's without."""
    if paired:
        differences = y - x
        n = len(differences)
        return _Difference(float(differences.mean()), float(differences.std(ddof=1)) / math.sqrt(n), n - 1)
    of_x, of_y = (float(values.var(ddof=1)) / len(values) for values in (x, y))
    share = of_x / (of_x + of_y) if of_x + of_y else 0.5
    # Welch and Satterthwaite; of shares, because the square of a small variance may be nothing.
    degrees = 1 / (share**2 / (len(x) - 1) + (1 - share) ** 2 / (len(y) - 1))
    return _Difference(float(y.mean() - x.mean()), math.sqrt(of_x + of_y), degrees)
