"""Every kind of bad input gives one line with file, key, problem and remedy, and exit code 2."""

from __future__ import annotations

import gc
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from ackclock import engine, host, load, run
from ackclock.errors import InputError
from command_line import refused
from shared import SMALL

Write = Callable[..., Path]
SMALL_RAW = tomllib.loads(SMALL)


CASES = [
    ("rate =", "rat =", "topology.rat: unknown key 'rat' (line 3); did you mean 'rate'?"),
    ('rtt = "20 ms"\n', "", "topology.rtt: missing key 'rtt' (line 1); add it here or to every flow"),
    ('rate = "10 Mbit/s"\n', "", "topology.rate: missing key 'rate' (line 1); add rate = \"100 Mbit/s\""),
    ("[run]", "[rum]", "rum: unknown key 'rum' (line 12); did you mean 'run'?"),
    ('"20 ms"', '"20"', "topology.rtt: '20' has no unit (line 4)"),
    ('"20 ms"', "20", "topology.rtt: 20 has no unit (line 4)"),
    ('"10 Mbit/s"', '"-10 Mbit/s"', "topology.rate: '-10 Mbit/s' is negative (line 3); give a positive value"),
    ('"10 Mbit/s"', '"0 Mbit/s"', "topology.rate: '0 Mbit/s' is zero (line 3)"),
    ('"10 Mbit/s"', '"10 Mbps"', "unknown unit 'Mbps' in '10 Mbps' (line 3); did you mean 'Mbit/s'?"),
    ('"10 Mbit/s"', '"unlimited"', "topology.queue.limit: a BDP fraction needs a rate (line 5)"),
    ('"1 BDP"', '"0 packets"', "topology.queue.limit: a queue of 0 packets holds nothing (line 5)"),
    ('"1 BDP"', '"0 BDP"', "topology.queue.limit: a queue of 0 BDP holds nothing (line 5)"),
    ('"1 BDP"', '"2000 BDP"', "topology.queue.limit: a queue of 2000 BDP is impossible (line 5)"),
    (
        '"1 BDP"',
        '"20 packets", mark_above = "20 packets"',
        "topology.queue.mark_above: a queue of 20 packets never holds more than 20 packets: nothing would be marked",
    ),
    ('"1 BDP"', '"1 BDP", mark_above = "0 packets"', "mark_above: a threshold of 0 packets is too low (line 5); the"),
    ('"1 BDP"', '"1 BDP", mark_above = 20', "topology.queue.mark_above: 20 has no unit (line 5); write for"),
    ('"1 BDP"', '"1 BDP", mark_above = "unlimited"', "topology.queue.mark_above: above an unlimited queue nothing is"),
    ('"1 BDP"', '"500 B"', "a queue of 500 B never holds a full-size packet of 1500 B (line 5)"),
    ('"dumbbell"', '"dumbell"', "topology.kind: unknown topology 'dumbell' (line 2); did you mean 'dumbbell'?"),
    ('"cubic"', '"cubik"', "flows.0.cc: unknown controller 'cubik' (line 8); did you mean 'cubic'?"),
    ('"cubic"', '{ name = "cubic", betta = 1 }', "flows.0.cc.betta: unknown parameter of cubic 'betta' (line 8)"),
    ('"cubic"', '{ name = "cubic", beta = 7 }', "flows.0.cc.beta: 7 is out of range (line 8)"),
    ('"cubic"', '{ name = "cubic", beta = nan }', "flows.0.cc.beta: nan is not a number (line 8)"),
    ('"cubic"', "3", "flows.0.cc: 3 is not a controller (line 8)"),
    ("count = 2", "count = 0", "flows.0.count: 0 is out of range (line 9); give at least 1"),
    ("count = 2", 'count = "2"', "flows.0.count: '2' is not a whole number (line 9)"),
    ("count = 2", "count = 2000000", "flows: too many flows (line 7)"),
    (
        '"cubic"',
        '"cubic(beta=0.8, variant=linux)"',
        "flows.0.cc: 'cubic(beta=0.8, variant=linux)' is what tables call a controller with parameters (line 8); "
        'write { name = "cubic", beta = 0.8, variant = "linux" }',
    ),
    ('"cubic"', '"BBR"', "flows.0.cc: unknown controller 'BBR' (line 8); did you mean 'bbr1' or 'bbr3'?"),
    ("count = 2", 'engine = "kernel"', "flows.0.engine: unknown key 'engine' (line 9); it is a key of [run]: write it"),
    ("rate =", "pin = 0\nrate =", "topology.pin: unknown key 'pin' (line 3); it is a key of [run]: write it there"),
    ("count = 2", "cuont = 2", "flows.0.cuont: unknown key 'cuont' (line 9); did you mean 'count'?"),
    ("count = 2", "timestamps = false", "it is a TCP option: write it in tcp = { timestamps = ... }"),
    ("count = 2", "min_rto = 1", "flows.0.min_rto: 1 has no unit (line 9)"),
    ("count = 2", "tcp = { min_rtoo = 1 }", "unknown TCP option 'min_rtoo' (line 9); did you mean 'min_rto'?"),
    ("count = 2", "iw = 10\ntcp = { iw = 10 }", "flows.0.tcp.iw: 'iw' is given twice (line 10)"),
    ("count = 2", "tcp = { ecn = true }", "flows.0.tcp.ecn: true is not one of the choices (line 9); known: off"),
    ("count = 2", 'profile = "bsd"', "flows.0.profile: unknown profile 'bsd' (line 9)"),
    ("count = 2", 'slow_start = { kind = "limitd" }', "flows.0.slow_start.kind: unknown slow start 'limitd' (line 9)"),
    (
        "count = 2",
        'slow_start = { kind = "blbe", l2 = "900 B" }',
        "flows.0.slow_start.l2: 900 is out of range (line 9); give 1000 to 65000",
    ),
    ("count = 2", 'stop = "50 ms"', "flows.0.stop: the flow may stop before it starts (line 9)"),
    ("count = 2", 'mss = "70 kB"', "flows.0.mss: an MSS of 70000 B does not fit an IP packet (line 9)"),
    ('"100 ms"', '"9 s"', "flows.0.start: the flow may start after the run ends (line 10)"),
    ('"3 s"', '"3 s"\nwarmup = "3 s"', "run.warmup: the warm-up is not shorter than the run (line 14)"),
    ('"3 s"', '"3 s"\nseed = 1.5', "run.seed: 1.5 is not a whole number (line 14)"),
    ("[[flows]]", "[flows]", "is not a list (line 7); write it as [ ... ], or [[header]] for each table"),
    ('interval = "50 ms"', 'cwnd = "often"', "probes.cwnd: 'often' is not a duration (line 16); write an interval"),
    ('"20 ms"', "[]", "topology.rtt: an empty list (line 4)"),
    ('"20 ms"', '{ range = ["1 ms", "2 ms"] }', "topology.rtt.range: a range has three values (line 4)"),
    ('"20 ms"', '{ range = ["3 ms", "2 ms", "1 ms"] }', "topology.rtt.range: a range goes upwards (line 4)"),
    ('"20 ms"', '{ range = ["3 ms", "2 MB", "1 ms"] }', "the units 'MB' and 'ms' do not go together (line 4)"),
    ("[run]", '[sweep]\nzip = [["cx", "topology.rtt"]]\n[run]', "sweep.zip: 'cx' is zipped but not there (line 13)"),
    ("[topology]", "loss = 1 %\n[topology]", "not valid TOML: "),
    ("[topology]", f"loss = {'1' * 5000}\n[topology]", "a number has thousands of digits; write it with an exponent"),
    ("[topology]", f"loss = {'[' * 5000}\n[topology]", "brackets are nested too deeply; correct it"),
    (
        '"10 Mbit/s"',
        f'"{"1" * 5000} Mbit/s"',
        f"topology.rate: '{'1' * 57}...' is too large (line 3); the most is 1000",
    ),
    ('"3 s"', '"90000 h"', "run.duration: '90000 h' is too large (line 13); the most is 87840 h"),
    ('interval = "50 ms"', 'interval = "1e9 s"', "probes: an interval of more than ten years (line 15); see docs/sc"),
    (
        'queue = { kind = "droptail", limit = "1 BDP" }',
        'queue = "1 BDP"\nloss = 2',
        "topology.loss: 2 is outside 0 to 1",
    ),
    (
        'limit = "1 BDP" }',
        'limit = "1 BDP" }\nloss = { drops = [{ flow = "7", nth = 1 }] }',
        "topology.loss.drops.0.flow: there is no flow '7' (line 6)",
    ),
    ('interval = "50 ms"', 'drops = "on change"', "probes.drops: 'drops' cannot follow events (line 16)"),
    (
        'interval = "50 ms"',
        'interval = "every event"',
        "probes.interval: 'every event' is no interval (line 16); write a time such as \"100 ms\"; "
        'single series can be recorded so: cwnd = "every event"',
    ),
    ('limit = "1 BDP" }', 'limit = "1 BDP" }\nloss = 1.0', "topology.loss: every packet would be lost (line 6)"),
    ('limit = "1 BDP" }', 'limit = "1 BDP" }\nloss = { every = 1 }', "topology.loss.every: 1 is out of range (line 6)"),
    (
        'limit = "1 BDP" }',
        'limit = "1 BDP" }\nloss = { every = 3, p = 0.1 }',
        "exactly one of p, every, drops, gilbert",
    ),
]


