"""Rankings: who is told from whom, against what, over which runs; and what is said where little is known."""

from __future__ import annotations

import copy
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import ackclock
from ackclock import InputError, Result
from ackclock.ranking import goals
from ackclock.ranking.ranking import Candidate, Ranking, rank
from planted import CCS, noise, plant, played
from shared import SMALL

SHAPE = (4, 3, 6)
LEVELS = np.array([1.0, 1.3, 1.1, 1.1])[:, None, None]  # cubic is best, vegas and bbr1 are equal, reno is last


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Four controllers on three paths, six times each."""
    return played(tmp_path_factory.mktemp("rank"))


@pytest.fixture(scope="module")
def result(raw: Result) -> Result:
    """The same with goodput and delay that are known."""
    paths = np.array([1.0, 2.0, 4.0])[None, :, None]
    delay = 0.01 * np.array([1.0, 2.0, 1.5, 0.5])[:, None, None] * paths
    return plant(
        raw,
        {"goodput_bps": 1e6 * LEVELS / paths * noise(SHAPE), "p95_queue_delay_s": delay * noise(SHAPE, 1)},
    )


def line(found: Ranking, name: str) -> Candidate:
    return next(item for item in found.candidates if item.name == name)


def standing(found: Ranking) -> dict[str, int]:
    return {item.name: item.rank for item in found.candidates}


def test_ranks_are_shared_by_those_that_are_not_told_apart(result: Result) -> None:
    found = rank(result)
    assert (found.by, found.reference, found.points, found.replications) == ("cc", "cubic", 3, 6)
    assert standing(found) == {"cubic": 1, "vegas": 2, "bbr1": 2, "reno": 4}
    assert found.candidates[0].name == "cubic"
    assert [line(found, name).tied for name in CCS] == [False, False, True, True]
    assert found.best == ("cubic",)
    assert line(found, "cubic").best == pytest.approx(1.0, abs=0.001)
    assert found.state == "sampled"


def test_a_ratio_is_the_geometric_mean_over_points_and_runs(result: Result) -> None:
    found = rank(result)
    values = {cc: result.flows.filter(pl.col("cc") == cc)["goodput_bps"].log().mean() for cc in ("cubic", "reno")}
    expected = math.exp(values["reno"] - values["cubic"])  # type: ignore[operator]
    own = line(found, "reno")
    assert own.score.against == pytest.approx(expected)
    assert own.metrics["goodput_bps"].against == pytest.approx(expected)
    assert own.metrics["goodput_bps"].value == pytest.approx(math.exp(values["reno"]))  # type: ignore[arg-type]
    assert own.score.low < expected < own.score.high < 1  # type: ignore[operator]
    assert own.score.shown == "lower"


def test_intervals_and_ranks_say_the_same(result: Result) -> None:
    """A rank is shared with the reference just where the interval of the score has 1 in it."""
    for size in (0.01, 0.05, 0.15, 0.5):
        found = rank(plant(result, {"goodput_bps": 1e6 * LEVELS * noise(SHAPE, 3, size)}))
        for item in found.candidates[1:]:
            within = item.score.low <= 1 <= item.score.high  # type: ignore[operator]
            assert within == (item.score.shown is None) == (item.rank == 1), (size, item.name)


def test_a_base_is_what_others_are_given_against(result: Result) -> None:
    best, base = rank(result), rank(result, base="reno")
    assert standing(best) == standing(base)
    assert base.reference == "reno"
    assert line(base, "cubic").score.against == pytest.approx(1 / line(best, "reno").score.against)
    assert line(base, "cubic").score.low == pytest.approx(1 / line(best, "reno").score.high)  # type: ignore[operator]
    with pytest.raises(InputError, match="base: unknown value of 'cc' 'tahoe'"):
        rank(result, base="tahoe")


def test_the_order_of_candidates_does_not_matter(raw: Result, tmp_path: Path) -> None:
    goodput = 1e6 * LEVELS * noise(SHAPE, 2)
    order = [2, 0, 3, 1]
    other = played(tmp_path, ccs=[CCS[i] for i in order])
    straight = rank(plant(raw, {"goodput_bps": goodput}), metrics=[])
    turned = rank(plant(other, {"goodput_bps": goodput[order]}), metrics=[])
    assert_frame_equal(straight.frame, turned.frame)
    assert straight.sentence == turned.sentence


def test_units_do_not_matter(result: Result) -> None:
    flows = result.flows.with_columns(pl.col("goodput_bps") * 1e3)
    scaled = rank(Result({**result.tables, "flows": flows}, result.manifest))
    same = rank(result)
    for name in CCS:
        a, b = line(same, name).score, line(scaled, name).score
        assert (a.against, a.low, a.high) == pytest.approx((b.against, b.low, b.high))
    assert standing(scaled) == standing(same)


def test_the_worst_point_is_named(result: Result) -> None:
    goodput = 1e6 * LEVELS * noise(SHAPE)
    goodput[1, 2] *= 0.7  # cubic on the longest path: 0.91 of reno's 1, 0.83 of vegas's 1.1
    goodput[3] *= 0.9
    found = rank(plant(result, {"goodput_bps": goodput}))
    worst = line(found, "cubic").worst
    assert (worst.params, worst.against) == ({"topology.rtt": "80 ms"}, "vegas")
    assert worst.ratio == pytest.approx(0.83, abs=0.02)
    assert worst.high < 1  # type: ignore[operator]
    assert "At rtt 80 ms it is 1" in found.sentence
    assert "% below vegas." in found.sentence
    assert line(found, "reno").worst.ratio < 1 / 1.2


def test_the_front_is_of_those_that_nobody_beats(result: Result) -> None:
    found = rank(plant(result, {"mean_rtt_s": 0.02 * noise(SHAPE)}))
    # By planted goodput and delay: cubic has the most goodput, bbr1 the least delay; vegas is as good as bbr1 in one
    # and worse in the other; reno is worse than bbr1 in both. Fairness is 1 for all: no axis.
    assert found.axes == {"throughput": "goodput_bps", "delay": "p95_queue_delay_s"}
    assert {item.name: item.front for item in found.candidates} == {
        "cubic": True, "bbr1": True, "vegas": False, "reno": False,
    }  # fmt: skip
    assert line(found, "vegas").dominated_by == ("bbr1",)
    assert "bbr1" in line(found, "reno").dominated_by


def test_what_is_within_the_intervals_does_not_dominate(result: Result) -> None:
    # 2 % less goodput and 2 % more delay, in noise of 30 %: nothing is shown.
    level = np.array([1.0, 0.98, 1.0, 1.0])[:, None, None]
    values = {
        "goodput_bps": 1e6 * level * noise(SHAPE, 17, 0.3),
        "p95_queue_delay_s": 0.01 / level * noise(SHAPE, 18, 0.3),
    }
    found = rank(plant(result, values))
    assert all(item.front is None for item in found.candidates)
    assert "Which of them are on the front of throughput and delay is not shown." in found.sentence


@pytest.mark.parametrize(
    ("text", "aims"),
    [
        ("goodput_bps up, p95_queue_delay_s down 2x", [("goodput_bps", True, 1), ("p95_queue_delay_s", False, 2)]),
        ("mean_rtt_s", [("mean_rtt_s", False, 1)]),
        ("jain 0.5x, utilisation", [("jain", True, 0.5), ("utilisation", True, 1)]),
        ("low-delay", [("goodput_bps", True, 1), ("p95_delay_s", False, 2)]),
    ],
)
def test_goals_are_read(text: str, aims: list[tuple[str, bool, float]]) -> None:
    goal = goals.read(text)
    assert [(aim.metric, aim.up, aim.weight) for aim in goal.aims] == aims
    assert goals.read(str(goal)).aims == goal.aims


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("speed", "unknown goal or metric 'speed'"),
        ("bulky", "did you mean 'bulk'"),
        ("goodput_bps upwards", "'goodput_bps upwards' is not an aim; write METRIC, up or down"),
        ("goodput up, jain", "unknown metric 'goodput'"),
        ("jain, jain", "'jain' is there twice"),
        ("jain 0x, utilisation", "'jain' has no weight"),
        ("", "is not an aim"),
    ],
)
def test_goals_that_are_none(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=re.escape(problem)):
        goals.read(text)


def test_every_preset_is_one_that_can_be_read() -> None:
    for name in goals.PRESETS:
        assert goals.read(name).preset == name


def test_a_score_is_the_weighted_geometric_mean(result: Result) -> None:
    found = rank(result, goal="goodput_bps up, p95_queue_delay_s down 2x")
    for item in found.candidates:
        rate, delay = (item.metrics[name].against for name in ("goodput_bps", "p95_queue_delay_s"))
        assert item.score.against == pytest.approx((rate / delay**2) ** (1 / 3))
    assert found.best == ("bbr1",)


@pytest.mark.parametrize("size", [0.02, 0.2])
def test_an_index_in_the_goal_is_a_ratio_as_the_score_is(result: Result, size: float) -> None:
    """So that its interval says what the rank says."""
    own = noise(SHAPE, 4, size) * np.array([1.0, 1.1, 1.2, 1.3])[:, None, None]
    first = result.flows["id"] == "0"
    goodput = plant(result, {"goodput_bps": own}).flows["goodput_bps"]
    flows = result.flows.with_columns(goodput_bps=pl.when(first).then(3.0).otherwise(goodput))
    found = rank(Result({**result.tables, "flows": flows}, result.manifest), goal="jain up")
    for item in found.candidates:
        measured = item.metrics["jain"]
        assert measured.kind == "ratio"
        assert (measured.against, measured.low, measured.high) == (item.score.against, item.score.low, item.score.high)
        assert (measured.shown is None) == (item.rank == 1)


def test_pantheons_power_and_what_stands_in(result: Result) -> None:
    with_delay = plant(result, {"p95_delay_s": 0.03 * LEVELS * noise(SHAPE, 8), "mean_rtt_s": 0.1 * noise(SHAPE, 9)})
    power = rank(with_delay, goal="pantheon")
    assert power.goal.metrics == ("goodput_bps", "p95_delay_s")
    older = with_delay.flows.with_columns(p95_delay_s=pl.lit(None, pl.Float64))
    without = rank(Result({**with_delay.tables, "flows": older}, result.manifest), goal="pantheon")
    assert without.goal.metrics == ("goodput_bps", "mean_rtt_s")
    assert "mean_rtt_s stands in for p95_delay_s, which these runs do not have" in without.notes


def test_zeros_have_no_ratio(result: Result) -> None:
    delay = 0.01 * noise(SHAPE)
    delay[2, 1, :2] = 0.0
    holed = plant(result, {"p95_queue_delay_s": delay})
    with pytest.raises(InputError, match=r"is 0 in 2 of 72 runs, first at cc=vegas, topology\.rtt=40 ms") as said:
        rank(holed, goal="goodput_bps up, p95_queue_delay_s down 2x")
    assert "such as mean_rtt_s for a queueing delay" in said.value.remedy
    found = rank(holed)  # beside the goal it is compared by differences
    assert line(found, "vegas").metrics["p95_queue_delay_s"].kind == "difference"
    assert any("p95_queue_delay_s is 0 in some run" in note for note in found.notes)


def test_the_delay_of_a_preset_is_that_of_the_path_with_its_queue(tmp_path: Path) -> None:
    """An empty queue has no ratio, and 0.1 ms beside 0.2 ms on a path of 10 ms is nothing: not as 20 beside 40."""
    shape = (4, 1, 6)
    queue = np.array([1e-4, 2e-4, 0.0, 2e-2])[:, None, None] * np.ones(shape)
    delay = (0.01 + queue) * noise(shape, 21, 1e-4)
    goodput = 1e6 * np.array([1.0, 1.03, 1.0, 1.0])[:, None, None] * noise(shape, 22, 1e-3)
    planted = {"goodput_bps": goodput, "p95_delay_s": delay, "p95_queue_delay_s": queue}
    found = rank(plant(played(tmp_path, rtts=("20 ms",)), planted), goal="low-delay")
    # Cubic has 3 % more goodput and 1 % more delay than Reno: (1.03 / 1.01²)^(1/3) = 1.0032; vegas as reno, 1 % less
    # delay: 1.01^(2/3) = 1.0067; bbr1 has three times the delay.
    assert [item.name for item in found.candidates] == ["vegas", "cubic", "reno", "bbr1"]
    score = {item.name: item.score.value for item in found.candidates}
    assert score["cubic"] / score["reno"] == pytest.approx((1.03 * (10.1 / 10.2) ** 2) ** (1 / 3), rel=1e-3)


def test_missing_points_and_candidates_are_said(result: Result) -> None:
    one_cell = plant(result, {"goodput_bps": np.where(_at(1, 2), np.nan, 1e6 * LEVELS * noise(SHAPE))})
    found = rank(one_cell)  # of four candidates one lacks one of three points: the point goes, not the candidate
    assert len(found.candidates) == 3
    assert found.unranked == {"cubic": "no finished run with goodput_bps at 1 of 3 points"}
    two = _at(1, 2) | _at(0, 2)
    found = rank(plant(result, {"goodput_bps": np.where(two, np.nan, 1e6 * LEVELS * noise(SHAPE))}))
    assert (found.points, len(found.candidates), found.unranked) == (2, 4, {})
    assert "1 point left out, as some candidate has no value: topology.rtt=80 ms" in found.notes


def _at(cc: int, rtt: int) -> Any:
    where = np.zeros(SHAPE, dtype=bool)
    where[cc, rtt] = True
    return where


def test_replications_that_some_lack_are_left_out_for_all(result: Result) -> None:
    goodput = 1e6 * LEVELS * noise(SHAPE)
    goodput[0, 0, 3] = np.nan
    found = rank(plant(result, {"goodput_bps": goodput}))
    assert found.replications == 5
    assert "of up to 6 replications the 5 count that every candidate has at every point" in found.notes


def test_few_replications(result: Result) -> None:
    few = rank(_first(result, 3))
    assert few.replications == 3
    assert all(item.best is None for item in few.candidates)
    assert few.candidates[-1].score.low is not None
    assert any("3 replications make wide intervals and no probability of being best" in note for note in few.notes)
    one = rank(_first(result, 1))
    assert one.state == "single"
    assert [item.rank for item in one.candidates] == [1, 2, 3, 4]
    assert (one.candidates[0].name, one.candidates[3].name) == ("cubic", "reno")
    assert all(item.score.low is None and item.front is None and not item.tied for item in one.candidates)
    assert "one replication cannot tell that from chance: run with --replications 10." in one.sentence


def _first(result: Result, n: int) -> Result:
    """The first replications of a result."""
    wanted = result.runs.filter(pl.col("replication") < n)["run"].to_list()
    manifest = copy.copy(result.manifest)
    manifest["runs"] = [entry for entry in manifest["runs"] if entry["run"] in wanted]
    tables = {name: table.filter(pl.col("run").is_in(wanted)) for name, table in result.tables.items()}
    return Result(tables, manifest)


def test_runs_that_are_all_the_same_have_no_interval(tmp_path: Path) -> None:
    fixed = played(tmp_path, ccs=CCS[:3], n=3, **{"flows.0.start": "0 s"})  # bbr1 draws its phases
    found = rank(fixed)
    assert found.state == "repeated"
    assert all(item.score.low is None and item.best is None and item.worst.low is None for item in found.candidates)
    assert [note for note in found.notes if "the same run" in note] == [
        "the 3 replications are the same run: nothing in the scenario is drawn, so that there is no interval"
    ]
    assert "no replication differs from another" in found.sentence
    values = [item.metrics["goodput_bps"].value for item in found.candidates]
    assert values == sorted(values, reverse=True)
    assert [item.rank for item in found.candidates] == [1 + sum(other > own for other in values) for own in values]


def test_a_difference_that_never_varies_is_not_told_where_runs_differ(result: Result) -> None:
    goodput = 1e6 * np.broadcast_to(LEVELS, SHAPE) * noise(SHAPE)[:1]  # the same noise for all: ratios do not vary
    found = rank(plant(result, {"goodput_bps": goodput}))
    assert found.state == "sampled"
    assert all(item.score.low is None for item in found.candidates)
    assert set(found.best) == set(CCS)


@pytest.mark.parametrize(
    ("changes", "by", "message"),
    [
        ({}, None, "nothing is swept, so that there is nothing to rank; give a key a list"),
        (
            {"topology.rtt": ["20 ms", "40 ms"]},
            None,
            "only conditions are swept (topology.rtt), which are met and not chosen: there is nothing to rank; sweep",
        ),
        (
            {"flows.0.mss": ["1000 B", "1448 B"], "topology.queue.limit": ["1 BDP", "2 BDP"]},
            None,
            "it is not clear what the candidates are; say which: --by KEY (choices that are swept: ",
        ),
        ({"run.seed": [1, 2]}, None, "nothing but the seed is swept, so that there is nothing to rank"),
        ({"topology.rtt": ["20 ms", "40 ms"]}, "cc", "by: unknown swept key 'cc'"),
        (
            {"cc": ["reno"], "topology.rtt": ["20 ms", "40 ms"]},
            None,
            "cc: has one value, reno: there is nothing to rank",
        ),
        (
            {"flows.0.cc": ["reno", "cubic"], "topology.queue.limit": ["1 BDP"]},
            "limit",
            "topology.queue.limit: has one value, 1 BDP",
        ),
        (
            {"flows.0.cc": ["reno", "cubic"], "topology.rtt": ["20 ms", "40 ms"]},
            "rtt",
            "by: topology.rtt is a condition that is met, not a choice, so that no value of it is the best; rank a "
            "choice over all of them, --by cc; see what it does: ackclock plot DIR --x topology.rtt",
        ),
        ({"run.seed": [1, 2], "flows.0.cc": ["reno", "cubic"]}, "seed", "by: a swept seed makes replications"),
    ],
)
def test_what_cannot_be_ranked(tmp_path: Path, changes: dict[str, Any], by: str | None, message: str) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(SMALL, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(message)):
        rank(ackclock.run(path, set=changes, replications=2, jobs=1), by=by)


def test_values_of_a_key_that_is_no_controller(tmp_path: Path) -> None:
    queues = [{"kind": "droptail", "limit": "1 BDP"}, {"kind": "codel"}]
    one = played(tmp_path, ccs=["reno", "cubic"], rtts=["20 ms", "40 ms"], n=2, **{"topology.queue": queues})
    found = rank(one, by="queue", goal="mean_rtt_s down")
    assert found.by == "topology.queue"
    assert found.points == 4  # controllers and paths
    assert {item.name for item in found.candidates} == {"droptail(limit=1 BDP)", "codel"}
    assert rank(one).by == "cc"


def test_flows_beside_those_of_the_candidates_are_spoken_of(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(SMALL + '\n[[flows]]\ncc = ["reno", "vegas"]\n', encoding="utf-8")
    found = rank(ackclock.run(path, replications=2, jobs=1))
    assert found.by == "flows.1.cc"
    assert "metrics are of all flows of a run, not of those of flows.1 alone: --group 1 ranks these" in found.notes


def test_the_frame_and_json_have_every_line(result: Result) -> None:
    found = rank(result, metrics=["utilisation"])
    assert {item.name: item.front for item in found.candidates} == {
        item.name: item.front for item in rank(result).candidates
    }  # what is shown beside the goal does not change it
    frame = found.frame
    assert frame["cc"].to_list() == [item.name for item in found.candidates]
    assert {"rank", "tied", "score", "score_low", "score_high", "best", "front", "worst", "worst_at"} <= set(
        frame.columns
    )
    assert {"utilisation", "utilisation_low", "goodput_bps_against"} <= set(frame.columns)
    told = found.to_json()
    assert told["sentence"] == found.sentence
    assert [item["name"] for item in told["candidates"]] == frame["cc"].to_list()
    assert told["goal"] == [{"metric": "goodput_bps", "up": True, "weight": 1.0}]


def test_of_runs_that_are_the_same_equal_candidates_are_both_on_the_front(tmp_path: Path) -> None:
    fixed = played(tmp_path, ccs=CCS[:3], n=3, **{"flows.0.start": "0 s"})
    levels = np.array([2.0, 2.0, 1.0])[:, None, None] * np.ones((3, 3, 3))
    planted = plant(fixed, {"goodput_bps": 1e6 * levels, "p95_queue_delay_s": 0.02 * np.ones((3, 3, 3))})
    found = rank(planted)
    assert found.state == "repeated"
    assert {item.name: item.front for item in found.candidates} == {"cubic": True, "reno": True, "vegas": False}
    varied = plant(fixed, {"goodput_bps": 1e6 * levels * noise((3, 3, 3)), "p95_queue_delay_s": 0.02 * levels})
    assert {item.front for item in rank(varied).candidates} & {None}, "of what varies none is shown to be the same"
