#!/usr/bin/env python3
"""Records what the queue disciplines of ns-3 and ns-2 do: conformance/ns3/queue*.csv, conformance/ns2/queues-tcp.csv.

`queues.csv` and `queue-events.csv` (ns-3) are arrivals computed by a formula, offered to a queue disc by itself.
`queues-tcp.csv` is TCP flows through a bottleneck: with ns-3 through each discipline, with ns-2 through RED. Needs what
record_peers.py needs, takes five minutes.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import peers
from peers import Dumbbell, Peer, PeerError

CONFORMANCE = Path(__file__).resolve().parent.parent / "conformance"

STEPS_MS = (100, 137, 173, 211)
"""Time between the starts of two flows, one run for each; also the number of the run that draws."""

VARIANTS = ("newreno", "linuxreno")

DISCS: Mapping[str, str] = {
    "droptail": "FifoQueueDisc,MaxSize=100p",
    "codel": "CoDelQueueDisc,MaxSize=1000p",
    "fq_codel": "FqCoDelQueueDisc,UseEcn=false",
    "red": "RedQueueDisc,MaxSize=100p,Ns1Compat=true",
    "pie": "PieQueueDisc,MaxSize=1000p",
}

REDS: Mapping[str, str] = {
    "red": "gentle_=true",
    "red not gentle": "gentle_=false",
    "red no wait": "wait_=false",
    "red adaptive": "gentle_=false,adaptive_=1,bottom_=0.01",
}
"""ns-2's RED; the rest of its settings is in the program."""

COLUMNS = (
    "path",
    "cc",
    "queue",
    "step_ms",
    "utilisation",
    "drops",
    "mean_wait_s",
    "p95_wait_s",
    "retransmitted",
    "jain",
)


PATHS: Mapping[str, Dumbbell] = {
    "ten": Dumbbell(rate_bps=10_000_000, rtt_ms=40, queue_packets=101, duration_s=60, flows=10),
    "four": Dumbbell(rate_bps=20_000_000, rtt_ms=60, queue_packets=101, duration_s=60, flows=4),
}
"""Ten flows with windows of a few segments; four with some twenty."""


def jain(rates: list[float]) -> float:
    """Jain's index."""
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


def row(path: str, cc: str, queue: str, step_ms: int, found: Mapping[str, Any]) -> tuple[Any, ...]:
    """One line of a table."""
    return (
        path,
        cc,
        queue,
        step_ms,
        round(found["utilisation"], 6),
        found["drops"],
        round(found["mean_wait_s"], 6),
        round(found["p95_wait_s"], 6),
        round(sum(found["retransmitted"])),
        round(jain(found["goodput_bps"]), 4),
    )


def rows(peer: Peer, cc: str, queue: str, *options: str) -> Iterator[tuple[Any, ...]]:
    """Every path and every start through one queue."""
    for name, path in PATHS.items():
        for run, step in enumerate(STEPS_MS, 1):
            arguments = replace(path, start_step_ms=float(step)).arguments()
            found, _ = peer.run(*arguments, f"--cc={cc}", f"--run={run}", *options)
            yield row(name, cc, queue, step, found)


def ns3_rows(peer: Peer) -> Iterator[tuple[Any, ...]]:
    """TCP through each disc."""
    for cc in VARIANTS:
        for queue, disc in DISCS.items():
            yield from rows(peer, cc, queue, f"--disc={disc}")


def ns2_rows(peer: Peer) -> Iterator[tuple[Any, ...]]:
    """TCP through each form of ns-2's RED."""
    for queue, red in REDS.items():
        yield from rows(peer, "sack1", queue, "--min-rto-ms=1000", f"--red={red}")


def write(path: Path, table: Iterator[tuple[Any, ...]]) -> None:
    """A table."""
    found = sorted(table, key=lambda line: (line[0], line[1]))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(found)


def main() -> int:
    """Records all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=CONFORMANCE)
    parser.add_argument("--only", choices=("ns3", "ns2"), help="one peer instead of both")
    options = parser.parse_args()
    out: Path = options.out
    if options.only != "ns2":
        peer, queues = peers.ns3(), peers.ns3("queues")
        if peer is None or queues is None:
            raise PeerError("ns-3 is not installed")
        program = queues.command[0]
        events = f"--events={out / 'ns3' / 'queue-events.csv'}"
        figures = subprocess.run([program, events], capture_output=True, text=True, check=True)
        (out / "ns3" / "queues.csv").write_text(figures.stdout, encoding="utf-8")
        write(out / "ns3" / "queues-tcp.csv", ns3_rows(peer))
    if options.only != "ns3":
        peer = peers.ns2()
        if peer is None:
            raise PeerError("ns-2 is not installed")
        write(out / "ns2" / "queues-tcp.csv", ns2_rows(peer))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PeerError as error:
        sys.exit(f"record_queues: {error}")
