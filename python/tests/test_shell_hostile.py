"""Frames that no honest host sends, from inside a shell: they neither end the path nor keep others from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ackclock
from shells import SCENARIO, command, serving
from shells import able as able  # a fixture of the module

pytestmark = pytest.mark.real_time

FLOOD = Path(__file__).with_name("hostile_frames.py")
FRAMES = 3000
ANSWERS = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7000))
while True:
    data, peer = s.recvfrom(65535)
    try:
        s.sendto(data, peer)
    except OSError:
        pass
"""
"""An echo; a hostile datagram may ask for an answer to where none can be sent."""


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("offload", [False, True])
def test_a_flood_of_hostile_frames_does_not_stop_the_path(seed: int, offload: bool, tmp_path: Path) -> None:
    scenario, out = tmp_path / "scenario.toml", tmp_path / "out"
    scenario.write_text(SCENARIO, encoding="utf-8")
    options = ["--offload"] if offload else []
    flood = [sys.executable, str(FLOOD), str(seed), str(FRAMES), *options]
    words = command(scenario, *options, *serving(ANSWERS), "--out", str(out), "--", *flood)
    # Raw sockets and the device's MTU are root's: of a user's own namespace, if need be.
    as_root = ["unshare", "--user", "--map-root-user"] if os.getuid() else []
    done = subprocess.run([*as_root, *words], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["echoes"] == 3
    # The kernel itself refuses much of what is said of segments. The path saw the rest, and what belongs to no flow.
    seen = said["sent"] - said["dropped"]
    assert seen > FRAMES * (0.1 if offload else 0.4), said
    result = ackclock.Result.load(out)
    emulation = result.manifest["runs"][0]["emulation"]
    assert emulation["packets"][0] >= seen
    assert emulation["astray"] > 0.05 * seen
    links = {row["id"]: row for row in result.links.iter_rows(named=True)}
    assert links["reverse"]["sent_packets"] + links["reverse"]["drops"] > 0.2 * seen
    # What came through was handed to the other end, which took it.
    assert emulation["refused"] == 0
    # How often it answers is limited by its kernel (icmp_ratelimit); the echoes are among what it sent.
    assert emulation["packets"][1] >= said["echoes"]
