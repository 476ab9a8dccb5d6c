"""Figures of runs with several groups of flows, one of which has a swept controller."""

from __future__ import annotations

import pytest

import ackclock
from ackclock import Result
from ackclock.drawing.plot import specify
from ackclock.drawing.selection import Request

NEIGHBOUR = """
[topology]
kind = "dumbbell"
rate = "10 Mbit/s"
rtt = "20 ms"
queue = { kind = "droptail", limit = "1 BDP" }
[[flows]]
cc = "cubic"
[[flows]]
cc = ["cubic", "bbr3"]
[run]
duration = "2 s"
replications = 2
"""


@pytest.fixture(scope="module")
def neighbour(tmp_path_factory: pytest.TempPathFactory) -> Result:
    file = tmp_path_factory.mktemp("scenario") / "neighbour.toml"
    file.write_text(NEIGHBOUR)
    return ackclock.run(file)


def test_a_group_is_not_called_by_the_controller_that_it_has_in_another_point(neighbour: Result) -> None:
    chart = specify(neighbour, Request("box", by="group")).chart
    assert [tuple(panel.labels) for panel in chart.panels] == [("group 0", "group 1")] * 2


def test_a_figure_by_the_controller_of_one_group_says_that_it_is_of_all_flows(neighbour: Result) -> None:
    drawing = specify(neighbour, Request("box"))
    assert "of all flows of a run, not of those of flows.1 alone" in drawing.chart.note
    assert any("--by group" in note for note in drawing.notes)


def test_a_figure_by_group_says_nothing_of_the_kind(neighbour: Result) -> None:
    assert "all flows" not in specify(neighbour, Request("box", by="group")).chart.note


def test_over_swept_rates_groups_have_their_share_of_the_goodput() -> None:
    """Goodput over the rate of the line would show the rate."""
    flows = [{"cc": "cubic"}, {"cc": "reno"}]
    path = {"kind": "dumbbell", "rate": ["5 Mbit/s", "20 Mbit/s"], "rtt": "20 ms", "queue": "1 BDP"}
    result = ackclock.run({"topology": path, "flows": flows, "run": {"duration": "3 s"}}, jobs=1)
    chart = specify(result, Request("curve")).chart
    assert chart.y.label == "share of the goodput"
    assert chart.y.high == pytest.approx(1.02)
    cubic, reno = chart.curves
    assert [a + b for a, b in zip(cubic.y, reno.y, strict=True)] == pytest.approx([1, 1])
    rows = result.summary("group")
    by_hand = rows["total_goodput_bps"][0] / rows["total_goodput_bps"][:2].sum()
    assert (rows["goodput_share"][0], cubic.y[0]) == pytest.approx((by_hand, by_hand))
    assert "goodput_share" not in result.summary().columns, "which is of all flows"
    alone = ackclock.run({"topology": path, "flows": flows[:1], "run": {"duration": "3 s"}}, jobs=1)
    assert "goodput_share" not in alone.summary("group").columns, "it would be 1 of any"
    assert specify(alone, Request("curve")).chart.y.label == "utilisation"
