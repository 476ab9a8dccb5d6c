"""The verdicts of a full run of the split-TCP study, as they are recorded, and its README that has them."""

from __future__ import annotations

import importlib
import json
import re
from typing import Any

import polars as pl
import pytest

from ackclock import study
from ackclock.study.runner import Loaded, plans

ROW = re.compile(r"^\| ([DX]\d+) \| (.+?) \| (\w+) \| (.+?) \| .*\|$", re.MULTILINE)
"""A claim in README.md: id, statement, verdict, what was measured."""
MEASURED = re.compile(r"(-?[\d.]+)(?: %| points)?(?: [a-z ]+)? \((-?[\d.]+) to (-?[\d.]+)")
"""The first value that has an interval."""
PERCENT = ("of the rate", "of the runs")
"""Units that README.md has as per cent, or points."""
REFUTED = {"D3", "D6", "D8", "D12", "D14", "D15", "D16", "D17", "D18"}
"""Claims that fail under the first reading."""
SIZES = ("100k", "500k", "1m", "5m", "10m", "20m")


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return study.load("split-tcp")


@pytest.fixture(scope="module")
def record(loaded: Loaded) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((loaded.study.folder / "expected" / "claims.json").read_text(encoding="utf-8"))
    return found


def test_the_record_is_of_a_full_run(loaded: Loaded, record: dict[str, Any]) -> None:
    full = plans(loaded.study)
    # Scenarios of other readings, and nr, windows and server, came after it.
    assert record["scenarios"] == {name: len(full[name]) for name in record["scenarios"]}
    assert record["runs"] == sum(record["scenarios"].values()) == 6225
    assert [claim["id"] for claim in record["claims"]] == [claim.id for claim in loaded.code.claims]
    assert {claim["id"] for claim in record["claims"] if claim["verdict"] != "pass"} == REFUTED
    (largest,) = (claim for claim in record["claims"] if claim["interval"] is None)
    assert (largest["id"], largest["value"]) == ("X1", 0), "a largest difference has no interval"


def test_the_readme_has_what_is_recorded(loaded: Loaded, record: dict[str, Any]) -> None:
    page = (loaded.study.folder / "README.md").read_text(encoding="utf-8")
    rows = {name: (verdict, measured) for name, _, verdict, measured in ROW.findall(page)}
    assert list(rows) == [claim.id for claim in loaded.code.claims]
    units = {claim.id: claim.unit for claim in loaded.code.claims}
    for claim in record["claims"]:
        verdict, measured = rows[claim["id"]]
        assert verdict == claim["verdict"], claim["id"]
        if claim["interval"] is None:
            assert measured == "no difference, in 3840 runs"
            continue
        found = MEASURED.search(measured)
        assert found is not None, f"{claim['id']}: {measured} has no interval"
        scale = 100 if units[claim["id"]] in PERCENT else 1
        for shown, value in zip(found.groups(), (claim["value"], *claim["interval"]), strict=True):
            digits = len(shown.partition(".")[2])
            assert float(shown) == round(scale * value, digits), f"{claim['id']}: {measured}"


def test_d7_says_of_which_pings_it_is_and_at_those_of_the_regions_nothing_on_linux_is_faster(loaded: Loaded) -> None:
    (claim,) = (each for each in loaded.code.claims if each.id == "D7")
    page = (loaded.study.folder / "README.md").read_text(encoding="utf-8")
    (row,) = (statement for name, statement, _, _ in ROW.findall(page) if name == "D7")
    assert [text for text in (claim.statement, claim.short, row) if "at the mean pings" not in text.lower()] == []
    claims = importlib.import_module("ackclock_study_split_tcp.claims")
    shares, pings = [], set()
    for path in (loaded.study.folder / "expected").glob("linux-regions*-runs.csv"):
        for run in pl.read_csv(path, comment_prefix="#").iter_rows(named=True):
            rtt, place, relay = run["row"].split(", ")
            if relay == "pep":
                pings.add(rtt)
                shares += [run[f"rate_{size}"] / claims.SPEED[place] for size in SIZES if run.get(f"rate_{size}")]
    assert pings == {rtt for server in claims.SERVERS.values() for rtt in server}
    assert 0.9 < max(shares) <= 1.0


def test_a_quick_run_refutes_nothing_and_supports_what_needs_few_runs(loaded: Loaded) -> None:
    report = study.run(loaded, quick=True)
    assert report.failures == ()
    found = {item.claim.id: item for item in report.claims}
    assert [(name, item.verdict.detail) for name, item in found.items() if item.broken] == []
    outcomes = {name: item.verdict.outcome for name, item in found.items()}
    # What needs no reading, and no more than a few runs.
    assert (outcomes["X1"], outcomes["D19"]) == ("pass", "pass")
    # What no reading that was tried supports.
    assert not {name for name in ("D3", "D16", "D17") if outcomes[name] == "pass"}
    assumed = {name: (item.under or {"assumed": item.verdict})["assumed"] for name, item in found.items()}
    assert {name for name in ("D1", "D4", "D5", "D7", "D9", "D10", "D11") if assumed[name].outcome != "pass"} == set()
    assert assumed["D6"].value is not None
    assert assumed["D6"].value < 0.19
    assert assumed["D2"].value == pytest.approx(0.434, abs=0.005), "two regions far from S1, two near"
