"""What a server says of a test: nothing of it is kept that tables could not take.

A report is judged while the test is made: with one that cannot be, a test is a failed one, and no campaign holds what
would end its tables.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Annotated, Any, TypeVar

from pydantic import ConfigDict, Field, ValidationError

from ackclock.errors import one_line
from ackclock.measure import tcp_info
from ackclock.measure.asked import MOST_SAMPLES
from ackclock.measure.frames import Message, ProtocolError
from ackclock.scenario.values.base import Model

MOST_WORDS = 300
"""Characters of a reason that are kept."""

Count = Annotated[int, Field(ge=0, lt=2**63, strict=True)]
Instant = Annotated[int, Field(gt=-(2**62), lt=2**62, strict=True)]
Elapsed = Annotated[int, Field(ge=0, lt=10**15, strict=True)]
"""ns since the begin of a test: eleven days, and a test has two minutes."""
Seconds = Annotated[float, Field(allow_inf_nan=False)]
Reason = Annotated[str, Field(max_length=10_000)]


M = TypeVar("M", bound=Model)


class _Heard(Model):
    model_config = ConfigDict(extra="ignore")


class Ended(_Heard):
    """How a test went at the server: its clock (ns), time of day, processor time, load, and what ended it early."""

    begun_ns: Instant
    begun_unix_s: Seconds
    took_ns: Elapsed
    cpu_s: Annotated[Seconds, Field(ge=0)]
    load: Annotated[Seconds, Field(ge=0)] | None = None
    ended: Reason | None = None


class Part(_Heard):
    """Some samples of a connection; what else is said of it stands in the first part."""

    number: Annotated[int, Field(ge=0, lt=256, strict=True)]
    sends: bool
    moved: Count
    counted: Count
    failed: Reason | None = None
    time_ns: list[Elapsed]
    so_far: list[Count]
    fields: dict[str, list[Annotated[int, Field(ge=0, lt=2**64, strict=True)] | None]]


def words(text: object) -> str:
    """What the other side wrote, in a line of printable characters, cut at `MOST_WORDS`."""
    return "".join(char if char.isprintable() else "?" for char in one_line(str(text)[:MOST_WORDS]))


class Clock(_Heard):
    """The server's clock, ns."""

    ns: Instant


class All(_Heard):
    """That all connections are there: the controller in force at the server."""

    cc: Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,16}$")] | None


def clock(message: Message) -> int:
    """What the server's clock shows, ns. Raises :class:`ProtocolError`."""
    return _judged(Clock, message).ns


def controller(message: Message) -> str | None:
    """The server's controller; ``None`` where its kernel does not say. Raises :class:`ProtocolError`."""
    return _judged(All, message).cc


def ended(message: Message) -> dict[str, Any]:
    """The end of a test as it is kept. Raises :class:`ProtocolError`."""
    found = _judged(Ended, message).model_dump()
    return {**found, "ended": None if found["ended"] is None else words(found["ended"])}


def connections(parts: Iterable[Message], total: int) -> list[dict[str, Any]]:
    """What the server has seen of each of `total` connections, put together from its parts.

    Fields that this version does not know are left out; those that the server does not have are unknown throughout.
    Raises :class:`ProtocolError` for more than :data:`MOST_SAMPLES` samples, or other connections than were asked for.
    """
    found: dict[int, dict[str, Any]] = {}
    rows = 0
    for message in parts:
        part = _judged(Part, message)
        rows += 1 + len(part.time_ns)
        if rows > 2 * MOST_SAMPLES + total:
            raise ProtocolError(f"the server reports more than {2 * MOST_SAMPLES} samples")
        if part.number >= total:
            raise ProtocolError(f"the server reports of connection {part.number}, and there are {total}")
        lengths = {len(part.time_ns), len(part.so_far), *map(len, part.fields.values())}
        if len(lengths) > 1:
            raise ProtocolError(f"the samples of connection {part.number} are not all of the same number")
        whole = found.setdefault(
            part.number,
            {
                "sends": part.sends,
                "moved": part.moved,
                "counted": part.counted,
                "failed": None if part.failed is None else words(part.failed),
                "time_ns": [],
                "so_far": [],
                "fields": {name: [] for name in tcp_info.NAMES},
            },
        )
        unknown = [None] * len(part.time_ns)
        whole["time_ns"] += part.time_ns
        whole["so_far"] += part.so_far
        for name, values in whole["fields"].items():
            values += part.fields.get(name, unknown)
    if sorted(found) != list(range(total)):
        raise ProtocolError("the server did not tell of all connections")
    for number, whole in found.items():
        times = whole["time_ns"]
        if not times:
            raise ProtocolError(f"the server has no sample of connection {number}")
        if any(later < earlier for earlier, later in itertools.pairwise(times)):
            raise ProtocolError(f"the samples of connection {number} are not in order")
    return [found[number] for number in range(total)]


def _judged(kind: type[M], message: Message) -> M:
    try:
        return kind.model_validate(message)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ProtocolError(f"the server reports what cannot be: {words(key)}: {words(first['msg'])}") from None
