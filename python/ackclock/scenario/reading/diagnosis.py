"""From pydantic's reports to one line a user can act on: key, problem, remedy."""

from __future__ import annotations

import re
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from ackclock.errors import Problem, unknown
from ackclock.scenario.model import Scenario
from ackclock.scenario.reading.expansion import Path
from ackclock.scenario.settings import Run
from ackclock.scenario.topology.topologies import KINDS
from ackclock.scenario.traffic import application, web
from ackclock.scenario.values.base import Model, fields

_MODELS: Mapping[str, type[Model]] = {**KINDS, **application.KINDS, "policy": web.Policy}
_TAGS: Mapping[str, type[Model]] = {f"<{kind}>": model for kind, model in _MODELS.items()}

_EXAMPLES = {
    "topology": '[topology] with kind = "dumbbell"',
    "flows": '[[flows]] with cc = "cubic"',
    "run": '[run] with duration = "60 s"',
    "rate": 'rate = "100 Mbit/s"',
    "queue": 'queue = { kind = "droptail", limit = "1 BDP" }',
    "limit": 'limit = "1 BDP"',
    "duration": 'duration = "60 s"',
    "delay": 'delay = "10 ms"',
    "hops": "one [[topology.hops]] for each link",
    "links": 'one [[topology.links]] for each link, with from = "a", to = "b"',
    "from": 'from = "a"',
    "to": 'to = "b"',
    "name": 'name = "a"',
    "flow": 'flow = "0"',
    "nth": "nth = 1",
    "arrivals": "arrivals = { poisson = 10.0 }",
    "size": 'size = "100 kB"',
    "response": 'response = "100 kB"',
    "burst": 'burst = "15 kB"',
    "extra": 'extra = "5 ms"',
    "at": 'at = "1 s"',
    "begin": 'begin = "1 s"',
    "relays": 'one [[relays]] with name = "pep", position = 1',
    "p": "p = 0.01",
    "r": "r = 0.3",
}

_WANTED = {
    "bool_type": ("a yes or no", "write true or false"),
    "int_type": ("a whole number", "write it without quotes and decimals"),
    "int_parsing": ("a whole number", "write it without quotes and decimals"),
    "bool_parsing": ("a yes or no", "write true or false"),
    "int_from_float": ("a whole number", "write it without decimals"),
    "float_parsing": ("a number", "write it without quotes and without a unit"),
    "float_type": ("a number", "write it without quotes and without a unit"),
    "finite_number": ("a finite number", "give a number"),
    "dataclass_type": ("a value or a distribution", 'write it with its unit, as in "100 kB"'),
    "string_type": ("text", "write it in quotes"),
    "model_type": ("a table", "write it as { key = value } or under its own [header]"),
    "dict_type": ("a table", "write it as { key = value }"),
    "tuple_type": ("a list", "write it as [ ... ], or [[header]] for each table"),
}


_FROM_TO = re.compile(r"\s*(\d+)\s*(?:\.\.\.?|-|–|:|to)\s*(\d+)\s*")
"""What people write for all whole numbers from one to another."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong with a scenario, and the key it is wrong at."""

    key: Path
    problem: str
    remedy: str


def finding(error: ValidationError | Problem, raw: Any) -> Finding:
    """The first thing wrong. Unknown keys come first: a mistyped key is also a missing one."""
    if isinstance(error, Problem):
        return Finding(trim(error.key, raw), error.problem, error.remedy)
    details = error.errors(include_url=False)
    chosen = next((item for item in details if item["type"] == "extra_forbidden"), details[0])
    loc = tuple(part for part in chosen["loc"] if part != web.NUMBER)  # which a table might be in place of
    problem = _explain(chosen["type"], loc, chosen)
    if chosen["type"] == "missing" and isinstance(loc[-1], int):
        loc = loc[:-1]  # of a list that is too short, not of an entry that is not there
    key = tuple(part for part in loc if part not in _TAGS)
    return Finding(trim((*key, *problem.key), raw), problem.problem, problem.remedy)


