#!/usr/bin/env python3
"""Records what ns-3 does on the paths of the recorded Linux kernel, for conformance/ns3/linux-paths.csv.

Which of ns-3 and ackclock is closer to Linux is part of docs/validation.md. Paths that the program cannot express
(random loss, flows with different round trips) are left out. Needs what record_peers.py needs, takes four minutes.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import peers
from peers import Dumbbell, Peer, PeerError

ROOT = Path(__file__).resolve().parent.parent

CLASSES: Mapping[str, str] = {
    "reno": "TcpLinuxReno",
    "cubic": "TcpCubic",
    "highspeed": "TcpHighSpeed",
    "scalable": "TcpScalable",
    "bic": "TcpBic",
    "htcp": "TcpHtcp",
    "vegas": "TcpVegas",
    "veno": "TcpVeno",
    "westwood": "TcpWestwood",
    "illinois": "TcpIllinois",
    "hybla": "TcpHybla",
    "yeah": "TcpYeah",
    "bbr": "TcpBbr",
}
"""Linux's module and ns-3's class."""

OPTIONS = ("--min-rto-ms=1000", "--ns3::TcpWestwood::ProtocolType=WestwoodPlus")
"""ns-3's own minimum of the timeout, and the form of Westwood that Linux has."""

HANDSHAKE = 2
"""The kernel's periodic loss counts SYN and the handshake's ACK as packets 1 and 2; ns-3's list counts data packets."""

COLUMNS = (
    "scenario",
    "cc",
    "flow",
    "class",
    "goodput_bps",
    "retransmissions",
    "mean_rtt_ms",
    "mean_cwnd",
    "epochs",
    "mean_queue",
)


def dumbbell(run: Mapping[str, Any]) -> Dumbbell | None:
    """The path of a kernel record; None where there is no counterpart."""
    path, flows = run["scenario"], run["flows"]
    if path.get("loss") or len({flow["ack_delay_ms"] for flow in flows}) > 1:
        return None
    every, packets = path.get("drop_every"), path["rate_bps"] * path["duration"] / (8 * path["frame_bytes"])
    drops = tuple(range(every - HANDSHAKE, round(packets), every)) if every else ()
    return Dumbbell(
        rate_bps=round(path["rate_bps"]),
        rtt_ms=path["fwd_delay_ms"] + flows[0]["ack_delay_ms"],
        queue_packets=path["queue_pkts"],
        duration_s=path["duration"],
        flows=len(flows),
        starts_s=tuple(flow["start"] for flow in flows),
        drops=drops,
    )


def rows(peer: Peer, name: str) -> Iterator[tuple[Any, ...]]:
    """One row per flow of a record."""
    with gzip.open(ROOT / "conformance" / "kernel" / name, "rt", encoding="utf-8") as file:
        run = json.load(file)
    path = dumbbell(run)
    if path is None:
        return
    scenario, _, module = name.removesuffix(".json.gz").partition("_")
    classes = [CLASSES[flow["cc"]] for flow in run["flows"]]
    try:
        found, _ = peer.run(*path.arguments(), f"--cc={','.join(classes)}", *OPTIONS)
    except PeerError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return
    for flow, kind in enumerate(classes):
        yield (
            scenario,
            module,
            flow,
            kind,
            round(found["goodput_bps"][flow]),
            int(found["retransmitted"][flow]),
            round(found["mean_srtt_s"][flow] * 1e3, 3),
            round(found["mean_cwnd_segments"][flow], 2),
            int(found["recoveries"][flow] + found["timeouts"][flow]),
            round(found["mean_queue_with_service"], 3),
        )


def main() -> int:
    """Records all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "conformance" / "ns3" / "linux-paths.csv")
    parser.add_argument("--only", help="one scenario; the rows of the others stay")
    options = parser.parse_args()
    out: Path = options.out
    peer = peers.ns3()
    if peer is None:
        raise PeerError("ns-3 is not installed")
    records = (path.name for path in (ROOT / "conformance" / "kernel").glob(f"{options.only or '*'}_*.json.gz"))
    found = [row for name in records for row in rows(peer, name)]
    if options.only:
        with out.open(newline="", encoding="utf-8") as file:
            found += [tuple(row) for row in list(csv.reader(file))[1:] if row[0] != options.only]
    found.sort(key=lambda row: (row[0], row[1], int(row[2])))
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(found)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PeerError as error:
        sys.exit(f"record_ns3_linux: {error}")
