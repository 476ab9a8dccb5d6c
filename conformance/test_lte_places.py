"""A recording of ns-3's cell of which the places of users are not known, among ours at many places."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

import ackclock
import lte_figures
from lte_runs import NAMES, document, recorded, unknown_places

PLACEMENTS = 100
POINT = {
    row["rlc"]: row for row in unknown_places() if (row["cc"], row["x"]) == ("NewReno", "1") and row["rlc_buf"] == "0"
}
"""One connection, NewReno, no limit of the buffer; by RLC."""

PACKET = 1400 / (1400 + 52)
"""Share of a packet that is payload."""


@cache
def placements() -> tuple[np.ndarray, np.ndarray]:
    """Use of resource blocks and goodput, Mbit/s, of the recording's scenario at as many places: 60 s after 15."""
    nearest = document("web-15-1-um")["ackclock"]
    topology = {key: value for key, value in nearest["topology"].items() if key != "places"}
    run = {"duration": "75 s", "warmup": "15 s", "replications": PLACEMENTS, "seed": 1}
    result = ackclock.run({**nearest, "topology": topology, "run": run}, jobs=1)
    carried = result.users.group_by("replication").agg(pl.col("delivered_bytes").sum()).sort("replication")
    goodput = carried["delivered_bytes"].to_numpy() * PACKET * 8 / 60 / 1e6
    return result.cells.sort("replication")["rho_rb"].to_numpy(), goodput


def share_below(values: np.ndarray, value: float) -> float:
    """Of the placements."""
    return float(np.mean(values < value))


def test_unacknowledged_it_is_a_placement_like_others() -> None:
    """Much traffic in that minute, at places that cost much: neither is rare, and the use follows from both."""
    use, goodput = placements()
    point = POINT["Um"]
    rho, rate = float(point["rho"]), float(point["dl_goodput_mbps"])
    assert 0.60 < share_below(goodput, rate) < 0.95
    assert 0.02 < share_below(goodput / use, rate / rho) < 0.30
    assert 0.80 < share_below(use, rho) < 0.99


def test_acknowledged_it_uses_more_by_what_reports_take() -> None:
    """The use for each bit: 21 % more there, 18 to 32 % in the runs whose places are known."""
    um, am = (float(POINT[rlc]["rho"]) / float(POINT[rlc]["dl_goodput_mbps"]) for rlc in ("Um", "Am"))
    known = [
        recorded(name).rho / recorded(name.replace("-am", "-um")).rho
        for name in NAMES
        if lte_figures.mode(name) == "am" and not lte_figures.fails(name)
    ]
    assert am / um == pytest.approx(1.21, abs=0.005)
    assert min(known) - 0.05 < am / um < max(known) + 0.05
