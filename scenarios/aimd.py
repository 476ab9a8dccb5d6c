"""A congestion controller of one's own, used by python-controller.toml."""

from __future__ import annotations

import ackclock


class Aimd(ackclock.WindowBased):
    """Additive increase, multiplicative decrease; with 1 and 0.5 it is Reno."""

    def __init__(self, increase: float = 1.0, keep: float = 0.5) -> None:
        self.increase, self.keep = increase, keep

    def grow(self, cx: ackclock.Cx, ack: ackclock.Ack, acked: float) -> None:
        """`increase` segments per window acknowledged."""
        self.cwnd += self.increase * acked / self.cwnd

    def reduce(self, cx: ackclock.Cx, signal: ackclock.Signal) -> float:
        """`keep` of what is outstanding."""
        return self.keep * signal.flight / cx.mss
