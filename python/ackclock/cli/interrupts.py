"""Ctrl-C that arrives where somebody else's code turns it into another error."""

from __future__ import annotations

import contextlib
import signal
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
