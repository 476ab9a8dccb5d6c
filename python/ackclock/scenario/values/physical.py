"""Physical quantities of radio: text with a unit in, numbers in one unit out, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from ackclock.errors import Problem, nearest
from ackclock.scenario.values.units import short, split


@dataclass(frozen=True, slots=True)
class Physical:
    """A kind of quantity: its units as multiples of the first, an example, and the least and largest value in it."""

    name: str
    units: Mapping[str, Fraction]
    example: str
    low: float
    high: float

    @property
    def unit(self) -> str:
        """The unit that values are held in."""
        return next(iter(self.units))

    def parse(self, value: object) -> float:
        """`value` in the first unit. Raises :class:`Problem` for a missing or unknown unit, and out of range."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise Problem(f"{short(str(value))} is not a {self.name}", f'write for instance "{self.example}"')
        number, unit = split(str(value))
        if number is None:
            raise Problem(f"'{short(str(value))}' is not a {self.name}", f'write for instance "{self.example}"')
        known = f"units: {', '.join(self.units)}"
        if not unit:
            raise Problem(f"{short(str(value))} has no unit", f'write for instance "{self.example}" ({known})')
        if unit not in self.units:
            guess = nearest(unit, self.units)
            remedy = f"did you mean '{guess}'? ({known})" if guess else known
            raise Problem(f"unknown unit '{short(unit)}' in '{short(str(value))}'", remedy)
        result = float(Fraction(number) * self.units[unit]) if number.adjusted() < 30 else float("inf")
        if not self.low <= result <= self.high:
            bounds = f"{self.low:g} to {self.high:g} {self.unit}"
            raise Problem(f"'{short(str(value))}' is out of range", f"give {bounds}")
        return result

    def format(self, value: float) -> str:
        """`value`, which is in the first unit, as a scenario writes it."""
        return f"{value:.15g} {self.unit}"


LENGTH = Physical("length", {"m": Fraction(1), "km": Fraction(1000)}, "500 m", 0, 1e6)
FREQUENCY = Physical(
    "frequency", {"MHz": Fraction(1), "GHz": Fraction(1000), "kHz": Fraction(1, 1000)}, "2120 MHz", 0, 1e5
)
LEVEL = Physical("power", {"dBm": Fraction(1)}, "30 dBm", -200, 100)
RATIO = Physical("ratio", {"dB": Fraction(1)}, "9 dB", -200, 200)
SPEED = Physical("speed", {"km/h": Fraction(1), "m/s": Fraction(36, 10)}, "3 km/h", 0, 1000)


def _field(quantity: Physical) -> Any:
    names = "|".join(quantity.units)
    return (
        BeforeValidator(lambda value: None if value is None else quantity.parse(value)),
        PlainSerializer(lambda value: None if value is None else quantity.format(value)),
        WithJsonSchema(
            {
                "type": "string",
                "pattern": rf"^[+-]?\d+(\.\d*)?([eE][+-]?\d+)? *({names})$",
                "description": f'a {quantity.name} with its unit, such as "{quantity.example}"',
                "examples": [quantity.example],
            }
        ),
    )


Length = Annotated[float, *_field(LENGTH)]
"""Metres."""
Frequency = Annotated[float, *_field(FREQUENCY)]
"""MHz."""
Level = Annotated[float, *_field(LEVEL)]
"""dBm."""
Ratio = Annotated[float, *_field(RATIO)]
"""dB."""
Speed = Annotated[float, *_field(SPEED)]
"""km/h."""
