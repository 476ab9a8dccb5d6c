"""What every link has, whatever the topology it belongs to, and how a way back differs from the way out."""

from pydantic import Field, model_validator

from ackclock.errors import Problem
from ackclock.scenario.topology.impairments import Event, Jitter, Reorder
from ackclock.scenario.topology.loss import LossField
from ackclock.scenario.topology.queue import Queue, QueueField
from ackclock.scenario.topology.rate import Bucket, Rate, ReverseRate
from ackclock.scenario.values.base import Deferred, Model
from ackclock.scenario.values.types import Count, Duration, Framing, Probability
from ackclock.scenario.values.units import QueueLimit

UNLIMITED = Queue(limit=QueueLimit("unlimited"))
"""A queue without a limit."""


class LinkKeys(Model):
    """What every link has. A new feature of links is a key here and a line in `links.resolve_link`."""

    rate: Rate
    """Rate of the link, or "unlimited"."""
    queue: QueueField = UNLIMITED
    """Queue in front of the link. Default: unlimited."""
    link_overhead: Framing = Field(default="0 B", validate_default=True)
    """Bytes added to every packet on the wire, such as "14 B" for Ethernet."""
    loss: LossField = None
    """Loss at the output of the link."""
    shaper: Deferred[Bucket] | None = None
    """A token bucket that holds packets back, before the line. Default: none."""
    policer: Deferred[Bucket] | None = None
    """A token bucket that drops what exceeds it, before the queue. Default: none."""
    jitter: Deferred[Jitter] | None = None
    """Extra delay of single packets. Default: none."""
    reorder: Deferred[Reorder] | None = None
    """Packets held back so that others overtake them. Default: none."""
    duplicate: Probability = 0.0
    """Share of packets that come out twice."""
    events: tuple[Deferred[Event], ...] = ()
    """What changes in the run, in the order of time."""


class Hop(LinkKeys):
    """A link of a row, or several equal ones."""

    delay: Duration
    """Propagation delay, one way."""
    count: Count = 1
    """How many such links follow each other."""


class Reverse(Model):
    """The way back. Rate, delay, framing and queue are as on the way out; nothing else is mirrored."""

    rate: ReverseRate = None
    """Rate of the way back; "unlimited" makes it a pure delay. Default: as on the way out."""
    delay: Duration | None = None
    """Propagation delay of the way back. Default: as on the way out."""
    queue: QueueField | None = None
    """Queue of the way back. Default: as on the way out."""
    loss: LossField = None
    """Loss on the way back. Default: none."""

    @model_validator(mode="after")
    def _consistent(self) -> "Reverse":
        if self.loss is not None and self.loss.drops is not None:
            problem = "drops name data segments, and none pass the way back"
            raise Problem(problem, "use p or every", "loss", "drops")
        return self
