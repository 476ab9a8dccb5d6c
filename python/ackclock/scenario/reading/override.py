"""``--set key=value``: changing a scenario from outside, before its sweeps are expanded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ackclock.errors import Problem, nearest
from ackclock.files import MOST_PARTS, parse_toml
from ackclock.scenario.model import Scenario
from ackclock.scenario.reading.expansion import Path, Raw
from ackclock.scenario.settings import Probes, Run
from ackclock.scenario.topology.topologies import Dumbbell
from ackclock.scenario.traffic.flow import Flow
from ackclock.scenario.values.base import Model, fields

_SECTIONS = (*Scenario.model_fields, "sweep")
# An algorithm written as a bare name becomes a table under this key when one of its parameters is set.
_NAME_KEYS = {"cc": "name", "slow_start": "kind"}
_LONGEST_KEY = 60
"""Characters of a key that a message repeats."""

Overrides = Mapping[str, Any] | Iterable[str]


def apply(raw: Raw, overrides: Overrides) -> set[str]:
    """Change `raw` in place and return the dotted paths changed. Raises :class:`Problem`.

    A bare key of a flow, such as ``cc``, changes every group of flows; ``flows.0.cc`` changes one.
    """
    changed = set()
    for key, value in _pairs(overrides):
        for path in _targets(raw, key):
            _put(raw, path, value)
            changed.add(".".join(map(str, path)))
    return changed


def parse(text: str) -> tuple[str, Any]:
    """``key=value`` taken apart; the value is TOML if it can be read as TOML, and text otherwise."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise Problem(f"'{text}' is not of the form key=value", 'write for instance --set run.duration="10 s"')
    try:
        document = parse_toml(f"value = {value.strip()}")
    except ValueError:  # also of a number with thousands of digits, or as many brackets
        return key.strip(), value.strip()
    # A value such as '1\nx=2' would smuggle in a second key; it is text then.
    return key.strip(), document["value"] if len(document) == 1 else value.strip()


def is_key(name: str) -> bool:
    """Whether `name` is, or begins like, a key of a scenario or of its flows."""
    head = name.partition(".")[0]
    return head in _SECTIONS or head in fields(Flow) or head in _elsewhere()


def _pairs(overrides: Overrides) -> list[tuple[str, Any]]:
    if isinstance(overrides, str):
        return [parse(overrides)]
    if isinstance(overrides, Mapping):
        return list(overrides.items())
    texts: list[Any] = list(overrides) if isinstance(overrides, Iterable) else [overrides]
    if not all(isinstance(text, str) for text in texts):
        remedy = 'write {"cc": "reno"} or ["cc=reno"]'
        raise Problem("changes are a mapping of keys to values, or a list of texts", remedy)
    return [parse(text) for text in texts]


def _targets(raw: Raw, key: str) -> list[Path]:
    head, *rest = key.split(".")
    if len(rest) >= MOST_PARTS:
        problem = f"the key '{key[:_LONGEST_KEY]}...' has {len(rest) + 1} parts"
        raise Problem(problem, f"at most {MOST_PARTS} are possible")
    if not all((head, *rest)):
        raise Problem(f"'{key}' is no key", "write for instance topology.rtt", *key.split("."))
    if head in _SECTIONS:
        if head == "flows" and rest:
            return [_flow_path(raw, rest, key)]
        return [(head, *(int(part) if part.isdecimal() else part for part in rest))]
    if head in fields(Flow):
        return [("flows", index, head, *rest) for index in range(len(_groups(raw)))]
    elsewhere = _elsewhere()
    guess = elsewhere.get(head) or nearest(head, [*_SECTIONS, *fields(Flow)]) or nearest(head, elsewhere)
    if guess is not None:
        remedy = f"did you mean '{elsewhere.get(guess, guess)}'?"
    else:
        remedy = f"a key begins with one of {', '.join(_SECTIONS)}, or is a key of a flow"
    raise Problem(f"unknown key '{key}'", remedy, *key.split("."))


def _elsewhere() -> dict[str, str]:
    """Keys that are not a flow's, by their last part: what a bare `duration` may have meant."""
    owners: dict[str, type[Model]] = {"topology": Dumbbell, "run": Run, "probes": Probes}
    return {name: f"{section}.{name}" for section, model in owners.items() for name in model.model_fields}


def _groups(raw: Raw) -> list[Any]:
    groups = raw.get("flows")
    return groups if isinstance(groups, list) else []


def _flow_path(raw: Raw, rest: list[str], key: str) -> Path:
    groups = _groups(raw)
    if not rest[0].isdecimal() or int(rest[0]) >= len(groups) or len(rest) < 2:
        last = len(groups) - 1
        remedy = f"write flows.N.key with N from 0 to {last}" if last >= 0 else "the scenario has no [[flows]]"
        raise Problem(f"no flow at '{key}'", remedy, *key.split("."))
    return ("flows", int(rest[0]), *rest[1:])


def _put(node: Any, path: Path, value: Any) -> None:
    for depth, key in enumerate(path[:-1]):
        if isinstance(node, list):
            if not isinstance(key, int) or key >= len(node):
                raise Problem(f"nothing at '{key}'", f"it has the entries 0 to {len(node) - 1}", *path[: depth + 1])
            node = node[key]
            continue
        below = node.get(key)
        if isinstance(below, str) and key in _NAME_KEYS:
            below = node[key] = {_NAME_KEYS[key]: below}
        elif below is None:
            # A list that is not there begins with the entry 0: events.0.at and events.0.rate make an event.
            below = node[key] = [{}] if isinstance(path[depth + 1], int) and depth + 2 < len(path) else {}
        if not isinstance(below, dict | list) or (isinstance(below, list) and not isinstance(path[depth + 1], int)):
            raise Problem(f"'{key}' has no keys of its own", f"set {key} itself", *path[: depth + 1])
        node = below
    if isinstance(node, list):
        last = path[-1]
        if not isinstance(last, int) or last >= len(node):
            raise Problem(f"nothing at '{last}'", f"it has the entries 0 to {len(node) - 1}", *path)
        node[last] = value
    else:
        node[str(path[-1])] = value
