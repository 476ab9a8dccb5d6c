"""Westwood+ (R. Ferorelli, L. Grieco, S. Mascolo, G. Piscitelli, P. Camarda, *Live Internet Measurements Using
Westwood+ TCP Congestion Control*, GLOBECOM 2002; L. Grieco, S. Mascolo, ACM CCR 34(2), 2004).

AckedCount is of S. Mascolo, C. Casetti, M. Gerla, M. Sanadidi, R. Wang, *TCP Westwood*, MobiCom 2001.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ackclock.controllers.base import WindowBased

if TYPE_CHECKING:
    from ackclock._ackclock import Ack, Cx, Signal


class WestwoodPlus(WindowBased):
    """Reno's growth; after a loss the window is the bandwidth-delay product, measured once per round trip."""

    def __init__(self, alpha: float = 0.9) -> None:
        self.alpha = alpha  # weight of the old estimate
        self.B = 0.0  # filtered bandwidth, bytes per second
        self.D = 0  # bytes of the present sample
        self.accounted_for = 0  # bytes counted for duplicates and not yet acknowledged
        self.begin = self.rtt = 0  # ns

    def start(self, cx: Cx) -> None:
        """The first sample begins."""
        self.begin = cx.now_ns

    def acked_count(self, cumul_ack: int, mss: int) -> int:
        """Bytes that an acknowledgment stands for: a duplicate is one segment, and is not counted twice."""
        if cumul_ack == 0:
            self.accounted_for += mss
            return mss
        if cumul_ack <= mss:
            return cumul_ack
        if self.accounted_for >= cumul_ack:
            self.accounted_for -= cumul_ack
            return mss
        counted, self.accounted_for = cumul_ack - self.accounted_for, 0
        return counted

    def observe(self, cx: Cx, ack: Ack) -> None:
        """A sample ends with the first acknowledgment that is a round-trip time later: b = D / T."""
        if ack.rtt_ns is not None:
            self.rtt = ack.rtt_ns
        if ack.acked or ack.duplicate or ack.delivered:
            self.D += self.acked_count(ack.acked, cx.mss)
        T = cx.now_ns - self.begin
        if self.rtt and T >= self.rtt:
            self.B = self.alpha * self.B + (1 - self.alpha) * (self.D / (T * 1e-9))
            self.D, self.begin = 0, cx.now_ns

    def grow(self, cx: Cx, ack: Ack, acked: float) -> None:
        """Reno's."""
        self.cwnd += acked / self.cwnd

    def reduce(self, cx: Cx, signal: Signal) -> float:
        """The window that fills the path without a queue: B RTTmin."""
        return self.B * cx.min_rtt / cx.mss if cx.min_rtt else self.cwnd / 2

    def resume(self, cx: Cx, idle: float) -> None:
        """A sample that would contain an idle time is left out."""
        self.D, self.begin = 0, cx.now_ns
