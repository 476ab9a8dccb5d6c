"""Whatever a program behind the path sends, the path goes on, and so do the flows beside it and who comes after.

Packets of both versions are written to the device as they are, past the kernel's own rules: wrong lengths, fragments
that overlap or never end, chains of extension headers, options, jumbograms, addresses of others, and bytes that are no
packet.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ackclock
from ackclock import kernel

pytestmark = pytest.mark.real_time

SCENARIO = """
[topology]
kind = "dumbbell"
rate = "30 Mbit/s"
rtt = "20 ms"
queue = { kind = "droptail", limit = "2 BDP" }
[topology.reverse]
rate = "30 Mbit/s"
[[flows]]
cc = "reno"
bytes = "2 MB"
[run]
duration = "1 s"
"""

HOSTILE = """
import os, random, socket, struct, sys, time
version = int(sys.argv[1])
draw = random.Random(int(sys.argv[2]))
device = next(name for _, name in socket.if_nameindex() if name != "lo")
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
kinds = {4: 0x0800, 6: 0x86dd}
out.bind((device, kinds[version]))
families = {4: socket.AF_INET, 6: socket.AF_INET6}
own, peer = (socket.inet_pton(families[version], os.environ[name]) for name in sys.argv[3:5])


def noise(most):
    return draw.randbytes(draw.randrange(most))


def address(right):
    return right if draw.random() < 0.9 else draw.randbytes(len(right))


def extensions():
    chain, kinds = [], [0, 43, 44, 60, 50, 51, 59, 135, 6, 17, draw.randrange(256)]
    for _ in range(draw.choice([0, 1, 1, 2, 5, 40])):
        kind = draw.choice(kinds)
        if kind == 44:
            body = struct.pack("!HI", draw.randrange(65536), draw.choice([7, draw.randrange(2**32)]))
            chain.append((kind, b"\\0" + body))
        else:
            units = draw.choice([0, 0, 1, 3, 255])
            chain.append((kind, bytes([units]) + draw.randbytes(8 * units + 6)))
    return chain


def six():
    chain = extensions()
    last = draw.choice([6, 17, 58, 59, draw.randrange(256)])
    numbers = [kind for kind, _ in chain] + [last]
    body = b"".join(bytes([following]) + part for following, (_, part) in zip(numbers[1:], chain))
    body += noise(1200)
    length = draw.choice([len(body), len(body), 0, draw.randrange(65536), max(0, len(body) - 8)])
    word = 6 << 28 | draw.randrange(1 << 28)
    head = struct.pack("!IHBB", word, length & 0xFFFF, numbers[0], draw.choice([64, 1, 0]))
    return head + address(own) + address(peer) + body


def four():
    words = draw.choice([5, 5, 5, 6, 10, 15, draw.randrange(16)])
    options = draw.randbytes(4 * max(0, words - 5))
    body = options + noise(1200)
    length = draw.choice([20 + len(body), 20 + len(body), 0, draw.randrange(65536)])
    fragment = draw.choice([0, 0, 0x2000, draw.randrange(65536)])
    protocol = draw.choice([6, 6, 17, 1, draw.randrange(256)])
    number = draw.choice([7, draw.randrange(65536)])
    head = struct.pack("!BBHHH", 4 << 4 | words, draw.randrange(256), length & 0xFFFF, number, fragment)
    head += struct.pack("!BBH", draw.choice([64, 1, 0]), protocol, 0) + address(own) + address(peer)
    total = sum(struct.unpack("!10H", head))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    check = draw.choice([~total & 0xFFFF, ~total & 0xFFFF, draw.randrange(65536)])
    return head[:10] + struct.pack("!H", check) + head[12:] + body


make = {4: four, 6: six}[version]
sent, end = 0, time.monotonic() + 2
while time.monotonic() < end and sent < 4000:
    packet = noise(100) if draw.random() < 0.1 else make()
    try:
        sent += out.send(packet[:1500]) > 0
    except OSError:
        pass
    if sent % 20 == 0:
        time.sleep(0.005)
print("sent", sent)

# And afterwards everything is as before: somebody asks the other end for something.
peer = socket.create_connection((os.environ[sys.argv[4]], 7000), timeout=20)
got = 0
while part := peer.recv(65536):
    got += len(part)
print("got", got)
"""

SERVER = """
import socket
listener = socket.create_server(("", 7000), family=socket.{family})
peer, _ = listener.accept()
peer.sendall(bytes(300000))
peer.close()
"""


@pytest.fixture(scope="module", autouse=True)
def able() -> None:
    found = kernel.probe()
    if not all(found["hosts"]):
        pytest.fail(f"this computer cannot make hosts, so that nothing here is tested: {found['problems']}")


@pytest.mark.parametrize("offload", [False, True])
@pytest.mark.parametrize("version", [4, 6])
def test_hostile_packets_harm_nobody(version: int, offload: bool, tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    more = "6" if version == 6 else ""
    family = "AF_INET6" if version == 6 else "AF_INET"
    server = f"exec '{sys.executable}' -c '{SERVER.format(family=family)}'"
    names = [f"ACKCLOCK_CLIENT{more}", f"ACKCLOCK_SERVER{more}"]
    options = [
        "--with-flows",
        "--allow-late",
        "--set",
        f"run.offload={str(offload).lower()}",
        "--set",
        f"run.ip={version}",
    ]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "ackclock", "shell", str(file), *options, "--out", str(tmp_path / "out")),
            *("--server", server, "--", sys.executable, "-c", HOSTILE, str(version), "1", *names),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = dict(line.split() for line in done.stdout.splitlines())
    assert int(said["sent"]) > 1000
    assert int(said["got"]) == 300_000
    result = ackclock.Result.load(tmp_path / "out")
    good = result.flows.row(0, named=True)
    assert good["completed"], "the flow beside it gets everything"
    assert (good["goodput_bytes"], good["failed"]) == (2_000_000, None)
    sent = {row["id"]: row["sent_packets"] for row in result.links.iter_rows(named=True)}
    assert sent["reverse"] > 2000, "what was sent took the way"
