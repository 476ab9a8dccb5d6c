"""``ackclock rank``: tables, sentence, JSON, one line for what cannot be."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import ackclock
from ackclock.cli.app import app, main
from ackclock.ranking import text
from ackclock.ranking.ranking import rank
from shared import ROOT, SMALL


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two controllers on two paths, six times; in `once` a single time."""
    place = tmp_path_factory.mktemp("rank")
    path = place / "scenario.toml"
    path.write_text(SMALL, encoding="utf-8")
    changes = {"cc": ["reno", "cubic", "vegas"], "topology.rtt": ["20 ms", "60 ms"]}
    ackclock.run(path, set=changes, replications=6, jobs=1, out=place / "both")
    ackclock.run(path, set=changes, jobs=1, out=place / "once")
    ackclock.run(path, jobs=1, out=place / "alone")
    return place


def test_a_line_for_each_candidate_and_a_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rank", str(folder / "both")]) == 0
    out, err = capsys.readouterr()
    found = rank(folder / "both")
    assert out.splitlines()[0].strip() == "goodput per flow"
    head, rule, *lines = out.splitlines()[1:]
    titles = f"rank cc geom. mean, Mbit/s against {found.reference} 95 % interval worst point P(best)"
    assert head.split() == titles.split()
    assert set(rule) == {"─"}
    shown = [line.split()[:2] for line in lines[:3]]
    assert shown == [[f"{item.rank}{'=' if item.tied else ''}", item.name] for item in found.candidates]
    assert out.splitlines()[-1] == found.sentence
    assert re.search(r"^ +goodput per flow +p95 queueing delay +Jain's index *$", out, re.M)
    assert re.search(r"^cc +geom\. mean, Mbit/s +geom\. mean, ms +mean +front$", out, re.M)
    assert err == f"ackclock: {found.notes[0]}\n"


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rank", str(folder / "both"), "--goal", "low-delay", "--base", "reno", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["preset"] == "low-delay"
    assert told["reference"] == "reno"
    page = (ROOT / "docs" / "rank.md").read_text(encoding="utf-8")
    line = told["candidates"][0]
    assert all(f"`{key}`" in page for key in (*told, *line, *line["worst"], *line["score"]))


def test_a_narrow_terminal_gets_narrow_tables(folder: Path) -> None:
    found = rank(folder / "both")
    for build in (text.table, text.tradeoff):
        wide, narrow = build(found), build(found, narrow=True)
        assert [len(row) for row in wide] == [len(row) for row in narrow]

        def width(cells: list[list[str]]) -> int:
            return sum(max(len(part) for row in cells for part in row[i].split("\n")) + 1 for i in range(len(cells[0])))

        assert width(narrow) < width(wide)
        assert width(narrow) <= 80
        plain = [[re.sub(r"\s", "", cell) for cell in row] for row in wide]
        assert plain == [[re.sub(r"\s", "", cell) for cell in row] for row in narrow]


def test_one_replication_says_what_to_do(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rank", str(folder / "once")]) == 0
    out = capsys.readouterr().out
    assert "95 % interval" not in out
    assert "one replication cannot tell that from chance: run with --replications 10." in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["alone"], "nothing is swept, so that there is nothing to rank; give a key a list"),
        (["both", "--by", "queue"], "by: unknown swept key 'queue'; known: topology.rtt, cc"),
        (["both", "--goal", "quick"], "goal: unknown goal or metric 'quick'; known: goodput_bps, "),
        (
            ["both", "--goal", "p95_rtt_s"],
            "unknown goal or metric 'p95_rtt_s'; did you mean 'mean_rtt_s'?; goals: bulk",
        ),
        (["both", "--group", "1"], "group: no group '1'; the groups of flows are 0 (reno or cubic or vegas): give"),
        (
            ["both", "--goal", "p95_fct_s down"],
            "goal: no run has a value of p95_fct_s; give another goal; completion times are of transfers",
        ),
        (
            ["both", "--goal", "timeouts_per_mb"],
            "goal: timeouts_per_mb is 0 in all 36 runs, so that nothing tells one from another; give a metric that is",
        ),
        (["missing"], "missing: does not exist; give a directory written by ackclock run --out or ackclock sweep"),
        (["both/runs.parquet"], "runs.parquet: is a file; give a directory written by"),
        (["."], "has no manifest.json; give a directory written by"),
    ],
)
def test_mistakes_are_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    name, *others = arguments
    assert main(["rank", str(folder / name), *others]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


def test_every_option_is_described() -> None:
    pages = [(ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("cli", "rank")]
    for argument in app["rank"].assemble_argument_collection():
        for name in argument.names:
            if name.startswith("--"):
                assert all(name in page for page in pages), name
