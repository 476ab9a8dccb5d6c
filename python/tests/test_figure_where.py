"""Values that are chosen by hand."""

from __future__ import annotations

import pytest

from ackclock import InputError
from ackclock.drawing.plot import specify
from ackclock.drawing.selection import Request
from synthetic import made

RESULT = made(
    [{"topology.rtt": rtt, "cc": cc} for rtt in ("20 ms", "60 ms") for cc in ("reno", "cubic")],
    [[{"goodput_bps": 1e6 * (n + 1)} for n in range(3)] for _ in range(4)],
)


@pytest.mark.parametrize("value", ["60 ms", "60ms"])
def test_a_value_needs_no_blank(value: str) -> None:
    assert "RTT = 60 ms" in specify(RESULT, Request("box", where={"rtt": value})).chart.note


def test_a_value_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(InputError, match="its values are 20 ms, 60 ms"):
        specify(RESULT, Request("box", where={"rtt": "61ms"}))
