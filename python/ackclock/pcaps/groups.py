"""Groups of captures by label: means with intervals, gains of one group against another, and where each was taken."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from ackclock.errors import InputError, nearest
from ackclock.pcaps import strata, weights
from ackclock.pcaps.escaped import escaped
from ackclock.pcaps.inputs import FILE, LABEL
from ackclock.pcaps.weights import FIELD_TRIAL, Weights
from ackclock.results import captured
from ackclock.results.manifest import captured as is_captured
from ackclock.results.result import Result
from ackclock.stats import Interval

RATIOS = ("goodput_bps", "mean_fct_s", "mean_rtt_s", "p95_rtt_s")
"""Metrics whose gain is a share."""

METRICS = (*RATIOS, *captured.LOSSES, *captured.SHARES)
"""Metrics of a group; those that are no :data:`RATIOS` are per cent, and their gains points."""


@dataclass(frozen=True, slots=True)
class Group:
    """The captures of a label: how many, where they were taken (by bytes), and the weighted means of their metrics."""

    label: str
    captures: int
    connections: int
    vantages: tuple[str, ...]
    metrics: Mapping[str, Interval]

    @property
    def vantage(self) -> str:
        """Where the captures were taken, in words."""
        return " and ".join(self.vantages) or "unknown"


@dataclass(frozen=True, slots=True)
class Gain:
    """A group against the base: by which share its goodput and times are larger, by how much its percentages."""

    label: str
    base: str
    metrics: Mapping[str, Interval]


@dataclass(frozen=True)
class Groups:
    """What :func:`groups` found. `notes` say what was left out and what weakens it."""

    groups: tuple[Group, ...]
    gains: tuple[Gain, ...]
    notes: tuple[str, ...]
    weights: Mapping[str, float] = field(default_factory=dict)
    """The weight of each stratum that there are captures of, as a share."""

    @property
    def frame(self) -> pl.DataFrame:
        """A row for each group, and each gain, and metric: `label`, `base` (null of a group), `metric`, `value`, `low`,
        `high`, `n`, `vantage` (of metrics of losses).
        """
        kinds = {"label": pl.String, "base": pl.String, "metric": pl.String, "value": pl.Float64, "low": pl.Float64,
                 "high": pl.Float64, "n": pl.UInt32, "vantage": pl.String}  # fmt: skip
        of = {group.label: group.vantage for group in self.groups}
        every: list[tuple[str, str | None, Mapping[str, Interval]]]
        every = [(group.label, None, group.metrics) for group in self.groups]
        every += [(gain.label, gain.base, gain.metrics) for gain in self.gains]
        rows = [
            (label, base, name, own.value, own.low, own.high, own.n, of[label] if name in captured.LOSSES else None)
            for label, base, metrics in every
            for name, own in metrics.items()
        ]
        return pl.DataFrame(rows, schema=kinds, orient="row")

    def to_json(self) -> dict[str, Any]:
        """Everything, as the command line's ``--json`` prints it."""
        return {
            "weights": dict(self.weights),
            "groups": [
                {
                    "label": group.label,
                    "captures": group.captures,
                    "connections": group.connections,
                    "vantage": list(group.vantages),
                    **_json(group.metrics),
                }
                for group in self.groups
            ],
            "gains": [{"label": gain.label, "base": gain.base, **_json(gain.metrics)} for gain in self.gains],
            "notes": list(self.notes),
        }


def groups(
    result: Result | str | os.PathLike[str],
    *,
    by: str | None = None,
    base: str | None = None,
    weights: str | Mapping[str, float] | Weights | None = None,
) -> Groups:
    """Means of captures by label with 95 % intervals, and gains against the `base`. A capture is one value.

    Parameters
    ----------
    result: a result of captures, or the directory of one.
    by: the column of `runs` that names groups; by default the labels, or the files.
    base: the label that the others are compared with; by default the first.
    weights: "field-trial" (docs/pcap.md), or weights of words of file names: ``{"NC": 25, "MC": 30, "FC": 45}``. By
        default captures weigh the same.

    Raises :class:`InputError` if the result is not of captures, or has no such label.
    """
    own = result if isinstance(result, Result) else Result.load(result)
    if not is_captured(own.manifest):
        remedy = "compare runs with ackclock compare"
        raise InputError("is not of captures", remedy, source=None if isinstance(result, Result) else str(result))
    key = by or (LABEL if LABEL in own.runs.columns else FILE)
    if key not in own.runs.columns:
        raise InputError(f"there is no column '{escaped(key)}' of runs", f"give {LABEL} or {FILE}", key="by")
    labels = [str(label) for label in own.runs[key].unique(maintain_order=True)]
    chosen = _base(base, labels)
    notes: list[str] = []
    values, used = _by_stratum(own, key, labels, _weights(weights, own, notes), notes)
    every = tuple(_group(own, key, label, values[label], used, notes) for label in labels)
    known = {group.label: group for group in every}
    found = tuple(
        Gain(label, chosen, _gains(known[chosen], known[label], values[chosen], values[label], used, notes))
        for label in labels
        if label != chosen and len(labels) > 1
    )
    total = sum(used.values())
    return Groups(every, found, tuple(dict.fromkeys(notes)), {name: weight / total for name, weight in used.items()})


