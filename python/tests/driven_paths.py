"""A path whose flow is decided from outside, and a controller with timers: for tests of steps and environments."""

from __future__ import annotations

from typing import Any

import ackclock

PATH: dict[str, Any] = {
    "topology": {
        "kind": "dumbbell",
        "rate": "10 Mbit/s",
        "rtt": "40 ms",
        "queue": {"kind": "droptail", "limit": "1 BDP"},
    },
    "flows": [{"cc": "external", "profile": "linux"}],
    "run": {"duration": "2 s"},
}


class Alarm(ackclock.CongestionControl):
    """Adds a segment every 100 ms, whatever comes."""

    def start(self, cx: ackclock.Cx, initial_window: int) -> None:
        self.cwnd = 2 * cx.mss
        self.wake_at = cx.now + 0.1

    def on_ack(self, cx: ackclock.Cx, ack: ackclock.Ack) -> None:
        pass

    def on_congestion(self, cx: ackclock.Cx, signal: ackclock.Signal) -> None:
        pass

    def on_wake(self, cx: ackclock.Cx) -> None:
        self.cwnd += cx.mss
        self.wake_at = cx.now + 0.1
