"""What a run must record for its figure to be drawn."""

from __future__ import annotations

import dataclasses

from ackclock.drawing.ticks import nice
from ackclock.scenario.plan import Plan, Point
from ackclock.scenario.settings import Probes
from ackclock.series import OVERVIEW

_SAMPLES = 1200


def recorded(plan: Plan) -> Plan:
    """`plan`, recording cwnd, delivered and queue about 1200 times over a run where it does not already."""
    return dataclasses.replace(plan, points=tuple(_recorded(point) for point in plan.points))


def _recorded(point: Point) -> Point:
    probes = point.scenario.probes
    present = probes.resolved()
    every = max(10**6, nice(point.scenario.run.duration / _SAMPLES))
    added = {name: every for name in OVERVIEW if name not in present}
    updated: Probes = probes.model_copy(update=added)
    return dataclasses.replace(point, scenario=point.scenario.model_copy(update={"probes": updated}))
