"""What a client asks a server for: one test, within what a server allows at all."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from ackclock.errors import Problem
from ackclock.measure.sockets import Options
from ackclock.scenario.values.base import Model

MOST_CONNECTIONS = 25
"""Of a direction: what the study of parallel connections uses."""

LONGEST_NS = 120 * 10**9
"""Of a test."""

MOST_SAMPLES = 60_000
"""Of a test at one end: each is some 300 bytes of its memory."""

Direction = Literal["down", "up", "both"]


class Asked(Model):
    """A test. `down` is from the server to the client; `both` has as many connections for each direction."""

    connections: Annotated[int, Field(ge=1, le=MOST_CONNECTIONS)] = 1
    direction: Direction = "down"
    duration_ns: Annotated[int, Field(ge=100_000_000, le=LONGEST_NS)] = 10 * 10**9
    warmup_ns: Annotated[int, Field(ge=0, le=LONGEST_NS)] = 0
    interval_ns: Annotated[int, Field(ge=10_000_000, le=10**9)] = 100_000_000
    options: Options = Options()

    @property
    def total(self) -> int:
        """How many data connections there are."""
        return self.connections * (2 if self.direction == "both" else 1)

    def down(self, number: int) -> bool:
        """Whether the server sends on the data connection of this number."""
        return self.direction != "up" and number < self.connections


def checked(message: dict[str, Any]) -> Asked:
    """What a message asks for. Raises :class:`Problem` where it asks for what no server does."""
    try:
        return consistent(Asked.model_validate(message, strict=True))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"])) or "test"
        raise Problem(f"{key}: {first['msg'].lower()}", "ask for a test as docs/measure.md describes it") from None


def consistent(asked: Asked) -> Asked:
    """The same, if its parts go together. Raises :class:`Problem`."""
    if asked.warmup_ns >= asked.duration_ns:
        raise Problem("the warm-up leaves nothing of the test", "make the test longer", "warmup")
    if asked.total * asked.duration_ns // asked.interval_ns > MOST_SAMPLES:
        raise Problem("the test has too many samples", f"at most {MOST_SAMPLES}: sample less often", "interval")
    return asked
