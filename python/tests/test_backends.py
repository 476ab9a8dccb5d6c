"""Who plays a sweep: whatever becomes of them, it comes to an end and says what happened."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import InputError
from ackclock.errors import AckclockError, EngineError
from ackclock.execution import backends, keys
from ackclock.execution import scheduler as running
from ackclock.execution.journal import Journal

Write = Callable[..., Path]

ENDS = """\
import os
from ackclock import WindowBased

class Ends(WindowBased):
    def __init__(self, how: str = "") -> None:
        self.how = how

    def grow(self, cx, ack, acked):
        if self.how == "ctrl-c":
            raise KeyboardInterrupt("nobody pressed it")
        if self.how == "exit":
            raise SystemExit(3)
        if self.how == "dies":
            os._exit(9)
        self.cwnd += acked / self.cwnd

    def reduce(self, cx, signal):
        return self.cwnd / 2
"""


@pytest.mark.parametrize("where", [{"jobs": 1}, {"jobs": 2}, {"cluster": "local:1"}], ids=["one", "two", "dask"])
def test_a_controller_that_ends_more_than_itself(
    scenario_file: Write, tmp_path: Path, where: Mapping[str, Any]
) -> None:
    (tmp_path / "ends.py").write_text(ENDS)
    change = {"cc": [{"name": "python:ends:Ends", "how": how} for how in ("", "ctrl-c", "exit", "well")]}
    report = ackclock.sweep(scenario_file(), tmp_path / "out", set=change, **where)
    assert (report.played, report.failed, report.result.runs["run"].to_list()) == (4, 2, [0, 3])
    problems = [item["problem"] for item in report.result.manifest["failed"]]
    assert "KeyboardInterrupt: nobody pressed it" in problems[0]
    assert "SystemExit: 3" in problems[1]
    assert ackclock.sweep(scenario_file(), tmp_path / "out", set=change, jobs=1).played == 0, "it would do so again"


def test_one_process_is_this_one_unless_it_is_in_danger(scenario_file: Write, tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text(ENDS)
    file = scenario_file()
    assert isinstance(backends.choose(1, None, ackclock.load(file)), backends.Here)
    found = backends.choose(1, None, ackclock.load(file, set={"cc": ["reno", "python:ends:Ends"]}))
    assert (type(found), found.slots) == (backends.Processes, 1)
    found.close()


def test_a_run_that_kills_its_process_does_not_kill_the_sweep(scenario_file: Write, tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text(ENDS)
    change = {"cc": ["reno", *({"name": "python:ends:Ends", "how": how} for how in ("dies", "well"))]}
    report = ackclock.sweep(scenario_file(), tmp_path / "out", set=change, jobs=1)
    assert (report.failed, report.result.runs["run"].to_list()) == (1, [0, 2])
    assert "the process that played it died" in report.result.manifest["failed"][0]["problem"]


class _KilledWorker(Exception):  # noqa: N818 - as Dask calls it
    pass


_KilledWorker.__name__ = "KilledWorker"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (KeyboardInterrupt(), EngineError),
        (SystemExit(1), EngineError),
        (LookupError("x"), EngineError),
        (AckclockError("said already"), AckclockError),
        (BrokenProcessPool("gone"), backends.LostWorker),
        (_KilledWorker("gone"), backends.LostWorker),
        (CancelledError(), backends.Withdrawn),
    ],
)
def test_every_outcome_is_told(error: BaseException, kind: type[Exception]) -> None:
    inner: Future[bytes] = Future()
    outer = backends._with_outcome(inner)
    inner.set_exception(error)
    assert type(outer.exception(timeout=30)) is kind


def test_what_another_engine_played_is_refused(
    scenario_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = keys.engine_identity()
    monkeypatch.setattr(running, "engine_identity", lambda: "ackclock 9.9.9 here")
    with pytest.raises(AckclockError) as caught:
        ackclock.sweep(scenario_file(), tmp_path / "out", jobs=1)
    assert f"a worker played with {there}, and here is ackclock 9.9.9 here" in str(caught.value)
    with Journal(tmp_path / "out") as journal:
        assert not journal.entries, "nothing of it is kept"


SCHEDULER = """\
import sys, distributed
if __name__ == "__main__":
    cluster = distributed.LocalCluster(n_workers=1, processes=False, protocol="tcp", dashboard_address=":0")
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def scheduler() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A cluster in a process of its own, and its address."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCHEDULER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    yield process.stdout.readline().strip(), process
    process.kill()
    process.communicate()


def test_a_scheduler_that_is_killed_ends_the_sweep(
    scenario_file: Write,
    tmp_path: Path,
    scheduler: tuple[str, subprocess.Popen[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backends, "_PATIENCE", "1s")
    address, process = scheduler

    def kill(event: dict[str, Any]) -> None:
        if event["event"] == "run" and process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()

    file, out = scenario_file(), tmp_path / "out"
    with pytest.raises(AckclockError) as caught:
        ackclock.sweep(file, out, replications=400, cluster=address, tell=kill)
    assert not isinstance(caught.value, InputError)
    assert f"the Dask scheduler at '{address}' is gone; what had finished is kept" in str(caught.value)
    assert "\n" not in str(caught.value)
    with Journal(out) as journal:
        kept = len(journal.entries)
    assert 0 < kept < 400
    assert ackclock.sweep(file, out, replications=400, jobs=1).played == 400 - kept


def test_a_cluster_that_stays_without_workers_ends_the_sweep(
    scenario_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "_WITHOUT_WORKERS_S", 0.5)
    monkeypatch.setattr(backends, "_LOOK_S", 0.1)
    distributed: Any = importlib.import_module("distributed")
    with distributed.LocalCluster(n_workers=0, processes=False, protocol="tcp", dashboard_address=":0") as cluster:
        address = cluster.scheduler_address
        with pytest.raises(AckclockError) as caught:
            ackclock.sweep(scenario_file(), tmp_path / "out", replications=4, cluster=address)
    assert str(caught.value).startswith(f"cluster: '{address}' has had no workers for 0.5 s; what had finished is kept")
