"""Faults that are done to ``ackclock proxy``, each by a client; the proxies, and the server behind them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

from ackclock import proxy

PATIENCE_S = 120

SILENCE_S = 12
"""So long one of the proxies bears silence, and the times of others are longer: on a busy computer nothing is soon."""

ANSWER = 300_000
HELLO = bytes([5, 1, 0])
LOOPBACK = b"\x7f\0\0\1"
Kind = Callable[["Day"], Awaitable[None]]
KINDS: dict[str, tuple[str, str, Kind]] = {}
"""By name: the proxy that it is for, why its connection ends, what is done."""


def kind(door: str, why: str) -> Callable[[Kind], Kind]:
    """A kind of fault."""

    def known(of: Kind) -> Kind:
        KINDS[of.__name__] = (door, why, of)
        return of

    return known


class WrongError(Exception):
    """A connection that did not end as it should."""


def check(true: bool, what: object) -> None:
    """It is so."""
    if not true:
        raise WrongError(repr(what))


class Proxy:
    """A proxy, and what can be seen of it from outside."""

    def __init__(self, mode: object, **more: object) -> None:
        document = {"listen": "127.0.0.1:0", "mode": mode, "user": "root", "metrics": "127.0.0.1:0", "lines": False}
        document |= {"per_client": 9000, "connections": 9000, "connect_s": 60, "header_s": 60, **more}
        pipe = subprocess.PIPE
        program = [proxy.program(), "run", "-"]
        self.process = subprocess.Popen(program, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe, text=True)
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        self.process.stdin.write(json.dumps(document))
        self.process.stdin.close()
        for line in self.process.stderr:
            if "listens at" in line:
                doors = line.partition("listens at ")[2].split("; metrics at ")
                self.port, self.metrics = (int(door.rpartition(":")[2]) for door in doors)
                return
        raise RuntimeError("the proxy did not start")

    def descriptors(self) -> int:
        """How many it has."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def memory(self) -> int:
        """Bytes that are its own."""
        rows = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8").splitlines()
        return 1024 * int(next(row.split()[1] for row in rows if row.startswith("RssAnon:")))

    async def settled(self) -> int:
        """Bytes that are its own, as soon as they do not change: what many have needed is given back a second later."""
        for _ in range(PATIENCE_S):
            before = self.memory()
            await asyncio.sleep(1.5)
            if self.memory() == before:
                return before
        raise WrongError("its memory never comes to rest")

    async def counts(self) -> dict[str, float]:
        """Its metrics."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.metrics)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        page = (await reader.read()).decode()
        writer.close()
        rows = (row.rpartition(" ") for row in page.splitlines() if row.startswith("ackclock_proxy_"))
        return {name.removeprefix("ackclock_proxy_"): float(value) for name, _, value in rows}

    async def at_rest(self) -> dict[str, float]:
        """Its metrics, as soon as nothing is open."""
        for _ in range(PATIENCE_S * 20):
            found = await self.counts()
            if found["connections_open"] == 0 and found["buffer_bytes"] == 0:
                return found
            await asyncio.sleep(0.05)
        raise WrongError(f"never at rest: {found}")


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server: the first byte says what it does."""
    with contextlib.suppress(OSError, asyncio.CancelledError):
        asked = await reader.read(1)
        if asked == b"e":
            while chunk := await reader.read(65_536):
                writer.write(chunk)
                await writer.drain()
        elif asked == b"a":
            writer.write(bytes(ANSWER))
            await writer.drain()
        elif asked == b"r":
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif asked == b"h":
            writer.write_eof()
            check(await reader.read() == b"more", "what comes after its end")
        elif asked == b"z":
            await reader.read()
            # Nothing tells that the proxy has reset it in the meantime.
            await asyncio.sleep(5 * SILENCE_S)
        writer.close()
        await writer.wait_closed()


