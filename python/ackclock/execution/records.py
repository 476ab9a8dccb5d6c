"""Records in a file: each a mark, a length, a checksum and a payload. They are found again between what is damaged."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass

_HEAD = struct.Struct("<4sQ16s")
_MARK = b"RUNS"
_FILL = b"-"
"""What a damaged stretch is overwritten with. No record begins like this."""
_CHUNK = 1 << 20

HEAD = _HEAD.size
"""Bytes of a record in front of its payload."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The bytes of a file from `begin` to `end` that are not part of a whole record."""

    begin: int
    end: int


def head(payload: bytes) -> bytes:
    """What stands in front of a payload."""
    return _HEAD.pack(_MARK, len(payload), _checksum(payload))


def length(file: int, at: int) -> int:
    """How long the payload of the record is that begins there."""
    found: int = _HEAD.unpack(os.pread(file, HEAD, at))[1]
    return found


def scan(file: int, begin: int, size: int, damaged: list[Stretch]) -> Iterator[tuple[int, bytes]]:
    """The payloads of all whole records, and where each begins. What is not one is entered into `damaged`."""
    at = begin
    while (at := _behind_fill(file, at, size)) < size:
        payload = _whole(file, at, size)
        if payload is None:
            end = _next_whole(file, at + 1, size)
            damaged.append(Stretch(at, end))
            at = end
        else:
            yield at + HEAD, payload
            at += HEAD + len(payload)


def fill(file: int, stretch: Stretch) -> None:
    """Overwrite a stretch with what :func:`scan` passes over."""
    for at in range(stretch.begin, stretch.end, _CHUNK):
        write(file, _FILL * min(_CHUNK, stretch.end - at), at)


def copy(source: int, stretch: Stretch, target: int) -> None:
    """Append a stretch to another file."""
    for at in range(stretch.begin, stretch.end, _CHUNK):
        content = memoryview(read(source, min(_CHUNK, stretch.end - at), at))
        while content:
            content = content[os.write(target, content) :]


def write(file: int, content: bytes, at: int) -> None:
    """Write all of `content`."""
    view = memoryview(content)
    while view:
        written = os.pwrite(file, view, at)
        view, at = view[written:], at + written


def read(file: int, count: int, at: int) -> bytes:
    """So many bytes, or what the file has of them."""
    parts = []
    while count and (part := os.pread(file, count, at)):  # a call reads two gigabytes at most
        parts.append(part)
        count, at = count - len(part), at + len(part)
    return b"".join(parts)


def _whole(file: int, at: int, size: int) -> bytes | None:
    """The payload of the record that begins there, if it is one."""
    if at + HEAD > size:
        return None
    mark, count, checksum = _HEAD.unpack(os.pread(file, HEAD, at))
    if mark != _MARK or at + HEAD + count > size:
        return None
    payload = read(file, count, at + HEAD)
    return payload if _checksum(payload) == checksum else None


def _next_whole(file: int, at: int, size: int) -> int:
    """Where the next whole record begins; `size` if none does."""
    while at + HEAD <= size:
        chunk = os.pread(file, _CHUNK, at)
        found = chunk.find(_MARK)
        if found < 0:
            at += max(1, len(chunk) - len(_MARK) + 1)
        elif _whole(file, at + found, size) is not None:
            return at + found
        else:
            at += found + 1
    return size


def _behind_fill(file: int, at: int, size: int) -> int:
    while at < size and os.pread(file, 1, at) == _FILL:
        chunk = os.pread(file, _CHUNK, at)
        at += len(chunk) - len(chunk.lstrip(_FILL))
    return at


def _checksum(payload: bytes) -> bytes:
    return hashlib.sha256(payload).digest()[:16]
