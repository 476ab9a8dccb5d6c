"""The queue in front of a link."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from ackclock.engine import Discipline, catalogue
from ackclock.errors import Problem, unknown
from ackclock.scenario.values.base import Model
from ackclock.scenario.values.options import convert, written
from ackclock.scenario.values.types import Limit, Threshold

WEIGHTED = ("scfq", "wfq", "wf2q", "fq", "drr")
"""Disciplines that share a link by weight."""


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
    weights: Annotated[tuple[Annotated[float, Field(strict=True, allow_inf_nan=False)], ...], Field(strict=False)] = ()
    """Weights of the classes of flows, for schedulers that share by weight. Default: 1 for every class."""
    params: dict[str, Any] = Field(default_factory=dict, exclude=True)
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
        return {**handler(self), **{name: written(known[name], value) for name, value in self.params.items()}}

    @model_validator(mode="after")
    def _consistent(self) -> "Queue":
        if self.mark_above is not None and self.kind != "droptail":
            problem = f"'{self.kind}' decides by itself what it marks"
            raise Problem(problem, "remove mark_above", "mark_above")
        if any(weight <= 0 for weight in self.weights):
            raise Problem("a weight must be above zero", "write for instance weights = [1, 2]", "weights")
        return self


def _discipline(kind: Any) -> Discipline:
    known = catalogue().queues
    if not isinstance(kind, str) or kind not in known:
        raise unknown("queue", str(kind), known, "kind")
    return known[kind]


def _queue_from(value: Any) -> Any:
    """A queue may be written as its limit alone."""
    if isinstance(value, str) and value in catalogue().queues:
        raise Problem(f"'{value}' is a kind of queue", f'write {{ kind = "{value}", limit = "1 BDP" }}')
    return {"limit": value} if isinstance(value, str | int | float) else value


QueueField = Annotated[Queue, BeforeValidator(_queue_from)]
