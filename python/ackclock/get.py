"""The downloader that decides on its connections: a program of its own (``crates/ackclock-get``), how it starts."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from typing import Any, NoReturn

from ackclock import programs

PROGRAM = "ackclock-get"
"""The name of the program."""


def program() -> str:
    """Where the program is. Raises :class:`EngineError` where there is none."""
    return programs.found(PROGRAM, "get", "it is made for Linux, and this is {}")


def become(document: Mapping[str, Any]) -> NoReturn:
    """Become the download that a document (docs/get.md) describes: this process is the program from here on.

    What stops it then reaches the program itself. Raises :class:`EngineError` where that cannot be.
    """
    path = program()
    # A file without a name, not an argument: headers and cookies are nothing for a list of processes.
    with tempfile.TemporaryFile() as file:
        file.write(json.dumps(dict(document)).encode())
        file.seek(0)
        os.dup2(file.fileno(), 0)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(path, [PROGRAM, "run", "-"])  # noqa: S606
