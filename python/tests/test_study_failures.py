"""Runs that fail do not stop a study: the others are played and judged, and what rests on a failed one says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ackclock import study
from ackclock.cli.app import main
from ackclock.cli.exit_codes import FAILED
from studies import write_study

BREAKS = '''\
"""A controller that breaks."""

import ackclock


class Bad(ackclock.WindowBased):
    """Reno until a second has passed."""

    def grow(self, cx, ack, acked):
        if cx.now > 1.0:
            raise ValueError("no idea")
        self.cwnd += acked / self.cwnd

    def reduce(self, cx, signal):
        return 0.5 * self.cwnd
'''
BAD = "python:mine:Bad"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(BREAKS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return write_study(tmp_path, ("set = {", 'extend = { cc = ["cc"] }\nset = {'))


def played(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[dict[str, Any], str]:
    command = ["study", "run", str(folder), "--quick", "--jobs", "1", "--out", "out", "--json", "--cc", BAD, *options]
    assert main(command) == FAILED
    said = capsys.readouterr()
    return json.loads(said.out), said.err


def test_the_others_are_played_and_judged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, said = played(folder, capsys)
    assert len(found["failed"]) == 2
    first = found["failed"][0]
    assert (first["scenario"], first["run"], first["replication"]) == ("one", 4, 0)
    assert first["params"] == {"cc": BAD}
    assert "grow raised ValueError: no idea" in first["problem"]
    assert f"one, cc={BAD}: run 4 and 1 more failed: {BAD}, flow 0" in said
    # A1 is about all runs, and so about those that failed; A2 names whom it compares.
    verdicts = {item["id"]: item for item in found["claims"]}
    assert verdicts["A1"]["verdict"] == "inconclusive"
    assert verdicts["A1"]["value"] is not None
    assert verdicts["A2"]["verdict"] == "inconclusive"  # soft: it is wrong
    record = json.loads(Path("out/claims.json").read_text(encoding="utf-8"))
    details = {item["id"]: item["detail"] for item in record["claims"]}
    assert details["A1"].startswith(f"2 of its runs failed: one, run 4: {BAD}, flow 0")
    assert "failed" not in details["A2"]
    assert record["failed"] == found["failed"]


def test_tables_and_the_report_say_which(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    played(folder, capsys)
    table = pl.read_csv("out/tables/main.csv")
    assert table["row"].to_list() == ["reno", "reno", "cubic", BAD]
    assert table["n"].to_list() == [2, 2, 2, 0]
    assert table["failed"].to_list() == [0, 0, 0, 2]
    assert table["value"].to_list()[3] is None
    text = Path("out/tables/main.txt").read_text(encoding="utf-8")
    assert f"{BAD}: 2 of its runs failed: one, run 4" in text
    report = Path("out/report.md").read_text(encoding="utf-8")
    assert "## Failed runs" in report
    assert "- quick run: 6 runs, of which 2 failed, of 1 scenario, 2 replications of every point\n" in report
    assert f"| one | 2 | cc={BAD} | {BAD}, flow 0" in report
    assert Path("out/figures/goodput.svg").is_file()


def test_the_same_again_tries_them_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    played(folder, capsys)
    Path("mine.py").write_text(BREAKS.replace("> 1.0", "> 100.0"), encoding="utf-8")
    assert main(["study", "run", str(folder), "--quick", "--out", "out", "--cc", BAD, "--jobs", "2"]) == 0
    assert "failed" not in capsys.readouterr().err
    assert pl.read_csv("out/tables/main.csv")["n"].to_list() == [2, 2, 2, 2]


def test_from_python_without_a_directory(folder: Path) -> None:
    report = study.run(folder, quick=True, jobs=1, cc=BAD)
    assert report.failed
    assert [failure.run for failure in report.failures] == [4, 5]
    assert report.results["one"].where(cc=BAD).failed == report.failures
    assert report.results["one"].where(cc="reno").failed == ()
    assert report.results["one"].steps("cc") == ["reno", "cubic", BAD]
    assert [len(report.results["one"].where(cc=name)) for name in ("reno", BAD)] == [2, 0]


def test_a_study_of_which_everything_fails(folder: Path) -> None:
    scenario = folder / "one.toml"
    scenario.write_text(scenario.read_text().replace('cc = ["reno", "cubic"]', f'cc = ["{BAD}"]'), encoding="utf-8")
    declared = folder / "study.toml"
    text = declared.read_text().replace('where = { cc = "reno" }', f'where = {{ cc = "{BAD}" }}')
    declared.write_text(text.replace('references = { paper = "expected.csv" }', ""), encoding="utf-8")
    claims = folder / "claims.py"
    claims.write_text(claims.read_text().replace('"cubic"', f'"{BAD}"').replace('"reno"', f'"{BAD}"'), encoding="utf-8")
    report = study.run(folder, quick=True, jobs=1)
    assert len(report.failures) == 2
    for item in report.claims:
        assert item.verdict.outcome == "inconclusive"
        assert "2 of its runs failed" in item.verdict.detail
        assert not item.broken
