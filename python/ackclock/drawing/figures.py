"""The overview figure: congestion window, queue and goodput over time, one column per swept point."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ackclock.drawing.picture import METADATA
from ackclock.drawing.style import NEUTRAL, RC, dash, look
from ackclock.drawing.traces import Panel, Trace, panel, together
from ackclock.drawing.wrapping import TITLE, fitted
from ackclock.errors import InputError
from ackclock.files import reason

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ackclock.results.result import Result

_COLUMNS = 4  # per figure; further points go into further files
_EACH = 4  # so many flows of a group are drawn one by one; more as their mean and range
_MARKERS = 7  # per line
_WIDTHS = {1: 4.2, 2: 5.8}  # inches; wider figures fill a page of two columns
_WIDTH = 7.2
_HEIGHT, _ROW = 1.0, 1.4  # inches: what is there besides, and of each row
_ROWS = {"cwnd": "cwnd (segments)", "queue": "queue (packets)", "goodput": "goodput (Mbit/s)"}


def save(result: Result, folder: str | os.PathLike[str], name: str = "overview") -> list[Path]:
    """Draw `result` into PNG and SVG files in `folder`, which must be there, and return their paths.

    Up to four swept points share a figure, as columns; more give ``<name>-1``, ``<name>-2`` and so on. Of each point
    the first replication is drawn. The same result gives the same files. Raises :class:`ackclock.InputError` if the
    result has none of the series cwnd, queue and delivered, or the files cannot be written.
    """
    found = (panel(result, entry["point"]) for entry in result.manifest["points"])
    panels = [item for item in found if item is not None and (item.cwnd or item.queue or item.goodput)]
    if not panels:
        remedy = 'record them: [probes] with interval = "100 ms", or run with --plot'
        raise InputError("the result has no series to draw", remedy)
    groups = [panels[start : start + _COLUMNS] for start in range(0, len(panels), _COLUMNS)]
    paths: list[Path] = []
    with mpl.rc_context(RC):
        for number, group in enumerate(groups, start=1):
            stem = name if len(groups) == 1 else f"{name}-{number}"
            paths.extend(write(draw(group), Path(folder), stem))
    return paths


def save_file(result: Result, path: str | os.PathLike[str]) -> Path:
    """Draw `result`, four points at most, into one file of the kind its name says: PNG, SVG or PDF."""
    file = drawable(path)
    found = (panel(result, entry["point"]) for entry in result.manifest["points"])
    with mpl.rc_context(RC):
        figure = draw([item for item in found if item is not None][:_COLUMNS])
        write_file(figure, file)
    return file


def draw(panels: Sequence[Panel]) -> Figure:
    """One figure of so many columns, with the rows that have something to show.

    Call it within the settings of :data:`ackclock.drawing.style.RC`.
    """
    rows = [row for row in _ROWS if any(getattr(item, row) for item in panels)] or list(_ROWS)
    count = len(panels)
    size = (_WIDTHS.get(count, _WIDTH), _HEIGHT + _ROW * len(rows))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(rows), count, sharex=True, sharey="row", squeeze=False)
    places = _places(panels)
    for column, item in enumerate(panels):
        for axes, row in zip(grid[:, column], rows, strict=True):
            _row(axes, item, row, places)
            axes.set_xlim(0, max(each.duration for each in panels))
            axes.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
            if item.warmup > 0:
                axes.axvspan(0, item.warmup, color="#F0F0F0", linewidth=0, zorder=0)
        grid[0, column].set_title(fitted(item.title, 0.8 * size[0] / count, TITLE))
        grid[-1, column].set_xlabel("time (s)")
    for axes, row in zip(grid[:, 0], rows, strict=True):
        axes.set_ylabel(_ROWS[row])
        axes.set_ylim(bottom=0)  # once every column is drawn: it ends the automatic scaling
    figure.align_ylabels(grid[:, 0])
    _legend(figure, panels, places)
    return figure


_Place = tuple[str, str, int]
"""A line in a figure: controller, label of the group, and the flow's place in it, or -1 for many flows."""
_MANY = -1


@dataclass(slots=True)
class _Entry:
    """How a line differs from others of its controller, and the numbers of its flows in the columns."""

    index: int
    flows: dict[str, None] = field(default_factory=dict)
    most: int = 1


def _groups(traces: Sequence[Trace]) -> dict[tuple[str, str], list[Trace]]:
    groups: dict[tuple[str, str], list[Trace]] = {}
    for trace in traces:
        groups.setdefault((trace.cc, trace.label), []).append(trace)
    return groups


def _places(panels: Sequence[Panel]) -> dict[_Place, _Entry]:
    """Every line of a figure. Those of a controller are numbered, many flows apart from single ones."""
    found: dict[_Place, _Entry] = {}

    def entry(cc: str, label: str, rank: int) -> _Entry:
        own = look(cc)  # which another controller may have too
        before = sum(look(place[0]) == own and (place[2] == _MANY) == (rank == _MANY) for place in found)
        return found.setdefault((cc, label, rank), _Entry(before))

    for item in panels:
        for (cc, label), members in _groups([*item.cwnd, *item.goodput]).items():
            ids = list(dict.fromkeys(trace.id for trace in members))
            if len(ids) > _EACH:
                many = entry(cc, label, _MANY)
                many.most = max(many.most, len(ids))
                continue
            for rank, name in enumerate(ids):
                entry(cc, label, rank).flows[name] = None
    return found


