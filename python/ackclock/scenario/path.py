"""What packets pass through: queues, losses and the two topologies made of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    Tag,
    model_serializer,
    model_validator,
)

from ackclock.engine import Discipline, catalogue
from ackclock.errors import Problem, unknown
from ackclock.scenario.base import Model
from ackclock.scenario.options import convert, show
from ackclock.scenario.types import (
    Count,
    Duration,
    Limit,
    PositiveDuration,
    Probability,
    Rate,
    ReverseRate,
    Size,
    Threshold,
)
from ackclock.scenario.units import QueueLimit

_KINDS = ("dumbbell", "chain")


class Queue(Model):
    """The queue in front of a link. Every parameter of its discipline is a further key."""

    kind: str = "droptail"
    """The discipline; `ackclock cc --queues` lists them with their parameters."""
    limit: Limit
    """How much it holds: "0.2 BDP", "132 packets", "64 kB" or "unlimited". Default: the discipline's, if it has one."""
    limit_includes_service: Annotated[bool, Field(strict=True)] = True
    """Whether the packet in transmission counts against the limit, and for `mark_above`."""
    mark_above: Threshold | None = None
    """ECN-capable packets that find more than this before them are marked: "20 packets", "0.17 BDP" or "30 kB".
    Default: none are. For `droptail`; other disciplines mark by their own rules."""
    weights: Annotated[tuple[float, ...], Field(strict=False)] = ()
    """Weights of the classes of flows, for schedulers that share by weight. Default: 1 for every class."""
    params: Annotated[dict[str, Any], Field(default_factory=dict, exclude=True)]
    """Parameters of the discipline that differ from its defaults. They are written beside the other keys."""

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, value: Any) -> Any:
        """The discipline's parameters apart from the keys every queue has."""
        if not isinstance(value, dict):
            return value
        own = {key: item for key, item in value.items() if key in cls.model_fields and key != "params"}
        discipline = _discipline(own.get("kind", "droptail"))
        rest = {key: item for key, item in value.items() if key not in own}
        strange = next((key for key in rest if key not in discipline.params), None)
        if strange is not None:
            keys = [*discipline.params, *(name for name in cls.model_fields if name != "params")]
            raise unknown(f"key of a {discipline.name} queue", strange, keys, strange)
        if "limit" not in own and discipline.default_limit is not None:
            own["limit"] = f"{discipline.default_limit} packets"
        return {**own, "params": convert(f"parameter of {discipline.name}", discipline.params, rest)}

    @model_serializer(mode="wrap")
    def _flat(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        known = catalogue().queues[self.kind].params
        return {**handler(self), **{name: show(known[name], value) for name, value in self.params.items()}}

    @model_validator(mode="after")
    def _consistent(self) -> Queue:
        if self.mark_above is not None and self.kind != "droptail":
            problem = f"'{self.kind}' decides by itself what it marks"
            raise Problem(problem, "remove mark_above", "mark_above")
        if any(weight <= 0 for weight in self.weights):
            raise Problem("a weight must be above zero", "write for instance weights = [1, 2]", "weights")
        return self


def _discipline(kind: Any) -> Discipline:
    known = catalogue().queues
    if kind not in known:
        raise unknown("queue", str(kind), known, "kind")
    return known[kind]


class Drop(Model):
    """One packet to lose: the `nth` data segment of a flow to leave the link, counted from 1."""

    flow: Annotated[str, BeforeValidator(lambda value: str(value) if type(value) is int else value)]
    """Id of the flow: "0" for the first of all flows, and so on."""
    nth: Count
    """Which of its data segments, counted from 1, retransmissions included."""


class Loss(Model):
    """Loss at the output of a link, counted apart from queue drops. Exactly one of the keys is given."""

    p: Probability | None = None
    """Probability that a packet is lost, each for itself."""
    every: Annotated[int, Field(strict=True, ge=2)] | None = None
    """Every n-th packet of the link is lost."""
    drops: tuple[Drop, ...] | None = None
    """The packets to lose, one by one."""

    @model_validator(mode="after")
    def _one(self) -> Loss:
        if sum(value is not None for value in (self.p, self.every, self.drops)) != 1:
            raise Problem("a loss has exactly one of p, every and drops", "write for instance { every = 200 }")
        if self.p == 1:
            raise Problem("every packet would be lost", "give a probability below 1", "p")
        return self


def _loss_from(value: Any) -> Any:
    return {"p": value} if isinstance(value, int | float | str) else value


LossField = Annotated[Loss | None, BeforeValidator(_loss_from)]


def _queue_from(value: Any) -> Any:
    """A queue may be written as its limit alone."""
    return {"limit": value} if isinstance(value, str | int | float) else value


QueueField = Annotated[Queue, BeforeValidator(_queue_from)]


class Reverse(Model):
    """The way back. What is not given is as on the way out; losses are not mirrored."""

    rate: ReverseRate = None
    """Rate of the way back; "unlimited" makes it a pure delay. Default: as on the way out."""
    queue: QueueField | None = None
    """Queue of the way back. Default: as on the way out."""
    loss: LossField = None
    """Loss on the way back. Default: none."""

    @model_validator(mode="after")
    def _consistent(self) -> Reverse:
        if self.loss is not None and self.loss.drops is not None:
            problem = "drops name data segments, and none pass the way back"
            raise Problem(problem, "use p or every", "loss", "drops")
        return self


class Dumbbell(Model):
    """All flows share one bottleneck; every flow has its own propagation RTT."""

    kind: Literal["dumbbell"]
    """The topology."""
    rate: Rate
    """Rate of the bottleneck."""
    rtt: PositiveDuration | None = None
    """Propagation RTT of flows that do not set their own; without queueing and serialisation."""
    queue: QueueField
    """Queue of the bottleneck."""
    link_overhead: Size = Field(default="0 B", validate_default=True)
    """Bytes added to every packet on the wire, such as "14 B" for Ethernet."""
    loss: LossField = None
    """Loss at the output of the bottleneck."""
    reverse: Reverse = Reverse()
    """The way back."""


class Hop(Model):
    """One link of a chain."""

    rate: Rate
    """Rate of the link."""
    delay: Duration
    """Propagation delay, one way."""
    queue: QueueField = Queue(limit=QueueLimit("unlimited"))
    """Queue in front of the link. Default: unlimited."""
    link_overhead: Size = Field(default="0 B", validate_default=True)
    """Bytes added to every packet on the wire."""
    loss: LossField = None
    """Loss at the output of the link."""


class Chain(Model):
    """Links in a row, which every flow crosses from the first to the last, and back."""

    kind: Literal["chain"]
    """The topology."""
    hops: Annotated[tuple[Hop, ...], Field(min_length=1)]
    """The links, in order."""
    reverse: Reverse = Reverse()
    """Applied to every link of the way back, which otherwise mirrors the way out."""


def _known_kind(value: Any) -> Any:
    if isinstance(value, Dumbbell | Chain):
        return value
    if not isinstance(value, dict):
        raise Problem("the topology is a table", 'write [topology] with kind = "dumbbell"')
    kind = value.get("kind")
    if kind is None:
        raise Problem("missing key 'kind'", f"add one of: {', '.join(_KINDS)}", "kind")
    if kind not in _KINDS:
        raise unknown("topology", str(kind), _KINDS, "kind")
    return value


def _tag(value: Any) -> str:
    return f"<{value['kind'] if isinstance(value, dict) else value.kind}>"


# The tags are in brackets so that error paths, which pydantic puts them into, can be told from keys.
Topology = Annotated[
    Annotated[Dumbbell, Tag("<dumbbell>")] | Annotated[Chain, Tag("<chain>")],
    Discriminator(_tag),
    BeforeValidator(_known_kind),
]
