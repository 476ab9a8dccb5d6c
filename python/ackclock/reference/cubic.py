"""CUBIC (L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert (ed.), *CUBIC for Fast and Long-Distance Networks*, RFC 9438, 2023).

Windows are segments and times seconds, as in §4.1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ackclock.controllers.base import WindowBased

if TYPE_CHECKING:
    from ackclock._ackclock import Ack, Cx, Signal

STATE = ("t_epoch", "K", "W_max", "W_plateau", "W_est", "cwnd_prior")


class Cubic(WindowBased):
    """The window as a cubic function of the time since the last congestion."""

    validates_itself = True

    def __init__(self, c: float = 0.4, beta: float = 0.7) -> None:
        self.C, self.beta = c, beta
        self.alpha = 3 * (1 - beta) / (1 + beta)  # §4.3
        self.t_epoch: float | None = None
        self.t_last = 0.0  # of the last update, or where a time that does not count ended
        self.W_max: float | None = None  # none before the first loss and after a timeout
        self.K = self.W_plateau = self.W_est = 0.0
        self.cwnd_prior = math.inf
        self.before: tuple[float | None, ...] = ()

    def begin_epoch(self, now: float) -> None:
        """§4.2 and §4.8: the curve starts at the present window and has its plateau at W_max."""
        self.t_epoch, self.W_est = now, self.cwnd
        self.W_plateau = max(self.cwnd, self.W_max or 0.0)
        self.K = math.cbrt((self.W_plateau - self.cwnd) / self.C)
        if self.W_max is None:
            self.cwnd_prior = self.cwnd

    def W_cubic(self, t: float) -> float:
        """Equation 1."""
        d = t - self.K
        return self.C * d * d * d + self.W_plateau

    def grow(self, cx: Cx, ack: Ack, acked: float) -> None:
        """§4.3 to §4.5, for acknowledgments that the window limited."""
        if not ack.window_limited:
            self.leave_out(cx.now)
            return
        self.t_last = cx.now
        if self.t_epoch is None:
            self.begin_epoch(cx.now)
        assert self.t_epoch is not None
        t = max(cx.now - self.t_epoch, 0.0)
        target = min(max(self.W_cubic(t + cx.srtt), self.cwnd), 1.5 * self.cwnd)
        self.W_est += (1.0 if self.W_est >= self.cwnd_prior else self.alpha) * acked / self.cwnd
        if self.W_cubic(t) < self.W_est:
            self.cwnd = max(self.cwnd, self.W_est)
        else:
            self.cwnd += (target - self.cwnd) / self.cwnd * acked

    def reduce(self, cx: Cx, signal: Signal) -> float:
        """§4.6 to §4.8."""
        self.before = tuple(getattr(self, name) for name in STATE)
        self.t_epoch = None
        if signal.kind == "timeout":
            self.W_max = None
        else:
            self.cwnd_prior = self.cwnd
            below = self.W_max is not None and self.cwnd < self.W_max
            self.W_max = self.cwnd * (1 + self.beta) / 2 if below else self.cwnd  # fast convergence
        return min(signal.flight / cx.mss, self.cwnd) * self.beta

    def undo(self, cx: Cx) -> None:
        """§4.9: what was before a reduction that was unfounded."""
        for name, value in zip(STATE, self.before, strict=False):
            setattr(self, name, value)
        self.before = ()

    def transmit_start(self, cx: Cx) -> None:
        """Nothing was in flight."""
        self.leave_out(cx.now)

    def leave_out(self, now: float) -> None:
        """§4.2, §5.8: time in which the window was not updated because it was not full does not count."""
        if self.t_epoch is not None:
            self.t_epoch = min(self.t_epoch + (now - self.t_last), now)
        self.t_last = now