def _row(axes: Axes, item: Panel, row: str, places: Mapping[_Place, _Entry]) -> None:
    if row == "queue":
        _queue(axes, item)
        return
    _lines(axes, item.cwnd if row == "cwnd" else item.goodput, places)
    if row == "goodput" and item.rate_mbit is not None:
        axes.axhline(item.rate_mbit, color=NEUTRAL, linewidth=0.6, linestyle=(0, (2, 2)))


def _lines(axes: Axes, traces: Sequence[Trace], places: Mapping[_Place, _Entry]) -> None:
    for (cc, label), members in _groups(traces).items():
        if len(members) > _EACH:
            _band(axes, cc, places[cc, label, _MANY].index, members)
            continue
        for rank, trace in enumerate(members):
            axes.plot(trace.time, trace.value, **_line(cc, places[cc, label, rank].index, len(trace.time)))


def _band(axes: Axes, cc: str, place: int, members: Sequence[Trace]) -> None:
    """The mean of many flows, with the range from the lowest to the highest behind it."""
    time, mean, low, high = together(members)
    axes.fill_between(time, low, high, color=look(cc).colour, alpha=0.2, linewidth=0)
    axes.plot(time, mean, **_line(cc, place, len(time)))


def _line(cc: str, index: int, points: int) -> dict[str, Any]:
    """Colour and marker say which algorithm; line style and a hollow marker say which of its flows."""
    own = look(cc)
    spacing = max(1, points // _MARKERS)
    return {
        "color": own.colour,
        "linestyle": dash(own.dashes + index),
        "marker": own.marker,
        "markerfacecolor": own.colour if index == 0 else "white",
        "markeredgewidth": 0.7,
        "markevery": (spacing // 4 + index * spacing // _EACH, spacing),
    }


def _queue(axes: Axes, item: Panel) -> None:
    for trace in item.queue:
        axes.plot(trace.time, trace.value, color=NEUTRAL, linewidth=0.6, drawstyle="steps-post")
    if item.queue and item.queue_limit is not None:
        axes.axhline(item.queue_limit, color=NEUTRAL, linewidth=0.6, linestyle=(0, (2, 2)))


def _legend(figure: Figure, panels: Sequence[Panel], places: Mapping[_Place, _Entry]) -> None:
    """One entry for each line that is drawn, those of a group together."""
    handles: list[Line2D] = []
    labels = list(dict.fromkeys(label for _, label, _ in places))
    for (cc, label, _), entry in sorted(places.items(), key=lambda item: labels.index(item[0][1])):
        what = f"flow {' or '.join(entry.flows)}" if entry.flows else f"mean and range of {entry.most} flows"
        handles.append(Line2D([], [], label=f"{label}, {what}", **_entry(cc, entry.index)))
    if any(item.queue_limit is not None or item.rate_mbit is not None for item in panels):
        dashes: Any = (0, (2, 2))
        handles.append(Line2D([], [], color=NEUTRAL, linewidth=0.6, linestyle=dashes, label="queue limit, link rate"))
    # In columns as wide as the longest entry, at about 0.045 inches a character.
    widest = 0.4 + 0.045 * max((len(str(handle.get_label())) for handle in handles), default=0)
    columns = min(len(handles), max(2, len(panels) + 1), max(1, int(figure.get_figwidth() / widest)))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)


def _entry(cc: str, index: int) -> dict[str, Any]:
    return {key: value for key, value in _line(cc, index, 1).items() if key != "markevery"}


def write(figure: Figure, folder: Path, stem: str) -> list[Path]:
    """Write a figure as PNG and SVG."""
    files = [folder / f"{stem}.png", folder / f"{stem}.svg"]
    for file in files:
        write_file(figure, file)
    return files


def drawable(path: str | os.PathLike[str]) -> Path:
    """`path`, if its name says a kind of figure. Raises :class:`ackclock.InputError` otherwise."""
    file = Path(path)
    if file.suffix not in METADATA:
        raise InputError(f"'{file.name}' is no figure", "end its name with .png, .svg or .pdf", source=str(file))
    return file


def write_file(figure: Figure, file: Path) -> None:
    """Write a figure, the same bytes for the same figure. Its directory must be there: a slip makes no new one."""
    folder = str(file.parent)
    if not file.parent.is_dir():
        raise InputError("cannot write a figure there: no such directory", "make it, or choose another", source=folder)
    try:
        with mpl.rc_context(RC):  # fonts and identifiers are chosen as a file is written
            figure.savefig(file, metadata=METADATA[file.suffix])
    except OSError as error:
        raise InputError(f"cannot write the figure ({reason(error)})", "choose another place", source=folder) from None
