"""What another engine than the simulator leaves out of a study: scenarios that are measured by captures."""

from __future__ import annotations

from ackclock.errors import InputError
from ackclock.results.result import Result
from ackclock.scenario.plan import Plan
from ackclock.study.model import Study
from ackclock.sweeps import unplayed
from ackclock.sweeps.engines import SIM

_WHY = "measured by captures, which only the simulator writes"


def scenarios(study: Study, engine: str | None) -> tuple[str, ...]:
    """Those that an engine leaves out. Raises :class:`InputError` where that is all of them."""
    if engine in (None, SIM):
        return ()
    found = tuple(setting.id for setting in study.settings if setting.captured)
    if len(found) == len(study.settings):
        problem = f"nothing of '{study.name}' is played by another engine: all of it is {_WHY}"
        raise InputError(problem, f"leave --engine out; {_alone(str(engine))}", key="engine")
    return found


def result(plan: Plan, engine: str) -> Result:
    """What is known of a scenario that is left out: no run of it has a result, all for the same reason."""
    return unplayed.result(plan, f"{_WHY}; {_alone(engine)}")


def _alone(engine: str) -> str:
    return f"a file of the study by itself is played by: ackclock run FILE --engine {engine}"
