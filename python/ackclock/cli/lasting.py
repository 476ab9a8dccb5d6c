"""How long runs in real time will take, and whether a computer can: said before they begin."""

from __future__ import annotations

from collections.abc import Iterable

from ackclock.cli import console
from ackclock.execution import pace, turns
from ackclock.scenario.plan import Plan
from ackclock.scenario.settings import in_real_time
from ackclock.sweeps.run import Progress


def announce(plans: Iterable[Plan], *, refusing: bool = False) -> None:
    """Say how long the runs of plans take, if some are in real time, and which ask for too much of the computer.

    `refusing`: some may not be played at all.
    """
    asked = list(plans)
    settings = [point.scenario.run for plan in asked for point in plan.points]
    said(sum(in_real_time(run) * run.replications for run in settings), refusing=refusing)
    strained(asked)


def announced(plans: Iterable[Plan], progress: Progress, *, refusing: bool = False) -> Progress:
    """`progress`, which says as :func:`announce` does before its first call: what is refused is said without that."""
    asked: list[Plan] | None = list(plans)

    def report(finished: int, total: int) -> None:
        nonlocal asked
        if asked is not None:
            announce(asked, refusing=refusing)
            asked = None
        progress(finished, total)

    return report


def strained(plans: Iterable[Plan]) -> None:
    """Say which plans have more packets in real time than this computer is likely to hand on in time."""
    for strain in pace.strains(plans):
        console.warn(str(strain))


def said(seconds: float, *, refusing: bool = False) -> None:
    """Say that runs in real time last so long together, and if they have to wait; of none nothing."""
    if seconds:
        least = f"{worded(seconds)} at least{', if all can be played there' if refusing else ''}"
        console.warn(f"runs on this computer's kernel are played one after the other, and take {least}")
        if turns.busy():
            console.warn("another process plays in real time now: they wait until its run is over")


def worded(seconds: float) -> str:
    """A time in words: seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"
