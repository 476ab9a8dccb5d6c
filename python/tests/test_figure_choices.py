"""What a figure chooses by itself and says of it: metrics, means over keys without a place, excess over the line."""

from __future__ import annotations

import math
from typing import Any

import pytest

import ackclock
from ackclock import InputError, Result
from ackclock.drawing.plot import Drawing, figure, specify
from ackclock.drawing.selection import Request
from synthetic import Params, made

MBIT = 1e6
RTTS = tuple(f"{n}0 ms" for n in range(1, 12))
"""More than there may be panels."""


def of(result: Result, kind: str | None = None, **asked: Any) -> Drawing:
    return specify(result, Request(kind, **asked))


def run(goodput: float, delay: float = 0.01, **others: Any) -> dict[str, Any]:
    return {"goodput_bps": goodput * MBIT, "p95_delay_s": delay, **others}


def crossed(without: set[tuple[str, str]] = frozenset()) -> Result:  # type: ignore[assignment]
    """Eleven RTTs and two controllers, three replications: r + 1 times 2^place, twice that of cubic."""
    points: list[Params] = [{"topology.rtt": rtt, "cc": cc} for rtt in RTTS for cc in ("reno", "cubic")]
    runs = [
        []
        if (point["topology.rtt"], point["cc"]) in without
        else [
            run((r + 1) * 2.0 ** RTTS.index(str(point["topology.rtt"])) * (2 if point["cc"] == "cubic" else 1))
            for r in range(3)
        ]
        for point in points
    ]
    return made(points, runs)


# The geometric mean of 2^0 ... 2^10 is 2^5.
@pytest.mark.parametrize("kind", ["box", "pareto"])
def test_what_has_no_place_is_a_mean_of_each_replication(kind: str) -> None:
    found = of(crossed(), kind)
    (panel,) = found.chart.panels
    drawn = {
        each.label: tuple(each.values) if kind == "box" else tuple(each.y)  # type: ignore[union-attr]
        for each in (panel.boxes if kind == "box" else panel.clouds)
    }
    assert drawn["reno"] == pytest.approx((32, 64, 96))
    assert drawn["cubic"] == pytest.approx((64, 128, 192))
    assert found.chart.note == "geometric means over 11 values of RTT"
    assert found.notes == (f"{found.chart.note}; --where topology.rtt='10 ms' shows one of them",)


