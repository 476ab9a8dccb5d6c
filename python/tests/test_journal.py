"""The journal of a sweep: whatever is cut off or damaged, everything that is whole stays."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ackclock
from ackclock import InputError
from ackclock.cli.app import main
from ackclock.errors import AckclockError
from ackclock.execution import batch, records
from ackclock.execution import journal as journals
from ackclock.execution.journal import ASIDE, Journal
from ackclock.execution.keys import Task
from ackclock.files import JOURNAL as NAME
from ackclock.files import STOPPED
from ackclock.results import incomplete, store

Write = Callable[..., Path]
BATCHES = (("a", "b"), ("c",), ("d", "e", "f"))


def _payload(*keys: str) -> bytes:
    runs = [f'{{"key":"{key}","info":{{"wall_s":0.1}},"rows":3}}' for key in keys]
    return batch._packed(runs, (b"f" * 10, b"", b"t", b""))


def _written(folder: Path) -> tuple[bytes, list[int]]:
    """A journal of three batches, and where each ends."""
    ends = []
    with Journal(folder) as journal:
        for keys in BATCHES:
            journal.append(_payload(*keys))
            ends.append((folder / NAME).stat().st_size)
    return (folder / NAME).read_bytes(), ends


def test_what_was_appended_is_there_again(tmp_path: Path) -> None:
    _written(tmp_path)
    with Journal(tmp_path) as journal:
        assert sorted(journal.entries) == list("abcdef")
        assert journal.damaged == 0
        entry = journal.entries["e"]
        assert batch.header(journal.payload(entry.offset)).runs[entry.number]["key"] == "e"
        assert (entry.rows, entry.failed) == (3, False)


def _begins(ends: list[int]) -> list[int]:
    return [len(journals._MAGIC), *ends[:-1]]


@given(st.data())
def test_a_cut_end_costs_only_what_was_not_whole(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("journal")
    whole, ends = _written(folder)
    at = data.draw(st.integers(0, len(whole) - 1))
    (folder / NAME).write_bytes(whole[:at])
    kept = [key for keys, end in zip(BATCHES, ends, strict=True) if end <= at for key in keys]
    partial = at - max((end for end in [len(journals._MAGIC), *ends] if end <= at), default=at)
    with Journal(folder) as journal:
        assert (sorted(journal.entries), journal.damaged) == (kept, partial)
        journal.append(_payload("x"))
    if partial:
        assert (folder / ASIDE).read_bytes() == whole[at - partial : at]
    with Journal(folder) as journal:
        assert (sorted(journal.entries), journal.damaged) == ([*kept, "x"], 0)


@given(st.data())
def test_damage_costs_only_the_batches_that_it_is_in(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Bytes that are other ones, that are missing, or that were put in; at one place or at two."""
    folder = tmp_path_factory.mktemp("journal")
    whole, ends = _written(folder)
    damaged, hit = whole, set[int]()
    for _ in range(data.draw(st.integers(1, 2))):
        number = data.draw(st.integers(0, len(BATCHES) - 1).filter(lambda number: number not in hit))
        hit.add(number)
    for number in sorted(hit, reverse=True):  # from behind, so that the places in front stay what they are
        at = data.draw(st.integers(_begins(ends)[number], ends[number] - 1))
        other = data.draw(
            st.one_of(
                st.integers(1, 255).map(lambda bits, byte=whole[at]: bytes([byte ^ bits])),
                st.just(b""),
                st.binary(min_size=1, max_size=40).map(lambda more, byte=whole[at]: b"#" + more + bytes([byte])),
            )
        )
        damaged = damaged[:at] + other + damaged[at + 1 :]
    (folder / NAME).write_bytes(damaged)
    kept = [key for number, keys in enumerate(BATCHES) if number not in hit for key in keys]
    with Journal(folder) as journal:
        # What was put in front of a record, or at its end, leaves the record itself whole.
        found = sorted(journal.entries)
        assert set(kept) <= set(found)
        assert journal.damaged > 0
        for key, entry in journal.entries.items():
            assert batch.header(journal.payload(entry.offset)).runs[entry.number]["key"] == key
        journal.append(_payload("x"))
    assert (folder / ASIDE).stat().st_size > 0
    with Journal(folder) as journal:
        assert (sorted(journal.entries), journal.damaged) == ([*found, "x"], 0)


def test_one_flipped_bit_costs_one_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _file: None)  # thousands of them would take a minute of a busy disk
    whole, ends = _written(tmp_path)
    for bit in range(8 * ends[0], 8 * ends[1], 5):  # every byte, at one place or two
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        (tmp_path / NAME).write_bytes(damaged)
        (tmp_path / ASIDE).unlink(missing_ok=True)
        with Journal(tmp_path) as journal:
            assert sorted(journal.entries) == list("abdef"), bit
        assert (tmp_path / ASIDE).read_bytes() == damaged[ends[0] : ends[1]]
        assert (tmp_path / NAME).stat().st_size == len(whole), "the others stay where they are"


