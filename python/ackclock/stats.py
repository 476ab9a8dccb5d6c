"""Means with confidence intervals, and fairness."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over independent replications.

    ``ci95`` is half the width of the 95 % confidence interval: the mean lies in mean ± ci95. It is ``None`` for
    a single value, which says nothing about its own spread; ``mean`` is ``None`` if there was no value at all.
    """

    mean: float | None
    ci95: float | None
    n: int


def estimate(values: Iterable[float | None]) -> Estimate:
    """Mean and 95 % confidence interval, ``mean ± t(0.975, n - 1) s / sqrt(n)``; missing values are left out."""
    known = [float(value) for value in values if value is not None and math.isfinite(value)]
    n = len(known)
    if n == 0:
        return Estimate(None, None, 0)
    mean = math.fsum(known) / n
    if n == 1:
        return Estimate(mean, None, 1)
    variance = math.fsum((value - mean) ** 2 for value in known) / (n - 1)
    return Estimate(mean, t_quantile(0.975, n - 1) * math.sqrt(variance / n), n)


def t_quantile(probability: float, degrees: int) -> float:
    """The quantile of Student's t distribution with so many degrees of freedom."""
    from scipy.special import stdtrit  # a tenth of the import time of scipy.stats

    return float(stdtrit(degrees, probability))


def jain(values: Iterable[float]) -> float | None:
    """Jain's fairness index, ``(sum x)^2 / (n sum x^2)``: 1 if all are equal, 1/n if one has everything.

    ``None`` if there are no values or all are zero.
    """
    shares = [float(value) for value in values]
    squares = math.fsum(share * share for share in shares)
    return math.fsum(shares) ** 2 / (len(shares) * squares) if squares else None


def max_min_shares(
    routes: Sequence[Sequence[Hashable]],
    capacities: Mapping[Hashable, float],
    demands: Sequence[float] | None = None,
) -> list[float]:
    """The max-min fair rate of each flow, by progressive filling (Bertsekas and Gallager, Data Networks, §6.5.2).

    `routes` has the links each flow crosses, `capacities` what each link carries, in any one unit; links that are not
    in it have no limit. `demands` has the most each flow takes, infinite by default. All rates grow together; a flow
    stops when it has what it demands or when a link on its way is full. A flow that nothing limits has an infinite
    share.
    """
    left = dict(capacities)
    most = list(demands) if demands is not None else [math.inf] * len(routes)
    ways = [{link for link in route if link in left} for route in routes]
    shares = [0.0] * len(routes)
    growing = set(range(len(routes)))
    while growing:
        # Flow by flow, not link by link: with access links there are more links than flows.
        users = Counter(link for flow in growing for link in ways[flow])
        steps = [left[link] / count for link, count in users.items()]
        steps += [most[flow] - shares[flow] for flow in growing]
        step = max(0.0, min(steps))
        if math.isinf(step):
            for flow in growing:
                shares[flow] = math.inf
            break
        for flow in growing:
            shares[flow] += step
        for link, count in users.items():
            left[link] -= step * count
        full = {link for link in users if left[link] <= 1e-9 * capacities[link]}
        done = {flow for flow in growing if ways[flow] & full or shares[flow] >= most[flow] * (1 - 1e-12)}
        growing -= done
    return shares


def max_min_index(rates: Sequence[float], shares: Sequence[float]) -> float | None:
    """The worst-off flow's rate as a fraction of its max-min share: 1 is max-min fair, 0 is starvation.

    Above 1 is not possible for all flows at once. ``None`` without flows that have a finite share above zero.
    """
    fractions = [rate / share for rate, share in zip(rates, shares, strict=True) if 0 < share < math.inf]
    return min(fractions, default=None)


def proportional_fairness(rates: Sequence[float]) -> float | None:
    """``sum ln x``, what proportional fairness maximises (Kelly 1997); minus infinity if a flow got nothing."""
    if not rates:
        return None
    return math.fsum(math.log(rate) for rate in rates) if min(rates) > 0 else -math.inf


@dataclass(frozen=True, slots=True)
class Interval:
    """A value and the 95 % confidence interval around it, from `low` to `high`, of `n` independent values.

    A single value has no interval: `low` and `high` are ``None``, as all three are without any value.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the interval; those of a single value are the value itself."""
        if self.value is None:
            return None
        return (self.value, self.value) if self.low is None or self.high is None else (self.low, self.high)

    def scaled(self, factor: float) -> Interval:
        """The same in another unit; `factor` is above zero."""
        value, low, high = (None if part is None else part * factor for part in (self.value, self.low, self.high))
        return Interval(value, low, high, self.n)


def mean_interval(values: Iterable[float | None]) -> Interval:
    """The mean with its interval by Student's t, as in :func:`estimate`."""
    found = estimate(values)
    if found.mean is None or found.ci95 is None:
        return Interval(found.mean, None, None, found.n)
    return Interval(found.mean, found.mean - found.ci95, found.mean + found.ci95, found.n)


def median_interval(values: Iterable[float | None]) -> Interval:
    """The median with the order statistics around it that hold it with 95 %, whatever the distribution.

    With fewer than six values these are the smallest and the largest, which hold it less often: 94 % of five.
    """
    known = sorted(float(value) for value in values if value is not None and math.isfinite(value))
    n = len(known)
    if n == 0:
        return Interval(None, None, None, 0)
    value = (known[(n - 1) // 2] + known[n // 2]) / 2
    if n == 1:
        return Interval(value, None, None, 1)
    outside, below = 0, 0.0  # so many values may be left out at either end, with this probability to miss it there
    while outside < n // 2 and below + math.comb(n, outside) / 2**n <= 0.025:
        below += math.comb(n, outside) / 2**n
        outside += 1
    ranks = max(outside - 1, 0)
    return Interval(value, known[ranks], known[n - 1 - ranks], n)


def ratio_interval(pairs: Iterable[tuple[float | None, float | None]]) -> Interval:
    """The geometric mean of paired ratios, with the interval of their logarithms.

    A pair with a missing value is left out, as is one that is not above zero, which has no logarithm.
    """
    logs = [math.log(a / b) for a, b in pairs if a is not None and b is not None and a > 0 and b > 0]
    found = mean_interval(logs)
    if found.value is None:
        return found
    value = math.exp(found.value)
    if found.low is None or found.high is None:
        return Interval(value, None, None, found.n)
    return Interval(value, math.exp(found.low), math.exp(found.high), found.n)
