"""The server: who may come in, and who is kept waiting for how long.

One thread listens and reads what newcomers say; each of few clients that have proven the token has a thread of its own.
Of a newcomer at most so much is sent as it has said itself, so that nobody can be made to receive more than was sent.
"""

from __future__ import annotations

import contextlib
import ipaddress
import selectors
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from ackclock.errors import InputError
from ackclock.files import reason
from ackclock.measure import frames, secret
from ackclock.measure.frames import ProtocolError
from ackclock.measure.session import Session, Terms

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

PORT = 5301

HELLO_S = 5.0
"""Within this time a newcomer has proven the token, or is gone."""

PENDING = 64
"""Newcomers at a time; one more takes the place of the oldest."""

LEAST_RATE = 64_000
"""Of a client in bit/s: with less a test would end as one in which nothing moves."""

_FIRST = 4096
"""Bytes of a message of a newcomer."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a server was told: address, who may come, and the caps (`terms`). `expire` in s."""

    bind: str = "127.0.0.1"
    port: int = PORT
    allow: Sequence[Network] = ()
    token: bytes | None = None
    clients: int = 1
    expire: float | None = None
    terms: Terms = field(default_factory=Terms)

    def checked(self) -> Settings:
        """The same, if it is safe. Raises :class:`InputError`."""
        try:
            address = ipaddress.ip_address(self.bind)
        except ValueError:
            raise InputError(
                f"'{self.bind}' is no address", "give one in numbers, such as 0.0.0.0", key="--bind"
            ) from None
        if not address.is_loopback and self.token is None and not self.allow:
            remedy = "give --token FILE, or say who may come: --allow 192.0.2.0/24"
            raise InputError(f"anybody could have data sent from {address}", remedy, key="--bind")
        if not 0 <= self.port < 1 << 16:
            raise InputError(f"{self.port} is no port", "give one from 1 to 65535", key="--port")
        if self.clients < 1:
            raise InputError(f"{self.clients} clients are none", "give a number above 0", key="--max-clients")
        if self.terms.rate is not None and self.terms.rate < LEAST_RATE * self.clients:
            problem = f"{self.terms.rate} bit/s among {self.clients} clients are too little to measure anything"
            raise InputError(problem, f"give at least {LEAST_RATE // 1000} kbit/s for each of them", key="--max-rate")
        return self


class _TokenError(ProtocolError):
    """A newcomer does not know the token."""


@dataclass(slots=True)
class _Newcomer:
    """A connection whose other end has proven nothing."""

    sock: socket.socket
    until: float
    buffer: bytearray = field(default_factory=bytearray)
    heard: int = 0
    said: int = 0
    kind: bytes = b""
    nonces: tuple[bytes, bytes] | None = None


