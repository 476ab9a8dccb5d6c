"""A server of HTTP/2 over TLS that does what a test wants; the library h2 has its frames and states (RFC 9113)."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, Event, RequestReceived, StreamReset
from h2.exceptions import ProtocolError

from getting import Asked, Served, Wish, answer

# Types and flags of frames (RFC 9113 §6).
DATA_FRAME, RST_STREAM, GOAWAY, WINDOW_UPDATE = 0, 3, 7, 8
END_STREAM = 1
LOOPBACK = "127.0.0.1"
LOOK_S = 0.02
"""How often a connection without work looks whether the server ends."""


def frame(kind: int, stream: int, payload: bytes, flags: int = 0) -> bytes:
    """A frame as it is sent, whether it is allowed or not (RFC 9113 §4.1)."""
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


def reset(stream: int, code: ErrorCodes) -> bytes:
    """RST_STREAM (RFC 9113 §6.4)."""
    return frame(RST_STREAM, stream, code.to_bytes(4))


def goaway(last_stream: int, code: ErrorCodes) -> bytes:
    """GOAWAY (RFC 9113 §6.8)."""
    return frame(GOAWAY, 0, last_stream.to_bytes(4) + code.to_bytes(4))


@dataclass
class Trouble:
    """What comes in the middle of an answer."""

    after: int
    """Bytes of the body before it."""
    said: Callable[[int], bytes]
    """What is sent then, by the number of the stream."""
    ends_stream: bool = True
    """Whether the rest of the body does not come."""
    ends_connection: bool = False


@dataclass
class Wish2(Wish):
    """What the server does."""

    trouble: Callable[[int], Trouble | None] = lambda number: None
    """By the number of the answer."""
    end_alone: bool = False
    """The end of a body is a frame without bytes, as many servers send it."""
    lump: int = 16_384
    """Most bytes of a frame."""
    hollow: bool = False
    """Frames without bytes come, and nothing else of the body."""
    greeting: bytes | None = None
    """Sent instead of HTTP/2."""
    length: bool = True
    """Whether an answer says how long it is."""


class Served2(Served):
    """A running server: what was asked of it, and how."""

    def __init__(self, wish: Wish2, url: str) -> None:
        super().__init__(wish, url)
        self.wish: Wish2 = wish
        self.connections = 0
        self.at_a_time = 0
        """Most answers that one connection had under way."""
        self.allowed: list[int] = []
        """Bytes that could be sent at the beginning of each answer without hearing from the client."""
        self.held = 0
        """Times that nothing could be sent before the client let more be sent."""
        self.stopped = threading.Event()


@dataclass
class _Answer:
    stream: int
    left: memoryview
    trouble: Trouble | None
    sent: int = 0
    held: bool = field(default=False)


class _Connection:
    def __init__(self, served: Served2, stream: ssl.SSLSocket, client: tuple[str, int]) -> None:
        self.served, self.stream, self.client = served, stream, client
        self.http = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self.answers: list[_Answer] = []
        self.ended = False

    def run(self) -> None:
        try:
            if self.served.wish.greeting is not None:
                self.stream.sendall(self.served.wish.greeting)
                while self.stream.recv(65_536) and not self.served.stopped.is_set():
                    pass
                return
            self.http.initiate_connection()
            self.flush()
            while not (self.ended or self.served.stopped.is_set()):
                busy = False
                for answered in list(self.answers):
                    busy |= self.more(answered)
                if self.stream.pending() or select.select([self.stream], [], [], 0 if busy else LOOK_S)[0]:
                    self.heard()
        except (OSError, ProtocolError):
            pass  # the client left
        finally:
            for answered in list(self.answers):
                self.done(answered)

    def flush(self) -> None:
        self.stream.sendall(self.http.data_to_send())

    def heard(self) -> None:
        data = self.stream.recv(65_536)
        self.ended = not data
        for event in self.http.receive_data(data):
            self.happened(event)
        self.flush()

    def happened(self, event: Event) -> None:
        if isinstance(event, RequestReceived):
            self.asked(event)
        elif isinstance(event, StreamReset):
            for answered in [other for other in self.answers if other.stream == event.stream_id]:
                self.done(answered)
        elif isinstance(event, ConnectionTerminated):
            self.ended = True

    def asked(self, event: RequestReceived) -> None:
        served, wish, headers = self.served, self.served.wish, Message()
        for name, value in event.headers:
            headers[str(name)] = str(value)
        with served.lock:
            number = len(served.asked)
            served.asked.append(Asked(headers[":path"], headers, self.client))
            served.active += 1
            full = wish.most is not None and served.active > wish.most
            served.refused += full
            served.at_a_time = max(served.at_a_time, len(self.answers) + 1)
            served.allowed.append(self.http.local_flow_control_window(event.stream_id))
        if wish.before:
            wish.before(number)
        status, said, body = (wish.full, {"Content-Length": "0"}, b"") if full else answer(wish, headers)
        answered = _Answer(event.stream_id, memoryview(body), wish.trouble(number))
        self.answers.append(answered)
        if not wish.length:
            said.pop("Content-Length", None)
        fields = [(":status", str(status)), *((name.lower(), value) for name, value in said.items())]
        self.http.send_headers(event.stream_id, fields)
        self.flush()

    def done(self, answered: _Answer) -> None:
        self.answers.remove(answered)
        with self.served.lock:
            self.served.active -= 1

    def more(self, answered: _Answer) -> bool:
        """Sends a lump; whether there was one to send."""
        wish, stream, trouble = self.served.wish, answered.stream, answered.trouble
        if wish.hollow:
            self.http.send_data(stream, b"")
            self.flush()
            time.sleep(LOOK_S)
            return True
        until = len(answered.left)
        if trouble:
            if answered.sent >= trouble.after:
                answered.trouble = None
                self.stream.sendall(trouble.said(stream))
                self.ended = trouble.ends_connection
                if trouble.ends_stream:
                    self.done(answered)
                return True
            until = min(until, trouble.after - answered.sent)
        window = self.http.local_flow_control_window(stream)
        size = min(until, wish.lump, window, self.http.max_outbound_frame_size)
        if size == 0 and until > 0:
            if not answered.held:
                with self.served.lock:
                    self.served.held += 1
            answered.held = True
            return False
        answered.held = False
        over = size == len(answered.left)
        if size:
            self.http.send_data(stream, bytes(answered.left[:size]), end_stream=over and not wish.end_alone)
            # An end that is a frame of its own comes later than the bytes.
            self.flush()
        if over and (wish.end_alone or not size):
            self.http.send_data(stream, b"", end_stream=True)
            self.flush()
        answered.left = answered.left[size:]
        answered.sent += size
        with self.served.lock:
            self.served.sent += size
        if over:
            self.done(answered)
        if wish.rate:
            time.sleep(size / wish.rate)
        return True


def _connected(served: Served2, plain: socket.socket, client: tuple[str, int], context: ssl.SSLContext) -> None:
    with plain:
        plain.settimeout(30)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            stream = context.wrap_socket(plain, server_side=True)
        except OSError:
            return
        with stream:
            assert stream.selected_alpn_protocol() == "h2"
            with served.lock:
                served.connections += 1
            _Connection(served, stream, client).run()


@contextlib.contextmanager
def serving2(wish: Wish2, certificate: Path) -> Iterator[Served2]:
    """A server on this computer's loopback, which speaks nothing but HTTP/2."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.set_alpn_protocols(["h2"])
    threads: list[threading.Thread] = []
    with socket.create_server((LOOPBACK, 0), backlog=64) as listener:
        served = Served2(wish, f"https://{LOOPBACK}:{listener.getsockname()[1]}")

        def accept() -> None:
            while True:
                try:
                    plain, client = listener.accept()
                except OSError:
                    return
                threads.append(threading.Thread(target=_connected, args=(served, plain, client, context), daemon=True))
                threads[-1].start()

        acceptor = threading.Thread(target=accept, daemon=True)
        acceptor.start()
        try:
            yield served
        finally:
            served.stopped.set()
            listener.shutdown(socket.SHUT_RDWR)
            acceptor.join()
            for thread in threads:
                thread.join()
