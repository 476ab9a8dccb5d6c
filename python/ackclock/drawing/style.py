"""How every figure looks: one colour and one marker per algorithm, the same everywhere.

The colours are told apart by colour-blind readers, and the markers by readers of a grey print.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Look:
    """Colour and marker of an algorithm."""

    colour: str
    marker: str


# Algorithms that are often compared do not share a colour.
_LOOKS = {
    "tahoe": Look("#777777", "v"),
    "reno": Look("#0072B2", "o"),
    "newreno": Look("#E69F00", "s"),
    "cubic": Look("#009E73", "^"),
    "bic": Look("#CC79A7", "D"),
    "highspeed": Look("#D55E00", "P"),
    "scalable": Look("#56B4E9", "X"),
    "htcp": Look("#882255", "<"),
    "fast": Look("#999933", ">"),
    "vegas": Look("#332288", "p"),
    "veno": Look("#AA4499", "h"),
    "westwood": Look("#117733", "*"),
    "illinois": Look("#661100", "d"),
    "hybla": Look("#6699CC", "8"),
    "yeah": Look("#CC6677", "H"),
    "ledbat": Look("#44AA99", "v"),
    "dctcp": Look("#888833", "s"),
    "bbr1": Look("#000000", "o"),
    "bbr3": Look("#AA0000", "D"),
    "copa": Look("#5D3A9B", "^"),
    # Slow starts, where they are compared.
    "standard": Look("#0072B2", "o"),
    "limited": Look("#E69F00", "s"),
    "hystart": Look("#009E73", "^"),
    "hystart++": Look("#CC79A7", "D"),
    "blbe": Look("#000000", "*"),
}

_PACKETS = Look("#A6761D", "X")  # of sources without a controller, beside all of them

NEUTRAL = "#444444"
"""Colour of what belongs to no algorithm: queues, limits."""

DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
"""Line styles of the first, second, ... flow of one algorithm."""

RC: Any = {
    "figure.dpi": 100,
    "savefig.dpi": 300,
    "font.size": 8,
    "font.family": "DejaVu Sans",
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.4,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "lines.linewidth": 0.9,
    "lines.markersize": 3.5,
    "path.simplify": True,
    # Identifiers in an SVG follow from its content, so that the same result gives the same file.
    "svg.hashsalt": "ackclock",
    "svg.fonttype": "path",
}
"""Matplotlib settings of every figure: sized for print at its natural width."""


def look(label: str) -> Look:
    """The look of an algorithm, by its name or a label such as ``cubic(beta=0.8)``; "none" is a source of packets.

    A name that is not in the table borrows one of the looks there, always the same.
    """
    name = label.partition("(")[0]
    known = _PACKETS if name == "none" else _LOOKS.get(name)
    if known is not None:
        return known
    looks = list(_LOOKS.values())
    return looks[zlib.crc32(name.encode()) % len(looks)]
