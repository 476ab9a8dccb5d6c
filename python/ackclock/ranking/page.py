"""A ranking as a notebook shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ackclock.notebook import html
from ackclock.notebook.html import Mark, Markup
from ackclock.ranking import text

if TYPE_CHECKING:
    from ackclock.ranking.ranking import Candidate, Ranking


def of(found: Ranking) -> Markup:
    """The sentence, the tables with a chart of the scores and the probabilities of being best, and the notes."""
    parts: list[str] = [f"<p><strong>{html.escaped(found.sentence)}</strong></p>"]
    charts = html.intervals([[_mark(item)] for item in found.candidates], zero=0.0)
    header, *body = text.table(found)
    sampled = any(item.best is not None for item in found.candidates)
    rows = [[*header, f"score against\n{found.reference}, %", *(["P(best)"] if sampled else [])]]
    for line, chart, item in zip(body, charts, found.candidates, strict=True):
        rows.append([*line, chart, *([_sure(item.best)] if sampled else [])])
    parts.append(html.table(rows, words=text.left(rows)))
    if cells := text.tradeoff(found):
        parts.append(html.table(cells, "the trade-off", words=text.left(cells)))
    parts.append(html.paragraphs([*text.footing(found), *found.notes]))
    return Markup("".join(parts))


def _sure(best: float | None) -> Markup:
    """The probability of being best as a bar, that is never full nor empty: no resample knows it so well."""
    if best is None:
        return html.escaped("-")
    return html.share(min(max(best, text.LEAST), 1 - text.LEAST), text.probability(best))


def _mark(item: Candidate) -> Mark:
    """The score against the reference in percent: above 0 is better."""
    low, high = (None if end is None else 100 * (end - 1) for end in (item.score.low, item.score.high))
    return Mark(100 * (item.score.against - 1), low, high)
