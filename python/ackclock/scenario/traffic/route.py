"""Which route flows take: the keys that every kind of flow has for it."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, field_validator

from ackclock.errors import Problem
from ackclock.scenario.topology.access import Access
from ackclock.scenario.topology.network import NodeName
from ackclock.scenario.values.base import Deferred, Model
from ackclock.scenario.values.types import PositiveDuration, Probability

NO_RELAY = "none"
"""What a flow that no relay splits has in place of the relay's name."""

Over = tuple[int, int] | None
"""The first and the last link a flow crosses, counted from 0; ``None`` is all of them."""


def _over(value: Any) -> Over:
    if value is None or value == "all":
        return None
    ends = [value, value] if type(value) is int else list(value) if isinstance(value, list | tuple) else []
    if len(ends) != 2 or any(type(end) is not int or end < 0 for end in ends):
        remedy = 'write "all", the number of one hop, or the first and the last as [0, 1]; they count from 0'
        raise Problem(f"{value!r} says no hops", remedy)
    first, last = ends
    if first > last:
        raise Problem(f"hop {first} is behind hop {last}", "write the first one first")
    return first, last


def _written(value: Over) -> Literal["all"] | int | list[int]:
    if value is None:
        return "all"
    return value[0] if value[0] == value[1] else list(value)


_HOP = {"type": "integer", "minimum": 0}
OverField = Annotated[
    Over,
    BeforeValidator(_over),
    PlainSerializer(_written),
    WithJsonSchema({"anyOf": [{"const": "all"}, _HOP, {"type": "array", "items": _HOP, "minItems": 2, "maxItems": 2}]}),
]


class RouteKeys(Model):
    """How a group of flows goes through the topology."""

    rtt: PositiveDuration | None = None
    """Propagation RTT of this flow, in place of the topology's."""
    rtt_spread: Probability = 0.0
    """The RTT of each flow and replication is drawn, uniformly within this fraction of `rtt` about it: below 1."""
    over: OverField = None
    """Of a parking lot: the hops it crosses, counted from 0: one, or the first and the last. Default: "all"."""
    source: NodeName | None = Field(default=None, alias="from")
    """Of a network: the node it sends from."""
    target: NodeName | None = Field(default=None, alias="to")
    """Of a network: the node it sends to."""
    via: tuple[NodeName, ...] = ()
    """Of a network: nodes to pass on the way out, in order. Default: the cheapest way."""
    via_back: tuple[NodeName, ...] = ()
    """Of a network: nodes to pass on the way back, in order. Default: the cheapest way."""
    user: Annotated[int, Field(strict=True, ge=0)] | None = None
    """Of a cell: the user of all flows of the group. Default: the first flow is that of user 0, the next of user 1."""
    direction: Literal["down", "up"] = "down"
    """Of a cell: whether data go to the user or come from it."""
    access: Deferred[Access] | None = None
    """Links of its own before and behind the shared ones, in place of the topology's."""

    @field_validator("rtt_spread")
    @classmethod
    def _some_rtt_left(cls, value: float) -> float:
        if value >= 1:
            raise Problem(f"a spread of {value:.0%} leaves no RTT", 'give less than 1, for instance "1 %"')
        return value
