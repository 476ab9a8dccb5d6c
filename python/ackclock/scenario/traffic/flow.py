"""Who sends: groups of identical flows, and the algorithms they use."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from ackclock import engine
from ackclock.controllers import loading
from ackclock.engine import DEFAULT_PROFILE, catalogue
from ackclock.engine import Algorithm as Description
from ackclock.errors import EngineError, Problem, unknown
from ackclock.scenario.topology.network import NodeName
from ackclock.scenario.traffic.application import (
    App,
    Cbr,
    Files,
    Interval,
    OnOff,
    RequestResponse,
    Web,
    resolve_intervals,
)
from ackclock.scenario.traffic.route import NO_RELAY, RouteKeys
from ackclock.scenario.values.base import Model
from ackclock.scenario.values.options import convert
from ackclock.scenario.values.types import Count, Duration, PositiveDuration, PositiveSize

TCP_KEYS = ("recovery", "iw", "min_rto", "delayed_ack")
"""TCP options that may be written beside the other keys of a flow; the rest go into its `tcp` table."""

_MSS_MOST = 65_483  # 65,535 less IPv4 and TCP headers and timestamps


@dataclass(frozen=True)
class Choice:
    """An algorithm by name, and what differs from its defaults, as written."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = field(default=None, compare=False)
    """Hash of the source of a controller written in Python."""
    own_start: bool = field(default=False, compare=False)
    """Whether it starts by itself and takes no slow start."""

    def __str__(self) -> str:
        inside = ", ".join(f"{key}={value}" for key, value in self.params.items())
        return f"{self.name}({inside})" if inside else self.name


def _written(value: Any, what: str, key: str, known: Mapping[str, Description]) -> Choice:
    if isinstance(value, Choice):
        return value
    if isinstance(value, str):
        return Choice(value)
    if not isinstance(value, dict):
        shown = str(value).lower() if isinstance(value, bool) else repr(value)
        raise Problem(f"{shown} is not a {what}", f"write its name: {', '.join(known)}")
    if key not in value:
        raise Problem(f"missing key '{key}'", f'write for instance {{ {key} = "{next(iter(known))}" }}')
    return Choice(str(value[key]), {name: item for name, item in value.items() if name != key})


def _choice(value: Any, what: str, key: str, known: Mapping[str, Description]) -> Choice:
    choice = _written(value, what, key, known)
    description = known.get(choice.name)
    if description is None:
        head, _, inside = choice.name.partition("(")
        if "=" in inside and head in known:
            problem = f"'{choice.name}' is what tables call a {what} with parameters"
            raise Problem(problem, f'write {{ {key} = "{head}", {_keys(inside.removesuffix(")"))} }}')
        raise unknown(what, choice.name, known, *([key] if isinstance(value, dict) else []))
    convert(f"parameter of {choice.name}", description.params, choice.params)
    return Choice(choice.name, choice.params, own_start=description.own_start)


def _keys(parameters: str) -> str:
    """Parameters as tables of results write them, ``beta=0.8, variant=linux``, as keys of TOML."""
    pairs = (part.partition("=") for part in parameters.split(", "))
    return ", ".join(f"{key} = {_literal(value)}" for key, _, value in pairs)


def _literal(value: str) -> str:
    try:
        float(value)
    except ValueError:
        return value if value in {"true", "false"} else f'"{value}"'
    return value


def _controller(value: Any, info: ValidationInfo) -> Choice:
    """A controller of the engine's, or a class in Python, looked for beside the scenario's file."""
    known = catalogue().named
    choice = _written(loading.name_of(value) if loading.is_class(value) else value, "controller", "name", known)
    if not choice.name.startswith(loading.PREFIX):
        return _choice(choice, "controller", "name", known)
    found = loading.find(choice.name, (info.context or {}).get("folder"))
    loading.check_params(found, choice.params)
    return Choice(choice.name, choice.params, found.source, found.cls.kind != "law")


def _choice_field(key: str, description: str) -> tuple[PlainSerializer, WithJsonSchema]:
    table = {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]}
    schema = {"anyOf": [{"type": "string"}, table], "description": description}
    serializer = PlainSerializer(lambda choice: {key: choice.name, **choice.params} if choice.params else choice.name)
    return serializer, WithJsonSchema(schema)


Controller = Annotated[
    Choice,
    BeforeValidator(_controller),
    *_choice_field("name", "a controller by name, or a table of its name and parameters"),
]
SlowStart = Annotated[
    Choice,
    BeforeValidator(lambda value: _choice(value, "slow start", "kind", catalogue().slow_starts)),
    *_choice_field("kind", "a slow start by name, or a table of its kind and parameters"),
]


class Start(Model):
    """When a flow begins: at a time, or drawn for each flow and replication."""

    at: Duration | None = None
    """At this time."""
    uniform: tuple[Duration, Duration] | None = None
    """Drawn uniformly between two times."""

    @model_validator(mode="after")
    def _one(self) -> "Start":
        if (self.at is None) == (self.uniform is None):
            raise Problem("a start is a time or a range of times", 'write "1 s" or { uniform = ["0 s", "5 s"] }')
        if self.uniform is not None and self.uniform[0] > self.uniform[1]:
            raise Problem("the first time is after the second", "write the earlier one first", "uniform")
        return self

    @property
    def latest(self) -> int:
        """The last instant at which the flow may begin, ns."""
        return self.uniform[1] if self.uniform is not None else self.at or 0


