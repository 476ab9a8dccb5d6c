#!/usr/bin/env python3
"""Records what ns-3 and ns-2 do on the agreement scenarios, for conformance/ns3 and conformance/ns2.

Needs Debian's ns2 and libns3-dev (with g++, make, pkg-config). Both simulators are deterministic: the same
version writes the same bytes again.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import peers
from peers import Dumbbell, Peer, PeerError

STEP_S = 0.1
"""Spacing of the recorded series."""

SCENARIOS = {
    "s1": Dumbbell(rate_bps=10_000_000, rtt_ms=40, queue_packets=33, duration_s=60),
    "s2": Dumbbell(rate_bps=20_000_000, rtt_ms=100, queue_packets=33, duration_s=60),
    "s3": Dumbbell(rate_bps=100_000_000, rtt_ms=40, queue_packets=99, duration_s=30),
    "s4": Dumbbell(rate_bps=10_000_000, rtt_ms=40, queue_packets=33, duration_s=90, flows=2, starts_s=(0, 20)),
    "s5": Dumbbell(
        rate_bps=20_000_000,
        rtt_ms=40,
        queue_packets=10_000,
        duration_s=30,
        drops=(200, 1500, 1501, 4000, 4003, 4006, 4010, *range(9000, 9010), 20_000),
    ),
}


@dataclass(frozen=True)
class Variant:
    """One configuration of a peer: options, what they set in its own terms, and ackclock's nearest flow."""

    options: tuple[str, ...]
    attributes: dict[str, Any]
    nearest: dict[str, Any]
    differs: tuple[str, ...] = field(default=())
    """What `nearest` cannot express."""


def ns3_attributes(cc: str) -> dict[str, Any]:
    """Every attribute that differs from ns-3's default."""
    return {
        "TcpL4Protocol::SocketType": cc,
        "TcpSocket::SegmentSize": 1448,
        "TcpSocket::SndBufSize": 2**30 - 1,
        "TcpSocket::RcvBufSize": 2**30 - 1,
        "PointToPointNetDevice::InterframeGap": "12 bytes at the device's rate",
        "PointToPointHelper::DisableFlowControl": True,
        "DropTailQueue::MaxSize": "the scenario's queue less the packet in transmission",
        "queue disc": "none",
    }


NS3_FLOW = {"profile": "ns3", "mss": "1448 B", "iw": 10, "delayed_ack": 2, "min_rto": "1 s"}
NS3_TCP = {"delayed_ack_timeout": "200 ms"}
NS3_DIFFERS = (
    "the SYN is 70 bytes on the wire (no MSS option)",
    "RTTs are measured in whole milliseconds",
    "on a partial acknowledgment ns-3 sends the next segment again, even if its retransmission is under way",
)

NS3 = {
    "newreno": Variant(
        ("--cc=newreno", "--min-rto-ms=1000"),
        ns3_attributes("TcpNewReno"),
        NS3_FLOW | {"cc": {"name": "newreno"}, "recovery": "prr", "tcp": NS3_TCP},
        NS3_DIFFERS,
    ),
    "linuxreno": Variant(
        ("--cc=linuxreno", "--min-rto-ms=1000"),
        ns3_attributes("TcpLinuxReno"),
        NS3_FLOW
        | {
            "cc": {"name": "reno", "counting": "bytes", "base": "cwnd"},
            "slow_start": {"kind": "standard", "abc_limit": 0},
            "recovery": "prr",
            "tcp": NS3_TCP,
        },
        (*NS3_DIFFERS, "at the end of a recovery the window grows by what was SACKed during it"),
    ),
}


def ns2_attributes(sender: str, sink: str) -> dict[str, Any]:
    """Every variable that differs from ns-2's default."""
    return {
        "sender": sender,
        "receiver": sink,
        "packetSize_": 1448,
        "tcpip_base_hdr_size_": 54,
        "ts_option_size_": 12,
        "timestamps_": True,
        "window_": 10_000_000,
        "windowInit_": 10,
        "TCPSink packetSize_": 66,
        "DelAck interval_": "200 ms",
        "Queue/DropTail limit_": "the scenario's queue (ns-2 holds one less, and the packet in transmission)",
    }


NS2_FLOW = {"profile": "ns2", "mss": "1448 B", "iw": 10, "delayed_ack": 2, "min_rto": "200 ms"}
NS2_TCP = {
    "timestamps": True,
    "count_options": False,
    "header_bytes": "52 B",
    "delayed_ack_timeout": "200 ms",
    "clock_granularity": "10 ms",
}
NS2_DIFFERS = ("the handshake has no third segment: the first data follows the SYN/ACK directly",)