def _explain(kind: str, loc: Path, detail: Mapping[str, Any]) -> Problem:
    name = str(loc[-1]) if loc else "scenario"
    context = detail.get("ctx", {})
    value = detail.get("input")
    cause = context.get("error")
    if isinstance(cause, Problem):
        return cause
    if kind == "extra_forbidden":
        return _unknown_key(name, loc)
    if kind == "missing" and isinstance(loc[-1], int):
        return Problem(f"a list of {loc[-1]} is too short", 'give two values, such as ["0 s", "5 s"]')
    if kind == "too_long":
        return Problem(f"a list of {context['actual_length']} is too long", f"give {context['max_length']} values")
    if kind == "missing":
        example = _EXAMPLES.get(name)
        return Problem(f"missing key '{name}'", f"add {example}" if example else "add it")
    if kind == "literal_error":
        if isinstance(loc[-1], int):  # of a list: its entries are what its name says, each one of them
            name = next(str(part) for part in reversed(loc) if isinstance(part, str)).removesuffix("s")
        return Problem(f"unknown {name} {value!r}", f"known: {context['expected'].replace(chr(39), '')}")
    if kind in _WANTED:
        wanted, remedy = _WANTED[kind]
        if isinstance(value, str) and (ends := _FROM_TO.fullmatch(value)):
            remedy = f"a range is {{ range = [{ends[1]}, {ends[2]}, 1] }}"
        return Problem(f"{_short(value)} is not {wanted}", remedy)
    words = {
        "greater_than": "more than",
        "greater_than_equal": "at least",
        "less_than": "less than",
        "less_than_equal": "at most",
    }
    if kind in words:
        bound = next(iter(context.values()))
        limit = str(bound) if isinstance(bound, int) else f"{bound:g}"
        return Problem(f"{_short(value)} is out of range", f"give {words[kind]} {limit}")
    if kind == "too_short":
        return Problem(f"'{name}' is empty", f"add {_EXAMPLES.get(name, 'an entry')}")
    return Problem(f"{_short(value)}: {detail['msg'][:1].lower()}{detail['msg'][1:]}", "see docs/scenario.md")


def _unknown_key(name: str, loc: Path) -> Problem:
    from ackclock import engine
    from ackclock.scenario.traffic.flow import Flow
    from ackclock.scenario.traffic.relay import Leg, Relay

    owner = _model_at(loc[:-1])
    known = [*fields(owner), *(["sweep"] if owner is Scenario else [])]
    option = name in engine.catalogue().tcp_options
    table = f"tcp = {{ {name} = ... }}"
    if owner is Relay and (option or name in fields(Leg)):  # of which leg nobody knows
        own = f"{{ {name} = ... }}" if name in fields(Leg) else f"{{ {table} }}"
        return Problem(f"unknown key '{name}'", f"it is one of a leg: write it in source = {own} or sink = {own}")
    if option and owner in (Flow, Leg):
        table = f"{loc[-2]} = {{ {table} }}" if owner is Leg else table
        return Problem(f"unknown key '{name}'", f"it is a TCP option: write it in {table}")
    if owner is not Run and name in fields(Run):
        return Problem(f"unknown key '{name}'", "it is a key of [run]: write it there")
    return unknown("key", name, known)


def _model_at(loc: Path) -> type[Model]:
    """The model that reads the table at a place pydantic names."""
    model: type[Model] = Scenario
    for part in loc:
        if isinstance(part, int):
            continue
        below = _TAGS.get(part)
        if below is None:
            field = fields(model).get(part)
            below = _model_in(field.annotation) if field else None
        model = below or model
    return model


def _model_in(annotation: Any) -> type[Model] | None:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return annotation
    found = (_model_in(argument) for argument in typing.get_args(annotation))
    return next((model for model in found if model is not None), None)


def trim(key: Path, raw: Any) -> Path:
    """`key` without what the file does not spell out: `loss = 2` is read as a table with the key p."""
    result: Path = ()
    for part in key:
        if not isinstance(raw, dict | list):
            break
        result = (*result, part)
        try:
            raw = raw[part]  # type: ignore[index]  # a wrong kind of index is caught
        except (KeyError, IndexError, TypeError):
            raw = {}
    return result


def _short(value: Any) -> str:
    try:
        text = str(value).lower() if isinstance(value, bool) else repr(value)
    except ValueError:  # a whole number with thousands of digits
        return "the number"
    return text if len(text) <= 40 else f"{text[:37]}..."
