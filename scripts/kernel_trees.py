#!/usr/bin/env python3
"""Plays the same runs on several kernels in virtual time, each three times: the same bytes, and how far kernels differ.

    ackclock kernel build --package linux-source-6.1
    ackclock kernel build
    python scripts/kernel_trees.py v6.1 6.12.117 [--duration '30 s'] [--times 3]

Exits with 1 where a kernel does not give the same bytes each time.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from typing import Any

import ackclock
from ackclock.virtual import kept

PATH = {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "40 ms", "link_overhead": "14 B"}
QUEUE = {"kind": "droptail", "limit": "33 packets"}
COLUMNS = {
    "goodput_bps": (1e-6, "Mbit/s"),
    "retransmitted_segments": (1, "repeated"),
    "timeouts": (1, "timeouts"),
    "mean_rtt_s": (1e3, "ms RTT"),
}
"""Of flows: by what each is multiplied, and what it is then."""

RUNS: dict[str, list[dict[str, Any]]] = {
    "reno": [{"cc": "reno"}],
    "cubic": [{"cc": "cubic"}],
    "bbr1": [{"cc": "bbr1"}],
    "cubic and reno": [{"cc": "cubic"}, {"cc": "reno", "start": "2 s"}],
}


def played(flows: list[dict[str, Any]], kernel: str, duration: str) -> ackclock.Result:
    """One run on `kernel`."""
    run = {"duration": duration, "engine": "kernel-vt", "kernel": kernel}
    probes = {"cwnd": "10 ms", "srtt": "10 ms", "queue": "10 ms"}
    return ackclock.run({"topology": PATH | {"queue": QUEUE}, "flows": flows, "run": run, "probes": probes})


def digest(result: ackclock.Result) -> str:
    """All tables of a run together."""
    tables = sorted((name, table.write_csv()) for name, table in result.tables.items() if table.width)
    return hashlib.sha256(repr(tables).encode()).hexdigest()


def main() -> int:
    """Print a line for each run and kernel."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", help="their names; without any all that are built")
    parser.add_argument("--duration", default="30 s")
    parser.add_argument("--times", type=int, default=3)
    given = parser.parse_args()
    names = given.kernels or sorted(kernel.name for kernel in kept.all_of_them())
    repeatable = True
    for what, flows in RUNS.items():
        for name in names:
            results = [played(flows, name, given.duration) for _ in range(given.times)]
            digests = {digest(result) for result in results}
            repeatable &= len(digests) == 1
            cells = [
                " + ".join(f"{value * scale:.5g}" for value in results[0].flows[column]) + f" {unit}"
                for column, (scale, unit) in COLUMNS.items()
                if column in results[0].flows.columns
            ]
            once = f"{given.times} runs, {len(digests)} digest{'s' * (len(digests) > 1)} {min(digests)[:12]}"
            print(f"{what:15} {name:12} {'  '.join(cells)}  ({once})", flush=True)
    return 0 if repeatable else 1


if __name__ == "__main__":
    sys.exit(main())
