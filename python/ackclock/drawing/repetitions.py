"""Repetitions of one transfer laid over each other, with what was sent again and duplicate acknowledgments on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ackclock.drawing import merging
from ackclock.drawing.chart import Panel
from ackclock.drawing.overlay import middle
from ackclock.drawing.passages import AGAIN, Array, Passage, Row
from ackclock.drawing.sequence import Frame
from ackclock.drawing.shapes import AGAIN as CAUSES
from ackclock.drawing.shapes import DUP_ACK, Bundle, BytesOverTime
from ackclock.results.result import Result

_POINTS = 400  # of a line


def panel(title: str, label: str, result: Result, rows: Sequence[Row], scale: float) -> Panel:
    """A panel of the acknowledged bytes of some connections, each from its first packet on, times `scale`."""
    marks: dict[str, list[dict[str, Array]]] = {}
    lines = []
    for row in rows:
        passed, first = Passage(result, row), float(row["start_s"])
        x, y = passed.acknowledged()
        lines.append((x - first, y))
        kinds = {DUP_ACK: passed.kinds("dup_ack")}
        kinds |= {name: passed.kinds(*AGAIN, cause=cause) for cause, name in CAUSES.items()}
        for name, found in kinds.items():
            if len(found["x"]):
                marks.setdefault(name, []).append({**found, "x": found["x"] - first})
    width = max(float(x[-1]) for x, _ in lines)
    height = max(float(y[-1]) for _, y in lines)
    frame = Frame(scale, width, height)
    strokes = []
    for name, parts in marks.items():
        together = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
        order = np.argsort(together["x"], kind="stable")
        strokes.append(frame.strokes(name, {key: values[order] for key, values in together.items()}))
    drawn = tuple(merging.stair(label, x, y * scale, _POINTS) for x, y in lines)
    bundle = Bundle(label, drawn, middle(label, lines, scale))
    return Panel(title, sequence=BytesOverTime(strokes=tuple(strokes), bundles=(bundle,), red=True))
