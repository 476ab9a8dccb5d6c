"""Which runs are compared with which: same swept values but one, same seed and replication."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.errors import InputError, unknown
from ackclock.results.result import Result

SEED = "run.seed"

Params = Mapping[str, Any]
Draw = tuple[int, int]
"""Seed and replication: runs that share both share their random numbers."""


@dataclass(frozen=True, slots=True)
class Side:
    """A result and what it is called."""

    name: str
    result: Result

    @property
    def engine(self) -> str:
        """The engine that played its runs."""
        return str(self.result.manifest["engine"]["name"])

    @property
    def keys(self) -> list[str]:
        """Its swept keys. A swept seed makes replications, not points."""
        return [key for key in self.result.params if key != SEED]

    def values(self, key: str) -> list[Any]:
        """The values of a swept key, in their order."""
        return list({_word(entry["params"][key]): entry["params"][key] for entry in self._entries()}.values())

    def _entries(self) -> list[Mapping[str, Any]]:
        return list(self.result.manifest["points"])

    def runs(self, keys: Sequence[str], only: Params | None = None) -> dict[tuple[str, ...], Runs]:
        """The runs of each combination of values of `keys`, among the points that have the values in `only`."""
        entries = {
            entry["point"]: entry["params"]
            for entry in self._entries()
            if all(_word(entry["params"][key]) == _word(value) for key, value in (only or {}).items())
        }
        found: dict[tuple[str, ...], Runs] = {}
        rows = self.result.runs.select("run", "point", "seed", "replication").iter_rows()
        for run, point, seed, replication in rows:
            if point not in entries:
                continue
            params = entries[point]
            own = found.setdefault(
                tuple(_word(params[key]) for key in keys), Runs({key: params[key] for key in keys}, {})
            )
            if (seed, replication) in own.by_draw:
                raise self._ambiguous(keys, only or {})
            own.by_draw[seed, replication] = run
        return found

    def _ambiguous(self, keys: Sequence[str], only: Params) -> InputError:
        others = [key for key in self.keys if key not in keys and key not in only and len(self.values(key)) > 1]
        if not others:
            return InputError("has several points with the same values", "sweep each value once", source=self.name)
        other = others[0]
        words = ", ".join(map(_word, self.values(other)[:6]))
        return InputError(
            f"has several values ({words}), so that its runs have no single partner",
            f"sweep the same values in both, or compare within this one: --by {other}",
            source=self.name,
            key=other,
        )


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs with the same swept values, by what they drew."""

    params: Params
    by_draw: dict[Draw, int]


@dataclass(frozen=True, slots=True)
class Match:
    """Runs to compare: B's against A's. Of pairs both have the same length and order; `left` runs have no partner."""

    params: Params
    a: str
    b: str
    runs_a: tuple[int, ...]
    runs_b: tuple[int, ...]
    paired: bool
    left: int = 0


def matches(sides: Sequence[Side], by: str | None, base: str | None, notes: list[str]) -> list[Match]:
    """The matches of two results, or of the values of `by` within one. What weakens them is noted."""
    found = of_one(sides[0], by or "", base, notes) if len(sides) == 1 else of_two(sides[0], sides[1], by, notes)
    if left := sum(match.left for match in found):
        notes.append(f"{_counted(left, 'run')} left out: without a partner of the same seed and replication")
    if len({side.engine for side in sides}) > 1:
        names = " and ".join(side.engine for side in sides)
        notes.append(f"runs are not paired, as different engines ({names}) share no random numbers: Welch's test")
    elif not all(match.paired for match in found):
        notes.append(
            "runs are NOT PAIRED, as their seeds do not match: Welch's test, which sees less; run both with the same "
            "--seed and --replications"
        )
    return found


def of_two(a: Side, b: Side, by: str | None, notes: list[str]) -> list[Match]:
    """The matches of two results: points with the same values of the keys that both sweep.

    A key that has one value in each, and another one, is what tells them apart; `by` names one explicitly.
    """
    if by is not None and by not in (*a.keys, *b.keys):
        raise _unknown_key(by, dict.fromkeys([*a.keys, *b.keys]))
    common = [key for key in a.keys if key in b.keys and key != by and not _apart(a.values(key), b.values(key))]
    ours, theirs = a.runs(common), b.runs(common)
    if not ours.keys() & theirs.keys():
        raise _disjoint(a, b, common)
    for side, own, others in ((a, ours, theirs), (b, theirs, ours)):
        if left := [item.params for key, item in own.items() if key not in others]:
            notes.append(f"{_counted(len(left), 'point')} of {side.name} left out, not in the other: {_listed(left)}")
    alike = a.engine == b.engine
    return [_match(item, theirs[key], a.name, b.name, alike) for key, item in ours.items() if key in theirs]


