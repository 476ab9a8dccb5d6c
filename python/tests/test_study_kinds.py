"""Kinds of measures: which value stands for several runs, where intervals end, and times that were not reached."""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ackclock.errors import InputError
from ackclock.stats import Interval, mean_interval, median_time
from ackclock.study import (
    Censored,
    Measure,
    Run,
    Runs,
    Times,
    at_least,
    at_most,
    between,
    figures,
    labelled,
    measure,
    times,
)
from ackclock.study.kinds import BOUNDS, KINDS, clipped, estimate, proportion
from ackclock.study.model import Axis, FigureSpec, SeriesSpec
from ackclock.study.output import claim_cells
from ackclock.study.runner import Judged
from ackclock.study.tables import shown
from ackclock.study.verdict import Verdict, greatest, least, valued

T1 = 12.706204736432095  # Student's t(0.975, 1)


def ends(found: Interval) -> tuple[float, float, float]:
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    return found.value, found.low, found.high


@pytest.mark.parametrize(
    ("kind", "values", "text"),
    [
        # t(0.975, 1) = 12.7062: half the width is 12.7062 times half the difference of two values.
        ("number", [0.825, 0.985], "0.905 ± 1.016"),
        ("share", [0.825, 0.985], "0.905 (0.000 to 1.000)"),
        ("correlation", [0.9, 1.0], "0.950 (0.315 to 1.000)"),
        ("percent", [1.0, 3.0], "2.000 (0.000 to 14.706)"),
        ("amount", [0.0, 1.0], "0.500 (0.000 to 6.853)"),
        # Logarithms 0 and ln 1.44: mean ln 1.2, and the interval reaches below a ratio of 1, which none can.
        ("inequality", [1.0, 1.44], f"1.200 (1.000 to {1.2 * math.exp(T1 * math.log(1.2)):.3f})"),
        ("ratio", [0.5, 2.0], f"1.000 ({math.exp(-T1 * math.log(2)):.3f} to "
                              f"{math.exp(T1 * math.log(2)):.3f})"),
    ],
)  # fmt: skip
def test_an_interval_ends_where_values_do(kind: Any, values: list[float], text: str) -> None:
    assert shown(estimate(kind, values), 3) == text


def test_an_end_far_away_is_no_row_of_digits() -> None:
    assert shown(estimate("ratio", [0.1, 10.0]), 2) == "1.00 (0.00 to 5.1e+12)"  # 10 ** 12.706


def test_ends_that_the_digits_do_not_tell_apart_are_a_width() -> None:
    assert shown(Interval(99.996, 99.99, 100.0, 10), 1) == "100.0 ± 0.0"
    assert shown(Interval(99.996, 99.99, 100.0, 10), 3) == "99.996 (99.990 to 100.000)"


def test_every_kind_has_bounds_and_an_unknown_one_is_refused() -> None:
    assert set(BOUNDS) == set(KINDS)
    with pytest.raises(InputError, match=r"claims\.py: unknown kind 'shere'; did you mean 'share'\?"):
        measure(kind="shere")  # type: ignore[call-overload]
    with pytest.raises(InputError, match=r"claims\.py: most: 5 is no function of a run"):
        measure(kind="amount", most=5)  # type: ignore[call-overload]
    with pytest.raises(InputError, match="a time has no largest value"):
        measure(kind="time", most=lambda _run: 1.0)


def test_a_share_that_is_over_its_bound_stays_within_its_interval() -> None:
    value, low, high = ends(clipped(mean_interval([1.0, 1.02]), 0.0, 1.0))
    assert low <= value == high == 1.01


def test_the_interval_of_a_proportion_is_that_of_wilson() -> None:
    recorded = json.loads((Path(__file__).parent / "vectors" / "statsmodels.json").read_text(encoding="utf-8"))
    assert len(recorded["wilson"]) == 5
    for case in recorded["wilson"]:
        count, n = case["count"], case["n"]
        found = ends(proportion([1.0] * count + [0.0] * (n - count)))
        assert found == pytest.approx((count / n, case["low"], case["high"]), abs=1e-12)


def test_runs_that_all_did_the_same_are_no_certainty() -> None:
    assert ends(proportion([1.0] * 10))[1] == pytest.approx(0.722, abs=1e-3)  # 10 / (10 + 1.96^2)
    assert proportion([1.0]) == Interval(1.0, None, None, 1)


def marked(rng: random.Random, n: int) -> list[float]:
    values = [float(rng.randint(1, 12)) for _ in range(n)]
    return [Censored(value) if rng.random() < 0.4 else value for value in values]


