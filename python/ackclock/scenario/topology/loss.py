"""Losses at the output of a link."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from ackclock.errors import Problem
from ackclock.scenario.values.base import Deferred, Model
from ackclock.scenario.values.types import Count, Probability


class Drop(Model):
    """One packet to lose: the `nth` data segment of a flow to leave the link, counted from 1."""

    flow: Annotated[str, BeforeValidator(lambda value: str(value) if type(value) is int else value)]
    """Id of the flow: "0" for the first of all flows, and so on."""
    nth: Count
    """Which of its data segments, counted from 1, retransmissions included."""


class GilbertElliott(Model):
    """A channel of two states (Gilbert 1960, Elliott 1963); the state may change with each packet."""

    p: Probability
    """Probability that the good state turns bad."""
    r: Probability
    """Probability that the bad state turns good: bad runs are 1/r packets long on average."""
    h: Probability = 0.0
    """Share of packets that survive in the bad state."""
    k: Probability = 1.0
    """Share of packets that survive in the good state."""

    @model_validator(mode="after")
    def _some_survive(self) -> "GilbertElliott":
        if self.p == 0 and self.r == 0:
            raise Problem("the channel never changes its state", "give p and r above 0", "p")
        if self.r == 0 and self.h == 0:
            raise Problem("once bad it never turns good: every packet would be lost", "give r above 0", "r")
        if self.h == 0 and self.k == 0:
            raise Problem("no packet survives in either state", "give k above 0", "k")
        return self


class Loss(Model):
    """Loss at the output of a link, counted apart from queue drops. Exactly one of the keys is given."""

    p: Probability | None = None
    """Probability that a packet is lost, each for itself."""
    every: Annotated[int, Field(strict=True, ge=2, le=2**63 - 1)] | None = None
    """Every n-th packet of the link is lost."""
    drops: tuple[Drop, ...] | None = None
    """The packets to lose, one by one."""
    gilbert_elliott: GilbertElliott | None = None
    """In bursts."""
    ber: Probability | None = None
    """Bit error rate: a packet is lost if one of its bits is, each for itself."""

    @model_validator(mode="after")
    def _one(self) -> "Loss":
        given = (self.p, self.every, self.drops, self.gilbert_elliott, self.ber)
        if sum(value is not None for value in given) != 1:
            problem = "a loss has exactly one of p, every, drops, gilbert_elliott and ber"
            raise Problem(problem, "write for instance { every = 200 }")
        if self.drops == ():
            raise Problem("an empty list", "name at least one packet, or leave the loss out", "drops")
        for name in ("p", "ber"):
            if getattr(self, name) == 1:
                raise Problem("every packet would be lost", "give a probability below 1", name)
        return self


def _loss_from(value: Any) -> Any:
    return {"p": value} if isinstance(value, int | float | str) else value


LossField = Annotated[Deferred[Loss] | None, BeforeValidator(_loss_from)]
