"""What the host says about itself, and the memory a control group leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from ackclock import host


def test_facts() -> None:
    facts = host.facts()
    assert facts["cores"] == host.cores() >= 1
    assert set(facts) == {"system", "kernel", "machine", "processor", "cores", "memory_bytes", "python"}


@pytest.mark.parametrize(
    ("limit", "usage", "left"),
    [("1000", "300", 700), ("1000", "1200", 0), ("max", "300", None), (str(2**63), "300", None), ("?", "3", None)],
)
def test_control_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, usage: str, left: int | None
) -> None:
    (tmp_path / "limit").write_text(f"{limit}\n")
    (tmp_path / "usage").write_text(f"{usage}\n")
    files = [(tmp_path / "limit", tmp_path / "usage"), (tmp_path / "absent", tmp_path / "absent")]
    monkeypatch.setattr(host, "_group_files", lambda: files)
    monkeypatch.setattr(host, "_meminfo", lambda name: 5000)
    assert host.available_memory() == (5000 if left is None else left)


def test_a_host_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "_group_files", list)
    monkeypatch.setattr(host, "_meminfo", lambda name: None)
    assert host.available_memory() is None
