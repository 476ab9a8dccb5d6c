"""A connection of a capture in words: who limited it, what it lost, how long round trips took, what is hidden."""

from __future__ import annotations

from ackclock.errors import one_line

TYPE_CHECKING = False  # what typing says, which takes time to load
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    Row = Mapping[str, Any]

_ROOM = 11
"""Characters that the names of lines take."""

_HIDDEN = {
    "sender": "at the sender: all that it sent again is in it",
    "middle": "on the way, {before} of {whole} ms before it: what was lost before and sent again looks new or late; "
    "losses are a lower bound",
    "receiver": "at the receiver: what was lost on the way and sent again looks new or late here; losses are a lower "
    "bound",
    None: "at an unknown place, as no round trip could be measured on both sides of it",
}


def lines(row: Row) -> Iterator[tuple[str, str]]:
    """The lines of a connection: name and text."""
    yield "", f"{ends(row)}, {carried(row)}"
    yield "limited by", limits(row)
    yield "losses", losses(row)
    yield "RTT", round_trips(row)
    yield "seen", seen(row)
    for note in notes(row):
        yield "note", note


def said(name: str, text: str) -> str:
    """A line as it is printed, before it is folded."""
    return f"  {name:<{_ROOM}}{text}" if name else text


def ends(row: Row) -> str:
    """Who sends to whom, and what the row is called."""
    src, dst = (f"[{row[at]}]" if ":" in row[at] else row[at] for at in ("src", "dst"))
    return f"{row['id']}  {src}:{row['sport']} > {dst}:{row['dport']}"


def carried(row: Row) -> str:
    """How much in which time, and how it ended."""
    seconds = row["fct_s"] if row["completed"] and row["fct_s"] is not None else row["last_s"] - row["start_s"]
    ended = "completed" if row["completed"] else row["failed"] or "open at the end"
    return f"{size(row['goodput_bytes'])} in {duration(seconds)}, {rate(row['goodput_bps'])}, {ended}"


def limits(row: Row) -> str:
    """Who limited for which share of the time."""
    if row["limited_by"] is None:
        if row["one_sided"]:
            return "unknown: one direction alone"
        syns = (
            "with options of the SYNs cut off" if row["options_cut"] and not row["started_mid"] else "without both SYNs"
        )
        return f"unknown: {syns} the window is unknown"
    parts = {"network": "network_s", "receiver's window": "rwnd_s", "application": "app_s", "handshake": "handshake_s"}
    total = sum(row[name] for name in parts.values())
    shares = sorted(((100 * row[name] / total if total else 0.0, who) for who, name in parts.items()), reverse=True)
    whom = {"network": "network", "rwnd": "receiver's window", "app": "application"}.get(row["limited_by"], "mixed")
    whom += " after the handshake" if shares[0][1] == "handshake" else ""
    return f"{whom}: {', '.join(f'{who} {share:.3g} %' for share, who in shares if share > 0)}"


def losses(row: Row) -> str:
    """What was sent again and why, and what of it was needless."""
    again, sent = row["retransmitted_bytes"], row["sent_bytes"]
    late = f"{count(row['reordered_segments'], 'segment')} out of order" if row["reordered_segments"] else ""
    if not again:
        return ", ".join(part for part in ("nothing sent again", late) if part)
    causes = [
        (row["fast_segments"], "fast"),
        (row["rto_segments"], f"after {count(row['timeouts'], 'timeout')}"),
        (row["tlp_segments"], "as tail loss probes"),
        (row["unknown_segments"], "of unknown cause"),
    ]
    why = ", ".join(f"{number} {words}" for number, words in causes if number)
    needless = f"{row['spurious_segments']} needless" if row["spurious_segments"] else "none known to be needless"
    share = 100 * again / sent if sent else 0.0
    segments = count(row["retransmitted_segments"], "segment")
    return "; ".join(part for part in (f"{share:.3g} % of bytes sent again, {segments}: {why}", needless, late) if part)


def round_trips(row: Row) -> str:
    """Percentiles of the time from here to the receiver and back."""
    if not row["rtt_samples"]:
        handshake = row["handshake_rtt_s"]
        return "unknown" if handshake is None else f"handshake {1e3 * handshake:.4g} ms"
    named = [("median", "p50_rtt_s"), ("95th", "p95_rtt_s"), ("99th", "p99_rtt_s")]
    parts = [f"{name} {1e3 * row[column]:.4g}" for name, column in named if row[column] is not None]
    spread = f"{1e3 * row['min_rtt_s']:.4g} to {1e3 * row['max_rtt_s']:.4g} ms"
    handshake = "" if row["handshake_rtt_s"] is None else f"handshake {1e3 * row['handshake_rtt_s']:.4g} ms"
    samples = count(row["rtt_samples"], "sample")
    return "; ".join(part for part in (", ".join([*parts, spread]), samples, handshake) if part)


def seen(row: Row) -> str:
    """Where the capture was taken, and what that hides."""
    up, own = row["up_rtt_s"] or 0.0, row["min_rtt_s"] or 0.0
    return _HIDDEN[row["vantage"]].format(before=f"{1e3 * up:.3g}", whole=f"{1e3 * (up + own):.3g}")


def notes(row: Row) -> Iterator[str]:
    """What weakens the figures."""
    if row["capture_incomplete"]:
        total = row["missed_bytes"] + row["sent_bytes"]
        share = 100 * row["missed_bytes"] / total if total else 0.0
        yield f"INCOMPLETE: {share:.3g} % of the bytes never passed here, but were acknowledged: losses may be larger"
    if row["sent_bytes"] and not row["goodput_bytes"]:
        yield "none of its data were acknowledged"
    if row["duplicate_packets"]:
        yield f"captured twice: {count(row['duplicate_packets'], 'packet')}, left out"
    if row["started_mid"]:
        yield "began before the capture"
    if row["evicted"]:
        yield "written out early, as there were too many connections at a time"
    if row["irregular"]:
        yield "more holes at a time than are kept"
    if row["stray"]:
        yield f"{count(row['stray'], 'packet')} with numbers far from the others, left out"
    if row["time_back"]:
        yield f"{count(row['time_back'], 'packet')} earlier than the one before: --sort N puts them in order"
    if row["options_cut"]:
        yield f"{count(row['options_cut'], 'packet')} with options cut off: a larger snaplen keeps SACK and timestamps"


def count(number: int, what: str) -> str:
    """So many of something: ``1 segment``, ``12 345 packets``."""
    return one_line(f"{number:,} {what}{'' if number == 1 else 's'}".replace(",", "\N{NO-BREAK SPACE}"))


def size(number: float) -> str:
    """Bytes with three digits."""
    return _scaled(number, "B")


def rate(bps: float) -> str:
    """Bits per second with three digits."""
    return _scaled(bps, "bit/s")


def duration(seconds: float) -> str:
    """A time with four digits: ``1.699 s``, ``12.5 ms``, ``16 µs``."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= (0.1 if unit == "s" else 1.0) * factor:
            return f"{seconds / factor:.4g} {unit}"
    return f"{seconds * 1e6:.4g} µs" if seconds > 0 else "0 s"


def _scaled(value: float, unit: str) -> str:
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"
