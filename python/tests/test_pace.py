"""Whether a computer can hand on packets in time: what runs ask for, what is measured, what is said."""

from __future__ import annotations

import dataclasses
import json
import platform
from pathlib import Path
from typing import Any

import pytest

from ackclock import host, kernel
from ackclock.cli import lasting
from ackclock.cli import pace as shown_pace
from ackclock.cli.app import main
from ackclock.errors import InputError
from ackclock.execution import pace
from ackclock.scenario.plan import load
from ackclock.sweeps import real_time
from ackclock.sweeps.real_time import Measured


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What this computer has measured before must not matter."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "ackclock" / "real-time.json"


def scenario(rate: str, *flows: dict[str, Any], **run: Any) -> dict[str, Any]:
    topology = {"kind": "dumbbell", "rate": rate, "rtt": "20 ms", "queue": {"kind": "droptail", "limit": "1 BDP"}}
    asked = {"duration": "1 s", "engine": "kernel"} | run
    return {"topology": topology, "flows": list(flows or ({"cc": "cubic"},)), "run": asked}


def packets(content: dict[str, Any]) -> float:
    return pace.packets_per_s(next(load(content).jobs()).document())


CBR = {"app": {"kind": "cbr", "rate": "6 Mbit/s", "packet": "1000 B"}}


def test_packets_are_those_of_busy_bottlenecks() -> None:
    # 100 Mbit/s are 8333.3 packets of 1500 bytes a second, and an acknowledgment for every second one.
    assert packets(scenario("100 Mbit/s")) == pytest.approx(12_500)
    assert packets(scenario("100 Mbit/s", {"cc": "cubic", "count": 7})) == pytest.approx(12_500), "a link counts once"
    # Datagrams, here of 1000 bytes and headers, send what they send, if that is less, and nobody acknowledges them.
    assert packets(scenario("100 Mbit/s", CBR)) == pytest.approx(6e6 / 8 / 1028)
    assert packets(scenario("3 Mbit/s", CBR)) == pytest.approx(3e6 / 8 / 1028)


def test_of_a_way_the_slowest_link_counts() -> None:
    lot = scenario("100 Mbit/s")
    lot["topology"] |= {"access": [{"rate": "12 Mbit/s"}]}
    assert packets(lot) == pytest.approx(1_500)


@pytest.mark.parametrize(
    ("link", "rate"),
    [
        ({"rate_bps": 5}, 5),
        ({"rate_bps": None}, None),
        ({"rate_bps": None, "schedule": {"steps": [[0, 3], [10, 8], [20, 0]]}}, 8),
        ({"rate_bps": 5, "shaper": {"rate_bps": 2}}, 2),
        # Four of 1500 bytes in 6 ms.
        ({"rate_bps": None, "trace": {"times_ms": [1, 2, 2, 6], "opportunity_bytes": 1500}}, 8e6),
    ],
)
def test_the_rate_of_a_link(link: dict[str, Any], rate: float | None) -> None:
    assert pace.fastest(link) == rate


def test_what_is_too_much_follows_from_what_is_known(cache: Path) -> None:
    def strains(**run: Any) -> list[str]:
        return [str(strain) for strain in pace.strains([load(scenario("1 Gbit/s", **run))])]

    # 125 000 packets a second; 10 us each are 70 000 in 0.7 s, and 5 us 140 000.
    (line,) = strains()
    assert "up to 120 000 packets a second are to pass the path" in line
    assert "hands on about 70 000 in time (as reckoned; ackclock doctor --measure measures it)" in line
    assert line.endswith("take offload (docs/engines.md), a lower rate or engine kernel-vt")
    assert not strains(offload=True)
    assert not strains(engine="sim")
    assert not strains(allow_late=True), "who allows lateness knows of it"

    host.keep_pace({"plain": 300_000.0, "offload": 100_000.0})
    assert cache.exists()
    assert not strains()
    (line,) = strains(offload=True)
    assert "hands on about 100 000 in time (as measured); take a lower rate or engine kernel-vt" in line


