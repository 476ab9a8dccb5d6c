"""Completion times of transfers that were not done: they count, and where the slowest are among them it is said."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import ackclock
from ackclock import stats
from ackclock.ranking.ranking import rank
from ackclock.results.times import horizon, of_run, unfinished


def test_without_any_it_is_the_mean_and_the_nearest_rank() -> None:
    times = np.random.default_rng(1).exponential(size=250)
    found = of_run(times, np.ones(250, dtype=bool))
    assert found["mean_fct_s"] == (pytest.approx(times.mean()), False)
    for percent in (50, 95, 99):
        assert found[f"p{percent}_fct_s"] == (stats.percentile(times.tolist(), percent), False)


def test_it_is_the_estimate_of_kaplan_and_meier() -> None:
    rng = np.random.default_rng(2)
    held = rng.exponential(size=80)
    done = rng.random(80) < 0.7
    at, left = stats.kaplan_meier(held.tolist(), (~done).tolist())
    steps = np.concatenate([[1.0], left[:-1]])
    assert of_run(held, done)["mean_fct_s"][0] == pytest.approx(float(np.sum(np.diff([0.0, *at]) * steps)))
    median = next(time for time, share in zip(at, left, strict=True) if share <= 0.5)
    assert of_run(held, done)["p50_fct_s"] == (pytest.approx(median), False)


def test_a_time_that_nobody_reached_is_a_bound() -> None:
    found = of_run(np.array([1.0, 2.0, 9.0, 9.0]), np.array([True, True, False, False]))
    assert found["mean_fct_s"] == (pytest.approx(1 + 0.75 * 1 + 0.5 * 7), True)
    assert found["p50_fct_s"] == (2.0, False)
    assert "p95_fct_s" not in found  # of too few transfers
    assert of_run(np.array([5.0, 5.0]), np.array([False, False]))["p50_fct_s"] == (5.0, True)


def test_one_that_had_just_begun_says_little() -> None:
    times = np.array([1.0, 2.0, 3.0, 1e-3])
    assert of_run(times, np.array([True, True, True, False]))["mean_fct_s"] == (pytest.approx(2.0), False)


def test_times_are_compared_up_to_what_all_runs_know() -> None:
    """Nobody knows whether the one with half of its transfers under way after 2 s is slower than one that took 3 s."""
    slow = np.array([1.0, 3.0, 3.0]), np.array([True, True, True])
    open_ended = np.array([1.0, 2.0, 2.0]), np.array([True, False, False])
    assert of_run(*slow)["p50_fct_s"][0] > of_run(*open_ended)["p50_fct_s"][0]  # each by itself: the wrong way round
    until = horizon([slow, open_ended])
    assert until == 2.0
    assert of_run(*slow, until) == of_run(*open_ended, until)
    assert of_run(*slow, until) == {"mean_fct_s": (pytest.approx(5 / 3), True), "p50_fct_s": (2.0, True)}
    assert horizon([slow]) is None
    late = np.array([3.0, 0.5]), np.array([True, False])  # one that had just begun: the longest is known
    assert horizon([slow, late]) is None
    assert horizon([open_ended, (np.array([1.5]), np.array([False]))]) == 1.5


def test_a_controller_that_does_not_get_done_is_not_the_fastest(tmp_path: Path) -> None:
    # Four files each; the second kind of run ends before the long ones are through, whose times would be left out.
    flows = [{"cc": "reno", "bytes": "20 kB", "count": 3}, {"cc": ["reno", "cubic"], "bytes": ["200 kB", "20 MB"]}]
    result = ackclock.run(
        {
            "topology": {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": "1 BDP"},
            "flows": [flow | {"start": {"uniform": ["0 s", "100 ms"]}} for flow in flows],
            "run": {"duration": "4 s", "replications": 4},
            "sweep": {"zip": [["flows.1.cc", "flows.1.bytes"]]},  # a controller with the long ones, as it were
        },
        jobs=1,
    )
    assert len(unfinished(result)) == 4
    found = rank(result, goal="mean_fct_s down")
    short, long = found.candidates
    assert (short.name, long.name) == ("reno", "cubic")
    assert long.metrics["mean_fct_s"].at_least
    assert not short.metrics["mean_fct_s"].at_least
    assert long.metrics["mean_fct_s"].value > 1  # a quarter of the transfers held for 4 s
    assert found.axes == {"completion time": "mean_fct_s", "delay": "p95_queue_delay_s"}
    assert any("transfers that were not done count" in note for note in found.notes)
    (least, most) = found.horizon or (0, 0)
    assert 3.9 <= least <= most <= 4  # seen from within 0.1 s after the start to the end of the run
    assert re.search(r"mean completion time, of which no more than (3\.9\d|4) s count,", found.sentence)
    means = result.summary()["mean_fct_s"].to_list()
    assert means[1] < 0.5  # what the summary has: of those that were done


def test_of_few_transfers_beside_endless_flows_the_mean_is_shown() -> None:
    result = ackclock.run(
        {
            "topology": {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": "1 BDP"},
            "flows": [{"cc": ["reno", "cubic"]}, {"bytes": "50 kB", "count": 3, "start": {"uniform": ["0 s", "2 s"]}}],
            "run": {"duration": "5 s"},
        },
        replications=3,
        jobs=1,
    )
    metrics = rank(result).candidates[0].metrics
    assert "mean_fct_s" in metrics
    assert "p95_fct_s" not in metrics
