"""Our LTE cell and that of ns-3 (LENA), with the same users at the same places, who load the same pages."""

from __future__ import annotations

import bisect
import math
from statistics import fmean

import pytest

import ackclock
import lte_figures
from lte_runs import NAMES, document, other_scheme, played, ratios, recorded, saturated, sizes, switching

DECODED = [name for name in NAMES if not lte_figures.fails(name) and lte_figures.mode(name) == "um"]
"""Runs in which nothing but the cell's own rules decides."""

ALIKE = [name for name in DECODED if not other_scheme(name)]
"""Those of them in which every user has the same scheme as in ns-3."""

ACKNOWLEDGED = [name for name in NAMES if lte_figures.mode(name) == "am"]
LOSING = [name for name in NAMES if any(user.undecoded for user in recorded(name).users) and name not in ACKNOWLEDGED]
"""Those in which blocks were lost and RLC did not send them again."""

ALONE = [row for row in saturated() if row["what"] == "alone" and row["control_errors"] == "0"]

SCHEMES = (0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28)
"""Of each CQI from 1 on."""


def cell(*distances: float) -> dict[str, object]:
    """The cell of the records, with users at these distances over ground."""
    topology = document(DECODED[0])["ackclock"]["topology"]
    places = [{"distance": f"{math.hypot(distance, 28.5):.6f} m"} for distance in distances]
    return {key: value for key, value in topology.items() if key != "users"} | {"places": places}


def test_there_are_enough_runs_of_each_kind() -> None:
    assert len(ALIKE) >= 6
    assert len(LOSING) >= 6
    assert len(ACKNOWLEDGED) >= 3


