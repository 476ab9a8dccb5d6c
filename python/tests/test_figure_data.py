"""What figures say: the data of each kind, the kind that suits a result, and what is said of what cannot be drawn."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import InputError, Result
from ackclock.drawing.plot import KINDS, Drawing, specify
from ackclock.drawing.selection import Request
from synthetic import made

MBIT = 1e6
# Three runs of 8, 10 and 12: s = 2, t(0.975, 2) = 4.302653, so the interval is 10 ± 4.302653 · 2 / √3.
SPREAD = (8.0, 10.0, 12.0)
HALF = 4.302653 * 2 / math.sqrt(3)


def runs(*goodputs: float, delay: float = 0.02) -> list[dict[str, float]]:
    return [
        {"goodput_bps": each * MBIT, "p95_queue_delay_s": delay * (1 + 0.1 * number), "mean_queue_delay_s": delay / 2}
        for number, each in enumerate(goodputs)
    ]


def swept(rtts: list[str] | None = None, ccs: tuple[str, ...] = ("reno", "cubic")) -> Result:
    """Two controllers over a text that is a number, in an order that text would not have; cubic has twice the rate."""
    times = rtts or ["100 ms", "20 ms"]
    points = [{"topology.rtt": rtt, "cc": cc} for rtt in times for cc in ccs]
    factor = {cc: number + 1 for number, cc in enumerate(ccs)}
    return made(points, [runs(*(factor[str(point["cc"])] * each for each in SPREAD)) for point in points])


def of(result: Result, kind: str | None = None, **asked: Any) -> Drawing:
    return specify(result, Request(kind, **asked))


def data(drawing: Drawing) -> dict[str, Any]:
    return drawing.chart.to_json()


def test_one_swept_number_is_a_curve_with_intervals() -> None:
    found = of(swept())
    assert found.kind == "curve"
    low, high = round(10 - HALF, 4), round(10 + HALF, 4)
    assert data(found) == {
        "x": {"label": "RTT (ms)"},
        "y": {"label": "goodput (Mbit/s)", "low": 0.0},
        "panels": [
            {
                "curves": [
                    {"label": "reno", "x": [20.0, 100.0], "y": [10.0] * 2}
                    | {"low": [pytest.approx(low, abs=1e-4)] * 2, "high": [pytest.approx(high, abs=1e-4)] * 2},
                    {"label": "cubic", "x": [20.0, 100.0], "y": [20.0] * 2}
                    | {"low": [pytest.approx(2 * low, abs=2e-4)] * 2, "high": [pytest.approx(2 * high, abs=2e-4)] * 2},
                ]
            }
        ],
    }
    assert found.says == "goodput (Mbit/s) over RTT (ms) by cc, means of 3 replications with 95 % intervals"
    assert found.others == ("box", "pareto")


def test_replications_that_are_the_same_and_single_ones_have_no_interval() -> None:
    points = [{"topology.rtt": rtt, "cc": "reno"} for rtt in ("20 ms", "40 ms")]
    for each in (runs(5, 5, 5), runs(5)):
        found = of(made(points, [each, each]))
        assert [curve.low for curve in found.chart.curves] == [()]
        assert "intervals" not in found.says


def test_without_a_number_each_candidate_has_its_runs() -> None:
    found = of(swept(["20 ms"]))
    assert found.kind == "box"
    chart = found.chart
    assert chart.y.ticks == ("reno", "cubic")
    assert chart.x.label == "goodput (Mbit/s)"
    (panel,) = chart.panels
    assert [(box.label, box.at, box.values, box.mean) for box in panel.boxes] == [
        ("reno", 0.0, SPREAD, 10.0),
        ("cubic", 1.0, tuple(2 * each for each in SPREAD), 20.0),
    ]
    assert panel.boxes[0].low == pytest.approx(10 - HALF, abs=1e-5)


def test_two_swept_numbers_are_panels_or_a_grid() -> None:
    rtts = ("10 ms", "20 ms", "40 ms", "80 ms", "160 ms", "320 ms")

    def result(rates: tuple[str, ...]) -> Result:
        points = [
            {"topology.rate": rate, "topology.rtt": rtt, "cc": cc}
            for rate in rates for rtt in rtts for cc in ("reno", "cubic")
        ]  # fmt: skip
        return made(points, [runs(float(str(point["topology.rate"]).split()[0])) for point in points])

    few = of(result(("1 Mbit/s", "2 Mbit/s")), y=("goodput_bps",))
    assert few.kind == "curve"
    assert [panel.title for panel in few.chart.panels] == ["rate = 1 Mbit/s", "rate = 2 Mbit/s"]
    many = of(result(("1 Mbit/s", "2 Mbit/s", "4 Mbit/s", "5 Mbit/s", "8 Mbit/s")), y=("goodput_bps",))
    assert many.kind == "heatmap"
    grids = [panel.grid for panel in many.chart.panels]
    assert [panel.title for panel in many.chart.panels] == ["reno", "cubic"]
    assert (many.chart.x.label, many.chart.y.label) == ("RTT (ms)", "rate (Mbit/s)")
    for grid in grids:
        assert grid is not None
        assert grid.columns == ("10", "20", "40", "80", "160", "320")
        assert grid.rows == ("1", "2", "4", "5", "8")
        assert [row[0] for row in grid.values] == [1.0, 2.0, 4.0, 5.0, 8.0]


def test_ellipses_are_one_standard_deviation_and_delays_run_backwards() -> None:
    own = [{"goodput_bps": g * MBIT, "p95_delay_s": d} for g, d in ((9, 0.01), (11, 0.01), (9, 0.03), (11, 0.03))]
    found = of(made([{"cc": "reno"}], [own]), "pareto")
    chart = found.chart
    assert (chart.x.label, chart.y.label) == ("p95 one-way delay (ms), reversed", "goodput (Mbit/s)")
    assert chart.x.reversed
    ((cloud,),) = (panel.clouds for panel in chart.panels)
    assert cloud.mean == (20.0, 10.0)
    # No correlation, variances 100 and 1: half axes of 10 ms and 1 Mbit/s.
    assert min(x for x, _ in cloud.outline) == pytest.approx(10.0)
    assert max(y for _, y in cloud.outline) == pytest.approx(11.0)
    for x, y in cloud.outline:
        assert ((x - 20) / 10) ** 2 + (y - 10) ** 2 == pytest.approx(1.0)


def test_two_runs_have_no_ellipse() -> None:
    found = of(made([{"cc": "reno"}], [runs(8, 12)]), "pareto")
    assert found.chart.panels[0].clouds[0].outline == ()
    assert "ellipses" not in found.says


def test_a_distribution_steps_at_every_run() -> None:
    found = of(swept(["20 ms"], ("reno",)), "ecdf", y=("goodput_bps",))
    (curve,) = found.chart.curves
    assert curve.steps
    assert curve.x == (8.0, 8.0, 10.0, 12.0)
    assert curve.y == pytest.approx((0, 1 / 3, 2 / 3, 1))


FILES = {
    "topology": {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": "1 BDP"},
    "flows": [{"cc": ["reno", "cubic"], "app": {"kind": "files", "arrivals": {"poisson": 20.0}, "size": "20 kB"}}],
    "run": {"duration": "6 s", "replications": 2},
}


@pytest.fixture(scope="module")
def transfers() -> Result:
    return ackclock.run(FILES, jobs=1)


def test_completion_times_are_a_distribution(transfers: Result) -> None:
    found = of(transfers)
    assert found.kind == "ecdf"
    assert {"fct", "box"} <= set(found.others)
    for curve in found.chart.curves:
        rows = transfers.transfers.filter(transfers.transfers["cc"] == curve.label)
        done = rows["fct_s"].drop_nulls()
        assert curve.y[-1] == pytest.approx(len(done) / rows.height), "what did not end keeps the line below 1"
        assert curve.x[-1] == pytest.approx(max(done) * (1000 if "ms" in found.chart.x.label else 1))


def test_completion_times_by_size(transfers: Result) -> None:
    found = of(transfers, "fct")
    assert found.chart.x.ticks == ("10-100 kB",)
    assert [curve.label for curve in found.chart.curves] == ["median reno", "p95 reno", "median cubic", "p95 cubic"]
    for curve in found.chart.curves:
        share = 0.5 if curve.label.startswith("median") else 0.95
        rows = transfers.transfers.filter(transfers.transfers["cc"] == curve.label.split()[1]).drop_nulls("fct_s")
        own = [sorted(part["fct_s"]) for part in rows.partition_by("run")]
        ranked = [each[math.ceil(share * len(each)) - 1] for each in own]
        scale = 1000 if "ms" in found.chart.y.label else 1
        assert curve.y == pytest.approx([scale * sum(ranked) / len(ranked)])


RECORDED = {
    "topology": {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": "1 BDP"},
    "flows": [{"cc": "cubic"}, {"cc": "reno", "start": "1 s"}],
    "run": {"duration": "4 s"},
    "probes": {"interval": "20 ms", "sent": "20 ms"},
}


@pytest.fixture(scope="module")
def recorded() -> Result:
    return ackclock.run(RECORDED, jobs=1)


def test_a_single_run_is_shown_over_time(recorded: Result) -> None:
    found = of(recorded)
    assert found.kind == "timeseries"
    panels = found.chart.panels
    assert [panel.y.label for panel in panels if panel.y] == ["cwnd (segments)", "queue (packets)", "goodput (Mbit/s)"]
    assert [curve.label for curve in panels[0].curves] == ["cubic", "reno"]
    assert panels[1].marks[0].y == recorded.resolved()["links"][0]["queue"]["limit_packets"]
    goodputs = dict(recorded.flows.select("cc", "goodput_bytes").iter_rows())
    for curve in panels[2].curves:
        width = curve.x[1] - curve.x[0]
        assert sum(curve.y) * width * 1e6 / 8 == pytest.approx(goodputs[curve.label], rel=0.03)
    assert {"share", "sequence"} <= set(found.others)


def test_shares_add_up_and_flows_that_are_not_there_do_not_count(recorded: Result) -> None:
    above, below = of(recorded, "share").chart.panels
    first, second = above.curves
    for low, middle, top, high in zip(first.low, first.high, second.low, second.high, strict=True):
        assert (low, middle) == (0.0, top)
        assert high == pytest.approx(1.0) or (middle, high) == (0.0, 0.0)
    (fair,) = below.curves
    assert all(y == pytest.approx(1.0) for x, y in zip(fair.x, fair.y, strict=True) if x < 0.95), "alone is fair"
    assert min(fair.y) < 0.9


def test_convergence_has_the_goodput_of_each_flow_and_their_fairness(recorded: Result) -> None:
    found = of(recorded, "convergence")
    above, below = found.chart.panels
    assert [curve.label for curve in above.curves] == ["cubic", "reno"]
    one, other = (dict(zip(curve.x, curve.y, strict=True)) for curve in above.curves)
    (fair,) = below.curves
    both = [(x, y) for x, y in zip(fair.x, fair.y, strict=True) if math.isfinite(one.get(x, math.nan)) and x in other]
    assert len(both) > 10
    for at, index in both:  # R. Jain: (a + b)^2 / 2 (a^2 + b^2)
        a, b = one[at], other[at]
        assert index == pytest.approx((a + b) ** 2 / (2 * (a * a + b * b)))
    assert all(y == pytest.approx(1.0) for x, y in zip(fair.x, fair.y, strict=True) if x < 0.95), "alone is fair"
    assert found.says == "goodput (Mbit/s), Jain's index over time"


def test_a_sequence_has_what_was_sent_and_delivered(recorded: Result) -> None:
    (panel,) = of(recorded, "sequence").chart.panels
    ends = {curve.label: curve.y[-1] for curve in panel.curves}
    assert list(ends) == ["cubic: sent", "reno: sent", "cubic: delivered", "reno: delivered"]
    assert ends["cubic: sent"] >= ends["cubic: delivered"] > 0


def test_flows_that_share_a_path_are_compared_by_group(recorded: Result) -> None:
    found = of(recorded, "box")
    assert found.chart.y.ticks == ("cubic", "reno")
    assert found.says.startswith("goodput (Mbit/s) by group of flows")


def test_what_has_no_place_in_the_figure_is_said() -> None:
    points = [
        {"topology.rtt": rtt, "run.x": x, "cc": "reno"}
        for rtt in ("10 ms", "20 ms") for x in [f"mode {number}" for number in range(8)]
    ]  # fmt: skip
    result = made(points, [runs(number + 1.0) for number in range(len(points))])
    found = of(result, "curve", by="cc")
    assert [panel.title for panel in found.chart.panels] == [f"x = mode {number}" for number in range(8)]
    assert (found.notes, found.chart.note) == ((), "")
    other = of(result, "curve", by="cc", where={"run.x": "mode 3"})
    assert (other.notes, [curve.y for curve in other.chart.curves]) == ((), [(4.0, 12.0)])
    assert other.chart.note == "x = mode 3", "what was asked for stands in the figure, and need not be said"


def test_keys_that_are_zipped_need_no_place_of_their_own() -> None:
    points: list[Any] = [
        {"cc": cc, "recovery": recovery, "topology.rtt": rtt, "topology.rate": rate}
        for cc, recovery in (("reno", "reno"), ("cubic", "prr"))
        for rtt, rate in (("10 ms", "1 Mbit/s"), ("20 ms", "2 Mbit/s"), ("40 ms", "8 Mbit/s"))
    ]
    found = of(made(points, [runs(number + 1.0) for number in range(6)]), y=("goodput_bps",))
    assert found.kind == "curve"
    (panel,) = found.chart.panels
    assert [curve.y for curve in panel.curves] == [(1.0, 2.0, 3.0), (4.0, 5.0, 6.0)]


def test_axes_are_logarithmic_where_values_span_decades() -> None:
    points = [{"topology.rate": rate, "cc": "reno"} for rate in ("100 kbit/s", "1 Mbit/s", "10 Mbit/s", "100 Mbit/s")]
    chart = of(made(points, [runs(10.0**number / 10) for number in range(4)]), y=("goodput_bps",)).chart
    assert chart.x.log
    assert chart.y.log
    near = of(swept(["20 ms", "40 ms", "60 ms"])).chart
    assert not near.x.log
    assert not near.y.log


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"kind": "bx"}, "kind: unknown kind 'bx'; did you mean 'box'?"),
        ({"y": ("godput_bps",)}, "y: unknown metric 'godput_bps'; did you mean 'goodput_bps'?"),
        ({"y": ("p95_fct_s",)}, "y: no run has a value of p95_fct_s; there are goodput_bps"),
        ({"x": "rt"}, "x: 'rt' was not swept; did you mean 'topology.rtt'?"),
        ({"by": "delay"}, "by: 'delay' was not swept; swept are topology.rtt, cc"),
        ({"where": {"rtt": "3 ms"}}, "where: no run has topology.rtt = 3 ms; its values are 20 ms, 100 ms"),
        ({"kind": "heatmap"}, "kind: a heatmap needs two swept numbers, and there are: topology.rtt"),
        ({"kind": "timeseries"}, "kind: no series were recorded; run it again with --set 'probes.cwnd=\"50 ms\"'"),
        ({"kind": "timeseries", "y": ("srtt",)}, "y: the series 'srtt' was not recorded; run it again with"),
        ({"kind": "timeseries", "y": ("sttr",)}, "y: unknown series 'sttr'; did you mean 'srtt'?"),
        ({"kind": "share"}, "kind: the series 'delivered' was not recorded; run it again with --set 'probes.delivered"),
        ({"kind": "sequence"}, "kind: neither 'sent' nor 'delivered' was recorded; run it again with"),
        ({"kind": "fct"}, "kind: no transfer was completed; --kind fct needs transfers"),
        ({"kind": "curve", "y": ("jain", "utilisation")}, "y: only kinds over time draw several of --y"),
    ],
)
def test_what_cannot_be_drawn_says_what_can(asked: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError) as refused:
        of(swept(), **asked)
    assert str(refused.value).startswith(expected)


def test_a_figure_is_the_same_from_python(tmp_path: Path) -> None:
    result = swept()
    figure = result.plot(kind="box", width="page")
    assert figure.get_figwidth() == 7.16
    assert result.plot().get_figwidth() == 3.5
    figure.savefig(tmp_path / "a.pdf")
    text = (tmp_path / "a.pdf").read_bytes()
    assert b"/Type3" not in text
    assert b"/Type /Font" in text, "embedded"
    assert figure._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="unknown width 'wide'"):
        result.plot(width="wide")


def test_every_kind_is_tested_here() -> None:
    assert set(KINDS) == {
        "curve",
        "ecdf",
        "box",
        "pareto",
        "heatmap",
        "fct",
        "timeseries",
        "share",
        "convergence",
        "sequence",
        "map",  # test_figure_cells.py
        "waterfall",  # test_figure_waterfall.py
    }
