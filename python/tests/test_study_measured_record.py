"""What the page of the study parallel-tcp says of a campaign over its emulated lines is what was measured.

The campaign itself was played in virtual time (`conformance/measured_lines.py` says how, and keeps it).
"""

from __future__ import annotations

import re

import polars as pl
import pytest

import ackclock
from ackclock import study
from ackclock.measure import imported
from ackclock.measure.imports.measured import Test as Measurement
from ackclock.study import measured
from ackclock.study.runner import Loaded
from judging import judged

ROOM = {"mobile A", "mobile B", "mobile B moving", "fibre A"}


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return study.load("parallel-tcp")


@pytest.fixture(scope="module")
def page(loaded: Loaded) -> str:
    return (loaded.study.folder / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def record(loaded: Loaded) -> pl.DataFrame:
    return pl.read_csv(loaded.study.folder / "expected" / "lines.csv")


@pytest.fixture(scope="module")
def found(loaded: Loaded, record: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> measured.Measured:
    folder = tmp_path_factory.mktemp("lines") / "in"
    imported.write(
        [
            Measurement(
                source=f"{line} {count} {repetition}",
                tool="ackclock",
                settings={"line": line, "connections": count},
                duration_s=2.0,
                flows=[
                    {"id": str(flow), "app": "bulk", "cc": "cubic", "start_s": 0.0, "goodput_bps": 1e3 * kbps / count}
                    for flow in range(count)
                ],
            )
            for line, repetition, count, kbps, _ in record.iter_rows()
        ],
        folder,
    )
    result = ackclock.Result.load(folder)
    names = result.runs.get_column("line").to_list()
    for entry, name in zip(result.manifest["runs"], names, strict=True):
        if name.startswith("mobile B"):  # the labels of the campaign's file
            entry["context"] = {"labels": {"carrier": "B", "moving": name.endswith("moving")}}
    result.save(folder.parent / "labelled")
    return judged(loaded, folder.parent / "labelled")


def test_the_whole_campaign_was_kept(record: pl.DataFrame) -> None:
    each = record.group_by("line", "connections").len()
    assert each.height == 6 * 25
    assert set(each["len"]) == {10}
    assert record["probe_kbps"].null_count() == 0


def test_shares_are_those_of_the_page(record: pl.DataFrame, page: str) -> None:
    means = record.group_by("line", "connections").agg(pl.col("goodput_kbps").mean())
    best = dict(means.group_by("line").agg(pl.col("goodput_kbps").max()).iter_rows())
    mean = {(line, count): value for line, count, value in means.iter_rows()}
    rows = re.findall(r"^\| ([\w ,]+) \|((?: \d+ % \|){6}) [\w ()-]+ \|$", page, re.MULTILINE)
    assert len(rows) == 6
    for name, cells in rows:
        line = name.replace(",", "")
        shown = [int(text) for text in re.findall(r"\d+", cells)]
        assert shown == [round(100 * mean[line, count] / best[line]) for count in (1, 2, 4, 8, 16, 25)], name
        assert (mean[line, 1] / best[line] < 0.85) == (line in ROOM)


def test_verdicts_are_those_of_the_page(found: measured.Measured, page: str) -> None:
    shown = re.findall(r"^\| (C[3-6]) \| (\w+) \| ([^|]+) \|$", page, re.MULTILINE)
    of = {item.claim.id: item.verdict for item in found.claims}
    assert [(claim, outcome) for claim, outcome, _ in shown] == [(name, of[name].outcome) for name in sorted(of)]
    for claim, _, text in shown:
        low, high = of[claim].interval or (None, None)
        assert text == f"{of[claim].value:.2f} ({low:.2f} to {high:.2f})", claim


def test_probes_and_the_most_that_was_seen_are_those_of_the_page(record: pl.DataFrame, page: str) -> None:
    means = record.group_by("line", "connections").agg(pl.col("goodput_kbps").mean())
    best = dict(means.group_by("line").agg(pl.col("goodput_kbps").max()).iter_rows())
    blocks = record.unique(["line", "replication"]).group_by("line").agg(pl.col("probe_kbps").mean())
    probe = {line: value / best[line] for line, value in blocks.iter_rows()}
    most = {
        line: value / best[line]
        for line, value in record.group_by("line").agg(pl.col("goodput_kbps").max()).iter_rows()
    }
    steady = [probe.pop(line) for line in ("mobile A", "mobile C", "fibre A", "fibre B")]
    said = " ".join(page.split())
    assert f"carries: {min(steady):.2f} to {max(steady):.2f} of the best mean on mobile A" in said
    assert f"{probe['mobile B']:.2f} of the best mean on mobile B and {probe['mobile B moving']:.2f} moving" in said
    three = ", ".join(f"{most.pop(line):.2f}" for line in ("mobile B", "mobile A"))
    assert f"capacity, is {three} and {most.pop('mobile B moving'):.2f} times the best mean on mobile B, A and" in said
    assert max(most.values()) < 1.002
