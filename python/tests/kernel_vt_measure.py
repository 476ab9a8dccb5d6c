"""Campaigns on a path in virtual time: make test-kernel-vt. Client, server and kernel are the real ones."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import ackclock
from ackclock.measure import campaign, runner
from ackclock.measure.causes.verdict import explain
from planted_causes import CAUSES, Row, play, table
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


def test_what_began_in_virtual_time_goes_on_in_it_without_being_told(tmp_path: Path) -> None:
    (tmp_path / "line.toml").write_text(LINE, encoding="utf-8")
    (tmp_path / "campaign.toml").write_text(CAMPAIGN.replace("repetitions = 1", "repetitions = 2"), encoding="utf-8")
    loaded = campaign.load(tmp_path / "campaign.toml")
    whole = runner.begin(loaded, tmp_path / "whole", runner.Asked(virtual=True), lambda _: None)
    first = runner.begin(loaded, tmp_path / "parts", runner.Asked(virtual=True, once=True), lambda _: None)
    assert (first.done, first.missing) == (2, 2)
    second = runner.resume(tmp_path / "parts", runner.Asked(), lambda _: None)
    assert (second.done, dict(second.failed), second.missing) == (whole.done, {}, 0)
    one, two = (ackclock.Result.load(tmp_path / name).flows for name in ("whole", "parts"))
    assert one.equals(two)


def test_the_data_plane_carries_what_iperf3_does(tmp_path: Path) -> None:
    """On the same path with the same kernel, in virtual time, where nothing but the tools differs."""
    line = LINE.replace("20 Mbit/s", "100 Mbit/s").replace("150 ms", "20 ms")
    (tmp_path / "line.toml").write_text(line, encoding="utf-8")
    both = CAMPAIGN.replace('rcvbuf = "100 kB"', 'warmup = "1 s"\ntool = ["ackclock", "iperf3"]')
    (tmp_path / "campaign.toml").write_text(both, encoding="utf-8")
    made = runner.begin(
        campaign.load(tmp_path / "campaign.toml"), tmp_path / "out", runner.Asked(virtual=True), lambda _: None
    )
    assert (made.done, dict(made.failed)) == (4, {})
    runs = ackclock.Result.load(tmp_path / "out").runs
    rates = runs.pivot("tool", index="connections", values="goodput_bps").sort("connections")
    assert rates["connections"].to_list() == [1, 4]
    for ours, theirs in rates.select("ackclock", "iperf3").iter_rows():
        assert ours == pytest.approx(theirs, rel=0.01)
        assert ours > 90e6


REAL = [next(row for row in table() if row.cause == cause and row.engine != "sim") for cause in CAUSES]
"""Of the table of planted causes: the first campaign of each that was played on a kernel."""


@pytest.mark.parametrize("row", REAL, ids=CAUSES)
def test_a_cause_planted_on_a_kernel_is_named_as_the_table_has_it(row: Row, tmp_path: Path) -> None:
    # The verdict alone: which packets are lost or policed depends on each before, and with it the share.
    found = play(row.number, tmp_path)
    assert (found.verdict, found.right) == (row.verdict, True)
