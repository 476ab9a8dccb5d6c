#!/usr/bin/env python3
"""The simulator beside the engine kernel-vt: Linux on the same path, with an exact clock (kernel-vt/README.md).

python conformance/virtual_time.py                  # the simulator beside what was recorded
python conformance/virtual_time.py --record         # plays all runs on the kernel that is built, and writes them down
python conformance/virtual_time.py --only ecn       # some of them
python conformance/virtual_time.py --record-starts  # plays those anew whose start decides
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

import ackclock
from ackclock.virtual import kept

RECORD = Path(__file__).parent / "kernel-vt" / "runs.json"
STARTS = RECORD.with_name("starts.json")
BUILD = 12
"""Digits by which a record tells one build of a kernel from another."""
CONTROLLERS = ("reno", "cubic", "bbr1")

GOODPUT, QUEUE = 0.01, 0.05
"""Largest relative differences of all flows' goodput and of the bottleneck's mean queue that count as agreement."""
FEW = 0.2
"""Packets by which a mean queue may differ besides, where it is nearly empty."""


def dumbbell(rate: str, rtt: str, queue: Any, **more: Any) -> dict[str, Any]:
    """A dumbbell whose frames have the header of Ethernet."""
    limited = {"kind": "droptail", "limit": queue} if isinstance(queue, str) else queue
    return {"kind": "dumbbell", "rate": rate, "rtt": rtt, "queue": limited, "link_overhead": "14 B", **more}


def hop(rate: str, queue: str) -> dict[str, Any]:
    """A link of a chain."""
    return {"rate": rate, "delay": "10 ms", "queue": {"kind": "droptail", "limit": queue}, "link_overhead": "14 B"}


FILES = {"kind": "files", "arrivals": {"poisson": 2.0}, "size": "150 kB"}
CBR = {"kind": "on-off", "rate": "3 Mbit/s", "packet": "1000 B"}
MARKING = {"kind": "fq_codel", "limit": "1000 packets", "ecn": True}

BASE: Mapping[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "base-10": (dumbbell("10 Mbit/s", "40 ms", "33 packets"), [{}]),
    "base-100": (dumbbell("100 Mbit/s", "40 ms", "330 packets"), [{}]),
}
"""What the engine was made with."""

CHOSEN: Mapping[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "slow": (dumbbell("2 Mbit/s", "30 ms", "20 packets"), [{}]),
    "long": (dumbbell("20 Mbit/s", "200 ms", "150 packets"), [{}]),
    "shallow": (dumbbell("10 Mbit/s", "60 ms", "8 packets"), [{}]),
    "deep": (dumbbell("8 Mbit/s", "20 ms", "100 packets"), [{}]),
    "four": (dumbbell("20 Mbit/s", "50 ms", "80 packets"), [{"start": f"{100 * n + 1} ms"} for n in range(4)]),
    "ecn": (dumbbell("10 Mbit/s", "40 ms", MARKING), [{"tcp": {"ecn": "classic"}}]),
    "loss": (dumbbell("10 Mbit/s", "40 ms", "50 packets", loss={"every": 300}), [{}]),
    "two-hop": ({"kind": "chain", "hops": [hop("20 Mbit/s", "60 packets"), hop("10 Mbit/s", "40 packets")]}, [{}]),
    "on-off": (dumbbell("10 Mbit/s", "40 ms", "40 packets"), [{}, {"app": CBR, "cc": None}]),
    "files": (dumbbell("10 Mbit/s", "40 ms", "40 packets"), [{"app": FILES}]),
}
"""What was chosen afterwards, and not changed for what came out."""

DURATION = "30 s"
_ONE_MINUTE = "base-10"

Cell = tuple[str, str]
"""Name of a path, name of a controller."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What is compared. `flows` are goodputs, bit/s."""

    flows: tuple[float, ...]
    retransmitted: int
    mean_queue: float
    drops: int
    marks: int

    @property
    def goodput(self) -> float:
        """Of all flows together, bit/s."""
        return sum(self.flows)


def cells() -> list[Cell]:
    """All that are played."""
    return [(path, cc) for path in (*BASE, *CHOSEN) for cc in CONTROLLERS]


def scenario(cell: Cell) -> dict[str, Any]:
    """The scenario of a cell."""
    path, cc = cell
    topology, flows = {**BASE, **CHOSEN}[path]
    made = [{key: value for key, value in ({"cc": cc} | flow).items() if value is not None} for flow in flows]
    return {
        "topology": topology,
        "flows": made,
        "run": {"duration": "60 s" if path == _ONE_MINUTE else DURATION, "packet_delays": False},
    }


def figures(result: ackclock.Result) -> Figures:
    """Of a result of one run. The bottleneck is the link with the longest queue."""
    queues = result.links["mean_queue_packets"].to_list()
    return Figures(
        tuple(result.flows["goodput_bps"].to_list()),
        int(result.flows["retransmitted_segments"].sum()),
        max(queues),
        int(result.links["drops"].sum()),
        int(result.links["marks"].sum()),
    )


@functools.cache
def simulated(cell: Cell) -> Figures:
    """What the simulator makes of it."""
    return figures(ackclock.run(scenario(cell)))


@functools.cache
def recorded() -> Mapping[Cell, Figures]:
    """What the kernel made of it."""
    return {cell: Figures(**of | {"flows": tuple(of["flows"])}) for cell, (_, of) in _rows().items()}


