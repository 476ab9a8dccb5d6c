"""Which runs are compared with which: same swept values but one, same seed and replication."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.comparison import names
from ackclock.errors import InputError
from ackclock.results.manifest import INVALID, captured
from ackclock.results.result import Result

SEED = "run.seed"

Params = Mapping[str, Any]
Point = tuple[str, ...]
"""The swept values of a point, as words."""

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
    def captured(self) -> bool:
        """Whether its runs are captures, of which more are taken, not played."""
        return captured(self.result.manifest)

    @property
    def keys(self) -> list[str]:
        """Its swept keys. A swept seed makes replications, not points."""
        return [key for key in self.result.params if key != SEED]

    def values(self, key: str) -> list[Any]:
        """The values of a swept key, in their order."""
        return list({worded(entry["params"][key]): entry["params"][key] for entry in self._entries()}.values())

    @property
    def unfinished(self) -> str:
        """How many of its runs there are no tables of, and why, in words; empty if there are none."""
        counts = {
            "failed": len(self.result.manifest.get("failed", ())),
            "missing, as it was interrupted": len(self.result.manifest.get("missing", ())),
            "not valid": len(self.result.manifest.get(INVALID, ())),
        }
        return ", ".join(f"{count} {why}" for why, count in counts.items() if count)

    def _entries(self, only: Params | None = None) -> list[Mapping[str, Any]]:
        return [
            entry
            for entry in self.result.manifest["points"]
            if all(worded(entry["params"][key]) == worded(value) for key, value in (only or {}).items())
        ]

    def points(self, keys: Sequence[str], only: Params | None = None) -> dict[Point, Params]:
        """Each combination of values of `keys`, as in :meth:`runs`, whether it has a run or not."""
        chosen = ({key: entry["params"][key] for key in keys} for entry in self._entries(only))
        return {tuple(map(worded, params.values())): params for params in chosen}

    def runs(self, keys: Sequence[str], only: Params | None = None) -> dict[Point, Runs]:
        """The runs of each combination of values of `keys`, among the points that have the values in `only`."""
        entries = {entry["point"]: entry["params"] for entry in self._entries(only)}
        found: dict[Point, Runs] = {}
        rows = self.result.runs.select("run", "point", "seed", "replication").iter_rows()
        for run, point, seed, replication in rows:
            if point not in entries:
                continue
            params = entries[point]
            own = found.setdefault(
                tuple(worded(params[key]) for key in keys), Runs({key: params[key] for key in keys}, {})
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
        words = ", ".join(map(worded, self.values(other)[:6]))
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


@dataclass(frozen=True, slots=True)
class Gap:
    """A point that cannot be compared, and why: one side does not have it, or has no finished run of it."""

    params: Params
    a: str
    b: str
    why: str


def matches(sides: Sequence[Side], by: str | None, base: str | None, notes: list[str]) -> tuple[list[Match], list[Gap]]:
    """The matches of two results, or of the values of `by` within one, and the points without. Weaknesses are noted."""
    two = len(sides) > 1
    found, gaps = of_two(sides[0], sides[1], by, notes) if two else of_one(sides[0], by or "", base, notes)
    if left := sum(match.left for match in found):
        notes.append(
            f"{counted(left, 'capture')} left out: pairs are of the first captures, of the second ones and so on"
            if all(side.captured for side in sides)
            else f"{counted(left, 'run')} left out: without a partner of the same seed and replication"
        )
    if len({side.engine for side in sides}) > 1:
        engines = " and ".join(side.engine for side in sides)
        notes.append(f"runs are not paired, as different engines ({engines}) share no random numbers: Welch's test")
    elif not all(match.paired for match in found):
        notes.append(
            "runs are NOT PAIRED, as their seeds do not match: Welch's test, which sees less; run both with the same "
            "--seed and --replications"
        )
    return found, gaps


def of_two(a: Side, b: Side, by: str | None, notes: list[str]) -> tuple[list[Match], list[Gap]]:
    """The matches of two results: points with the same values of the keys that both sweep.

    A key that has one value in each, and another one, is what tells them apart; `by` names one explicitly.
    """
    common = [key for key in a.keys if key in b.keys and key != by and key not in apart(a, b)]
    ours, theirs = a.runs(common), b.runs(common)
    places = (a.points(common), b.points(common))
    found = [
        _match(item, theirs[key], a.name, b.name, a.engine == b.engine) for key, item in ours.items() if key in theirs
    ]
    if not found:
        raise _without_runs([a, b]) if places[0].keys() & places[1].keys() else _disjoint(a, b, common)
    gaps = _gaps(places, (ours, theirs), a.name, b.name)
    for why, left in _by_reason(gaps):
        side = {"not in A": f" of {b.name}", "not in B": f" of {a.name}"}.get(why)
        what = f"{side or ''} left out, {'not in the other' if side else why}"
        notes.append(f"{counted(len(left), 'point')}{what}{listed(left)}")
    return found, gaps


def apart(a: Side, b: Side) -> list[str]:
    """The keys that have one value in each result, and another one: what tells them apart."""
    return [key for key in a.keys if key in b.keys and _apart(a.values(key), b.values(key))]


def of_one(side: Side, by: str, base: str | None, notes: list[str]) -> tuple[list[Match], list[Gap]]:
    """The matches within one result: every other value of `by` against the `base`, by default the first."""
    words = {worded(value): value for value in side.values(by)}
    if len(words) < 2:
        remedy = "analyse captures of several" if side.captured else "sweep it: give it a list"
        raise InputError(f"has one value, {next(iter(words))}", remedy, source=side.name, key=by)
    if base is None:
        base = next(iter(words))
    base = names.value(base, list(words), by, side.name)
    tied = [key for key in side.keys if key != by and follows(side, key, by)]
    if tied:
        notes.append(f"{' and '.join(tied)} {'vary' if len(tied) > 1 else 'varies'} together with {by}")
    keys = [key for key in side.keys if key != by and key not in tied]
    only: Params = {by: words[base]}
    ours, own = side.runs(keys, only), side.points(keys, only)
    found: list[Match] = []
    gaps: list[Gap] = []
    crossed = False
    for word, value in words.items():
        if word == base:
            continue
        theirs, places = side.runs(keys, {by: value}), side.points(keys, {by: value})
        pair = (f"{by}={base}", f"{by}={word}")
        left = _gaps((own, places), (ours, theirs), *pair)
        for why, params in _by_reason(left):
            what = "not with both values" if why in ("not in A", "not in B") else why
            notes.append(f"{by}={word}: {counted(len(params), 'point')} left out, {what}{listed(params)}")
        gaps += left
        crossed = crossed or bool(own.keys() & places.keys())
        found += [_match(item, theirs[key], *pair, True) for key, item in ours.items() if key in theirs]
    if not found and crossed:
        empty = [word for word, value in words.items() if not side.runs(keys, {by: value})]
        raise _without_runs([side], by, empty)
    if not found:
        raise InputError("no other key has the same value with both", "sweep them crossed", source=side.name, key=by)
    return found, gaps


def _gaps(
    places: tuple[Mapping[Point, Params], Mapping[Point, Params]],
    runs: tuple[Mapping[Point, Runs], Mapping[Point, Runs]],
    a: str,
    b: str,
) -> list[Gap]:
    """The points of either side that are not in the other, or have no finished run in one."""
    found = []
    for key, params in {**places[0], **places[1]}.items():
        absent = [name for name, own in zip("AB", places, strict=True) if key not in own]
        empty = [name for name, own in zip("AB", runs, strict=True) if key not in own]
        if empty:
            why = f"not in {absent[0]}" if absent else f"no finished run in {' or '.join(empty)}"
            found.append(Gap(params, a, b, why))
    return found


def _by_reason(gaps: Sequence[Gap]) -> list[tuple[str, list[Params]]]:
    reasons = sorted({gap.why for gap in gaps}, reverse=True)
    return [(why, [gap.params for gap in gaps if gap.why == why]) for why in reasons]


def _without_runs(sides: Sequence[Side], by: str | None = None, empty: Sequence[str] = ()) -> InputError:
    """The error where the points are there, and their runs are not."""
    what = f"no run of {by}={' or '.join(empty)} finished" if empty else "no point has finished runs on both sides"
    of = (f"{side.unfinished}{f' in {side.name}' if len(sides) > 1 else ''}" for side in sides if side.unfinished)
    return InputError(
        f"{what} ({'; '.join(of)})",
        "its manifest says which and why; correct that and run them again",
        source=", ".join(side.name for side in sides),
        key=by,
    )


def _disjoint(a: Side, b: Side, keys: Sequence[str]) -> InputError:
    problem, remedy = "no point of one is in the other", "sweep the same values in both"
    for key in keys:
        ours, theirs = (list(map(worded, side.values(key))) for side in (a, b))
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


def follows(side: Side, key: str, by: str) -> bool:
    """Whether a key is given by the value of another, as those of a zipped sweep are."""
    pairs = {(worded(entry["params"][by]), worded(entry["params"][key])) for entry in side.result.manifest["points"]}
    return len(side.values(key)) > 1 and len(pairs) == len(side.values(by))


def _apart(ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
    return len(ours) == len(theirs) == 1 and worded(ours[0]) != worded(theirs[0])


def listed(points: Sequence[Params]) -> str:
    """The first few points, after a colon."""

    def words() -> Iterator[str]:
        for params in points[:3]:
            yield ", ".join(f"{key}={worded(value)}" for key, value in params.items())

    return f": {'; '.join(words())}{'; ...' if len(points) > 3 else ''}" if any(points) else ""


def counted(count: int, what: str) -> str:
    """So many of something: ``2 runs``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def worded(value: Any) -> str:
    """A swept value to compare by: the number 1 is the same whether another value of its key has a fraction or not."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
