"""Speed beside another program that plays the same dumbbells, in turns: process time per bottleneck data packet.

    cargo build --release -p ackclock-sim --example dumbbell
    python3 benches/beside.py PROGRAM... [--rounds 12]

Each PROGRAM is called with rate in Mbit/s, round-trip time in ms, queue in packets, flows and seconds, and prints
`ns_per_pkt N` and perhaps `set-up N us per flow`; a `dumbbell` example of another build of ackclock serves, too,
and `peers/htsim/dumbbell.cpp` is one for csg-htsim. Median, least and most of the rounds, and
the ratio of ours to each in the same round: only the ratio can be carried to another machine.
"""

from __future__ import annotations

import argparse
import math
import re
import statistics
import subprocess
from pathlib import Path

OURS = Path(__file__).resolve().parent.parent / "target" / "release" / "examples" / "dumbbell"
DUMBBELLS = {
    "one-flow": ("1000", "20", "1651", "1", "6"),
    "hundred-flows": ("1000", "40", "3303", "100", "6"),
    "high-bdp": ("250", "160", "3303", "2", "30"),
    "thousand-flows": ("1000", "40", "3303", "1000", "6"),
    "ten-thousand-flows": ("10000", "40", "33030", "10000", "2"),
    "hundred-thousand-flows": ("10000", "40", "33030", "100000", "1"),
}
SETUP = re.compile(r"set-up ([\d.]+) us per flow")
PRINTED = re.compile(r"ns_per_pkt ([\d.]+)|([\d.]+) ns/packet")


def play(program: str, path: tuple[str, ...]) -> tuple[float, float]:
    """Nanoseconds per packet of one run, and microseconds of set-up per flow, nan if the program does not tell it.

    An example of ackclock is told what to play besides.
    """
    more = ("newreno", "rfc") if Path(program).name == OURS.name and "examples" in Path(program).parts else ()
    done = subprocess.run([program, *path, *more], capture_output=True, text=True, check=True)
    found = PRINTED.search(done.stdout)
    if found is None:
        raise SystemExit(f"beside: {program} printed neither 'ns_per_pkt N' nor 'N ns/packet'")
    setup = SETUP.search(done.stdout)
    return float(found[1] or found[2]), float(setup[1]) if setup else math.nan


def spread(values: list[float], digits: int) -> str:
    """Median, least and most."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def main() -> None:
    """Plays all in turns and prints a row for each dumbbell and program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    parser.add_argument("--rounds", type=int, default=12)
    asked = parser.parse_args()
    programs = [str(OURS), *asked.programs]
    heads = ("dumbbell", "beside", "ackclock, ns per packet", "the other's", "ackclock / other", "set-up, us per flow")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name, path in DUMBBELLS.items():
        times: dict[str, list[float]] = {program: [] for program in programs}
        setups: dict[str, list[float]] = {program: [] for program in programs}
        for turn in range(asked.rounds):
            for program in programs if turn % 2 else programs[::-1]:
                time, setup = play(program, path)
                times[program].append(time)
                setups[program].append(setup)
        ours = times[programs[0]]
        for other in programs[1:]:
            ratios = [a / b for a, b in zip(ours, times[other], strict=True)]
            setup_us = " / ".join(f"{statistics.median(setups[each]):.1f}" for each in (programs[0], other))
            row = (name, Path(other).parent.name, spread(ours, 0), spread(times[other], 0), spread(ratios, 2), setup_us)
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
