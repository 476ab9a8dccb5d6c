"""A row per metric and point: means, what separates them, tests, and a verdict in words."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from ackclock import stats
from ackclock.comparison.pairing import Gap, Match, Params
from ackclock.comparison.values import Metrics, as_ratio

ALPHA = 0.05

EQUAL = "equal in every run"
SAME = "same difference in every run"
CONSTANT = (EQUAL, SAME)
"""Verdicts where nothing varies between runs: there is no spread to test by, and no interval."""
NOTHING = "no difference shown"
UNTESTED = "too few runs"


@dataclass(frozen=True, slots=True)
class Row:
    """One metric at one point, B against A (docs/compare.md). Where there is nothing to compare, `value` is None."""

    params: Params
    a: str
    b: str
    metric: str
    kind: str
    n: int
    paired: bool
    mean_a: float | None
    mean_b: float | None
    value: float | None
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
    low_holm: float | None = None
    high_holm: float | None = None
    more_a: bool = False
    more_b: bool = False
    verdict: str = UNTESTED

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The interval that says what the verdict says: the adjusted one, if there is one."""
        return (self.low, self.high) if self.low_holm is None else (self.low_holm, self.high_holm)


@dataclass(frozen=True, slots=True)
class Measured:
    """A row that is not judged yet. `left` pairs or values are left out for want of one.

    `numbers` is the same for rows that test the same: the values up to their unit, and how they are compared. `values`
    are A's and B's.
    """

    row: Row
    left: int = 0
    numbers: Hashable = None
    values: tuple[Sequence[float], Sequence[float]] = ((), ())


def measure(
    match: Match, metric: str, ours: Mapping[int, Metrics], theirs: Mapping[int, Metrics], margin: float | None
) -> Measured | None:
    """A metric over a match; ``None`` if neither side has a value of it. One that only one side has is not compared."""
    a, b = _values(ours, match.runs_a, metric), _values(theirs, match.runs_b, metric)
    xs, ys = _known(a), _known(b)
    if not xs and not ys:
        return None
    if not xs or not ys:
        return Measured(_empty(match, metric, margin, f"no value in {'B' if xs else 'A'}", xs, ys))
    left = len(a) + len(b) - len(xs) - len(ys)
    if match.paired:
        pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
        left = len(a) - len(pairs)
        if not pairs:
            return Measured(_empty(match, metric, margin, UNTESTED, xs, ys), left)
        xs, ys = [x for x, _ in pairs], [y for _, y in pairs]
    row = _tested(match, metric, xs, ys, margin)
    scale = max(map(abs, (*xs, *ys))) or 1.0
    alike = tuple(f"{value / scale:.10g}" for value in (*xs, *ys))
    return Measured(row, left, (match.a, match.b, *match.params.values(), row.kind, len(xs), alike), (xs, ys))


def missing(gap: Gap, metric: str, margin: float | None) -> Row:
    """The row of a point that one side does not have, or has no finished run of."""
    return _empty(gap, metric, margin, gap.why, [], [])


def _tested(match: Match, metric: str, xs: list[float], ys: list[float], margin: float | None) -> Row:
    ratio = as_ratio(metric) and min(*xs, *ys) > 0
    found = (stats.paired if match.paired else stats.unpaired)(xs, ys, ratio=ratio)
    assert found is not None  # only without values, or for a ratio of such that are not above zero
    mean_a, mean_b = _mean(xs), _mean(ys)
    percent = 100 * (found.value - 1) if ratio else 100 * found.value / abs(mean_a) if mean_a else None
    neutral = 1.0 if ratio else 0.0
    verdict = UNTESTED if found.n < 2 or found.p is not None else EQUAL if found.value == neutral else SAME
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
        found.p,
        margin=margin,
        verdict=verdict,
    )
    if margin is not None and verdict == UNTESTED:
        return replace(row, p_margin=stats.tost_relative(xs, ys, margin, paired=match.paired, ratio=ratio))
    return row


