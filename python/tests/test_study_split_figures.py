"""Figures 29 to 32 of the split-TCP study, drawn from small runs."""

from __future__ import annotations

import dataclasses
import importlib
import math
from pathlib import Path

import polars as pl
import pytest

import split_runs
from ackclock import study
from ackclock.drawing import curves
from ackclock.drawing.chart import Chart
from ackclock.drawing.shapes import DUP_ACK
from ackclock.study import Results, overlays
from ackclock.study.figures import build
from ackclock.study.model import FigureSpec
from ackclock.study.runner import Loaded
from split_runs import Played

NEAR = {"topology.rtt": "105 ms", "topology.profile": "near"}


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return study.load("split-tcp")


@pytest.fixture(scope="module")
def mean(loaded: Loaded) -> Played:
    return split_runs.played(split_runs.planned(loaded, "mean", run__replications=2), "mean")


@pytest.fixture(scope="module")
def results(loaded: Loaded, mean: Played) -> Results:
    return split_runs.results(loaded, {"mean": mean})


def figure(loaded: Loaded, name: str) -> FigureSpec:
    (found,) = (figure for figure in loaded.study.figures if figure.id == name)
    return found


def of_mean(spec: FigureSpec) -> FigureSpec:
    """A figure of regions, drawn of the two mean pings."""
    return dataclasses.replace(
        spec,
        series=tuple(
            dataclasses.replace(
                series, scenario="mean", steps={"mean": "105 ms" if series.panel.startswith("S1") else "15 ms"}
            )
            for series in spec.series
        ),
    )


def regions(loaded: Loaded, spec: FigureSpec) -> None:
    """That every line is of the seven regions of the server that its panel names."""
    claims = importlib.import_module("ackclock_study_split_tcp.claims")
    for series in spec.series:
        server = series.panel[:2]
        assert dict(series.steps) == {f"R{n}": rtt for n, rtt in enumerate(claims.SERVERS[server], 1)}
        assert (series.over, series.by) == ("topology.rtt", "topology.profile")


@pytest.mark.parametrize(("name", "scenario"), [("29a", "lte"), ("29b", "hspa")])
def test_figure_29_has_the_gain_of_a_region_as_a_bar(
    loaded: Loaded, results: Results, name: str, scenario: str
) -> None:
    spec = figure(loaded, name)
    regions(loaded, spec)
    assert {series.scenario for series in spec.series} == {scenario}
    chart = build(of_mean(spec), results, loaded.code.measures)
    assert [panel.title for panel in chart.panels] == ["S1", "S2"]
    claims = importlib.import_module("ackclock_study_split_tcp.claims")
    for panel, rtt in zip(chart.panels, ("105 ms", "15 ms"), strict=True):
        assert [curve.label for curve in panel.curves] == ["near", "mid", "far"]
        for curve in panel.curves:
            runs = claims.chosen(results, "mean", rtt, curve.label)
            # The weighted mean that the claims have, too.
            gains = claims.together([(share, claims.gains(runs, n)) for n, share in enumerate(claims.WEIGHTS)])
            gain = math.fsum(gains.values()) / len(gains)
            assert list(curve.y) == [pytest.approx(100 * gain)]
            assert curve.bars
    far, near = (panel.curves[0].y[0] for panel in chart.panels)
    assert far > near > 0


