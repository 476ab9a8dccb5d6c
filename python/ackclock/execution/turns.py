"""Runs in real time take turns: two at once would make each other late, whichever process plays them."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ackclock.errors import EngineError
from ackclock.files import reason

_NAME = "ackclock-real-time.lock"
_WAKE_S = 0.1
_FOR_ALL = 0o666


@contextmanager
def taken() -> Iterator[None]:
    """Wait until no other process of this computer plays in real time, and keep them waiting meanwhile.

    The end of a process gives its turn back, whatever ended it. Raises :class:`EngineError` where that cannot be known.
    """
    handle = _opened(Path(tempfile.gettempdir()) / _NAME)
    try:
        while not _free(handle):  # waking up now and then lets Ctrl-C in
            time.sleep(_WAKE_S)
        yield
    finally:
        os.close(handle)


def busy() -> bool:
    """Whether another process plays in real time now, so that :func:`taken` would wait."""
    try:
        handle = _opened(Path(tempfile.gettempdir()) / _NAME)
    except EngineError:  # which whoever wants a turn is told
        return False
    try:
        return not _free(handle)
    finally:
        os.close(handle)


def _free(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _opened(path: Path) -> int:
    """The file that is locked. Its content is nothing; of another user it may be read, which is enough."""
    plain = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        try:
            handle = os.open(path, os.O_RDONLY | plain)
        except FileNotFoundError:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | plain, _FOR_ALL)
    except OSError as error:
        problem = f"engine kernel: {path} cannot be opened, by which runs take turns ({reason(error)}); remove it"
        raise EngineError(problem) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise EngineError(f"engine kernel: {path} is no file, by which runs take turns; remove it")
    return handle
