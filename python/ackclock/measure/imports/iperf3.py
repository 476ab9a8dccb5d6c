"""Results of iperf3 (``iperf3 --json``), of either end; one after the other in a file, as logs have them.

Goodput is the receiver's: its bytes over its own time. What iperf3 calls sent bytes are those that the program gave to
its kernel, not those that left it, and are not taken for the latter.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ackclock.errors import InputError
from ackclock.measure.imports.measured import Sample, Test, text_of

_US = 1e-6

_SENDER: Mapping[str, tuple[str, float]] = {
    "cwnd": ("snd_cwnd", 1.0),
    "snd_wnd": ("snd_wnd", 1.0),
    "srtt": ("rtt", _US),
    "rttvar": ("rttvar", _US),
}
"""Series of a sender: the key of an interval, and how much one of it is in base units."""


def read(path: Path) -> list[Test]:
    """The tests of a file. Raises :class:`InputError`, with the file and what is wrong with it."""
    return [of_document(path.name, document) for document in _documents(path)]


def _documents(path: Path) -> Iterator[Mapping[str, Any]]:
    text, at = text_of(path), 0
    if not text.strip():
        raise _wrong(path, "is empty")
    decoder = json.JSONDecoder()
    while (at := _next(text, at)) < len(text):
        try:
            document, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise _wrong(path, f"no JSON at character {at} ({error})") from None
        if not isinstance(document, dict) or not isinstance(document.get("start"), dict):
            raise _wrong(path, "no result of iperf3: it has no 'start'")
        yield document
        at = _next(text, at)


def _next(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _wrong(path: Path, problem: str) -> InputError:
    return InputError(problem, "give what iperf3 --json has written", source=str(path))


def of_document(source: str, document: Mapping[str, Any]) -> Test:
    """The test of a JSON document; one that has no result says why."""
    start = document.get("start", {})
    tool = str(start.get("version", "iperf 3"))
    asked = start.get("test_start")
    if "error" in document or not isinstance(asked, dict):
        return Test(source, tool, problem=f"iperf3: {document.get('error', 'the test was not begun')}")
    try:
        return _read(source, tool, document, asked)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return Test(source, tool, problem=f"not what iperf3 writes ({type(error).__name__}: {error})")


def _read(source: str, tool: str, document: Mapping[str, Any], asked: Mapping[str, Any]) -> Test:
    end, of_server = document["end"], "accepted_connection" in document["start"]
    udp = asked["protocol"] == "UDP"
    ends = end.get("streams", [])
    downs = [_is_down(stream, asked, of_server) for stream in ends]
    # The flows from the server first, as everywhere.
    order = sorted(range(len(ends)), key=lambda number: not downs[number])
    notes: list[str] = []
    cc = str(end.get("sender_tcp_congestion", "unknown"))
    flows = [_flow(str(place), ends[number], notes, udp=udp, cc=cc) for place, number in enumerate(order)]
    place_of = {_socket(ends[number]): str(place) for place, number in enumerate(order)}
    other = document.get("server_output_json")
    samples = list(_samples(document, place_of))
    if isinstance(other, dict):
        sockets = [_socket(stream) for stream in other["end"]["streams"]]
        samples += _samples(other, {sock: place_of[_socket(mine)] for sock, mine in zip(sockets, ends, strict=True)})
    ways = {"down" if down else "up" for down in downs}
    began = document["start"].get("timestamp", {}).get("timesecs")
    warmup = float(asked.get("omit", 0))
    for row, windows in zip(flows, _windows(samples, len(flows)), strict=True):
        row["mean_cwnd_bytes"] = windows
    return Test(
        source,
        tool,
        {
            "connections": int(asked["num_streams"]),
            "direction": "both" if len(ways) > 1 else next(iter(ways), "up"),
            "cc": "none" if udp else cc,
            "protocol": str(asked["protocol"]),
        },
        float(asked["duration"]) + warmup,
        warmup,
        None if began is None else float(began),
        flows,
        samples=samples,
        notes=tuple(dict.fromkeys(notes)),
        downs=sum(downs) if len(ways) > 1 else None,
    )


def _is_down(stream: Mapping[str, Any], asked: Mapping[str, Any], of_server: bool) -> bool:
    """Whether a stream goes from the server to the client. Older versions only say so of all of them."""
    told = stream.get("sender", stream.get("udp", {})).get("sender")
    if told is None:
        return bool(asked.get("reverse", 0))
    return bool(told) == of_server


def _socket(stream: Mapping[str, Any]) -> int:
    return int(next(iter(stream.values()))["socket"])


def _flow(name: str, stream: Mapping[str, Any], notes: list[str], *, udp: bool, cc: str) -> dict[str, Any]:
    row: dict[str, Any] = {"id": name, "app": "udp" if udp else "bulk", "start_s": 0.0, "completed": False}
    if udp:
        told = stream["udp"]
        lost, packets = int(told["lost_packets"]), int(told["packets"])
        share = (packets - lost) / packets if packets else 0.0
        notes.append("UDP: goodput is what was sent less the share of packets that were lost")
        return row | {
            "goodput_bps": 8 * float(told["bytes"]) * share / float(told["seconds"]),
            "received_packets": packets - lost,
            "lost_packets": lost,
        }
    sent, got = stream["sender"], stream.get("receiver") or {}
    row |= {
        "cc": cc,
        "retransmitted_segments": sent.get("retransmits"),
        "mean_rtt_s": _known(sent.get("mean_rtt")),
        "min_rtt_s": _known(sent.get("min_rtt")),
        "max_rtt_s": _known(sent.get("max_rtt")),
    }
    seconds = float(got.get("end", 0.0)) - float(got.get("start", 0.0))
    if seconds <= 0:
        notes.append("the receiver has not told what it got: goodput is not known")
        return row
    return row | {"goodput_bps": 8 * float(got["bytes"]) / seconds, "goodput_bytes": int(got["bytes"])}


def _known(microseconds: float | None) -> float | None:
    """A round trip in seconds; iperf3 writes 0 where it has none."""
    return None if not microseconds else float(microseconds) * _US


def _samples(document: Mapping[str, Any], place_of: Mapping[int, str]) -> Iterator[Sample]:
    """What an end has recorded of each interval, with the warm-up."""
    began, so_far, repairs = 0.0, dict[str, float](), dict[str, float]()
    omitted = float(document["start"]["test_start"].get("omit", 0))
    for interval in document["intervals"]:
        for stream in interval["streams"]:
            place = place_of.get(int(stream["socket"]))
            if place is None:
                continue
            began = 0.0 if stream.get("omitted") else omitted
            time = began + float(stream["end"])
            if "retransmits" in stream or "snd_cwnd" in stream:
                for metric, (key, unit) in _SENDER.items():
                    if stream.get(key):
                        yield time, place, metric, float(stream[key]) * unit
                repairs[place] = repairs.get(place, 0.0) + float(stream.get("retransmits", 0))
                yield time, place, "total_retrans", repairs[place]
            elif stream.get("sender") is not True:
                so_far[place] = so_far.get(place, 0.0) + float(stream["bytes"])
                yield time, place, "delivered", so_far[place]


def _windows(samples: list[Sample], count: int) -> Iterator[float | None]:
    """The mean window of each flow."""
    for number in range(count):
        found = [value for _, place, metric, value in samples if place == str(number) and metric == "cwnd"]
        yield math.fsum(found) / len(found) if found else None