def _rows() -> dict[Cell, tuple[str, dict[str, Any]]]:
    """What is written down of each cell: of which build of the kernel, and the figures."""
    found = json.loads(RECORD.read_text(encoding="utf-8"))["runs"] if RECORD.exists() else []
    return {(run.pop("path"), run.pop("cc")): (run.pop("build"), run) for run in found}


def differences(cell: Cell) -> tuple[float, float]:
    """Relative differences of goodput and of the mean queue, the simulator's from the kernel's."""
    ours, theirs = simulated(cell), recorded()[cell]
    goodput = ours.goodput / theirs.goodput - 1
    by = ours.mean_queue - theirs.mean_queue
    return goodput, 0.0 if abs(by) <= FEW else by / theirs.mean_queue


def agrees(cell: Cell) -> bool:
    """Whether both are within what counts as agreement."""
    goodput, queue = differences(cell)
    return abs(goodput) <= GOODPUT and abs(queue) <= QUEUE


def line(cell: Cell) -> str:
    """A cell in words."""
    ours, theirs, (goodput, queue) = simulated(cell), recorded()[cell], differences(cell)
    both = f"{ours.goodput / 1e6:8.4f} {theirs.goodput / 1e6:8.4f} Mbit/s {goodput:+7.2%}"
    queues = f"{ours.mean_queue:7.2f} {theirs.mean_queue:7.2f} packets {queue:+7.1%}"
    again = f"{ours.retransmitted:4} {theirs.retransmitted:4} again"
    return f"{cell[0]:9} {cell[1]:6} {both}  {queues}  {again}  {'agrees' if agrees(cell) else 'DIFFERS'}"


CHAOTIC: Sequence[Cell] = [("on-off", "cubic"), ("on-off", "bbr1")]
"""Cells of a flow beside datagrams in bursts, whose packets decide which of the flow's are lost: microseconds at the
start move their mean queues by a tenth. So they are played from some starts, too."""
WITHIN = ["0 s", "9 ms"]
TIMES = 12


def started_anywhere(cell: Cell, engine: str) -> list[dict[str, float]]:
    """Goodput (bit/s) and mean queue (packets) of a cell whose first flow starts at drawn moments, the same on each."""
    asked = scenario(cell)
    first = asked["flows"][0] | {"start": {"uniform": WITHIN}}
    run = asked["run"] | {"engine": engine, "replications": TIMES}
    result = ackclock.run(asked | {"flows": [first, *asked["flows"][1:]], "run": run})
    goodput = result.flows.group_by("run").agg(pl.col("goodput_bps").sum())
    queue = result.links.group_by("run").agg(pl.col("mean_queue_packets").max())
    found = goodput.join(queue, on="run").sort("run").select("goodput_bps", "mean_queue_packets")
    return [{name: round(value, 3) for name, value in row.items()} for row in found.to_dicts()]


def record_starts() -> None:
    """Play the cells of :data:`CHAOTIC` on the kernel that is built and write them down."""
    rows = [{"path": path, "cc": cc, "runs": started_anywhere((path, cc), "kernel-vt")} for path, cc in CHAOTIC]
    STARTS.write_text(
        json.dumps({"kernel": kept.named(None).version, "cells": rows}, indent=1) + "\n", encoding="utf-8"
    )


def record(wanted: list[Cell]) -> None:
    """Play cells on the kernel that is built; each is written down when it is there, beside the others."""
    for cell in wanted:
        result = on_the_kernel(cell)
        _write(_rows() | {cell: (kept.named(None).digest[:BUILD], asdict(figures(result)))})
        emulation = result.manifest["runs"][0]["emulation"]
        worst = max((late["worst_s"] for _, late in emulation["links"]), default=0.0)
        cost = f"{emulation['guest_cpu_s']} CPU s, latest {worst * 1e9:.0f} ns"
        sys.stderr.write(f"{cell[0]} {cell[1]}: {cost}\n")


def on_the_kernel(cell: Cell) -> ackclock.Result:
    """What the kernel that is built makes of a cell."""
    asked = scenario(cell)
    return ackclock.run(asked | {"run": asked["run"] | {"engine": "kernel-vt"}})


def _write(found: Mapping[Cell, tuple[str, Mapping[str, Any]]]) -> None:
    kernel = kept.named(None)
    known = {"linux": kernel.version, "digest": kernel.digest, "source": kernel.source, "compiler": kernel.compiler}
    known["image"] = kernel.image_digest
    runs = [(cell, *found[cell]) for cell in cells() if cell in found]
    rows = [{"path": path, "cc": cc, "build": build, **of} for (path, cc), build, of in runs]
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    text = f'{{"kernel": {json.dumps(known)},\n "ackclock": "{ackclock.__version__}",\n "runs": [\n  {lines}\n ]}}\n'
    RECORD.write_text(text, encoding="utf-8")


def main() -> None:
    """Record, or print a line for each cell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--record-starts", action="store_true")
    parser.add_argument("--only", action="append", default=[], help="a path or a controller")
    given = parser.parse_args()
    wanted = [cell for cell in cells() if not given.only or set(given.only) & set(cell)]
    if given.record_starts:
        record_starts()
        return
    if given.record:
        record(wanted)
        recorded.cache_clear()
    for cell in wanted:
        print(line(cell))


if __name__ == "__main__":
    main()
