#!/usr/bin/env python3
"""Records scenario s4 of conformance/ns3 and conformance/ns2 again and again, with other starts of the second flow.

Which of two flows loses a packet when the queue overflows hangs on where a packet stands in its transmission, so one
run of s4 is one draw of many. These are twelve, over a sawtooth of the first flow. Needs what record_peers.py needs.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import peers
from peers import Peer, PeerError
from record_peers import NS2, NS3, SCENARIOS, Variant

STARTS_S = tuple(round(20 + 0.373 * step, 3) for step in range(12))
"""Starts of the second flow: as recorded in s4, then over the next 4.1 s, a sawtooth of the first flow."""

COLUMNS = ("variant", "start_s", "flow", "goodput_bps", "retransmitted", "reductions", "mean_queue_waiting")


def rows(peer: Peer, name: str, variant: Variant) -> Iterator[tuple[str | float, ...]]:
    """One row per start and flow; the queue's mean is that of the link."""
    for start in STARTS_S:
        path = replace(SCENARIOS["s4"], starts_s=(0, start))
        summary, _ = peer.run(*path.arguments(), *variant.options)
        both = [fast + slow for fast, slow in zip(summary.get("recoveries", (0, 0)), summary["timeouts"], strict=True)]
        reductions = summary.get("window_cuts", both)
        for flow in (0, 1):
            counts = (summary["goodput_bps"][flow], summary["retransmitted"][flow], reductions[flow])
            yield name, start, flow, *counts, summary["mean_queue_waiting"]


def main() -> int:
    """Records both peers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent.parent / "conformance")
    out: Path = parser.parse_args().out
    for folder, find, variants in (("ns3", peers.ns3, NS3), ("ns2", peers.ns2, NS2)):
        peer = find()
        if peer is None:
            raise PeerError(f"{folder} is not installed")
        with (out / folder / "s4-starts.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            for name, variant in variants.items():
                writer.writerows(rows(peer, name, variant))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PeerError as error:
        sys.exit(f"record_starts: {error}")
