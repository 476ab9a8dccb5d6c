"""The compiled engine. Use `ackclock.engine`, which adds types, checks and caching to it."""

from collections.abc import Callable
from typing import Any, Literal

__version__: str

def capture(
    resolved: str, file: str, comment: str, ethernet: bool = False, controllers: dict[str, Any] | None = None
) -> int:
    """Play a resolved run and write what its `capture` asks for to `file`, pcapng; how many packets there are."""

class Table:
    """A table handed over without copying, through the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class RunOutput:
    """What one run produced."""

    @property
    def flows(self) -> Table:
        """One row per flow."""
    @property
    def links(self) -> Table:
        """One row per link."""
    @property
    def transfers(self) -> Table:
        """A row per transfer: file, finite bulk flow or request."""

    @property
    def series(self) -> Table:
        """One row per sample: time_s, kind, id, metric, value."""
    @property
    def info(self) -> str:
        """JSON object: events, packets, wall_s, warnings."""

class Batch:
    """Several runs kept together, their tables as Arrow streams; a first column, run, tells the runs apart."""

    def __init__(self) -> None: ...
    def run(self, number: int, resolved: str, controllers: dict[str, Any] | None = None) -> tuple[str, int]:
        """Play a run as :func:`run` does and keep it under this number: its info, and its rows in all tables."""
    def add(self, number: int, played: str, wall_s: float) -> tuple[str, int]:
        """Keep a run that another engine has played, as its JSON, under this number: its info, and its rows."""
    def take(self) -> tuple[bytes, bytes, bytes, bytes]:
        """The streams of flows, links, transfers and series, empty without runs; the batch is empty then."""

class Interval:
    """What a sender saw between two decisions. Times are seconds, sizes payload bytes."""

    @property
    def at(self) -> float:
        """Its end."""
    @property
    def span(self) -> float:
        """Its length."""
    @property
    def delivered(self) -> float:
        """Bytes acknowledged within it."""
    @property
    def lost(self) -> float:
        """Bytes declared lost."""
    @property
    def sent(self) -> float:
        """Bytes that left, retransmissions included."""
    @property
    def marked(self) -> float:
        """Bytes acknowledged that the network had marked (CE)."""
    @property
    def acks(self) -> float:
        """Acknowledgments."""
    @property
    def rtt(self) -> float:
        """Mean of the RTT samples; that of the last interval that had any where this has none, 0 before."""
    @property
    def rtt_gradient(self) -> float:
        """Slope of the RTT samples over time, by least squares."""
    @property
    def samples(self) -> float:
        """RTT samples."""
    @property
    def srtt(self) -> float:
        """Smoothed RTT at its end."""
    @property
    def min_rtt(self) -> float:
        """Smallest RTT sample of the connection."""
    @property
    def max_rate(self) -> float:
        """Largest rate of delivery in any interval so far, bytes per second."""
    @property
    def in_flight(self) -> float:
        """Bytes in flight at its end."""
    @property
    def cwnd(self) -> float:
        """Congestion window at its end."""
    @property
    def rate(self) -> float:
        """Pacing rate decided, bytes per second; 0: none."""
    @property
    def mss(self) -> float:
        """Bytes of a full segment."""
    @property
    def index(self) -> float:
        """Intervals before it."""

class Stepper:
    """One run that is stepped. Flows and links are named by their numbers, times are ns."""

    def __init__(self, resolved: str, controllers: dict[str, Any] | None = None) -> None: ...
    @property
    def flows(self) -> list[str]:
        """Ids of the flows."""
    @property
    def links(self) -> list[str]:
        """Ids of the links."""
    @property
    def times(self) -> tuple[int, int]:
        """The time that the run has come to, and its end."""
    @property
    def next_event(self) -> int | None:
        """When the next event is."""
    def step(self) -> int | None:
        """Handle one event; when it was."""
    def play(self, until: int | None, wakes: bool) -> tuple[Literal["time", "wake", "closed", "end"], int | None]:
        """Play up to a time or until a controller is woken: why it stopped, and whose controller."""
    def decide(
        self,
        flow: int,
        cwnd: float | None = None,
        ssthresh: float | None = None,
        rate: float | None = None,
        wake_at: int | None = None,
    ) -> None:
        """Decide for the controller of a flow."""
    def flow_state(self, flow: int) -> dict[str, Any]:
        """A flow as it stands."""
    def link_state(self, link: int) -> dict[str, Any]:
        """A link as it stands."""
    def interval(self, flow: int) -> Interval | None:
        """What the controller of a flow measured up to its last waking."""
    def drain(self) -> Table:
        """The samples recorded since the last call."""
    def finish(self) -> RunOutput:
        """Play the rest; the run is gone after it."""

class Fleet:
    """Simulations that are stepped together on threads, without the interpreter lock."""

    def __init__(self, documents: list[tuple[str, int]], size: int, threads: int) -> None: ...
    def step(self, decisions: bytes, begins: list[tuple[int, tuple[int, int, int]]], idle: list[int]) -> bytes:
        """Begin and step: three numbers (f64) for each in, those of `columns` for each out."""
    @staticmethod
    def columns() -> list[str]:
        """Names of the numbers of an outcome."""

def describe() -> str:
    """JSON object: version, profiles, tcp_options, controllers, slow_starts, flow_series, link_series."""

class ControllerFailure(Exception):  # noqa: N818 - the package makes a ControllerError of it
    """A Python controller raised; `args` are controller, flow, time in ns and method, the cause is its exception."""

class Cx:
    """What every event of a controller comes with. Times are seconds, sizes bytes."""

    @property
    def now(self) -> float:
        """The time of the event, seconds since the run began."""
    @property
    def now_ns(self) -> int:
        """The same, exactly, in ns."""
    @property
    def mss(self) -> int:
        """Payload of a full segment, bytes."""
    @property
    def in_flight(self) -> int:
        """Bytes the endpoint believes to be in the network after this event."""
    @property
    def srtt(self) -> float:
        """Smoothed round-trip time (RFC 6298), seconds; zero before the first sample."""
    @property
    def min_rtt(self) -> float:
        """Smallest sample of the connection, seconds; zero before the first."""
    @property
    def nxt(self) -> int:
        """Next position to send, bytes from the beginning of the stream."""
    @property
    def delivered(self) -> int:
        """Payload bytes delivered so far, cumulatively or selectively acknowledged."""
    @property
    def lost(self) -> int:
        """Payload bytes declared lost so far."""
    @property
    def phase(self) -> Literal["open", "disorder", "reduction", "recovery", "loss"]:
        """Where the sender stands: "open", "disorder", "reduction", "recovery" or "loss"."""
    def random(self) -> float:
        """Uniform in [0, 1), from the connection's own random stream. During the call only."""
    def randrange(self, n: int) -> int:
        """A whole number in [0, n), likewise."""

