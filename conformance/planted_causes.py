#!/usr/bin/env python3
"""Campaigns on lines with one planted cause each, and whether `ackclock measure why` names it.

    .venv/bin/python conformance/planted_causes.py --only 0,1,2 --keep DIR     # a few of them
    .venv/bin/python conformance/planted_causes.py --write                     # all 200, into planted_causes.csv

A campaign has one test of five seconds with one connection, and others with more. It is measured by `ackclock measure`
behind a path in virtual time (`measure`: the client, the server and the kernel are the real ones), played by the kernel
in virtual time (`kernel-vt`), or by the simulator (`sim`), which does not say when a receiver's window limits. Rates,
round trips and queues are drawn; numbers of campaigns are seeds.
"""

from __future__ import annotations

import argparse
import csv
import math
import multiprocessing
import os
import random
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path

import ackclock
from ackclock.measure import campaign, runner
from ackclock.measure.causes.verdict import explain

TABLE = Path(__file__).parent / "planted_causes.csv"
NUMBER = 200
EXPECTED = {
    "window": "receive window",
    "loss": "random loss",
    "ramp": "slow-start ramp",
    "policer": "policer",
    "fair": "per-flow fair share",
    "trace": "changing capacity",
    "saturated": "none",
}
"""The verdict on each planted cause."""

CAUSES = tuple(EXPECTED)
_REAL = 2
"""Of five campaigns with a cause that the simulator can show, so many are not its."""


@dataclass(frozen=True, slots=True)
class Row:
    """A campaign, by what it was played, and what was said of it."""

    number: int
    cause: str
    engine: str
    rate_mbps: int
    rtt_ms: int
    verdict: str
    share: float | None

    @property
    def right(self) -> bool:
        """Whether the cause was named."""
        return self.verdict == EXPECTED[self.cause]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a campaign is: its line in TOML, its numbers of connections, and the options of its tests."""

    cause: str
    engine: str
    rate: int
    rtt: int
    topology: str
    connections: tuple[int, ...] = (1, 4)
    options: str = ""


def drawn(number: int) -> Drawn:
    """A campaign by its number."""
    draw = random.Random(f"campaign {number}")  # noqa: S311
    cause = CAUSES[number % len(CAUSES)]
    real = cause == "window" or number // len(CAUSES) % 5 < _REAL
    engine = ("kernel-vt" if cause == "fair" else "measure") if real else "sim"
    rate, rtt, queue, more = draw.choice((15, 20, 25, 30)), draw.choice((40, 60, 80, 100)), draw.choice((1, 2)), ""
    line = f'"{rate} Mbit/s"'
    connections, options = (1, 4), ""
    match cause:
        case "window":  # of 200 kB the kernel makes a buffer of 400 kB, and some 256 kB of it are window
            rate, rtt, options = draw.choice((30, 35, 40)), draw.choice((150, 180, 200)), 'rcvbuf = "200 kB"\n'
            line = f'"{rate} Mbit/s"'
        case "loss":
            rate, rtt, more = draw.choice((30, 35, 40)), draw.choice((60, 80, 100)), "loss = 1e-3\n"
            line = f'"{rate} Mbit/s"'
        case "ramp":
            rate, rtt = draw.choice((20, 30, 40)), 200
            line = f'"{rate} Mbit/s"'
        case "policer":
            rate, rtt, queue = draw.choice((10, 15, 20, 30)), draw.choice((20, 30, 40, 60)), 1
            line, more = '"200 Mbit/s"', f'policer = {{ rate = "{rate} Mbit/s", burst = "50 kB" }}\n'
        case "fair":
            cap, rate, rtt, queue = draw.choice((4, 5, 6)), draw.choice((25, 30, 40)), draw.choice((40, 60, 80)), 1
            line, more = f'"{rate} Mbit/s"', f'access = {{ rate = "{cap} Mbit/s" }}\n'
            connections = (1, 2, 4, 8)
        case "trace":
            rate, queue = draw.choice((15, 20, 25)), 2
            line = _wandering(draw, rate, draw.choice((0.4, 0.5)))
        case _:  # in five seconds no more than a tenth may be the beginning's
            rtt = draw.choice((20, 30, 40, 60))
    topology = f'[topology]\nkind = "dumbbell"\nrate = {line}\nrtt = "{rtt} ms"\nqueue = "{queue} BDP"\n{more}'
    return Drawn(cause, engine, rate, rtt, topology, connections, options)


def _wandering(draw: random.Random, mean: float, spread: float) -> str:
    """A log-normal rate that is another one every 100 ms, and remembers 0.9 of the one before."""
    state, steps = draw.gauss(0, 1), []
    for at in range(50):
        state = 0.9 * state + math.sqrt(1 - 0.9**2) * draw.gauss(0, 1)
        rate = mean * math.exp(spread * state - spread**2 / 2)
        steps.append(f'{{ at = "{100 * at} ms", rate = "{rate:.1f} Mbit/s" }}')
    return f'{{ repeat = "5 s", steps = [{", ".join(steps)}] }}'


_PROBES = ("srtt", "cwnd", "delivered", "sent", "retransmitted")
_OF_THE_KERNEL = ("busy", "rwnd_limited", "sndbuf_limited")


def play(number: int, folder: Path) -> Row:
    """A campaign, played into a folder of its own unless it is there, and the verdict on it."""
    wanted, place = drawn(number), folder / f"{number:03}"
    if not (place / "out" / "manifest.json").exists():
        place.mkdir(parents=True, exist_ok=True)
        (_measured if wanted.engine == "measure" else _played)(wanted, number, place)
    (verdict,) = explain(place / "out")
    share = None if verdict.share is None else round(verdict.share, 3)
    return Row(number, wanted.cause, wanted.engine, wanted.rate, wanted.rtt, verdict.mechanism, share)


def _measured(wanted: Drawn, number: int, place: Path) -> None:
    """By `ackclock measure`."""
    (place / "line.toml").write_text(
        f'{wanted.topology}\n[[flows]]\ncc = "cubic"\n[run]\nduration = "5 s"\nseed = {number + 1}\n', encoding="utf-8"
    )
    (place / "campaign.toml").write_text(
        f'[campaign]\nname = "planted {number}"\nrepetitions = 1\ngap = "0 s"\nprobe = false\n'
        f'[[lines]]\nname = "line"\nvia = "line.toml"\n'
        f'[test]\nconnections = {list(wanted.connections)}\nduration = "5 s"\n{wanted.options}',
        encoding="utf-8",
    )
    runner.begin(campaign.load(place / "campaign.toml"), place / "out", runner.Asked(virtual=True), lambda _: None)


def _played(wanted: Drawn, number: int, place: Path) -> None:
    """By an engine."""
    probes = _PROBES + (() if wanted.engine == "sim" else _OF_THE_KERNEL)
    file = place / "scenario.toml"
    file.write_text(
        f'{wanted.topology}\n[[flows]]\ncc = "cubic"\nprofile = "linux"\ncount = {list(wanted.connections)}\n'
        f'[run]\nduration = "5 s"\nengine = "{wanted.engine}"\nseed = {number + 1}\n'
        "[probes]\n" + "".join(f'{name} = "100 ms"\n' for name in probes),
        encoding="utf-8",
    )
    ackclock.sweep(file, out=place / "out", jobs=1)


def table() -> list[Row]:
    """The table that is kept."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        return [_row(line) for line in csv.DictReader(file)]


