"""Runs on this computer's kernel. Where what they need is missing (``ackclock doctor``) these tests fail and say so."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import kernel
from ackclock.cli.app import main
from ackclock.errors import EngineError, InputError
from shells import with_mark

pytestmark = pytest.mark.real_time

DUMBBELL: dict[str, Any] = {
    "topology": {
        "kind": "dumbbell",
        "rate": "20 Mbit/s",
        "rtt": "40 ms",
        "queue": {"kind": "droptail", "limit": "1 BDP"},
    },
    "flows": [{"cc": "cubic"}],
    "run": {"duration": "4 s", "warmup": "1 s", "engine": "kernel", "allow_late": True},
}
"""Late is allowed: whether this computer has other things to do is not what is tested here."""


SMALL = """
[topology]
kind = "dumbbell"
rate = "1 Mbit/s"
rtt = "9 ms"
queue = { kind = "droptail", limit = "9 packets" }
[[flows]]
cc = "reno"
[run]
duration = "1 s"
"""


def changed(**run: Any) -> dict[str, Any]:
    return DUMBBELL | {"run": DUMBBELL["run"] | run}


@pytest.fixture(scope="module", autouse=True)
def able() -> Mapping[str, Any]:
    found = kernel.probe()
    if not all(found["hosts"]):
        pytest.fail(f"this computer cannot make hosts, so that nothing here is tested: {found['problems']}")
    return found


def namespaces() -> set[str]:
    """The network namespaces that some process uses."""
    links = set()
    for process in Path("/proc").glob("[0-9]*/task/*/ns/net"):
        try:
            links.add(str(process.readlink()))
        except OSError:  # it has ended
            continue
    return links


@pytest.mark.parametrize("offload", [False, True])
@pytest.mark.parametrize("ip", [4, 6])
def test_a_flow_fills_the_path_as_in_the_simulator(ip: int, offload: bool) -> None:
    measured = ackclock.run(changed(ip=ip, offload=offload, duration="8 s"))
    simulated = ackclock.run(changed(engine="sim", duration="8 s"))
    (flow,), (model,) = (result.flows.to_dicts() for result in (measured, simulated))
    # Headers of version 6 are 20 bytes longer.
    assert flow["goodput_bps"] == pytest.approx(model["goodput_bps"] * (1 if ip == 4 else 1480 / 1500), rel=0.02)
    assert flow["mean_rtt_s"] == pytest.approx(model["mean_rtt_s"], rel=0.15)
    assert 0.039 < flow["min_rtt_s"] < 0.045
    assert measured.links.row(0, named=True)["max_queue_packets"] == simulated.links["max_queue_packets"][0]
    assert measured.runs["valid"].to_list() == [True]
    assert measured.manifest["engine"]["name"] == "kernel"
    (run,) = measured.manifest["runs"]
    assert run["emulation"]["kernel"] == os.uname().release
    assert run["emulation"]["ip"] == ip
    assert run["emulation"]["offload"] is offload
    # Queues see full packets, however many the kernel sends at a time.
    link = measured.links.row(0, named=True)
    assert link["sent_bytes"] / link["sent_packets"] == pytest.approx(1500 if ip == 4 else 1520, rel=0.01)
    assert (run["emulation"]["unseen"], run["emulation"]["refused"]) == (0, 0)


def test_every_application_does_what_it_does_in_the_simulator() -> None:
    flows = [
        {"app": {"kind": "files", "arrivals": {"poisson": 5}, "size": "50 kB"}, "cc": "reno"},
        {"app": {"kind": "cbr", "rate": "1 Mbit/s", "packet": "500 B"}},
        {"app": {"kind": "web", "first": "0 s"}},
        {"bytes": "500 kB"},
        {"app": {"kind": "request-response", "request": "1 kB", "response": "20 kB", "think": "100 ms"}},
        {"app": {"kind": "video", "bitrates": ["500 kbit/s", "1 Mbit/s"]}},
        {"bytes": "1 MB", "stop": "3 s"},
    ]
    found = ackclock.run(DUMBBELL | {"flows": flows})
    model = ackclock.run(DUMBBELL | {"flows": flows} | {"run": changed(engine="sim")["run"]})
    assert found.flows["app"].to_list() == model.flows["app"].to_list()
    assert found.flows["failed"].null_count() == len(flows)
    # The same draws: as many files of the same sizes at the same times, and the same bytes of finite flows.
    files = [result.transfers.filter(result.transfers["id"] == "0") for result in (found, model)]
    assert files[0]["bytes"].to_list() == files[1]["bytes"].to_list()
    starts = zip(files[0]["start_s"], files[1]["start_s"], strict=True)
    assert all(abs(a - b) < 0.02 for a, b in starts)
    rows = {row["id"]: row for row in found.flows.to_dicts()}
    assert rows["3"]["completed"]
    assert rows["1"]["goodput_bps"] == pytest.approx(1e6, rel=0.05)
    assert rows["1"]["received_packets"] > 700
    assert all(rows[number]["goodput_bytes"] > 0 for number in ("2", "4", "5"))
    assert {name for _, name, _ in found.manifest["runs"][0]["measures"]} >= {"stalls"}


def test_a_request_leaves_before_connections_that_are_opened_after_it(tmp_path: Path) -> None:
    page = tmp_path / "page.toml"
    names = ["index.html", *(f"picture{number}.avif" for number in range(6))]
    page.write_text("".join(f'[[objects]]\nname = "{name}"\nsize = "12 kB"\n' for name in names))
    web = {"kind": "web", "page": str(page), "connections": 2, "first": "0 s", "parse": "5 ms", "objects_table": True}
    path = DUMBBELL["topology"] | {"rate": "1 Mbit/s", "queue": {"kind": "droptail", "limit": "100 packets"}}
    slow = DUMBBELL | {"topology": path, "flows": [{"app": web, "cc": "cubic"}]}
    for engine in ("kernel", "sim"):
        objects = ackclock.run(slow | {"run": changed(engine=engine)["run"]}).objects
        second = objects.filter((objects["page"] == 0) & (objects["connection"] == 1)).row(0, named=True)
        # Its SYN's answer waits at the bottleneck behind those of the request before it: 12 kB, 96 ms and more.
        assert second["connected_s"] - second["opened_s"] > 0.096, engine


@pytest.mark.smoke
def test_marks_reach_the_kernel_and_are_answered() -> None:
    queue = {"kind": "codel", "limit": "1000 packets", "ecn": True}
    marking = DUMBBELL | {"topology": DUMBBELL["topology"] | {"queue": queue}}
    result = ackclock.run(marking | {"flows": [{"cc": "reno", "tcp": {"ecn": "classic"}}]})
    link, flow = result.links.row(0, named=True), result.flows.row(0, named=True)
    assert link["marks"] > 0
    assert link["drops"] == 0
    assert flow["marked_segments"] > 0
    assert flow["retransmitted_segments"] == 0
    assert link["utilisation"] > 0.5
    assert flow["mean_rtt_s"] < 0.06, "the sender gives way to marks"


def test_series_are_those_of_the_simulator() -> None:
    series = ["cwnd", "srtt", "delivered", "queue"]
    result = ackclock.run(DUMBBELL | {"probes": dict.fromkeys(series, "100 ms")})
    counted = dict(result.series["metric"].value_counts().iter_rows())
    assert set(counted) == set(series)
    assert all(35 <= counted[name] <= 82 for name in series), counted
    delivered = result.series.filter(result.series["metric"] == "delivered")["value"]
    assert delivered.is_sorted()
    assert delivered[-1] == pytest.approx(result.flows["goodput_bytes"][0] + delivered[10], rel=0.1)


def test_a_kernel_tells_more_of_its_flows_than_the_simulator(tmp_path: Path) -> None:
    own = ("delivery_rate", "busy", "rwnd_limited", "sndbuf_limited")
    names = ("min_rtt", "recoveries", "ssthresh", "pacing_rate", "in_flight", "lost", "ca_state", *own)
    result = ackclock.run(DUMBBELL | {"probes": dict.fromkeys(names, "50 ms")}, out=tmp_path / "out")
    value = {name: result.series.filter(result.series["metric"] == name)["value"] for name in names}
    flow = result.flows.row(0, named=True)
    assert set(value["ca_state"].unique()) >= {0, 3}, "open and in recovery"
    assert value["lost"].max() > 0
    assert 0.039 < value["min_rtt"][-1] < 0.045
    assert value["recoveries"][-1] == flow["recoveries"] + value["recoveries"][20] > 0
    assert value["delivery_rate"][-1] == pytest.approx(20e6 * 1448 / 1500, rel=0.05)
    assert value["busy"][-1] == pytest.approx(3.9, abs=0.15), "a bulk flow always has data under way"
    assert 0 <= value["sndbuf_limited"][-1] < value["busy"][-1]
    assert value["rwnd_limited"].max() < 0.1
    shown = ackclock.query(tmp_path / "out", "select distinct metric from series where metric = 'ca_state'").rows
    assert shown == [("ca_state",)]
    assert main(["plot", str(tmp_path / "out"), "--kind", "timeseries", "--y", "ca_state", "--y", "lost"]) == 0
    with pytest.raises(InputError, match=r"probes\.busy: only a kernel tells this of its flows; leave it out"):
        ackclock.load(DUMBBELL | {"run": {"duration": "1 s"}, "probes": {"busy": "1 s"}})


def test_what_only_the_simulator_does_is_said_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.toml"
    file.write_text(SMALL, encoding="utf-8")
    assert main(["run", str(file), "--engine", "kernel", "--capture", str(tmp_path / "a.pcapng")]) == 2
    assert "only simulated packets can be captured" in capsys.readouterr().err
    with pytest.raises(InputError, match="played on this computer"):
        ackclock.sweep(DUMBBELL, tmp_path / "sweep", cluster="local:1")
    with pytest.raises(EngineError, match="is for another engine"):
        ackclock.Simulation(DUMBBELL)


def test_a_run_that_was_late_is_said_to_be_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program of a computer that was late: everything between it and the exit code is the real thing."""
    out = kernel.play(json.dumps(resolved()), 4)
    played = json.loads(out)
    played["emulation"] |= {"valid": False, "problems": ["a packet of link bottleneck was 9000 us late"]}
    monkeypatch.setattr(kernel, "play", lambda *_: json.dumps(played))
    result = ackclock.run(changed(allow_late=False))
    assert result.runs["valid"].to_list() == [False]
    assert result.warnings
    assert "NOT VALID: a packet of link bottleneck was 9000 us late" in result.warnings[0]
    file = tmp_path / "a.toml"
    file.write_text(SMALL, encoding="utf-8")
    assert main(["run", str(file), "--engine", "kernel", "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr()
    assert "NOT VALID: a packet of link bottleneck was 9000 us late" in said.err
    kept = ackclock.Result.load(tmp_path / "out")
    assert [entry["emulation"]["valid"] for entry in kept.manifest["runs"]] == [False]
    assert not kept.runs["valid"].any()


def test_a_processor_of_its_own_is_left_by_all_others(tmp_path: Path) -> None:
    """`--pin`: one thread, the path's, may use that processor alone, and no other may use it."""
    mine = min(os.sched_getaffinity(0))
    document = tmp_path / "run.json"
    document.write_text(json.dumps(resolved() | {"duration_ns": 2_000_000_000, "warmup_ns": 1_000_000_000}))
    seen: set[frozenset[int]] = set()
    command = [kernel.program(), "run", str(document), "--pin", str(mine)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as playing:
        while playing.poll() is None:
            for task in Path(f"/proc/{playing.pid}/task").glob("*"):
                with contextlib.suppress(OSError):
                    seen.add(frozenset(os.sched_getaffinity(int(task.name))))
            time.sleep(0.02)
    assert playing.returncode == 0
    others = frozenset(os.sched_getaffinity(0) - {mine})
    assert frozenset({mine}) in seen
    assert not others or others in seen, seen


def test_a_processor_that_is_not_there_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.toml"
    file.write_text(SMALL, encoding="utf-8")
    assert main(["run", str(file), "--engine", "kernel", "--pin", "4000"]) == 2
    assert "--pin: there is no processor 4000 that this process may use; " in capsys.readouterr().err


def test_without_a_processor_a_run_is_right_or_said_not_to_be() -> None:
    """Processors that others use, and no real-time priority: the applications are put aside, holding a socket."""
    document = resolved()
    document["engine"]["allow_late"] = False
    document["links"][0]["rate_bps"] = 200_000_000
    document["links"][0]["queue"]["limit_packets"] = 666
    document |= {"duration_ns": 2_000_000_000, "warmup_ns": 1_000_000_000}
    command = [kernel.program(), "run", "-"]
    if os.geteuid() == 0:
        command = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice", *command]
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(8)]
    try:
        done = subprocess.run(command, input=json.dumps(document), capture_output=True, text=True, check=True)
    finally:
        for other in others:
            other.kill()
            other.wait()
    played = json.loads(done.stdout)
    emulation, (flow,) = played["emulation"], played["output"]["flows"]
    assert not emulation["granted"]["real_time"]
    right = flow["goodput_bytes"] * 8 == pytest.approx(0.965e6 * 200, rel=0.02)
    assert right or not emulation["valid"]
    waited = emulation["applications"]["waited"]
    # Looked at by the path's thread, which has to wait for a processor itself.
    assert sum(count for _, count in waited["histogram"]) == waited["count"] > 10
    # The simulator's path is there as well, whatever the processors do.
    assert played["output"]["links"][0]["max_queue_packets"] <= 667


def resolved(scenario: Mapping[str, Any] = DUMBBELL) -> dict[str, Any]:
    from ackclock.scenario.compile import compile_run
    from ackclock.scenario.plan import load

    return compile_run(load(scenario).points[0].scenario)


def test_without_root_in_user_namespaces() -> None:
    """As a user without rights but for the device. Who is no root is that user already."""
    device = Path("/dev/net/tun")
    mode = device.stat().st_mode
    command = [kernel.program(), "run", "-"]
    document = json.dumps(resolved() | {"duration_ns": 1_000_000_000, "warmup_ns": 0})
    try:
        if os.geteuid() == 0:
            device.chmod(0o666)
            command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", *command]
        done = subprocess.run(command, input=document, capture_output=True, text=True, check=False)
    finally:
        if os.geteuid() == 0:
            device.chmod(mode)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["output"]["flows"][0]["goodput_bytes"] > 500_000


def test_without_the_device_the_remedy_is_said(tmp_path: Path) -> None:
    hidden = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev/net && exec "$@"', "-"]
    command = [*hidden, kernel.program(), "run", "-"]
    done = subprocess.run(command, input=json.dumps(resolved()), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "/dev/net/tun cannot be used" in done.stderr
    assert "load the module (modprobe tun), or give the container the device" in done.stderr
    assert done.stderr.count("\n") == 1


def test_nothing_is_left_behind_whatever_kills_it() -> None:
    before = namespaces()
    random_moments = random.Random(7)
    document = json.dumps(resolved())
    for _ in range(50):
        process = subprocess.Popen(
            [kernel.program(), "run", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        assert process.stdin is not None
        process.stdin.write(document)
        process.stdin.close()
        time.sleep(random_moments.uniform(0, 0.3))
        process.kill()
        assert process.wait() == -9
    assert namespaces() <= before


RELAYED: dict[str, Any] = DUMBBELL | {
    "topology": {"kind": "chain", "hops": [{"rate": "20 Mbit/s", "delay": "5 ms", "queue": "60 packets"}] * 2},
    "relays": [{"name": "pep", "position": 1}],
    "flows": [{"relay": "pep", "count": 2}],
    "run": DUMBBELL["run"] | {"duration": "60 s"},
}


def proxies(mark: str) -> int:
    """How many of the processes with this mark are proxies."""
    found = 0
    for number in with_mark(mark):
        with contextlib.suppress(OSError):  # it has ended
            found += Path(f"/proc/{number}/comm").read_text() == "ackclock-proxy\n"
    return found


def test_no_proxy_is_left_behind_whatever_kills_it() -> None:
    """Of two moments one is while the run begins, and one when both its proxies are there."""
    before, moments, had = namespaces(), random.Random(8), []
    document = json.dumps(resolved(RELAYED))
    for number in range(20):
        mark = f"ackclock-relayed-{os.getpid()}-{number}-"
        process = subprocess.Popen(
            [kernel.program(), "run", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "MARK": mark},
        )
        assert process.stdin is not None
        process.stdin.write(document)
        process.stdin.close()
        deadline = time.monotonic() + 30
        while number % 2 and proxies(mark) < 2:
            assert time.monotonic() < deadline, "its proxies are not there"
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 0.2))
        had.append(proxies(mark))
        process.kill()
        assert process.wait() == -9
        deadline = time.monotonic() + 10
        while (left := with_mark(mark)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not left
    assert had[1::2] == [2] * 10
    assert namespaces() <= before


def test_the_program_ends_with_whoever_began_it(tmp_path: Path) -> None:
    before = namespaces()
    script = tmp_path / "run.py"
    script.write_text(f"import ackclock\nackclock.run({changed(duration='60 s')!r})\n", encoding="utf-8")
    process = subprocess.Popen([sys.executable, str(script)])
    deadline = time.monotonic() + 60
    while namespaces() <= before:
        assert time.monotonic() < deadline, "the run has not begun"
        time.sleep(0.05)
    process.kill()
    process.wait()
    while not namespaces() <= before:
        assert time.monotonic() < deadline, "its hosts are still there"
        time.sleep(0.05)
