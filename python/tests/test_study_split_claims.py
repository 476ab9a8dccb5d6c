"""The verdicts of a full run of the split-TCP study, as they are recorded, and its README that has them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from ackclock import study
from ackclock.study.runner import Loaded, plans

ROW = re.compile(r"^\| ([DX]\d+) \| (.+?) \| (\w+) \| (.+?) \| .*\|$", re.MULTILINE)
"""A claim in README.md: id, statement, verdict, what was measured."""
MEASURED = re.compile(r"(-?[\d.]+)(?: %| points)?(?: [a-z ]+)? \((-?[\d.]+) to (-?[\d.]+)")
"""The first value that has an interval."""
PERCENT = ("of the rate", "of the runs")
"""Units that README.md has as per cent, or points."""


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return study.load("split-tcp")


@pytest.fixture(scope="module")
def record(loaded: Loaded) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((loaded.study.folder / "expected" / "claims.json").read_text(encoding="utf-8"))
    return found


def test_the_record_is_of_a_full_run(loaded: Loaded, record: dict[str, Any]) -> None:
    full = plans(loaded.study)
    assert record["scenarios"] == {name: len(plan) for name, plan in full.items()}
    assert record["runs"] == sum(map(len, full.values())) == 6225
    assert [claim["id"] for claim in record["claims"]] == [claim.id for claim in loaded.code.claims if claim.id != "X1"]
    assert {claim["id"] for claim in record["claims"] if claim["verdict"] != "pass"} == {"D6"}
    assert all(claim["interval"] is not None for claim in record["claims"])


def test_the_readme_has_what_is_recorded(loaded: Loaded, record: dict[str, Any]) -> None:
    page = (loaded.study.folder / "README.md").read_text(encoding="utf-8")
    rows = {name: (verdict, measured) for name, _, verdict, measured in ROW.findall(page)}
    assert list(rows) == [claim.id for claim in loaded.code.claims]
    units = {claim.id: claim.unit for claim in loaded.code.claims}
    for claim in record["claims"]:
        verdict, measured = rows[claim["id"]]
        assert verdict == claim["verdict"], claim["id"]
        found = MEASURED.search(measured)
        assert found is not None, f"{claim['id']}: {measured} has no interval"
        scale = 100 if units[claim["id"]] in PERCENT else 1
        for shown, value in zip(found.groups(), (claim["value"], *claim["interval"]), strict=True):
            digits = len(shown.partition(".")[2])
            assert float(shown) == round(scale * value, digits), f"{claim['id']}: {measured}"
