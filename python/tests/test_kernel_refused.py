"""What a kernel cannot do is said when a scenario is read, not when its first run begins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import kernel
from ackclock.cli.app import main
from ackclock.errors import EngineError, InputError

SCENARIO = """
[topology]
kind = "dumbbell"
rate = "10 Mbit/s"
rtt = "20 ms"
queue = { kind = "droptail", limit = "1 BDP" }
[[flows]]
cc = "reno"
[run]
duration = "1 s"
engine = "kernel"
"""
ABLE: dict[str, Any] = {
    "kernel": "6.12.0",
    "controllers": ["reno", "cubic", "bbr"],
    "loadable": ["vegas", "westwood"],
    "settings": ["tcp_sack", "tcp_ecn", "tcp_timestamps"],
    "parameters": {"tcp_cubic.beta": "717"},
    "own": False,
    "right": "own",
    "hosts": [True, True],
    "granted": {"real_time": True, "locked": True, "exact_timers": True},
    "processors": 2,
    "problems": [],
}
"""What a probe says of a computer that is not this one."""


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Facts in place of those of this computer."""
    facts = dict(ABLE)
    monkeypatch.setattr(kernel, "found", lambda: facts)
    return facts


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


HERE = "the kernel here (6.12.0) has no controller"
THERE = "but reno, cubic, bbr1"
LATER = "the kernel decides by itself how long it delays acknowledgments; leave it out"
SHARED = "tcp_cubic.beta of the kernel here is 717, not 512, for all connections of this computer; leave it out, or"
CASES = {
    "cc=copa": f"flows.0.cc: {HERE} 'copa', {THERE}; Linux has none of this name, so choose one of these",
    "cc=vegas": f"flows.0.cc: {HERE} 'vegas', {THERE}; load its module: modprobe tcp_vegas",
    "cc=westwood+": f"flows.0.cc: {HERE} 'westwood+', {THERE}; load its module: modprobe tcp_westwood",
    "cc=htcp": f"flows.0.cc: {HERE} 'htcp', {THERE}; choose one of these, for this kernel has no module tcp_htcp",
    'cc={ name = "cubic", beta = 0.5 }': f"flows.0.cc.beta: {SHARED} set it for all of them: echo 512 > /sys/",
    'cc={ name = "reno", base = "flight" }': "flows.0.cc.base: the kernel's 'reno' has no such parameter; leave it out",
    "profile=ns3": "flows.0.profile: a kernel is no 'ns3'; leave profile out, or write linux",
    "slow_start=blbe": "flows.0.slow_start: a kernel's controller starts as it does, not by 'blbe'; leave",
    "delayed_ack=4": "flows.0.delayed_ack: the kernel has 1 and 2, not 4; write 1, or leave it out",
    "tcp.quick_acks=2": f"flows.0.tcp.quick_acks: {LATER}",
    "tcp.recovery=tahoe": "flows.0.tcp.recovery: the kernel has auto, prr and newreno, not tahoe; write one of these",
    "tcp.handshake=false": "flows.0.tcp.handshake: no kernel does without a handshake; leave it out",
    "tcp.min_rto=100 ms": "flows.0.tcp.min_rto: this kernel (6.12.0) has no net.ipv4.tcp_rto_min_us for it; leave",
    "count=501": "flows.0.count: a kernel run has at most 500, two hosts for each, not 501; have fewer",
    "mss=50 B": "flows.0.mss: a kernel's segments have 76 bytes at least, not 50; make it larger",
}


"""What the lines begin with, behind the name of the file."""


@pytest.mark.parametrize("change", CASES)
def test_it_is_refused_in_one_line_with_its_key(elsewhere: dict[str, Any], file: Path, change: str) -> None:
    with pytest.raises(InputError) as refused:
        ackclock.load(file, set=[f"flows.0.{change}"])
    text = str(refused.value)
    assert text.startswith(f"{file}: {CASES[change]}"), text
    assert "\n" not in text


