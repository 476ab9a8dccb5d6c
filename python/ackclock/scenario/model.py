"""One scenario: a single point of a sweep, complete and checked."""

from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator, model_validator

from ackclock.errors import Problem
from ackclock.scenario.settings import Probes, Run
from ackclock.scenario.topology.cell import LteCell
from ackclock.scenario.topology.hspa import HspaCell
from ackclock.scenario.topology.topologies import Topology
from ackclock.scenario.traffic import layout, splitting
from ackclock.scenario.traffic.flow import Flow
from ackclock.scenario.traffic.layout import Layout
from ackclock.scenario.traffic.relay import Relay
from ackclock.scenario.traffic.splitting import Split
from ackclock.scenario.values.base import Deferred, Model, shared_default

_MOST_FLOWS = 100_000


class Scenario(Model):
    """Who sends over what, for how long, and what is recorded.

    The values are the ones a scenario file writes: text with units. Values that are lists (sweeps) belong to
    the file, not to the scenario: :func:`ackclock.load` makes one `Scenario` of each combination.
    """

    topology: Topology
    """What packets pass through."""
    flows: Annotated[tuple[Flow, ...], Field(min_length=1)]
    """Who sends. Flows are numbered from 0 over all groups, in order."""
    relays: tuple[Deferred[Relay], ...] = ()
    """What splits connections in two; flows say by which. Default: none."""
    run: Run
    """How long, how often, and with what randomness."""
    probes: Probes = Field(default_factory=shared_default(Probes))
    """What to record over time."""

    @field_validator("flows")
    @classmethod
    def _one_for_each_user(cls, flows: tuple[Flow, ...], info: ValidationInfo) -> tuple[Flow, ...]:
        """In a cell a group that does not say how many flows it has has one for each user."""
        cell = info.data.get("topology")
        if not isinstance(cell, LteCell | HspaCell):
            return flows
        return tuple(
            flow
            if "count" in flow.model_fields_set or flow.user is not None
            else flow.model_copy(update={"count": cell.count})
            for flow in flows
        )

    @model_validator(mode="after")
    def _consistent(self) -> "Scenario":
        if sum(flow.count for flow in self.flows) > _MOST_FLOWS:
            raise Problem("too many flows", f"a run takes at most {_MOST_FLOWS} of them", "flows")
        for index, flow in enumerate(self.flows):
            if flow.start.latest >= self.run.duration:
                raise Problem("the flow may start after the run ends", "start it earlier", "flows", index, "start")
        self.splits()
        return self

    def layout(self) -> Layout:
        """The route of every group of flows through the topology."""
        return layout.build(self.topology, self.flows)

    def splits(self) -> list[Split | None]:
        """How a relay splits each group of flows, if one does."""
        return splitting.splits(self.topology, self.flows, self.layout(), self.relays)
