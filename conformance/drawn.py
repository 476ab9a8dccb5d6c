#!/usr/bin/env python3
"""Ours beside the Linux kernel on twelve paths drawn at random (conformance/kernel/drawn/README.md), cell by cell.

    python conformance/drawn.py                     # all cells
    python conformance/drawn.py --only westwood --only 10    # a controller, by Linux's name, or a path, by its number

A cell is a controller on a path, alone or twice. Alone and started at 0, one run is set beside the other: exact is
within 0.1 % of goodput. Besides, both sides are played with several starts, alone within a tick of 1 ms, of two flows
the second within 20 ms, and means are compared; three standard errors count as agreement, too (kernel_figures.py).
"""

from __future__ import annotations

import argparse
import csv
import functools
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import kernel_records
from ackclock import engine
from drawn_paths import MODULES, DrawnPath, paths, run_of
from kernel_figures import DRAWS_OF_START, GOODPUT, RTT, START_SPREAD_NS, Metric, Sample, noise
from kernel_runs import Flow, Measured, of_output
from session_cache import session_cache

RECORDS = Path(__file__).parent / "kernel" / "drawn" / "runs.csv"
FINE = RECORDS.with_name("fine-clock.csv")
"""The same with a clock of 1 ns, and without address resolution (README.md there)."""
FINE_PHASE_NS = 1_000
"""How long after a tick of the kernel's timers those runs begin, as the timestamps in their packets show."""
SPACING_NS = 50_000_000
"""Of the series from which means are taken: that of the records."""

EXACT = 0.001
"""Largest relative difference of goodput that is called exact."""
TICK_NS, TICK_PARTS = 1_000_000, 10

Key = tuple[int, str, int]
"""Number of the path, Linux's name of the controller, number of flows."""


@functools.cache
def _rows(records: Path = RECORDS) -> Mapping[Key, Mapping[str, list[Mapping[str, str]]]]:
    """The rows of a file by cell and by shift of the last flow's start."""
    found: dict[Key, dict[str, list[Mapping[str, str]]]] = {}
    with records.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = (int(row["path"]), row["module"], int(row["flows"]))
            found.setdefault(key, {}).setdefault(row["shift_ms"], []).append(row)
    return found


def keys() -> list[Key]:
    """Every cell that was recorded, in the order of paths, flows and controllers."""
    return sorted(_rows(), key=lambda key: (key[2], key[0], MODULES.index(key[1])))


def path_of(key: Key) -> DrawnPath:
    """The path of a cell."""
    return paths()[key[0] - 1]


def _courses(runs: Sequence[Measured]) -> list[Measured]:
    """Each course of events once (kernel_figures.py); runs whose flows differ by percents of goodput are two."""
    found: dict[tuple[tuple[float, int, int], ...], Measured] = {}
    for run in runs:
        course = tuple((f.retransmissions, len(f.epochs), round(100 * math.log(f.goodput_bps))) for f in run.flows)
        found.setdefault(course, run)
    return list(found.values())


def kernel(key: Key) -> list[Measured]:
    """The recorded runs, each course of events once; of two flows also those with a clock of 1 ns."""
    runs = list(_rows()[key].values())
    if key[2] > 1 and key in _rows(FINE):
        runs += _rows(FINE)[key].values()
    return _courses([_of_rows(key, rows) for rows in runs])


def _of_rows(key: Key, rows: Sequence[Mapping[str, str]]) -> Measured:
    duration = path_of(key).duration

    def flow(row: Mapping[str, str]) -> Flow:
        return Flow(
            goodput_bps=float(row["goodput_bps"]),
            share=1 - float(row["start_s"]) / duration,
            retransmissions=float(row["retransmissions"]),
            mean_rtt_s=float(row["mean_rtt_ms"]) / 1e3,
            mean_cwnd=float(row["mean_cwnd"]),
            epochs=(0.0,) * int(row["epochs"]),
        )

    return Measured(tuple(map(flow, rows)), float(rows[0]["mean_queue"]))


