"""What a real kernel with the real proxy made of the study split-tcp, beside the simulator on the same scenarios."""

from __future__ import annotations

import csv
from typing import Any

import pytest

import ackclock
from split_kernel import COLUMNS, PLAYED, STUDY, rates

GAIN = 0.10
"""How far gains may be apart: points of what a download has without the proxy, as a share."""
RATE = 0.03
"""And rates of 10 MB, as a share, where a window limits both."""


def recorded(name: str) -> dict[str, dict[str, float]]:
    text = (STUDY / "expected" / f"linux-{name}.csv").read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(line for line in text if not line.startswith("#"))
    return {row.pop("row"): {column: float(rate) for column, rate in row.items()} for row in rows}


def played(name: str, **more: Any) -> dict[str, dict[str, float]]:
    file, changes = PLAYED[name]
    result = ackclock.run(STUDY / file, set=changes | more | {"run.replications": 1}, jobs=1)
    return {str(row.pop("row")): row for row in rates(result, name).to_dicts()}


def gain(found: dict[str, dict[str, float]], cell: str, column: str) -> float:
    """By which share a download is faster with the proxy."""
    on, off = (found[f"{cell}{relay}"][column] for relay in ("pep", "none"))
    return on / off - 1


def test_gains_of_large_files_are_those_of_a_real_proxy_on_a_real_kernel() -> None:
    linux, ours = recorded("mean"), played("mean")
    assert linux.keys() == ours.keys()
    cells = sorted({row.rpartition(", ")[0] + ", " for row in linux})
    assert len(cells) == 6
    for cell in cells:
        for column in list(COLUMNS.values())[3:]:
            assert gain(ours, cell, column) == pytest.approx(gain(linux, cell, column), abs=GAIN), (cell, column)


def test_so_are_those_over_a_radio_that_goes_away() -> None:
    linux, ours = recorded("outages"), played("outages")
    for column in COLUMNS.values():
        assert gain(ours, "", column) == pytest.approx(gain(linux, "", column), abs=GAIN), column


def test_a_window_of_the_phone_gives_the_rate_that_it_gives_on_linux() -> None:
    """From 144 KiB on; of smaller ones Linux uses another share."""
    windows = ["144 KiB", "192 KiB", "256 KiB", "512 KiB", "6 MB"]
    linux, ours = recorded("window"), played("window", **{"tcp.receive_buffer": windows})
    assert len(ours) == 20
    for row, found in ours.items():
        assert found["only"] == pytest.approx(linux[row]["only"], rel=RATE), row
    for rtt in ("105 ms", "15 ms"):
        for window in windows:
            cell = f"{rtt}, {window}, "
            assert gain(ours, cell, "only") == pytest.approx(gain(linux, cell, "only"), abs=GAIN), cell


def test_places_of_a_real_proxy_gain_what_those_of_a_simulated_one_do() -> None:
    linux, ours = recorded("proxy"), played("proxy")
    for relay in ("third", "two-thirds", "pep", "iw-32"):
        gains = [found[relay]["only"] / found["none"]["only"] - 1 for found in (ours, linux)]
        assert gains[0] == pytest.approx(gains[1], abs=GAIN), relay
    # A buffer that is short for both round trips costs both, a program more.
    assert linux["buffer-100k"]["only"] < ours["buffer-100k"]["only"] < ours["none"]["only"]