def test_damage_is_told_and_played_again(
    scenario_file: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = scenario_file(), tmp_path / "out"
    for replications in (1, 2, 3):
        ackclock.sweep(file, out, replications=replications, jobs=1)
    before = (out / "flows.parquet").read_bytes()
    content = bytearray((out / NAME).read_bytes())
    content[len(content) // 2] ^= 1
    (out / NAME).write_bytes(content)
    asked = ["sweep", str(file), "--out", str(out), "--replications", "3", "--jobs", "1"]
    assert main(asked) == 0
    said = capsys.readouterr()
    assert "1 run was played" in said.out
    size = (out / ASIDE).stat().st_size
    line = f"{size} bytes of runs.journal were not part of a whole record; they are in {out / ASIDE} now"
    assert f"ackclock: {line}, and their runs are played again\n" in said.err
    assert (out / "flows.parquet").read_bytes() == before
    assert main(asked) == 0
    said = capsys.readouterr()
    assert ("were not part" in said.err, "nothing was played" in said.out) == (False, True)


def test_a_mark_among_the_damage_is_not_a_record(tmp_path: Path) -> None:
    """Marks whose length is wrong, too long, or right with another checksum; and more than is read at a time."""
    whole, ends = _written(tmp_path)
    real = whole[ends[0] : ends[1]]
    wrong = b"RUNS" + b"RUNS\x05\0\0\0\0\0\0\0" + real[:12] + bytes(len(real)) + bytes(3 * records._CHUNK)
    (tmp_path / NAME).write_bytes(whole[: ends[0]] + wrong + whole[ends[0] :])
    with Journal(tmp_path) as journal:
        assert sorted(journal.entries) == list("abcdef")
        assert journal.damaged == len(wrong)
    with Journal(tmp_path) as journal:
        assert (sorted(journal.entries), journal.damaged) == (list("abcdef"), 0)


def test_what_is_appended_is_synced_without_another_append(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = threading.Event()
    real = os.fsync

    def fsync(file: int) -> None:
        real(file)
        synced.set()

    monkeypatch.setattr(journals, "_SYNC_S", 0.01)
    with Journal(tmp_path) as journal:
        monkeypatch.setattr(os, "fsync", fsync)
        assert not synced.is_set()
        for key in ("a", "b"):
            journal.append(_payload(key))
            assert synced.wait(60), "nobody else appends, and nobody waits for the journal"
            synced.clear()


def test_a_disk_that_refuses_is_told_with_the_next_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(_file: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(journals, "_SYNC_S", 0.0)
    with Journal(tmp_path) as journal:
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", fsync)
            journal.append(_payload("a"))
            journal._syncing.join(60)
        with pytest.raises(AckclockError, match=r"runs\.journal: cannot be written \(input/output error\)"):
            journal.append(_payload("b"))
    with Journal(tmp_path) as journal:
        assert (list(journal.entries), journal.damaged) == (["a"], 0)


LIMITED = """import resource, sys
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
from ackclock.cli.app import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_full_disk_ends_in_a_line_and_the_sweep_goes_on_later(scenario_file: Write, tmp_path: Path) -> None:
    """A limit on the size of files refuses as a full disk does: some of a record is written, and then no more."""
    file, out = scenario_file(), tmp_path / "out"
    ackclock.sweep(file, tmp_path / "whole", replications=60, jobs=1)
    size = (tmp_path / "whole" / NAME).stat().st_size
    asked = ["sweep", str(file), "--replications", "60", "--jobs", "1", "--out", str(out)]
    there = 0
    for limit in (size // 3, 2 * size // 3):
        command = [sys.executable, "-c", LIMITED, str(limit), *asked]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 1
        assert f"ackclock: {out / NAME}: cannot be written (file too large); what had finished" in ended.stderr
        goes_on = [f"ackclock: {there} of 60 runs are there, and the others are played"] if there else []
        assert ended.stderr.splitlines()[:-1] == goes_on
        with Journal(out) as journal:
            assert len(journal.entries) > there
            there = len(journal.entries)
            assert journal.damaged == 0, "what was written of the last record is cut off at once"
    assert main(asked) == 0
    for name in ("flows.parquet", "series.parquet"):
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_tables_that_do_not_fit_end_in_a_line(
    scenario_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_path: Path) -> None:
        raise OSError(28, "No space left on device")

    asked = ["sweep", str(scenario_file()), "--jobs", "1", "--out", str(tmp_path / "out")]
    with monkeypatch.context() as patched:
        patched.setattr(store, "to_disk", full)
        assert main(asked) == 1
    said = capsys.readouterr().err
    assert "the tables cannot be written (no space left on device); the runs are kept" in said
    assert said.count("\n") == 1
    assert sorted(item.name for item in (tmp_path / "out").iterdir()) == [NAME, STOPPED]
    assert incomplete.stopped(tmp_path / "out") == "1 of 1 runs"
    assert main(asked) == 0
    assert not (tmp_path / "out" / STOPPED).exists()


def test_only_one_process_writes(tmp_path: Path) -> None:
    with Journal(tmp_path), pytest.raises(InputError, match="another sweep is writing there"):
        Journal(tmp_path)


def test_a_run_that_could_not_be_played_is_worth_another_try(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append(batch.failure(Task("k", "", ()), "gone"))
        entry = journal.entries["k"]
        assert entry.failed
        assert entry.repeat
        journal.append(_payload("k"))
        assert not journal.entries["k"].failed, "the last word counts"


def test_another_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"something else")
    with pytest.raises(InputError, match="is not a journal of runs"):
        Journal(tmp_path)
    assert (tmp_path / NAME).read_bytes() == b"something else"


def test_what_was_set_aside_marks_the_directory_of_a_sweep(tmp_path: Path) -> None:
    (tmp_path / ASIDE).write_bytes(b"of a damaged journal")
    assert store.SweepDirectory(tmp_path).path == tmp_path
    with pytest.raises(InputError, match="is the directory of a sweep"):
        store.OutputDirectory(tmp_path)


def test_a_lock_that_is_given_back_soon_is_waited_for(tmp_path: Path) -> None:
    """A sweep that is killed while it begins a process leaves its lock to that process for a moment."""
    held = os.open(tmp_path / NAME, os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    giving_back = threading.Timer(0.3, os.close, [held])
    giving_back.start()
    with Journal(tmp_path) as journal:
        assert journal.damaged == 0
    giving_back.join()
