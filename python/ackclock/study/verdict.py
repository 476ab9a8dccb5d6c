"""What a check of a claim says: pass, fail or inconclusive, with the value measured and its interval.

Where a value has a confidence interval, a claim passes if the whole interval supports it, fails if the whole interval
contradicts it, and is inconclusive if the interval reaches to both sides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from ackclock.stats import Interval
from ackclock.study.times import Times

Outcome = Literal["pass", "fail", "inconclusive"]

BETWEEN = "; "
"""What is between the parts of a detail."""

_ORDER: tuple[Outcome, ...] = ("fail", "inconclusive", "pass")  # the worst first


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a check. `detail` says in words what was found, where a number alone does not.

    There is no `interval` where a single run has none; an end that is ``None`` is open. With `more` the value is only
    known to be larger: of times that were not reached.
    """

    outcome: Outcome
    value: float | None = None
    interval: tuple[float | None, float | None] | None = None
    detail: str = ""
    more: bool = False


def within(found: Interval | float | None, target: float, *, relative: float = 0.0, absolute: float = 0.0) -> Verdict:
    """Whether a value is as close to `target` as `relative` of it, or `absolute`."""
    half = max(abs(target) * relative, absolute)
    return between(found, target - half, target + half)


def between(found: Interval | float | None, low: float, high: float) -> Verdict:
    """Whether a value lies from `low` to `high`."""
    value = _interval(found)
    reach = _reach(value)
    if reach is None:
        return Verdict("inconclusive", detail="there is no value")
    begin, end = reach
    outcome: Outcome = "inconclusive"
    if low <= begin and end <= high:
        outcome = "pass"
    elif end < low or begin > high:
        outcome = "fail"
    beyond = value.beyond if isinstance(value, Times) else None
    return Verdict(outcome, value.value if beyond is None else beyond, _reported(value), more=beyond is not None)


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
    ends = span(verdict.interval)
    if verdict.value is None:
        plain = {"pass": "yes", "fail": "no"}.get(verdict.outcome, "not known")
        return replace(verdict, detail=f"{label}: {verdict.detail or ends or plain}{outcome}")
    also = f" ({verdict.detail})" if verdict.detail else ""
    text = f"{label}: {number(verdict)}{f' ({ends})' if ends else ''}{also}{outcome}"
    return replace(verdict, detail=text)


def valued(verdict: Verdict, by: Verdict) -> Verdict:
    """The verdict, reporting the value of one of those that it was joined of."""
    return replace(verdict, value=by.value, interval=by.interval, more=by.more)


def number(verdict: Verdict, digits: int = 4) -> str:
    """The value of a verdict in words."""
    if verdict.value is None:
        return "-"
    return f"{'more than ' if verdict.more else ''}{verdict.value:.{digits}g}"


def span(interval: tuple[float | None, float | None] | None, digits: str = ".4g") -> str:
    """An interval in words; nothing where there is none."""
    low, high = interval or (None, None)
    if low is None:
        return "" if high is None else f"up to {high:{digits}}"
    return f"{low:{digits}} or more" if high is None else f"{low:{digits}} to {high:{digits}}"


def every(*verdicts: Verdict) -> Verdict:
    """All of them: the worst outcome, with the value that decided it, and what each has to say."""
    if not verdicts:
        return Verdict("inconclusive", detail="there is nothing to check")
    worst = min(verdicts, key=lambda verdict: _ORDER.index(verdict.outcome))
    detail = BETWEEN.join(dict.fromkeys(verdict.detail for verdict in verdicts if verdict.detail))
    return replace(worst, detail=detail)


def either(*verdicts: Verdict) -> Verdict:
    """One of them: it passes where one does, and fails only where all do. "Not enough runs" is never "fails"."""
    if not verdicts:
        return Verdict("inconclusive", detail="there is nothing to check")
    best = max(verdicts, key=lambda verdict: _ORDER.index(verdict.outcome))
    detail = BETWEEN.join(dict.fromkeys(verdict.detail for verdict in verdicts if verdict.detail))
    return replace(best, detail=detail)


def least(found: Iterable[tuple[str, Verdict]]) -> Verdict:
    """Of many checks of the same kind the one that decides: the worst outcome, of these the smallest value."""
    return _deciding(found, 1.0)


def greatest(found: Iterable[tuple[str, Verdict]]) -> Verdict:
    """The same with the largest value."""
    return _deciding(found, -1.0)


def whichever(*verdicts: Verdict) -> Verdict:
    """The same claim under several readings of what the paper leaves open: inconclusive unless they agree."""
    joined = every(*verdicts)
    if len({verdict.outcome for verdict in verdicts}) > 1:
        return replace(joined, outcome="inconclusive")
    return joined


def soft(verdict: Verdict) -> Verdict:
    """A failure reported as inconclusive: for statements that nobody should rely on."""
    return replace(verdict, outcome="inconclusive") if verdict.outcome == "fail" else verdict


def _deciding(found: Iterable[tuple[str, Verdict]], sign: float) -> Verdict:
    known = list(found)
    if not known:
        return Verdict("inconclusive", detail="there is nothing to check")

    def rank(item: tuple[str, Verdict]) -> tuple[int, float]:
        value = item[1].value
        # Of what is undecided, something that has no value at all says least: it comes after what has.
        return _ORDER.index(item[1].outcome), math.inf if value is None else sign * value

    name, verdict = min(known, key=rank)
    bad = [other for other, item in known if item.outcome != "pass" and other != name]
    joined = labelled(name, verdict)
    return replace(joined, detail=f"{joined.detail} (nor {', '.join(bad)})") if bad else joined


def _interval(found: Interval | float | None) -> Interval:
    if isinstance(found, Interval):
        return found
    missing = found is None or not math.isfinite(found)
    return Interval(None, None, None, 0) if missing else Interval(found, None, None, 1)


def _reach(value: Interval) -> tuple[float, float] | None:
    """From where to where a value may lie, an end that is not there being open.

    A single value, about whose spread nothing is known, lies where it is.
    """
    low, high = value.low, value.high
    if low is None and high is None:
        if isinstance(value, Times) and value.beyond is not None:
            return value.beyond, math.inf
        return None if value.value is None else (value.value, value.value)
    return -math.inf if low is None else low, math.inf if high is None else high


def _reported(value: Interval) -> tuple[float | None, float | None] | None:
    return None if value.low is None and value.high is None else (value.low, value.high)
