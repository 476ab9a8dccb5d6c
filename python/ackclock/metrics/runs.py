"""What is measured of a run beyond the columns of its tables: fairness, loss events, synchronisation, smoothness."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from ackclock.metrics.capacity import rate_of
from ackclock.metrics.losses import synchronisation
from ackclock.metrics.rates import rate_over, smoothness
from ackclock.stats import jain, max_min_index, max_min_shares, proportional_fairness

BIN_S = 1.0
"""Width of the bins that smoothness is taken over, s."""

MEASURES = (
    "jain",
    "max_min_index",
    "proportional_fairness",
    "loss_events",
    "loss_event_rate",
    "timeouts_per_mb",
    "synchronisation",
    "smoothness",
)
"""What :func:`per_run` finds; docs/metrics.md defines each."""

_EVENTS = ("recoveries", "timeouts")
_COUNTERS = (*_EVENTS, "delivered")
_PER_BIN = 4  # samples of a counter that a bin must have to show its rate
_COLUMNS = (
    "id", "goodput_bps", "start_s", "mean_rtt_s", "timeouts", "recoveries", "sent_segments", "sent_bytes",
    "lost_packets",
)  # fmt: skip

Row = Mapping[str, Any]
Columns = Mapping[str, list[Any]]
Samples = Mapping[tuple[int, str, str], tuple[pl.Series, pl.Series]]


def per_run(tables: Mapping[str, pl.DataFrame], manifest: Mapping[str, Any], bin_s: float = BIN_S) -> dict[int, Row]:
    """The :data:`MEASURES` of every finished run, by its number."""
    resolved = {entry["point"]: entry["resolved"] for entry in manifest["points"]}
    samples = _samples(tables["series"])
    flows = tables["flows"].select("run", *_COLUMNS).partition_by("run", as_dict=True, include_key=False)
    shares: dict[int, list[float] | None] = {}  # they follow from the point, and cost more than all of the rest
    alike: dict[int, frozenset[str]] = {}
    found: dict[int, Row] = {}
    for run in tables["runs"].iter_rows(named=True):
        # Columns, not rows: a dictionary for each flow of a crowd would cost more than the measures.
        point, rows = run["point"], flows[(run["run"],)].to_dict(as_series=False)
        if point not in shares:
            shares[point] = _shares(rows["id"], resolved[point])
            alike[point] = _rivals(resolved[point])
        found[run["run"]] = {
            **_fairness(rows, alike[point], shares[point]),
            **_losses(controlled := _controlled(rows)),
            "synchronisation": _synchronisation(controlled, samples, run, resolved[point]["probes"]),
            "smoothness": _smoothness(rows, samples, run, resolved[point]["probes"], bin_s),
        }
    return found


def _samples(series: pl.DataFrame) -> Samples:
    metric = pl.col("metric").cast(pl.String)
    wanted = series.lazy().select("run", metric, "id", "time_s", "value").filter(pl.col("metric").is_in(_COUNTERS))
    parts = wanted.group_by("run", "metric", "id", maintain_order=True).agg("time_s", "value").collect()
    keys = parts.select("run", "metric", "id").iter_rows()
    return {key: (parts["time_s"][index], parts["value"][index]) for index, key in enumerate(keys)}


def _rivals(resolved: Mapping[str, Any]) -> frozenset[str]:
    """The flows whose rates are to be equal: those that always have something to send, or all if none does.

    What a flow of requests or files gets is what it asks for: beside bulk flows it would look like unfairness.
    """
    greedy = [flow["id"] for flow in resolved["flows"] if _greedy(flow["app"])]
    return frozenset(greedy or (flow["id"] for flow in resolved["flows"]))


def _greedy(app: Mapping[str, Any]) -> bool:
    return app["kind"] == "bulk" and app["bytes"] is None and app.get("read_bps") is None


def _controlled(flows: Columns) -> Columns:
    """Those that have a controller."""
    lost = flows["lost_packets"]
    if all(packets is None for packets in lost):
        return flows
    kept = [packets is None for packets in lost]
    return {name: list(itertools.compress(column, kept)) for name, column in flows.items()}


def _fairness(flows: Columns, rivals: frozenset[str], shares: list[float] | None) -> Row:
    goodputs = flows["goodput_bps"]
    own = [goodput for flow, goodput in zip(flows["id"], goodputs, strict=True) if flow in rivals]
    return {
        "jain": jain(own),
        "max_min_index": None if shares is None else max_min_index(goodputs, shares),
        "proportional_fairness": proportional_fairness(own),
    }


def _shares(flows: Sequence[str], resolved: Mapping[str, Any]) -> list[float] | None:
    """The max-min shares of the flows' goodputs, bit/s."""
    known = {flow["id"]: flow for flow in resolved["flows"]}
    demands = [_demand(known[flow]["app"]) for flow in flows]
    if None in demands:
        return None
    if not resolved["links"]:  # of a line that is not emulated nobody knows
        return None
    capacities = {}
    mss = next((flow["mss"] for flow in resolved["flows"] if flow["app"].get("transport") != "udp"), None)
    for link in resolved["links"]:
        rate = rate_of(link, resolved["duration_ns"])
        packet = (link["queue"] or {}).get("packet_bytes")
        if rate is None:
            continue
        if packet is None or mss is None:
            return None
        capacities[link["id"]] = rate * mss / packet
    # Equal flows have their hops in one list: its route is looked for once.
    hops = {id(way): way for way in (known[flow]["forward"] for flow in flows)}
    ways = {number: [hop["link"] for hop in way if "link" in hop] for number, way in hops.items()}
    routes = [ways[id(known[flow]["forward"])] for flow in flows]
    return max_min_shares(routes, capacities, [demand for demand in demands if demand is not None])


