"""What a real kernel with the real proxy made of the same downloads: rates that were recorded, and their gains."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .measures import OFF, SIZES

FOLDER = Path(__file__).parent / "expected"
KEYS = {"mean": ("topology.rtt", "topology.profile", "flows.0.relay"), "outages": ("flows.0.relay",)}
"""By scenario what the rows of its file are called after; the last of them is the proxy."""
COLUMNS = ("rate_100k", "rate_500k", "rate_1m", "rate_5m", "rate_10m", "rate_20m")


@dataclass(frozen=True, slots=True)
class Cell:
    """A download of a scenario with and without a proxy: its keys but for the proxy's, the proxy, the size."""

    scenario: str
    where: dict[str, str]
    number: int
    gain: float

    @property
    def name(self) -> str:
        """In words."""
        return ", ".join([self.scenario, *self.where.values(), f"{SIZES[self.number] / 1e6:g} MB"])


def recorded(scenario: str) -> dict[tuple[str, ...], dict[str, float]]:
    """Bit/s by the names of a row and of a column."""
    text = (FOLDER / f"linux-{scenario}.csv").read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(line for line in text if not line.startswith("#"))
    return {tuple(row.pop("row").split(", ")): {name: float(value) for name, value in row.items()} for row in rows}


def cells() -> Iterator[Cell]:
    """Everything that was recorded."""
    for scenario, keys in KEYS.items():
        found = recorded(scenario)
        for (*values, relay), rates in found.items():
            if relay == OFF:
                continue
            off = found[(*values, OFF)]
            for column, rate in rates.items():
                where = dict(zip(keys[:-1], values, strict=True))
                yield Cell(scenario, where, COLUMNS.index(column), rate / off[column] - 1)
