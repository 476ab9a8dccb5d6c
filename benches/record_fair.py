#!/usr/bin/env python3
"""Records what ns-2's fair schedulers do with given arrivals: conformance/ns2/fair.csv.

A row per packet: when it arrives, its flow and bytes, then for each scheduler when its transmission begins (nothing if
it was dropped). The link sends a byte per microsecond. Needs ns-2, takes seconds.
"""

from __future__ import annotations

import argparse
import csv
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

import peers
from peers import PeerError

OUT = Path(__file__).resolve().parent.parent / "conformance" / "ns2" / "fair.csv"
PROGRAM = Path(__file__).resolve().parent / "peers" / "ns2" / "fair.tcl"

PACKETS = 500

SCHEDULERS: Mapping[str, tuple[str, ...]] = {
    # A thousand buckets: no two of the flows share one.
    "drr 250": ("--queue=DRR", "--set=quantum_ 250,blimit_ 1000000000,buckets_ 1000"),
    "drr 1500": ("--queue=DRR", "--set=quantum_ 1500,blimit_ 1000000000,buckets_ 1000"),
    "drr 1500 25 kB": ("--queue=DRR", "--set=quantum_ 1500,blimit_ 25000,buckets_ 1000"),
    "fq": ("--queue=FQ", "--limit=100000"),
    "fq 10 packets": ("--queue=FQ", "--limit=10"),
}
"""ns-2's arguments. The limit of FQ is that of each flow."""

Arrival = tuple[int, int, int]
"""Nanosecond, flow, bytes."""


def _gap(rng: Random, mean_us: float) -> int:
    return 1 + int(-math.log(1 - rng.random()) * mean_us * 1000)


def _pick(rng: Random, values: tuple[int, ...]) -> int:
    return values[int(rng.random() * len(values))]


def heavy_and_light(rng: Random) -> Iterator[Arrival]:
    """Two flows of 1500 and 1499 bytes with 0.7 of the link each, one of 200 bytes with 0.1.

    With equal sizes finish times would tie, and ns-2's rounding would decide.
    """
    at = 0
    while True:
        at += _gap(rng, 1 / (1.4 / 1500 + 0.1 / 200))
        light = rng.random() < (0.1 / 200) / (1.4 / 1500 + 0.1 / 200)
        flow = int(rng.random() * 2)
        yield (at, 2, 200) if light else (at, flow, 1500 - flow)


def mixed(rng: Random) -> Iterator[Arrival]:
    """Six flows with packets of all sizes and 1.1 of the link."""
    at = 0
    while True:
        at += _gap(rng, 770 / 1.1)
        yield at, int(rng.random() * 6), 40 + int(rng.random() * 1461)


def on_off(rng: Random) -> Iterator[Arrival]:
    """Four flows that come and go: 1.6 of the link for a while, then 0.3."""
    at = 0
    for spell in range(1000):
        active = 2 + int(rng.random() * 3)
        for _ in range(10 + int(rng.random() * 40)):
            at += _gap(rng, 780 / (0.3 if spell % 3 == 2 else 1.6))
            yield at, int(rng.random() * active), _pick(rng, (64, 576, 1500, 1000))


def bursts(rng: Random) -> Iterator[Arrival]:
    """Every 40 ms each of five flows sends up to 12 packets of a size of its own within a millisecond."""
    for burst in range(1000):
        begin = burst * 40_000_000
        sent = []
        for flow, size in enumerate((1500, 1000, 576, 1200, 100)):
            sent += [(begin + int(rng.random() * 1e6), flow, size) for _ in range(1 + int(rng.random() * 12))]
        yield from sorted(sent)


PATTERNS = {"heavy and light": heavy_and_light, "mixed": mixed, "on/off": on_off, "bursts": bursts}


def play(arrivals: list[Arrival], arguments: tuple[str, ...]) -> list[str]:
    """For each packet the microsecond in which ns-2 begins to transmit it, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        given, trace = Path(folder, "arrivals"), Path(folder, "trace")
        given.write_text("".join(f"{at / 1e9:.9f} {flow} {size}\n" for at, flow, size in arrivals))
        command = ["ns", str(PROGRAM), f"--arrivals={given}", f"--trace={trace}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise PeerError(f"ns ended with {done.returncode}: {done.stderr.strip()}")
        begun: dict[int, str] = {}
        for line in trace.read_text().splitlines():
            event, time, *_, number = line.split()
            if event == "-":
                begun[int(number)] = f"{round(float(time) * 1e6)}"
    return [begun.get(number, "") for number in range(len(arrivals))]


def main() -> int:
    """Records all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT)
    out: Path = parser.parse_args().out
    if peers.ns2() is None:
        raise PeerError("ns-2 is not installed")
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("pattern", "arrival_ns", "flow", "bytes", *SCHEDULERS))
        for name, pattern in PATTERNS.items():
            source = pattern(Random(1))  # noqa: S311
            arrivals = [next(source) for _ in range(PACKETS)]
            played = [play(arrivals, arguments) for arguments in SCHEDULERS.values()]
            for arrival, *times in zip(arrivals, *played, strict=True):
                writer.writerow((name, *arrival, *times))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PeerError as error:
        sys.exit(f"record_fair: {error}")
