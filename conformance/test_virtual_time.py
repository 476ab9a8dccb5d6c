"""The simulator beside what Linux made of the same paths in virtual time (kernel-vt/README.md)."""

from __future__ import annotations

import json
import statistics

import pytest

import virtual_time
from virtual_time import CHOSEN, CONTROLLERS, GOODPUT, QUEUE, RECORD, STARTS


@pytest.mark.parametrize("cell", virtual_time.CHAOTIC, ids="-".join)
def test_over_starts_the_simulator_agrees_where_the_start_decides(cell: virtual_time.Cell) -> None:
    [kept] = [c for c in json.loads(STARTS.read_text(encoding="utf-8"))["cells"] if (c["path"], c["cc"]) == cell]
    theirs, ours = kept["runs"], virtual_time.started_anywhere(cell, "sim")
    assert len(theirs) == len(ours) == virtual_time.TIMES
    for metric, most in (("goodput_bps", GOODPUT), ("mean_queue_packets", QUEUE)):
        means = [statistics.fmean(run[metric] for run in runs) for runs in (ours, theirs)]
        assert means[0] == pytest.approx(means[1], rel=most), metric


def test_every_cell_is_recorded_and_the_record_says_of_what() -> None:
    assert set(virtual_time.recorded()) == set(virtual_time.cells())
    assert len(CHOSEN) == 10
    assert len(CONTROLLERS) == 3
    kernel = json.loads(RECORD.read_text(encoding="utf-8"))["kernel"]
    assert kernel["linux"].startswith("6.12.")
    assert len(kernel["digest"]) == 64


@pytest.mark.parametrize("cell", virtual_time.cells(), ids="-".join)
def test_the_simulator_agrees(cell: virtual_time.Cell) -> None:
    assert virtual_time.agrees(cell), virtual_time.line(cell)


def test_marks_stand_in_for_drops_on_both_sides() -> None:
    for cc in ("reno", "cubic"):
        ours, theirs = virtual_time.simulated(("ecn", cc)), virtual_time.recorded()["ecn", cc]
        assert ours.marks > 0
        assert ours.marks == pytest.approx(theirs.marks, rel=0.1)
        assert (ours.drops, theirs.drops) == (0, 0)
