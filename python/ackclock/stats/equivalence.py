"""Equivalence: whether a difference is shown to be smaller than a margin. Not having found one shows nothing.

D. J. Schuirmann, A comparison of the two one-sided tests procedure and the power approach for assessing the equivalence
of average bioavailability, J. Pharmacokinetics and Biopharmaceutics 15, 1987 (TOST). A margin relative to a mean:
S. Sasabuchi, A test of a multivariate normal mean with composite hypotheses determined by linear inequalities,
Biometrika 67, 1980.
"""

from __future__ import annotations

from collections.abc import Sequence

from ackclock.stats.contrasts import constant, constant_difference, samples, unmoved


def tost(
    a: Sequence[float], b: Sequence[float], low: float, high: float, *, paired: bool = True, ratio: bool = False
) -> float | None:
    """The p-value of two one-sided tests that ``mean(b) - mean(a)`` lies between `low` and `high`.

    With `ratio` it is that the ratio of geometric means does. Small values show equivalence; it is the larger of the
    two, so that p < 0.05 says that the 90 % interval lies within. ``None`` for fewer than two values, or for a ratio
    if one is not above zero.
    """
    if len(a) < 2 or len(b) < 2 or (ratio and min(*a, *b, low, high) <= 0):
        return None
    import numpy as np
    from statsmodels.stats.weightstats import ttost_ind, ttost_paired

    x, y = samples(a, b, ratio=ratio)
    bounds = (float(np.log(low)), float(np.log(high))) if ratio else (low, high)
    if paired:
        if (same := constant_difference(x, y, ratio=ratio)) is not None:
            return float(not bounds[0] < same < bounds[1])
        return float(ttost_paired(y, x, *bounds)[0])
    if constant(x, ratio=ratio) and constant(y, ratio=ratio):
        return float(not bounds[0] < float(y.mean() - x.mean()) < bounds[1])
    return float(ttost_ind(y, x, *bounds, usevar="unequal")[0])


def tost_relative(
    a: Sequence[float], b: Sequence[float], margin: float, *, paired: bool = True, ratio: bool = False
) -> float | None:
    """The p-value of the tests that B is within A ± `margin`, a share of A: 0.05 is 5 %.

    With `ratio` of geometric means. Otherwise of means: as the margin is not known but measured with A, each side is a
    test of ``mean(b - (1 ± margin) a)``, which says the same of the true means. ``None`` as for :func:`tost`, or if
    the mean of A is zero, of which there are no shares.
    """
    if ratio:
        return tost(a, b, 1 - margin, 1 + margin, paired=paired, ratio=True)
    mean = sum(a)
    if mean == 0:
        return None
    smaller, larger = (1 - margin, 1 + margin) if mean > 0 else (1 + margin, 1 - margin)
    sides = (_above(a, b, smaller, paired=paired), _above(b, a, 1 / larger, paired=paired))
    return None if sides[0] is None or sides[1] is None else max(sides[0], sides[1])


def _above(a: Sequence[float], b: Sequence[float], factor: float, *, paired: bool) -> float | None:
    """The p-value of the one-sided test that the mean of `b` is above `factor` times that of `a`."""
    if len(a) < 2 or len(b) < 2:
        return None
    from scipy import stats

    x, y = samples([factor * value for value in a], b, ratio=False)
    if paired:
        if (same := constant_difference(x, y)) is not None:
            return float(not same > 0)
        with unmoved():
            return float(stats.ttest_rel(y, x, alternative="greater").pvalue)
    if constant(x) and constant(y):
        return float(not y.mean() > x.mean())
    with unmoved():
        return float(stats.ttest_ind(y, x, equal_var=False, alternative="greater").pvalue)