class Day:
    """The proxies, and what clients do to them."""

    def __init__(self, server: int, nobody: int, hole: int) -> None:
        self.server, self.nobody, self.hole = server, nobody, hole
        allowed = Path("/proc/sys/net/ipv4/tcp_fastopen").read_text(encoding="ascii")
        self.fast = bool(int(allowed) & 1)
        self.doors = {
            "socks": Proxy("socks5", allow_target=["127.0.0.0/8"]),
            "silent": Proxy(
                "socks5", allow_target=["127.0.0.0/8"], idle_s=SILENCE_S, half_open_s=SILENCE_S, connect_s=5
            ),
            "connect": Proxy("http_connect", header_s=SILENCE_S),
            "fixed": Proxy({"to": f"127.0.0.1:{server}"}, proxy_in=True, server={"fast_open": self.fast}),
        }

    async def at(self, door: str, first: bytes = b"", receive: int = 0) -> socket.socket:
        """A client that has connected and said this."""
        client = socket.socket()
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if receive:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        await loop().sock_connect(client, ("127.0.0.1", self.doors[door].port))
        if first:
            await loop().sock_sendall(client, first)
        return client

    async def to(
        self, port: int, more: bytes, code: int = 0, host: bytes = LOOPBACK, receive: int = 0, door: str = "socks"
    ) -> socket.socket:
        """A client of SOCKS that was told this code, and has said more."""
        client = await self.at(door, HELLO + bytes([5, 1, 0, 1]) + host + port.to_bytes(2, "big") + more, receive)
        answer = await exactly(client, 12)
        check(answer[3] == code, answer)
        return client


def loop() -> asyncio.AbstractEventLoop:
    """The loop that goes on."""
    return asyncio.get_running_loop()


async def exactly(client: socket.socket, count: int) -> bytes:
    """So many bytes."""
    got = b""
    while len(got) < count:
        chunk = await loop().sock_recv(client, min(count - len(got), 65_536))
        check(bool(chunk), f"the end after {len(got)} bytes of {count}")
        got += chunk
    return got


async def end(client: socket.socket, expected: bytes | None = b"") -> None:
    """The end comes behind this, or behind anything; and it is closed."""
    got = b""
    while chunk := await loop().sock_recv(client, 65_536):
        got += chunk
    check(expected is None or got == expected, got[:100])
    client.close()


async def is_reset(client: socket.socket) -> None:
    """It is reset, and nothing else comes before."""
    with contextlib.suppress(ConnectionResetError):
        check(False, await loop().sock_recv(client, 100))
    client.close()


