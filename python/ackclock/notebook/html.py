"""Tables and small charts as HTML, for a page that is light or dark.

Everything is well-formed XML too. Colours are those of the page's text (``currentColor``, inherited) or transparent
tints over its background; no meaning is in a colour alone.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Tone = Literal["good", "bad", "open", "plain"]

_SIGNS: dict[Tone, str] = {"good": "✓ ", "bad": "✗ ", "open": "? ", "plain": ""}
_TINTS: dict[Tone, str] = {
    "good": "rgba(0,158,115,.25)",
    "bad": "rgba(213,94,0,.3)",
    "open": "rgba(230,159,0,.25)",
    "plain": "rgba(128,128,128,.2)",
}
_WIDTH, _LINE, _EDGE = 150, 16, 6
_WHOLE = 40  # letters of a line that is not broken


class Markup(str):
    """Text that is HTML already, and is not escaped again."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """A value in a chart, with the ends of its interval if it has one."""

    value: float | None
    low: float | None = None
    high: float | None = None


def escaped(text: str) -> Markup:
    """Text as HTML; what is HTML already stays as it is."""
    return text if isinstance(text, Markup) else Markup(html.escape(text).replace("\n", "<br/>"))


def table(rows: Sequence[Sequence[str]], caption: str = "", *, words: int = 0) -> Markup:
    """A header, then rows; the first so many columns hold words and are set to the left."""
    header, *body = rows
    title = f"<caption>{escaped(caption)}</caption>" if caption else ""
    lines = "".join(f"<tr>{''.join(_cell(cell, left=i < words) for i, cell in enumerate(row))}</tr>" for row in body)
    head = "".join(f"<th>{escaped(cell)}</th>" for cell in header)
    return Markup(f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>")


def paragraphs(lines: Iterable[str]) -> Markup:
    """Each line as a paragraph."""
    return Markup("".join(f"<p>{escaped(line)}</p>" for line in lines))


def badge(word: str, tone: Tone) -> Markup:
    """A verdict: a sign and a word, over a tint."""
    style = f"background:{_TINTS[tone]};border-radius:3px;padding:1px 5px;white-space:nowrap"
    return Markup(f'<span style="{style}">{_SIGNS[tone]}{escaped(word)}</span>')


def intervals(rows: Sequence[Sequence[Mark]], *, zero: float | None = None) -> list[Markup]:
    """A chart for each row, all on one scale: a dot for each value, a line for its interval.

    `zero` is where a vertical line stands, such as no difference; the scale then reaches it.
    """
    ends = [end for row in rows for mark in row for end in (*_known(mark.value), *_known(mark.low), *_known(mark.high))]
    low, high = min([*ends, *_known(zero)], default=0.0), max([*ends, *_known(zero)], default=1.0)
    return [_chart(row, low, high if high > low else low + 1.0, zero) for row in rows]


def share(value: float, says: str = "") -> Markup:
    """A share from 0 to 1 as a bar. What it `says` is the share in percent, if nothing else."""
    width = _WIDTH * min(1.0, max(0.0, value if math.isfinite(value) else 0.0))
    bar = f'<rect x="0" y="3" width="{width:.1f}" height="10" fill="currentColor" fill-opacity=".6"/>'
    frame = f'<rect x="0" y="3" width="{_WIDTH}" height="10" fill="none" stroke="currentColor" stroke-opacity=".4"/>'
    return _svg(f"{frame}{bar}", _LINE, says or f"{100 * value:.3g} %")


def _cell(text: str, *, left: bool) -> str:
    lines = text.split("\n")
    # Lines of one cell stand beside those of the next, as of the flows of a run: none may become two.
    whole = len(lines) > 1 and not isinstance(text, Markup) and max(map(len, lines)) <= _WHOLE
    styles = [*(["text-align:left"] if left else []), *(["white-space:nowrap"] if whole else [])]
    style = f' style="{";".join(styles)}"' if styles else ""
    return f"<td{style}>{escaped(text)}</td>"


def _chart(row: Sequence[Mark], low: float, high: float, zero: float | None) -> Markup:
    def place(value: float) -> float:
        return _EDGE + (value - low) / (high - low) * (_WIDTH - 2 * _EDGE)

    height = _LINE * max(1, len(row))
    parts = [
        f'<line x1="{place(at):.1f}" x2="{place(at):.1f}" y1="0" y2="{height}" stroke="currentColor" '
        'stroke-opacity=".5" stroke-dasharray="2 2"/>'
        for at in _known(zero)
    ]
    said = []
    for i, mark in enumerate(row):
        y = _LINE * (i + 0.5)
        text = "".join(f"{value:.4g}" for value in _known(mark.value)) or "no value"
        if ends := [*_known(mark.low), *_known(mark.high)]:
            x1, x2 = place(ends[0]), place(ends[-1])
            parts.append(f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y:g}" y2="{y:g}" stroke="currentColor"/>')
            text += f" ({ends[0]:.4g} to {ends[-1]:.4g})"
        parts += [f'<circle cx="{place(at):.1f}" cy="{y:g}" r="3.5" fill="currentColor"/>' for at in _known(mark.value)]
        said.append(text)
    return _svg("".join(parts), height, "; ".join(said))


def _svg(inside: str, height: int, says: str) -> Markup:
    size = f'width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}"'
    text = html.escape(says)
    return Markup(f'<svg {size} role="img" aria-label="{text}"><title>{text}</title>{inside}</svg>')


def _known(value: float | None) -> list[float]:
    """The value, if it is one that has a place."""
    return [value] if value is not None and math.isfinite(value) else []
