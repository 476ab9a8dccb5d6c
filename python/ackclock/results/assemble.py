"""From batches of finished runs to the files of a result, in the order of the plan and never all of it in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ackclock.results import tables
from ackclock.scenario.plan import Job, Plan

MOST_ROWS = 20_000
"""Rows, of all tables, that are in memory at a time."""

ROW_GROUP = 250_000
"""Rows of a group in the files of a result that does not fit."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A finished run: which one, what it cost, how many rows it has, and where: its place in a batch."""

    job: Job
    info: Mapping[str, Any]
    rows: int
    batch: int
    number: int


Batches = Callable[[int], Mapping[str, pl.DataFrame]]
"""The tables of a batch, in which a column `run` has the place of a run in it."""


def in_memory(plan: Plan, runs: Sequence[Ran], batches: Batches) -> dict[str, pl.DataFrame]:
    """All tables of some runs at once."""
    labels = tables.Labels(plan)
    return {"runs": tables.runs([(ran.job, ran.info) for ran in runs], labels)} | _window(labels, runs, batches)


def write(plan: Plan, runs: Sequence[Ran], batches: Batches, folder: Path) -> None:
    """Write the table files of a result into `folder`. The files do not depend on how the runs are batched."""
    labels = tables.Labels(plan)
    _write(tables.runs([(ran.job, ran.info) for ran in runs], labels), folder / "runs.parquet")
    windows = list(_windows(runs))
    for number, window in enumerate(windows):
        for name, table in _window(labels, window, batches).items():
            whole = len(windows) == 1
            _write(table, folder / (f"{name}.parquet" if whole else f"{name}.{number}.part"))
    if len(windows) > 1:
        for name in tables.NAMES[1:]:
            _join([folder / f"{name}.{number}.part" for number in range(len(windows))], folder / f"{name}.parquet")


def _windows(runs: Sequence[Ran]) -> Iterator[list[Ran]]:
    """Runs in order, as many at a time as fit. At least one window, which may be empty."""
    window: list[Ran] = []
    rows = 0
    for ran in runs:
        if window and rows + ran.rows > MOST_ROWS:
            yield window
            window, rows = [], 0
        window.append(ran)
        rows += ran.rows
    yield window


def _window(labels: tables.Labels, runs: Sequence[Ran], batches: Batches) -> dict[str, pl.DataFrame]:
    places = labels.places((ran.job, ran.batch, ran.number) for ran in runs)
    parts: dict[str, list[pl.DataFrame]] = {name: [] for name in tables.NAMES[1:]}
    for batch in dict.fromkeys(ran.batch for ran in runs):
        for name, table in batches(batch).items():
            parts[name].append(labels.of_batch(table, batch, places))
    return {name: labels.joined(name, found) for name, found in parts.items()}


def _join(parts: Iterable[Path], file: Path) -> None:
    files = list(parts)
    rows = pl.scan_parquet(files)
    rows.sink_parquet(file, compression="zstd", statistics=True, row_group_size=ROW_GROUP)
    for part in files:
        part.unlink()


def _write(table: pl.DataFrame, file: Path) -> None:
    table.write_parquet(file, compression="zstd", statistics=True)
