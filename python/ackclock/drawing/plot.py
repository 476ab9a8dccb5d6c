"""The figure of a result: what suits it unless something is asked for, as data, as a picture, and said in a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

from ackclock.drawing import curves, defaults, distributions, maps, overtime, sequence, summaries, waterfall
from ackclock.drawing.chart import Chart
from ackclock.drawing.layers import QUARTILES
from ackclock.drawing.layout import WIDTHS
from ackclock.drawing.remarks import lines, subtitle
from ackclock.drawing.selection import Request, Selection
from ackclock.drawing.style import RC
from ackclock.drawing.traces import GOODPUT
from ackclock.errors import InputError, unknown
from ackclock.results.manifest import captured
from ackclock.results.result import Result
from ackclock.results.single_runs import KNOWN
from ackclock.results.validity import only
from ackclock.series import CELL, USER

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAKE: Mapping[str, Callable[[Selection], Chart]] = {
    "curve": summaries.curve,
    "ecdf": distributions.ecdf,
    "box": summaries.box,
    "pareto": summaries.pareto,
    "heatmap": summaries.heatmap,
    "fct": distributions.fct,
    "timeseries": overtime.timeseries,
    "share": overtime.share,
    "convergence": overtime.convergence,
    "sequence": sequence.sequence,
    "map": maps.users_map,
    "waterfall": waterfall.waterfall,
}
KINDS = tuple(_MAKE)
"""Kinds of figures."""

_OVER_TIME = ("timeseries", "share", "convergence", "sequence")
_OF_USERS, _OF_PAGE = ("timeseries", "map", "waterfall"), ("waterfall",)
_OF_SEQUENCE = ("sequence",)
_OF_A_RUN = ("map", "waterfall")
_FEW_STEPS = 4  # values of a second number that have a panel each; more make a grid


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure as data, and what to say of it."""

    chart: Chart
    kind: str
    says: str
    """What it shows."""
    others: tuple[str, ...]
    """Other kinds that fit the result."""
    notes: tuple[str, ...] = ()
    """What was held, chosen or left out, and how to see the rest."""


def specify(result: Result, request: Request | None = None) -> Drawing:
    """What a figure of `result` shows. Raises :class:`ackclock.InputError` with what would be right."""
    request = request or Request()
    if request.kind is not None and request.kind not in KINDS:
        problem = unknown("kind", request.kind, KINDS)
        raise InputError(problem.problem, problem.remedy, key="kind")
    selection = Selection(result, request)
    fitting = _fitting(selection)
    kind = request.kind or _suitable(selection, fitting)
    _people(request, kind)
    chart = _MAKE[kind](selection)
    if all(panel.empty for panel in chart.panels):
        raise InputError("there is nothing to draw", f"kinds that fit: {', '.join(fitting)}", key="kind")
    if kind not in (*_OVER_TIME, *_OF_A_RUN):
        defaults.of_all_flows(selection)
    others = tuple(each for each in fitting if each != kind)
    chart = replace(chart, note=subtitle(selection.remarks), legend="" if kind in _OF_A_RUN else _legend(selection))
    return Drawing(chart, kind, _said(kind, chart, selection), others, lines(selection.remarks))


def _people(request: Request, kind: str) -> None:
    """Refuse users, pages, connections and times where a figure is of all of them."""
    asked = (
        ("user", bool(request.user), _OF_USERS),
        ("page", request.page is not None, _OF_PAGE),
        ("connection", bool(request.connection), _OF_SEQUENCE),
        ("from", request.start is not None, _OF_SEQUENCE),
        ("to", request.end is not None, _OF_SEQUENCE),
    )
    for option, given, kinds in asked:
        if given and kind not in kinds:
            what = "a part of the time" if option in ("from", "to") else f"single {option}s"
            problem = f"{kind} is not of {what}"
            raise InputError(problem, f"leave --{option} out, or draw --kind {' or '.join(kinds)}", key=option)


def plot(
    result: Result,
    kind: str | None = None,
    x: str | None = None,
    y: str | Sequence[str] | None = None,
    by: str | None = None,
    facet: str | None = None,
    where: Mapping[str, Any] | None = None,
    width: str | float = "column",
    user: int | Sequence[int] | None = None,
    page: int | None = None,
    connection: int | str | Sequence[int | str] | None = None,
    start: float | None = None,
    end: float | None = None,
) -> Figure:
    """The figure that ``ackclock plot`` writes; what the arguments mean, and what is refused: :meth:`Result.plot`."""
    rows = () if y is None else (y,) if isinstance(y, str) else tuple(y)
    chosen = {key: str(value) for key, value in (where or {}).items()}
    users = () if user is None else (user,) if isinstance(user, int) else tuple(user)
    named = () if connection is None else (connection,) if isinstance(connection, int | str) else tuple(connection)
    numbers = tuple(str(each) for each in named)
    asked = Request(kind, x, rows, by, facet, chosen, users, page, numbers, start, end)
    return figure(specify(only(result), asked).chart, width)


