"""Many connections in one graph: how far each came since its first packet, by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ackclock.drawing import merging, passages, quantities
from ackclock.drawing.chart import Chart, Panel, Scale
from ackclock.drawing.passages import Array, Passage, Row
from ackclock.drawing.remarks import Remark
from ackclock.drawing.selection import Selection
from ackclock.drawing.shapes import Bundle, BytesOverTime, Stair
from ackclock.errors import InputError

MOST = 500
"""Connections that a figure shows: more cannot be told apart, and make a vector file heavy."""
_POINTS = 40_000  # of all lines together
_FEWEST, _EACH = 40, 800  # of a line
_ENOUGH = 3  # lines that have a middle
_STEPS = 240
_FEW = 6  # files that each have a colour

Line = tuple[Array, Array]


def overlay(selection: Selection, rows: Sequence[Row], *, single: bool) -> Chart:
    """The acknowledged bytes of connections, each from its first packet on. `single`: each has a look of its own."""
    if len(rows) > MOST:
        selection.remarks.append(Remark(f"the {MOST} with most data of {len(rows)} connections"))
        rows = rows[:MOST]
    start, end = selection.request.start, selection.request.end
    lines: dict[str, list[Line]] = {}
    left = 0
    for row in sorted(rows, key=lambda row: (row["run"], row["connection"])):
        line = _line(selection, row, start, end)
        if len(line[0]):
            lines.setdefault(_group(selection, row, single=single), []).append(line)
        left += not len(line[0])
    if not lines:
        problem = "neither acknowledgments nor segments were kept, or none is of that time"
        raise InputError(problem, "analyse the captures again with --series", key="kind")
    if left:
        selection.remarks.append(Remark(f"{left} connections have nothing to show"))
    largest = [float(line[1].max()) for own in lines.values() for line in own]
    by, label = quantities.Quantity("acknowledged", "B").scaled(largest)
    most = min(_EACH, max(_FEWEST, _POINTS // len(rows)))
    looks, bundles = {}, []
    for name, own in _ordered(selection, lines).items():
        words = name if single else f"{name}, {len(own)} transfer{'s' if len(own) > 1 else ''}"
        looks[words] = name
        drawn = tuple(merging.stair(words, x, y * by, most) for x, y in own)
        bundles.append(Bundle(words, drawn, middle(words, own, by)))
    if any(bundle.middle for bundle in bundles):
        selection.remarks.append(Remark("thick: the median at each time", news=False))
    last = max(float(line[0][-1]) for own in lines.values() for line in own)
    time = Scale("time since the first packet (s)", low=start or 0.0, high=last if end is None else end)
    panel = Panel("", sequence=BytesOverTime(bundles=tuple(bundles)))
    return Chart("", time, Scale(label, low=0.0 if not start else None), (panel,), looks)


def acknowledged(rows: Sequence[Row]) -> list[Row]:
    """Those of some connections that came anywhere. Raises :class:`ackclock.InputError` if none did."""
    found = [row for row in rows if row["goodput_bytes"]]
    if not found:
        problem = "nothing to lay over each other: no data of any connection were acknowledged"
        raise InputError(problem, "draw one of them: --connection N", key="connection")
    return found


def _line(selection: Selection, row: Row, start: float | None, end: float | None) -> Line:
    """When how many bytes were acknowledged, or if that is not known, had passed."""
    first = row["start_s"]
    passed = Passage(selection.result, row, *(None if at is None else first + at for at in (start, end)))
    if passed.has_acknowledgments:
        x, y = passed.acknowledged()
    else:
        own = passed.kinds("new", "gap", "partial")
        x, y = own["x"], np.maximum.accumulate(own["high"]) if len(own["high"]) else own["high"]
    return x - first, y


def _group(selection: Selection, row: Row, *, single: bool) -> str:
    """What a connection is drawn as: its label, its file, or itself."""
    if single:
        return f"{row['id']}: {passages.ends(row)}"
    point = next(point for run, point in _points(selection) if run == row["run"])
    for key in selection.varying():
        if key.name == "label" or len(selection.steps(key)) <= _FEW:
            return key.texts[point]
    return "captured"


def _points(selection: Selection) -> list[tuple[int, int]]:
    return list(selection.result.runs.select("run", "point").iter_rows())


def _ordered(selection: Selection, lines: Mapping[str, list[Line]]) -> dict[str, list[Line]]:
    """Groups in the order of the result."""
    order = [step for key in selection.varying() for step in selection.steps(key)]
    names = sorted(lines, key=lambda name: order.index(name) if name in order else len(order))
    return {name: lines[name] for name in names}


def middle(label: str, lines: Sequence[Line], by: float) -> Stair | None:
    """The median of some lines at each time; a transfer that is over stays where it ended."""
    if len(lines) < _ENOUGH:
        return None
    first, last = min(float(x[0]) for x, _ in lines), max(float(x[-1]) for x, _ in lines)
    grid = np.linspace(first, last, _STEPS)
    values = []
    for x, y in lines:
        at = np.searchsorted(x, grid, side="right") - 1
        values.append(np.where(at >= 0, y[np.maximum(at, 0)], 0.0))
    middle = np.median(values, axis=0) * by
    done = int(np.argmax(middle >= middle[-1])) + 1  # from here on half of them are over
    return Stair(label, grid[:done].tolist(), middle[:done].tolist())
