"""``ackclock get`` behind lines in virtual time: make test-kernel-vt. Without a kernel they fail, and say so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from virtual_kernels import able as able  # a fixture of the module

SERVER = Path(__file__).resolve().parents[2] / "benches" / "get.py"
LINE = """
[topology]
kind = "dumbbell"
rate = "10 Mbit/s"
rtt = "40 ms"
queue = { kind = "droptail", limit = "33 packets" }
[[flows]]
cc = "cubic"
[run]
duration = "60 s"
"""


def downloaded(folder: Path, size: int, *options: str) -> dict[str, Any]:
    """The summary of a download of so many bytes."""
    (folder / "line.toml").write_text(LINE, encoding="utf-8")
    server = f"{sys.executable} {SERVER} serve {size}"
    shell = [sys.executable, "-m", "ackclock", "shell", "line.toml", "--virtual", "--quiet", "--server", server, "--"]
    get = [sys.executable, "-m", "ackclock", "get", "http://server.ackclock:8123/file", "--json", *options]
    done = subprocess.run([*shell, *get], capture_output=True, text=True, timeout=900, check=False, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    summary: dict[str, Any] = json.loads(done.stdout)
    assert summary["bytes"] == size
    return summary


def test_one_connection_where_it_fills_the_line(tmp_path: Path) -> None:
    summary = downloaded(tmp_path, 10_000_000)
    assert {step["connections"] for step in summary["connections"]} == {1}
    assert summary["connections"][-1]["why"] == "a queue limits"


def test_more_where_receive_windows_limit(tmp_path: Path) -> None:
    # 10 kB in 40 ms are 2 Mbit/s a connection.
    summary = downloaded(tmp_path, 10_000_000, "--rcvbuf", "10 kB")
    numbers = [step["connections"] for step in summary["connections"]]
    assert numbers[:2] == [1, 2]
    assert max(numbers) >= 4
    assert summary["connections"][1]["why"] == "try more: receive windows limit"
