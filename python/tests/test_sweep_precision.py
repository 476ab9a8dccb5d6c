"""Replicating until a mean is known: how often, what is told when it does not suffice, and what cannot be asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import InputError, Precision
from ackclock.assembly.ledger import Ledger
from ackclock.cli.app import main
from ackclock.execution import batch
from ackclock.execution.journal import Journal
from ackclock.execution.scheduler import Event
from ackclock.results import summary, validity
from ackclock.sweeps import session
from ackclock.sweeps.precision import PILOT

Write = Callable[..., Path]


def _hashes(folder: Path) -> Mapping[str, str]:
    files: dict[str, dict[str, Any]] = json.loads((folder / "manifest.json").read_text())["files"]
    return {name: file["sha256"] for name, file in files.items()}


def test_points_are_replicated_until_they_are_known(scenario_file: Write, tmp_path: Path) -> None:
    wish = Precision(0.03, "loss_percent", most=16)
    change = {"topology.rtt": ["20 ms", "60 ms"], "run.replications": 3}
    report = ackclock.sweep(scenario_file(), tmp_path / "a", set=change, precision=wish, jobs=1)
    counts = [point.n for point in report.result.points]
    assert max(counts) > PILOT
    for point in report.result.points:
        loss = point.metrics["loss_percent"]
        assert loss.mean is not None
        assert loss.ci95 is not None
        assert loss.ci95 <= 0.03 * loss.mean or point.n == 16
    again = ackclock.sweep(scenario_file(), tmp_path / "b", set=change, precision=wish, jobs=2)
    assert [point.n for point in again.result.points] == counts
    assert _hashes(tmp_path / "a") == _hashes(tmp_path / "b")


@pytest.mark.parametrize(("n", "mean", "half", "wanted"), [
    (5, 10.0, 0.4, 5), (5, 10.0, 0.6, 8), (5, 10.0, 5.0, 10), (60, 1.0, 0.2, 100), (1, 10.0, None, 2), (4, 0.0, 0.1, 8),
    (100, 1.0, 9.0, 100),
])  # fmt: skip
def test_how_many_replications_a_precision_needs(n: int, mean: float, half: float | None, wanted: int) -> None:
    assert Precision(0.05).wanted(n, mean, half) == wanted


@pytest.mark.parametrize(("asked", "most", "first"), [(1, 100, PILOT), (PILOT + 2, 100, PILOT + 2), (1, 3, 3)])
def test_it_begins_with_enough_to_see_a_spread(
    scenario_file: Write, tmp_path: Path, asked: int, most: int, first: int
) -> None:
    wish = Precision(0.99, "goodput_bps", most)
    report = ackclock.sweep(scenario_file(), tmp_path / "out", replications=asked, precision=wish, jobs=1)
    assert (report.played, [point.n for point in report.result.points]) == (first, [first])
    assert report.imprecise == ()


def test_runs_that_are_not_valid_tell_nothing_of_a_precision(
    scenario_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = Ledger.add

    def late(self: Ledger, job: Any, info: Mapping[str, Any], **more: int) -> None:
        emulation = {"valid": job.replication > 1, "problems": ["a packet of link bottleneck was 9000 us late"]}
        add(self, job, {**info, "emulation": emulation}, **more)

    monkeypatch.setattr(Ledger, "add", late)
    report = ackclock.sweep(
        scenario_file(), tmp_path / "out", precision=Precision(0.0001, "goodput_bps", most=6), jobs=1
    )
    (told,), (point,) = report.imprecise, validity.only(report.result).points
    found = point.metrics["goodput_bps"]
    assert (told.replications, report.result.points[0].n, point.n) == (6, 6, 4)
    assert found.mean is not None
    assert told.relative == pytest.approx((found.ci95 or 0) / found.mean)


def test_a_precision_that_is_not_reached_is_told(
    scenario_file: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = scenario_file(), tmp_path / "out"
    change = {"topology.rtt": ["20 ms", "60 ms"]}
    wish = Precision(0.0001, "goodput_bps", most=6)
    events: list[Event] = []
    report = ackclock.sweep(file, out, set=change, precision=wish, jobs=1, tell=events.append)
    assert [(item.point, item.replications) for item in report.imprecise] == [(0, 6), (1, 6)]
    for item, point in zip(report.imprecise, report.result.points, strict=True):
        found = point.metrics["goodput_bps"]
        assert found.mean is not None
        assert found.ci95 is not None
        assert item.relative == pytest.approx(found.ci95 / found.mean)
        assert item.relative > 0.0001
    told = [event for event in events if event["event"] == "imprecise"]
    assert told == [
        {
            "event": "imprecise",
            "metric": "goodput_bps",
            "point": item.point,
            "replications": 6,
            "relative": item.relative,
        }
        for item in report.imprecise
    ]
    recorded = json.loads((out / "manifest.json").read_text())["precision"]
    assert recorded == {
        "relative": 0.0001,
        "metric": "goodput_bps",
        "most": 6,
        "imprecise": [{"point": item.point, "replications": 6, "relative": item.relative} for item in report.imprecise],
    }
    asked = ["sweep", str(file), "--out", str(out), "--jobs", "1", "--set", 'topology.rtt=["20 ms", "60 ms"]']
    assert main([*asked, "--precision", "0.01%", "--max-replications", "6"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "not to" in line]
    shares = [f"{100 * (item.relative or 0):.3g}" for item in report.imprecise]
    assert lines == [
        f"ackclock: point {number} (topology.rtt = {rtt}): goodput_bps is known to {share} % after 6 replications, "
        "not to 0.01 %; raise --max-replications"
        for number, (rtt, share) in enumerate(zip(("20 ms", "60 ms"), shares, strict=True))
    ]
    assert main([*asked, "--precision", "90%"]) == 0
    assert "not to" not in capsys.readouterr().err
    assert json.loads((out / "manifest.json").read_text())["precision"]["imprecise"] == []


def test_a_metric_without_a_value_is_refused_after_one_run(scenario_file: Write, tmp_path: Path) -> None:
    change = {"topology.rtt": ["20 ms", "40 ms", "60 ms"]}
    for _ in range(2):  # what is there already is looked at as well
        with pytest.raises(InputError, match=r"^metric: 'mean_fct_s' has no value in point 0; name a metric"):
            ackclock.sweep(
                scenario_file(("3 s", "30 s")),
                tmp_path / "out",
                set=change,
                precision=Precision(0.05, "mean_fct_s"),
                jobs=1,
            )
        with Journal(tmp_path / "out") as journal:
            assert len(journal.entries) == 1


def test_a_metric_that_only_some_points_have_is_refused_before_all_is_played(
    scenario_file: Write, tmp_path: Path
) -> None:
    """The probes of a point decide whether it has a smoothness; the first one has."""
    file = scenario_file(('interval = "50 ms"', 'interval = "50 ms"\ndelivered = "50 ms"'), ("3 s", "9 s"))
    change = {"probes.delivered": ["50 ms", "2 s"]}
    with pytest.raises(InputError, match="'smoothness' has no value in point 1"):
        ackclock.sweep(file, tmp_path / "out", set=change, precision=Precision(0.05, "smoothness"), jobs=1)
    with Journal(tmp_path / "out") as journal:
        assert len(journal.entries) < 2 * PILOT


def test_only_what_the_metric_needs_is_read(
    scenario_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few points are looked at together, the decisions are the same; the series stay on the disk."""
    read: list[int] = []
    real = batch.tables

    def tables(payload: bytes, without: Any = ()) -> Any:
        found = real(payload, without)
        if without:
            read.append(found["series"].height)
        return found

    monkeypatch.setattr(batch, "tables", tables)
    change = {"topology.rtt": ["20 ms", "40 ms", "60 ms"]}
    wish = Precision(0.02, "loss_percent", most=9)
    ackclock.sweep(scenario_file(), tmp_path / "a", set=change, precision=wish, jobs=1)
    monkeypatch.setattr(session, "_MOST_ROWS", 1)
    ackclock.sweep(scenario_file(), tmp_path / "b", set=change, precision=wish, jobs=1)
    assert read
    assert not any(read)
    assert _hashes(tmp_path / "a") == _hashes(tmp_path / "b")


def test_only_two_metrics_need_the_series(scenario_file: Write) -> None:
    probes = 'interval = "50 ms"\ndelivered = "50 ms"\ntimeouts = "on change"\nrecoveries = "on change"'
    result = ackclock.run(scenario_file(('interval = "50 ms"', probes)), replications=2, jobs=1)
    without = {**result.tables, "series": result.series.clear()}
    (usual,), (less,) = (summary.summarise(tables, result.manifest) for tables in (result.tables, without))
    assert {name for name in usual.metrics if usual.metrics[name] != less.metrics.get(name)} == session._OF_SERIES


def test_more_replications_than_are_allowed_are_refused(scenario_file: Write, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the scenario asks for 3 replications, more than 2; allow as many"):
        ackclock.sweep(scenario_file(), tmp_path / "out", replications=3, precision=Precision(most=2), jobs=1)
    assert not (tmp_path / "out").exists()
