"""Figures of a run over time: windows, queues and rates in rows, and shares of the goodput."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock.drawing import quantities, traces, users
from ackclock.drawing.chart import Chart, Curve, Panel, Scale, Straight
from ackclock.drawing.remarks import Remark
from ackclock.drawing.selection import Selection
from ackclock.drawing.style import NEUTRAL_LOOK
from ackclock.drawing.traces import GOODPUT, ROWS, Row, Trace
from ackclock.errors import InputError, unknown
from ackclock.results.manifest import captured
from ackclock.results.result import Result
from ackclock.series import CAPTURED, LINK, OVERVIEW_OF_CELL, SERIES
from ackclock.stats import jain

SHOWN = (*SERIES, *CAPTURED, GOODPUT)
"""What a row may show: the series of [probes] and of captures, and the goodput that `delivered` says."""

Array = np.ndarray[Any, Any]

_COLUMNS = 3  # points beside each other
_EACH = 4  # so many flows of a group are drawn one by one; of more their mean and range
_BINS = 60
_BEYOND = 1.02  # of the rate of the link: more is not the edge of a bin
_UNITS = {
    "cwnd": ("cwnd", "segments"), "ssthresh": ("ssthresh", "segments"), "srtt": ("smoothed RTT", "s"),
    "in_flight": ("in flight", "segments"), "delivered": ("delivered", "B"), "sent": ("sent", "B"),
    "retransmitted": ("retransmitted", "B"), "recoveries": ("recoveries", ""), "timeouts": ("timeouts", ""),
    "min_rtt": ("smallest RTT", "s"), "lost": ("lost", "segments"), "delivery_rate": ("delivery rate", "bit/s"),
    "ca_state": ("state of the sender", ""), "busy": ("busy", "s"), "rwnd_limited": ("limited by the receiver", "s"),
    "sndbuf_limited": ("limited by the send buffer", "s"), "unacked": ("not acknowledged", "segments"),
    "acknowledged": ("acknowledged", "B"),
    "pacing_rate": ("pacing rate", "bit/s"), "queue": ("queue", "packets"), "queue_bytes": ("queue", "B"),
    "link_sent": ("sent by the link", "B"), "drops": ("drops", "packets"), GOODPUT: ("goodput", "bit/s"),
    "rho_rb": ("resource blocks used", ""), "rho_tti": ("TTIs used", ""), "up_rho_rb": ("resource blocks used, up", ""),
    "user_rate": ("rate of a user", "bit/s"), "user_up_rate": ("rate of a user, up", "bit/s"),
    "user_rb_share": ("share of resource blocks", ""), "user_queue_age": ("age in the queue", "s"),
    "user_queue_bytes": ("queue of a user", "B"), "user_sinr": ("SNR", "dB"),
    "pipe": ("in flight without SACKed", "B"), "rwnd": ("receiver's window", "B"), "rtt": ("RTT", "s"),
    "rtt_ts": ("RTT by timestamps", "s"), "cwnd_estimate": ("estimated cwnd", "B"),
}  # fmt: skip
_KEEP = "analyse the captures again with --series"
_COUNTERS = frozenset({"delivered", "sent", "retransmitted", "link_sent"})


def recorded(result: Result) -> list[str]:
    """What rows the series of a result have."""
    names = set(result.series["metric"].unique().cast(str).to_list()) if result.series.height else set()
    return [name for name in SHOWN if name in names or (name == GOODPUT and "delivered" in names)]


def said(name: str) -> str:
    """What a series is, with its unit: ``rate of a user, bit/s``."""
    return ", ".join(part for part in _UNITS[name] if part)


def needed(selection: Selection, *names: str, key: str = "y") -> None:
    """Refuse what was not recorded, with what to set. `key` is the option that asks for it."""
    there = recorded(selection.result)
    for name in names:
        if name not in SHOWN:
            problem = unknown("series", name, SHOWN)
            raise InputError(problem.problem, problem.remedy, key="y")
        if name not in there:
            probe = "delivered" if name == GOODPUT else name
            mean = "; goodput_bps is the mean over the run" if name == GOODPUT and key == "y" else ""
            if captured(selection.result.manifest):
                raise _not_of_captures(probe, mean, there, key)
            raise InputError(f"the series '{probe}' was not recorded", remedy(probe) + mean, key=key)


def remedy(*probes: str) -> str:
    """What to set, so that probes record a series."""
    settings = " ".join(f"--set 'probes.{probe}=\"50 ms\"'" for probe in probes)
    return f'run it again with {settings}, or [probes] interval = "50 ms"'


def _not_of_captures(name: str, mean: str, there: Sequence[str], key: str) -> InputError:
    """A capture knows some series alone, and has them where they were kept."""
    if there and name not in there:
        return InputError(f"no capture tells '{name}'", f"it has {', '.join(there)}{mean}", key=key)
    return InputError(f"the series '{name}' was not kept", _KEEP + mean, key=key)


def shown_points(selection: Selection) -> list[tuple[str, int]]:
    """The points that are shown, with their titles: a few beside each other."""
    keys = selection.varying()
    shown = selection.points[:_COLUMNS]
    if len(selection.points) > _COLUMNS:
        count = len(selection.points)
        words = f"the first {_COLUMNS} of {count} points"
        selection.remarks.append(Remark(words, "--where KEY=VALUE shows others"))
    if selection.replications > 1:
        selection.remarks.append(Remark(f"the first of {selection.repeats}"))
    return [(", ".join(key.says(key.texts[point]) for key in keys), point) for point in shown]


def timeseries(selection: Selection) -> Chart:
    """Rows of series over time, a column for each point."""
    there = recorded(selection.result)
    asked = selection.request.y
    rows = asked or usual(there) or tuple(there)
    if not rows:
        if captured(selection.result.manifest):
            raise InputError("no series were kept", _KEEP, key="kind")
        raise InputError("no series were recorded", remedy("cwnd", "queue", "delivered"), key="kind")
    needed(selection, *rows)
    points = shown_points(selection)
    only = _only(selection, [point for _, point in points])
    found = [
        Column(title, {name: traces.of_point(selection.result, point, name, only=only) for name in rows})
        for title, point in points
    ]
    limits = [(row.limit, row.traces) for column in found for name, row in column.rows.items() if name == GOODPUT]
    if any(limit and np.nanmax(each.value, initial=0.0) > _BEYOND * limit for limit, own in limits for each in own):
        words = "goodput above the link rate: a hole was filled, and what waited behind it delivered at once"
        selection.remarks.append(Remark(words, news=False))
    return chart(found, rows)


def usual(there: Collection[str]) -> tuple[str, ...]:
    """The rows that are drawn unless others are asked for, of the series that are there.

    Where users of a cell have queues, that of the link before the base station says nothing.
    """
    rows = (*ROWS, *OVERVIEW_OF_CELL)
    return tuple(name for name in rows if name in there and not (name == "queue" and "user_queue_age" in there))


def _only(selection: Selection, points: Sequence[int]) -> tuple[int, ...]:
    """The users that were asked for, if any were."""
    for point in points:
        there = set(users.of_flows(selection.result.resolved(point)).values())
        users.known(selection.request.user, there)
    if selection.request.user:
        selection.remarks.append(Remark(users.named(selection.request.user), news=False))
    return selection.request.user


@dataclass(frozen=True, slots=True)
class Column:
    """A point: its title, and its rows by their names."""

    title: str
    rows: Mapping[str, Row]


def chart(found: Sequence[Column], rows: Sequence[str]) -> Chart:
    """Rows of series over time, a column for each point. A line keeps its look where the number of its flow changes."""
    looks: dict[str, str] = {}
    names = _names(found)
    panels: list[Panel] = []
    end = max((row.duration for column in found for row in column.rows.values()), default=0.0)
    for index, name in enumerate(rows):
        own = [column.rows[name] for column in found]
        values = [
            float(np.nanmax(trace.value)) for row in own for trace in row.traces if np.isfinite(trace.value).any()
        ]
        by, label = quantities.Quantity(*_UNITS[name]).scaled(values)
        for column, row in zip(found, own, strict=True):
            drawn = _curves(row.traces, by, names, looks, steps=name in LINK)
            what = "link rate" if name == GOODPUT else "queue limit"
            limit = () if row.limit is None else (Straight(what, y=row.limit * by),)
            scale = Scale(label, low=0.0)
            panels.append(Panel(column.title if index == 0 else "", drawn, limit, y=scale, before=row.warmup))
    return Chart("", Scale("time (s)", low=0.0, high=end), Scale(""), tuple(panels), looks, across=len(found))


_Place = tuple[str, str, int]
"""A line: controller, label of the group, and the place of its flow in it, or :data:`_MANY`."""
_MANY = -1


def _names(found: Sequence[Column]) -> dict[_Place, str]:
    """What each line is called in all columns: with the numbers of its flow or user where its group has several."""
    flows: dict[_Place, dict[str, None]] = {}
    many: dict[tuple[str, str], set[int]] = {}
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for column in found:
        for row in column.rows.values():
            for (cc, label), members in _groups(row.traces).items():
                most = counts.setdefault((cc, label), {})
                most[members[0].of] = max(most.get(members[0].of, 0), len(members))
                if len(members) > _EACH:
                    flows.setdefault((cc, label, _MANY), {})
                    many.setdefault((cc, label), set()).add(len(members))
                    continue
                for rank, trace in enumerate(members):
                    flows.setdefault((cc, label, rank), {})[trace.name] = None
    names = {}
    for (cc, label, rank), ids in flows.items():
        most = counts[cc, label]
        # A user has a line in one row and its flow in another: both are the user where there are as many of each.
        what = "user" if most.get("user") == most.get("flow", most.get("user")) else "flow"
        if rank == _MANY:
            least, largest = min(many[cc, label]), max(many[cc, label])
            count = f"{largest}" if least == largest else f"{least} to {largest}"
            names[cc, label, rank] = f"{label}, mean and range of {count} {what}s"
        elif max(most.values()) == 1:
            names[cc, label, rank] = label
        else:
            names[cc, label, rank] = f"{label}, {what} {' or '.join(ids)}"
    return names


def _groups(found: Sequence[Trace]) -> dict[tuple[str, str], list[Trace]]:
    parts: dict[tuple[str, str], list[Trace]] = {}
    for trace in found:
        parts.setdefault((trace.cc, trace.label), []).append(trace)
    return parts


def _curves(
    found: Sequence[Trace], by: float, names: Mapping[_Place, str], looks: dict[str, str], *, steps: bool
) -> tuple[Curve, ...]:
    """Flow by flow, or the mean and range of many flows of a group."""
    curves = []
    for (cc, label), members in _groups(found).items():
        link = not cc and not label  # it has no name: the axis says what it is
        if len(members) > _EACH:
            name = names[cc, label, _MANY]
            looks[name] = cc
            time, mean, low, high = traces.together(members)
            curves.append(Curve(name, _tuple(time), _tuple(mean * by), _tuple(low * by), _tuple(high * by)))
            continue
        for rank, trace in enumerate(members):
            name = names[cc, label, rank]
            looks[name] = NEUTRAL_LOOK if link else cc
            curves.append(Curve(name, _tuple(trace.time), _tuple(trace.value * by), steps=steps, bare=link))
    return tuple(curves)


def _tuple(values: Array) -> tuple[float, ...]:
    return tuple(np.asarray(values, dtype=float).tolist())


def _without_y(selection: Selection) -> None:
    if selection.request.y:
        raise InputError("this kind has its own y axis", "leave --y out, or draw --kind timeseries", key="y")


def share(selection: Selection) -> Chart:
    """What part of the goodput each flow has, stacked, and below it Jain's index of those that are there."""
    _without_y(selection)
    needed(selection, GOODPUT, key="kind")
    panels: list[Panel] = []
    below: list[Panel] = []
    looks: dict[str, str] = {}
    points = shown_points(selection)
    end = 0.0
    for title, point in points:
        each = traces.of_point(selection.result, point, GOODPUT, bins=_BINS)
        end = max(end, each.duration)
        stacked, fair = _stacked(each.traces, looks)
        panels.append(Panel(title, stacked, y=Scale("share of goodput", low=0.0, high=1.0), before=0.0))
        below.append(Panel("", (fair,) if fair.x else (), y=Scale("Jain's index", low=0.0, high=1.05)))
    looks[""] = NEUTRAL_LOOK
    time = Scale("time (s)", low=0.0, high=end)
    return Chart("", time, Scale(""), (*panels, *below), looks, across=len(points))


