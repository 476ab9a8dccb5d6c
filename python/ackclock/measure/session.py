"""What a server does for a client that has proven the token: tells its clock, and plays tests within its caps."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ackclock.errors import Problem
from ackclock.measure import asked, context, frames, sockets, transfer
from ackclock.measure.frames import Message, ProtocolError

IDLE_S = 10.0
"""A client that says nothing for so long is gone."""

SLOWEST = 32_000
"""Bytes per second at which a report has to be read, whatever it takes less or more in between."""

_ROWS = 400
"""Samples of a connection in a message."""

_AT_ONCE = struct.pack("ii", 1, 0)
"""Of SO_LINGER: closing throws away what waits to be sent."""


@dataclass(slots=True)
class Ledger:
    """Bytes that the server has still to give, of all its clients together."""

    left: int | None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reserve(self, wanted: int | None) -> int | None:
        """Take as many as there are, at most `wanted`: two clients at a time share what is left."""
        with self.lock:
            if self.left is None:
                return wanted
            taken = self.left if wanted is None else min(self.left, wanted)
            self.left -= taken
            return taken

    def give_back(self, unused: int) -> None:
        """What of a reservation was not needed."""
        with self.lock:
            if self.left is not None:
                self.left += unused


@dataclass(frozen=True, slots=True)
class Terms:
    """The caps of a server: `rate` of all tests together in bit/s, bytes of a test, and of all tests together."""

    rate: int | None = None
    bytes_of_test: int | None = None
    bytes_in_all: int | None = None

    def ledger(self) -> Ledger:
        """One for the life of a server."""
        return Ledger(self.bytes_in_all)

    def of_each(self, clients: int) -> Terms:
        """Those of each of so many clients at a time, who make a test each: the rate is divided among them.

        It is not shared as they come and go: what a test may have does not depend on who else measures.
        """
        return self if self.rate is None else dataclasses.replace(self, rate=self.rate // clients)


class Session:
    """A client, with a thread of its own."""

    def __init__(
        self, sock: socket.socket, terms: Terms, ledger: Ledger, proof: str, ended: Callable[[Session], None]
    ) -> None:
        self._sock = sock
        self._terms = terms
        self._ledger = ledger
        self._proof = proof
        self._ended = ended
        self._cookie: bytes | None = None
        self._wanted = 0
        self._there: dict[int, socket.socket] = {}
        self._arrival = threading.Condition()
        self._thread = threading.Thread(target=self._serve, name="ackclock-measure-client", daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def end(self) -> None:
        """Let it end soon, from another thread."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        with self._arrival:
            for sock in self._there.values():
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
            self._cookie = None
            self._arrival.notify_all()

    def join_thread(self) -> None:
        """Wait until it has ended."""
        self._thread.join()

    def wants(self, cookie: bytes, number: int) -> bool:
        """Whether a data connection with this cookie and number is one of its own that is not there yet."""
        with self._arrival:
            known = self._cookie is not None and secrets.compare_digest(self._cookie, cookie)
            return known and number < self._wanted and number not in self._there

    def join(self, cookie: bytes, number: int, sock: socket.socket) -> bool:
        """Take a data connection. False if it is not wanted any more."""
        with self._arrival:
            if not self.wants(cookie, number):
                return False
            self._there[number] = sock
            self._arrival.notify_all()
        return True

    def _serve(self) -> None:
        try:
            self._say(self._welcome())
            patience = IDLE_S
            while True:
                message = frames.receive(self._sock, frames.ASKED, patience)
                self._clear()  # whoever asks for more has read what there was
                patience = IDLE_S
                if message["type"] == "clock":
                    self._say({"type": "clock", "ns": time.monotonic_ns()})
                elif message["type"] == "test":
                    patience += self._test({key: value for key, value in message.items() if key != "type"})
                elif message["type"] == "bye":
                    return
                else:
                    raise ProtocolError("a message of a kind that this server does not know")
        except ProtocolError as error:
            with contextlib.suppress(ProtocolError):
                self._say({"type": "refused", "reason": str(error)})
        finally:
            self._clear()
            self._ended(self)
            self._sock.close()  # last: whoever sees it finds room

    def _say(self, message: Message) -> None:
        frames.send(self._sock, message, IDLE_S)

    def _welcome(self) -> Message:
        return {
            "type": "welcome",
            "version": frames.VERSION,
            "proof": self._proof,
            **context.of_server(self._sock.getsockname()[0]),
            "cc": sockets.controllers(),
            "rate": self._terms.rate,
            "bytes": self._terms.bytes_of_test,
        }

    def _test(self, wanted: dict[str, Any]) -> float:
        """One test, or why not: then the client may ask for another one.

        For how many seconds its client may have to read on: where bytes ended it before its time, what is under way is
        the client's. Otherwise nothing is left of its connections.
        """
        try:
            test = asked.checked(wanted)
            sockets.check(test.options)
            most = self._ledger.reserve(self._terms.bytes_of_test)
            if most == 0:
                raise Problem("this server has given all the bytes that it was told to", "ask who runs it")
        except Problem as problem:
            self._say(_refusal(problem))
            return 0.0
        unused, left = most, 0
        try:
            connections = self._gathered(test)
            if connections is None:
                return 0.0
            limits = transfer.Limits(test.duration_ns, test.warmup_ns, test.interval_ns, self._terms.rate, most)
            load = os.getloadavg()[0]
            outcome = transfer.Transfer(connections, limits).run()
            if most is not None:
                unused = max(0, most - sum(connection.moved for connection in connections))
                left = max(0, test.duration_ns - outcome.took) if not unused else 0
            if not left:
                self._clear()
            self._report(connections, outcome, load)
            return left / 1e9
        finally:
            if unused is not None:
                self._ledger.give_back(unused)
            if not left:
                self._clear()

    def _gathered(self, test: asked.Asked) -> list[transfer.Connection] | None:
        """The data connections of a test, in order, when all are there and the client says so."""
        cookie = secrets.token_bytes(frames.COOKIE)
        with self._arrival:
            self._cookie, self._wanted = cookie, test.total
        self._say({"type": "ready", "cookie": cookie.hex()})
        with self._arrival:
            here = self._arrival.wait_for(lambda: len(self._there) == test.total or self._cookie is None, IDLE_S)
            if not here or self._cookie is None:
                raise ProtocolError(f"{len(self._there)} of {test.total} data connections have come in time")
            found = sorted(self._there.items())
        connections = [transfer.Connection(sock, test.down(number)) for number, sock in found]
        try:
            for connection in connections:
                sockets.apply(connection.sock, test.options.model_copy(update={"mss": None}))
        except Problem as problem:
            self._say(_refusal(problem))
            return None
        self._say({"type": "all", "cc": sockets.in_force(connections[0].sock)})
        if frames.receive(self._sock, frames.ASKED, IDLE_S)["type"] != "start":
            raise ProtocolError("a start was expected")
        return connections

    def _report(self, connections: list[transfer.Connection], outcome: transfer.Outcome, load: float) -> None:
        """Tell what was seen here: first the whole, then the samples in parts."""
        told = frames.Report(self._sock, IDLE_S, SLOWEST)
        told.send(
            {
                "type": "ended",
                "begun_ns": outcome.begun,
                "begun_unix_s": outcome.begun_unix_s,
                "took_ns": outcome.took,
                "cpu_s": outcome.cpu_s,
                "load": load,
                "ended": outcome.ended,
            }
        )
        for number, connection in enumerate(connections):
            for message in _parts(number, transfer.report(connection)):
                told.send(message)
        told.send({"type": "done"})

    def _clear(self) -> None:
        """Close the data connections at once: the kernel would go on sending, for as long as somebody reads slowly."""
        with self._arrival:
            for sock in self._there.values():
                with contextlib.suppress(OSError):  # one that a receiver has closed
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
                sock.close()
            self._there.clear()
            self._cookie, self._wanted = None, 0


def _refusal(problem: Problem) -> Message:
    """What a client is told of a test that is not made: why, and which key of a test it is about, if one."""
    return {"type": "refused", "reason": str(problem), "key": next(map(str, problem.key), None)}


def _parts(number: int, whole: dict[str, Any]) -> list[Message]:
    """The report of a connection in messages that are short enough."""
    rows = len(whole["time_ns"])
    return [
        {
            "type": "samples",
            "number": number,
            **whole,
            **{key: whole[key][at : at + _ROWS] for key in ("time_ns", "so_far")},
            "fields": {name: values[at : at + _ROWS] for name, values in whole["fields"].items()},
        }
        for at in range(0, max(1, rows), _ROWS)
    ]
