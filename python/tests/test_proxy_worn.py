"""Faults of ``ackclock proxy`` again and again: a short form of ``benches/proxy_faults.py``, and its judgment."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHES = Path(__file__).resolve().parents[2] / "benches"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHES))
    return importlib.import_module("proxy_faults")


@pytest.mark.real_time
def test_every_fault_ends_as_it_should_and_leaves_nothing() -> None:
    command = [sys.executable, str(BENCHES / "proxy_faults.py"), "--rounds", "120", "--samples", "4", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    found = json.loads(done.stdout)
    assert (found["problems"], done.returncode) == ([], 0), done.stderr
    assert (found["rounds"], found["wrong"], found["miscounted"]) == (120, {}, {})
    assert set(found["proxies"]) == {"socks", "silent", "connect", "fixed"}
    for proxy in found["proxies"].values():
        assert proxy["descriptors"]["most"] <= proxy["descriptors"]["begin"] + 128 + 8
        assert proxy["memory_bytes"]["rise"] <= 256 << 10


def result(bench: ModuleType, seen: list[tuple[int, int]]) -> dict[str, Any]:
    level = bench.level((20, 1 << 20), seen)
    return {"wrong": {}, "miscounted": {}, "told": {"socks": "0: ...; 0 were cut off"}, "proxies": {"socks": level}}


def test_what_rises_is_wrong_and_what_is_level_is_not(bench: ModuleType) -> None:
    # The first two of twelve samples are before it is warm.
    level = [(20, 1 << 20), (25, 9 << 20)] + [(30, 10 << 20)] * 10
    assert bench.problems(result(bench, level)) == []
    memory = [(30, (10 << 20) + 60_000 * number) for number in range(12)]
    (said,) = bench.problems(result(bench, memory))
    assert "'rise':" in said
    assert bench.level((20, 0), memory)["memory_bytes"]["rise"] == 60_000 * 7
    (said,) = bench.problems(result(bench, [(20 + 20 * number, 1) for number in range(12)]))
    assert "'most': 240" in said


def test_of_the_fewest_samples_what_rises_is_told_and_fewer_are_refused(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = [(30, (10 << 20) + 200_000 * number) for number in range(bench.LEAST_SAMPLES)]
    (said,) = bench.problems(result(bench, memory))
    assert "'rise': 400000" in said
    for wrong in (["--samples", str(bench.LEAST_SAMPLES - 1)], ["--rounds", "5", "--samples", "6"]):
        monkeypatch.setattr(sys, "argv", ["proxy_faults.py", *wrong])
        with pytest.raises(SystemExit, match="2"):
            bench.main()
        assert "cannot tell what rises" in capsys.readouterr().err


def test_what_was_not_as_it_should_is_said(bench: ModuleType) -> None:
    found = result(bench, [(20, 1)] * 12)
    found["wrong"] = {"the_client_resets: b''": 3}
    found["told"]["socks"] = "0: 7 connections, 1 bytes to servers, 2 to clients; 3 were cut off at the end"
    faults = list(bench.KINDS.values())
    expected = {door: {f'connections_ended_total{{why="{why}"}}': 0.0 for d, why, _ in faults if d == door}
                for door in ("socks", "silent", "connect", "fixed")}  # fmt: skip
    for door, why, _ in faults:
        expected[door][f'connections_ended_total{{why="{why}"}}'] += 5
    assert bench.miscounted(expected, 5) == {}
    expected["silent"]['connections_ended_total{why="idle"}'] += 1
    expected["fixed"]['connections_ended_total{why="failed"}'] = 2.0
    found["miscounted"] = bench.miscounted(expected, 5)
    assert bench.problems(found) == [
        "3 times the_client_resets: b''",
        'fixed connections_ended_total{why="failed"}: counted 2, not 0',
        'silent connections_ended_total{why="idle"}: counted 6, not 5',
        "socks ended with 0: 7 connections, 1 bytes to servers, 2 to clients; 3 were cut off at the end",
    ]
