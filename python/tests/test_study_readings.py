"""Readings of what a paper leaves open: claims under each of them, conclusions, and what study.toml may say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ackclock import study
from ackclock.cli.app import main
from ackclock.cli.exit_codes import FINDING
from ackclock.errors import InputError
from ackclock.study import Verdict, either, readings
from ackclock.study.code import Claim
from ackclock.study.model import Citation, Reading
from ackclock.study.runner import Judged, Report, judge
from studies import write_study

PASS, FAIL, OPEN = (Verdict(outcome) for outcome in ("pass", "fail", "inconclusive"))

SHORT = """
[[scenarios]]
id = "short"
title = "a queue of three packets"
file = "one.toml"
set = { "topology.queue" = "3 packets", cc = ["reno", { name = "cubic", beta = 0.8 }] }

[[readings]]
id = "long"
title = "a queue of one BDP"
reason = "The paper says a large queue."

[[readings]]
id = "tiny"
title = "a queue of three packets"
reason = "Three was the default then."
scenarios = { one = "short" }
values = { cubic = "cubic(beta=0.8)" }

[[tables]]
"""


def with_readings(folder: Path, *replacements: tuple[str, str], limit: str = "9.0") -> Path:
    """The small study with a second reading, under which the path is not full."""
    text = SHORT
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    return write_study(folder, ("\n[[tables]]\n", text), limit=limit)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return study.run(with_readings(tmp_path_factory.mktemp("readings")), jobs=1)


def test_a_claim_is_judged_under_every_reading_that_it_depends_on(report: Report) -> None:
    first, second = report.claims
    assert {name: found.outcome for name, found in first.under.items()} == {"long": "pass", "tiny": "fail"}
    assert first.verdict.outcome == "inconclusive", "as readings do not agree"
    assert first.conclusion == "reproduced under long only"
    assert first.verdict.value == first.under["long"].value
    assert first.verdict.detail.split("; ")[1].endswith("[fail]")
    assert set(second.under) == {"long", "tiny"}, "which looks at cubic, called otherwise in the second reading"
    assert readings.support(report) == {"long": 1, "tiny": 0}
    assert readings.conclusions(report) == {"reproduced under some readings only": 1, "open": 1}


def test_swept_values_have_the_names_of_the_first_reading(report: Report) -> None:
    tiny = report.study.readings[1]
    assert report.results["short"].steps("cc") == ["reno", "cubic(beta=0.8)"]
    with report.results.under(tiny) as under:
        assert under["one"].steps("cc") == ["reno", "cubic"]
        assert [run.params["cc"] for run in under["one"].where(cc="cubic")] == ["cubic(beta=0.8)"] * 3
    assert len(report.results["one"].where(cc="cubic")) == 3


def test_a_claim_that_looks_at_nothing_that_changes_has_no_readings(report: Report) -> None:
    claim = Claim("A3", "It is.", None, "", False, lambda results: Verdict("pass", float(len(results["short"]))))
    (found,) = judge([claim], report.results, report.study.readings)
    assert (found.under, found.conclusion) == ({}, "reproduced")


def test_the_report_has_readings_by_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = with_readings(tmp_path), tmp_path / "out"
    assert main(["study", "run", str(folder), "--jobs", "1", "--out", str(out), "--json"]) == FINDING
    said = json.loads(capsys.readouterr().out)
    assert [each["id"] for each in said["readings"]] == ["long", "tiny"]
    first = said["claims"][0]
    assert (first["verdict"], first["conclusion"]) == ("inconclusive", "reproduced under long only")
    assert [first["readings"][name]["verdict"] for name in ("long", "tiny")] == ["pass", "fail"]
    page = (out / "report.md").read_text(encoding="utf-8")
    assert "- **tiny**: a queue of three packets. Three was the default then." in page
    assert "| A1 | pass: 9." in page
    assert "Most hold under long." in page
    origin = json.loads((out / "claims.json").read_text(encoding="utf-8"))["provenance"]
    assert origin["command"] == "ackclock study run small"
    assert origin["scenarios"]["one"]["seeds"] == [3]
    assert {"numpy", "polars"} <= set(origin["libraries"])
    assert main(["study", "run", str(folder), "--jobs", "1", "--out", str(out), "--quick"]) == 0
    quick = capsys.readouterr().out
    assert "A1   not judged (quick): measured 9." in quick


def test_the_same_command_gives_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, files = with_readings(tmp_path), []
    for name in ("a", "b"):
        main(["study", "run", str(folder), "--jobs", "1", "--out", str(tmp_path / name)])
        found = [path for path in (tmp_path / name).rglob("*") if path.is_file() and "runs" not in path.parts]
        kept = sorted(path for path in found if path.parent.name in ("tables", "figures"))
        files.append({path.name: path.read_bytes() for path in kept})
        claims = json.loads((tmp_path / name / "claims.json").read_text(encoding="utf-8"))
        files[-1]["claims"] = json.dumps(claims["claims"]).encode()
    capsys.readouterr()
    assert files[0] == files[1]
    assert len(files[0]) > 5


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        ((PASS, FAIL), "pass"),
        ((OPEN, FAIL), "inconclusive"),
        ((FAIL, FAIL), "fail"),
        ((OPEN, PASS), "pass"),
        ((), "inconclusive"),
    ],
)
def test_either_fails_only_where_all_do(verdicts: tuple[Verdict, ...], outcome: str) -> None:
    assert either(*verdicts).outcome == outcome


@pytest.mark.parametrize(
    ("under", "conclusion"),
    [
        ({"a": FAIL, "b": FAIL}, "refuted under every reading tried"),
        ({"a": FAIL, "b": OPEN}, "open"),
        ({"a": OPEN, "b": PASS, "c": PASS}, "reproduced under b, c only"),
        ({"a": PASS, "b": PASS}, "reproduced"),
    ],
)
def test_conclusions(under: dict[str, Verdict], conclusion: str) -> None:
    outcomes = {each.outcome for each in under.values()}
    joined = Verdict(outcomes.pop() if len(outcomes) == 1 else "inconclusive")
    claim = Claim("A1", "It is.", None, "", False, lambda _: joined)
    assert Judged(claim, joined, under=under).conclusion == conclusion
    assert Judged(claim, FAIL).conclusion == "refuted"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('scenarios = { one = "short" }\n', "", r"readings\.1\.scenarios: it changes nothing"),
        ('{ one = "short" }', '{ one = "shrt" }', r"readings\.1\.scenarios: unknown scenario 'shrt'"),
        ('id = "tiny"', 'id = "long"', r"readings\.1\.id: 'long' is there twice"),
        ('reason = "Three', 'found = true\nreason = "Three', r"readings\.1\.price: .*what it costs elsewhere"),
    ],
)
def test_readings_that_cannot_be_are_refused(tmp_path: Path, old: str, new: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        study.load(with_readings(tmp_path, (old, new)))
    said = f"{caught.value.key}: {caught.value.problem}; {caught.value.remedy}"
    assert re.search(problem, said), said


def test_a_citation_has_the_papers_own_script() -> None:
    known: dict[str, Any] = {"original_authors": ("杨征",), "original_title": "评价", "institution": "NUDT"}
    cited = Citation(("Yang Zheng",), "Evaluation", "2005", "", **known)
    assert str(cited) == "Yang Zheng, Evaluation, 杨征: 评价, NUDT, 2005"
    assert cited.short == "Yang Zheng, Evaluation, 2005"
    lines = cited.bibtex("high-bdp").splitlines()
    assert lines[:3] == ["@misc{high-bdp,", "  author = {杨征},", "  title = {评价 (Evaluation)},"]


def test_a_reading_that_was_found_says_so() -> None:
    assert Reading("a", "b", "c").found is False
    for name in study.names():
        for each in study.load(name).study.readings:
            assert each.reason.endswith("."), (name, each.id)
            assert not each.found or each.price, (name, each.id)
