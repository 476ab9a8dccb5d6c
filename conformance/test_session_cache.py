"""What is cached for a session of tests is computed once by all of its processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import session_cache


def test_a_result_is_computed_once_for_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(session_cache.FOLDER, str(tmp_path))
    calls = []

    def square(number: int, *, plus: int = 0) -> tuple[int, ...]:
        calls.append(number)
        return (number**2 + plus,)

    # As two processes: their caches in memory are their own.
    one, other = session_cache.session_cache(square), session_cache.session_cache(square)
    assert [one(3), one(3), other(3), other(3)] == [(9,)] * 4
    assert calls == [3]
    assert [other(3, plus=1), one(3, plus=1), one(4), other(4)] == [(10,), (10,), (16,), (16,)]
    assert calls == [3, 3, 4]
    assert {path.suffix for path in tmp_path.iterdir()} == {""}, "nothing half-written is left"


def test_without_a_session_every_process_computes_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(session_cache.FOLDER)
    calls = []

    def square(number: int) -> int:
        calls.append(number)
        return number**2

    one, other = session_cache.session_cache(square), session_cache.session_cache(square)
    assert [one(3), one(3), other(3)] == [9, 9, 9]
    assert calls == [3, 3]


def test_a_session_has_a_folder() -> None:
    assert Path(os.environ[session_cache.FOLDER]).is_dir()
