"""From the series of a result to lines that can be drawn."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from ackclock.drawing import users
from ackclock.drawing.ticks import nice
from ackclock.metrics.capacity import bottleneck, rate_of
from ackclock.results import groups
from ackclock.results.manifest import captured
from ackclock.results.result import Result

_LARGEST = 4  # connections of a capture that are drawn
_MOST = 3000  # points per line; more cannot be seen and make the vector file heavy


@dataclass(frozen=True, slots=True)
class Trace:
    """A line over time, of one flow, of a link, or of a cell or one of its users.

    `label` is what the flows of its group are called, and `cc` their controller, "none" of sources of packets; both
    are empty of a link and of a cell; a user has those of its first flow.
    """

    id: str
    label: str
    cc: str
    time: np.ndarray[Any, Any]
    value: np.ndarray[Any, Any]
    of: str = "flow"
    """What it is of, as a reader calls it: a flow or a user."""

    @property
    def name(self) -> str:
        """Its number as a reader calls it: that of user 3 of a cell is 3."""
        return self.id.rpartition(".")[2] if self.of == "user" else self.id


GOODPUT = "goodput"
ROWS = ("cwnd", "queue", GOODPUT)
"""What the overview shows."""
_IN_SEGMENTS = frozenset({"cwnd", "ssthresh", "in_flight", "unacked", "lost"})


@dataclass(frozen=True, slots=True)
class Row:
    """A series of the first replication of a point: in segments where it is of a window, goodput in bit/s.

    `limit` is the size of the queue in packets, or the rate of the link in bit/s, where the series has one.
    """

    duration: float
    warmup: float
    traces: tuple[Trace, ...]
    limit: float | None = None


def of_point(result: Result, point: int, name: str, bins: int = 120, only: Collection[int] = ()) -> Row:
    """A series of a point that has a finished run, or the goodput in about so many bins.

    `only`: of these users alone, where it is not of a link or a whole cell.
    """
    run = result.runs.filter(pl.col("point") == point).row(0, named=True)
    metric = "delivered" if name == GOODPUT else name
    kept = (pl.col("run") == run["run"]) & (pl.col("metric").cast(pl.String) == metric)
    series = result.series.filter(kept)
    flows = result.flows.filter(pl.col("run") == run["run"])
    resolved = result.resolved(point)
    if only:
        theirs = [flow for flow, user in users.of_flows(resolved).items() if user in only]
        flows = flows.filter(pl.col("id").is_in(theirs))
    link = _bottleneck(resolved)
    if series.height and str(series["kind"][0]) == "link":
        found = _of(series, "link", metric, {link["id"]: ("", "")}) if link else []
        limit = link["queue"]["limit_packets"] if link and link["queue"] and name == "queue" else None
        return Row(run["duration_s"], run["warmup_s"], tuple(_thin(item) for item in found), limit)
    if series.height and str(series["kind"][0]) in ("cell", "user"):
        kind = str(series["kind"][0])
        owners = {cell["id"]: ("", "") for cell in resolved["cells"]} | _users(resolved, _names(result, point, flows))
        found = [replace(item, of=kind) for item in _of(series, kind, metric, owners)]
        return Row(run["duration_s"], run["warmup_s"], tuple(_thin(item) for item in found))
    life = {flow: (start, end) for flow, start, end in flows.select("id", "start_s", "end_s").iter_rows()}
    mss = _segment_sizes(result, resolved, flows)
    made = []
    for item in _of(series, "flow", metric, _names(result, point, flows)):
        if name == GOODPUT:
            own = _scaled(_rate(item, run["duration_s"], bins), 1e6)
        else:
            own = _scaled(item, 1 / mss[item.id]) if name in _IN_SEGMENTS else item
            own = _thin(replace(own, value=np.where(np.isfinite(own.value), own.value, np.nan)))
        made.append(_alive(own, *life[item.id]))
    rate = _steady_rate(link, resolved) if name == GOODPUT else None
    return Row(run["duration_s"], run["warmup_s"], tuple(made), rate)


def together(members: Sequence[Trace]) -> tuple[np.ndarray[Any, Any], ...]:
    """The times of many traces, and at each their mean, lowest and highest value."""
    time = np.unique(np.concatenate([trace.time for trace in members]))
    values = np.ma.masked_invalid(np.vstack([at(trace, time) for trace in members]))
    return time, *(np.ma.filled(each, np.nan) for each in (values.mean(axis=0), values.min(axis=0), values.max(axis=0)))


def at(trace: Trace, time: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The values of a trace at other times; not a number before it begins and after it ends."""
    if not len(trace.time):
        return np.full(len(time), np.nan)
    index = np.searchsorted(trace.time, time, side="right") - 1
    inside = (index >= 0) & (time <= trace.time[-1])
    return np.where(inside, trace.value[np.maximum(index, 0)], np.nan)


def _bottleneck(resolved: dict[str, Any]) -> dict[str, Any] | None:
    slowest = bottleneck(resolved)
    return next((item for item in resolved["links"] if item["id"] == slowest), None)


def _steady_rate(link: dict[str, Any] | None, resolved: dict[str, Any]) -> float | None:
    """The rate of a link, bit/s; a mean of one that varies is no line, and before a cell no link is the limit."""
    steady = link is not None and not (link.get("schedule") or link.get("trace") or resolved.get("cells"))
    return rate_of(link, resolved["duration_ns"]) if link is not None and steady else None


def _names(result: Result, point: int, flows: pl.DataFrame) -> dict[str, tuple[str, str]]:
    """The label and the controller of each flow. A swept controller is called as the sweep calls it."""
    entry = next(item for item in result.manifest["points"] if item["point"] == point)
    if captured(result.manifest):
        largest = flows.filter(pl.col("main")).sort("goodput_bytes", "id", descending=[True, False]).head(_LARGEST)
        return {name: (groups.recorded(entry)[0].label, "unknown") for name in largest["id"]}
    labels = {str(number): group.label for group in groups.recorded(entry) for number in group.flows}
    rows = flows.select("id", "cc", pl.col("lost_packets").is_not_null()).iter_rows()
    return {name: (labels[name], "none" if datagrams else cc) for name, cc, datagrams in rows}


def _segment_sizes(result: Result, resolved: dict[str, Any], flows: pl.DataFrame) -> dict[str, int]:
    """The largest payload of a segment of each flow, B."""
    if captured(result.manifest):
        return dict(flows.select("id", "mss").iter_rows())
    return {flow["id"]: flow["mss"] for flow in resolved["flows"]}


def _users(resolved: dict[str, Any], flows: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """The label and the controller of each user of a cell: those of its first flow."""
    found: dict[str, tuple[str, str]] = {}
    for flow, (cell, user) in users.places(resolved).items():
        if flow in flows:
            found.setdefault(f"{cell}.{user}", flows[flow])
    return found


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


def _rate(trace: Trace, duration: float, bins: int = 120) -> Trace:
    """The rate of a counter, in Mbit/s over bins of about a 120th of the run, or of another part of it."""
    spacing = float(np.median(np.diff(trace.time))) if len(trace.time) > 1 else 0.0
    width = nice(max(duration / bins, spacing) * 1e9) / 1e9
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
