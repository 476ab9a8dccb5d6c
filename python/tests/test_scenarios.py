"""Every scenario of the repository runs, shortened where it is long."""

from __future__ import annotations

from pathlib import Path

import pytest

import ackclock
from ackclock.scenario.plan import Job
from shared import ROOT

FILES = sorted((ROOT / "scenarios").glob("*.toml"))
BESIDE = ("cellular-trace", "learned", "python-controller", "web-pages")
"""Those that name a file beside them, which a scenario without a file cannot find."""


def test_there_are_scenarios() -> None:
    assert "high-bdp" in {path.stem for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_in_it_is_without_effect(path: Path) -> None:
    assert [(point.warnings, point.foreseen) for point in ackclock.load(path).points if point.warnings] == []


@pytest.mark.parametrize("path", [path for path in FILES if path.stem not in BESIDE], ids=lambda path: path.stem)
def test_its_points_can_be_written_and_read_again(path: Path) -> None:
    for point in ackclock.load(path).points[:20]:
        (again,) = ackclock.load(point.scenario).points
        assert Job(0, again, 0).document() == Job(0, point, 0).document()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_runs(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# "), "a scenario says what it is for"
    result = ackclock.run(path, set={"run.duration": "12 s"}, replications=1, jobs=1)
    assert result.complete
    # No formula of the path loss was made for users as near as those of a cell.
    assert [text for text in result.warnings if not text.startswith("the path loss")] == []
    assert result.flows["failed"].null_count() == result.flows.height
    assert (result.summary()["total_goodput_bps"] > 0).all()
