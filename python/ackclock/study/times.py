"""Times until something that did not happen in every run: their median, and how many times as long one is as another.

The median is that of Kaplan and Meier (docs/statistics.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ackclock.stats import Interval, median_interval, median_time, ratio_interval
from ackclock.stats.censored import MOST_CENSORED
from ackclock.study import kinds

Pair = tuple[float, float]


class Censored(float):
    """A time known only to be longer: what was waited for did not happen before the run ended."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Times(Interval):
    """A median of times, or a ratio of times.

    `censored` times are known only to be longer. Where a median is among them, or only times above a ratio are,
    there is no `value`, only that it is more than `beyond`. An end that is ``None`` beside one that is not is open.
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


def ratio(groups: Sequence[Sequence[Pair]]) -> Interval:
    """How many times as long: ratios within each replication, their geometric mean over groups and replications.

    A group, such as all runs with one RTT, has a pair of times for each replication, in the same order in all groups.
    With at most a tenth censored on a side the times count as they are. With more a censored time above makes the ratio
    a lower bound, one below an upper bound. With some on both sides it is the ratio of times counted up to the shortest
    of the group that was cut off, as restricted means are (P. Royston and M. Parmar, BMC Med. Res. Methodol. 13, 2013);
    a group in which none was reached leaves it unknown.
    """
    pairs = [pair for group in groups for pair in group]
    count = sum(_cut_off(time) for pair in pairs for time in pair)
    ours, theirs = (any(map(_cut_off, side)) for side in zip(*pairs, strict=True)) if pairs else (False, False)
    if pairs and _mostly_seen(pairs):
        ours = theirs = False
    elif ours and theirs:
        if any(all(_cut_off(time) for pair in group for time in pair) for group in groups):
            return Times(None, None, None, min(map(len, groups)), count)
        groups = [_counted_up(group) for group in groups]
    found = ratio_interval((kinds.quotient(each), 1.0) for each in zip(*groups, strict=True))
    if ours == theirs:
        return Times(found.value, found.low, found.high, found.n, count) if count else found
    if ours:
        return Times(None, found.low, None, found.n, count, found.value)
    return Times(None, None, found.high, found.n, count)


def _cut_off(time: float) -> bool:
    return isinstance(time, Censored)


def _mostly_seen(pairs: Sequence[Pair]) -> bool:
    """Whether on both sides so few times are censored that they may count as they are."""
    sides = zip(*pairs, strict=True)
    return all(sum(map(_cut_off, side)) <= MOST_CENSORED * len(side) for side in sides)


def _counted_up(group: Sequence[Pair]) -> list[Pair]:
    end = min((float(time) for pair in group for time in pair if _cut_off(time)), default=math.inf)
    return [(min(ours, end), min(theirs, end)) for ours, theirs in group]