def test_a_zero_anywhere_makes_the_means_of_all_candidates_arithmetic() -> None:
    # CUBIC has reno's delays but at the first RTT, where it has none: it cannot have the larger mean.
    points: list[Params] = [{"topology.rtt": rtt, "cc": cc} for rtt in RTTS for cc in ("reno", "cubic")]
    runs = [
        [run(1, 0 if at == 1 else 0.001 * 2.0 ** (at // 2) * (1 + 0.01 * draw)) for draw in range(3)]
        for at in range(len(points))
    ]
    found = of(made(points, runs), "box", y=("p95_delay_s",))
    reno, cubic = found.chart.panels[0].boxes
    assert (reno.label, cubic.label) == ("reno", "cubic")
    assert reno.mean == pytest.approx(1.01 * 2047 / 11)  # ms: 1 + 2 + ... + 1024
    assert cubic.mean == pytest.approx(1.01 * 2046 / 11)
    assert found.chart.note == "arithmetic means over 11 values of RTT, as p95 one-way delay is 0 in some run"


def test_the_marker_of_a_cloud_is_the_centre_of_its_ellipse() -> None:
    # Goodput over three decades: both are of logarithms, and the geometric mean of 1, 10, 100 and 1000 is 10^1.5.
    found = of(made([{"cc": "reno"}], [[run(10.0**at, 0.01 + 0.001 * at) for at in range(4)]]), "pareto")
    (cloud,) = found.chart.panels[0].clouds
    assert (found.chart.x.log, found.chart.y.log) == (False, True)
    assert cloud.mean[1] == pytest.approx(10**1.5)
    x, y = zip(*cloud.outline, strict=True)
    assert cloud.mean[0] == pytest.approx((max(x) + min(x)) / 2)
    assert math.log10(cloud.mean[1]) == pytest.approx(math.log10(max(y) * min(y)) / 2)
    assert "means, geometric on logarithmic axes," in found.says


@pytest.mark.parametrize("share", [1.0, 0.999, 0.0])
def test_the_colours_of_a_share_end_at_one(share: float) -> None:
    points: list[Params] = [
        {"topology.rtt": rtt, "topology.rate": rate, "cc": "reno"}
        for rtt in RTTS[:5] for rate in ("1 Mbit/s", "2 Mbit/s")
    ]  # fmt: skip
    found = of(made(points, [[run(1, utilisation=share)] * 2] * len(points)), "heatmap", y=("utilisation",))
    drawn = figure(found.chart)
    low, high = next(axes for axes in drawn.axes if axes.get_label() == "<colorbar>").get_ylim()
    assert 0 <= low < high <= 1


def test_a_key_is_named_by_a_part_of_it_as_in_compare() -> None:
    points: list[Params] = [{"topology.queue.kind": kind, "run.x": 1} for kind in ("codel", "droptail")]
    found = of(made(points, [[run(1), run(2)], [run(2), run(3)]]), "box", by="queue")
    assert [box.label for box in found.chart.panels[0].boxes] == ["codel", "droptail"]
    several: list[Params] = [{"a.queue.kind": kind, "b.queue.kind": kind} for kind in ("codel", "droptail")]
    with pytest.raises(InputError, match=r"by: 'queue' may be a\.queue\.kind or b\.queue\.kind"):
        of(made(several, [[run(1)], [run(2)]]), "box", by="queue")


def test_means_are_over_what_all_have() -> None:
    found = of(crossed({(RTTS[-1], "reno")}), "box")  # 2^0 ... 2^9: the mean is 2^4.5
    assert found.chart.panels[0].boxes[1].values[0] == pytest.approx(2 * 2**4.5)
    assert found.chart.note == "geometric means over 11 values of RTT, of the 10 of 11 points that all have"
    nothing = {(rtt, "reno" if at % 2 else "cubic") for at, rtt in enumerate(RTTS)}
    with pytest.raises(InputError, match=r"plot: there is no mean over topology.rtt: .*--where topology.rtt=VALUE"):
        of(crossed(nothing), "box")


def test_shares_have_arithmetic_means() -> None:
    points: list[Params] = [{"topology.rtt": rtt, "cc": cc} for rtt in RTTS for cc in ("reno", "cubic")]
    runs = [[run(1, utilisation=0.5 + 0.04 * (number // 2))] * 2 for number in range(len(points))]
    found = of(made(points, runs), "box", y=("utilisation",))
    assert found.chart.panels[0].boxes[0].mean == pytest.approx(0.7)  # 0.5, 0.54 ... 0.9
    assert found.chart.note == "means over 11 values of RTT"


def test_distributions_are_of_all_together() -> None:
    found = of(crossed(), "ecdf", y=("goodput_bps",))
    assert [len(curve.x) for curve in found.chart.curves] == [34, 34]
    assert found.chart.note == "runs of 11 values of RTT together"


def test_up_to_nine_values_are_panels() -> None:
    points: list[Params] = [{"topology.rtt": rtt, "cc": cc} for rtt in RTTS[:9] for cc in ("reno", "cubic")]
    for kind in ("box", "pareto", "ecdf"):
        found = of(made(points, [[run(1), run(2)]] * 18), kind, y=("goodput_bps",))
        assert [panel.title for panel in found.chart.panels] == [f"RTT = {rtt}" for rtt in RTTS[:9]]
        assert (found.notes, found.chart.note) == ((), "")


def test_a_curve_has_means_over_two_more_keys() -> None:
    points: list[Params] = [
        {"topology.rate": rate, "topology.rtt": rtt, "run.x": x, "cc": "reno"}
        for rate in ("1 Mbit/s", "2 Mbit/s") for rtt in RTTS for x in range(12)
    ]  # fmt: skip
    found = of(made(points, [[run(4), run(9)]] * len(points)), "curve", x="rate", y=("goodput_bps",))
    (curve,) = found.chart.curves
    assert curve.y == pytest.approx((6.5, 6.5))
    said = "intervals without a cap end where goodput can go no farther"
    assert found.chart.note == f"geometric means over 11 values of RTT and 12 of x; {said}"


def test_the_note_stands_in_the_figure() -> None:
    drawn = figure(of(crossed(), "box").chart)
    assert drawn.get_suptitle().replace("\n", " ") == "geometric means over 11 values of RTT"


def rates(by: tuple[str, ...] = ("reno", "cubic")) -> Result:
    points: list[Params] = [
        {"topology.rate": rate, "cc": cc} for rate in ("1 Mbit/s", "30 Mbit/s", "1 Gbit/s") for cc in by
    ]
    return made(points, [[run(1, utilisation=0.4 + 0.1 * number)] * 2 for number in range(len(points))])


@pytest.mark.parametrize("kind", ["curve", "box"])
def test_of_swept_rates_the_share_of_the_line_is_shown(kind: str) -> None:
    chart = of(rates(), kind).chart
    assert (chart.y if kind == "curve" else chart.x).label == "utilisation"
    goodput = of(rates(), kind, y=("goodput_bps",)).chart
    assert (goodput.y if kind == "curve" else goodput.x).label == "goodput (Mbit/s)"


def test_a_rate_axis_over_decades_is_in_the_unit_of_the_middle() -> None:
    chart = of(rates()).chart
    assert chart.x.label == "rate (Mbit/s)"
    assert chart.curves[0].x == (1.0, 30.0, 1000.0)


def test_shares_near_one_are_told_apart() -> None:
    points: list[Params] = [{"topology.rtt": rtt} for rtt in RTTS]
    near = of(made(points, [[run(1, utilisation=0.9 + n / 120)] for n in range(11)]), y=("utilisation",)).chart.y
    assert near.low is not None
    assert 0.85 < near.low < 0.9
    far = of(made(points, [[run(1, utilisation=0.3 + n / 20)] for n in range(11)]), y=("utilisation",)).chart.y
    assert (far.low, far.high) == (0.0, 1.02)


FILES = {
    "topology": {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": ["20 ms", "40 ms"], "queue": "1 BDP"},
    "flows": [{"cc": "cubic", "app": {"kind": "files", "arrivals": {"poisson": 20.0}, "size": "20 kB"}}],
    "run": {"duration": "4 s", "replications": 2},
}


def test_of_transfers_completion_times_are_shown() -> None:
    result = ackclock.run(FILES, jobs=1)
    assert of(result).chart.y.label.startswith("p95 FCT")
    bulk = {**FILES, "flows": [*FILES["flows"], {"cc": "cubic"}]}  # type: ignore[misc]
    assert of(ackclock.run(bulk, jobs=1), "curve").chart.y.label.startswith("goodput")


def test_more_goodput_than_the_line_carries_is_said() -> None:
    points: list[Params] = [{"cc": cc} for cc in ("reno", "cubic")]
    found = of(made(points, [[run(9.9)], [run(10.2)]], line=10e6), "box")
    words = "goodput up to 2 % above the rate of the line: data from before the warm-up, in order only after it"
    assert found.chart.note == words
    assert found.notes == (f"{words}; --y utilisation has no such excess",)
    for runs, asked in (([[run(9.9)], [run(10.0)]], {}), ([[run(9.9)], [run(10.2)]], {"y": ("p95_delay_s",)})):
        assert of(made(points, runs, line=10e6), "box", **asked).notes == ()


def test_what_is_compared_stands_above_the_legend() -> None:
    points: list[Params] = [{"topology.rtt": rtt, "topology.queue.kind": kind}
                            for rtt in RTTS for kind in ("droptail", "red")]  # fmt: skip
    drawn = figure(of(made(points, [[run(1)]] * 22)).chart)
    assert drawn.legends[0].get_title().get_text() == "queue"
    assert math.isclose(drawn.get_figwidth(), 3.5)


def test_only_one_metric_has_a_distribution() -> None:
    with pytest.raises(InputError, match="y: only kinds over time draw several of --y"):
        of(crossed(), "ecdf", y=("goodput_bps", "p95_delay_s"))
