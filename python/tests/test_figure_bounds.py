"""Intervals in figures: none leaves what its metric can be, and what goes on beyond an axis has a sign of its own."""

from __future__ import annotations

import math

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from matplotlib.path import Path

import ackclock
from ackclock import Result
from ackclock.drawing import curves, intervals, quantities
from ackclock.drawing.chart import Chart, Curve, Panel, Scale
from ackclock.drawing.plot import Drawing, specify
from ackclock.drawing.selection import Request
from ackclock.drawing.style import RC, look
from synthetic import made

RTTS = ("20 ms", "40 ms")


def of(result: Result, kind: str | None = None, **asked: object) -> Drawing:
    return specify(result, Request(kind, **asked))  # type: ignore[arg-type]


def drawn(chart: Chart) -> Figure:
    with mpl.rc_context(RC):
        figure = curves.draw(chart, 3.5)
        figure.canvas.draw()
        return figure


def caps(figure: Figure) -> list[float]:
    lines = (line for line in figure.axes[0].lines if line.get_marker() == "_")
    return sorted(float(y) for line in lines for y in line.get_ydata())


def test_an_interval_ends_where_its_metric_does() -> None:
    for metric, low, high in (("jain", 0, 1), ("loss_percent", 0, 100), ("goodput_bps", 0, math.inf)):
        assert quantities.bounds(metric) == (low, high)
    assert quantities.bounds("proportional_fairness") == (-math.inf, math.inf)
    goodputs = [{"goodput_bps": each * 1e6} for each in (1.0, 5.0, 12.0)]
    steady = [{"goodput_bps": each * 1e6} for each in (6.0, 6.1, 6.2)]
    found = of(made([{"topology.rtt": rtt, "cc": "reno"} for rtt in RTTS], [steady, goodputs]))
    (curve,) = found.chart.curves
    assert curve.low[1] == 0, "Student's interval would begin at -8 Mbit/s"
    assert curve.low[0] > 5
    assert found.chart.y.least == 0
    assert found.chart.note == "intervals without a cap end where goodput can go no farther"
    shown = caps(drawn(found.chart))
    assert len(shown) == 3, "a cap would say that the interval ends there by itself"
    assert 0 not in shown


@pytest.mark.usefixtures("with_jain")
def test_the_interval_of_a_share_is_whole_and_ends_at_one() -> None:
    found = of(made([{"topology.rtt": rtt, "cc": "reno"} for rtt in RTTS], [_flows(1.0), _flows(3.0)]), y=("jain",))
    (curve,) = found.chart.curves
    assert curve.high[1] == 1
    assert found.chart.y.most == 1
    assert found.chart.y.low is not None
    assert found.chart.y.low <= min(curve.low)


def _flows(least: float) -> list[dict[str, float]]:
    return [{"goodput_bps": least * each * 1e6} for each in (1.0, 1.1, 1.2)]


@pytest.fixture
def with_jain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes Jain's index of the three replications 0.5, 0.9 and 1."""
    from ackclock.drawing import selection

    original = selection.Selection.values
    values = {0: 0.5, 1: 0.9, 2: 1.0}

    def own(self: selection.Selection, samples: list[selection.Sample], metric: str) -> list[float]:
        if metric != "jain":
            return original(self, samples, metric)
        return [values[each % 3] for each in range(len(samples))]

    monkeypatch.setattr(selection.Selection, "values", own)


def test_what_goes_on_beyond_the_axis_is_no_marker_of_an_algorithm() -> None:
    curve = Curve("bbr3", (1, 2), (5.0, 5.0), (-3.0, 4.0), (7.0, math.inf))
    figure = drawn(Chart("", Scale("x"), Scale("y", log=True), (Panel("", (curve,)),)))
    signs = [line for line in figure.axes[0].lines if isinstance(line.get_marker(), Path)]
    assert {id(line.get_marker()) for line in signs} == {id(intervals.UP), id(intervals.DOWN)}
    assert {line.get_markerfacecolor() for line in signs} == {"none"}
    assert look("bbr3").marker == "v", "which the sign for below must not look like"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["bbr3", "interval goes on"]


def test_a_point_below_a_logarithmic_axis_is_said_in_the_legend() -> None:
    figure = drawn(Chart("", Scale("x"), Scale("y", log=True), (Panel("", (Curve("reno", (1, 2), (5.0, 0.0)),)),)))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["reno", "0, or less"]


def test_a_time_that_is_a_bound_has_an_interval_without_an_end() -> None:
    """Of the 20 MB over 10 Mbit/s none is done in 4 s: how little they differ says nothing."""
    small = {"cc": "reno", "bytes": "20 kB", "count": 30, "start": {"uniform": ["0 s", "3 s"]}}
    large = {"cc": "cubic", "bytes": "20 MB", "count": 25, "start": {"uniform": ["0 s", "1 s"]}}
    result = ackclock.run(
        {
            "topology": {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": ["1 BDP", "2 BDP"]},
            "flows": [small, large],
            "run": {"duration": "4 s", "replications": 3},
        },
        jobs=1,
    )
    found = of(result, "fct", where={"topology.queue": "1 BDP"}, by="group")
    (curve,) = (each for each in found.chart.curves if each.label == "median cubic")
    assert curve.high[-1] == math.inf
    curve = of(result, "curve", y=("p95_fct_s",)).chart.curves[-1]
    assert not any(map(math.isfinite, curve.high)), "no more counts than all know, which is then the same in each"
    assert found.chart.y.log or found.chart.y.high is not None, "the sign needs an end of the axis"
    boxes = of(result, "box", y=("p95_fct_s",), where={"topology.queue": "1 BDP"}).chart.panels[0].boxes
    assert [box.high for box in boxes if box.label == "cubic"] == [None]
