"""A sweep that is killed again and again, and one whose cluster loses a worker, end as one that is left alone does."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.cli.app import main
from ackclock.execution import processes

Write = Callable[..., Path]
KILLS = int(os.environ.get("ACKCLOCK_KILLS", "20"))
RUNS = 260
ALONE = [sys.executable, "-m", "ackclock"]


def _hashes(folder: Path) -> Mapping[str, str]:
    files: dict[str, dict[str, Any]] = json.loads((folder / "manifest.json").read_text())["files"]
    return {name: file["sha256"] for name, file in files.items()}


def _finished(out: Path) -> int:
    """How many runs the journal of a sweep that nobody is playing has."""
    from ackclock.execution.journal import Journal

    with Journal(out) as journal:
        return len(journal.entries)


def _killed(asked: list[str], after: int, wait_s: float) -> None:
    """Begin a sweep and kill it when it has told of so many runs, and a moment later."""
    with subprocess.Popen([*ALONE, *asked], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = 0
        process.stdout.readline()  # it has begun
        while told < after and (line := process.stdout.readline()):
            told += json.loads(line)["event"] == "run"
        time.sleep(wait_s)
        process.kill()
    assert process.returncode == -signal.SIGKILL, "it was over before it could be killed"


def test_killed_at_random(scenario_file: Write, tmp_path: Path) -> None:
    """The process is killed, with no chance to put anything in order, while it starts, plays and writes.

    When, is counted in runs, of which each life has its share at most: however fast they are, it lives as often.
    """
    file = scenario_file(('rate = "10 Mbit/s"', 'rate = "100 Mbit/s"'), ("3 s", "8 s"))
    asked = ["sweep", str(file), "--replications", str(RUNS), "--json"]
    rng = random.Random(7)
    out, most = tmp_path / "killed", 0
    for lives in range(KILLS, 0, -1):
        share = (RUNS - most) // (lives + 1)
        # What is under way may be finished as well before the signal comes.
        _killed([*asked, "--out", str(out)], rng.randrange(max(1, share // 2)), rng.uniform(0, 0.02))
        finished = _finished(out)
        assert finished >= most, "nothing that was finished is lost"
        most = finished
    assert 0 < most < RUNS
    _killed([*asked, "--out", str(out)], RUNS - most, 0)  # while it writes the tables
    assert _finished(out) == RUNS
    assert main([*asked[:-1], "--out", str(out)]) == 0
    assert main([*asked[:-1], "--out", str(tmp_path / "undisturbed")]) == 0
    assert _hashes(out) == _hashes(tmp_path / "undisturbed")
    assert {item.suffix for item in out.iterdir()} - {".damaged"} == {".journal", ".json", ".parquet"}


def test_ctrl_c_keeps_what_had_finished(scenario_file: Write, tmp_path: Path) -> None:
    asked = ["sweep", str(scenario_file()), "--replications", "400", "--json", "--out", str(tmp_path / "out")]
    process = subprocess.Popen([*ALONE, *asked], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["event"] == "run":
            break
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    if process.returncode != 0:  # it was not over already
        assert process.returncode == 130
        assert "the same command goes on" in errors
        finished = _finished(tmp_path / "out")
        assert finished > 0
        told = re.search(r"interrupted: (\d+) of 400 runs (?:is|are) kept in", errors)
        # A run that ends while this is said is kept, and not counted yet.
        assert told is not None
        assert finished - 2 <= int(told[1]) <= finished
        with pytest.raises(ackclock.InputError, match=rf"not finished: {finished} of 400 runs are done; the command"):
            ackclock.Result.load(tmp_path / "out")
    assert main(asked[:-3] + asked[-2:]) == 0
    ackclock.sweep(asked[1], tmp_path / "whole", replications=400, jobs=1)
    assert _hashes(tmp_path / "out") == _hashes(tmp_path / "whole")


def test_workers_end_with_their_parent(scenario_file: Write, tmp_path: Path) -> None:
    asked = ["sweep", str(scenario_file()), "--set", "run.duration=2000 s", "--replications", "4", "--jobs", "2"]
    process = subprocess.Popen(
        [*ALONE, *asked, "--out", str(tmp_path / "out"), "--json"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    deadline = time.monotonic() + 60
    while len(workers := _children(process.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.wait()
    process.stdout.close()
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert workers
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_cluster_that_loses_a_worker(scenario_file: Write, tmp_path: Path) -> None:
    distributed = importlib.import_module("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        killed: list[int] = []

        def kill_one(event: dict[str, Any]) -> None:
            if event["event"] == "run" and event["finished"] >= 30 and not killed:
                worker = next(iter(cluster.workers.values()))
                killed.append(worker.process.pid)
                os.kill(worker.process.pid, signal.SIGKILL)

        file = scenario_file()
        report = ackclock.sweep(
            file, tmp_path / "out", replications=300, cluster=cluster.scheduler_address, tell=kill_one
        )
    assert killed
    assert (report.played, report.failed) == (300, 0)
    ackclock.sweep(file, tmp_path / "whole", replications=300, jobs=1)
    assert _hashes(tmp_path / "out") == _hashes(tmp_path / "whole")


def test_processes_end_in_the_middle_of_a_result() -> None:
    """What reads results ends with the processes that sent them; the interpreter waits for it at its end."""
    executor = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    assert executor.submit(abs, -1).result() == 1
    results: Any = executor._result_queue
    reading: Any = executor._executor_manager_thread
    executor.submit(bytes, 600_000_000)
    while not results._reader.poll(0.001):  # it has begun to send them
        pass
    processes.stop(executor)
    reading.join(30)
    assert not reading.is_alive()
