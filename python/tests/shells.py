"""What tests of ``ackclock shell`` share: a scenario, the command line, and the processes of a shell."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from real_kernels import fail_without_hosts

SCENARIO = """
[topology]
kind = "dumbbell"
rate = "8 Mbit/s"
rtt = "30 ms"
queue = { kind = "droptail", limit = "1 BDP" }
[topology.reverse]
rate = "2 Mbit/s"
[[flows]]
cc = "cubic"
[[flows]]
app = { kind = "cbr", rate = "4 Mbit/s", packet = "1000 B" }
start = "200 ms"
[run]
duration = "4 s"
"""


@pytest.fixture(scope="module", autouse=True)
def able() -> None:
    """For a module that imports it."""
    fail_without_hosts()


def command(scenario: Path, *arguments: str) -> list[str]:
    """The command; late is allowed: whether this computer has other things to do is not what is tested here."""
    late = [] if "--virtual" in arguments else ["--allow-late"]
    return [sys.executable, "-m", "ackclock", "shell", str(scenario), *late, *arguments]


def python(script: str) -> list[str]:
    return [sys.executable, "-c", script]


def quoted(words: Sequence[str]) -> str:
    return " ".join(f"'{word}'" for word in words)


def serving(script: str) -> list[str]:
    """The options that run a script at the other end. It has double quotes only."""
    return ["--server", f"exec {quoted(python(script))}"]


def with_mark(mark: str) -> list[str]:
    """The processes in whose environment the mark is."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdecimal() and mark.encode() in (entry / "environ").read_bytes():
                found.append(entry.name)
    return found
