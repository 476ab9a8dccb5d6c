"""What a line carries, by many connections at the begin of each block: shares are taken of it, and it is no test.

The most that was seen in any test grows with how many tests there are. A probe is made once for each block and
direction, before its tests, and says the same however many these are.
"""

from __future__ import annotations

from collections.abc import Sequence

from ackclock.measure import asked, iperf3
from ackclock.measure.asked import Asked
from ackclock.measure.sockets import Options

CONNECTIONS = 8
"""Of a probe, in each of its directions."""

_KEPT = ("cc", "mss", "tos")
"""Options of the tests that a probe has, where these agree: how packets are treated, and not what holds one back."""


def of(tests: Sequence[tuple[Asked, str]]) -> list[tuple[Asked, str]]:
    """The probes before these tests, each with its tool: one for each direction.

    It lasts as long as the longest of them and counts from its half on, when nothing begins any more. Buffers and
    pacing of the tests are left out: they would hold its connections back, too.
    """
    found = []
    for direction in dict.fromkeys(test.direction for test, _ in tests):
        own = [(test, tool) for test, tool in tests if test.direction == direction]
        ours = any(tool != iperf3.TOOL for _, tool in own)
        long = max(test.duration_ns for test, _ in own)
        step = 1 if ours else 10**9  # iperf3 takes whole seconds
        agreed = {name: {getattr(test.options, name) for test, _ in own} for name in _KEPT}
        message = {
            "connections": CONNECTIONS,
            "direction": direction,
            "duration_ns": long,
            "warmup_ns": long // 2 // step * step,
            "options": Options(**{name: next(iter(values)) for name, values in agreed.items() if len(values) == 1}),
        }
        found.append((asked.checked(message), "ackclock" if ours else iperf3.TOOL))
    return found
