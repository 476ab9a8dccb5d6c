"""The analysis of captures beside the account of the Linux kernel that sent what was captured."""

from __future__ import annotations

import polars as pl
import pytest

import capture_records as records
from capture_records import MIDDLE, RECEIVER, SENDER

NAMES = records.names()
RETRANSMITTED = 0.99
CAUSES = 0.97
ELSEWHERE = 0.03
RTT = 0.02
SHARE = 0.05
UNEVEN = {
    "jitter_back": "acknowledgments take 15 to 25 ms: the smallest is below the median",
    "overflow_two": "the handshake of the second flow waits in the queue of the first",
}
"""Paths whose queue cannot be told from the handshake: the smallest `up_rtt_s` lacks more than waiting."""
FINS = {"short_tiny": "a FIN alone that is lost keeps busy_time running, of 100 connections of 2500 bytes each"}
"""Paths where busy_time is not of data alone."""
SAMPLES = 100
"""A median of fewer samples says little."""
STEADY = ("small_window", "slow_reader")
"""Paths where the receiver's window limits, and is steady."""

OFF_BY = {
    # A timer goes off among late acknowledgments, on a path that suddenly became 690 ms shorter.
    "spike": {"recoveries": 1, "timeouts": 1},
    # The only segment out is sent again: a tail loss probe would look alike, `ambiguous`.
    "no_probes": {"timeouts": 1},
}
"""Counts that differ from the kernel's, and by how much at most."""

NEEDLESS_BUT_LOST = {
    # The network copied a retransmission that was needed; the DSACK block of a copy looks like that of a needless one.
    "duplicate_loss": 1,
}
"""How many retransmissions are said to be needless that were not."""


def _segments(name: str) -> int:
    """RetransSegs without SYN and FIN."""
    truth = records.truth(name)
    return int(truth["sender"].get("RetransSegs", 0)) - int(truth["empty"])


@pytest.mark.parametrize("name", NAMES)
def test_counts_are_the_kernels(name: str) -> None:
    ours, truth = records.analysed(name, SENDER), records.truth(name)
    assert ours.total("retransmitted_segments") == pytest.approx(_segments(name), rel=1 - RETRANSMITTED)
    for column in ("recoveries", "timeouts"):
        theirs = sum(connection[column] for connection in truth["connections"])
        assert abs(ours.total(column) - theirs) <= OFF_BY.get(name, {}).get(column, 0), column


@pytest.mark.parametrize("name", NAMES)
def test_the_log_is_the_counters(name: str) -> None:
    truth, counted = records.truth(name), records.truth(name)["sender"]
    timeouts = sum(connection["timeouts"] for connection in truth["connections"]) + truth["empty_timeouts"]
    recoveries = sum(connection["recoveries"] for connection in truth["connections"])
    assert not truth["unmatched"]
    assert timeouts == counted.get("TCPTimeouts", 0)
    assert recoveries == counted.get("TCPSackRecovery", 0) + counted.get("TCPRenoRecovery", 0)


def test_nearly_all_retransmissions_and_causes_are_told() -> None:
    found = [records.causes(name) for name in NAMES]
    packets = sum(one.packets for one in found)
    assert packets > 3000
    assert sum(one.found for one in found) >= RETRANSMITTED * packets
    assert sum(len(one.invented) for one in found) <= (1 - RETRANSMITTED) * packets
    assert sum(one.right for one in found) >= CAUSES * packets


@pytest.mark.parametrize("name", NAMES)
def test_causes_of_each_path(name: str) -> None:
    found = records.causes(name)
    assert not found.invented
    assert found.found == found.packets
    assert found.right >= CAUSES * found.packets, found.wrong


@pytest.mark.parametrize("name", NAMES)
def test_what_is_said_to_be_needless_was(name: str) -> None:
    said, was = records.needless(name)
    assert len(said - was) <= NEEDLESS_BUT_LOST.get(name, 0)
    told = records.truth(name)["sender"].get("TCPDSACKRecvSegs", 0)
    assert records.analysed(name, SENDER).total("spurious_segments") >= told


ELSEWHERE_SEEN = [(name, place) for name in NAMES for place in records.places(name) if place != SENDER]


@pytest.mark.parametrize(("name", "place"), ELSEWHERE_SEEN)
def test_retransmissions_elsewhere(name: str, place: str) -> None:
    here, sender = records.analysed(name, place), records.analysed(name, SENDER)
    column = "retransmitted_segments"
    # What was lost before this place did not pass it: its repair may look new.
    lost = sender.total("sent_segments") - here.total("sent_segments")
    missing = sender.total(column) - here.total(column)
    assert -ELSEWHERE * sender.total(column) <= missing <= max(0, lost) + ELSEWHERE * sender.total(column)


@pytest.mark.parametrize(("name", "place"), ELSEWHERE_SEEN)
def test_round_trips_elsewhere(name: str, place: str) -> None:
    here, sender = records.analysed(name, place).flows, records.analysed(name, SENDER).flows
    rows = here.join(sender, on="sport", suffix="_sender").drop_nulls(["p50_rtt_s", "up_rtt_s", "p50_rtt_s_sender"])
    assert rows.height
    for row in rows.filter(pl.col("rtt_samples") >= SAMPLES).iter_rows(named=True):
        whole, median = row["p50_rtt_s"] + row["up_rtt_s"], row["p50_rtt_s_sender"]
        assert whole <= (1 + RTT) * median
        # `up_rtt_s` is the smallest: waiting at the bottleneck, which is before both places, is not in it.
        handshake = row["handshake_rtt_s_sender"]
        if name not in UNEVEN and handshake is not None and median <= (1 + RTT) * handshake:
            assert whole == pytest.approx(median, rel=RTT)


@pytest.mark.parametrize("name", STEADY)
@pytest.mark.parametrize("place", [SENDER, MIDDLE, RECEIVER])
def test_a_steady_window_limits_for_as_long_as_the_kernel_says(name: str, place: str) -> None:
    (row,) = records.analysed(name, place).flows.iter_rows(named=True)
    (sender,) = records.analysed(name, SENDER).flows.iter_rows(named=True)
    info = records.truth(name)["connections"][0]["tcp_info"]
    assert sender["rwnd_s"] == pytest.approx(info["rwnd_limited"] * 1e-6, rel=0.03)
    for share in ("app_s", "rwnd_s", "network_s"):
        assert row[share] / row["last_s"] == pytest.approx(sender[share] / sender["last_s"], abs=SHARE)


@pytest.mark.parametrize("name", NAMES)
def test_busy_time_is_the_kernels(name: str) -> None:
    info = {row["port"]: row["tcp_info"] for row in records.truth(name)["connections"] if row["tcp_info"]}
    rows = records.analysed(name, SENDER).flows.drop_nulls("busy_s").iter_rows(named=True)
    # The clock of busy_time has ticks of 1 ms.
    pairs = [(row["busy_s"], info[row["sport"]]["busy_time"] * 1e-6) for row in rows if row["sport"] in info]
    ours, theirs = (sum(times) for times in zip(*pairs, strict=True))
    if name in FINS:
        assert ours <= theirs
    else:
        assert ours == pytest.approx(theirs, rel=0.03)


@pytest.mark.parametrize(("name", "place"), ELSEWHERE_SEEN)
def test_places_are_told(name: str, place: str) -> None:
    row = records.analysed(name, place).flows
    assert set(row["vantage"].drop_nulls().to_list()) == {place}
