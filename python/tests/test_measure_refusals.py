"""What a server or a kernel refuses: one line with file, key and remedy, and nothing measured is exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from ackclock.cli.app import main
from ackclock.measure import sockets
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
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving() as (_, address):
        file, out = written(tmp_path, address.port, test='cc = "nonesuch"'), tmp_path / "out"
        line = refused(capsys, "run", file, "--out", out)
        assert f"{file}: test.cc: {address}: the server refuses: the kernel has no controller 'nonesuch' (line" in line
        assert "(line 12); it allows: " in line
        assert "modprobe tcp_nonesuch" in line
        assert "no such file" not in line
        assert not out.exists()


def test_a_plan_says_what_is_not_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tmp_path / "available"
    known.write_text("reno cubic bbr\n")
    monkeypatch.setattr(sockets, "_AVAILABLE", known)
    text = TEXT.format(port=1, campaign="", test='cc = ["cubic", "foobar", "reno"]')
    file = tmp_path / "line.toml"
    file.write_text(text.replace('"here"', '"here"\ninterface = "usb9"'), encoding="utf-8")
    assert main(["measure", "plan", str(file)]) == 0
    said = capsys.readouterr()
    absent, controller = said.err.splitlines()
    assert "there is no interface 'usb9' now; there are: " in absent
    assert "this computer's kernel has no controller 'foobar' (it has: bbr, cubic, reno)" in controller
    assert 'with rate = "25 Mbit/s"' in said.out

    file.write_text(text.replace('"here"', '"here"\ninterface = "lo"\nrate = "1 Mbit/s"').replace("foobar", "bbr"))
    assert main(["measure", "plan", str(file)]) == 0
    said = capsys.readouterr()
    assert not said.err
    assert "with rate" not in said.out

    file.write_text(text.replace('"here"', '"here"\nvia = "nothere.toml"'), encoding="utf-8")
    line = refused(capsys, "plan", file)
    assert f"{file}: lines.0.via: there is no file '{tmp_path / 'nothere.toml'}' (line 10); give a scenario" in line
