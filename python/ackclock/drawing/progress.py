"""The graph of sequence numbers of simulated flows: what was sent and what had arrived, as the probes saw it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ackclock.drawing import overtime, quantities, traces
from ackclock.drawing.chart import Chart, Curve, Panel, Scale
from ackclock.drawing.remarks import Remark
from ackclock.drawing.selection import Selection
from ackclock.drawing.shapes import ACKS, DATA, BytesOverTime, Stair
from ackclock.drawing.traces import Trace
from ackclock.errors import InputError
from ackclock.results.legs import wholes

_EACH = 4  # flows that can be told apart
_LINES = {"sent": DATA, "delivered": ACKS}


def progress(selection: Selection) -> Chart:
    """Bytes sent and delivered over time; what lies between two lines of a flow is in flight or lost.

    Where `retransmitted` was recorded, what was sent again counts once, so that the upper line is the highest byte.
    """
    there = [name for name in _LINES if name in overtime.recorded(selection.result)]
    if not there:
        raise InputError(
            "neither 'sent' nor 'delivered' was recorded", overtime.remedy("sent", "delivered"), key="kind"
        )
    if len(there) == 1:
        missing = next(name for name in _LINES if name not in there)
        selection.remarks.append(Remark(f"'{missing}' was not recorded", overtime.remedy(missing)))
    looks: dict[str, str] = {}
    points = overtime.shown_points(selection)
    drawn, end = [], 0.0
    for title, point in points:
        found = {name: traces.of_point(selection.result, point, name) for name in there}
        end = max(end, *(row.duration for row in found.values()))
        lines = {name: _some(row.traces) for name, row in found.items()}
        if "sent" in lines:
            lines["sent"] = _once(lines["sent"], traces.of_point(selection.result, point, "retransmitted").traces)
        shown = {name: [_within(trace, selection) for trace in own] for name, own in lines.items()}
        drawn.append((title, shown))
    flows = max(len(wholes(selection.result.resolved(point))) for _, point in points)
    if flows > _EACH:
        selection.remarks.append(Remark(f"{_EACH} of {flows} flows, of each group the first"))
    every = [trace.value for _, lines in drawn for own in lines.values() for trace in own if len(trace.value)]
    if not every:
        raise InputError("no flow has samples of that time", "give an earlier --from or a later --to", key="from")
    by, label = quantities.Quantity("sequence", "B").scaled([float(values.max()) for values in every])
    panels = [_panel(title, lines, by, looks, alone=flows == 1) for title, lines in drawn]
    request = selection.request
    time = Scale("time (s)", low=request.start or 0.0, high=end if request.end is None else request.end)
    low = 0.0 if not request.start else by * min(float(values.min()) for values in every)
    return Chart("", time, Scale(label, low=low), tuple(panels), looks, across=len(points))


def _panel(title: str, lines: Mapping[str, Sequence[Trace]], by: float, looks: dict[str, str], *, alone: bool) -> Panel:
    """A flow alone looks as a captured one does; of several each has the look of its controller."""
    if alone:
        stairs = [
            Stair(_LINES[name], trace.time.tolist(), (trace.value * by).tolist())
            for name, own in lines.items()
            for trace in own
        ]
        return Panel(title, sequence=BytesOverTime(stairs=tuple(stairs)))
    curves = []
    for name, own in lines.items():
        for trace in own:
            single = sum(other.label == trace.label for other in own) == 1
            label = f"{trace.label}: {name}" if single else f"{trace.label}, flow {trace.id}: {name}"
            looks[label] = trace.cc
            curves.append(Curve(label, tuple(trace.time.tolist()), tuple((trace.value * by).tolist()), bare=False))
    return Panel(title, tuple(curves))


def _once(sent: Sequence[Trace], again: Sequence[Trace]) -> list[Trace]:
    """What was sent without what was sent again."""
    repeated = {trace.id: trace for trace in again}
    return [
        replace(trace, value=trace.value - np.nan_to_num(traces.at(repeated[trace.id], trace.time)))
        if trace.id in repeated
        else trace
        for trace in sent
    ]


def _within(trace: Trace, selection: Selection) -> Trace:
    """The part of the time that was asked for."""
    start, end = selection.request.start, selection.request.end
    kept = trace.time >= (-np.inf if start is None else start)
    kept &= trace.time <= (np.inf if end is None else end)
    return replace(trace, time=trace.time[kept], value=trace.value[kept])


def _some(found: Sequence[Trace]) -> list[Trace]:
    """So many traces that they can be told apart: of each group the first, then further ones."""
    ranks: dict[str, int] = {}
    ranked = []
    for trace in found:
        ranks[trace.label] = ranks.get(trace.label, -1) + 1
        ranked.append((ranks[trace.label], trace))
    chosen = [trace.id for _, trace in sorted(ranked, key=lambda item: item[0])[:_EACH]]
    return [trace for trace in found if trace.id in chosen]
