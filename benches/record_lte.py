#!/usr/bin/env python3
"""Records what ns-3's LTE cell (LENA) does with known users and pages, for conformance/ns3/lte.

Users and pages are those that ackclock draws: it plays each run once over a channel so good that no page puts off the
next, and what it drew there goes to ns-3. Needs what record_peers.py needs, and ackclock; takes a quarter of an hour.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import ackclock
import peers
from peers import Peer, PeerError
from record_peers import write

FOLDER = Path(__file__).resolve().parent.parent / "conformance" / "ns3" / "lte"

HEIGHT_M = 28.5
"""Of the base station above the users. ns-3 takes the distance through the air, ackclock that over ground."""

TOPOLOGY: Mapping[str, Any] = {
    "kind": "lte_cell",
    "power": "30 dBm",
    "path_loss": "cost231_lena",
    "thresholds": "lena",
    "fit": False,
    "cqi": {"period": "1 ms"},
    "queue": "unlimited",
    # ns-3: whoever asks gets its share of the whole band, and a block takes a TTI longer.
    "uplink": {"power": "40 dBm", "sr_period": "0 s", "min_grant": 100, "delay": "2 ms"},
}

FLOW: Mapping[str, Any] = {
    "cc": "newreno",
    "profile": "ns3",
    "mss": "1400 B",
    "iw": 10,
    "min_rto": "1 s",
    "tcp": {"send_buffer": "6 MB", "receive_buffer": "6 MB"},
}

ATTRIBUTES: Mapping[str, Any] = {
    "TcpL4Protocol::SocketType": "TcpNewReno",
    "TcpSocket::SegmentSize": 1400,
    "TcpSocket::SndBufSize": 6_000_000,
    "TcpSocket::RcvBufSize": 6_000_000,
    "LteHelper::PathlossModel": "OkumuraHataPropagationLossModel",
    "LteEnbNetDevice::DlBandwidth, UlBandwidth": 100,
    "LteRlcUm::MaxTxBufferSize, LteRlcAm::MaxTxBufferSize": 1_000_000_000,
    "LteUePhy::TxPower, LteUePowerControl::Pcmax": 40,
    "PointToPointNetDevice::DataRate": "10 Gbit/s between server and PGW",
    "queue disc": "none between server and PGW",
}
"""What is not ns-3's default in every run; the rest is in `command`."""

DIFFERS = (
    "status reports of RLC AM each take a TTI of the downlink",
    "blocks whose control channel was not decoded are lost (unless control-errors is 0)",
    "users report their queues in every TTI, not with their blocks",
)


@dataclass(frozen=True)
class Web:
    """Users who load pages, as ackclock draws them."""

    users: int
    seed: int
    control_errors: bool = True
    rlc: str = "um"
    connections: int = 1
    rtt_ms: int = 10
    duration_s: int = 60

    @property
    def name(self) -> str:
        """Of its file."""
        parts = [f"web-{self.users}-{self.seed}", self.rlc]
        parts += [] if self.control_errors else ["decoded"]
        parts += [f"x{self.connections}"] if self.connections > 1 else []
        parts += [f"{self.rtt_ms}ms"] if self.rtt_ms != 10 else []
        return "-".join(parts)


RUNS = (
    *(Web(15, seed, errors) for seed in range(1, 7) for errors in (False, True)),
    *(Web(5, seed, errors) for seed in range(1, 4) for errors in (False, True)),
    *(Web(30, 1, errors, duration_s=30) for errors in (False, True)),
    *(Web(15, seed, False, rlc="am") for seed in range(1, 4)),
    Web(15, 1, rlc="am"),
    Web(15, 1, False, connections=4),
    Web(15, 1, False, rtt_ms=100),
)

DISTANCES = (20, 35, 50, 75, 100, 125, *range(150, 501, 10))
"""Of single users who are sent more than they can receive."""


def scenario(run: Web, places: Sequence[float] = ()) -> dict[str, Any]:
    """The nearest here, with drawn places or with those given."""
    topology = {**TOPOLOGY, "users": run.users, "rtt": f"{run.rtt_ms} ms", "rlc": run.rlc}
    if places:
        topology["places"] = [{"distance": f"{math.hypot(place, HEIGHT_M):.6f} m"} for place in places]
    app = {"kind": "web", "connections": run.connections}
    return {
        "topology": topology,
        "flows": [{**FLOW, "app": app}],
        "run": {"duration": f"{run.duration_s} s", "replications": 1, "seed": run.seed},
    }