StartField = Annotated[
    Start, BeforeValidator(lambda value: {"at": value} if isinstance(value, str | int | float) else value)
]


def known_profile(value: str | None) -> str | None:
    """Refuse a bundle of options that there is not."""
    if value is not None and value not in catalogue().profiles:
        raise unknown("profile", value, catalogue().profiles)
    return value


def tcp_value(value: Any, info: ValidationInfo) -> Any:
    """Refuse a value that the TCP option of this name does not take."""
    if value is not None and info.field_name is not None:
        try:
            convert("TCP option", catalogue().tcp_options, {info.field_name: value})
        except Problem as problem:
            raise Problem(problem.problem, problem.remedy, *problem.key[1:]) from None
    return value


def tcp_table(value: dict[str, Any]) -> dict[str, Any]:
    """Refuse a table of TCP options of which one is unknown, or takes no such value."""
    convert("TCP option", catalogue().tcp_options, value)
    return value


class Flow(RouteKeys):
    """A group of `count` flows that differ only in their random draws."""

    app: App = Field(default="bulk", validate_default=True)
    """What the source does: "bulk", or a table of its kind and keys."""
    cc: Controller = Choice("cubic")
    """Congestion controller: a name, or a table of `name` and parameters."""
    slow_start: SlowStart | None = None
    """Slow start: a name, or a table of `kind` and parameters. Default: the profile's for the controller."""
    recovery: Any = Field(default=None, validate_default=False)
    """Loss recovery. Default: the profile's."""
    profile: str = DEFAULT_PROFILE
    """Bundle of TCP options to start from."""
    start: StartField = Start(at="0 s")
    """When the flow begins: "1 s" or { uniform = ["0 s", "5 s"] }."""
    stop: PositiveDuration | None = None
    """When the flow stops sending. Default: at the end of the run."""
    bytes: PositiveSize | None = None
    """How much a bulk flow sends. Default: without end."""
    active: tuple[Interval, ...] = ()
    """Times in which the source is active, between start and stop. Default: all the time."""
    service: Annotated[int, Field(strict=True, ge=0, le=255, alias="class")] = 0
    """Class of service of its packets, for queues with priorities or weights; 0 is the first."""
    count: Count = 1
    """How many such flows. In a cell the default is one for each user."""
    relay: NodeName = NO_RELAY
    """The relay that splits its connections, by name. Default: "none"."""
    mss: PositiveSize = Field(default="1448 B", validate_default=True)
    """Payload of a full segment."""
    iw: Any = Field(default=None, validate_default=False)
    """Initial window, segments. Default: the profile's."""
    min_rto: Any = Field(default=None, validate_default=False)
    """Smallest retransmission timeout. Default: the profile's."""
    delayed_ack: Any = Field(default=None, validate_default=False)
    """Full segments per acknowledgement; 1 acknowledges each. Default: the profile's."""
    tcp: Annotated[dict[str, Any], Field(default_factory=dict)]
    """Any other TCP option by name, in place of the profile's value; `ackclock cc --tcp` lists them."""

    _profile = field_validator("profile")(known_profile)
    _keys = field_validator(*TCP_KEYS, mode="before")(tcp_value)
    _table = field_validator("tcp")(tcp_table)

    @model_validator(mode="after")
    def _consistent(self) -> "Flow":
        if self.stop is not None and self.stop <= self.start.latest:
            raise Problem("the flow may stop before it starts", "give a later stop", "stop")
        self.app.resolved(self.bytes)
        resolve_intervals(self.active)
        if isinstance(self.app, Files | RequestResponse | Web) and self.active:
            problem = f"'{self.app.kind}' has no times of activity"
            raise Problem(problem, "remove active; start and stop bound it", "active")
        self.check_connection()
        return self

    def check_connection(self) -> None:
        """Refuse options of its connections that do not go together."""
        if self.mss > _MSS_MOST:
            raise Problem(f"an MSS of {self.mss} B does not fit an IP packet", f"give at most {_MSS_MOST} B", "mss")
        if self.slow_start is not None and self.cc.own_start:
            raise Problem(f"'{self.cc.name}' starts by itself", "remove slow_start", "slow_start")
        for key in TCP_KEYS:
            if key in self.tcp and getattr(self, key) is not None:
                raise Problem(f"'{key}' is given twice", f"keep either {key} or tcp.{key}", "tcp", key)
        self._possible_options()

    def _possible_options(self) -> None:
        """Refuse options that contradict each other."""
        try:
            engine.tcp_options(self.profile, self.tcp_options, self.cc.name)
        except EngineError as error:
            place, _, message = str(error).partition(": ")
            key = place.split(".")[1:]
            if key[-1] in TCP_KEYS and getattr(self, key[-1]) is not None:
                key = key[-1:]
            what, _, remedy = message.partition("; ")
            raise Problem(what, remedy or "see docs/tcp.md", *key) from None

    @property
    def datagrams(self) -> bool:
        """Whether it sends datagrams, without a controller."""
        return isinstance(self.app, Cbr | OnOff) and self.app.transport == "udp"

    @property
    def tcp_options(self) -> dict[str, Any]:
        """The TCP options set apart from the profile, as the engine wants them."""
        direct = {key: getattr(self, key) for key in TCP_KEYS if getattr(self, key) is not None}
        return convert("TCP option", catalogue().tcp_options, direct | self.tcp)
