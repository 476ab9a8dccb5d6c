"""One row per swept point: means over its replications, with 95 % confidence intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from ackclock.results.manifest import Manifest
from ackclock.scenario.plan import Params
from ackclock.stats import Estimate, estimate, jain

METRICS = (
    "goodput_bps",
    "total_goodput_bps",
    "utilisation",
    "jain",
    "loss_percent",
    "retransmitted_percent",
    "mean_queue_delay_s",
    "p95_queue_delay_s",
)
"""Metrics of a point; docs/results.md defines each."""

FLOW_METRICS = ("goodput_bps", "retransmitted_percent", "mean_rtt_s", "timeouts")
"""Metrics of each flow of a point."""

_FLOW_COLUMNS = tuple(metric for metric in FLOW_METRICS if metric != "retransmitted_percent")


@dataclass(frozen=True, slots=True)
class FlowSummary:
    """One flow over the replications of a point."""

    id: str
    cc: str
    metrics: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class PointSummary:
    """One swept point over its replications."""

    point: int
    params: Params
    n: int
    metrics: Mapping[str, Estimate]
    flows: tuple[FlowSummary, ...]


def summarise(tables: Mapping[str, pl.DataFrame], manifest: Manifest) -> list[PointSummary]:
    """The summary of every point that has a finished run, in order."""
    point_of = dict(tables["runs"].select("run", "point").iter_rows())
    flows = _by_point(tables["flows"], point_of)
    links = _by_point(tables["links"], point_of)
    return [
        _point(entry, flows[entry["point"]], links[entry["point"]])
        for entry in manifest["points"]
        if entry["point"] in flows
    ]


def rate_of(link: Mapping[str, Any], duration_ns: int) -> float | None:
    """The rate of a link of a resolved run, bit/s.

    Of one that varies it is the mean over the run, or over its period or trace; a shaper's rate bounds it.
    """
    rate: float | None = link["rate_bps"]
    if (trace := link.get("trace")) is not None:
        rate = 8e3 * len(trace["times_ms"]) * float(trace["opportunity_bytes"]) / float(trace["times_ms"][-1])
    elif (schedule := link.get("schedule")) is not None:
        rate = _mean_rate(schedule["steps"], schedule["period_ns"] or duration_ns)
    if rate is not None and (shaper := link.get("shaper")) is not None:
        rate = min(rate, shaper["rate_bps"])
    return rate


def _mean_rate(steps: list[list[int]], until: int) -> float:
    """The mean of steps (time in ns, rate) from 0 until a time."""
    ends = [*(at for at, _ in steps[1:]), until]
    spent = sum(rate * max(0, min(end, until) - at) for (at, rate), end in zip(steps, ends, strict=True))
    return spent / until


def bottleneck(resolved: Mapping[str, Any]) -> str | None:
    """The id of the link that a resolved run is summarised by: the slowest on the first flow's way out.

    The first of several equally slow ones; ``None`` if no link on that way has a rate.
    """
    rates = {
        link["id"]: rate for link in resolved["links"] if (rate := rate_of(link, resolved["duration_ns"])) is not None
    }
    way = [hop["link"] for hop in resolved["flows"][0]["forward"] if "link" in hop]
    return min((name for name in way if name in rates), key=lambda name: rates[name], default=None)


def _by_point(table: pl.DataFrame, point_of: Mapping[int, int]) -> dict[int, pl.DataFrame]:
    point = pl.col("run").replace_strict(point_of, return_dtype=pl.UInt32)
    parts = table.with_columns(point.alias("__point")).partition_by("__point", as_dict=True, maintain_order=True)
    return {int(key[0]): part for key, part in parts.items()}


def _point(entry: Mapping[str, Any], flows: pl.DataFrame, links: pl.DataFrame) -> PointSummary:
    link = links.filter(pl.col("id") == bottleneck(entry["resolved"]))
    per_run = flows.partition_by("run", maintain_order=True)
    metrics = {
        "goodput_bps": estimate(_total(run, "goodput_bps") / run.height for run in per_run),
        "total_goodput_bps": estimate(_total(run, "goodput_bps") for run in per_run),
        "utilisation": estimate(link["utilisation"]),
        "jain": estimate(jain(run["goodput_bps"].drop_nulls()) for run in per_run),
        "loss_percent": estimate(_percent(link, ["drops", "lost"], "arrived_packets")),
        "retransmitted_percent": estimate(
            _share(_total(run, "retransmitted_bytes"), _total(run, "sent_bytes")) for run in per_run
        ),
        "mean_queue_delay_s": estimate(link["mean_queue_delay_s"]),
        "p95_queue_delay_s": estimate(link["p95_queue_delay_s"]),
    }
    return PointSummary(entry["point"], entry["params"], len(per_run), metrics, _flows(flows))


def _flows(table: pl.DataFrame) -> tuple[FlowSummary, ...]:
    """Every flow over the replications. Row by row: a table for each of many flows would take far longer."""
    columns = ["id", "cc", "retransmitted_bytes", "sent_bytes", *_FLOW_COLUMNS]
    values: dict[tuple[str, str], dict[str, list[float | None]]] = {}
    for name, cc, retransmitted, sent, *others in table.select(columns).iter_rows():
        own = values.setdefault((name, cc), {metric: [] for metric in FLOW_METRICS})
        own["retransmitted_percent"].append(_share(retransmitted, sent))
        for metric, value in zip(_FLOW_COLUMNS, others, strict=True):
            own[metric].append(value)
    return tuple(
        FlowSummary(name, cc, {metric: estimate(each) for metric, each in own.items()})
        for (name, cc), own in values.items()
    )


def _total(table: pl.DataFrame, column: str) -> float:
    return float(table[column].sum())


def _percent(table: pl.DataFrame, parts: list[str], whole: str) -> list[float | None]:
    return [_share(sum(row[:-1]), row[-1]) for row in table.select(*parts, whole).iter_rows()]


def _share(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


def frame(points: Iterable[PointSummary]) -> pl.DataFrame:
    """The summary as a table: for each metric its mean, and half the width of its interval as ``<metric>_ci95``."""
    rows = [{"point": item.point, **item.params, "n": item.n, **_flat(item.metrics)} for item in points]
    return pl.DataFrame(rows, infer_schema_length=None)


def flow_frame(points: Iterable[PointSummary]) -> pl.DataFrame:
    """The summary of each flow as a table. A swept `cc` is the flow's own `cc`."""
    rows = [
        {"point": item.point, **item.params, "id": flow.id, "cc": flow.cc, "n": item.n, **_flat(flow.metrics)}
        for item in points
        for flow in item.flows
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _flat(metrics: Mapping[str, Estimate]) -> dict[str, float | None]:
    result: dict[str, float | None] = {}
    for name, value in metrics.items():
        result[name], result[f"{name}_ci95"] = value.mean, value.ci95
    return result


def to_json(item: PointSummary) -> dict[str, Any]:
    """A point as the command line's ``--json`` prints it."""
    return {
        "params": item.params,
        "n": item.n,
        **{name: _json(value) for name, value in item.metrics.items()},
        "flows": [
            {"id": flow.id, "cc": flow.cc, **{name: _json(value) for name, value in flow.metrics.items()}}
            for flow in item.flows
        ],
    }


def _json(value: Estimate) -> dict[str, float | None]:
    return {"mean": value.mean, "ci95": value.ci95}
