"""Field types of the scenario models: written with a unit, held as integers, written back with a unit."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from ackclock.errors import Problem
from ackclock.scenario.values import units
from ackclock.scenario.values.base import Written
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


def _quantity(quantity: units.Quantity, *, zero: bool, most: int | None = None) -> Written:
    schema = {
        "type": "string",
        "pattern": rf"^{_NUMBER} *({'|'.join(quantity.units)})$",
        "description": f'a {quantity.name} with its unit, such as "{quantity.example}"',
        "examples": [quantity.example],
    }
    return Written(lambda value: quantity.parse(value, zero=zero, most=most), quantity.format, schema)


Duration = Annotated[int, _quantity(units.DURATION, zero=True)]
"""A time in ns; zero is allowed."""

PositiveDuration = Annotated[int, _quantity(units.DURATION, zero=False)]
"""A time in ns, more than zero."""

RunLength = Annotated[int, _quantity(units.DURATION, zero=False, most=MOST_LENGTH)]
"""The length of a run in ns."""

Size = Annotated[int, _quantity(units.SIZE, zero=True)]
"""A size in bytes; zero is allowed."""

PositiveSize = Annotated[int, _quantity(units.SIZE, zero=False)]
"""A size in bytes, more than zero."""

PositiveRate = Annotated[int, _quantity(units.RATE, zero=False)]
"""A constant rate in bit/s, more than zero."""

Framing = Annotated[int, _quantity(units.SIZE, zero=True, most=65_535)]
"""Bytes that a link adds to a packet; zero is allowed."""

Headers = Annotated[int, _quantity(units.SIZE, zero=True, most=1000)]
"""Bytes of the headers of a datagram; zero is allowed."""

Payload = Annotated[int, _quantity(units.SIZE, zero=False, most=65_507)]
"""Bytes of a datagram: what IP and UDP have room for."""

Burst = Annotated[int, _quantity(units.SIZE, zero=False, most=MOST_BURST)]
"""Bytes of a token bucket or of an opportunity to send."""

Limit = Annotated[
    QueueLimit,
    Written(
        units.parse_queue_limit,
        str,
        {
            "type": "string",
            "pattern": rf"^{_NUMBER} *(BDP|{'|'.join((*units.PACKETS.units, *units.SIZE.units))})$|^unlimited$",
            "description": "how much a queue holds: a fraction of the BDP, packets or bytes",
            "examples": ["0.2 BDP", "132 packets", "64 kB", "unlimited"],
        },
    ),
]
"""The limit of a queue."""

Threshold = Annotated[
    QueueLimit,
    Written(
        units.parse_threshold,
        str,
        {
            "type": "string",
            "pattern": rf"^{_NUMBER} *(BDP|{'|'.join((*units.PACKETS.units, *units.SIZE.units))})$",
            "description": "a length of a queue: packets, bytes or a fraction of the BDP",
            "examples": ["20 packets", "0.17 BDP", "30 kB"],
        },
    ),
]
"""A length of a queue, not unlimited."""

Probability = Annotated[
    float,
    Written(
        units.parse_fraction,
        None,
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string", "pattern": rf"^{_NUMBER} *%$"},
            ],
            "description": 'a fraction of one, or a percentage such as "0.5 %"',
        },
    ),
]
"""A number in [0, 1]."""

Count = Annotated[int, Field(strict=True, ge=1, le=2**63 - 1)]
"""A whole number of at least one."""
