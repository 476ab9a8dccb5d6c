"""Curves over time or over a swept value, in panels side by side: the figures of studies."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.lines import Line2D
from matplotlib.path import Path

from ackclock.drawing import intervals, layers, map_layer, sequence_layer, waterfall_layer
from ackclock.drawing.chart import Chart as Chart
from ackclock.drawing.chart import Curve as Curve
from ackclock.drawing.chart import Panel as Panel
from ackclock.drawing.chart import Scale as Scale
from ackclock.drawing.chart import Straight as Straight
from ackclock.drawing.frame import whole
from ackclock.drawing.layout import arranged
from ackclock.drawing.picture import Picture, write
from ackclock.drawing.scales import FEW, Heights, Places, widened
from ackclock.drawing.shapes import MODULATIONS, PHASES
from ackclock.drawing.style import NEUTRAL, RC, Style, dash, styles
from ackclock.drawing.wrapping import AXIS, ENTRY, NOTE, TITLE, fitted, inches, parted, shown

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINE, _ROW = 0.14, 0.15  # inches of a further line of the title, and of a further row of the legend
_HANDLE = 0.45  # inches of an entry of the legend, beside its words
_MARKED = 30  # points of a line that each have a marker; of longer ones about _MARKERS have
_MARKERS = 9
_BANDS = 3  # more of them cannot be told apart
_WIDER = 2  # times a line is made wider at most: more would hide what is beside it
_AROUND = 0.09  # of the axes of a panel of means, at each end: their markers are large
_FILLED = 0.94  # of the room of a bar
_ALIKE = 0.015  # of the height of a panel: lines that are nowhere farther apart hide each other


@dataclass(frozen=True, slots=True)
class _Look:
    """What the panels of a figure have in common."""

    chart: Chart
    styles: Mapping[str, Style]
    places: Places
    width: float
    """Of a panel with its axes, inches."""
    words: Mapping[str, str]


def save(chart: Chart, folder: File, name: str) -> list[File]:
    """Draw `chart` as ``name.png`` and ``name.svg`` in `folder`. The same chart gives the same files.

    Points that a logarithmic axis has no place for are chevrons at its end, and so are intervals that go beyond it.
    """
    with mpl.rc_context(RC):
        return write(draw(chart), folder, name)


def draw(chart: Chart, width: float | None = None) -> Figure:
    """The figure, so many inches wide, or as wide as its panels like. Call it within the settings of :data:`RC`."""
    count = max(1, len(chart.panels))
    layout = arranged(chart, width)
    places = Places(chart)
    common = _Look(
        chart, styles(chart.labels, chart.looks), places, layout.width / layout.across, _words(chart, places)
    )
    title = fitted(chart.title, 0.95 * layout.width, TITLE)
    note = "" if title else fitted(chart.note, 0.95 * layout.width, NOTE)
    handles = _handles(common)
    columns = _columns(handles, layout.width)
    rows = math.ceil(len(handles) / columns)
    said = title.count("\n") + note.count("\n") + bool(note) + bool(handles and chart.legend)
    # The name of an axis is centred on it, and beside that there may be no room.
    x_label = fitted(chart.x.label, (0.95 if layout.across == 1 else 0.75) * common.width, AXIS)
    said += 0 if width is None else x_label.count("\n")
    more = _LINE * said + _ROW * max(0, rows - 2 if width is None else rows)
    figure = Picture(figsize=(layout.width, layout.height * layout.down + more), layout="constrained")
    own = any(panel.y is not None for panel in chart.panels)
    together: Any = "row" if own else not _apart(chart)
    grid = figure.subplots(layout.down, layout.across, sharex=not _apart(chart), sharey=together, squeeze=False)
    drawn = list(grid.flat)[: len(chart.panels)]
    for axes in list(grid.flat)[len(chart.panels) :]:
        axes.set_visible(False)
    titles = _titles(common)
    for index, (axes, panel) in enumerate(zip(drawn, chart.panels, strict=True)):
        alone = replace(chart, panels=(panel,)) if chart.free else chart.row(panel)
        _panel(axes, common, panel, Heights(alone))
        if panel.title:
            axes.set_title(titles[index])
        if chart.free:
            Places(alone).set([axes], 0.8 * common.width)
        if not own and not chart.x.ticks:
            axes.tick_params(labelbottom=True)
        if index + layout.across >= count:
            axes.set_xlabel(x_label)
            axes.tick_params(labelbottom=True)
    # Once all is drawn: it ends the automatic scaling, and panels of a row share theirs.
    for index, (axes, panel) in enumerate(zip(drawn, chart.panels, strict=True)):
        first = index % layout.across == 0
        if first:
            # It is centred on the axes, which have more below them than above; rows of their own have less.
            share = 0.75 if panel.y is None else 0.85
            axes.set_ylabel(fitted((panel.y or chart.y).label, share * layout.height, AXIS))
        if first or _apart(chart) or chart.y.ticks:
            Heights(replace(chart, panels=(panel,)) if chart.free else chart.row(panel)).set(axes)
        if chart.y.ticks and chart.legend and first:
            axes.set_ylabel(fitted(chart.legend, 0.75 * layout.height, AXIS))
        if chart.y.ticks and not first:
            axes.tick_params(axis="y", length=0, labelleft=False)
    if any(panel.map for panel in chart.panels):
        map_layer.maps(figure, chart, drawn, MODULATIONS)
    elif chart.z is not None:
        layers.grids(figure, chart, drawn, 0.62 * common.width, 0.6 * layout.height)
        for index, axes in enumerate(drawn):
            axes.tick_params(labelbottom=index + layout.across >= count, labelleft=index % layout.across == 0)
    elif not chart.free:
        common.places.set(drawn, 0.8 * common.width)
    if chart.z is None:
        for axes in drawn:
            widened(axes, chart)
    for axes, panel in zip(drawn, chart.panels, strict=True):
        if panel.schedule is not None:
            waterfall_layer.rows(axes, chart.y.ticks)
    if title:
        figure.suptitle(title, fontsize=TITLE)
    elif note:
        figure.suptitle(note, fontsize=NOTE, color=NEUTRAL)
    figure.align_ylabels(grid[:, 0])
    if handles:
        figure.legend(
            handles=handles, loc="outside lower center", ncols=columns, title=chart.legend or None, title_fontsize=ENTRY
        )
    return figure


def _titles(common: _Look) -> list[str]:
    """The titles of the panels: where one needs a line for each of its parts, all have them, to look alike."""
    found = []
    for panel in common.chart.panels:
        # A bar of colours takes its room from the panels.
        room = 0.8 if common.chart.z is None else 0.55
        room = 0.6 if panel.schedule is not None else room  # its rows have long names
        found.append(parted(panel.title, room * common.width, TITLE))
    if not any(",\n" in title for title in found):
        return found
    return [title if "\n" in title else title.replace(", ", ",\n") for title in found]


def _apart(chart: Chart) -> bool:
    """Whether each panel has its own axes."""
    return chart.free or chart.z is not None


def _panel(axes: Axes, common: _Look, panel: Panel, heights: Heights) -> None:
    curves = [curve for curve in panel.curves if curve.known]
    if panel.empty:
        layers.nothing(axes)
    layers.shaded(axes, panel.before)
    layers.boxes(axes, panel.boxes, common.styles)
    layers.clouds(axes, panel.clouds, common.styles)
    if panel.clouds:
        axes.margins(_AROUND)
    bands = sum(bool(len(curve.low)) for curve in curves) <= _BANDS
    for index, curve in enumerate(curves):
        if curve.area:
            layers.area(axes, curve, common.styles[curve.label], common.chart.labels.index(curve.label))
            continue
        over = 0 if common.places.moved else _over(heights, curve, curves[index + 1 :])
        _curve(axes, common, heights, curve, over, band=bands and len(curve.x) > FEW)
    if panel.schedule is not None:
        waterfall_layer.schedule(axes, panel.schedule, PHASES)
    if panel.sequence is not None:
        sequence_layer.graph(axes, panel.sequence, common.styles)
    for mark in panel.marks:
        if mark.y is not None:
            axes.axhline(mark.y, **_mark(common.chart, mark.label))
        elif mark.x is not None:
            axes.axvline(mark.x, **_mark(common.chart, mark.label))


def _curve(axes: Axes, common: _Look, heights: Heights, curve: Curve, over: int, *, band: bool) -> None:
    """A line with its intervals; wider than the `over` lines that would hide it."""
    x, y = common.places.of(curve.label, curve.x), heights.drawn(curve.y)
    if curve.bars:
        look, number = common.styles[curve.label], common.chart.labels.index(curve.label)
        layers.bars(axes, x, y, _FILLED * common.places.room, look, number)
        if len(curve.low):
            intervals.bars(axes, x, curve.low, curve.high, "black", heights.ends, heights.bounds)
        return
    style = _line(common, curve.label)
    if curve.steps:
        style["drawstyle"] = "steps-post"
    first = int(curve.steps and len(x) > 1 and x[0] == x[1])  # where a distribution begins there is no value
    if curve.bare:
        style["marker"] = "none"
    elif len(x) > _MARKED:
        labels, every = common.chart.labels, len(x) // _MARKERS
        style["markevery"] = (first + labels.index(curve.label) * every // len(labels), every)
    elif first:
        style["markevery"] = (first, 1)
    style["markersize"] += 1.8 * over
    whole(axes, *axes.plot(x, y, **style, linewidth=0.9 + 1.3 * over))
    if len(curve.low):
        if band:
            intervals.band(axes, x, curve.low, curve.high, style["color"], heights.ends)
        else:
            intervals.bars(axes, x, curve.low, curve.high, style["color"], heights.ends, heights.bounds)
    below = heights.below(x, curve.y)
    intervals.arrows(axes, below, heights.ends[0], intervals.DOWN, color=style["color"])


def _over(heights: Heights, curve: Curve, others: Sequence[Curve]) -> int:
    """Of how many lines that would hide it a line is made wider."""
    return min(sum(_alike(heights, curve, other) for other in others), _WIDER)


def _words(chart: Chart, places: Places) -> dict[str, str]:
    """What labels are called in the legend, which says why a line is wide."""
    wide = set()
    for panel in () if places.moved else chart.panels:
        heights, known = Heights(chart.row(panel)), [curve for curve in panel.curves if curve.known and not curve.area]
        wide |= {each.label for at, each in enumerate(known) if _over(heights, each, known[at + 1 :])}
    words = shown(chart.labels)
    return {label: f"{word} (wide: under another)" if label in wide else word for label, word in words.items()}


def _alike(heights: Heights, curve: Curve, other: Curve) -> bool:
    """Whether two lines are at the same places everywhere, as far as one can see."""
    if max(len(curve.x), len(other.x)) > _MARKED:
        return False
    values = dict(zip(other.x, other.y, strict=True))
    apart = [heights.apart(y, values[x]) for x, y in zip(curve.x, curve.y, strict=True) if x in values]
    return bool(apart) and all(each <= _ALIKE for each in apart)


def _line(common: _Look, label: str) -> dict[str, Any]:
    """How a line is drawn. Names have no order: no line joins them."""
    style = common.styles[label].line()
    return {**style, "linestyle": "none"} if common.chart.x.ticks else style


def _handles(common: _Look) -> list[Artist]:
    """The entries of the legend: lines, then marks. One that has no words says nothing.

    What stands at its own name on an axis needs none.
    """
    chart = common.chart
    named = {box.label for panel in chart.panels for box in panel.boxes if chart.y.ticks[int(box.at)] == box.label}
    filled = {curve.label for curve in chart.curves if curve.area or curve.bars}
    bare = {curve.label for curve in chart.curves if curve.bare} | sequence_layer.bare(chart.panels)
    found: list[Artist] = []
    for number, label in enumerate(chart.labels):
        if label in filled:
            found.append(layers.area_entry(common.words[label], common.styles[label], number))
        elif label and label not in named:
            plain = {"marker": "none"} if label in bare else {}
            found.append(Line2D([], [], label=_entry(common, label), **{**_line(common, label), **plain}))
    found += map_layer.entries([panel.map for panel in chart.panels if panel.map], MODULATIONS)
    found += waterfall_layer.entries([panel.schedule for panel in chart.panels if panel.schedule], PHASES)
    found += sequence_layer.entries([panel.sequence for panel in chart.panels if panel.sequence])
    found += [Line2D([], [], label=label, **_mark(chart, label)) for label in chart.marks if label]
    signs = (Line2D([], [], label=word, color=NEUTRAL, **intervals.looks(sign)) for word, sign in _signs(chart))
    return [*found, *signs]


def _signs(chart: Chart) -> list[tuple[str, Path]]:
    """What chevrons at the ends of the y axes say, if there are any."""
    goes_on = below = False
    bands = [sum(bool(len(curve.low)) for curve in panel.curves if curve.known) <= _BANDS for panel in chart.panels]
    for panel, few in zip(chart.panels, bands, strict=True):
        heights = Heights(replace(chart, panels=(panel,)) if chart.free else chart.row(panel))
        for curve in (each for each in panel.curves if each.known and not each.area):
            barred = bool(len(curve.low)) and not (few and len(curve.x) > FEW)
            goes_on |= barred and intervals.cut(curve.low, curve.high, heights.ends)
            above = any(y > 0 for y in curve.y)  # of another line the words in the legend say it
            below |= above and bool(heights.below(curve.x, curve.y))
    return [
        *([("interval goes on", intervals.UP)] if goes_on else []),
        *([("0, or less", intervals.DOWN)] if below else []),
    ]


def _entry(common: _Look, label: str) -> str:
    """The words of a line; of one that a logarithmic axis does not show they say why."""
    word = common.words[label]
    curves = [
        (panel.y or common.chart.y, curve)
        for panel in common.chart.panels
        for curve in panel.curves
        if curve.label == label and curve.known
    ]
    values = [y for _, curve in curves for y in curve.y if math.isfinite(y)]
    if not values or not all(scale.log for scale, _ in curves) or max(values) > 0 or not _any_above(common.chart):
        return word
    return f"{word}: 0" if not any(values) else f"{word}: not above 0"


def _any_above(chart: Chart) -> bool:
    """Whether a logarithmic axis has anything to show: without, it is none."""
    return any(y > 0 for curve in chart.curves for y in curve.y)


def _columns(handles: Sequence[Artist], width: float) -> int:
    """As many columns as fit: each is as wide as its widest entry, and they are filled from above."""
    room = [inches(str(handle.get_label()), ENTRY) + _HANDLE for handle in handles]
    for count in range(len(room), 1, -1):
        rows = math.ceil(len(room) / count)
        if math.ceil(len(room) / rows) < count:  # fewer columns have no more rows
            continue
        full = len(room) % count or count  # columns that have all rows
        starts = itertools.accumulate((rows if column < full else rows - 1 for column in range(count)), initial=0)
        widths = [max(room[begin:end]) for begin, end in itertools.pairwise(starts) if room[begin:end]]
        if sum(widths) <= 0.95 * width:
            return count
    return 1


def _mark(chart: Chart, label: str) -> dict[str, Any]:
    return {
        "color": NEUTRAL,
        "linewidth": 0.7,
        "linestyle": dash(chart.marks.index(label) + 1),
    }
