"""Results of runs whose metrics are replaced by planted ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import ackclock
from ackclock import Result

RTTS = ("20 ms", "40 ms", "80 ms")
CCS = ("reno", "cubic", "vegas", "bbr1")

_TEXT = """\
[topology]
kind = "dumbbell"
rate = "2 Mbit/s"
rtt = "20 ms"
queue = "1 BDP"

[[flows]]
cc = "reno"
count = 2
start = { uniform = ["0 s", "100 ms"] }

[run]
duration = "1 s"
"""

_HOME = {"goodput_bps": "flows", "p95_delay_s": "flows", "mean_rtt_s": "flows", "p95_queue_delay_s": "links"}


def played(folder: Path, *, ccs: Sequence[str] = CCS, rtts: Sequence[str] = RTTS, n: int = 6, **more: Any) -> Result:
    """Short runs of each controller on each path."""
    path = folder / "scenario.toml"
    path.write_text(_TEXT, encoding="utf-8")
    changes = {"cc": list(ccs), "topology.rtt": list(rtts), **more}
    return ackclock.run(path, set=changes, replications=n, jobs=1)


def plant(result: Result, values: Mapping[str, Any]) -> Result:
    """The result with these metrics: each an array of controllers, paths and replications, in the result's order."""
    ccs, rtts = (result.runs[key].unique(maintain_order=True).to_list() for key in ("cc", "topology.rtt"))
    tables = dict(result.tables)
    for metric, array in values.items():
        own = {
            run: float(array[ccs.index(cc), rtts.index(rtt), replication])
            for run, cc, rtt, replication in result.runs.select("run", "cc", "topology.rtt", "replication").iter_rows()
        }
        home = _HOME[metric]
        column = pl.col("run").replace_strict(own, return_dtype=pl.Float64).alias(metric)
        tables[home] = tables[home].with_columns(column)
    return Result(tables, result.manifest)


def noise(shape: tuple[int, int, int], seed: int = 0, size: float = 0.01) -> Any:
    """Factors near 1, different in each run."""
    return np.exp(size * np.random.default_rng(seed).normal(size=shape))
