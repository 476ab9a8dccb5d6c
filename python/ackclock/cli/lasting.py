"""How long runs in real time will take: said before they begin, as no computer plays them faster."""

from __future__ import annotations

from collections.abc import Iterable

from ackclock.cli import console
from ackclock.scenario.plan import Plan
from ackclock.scenario.settings import in_real_time


def announce(plans: Iterable[Plan], *, refusing: bool = False) -> None:
    """Say how long the runs of plans take, if some are in real time. `refusing`: some may not be played at all."""
    settings = [point.scenario.run for plan in plans for point in plan.points]
    said(sum(in_real_time(run) * run.replications for run in settings), refusing=refusing)


def said(seconds: float, *, refusing: bool = False) -> None:
    """Say that runs in real time last so long together; of none nothing."""
    if seconds:
        least = f"{worded(seconds)} at least{', if all can be played there' if refusing else ''}"
        console.warn(f"runs on this computer's kernel are played one after the other, and take {least}")


def worded(seconds: float) -> str:
    """A time in words: seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"
