"""The topologies: what packets pass through, made of links."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from ackclock.errors import Problem
from ackclock.scenario.topology.access import Access
from ackclock.scenario.topology.cell import LteCell
from ackclock.scenario.topology.hspa import HspaCell
from ackclock.scenario.topology.link import Hop, LinkKeys, Reverse
from ackclock.scenario.topology.loss import LossField
from ackclock.scenario.topology.network import Network
from ackclock.scenario.topology.queue import QueueField
from ackclock.scenario.topology.rate import Rate
from ackclock.scenario.values import kinds
from ackclock.scenario.values.base import Deferred, Model, shared_default
from ackclock.scenario.values.types import PositiveDuration


class Dumbbell(LinkKeys):
    """All flows share one bottleneck; every flow has its own propagation RTT."""

    kind: Literal["dumbbell"]
    """The topology."""
    rate: Rate
    """Rate of the bottleneck."""
    rtt: PositiveDuration | None = None
    """Propagation RTT of flows that do not set their own; without queueing and serialisation."""
    queue: QueueField
    """Queue of the bottleneck."""
    loss: LossField = None
    """Loss at the output of the bottleneck."""
    access: Deferred[Access] | None = None
    """Links of each flow's own before and behind the bottleneck. Default: none."""
    reverse: Reverse = Field(default_factory=shared_default(Reverse))
    """The way back."""


class Row(Model):
    """Links in a row."""

    hops: Annotated[tuple[Hop, ...], Field(min_length=1)]
    """The links, in order."""
    access: Deferred[Access] | None = None
    """Links of each flow's own before its first and behind its last hop. Default: none."""
    reverse: Reverse = Field(default_factory=shared_default(Reverse))
    """Of every link of the way back; rate, delay, framing and queue are otherwise those of the way out."""


class Chain(Row):
    """Links in a row, which every flow crosses from the first to the last, and back."""

    kind: Literal["chain"]
    """The topology."""


class ParkingLot(Row):
    """Links in a row, of which every flow crosses those its `over` says, and back."""

    kind: Literal["parking-lot"]
    """The topology."""
    rtt: PositiveDuration | None = None
    """Propagation RTT of flows that do not set their own. Default: what the links on their way take."""


Shape = Dumbbell | Chain | ParkingLot | Network | LteCell | HspaCell
"""A topology of any kind."""

KINDS: Mapping[str, type[Model]] = {
    "dumbbell": Dumbbell,
    "chain": Chain,
    "parking-lot": ParkingLot,
    "network": Network,
    "lte_cell": LteCell,
    "hspa_cell": HspaCell,
}
"""The model of each kind of topology."""


def _known_kind(value: Any) -> Any:
    if not isinstance(value, dict | Model):
        raise Problem("the topology is a table", 'write [topology] with kind = "dumbbell"')
    return kinds.known("topology", value, KINDS)


Topology = Annotated[
    Annotated[Deferred[Dumbbell], Tag("<dumbbell>")]
    | Annotated[Deferred[Chain], Tag("<chain>")]
    | Annotated[Deferred[ParkingLot], Tag("<parking-lot>")]
    | Annotated[Deferred[Network], Tag("<network>")]
    | Annotated[Deferred[LteCell], Tag("<lte_cell>")]
    | Annotated[Deferred[HspaCell], Tag("<hspa_cell>")],
    Discriminator(kinds.tag),
    BeforeValidator(_known_kind),
]
