"""A comparison as a notebook shows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ackclock.comparison import text
from ackclock.comparison.agreement import Ranks
from ackclock.comparison.rows import ALPHA, CONSTANT, Row
from ackclock.notebook import html
from ackclock.notebook.html import Mark, Markup


def of(rows: Sequence[Row], ranks: Sequence[Ranks], lines: Iterable[str]) -> Markup:
    """The table with a chart of the differences and a sign beside each verdict; the agreement in order; the notes."""
    nothing = set(text.zeros(rows))
    shown = [row for row in rows if row.metric not in nothing]
    header, *body = text.table(rows)
    charts = html.intervals([[_mark(row)] for row in shown], zero=0.0)
    cells = [[*header[:-1], "B against A, %", header[-1]]]
    for row, line, chart in zip(shown, body, charts, strict=True):
        cells.append([*line[:-1], chart, html.badge(line[-1], _tone(row))])
    parts = [html.table(cells, words=text.left(rows))]
    if ranks:
        parts.append(html.table(text.order(ranks), words=3))
    return Markup("".join([*parts, html.paragraphs(lines)]))


def _mark(row: Row) -> Mark:
    """B against A in percent of A, with its interval."""
    if row.value is None or row.percent is None:
        return Mark(None)
    low, high = row.ends
    if low is None or high is None:
        return Mark(row.percent)
    if row.kind == "ratio":
        return Mark(row.percent, 100 * (low - 1), 100 * (high - 1))
    scale = 100 / abs(row.mean_a or 1.0)  # of zero there is no percentage
    return Mark(row.percent, scale * low, scale * high)


def _tone(row: Row) -> html.Tone:
    """A difference is neither good nor bad; what is within its margin is what was asked for."""
    if row.equivalent:
        return "good"
    return "plain" if row.verdict in CONSTANT or (row.p_holm is not None and row.p_holm < ALPHA) else "open"
