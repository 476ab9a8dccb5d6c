"""The recorded runs of the real Linux kernel, and the same paths in ackclock with profile `linux`."""

from __future__ import annotations

import csv
import functools
import gzip
import json
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ackclock import _ackclock
from agreement import Figure, figure

GOODPUT, QUEUE, RETRANSMISSIONS = 0.02, 0.10, 0.20
"""Largest relative differences that count as agreement."""

RECORDS = Path(__file__).parent / "kernel"
MSS = 1448
SEEDS = range(1, 9)
"""Of ours where losses are random."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What both sides measure of one run; of two flows the sums, because their shares depend on the seed."""

    goodput_bps: float
    retransmissions: float
    mean_queue: float
    epochs: tuple[float, ...]
    """When the first flow began to repair losses, seconds."""


def names() -> list[str]:
    """Every record without random loss."""
    return [name for name in _all() if record(name)["scenario"].get("loss") is None]


def random_names() -> list[str]:
    """Every record with random loss."""
    return [name for name in _all() if record(name)["scenario"].get("loss") is not None]


def _all() -> list[str]:
    return sorted(path.name.removesuffix(".json.gz") for path in RECORDS.glob("*.json.gz"))


@functools.cache
def record(name: str) -> dict[str, Any]:
    """A recorded run as it was written."""
    with gzip.open(RECORDS / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        result: dict[str, Any] = json.load(file)
    return result


def document(name: str, seed: int = 1) -> dict[str, Any]:
    """The recorded path: rate and queue, then loss, then the forward delay; the way back only delays."""
    run = record(name)
    path = run["scenario"]
    loss = None
    if path.get("loss"):
        loss = {"kind": "bernoulli", "p": path["loss"]}
    if path.get("drop_every"):
        loss = {"kind": "every", "n": path["drop_every"]}
    bottleneck = {
        "id": "bottleneck",
        "rate_bps": round(path["rate_bps"]),
        "delay_ns": round(path["fwd_delay_ms"] * 1e6),
        "overhead_bytes": 14,
        "queue": {"kind": "droptail", "limit_packets": path["queue_pkts"], "limit_includes_service": True},
        "loss": loss,
    }
    flows = [
        {
            "id": str(number),
            "forward": [{"link": "bottleneck"}],
            "reverse": [{"delay_ns": round(flow["ack_delay_ms"] * 1e6)}],
            "start": {"at_ns": round(flow["start"] * 1e9)},
            "app": {"kind": "bulk"},
            "mss": MSS,
            "profile": "linux",
            "cc": {"name": flow["cc"]},
        }
        for number, flow in enumerate(run["flows"])
    ]
    return {
        "format": 1,
        "seed": seed,
        "duration_ns": round(path["duration"] * 1e9),
        "links": [bottleneck],
        "flows": flows,
        "probes": {"retransmitted": "on_change"},
    }


@functools.cache
def ours(name: str, seed: int = 1) -> Measured:
    """The run in ackclock."""
    out = _ackclock.run(json.dumps(document(name, seed)))
    flows, links, series = (pl.DataFrame(table) for table in (out.flows, out.links, out.series))
    repairs = series.filter((pl.col("metric") == "retransmitted") & (pl.col("id") == "0") & (pl.col("value") > 0))
    duration = record(name)["scenario"]["duration"]
    return Measured(
        goodput_bps=flows["goodput_bytes"].sum() * 8 / duration,
        retransmissions=float(flows["retransmitted_segments"].sum()),
        mean_queue=float(links["mean_queue_packets"][0]),
        epochs=_begins(name, repairs["time_s"].to_list()),
    )


def round_trip(name: str) -> float:
    """The longest round trip of the path, with a full queue, seconds."""
    path = record(name)["scenario"]
    queueing: float = path["queue_pkts"] * 1514 * 8 / path["rate_bps"]
    return float(2 * path["fwd_delay_ms"] / 1e3 + queueing)


def _begins(name: str, times: list[float]) -> tuple[float, ...]:
    """Those of `times` that come a round trip or more after the one before: the begins of congestion epochs."""
    gap = round_trip(name)
    return tuple(at for last, at in zip([-gap, *times], times, strict=False) if at - last >= gap)


def kernel(name: str) -> Measured:
    """The recorded run."""
    run = record(name)
    return Measured(
        goodput_bps=sum(flow["bytes_received"] for flow in run["flows"]) * 8 / run["scenario"]["duration"],
        retransmissions=float(sum(flow["retrans_segs"] for flow in run["flows"])),
        mean_queue=float(run["queue"]["mean_pkts"]),
        epochs=_begins(name, [entry[0] for entry in run["flows"][0]["recoveries"]]),
    )


@dataclass(frozen=True, slots=True)
class Sample:
    """A figure over several seeds."""

    mean: float
    error: float
    """Standard error of the mean."""

    @classmethod
    def of(cls, values: list[float]) -> Sample:
        """Mean and standard error of `values`."""
        return cls(statistics.fmean(values), statistics.stdev(values) / len(values) ** 0.5)


def kernel_noise(name: str) -> Sample:
    """The kernel's goodput with other seeds, bit/s."""
    scenario, cc = name.split("_")
    with (RECORDS / "kernel-noise.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row[:2] == [scenario, cc]]
    return Sample.of([float(row[3]) for row in rows])


def our_noise(name: str) -> Sample:
    """Ours with :data:`SEEDS`, bit/s."""
    return Sample.of([ours(name, seed).goodput_bps for seed in SEEDS])


def noise(name: str) -> tuple[Sample, Sample, float]:
    """Goodput with random loss, ours and the kernel's, and three standard errors of their difference, bit/s."""
    mine, theirs = our_noise(name), kernel_noise(name)
    return mine, theirs, 3 * (mine.error**2 + theirs.error**2) ** 0.5


def figures() -> Iterator[Figure]:
    """Every comparison, for the validation page."""
    for name in names():
        (scenario, cc), mine, theirs = name.split("_"), ours(name), kernel(name)
        yield figure(scenario, cc, "goodput", (mine.goodput_bps, theirs.goodput_bps), GOODPUT)
        yield figure(scenario, cc, "mean queue", (mine.mean_queue, theirs.mean_queue), QUEUE)
        pair = (mine.retransmissions, theirs.retransmissions)
        yield figure(scenario, cc, "retransmissions", pair, RETRANSMISSIONS)
    for name in random_names():
        (scenario, cc), (mine_random, theirs_random, bound) = name.split("_"), noise(name)
        pair = (mine_random.mean, theirs_random.mean)
        yield figure(scenario, cc, "goodput", pair, bound / theirs_random.mean)
