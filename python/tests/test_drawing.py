"""Figures of curves: what is drawn can be read, and is what the numbers say."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ackclock import engine
from ackclock.drawing import curves, intervals
from ackclock.drawing.curves import Chart, Curve, Panel, Scale, Straight
from ackclock.drawing.style import RC, look, styles
from ackclock.drawing.ticks import log_ticks
from ackclock.drawing.wrapping import fitted, inches

LOG = Scale("y", log=True)


def chart(*found: Curve, x: Scale | None = None, y: Scale | None = None, title: str = "t") -> Chart:
    return Chart(title, x or Scale("x"), y or Scale("y"), (Panel("", found),))


def drawn(given: Chart) -> Figure:
    with mpl.rc_context(RC):
        figure = curves.draw(given)
        figure.draw_without_rendering()
    return figure


def legend(given: Chart) -> list[str]:
    return [entry.get_text() for entry in drawn(given).legends[0].get_texts()]


def segments(given: Chart) -> list[Any]:
    """The bars of intervals: of each its two ends."""
    bars = [item for item in drawn(given).axes[0].collections if isinstance(item, LineCollection)]
    return [segment.tolist() for item in bars for segment in item.get_segments()]


def test_bars_stand_beside_each_other_from_zero() -> None:
    found = [
        Curve(name, (0, 1), values, (1.0, -2.0), (3.0, 1.0), bars=True)
        for name, values in (("a", (2.0, -1.0)), ("b", (1.5, 0.5)), ("c", (2.5, math.nan)))
    ]
    given = chart(*found, x=Scale("x", ticks=("one", "two")))
    axes = drawn(given).axes[0]
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    ends = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars)
    assert len(bars) == 6
    assert all(left <= right for (_, left), (right, _) in itertools.pairwise(ends))
    assert all(round(left + 0.001) == round(right - 0.001) for left, right in ends), "within the room of a name"
    assert {(bar.get_y(), bar.get_height()) for bar in bars if not math.isnan(bar.get_height())} == {
        (0, 2), (0, -1), (0, 1.5), (0, 0.5), (0, 2.5),
    }  # fmt: skip
    assert len({bar.get_hatch() for bar in bars}) == 3, "a print without colours"
    assert legend(given) == ["a", "b", "c"]
    assert len(segments(given)) >= 6
    without = chart(Curve("a", (0,), (2.0,), bars=True), x=Scale("x", ticks=("one",)))
    assert len(drawn(without).axes[0].patches) == 1
    assert segments(without) == []


def test_titles_keep_within_the_figure() -> None:
    for title in ("Rate of the shorter RTT over that of the longer, the first flow with 160 ms (figure 4)", "m" * 120):
        figure = drawn(chart(Curve("reno", (1,), (1,)), title=title))
        suptitle = figure._suptitle  # type: ignore[attr-defined]
        box = suptitle.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert suptitle.get_text().replace("\n", "").replace(" ", "") == title.replace(" ", "")


def test_lines_break_between_words() -> None:
    with mpl.rc_context(RC):
        whole = fitted("one two three", 0.5, 8)
        assert whole.split() == ["one", "two", "three"]
        assert all(inches(line, 8) <= 0.5 for line in whole.split("\n"))


def test_intervals_of_a_single_place_are_drawn() -> None:
    ((low, high),) = segments(chart(Curve("reno", (16,), (2.0,), (1.5,), (2.5,))))
    assert (low[1], high[1]) == (1.5, 2.5)


def test_an_axis_does_not_make_much_of_nothing() -> None:
    axes = drawn(chart(Curve("reno", (16, 40), (12.06650, 12.06655)), y=Scale("y"))).axes[0]
    low, high = axes.get_ylim()
    assert 0.0199 * 12 < high - low < 0.03 * 12
    assert low < 12.0665 < high
    assert not axes.yaxis.get_major_formatter().get_offset()  # type: ignore[attr-defined]
    wide = drawn(chart(Curve("reno", (16, 40), (11.0, 12.0)))).axes[0].get_ylim()
    assert wide[1] - wide[0] < 1.2


def test_bars_stand_beside_each_other() -> None:
    found = [Curve(cc, (16, 40), (2, 3), (1, 2), (3, 4)) for cc in ("reno", "cubic", "htcp", "bic")]
    for x in (Scale("x"), Scale("x", log=True)):
        bars = segments(chart(*found, x=x, y=LOG))
        assert len(bars) == 8
        assert len({low[0] for low, _ in bars}) == 8
        assert not [item for item in drawn(chart(*found, x=x)).axes[0].collections if isinstance(item, PolyCollection)]


def moved(given: Chart) -> tuple[Any, list[list[float]]]:
    """The axes, and where the points of each curve stand."""
    axes = drawn(given).axes[0]
    return axes, [list(line.get_xdata()) for line in axes.lines if line.get_linestyle() != "None"]


@pytest.mark.parametrize("count", [2, 4, 11, 40])
@pytest.mark.parametrize(
    ("x", "places"),
    [
        (Scale("x"), (16, 40, 80)),
        (Scale("x"), (0, 1, 100)),
        (Scale("x", low=15, high=41), (0, 16, 40, 100)),
        (Scale("x"), (16,)),
        (Scale("x", log=True), (16, 40, 80, 160, 320)),
        (Scale("x", log=True), (0.01, 0.02, 0.04, 1)),
        (Scale("x", log=True), (1, 1.01, 1000)),
        (Scale("x", log=True, low=1, high=1.2), (1, 1.1, 1.2)),
        (Scale("x", log=True), (16,)),
    ],
)
def test_points_are_moved_so_little_that_nobody_reads_another_x(
    x: Scale, places: tuple[float, ...], count: int
) -> None:
    y = (2.0,) * len(places)
    found = [Curve(f"line {number}", places, y, (1.0,) * len(y), (3.0,) * len(y)) for number in range(count)]
    axes, drawn_at = moved(chart(*found, x=x))
    assert len(drawn_at) == count
    assert len({at[0] for at in drawn_at}) == count, "beside each other"
    scaled = np.log10 if x.log else np.asarray
    aside = np.abs(scaled(np.array(drawn_at)) - scaled(np.array(places, dtype=float)))
    left, right = axes.get_xlim()
    assert aside.max() <= 0.015 * (scaled(right) - scaled(left)) + 1e-9
    if len(places) > 1:
        assert aside.max() <= np.diff(scaled(np.array(places, dtype=float))).min() / 6 + 1e-9
    if x.log:
        assert (np.array(drawn_at) / np.array(places)).max() <= 1.04 + 1e-9


def test_curves_around_names_have_room() -> None:
    found = [Curve(level, (0, 1), (2, 3), (1, 2), (3, 4)) for level in ("60 %", "85 %", "110 %")]
    places = [low[0] for low, _ in segments(chart(*found, x=Scale("controller", ticks=("reno", "cubic"))))]
    assert sorted(places) == pytest.approx([-0.2, 0, 0.2, 0.8, 1, 1.2])


def test_long_lines_have_bands() -> None:
    x = tuple(range(40))
    found = Curve("reno", x, x, tuple(at - 1 for at in x), tuple(at + 1 for at in x))
    assert segments(chart(found)) == []
    assert [item for item in drawn(chart(found)).axes[0].collections if isinstance(item, PolyCollection)]


def test_a_bar_that_leaves_a_logarithmic_axis_ends_there_with_an_arrow() -> None:
    given = chart(Curve("reno", (1, 2), (5.0, 5.0), (-3.0, 4.0), (7.0, 6.0)), y=LOG)
    axes = drawn(given).axes[0]
    (first, second) = segments(given)
    floor = axes.get_ylim()[0]
    assert 0.4 < floor < 5
    assert first[0][1] == pytest.approx(floor)
    assert second[0][1] == 4
    arrows = [line for line in axes.lines if line.get_marker() is intervals.DOWN]
    assert [line.get_xydata().tolist() for line in arrows] == [[first[0]]]


def test_extreme_intervals_do_not_squash_the_points() -> None:
    given = chart(Curve("reno", (1, 2), (5.0, 6.0), (1e-9, 4.0), (7.0, 1e9)), y=LOG)
    low, high = drawn(given).axes[0].get_ylim()
    assert low > 0.3
    assert high < 80


def test_names_are_not_joined_by_lines() -> None:
    names = Scale("controller", ticks=("reno", "cubic"))
    found = [Curve(level, (0, 1), (2, 3), (1, 2), (3, 4)) for level in ("60 %", "85 %", "110 %")]
    axes = drawn(chart(*found, x=names)).axes[0]
    levels = [line for line in axes.lines if line.get_marker() not in ("_", 6, 7)]
    assert [line.get_linestyle() for line in levels] == ["None"] * 3
    assert len({(line.get_color(), line.get_marker()) for line in levels}) == 3
    assert len({line.get_color() for line in levels}) == len({line.get_marker() for line in levels}) == 3


def test_the_legend_says_what_is_drawn_and_nothing_else() -> None:
    assert legend(chart(Curve("fast(alpha=100)", (0.2,), (87.7,)))) == ["fast(alpha=100)"]
    empty = Curve("bbr3", (), ())
    assert legend(chart(Curve("reno", (1,), (1,)), empty, Curve("bic", (1,), (float("nan"),)))) == ["reno"]
    zero = [Curve("reno", (1, 2), (1, 2)), Curve("vegas", (1, 2), (0, 0))]
    assert legend(chart(*zero, y=LOG)) == ["reno", "vegas: 0"]
    assert legend(chart(*zero)) == ["reno", "vegas"]


def test_a_zero_on_a_logarithmic_axis_is_an_arrow() -> None:
    axes = drawn(chart(Curve("reno", (1, 2, 3), (1, 0, 2)), y=LOG)).axes[0]
    (arrow,) = (line for line in axes.lines if line.get_marker() is intervals.DOWN)
    assert arrow.get_xydata().tolist() == [[2, pytest.approx(axes.get_ylim()[0])]]


def test_a_panel_without_data_says_so() -> None:
    given = Chart("t", Scale("x"), Scale("y"), (Panel("a", (Curve("reno", (1,), (1,)),)), Panel("b", ())))
    assert [[text.get_text() for text in axes.texts] for axes in drawn(given).axes] == [[], ["no data"]]
    assert drawn(Chart("t", Scale("x", log=True), LOG, (Panel("", ()),))).legends == []


def test_a_line_under_another_is_wider() -> None:
    x = tuple(range(20))
    found = [Curve(name, x, tuple(y + 0.01 * at for at in x)) for name, y in (("cubic", 99), ("reno", 99), ("bic", 50))]
    under, over, other = drawn(chart(*found)).axes[0].lines
    assert under.get_linewidth() > over.get_linewidth() == other.get_linewidth()
    assert under.get_markersize() > over.get_markersize()
    assert legend(chart(*found)) == ["cubic (wide: under another)", "reno", "bic"]


def test_a_few_points_that_are_the_same_stand_beside_each_other() -> None:
    lines = drawn(chart(*(Curve(name, (1, 2, 3), (5, 6, 7)) for name in ("cubic", "reno", "bic")))).axes[0].lines
    assert {line.get_linewidth() for line in lines} == {0.9}
    assert len({tuple(line.get_xdata()) for line in lines}) == 3


def test_many_lines_under_each_other_are_not_ever_wider() -> None:
    x = tuple(range(20))
    lines = drawn(chart(*(Curve(f"line {number}", x, x) for number in range(9)))).axes[0].lines
    assert max(line.get_linewidth() for line in lines) < 4


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (4.5, 70, [5, 10, 20, 50]),
        (0.05, 200, [0.1, 1, 10, 100]),
        (21, 45, [30, 40]),
        (2, 2.6, [2, 2.5]),
        (6, 60, [10, 20, 50]),
    ],
)
def test_logarithmic_ticks_are_plain_numbers(low: float, high: float, expected: list[float]) -> None:
    found = log_ticks(low, high)
    assert set(expected) <= set(found)
    assert len(found) <= 7
    assert all(low <= value <= high for value in found)


def test_ticks_are_written_without_powers() -> None:
    axes = drawn(chart(Curve("reno", (16, 40), (6.5, 60)), x=Scale("x", log=True), y=LOG)).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["10", "20", "50"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["16", "40"]
    assert [label.get_text() for label in axes.get_yticklabels(minor=True)] == []


def test_every_algorithm_has_a_look_of_its_own() -> None:
    for names in (engine.catalogue().controllers, engine.catalogue().slow_starts):
        looks = [look(name) for name in names]
        assert len(set(looks)) == len(looks)
        assert look("python:mine:MyCC").colour not in [each.colour for each in looks]
        assert look("python:mine:MyCC").marker not in [each.marker for each in looks]


# Machado, Oliveira and Fernandes 2009, severity 1: linear RGB as one without red or green receptors sees it.
_SEEN = (
    np.eye(3),
    np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
)
_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def lab(colour: str, seen: Any) -> Any:
    """CIE 1976 L*a*b* of a colour, white D65."""
    rgb = np.array(mpl.colors.to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(_XYZ @ np.clip(seen @ linear, 0, 1) / np.array([0.95047, 1, 1.08883]))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize(
    "together",
    [
        "reno cubic bic highspeed scalable htcp fast bbr1 bbr3 python:a:B",  # studies/high-bdp
        "reno cubic htcp bbr1 bbr3 vegas python:a:B",  # studies/tcp-evaluation-suite
        "tahoe reno newreno cubic vegas",
        "cubic|formula, 0.7|formula, 0.5|reno",  # studies/parallel-tcp
        "60 %|85 %|110 %",
    ],
)
def test_lines_that_are_compared_can_be_told_apart(together: str) -> None:
    found = styles(together.split("|") if "|" in together else together.split())
    assert len({style.look.marker for style in found.values()}) == len(found)
    for one, other in itertools.combinations(found.values(), 2):
        apart = min(np.linalg.norm(lab(one.look.colour, s) - lab(other.look.colour, s)) for s in _SEEN)
        assert apart > 12, (one, other)


def test_no_two_lines_are_drawn_alike() -> None:
    names = ["1 BDP cubic", "5 BDP cubic", "cubic(beta=0.8)", "python:a:B", "python:a:C", "x", "y"]
    found = styles(names)
    assert [found[name].look for name in names[:3]] == [look("cubic")] * 3
    assert len({tuple(map(str, style.line().values())) for style in found.values()}) == len(names)
    fills = {(line["fillstyle"], line["markerfacecolor"]) for name in names[:3] for line in [found[name].line()]}
    assert len(fills) == 3


MANY_OF_ONE = [
    f"fast(variant={variant}, alpha={alpha})" for variant in ("ns2", "paper") for alpha in (20, 50, 100, 200)
]


@pytest.mark.parametrize(
    "labels",
    [
        MANY_OF_ONE,
        ["fast", *MANY_OF_ONE, "reno", "newreno", "scalable"],
        [f"line {number}" for number in range(60)],
        [f"cubic(beta={number})" for number in range(100)],
        [f"python:mine:My{number}" for number in range(10)],
    ],
    ids=["fast", "mixed", "free", "cubic", "own"],
)
def test_no_two_series_of_a_figure_share_a_look(labels: list[str]) -> None:
    names = Scale("x", ticks=("a", "b"))
    for x in (Scale("x"), names):
        lines = drawn(chart(*(Curve(label, (0, 1), (2, 3)) for label in labels), x=x)).axes[0].lines
        assert len(lines) == len(labels)
        marks = {
            (line.get_color(), line.get_marker(), line.get_fillstyle(), line.get_markerfacecolor()) for line in lines
        }
        assert len(marks) == len(labels), "what is left where no line joins the points"
        found = styles(labels)
        dashes = {(style.look.colour, str(style.line()["linestyle"]), style.look) for style in found.values()}
        assert len(dashes) == len(labels), "and where points are too many for markers"


def test_straight_lines_differ_too() -> None:
    marks = tuple(Straight(f"mark {number}", y=number) for number in range(8))
    given = Chart("t", Scale("x"), Scale("y"), (Panel("", (Curve("reno", (1, 2), (1, 2)),), marks),))
    handles = drawn(given).legends[0].legend_handles
    assert len({str(handle._dash_pattern) for handle in handles[1:]}) == 8  # type: ignore[union-attr]


def test_the_same_chart_gives_the_same_files(tmp_path: Path) -> None:
    given = chart(Curve("reno", (1, 2), (5.0, 5.0), (-3.0, 4.0), (7.0, 6.0)), y=LOG)
    first, second = ([path.read_bytes() for path in curves.save(given, tmp_path, name)] for name in ("a", "b"))
    assert first == second