def figure(chart: Chart, width: str | float = "column") -> Figure:
    """A chart as a picture."""
    if isinstance(width, str) and width not in WIDTHS:
        problem = unknown("width", width, WIDTHS)
        raise InputError(problem.problem, problem.remedy, key="width")
    with mpl.rc_context(RC):
        return curves.draw(chart, WIDTHS[width] if isinstance(width, str) else width)


def _suitable(selection: Selection, fitting: tuple[str, ...]) -> str:
    """The kind for a result of which nothing else is known."""
    request = selection.request
    if request.x in KNOWN:
        return "pareto"
    if request.x is not None:
        return "curve"
    if request.y and all(name in distributions.TRANSFER for name in request.y):
        return "ecdf"
    if request.y and request.y[0] not in KNOWN and request.y[0] in overtime.SHOWN:
        return "timeseries"
    measured = bool(request.y)
    if request.page is not None:
        return "waterfall"
    if request.connection or request.start is not None or request.end is not None:
        return "sequence"
    if request.user:
        return next((kind for kind in _OF_USERS if kind in fitting), "timeseries")
    if selection.numeric:
        two = len(selection.numeric) > 1 and len(selection.steps(selection.numeric[1])) > _FEW_STEPS
        return "heatmap" if two and request.facet is None else "curve"
    alone = len(selection.points) == 1 and not measured
    if alone and not set(overtime.recorded(selection.result)).isdisjoint((*CELL, *USER)):
        return "timeseries"  # nobody records a cell for anything else
    if "ecdf" in fitting and not measured and distributions.completed(selection):
        return "ecdf"
    if "timeseries" in fitting and alone:
        return "timeseries"
    return "box"


def _fitting(selection: Selection) -> tuple[str, ...]:
    """The kinds that a result has the data for."""
    there = overtime.recorded(selection.result)
    has = {
        "curve": bool(selection.numeric),
        "heatmap": len(selection.numeric) > 1,
        "box": selection.has(defaults.GOODPUT),
        "pareto": any(map(selection.has, summaries.DELAYS)) and not selection.grouped,
        "ecdf": distributions.completed(selection),
        "fct": distributions.completed(selection),
        "timeseries": bool(there),
        "share": GOODPUT in there,
        "convergence": GOODPUT in there,
        "sequence": "delivered" in there or "sent" in there or sequence.has_segments(selection.result),
        "map": maps.drawable(selection),
        "waterfall": waterfall.drawable(selection),
    }
    return tuple(kind for kind in KINDS if has[kind])


def _legend(selection: Selection) -> str:
    """What the candidates are values of, where their names do not say it, as those of controllers do."""
    return "" if selection.by is None or selection.by.controllers else selection.by.short


def _said(kind: str, chart: Chart, selection: Selection) -> str:
    """A figure in a line: what it shows of what."""
    by = "" if selection.by is None else f" by {selection.by.name}"
    by = " by group of flows" if selection.grouped else by
    if kind == "sequence" and captured(selection.result.manifest):
        return sequence.said(chart)
    if kind in _OVER_TIME:
        rows = list(dict.fromkeys((panel.y or chart.y).label for panel in chart.panels))
        return f"{', '.join(rows)} over time"
    if kind == "map":
        users = sum(len(panel.map.spots) for panel in chart.panels if panel.map)
        return f"{chart.z.label if chart.z else ''} of {users} user{'s' if users > 1 else ''} around the base station"
    if kind == "waterfall":
        return chart.panels[0].title
    if kind == "heatmap":
        return (
            f"{chart.z.label if chart.z else ''} over {chart.x.label} and {chart.y.label}{by}{_known(chart, selection)}"
        )
    if kind == "ecdf":
        return f"distribution of {chart.x.label}{by}"
    if kind == "box":
        several = any(len(box.values) >= QUARTILES for panel in chart.panels for box in panel.boxes)
        return f"{chart.x.label}{by}: runs{', quartiles' if several else ''}{_known(chart, selection)}"
    if kind == "pareto":
        ellipses = any(cloud.outline for panel in chart.panels for cloud in panel.clouds)
        means = "means, geometric on logarithmic axes," if chart.x.log or chart.y.log else "means"
        what = f", {means} and ellipses of one standard deviation of the runs" if ellipses else ""
        return f"{chart.y.label} against {chart.x.label.removesuffix(summaries.REVERSED)}{by}{what}"
    return f"{chart.y.label} over {chart.x.label}{by}{_known(chart, selection)}"


def _known(chart: Chart, selection: Selection) -> str:
    """Of how many runs its values are means, and whether their intervals are drawn."""
    if selection.replications < 2:
        return ""
    lines = any(len(curve.low) for curve in chart.curves)
    drawn = lines or any(box.low is not None for panel in chart.panels for box in panel.boxes)
    intervals = " with 95 % intervals" if drawn else ""
    what = selection.repeats.partition(" ")[2]
    same = "" if drawn or chart.z is not None else f" ({what} that are the same have no interval)"
    return f", means of {selection.repeats}{intervals}{same}"