def test_medians_of_resamples_are_those_of_kaplan_and_meier() -> None:
    rng = random.Random(1)
    reached = 0
    for _ in range(300):
        seen = marked(rng, rng.randint(1, 11))
        draw = [rng.randrange(len(seen)) for _ in seen]
        least_, most = times._medians(seen, np.array([draw]))
        sample = [seen[index] for index in draw]
        known = median_time([float(v) for v in sample], [isinstance(v, Censored) for v in sample]).value
        reached += known is not None
        if known is None:
            assert most[0] == math.inf
            assert least_[0] == sorted(sample)[(len(sample) - 1) // 2] / 2 + sorted(sample)[len(sample) // 2] / 2
        else:
            assert (least_[0], most[0]) == (known, known)
    assert 100 < reached < 300


def test_the_median_of_times_of_which_most_are_censored_is_a_bound() -> None:
    # The reviewers' case: six of ten not within the run.
    seen = [110.0, 200.0, 300.0, 400.0, *(Censored(value) for value in (505, 510, 517, 520, 525, 528))]
    found = times.median(seen)
    assert (found.value, found.high, found.censored, found.n) == (None, None, 6, 10)
    assert found.beyond == 507.5  # half of the ten times are at least as long
    assert found.low is not None
    assert found.low >= 110
    assert shown(found, 0) == "> 508 (6 of 10 not)"
    few = times.median([1.0, 2.0, 3.0, 4.0, Censored(5.0)])
    assert (few.value, few.censored) == (3.0, 1)
    assert shown(few, 0).endswith("; 1 of 5 not)")
    assert times.median([Censored(5.0)]) == Times(None, None, None, 1, 1, 5.0)
    never = times.median([Censored(float(value)) for value in range(1, 11)])
    # Of ten values the second and the ninth hold the median; what is beyond the run only makes it longer.
    assert (never.value, never.low, never.high, never.beyond) == (None, 2.0, None, 5.5)
    assert times.median([]) == Times(None, None, None, 0)
    assert never.scaled(10.0) == Times(None, 20.0, None, 10, 10, 55.0)


def pairs(ours: list[float], theirs: list[float]) -> list[tuple[float, float]]:
    return list(zip(ours, theirs, strict=True))


FAST = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0]
SLOW = [4 * value for value in FAST]
NEVER: list[float] = [Censored(510.0)] * 10


def test_a_ratio_of_medians() -> None:
    # Drawn as pairs, each resample has the same ratio.
    assert ends(times.ratio([pairs(SLOW, FAST)])) == pytest.approx((4.0, 4.0, 4.0))
    # Of several groups the median, in logarithms.
    three = [pairs(SLOW, FAST), pairs(FAST, FAST), pairs([9 * value for value in FAST], FAST)]
    assert ends(times.ratio(three)) == pytest.approx((4.0, 4.0, 4.0))
    assert ends(times.ratio(three[:2])) == pytest.approx((2.0, 2.0, 2.0))
    assert times.ratio([pairs([2.0], [1.0])]) == Times(2.0, None, None, 1)
    assert times.ratio([pairs([4.0] * 3, [2.0] * 3)]) == Times(2.0, None, None, 3)  # no spread: it may be one run
    assert times.ratio([]).value is times.ratio([[]]).value is None
    assert times.ratio([pairs([0.0], [0.0])]).value is None


def test_a_ratio_with_medians_that_are_not_reached_is_a_bound() -> None:
    above = times.ratio([pairs(NEVER, FAST), pairs(SLOW, FAST)])
    assert (above.value, above.high) == (None, None)
    assert above.beyond == pytest.approx(math.sqrt(510 / 14.5 * 4))
    assert above.low is not None
    assert 4 < above.low < above.beyond
    assert at_least(above, 3.0).outcome == "pass"
    assert at_most(above, 3.0).outcome == "fail"
    # Of three groups one that is beyond everything does not matter to the median.
    assert ends(times.ratio([pairs(NEVER, FAST), pairs(SLOW, FAST), pairs(FAST, FAST)])) == pytest.approx((4, 4, 4))
    # Neither was reached: nothing is known. The other way around there is an upper bound.
    nothing = times.ratio([pairs(NEVER, NEVER)])
    assert nothing == Times(None, None, None, 10, 20)
    assert at_least(nothing, 1.0) == Verdict("inconclusive", detail="there is no value")
    below = times.ratio([pairs(FAST, NEVER)])
    assert (below.value, below.low, below.beyond) == (None, 0.0, None)
    assert at_least(below, 1.0).outcome == "fail"
    assert labelled("it", at_least(below, 1.0)).detail.startswith("it: 0 to 0.0")
    assert times.ratio([pairs([10.0], [Censored(500.0)])]) == Times(None, None, pytest.approx(0.02), 1, 1)
    assert times.ratio([pairs([Censored(500.0)], [10.0])]) == Times(None, None, None, 1, 1, pytest.approx(50.0))