def ns2_variant(cc: str, sender: str, sink: str, controller: str, recovery: str) -> Variant:
    """One of ns-2's own TCP agents."""
    return Variant(
        (f"--cc={cc}", "--min-rto-ms=200"),
        ns2_attributes(sender, sink),
        NS2_FLOW | {"cc": {"name": controller}, "recovery": recovery, "tcp": NS2_TCP},
        NS2_DIFFERS,
    )


NS2 = {
    "sack1": ns2_variant("sack1", "Agent/TCP/Sack1", "Agent/TCPSink/Sack1/DelAck", "newreno", "sack"),
    "newreno": ns2_variant("newreno", "Agent/TCP/Newreno", "Agent/TCPSink/DelAck", "newreno", "newreno"),
    "reno": ns2_variant("reno", "Agent/TCP/Reno", "Agent/TCPSink/DelAck", "reno", "reno"),
    "tahoe": ns2_variant("tahoe", "Agent/TCP", "Agent/TCPSink/DelAck", "tahoe", "tahoe"),
}


@dataclass(frozen=True)
class Row:
    """One line of a peer's series file."""

    time: float
    flow: str
    what: str
    value: float


def read_rows(path: Path) -> list[Row]:
    """All rows, in order of time; rows of one instant stay as the peer wrote them."""
    with path.open(newline="") as file:
        rows = [Row(float(time), flow, what, float(value)) for time, flow, what, value in list(csv.reader(file))[1:]]
    return sorted(rows, key=lambda row: row.time)


def steps(rows: Iterable[Row], flow: str, what: str) -> list[tuple[float, float]]:
    """The changes of one quantity."""
    return [(row.time, row.value) for row in rows if row.flow == flow and row.what == what]


def sampled(changes: list[tuple[float, float]], duration: float) -> list[float | None]:
    """The value that held at 0, STEP_S, 2 STEP_S, ...; None before the first change."""
    values: list[float | None] = []
    position, current = 0, None
    for index in range(round(duration / STEP_S) + 1):
        while position < len(changes) and changes[position][0] <= index * STEP_S + 1e-9:
            current = round(changes[position][1], 2)
            position += 1
        values.append(current)
    return values


def time_mean(changes: list[tuple[float, float]], start: float, end: float) -> float:
    """Mean over [start, end] of a quantity that holds between its changes; nothing counts before the first."""
    points = [(max(time, start), value) for time, value in changes if time < end]
    following = [time for time, _ in points[1:]] + [end]
    total = sum(value * (after - time) for (time, value), after in zip(points, following, strict=True))
    return total / (end - points[0][0]) if points else 0.0


def last_before(changes: list[tuple[float, float]], time: float) -> float | None:
    """The value just before `time`."""
    earlier = [value for at, value in changes if at < time]
    return round(earlier[-1], 3) if earlier else None


def at_time(changes: list[tuple[float, float]], time: float) -> float | None:
    """The last value set at `time` itself, or else the one that held."""
    here = [value for at, value in changes if at == time]
    return round(here[-1], 3) if here else last_before(changes, time)


def ns3_reductions(rows: list[Row], flow: str) -> Iterator[tuple[float, str, float | None]]:
    """Time, kind and end of every entry into recovery or loss state (4 is loss, 3 recovery, 0 and 1 neither)."""
    states = steps(rows, flow, "state")
    for index, (time, state) in enumerate(states):
        if state in (3, 4):
            end = next((at for at, later in states[index + 1 :] if later in (0, 1)), None)
            yield time, "timeout" if state == 4 else "fast", end


def ns2_reductions(rows: list[Row], flow: str) -> Iterator[tuple[float, str, None]]:
    """Time and kind of every window cut; ns-2 does not say when a recovery ends."""
    timeouts = {time for time, count in steps(rows, flow, "timeout") if count > 0}
    for time, count in steps(rows, flow, "cut"):
        if count > 0:
            yield time, "timeout" if time in timeouts else "fast", None


def epochs(peer: str, rows: list[Row], flow: str) -> list[list[Any]]:
    """[time, kind, cwnd before, ssthresh after, end of recovery] of every reduction."""
    cwnd, ssthresh = steps(rows, flow, "cwnd"), steps(rows, flow, "ssthresh")
    found = ns3_reductions(rows, flow) if peer == "ns-3" else ns2_reductions(rows, flow)
    return [[time, kind, last_before(cwnd, time), at_time(ssthresh, time), end] for time, kind, end in found]


