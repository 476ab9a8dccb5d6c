"""Campaigns of measurements: files, orders, plans, what is kept, and how they go on after an end without warning."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ackclock.cli.app import main
from ackclock.errors import InputError
from ackclock.measure import blocks, campaign, client, context, interfaces, runner
from ackclock.measure.journal import FOLDER, Journal
from ackclock.measure.order import order
from measuring import TOKEN, serving

pytestmark = pytest.mark.real_time

TEXT = """
[campaign]
name = "try"
server = "127.0.0.1:{port}"
repetitions = 3
gap = "0 s"
retries = 1
probe = false
[[lines]]
name = "here"
labels = {{ moving = false }}
place = "52.516275,13.377704"

[test]
connections = [1, 2]
duration = "100 ms"
interval = "50 ms"
pacing = "8 Mbit/s"
"""


def written(folder: Path, port: int, *replacements: tuple[str, str]) -> Path:
    text = TEXT.format(port=port)
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    file = folder / "campaign.toml"
    file.write_text(text, encoding="utf-8")
    return file


def silent(_: str) -> None:
    """Nothing is said."""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name = \"try\"", "nam = \"try\"", "campaign.nam: unknown key 'nam' (line 3); did you mean 'name'?"),
        ("repetitions = 3", "repetitions = 0", "campaign.repetitions: 0 is out of range (line 5); give at least 1"),
        ("\"0 s\"", "0", "campaign.gap: 0 has no unit (line 6)"),
        ("[test]", "[tests]", "tests: unknown key 'tests' (line 14); did you mean 'test'?"),
        ("[1, 2]", "[1, 26]", "test.connections: 26 is out of range (line 15); give at most 25"),
        ("[1, 2]", "\"1..25\"", "test.connections: '1..25' is not a whole number (line 15); a range is {"),
        ("{ moving = false }", "{ moving = [1] }", "lines.0.labels.moving: [1] is neither a word nor a number (line"),
        ("{ moving = false }", "{ moving = nan }", "lines.0.labels.moving: nan is neither a word nor a number (line"),
        ("[1, 2]", "[1, 2, 1]", "test: the test with connections 1 is there twice (line 14); leave one out"),
        ("[1, 2]", "[]", "test.connections: an empty list (line 15)"),
        ("pacing", "paceing", "test.paceing: unknown key 'paceing' (line 18); did you mean 'pacing'?"),
        ("pacing", "direction = \"up\"\npacing", None),
        ("pacing", "direction = \"out\"\npacing", "test.direction: unknown direction 'out' (line 18); known: down, up"),
        ("\"100 ms\"", "\"10 min\"", "test.duration: '10 min' is out of range (line 16); give at most 120 s"),
        ("\"100 ms\"", "[\"1 s\", \"1 ms\"]", "test.duration: '1 ms' is out of range (line 16); give at least 100 ms"),
        ("\"50 ms\"", "\"5 s\"", "test.interval: '5 s' is out of range (line 17); give at most 1 s"),
        ("\"8 Mbit/s\"", "\"1 bit/s\"", "test.pacing: '1 bit/s' is out of range (line 18); give at least 8 kbit/s"),
        ("pacing", "rcvbuf = \"2 GB\"\npacing", "test.rcvbuf: '2 GB' is out of range (line 18); give at most 1 GiB"),
        ("pacing", "mss = 40\npacing", "test.mss: 40 is out of range (line 18); give at least 88"),
        ("pacing", "tos = 187\npacing", "test.tos: 187 has bits of ECN, which TCP sets by itself (line 18); give 184"),
        ("pacing", "cc = \"Cubic!\"\npacing", "test.cc: 'Cubic!' is no name of a controller (line 18)"),
        ("\"100 ms\"", "\"100 ms\"\nwarmup = \"1 s\"", "test.warmup: the warm-up leaves nothing of the test (line 17)"),
        ("server = \"127.0.0.1:", "server = \":", "campaign.server: ':"),
        ("server =", "# server =", "line 'here' has no server"),
        ("place =", "via = \"x.toml\"\ninterface = \"lo\"\nplace =", "lines.0.interface: a scenario's path has hosts"),
        ("[test]", "[[lines]]\nname = \"1 Mbit/s\"\n[test]", "lines.1.name: '1 Mbit/s' is not a name"),
        ("[test]", "[[lines]]\nname = \"here\"\n[test]", "lines.1.name: two lines are called 'here'"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(tmp_path: Path, old: str, new: str, said: str | None) -> None:
    file = written(tmp_path, 1, (old, new))
    if said is None:
        assert {point.asked.direction for point in campaign.load(file).points} == {"up"}
        return
    with pytest.raises(InputError) as error:
        campaign.load(file)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("192.0.2.1", ("192.0.2.1", 5301)),
        ("192.0.2.1:80", ("192.0.2.1", 80)),
        ("example.org:80", ("example.org", 80)),
        ("2001:db8::1", ("2001:db8::1", 5301)),
        ("[2001:db8::1]:80", ("2001:db8::1", 80)),
        ("[::ffff:192.0.2.1]", ("::ffff:192.0.2.1", 5301)),
        ("fe80::1%eth0", ("fe80::1%eth0", 5301)),
        ("my_server-2.example", ("my_server-2.example", 5301)),
        ("bücher.example:80", ("bücher.example", 80)),
    ],
)
def test_addresses_of_servers(text: str, place: tuple[str, int]) -> None:
    assert campaign.address(text) == place


def test_a_shuffled_block_has_every_test_once_and_its_own_order() -> None:
    found = [order("shuffled", 25, "a", repetition, 7) for repetition in range(200)]
    assert all(sorted(block) == list(range(25)) for block in found)
    assert found == [order("shuffled", 25, "a", repetition, 7) for repetition in range(200)]
    assert len({tuple(block) for block in found}) == 200
    assert found[0] != order("shuffled", 25, "b", 0, 7) != order("shuffled", 25, "a", 0, 8)
    # Time within a block says nothing of the number of connections: the mean place of each is 12, within 5 standard
    # errors of 7.2 / sqrt(200).
    for test in range(25):
        assert abs(sum(block.index(test) for block in found) / 200 - 12) < 5 * 7.2 / 200**0.5


@pytest.mark.parametrize("points", [1, 2, 5, 6, 25])
def test_a_latin_square_has_each_test_at_each_place_equally_often(points: int) -> None:
    found = [order("latin", points, "a", repetition, 1) for repetition in range(points)]
    for place in range(points):
        assert sorted(block[place] for block in found) == list(range(points))
    if points % 2 == 0:  # and each after each other one equally often
        follows = Counter(pair for block in found for pair in itertools.pairwise(block))
        assert set(follows.values()) == {1}
        assert len(follows) == points * (points - 1)


def test_a_plan_says_how_long_and_how_much(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "paper.toml"
    file.write_text(
        """
