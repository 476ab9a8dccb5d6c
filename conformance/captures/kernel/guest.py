"""What the two hosts of a recorded path do: runs inside the guest that record.py boots, in its network namespaces.

guest.py HOST SPEC OUT       # HOST is "s", which sends all the data, or "r"; SPEC and OUT are JSON files
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any

ADDRESS = {"s": "10.7.0.2", "r": "10.9.0.2"}
PORT = 5001
EVERYTHING = 1 << 16
_WORDS = [
    "rto",
    "ato",
    "snd_mss",
    "rcv_mss",
    "unacked",
    "sacked",
    "lost",
    "retrans",
    "fackets",
    "last_data_sent",
    "last_ack_sent",
    "last_data_recv",
    "last_ack_recv",
    "pmtu",
    "rcv_ssthresh",
    "rtt",
    "rttvar",
    "snd_ssthresh",
    "snd_cwnd",
    "advmss",
    "reordering",
    "rcv_rtt",
    "rcv_space",
    "total_retrans",
]
_MORE = [
    "pacing_rate",
    "max_pacing_rate",
    "bytes_acked",
    "bytes_received",
    "segs_out",
    "segs_in",
    "notsent_bytes",
    "min_rtt",
    "data_segs_in",
    "data_segs_out",
    "delivery_rate",
    "busy_time",
    "rwnd_limited",
    "sndbuf_limited",
    "delivered",
    "delivered_ce",
    "bytes_sent",
    "bytes_retrans",
    "dsack_dups",
    "reord_seen",
]


def tcp_info(connection: socket.socket) -> dict[str, int]:
    """TCP_INFO of Linux 6.12, by the names of struct tcp_info."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    words = struct.unpack_from("<24I", raw, 8)
    more = struct.unpack_from("<4Q6I4Q2I2Q2I", raw, 104)
    return {**dict(zip(_WORDS, words, strict=True)), **dict(zip(_MORE, more, strict=True))}


def _settled(connection: socket.socket, until: float) -> dict[str, int]:
    """TCP_INFO once everything is acknowledged, or when the time is over."""
    while True:
        info = tcp_info(connection)
        if (info["unacked"] == 0 and info["notsent_bytes"] == 0) or time.monotonic() > until:
            return info
        time.sleep(0.005)


def _send(connection: socket.socket, what: dict[str, Any]) -> None:
    """The data of one connection."""
    size, chunk = what["bytes"], what.get("chunk", 0)
    if not chunk:
        connection.sendall(bytes(size))
        return
    for k in range(size // chunk):
        if k:
            time.sleep(what["interval"])
        connection.sendall(bytes(chunk))


def _wanted(connection: socket.socket, size: int) -> bool:
    while size > 0:
        got = len(connection.recv(min(size, EVERYTHING)))
        if not got:
            return False
        size -= got
    return True


def _sender(connection: socket.socket, what: dict[str, Any], until: float) -> dict[str, int]:
    connection.settimeout(max(0.1, until - time.monotonic()))
    if "request" in what:
        while _wanted(connection, what["request"]):
            _send(connection, what)
        return tcp_info(connection)
    _send(connection, what)
    connection.shutdown(socket.SHUT_WR)
    info = _settled(connection, until)
    _wanted(connection, EVERYTHING)
    return info


def _receiver(connection: socket.socket, what: dict[str, Any]) -> None:
    if "request" in what:
        for k in range(what["count"]):
            if k:
                time.sleep(what["think"])
            connection.sendall(bytes(what["request"]))
            _wanted(connection, what["bytes"])
        return
    turn, pause = what.get("turn", EVERYTHING), what.get("pause", 0)
    while _wanted(connection, turn):
        if pause:
            time.sleep(pause)


def _open(host: str, number: int, what: dict[str, Any]) -> socket.socket:
    """The connection, from whichever end it is opened."""
    opener = "r" if "request" in what else "s"
    own = socket.socket()
    if host == "s":
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, what["cc"].encode())
        if what.get("nodelay"):
            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    elif what.get("receive_buffer"):
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, what["receive_buffer"])
    if host == opener:
        time.sleep(what["start"] + 0.3)
        own.bind((ADDRESS[host], 40000 + number))
        own.connect((ADDRESS["s" if host == "r" else "r"], PORT + number))
        return own
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    own.bind((ADDRESS[host], PORT + number))
    own.listen(4)
    connection = own.accept()[0]
    own.close()
    return connection


def main(host: str, spec: str, out: str) -> None:
    """Plays all connections of a path."""
    document = json.loads(Path(spec).read_text())
    until = time.monotonic() + document["duration"]
    done: list[dict[str, Any]] = []

    def play(number: int, what: dict[str, Any]) -> None:
        found: dict[str, Any] = {"connection": number}
        try:
            connection = _open(host, number, what)
            if host == "s":
                found["tcp_info"] = _sender(connection, what, until)
            else:
                _receiver(connection, what)
            connection.close()
        except OSError as error:
            found["error"] = str(error)
        done.append(found)

    threads = [
        threading.Thread(target=play, args=(number, what), daemon=True)
        for number, what in enumerate(document["connections"])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    done.sort(key=lambda found: int(found["connection"]))
    Path(out).write_text(json.dumps(done))


if __name__ == "__main__":
    main(*sys.argv[1:4])
