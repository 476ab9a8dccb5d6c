"""Data that costs money: over which lines it does, and how much of it needs somebody's yes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ackclock.errors import InputError
from ackclock.measure import amounts, context
from ackclock.measure.campaign import Campaign, Line

MUCH = 10**9
"""Bytes over a metered interface for which somebody has to say yes."""


def check(campaign: Campaign, lines: Sequence[Line], done: Collection[int] = ()) -> None:
    """Refuse much data over an interface on which it costs money: that of all its lines together, but for runs done.

    Raises :class:`InputError`.
    """
    by_interface: dict[str | None, list[Line]] = {}
    for line in lines:
        if line.via is None and _left(campaign, line, done) > 0 and metered(campaign, line):
            by_interface.setdefault(_interface(campaign, line), []).append(line)
    for interface, together in by_interface.items():
        unknown = [line for line in together if line.rate is None]
        volume = sum(
            campaign.volume(line, line.rate) * _left(campaign, line, done) for line in together if line.rate is not None
        )
        if not unknown and volume <= MUCH:
            continue
        who = f"line {_names(together)} is metered"
        if len(together) > 1:
            who = f"lines {_names(together)} go over one metered interface{f' ({interface})' if interface else ''}"
        much, remedy = f"about {amounts.size(volume)}", "say that it may be: --yes"
        if unknown:
            of = "it" if together == unknown[:1] else _names(unknown)
            much, remedy = f"nobody has said what {of} carries", 'say what it carries, rate = "25 Mbit/s", or --yes'
        raise InputError(f"{who}, and much may go over it ({much})", remedy)


def metered(campaign: Campaign, line: Line) -> bool:
    """Whether the data of a line costs money."""
    return context.metered(_interface(campaign, line)) if line.metered is None else line.metered


def _interface(campaign: Campaign, line: Line) -> str | None:
    place = campaign.server_of(line)
    return line.interface or (None if place is None else context.interface_to(place[0]))


def _left(campaign: Campaign, line: Line, done: Collection[int]) -> float:
    """The share of a line's tests that is still to come; its probes are taken to be done as far as they are."""
    repetitions = range(campaign.header.repetitions)
    own = [campaign.run(point, each) for point in campaign.points if point.line == line for each in repetitions]
    return 1 - sum(run in done for run in own) / len(own)


def _names(lines: Sequence[Line]) -> str:
    return " and ".join(f"'{line.name}'" for line in lines)
