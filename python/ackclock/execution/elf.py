"""The build ID of a shared object: a hash of its content that the linker has written into it.

Reading it takes no time, where a hash of the 30 MB of an engine takes longer than a short run.
"""

from __future__ import annotations

import struct
from pathlib import Path

_MAGIC = b"\x7fELF\x02\x01"
"""Of 64 bits, little endian: of others nothing is known."""
_NOTE = 4
"""Type of a program header: notes."""
_BUILD_ID = 3
"""Type of the note."""
_LEAST = 16
"""Bytes of a build ID that is a hash: shorter ones are somebody's own numbers."""


def build_id(file: Path) -> str | None:
    """The build ID of a file in hexadecimal digits, or None of one that has none."""
    with file.open("rb") as content:
        head = content.read(64)
        if len(head) < 64 or not head.startswith(_MAGIC):
            return None
        (begin,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        content.seek(begin)
        table = content.read(size * count)
        for at in range(0, len(table) - 55, size or 56):
            kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", table, at)
            if kind == _NOTE:
                content.seek(offset)
                if (found := _in_notes(content.read(length))) is not None:
                    return found
    return None


def _in_notes(notes: bytes) -> str | None:
    """The build ID among notes: each has the lengths of its name and content, its type, and both, filled up to 4."""
    at = 0
    while at + 12 <= len(notes):
        name, size, kind = struct.unpack_from("<III", notes, at)
        begin = at + 12 + (name + 3) // 4 * 4
        if kind == _BUILD_ID and notes[at + 12 : at + 12 + name] == b"GNU\0" and size >= _LEAST:
            return notes[begin : begin + size].hex()
        at = begin + (size + 3) // 4 * 4
    return None
