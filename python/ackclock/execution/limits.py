"""Refusing what cannot fit before it starts, and not running more at once than fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock import engine, host
from ackclock.errors import InputError
from ackclock.grouping import count_flows
from ackclock.scenario.compile import compile_groups
from ackclock.scenario.plan import Job, Plan
from ackclock.series import CELL, FLOW, LINK, USER

_KEEP_FREE = 0.05  # of what is available, for everything that is not a run
# Measured, beyond what the engine itself holds of a sample of a series:
_BYTES_UNDERWAY = 120  # as a table of its run, and on its way to this process
_BYTES_KEPT = 80  # as a labelled row, and once more while tables are joined
_BYTES_PER_FLOW = 8192  # in the engine, which reckons with the same


def affordable(plan: Plan, workers: int, *, keeping: bool = True) -> int:
    """How many runs of `plan` may go on at once: `workers`, or fewer if memory is short.

    `keeping`: the results of all runs stay in memory until the last one. Raises :class:`InputError` if the largest run
    does not fit on its own, or the results of all do not. Series that follow events cannot be foreseen and are not
    counted.
    """
    available = host.available_memory()
    if available is None:
        return workers
    usable = int(available * (1 - _KEEP_FREE))
    largest = kept = 0
    for point in plan.points:
        job = Job(0, point, 0)
        document = compile_groups(point.scenario)
        samples = _samples(document)
        need = engine.estimate_bytes(job.text()) + samples * _BYTES_UNDERWAY
        if need > usable:
            raise _too_large(plan, "one run needs", need, usable, *_culprit(document, samples, need))
        largest = max(largest, need)
        kept += samples * _BYTES_KEPT * point.scenario.run.replications if keeping else 0
    if kept + largest > usable:
        raise _too_large(plan, "the series of all runs need", kept, usable, *_PROBES)
    return max(1, min(workers, (usable - kept) // max(1, largest)))


_PROBES = ("probes", "record fewer series, or at longer intervals")
_FLOWS = ("flows", "use fewer flows")
_PATH = ("topology", "use a lower rate, shorter delays or a smaller queue")


def _culprit(document: Mapping[str, Any], samples: int, need: int) -> tuple[str, str]:
    """The key that takes most of the memory, and what to do about it."""
    if 2 * samples * _BYTES_UNDERWAY > need:
        return _PROBES
    return _FLOWS if 2 * count_flows(document) * _BYTES_PER_FLOW > need else _PATH


def _samples(document: Mapping[str, Any]) -> int:
    """How many samples a run records at fixed intervals."""
    cells = document.get("cells", ())
    owners = {
        **dict.fromkeys(FLOW, count_flows(document)),
        **dict.fromkeys(LINK, len(document["links"])),
        **dict.fromkeys(CELL, len(cells)),
        **dict.fromkeys(USER, sum(len(cell["users"]) for cell in cells)),
    }
    return sum(
        (document["duration_ns"] // sampling["every_ns"] + 1) * owners[name]
        for name, sampling in document["probes"].items()
        if isinstance(sampling, dict)
    )


def _too_large(plan: Plan, what: str, needed: int, usable: int, key: str, remedy: str) -> InputError:
    problem = f"{what} about {_size(needed)} of memory and {_size(usable)} are free"
    return InputError(problem, remedy, source=plan.source, key=key)


def _size(count: int) -> str:
    value = float(count)
    units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        del units[0]
    return f"{value:.3g} {units[0]}"
