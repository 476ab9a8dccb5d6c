"""The intervals of a ranking hold, and a wrong best is rare: fewer sweeps of each shape than docs/rank.md has."""

from __future__ import annotations

import math

import pytest

from ranking_coverage import SHAPES, TRADEOFFS, called_best, dominate, play

SWEEPS = 200
BEYOND = "collapses of one, one point, 5 replications"  # docs/rank.md says that it is not covered


@pytest.mark.parametrize("name", [name for name in SHAPES if name != BEYOND])
def test_intervals_hold_and_best_is_right(name: str) -> None:
    found = play(SHAPES[name], SWEEPS, seed=1)
    error = math.sqrt(0.05 * 0.95 / SWEEPS)
    assert found.held >= 0.95 - 3 * error
    assert found.wrong <= 0.05 + 3 * error
    assert found.missed <= 0.05 + 3 * error


def test_a_best_that_is_far_enough_ahead_is_named() -> None:
    assert play(SHAPES["one is best"], SWEEPS, seed=1).named > 0.8


def test_resampled_means_alone_do_not_hold() -> None:
    """What the intervals would be without Student's quantiles: a check that this simulation sees it."""
    assert play(SHAPES["ties, 3 replications"], SWEEPS, seed=1).bootstrap < 0.5
    assert play(SHAPES["ties"], SWEEPS, seed=1).bootstrap < 0.9


@pytest.mark.parametrize("name", TRADEOFFS)
def test_domination_is_seldom_wrong(name: str) -> None:
    wrong, _, _ = dominate(TRADEOFFS[name], SWEEPS, seed=1)
    # Equal ones may be told apart by any of three metrics, each at 5 %.
    limit = 0.05 * (len(TRADEOFFS[name].truth) if "equal" in name else 1)
    assert wrong <= limit + 3 * math.sqrt(limit * (1 - limit) / SWEEPS)


def test_what_is_better_for_nothing_dominates() -> None:
    assert dominate(TRADEOFFS["10 % of one for nothing"], SWEEPS, seed=1)[1] > 0.8


@pytest.mark.parametrize("n", [5, 10])
def test_the_probability_of_being_best_is_calibrated(n: int) -> None:
    """Of two that are equal one comes to 95 % in 5 % of sweeps."""
    assert called_best(2, n, 400, seed=1)[0] <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)
