"""How long runs in real time will take: said before they begin, as no computer plays them faster."""

from __future__ import annotations

from collections.abc import Iterable

from ackclock.cli import console
from ackclock.scenario.plan import Plan
from ackclock.scenario.settings import in_real_time


def announce(plans: Iterable[Plan]) -> None:
    """Say how long the runs of plans take, if some are in real time."""
    said(
        sum(
            in_real_time(point.scenario.run) * point.scenario.run.replications
            for plan in plans
            for point in plan.points
        )
    )


def said(seconds: float) -> None:
    """Say that runs in real time last so long together; of none nothing."""
    if seconds:
        console.warn(
            f"runs on this computer's kernel are played one after the other, and take {worded(seconds)} at least"
        )


def worded(seconds: float) -> str:
    """A time in words: seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"
