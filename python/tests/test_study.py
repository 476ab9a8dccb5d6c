"""Studies: verdicts, what study.toml may say, the command from end to end, and the studies of the package."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ackclock import Result, study
from ackclock.cli.app import main
from ackclock.cli.exit_codes import BAD_INPUT, FAILED, FINDING, INTERRUPTED, OK
from ackclock.errors import InputError
from ackclock.stats import Interval, mean_interval, median_interval, ratio_interval
from ackclock.study import (
    Verdict,
    at_least,
    at_most,
    between,
    every,
    figures,
    holds,
    labelled,
    output,
    whichever,
    within,
)
from ackclock.study.figures import number
from ackclock.study.tables import aligned, markdown, shown
from ackclock.study.verdict import soft
from shared import ROOT
from studies import write_study

NOTHING = Interval(None, None, None, 0)


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (Interval(10.0, None, None, 1), "pass"),
        (Interval(12.0, None, None, 1), "fail"),
        (Interval(10.0, 9.5, 10.5, 5), "pass"),
        (Interval(10.0, 8.0, 12.0, 5), "inconclusive"),
        (Interval(11.2, 10.9, 11.5, 5), "inconclusive"),
        (Interval(11.5, 11.1, 11.9, 5), "fail"),
        (Interval(8.0, 7.5, 8.5, 5), "fail"),
        (NOTHING, "inconclusive"),
        (10.0, "pass"),
        (math.nan, "inconclusive"),
        (None, "inconclusive"),
    ],
)
def test_the_whole_interval_decides(found: Interval | float | None, outcome: str) -> None:
    assert within(found, 10.0, relative=0.1).outcome == outcome
    assert within(found, 10.0, absolute=1.0).outcome == outcome
    assert between(found, 9.0, 11.0).outcome == outcome


def test_bounds_on_one_side() -> None:
    spread = Interval(3.0, 2.5, 3.5, 10)
    assert [at_least(spread, bound).outcome for bound in (2.0, 3.0, 4.0)] == ["pass", "inconclusive", "fail"]
    assert [at_most(spread, bound).outcome for bound in (2.0, 3.0, 4.0)] == ["fail", "inconclusive", "pass"]
    assert at_least(spread, 2.0).interval == (2.5, 3.5)
    assert at_least(3.0, 2.0).interval is None


def test_the_worst_of_several_decides() -> None:
    good, open_, bad = (labelled(name, at_least(value, 2.0)) for name, value in (("a", 3.0), ("b", None), ("c", 1.0)))
    assert every(good, good).outcome == "pass"
    assert every(good, open_).outcome == "inconclusive"
    worst = every(good, open_, bad)
    assert (worst.outcome, worst.value) == ("fail", 1.0)
    assert worst.detail == "a: 3; b: there is no value [inconclusive]; c: 1 [fail]"
    assert whichever(good, bad).outcome == "inconclusive"
    assert whichever(bad, bad).outcome == "fail"
    assert every().outcome == "inconclusive"
    assert soft(worst).outcome == "inconclusive"
    assert soft(good).outcome == "pass"
    assert [holds(True).outcome, holds(False).outcome] == ["pass", "fail"]


def test_intervals() -> None:
    # t(0.975, 2) = 4.302653; s = 1; half-width t / sqrt(3).
    found = mean_interval([1.0, 2.0, 3.0, None])
    assert found.value == 2.0
    assert found.high == pytest.approx(2.0 + 4.302653 / math.sqrt(3), rel=1e-6)
    # Geometric: 2 and 8 make 4, and the interval is symmetric in the logarithm.
    ratio = ratio_interval([(2.0, 1.0), (8.0, 1.0), (0.0, 1.0), (1.0, None)])
    assert ratio.n == 2
    assert ratio.value == pytest.approx(4.0)
    assert ratio.low is not None
    assert ratio.high is not None
    assert ratio.low * ratio.high == pytest.approx(16.0)
    assert ratio_interval([]) == NOTHING
    # Of ten values the 2nd and the 9th hold the median with 97.9 %, the 3rd and the 8th with 89.1 % only.
    assert median_interval(range(1, 11)) == Interval(5.5, 2.0, 9.0, 10)
    assert median_interval([3.0, 1.0, 2.0]) == Interval(2.0, 1.0, 3.0, 3)
    assert median_interval([None]) == NOTHING
    assert median_interval([4.0]).ends == (4.0, 4.0)
    assert ratio_interval([(3.0, 2.0)]).ends == pytest.approx((1.5, 1.5))
    assert mean_interval([1.0, 3.0]).scaled(2.0).value == 4.0


def test_texts() -> None:
    assert shown(Interval(10.0, 8.8, 11.2, 3), 1) == "10.0 ± 1.2"
    assert shown(Interval(10.0, None, None, 1), 0) == "10"
    assert shown(NOTHING, 3) == "-"
    assert shown(Interval(10.0, 9.9, 20.0, 9), 1) == "10.0 (9.9 to 20.0)"
    assert aligned([["", "x"], ["long", "1"]]) == "      x\nlong  1\n"
    assert markdown([["a|b", "x"], ["c", "1"]]) == "| a\\|b | x |\n| --- | --: |\n| c | 1 |\n"
    assert [number(text) for text in ("10 ms", "2 Mbit/s", "1 kB", "0.2 BDP", 3, "reno")] == [
        0.01, 2e6, 1000.0, 0.2, 3.0, None,
    ]  # fmt: skip


CASES = [
    ('title = "A small study"\n', "", "study.toml: title: missing key 'title'; add it"),
    ('summary = "Two', 'sumary = "Two', "sumary: unknown key 'sumary' (line 2); did you mean 'summary'?"),
    ('year = "2020"', "year = 2020", "citation.year: 2020 is not text (line 7); write it in quotes"),
    (
        'year = "2020"',
        'year = "2020"\nnotes = "x"',
        "citation.notes: unknown key 'notes' (line 8); did you",
    ),
    ('authors = ["A. Author", "B. Author"]', "authors = [1]", "citation.authors: [1] is not a list of texts (line 5)"),
    ('file = "one.toml"', 'file = "two.toml"', "scenarios.0.file: there is no file 'two.toml' (line 12)"),
    ('file = "one.toml"', "", "scenarios.0.file: a scenario is either a file or a table"),
    ('id = "one"', 'id = "o n e"', "scenarios.0.id: 'o n e' is no id (line 10)"),
    (
        'quick = { "run.duration" = "2 s"',
        'quick = { "run.durtion" = "2 s"',
        "scenarios.0.quick.run.durtion: unknown",
    ),
    ('scenario = "one", where', 'scenario = "two", where', "tables.0.rows.0.scenario: unknown scenario 'two'"),
    (
        'where = { cc = "reno" }',
        'where = { cc = ["reno"] }',
        "rows.0.where.cc: ['reno'] is not a single value",
    ),
    ('measure = "goodput"', 'measure = "godput"', "row 'reno': unknown measure 'goodput'"),
    (
        'references = { paper = "expected.csv" }',
        'references = { paper = "x.csv" }',
        "references.paper: there is no",
    ),
    (
        'data = "goodput", over',
        'data = "godput", over',
        "figures.1.series.0.data: unknown measure of claims.py",
    ),
    (', over = "cc"', "", "figures.1.series.0.over: missing key 'over' (line 42); name"),
    ('kind = "sweep"', 'kind = "swep"', "figures.1.kind: unknown kind 'swep'"),
    ('"paper", y = 30', '"paper", y = 30, x = 1', "figures.0.marks.0.x: a mark is at an x or a y"),
    ('id = "goodput"', 'id = "window"', "figures.1.id: 'window' is there twice"),
    ("[citation]", "[citation", "study.toml: not valid TOML: "),
]


@pytest.mark.parametrize(("old", "new", "message"), CASES, ids=[case[2][:50] for case in CASES])
def test_a_mistake_is_one_line_with_file_and_key(
    old: str, new: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_study(tmp_path, (old, new))
    assert main(["study", "run", str(folder), "--quick", "--out", str(tmp_path / "out")]) == BAD_INPUT
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith(f"ackclock: {folder / 'study.toml'}: ")
    assert message in said.err
    assert not (tmp_path / "out").exists()


def test_mistakes_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown study 'blbe-slow-strt'; did you mean 'blbe-slow-start'"):
        study.load("blbe-slow-strt")
    with pytest.raises(InputError, match=r"there is no study\.toml in it"):
        study.load(tmp_path)
    folder = write_study(tmp_path)
    (folder / "expected.csv").write_text("row,goodput\nreno,fast\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"expected\.csv: reno\.goodput: 'fast' is not a number"):
        study.load(folder)
    write_study(tmp_path)
    (folder / "claims.py").write_text("import ackclock\n\n1 / 0\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"claims\.py: cannot be imported \(ZeroDivisionError: .*\) \(line 3\)"):
        study.load(folder)
    (folder / "claims.py").write_text("pass\n", encoding="utf-8")
    with pytest.raises(InputError, match="has no claim"):
        study.load(folder)
    (folder / "claims.py").unlink()
    with pytest.raises(InputError, match=r"there is no claims\.py"):
        study.load(folder)


def test_a_name_has_the_same_place_in_every_panel(tmp_path: Path) -> None:
    folder = write_study(tmp_path)
    scenario = folder / "one.toml"
    text = scenario.read_text().replace('rtt = "20 ms"', 'rtt = ["20 ms", "40 ms"]')
    scenario.write_text(f'{text}\n[sweep]\nzip = [["topology.rtt", "cc"]]\n')
    declared = folder / "study.toml"
    panels = 'over = "cc" }]\npanels = "topology.rtt"\n'
    declared.write_text(declared.read_text().replace('over = "cc" }]\n', panels))
    report = study.run(folder, quick=True, jobs=1)
    spec = next(item for item in report.study.figures if item.id == "goodput")
    chart = figures.build(spec, report.results, report.code.measures)
    assert chart.x.ticks == ("reno", "cubic")
    assert [(panel.title, panel.curves[0].x) for panel in chart.panels] == [
        ("RTT = 20 ms", (0.0,)),
        ("RTT = 40 ms", (1.0,)),
    ]


def test_a_study_that_was_interrupted_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = write_study(tmp_path), tmp_path / "results"
    assert main(["study", "run", str(folder), "--out", str(out), "--json"]) == OK
    first = json.loads(capsys.readouterr().out)
    journal = (out / "runs" / "one" / "runs.journal").read_bytes()
    for item in out.iterdir():  # as if it had been killed before anything but the runs was written
        if item.name != "runs":
            shutil.rmtree(item) if item.is_dir() else item.unlink()
    assert main(["study", "run", str(folder), "--out", str(out), "--json"]) == OK
    assert json.loads(capsys.readouterr().out)["claims"] == first["claims"]
    assert (out / "runs" / "one" / "runs.journal").read_bytes() == journal, "nothing is played again"
    assert {item.name for item in (out / "runs").iterdir()} == {"one"}


def test_as_many_runs_are_counted_as_show_says_where_some_are_captured_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    captured = '[[scenarios]]\nid = "seen"\ntitle = "again"\nfile = "one.toml"\ncaptured = true\n\n[[tables]]'
    folder = write_study(tmp_path, ("[[tables]]", captured))
    assert main(["study", "show", str(folder), "--json"]) == OK
    shown = sum(scenario["quick_runs"] for scenario in json.loads(capsys.readouterr().out)["scenarios"])
    told: list[tuple[int, int]] = []
    report = study.run(folder, quick=True, jobs=1, progress=lambda *each: told.append(each))
    assert {total for _, total in told} == {shown}
    assert sum(map(len, report.plans.values())) == shown
    finished = [each for each, _ in told]
    assert finished == sorted(finished)
    assert finished[-1] == shown


def test_ctrl_c_says_that_the_runs_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out = write_study(tmp_path), tmp_path / "results"

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(output, "write", interrupted)
    assert main(["study", "run", str(folder), "--jobs", "1", "--out", str(out)]) == INTERRUPTED
    assert f"runs are kept in {out / 'runs'}; the same command" in capsys.readouterr().err
    assert (out / "runs" / "one" / "runs.journal").exists()


def test_the_report_says_how_it_was_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = write_study(tmp_path), tmp_path / "results"
    reports = []
    for quick in (["--quick"], [], []):  # the last finds everything played
        assert main(["study", "run", str(folder), "--jobs", "1", "--out", str(out), "--json", *quick]) == OK
        wall = json.loads(capsys.readouterr().out)["wall_s"]
        record = json.loads((out / "claims.json").read_text(encoding="utf-8"))
        known = Result.load(out / "runs" / "one").manifest
        origin = record["provenance"]
        assert {key: origin[key] for key in ("version", "engine", "host")} == {
            key: known[key] for key in ("version", "engine", "host")
        }
        assert dt.datetime.fromisoformat(origin["created"]).utcoffset() == dt.timedelta(0)
        kind, each = ("quick", 2) if quick else ("full", 3)
        assert origin["scenarios"] == {"one": {"runs": 2 * each, "replications": each, "seeds": [3]}}
        assert origin["runs"] == 2 * each
        assert origin["runs_wall_s"] == pytest.approx(sum(run["wall_s"] for run in known["runs"]), abs=1e-3)
        assert (record["quick"], record["wall_s"]) == (bool(quick), wall)
        text = (out / "report.md").read_text(encoding="utf-8")
        for part in (
            f"- ackclock {known['version']}, engine of commit {known['engine']['commit']}, ",
            f"- host: {known['host']['cores']} processors (",
            f"- {kind} run: {2 * each} runs of 1 scenario, {each} replications of every point\n",
            f"- date: {origin['created']}\n",
            f"- wall time: {wall:.1f} s of the command that finished it; ",
        ):
            assert part in text
        assert ("no evidence" in text) == bool(quick)
        reports.append([line for line in text.splitlines() if not line.startswith(("- date: ", "- wall time: "))])
    assert reports[1] == reports[2], "but for date and wall time"


def test_run_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = write_study(tmp_path), tmp_path / "results"
    assert main(["study", "run", str(folder), "--out", str(out)]) == OK
    said = capsys.readouterr()
    assert said.err == ""
    for text in ("A1", "pass", "inconclusive (soft)", f"tables: {out / 'tables'} (1", "claims: 1 pass, 1 inconclusive"):
        assert text in said.out
    assert {item.name for item in out.iterdir()} == {
        "claims.json", "report.md", "figures", "runs", "study.json", "tables",
    }  # fmt: skip
    assert {item.name for item in (out / "figures").iterdir()} == {
        f"{name}.{kind}" for name in ("window", "goodput") for kind in ("csv", "png", "svg")
    }
    table = pl.read_csv(out / "tables" / "main.csv")
    assert table["row"].to_list() == ["reno", "reno", "cubic"]
    assert table["paper"].to_list() == [9.3, 9.3, None]
    assert table["n"].to_list() == [3, 3, 3]
    assert "reno" in (out / "tables" / "main.txt").read_text(encoding="utf-8")
    assert Result.load(out / "runs" / "one").manifest["runs"][0]["seed"] == 3
    curves = pl.read_csv(out / "figures" / "goodput.csv")
    assert curves["x"].to_list() == ["reno", "cubic"]
    assert (curves["low"] < curves["y"]).all()
    # The same again gives the same.
    before = (out / "figures" / "window.svg").read_bytes()
    assert main(["study", "run", str(folder), "--out", str(out)]) == OK
    assert (out / "figures" / "window.svg").read_bytes() == before


def answer(capsys: pytest.CaptureFixture[str], code: int, *arguments: str | Path) -> Any:
    assert main([*map(str, arguments), "--json"]) == code
    said = capsys.readouterr()
    assert said.out.count("\n") == 1
    return json.loads(said.out)


def test_json_is_one_object_and_a_failed_claim_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = write_study(tmp_path, limit="50.0")
    found = answer(capsys, FINDING, "study", "run", folder, "--jobs", "1")
    assert set(found) == {"study", "quick", "claims", "readings", "failed", "wall_s"}
    assert (found["study"], found["failed"]) == ("small", [])
    first, second = found["claims"]
    keys = {
        "id",
        "statement",
        "unit",
        "paper",
        "value",
        "more",
        "interval",
        "verdict",
        "conclusion",
        "origin",
        "readings",
        "soft",
    }
    assert set(first) == keys
    assert [item["soft"] for item in found["claims"]] == [False, True], "which of them decides the exit code"
    assert (first["id"], first["paper"], first["verdict"]) == ("A1", 9.5, "fail")
    assert first["interval"][0] < first["value"] < first["interval"][1]
    assert (second["paper"], second["verdict"]) == ("much", "inconclusive")
    # What decided is in the report.
    report = (tmp_path / "results" / "small" / "report.md").read_text(encoding="utf-8")
    assert re.search(r"^- A1\n  - both: 9\.\d+ \(.* to .*\) \[fail\]$", report, re.MULTILINE)
    # Without --out there is a place of its own for a quick run, which contradicts nothing.
    quick = answer(capsys, OK, "study", "run", folder, "--quick", "--jobs", "1")
    assert [item["conclusion"] for item in quick["claims"]] == ["not judged", "not judged"]
    assert (tmp_path / "results" / "small-quick" / "report.md").is_file()
    assert len(Result.load(tmp_path / "results" / "small-quick" / "runs" / "one").runs) == 4


def test_a_check_that_raises_is_heard_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_study(tmp_path, limit='{}["two"]')
    assert main(["study", "run", str(folder), "--quick", "--out", str(tmp_path / "out")]) == FAILED
    said = capsys.readouterr()
    assert "the check of A1 raised KeyError: 'two'" in said.err
    assert "A2" in said.out
    assert "the check raised KeyError" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")


def test_no_jobs_and_no_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_study(tmp_path)
    assert main(["study", "run", str(folder), "--jobs", "0", "--out", str(tmp_path / "out")]) == BAD_INPUT
    assert "jobs: 0 is too few" in capsys.readouterr().err
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert main(["study", "run", str(folder), "--out", str(tmp_path / "file")]) == BAD_INPUT
    assert "is a file, not a directory" in capsys.readouterr().err
    assert {item.name for item in tmp_path.iterdir()} == {"small", "file"}


def test_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_study(tmp_path)
    found = answer(capsys, OK, "study", "show", folder)
    assert found["scenarios"] == [{"id": "one", "title": "alone", "runs": 6, "quick_runs": 4}]
    assert [item["id"] for item in found["claims"]] == ["A1", "A2"]
    assert main(["study", "show", str(folder)]) == OK
    text = capsys.readouterr().out
    for part in ("On short paths", "at least 5.0", "A2 (soft)", "tables/main", "figures/window"):
        assert part in text


def test_claims_may_be_in_several_files(tmp_path: Path) -> None:
    folder = write_study(tmp_path)
    text = (folder / "claims.py").read_text(encoding="utf-8")
    begin = text.index("@measure")
    end = text.index("@claim")
    (folder / "measures.py").write_text(
        f"from ackclock.study import Run, measure\n\n{text[begin:end]}", encoding="utf-8"
    )
    (folder / "claims.py").write_text(f"{text[:begin]}\nfrom .measures import goodput\n{text[end:]}", encoding="utf-8")
    loaded = study.load(folder)
    assert list(loaded.code.measures) == ["goodput"]
    assert [item.id for item in loaded.code.claims] == ["A1", "A2"]
    (folder / "measures.py").write_text("1 / 0\n", encoding="utf-8")
    with pytest.raises(InputError, match="ZeroDivisionError"):
        study.load(folder)


def test_selection(tmp_path: Path) -> None:
    report = study.run(write_study(tmp_path), quick=True, jobs=1)
    runs = report.results["one"]
    assert (len(runs), runs.keys(), runs.steps("cc")) == (4, ["cc"], ["reno", "cubic"])
    with pytest.raises(InputError, match=r"^runs of 'one': unknown value of cc 'cubix'; did you mean 'cubic'\?$"):
        runs.where(cc="cubix")
    run = next(iter(runs.where({"cc": "cubic"})))
    delivered = run.series("delivered")
    assert delivered.between(1.0, 2.0) == delivered.at(2.0) - delivered.at(1.0)
    assert math.isnan(delivered.at(-1.0))
    assert len(run.series("ssthresh").time) == 0
    assert run.bottleneck["id"] == "bottleneck"
    goodput = report.code.measures["goodput"]
    reno, cubic = (runs.where(cc=name) for name in ("reno", "cubic"))
    assert (reno.difference(goodput, reno).value, reno.difference(goodput, reno).n) == (0.0, 2)
    # Runs of one replication are one value: two points of two replications are no sample of four.
    both = runs.interval(goodput)
    assert both.n == runs.median(goodput).n == 2
    assert both.value == pytest.approx(((reno.interval(goodput).value or 0) + (cubic.interval(goodput).value or 0)) / 2)
    for paired in (runs.ratio, runs.difference, reno.ratio):
        with pytest.raises(InputError, match=r"2 runs of replication 0 have a value of 'goodput'; select one swept"):
            paired(goodput, runs)
    assert runs.ratio(goodput, runs, each="cc").value == pytest.approx(1.0)
    over = [reno.ratio(goodput, cubic), cubic.ratio(goodput, reno)]
    assert (over[0].value or 0) * (over[1].value or 0) == pytest.approx(1.0)
    assert isinstance(report.claims[0].verdict, Verdict)


def test_every_study_has_a_page_and_is_found_from_the_repository() -> None:
    assert study.names()
    for name in study.names():
        loaded = study.load(name)
        assert (ROOT / "studies" / name / "study.toml").samefile(loaded.study.folder / "study.toml")
        page = (loaded.study.folder / "README.md").read_text(encoding="utf-8")
        for claim in loaded.code.claims:
            assert f"| {claim.id} |" in page, (name, claim.id)


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, OK, "study", "list")
    assert [item["study"] for item in found["studies"]] == study.names()
    assert main(["study", "list"]) == OK
    assert "blbe-slow-start" in capsys.readouterr().out


def test_blbe_slow_start_quick(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, OK, "study", "run", "blbe-slow-start", "--quick", "--out", tmp_path / "out")
    verdicts = {item["id"]: item for item in found["claims"]}
    assert verdicts["E1"]["value"] == pytest.approx(1060.07, rel=1e-5)
    assert {name for name, item in verdicts.items() if item["verdict"] == "fail"} == set()
