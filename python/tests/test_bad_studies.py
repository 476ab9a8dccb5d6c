"""Selections that nothing can fill, code that breaks, and numbers that cannot be read: named, not passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from ackclock import study
from ackclock.cli.app import main
from ackclock.cli.exit_codes import BAD_INPUT, FAILED, OK
from ackclock.errors import InputError
from ackclock.study import reader
from studies import CLAIMS, write_study

SELECTIONS = [
    ('each = ["cc"]', 'each = ["ccc"]', "tables.0.rows.1.each: unknown swept key 'ccc' (line 22); did you mean 'cc'?"),
    ('{ cc = "reno" }', '{ cc = "renno" }', "tables.0.rows.0.where.cc: unknown value of cc 'renno' (line 22); did you"),
    ('{ cc = "reno" }', '{ rtt = "1 ms" }', "tables.0.rows.0.where.rtt: unknown swept key 'rtt' (line 22); known: cc"),
    ('"cwnd", by = "cc"', '"cwnd", by = "cd"', "figures.0.series.0.by: unknown swept key 'cd' (line 33); known: cc"),
    ('over = "cc"', 'over = "cd"', "figures.1.series.0.over: unknown swept key 'cd' (line 42); known: cc"),
    ('"sweep"', '"sweep"\npanels = "x"', "figures.1.panels: unknown swept key 'x' (line 40); known: cc"),
    (
        'data = "cwnd"',
        'data = "cwdn"',
        "figures.0.series.0.data: unknown series 'cwdn' (line 33); did you mean 'cwnd'?",
    ),
    (
        'data = "cwnd"',
        'data = "sent"',
        "figures.0.series.0.data: the scenario 'one' does not record sent (line 33); add",
    ),
    ('data = "cwnd"', 'data = "cwnd", of = "5"', "figures.0.series.0.of: unknown flow '5' (line 33); known: 0"),
    (
        'data = "cwnd"',
        'data = "queue", of = "botlneck"',
        "series.0.of: unknown link 'botlneck' (line 33); did you mean",
    ),
    ('year = "2020"', 'yer = "2020"', "citation.yer: unknown key 'yer' (line 7); did you mean 'year'?"),
    ('label = "reno"', 'lable = "reno"', "tables.0.rows.0.lable: unknown key 'lable' (line 22); did you mean 'label'?"),
    (
        'kind = "time"',
        'kind = "time"\nbars = true',
        "figures.0.bars: bars are values of a sweep from 0 (line 31); write",
    ),
    (
        '"cwnd", by = "cc"',
        '"cwnd", by = "cc", steps = { a = 1 }',
        "figures.0.series.0.steps: names are of the steps of",
    ),
    ("digits = 2", "digits = -2", "tables.0.columns.0.digits: -2 is out of range (line 21); give 0 to 15"),
    ("scale = 1e-6, digits", "scale = 0, digits", "tables.0.columns.0.scale: 0.0 is no scale (line 21); give a number"),
    ("from = 0", "from = 5, to = 1", "figures.0.x.from: 5 is not below 1 (line 31); give the lower end first"),
    ("from = 0", "from = 0, log = true", "figures.0.x.from: a logarithmic axis has no 0 (line 31); give more than 0"),
    (
        '"run.seed" = 3',
        '"topology.queue" = { kind = "codel", target = "1 s" }',
        "scenarios.0.set.topology.queue: must be shorter than 'interval'; RFC 8289",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), SELECTIONS, ids=[case[2][:50] for case in SELECTIONS])
@pytest.mark.parametrize("command", ["run", "show"])
def test_is_refused_before_anything_is_run(
    old: str, new: str, message: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_study(tmp_path, (old, new))
    options = ["--quick", "--out", str(tmp_path / "out")] if command == "run" else []
    assert main(["study", command, str(folder), *options]) == BAD_INPUT
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith(f"ackclock: {folder / 'study.toml'}: ")
    assert message in said.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("expected.csv", b"\xff\xfe", "expected.csv: not a text file; give CSV"),
        ("expected.csv", b"", "expected.csv: has no rows; give at least one"),
        ("expected.csv", b"row,goodput\nreno,1,2\n", "expected.csv: the row 'reno' has more cells than the header; "),
        ("expected.csv", b"row,goodput\nrenno,1\n", "study.toml: tables.0.references.paper: unknown row 'renno' (line"),
        ("expected.toml", b"x = [", "expected.toml: not valid TOML: "),
        (
            "expected.toml",
            b"reno = 1",
            "expected.toml: 'reno' is not a table; write [reno] with measure = number below",
        ),
    ],
)
def test_numbers_of_others(
    name: str, content: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_study(tmp_path, ("expected.csv", name))
    (folder / name).write_bytes(content)
    assert main(["study", "run", str(folder), "--quick", "--out", str(tmp_path / "out")]) == BAD_INPUT
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert message in said


def broken(folder: Path, old: str, new: str) -> Path:
    """The small study with a text of its claims replaced."""
    place = write_study(folder)
    text = CLAIMS.replace("LIMIT", "5.0")
    assert old in text
    (place / "claims.py").write_text(text.replace(old, new), encoding="utf-8")
    return place


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('cc="cubic"', 'cc="cubix"', "an error: runs of 'one': unknown value of cc 'cubix'; did you mean 'cubic'?"),
        ('cc="cubic"', 'ccc="cubic"', "an error: runs of 'one': unknown swept key 'ccc'; did you mean 'cc'?"),
        (
            "runs = results",
            'results["one"].steps("x"); runs = results',
            "an error: runs of 'one': unknown swept key 'x'",
        ),
        (
            'runs = results["one"]',
            'runs = results["on"]',
            "an error: results: unknown scenario 'on'; did you mean 'one'?",
        ),
        ("return at_least(runs", "return None and at_least(runs", "TypeError: it returned None, not a Verdict"),
    ],
)
def test_a_claim_that_selects_what_is_not_there_fails(
    old: str, new: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = broken(tmp_path, old, new)
    assert main(["study", "run", str(folder), "--quick", "--jobs", "1", "--out", str(tmp_path / "out")]) == FAILED
    said = capsys.readouterr()
    assert f"claims.py: the check of A2 raised {words}" in said.err
    assert "A1" in said.out


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('["goodput_bps"]', '["godput_bps"]', "it raised KeyError: 'godput_bps'; correct the measure"),
        ("run.flow()", 'run.flow("9")', "unknown flow '9'; known: 0"),
        ("run.flow()", 'run.link("reversed")', "unknown link 'reversed'; did you mean 'reverse'?"),
        ("run.flow()", 'run.series("cwdn")', "unknown series 'cwdn'; did you mean 'cwnd'?"),
    ],
)
def test_a_measure_that_breaks_is_named(
    old: str, new: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = broken(tmp_path, old, new)
    assert main(["study", "run", str(folder), "--quick", "--jobs", "1", "--out", str(tmp_path / "out")]) == BAD_INPUT
    assert capsys.readouterr().err == f"ackclock: claims.py: goodput: {words}\n"


def test_what_a_quick_run_leaves_out_may_be_selected(tmp_path: Path) -> None:
    for text in ('cc = "reno"', 'cc = ["reno"]'):
        folder = write_study(tmp_path, ("quick = { ", f"quick = {{ {text}, "))
        report = study.run(folder, quick=True, jobs=1)
        runs = report.results["one"]
        assert len(runs.where(cc="cubic")) == 0
        assert runs.where(cc="cubic").interval(report.code.measures["goodput"]).value is None
        assert [item.broken for item in report.claims] == ["", ""]
        with pytest.raises(InputError, match="unknown value of cc 'bic'"):
            runs.where(cc="bic")


def test_no_two_keys_of_a_table_are_taken_for_each_other() -> None:
    tables = [
        ["title", "summary", "citation", "scenarios", "tables", "figures"],
        ["authors", "title", "year", "note"],
        ["id", "title", "file", "scenario", "set", "quick"],
        ["id", "title", "paper", "columns", "rows", "references"],
        ["measure", "label", "scale", "digits", "median"],
        ["label", "scenario", "where", "each"],
        ["id", "title", "paper", "kind", "x", "y", "panels", "series", "marks"],
        ["label", "scale", "log", "from", "to"],
        ["label", "scenario", "where", "data", "of", "bin", "over", "by", "panel"],
        ["label", "x", "y", "panel"],
    ]
    for keys in tables:
        for key in keys:
            assert [other for other in keys if reader.alike(other, key)] == [key]


def test_the_study_is_fine_without_a_mistake(tmp_path: Path) -> None:
    assert main(["study", "show", str(write_study(tmp_path))]) == OK
