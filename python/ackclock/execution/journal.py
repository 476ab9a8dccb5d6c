"""Finished runs on disk: a file that only grows, each record with its length and checksum.

Whatever ends the process that writes, even in the middle of a record, everything before stays: what is not whole at the
end is cut off when the file is opened again. Records reach the system at once and the disk once per second.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from ackclock.errors import InputError
from ackclock.execution import batch

NAME = "runs.journal"
_MAGIC = b"ackclock journal 1\n"
_RECORD = struct.Struct("<4sQ16s")
_MARK = b"RUNS"
_SYNC_S = 1.0


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a finished run is: the place of its batch in the file, and its own place in the batch."""

    offset: int
    number: int
    rows: int
    """What it has in all tables."""
    failed: bool
    repeat: bool
    """It failed for a reason outside it, so it is worth another try."""


class Journal:
    """The finished runs in a directory, by key. One process at a time may have it open."""

    def __init__(self, folder: Path) -> None:
        """Open or begin the journal of `folder`. Raises :class:`InputError`."""
        self.path = folder / NAME
        self.entries: dict[str, Entry] = {}
        self.dropped = 0
        """Bytes at the end that were not a whole record when it was opened."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            problem = f"cannot write the results there ({reason})"
            raise InputError(problem, "give --out a directory you may write to", source=str(folder)) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            problem = "another sweep is writing there"
            raise InputError(problem, "wait for it, or give --out another name", source=str(folder)) from None
        try:
            self._end = self._recover()
        except BaseException:
            os.close(self._file)
            raise
        self._synced = time.monotonic()

    def append(self, payload: bytes) -> batch.Header:
        """Keep a batch of finished runs."""
        record = _RECORD.pack(_MARK, len(payload), _checksum(payload))
        at = self._end
        _write(self._file, record + payload, at)
        self._end = at + _RECORD.size + len(payload)
        found = batch.header(payload)
        self._enter(found, at + _RECORD.size)
        if time.monotonic() - self._synced >= _SYNC_S:
            self.sync()
        return found

    def payload(self, offset: int) -> bytes:
        """The batch that begins there."""
        _, length, _ = _RECORD.unpack(os.pread(self._file, _RECORD.size, offset - _RECORD.size))
        return _read(self._file, length, offset)

    def sync(self) -> None:
        """Have everything on the disk."""
        os.fsync(self._file)
        self._synced = time.monotonic()

    def close(self) -> None:
        """Have everything on the disk and let others open it."""
        self.sync()
        os.close(self._file)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def _recover(self) -> int:
        size = os.fstat(self._file).st_size
        magic = os.pread(self._file, len(_MAGIC), 0)
        if magic != _MAGIC:
            if not _MAGIC.startswith(magic):
                raise InputError("is not a journal of runs", "give --out another name", source=str(self.path))
            os.ftruncate(self._file, 0)  # new, or begun a moment before the end
            _write(self._file, _MAGIC, 0)
            os.fsync(self._file)
            _sync_folder(self.path.parent)
            return len(_MAGIC)
        end = len(_MAGIC)
        for offset, payload in self._whole(size):
            self._enter(batch.header(payload), offset)
            end = offset + len(payload)
        self.dropped = size - end
        if self.dropped:
            os.ftruncate(self._file, end)
            os.fsync(self._file)
        return end

    def _whole(self, size: int) -> Iterator[tuple[int, bytes]]:
        """The payloads up to the first record that is not whole, and where each begins."""
        at = len(_MAGIC)
        while at + _RECORD.size <= size:
            mark, length, checksum = _RECORD.unpack(os.pread(self._file, _RECORD.size, at))
            at += _RECORD.size
            if mark != _MARK or at + length > size:
                return
            payload = _read(self._file, length, at)
            if _checksum(payload) != checksum:
                return
            yield at, payload
            at += length

    def _enter(self, found: batch.Header, offset: int) -> None:
        for number, run in enumerate(found.runs):
            error = run.get("error")
            repeat = bool(error and error["repeat"])
            # The same text is asked for again and again: of many runs it is worth having it once.
            self.entries[sys.intern(run["key"])] = Entry(offset, number, run.get("rows", 0), error is not None, repeat)


def _checksum(payload: bytes) -> bytes:
    return hashlib.sha256(payload).digest()[:16]


def _write(file: int, content: bytes, at: int) -> None:
    view = memoryview(content)
    while view:
        written = os.pwrite(file, view, at)
        view, at = view[written:], at + written


def _read(file: int, length: int, at: int) -> bytes:
    parts = []
    while length and (part := os.pread(file, length, at)):  # a call reads two gigabytes at most
        parts.append(part)
        length, at = length - len(part), at + len(part)
    return b"".join(parts)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
