"""The engine ``kernel``: the TCP of this computer's kernel over a path that is emulated in real time.

A program of its own plays a run (``crates/ackclock-emu``): it makes the hosts, drives the path and runs the
applications.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ackclock import programs
from ackclock.errors import EngineError, InputError, one_line

PROGRAM = "ackclock-emu"
"""The name of the program."""
RELAY = "ackclock-proxy"
"""The name of the program that is a relay there; it lies beside the other."""

_MORE_S = 60.0
"""What a run may take besides its own time before it counts as stuck: hosts are made, results are written."""


def resolved(*, ip: int, pin: int | None, offload: bool, allow_late: bool) -> dict[str, Any]:
    """The part of a resolved run that makes it one for the kernel."""
    return {"kind": "kernel", "ip": ip, "pin": pin, "offload": offload, "allow_late": allow_late}


def processors() -> list[int]:
    """The numbers of the processors that this process may use."""
    try:
        return sorted(os.sched_getaffinity(0))
    except AttributeError:  # only some systems bind processes to processors
        return list(range(os.cpu_count() or 1))


def check_pin(pin: int | None, key: str, source: str | None = None) -> None:
    """Raise :class:`InputError` for a processor that this process has not, asked for by `key` of `source`."""
    there = processors()
    if pin is not None and pin not in there:
        known = ", ".join(map(str, there))
        remedy = f"the only one is {known}" if len(there) == 1 else f"choose one of {known}"
        raise InputError(f"there is no processor {pin} that this process may use", remedy, source=source, key=key)


def plays(document: str) -> bool:
    """Whether this resolved run is for the kernel."""
    return '"kernel"' in document and json.loads(document).get("engine", {}).get("kind") == "kernel"


def program() -> str:
    """Where the program is. Raises :class:`EngineError` where there is none."""
    return programs.found(PROGRAM, "engine kernel", "it is the TCP of Linux, and this is {}; take engine sim")


def play(document: str, duration_s: float) -> str:
    """Play a resolved run; the JSON of its tables and of how it went.

    Raises :class:`EngineError` with what the program says, or if it is stuck. Whatever ends this process ends it, too.
    """
    process = subprocess.Popen(
        [program(), "run", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out, problem = process.communicate(document, timeout=duration_s + _MORE_S)
    except subprocess.TimeoutExpired:
        raise EngineError(f"engine kernel: the run did not end {_MORE_S:g} s after it should have") from None
    finally:
        process.kill()
        process.wait()
    if process.returncode == 0:
        return out
    died = f"{PROGRAM} was ended by signal {-process.returncode}" if process.returncode < 0 else f"{PROGRAM} failed"
    raise EngineError(one_line(problem.strip() or died))


def probe() -> Mapping[str, Any]:
    """What the program finds that this computer can do. Raises :class:`EngineError`."""
    try:
        done = subprocess.run([program(), "probe"], capture_output=True, text=True, timeout=10, check=True)
        found: Mapping[str, Any] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise EngineError(
            one_line(f"engine kernel: {PROGRAM} cannot say what this computer can do: {error}")
        ) from error
    return found


@functools.cache
def found() -> Mapping[str, Any]:
    """What :func:`probe` found the first time: computers do not change while scenarios are read."""
    return probe()


def refusal(document: str, of: Mapping[str, Any] | None = None) -> str | None:
    """Why this computer would not play a resolved run, as ``place: problem``; None where it would.

    of: what a kernel has that is another than this computer's, in virtual time. Nothing is played.
    Raises :class:`EngineError` where there is no such engine.
    """
    with tempfile.NamedTemporaryFile("w", prefix="ackclock-", suffix=".json") as facts:
        facts.write(json.dumps(found() if of is None else of))
        facts.flush()
        command = [program(), "check", facts.name, *(() if of is None else ("--virtual",))]
        done = subprocess.run(command, input=document, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise EngineError(one_line(done.stderr.strip() or f"{PROGRAM} failed"))
    why: str | None = json.loads(done.stdout)
    return why


def identity() -> str:
    """What tells one such engine from another: the kernel, and a hash of the program."""
    return f"kernel {platform.release()} sha256:{_hash(Path(program()))}"


def relays(document: Mapping[str, Any]) -> Path | None:
    """The program that a resolved run needs besides, if flows of it are split and it is there."""
    beside = Path(program()).with_name(RELAY)
    split = any(flow.get("relay") for flow in document.get("flows", ()))
    return beside if split and beside.is_file() else None


def relays_identity(program: Path) -> str:
    """What tells one program of relays from another."""
    return f"relays sha256:{_hash(program)}"


@functools.cache
def _hash(program: Path) -> str:
    with program.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
