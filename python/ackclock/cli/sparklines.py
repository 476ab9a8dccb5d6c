"""What runs recorded over time, a line of characters each: goodput of the flows, and the queue."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock.drawing import traces
from ackclock.results.result import Result

BLOCKS, PLAIN = "▁▂▃▄▅▆▇█", "_.-=+*#@"
_LONGEST, _SHORTEST = 40, 12  # characters of a line
_RANGE = 24  # of the widest range
_MOST_FLOWS = 4  # each of so many flows has a line; of more there is their sum
_MOST_LINES = 16


@dataclass(frozen=True, slots=True)
class Line:
    """A series of the first replication of a point. `values` are means over equal parts of the run."""

    params: tuple[str, ...]
    name: str
    values: tuple[float, ...]
    unit: str


def table(result: Result, *, room: int, blocks: bool = True) -> tuple[list[list[str]], int]:
    """A table, its header first: swept values, what it is, the line, its least and largest value.

    Lines begin at 0, and their highest character is their largest value; they are as long as fits `room` characters.
    Besides the number of points that are not shown. The table is empty where nothing was recorded.
    """
    keys = _short_names(result.params)
    values = [[key, *(str(point["params"][name]) for point in result.manifest["points"])] for key, name in keys.items()]
    beside = sum(max(map(len, column)) + 1 for column in values) + len("goodput of all 100") + _RANGE + 2
    parts = max(_SHORTEST, min(_LONGEST, room - beside))
    points = [] if result.series.is_empty() else sorted(set(result.runs["point"]))
    found: list[Line] = []
    seen = 0
    while seen < len(points) and len(found) < _MOST_LINES:
        found += _of_point(result, points[seen], parts)
        seen += 1
    characters = BLOCKS if blocks else PLAIN
    body = [[*line.params, line.name, spark(line.values, characters), _range(line)] for line in found]
    return ([[*keys, "over time", "", "least to most"], *body] if body else []), len(points) - seen


def _short_names(params: Sequence[str]) -> dict[str, str]:
    """The swept keys by the last parts of their names, where these tell them apart."""
    short = [name.rpartition(".")[2] for name in params]
    return {one if short.count(one) == 1 else name: name for one, name in zip(short, params, strict=True)}


def spark(values: Sequence[float], characters: str) -> str:
    """Values as characters, from 0 to the largest; a blank for what is not known."""
    top = max((value for value in values if math.isfinite(value)), default=0.0)
    return "".join(_character(value, top, characters) for value in values)


def _character(value: float, top: float, characters: str) -> str:
    if not math.isfinite(value):
        return " "
    return characters[0] if top <= 0 else characters[min(len(characters) - 1, int(value / top * len(characters)))]


def _of_point(result: Result, point: int, parts: int) -> Iterator[Line]:
    params = tuple(str(result.manifest["points"][point]["params"][name]) for name in result.params)
    flows = traces.of_point(result, point, traces.GOODPUT, parts)
    if len(flows.traces) <= _MOST_FLOWS:
        lines = [(f"goodput {trace.id}", _binned(trace, flows.duration, parts)) for trace in flows.traces]
    else:
        every = np.nan_to_num(np.array([_binned(trace, flows.duration, parts) for trace in flows.traces]))
        lines = [(f"goodput of all {len(flows.traces)}", every.sum(axis=0))]
    for name, values in lines:
        yield Line(params, name, tuple(values / 1e6), "Mbit/s")
    queue = traces.of_point(result, point, "queue")
    for trace in queue.traces:
        yield Line(params, "queue", tuple(_binned(trace, queue.duration, parts)), "packets")


def _binned(trace: traces.Trace, end: float, parts: int) -> Any:
    """The mean in each of so many equal parts of the run; the last value known where nothing was recorded within."""
    edges = np.linspace(0.0, end, parts + 1)
    places = np.searchsorted(trace.time, edges)
    found, last = np.full(parts, np.nan), math.nan
    for part, (begin, until) in enumerate(itertools.pairwise(places)):
        if until > begin:
            found[part], last = _mean(trace.value[begin:until]), float(trace.value[until - 1])
        elif until < len(trace.time):
            found[part] = last
    return found


def _mean(values: Any) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan


def _range(line: Line) -> str:
    known = [value for value in line.values if math.isfinite(value)]
    if not known:
        return "-"
    return f"{_short(min(known))} to {_short(max(known))} {line.unit}"


def _short(value: float) -> str:
    """Three significant digits, without an exponent."""
    places = 0 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(places, 4)}f}"
