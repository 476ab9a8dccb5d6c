"""The tables of docs/validation.md about senders that their applications limit, beside the Linux kernel."""

from __future__ import annotations

from collections.abc import Callable

import limited_figures as figures
import limited_records as records
from ackclock.engine import catalogue
from generate import table
from kernel_records import controller_of, scenario_of
from limited_runs import Cell
from validation_kernel import percent

SCENARIOS = (
    *("rr0", "rr50", "rr190", "rr1000", "fastrr190", "fastrr1000", "lossrr50", "lossrr190", "lossrr1000"),
    *("onoff", "paced", "slowread", "short", "nagle", "nodelay"),
)


def _matrix(text: Callable[[Cell], str]) -> str:
    """Controller by scenario."""
    cells = {(controller_of(name), scenario_of(name)): figures.cell(name) for name in records.names()}
    order = [name for name in catalogue().controllers if (name, SCENARIOS[0]) in cells]
    rows = ([f"`{name}`", *(text(cells[name, scenario]) for scenario in SCENARIOS)] for name in order)
    return table(["controller", *SCENARIOS], rows)


def agreement() -> str:
    """How many cells agree."""
    found = [figures.cell(name) for name in records.names()]
    agree, large = sum(cell.agrees for cell in found), sum(cell.large for cell in found)
    return (
        f"**{agree} of {len(found)} cells** agree: completion time or goodput within 5 % and mean RTT within 10 %. "
        f"{large or 'None'} differ{'' if large > 1 else 's'} by more than 20 %."
    )


def speeds() -> str:
    """Completion time or goodput, relative to Linux."""
    return _matrix(lambda cell: percent(cell.speed - 1))


def round_trips() -> str:
    """Mean RTT, relative to Linux."""
    return _matrix(lambda cell: "" if cell.rtt is None else percent(cell.rtt - 1))


def retransmissions() -> str:
    """Of both."""
    return _matrix(lambda cell: f"{cell.ours.retransmissions} / {cell.kernel.retransmissions}")
