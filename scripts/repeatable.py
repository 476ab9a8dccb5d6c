#!/usr/bin/env python3
"""Plays one run on a kernel in virtual time again and again, alone and beside busy processes: the same bytes each time.

    python scripts/repeatable.py [--runs 20] [--cc cubic] [--rate '10 Mbit/s'] [--duration '10 s'] [--busy 8]

Needs a kernel (ackclock kernel build). Exits with 1 where two runs differ.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
from typing import Any

import ackclock


def digest(scenario: dict[str, Any]) -> str:
    """What came out of a run, all tables together."""
    result = ackclock.run(scenario)
    tables = sorted((name, table.write_csv()) for name, table in result.tables.items() if table.width)
    return hashlib.sha256(repr(tables).encode()).hexdigest()


def main() -> int:
    """Print a line for each digest; there should be one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--cc", default="cubic")
    parser.add_argument("--rate", default="10 Mbit/s")
    parser.add_argument("--duration", default="10 s")
    parser.add_argument("--busy", type=int, default=8, help="processes that take what time they get")
    given = parser.parse_args()
    queue = {"kind": "droptail", "limit": "1 BDP"}
    scenario = {
        "topology": {"kind": "dumbbell", "rate": given.rate, "rtt": "40 ms", "queue": queue},
        "flows": [{"cc": given.cc}],
        "run": {"duration": given.duration, "engine": "kernel-vt"},
        "probes": {"cwnd": "10 ms", "srtt": "10 ms", "queue": "10 ms"},
    }
    found = {digest(scenario): 1}
    for _ in range(2):
        alone = digest(scenario)
        found[alone] = found.get(alone, 0) + 1
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(given.busy)]
    try:
        for _ in range(given.runs):
            one = digest(scenario)
            found[one] = found.get(one, 0) + 1
    finally:
        for process in busy:
            process.kill()
            process.wait()
    for one, times in found.items():
        print(f"{one}: {times} runs")
    return 0 if len(found) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
