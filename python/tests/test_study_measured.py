"""The measured part of the study of parallel connections, on curves that are made up."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import ackclock
from ackclock import study
from ackclock.errors import InputError
from ackclock.measure import campaign, imported
from ackclock.measure.imports.measured import Test as Measurement
from ackclock.measure.journal import FOLDER
from ackclock.models import fitted_keep, parallel_utilisation
from ackclock.study import measured
from ackclock.study.runner import Loaded
from judging import judged

NAME = "parallel-tcp"
NUMBERS = (1, 2, 4, 8, 16, 25)
BLOCKS = 6
Share = Callable[[int], float]


def formula(keep: float) -> Share:
    return lambda count: parallel_utilisation(count, keep)


def made(folder: Path, lines: Mapping[str, tuple[Share, Mapping[str, str]]], noise: float = 0.01) -> Path:
    """A result of a line of 100 Mbit/s each, with the words that its tests have besides."""
    draw = random.Random(1)
    tests = [
        Measurement(
            source=f"{name} {count} {block}",
            tool="made up",
            settings={"line": name, **words, "connections": count},
            duration_s=10.0,
            flows=[
                {"id": str(flow), "app": "bulk", "cc": "cubic", "start_s": 0.0,
                 "goodput_bps": 1e8 * share(count) * (1 + draw.uniform(-noise, noise)) / count}
                for flow in range(count)
            ],
        )
        for name, (share, words) in lines.items()
        for block in range(BLOCKS)
        for count in NUMBERS
    ]  # fmt: skip
    imported.write(tests, folder)
    return folder


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return study.load(NAME)


def outcomes(found: measured.Measured) -> dict[str, str]:
    return {item.claim.id: item.verdict.outcome for item in found.claims}


def test_the_two_groups_of_lines_come_out_of_what_was_measured(loaded: Loaded, tmp_path: Path) -> None:
    flat: Share = lambda count: 0.97 + 0.001 * min(count, 10)  # noqa: E731
    found = judged(loaded, made(tmp_path / "in", {"room": (formula(0.3), {}), "full": (flat, {})}))
    assert outcomes(found) == {"C3": "pass", "C4": "pass", "C5": "inconclusive", "C6": "pass"}
    c3, c4, _, c6 = (item.verdict for item in found.claims)
    assert c3.value == pytest.approx(1.0, abs=0.1)
    assert "full" not in c3.detail
    assert "room" not in c4.detail
    assert c4.value == pytest.approx(flat(25) / flat(1), abs=0.01)
    assert c6.value is not None
    assert c6.value > 0.95
    measured.write(found, tmp_path)
    ((name, chart),) = found.charts
    assert [panel.title for panel in chart.panels] == ["room", "full"]
    assert [curve.label for curve in chart.panels[0].curves] == [
        "measured",
        "formula, 0.7",
        "formula, 0.5",
        "saturated",
    ]
    assert (tmp_path / "measured" / f"{name}.svg").is_file()
    page = (tmp_path / "measured" / "report.md").read_text(encoding="utf-8")
    assert "| C3 | pass |" in page
    rows = (tmp_path / "measured" / "curve.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + 2 * len(NUMBERS)
    forms = "of the most seen,of the best mean,of the block's probe"
    assert rows[0] == f'line,N,Mbit/s,{forms},"formula, 0.7","formula, 0.5",saturated'
    assert rows[1].split(",")[5] == "-", "a share of a probe that was not made"
    assert all(" to " in cell for cell in rows[1].split(",")[3:5])


def test_each_form_of_the_capacity_is_looked_for_anew_in_each_draw() -> None:
    # Three blocks, of which the last one has most of all. In 8 of 27 draws it is left out: then the capacity is that of
    # the others, and one connection has 1/2 of it in place of 1/8.
    lines = study.code.values(study.load(NAME).study.folder, study.load(NAME).study.folder / measured.FILE)
    own = {getattr(item, "__name__", ""): item for item in lines}
    block, line = own["Block"], own["Line"]
    blocks = (
        block({1: 1.0, 2: 2.0}, {1: 4.0, 2: 4.0}),
        block({1: 1.0, 2: 2.0}, {1: 4.0, 2: 4.0}),
        block({1: 1.0, 2: 8.0}, {1: 2.0}),
    )
    found = line("a line", {}, blocks)
    most, best, probe = (found.intervals(own[name]) for name in ("of_most", "of_best", "of_probe"))
    assert (most[1].value, most[1].low, most[1].high) == (1 / 8, 1 / 8, 1 / 2)
    # The best mean is 2, 4, 6 or 8 with the last one drawn 0, 1, 2 or 3 times; three times in 3.7 % of all draws.
    assert (best[1].value, best[1].low, best[1].high) == (1 / 4, 1 / 8, 1 / 2)
    # Of its own block's probe: 1/4, 1/4 and 1/2.
    assert probe[1].value == pytest.approx(1 / 3)
    assert (probe[1].low, probe[1].high) == (1 / 4, 1 / 2)
    assert probe[2].value == pytest.approx(1 / 2)
    assert (probe[2].low, probe[2].n) == (None, 2), "two blocks with a probe before this number are too few"


def test_lines_of_the_other_kind_refute_the_claims(loaded: Loaded, tmp_path: Path) -> None:
    falling: Share = lambda count: 0.8 if count == 1 else 1 - 0.01 * count  # noqa: E731
    rising: Share = lambda count: 0.86 if count == 1 else 1.0  # noqa: E731
    found = judged(loaded, made(tmp_path / "in", {"falls": (falling, {}), "rises": (rising, {})}))
    assert outcomes(found)["C3"] == "fail"
    assert outcomes(found)["C4"] == "fail"


@pytest.mark.parametrize(
    ("other", "outcome"), [(formula(0.35), "pass"), (lambda count: 1.2 - 0.04 * count, "inconclusive")]
)
def test_moving_and_standing_are_compared(loaded: Loaded, tmp_path: Path, other: Share, outcome: str) -> None:
    # Labels of a campaign are in the manifest; made up results have columns instead.
    folder = made(tmp_path / "in", {"stands": (formula(0.3), {}), "moves": (other, {})})
    result = ackclock.Result.load(folder)
    names = result.runs.get_column("line").to_list()
    for entry, name in zip(result.manifest["runs"], names, strict=True):
        entry["context"] = {"labels": {"carrier": "B", "moving": name == "moves"}}
    result.save(tmp_path / "labelled")
    found = judged(loaded, tmp_path / "labelled")
    assert outcomes(found)["C5"] == outcome  # a soft one never fails
    detail = next(item.verdict.detail for item in found.claims if item.claim.id == "C5")
    assert ("shown, p" in detail and "not shown" not in detail) == (outcome == "pass")


def test_the_fit_finds_what_was_kept_and_rejects_another_shape(loaded: Loaded, tmp_path: Path) -> None:
    straight: Share = lambda count: min(1.0, 0.2 * count)  # noqa: E731
    full = parallel_utilisation(25, 0.4)
    found = judged(
        loaded,
        made(tmp_path / "in", {"formula": (lambda count: formula(0.4)(count) / full, {}), "straight": (straight, {})}),
    )
    (rows,) = (rows for name, _, rows in found.tables if name == "fit")
    by = {row[0]: dict(zip(rows[0], row, strict=True)) for row in rows[1:]}
    assert by["straight"]["shape of the formula"] == "rejected"
    assert float(by["formula"]["keeps"].split(" ")[0]) == pytest.approx(0.4, abs=0.06)
    assert "(" in by["formula"]["keeps"], "no interval"


def test_least_squares_are_exact_where_the_formula_is() -> None:
    for keep in (0.0, 0.31, 0.5, 0.7, 0.93):
        assert fitted_keep(NUMBERS, [parallel_utilisation(count, keep) for count in NUMBERS]) == pytest.approx(
            keep, abs=1e-5
        )
    with pytest.raises(ValueError, match="no curve"):
        fitted_keep([1, 2], [0.5])


def test_a_study_without_a_measured_part_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'blbe-slow-start' has no measured part"):
        measured.load(study.load("blbe-slow-start"), tmp_path)
    with pytest.raises(InputError, match=r"has no manifest\.json; give a directory written by ackclock measure run or"):
        measured.load(study.load(NAME), tmp_path)
    (tmp_path / FOLDER).mkdir()
    with pytest.raises(InputError, match="is a campaign that has no tables yet; go on with: ackclock measure resume"):
        measured.load(study.load(NAME), tmp_path)


def test_each_direction_of_tests_in_both_is_a_line(loaded: Loaded, tmp_path: Path) -> None:
    tests = [
        Measurement(
            source=f"{count} {block}", tool="made up", settings={"connections": count, "direction": "both"},
            duration_s=10.0, downs=count,
            flows=[
                {"id": str(flow), "app": "bulk", "cc": "cubic", "start_s": 0.0,
                 "goodput_bps": (1e8 if flow < count else 2e7) * formula(0.3)(count) / count}
                for flow in range(2 * count)
            ],
        )
        for block in range(3)
        for count in (1, 4, 16)
    ]  # fmt: skip
    imported.write(tests, tmp_path / "in")
    found = judged(loaded, tmp_path / "in")
    rows = {name: cells for name, _, cells in found.tables}["curve"]
    assert [row[:2] for row in rows[1:]] == [[way, count] for way in ("down", "up") for count in ("1", "4", "16")]
    assert [row[2] for row in rows[1:] if row[1] == "1"] == [f"{mbit * formula(0.3)(1):.2f}" for mbit in (100, 20)]


def test_the_lines_that_come_with_the_study_can_be_measured(loaded: Loaded) -> None:
    found = campaign.load(loaded.study.folder / "lines" / "campaign.toml")
    assert len(found.points) == 25 * len(found.lines)
    assert 'duration = "10 s"' in (loaded.study.folder / "lines" / "campaign.toml").read_text(encoding="utf-8")
    for line in found.lines:
        assert line.via is not None
        plan = ackclock.load(found.folder / line.via)
        assert len(plan.points) == 1
    assert {line.labels.get("moving") for line in found.lines} == {None, False, True}