def _demand(app: Mapping[str, Any]) -> float | None:
    """The most a source takes, bit/s of payload; None where that is not one number."""
    if app["kind"] == "bulk":
        return math.inf if app["bytes"] is None else None
    return float(app["rate_bps"]) if app["kind"] == "cbr" else None


def _losses(flows: Columns) -> Row:
    """Of the flows that have a controller; without any there is no value."""
    timeouts, recoveries = _sum(flows, "timeouts"), _sum(flows, "recoveries")
    events = None if timeouts is None or recoveries is None else timeouts + recoveries
    segments, sent = _sum(flows, "sent_segments"), _sum(flows, "sent_bytes")
    return {
        "loss_events": float(events) if flows["id"] and events is not None else None,
        "loss_event_rate": events / segments if segments and events is not None else None,
        "timeouts_per_mb": timeouts / (sent / 1e6) if sent and timeouts is not None else None,
    }


def _sum(flows: Columns, name: str) -> int | None:
    """What flows have counted together; None where one cannot count it, as the kernel of a real line."""
    return None if None in flows[name] else sum(flows[name])


def _synchronisation(flows: Columns, samples: Samples, run: Row, probes: Mapping[str, Any]) -> float | None:
    if not any(metric in probes for metric in _EVENTS) or any(map(_interval, map(probes.get, _EVENTS))):
        return None
    rtts = [rtt for rtt in flows["mean_rtt_s"] if rtt is not None]
    events = [list(_rises(samples, run["run"], flow, run["warmup_s"])) for flow in flows["id"]]
    return synchronisation(events, max(rtts)) if rtts else None


def _rises(samples: Samples, run: int, flow: str, begin: float) -> Iterator[float]:
    """When a counter of loss events of a flow went up."""
    for metric in _EVENTS:
        if (found := samples.get((run, metric, flow))) is not None:
            time, value = found
            yield from (at for at in time.filter(value > value.shift(1, fill_value=0)).to_list() if at >= begin)


def _smoothness(flows: Columns, samples: Samples, run: Row, probes: Mapping[str, Any], bin_s: float) -> float | None:
    if "delivered" not in probes or _interval(probes["delivered"]) * _PER_BIN > bin_s * 1e9:
        return None
    found = []
    for flow, start_s in zip(flows["id"], flows["start_s"], strict=True):
        series = samples.get((run["run"], "delivered", flow))
        if series is None:
            return None
        begin = max(run["warmup_s"], start_s)
        _, rates = rate_over(series[0].to_numpy(), series[1].to_numpy(), begin, run["duration_s"], bin_s)
        found.append(smoothness(rates))
    known = [value for value in found if value is not None]
    return sum(known) / len(known) if known else None


def _interval(probe: Any) -> int:
    """Nanoseconds between the samples of a series; 0 if each change is one, or none is taken."""
    return int(probe["every_ns"]) if isinstance(probe, Mapping) else 0
