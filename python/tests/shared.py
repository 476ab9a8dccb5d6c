"""Constants of the tests."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]

SMALL = """\
[topology]
kind = "dumbbell"
rate = "10 Mbit/s"
rtt = "20 ms"
queue = { kind = "droptail", limit = "1 BDP" }

[[flows]]
cc = "cubic"
count = 2
start = { uniform = ["0 s", "100 ms"] }

[run]
duration = "3 s"

[probes]
interval = "50 ms"
"""
