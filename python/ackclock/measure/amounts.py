"""Times, volumes and rates as people say them."""

from __future__ import annotations

from fractions import Fraction

from ackclock.scenario.values import units


def duration(nanoseconds: float) -> str:
    """A time: "200 ms", "2.5 s", "1 min 30 s", "3 h 5 min"."""
    if 0 < nanoseconds < 10**9:
        return f"{_digits(nanoseconds / 1e6)} ms"
    if nanoseconds < 59.95e9:
        return f"{_digits(nanoseconds / 1e9)} s"
    minutes, seconds = divmod(round(nanoseconds / 1e9), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def size(volume: float) -> str:
    """Bytes: "7.81 GB"."""
    return _in_units(volume, units.SIZE, ("TB", "GB", "MB", "kB"))


def rate(value: float) -> str:
    """Bit/s: "93.5 Mbit/s"."""
    return _in_units(value, units.RATE, ("Gbit/s", "Mbit/s", "kbit/s"))


def _in_units(value: float, quantity: units.Quantity, names: tuple[str, ...]) -> str:
    """In the largest of these units of which there is one, with three digits; otherwise in the last."""
    factors: list[tuple[str, Fraction]] = [(name, quantity.units[name]) for name in names]
    name, factor = next((each for each in factors if float(_digits(value / float(each[1]))) >= 1), factors[-1])
    return f"{_digits(value / float(factor))} {name}"


def _digits(value: float) -> str:
    """Three digits, and no power of ten in place of zeros: "1000", not "1e+03"."""
    return f"{float(f'{value:.3g}'):.15g}"
