"""The benchmark beside netem: what it makes of what its guest says, and what it refuses. Nothing is timed here."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import pytest

BENCHES = Path(__file__).resolve().parents[2] / "benches"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHES))
    return importlib.import_module("netem")


def played(bench: ModuleType, tool: str, number: int, packets: int, cpu_s: float, load: str = "full") -> list[object]:
    """What the guest says of a test that counts for two seconds."""
    return [
        bench.Said({"at": "test", "tool": tool, "load": load, "round": number}, 5.0, 100.0),
        bench.Said({"at": "begin", "time": 7.0}, 6.0, 103.0),
        bench.Said({"at": "end", "time": 9.0, "bytes": packets * bench.MSS}, 6.0 + cpu_s, 105.5),
    ]


def test_lines_of_the_kernel_are_left_out(bench: ModuleType) -> None:
    text = [
        b"[    0.1] Linux\r\n",
        b'@ {"at": "call", "seconds": 0.5}\r\n',
        b"",
        b"Powering off.\n",
        b'@ {"at": "over"}\n',
    ]
    assert list(bench.lines(text)) == [{"at": "call", "seconds": 0.5}, {"at": "over"}]


def test_only_what_is_between_begin_and_end_counts(bench: ModuleType) -> None:
    (row,) = bench.rows(played(bench, "netem", 3, 400, 0.5))
    assert (row.tool, row.load, row.round) == ("netem", "full", 3)
    assert (row.packets, row.seconds, row.wall_s, row.cpu_s) == (400, 2.0, 2.5, 0.5)
    assert row.rate == 200
    assert row.cost == 0.5 / 400


def test_a_test_that_failed_counts_nothing_and_says_why(bench: ModuleType) -> None:
    said = played(bench, "netem", 0, 400, 0.5)
    said.append(bench.Said({"at": "failed", "why": "tc: no such qdisc"}, 7.0, 106.0))
    (row,) = bench.rows(said)
    assert not row.measured
    assert row.why == "tc: no such qdisc"


def test_an_end_without_its_begin_is_nobodys(bench: ModuleType) -> None:
    said = played(bench, "netem", 0, 400, 0.5)
    late = played(bench, "mahimahi", 0, 400, 0.5)
    first, second = bench.rows([*said, late[0], late[2]])
    assert first.measured
    assert not second.measured


def test_whether_the_path_was_on_time_belongs_to_its_test(bench: ModuleType) -> None:
    said = played(bench, "ackclock", 0, 400, 0.5)
    said.append(bench.Said({"at": "path", "valid": False, "problems": ["late", "lost"]}, 7.0, 106.0))
    first, second = bench.rows([*said, *played(bench, "netem", 0, 400, 0.5)])
    assert (first.valid, first.why, second.valid) == (False, "late; lost", None)


def test_more_than_bare_is_of_the_same_round_and_load(bench: ModuleType) -> None:
    said = [
        *played(bench, bench.BARE, 0, 1000, 0.010),
        *played(bench, "netem", 0, 1000, 0.013),
        *played(bench, "netem", 1, 1000, 0.025),
        *played(bench, bench.BARE, 1, 1000, 0.020),
        *played(bench, "netem", 2, 1000, 0.030),  # has none beside it
        *played(bench, bench.BARE, 2, 1000, 0.001, load="5 Mbit/s"),
    ]
    assert bench.added(bench.rows(said), "netem", "full") == pytest.approx([3e-6, 5e-6])


def test_rounds_of_several_files_are_not_taken_for_each_other(bench: ModuleType) -> None:
    records = []
    for bare, netem in ((0.010, 0.013), (0.020, 0.025)):
        said = [*played(bench, bench.BARE, 0, 1000, bare), *played(bench, "netem", 0, 1000, netem)]
        records.append({"rows": [asdict(row) for row in bench.rows(said)]})
    found = bench.together(records)
    assert [row.round for row in found] == [0, 0, 1, 1]
    assert bench.added(found, "netem", "full") == pytest.approx([3e-6, 5e-6])


def test_the_table_has_median_least_and_most(bench: ModuleType) -> None:
    said: list[object] = []
    for number, cpu_s in enumerate((0.010, 0.030, 0.020)):
        said += played(bench, bench.BARE, number, 1000, 0.010)
        said += played(bench, "ackclock", number, 2000 + number, cpu_s)
        said.append(bench.Said({"at": "path", "valid": number > 0, "problems": []}, 7.0, 106.0))
        said.append(bench.Said({"at": "test", "tool": "mahimahi", "load": "full", "round": number}, 5.0, 100.0))
        said.append(bench.Said({"at": "failed", "why": "there is no program mm-delay"}, 7.0, 106.0))
    _, _, bare, ours, mahimahi = bench.table(bench.rows(said)).splitlines()
    assert bare == f"| full | {bench.BARE} | 500 (500 to 500) | 10.0 (10.0 to 10.0) |  |  |"
    assert ours == "| full | ackclock | 1,000 (1,000 to 1,001) | 10.0 (5.0 to 15.0) | -0.0 (-5.0 to 5.0) | 2 of 3 |"
    assert mahimahi == "| full | mahimahi | not here: there is no program mm-delay | | | |"


def test_every_tool_has_the_same_path(bench: ModuleType) -> None:
    tests = bench.tests([6.0])
    at_a_rate = {test["tool"]: test for test in tests if test["load"] == "6 Mbit/s"}
    assert set(at_a_rate) == set(bench.TOOLS)
    for test in at_a_rate.values():
        assert test["offered_bps"] == 6_000_000
        # 20 ms of 12 Mbit/s are 20 packets; netem holds those of its delay of 10 ms as well.
        assert (test["rate_bps"], test["queue_packets"], test["held_packets"]) == (12_000_000, 20, 30)
    run = json.loads(at_a_rate["ackclock"]["document"])
    rates = {link["id"]: link["rate_bps"] for link in run["links"]}
    assert rates["bottleneck"] == 12_000_000
    assert not run["engine"]["offload"]


def test_super_packets_are_for_those_that_know_them(bench: ModuleType) -> None:
    tests = [test for test in bench.tests([]) if test["load"] == bench.SUPER]
    assert [test["tool"] for test in tests] == [bench.BARE, "netem", "ackclock"]
    assert all(test["gso"] for test in tests)
    assert json.loads(tests[-1]["document"])["engine"]["offload"]


def test_the_guest_may_only_read_the_files_of_the_computer(bench: ModuleType, tmp_path: Path) -> None:
    line = bench.line(tmp_path)
    assert "ro" in line
    assert "rw" not in line
    assert line[line.index("--") + 1 :] == [str(BENCHES / "netem_guest.py"), str(tmp_path / "job.json")]
    assert not any(word.startswith("time-travel") for word in line)


def test_processor_time_is_of_the_processes_of_a_session(bench: ModuleType) -> None:
    loop = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
    with subprocess.Popen(
        ["python3", "-c", loop], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert bench.processor_time(process.pid) >= 0.3 - 2 / bench.TICKS
        process.communicate(b"\n")
    assert bench.processor_time(process.pid) == 0


@pytest.mark.parametrize("program", ["SINK", "SOURCE"])
def test_programs_of_the_traffic_are_python(bench: ModuleType, program: str) -> None:
    guest = importlib.import_module("netem_guest")
    compile(getattr(guest, program), program, "exec")


def test_what_is_missing_is_one_line(bench: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit, match=r"^netem: it needs root"):
        bench.main([])
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: None if name == "tc" else name)
    with pytest.raises(SystemExit, match=r"^netem: tc is missing: apt-get install iproute2$"):
        bench.main([])
    monkeypatch.setattr(bench, "lacking", lambda: None)
    with pytest.raises(SystemExit, match=r"^netem: --over .*: there is no folder usr in it"):
        bench.main(["--over", str(tmp_path)])
    monkeypatch.setenv("ACKCLOCK_KERNELS", str(tmp_path))
    with pytest.raises(
        SystemExit, match=r"^netem: .*no kernel is built for engine kernel-vt; build one with: ackclock"
    ):
        bench.main([])


def test_a_folder_that_would_hide_libraries_is_refused(bench: ModuleType, tmp_path: Path) -> None:
    over, files = tmp_path / "over", tmp_path / "files"
    for folder in (over / "usr", over / "var", files / "usr", files / "var"):
        folder.mkdir(parents=True)
    (files / "lib").symlink_to("usr")
    assert bench.unfit(over, files) is None
    (over / "lib").mkdir()
    assert bench.unfit(over, files) == "lib in it would hide that of the computer; move it into usr"
    assert "no folder usr" in bench.unfit(over / "usr", files)
