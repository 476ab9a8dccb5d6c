"""Users of a commercial LTE network, as three places of a cell: what differs from the defaults of a cell.

What a speed test reaches there is 25, 20 and 14 Mbit/s. Other users take a fixed share of the TTIs: so much that what
is left has this rate after headers and 10 % of retransmissions. The values are those of
`ackclock_core::cell::profiles`, which says how they were found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def _profile(snr: str, up_snr: str, taken: float) -> Mapping[str, Any]:
    return {
        "places": [{"snr": snr, "up_snr": up_snr}],
        "bandwidth": "10 MHz",
        "background": taken,
        "rlc": "am",
        "harq": {"errors": "fixed", "first": 0.1, "further": 0.01},
        "queue": {"limit": "1.5 MB"},
    }


PROFILES: Mapping[str, Mapping[str, Any]] = {
    "near": _profile("18 dB", "32 dB", 0.064),
    "mid": _profile("14.5 dB", "28 dB", 0.001),
    "far": _profile("10.5 dB", "22 dB", 0.023),
}
"""Near the base station, half way, and at the edge of the cell."""
