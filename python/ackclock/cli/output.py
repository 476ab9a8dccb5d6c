"""Standard output for lines and tables: plain text by itself, and rich for terminals and all else.

Rich takes longer to load than a short run takes. A file or a pipe needs it for nothing but what does not fit.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from ackclock.cli import widths as widths_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

Justify = Literal["left", "right"]

GAP, TIGHT = 3, 1  # characters between the columns of a table
_WIDE = 200  # columns when the output is a file or a pipe: tables are not folded there

_FORCED = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables with which rich takes a pipe for a terminal."""

_RANGES = ((0x20, 0x7E), (0xA0, 0xAC), (0xAE, 0x2FF), (0x370, 0x482), (0x2500, 0x25FC), (0x2800, 0x28FF))
_NARROW = frozenset(chr(code) for first, last in _RANGES for code in range(first, last + 1))
"""Characters that take one column of a terminal each; others may take none, or two."""


class Table:
    """Cells below a header, and how its columns are aligned; `widths` are those of columns that are folded."""

    def __init__(
        self,
        rows: Sequence[Sequence[str]],
        sides: Sequence[Justify],
        widths: Sequence[int] | None,
        *,
        tight: bool,
    ) -> None:
        self.rows, self.sides, self.widths = rows, sides, widths
        self.gap = TIGHT if tight else GAP

    def needed(self) -> int:
        """The columns of a terminal that it takes without folding."""
        return widths_of.needed(self.rows, self.gap)

    def lines(self, room: int) -> Iterator[str] | None:
        """Its lines as text; None where that needs rich: a cell has to be folded, or its width is unknown."""
        if self.widths is not None or self.needed() > room:
            return None
        cells = [[cell.split("\n") for cell in row] for row in self.rows]
        if not all(_NARROW.issuperset(line) for row in cells for cell in row for line in cell):
            return None
        widths = [max(len(line) for row in cells for line in row[at]) for at in range(len(self.sides))]
        return self._lines(cells, widths) if all(widths) else None

    def _lines(self, cells: Sequence[Sequence[Sequence[str]]], widths: Sequence[int]) -> Iterator[str]:
        gap = " " * self.gap
        high = max(map(len, cells[0]))
        header = [[*[""] * (high - len(title)), *title] for title in cells[0]]  # titles stand at the bottom
        for number, row in enumerate([header, *cells[1:]]):
            for parts in zip_longest(*row, fillvalue=""):
                yield gap.join(
                    part.rstrip().rjust(width) if side == "right" else part.ljust(width)
                    for part, width, side in zip(parts, widths, self.sides, strict=True)
                )
            if number == 0:
                yield "─" * (sum(widths) + self.gap * (len(widths) - 1))

    def rich(self) -> RichTable:
        """The same for rich."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        padding = (0, 1) if self.gap == GAP else 0
        result = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=padding)
        header, *body = self.rows
        for at, (title, side) in enumerate(zip(header, self.sides, strict=True)):
            width = None if self.widths is None else self.widths[at]
            result.add_column(Text(title), justify=side, vertical="top", overflow="fold", width=width)
        for row in body:
            result.add_row(*(Text(cell) for cell in row))
        return result


class Output:
    """Standard output: as wide as the terminal, or wide enough for any table."""

    def __init__(self) -> None:
        self._plain = not sys.stdout.isatty() and not any(name in os.environ for name in _FORCED)

    @functools.cached_property
    def rich(self) -> Console:
        """The same as rich sees it."""
        from rich.console import Console

        width = None if sys.stdout.isatty() else _WIDE
        return Console(file=sys.stdout, width=width, highlight=False, soft_wrap=False, emoji=False)

    @property
    def width(self) -> int:
        """Columns."""
        return _WIDE if self._plain else self.rich.width

    def print(self, content: str | Text | Table = "", *, soft_wrap: bool = False, markup: bool = True) -> None:
        """Print a table, or text: folded between words where it is wider, but for `soft_wrap`.

        With `markup`, what is in brackets are looks.
        """
        if self._plain and (lines := self._lines(content, folded=not soft_wrap, markup=markup)) is not None:
            sys.stdout.write("".join(f"{line}\n" for line in lines))
            sys.stdout.flush()
        else:
            found = content.rich() if isinstance(content, Table) else content
            self.rich.print(found, soft_wrap=soft_wrap, markup=markup)

    def _lines(self, content: str | Text | Table, *, folded: bool, markup: bool) -> Sequence[str] | None:
        """Lines that are printed as they are; None where rich has something to do."""
        if isinstance(content, Table):
            utf = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
            found = content.lines(_WIDE) if utf else None
            return None if found is None else list(found)
        if not isinstance(content, str) or (markup and "[" in content):
            return None
        lines = content.split("\n")
        fits = all(_NARROW.issuperset(line) and not (folded and len(line) > _WIDE) for line in lines)
        return lines if fits else None
