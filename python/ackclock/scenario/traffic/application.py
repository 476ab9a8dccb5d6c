"""Applications: what the source of a flow does."""

import itertools
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from ackclock.errors import Problem
from ackclock.scenario.traffic.sized import no_bytes
from ackclock.scenario.traffic.web import Web as Web
from ackclock.scenario.values import kinds
from ackclock.scenario.values.base import Deferred, Model
from ackclock.scenario.values.distribution import Sizes, Times
from ackclock.scenario.values.types import (
    Count,
    Duration,
    Headers,
    Payload,
    PositiveDuration,
    PositiveRate,
    PositiveSize,
)

Document = dict[str, Any]


class Bulk(Model):
    """Data without end, or the flow's `bytes`, as fast as the transport allows."""

    kind: Literal["bulk"] = "bulk"
    """The application."""
    read: PositiveRate | None = None
    """How fast the receiver reads, bit/s. Default: everything at once."""
    read_every: PositiveDuration | None = None
    """How often it reads then. Default: 10 ms."""

    @model_validator(mode="after")
    def _read_slowly(self) -> "Bulk":
        if self.read is None and self.read_every is not None:
            raise Problem("a receiver that reads now and then reads at a rate", 'write read = "1 Mbit/s" beside it')
        return self

    def resolved(self, size: int | None) -> Document:
        """As the engine reads it; `size` is the flow's `bytes`."""
        reads = {"read_bps": self.read, "read_every_ns": self.read_every}
        return {"kind": "bulk", "bytes": size} | {key: value for key, value in reads.items() if value is not None}


class _Packets(Model):
    """Packets of one size at a given rate."""

    rate: PositiveRate
    """Payload per time, bit/s, while on."""
    packet: Payload = Field(default="1000 B", validate_default=True)
    """Payload of a packet, or bytes of a write."""
    transport: Literal["udp", "tcp"] = "udp"
    """udp: a datagram each; tcp: a write into a connection each."""
    headers: Headers = Field(default="28 B", validate_default=True)
    """What a datagram has on the wire besides its payload."""
    phase: Duration | None = None
    """Time to the first packet. Default: drawn, up to a gap between packets."""
    jitter: Annotated[bool, Field(strict=True)] = False
    """Whether every gap is multiplied by a number between 0.5 and 1.5 (ns-2's `random_`)."""
    ect: Annotated[bool, Field(strict=True)] = False
    """Whether datagrams are ECN-capable."""
    transfers: Annotated[bool, Field(strict=True)] = False
    """Whether each write is a transfer, from the write to its last byte read."""

    def packets(self) -> Document:
        """What the engine reads of any source of packets."""
        return {
            **({"transfers": True} if self.transfers else {}),
            "transport": self.transport,
            "rate_bps": self.rate,
            "packet_bytes": self.packet,
            "header_bytes": self.headers,
            "phase_ns": self.phase,
            "jitter": self.jitter,
            "ect": self.ect,
        }


class Cbr(_Packets):
    """Packets at a constant rate."""

    kind: Literal["cbr"]
    """The application."""

    def resolved(self, size: int | None) -> Document:
        """As the engine reads it."""
        no_bytes(size, "cbr")
        return {"kind": "cbr", **self.packets()}


class OnOff(_Packets):
    """Packets at a constant rate while on, none while off."""

    kind: Literal["on-off"]
    """The application."""
    on: Times = Field(default={"kind": "exponential", "mean": "500 ms"}, validate_default=True)
    """Lengths of the times on. Default: exponential, 500 ms."""
    off: Times = Field(default={"kind": "exponential", "mean": "500 ms"}, validate_default=True)
    """Lengths of the times off. Default: exponential, 500 ms."""

    def resolved(self, size: int | None) -> Document:
        """As the engine reads it."""
        no_bytes(size, "on-off")
        return {"kind": "on_off", **self.packets(), "on": dict(self.on.document), "off": dict(self.off.document)}


class Arrivals(Model):
    """When transfers arrive, from the flow's start on. Exactly one of the keys is given."""

    poisson: Annotated[float, Field(strict=True, gt=0, le=1e6, allow_inf_nan=False)] | None = None
    """A Poisson process with so many arrivals per second."""
    every: PositiveDuration | None = None
    """One at the start, and one after each such interval."""

    @model_validator(mode="after")
    def _one(self) -> "Arrivals":
        if (self.poisson is None) == (self.every is None):
            problem = "arrivals are a Poisson process or regular"
            raise Problem(problem, 'write { poisson = 10.0 } (per second) or { every = "1 s" }')
        return self


class Files(Model):
    """Transfers that arrive one after another, each over a connection of its own."""

    kind: Literal["files"]
    """The application."""
    arrivals: Arrivals
    """When they arrive."""
    size: Sizes
    """How large they are."""
    most: Count | None = None
    """How many at most. Default: as many as arrive."""
    until: PositiveDuration | None = None
    """When the last may arrive. Default: until the flow stops."""
    request: PositiveSize | None = None
    """The receiver opens the connection and asks with so many bytes. Default: the sender opens it and sends."""

    def resolved(self, size: int | None) -> Document:
        """As the engine reads it."""
        no_bytes(size, "files")
        every, poisson = self.arrivals.every, self.arrivals.poisson
        return {
            "kind": "files",
            "arrivals": {"every_ns": every} if poisson is None else {"poisson_per_s": poisson},
            "size": dict(self.size.document),
            "count": self.most,
            "until_ns": self.until,
            "request_bytes": self.request,
        }


