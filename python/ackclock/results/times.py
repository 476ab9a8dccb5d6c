"""Completion times of runs in which transfers were still under way at the end: those that were not done count, too.

Kaplan and Meier's estimate over the transfers of a run (docs/statistics.md, Censored times). The mean is restricted to
the longest time seen (P. Royston and M. K. B. Parmar, Restricted mean survival time, BMC Medical Research Methodology
13:152, 2013).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from ackclock.results.result import Result
from ackclock.results.sources import PERCENTILES

METRICS = ("mean_fct_s", *(f"p{percent}_fct_s" for percent in PERCENTILES))
"""Times that transfers which were not done are counted in."""

Array = np.ndarray[Any, np.dtype[np.float64]]
Times = Mapping[str, tuple[float, bool]]
"""Of each metric its value, and whether that is only known to be longer."""


def unfinished(result: Result) -> dict[int, Times]:
    """The times of the runs that have transfers which were not done, by run. One with too few transfers has fewer."""
    windows = result.runs.select("run", "duration_s", "warmup_s")
    table = (
        result.transfers.select("run", "start_s", "fct_s")
        .join(windows, on="run")
        .filter(pl.col("start_s") >= pl.col("warmup_s"))
    )
    seen = pl.col("fct_s").fill_null(pl.col("duration_s") - pl.col("start_s")).alias("seen")
    grouped = table.group_by("run").agg(seen, pl.col("fct_s").is_not_null().alias("done"))
    some = grouped.filter(~pl.col("done").list.all())
    return {run: of_run(np.asarray(times, float), np.asarray(done, bool)) for run, times, done in some.iter_rows()}


def of_run(times: Array, done: Any) -> dict[str, tuple[float, bool]]:
    """The :data:`METRICS` of the transfers of a run: how long each was seen, and whether it was done then."""
    order = np.lexsort((~done, times))  # what was done counts before what was not, of the same time
    times, done = times[order], done[order]
    left = np.arange(len(times), 0, -1)
    alive = np.cumprod(1 - done / left)  # the share that is not done after each time
    mean = float(np.sum(np.diff(times, prepend=0.0) * np.concatenate([[1.0], alive[:-1]])))
    open_end = bool(alive[-1] > 0)
    found = {"mean_fct_s": (mean, open_end)}
    for percent, fewest in PERCENTILES.items():
        if len(times) >= fewest:
            reached = np.flatnonzero(alive <= 1 - percent / 100 + 1e-9)
            at = int(reached[0]) if len(reached) else len(times) - 1
            found[f"p{percent}_fct_s"] = (float(times[at]), not len(reached))
    return found