@pytest.mark.parametrize(("old", "new", "words"), CASES, ids=[case[2][:50] for case in CASES])
def test_scenario(scenario_file: Write, capsys: pytest.CaptureFixture[str], old: str, new: str, words: str) -> None:
    path = scenario_file((old, new))
    gc.collect()  # nothing is left whose end would be called where a recursion is at its limit
    said = refused(capsys, "run", path, "--out", path.parent / "out")
    assert said.startswith(f"ackclock: {path}: ")
    assert words in said
    assert "; " in said
    assert not (path.parent / "out").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("topology.rate=5", "topology.rate: 5 has no unit; "),
        ("duration=5 s", "--set: duration: unknown key 'duration'; did you mean 'run.duration'?"),
        ("flows.3.cc=reno", "--set: flows.3.cc: no flow at 'flows.3.cc'; write flows.N.key with N from 0 to 0"),
        ("topology.rate.x=1", "--set: topology.rate: 'rate' has no keys of its own"),
        ("nonsense", "--set: 'nonsense' is not of the form key=value"),
        ("topology.hops.0.rate=1", "topology.hops: unknown key 'hops'"),
        ("topology..rtt=1", "--set: topology..rtt: 'topology..rtt' is no key; write for instance topology.rtt"),
        ("topology.events.1.at=1 s", "--set: topology.events.1: nothing at '1'; it has"),
        (
            "rtt.from=1 s",
            "flows.0.rtt: {'from': '1 s'} is not a duration; write for instance \"160 ms\", and several as { range = [",
        ),
        ("rtt.x=1 s", "flows.0.rtt: {'x': '1 s'} is not a duration; write for instance \"160 ms\""),
        (f"topology.rate={'1' * 5000}", f"topology.rate: '{'1' * 57}...' has no unit; write for instance"),
        (f"topology.rate={'[' * 5000}", f"topology.rate: '{'[' * 57}...' is not a rate; write for instance"),
    ],
)
def test_set(scenario_file: Write, capsys: pytest.CaptureFixture[str], change: str, words: str) -> None:
    path = scenario_file()
    assert f"ackclock: {path}: {words}" in refused(capsys, "run", path, "--set", change)


