"""The directory of a study that was run: report, verdicts, tables, figures and the runs themselves."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from ackclock.errors import InputError
from ackclock.plot import curves
from ackclock.study import figures, tables
from ackclock.study.runner import Judged, Report

REPORT, CLAIMS = "report.md", "claims.json"


class Place:
    """A directory for a study, checked before anything runs: writable, and new, empty or of an earlier run.

    Everything is written beside it first and takes its name at once.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        remedy = "give --out another name"
        try:
            if self.path.exists() and not self.path.is_dir():
                raise InputError("is a file, not a directory", remedy, source=str(self.path))
            if self.path.is_dir() and any(self.path.iterdir()) and not (self.path / CLAIMS).is_file():
                raise InputError("holds something other than a study's results", remedy, source=str(self.path))
            self.path.parent.mkdir(parents=True, exist_ok=True)
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
        for name in ("tables", "figures", "runs"):
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
        for name, result in report.results.results.items():
            result.save(folder / "runs" / name)
        (folder / REPORT).write_text(_report(report, built), encoding="utf-8")
        (folder / CLAIMS).write_text(json.dumps(_record(report), indent=1) + "\n", encoding="utf-8")
        umask = os.umask(0)
        os.umask(umask)
        folder.chmod(0o777 & ~umask)  # mkdtemp keeps others out; these are ordinary results
        if self.path.exists():
            shutil.rmtree(self.path)
        folder.rename(self.path)
        return [self.path / "figures" / file.name for file in drawn]

    def discard(self) -> None:
        """Leave nothing behind of what was not finished."""
        shutil.rmtree(self._partial, ignore_errors=True)


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