def reset(client: socket.socket) -> None:
    """Resets it."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


@kind("socks", "reset")
async def the_client_resets(day: Day) -> None:
    """In the midst of data that it has not read."""
    client = await day.to(day.server, b"e" + bytes(20_000))
    await exactly(client, 1)
    reset(client)


@kind("socks", "reset")
async def the_server_resets(day: Day) -> None:
    """The client hears of it."""
    await is_reset(await day.to(day.server, b"r"))


@kind("socks", "finished")
async def the_client_is_done_first(day: Day) -> None:
    """And gets all the same what comes."""
    client = await day.to(day.server, b"e" + bytes(5000))
    client.shutdown(socket.SHUT_WR)
    await end(client, bytes(5000))


@kind("socks", "finished")
async def the_server_is_done_first(day: Day) -> None:
    """And gets all the same what comes."""
    client = await day.to(day.server, b"h")
    check(await loop().sock_recv(client, 1) == b"", "the end")
    await loop().sock_sendall(client, b"more")
    client.close()


@kind("socks", "finished")
async def nothing_is_read_for_a_while(day: Day) -> None:
    """Then everything is there."""
    client = await day.to(day.server, b"a", receive=4096)
    await asyncio.sleep(0.3)
    await end(client, bytes(ANSWER))


@kind("socks", "finished")
async def it_is_read_in_small_pieces(day: Day) -> None:
    """And all of it comes."""
    client = await day.to(day.server, b"e" + bytes(20_000), receive=4096)
    client.shutdown(socket.SHUT_WR)
    got = 0
    while chunk := await loop().sock_recv(client, 500):
        got += len(chunk)
    check(got == 20_000, got)
    client.close()


@kind("socks", "finished")
async def an_urgent_byte_comes(day: Day) -> None:
    """And is dropped."""
    client = await day.to(day.server, b"ebefore")
    client.send(b"!", socket.MSG_OOB)
    await loop().sock_sendall(client, b"behind")
    check(await exactly(client, 12) == b"beforebehind", "what is around it")
    client.shutdown(socket.SHUT_WR)
    await end(client)


@kind("socks", "refused")
async def the_server_refuses(day: Day) -> None:
    """The client is told."""
    await end(await day.to(day.nobody, b"", code=5))


@kind("silent", "connect_timed_out")
async def the_server_does_not_answer(day: Day) -> None:
    """The client is told."""
    await end(await day.to(day.hole, b"", code=4, door="silent"))


@kind("socks", "reset")
async def the_client_does_not_wait_for_the_server(day: Day) -> None:
    """It resets."""
    client = await day.at("socks", HELLO + bytes([5, 1, 0, 1, 127, 0, 0, 1]) + day.hole.to_bytes(2, "big"))
    await exactly(client, 2)
    await asyncio.sleep(0.1)
    reset(client)


@kind("socks", "forbidden")
async def it_is_none_of_its_business(day: Day) -> None:
    """The client is told."""
    await end(await day.to(80, b"", code=2, host=b"\x0a\0\0\1"))


@kind("silent", "idle")
async def nobody_says_anything(day: Day) -> None:
    """Both are reset."""
    client = await day.to(day.server, b"e", door="silent")
    await is_reset(client)


@kind("silent", "half_open")
async def the_server_never_ends(day: Day) -> None:
    """Both are reset."""
    client = await day.to(day.server, b"z", door="silent")
    client.shutdown(socket.SHUT_WR)
    await is_reset(client)


@kind("socks", "header_wrong")
async def the_header_is_cut_off(day: Day) -> None:
    """By an end."""
    client = await day.at("socks", HELLO)
    await exactly(client, 2)
    client.shutdown(socket.SHUT_WR)
    await end(client)


@kind("socks", "reset")
async def the_header_is_reset(day: Day) -> None:
    """In its midst."""
    client = await day.at("socks", HELLO + b"\x05\x01")
    await exactly(client, 2)
    reset(client)


@kind("connect", "header_timed_out")
async def the_header_comes_byte_by_byte(day: Day) -> None:
    """And its time is over."""
    client = await day.at("connect", b"CONNECT a:1 HTTP/1.1\r\nX: ")
    with contextlib.suppress(ConnectionError):
        for _ in range(PATIENCE_S):
            await loop().sock_sendall(client, b"x")
            await asyncio.sleep(0.5)
    client.close()


@kind("connect", "header_too_long")
async def the_header_is_too_long(day: Day) -> None:
    """The client is told."""
    client = await day.at("connect", b"CONNECT a:1 HTTP/1.1\r\nX: " + bytes(9000))
    check((await exactly(client, 12))[9:] == b"431", "its answer")
    await end(client, None)


@kind("connect", "header_wrong")
async def another_protocol_is_spoken(day: Day) -> None:
    """The client is told."""
    client = await day.at("connect", b"\x05\x01\x00\r\n\r\n")
    await end(client, None)


@kind("fixed", "header_wrong")
async def no_proxy_is_before_it(day: Day) -> None:
    """Who should have said who the client is: reset."""
    await is_reset(await day.at("fixed", b"GET / HTTP/1.1\r\n\r\n"))


@kind("fixed", "finished")
async def first_bytes_go_with_the_syn(day: Day) -> None:
    """Where the kernel allows it."""
    client = await day.at("fixed", b"PROXY TCP4 192.0.2.7 198.51.100.9 4711 443\r\neearly")
    check(await exactly(client, 5) == b"early", "the first bytes")
    client.shutdown(socket.SHUT_WR)
    await end(client)
