"""``ackclock cc``: the algorithms by name, with their sources and parameters."""

from __future__ import annotations

import dataclasses
from typing import Any

from ackclock.cli import console
from ackclock.cli.app import OK
from ackclock.engine import Algorithm, Option, catalogue
from ackclock.errors import InputError, unknown
from ackclock.scenario.options import show


def describe(name: str | None, *, tcp: bool, as_json: bool) -> int:
    """List everything, describe one algorithm, or list the TCP options."""
    if tcp:
        _tcp(as_json=as_json)
    elif name is None:
        _list(as_json=as_json)
    else:
        _one(name, as_json=as_json)
    return OK


def _list(*, as_json: bool) -> None:
    known = catalogue()
    if as_json:
        console.print_json(
            {
                "controllers": [_algorithm(item) for item in known.controllers.values()],
                "slow_starts": [_algorithm(item) for item in known.slow_starts.values()],
            }
        )
        return
    out = console.stdout()
    rows = [["controller", "family", "source", ""]]
    rows.extend([item.name, item.family, item.source, item.summary] for item in known.controllers.values())
    out.print(console.table(rows, ["left"] * 4))
    out.print()
    rows = [["slow start", "source", ""]]
    rows.extend([item.name, item.source, item.summary] for item in known.slow_starts.values())
    out.print(console.table(rows, ["left"] * 3))


def _one(name: str, *, as_json: bool) -> None:
    known = catalogue()
    item = known.controllers.get(name) or known.slow_starts.get(name)
    if item is None:
        guess = unknown("controller or slow start", name, [*known.controllers, *known.slow_starts])
        raise InputError(guess.problem, guess.remedy)
    if as_json:
        console.print_json(_algorithm(item))
        return
    out = console.stdout()
    out.print(f"{item.name}: {item.summary} ({item.source})", soft_wrap=True)
    if not item.params:
        out.print("It has no parameters.")
        return
    out.print()
    rows = [["parameter", "kind", "default", "values", ""]]
    rows.extend(
        [each.name, each.kind, show(each, each.default), _values(each), each.doc] for each in item.params.values()
    )
    out.print(console.table(rows, ["left"] * 5))


def _tcp(*, as_json: bool) -> None:
    known = catalogue()
    if as_json:
        entries = [dataclasses.asdict(option) for option in known.tcp_options.values()]
        for entry in entries:
            del entry["default"]  # it is that of a profile, and all profiles are listed
        console.print_json({"profiles": known.profiles, "tcp_options": entries})
        return
    rows = [["option", "kind", *known.profiles, "values", ""]]
    for option in known.tcp_options.values():
        defaults = [show(option, option.defaults[profile]) for profile in known.profiles]
        rows.append([option.name, option.kind, *defaults, _values(option), option.doc])
    console.stdout().print(console.table(rows, ["left"] * len(rows[0])))


def _values(option: Option) -> str:
    if option.choices:
        return ", ".join(option.choices)
    if option.range is None:
        return ""
    unit = {"duration": " s", "bytes": " B"}.get(option.kind, "")
    low, high = ("" if bound is None else f"{bound:.10g}" for bound in option.range)
    return f"{low} to {high}{unit}"


def _algorithm(item: Algorithm) -> dict[str, Any]:
    fields = {"name": item.name, "family": item.family, "source": item.source, "summary": item.summary}
    return {**fields, "params": [dataclasses.asdict(option) for option in item.params.values()]}
