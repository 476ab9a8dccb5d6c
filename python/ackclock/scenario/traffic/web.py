"""Web pages: what a scenario says of them.

Without a manifest a page is drawn, by default a main object of 20 kB and some six others of 160 kB every 30 s. What
the keys mean, and where the numbers come from, is in docs/web.md.
"""

import math
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from ackclock.errors import Problem
from ackclock.scenario.traffic.page import PageField
from ackclock.scenario.traffic.sized import no_bytes
from ackclock.scenario.values.base import Model
from ackclock.scenario.values.distribution import Counts, Sizes, Times
from ackclock.scenario.values.types import Count, Duration, PositiveSize

Document = dict[str, Any]

MOST_CONNECTIONS = 1024
"""Of a page at a time."""


NUMBER = "<number>"
"""Tag of a value that is a number where a table might be: no key, in messages."""


class Policy(Model):
    """Who decides how many connections a page has."""

    policy: Literal["fixed", "adaptive", "download", "throughput", "loss", "delay"]
    """fixed: always as many; adaptive: as many as the path seems to need; download: as ackclock get decides; the others
    learn from page to page."""
    most: Annotated[int, Field(strict=True, ge=1, le=MOST_CONNECTIONS)] = 8
    """How many at a time, the first included; of those that choose at most."""
    least: Annotated[int, Field(strict=True, ge=1, le=MOST_CONNECTIONS)] | None = None
    """Of adaptive: connections where the path is not full as a page begins, or `most` if that is less. Default: 3."""
    window: PositiveSize | None = None
    """Of adaptive: what a connection sends in its first round trip. Default: ten segments of 1460 B."""

    @model_validator(mode="after")
    def _of_adaptive(self) -> "Policy":
        for name in ("least", "window"):
            if self.policy != "adaptive" and getattr(self, name) is not None:
                what = "a fixed number of connections" if self.policy == "fixed" else f"the policy {self.policy}"
                raise Problem(f"{what} needs no {name}", "remove it", name)
        if self.least is not None and self.least > self.most:
            raise Problem(f"at least {self.least} connections and at most {self.most}", "lower it", "least")
        return self


Connections = Annotated[
    Annotated[int, Field(strict=True, ge=1, le=MOST_CONNECTIONS), Tag(NUMBER)] | Annotated[Policy, Tag("<policy>")],
    Discriminator(lambda value: "<policy>" if isinstance(value, dict | Policy) else NUMBER),
]
"""A number of connections, or who decides on it."""


