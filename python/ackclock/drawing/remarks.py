"""What a figure says of itself: what was held or chosen, and what of the data a reader must know."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remark:
    """`words` stand in the figure, and with the remedy, where there is one, on standard error.

    What was asked for is not `news`: it stands in the figure alone.
    """

    words: str
    remedy: str = ""
    news: bool = True


def subtitle(remarks: Iterable[Remark]) -> str:
    """What the figure says."""
    return "; ".join(dict.fromkeys(each.words for each in remarks))


def lines(remarks: Iterable[Remark]) -> tuple[str, ...]:
    """What is said beside the figure."""
    said = ("; ".join(part for part in (each.words, each.remedy) if part) for each in remarks if each.news)
    return tuple(dict.fromkeys(said))
