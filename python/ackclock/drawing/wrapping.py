"""Texts that keep within a figure: how wide they are, and where their lines break."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

TITLE, AXIS, ENTRY, NOTE = 8, 8, 7, 6.5
"""Points of titles, of the name of an axis, of the words of a legend or at its ticks, and of what is said above."""

_JOINTS = ".:,(=_-/"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def inches(text: str, size: float) -> float:
    """How wide a line of text is in a font of so many points. Call it within the settings of a figure."""
    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)
    return float(width) / 72


def fitted(text: str, width: float, size: float) -> str:
    """`text` with lines of at most so many inches, broken between words, and within one only if it is wider."""
    return "\n".join(_broken(line, width, size) for line in text.split("\n"))


def parted(text: str, width: float, size: float) -> str:
    """As :func:`fitted`, with lines that break behind commas where the parts between them fit.

    A part that is too long for a line begins one, and breaks behind its sign of equality or before the brackets of its
    value if that is enough: ``queue = droptail``, ``(limit=500 packets)``.
    """
    lines: list[str] = []
    for line in text.split("\n"):
        *before, last = line.split(", ")
        for place, part in enumerate((*(f"{part}," for part in before), last)):
            own = _lines(part, width, size)
            if place and len(own) == 1 and inches(f"{lines[-1]} {own[0]}", size) <= width:
                lines[-1] += f" {own[0]}"
            else:
                lines += own
    return "\n".join(lines)


def _lines(part: str, width: float, size: float) -> list[str]:
    """The lines of a part of a text: at the first of the places that are enough, or else between words."""
    name, sign, value = part.partition(" = ") if " = " in part else ("", "", part)
    head, bracket, inside = value.partition("(")
    choices = [[part]]
    if sign:
        choices.append([f"{name} =", value])
    if bracket and head:
        choices += [[f"{name}{sign}{head}", f"({inside}"], [*([f"{name} ="] if sign else []), head, f"({inside}"]]
    fit = (choice for choice in choices if all(inches(line, size) <= width for line in choice))
    return next(fit, None) or fitted(part, width, size).split("\n")


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
            cut = max(parts[-1].rfind(sign) for sign in _JOINTS) + 1 or _hump(parts[-1]) or len(parts[-1])
            parts[-1:] = [parts[-1][:cut], parts[-1][cut:]]
        parts[-1] += character
    return parts


def _hump(part: str) -> int:
    """Where the last word of a name such as ``MyController`` begins; 0 if it has a single one."""
    humps = [at for at in range(1, len(part)) if part[at].isupper() and part[at - 1].islower()]
    return humps[-1] if humps else 0


def plain(value: float) -> str:
    """A number as a tick: powers of ten only where it would be long otherwise."""
    text = f"{value:g}"
    if "e" not in text:
        return text
    digits, _, power = text.partition("e")
    raised = str(int(power)).translate(_RAISED)
    return f"10{raised}" if digits == "1" else f"{digits}·10{raised}"


def shown(labels: Iterable[str]) -> dict[str, str]:
    """What labels are called in a figure: a controller in Python by its class, where no other one is called so."""
    every = list(labels)
    short = {label: _class(label) for label in every}
    return {label: name if list(short.values()).count(name) == 1 else label for label, name in short.items()}


def _class(label: str) -> str:
    """``MyCC(gain=2)`` of ``python:my_module:MyCC(gain=2)``."""
    name, bracket, rest = label.partition("(")
    return name.rpartition(":")[2] + bracket + rest if name.startswith("python:") else label
