"""Reno (M. Allman, V. Paxson, E. Blanton, *TCP Congestion Control*, RFC 5681, 2009)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ackclock.controllers.base import WindowBased

if TYPE_CHECKING:
    from ackclock._ackclock import Ack, Cx, Signal


class Reno(WindowBased):
    """One segment per window; half of what is outstanding on loss."""

    def grow(self, cx: Cx, ack: Ack, acked: float) -> None:
        """Byte counting (RFC 3465), spread over the acknowledgments of a window."""
        self.cwnd += acked / self.cwnd

    def reduce(self, cx: Cx, signal: Signal) -> float:
        """Equation 4: half of FlightSize. The frame keeps it at 2 segments or more."""
        return min(signal.flight / cx.mss, self.cwnd) / 2
