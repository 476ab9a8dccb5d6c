"""A cache that the processes of a test session share, for runs that several test files compare.

``pytest -n`` distributes files to processes, so a cache in memory does not help the next file. Nothing is cached
between sessions, because the code may have changed.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

FOLDER = "ACKCLOCK_SESSION_CACHE"
"""Environment variable with the folder of the session. Without it, results are cached in memory only."""

P = ParamSpec("P")
R = TypeVar("R")


def session_cache(function: Callable[P, R]) -> Callable[P, R]:
    """Cache the results of a pure function whose arguments are fully described by their repr."""

    @functools.cache
    @functools.wraps(function)
    def cached(*args: P.args, **kwargs: P.kwargs) -> R:
        folder = os.environ.get(FOLDER)
        if folder is None:
            return function(*args, **kwargs)
        call = f"{function.__module__}.{function.__qualname__} {args!r} {sorted(kwargs.items())!r}"
        path = Path(folder) / hashlib.sha256(call.encode()).hexdigest()
        try:
            found: R = pickle.loads(path.read_bytes())  # noqa: S301 - written by another process of this session
        except FileNotFoundError:
            found = function(*args, **kwargs)
            written = path.with_suffix(f".{os.getpid()}")
            written.write_bytes(pickle.dumps(found))
            written.replace(path)
        return found

    return cached
