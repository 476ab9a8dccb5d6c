#!/usr/bin/env python3
"""Plays one run on a kernel in virtual time again and again, alone and beside busy processes: the same bytes each time.

    python scripts/repeatable.py [--runs 20] [--cc cubic] [--rate '10 Mbit/s'] [--duration '10 s'] [--busy 8]

Says how much of a processor's time each simulated second took. Three runs are alone, --runs beside the busy processes.
Needs a kernel (ackclock kernel build). Exits with 1 where two runs differ.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
from collections import Counter
from typing import Any

import ackclock
from ackclock.scenario.values.units import DURATION

ALONE = 3


def played(scenario: dict[str, Any]) -> tuple[str, float]:
    """A run: a digest of what came out, all tables together, and the seconds of a processor for a simulated one."""
    result = ackclock.run(scenario)
    tables = sorted((name, table.write_csv()) for name, table in result.tables.items() if table.width)
    (run,) = result.manifest["runs"]
    cpu_s: float = run["emulation"]["guest_cpu_s"]
    simulated_s = DURATION.parse(scenario["run"]["duration"]) / 1e9
    return hashlib.sha256(repr(tables).encode()).hexdigest(), cpu_s / simulated_s


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
    runs = [played(scenario) for _ in range(ALONE)]
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(given.busy)]
    try:
        runs += [played(scenario) for _ in range(given.runs)]
    finally:
        for process in busy:
            process.kill()
            process.wait()
    found = Counter(digest for digest, _ in runs)
    for one, times in found.items():
        print(f"{one}: {times} runs")
    for where, some in (("alone", runs[:ALONE]), (f"beside {given.busy} busy processes", runs[ALONE:])):
        costs = sorted(cost for _, cost in some)
        if costs:
            print(f"{where}: {costs[0]:.3g} to {costs[-1]:.3g} s of a processor for each simulated second")
    return 0 if len(found) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
