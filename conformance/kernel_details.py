"""One recorded kernel run beside ours in detail: reduction by reduction, and as series."""

from __future__ import annotations

import csv
import functools
import json
from bisect import bisect_left, bisect_right
from pathlib import Path

import polars as pl

from ackclock import engine
from kernel_records import MSS, controller_of, document, record, scenario_of

Steps = tuple[list[float], list[float]]
"""Times and values of a series that holds between its changes."""

PROBES = ("cwnd", "ssthresh", "srtt", "recoveries", "timeouts")


@functools.cache
def _steps(name: str) -> dict[tuple[str, str], Steps]:
    """Every change of every series of our run, by flow and metric."""
    run = document(name) | {"probes": dict.fromkeys(PROBES, "on_change")}
    series = engine.run(json.dumps(run)).series.with_columns(pl.col("metric").cast(pl.String))
    parts = series.partition_by("id", "metric", as_dict=True)
    return {(str(key[0]), str(key[1])): (p["time_s"].to_list(), p["value"].to_list()) for key, p in parts.items()}


def _before(steps: Steps, time: float) -> float:
    """The value just before `time`."""
    times, values = steps
    return values[max(0, bisect_left(times, time) - 1)]


def _after(steps: Steps, time: float) -> float:
    """The value at `time`, all that happens then included."""
    times, values = steps
    return values[max(0, bisect_right(times, time) - 1)]


def epochs(name: str, count: int) -> str:
    """The first `count` reductions of every flow: time, 3 fast or 4 timeout, window before, threshold after.

    The kernel's are from its samples, every 10 ms (fine10: 1 ms).
    """
    lines = []
    for number, flow in enumerate(record(name)["flows"]):
        flow_id = str(number)
        window, threshold = _steps(name)[flow_id, "cwnd"], _steps(name)[flow_id, "ssthresh"]
        kinds = {"recoveries": 3, "timeouts": 4}
        found = [
            (time, kind)
            for metric, kind in kinds.items()
            for time, value in zip(*_steps(name)[flow_id, metric], strict=True)
            if value > 0
        ]
        mine = [
            f"{time:9.3f} {kind:2d} {_before(window, time) / MSS:8.1f} {_after(threshold, time) / MSS:8.1f}"
            for time, kind in sorted(found)[:count]
        ]
        theirs = ["{:9.3f} {:2d} {:8d} {:8d}".format(*entry) for entry in flow["recoveries"][:count]]
        lines.append(f"    flow {number}: t s, 3 fast 4 timeout, cwnd before, ssthresh after; ours | kernel")
        for index in range(max(len(mine), len(theirs))):
            left = mine[index] if index < len(mine) else " " * 30
            lines.append(f"      {left} | {theirs[index] if index < len(theirs) else ''}")
    return "\n".join(lines)


def write_series(name: str, folder: Path) -> None:
    """`<scenario>-<controller>-<flow>.csv`: time, window (segments) and smoothed RTT (ms) of both sides."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, flow in enumerate(record(name)["flows"]):
        window, rtt = _steps(name)[str(number), "cwnd"], _steps(name)[str(number), "srtt"]
        path = folder / f"{scenario_of(name)}-{controller_of(name)}-{number}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["time_s", "cwnd_ours", "cwnd_kernel", "ssthresh_kernel", "srtt_ms_ours", "srtt_ms_kernel"])
            grid = flow["t"]
            times = [grid["t0"] + index * grid["dt"] for index in range(grid["n"])] if isinstance(grid, dict) else grid
            for index, time in enumerate(times):
                row = [_after(window, time) / MSS, flow["cwnd"][index], flow["ssthresh"][index]]
                row += [_after(rtt, time) * 1e3, flow["srtt_us"][index] / 1e3]
                writer.writerow([f"{value:.6g}" for value in (time, *row)])
