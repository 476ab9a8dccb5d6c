"""What a study that was run says: claims last, in two lines each, and an exit code."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ackclock import InputError, study
from ackclock.cli.app import main
from ackclock.cli.exit_codes import FAILED, FINDING, OK
from ackclock.study import warned, wording
from ackclock.study.code import Claim, claim
from ackclock.study.runner import Judged
from ackclock.study.verdict import Verdict
from shared import ROOT
from studies import write_study


def judged(verdict: Verdict, *, paper: float | str | None = None, unit: str = "", soft: bool = False) -> Judged:
    text = "A sentence of the paper that is so long that it does not fit a line, as some do. Value: what is measured."
    return Judged(Claim("A1", text, paper, "", soft, lambda _: verdict, unit), verdict)


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (Verdict("pass", 1060.0742, None), "1060 kbit/s"),
        (Verdict("pass", 99.0, None), "99 kbit/s"),
        (Verdict("pass", 901.23, (563.4, 1060.1)), "901 (563 to 1060) kbit/s"),
        (Verdict("pass", 9.41234, (9.38, 9.45)), "9.412 (9.380 to 9.450) kbit/s"),
        (Verdict("pass", 147.5669, (147.56688, 147.56692)), "147.57 kbit/s"),
        (Verdict("pass", 0.0234, (-12.0, 12.0)), "0.023 (-12.000 to 12.000) kbit/s"),
        (Verdict("pass", 1.76e-5, None), "1.76e-05 kbit/s"),
        (Verdict("pass", 0.0, None), "0 kbit/s"),
        (Verdict("inconclusive", 510.0, (510.0, None), more=True), "more than 510 (510 or more) kbit/s"),
        (Verdict("inconclusive", None), "-"),
    ],
)
def test_values_are_rounded_by_their_intervals_and_have_units(verdict: Verdict, said: str) -> None:
    assert wording.measured(judged(verdict, unit="kbit/s")) == said


def test_the_papers_value_is_of_the_same_quantity_or_a_dash() -> None:
    passed = Verdict("pass", 3.0)
    assert wording.paper(judged(passed, paper=25 / 8, unit="times").claim) == "× 3.125"
    assert wording.paper(judged(passed, paper=1, unit="times").claim) == "× 1", "and not 1 times"
    assert wording.measured(judged(Verdict("pass", 9.0, (9.0, None), more=True), unit="times")).startswith(
        "more than × 9"
    )
    assert wording.paper(judged(passed, paper="grows", unit="times").claim) == "-"
    assert wording.paper(judged(passed, unit="times").claim) == "-"


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("width", [80, 100])
def test_a_claim_takes_two_lines_that_fit(width: int, quick: bool) -> None:
    long = judged(Verdict("inconclusive", 0.33088, (0.1, 0.6)), paper=0.45, unit="s", soft=True)
    for item in (long, judged(Verdict("pass", 1.0), paper=1, unit="times")):
        short = replace(item, claim=replace(item.claim, short="A sentence that is shorter."))
        first, second = wording.lines(short, quick=quick, width=width)
        assert max(map(len, (first, second))) <= width
        assert f"paper {wording.paper(item.claim)}" in f"{first}\n{second}"
        assert wording.measured(item) in first
        assert (wording.NO_EVIDENCE in first) == quick
        whole = item.claim.statement.split(" Value:")[0]
        assert second.strip() in (f"paper {wording.paper(item.claim)}. A sentence that is shorter.", whole) or (
            second.strip() == "A sentence that is shorter."
        )
        assert (second.strip() == whole) == (width == 100 and "paper" in first), "in short where it does not fit"
        first, *others = wording.lines(item, quick=quick, width=width)
        said = " ".join(part.strip() for part in others)
        assert said.endswith(whole), "nothing is cut where there is no short form"
        assert max(map(len, others)) <= width


def test_every_claim_of_the_studies_takes_two_lines_of_80_columns() -> None:
    widest = Verdict("inconclusive", 1.2345, (1.1111, 1.3333))
    for name in study.names():
        for one in study.load(name).code.claims:
            lines = wording.lines(Judged(one, widest), quick=True, width=80)
            assert len(lines) == 2, (name, one.id)
            assert len(lines[1]) <= 80
            assert "..." not in lines[1]


def test_the_page_shows_claims_as_they_are_printed() -> None:
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    claims = {item.id: item for item in study.load("blbe-slow-start").code.claims}
    shown = re.findall(r"^(E\d+) +(pass|not judged) \(quick.*\n(?:     .*\n)+", page, re.MULTILINE)
    assert len(shown) == 2
    values = {"pass": Verdict("pass", 1060.07), "not judged": Verdict("inconclusive", 1060.07, (783.0, 1060.1))}
    for name, outcome in shown:
        item = Judged(claims[name], values[outcome], judged=outcome == "pass")
        lines = wording.lines(item, quick=True, width=80)
        assert "\n".join(lines) + "\n" in page, name


def test_a_short_form_that_is_too_long_is_refused() -> None:
    with pytest.raises(InputError, match="claim 'A1': short has 57 characters; say it in 56 or fewer"):
        claim("A1", "A statement.", short="x" * 57)


def test_every_claim_of_the_studies_that_has_a_number_has_a_unit() -> None:
    claims = [item for name in study.names() for item in study.load(name).code.claims]
    assert [item.id for item in claims if not item.unit] == []


def test_claims_come_last_and_tables_are_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = write_study(tmp_path), tmp_path / "out"
    assert main(["study", "run", str(folder), "--quick", "--jobs", "1", "--out", str(out)]) == OK
    lines = capsys.readouterr().out.splitlines()
    assert "goodput, Mbit/s" not in "\n".join(lines)
    assert lines[1:4] == [
        f"report: {out / 'report.md'}",
        f"tables: {out / 'tables'} (1, as text and CSV)",
        f"figures: {out / 'figures'} (2, as SVG, PNG and CSV)",
    ]
    assert lines[5].startswith("A1   pass (quick: not evidence): measured 9.")
    assert lines[6].strip() == "Both fill the path."
    assert lines[7].startswith("A2   not judged (quick): measured ")
    assert lines[-1] == "claims: 1 pass, 1 not judged; quick: not evidence; what decided: report.md"
    assert len(lines) == 11
    assert "pass (quick: not evidence)" in (out / "report.md").read_text(encoding="utf-8")
    assert json.loads((out / "claims.json").read_text(encoding="utf-8"))["quick"] is True


def test_exit_codes_tell_findings_from_failures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def code(limit: str, *options: str) -> int:
        folder = write_study(tmp_path, limit=limit)
        found = main(["study", "run", str(folder), "--jobs", "1", "--out", str(tmp_path / "out"), *options])
        capsys.readouterr()
        return found

    assert code("5.0") == OK, "nothing rests on a claim that is soft"
    assert code("5.0", "--strict") == FAILED, "but for CI every claim must pass"
    assert code("50.0") == FINDING
    assert code("50.0", "--quick") == OK, "a quick run contradicts nothing"
    assert code("50.0", "--strict") == FAILED
    assert code("50.0", "--json") == FINDING
    assert code('{}["two"]') == FAILED, "a check that raises"
    folder = write_study(tmp_path, limit="5.0")
    claims = folder / "claims.py"
    claims.write_text(claims.read_text().replace(", soft=True", "").replace("1000.0", "0.001"), encoding="utf-8")
    command = ["study", "run", str(folder), "--quick", "--jobs", "1", "--out", str(tmp_path / "out")]
    assert main([*command, "--strict"]) == OK


def test_a_kind_of_warning_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = write_study(tmp_path), tmp_path / "out"
    scenario = folder / "one.toml"
    # A threshold of RED that its queue never reaches is warned of at both points, with numbers that differ.
    red = '{ kind = "red", limit = ["15 packets", "16 packets"], min = 20, max = 30 }'
    scenario.write_text(scenario.read_text().replace('"1 BDP"', red), encoding="utf-8")
    report = study.run(folder, quick=True, jobs=1)
    (both,) = warned.every(report.results.results)
    assert "holds 15 packets" in both
    assert "holds 16 packets" in both
    (line,) = warned.kinds(report.results.results)
    assert line.startswith("one: ")
    assert line.endswith("(8 runs have one of this kind)")
    main(["study", "run", str(folder), "--quick", "--jobs", "1", "--out", str(out)])
    assert [said for said in capsys.readouterr().err.splitlines() if "RED" in said] == [f"ackclock: {line}"]
    report_text = (out / "report.md").read_text(encoding="utf-8")
    assert all(f"- {text}" in report_text for text in warned.every(report.results.results))
