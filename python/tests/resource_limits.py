"""Plays cases of bad input, each in a process of its own with limits on memory and CPU time: a program of its own.

Standard input has a JSON list of [kind, arguments], standard output a line of JSON for each: what was raised or
printed, or the signal that ended it. Everything is imported once, before the limits hold.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import ackclock
from ackclock.cli.app import main
from ackclock.measure import campaign
from ackclock.results import store
from ackclock.study import document

MEMORY = 2 << 30
CPU_S = 10
HANGING_S = 300


def outcome(kind: str, arguments: list[Any]) -> dict[str, Any]:
    """What comes of one case."""
    if kind == "command":
        err = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
            code = main(arguments)
        return {"raised": "InputError" if code == 2 else code, "text": err.getvalue().strip()}
    calls = {
        "load": lambda file, change=None: ackclock.load(file, set=change),
        "content": lambda levels: ackclock.load(nested(levels)),
        "set": lambda file, levels: ackclock.load(file, set={"topology.queue": nested(levels)}),
        "campaign": campaign.load,
        "study": lambda folder: document.read(Path(folder)),
        "manifest": store.manifest_of,
    }
    try:
        calls[kind](*arguments)
    except Exception as error:  # all that can come out of it
        return {"raised": type(error).__name__, "text": str(error)}
    return {"raised": None, "text": ""}


def nested(levels: int) -> dict[str, Any]:
    """Tables in each other."""
    content: dict[str, Any] = {"a": 1}
    for _ in range(levels):
        content = {"a": content}
    return content


def limited(kind: str, arguments: list[Any]) -> dict[str, Any]:
    """The outcome in a process that may have so much more memory than this one, and so much CPU time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
        signal.alarm(HANGING_S)  # of one that waits for a pipe, which takes no CPU time
        os.write(writing, json.dumps(outcome(kind, arguments)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        said = stream.read()
    _, status = os.waitpid(child, 0)
    return dict(json.loads(said)) if said else {"raised": f"status {status}", "text": ""}


if __name__ == "__main__":
    for each in json.load(sys.stdin):
        print(json.dumps(limited(*each)), flush=True)
