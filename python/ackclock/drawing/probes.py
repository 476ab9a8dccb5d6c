"""What a run must record for its figure to be drawn."""

from __future__ import annotations

import dataclasses

from ackclock.drawing.ticks import nice
from ackclock.scenario.plan import Plan, Point
from ackclock.scenario.settings import Probes
from ackclock.series import CELL, OVERVIEW, OVERVIEW_OF_CELL, USER

_SAMPLES = 1200
_OF_CELL = 240
"""Samples of a cell: they are means over their interval, and one of a few TTIs is noise."""


def recorded(plan: Plan) -> Plan:
    """`plan`, recording what the overview shows about 1200 times over a run where it does not already.

    That is cwnd, delivered and queue; of a cell some 240 times its resource blocks, and rates and ages of its users.
    """
    return dataclasses.replace(plan, points=tuple(_recorded(point) for point in plan.points))


def _recorded(point: Point) -> Point:
    probes = point.scenario.probes
    present = probes.resolved()
    every = max(10**6, nice(point.scenario.run.duration / _SAMPLES))
    added = {name: every for name in OVERVIEW if name not in present}
    if point.scenario.topology.kind == "lte_cell":
        # All series of cells have the same interval.
        given = next((present[name]["every_ns"] for name in (*CELL, *USER) if name in present), None)
        means = given or max(10**7, nice(point.scenario.run.duration / _OF_CELL))
        added |= {name: means for name in OVERVIEW_OF_CELL if name not in present}
    updated: Probes = probes.model_copy(update=added)
    return dataclasses.replace(point, scenario=point.scenario.model_copy(update={"probes": updated}))
