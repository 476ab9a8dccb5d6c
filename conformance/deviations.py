"""The known deviations from the kernel: conformance/deviations.toml."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path

from agreement import Deviation

FILE = Path(__file__).parent / "deviations.toml"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the file."""

    controller: str
    scenarios: tuple[str, ...]
    metrics: tuple[str, ...]
    deviation: Deviation

    def covers(self, scenario: str, controller: str, metric: str) -> bool:
        """Whether it is about this figure; a flow's figure belongs to its metric."""
        return controller == self.controller and scenario in self.scenarios and metric.split(",")[0] in self.metrics


@functools.cache
def entries() -> tuple[Entry, ...]:
    """All of them, in the file's order."""
    raw = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return tuple(
        Entry(
            controller=item["controller"],
            scenarios=tuple(item["scenarios"]),
            metrics=tuple(item["metrics"]),
            deviation=Deviation(item["mechanism"], float(item["bound"])),
        )
        for item in raw.get("deviation", [])
    )


def known(scenario: str, controller: str, metric: str) -> Deviation | None:
    """The deviation of a figure, if there is one."""
    return next((entry.deviation for entry in entries() if entry.covers(scenario, controller, metric)), None)
