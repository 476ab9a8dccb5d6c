"""Field types of the scenario models: written with a unit, held as integers, written back with a unit."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema

from ackclock.errors import Problem
from ackclock.scenario.values import units
from ackclock.scenario.values.units import QueueLimit

MOST_BURST = 4 * 10**9
"""Bytes that go at once: the engine counts them in 32 bits."""

MOST_LENGTH = 10 * 366 * 24 * 3600 * 10**9
"""Of a run, ns: ten years, so that sums of times stay within the 64 bits of the engine."""

_NUMBER = r"\d+(\.\d*)?([eE][+-]?\d+)?"


def matching(pattern: str, what: str, remedy: str) -> AfterValidator:
    """Of a text that has to match `pattern` as a whole: another one is not `what`."""

    def checked(text: str) -> str:
        if re.fullmatch(pattern, text) is None:
            raise Problem(f"'{text}' is not {what}", remedy)
        return text

    return AfterValidator(checked)


def _text(quantity: units.Quantity, *, unlimited: bool = False) -> Any:
    names = "|".join(quantity.units)
    pattern = rf"^{_NUMBER} *({names})$"
    return WithJsonSchema(
        {
            "type": "string",
            "pattern": rf"{pattern}|^unlimited$" if unlimited else pattern,
            "description": f'a {quantity.name} with its unit, such as "{quantity.example}"',
            "examples": [quantity.example],
        }
    )


def _reader(quantity: units.Quantity, *, zero: bool, most: int | None = None) -> Any:
    return BeforeValidator(lambda value: quantity.parse(value, zero=zero, most=most))


def _writer(quantity: units.Quantity) -> Any:
    return PlainSerializer(quantity.format, return_type=str)


Duration = Annotated[int, _reader(units.DURATION, zero=True), _writer(units.DURATION), _text(units.DURATION)]
"""A time in ns; zero is allowed."""

PositiveDuration = Annotated[int, _reader(units.DURATION, zero=False), _writer(units.DURATION), _text(units.DURATION)]
"""A time in ns, more than zero."""

RunLength = Annotated[
    int, _reader(units.DURATION, zero=False, most=MOST_LENGTH), _writer(units.DURATION), _text(units.DURATION)
]
"""The length of a run in ns."""

Size = Annotated[int, _reader(units.SIZE, zero=True), _writer(units.SIZE), _text(units.SIZE)]
"""A size in bytes; zero is allowed."""

PositiveSize = Annotated[int, _reader(units.SIZE, zero=False), _writer(units.SIZE), _text(units.SIZE)]
"""A size in bytes, more than zero."""

PositiveRate = Annotated[int, _reader(units.RATE, zero=False), _writer(units.RATE), _text(units.RATE)]
"""A constant rate in bit/s, more than zero."""

Framing = Annotated[int, _reader(units.SIZE, zero=True, most=65_535), _writer(units.SIZE), _text(units.SIZE)]
"""Bytes that a link adds to a packet; zero is allowed."""

Headers = Annotated[int, _reader(units.SIZE, zero=True, most=1000), _writer(units.SIZE), _text(units.SIZE)]
"""Bytes of the headers of a datagram; zero is allowed."""

Payload = Annotated[int, _reader(units.SIZE, zero=False, most=65_507), _writer(units.SIZE), _text(units.SIZE)]
"""Bytes of a datagram: what IP and UDP have room for."""

Burst = Annotated[int, _reader(units.SIZE, zero=False, most=MOST_BURST), _writer(units.SIZE), _text(units.SIZE)]
"""Bytes of a token bucket or of an opportunity to send."""

Limit = Annotated[
    QueueLimit,
    BeforeValidator(units.parse_queue_limit),
    PlainSerializer(str, return_type=str),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": rf"^{_NUMBER} *(BDP|{'|'.join((*units.PACKETS.units, *units.SIZE.units))})$|^unlimited$",
            "description": "how much a queue holds: a fraction of the BDP, packets or bytes",
            "examples": ["0.2 BDP", "132 packets", "64 kB", "unlimited"],
        }
    ),
]
"""The limit of a queue."""

Threshold = Annotated[
    QueueLimit,
    BeforeValidator(units.parse_threshold),
    PlainSerializer(str, return_type=str),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": rf"^{_NUMBER} *(BDP|{'|'.join((*units.PACKETS.units, *units.SIZE.units))})$",
            "description": "a length of a queue: packets, bytes or a fraction of the BDP",
            "examples": ["20 packets", "0.17 BDP", "30 kB"],
        }
    ),
]
"""A length of a queue, not unlimited."""

Probability = Annotated[
    float,
    BeforeValidator(units.parse_fraction),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string", "pattern": rf"^{_NUMBER} *%$"},
            ],
            "description": 'a fraction of one, or a percentage such as "0.5 %"',
        }
    ),
]
"""A number in [0, 1]."""

Count = Annotated[int, Field(strict=True, ge=1, le=2**63 - 1)]
"""A whole number of at least one."""