def test_what_was_not_reached_supports_no_claim_that_it_could_contradict() -> None:
    # Nearly all cut off on both sides: the medians are beyond the run, and their ratio may be anything.
    rare = times.ratio([pairs([*[Censored(500.0)] * 9, 100.0], [*[Censored(500.0)] * 9, 90.0])])
    # Half of the groups with a lower bound, half with an upper one: their median may be anything, too.
    torn = times.ratio([pairs(NEVER, FAST), pairs(FAST, NEVER)])
    for found in (rare, torn):
        assert {at_least(found, bound).outcome for bound in (0.5, 1.0, 3.0)} == {"inconclusive"}
        assert {at_most(found, bound).outcome for bound in (0.5, 1.5, 3.0)} == {"inconclusive"}
    # Three of ten cut off below: the median is known, but in some draws of the runs it is not.
    shaky = times.ratio([pairs(SLOW, [*FAST[:7], *NEVER[:3]])])
    assert shaky.value is not None
    assert shaky.value > 1
    assert shaky.low == 0.0
    assert (at_least(shaky, 1.0).outcome, at_least(shaky, 1.0).interval) == ("inconclusive", (0.0, shaky.high))
    # A longer time above never makes a claim of "at least" weaker, or one of "at most" stronger.
    longer = times.ratio([pairs([*SLOW[:9], Censored(505.0)], [*FAST[:8], *NEVER[:2]])])
    plain = times.ratio([pairs(SLOW, [*FAST[:8], *NEVER[:2]])])
    assert (longer.low or 0.0) >= (plain.low or 0.0)


@pytest.mark.parametrize("groups", [1, 5])
def test_the_interval_of_a_ratio_of_medians_holds_it(groups: int) -> None:
    rng, held = np.random.default_rng(5), 0
    for _ in range(100):  # log-normal times with medians of 20 and 10, those beyond 60 censored
        drawn = []
        for _ in range(groups):
            slow, fast = 20 * np.exp(rng.normal(0, 1, 10)), 10 * np.exp(rng.normal(0, 0.7, 10))
            seen = [[Censored(60.0) if time > 60 else float(time) for time in side] for side in (slow, fast)]
            drawn.append(pairs(*seen))
        found = times.ratio(drawn)
        held += (found.low or 0.0) <= 2 <= (found.high or math.inf)
    assert held >= 95 - 4 * math.sqrt(100 * 0.95 * 0.05)  # four standard errors


@dataclass
class MadeUp:
    """A run with what a measure of it gives."""

    value: float | None
    replication: int
    params: dict[str, Any] = field(default_factory=dict)


def runs(values: list[float | None], **params: Any) -> Runs:
    return Runs("s", [MadeUp(value, index, params) for index, value in enumerate(values)], {})  # type: ignore[misc]


def measured(value: Any, kind: Any) -> Measure:
    return Measure("it", "", lambda _run: value, kind)


def own(kind: Any) -> Any:
    """A measure of made-up runs, which have no place to keep what was measured."""

    def value(run: Any) -> Any:
        return run.value

    value.kind = kind  # type: ignore[attr-defined]
    return value


def test_runs_are_summed_up_by_kind() -> None:
    assert ends(runs([1.0, 4.0]).interval(own("ratio")))[0] == pytest.approx(2.0)
    assert runs([1.0, 4.0]).interval(own("number")).value == 2.5
    found = runs([3.0, Censored(9.0), Censored(9.0)]).interval(own("time"))
    assert isinstance(found, Times)
    assert (found.value, found.beyond, found.censored) == (None, 9.0, 2)
    assert runs([3.0, Censored(9.0), Censored(9.0)]).median(own("time")) == found
    # Of times: medians.
    two = [10.0] * 8 + [Censored(20.0)] * 2
    assert runs(two).ratio(own("time"), runs([10.0] * 10)).value == 1.0
    assert runs([10.0] * 10).ratio(own("time"), runs(two)).value == 1.0


