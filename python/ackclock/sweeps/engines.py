"""The same runs on another engine."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable
from typing import Any, get_args

from ackclock import kernel
from ackclock.errors import InputError
from ackclock.scenario.checks import no_effect
from ackclock.scenario.plan import Plan, Point
from ackclock.scenario.settings import Run
from ackclock.virtual import kept

SIM = "sim"
"""The engine that plays everything."""
KERNEL = "kernel"
"""The engine that plays on this computer's kernel."""
VIRTUAL = "kernel-vt"
"""The engine that plays on kernels that were built."""

ENGINES: tuple[str, ...] = get_args(Run.model_fields["engine"].annotation)
"""All engines by name."""


_KEY = "run.engine"
"""What a sweep of engines is called in the parameters of its points."""


def played_by(plan: Plan, engine: str, **settings: Any) -> Plan:
    """A plan whose runs are those of `engine`; `settings` are other keys under ``[run]``.

    Whether the engine can play a point shows when it is played: of a plan that was loaded the others are played all
    the same. Points that differ in their engine alone are one here, for all would be played by the same.
    Raises :class:`InputError` for a processor that the path is to have and that is not there: that nobody could play.
    """
    if engine == KERNEL:
        kernel.check_pin(settings.get("pin"), "pin")
        for point in plan.points if "pin" not in settings else ():
            kernel.check_pin(point.scenario.run.pin, "run.pin", plan.source)
    found: dict[str, Point] = {}
    for point in plan.points:
        params = {key: value for key, value in point.params.items() if key != _KEY}
        found.setdefault(repr(params), dataclasses.replace(point, index=len(found), params=params))
    return dataclasses.replace(
        plan, points=tuple(_point(point, {"engine": engine, **settings}) for point in found.values())
    )


def check_kernel(name: str) -> None:
    """Raise :class:`InputError` for a kernel of this name that is not there."""
    kept.named(name)


def check_noticed(
    given: Iterable[str],
    engines: Collection[str],
    remedy: str = "choose engine {}, or leave it out",
    named: Callable[[str], str] = str,
) -> None:
    """Raise :class:`InputError` for a key of ``[run]`` that was given and that no engine that plays takes notice of.

    remedy: with a place for the engine that does. named: what the key is called where it was given.
    """
    for key in given:
        knowing = no_effect.OF_ENGINES.get(key)
        if knowing and engines and set(engines).isdisjoint(knowing):
            play = f"{' and '.join(sorted(engines))} {'plays' if len(engines) == 1 else 'play'}"
            problem = f"it belongs to engine {' or '.join(knowing)}, and {play} this"
            raise InputError(problem, remedy.format(knowing[0]), key=named(key))


def _point(point: Point, settings: dict[str, Any]) -> Point:
    run = point.scenario.run.model_copy(update=settings)
    idle = no_effect.of_engine(point.scenario)  # what the engine of the scenario takes no notice of says nothing here
    warnings = tuple(line for line in point.warnings if line not in idle)
    return dataclasses.replace(point, scenario=point.scenario.model_copy(update={"run": run}), warnings=warnings)
