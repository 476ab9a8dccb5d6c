"""What ns-3 does on the paths of the recorded kernel: conformance/ns3/linux-paths.csv."""

from __future__ import annotations

import csv
import functools
from collections.abc import Mapping
from pathlib import Path

from kernel_records import record
from kernel_runs import Flow, Measured

FILE = Path(__file__).parent / "ns3" / "linux-paths.csv"


@functools.cache
def _rows() -> Mapping[str, list[Mapping[str, str]]]:
    found: dict[str, list[Mapping[str, str]]] = {}
    with FILE.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found.setdefault(f"{row['scenario']}_{row['cc']}", []).append(row)
    return found


@functools.cache
def ns3(name: str) -> Measured | None:
    """ns-3's run of a kernel record's path; None where it was not recorded."""
    rows = _rows().get(name)
    if rows is None:
        return None
    run = record(name)
    flows = tuple(
        Flow(
            goodput_bps=float(row["goodput_bps"]),
            share=1 - flow["start"] / run["scenario"]["duration"],
            retransmissions=float(row["retransmissions"]),
            mean_rtt_s=float(row["mean_rtt_ms"]) / 1e3,
            mean_cwnd=float(row["mean_cwnd"]),
            epochs=(0.0,) * int(row["epochs"]),
        )
        for row, flow in zip(rows, run["flows"], strict=True)
    )
    return Measured(flows, float(rows[0]["mean_queue"]))
