"""The study of web pages over LTE: its scenarios, its measures on small runs, and how savings are paired."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import math
from types import ModuleType

import polars as pl
import pytest

import ackclock
from ackclock import InputError, study
from ackclock.study import Results
from ackclock.study.figures import build
from ackclock.study.runner import Loaded, judge
from ackclock.study.selections import check
from studies import cached_plans

NAME = "lte-web"
SMALL = {
    "topology.users": [5, 15],
    "topology.rtt": ["100 ms"],
    "app.connections": [1, 2, 4],
    "run.duration": "60 s",
    "run.replications": 3,
}


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return study.load(NAME)


@pytest.fixture(scope="module")
def measures(loaded: Loaded) -> ModuleType:
    assert loaded.code.claims
    return importlib.import_module("ackclock_study_lte_web.measures")


@pytest.fixture(scope="module")
def small(loaded: Loaded) -> ackclock.Result:
    setting = next(item for item in loaded.study.settings if item.id == "connections")
    return ackclock.run(setting.content, set=SMALL, jobs=1)


@pytest.mark.parametrize(
    ("quick", "runs"),
    [
        # Series A and B in their readings, single sentences, then what goes beyond the paper.
        (
            False,
            sum((3840, 2400, 3 * 960, 2 * 600, 160, 40, 20, 40, 10, 40, 120, 2430, 240, 240, 120, 36, 45, 90, 90, 3)),
        ),
        (True, 60 + 48 + 60 + 8 + 12 + 144 + 24 + 8 + 8 + 4 + 4 + 4 + 4 + 8 + 12 + 3),
    ],
)
def test_every_scenario_can_be_planned(loaded: Loaded, quick: bool, runs: int) -> None:
    assert sum(len(plan) for plan in cached_plans(loaded.study, quick=quick).values()) == runs


def test_the_cell_over_time_is_a_figure(loaded: Loaded) -> None:
    setting = next(item for item in loaded.study.settings if item.id == "watched")
    watched = ackclock.run(setting.content, set={**setting.changes, "run.duration": "10 s"}, jobs=1)
    (spec,) = [figure for figure in loaded.study.figures if figure.id == "occupancy"]
    shown = build(spec, {"watched": study.Runs.of("watched", watched)}, {})  # type: ignore[arg-type]
    assert [panel.title for panel in shown.panels] == ["5 users", "15 users", "30 users"]
    own = watched.series.filter((pl.col("metric") == "rho_rb") & (pl.col("topology.users") == 30))["value"]
    assert list(shown.panels[2].curves[0].y) == pytest.approx((100 * own).to_list())
    assert max(shown.panels[2].curves[0].y) > 0


@pytest.mark.parametrize(
    ("data", "of", "what"), [("rho_rb", "cel", "unknown cell 'cel'"), ("user_rate", "cell.7", "unknown user of a cell")]
)
def test_a_series_of_a_cell_must_be_of_one_that_is_there(loaded: Loaded, data: str, of: str, what: str) -> None:
    (spec,) = [figure for figure in loaded.study.figures if figure.id == "occupancy"]
    series = (dataclasses.replace(spec.series[0], data=data, of=of),)
    wrong = dataclasses.replace(loaded.study, figures=(dataclasses.replace(spec, series=series),))
    with pytest.raises(InputError, match=what):
        check(wrong, cached_plans(loaded.study))


def test_users_are_the_same_whatever_is_compared(small: ackclock.Result) -> None:
    """In a replication places and pages hang neither on the connections nor on how many others there are."""
    keys = ["replication", "user"]
    places = small.users.filter(pl.col("user") < 5).group_by(keys).agg(pl.col("distance_m").n_unique())
    assert set(places["distance_m"]) == {1}
    pages = small.pages.filter(pl.col("topology.users") == 5, pl.col("page") == 0)
    drawn = pages.group_by("replication", "id").agg(pl.col("bytes").n_unique(), pl.col("start_s").n_unique())
    assert set(drawn["bytes"]) == set(drawn["start_s"]) == {1}


def test_measures_are_means_of_tables(small: ackclock.Result, measures: ModuleType) -> None:
    for run in study.Runs.of("connections", small):
        pages = small.pages.filter(pl.col("run") == run.number)
        done = [row["plt_s"] for row in pages.to_dicts() if row["outcome"] == "completed"]
        assert measures.load_time(run) == pytest.approx(sum(done) / len(done))
        assert measures.unfinished(run) == pytest.approx(1 - len(done) / pages.height)
        users = small.users.filter(pl.col("run") == run.number)
        assert measures.dropped(run) == users["drops_age"].sum()
        waited = [
            (row["mean_wait_s"], row["delivered_packets"]) for row in users.to_dicts() if row["delivered_packets"]
        ]
        assert measures.waited(run) == pytest.approx(sum(t * n for t, n in waited) / sum(n for _, n in waited))


def test_savings_are_paired_by_replication(loaded: Loaded, small: ackclock.Result, measures: ModuleType) -> None:
    times = {
        (run.params["topology.users"], run.params["app.connections"], run.replication): measures.load_time(run)
        for run in study.Runs.of("connections", small)
    }

    def savings(users: int, x: int) -> list[float]:
        return [1 - times[users, x, number] / times[users, 1, number] for number in range(3)]

    known = {"connections": {"topology.rtt": ("10 ms", "100 ms"), "topology.users": (5, 10, 15, 20, 25, 30)}}
    claims = importlib.import_module("ackclock_study_lte_web.claims")
    results = Results({"connections": small}, known=known)
    logs = [math.log(1 - saving) for saving in savings(5, 4)]
    assert claims.sigma(results, 4, "100 ms", 5).value == pytest.approx(1 - math.exp(sum(logs) / 3))
    falls = [few - many for few, many in zip(savings(5, 2), savings(15, 2), strict=True)]
    assert claims.fallen(results, 2, "100 ms", 5, 15).value == pytest.approx(sum(falls) / 3)
    gains = [b - a for a, b in zip(savings(5, 2), savings(5, 4), strict=True)]
    assert claims.gained(results, 4, 2, "100 ms", 5).value == pytest.approx(sum(gains) / 3)


def test_claims_that_have_no_runs_say_nothing(loaded: Loaded, small: ackclock.Result) -> None:
    known = {
        name: {key: tuple(dict.fromkeys(point.params[key] for point in plan.points)) for key in plan.params}
        for name, plan in cached_plans(loaded.study).items()
    }
    nothing = small.runs.clear()
    empty = ackclock.Result({**small.tables, "runs": nothing}, {**small.manifest, "points": [], "runs": []})
    others = dict.fromkeys(known, empty)
    results = Results({**others, "connections": small}, known=known, quick=True)
    found = judge(loaded.code.claims, results)
    assert [(item.claim.id, item.verdict.detail) for item in found if item.broken] == []
    verdicts = {item.claim.id: item.verdict for item in found}
    assert verdicts["A2"].outcome == verdicts["A6"].outcome == "inconclusive"
    assert verdicts["A9"].value is not None


def test_an_oracle_has_the_least_mean_of_each_point(loaded: Loaded) -> None:
    """And a client that chooses is compared with it, and with every number, over all points together."""
    grid = next(item for item in loaded.study.settings if item.id == "grid")
    specs = [1, 4, {"policy": "adaptive", "most": 8}]
    steps = {"topology.users": [4, 9], "topology.rtt": ["20 ms", "60 ms"], "topology.power": ["30 dBm", "40 dBm"]}
    few = {**steps, "app.connections": specs}
    result = ackclock.run(grid.content, set={**few, "run.duration": "90 s", "run.replications": 3}, jobs=1)
    choice = importlib.import_module("ackclock_study_lte_web.choice")
    known = {"grid": {**{key: tuple(each) for key, each in steps.items()}, "app.connections": (1, 4, choice.CHOSEN)}}
    results = Results({"grid": result}, known=known)
    one, four, mine = (choice.times(results, which) for which in (1, 4, choice.CHOSEN))
    points = list(itertools.product(*steps.values()))
    assert list(mine) == points
    logs = [sum(math.log(mine[point][n] / four[point][n]) for point in points) / len(points) for n in mine[points[0]]]
    assert len(logs) == 3
    assert choice.overall(mine, four).value == pytest.approx(math.exp(sum(logs) / 3))
    slow, fast = {0: 3.0, 1: 5.0}, {0: 4.0, 1: 3.0}
    known_best = choice.oracle({1: {points[0]: slow}, 4: {points[0]: fast}})
    assert known_best == {points[0]: fast}, "by the mean, not replication by replication"
    judged = choice.everywhere(one, one, lambda ratio: study.at_most(ratio, 1.05))
    assert (judged.outcome, judged.value) == ("pass", pytest.approx(1))
    spoilt = {**one, points[3]: {number: 1.2 * time for number, time in one[points[3]].items()}}
    judged = choice.everywhere(spoilt, one, lambda ratio: study.at_most(ratio, 1.05))
    assert (judged.outcome, judged.value) == ("fail", pytest.approx(1.2)), "one point is enough"
