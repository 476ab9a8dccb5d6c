"""Equivalence: whether a difference is shown to be smaller than a margin. Not having found one shows nothing.

D. J. Schuirmann, A comparison of the two one-sided tests procedure and the power approach for assessing the equivalence
of average bioavailability, J. Pharmacokinetics and Biopharmaceutics 15, 1987 (TOST). A margin relative to a mean:
S. Sasabuchi, A test of a multivariate normal mean with composite hypotheses determined by linear inequalities,
Biometrika 67, 1980.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ackclock.stats.contrasts import constant, constant_difference, samples, unmoved
from ackclock.stats.missing import known, known_pairs

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
    two, so that p < 0.05 says that the 90 % interval lies within. ``None`` for fewer than two values, or for a ratio
    if one is not above zero.
    """
    if not low < high:
        raise ValueError(f"bounds go from the lower to the higher one, not from {low} to {high}")
    own_a, own_b = _known(a, b, paired=paired)
    if len(own_a) < 2 or len(own_b) < 2 or (ratio and min(*own_a, *own_b, low, high) <= 0):
        return None
    from statsmodels.stats.weightstats import ttost_ind, ttost_paired

    x, y = samples(own_a, own_b, ratio=ratio)
    bounds = (math.log(low), math.log(high)) if ratio else (low, high)
    if paired:
        if (same := constant_difference(x, y, ratio=ratio)) is not None:
            return float(not bounds[0] < same < bounds[1])
        return float(ttost_paired(y, x, *bounds)[0])
    if constant(x, ratio=ratio) and constant(y, ratio=ratio):
        return float(not bounds[0] < float(y.mean() - x.mean()) < bounds[1])
    return float(ttost_ind(y, x, *bounds, usevar="unequal")[0])


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
    if len(own_a) < 2 or len(own_b) < 2 or mean == 0:
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
    from scipy import stats

    x, y = samples(a, b, ratio=False)
    if paired:
        if (same := constant_difference(y, x)) is not None:
            return float(not same > 0)
        with unmoved():
            return float(stats.ttest_rel(x, y, alternative="greater").pvalue)
    if constant(x) and constant(y):
        return float(not x.mean() > y.mean())
    with unmoved():
        return float(stats.ttest_ind(x, y, equal_var=False, alternative="greater").pvalue)
