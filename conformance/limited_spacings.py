#!/usr/bin/env python3
"""Westwood+ with many short connections and other spacings of the losses, ours beside the Linux kernel.

    python conformance/limited_spacings.py

The cell short_westwood has every 150th packet of all connections lost, so that what one connection does moves the
losses of all that follow: a single spacing says little. Here every spacing from 131 to 199 in steps of two is played,
recorded by the kernel (conformance/kernel/limited/README.md) and here, and the means are compared (Welch).
"""

from __future__ import annotations

import csv
import functools
import json
import statistics
import sys
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path

import limited_records
from ackclock import engine
from ackclock.stats import Contrast, estimate, unpaired
from session_cache import session_cache

RECORDS = Path(__file__).parent / "kernel" / "limited" / "short-westwood-spacings.csv"
CELL = "short_westwood"
LEVEL = 0.99


@dataclass(frozen=True, slots=True)
class Spacing:
    """A run with every n-th packet lost."""

    drop_every: int
    transfers: int
    """That were completed."""
    completion_s: float
    """Their mean completion time."""
    retransmissions: int


@functools.cache
def kernel() -> tuple[Spacing, ...]:
    """The recorded runs."""
    with RECORDS.open(newline="", encoding="utf-8") as file:
        rows = [list(map(float, row.values())) for row in csv.DictReader(file)]
    return tuple(Spacing(round(every), round(n), ms / 1e3, round(again)) for every, n, ms, again in rows)


@session_cache
def ours() -> tuple[Spacing, ...]:
    """The same in ackclock."""
    return tuple(map(_played, (run.drop_every for run in kernel())))


def _played(drop_every: int) -> Spacing:
    document = limited_records.document(CELL)
    document["links"][0]["loss"] = {"kind": "every", "n": drop_every}
    out = engine.run(json.dumps(document))
    times = [end - start for start, end in out.transfers.select("start_s", "end_s").iter_rows() if end is not None]
    again = int(out.flows["retransmitted_segments"].sum())
    return Spacing(drop_every, len(times), statistics.fmean(times), again)


def difference() -> Contrast:
    """Mean completion time here less that of the kernel, seconds, over the spacings."""
    found = unpaired([run.completion_s for run in kernel()], [run.completion_s for run in ours()], level=LEVEL)
    assert found is not None
    return found


def _line(theirs: Spacing, mine: Spacing) -> str:
    times = f"{1e3 * mine.completion_s:6.1f} / {1e3 * theirs.completion_s:6.1f} ms"
    counts = f"{mine.transfers:3} / {theirs.transfers:3} transfers"
    again = f"{mine.retransmissions:3} / {theirs.retransmissions:3} retransmissions"
    return f"every {theirs.drop_every:3}: {counts}, {times}, {again}"


def main() -> int:
    """Prints every spacing, ours / Linux, and the means."""
    print("\n".join(starmap(_line, zip(kernel(), ours(), strict=True))))
    for name, runs in (("ours ", ours()), ("Linux", kernel())):
        times = [1e3 * run.completion_s for run in runs]
        error = statistics.stdev(times) / len(times) ** 0.5
        print(f"{name}: {estimate(times).mean:.1f} ms, standard error {error:.1f}")
    found = difference()
    assert found.low is not None
    assert found.high is not None
    interval = f"{LEVEL:.0%} interval {1e3 * found.low:+.1f} to {1e3 * found.high:+.1f}"
    print(f"difference {1e3 * found.value:+.1f} ms, {interval}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
