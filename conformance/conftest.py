"""The folder of the cache that the processes of a test session share."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest

from session_cache import FOLDER

MADE = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Create the folder in the first process; its workers inherit the variable."""
    if FOLDER not in os.environ:
        os.environ[FOLDER] = config.stash[MADE] = tempfile.mkdtemp(prefix="ackclock-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder in the process that created it."""
    if MADE in config.stash:
        del os.environ[FOLDER]
        shutil.rmtree(config.stash[MADE])
