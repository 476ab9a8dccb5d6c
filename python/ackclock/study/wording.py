"""Verdicts for people: what was measured in its unit, and the paper's value of the same quantity."""

from __future__ import annotations

import math
import textwrap

from ackclock.study.code import Claim
from ackclock.study.runner import NOT_JUDGED, Judged
from ackclock.study.verdict import BETWEEN, Verdict

NO_EVIDENCE = "quick: not evidence"
"""Stands beside every verdict of a quick run, whose runs are fewer and shorter than the study asks for."""

_VALUE = " Value: "
"""After it a statement names the quantity that is measured."""
_INDENT = " " * 5
_MORE = "more than "
_LEAST, _MOST, _ALONE = 2, 5, 4  # significant digits beside an interval, and of a value without one


def outcome(item: Judged, *, quick: bool) -> str:
    """The verdict with what limits it: ``pass (quick: not evidence)``."""
    if not item.judged:
        return f"{NOT_JUDGED} (quick)"
    notes = [*(["soft"] if item.claim.soft else []), *([NO_EVIDENCE] if quick else [])]
    return f"{item.verdict.outcome} ({'; '.join(notes)})" if notes else item.verdict.outcome


def measured(item: Judged) -> str:
    """The value with its interval and unit, rounded by the interval to two digits of it or more; or a dash."""
    verdict = item.verdict
    if verdict.value is None:
        return "-"
    low, high = verdict.interval or (None, None)
    places = _places(verdict, low, high)
    more, value, span = _MORE if verdict.more else "", _number(verdict.value, places), _span(low, high, places)
    if span == f" ({value} to {value})":  # narrower than what is shown
        span = ""
    return _with_unit(f"{more}{value}{span}", item.claim)


def paper(claim: Claim) -> str:
    """The paper's value where it is a number, and so of the quantity that is measured; else a dash."""
    if claim.paper is None or isinstance(claim.paper, str):
        return "-"
    return _with_unit(f"{claim.paper:g}", claim)


def lines(item: Judged, *, quick: bool, width: int) -> list[str]:
    """A claim in two lines of so many characters: verdict and values, then the statement; of one that does not hold a
    third says which part of it.

    Where that is too long it is said in short; one that has no short form takes more lines, and none is cut.
    """
    beside = f"paper {paper(item.claim)}"
    first = f"{item.claim.id:<4} {outcome(item, quick=quick)}: measured {measured(item)}"
    room, before = width - len(_INDENT), ""
    if len(first) + len(beside) + 2 <= width:
        first = f"{first}, {beside}"
    else:
        before = f"{beside}. "
    rest = f"{before}{item.claim.statement.split(_VALUE)[0]}"
    if len(rest) > room and item.claim.short:
        rest = f"{before}{item.claim.short}"
    why = undecided(item.verdict) if item.judged else None
    return [
        first,
        *textwrap.wrap(rest, width, initial_indent=_INDENT, subsequent_indent=_INDENT),
        *([f"{_INDENT}{_cut(*why, room)}"] if why else []),
    ]


def undecided(verdict: Verdict) -> tuple[str, int] | None:
    """The first part of a check that did not pass, ``refuted: LABEL: 9``, and how many more there are, if it has parts.

    Of a claim that is refuted these are the parts that refute it, of an open one all that did not pass.
    """
    words = {"fail": "refuted", "inconclusive": "open"}
    found = []
    for part in verdict.detail.split(BETWEEN) if verdict.outcome != "pass" else ():
        for outcome, word in words.items():
            if part.endswith(f" [{outcome}]") and (verdict.outcome == "inconclusive" or outcome == "fail"):
                found.append(f"{word}: {part.removesuffix(f' [{outcome}]')}")
    return (found[0], len(found) - 1) if found else None


def _cut(first: str, more: int, room: int) -> str:
    """A part in a line, with how many more there are."""
    rest = f"; {more} more" if more else ""
    return f"{textwrap.shorten(first, room - len(rest), placeholder=' ...')}{rest}"


def _with_unit(text: str, claim: Claim) -> str:
    if claim.unit == "times":
        value = text.removeprefix(_MORE)
        return f"{_MORE if value != text else ''}× {value}"
    return f"{text} {claim.unit}" if claim.unit else text


def _places(verdict: Verdict, low: float | None, high: float | None) -> int | None:
    """Decimals of a value and of its interval; None for a value without one, and for one that needs an exponent."""
    value = verdict.value or 0.0
    ends = [abs(value - end) for end in (low, high) if end is not None and math.isfinite(end)]
    half = max(ends, default=0.0)
    if not half or (value and abs(value) < 1e-4):
        return None
    return min(max(_decimals(half, 2), _decimals(value, _LEAST)), _decimals(value or half, _MOST))


def _decimals(value: float, significant: int) -> int:
    if value == 0 or not math.isfinite(value):
        return 0
    return max(0, significant - 1 - math.floor(math.log10(abs(value))))


def _number(value: float, places: int | None) -> str:
    if places is not None:
        return f"{value:.{places}f}"
    return f"{value:.0f}" if abs(value) >= 10.0**_ALONE else f"{value:.{_ALONE}g}"


def _span(low: float | None, high: float | None, places: int | None) -> str:
    if low is None:
        return "" if high is None else f" (up to {_number(high, places)})"
    if high is None:
        return f" ({_number(low, places)} or more)"
    return f" ({_number(low, places)} to {_number(high, places)})"
