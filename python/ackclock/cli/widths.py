"""How wide the columns of a table are: words are never split, and what is least important goes where room is short."""

from __future__ import annotations

from collections.abc import Collection, Sequence

Rows = Sequence[Sequence[str]]


def fitted(rows: Rows, room: int, gap: int, rigid: Collection[int] = ()) -> list[int] | None:
    """The widths of columns that fit `room` with `gap` between them; None if a word would have to be split.

    Cells are folded at blanks, those of the widest columns first; those of columns that are `rigid`, numbers, never.
    """
    most = [max(_line(row[index]) for row in rows) for index in range(len(rows[0]))]
    least = [width if index in rigid else max(_word(row[index]) for row in rows) for index, width in enumerate(most)]
    room -= gap * (len(most) - 1)
    if sum(least) > room:
        return None
    cap = max(most)
    while True:
        widths = [max(low, min(high, cap)) for low, high in zip(least, most, strict=True)]
        if sum(widths) <= room:
            return widths
        cap -= 1


def chosen(
    rows: Rows, room: int, gap: int, rigid: Collection[int], order: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The columns that are kept, and those that are left out: as few as will do of `order`, the first of it first."""
    for count in range(len(order) + 1):
        out = set(order[:count])
        kept = [index for index in range(len(rows[0])) if index not in out]
        own = [at for at, index in enumerate(kept) if index in rigid]
        if fitted(cut(rows, kept), room, gap, own) is not None:
            return kept, sorted(out)
    if order and fitted(cut(rows, kept), room, gap) is not None:
        return kept, sorted(out)  # without these, numbers have to be folded, but no word is split
    return list(range(len(rows[0]))), []  # nothing helps: all of it, folded


def cut(rows: Rows, columns: Sequence[int]) -> list[list[str]]:
    """Some columns of a table."""
    return [[row[index] for index in columns] for row in rows]


def needed(rows: Rows, gap: int) -> int:
    """The room that a table takes without folding."""
    width = sum(max(_line(row[index]) for row in rows) for index in range(len(rows[0])))
    return width + gap * (len(rows[0]) - 1)


def _line(cell: str) -> int:
    return max(map(len, cell.split("\n")))


def _word(cell: str) -> int:
    return max(map(len, cell.split()), default=0)
