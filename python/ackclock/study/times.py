"""Times until something that did not happen in every run: their median, and how many times as long one is as another.

The median is that of Kaplan and Meier (docs/statistics.md). A ratio is one of medians, with a bootstrap interval over
replications (B. Efron and R. Tibshirani, An Introduction to the Bootstrap, 1993, percentiles): unlike means these are
known where less than half of the times were cut off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock.stats import Interval, median_interval, median_time

RESAMPLES = 9999
_HALF = 0.5 + 1e-9

Array = np.ndarray[Any, np.dtype[np.float64]]
Pair = tuple[float, float]


class Censored(float):
    """A time known only to be longer: what was waited for did not happen before the run ended."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Times(Interval):
    """A median of times, or a ratio of such medians.

    `censored` times are known only to be longer. Where half or more are, there is no `value`, only that it is more
    than `beyond`. An end that is ``None`` beside one that is not is open.
    """

    censored: int = 0
    beyond: float | None = None

    def scaled(self, factor: float) -> Times:
        """The same in another unit; `factor` is above zero."""
        parts = (self.value, self.low, self.high, self.beyond)
        value, low, high, beyond = (None if part is None else part * factor for part in parts)
        return Times(value, low, high, self.n, self.censored, beyond)


def median(times: Sequence[float]) -> Times:
    """The median of times, some of which may be :class:`Censored`."""
    marks = [isinstance(time, Censored) for time in times]
    found, count = median_time([float(time) for time in times], marks), sum(marks)
    if found.value is not None or not times:
        return Times(found.value, found.low, found.high, found.n, count)
    # Every time is at least as long as it was seen to be, and so is their median, and the lower end of its interval.
    seen = median_interval(map(float, times))
    lows = [low for low in (found.low, seen.low) if low is not None]
    return Times(None, max(lows, default=None), None, found.n, count, seen.value)


def ratio(groups: Sequence[Sequence[Pair]]) -> Times:
    """How many times as long: the ratio of the medians of a group, and of several groups the median of their ratios.

    A group, such as all runs with one RTT, has a pair of times for each replication, in the same order in all groups:
    replications are drawn as a whole, since runs of the same one share their random draws. A median that is not
    reached makes its ratio a bound, the upper one a lower bound, the lower one an upper bound, and both nothing; the
    median over the groups and the ends of the interval are then as far away as these leave possible.
    """
    count = sum(isinstance(time, Censored) for group in groups for pair in group for time in pair)
    n = min(map(len, groups), default=0)
    if n == 0:
        return Times(None, None, None, 0, count)
    least, most = (float(bound[0]) for bound in _bounds(groups, np.arange(n)[np.newaxis, :]))
    if least == 0 and most == math.inf:
        return Times(None, None, None, n, count)
    value = least if least == most else None
    beyond = least if value is None and least > 0 else None
    if n == 1 or all(_constant(group) for group in groups):  # a bound, if it is one, and no interval
        high = most if value is None and beyond is None else None
        return Times(value, None, high, n, count, beyond)
    draws = np.random.default_rng(0).integers(0, n, size=(RESAMPLES, n))
    lows, highs = _bounds(groups, draws)
    low, high = np.quantile(lows, 0.025, method="lower"), np.quantile(highs, 0.975, method="higher")
    return Times(value, float(low), float(high) if high < math.inf else None, n, count, beyond)


def _constant(group: Sequence[Pair]) -> bool:
    """Whether every replication has the same times: there is no spread to go by."""
    return len({tuple((time, isinstance(time, Censored)) for time in pair) for pair in group}) == 1


def _bounds(groups: Sequence[Sequence[Pair]], draws: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[Array, Array]:
    """The least and the most that the ratio can be, for each draw of replications."""
    least, most = [], []
    with np.errstate(divide="ignore", invalid="ignore"):  # times of zero, and times without an upper end
        for group in groups:
            ours, theirs = (_medians([pair[side] for pair in group], draws) for side in (0, 1))
            least.append(_known(np.log(ours[0]) - np.log(theirs[1]), -math.inf))
            most.append(_known(np.log(ours[1]) - np.log(theirs[0]), math.inf))
        # Of an even number of groups it is between two, and unknown if one of them is.
        low, high = np.median(least, axis=0), np.median(most, axis=0)
    return np.exp(_known(low, -math.inf)), np.exp(_known(high, math.inf))


def _known(values: Array, otherwise: float) -> Array:
    return np.where(np.isnan(values), otherwise, values)


def _medians(times: Sequence[float], draws: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[Array, Array]:
    """The least and the most that the median can be, for each draw: the same where that of Kaplan and Meier exists."""
    marks = np.array([isinstance(time, Censored) for time in times])
    # What happened comes before what was censored at the same time.
    order = np.lexsort((marks, np.array(times, dtype=float)))
    ranks = np.sort(np.argsort(order)[draws], axis=1)
    at, happened = np.array(times, dtype=float)[order][ranks], ~marks[order][ranks]
    n = draws.shape[1]
    left = np.cumprod(np.where(happened, 1 - 1 / np.arange(n, 0, -1), 1.0), axis=1)
    reached, below = left <= _HALF, left < 1 - _HALF
    rows = np.arange(len(draws))
    first, after = reached.argmax(axis=1), below.argmax(axis=1)
    value = at[rows, first]
    level = ~below[rows, first] & below.any(axis=1)  # it stays at a half for a while: the middle of that
    value = np.where(level, (value + at[rows, after]) / 2, value)
    seen = (at[:, (n - 1) // 2] + at[:, n // 2]) / 2
    known = reached.any(axis=1)
    return np.where(known, value, seen), np.where(known, value, math.inf)
