"""Programs of a user behind the path of a resolved run: how they are started, and how they end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

from ackclock import kernel
from ackclock.errors import EngineError, one_line
from ackclock.virtual import programs

LEVEL = "ACKCLOCK_LEVEL"
"""Of the environment of programs behind a path: which of the networks of shells it has, from 0."""

_MOST = 255
_READY = b"\n"
"""What the program says when everything is made: its answer begins otherwise."""
_GO_ON = b"\n"


class NotStartedError(EngineError):
    """A shell that did not come about. ``code`` is the exit code: 127 where there is no such program, as for shells."""

    def __init__(self, problem: str, code: int) -> None:
        self.code = code
        super().__init__(one_line(problem))


def level() -> int:
    """The number of the network of a shell that is started here: shells within shells count up.

    Raises :class:`EngineError` where there are too many.
    """
    if programs.nested():
        raise EngineError("a program in virtual time cannot have a shell of its own; begin it outside, in real time")
    text = os.environ.get(LEVEL, "")
    found = int(text) + 1 if text.isdecimal() else 0
    if found > _MOST:
        raise EngineError(f"{LEVEL} is {text}: shells are nested too deeply; leave some")
    return found


def play(document: str, wanted: Mapping[str, Any], begins: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Play a resolved run with programs behind its path (docs/shell.md); what the program says of it.

    `begins` is called when everything is made, before the program is started: who is refused hears of nothing else.
    The programs have this process's terminal, and its signals of a terminal are theirs. Whatever ends this process
    ends them, too. Raises :class:`NotStartedError`.
    """
    asked, ask = os.pipe()
    told, tell = os.pipe()
    command = [kernel.program(), "shell", str(asked), str(tell)]
    with os.fdopen(ask, "wb", buffering=0) as orders, os.fdopen(told, "rb") as answers:
        try:
            process = subprocess.Popen(command, pass_fds=(asked, tell))
        finally:
            os.close(asked)
            os.close(tell)
        with _left_to(process):
            try:
                with contextlib.suppress(BrokenPipeError):  # it says itself why it does not listen
                    _write(orders, f"{json.dumps(dict(wanted))}\n{document}\n".encode())
                answer = answers.readline()
                if answer == _READY:
                    begins()
                    with contextlib.suppress(BrokenPipeError):
                        _write(orders, _GO_ON)
                    answer = b""
                answer += answers.read()
                process.wait()
            finally:
                process.kill()
                process.wait()
    if not answer:
        why = f"was ended by signal {-process.returncode}" if process.returncode < 0 else "failed"
        raise NotStartedError(f"{kernel.PROGRAM} {why}", 1)
    found: dict[str, Any] = json.loads(answer)
    if "error" in found:
        raise NotStartedError(found["error"], found["exit"])
    return found


def play_virtual(
    document: str, wanted: Mapping[str, Any], asked: programs.Asked, begins: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """As :func:`play`, in a guest with virtual time. Raises :class:`EngineError`, too, if it comes to no end."""
    found = programs.play(document, wanted, asked, begins)
    if "error" in found:
        raise NotStartedError(found["error"], found["exit"])
    return found


def _write(to: Any, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[to.write(view) :]


@contextlib.contextmanager
def _left_to(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Within it what a terminal sends is left to the programs, and who asks this process to end asks them."""

    def passed_on(number: int, _frame: FrameType | None) -> None:
        process.send_signal(signal.SIGTERM if number == signal.SIGTERM else signal.SIGHUP)

    def left(_number: int, _frame: FrameType | None) -> None:
        pass

    # Not ignored: that would be handed down to what is started.
    handlers = {signal.SIGINT: left, signal.SIGQUIT: left, signal.SIGTERM: passed_on, signal.SIGHUP: passed_on}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
