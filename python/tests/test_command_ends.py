"""How commands end that do not reach their end: interrupted, or with a process that is gone."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.cli.app import main
from ackclock.cli.exit_codes import BAD_INPUT, FAILED, INTERRUPTED
from ackclock.controllers import exits

Write = Callable[..., Path]

pytestmark = pytest.mark.real_time

ENDING = """\
import os
from ackclock import WindowBased

class Ending(WindowBased):
    def grow(self, cx, ack, acked):
        os._exit(0)

    def reduce(self, cx, signal):
        return self.cwnd / 2
"""

SIGNALLING = """\
import sys
from ackclock.cli import app, console
from ackclock.execution import batch

played = batch.play
def play(*given, **named):
    print("begun", flush=True)
    return played(*given, **named)

batch.play = play
sys.exit(app.main(sys.argv[1:]))
"""


def test_an_interrupt_before_the_first_run_has_ended_is_said(scenario_file: Write, tmp_path: Path) -> None:
    path = scenario_file(('duration = "3 s"', 'duration = "1000000 s"'), ('\n[probes]\ninterval = "50 ms"\n', ""))
    arguments = [sys.executable, "-c", SIGNALLING, "run", str(path), "--out", str(tmp_path / "out"), "--jobs", "1"]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "begun\n"
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, said) == (INTERRUPTED, "ackclock: interrupted; nothing was kept\n")
    assert not (tmp_path / "out").exists()


def test_an_interrupt_of_any_command_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(**_: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("ackclock.cli.doctor.doctor", interrupted)
    assert main(["doctor"]) == INTERRUPTED
    monkeypatch.setattr("ackclock.cli.study.list_studies", interrupted)
    assert main(["study", "list"]) == INTERRUPTED
    assert capsys.readouterr().err == "ackclock: interrupted; nothing was kept\n" * 2


def test_an_interrupt_that_another_error_hides_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    """As pydantic hides one that arrives while it builds a class."""

    def hidden(*, pressed: bool) -> int:
        try:
            if pressed:
                signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            pass
        raise ValueError("no class was built")

    # A shell lets what it plays in the background ignore Ctrl-C, and the tests with it.
    monkeypatch.setattr("ackclock.cli.doctor.doctor", lambda **_: hidden(pressed=True))
    given = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, given))
    assert main(["doctor"]) == INTERRUPTED
    assert capsys.readouterr().err == "ackclock: interrupted; nothing was kept\n"
    monkeypatch.setattr("ackclock.cli.doctor.doctor", lambda **_: hidden(pressed=False))
    with pytest.raises(ValueError, match="no class was built"):
        main(["doctor"])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_controller_that_ends_its_process_does_not_end_the_command(
    scenario_file: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ending.py").write_text(ENDING, encoding="utf-8")
    path = scenario_file(('cc = "cubic"', 'cc = "python:ending:Ending"'))
    assert main(["run", str(path)]) == FAILED
    died = "the process that played it died, perhaps for want of memory or because a controller in Python ended it"
    assert capsys.readouterr().err == f"ackclock: run 0: {died}\n"


REFUSED = "os._exit(0) would end ackclock itself; raise an exception instead"


def test_one_in_this_process_fails_and_does_not_end_it(
    scenario_file: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ending.py").write_text(ENDING, encoding="utf-8")
    path = scenario_file(('cc = "cubic"', 'cc = "python:ending:Ending"'))
    leave = os._exit
    assert main(["run", str(path), "--jobs", "1"]) == FAILED
    assert REFUSED in capsys.readouterr().err.splitlines()[-1]
    with pytest.raises(ackclock.ControllerError, match=re.escape(REFUSED)):
        ackclock.run(path)
    assert os._exit is leave


def test_a_module_that_ends_its_process_cannot_be_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leaving.py").write_text("import os\nos._exit(0)\n", encoding="utf-8")
    assert main(["cc", "python:leaving:Any"]) == BAD_INPUT
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert f"module 'leaving' cannot be imported: RuntimeError: {REFUSED}" in said
    assert "leaving.py, line 2" in said
    # One whose class ends it once it plays, in the standard test of `cc`.
    (tmp_path / "ending.py").write_text(ENDING, encoding="utf-8")
    assert main(["cc", "python:ending:Ending"]) == FAILED
    assert REFUSED in capsys.readouterr().err


def test_a_child_process_ends_as_it_asked_for() -> None:
    with exits.refused():
        child = os.fork()
        if child == 0:
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_what_is_no_directory_is_refused_in_a_line(raw: dict[str, Any]) -> None:
    wrong: Any
    for wrong in (5, b"out", "", ["out"]):
        with pytest.raises(ackclock.InputError, match=r"^out: .* is no path; give the name of a directory$"):
            ackclock.run(raw, out=wrong)
        with pytest.raises(ackclock.InputError, match=r"^out: .* is no path; give the name of a directory$"):
            ackclock.sweep(raw, wrong)
