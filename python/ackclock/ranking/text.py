"""A ranking as the cells of tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ackclock.comparison.text import unit
from ackclock.ranking import words
from ackclock.ranking.ranking import Candidate, Ranking

Cells = list[list[str]]

_SPLIT = re.compile(r"(:|,|(?<=%) (?=to)|(?<=\d) (?=to )|^[≥ \d.]+(?= [-+×hl])|\w(?=\())\s*")
"""Where a cell of a narrow table has a new line: after a part of a point, before the end of an interval."""


def table(found: Ranking, *, narrow: bool = False) -> Cells:
    """A header and a line for each candidate: what it is by the goal, against which, how sure, and where worst.

    A narrow one breaks titles and the worst point into lines.
    """
    aims = found.goal.aims
    one = aims[0].metric if len(aims) == 1 else None
    key = found.by.rpartition(".")[2]
    sampled = found.candidates[0].best is not None
    head = ["rank", key, *([_title(one)] if one else []), f"{'' if one else 'score '}against {found.reference}"]
    head += [*(["95 % interval"] if _any_interval(found) else []), "worst point", *(["P(best)"] if sampled else [])]
    body = []
    for item in found.candidates:
        own = item.metrics[one] if one else item.score
        here = item.name == found.reference
        cells = [f"{item.rank}{'=' if item.tied else ''}", item.name]
        cells += [f"{'≥ ' if own.at_least else ''}{words.plain(own.value, one)}"] if one else []
        cells.append("-" if here else words.percent(own.against))
        if _any_interval(found):
            cells.append("" if here else words.span(own.low, own.high))
        cells.append(_worst(found, item))
        if sampled:
            cells.append("-" if item.best is None else _probability(item.best))
        body.append(cells)
    return _narrow([head, *body]) if narrow else [head, *body]


def tradeoff(found: Ranking, *, narrow: bool = False) -> Cells:
    """What each metric is, and which candidates are on the front; empty if there is one metric only."""
    names = list(found.candidates[0].metrics)
    if len(names) < 2:
        return []
    front = found.candidates[0].front is not None
    head = [found.by.rpartition(".")[2], *map(_title, names), *(["front"] if front else [])]
    body = [
        [item.name, *(_cell(found, item, name) for name in names)] + ([_front(item)] if front else [])
        for item in found.candidates
    ]
    return _narrow([head, *body]) if narrow else [head, *body]


def _title(metric: str) -> str:
    return f"{words.metric(metric)}\n{unit(metric)[0]}".rstrip("\n")


def _narrow(cells: Cells) -> Cells:
    head, *body = cells
    parts = [[_SPLIT.sub(r"\1\n", part) for part in line] for line in body]
    return [[title.replace(" ", "\n").replace("95\n%", "95 %") for title in head], *parts]


def _cell(found: Ranking, item: Candidate, metric: str) -> str:
    """A metric of a candidate: its value, and how far that is from the reference if it is shown to be elsewhere."""
    own = item.metrics[metric]
    value = f"{'≥ ' if own.at_least else ''}{words.plain(own.value, metric)}"
    if item.name == found.reference or found.state == "single":
        return value
    if own.shown is None:
        return f"{value} ~"
    return f"{value} {words.percent(own.against)}" if own.kind == "ratio" else f"{value} {own.shown}"


def footing(found: Ranking, *, trade: bool = True) -> list[str]:
    """What a reader must know of the tables, with or without that of the trade-off."""
    lines = []
    if len(found.goal.aims) > 1:
        lines.append(f"score: weighted geometric mean of {found.goal}")
    if trade and any(" ~" in cell for row in tradeoff(found) for cell in row):
        lines.append(f"~: not told from {found.reference}")
    if _any_interval(found) and found.family > 1:
        lines.append(f"intervals are of 95 % for all {found.family} pairs of candidates together")
    lines += [f"not ranked: {name}, {why}" for name, why in found.unranked.items()]
    return lines


def left(cells: Sequence[Sequence[str]]) -> int:
    """How many columns in front hold words."""
    return 2 if cells[0][0] == "rank" else 1


def least(cells: Sequence[Sequence[str]]) -> list[int]:
    """The columns that a terminal may do without, the least important first: the worst point, metrics from the end."""
    if cells[0][0] == "rank":
        return [index for index, title in enumerate(cells[0]) if title in ("worst point", "P(best)")]
    return [index for index in range(len(cells[0]) - 1, 1, -1) if cells[0][index] != "front"]


def _any_interval(found: Ranking) -> bool:
    return any(item.score.low is not None for item in found.candidates)


def _worst(found: Ranking, item: Candidate) -> str:
    if found.points == 1:
        return ""
    aims = found.goal.aims
    ratio = item.worst.ratio if len(aims) > 1 or aims[0].up else 1 / item.worst.ratio
    against = f" on {item.worst.against}" if item.name == found.reference else ""
    return f"{words.point(item.worst.params)}: {words.percent(ratio)}{against}"


def _probability(share: float) -> str:
    percent = 100 * share
    return "< 1 %" if 0 < percent < 1 else "> 99 %" if 99 < percent < 100 else f"{percent:.0f} %"


def _front(item: Candidate) -> str:
    return "yes" if item.front else f"no: {item.dominated_by[0]}"
