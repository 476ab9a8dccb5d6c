"""Series of several engines over each other, as a picture in a page. It needs nothing from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from ackclock.drawing.ticks import nice
from ackclock.engines.divergence import Numbers, Track
from ackclock.notebook.html import Markup

_WIDTH, _HEIGHT = 720, 200
_LEFT, _BOTTOM, _TOP = 56, 24, 18
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_DASHES = ("", "5 3", "2 2", "8 3 2 3")
_TICKS = 5


def panel(title: str, unit: str, lines: Sequence[tuple[str, Track]], mark_s: float | None = None) -> Markup:
    """Lines over time, s, from 0 to the largest value. `mark_s` is where they begin to differ."""
    end = max((float(track.times[-1]) for _, track in lines), default=0.0) or 1.0
    top = max((float(track.values.max()) for _, track in lines), default=0.0) or 1.0
    parts = [_grid(end, top)]
    if mark_s is not None:
        x = _x(mark_s, end)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}" stroke="currentColor" '
            f'stroke-dasharray="2 2"/><text x="{x + 3:.1f}" y="{_TOP + 10}" font-size="10">{mark_s:.2f} s</text>'
        )
    for i, (name, track) in enumerate(lines):
        colour, dash = _COLOURS[i % len(_COLOURS)], _DASHES[i % len(_DASHES)]
        points = " ".join(f"{_x(t, end):.1f},{_y(v, top):.1f}" for t, v in zip(*_thinned(track, end), strict=True))
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.2" stroke-dasharray="{dash}"/>'
        )
        at = _WIDTH - 110 * (len(lines) - i)
        parts.append(
            f'<line x1="{at}" x2="{at + 22}" y1="8" y2="8" stroke="{colour}" stroke-width="2" '
            f'stroke-dasharray="{dash}"/><text x="{at + 26}" y="12" font-size="11">{html.escape(name)}</text>'
        )
    text = html.escape(f"{title}, {unit}")
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    words = f'<text x="0" y="12" font-size="12">{text}</text>'
    return Markup(
        f'<svg {size} role="img" aria-label="{text}" font-family="sans-serif" fill="currentColor">'
        f"<title>{text}</title>{words}{''.join(parts)}</svg>"
    )


def _grid(end: float, top: float) -> str:
    """The axes, with a few values at each."""
    base = _HEIGHT - _BOTTOM
    parts = [f'<path d="M{_LEFT} {_TOP}V{base}H{_WIDTH - 4}" fill="none" stroke="currentColor" stroke-opacity=".6"/>']
    for value in _steps(end):
        x = _x(value, end)
        parts.append(f'<text x="{x:.1f}" y="{base + 14}" font-size="10" text-anchor="middle">{value:g}</text>')
    for value in _steps(top):
        y = _y(value, top)
        parts.append(
            f'<text x="{_LEFT - 5}" y="{y + 3:.1f}" font-size="10" text-anchor="end">{value:g}</text>'
            f'<line x1="{_LEFT}" x2="{_WIDTH - 4}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" '
            f'stroke-opacity=".12"/>'
        )
    return "".join(parts)


def _steps(largest: float) -> list[float]:
    step = nice(largest * 1e6 / _TICKS) / 1e6
    return [step * i for i in range(int(largest / step) + 1)]


def _x(time: float, end: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - 4) * time / end


def _y(value: float, top: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * value / top


def _thinned(track: Track, end: float) -> tuple[Numbers, Numbers]:
    """No more than the least and the largest value of each column of the picture."""
    columns = (track.times / end * (_WIDTH - _LEFT)).astype(int)
    if len(columns) <= 2 * _WIDTH:
        return track.times, track.values
    kept: list[int] = []
    for part in np.split(np.arange(len(columns)), np.flatnonzero(np.diff(columns)) + 1):
        low, high = part[np.argmin(track.values[part])], part[np.argmax(track.values[part])]
        kept += sorted({int(low), int(high)})
    return track.times[kept], track.values[kept]
