"""Programs behind the path of a scenario. Where what they need is missing (``ackclock doctor``) these tests say so."""

from __future__ import annotations

import contextlib
import os
import pty
import random
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ackclock
from command_line import refused
from shells import SCENARIO, command, python, quoted, serving, with_mark
from shells import able as able  # a fixture of the module

pytestmark = pytest.mark.real_time

SENDER = """
import socket, sys, time
listener = socket.create_server(("", 7000))
peer, _ = listener.accept()
peer.sendall(bytes({bytes}))
peer.shutdown(socket.SHUT_WR)
peer.recv(1)
"""
"""Sends so many bytes to who connects."""

RECEIVER = """
import os, socket, time
s = socket.create_connection((os.environ["ACKCLOCK_SERVER"], 7000))
begun, got = time.monotonic(), 0
while part := s.recv(65536):
    got += len(part)
print(got, time.monotonic() - begun)
"""

ECHO = """
import socket
s = socket.socket(socket.{family}, socket.SOCK_DGRAM)
s.bind(("", 7000))
while True:
    data, peer = s.recvfrom(2000)
    s.sendto(data, peer)
"""

TRIPS = """
import os, socket, time
s = socket.socket(socket.{family}, socket.SOCK_DGRAM)
s.settimeout(2)
for _ in range(10):
    begun = time.monotonic()
    s.sendto(bytes(100), (os.environ["ACKCLOCK_SERVER{version}"], 7000))
    s.recv(2000)
    print(time.monotonic() - begun)
    time.sleep(0.02)
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return file


def shell(scenario: Path, *arguments: str, code: int = 0, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command(scenario, *arguments), capture_output=True, text=True, timeout=60, cwd=cwd, check=False
    )
    assert done.returncode == code, done.stderr
    return done


def test_a_download_is_as_fast_as_the_bottleneck_and_its_tables_say_so(scenario: Path, tmp_path: Path) -> None:
    size = 3_000_000
    out = tmp_path / "out"
    options = [*serving(SENDER.format(bytes=size)), "--out", str(out)]
    done = shell(scenario, *options, "--", *python(RECEIVER))
    got, took = done.stdout.split()
    assert int(got) == size
    # 1448 of 1500 bytes of a packet are payload; start-up and the last round trip take a little.
    expected = 8e6 * 1448 / 1500
    assert 0.9 * expected < size * 8 / float(took) < 1.01 * expected
    result = ackclock.Result.load(out)
    (flow,) = result.flows.iter_rows(named=True)
    assert (flow["app"], flow["id"]) == ("shell", "0")
    assert flow["goodput_bytes"] >= size
    links = {row["id"]: row for row in result.links.iter_rows(named=True)}
    bottleneck = links["bottleneck"]
    assert bottleneck["sent_bytes"] > size
    duration = result.runs["duration_s"][0]
    assert bottleneck["utilisation"] == pytest.approx(bottleneck["sent_bytes"] * 8 / duration / 8e6, rel=1e-6)
    assert 0 < links["reverse"]["sent_bytes"] < size / 10
    sent = result.series.filter((result.series["metric"] == "link_sent") & (result.series["id"] == "bottleneck"))
    assert sent.height > 20
    assert sent["value"].is_sorted()
    record = result.manifest["runs"][0]
    assert record["shell"]["exit"] == 0
    assert set(record["emulation"]) >= {"valid", "links", "gaps", "granted"}
    assert record["shell"]["captured"] > size / 1448
    said = subprocess.run(
        [sys.executable, "-m", "ackclock", "pcap", str(out / "packets.pcapng")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "100.64.0.1:7000" in said.stdout
    assert "1 connection" not in done.stderr


def test_the_controller_that_programs_begin_with_is_kept(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    read = shell(scenario, "--out", str(out), "--", "cat", "/proc/sys/net/ipv4/tcp_congestion_control")
    kept = ackclock.Result.load(out).manifest["runs"][0]["shell"]["controller"]
    assert kept == read.stdout.strip() != ""


@pytest.mark.parametrize(("family", "version"), [("AF_INET", ""), ("AF_INET6", "6")])
def test_datagrams_of_both_versions_take_the_round_trip(scenario: Path, family: str, version: str) -> None:
    options = serving(ECHO.format(family=family))
    done = shell(scenario, *options, "--", *python(TRIPS.format(family=family, version=version)))
    trips = sorted(map(float, done.stdout.split()))
    assert len(trips) == 10
    # 30 ms, and a packet of 128 or 148 bytes at 8 and at 2 Mbit/s: 0.64 or 0.74 ms.
    assert 0.0306 < trips[0] < 0.0325


@pytest.mark.parametrize(("family", "outer"), [("AF_INET", "100.64.0.1"), ("AF_INET6", "fd64::1")])
def test_a_shell_in_a_shell_reaches_what_is_around_it_over_both_paths(scenario: Path, family: str, outer: str) -> None:
    trips = TRIPS.format(family=family, version="").replace('os.environ["ACKCLOCK_SERVER"]', f'"{outer}"')
    inner = command(scenario, "--quiet", "--nat", "--", *python(trips))
    around = [*serving(ECHO.format(family=family)), "--quiet", "--", *inner]
    if os.getuid():
        assert "who is not root may not change the network around" in shell(scenario, *around, code=2).stderr
        return
    times = sorted(map(float, shell(scenario, *around).stdout.split()))
    assert len(times) == 10
    # Twice 30 ms and the times of a packet at 8 and 2 Mbit/s; half a millisecond for each router and host on the way.
    assert 0.0612 < times[0] < 0.065


def test_a_shell_in_a_shell_has_a_network_of_its_own(scenario: Path) -> None:
    options = serving(ECHO.format(family="AF_INET"))
    inner = command(scenario, "--quiet", *options, "--", *python(TRIPS.format(family="AF_INET", version="")))
    times = sorted(map(float, shell(scenario, "--quiet", "--", *inner).stdout.split()))
    assert 0.0306 < times[0] < 0.0325


def test_the_server_end_uploads(scenario: Path) -> None:
    done = shell(scenario, "--end", "server", "--", *python("import os; print(os.environ['ACKCLOCK_CLIENT6'])"))
    assert done.stdout == "fd64::2\n"
    assert "you are the server; the client is 100.64.0.2" in done.stderr


def test_it_says_what_of_the_scenario_is_not_for_programs(scenario: Path) -> None:
    read = python("print(open('/proc/sys/net/ipv4/tcp_congestion_control').read().strip())")
    done = shell(scenario, "--set", "run.engine=kernel-vt", "--", *read)
    own = (
        f"programs begin with this computer's controller, {done.stdout.strip()}, whatever cc of the scenario's flows is"
    )
    assert own in done.stderr
    assert "this is real time, though run.engine is kernel-vt: for a program that is --virtual" in done.stderr
    assert "real time" not in shell(scenario, "--", "true").stderr


def test_flows_of_the_scenario_are_there_if_asked_for(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shell(scenario, "--with-flows", "--set", "flows.0.bytes=100 kB", "--out", str(out), "--", "sleep", "2")
    flows = {row["id"]: row for row in ackclock.Result.load(out).flows.iter_rows(named=True)}
    assert [flows[name]["app"] for name in ("0", "1", "2")] == ["bulk", "cbr", "shell"]
    assert flows["0"]["goodput_bytes"] == 100_000
    assert flows["1"]["goodput_bps"] == pytest.approx(4e6 * 1000 / 1028, rel=0.1) or flows["1"][
        "goodput_bps"
    ] == pytest.approx(4e6, rel=0.1)
    assert flows["2"]["goodput_bytes"] == 0


def test_the_program_keeps_what_it_has_and_its_exit_code_is_the_commands(scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("content", encoding="utf-8")
    script = "cat mine; id -u; pwd; echo new > made; exit 7"
    done = shell(scenario, "--quiet", "--", "sh", "-c", script, code=7, cwd=tmp_path)
    assert done.stdout == f"content{os.getuid()}\n{tmp_path}\n"
    assert done.stderr == ""
    assert (tmp_path / "made").stat().st_uid == os.getuid()
    shell(scenario, "--", "sh", "-c", "kill -TERM $$", code=128 + signal.SIGTERM)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--", "no-such-program"], 127, "no-such-program: there is no such program"),
        (["--", "/etc/hosts"], 126, "/etc/hosts: it may not be run"),
        (["--", "/etc"], 126, "/etc: it may not be run"),
        (["--server", "echo broken >&2; exit 3", "--", "true"], 2, "the server ended at once with status 3: broken"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_said_in_a_line(scenario: Path, arguments: list[str], code: int, said: str) -> None:
    done = shell(scenario, *arguments, code=code)
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--server", " ", "--", "true"], "--server: it is no command line; write what is to run at the other end"),
        (["--with-flows", "--set", "flows.0.profile=rfc", "--", "true"], "flows.0.profile: a kernel is no 'rfc'"),
        (["--flow", "2", "--", "true"], "--flow: there is no flow 2; they are numbered from 0 to 1"),
        (["--duration", "5", "--", "true"], "--duration: '5' has no unit"),
        (["--set", 'topology.rtt=["10 ms", "20 ms"]', "--", "true"], "a shell is behind one path, not 2"),
    ],
)
def test_what_is_refused_before_there_are_hosts_is_said_in_a_line(
    scenario: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(capsys, *command(scenario, *arguments)[3:])


def test_a_network_that_does_not_forward_is_all_that_is_said(scenario: Path) -> None:
    alone = ["unshare", "--user", "--map-root-user", "--net"]
    asked = command(scenario, "--nat", "--", "true")
    done = subprocess.run([*alone, *asked], capture_output=True, text=True, timeout=60, check=False)
    said = "--nat: this system does not forward packets; allow it: sysctl -w net.ipv4.ip_forward=1"
    assert (done.returncode, done.stderr) == (2, f"ackclock: {said}\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--virtual"], "--virtual: a shell to type in needs real time; give a program behind --"),
        (["--virtual", "--nat", "--", "true"], "--nat: in virtual time there is no network around the shell"),
        (["--virtual", "--pin", "0", "--", "true"], "--pin: a guest has one processor"),
        (["--virtual", "--allow-late", "--", "true"], "--allow-late: nothing is late in virtual time; leave it out"),
        (["--virtual", "--write", "none", "--", "true"], "--write: there is no folder 'none'; make it"),
        (["--virtual", "--write", "/", "--", "true"], "--write: '/' is not a folder that programs in a guest"),
        (["--virtual", "--write", "/proc/self", "--", "true"], "is not a folder that programs in a guest could have"),
        (["--kernel", "mine", "--", "true"], "--kernel: it belongs to virtual time; give --virtual, too"),
        (["--write", ".", "--", "true"], "--write: it belongs to virtual time; give --virtual, too"),
        (["--virtual", "--", "true"], "no kernel is built for engine kernel-vt; build one with: ackclock kernel build"),
    ],
)
def test_what_virtual_time_has_not_is_said_in_a_line(
    scenario: Path,
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ACKCLOCK_KERNELS", str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)
    assert said in refused(capsys, *command(scenario, *arguments)[3:])


def test_in_a_shell_there_is_no_virtual_time(scenario: Path) -> None:
    inner = command(scenario, "--quiet", "--virtual", "--", "true")
    done = shell(scenario, "--quiet", "--", *inner, code=2)
    assert "--virtual: a shell in a shell needs real time" in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_a_device_or_a_scenario_a_line_says_so(scenario: Path, tmp_path: Path) -> None:
    missing = shell(tmp_path / "none.toml", "--", "true", code=2)
    assert missing.stderr.count("\n") == 1
    assert "no such file" in missing.stderr
    hidden = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev && exec "$@"', "-"]
    done = subprocess.run(
        [*hidden, *command(scenario, "--", "true")], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert "/dev/net/tun cannot be used" in done.stderr
    assert "modprobe tun" in done.stderr
    assert done.stderr.count("\n") == 1
    none = ["unshare", "--user", "--map-root-user", "sh", "-c"]
    none += ['echo 0 > /proc/sys/user/max_net_namespaces && exec "$@"', "-"]
    done = subprocess.run(
        [*none, *command(scenario, "--", "true")], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert "a network namespace cannot be made" in done.stderr
    assert "sysctl user.max_net_namespaces" in done.stderr
    assert done.stderr.count("\n") == 1


def test_it_ends_in_time_with_everything(scenario: Path) -> None:
    begun = time.monotonic()
    stubborn = "trap '' TERM HUP; while :; do sleep 0.1; done"
    done = shell(scenario, "--duration", "500 ms", "--", "sh", "-c", stubborn, code=124)
    assert time.monotonic() - begun < 20
    assert "ended at its time limit" in done.stderr


def test_who_asks_it_to_end_gets_the_result(scenario: Path, tmp_path: Path) -> None:
    out, there = tmp_path / "out", tmp_path / "there"
    arguments = command(scenario, "--out", str(out), "--", "sh", "-c", f"touch {there}; sleep 100")
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    waited(there)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 128 + signal.SIGTERM, said
    assert ackclock.Result.load(out).manifest["runs"][0]["shell"]["by"] == "signal"


def waited(file: Path) -> None:
    until = time.monotonic() + 20
    while not file.exists():
        assert time.monotonic() < until, f"{file} did not appear"
        time.sleep(0.01)


MOMENTS = 50
AT_ONCE = 5


def left_behind(scenario: Path, number: int) -> tuple[int, list[str]]:
    """Kills a shell, or something in it, at a moment of its own: how many processes it had, and which are left.

    Of three moments one is while the command begins, one while it makes hosts and programs, and one when all are there.
    """
    draws, there = random.Random(number), scenario.with_name(f"there-{number}")
    mark = f"ackclock-killed-{os.getpid()}-{number}-"
    own = f"setsid sleep 1000 & touch {there}; sleep 1000"
    process = subprocess.Popen(
        command(scenario, "--server", "setsid sleep 1000", "--", "sh", "-c", own),
        env={**os.environ, "MARK": mark},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 30
    begun = (lambda: True, lambda: len(with_mark(mark)) > 1, there.exists)[number % 3]
    while not begun() and time.monotonic() < until:
        time.sleep(0.03)
    time.sleep(draws.uniform(0, (1.5, 0.1, 0.5)[number % 3]))
    victims = with_mark(mark)
    # The command itself, or any process of those it has started.
    by_itself = number % 2 == 0 or not victims
    with contextlib.suppress(ProcessLookupError):  # one that has just ended
        os.kill(process.pid if by_itself else int(draws.choice(victims)), signal.SIGKILL)
    if not by_itself:
        time.sleep(0.3)
        process.kill()
    process.wait(timeout=20)
    until = time.monotonic() + 10
    while (left := with_mark(mark)) and time.monotonic() < until:
        time.sleep(0.02)
    return len(victims), left


def test_nothing_is_left_behind_whatever_kills_it(scenario: Path) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(lambda number: left_behind(scenario, number), range(MOMENTS)))
    assert [left for _, left in found] == [[]] * MOMENTS
    had = [victims for victims, _ in found]
    assert min(had) <= 1, "the command alone"
    assert sum(victims >= 6 for victims in had) >= 10, "with its hosts and programs"
    assert len(set(had)) >= 3, "and between"


@contextlib.contextmanager
def at_terminal(arguments: Sequence[str]) -> Iterator[tuple[int, int]]:
    """A process at a terminal of its own: its number, and the other side of the terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(arguments[0], list(arguments), {**os.environ, "TERM": "xterm"})
    try:
        yield pid, terminal
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def read_until(terminal: int, wanted: str) -> str:
    """What comes from the terminal until it has `wanted`, a regular expression."""
    text, until = "", time.monotonic() + 20
    while not re.search(wanted, text):
        assert time.monotonic() < until, f"{wanted!r} did not come, but {text!r}"
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                text += os.read(terminal, 4096).decode(errors="replace")
            except OSError:
                raise AssertionError(f"{wanted!r} did not come, but {text!r}") from None
    return text


