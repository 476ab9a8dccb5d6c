"""SQL over results: answers are those of the tables, and nothing else can be reached."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import ackclock
from ackclock import InputError
from ackclock.cli.app import main

Write = Callable[..., Path]


@pytest.fixture
def result(scenario_file: Write, tmp_path: Path) -> Path:
    out = tmp_path / "out"
    ackclock.run(scenario_file(), set={"cc": ["reno", "cubic"]}, out=out, jobs=1)
    return out


def test_an_answer_is_that_of_the_tables(result: Path) -> None:
    found = ackclock.query(
        result, "select cc, sum(goodput_bytes) as sum, count(*) as n from flows group by cc order by 1"
    )
    flows = ackclock.Result.load(result).flows
    assert found.columns == ("cc", "sum", "n")
    assert found.rows == [(cc, flows.filter(flows["cc"] == cc)["goodput_bytes"].sum(), 2) for cc in ("cubic", "reno")]
    for table in ("runs", "links", "transfers", "series"):
        assert ackclock.query(result, f"select count(*) from {table}").rows == [
            (ackclock.Result.load(result).tables[table].height,)
        ]


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("drop view flows", "only reads"),
        ("select 1; select 2", "single statement"),
        ("", "single statement"),
        ("copy flows to 'x.csv'", "only reads"),
        ("select bogus from flows", "bogus"),
        ("selec 1", "syntax error"),
        ("select * from read_csv('/etc/passwd')", "/etc/passwd"),
        ("from flows select getenv('HOME')", "getenv"),
    ],
)
def test_whatever_does_not_read_the_result_is_refused(result: Path, sql: str, problem: str) -> None:
    before = sorted(result.iterdir())
    with pytest.raises(InputError, match=problem):
        ackclock.query(result, sql)
    assert sorted(result.iterdir()) == before


def test_a_directory_without_a_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no manifest\.json"):
        ackclock.query(tmp_path, "select 1")


def test_the_command_prints_tables_json_and_csv(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "select cc, null as nothing, 1/3 as third from flows where run = 0 order by id limit 1"
    assert main(["query", str(result), sql]) == 0
    text = capsys.readouterr().out
    assert "0.333333" in text
    assert "1 row" in text
    assert main(["query", str(result), sql, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"cc": "reno", "nothing": None, "third": pytest.approx(1 / 3)}]
    assert main(["query", str(result), sql, "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "cc,nothing,third"
