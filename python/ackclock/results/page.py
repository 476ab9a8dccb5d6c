"""A result as a notebook shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ackclock.notebook import html
from ackclock.notebook.html import Mark, Markup
from ackclock.results import bounds, incomplete, text
from ackclock.results.manifest import captured
from ackclock.results.summary import PointSummary
from ackclock.stats import Estimate

if TYPE_CHECKING:
    from ackclock.results.result import Result

_MOST = 50  # points; `Result.summary()` has all
_GROUPS = 20  # of a point in the chart


def of(result: Result) -> Markup:
    """The tables of a summary with a chart of the goodput, what a reader must know of them, and what is missing."""
    points = result.points[:_MOST]
    parts = []
    for title, rows in text.tables(points, result.params):
        drawn = rows if title else _with_chart(rows, points)
        parts.append(html.table(drawn, title, words=len(result.params)))
    lines = text.notes(result.points, captured=captured(result.manifest))
    if len(result.points) > _MOST:
        lines.append(f"the first {_MOST} of {len(result.points)} points; summary() has all")
    lines += incomplete.notes(result.manifest)
    return Markup("".join([*parts, html.paragraphs(lines)]))


def of_point(point: PointSummary) -> Markup:
    """Every metric of a point, with its interval."""
    rows = [["metric", "mean", "95 % confidence interval"]]
    rows += [[name, _number(value.mean), _interval(value, name)] for name, value in point.metrics.items()]
    title = ", ".join(f"{key} = {value}" for key, value in point.params.items())
    runs = f"{point.n} run{'' if point.n == 1 else 's'}{', all the same' if point.repeated else ''}"
    return html.table(rows, f"{title}{': ' if title else ''}{runs}", words=1)


def _with_chart(rows: text.Rows, points: Sequence[PointSummary]) -> text.Rows:
    """The main table, and beside each point the goodput of a flow of each of its groups, all on one scale."""
    shown = [[_mark(group.metrics.get("goodput_bps")) for group in point.groups[:_GROUPS]] for point in points]
    known = [end for row in shown for mark in row for end in (mark.value, mark.high) if end is not None]
    header, *body = rows
    title = f"goodput per flow\n0 to {max(known, default=0.0):.3g} Mbit/s"
    charts = html.intervals(shown, zero=0.0)
    return [[*header, title], *([*row, chart] for row, chart in zip(body, charts, strict=True))]


def _mark(value: Estimate | None) -> Mark:
    if value is None or value.mean is None:
        return Mark(None)
    ends = bounds.ends(value, "goodput_bps")
    return Mark(value.mean / 1e6) if ends is None else Mark(value.mean / 1e6, ends[0] / 1e6, ends[1] / 1e6)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.5g}"


def _interval(value: Estimate, metric: str) -> str:
    ends = bounds.ends(value, metric)
    return "" if ends is None else f"{ends[0]:.5g} to {ends[1]:.5g}"
