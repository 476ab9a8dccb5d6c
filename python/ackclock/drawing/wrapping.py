"""Texts that keep within a figure: how wide they are, and where their lines break."""

from __future__ import annotations

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

TITLE, ENTRY = 8, 7
"""Points of titles, and of the words of a legend or at an axis."""

_JOINTS = ".:,(=_-/"


def inches(text: str, size: float) -> float:
    """How wide a line of text is in a font of so many points. Call it within the settings of a figure."""
    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)
    return float(width) / 72


def fitted(text: str, width: float, size: float) -> str:
    """`text` with lines of at most so many inches, broken between words, and within one only if it is wider."""
    return "\n".join(_broken(line, width, size) for line in text.split("\n"))


def _broken(line: str, width: float, size: float) -> str:
    lines = [""]
    for word in (part for whole in line.split(" ") for part in _parts(whole, width, size)):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and inches(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return "\n".join(lines)


def _parts(word: str, width: float, size: float) -> list[str]:
    """A word as what fits, broken behind the parts of a name where it has some."""
    parts = [""]
    for character in word:
        if parts[-1] and inches(parts[-1] + character, size) > width:
            cut = max(parts[-1].rfind(sign) for sign in _JOINTS) + 1 or len(parts[-1])
            parts[-1:] = [parts[-1][:cut], parts[-1][cut:]]
        parts[-1] += character
    return parts
