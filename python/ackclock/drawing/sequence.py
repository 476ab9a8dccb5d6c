"""Graphs of sequence numbers over time: of a captured connection segment by segment, of many, of simulated flows.

As in S. Ostermann's tcptrace, 1994: segments are strokes from their first byte to their last, below them runs the line
of acknowledgments, above them that of the receiver's window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ackclock.drawing import merging, overlay, passages, quantities
from ackclock.drawing.chart import Chart, Panel, Scale
from ackclock.drawing.passages import AGAIN, Array, Passage, Row
from ackclock.drawing.progress import progress
from ackclock.drawing.remarks import Remark
from ackclock.drawing.request import EVERY
from ackclock.drawing.selection import Selection
from ackclock.drawing.shapes import (
    ACKS,
    CLOSED,
    DATA,
    DUP_ACK,
    DUPLICATE,
    NEEDLESS,
    PROBE,
    REORDERED,
    SACK,
    WINDOW,
    BytesOverTime,
    Stair,
    Strokes,
)
from ackclock.drawing.shapes import AGAIN as CAUSES
from ackclock.errors import InputError
from ackclock.results.manifest import captured
from ackclock.results.result import Result

_ABOVE = 0.04  # of the height, above the highest segment
_SELDOM = 0.03  # of the time: a line that is within the figure for less says nothing
_REMEDY = "analyse the capture again with --events --series"
_NOT_KEPT = Remark("its acknowledgments were not kept", _REMEDY)

Rows = dict[str, Array]


def sequence(selection: Selection) -> Chart:
    """The graph that suits a result. Raises :class:`ackclock.InputError` with what would be right."""
    request = selection.request
    if request.y:
        raise InputError("this kind has its own y axis", "leave --y out, or draw --kind timeseries", key="y")
    if request.start is not None and request.end is not None and request.start >= request.end:
        problem = f"no time is after {request.start:g} s and before {request.end:g} s"
        raise InputError(problem, "give an earlier --from or a later --to", key="from")
    if not captured(selection.result.manifest):
        if request.connection:
            remedy = "leave --connection out; ackclock run --capture and ackclock pcap have them"
            raise InputError("a simulated run has no numbered connections", remedy, key="connection")
        return progress(selection)
    runs = selection.result.runs.filter(pl.col("point").is_in(selection.points))["run"].to_list()
    names = [name for name in request.connection if name != EVERY]
    if names and EVERY in request.connection:
        raise InputError(f"{EVERY} is no connection beside others", "give numbers, or only all", key="connection")
    if names:
        rows = passages.asked(selection.result, runs, names)
        if len(runs) > 1:
            selection.remarks.append(Remark(f"of the first of {len(runs)} captures that has it"))
        return _single(selection, rows[0]) if len(rows) == 1 else overlay.overlay(selection, rows, single=True)
    rows = passages.connections(selection.result, runs)
    if not rows:
        raise InputError(
            "nothing to draw: no connection of TCP carries data in it", "capture where they pass", key="plot"
        )
    if request.connection or len(runs) > 1:
        return overlay.overlay(selection, overlay.acknowledged(rows), single=False)
    if len(rows) > 1:
        chosen = f"connection {rows[0]['connection']}, that with most data of {len(rows)}"
        remedy = f"--connection N shows another, --connection {EVERY} draws all over each other"
        selection.remarks.append(Remark(chosen, remedy))
    return _single(selection, rows[0])


def has_segments(result: Result) -> bool:
    """Whether a result has what happened to each segment."""
    return captured(result.manifest) and passages.lazy(result, "events").select(pl.len()).collect().item() > 0


def said(chart: Chart) -> str:
    """What a graph of captures shows, in a line."""
    (panel,) = chart.panels
    if panel.title:
        return f"sequence numbers over time of {panel.title}"
    names = "; ".join(bundle.label for bundle in panel.sequence.bundles) if panel.sequence else ""
    return f"acknowledged bytes over time since the first packet: {names}"


def _single(selection: Selection, row: Row) -> Chart:
    """A connection, segment by segment."""
    request = selection.request
    passed = Passage(selection.result, row, request.start, request.end)
    if not passed.has_segments and not passed.has_acknowledgments:
        raise InputError("neither its segments nor its acknowledgments were kept", _REMEDY, key="kind")
    if not passed.has_segments:
        selection.remarks.append(Remark("its segments were not kept", _REMEDY))
    if not passed.has_acknowledgments:
        missing = Remark("no acknowledgment of its data passed") if passed.has_series else _NOT_KEPT
        selection.remarks.append(missing)
    acks, kinds = passed.acknowledged(), _kinds(passed)
    found = {label: rows for label, rows in kinds.items() if len(rows["x"])}
    low, high = _heights(list(found.values()), acks)
    if not found and (passed.has_segments or not len(acks[0])):
        lasted = f"it lasted from {row['start_s']:.4g} s to {row['last_s']:.4g} s"
        raise InputError(f"nothing of {row['id']} passed at that time", lasted, key="from")
    times = np.concatenate([*(rows["x"] for rows in found.values()), acks[0]])
    first = float(times.min()) if request.start is None else request.start
    last = float(times.max()) if request.end is None else request.end
    by, label = quantities.Quantity("sequence", "B").scaled([high])
    margin = _ABOVE * (high - low) or 1.0
    frame = Frame(by, last - first, high - low)
    shown = [] if len(acks[0]) == 0 else [frame.stair(ACKS, *acks)]
    window = passed.window()
    if _seen(*window, last, high + margin) > _SELDOM * (last - first):
        shown.append(frame.stair(WINDOW, *window))
    elif len(window[0]):
        selection.remarks.append(Remark("the receiver's window is above what is shown", news=False))
    graph = BytesOverTime(tuple(frame.strokes(name, rows) for name, rows in found.items()), tuple(shown))
    where = f", seen at the {row['vantage']}" if row["vantage"] in ("sender", "receiver") else ""
    where = ", seen on the way" if row["vantage"] == "middle" else where
    panel = Panel(f"{row['id']}: {passages.ends(row)}{where}", sequence=graph)
    aside = 0.02 * (last - first) if request.start is None else 0.0
    time = Scale("time (s)", low=first - aside, high=last + (aside if request.end is None else 0.0))
    height = Scale(label, low=by * (low - margin if low else -margin / 2), high=by * (high + margin))
    return Chart("", time, height, (panel,))


def _kinds(passed: Passage) -> dict[str, Rows]:
    """What passed by what it is called, what lies below other things first."""
    again = {label: passed.kinds(*AGAIN, cause=cause) for cause, label in CAUSES.items()}
    return {
        DATA: passed.kinds("new", "gap"),
        SACK: passed.kinds("sack"),
        DUP_ACK: passed.kinds("dup_ack"),
        DUPLICATE: passed.kinds("duplicate_packet"),
        REORDERED: passed.kinds("reordered"),
        **again,
        NEEDLESS: passed.needless(),
        PROBE: passed.kinds("probe", "keepalive"),
        CLOSED: passed.kinds("zero_window"),
    }


def _seen(x: Array, y: Array, end: float, top: float) -> float:
    """For how long a line is within the figure, s."""
    return float(np.diff(np.append(x, max(end, x[-1])))[y <= top].sum()) if len(x) else 0.0


def _heights(every: Sequence[Rows], acks: tuple[Array, Array]) -> tuple[float, float]:
    """The lowest and the highest byte of what is shown."""
    lows = [float(rows["low"].min()) for rows in every] + [float(each) for each in acks[1][:1]]
    highs = [float(rows["high"].max()) for rows in every] + [float(each) for each in acks[1][-1:]]
    return float(max(min(lows, default=0.0), 0.0)), float(max(highs, default=1.0))


@dataclass(frozen=True, slots=True)
class Frame:
    """What a graph shows: its unit, s and bytes from end to end."""

    by: float
    seconds: float
    bytes: float

    def strokes(self, label: str, rows: Rows) -> Strokes:
        """Segments in the unit of the axis."""
        scaled = {**rows, "low": rows["low"] * self.by, "high": rows["high"] * self.by}
        span = (self.seconds, self.bytes * self.by)
        return merging.strokes(label, scaled, span, marked=label not in (DATA, SACK))

    def stair(self, label: str, x: Any, y: Any) -> Stair:
        """A line in the unit of the axis."""
        return merging.stair(label, np.asarray(x, float), np.asarray(y, float) * self.by)
