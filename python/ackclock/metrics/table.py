"""Every metric that a result has the data for, run by run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import polars as pl

from ackclock.metrics.runs import BIN_S, MEASURES, per_run


class Measured(Protocol):
    """What metrics are taken of; an :class:`ackclock.Result` is one."""

    manifest: dict[str, Any]

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The tables by name."""

    @property
    def params(self) -> list[str]:
        """The swept keys."""


def of(result: Measured, *, bin_s: float = BIN_S) -> pl.DataFrame:
    """A row per run: its keys, then fairness, loss events, synchronisation and smoothness.

    `jain`, `max_min_index` and `proportional_fairness` are of the flows' goodputs (bit/s), the first and the last of
    the flows that always have something to send, or of all if none has; the max-min shares suppose links full of
    full-size packets and count what a source at a constant rate asks for; they are missing where sources come and go
    (on-off, files, requests). The others are of the flows that have a controller.
    `loss_events` counts recoveries and timeouts of all flows, `loss_event_rate` them per segment sent,
    `timeouts_per_mb` timeouts per 10^6 bytes of payload sent. `synchronisation` needs the series `recoveries` and
    `timeouts`, recorded on change, `smoothness` (mean over all flows, in bins of `bin_s` seconds after the warm-up)
    needs `delivered`, sampled at least four times per bin; without them they are null.
    """
    found = per_run(result.tables, result.manifest, bin_s)
    numbers = [name for names in result.manifest.get("numbers", {}).values() for name in names]
    rows = [
        {key: run[key] for key in ("run", *result.params, *numbers, "seed", "replication")}
        | {name: found[run["run"]][name] for name in MEASURES}
        for run in result.tables["runs"].iter_rows(named=True)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)
