"""The recorded runs of ns-3 and ns-2, and ours on the same paths."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

from ackclock import engine
from ackclock.engine import Output
from session_cache import session_cache

HERE = Path(__file__).resolve().parent
MSS = 1448
"""Payload of a full segment in every recording."""

FLOWS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "ns3": {
        "newreno": {"profile": "ns3", "cc": {"name": "newreno"}},
        "linuxreno": {
            "profile": "ns3",
            "cc": {"name": "reno", "params": {"counting": "bytes", "base": "cwnd"}},
            "slow_start": {"name": "standard", "params": {"abc_limit": 0}},
        },
    },
    "ns2": {
        name: {
            "profile": "ns2",
            "cc": {"name": controller},
            "tcp": {
                "recovery": recovery,
                "iw": 10,
                "delayed_ack": 2,
                "delayed_ack_timeout": 200_000_000,
                # 40 and 12 for timestamps, on every packet, in one number.
                "header_bytes": 52,
            },
        }
        for name, controller, recovery in (
            ("sack1", "newreno", "sack"),
            ("newreno", "newreno", "newreno"),
            ("reno", "reno", "reno"),
            ("tahoe", "tahoe", "tahoe"),
        )
    },
}
"""What each recorded variant is here: the peer's profile, and what the recording sets apart from its defaults."""

FIXED = {"cc", "flows", "start-step-ms", "reverse-rate-bps", "min-rto-ms"}
"""Options of a recording that FLOWS or the document below stand for."""


@dataclass(frozen=True, eq=False)
class Recording:
    """One run of a peer."""

    peer: str
    scenario: str
    variant: str
    options: Mapping[str, str]
    summary: Mapping[str, Any]
    epochs: tuple[tuple[tuple[float, str], ...], ...]
    """Time and kind (fast or timeout) of every reduction, per flow."""

    @property
    def starts(self) -> tuple[float, ...]:
        """When each flow starts, s."""
        return tuple(float(start) for start in self.options["start"].split(","))


@cache
def recording(peer: str, scenario: str, variant: str) -> Recording:
    """Reads one."""
    raw = json.loads((HERE / peer / f"{scenario}-{variant}.json").read_text(encoding="utf-8"))
    options = dict(argument.removeprefix("--").split("=", 1) for argument in raw["command"][1:])
    epochs = tuple(tuple((time, kind) for time, kind, *_ in flow) for flow in raw["epochs"].values())
    return Recording(peer, scenario, variant, options, raw["summary"], epochs)


def document(run: Recording, starts: Iterable[float], probes: Mapping[str, Any]) -> str:
    """The resolved run of the same path and flows."""
    given = dict(run.options)
    half = round(float(given.pop("rtt-ms")) * 1e6 / 2)
    drops = [int(nth) for nth in given.pop("drops", "").split(",") if nth]
    queue = {
        "kind": "droptail",
        "limit_packets": int(given.pop("queue-packets")),
        "limit_includes_service": given.pop("queue-counts-service") == "1",
    }
    link = {
        "id": "bottleneck",
        "rate_bps": int(given.pop("rate-bps")),
        "delay_ns": half,
        "overhead_bytes": int(given.pop("overhead")),
        "queue": queue,
        "loss": {"kind": "scripted", "drops": [{"flow": "0", "nth": nth} for nth in drops]} if drops else None,
    }
    flow = FLOWS[run.peer][run.variant]
    common = {
        "forward": [{"link": "bottleneck"}],
        "reverse": [{"delay_ns": half}],
        "app": {"kind": "bulk"},
        "mss": int(given.pop("mss")),
        **flow,
        "tcp": {**flow.get("tcp", {}), "min_rto": round(float(given["min-rto-ms"]) * 1e6)},
    }
    flows = [common | {"id": str(n), "start": {"at_ns": round(s * 1e9)}} for n, s in enumerate(starts)]
    duration = round(float(given.pop("duration")) * 1e9)
    given.pop("start")
    unknown = given.keys() - FIXED
    if unknown or given["start-step-ms"] != "0" or given["reverse-rate-bps"] != "0":
        raise ValueError(f"{run.peer} {run.scenario}: no counterpart for {sorted(unknown)}")
    return json.dumps(
        {"format": 1, "seed": 1, "duration_ns": duration, "links": [link], "flows": flows, "probes": probes}
    )


@session_cache
def played(run: Recording) -> Output:
    """Our run, with the times of the reductions."""
    return engine.run(document(run, run.starts, {"recoveries": "on_change", "timeouts": "on_change"}))


def waiting(output: Output) -> float:
    """Mean packets waiting: the queue without the packet in transmission, as the peers count."""
    link = output.links.row(0, named=True)
    return float(link["mean_queue_packets"] - link["utilisation"])


def reductions(output: Output, flow: int) -> list[tuple[float, str]]:
    """Time and kind of every reduction of a flow."""
    series = output.series.filter((pl.col("kind") == "flow") & (pl.col("id") == str(flow)) & (pl.col("value") > 0))
    kinds = {"recoveries": "fast", "timeouts": "timeout"}
    found = series.filter(pl.col("metric").cast(pl.String).is_in(list(kinds)))
    return sorted((time, kinds[metric]) for time, metric in found.select("time_s", "metric").iter_rows())


@dataclass(frozen=True)
class Draws:
    """Means over many starts of the second flow: goodput of both, waiting packets, retransmissions."""

    goodput_bps: float
    queue: float
    retransmitted: float


@cache
def recorded_draws(peer: str, variant: str) -> tuple[tuple[float, ...], Draws]:
    """The starts, and what the peer did with them."""
    with (HERE / peer / "s4-starts.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["variant"] == variant]
    starts = tuple(sorted({float(row["start_s"]) for row in rows}))

    def per_start(column: str) -> float:
        return sum(float(row[column]) for row in rows) / len(starts)

    queue = fmean(float(row["mean_queue_waiting"]) for row in rows)
    return starts, Draws(per_start("goodput_bps"), queue, per_start("retransmitted"))


@session_cache
def played_draws(peer: str, variant: str) -> Draws:
    """What we do with the same starts."""
    run = recording(peer, "s4", variant)
    outputs = [engine.run(document(run, (0, start), {})) for start in recorded_draws(peer, variant)[0]]
    return Draws(
        fmean(sum(output.flows["goodput_bps"]) for output in outputs),
        fmean(waiting(output) for output in outputs),
        fmean(sum(output.flows["retransmitted_segments"]) for output in outputs),
    )
