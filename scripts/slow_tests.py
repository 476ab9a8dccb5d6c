#!/usr/bin/env python3
"""Renews the list of slow tests from measured CPU times: python scripts/slow_tests.py target/times.tsv [--add].

The input is what `pytest --cpu-times` wrote. A test is slow if it needs more than a second of CPU time. A file whose
fixtures need more than a second is slow as a whole: otherwise its next test would pay for them. So is a file whose
other tests need more than eight seconds together.

Tests may share what one of them has computed first. When that one is left out, the next pays for it: `--add` takes
times of quick tests alone and adds those that are slow then.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python" / "tests"))

import tiers

SLOW = tiers.SLOW
THRESHOLD_S = 1.0
FILE_THRESHOLD_S = 8.0


def slow(rows: Iterable[tuple[str, float, float]], threshold: float) -> dict[str, float]:
    """Slow tests and files with their CPU time, from rows of node id, CPU time, and CPU time before the test began."""
    rows = list(rows)
    whole: dict[str, float] = {}
    shared: dict[str, float] = {}
    for node, cpu_s, set_up_s in rows:
        file = node.partition("::")[0]
        whole[file] = whole.get(file, 0.0) + cpu_s
        shared[file] = max(shared.get(file, 0.0), set_up_s)
    quick: dict[str, float] = {}
    for node, cpu_s, _ in rows:
        if cpu_s <= threshold:
            file = node.partition("::")[0]
            quick[file] = quick.get(file, 0.0) + cpu_s
    heavy = {file for file, cpu_s in quick.items() if cpu_s > FILE_THRESHOLD_S}
    found = {file: cpu for file, cpu in whole.items() if shared[file] > threshold or file in heavy}
    found |= {node: cpu for node, cpu, _ in rows if cpu > threshold and node.partition("::")[0] not in found}
    return dict(sorted(found.items()))


def main() -> int:
    """Writes the list; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("times", type=Path)
    parser.add_argument("--threshold", type=float, default=THRESHOLD_S, help="CPU seconds (1)")
    parser.add_argument("--add", action="store_true", help="keep what is listed")
    chosen = parser.parse_args()
    with chosen.times.open(encoding="utf-8") as file:
        rows = [
            (row["test"], float(row["cpu_s"]), float(row["set_up_cpu_s"]))
            for row in csv.DictReader(file, delimiter="\t")
        ]
    found = slow(rows, chosen.threshold)
    if chosen.add:
        found = dict(sorted((tiers.slow_tests() | found).items()))
    lines = [f"{node}\t{cpu:.1f}\n" for node, cpu in found.items()]
    SLOW.write_text("test\tcpu_s\n" + "".join(lines), encoding="utf-8")
    total = sum(cpu for _, cpu, _ in rows)
    print(f"{len(lines)} entries need {sum(found.values()):.0f} of {total:.0f} CPU s of {len(rows)} tests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
