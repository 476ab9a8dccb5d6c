"""The unit of systemd in ``contrib``: what it runs is what the command takes, and it lets the proxy do what it says."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "contrib" / "ackclock-proxy.service"
KNOWN = {
    "Unit": {"Description", "Documentation", "After", "Wants", "StartLimitIntervalSec"},
    "Install": {"WantedBy"},
    "Service": {
        "ExecStart", "KillSignal", "TimeoutStopSec", "Restart", "RestartSec", "DynamicUser", "LimitNOFILE",
        "AmbientCapabilities", "CapabilityBoundingSet", "NoNewPrivileges", "ProtectSystem", "ProtectHome", "PrivateTmp",
        "PrivateDevices", "ProtectKernelTunables", "ProtectControlGroups", "RestrictAddressFamilies",
        "RestrictNamespaces", "LockPersonality", "SystemCallArchitectures",
    },
}  # fmt: skip
"""Keys of systemd.unit(5), systemd.service(5) and systemd.exec(5) that it has."""


@pytest.fixture
def unit() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=("#",), strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(UNIT.read_text(encoding="utf-8"))
    return parser


def test_its_sections_and_keys_are_those_that_systemd_has(unit: configparser.ConfigParser) -> None:
    assert {name: set(unit[name]) for name in unit.sections()} == KNOWN


def test_what_it_runs_is_a_document_that_the_proxy_takes(unit: configparser.ConfigParser) -> None:
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    assert (Path(program).is_absolute(), Path(program).name, words[0]) == (True, "ackclock", "proxy")
    # Told a file that cannot be, it does not start, and everything before that was right.
    command = [sys.executable, "-m", "ackclock", *words, "--log", "/dev/null/no"]
    command[command.index("server.invalid:80")] = "127.0.0.1:9"
    command[command.index("127.0.0.1:8080")] = "127.0.0.1:0"
    command[command.index("127.0.0.1:9100")] = "127.0.0.1:0"
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr.splitlines()[-1][:29]) == (2, "ackclock: --log: /dev/null/no"), done.stderr


def test_started_before_it_is_changed_it_serves_nobody(unit: configparser.ConfigParser) -> None:
    words = shlex.split(unit["Service"]["ExecStart"])
    host, _, _ = words[words.index("--to") + 1].rpartition(":")
    # RFC 2606 §2: no name server knows such a name.
    assert host.endswith(".invalid")
    # Nor do the steps that it tells start it before it is changed.
    steps = re.findall(r"^#     (\S+ \S+)", UNIT.read_text(encoding="utf-8"), re.MULTILINE)
    assert steps == ["cp contrib/ackclock-proxy.service", "systemctl edit", "systemctl enable"]


def test_it_is_started_again_until_its_server_has_a_name(unit: configparser.ConfigParser) -> None:
    # systemd's own, five starts in ten seconds and 100 ms between them, would be used up while a name server boots.
    assert unit["Service"]["Restart"] == "on-failure"
    assert int(unit["Service"]["RestartSec"]) >= 1
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"
    assert {"network-online.target", "nss-lookup.target"} <= set(unit["Unit"]["After"].split())


def test_the_page_says_how_the_command_comes_to_where_it_is_started(unit: configparser.ConfigParser) -> None:
    program = shlex.split(unit["Service"]["ExecStart"])[0]
    assert f"ln -s /opt/ackclock/bin/ackclock {program}\n" in (ROOT / "docs" / "proxy.md").read_text(encoding="utf-8")
    # Home directories, and those of temporary files, the unit does not see.
    assert program.startswith("/usr/local/")


def test_it_waits_for_longer_than_the_proxy_drains_and_gives_it_its_descriptors(
    unit: configparser.ConfigParser,
) -> None:
    service = unit["Service"]
    assert service["KillSignal"] == "SIGTERM"
    # The default of --drain, and what connections that are cut off then may still take.
    assert int(service["TimeoutStopSec"]) > 30 + 2
    # Two for each of 10,000 connections, and its own.
    assert int(service["LimitNOFILE"]) > 2 * 10_000 + 64
    # No right of root's, and of sockets those of the network and those that names may be looked up by.
    assert service["CapabilityBoundingSet"] == service["AmbientCapabilities"] == ""
    assert set(service["RestrictAddressFamilies"].split()) == {"AF_INET", "AF_INET6", "AF_UNIX"}
    for key in ("DynamicUser", "NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices", "RestrictNamespaces"):
        assert service[key] == "yes", key
    assert service["ProtectSystem"] == "strict"


def version() -> int:
    """Of systemd-analyze; 0 where there is none."""
    if shutil.which("systemd-analyze") is None:
        return 0
    done = subprocess.run(["systemd-analyze", "--version"], capture_output=True, text=True, check=False, timeout=60)
    found = re.match(r"systemd (\d+)", done.stdout)
    return int(found[1]) if found else 0


analysed = pytest.mark.skipif(version() < 250, reason="without systemd-analyze 250 or newer")


@analysed
def test_systemd_has_nothing_to_say_against_it(tmp_path: Path) -> None:
    # It wants to find the program, and unlike the one of a system this one is where the tests are.
    program = tmp_path / "ackclock"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    text = UNIT.read_text(encoding="utf-8").replace("/usr/local/bin/ackclock", str(program))
    copy = tmp_path / UNIT.name
    copy.write_text(text, encoding="utf-8")

    def verified() -> list[str]:
        command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(copy)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        # It also reads others of the computer, and has something to say about some.
        return [line for line in done.stderr.splitlines() if UNIT.stem in line]

    assert verified() == []
    # And it would have: this is a key that there is not.
    copy.write_text(text.replace("KillSignal", "KilSignal"), encoding="utf-8")
    (said,) = verified()
    assert "Unknown key" in said


@analysed
def test_systemd_counts_it_among_those_that_are_shut_off() -> None:
    command = ["systemd-analyze", "security", "--offline=true", "--json=short", str(UNIT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    found = {row["name"]: row for row in json.loads(done.stdout)}
    assert found["CapabilityBoundingSet=~CAP_SYS_ADMIN"]["set"] is True
