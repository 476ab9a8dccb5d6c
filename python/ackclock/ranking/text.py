"""A ranking as the cells of tables."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence

from ackclock.comparison.text import unit
from ackclock.ranking import words
from ackclock.ranking.ranking import Candidate, Measure, Ranking

Cells = list[list[str]]

_SPLIT = re.compile(r"(:|,|^[≥ \d.]+(?= [-+×hl\d])|\w(?=\())\s*")
"""Where a cell of a narrow table has a new line: after a part of a point, and after a value."""
_MOST = 4  # intervals in a list
LEAST = 0.01
"""The least probability of being best that is told from none, and from certainty."""
_TITLE = 12  # characters that a line of a title of a narrow table has, where its words let it


def table(found: Ranking, *, narrow: bool = False) -> Cells:
    """A header and a line for each candidate: what it is by the goal, against which, how sure, and where worst.

    A narrow one breaks titles and the worst point into lines.
    """
    aims = found.goal.aims
    one = aims[0].metric if len(aims) == 1 else None
    key = found.by.rpartition(".")[2]
    sampled = found.candidates[0].best is not None
    own = {item.name: item.metrics[one] if one else item.score for item in found.candidates}
    times = _large(found, own)
    worst = {item.name: _worst_of(found, item) for item in found.candidates}
    worst_times = any(words.large(ratio) for ratio, _ in worst.values())
    head = ["rank", key, *([_title(found, one)] if one else []), f"{'' if one else 'score '}against {found.reference}"]
    several = found.points > 1
    head += ["95 % interval"] if _any_interval(found) else []
    head += [*(["worst point"] if several else []), *(["P(best)"] if sampled else [])]
    body = []
    for item in found.candidates:
        measure, here = own[item.name], item.name == found.reference
        ends = _ends(measure)
        cells = [f"{item.rank}{'=' if item.tied else ''}", item.name]
        cells += [f"{'≥ ' if measure.at_least else ''}{words.plain(measure.value, one)}"] if one else []
        cells.append("-" if here else words.change(measure.against, ends, times=times))
        if _any_interval(found):
            cells.append("" if here else words.span(measure.against, ends, times=times))
        if several:
            cells.append(_worst(found, item, *worst[item.name], times=worst_times))
        if sampled:
            cells.append("-" if item.best is None else probability(item.best))
        body.append(cells)
    return _narrow([head, *body]) if narrow else [head, *body]


def tradeoff(found: Ranking, *, narrow: bool = False) -> Cells:
    """What each metric is, and which candidates are on the front; empty if there is one metric only."""
    names = list(found.candidates[0].metrics)
    if len(names) < 2:
        return []
    front = found.tradeoff
    times = {name: _large(found, {item.name: item.metrics[name] for item in found.candidates}) for name in names}
    titles = [_title(found, name) for name in names]
    head = [found.by.rpartition(".")[2], *titles, *(["front"] if front else [])]
    body = [
        [item.name, *(_cell(found, item, name, times=times[name]) for name in names)]
        + ([_front(item)] if front else [])
        for item in found.candidates
    ]
    return _narrow([head, *body]) if narrow else [head, *body]


def _title(found: Ranking, metric: str) -> str:
    """What a metric is called, which mean is taken of it over points and replications, and its unit."""
    mean = "geom. mean" if found.candidates[0].metrics[metric].kind == "ratio" else "mean"
    if found.points == 1 and found.replications == 1:
        mean = ""
    below = ", ".join(part for part in (mean, unit(metric)[0]) if part)
    return f"{words.metric(metric)}{' per flow' if metric == 'goodput_bps' else ''}\n{below}".rstrip("\n")


def _narrow(cells: Cells) -> Cells:
    head, *body = cells
    parts = [[_SPLIT.sub(r"\1\n", part) for part in line] for line in body]
    return [[_titled(title) for title in head], *parts]


def _titled(title: str) -> str:
    lines = (textwrap.wrap(line, _TITLE, break_long_words=False, break_on_hyphens=False) for line in title.split("\n"))
    return "\n".join(part for wrapped in lines for part in wrapped)


def _ends(measure: Measure) -> words.Ends:
    return None if measure.low is None or measure.high is None else (measure.low, measure.high)


def _large(found: Ranking, own: Mapping[str, Measure]) -> bool:
    """Whether a column is of ratios, as some of it is too far from the reference to be said in percent."""
    others = (item for name, item in own.items() if name != found.reference and item.kind == "ratio")
    return any(words.large(end) for item in others for end in (item.against, *(_ends(item) or ())))


def _cell(found: Ranking, item: Candidate, metric: str, *, times: bool) -> str:
    """A metric of a candidate: its value, and how far that is from the reference if it is shown to be elsewhere."""
    own = item.metrics[metric]
    value = f"{'≥ ' if own.at_least else ''}{words.plain(own.value, metric)}"
    if item.name == found.reference or found.state == "single":
        return value
    if own.shown is None:
        return f"{value} ~"
    if own.kind != "ratio":
        return f"{value} {own.shown}"
    return f"{value} {words.change(own.against, _ends(own), times=times)}"


def footing(found: Ranking, *, trade: bool = True) -> list[str]:
    """What a reader must know of the tables, with or without that of the trade-off."""
    lines = []
    if len(found.goal.aims) > 1:
        lines.append(f"score: weighted geometric mean of {found.goal}")
    rows = tradeoff(found) if trade else []
    if any(" ~" in cell for row in rows for cell in row):
        lines.append(f"~: not told from {found.reference}")
    if any(row[-1] == "?" for row in rows):
        lines.append("?: not shown to be dominated, nor not to be")
    if _any_interval(found) and found.family > 1:
        lines.append(f"intervals are of 95 % for all {found.family} pairs of candidates together")
    lines += _deciding(found)
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


def _worst_of(found: Ranking, item: Candidate) -> tuple[float, words.Ends]:
    """How far a candidate is behind at its worst point, as its metric or score is told, with the interval."""
    worst, aims = item.worst, found.goal.aims
    ends = None if worst.low is None or worst.high is None else (worst.low, worst.high)
    if len(aims) > 1 or aims[0].up:
        return worst.ratio, ends
    return 1 / worst.ratio, None if ends is None else (1 / ends[1], 1 / ends[0])


def _worst(found: Ranking, item: Candidate, ratio: float, ends: words.Ends, *, times: bool) -> str:
    against = f" on {item.worst.against}" if item.name == found.reference else ""
    return f"{words.point(item.worst.params)}: {words.change(ratio, ends, times=times)}{against}"


def probability(share: float) -> str:
    """A probability in percent. Resamples of few replications know none that is nearer to 0 or 1 than :data:`LEAST`."""
    if share < LEAST:
        return f"< {100 * LEAST:g} %"
    return f"> {100 - 100 * LEAST:g} %" if share > 1 - LEAST else f"{100 * share:.0f} %"


def _front(item: Candidate) -> str:
    return "?" if item.front is None else "yes" if item.front else f"no: {item.dominated_by[0]}"


def _deciding(found: Ranking) -> list[str]:
    """What ranks follow from where the table has another interval: against the first of the rank before."""
    if found.state != "sampled":
        return []
    firsts = {item.rank: item.name for item in reversed(found.candidates)}
    places = sorted(firsts)
    reference = next(item.rank for item in found.candidates if item.name == found.reference)
    said = []
    for item in found.candidates:
        before = firsts[places[max(0, places.index(item.rank) - 1)]]
        pair = found.pair(before, item.name)
        if pair is None or pair.low is None or pair.high is None or found.reference in (item.name, before):
            continue
        told = (item.score.shown is None) == (item.rank == reference)
        if told and firsts[item.rank] != item.name:
            continue
        ratio, ends = 1 / pair.ratio, (1 / pair.high, 1 / pair.low)
        if len(found.goal.aims) == 1 and not found.goal.aims[0].up:
            ratio, ends = 1 / ratio, (1 / ends[1], 1 / ends[0])
        times = any(map(words.large, (ratio, *ends)))
        change, span = words.change(ratio, ends, times=times), words.span(ratio, ends, times=times)
        said.append(f"{item.name} {change} ({span}) against {before}")
    if not said:
        return []
    more = f"; {len(said) - _MOST} more: --json" if len(said) > _MOST else ""
    return [f"ranks follow from intervals against the first of a rank: {'; '.join(said[:_MOST])}{more}"]
