"""Awkward sweeps: nothing that is written in a figure lies over anything else that is, or outside of the figure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text

import ackclock
from ackclock import Result
from ackclock.drawing.layout import WIDTHS
from ackclock.drawing.plot import figure, specify
from ackclock.drawing.selection import Request
from ackclock.drawing.wrapping import parted
from synthetic import Params, made

TWELVE = ("reno", "cubic", "bbr1", "bbr3", "vegas", "htcp", "bic", "copa", "ledbat", "illinois", "westwood+", "dctcp")
LONG = (
    "python:my_package.controllers.experimental:AdaptiveBandwidthController(gain=1.25, variant=second)",
    "cubic(beta=0.85, variant=linux, fast_convergence=false)",
    "python:my_package.controllers.other:AdaptiveBandwidthController",
)
RTTS = ("10 ms", "20 ms", "50 ms", "100 ms", "200 ms")
RATES = ("100 kbit/s", "1 Mbit/s", "10 Mbit/s", "100 Mbit/s", "1 Gbit/s", "10 Gbit/s")


def run(goodput: float, delay: float | None = 0.02, **others: Any) -> dict[str, Any]:
    return {"goodput_bps": goodput, "p95_delay_s": delay, "p95_queue_delay_s": delay, **others}


def several(mean: float, count: int = 5, delay: float = 0.02) -> list[dict[str, Any]]:
    """Runs around a mean, the same every time."""
    return [
        run(mean * (1 + 0.05 * math.sin(7 * number)), delay * (1 + 0.2 * math.cos(5 * number)))
        for number in range(count)
    ]


def over(key: str, values: tuple[Any, ...], ccs: tuple[str, ...] = ("reno", "cubic"), count: int = 5) -> Result:
    points: list[Params] = [{key: value, "cc": cc} for value in values for cc in ccs]
    return made(points, [several(1e6 * (1 + number), count, 0.01 * (1 + number)) for number in range(len(points))])


def of(points: list[Params], goodputs: list[list[float | None]]) -> Result:
    return made(points, [[run(each) for each in own] for own in goodputs])  # type: ignore[arg-type]


def grid(
    ccs: tuple[str, ...] = ("reno", "cubic"), rates: tuple[str, ...] = RATES, rtts: tuple[str, ...] = RTTS
) -> Result:
    points: list[Params] = [
        {"topology.rate": rate, "topology.rtt": rtt, "cc": cc} for rate in rates for rtt in rtts for cc in ccs
    ]
    return made(points, [several(1e5 * 2 ** (number % 17), 3) for number in range(len(points))])


def words(key: str, values: tuple[str, ...]) -> Result:
    return made([{key: value} for value in values], [several(1e6 * (1 + n)) for n in range(len(values))])


def recorded(count: int = 6, **swept: Any) -> Result:
    scenario = {
        "topology": {"kind": "dumbbell", "rate": "5 Mbit/s", "rtt": "20 ms", "queue": "1 BDP"} | swept,
        "flows": [{"cc": "cubic", "count": count}, {"cc": "reno", "start": "500 ms"}, {"cc": "bbr1", "count": 3}],
        "run": {"duration": "2 s", "warmup": "500 ms"},
        "probes": {"interval": "20 ms", "sent": "20 ms"},
    }
    return ackclock.run(scenario, jobs=1)


def pages(**swept: Any) -> Result:
    """Users of a cell who load pages, and of whom all series are there."""
    app = {"kind": "web", "first": "0 s", "objects_table": True, "objects": 30, "connections": 6}
    scenario = {
        "topology": {"kind": "lte_cell", "rtt": "20 ms", "power": "43 dBm", "users": 3} | swept,
        "flows": [{"cc": "cubic", "app": app}],
        "run": {"duration": "2 s", "replications": 2},
        "probes": {"rho_rb": "100 ms", "user_rate": "100 ms", "user_queue_age": "100 ms"},
    }
    return ackclock.run(scenario, jobs=1)


NAN = math.nan
SWEEPS: dict[str, tuple[Callable[[], Result], dict[str, Any]]] = {
    "twelve algorithms": (lambda: over("topology.rtt", RTTS, TWELVE), {}),
    "twelve algorithms as boxes": (lambda: over("topology.rtt", ("20 ms",), TWELVE), {}),
    "twelve algorithms as ellipses": (lambda: over("topology.rtt", ("20 ms",), TWELVE), {"kind": "pareto"}),
    "twelve algorithms as distributions": (
        lambda: over("topology.rtt", ("20 ms",), TWELVE, 12), {"kind": "ecdf", "y": ("goodput_bps",)},
    ),
    "long names": (lambda: over("topology.rtt", RTTS, LONG), {}),
    "long names as boxes": (lambda: over("topology.rtt", ("20 ms",), LONG), {}),
    "long names as ellipses": (lambda: over("topology.rtt", ("20 ms", "40 ms"), LONG), {"kind": "pareto"}),
    "one point": (lambda: over("topology.rtt", ("20 ms",), ("reno",)), {"kind": "box"}),
    "one point as a curve": (lambda: over("topology.rtt", ("20 ms",), ("reno",)), {"kind": "curve", "x": "rtt"}),
    "one replication": (lambda: over("topology.rtt", RTTS, count=1), {}),
    "replications that are the same": (lambda: of([{"cc": cc} for cc in TWELVE[:3]], [[1e6] * 5] * 3), {}),
    "a single value everywhere": (lambda: of([{"topology.rtt": rtt} for rtt in RTTS], [[1e6] * 3] * 5), {}),
    "five decades": (lambda: made([{"topology.rate": rate, "cc": "reno"} for rate in RATES],
                                  [several(10.0 ** (5 + n)) for n in range(6)]), {"y": ("goodput_bps",)}),
    "five decades in facets": (
        lambda: grid(rtts=RTTS[:3]), {"facet": "rtt", "x": "rate", "y": ("goodput_bps",)},
    ),
    "zeros on a logarithmic axis": (
        lambda: of([{"topology.rtt": rtt} for rtt in RTTS], [[0.0], [1e3], [1e5], [1e7], [0.0]]), {},
    ),
    "only zeros": (lambda: of([{"topology.rtt": rtt} for rtt in RTTS], [[0.0, 0.0]] * 5), {}),
    "many values of two more keys as ellipses": (grid, {"kind": "pareto"}),
    "many values of two more keys as boxes": (grid, {"kind": "box"}),
    "many values of another key as a curve": (
        lambda: grid(TWELVE[:2], RATES, tuple(f"{n}0 ms" for n in range(1, 12))),
        {"kind": "curve", "x": "rate", "y": ("goodput_bps",)},
    ),
    "many values of another key as distributions": (grid, {"kind": "ecdf", "y": ("goodput_bps",)}),
    "a large grid in many panels": (
        lambda: grid(TWELVE, RATES, tuple(f"{n} ms" for n in range(1, 13))),
        {"kind": "heatmap", "y": ("goodput_bps",)},
    ),
    "ellipses in three panels": (
        lambda: of([{"topology.rtt": rtt, "cc": cc} for rtt in RTTS[:3] for cc in TWELVE[:3]], [[1e6 + n] * 3
                   for n in range(9)]), {"kind": "pareto"},
    ),
    "everything is the same": (lambda: of([{"topology.rtt": rtt, "cc": cc} for rtt in RTTS for cc in TWELVE],
                                          [[1e6] * 3] * 60), {}),
    "much that is said": (
        lambda: of([{"topology.rtt": rtt, "cc": cc, "run.x": f"mode {n}"} for rtt in (*RTTS, "many")
                    for cc in LONG for n in range(11)], [[1e6, 2e6]] * 198),
        {"kind": "curve", "x": "rtt", "by": "cc"},
    ),
    "a key as legend": (lambda: over("topology.queue.kind", ("droptail", "red", "codel", "fq_codel"), ("reno",)), {}),
    "shares near one": (lambda: made([{"topology.rate": rate} for rate in RATES],
                                     [[{"utilisation": 0.98 + n / 1e3}] for n in range(6)]), {}),
    "not a number": (
        lambda: of([{"topology.rtt": rtt} for rtt in RTTS], [[1e6], [None], [2e6], [None], [3e6]]), {},
    ),
    "failed runs": (lambda: of([{"topology.rtt": rtt, "cc": cc} for rtt in RTTS for cc in ("reno", "bic")],
                               [[1e6, 2e6], []] * 5), {}),
    "a negative metric": (lambda: over("topology.rtt", RTTS), {"y": ("proportional_fairness",)}),
    "a long name beside low panels": (
        lambda: grid(("reno",), RATES[:2]), {"kind": "curve", "x": "rtt", "y": ("p95_queue_delay_s",)},
    ),
    "an index": (lambda: over("topology.rtt", RTTS), {"y": ("jain",)}),
    "unicode": (lambda: words("topology.name", ("Köln–Århus", "Київ", "Ελλάδα", "naïve ½ µs")), {}),
    "names along x": (lambda: over("topology.queue.kind", ("droptail", "red", "codel", "fq_codel", "dualpi2", "pie")),
                      {"kind": "curve", "x": "topology.queue.kind"}),
    "many values of x": (lambda: over("topology.rtt", tuple(f"{n} ms" for n in range(5, 205, 5))), {}),
    "uneven values of x": (lambda: over("topology.rtt", ("1 ms", "1.1 ms", "1.2 ms", "1 s")), {}),
    "thirty names": (lambda: words("flows.profile", tuple(f"profile number {n}" for n in range(30))), {}),
    "a grid": (grid, {"kind": "heatmap", "y": ("goodput_bps",)}),
    "a grid of shares that are the same": (grid, {"kind": "heatmap"}),
    "a grid of one": (lambda: grid(("reno",)), {"kind": "heatmap"}),
    "a large grid": (
        lambda: grid(("reno",), tuple(f"{n} Mbit/s" for n in range(1, 16)), tuple(f"{n} ms" for n in range(1, 13))),
        {"kind": "heatmap", "y": ("goodput_bps",)},
    ),
    "nine facets": (
        lambda: over("topology.rtt", tuple(f"{n}0 ms" for n in range(1, 10)), ("reno", "cubic")),
        {"kind": "box", "facet": "rtt"},
    ),
    "nine facets of ellipses": (
        lambda: over("topology.rtt", tuple(f"{n}0 ms" for n in range(1, 10)), TWELVE[:4]),
        {"kind": "pareto", "facet": "rtt"},
    ),
    "large numbers": (lambda: of([{"run.count": n} for n in (1, 10**6, 10**9)], [[1e12], [9e14], [3e14]]), {}),
    "flows over time": (recorded, {"kind": "timeseries"}),
    "points over time": (lambda: recorded(rtt=["20 ms", "60 ms", "100 ms", "140 ms"]), {"kind": "timeseries"}),
    "all series": (recorded, {"kind": "timeseries", "y": ("cwnd", "srtt", "sent", "delivered", "queue", "goodput")}),
    "shares": (recorded, {"kind": "share"}),
    "convergence": (recorded, {"kind": "convergence"}),
    "convergence of single flows": (lambda: recorded(3), {"kind": "convergence"}),
    "shares of single flows": (lambda: recorded(3), {"kind": "share"}),
    "sequences": (recorded, {"kind": "sequence"}),
    "a map": (lambda: pages(rtt=["20 ms", "100 ms"], users=[2, 3]), {"kind": "map"}),
    "a map of many users": (lambda: pages(users=200), {"kind": "map"}),
    "maps": (lambda: pages(users=[1, 20, 30]), {"kind": "map", "facet": "users"}),
    "a map of kilometres": (
        lambda: pages(users=2, places=[{"distance": "3 km"}, {"distance": "90 m"}]), {"kind": "map"},
    ),
    "a page": (lambda: pages(rtt=["20 ms", "100 ms"]), {"kind": "waterfall"}),
    "a cell over time": (pages, {"kind": "timeseries"}),
}  # fmt: skip


def test_five_decades_are_drawn_as_such() -> None:
    for name in ("five decades", "five decades in facets"):
        result, asked = SWEEPS[name]
        chart = specify(result(), Request(**asked)).chart
        drawn = [y for curve in chart.curves for y in curve.y]
        assert chart.y.log, name
        assert max(drawn) / min(drawn) >= 1e4, name


def written(drawn: Figure) -> Iterator[Text]:
    """Every text of a figure that is seen."""
    for axes in drawn.axes:
        if not axes.get_visible():
            continue
        yield from (axes.title, *axes.texts)
        if axes.axison:
            axis: Axis
            for axis in (axes.xaxis, axes.yaxis):
                yield axis.label
                yield axis.get_offset_text()
                low, high = sorted(axis.get_view_interval())
                for tick in axis.get_major_ticks():
                    if low - 1e-9 <= tick.get_loc() <= high + 1e-9:
                        yield from (tick.label1, tick.label2)
    for legend in drawn.legends:
        yield from legend.get_texts()


def corners(text: Text) -> np.ndarray[Any, Any]:
    """The box of a text, turned as it is, in pixels."""
    turn = text.get_rotation()
    if turn in (0, 90):
        box = text.get_window_extent()
        return np.array([[box.x0, box.y0], [box.x1, box.y0], [box.x1, box.y1], [box.x0, box.y1]])
    assert (text.get_ha(), text.get_rotation_mode()) == ("right", "anchor"), "only names of x are turned otherwise"
    x, y = text.get_transform().transform(text.get_position())
    text.set_rotation(0)
    box = text.get_window_extent()
    text.set_rotation(turn)
    flat = np.array([[box.x0, box.y0], [box.x1, box.y0], [box.x1, box.y1], [box.x0, box.y1]]) - (x, y)
    c, s = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    return flat @ np.array([[c, s], [-s, c]]) + (x, y)


def overlap(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    """By how many pixels two boxes lie over each other; not above 0 if a line separates them."""
    depths = []
    for box in (one, other):
        for edge in (box[1] - box[0], box[2] - box[1]):
            normal = np.array([-edge[1], edge[0]]) / np.hypot(*edge)
            a, b = one @ normal, other @ normal
            depths.append(min(a.max(), b.max()) - max(a.min(), b.min()))
    return min(depths)


@pytest.mark.parametrize("width", list(WIDTHS))
@pytest.mark.parametrize("name", list(SWEEPS))
def test_nothing_written_lies_over_anything_else(name: str, width: str) -> None:
    make, asked = SWEEPS[name]
    drawn = figure(specify(make(), Request(**asked)).chart, width)
    drawn.draw_without_rendering()
    texts = [text for text in written(drawn) if text.get_visible() and text.get_text().strip()]
    assert texts
    boxes = [(text.get_text(), corners(text)) for text in texts]
    right, top = drawn.bbox.size
    for words, box in boxes:
        assert box.min() > -1, f"{words} leaves the figure"
        assert box[:, 0].max() < right + 1, f"{words} leaves the figure"
        assert box[:, 1].max() < top + 1, f"{words} leaves the figure"
    for (first, one), (second, other) in itertools.combinations(boxes, 2):
        assert overlap(one, other) < 1, (first, second)
    assert drawn.get_figwidth() == WIDTHS[width]


def test_there_are_thirty_of_them_and_more() -> None:
    assert len(SWEEPS) >= 30


@pytest.mark.parametrize(
    ("title", "lines"),
    [
        ("cubic, queue = droptail", ["cubic,", "queue = droptail"]),
        ("cubic, RTT = 20 ms, queue limit = 0.5 BDP", ["cubic, RTT = 20 ms,", "queue limit = 0.5 BDP"]),
        ("queue = droptail(limit=500 packets)", ["queue = droptail", "(limit=500 packets)"]),
        ("queue = droptail(limit=9 packets, max_age=3 s)", ["queue = droptail", "(limit=9 packets,", "max_age=3 s)"]),
        ("queue management = droptail", ["queue management =", "droptail"]),
        ("a name without an end that goes on = 20 ms", ["a name without an end", "that goes on = 20 ms"]),
        ("(odd, = (x) = y", ["(odd, = (x) = y"]),
        ("", [""]),
    ],
)
def test_titles_break_where_a_reader_would(title: str, lines: list[str]) -> None:
    assert parted(title, 1.3, 8).split("\n") == lines
