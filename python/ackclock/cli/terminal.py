"""A line over time, drawn with characters: dots of Braille where the output can show them, else stars."""

from __future__ import annotations

import math
from collections.abc import Sequence

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of the dots of a Braille character, by row and column."""


def plot(
    time: Sequence[float], value: Sequence[float], *, width: int, height: int = 12, end: float, braille: bool = True
) -> list[str]:
    """Lines of text: axes, and `value` as steps from time 0 to `end`."""
    top = _nice(max(value, default=1.0))
    labels = {0: f"{top:g}", height // 2: f"{top / 2:g}", height - 1: "0"}
    margin = max(map(len, labels.values())) + 1
    across, down = (2, 4) if braille else (1, 1)
    columns, rows = max(10, width - margin - 1), height
    cells = [[0] * columns for _ in range(rows)]
    for x, (low, high) in enumerate(_stretches(time, value, columns * across, end)):
        if low is None or high is None:
            continue
        first, last = (_level(each, top, rows * down) for each in (high, low))
        for y in range(first, last + 1):
            bit = _DOTS[y % down][x % across] if braille else 1
            cells[y // down][x // across] |= bit
    lines = []
    for row, line in enumerate(cells):
        text = "".join(_character(cell, braille) for cell in line).rstrip()
        lines.append(f"{labels.get(row, ''):>{margin - 1}} {'┤' if braille else '|'}{text}")
    corner, flat = ("└", "─") if braille else ("+", "-")
    lines.append(f"{'':>{margin}}{corner}{flat * columns}")
    lines.append(f"{'':>{margin}}{_time_axis(columns, end)}")
    return lines


def _stretches(
    time: Sequence[float], value: Sequence[float], count: int, end: float
) -> list[tuple[float | None, float | None]]:
    """Lowest and highest value within each of `count` equal parts of the time, joined to what was before."""
    found: list[tuple[float | None, float | None]] = []
    index, current = 0, None
    for part in range(count):
        until = end * (part + 1) / count
        low = high = current
        while index < len(time) and time[index] < until:
            current = value[index]
            low = current if low is None else min(low, current)
            high = current if high is None else max(high, current)
            index += 1
        found.append((low, high))
    return found


def _level(value: float, top: float, levels: int) -> int:
    """The row of dots of a value, counted from the top."""
    return min(levels - 1, max(0, levels - 1 - round(value / top * (levels - 1))))


def _character(cell: int, braille: bool) -> str:
    if braille:
        return chr(0x2800 + cell) if cell else " "
    return "*" if cell else " "


def _time_axis(columns: int, end: float) -> str:
    parts = next((parts for parts in (6, 5, 4, 3) if end % parts == 0), 4)
    text = [" "] * (columns + 4)
    for part in range(parts + 1):
        label = f"{end * part / parts:g}" + (" s" if part == parts else "")
        start = max(0, min(round(part * columns / parts) + 1 - len(label) // 2, columns + 4 - len(label)))
        text[start : start + len(label)] = label
    return "".join(text).rstrip()


def _nice(value: float) -> float:
    """The smallest of 1, 2, 3, 4, 5, 6, 8, 10 times a power of ten that is not below `value`."""
    if value <= 0 or not math.isfinite(value):
        return 1.0
    scale = 10.0 ** math.floor(math.log10(value))
    return next(step * scale for step in (1, 2, 3, 4, 5, 6, 8, 10) if step * scale >= value * (1 - 1e-9))