def test_where_it_stands_in_the_file_is_said_too(elsewhere: dict[str, Any], file: Path) -> None:
    file.write_text(SCENARIO.replace('"reno"', '"vegas"'), encoding="utf-8")
    with pytest.raises(InputError, match=r"flows\.0\.cc: .* \(line 8\); load its module: modprobe tcp_vegas$"):
        ackclock.load(file)


def test_too_many_flows_are_those_of_the_largest_count(elsewhere: dict[str, Any], file: Path) -> None:
    text = SCENARIO.replace('"reno"', '"reno"\ncount = 400\n[[flows]]\ncc = "reno"\ncount = 401')
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r": flows\.1\.count: a kernel run .*, not 801 \(line 12\); have fewer$"):
        ackclock.load(file)
    with pytest.raises(InputError, match=r": flows\.1\.count: a kernel run .*, not 801; have fewer$"):
        ackclock.load(file, set=["flows.1.count=401"])


TUN = "/dev/net/tun cannot be used: No such file or directory (os error 2); load the module (modprobe tun)"
NAMESPACES = "networks cannot be made: this is not root, and user namespaces are not allowed; run it as root"


@pytest.mark.parametrize("why", [TUN, NAMESPACES])
def test_a_computer_that_can_make_no_hosts_says_why(elsewhere: dict[str, Any], file: Path, why: str) -> None:
    elsewhere |= {"right": None, "hosts": [False, False], "problems": [why]}
    for command in (["show"], ["run"], ["sweep", "--out", str(file.parent / "out")]):
        assert main([command[0], str(file), *command[1:]]) == 2
    with pytest.raises(InputError) as refused:
        ackclock.load(file)
    assert str(refused.value).startswith(f"{file}: run.engine: no hosts can be made here (line 11); {why}")
    assert not (file.parent / "out").exists()


def test_one_without_ipv6_plays_ipv4_only(elsewhere: dict[str, Any], file: Path) -> None:
    elsewhere |= {"hosts": [True, False], "problems": ["ipv6 is not there"]}
    ackclock.load(file)
    with pytest.raises(InputError, match=r"run\.engine: no hosts of IPv6 can be made here.*; ipv6 is not there"):
        ackclock.load(file, set=["run.ip=6"])


def test_the_parameter_that_a_kernel_has_is_no_reason(elsewhere: dict[str, Any], file: Path) -> None:
    ackclock.load(file, set=['flows.0.cc={ name = "cubic", beta = 0.7 }'])
    elsewhere["own"] = True
    ackclock.load(file, set=['flows.0.cc={ name = "cubic", beta = 0.5 }'])


def test_without_the_program_or_on_another_system_it_is_said_so(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    def missing() -> str:
        raise EngineError("engine kernel: it is the TCP of Linux, and this is darwin; take engine sim")

    monkeypatch.setattr(kernel, "program", missing)
    monkeypatch.setattr(kernel, "found", kernel.probe)
    with pytest.raises(InputError) as refused:
        ackclock.load(file)
    said = "run.engine: it is the TCP of Linux, and this is darwin (line 11); take engine sim"
    assert str(refused.value) == f"{file}: {said}"


def test_this_computer_is_asked_what_it_has() -> None:
    facts = kernel.probe()
    assert facts["kernel"] == os.uname().release
    assert "reno" in facts["controllers"]
    assert {"tcp_sack", "tcp_ecn"} <= set(facts["settings"])
    shared = Path("/sys/module/tcp_cubic/parameters")
    names = {f"tcp_cubic.{file.name}" for file in shared.iterdir()} if shared.is_dir() else set()
    assert {name for name in facts["parameters"] if name.startswith("tcp_cubic.")} == names
    assert kernel.refusal('{"format": 1, "seed": 1, "duration_ns": 5, "links": [], "flows": []}') is not None
