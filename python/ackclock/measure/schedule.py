"""When a campaign measures: times of the day at which a repetition begins, and waiting for them."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from typing import Annotated, Literal, Protocol

from pydantic import Field

from ackclock.scenario.values.base import Model
from ackclock.scenario.values.types import matching

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

TimeOfDay = Annotated[str, matching(r"([01]\d|2[0-3]):[0-5]\d", "a time of the day", "write it as 08:00 or 23:30")]

_LONGEST_S = 30.0
"""Of a sleep: a computer that was suspended, or whose clock was set, is noticed after so long."""


class Schedule(Model):
    """``[schedule]``: one repetition begins at each of these times, by the clock on the wall."""

    at: Annotated[tuple[TimeOfDay, ...], Field(min_length=1)]
    days: Annotated[tuple[Day, ...], Field(min_length=1)] = DAYS

    def following(self, now: dt.datetime) -> dt.datetime:
        """The first of its times after this one."""
        times = sorted(dt.time.fromisoformat(text) for text in self.at)
        for ahead in range(8):
            day = now.date() + dt.timedelta(days=ahead)
            if DAYS[day.weekday()] not in self.days:
                continue
            for each in times:
                found = dt.datetime.combine(day, each)
                if found > now:
                    return found
        raise AssertionError("a week has each of its days")

    def words(self) -> str:
        """Its times as people say them."""
        days = "every day" if set(self.days) == set(DAYS) else ", ".join(day for day in DAYS if day in self.days)
        return f"{', '.join(sorted(self.at))}, {days}"


class Clock(Protocol):
    """What time it is on the wall here, and waiting."""

    def now(self) -> dt.datetime:
        """Local time, without a zone."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class Wall:
    """The computer's."""

    def now(self) -> dt.datetime:
        """Local time, without a zone."""
        return dt.datetime.now()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


def keep(schedule: Schedule, clock: Clock, measure: Callable[[], bool], report: Callable[[str], None]) -> None:
    """Measure at each of its times, until `measure` says that nothing is left.

    A time that passes while something is measured, or while the computer sleeps, is left out. One that comes twice, as
    where summer time ends, counts once.
    """
    last = clock.now()
    while True:
        begin = schedule.following(max(last, clock.now()))
        report(f"the next repetition begins {begin:%Y-%m-%d %H:%M}")
        while (left := (begin - clock.now()).total_seconds()) > 0:
            clock.sleep(min(left, _LONGEST_S))
        last = begin
        if not measure():
            return
