"""What was measured on real lines, beside what a study plays: claims and tables of its `measured.py`.

@table("fit", "What is fitted")
def fit(results: Results) -> list[list[str]]:
    "Header and rows; results[MEASURED] are the runs that were measured, the others those of the study."
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.drawing import curves
from ackclock.drawing.curves import Chart, Curve, Panel, Scale
from ackclock.errors import InputError
from ackclock.results.result import Result
from ackclock.results.store import MANIFEST
from ackclock.study import code, tables
from ackclock.study.code import Claim
from ackclock.study.output import claim_cells
from ackclock.study.runner import Judged, Loaded, Report, judge
from ackclock.study.runs import Results

FILE = "measured.py"
MEASURED = "measured"
"""What the runs that were measured are called among the scenarios."""

PLACE = "measured"
"""The folder of a study's report with what is said of them."""

Rows = list[list[str]]


@dataclass(frozen=True, slots=True)
class Making:
    """A table of `measured.py`."""

    id: str
    title: str
    make: Callable[[Results], Rows]


@dataclass(frozen=True, slots=True)
class Plotted:
    """A line of a figure: its panel, its name, and its points; with the ends of intervals where there are any."""

    panel: str
    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure of `measured.py`: what its axes are, and what gives its lines."""

    id: str
    title: str
    x: str
    y: str
    make: Callable[[Results], list[Plotted]]

    def chart(self, results: Results) -> Chart:
        """It, as it is drawn."""
        panels: dict[str, list[Curve]] = {}
        for line in self.make(results):
            curve = Curve(line.label, line.x, line.y, line.low, line.high)
            panels.setdefault(line.panel, []).append(curve)
        made = tuple(Panel(title, tuple(found)) for title, found in panels.items())
        return Chart(title=self.title, x=Scale(self.x), y=Scale(self.y, low=0.0), panels=made)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured, judged. `tables`: each with its id, its title, header and rows; `charts` with their ids."""

    source: Path
    claims: tuple[Judged, ...]
    tables: tuple[tuple[str, str, Rows], ...]
    charts: tuple[tuple[str, Chart], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """What ``ackclock study run --json`` prints of it."""
        return {
            "source": str(self.source),
            "claims": [
                {
                    "id": item.claim.id,
                    "statement": item.claim.statement,
                    "value": item.verdict.value,
                    "interval": item.verdict.interval,
                    "verdict": item.verdict.outcome,
                    "detail": item.verdict.detail,
                    "soft": item.claim.soft,
                }
                for item in self.claims
            ],
        }


def table(name: str, title: str) -> Callable[[Callable[[Results], Rows]], Making]:
    """Make a table of the function that gives its rows."""
    return lambda make: Making(name, title, make)


def figure(name: str, title: str, *, x: str, y: str) -> Callable[[Callable[[Results], list[Plotted]]], Drawing]:
    """Make a figure of the function that gives its lines."""
    return lambda make: Drawing(name, title, x, y, make)


def load(loaded: Loaded, directory: Path) -> tuple[Result, tuple[Claim, ...], tuple[Making, ...], tuple[Drawing, ...]]:
    """The result of a directory, and what the study asks of it. Raises :class:`InputError`."""
    folder = loaded.study.folder
    if not (folder / FILE).is_file():
        problem = f"the study '{loaded.study.name}' has no measured part"
        raise InputError(problem, "leave --measured out", key="--measured")
    result = _measured(directory)
    found = code.values(folder, folder / FILE)
    claims = tuple(dict.fromkeys(item for item in found if isinstance(item, Claim)))
    making = tuple(dict.fromkeys(item for item in found if isinstance(item, Making)))
    return result, claims, making, tuple(dict.fromkeys(item for item in found if isinstance(item, Drawing)))


def _measured(directory: Path) -> Result:
    try:
        return Result.load(directory)
    except InputError as error:
        if (directory / MANIFEST).exists() or "resume" in error.remedy:
            raise
        remedy = "give a directory written by ackclock measure run or ackclock import"
        raise InputError(error.problem, remedy, source=str(directory), key="--measured") from None


def judged(loaded: Loaded, report: Report, directory: Path) -> Measured:
    """The verdicts on what was measured, and its tables beside those of the runs of a study."""
    result, claims, making, drawings = load(loaded, directory)
    results = Results({**report.results.results, MEASURED: result}, quick=report.quick)
    return Measured(
        directory,
        judge(claims, results),
        tuple((item.id, item.title, item.make(results)) for item in making),
        tuple((item.id, item.chart(results)) for item in drawings),
    )


def write(measured: Measured, folder: Path) -> None:
    """Write the folder of what was measured: a page to read, and tables."""
    place = folder / PLACE
    place.mkdir()
    header = ["claim", "verdict", "measured", "paper", "tolerance", "statement", "detail"]
    rows = [header, *([*claim_cells(item, quick=False), item.verdict.detail] for item in measured.claims)]
    parts = [f"# Measured: {measured.source}", "", "## Claims", "", tables.markdown(rows)]
    for name, title, cells in measured.tables:
        parts += [f"## {title}", "", tables.markdown(cells)]
        (place / f"{name}.csv").write_text(_csv(cells), encoding="utf-8")
        (place / f"{name}.txt").write_text(f"{title}\n\n{tables.aligned(cells)}", encoding="utf-8")
    for name, chart in measured.charts:
        curves.save(chart, place, name)
        parts += [f"## {chart.title}", "", f"![{chart.title}]({name}.svg)", ""]
    (place / "report.md").write_text("\n".join(parts).rstrip("\n") + "\n", encoding="utf-8")


def _csv(rows: Sequence[Sequence[str]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()