def record(peer: Peer, name: str, path: Dumbbell, variant: Variant) -> dict[str, Any]:
    """Runs one scenario and keeps what a test needs of it."""
    with tempfile.TemporaryDirectory() as folder:
        series = Path(folder) / "series.csv"
        arguments = [*path.arguments(), *variant.options]
        summary, _ = peer.run(*arguments, f"--series={series}")
        rows = read_rows(series)
    for key in ("program", "version", "duration_s", "cpu_run_s", "peak_rss_kb", "mean_srtt_s"):
        summary.pop(key, None)
    names = [str(index) for index in range(path.flows)]
    starts = [path.starts_s[min(index, len(path.starts_s) - 1)] for index in range(path.flows)]
    summary["mean_cwnd_segments"] = [
        round(time_mean(steps(rows, flow, "cwnd"), start, path.duration_s), 4)
        for flow, start in zip(names, starts, strict=True)
    ]
    return {
        "scenario": name,
        "program": peer.name,
        "version": peer.version,
        "command": [Path(peer.command[-1]).name, *arguments],
        "attributes": variant.attributes,
        "ackclock": nearest_scenario(path, starts, variant),
        "ackclock_cannot_express": list(variant.differs),
        "summary": summary,
        "epoch_columns": ["time_s", "kind", "cwnd_before", "ssthresh_after", "recovery_end_s"],
        "epochs": {flow: epochs(peer.name, rows, flow) for flow in names},
        "series": {
            "t0": 0,
            "dt": STEP_S,
            "cwnd": {flow: sampled(steps(rows, flow, "cwnd"), path.duration_s) for flow in names},
            "queue_waiting": sampled(steps(rows, "link", "queue"), path.duration_s),
        },
    }


def nearest_scenario(path: Dumbbell, starts: list[float], variant: Variant) -> dict[str, Any]:
    """The scenario file, as a table, that comes nearest to the run."""
    topology: dict[str, Any] = {
        "kind": "dumbbell",
        "rate": f"{path.rate_bps // 10**6} Mbit/s",
        "rtt": f"{path.rtt_ms:g} ms",
        "queue": {"kind": "droptail", "limit": f"{path.queue_packets} packets", "limit_includes_service": True},
        "link_overhead": f"{path.overhead} B",
        "reverse": {"rate": "unlimited"},
    }
    if path.drops:
        topology["loss"] = {"drops": [{"flow": "0", "nth": nth} for nth in path.drops]}
    return {
        "topology": topology,
        "flows": [variant.nearest | {"start": f"{start:g} s"} for start in starts],
        "run": {"duration": f"{path.duration_s:g} s"},
    }


def write(path: Path, document: dict[str, Any]) -> None:
    """One key per line, long lists on one line."""
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in document.items())
    path.write_text("{\n" + lines + "\n}\n")


SUMMARY_COLUMNS: tuple[tuple[str, Callable[[dict[str, Any]], str]], ...] = (
    ("goodput Mbit/s", lambda document: "+".join(f"{rate / 1e6:.3f}" for rate in document["summary"]["goodput_bps"])),
    ("retransmitted", lambda document: "+".join(map(str, document["summary"]["retransmitted"]))),
    ("queue drops", lambda document: str(document["summary"]["drops"])),
    ("reductions", lambda document: "+".join(str(len(found)) for found in document["epochs"].values())),
    ("timeouts", lambda document: "+".join(map(str, document["summary"]["timeouts"]))),
    ("mean queue", lambda document: f"{document['summary']['mean_queue_waiting']:.2f}"),
    ("mean cwnd", lambda document: "+".join(f"{mean:.1f}" for mean in document["summary"]["mean_cwnd_segments"])),
    ("utilisation", lambda document: f"{document['summary']['utilisation']:.4f}"),
)


def summary_table(documents: dict[str, dict[str, Any]]) -> str:
    """The table of a README, in Markdown."""
    heading = "| run | " + " | ".join(name for name, _ in SUMMARY_COLUMNS) + " |"
    lines = [heading, "|---" * (len(SUMMARY_COLUMNS) + 1) + "|"]
    for name, document in documents.items():
        lines.append(f"| {name} | " + " | ".join(show(document) for _, show in SUMMARY_COLUMNS) + " |")
    return "\n".join(lines)


def main() -> int:
    """Records everything and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent.parent / "conformance")
    parser.add_argument("--only", choices=("ns3", "ns2"), help="one peer instead of both")
    options = parser.parse_args()
    for folder, find, variants in (("ns3", peers.ns3, NS3), ("ns2", peers.ns2, NS2)):
        if options.only not in (None, folder):
            continue
        peer = find()
        if peer is None:
            raise PeerError(f"{folder} is not installed")
        documents = {}
        for name, path in SCENARIOS.items():
            for variant_name, variant in variants.items():
                documents[f"{name}-{variant_name}"] = record(peer, name, path, variant)
        (options.out / folder).mkdir(parents=True, exist_ok=True)
        for stem, document in documents.items():
            write(options.out / folder / f"{stem}.json", document)
        print(f"{peer.name} {peer.version}\n\n{summary_table(documents)}\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PeerError as error:
        sys.exit(f"record_peers: {error}")
