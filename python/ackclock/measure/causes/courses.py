"""The tests of a result, cut into steps of a round trip or more: what each connection did in each."""

from __future__ import annotations

import bisect
import itertools
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ackclock.results import live
from ackclock.results.result import Result

COUNTED = frozenset({"connections", "count"})
"""Swept keys that say how many connections there are."""

SHORTEST_S = 0.1
"""A step has at least the time that measurements have between two samples by default."""

MOST_STEPS = 400

COARSE_S = 0.25
"""Between two samples: more of it, and a queue that was there at a loss may be gone in both."""

_SMOOTHED_RTTS = 4
"""Round trips over which the rate of a line is taken."""

_NEEDED = (
    "delivered", "delivered_segments", "bytes_acked", "sacked", "srtt", "cwnd", "sent", "retransmitted", "busy_time",
    "busy", "rwnd_limited", "sndbuf_limited", "delivery_rate_app_limited", "in_flight", "snd_wnd", "pacing_rate",
)  # fmt: skip

Series = tuple[Sequence[float], Sequence[float]]
"""Times and values."""


@dataclass(frozen=True, slots=True)
class Step:
    """One connection in one step; None is what nobody has said.

    rate: bit/s that arrived. inflation: round trip over that of the idle line. window: bytes. lost: bytes sent again.
    idle, receive, buffer: share of the time without data, limited by the receiver's window, by the own buffer.
    starved: whether the sender had less to send than it might have.
    """

    begin: float
    seconds: float
    rate: float
    inflation: float | None
    window: float | None
    sent: float | None
    lost: float | None
    idle: float | None
    receive: float | None
    buffer: float | None
    starved: bool | None


