"""Runs whose applications limit the sender: ours beside the kernel, and what is known of differences."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from agreement import Deviation, Figure, figure
from kernel_records import controller_of, scenario_of
from limited_records import names
from limited_runs import LARGE, RTT, TIME, Cell, kernel, ours
from session_cache import session_cache

FILE = Path(__file__).parent / "limited_deviations.toml"


@functools.cache
def deviations() -> Mapping[str, Deviation]:
    """Cells that are known to differ, by name."""
    raw = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: Deviation(entry["mechanism"], float(entry["bound"]))
        for entry in raw.get("deviation", [])
        for name in entry["cells"]
    }


@session_cache
def cell(name: str) -> Cell:
    """A record beside ours."""
    return Cell(name, kernel(name), ours(name))


def of(name: str) -> Iterator[Figure]:
    """Completion time or goodput, and mean RTT where it is compared."""
    both = cell(name)
    mine, theirs = both.ours, both.kernel
    pairs = [("goodput", mine.goodput_bps, theirs.goodput_bps, TIME)]
    if theirs.completion_s is not None:
        pairs = [("completion time", mine.completion_s or float("inf"), theirs.completion_s, TIME)]
    if theirs.mean_rtt_s is not None:
        pairs.append(("mean RTT", mine.mean_rtt_s or float("inf"), theirs.mean_rtt_s, RTT))
    for metric, value, reference, tolerance in pairs:
        known = deviations().get(name)
        found = figure(scenario_of(name), controller_of(name), metric, (value, reference), tolerance, known)
        yield replace(found, large=LARGE)


def figures() -> Iterator[Figure]:
    """All of them."""
    for name in names():
        yield from of(name)
