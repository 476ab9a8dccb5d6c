"""One scenario: a single point of a sweep, complete and checked."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from ackclock.errors import Problem
from ackclock.scenario.base import Model
from ackclock.scenario.flow import Flow
from ackclock.scenario.path import Chain, Dumbbell, Topology
from ackclock.scenario.settings import Probes, Run
from ackclock.scenario.units import DURATION

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
    run: Run
    """How long, how often, and with what randomness."""
    probes: Probes = Probes()
    """What to record over time."""

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        if sum(flow.count for flow in self.flows) > _MOST_FLOWS:
            raise Problem("too many flows", f"a run takes at most {_MOST_FLOWS} of them", "flows")
        for index, flow in enumerate(self.flows):
            if flow.start.latest >= self.run.duration:
                raise Problem("the flow may start after the run ends", "start it earlier", "flows", index, "start")
            if isinstance(self.topology, Dumbbell):
                if flow.rtt is None and self.topology.rtt is None:
                    raise Problem("missing key 'rtt'", "add it here or to every flow", "topology", "rtt")
            elif flow.rtt is not None and flow.rtt < chain_rtt(self.topology):
                least = DURATION.format(chain_rtt(self.topology))
                problem = f"the links alone take {least} there and back"
                raise Problem(problem, "give at least that, or shorten their delays", "flows", index, "rtt")
        return self

    def rtt_of(self, flow: Flow) -> int:
        """Propagation RTT of `flow`, ns."""
        if flow.rtt is not None:
            return flow.rtt
        if isinstance(self.topology, Chain):
            return chain_rtt(self.topology)
        return self.topology.rtt or 0


def chain_rtt(chain: Chain) -> int:
    """Propagation RTT of the links of a chain, ns."""
    return 2 * sum(hop.delay for hop in chain.hops)
