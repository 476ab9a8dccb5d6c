"""What `measure` says where it cannot go on: one line with file, key and remedy, and the exit code; and SIGTERM."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import ackclock
from ackclock.cli.app import main
from ackclock.errors import InputError
from ackclock.measure import foreseen, sockets
from ackclock.measure.campaign import parsed
from ackclock.measure.journal import Journal
from ackclock.measure.session import Terms
from measuring import TOKEN, serving

pytestmark = pytest.mark.real_time

TEXT = """
[campaign]
name = "try"
server = "127.0.0.1:{port}"
repetitions = 1
gap = "0 s"
{campaign}
[[lines]]
name = "here"
[test]
duration = "100 ms"
{test}
"""


def written(folder: Path, port: int, campaign: str = "", test: str = "") -> Path:
    file = folder / "line.toml"
    file.write_text(TEXT.format(port=port, campaign=campaign, test=test), encoding="utf-8")
    return file


def secret_file(folder: Path, name: str, token: bytes) -> Path:
    file = folder / name
    file.write_bytes(token)
    file.chmod(0o600)
    return file


def refused(capsys: pytest.CaptureFixture[str], *command: object) -> str:
    """The one line of a command that measured nothing."""
    assert main(["measure", *map(str, command)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return str(line)


def test_a_token_that_is_not_the_servers_is_said_of_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = secret_file(tmp_path, "wrong", b"another token, which is long enough")
    right, out = secret_file(tmp_path, "right", TOKEN), tmp_path / "out"
    with serving(token=TOKEN) as (_, address):
        file = written(tmp_path, address.port, 'token = "wrong"')
        said = f"{address}: the server refuses: the token is not that of this server"
        line = refused(capsys, "run", file, "--out", out)
        assert f"{file}: campaign.token: {said} (read from {wrong}) (line 7); give the file that measure" in line
        assert not out.exists()
        assert f"--token: {said} ({wrong}); give the file" in refused(
            capsys, "run", file, "--out", out, "--token", wrong
        )
        line = refused(capsys, "run", written(tmp_path, address.port), "--out", out)
        assert f'campaign.token: {said}: the campaign has none (line 2); write token = "FILE" in [campaign]' in line
        assert main(["measure", "run", str(file), "--out", str(out), "--token", str(right)]) == 0


def test_a_controller_that_a_kernel_has_not_is_said_of_its_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as (_, address):
        file, out = written(tmp_path, address.port, test='cc = "nonesuch"'), tmp_path / "out"
        for who in ("this computer", f"{address}: the server refuses"):
            line = refused(capsys, "run", file, "--out", out)
            assert f"{file}: test.cc: {who}: the kernel has no controller 'nonesuch' (line 12); it allows: " in line
            assert "modprobe tcp_nonesuch" in line
            assert "no such file" not in line
            assert not out.exists()
            # As on a computer that has it: then the server says it.
            monkeypatch.setattr(foreseen, "check_options", lambda *_: None)


def test_what_this_kernel_does_not_take_is_known_before_anything_is_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    most = int(Path("/proc/sys/net/core/rmem_max").read_text(encoding="ascii"))
    text = f'connections = [1, 2]\nrcvbuf = ["64 kB", "{most + 1} B"]'
    said = f"test.rcvbuf: this computer: rcvbuf = {most + 1} is more than the kernel allows (line 13); at most {most} "
    file, out = written(tmp_path, 1, test=text), tmp_path / "out"
    assert main(["measure", "plan", str(file)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{file}: {said}(net.core.rmem_max)" in line
    # Nobody is there: whoever tried to connect would say that.
    assert f"{file}: {said}" in refused(capsys, "run", file, "--out", out)
    assert not out.exists()

    # What only the server's kernel does not take is known when it is asked: the probe is made, and kept.
    monkeypatch.setattr(foreseen, "check_options", lambda *_: None)
    with serving() as (_, address):
        file = written(tmp_path, address.port, test=text.replace('"64 kB", ', ""))
        assert main(["measure", "run", str(file), "--out", str(out)]) == 1
        assert "test.rcvbuf: " in capsys.readouterr().err
        assert len(Journal(out).probed()) == 1
        assert "the server refuses" in refused(capsys, "resume", out)


def test_options_of_tests_that_are_done_count_no_more(tmp_path: Path) -> None:
    campaign = parsed(TEXT.format(port=1, campaign="", test='cc = ["reno", "nonesuch"]'), "a.toml", tmp_path)
    with pytest.raises(InputError, match="nonesuch"):
        foreseen.check_options(campaign, campaign.lines, {0})
    foreseen.check_options(campaign, campaign.lines, {1})
    foreseen.check_options(campaign, (), ())


def test_a_plan_says_what_is_not_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tmp_path / "available"
    known.write_text("reno cubic bbr\n")
    monkeypatch.setattr(sockets, "_AVAILABLE", known)
    text = TEXT.format(port=1, campaign="", test='cc = ["cubic", "foobar", "reno"]')
    file = tmp_path / "line.toml"
    file.write_text(text.replace('"here"', '"here"\ninterface = "usb9"'), encoding="utf-8")
    assert main(["measure", "plan", str(file)]) == 1
    said = capsys.readouterr()
    absent, controller = said.err.splitlines()
    assert "there is no interface 'usb9' now; there are: " in absent
    assert "this computer's kernel has no controller 'foobar' (it has: bbr, cubic, reno)" in controller
    assert 'with rate = "25 Mbit/s"' in said.out
    assert main(["measure", "plan", str(file), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["problems"] == [
        each.removeprefix("ackclock: ") for each in (absent, controller)
    ]

    file.write_text(text.replace('"here"', '"here"\ninterface = "lo"\nrate = "1 Mbit/s"').replace("foobar", "bbr"))
    assert main(["measure", "plan", str(file)]) == 0
    said = capsys.readouterr()
    assert not said.err
    assert "with rate" not in said.out

    file.write_text(text.replace('"here"', '"here"\nvia = "nothere.toml"'), encoding="utf-8")
    line = refused(capsys, "plan", file)
    assert f"{file}: lines.0.via: there is no file '{tmp_path / 'nothere.toml'}' (line 10); give a scenario" in line


def test_a_plan_looks_into_the_scenario_of_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, file = tmp_path / "path.toml", tmp_path / "line.toml"
    path.write_text('[topology]\nkind = "dumbel"\n', encoding="utf-8")
    text = TEXT.format(port=1, campaign="", test="").replace('"here"', '"here"\nvia = "path.toml"')
    file.write_text(text, encoding="utf-8")
    assert f"{path}: topology.kind: unknown topology 'dumbel'" in refused(capsys, "plan", file)


def test_a_plan_says_that_a_yes_is_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "line.toml"
    text = TEXT.format(port=1, campaign="", test="")
    asks = "measure run will ask: line 'here' is metered, and much may go over it"
    for rate, said in (
        ('rate = "10 Gbit/s"', ""),  # 125 MB
        ('rate = "100 Tbit/s"', f"{asks} (about 1.25 TB); say that it may be: --yes"),
        ("", f'{asks} (nobody has said what it carries); say what it carries, rate = "25 Mbit/s", or --yes'),
    ):
        file.write_text(text.replace('"here"', f'"here"\nmetered = true\n{rate}'), encoding="utf-8")
        assert main(["measure", "plan", str(file)]) == 0
        assert capsys.readouterr().err.removeprefix("ackclock: ").strip() == said


@pytest.mark.parametrize("key", ["campaign", "lines"])
@pytest.mark.parametrize(
    ("server", "remedy"),
    [
        ("http://example.com:5391", 'write it as "192.0.2.1:5301", without http:// and what comes after the port'),
        ("https://example.com/", 'write it as "192.0.2.1:5301", without https:// and what comes after the port'),
        ("example.com/test", 'write it as "192.0.2.1:5301"'),
        ("two words:5301", 'write it as "192.0.2.1:5301"'),
        ("a:b:5301", 'write it as "192.0.2.1:5301"'),
    ],
)
def test_a_server_that_cannot_be_one_is_refused_where_the_campaign_is_read(
    key: str, server: str, remedy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "line.toml"
    text = TEXT.format(port=1, campaign="", test="")
    if key == "campaign":
        file.write_text(text.replace("127.0.0.1:1", server), encoding="utf-8")
    else:
        file.write_text(text.replace('"here"', f'"here"\nserver = "{server}"'), encoding="utf-8")
    where = "campaign.server" if key == "campaign" else "lines.0.server"
    line = refused(capsys, "plan", file)
    assert f"{file}: {where}: '{server}' is no address (line {4 if key == 'campaign' else 10}); {remedy}" in line
    assert line.endswith(remedy)


def test_a_campaign_that_was_begun_in_vain_can_be_begun_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    text = TEXT.replace("repetitions = 1", "repetitions = 3").format(port="{port}", campaign="retries = 0", test="")
    file = tmp_path / "line.toml"
    with serving() as (_, address):
        file.write_text(text.format(port=1), encoding="utf-8")
        assert main(["measure", "run", str(file), "--out", str(out)]) == 1
        said = capsys.readouterr().err
        assert "the first 3 tests have failed" in said
        assert "correct the campaign and call ackclock measure run again, or, when server and line are there" in said
        file.write_text(text.format(port=address.port), encoding="utf-8")
        with Journal(out).locked():
            assert "another process is going on" in refused(capsys, "run", file, "--out", out)
        assert main(["measure", "run", str(file), "--out", str(out)]) == 0
        assert "a campaign is there; go on with" in refused(capsys, "run", file, "--out", out)


def test_a_refusal_of_what_is_made_again_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    with serving(terms=Terms(bytes_of_test=1000, bytes_in_all=1500)) as (_, address):
        file = written(tmp_path, address.port, "retries = 0")
        assert main(["measure", "run", str(file), "--out", str(out)]) == 1
        capsys.readouterr()
        # All but the last bytes of the server went into it.
        assert main(["measure", "resume", str(out), "--retry-failed"]) == 1
        capsys.readouterr()
        assert "has given all the bytes" in refused(capsys, "resume", out, "--retry-failed")


def test_why_says_what_writes_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, "why", tmp_path / "nothere")
    assert "nothere: does not exist; give a directory written by ackclock measure run, import, or by run or" in line
    assert "has no manifest.json; give a directory" in refused(capsys, "why", tmp_path)
    Journal.begun(tmp_path / "begun", parsed(TEXT.format(port=1, campaign="", test=""), "a.toml", tmp_path))
    line = refused(capsys, "why", tmp_path / "begun")
    assert f"has no tables yet (0 tests); go on with: ackclock measure resume {tmp_path / 'begun'}" in line


@pytest.mark.parametrize(
    ("word", "guess"), [("report", None), ("measur", "measure"), ("rnu", "run"), ("weep", "sweep"), ("xyz", None)]
)
def test_only_a_command_that_is_close_is_suggested(
    word: str, guess: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 2
    said = capsys.readouterr().err
    assert f'Unknown command "{word}".' in said
    assert "Available commands: run" in said
    assert ("Did you mean" in said) == (guess is not None)
    assert guess is None or f'Did you mean "{guess}"?' in said


def test_sigterm_ends_a_campaign_and_keeps_what_was_measured(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with serving() as (_, address):
        file = written(tmp_path, address.port, test='pacing = "8 Mbit/s"')
        file.write_text(file.read_text().replace("repetitions = 1", "repetitions = 1000"))
        command = [sys.executable, "-m", "ackclock", "measure", "run", str(file), "--out", str(out)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            # A test is kept just after it is said, and so before the next one is.
            while not (line := process.stdout.readline()).startswith("2/1000"):
                assert line, "it ended before two tests had been made"
            process.send_signal(signal.SIGTERM)
            _, complaints = process.communicate(timeout=60)
    assert process.returncode == 130
    assert complaints == f"ackclock: interrupted; what was measured is kept: ackclock measure resume {out}\n"
    result = ackclock.Result.load(out)
    assert not result.complete
    assert result.runs.height == len(Journal(out).done()) >= 1
