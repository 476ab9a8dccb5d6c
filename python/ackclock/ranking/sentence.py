"""What a ranking found, as a person would write it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ackclock.ranking import words

if TYPE_CHECKING:
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
        more = "one replication cannot tell that from chance: run with --replications 10"
        return f"{first.name} comes out first on {what}{over}, {gap}; {more}."
    if found.state == "repeated":
        why = "no replication differs from another, so that this is so of these scenarios and says nothing of others"
        group = [item for item in found.candidates if item.rank == 1]
        if len(group) > 1:
            return f"{words.listed([item.name for item in group])} are equal on {what}{over}; {why}."
        return f"{first.name} is best on {what}{over}, {gap}; {why}."
    tied = [item.name for item in found.candidates if item.rank == 1]
    if len(tied) == 1:
        return f"{first.name} is best on {what}{over}, {gap}{_interval(found, first, second)}."
    rest = [item for item in found.candidates if item.rank > 1]
    worse = f"; shown to be worse: {_names([item.name for item in rest])}" if rest else ""
    who = (
        "No candidate can"
        if not rest
        else f"{words.listed(tied)} cannot"
        if len(tied) <= _MOST
        else f"{len(tied)} cannot"
    )
    fine = f"{first.name} is {gap.removeprefix('by ')}{_interval(found, first, second)}"
    return f"{who} be told from the best on {what}{over}: {fine}{worse}. More replications would tell finer."


def _aim(found: Ranking) -> str:
    aims = found.goal.aims
    what = words.metric(aims[0].metric) if len(aims) == 1 else f"the goal ({found.goal})"
    return what if found.group is None else f"{what} of the flows of group {found.group}"


def _over(found: Ranking) -> str:
    return "" if found.points == 1 else f" over the {found.points} points"


def _gap(found: Ranking, first: Candidate, second: Candidate) -> str:
    """How far the first is from the next."""
    score = "its score " if len(found.goal.aims) > 1 else ""
    return f"{score}{_apart(_ratio(found, first, second), _ends(found, first, second))} the next, {second.name}"


def _ratio(found: Ranking, first: Candidate, second: Candidate) -> float:
    """The first against the next, in the metric where the goal is one, else in the score."""
    ratio = first.score.value / second.score.value
    return 1 / ratio if _falls(found) else ratio


def _falls(found: Ranking) -> bool:
    return len(found.goal.aims) == 1 and not found.goal.aims[0].up


def _apart(ratio: float, ends: words.Ends = None) -> str:
    if abs(ratio - 1) <= 1e-12:
        return "equal to"
    if words.large(ratio):
        return f"{ratio:.2g} times that of"
    word = "above" if ratio > 1 else "below"
    return f"{words.unshown(ratio, ends) or words.change(ratio, ends, sign=False).removeprefix('-')} {word}"


def _ends(found: Ranking, first: Candidate, second: Candidate) -> words.Ends:
    """The interval of the first against the next: it is there where one of the two is the reference."""
    for own, other, turned in ((second, first, True), (first, second, False)):
        if other.name == found.reference and own.score.low is not None and own.score.high is not None:
            ends = own.score.low, own.score.high
            # A metric that is to go down has a score that goes up.
            return (1 / ends[1], 1 / ends[0]) if turned != _falls(found) else ends
    return None


def _interval(found: Ranking, first: Candidate, second: Candidate) -> str:
    ratio, ends = _ratio(found, first, second), _ends(found, first, second)
    if ends is None:
        return ""
    times = any(map(words.large, (ratio, *ends)))
    return f" (95 % simultaneous interval {words.span(ratio, ends, times=times)})"


def _where(found: Ranking) -> str:
    """Where the best is beaten, if it is."""
    first = max(found.candidates, key=lambda item: (item.score.value, item.name == found.reference))
    if found.points == 1 or first.name != found.reference:
        return ""
    worst, it = first.worst, "it" if len(found.best) == 1 else first.name
    if worst.ratio >= 1 - 1e-12:
        ahead = worst.low is not None and worst.low > 1 if found.state == "sampled" else worst.ratio > 1 + 1e-12
        return (
            f"{it[0].upper()}{it[1:]} is ahead at every point." if ahead else f"At no point is {it} shown to be behind."
        )
    ratio = 1 / worst.ratio if _falls(found) else worst.ratio
    ends = None if worst.low is None or worst.high is None else (worst.low, worst.high)
    if ends is not None and _falls(found):
        ends = (1 / ends[1], 1 / ends[0])
    at = f"At {words.point(worst.params)} {it} is {_apart(ratio, ends)} {worst.against}"
    if found.state == "sampled" and (worst.high is None or worst.high >= 1):
        return f"{at}, which may be chance."
    return f"{at}."


def _front(found: Ranking) -> str:
    there = [item.name for item in found.candidates if item.front]
    out = [item for item in found.candidates if item.front is False]
    if not there and not out:
        return ""
    what = words.listed(list(found.axes))
    if not out:
        return f"None is dominated in {what}: each is a trade-off."
    verb = "is" if len(there) == 1 else "are"
    shown = f"On the front of {what} {verb} {_names(there)}"
    by = found.candidates[0].name
    of_first = [item.name for item in out if by in item.dominated_by]
    if not of_first:
        return f"{shown}."
    none = f"{by} is shown to be better than {_names(of_first)} in some of these and worse in none"
    return f"{shown}: {none}."


def _names(names: list[str]) -> str:
    return words.listed(names) if len(names) <= _MOST else f"{', '.join(names[:_MOST])} and {len(names) - _MOST} more"
