"""What a real kernel with the real proxy made of the study split-tcp, beside the simulator on the same scenarios."""

from __future__ import annotations

import csv
import statistics

import pytest

import ackclock
from split_kernel import COLUMNS, REPLICATIONS, SHORT, STUDY, given, rates

GAIN = 0.10
"""How far gains may be apart: points of what a download has without the proxy, as a share."""
RATE = 0.03
"""And rates of 10 MB, as a share, where a window limits both."""


Rates = dict[tuple[str, int], dict[str, float]]
"""Bit/s by the name of a row and a replication, and by column."""


def recorded(name: str) -> Rates:
    own = f"linux-{name}-runs" if name in REPLICATIONS else f"linux-{name}"
    text = (STUDY / "expected" / f"{own}.csv").read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(line for line in text if not line.startswith("#"))
    return {
        (row.pop("row"), int(row.pop("replication", "0"))): {c: float(rate) for c, rate in row.items()} for row in rows
    }


def played(name: str) -> Rates:
    """The same runs in the simulator."""
    source, changes = given(name)
    result = ackclock.run(source, set=changes)
    return {(str(row.pop("row")), int(row.pop("replication"))): row for row in rates(result, name).to_dicts()}


def gain(found: Rates, cell: str, column: str) -> float:
    """By which share a download is faster with the proxy: the mean over replications."""
    numbers = sorted({number for _, number in found})
    rates = [[found[f"{cell}{relay}", number][column] for relay in ("pep", "none")] for number in numbers]
    return statistics.fmean(on / off - 1 for on, off in rates)


def cells_of(found: Rates) -> list[str]:
    return sorted({row.rpartition(", ")[0] + ", " for row, _ in found})


def test_gains_of_large_files_are_those_of_a_real_proxy_on_a_real_kernel() -> None:
    linux, ours = recorded("mean"), played("mean")
    assert linux.keys() == ours.keys()
    assert len(cells_of(linux)) == 6
    for cell in cells_of(linux):
        for column in list(COLUMNS.values())[SHORT:]:
            assert gain(ours, cell, column) == pytest.approx(gain(linux, cell, column), abs=GAIN), (cell, column)


def test_so_are_those_of_short_ones_of_which_single_runs_differ_by_more() -> None:
    linux, ours = recorded("short"), played("short")
    assert linux.keys() == ours.keys()
    assert len({number for _, number in linux}) == 30
    assert len(cells_of(linux)) == 6
    for cell in cells_of(linux):
        for column in list(COLUMNS.values())[:SHORT]:
            assert gain(ours, cell, column) == pytest.approx(gain(linux, cell, column), abs=GAIN), (cell, column)


def test_so_are_those_over_a_radio_that_goes_away() -> None:
    """Of short files a single timeout makes a gain of several hundred per cent: of them the median of differences."""
    linux, ours = recorded("outages"), played("outages")
    columns = list(COLUMNS.values())
    for column in columns[SHORT:]:
        assert gain(ours, "", column) == pytest.approx(gain(linux, "", column), abs=GAIN), column
    for column in columns[:SHORT]:
        pairs = [
            [found["pep", number][column] / found["none", number][column] for found in (ours, linux)]
            for number in range(REPLICATIONS["outages"])
        ]
        assert statistics.median(abs(one - two) for one, two in pairs) < GAIN, column


def test_a_window_of_the_phone_gives_the_rate_that_it_gives_on_linux() -> None:
    windows = ["64 KiB", "96 KiB", "144 KiB", "192 KiB", "256 KiB", "512 KiB", "6 MB"]
    linux, ours = recorded("window"), played("window")
    assert linux.keys() == ours.keys()
    assert len(ours) == 4 * len(windows)
    for row in ours:
        assert ours[row]["only"] == pytest.approx(linux[row]["only"], rel=RATE), row
    for rtt in ("105 ms", "15 ms"):
        for window in windows:
            cell = f"{rtt}, {window}, "
            assert gain(ours, cell, "only") == pytest.approx(gain(linux, cell, "only"), abs=GAIN), cell


def test_places_of_a_real_proxy_gain_what_those_of_a_simulated_one_do() -> None:
    linux, ours = recorded("proxy"), played("proxy")
    for relay in ("third", "two-thirds", "pep", "iw-32", "buffer-100k", "buffer-400k"):
        gains = [found[relay, 0]["only"] / found["none", 0]["only"] - 1 for found in (ours, linux)]
        assert gains[0] == pytest.approx(gains[1], abs=GAIN), relay
    # A buffer that is short for both round trips harms.
    assert max(found["buffer-100k", 0]["only"] for found in (ours, linux)) < ours["none", 0]["only"]


def apart(name: str) -> dict[str, float]:
    """How far gains of single downloads are apart, by cell."""
    linux, ours = recorded(name), played(name)
    assert linux.keys() == ours.keys()
    return {cell: abs(gain(ours, cell, "only") - gain(linux, cell, "only")) for cell in cells_of(linux)}


def test_rates_of_3g_gain_what_they_do_there() -> None:
    found = apart("rates")
    assert len(found) == 10
    assert max(found.values()) < GAIN / 5, found


def test_windows_that_do_not_limit_leave_the_same_gains_and_the_same_rates() -> None:
    found = apart("modern")
    assert len(found) == 12
    assert max(found.values()) < GAIN / 50, found
    linux, ours = recorded("modern"), played("modern")
    for row in ours:
        assert ours[row]["only"] == pytest.approx(linux[row]["only"], rel=0.001), row


def test_over_3g_the_gains_are_the_same_and_short_files_take_as_long() -> None:
    linux, ours = recorded("3g"), played("3g")
    assert linux.keys() == ours.keys()
    assert len(cells_of(linux)) == 6
    for cell in cells_of(linux):
        for column in COLUMNS.values():
            assert gain(ours, cell, column) == pytest.approx(gain(linux, cell, column), abs=GAIN / 5), (cell, column)
    for row, found in ours.items():
        theirs, own = (800_000 / rates["rate_100k"] for rates in (linux[row], found))
        assert theirs == pytest.approx(own, abs=0.012), row
