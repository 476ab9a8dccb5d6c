"""One row per swept point: means over its replications, with 95 % confidence intervals."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import polars as pl

from ackclock.metrics.capacity import bottleneck
from ackclock.metrics.runs import MEASURES, Row, per_run
from ackclock.results import captured, groups, measures, pages, percentiles, radio, replications, sources
from ackclock.results import manifest as manifests
from ackclock.results.groups import Group
from ackclock.results.manifest import Manifest, Numbers, Params, numbers_of
from ackclock.stats import Estimate, estimate

ALWAYS = (
    "goodput_bps",
    "total_goodput_bps",
    "utilisation",
    "jain",
    "loss_percent",
    "retransmitted_percent",
    "mean_queue_delay_s",
    "p95_queue_delay_s",
)
"""Metrics that every point has, though perhaps without a value; the others are there where there is one."""

REASONS = ("full", "threshold", "early", "delay", "age", "policed")
"""Why queues drop packets."""

DROPS = (*(f"drops_{reason}_percent" for reason in REASONS), "lost_percent", "marks_percent")
"""Metrics of the bottleneck, % of the packets that came to its queue."""

LOW_LATENCY = ("mean_l_queue_delay_s", "p99_l_queue_delay_s")
"""Metrics of the low-latency queue of a bottleneck that has one."""

METRICS = (
    *ALWAYS, *LOW_LATENCY, *DROPS, *sources.TRANSFERS, *pages.METRICS, *sources.DATAGRAMS,
    *sources.DELAYS, *measures.NAMES,
    *(name for name in MEASURES if name != "jain"), *captured.METRICS,
)  # fmt: skip
"""Metrics of a point; docs/results.md defines each."""

GROUP_METRICS = (*sources.METRICS, sources.SHARE, *pages.METRICS, *measures.NAMES, *captured.METRICS)
"""Metrics of a group of flows, those that one [[flows]] table makes."""

FLOW_METRICS = ("goodput_bps", "retransmitted_percent", "mean_rtt_s", "timeouts")
"""Metrics of each flow of a point."""

_FLOW_COLUMNS = tuple(metric for metric in FLOW_METRICS if metric != "retransmitted_percent")
_FLOW_TABLE = ("id", "cc", "retransmitted_bytes", "sent_bytes", *_FLOW_COLUMNS)
_NONE = Estimate(None, None, 0)
_SHARES = {
    "loss_percent": ("drops", "lost"),
    **{f"drops_{reason}_percent": (f"drops_{reason}",) for reason in REASONS},
    "lost_percent": ("lost",),
    "marks_percent": ("marks",),
}
"""What of the packets that came to a link is counted in each metric."""
_COUNTED = ("arrived_packets", *dict.fromkeys(part for parts in _SHARES.values() for part in parts))
_LINK_COLUMNS = ("utilisation", "mean_queue_delay_s", "p95_queue_delay_s", *LOW_LATENCY, *_COUNTED)
Metrics = Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class FlowSummary:
    """One flow over the replications of a point; `group` is the number of its [[flows]] table, from 0."""

    id: str
    cc: str
    metrics: Metrics
    group: int = 0


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """The flows of one [[flows]] table over the replications of a point."""

    group: Group
    metrics: Metrics


@dataclass(frozen=True, slots=True)
class PointSummary:
    """One swept point over its replications."""

    point: int
    params: Params
    n: int
    metrics: Metrics
    flows: Sequence[FlowSummary]
    groups: tuple[GroupSummary, ...]
    numbers: Numbers = field(default_factory=dict)
    """Swept values that are quantities written as text, in base units."""
    repeated: bool = False
    """Whether its replications are all the same run, so that nothing of it has an interval."""

    @property
    def keys(self) -> dict[str, Any]:
        """What a row of a table of this point begins with."""
        return {"point": self.point, **self.params, **self.numbers}

    def _repr_html_(self) -> str:
        from ackclock.results import page  # which is above

        return page.of_point(self)


def summarise(tables: Mapping[str, pl.DataFrame], manifest: Manifest) -> list[PointSummary]:
    """The summary of every point that has a finished run, in order."""
    point_of = dict(tables["runs"].select("run", "point").iter_rows())
    runs_of: dict[int, list[int]] = {}
    for run, point in point_of.items():
        runs_of.setdefault(point, []).append(run)
    entries = [entry for entry in manifest["points"] if entry["point"] in runs_of]
    if manifests.captured(manifest):
        return _of_captures(tables, entries, runs_of)
    known = {entry["point"]: groups.recorded(entry) for entry in entries}
    found, loaded = _of_sources(tables, known, runs_of)
    flows = _by_point(tables["flows"], point_of)
    links = _of_bottlenecks(
        tables["links"], {entry["point"]: bottleneck(entry["resolved"]) for entry in entries}, point_of
    )
    cells = {entry["point"]: name for entry in entries if (name := radio.cell_of(entry["resolved"])) is not None}
    links |= radio.rows(tables, cells, point_of, _COUNTED)
    measured = per_run(tables, manifest)
    told = measures.of_groups(manifest, known)
    same = replications.repeated(tables, manifest)
    return [
        _point(
            entry,
            [measured[run] for run in runs_of[entry["point"]]],
            [
                _estimates(
                    {
                        **sources.over_runs([found[run, number] for run in runs_of[entry["point"]]]),
                        **pages.over_runs([loaded.get((run, number)) for run in runs_of[entry["point"]]]),
                        **measures.over_runs([told.get((run, number)) for run in runs_of[entry["point"]]]),
                    }
                )
                for number in (sources.WHOLE, *range(len(known[entry["point"]])))
            ],
            flows[entry["point"]],
            links[entry["point"]],
            repeated=entry["point"] in same,
        )
        for entry in entries
    ]


def _of_captures(
    tables: Mapping[str, pl.DataFrame], entries: list[Manifest], runs_of: Mapping[int, list[int]]
) -> list[PointSummary]:
    """The summary of captures: nobody knows what network they are of, so that there is no bottleneck."""
    found = captured.per_run(tables["flows"], dict(tables["runs"].select("run", "duration_s").iter_rows()))
    points = []
    for entry in entries:
        runs = runs_of[entry["point"]]
        metrics = _estimates(captured.over_runs([found[run] for run in runs]))
        whole = {name: metrics.get(name, _NONE) for name in METRICS}
        points.append(
            PointSummary(
                entry["point"],
                entry["params"],
                len(runs),
                {name: value for name, value in whole.items() if name in ALWAYS or value.n},
                (),
                tuple(
                    GroupSummary(
                        group, {name: metrics[name] for name in GROUP_METRICS if name in metrics and metrics[name].n}
                    )
                    for group in groups.recorded(entry)
                ),
                numbers_of(entry),
            )
        )
    return points


def _of_sources(
    tables: Mapping[str, pl.DataFrame], known: Mapping[int, list[Group]], runs_of: Mapping[int, list[int]]
) -> tuple[dict[tuple[int, int], sources.Row], dict[tuple[int, int], sources.Row]]:
    """What sources did, and what pages were loaded, by run and group.

    Points with equal groups are taken together: a query each would be slow.
    """
    alike: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for point, own in known.items():
        alike.setdefault(tuple((group.first, group.count) for group in own), []).append(point)
    warmup = dict(tables["runs"].select("run", "warmup_s").iter_rows())
    found: dict[tuple[int, int], sources.Row] = {}
    loaded: dict[tuple[int, int], sources.Row] = {}
    for points in alike.values():
        runs = pl.col("run").is_in([run for point in points for run in runs_of[point]])
        flows, transfers = (tables[name].filter(runs) for name in ("flows", "transfers"))
        found |= sources.measured(flows, transfers, warmup, known[points[0]])
        loaded |= pages.measured(tables["pages"].filter(runs), warmup, known[points[0]])
    return found, loaded


def _point(
    entry: dict[str, Any],
    runs: list[Row],
    estimates: list[dict[str, Estimate]],
    flows: pl.DataFrame,
    links: list[dict[str, Any]],
    *,
    repeated: bool,
) -> PointSummary:
    """A point from what was measured of its runs; `estimates` are those of all sources, then of each group."""
    whole, *own = estimates
    metrics = {**whole, **_of_link(links), **_of_runs(runs)}
    known = groups.recorded(entry)
    return PointSummary(
        entry["point"],
        entry["params"],
        len(runs),
        {name: metrics[name] for name in METRICS if name in ALWAYS or (name in metrics and metrics[name].n)},
        _Flows(flows.select(_FLOW_TABLE), known),
        tuple(
            GroupSummary(group, {name: value for name, value in each.items() if value.n})
            for group, each in zip(known, own, strict=True)
        ),
        numbers_of(entry),
        repeated,
    )


def _by_point(table: pl.DataFrame, point_of: Mapping[int, int]) -> dict[int, pl.DataFrame]:
    point = pl.col("run").replace_strict(point_of, return_dtype=pl.UInt32)
    parts = table.with_columns(point.alias("__point")).partition_by("__point", as_dict=True, maintain_order=True)
    return {int(key[0]): part for key, part in parts.items()}


def _of_bottlenecks(
    table: pl.DataFrame, names: Mapping[int, str | None], point_of: Mapping[int, int]
) -> dict[int, list[dict[str, Any]]]:
    """The rows of the bottleneck of each point. Plain rows: a query for each of many points takes far longer."""
    table = percentiles.with_enough_values("links", table)  # older results have them all
    found: dict[int, list[dict[str, Any]]] = {point: [] for point in names}
    there = [name for name in _LINK_COLUMNS if name in table.columns or name not in LOW_LATENCY]  # nor those of old
    for row in table.select("run", "id", *there).iter_rows(named=True):
        point = point_of[row["run"]]
        if row["id"] == names[point]:
            found[point].append(row)
    return found


def _estimates(found: Mapping[str, list[float | None]]) -> dict[str, Estimate]:
    return {name: estimate(values) for name, values in found.items()}


def _of_link(rows: list[dict[str, Any]]) -> dict[str, Estimate]:
    p95 = [row["p95_queue_delay_s"] for row in rows]
    return {
        # A run of which too few packets took the queue has no percentile: neither has the point then.
        **{name: _complete([row.get(name) for row in rows]) for name in LOW_LATENCY},
        **{name: estimate(row[name] for row in rows) for name in ("utilisation", "mean_queue_delay_s")},
        "p95_queue_delay_s": _complete(p95),
        **{
            name: estimate(_share(sum(row[part] for part in parts), row["arrived_packets"]) for row in rows)
            for name, parts in _SHARES.items()
        },
    }


def _complete(values: list[float | None]) -> Estimate:
    """The mean of values that every run has, or none."""
    return _NONE if None in values else estimate(values)


def _of_runs(runs: list[Row]) -> dict[str, Estimate]:
    return {name: estimate(run[name] for run in runs) for name in MEASURES}


class _Flows(Sequence[FlowSummary]):
    """Every flow over the replications, estimated when the first is asked for: of a crowd nobody looks at each."""

    def __init__(self, table: pl.DataFrame, known: list[Group]) -> None:
        self._table, self._known = table, known
        self._length = table.select(pl.struct("id", "cc").n_unique()).item() if table.height else 0

    @functools.cached_property
    def _all(self) -> tuple[FlowSummary, ...]:
        return _flows(self._table, self._known)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> FlowSummary: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[FlowSummary, ...]: ...
    def __getitem__(self, at: int | slice) -> FlowSummary | tuple[FlowSummary, ...]:
        return self._all[at]

    def __iter__(self) -> Iterator[FlowSummary]:
        return iter(self._all)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all == tuple(other)

    def __hash__(self) -> int:
        return hash(self._length)

    def __repr__(self) -> str:
        return repr(self._all)


def _flows(table: pl.DataFrame, known: list[Group]) -> tuple[FlowSummary, ...]:
    """Every flow over the replications. Row by row: a table for each of many flows would take far longer."""
    values: dict[tuple[str, str], dict[str, list[float | None]]] = {}
    for name, cc, retransmitted, sent, *others in table.iter_rows():
        own = values.setdefault((name, cc), {metric: [] for metric in FLOW_METRICS})
        own["retransmitted_percent"].append(_share(retransmitted, sent))
        for metric, value in zip(_FLOW_COLUMNS, others, strict=True):
            own[metric].append(value)
    of = {str(number): index for index, group in enumerate(known) for number in group.flows}
    return tuple(FlowSummary(name, cc, _estimates(own), of[name]) for (name, cc), own in values.items())


def _share(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


def frame(points: Iterable[PointSummary]) -> pl.DataFrame:
    """The summary as a table: for each metric its mean, and half the width of its interval as ``<metric>_ci95``."""
    return _frame([({**item.keys, "n": item.n}, item.metrics) for item in points], METRICS)


def group_frame(points: Iterable[PointSummary]) -> pl.DataFrame:
    """The summary of the flows of each [[flows]] table as a table."""
    rows = [({**item.keys, **_words(each.group), "n": item.n}, each.metrics) for item in points for each in item.groups]
    return _frame(rows, GROUP_METRICS)


def flow_frame(points: Iterable[PointSummary]) -> pl.DataFrame:
    """The summary of each flow as a table. A swept `cc` is the flow's own `cc`."""
    rows = [
        ({**item.keys, "id": flow.id, "cc": flow.cc, "n": item.n}, flow.metrics)
        for item in points
        for flow in item.flows
    ]
    return _frame(rows, FLOW_METRICS)


