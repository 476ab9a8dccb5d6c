"""Text that comes from files: nothing of it may move a terminal's cursor, or look like something else."""

from __future__ import annotations

_MOST = 200
"""Characters that anybody would read."""


def escaped(text: str) -> str:
    r"""`text` with everything that is not printed as itself as ``\x1b`` or ``\u202e``, and no longer than a line."""
    shown = "".join(each if each.isprintable() and each != "\\" else _code(each) for each in text[:_MOST])
    return f"{shown}..." if len(text) > _MOST else shown


def in_csv(text: str) -> str:
    """`text` as a cell of CSV that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text


def _code(character: str) -> str:
    number = ord(character)
    if character == "\\":
        return r"\\"
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
