"""Missing and infinite values: one rule for every function (docs/statistics.md, Missing values)."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ackclock import stats
from ackclock.stats import Estimate, Interval

A = [1.0, 2.0, 3.0, 4.5, 5.0]
B = [2.0, 3.1, 4.4, 5.2, 6.0]
LATE = [False, True, False, False, True]

ONE: dict[str, Callable[[list[Any]], Any]] = {
    "estimate": stats.estimate,
    "mean_interval": stats.mean_interval,
    "median_interval": stats.median_interval,
    "bca_interval": lambda values: stats.bca_interval(values * 3, resamples=99),
    "percentile": lambda values: stats.percentile(values, 50),
    "jain": stats.jain,
    "proportional_fairness": stats.proportional_fairness,
}

TWO: dict[str, Callable[[list[Any], list[Any]], Any]] = {
    "paired": stats.paired,
    "paired ratio": lambda a, b: stats.paired(a, b, ratio=True),
    "tost": lambda a, b: stats.tost(a, b, -2.0, 2.0),
    "tost ratio": lambda a, b: stats.tost(a, b, 0.5, 2.0, ratio=True),
    "tost_relative": lambda a, b: stats.tost_relative(a, b, 0.6),
    "tost_relative ratio": lambda a, b: stats.tost_relative(a, b, 0.6, ratio=True),
    "ratio_interval": lambda a, b: stats.ratio_interval(zip(a, b, strict=True)),
    "spearman": stats.spearman,
    "kendall": stats.kendall,
    "max_min_index": stats.max_min_index,
}

APART: dict[str, Callable[[list[Any], list[Any]], Any]] = {
    "unpaired": stats.unpaired,
    "unpaired ratio": lambda a, b: stats.unpaired(a, b, ratio=True),
    "tost": lambda a, b: stats.tost(a, b, -2.0, 2.0, paired=False),
    "tost_relative": lambda a, b: stats.tost_relative(a, b, 0.6, paired=False),
    "tost_relative ratio": lambda a, b: stats.tost_relative(a, b, 0.6, paired=False, ratio=True),
}

TIMES: dict[str, Callable[[list[Any], list[Any]], Any]] = {
    "kaplan_meier": stats.kaplan_meier,
    "median_time": stats.median_time,
    "typical_time": stats.typical_time,
}

MISSING = pytest.mark.parametrize("missing", [None, math.nan, np.float64("nan")], ids=["None", "nan", "numpy"])


def put(values: list[Any], at: int, value: Any) -> list[Any]:
    """The values with another one before the place `at`."""
    return [*values[:at], value, *values[at:]]


@MISSING
@pytest.mark.parametrize("name", ONE)
def test_a_missing_value_is_left_out_and_not_counted(name: str, missing: Any) -> None:
    for at in (0, 2, len(A)):
        assert ONE[name](put(A, at, missing)) == ONE[name](A)
    assert ONE[name](put(A, 2, missing)) is not None


@MISSING
@pytest.mark.parametrize("name", TWO)
def test_a_pair_with_a_missing_half_is_left_out_and_not_counted(name: str, missing: Any) -> None:
    whole = TWO[name](A, B)
    assert whole is not None
    for at in (0, 2, len(A)):
        for other in (3.0, missing):
            assert TWO[name](put(A, at, missing), put(B, at, other)) == whole
            assert TWO[name](put(A, at, other), put(B, at, missing)) == whole


@MISSING
@pytest.mark.parametrize("name", APART)
def test_without_pairs_each_sample_leaves_out_its_own(name: str, missing: Any) -> None:
    whole = APART[name](A, B[:4])
    assert whole is not None
    assert APART[name](put(A, 1, missing), put(put(B[:4], 0, missing), 3, missing)) == whole


@MISSING
@pytest.mark.parametrize("name", TIMES)
def test_a_time_without_its_mark_is_left_out_and_not_counted(name: str, missing: Any) -> None:
    whole = TIMES[name](A, LATE)
    for at in (0, 2, len(A)):
        assert TIMES[name](put(A, at, missing), put(LATE, at, True)) == whole
        assert TIMES[name](put(A, at, 3.0), put(LATE, at, missing)) == whole


def test_nothing_but_missing_values_is_nothing() -> None:
    none: list[Any] = [None, math.nan, None]
    assert stats.mean_interval(none) == stats.median_interval(none) == Interval(None, None, None, 0)
    assert stats.bca_interval(none) == stats.ratio_interval(zip(none, A[:3], strict=True))
    assert stats.paired(none, A[:3]) is stats.unpaired(none, A) is stats.tost(none, A[:3], -1, 1) is None
    assert stats.tost_relative(none, A, 0.1, paired=False) is stats.spearman(none, A[:3]) is stats.jain(none) is None
    assert stats.proportional_fairness(none) is stats.percentile(none, 50) is stats.max_min_index(none, none) is None
    assert stats.median_time(none, [False] * 3) == Interval(None, None, None, 0)
    assert stats.kaplan_meier(none, [False] * 3) == ([], [])
    assert stats.typical_time(none, [False] * 3) == stats.Times("mean", Interval(None, None, None, 0), 0, 0)
    assert stats.holm(none) == [None, None, None]


def test_a_difference_of_complete_pairs() -> None:
    # Differences 1, 1.1, 1.2 and 1, of which the mean is 1.075.
    for missing in (None, math.nan):
        found = stats.paired([1, 2, 3, 4, 5], [2, 3.1, missing, 5.2, 6])
        assert found is not None
        assert (found.value, found.n) == (pytest.approx(1.075), 4)
        assert 0 < found.p < 0.001  # type: ignore[operator]


@pytest.mark.parametrize("infinite", [math.inf, -math.inf])
def test_an_infinite_value_is_refused(infinite: float) -> None:
    message = "an infinite value has no mean and is not missing either"
    for name, one in ONE.items():
        if name != "estimate":
            with pytest.raises(ValueError, match=message):
                one(put(A, 2, infinite))
    for two in (*TWO.values(), *APART.values()):
        for arguments in ((put(A, 2, infinite), put(B, 2, 3.0)), (put(A, 2, 3.0), put(B, 2, infinite))):
            if two is TWO["max_min_index"] and math.inf in arguments[1]:
                continue  # a share without a limit
            with pytest.raises(ValueError, match=message):
                two(*arguments)
    for times in TIMES.values():
        with pytest.raises(ValueError, match=r"as censored \(median_time\)"):
            times(put(A, 2, infinite), put(LATE, 2, True))
    # A summary must not fail for one metric of one point.
    assert stats.estimate(put(A, 2, infinite)) == Estimate(None, None, 0)


def test_a_p_value_that_is_missing_is_no_test() -> None:
    assert stats.holm([math.nan, 0.01, 0.03]) == [None, pytest.approx(0.02), pytest.approx(0.03)]
    assert stats.holm([math.nan, 0.01, None, 0.03], "aabb") == [None, pytest.approx(0.02), None, pytest.approx(0.03)]
    for wrong in (-0.1, 1.5, math.inf):
        with pytest.raises(ValueError, match="a p-value lies between 0 and 1"):
            stats.holm([0.5, wrong])
    with pytest.raises(ValueError, match="2 p-values have 1 groups"):
        stats.holm([0.5, 0.1], ["a"])


def test_tests_in_groups_of_their_own_are_holms() -> None:
    draws = random.Random(43)
    for _ in range(100):
        values = [draws.choice([None, draws.random(), draws.random() ** 4]) for _ in range(9)]
        assert stats.holm(values, range(9)) == stats.holm(values)


def test_lengths_that_differ_are_refused() -> None:
    for name, two in TWO.items():
        if name != "ratio_interval":
            with pytest.raises(ValueError, match="5 values cannot be paired with 4"):
                two(A, B[:4])
    for times in TIMES.values():
        with pytest.raises(ValueError, match="5 times have 3 marks"):
            times([30.0, 20.0, 10.0, 5.0, 1.0], [True] * 3)


def test_shares_need_every_capacity_and_demand() -> None:
    for missing in (None, math.nan):
        with pytest.raises(ValueError, match="a capacity or a demand is missing"):
            stats.max_min_shares([["a"], ["a"]], {"a": 10.0}, [missing, 1.0])  # type: ignore[list-item]
        with pytest.raises(ValueError, match="a capacity or a demand is missing"):
            stats.max_min_shares([["a"]], {"a": missing})  # type: ignore[dict-item]
    # What has no limit limits nobody.
    assert stats.max_min_shares([["a", "b"], ["a"]], {"a": math.inf, "b": 4.0}, [math.inf, 9.0]) == [4.0, 9.0]


def test_a_margin_is_a_share_or_a_text() -> None:
    a, b = [-10.0, -11.0, -9.0, -10.5], [-10.1, -11.2, -9.3, -10.4]
    assert stats.tost_relative(a, b, "5%") == stats.tost_relative(a, b, 0.05) < 0.05  # type: ignore[operator]
    assert stats.tost_relative(a, b, " 2.5 %", ratio=True) is None
    # Of negative means 1 - margin is the upper bound. b - 1.99 a are 9.8, 10.69, 8.61, 10.495: t = 21.
    assert stats.tost_relative(a, b, 0.99) == pytest.approx(1.17e-4, rel=5e-3)
    for wrong in (1.0, 0.0, -0.1, math.nan, "5", "100%", "0.05", ""):
        with pytest.raises(ValueError, match=r"is not a margin: give a share such as 0.05 or '5%'"):
            stats.tost_relative(a, b, wrong)
    for low, high in ((1.0, 1.0), (math.nan, 1.0), (1.0, -1.0)):
        with pytest.raises(ValueError, match="bounds go from the lower to the higher one"):
            stats.tost(a, b, low, high)


def test_every_interval_has_a_level() -> None:
    rng = random.Random(47)
    values = [rng.gauss(10.0, 1.0) for _ in range(30)]
    other = [value + rng.gauss(1.0, 0.5) for value in values]
    late = [rng.random() < 0.2 for _ in values]
    functions: list[Callable[..., Any]] = [
        lambda **level: stats.mean_interval(values, **level),
        lambda **level: stats.median_interval(values, **level),
        lambda **level: stats.bca_interval(values, **level),
        lambda **level: stats.ratio_interval(zip(values, other, strict=True), **level),
        lambda **level: stats.paired(values, other, **level),
        lambda **level: stats.unpaired(values, other, **level),
        lambda **level: stats.median_time(values, late, **level),
        lambda **level: stats.typical_time(values, late, **level).typical,
    ]
    for function in functions:
        narrow, usual, wide = (function(level=level) for level in (0.8, 0.95, 0.99))
        assert usual == function()
        assert wide.low < usual.low < narrow.low <= narrow.value <= narrow.high < usual.high < wide.high
        for wrong in (95, 0, 1, math.nan):
            with pytest.raises(ValueError, match=r"a level lies above 0 and below 1"):
                function(level=wrong)


def test_means_and_medians_are_those_of_scipy() -> None:
    from scipy import stats as scipy_stats

    rng = random.Random(53)
    for n in range(2, 40):
        values = [round(rng.gauss(5.0, 2.0), rng.choice([0, 9])) for _ in range(n)]
        for level in (0.9, 0.95):
            found = stats.mean_interval(values, level=level)
            if len(set(values)) > 1:
                ends = scipy_stats.t.interval(level, n - 1, np.mean(values), scipy_stats.sem(values))
                assert (found.low, found.high) == pytest.approx(ends)
            median = stats.median_interval(values, level=level)
            # The innermost ranks that are beyond the median with (1 - level) / 2 at most, by the binomial law.
            beyond = [sum(math.comb(n, k) for k in range(r)) / 2**n for r in range(1, n)]
            rank = max((r for r, p in enumerate(beyond, 1) if p <= (1 - level) / 2 and r <= n / 2), default=1)
            assert (median.low, median.high) == (sorted(values)[rank - 1], sorted(values)[n - rank])
