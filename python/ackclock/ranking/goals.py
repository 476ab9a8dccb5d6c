"""What candidates are ranked by: metrics that are to go up or down, with weights; and goals that have a name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ackclock.comparison.values import KNOWN
from ackclock.errors import InputError, nearest
from ackclock.results.meaning import unknown

PRESETS: Mapping[str, str] = {
    "bulk": "goodput_bps up",
    "interactive": "p95_fct_s down 2x, mean_fct_s down",
    "low-delay": "goodput_bps up, p95_delay_s down 2x",
    "pantheon": "goodput_bps up, p95_delay_s down",
}
"""Goals by name; docs/rank.md says where they come from."""

STANDS_IN: Mapping[str, str] = {"p95_delay_s": "mean_rtt_s"}
"""What takes the place of a metric of a preset that a result does not have."""

_HIGHER = (
    "_bps",
    "utilisation",
    "jain",
    "max_min_index",
    "proportional_fairness",
    "transfers_completed",
    "pages_completed",
)
_TERM = re.compile(r"(?P<metric>\S+?)(?:\s+(?P<way>up|down))?(?:\s+(?P<weight>\d+(?:\.\d*)?|\.\d+)x)?")


@dataclass(frozen=True, slots=True)
class Aim:
    """A metric, whether more of it is better, and how much that counts."""

    metric: str
    up: bool
    weight: float = 1.0

    def __str__(self) -> str:
        weight = "" if self.weight == 1 else f" {self.weight:g}x"
        return f"{self.metric} {'up' if self.up else 'down'}{weight}"


@dataclass(frozen=True, slots=True)
class Goal:
    """Aims, and the name of the preset if it is one."""

    aims: tuple[Aim, ...]
    preset: str | None = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics it is of."""
        return tuple(aim.metric for aim in self.aims)

    def __str__(self) -> str:
        return ", ".join(map(str, self.aims))


def upwards(metric: str) -> bool:
    """Whether more of a metric is better, where nobody says so."""
    return metric.endswith(_HIGHER)


def read(text: str) -> Goal:
    """A goal from its text, such as ``goodput_bps up, p95_queue_delay_s down 2x``, or from the name of a preset.

    Raises :class:`ackclock.InputError`.
    """
    name = text.strip()
    if name in PRESETS:
        return Goal(_aims(PRESETS[name]), name)
    if re.fullmatch(r"[\w-]+", name) and name not in KNOWN:
        preset = nearest(name, PRESETS)
        problem = unknown(name, KNOWN, "goal or metric")
        remedy = f"{problem.remedy}; goals: {', '.join(PRESETS)}" if preset is None else f"did you mean '{preset}'?"
        raise InputError(problem.problem, remedy, key="goal")
    return Goal(_aims(text))


def _aims(text: str) -> tuple[Aim, ...]:
    found: dict[str, Aim] = {}
    for part in text.split(","):
        matched = _TERM.fullmatch(part.strip())
        if matched is None:
            remedy = "write METRIC, up or down, and a weight if it is not 1: goodput_bps up, p95_queue_delay_s down 2x"
            raise InputError(f"'{part.strip()}' is not an aim", remedy, key="goal")
        metric, weight = matched["metric"], float(matched["weight"] or 1)
        if metric not in KNOWN:
            problem = unknown(metric, KNOWN)
            raise InputError(problem.problem, problem.remedy, key="goal")
        if metric in found or weight == 0:
            why = "is there twice" if metric in found else "has no weight"
            raise InputError(f"'{metric}' {why}", "name each metric once, with a weight above zero", key="goal")
        found[metric] = Aim(metric, upwards(metric) if matched["way"] is None else matched["way"] == "up", weight)
    return tuple(found.values())
