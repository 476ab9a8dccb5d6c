"""What pages say in place of the names of cells and columns of the study split-tcp, and of numbers."""

from __future__ import annotations

SERVERS = {"105 ms": "S1", "52.5 ms": "S1", "15 ms": "S2", "7.5 ms": "S2"}
"""By what the scenarios have for the way to a server, a round trip or one way of it: the server."""
REGIONS = {
    "S1": ("125 ms", "130 ms", "155 ms", "126 ms", "135 ms", "30 ms", "34 ms"),
    "S2": ("3 ms", "5 ms", "7 ms", "4 ms", "6 ms", "40 ms", "39 ms"),
}
"""By server the round trips of R1 to R7, as the figures of `study.toml` have them."""
SERVERS |= {rtt: f"R{number}, {server}" for server, rtts in REGIONS.items() for number, rtt in enumerate(rtts, 1)}
NAMES = SERVERS | {"0.0": "none lost"}
"""What the page has for parts of the names of cells."""
WEIGHTED = "weighted"
"""A column beside those of the sizes: the gain over all of them, as figure 29 draws it."""
SIZES = {
    "rate_100k": "100 kB",
    "rate_500k": "500 kB",
    "rate_1m": "1 MB",
    "rate_5m": "5 MB",
    "rate_10m": "10 MB",
    "rate_20m": "20 MB",
    WEIGHTED: "all, weighted",
    "only": "",
}


def tenths(value: float) -> str:
    """A gain in per cent, or a difference in points."""
    return f"{round(value, 1) + 0.0:.1f}"  # no -0.0
