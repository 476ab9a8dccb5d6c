"""The runs that a ranking compares: of every candidate, at every point, with the same random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ackclock.comparison import names, pairing
from ackclock.comparison.pairing import Draw, Params, Point, Side
from ackclock.comparison.values import Metrics
from ackclock.errors import InputError
from ackclock.ranking.conditions import is_condition, refused
from ackclock.results.live import CONNECTIONS, LIVE

LEAST = 2
"""Runs of a cell that make it one, of a sweep with several replications: a single one could not be compared."""

Cell = tuple[str, Point]
"""A candidate at a point."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The candidates, points and draws that are compared: each candidate has a run of each draw at each point."""

    by: str
    candidates: tuple[str, ...]
    points: tuple[Params, ...]
    draws: tuple[Draw, ...]
    runs: Mapping[tuple[Draw, Point, str], int]
    keys: tuple[Point, ...]
    unranked: Mapping[str, str] = field(default_factory=dict)
    """Candidates that are not compared, and why."""

    def run(self, draw: int, point: int, candidate: int) -> int:
        """The run of a draw at a point, by their numbers."""
        return self.runs[self.draws[draw], self.keys[point], self.candidates[candidate]]

    def compared(self) -> list[int]:
        """The runs that are compared."""
        shape = len(self.draws), len(self.points), len(self.candidates)
        return [self.run(*place) for place in np.ndindex(shape)]


def key_of(side: Side, by: str | None, group: int | None = None) -> str:
    """The swept key whose values are the candidates: `by`, else the controller, else the only choice that is swept.

    Of several controllers it is that of the `group` that is asked about. Raises :class:`ackclock.InputError` if it is
    not clear, or if `by` is a condition and no choice.
    """
    if by is not None:
        key = names.key(by, side.result.params, side.name)
        if is_condition(key):
            raise refused(key, side.keys, side.name)
        return key
    if not side.keys:
        problem = "nothing but the seed is swept" if side.result.params else "nothing is swept"
        raise InputError(f"{problem}, so that there is nothing to rank", "give a key a list", source=side.name)
    choices = [key for key in side.keys if not is_condition(key)]
    if not choices:
        keys = ", ".join(side.keys)
        problem = f"only conditions are swept ({keys}), which are met and not chosen: there is nothing to rank"
        remedy = f"sweep a choice, such as cc; what they do: ackclock plot DIR --x {side.keys[0]}"
        raise InputError(problem, remedy, source=side.name)
    for own in (
        [key for key in choices if key == "cc"],
        [key for key in choices if key == f"flows.{group}.cc"],
        [key for key in choices if key.endswith(".cc")],
        [key for key in choices if not all(str(value)[:1].isdigit() for value in side.values(key))],
        choices,
    ):
        if len(own) == 1:
            return own[0]
        if own:
            break
    remedy = f"say which: --by KEY (choices that are swept: {', '.join(choices)})"
    raise InputError("it is not clear what the candidates are", remedy, source=side.name)


def more(side: Side, by: str) -> tuple[str, str]:
    """What several runs of a candidate are, and how there come to be more of them: a number follows."""
    if side.captured:
        return f"captures of each {by}", "analyse"
    if side.engine == LIVE:
        return f"tests of each {'number of ' if by == CONNECTIONS else ''}{by}", "make"
    return "replications", "run with --replications"


