"""Controllers beside those that a study compares: ``ackclock study run NAME --cc python:mine:MyCC``.

A scenario says with ``extend`` which of its lists of controllers take another one. What goes over these lists,
figures and tables, then has it; claims name whom they are about and stay as they are.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.errors import InputError
from ackclock.files import parse_toml, read_text
from ackclock.scenario.plan import json_copy, resolved_flow
from ackclock.scenario.reading import expansion, override, toml
from ackclock.scenario.traffic.flow import Flow
from ackclock.study.model import Setting, Study

OPTION = "--cc"
PLACES = ("cc", "own_start")
"""Lists for controllers that take a slow start, and for those that start by themselves."""


@dataclass(frozen=True, slots=True)
class Added:
    """A controller as a scenario has it, how tables call it, and which lists it belongs to."""

    value: Any
    label: str
    place: str


def read(given: Sequence[Any] | str, study: Study) -> tuple[Added, ...]:
    """What is to be added: names, tables ``{ name = "bic", beta = 0.8 }`` or classes. Raises :class:`InputError`."""
    found = tuple(_read(item) for item in ((given,) if isinstance(given, str) else given))
    taken = {place for setting in study.settings for place in setting.extend}
    for item in found:
        if not taken:
            remedy = 'a scenario in its study.toml may name a list: extend = { cc = ["cc"] }'
            raise InputError(f"the study '{study.name}' takes no other controllers", remedy, source=OPTION)
        if item.place not in taken:
            which = "start by themselves" if item.place == "own_start" else "take a slow start"
            remedy = f'a scenario in its study.toml may name a list: extend = {{ {item.place} = ["cc"] }}'
            problem = f"the study '{study.name}' takes no controllers that {which}, such as '{item.label}'"
            raise InputError(problem, remedy, source=OPTION)
    return found


def lists(setting: Setting, changes: Mapping[str, Any], added: Sequence[Added]) -> dict[str, list[Any]]:
    """The longer lists of a scenario, as changes to it. One that has a controller already is left as it is."""
    wanted = {place: [item for item in added if item.place == place] for place in setting.extend}
    if not any(wanted.values()):
        return {}
    content = setting.content
    raw = copy.deepcopy(dict(content)) if isinstance(content, Mapping) else toml.parse(read_text(content), str(content))
    override.apply(raw, json_copy(changes))
    found: dict[str, list[Any]] = {}
    for place, keys in setting.extend.items():
        for key in keys if wanted[place] else ():
            present = found.get(key) or _values(raw, key)  # a list may take both kinds
            known = [str(expansion.label(value)) for value in present]
            found[key] = [*present, *(item.value for item in wanted[place] if item.label not in known)]
    return found


def _read(given: Any) -> Added:
    value = json_copy(given)
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = parse_toml(f"value = {value}")["value"]
        except ValueError as error:
            remedy = 'write for instance { name = "bic", beta = 0.8 }'
            raise InputError(f"not a table in TOML: {error}", remedy, source=OPTION) from None
    resolved_flow({"cc": value}, OPTION)  # refuses what is no controller
    own_start = Flow.model_validate({"cc": value}).cc.own_start
    return Added(value, str(expansion.label(value)), "own_start" if own_start else "cc")


def _values(raw: Mapping[str, Any], key: str) -> list[Any]:
    """The controllers that a key has; without a group of flows it is that of the first."""
    words = key.split(".")
    node: Any = raw
    for word in words if words[0] == "flows" else ("flows", "0", *words):
        node = node[int(word)] if isinstance(node, list) else node.get(word, "cubic" if word == "cc" else {})
    return list(node) if isinstance(node, list) else [node]
