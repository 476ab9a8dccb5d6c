"""Scenarios drawn at random: all controllers, slow starts, recoveries and profiles, everything that can happen to a
packet, and every application, of few packets each.

A number is a scenario, always the same one. Controllers, applications, queues and media are dealt in turn, so that
:data:`TURNS` scenarios have all of each; everything else is drawn.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import ackclock

Table = dict[str, Any]

CATALOGUE = ackclock.catalogue()
CONTROLLERS = tuple(CATALOGUE.controllers)
SLOW_STARTS = tuple(CATALOGUE.slow_starts)
PROFILES = ("rfc", "linux", "ns3", "ns2")
RECOVERIES = ("auto", "prr", "sack", "newreno", "reno", "tahoe")
QUEUES = ("droptail", "codel", "fq_codel", "red", "pie", "dualpi2", "drr", "scfq", "priority")
_OWN_LIMIT = ("codel", "fq_codel", "red", "pie", "dualpi2")
_MARKS = ("codel", "red", "pie")


def _bulk(draw: random.Random) -> Table:
    return {"app": "bulk", "bytes": f"{draw.randrange(1, 1500)} kB"}


def _short(draw: random.Random) -> Table:
    return {"app": "bulk", "bytes": f"{draw.randrange(1, 40_000)} B", "count": draw.randrange(1, 6)}


def _endless(draw: random.Random) -> Table:
    stops = {"stop": f"{draw.randrange(1500, 4000)} ms"} if draw.random() < 0.5 else {}
    return {"app": "bulk", **stops}


def _reader(draw: random.Random) -> Table:
    read = f"{draw.randrange(300, 4000)} kbit/s"
    app = {"kind": "bulk", "read": read, "read_every": f"{draw.choice((1, 10, 100, 300))} ms"}
    return {"app": app, "tcp": {"receive_buffer": f"{draw.randrange(8, 65)} kB"}}


def _paced(draw: random.Random) -> Table:
    app = {"kind": "cbr", "rate": f"{draw.randrange(50, 3000)} kbit/s", "packet": f"{draw.randrange(100, 4000)} B"}
    return {"app": app | {"transport": "tcp", "jitter": draw.random() < 0.5}}


def _on_off(draw: random.Random) -> Table:
    app = {"kind": "on-off", "rate": f"{draw.randrange(500, 8000)} kbit/s", "packet": f"{draw.randrange(200, 3000)} B"}
    return {"app": app | {"transport": "tcp", "on": "300 ms", "off": "300 ms"}}


def _files(draw: random.Random) -> Table:
    size = {"kind": "pareto", "shape": 1.3, "min": "1 kB", "max": "300 kB"}
    request = {"request": "300 B"} if draw.random() < 0.5 else {}
    return {"app": {"kind": "files", "arrivals": {"poisson": 5.0}, "size": size, **request}}


def _requests(draw: random.Random) -> Table:
    think = {"think": {"kind": "exponential", "mean": "200 ms"}} if draw.random() < 0.7 else {}
    sizes = {"request": f"{draw.randrange(1, 5000)} B", "response": f"{draw.randrange(1, 100_000)} B"}
    return {"app": {"kind": "request-response", **sizes, **think}}


def _pages(draw: random.Random) -> Table:
    return {"app": {"kind": "web", "connections": draw.choice((1, 2, 4, 6)), "first": "100 ms"}}


def _video(draw: random.Random) -> Table:
    rates = ["200 kbit/s", "800 kbit/s", "3 Mbit/s"]
    return {"app": {"kind": "video", "bitrates": rates, "chunk": "500 ms", "buffer": "2 s"}}


APPLICATIONS: tuple[Callable[[random.Random], Table], ...] = (
    _bulk, _short, _endless, _reader, _paced, _on_off, _files, _requests, _pages, _video,
)  # fmt: skip
"""What sources do."""


def _random_loss(draw: random.Random) -> Table:
    return {"loss": draw.choice((0.002, 0.01, 0.03, 0.08))}


def _burst_loss(draw: random.Random) -> Table:
    return {"loss": {"gilbert_elliott": {"p": draw.choice((0.002, 0.01)), "r": draw.choice((0.1, 0.3, 0.6))}}}


def _bit_errors(draw: random.Random) -> Table:
    return {"loss": {"ber": draw.choice((1e-7, 1e-6, 3e-6))}}


def _script(draw: random.Random) -> Table:
    numbers = sorted(draw.sample(range(1, 60), draw.randrange(1, 12)))
    return {"loss": {"drops": [{"flow": "0", "nth": number} for number in numbers]}}


def _jitter(draw: random.Random) -> Table:
    kinds = ({"kind": "exponential", "mean": "3 ms"}, {"kind": "uniform", "low": "0 ms", "high": "20 ms"})
    return {"jitter": draw.choice(kinds) | {"preserve_order": True}, "loss": draw.choice((0.0, 0.01))}


def _disorder(draw: random.Random) -> Table:
    kinds = ({"kind": "exponential", "mean": "2 ms"}, {"kind": "normal", "mean": "5 ms", "sd": "5 ms"})
    return {"jitter": draw.choice(kinds) | {"preserve_order": False}, "loss": draw.choice((0.0, 0.01))}


def _reordering(draw: random.Random) -> Table:
    reorder = {"p": draw.choice((0.005, 0.03)), "extra": f"{draw.randrange(1, 80)} ms"}
    return {"reorder": reorder, "loss": draw.choice((0.0, 0.01))}


def _duplication(draw: random.Random) -> Table:
    return {"duplicate": draw.choice((0.01, 0.1)), "loss": draw.choice((0.0, 0.02))}


def _outage(draw: random.Random) -> Table:
    begin, length = draw.randrange(500, 3000), draw.choice((50, 300, 1000, 2500))
    return {"events": [{"at": f"{begin} ms", "rate": "off"}, {"at": f"{begin + length} ms", "rate": "4 Mbit/s"}]}


def _changes(draw: random.Random) -> Table:
    first, second = sorted(draw.sample(range(300, 4000), 2))
    return {"events": [{"at": f"{first} ms", "delay": f"{draw.randrange(5, 300)} ms", "loss": 0.02},
                       {"at": f"{second} ms", "rate": "1 Mbit/s", "loss": 0}]}  # fmt: skip


def _policer(draw: random.Random) -> Table:
    return {"policer": {"rate": f"{draw.randrange(500, 3000)} kbit/s", "burst": f"{draw.randrange(5, 60)} kB"}}


def _clean(_: random.Random) -> Table:
    return {}


MEDIA: tuple[Callable[[random.Random], Table], ...] = (
    _clean, _random_loss, _burst_loss, _bit_errors, _script, _jitter, _disorder, _reordering, _duplication, _outage,
    _changes, _policer,
)  # fmt: skip
"""What happens to packets."""

TURNS = max(len(CONTROLLERS), len(APPLICATIONS), len(MEDIA), len(QUEUES))
"""Scenarios that have all of each between them."""


def _queue(draw: random.Random, kind: str) -> tuple[Table, bool]:
    """A queue, and whether it marks."""
    marks = draw.random() < 0.4
    queue: Table = {"kind": kind, "limit": f"{draw.choice((4, 10, 30, 100))} packets"}
    if kind in _OWN_LIMIT and draw.random() < 0.5:
        del queue["limit"]
    if kind == "droptail" and marks:
        queue["mark_above"] = "2 packets"
    elif kind in _MARKS:
        queue["ecn"] = marks
    return queue, marks


def _tcp(draw: random.Random, marks: bool) -> Table:
    """Options of endpoints: most have those of the profile."""
    odds = {
        "sack": (0.12, False),
        "timestamps": (0.15, draw.random() < 0.3),
        "tlp": (0.15, draw.random() < 0.5),
        "frto": (0.1, draw.random() < 0.5),
        "eifel": (0.1, draw.random() < 0.5),
        "dsack_undo": (0.1, draw.random() < 0.5),
        "loss_detection": (0.15, draw.choice(("dupack", "rack"))),
        "limited_transmit": (0.1, False),
        "receive_buffer": (0.15, f"{draw.randrange(3, 60)} kB"),
        "window_counts_ooo": (0.1, True),
        "initial_receive_window": (0.05, f"{draw.randrange(3, 60)} kB"),
        "ecn": (0.8 if marks else 0.05, draw.choice(("classic", "accurate"))),
        "delayed_ack_timeout": (0.1, f"{draw.randrange(1, 500)} ms"),
        "ack_compression": (0.1, draw.random() < 0.5),
        "careful": (0.1, False),
        "rearm_rto": (0.1, draw.choice(("never", "first", "every"))),
        "timestamp_tick": (0.05, draw.choice(("1 us", "100 us"))),
        "notsent_lowat": (0.05, "16 kB"),
        "send_buffer": (0.05, "32 kB"),
    }
    return {name: value for name, (share, value) in odds.items() if draw.random() < share}


def _flow(draw: random.Random, number: int, marks: bool) -> Table:
    flow = APPLICATIONS[number % len(APPLICATIONS)](draw)
    flow["cc"] = CONTROLLERS[number % len(CONTROLLERS)]
    flow["profile"] = draw.choice(PROFILES)
    if draw.random() < 0.4:
        flow["recovery"] = draw.choice(RECOVERIES)
    if draw.random() < 0.3 and not CATALOGUE.controllers[flow["cc"]].own_start:
        flow["slow_start"] = draw.choice(SLOW_STARTS)
    if draw.random() < 0.2:
        flow["mss"] = f"{draw.choice((200, 536, 1000, 4000))} B"
    if draw.random() < 0.2:
        flow["delayed_ack"] = draw.choice((1, 2, 4))
    if draw.random() < 0.3:
        flow["iw"] = draw.choice((1, 2, 4, 10, 20))
    if draw.random() < 0.2:
        flow["min_rto"] = f"{draw.choice((50, 200, 1000))} ms"
    if draw.random() < 0.5:
        flow["start"] = f"{draw.randrange(0, 800)} ms"
    flow["tcp"] = _tcp(draw, marks) | flow.get("tcp", {})
    return flow


def scenario(number: int) -> Table:
    """Scenario `number`."""
    draw = random.Random(number)
    medium = MEDIA[number % len(MEDIA)](draw)
    queue, marks = _queue(draw, QUEUES[number // 2 % len(QUEUES)])
    flows = [_flow(draw, number, marks)]
    while len(flows) < 3 and draw.random() < 0.35:
        flows.append(_flow(draw, draw.randrange(1000), marks))
    rate = "4 Mbit/s" if "events" in medium else f"{draw.choice((500, 2000, 5000, 10_000))} kbit/s"
    reverse = {"reverse": {"rate": "200 kbit/s", "loss": draw.choice((0.0, 0.03, 0.2))}} if draw.random() < 0.25 else {}
    spread = {"rtt_spread": "20 %"} if draw.random() < 0.2 else {}
    return {
        "topology": {
            "kind": "dumbbell",
            "rate": rate,
            "rtt": f"{draw.choice((1, 10, 40, 100, 300))} ms",
            "queue": queue,
            **medium,
            **reverse,
        },
        "flows": [flow | spread for flow in flows],
        "run": {"duration": f"{draw.choice((3, 5, 8))} s", "seed": number + 1, "capture": ["flows"]},
    }
