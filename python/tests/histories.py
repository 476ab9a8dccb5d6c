"""Histories of events as an endpoint could tell them to a controller, made up instead of recorded.

They are valid: bytes are acknowledged once and in order, what is in flight is what the window allows (or less), phases
and calls follow each other as in the engine. The window is the engine's own decision, asked for where the next event
depends on it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from ackclock import Control, engine
from ackclock.events import Event
from ackclock.scenario.plan import resolved_flow

US, MS = 1_000, 1_000_000
MOST = 10_000_000
"""Segments in flight at most, so that windows stay numbers of a double's precision."""


@dataclass(frozen=True)
class Acks:
    """Acknowledgments in a row; what differs between them is taken in turn."""

    count: int
    segments: list[int]
    gaps_us: list[int]
    rtts_us: list[int | None]
    """None: ambiguous."""
    share: float
    """The part of the window that is acknowledged at once, at least: a large window has rounds, too."""
    used: float
    """The part of the window that is used; below 1 the application is what limits."""


@dataclass(frozen=True)
class Disorder:
    """Duplicates, but nothing was lost."""

    duplicates: int


@dataclass(frozen=True)
class Loss:
    """Losses: duplicates, then partial acknowledgments."""

    duplicates: int
    partial: int
    end: Literal["repaired", "deflated", "unfounded", "timeout", "repeated timeout"]
    """"deflated": what is in flight bounds the window at the end, as in RFC 6582."""


@dataclass(frozen=True)
class Mark:
    """An ECN mark, and acknowledgments until the reduction is over."""

    acks: int
    marked: list[bool]
    """Whether each of them reports a mark, taken in turn."""
    gap_ms: int


@dataclass(frozen=True)
class Timeouts:
    """Timeouts in a row."""

    times: int
    window: int
    """Segments that they leave."""
    unfounded: bool


@dataclass(frozen=True)
class Pause:
    """Nothing to send for less than a timeout: no idle rule acts."""

    ms: int


@dataclass(frozen=True)
class Idle:
    """Nothing to send for a while."""

    ms: int
    window: int
    """Segments that the idle rule leaves."""
    floor: bool
    """Whether it holds the threshold at three quarters of the window."""


Step = Acks | Disorder | Loss | Mark | Timeouts | Pause | Idle


def _turns(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, min_size=1, max_size=3)


