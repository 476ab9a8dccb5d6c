"""Options of data connections: what the kernel says of the sockets themselves while a campaign's test runs on them."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from ackclock.measure import campaign, client, runner, sockets, transfer
from ackclock.measure.journal import Journal
from ackclock.measure.sockets import Options
from measuring import serving

pytestmark = pytest.mark.real_time

FILE = """
[campaign]
name = "options"
server = "127.0.0.1:{port}"
repetitions = 1
gap = "0 s"
retries = 0

[[lines]]
name = "here"
{line}

[test]
connections = 2
direction = "both"
duration = "100 ms"
interval = "50 ms"
pacing = "8 Mbit/s"
{test}
"""

# include/uapi/linux/tcp.h and include/uapi/asm-generic/socket.h; Python does not have all of them by name.
ASKED = {
    "tos": (socket.IPPROTO_IP, socket.IP_TOS),
    "nodelay": (socket.IPPROTO_TCP, 1),
    "notsent_lowat": (socket.IPPROTO_TCP, 25),
}
BINDTODEVICE = 25


def device(sock: socket.socket) -> str:
    """The interface that a socket is bound to."""
    return sock.getsockopt(socket.SOL_SOCKET, BINDTODEVICE, 16).rstrip(b"\0").decode()


class Seen:
    """Options of data connections as both ends begin a test; and what each connection of the client is bound to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.client: list[dict[str, Any]] = []
        self.server: list[dict[str, Any]] = []
        self.devices: list[str] = []
        self.port = 0
        run, dialled = transfer.Transfer.run, client._dialled

        def running(own: transfer.Transfer) -> transfer.Outcome:
            for connection in own._all:
                sock = connection.sock
                found: dict[str, Any] = {name: sock.getsockopt(*place) for name, place in ASKED.items()}
                end = self.server if sock.getsockname()[1] == self.port else self.client
                end.append(found | {"interface": device(sock)})
            return run(own)

        def connecting(way: tuple[Any, ...], name: str | None, options: Options | None = None) -> socket.socket:
            sock = dialled(way, name, options)
            self.devices.append(device(sock))
            return sock

        monkeypatch.setattr(transfer.Transfer, "run", running)
        monkeypatch.setattr(client, "_dialled", connecting)

    def of(self, folder: Path, line: str = "", test: str = "") -> dict[str, Any]:
        """Make a campaign of one test, two connections each way."""
        with serving() as (_, address):
            self.port = address.port
            file = folder / "options.toml"
            file.write_text(FILE.format(port=address.port, line=line, test=test), encoding="utf-8")
            runner.begin(campaign.load(file), folder / "out", runner.Asked(), print)
        ((_, found),) = Journal(folder / "out").tests()
        return found


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    return Seen(monkeypatch)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("", {}),
        ("tos = 184", {"tos": 184}),  # expedited forwarding, RFC 3246
        ("tos = 0x20", {"tos": 0x20}),
        ("tos = 252", {"tos": 0xFC}),  # ECN's two bits are TCP's own (net/ipv4/ip_sockglue.c)
        ("nodelay = true", {"nodelay": 1}),
        ("nodelay = false", {"nodelay": 0}),
        ('notsent_lowat = "50 kB"', {"notsent_lowat": 50_000}),
        ('tos = 40\nnodelay = true\nnotsent_lowat = "1 MB"', {"tos": 40, "nodelay": 1, "notsent_lowat": 1_000_000}),
    ],
)
def test_options_of_a_campaign_are_on_every_data_connection(
    seen: Seen, tmp_path: Path, given: str, read: dict[str, int]
) -> None:
    """Both ends set them; and what is not given is as the kernel makes a socket."""
    with socket.socket() as plain:
        usual = {name: plain.getsockopt(*place) for name, place in ASKED.items()}
    assert seen.of(tmp_path, test=given)["problem"] is None
    wanted = usual | {"interface": ""} | read
    assert seen.client == [wanted] * 4
    assert seen.server == [wanted] * 4


def test_what_may_not_yet_be_sent_waits_with_the_application(tmp_path: Path, seen: Seen) -> None:
    """The option does what it says: without it the kernel takes as much as the buffer has room for."""
    most = []
    for name, test in (("without", ""), ("with", 'notsent_lowat = "20 kB"')):
        folder = tmp_path / name
        folder.mkdir()
        ends = seen.of(folder, test=test)["result"]["ends"].values()
        ways = [way for end in ends for way in end["connections"] if way["sends"]]
        most.append(max(max(way["fields"]["notsent"]) for way in ways))
    # A sender fills at most one segment of the kernel's beyond the mark, 64 kB on a loopback interface.
    assert most[1] <= 20_000 + 65_536 < most[0]


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_the_byte_of_the_header_is_that_of_the_version(family: socket.AddressFamily) -> None:
    with socket.socket(family) as sock:
        sockets.apply(sock, Options(tos=184))
        # IPV6_TCLASS is 67, include/uapi/linux/in6.h.
        place = ASKED["tos"] if family == socket.AF_INET else (socket.IPPROTO_IPV6, 67)
        assert sock.getsockopt(*place) == 184


def test_a_server_of_version_6_marks_clients_of_version_4_too() -> None:
    with socket.socket(socket.AF_INET6) as listening:
        listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listening.bind(("::", 0))
        listening.listen()
        with socket.create_connection(("127.0.0.1", listening.getsockname()[1])):
            accepted, _ = listening.accept()
            with accepted:
                assert accepted.family == socket.AF_INET6
                sockets.apply(accepted, Options(tos=184))
                assert accepted.getsockopt(*ASKED["tos"]) == 184


def test_a_line_goes_out_by_its_interface(seen: Seen, tmp_path: Path) -> None:
    found = seen.of(tmp_path, line='interface = "lo"')
    assert found["problem"] is None
    assert [each["interface"] for each in seen.client] == ["lo"] * 4
    assert [each["interface"] for each in seen.server] == [""] * 4, "it is the client's line"
    # Ten handshakes of the idle line, the control connection, the data connections: none goes out elsewhere.
    assert seen.devices == ["lo"] * (10 + 1 + 4)
    assert found["context"]["interface"] == "lo"


def test_without_an_interface_no_connection_is_bound_to_one(seen: Seen, tmp_path: Path) -> None:
    seen.of(tmp_path)
    assert seen.devices == [""] * (10 + 1 + 4)


def test_an_interface_that_is_not_there_is_no_other_one(seen: Seen, tmp_path: Path) -> None:
    found = seen.of(tmp_path, line='interface = "none0"')
    assert "no connection by the interface none0 (no such device)" in found["problem"]
    assert seen.devices == []
    assert found["result"] is None
