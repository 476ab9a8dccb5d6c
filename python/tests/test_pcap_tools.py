"""Captures of simulated runs in the hands of others: tshark and tcptrace find nothing wrong and count what we count.

Both have to be installed: ``apt-get install tshark tcptrace``.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import polars as pl
import pytest

import ackclock
import random_runs

SAMPLE = range(0, 3 * random_runs.TURNS, 7)
"""Scenarios that are looked at."""

_FIELDS = ("tcp.checksum.status", "udp.checksum.status", "ip.checksum.status", "_ws.malformed", "_ws.expert.group")
_BAD, _GOOD = "0", "1"
_MALFORMED, _CHECKSUM = "117440512", "16777216"
"""Groups of what Wireshark has to say (PI_MALFORMED, PI_CHECKSUM)."""


def said(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def tshark(file: Path, *arguments: str | Path) -> str:
    checksums = [part for name in ("ip", "tcp", "udp") for part in ("-o", f"{name}.check_checksum:TRUE")]
    return said("tshark", "-n", "-r", file, *checksums, *arguments)


@pytest.fixture(scope="module", params=SAMPLE)
def capture(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of a scenario."""
    file = tmp_path_factory.mktemp("tools") / "a.pcapng"
    ackclock.capture(random_runs.scenario(request.param), file)
    return file


def at(place: str, file: Path) -> Path:
    """What passed an interface, alone: two of them in a file look like everything sent twice."""
    own = file.with_name(f"{place}.pcapng")
    tshark(file, "-Y", f'frame.interface_name == "{place}"', "-w", own)
    return own


def test_tshark_finds_no_malformed_packet_and_no_bad_checksum(capture: Path) -> None:
    fields = [part for name in _FIELDS for part in ("-e", name)]
    rows = [row.split("\t") for row in tshark(capture, "-T", "fields", *fields).splitlines()]
    assert len(rows) > 5
    for tcp, udp, ip, malformed, groups in rows:
        assert _BAD not in (tcp, udp)
        assert ip == _GOOD
        assert malformed == ""
        assert not {_MALFORMED, _CHECKSUM} & set(groups.split(","))
    # Of a packet that is not whole only the checksum of its IP header can be known.
    assert sum(tcp == _GOOD for tcp, *_ in rows) > 2


def test_tshark_counts_the_same_retransmissions(capture: Path) -> None:
    """At the source all is seen in order: what Wireshark calls a retransmission, or out of order because it comes soon,
    is sent again. Without SYN and FIN, of which each has an opinion of its own."""
    result = ackclock.pcap(capture, events=True)
    again = result.events.filter(pl.col("kind").cast(pl.String).is_in(["retransmission", "partial"]))
    for name, number in result.captures.filter(pl.col("segments") > 0).select("name", "interface").iter_rows():
        if not name.endswith(".source"):
            continue
        here = result.flows.filter((pl.col("interface") == number) & pl.col("src").str.contains("[13579]$"))
        ours = again.filter(pl.col("id").is_in(here["id"].to_list())).height
        what = "tcp.len > 0 && (tcp.analysis.retransmission || tcp.analysis.out_of_order)"
        theirs = tshark(at(name, capture), "-Y", f"ip.src == {here['src'][0]} && {what}").splitlines()
        assert len(theirs) == ours, name


def test_tcptrace_finds_no_bad_checksum_and_the_same_bytes(capture: Path) -> None:
    result = ackclock.pcap(capture)
    for name, number in result.captures.filter(pl.col("segments") > 0).select("name", "interface").iter_rows():
        if not name.endswith(".source"):
            continue
        classic = capture.with_name("one.pcap")
        said("editcap", "-F", "pcap", at(name, capture), classic)
        text = said("tcptrace", "-n", "-l", "--checksum", classic)
        assert re.search(r"bad IP checksums:\s+0\b", text)
        assert re.search(r"bad TCP checksums:\s+0\b", text)
        own = result.flows.filter(pl.col("interface") == number)
        sent = sum(
            int(n)
            for pair in re.findall(r"actual data bytes:\s+(\d+)\s+actual data bytes:\s+(\d+)", text)
            for n in pair
        )
        assert sent == own["sent_bytes"].sum(), name
