"""How often some verdict of a comparison is wrong, and what counts as a test."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy_stats

import ackclock
from ackclock.comparison import rows, text
from ackclock.comparison.pairing import Match
from ackclock.comparison.rows import Row, judged, measure
from ackclock.stats import holm, paired
from shared import SMALL
from synthetic import Params, made

TRIALS, RUNS, SAME, FAR = 3000, 10, 4, 4
MARGIN = 0.05


def p_values(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Of paired differences relative to A, trial by row: of the t test, and of two one-sided tests of the margin.

    In the first rows there is no difference; in the others it is just the margin, so that they are not within it. Each
    null hypothesis is as near to being rejected as it can be.
    """
    centre = np.array([0.0] * SAME + [MARGIN] * FAR)[:, None]
    found = rng.normal(0.0, 0.01, (TRIALS, SAME + FAR, RUNS)) + centre
    test = scipy_stats.ttest_1samp(found, 0.0, axis=-1)
    error = found.std(axis=-1, ddof=1) / math.sqrt(RUNS)
    mean = found.mean(axis=-1)
    tails = [scipy_stats.t.sf((MARGIN + sign * mean) / error, RUNS - 1) for sign in (1, -1)]
    return test.pvalue, np.maximum(*tails)


def wrong(row: Row, place: int) -> bool:
    """Whether a verdict is: of a difference where there is none, or of equivalence where there is not."""
    return row.verdict.startswith(("higher", "lower")) if place < SAME else bool(row.equivalent)


def test_any_verdict_of_a_comparison_is_wrong_in_5_per_cent_at_most() -> None:
    different, within = p_values(np.random.default_rng(31))
    blank = Row({}, "A", "B", "jain", "difference", RUNS, True, 1.0, 1.0, 1.0, None, None, None, 1.0, None)
    blank = dataclasses.replace(blank, margin=MARGIN)
    hits = apart = 0
    for p, q in zip(different.tolist(), within.tolist(), strict=True):
        own = [dataclasses.replace(blank, p=x, p_margin=y) for x, y in zip(p, q, strict=True)]
        hits += any(wrong(row, place) for place, row in enumerate(judged(own)))
        families = (holm(p, range(len(p))), holm(q, range(len(q))))
        apart += min(families[0][:SAME]) < 0.05 or min(families[1][SAME:]) < 0.05  # type: ignore[type-var,operator]
    error = math.sqrt(0.05 * 0.95 / TRIALS)
    assert 0.03 < hits / TRIALS < 0.05 + 4 * error
    # Two families, one of differences and one of margins, are wrong together in nearly twice as many.
    assert apart / TRIALS > 0.05 + 4 * error


def test_both_tests_of_a_row_are_adjusted_together() -> None:
    # Rows x and y, ordered: 0.01 (x differs), 0.015 (y within), 0.02 (x within), 0.04 (y differs). Two rows have a test
    # left until both of x are rejected at the third: 0.01·2, 0.015·2, 0.02·2, 0.04·1.
    row = Row({}, "A", "B", "jain", "difference", 5, True, 1.0, 1.0, 1.0, None, None, None, 1.0, 0.01)
    x = dataclasses.replace(row, margin=MARGIN, p_margin=0.02)
    y = dataclasses.replace(x, p=0.04, p_margin=0.015)
    found = judged([x, y])
    assert [each.p_holm for each in found] == pytest.approx([0.02, 0.04])
    assert [each.p_margin_holm for each in found] == pytest.approx([0.04, 0.03])
    assert judged([x])[0].p_holm == 0.01  # a margin does not cost a row its difference


def test_rows_with_the_same_numbers_count_once() -> None:
    a, b, other = [1.0, 1.2, 0.9, 1.1], [1.3, 1.4, 1.25, 1.2], [1.2, 1.3, 1.4, 1.0]
    values = {"loss_percent": b, "drops_full_percent": b, "lost_percent": [3 * value for value in b], "jain": other}
    ours = {run: {name: (3 if name == "lost_percent" else 1) * a[run] for name in values} for run in range(4)}
    theirs = {run: {name: own[run] for name, own in values.items()} for run in range(4)}
    match = Match({}, "A", "B", tuple(ours), tuple(theirs), True)
    found = [measure(match, name, ours, theirs, None) for name in values]
    own, numbers = [item.row for item in found if item], [item.numbers for item in found if item]
    assert rows.family(own, numbers) == 2
    # The second p-value of two, not of four; 3 times as much in both is the same test in another unit.
    p = [row.p for row in own]
    assert p[0] == p[1] == pytest.approx(p[2])
    assert p[0] < p[3]  # type: ignore[operator]
    adjusted = [row.p_holm for row in judged(own, numbers)]
    assert adjusted == pytest.approx([2 * p[0]] * 3 + [p[3]])  # type: ignore[operator]
    # Elsewhere, or against another base, the same numbers are another test.
    there = measure(dataclasses.replace(match, params={"rtt": "1 s"}), "jain", ours, theirs, None)
    assert there is not None
    assert there.numbers != numbers[3]


