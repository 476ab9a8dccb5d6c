"""Completion times of runs in which transfers were still under way at the end: those that were not done count, too.

Kaplan and Meier's estimate over the transfers of a run (docs/statistics.md, Censored times). The mean is restricted to
the longest time seen, and where runs are compared to a horizon that they have in common: only then is it the mean of
the same (P. Royston and M. K. B. Parmar, Restricted mean survival time, BMC Medical Research Methodology 13:152, 2013).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


Observed = tuple[Array, Any]
"""Of the transfers of a run how long each was seen, and whether it was done then."""


def unfinished(result: Result) -> dict[int, Times]:
    """The times of the runs that have transfers which were not done, by run. One with too few transfers has fewer."""
    return {run: of_run(*own) for run, own in observed(result).items() if not own[1].all()}


def observed(result: Result) -> dict[int, Observed]:
    """The transfers of each run that began after the warm-up."""
    windows = result.runs.select("run", "duration_s", "warmup_s")
    table = (
        result.transfers.select("run", "start_s", "fct_s")
        .join(windows, on="run")
        .filter(pl.col("start_s") >= pl.col("warmup_s"))
    )
    seen = pl.col("fct_s").fill_null(pl.col("duration_s") - pl.col("start_s")).alias("seen")
    grouped = table.group_by("run").agg(seen, pl.col("fct_s").is_not_null().alias("done"))
    return {run: (np.asarray(times, float), np.asarray(done, bool)) for run, times, done in grouped.iter_rows()}


def horizon(runs: Iterable[Observed]) -> float | None:
    """The time up to which all of these runs know their transfers; ``None`` where nothing limits it.

    A run whose longest time is of a transfer that was not done knows nothing of what is longer.
    """
    return min((float(seen.max()) for seen, done in runs if not done[seen == seen.max()].all()), default=None)


def of_run(times: Array, done: Any, until: float | None = None) -> dict[str, tuple[float, bool]]:
    """The :data:`METRICS` of the transfers of a run: how long each was seen, and whether it was done then.

    With `until` they are of times of which no more than that counts, whether they are known or not.
    """
    if until is not None:
        times, done = np.minimum(times, until), done & (times <= until)
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
