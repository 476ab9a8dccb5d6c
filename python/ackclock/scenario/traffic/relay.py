"""Relays: places on the way where connections are split in two, each with options of its own (RFC 3135)."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator

from ackclock.errors import Problem, unknown
from ackclock.scenario.topology.network import NodeName
from ackclock.scenario.traffic.flow import (
    TCP_KEYS,
    Controller,
    Flow,
    SlowStart,
    known_profile,
    tcp_table,
    tcp_value,
)
from ackclock.scenario.traffic.route import NO_RELAY
from ackclock.scenario.values.base import Model, shared_default
from ackclock.scenario.values.types import Count, Duration, PositiveSize

LEAST_BUFFER = 65_535
"""Bytes: what the window of a SYN can promise, which nothing takes back."""

LEGS = ("source", "sink")
"""The legs of a flow that is split: between its source and the relay, between the relay and its sink."""


def _position(value: Any) -> str | int:
    if isinstance(value, str) and value:
        return value
    if type(value) is int and value >= 0:
        return value
    shown = str(value).lower() if isinstance(value, bool) else repr(value)
    remedy = 'write the name of a node of a network, "core" in a cell, and else how many hops are before it'
    raise Problem(f"{shown} is no place for a relay", remedy)


Position = Annotated[
    str | int,
    BeforeValidator(_position),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0}]}),
]


class Leg(Model):
    """The connections between a relay and one end: what is not written here is as the flow has it."""

    cc: Controller | None = None
    """Congestion controller, of both ends."""
    slow_start: SlowStart | None = None
    """Slow start. Default: the flow's; of a leg with a `cc` of its own its profile's for it."""
    profile: str | None = None
    """Bundle of TCP options to start from."""
    mss: PositiveSize | None = None
    """Payload of a full segment."""
    recovery: Any = Field(default=None, validate_default=False)
    """Loss recovery."""
    iw: Any = Field(default=None, validate_default=False)
    """Initial window, segments."""
    min_rto: Any = Field(default=None, validate_default=False)
    """Smallest retransmission timeout."""
    delayed_ack: Any = Field(default=None, validate_default=False)
    """Full segments per acknowledgement; 1 acknowledges each."""
    tcp: dict[str, Any] = Field(default_factory=dict)
    """Any other TCP option by name, in place of the flow's."""

    _profile = field_validator("profile")(known_profile)
    _keys = field_validator(*TCP_KEYS, mode="before")(tcp_value)
    _table = field_validator("tcp")(tcp_table)

    def of(self, flow: Flow) -> Flow:
        """The flow with the options of the leg. Raises :class:`Problem` for those that do not go together."""
        own = {name: getattr(self, name) for name in Leg.model_fields if name != "tcp"}
        changes = {name: value for name, value in own.items() if value is not None}
        for key in TCP_KEYS:
            if key in changes and key in self.tcp:
                raise Problem(f"'{key}' is given twice", f"keep either {key} or tcp.{key}", "tcp", key)
        if "cc" in changes:
            changes.setdefault("slow_start", None)
        # An option may be written in two places, and the leg may have chosen the other one than the flow.
        tcp = {key: value for key, value in flow.tcp.items() if key not in changes} | self.tcp
        changes |= {key: None for key in TCP_KEYS if key in self.tcp}
        leg = flow.model_copy(update={**changes, "tcp": tcp, "relay": NO_RELAY})
        leg.check_connection()
        return leg


class Relay(Model):
    """A place on the way where connections are split: two of them, and between them a buffer for each direction."""

    name: NodeName
    """What flows call it."""
    position: Position | None = None
    """Where it is: the name of a node in a network, "core" in a cell, in a dumbbell, chain or parking lot how many hops
    are before it. Default: "core" in a cell."""
    buffer: PositiveSize = Field(default="4 MB", validate_default=True)
    """Of each direction of a connection: what was acknowledged to the one end and is not by the other."""
    opening: Literal["transparent", "accepted", "lazy", "syn_forward"] = "transparent"
    """When clients are answered: at once (`accepted`: the other leg is opened when their handshake is done, as programs
    do), when the other leg is open, or when the server has answered."""
    delay: Duration = Field(default="0 s", validate_default=True)
    """How long what has arrived takes to the other leg."""
    per_segment: Duration = Field(default="0 s", validate_default=True)
    """How long its processor takes for each segment with data, one after the other, of all flows together."""
    connections: Count | None = None
    """The most that it splits at a time, of all flows together; a client beyond is reset. Default: any number."""
    source: Leg = Field(default_factory=shared_default(Leg))
    """Between the source of the data and the relay."""
    sink: Leg = Field(default_factory=shared_default(Leg))
    """Between the relay and the sink."""

    @field_validator("name")
    @classmethod
    def _a_name(cls, value: str) -> str:
        if value == NO_RELAY:
            raise Problem(f"'{value}' is what a flow without a relay writes", "give it another name")
        return value

    @field_validator("buffer")
    @classmethod
    def _large_enough(cls, value: int) -> int:
        if value < LEAST_BUFFER:
            problem = f"a buffer of {value} B is less than a SYN may promise"
            raise Problem(problem, f'give at least "{LEAST_BUFFER} B"')
        return value

    def legs(self) -> tuple[Leg, Leg]:
        """Towards the source and towards the sink."""
        return self.source, self.sink


def named(relays: tuple[Relay, ...]) -> Mapping[str, int]:
    """The numbers of relays by name. Raises :class:`Problem` for two of the same."""
    known: dict[str, int] = {}
    for index, relay in enumerate(relays):
        if relay.name in known:
            raise Problem(f"there are two relays '{relay.name}'", "remove one or rename it", "relays", index, "name")
        known[relay.name] = index
    return known


def of_flow(flow: Flow, index: int, known: Mapping[str, int]) -> int | None:
    """The number of the relay of group `index` of flows, if it has one. Raises :class:`Problem` for one not there."""
    if flow.relay == NO_RELAY:
        return None
    if flow.relay not in known:
        raise unknown("relay", flow.relay, [NO_RELAY, *known], "flows", index, "relay")
    if flow.datagrams:
        problem = "a relay splits connections, and this flow sends datagrams"
        raise Problem(problem, 'remove relay, or give the app transport = "tcp"', "flows", index, "relay")
    return known[flow.relay]
