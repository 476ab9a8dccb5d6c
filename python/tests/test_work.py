"""Where runs are played: little work in this process, and worker processes that stay for later calls."""

from __future__ import annotations

import multiprocessing
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import engine
from ackclock.execution import backends, elf, work
from ackclock.execution.keys import engine_identity
from ackclock.scenario.plan import Job, load
from shared import ROOT

Write = Callable[..., Path]
Changes = dict[str, Any]
TWO: Changes = {"cc": ["reno", "cubic"]}
MINE = """\
from ackclock import WindowBased

class Mine(WindowBased):
    def grow(self, cx, ack, acked):
        self.cwnd += acked / self.cwnd

    def reduce(self, cx, signal):
        return self.cwnd / 2
"""


def predicted(file: Path, changes: Changes | None = None) -> float:
    return work.predicted_s(Job(0, load(file, set=changes).points[0], 0).document())


def test_the_work_is_predicted_from_the_packets_of_the_bottleneck(scenario_file: Write) -> None:
    # 10 Mbit/s for 3 s are 2500 packets of 1500 bytes, and half as many acknowledgments.
    assert predicted(scenario_file()) == pytest.approx(1e-3 + 3750e-6)
    assert predicted(scenario_file(), {"run.duration": "30 s"}) == pytest.approx(1e-3 + 37500e-6)


@pytest.mark.parametrize("name", ["lte-cell", "hspa-cell"])
def test_the_work_of_a_cell_is_not_predicted(name: str) -> None:
    assert predicted(ROOT / f"scenarios/{name}.toml") == float("inf")


def test_the_work_without_a_rate_is_not_predicted(scenario_file: Write) -> None:
    assert predicted(scenario_file(), {"topology.rate": "unlimited", "topology.queue.limit": "100 packets"}) == float(
        "inf"
    )


@pytest.mark.parametrize(
    ("changes", "asked", "kind"),
    [
        (TWO, False, backends.Here),
        (TWO, True, backends.Processes),
        (TWO | {"run.duration": "1000 s"}, False, backends.Processes),
        (TWO | {"run.replications": 200}, False, backends.Processes),
    ],
    ids=["little", "as asked", "long", "many"],
)
def test_little_work_is_done_here_unless_processes_were_asked_for(
    scenario_file: Write, changes: Changes, asked: bool, kind: type[backends.Backend]
) -> None:
    plan = load(scenario_file(), set=changes)
    backend = backends.choose(2, None, plan, asked=asked)
    backend.close()
    assert type(backend) is kind


def test_controllers_in_python_have_processes_of_their_own_however_little_they_do(
    scenario_file: Write, tmp_path: Path
) -> None:
    (tmp_path / "little_mine.py").write_text(MINE)
    plan = load(scenario_file(), set={"cc": ["reno", "python:little_mine:Mine"]})
    backend = backends.choose(2, None, plan, asked=False)
    assert isinstance(backend, backends.Processes)
    backend.close()


def workers() -> set[int | None]:
    return {process.pid for process in multiprocessing.active_children()}


def test_worker_processes_stay_for_later_calls_and_play_the_same(scenario_file: Write) -> None:
    file = scenario_file()
    here = ackclock.run(file, set=TWO, replications=2)
    first = ackclock.run(file, set=TWO, replications=2, jobs=2)
    there = workers()
    assert there
    second = ackclock.run(file, set=TWO, replications=2, jobs=2)
    assert there & workers(), "the same processes"
    three = ackclock.run(file, set=TWO, replications=2, jobs=3)
    assert not there & workers(), "one pool at a time"
    for name, table in here.tables.items():
        for other in (first, second, three):
            assert table.equals(other.tables[name]), name


def test_processes_that_played_a_controller_in_python_do_not_stay(scenario_file: Write, tmp_path: Path) -> None:
    (tmp_path / "gone_mine.py").write_text(MINE)
    before = workers()
    ackclock.run(scenario_file(), set={"cc": ["reno", "python:gone_mine:Mine"]}, jobs=2)
    assert workers() <= before


def test_processes_that_have_died_are_replaced(scenario_file: Write) -> None:
    file = scenario_file()
    before = ackclock.run(file, set=TWO, jobs=2)
    for process in multiprocessing.active_children():
        process.kill()
        process.join()
    assert ackclock.run(file, set=TWO, jobs=2).flows.equals(before.flows)


def elf_file(*notes: tuple[bytes, int, bytes], kind: int = 4) -> bytes:
    """A file of one program header, with notes of a name, a type and content."""
    body = b"".join(
        struct.pack("<III", len(name), len(content), number)
        + b"".join(part + bytes(-len(part) % 4) for part in (name, content))
        for name, number, content in notes
    )
    head = b"\x7fELF\x02\x01".ljust(32, b"\0") + struct.pack("<Q", 64) + bytes(14) + struct.pack("<HH", 56, 1)
    return head.ljust(64, b"\0") + struct.pack("<IIQQQQQQ", kind, 0, 120, 0, 0, len(body), 0, 4) + body


ID = bytes(range(20))


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (elf_file((b"GNU\0", 3, ID)), ID.hex()),
        (elf_file((b"GNU\0", 5, b"abc"), (b"Linux\0", 3, ID[::-1]), (b"GNU\0", 3, ID)), ID.hex()),
        (elf_file((b"GNU\0", 3, b"short")), None),
        (elf_file((b"GNU\0", 3, ID), kind=1), None),
        (elf_file(), None),
        (elf_file((b"GNU\0", 3, ID))[:100], None),
        (b"\xcf\xfa\xed\xfe" * 40, None),
        (b"", None),
    ],
    ids=["alone", "behind others", "short", "no notes", "empty notes", "cut off", "another format", "empty"],
)
def test_the_build_id_of_a_file(tmp_path: Path, content: bytes, found: str | None) -> None:
    (tmp_path / "object.so").write_bytes(content)
    assert elf.build_id(tmp_path / "object.so") == found


def test_the_engine_is_known_by_its_build() -> None:
    found = elf.build_id(Path(engine.location()))
    assert found is None or engine_identity().endswith(f" build:{found}")
