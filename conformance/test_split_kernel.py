"""What a real kernel with the real proxy made of the study split-tcp, beside the simulator on the same scenarios."""

from __future__ import annotations

import csv

import pytest

from split_agreement import FILE, MARGIN, PAGE, Cell, every, page, played, recorded, table
from split_kernel import PLAYED, REPLICATIONS

RATE = 0.03
"""How far rates of 10 MB may be apart, as a share, where a window limits both."""
OPEN: set[tuple[str, str, str]] = set()
"""Cells of which the runs do not say that they are within the margin; their means are."""


@pytest.fixture(scope="module")
def cells() -> list[Cell]:
    return list(every())


def test_all_runs_were_played_by_both() -> None:
    for name in PLAYED:
        linux, ours = recorded(name), played(name)
        assert linux.keys() == ours.keys(), name
        assert len({number for _, number in linux}) == REPLICATIONS.get(name, 1)


def test_every_cell_is_what_the_page_says(cells: list[Cell]) -> None:
    written = list(csv.DictReader(FILE.read_text(encoding="utf-8").splitlines()))
    assert len(written) == len(cells) == 134
    assert table(cells) == FILE.read_text(encoding="utf-8")
    assert page(cells) in PAGE.read_text(encoding="utf-8")


def test_gains_are_those_of_a_real_proxy_on_a_real_kernel(cells: list[Cell]) -> None:
    """Within ten points in every cell, all of the interval; of few the runs do not say so much."""
    for cell in cells:
        assert abs(cell.apart) <= MARGIN, cell
    assert {(cell.scenario, cell.cell, cell.column) for cell in cells if cell.verdict != "equal"} == OPEN


def test_a_window_of_the_phone_gives_the_rate_that_it_gives_on_linux() -> None:
    linux, ours = recorded("window"), played("window")
    assert len(ours) == 28
    for row in ours:
        assert ours[row]["only"] == pytest.approx(linux[row]["only"], rel=RATE), row


def test_a_buffer_that_is_short_for_both_round_trips_harms() -> None:
    rates = [{relay: rate["only"] for (relay, _), rate in each("proxy").items()} for each in (recorded, played)]
    for found in rates:
        assert max(each["buffer-100k"] for each in rates) < found["none"]


def test_rates_of_3g_gain_what_they_do_there(cells: list[Cell]) -> None:
    found = [abs(cell.apart) for cell in cells if cell.scenario == "rates"]
    assert len(found) == 10
    assert max(found) < 2, found


def test_windows_that_do_not_limit_leave_the_same_gains_and_the_same_rates(cells: list[Cell]) -> None:
    found = [abs(cell.apart) for cell in cells if cell.scenario == "modern"]
    assert len(found) == 24
    assert max(found) < 0.2, found
    linux, ours = recorded("modern"), played("modern")
    for row in ours:
        assert ours[row]["only"] == pytest.approx(linux[row]["only"], rel=0.001), row


def test_over_3g_the_gains_are_the_same_and_short_files_take_as_long(cells: list[Cell]) -> None:
    found = [abs(cell.apart) for cell in cells if cell.scenario == "3g"]
    assert len(found) == 36
    assert max(found) < 2, found
    linux, ours = recorded("3g"), played("3g")
    for row, found in ours.items():
        theirs, own = (800_000 / rates["rate_100k"] for rates in (linux[row], found))
        assert theirs == pytest.approx(own, abs=0.012), row
