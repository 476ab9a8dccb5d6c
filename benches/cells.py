"""What a cell costs by the number of its users: instructions per packet, busy TTI and offered byte (callgrind).

Instruction counts do not depend on the load of the machine. Users are spread over a disc in the same way however many
there are:

- `datagrams`: 250 kbit/s to each, whatever is lost: the cell without TCP, saturated from some 45 users on
- `growing`: each reads a web page every 200 s on average, so that the load of the cell grows with their number
- `spread`: all together read a page every second, however many they are: the same load
- `saturated`: each reads a page every 30 s, for which there is room up to some 40
- `downloads`: each downloads all the time

    python3 benches/cells.py                     # all, needs valgrind and the example: see BUILD
    python3 benches/cells.py growing spread      # some
    python3 benches/cells.py --parallel          # ten cells one after another, then on all cores: CPU time of each

It fails when the instructions of `growing` are not linear in offered bytes. What `datagrams` offer beyond
what there is room for is dropped, which costs less than to send it.
"""

from __future__ import annotations

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BINARY = ROOT / "target" / "release" / "examples" / "play"
BUILD = "cargo build --release -p ackclock-sim --example play"
USERS = (5, 15, 30, 60, 100, 200)
LEAST_R2 = 0.99
MILLISECOND, SECOND = 1_000_000, 1_000_000_000

# The application of a user when there are `n`, and the seconds that are played.
SERIES: dict[str, tuple[Callable[[int], dict[str, Any]], int]] = {
    "datagrams": (lambda _: CBR, 30),
    "growing": (lambda _: web(200), 300),
    "spread": (lambda n: web(n), 100),
    "saturated": (lambda _: web(30), 60),
    "downloads": (lambda _: {"kind": "bulk"}, 20),
}
LINEAR = "growing"
CBR = {"kind": "cbr", "transport": "udp", "rate_bps": 250_000, "packet_bytes": 1472, "header_bytes": 28, "jitter": True}


def web(mean_s: float) -> dict[str, Any]:
    """Reads a page of 1 MB every `mean_s` seconds on average, over one connection at a time (docs/web.md)."""
    mean = mean_s * SECOND
    return {
        "kind": "web",
        "main": {"kind": "lognormal", "mean": 20000.0, "sd": 4690.0, "min": 100.0, "max": 200000.0},
        "objects": {"kind": "pareto", "shape": 1.1, "min": 2.0, "max": 50.0},
        "counting": "round",
        "embedded": {"kind": "lognormal", "mean": 160000.0, "sd": 70711.0, "min": 50.0, "max": 2000000.0},
        "interval": {"kind": "exponential", "mean": mean, "min": mean / 3, "max": 2 * mean, "truncation": "after"},
        "first": {"kind": "uniform", "min": 0.0, "max": mean},
        "count": None,
        "late": "defer",
        "parse_ns": 0,
        "request_bytes": 800,
        "protocol": "http1.1",
        "policy": "fixed",
        "connections": 1,
        "preopen": False,
        "fixed_assignment": False,
        "keep_objects": False,
    }


def document(users: int, app: dict[str, Any], seconds: float, params: dict[str, Any] | None = None) -> dict[str, Any]:
    """The resolved run of a cell of 20 MHz with an application for each user; `params` of the cell besides its own."""
    cell = {"path_loss": "cost231_lena", "base_power_dbm": 30.0, "down_queue": QUEUE, **(params or {})}
    cc = "none" if app["kind"] == "cbr" else "cubic"
    return {
        "format": 1,
        "seed": 1,
        "duration_ns": int(seconds * SECOND),
        "links": [],
        # The middle of each of as many rings of the same area.
        "cells": [
            {
                "id": "cell",
                "kind": "lte",
                "params": cell,
                "users": [{"distance_m": 500.0 * ((i + 0.5) / users) ** 0.5} for i in range(users)],
            }
        ],
        "flows": [
            {
                "id": str(i),
                "forward": [{"delay_ns": 20 * MILLISECOND}, {"element": {"id": "cell", "port": i}}],
                "reverse": [{"element": {"id": "cell", "port": users + i}}, {"delay_ns": 20 * MILLISECOND}],
                "start": {"at_ns": 0},
                "app": app,
                "mss": 1448,
                "profile": "linux",
                "cc": {"name": cc},
            }
            for i in range(users)
        ],
        "packet_delays": False,
    }


