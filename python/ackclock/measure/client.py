"""One test from the client's side: it proves the token, connects, sends or reads, and has the figures of both ends."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ackclock.errors import AckclockError, Problem
from ackclock.files import reason
from ackclock.measure import clock, frames, reported, secret, sockets, transfer, welcome
from ackclock.measure.asked import Asked
from ackclock.measure.frames import Message, ProtocolError
from ackclock.measure.welcome import Welcome

CONNECT_S = 10.0
"""A connection that is not there after this time will not come."""

_ANSWER_S = 15.0
_PADDED = 512
"""Bytes of a hello: a server says no more to a newcomer than it has heard of it."""


class MeasureError(AckclockError):
    """A test could not be made, or broke; the text says why."""


class RefusedError(MeasureError):
    """The server does not do what was asked for: asking again would not help.

    `key` is what of a campaign it is about: ``token``, an option of a test, or nothing that is known.
    """

    def __init__(self, problem: str, key: str | None = None) -> None:
        self.key = key
        super().__init__(problem)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is: a name or an address, and its port. `device` is the interface to go out by, if any."""

    host: str
    port: int
    device: str | None = None

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def connect(address: Address, options: sockets.Options | None = None) -> socket.socket:
    """A connection with these options, set before it is made. Raises :class:`OSError` and :class:`Problem`."""
    problem: OSError = OSError(f"{address.host} has no address")
    for way in _ways(address):
        try:
            return _dialled(way, address.device, options)
        except OSError as error:
            problem = error
    raise problem


def _ways(address: Address) -> list[tuple[Any, ...]]:
    return list(socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM))


def _dialled(way: tuple[Any, ...], device: str | None, options: sockets.Options | None = None) -> socket.socket:
    family, kind, protocol, _, place = way
    sock = socket.socket(family, kind, protocol)
    try:
        sock.settimeout(CONNECT_S)
        if device is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
        if options is not None:
            sockets.apply(sock, options)
        sock.connect(place)
    except BaseException:
        sock.close()
        raise
    return sock


def handshakes(address: Address, count: int = 10) -> list[int]:
    """How long handshakes take while nothing is sent, ns: the round trip of an idle line.

    What the name of the server is takes a time of its own, and is asked before.
    """
    found: list[int] = []
    with _as_errors(address):
        ways = _ways(address)
        while len(found) < count:
            begun = time.monotonic_ns()
            try:
                _dialled(ways[0], address.device).close()
            except OSError:
                if len(ways) == 1:
                    raise
                del ways[0]
                continue
            found.append(time.monotonic_ns() - begun)
    return found


def _same(control: socket.socket, address: Address) -> Address:
    """Where a connection has gone: a name may lead to several computers, and only one of them has the test."""
    host, _, *more = control.getpeername()
    scope = more[1] if len(more) > 1 else 0
    return dataclasses.replace(address, host=f"{host}%{scope}" if scope else host)


def measure(address: Address, token: bytes | None, asked: Asked) -> dict[str, Any]:
    """Make one test; what both ends have seen, as a campaign keeps it (docs/measure.md).

    Raises :class:`MeasureError` if it did not come about or broke, :class:`RefusedError` if the server refuses it.
    """
    with contextlib.ExitStack() as until, _as_errors(address):
        control = until.enter_context(connect(address))
        control.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        place = _same(control, address)
        greeting = _introduced(control, token or b"")
        before = _clocks(control)
        _say(control, {"type": "test", **asked.model_dump()})
        cookie = bytes.fromhex(_hear(control, "ready")["cookie"])
        ways = []
        for number in range(asked.total):
            sock = until.enter_context(connect(place, asked.options))
            sock.sendall(frames.DATA + cookie + bytes([number]))
            ways.append(transfer.Connection(sock, not asked.down(number)))
        there, own_cc = reported.controller(_hear(control, "all")), sockets.in_force(ways[0].sock)
        _say(control, {"type": "start"})
        limits = transfer.Limits(asked.duration_ns, asked.warmup_ns, asked.interval_ns)
        outcome = transfer.Transfer(ways, limits).run()
        ended = reported.ended(_hear(control, "ended"))
        samples = reported.connections(_parts(control), asked.total)
        after = _clocks(control)
        _part(control)
    return {
        "asked": asked.model_dump(),
        "server": greeting.model_dump(),
        "cc": {"client": own_cc, "server": there},
        "clock": [{"offset_ns": item.offset_ns, "uncertainty_ns": item.uncertainty_ns} for item in (before, after)],
        "ends": {
            "client": {
                "begun_ns": outcome.begun,
                "begun_unix_s": outcome.begun_unix_s,
                "took_ns": outcome.took,
                "cpu_s": outcome.cpu_s,
                "ended": outcome.ended,
                "connections": [transfer.report(way) for way in ways],
            },
            "server": {**ended, "connections": samples},
        },
    }


