"""The directory of a study that was run: report, verdicts, tables, figures and the runs themselves."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from ackclock.drawing import curves
from ackclock.errors import InputError
from ackclock.study import figures, tables
from ackclock.study.runner import Judged, Report

REPORT, CLAIMS, RUNS = "report.md", "claims.json", "runs"


class Place:
    """A directory for a study, checked before anything runs: writable, and new, empty or of an earlier run.

    The runs are kept there as they finish, so that a study that was interrupted goes on where it was. Everything else
    is written beside it first and moved there in the end, the verdicts last.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.runs = self.path / RUNS
        remedy = "give --out another name"
        try:
            if self.path.exists() and not self.path.is_dir():
                raise InputError("is a file, not a directory", remedy, source=str(self.path))
            others = [item for item in self.path.iterdir() if item != self.runs] if self.path.is_dir() else []
            if others and not (self.path / CLAIMS).is_file():
                raise InputError("holds something other than a study's results", remedy, source=str(self.path))
            self.runs.mkdir(parents=True, exist_ok=True)
            self._partial = Path(tempfile.mkdtemp(prefix=f".{self.path.name}.partial-", dir=self.path.parent))
        except OSError as error:
            problem = f"cannot write the results there ({(error.strerror or str(error)).lower()})"
            raise InputError(problem, "give --out a directory you may write to", source=str(self.path)) from None

    def write(self, report: Report) -> list[Path]:
        """Write everything and return the figures."""
        try:
            return self._write(report, self._partial)
        except OSError as error:
            problem = f"cannot write the results there ({(error.strerror or str(error)).lower()})"
            raise InputError(problem, "give --out another directory", source=str(self.path)) from None

    def _write(self, report: Report, folder: Path) -> list[Path]:
        for name in ("tables", "figures"):
            (folder / name).mkdir()
        built = [tables.build(spec, report.results, report.code.measures) for spec in report.study.tables]
        for table in built:
            (folder / "tables" / f"{table.spec.id}.csv").write_text(table.csv(), encoding="utf-8")
            text = f"{table.spec.title}\n\n{tables.aligned(table.rows())}"
            (folder / "tables" / f"{table.spec.id}.txt").write_text(text, encoding="utf-8")
        drawn = []
        for spec in report.study.figures:
            chart = figures.build(spec, report.results, report.code.measures)
            drawn.extend(curves.save(chart, folder / "figures", spec.id))
            (folder / "figures" / f"{spec.id}.csv").write_text(figures.data(chart), encoding="utf-8")
        (folder / REPORT).write_text(_report(report, built), encoding="utf-8")
        (folder / CLAIMS).write_text(json.dumps(_record(report), indent=1) + "\n", encoding="utf-8")
        (self.path / CLAIMS).unlink(missing_ok=True)
        for name in ("tables", "figures", REPORT, CLAIMS):
            old = self.path / name
            if old.is_dir():
                shutil.rmtree(old)
            (folder / name).replace(old)
        for left in self.runs.iterdir():  # of a scenario that the study has no more
            if left.name not in report.results.results:
                shutil.rmtree(left)
        return [self.path / "figures" / file.name for file in drawn]

    def discard(self) -> None:
        """Leave nothing behind of what was not finished, but for the runs."""
        shutil.rmtree(self._partial, ignore_errors=True)
        for folder in (self.runs, self.path):
            with contextlib.suppress(OSError):  # not empty: there is something to go on from
                folder.rmdir()


def _record(report: Report) -> dict[str, Any]:
    """What ``--json`` prints, and besides tolerances, details and how it was run."""
    record = report.to_json()
    for entry, item in zip(record["claims"], report.claims, strict=True):
        entry.update(tolerance=item.claim.tolerance, soft=item.claim.soft, detail=item.verdict.detail)
    return {**record, "quick": report.quick, **({"added": list(report.added)} if report.added else {})}


def _report(report: Report, built: list[tables.Table]) -> str:
    """A page to read: claims, tables and figures."""
    study = report.study
    lines = [f"# {study.name}: {study.title}", "", f"{study.citation}.", ""]
    if report.quick:
        lines += ["A quick run: fewer and shorter runs than the study asks for.", ""]
    if report.added:
        lines += [f"Beside the controllers of the study: {', '.join(report.added)}.", ""]
    header = ["claim", "verdict", "measured", "interval", "paper", "tolerance", "statement", "detail"]
    rows = [header, *([*claim_cells(item), item.verdict.detail] for item in report.claims)]
    lines += ["## Claims", "", tables.markdown(rows)]
    for table in built:
        paper = f" ({table.spec.paper})" if table.spec.paper else ""
        lines += [f"## {table.spec.title}{paper}", "", tables.markdown(table.rows())]
    for figure in study.figures:
        paper = f" ({figure.paper})" if figure.paper else ""
        lines += [f"## {figure.title}{paper}", "", f"![{figure.title}](figures/{figure.id}.svg)", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def claim_cells(item: Judged) -> list[str]:
    """A claim as cells: id, verdict, value, interval, paper's value, tolerance, statement."""
    verdict, claim = item.verdict, item.claim
    value = "-" if verdict.value is None else f"{verdict.value:.5g}"
    interval = "" if verdict.interval is None else f"{verdict.interval[0]:.4g} to {verdict.interval[1]:.4g}"
    paper = "" if claim.paper is None else f"{claim.paper:g}" if isinstance(claim.paper, float | int) else claim.paper
    outcome = f"{verdict.outcome} (soft)" if claim.soft else verdict.outcome
    return [claim.id, outcome, value, interval, paper, claim.tolerance, claim.statement]
