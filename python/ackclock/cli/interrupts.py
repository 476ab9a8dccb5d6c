"""Ctrl-C that arrives where somebody else's code turns it into another error; SIGTERM as the same."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Within it an error that follows Ctrl-C is a KeyboardInterrupt, whatever it was made into on its way.

    pydantic makes one of its own of whatever is raised while it builds a class, and does not say of what.
    """
    pressed = False

    def noted(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.default_int_handler(number, frame)

    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        try:
            signal.signal(signal.SIGINT, noted)
        except ValueError:  # only the main thread may say what becomes of signals, and only there they come
            ours = False
    try:
        yield
    except Exception as error:
        if pressed:
            raise KeyboardInterrupt from error
        raise
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def by_termination() -> Iterator[None]:
    """Within it SIGTERM is as Ctrl-C: scripts and systemd send it, and in the background of a shell SIGINT is ignored.

    Another one does not disturb what is kept of the first.
    """

    def noted(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGTERM)
    if before is not signal.SIG_DFL or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGTERM, noted)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