def test_an_interval_ends_at_the_most_that_a_run_can_have() -> None:
    rate = own("amount")
    rate.most = lambda run: run.params["rate"]
    low, high = ends(runs([0.825, 0.985], rate=1.0).interval(rate))[1:]
    assert (low, high) == (0.0, 1.0)
    assert ends(runs([0.825, 0.985], rate=3.0).interval(rate))[2] == pytest.approx(0.905 + 1.016, abs=1e-3)


def test_a_measure_keeps_that_a_time_is_censored() -> None:
    class Real(Run):
        def __init__(self) -> None:
            self.measured = {}

    for value in (Censored(3.0), 3.0, None):
        found = measured(value, "time")(Real())
        assert found == value
        assert isinstance(found, Censored) == isinstance(value, Censored)


def test_a_single_run_has_no_interval() -> None:
    alone = at_most(Interval(0.0074, None, None, 1), 1.0)
    assert (alone.outcome, alone.value, alone.interval) == ("pass", 0.0074, None)
    claim: Any = type(
        "C", (), {"id": "T9", "paper": None, "soft": False, "tolerance": "", "statement": "", "unit": "s", "origin": ""}
    )()
    assert claim_cells(Judged(claim, alone), quick=False)[2] == "0.0074 s, no interval"
    assert claim_cells(Judged(claim, Verdict("inconclusive")), quick=False)[2:4] == ["-", "-"]
    bound = at_least(Times(None, 4.0, None, 10, 6, 5.5), 3.0)
    assert claim_cells(Judged(claim, bound), quick=False)[2] == "more than 5.5 (4.0 or more) s"
    assert labelled("slow", bound).detail == "slow: more than 5.5 (4 or more)"
    assert valued(bound, alone) == Verdict("pass", 0.0074, None)


def test_an_open_end_reaches_to_the_other_side() -> None:
    half_open = Interval(20.0, 10.0, None, 8)
    assert [at_least(half_open, bound).outcome for bound in (10.0, 15.0)] == ["pass", "inconclusive"]
    assert at_most(half_open, 30.0).outcome == "inconclusive"
    assert at_most(half_open, 9.0).outcome == "fail"
    assert between(Times(None, None, None, 1, 1, 5.0), 0.0, 6.0).outcome == "inconclusive"
    assert at_least(Times(None, None, None, 1, 1, 5.0), 4.0).outcome == "pass"
    assert at_most(Times(None, None, None, 1, 1, 5.0), 4.0).outcome == "fail"


def test_what_decides_of_many() -> None:
    found = [(str(value), at_least(value, 1.0)) for value in (3.0, 1.5, 2.0)]
    assert (least(found).value, greatest(found).value) == (1.5, 3.0)
    assert least([*found, ("none", at_least(None, 1.0))]).outcome == "inconclusive"
    assert (
        least([*found, ("bad", at_least(0.5, 1.0)), ("worse", at_least(0.2, 1.0))]).detail
        == "worse: 0.2 [fail] (nor bad)"
    )


def test_figures_mark_what_is_more_than_drawn() -> None:
    spec = FigureSpec(
        "f", "t", "", "sweep", Axis("x", 1.0, False, None, None), Axis("y", 10.0, True, None, None), "",
        (SeriesSpec("it", "s", {}, "it", "0", 1.0, "n", "", "", True),), (),
    )  # fmt: skip
    found = [MadeUp(value, index, {"n": 1}) for index, value in enumerate((3.0, Censored(9.0), Censored(9.0)))]
    found += [MadeUp(value, index, {"n": 2}) for index, value in enumerate((3.0, 4.0, 5.0))]
    found += [MadeUp(7.0, 0, {"n": 3}), MadeUp(Censored(8.0), 0, {"n": 4})]
    made: Any = {"s": Runs("s", found, {"n": (1, 2, 3, 4)})}  # type: ignore[arg-type]
    chart = figures.build(spec, made, {"it": own("time")})
    line = chart.panels[0].curves[0]
    assert isinstance(line, figures.Line)
    assert (line.y, line.beyond) == ((90.0, 40.0, 70.0, 80.0), (True, False, False, True))
    assert line.high[0] == line.high[3] == math.inf
    assert math.isnan(line.low[2])
    assert math.isnan(line.high[2])
    assert line.low[3] == 80.0
    rows = [row.split(",") for row in figures.data(chart).splitlines()]
    assert rows[0] == ["panel", "series", "x", "y", "low", "high", "more_than"]
    assert [row[-1] for row in rows[1:]] == ["1", "0", "0", "1"]
    assert [row[5] for row in rows[1:]] == ["", f"{line.high[1]:g}", "", ""]
    assert rows[3][4:6] == ["", ""]
