"""Statistics against published numbers."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ackclock.results.sources import PERCENTILES
from ackclock.stats import (
    Interval,
    after,
    bca_interval,
    holm,
    kaplan_meier,
    kendall,
    least,
    mean_interval,
    median_interval,
    median_time,
    mser,
    paired,
    percentile,
    ratio_interval,
    spearman,
    tost,
    tost_relative,
    typical_time,
    unpaired,
)

# Student's sleep data (Biometrika 6, 1908): hours of sleep gained by ten patients under two drugs.
FIRST = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SECOND = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]

# Weeks until relapse under 6-MP, nine and then twelve censored, and under placebo (Freireich et al., Blood 21, 1963).
TREATED = [6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
CENSORED = [False] * 9 + [True] * 12
PLACEBO = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]


# A second implementation: the file says which version, and which of its functions gave the numbers.
STATSMODELS = json.loads((Path(__file__).parent / "vectors" / "statsmodels.json").read_text(encoding="utf-8"))


def ends(found: Interval) -> tuple[float | None, float | None]:
    return found.low, found.high


def test_paired_differences() -> None:
    # R: t.test(extra ~ group, sleep, paired = TRUE): t = -4.0621, df = 9, p = 0.002833, -2.4598858 to -0.7001142.
    found = paired(SECOND, FIRST)
    assert found is not None
    assert found.value == pytest.approx(-1.58)
    assert (found.low, found.high) == pytest.approx((-2.4598858, -0.7001142), abs=1e-7)
    assert found.p == pytest.approx(0.002833, abs=5e-7)
    assert found.d == pytest.approx(-4.0621 / np.sqrt(10), abs=2e-5)
    assert found.n == 10


def test_differences_without_pairs() -> None:
    # R: t.test(extra ~ group, sleep): Welch, t = -1.8608, df = 17.776, p = 0.07939, -3.3654832 to 0.2054832.
    found = unpaired(SECOND, FIRST)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((-3.3654832, 0.2054832), abs=1e-7)
    assert found.p == pytest.approx(0.07939, abs=5e-6)
    assert not found.paired


def test_ratios_are_geometric_means() -> None:
    # The gains 2, 8 have the geometric mean 4; ln 2 and ln 8 lie ln 2 from their mean, and t(0.975, 1) = 12.7062.
    found = paired([1.0, 10.0], [2.0, 80.0], ratio=True)
    assert found is not None
    assert found.value == pytest.approx(4.0)
    assert found.high == pytest.approx(4 * 2**12.7062, rel=1e-4)
    same = ratio_interval([(2.0, 1.0), (80.0, 10.0)])
    assert (same.value, same.low, same.high) == pytest.approx((found.value, found.low, found.high))


@pytest.mark.parametrize(("low", "high"), [(-0.5, 0.5), (-2.5, 0.0), (-3.0, 3.0)])
def test_two_one_sided_tests(low: float, high: float) -> None:
    # From the published t = -4.0621 of a mean of -1.58: the standard error, and the two statistics by hand.
    from scipy.special import stdtr

    error = 1.58 / 4.0621
    expected = max(1 - stdtr(9, (-1.58 - low) / error), stdtr(9, (-1.58 - high) / error))
    assert tost(SECOND, FIRST, low, high) == pytest.approx(expected, abs=2e-5)


def test_two_one_sided_tests_without_pairs_do_not_pool_variances() -> None:
    from scipy.special import stdtr

    a, b = [1.0, 1.2, 0.8], [1.0, 3.0, 2.0, 0.5, 2.5, 1.5, 2.2, 0.3]
    parts = [np.var(values, ddof=1) / len(values) for values in (a, b)]
    error, mean = np.sqrt(sum(parts)), np.mean(b) - np.mean(a)
    degrees = sum(parts) ** 2 / (parts[0] ** 2 / 2 + parts[1] ** 2 / 7)  # Welch and Satterthwaite
    expected = max(1 - stdtr(degrees, (mean + 2) / error), stdtr(degrees, (mean - 2) / error))
    assert tost(a, b, -2, 2, paired=False) == pytest.approx(expected)


def test_a_relative_margin_of_a_ratio_and_of_a_mean() -> None:
    a = [100.0, 110.0, 90.0, 105.0, 95.0]
    b = [101.0, 112.0, 91.0, 105.5, 96.5]
    assert tost_relative(a, b, 0.05) < 1e-3  # type: ignore[operator]
    assert tost_relative(a, b, 0.05, ratio=True) == tost(a, b, 0.95, 1.05, ratio=True)
    assert tost_relative(a, [1.2 * value for value in a], 0.05) > 0.99  # type: ignore[operator]
    below = tost_relative([-value for value in a], [-value for value in b], 0.05)
    assert below == pytest.approx(tost_relative(a, b, 0.05))
    assert tost_relative([0.0, 0.0], [0.0, 0.0], 0.05) is None
    assert tost([1.0], [1.0], -1, 1) is None


@pytest.mark.parametrize("in_pairs", [True, False])
def test_two_one_sided_tests_of_a_second_implementation(in_pairs: bool) -> None:
    cases = STATSMODELS["tost_paired" if in_pairs else "tost_unpaired"]
    assert len(cases) >= 15
    for case in cases:
        found = tost(case["a"], case["b"], case["low"], case["high"], paired=in_pairs)
        assert found == pytest.approx(case["p"], rel=1e-9)


def test_one_side_of_equivalence_may_be_open() -> None:
    b = [1.0, 2.0, 3.0, 4.5]
    for in_pairs in (True, False):
        open_below = tost([0.0, 0.5, 1.0, 1.5], b, -math.inf, 2.0, paired=in_pairs)
        assert open_below == tost([0.0, 0.5, 1.0, 1.5], b, -1e9, 2.0, paired=in_pairs)


def test_variances_that_are_small_have_degrees_of_freedom() -> None:
    a, b, bounds = [0.0, 1.0, 2.0], [0.5, 1.0, 3.0, 4.0], (-1.0, 2.0)
    small = [[1e-100 * value for value in values] for values in (a, b, bounds)]
    assert tost(*small[:2], *small[2], paired=False) == pytest.approx(tost(a, b, *bounds, paired=False))


def test_holm_of_a_second_implementation() -> None:
    assert len(STATSMODELS["holm"]) == 10
    for case in STATSMODELS["holm"]:
        assert holm(case["p"]) == pytest.approx(case["adjusted"], rel=1e-12)


def test_holm() -> None:
    # R: p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm")
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    # The worked example of H0 in four tests: 0.005·4, 0.01·3, 0.03·2, and 0.04 raised to what precedes it.
    assert holm([0.01, None, 0.04, 0.03, 0.005]) == [
        pytest.approx(0.03), None, pytest.approx(0.06), pytest.approx(0.06), pytest.approx(0.02)
    ]  # fmt: skip
    assert holm([None]) == [None]
    assert holm([]) == []


def test_bca_of_a_mean() -> None:
    # scipy's own reference: boot.ci of R's package boot with a million resamples, 32.31 to 91.43.
    values = [10, 12, 12.5, 12.5, 13.9, 15, 21, 22, 23, 34, 50, 81, 89, 121, 134, 213]
    found = bca_interval(values, resamples=100_000)
    assert ends(found) == pytest.approx((32.31, 91.43), rel=5e-3)


def test_bca_of_a_variance() -> None:
    # Efron and Tibshirani, An Introduction to the Bootstrap, 1993, §14: spatial test data A, 90 %: 115.8 to 259.6 of
    # 2000 resamples, with a Monte Carlo error of some per cent at the upper end.
    values = [48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41]
    found = bca_interval(values, np.var, level=0.9)
    assert found.value == pytest.approx(171.5, abs=0.05)
    assert ends(found) == pytest.approx((115.8, 259.6), rel=0.02)


def test_a_bootstrap_says_the_same_twice_and_refuses_few_values() -> None:
    values = [1.1, 2.7, 3.1, 4.6, 5.2, 6.9, 7.3, 8.8, 9.4, 15.05]
    assert bca_interval(values) == bca_interval(values) != bca_interval(values, seed=1)
    assert bca_interval([*values[:9], None]) == Interval(pytest.approx(49.1 / 9), None, None, 9)
    assert bca_interval([2.0] * 12) == Interval(2.0, None, None, 12)
    assert bca_interval([]) == Interval(None, None, None, 0)


def test_kaplan_meier() -> None:
    # Collett, Modelling Survival Data; Klein and Moeschberger, Survival Analysis: the 6-MP group.
    at, share = kaplan_meier(TREATED, CENSORED)
    known = dict(zip(at, share, strict=True))
    expected = {6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 22: 0.538, 23: 0.448}
    assert {time: round(known[time], 3) for time in expected} == expected
    # The example in the documentation of scipy: fan belts, of Miller, Survival Analysis.
    belts = kaplan_meier([77, 47, 81, 56, 80, 62, 60, 43, 71, 37], [False] * 5 + [True] * 5)
    assert belts[1] == pytest.approx([1, 1, 0.875, 0.75, 0.75, 0.75, 0.75, 0.5, 0.25, 0])


def test_medians_of_censored_times() -> None:
    assert median_time(TREATED, CENSORED) == Interval(23, 13, None, 21)
    assert median_time(PLACEBO, [False] * 21) == Interval(8, 4, 11, 21)
    assert len(STATSMODELS["median_low"]) == 20
    for case in STATSMODELS["median_low"]:
        assert median_time(case["times"], case["censored"]).low == case["low"]


def test_a_median_between_two_times() -> None:
    assert median_time([1, 2, 3, 4], [False] * 4).value == 2.5
    assert median_time([77, 47, 81, 56, 80, 62, 60, 43, 71, 37], [False] * 5 + [True] * 5).value == 78.5
    assert median_time([5.0, 9.0], [True, True]) == Interval(None, None, None, 2)
    assert median_time([], []) == Interval(None, None, None, 0)


def test_over_ten_per_cent_censored_the_median_stands_for_them() -> None:
    times = [10.0, 12.0, 11.0, 13.0, 9.0, 10.0, 12.0, 11.0, 13.0, 100.0]
    one = typical_time(times, [False] * 9 + [True])
    assert (one.kind, one.censored, one.n) == ("mean", 1, 10)
    assert one.typical == mean_interval(times)
    two = typical_time(times, [False] * 8 + [True] * 2)
    assert (two.kind, two.censored) == ("median", 2)
    assert two.typical.value == 11.5  # half of ten runs are done by 11, and the next one at 12


def test_percentiles_need_as_many_values_as_in_the_summary() -> None:
    assert {percent: least(percent) for percent in PERCENTILES} == PERCENTILES == {50: 2, 95: 20, 99: 100}
    assert least(99.9) == 1000
    values = [float(value) for value in range(1, 21)]
    assert percentile(values, 95) == 19.0
    assert percentile(values[:19], 95) is None
    assert percentile([3.0, None, 1.0], 50) == 1.0
    with pytest.raises(ValueError, match="above 0 and below 100"):
        least(100)


def test_warm_up() -> None:
    assert after([0.0, 1.0, 2.0], [5.0, 6.0, 7.0], 1.0) == [6.0, 7.0]
    # The first ten means of five are far off, the rest alternate about 0: the rule leaves out those ten.
    values = [8.0] * 50 + [1.0, -1.0, 1.0, -1.0, 0.0] * 30 + [0.1] * 5
    found = mser(values)
    assert found.cut == 50
    assert found.mean == pytest.approx(0.1 / 31)
    assert mser([3.0] * 60).cut == 0
    assert mser(list(map(float, range(200)))).cut is None  # it never settles
    assert mser([1.0] * 49) == mser([2.0] * 49)  # fewer than ten means of five
    assert mser([1.0] * 49).cut is None


def test_orders() -> None:
    # A textbook example: IQ and hours of television. Spearman: squared differences of ranks sum to 194, and
    # 1 - 6·194 / (10·99) = -29/165. Kendall: 20 pairs in the same order, 25 in the opposite one.
    iq = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110]
    hours = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17]
    assert spearman(iq, hours) == pytest.approx(-29 / 165)
    assert kendall(iq, hours) == pytest.approx((20 - 25) / 45)
    assert kendall([1, 2], [1, 2]) is None
    assert spearman([1, 1, 1], [1, 2, 3]) is None


def test_nothing_varies() -> None:
    """Without a spread there is no interval and no p-value: ten times the same run are one."""
    nothing = (None, None, None, None)
    for b, value in (([1.0, 2.0, 3.0], 0.0), ([1.5, 2.5, 3.5], 0.5), ([1.0 + 1e-16, 2.0, 3.0 + 4e-16], 0.0)):
        found = paired([1.0, 2.0, 3.0], b)
        assert found is not None
        assert (found.value, found.low, found.high, found.p, found.d) == (value, *nothing)
    apart = unpaired([1.0, 1.0], [2.0, 2.0], ratio=True)
    assert apart is not None
    assert (apart.value, apart.low, apart.high, apart.p, apart.d) == (pytest.approx(2.0), *nothing)
    same = [0.1 + 0.2] * 9 + [0.3]  # equal up to rounding
    assert mean_interval(same).ends == (pytest.approx(0.3), pytest.approx(0.3))
    assert mean_interval(same).low is median_interval(same).low is bca_interval(same).low is None
    assert ratio_interval([(2.0, 1.0), (4.0, 2.0)]) == Interval(2.0, None, None, 2)
    assert median_time([3.0, 3.0], [False, False]) == Interval(3.0, None, None, 2)
    assert tost([1.0, 2.0], [1.5, 2.5], 0.0, 1.0) is None
    assert (
        tost_relative([2.0, 2.0], [2.01, 2.01], 0.05) is tost_relative([2.0] * 2, [2.01] * 2, 0.05, ratio=True) is None
    )


@pytest.mark.parametrize("ratio", [False, True])
def test_one_of_two_samples_is_constant(ratio: bool) -> None:
    # Without variance in A, Welch's degrees of freedom are those of B, and the test is that of B's mean against A's.
    a, b = [2.0, 2.0, 2.0], [1.0, 2.0, 6.0]
    found = unpaired(a, b, ratio=ratio)
    assert found is not None
    alone = ratio_interval((y, 2.0) for y in b) if ratio else mean_interval(y - 2.0 for y in b)
    assert (found.value, found.low, found.high) == pytest.approx((alone.value, alone.low, alone.high))
    assert 0 < tost_relative(a, b, 0.05, paired=False, ratio=ratio) < 1  # type: ignore[operator]
    assert 0 < tost_relative(b, a, 0.05, paired=False, ratio=ratio) < 1  # type: ignore[operator]


def test_too_little_to_compare() -> None:
    alone = paired([1.0], [2.0])
    assert alone is not None
    assert (alone.value, alone.low, alone.p) == (1.0, None, None)
    assert paired([], []) is None
    assert paired([1.0, 0.0], [1.0, 2.0], ratio=True) is None
    assert unpaired([1.0], [2.0, 3.0]).p is None  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="cannot be paired"):
        paired([1.0], [1.0, 2.0])


def test_the_libraries_load_when_they_are_needed() -> None:
    code = "import ackclock.stats, sys; print(sorted({'numpy', 'scipy', 'pandas'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
