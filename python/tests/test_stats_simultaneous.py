"""Simultaneous intervals of all pairs, and shares of being best."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from ackclock.stats import best_shares, paired, pairwise
from ackclock.stats.intervals.simultaneous import LEAST_RESAMPLED, LEAST_SHARES

VALUES = st.integers(2, 8).flatmap(
    lambda n: st.integers(2, 5).flatmap(
        lambda k: st.lists(st.lists(st.floats(-3, 3), min_size=k, max_size=k), min_size=n, max_size=n)
    )
)


def test_few_runs_have_bonferronis_intervals_of_student() -> None:
    # Six pairs of four: each interval is the paired one of level 1 - 0.05 / 6.
    rows = np.random.default_rng(3).normal(size=(6, 4))
    found = pairwise(rows)
    assert (found.n, found.family) == (6, 6)
    for i, j in itertools.permutations(range(4), 2):
        alone = paired(rows[:, j].tolist(), rows[:, i].tolist(), level=1 - 0.05 / 6)
        assert alone is not None
        assert found.ends(i, j) == pytest.approx((alone.low, alone.high))
        assert found.value[i, j] == pytest.approx(alone.value)
        # The verdict is that of the adjusted p-value, always.
        assert found.apart(i, j) == (6 * alone.p < 0.05)  # type: ignore[operator]


def test_of_two_it_is_the_paired_t_interval() -> None:
    rows = np.random.default_rng(3).normal(size=(7, 2))
    expected = scipy_stats.ttest_rel(rows[:, 0], rows[:, 1]).confidence_interval()
    assert pairwise(rows).ends(0, 1) == pytest.approx(tuple(expected))


def test_more_runs_are_never_narrower_than_student() -> None:
    rng = np.random.default_rng(4)
    for n in (LEAST_RESAMPLED, 20, 40):
        rows = rng.normal(size=(n, 4))
        least = scipy_stats.t.ppf(1 - 0.05 / 12, n - 1) * (rows[:, 0] - rows[:, 1]).std(ddof=1) / math.sqrt(n)
        assert least <= pairwise(rows).half[0, 1] <= 1.6 * least
    # Of one candidate that collapses now and then the bootstrap makes them wider: Student's would not do.
    rows = np.concatenate([rng.normal(size=(12, 2)) / 100, 1 - rng.exponential(size=(12, 1)) ** 2], axis=1)
    least = scipy_stats.t.ppf(1 - 0.05 / 6, 11) * (rows[:, 0] - rows[:, 2]).std(ddof=1) / math.sqrt(12)
    assert pairwise(rows).half[0, 2] > 1.15 * least


def test_what_does_not_vary_has_no_interval() -> None:
    alike = np.array([[1.0, 2.0, 1.0 + 1e-15], [3.0, 4.0, 3.0]])
    found = pairwise(alike)
    assert np.isnan(found.half).all()
    assert found.ends(0, 1) is None
    assert not found.apart(0, 1)
    assert found.value[0, 2] == 0
    one = pairwise(np.array([[1.0, 2.0]]))
    assert one.ends(0, 1) is None
    assert one.value[1, 0] == 1


def test_runs_that_seldom_vary_are_not_told() -> None:
    # One of ten: a third of the resamples leave it out, so that its spread is not known. Others keep their intervals.
    rows = np.zeros((10, 3))
    rows[0, 1] = 1.0
    rows[:, 2] = np.arange(10)
    found = pairwise(rows)
    assert math.isinf(found.half[0, 1])
    assert found.ends(0, 1) is None
    assert found.ends(0, 2) is not None
    assert found.apart(0, 2)


@settings(deadline=None, max_examples=60)
@given(VALUES, st.randoms(use_true_random=False), st.floats(0.5, 50))
def test_neither_order_nor_scale_matters(values: list[list[float]], random: object, factor: float) -> None:
    rows = np.array(values)
    order = np.arange(rows.shape[1])
    random.shuffle(order)  # type: ignore[attr-defined]
    found, other = pairwise(rows), pairwise(rows[::-1][:, order])
    assert other.value == pytest.approx(found.value[np.ix_(order, order)], abs=1e-9)
    assert other.half == pytest.approx(found.half[np.ix_(order, order)], abs=1e-9, nan_ok=True)
    assert pairwise(rows * factor).half == pytest.approx(factor * found.half, rel=1e-6, abs=1e-9, nan_ok=True)
    shares, others = best_shares(rows), best_shares(rows[:, order])
    assert (shares is None) == (len(rows) < LEAST_SHARES)
    if shares is not None and others is not None:
        assert others == pytest.approx([shares[i] for i in order], abs=1e-9)
        assert sum(shares) == pytest.approx(1)


def test_shares_of_being_best() -> None:
    rows = np.random.default_rng(5).normal(size=(8, 1)) + np.array([[0.0, 1.0, 1.0, -5.0]])
    assert best_shares(rows) == pytest.approx([0.0, 0.5, 0.5, 0.0])  # what is shared cancels
    even = np.array([[1.0, 0.0], [0.0, 1.0]] * 3)
    assert best_shares(even) == pytest.approx([0.5, 0.5], abs=0.02)
    assert best_shares(rows[: LEAST_SHARES - 1]) is None


@pytest.mark.parametrize("n", [5, 10, 30])
def test_of_two_that_are_equal_one_is_seldom_called_best(n: int) -> None:
    """By construction 5 %, as of a two-sided test; from 1000 samples within three standard errors, 2.1 %."""
    rng = np.random.default_rng(n)
    shares = [max(best_shares(rng.normal(size=(n, 2))) or []) for _ in range(1000)]
    assert sum(share >= 0.95 for share in shares) / len(shares) == pytest.approx(0.05, abs=0.021)
    assert sum(share > 0.995 for share in shares) / len(shares) < 0.01


def test_a_share_of_two_is_students_tail() -> None:
    rows = np.array([[0.3], [0.1], [-0.2], [0.5], [0.2], [0.1]]) * np.array([[1.0, 0.0]])
    t = rows[:, 0].mean() / (rows[:, 0].std(ddof=1) / math.sqrt(6))
    wider = scipy_stats.t.ppf(0.975, 5) / scipy_stats.t.ppf(0.95, 5)
    shares = best_shares(rows)
    assert shares is not None
    assert shares[0] == pytest.approx(scipy_stats.t.cdf(t / wider, 5), abs=0.01)


def test_missing_values_are_refused() -> None:
    with pytest.raises(ValueError, match="leave its row out"):
        pairwise(np.array([[1.0, math.nan], [2.0, 1.0]]))
