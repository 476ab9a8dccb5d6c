"""Every metric that a result has the data for, run by run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from ackclock.metrics.fairness import max_min_index, max_min_shares, proportional_fairness
from ackclock.metrics.losses import synchronisation
from ackclock.metrics.rates import rate_over, smoothness
from ackclock.results.result import Result
from ackclock.results.summary import rate_of
from ackclock.stats import jain

_EVENTS = ("recoveries", "timeouts")


def of(result: Result, *, bin_s: float = 1.0) -> pl.DataFrame:
    """A row per run: its keys, then fairness, loss events, synchronisation and smoothness.

    `jain`, `max_min_index` and `proportional_fairness` are of the flows' goodputs (bit/s); the max-min shares suppose
    links full of full-size packets and count what a source at a constant rate asks for; they are missing where sources
    come and go (on-off, files, requests). The others are of the flows that have a controller.
    `loss_events` counts recoveries and timeouts of all flows, `loss_event_rate` them per segment sent,
    `timeouts_per_mb` timeouts per 10^6 bytes of payload sent. `synchronisation` needs the series `recoveries` and
    `timeouts`, `smoothness` (mean over the flows, in bins of `bin_s` seconds after the warm-up) needs `delivered`;
    without them they are null.
    """
    series = _series(result)
    rows = []
    for run in result.runs.iter_rows(named=True):
        flows = result.flows.filter(pl.col("run") == run["run"]).to_dicts()
        controlled = [row for row in flows if row["cc"] != "none"]
        rows.append(
            {
                **{key: run[key] for key in ("run", *result.params, "seed", "replication")},
                **_fairness(flows, result.resolved(run["point"])),
                **_losses(controlled),
                "synchronisation": _synchronisation(controlled, series, run),
                "smoothness": _smoothness(flows, series, run, bin_s),
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


Samples = Mapping[tuple[Any, ...], pl.DataFrame]


def _series(result: Result) -> Samples:
    wanted = result.series.filter(pl.col("metric").cast(pl.String).is_in([*_EVENTS, "delivered"]))
    return wanted.with_columns(pl.col("metric").cast(pl.String)).partition_by("run", "metric", "id", as_dict=True)


def _fairness(flows: list[dict[str, Any]], resolved: Mapping[str, Any]) -> dict[str, float | None]:
    goodputs = [row["goodput_bps"] for row in flows]
    shares = _shares(flows, resolved)
    return {
        "jain": jain(goodputs),
        "max_min_index": None if shares is None else max_min_index(goodputs, shares),
        "proportional_fairness": proportional_fairness(goodputs),
    }


def _shares(flows: list[dict[str, Any]], resolved: Mapping[str, Any]) -> list[float] | None:
    """The max-min shares of the flows' goodputs, bit/s."""
    known = {flow["id"]: flow for flow in resolved["flows"]}
    demands = [_demand(known[row["id"]]["app"]) for row in flows]
    if None in demands:
        return None
    capacities = {}
    mss = next((flow["mss"] for flow in resolved["flows"] if not _datagrams(flow["app"])), None)
    for link in resolved["links"]:
        rate = rate_of(link, resolved["duration_ns"])
        packet = (link["queue"] or {}).get("packet_bytes")
        if rate is None:
            continue
        if packet is None or mss is None:
            return None
        capacities[link["id"]] = rate * mss / packet
    routes = [[hop["link"] for hop in known[row["id"]]["forward"] if "link" in hop] for row in flows]
    return max_min_shares(routes, capacities, [demand for demand in demands if demand is not None])


def _datagrams(app: Mapping[str, Any]) -> bool:
    return app.get("transport") == "udp"


def _demand(app: Mapping[str, Any]) -> float | None:
    """The most a source takes, bit/s of payload; None where that is not one number."""
    if app["kind"] == "bulk":
        return math.inf
    return float(app["rate_bps"]) if app["kind"] == "cbr" else None


def _losses(flows: list[dict[str, Any]]) -> dict[str, float | None]:
    timeouts = sum(row["timeouts"] for row in flows)
    events = timeouts + sum(row["recoveries"] for row in flows)
    segments, sent = sum(row["sent_segments"] for row in flows), sum(row["sent_bytes"] for row in flows)
    return {
        "loss_events": float(events),
        "loss_event_rate": events / segments if segments else None,
        "timeouts_per_mb": timeouts / (sent / 1e6) if sent else None,
    }


def _synchronisation(flows: list[dict[str, Any]], series: Samples, row: Mapping[str, Any]) -> float | None:
    run, begin = row["run"], row["warmup_s"]
    if not any((run, metric, row["id"]) in series for metric in _EVENTS for row in flows):
        return None
    rtts = [row["mean_rtt_s"] for row in flows if row["mean_rtt_s"] is not None]
    events = [
        [
            time
            for metric in _EVENTS
            if (samples := series.get((run, metric, row["id"]))) is not None
            for time in samples.filter(pl.col("value") > pl.col("value").shift(1, fill_value=0))["time_s"].to_list()
            if time >= begin
        ]
        for row in flows
    ]
    return synchronisation(events, max(rtts)) if rtts else None


def _smoothness(flows: list[dict[str, Any]], series: Samples, run: Mapping[str, Any], bin_s: float) -> float | None:
    found = []
    for row in flows:
        samples = series.get((run["run"], "delivered", row["id"]))
        if samples is None:
            return None
        begin = max(run["warmup_s"], row["start_s"])
        _, rates = rate_over(samples["time_s"].to_numpy(), samples["value"].to_numpy(), begin, run["duration_s"], bin_s)
        found.append(smoothness(rates))
    known = [value for value in found if value is not None]
    return sum(known) / len(known) if known else None
