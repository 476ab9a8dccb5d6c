"""What the kernel says of a connection: ``struct tcp_info`` of Linux (include/uapi/linux/tcp.h).

The structure has only ever grown at its end, so that a shorter one is an older one: what it lacks is ``None``.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Sequence

MEMBERS: tuple[tuple[str, str], ...] = (
    ("state", "B"),
    ("ca_state", "B"),
    ("retransmits", "B"),
    ("probes", "B"),
    ("backoff", "B"),
    ("options", "B"),
    ("wscale", "B"),
    ("flags", "B"),
    ("rto", "I"),
    ("ato", "I"),
    ("snd_mss", "I"),
    ("rcv_mss", "I"),
    ("unacked", "I"),
    ("sacked", "I"),
    ("lost", "I"),
    ("retrans", "I"),
    ("fackets", "I"),
    ("last_data_sent", "I"),
    ("last_ack_sent", "I"),
    ("last_data_recv", "I"),
    ("last_ack_recv", "I"),
    ("pmtu", "I"),
    ("rcv_ssthresh", "I"),
    ("rtt", "I"),
    ("rttvar", "I"),
    ("snd_ssthresh", "I"),
    ("snd_cwnd", "I"),
    ("advmss", "I"),
    ("reordering", "I"),
    ("rcv_rtt", "I"),
    ("rcv_space", "I"),
    ("total_retrans", "I"),
    ("pacing_rate", "Q"),
    ("max_pacing_rate", "Q"),
    ("bytes_acked", "Q"),
    ("bytes_received", "Q"),
    ("segs_out", "I"),
    ("segs_in", "I"),
    ("notsent_bytes", "I"),
    ("min_rtt", "I"),
    ("data_segs_in", "I"),
    ("data_segs_out", "I"),
    ("delivery_rate", "Q"),
    ("busy_time", "Q"),
    ("rwnd_limited", "Q"),
    ("sndbuf_limited", "Q"),
    ("delivered", "I"),
    ("delivered_ce", "I"),
    ("bytes_sent", "Q"),
    ("bytes_retrans", "Q"),
    ("dsack_dups", "I"),
    ("reord_seen", "I"),
    ("rcv_ooopack", "I"),
    ("snd_wnd", "I"),
    ("rcv_wnd", "I"),
    ("rehash", "I"),
    ("total_rto", "H"),
    ("total_rto_recoveries", "H"),
    ("total_rto_time", "I"),
)
"""The members as the kernel names them, without ``tcpi_``, and the sizes of each. Bit fields share a byte."""


def _offsets() -> dict[str, int]:
    found, end = {}, 0
    for name, kind in MEMBERS:
        size = struct.calcsize(kind)
        found[name] = end + -end % size  # each lies at a multiple of its size
        end = found[name] + size
    return found


OFFSETS = _offsets()
"""Where each member begins."""

SIZE = 1024
"""What is asked for: more than any kernel has."""

FIELDS: dict[str, str] = {
    "cwnd": "snd_cwnd",
    "ssthresh": "snd_ssthresh",
    "srtt": "rtt",
    "rttvar": "rttvar",
    "min_rtt": "min_rtt",
    "rto": "rto",
    "unacked": "unacked",
    "sacked": "sacked",
    "lost": "lost",
    "retrans": "retrans",
    "total_retrans": "total_retrans",
    "bytes_acked": "bytes_acked",
    "bytes_sent": "bytes_sent",
    "bytes_retrans": "bytes_retrans",
    "bytes_received": "bytes_received",
    "segs_out": "data_segs_out",
    "segs_in": "data_segs_in",
    "delivered": "delivered",
    "delivered_ce": "delivered_ce",
    "delivery_rate": "delivery_rate",
    "pacing_rate": "pacing_rate",
    "notsent": "notsent_bytes",
    "snd_wnd": "snd_wnd",
    "rcv_space": "rcv_space",
    "rcv_rtt": "rcv_rtt",
    "busy_time": "busy_time",
    "rwnd_limited": "rwnd_limited",
    "sndbuf_limited": "sndbuf_limited",
    "reordering": "reordering",
    "reord_seen": "reord_seen",
    "dsack_dups": "dsack_dups",
    "ca_state": "ca_state",
    "snd_mss": "snd_mss",
    "rcv_ooopack": "rcv_ooopack",
    "timeouts": "total_rto",
}
"""What is kept of a sample, and the member it is. Times are us, rates B/s, windows segments, as in the kernel."""

BITS: dict[str, tuple[str, int, int]] = {
    "delivery_rate_app_limited": ("flags", 0, 1),
    "ecn_info": ("options", 3, 3),
}
"""Bits of a member: the lowest one, and which. ``ecn_info`` is 1 if ECN was agreed on, and 2 more if it was seen."""

NAMES = (*FIELDS, *BITS)
"""All fields of a sample."""

_READ = {name: (struct.Struct(f"={dict(MEMBERS)[member]}"), OFFSETS[member]) for name, member in FIELDS.items()}


def parsed(raw: bytes) -> dict[str, int | None]:
    """The fields of what the kernel gave; ``None`` for those that its structure does not reach."""
    found: dict[str, int | None] = {
        name: kind.unpack_from(raw, at)[0] if at + kind.size <= len(raw) else None for name, (kind, at) in _READ.items()
    }
    for name, (member, lowest, mask) in BITS.items():
        at = OFFSETS[member]
        bits = raw[at] if at < len(raw) else None
        if bits is not None and sys.byteorder == "big" and name == "delivery_rate_app_limited":
            bits = bits >> 7  # the first bit field is the highest bit there
        found[name] = None if bits is None else bits >> lowest & mask
    return found


def columns(samples: Iterable[bytes]) -> dict[str, list[int | None]]:
    """The fields of samples, each a list."""
    rows: Sequence[dict[str, int | None]] = [parsed(raw) for raw in samples]
    return {name: [row[name] for row in rows] for name in NAMES}
