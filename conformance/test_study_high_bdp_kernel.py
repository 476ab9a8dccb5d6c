"""The figure of the study high-bdp that has Linux beside the simulator: its numbers are those of the recorded runs."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import ackclock
from kernel_records import record

STUDY = Path(__file__).parents[1] / "python" / "ackclock" / "studies" / "high-bdp"
PATHS = {"20 Mbit/s": "shallow20", "50 Mbit/s": "half50", "5 Mbit/s": "slow5"}
SHARE = 0.06
"""Points of a percent of what the link carries."""


def rows() -> dict[tuple[str, str], tuple[float, int]]:
    """The file of the figure: by controller and rate, share and segments sent again."""
    text = (STUDY / "expected" / "linux.csv").read_text(encoding="utf-8").splitlines()
    found = {}
    for name, share, again in list(csv.reader(line for line in text if not line.startswith("#")))[1:]:
        cc, rate = name.split(", ")
        found[cc, rate] = (float(share), int(again))
    return found


@pytest.mark.parametrize(("cc", "rate"), rows())
def test_the_file_is_what_was_recorded(cc: str, rate: str) -> None:
    kernel = record(f"{PATHS[rate]}_{cc}")
    flow, carried = kernel["flows"][0], kernel["scenario"]["rate_bps"] * 1448 / 1514
    assert rows()[cc, rate] == (pytest.approx(100 * flow["goodput_bps"] / carried, rel=1e-5), flow["retrans_segs"])


def test_the_simulator_is_as_near_as_the_page_says() -> None:
    result = ackclock.run(STUDY / "linux.toml", jobs=1)
    carried = {name: float(name.split()[0]) * 1e6 * 1448 / 1514 for name in PATHS}
    keys = ("cc", "topology.rate", "goodput_bps", "retransmitted_segments")
    found = list(result.flows.select(*keys).iter_rows())
    assert {(cc, rate) for cc, rate, *_ in found} == set(rows())
    for cc, rate, goodput, again in found:
        share, there = rows()[cc, rate]
        assert 100 * goodput / carried[rate] == pytest.approx(share, abs=SHARE), (cc, rate)
        assert abs(again - there) <= 1, (cc, rate)
