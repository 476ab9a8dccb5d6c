"""What happens to packets at the output of a link besides losses: jitter, reordering, duplicates, and changes."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from ackclock.errors import Problem
from ackclock.scenario.topology.loss import LossField
from ackclock.scenario.values.base import Model
from ackclock.scenario.values.types import Duration, PositiveDuration, Probability
from ackclock.scenario.values.units import RATE

_NEEDS: dict[str, tuple[str, ...]] = {
    "uniform": ("low", "high"),
    "normal": ("mean", "sd"),
    "exponential": ("mean",),
    "pareto": ("scale", "shape"),
    "empirical": ("values",),
}


class Jitter(Model):
    """Extra delay of single packets, drawn for each. What each kind needs is in brackets."""

    kind: Literal["uniform", "normal", "exponential", "pareto", "empirical"]
    """uniform (low, high), normal (mean, sd: truncated at zero), exponential (mean), pareto (scale, shape) or
    empirical (values, of equal weight, linear between them)."""
    low: Duration | None = None
    """Least delay of a uniform one."""
    high: Duration | None = None
    """Most delay of a uniform one."""
    mean: Duration | None = None
    """Mean of a normal or exponential one."""
    sd: Duration | None = None
    """Standard deviation of a normal one."""
    scale: PositiveDuration | None = None
    """Least delay of a Pareto one."""
    shape: Annotated[float, Field(strict=True, gt=1, allow_inf_nan=False)] | None = None
    """Exponent of a Pareto one."""
    values: tuple[Duration, ...] | None = None
    """Delays that were measured."""
    preserve_order: Annotated[bool, Field(strict=True)] = True
    """Whether a packet that would overtake another comes out together with it instead."""

    @model_validator(mode="after")
    def _fits(self) -> "Jitter":
        wanted = _NEEDS[self.kind]
        for name in sorted({key for keys in _NEEDS.values() for key in keys}):
            given = getattr(self, name) is not None
            if given and name not in wanted:
                raise Problem(f"{self.kind} jitter has no '{name}'", f"it has {' and '.join(wanted)}", name)
            if not given and name in wanted:
                raise Problem(f"missing key '{name}'", f"{self.kind} jitter has {' and '.join(wanted)}", name)
        if self.low is not None and self.high is not None and self.low > self.high:
            raise Problem("the least delay is above the most", "exchange them", "low")
        if self.values is not None and not self.values:
            raise Problem("an empty list", "give at least one delay", "values")
        return self


class Reorder(Model):
    """Packets held back, each for itself, so that others overtake them."""

    p: Probability
    """Share of packets."""
    extra: PositiveDuration
    """How much later they come."""


def _event_rate(value: Any) -> Any:
    if value is None:
        return None
    return 0 if value == "off" else RATE.parse(value)


EventRate = Annotated[
    int | None,
    BeforeValidator(_event_rate),
    PlainSerializer(lambda value: "off" if value == 0 else value and RATE.format(value)),
    WithJsonSchema({"type": "string", "description": 'a rate with its unit, or "off"', "examples": [RATE.example]}),
]
"""A rate in bit/s; zero is ``"off"``."""


class Event(Model):
    """What a link becomes at a time. What is not given stays as it is."""

    at: Duration
    """When."""
    rate: EventRate = None
    """Rate from then on; "off" stops it."""
    delay: Duration | None = None
    """Propagation delay from then on; packets keep their order."""
    loss: LossField = None
    """Loss from then on."""
    jitter: Jitter | None = None
    """Jitter from then on; `preserve_order` is the link's own."""
    reorder: Reorder | None = None
    """Reordering from then on."""
    duplicate: Probability | None = None
    """Share of duplicates from then on."""

    @model_validator(mode="after")
    def _something(self) -> "Event":
        if all(getattr(self, name) is None for name in type(self).model_fields if name != "at"):
            raise Problem("nothing changes", 'add for instance rate = "5 Mbit/s"', "at")
        if self.jitter is not None and not self.jitter.preserve_order:
            problem = "whether jitter keeps the order is the link's own, for the whole run"
            raise Problem(problem, "set preserve_order in the jitter of the link", "jitter", "preserve_order")
        if self.loss is not None and self.loss.drops is not None:
            raise Problem(
                "drops are given once for the whole run", "put them into the link's own loss", "loss", "drops"
            )
        return self


def resolve_jitter(jitter: Jitter) -> dict[str, Any]:
    """As the engine reads it."""
    names = {"values": "values_ns", "shape": "shape"}
    fields = {names.get(name, f"{name}_ns"): getattr(jitter, name) for name in _NEEDS[jitter.kind]}
    if jitter.values is not None:
        fields["values_ns"] = list(jitter.values)
    return {"kind": jitter.kind, **fields}


def resolve_reorder(reorder: Reorder) -> dict[str, Any]:
    """As the engine reads it."""
    return {"probability": reorder.p, "extra_ns": reorder.extra}
