"""Quantities with units: text in, integers out, and back.

Everything the engine sees is an integer in one base unit: nanoseconds, bit/s, bytes, packets. A number
without its unit is refused, because "160" is the most expensive typing error in a simulation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from ackclock.errors import Problem, nearest

_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?)\s*(.*)", re.DOTALL)

# Spellings people reach for; used only to suggest the right one, never accepted.
_ALIASES = {
    "bps": "bit/s", "kbps": "kbit/s", "mbps": "Mbit/s", "gbps": "Gbit/s", "tbps": "Tbit/s",
    "b/s": "bit/s", "kb/s": "kbit/s", "mb/s": "Mbit/s", "gb/s": "Gbit/s",
    "sec": "s", "secs": "s", "second": "s", "seconds": "s", "msec": "ms", "usec": "us", "nsec": "ns",
    "minute": "min", "minutes": "min", "m": "min", "hour": "h", "hours": "h",
    "byte": "B", "bytes": "B", "kib": "KiB", "mib": "MiB", "gib": "GiB",
    "pkt": "packets", "pkts": "packets", "p": "packets", "seg": "segments", "segs": "segments",
}  # fmt: skip

# What people write for a range of values, and what they need.
_STEPS = frozenset({"from", "to", "start", "stop", "end", "step", "first", "last", "min", "max"})
_SEVERAL = ", and several as { range = [first, last, step] } or { logrange = [first, last, n] }"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A kind of quantity: its units as multiples of the base unit, and how to write one.

    ``limit`` is the largest value in base units; it keeps results inside the engine's 64 bits.
    """

    name: str
    units: Mapping[str, Fraction]
    example: str
    limit: int

    def parse(self, value: object, *, zero: bool = True, most: int | None = None) -> int:
        """`value` in base units, rounded to a whole one.

        Raises :class:`Problem` for a missing or unknown unit, a sign, a number above `most` or the limit, one
        that rounds to nothing, and for zero unless `zero` is true.
        """
        limit = self.limit if most is None else most
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            several = _SEVERAL if isinstance(value, Mapping) and _STEPS & value.keys() else ""
            raise Problem(f"{_show(value)} is not a {self.name}", f'write for instance "{self.example}"{several}')
        if isinstance(value, int) and value.bit_length() > _BITS:
            raise Problem("the number is too large", f"the most is {self.format(limit)}")
        number, unit = split(str(value))
        if number is None:
            raise Problem(f"{_show(str(value))} is not a {self.name}", f'write for instance "{self.example}"')
        if not unit:
            raise Problem(f"{_show(value)} has no unit", f'write for instance "{self.example}" ({self._list()})')
        unit = unit.replace(GREEK_MU, MICRO_SIGN)
        if unit not in self.units:
            raise Problem(f"unknown unit {_show(unit)} in {_show(value)}", self._suggest(unit))
        if number < 0:
            raise Problem(f"{_show(value)} is negative", "give a positive value")
        if number == 0 and not zero:
            raise Problem(f"{_show(value)} is zero", "give a positive value")
        if number.adjusted() > 30:
            raise Problem(f"{_show(value)} is too large", f"the most is {self.format(limit)}")
        exact = Fraction(number) * self.units[unit]
        result = round(exact)
        if result > limit:
            raise Problem(f"{_show(value)} is too large", f"the most is {self.format(limit)}")
        if result == 0 and exact:
            raise Problem(f"{_show(value)} rounds to nothing", "give a larger value")
        return result

    def format(self, value: int) -> str:
        """`value` in the largest unit that keeps it a whole number, so that parsing gives it back."""
        if value == 0 and "s" in self.units:
            return "0 s"
        for unit, factor in sorted(self.units.items(), key=lambda item: -item[1]):
            scaled = Fraction(value) / factor
            if scaled.denominator == 1 and (value or factor == 1):
                singular = unit[:-1] if scaled == 1 and unit[:-1] in self.units else unit
                return f"{scaled.numerator} {singular}"
        raise AssertionError("every quantity has a unit of one")  # pragma: no cover

    def _list(self) -> str:
        return f"units: {', '.join(self.units)}"

    def _suggest(self, unit: str) -> str:
        alias = _ALIASES.get(unit.casefold())
        guess = alias if alias in self.units else nearest(unit, self.units)
        return f"did you mean '{guess}'? ({self._list()})" if guess else self._list()


def _units(**factors: int) -> dict[str, Fraction]:
    return {name.replace("_per_s", "/s"): Fraction(factor) for name, factor in factors.items()}


