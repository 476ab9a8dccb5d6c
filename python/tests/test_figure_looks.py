"""Looks: controllers are told apart in a grey print, by their markers and how their lines are dashed."""

from __future__ import annotations

import itertools

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


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(TOGETHER, 2)))
def test_controllers_that_are_compared_are_told_apart_in_grey(one: str, other: str) -> None:
    a, b = look(one), look(other)
    assert marker(a) != marker(b), "points that no line joins have nothing else"
    if a.marker == b.marker:  # in small print it is not seen that one is hollow
        assert dash(a.dashes) != dash(b.dashes)


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(sorted(_LOOKS), 2)))
def test_no_two_controllers_have_both_marker_and_dashes(one: str, other: str) -> None:
    names = ackclock.catalogue().controllers
    if one in names and other in names:
        a, b = look(one), look(other)
        assert (a.marker, dash(a.dashes)) != (b.marker, dash(b.dashes))


def test_every_controller_has_a_look_that_is_seen_on_white() -> None:
    names = ackclock.catalogue().controllers
    assert set(TOGETHER) <= set(names) <= set(_LOOKS)
    for name in names:
        assert lightness(look(name).colour) < 80, name


def test_a_hollow_marker_is_drawn_hollow() -> None:
    found = styles(["prague", "reno"])
    assert found["prague"].line()["markerfacecolor"] == "white"
    assert found["reno"].line()["markerfacecolor"] == look("reno").colour
