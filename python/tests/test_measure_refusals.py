"""What a server or a kernel refuses: one line with file, key and remedy, and nothing measured is exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from ackclock.cli.app import main
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
