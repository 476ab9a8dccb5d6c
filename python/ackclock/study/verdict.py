"""What a check of a claim says: pass, fail or inconclusive, with the value measured and its interval.

Where a value has a confidence interval, a claim passes if the whole interval supports it, fails if the whole interval
contradicts it, and is inconclusive if the interval reaches to both sides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from ackclock.stats import Interval

Outcome = Literal["pass", "fail", "inconclusive"]

BETWEEN = "; "
"""What is between the parts of a detail."""

_ORDER: tuple[Outcome, ...] = ("fail", "inconclusive", "pass")  # the worst first


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a check. `detail` says in words what was found, where a number alone does not."""

    outcome: Outcome
    value: float | None = None
    interval: tuple[float, float] | None = None
    detail: str = ""


def within(found: Interval | float | None, target: float, *, relative: float = 0.0, absolute: float = 0.0) -> Verdict:
    """Whether a value is as close to `target` as `relative` of it, or `absolute`."""
    half = max(abs(target) * relative, absolute)
    return between(found, target - half, target + half)


def between(found: Interval | float | None, low: float, high: float) -> Verdict:
    """Whether a value lies from `low` to `high`."""
    value = _interval(found)
    if value.value is None or value.ends is None:
        return Verdict("inconclusive", detail="there is no value")
    begin, end = value.ends
    outcome: Outcome = "inconclusive"
    if low <= begin and end <= high:
        outcome = "pass"
    elif end < low or begin > high:
        outcome = "fail"
    return Verdict(outcome, value.value, _reported(value))


def at_least(found: Interval | float | None, bound: float) -> Verdict:
    """Whether a value is `bound` or more."""
    return between(found, bound, math.inf)


def at_most(found: Interval | float | None, bound: float) -> Verdict:
    """Whether a value is `bound` or less."""
    return between(found, -math.inf, bound)


def holds(statement: bool, value: float | None = None, detail: str = "") -> Verdict:
    """A check that is true or false, without an interval."""
    return Verdict("pass" if statement else "fail", value, None, detail)


def labelled(label: str, verdict: Verdict) -> Verdict:
    """The verdict with its value in words, and its outcome unless it passed, to be joined by :func:`every`."""
    outcome = "" if verdict.outcome == "pass" else f" [{verdict.outcome}]"
    if verdict.value is None:
        return replace(verdict, detail=f"{label}: {verdict.detail or 'yes'}{outcome}")
    ends = "" if verdict.interval is None else f" ({verdict.interval[0]:.4g} to {verdict.interval[1]:.4g})"
    also = f" ({verdict.detail})" if verdict.detail else ""
    return replace(verdict, detail=f"{label}: {verdict.value:.4g}{ends}{also}{outcome}")


def every(*verdicts: Verdict) -> Verdict:
    """All of them: the worst outcome, with the value that decided it, and what each has to say."""
    if not verdicts:
        return Verdict("inconclusive", detail="there is nothing to check")
    worst = min(verdicts, key=lambda verdict: _ORDER.index(verdict.outcome))
    detail = BETWEEN.join(dict.fromkeys(verdict.detail for verdict in verdicts if verdict.detail))
    return replace(worst, detail=detail)


def whichever(*verdicts: Verdict) -> Verdict:
    """The same claim under several readings of what the paper leaves open: inconclusive unless they agree."""
    joined = every(*verdicts)
    if len({verdict.outcome for verdict in verdicts}) > 1:
        return replace(joined, outcome="inconclusive")
    return joined


def soft(verdict: Verdict) -> Verdict:
    """A failure reported as inconclusive: for statements that nobody should rely on."""
    return replace(verdict, outcome="inconclusive") if verdict.outcome == "fail" else verdict


def _interval(found: Interval | float | None) -> Interval:
    if isinstance(found, Interval):
        return found
    missing = found is None or not math.isfinite(found)
    return Interval(None, None, None, 0) if missing else Interval(found, None, None, 1)


def _reported(value: Interval) -> tuple[float, float] | None:
    return None if value.low is None or value.high is None else (value.low, value.high)
