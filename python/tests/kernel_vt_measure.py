"""Campaigns on a path in virtual time: make kernel-vt-test. Client, server and kernel are the real ones."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import ackclock
from ackclock.measure import campaign, runner
from ackclock.measure.causes.verdict import explain
from virtual_kernels import able as able  # a fixture of the module

LINE = """
[topology]
kind = "dumbbell"
rate = "20 Mbit/s"
rtt = "150 ms"
queue = "1 BDP"
[[flows]]
cc = "cubic"
[run]
duration = "3 s"
"""
CAMPAIGN = """
[campaign]
name = "window"
repetitions = 1
gap = "0 s"
[[lines]]
name = "line"
via = "line.toml"
[test]
connections = [1, 4]
duration = "3 s"
rcvbuf = "100 kB"
"""


def measured(folder: Path, name: str) -> pl.DataFrame:
    """The flows of a campaign."""
    made = runner.begin(
        campaign.load(folder / "campaign.toml"), folder / name, runner.Asked(virtual=True), lambda _: None
    )
    assert (made.done, dict(made.failed), made.missing) == (2, {}, 0)
    return ackclock.Result.load(folder / name).flows


def test_a_campaign_is_the_same_twice_and_names_the_window(tmp_path: Path) -> None:
    (tmp_path / "line.toml").write_text(LINE, encoding="utf-8")
    (tmp_path / "campaign.toml").write_text(CAMPAIGN, encoding="utf-8")
    first = measured(tmp_path, "one")
    assert first.height == 5
    assert first.equals(measured(tmp_path, "two"))
    (verdict,) = explain(tmp_path / "one")
    assert (verdict.mechanism, verdict.missing) == ("receive window", {})
    # 100 kB make a buffer of 200 kB, of which less than two thirds are window: below 7 Mbit/s at 150 ms.
    assert verdict.share is not None
    assert verdict.share < 0.5