@session_cache
def ours(key: Key) -> tuple[Measured, ...]:
    """The runs in ackclock with several starts, each course of events once.

    Of two flows the second is shifted, over 20 ms. Alone, what hangs on the start is where it falls between two ticks
    of the timers: ten starts within a tick.
    """
    if key[2] > 1:
        return tuple(_courses([_played(key, seed, START_SPREAD_NS) for seed in range(1, DRAWS_OF_START + 1)]))
    return tuple(_courses([_played(key, 1, 0, TICK_NS * part // TICK_PARTS) for part in range(TICK_PARTS)]))


def _played(key: Key, seed: int, spread_ns: int, first_start_ns: int = 0) -> Measured:
    path, (_, module, flows) = path_of(key), key
    run, series = run_of(path, module, flows), kernel_records.probes(SPACING_NS)
    document = kernel_records.resolved(run, seed, spread_ns, series)
    if first_start_ns:
        document["flows"][0]["start"] = {"at_ns": first_start_ns}
    return of_output(engine.run(json.dumps(document)), path.round_trip, path.duration)


@session_cache
def alone(key: Key) -> tuple[Measured, Measured]:
    """Ours and the kernel's where a flow is alone and starts at 0: one run against one run."""
    return _played(key, 1, 0), _of_rows(key, _rows()[key]["0"])


def same(runs: tuple[Measured, Measured]) -> bool:
    """Whether two runs have the same goodput within a thousandth."""
    mine, theirs = runs
    return abs(mine.goodput_bps / theirs.goodput_bps - 1) <= EXACT


def exact(key: Key) -> bool:
    """Whether ours and the kernel's, alone and started at 0, have."""
    return same(alone(key))


@session_cache
def fine(key: Key) -> tuple[Measured, Measured]:
    """Ours, departures first, and the kernel's with a clock of 1 ns: a flow alone, begun at the same part of a tick."""
    path = path_of(key)
    run, series = run_of(path, key[1], 1), kernel_records.probes(SPACING_NS)
    document = kernel_records.resolved(run, 1, 0, series, FINE_PHASE_NS)
    document["links"][0]["queue"]["departures_first"] = True
    out = engine.run(json.dumps(document))
    return of_output(out, path.round_trip, path.duration), _of_rows(key, _rows(FINE)[key]["0"])


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure of a cell."""

    name: str
    ours: float
    kernel: float
    tolerance: float
    noise: float
    """Three standard errors of the difference of the means, relative to the kernel's; 0 where nothing is drawn."""

    @property
    def difference(self) -> float:
        """Relative to the kernel's."""
        return self.ours / self.kernel - 1

    @property
    def close(self) -> bool:
        """Whether it agrees without an allowance for noise."""
        return abs(self.difference) <= self.tolerance

    @property
    def agrees(self) -> bool:
        """Whether it agrees, or cannot be told from the kernel's."""
        return abs(self.difference) <= max(self.tolerance, self.noise)


def _metrics(flows: int) -> Iterator[tuple[str, Metric, float]]:
    """Names, measures and tolerances."""
    yield "goodput", lambda run: run.goodput_bps, GOODPUT
    yield "mean RTT", lambda run: run.mean_rtt_s, RTT

    def goodput(number: int) -> Metric:
        return lambda run: run.flows[number].goodput_bps

    if flows > 1:
        for number in range(flows):
            yield f"goodput, flow {number}", goodput(number), GOODPUT


@functools.cache
def compared(key: Key) -> tuple[Compared, ...]:
    """Every figure of a cell: goodputs of all and of each flow, and the mean RTT."""
    found = []
    for name, metric, tolerance in _metrics(key[2]):
        mine, theirs = Sample(tuple(map(metric, ours(key)))), Sample(tuple(map(metric, kernel(key))))
        found.append(Compared(name, mine.mean, theirs.mean, tolerance, noise(mine, theirs)))
    return tuple(found)


def agrees(key: Key) -> bool:
    """Whether every figure of a cell does."""
    return all(item.agrees for item in compared(key))


def close(key: Key) -> bool:
    """Whether every figure of a cell agrees without an allowance for noise."""
    return all(item.close for item in compared(key))


def retransmissions(runs: Sequence[Measured]) -> float:
    """Of all flows, mean over the runs."""
    return sum(run.retransmissions for run in runs) / len(runs)


def _how_close(runs: tuple[Measured, Measured]) -> str:
    mine, theirs = runs
    return "exact" if same(runs) else f"{100 * (mine.goodput_bps / theirs.goodput_bps - 1):+.2f} %"


def line(key: Key) -> str:
    """One row of the table."""
    number, module, flows = key
    texts = []
    for item in compared(key):
        factor = 1e3 if "RTT" in item.name else 1e-6
        allowed = f" (noise {100 * item.noise:.0f} %)" if item.noise else ""
        values = f"{item.ours * factor:.3f}/{item.kernel * factor:.3f}"
        texts.append(f"{item.name} {values} {100 * item.difference:+.2f} %{allowed}")
    count = f"retransmitted {retransmissions(ours(key)):.0f}/{retransmissions(kernel(key)):.0f}"
    verdict = "agrees" if close(key) else "noise" if agrees(key) else "DIFFERS"
    if flows == 1:
        first = _how_close(alone(key))
        texts.insert(0, f"started at 0: {first}; with a clock of 1 ns: {_how_close(fine(key))}")
    return f"{number:2} {module:9} {flows}  {verdict:8} {'; '.join(texts)}; {count}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table; 0 even where runs differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], help="controller or number of a path; may be repeated")
    options = parser.parse_args(arguments)
    known = {*MODULES, *(str(path.number) for path in paths())}
    if unknown := set(options.only) - known:
        raise SystemExit(f"drawn: no records of {', '.join(sorted(unknown))}; known: {', '.join(sorted(known))}")
    controllers, numbers = set(options.only) & set(MODULES), set(options.only) - set(MODULES)
    wanted = [
        key for key in keys() if (not controllers or key[1] in controllers) and (not numbers or str(key[0]) in numbers)
    ]
    for key in wanted:
        print(line(key), flush=True)
    single = [key for key in wanted if key[2] == 1]
    found = sum(same(fine(key)) for key in single)
    print(f"{sum(map(exact, single))} of {len(single)} flows alone are exact, {found} with a clock of 1 ns")
    print(f"{sum(map(agrees, wanted))} of {len(wanted)} cells agree, {sum(map(close, wanted))} without noise")
    return 0


if __name__ == "__main__":
    sys.exit(main())
