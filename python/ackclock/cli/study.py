"""``ackclock study``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ackclock.cli import console
from ackclock.cli.exit_codes import FAILED, INTERRUPTED, OK
from ackclock.study import load, locate, output, runner, selections, tables
from ackclock.study.document import read
from ackclock.study.failures import grouped
from ackclock.study.model import Study
from ackclock.study.output import REPORT, claim_cells
from ackclock.study.place import Place
from ackclock.study.runner import Judged, Report, plans
from ackclock.study.verdict import BETWEEN, Verdict

_MOST_FAILED = 10  # of which a line each is printed; report.md has all
_COLOURS = {"pass": "green", "fail": "red", "inconclusive": "yellow"}


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line."""

    name: str
    quick: bool
    cc: tuple[str, ...]
    out: Path | None
    jobs: int | None
    as_json: bool


def list_studies(*, as_json: bool) -> int:
    """Print the studies that come with the package."""
    found = [read(locate.find(name)) for name in locate.names()]
    if as_json:
        console.print_json({"studies": [_heading(study) for study in found]})
        return OK
    rows = [["study", "title", "source"], *([study.name, study.title, str(study.citation)] for study in found)]
    console.stdout().print(console.table(rows, ["left"] * 3))
    return OK


def show(name: str, *, as_json: bool) -> int:
    """Print what a study has: source, scenarios, claims, tables and figures."""
    loaded = load(name)
    study, claims = loaded.study, loaded.code.claims
    full, quick = plans(study), plans(study, quick=True)
    selections.check(study, full)
    if as_json:
        console.print_json(
            {
                **_heading(study),
                "scenarios": [
                    {"id": item.id, "title": item.title, "runs": len(full[item.id]), "quick_runs": len(quick[item.id])}
                    for item in study.settings
                ],
                "claims": [
                    {
                        "id": item.id,
                        "statement": item.statement,
                        "paper": item.paper,
                        "tolerance": item.tolerance,
                        "soft": item.soft,
                    }
                    for item in claims
                ],
                "tables": [{"id": item.id, "title": item.title, "paper": item.paper} for item in study.tables],
                "figures": [{"id": item.id, "title": item.title, "paper": item.paper} for item in study.figures],
                "readme": str(study.folder / "README.md"),
            }
        )
        return OK
    out = console.stdout()
    out.print(f"{study.name}: {study.title}\n{study.citation}", soft_wrap=True, markup=False)
    for text in (study.citation.note, study.summary):
        if text:
            out.print(f"\n{text}", soft_wrap=True, markup=False)
    rows = [["scenario", "runs", "quick", "what"]]
    rows += [[item.id, str(len(full[item.id])), str(len(quick[item.id])), item.title] for item in study.settings]
    _section(out, console.table(rows, ["left", "right", "right", "left"]))
    rows = [["claim", "paper", "tolerance", "statement"]]
    for item in claims:
        name, _, _, _, paper, tolerance, statement = claim_cells(Judged(item, Verdict("inconclusive")))
        rows.append([f"{name} (soft)" if item.soft else name, paper, tolerance, statement])
    _section(out, console.table(rows, ["left"] * 4))
    rows = [["makes", "of the paper", "title"]]
    rows += [[f"tables/{item.id}", item.paper, item.title] for item in study.tables]
    rows += [[f"figures/{item.id}", item.paper, item.title] for item in study.figures]
    _section(out, console.table(rows, ["left"] * 3))
    out.print(f"\nread more: {study.folder / 'README.md'}", soft_wrap=True, markup=False)
    return OK


