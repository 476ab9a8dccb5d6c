"""A study that was run as a notebook shows it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ackclock.notebook import html
from ackclock.notebook.html import Mark, Markup
from ackclock.study import tables, wording

if TYPE_CHECKING:
    from ackclock.study.runner import Judged, Report

_TONES: dict[str, html.Tone] = {"pass": "good", "fail": "bad", "inconclusive": "open"}


def of(report: Report) -> Markup:
    """The tables of the study, then its claims with a sign beside each verdict, and a chart where there is a number."""
    study = report.study
    lines = [f"{study.name}: {study.title}", str(study.citation)]
    if report.quick:
        lines.append("A quick run: verdicts of fewer and shorter runs than the study asks for are no evidence.")
    parts = [html.paragraphs(lines)]
    for spec in study.tables:
        built = tables.build(spec, report.results, report.code.measures)
        parts += [html.table(built.rows(), spec.title, words=1), html.paragraphs(built.notes())]
    rows: list[list[str]] = [["claim", "verdict", "measured", "paper", "", "statement"]]
    rows += [_cells(item, quick=report.quick) for item in report.claims]
    parts.append(html.table(rows, "claims; a dashed line is the paper's number", words=2))
    counted = Counter[str](item.verdict.outcome for item in report.claims)
    said = ", ".join(f"{counted[outcome]} {outcome}" for outcome in _TONES if counted[outcome])
    failed = f"; {len(report.failures)} runs failed" if report.failures else ""
    parts.append(html.paragraphs([f"claims: {said}{failed}"]))
    return Markup("".join(parts))


def _cells(item: Judged, *, quick: bool) -> list[str]:
    verdict, claim = item.verdict, item.claim
    paper = claim.paper if isinstance(claim.paper, float | int) else None
    low, high = verdict.interval or (None, None)
    chart = "" if verdict.value is None else html.intervals([[Mark(verdict.value, low, high)]], zero=paper)[0]
    tone = _TONES[verdict.outcome] if item.judged else "open"
    sign = html.badge(wording.outcome(item, quick=quick), tone)
    return [claim.id, sign, wording.measured(item), wording.paper(claim), chart, claim.statement]
