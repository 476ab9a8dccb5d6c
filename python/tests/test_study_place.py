"""Where a study writes: only what is known to be its own is ever replaced or deleted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ackclock.cli.app import main
from ackclock.cli.exit_codes import BAD_INPUT, OK
from studies import write_study

SECOND = """
[[scenarios]]
id = "two"
title = "alone again"
file = "one.toml"
quick = { "run.duration" = "1 s", "run.replications" = 1 }

[[tables]]
"""


def play(folder: Path, out: Path) -> int:
    return main(["study", "run", str(folder), "--quick", "--jobs", "1", "--out", str(out)])


def other(folder: Path) -> Path:
    """A second study, which differs by its name."""
    place = write_study(folder)
    return place.rename(folder / "other")


def everything(folder: Path) -> dict[str, bytes]:
    return {str(item.relative_to(folder)): item.read_bytes() for item in folder.rglob("*") if item.is_file()}


def test_the_results_of_another_study_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    second, first, out = other(tmp_path), write_study(tmp_path), tmp_path / "out"
    assert play(first, out) == OK
    before = everything(out)
    capsys.readouterr()
    assert play(second, out) == BAD_INPUT
    (out / "study.json").unlink()  # as an older version left it: the verdicts name the study as well
    assert play(second, out) == BAD_INPUT
    line = f"ackclock: {out}: holds the results of the study 'small'; give --out another name\n"
    assert capsys.readouterr().err == 2 * line
    assert everything(out) == {name: content for name, content in before.items() if name != "study.json"}


def test_what_is_not_the_studys_stays(tmp_path: Path) -> None:
    folder, out = write_study(tmp_path, ("[[tables]]", SECOND)), tmp_path / "out"
    assert play(folder, out) == OK
    strange = [out / "notes.txt", out / "tables" / "mine.csv", out / "runs" / "mine" / "data.csv"]
    for file in strange:
        file.parent.mkdir(exist_ok=True)
        file.write_text("precious", encoding="utf-8")
    assert (out / "runs" / "two" / "manifest.json").is_file()
    # A scenario, a table and a figure that the study has no more go; what it did not make does not.
    write_study(tmp_path, ('id = "main"', 'id = "new"'), ('id = "window"', 'id = "windows"'))
    assert play(folder, out) == OK
    assert all(file.read_text(encoding="utf-8") == "precious" for file in strange)
    assert {item.name for item in (out / "runs").iterdir()} == {"one", "mine"}
    assert {item.name for item in (out / "tables").iterdir()} == {"new.csv", "new.txt", "mine.csv"}
    assert not (out / "figures" / "window.svg").exists()
    assert json.loads((out / "study.json").read_text(encoding="utf-8"))["scenarios"] == ["one"]


@pytest.mark.parametrize(
    ("there", "message"),
    [
        ("runs/notes.txt", "runs/notes.txt: is a file, not the runs of a scenario"),
        ("runs/one", "runs/one: is a file, not the runs of a scenario"),
        ("runs/one/notes.txt", "runs/one: holds something other than this study's runs"),
        ("runs/else/notes.txt", "runs/else: holds something other than this study's runs"),
        ("runs", "runs: is a file, not the runs of a scenario"),
        ("notes.txt", "out: holds something other than a study's results"),
        ("claims.json", "out: holds something other than a study's results"),
        ("study.json", "out: holds something other than a study's results"),
        ("tables", "tables: is a file, not a directory"),
    ],
)
def test_is_refused_before_anything_is_played(
    there: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = write_study(tmp_path), tmp_path / "out"
    (out / there).parent.mkdir(parents=True)
    (out / there).write_text('{"claims": []}', encoding="utf-8")
    assert play(folder, out) == BAD_INPUT
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{message}; give --out another name" in said
    assert list(everything(out)) == [there]


def test_results_of_before_there_was_a_record_are_taken_over(tmp_path: Path) -> None:
    folder, out = write_study(tmp_path), tmp_path / "out"
    assert play(folder, out) == OK
    journal = (out / "runs" / "one" / "runs.journal").read_bytes()
    (out / "study.json").unlink()
    assert play(folder, out) == OK
    assert (out / "runs" / "one" / "runs.journal").read_bytes() == journal
    assert json.loads((out / "study.json").read_text(encoding="utf-8"))["study"] == "small"


def test_nothing_is_left_of_what_was_refused(tmp_path: Path) -> None:
    folder, out = write_study(tmp_path), tmp_path / "out"
    assert main(["study", "run", str(folder), "--cc", "vegas", "--out", str(out)]) == BAD_INPUT
    assert not out.exists()
    assert {item.name for item in tmp_path.iterdir()} == {"small"}