QUEUE = {"kind": "droptail", "limit_packets": None, "limit_bytes": None, "params": {"max_age": 300 * MILLISECOND}}


def played(run: dict[str, Any], *, counted: bool) -> dict[str, float]:
    """What `play` says of a run; `counted`: with `instructions`, those of playing it and nothing else."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "run.json"
        path.write_text(json.dumps(run) + "\n")
        command = [str(BINARY), str(path)]
        if counted:
            out = f"--callgrind-out-file={scratch}/out"
            command = ["valgrind", "--tool=callgrind", out, "--toggle-collect=play::measured*", *command]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    if counted:
        found = re.search(r"Collected : (\d+)", done.stderr)
        if found is None:
            raise SystemExit(f"cells: no count in the output of {' '.join(command)}")
        result["instructions"] = int(found[1])
    return result


@dataclass(frozen=True, slots=True)
class Cost:
    """A run: what was to do in it, and what it cost."""

    users: int
    counts: dict[str, float]

    @property
    def offered(self) -> float:
        """Bytes of the packets that came to the base station."""
        counts = self.counts
        return counts["down_packets"] * counts["down_bytes"] / counts["down_delivered"]

    def line(self) -> str:
        """Load, and instructions by what was to do."""
        c = self.counts
        work = c["instructions"]
        return (
            f"{self.users:5} {c['rho_rb']:5.2f} {c['down_packets']:8.0f} {c['dropped']:7.0f} {c['down_ttis']:7.0f} "
            f"{work / 1e6:8.1f} {work / c['down_packets']:8.0f} {work / c['down_ttis']:8.0f} {work / self.offered:7.2f}"
        )


def linearity(costs: list[Cost]) -> tuple[float, float]:
    """Instructions per offered byte by least squares, and the share of their variance that this explains (R2)."""
    x, y = [c.offered for c in costs], [c.counts["instructions"] for c in costs]
    slope = statistics.linear_regression(x, y).slope
    return slope, statistics.correlation(x, y) ** 2


def series(name: str) -> bool:
    """Plays one and prints its rows; false when it should be linear and is not."""
    app, seconds = SERIES[name]
    print(f"{name}, {seconds} s\nusers   rho  packets dropped busyTTI  million   packet      TTI    byte")
    costs = []
    for n in USERS:
        costs.append(Cost(n, played(document(n, app(n), seconds), counted=True)))
        print(costs[-1].line(), flush=True)
    slope, r2 = linearity(costs) if name == LINEAR else (0.0, 1.0)
    if name == LINEAR:
        print(f"{slope:.2f} instructions per offered byte, R2 {r2:.4f}, at least {LEAST_R2}")
    return r2 >= LEAST_R2


def alone_and_together(cells: int = 10) -> None:
    """Ten cells of 30 users, 600 s each, one after another and on all cores."""
    runs = [{**document(30, web(30), 600), "seed": seed} for seed in range(1, cells + 1)]
    for workers in (1, os.cpu_count() or 1):
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        with ThreadPoolExecutor(workers) as pool:
            done = list(pool.map(lambda run: played(run, counted=False), runs))
        took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / cells
        packets = sum(d["down_packets"] for d in done) / cells
        each = f"{cpu:.3f} s of CPU time for each ({packets:.0f} packets down)"
        print(f"{workers} at a time: {took:.2f} s for {cells} cells, {each}", flush=True)


def main() -> int:
    """Plays what is asked for; returns the exit code."""
    names = sys.argv[1:] or list(SERIES)
    if names == ["--parallel"]:
        alone_and_together()
        return 0
    unknown = [name for name in names if name not in SERIES]
    if unknown:
        print(f"cells: no series '{unknown[0]}'; there are {', '.join(SERIES)}, or --parallel alone")
        return 2
    return 0 if sum(not series(name) for name in names) == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
