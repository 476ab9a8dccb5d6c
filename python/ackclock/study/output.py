"""What a study that was run leaves in its directory: report, verdicts, tables and figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ackclock.drawing import curves
from ackclock.study import figures, overlays, readings, report_origin, report_statements, tables, warned, wording
from ackclock.study.failures import grouped
from ackclock.study.model import FigureSpec
from ackclock.study.place import CLAIMS
from ackclock.study.runner import Judged, Report
from ackclock.study.verdict import BETWEEN

REPORT = "report.md"


def write(report: Report, folder: Path) -> None:
    """Write everything but the runs."""
    for name in ("tables", "figures"):
        (folder / name).mkdir()
    built = [tables.build(spec, report.results, report.code.measures) for spec in report.study.tables]
    for table in built:
        (folder / "tables" / f"{table.spec.id}.csv").write_text(table.csv(), encoding="utf-8")
        below = ["", *table.notes(), ""] if table.notes() else []
        text = f"{table.spec.title}\n\n{tables.aligned(table.rows())}" + "\n".join(below)
        (folder / "tables" / f"{table.spec.id}.txt").write_text(text, encoding="utf-8")
    for spec in report.study.figures:
        if spec.kind == "overlay":
            if not _captured(spec, report):
                continue
            chart = overlays.build(spec, report.plans)
            curves.save(chart, folder / "figures", spec.id)
            continue
        chart = figures.build(spec, report.results, report.code.measures)
        curves.save(chart, folder / "figures", spec.id)
        (folder / "figures" / f"{spec.id}.csv").write_text(figures.data(chart), encoding="utf-8")
    origin = report_origin.of(report)
    (folder / REPORT).write_text(_report(report, built, origin), encoding="utf-8")
    (folder / CLAIMS).write_text(json.dumps(_record(report, origin), indent=1) + "\n", encoding="utf-8")


def _record(report: Report, origin: dict[str, Any]) -> dict[str, Any]:
    """What ``--json`` prints, and besides tolerances, details and how it was run."""
    record = report.to_json()
    for entry, item in zip(record["claims"], report.claims, strict=True):
        entry.update(tolerance=item.claim.tolerance, detail=item.verdict.detail)
    added = {"added": list(report.added)} if report.added else {}
    return {**record, **added, "provenance": origin}


def _report(report: Report, built: list[tables.Table], origin: dict[str, Any]) -> str:
    """A page to read: claims, tables and figures."""
    study = report.study
    lines = [f"# {study.name}: {study.title}", "", f"{study.citation}.", ""]
    if report.quick:
        lines += [
            "A quick run: its verdicts are of fewer and shorter runs than the study asks for, and no evidence.",
            "",
        ]
    if report.added:
        lines += [f"Beside the controllers of the study: {', '.join(report.added)}.", ""]
    lines += ["## Claims", "", *_claims(report)]
    lines += readings.lines(report)
    lines += report_statements.report_lines(report)
    if report.failures:
        lines += _failures(report)
    warnings = warned.every(report.results.results)
    if warnings:
        lines += ["## Warnings", "", *(f"- {text}" for text in warnings), ""]
    lines += ["## How it was run", "", *report_origin.lines(report, origin), ""]
    for table in built:
        paper = f" ({table.spec.paper})" if table.spec.paper else ""
        lines += [f"## {table.spec.title}{paper}", "", tables.markdown(table.rows())]
        lines += [part for note in table.notes() for part in (note, "")]
    for figure in study.figures:
        paper = f" ({figure.paper})" if figure.paper else ""
        drawn = figure.kind != "overlay" or _captured(figure, report)
        picture = f"![{figure.title}](figures/{figure.id}.svg)" if drawn else "Not drawn: there are no captures of it."
        lines += [f"## {figure.title}{paper}", "", picture, ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _claims(report: Report) -> list[str]:
    """A table of the claims, and what decided each of them in a list below it."""
    header = ["claim", "verdict", "measured", "paper", "tolerance", "statement"]
    rows = [header, *(claim_cells(item, quick=report.quick) for item in report.claims)]
    lines = [tables.markdown(rows)]
    details = [item for item in report.claims if item.verdict.detail and item.judged]
    if details:
        lines += ["What decided:", ""]
    for item in details:
        lines += [f"- {item.claim.id}", *(f"  - {part}" for part in item.verdict.detail.split(BETWEEN))]
    return [*lines, ""] if details else lines


def _captured(figure: FigureSpec, report: Report) -> bool:
    """Whether the runs were played of which the captures would be drawn."""
    return all(series.scenario not in report.left_out for series in figure.series)


def _failures(report: Report) -> list[str]:
    """The runs without a result, as a section: a row for each point."""
    header = ["scenario", "runs", "what was swept", "problem of the first"]
    rows = [header]
    whole = {name: [each for each in report.failures if each.scenario == name] for name in report.left_out}
    rows += [[name, str(len(failed)), "everything", failed[0].problem] for name, failed in whole.items()]
    for first, count in grouped(tuple(each for each in report.failures if each.scenario not in whole)):
        swept = ", ".join(f"{key}={value}" for key, value in first.params.items())
        rows.append([first.scenario, str(count), swept, first.problem])
    text = "These runs have no result. Claims that rest on one of them are inconclusive; tables are of the others."
    return ["## Failed runs", "", text, "", tables.markdown(rows)]


def claim_cells(item: Judged, *, quick: bool) -> list[str]:
    """A claim as cells: id, verdict, value with interval and unit, paper's value, tolerance, statement."""
    verdict, claim = item.verdict, item.claim
    # A value without an interval may be exact, or of a single run: either way nothing is known of its spread.
    alone = verdict.value is not None and verdict.interval is None
    value = f"{wording.measured(item)}{', no interval' if alone else ''}"
    paper = f"{wording.paper(claim)} ({claim.origin})" if claim.origin else wording.paper(claim)
    return [claim.id, wording.outcome(item, quick=quick), value, paper, claim.tolerance, claim.statement]