def drawn(run: Web) -> tuple[list[float], list[str]]:
    """Where users are, m over ground, and their pages as lines for ns-3."""
    easy = {
        "topology.power": "60 dBm",
        "app.connections": 8,
        "app.objects_table": True,
        "run.duration": f"{run.duration_s + 15} s",
    }
    result = ackclock.run(scenario(run), set=easy, jobs=1)
    if result.pages["deferred"].any():
        raise PeerError(f"{run.name}: a page was put off, so that it cannot be seen when it was due")
    places = [round(place, 3) for place in result.users.sort("user")["distance_m"]]
    objects = result.objects.sort("object").group_by("id", "page", maintain_order=True).agg("bytes")
    table = result.pages.select("id", "page", "start_s").join(objects, on=["id", "page"])
    table = table.with_columns(pl.col("id").cast(pl.Int64)).sort("id", "page")
    lines, before = [], (-1, 0.0)
    for user, _, start, sizes in table.iter_rows():
        gap = start - before[1] if before[0] == user else start
        before = (user, start)
        lines.append(",".join([str(user), f"{gap:.6f}", *map(str, sizes)]))
    return places, lines


def record(peer: Peer, run: Web, folder: Path) -> dict[str, Any]:
    """Plays a run in ns-3; its pages are kept beside it."""
    places, lines = drawn(run)
    pages = folder / f"pages-{run.users}-{run.seed}.csv"
    pages.write_text("# user, gap in s, main object, embedded objects in bytes\n" + "\n".join(lines) + "\n")
    options = [
        f"--duration={run.duration_s}",
        f"--rtt-ms={run.rtt_ms}",
        f"--rlc={run.rlc}",
        f"--connections={run.connections}",
        f"--control-errors={int(run.control_errors)}",
        f"--distances={','.join(f'{place:g}' for place in places)}",
    ]
    found, _ = peer.run(*options, f"--pages={pages}")
    for key in ("program", "version", "duration_s", "cpu_run_s", "peak_rss_kb"):
        found.pop(key, None)
    users, loads = found.pop("users"), found.pop("pages")
    return {
        "program": peer.name,
        "version": peer.version,
        "command": ["lte", *options, f"--pages={pages.name}"],
        "attributes": ATTRIBUTES,
        "ackclock": scenario(run, places),
        "ackclock_cannot_express": list(DIFFERS),
        "summary": found,
        "users": users,
        "page_columns": ["user", "page", "start_s", "connected_s", "first_byte_s", "main_done_s", "end_s"],
        "pages": loads,
    }


def saturated(peer: Peer) -> Iterator[dict[str, Any]]:
    """One user at a time that is sent more than it can receive, with and without errors of the control channels."""
    for distance in DISTANCES:
        for errors in (0, 1):
            options = (f"--distances={distance}", "--saturate=1", "--duration=2", f"--control-errors={errors}")
            user = peer.run(*options)[0]["users"][0]
            yield row("alone", errors, user)
    for user in peer.run("--distances=100,400", "--saturate=1", "--duration=5", "--control-errors=0")[0]["users"]:
        yield row("two", 0, user)


def row(what: str, errors: int, user: Mapping[str, Any]) -> dict[str, Any]:
    """One line of the table: what a user got."""
    mcs = max(user["mcs"], key=lambda mcs: user["mcs"][mcs])
    return {
        "what": what,
        "control_errors": errors,
        "distance_m": user["distance_m"],
        "sinr_db": round(user["sinr_db"], 4),
        "mcs": mcs,
        "blocks": user["blocks"],
        "blocks_received": user["blocks_received"],
        "block_bytes": user["block_bytes"],
        "rbs": user["rbs"],
        "goodput_bps": round(user["goodput_bps"]),
    }


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """As CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def switching() -> str:
    """Where ns-3 begins to report each CQI, as a table."""
    peer = peers.ns3("amc")
    if peer is None:
        raise PeerError("ns-3 is not installed")
    return subprocess.run(peer.command, capture_output=True, text=True, check=True).stdout


def main() -> int:
    """Records everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--only", default="", help="runs whose name begins so; or: saturated, switching")
    options = parser.parse_args()
    peer = peers.ns3("lte")
    if peer is None:
        raise PeerError("ns-3 is not installed")
    options.out.mkdir(parents=True, exist_ok=True)
    if "saturated".startswith(options.only):
        write_table(options.out / "saturated.csv", list(saturated(peer)))
    if "switching".startswith(options.only):
        (options.out / "switching.csv").write_text(switching(), encoding="utf-8")
    for run in RUNS:
        if run.name.startswith(options.only):
            document = record(peer, run, options.out)
            write(options.out / f"{run.name}.json", document)
            print(run.name, json.dumps(document["summary"]), flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PeerError as error:
        sys.exit(f"record_lte: {error}")
