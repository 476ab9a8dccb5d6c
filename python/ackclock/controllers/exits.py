"""Code of a user that would end this process without a word: ``os._exit`` raises while such code runs here."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


@contextmanager
def refused() -> Iterator[None]:
    """Have ``os._exit`` raise :class:`RuntimeError` in this thread of this process, and end others as ever.

    It would skip every message, and with status 0 what was lost would look like success. A crash of an extension, or a
    name that somebody bound to ``os._exit`` before, ends the process all the same; where runs have processes of their
    own that is noticed.
    """
    leave, process, thread = os._exit, os.getpid(), threading.get_ident()

    def stopped(status: int) -> NoReturn:
        if (os.getpid(), threading.get_ident()) != (process, thread):
            leave(status)
        raise RuntimeError(f"os._exit({status}) would end ackclock itself; raise an exception instead")

    os._exit = stopped
    try:
        yield
    finally:
        os._exit = leave
