"""What is measured of a recorded run of the Linux kernel and of the same run in ackclock with profile `linux`."""

from __future__ import annotations

import functools
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ackclock import engine
from kernel_records import MSS, document, record, round_trip
from session_cache import session_cache


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow of a run."""

    goodput_bps: float
    """From its start to the end."""
    share: float
    """Of the run's time that it was there."""
    retransmissions: float
    mean_rtt_s: float
    """Of the sender's smoothed round trip, over time."""
    mean_cwnd: float
    """Of the congestion window over time, segments."""
    epochs: tuple[float, ...]
    """When it began to repair losses, seconds: begins of recoveries and timeouts, a round trip or more apart."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One run."""

    flows: tuple[Flow, ...]
    mean_queue: float
    """Packets, the one in transmission included."""

    @property
    def goodput_bps(self) -> float:
        """Of all flows, over the whole run."""
        return sum(flow.goodput_bps * flow.share for flow in self.flows)

    @property
    def retransmissions(self) -> float:
        """Of all flows."""
        return sum(flow.retransmissions for flow in self.flows)

    @property
    def mean_rtt_s(self) -> float:
        """Over the flows."""
        return statistics.fmean(flow.mean_rtt_s for flow in self.flows)

    @property
    def mean_cwnd(self) -> float:
        """Sum of the flows' mean windows."""
        return sum(flow.mean_cwnd for flow in self.flows)

    @property
    def epochs(self) -> float:
        """Number of congestion epochs of all flows."""
        return sum(len(flow.epochs) for flow in self.flows)


def begins(times: Iterable[float], gap: float) -> tuple[float, ...]:
    """Those of `times` that come `gap` or more after the one before."""
    kept, last = [], -gap
    for time in times:
        if time - last >= gap:
            kept.append(time)
        last = time
    return tuple(kept)


def _positive_mean(values: Sequence[float]) -> float:
    """Mean of what is there: before the first sample a series is 0."""
    return statistics.fmean([value for value in values if value > 0] or [0.0])


@functools.cache
def kernel(name: str) -> Measured:
    """The recorded run."""
    return of_record(record(name), round_trip(name))


def of_record(run: Mapping[str, Any], gap: float) -> Measured:
    """What a record holds; epochs are at least `gap` seconds apart."""
    flows = tuple(
        Flow(
            goodput_bps=float(flow["goodput_bps"]),
            share=1 - flow["start"] / run["scenario"]["duration"],
            retransmissions=float(flow["retrans_segs"]),
            mean_rtt_s=_positive_mean(flow["srtt_us"]) / 1e6,
            mean_cwnd=_positive_mean(flow["cwnd"]),
            epochs=begins([entry[0] for entry in flow["recoveries"]], gap),
        )
        for flow in run["flows"]
    )
    return Measured(flows, float(run["queue"]["mean_pkts"]))


@functools.cache
def output(name: str, seed: int = 1, start_spread_ns: int = 0, phase_ns: int = 0) -> engine.Output:
    """The run in ackclock."""
    return engine.run(json.dumps(document(name, seed, start_spread_ns, phase_ns)))


@session_cache
def ours(name: str, seed: int = 1, start_spread_ns: int = 0, phase_ns: int = 0) -> Measured:
    """What the run in ackclock gave."""
    return of_output(
        output(name, seed, start_spread_ns, phase_ns), round_trip(name), record(name)["scenario"]["duration"]
    )


def of_output(out: engine.Output, gap: float, duration: float) -> Measured:
    """What a run of `duration` seconds in ackclock gave; epochs are at least `gap` seconds apart."""
    series = out.series.with_columns(pl.col("metric").cast(pl.String)).filter(pl.col("value") > 0)
    by_metric = {
        (str(key[0]), str(key[1])): part for key, part in series.partition_by("id", "metric", as_dict=True).items()
    }

    def values(flow: int, metric: str, column: str = "value") -> list[float]:
        part = by_metric.get((str(flow), metric))
        return [] if part is None else part[column].to_list()

    def flow_of(number: int, row: Mapping[str, Any]) -> Flow:
        repairs = sorted(values(number, "recoveries", "time_s") + values(number, "timeouts", "time_s"))
        return Flow(
            goodput_bps=float(row["goodput_bps"]),
            share=1 - row["start_s"] / duration,
            retransmissions=float(row["retransmitted_segments"]),
            mean_rtt_s=_positive_mean(values(number, "srtt")),
            mean_cwnd=_positive_mean(values(number, "cwnd")) / MSS,
            epochs=begins(repairs, gap),
        )

    flows = tuple(flow_of(number, row) for number, row in enumerate(out.flows.iter_rows(named=True)))
    return Measured(flows, float(out.links["mean_queue_packets"][0]))
