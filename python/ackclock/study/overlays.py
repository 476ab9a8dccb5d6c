"""Figures of captures: the repetitions of a transfer laid over each other, a panel for each line of the figure."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from ackclock.drawing import repetitions
from ackclock.drawing.chart import Chart, Panel, Scale
from ackclock.pcaps.analyse import pcap
from ackclock.scenario.plan import Plan
from ackclock.study.model import FigureSpec, SeriesSpec
from ackclock.sweeps import captures


def build(spec: FigureSpec, plans: Mapping[str, Plan]) -> Chart:
    """The figure. Its runs are captured once more: what happened to each packet is kept of nothing else."""
    panels = tuple(_panel(spec, series, plans[series.scenario]) for series in spec.series)
    return Chart(
        title=f"{spec.title} ({spec.paper})" if spec.paper else spec.title,
        x=Scale(spec.x.label, low=0.0, high=spec.x.high),
        y=Scale(spec.y.label, low=0.0, high=spec.y.high),
        panels=panels,
        across=1,  # above each other, with the same time
    )


def _panel(spec: FigureSpec, series: SeriesSpec, plan: Plan) -> Panel:
    chosen = {
        point.index
        for point in plan.points
        if all(str(point.params.get(key)) == str(value) for key, value in series.where.items())
    }
    with tempfile.TemporaryDirectory(prefix="ackclock-") as folder:
        files = []
        for job in plan.jobs():
            if job.point.index in chosen:
                files.append(Path(folder) / f"{job.index}.pcapng")
                captures.prepared(job, _places(series.of)).write(files[-1])
        result = pcap([str(file) for file in files], events=True, series=True)
    # Interfaces have the same numbers in all files: they are of one scenario.
    numbers = result.captures.filter(pl.col("name") == series.of)["interface"].unique()
    own = pl.col("interface").is_in(numbers.implode()) & (pl.col("goodput_bytes") > 1000)
    rows = result.flows.filter(own).sort("run").to_dicts()
    return repetitions.panel(series.panel, f"{series.label}, {len(rows)} transfers", result, rows, spec.y.scale)


def _places(of: str) -> list[str]:
    """The flow whose packets pass at a place: those of the others would take most of the time and are not drawn."""
    found = re.match(r"flows\.[^./]+", of)
    return [found[0]] if found else []
