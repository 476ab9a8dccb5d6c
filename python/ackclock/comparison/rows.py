"""A row per metric and point: means, what separates them, tests, and a verdict in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ackclock import stats
from ackclock.comparison.pairing import Match, Params
from ackclock.comparison.values import Metrics, as_ratio

ALPHA = 0.05

EQUAL = "equal in every run"
NOTHING = "no difference shown"
UNTESTED = "too few runs"


@dataclass(frozen=True, slots=True)
class Row:
    """One metric at one point, B against A (docs/compare.md)."""

    params: Params
    a: str
    b: str
    metric: str
    kind: str
    n: int
    paired: bool
    mean_a: float
    mean_b: float
    value: float
    low: float | None
    high: float | None
    percent: float | None
    d: float | None
    p: float | None
    p_holm: float | None = None
    margin: float | None = None
    p_margin: float | None = None
    p_margin_holm: float | None = None
    equivalent: bool | None = None
    verdict: str = UNTESTED


def measure(
    match: Match, metric: str, ours: Mapping[int, Metrics], theirs: Mapping[int, Metrics], margin: float | None
) -> tuple[Row | None, int]:
    """A metric over a match, if both have it, and how many pairs or values are left out for want of one."""
    a = [ours[run].get(metric) for run in match.runs_a]
    b = [theirs[run].get(metric) for run in match.runs_b]
    if match.paired:
        pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
        left = len(a) - len(pairs)
        xs, ys = [x for x, _ in pairs], [y for _, y in pairs]
    else:
        xs, ys = [x for x in a if x is not None], [y for y in b if y is not None]
        left = len(a) + len(b) - len(xs) - len(ys)
    if not xs or not ys or not all(map(math.isfinite, (*xs, *ys))):
        return None, 0
    ratio = as_ratio(metric) and min(*xs, *ys) > 0
    found = (stats.paired if match.paired else stats.unpaired)(xs, ys, ratio=ratio)
    if found is None:
        return None, 0
    mean_a, mean_b = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    percent = 100 * (found.value - 1) if ratio else 100 * found.value / abs(mean_a) if mean_a else None
    equal = found.p == 1 and found.d is None
    row = Row(
        match.params,
        match.a,
        match.b,
        metric,
        "ratio" if ratio else "difference",
        found.n,
        match.paired,
        mean_a,
        mean_b,
        found.value,
        found.low,
        found.high,
        percent,
        found.d,
        None if equal else found.p,
        margin=margin,
        verdict=EQUAL if equal else UNTESTED,
    )
    if margin is not None and not equal:
        row = replace(row, p_margin=stats.tost_relative(xs, ys, margin, paired=match.paired, ratio=ratio))
    return row, left


def judged(rows: Sequence[Row]) -> list[Row]:
    """The rows with their p-values adjusted for the number of tests, and a verdict on each."""
    differences = stats.holm([row.p for row in rows])
    margins = stats.holm([row.p_margin for row in rows])
    return [
        _judged(replace(row, p_holm=p, p_margin_holm=within))
        for row, p, within in zip(rows, differences, margins, strict=True)
    ]


def _judged(row: Row) -> Row:
    if row.verdict == EQUAL:
        return replace(row, equivalent=None if row.margin is None else True)
    if row.p_holm is None:
        return row
    equivalent = None if row.margin is None else row.p_margin_holm is not None and row.p_margin_holm < ALPHA
    within = f"within {100 * (row.margin or 0):g} %"
    neutral = 1.0 if row.kind == "ratio" else 0.0
    if row.p_holm < ALPHA:
        word = "higher" if row.value > neutral else "lower"
        return replace(row, equivalent=equivalent, verdict=f"{word}, {within}" if equivalent else word)
    return replace(row, equivalent=equivalent, verdict=f"equivalent {within}" if equivalent else NOTHING)