def convergence(selection: Selection) -> Chart:
    """The goodput of each flow over time, as after a join, and below it Jain's index of the flows that are there."""
    _without_y(selection)
    needed(selection, GOODPUT, key="kind")
    looks: dict[str, str] = {}
    points = shown_points(selection)
    found = [
        Column(title, {GOODPUT: traces.of_point(selection.result, point, GOODPUT, bins=_BINS)})
        for title, point in points
    ]
    rows = [column.rows[GOODPUT] for column in found]
    values = [float(np.nanmax(each.value)) for row in rows for each in row.traces if np.isfinite(each.value).any()]
    by, label = quantities.Quantity(*_UNITS[GOODPUT]).scaled(values)
    names = _names(found)
    panels = [
        Panel(column.title, _curves(row.traces, by, names, looks, steps=False), y=Scale(label, low=0.0))
        for column, row in zip(found, rows, strict=True)
    ]
    fair = [_stacked(row.traces, {})[1] for row in rows]
    index = Scale("Jain's index", low=0.0, high=1.05)
    panels += [Panel("", (line,) if line.x else (), y=index) for line in fair]
    looks[""] = NEUTRAL_LOOK
    time = Scale("time (s)", low=0.0, high=max((row.duration for row in rows), default=0.0))
    return Chart("", time, Scale(""), tuple(panels), looks, across=len(points))


