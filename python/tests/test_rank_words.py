"""How a ranking says numbers: rounded by their intervals, in one form for each column."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ackclock.ranking import text, words
from ackclock.ranking.goals import Goal, read
from ackclock.ranking.ranking import Candidate, Measure, Pair, Ranking, Worst


@pytest.mark.parametrize(
    ("ratio", "ends", "said", "interval"),
    [
        (0.9807, (0.9786, 0.9828), "-1.93 %", "-2.14 to -1.72 %"),  # half of it 0.21 %: two digits are two decimals
        (0.845, (0.827, 0.864), "-15.5 %", "-17.3 to -13.6 %"),
        (1.00001, (0.9948, 1.0053), "0.00 %", "-0.52 to +0.53 %"),  # nothing beside the interval
        (0.99999, (0.9948, 1.0053), "0.00 %", "-0.52 to +0.53 %"),  # and nothing has no sign
        (0.98, (0.8, 1.22), "-2.0 %", "-20.0 to +22.0 %"),  # two digits of the value, too
        (1.5, (1.1, 2.0), "+50 %", "+10 to +100 %"),
        (1.02, None, "+2.0 %", ""),
        (1.0, None, "0 %", ""),
        (1.15, None, "+15 %", ""),
    ],
)
def test_percentages_are_rounded_by_their_interval(
    ratio: float, ends: tuple[float, float] | None, said: str, interval: str
) -> None:
    assert words.change(ratio, ends) == said
    assert words.span(ratio, ends) == interval


@pytest.mark.parametrize(
    ("ratio", "ends", "said", "interval"),
    [
        (0.05, (0.03, 0.08), "× 0.050", "× 0.030 to 0.080"),
        (12.4, (8.0, 19.0), "× 12.4", "× 8.0 to 19.0"),
        (0.26, (0.0012, 54.0), "× 0.26", "× 0.0012 to 54"),
    ],
)
def test_ratios_are(ratio: float, ends: tuple[float, float], said: str, interval: str) -> None:
    assert words.change(ratio, ends, times=True) == said
    assert words.span(ratio, ends, times=True) == interval


def candidate(name: str, rank: int, against: float, ends: tuple[float, float] | None) -> Candidate:
    low, high = ends or (None, None)
    score = Measure(against, "ratio", against, low, high, None if ends is None else "lower")
    other = Measure(0.9, "difference", 0.0, None, None, None)
    worst = Worst({"topology.rtt": "20 ms"}, "best", against, low, high)
    metrics = {"goodput_bps": replace(score, value=1e6 * against), "jain": other}
    return Candidate(name, rank, False, score, worst, None, metrics, None)


def ranking(*candidates: Candidate, goal: Goal | None = None) -> Ranking:
    return Ranking("made", "cc", goal or read("bulk"), "best", candidates, {}, 2, 5, "sampled", {}, 3, ())


def test_a_column_has_one_form() -> None:
    found = ranking(
        candidate("best", 1, 1.0, None),
        candidate("near", 2, 0.9, (0.88, 0.92)),
        candidate("far", 3, 0.05, (0.03, 0.08)),
    )
    table = text.table(found)
    at = table[0].index("against best")
    assert [line[at] for line in table[1:]] == ["-", "× 0.900", "× 0.050"]
    assert [line[at + 1] for line in table[1:]] == ["", "× 0.880 to 0.920", "× 0.030 to 0.080"]
    assert all("×" in line[at + 2] for line in table[1:])
    trade = text.tradeoff(found)
    assert [line[1] for line in trade[1:]] == ["1", "0.9 × 0.900", "0.05 × 0.050"]
    percent = text.table(ranking(candidate("best", 1, 1.0, None), candidate("near", 2, 0.9, (0.88, 0.92))))
    assert percent[2][at : at + 2] == ["-10.0 %", "-12.0 to -8.0 %"]


def test_titles_say_which_mean_of_what() -> None:
    found = ranking(candidate("best", 1, 1.0, None), candidate("near", 2, 0.9, (0.88, 0.92)))
    assert text.table(found)[0][2] == "goodput per flow\ngeom. mean, Mbit/s"
    assert text.tradeoff(found)[0][2] == "Jain's index\nmean"


def test_intervals_are_not_broken_in_a_narrow_table() -> None:
    found = ranking(candidate("best", 1, 1.0, None), candidate("near", 2, 0.9, (0.88, 0.92)))
    narrow = text.table(found, narrow=True)
    assert narrow[2][4] == "-12.0 to -8.0 %"
    assert all(len(part) <= 12 for title in narrow[0] for part in title.split("\n"))


def test_less_than_can_be_seen_is_said_so() -> None:
    made = ranking(candidate("best", 1, 1.00001, None), candidate("next", 1, 1.0, (0.9948, 1.0053)))
    found = replace(made, pairs=(Pair("best", "next", 1.00001, 0.9948, 1.0053, False),))
    assert re.search(r"best is less than 0\.01 % above the next, next \(95 % simultaneous interval", found.sentence)


def test_a_sentence_has_one_form_too() -> None:
    made = ranking(candidate("best", 1, 1.0, None), candidate("far", 2, 0.135, (0.09, 0.2)))
    found = replace(made, pairs=(Pair("best", "far", 1 / 0.135, 5.0, 11.0, True),), goal=read("mean_fct_s down"))
    found = replace(found, candidates=tuple(replace(item, metrics={}) for item in found.candidates))
    assert "0.135 times that of the next, far (95 % simultaneous interval × 0.091 to 0.200)" in found.sentence


def test_a_list_of_nobody_is_said() -> None:
    assert words.listed([]) == "none"


def test_no_value_has_more_digits_than_tell_anything() -> None:
    assert words.change(0.4299, (0.42989, 0.42991)) == "-57.0 %"
    assert words.span(0.4299, (0.42989, 0.42991)) == "-57.0 to -57.0 %"
    assert words.change(12.3456, (12.3455, 12.3457), times=True) == "× 12.3"
    assert words.change(1.0000096, (1.0000066, 1.0000126)) == "+0.00096 %", "small ones keep theirs"


def test_who_cannot_be_told_is_named() -> None:
    tied = [replace(candidate(f"c{n}", 1, 1 - n / 1000, (0.9, 1.1)), tied=True) for n in range(6)]
    found = ranking(*tied, candidate("worst", 7, 0.5, (0.4, 0.6)), goal=read("goodput_bps up, mean_rtt_s down"))
    found = replace(found, pairs=(Pair("c0", "c1", 1.0010010, 0.98, 1.02, False),))
    assert found.sentence.startswith("c0, c1, c2, c3 and 2 more cannot be told from the best on the goal")
    assert ": the score of c0 is 0.1 % above that of the next, c1 (" in found.sentence


def test_one_point_has_no_worst_one() -> None:
    found = ranking(candidate("best", 1, 1.0, None), candidate("near", 2, 0.9, (0.88, 0.92)))
    assert "worst point" in text.table(found)[0]
    alone = text.table(replace(found, points=1))
    assert "worst point" not in alone[0]
    assert {len(line) for line in alone} == {len(alone[0])}
