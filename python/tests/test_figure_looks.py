"""Looks: controllers are told apart in a grey print, by their markers and how their lines are dashed, and in colour
also by those who lack a kind of cones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import pytest

import ackclock
from ackclock.drawing.style import _LOOKS, Look, dash, look, styles

TOGETHER = (
    "reno", "cubic", "bbr1", "bbr3", "vegas", "copa", "prague", "dctcp", "westwood+", "fast", "htcp", "illinois",
)  # fmt: skip
"""Those that most figures have, alone or beside each other."""


def lightness(colour: str) -> float:
    """CIE lightness L* of a colour, 0 to 100."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


def marker(own: Look) -> tuple[str, bool]:
    """What a reader of points sees: the shape, and whether it is full."""
    return own.marker, own.hollow


def pairs(names: Iterable[str]) -> list[tuple[str, str]]:
    found = list(itertools.combinations(sorted(names), 2))
    assert len(found) >= len(TOGETHER) * (len(TOGETHER) - 1) / 2
    return found


def controllers() -> set[str]:
    """Those that have a look and that the engine has."""
    return set(_LOOKS) & set(ackclock.catalogue().controllers)


def test_controllers_that_are_compared_are_told_apart_in_grey() -> None:
    alike = []
    for one, other in pairs(TOGETHER):
        a, b = look(one), look(other)
        if marker(a) == marker(b):  # points that no line joins have nothing else
            alike.append((one, other, "marker"))
        # In small print it is not seen that one is hollow.
        elif a.marker == b.marker and dash(a.dashes) == dash(b.dashes):
            alike.append((one, other, "dashes"))
    assert alike == []


def test_no_two_controllers_have_both_marker_and_dashes() -> None:
    looks = {name: (look(name).marker, dash(look(name).dashes)) for name in controllers()}
    assert [(one, other) for one, other in pairs(looks) if looks[one] == looks[other]] == []


Rows = tuple[tuple[float, float, float], ...]

# Severity 1.0, for linear RGB: G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, A Physiologically-based Model for
# Simulation of Color Vision Deficiency, IEEE Trans. Visualization and Computer Graphics 15(6), 2009, table 1.
SEEN: dict[str, Rows] = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900),
    ),
}  # fmt: skip
D65: Rows = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
"""From linear sRGB to CIE XYZ: IEC 61966-2-1."""
APART = 10.0
"""CIE 1976 colour difference from which two colours are taken to be told apart. A just noticeable one is 2.3 (M. Mahy,
L. Van Eycken, A. Oosterlinck, Color Res. Appl. 19(2), 1994), side by side; lines and dots are small and lie apart."""


def times(rows: Rows, own: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(sum(a * b for a, b in zip(row, own, strict=True)) for row in rows)


def lab(colour: str, seen: Rows) -> tuple[float, ...]:
    """A colour in CIE L*a*b*, as somebody sees it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = tuple(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    shown = tuple(min(max(part, 0.0), 1.0) for part in times(seen, linear))
    white = times(D65, (1.0, 1.0, 1.0))
    ratios = [own / most for own, most in zip(times(D65, shown), white, strict=True)]
    x, y, z = (each ** (1 / 3) if each > 0.008856 else 7.787 * each + 16 / 116 for each in ratios)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def apart(one: str, other: str, seen: Rows) -> float:
    return math.dist(lab(one, seen), lab(other, seen))


def test_colour_differences_are_those_of_the_definition() -> None:
    assert lab("#FFFFFF", SEEN["all cones"]) == pytest.approx((100, 0, 0), abs=0.01)
    assert lab("#FF0000", SEEN["all cones"]) == pytest.approx((53.24, 80.09, 67.20), abs=0.1)
    # What somebody without the cones for green confuses, and somebody with all of them does not.
    assert apart("#808000", "#B06A00", SEEN["deuteranopia"]) < apart("#808000", "#B06A00", SEEN["all cones"]) / 2
    for rows in SEEN.values():
        assert [sum(row) for row in rows] == pytest.approx([1, 1, 1], abs=1e-5), "white stays white"


def test_controllers_are_told_apart_by_colour_or_by_shape_and_line() -> None:
    alike = []
    for one, other in pairs(controllers()):
        a, b = look(one), look(other)
        least = min(SEEN, key=lambda name: apart(a.colour, b.colour, SEEN[name]))
        if apart(a.colour, b.colour, SEEN[least]) < APART:
            alike += [(one, other, least, "marker")] if a.marker == b.marker else []
            alike += [(one, other, least, "dashes")] if dash(a.dashes) == dash(b.dashes) else []
    assert alike == []


def test_every_controller_has_a_look_that_is_seen_on_white() -> None:
    names = ackclock.catalogue().controllers
    assert set(TOGETHER) <= set(names) <= set(_LOOKS)
    for name in names:
        assert lightness(look(name).colour) < 80, name


def test_a_hollow_marker_is_drawn_hollow() -> None:
    found = styles(["prague", "reno"])
    assert found["prague"].line()["markerfacecolor"] == "white"
    assert found["reno"].line()["markerfacecolor"] == look("reno").colour
