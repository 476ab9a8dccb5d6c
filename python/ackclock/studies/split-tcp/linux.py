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
OFTENER = {"mean": ("short", "five"), "outages": ("away",)}
"""By scenario files with more runs of some of its downloads, which hold instead."""
OFTEN = "often"
"""A scenario, and its file, of cells of `mean` whose runs scatter so much that they are played more often still."""
Rates = dict[tuple[str, ...], dict[str, dict[int, float]]]


@dataclass(frozen=True, slots=True)
class Cell:
    """A download of a scenario with a proxy: its keys but for the proxy's, the size, and the gain by replication."""

    scenario: str
    where: dict[str, str]
    number: int
    gains: dict[int, float]

    @property
    def name(self) -> str:
        """In words."""
        return ", ".join([self.scenario, *self.where.values(), f"{SIZES[self.number] / 1e6:g} MB"])


def recorded(scenario: str) -> Rates:
    """Bit/s by the names of a row and of a column, and by replication."""
    text = (FOLDER / f"linux-{scenario}-runs.csv").read_text(encoding="utf-8").splitlines()
    found: Rates = {}
    for row in csv.DictReader(line for line in text if not line.startswith("#")):
        columns = found.setdefault(tuple(row.pop("row").split(", ")), {})
        replication = int(row.pop("replication"))
        for column, value in row.items():
            columns.setdefault(column, {})[replication] = float(value)
    return found


def cells() -> Iterator[Cell]:
    """Everything that was recorded, each cell of the scenario that has most runs of it."""
    often = recorded(OFTEN)
    yield from _cells(OFTEN, KEYS["mean"], often)
    for scenario, keys in KEYS.items():
        found = recorded(scenario)
        for oftener in OFTENER.get(scenario, ()):
            for key, rates in recorded(oftener).items():
                found[key].update(rates)
        if scenario == "mean":
            for key, rates in often.items():
                found[key] = {column: own for column, own in found[key].items() if column not in rates}
        yield from _cells(scenario, keys, found)


def _cells(scenario: str, keys: tuple[str, ...], found: Rates) -> Iterator[Cell]:
    for (*values, relay), rates in found.items():
        if relay == OFF:
            continue
        for column, on in rates.items():
            off = found[(*values, OFF)][column]
            gains = {number: on[number] / off[number] - 1 for number in on}
            yield Cell(scenario, dict(zip(keys[:-1], values, strict=True)), COLUMNS.index(column), gains)
