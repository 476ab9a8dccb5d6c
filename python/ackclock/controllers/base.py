"""What a congestion controller in Python derives from.

The methods are those of the engine's own controllers, called in the same order: on one acknowledgment ``observe``,
then ``on_congestion``, ``on_undo``, ``on_recovered`` and ``on_phase`` as recovery has it, then ``on_ack``. Times are
seconds, sizes bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

if TYPE_CHECKING:
    from ackclock._ackclock import Ack, Cx, Lost, Restart, Signal, Undo

Method = TypeVar("Method", bound=Callable[..., Any])


def _empty(method: Method) -> Method:
    """Mark a method that does nothing, so that the engine saves itself the call."""
    method.does_nothing = True  # type: ignore[attr-defined]
    return method


@dataclass(frozen=True, slots=True)
class ByWindow:
    """Pacing at `percent` / 100 windows per smoothed round-trip time."""

    percent: int = 100


class Controller:
    """What all kinds have: attributes that the engine reads. Derive from one of the kinds, not from this."""

    kind: ClassVar[Literal["whole", "law", "agent"]]

    wants_rate: bool = False
    """Whether ``ack.rate`` (a delivery-rate sample) is wanted."""
    ecn: Literal["classic", "dctcp", "l4s"] = "classic"
    """``dctcp`` negotiates ECN whatever the options, with exact feedback of marks (RFC 8257); ``l4s`` does so with
    counts (RFC 9768) and sends ECT(1), which a scalable controller may (RFC 9331 §4)."""
    recovery: Literal["endpoint", "slow_start", "controller"] = "endpoint"
    """Who moves the window while losses are repaired. Read once, when the connection is made."""

    pacing: ByWindow | float | None = None
    """None, bytes per second, or :class:`ByWindow`."""


def _higher(ssthresh: float | None, least: float) -> float:
    """A threshold raised to `least`; None is none yet, which nothing raises."""
    return math.inf if ssthresh is None else max(ssthresh, least)


class CongestionControl(Controller):
    """A controller that decides everything itself, in bytes.

    After every call the engine reads `cwnd`, `ssthresh`, `pacing`, and `wake_at` if there is an `on_wake`. Only
    :meth:`on_ack` and :meth:`on_congestion` have no default. Parameters of a scenario arrive as keyword arguments of
    ``__init__``.
    """

    kind = "whole"

    cwnd: float = 0
    """Congestion window, bytes; fractions are cut off."""
    ssthresh: float = math.inf
    """Slow start threshold, bytes; infinite (or None) while there is none. A controller need not have one: recovery
    then ends at `cwnd` as :meth:`on_congestion` left it, as it does where an old threshold lies above that."""
    wake_at: float | None = None
    """When :meth:`on_wake` is wanted, seconds; None is never. One that has passed means at once."""
    limits_itself: bool = False
    """Whether the controller keeps the sender below what the network may carry (with `wants_rate`)."""

    def start(self, cx: Cx, initial_window: int) -> None:
        """The connection is established, with this window in bytes (RFC 6928)."""
        self.cwnd = initial_window

    @_empty
    def observe(self, cx: Cx, ack: Ack) -> None:
        """An acknowledgment arrived, in any phase, before recovery looks at it."""

    def on_ack(self, cx: Cx, ack: Ack) -> None:
        """An acknowledgment delivered data and the window may move."""
        raise NotImplementedError

    def on_congestion(self, cx: Cx, signal: Signal) -> None:
        """Congestion was signalled: at most once per recovery episode. Set `cwnd`, and `ssthresh` if there is one."""
        raise NotImplementedError

    @_empty
    def on_lost(self, cx: Cx, lost: Lost) -> None:
        """A segment was declared lost; comes before :meth:`on_phase` (with `wants_rate`)."""

    @_empty
    def on_phase(self, cx: Cx) -> None:
        """The phase changed to ``cx.phase``, or a timeout expired again in "loss"."""

    def on_recovered(self, cx: Cx, cwnd: int) -> None:
        """Fast recovery, or the reduction after a mark, has ended and leaves a window of `cwnd` bytes.

        Not called with ``recovery = "controller"``.
        """
        ssthresh = self.ssthresh
        # Rounded to whole bytes the window would be a little below the threshold, and so in slow start.
        at_threshold = ssthresh is not None and cwnd == int(min(ssthresh, 2**63))
        self.cwnd = ssthresh if at_threshold and ssthresh is not None else cwnd

    def set_window(self, cx: Cx, cwnd: int) -> None:
        """The endpoint sets the window for a reason of its own: a timeout leaves more than one segment."""
        self.cwnd = cwnd

    def on_undo(self, cx: Cx, undo: Undo) -> None:
        """The last reaction was unfounded (RFC 4015): go back to what was before."""
        self.cwnd = max(self.cwnd, undo.cwnd)
        self.ssthresh = _higher(self.ssthresh, undo.ssthresh)

    def on_restart(self, cx: Cx, restart: Restart) -> None:
        """Sending resumes after an idle time (RFC 5681 §4.1)."""
        self.ssthresh = _higher(self.ssthresh, restart.ssthresh_floor)
        self.cwnd = max(min(self.cwnd, restart.window), cx.mss)

    @_empty
    def on_transmit_start(self, cx: Cx) -> None:
        """Data leaves while nothing is in flight: at the start, after an idle time, after a timeout."""

    @_empty
    def on_wake(self, cx: Cx) -> None:
        """The time `wake_at` has come. Without another one it is not minded again."""

    @_empty
    def on_limited_start(self, cx: Cx) -> None:
        """As before, while samples are limited by the application: an idle time is over (with `wants_rate`)."""


class WindowBased(Controller):
    """A law of the window, in segments: how it grows in congestion avoidance and shrinks on congestion.

    The engine's own frame does the rest: slow start (any of a scenario's ``slow_start``), the timeout's window of one
    segment, undo, idle times. During a call `cwnd` and `ssthresh` are the window of the frame and may be changed.
    """

    kind = "law"

    cwnd: float = 1.0
    """Congestion window, segments."""
    ssthresh: float = math.inf
    """Slow start threshold, segments; infinite (or None) while there is none."""
    validates_itself: bool = False
    """Whether :meth:`grow` wants acknowledgments that the window did not limit too (``ack.window_limited``)."""

    @_empty
    def start(self, cx: Cx) -> None:
        """The connection begins with window `cwnd`."""

    @_empty
    def observe(self, cx: Cx, ack: Ack) -> None:
        """An acknowledgment arrived, in any phase, before recovery and before the window grows: for estimators."""

    def grow(self, cx: Cx, ack: Ack, acked: float) -> None:
        """`acked` segments were delivered in congestion avoidance: add to `cwnd`."""
        raise NotImplementedError

    def reduce(self, cx: Cx, signal: Signal) -> float:
        """The slow start threshold after congestion, segments; the frame keeps it at 2 or more."""
        raise NotImplementedError

    @_empty
    def slow_start(self, cx: Cx, ack: Ack, acked: float) -> float:
        """Grow `cwnd` for `acked` segments in slow start; return those left for congestion avoidance.

        Without this method the scenario's slow start does it.
        """
        raise NotImplementedError

    @_empty
    def phase(self, cx: Cx) -> None:
        """The phase changed to ``cx.phase``, or a timeout expired again in "loss"."""

    @_empty
    def recovered(self, cx: Cx) -> None:
        """Fast recovery has ended and leaves window `cwnd`."""

    @_empty
    def undo(self, cx: Cx) -> None:
        """The last reduction was unfounded; the window is restored already."""

    @_empty
    def resume(self, cx: Cx, idle: float) -> None:
        """The sender was idle for so many seconds and resumes."""

    @_empty
    def transmit_start(self, cx: Cx) -> None:
        """Data leaves while nothing is in flight."""
