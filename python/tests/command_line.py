"""The command line in this process, for tests of what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from ackclock.cli.app import main
from ackclock.cli.exit_codes import BAD_INPUT


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """Run the command line, which must refuse, and return what it said."""
    assert main([str(argument) for argument in arguments]) == BAD_INPUT
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("ackclock: ")
    assert said.err.count("\n") == 1
    assert "Traceback" not in said.err
    return said.err
