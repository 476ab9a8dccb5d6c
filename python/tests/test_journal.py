"""The journal of a sweep: whatever is cut off or damaged, what was whole before it stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock import InputError
from ackclock.execution import batch
from ackclock.execution.journal import NAME, Journal
from ackclock.execution.keys import Task


def _payload(*keys: str) -> bytes:
    runs = [f'{{"key":"{key}","info":{{"wall_s":0.1}},"rows":3}}' for key in keys]
    return batch._packed(runs, (b"f" * 10, b"", b"t", b""))


def _written(folder: Path) -> tuple[bytes, list[int]]:
    """A journal of three batches, and where each ends."""
    ends = []
    with Journal(folder) as journal:
        for keys in (("a", "b"), ("c",), ("d", "e", "f")):
            journal.append(_payload(*keys))
            ends.append((folder / NAME).stat().st_size)
    return (folder / NAME).read_bytes(), ends


def test_what_was_appended_is_there_again(tmp_path: Path) -> None:
    _written(tmp_path)
    with Journal(tmp_path) as journal:
        assert sorted(journal.entries) == list("abcdef")
        assert journal.dropped == 0
        entry = journal.entries["e"]
        assert batch.header(journal.payload(entry.offset)).runs[entry.number]["key"] == "e"
        assert (entry.rows, entry.failed) == (3, False)


@given(st.data())
def test_a_cut_or_damaged_end_costs_only_the_last_batches(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    whole, ends = _written(folder)
    at = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        (folder / NAME).write_bytes(whole[:at])
        kept = [keys for keys, end in zip(("ab", "c", "def"), ends, strict=True) if end <= at]
    else:
        damaged = bytes([whole[at] ^ data.draw(st.integers(1, 255))])
        (folder / NAME).write_bytes(whole[:at] + damaged + whole[at + 1 :])
        if at < whole.index(b"RUNS"):
            with pytest.raises(InputError, match="is not a journal of runs"):
                Journal(folder)
            return
        kept = [keys for keys, end in zip(("ab", "c", "def"), ends, strict=True) if end <= at]
    with Journal(folder) as journal:
        assert sorted(journal.entries) == list("".join(kept))
        journal.append(_payload("x"))
    with Journal(folder) as journal:
        assert sorted(journal.entries) == sorted([*"".join(kept), "x"])


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
