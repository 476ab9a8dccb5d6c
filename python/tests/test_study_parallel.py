"""The study of parallel connections: its formula, its measures on small runs of its lines, its claims."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock import study
from ackclock.models import parallel_utilisation
from ackclock.study import Results
from ackclock.study.figures import build
from ackclock.study.runner import Loaded, judge, plans

NAME = "parallel-tcp"


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return study.load(NAME)


@pytest.fixture(scope="module")
def measures(loaded: Loaded) -> ModuleType:
    assert loaded.code.claims
    return importlib.import_module("ackclock_study_parallel_tcp.measures")


def line(loaded: Loaded, name: str, **changes: Any) -> ackclock.Result:
    """A scenario of the study with few connections and runs, in this process."""
    setting = next(item for item in loaded.study.settings if item.id == name)
    small = {
        "cc": ["cubic"],
        "run.replications": 2,
        **{key.replace("__", "."): value for key, value in changes.items()},
    }
    return ackclock.run(setting.content, set={**setting.changes, **small}, jobs=1)


@pytest.mark.parametrize("quick", [False, True])
def test_every_scenario_can_be_planned(loaded: Loaded, quick: bool) -> None:
    found = plans(loaded.study, quick=quick)
    assert [len(plan) for plan in found.values()] == [
        sum(point.scenario.run.replications for point in plan.points) for plan in found.values()
    ]
    most = {max(point.params["count"] for point in plan.points) for plan in found.values()}
    assert most == {25}


def test_the_numbers_of_the_formula_are_those_of_the_model(loaded: Loaded) -> None:
    table = next(table for table in loaded.study.tables if table.id == "share")
    for label, row in table.references[0].values.items():
        keep = 0.7 if label.endswith("cubic") else 0.5
        for measure, value in row.items():
            expected = parallel_utilisation(int(measure.removeprefix("share_")), keep)
            assert value == pytest.approx(expected, abs=5.1e-7), (label, measure)


def test_measures_of_a_saturated_line(loaded: Loaded, measures: ModuleType) -> None:
    found = Results({"saturated": line(loaded, "saturated", count=[1, 4])})
    for run in found["saturated"].where({"topology.rate": "100 Mbit/s"}):
        rows = run.flows
        assert measures.connections(run) == len(rows)
        assert measures.goodput(run) == pytest.approx(sum(row["goodput_bytes"] for row in rows) * 8 / 10)
        assert measures.payload_rate(run) == pytest.approx(1e8 * 1448 / 1500)
        assert 0.98 < measures.share(run) < 1.0
        assert (measures.share_1(run), measures.share_4(run))[len(rows) == 4] == measures.share(run)
        assert measures.share_25(run) is None
        assert measures.formula_cubic(run) == parallel_utilisation(len(rows), 0.7)


def test_a_policer_is_the_line(loaded: Loaded, measures: ModuleType) -> None:
    found = Results({"policed": line(loaded, "policed", count=[4], tcp__pacing=["window"])})
    for run in found["policed"]:
        assert measures.payload_rate(run) == pytest.approx(1e8 * 1448 / 1500)
        # Paced into next to no buffer four connections lose together, so they use little more than (1 + beta) / 2.
        assert measures.together(run) > 0.75
        assert 0.85 < measures.share(run) < measures.formula_cubic(run)


def test_claims_on_few_runs(loaded: Loaded) -> None:
    limits = ("mobile-window", "mobile-loss", "fibre-window", "fibre-loss")
    few = {name: line(loaded, name, count=[1, 10, 25], run__duration="3 s") for name in limits}
    few["saturated"] = line(loaded, "saturated", count=[1, 25])
    verdicts = {item.claim.id: item for item in judge(loaded.code.claims, Results(few, quick=True))}
    assert not any(item.broken for item in verdicts.values())
    assert {name: item.verdict.outcome for name, item in verdicts.items() if name != "C3"} == {
        **dict.fromkeys(("C1", "C2", "C4", "C6"), "pass"),
        "C7": "fail",
    }
    assert verdicts["C7"].verdict.value == pytest.approx(0.925, abs=1e-5)
    assert "N = 1: 0.925 (formula 0.8500) [fail]" in verdicts["C7"].verdict.detail
    assert "N = 8" in verdicts["C7"].verdict.detail
    assert verdicts["C7"].verdict.detail.count("[fail]") == 2, "from four connections on it does stand for CUBIC"
    assert verdicts["C1"].verdict.value == pytest.approx(0.85, abs=1e-12)
    assert verdicts["C3"].verdict.outcome in ("pass", "inconclusive")
    for text in ("mobile, receive window", "fibre, random loss", "10 over 1", "25 over 10"):
        assert text in verdicts["C3"].verdict.detail


def test_the_recorded_lines_are_shares_of_the_most_seen(loaded: Loaded, measures: ModuleType) -> None:
    assert loaded.code.claims
    record = pl.read_csv(loaded.study.folder / "expected" / "lines.csv")
    assert set(record["line"]) == {"mobile A", "mobile B", "mobile B moving", "mobile C", "fibre A", "fibre B"}
    for name in set(record["line"]):
        own = record.filter(pl.col("line") == name)
        means = dict(own.group_by("connections").agg(pl.col("goodput_kbps").mean()).iter_rows())
        found = measures.recorded(name)
        assert found == pytest.approx({number: mean / own["goodput_kbps"].max() for number, mean in means.items()})
        assert len(found) == 25
        assert max(found.values()) <= 1


def test_a_plain_run_draws_both_figures_of_the_paper(loaded: Loaded, measures: ModuleType) -> None:
    results = Results({"saturated": line(loaded, "saturated", count=[1, 4], run__duration="1 s")})
    figures = {figure.paper: figure for figure in loaded.study.figures if figure.paper}
    assert set(figures) == {"figure 1", "figure 2"}
    first, second = (build(figures[name], results, loaded.code.measures) for name in ("figure 1", "figure 2"))
    assert {
        curve.label: [round(y, 3) for y in curve.y] for curve in first.panels[0].curves if "formula" in curve.label
    } == {
        "formula, 0.5": [75.0, 92.308],
        "formula, 0.7": [85.0, 95.775],
        "formula, 0.8": [90.0, 97.297],
    }
    assert first.panels[0].curves[-1].y[0] == pytest.approx(92.5)
    assert {curve.label: curve.y[0] for curve in second.panels[0].curves}["mobile A"] == pytest.approx(
        100 * measures.recorded("mobile A")[1]
    )
    assert len(second.panels[0].curves) == 7
