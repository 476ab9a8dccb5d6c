"""Access links: what a flow crosses alone before and after the links it shares."""

from typing import Literal

from pydantic import Field

from ackclock.scenario.topology.link import LinkKeys, Reverse
from ackclock.scenario.topology.rate import Rate
from ackclock.scenario.values.base import shared_default
from ackclock.scenario.values.types import Duration


class Access(LinkKeys):
    """Links of each flow's own, in both directions: between sender and shared links, and between those and receiver."""

    rate: Rate = Field(default="unlimited", validate_default=True)
    """Rate of the link, or "unlimited". Default: unlimited."""
    delay: Duration = Field(default="0 s", validate_default=True)
    """Propagation delay, one way, part of the flow's RTT. Default: none."""
    side: Literal["both", "sender", "receiver"] = "both"
    """Who has such a link: "sender", "receiver" or "both". Default: both."""
    reverse: Reverse = Field(default_factory=shared_default(Reverse))
    """The way back over the same link."""

    @property
    def rtt(self) -> int:
        """What its delays add to the RTT of a flow, ns."""
        back = self.delay if self.reverse.delay is None else self.reverse.delay
        return (self.delay + back) * (2 if self.side == "both" else 1)