class Web(Model):
    """Web pages, one after the other: a main object and what it refers to, over several connections."""

    kind: Literal["web"]
    """The application."""
    connections: Connections = 1
    """How many at a time, the first included: a number, or { policy = "adaptive", most = 8 }."""
    protocol: Literal["http1.1", "http1.0", "h2"] = "http1.1"
    """http1.1: one object after the other over each connection; http1.0: a connection each; h2: one for all."""
    preopen: Annotated[bool, Field(strict=True)] = False
    """Whether all connections are opened with the page. Default: further ones when the main object has come."""
    assignment: Literal["queue", "fixed"] = "queue"
    """queue: a free connection takes the next object; fixed: object j is for connection j modulo their number."""
    responses: Literal["interleaved", "sequential"] | None = None
    """Of h2: objects are sent in turns, or one after the other. Default: interleaved."""
    page: PageField = None
    """A manifest with the objects of every page. Default: they are drawn."""
    main: Sizes | None = None
    """Bytes of the main object. Default: lognormal, mean 20 kB."""
    objects: Counts | None = None
    """How many other objects a page has. Default: Pareto, shape 1.1, from 2 to 50."""
    embedded: Sizes | None = None
    """Bytes of each of these. Default: lognormal, mean 160 kB."""
    counting: Literal["round", "floor", "minus-min"] | None = None
    """How a drawn number becomes a whole one; minus-min: the nearest to what is above the smallest. Default: round."""
    kilobyte: Literal[1000, 1024] | None = None
    """Bytes of a kilobyte in the default sizes. Default: 1000."""
    interval: Times = Field(
        default={"kind": "exponential", "mean": "30 s", "min": "10 s", "max": "60 s", "truncation": "after"},
        validate_default=True,
    )
    """From the start of a page to that of the next. Default: exponential on 10 to 60 s, mean 30 s."""
    first: Times = Field(default={"kind": "uniform", "min": "0 s", "max": "30 s"}, validate_default=True)
    """From the flow's start to its first page. Default: uniform, up to 30 s."""
    most: Count | None = None
    """How many pages. Default: until the flow stops."""
    unfinished: Literal["defer", "abort"] = "defer"
    """A page whose time comes before the one before it is done: waits for it, or takes its place."""
    parse: Duration = Field(default="0 s", validate_default=True)
    """From the last byte of an object to when the client knows what it refers to."""
    request: PositiveSize = Field(default="800 B", validate_default=True)
    """Bytes of a request."""
    objects_table: Annotated[bool, Field(strict=True)] = False
    """Whether every object has a row in the table `objects`."""

    @model_validator(mode="after")
    def _consistent(self) -> "Web":
        drawn = ("main", "objects", "embedded", "counting", "kilobyte")
        for key in drawn if self.page is not None else ():
            if getattr(self, key) is not None:
                raise Problem("the page's manifest has its objects", f"remove {key}, or page", key)
        if self.kilobyte is not None and self.main is not None and self.embedded is not None:
            raise Problem("both sizes are given", "remove kilobyte: it is for those that are left out", "kilobyte")
        one = self.protocol == "h2"
        for key, plain in (("connections", 1), ("preopen", False), ("assignment", "queue")):
            if one and getattr(self, key) != plain:
                raise Problem("h2 has one connection", f'remove {key}, or take protocol = "http1.1"', key)
        if self.responses is not None and not one:
            raise Problem(
                "objects come one after the other over a connection", 'it is for protocol = "h2"', "responses"
            )
        if self.assignment == "fixed" and (self.protocol != "http1.1" or self._chosen):
            remedy = 'it is for protocol = "http1.1" and a number of connections'
            raise Problem("objects have no connection of their own then", remedy, "assignment")
        if (
            self.protocol == "http1.0"
            and isinstance(self.connections, Policy)
            and self.connections.policy == "download"
        ):
            raise Problem("download is for connections that stay", 'take protocol = "http1.1"', "protocol")
        return self

    @property
    def _chosen(self) -> bool:
        return isinstance(self.connections, Policy) and self.connections.policy != "fixed"

    def resolved(self, size: int | None) -> Document:
        """As the engine reads it."""
        no_bytes(size, "web")
        return {
            "kind": "web",
            **self._content(),
            "interval": dict(self.interval.document),
            "first": dict(self.first.document),
            "count": self.most,
            "late": self.unfinished,
            "parse_ns": self.parse,
            "request_bytes": self.request,
            "protocol": self.protocol,
            **({"responses": self.responses or "interleaved"} if self.protocol == "h2" else self._lines()),
            "keep_objects": self.objects_table,
        }

    def _content(self) -> Document:
        """What a page consists of."""
        if self.page is not None:
            return {"page": [dict(item) for item in self.page.objects]}
        unit = self.kilobyte or 1000
        return {
            "main": _lognormal(20 * unit, 22e6, 100, 200 * unit) if self.main is None else dict(self.main.document),
            "objects": {"kind": "pareto", "shape": 1.1, "min": 2.0, "max": 50.0}
            if self.objects is None
            else dict(self.objects.document),
            "counting": (self.counting or "round").replace("-", "_"),
            "embedded": _lognormal(160 * unit, 5e9, 50, 2_000_000 if unit == 1000 else 2 * 1024**2)
            if self.embedded is None
            else dict(self.embedded.document),
        }

    def _lines(self) -> Document:
        """Its connections."""
        given = self.connections
        policy = {"policy": "fixed", "connections": given} if isinstance(given, int) else _policy(given)
        return {**policy, "preopen": self.preopen, "fixed_assignment": self.assignment == "fixed"}


def _policy(given: Policy) -> Document:
    document: Document = {"policy": given.policy, "connections": given.most}
    if given.least is not None:
        document["least"] = given.least
    if given.window is not None:
        document["window_bytes"] = given.window
    return document


def _lognormal(mean: int, variance: float, least: int, most: int) -> Document:
    """Sizes of the default model, bytes, by mean and variance before truncation."""
    sd = math.sqrt(variance)
    return {"kind": "lognormal", "mean": float(mean), "sd": sd, "min": float(least), "max": float(most)}
