"""From the series of a result to lines that can be drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from ackclock.drawing.ticks import nice
from ackclock.metrics.capacity import bottleneck, rate_of
from ackclock.results import groups
from ackclock.results.result import Result

_MOST = 3000  # points per line; more cannot be seen and make the vector file heavy


@dataclass(frozen=True, slots=True)
class Trace:
    """A line over time, of one flow or of a link.

    `label` is what the flows of its group are called, and `cc` their controller, "none" of sources of packets; both
    are empty of a link.
    """

    id: str
    label: str
    cc: str
    time: np.ndarray[Any, Any]
    value: np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Panel:
    """What one column of a figure shows: the first replication of a point."""

    title: str
    duration: float
    warmup: float
    rate_mbit: float | None
    queue_limit: int | None
    cwnd: tuple[Trace, ...]
    queue: tuple[Trace, ...]
    goodput: tuple[Trace, ...]


def panel(result: Result, point: int) -> Panel | None:
    """The lines of a point's first finished replication; ``None`` if it has no finished run."""
    rows = result.runs.filter(pl.col("point") == point).head(1)
    if rows.is_empty():
        return None
    run = rows.row(0, named=True)
    resolved = result.resolved(point)
    series = result.series.filter(pl.col("run") == run["run"])
    flows = result.flows.filter(pl.col("run") == run["run"])
    names = _names(result, point, flows)
    life = {name: (start, end) for name, start, end in flows.select("id", "start_s", "end_s").iter_rows()}
    mss = {flow["id"]: flow["mss"] for flow in resolved["flows"]}
    slowest = bottleneck(resolved)
    link = next((item for item in resolved["links"] if item["id"] == slowest), None)
    steady = link is not None and not (link.get("schedule") or link.get("trace"))  # a mean is no line to draw
    rate = rate_of(link, resolved["duration_ns"]) if link is not None and steady else None
    cwnd = _of(series, "flow", "cwnd", names)
    queues = _of(series, "link", "queue", {link["id"]: ("", "")}) if link else []
    return Panel(
        title="\n".join(f"{key.rpartition('.')[2]} = {run[key]}" for key in result.params),
        duration=run["duration_s"],
        warmup=run["warmup_s"],
        rate_mbit=None if rate is None else rate / 1e6,
        queue_limit=link["queue"]["limit_packets"] if link and link["queue"] else None,
        cwnd=tuple(_thin(_alive(_scaled(item, 1 / mss[item.id]), *life[item.id])) for item in cwnd),
        queue=tuple(_thin(item) for item in queues),
        goodput=tuple(
            _alive(_rate(item, run["duration_s"]), *life[item.id]) for item in _of(series, "flow", "delivered", names)
        ),
    )


def _names(result: Result, point: int, flows: pl.DataFrame) -> dict[str, tuple[str, str]]:
    """The label and the controller of each flow. A swept controller is called as the sweep calls it."""
    entry = next(item for item in result.manifest["points"] if item["point"] == point)
    labels = {str(number): group.label for group in groups.recorded(entry) for number in group.flows}
    rows = flows.select("id", "cc", pl.col("lost_packets").is_not_null()).iter_rows()
    return {name: (labels[name], "none" if datagrams else cc) for name, cc, datagrams in rows}


def _of(series: pl.DataFrame, kind: str, metric: str, names: dict[str, tuple[str, str]]) -> list[Trace]:
    chosen = series.filter((pl.col("kind") == kind) & (pl.col("metric") == metric))
    parts = chosen.partition_by("id", as_dict=True, maintain_order=True)
    return [
        Trace(name, label, cc, parts[(name,)]["time_s"].to_numpy(), parts[(name,)]["value"].to_numpy())
        for name, (label, cc) in names.items()
        if (name,) in parts
    ]


def _scaled(trace: Trace, factor: float) -> Trace:
    return replace(trace, value=trace.value * factor)


def _alive(trace: Trace, start: float, end: float | None) -> Trace:
    """The part of a trace in which its flow lived: what a finished flow leaves behind says nothing."""
    kept = (trace.time >= start) & (trace.time <= (end if end is not None else np.inf))
    return replace(trace, time=trace.time[kept], value=trace.value[kept])


def _rate(trace: Trace, duration: float) -> Trace:
    """The rate of a counter, in Mbit/s over bins of about a 120th of the run."""
    spacing = float(np.median(np.diff(trace.time))) if len(trace.time) > 1 else 0.0
    width = nice(max(duration / 120, spacing) * 1e9) / 1e9
    edges = np.arange(0.0, duration + width / 2, width)
    # A counter holds its value until the next sample.
    at = np.searchsorted(trace.time, edges + 1e-9, side="right") - 1
    counted = np.where(at >= 0, trace.value[np.maximum(at, 0)], 0.0)
    return replace(trace, time=edges[:-1] + width / 2, value=np.diff(counted) * 8e-6 / width)


def _thin(trace: Trace) -> Trace:
    """At most so many points, keeping the lowest and the highest of each stretch."""
    count = len(trace.time)
    if count <= _MOST:
        return trace
    keep = {0, count - 1}
    for stretch in np.array_split(np.arange(count), _MOST // 2):
        values = trace.value[stretch]
        keep.update((int(stretch[values.argmin()]), int(stretch[values.argmax()])))
    index = np.array(sorted(keep))
    return replace(trace, time=trace.time[index], value=trace.value[index])