def test_of_a_sweep_the_busiest_point_is_said() -> None:
    swept = scenario("2 Gbit/s")
    swept["topology"]["rate"] = ["1 Mbit/s", "4 Gbit/s", "2 Gbit/s"]
    (strain,) = pace.strains([load(swept)])
    assert strain.packets_per_s == pytest.approx(500_000)


def test_what_was_measured_elsewhere_is_not_known_here(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert host.pace() == {}
    host.keep_pace({"plain": 1.0, "offload": 2.0})
    assert host.pace() == {"plain": 1.0, "offload": 2.0}
    monkeypatch.setattr(platform, "release", lambda: "0.1")
    assert host.pace() == {}
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache.parent.parent))
    for broken in ("{", "[]", '{"of": 1}', json.dumps({"of": host._of_pace(), "plain": "much"})):
        cache.write_text(broken, encoding="utf-8")
        assert host.pace() == {}


SMALL = """
[topology]
kind = "dumbbell"
rate = "2 Mbit/s"
rtt = "20 ms"
queue = { kind = "droptail", limit = "20 packets" }
[[flows]]
cc = "reno"
[run]
duration = "300 ms"
"""


@pytest.mark.real_time
@pytest.mark.parametrize("words", [["run"], ["sweep", "--out", "out"], ["agree", "--engines", "sim,kernel"]])
def test_commands_say_it_in_one_line_before_they_begin(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host.keep_pace({"plain": 10.0, "offload": 20.0})
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    main([words[0], "small.toml", *words[1:], *([] if words[0] == "agree" else ["--set", "run.engine=kernel"])])
    lines = capsys.readouterr().err.splitlines()
    found = [line for line in lines if "are to pass the path" in line]
    assert len(found) == 1
    assert "small.toml: up to 250 packets a second" in found[0]
    assert "about 10 in time (as measured)" in found[0]


def test_of_runs_that_fit_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    lasting.announce([load(scenario("100 Mbit/s"))])
    assert "to pass the path" not in capsys.readouterr().err


def measured(mbps: int, *, valid: bool = True, offload: bool = False) -> Measured:
    problems = () if valid else ("packets of link bottleneck were late",)
    return Measured(mbps, offload, valid, 125.0 * mbps, 0.9 * mbps, 1e-4, 2e-4, 5e-6, 5.6e-4 * mbps, problems)


def test_how_far_it_goes_ends_where_the_first_is_not_valid() -> None:
    runs = [measured(10), measured(30), measured(100, valid=False), measured(300), measured(10, offload=True)]
    best = real_time.up_to(runs, offload=False)
    assert best is not None
    assert best.mbps == 30
    # 30 Mbit/s were 3750 packets a second; with offload the fastest was valid, 1250 with 0.0056 of a processor.
    assert real_time.able(runs) == {"plain": 3750.0, "offload": pytest.approx(1250 * 0.7 / 0.0056)}
    none = [dataclasses.replace(run, valid=False, problems=("late",)) for run in runs]
    assert real_time.up_to(none, offload=True) is None
    assert real_time.able(none) == {"plain": 0.0, "offload": 0.0}


def test_doctor_says_what_was_measured_and_keeps_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [measured(10), measured(30, valid=False), measured(10, offload=True), measured(30, offload=True)]
    monkeypatch.setattr(real_time, "measure", lambda progress: runs)
    assert main(["doctor", "--measure"]) == 0
    shown = capsys.readouterr().out
    assert "without offload: valid up to 10 Mbit/s, about 1200 packets a second in time; at 30: packets of" in shown
    assert "with --offload: valid up to 30 Mbit/s, about 160000 packets a second in time\n" in shown
    assert "\nmeasured: engine kernel, one flow of cubic for 1 s at each rate over 20 ms; valid: no packet" in shown
    assert "\nso: engine kernel for up to 10 Mbit/s, with --offload up to 30 Mbit/s; runs that ask for more" in shown
    assert host.pace() == {"plain": 1250.0, "offload": pytest.approx(1250 * 0.7 / 0.0056)}
    assert main(["doctor", "--measure", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)["real_time"]
    assert answer["valid_up_to_mbps"] == {"plain": 10, "offload": 30}
    assert [run["mbps"] for run in answer["runs"]] == [10, 30, 10, 30]


def test_what_is_to_be_done_is_said_whatever_was_measured() -> None:
    good, bad = measured(10), measured(10, valid=False)
    with_good, with_bad = measured(10, offload=True), measured(10, valid=False, offload=True)
    for runs, said in (
        ([bad, with_bad], "so: no run on engine kernel is to be trusted here now; give this computer rest and measure"),
        ([good, with_bad], "so: engine kernel for up to 10 Mbit/s, to which --offload adds nothing; "),
        ([good, with_good], "so: engine kernel for up to 10 Mbit/s, to which --offload adds nothing; "),
        ([bad, with_good], "so: engine kernel only with --offload, up to 10 Mbit/s; "),
    ):
        last = shown_pace.lines(runs)[-1]
        assert last.startswith(said)
        assert last.endswith("engine kernel-vt plays any rate, without being late")


def test_what_is_not_valid_for_a_moment_is_played_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[int] = []

    def one(result: object, rate: int, *, offload: bool) -> Measured:
        played.append(rate)
        return measured(rate, valid=rate == 2 and played.count(2) > 1, offload=offload)

    monkeypatch.setattr(kernel, "probe", lambda: {"hosts": [True, True], "problems": []})
    monkeypatch.setattr(real_time, "in_memory", lambda plan, jobs: None)
    monkeypatch.setattr(real_time, "of", one)
    runs = real_time.measure(lambda done, of: None, rates=(2, 4))
    assert played == [2, 2, 4, 4, 4, 2, 4, 4, 4]
    assert [run.valid for run in runs] == [True, False, True, False]
    # Where nothing was valid nothing is known: it is reckoned as before.
    none = [dataclasses.replace(run, valid=False) for run in runs if not run.offload]
    real_time.keep([*none, *(run for run in runs if run.offload)])
    assert host.pace() == {"offload": 250.0}
    assert pace.able_per_s(offload=False) == (pytest.approx(70_000), False)
    assert pace.able_per_s(offload=True) == (250.0, True)
    cache.unlink()
    real_time.keep([*none, *(dataclasses.replace(run, offload=True) for run in none)])
    assert not cache.exists()


@pytest.mark.real_time
def test_measuring_plays_runs() -> None:
    if not all(kernel.probe()["hosts"]):
        pytest.fail("this computer cannot make hosts, so that this is not tested")
    told: list[tuple[int, int]] = []
    runs = real_time.measure(lambda done, of: told.append((done, of)), rates=(2, 4))
    assert told == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    assert [(run.mbps, run.offload) for run in runs] == [(2, False), (4, False), (2, True), (4, True)]
    for run in runs:
        # No more than the bottleneck lets through, with acknowledgments, and something at all.
        assert 0 < run.goodput_mbps < run.mbps
        assert 0.5 * run.goodput_mbps * 1e6 / 8 / 1500 < run.packets_per_s < 3 * run.mbps * 1e6 / 8 / 1500 + 100
        assert run.cpu_per_packet_s > 0
        assert run.valid == (not run.problems)


def test_where_nothing_can_be_played_a_line_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "probe", lambda: {"hosts": [False, False], "problems": ["no TUN; modprobe tun"]})
    with pytest.raises(InputError, match=r"--measure: .*hosts cannot be made here; no TUN; modprobe tun"):
        real_time.measure(lambda done, of: None)
    assert main(["doctor", "--measure"]) == 2, "as of a run that this computer cannot play"