def _empty(
    of: Match | Gap, metric: str, margin: float | None, verdict: str, xs: Sequence[float], ys: Sequence[float]
) -> Row:
    paired = isinstance(of, Match) and of.paired
    kind = "ratio" if as_ratio(metric) else "difference"
    mean_a, mean_b = _mean(xs) if xs else None, _mean(ys) if ys else None
    nothing = (None, None, None, None, None, None)
    return Row(of.params, of.a, of.b, metric, kind, 0, paired, mean_a, mean_b, *nothing, margin=margin, verdict=verdict)


def _values(metrics: Mapping[int, Metrics], runs: Sequence[int], metric: str) -> list[float | None]:
    found = [metrics[run].get(metric) for run in runs]
    return [None if value is None or not math.isfinite(value) else value for value in found]


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def judged(rows: Sequence[Row], numbers: Sequence[Hashable] | None = None) -> list[Row]:
    """The rows with their p-values adjusted for the number of tests, and a verdict on each.

    A verdict is of both tests of its row, so that all are adjusted together. Of a row's two null hypotheses, of no
    difference and of one beyond the margin, at most one is true: they count once. So do rows with the same `numbers`.
    """
    groups = list(range(len(rows))) if numbers is None else list(numbers)
    adjusted = stats.holm([row.p for row in rows] + [row.p_margin for row in rows], groups * 2)
    return [
        _judged(replace(row, p_holm=p, p_margin_holm=within))
        for row, p, within in zip(rows, adjusted[: len(rows)], adjusted[len(rows) :], strict=True)
    ]


def with_intervals(rows: Sequence[Row], measured: Sequence[Measured], tests: int) -> list[Row]:
    """Judged rows with the intervals of their differences that hold for so many tests together, and say what they say.

    Bonferroni's intervals; where Holm's procedure shows a difference that these do not, they end at none, as is all
    that it claims (K. Strassburger and F. Bretz, Compatible simultaneous lower confidence bounds for the Holm procedure
    and other Bonferroni-based closed tests, Statistics in Medicine 27, 2008).
    """
    level = 1 - ALPHA / max(tests, 1)
    return [
        row if row.p_holm is None else _with_interval(row, *item.values, level)
        for row, item in zip(rows, measured, strict=True)
    ]


def _with_interval(row: Row, xs: Sequence[float], ys: Sequence[float], level: float) -> Row:
    ratio = row.kind == "ratio"
    found = (stats.paired if row.paired else stats.unpaired)(xs, ys, ratio=ratio, level=level)
    if found is None or found.low is None or found.high is None:
        return row
    low, high, neutral = found.low, found.high, 1.0 if ratio else 0.0
    if row.p_holm is not None and row.p_holm < ALPHA:
        low, high = (max(low, neutral), high) if found.value > neutral else (low, min(high, neutral))
    return replace(row, low_holm=low, high_holm=high)


def within_margin(row: Row) -> bool | None:
    """Whether a difference that does not vary is within its margin: a matter of its value; ``None`` without one."""
    if row.margin is None:
        return None
    return row.verdict == EQUAL or (row.percent is not None and abs(row.percent) < 100 * row.margin)


def family(rows: Sequence[Row], numbers: Sequence[Hashable]) -> int:
    """How many tests p-values are adjusted for: rows that have one, those with the same numbers once."""
    return len({own for row, own in zip(rows, numbers, strict=True) if row.p is not None})


def _judged(row: Row) -> Row:
    if row.verdict in CONSTANT:
        return replace(row, equivalent=within_margin(row))
    if row.p_holm is None or row.value is None:
        return row
    equivalent = None if row.margin is None else row.p_margin_holm is not None and row.p_margin_holm < ALPHA
    within = f"within {100 * (row.margin or 0):g} %"
    neutral = 1.0 if row.kind == "ratio" else 0.0
    if row.p_holm < ALPHA:
        word = "higher" if row.value > neutral else "lower"
        return replace(row, equivalent=equivalent, verdict=f"{word}, {within}" if equivalent else word)
    return replace(row, equivalent=equivalent, verdict=f"equivalent {within}" if equivalent else NOTHING)
