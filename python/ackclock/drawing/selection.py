"""What of a result a figure is about: the metrics of its runs, by panel and by candidate."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ackclock.drawing import averages, quantities, swept
from ackclock.drawing.averages import Place, Sample
from ackclock.drawing.means import Found, found
from ackclock.drawing.remarks import Remark
from ackclock.drawing.request import Request as Request
from ackclock.drawing.swept import GROUP, SEED, Key
from ackclock.errors import InputError
from ackclock.results import groups, incomplete, meaning, unfinished
from ackclock.results.manifest import captured
from ackclock.results.result import Result
from ackclock.results.single_runs import KNOWN, Metrics, per_run, summaries
from ackclock.results.summary import GROUP_METRICS
from ackclock.results.unfinished import Counted

MOST_PANELS = 9
_FEW_PANELS = 6
_SOME = 8  # names in a message


class Selection:
    """The points of a result that are drawn, and how they are divided."""

    def __init__(self, result: Result, request: Request) -> None:
        self.result = result
        self.runs = summaries(result)
        self.request = request
        self.keys = swept.of(result)
        self._entries = {entry["point"]: entry for entry in result.manifest["points"]}
        self.remarks: list[Remark] = [Remark(note) for note in incomplete.notes(result.manifest)]
        self.over: list[Key] = []
        """The keys that have no place in the figure, once it has panels: what it shows is of all their values."""
        self._unfinished: dict[int | None, Counted] = {}
        self._shown: list[Key] = []
        there = {point for (point,) in result.runs.select("point").unique().iter_rows()}
        self.points = [entry["point"] for entry in result.manifest["points"] if entry["point"] in there]
        for name, value in request.where.items():
            self._keep(swept.chosen(result, self.keys, name, "where"), value)
        if not self.points:
            raise InputError("no run has finished", "run it again; runs that failed are in its manifest", key="plot")

    def _keep(self, key: Key, value: str) -> None:
        kept = [point for point in self.points if _close(key.texts[point]) == _close(value)]
        if not kept:
            raise InputError(f"no run has {key.name} = {value}", f"its values are {', '.join(key.steps)}", key="where")
        self.points = kept
        if key.varies:
            self.remarks.append(Remark(key.says(key.texts[kept[0]]), news=False))

    def varying(self) -> list[Key]:
        """The keys that have several values among the points; the seed is no key but makes replications."""
        return [
            key
            for key in self.keys.values()
            if key.name != SEED and len({key.texts[point] for point in self.points}) > 1
        ]

    def steps(self, key: Key) -> list[str]:
        """The values of a key among the points."""
        there = {key.texts[point] for point in self.points}
        return [step for step in key.steps if step in there]

    @functools.cached_property
    def grouped(self) -> bool:
        """Whether candidates are the groups of flows that share a path, not values of a swept key."""
        if self.request.by is not None:
            return self.request.by in (GROUP, "flows") or (self.request.by == "cc" and not self._swept("cc"))
        if swept.candidates(self.keys) is not None:
            return False
        return any(len({cc for _, cc in self._groups(point)}) > 1 for point in self.points)

    def _swept(self, name: str) -> bool:
        return any(key == name or key.endswith(f".{name}") for key in self.keys)

    @functools.cached_property
    def by(self) -> Key | None:
        """The key whose values are compared, if one is."""
        if self.grouped:
            return None
        if self.request.by is not None:
            return swept.chosen(self.result, self.keys, self.request.by, "by")
        varying = {key.name: key for key in self.varying()}
        key = swept.candidates(varying) or swept.connections(varying)
        return None if key is None or key.name in self._named() else key

    def _named(self) -> list[str]:
        """Keys that are used for something else."""
        options = {"x": self.request.x, "facet": self.request.facet}
        return [
            swept.chosen(self.result, self.keys, name, option).name
            for option, name in options.items()
            if name is not None and name not in KNOWN
        ]

    @functools.cached_property
    def numeric(self) -> list[Key]:
        """The keys that vary, are numbers, and are used for nothing else; that with the most values first."""
        used = {self.by.name if self.by else "", *(name for name in self._named() if name != self.request.x)}
        free = [key for key in self.varying() if key.numeric and key.name not in used]
        found: list[Key] = []
        for key in sorted(free, key=lambda key: -len(self.steps(key))):
            if not self._follows(key, found):
                found.append(key)
        return found

    def _follows(self, key: Key, others: Sequence[Key]) -> bool:
        """Whether others say what value a key has, as those that are zipped with it do."""
        return bool(others) and len(set(self._combined(others))) == len(set(self._combined([*others, key])))

    def panels(self, *axes: Key | None, most: int = MOST_PANELS) -> list[tuple[str, list[int]]]:
        """The points of each panel with its title: one for each combination of the keys that nothing else shows.

        At most `most` panels for a single key, fewer for several. Keys that would make more are `over`.
        """
        shown = {key.name for key in axes if key is not None} | ({self.by.name} if self.by else set())
        facets = []
        if self.request.facet is not None:
            facets.append(swept.chosen(self.result, self.keys, self.request.facet, "facet"))
        known = [*facets, *(key for key in self.varying() if key.name in shown)]
        rest = [key for key in self.varying() if key not in known and not self._follows(key, known)]
        self.over = []
        for key in sorted(rest, key=lambda key: len(self.steps(key))):
            count = len(set(self._combined([*facets, key])))
            if count <= (most if self.request.facet is not None or not facets else min(most, _FEW_PANELS)):
                facets.append(key)
            elif not self._follows(key, [*known, *facets, *self.over]):
                self.over.append(key)
        self._shown = [*known, *(key for key in facets if key not in known)]
        every = list(dict.fromkeys(self._combined(facets)))
        if len(every) > MOST_PANELS:
            problem = f"{len(every)} panels are too many for a figure"
            raise InputError(problem, f"at most {MOST_PANELS}: choose some with --where KEY=VALUE", key="facet")
        order = [step for step in itertools.product(*(self.steps(key) for key in facets)) if step in set(every)]
        return [
            (
                ", ".join(key.says(step) for key, step in zip(facets, steps, strict=True)),
                [p for p in self.points if tuple(key.texts[p] for key in facets) == steps],
            )
            for steps in order
        ]

    def _combined(self, keys: Sequence[Key]) -> list[tuple[str, ...]]:
        return [tuple(key.texts[point] for key in keys) for point in self.points]

    @property
    def together(self) -> str:
        """What has no place, in words: ``10 values of RTT and 2 of queue limit``; empty if everything has one."""
        counts = [(len(self.steps(key)), key.short) for key in self.over]
        return " and ".join(f"{count} {'of' if at else 'values of'} {name}" for at, (count, name) in enumerate(counts))

    def values(self, samples: Sequence[Sample], metric: str) -> list[float]:
        """A metric of some runs: of each that has it, or of each replication the mean over what has no place."""
        return [value for (value,) in self.rows(samples, metric)]

    def rows(self, samples: Sequence[Sample], *metrics: str) -> list[tuple[float, ...]]:
        """Several metrics of the runs that have all of them, or their means as of :meth:`values`."""
        if self.over:
            return averages.by_draw(samples, self._places, self._kept(metrics), metrics, self._geometric(metrics))
        known = (sample.metrics for sample in samples)
        return [tuple(own[name] for name in metrics) for own in known if all(name in own for name in metrics)]

    def averaged(self, *metrics: str) -> None:
        """Say over what the figure has means, if it has. Call it before :meth:`values`, once there are panels."""
        if not self.over:
            return
        kept, every = self._kept(metrics), {place.over for place in self._places.values()}
        if not kept:
            names = " and ".join(key.name for key in self.over)
            problem = f"there is no mean over {names}: no value of it has runs of everything that is compared"
            raise InputError(problem, f"choose one with --where {self.over[0].name}=VALUE", key="plot")
        geometric = self._geometric(metrics)
        zero = [name for name in metrics if quantities.is_ratio(name) and name not in geometric]
        kind = "geometric means" if geometric == set(metrics) else "arithmetic means" if zero else "means"
        part = "" if kept == every else f", of the {len(kept)} of {len(every)} points that all have"
        why = f", as {' and '.join(quantities.of(name).name for name in zero)} is 0 in some run" if zero else ""
        self.remarks.append(Remark(f"{kind} over {self.together}{part}{why}", self.apart))

    @property
    def apart(self) -> str:
        """How to see what has no place."""
        key = min(self.over, key=lambda key: len(self.steps(key)))
        where = f"--where {key.name}={_quoted(self.steps(key)[0])}"
        if len(self.steps(key)) > MOST_PANELS:
            return f"{where} shows one of them"
        return f"--facet {key.name}, or {where}, shows them apart"

    @functools.cached_property
    def _places(self) -> dict[int, Place]:
        """Where each run of the points belongs. There are panels by now."""
        seeds = self.keys.get(SEED)
        numbers = self.result.runs.select("run", "point", "replication").iter_rows()
        return {
            run: Place(
                tuple(key.texts[point] for key in self._shown),
                tuple(key.texts[point] for key in self.over),
                (seeds.texts[point] if seeds else "", replication),
            )
            for run, point, replication in numbers
            if point in set(self.points)
        }

    @functools.cache  # noqa: B019 - a selection lives as long as a figure is made
    def _kept(self, metrics: tuple[str, ...]) -> set[averages.Combination]:
        return averages.common(self.samples_of_points(), self._places, metrics)

    @functools.cache  # noqa: B019 - a selection lives as long as a figure is made
    def _geometric(self, metrics: tuple[str, ...]) -> set[str]:
        return averages.ratios(self.samples_of_points(), metrics)

    def draw_of(self, run: int) -> averages.Draw:
        """The replication of a run: those of all values of what has no place are one."""
        return self._places[run].draw

    def samples(self, points: Sequence[int]) -> dict[str, list[Sample]]:
        """The runs of some points by candidate, in their order."""
        there = set(points)
        kept = [sample for sample in self._samples if sample.point in there]
        if self.grouped:
            order = list(dict.fromkeys(sample.label for sample in kept))
        elif self.by is not None:
            order = [step for step in self.by.steps if any(self.by.texts[point] == step for point in points)]
        else:
            order = [""]
        by = self.by
        label = {point: by.texts[point] if by else "" for point in points}
        parts: dict[str, list[Sample]] = {step: [] for step in order}
        for sample in kept:
            parts[sample.label if self.grouped else label[sample.point]].append(sample)
        return parts

    @property
    def looks(self) -> dict[str, str]:
        """The algorithm of each candidate: that of its flows, where they all have the same."""
        found: dict[str, set[str]] = {}
        for point in self.points:
            if self.grouped:
                for label, cc in self._groups(point):
                    found.setdefault(label, set()).add(cc)
            elif self.by is None or not self.by.controllers:
                label = self.by.texts[point] if self.by else ""
                if not self.by:
                    found.setdefault(label, set()).update(cc for _, cc in self._groups(point))
        return {label: next(iter(ccs)) for label, ccs in found.items() if len(ccs) == 1}

    @functools.cached_property
    def _samples(self) -> list[Sample]:
        point_of = dict(self.result.runs.select("run", "point").iter_rows())
        if not self.grouped:
            counted = unfinished.counted(self.result, per_run(self.result, self.runs), self._together(point_of))
            self._unfinished[None] = counted
            return [Sample(run, point_of[run], "", _known(own)) for run, own in counted.runs.items()]
        own: dict[int, dict[int, Metrics]] = {}
        for item in self.runs:
            for number, each in enumerate(item.groups):
                own.setdefault(number, {})[item.point] = {name: value.mean for name, value in each.metrics.items()}
        several = unfinished.of_groups(self.result, [own[number] for number in sorted(own)], self._together(point_of))
        self._unfinished |= dict(enumerate(several))
        return [
            Sample(item.point, point, label, _known(several[number].runs[item.point]))
            for item in self.runs
            for point in (point_of[item.point],)
            for number, (label, _) in enumerate(self._groups(point))
        ]

    def _together(self, point_of: Mapping[int, int]) -> list[list[int]]:
        """The runs that candidates are compared by: those that differ in nothing but `by` and what is drawn.

        Of groups of flows these are the runs of a point, and of what a ranking of one group compares.
        """
        by = swept.candidates({key.name: key for key in self.varying()}) if self.grouped else self.by
        if by is None and not self.grouped:
            return []
        own = [] if by is None else [by]
        rest = [
            key for key in self.keys.values() if key not in own and key.name != SEED and not self._follows(key, own)
        ]
        found: dict[tuple[str, ...], list[int]] = {}
        for run, point in point_of.items():
            if point in set(self.points):
                found.setdefault(tuple(key.texts[point] for key in rest), []).append(run)
        return list(found.values())

    def counted(self, label: str) -> Counted:
        """The metrics of a candidate with the transfers that were not done. Call it after :meth:`samples`."""
        labels = [name for name, _ in self._groups(self.points[0])] if self.grouped else []
        return self._unfinished[labels.index(label) if self.grouped else None]

    @functools.cache  # noqa: B019 - a selection lives as long as a figure is made
    def _groups(self, point: int) -> tuple[tuple[str, str], ...]:
        """The groups of a point: their labels, the same in all points where they can be, and their controllers."""
        entry = self._entries[point]
        flows = entry["resolved"]["flows"]
        found = groups.recorded(entry)
        ccs = [flows[group.first]["cc"]["name"] for group in found]
        labels = [group.label for group in found]
        if len(labels) == len(self._same_labels):
            labels = list(self._same_labels)
        return tuple(zip(labels, ccs, strict=True))

    @property
    def entries(self) -> list[Mapping[str, Any]]:
        """What the manifest has of each of the points."""
        return [self._entries[point] for point in self.points]

    @functools.cached_property
    def _same_labels(self) -> tuple[str, ...]:
        """Labels of groups, where all points have as many: one that names a swept value would be wrong elsewhere."""
        every = [[group.label for group in groups.recorded(self._entries[point])] for point in self.points]
        if len({len(labels) for labels in every}) > 1:
            return ()
        known = [set(labels) for labels in zip(*every, strict=True)]
        return tuple(next(iter(each)) if len(each) == 1 else f"group {at}" for at, each in enumerate(known))

    def metric(self, name: str, option: str = "y") -> str:
        """A metric that the runs have. Raises :class:`InputError` with what is nearest, or what it needs."""
        known = GROUP_METRICS if self.grouped else KNOWN
        if name not in known:
            problem = meaning.unknown(name, known)
            remedy = f"{problem.remedy}; ackclock plot DIR --y list prints all that a result has"
            raise InputError(problem.problem, remedy, key=option)
        if not self.has(name):
            has = sorted({each for sample in self._samples for each in sample.metrics}, key=known.index)
            raise InputError(
                f"no run has a value of {name}",
                f"there are {', '.join(has[:_SOME])}{' and others' if len(has) > _SOME else ''}",
                key=option,
            )
        return name

    def samples_of_points(self) -> list[Sample]:
        """Every run of the points, by groups where these are compared."""
        there = set(self.points)
        return [sample for sample in self._samples if sample.point in there]

    def bounded(self, samples: Sequence[Sample], metric: str) -> bool:
        """Whether the value of a metric in some of these runs is only known to be larger."""
        return any((sample.run, metric) in self.counted(sample.label).bounded for sample in samples)

    def found(self, samples: Sequence[Sample], metric: str) -> Found | None:
        """The mean of a metric over the replications of some runs, as of :meth:`values`."""
        return found(self.values(samples, metric), metric, more=self.bounded(samples, metric))

    def has(self, name: str) -> bool:
        """Whether a run has a value of a metric."""
        return any(name in sample.metrics for sample in self.samples_of_points())

    @property
    def replications(self) -> int:
        """Of the point that has the most."""
        counts = self.result.runs.filter(pl.col("point").is_in(self.points)).group_by("point").len()["len"]
        return max(counts.to_list(), default=0)

    @property
    def repeats(self) -> str:
        """How many there are, in words: of captures, or of replications."""
        return f"{self.replications} {'captures' if captured(self.result.manifest) else 'replications'}"


def _close(value: str) -> str:
    """A value without the blanks that a shell makes people quote: ``60ms``."""
    return "".join(value.split())


def _quoted(value: str) -> str:
    return f"'{value}'" if " " in value else value


def _known(metrics: Mapping[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if value is not None}
