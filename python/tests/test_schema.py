"""The committed JSON schema: up to date, and of one mind with the loader."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ackclock.scenario.display import schema
from shared import ROOT, SMALL

COMMITTED = ROOT / "schema" / "scenario.schema.json"


@pytest.fixture(scope="module")
def validator() -> Any:
    document = json.loads(COMMITTED.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


def test_is_up_to_date() -> None:
    stale = "run: python -m ackclock.scenario.display.schema > schema/scenario.schema.json"
    assert COMMITTED.read_text(encoding="utf-8") == schema.text(), stale


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").glob("*.toml")), ids=lambda path: path.stem)
def test_accepts_every_scenario(validator: Any, path: Path) -> None:
    validator.validate(tomllib.loads(path.read_text(encoding="utf-8")))


ACCEPTED = [
    ('"20 ms"', '["20 ms", "40 ms"]'),
    ('"20 ms"', '{ range = ["10 ms", "50 ms", "10 ms"] }'),
    ('{ kind = "droptail", limit = "1 BDP" }', '"64 kB"'),
    ('limit = "1 BDP" }', 'limit = "1 BDP" }\nloss = "0.5 %"'),
    ('"cubic"', '{ name = "cubic", beta = [0.7, 0.8] }'),
    ("count = 2", "start_ = 1".replace("start_ = 1", 'stop = "2 s"')),
    ("count = 2", "tcp = { timestamps = false }"),
    ("count = 2", 'app = { kind = "cbr", rate = ["1 Mbit/s", "2 Mbit/s"] }'),
    (
        'limit = "1 BDP" }',
        'limit = "1 BDP" }\nevents = [{ at = "1 s", rate = "off" }, { at = "2 s", rate = "1 Mbit/s" }]',
    ),
]

REFUSED = [
    ("rate =", "rat ="),
    ('"20 ms"', '"20"'),
    ('"20 ms"', "20"),
    ('"1 BDP"', "132"),
    ('"cubic"', '"cubik"'),
    ('"cubic"', '{ name = "cubic", betta = 1 }'),
    ("count = 2", 'count = "2"'),
    ("count = 2", "tcp = { nonsense = 1 }"),
    ("count = 2", 'app = { kind = "cbr", rate = 1000000 }'),
    ('"dumbbell"', '"ring"'),
    ('duration = "3 s"', ""),
]


@pytest.mark.parametrize(("old", "new"), ACCEPTED)
def test_accepts_what_the_loader_accepts(
    validator: Any, scenario_file: Callable[..., Path], old: str, new: str
) -> None:
    from ackclock import load

    path = scenario_file((old, new))
    load(path)
    validator.validate(tomllib.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(("old", "new"), REFUSED)
def test_refuses_what_the_loader_refuses(validator: Any, old: str, new: str) -> None:
    assert old in SMALL
    assert not validator.is_valid(tomllib.loads(SMALL.replace(old, new)))