@dataclass(frozen=True, slots=True)
class Course:
    """How a test went: its connections, each with as many steps.

    cpu: the share of a processor's time that the busier end took.
    """

    run: int
    block: int | None
    duration: float
    base_rtt: float | None
    cpu: float | None
    connections: tuple[tuple[Step, ...], ...]
    paced: float | None
    """The rate that each sender was told not to exceed, bit/s."""
    sampled: float = 0.0
    """Seconds between two samples, of the connection that has the fewest."""
    in_order: bool = True
    """Whether rates are of what has arrived in order: then what waits behind a loss comes all at once."""

    @property
    def count(self) -> int:
        """How many connections."""
        return len(self.connections)

    @property
    def rates(self) -> list[float]:
        """What arrived of all together, by step, bit/s."""
        return [sum(step.rate for step in steps) for steps in zip(*self.connections, strict=True)]

    @property
    def smooth(self) -> list[float]:
        """The same, of some round trips around each step."""
        length = self.connections[0][0].seconds
        around = max(0, round(_SMOOTHED_RTTS * (self.base_rtt or length) / length / 2))
        rates = self.rates
        return [statistics.fmean(rates[max(0, at - around) : at + around + 1]) for at in range(len(rates))]

    @property
    def settled(self) -> float:
        """What it has come to in its second half: the median, for what waits behind a loss arrives at once."""
        rates = self.smooth
        return statistics.median(rates[len(rates) // 2 :])

    @property
    def late(self) -> float:
        """The mean rate of its second half."""
        rates = self.rates
        return statistics.fmean(rates[len(rates) // 2 :])

    @property
    def coarse(self) -> bool:
        """Whether samples are too far apart to tell what a round trip was like when something was lost."""
        return self.sampled > max(COARSE_S, self.base_rtt or 0.0)

    @property
    def mean(self) -> float:
        """The same over all of it."""
        return sum(self.rates) / len(self.rates)


@dataclass(frozen=True, slots=True)
class Line:
    """Tests that differ in nothing but the number of connections; `params` is what they have in common."""

    params: Mapping[str, Any]
    tests: tuple[Course, ...]


def lines(result: Result) -> list[Line]:
    """The lines of a result, in the order of its points."""
    others = [name for name in result.params if name not in COUNTED]
    tables = _grouped(result.series)
    flows: dict[int, list[dict[str, Any]]] = {}
    for row in result.flows.iter_rows(named=True):
        flows.setdefault(row["run"], []).append(row)
    found: dict[tuple[Any, ...], list[Course]] = {}
    for row in result.runs.iter_rows(named=True):
        rows = [flow for flow in flows.get(row["run"], []) if flow.get("relay") in (None, "none")]
        point = result.manifest["points"][row["point"]]
        for way, flows_of in live.ways(point).items():
            own = [flow for flow in rows if flows_of is None or flow["id"] in flows_of]
            test = _test(row, own, tables, point)
            if test is not None:
                found.setdefault((*(row[name] for name in others), way), []).append(test)
    names = [*others, WAY]
    return [
        Line(
            {name: value for name, value in zip(names, key, strict=True) if (name, value) != (WAY, None)}, tuple(tests)
        )
        for key, tests in found.items()
    ]


WAY = "way"
"""Of a measurement in both directions at a time: which of them. They are two lines, each with a rate of its own."""


def _grouped(series: pl.DataFrame) -> dict[tuple[int, str], dict[str, Series]]:
    """Times and values of what is needed, by run and flow."""
    if series.is_empty():
        return {}
    table = (
        series.filter((pl.col("kind") == "flow") & pl.col("metric").cast(pl.String).is_in(_NEEDED))
        .sort("time_s", maintain_order=True)
        .group_by("run", "id", "metric", maintain_order=True)
        .agg("time_s", "value")
    )
    found: dict[tuple[int, str], dict[str, Series]] = {}
    for run, name, metric, times, values in table.iter_rows():
        found.setdefault((run, name), {})[str(metric)] = (times, values)
    return found


def _test(
    row: Mapping[str, Any],
    flows: Sequence[Mapping[str, Any]],
    tables: Mapping[tuple[int, str], Mapping[str, Series]],
    point: Mapping[str, Any],
) -> Course | None:
    """A test, if something is known of how it went."""
    own = [(flow, tables.get((row["run"], flow["id"]), {})) for flow in flows]
    if not own or not all("delivered" in series or "delivered_segments" in series for _, series in own):
        return None
    least = [value for flow, _ in own for name in ("path_rtt_s", "min_rtt_s") if (value := flow.get(name))]
    base = min(least) if least else None
    begin, end = row["warmup_s"], row["duration_s"]
    gaps = [gap for _, series in own for gap in [_gap(series)] if gap]
    length = max(SHORTEST_S, base or 0.0, *gaps, (end - begin) / MOST_STEPS)
    count = max(2, int((end - begin) / length))
    edges = [begin + (end - begin) * at / count for at in range(count + 1)]
    mss = [flow["mss"] for flow in point["resolved"]["flows"]]
    sizes = [_Segment.of(flow, mss[min(number, len(mss) - 1)]) for number, (flow, _) in enumerate(own)]
    steps = tuple(tuple(_steps(series, edges, base, size)) for (_, series), size in zip(own, sizes, strict=True))
    times = [row.get(name) for name in ("client_cpu_s", "server_cpu_s")]
    cpu = max((time / (end or 1.0) for time in times if time is not None), default=None)
    paced = ((point["resolved"].get("live") or {}).get("options") or {}).get("pacing")
    in_order = not all(_segments(series, size) for (_, series), size in zip(own, sizes, strict=True))
    sampled = max(gaps, default=0.0)
    return Course(row["run"], row.get("block"), end - begin, base, cpu, steps, paced, sampled, in_order)


@dataclass(frozen=True, slots=True)
class _Segment:
    """Bytes of a segment of a connection: of a full one, and in the mean of those that were sent."""

    full: float
    mean: float

    @classmethod
    def of(cls, flow: Mapping[str, Any], mss: int) -> _Segment:
        """Those of a flow. They are not full where a sender is paced, or interfaces take large ones."""
        sent, segments = flow.get("sent_bytes"), flow.get("sent_segments")
        return cls(mss, min(mss, sent / segments) if sent and segments else mss)


def _segments(series: Mapping[str, Series], size: _Segment) -> Series | None:
    """The kernel's count of segments has those that came beyond a gap, too: it does not stop at losses."""
    return series.get("delivered_segments") if size.full > 1 else None


def _arrived(series: Mapping[str, Series], edges: Sequence[float], size: _Segment) -> list[float]:
    """Bytes that had arrived at these times, with those beyond a gap if the kernel tells of them."""
    segments = _segments(series, size)
    if segments is None:
        return _at(series["delivered"], edges)
    acked, beyond = series.get("bytes_acked"), series.get("sacked")
    if acked is None or beyond is None:
        return [size.mean * count for count in _at(segments, edges)]
    # A paced sender's segments grow during a test, so that a mean over all of it would be too large for its beginning
    # and too small for its end. Up to a gap the kernel counts bytes; only of what lies beyond it, segments.
    share = size.mean / size.full
    found = (low + share * more for low, more in zip(_at(acked, edges), _at(beyond, edges), strict=True))
    return list(itertools.accumulate(found, max))


def _gap(series: Mapping[str, Series]) -> float | None:
    """Between two samples of what arrived: a step has one at least."""
    times, _ = series.get("delivered") or series["delivered_segments"]
    return (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else None


def _steps(series: Mapping[str, Series], edges: Sequence[float], base: float | None, size: _Segment) -> Iterator[Step]:
    """The steps of a connection."""
    arrived = _arrived(series, edges, size)
    counted = {
        name: _at(series[name], edges)
        for name in ("sent", "retransmitted", "rwnd_limited", "sndbuf_limited")
        if name in series
    }
    if (busy := series.get("busy_time") or series.get("busy")) is not None:
        counted["busy"] = _at(busy, edges)
    for at, (begin, end) in enumerate(itertools.pairwise(edges)):
        seconds = end - begin
        more = {name: max(0.0, values[at + 1] - values[at]) for name, values in counted.items()}
        srtt = _mean(series.get("srtt"), begin, end)
        starved = _mean(series.get("delivery_rate_app_limited"), begin, end)
        yield Step(
            begin=begin,
            seconds=seconds,
            rate=8 * max(0.0, arrived[at + 1] - arrived[at]) / seconds,
            inflation=srtt / base if srtt and base else None,
            window=_mean(series.get("cwnd"), begin, end),
            sent=more.get("sent"),
            lost=more.get("retransmitted"),
            idle=max(0.0, 1 - more["busy"] / seconds) if "busy" in more else None,
            receive=_receive(series, begin, end, more.get("rwnd_limited")),
            buffer=_share(more.get("sndbuf_limited"), seconds),
            starved=None if starved is None else starved > 0.5,
        )


_OFFERED = 0.85
"""The share of the receiver's window under way from which on it is full."""
_WIDER = 1.1
"""A congestion window larger than that by this factor does not hold back what the receiver's does."""


def _receive(series: Mapping[str, Series], begin: float, end: float, limited: float | None) -> float | None:
    """The share of a step in which the receiver's window held the sender back.

    Kernels count less of it than there is: with segments of many packets they wait for another reason in between. So a
    window that is full, while the congestion window has room, counts as well.
    """
    counted = _share(limited, end - begin)
    window, offered, under_way = (_mean(series.get(name), begin, end) for name in ("cwnd", "snd_wnd", "in_flight"))
    if window is None or not offered or under_way is None:
        return counted
    full = under_way >= _OFFERED * offered and window >= _WIDER * under_way
    return max(counted or 0.0, float(full))


def _share(part: float | None, whole: float) -> float | None:
    return None if part is None else min(1.0, part / whole)


def _at(series: Series, edges: Sequence[float]) -> list[float]:
    """A count at these times, between samples in a straight line; 0 at 0."""
    times, values = series
    found = []
    for edge in edges:
        place = bisect.bisect_right(times, edge)
        if place == len(times):
            found.append(values[-1])
            continue
        before, low = (times[place - 1], values[place - 1]) if place else (min(0.0, times[0]), 0.0)
        span = times[place] - before
        share = (edge - before) / span if span > 0 and not math.isinf(span) else 1.0
        found.append(low + (values[place] - low) * min(1.0, max(0.0, share)))
    return found


def _mean(series: Series | None, begin: float, end: float) -> float | None:
    """Of the samples of a step; where there are none, the last one before."""
    if series is None:
        return None
    times, values = series
    first, last = bisect.bisect_right(times, begin), bisect.bisect_right(times, end)
    if first == last:
        return values[first - 1] if first else None
    return sum(values[first:last]) / (last - first)
