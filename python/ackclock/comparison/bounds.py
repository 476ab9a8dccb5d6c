"""Completion times that are only known to be longer, as the slowest transfers were not done: what they show."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ackclock.comparison.pairing import Match
from ackclock.comparison.rows import NOTHING, Measured, Row
from ackclock.results import times, unfinished
from ackclock.results.unfinished import Counted

UNKNOWN = "not known"
"""The verdict where a bound leaves it open."""


def marked(item: Measured, match: Match, ours: Counted, theirs: Counted) -> Measured:
    """A row that says whether the mean of A or B has values that are only bounds."""
    a, b = (
        any((run, item.row.metric) in side.bounded for run in runs)
        for side, runs in ((ours, match.runs_a), (theirs, match.runs_b))
    )
    return replace(item, row=replace(item.row, more_a=a, more_b=b)) if a or b else item


def judged(row: Row) -> Row:
    """A judged row whose verdict is not what longer times could undo.

    B that is at least so much higher is higher; whether it is lower, or within a margin, is not known. So of A.
    """
    if not (row.more_a or row.more_b) or row.value is None:
        return row
    stands = "higher" if row.more_b and not row.more_a else "lower" if row.more_a and not row.more_b else ""
    if stands and row.verdict.startswith(stands):
        return replace(row, verdict=stands, equivalent=None if row.margin is None else False)
    verdict = row.verdict if row.verdict == NOTHING else UNKNOWN
    return replace(row, verdict=verdict, equivalent=None if row.margin is None else False)


def notes(matches: Sequence[Match], ours: Counted, theirs: Counted, metrics: Collection[str]) -> list[str]:
    """How many transfers were not done, and what that means for the metrics that are shown."""
    counting = sorted({name for name in metrics if name in times.METRICS})
    without = [name for name in metrics if name.endswith(unfinished.SLOWDOWNS)]
    if not counting and not without:
        return []
    found: dict[str, set[int]] = {}
    sides: dict[str, Counted] = {}
    for match in matches:
        for name, runs, side in ((match.a, match.runs_a, ours), (match.b, match.runs_b, theirs)):
            found.setdefault(name, set()).update(runs)
            sides[name] = side
    lines = [line for name, runs in found.items() if (line := unfinished.said(name, sides[name].left, runs))]
    if not lines:
        return []
    ends = ["completion times count them as long as they lasted, and are marked \u2265 where they are longer"]
    parts = (ends if counting else []) + (["slowdowns are of those that were done"] if without else [])
    return [f"{'; '.join(lines)}: {'; '.join(parts)}"]