@pytest.mark.parametrize("name", NAMES)
def test_both_played_the_same(name: str) -> None:
    assert {key: load.bytes for key, load in played(name).pages.items()}.items() <= sizes(name).items()
    for mine, theirs in zip(played(name).users, recorded(name).users, strict=True):
        assert mine.sinr_db == pytest.approx(theirs.sinr_db, abs=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_runs_agree_or_differ_for_a_known_reason(name: str) -> None:
    for figure in lte_figures.compared(name):
        assert figure.explained, str(figure)


def test_signal_scheme_and_block_by_distance() -> None:
    """From 20 to 500 m: the SINR to a thousandth of a decibel, the scheme, the size of a block."""
    flows = [{"app": {"kind": "cbr", "rate": "10 kbit/s"}}]
    distances = [float(row["distance_m"]) for row in ALONE]
    result = ackclock.run({"topology": cell(*distances), "flows": flows, "run": {"duration": "50 ms"}}, jobs=1)
    users = result.users.sort("user").iter_rows(named=True)
    for row, user in zip(ALONE, users, strict=True):
        assert user["sinr_db"] == pytest.approx(float(row["sinr_db"]), abs=1e-3), row
        assert user["mcs"] == int(row["mcs"]), row
        # Of 2 s. At 100 m one block of the 2000 is missing.
        assert user["rate_bps"] * 2 / 8 == pytest.approx(float(row["block_bytes"]), rel=1e-3), row


@pytest.mark.parametrize("row", ALONE[::6], ids=lambda row: row["distance_m"])
def test_throughput_of_one_user(row: dict[str, str]) -> None:
    """More datagrams than the cell can send: the same goodput, headers of MAC, RLC, PDCP, UDP and IP included."""
    app = {"kind": "cbr", "rate": "80 Mbit/s", "packet": "1400 B"}
    topology = cell(float(row["distance_m"])) | {"queue": {"limit": "1000 packets"}}
    scenario = {"topology": topology, "flows": [{"app": app}], "run": {"duration": "3 s", "warmup": "1 s"}}
    ours = ackclock.run(scenario, jobs=1).flows["goodput_bps"][0]
    assert ours == pytest.approx(float(row["goodput_bps"]), rel=0.007)


def test_shares_of_two_users() -> None:
    """Ours are equal. ns-3 judges by what a group of four resource blocks carries, at slow schemes less of the band.

    TS 36.213 table 7.1.7.2.1-1: 2984 and 75376 bits at scheme 28 (4 and 100 resource blocks), 256 and 7224 at scheme 4.
    """
    app = {"kind": "cbr", "rate": "80 Mbit/s", "packet": "1400 B"}
    topology = cell(100, 400) | {"queue": {"limit": "1000 packets"}}
    scenario = {"topology": topology, "flows": [{"app": app}], "run": {"duration": "5 s", "warmup": "1 s"}}
    near, far = ackclock.run(scenario, jobs=1).users.sort("user")["blocks"]
    assert near / far == pytest.approx(1, rel=0.01)
    theirs = [int(row["blocks"]) for row in saturated() if row["what"] == "two"]
    assert theirs[0] / theirs[1] == pytest.approx((2984 / 75376) / (256 / 7224), rel=0.01)


@pytest.mark.parametrize("name", NAMES)
def test_schemes_differ_only_where_thresholds_are_not_exact(name: str) -> None:
    """ns-3's schemes are those of its switching points, and a user with another one here is near to one."""
    for user in recorded(name).users:
        if user.blocks:
            assert user.mcs == SCHEMES[bisect.bisect_right(switching(), user.sinr_db) - 1]
    for i in other_scheme(name):
        sinr = recorded(name).users[i].sinr_db
        assert min(abs(sinr - point) for point in switching()) < 0.125


@pytest.mark.parametrize("name", ALIKE)
def test_every_user_takes_the_same_blocks(name: str) -> None:
    """Within 2 %, and within what a page that is under way at the end may have more or less."""
    for mine, theirs in zip(played(name).users, recorded(name).users, strict=True):
        if theirs.blocks:
            assert mine.blocks == pytest.approx(theirs.blocks, rel=0.02, abs=6)


@pytest.mark.parametrize("name", DECODED)
def test_handshakes_take_the_same_time(name: str) -> None:
    """The quickest of all, as the others wait for other pages. ns-3 counts TTIs of its own: within half of one."""
    mine = min(load.handshake_s for load in played(name).pages.values())
    assert mine == pytest.approx(min(load.handshake_s for load in recorded(name).pages.values()), abs=0.0005)


@pytest.mark.parametrize("name", ALIKE)
def test_every_page_takes_about_as_long(name: str) -> None:
    """Ours longer by some per cent: in ns-3 queues are known at once, acknowledgments go earlier and in more blocks."""
    found = ratios(name)
    assert len(found) >= 10
    assert all(0.85 < ratio < 1.25 for ratio in found), (min(found), max(found))
    mine, theirs = (sum(user.up_blocks for user in run(name).users) for run in (played, recorded))
    assert mine < theirs


@pytest.mark.parametrize("name", LOSING)
def test_lost_announcements_slow_users_at_the_edge(name: str) -> None:
    """Who loses blocks is far away, waits longer than where none is lost, and there alone TCP sends again."""
    lossy, decoded = recorded(name), recorded(f"{name}-decoded")
    edge = [i for i, user in enumerate(lossy.users) if user.undecoded > 1]
    assert max(lossy.users[i].sinr_db for i in edge) < -0.5
    assert (lossy.retransmitted > 10, decoded.retransmitted) == (True, 0)

    def mean(pages: dict[tuple[int, int], float]) -> float:
        return fmean(pages.values())

    times = [
        {key: load.seconds for key, load in run.pages.items() if load.user in edge and load.seconds is not None}
        for run in (lossy, decoded)
    ]
    assert mean(times[0]) > 1.15 * mean(times[1])


@pytest.mark.parametrize("name", ACKNOWLEDGED)
def test_reports_of_acknowledged_rlc_take_blocks(name: str) -> None:
    theirs = recorded(name)
    reports = sum(user.without_data for user in theirs.users)
    assert reports > 0.1 * sum(user.blocks for user in theirs.users)
    assert theirs.rho > 1.1 * recorded(name.replace("-am", "-um")).rho
