"""Means of groups of captures that are weighted by what they are of, and gains between groups, with intervals.

The weights are those of strata: a mean is the weighted sum of the means of strata, its variance the sum of theirs by
the squares of the weights (W. G. Cochran, Sampling Techniques, 3rd edition, 1977, §5.3), with the degrees of freedom of
F. E. Satterthwaite (An approximate distribution of estimates of variance components, Biometrics Bulletin 2, 1946). The
variance of a ratio is that of its linear part (the delta method).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ackclock.stats import Interval, t_quantile
from ackclock.stats.samples.spread import constant

Values = Mapping[str, Sequence[float]]
"""Values by stratum."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a sum: its value, its variance and the degrees of freedom of that; unknown of a single value."""

    value: float
    variance: float | None
    degrees: int


def mean(values: Values, weights: Mapping[str, float]) -> Interval:
    """The weighted mean of strata that have values; weights are divided by their sum."""
    there = {name: _mean(own) for name, own in values.items() if own}
    return _sum(there, weights, sum(len(own) for own in values.values()))


def gain(base: Values, other: Values, weights: Mapping[str, float]) -> Interval:
    """By which share means are larger than those of `base`, weighted over the strata that both have: 0.5 is half more.

    A stratum whose mean is 0 in `base` has no gain.
    """
    there = {}
    for name, own in other.items():
        if own and base.get(name) and (before := _mean(base[name])).value > 0:
            there[name] = _ratio(before, _mean(own))
    return _sum(there, weights, _smaller(base, other, there))


def difference(base: Values, other: Values, weights: Mapping[str, float]) -> Interval:
    """By how much means are larger than those of `base`, weighted over the strata that both have."""
    there = {}
    for name, own in other.items():
        if own and base.get(name):
            a, b = _mean(base[name]), _mean(own)
            there[name] = Part(b.value - a.value, *_added([(a, 1.0), (b, 1.0)]))
    return _sum(there, weights, _smaller(base, other, there))


def _smaller(base: Values, other: Values, there: Mapping[str, Part]) -> int:
    return min(sum(len(base[name]) for name in there), sum(len(other[name]) for name in there)) if there else 0


def _mean(values: Sequence[float]) -> Part:
    n = len(values)
    centre = math.fsum(values) / n
    if n == 1:
        return Part(centre, None, 0)
    if constant(values):  # up to rounding
        return Part(centre, 0.0, n - 1)
    return Part(centre, math.fsum((value - centre) ** 2 for value in values) / (n - 1) / n, n - 1)


def _ratio(a: Part, b: Part) -> Part:
    """B over A, less one."""
    ratio = b.value / a.value
    return Part(ratio - 1, *_added([(b, 1 / a.value), (a, ratio / a.value)]))


def _added(parts: Sequence[tuple[Part, float]]) -> tuple[float | None, int]:
    """The variance of a sum of parts by factors, and its degrees of freedom; unknown if one of them is."""
    if any(part.variance is None for part, _ in parts):
        return None, 0
    shares = [((part.variance or 0.0) * factor**2, part.degrees) for part, factor in parts]
    total = math.fsum(share for share, _ in shares)
    if total == 0:
        return 0.0, min(degrees for _, degrees in shares)
    return total, max(1, int(total**2 / math.fsum(share**2 / degrees for share, degrees in shares)))


def _sum(parts: Mapping[str, Part], weights: Mapping[str, float], n: int) -> Interval:
    total = math.fsum(weights[name] for name in parts)
    if not parts or total <= 0:
        return Interval(None, None, None, 0)
    value = math.fsum(weights[name] * part.value for name, part in parts.items()) / total
    variance, degrees = _added([(part, weights[name] / total) for name, part in parts.items()])
    if not variance:  # of a single value it is unknown, and equal ones have none
        return Interval(value, None, None, n)
    half = t_quantile(0.975, degrees) * math.sqrt(variance)
    return Interval(value, value - half, value + half, n)
