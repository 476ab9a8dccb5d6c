"""A controller that decides once per interval: what a trained agent is derived from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ackclock.controllers.base import Controller

if TYPE_CHECKING:
    from ackclock._ackclock import Interval


@dataclass(frozen=True, slots=True)
class Decision:
    """What an agent decides. None leaves it as it is."""

    cwnd: float | None = None
    """Congestion window, bytes, up to 1e15; fractions are cut off. The engine keeps it at one segment or more."""
    ssthresh: float | None = None
    """Slow start threshold, bytes, infinity for none: for the record, as an agent's window does not grow by itself."""
    rate: float | None = None
    """Pacing rate, payload bytes per second, up to 1e15; 0 ends pacing. What acts at once is a higher one."""


class Agent(Controller):
    """A controller that is asked once per interval, and told what happened within it.

    Between decisions the engine holds the window and the rate. It repairs losses, and lets the window begin anew after
    a timeout or an idle time, up to the one decided. Parameters of a scenario arrive as keyword arguments of
    ``__init__``.
    """

    kind = "agent"

    interval: float | None = None
    """Time between decisions, seconds; None: `rounds` smoothed round-trip times. Read once, as the two below."""
    rounds: float = 1.0
    """Smoothed round-trip times between decisions."""
    slow_start: bool = False
    """Whether the window doubles per round trip until the first congestion, and only then is there a decision."""

    def decide(self, interval: Interval) -> Decision | None:
        """An interval has ended: what to do in the next. None leaves everything as it is."""
        raise NotImplementedError