def run(request: Request) -> int:
    """Run a study, print and write what came out. The exit code says whether a claim or a run failed."""
    loaded = load(request.name)
    default = Path("results") / (f"{loaded.study.name}-quick" if request.quick else loaded.study.name)
    place = Place(request.out or default, loaded.study)
    try:
        with console.progress() as progress:
            report = runner.run(
                loaded, quick=request.quick, cc=request.cc, jobs=request.jobs, keep=place.runs, progress=progress
            )
        place.write(lambda folder: output.write(report, folder))
    except KeyboardInterrupt:
        console.warn(f"interrupted: what had finished is kept in {place.runs}; the same command goes on")
        return INTERRUPTED
    finally:
        place.discard()
    if request.as_json:
        console.print_json(report.to_json())
    else:
        _print(console.stdout(), report, place.path)
    for item in report.claims:
        if item.broken:
            console.warn(f"{loaded.study.folder / 'claims.py'}: the check of {item.claim.id} raised {item.broken}")
    _warn_of_failures(report)
    for name, result in report.results.results.items():
        for warning in result.warnings:
            console.warn(f"{name}: {warning}")
    return FAILED if report.failed else OK


def _warn_of_failures(report: Report) -> None:
    found = grouped(report.failures)
    for first, count in found[:_MOST_FAILED]:
        swept = "".join(f", {key}={value}" for key, value in first.params.items())
        runs = f"run {first.run}" if count == 1 else f"run {first.run} and {count - 1} more"
        console.warn(f"{first.scenario}{swept}: {runs} failed: {first.problem}")
    if len(found) > _MOST_FAILED:
        console.warn(f"and {len(found) - _MOST_FAILED} more swept points: {REPORT} has all")


def _print(out: Console, report: Report, folder: Path) -> None:
    out.print(_verdicts(report.claims))
    for item in report.claims:
        for part in _objections(item):
            out.print(f"{item.claim.id}: {part}", soft_wrap=True, markup=False)
    for spec in report.study.tables:
        built = tables.build(spec, report.results, report.code.measures)
        out.print(f"\n{spec.title}{f' ({spec.paper})' if spec.paper else ''}", soft_wrap=True, markup=False)
        out.print(console.table(built.rows(), ["left"]))
        for note in built.notes():
            out.print(note, soft_wrap=True, markup=False)
    counted = [
        f"{count} {outcome}"
        for outcome in _COLOURS
        if (count := sum(item.verdict.outcome == outcome for item in report.claims))
    ]
    runs = sum(result.runs.height for result in report.results.results.values())
    failed = f" and {len(report.failures)} failed" if report.failures else ""
    quick = ", quick" if report.quick else ""
    text = f"\nclaims: {', '.join(counted)}; {runs} runs{failed}, {report.wall_s:.1f} s{quick}"
    out.print(text, soft_wrap=True, markup=False)
    out.print(f"report: {folder / REPORT}", soft_wrap=True, markup=False)


def _objections(item: Judged) -> list[str]:
    """What kept a claim from passing: of a detail of several parts those that did not pass themselves."""
    if item.verdict.outcome == "pass" or not item.verdict.detail:
        return []
    parts = item.verdict.detail.split(BETWEEN)
    return [part for part in parts if part.endswith("]")] or parts


def _verdicts(claims: Sequence[Judged]) -> Table:
    """The table of claims, each verdict in its colour where the output has colours."""
    header = ["claim", "verdict", "measured", "interval", "paper", "statement"]
    table = console.table([header], ["left", "left", "right", "left", "right", "left"])
    for item in claims:
        name, outcome, value, interval, paper, _, statement = map(Text, claim_cells(item))
        outcome.stylize(_COLOURS[item.verdict.outcome])
        table.add_row(name, outcome, value, interval, paper, statement)
    return table


def _section(out: Console, table: Table) -> None:
    out.print()
    out.print(table)


def _heading(study: Study) -> dict[str, Any]:
    citation = study.citation
    return {
        "study": study.name,
        "title": study.title,
        "summary": study.summary,
        "citation": {
            "authors": list(citation.authors),
            "title": citation.title,
            "year": citation.year,
            "note": citation.note,
        },
        "folder": str(study.folder),
    }
