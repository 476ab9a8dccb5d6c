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


def test_a_table_that_nobody_asked_for_says_so(result: Path, tmp_path: Path) -> None:
    assert ackclock.query(result, "select * from series where value < 0").notes == ()
    bare = tmp_path / "bare"
    ackclock.run("scenarios/single-flow.toml", set={"run.duration": "1 s"}, out=bare, jobs=1)
    (note,) = ackclock.query(bare, "select * from series").notes
    assert note.startswith("series has no rows: nothing was sampled; a scenario's [probes]")
    assert ackclock.query(bare, "select * from flows where goodput_bps < 0").notes == ()


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


def test_one_form_of_output_is_asked_for(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", str(result), "select 1", "--csv", "--json"]) == 2
    assert "ackclock: --csv: it is printed in one form; leave out --json or --csv" in capsys.readouterr().err


def test_json_is_whole_whatever_the_values(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = (
        "select 0.5 as half, count(*) * 1.0 as n, {'a': 0.25, 'b': [1.5]} as nested, date '2020-01-02' as day, "
        "time '10:00' as hour, timestamp '2020-01-02 03:04:05' as at, map{1: 0.5} as map, 'nan'::double as nan "
        "from flows"
    )
    assert main(["query", str(result), sql, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "half": 0.5, "n": 4.0, "nested": {"a": 0.25, "b": [1.5]}, "day": "2020-01-02", "hour": "10:00:00",
            "at": "2020-01-02 03:04:05", "map": {"1": 0.5}, "nan": None,
        }
    ]  # fmt: skip


def test_points_in_time_with_a_zone_need_nothing_more(result: Path) -> None:
    instant = "timestamptz '2020-01-02 03:04:05+02'"
    found = ackclock.query(result, f"select {instant} as x, [{instant}] as x, run from runs order by run desc")
    assert found.columns == ("x", "x", "run")
    assert found.rows == [("2020-01-02 01:04:05+00", "['2020-01-02 01:04:05+00']", run) for run in (1, 0)]


def test_json_has_no_two_columns_of_a_name(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "select 'a' as x, 1 as x"
    assert main(["query", str(result), sql, "--json"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "two columns are called 'x'" in said.err
    assert main(["query", str(result), sql, "--csv"]) == 0
    assert capsys.readouterr().out == "x,x\na,1\n"


@pytest.mark.parametrize(
    ("sql", "remedy"),
    [
        (
            "select * from flow",
            r"no table 'flow'; the tables are runs, flows, .*, series, pages, objects, .*, measures$",
        ),
        ("select bogus from flows", r"docs/results\.md has the columns$"),
        ("selec 1", "correct the statement$"),
        ("select foo(1)", "correct the statement$"),
        ("select * from read_csv('/etc/passwd')", "only the result can be read; the tables are runs, "),
    ],
)
def test_a_refusal_says_what_to_do(result: Path, sql: str, remedy: str) -> None:
    with pytest.raises(InputError, match=remedy) as caught:
        ackclock.query(result, sql)
    assert "\n" not in str(caught.value)


def test_altered_tables_are_refused(result: Path) -> None:
    table = ackclock.Result.load(result).flows
    table.with_columns(goodput_bps=table["goodput_bps"] * 2).write_parquet(result / "flows.parquet")
    with pytest.raises(InputError, match=r"flows\.parquet: is not the file its manifest describes") as caught:
        ackclock.query(result, "select avg(goodput_bps) from FLOWS")
    with pytest.raises(InputError) as loaded:
        ackclock.Result.load(result)
    assert str(caught.value) == str(loaded.value), "as other commands say it"
    assert ackclock.query(result, "select count(*) from runs").rows == [(2,)], "a table that is not asked for"
    (result / "runs.parquet").unlink()
    with pytest.raises(InputError, match="is missing"):
        ackclock.query(result, "select count(*) from runs")


def test_wide_answers_are_not_folded(
    result: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "select * from flows order by run, id limit 2"
    assert main(["query", str(result), sql]) == 0
    header, _, first, second, count = capsys.readouterr().out.splitlines()
    columns = ackclock.Result.load(result).flows.columns
    assert header.split() == columns
    assert len(header) == len(first) == len(second) > 200
    assert count == "2 rows"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["query", str(result), sql]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if line.startswith("row ")] == ["row 1", "row 2"]
    assert [line.split()[0] for line in shown[1 : 1 + len(columns)]] == columns
