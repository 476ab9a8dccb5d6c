"""Every statement of a paper with the claims that judge it: the five papers, bad files, and the section of a report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ackclock import study
from ackclock.cli.app import main
from ackclock.cli.exit_codes import BAD_INPUT, FINDING
from ackclock.errors import InputError
from ackclock.study import Verdict, code
from ackclock.study.code import Claim
from ackclock.study.model import Statement, Statements
from ackclock.study.report_statements import NOT_JUDGED, OPEN, REFUTED, REPRODUCED, SOME, UNJUDGED, conclude
from ackclock.study.runner import Judged, Loaded
from ackclock.study.skeleton import TEMPLATE
from ackclock.study.statements import FILE
from shared import ROOT
from studies import write_study

PAPERS = ["blbe-slow-start", "high-bdp", "lte-web", "parallel-tcp", "split-tcp"]

UNJUDGED_STATEMENTS = 5
"""How many statements of the five papers no claim judges. Fewer is better."""

FIRST = '[[statement]]\ntext = "Both fill the path."\nwhere = "section 1"\nclaims = ["A1"]\n'
SECOND = '[[statement]]\ntext = "Reno is faster."\nwhere = "figure 2"\nclaims = ["A1", "A2"]\n'
THIRD = '[[statement]]\ntext = "So it is | must be."\nwhere = "section 3"\nunjudged = "an opinion"\n'

PASS, FAIL, SHAKY = (Verdict(outcome) for outcome in ("pass", "fail", "inconclusive"))


@pytest.fixture(scope="module")
def papers() -> dict[str, Loaded]:
    return {name: study.load(name) for name in PAPERS}


def statements_of(loaded: Loaded) -> Statements:
    assert loaded.study.statements is not None
    return loaded.study.statements


def write_statements(folder: Path, text: str) -> Path:
    """The small study with a file of statements."""
    place = write_study(folder)
    (place / FILE).parent.mkdir()
    (place / FILE).write_text(text, encoding="utf-8")
    return place


@pytest.mark.parametrize("name", PAPERS)
def test_every_claim_judges_a_statement_or_is_beyond_the_paper(papers: dict[str, Loaded], name: str) -> None:
    loaded = papers[name]
    found = statements_of(loaded)
    named = {claim for each in found.statements for claim in each.claims}
    claims = {item.id for item in loaded.code.claims}
    assert claims - named == set(found.beyond)
    assert named - claims == set(found.measured)


@pytest.mark.parametrize("name", PAPERS)
def test_every_claim_about_the_paper_says_where_the_paper_has_it(papers: dict[str, Loaded], name: str) -> None:
    named = {claim for each in statements_of(papers[name]).statements for claim in each.claims}
    missing = [item.id for item in papers[name].code.claims if item.id in named and not item.origin]
    # The paper leaves these to future work and has no number of them.
    assert missing == (["E1", "E2", "E3"] if name == "lte-web" else [])


def test_claims_that_are_judged_when_measured_exist_in_measured_py(papers: dict[str, Loaded]) -> None:
    loaded = papers["parallel-tcp"]
    items = code.values(loaded.study.folder, loaded.study.folder / "measured.py")
    claims = {item.id: item for item in items if isinstance(item, Claim)}
    assert set(statements_of(loaded).measured) == {"C5"} <= set(claims)
    assert all(item.origin for item in claims.values())


def test_few_statements_of_the_papers_are_unjudged(papers: dict[str, Loaded]) -> None:
    unjudged = [each for loaded in papers.values() for each in statements_of(loaded).statements if each.unjudged]
    assert len(unjudged) == UNJUDGED_STATEMENTS


def test_the_page_has_the_counts_of_the_papers(papers: dict[str, Loaded]) -> None:
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (\d+) \| (\d+) \| (\d+) \|$", page, flags=re.MULTILINE)
    counts = {name: tuple(map(int, numbers)) for name, *numbers in rows}
    for name, loaded in papers.items():
        every = statements_of(loaded).statements
        unjudged = sum(bool(each.unjudged) for each in every)
        assert counts[name] == (len(every), len(every) - unjudged, unjudged)


def test_other_studies_have_no_statements(tmp_path: Path) -> None:
    assert study.load("tcp-evaluation-suite").study.statements is None
    assert study.load(write_study(tmp_path)).study.statements is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FIRST.replace("A1", "A9") + SECOND, "statement.0.claims: unknown claim 'A9' (line 4); known: A1, A2"),
        (FIRST, "beyond: claim 'A2' judges no statement; name it in one, or list it here"),
        (f'beyond = ["A2"]\n{SECOND}', "beyond: 'A2' judges a statement (line 1); remove it"),
        (f'beyond = ["B1"]\n{SECOND}', "beyond: unknown claim 'B1' (line 1); known: A1, A2"),
        (f'measured = ["A1"]\n{SECOND}', "measured: 'A1' is a claim of claims.py (line 1); remove it"),
        (f'measured = ["C1"]\n{SECOND}', "measured: the study has no measured.py (line 1); remove the key"),
        (f'{SECOND}unjudged = "hard"\n', "statement.0.unjudged: a statement has either claims or a reason why none"),
        (SECOND + THIRD.replace("an opinion", ""), "statement.1.text: no claim judges this statement, and no reason"),
        (SECOND.replace('claims = ["A1", "A2"]', ""), "statement.0.text: no claim judges this statement, and no rea"),
        (SECOND.replace("claims", "claim"), "statement.0.claim: unknown key 'claim' (line 4); did you mean 'claims'?"),
        (f'beyon = ["A1"]\n{SECOND}', "beyon: unknown key 'beyon' (line 1); did you mean 'beyond'?"),
        (SECOND.replace("where", "were"), "statement.0.were: unknown key 'were' (line 3); did you mean 'where'?"),
        (SECOND.replace('"figure 2"', '" "'), "statement.0.where: 'where' is empty (line 3); write a few words"),
        (SECOND.replace('["A1", "A2"]', "[1]"), "statement.0.claims: [1] is not a list of texts (line 4); write"),
        (SECOND + SECOND, "statement.1.text: the same text occurs twice (line 6); remove"),
        ("beyond = []\n", "statement: missing key 'statement'; add it"),
        ("statement = [\n", "not valid TOML"),
    ],
)
def test_bad_files_are_refused_before_anything_is_run(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = write_statements(tmp_path, text)
    assert main(["study", "run", str(place), "--quick", "--out", str(tmp_path / "out")]) == BAD_INPUT
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"ackclock: {place / FILE}: ")
    assert message in said
    assert not (tmp_path / "out").exists()


def test_a_report_has_every_statement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place, out = write_statements(tmp_path, f"{FIRST}\n{SECOND}\n{THIRD}"), tmp_path / "out"
    assert main(["study", "run", str(place), "--jobs", "1", "--out", str(out)]) in (0, FINDING)
    page = (out / "report.md").read_text(encoding="utf-8")
    section = page.partition("## Every statement of the paper\n\n")[2].partition("\n## ")[0]
    assert section == (
        "| statement | where | claims, or why none |\n"
        "| --- | --- | --- |\n"
        "| Both fill the path. | section 1 | A1: reproduced |\n"
        "| Reno is faster. | figure 2 | A1: reproduced; A2: open |\n"
        "| So it is \\| must be. | section 3 | Not judged: an opinion |\n"
        "\n"
        "3 statements: 2 judged (1 reproduced, 0 under some readings only, 0 refuted, 1 open), 1 unjudged.\n"
    )
    (place / FILE).write_text(f'beyond = ["A2"]\n{FIRST}', encoding="utf-8")
    assert main(["study", "run", str(place), "--quick", "--jobs", "1", "--out", str(out)]) == 0
    page = (out / "report.md").read_text(encoding="utf-8")
    assert "| Both fill the path. | section 1 | A1: reproduced (quick: not evidence) |" in page
    assert "\nBeyond the paper: A2.\n" in page
    assert "1 statement: 1 judged (1 reproduced, " in page
    capsys.readouterr()


def test_a_report_without_the_file_has_no_such_section(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place, out = write_study(tmp_path), tmp_path / "out"
    main(["study", "run", str(place), "--quick", "--jobs", "1", "--out", str(out)])
    capsys.readouterr()
    assert "Every statement" not in (out / "report.md").read_text(encoding="utf-8")


def judged(name: str, verdict: Verdict, **under: Verdict) -> Judged:
    return Judged(Claim(name, "It is.", None, "", False, lambda _: verdict), verdict, under=under)


@pytest.mark.parametrize(
    ("first", "second", "conclusion"),
    [
        (judged("A1", PASS), judged("A2", PASS), REPRODUCED),
        (judged("A1", PASS), judged("A2", FAIL), REFUTED),
        (judged("A1", PASS), judged("A2", SHAKY), OPEN),
        (judged("A1", PASS), judged("A2", SHAKY, a=PASS, b=FAIL), SOME),
        (judged("A1", SHAKY, a=PASS, b=FAIL), judged("A2", SHAKY, a=FAIL, b=PASS), REFUTED),
        (judged("A1", SHAKY, a=PASS, b=SHAKY), judged("A2", SHAKY, a=FAIL, b=PASS), OPEN),
        (judged("A1", PASS), Judged(judged("A2", FAIL).claim, FAIL, judged=False), NOT_JUDGED),
    ],
)
def test_a_statement_holds_under_a_reading_where_all_its_claims_do(
    first: Judged, second: Judged, conclusion: str
) -> None:
    both = {"A1": first, "A2": second}
    assert conclude(Statement("Both.", "text", ("A1", "A2"), ""), both, ["a", "b"]) == conclusion
    assert conclude(Statement("Not here.", "text", ("A1", "C5"), ""), both, ["a", "b"]) == NOT_JUDGED
    assert conclude(Statement("No.", "text", (), "an opinion"), both, ["a", "b"]) == UNJUDGED


def test_the_template_names_the_file() -> None:
    assert FILE.as_posix() in (TEMPLATE / "study.toml").read_text(encoding="utf-8")


def test_checked_again_when_claims_change(tmp_path: Path) -> None:
    place = write_statements(tmp_path, SECOND)
    study.load(place)
    claims = place / "claims.py"
    claims.write_text(
        claims.read_text(encoding="utf-8").replace('"A2"', '"A33"'), encoding="utf-8"
    )  # of another length: Python compiles it again
    with pytest.raises(InputError, match=r"statement\.0\.claims: unknown claim 'A2'"):
        study.load(place)