def test_keys_are_the_programs_and_a_shell_has_its_jobs(scenario: Path) -> None:
    shell_in_it = command(scenario, "--quiet", "--", "bash", "--norc", "-i")
    # Around it is another one, which gets its terminal back.
    with at_terminal(["bash", "-c", f"{quoted(shell_in_it)}; echo code $?; cat"]) as (_, terminal):
        read_until(terminal, r"[$#] ")
        os.write(terminal, b"sleep 100\n")
        time.sleep(0.5)
        os.write(terminal, b"\x03")
        os.write(terminal, b"echo interrupted $?\n")
        read_until(terminal, "interrupted 130")
        os.write(terminal, b"sleep 100\n")
        time.sleep(0.5)
        os.write(terminal, b"\x1a")
        read_until(terminal, "Stopped")
        os.write(terminal, b"fg\n")
        read_until(terminal, "sleep 100")
        time.sleep(0.5)
        os.write(terminal, b"\x03")
        os.write(terminal, b"echo again $?\n")
        read_until(terminal, "again 130")
        os.write(terminal, b"exit 9\n")
        read_until(terminal, "code 9")
        os.write(terminal, b"mine again\n")
        # Once as an echo of the terminal, and once as cat has it.
        read_until(terminal, "mine again\r\nmine again")


