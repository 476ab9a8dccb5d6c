"""Reports of studies that are kept in docs/reports: whether they are what the code of today makes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ackclock import InputError, study
from ackclock.cli.app import main
from ackclock.study import kept
from ackclock.study.runner import plans
from shared import ROOT
from studies import cached_plans, write_study

REPORTS = sorted(path.parent for path in (ROOT / "docs" / "reports").glob(f"*/{kept.STAMP}"))


def test_there_are_reports() -> None:
    assert REPORTS


@pytest.mark.parametrize("place", REPORTS, ids=lambda place: place.name)
def test_a_kept_report_still_holds(place: Path) -> None:
    loaded = study.load(place.name)
    assert kept.moved(place, cached_plans(loaded.study)) == [], "make it anew: scripts/reports.py"
    claims = json.loads((place / "claims.json").read_text(encoding="utf-8"))["claims"]
    assert [each["id"] for each in claims] == [item.id for item in loaded.code.claims], "claims came or went"


def test_a_change_that_moves_a_number_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out, place = write_study(tmp_path), tmp_path / "out", tmp_path / "kept"
    main(["study", "run", str(folder), "--jobs", "1", "--out", str(out)])
    capsys.readouterr()
    stamp = kept.keep(out, place, plans(study.load(folder).study))
    assert stamp["command"] == "ackclock study run small"
    assert {path.name for path in place.iterdir()} == {"report.md", "claims.json", "tables", "figures", kept.STAMP}
    assert kept.moved(place, plans(study.load(folder).study)) == []
    scenario = folder / "one.toml"
    text = scenario.read_text(encoding="utf-8")
    scenario.write_text(text.replace('rtt = "20 ms"', 'rtt = "21 ms"'), encoding="utf-8")
    (line,) = kept.moved(place, plans(study.load(folder).study))
    assert line.endswith("its flows are others now")
    scenario.write_text(text.replace('["reno", "cubic"]', '["vegas", "cubic"]'), encoding="utf-8")
    stamp["again"][0]["params"] = {"cc": "reno"}
    (place / kept.STAMP).write_text(json.dumps(stamp), encoding="utf-8")
    (line,) = kept.moved(place, plans(study.load(folder).study))
    assert line.endswith("the study has no such run any more")


def test_a_quick_run_is_no_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = write_study(tmp_path), tmp_path / "out"
    main(["study", "run", str(folder), "--quick", "--jobs", "1", "--out", str(out)])
    capsys.readouterr()
    for place, problem in ((out, "is of a quick run"), (tmp_path, "has no claims.json")):
        with pytest.raises(InputError, match=problem):
            kept.keep(place, tmp_path / "kept", {})
