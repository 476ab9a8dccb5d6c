"""A capture that was taken elsewhere than at the sender: what it still says of the sender, and what it cannot."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock

PATH: dict[str, Any] = {
    "topology": {
        "kind": "dumbbell",
        "rate": "10 Mbit/s",
        "rtt": "60 ms",
        "queue": {"kind": "droptail", "limit": "60 packets"},
        "access": {"delay": "10 ms"},
    },
    "flows": [
        {"cc": "cubic", "bytes": "3 MB"},
        {"cc": "newreno", "profile": "rfc", "bytes": "2 MB"},
        {"cc": "bbr3", "bytes": "2 MB"},
    ],
    "run": {"duration": "30 s", "seed": 3, "capture": ["flows", "links.bottleneck"]},
}


def seen(file: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """The rows of the data of each flow, by interface and flow."""
    found = ackclock.pcap(file)
    names = dict(found.captures.select("interface", "name").iter_rows())
    data = found.flows.filter((pl.col("sent_bytes") > 0) & pl.col("src").str.contains("[13579]$"))
    host = (int(row["src"].rsplit(".", 1)[1]) // 2 for row in data.iter_rows(named=True))
    return {(names[row["interface"]], flow): row for row, flow in zip(data.to_dicts(), host, strict=True)}


def lost_again(file: Path, flow: int) -> int:
    """Packets sent again that the bottleneck dropped or lost: at the receiver nobody sees them."""
    what = f'ip.src == 10.0.0.{2 * flow + 1} && frame.comment contains "rtx" && frame.comment contains "drop"'
    command = ["tshark", "-n", "-r", str(file), "-Y", what]
    return len(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())


@pytest.mark.parametrize(
    "change",
    [
        {"loss": 0.002},
        {"loss": 0.03},
        {"loss": {"gilbert_elliott": {"p": 0.002, "r": 0.3}}},
        {"loss": 0.005, "reorder": {"p": 0.01, "extra": "8 ms"}},
        {"jitter": {"kind": "exponential", "mean": "2 ms"}},
    ],
)
def test_losses_elsewhere_are_those_of_the_sender_but_for_what_never_came(
    change: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "a.pcapng"
    ackclock.capture(PATH | {"topology": PATH["topology"] | change}, file)
    rows = seen(file)
    for flow in range(3):
        source, before = rows[f"flows.{flow}.source", flow], rows["links.bottleneck.in", flow]
        # All that the source sends passes the input of the bottleneck, in order.
        for name in ("sent_segments", "retransmitted_segments", "retransmitted_bytes", "reordered_segments"):
            assert before[name] == source[name], name
        assert source["retransmitted_segments"] > 10
        came = source["retransmitted_segments"] - lost_again(file, flow)
        for place in (f"flows.{flow}.sink", "links.bottleneck.out"):
            again = rows[place, flow]["retransmitted_segments"]
            assert again == pytest.approx(came, rel=0.03), place
            assert (rows[place, flow]["reordered_segments"] > 0) == ("reorder" in change)


STEADY = PATH | {
    "flows": [
        {"cc": "cubic", "bytes": "3 MB", "tcp": {"receive_buffer": "40 kB"}},
        {"app": {"kind": "cbr", "rate": "500 kbit/s", "packet": "1000 B", "transport": "tcp"}, "cc": "reno"},
    ]
}


def test_the_receiver_knows_who_limits_and_the_round_trip(tmp_path: Path) -> None:
    """Under a steady window, and of a source that seldom has something to send, without a queue."""
    file = tmp_path / "a.pcapng"
    ackclock.capture(STEADY, file)
    rows = seen(file)
    for flow, limit in ((0, "rwnd"), (1, "app")):
        source, sink = rows[f"flows.{flow}.source", flow], rows[f"flows.{flow}.sink", flow]
        assert (source["vantage"], sink["vantage"]) == ("sender", "receiver")
        assert source["limited_by"] == sink["limited_by"] == limit
        shares = ("app_s", "rwnd_s", "network_s")
        for name in shares:
            parts = [row[name] / sum(row[each] for each in (*shares, "handshake_s")) for row in (source, sink)]
            assert abs(parts[0] - parts[1]) <= 0.05, name
    source, sink = rows["flows.1.source", 1], rows["flows.1.sink", 1]
    assert sink["p50_rtt_s"] + sink["up_rtt_s"] == pytest.approx(source["p50_rtt_s"], rel=0.02)