def test_keys_reach_a_program_that_is_no_shell(scenario: Path) -> None:
    waiting = "trap 'exit 5' INT; echo up; while :; do sleep 0.1; done"
    with at_terminal(command(scenario, "--", "sh", "-c", waiting)) as (_, terminal):
        read_until(terminal, "up")
        os.write(terminal, b"\x03")
        said = read_until(terminal, "exit code 5")
        # The line of what happens is the window's title there, and it is given back.
        assert "\x1b[23;2t" in said


def test_who_is_not_root_has_one_too_and_stays_who_they_are() -> None:
    """The device may be used by everybody here, and the checkout has to be readable."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
        words = command(
            folder / "scenario.toml", "--quiet", "--", "sh", "-c", "id -u; touch made; echo $ACKCLOCK_SERVER"
        )
        who = os.getuid()
        if who == 0:
            who = 65534
            device = "mount -t tmpfs -o mode=755 none /dev/net && mknod -m 666 /dev/net/tun c 10 200"
            drop = ["setpriv", f"--reuid={who}", f"--regid={who}", "--clear-groups"]
            words = ["unshare", "--mount", "sh", "-c", f'{device} && exec "$@"', "-", *drop, *words]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, cwd=folder, check=False)
        assert done.stdout == f"{who}\n100.64.0.1\n", done.stderr
        assert (folder / "made").stat().st_uid == who