def of_one(side: Side, by: str, base: str | None, notes: list[str]) -> list[Match]:
    """The matches within one result: every other value of `by` against the `base`, by default the first."""
    if by not in side.result.params:
        raise _unknown_key(by, side.keys, side.name)
    words = {_word(value): value for value in side.values(by)}
    if len(words) < 2:
        raise InputError(f"has one value, {next(iter(words))}", "sweep it: give it a list", source=side.name, key=by)
    if base is None:
        base = next(iter(words))
    if base not in words:
        problem = unknown(f"value of '{by}'", base, words)
        raise InputError(problem.problem, problem.remedy, source=side.name, key="base")
    tied = [key for key in side.keys if key != by and _follows(side, key, by)]
    if tied:
        notes.append(f"{' and '.join(tied)} {'vary' if len(tied) > 1 else 'varies'} together with {by}")
    keys = [key for key in side.keys if key != by and key not in tied]
    ours = side.runs(keys, {by: words[base]})
    found = []
    for word, value in words.items():
        if word == base:
            continue
        theirs = side.runs(keys, {by: value})
        both = [key for key in ours if key in theirs]
        if len(both) < max(len(ours), len(theirs)):
            left = [item.params for key, item in [*ours.items(), *theirs.items()] if key not in both]
            notes.append(f"{by}={word}: {_counted(len(left), 'point')} left out, not with both values: {_listed(left)}")
        found += [_match(ours[key], theirs[key], f"{by}={base}", f"{by}={word}", True) for key in both]
    if not found:
        raise InputError("no other key has the same value with both", "sweep them crossed", source=side.name, key=by)
    return found


def _disjoint(a: Side, b: Side, keys: Sequence[str]) -> InputError:
    problem, remedy = "no point of one is in the other", "sweep the same values in both"
    for key in keys:
        ours, theirs = (list(map(_word, side.values(key))) for side in (a, b))
        if not set(ours) & set(theirs):
            problem += f": '{key}' is {', '.join(ours[:4])} here and {', '.join(theirs[:4])} there"
            remedy += f", or leave it out of the match: --by {key}"
            break
    return InputError(problem, remedy, source=f"{a.name}, {b.name}")


def _match(ours: Runs, theirs: Runs, a: str, b: str, alike: bool) -> Match:
    shared = [draw for draw in ours.by_draw if draw in theirs.by_draw] if alike else []
    if len(shared) >= 2 or shared == list(ours.by_draw) == list(theirs.by_draw):
        left = len(ours.by_draw) + len(theirs.by_draw) - 2 * len(shared)
        pairs = [(ours.by_draw[draw], theirs.by_draw[draw]) for draw in shared]
        first, second = zip(*pairs, strict=True)
        return Match(ours.params, a, b, first, second, True, left)
    return Match(ours.params, a, b, tuple(ours.by_draw.values()), tuple(theirs.by_draw.values()), paired=False)


def _follows(side: Side, key: str, by: str) -> bool:
    """Whether a key is given by the value of another, as those of a zipped sweep are."""
    pairs = {(_word(entry["params"][by]), _word(entry["params"][key])) for entry in side.result.manifest["points"]}
    return len(side.values(key)) > 1 and len(pairs) == len(side.values(by))


def _apart(ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
    return len(ours) == len(theirs) == 1 and _word(ours[0]) != _word(theirs[0])


def _unknown_key(key: str, keys: Iterable[str], source: str | None = None) -> InputError:
    names = list(keys)
    problem = unknown("swept key", key, names)
    remedy = problem.remedy if names else "nothing is swept here: give a key a list"
    return InputError(problem.problem, remedy, source=source, key="by")


def _listed(points: Sequence[Params]) -> str:
    def words() -> Iterator[str]:
        for params in points[:3]:
            yield ", ".join(f"{key}={_word(value)}" for key, value in params.items())

    return "; ".join(words()) + ("; ..." if len(points) > 3 else "")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _word(value: Any) -> str:
    """A swept value to compare by: the number 1 is the same whether another value of its key has a fraction or not."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