def _mostly(usual: st.SearchStrategy[Any], *others: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Each of the others one time in sixteen."""
    return st.integers(0, 15).flatmap(lambda n: others[n - 1] if 0 < n <= len(others) else usual)


_RTTS = _mostly(
    st.one_of(st.integers(40_000, 80_000), st.integers(40_000, 42_000)),
    st.integers(1, 60_000_000),  # paths change, and queues may be long
    st.none(),
)
_ACKS = st.builds(
    Acks,
    count=st.integers(1, 25),
    segments=_turns(_mostly(st.integers(1, 8), st.integers(1, 100_000))),
    gaps_us=_turns(_mostly(st.integers(0, 20_000), st.integers(0, 5_000_000))),
    rtts_us=_turns(_RTTS),
    share=st.sampled_from([0.0, 0.1, 0.3]),
    used=_mostly(st.just(1.0), st.just(0.5), st.just(0.01)),
)
_ENDS = st.sampled_from(["repaired", "repaired", "deflated", "unfounded", "timeout", "repeated timeout"])
_LOSSES = st.builds(Loss, st.integers(0, 10), st.integers(0, 10), _ENDS)
STEPS: st.SearchStrategy[list[Step]] = st.lists(
    _mostly(
        _ACKS,
        _LOSSES,
        _LOSSES,
        st.builds(Timeouts, st.integers(1, 6), st.integers(1, 20), st.booleans()),
        st.builds(Mark, st.integers(0, 30), _turns(st.booleans()), st.integers(0, 10)),
        st.builds(Disorder, st.integers(1, 5)),
        st.builds(Pause, st.integers(1, 1000)),
        st.builds(Idle, st.integers(1, 1_000_000), st.integers(1, 50), st.booleans()),
    ),
    min_size=15,
    max_size=50,
)


@dataclass(frozen=True)
class Beginning:
    """A connection before its first event."""

    controller: Mapping[str, Any]
    """Of the engine: its name and parameters."""
    slow_start: Mapping[str, Any] | None
    """None: the controller starts by itself."""
    mss: int
    initial: int
    """Segments of the initial window."""
    measured: bool
    """Whether the handshake gave a round-trip time."""


class History:
    """What has happened so far to a controller of the engine."""

    def __init__(self, beginning: Beginning) -> None:
        """The connection begins."""
        self.events: list[Event] = []
        self.lines: list[str] = []
        raw = {"cc": beginning.controller, "profile": "rfc"}
        if beginning.slow_start is not None:
            raw["slow_start"] = beginning.slow_start
        self.document = json.dumps({"id": "0", **resolved_flow(raw, "history")})
        self.mss = beginning.mss
        self.grows_in_reductions = beginning.controller["name"] == "prague"
        self.now = self.sent = 100_000 * MS
        self.una = self.nxt = self.round_end = self.recover = 1
        self.delivered = self.lost = self.round = 0
        self.srtt = self.min_rtt = 40 * MS if beginning.measured else 0
        self.phase = "open"
        self.tell("create", cc=beginning.controller["name"], flow="0", seed=1, run=0)
        self.tell("start", initial_window=beginning.initial * self.mss)

    def tell(self, call: str, **args: Any) -> None:
        """Add a call."""
        cx = {
            "now_ns": self.now,
            "mss": self.mss,
            "in_flight": self.nxt - self.una,
            "srtt_ns": self.srtt,
            "min_rtt_ns": self.min_rtt,
            "nxt": self.nxt,
            "delivered": self.delivered,
            "lost": self.lost,
            "phase": self.phase,
        }
        self.events.append(Event(call, args, cx, Control(0, None)))
        self.lines.append(self.events[-1].line())

    def control(self) -> Control:
        """What the engine has decided last: `ackclock.replay` of all so far, without reading all again."""
        raw = json.loads(engine.replay(self.lines, self.document, {})[-1])
        return Control(raw["cwnd"], raw["ssthresh"])

    def enter(self, phase: str) -> None:
        """Change the phase, or time out again."""
        if phase != self.phase or phase == "loss":
            self.phase = phase
            self.tell("on_phase")

    def fill(self, window: int) -> None:
        """Send what `window` bytes allow."""
        if self.nxt == self.una:
            self.tell("on_transmit_start", idle_ns=self.now - self.sent)
        whole = max(min(window // self.mss, MOST), 1) * self.mss
        if self.una + whole > self.nxt:
            self.nxt, self.sent = self.una + whole, self.now

    def measure(self, rtt_us: int | None) -> int | None:
        """Take a round-trip time."""
        if rtt_us is None:
            return None
        rtt = rtt_us * US
        self.srtt = (7 * self.srtt + rtt) // 8 if self.srtt else rtt
        self.min_rtt = min(self.min_rtt or rtt, rtt)
        return rtt

    def acknowledge(
        self,
        segments: int,
        gap_us: int,
        rtt_us: int | None,
        *,
        limited: bool,
        duplicate: bool = False,
        marked: bool = False,
    ) -> None:
        """One acknowledgment; a duplicate delivers a segment beyond a hole."""
        flight = self.nxt - self.una
        size = min(segments * self.mss, flight)
        acked = 0 if duplicate else size
        self.now += gap_us * US
        self.una += acked
        self.delivered += size
        rtt = self.measure(rtt_us)
        if self.una > self.round_end:
            self.round, self.round_end = self.round + 1, self.nxt
        ack = {
            "delivered": size,
            "acked": acked,
            "segments": -(-acked // self.mss),
            "duplicate": duplicate,
            "rtt_ns": rtt,
            "in_flight_before": flight,
            "una": self.una,
            "nxt": self.nxt,
            "round": self.round,
            "window_limited": limited,
            "grow": self.phase in ("open", "disorder", "loss")
            or (self.phase == "reduction" and self.grows_in_reductions),
            "marked": min(self.mss, size) if marked else 0,
            "ece": marked,
        }
        self.tell("observe", **ack)
        if self.phase == "loss" and self.una >= self.recover:
            self.enter("open")
        if ack["grow"]:
            self.tell("on_ack", **ack)

    def repair(self, duplicates: int, partial: int) -> None:
        """Acknowledgments while something is repaired."""
        for number in range(duplicates + partial):
            self.acknowledge(1, 1000, 70_000, limited=True, duplicate=number < duplicates)

    def signal(self, kind: str, **more: Any) -> None:
        """Congestion."""
        self.tell("on_congestion", kind=kind, flight=self.nxt - self.una, **more)

    def recovered(self, most: int | None = None) -> None:
        """Recovery or a reduction ends at the threshold, or at `most` bytes."""
        ssthresh = self.control().ssthresh
        assert ssthresh is not None
        self.tell("on_recovered", cwnd=ssthresh if most is None else min(ssthresh, most))
        self.enter("open")

    def undo(self, before: Control) -> None:
        """The reaction was unfounded."""
        self.tell("on_undo", cwnd=before.cwnd, ssthresh=before.ssthresh)
        self.enter("open")

    def time_out(self, window: int, *, repeated: bool) -> None:
        """The timer expires and leaves a window of so many segments."""
        self.signal("timeout", repeated=repeated)
        self.lost += 0 if repeated else self.nxt - self.una
        self.recover = self.nxt
        self.tell("set_window", cwnd=window * self.mss)
        self.enter("loss")

    def play(self, step: Step) -> None:
        """What is to happen next happens."""
        before = self.control()
        if not isinstance(step, Acks | Timeouts):
            self.enter("open")  # what a timeout lost is repaired
        self.fill(int(before.cwnd * step.used) if isinstance(step, Acks) else before.cwnd)
        match step:
            case Acks():
                self.acks(step)
            case Disorder():
                self.enter("disorder")
                for _ in range(step.duplicates):
                    self.acknowledge(1, 500, None, limited=False, duplicate=True)
                self.enter("open")
            case Loss():
                self.lose(step, before)
            case Mark():
                self.signal("ecn")
                self.enter("reduction")
                for number in range(step.acks):
                    marked = step.marked[number % len(step.marked)]
                    self.acknowledge(1, step.gap_ms * 1000, 70_000, limited=True, marked=marked)
                self.recovered()
            case Timeouts():
                for number in range(step.times):
                    self.now += 300 * MS << number
                    self.time_out(step.window, repeated=number > 0)
                if step.unfounded:
                    self.undo(before)
            case Pause():
                self.acknowledge(MOST, 1, None, limited=True)
                self.now += step.ms * MS
            case Idle():
                self.acknowledge(MOST, 1, None, limited=False)
                self.now += step.ms * MS
                idle = step.ms * MS + self.srtt  # the last data left before it was acknowledged
                floor = self.control().cwnd // 4 * 3 if step.floor else 0
                self.tell("on_restart", idle_ns=idle, window=step.window * self.mss, ssthresh_floor=floor)

    def acks(self, step: Acks) -> None:
        """Acknowledgments while nothing is wrong, or a timeout's repair. The window is read every few of them."""
        window = 0
        for number in range(step.count):
            if number % 8 == 0:
                window = self.control().cwnd
            segments, gap, rtt = (turn[number % len(turn)] for turn in (step.segments, step.gaps_us, step.rtts_us))
            assert segments is not None
            assert gap is not None
            segments = max(segments, int(step.share * window / self.mss))
            self.acknowledge(segments, gap, rtt, limited=step.used == 1.0)
            self.fill(int(window * step.used))

    def lose(self, step: Loss, before: Control) -> None:
        """A recovery from its begin to its end."""
        self.lost += self.mss
        self.signal("loss")
        self.enter("recovery")
        self.repair(step.duplicates, step.partial)
        if step.end == "unfounded":
            self.undo(before)
        elif step.end in ("timeout", "repeated timeout"):
            self.time_out(1, repeated=step.end == "repeated timeout")
        else:
            self.recovered(self.nxt - self.una + self.mss if step.end == "deflated" else None)
