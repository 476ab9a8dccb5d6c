"""What a download that chooses its number of connections costs, on a kernel in virtual time: the record of it."""

from __future__ import annotations

import pytest

from get_lines import DECIDED, HELPED, LINES, PAGE, PAYLOAD, RATES, alone, beside, best_s, table

ALLOWED = 1.05
"""Of the time that the best fixed number takes, in downloads of two minutes."""
HARM = 0.10
"""Of what one connection leaves to a flow beside it, which a download may take besides."""
MINUTES = 120.0
SATURATED = tuple(line for line in LINES if line not in HELPED)


@pytest.mark.parametrize("line", HELPED)
def test_downloads_of_two_minutes_take_hardly_longer_than_with_the_best_fixed_number(line: str) -> None:
    decided, fixed = alone(line)
    assert decided.took_s > MINUTES
    assert {each.size for each in fixed} <= {decided.size}
    assert bool(fixed) == (line not in RATES)
    assert decided.took_s <= ALLOWED * best_s(line)


@pytest.mark.parametrize("line", RATES)
def test_no_download_is_faster_than_what_stands_for_the_line(line: str) -> None:
    """What its second half of windows carried comes within a hundredth, and never above."""
    decided, _ = alone(line)
    assert decided.settled_mbps is not None
    assert 0.99 < decided.settled_mbps / (RATES[line] * PAYLOAD / 1e6) < 1.0005


@pytest.mark.parametrize("line", SATURATED)
def test_where_a_queue_limits_it_takes_the_time_of_one_connection(line: str) -> None:
    decided, fixed = alone(line)
    (one,) = (each for each in fixed if each.way == "always 1")
    assert decided.took_s == one.took_s


@pytest.mark.parametrize("line", SATURATED)
def test_a_flow_beside_it_has_what_one_connection_leaves_and_much_less_beside_eight(line: str) -> None:
    found = beside(line)
    left = {way: each.other_mbps or 0.0 for way, each in found.items()}
    assert left[DECIDED] >= (1 - HARM) * left["always 1"]
    assert left["aria2c 8"] < 0.5 * left[DECIDED]


def test_the_page_has_them() -> None:
    assert table() in PAGE.read_text(encoding="utf-8")
