"""Times until something happens that did not happen in every run: convergence, completion, settling.

E. L. Kaplan and P. Meier, Nonparametric estimation from incomplete observations, J. Amer. Statist. Assoc. 53, 1958;
the median's interval: R. Brookmeyer and J. Crowley, A confidence interval for the median survival time, Biometrics 38,
1982, with log-log limits of the survival function.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ackclock.stats.intervals.mean import Interval, mean_interval
from ackclock.stats.samples.missing import check_level, known_pairs
from ackclock.stats.samples.spread import constant

MOST_CENSORED = 0.1
"""The share of censored times up to which a mean may stand for them."""

_HALF = 0.5 + 1e-9


@dataclass(frozen=True, slots=True)
class Times:
    """Times of which some are censored: known only to be longer.

    `typical` is a mean or a median, as `kind` says. Its `high` is ``None`` where the median's interval has no upper
    end, and its value where more than half never happened.
    """

    kind: Literal["mean", "median"]
    typical: Interval
    censored: int
    n: int


def kaplan_meier(times: Sequence[float | None], censored: Sequence[bool | None]) -> tuple[list[float], list[float]]:
    """The times at which something happened or was censored, and the share of runs it has not happened in by then."""
    own, marks = _observed(times, censored)
    if not own:
        return [], []
    found = _survival(own, marks)
    return found.quantiles.tolist(), found.probabilities.tolist()


def median_time(times: Sequence[float | None], censored: Sequence[bool | None], *, level: float = 0.95) -> Interval:
    """The median by Kaplan and Meier: when the share of runs in which it has not happened falls to a half.

    Where that share stays at a half for a while it is the middle of that while, as the usual median is.
    """
    check_level(level)
    own, marks = _observed(times, censored)
    n = len(own)
    if all(marks):
        return Interval(None, None, None, n)
    found = _survival(own, marks)
    at, share = found.quantiles.tolist(), found.probabilities.tolist()
    value = _crossing(at, share)
    if n == 1 or (constant(own) and not any(marks)):
        return Interval(value, None, None, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # limits are undefined where the share is 0 or 1
        limits = found.confidence_interval(level, method="log-log")
    low, high = (
        next((time for time, step, edge in zip(at, share, side.probabilities.tolist(), strict=True)
              if (step if math.isnan(edge) else edge) <= _HALF), None)
        for side in (limits.low, limits.high)
    )  # fmt: skip
    return Interval(value, low, high, n)


def typical_time(times: Sequence[float | None], censored: Sequence[bool | None], *, level: float = 0.95) -> Times:
    """The mean with Student's interval, censored times as they are; with over 10 % of them the median instead."""
    own, marks = _observed(times, censored)
    count, n = sum(marks), len(own)
    if count > MOST_CENSORED * n:
        return Times("median", median_time(own, marks, level=level), count, n)
    return Times("mean", mean_interval(own, level=level), count, n)


def _observed(times: Sequence[float | None], censored: Sequence[bool | None]) -> tuple[list[float], list[bool]]:
    """The times that are known, and whose mark is."""
    if len(times) != len(censored):
        raise ValueError(f"{len(times)} times have {len(censored)} marks of being censored")
    own, marks = known_pairs(times, censored)
    return own, [bool(mark) for mark in marks]


def _survival(times: Sequence[float], censored: Sequence[bool]) -> Any:
    from scipy.stats import CensoredData, ecdf

    happened = [time for time, mark in zip(times, censored, strict=True) if not mark]
    longer = [time for time, mark in zip(times, censored, strict=True) if mark]
    return ecdf(CensoredData(uncensored=happened, right=longer)).sf


def _crossing(at: Sequence[float], share: Sequence[float]) -> float | None:
    """Where a falling step function reaches a half."""
    first = next((index for index, value in enumerate(share) if value <= _HALF), None)
    if first is None:
        return None
    if share[first] < 1 - _HALF:
        return at[first]
    after = next((time for time, value in zip(at, share, strict=True) if value < 1 - _HALF), None)
    return at[first] if after is None else (at[first] + after) / 2
