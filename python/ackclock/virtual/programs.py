"""Programs of a user in a guest, behind the path of a run: what of the computer they see, and what comes out of it."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ackclock.errors import EngineError, InputError, one_line
from ackclock.virtual import guest, kept
from ackclock.virtual.kept import Kernel

INSIDE = "ACKCLOCK_VIRTUAL"
"""In the environment of such programs."""
COSTS = ("ttsys=1000", "ttclock=0")
"""What the guest's kernel is told of such programs: each system call takes a microsecond, so that who waits by
making some sees time pass, and one that fails another (docs/engines.md). Who reads the clock makes such a call; that
the kernel itself reads it, for each segment of a call, must take nothing."""
LIMIT_S = 3600.0
"""Of the computer's time, where nobody says how long programs run in virtual time."""
PACKETS = "/packets.pcapng"
"""The capture, as the guest names it."""
_NEEDS = "CONFIG_OVERLAY_FS=y"
_PLACES = ("host", "written", "upper", "whole")
"""In the folder of a guest: the computer's files, the folder that is written to, memory, and all of that together."""
_STREAMS = ("stdout", "stderr")
_PART = 1 << 20
_SOON_S = 3.0
"""Of the computer's time: a guest that has not refused anything by then has started its programs."""
_OWN = ("/proc", "/sys", "/dev")
"""What a guest has of its own."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How programs are to run.

    write: the folder that they may write to as it is outside. limit_s: the computer's time after which they count as
    stuck. capture: the file for packets.
    """

    write: Path | None
    limit_s: float
    capture: Path | None


def usable(name: str | None) -> Kernel:
    """The kernel of this name (see :func:`kept.named`), if programs can have files in it.

    Raises :class:`InputError` where there is none, and where it was built before kernels had what that takes.
    """
    chosen = kept.named(name)
    try:
        settings = (chosen.image.parent / "config").read_text(encoding="utf-8").splitlines()
    except OSError:
        settings = []
    if _NEEDS not in settings:
        problem = f"the kernel '{chosen.name}' has no overlay file system, which programs need"
        raise InputError(problem, f"build it again: {kept.BUILD}", key="run.kernel")
    return chosen


def writable(folder: Path | None) -> Path | None:
    """The folder that programs may write to, whole. Raises :class:`InputError` where it cannot be."""
    if folder is None:
        return None
    whole = folder.resolve()
    if not whole.is_dir():
        raise InputError(f"there is no folder '{folder}'", "make it, or name one that is there", key="--write")
    if whole == Path("/") or any(whole.is_relative_to(own) for own in _OWN):
        problem = f"'{whole}' is not a folder that programs in a guest could have"
        raise InputError(problem, "name the one that is to have what they write, such as .", key="--write")
    if not os.access(whole, os.W_OK | os.X_OK):
        raise InputError(f"'{whole}' may not be written to", "name one of your own", key="--write")
    return whole


def play(
    document: str, wanted: Mapping[str, Any], asked: Asked, begins: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Play a resolved run with programs behind its path, in a guest; what the guest says of it.

    What they write to standard output and standard error is written to this process's while they run. `begins` is
    called before that, or when they have run for a while, and not at all if the guest does not start them.
    Raises :class:`EngineError` with what the guest says, or if they are stuck.
    """
    run = json.loads(document)
    chosen, number = guest.asked_for(run), guest.seed(run)
    options = ["--files", *([] if asked.write is None else ["--write", str(asked.write)])]
    with guest.folder() as place, guest.processor() as core, ExitStack() as opened:
        guest.furnish(place, chosen, document)
        for name in _PLACES:
            (place / name).mkdir()
        inside = _inside(asked.write)
        (place / "programs.json").write_text(json.dumps({"wanted": dict(wanted), "inside": inside}), encoding="utf-8")
        _stdin(place / "stdin")
        streams = [Stream(place / name, to) for name, to in zip(_STREAMS, (sys.stdout, sys.stderr), strict=True)]
        for stream in streams:
            opened.callback(stream.close)

        told, soon = False, time.monotonic() + _SOON_S

        def begun() -> None:
            nonlocal told
            if not told:
                told = True
                begins()

        def pass_on() -> None:
            if time.monotonic() > soon or any(stream.waits() for stream in streams):
                begun()
            for stream in streams:
                stream.pass_on()

        memory = guest.memory(run)
        line = guest.command_line(number, *COSTS, memory=memory)
        cpu_s = guest.boot(place, core, line, asked.limit_s, options=options, meanwhile=pass_on)
        pass_on()
        found: dict[str, Any] = json.loads(guest.taken(place, memory))
        if "error" in found:
            return found
        begun()
        found["emulation"] |= {"virtual": guest.which(chosen, number, place), "guest_cpu_s": cpu_s}
        packets = place / PACKETS.removeprefix("/")
        if asked.capture is not None and packets.exists():
            shutil.copyfile(packets, asked.capture)
    return found


def _inside(write: Path | None) -> dict[str, Any]:
    """Who programs are, and where. Names and values that are no text stay outside."""
    environment = []
    for name, value in {**os.environ, INSIDE: "1"}.items():
        try:
            f"{name}{value}".encode()
        except UnicodeEncodeError:
            continue
        environment.append((name, value))
    try:
        here = str(Path.cwd())
    except OSError as error:
        raise EngineError(one_line(f"the present directory cannot be named: {error}")) from None
    return {
        "environment": environment,
        "directory": here,
        "user": os.getuid(),
        "group": os.getgid(),
        "write": None if write is None else str(write),
    }


def _stdin(file: Path) -> None:
    """Keep what programs may read from standard input: that of a file or pipe, whole; of a terminal nothing."""
    try:
        kind = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):  # there is none
        return
    if stat.S_ISREG(kind) or stat.S_ISFIFO(kind):
        with file.open("wb") as to:
            shutil.copyfileobj(sys.stdin.buffer, to)


class Stream:
    """A file of a guest that grows, and where its bytes go."""

    def __init__(self, file: Path, to: Any) -> None:
        self._file, self._to = file, getattr(to, "buffer", None)
        self._from: IO[bytes] | None = None

    def waits(self) -> bool:
        """Whether something has come that was not written yet."""
        try:
            return self._file.stat().st_size > (0 if self._from is None else self._from.tell())
        except OSError:  # it is not there yet
            return False

    def pass_on(self) -> None:
        """Write what has come since."""
        if self._from is None:
            if not self._file.exists():
                return
            self._from = self._file.open("rb")
        while part := self._from.read(_PART):
            if self._to is not None:
                self._to.write(part)
                self._to.flush()

    def close(self) -> None:
        """Let go of the file."""
        if self._from is not None:
            self._from.close()


def nested() -> bool:
    """Whether this process is a program in a guest."""
    return INSIDE in os.environ


def limit_s(wall_limit: int | None, duration: int | None, run: Mapping[str, Any]) -> float:
    """Seconds of the computer's time after which programs count as stuck.

    What is asked for, or follows from how long they run in virtual time, and without either an hour.
    """
    if wall_limit is not None:
        return wall_limit / 1e9
    return LIMIT_S if duration is None else max(LIMIT_S, guest.limit_s({**run, "duration_ns": duration}))
