"""What a campaign's journal keeps is on the disk, whole, before it has its name: as far as a disk can be asked."""

from __future__ import annotations

import gzip
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from ackclock.measure import campaign
from ackclock.measure.journal import FOLDER, Journal

TEXT = """
[campaign]
name = "try"
server = "192.0.2.1"
[[lines]]
name = "here"
[test]
"""


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal.begun(tmp_path / "out", campaign.parsed(TEXT, "try.toml", tmp_path))


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What is asked of the disk, in order: files and folders that are synced, with what a file had then, and names."""
    found: list[tuple[Any, ...]] = []
    fsync, replace = os.fsync, Path.replace

    def synced(file: int) -> None:
        fsync(file)
        place = Path(f"/proc/self/fd/{file}").readlink()
        found.append(("folder", place) if stat.S_ISDIR(os.fstat(file).st_mode) else ("file", place, place.read_bytes()))

    def named(self: Path, target: Path) -> Path:
        found.append(("name", self, target))
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", named)
    return found


@pytest.mark.parametrize("kind", ["test", "probe", "block"])
def test_it_is_on_the_disk_before_it_has_its_name_and_the_name_is_before_the_next_test(
    journal: Journal, steps: list[tuple[Any, ...]], kind: str
) -> None:
    said = {"problem": None, "result": ["x" * 100_000]}  # more than a stream keeps for itself
    if kind == "test":
        target = journal.folder / "tests" / "000007.json.gz"
        journal.put(7, said)
    elif kind == "probe":
        target = journal.folder / "probes" / "000003-down.json.gz"
        journal.put_probe(3, "down", said)
    else:
        target = journal.folder / "blocks" / "000003.json"
        journal.put_block(3, said)
    (file, partial, content), (name, old, new), (folder, place) = steps
    assert (file, name, folder) == ("file", "name", "folder")
    assert (partial, new, place) == (old, target, target.parent)
    assert content == target.read_bytes(), "it was not whole when it was asked to be on the disk"
    assert json.loads(gzip.decompress(content) if kind != "block" else content) == said


def test_the_campaign_itself_is_on_the_disk_before_its_first_test(tmp_path: Path, steps: list[tuple[Any, ...]]) -> None:
    Journal.begun(tmp_path / "out", campaign.parsed(TEXT, "try.toml", tmp_path))
    folder = tmp_path / "out" / FOLDER
    assert [(step[0], step[-1] if step[0] != "file" else None) for step in steps] == [
        ("file", None), ("name", folder / "campaign.toml"), ("folder", folder),
        ("file", None), ("name", folder / "state.json"), ("folder", folder),
    ]  # fmt: skip


def test_a_disk_that_refuses_leaves_no_test_behind(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="Input/output error"):
        journal.put(0, {"problem": None})
    assert journal.done() == set()
