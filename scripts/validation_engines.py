"""The tables of docs/validation.md about shipped scenarios on other engines."""

from __future__ import annotations

from typing import Any

import engines_runs
from engines_runs import METRICS, Compared, compared, records
from generate import table
from validation_kernel import percent

ENGINES = ("kernel-vt", "kernel")


def _changed(name: str) -> str:
    """What is changed in a scenario, in words of `--set`."""
    changes: dict[str, Any] = engines_runs.settings()["scenarios"][name]
    return ", ".join(f"`{key}={_toml(value)}`" for key, value in changes.items() if key != "run.replications")


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _cell(item: Compared | None) -> str:
    if item is None:
        return ""
    text = percent(item.difference) if item.theirs else f"{item.ours:.2g} instead of 0"
    if item.close:
        return text
    noise = f"noise {100 * item.noise / item.theirs:.0f} %" if item.theirs else "noise"
    return f"{text}, {noise}" if item.agrees else f"**{text}**, {noise}"


def _rows(engine: str) -> list[list[str]]:
    rows = []
    for name, record in records()[engine]["scenarios"].items():
        found = {item.metric: item for item in compared(engine, name)}
        runs = record["runs"]
        count = f"{sum(run['valid'] for run in runs)} of {len(runs)}"
        values = ["", ""]
        if goodput := found.get("total_goodput_bps"):
            values = [f"{value / 1e6:.4g}" for value in (goodput.ours, goodput.theirs)]
        rows.append([name, count, *values, *(_cell(found.get(metric)) for metric in METRICS)])
    return rows


def beside(engine: str) -> str:
    """A row for each scenario: how far the simulator's metrics are from the engine's."""
    head = ["scenario", "valid runs", "goodput, Mbit/s", f"`{engine}`", *(item.title for item in METRICS.values())]
    return table(head, _rows(engine))


def tolerances() -> str:
    """How closely each metric has to agree."""
    rows = []
    for metric in METRICS.values():
        unit, factor = metric.unit
        least = f"{metric.least * factor:g}{unit}" if metric.least else ""
        rows.append([metric.title, f"{100 * metric.share:g} %", least])
    return table(["metric", "of the engine's value", "or"], rows)


def changes() -> str:
    """What is changed in each scenario."""
    rows = ([name, _changed(name)] for name in engines_runs.settings()["scenarios"])
    return table(["scenario", "changed"], rows)


def refused(engine: str) -> str:
    """What an engine cannot play, what differs, and why; and what was not recorded."""
    left = records()[engine]["refused"]
    record = records()[engine]
    missing = [name for name in engines_runs.settings()["scenarios"] if name not in {*record["scenarios"], *left}]
    known = [
        [name, f"{METRICS[metric].title}: {deviation.mechanism}"]
        for name in record["scenarios"]
        for metric, deviation in engines_runs.known(engine, name).items()
    ]
    rows = [*([name, f"refused: {problem}"] for name, problem in left.items()), *known]
    return table(["scenario", "why"], [*rows, *([name, "not recorded yet"] for name in missing)])


def agreement() -> str:
    """How many figures agree, by engine."""
    lines = []
    for engine in ENGINES:
        record = records()[engine]
        found = [item for name in record["scenarios"] for item in compared(engine, name)]
        close, agree = sum(item.close for item in found), sum(item.agrees for item in found)
        lines.append(
            f"- `{engine}` (Linux {record['kernel']}): of {len(found)} figures {close} agree, "
            f"{agree - close} cannot be told apart, {len(found) - agree} differ."
        )
    return "\n".join(lines)
