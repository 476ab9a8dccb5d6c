"""How every figure looks: one colour and one marker per algorithm, the same everywhere.

Two controllers differ in colour for colour-blind readers too, or else in shape of the marker and line style, which also
tell them apart in a grey print: python/tests/test_figure_looks.py.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Look:
    """Colour, marker and line style of an algorithm."""

    colour: str
    marker: str
    dashes: int = 0
    """Of its first line in a figure: :func:`dash`. No two controllers have both their marker and these alike."""
    hollow: bool = False
    """Whether its marker is white within, and so another one than the same that is full."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a line is drawn: its look, and what tells it from others of the same look."""

    look: Look
    rank: int = 0
    marker: str = ""
    """In place of the marker of the look, once that has been filled in every way."""

    def line(self) -> dict[str, Any]:
        """What matplotlib takes for it."""
        fill = FILLS[(self.rank + self.look.hollow) % len(FILLS)]
        marker = self.marker or self.look.marker
        return {
            "color": self.look.colour,
            "linestyle": dash(self.look.dashes + self.rank),
            "marker": marker,
            "markeredgewidth": 0.7,
            "markersize": 5.0 if marker == "*" or "$" in marker else 3.5,  # a star is mostly points
            # A marker without a face would have its line through it.
            "markerfacecolor": "white" if fill == "none" else self.look.colour,
            "markerfacecoloralt": "white",
            "fillstyle": "full" if fill == "none" else fill,
        }


# Algorithms that are often compared do not share a colour or a marker; a hollow one counts as another, and is dashed
# unlike the full one: python/tests/test_figure_looks.py.
_LOOKS = {
    "tahoe": Look("#555555", "v", 1),
    "reno": Look("#0072B2", "o"),
    "newreno": Look("#56B4E9", "s", 2),
    "cubic": Look("#009E73", "^"),
    "bic": Look("#CC79A7", "<", 1),
    "highspeed": Look("#D55E00", "P", 1),
    "scalable": Look("#56B4E9", "X", 1),
    "htcp": Look("#882255", "h", 2),
    "fast": Look("#9ACD00", ">", 1),
    "vegas": Look("#E69F00", "p"),
    "veno": Look("#AA4499", "h", 1),
    "westwood": Look("#117733", "d", 3),
    "westwood+": Look("#44AA99", "D", 2, hollow=True),
    "illinois": Look("#661100", "d", 1),
    "hybla": Look("#6699CC", "8", 3),
    "yeah": Look("#CC6677", "H", 2),
    "ledbat": Look("#44AA99", "v", 3),
    "dctcp": Look("#888833", "s", 3, hollow=True),
    "prague": Look("#AA3377", "o", 3, hollow=True),
    "bbr1": Look("#3A2BE0", "s"),
    "bbr3": Look("#6C2400", "v"),
    "copa": Look("#5D3A9B", "P", 2),
    # Slow starts, where they are compared.
    "standard": Look("#0072B2", "o"),
    "limited": Look("#E69F00", "s"),
    "hystart": Look("#009E73", "^"),
    "hystart++": Look("#CC79A7", "D"),
    "blbe": Look("#D55E00", "P"),
}

_PACKETS = Look("#A6761D", "X")  # of sources without a controller, beside all of them
_OWN = Look("#000000", "*")  # of controllers in Python: nothing that comes with the package is black or a star

# For lines that are no algorithm, such as a load or a formula: last those of the algorithms most often beside them.
_FREE = (
    Look("#D55E00", "s"),
    Look("#CC79A7", "D"),
    Look("#E69F00", "v"),
    Look("#56B4E9", "P"),
    Look("#6C2400", "X"),
    Look("#9ACD00", ">"),
    Look("#0072B2", "o"),
    Look("#009E73", "^"),
)

NEUTRAL = "#444444"
"""Colour of what belongs to no algorithm: queues, limits."""

NEUTRAL_LOOK = "neutral"
"""The name of the look of what belongs to no algorithm, in `looks` of a chart."""

_DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p", "<", "h", "d", ">", "8")

FILLS = ("full", "none", "left", "top")
"""What of its marker is filled."""

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
    "pdf.fonttype": 42,  # printers refuse type 3
}
"""Matplotlib settings of every figure: sized for print at its natural width."""


def look(label: str) -> Look:
    """The look of an algorithm, by its name or a label such as ``cubic(beta=0.8)``; "none" is a source of packets.

    Controllers in Python share one. Another name that is not in the table borrows a look there, always the same.
    """
    found = _known(label)
    if found is not None:
        return found
    looks = list(_LOOKS.values())
    return looks[zlib.crc32(_name(label).encode()) % len(looks)]


def dash(rank: int) -> Any:
    """The line style of the first (0), second, ... of several lines of one look: no two alike."""
    if rank < len(_DASHES):
        return _DASHES[rank]
    dots = rank - len(_DASHES) + 2  # the last of the table has one
    return (0, (5, 1, *(1, 1) * dots))


def styles(labels: Iterable[str], looks: Mapping[str, str] | None = None) -> dict[str, Style]:
    """How the lines of a figure are drawn, by their labels: no two alike.

    A label that ends with the name of an algorithm, as ``1 BDP cubic`` does, has its look; for others `looks` may name
    the algorithm. One without an algorithm has a look that no algorithm of the figure has.
    """
    names = list(dict.fromkeys(labels))
    own = looks or {}
    known = {name: found for name in names if (found := _known(own.get(name, name))) is not None}
    colours, markers = ({getattr(each, part) for each in known.values()} for part in ("colour", "marker"))
    # Those that are apart in both first: which of the two a reader sees is not known.
    free = sorted(_FREE, key=lambda each: (each.colour in colours) + (each.marker in markers))
    others = [name for name in names if name not in known]
    chosen = {name: known[name] if name in known else free[others.index(name) % len(free)] for name in names}
    ranks = {name: sum(chosen[other] == chosen[name] for other in names[:index]) for index, name in enumerate(names)}
    spare = _spare({each.marker for each in chosen.values()})
    # Names along an axis have no line whose dashes could tell more markers apart than there are ways to fill one.
    further = {key: next(spare) for key in dict.fromkeys(_round(chosen[name], ranks[name]) for name in names) if key[1]}
    return {
        name: Style(chosen[name], ranks[name], further.get(_round(chosen[name], ranks[name]), "")) for name in names
    }


def _round(own: Look, rank: int) -> tuple[Look, int]:
    return own, rank // len(FILLS)


def _spare(used: Collection[str]) -> Iterator[str]:
    """Markers that nothing of a figure has, then numbers: they do not end."""
    yield from (marker for marker in _MARKERS if marker not in used)
    yield from (f"${number}$" for number in itertools.count(1))


def _name(label: str) -> str:
    return label.partition("(")[0]


def _known(label: str) -> Look | None:
    for name in (_name(label), _name(label).rpartition(" ")[2]):
        if name == "none":
            return _PACKETS
        if name == NEUTRAL_LOOK:
            return Look(NEUTRAL, ".")
        if name.startswith("python:"):
            return _OWN
        if name in _LOOKS:
            return _LOOKS[name]
    return None