@contextlib.contextmanager
def _as_errors(address: Address) -> Iterator[None]:
    """Say in a line what a network, a server or a kernel did not want."""
    try:
        yield
    except OSError as error:
        by = "" if address.device is None else f" by the interface {address.device}"
        raise MeasureError(f"{address}: no connection{by} ({reason(error)})") from None
    except ProtocolError as error:
        raise MeasureError(f"{address}: {error}") from None
    except Problem as problem:
        raise RefusedError(f"this computer: {problem}", next(map(str, problem.key), None)) from None
    except RefusedError as error:
        raise RefusedError(f"{address}: {error}", error.key) from None
    except (KeyError, TypeError, ValueError) as error:
        raise MeasureError(f"{address}: the server says what no server of this kind does ({error})") from None


def _introduced(control: socket.socket, token: bytes) -> Welcome:
    """Prove the token, and have it proven; what the server says of itself."""
    own = secret.nonce()
    hello = {"type": "hello", "version": frames.VERSION, "nonce": own.hex(), "padding": ""}
    hello["padding"] = " " * (_PADDED - len(frames.pack(hello)))
    control.settimeout(_ANSWER_S)
    control.sendall(frames.CONTROL + frames.pack(hello))
    theirs = bytes.fromhex(_hear(control, "challenge")["nonce"])
    if len(theirs) != secret.NONCE:
        raise ProtocolError("the challenge of the server is too short")
    _say(control, {"type": "proof", "proof": secret.proof(token, "client", theirs, own)})
    said = _hear(control, "welcome")
    if not secret.proven(token, "server", theirs, own, said.get("proof")):
        raise RefusedError("the server does not know the token", "token")
    return welcome.heard(said)


def _say(control: socket.socket, message: Message) -> None:
    frames.send(control, message, _ANSWER_S)


def _hear(control: socket.socket, kind: str) -> Message:
    """The next message, which has to be of this kind."""
    message = frames.receive(control, frames.ANSWERED, _ANSWER_S)
    if message["type"] == "refused":
        key = message.get("key")
        raise RefusedError(
            f"the server refuses: {reported.words(message.get('reason'))}", key if isinstance(key, str) else None
        )
    if message["type"] != kind:
        raise ProtocolError(f"the server says {reported.words(message['type'])[:20]!r} where {kind!r} was expected")
    return message


def _part(control: socket.socket) -> None:
    """Say goodbye, and wait until the server has made room for the next client, which may be this one's next test."""
    _say(control, {"type": "bye"})
    control.settimeout(_ANSWER_S)
    with contextlib.suppress(OSError):
        control.recv(1)


def _clocks(control: socket.socket) -> clock.Offset:
    found = []
    for _ in range(clock.EXCHANGES):
        asked = time.monotonic_ns()
        _say(control, {"type": "clock"})
        answered = reported.clock(_hear(control, "clock"))
        found.append((asked, answered, time.monotonic_ns()))
    return clock.offset(found)


def _parts(control: socket.socket) -> Iterator[Message]:
    """The messages that have the samples of the server, up to its last."""
    while (message := frames.receive(control, frames.ANSWERED, _ANSWER_S))["type"] == "samples":
        yield message
    if message["type"] != "done":
        raise ProtocolError("the server did not tell of all connections")
