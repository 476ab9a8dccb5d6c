"""Captures of the runs of a study: each run is written as one, analysed as any other capture is, and thrown away."""

from __future__ import annotations

import concurrent.futures
import hashlib
import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import polars as pl

from ackclock.errors import InputError
from ackclock.pcaps.analyse import pcap
from ackclock.results.result import Result
from ackclock.scenario.plan import Plan
from ackclock.sweeps import captures

PLACE = "place"
"""The column that says where packets were looked at."""

SUFFIX = ".captured.parquet"
"""Behind the name of a scenario: what is kept of its captures."""
_TOGETHER = 4
"""Runs of which a process takes the captures one after the other."""


def _no_classes(plan: Plan, name: str) -> None:
    """Raise :class:`InputError` for controllers in Python: their runs are captured in other processes."""
    if any(job.controllers() for job in plan.jobs()):
        raise InputError("its controllers in Python cannot be captured", "leave captured out", key=name)


def analysed(
    plan: Plan,
    result: Result,
    name: str,
    *,
    keep: Path | None = None,
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> pl.DataFrame:
    """The rows of the table `flows` of docs/pcap.md of every run with a result, at every place.

    `run` is its number in the result. With `keep` they are kept there, and taken from there the next time.
    `progress` is called with the number of runs whose captures have been read.
    """
    wanted = [int(number) for number in result.runs["run"]]
    file = None if keep is None else keep / f"{name}{SUFFIX}"
    digest = _digest(plan, wanted, str(result.manifest["version"]))
    if file is not None and file.is_file() and _known(file) == digest:
        return pl.read_parquet(file)
    _no_classes(plan, name)
    rows = _rows(plan, wanted, jobs, progress or (lambda _: None))
    if file is not None:
        part = file.with_suffix(".part")
        rows.write_parquet(part, metadata={_DIGEST: digest})
        part.replace(file)
    return rows


_DIGEST = "ackclock.captured"


def _known(file: Path) -> str | None:
    return pl.read_parquet_metadata(file).get(_DIGEST)


def _digest(plan: Plan, wanted: Sequence[int], version: str) -> str:
    """What decides on the rows: the runs, and the version of what plays and analyses them."""
    found = hashlib.sha256(version.encode())
    numbers = set(wanted)
    for job in plan.jobs():
        if job.index in numbers:
            found.update(job.text().encode())
    return found.hexdigest()


def _rows(plan: Plan, wanted: Sequence[int], jobs: int | None, progress: Callable[[int], None]) -> pl.DataFrame:
    numbers = set(wanted)
    runs = [captures.prepared(job) for job in plan.jobs() if job.index in numbers]
    parts = [runs[at : at + _TOGETHER] for at in range(0, len(runs), _TOGETHER)]
    count = min(len(parts), jobs or len(os.sched_getaffinity(0)))
    if count <= 1:
        found = _counted(map(_of, parts), parts, progress)
    else:
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(count, mp_context=context) as pool:
            found = _counted(pool.map(_of, parts), parts, progress)
    return pl.concat(found) if found else pl.DataFrame(schema={"run": pl.UInt32, PLACE: pl.String})


def _counted(
    found: Iterable[pl.DataFrame], parts: Sequence[Sequence[object]], progress: Callable[[int], None]
) -> list[pl.DataFrame]:
    """All of them, told as they come."""
    rows, done = [], 0
    for frame, part in zip(found, parts, strict=True):
        rows.append(frame)
        done += len(part)
        progress(done)
    return rows


def _of(runs: Sequence[captures.Prepared]) -> pl.DataFrame:
    """The rows of some runs."""
    found = []
    with tempfile.TemporaryDirectory(prefix="ackclock-") as folder:
        file = Path(folder) / "run.pcapng"
        for run in runs:
            run.write(file)
            seen = pcap(str(file))
            names = seen.captures.select("interface", pl.col("name").alias(PLACE))
            # What asks for the data is of no interest: it is less than the data.
            largest = pl.col("goodput_bytes") == pl.col("goodput_bytes").max().over("interface")
            own = seen.flows.filter(largest & (pl.col("goodput_bytes") > 0)).join(names, on="interface")
            found.append(own.with_columns(pl.lit(run.run, pl.UInt32).alias("run")).drop("file"))
    return pl.concat(found)