_Values = Mapping[str, Mapping[str, list[float]]]
"""Of each metric its values by stratum."""


def _base(given: str | None, labels: Sequence[str]) -> str:
    if given is None:
        return labels[0]
    if given not in labels:
        guess = nearest(given, labels)
        remedy = f"did you mean '{guess}'?" if guess else f"there are {', '.join(labels[:6])}"
        raise InputError(f"no captures have the label '{escaped(given)}'", remedy, key="base")
    return given


def _weights(given: str | Mapping[str, float] | Weights | None, result: Result, notes: list[str]) -> Weights:
    own = weights.read(given)
    if not own.words or any(own.stratum(file, 0.0) for file in result.runs[FILE]):
        return own
    words = ", ".join(own.words)
    if given == FIELD_TRIAL:
        notes.append(f"no file is called after a place ({words}): weighted by sizes alone")
        return weights.without_words(own)
    raise InputError(f"no file name has one of the words {words}", "name files after what is weighted", key="weights")


def _by_stratum(
    result: Result, key: str, labels: Sequence[str], own: Weights, notes: list[str]
) -> tuple[dict[str, _Values], dict[str, float]]:
    """The values of each label, by metric and stratum, and the weight of each stratum that is there."""
    durations = dict(result.runs.select("run", "duration_s").iter_rows())
    rows = captured.per_run(result.flows, durations)
    largest = dict(
        captured.carrying(result.flows.lazy()).group_by("run").agg(pl.col("goodput_bytes").max()).collect().iter_rows()
    )
    values: dict[str, dict[str, dict[str, list[float]]]] = {label: {name: {} for name in METRICS} for label in labels}
    used: dict[str, float] = {}
    without: list[str] = []
    for run, label, file in result.runs.select("run", key, FILE).iter_rows():
        stratum = own.stratum(file, largest.get(run, 0.0))
        if stratum is None:
            without.append(file)
            continue
        used[stratum] = own.of(stratum)
        for name in METRICS:
            if (value := rows[run][name]) is not None:
                values[str(label)][name].setdefault(stratum, []).append(value)
    if without:
        notes.append(f"left out, as their names have no word with a weight: {', '.join(without[:3])}"
                     + (f" and {len(without) - 3} more" if len(without) > 3 else ""))  # fmt: skip
    for label in labels:
        absent = [name for name in used if name not in values[label]["goodput_bps"]]
        if absent:
            notes.append(f"{label} has no captures of {'; '.join(absent)}: its mean is over the others")
    return dict(values), used


def _group(result: Result, key: str, label: str, values: _Values, used: Mapping[str, float], notes: list[str]) -> Group:
    runs = result.runs.filter(pl.col(key).cast(pl.String) == label)["run"]
    own = captured.carrying(result.flows.lazy().filter(pl.col("run").is_in(runs.implode())))
    seen = own.group_by("vantage").agg(pl.col("sent_bytes").sum()).collect().sort("sent_bytes", descending=True)
    vantages = tuple(name for name in seen["vantage"] if name is not None)
    if len(vantages) > 1:
        notes.append(
            f"{label}: captures taken at the {' and at the '.join(vantages)} are mixed; figures of losses there mean "
            "different things"
        )
    if incomplete := own.select(pl.col("capture_incomplete").sum()).collect().item():
        notes.append(f"{label}: {incomplete} connections miss packets in the capture: losses may be larger")
    means = {name: strata.mean(values[name], used) for name in METRICS}
    connections = own.select(pl.len()).collect().item()
    return Group(label, len(runs), connections, vantages, {name: own for name, own in means.items() if own.n})


def _gains(
    base: Group, other: Group, before: _Values, after: _Values, used: Mapping[str, float], notes: list[str]
) -> dict[str, Interval]:
    found = {}
    for name in METRICS:
        if name in captured.LOSSES and base.vantages != other.vantages:
            notes.append(
                f"{other.label} was captured at: {other.vantage}, {base.label} at: {base.vantage}; losses are not "
                "compared, as they mean different things there"
            )
            continue
        compare = strata.gain if name in RATIOS else strata.difference
        own = compare(before[name], after[name], used)
        if own.n:
            found[name] = own
    return found


def _json(metrics: Mapping[str, Interval]) -> dict[str, Any]:
    return {name: {"value": own.value, "low": own.low, "high": own.high, "n": own.n} for name, own in metrics.items()}
