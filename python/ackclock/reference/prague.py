"""Prague (K. De Schepper, O. Tilmans, B. Briscoe, V. Goel, *Prague Congestion Control*,
draft-briscoe-iccrg-prague-congestion-control).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ackclock.controllers.base import CongestionControl

if TYPE_CHECKING:
    from ackclock._ackclock import Ack, Cx, Restart, Signal, Undo

LEAST_RATE = 12_500.0  # bytes per second: 100 kbit/s


class Prague(CongestionControl):
    """Shrinks by half the share of marks once per virtual round trip, and grows for all that is unmarked."""

    ecn = "l4s"
    wants_rate = True

    def __init__(
        self, shift_g: int = 4, alpha_on_init: float = 1.0, rtt_virtual: float = 0.025, transition: int = 4
    ) -> None:
        self.g, self.alpha = 2.0**-shift_g, alpha_on_init
        self.virtual, self.transition = round(rtt_virtual * 1e9), transition  # ns, round trips
        self.fractional, self.threshold = 1.0, math.inf  # segments
        self.opening = True  # slow start
        self.marks_seen = False
        self.acked = self.marked = 0  # of the round, bytes
        self.round_end = self.rounds = 0
        self.updated = 0  # when alpha was, ns
        self.reduced: int | None = None  # when a mark last did, ns

    def stretched(self) -> bool:
        """Whether short round trips count as virtual ones."""
        return not self.opening and self.rounds >= self.transition

    def over(self, cx: Cx, since: int) -> bool:
        """Whether a virtual round trip is over; real ones are counted by what is acknowledged."""
        return not self.stretched() or cx.now_ns - since >= self.virtual

    def publish(self, cx: Cx) -> None:
        """The window is whole segments, the pace that of the fraction."""
        whole = max(math.ceil(self.fractional - 1e-9), 1 if self.opening else 2)
        self.cwnd = whole * cx.mss
        self.ssthresh = self.threshold if self.threshold == math.inf else int((self.threshold + 1e-9) * cx.mss)
        if cx.srtt > 0:
            gain = 2 if self.opening and self.fractional < self.threshold / 2 else 1
            self.pacing = float(int(max(gain * self.fractional * cx.mss / cx.srtt, LEAST_RATE)))

    def start(self, cx: Cx, initial_window: int) -> None:
        """The first round begins."""
        self.fractional = initial_window / cx.mss
        self.round_end, self.updated = cx.nxt, cx.now_ns
        self.publish(cx)

    def observe(self, cx: Cx, ack: Ack) -> None:
        """Counts marks; once per virtual round trip their share goes into alpha."""
        before, self.marks_seen = self.marks_seen, self.marks_seen or ack.ece
        self.acked += ack.delivered
        self.marked += ack.marked
        if ack.una > self.round_end and self.over(cx, self.updated):
            if before and self.acked:
                self.alpha += self.g * (min(self.marked / self.acked, 1.0) - self.alpha)
            self.acked = self.marked = 0
            self.round_end, self.updated = cx.nxt, cx.now_ns
            self.rounds += not self.opening
        short = self.stretched() and round(cx.srtt * 1e9) < self.virtual
        if ack.ece and short and cx.phase in ("open", "disorder", "reduction"):
            self.answer(cx)
        self.publish(cx)

    def on_ack(self, cx: Cx, ack: Ack) -> None:
        """(SRTT / R*)^2 segments per window of what is delivered unmarked; twice the window per round in slow start."""
        if ack.window_limited or (ack.rate is not None and not ack.rate.app_limited):
            unmarked = (ack.delivered - ack.marked) / cx.mss
            room = self.threshold - self.fractional
            if self.opening and unmarked < room:
                self.fractional += unmarked
            else:
                if self.opening:
                    self.fractional += room
                    unmarked -= room
                    self.opening, self.rounds = False, 0
                srtt = round(cx.srtt * 1e9)
                share = srtt / self.virtual if self.stretched() and srtt < self.virtual else 1.0
                self.fractional += unmarked * share * share / self.fractional
        self.publish(cx)

    def answer(self, cx: Cx) -> None:
        """A mark: (1 - alpha / 2) w."""
        if self.reduced is None or self.over(cx, self.reduced):
            self.reduced = cx.now_ns
            self.shrink(cx, (1 - self.alpha / 2) * self.fractional)

    def shrink(self, cx: Cx, fractional: float) -> None:
        """Congestion leaves this window."""
        if self.opening:
            self.opening, self.rounds = False, 0
        self.fractional = max(fractional, LEAST_RATE * cx.srtt / cx.mss)
        self.threshold = max(self.fractional, 2.0)

    def on_congestion(self, cx: Cx, signal: Signal) -> None:
        """Losses take half; a timeout begins with one segment."""
        if signal.kind == "ecn":
            self.answer(cx)
        elif signal.kind == "loss":
            self.shrink(cx, self.fractional / 2)
        else:
            if not signal.repeated:
                self.threshold = max(self.fractional / 2, 2.0)
            self.fractional, self.opening = 1.0, True
        self.publish(cx)

    def resume(self, cx: Cx, fractional: float) -> None:
        """The window is another for a reason of the endpoint's."""
        self.fractional = fractional
        self.opening = self.fractional < self.threshold
        self.publish(cx)

    def on_recovered(self, cx: Cx, cwnd: int) -> None:
        """The fraction that the loss left, or less."""
        self.fractional = min(self.fractional, cwnd / cx.mss)
        self.publish(cx)

    def set_window(self, cx: Cx, cwnd: int) -> None:
        """As told."""
        self.resume(cx, max(cwnd / cx.mss, 1.0))

    def on_undo(self, cx: Cx, undo: Undo) -> None:
        """At least what was."""
        none = undo.ssthresh is None or undo.ssthresh == math.inf
        self.threshold = math.inf if none else max(self.threshold, (undo.ssthresh or 0) / cx.mss)
        self.resume(cx, max(self.fractional, undo.cwnd / cx.mss))

    def on_restart(self, cx: Cx, restart: Restart) -> None:
        """At most what the idle rule leaves."""
        self.threshold = max(self.threshold, restart.ssthresh_floor / cx.mss)
        self.resume(cx, max(min(self.fractional, restart.window / cx.mss), 1.0))
