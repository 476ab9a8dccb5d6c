"""The recorded kernel runs whose applications limit the sender: where they are, and the same runs here.

The records are described in conformance/kernel/limited/README.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kernel_records
from kernel_records import MSS, bottleneck

RECORDS = Path(__file__).parent / "kernel" / "limited"
SAMPLE_NS = 50_000_000
"""Spacing of the recorded series."""

UNSETTLED = {"lossrr50": 8, "lossrr190": 8}
"""Transfers at the begin that are not compared: bursts of 1036 segments lose their end, and whether two of them come
behind the hole hangs on the 0.18 ms that a burst takes in the recorder (conformance/kernel/limited/README.md)."""

NOTSENT_LOWAT = 1 << 16
"""TCP_NOTSENT_LOWAT of the recorder's `onoff`: at most that much leaves after a time on."""


def names() -> list[str]:
    """Every record, `<scenario>_<module>`."""
    return kernel_records.names(RECORDS)


def record(name: str) -> Mapping[str, Any]:
    """A recorded run as it was written."""
    return kernel_records.record(name, RECORDS)


def traffic_of(name: str) -> tuple[str, list[str]]:
    """The recorder's kind of application and its arguments, in bytes and seconds."""
    kind, *arguments = record(name)["flows"][0]["traffic"].split(":")
    return kind, arguments


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


def _constant(value: float) -> dict[str, Any]:
    return {"kind": "constant", "value": value}


def _application(kind: str, arguments: list[str], end_ns: int) -> dict[str, Any]:
    """The keys of a flow that make it do what the recorder's application does."""
    values = [float(argument) for argument in arguments if argument != "nodelay"]
    app: dict[str, Any]
    match kind:
        case "rr":
            request, response, think, count = values
            app = {"kind": "request_response", "request": _constant(request), "response": _constant(response)}
            return {"app": {**app, "think": _constant(think * 1e9), "count": round(count)}}
        case "onoff":
            on, off = map(_ns, values)
            periods = [[at, min(at + on, end_ns)] for at in range(0, end_ns, on + off)]
            return {"app": {"kind": "bulk"}, "schedule": periods}
        case "paced" | "writes":
            size = round(values[1] if kind == "paced" else values[0])
            bits_per_s = values[0] if kind == "paced" else 8 * size / values[1]
            app = {"kind": "cbr", "transport": "tcp", "rate_bps": round(bits_per_s), "packet_bytes": size}
            return {"app": {**app, "phase_ns": 0, "transfers": True}}
        case "slowread":
            return {"app": {"kind": "bulk", "read_bps": round(8 * values[0])}}
        case "short":
            length, gap, most = values
            app = {"kind": "files", "arrivals": {"every_ns": _ns(gap)}, "size": _constant(length)}
            return {"app": {**app, "count": round(most)}}
    raise ValueError(f"{kind}: no such application of the recorder")


def _options(path: Mapping[str, Any], kind: str, arguments: list[str]) -> dict[str, Any]:
    """The endpoint's options that the recorder's sysctls and sockets have."""
    options: dict[str, Any] = {"receive_buffer": 1 << 28}
    if kind == "onoff":
        options["notsent_lowat"] = NOTSENT_LOWAT
    memory = path.get("sysctl", {}).get("net.ipv4.tcp_rmem")
    if memory:
        _, default, most = map(int, memory.split())
        # Half of the default buffer less one segment is offered at first.
        options |= {"receive_buffer": most, "initial_receive_window": default // 2 - MSS}
    return {**options, "nagle": "nodelay" not in arguments}


def document(name: str, *, seed: int = 1, start_ns: int = 0, tcp: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The recorded path and application; `tcp` has options besides those of the recorder's sockets."""
    run = record(name)
    path, flow = run["scenario"], run["flows"][0]
    kind, arguments = traffic_of(name)
    duration = _ns(path["duration"])
    return {
        "format": 1,
        "seed": seed,
        "duration_ns": duration,
        "links": [bottleneck(path)],
        "flows": [
            {
                "id": "0",
                "forward": [{"link": "bottleneck"}],
                "reverse": [{"delay_ns": round(flow["ack_delay_ms"] * 1e6)}],
                "start": {"at_ns": start_ns},
                "mss": MSS,
                "profile": "linux",
                "tcp": {**_options(path, kind, arguments), **(tcp or {})},
                "cc": {"name": kernel_records.CONTROLLERS[flow["cc"]]},
                **_application(kind, arguments, duration),
            }
        ],
        "probes": {"srtt": {"every_ns": SAMPLE_NS}},
    }
