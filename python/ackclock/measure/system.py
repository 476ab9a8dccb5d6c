"""What this computer says when it is asked: by files of the kernel, and by programs. No answer is ``None``."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

PATIENCE_S = 3.0
"""A program that has not answered by then does not answer."""


def text(file: Path) -> str | None:
    """What a file says."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def said(command: list[str], patience_s: float = PATIENCE_S) -> str | None:
    """What a program says that ends well and in time, in English whatever the user's language is."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=patience_s,
            check=True,
            env={**os.environ, "LC_ALL": "C"},
        )
        return done.stdout.decode("utf-8", errors="replace")
    return None
