"""Programs behind a path in virtual time: make test-kernel-vt. Without a kernel they fail, and say so."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl
import pytest

import ackclock
from ackclock.virtual import guest, kept, programs
from virtual_kernels import able as able  # a fixture of the module

SCENARIO = """
[topology]
kind = "dumbbell"
rate = "10 Mbit/s"
rtt = "40 ms"
queue = { kind = "droptail", limit = "33 packets" }
[[flows]]
cc = "cubic"
[run]
duration = "4 s"
"""
SIZE = 2_000_000


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The present directory, with a scenario and a file to be fetched."""
    (tmp_path / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "file").write_bytes(bytes(range(250)) * (SIZE // 250))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ackclock", "shell", "scenario.toml", "--virtual", *arguments]


def shell(*arguments: str, code: int = 0, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    given = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=300, check=False, **given)  # type: ignore[call-overload]
    assert done.returncode == code, done.stdout + done.stderr
    return done


def tables(folder: str) -> dict[str, bytes]:
    """The tables of a result, as text: files say when they were written."""
    result = ackclock.Result.load(folder)
    assert isinstance(result.flows, pl.DataFrame)
    return {name: table.write_csv().encode() for name, table in result.tables.items() if table.width}


SERVER = f"exec {sys.executable} -m http.server 8000"
FETCH = (
    "curl",
    "-sS",
    "-o",
    "/dev/null",
    "-w",
    "%{http_code} %{size_download} %{time_total}\n",
    "server.ackclock:8000/file",
)


def test_a_download_is_that_of_the_path_and_the_same_twice(place: Path) -> None:
    first, again = (shell("--server", SERVER, "--out", out, "--", *FETCH) for out in ("one", "two"))
    code, size, seconds = first.stdout.split()
    assert (code, size) == ("200", str(SIZE))
    # 1448 of 1500 bytes are payload; the handshake, the request and slow start take some round trips more.
    payload_s = SIZE * 8 / (10e6 * 1448 / 1500)
    assert payload_s < float(seconds) < payload_s + 0.5
    assert again.stdout == first.stdout
    assert tables("one") == tables("two")
    assert (place / "one" / "packets.pcapng").read_bytes() == (place / "two" / "packets.pcapng").read_bytes()
    (run,) = ackclock.Result.load("one").manifest["runs"]
    assert run["shell"]["exit"] == 0
    assert run["shell"]["captured"] > 2 * SIZE / 1500
    assert run["emulation"]["valid"]
    assert run["emulation"]["virtual"]["shut_in"]
    # Programs make others wait for a few system calls of a microsecond each: not for a hundredth of a packet's time.
    late = dict(run["emulation"]["links"])["bottleneck"]
    assert late["p50_s"] == 0.0
    assert late["worst_s"] < 2e-5


def test_the_controller_that_programs_begin_with_is_kept(place: Path) -> None:
    read = shell("--out", "one", "--", "cat", "/proc/sys/net/ipv4/tcp_congestion_control")
    kept = ackclock.Result.load(place / "one").manifest["runs"][0]["shell"]["controller"]
    assert kept == read.stdout.strip() == "cubic"


def test_iperf3_gets_what_the_path_leaves_and_the_same_twice(place: Path) -> None:
    ask = ("sh", "-c", "iperf3 -c $ACKCLOCK_SERVER -R -t 5 -f k; iperf3 -c $ACKCLOCK_SERVER -R -u -b 4M -t 2 -f k")
    first, again = (shell("--server", "exec iperf3 -s", "--out", out, "--", *ask) for out in ("one", "two"))
    streams, datagrams = (int(rate) for rate in re.findall(r"(\d+) Kbits/sec .*receiver", first.stdout))
    assert 9_000 < streams < 9_660
    assert datagrams == pytest.approx(4_000, rel=0.01)
    assert again.stdout == first.stdout
    assert tables("one") == tables("two")


def test_time_is_virtual_and_what_comes_out_is_the_programs(place: Path) -> None:
    begun = time.monotonic()
    script = "echo begun; sleep 3600; date +%s; echo to the other >&2; exit 7"
    done = shell("--quiet", "--", "sh", "-c", script, code=7)
    assert time.monotonic() - begun < 300
    began, seconds = done.stdout.split()
    assert began == "begun"
    assert int(seconds) - guest.START_NS // 10**9 == pytest.approx(3600, abs=5)
    assert done.stderr == "to the other\n"


def test_it_is_ended_in_virtual_time(place: Path) -> None:
    stubborn = "trap '' TERM HUP; while :; do sleep 1; done"
    done = shell("--duration", "40 s", "--", "sh", "-c", stubborn, code=124)
    assert "42.0 s, exit code 124, ended at its time limit" in done.stderr


def test_programs_that_wait_by_calling_see_time_pass(place: Path) -> None:
    """Neither the clock nor a call that fails is among what this one does."""
    spin = "import os, signal; signal.setitimer(signal.ITIMER_REAL, 0.1)\nwhile True: os.getppid()"
    shell("--quiet", "--", sys.executable, "-c", spin, code=128 + signal.SIGALRM)


def test_one_that_never_lets_time_pass_is_ended_with_a_line(place: Path) -> None:
    limit = ("--set", 'run.wall_limit="5 s"')
    done = shell("--quiet", *limit, "--", "sh", "-c", "while :; do :; done", code=1)
    assert "the run did not end within 5 s; a program that waits by looping stops virtual time" in done.stderr
    assert done.stderr.count("\n") == 1


def test_standard_input_is_what_a_pipe_had(place: Path) -> None:
    assert shell("--quiet", "--", "wc", "-c", stdin="x" * 100_000).stdout == "100000\n"
    assert shell("--quiet", "--", "wc", "-c").stdout == "0\n"


def test_what_is_not_there_is_said_as_in_real_time(place: Path) -> None:
    said = shell("--", "no-such-program", code=127).stderr
    assert "no-such-program: there is no such program" in said
    assert said.count("\n") == 1
    refused = shell("--with-flows", "--set", "cc=prague", "--", "true", code=2).stderr
    assert "has no controller 'prague'" in refused
    assert refused.count("\n") == 1


def test_where_the_other_end_is_comes_before_what_programs_say(place: Path) -> None:
    outputs = ("echo one; sleep 1; echo two >&2", "true")
    for script in outputs:
        done = subprocess.run(
            command("--", "sh", "-c", script),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=True,
        )
        first, *others = done.stdout.splitlines()
        assert first.startswith("ackclock: you are the client; the server is 100.64.0.1")
        assert not any("you are the client" in line for line in others)
        assert ("one" in others) == (script == outputs[0])
    assert "it may not be run" in shell("--quiet", "--", "./scenario.toml", code=126).stderr
    broken = shell("--quiet", "--server", "echo broken >&2; exit 3", "--", "true", code=2)
    assert "the server ended at once with status 3: broken" in broken.stderr


def test_a_shell_in_it_is_refused(place: Path) -> None:
    inner = command("--", "true")
    assert "cannot have a shell of its own" in shell("--quiet", "--", *inner, code=1).stderr


def everything(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


CHANGES = """
echo changed > file; echo made > made; rm scenario.toml; mkdir folder && echo in > folder/file
cat file made folder/file; test -e scenario.toml || echo gone
echo outside > OUTSIDE/new; echo changed > OUTSIDE/old; cat OUTSIDE/new OUTSIDE/old
"""


def test_what_programs_write_they_see_and_nobody_else(place: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "old").write_text("old", encoding="utf-8")
    before = everything(place)
    done = shell("--quiet", "--", "sh", "-c", CHANGES.replace("OUTSIDE", str(outside)))
    assert done.stdout.split() == ["changed", "made", "in", "gone", "outside", "changed"]
    assert everything(place) == before
    assert everything(outside) == {"old": b"old"}


def test_but_in_the_folder_that_is_named(place: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "old").write_text("old", encoding="utf-8")
    (place / "out").mkdir()
    (place / "out" / "link").symlink_to(outside / "old")
    script = f"echo kept > out/kept; echo through > out/link; echo lost > lost; echo lost > {outside}/lost; id -u"
    done = shell("--quiet", "--write", "out", "--", "sh", "-c", script)
    assert done.stdout == f"{os.getuid()}\n"
    assert (place / "out" / "kept").read_text() == "kept\n"
    assert (place / "out" / "kept").stat().st_uid == os.getuid()
    assert not (place / "lost").exists()
    assert everything(outside) == {"old": b"old"}, "a link leads to what the guest sees, not to what is outside"


ESCAPE = r"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def tried(what, done):
    print(what, "done" if done == 0 else os.strerror(ctypes.get_errno()))
os.makedirs("again")
again = os.path.abspath("again")
tried("mount", libc.mount(b"none", again.encode(), b"hostfs", 0, sys.argv[1].encode()))
for path in (f"{again}{sys.argv[3]}", f"{again}/host{sys.argv[3]}"):
    try:
        with open(path, "w") as file:
            file.write("guest")
        print("written")
    except OSError as error:
        print(error.strerror)
for name in (again, f"{again}/host"):
    tried("remount", libc.mount(b"none", name.encode(), None, 32, None))
try:
    os.mknod(f"{again}/host{sys.argv[2]}/made", 0o666 | 0o020000, os.makedev(1, 3))
    print("made")
except OSError as error:
    print(error.strerror)
"""
"""The root of a guest has the computer's files mounted again, above its root, too, and writes there."""


@pytest.mark.skipif(os.getuid() != 0, reason="only the root of a guest may mount")
@pytest.mark.parametrize("root", ["", "/host", "/../../../..", "/proc/1/root"])
def test_root_of_a_guest_cannot_change_anything_outside(
    place: Path, root: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    mark = outside / "mark"
    mark.touch()
    done = shell("--quiet", "--", sys.executable, "-c", ESCAPE, root, str(outside), str(mark))
    assert "written" not in done.stdout
    assert "made" not in done.stdout
    assert everything(outside) == {"mark": b""}


def test_without_a_fence_nothing_is_begun(place: Path) -> None:
    forbidden = 'echo 0 > /proc/sys/user/max_mnt_namespaces && exec "$@"'
    outer = ["unshare", "--user", "--map-root-user", "sh", "-c", forbidden, "sh"]
    touch = command("--quiet", "--", "touch", str(place / "touched"))
    done = subprocess.run([*outer, *touch], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 1
    assert "a guest with the files of this computer cannot be shut in" in done.stderr
    assert "sysctl user.max_user_namespaces" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (place / "touched").exists()


MINE = """
id -u
grep CapEff /proc/self/status
touch made
iperf3 -s -p 80 -D && iperf3 -c $ACKCLOCK_CLIENT -p 80 -t 1 > /dev/null && echo served
"""


def test_who_is_not_root_is_who_they_are_and_may_use_their_network() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
        # The kernels of root are root's.
        shutil.copytree(kept.named(None).image.parent, folder / "kernels" / kept.named(None).name)
        (folder / "temporary").mkdir(mode=0o777)
        (folder / "temporary").chmod(0o777)
        own = {"ACKCLOCK_KERNELS": str(folder / "kernels"), "TMPDIR": str(folder / "temporary")}
        words, who = command("--quiet", "--write", ".", "--", "sh", "-c", MINE), os.getuid()
        if who == 0:
            who = 65534
            words = ["setpriv", f"--reuid={who}", f"--regid={who}", "--clear-groups", *words]
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            timeout=300,
            cwd=folder,
            check=False,
            stdin=subprocess.DEVNULL,
            env=os.environ | own,
        )
        # CAP_NET_BIND_SERVICE (10), CAP_NET_ADMIN (12) and CAP_NET_RAW (13).
        assert done.stdout.split() == [f"{who}", "CapEff:", f"{0b11_0100_0000_0000:016x}", "served"], done.stderr
        assert (folder / "made").stat().st_uid == who


def test_nothing_is_left_outside(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = place / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    shell("--quiet", "--with-flows", "--", "sh", "-c", "sleep 5; echo > mine")
    assert [entry.name for entry in temporary.iterdir()] == [f"ackclock-processors-{os.getuid()}"]


def test_a_kernel_without_an_overlay_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = kept.named(None)
    folder = tmp_path / chosen.name
    folder.mkdir()
    for name in ("linux", "kernel.json"):
        (folder / name).symlink_to(chosen.image.parent / name)
    (folder / "config").write_text("# CONFIG_OVERLAY_FS is not set\n", encoding="utf-8")
    monkeypatch.setenv("ACKCLOCK_KERNELS", str(tmp_path))
    with pytest.raises(ackclock.InputError, match=r"has no overlay file system.*ackclock kernel build"):
        programs.usable(None)