class Ack:
    """One acknowledgment. Times are seconds, sizes bytes."""

    @property
    def delivered(self) -> int:
        """Bytes newly delivered: cumulatively or selectively acknowledged for the first time."""
    @property
    def acked(self) -> int:
        """Bytes by which the cumulative acknowledgment advanced."""
    @property
    def segments(self) -> int:
        """Segments by which it advanced, as they were sent, whatever their size; of a part of one none."""
    @property
    def lost(self) -> int:
        """Bytes newly declared lost; zero in `observe`."""
    @property
    def marked(self) -> int:
        """Bytes newly delivered that the network had marked (CE)."""
    @property
    def ece(self) -> bool:
        """The acknowledgment carries ECN-Echo."""
    @property
    def duplicate(self) -> bool:
        """A duplicate acknowledgment (RFC 5681 §2, RFC 6675 §2)."""
    @property
    def rtt(self) -> float | None:
        """Round-trip time of the newest segment acknowledged, seconds; None when ambiguous (Karn's rule)."""
    @property
    def rtt_ns(self) -> int | None:
        """The same, exactly, in ns."""
    @property
    def one_way(self) -> float | None:
        """One-way delay from the timestamps, seconds, up to a constant; None without them."""
    @property
    def rate(self) -> RateSample | None:
        """Delivery rate (:class:`RateSample`, bytes per second), for controllers with `wants_rate`."""
    @property
    def departs(self) -> float:
        """When pacing lets the next segment leave, seconds since the run began (with `wants_rate`)."""
    @property
    def in_flight_before(self) -> int:
        """Bytes in flight before this acknowledgment."""
    @property
    def una(self) -> int:
        """First outstanding position of the stream, bytes from its beginning."""
    @property
    def nxt(self) -> int:
        """Next position to send, bytes from the beginning of the stream."""
    @property
    def round(self) -> int:
        """Counts rounds: one ends when a segment sent after its begin is acknowledged."""
    @property
    def plain(self) -> bool:
        """Only the cumulative acknowledgment advanced."""
    @property
    def window_limited(self) -> bool:
        """Whether the window held the sender back (RFC 9438 §5.8)."""
    @property
    def grow(self) -> bool:
        """Whether the controller moves the window: not during fast recovery."""