class Server:
    """Listens from its making on. :meth:`run` serves until :meth:`stop` or its time is up."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings.checked()
        family = socket.AF_INET6 if ":" in settings.bind else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listener.bind((settings.bind, settings.port))
            self._listener.listen(PENDING)
        except OSError as error:
            self._listener.close()
            why = reason(error)
            where = f"{settings.bind} port {settings.port}"
            raise InputError(f"cannot listen there ({why})", "give another --port or --bind", source=where) from None
        self._listener.setblocking(False)
        self._awake, self._wake = socket.socketpair()
        self._newcomers: dict[int, _Newcomer] = {}
        self._sessions: set[Session] = set()
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._stopped = False
        self.ledger = settings.terms.ledger()
        self.terms = settings.terms.of_each(settings.clients)
        """Of each client."""

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listener.getsockname()[1])

    def stop(self) -> None:
        """End it, from any thread."""
        self._stopped = True
        with contextlib.suppress(OSError):
            self._wake.send(b"\0")

    def run(self) -> None:
        """Serve until it is stopped or expires; what was open is closed then."""
        end = None if self._settings.expire is None else time.monotonic() + self._settings.expire
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._awake, selectors.EVENT_READ)
        try:
            while not self._stopped and (end is None or time.monotonic() < end):
                self._turn(end)
        finally:
            self._close()

    def _turn(self, end: float | None) -> None:
        times = [newcomer.until for newcomer in self._newcomers.values()]
        times += [end] if end is not None else []
        wait = max(0.0, min(times) - time.monotonic()) if times else None
        for key, _ in self._selector.select(wait):
            if key.fileobj is self._listener:
                self._accept()
            elif key.fd in self._newcomers:
                self._hear(self._newcomers[key.fd])
        now = time.monotonic()
        for newcomer in [item for item in self._newcomers.values() if item.until <= now]:
            self._drop(newcomer)

    def _accept(self) -> None:
        try:
            sock, address = self._listener.accept()
        except OSError:  # it has gone, or there are no descriptors left: others go first
            if self._newcomers:
                self._drop(next(iter(self._newcomers.values())))
            return
        if self._settings.allow and not _within(address[0], self._settings.allow):
            sock.close()
            return
        if len(self._newcomers) >= PENDING:
            self._drop(next(iter(self._newcomers.values())))
        sock.setblocking(False)
        self._newcomers[sock.fileno()] = _Newcomer(sock, time.monotonic() + HELLO_S)
        self._selector.register(sock, selectors.EVENT_READ)

    def _forget(self, newcomer: _Newcomer) -> socket.socket:
        self._selector.unregister(newcomer.sock)
        del self._newcomers[newcomer.sock.fileno()]
        return newcomer.sock

    def _drop(self, newcomer: _Newcomer) -> None:
        self._forget(newcomer).close()

    def _hear(self, newcomer: _Newcomer) -> None:
        # Of a data connection no byte of data is taken: whoever reads it next wants to count it.
        whole = frames.COOKIE + 1 + (0 if newcomer.kind else len(frames.DATA))
        most = _FIRST if newcomer.kind == frames.CONTROL else whole - len(newcomer.buffer)
        try:
            part = newcomer.sock.recv(most)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        if not part:
            self._drop(newcomer)
            return
        newcomer.buffer += part
        newcomer.heard += len(part)
        try:
            self._understand(newcomer)
        except _TokenError as error:
            self._refuse(newcomer, str(error), "token")
        except ProtocolError as error:
            self._refuse(newcomer, str(error))

    def _understand(self, newcomer: _Newcomer) -> None:
        """What a newcomer has said so far. Raises :class:`ProtocolError`."""
        if not newcomer.kind:
            if len(newcomer.buffer) < len(frames.CONTROL):
                return
            newcomer.kind = bytes(newcomer.buffer[:4])
            del newcomer.buffer[:4]
            if newcomer.kind not in (frames.CONTROL, frames.DATA):
                self._drop(newcomer)
                return
        if newcomer.kind == frames.DATA:
            if len(newcomer.buffer) == frames.COOKIE + 1:
                self._joined(newcomer)
            return
        message = frames.split(newcomer.buffer, _FIRST)
        if message is None:
            if len(newcomer.buffer) > _FIRST + 4:
                raise ProtocolError("too much was said before the token")
            return
        if newcomer.nonces is None:
            self._hello(newcomer, message)
        else:
            self._proof(newcomer, message)

    def _hello(self, newcomer: _Newcomer, message: frames.Message) -> None:
        if message.get("version") != frames.VERSION or isinstance(message.get("version"), bool):
            raise ProtocolError(f"this server speaks version {frames.VERSION}")
        try:
            theirs = bytes.fromhex(message["nonce"])
        except (KeyError, TypeError, ValueError):
            theirs = b""
        if message["type"] != "hello" or len(theirs) != secret.NONCE:
            raise ProtocolError("a hello with a nonce was expected")
        newcomer.nonces = (secret.nonce(), theirs)
        answer = {"type": "challenge", "version": frames.VERSION, "nonce": newcomer.nonces[0].hex()}
        if not self._say(newcomer, answer):
            self._drop(newcomer)

    def _proof(self, newcomer: _Newcomer, message: frames.Message) -> None:
        assert newcomer.nonces is not None
        token = self._settings.token or b""
        if message["type"] != "proof" or not secret.proven(token, "client", *newcomer.nonces, message.get("proof")):
            raise _TokenError("the token is not that of this server")
        if newcomer.buffer:
            raise ProtocolError("something was said before the answer")
        sock = self._forget(newcomer)
        with self._lock:
            room = len(self._sessions) < self._settings.clients
            if room:
                own = secret.proof(token, "server", *newcomer.nonces)
                session = Session(sock, self.terms, self.ledger, own, self._ended)
                self._sessions.add(session)
        if room:
            session.start()
        else:
            _last(sock, "this server has as many clients as it takes; try again later")

    def _joined(self, newcomer: _Newcomer) -> None:
        """A data connection: it belongs to the test that has its cookie."""
        cookie, number = bytes(newcomer.buffer[:-1]), newcomer.buffer[-1]
        with self._lock:
            owner = next((session for session in self._sessions if session.wants(cookie, number)), None)
        sock = self._forget(newcomer)
        if owner is None or not owner.join(cookie, number, sock):
            sock.close()

    def _ended(self, session: Session) -> None:
        with self._lock:
            self._sessions.discard(session)

    def _say(self, newcomer: _Newcomer, message: frames.Message) -> bool:
        """Say something to a newcomer, unless that were more than it has said itself."""
        text = frames.pack(message)
        if newcomer.said + len(text) > newcomer.heard:
            return False
        newcomer.said += len(text)
        with contextlib.suppress(OSError):
            return newcomer.sock.send(text) == len(text)
        return False

    def _refuse(self, newcomer: _Newcomer, reason: str, key: str | None = None) -> None:
        self._say(newcomer, {"type": "refused", "reason": reason} | ({} if key is None else {"key": key}))
        self._drop(newcomer)

    def _close(self) -> None:
        for newcomer in list(self._newcomers.values()):
            self._drop(newcomer)
        with self._lock:
            sessions = list(self._sessions)
        for session in sessions:
            session.end()
        for session in sessions:
            session.join_thread()
        self._selector.close()
        for sock in (self._listener, self._awake, self._wake):
            sock.close()


def _within(address: str, networks: Sequence[Network]) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None)
    found = mapped if mapped is not None else found
    return any(found in network for network in networks)


def _last(sock: socket.socket, reason: str) -> None:
    """Say why, and close."""
    with contextlib.suppress(ProtocolError):
        frames.send(sock, {"type": "refused", "reason": reason}, 1.0)
    sock.close()
