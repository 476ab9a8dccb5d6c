"""Profile `linux` where the application limits the sender (conformance/kernel/limited/README.md)."""

from __future__ import annotations

from dataclasses import replace

import pytest

import limited
import limited_figures as figures
import limited_records as records
import limited_spacings as spacings
from kernel_records import CONTROLLERS, scenario_of
from limited_runs import Cell

NAMES = records.names()
SHARE = 0.95
"""Of the cells that must agree: completion time or goodput within 5 %, mean RTT within 10 %."""


def test_nineteen_cells_of_twenty_agree() -> None:
    off = [name for name in NAMES if not figures.cell(name).agrees]
    assert len(off) <= (1 - SHARE) * len(NAMES), off


@pytest.mark.parametrize("name", NAMES)
def test_a_cell_agrees_or_is_known_not_to(name: str) -> None:
    """A cell that agrees must leave the list; one on it differs by no more than its mechanism explains."""
    agrees, known = figures.cell(name).agrees, figures.deviations().get(name)
    text = "\n".join(str(item) for item in figures.of(name) if not item.agrees)
    assert agrees == (known is None), text or f"agrees: remove it from {figures.FILE.name}"
    assert all(item.explained for item in figures.of(name)), text


@pytest.mark.parametrize("name", [name for name in NAMES if scenario_of(name) == "onoff"])
def test_what_is_written_when_a_time_on_ends_leaves_all_the_same(name: str) -> None:
    """At most 64 KiB wait unsent (TCP_NOTSENT_LOWAT): without them a cell has 1 % less. BBR draws its phases."""
    assert figures.cell(name).speed == pytest.approx(1, abs=0.003)


def test_the_list_names_records() -> None:
    assert set(figures.deviations()) <= set(NAMES)


def test_over_many_spacings_of_the_losses_short_westwood_agrees() -> None:
    """The one cell that differs: over 35 spacings the mean completion times do not (99 % interval)."""
    assert [run.drop_every for run in spacings.kernel()] == list(range(131, 200, 2))
    found = spacings.difference()
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 0 <= found.high
    # It would show a difference as large as that of the cell (16.5 of 230.5 ms).
    assert found.high - found.low < 2 * 16.5e-3
    # At half of the spacings every connection loses the same packets in both: the means are within half a millisecond.
    pairs = list(zip(spacings.kernel(), spacings.ours(), strict=True))
    assert all(a.transfers == b.transfers == 50 for a, b in pairs)
    assert sum(abs(a.completion_s - b.completion_s) < 5e-4 for a, b in pairs) >= 15


def test_the_spacings_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert spacings.main() == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 35 + 3
    assert printed[-2].startswith("Linux: 224.4 ms, standard error 3.5")


def test_every_module_is_recorded_with_every_application() -> None:
    scenarios = {scenario_of(name) for name in NAMES}
    assert len(scenarios) == 15
    assert set(NAMES) == {f"{scenario}_{module}" for scenario in scenarios for module in CONTROLLERS}


def test_the_comparison_can_fail() -> None:
    cell = figures.cell("rr0_reno")
    assert cell.agrees

    def changed(**values: float) -> Cell:
        return replace(cell, ours=replace(cell.kernel, **values))

    time, rtt = cell.kernel.completion_s, cell.kernel.mean_rtt_s
    assert time is not None
    assert rtt is not None
    assert changed(completion_s=1.04 * time, mean_rtt_s=0.91 * rtt).agrees
    assert changed(completion_s=1.06 * time).verdict == "differs"
    assert changed(mean_rtt_s=1.11 * rtt).verdict == "differs"
    assert changed(completion_s=0.79 * time).verdict == "DIFFERS"
    assert changed(completion_s=None).verdict == "DIFFERS"  # type: ignore[arg-type]
    # Another controller's run is another.
    assert not replace(cell, ours=figures.cell("rr0_illinois").ours).agrees


def test_the_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACKCLOCK_EXTENSION", raising=False)
    monkeypatch.setattr("sys.argv", ["limited", "--only", "short_reno", "--only", "onoff_reno"])
    assert limited.main() == 0
    printed = capsys.readouterr().out
    assert "50 / 50" in printed
    assert "2 of 2 cells agree" in printed
    monkeypatch.setattr("sys.argv", ["limited", "--only", "nobody"])
    with pytest.raises(SystemExit, match="no record of nobody"):
        limited.main()
