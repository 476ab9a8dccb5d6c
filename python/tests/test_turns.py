"""Runs in real time take turns across processes, and the end of a process gives its turn back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from ackclock.cli import lasting
from ackclock.errors import EngineError
from ackclock.execution import turns

HOLDS = """
from ackclock.execution import turns
with turns.taken():
    print("mine", flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock of this test's own, in other processes too."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def holder() -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("how", ["ends", "is killed"])
def test_one_waits_until_the_other_process_is_done(how: str) -> None:
    had = threading.Event()

    def wait() -> None:
        with turns.taken():
            had.set()

    with holder() as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "mine\n"
        waiting = threading.Thread(target=wait)
        waiting.start()
        assert not had.wait(0.5), "both at once"
        if how == "ends":
            other.communicate("\n")
        else:
            os.kill(other.pid, signal.SIGKILL)
        assert had.wait(30)
        waiting.join()


def test_whoever_has_to_wait_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    lasting.said(1)
    alone = capsys.readouterr().err.splitlines()
    with holder() as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "mine\n"
        lasting.said(0)
        assert capsys.readouterr().err == ""
        lasting.said(1)
        line = "ackclock: another process plays in real time now: they wait until its run is over"
        assert capsys.readouterr().err.splitlines() == [*alone, line]
        other.communicate("\n")
    assert not turns.busy()


def test_what_is_no_file_is_no_lock(folder: Path) -> None:
    (folder / "ackclock-real-time.lock").mkdir()
    with pytest.raises(EngineError, match="is no file, by which runs take turns; remove it"), turns.taken():
        pass