class RequestResponse(Model):
    """Requests and their answers over one connection, one after the other."""

    kind: Literal["request-response"]
    """The application."""
    request: Sizes = Field(default="800 B", validate_default=True)
    """Bytes of a request."""
    response: Sizes
    """Bytes of its answer."""
    think: Times | None = None
    """From the end of an answer to the next request. Default: no time."""
    most: Count | None = None
    """How many requests. Default: until the flow stops."""

    def resolved(self, size: int | None) -> Document:
        """As the engine reads it."""
        no_bytes(size, "request-response")
        return {
            "kind": "request_response",
            "request": dict(self.request.document),
            "response": dict(self.response.document),
            "think": None if self.think is None else dict(self.think.document),
            "count": self.most,
        }


class Video(Model):
    """A video that is fetched in chunks and played from a buffer."""

    kind: Literal["video"]
    """The application."""
    bitrates: Annotated[tuple[PositiveRate, ...], Field(strict=False, min_length=1)]
    """Bitrates that the chunks come in, bit/s, rising."""
    chunk: PositiveDuration = Field(default="4 s", validate_default=True)
    """Time that a chunk plays."""
    startup: PositiveDuration | None = None
    """What is in the buffer when playing begins. Default: two chunks."""
    buffer: PositiveDuration | None = None
    """What the buffer holds. Default: 30 s, or as much as the start needs."""
    most: Count | None = None
    """How many chunks. Default: until the flow stops."""
    request: PositiveSize = Field(default="400 B", validate_default=True)
    """Bytes of a request."""
    safety: Annotated[int, Field(strict=True, ge=1, le=1000)] = 85
    """Share of the throughput that a bitrate may take, per cent."""

    @model_validator(mode="after")
    def _rising(self) -> "Video":
        if any(later <= rate for rate, later in itertools.pairwise(self.bitrates)):
            raise Problem("bitrates rise", "put them in order, each once", "bitrates")
        return self

    def resolved(self, size: int | None) -> Document:
        """As the engine reads it."""
        no_bytes(size, "video")
        return {
            "kind": "video",
            "chunk_ns": self.chunk,
            "bitrates_bps": list(self.bitrates),
            "startup_ns": self.startup,
            "buffer_ns": self.buffer,
            "chunks": self.most,
            "request_bytes": self.request,
            "safety_percent": self.safety,
        }


KINDS: Mapping[str, type[Model]] = {
    "bulk": Bulk,
    "cbr": Cbr,
    "on-off": OnOff,
    "files": Files,
    "request-response": RequestResponse,
    "video": Video,
    "web": Web,
}
"""The model of each application."""


_NEEDS = {
    "cbr": 'rate = "1 Mbit/s"',
    "on-off": 'rate = "1 Mbit/s"',
    "files": 'arrivals = { poisson = 10.0 }, size = "100 kB"',
    "request-response": 'response = "100 kB"',
    "video": 'bitrates = ["1 Mbit/s", "3 Mbit/s"]',
}
"""Applications that a name alone does not describe, and the least to say of them."""


def _known_kind(value: Any) -> Any:
    if isinstance(value, str):
        if value in _NEEDS:
            raise Problem(f"'{value}' needs more than its name", f'write {{ kind = "{value}", {_NEEDS[value]} }}')
        value = {"kind": value}
    if not isinstance(value, dict | Model):
        raise Problem(f"{str(value).lower()} is not an application", f"write its name: {', '.join(KINDS)}")
    return kinds.known("application", value, KINDS)


App = Annotated[
    Annotated[Deferred[Bulk], Tag("<bulk>")]
    | Annotated[Deferred[Cbr], Tag("<cbr>")]
    | Annotated[Deferred[OnOff], Tag("<on-off>")]
    | Annotated[Deferred[Files], Tag("<files>")]
    | Annotated[Deferred[RequestResponse], Tag("<request-response>")]
    | Annotated[Deferred[Video], Tag("<video>")]
    | Annotated[Deferred[Web], Tag("<web>")],
    Discriminator(kinds.tag),
    BeforeValidator(_known_kind),
]


class Interval(Model):
    """A time in which a source is active."""

    begin: Duration
    """From this time."""
    end: PositiveDuration | None = None
    """Until this time. Default: until the flow stops."""


def resolve_intervals(intervals: tuple[Interval, ...]) -> list[list[int | None]] | None:
    """As the engine reads them; None without any. Raises :class:`Problem` if they are not in order."""
    last: int | None = 0
    for index, item in enumerate(intervals):
        if last is None or item.begin < last:
            raise Problem("it begins before the one before it ends", "put them in order", "active", index, "begin")
        if item.end is not None and item.end <= item.begin:
            raise Problem("it ends before it begins", "give a later end", "active", index, "end")
        last = item.end
    return [[item.begin, item.end] for item in intervals] or None
