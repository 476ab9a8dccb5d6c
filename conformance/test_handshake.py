"""Round trips longer than the first timeout: SYNs repeated too early, beside the real kernel.

Linux 6.12 in virtual time, Reno, 10 Mbit/s, queue of 100 packets, 20 s: a SYN is repeated every second, the echoed
timestamp shows that the first one was answered, so the window begins at ten segments and its round trip is a sample.
"""

from __future__ import annotations

import pytest

import ackclock

KERNEL = {1200: (1_765_981, 162), 4000: (86_880, 3)}
"""By RTT in ms: goodput in bit/s, and segments sent again, SYNs included."""
SYNS_AGAIN = {1200: 1, 4000: 3}


@pytest.mark.parametrize("rtt_ms", KERNEL)
def test_a_path_longer_than_the_first_timeout(rtt_ms: int) -> None:
    scenario = {
        "topology": {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": f"{rtt_ms} ms", "queue": "100 packets"},
        "flows": [{"cc": "reno", "profile": "linux"}],
        "run": {"duration": "20 s"},
    }
    flow = ackclock.run(scenario, jobs=1).flows.row(0, named=True)
    goodput, again = KERNEL[rtt_ms]
    assert flow["goodput_bps"] == pytest.approx(goodput, rel=0.01)
    assert flow["retransmitted_segments"] == again - SYNS_AGAIN[rtt_ms]
    assert flow["timeouts"] == 0