def chosen(side: Side, by: str, known: Mapping[int, Metrics], wanted: Sequence[str], notes: list[str]) -> Cells:
    """The cells in which all `wanted` metrics have values. What is left out is noted.

    Where cells are missing, the point or the candidate with the largest share of missing ones goes, until none is.
    """
    words = [pairing.worded(value) for value in side.values(by)]
    if len(words) < 2:
        problem = f"has one value, {words[0]}: there is nothing to rank"
        remedy = "analyse captures of several" if side.captured else "sweep it: give it a list"
        raise InputError(problem, remedy, source=side.name, key=by)
    tied = [key for key in side.keys if key != by and pairing.follows(side, key, by)]
    if tied:
        notes.append(f"{' and '.join(tied)} {'vary' if len(tied) > 1 else 'varies'} together with {by}")
    keys = [key for key in side.keys if key != by and key not in tied]
    places = side.points(keys)
    every = dict(zip(words, side.values(by), strict=True))
    runs: dict[tuple[Draw, Point, str], int] = {}
    there: dict[Cell, set[Draw]] = {}
    for word, value in every.items():
        for point, own in side.runs(keys, {by: value}).items():
            for draw, run in own.by_draw.items():
                if all(known[run].get(metric) is not None for metric in wanted):
                    runs[draw, point, word] = run
                    there.setdefault((word, point), set()).add(draw)
    most = max(map(len, there.values()), default=0)
    once = {word for word, _ in there}
    there = {cell: draws for cell, draws in there.items() if len(draws) >= min(LEAST, most)}
    once -= {word for word, _ in there}
    candidates, points = _complete(words, list(places), there)
    if len(candidates) < 2:
        finished = {word for word, value in every.items() if side.runs(keys, {by: value})}
        raise _nothing(side, by, wanted, there, [word for word in words if word not in finished], sorted(once))
    unranked = {
        word: f"no finished run with {' and '.join(wanted)} at {missing} of {len(places)} points"
        for word in words
        if word not in candidates
        if (missing := sum((word, point) not in there for point in places))
    }
    if left := [places[point] for point in places if point not in points]:
        notes.append(
            f"{pairing.counted(len(left), 'point')} left out, as some candidate has no value{pairing.listed(left)}"
        )
    shared = set.intersection(*(there[word, point] for word in candidates for point in points))
    if not shared:
        problem = "no replication is there of every candidate at every point"
        remedy = "run them all with the same seed and replications"
        if side.captured:
            problem, remedy = f"no capture of each {by} has what is ranked", "analyse captures that carry data"
        raise InputError(problem, remedy, source=side.name)
    if len(shared) < most:
        what = "captures" if side.captured else "replications"
        notes.append(f"of up to {most} {what} the {len(shared)} count that every candidate has at every point")
    return Cells(
        by,
        tuple(candidates),
        tuple(places[point] for point in points),
        tuple(sorted(shared)),
        runs,
        tuple(points),
        unranked,
    )


def _complete(words: list[str], points: list[Point], there: Mapping[Cell, object]) -> tuple[list[str], list[Point]]:
    """The largest shares of missing cells left out, one after the other: candidates and points that have them all."""
    has = np.array([[(word, point) in there for point in points] for word in words], dtype=bool).reshape(len(words), -1)
    rows, columns = np.arange(len(words)), np.arange(len(points))
    while has[np.ix_(rows, columns)].size and not has[np.ix_(rows, columns)].all():
        missing = ~has[np.ix_(rows, columns)]
        of_words, of_points = missing.mean(axis=1), missing.mean(axis=0)
        if of_points.max() >= of_words.max():
            columns = columns[of_points < of_points.max()]
        else:
            rows = rows[of_words < of_words.max()]
    if not len(columns):
        return [], []
    return [words[row] for row in rows], [points[column] for column in columns]


def _nothing(
    side: Side,
    by: str,
    wanted: Sequence[str],
    there: Mapping[Cell, object],
    unfinished: Sequence[str],
    once: Sequence[str],
) -> InputError:
    """Why there are no two candidates: no run of one finished, it has no value, only one, or they are not crossed."""
    if unfinished:
        which = f"no run of {by}={' or '.join(unfinished)}" if len(side.values(by)) > len(unfinished) else "no run"
        why = f" ({side.unfinished})" if side.unfinished else ""
        remedy = "its manifest says which and why; correct that and run them again"
        return InputError(f"{which} finished{why}, so that there are no two to rank", remedy, source=side.name)
    what = " and ".join(wanted)
    if not there:
        remedy = "give another goal"
        if any(name.endswith(("fct_s", "slowdown")) for name in wanted):
            remedy += "; completion times are of transfers: requests, files, or flows of given bytes"
        return InputError(f"no run has a value of {what}", remedy, source=side.name, key="goal")
    known = dict.fromkeys(word for word, _ in there)
    if len(known) < 2 and once:
        why = f" ({side.unfinished})" if side.unfinished else ""
        single = f"of {by}={' and '.join(once)} there is one run with {what}{why}"
        what_more, remedy = more(side, by)
        needed = f"as many {what_more} are needed: {remedy} {LEAST} or more"
        if side.unfinished:
            needed = f"have {LEAST} runs of each that can be used, or more"
        return InputError(f"{single}, of others several: one cannot be ranked", needed, source=side.name)
    if len(known) < 2:
        problem = (
            f"no run has a value of {what} but those of {by}={next(iter(known))}, so that there are no two to rank"
        )
        return InputError(problem, "give another goal", source=side.name, key="goal")
    return InputError(
        f"no two candidates have {what} at the same point", "sweep them crossed, or give another goal",
        source=side.name, key=by,
    )  # fmt: skip
