"""``ackclock study new``: what it writes runs as it is, and becomes a study of another paper (docs/studies.md)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ackclock import study
from ackclock.cli.app import main
from ackclock.cli.exit_codes import BAD_INPUT, OK
from ackclock.study import skeleton

CLAIMS = '''\
"""A claim about figure 1 of Dukkipati et al. 2010: what an initial window of ten segments saves."""

from __future__ import annotations

from ackclock.study import Results, Run, Verdict, at_least, claim, measure


@measure(kind="amount")
def utilisation(run: Run) -> float:
    """Mean completion time of a response, s: the measure keeps its name, which table and figure have."""
    return float(run.flow()["mean_fct_s"])


@claim("F1", "Ten segments save a tenth of the time of a response or more.", unit="times", paper=1.1, tolerance="1.1")
def f1(results: Results) -> Verdict:
    runs = results["pair"]
    three, ten = (runs.where({"tcp.iw": segments}) for segments in (3, 10))
    return at_least(three.ratio(utilisation, ten), 1.1)
'''

PAIR = """\
[topology]
kind = "dumbbell"
rate = "10 Mbit/s"
rtt = "100 ms"
queue = "1 BDP"

[[flows]]
cc = "cubic"
tcp = { iw = [3, 10] }
app = { kind = "files", size = "30 kB", arrivals = { poisson = 0.5 } }

[run]
duration = "20 s"
replications = 5
"""


def test_it_runs_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "mine"
    assert main(["study", "new", str(place)]) == OK
    said = capsys.readouterr().out
    assert all(str(path) in said for path in place.rglob("*.toml"))
    assert main(["study", "run", str(place), "--quick", "--jobs", "1", "--out", str(tmp_path / "out"), "--json"]) == OK
    found = json.loads(capsys.readouterr().out)
    assert [each["id"] for each in found["claims"]] == ["A1"]
    assert set(found["claims"][0]["readings"]) == {"one-bdp", "short"}
    assert "DIRECTORY" not in (place / "README.md").read_text(encoding="utf-8")
    assert (tmp_path / "out" / "figures" / "1.svg").is_file()


def test_it_writes_over_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    for place, what in ((tmp_path, "a directory that is not empty"), (tmp_path / "file", "a file")):
        assert main(["study", "new", str(place)]) == BAD_INPUT
        assert f"is {what}" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_figure_of_another_paper(tmp_path: Path) -> None:
    place = tmp_path / "fairness"
    skeleton.write(place)
    (place / "pair.toml").write_text(PAIR, encoding="utf-8")
    (place / "claims.py").write_text(CLAIMS, encoding="utf-8")
    text = (place / "study.toml").read_text(encoding="utf-8")
    for old, new in (
        ('extend = { cc = ["cc"] }\n', ""),
        ('references = { paper = "expected/table-1.csv" }\n', ""),
        ('each = ["cc"]', 'each = ["tcp.iw"]'),
        ('over = "cc"', 'over = "tcp.iw"'),
    ):
        assert old in text
        text = text.replace(old, new)
    (place / "study.toml").write_text(text, encoding="utf-8")
    (claim,) = study.run(place, jobs=1).claims
    assert claim.conclusion == "reproduced", claim
    # 21 segments end in the third round trip after the handshake, 3 + 6 + 12, in place of the second: 3.5 over 2.5.
    assert claim.verdict.value == pytest.approx(1.4, abs=0.03)