def _stacked(found: Sequence[Trace], looks: dict[str, str]) -> tuple[tuple[Curve, ...], Curve]:
    """Flows on top of each other; those of a group as one where there are many."""
    if not found:
        return (), Curve("", (), ())
    grid = max((trace.time for trace in found), key=len)
    rates = [_on(grid, trace) for trace in found]
    total = np.sum([np.nan_to_num(rate) for rate in rates], axis=0)
    index = [
        jain([float(r[at]) for r in rates if np.isfinite(r[at])]) if total[at] > 0 else None for at in range(len(grid))
    ]
    fair = [(float(at), value) for at, value in zip(grid, index, strict=True) if value is not None]
    parts: dict[str, Array] = {}
    count = {label: sum(trace.label == label for trace in found) for label in {trace.label for trace in found}}
    for trace, rate in zip(found, rates, strict=True):
        many = count[trace.label] > _EACH
        name = f"{trace.label}, {count[trace.label]} flows" if many else f"{trace.label}, flow {trace.id}"
        name = trace.label if count[trace.label] == 1 else name
        looks[name] = trace.cc
        parts[name] = parts.get(name, np.zeros(len(grid))) + np.nan_to_num(rate)
    low = np.zeros(len(grid))
    curves = []
    for name, rate in parts.items():
        own = np.divide(rate, total, out=np.zeros(len(grid)), where=total > 0)
        curves.append(Curve(name, _tuple(grid), _tuple(own), _tuple(low), _tuple(low + own), area=True))
        low = low + own
    line = Curve("", tuple(at for at, _ in fair), tuple(value for _, value in fair), bare=True)
    return tuple(curves), line


def _on(grid: Array, trace: Trace) -> Array:
    """A rate at the bins of all; not a number where the flow does not live."""
    at = dict(zip(np.round(trace.time, 9).tolist(), trace.value.tolist(), strict=True))
    return np.array([at.get(time, np.nan) for time in np.round(grid, 9).tolist()])
