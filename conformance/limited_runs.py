"""What is measured of a recorded kernel run whose application limits the sender, and of the same run in ackclock."""

from __future__ import annotations

import functools
import json
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import polars as pl

from ackclock import engine
from kernel_records import scenario_of
from limited_records import UNSETTLED, document, record, traffic_of

BY_RATE = ("onoff", "slowread")
"""Applications whose speed is a rate; that of the others is the mean completion time of their transfers."""
TIME, RTT, LARGE = 0.05, 0.10, 0.20
"""Largest relative differences of completion time or rate and of the mean RTT that count as agreement, and the one
beyond which there must be a known mechanism."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One run."""

    transfers: int
    """Completed requests, connections or writes, without the unsettled ones; 0 where the application has none."""
    completion_s: float | None
    """Their mean completion time."""
    goodput_bps: float
    """Bytes that came in order, read or not, over the whole run."""
    mean_rtt_s: float | None
    """Mean over time of the sender's smoothed RTT; None where connections come and go."""
    retransmissions: int


def _measured(
    name: str,
    transfers: Iterable[tuple[float, float | None]],
    srtt: Iterable[tuple[float, float]],
    goodput_bps: float,
    retransmissions: int,
) -> Measured:
    """From begins and ends of transfers and the series of (time, smoothed RTT), seconds."""
    kind, _ = traffic_of(name)
    settled = list(islice(transfers, UNSETTLED.get(scenario_of(name), 0), None))
    begin = settled[0][0] if settled else 0.0
    times = [end - start for start, end in settled if end is not None] if kind not in BY_RATE else []
    rtt = [value for at, value in srtt if value > 0 and at >= begin]
    return Measured(
        transfers=len(times),
        completion_s=statistics.fmean(times) if times else None,
        goodput_bps=goodput_bps,
        mean_rtt_s=statistics.fmean(rtt) if rtt and kind != "short" else None,
        retransmissions=retransmissions,
    )


@functools.cache
def kernel(name: str) -> Measured:
    """The recorded run."""
    run = record(name)
    flow, grid = run["flows"][0], run["flows"][0]["t"]
    at = [grid["t0"] + index * grid["dt"] for index in range(grid["n"])] if isinstance(grid, dict) else grid
    return _measured(
        name,
        [(transfer["start"], transfer["end"]) for transfer in flow["transfers"]],
        [(time, value / 1e6) for time, value in zip(at, flow["srtt_us"], strict=True)],
        8 * flow["bytes_received"] / run["scenario"]["duration"],
        flow["retrans_segs"],
    )


def ours(name: str, **changes: Any) -> Measured:
    """The run in ackclock; `changes` as of `limited_records.document`."""
    resolved = document(name, **changes)
    out = engine.run(json.dumps(resolved))
    flow = out.flows.row(0, named=True)
    srtt = out.series.filter(pl.col("metric").cast(pl.String) == "srtt")
    return _measured(
        name,
        out.transfers.select("start_s", "end_s").iter_rows(),
        srtt.select("time_s", "value").iter_rows(),
        8e9 * flow["goodput_bytes"] / resolved["duration_ns"],
        flow["retransmitted_segments"],
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """A record beside ours."""

    name: str
    kernel: Measured
    ours: Measured

    @property
    def speed(self) -> float:
        """Ours relative to the kernel's: mean completion time, or the rate where there are no transfers to time.

        Infinity where ours completed nothing.
        """
        if self.kernel.completion_s is None:
            return self.ours.goodput_bps / self.kernel.goodput_bps
        return float("inf") if self.ours.completion_s is None else self.ours.completion_s / self.kernel.completion_s

    @property
    def rtt(self) -> float | None:
        """Ours relative to the kernel's, where it is compared."""
        if self.kernel.mean_rtt_s is None:
            return None
        return float("inf") if self.ours.mean_rtt_s is None else self.ours.mean_rtt_s / self.kernel.mean_rtt_s

    @property
    def agrees(self) -> bool:
        """Completion time or rate within 5 %, mean RTT within 10 %."""
        return abs(self.speed - 1) <= TIME and (self.rtt is None or abs(self.rtt - 1) <= RTT)

    @property
    def large(self) -> bool:
        """One of them differs by more than 20 %."""
        return any(abs(ratio - 1) > LARGE for ratio in (self.speed, self.rtt) if ratio is not None)

    @property
    def verdict(self) -> str:
        """In a word."""
        return "agrees" if self.agrees else "DIFFERS" if self.large else "differs"
