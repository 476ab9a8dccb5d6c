"""What a ranking found, as a person would write it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ackclock.ranking import words
from ackclock.ranking.front import MARGIN

if TYPE_CHECKING:
    from ackclock.ranking.lead import Worst
    from ackclock.ranking.ranking import Candidate, Ranking

_MOST = 4  # names in a list


def of(found: Ranking) -> str:
    """The ranking in a few sentences: who is best and by how much, where that one is worst, and the trade-off."""
    parts = [_best(found), _where(found), _front(found)]
    return " ".join(part for part in parts if part)


def _best(found: Ranking) -> str:
    first, *others = sorted(found.candidates, key=lambda item: (-item.score.value, item.name))
    second = others[0]
    what, over = _aim(found), _over(found)
    gap = _gap(found, first, second)
    if found.state == "single":
        more = (
            f"one capture of each {found.by} cannot tell that from chance: analyse several"
            if found.captured
            else "one replication cannot tell that from chance: run with --replications 10"
        )
        return f"{first.name} comes out first on {what}{over}, {gap}; {more}."
    if found.state == "repeated":
        what = "capture" if found.captured else "replication"
        these = "captures" if found.captured else "scenarios"
        why = f"no {what} differs from another, so that this is so of these {these} and says nothing of others"
        group = [item for item in found.candidates if item.rank == 1]
        if len(group) > 1:
            return f"{words.listed([item.name for item in group])} are equal on {what}{over}; {why}."
        return f"{first.name} is best on {what}{over}, {gap}; {why}."
    tied = [item.name for item in found.candidates if item.rank == 1]
    if len(tied) == 1:
        return f"{first.name} is best on {what}{over}, {gap}{_interval(found, first, second)}."
    rest = [item for item in found.candidates if item.rank > 1]
    worse = f"; shown to be worse: {_names([item.name for item in rest])}" if rest else ""
    who = f"{_names(tied)} cannot" if rest else "No candidate can"
    many = "captures" if found.captured else "replications"
    subject = f"the score of {first.name}" if len(found.goal.aims) > 1 else first.name
    fine = f"{subject} is {gap.removeprefix('its score ')}{_interval(found, first, second)}"
    return f"{who} be told from the best on {what}{over}: {fine}{worse}. More {many} would tell finer."


def _aim(found: Ranking) -> str:
    aims = found.goal.aims
    what = words.metric(aims[0].metric) if len(aims) == 1 else f"the goal ({found.goal})"
    if found.horizon is not None:
        low, high = (f"{end:.3g}" for end in found.horizon)
        what = f"{what}, of which no more than {low if low == high else f'{low} to {high}'} s count,"
    return what if found.group is None else f"{what} of the flows of group {found.group}"


def _over(found: Ranking) -> str:
    return "" if found.points == 1 else f" over the {found.points} points"


def _gap(found: Ranking, first: Candidate, second: Candidate) -> str:
    """How far the first is from the next."""
    score = "its score " if len(found.goal.aims) > 1 else ""
    apart = _apart(_ratio(found, first, second), _ends(found, first, second))
    that = "that of " if score and not apart.endswith("that of") else ""
    return f"{score}{apart} {that}the next, {second.name}"


def _ratio(found: Ranking, first: Candidate, second: Candidate) -> float:
    """The first against the next, in the metric where the goal is one, else in the score."""
    ratio = first.score.value / second.score.value
    return 1 / ratio if _falls(found) else ratio


def _falls(found: Ranking) -> bool:
    return len(found.goal.aims) == 1 and not found.goal.aims[0].up


def _apart(ratio: float, ends: words.Ends = None) -> str:
    """How far apart two are, in the form that their interval has beside it."""
    if abs(ratio - 1) <= 1e-12:
        return "equal to"
    if _times(ratio, ends):
        return f"{words.change(ratio, ends, times=True).removeprefix('× ')} times that of"
    word = "above" if ratio > 1 else "below"
    return f"{words.unshown(ratio, ends) or words.change(ratio, ends, sign=False).removeprefix('-')} {word}"


def _times(ratio: float, ends: words.Ends) -> bool:
    return any(map(words.large, (ratio, *(ends or ()))))


def _ends(found: Ranking, first: Candidate, second: Candidate) -> words.Ends:
    """The interval of the first against the next, in the metric where the goal is one, else in the score."""
    pair = found.pair(first.name, second.name)
    return None if pair is None else _turned(found, pair.low, pair.high)


def _turned(found: Ranking, low: float | None, high: float | None) -> words.Ends:
    """Ends of a score as those of a metric: one that is to go down has a score that goes up."""
    if low is None or high is None:
        return None
    return (1 / high, 1 / low) if _falls(found) else (low, high)


def _interval(found: Ranking, first: Candidate, second: Candidate) -> str:
    ratio, ends = _ratio(found, first, second), _ends(found, first, second)
    if ends is None:
        return ""
    return f" (95 % simultaneous interval {words.span(ratio, ends, times=_times(ratio, ends))})"


def _where(found: Ranking) -> str:
    """Where the first is beaten, if it is shown to be anywhere; whether it is shown to lead everywhere."""
    lead = found.lead
    if found.points == 1 or lead is None:
        return ""
    it = "it" if len(found.best) == 1 else lead.name
    if lead.everywhere:
        return f"{it[0].upper()}{it[1:]} is ahead at every point."
    if lead.behind is not None:
        return f"At {_place(found, it, lead.behind)}."
    never = f"At no point is {it} shown to be behind"
    return (
        f"{never}."
        if lead.nearest.ratio >= 1
        else f"{never}; at {_place(found, 'it', lead.nearest)}, which may be chance."
    )


def _place(found: Ranking, it: str, at: Worst) -> str:
    ratio = 1 / at.ratio if _falls(found) else at.ratio
    return f"{words.point(at.params)} {it} is {_apart(ratio, _turned(found, at.low, at.high))} {at.against}"


def _front(found: Ranking) -> str:
    if not found.tradeoff:
        return ""
    on = [item.name for item in found.candidates if item.front]
    out = [item for item in found.candidates if item.front is False]
    open_ = [item.name for item in found.candidates if item.front is None]
    what = words.listed(list(found.axes))
    if not out and not open_:
        return f"None is dominated in {what}: each is a trade-off."
    if not on:
        who = "Which of them are" if not out else f"Whether {_names(open_)} {_be(open_)}"
        parts = [f"{who} on the front of {what} is not shown"]
    else:
        parts = [f"On the front of {what} {_be(on)} {_names(on)}"]
        parts += [f"whether {_names(open_)} {_be(open_)}, too, is not shown"] if open_ else []
    return f"{'; '.join([*parts, *([_dominated(out)] if out else [])])}."


def _be(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _dominated(out: Sequence[Candidate]) -> str:
    """Who is dominated by whom: each under one that dominates it, of which those on the front come first."""
    by: dict[str, list[str]] = {}
    for item in out:
        by.setdefault(item.dominated_by[0], []).append(item.name)
    margin = f"{100 * MARGIN:g} %"
    (first, names), *others = by.items()
    said = [
        f"{first} is shown to be better than {_names(names)} in some of these and less than {margin} worse in others"
    ]
    return "; ".join([*said, *(f"so is {other} than {_names(names)}" for other, names in others)])


def _names(names: list[str]) -> str:
    return words.listed(names) if len(names) <= _MOST else f"{', '.join(names[:_MOST])} and {len(names) - _MOST} more"
