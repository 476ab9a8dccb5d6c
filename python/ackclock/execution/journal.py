"""Finished runs on disk: a file that only grows, each record with its length and checksum.

Whatever ends the process that writes, even in the middle of a record, and whatever happens to the file afterwards,
what is whole stays: bytes that are not part of a whole record are moved into a file beside it when it is opened again.
Records reach the system at once and the disk within a second.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from ackclock.errors import AckclockError, InputError
from ackclock.execution import batch, records
from ackclock.execution.index import Index
from ackclock.files import JOURNAL, reason, to_disk, unwritable

ASIDE = f"{JOURNAL}.damaged"
"""Where bytes go that were not part of a whole record."""
_MAGIC = b"ackclock journal 1\n"
_SYNC_S = 1.0
_PATIENCE_S = 3.0
"""A process that was killed while it began another leaves its lock to that one until it has begun."""


class Journal:
    """The finished runs in a directory, by key. One process at a time may have it open."""

    def __init__(self, folder: Path) -> None:
        """Open or begin the journal of `folder`. Raises :class:`InputError`."""
        self.path = folder / JOURNAL
        self.entries = Index()
        self.damaged = 0
        """Bytes that were not part of a whole record when it was opened, and are in :data:`ASIDE` now."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise unwritable(folder, error) from None
        if not _locked(self._file):
            os.close(self._file)
            problem = "another sweep is writing there"
            raise InputError(problem, "wait for it, or give --out another name", source=str(folder))
        try:
            self._end = self._recover()
        except OSError as error:
            os.close(self._file)
            raise unwritable(folder, error) from None
        except BaseException:
            os.close(self._file)
            raise
        self._refused: OSError | None = None
        self._unsynced, self._closing = threading.Event(), threading.Event()
        # A thread of its own: whoever appends may be busy with the next run for hours.
        self._syncing = threading.Thread(target=self._keep_synced, daemon=True)
        self._syncing.start()

    def append(self, payload: bytes) -> batch.Header:
        """Keep a batch of finished runs. Raises :class:`AckclockError` if it cannot be written."""
        found = batch.header(payload)
        at = self._end
        try:
            if self._refused is not None:
                raise self._refused
            records.write(self._file, records.head(payload) + payload, at)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, at)  # what was written of it
            raise self._unwritable(error) from None
        self._end = at + records.HEAD + len(payload)
        self._unsynced.set()
        self.entries.enter_batch(found.runs, at + records.HEAD)
        return found

    def payload(self, offset: int) -> bytes:
        """The batch that begins there."""
        return records.read(self._file, records.length(self._file, offset - records.HEAD), offset)

    def sync(self) -> None:
        """Have everything on the disk. Raises :class:`AckclockError` if it cannot be written."""
        try:
            os.fsync(self._file)
        except OSError as error:
            raise self._unwritable(error) from None

    def close(self) -> None:
        """Have everything on the disk and let others open it."""
        self._closing.set()
        self._unsynced.set()
        self._syncing.join()
        try:
            self.sync()
        finally:
            os.close(self._file)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def _keep_synced(self) -> None:
        while self._unsynced.wait() and not self._closing.wait(_SYNC_S):
            self._unsynced.clear()
            try:
                os.fsync(self._file)
            except OSError as error:
                self._refused = error  # told with the next record
                return

    def _unwritable(self, error: OSError) -> AckclockError:
        remedy = "what had finished before is kept; make room there and call it again"
        return AckclockError(f"{self.path}: cannot be written ({reason(error)}); {remedy}")

    def _recover(self) -> int:
        size = os.fstat(self._file).st_size
        magic = os.pread(self._file, len(_MAGIC), 0)
        if magic != _MAGIC:
            if not _MAGIC.startswith(magic):
                raise InputError("is not a journal of runs", "give --out another name", source=str(self.path))
            os.ftruncate(self._file, 0)  # new, or begun a moment before the end
            records.write(self._file, _MAGIC, 0)
            os.fsync(self._file)
            to_disk(self.path.parent)
            return len(_MAGIC)
        damaged: list[records.Stretch] = []
        for offset, payload in records.scan(self._file, len(_MAGIC), size, damaged):
            self.entries.enter_batch(batch.header(payload).runs, offset)
        if not damaged:
            return size
        self._set_aside(damaged)
        self.damaged = sum(stretch.end - stretch.begin for stretch in damaged)
        return self._without(damaged, size)

    def _set_aside(self, damaged: Sequence[records.Stretch]) -> None:
        aside = os.open(self.path.with_name(ASIDE), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            for stretch in damaged:
                records.copy(self._file, stretch, aside)
            os.fsync(aside)
        finally:
            os.close(aside)
        to_disk(self.path.parent)

    def _without(self, damaged: Sequence[records.Stretch], size: int) -> int:
        """Take stretches out of the file, which stays as long as it was up to its last whole record."""
        for stretch in damaged:
            if stretch.end == size:
                size = stretch.begin
                os.ftruncate(self._file, size)
            else:
                records.fill(self._file, stretch)
        os.fsync(self._file)
        return size


def _locked(file: int) -> bool:
    """Take the lock; false if another process keeps it."""
    last = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() > last:
                return False
            time.sleep(0.05)
        else:
            return True
