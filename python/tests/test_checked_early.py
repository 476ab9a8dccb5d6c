"""What only the engine can see is refused when a scenario is read, for every swept point, before anything is run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import engine, load
from ackclock.cli.app import main
from ackclock.cli.exit_codes import OK
from ackclock.errors import InputError
from ackclock.scenario.checks import refusal
from command_line import refused

Write = Callable[..., Path]
QUEUE = 'queue = { kind = "droptail", limit = "1 BDP" }'
START = 'count = 2\nstart = { uniform = ["0 s", "100 ms"] }\n'

CASES = [
    (QUEUE, 'queue = { kind = "red", limit = "50 packets", min = 15, max = 5 }', "topology.queue.min: min = 15 is not"),
    (
        QUEUE,
        'queue = { kind = "codel", target = "1 s" }',
        "topology.queue.target: must be shorter than 'interval' (line",
    ),
    (
        QUEUE,
        'queue = { kind = "drr", limit = "9 kB", weights = [1e-9] }',
        "topology.queue.weights: the weight of class",
    ),
    (
        QUEUE,
        f'{QUEUE}\npolicer = {{ rate = "1 Mbit/s", burst = "1 kB" }}',
        "topology.policer.burst: 1000 B never hold",
    ),
    (
        QUEUE,
        f'{QUEUE}\naccess = {{ queue = {{ kind = "codel", target = "1 s" }}, rate = "1 Mbit/s" }}',
        "access.queue.t",
    ),
    (START, 'slow_start = { kind = "blbe", l2 = "900 B" }\n', "flows.0.slow_start.l2: 900 is out of range (line 9)"),
    (
        START,
        'tcp = { min_rto = "2 s", max_rto = "1 s" }\n',
        "flows.0.tcp.max_rto: max_rto = 1 s is below min_rto = 2 s",
    ),
    (
        START,
        'min_rto = "2 s"\ntcp = { max_rto = "1 s" }\n',
        "flows.0.tcp.max_rto: max_rto = 1 s is below min_rto = 2 s",
    ),
    (
        START,
        'mss = "9000 B"\ntcp = { mtu = "1500 B" }\n',
        "flows.0.mss: a full segment is a packet of 9052 bytes, above",
    ),
    (START, 'app = { kind = "cbr", rate = "900 Tbit/s" }\n', "flows.0.app.rate: a packet of 1000 B every"),
    (
        START,
        'app = { kind = "on-off", rate = "1 Mbit/s", on = "1 ns" }\n',
        "flows.0.app.on: the mean time on is too short",
    ),
]


@pytest.mark.parametrize(("old", "new", "words"), CASES, ids=[case[2][:40] for case in CASES])
def test_reading_refuses_what_the_engine_refuses(
    scenario_file: Write, capsys: pytest.CaptureFixture[str], old: str, new: str, words: str
) -> None:
    path = scenario_file((old, new))
    with pytest.raises(InputError) as caught:
        load(path)
    assert words in str(caught.value)
    assert "(line " in str(caught.value)
    assert "the engine refuses" not in str(caught.value)
    for command in ("show", "run"):
        assert refused(capsys, command, path) == f"ackclock: {caught.value}\n"


def test_every_point_is_checked_before_the_first_is_run(scenario_file: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "run", lambda *_: pytest.fail("it was run"))
    path = scenario_file((QUEUE, 'queue = { kind = "red", limit = "50 packets", max = [15, 30, 3] }'))
    with pytest.raises(InputError, match=r"topology\.queue\.max: min = 5 .* is not below max = 3 \(line 5\); set min"):
        ackclock.run(path, jobs=1)


def test_a_flow_is_named_by_its_group(raw: dict[str, Any]) -> None:
    raw["flows"] = [{"count": 7}, {"count": 5, "mss": "9000 B", "tcp": {"mtu": "1500 B"}}]
    with pytest.raises(InputError, match=r"^scenario: flows\.1\.mss: a full segment"):
        load(raw)


def test_a_change_is_told_without_a_line(scenario_file: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario_file()
    change = 'topology.queue={kind="codel", target="1 s"}'
    said = refused(capsys, "show", path, "--set", change)
    assert said.startswith(f"ackclock: {path}: topology.queue.target: must be shorter than 'interval'; RFC 8289")


def test_words_of_the_engine(raw: dict[str, Any]) -> None:
    scenario = load(raw).points[0].scenario
    for message, key, problem, remedy in (
        ("links.0.queue: 'max_p' is 7, outside 0..1", "topology.queue.max_p", "7 is out of range", "give 0 to 1"),
        (
            "links.1.queue.x: 'x' must be a number",
            "topology.queue.x",
            "must be a number",
            "see docs/queues.md and docs",
        ),
        ("links.0.events.2.loss.p: odd: mend it", "topology.events", "odd", "mend it"),
        ("flows.0.forward: too long; cut it", "flows.0", "too long", "cut it"),
        ("flows.0.app.packet_bytes: odd", "flows.0.app.packet", "odd", "see docs/applications.md"),
        ("flows.0.cc.params.beta: odd", "flows.0.cc.beta", "odd", "see docs/controllers.md"),
        ("flows.0.tcp.iw: odd", "flows.0.tcp.iw", "odd", "see docs/tcp.md"),
        ("duration_ns: odd", "run.duration", "odd", "see docs/scenario.md"),
        ("probes.cwnd: odd", "probes.cwnd", "odd", "see docs/scenario.md"),
        ("resolved run: not JSON at line 1", "", "the engine refuses it: resolved run: not JSON at line 1", "see docs"),
    ):
        found = refusal.problem(scenario, message)
        assert ".".join(map(str, found.key)) == key, message
        assert found.problem == problem, message
        assert found.remedy.startswith(remedy), message


def test_the_check_says_what_the_run_will_warn_of(scenario_file: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario_file(('limit = "1 BDP" }', 'limit = "20 packets", mark_above = "5 packets" }'))
    plan = load(path)
    assert len(plan.points[0].foreseen) == 1
    assert "no flow uses ECN" in plan.points[0].foreseen[0]
    assert main(["show", str(path), "--json"]) == OK
    said = capsys.readouterr()
    assert said.out.count("\n") == 1
    assert len(json.loads(said.out)["runs"]) == 1
    assert said.err == f"ackclock: {plan.points[0].foreseen[0]}\n"
    assert plan.points[0].foreseen[0] in "".join(ackclock.run(plan, jobs=1).warnings)