def test_intervals_say_what_verdicts_say() -> None:
    """At every number of tests and size of the difference, and they hold together as Bonferroni's do."""
    rng = np.random.default_rng(5)
    by_holm_only = 0
    for _ in range(60):
        a = rng.normal(10.0, 1.0, (6, RUNS))
        b = a + rng.normal(0.0, 0.5, (6, RUNS)) + rng.choice([0.0, 0.4, 0.7], (6, 1))
        ours, theirs = ({run: {f"{i}": side[i, run] for i in range(6)} for run in range(RUNS)} for side in (a, b))
        match = Match({}, "A", "B", tuple(ours), tuple(theirs), True)
        found = [item for i in range(6) if (item := measure(match, f"{i}", ours, theirs, None))]
        tests = rows.family([item.row for item in found], [item.numbers for item in found])
        decided = rows.with_intervals(judged([item.row for item in found]), found, tests)
        assert tests == 6
        for row, item in zip(decided, found, strict=True):
            assert row.low_holm is not None
            assert row.high_holm is not None
            without = row.low_holm < 0 < row.high_holm
            assert without == (row.verdict == rows.NOTHING)
            alone = paired(*item.values, level=1 - 0.05 / 6)
            assert alone is not None
            if row.p * 6 < 0.05 or without:  # type: ignore[operator]
                assert (row.low_holm, row.high_holm) == pytest.approx((alone.low, alone.high))
            else:  # shown by Holm's procedure only: up to no difference, and no further
                by_holm_only += 1
                assert 0.0 in (row.low_holm, row.high_holm)
                assert alone.low < 0 < alone.high  # type: ignore[operator]
    assert by_holm_only > 5


def test_losses_that_are_all_drops_count_once(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(SMALL, encoding="utf-8")
    result = ackclock.run(path, set={"cc": ["reno", "cubic"]}, replications=4, jobs=1)
    found = ackclock.compare(result, by="cc", metrics=["loss_percent", "drops_full_percent"])
    assert [row.p for row in found.rows] == [found.rows[0].p] * 2
    assert found.rows[0].p is not None
    assert found.family == 1
    assert [row.p_holm for row in found.rows] == [row.p for row in found.rows]
    assert text.footing(found.rows, found.family)[-1].endswith(
        "p: of no difference, adjusted for 1 test (Holm); rows with the same numbers count once"
    )


def test_without_a_test_the_table_says_so(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(SMALL, encoding="utf-8")
    result = ackclock.run(path, replications=2, jobs=1)
    found = ackclock.compare(result, result, metrics=["goodput_bps"])
    assert text.footing(found.rows, found.family) == [
        "d: difference in standard deviations; p: none, as there is nothing to test"
    ]
    assert "within its margin" in ackclock.compare(result, result, agreement=True)._repr_html_()


def test_identical_results_are_said_to_be_equal() -> None:
    """With as many points as are counted, not listed: no row stands among those of which nothing was shown."""
    points: list[Params] = [{"topology.rtt": f"{rtt} ms", "cc": cc} for rtt in range(10, 80, 10) for cc in ("a", "b")]
    several = made(points, [[{"goodput_bps": each} for each in (5e6, 6e6)]] * len(points))
    found = ackclock.compare(several, several, metrics=["goodput_bps"])
    assert text.counts(found.rows)[0][:6] == ["metric", "points", "equal", "lower", "higher", "not shown"]
    assert text.counts(found.rows)[1] == ["goodput_bps", "14", "14", "0", "0", "0", "equal"]
    assert text.footing(found.rows, found.family, shown="counts") == [
        "A and B are equal in every run, to the last digit: there is nothing to test"
    ]
    other = made(points, [[{"goodput_bps": 2 * each} for each in (5e6, 6e6)]] * len(points))
    found = ackclock.compare(several, other, metrics=["goodput_bps"])
    assert "equal" not in text.counts(found.rows)[0]
    (said,) = text.footing(found.rows, found.family, shown="counts")
    assert said == "lower, higher: none, as there is nothing to test"
