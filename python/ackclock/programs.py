"""Where the programs are that come with the package: beside its interpreter, or on the path."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from ackclock.errors import EngineError


def found(name: str, whose: str, elsewhere: str) -> str:
    """The path of the program `name`, which only Linux has.

    Raises :class:`EngineError`, which begins with `whose` it is; `elsewhere` says what that means on another system.
    """
    if sys.platform != "linux":
        raise EngineError(f"{whose}: {elsewhere.format(sys.platform)}")
    beside = Path(sys.executable).parent / name
    path = str(beside) if os.access(beside, os.X_OK) else shutil.which(name)
    if path is None:
        remedy = "a wheel has it, and in a checkout it is built with: make build"
        raise EngineError(f"{whose}: its program {name} is not there; {remedy}")
    return path