class RateSample:
    """How fast the network delivered over the last round trip (draft-ietf-ccwg-bbr)."""

    @property
    def delivered(self) -> int:
        """Bytes delivered over `interval`."""
    @property
    def interval(self) -> float:
        """Seconds; at least the smallest round-trip time."""
    @property
    def prior_delivered(self) -> int:
        """`Cx.delivered` when the newest delivered segment was sent."""
    @property
    def tx_in_flight(self) -> int:
        """Bytes in flight right after that segment was sent."""
    @property
    def prior_lost(self) -> int:
        """`Cx.lost` when it was sent."""
    @property
    def app_limited(self) -> bool:
        """The sender had nothing more to send then."""
    @property
    def rate(self) -> float:
        """Bytes per second."""

class Signal:
    """Why the window must shrink."""

    @property
    def kind(self) -> Literal["loss", "ecn", "timeout"]:
        """Loss found by acknowledgments ("loss"), a mark ("ecn"), or the retransmission timer ("timeout")."""
    @property
    def flight(self) -> int:
        """Bytes outstanding when the signal came (RFC 5681 FlightSize)."""
    @property
    def repeated(self) -> bool:
        """A timeout of a segment that timed out before: ssthresh must be held (RFC 5681 §3.1)."""

class Undo:
    """What was in force before a reaction that was unfounded."""

    @property
    def cwnd(self) -> int:
        """Congestion window, bytes."""
    @property
    def ssthresh(self) -> float:
        """Slow start threshold, bytes; infinite if there was none."""

class Lost:
    """A segment declared lost."""

    @property
    def pos(self) -> int:
        """Its first position, bytes from the beginning of the stream."""
    @property
    def len(self) -> int:
        """Its length, bytes."""
    @property
    def tx_in_flight(self) -> int:
        """Bytes in flight right after it was sent."""
    @property
    def lost(self) -> int:
        """Bytes declared lost since it was sent, its own included."""
    @property
    def app_limited(self) -> bool:
        """The sender had nothing more to send then."""

class Restart:
    """What the endpoint's idle rule asks for when sending resumes."""

    @property
    def idle(self) -> float:
        """Seconds without sending."""
    @property
    def window(self) -> int:
        """The window must not be above this, bytes."""
    @property
    def ssthresh_floor(self) -> int:
        """The threshold must not be below this, bytes."""

class Captures:
    """Captures that are analysed together."""

    def __init__(self, anonymise: bool = False) -> None: ...
    def analyse(self, file: str, folder: str, options: str) -> str:
        """Analyse a capture into Arrow files in a folder; what is known of it, as JSON."""

def empty_tables() -> tuple[Table, Table, Table, Table]:
    """The tables of no run: flows, links, transfers, series."""

def run(resolved: str, controllers: dict[str, Callable[..., Any]] | None = None) -> RunOutput:
    """Run one resolved run; `controllers` makes those in Python. Ctrl-C stops it.

    Releases the GIL if there are none in Python. Raises ValueError for a bad document, ControllerFailure.
    """

def record(resolved: str, flow: str, controllers: dict[str, Callable[..., Any]] | None = None) -> list[str]:
    """Run one resolved run; what the controller of `flow` was told and decided, one JSON object each."""

def replay(events: list[str], flow: str, controllers: dict[str, Callable[..., Any]] | None = None) -> list[str]:
    """Tell the controller of a resolved flow what was recorded; what it decides, one JSON object each."""

def validate(resolved_json: str) -> list[str]:
    """Check a resolved run without running it; its warnings. Raises ValueError for a bad document."""

def estimate_bytes(resolved_json: str) -> int:
    """Upper estimate of the memory a run and its result need, in bytes."""

def resolve_tcp(profile: str, options_json: str, controller: str) -> str:
    """All TCP options of a profile with the given ones applied, as JSON."""
