"""HighSpeed TCP (S. Floyd, *HighSpeed TCP for Large Congestion Windows*, RFC 3649, 2003), the formulas of §5."""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING

from ackclock.controllers.base import WindowBased

if TYPE_CHECKING:
    from ackclock._ackclock import Ack, Cx, Signal

LOW_WINDOW, HIGH_WINDOW = 38, 83_000
LOW_P, HIGH_P = 1e-3, 1e-7
HIGH_DECREASE = 0.1
S = (log(HIGH_P) - log(LOW_P)) / (log(HIGH_WINDOW) - log(LOW_WINDOW))


def p(w: float) -> float:
    """The loss rate at which the window is `w`: a line in logarithms through both ends."""
    return exp(S * (log(w) - log(LOW_WINDOW)) + log(LOW_P))


def b(w: float) -> float:
    """The part of the window given up on congestion."""
    if w <= LOW_WINDOW:
        return 0.5
    slope = (HIGH_DECREASE - 0.5) / (log(HIGH_WINDOW) - log(LOW_WINDOW))
    return max(slope * (log(w) - log(LOW_WINDOW)) + 0.5, 0.01)


def a(w: float) -> float:
    """Segments of growth per round-trip time."""
    return max(w**2 * p(w) * 2 * b(w) / (2 - b(w)), 1.0) if w > LOW_WINDOW else 1.0


class HighSpeed(WindowBased):
    """Reno up to 38 segments; beyond, faster growth and smaller cuts as the window rises."""

    def __init__(self) -> None:
        self.segments, self.a = 0, 1.0

    def grow(self, cx: Cx, ack: Ack, acked: float) -> None:
        """a(w) is evaluated anew when the window reaches another whole segment."""
        if int(self.cwnd) != self.segments:
            self.segments, self.a = int(self.cwnd), a(self.cwnd)
        self.cwnd += self.a * acked / self.cwnd

    def reduce(self, cx: Cx, signal: Signal) -> float:
        """What is outstanding takes the place of the window, as in RFC 5681."""
        return (1 - b(self.cwnd)) * min(signal.flight / cx.mss, self.cwnd)
