"""``ackclock proxy``: its options become the document of the program, which runs in its place."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import spaces
from ackclock import proxy
from ackclock.cli.app import main

COMMAND = [sys.executable, "-m", "ackclock", "proxy"]


@contextmanager
def echo() -> Iterator[int]:
    """A server that sends back what it gets; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    stream, _ = listener.accept()
                except OSError:
                    return
                with stream:
                    while chunk := stream.recv(65_536):
                        stream.sendall(chunk)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@contextmanager
def started(*options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The command, once it listens; and its port."""
    command = [*COMMAND, "--listen", "127.0.0.1:0", "--user", "root", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        said: list[str] = []
        for line in process.stderr:
            said.append(line)
            if "listens at" in line:
                break
        assert said, "it said nothing"
        assert "listens at" in said[-1], said
        yield process, int(said[-1].rpartition(":")[2])
    finally:
        process.kill()
        process.communicate()


def test_the_command_is_the_program_and_ends_with_a_report() -> None:
    with echo() as port, started("--to", f"127.0.0.1:{port}", "--client", "cc=reno") as (process, at):
        name = Path(f"/proc/{process.pid}/comm").read_text(encoding="utf-8").strip()
        assert name == proxy.PROGRAM
        with socket.create_connection(("127.0.0.1", at), timeout=20) as stream:
            stream.sendall(b"there and back")
            stream.shutdown(socket.SHUT_WR)
            assert stream.makefile("rb").read() == b"there and back"
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    connection, end = (json.loads(line) for line in out.splitlines())
    assert (connection["to_server_bytes"], connection["why"]) == (14, "finished")
    assert (end["event"], end["connections"]) == ("end", 1)


def test_who_is_one_too_many_of_a_client_has_no_line_and_is_counted() -> None:
    """What docs/proxy.md says of lines and the last one."""
    with echo() as port, started("--to", f"127.0.0.1:{port}", "--per-client", "1") as (process, at):
        with socket.create_connection(("127.0.0.1", at), timeout=20) as stream:
            stream.sendall(b"here")
            assert stream.recv(4) == b"here"
            for _ in range(3):
                with pytest.raises(ConnectionResetError), socket.create_connection(stream.getpeername(), 20) as more:
                    more.recv(1)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=20)
    connection, end = (json.loads(line) for line in out.splitlines())
    assert (connection["id"], connection["to_server_bytes"]) == (0, 4)
    assert (end["connections"], end["ended"]) == (4, {connection["why"]: 1, "too_many": 3})


def carried(which: str) -> str:
    """What the kernel says of the only connection that is there of these ports."""
    done = subprocess.run(["ss", "-Htino", "state", "established", which], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 2, done.stdout  # addresses, and what it knows
    return done.stdout


@pytest.mark.parametrize(("client", "server"), [("reno", "cubic"), ("cubic", "reno")])
def test_connections_that_are_carried_have_the_options_of_their_side(client: str, server: str) -> None:
    # At least one of the two controllers is not what the kernel takes by itself.
    ours = ["--client", f"cc={client}", "--client", "keepalive=100s", "--client", "pacing_rate=88Mbit/s"]
    theirs = ["--server", f"cc={server}", "--server", "keepalive=1000s", "--server", "pacing_rate=99Mbit/s"]
    with (
        echo() as port,
        started("--to", f"127.0.0.1:{port}", *ours, *theirs) as (_, at),
        socket.create_connection(("127.0.0.1", at), timeout=20) as stream,
    ):
        stream.sendall(b"there and back")
        answer = stream.makefile("rb")
        assert answer.read(14) == b"there and back"
        # The proxy's end of each connection: what it accepted, and what it made.
        for which, cc, keepalive_s, rate in (
            (f"sport = :{at}", client, 100, 88),
            (f"dport = :{port}", server, 1000, 99),
        ):
            # While something waits for its acknowledgment that is the timer that is told of.
            spaces.wait(lambda which=which: "timer:(keepalive," in carried(which), seconds=20)  # type: ignore[misc]
            said = carried(which)
            assert cc in said.split()
            left = re.search(r"timer:\(keepalive,(?:(\d+)min)?(?:([\d.]+)sec)?", said)
            assert left is not None, said
            assert keepalive_s - 60 <= 60 * int(left[1] or 0) + float(left[2] or 0) <= keepalive_s, said
            assert re.search(rf" pacing_rate \S+/{rate}(000000|(\.0+)?M)bps", said), said
        stream.shutdown(socket.SHUT_WR)
        assert answer.read() == b""


@pytest.fixture
def document(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the program would have been given."""
    found: dict[str, Any] = {}
    monkeypatch.setattr(proxy, "become", found.update)
    return found


def test_options_are_converted_to_what_the_kernel_counts(document: dict[str, Any], tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("joe:pass:word\n\nann:x\n", encoding="utf-8")
    options = "--client rcvbuf=64KiB --client pacing_rate=8Mbit/s --server user_timeout=1.5s --server keepalive=2min"
    options += " --server nodelay=false --server fast_open=true --client initcwnd=32"
    more = "--buffer 1MiB --idle 250ms --no-splice --proxy-out v2 --sample 1s"
    who = ["--listen", "0.0.0.0:1080", "--credentials", str(secret), "--allow", "192.0.2.0/24"]
    main(["proxy", "--socks5", *who, *options.split(), *more.split()])
    assert document["mode"] == "socks5"
    assert document["credentials"] == [["joe", "pass:word"], ["ann", "x"]]
    assert document["client"] == {"rcvbuf": 65_536, "pacing_rate": 1_000_000, "initcwnd": 32}
    assert document["server"] == {"user_timeout_ms": 1500, "keepalive_s": 120, "nodelay": False, "fast_open": True}
    assert (document["buffer"], document["idle_s"], document["sample_s"]) == (1 << 20, 0.25, 1.0)
    assert (document["splice"], document["proxy_out"]) == (False, "v2")


def test_defaults_are_those_of_the_program(document: dict[str, Any], tmp_path: Path) -> None:
    main(["proxy", "--to", "192.0.2.1:80"])
    given = tmp_path / "document.json"
    given.write_text(json.dumps(document | {"listen": "192.0.2.1:80"}), encoding="utf-8")
    done = subprocess.run([proxy.program(), "run", str(given)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    said = "ackclock: --listen: 192.0.2.1:80 can be reached from elsewhere; say who may: --allow"
    assert done.stderr.startswith(said)
    assert (document["connect_s"], document["idle_s"], document["half_open_s"]) == (10, 300, 60)
    assert (document["header_s"], document["drain_s"], document["buffer"]) == (5, 30, 4 << 20)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "it is not said where clients go; give one of --to HOST:PORT, --socks5, --http-connect, --transparent"),
        (["--socks5", "--to", "a:1"], "--to and --socks5 exclude each other"),
        (
            ["--to", "a:1", "--allow", "10.0.0.0/33"],
            "--allow: 10.0.0.0/33 is no range of addresses; write 192.0.2.0/24",
        ),
        (
            ["--to", "a:1", "--allow", "10.0.0.1/8"],
            "--allow: 10.0.0.1/8 has bits beyond its length; write 10.0.0.0/8",
        ),
        (["--socks5", "--allow-target", "ten"], "--allow-target: ten is no range of addresses"),
        (["--to", "a:1", "--client", "speed=1"], "--client: 'speed=1' is no option of a side; write KEY=VALUE"),
        (["--to", "a:1", "--server", "rcvbuf=7"], "--server rcvbuf: '7' has no unit"),
        (["--to", "a:1", "--server", "initcwnd=0"], "--server initcwnd: '0' is no number of segments; write 1 to 1000"),
        (["--to", "a:1", "--idle", "soon"], "--idle: "),
        (["--to", "a:1", "--idle", "-3 s"], "--idle: '-3 s' is negative; give a positive value"),
        (["--to", "a:1", "--connections", "0"], "--connections: 0 are none; give 1 or more"),
        (["--socks5", "--credentials", "no-such-file"], "--credentials: no-such-file: "),
        (
            ["--to", "a:1", "--listen", ":8941"],
            "--listen: ':8941' is no address with a port; write an address and a port, as 127.0.0.1:1080 or [::1]:1080",
        ),
        (["--to", "a:1", "--listen", "8941"], "--listen: '8941' is no address with a port; write an address and a "),
        (["--to", "a:1", "--listen", "::1:8941"], "--listen: '::1:8941' is no address with a port; write an address"),
        (["--to", "a:1", "--listen", "[::1]"], "--listen: '[::1]' is no address with a port; write an address and a "),
        (
            ["--to", "a:1", "--listen", "localhost:8950"],
            "--listen: 'localhost:8950' has a name for its address; write an address and a port, as 127.0.0.1:1080 or ",
        ),
        (["--to", "a:1", "--listen", "127.0.0.1:80x"], "--listen: '80x' of '127.0.0.1:80x' is no port; write 0 to 655"),
        (["--to", "a:1", "--listen", "[::1]:65536"], "--listen: '65536' of '[::1]:65536' is no port; write 0 to 65535"),
        (["--to", "a:1", "--listen", "[fe80::1%eth0]:80"], "--listen: 'eth0' of '[fe80::1%eth0]:80' is no interface's"),
        (["--to", "a:1", "--metrics", "9100"], "--metrics: '9100' is no address with a port; write an address and a "),
    ],
)
def test_what_cannot_be_is_said_in_one_line(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["proxy", *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "at", ["127.0.0.1:0", "[::1]:1080", "[::]:00080", "[::ffff:192.0.2.1]:80", "[fe80::1%2]:65535"]
)
def test_addresses_are_those_that_the_program_reads(at: str, document: dict[str, Any], tmp_path: Path) -> None:
    main(["proxy", "--socks5", "--listen", at, "--metrics", at])
    assert (document["listen"], document["metrics"]) == (at, at)
    # Told a size that cannot be, it does not start, and has read the addresses before that.
    given = tmp_path / "document.json"
    given.write_text(json.dumps(document | {"connections": 0}), encoding="utf-8")
    done = subprocess.run([proxy.program(), "run", str(given)], capture_output=True, text=True, check=False)
    assert done.stderr.startswith("ackclock: --connections, --per-client: 0 of them"), done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--to", "127.0.0.1:1", "--listen", "0.0.0.0:0"], "--allow 192.0.2.0/24"),
        (["--socks5", "--allow", "10.0.0.1/8"], "10.0.0.1/8 has bits beyond its length"),
        (["--to", "127.0.0.1:1", "--server", "cc=vegetarian"], 'server cc: the kernel refuses "vegetarian"; it has '),
        (["--to", "no-port"], '"no-port" is no host with its port'),
        (
            ["--to", "127.0.0.1:1", "--keep-source"],
            "--keep-source: servers see the client's address only with --transparent; leave it out, or take",
        ),
        (
            ["--to", "127.0.0.1:1", "--allow-target", "10.0.0.0/8"],
            "--allow-target: clients do not choose where they go; leave it out, or take --socks5 or --http-connect",
        ),
    ],
)
def test_what_the_program_refuses_is_its_own_line(options: list[str], said: str) -> None:
    done = subprocess.run([*COMMAND, *options], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.strip().count("\n") == 0


def test_doctor_has_the_rules_of_a_transparent_proxy(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--json"])
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["proxy"]["state"] == "ok"
    assert checks["proxy --transparent"]["commands"] == list(proxy.RULES)


@pytest.mark.parametrize("terminal", [False, True])
def test_doctor_has_them_as_lines_that_can_be_pasted(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """However wide the terminal is."""
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    main(["doctor"])
    lines = capsys.readouterr().out.splitlines()
    first = lines.index("proxy --transparent:") + 1
    assert lines[first : first + len(proxy.RULES)] == list(proxy.RULES)
