"""The documentation names everything there is, and its examples work."""

from __future__ import annotations

import re
import tomllib

import pytest

import ackclock
from ackclock.cli.app import app
from ackclock.results.summary import METRICS
from ackclock.scenario import model, settings
from ackclock.scenario.topology import access, link, loss, network, queue, topologies
from ackclock.scenario.traffic import flow, relay
from ackclock.scenario.values.base import fields
from shared import ROOT

DOCS = {page.stem: page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")}


@pytest.mark.parametrize(
    "table",
    [
        link.LinkKeys,
        link.Reverse,
        queue.Queue,
        loss.Loss,
        loss.Drop,
        flow.Flow,
        relay.Leg,
        relay.Relay,
        settings.Run,
        settings.Probes,
    ],
)
def test_every_key_is_described(table: type[model.Model]) -> None:
    for name, info in fields(table).items():
        assert info.exclude or re.search(rf"\b{name}\b", DOCS["scenario"]), name


@pytest.mark.parametrize(
    "table", [*topologies.KINDS.values(), link.Hop, network.NetworkLink, network.Node, access.Access]
)
def test_every_key_of_a_topology_is_described(table: type[model.Model]) -> None:
    of_links = fields(link.LinkKeys)  # docs/scenario.md has them once for all links
    for name in fields(table):
        assert name in of_links or re.search(rf"\b{name}\b", DOCS["topologies"]), name


def test_every_column_is_described(raw: dict[str, object]) -> None:
    result = ackclock.run(raw, jobs=1)
    for table in result.tables.values():
        for column in table.columns:
            assert f"`{column}`" in DOCS["results"], column
    for metric in METRICS:
        assert f"`{metric}`" in DOCS["results"], metric
    for key in result.manifest:
        assert f"`{key}`" in DOCS["results"], key


@pytest.mark.parametrize("command", ["run", "show", "cc", "doctor", "pcap"])
def test_every_option_is_described(command: str) -> None:
    for argument in app[command].assemble_argument_collection():
        for name in argument.names:
            if name.startswith("--"):
                assert name in DOCS["cli"], name


def test_every_option_of_studies_is_described() -> None:
    for command in ("list", "show", "run"):
        for argument in app["study"][command].assemble_argument_collection():
            for name in argument.names:
                if name.startswith("--"):
                    assert name in DOCS["cli"], name
                    assert command == "list" or name in DOCS["studies"], name


def test_every_public_name_is_described() -> None:
    for name in ackclock.__all__:
        assert name == "__version__" or name in DOCS["python-api"], name


def test_the_example_loads() -> None:
    examples = re.findall(r"```toml\n(.*?)```", DOCS["scenario"], re.DOTALL)
    assert len(ackclock.load(tomllib.loads(examples[0]))) == 30
