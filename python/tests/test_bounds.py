"""Intervals in tables end where their metric does."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import ackclock
from ackclock.cli.app import main
from ackclock.results import bounds, page, text
from ackclock.stats import Estimate
from shared import SMALL


@pytest.mark.parametrize(
    ("mean", "half", "metric", "factor", "shown"),
    [
        (0.91, 0.21, "jain", 1.0, "0.91 (0.70 to 1)"),
        (0.91, 0.021, "jain", 1.0, "0.910 ± 0.021"),
        (0.33, 1.43, "transfers_unfinished", 1.0, "0.33 (0 to 1.76)"),
        (0.9998, 0.0005, "utilisation", 100.0, "99.980 (99.930 to 100)"),
        (1.0003, 0.0005, "utilisation", 100.0, "100.03 ± 0.05"),
        (2e6, 3e6, "goodput_bps", 1e-6, "2.0 (0 to 5.0)"),
        (99.0, 4.0, "loss_percent", 1.0, "99.0 (95.0 to 100)"),
        (5.0, 40.0, "proportional_fairness", 1.0, "5.0 ± 40.0"),
        (-3.0, 2.0, "", 1.0, "-3.0 ± 2.0"),
    ],
)
def test_a_number_has_no_interval_beyond_what_it_can_be(
    mean: float, half: float, metric: str, factor: float, shown: str
) -> None:
    assert text.number(Estimate(mean, half, 3), factor, 2, metric) == shown


def test_ends_are_within_bounds_and_around_the_mean() -> None:
    assert bounds.ends(Estimate(0.9, 0.2, 3), "jain") == (pytest.approx(0.7), 1)
    assert bounds.ends(Estimate(0.9, None, 1), "jain") is None
    assert bounds.ends(Estimate(None, None, 0), "jain") is None
    low, high = bounds.ends(Estimate(1.0003, 0.0001, 3), "utilisation") or (math.nan, math.nan)
    assert low < high == 1.0003, "a value that is beyond by rounding stays within its interval"


def test_tables_and_notebooks_have_none_above_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SMALL, encoding="utf-8")
    assert main(["run", str(scenario), "--replications", "3", "--set", "count=3"]) == 0
    out = capsys.readouterr().out
    result = ackclock.run(scenario, replications=3, set={"count": 3})
    (point,) = result.points
    jain = point.metrics["jain"]
    assert jain.mean is not None
    assert jain.ci95 is not None
    assert jain.mean + jain.ci95 > 1, "or it is no case of it"
    assert " to 1)" in out
    assert f"{jain.mean - jain.ci95:.5g} to 1" in page.of_point(point)


def test_in_a_pipe_tables_are_as_wide_as_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The wide form of this one has 130 characters; the narrow one has the same columns."""
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SMALL, encoding="utf-8")
    changes = ["--set", 'topology.rtt=["20 ms","60 ms"]', "--set", 'cc=["reno","cubic"]']
    assert main(["run", str(scenario), "--replications", "3", *changes]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines()[:-1])) <= 110
    assert "left out" not in out
    header = " ".join(out.split("─")[0].split())
    for title in ("goodput", "util.", "Jain", "loss", "retrans.", "mean", "p95"):
        assert title in header
