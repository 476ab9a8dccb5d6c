"""A server of HTTP that does what a test wants: pieces, a file that changes, slow, cut and wrong answers."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import json
import os
import random
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).with_name("ackclock-get")
COMMAND = Path(sys.executable).with_name("ackclock")


def content(size: int, seed: int = 1) -> bytes:
    """Bytes that are the same each time."""
    return random.Random(seed).randbytes(size)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Wish:
    """What the server does."""

    data: bytes
    etag: str | None = '"one"'
    ranges: bool = True
    headers: dict[str, str] = field(default_factory=dict)
    status: dict[str, int] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    content_range: Callable[[int, int, int], str] | None = None
    rate: float | None = None
    """Bytes per second of each connection."""
    cut: Callable[[int], int | None] | None = None
    """After how many bytes the connection of the nth answer is cut."""
    most: int | None = None
    """Answers at a time; others get `full`."""
    full: int = 503
    later: int | None = None
    """Status of answers to requests of pieces that do not begin with the first byte."""
    first: int | None = None
    """Status of answers to requests of a piece at the beginning."""
    whole: bool = True
    """Whether it gives the file to who asks for no piece; else 403."""
    hold: threading.Event | None = None
    """What the body of an answer waits for."""
    before: Callable[[int], None] | None = None
    """Called with the number of an answer before it is given."""


@dataclass
class Asked:
    """One request."""

    path: str
    headers: Message
    client: tuple[str, int]


class Served:
    """A running server: what was asked of it."""

    def __init__(self, wish: Wish, url: str) -> None:
        self.wish = wish
        self.url = url
        self.asked: list[Asked] = []
        self.active = 0
        self.refused = 0
        """Answers of no more connections."""
        self.sent = 0
        self.lock = threading.Lock()

    def pieces(self) -> list[str]:
        return [asked.headers.get("Range", "") for asked in self.asked]

    def clients(self) -> int:
        """Connections that asked for something."""
        return len({asked.client for asked in self.asked})


def answer(wish: Wish, asked: Message) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body for who asks for the file with these headers."""
    data = wish.data  # what is begun goes on with the file that it began with
    total = len(data)
    start, end, status = 0, total, 200
    piece = asked.get("Range")
    unchanged = asked.get("If-Range") in (None, wish.etag)
    if not piece and not wish.whole:
        return 403, {"Content-Length": "0"}, b""
    if piece and wish.first and piece.startswith("bytes=0-"):
        return wish.first, {"Content-Length": "0"}, b""
    if piece and wish.later and not piece.startswith("bytes=0-"):
        if wish.later != 200:
            more = {"Content-Range": f"bytes */{total}"} if wish.later == 416 else {}
            return wish.later, {"Content-Length": "0", **more}, b""
        piece = None
    if piece and wish.ranges and unchanged:
        first, last = piece.removeprefix("bytes=").split("-")
        start, end, status = int(first), min(int(last) + 1, total), 206
        if start >= total:
            return 416, {"Content-Range": f"bytes */{total}", "Content-Length": "0"}, b""
    headers = {"Content-Length": str(end - start), **wish.headers}
    if wish.ranges:
        headers["Accept-Ranges"] = "bytes"
    if wish.etag:
        headers["ETag"] = wish.etag
    if status == 206:
        said = wish.content_range(start, end, total) if wish.content_range else f"bytes {start}-{end - 1}/{total}"
        headers["Content-Range"] = said
    return status, headers, data[start:end]


def _handler(served: Served) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            wish = served.wish
            with served.lock:
                number = len(served.asked)
                served.asked.append(Asked(self.path, self.headers, self.client_address))
                served.active += 1
                full = wish.most is not None and served.active > wish.most
                served.refused += full
            try:
                if wish.before:
                    wish.before(number)
                if full:
                    self.empty(wish.full)
                elif self.path in wish.redirects:
                    self.empty(302, Location=wish.redirects[self.path])
                elif self.path in wish.status:
                    self.empty(wish.status[self.path])
                else:
                    self.file(served.wish, number)
            except OSError:
                self.close_connection = True
            finally:
                with served.lock:
                    served.active -= 1

        def empty(self, status: int, **headers: str) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": "0"}.items():
                self.send_header(name, value)
            self.end_headers()

        def file(self, wish: Wish, number: int) -> None:
            status, headers, data = answer(wish, self.headers)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if wish.hold:
                self.wfile.flush()
                wish.hold.wait(60)
            self.body(wish, data, wish.cut(number) if wish.cut else None)

        def body(self, wish: Wish, data: bytes, cut: int | None) -> None:
            lump = 16_384
            for at in range(0, len(data), lump):
                if cut is not None and at >= cut:
                    self.close_connection = True
                    return
                self.wfile.write(data[at : at + lump])
                with served.lock:
                    served.sent += lump
                if wish.rate:
                    time.sleep(lump / wish.rate)

    return Handler


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_: Any) -> None:
        pass


@contextlib.contextmanager
def serving(wish: Wish, certificate: Path | None = None) -> Iterator[Served]:
    """A server on this computer's loopback."""
    server = _Server(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    scheme = "http"
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    served = Served(wish, f"{scheme}://127.0.0.1:{server.server_address[1]}")
    server.RequestHandlerClass = _handler(served)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def environment(**more: str) -> dict[str, str]:
    """This one without proxies."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**kept, **more}


def document(url: str, folder: Path, **more: Any) -> str:
    return json.dumps({"url": url, "dir": str(folder), "max": 8, "timeout_s": 20, "retries": 5, **more})


def get(url: str, folder: Path, env: Mapping[str, str] | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
    """A download, to its end."""
    return subprocess.run(
        [PROGRAM, "run", "-"],
        input=document(url, folder, **more),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=environment(**(env or {})),
    )


def started(text: str, errors: Path = Path(os.devnull)) -> subprocess.Popen[bytes]:
    """A download that goes on beside the test."""
    with errors.open("wb") as said:
        process = subprocess.Popen([PROGRAM, "run", "-"], stdin=subprocess.PIPE, stderr=said, env=environment())
    assert process.stdin is not None
    process.stdin.write(text.encode())
    process.stdin.close()
    return process


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def certified(folder: Path) -> Path:
    """A certificate for this computer's loopback, which nobody but the test trusts, with its key."""
    key, cert, both = folder / "key.pem", folder / "cert.pem", folder / "both.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-addext", "basicConstraints=critical,CA:FALSE"]
    subprocess.run([*command, "-keyout", key, "-out", cert], check=True, capture_output=True)
    both.write_text(key.read_text() + cert.read_text())
    return both