def _frame(rows: list[tuple[dict[str, Any], Metrics]], names: Iterable[str]) -> pl.DataFrame:
    """Keys and metrics side by side; only the metrics that some row has, so that no column is empty for its kind."""
    there = [name for name in names if any(name in metrics for _, metrics in rows)]
    flat = [{**keys, **_flat({name: metrics.get(name, _NONE) for name in there})} for keys, metrics in rows]
    return pl.DataFrame(flat, infer_schema_length=None)


def _flat(metrics: Metrics) -> dict[str, float | None]:
    result: dict[str, float | None] = {}
    for name, value in metrics.items():
        result[name], result[f"{name}_ci95"] = value.mean, value.ci95
    return result


def to_json(item: PointSummary) -> dict[str, Any]:
    """A point as the command line's ``--json`` prints it."""
    return {
        "params": item.params,
        "n": item.n,
        **_json(item.metrics),
        "groups": [{**_words(each.group), **_json(each.metrics)} for each in item.groups],
        "flows": [{"id": flow.id, "cc": flow.cc, "group": flow.group, **_json(flow.metrics)} for flow in item.flows],
    }


def _words(group: Group) -> dict[str, Any]:
    return {"flows": group.numbers, "label": group.label}


def _json(metrics: Metrics) -> dict[str, Any]:
    return {name: {"mean": value.mean, "ci95": value.ci95} for name, value in metrics.items()}
