"""Refusing what cannot fit before it starts, and not running more at once than fits."""

from __future__ import annotations

from ackclock import engine, host
from ackclock.errors import InputError
from ackclock.scenario.plan import Job, Plan

_KEEP_FREE = 0.05  # of what is available, for everything that is not a run


def affordable(plan: Plan, workers: int) -> int:
    """How many runs of `plan` may go on at once: `workers`, or fewer if memory is short.

    Raises :class:`InputError` if the largest run does not fit on its own, or the results of all do not.
    """
    available = host.available_memory()
    if available is None:
        return workers
    usable = int(available * (1 - _KEEP_FREE))
    needs = [engine.estimate_bytes(Job(0, point, 0).text()) for point in plan.points]
    largest = max(needs)
    if largest > usable:
        raise _too_large(plan, "one run needs", largest, usable)
    return max(1, min(workers, usable // max(1, largest)))


def _too_large(plan: Plan, what: str, needed: int, usable: int) -> InputError:
    problem = f"{what} about {_size(needed)} of memory and {_size(usable)} are free"
    remedy = "record fewer series or at longer intervals ([probes]), or use fewer flows, a smaller BDP or queue"
    return InputError(problem, remedy, source=plan.source)


def _size(count: int) -> str:
    value = float(count)
    units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        del units[0]
    return f"{value:.3g} {units[0]}"
