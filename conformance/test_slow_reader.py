"""A receiver that reads more slowly than the path carries, beside the real kernel, from the first segment on.

Goodput and round-trip time of all its records are compared with those of the other applications (test_limited.py). Here
is what they do not show: the bytes that the window lets out, and that the same bursts lose the same packets.
"""

from __future__ import annotations

import json
import statistics

import pytest

from ackclock import engine
from kernel_records import MSS, scenario_of
from limited_records import document, names, record

RECORDS = [name for name in names() if scenario_of(name) == "slowread"]
SETTLED = 60
"""The first sample, one in 50 ms, that counts for means: before it the sender probes for the rate."""


@pytest.mark.parametrize("name", RECORDS)
def test_the_window_that_a_slow_reader_leaves(name: str) -> None:
    kernel = record(name)["flows"][0]
    run = document(name)
    run["probes"] = {"in_flight": run["probes"]["srtt"]}
    out = engine.run(json.dumps(run))
    outstanding = [value / MSS for value in out.series["value"].to_list()[SETTLED:]]
    # A sample is one moment of a window that moves with every turn of the reader.
    assert statistics.fmean(outstanding) == pytest.approx(statistics.fmean(kernel["unacked"][SETTLED:]), rel=0.04)
    # BBR's pauses for the smallest RTT begin where its seed says.
    assert out.flows["retransmitted_segments"][0] == pytest.approx(kernel["retrans_segs"], abs=1)
