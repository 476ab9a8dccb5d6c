"""Vegas (L. Brakmo, L. Peterson, *TCP Vegas: End to End Congestion Avoidance on a Global Internet*, IEEE JSAC 13(8),
1995), without its retransmission on the first duplicate, which is the endpoint's matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ackclock.controllers.base import WindowBased

if TYPE_CHECKING:
    from ackclock._ackclock import Ack, Cx, Signal

MIN_SAMPLES = 3  # with fewer in a round the window grows as Reno's


class Vegas(WindowBased):
    """Keeps between alpha and beta segments of its own in the queue; in slow start doubles every other round."""

    validates_itself = True

    def __init__(self, alpha: float = 1.0, beta: float = 3.0, gamma: float = 1.0) -> None:
        self.alpha, self.beta, self.gamma = alpha, beta, gamma
        self.base_rtt = 0  # ns; zero before the first sample
        self.samples: list[int] = []  # those of the round, ns
        self.round, self.round_end = 1, 0
        self.enabled = True  # not while losses are found or repaired

    def begin(self, nxt: int) -> None:
        """A round ends when something sent from `nxt` on is acknowledged."""
        self.samples, self.round_end = [], nxt

    def observe(self, cx: Cx, ack: Ack) -> None:
        """BaseRTT is the smallest of all samples."""
        if ack.rtt_ns is not None:
            self.samples.append(ack.rtt_ns)
            self.base_rtt = min(self.base_rtt or ack.rtt_ns, ack.rtt_ns)

    def adjust(self) -> bool:
        """Once per round: Diff = (Expected - Actual) BaseRTT, in segments. Returns whether slow start goes on."""
        rtt = sum(self.samples) / len(self.samples)
        diff = self.cwnd * (rtt - self.base_rtt) / rtt
        if self.cwnd < self.ssthresh:
            held = self.round % 2 == 0  # the round that is over did not grow: only then is it compared
            if diff <= self.gamma or not held:
                return True
            self.cwnd = max(min(self.cwnd, self.cwnd * self.base_rtt / rtt // 1 + 1), 2.0)
        elif diff > self.beta:
            self.cwnd = max(self.cwnd - 1, 2.0)
        elif diff < self.alpha:
            self.cwnd += 1
            return False
        else:
            return False
        self.ssthresh = min(self.ssthresh, self.cwnd)
        return False

    def step(self, ack: Ack, acked: float, starting: bool) -> None:
        """What an acknowledgment does to the window."""
        if not self.enabled:
            self.as_reno(ack, acked, starting)
        elif ack.una > self.round_end:
            self.round += 1
            if len(self.samples) < MIN_SAMPLES:
                self.as_reno(ack, acked, starting)
            elif self.adjust() and starting and self.round % 2 == 0:
                self.open(acked)
            self.begin(ack.nxt)
        elif starting and self.round % 2 == 0:
            self.open(acked)

    def open(self, acked: float) -> float:
        """Slow start's growth, to the threshold at most; what is left of it."""
        grant = min(acked, 1.0)
        room = max(self.ssthresh - self.cwnd, 0.0)
        self.cwnd = self.cwnd + grant if grant < room else self.ssthresh
        return max(grant - room, 0.0)

    def as_reno(self, ack: Ack, acked: float, starting: bool) -> None:
        """Reno's growth."""
        if ack.window_limited:
            left = self.open(acked) if starting else acked
            self.cwnd += left / self.cwnd

    def slow_start(self, cx: Cx, ack: Ack, acked: float) -> float:
        """Everything of an acknowledgment is used here."""
        self.step(ack, acked, True)
        return 0.0

    def grow(self, cx: Cx, ack: Ack, acked: float) -> None:
        """Congestion avoidance."""
        self.step(ack, acked, False)

    def reduce(self, cx: Cx, signal: Signal) -> float:
        """Three quarters of what is outstanding; half on a timeout."""
        w = min(signal.flight / cx.mss, self.cwnd)
        if signal.kind == "timeout":
            return w / 2
        return 0.75 * w if w > 3 else 2.0

    def phase(self, cx: Cx) -> None:
        """A round begins when everything is in order again."""
        self.enabled = cx.phase == "open"
        if self.enabled:
            self.begin(cx.nxt)

    def resume(self, cx: Cx, idle: float) -> None:
        """So it does after an idle time."""
        self.transmit_start(cx)

    def transmit_start(self, cx: Cx) -> None:
        """And when data leaves while nothing is in flight."""
        if self.enabled:
            self.begin(cx.nxt)
