"""TCP flows through queue disciplines: the recorded runs of ns-3 and ns-2, and ours."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

import ackclock
from session_cache import session_cache

HERE = Path(__file__).resolve().parent

PIE = {"kind": "pie", "limit": "1000 packets", "variant": "ns3", "delay": "sojourn"}
RED = {"kind": "red", "limit": "100 packets", "preset": "ns3"}
# ns-2's RED with thresholds of 5 and 15 packets.
RED2 = {"kind": "red", "limit": "100 packets", "preset": "ns2"}

QUEUES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "ns3": {
        "droptail": {"kind": "droptail", "limit": "100 packets"},
        "codel": {"kind": "codel", "limit": "1000 packets", "variant": "ns3"},
        "fq_codel": {"kind": "fq_codel", "variant": "ns3", "ecn": False},
        "red": RED,
        "pie": PIE | {"derandomize": False, "high_step": 0},
    },
    "ns2": {
        "red": RED2,
        "red not gentle": RED2 | {"gentle": "off"},
        "red no wait": RED2 | {"wait": "off"},
        "red adaptive": RED2 | {"gentle": "off", "adaptive": "on"},
    },
}
"""What each recorded queue is here."""

COMMON: Mapping[str, Any] = {
    "mss": "1448 B",
    "iw": 10,
    "delayed_ack": 2,
    "min_rto": "1 s",
}
FLOWS: Mapping[str, Mapping[str, Any]] = {
    "newreno": {"profile": "ns3", "cc": "newreno", "recovery": "prr"},
    "linuxreno": {
        "profile": "ns3",
        "cc": {"name": "reno", "counting": "bytes", "base": "cwnd"},
        "slow_start": {"kind": "standard", "abc_limit": 0},
        "recovery": "prr",
    },
    "sack1": {
        "profile": "ns2",
        "cc": "newreno",
        "recovery": "sack",
        "tcp": {"timestamps": True, "count_options": False, "header_bytes": "52 B", "clock_granularity": "10 ms"},
    },
}
"""What each recorded sender is here."""

PATHS: Mapping[str, tuple[str, str, int]] = {
    "ten": ("10 Mbit/s", "40 ms", 10),
    "four": ("20 Mbit/s", "60 ms", 4),
}
"""Rate, round trip, flows."""

DRAWING, DRAWS = ("pie", "red"), 4
"""Disciplines that draw, and our runs for each recorded one: the mean of four draws alone can be 15 % off."""

MEASURES = ("utilisation", "drops", "mean_wait_s", "p95_wait_s")


@dataclass(frozen=True, slots=True)
class Means:
    """Means over the runs."""

    utilisation: float
    drops: float
    mean_wait_s: float
    p95_wait_s: float


@cache
def _rows(peer: str) -> tuple[Mapping[str, str], ...]:
    with (HERE / peer / "queues-tcp.csv").open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


@dataclass(frozen=True, slots=True)
class Case:
    """What was recorded, but for the starts."""

    peer: str
    path: str
    cc: str
    queue: str


def cases(peer: str) -> list[Case]:
    """Everything recorded."""
    return list(dict.fromkeys(Case(peer, row["path"], row["cc"], row["queue"]) for row in _rows(peer)))


def _of(case: Case) -> list[Mapping[str, str]]:
    key = (case.path, case.cc, case.queue)
    return [row for row in _rows(case.peer) if (row["path"], row["cc"], row["queue"]) == key]


@cache
def recorded(case: Case) -> Means:
    """What the peer did."""
    rows = _of(case)
    return Means(*(fmean(float(row[measure]) for row in rows) for measure in MEASURES))


def scenario(case: Case, step_ms: float) -> dict[str, Any]:
    """The run, in the keys of a scenario file; `step_ms` after each other the flows start."""
    rate, rtt, flows = PATHS[case.path]
    flow = {**COMMON, **FLOWS[case.cc]}
    flow = {**flow, "tcp": {"delayed_ack_timeout": "200 ms", **flow.get("tcp", {})}}
    return {
        "topology": {
            "kind": "dumbbell",
            "rate": rate,
            "rtt": rtt,
            "queue": {"limit_includes_service": False, **QUEUES[case.peer][case.queue]},
            "link_overhead": "14 B",
            "reverse": {"rate": "unlimited"},
        },
        "flows": [{**flow, "start": f"{n * step_ms:g} ms"} for n in range(flows)],
        "run": {"duration": "60 s"},
    }


@session_cache
def played(case: Case) -> Means:
    """What we do."""
    found = []
    draws = DRAWS if QUEUES[case.peer][case.queue]["kind"] in DRAWING else 1
    for seed, row in enumerate(_of(case), 1):
        run = scenario(case, float(row["step_ms"]))
        run["run"] |= {"seed": seed, "replications": draws}
        links = ackclock.run(run, jobs=1).links.filter(pl.col("id") == "bottleneck")
        names = ("utilisation", "drops", "mean_queue_delay_s", "p95_queue_delay_s")
        found.append([fmean(links[name].to_list()) for name in names])
    return Means(*map(fmean, zip(*found, strict=True)))