def _row(line: dict[str, str]) -> Row:
    numbers = {name: int(line[name]) for name in ("number", "rate_mbps", "rtt_ms")}
    share = float(line["share"]) if line["share"] else None
    return Row(**numbers, cause=line["cause"], engine=line["engine"], verdict=line["verdict"], share=share)


def main() -> None:
    """Play campaigns, write them if asked to, and print how many causes were named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="numbers, such as 0,1,2")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--keep", type=Path, help="keep what was measured here, and measure what is not there")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    asked = parser.parse_args()
    numbers = [int(text) for text in asked.only.split(",")] if asked.only else list(range(NUMBER))
    with tempfile.TemporaryDirectory() as scratch, multiprocessing.Pool(asked.jobs) as pool:
        rows = []
        for row in pool.imap(partial(play, folder=asked.keep or Path(scratch)), numbers):
            rows.append(row)
            print(
                f"{row.number:3} {row.cause:9} {row.engine:9} {row.verdict}{'' if row.right else '   <- wrong'}",
                flush=True,
            )
    if asked.write:
        with TABLE.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
            writer.writeheader()
            writer.writerows(asdict(row) for row in rows)
    count, right = Counter(row.cause for row in rows), Counter(row.cause for row in rows if row.right)
    for cause in CAUSES:
        if count[cause]:
            print(f"{cause:9} {right[cause]:3} of {count[cause]:3}")
    print(f"{'all':9} {sum(right.values()):3} of {len(rows):3}")


if __name__ == "__main__":
    main()
