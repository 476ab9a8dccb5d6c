"""What the flows of a point did, in numbers per run: of all of them, and of each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from ackclock.results.groups import Group
from ackclock.results.percentiles import PERCENTILES as PERCENTILES

EVERY = ("goodput_bps", "total_goodput_bps", "retransmitted_percent", "mean_rtt_s", "timeouts")
"""Metrics of any flows."""

TRANSFERS = (
    "transfers_completed", "transfers_unfinished",
    "mean_fct_s", *(f"p{percent}_fct_s" for percent in PERCENTILES),
    "mean_slowdown", *(f"p{percent}_slowdown" for percent in PERCENTILES),
)  # fmt: skip
"""Metrics of flows that consist of transfers."""

DELAYS = ("mean_delay_s", *(f"p{percent}_delay_s" for percent in PERCENTILES))
"""One-way delays of packets, of any flows."""

DATAGRAMS = ("datagram_loss_percent",)
"""Metrics of flows that send datagrams."""

METRICS = (*EVERY, *TRANSFERS, *DATAGRAMS, *DELAYS)

SHARE = "goodput_share"
"""Of a group its part of the goodput of all flows of the run, where it is not the only one."""

_COUNTS = TRANSFERS[:2]
_RANKED = tuple(name for name in METRICS if name.startswith("p"))

Values = Mapping[str, list[float | None]]
"""Of each metric a value for each run."""

Row = Mapping[str, float | None]
"""The metrics of one run."""

WHOLE = -1
"""What stands for all flows of a run where a group is expected."""


def measured(
    flows: pl.DataFrame, transfers: pl.DataFrame, warmup: Mapping[int, float], known: Sequence[Group]
) -> dict[tuple[int, int], Row]:
    """The metrics by run and number of group, those of all its flows by run and :data:`WHOLE`.

    All runs have the groups `known`, and `warmup` says when the measurement of each begins, s.
    """
    of = {str(number): index for index, group in enumerate(known) for number in group.flows}
    begin = pl.col("run").replace_strict(warmup, return_dtype=pl.Float64)
    within = transfers.lazy().filter(pl.col("start_s") >= begin)
    found: dict[tuple[int, int], Row] = {}
    for group in (pl.lit(WHOLE, pl.Int64), pl.col("id").replace_strict(of, return_dtype=pl.Int64)):
        keys = ("run", group.alias("group"))
        sent = flows.lazy().group_by(*keys).agg(*_of_flows())
        done = within.group_by(*keys).agg(*_of_transfers())
        both = sent.join(done, on=["run", "group"], how="left").cast(dict.fromkeys(METRICS, pl.Float64)).collect()
        for run, number, *values in both.select("run", "group", *METRICS).iter_rows():
            found[run, number] = dict(zip(METRICS, values, strict=True))
    return _with_shares(found) if len(known) > 1 else found


def _with_shares(found: Mapping[tuple[int, int], Row]) -> dict[tuple[int, int], Row]:
    """The same, with the share of each group."""
    total = "total_goodput_bps"
    whole = {run: own[total] for (run, number), own in found.items() if number == WHOLE}
    return {
        (run, number): own
        if number == WHOLE
        else {**own, SHARE: (own[total] or 0.0) / every if (every := whole[run]) else None}
        for (run, number), own in found.items()
    }


def over_runs(rows: Sequence[Row]) -> Values:
    """The values of some runs of one point."""
    found = {name: [row.get(name) for row in rows] for name in (*METRICS, SHARE)}
    if any(value is not None for value in found[_COUNTS[0]]):
        for name in _COUNTS:
            found[name] = [value or 0.0 for value in found[name]]
    for name in _RANKED:
        # A run with too few values for a percentile has other ones: a mean without it would mislead.
        if None in found[name]:
            found[name] = [None] * len(rows)
    return found


_TCP = pl.col("lost_packets").is_null()


def _of_flows() -> list[pl.Expr]:
    """The metrics of some flows of a run."""
    received = pl.col("received_packets").cast(pl.Float64)
    retransmitted, sent = (pl.col(name).filter(_TCP).sum() for name in ("retransmitted_bytes", "sent_bytes"))
    lost, datagrams = (pl.col(name).filter(~_TCP).sum() for name in ("lost_packets", "sent_segments"))
    return [
        pl.col("goodput_bps").mean(),
        pl.col("goodput_bps").sum().alias("total_goodput_bps"),
        pl.when(sent > 0).then(100 * retransmitted / sent).alias("retransmitted_percent"),
        pl.col("mean_rtt_s").mean(),
        pl.when(_TCP.any()).then(pl.col("timeouts").sum()).alias("timeouts"),
        pl.when(datagrams > 0).then(100 * lost / datagrams).alias("datagram_loss_percent"),
        ((pl.col("mean_delay_s") * received).sum() / received.filter(pl.col("mean_delay_s").is_not_null()).sum())
        .fill_nan(None)
        .alias("mean_delay_s"),
        *(
            # Of several flows the mean: their single packets are not in the tables.
            pl.when((received >= fewest).all()).then(pl.col(f"p{percent}_delay_s").mean())
            for percent, fewest in PERCENTILES.items()
        ),
    ]


def _of_transfers() -> list[pl.Expr]:
    """The metrics of some transfers of a run."""
    fct, slowdown = (pl.col(name).filter(pl.col(name).is_not_null()) for name in ("fct_s", "slowdown"))
    return [
        fct.len().alias("transfers_completed"),
        pl.col("fct_s").is_null().sum().alias("transfers_unfinished"),
        fct.mean().alias("mean_fct_s"),
        *(nearest_rank(fct, percent).alias(f"p{percent}_fct_s") for percent in PERCENTILES),
        slowdown.mean().alias("mean_slowdown"),
        *(nearest_rank(slowdown, percent).alias(f"p{percent}_slowdown") for percent in PERCENTILES),
    ]


def nearest_rank(values: pl.Expr, percent: int) -> pl.Expr:
    """The smallest value that so many percent of all do not exceed; none of too few values."""
    n = values.len().cast(pl.Int64)
    rank = (percent * n + 99) // 100  # whole numbers: 0.95 * 20 must not become 20
    return pl.when(n >= PERCENTILES[percent]).then(values.sort().get(pl.max_horizontal(rank - 1, 0), null_on_oob=True))
