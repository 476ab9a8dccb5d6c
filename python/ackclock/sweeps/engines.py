"""The same runs on another engine."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

from ackclock.scenario.plan import Plan, Point
from ackclock.scenario.settings import Run

SIM = "sim"
"""The engine that plays everything."""

ENGINES: tuple[str, ...] = get_args(Run.model_fields["engine"].annotation)
"""All engines by name."""


def played_by(plan: Plan, engine: str, **settings: Any) -> Plan:
    """A plan whose runs are those of `engine`; `settings` are other keys under ``[run]``.

    Whether the engine can play a point shows when it is played: of a plan that was loaded the others are played all
    the same.
    """
    return dataclasses.replace(
        plan, points=tuple(_point(point, {"engine": engine, **settings}) for point in plan.points)
    )


def _point(point: Point, settings: dict[str, Any]) -> Point:
    run = point.scenario.run.model_copy(update=settings)
    return dataclasses.replace(point, scenario=point.scenario.model_copy(update={"run": run}))