def test_options(scenario_file: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario_file()
    assert "seed" in refused(capsys, "run", path, "--seed", "many")
    assert "run.seed: -1 is out of range; give at least 0" in refused(capsys, "run", path, "--seed=-1")
    assert "run.replications: 0 is out of range" in refused(capsys, "run", path, "--replications", "0")
    assert "jobs: 0 is too few" in refused(capsys, "run", path, "--jobs", "0")
    assert "--nonsense" in refused(capsys, "run", path, "--nonsense")
    assert "FILE" in refused(capsys, "run")
    assert "unknown controller or slow start 'bbr9'" in refused(capsys, "cc", "bbr9")


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such file" in refused(capsys, "run", tmp_path / "missing.toml")
    assert "is a directory" in refused(capsys, "run", tmp_path)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    assert "not a text file" in refused(capsys, "run", binary)


def test_output_that_cannot_be_written(
    scenario_file: Write, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = scenario_file()
    monkeypatch.setattr(engine, "run", lambda document, controllers: pytest.fail("it was run"))
    assert "cannot write the results there" in refused(capsys, "run", path, "--jobs", "1", "--out", path / "below")
    assert "is a file" in refused(capsys, "run", path, "--jobs", "1", "--out", path)
    full = path.parent / "full"
    full.mkdir()
    (full / "thesis.tex").touch()
    assert "holds something other than a result" in refused(capsys, "run", path, "--jobs", "1", "--out", full)
    assert [item.name for item in full.iterdir()] == ["thesis.tex"]
    assert sorted(item.name for item in path.parent.iterdir()) == ["full", "scenario.toml"]


def test_figures_that_cannot_be_written(scenario_file: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario_file()
    missing = path.parent / "missing"
    words = f"ackclock: {missing}: cannot write a figure there: no such directory; make it, or choose another\n"
    assert refused(capsys, "show", path, "--plot", missing / "x.png") == words
    assert refused(capsys, "show", path, "--plot", path.parent / "y.png", "--plot", missing / "x.svg") == words
    assert "end its name with .png, .svg or .pdf" in refused(capsys, "show", path, "--plot", path.parent / "x.txt")
    assert [item.name for item in path.parent.iterdir()] == ["scenario.toml"]


def test_larger_than_memory(
    scenario_file: Write, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = scenario_file()
    monkeypatch.setattr(host, "available_memory", lambda: 10**9)
    for change, key, remedy in (
        ("probes.cwnd=10 ns", "probes", "record fewer series"),
        ("topology.rate=900 Tbit/s", "topology", "use a lower rate"),
    ):
        said = refused(capsys, "run", path, "--set", change, "--out", path.parent / "out")
        assert f"ackclock: {path}: {key}: one run needs about " in said
        assert remedy in said
        assert not (path.parent / "out").exists()
    said = refused(capsys, "run", path, "--replications", "100000", "--set", "probes.interval=1 ms")
    assert f"{path}: probes: the series of all runs need about " in said


@pytest.mark.parametrize(
    ("scenario", "options", "words"),
    [
        (3, {}, "int is no scenario; give the path of a TOML file, the same content as a mapping, or a Scenario"),
        ("a\0b", {}, "embedded null byte; give the path of a scenario file"),
        ({}, {}, "scenario: topology: missing key 'topology'; add"),
        (
            SMALL_RAW,
            {"set": 5},
            'scenario: --set: changes are a mapping of keys to values, or a list of texts; write {"cc"',
        ),
        (
            SMALL_RAW,
            {"set": {"rtt": 10**5000}},
            "scenario: flows.0.rtt: the number is too large; the most is 1000000000 s",
        ),
        (SMALL_RAW, {"set": {"count": 10**5000}}, "scenario: flows.0.count: the number is out of range; give at most"),
        (SMALL_RAW, {"seed": "x"}, "scenario: run.seed: 'x' is not a whole number; write it without quotes"),
    ],
    ids=["number", "null", "empty", "set", "rtt", "count", "seed"],
)
def test_from_python(scenario: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        load(scenario, **options)
    assert words in str(caught.value)


def test_a_plan_is_not_loaded_again() -> None:
    with pytest.raises(InputError, match="it is loaded already; give it to run"):
        load(cast("Any", load(SMALL_RAW)))
    with pytest.raises(InputError, match="jobs: 'x' is not a whole number; give at least 1"):
        run(SMALL_RAW, jobs=cast("Any", "x"))
