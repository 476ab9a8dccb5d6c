"""The overview figure: congestion window, queue and goodput over time, one column per swept point."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ackclock.errors import InputError
from ackclock.plot.style import DASHES, NEUTRAL, RC, look
from ackclock.plot.traces import Panel, Trace, panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ackclock.results.result import Result

_COLUMNS = 4  # per figure; further points go into further files
_EACH = 4  # so many flows per controller are drawn one by one; more as their mean and range
_MARKERS = 7  # per line
_WIDTHS = {1: 4.2, 2: 5.8}  # inches; wider figures fill a page of two columns
_WIDTH, _HEIGHT = 7.2, 5.2


def save(result: Result, folder: str | os.PathLike[str], name: str = "overview") -> list[Path]:
    """Draw `result` into PNG and SVG files in `folder` and return their paths.

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
    """One figure of so many columns. Call it within the settings of :data:`ackclock.plot.style.RC`."""
    count = len(panels)
    figure = Figure(figsize=(_WIDTHS.get(count, _WIDTH), _HEIGHT), layout="constrained")
    grid = figure.subplots(3, count, sharex=True, sharey="row", squeeze=False)
    for column, item in enumerate(panels):
        windows, queue, rates = grid[:, column]
        _lines(windows, item.cwnd)
        _queue(queue, item)
        _lines(rates, item.goodput)
        if item.rate_mbit is not None:
            rates.axhline(item.rate_mbit, color=NEUTRAL, linewidth=0.6, linestyle=(0, (2, 2)))
        windows.set_title(item.title)
        rates.set_xlabel("time (s)")
        for axes in (windows, queue, rates):
            axes.set_xlim(0, max(each.duration for each in panels))
            axes.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
            if item.warmup > 0:
                axes.axvspan(0, item.warmup, color="#F0F0F0", linewidth=0, zorder=0)
    for axes, text in zip(grid[:, 0], ("cwnd (segments)", "queue (packets)", "goodput (Mbit/s)"), strict=True):
        axes.set_ylabel(text)
        axes.set_ylim(bottom=0)  # once every column is drawn: it ends the automatic scaling
    figure.align_ylabels(grid[:, 0])
    _legend(figure, panels)
    return figure


def _lines(axes: Axes, traces: Sequence[Trace]) -> None:
    groups: dict[str, list[Trace]] = {}
    for trace in traces:
        groups.setdefault(trace.cc, []).append(trace)
    for cc, members in groups.items():
        if len(members) <= _EACH:
            for index, trace in enumerate(members):
                axes.plot(trace.time, trace.value, **_line(cc, index, len(trace.time)))
        else:
            _band(axes, cc, members)


def _band(axes: Axes, cc: str, members: Sequence[Trace]) -> None:
    """The mean of many flows, with the range from the lowest to the highest behind it."""
    time = np.unique(np.concatenate([trace.time for trace in members]))
    values = np.ma.masked_invalid(np.vstack([_at(trace, time) for trace in members]))
    axes.fill_between(time, values.min(axis=0), values.max(axis=0), color=look(cc).colour, alpha=0.2, linewidth=0)
    axes.plot(time, values.mean(axis=0), **_line(cc, 0, len(time)))


def _at(trace: Trace, time: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The values of a trace at other times; not a number before it begins and after it ends."""
    if not len(trace.time):
        return np.full(len(time), np.nan)
    index = np.searchsorted(trace.time, time, side="right") - 1
    inside = (index >= 0) & (time <= trace.time[-1])
    return np.where(inside, trace.value[np.maximum(index, 0)], np.nan)


def _line(cc: str, index: int, points: int) -> dict[str, Any]:
    """Colour and marker say which algorithm; line style and a hollow marker say which of its flows."""
    own = look(cc)
    spacing = max(1, points // _MARKERS)
    return {
        "color": own.colour,
        "linestyle": DASHES[index % len(DASHES)],
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


def _legend(figure: Figure, panels: Sequence[Panel]) -> None:
    """One entry for each controller and flow that is drawn, a column for each controller."""
    flows: dict[str, list[str]] = {}
    for item in panels:
        for trace in item.cwnd or item.goodput:
            names = flows.setdefault(trace.cc, [])
            if trace.id not in names:
                names.append(trace.id)
    handles: list[Line2D] = []
    for cc, names in flows.items():
        if len(names) > _EACH:
            handles.append(Line2D([], [], label=f"{cc}, mean and range of {len(names)} flows", **_entry(cc, 0)))
        else:
            handles.extend(
                Line2D([], [], label=f"{cc}, flow {name}", **_entry(cc, index)) for index, name in enumerate(names)
            )
    if any(item.queue_limit is not None or item.rate_mbit is not None for item in panels):
        dashes: Any = (0, (2, 2))
        handles.append(Line2D([], [], color=NEUTRAL, linewidth=0.6, linestyle=dashes, label="queue limit, link rate"))
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), max(2, len(panels) + 1)))


def _entry(cc: str, index: int) -> dict[str, Any]:
    return {key: value for key, value in _line(cc, index, 1).items() if key != "markevery"}


def write(figure: Figure, folder: Path, stem: str) -> list[Path]:
    """Write a figure as PNG and SVG."""
    files = [folder / f"{stem}.png", folder / f"{stem}.svg"]
    for file in files:
        write_file(figure, file)
    return files


# Nothing that differs between two times of drawing the same.
_METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def drawable(path: str | os.PathLike[str]) -> Path:
    """`path`, if its name says a kind of figure. Raises :class:`ackclock.InputError` otherwise."""
    file = Path(path)
    if file.suffix not in _METADATA:
        raise InputError(f"'{file.name}' is no figure", "end its name with .png, .svg or .pdf", source=str(file))
    return file


def write_file(figure: Figure, file: Path) -> None:
    """Write a figure, the same bytes for the same figure."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, metadata=_METADATA[file.suffix])
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        folder = str(file.parent)
        raise InputError(f"cannot write the figure ({reason})", "choose another place", source=folder) from None
