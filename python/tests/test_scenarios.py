"""Every scenario of the repository runs, shortened where it is long."""

from __future__ import annotations

from pathlib import Path

import pytest

import ackclock
from shared import ROOT

FILES = sorted((ROOT / "scenarios").glob("*.toml"))


def test_there_are_scenarios() -> None:
    assert "high-bdp" in {path.stem for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_runs(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# "), "a scenario says what it is for"
    result = ackclock.run(path, set={"run.duration": "12 s"}, replications=1, jobs=1)
    assert result.complete
    assert result.warnings == []
    assert result.flows["failed"].null_count() == result.flows.height
    assert (result.summary()["total_goodput_bps"] > 0).all()