@pytest.mark.parametrize(("name", "scenario"), [("30a", "lte"), ("30b", "hspa")])
def test_figure_30_has_what_is_sent_again_off_and_on_in_their_places(
    loaded: Loaded, mean: Played, name: str, scenario: str
) -> None:
    spec = figure(loaded, name)
    regions(loaded, spec)
    assert {series.scenario for series in spec.series} == {scenario}
    # Nothing is sent again here, so a hundredth is in the captures of one server, one place, and the proxy on.
    of_runs = mean.result.runs.select("run", "topology.rtt", "topology.profile", "flows.0.relay")
    chosen = pl.struct("topology.rtt", "topology.profile", "flows.0.relay").is_in([
        {"topology.rtt": "105 ms", "topology.profile": "mid", "flows.0.relay": "pep"}
    ])  # fmt: skip
    lost = pl.when(chosen).then(pl.col("sent_bytes") // 100).otherwise(0).cast(pl.UInt64).alias("retransmitted_bytes")
    seen = mean.seen.join(of_runs, on="run").with_columns(lost).drop(of_runs.columns[1:])
    found = split_runs.results(loaded, {"mean": dataclasses.replace(mean, seen=seen)})
    chart = build(of_mean(spec), found, loaded.code.measures)
    drawn = {(panel.title, curve.label): list(curve.y) for panel in chart.panels for curve in panel.curves}
    panels = ["S1, off", "S1, on", "S2, off", "S2, on"]
    assert list(drawn) == [(panel, place) for panel in panels for place in ("near", "mid", "far")]
    assert drawn.pop(("S1, on", "mid")) == [pytest.approx(1.0, rel=1e-3)]
    assert set(map(tuple, drawn.values())) == {(0.0,)}


def test_figure_32a_has_the_lines_of_the_speed_tests(loaded: Loaded, results: Results, tmp_path: Path) -> None:
    claims = importlib.import_module("ackclock_study_split_tcp.claims")
    chart = build(figure(loaded, "32a"), results, loaded.code.measures)
    assert [panel.title for panel in chart.panels] == ["S1, ping 130 ms", "S2, ping 40 ms"]
    for panel in chart.panels:
        assert [(mark.label, mark.x, mark.y) for mark in panel.marks] == [
            ("speed test, NC", None, 25), ("speed test, MC", None, 20), ("speed test, FC", None, 14),
        ]  # fmt: skip
        assert {mark.y for mark in panel.marks} == {speed / 1e6 for speed in claims.SPEED.values()}
        off, on = panel.curves
        assert [off.label, on.label] == ["none", "pep"]
        for without, proxied, speed in zip(off.y, on.y, claims.SPEED.values(), strict=True):
            assert 0 < without < proxied < 1.02 * speed / 1e6
    far = chart.panels[0]
    assert far.curves[0].y[0] == pytest.approx(8.6, abs=0.3), "NC, off, Mbit/s"
    assert far.curves[1].y[0] == pytest.approx(20.9, abs=0.3)
    assert chart.x.ticks == ("near", "mid", "far")
    curves.save(chart, tmp_path, "32a")
    assert "speed test, MC" in (tmp_path / "32a.svg").read_text(encoding="utf-8")


def overlaid(loaded: Loaded, name: str, scenario: str, **changes: object) -> Chart:
    plan = split_runs.planned(loaded, scenario, run__replications=2, **changes)
    return overlays.build(figure(loaded, name), {scenario: plan})


def again(chart: Chart) -> list[dict[str, int]]:
    """How many marks of each kind a panel has."""
    found = []
    for panel in chart.panels:
        assert panel.sequence is not None
        assert panel.sequence.red
        found.append({stroke.label: sum(stroke.count) or len(stroke.x) for stroke in panel.sequence.strokes})
    return found


def lasting(chart: Chart) -> list[float]:
    """How long the transfers of each panel take in the middle, s."""
    found = []
    for panel in chart.panels:
        assert panel.sequence is not None
        (bundle,) = panel.sequence.bundles
        assert len(bundle.lines) == 2
        assert all(max(line.y) == pytest.approx(10, rel=0.001) for line in bundle.lines), "MB"
        found.append(sorted(max(line.x) for line in bundle.lines)[0])
    return found


def test_figure_31a_has_transfers_off_above_on_and_nothing_red(loaded: Loaded) -> None:
    chart = overlaid(loaded, "31a", "mean", topology__rtt=["105 ms"], topology__profile=["near"])
    assert [panel.title for panel in chart.panels] == ["off", "on"]
    assert chart.across == 1, "above each other"
    off, on = lasting(chart)
    assert off > 2 * on, "a gain of about 142 %"
    assert again(chart) == [{}, {}]


def test_figure_31b_has_red_marks_off_and_on(loaded: Loaded) -> None:
    chart = overlaid(loaded, "31b", "outages")
    assert [panel.title for panel in chart.panels] == ["off", "on"]
    assert chart.across == 1
    off, on = lasting(chart)
    assert off > on
    for marks in again(chart):
        assert marks[DUP_ACK] > 100
        assert sum(marks.values()) > marks[DUP_ACK] + 10
