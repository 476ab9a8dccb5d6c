"""From batches of finished runs to the files of a result, in the order of the plan and never all of it in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import polars as pl

from ackclock.assembly.labels import Labels
from ackclock.assembly.ledger import BATCH, ROWS, Ledger
from ackclock.results.manifest import TABLES
from ackclock.scenario.plan import Plan

MOST_ROWS = 5_000
"""Rows, of all tables, that are in memory at a time while files are written."""
_MOST_IN_MEMORY = 500_000
"""Rows that are labelled at a time where all of them stay in memory."""

_CELLS = 1_000_000
"""Rows times columns of a row group in the files of a result that does not fit. One is in memory as it is written."""


Batches = Callable[[int], Mapping[str, pl.DataFrame]]
"""The tables of a batch, in which a column `run` has the place of a run in it."""


def in_memory(plan: Plan, runs: Ledger, batches: Batches) -> dict[str, pl.DataFrame]:
    """All tables of some runs at once, made window by window: series take several times their room meanwhile."""
    labels, frame = Labels(plan), runs.frame()
    windows = [_window(labels, frame[begin:end], batches) for begin, end in _windows(frame[ROWS], _MOST_IN_MEMORY)]
    # In one piece a sum has one order, whether the table is read from a file or was made here. Series are too long.
    joined = {name: pl.concat([window[name] for window in windows], rechunk=name != "series") for name in windows[0]}
    return {"runs": labels.runs(frame)} | joined


def write(plan: Plan, runs: Ledger, batches: Batches, folder: Path) -> None:
    """Write the table files of a result into `folder`. The files do not depend on how the runs are batched."""
    labels, frame = Labels(plan), runs.frame()
    _write(labels.runs(frame), folder / "runs.parquet")
    windows = list(_windows(frame[ROWS], MOST_ROWS))
    for number, (begin, end) in enumerate(windows):
        for name, table in _window(labels, frame[begin:end], batches).items():
            whole = len(windows) == 1
            _write(table, folder / (f"{name}.parquet" if whole else f"{name}.{number}.part"))
    if len(windows) > 1:
        for name in TABLES[1:]:
            _join([folder / f"{name}.{number}.part" for number in range(len(windows))], folder / f"{name}.parquet")


def _windows(rows: Iterable[int], most: int) -> Iterator[tuple[int, int]]:
    """Runs in order, from one to before another, with so many rows at most, or one. At least one window, even empty."""
    begin = end = held = 0
    for own in rows:
        if end > begin and held + own > most:
            yield begin, end
            begin, held = end, 0
        end += 1
        held += own
    yield begin, end


def _window(labels: Labels, runs: pl.DataFrame, batches: Batches) -> dict[str, pl.DataFrame]:
    keys = labels.keys(runs)
    parts: dict[str, dict[int, pl.DataFrame]] = {name: {} for name in TABLES[1:]}
    for batch in runs[BATCH].unique(maintain_order=True):
        for name, table in batches(batch).items():
            parts[name][batch] = table
    return {name: labels.of_batches(name, found, keys) for name, found in parts.items()}


def _join(parts: Iterable[Path], file: Path) -> None:
    files = list(parts)
    rows = pl.scan_parquet(files)
    group = _CELLS // rows.collect_schema().len()
    rows.sink_parquet(file, compression="zstd", statistics=True, row_group_size=group)
    for part in files:
        part.unlink()


def _write(table: pl.DataFrame, file: Path) -> None:
    table.write_parquet(file, compression="zstd", statistics=True)
