"""A cell of HSPA: a fixed rate for each user, and the Internet behind it."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ackclock.errors import Problem
from ackclock.scenario.topology.cell import MOST_USERS
from ackclock.scenario.topology.cell_resolved import NAME, queue_of_user
from ackclock.scenario.topology.queue import QueueField
from ackclock.scenario.topology.rate import ConstantRate, Rate
from ackclock.scenario.values.base import Model, shared_default
from ackclock.scenario.values.types import Duration, PositiveDuration

PROFILES: Mapping[str, Mapping[str, Any]] = {
    "near": {"rate": "4 Mbit/s"},
    "mid": {"rate": "3 Mbit/s"},
    "far": {"rate": "2 Mbit/s"},
}
"""Near the base station, half way, and at the edge of the cell, as in `ackclock_core::cell::profiles`: assumed."""


class HspaUplink(Model):
    """From the users to the base station."""

    rate: ConstantRate = Field(default="1 Mbit/s", validate_default=True)
    """Of each user."""
    queue: QueueField = Field(default="256 kB", validate_default=True)
    """Queue of each user."""


class HspaCell(Model):
    """A cell of HSPA, much simpler than one of LTE: each user has a rate, a delay, jitter and a queue of its own."""

    kind: Literal["hspa_cell"]
    """The topology."""
    profile: Literal["near", "mid", "far"] | None = None
    """A user near the base station, half way, or at the edge of the cell: a rate of 4, 3 or 2 Mbit/s."""
    users: Annotated[int, Field(strict=True, ge=1, le=MOST_USERS)] = 1
    """How many users there are."""
    rtt: PositiveDuration | None = None
    """Propagation RTT between server and core network, half each way. Default: that of each flow."""
    server_rate: Rate = None
    """Rate of the link of the server, in both directions. Default: unlimited."""
    core_delay: Duration = Field(default="0 s", validate_default=True)
    """Delay of the core network, one way, besides the RTT."""
    rate: ConstantRate = Field(default="4 Mbit/s", validate_default=True)
    """Of each user, from the base station."""
    delay: Duration = Field(default="35 ms", validate_default=True)
    """In each direction, from the end of a TTI of 2 ms until its packets are out."""
    jitter: Duration = Field(default="10 ms", validate_default=True)
    """At most so much later, drawn uniformly for each TTI and user; packets keep their order."""
    queue: QueueField = Field(default="256 kB", validate_default=True)
    """Queue of each user at the base station."""
    uplink: HspaUplink = Field(default_factory=shared_default(HspaUplink))
    """From the users to the base station."""

    @model_validator(mode="before")
    @classmethod
    def _of_profile(cls, value: Any) -> Any:
        """What is not written is that of the profile."""
        if isinstance(value, dict) and isinstance(name := value.get("profile"), str) and name in PROFILES:
            return {**PROFILES[name], **value}
        return value

    @model_validator(mode="after")
    def _without_bdp(self) -> "HspaCell":
        for key, queue in ((("queue",), self.queue), (("uplink", "queue"), self.uplink.queue)):
            if queue.limit.unit == "bdp" or (queue.mark_above is not None and queue.mark_above.unit == "bdp"):
                name = "limit" if queue.limit.unit == "bdp" else "mark_above"
                raise Problem("users have no common RTT, so no BDP", f"give a {name} in packets or bytes", *key, name)
        return self

    @property
    def count(self) -> int:
        """How many users there are."""
        return self.users


def resolve_hspa(cell: HspaCell, packet: int) -> dict[str, Any]:
    """The cell as the engine reads it; `packet` are the bytes of a full-size packet."""
    return {
        "id": NAME,
        "users": cell.users,
        "down_bps": cell.rate,
        "up_bps": cell.uplink.rate,
        "delay_ns": cell.delay,
        "jitter_ns": cell.jitter,
        "down_queue": queue_of_user(cell.queue, packet, "topology", "queue"),
        "up_queue": queue_of_user(cell.uplink.queue, packet, "topology", "uplink", "queue"),
    }


_WRITTEN_AT = {
    "down_bps": ("rate",),
    "up_bps": ("uplink", "rate"),
    "delay_ns": ("delay",),
    "jitter_ns": ("jitter",),
    "down_queue": ("queue",),
    "up_queue": ("uplink", "queue"),
}


def written_at(place: list[str]) -> tuple[str | int, ...]:
    """The key of a scenario that a part of the resolved cell is written at, as the engine names it in messages."""
    head, *rest = place or [""]
    return ("topology", *_WRITTEN_AT.get(head, (head,) if head else ()), *(part for part in rest if part != "params"))