[campaign]
name = "paper"
server = "192.0.2.1"
[[lines]]
name = "fibre"
rate = "25 Mbit/s"
[test]
connections = { range = [1, 25, 1] }
""",
        encoding="utf-8",
    )
    assert main(["measure", "plan", str(file)]) == 0
    said = capsys.readouterr().out
    # 250 tests and 10 probes of 10 s and a pause of 1 s are 2860 s; 2600 s at 25 Mbit/s are 8.125 GB.
    assert "25 x 10 x 10 s and 10 probes of 8 connections, pauses included 47 min 40 s; about 8.12 GB at 25" in said
    assert "fibre: to 192.0.2.1 port 5301" in said
    assert "shuffled within each of 10 repetitions, seed 1" in said
    assert main(["measure", "plan", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["tests"], found["seconds"], found["bytes"]) == (250, 2860, {"fibre": 8.125e9})
    assert sorted(test["run"] for block in found["blocks"] for test in block["tests"]) == list(range(250))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", "; on each of 2 lines about 3.25 MB for each Mbit/s that it carries\n"),
        (
            'rate = "8 Mbit/s"',
            "; fibre: about 3.25 MB for each Mbit/s that it carries; radio: about 26 MB at 8 Mbit/s\n",
        ),
    ],
)
def test_a_plan_of_lines_says_once_what_is_so_of_all(
    more: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "two.toml"
    lines = f'[[lines]]\nname = "fibre"\n[[lines]]\nname = "radio"\n{more}\n'
    file.write_text(
        f'[campaign]\nname = "two"\nserver = "192.0.2.1"\nrepetitions = 13\n{lines}[test]\nduration = "2 s"\n'
    )
    assert main(["measure", "plan", str(file)]) == 0
    assert said in capsys.readouterr().out  # 26 s in all are 3.25 MB at 1 Mbit/s


def test_much_data_over_a_metered_line_needs_a_yes(tmp_path: Path) -> None:
    with serving() as (_, address):
        small = ("place =", 'metered = true\nrate = "1 Mbit/s"\nplace =')
        runner.begin(campaign.load(written(tmp_path, address.port, small)), tmp_path / "small", runner.Asked(), silent)
        # 6 tests of 0.1 s at 100 Gbit/s are 7.5 GB.
        for more in ('metered = true\nrate = "100 Gbit/s"', "metered = true"):
            found = campaign.load(written(tmp_path, address.port, ("place =", f"{more}\nplace =")))
            with pytest.raises(InputError, match="metered, and much may go over it"):
                runner.begin(found, tmp_path / "much", runner.Asked(), silent)
            assert not (tmp_path / "much").exists()
        runner.begin(found, tmp_path / "much", runner.Asked(yes=True), silent)


def _killed(arguments: list[str], ready: Callable[[], bool]) -> None:
    """Start a command, and kill it without warning as soon as it is ready."""
    process = subprocess.Popen([sys.executable, "-m", "ackclock", *arguments], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not ready():
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def _kept(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.glob("*.json.gz")}


def test_a_campaign_goes_on_after_kill_9_and_kill_9_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    tests, probes = out / FOLDER / "tests", out / FOLDER / "probes"
    with serving(clients=2) as (_, address):
        longer = [('"100 ms"', '"300 ms"'), ("probe = false", "probe = true"), ("repetitions = 3", "repetitions = 4")]
        file = written(tmp_path, address.port, *longer)
        # First within a block, as a test has ended; then as the probe of a later block has, before its first test.
        _killed(["measure", "run", str(file), "--out", str(out)], lambda: len(list(tests.glob("*.json.gz"))) >= 1)
        first = _kept(tests), _kept(probes)
        assert 1 <= len(first[0]) < 4
        _killed(["measure", "resume", str(out)], lambda: len(list(probes.glob("*.json.gz"))) >= 3)
        second = _kept(tests), _kept(probes)
        assert len(first[0]) < len(second[0]) < 8
        assert 3 <= len(second[1]) <= 4
        made = runner.resume(out, runner.Asked(), silent)
        assert (made.done, dict(made.failed), made.missing, dict(made.failed_probes)) == (8, {}, 0, {})
    last = _kept(tests), _kept(probes)
    for before in (first, second):
        for then, now in zip(before, last, strict=True):
            assert {name: now[name] for name in then} == then, "what was there has been made again"
    plan = campaign.load(file)
    found = dict(Journal(out).tests())
    assert sorted(found) == [test["run"] for _, test in sorted(found.items())] == list(range(8))
    assert all(test["problem"] is None for test in found.values())
    # In the order of the plan: each probe, then the tests of its block.
    began = {run: test["result"]["ends"]["client"]["begun_ns"] for run, test in found.items()}
    for (block, _), probe in Journal(out).probes():
        began[-1 - block] = probe["result"]["ends"]["client"]["begun_ns"]
    planned = [
        run
        for block in plan.blocks()
        for run in (-1 - block.number, *(plan.run(point, block.repetition) for point in block.points))
    ]
    assert sorted(began, key=lambda run: began[run]) == planned


def test_two_do_not_go_on_with_one_campaign_and_it_is_begun_once(tmp_path: Path) -> None:
    with serving() as (_, address):
        found = campaign.load(written(tmp_path, address.port))
        runner.begin(found, tmp_path / "out", runner.Asked(), silent)
        with pytest.raises(InputError, match="go on with: ackclock measure resume"):
            runner.begin(found, tmp_path / "out", runner.Asked(), silent)
        with Journal(tmp_path / "out").locked(), pytest.raises(InputError, match="another process is going on"):
            runner.resume(tmp_path / "out", runner.Asked(), silent)
    with pytest.raises(InputError, match="has no campaign"):
        runner.resume(tmp_path, runner.Asked(), silent)
    file = tmp_path / "out" / FOLDER / "campaign.toml"
    file.write_text(file.read_text().replace("repetitions = 3", "repetitions = 4"))
    with pytest.raises(InputError, match="not the one that was begun"):
        runner.resume(tmp_path / "out", runner.Asked(), silent)


def test_a_test_that_breaks_is_made_again_so_often_and_then_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "_WAIT_S", (0.0,))
    real, calls = client.measure, []

    def lost(*arguments: Any) -> dict[str, Any]:
        calls.append(arguments)
        if len(calls) in (1, 3, 4):  # the first test succeeds when it is made again, the second one breaks twice
            raise client.MeasureError("127.0.0.1: the line is lost")
        return real(*arguments)

    monkeypatch.setattr(client, "measure", lost)
    out = tmp_path / "out"
    with serving() as (_, address):
        made = runner.begin(campaign.load(written(tmp_path, address.port)), out, runner.Asked(), silent)
        assert (made.done, len(made.failed), made.missing) == (6, 1, 0)
        assert set(made.failed.values()) == {"127.0.0.1: the line is lost"}
        assert len(calls) == 6 + 2
        attempts = {run: len(test["attempts"]) for run, test in Journal(out).tests()}
        assert sorted(attempts.values()) == [0, 0, 0, 0, 1, 2]
        assert (out / "manifest.json").exists()
        made = runner.resume(out, runner.Asked(), silent)
        assert len(made.failed) == 1, "only who asks for it has it made again"
        made = runner.resume(out, runner.Asked(retry_failed=True), silent)
        assert (made.done, dict(made.failed)) == (6, {})


def test_what_the_server_refuses_ends_the_campaign_and_is_no_result(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_bytes(b"another token, which is long enough")
    token.chmod(0o600)
    with serving(token=TOKEN) as (_, address):
        file = written(tmp_path, address.port, ("[[lines]]", 'token = "token"\n[[lines]]'))
        out = tmp_path / "new" / "out"
        with pytest.raises(client.RefusedError, match="the token is not that of this server"):
            runner.begin(campaign.load(file), out, runner.Asked(), silent)
        assert not (tmp_path / "new").exists(), "a campaign that never began has left something"
        (tmp_path / "there").mkdir()
        with pytest.raises(client.RefusedError):
            runner.begin(campaign.load(file), tmp_path / "there", runner.Asked(), silent)
        assert not list((tmp_path / "there").iterdir()), "what was there before stays, and nothing more"
        own = token.read_bytes()
        token.write_bytes(TOKEN)
        assert runner.begin(campaign.load(file), out, runner.Asked(once=True), silent).done == 2
        token.write_bytes(own)
        with pytest.raises(client.RefusedError):
            runner.resume(out, runner.Asked(), silent)
        assert len(Journal(out).done()) == 2, "what was measured is kept"
        token.write_bytes(TOKEN)
        assert runner.resume(out, runner.Asked(), silent).done == 6


def test_a_directory_of_somebody_else_is_refused_before_anything(tmp_path: Path) -> None:
    found = campaign.load(written(tmp_path, 1))
    for name, said in (("notes.txt", "notes.txt"), ("runs.journal", "runs.journal"), ("manifest.json", "manifest")):
        out = tmp_path / name.partition(".")[2]
        out.mkdir()
        (out / name).write_text("mine")
        with pytest.raises(InputError, match=rf"holds something other than a campaign \('{said}.*another name"):
            runner.begin(found, out, runner.Asked(), silent)
        with pytest.raises(InputError, match="other than a campaign"):
            runner.go_on(found, out, runner.Asked(), silent)
        assert [item.name for item in out.iterdir()] == [name]
    with pytest.raises(InputError, match="is a file, not a directory"):
        runner.begin(found, tmp_path / "campaign.toml", runner.Asked(), silent)


def test_the_context_has_the_line_and_nobody(tmp_path: Path) -> None:
    found = context.gather("127.0.0.1", None, b"salt", keep_addresses=False)
    assert (found["interface"], found["type"], found["mtu"]) == ("lo", "loopback", 65536)
    assert found["address"] == "127.0.0.0/24"
    assert found["sysctl"]["tcp_congestion_control"] == found["cc"]
    assert len(found["sysctl"]) > 40
    assert "tcp_fastopen_key" not in found["sysctl"], "it is a secret of this computer"
    text = json.dumps(found)
    assert not re.search(r"([0-9a-f]{2}:){5}[0-9a-f]{2}", text), "a hardware address"
    assert os.uname().nodename not in text
    assert context.shown("2001:db8:1:2::3", keep=False) == "2001:db8:1::/48"
    assert context.shown("192.0.2.77", keep=False) == "192.0.2.0/24"
    assert context.shown("192.0.2.77", keep=True) == "192.0.2.77"
    place = campaign.load(written(tmp_path, 1)).lines[0].place
    assert place == "52.516,13.378", "a place is known to a hundred metres"


def test_the_name_of_a_wireless_network_becomes_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"wlan0": b"Smith family", "wlan1": b"Office"}

    def ioctl(_: object, number: int, request: Any) -> int:
        assert number == 0x8B1B  # SIOCGIWESSID, linux/wireless.h
        name = bytes(request[:16]).rstrip(b"\0").decode()
        import ctypes
        import struct

        _, address, length, _ = struct.unpack("16sPHH", bytes(request))
        assert length == 32
        ctypes.memmove(address, names[name], len(names[name]))
        return 0

    monkeypatch.setattr(interfaces, "kind", lambda _: "wifi")
    monkeypatch.setattr(context.fcntl, "ioctl", ioctl)
    words = [context._network(name, salt) for name in names for salt in (b"a", b"b")]
    assert len(set(words)) == 4
    assert words[0] == context._network("wlan0", b"a")
    assert all(re.fullmatch(r"[0-9a-f]{16}", word or "") for word in words)


def test_another_access_point_of_the_same_network_is_another_line(monkeypatch: pytest.MonkeyPatch) -> None:
    point = bytes.fromhex("02aabbccddee")

    def ioctl(_: object, number: int, request: bytes) -> bytes:
        assert number == 0x8B15  # SIOCGIWAP, linux/wireless.h
        assert (len(request), request[:16].rstrip(b"\0")) == (32, b"wlan0")
        return request[:16] + b"\1\0" + point + bytes(8)

    monkeypatch.setattr(context, "_network", lambda *_: "a word")
    monkeypatch.setattr(context.fcntl, "ioctl", ioctl)
    before = context.identity("127.0.0.1", "wlan0", b"salt")
    assert context.identity("127.0.0.1", "wlan0", b"salt") == before
    point = bytes.fromhex("02aabbccddef")
    assert context.identity("127.0.0.1", "wlan0", b"salt") != before
