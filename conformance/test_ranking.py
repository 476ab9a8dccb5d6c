"""The intervals of a ranking hold, and a wrong best is rare: fewer sweeps of each shape than docs/rank.md has."""

from __future__ import annotations

import math

import pytest

from ranking_coverage import SHAPES, play

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
