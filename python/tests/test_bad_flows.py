"""Impossible flows and applications: one line with file, key, line, problem and remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import refused

FLOW = 'cc = "cubic"\ncount = 2\nstart = { uniform = ["0 s", "100 ms"] }'
FILES = 'app = { kind = "files", size = "10 kB", arrivals = '
SIZES = 'app = { kind = "files", arrivals = { poisson = 2 }, size = '
CBR = 'app = { kind = "cbr", rate = "1 Mbit/s", '

CASES = [
    (
        'cc = { name = "vegas", alpha = 5, beta = 2 }',
        "flows.0.cc.alpha: 5 is above beta = 2 (line 8); raise one or lower the other",
    ),
    (
        'cc = { name = "htcp", beta_min = 0.9, beta_max = 0.6 }',
        "flows.0.cc.beta_min: 0.9 is above beta_max = 0.6 (line 8); raise one or lower the other",
    ),
    (f'{CBR}packet = "70 kB" }}', "flows.0.app.packet: '70 kB' is too large (line 8); the most is 65507 B"),
    (f'{CBR}packet = "5 GB" }}', "flows.0.app.packet: '5 GB' is too large (line 8); the most is 65507 B"),
    (f'{CBR}headers = "2 kB" }}', "flows.0.app.headers: '2 kB' is too large (line 8); the most is 1 kB"),
    (f'{CBR}transport = "sctp" }}', "flows.0.app.transport: unknown transport 'sctp' (line 8); known: udp or tcp"),
    (f'{CBR}phase = "-1 s" }}', "flows.0.app.phase: '-1 s' is negative (line 8)"),
    (f'{CBR}on = "1 s" }}', "flows.0.app.on: unknown key 'on' (line 8); known: rate, packet"),
    (
        'app = "cbr"',
        'flows.0.app: \'cbr\' needs more than its name (line 8); write { kind = "cbr", rate = "1 Mbit/s" }',
    ),
    ('app = "files"', "flows.0.app: 'files' needs more than its name (line 8); write { kind = \"files\", arrivals ="),
    (
        'app = { kind = "video", bitrates = ["1 Mbit/s"], chunk = "30 s" }',
        "flows.0.app.chunk: a chunk plays no longer than the run lasts (line 8); see docs/applications.md",
    ),
    (
        'app = { kind = "video", bitrates = ["1 Mbit/s"], chunk = "1 s", buffer = "1 s" }',
        "flows.0.app.buffer: the buffer holds at least what playing begins with (line 8); see docs/applications.md",
    ),
    ('app = "bluk"', "flows.0.app: unknown application 'bluk' (line 8); did you mean 'bulk'?"),
    ("app = true", "flows.0.app: true is not an application (line 8); write its name: bulk, cbr"),
    (
        'app = { kind = "files" }',
        "flows.0.app.arrivals: missing key 'arrivals' (line 8); add arrivals = { poisson = 10.0 }",
    ),
    (
        f'{FILES}{{ poisson = "2/s" }} }}',
        "arrivals.poisson: '2/s' is not a number (line 8); write it without quotes and",
    ),
    (f"{FILES}{{ poisson = true }} }}", "flows.0.app.arrivals.poisson: true is not a number (line 8)"),
    (f"{FILES}{{ poisson = 0 }} }}", "flows.0.app.arrivals.poisson: 0 is out of range (line 8); give more than 0"),
    (
        f"{FILES}{{ poisson = inf }} }}",
        "flows.0.app.arrivals.poisson: inf is not a finite number (line 8); give a number",
    ),
    (f"{FILES}{{ }} }}", "flows.0.app.arrivals: arrivals are a Poisson process or regular (line 8); write { poisson"),
    (
        f"{FILES}{{ poisson = 2 }}, most = {2**63} }}",
        f"flows.0.app.most: {2**63} is out of range (line 8); give at most",
    ),
    (f'{SIZES}{{ kind = "pareto", shape = inf, min = "1 kB" }} }}', "size.shape: inf is not a shape (line 8); give a"),
    (f'{SIZES}{{ kind = "gamma" }} }}', "flows.0.app.size.kind: unknown distribution 'gamma' (line 8); known: con"),
    (
        'start = { uniform = ["0 s"] }',
        "flows.0.start.uniform: a list of 1 is too short (line 8); give two values, such",
    ),
    ('start = { uniform = ["0 s", "1 s", "2 s"] }', "flows.0.start.uniform: a list of 3 is too long (line 8); give 2"),
    ("cc = true", "flows.0.cc: true is not a controller (line 8); write its name: tahoe"),
    (f'cc = "{"x" * 5000}"', f"flows.0.cc: unknown controller '{'x' * 57}...' (line 8); known: tahoe"),
    (f"count = {2**64}", f"flows.0.count: {2**64} is out of range (line 8); give at most {2**63 - 1}"),
    ('rtt = "1 minute"', "flows.0.rtt: unknown unit 'minute' in '1 minute' (line 8); did you mean 'min'?"),
    (
        'rtt_spread = "100 %"',
        'flows.0.rtt_spread: a spread of 100% leaves no RTT (line 8); give less than 1, for instance "1 %"',
    ),
    ('rtt_spread = "1 ms"', "flows.0.rtt_spread: '1 ms' is not a fraction (line 8); write for instance 0.005"),
    ("rtt = 2020-01-01", 'flows.0.rtt: 2020-01-01 is not a duration (line 8); write for instance "160 ms"'),
]


@pytest.mark.parametrize(("new", "words"), CASES, ids=[case[1][:50] for case in CASES])
def test_flow(scenario_file: Callable[..., Path], capsys: pytest.CaptureFixture[str], new: str, words: str) -> None:
    path = scenario_file((FLOW, new))
    said = refused(capsys, "show", path)
    assert said.startswith(f"ackclock: {path}: flows.0.")
    assert words in said
    assert "; " in said
