"""The JSON schema of scenario files, for editors: ``python -m ackclock.scenario.display.schema`` prints it.

It is made from the models and the engine's catalogue, with every value also allowed to be a list or a range.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter

from ackclock.engine import Algorithm, Option, catalogue
from ackclock.scenario.model import Scenario
from ackclock.scenario.settings import LinkSampling, Sampling
from ackclock.scenario.topology import rate
from ackclock.scenario.traffic import application
from ackclock.scenario.traffic.flow import TCP_KEYS
from ackclock.scenario.values import types
from ackclock.scenario.values.units import DURATION, SEGMENTS, SIZE

Schema = dict[str, Any]

# Properties that are lists or tables by nature: what is inside them is swept, not they themselves.
_STRUCTURE = frozenset(
    {
        "active",
        "events",
        "topology",
        "flows",
        "run",
        "probes",
        "hops",
        "nodes",
        "links",
        "reverse",
        "sweep",
        "tcp",
        "places",
        "relays",
        "sink",
        "source",
    }
)

# Types that occur often, written once. Order matters only for the reader.
_LEAVES: Mapping[str, Any] = {
    "duration": types.Duration,
    "rate": rate.Rate,
    "size": types.Size,
    "limit": types.Limit,
    "threshold": types.Threshold,
    "probability": types.Probability,
    "sampling": Sampling,
    "link_sampling": LinkSampling,
}

# Tables that may also be written as one value: what that value is.
_SHORT = {"Loss": "probability", "Queue": "limit", "Start": "duration"}


def build() -> Schema:
    """The schema of a scenario file, sweeps included."""
    schema = Scenario.model_json_schema(mode="validation")
    definitions: dict[str, Schema] = schema["$defs"]
    leaves = {name: TypeAdapter(kind).json_schema() for name, kind in _LEAVES.items()}
    _name_everything(definitions["Flow"]["properties"])
    _as_of_flows(definitions["Leg"]["properties"])
    _name_queues(definitions["Queue"])
    for definition in (*definitions.values(), schema):
        properties = definition.get("properties", {})
        for name, item in properties.items():
            properties[name] = _property(name, item, leaves)
        definition.pop("title", None)
        if "description" in definition:
            definition["description"] = " ".join(definition["description"].split())
    schema["properties"]["sweep"] = _SWEEP
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ackclock scenario",
        "description": "Who sends over what, for how long, and what is recorded. See docs/scenario.md.",
        **{key: schema[key] for key in ("type", "properties", "required", "additionalProperties")},
        "$defs": {**leaves, "range": _RANGE, **dict(sorted(definitions.items()))},
    }


def _property(name: str, item: Schema, leaves: Mapping[str, Schema]) -> Schema:
    """A property as a file may write it: without defaults in engine units and nulls, and with sweeps."""
    description = " ".join(item.get("description", "").split())
    bare = {key: value for key, value in item.items() if key not in ("default", "title", "description")}
    options = [option for option in bare.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        bare = options[0]
    elif options:
        bare["anyOf"] = options
    if "/properties/" in bare.get("$ref", ""):
        return {"description": description, **bare}
    for leaf, schema in leaves.items():
        if {key: value for key, value in schema.items() if key != "description"} == bare or schema == bare:
            bare = {"$ref": f"#/$defs/{leaf}"}
    target = bare.get("$ref", "").rpartition("/")[2]
    if target in _SHORT:
        bare = {"anyOf": [bare, {"$ref": f"#/$defs/{_SHORT[target]}"}]}
    if name == "app":
        bare = {"anyOf": [bare, {"enum": list(application.KINDS)}]}
    result = bare if name in _STRUCTURE or "const" in bare else _swept(bare)
    return {"description": description, **result} if description else result


def text() -> str:
    """The schema as it is committed."""
    return f"{json.dumps(build(), indent=2, ensure_ascii=False)}\n"


def _swept(item: Schema) -> Schema:
    """`item`, or a list or range of it."""
    return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1}, {"$ref": "#/$defs/range"}]}


_RANGE: Schema = {
    "description": "a sweep over evenly or logarithmically spaced values, both ends included",
    "type": "object",
    "oneOf": [
        {
            "properties": {
                "range": {"type": "array", "minItems": 3, "maxItems": 3, "description": "first, last, step"}
            },
            "required": ["range"],
            "additionalProperties": False,
        },
        {
            "properties": {
                "logrange": {"type": "array", "minItems": 3, "maxItems": 3, "description": "first, last, n"}
            },
            "required": ["logrange"],
            "additionalProperties": False,
        },
    ],
}

_SWEEP: Schema = {
    "type": "object",
    "description": "How sweeps are combined. All are crossed unless zipped.",
    "properties": {
        "zip": {
            "type": "array",
            "description": "groups of swept keys that vary together",
            "items": {"type": "array", "items": {"type": "string"}},
        }
    },
    "additionalProperties": False,
}


def _name_everything(flow: Schema) -> None:
    """Replace what the models leave open by the names the engine knows."""
    known = catalogue()
    flow["cc"] = _algorithms(flow["cc"], "name", known.controllers.values())
    flow["slow_start"] = _algorithms(flow["slow_start"], "kind", known.slow_starts.values())
    flow["profile"]["enum"] = list(known.profiles)
    options = {name: _option(option) for name, option in known.tcp_options.items()}
    for key in TCP_KEYS:
        described = flow[key].get("description", "")
        flow[key] = {**options[key], "description": described}
    flow["tcp"] = {
        "type": "object",
        "description": flow["tcp"]["description"],
        "properties": {name: _swept(dict(item)) for name, item in options.items()},
        "additionalProperties": False,
    }


def _as_of_flows(leg: Schema) -> None:
    """What the leg of a relay has is written as in a flow, sweeps included."""
    for name, item in leg.items():
        leg[name] = {"description": item["description"], "$ref": f"#/$defs/Flow/properties/{name}"}


def _name_queues(queue: Schema) -> None:
    """The disciplines, and every parameter of any of them: which belong together the loader tells."""
    known = catalogue().queues
    properties = queue["properties"]
    properties["kind"]["enum"] = list(known)
    properties.pop("params", None)
    queue["required"] = []
    for discipline in known.values():
        for name, option in discipline.params.items():
            item = {"description": option.doc, "anyOf": [_kind(option)]}
            forms = properties.setdefault(name, item)["anyOf"]
            if _kind(option) not in forms:
                forms.append(_kind(option))


def _algorithms(item: Schema, key: str, known: Iterable[Algorithm]) -> Schema:
    forms: list[Schema] = []
    names = []
    for algorithm in known:
        names.append(algorithm.name)
        forms.append(
            {
                "type": "object",
                "description": algorithm.summary,
                "properties": {
                    key: {"const": algorithm.name},
                    **{name: _swept(_option(option)) for name, option in algorithm.params.items()},
                },
                "required": [key],
                "additionalProperties": False,
            }
        )
    if key == "name":
        forms.extend(_PYTHON)
    return {"description": item["description"], "anyOf": [{"enum": names}, *forms]}


_CLASS: Schema = {"type": "string", "pattern": r"^python:[\w.]+:[\w.]+$"}

# A class in Python, with whatever parameters it takes.
_PYTHON: tuple[Schema, ...] = (
    {"description": "a controller in Python: python:module:Class", **_CLASS},
    {
        "type": "object",
        "description": "a controller in Python with the keyword arguments of its __init__",
        "properties": {"name": _CLASS},
        "required": ["name"],
    },
)


def _option(option: Option) -> Schema:
    return {**_kind(option), "description": option.doc}


def _kind(option: Option) -> Schema:
    numeric = r"^\d+(\.\d*)?([eE][+-]?\d+)? *({})$"
    match option.kind:
        case "bool":
            return {"type": "boolean"}
        case "choice":
            return {"enum": list(option.choices or ())}
        case "duration":
            return {"type": "string", "pattern": numeric.replace("{}", "|".join(DURATION.units))}
        case "bytes":
            return {"type": "string", "pattern": numeric.replace("{}", "|".join(SIZE.units))}
        case "count":
            return {"type": "integer", **_limits(option)}
        case "segments":
            words = {"type": "string", "pattern": numeric.replace("{}", "|".join(SEGMENTS.units))}
            return {"anyOf": [{"type": "integer", **_limits(option)}, words]}
        case "fraction":
            percent = {"type": "string", "pattern": numeric.replace("({})", "%")}
            return {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, percent]}
        case _:
            return {"type": "number", **_limits(option)}


def _limits(option: Option) -> Mapping[str, float]:
    if option.range is None:
        return {}
    low, high = option.range
    return {key: value for key, value in (("minimum", low), ("maximum", high)) if value is not None}


if __name__ == "__main__":
    sys.stdout.write(text())