DURATION = Quantity(
    "duration",
    _units(ns=1, us=10**3, ms=10**6, s=10**9, min=60 * 10**9, h=3600 * 10**9) | {"µs": Fraction(10**3)},
    "160 ms",
    10**18,
)
RATE = Quantity(
    "rate",
    _units(bit_per_s=1, kbit_per_s=10**3, Mbit_per_s=10**6, Gbit_per_s=10**9, Tbit_per_s=10**12),
    "100 Mbit/s",
    10**15,
)
SIZE = Quantity(
    "size",
    _units(B=1, kB=10**3, MB=10**6, GB=10**9, TB=10**12, KiB=2**10, MiB=2**20, GiB=2**30),
    "1 MB",
    10**18,
)
PACKETS = Quantity("number of packets", _units(packets=1, packet=1), "132 packets", 10**12)
SEGMENTS = Quantity("number of segments", _units(segments=1, segment=1), "10 segments", 10**12)

_BDP_MOST = 1000
MICRO_SIGN = "\u00b5"
GREEK_MU = "\u03bc"
"""Unicode holds this letter equivalent to the micro sign (NFKC). Keyboards and editors write either."""
_BITS = 10_000
"""Of a whole number that Python still turns into text."""
_SHOWN = 60
"""Characters of a value that a message repeats."""


@dataclass(frozen=True, slots=True)
class QueueLimit:
    """How much a queue holds: a count in `unit`, or anything (``unlimited``).

    ``bdp`` counts bandwidth-delay products of the topology and becomes packets when compiled.
    """

    unit: Literal["bdp", "packets", "bytes", "unlimited"]
    amount: Fraction = Fraction(0)

    def __str__(self) -> str:
        if self.unit == "unlimited":
            return "unlimited"
        if self.unit == "bdp":
            return f"{float(self.amount):g} BDP"
        quantity = PACKETS if self.unit == "packets" else SIZE
        return quantity.format(int(self.amount))


def parse_queue_limit(value: object) -> QueueLimit:
    """``"0.2 BDP"``, ``"132 packets"``, ``"64 kB"`` or ``"unlimited"``."""
    if value == "unlimited":
        return QueueLimit("unlimited")
    example = 'write for instance "0.2 BDP", "132 packets", "64 kB" or "unlimited"'
    return _length(value, "queue limit", "a queue of {} holds nothing", example)


def _length(value: object, what: str, nothing: str, example: str) -> QueueLimit:
    """A length of a queue. `nothing` is what to say of one that is zero or less."""
    if isinstance(value, QueueLimit):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise Problem(f"{_show(value)} is not a {what}", example)
    number, unit = split(str(value))
    if number is None:
        raise Problem(f"{_show(str(value))} is not a {what}", example)
    if not unit:
        raise Problem(f"{_show(value)} has no unit", example)
    if number <= 0:
        raise Problem(nothing.format(short(str(value))), "the least is one packet")
    if unit == "BDP":
        if number > _BDP_MOST:
            raise Problem(
                f"a {what.split()[0]} of {short(str(value))} is impossible",
                f"give more than 0 and at most {_BDP_MOST} BDP",
            )
        return QueueLimit("bdp", Fraction(number))
    if unit in PACKETS.units:
        return QueueLimit("packets", Fraction(PACKETS.parse(value)))
    if unit in SIZE.units:
        return QueueLimit("bytes", Fraction(SIZE.parse(value)))
    known = ["BDP", "packets", *SIZE.units]
    guess = _ALIASES.get(unit.casefold()) or nearest(unit, known)
    remedy = f"did you mean '{guess}'?" if guess in known else example
    raise Problem(f"unknown unit {_show(unit)} in {_show(value)}", remedy)


def parse_threshold(value: object) -> QueueLimit:
    """``"20 packets"``, ``"0.17 BDP"`` or ``"30 kB"``: the length of a queue above which it marks."""
    if value == "unlimited":
        raise Problem(
            "above an unlimited queue nothing is marked",
            "leave mark_above out, or give packets, bytes or a BDP fraction",
        )
    example = 'write for instance "20 packets", "0.17 BDP" or "30 kB"'
    return _length(value, "threshold", "a threshold of {} is too low", example)


def parse_rate(value: object) -> int | None:
    """A rate in bit/s, or ``None`` for ``"unlimited"``: no serialisation and no queue."""
    return None if value is None or value == "unlimited" else RATE.parse(value, zero=False)


def parse_fraction(value: object) -> float:
    """A probability: a number in [0, 1] or a percentage such as ``"0.5 %"``."""
    example = 'write for instance 0.005 or "0.5 %"'
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise Problem(f"{_show(value)} is not a fraction", example)
    number, unit = split(str(value))
    if number is None or unit not in ("", "%"):
        raise Problem(f"{_show(str(value))} is not a fraction", example)
    result = float(number) / (100 if unit else 1)
    if not 0 <= result <= 1:
        raise Problem(f"{_show(value)} is outside 0 to 1", example)
    return result


def split(text: str) -> tuple[Decimal | None, str]:
    """The number `text` starts with, exactly, and what follows it; ``None`` if there is no number."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None, text
    return Decimal(match[1]), match[2].strip()


def short(text: str) -> str:
    """`text`, or its beginning if it is long."""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _show(value: object) -> str:
    """`value` as a scenario writes it, for a message."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{short(value)}'" if isinstance(value, str) else short(str(value))
