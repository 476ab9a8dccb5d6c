"""Options of endpoints take effect on a kernel: of each two values are played, and what tells them apart is looked at.

Runs in virtual time (make test-kernel-vt), so that a lost packet, a timer and a counter are the same each time. What is
looked at is what packets, counters of the hosts and TCP_INFO say, not what was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock.errors import AckclockError
from ackclock.results.result import Result
from shared import ROOT
from virtual_kernels import able as able  # a fixture of the module

SEGMENT = 1448
Table = dict[str, Any]


@dataclass(frozen=True)
class Seen:
    """What a run of one flow has shown."""

    flow: Table
    links: dict[str, Table]
    series: pl.DataFrame
    entered: int
    """Packets that entered the path."""

    def values(self, metric: str, begin: float = 0.0, end: float = 100.0) -> list[float]:
        """A series from `begin` to `end`, seconds."""
        kept = (pl.col("metric").cast(pl.String) == metric) & pl.col("time_s").is_between(begin, end)
        return self.series.filter(kept)["value"].to_list()

    def sack_bytes(self) -> int:
        """What acknowledgments had on the wire besides headers and timestamps; the first answers the SYN."""
        back = self.links["reverse"]
        return int(back["sent_bytes"] - 52 * (back["sent_packets"] - 1) - 60)

    def header(self) -> float:
        """Bytes of a packet on the way out that are not payload."""
        out = self.links["bottleneck"]
        return (out["sent_bytes"] - self.flow["sent_bytes"]) / out["sent_packets"]

    def repairs(self) -> tuple[int, int, int]:
        """Fast recoveries, probes of the tail and timeouts."""
        return self.flow["recoveries"], self.flow["tlp_probes"], self.flow["timeouts"]


@dataclass(frozen=True)
class Effect:
    """Two values of an option, and what is seen with each of them."""

    values: tuple[Any, Any]
    look: Callable[[Seen], Any]
    expected: tuple[Any, Any]
    flow: Table = field(default_factory=dict)
    tcp: Table = field(default_factory=dict)
    path: Table = field(default_factory=dict)
    duration: str = "2 s"
    probes: tuple[str, ...] = ()


PATH: Table = {
    "kind": "dumbbell",
    "rate": "10 Mbit/s",
    "rtt": "40 ms",
    "queue": {"kind": "droptail", "limit": "100 packets"},
}
DEEP: Table = {"queue": "1000 packets"}
TWENTY: Table = {"bytes": "28960 B"}
"""Twenty full segments: ten in the first window, ten in the second."""
FILE: Table = {"bytes": "200 kB"}


def lost(*segments: int) -> Table:
    return {"loss": {"drops": [{"flow": "0", "nth": number} for number in segments]}}


def delayed(begin: str, end: str, delay: str) -> Table:
    """One way takes so long for a while, and 20 ms otherwise."""
    return DEEP | {"events": [{"at": begin, "delay": delay}, {"at": end, "delay": "20 ms"}]}


def silent(begin: str) -> Table:
    """Nothing passes any more."""
    return {"events": [{"at": begin, "rate": "off"}, {"at": "39 s", "rate": "10 Mbit/s"}]}


EFFECTS: dict[str, Effect] = {
    "sack": Effect((True, False), lambda s: s.sack_bytes() > 0, (True, False), FILE, path=lost(20, 22, 24, 26)),
    "recovery": Effect(
        ("prr", "newreno"), lambda s: s.sack_bytes() > 0, (True, False), FILE, path=lost(20, 22, 24, 26)
    ),
    "timestamps": Effect((True, False), lambda s: round(s.header()), (52, 40), FILE),
    # Data is late by half a second. The acknowledgments of what was late say so, and nothing else is sent again.
    "frto": Effect(
        (True, False),
        lambda s: (s.flow["spurious_timeouts"], s.flow["retransmitted_segments"] > 100),
        ((1, False), (0, True)),
        tcp={"timestamps": False},
        path=delayed("250 ms", "500 ms", "500 ms"),
    ),
    "tlp": Effect((True, False), Seen.repairs, ((0, 1, 0), (0, 0, 1)), TWENTY, path=lost(20)),
    # One duplicate acknowledgment: a time is enough for RACK, and three would be needed otherwise.
    "loss_detection": Effect(
        ("rack", "dupack"), Seen.repairs, ((1, 0, 0), (0, 0, 1)), TWENTY, {"tlp": False}, lost(19)
    ),
    "dupthresh": Effect(
        (3, 30), Seen.repairs, ((1, 0, 0), (0, 0, 1)), TWENTY, {"tlp": False, "loss_detection": "dupack"}, lost(10)
    ),
    # The last segment is lost: everything is there a timeout and half a round trip after the acknowledgment before it.
    "min_rto": Effect(
        ("200 ms", "700 ms"),
        lambda s: s.flow["end_s"],
        (pytest.approx(0.40, abs=0.04), pytest.approx(0.90, abs=0.04)),
        TWENTY,
        {"tlp": False},
        lost(20),
    ),
    # Linux halves the window for every timeout of silence.
    "idle": Effect(
        ("rfc5681", "none"),
        lambda s: min(s.values("cwnd", 1.5)) / max(s.values("cwnd", 0.0, 1.49)),
        (0.5, 1.0),
        {"active": [{"begin": "0 s", "end": "600 ms"}, {"begin": "1500 ms"}]},
        {"notsent_lowat": "16 kB"},
        DEEP,
        "1700 ms",
        ("cwnd",),
    ),
    "nagle": Effect(
        (False, True),
        lambda s: round(s.flow["sent_bytes"] / s.flow["sent_segments"], -2),
        (300, 1100),
        {"app": {"kind": "cbr", "transport": "tcp", "rate": "240 kbit/s", "packet": "300 B"}},
    ),
    # What the socket holds is sent after the end of the source: a buffer of 16 MiB, or little.
    "notsent_lowat": Effect(
        ("0 B", "16 kB"),
        lambda s: s.values("sent")[-1] - max(s.values("sent", 0, 0.5)) < 16_000 + SEGMENT,
        (False, True),
        {"stop": "500 ms"},
        path={"rate": "2 Mbit/s"},
        probes=("sent",),
    ),
    # 14 segments, or 10 of single writes and what comes together behind them.
    "write_bytes": Effect(("128 KiB", "500 B"), lambda s: s.flow["sent_segments"], (14, 21), {"bytes": "20 kB"}),
    "send_buffer": Effect(
        ("16 MiB", "32 kB"), lambda s: max(s.values("unacked")) <= 32_000, (False, True), probes=("unacked",)
    ),
    "receive_buffer": Effect(
        ("1 MB", "64 kB"), lambda s: max(s.values("unacked")) <= 64_000, (False, True), probes=("unacked",)
    ),
    "iw": Effect(
        (10, 4), lambda s: max(s.values("unacked", 0, 0.075)), (10 * SEGMENT, 4 * SEGMENT), FILE, probes=("unacked",)
    ),
    "syn_retries": Effect(
        (1, 2), lambda s: s.entered, (2, 3), tcp={"syn_linear_timeouts": 0}, path=silent("0 s"), duration="10 s"
    ),
    "syn_linear_timeouts": Effect(
        (0, 2), lambda s: s.entered, (3, 5), tcp={"syn_retries": 2}, path=silent("0 s"), duration="10 s"
    ),
    # The last timeout ends the connection instead of sending again. What was counted until then stays.
    "data_retries": Effect(
        (2, 3),
        lambda s: (s.flow["timeouts"], s.flow["failed"], s.flow["sent_bytes"] > 4e5, s.flow["goodput_bytes"] > 2e5),
        tuple((count, "the same segment timed out too often", True, True) for count in (3, 4)),
        path=silent("300 ms"),
        duration="6 s",
    ),
    "ecn": Effect(
        ("off", "classic"),
        lambda s: (s.links["bottleneck"]["marks"] > 0, s.flow["marked_segments"] > 0),
        ((False, False), (True, True)),
        path={"queue": {"kind": "codel", "limit": "1000 packets", "ecn": True}},
    ),
    "delayed_ack": Effect(
        (1, 2),
        lambda s: s.flow["acks"] / s.flow["received_packets"] > 0.95,
        (True, False),
        {"bytes": "3 MB"},
        path={"queue": "1 BDP"},
        duration="4 s",
    ),
    # Behind a loss a thousand segments arrive out of order, eight in a millisecond: acknowledged each, or together.
    "ack_compression": Effect(
        (True, False),
        lambda s: s.flow["acks"] / s.flow["sent_segments"] > 0.7,
        (False, True),
        {"bytes": "3 MB"},
        path={"queue": "3000 packets", "rate": "100 Mbit/s"} | lost(1000),
        duration="1 s",
    ),
    "min_rtt_window": Effect(
        ("300 s", "1 s"),
        lambda s: s.values("min_rtt")[-1] > 0.06,
        (False, True),
        {"app": {"kind": "cbr", "transport": "tcp", "rate": "1 Mbit/s", "packet": "1000 B"}},
        path={"events": [{"at": "500 ms", "delay": "50 ms"}]},
        probes=("min_rtt",),
    ),
    # The bursts of slow start meet in the queue, or are spread over the round trip.
    "pacing": Effect(
        ("controller", "window"),
        lambda s: max(s.values("queue")) < 20,
        (False, True),
        FILE,
        path=DEEP | {"rate": "100 Mbit/s"},
        probes=("queue",),
    ),
}


def seen(result: Result, run: int) -> Seen:
    own = pl.col("run") == run
    (flow,) = result.flows.filter(own).iter_rows(named=True)
    links = {row["id"]: row for row in result.links.filter(own).iter_rows(named=True)}
    packets = result.manifest["runs"][run]["emulation"]["packets"]
    return Seen(flow, links, result.series.filter(own) if result.series.width else result.series, packets[0])


def document(effect: Effect, tcp: Table) -> Table:
    return {
        "topology": PATH | effect.path,
        "flows": [{"cc": "reno", "tcp": effect.tcp | tcp} | effect.flow],
        "probes": {name: "on change" if name == "queue" else "10 ms" for name in effect.probes},
        "run": {"duration": effect.duration, "engine": "kernel-vt"},
    }


@pytest.mark.parametrize("option", EFFECTS)
def test_an_option_takes_effect(option: str) -> None:
    effect = EFFECTS[option]
    result = ackclock.run(document(effect, {option: list(effect.values)}), jobs=1)
    looks = [effect.look(seen(result, run)) for run in (0, 1)]
    assert looks == list(effect.expected)


REFUSED = {
    "max_rto": ({"max_rto": "60 s"}, r"tcp\.max_rto: this kernel \(6\.12.*\) has no net\.ipv4\.tcp_rto_max_ms for it"),
    # Segments have the scenario's size, so that a device decides on nothing but this.
    "mtu": ({"mtu": "1499 B"}, r"mss: a full segment is a packet of 1500 bytes, above the MTU of 1499"),
}


@pytest.mark.parametrize("option", REFUSED)
def test_what_cannot_be_is_refused(option: str) -> None:
    tcp, said = REFUSED[option]
    with pytest.raises(AckclockError, match=said):
        ackclock.run(document(Effect((None, None), bool, (None, None)), tcp))


def test_a_send_buffer_holds_back_a_kernel_and_not_a_simulated_sender() -> None:
    path = PATH | {"rate": "20 Mbit/s", "queue": "1 BDP"}
    flow = {"cc": "reno", "tcp": {"send_buffer": ["64 kB", "256 kB"]}}
    run = {"duration": "4 s", "engine": ["sim", "kernel-vt"]}
    flows = ackclock.run({"topology": path, "flows": [flow], "run": run}, jobs=1).flows
    found = [round(rate / 1e6, 1) for rate in flows["goodput_bps"]]
    assert found == [18.6, 6.1, 18.6, 18.6], "as docs/engines.md has it"


def test_an_mtu_above_all_segments_changes_nothing() -> None:
    result = ackclock.run(document(Effect((None, None), bool, (None, None)), {"mtu": ["0 B", "9000 B"]}), jobs=1)
    flows = result.flows.drop("run", "tcp.mtu", "tcp.mtu_bytes")
    assert flows.row(0) == flows.row(1)


def test_every_option_that_is_said_to_be_set_is_here() -> None:
    page = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    table = page.partition("| option | how |\n|---|---|\n")[2].partition("\n\n")[0]
    named = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == {*EFFECTS, *REFUSED}
