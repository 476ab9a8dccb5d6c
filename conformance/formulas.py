"""Formulas of the literature, and our runs of what they describe."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from math import sqrt
from typing import Any

from ackclock import engine
from ackclock.engine import Output
from ackclock.stats import estimate
from agreement import Figure, figure, relative
from session_cache import session_cache

MSS = 1448
WIRE = 1514
"""Bytes of a full segment on the link."""
RTT_S = 0.1
REPLICATIONS = 5


def mathis(p: float, b: int) -> float:
    """Mean window in segments with one loss per 1/p packets and b packets per acknowledgment."""
    return sqrt(3 / (2 * b * p))


def ott(p: float, b: int) -> float:
    """The same with independent losses, for p towards 0."""
    return 1.3098 / sqrt(b * p)


def padhye(p: float, rtt: float, timeout: float, b: int) -> float:
    """Packets per second of Reno with timeouts: the full model."""
    w = (2 + b) / (3 * b) + sqrt(8 * (1 - p) / (3 * b * p) + ((2 + b) / (3 * b)) ** 2)
    q: float = (1 - (1 - p) ** 3) * (1 + (1 - p) ** 3 * (1 - (1 - p) ** max(w - 3, 0))) / (1 - (1 - p) ** w)
    q = min(1.0, q)
    backoff = 1 + sum(2.0**n * p ** (n + 1) for n in range(6))
    return ((1 - p) / p + w + q / (1 - p)) / (rtt * (b / 2 * w + 1) + q * timeout * backoff / (1 - p))


def sawtooth(product: float, room: float) -> float:
    """Utilisation by one flow that halves at product + room packets: bandwidth-delay product, waiting room."""
    top = product + room
    bottom = min(top / 2, product)
    return (top**2 - bottom**2) / (2 * product * (product - bottom) + top**2 - product**2)


def run(link: Mapping[str, Any], flow: Mapping[str, Any], seconds: tuple[float, float], seed: int = 1) -> Output:
    """One flow over one link, measured for the second of `seconds` after the first."""
    warmup, measured = (round(s * 1e9) for s in seconds)
    half = round(link["rtt_s"] * 1e9) // 2
    bottleneck = {"id": "link", "delay_ns": half} | {key: value for key, value in link.items() if key != "rtt_s"}
    common: dict[str, Any] = {"id": "0", "start": {"at_ns": 0}, "app": {"kind": "bulk"}, "mss": MSS, "profile": "rfc"}
    routes = {"forward": [{"link": "link"}], "reverse": [{"delay_ns": half}]}
    document = {
        "format": 1,
        "seed": seed,
        "duration_ns": warmup + measured,
        "warmup_ns": warmup,
        "links": [bottleneck],
        "flows": [{**common, **routes, **flow}],
    }
    return engine.run(json.dumps(document))


def lossy(p: float, b: int, tcp: Mapping[str, Any], seed: int) -> tuple[Output, float]:
    """A flow with independent losses on a link that is never full, for 300 to 3000 losses; and the time measured."""
    losses = min(3000, 300 * sqrt(p / 1e-4))
    measured = losses / p / (ott(p, b) / RTT_S)
    link = {"rate_bps": 10**11, "rtt_s": RTT_S, "loss": {"kind": "bernoulli", "p": p}}
    # With delayed acknowledgments the window grows per acknowledgment, as the formulas assume.
    cc = {"name": "newreno", "params": {"counting": "acks"}}
    output = run(link, {"tcp": {"delayed_ack": b, **tcp}, "cc": cc}, (max(2.0, 0.05 * measured), measured), seed)
    return output, measured


def replicated(sample: Callable[[int], float]) -> tuple[float, float]:
    """Mean over seeds, and half the width of its 95 % confidence interval relative to it."""
    found = estimate(sample(seed) for seed in range(1, REPLICATIONS + 1))
    assert found.mean is not None
    assert found.ci95 is not None
    return found.mean, found.ci95 / found.mean


@session_cache
def mean_window(p: float, b: int) -> tuple[float, float]:
    """Goodput times round-trip time over MSS, of profile rfc with SACK."""

    def sample(seed: int) -> float:
        output, _ = lossy(p, b, {}, seed)
        return float(output.flows["goodput_bps"][0]) / 8 / MSS * RTT_S

    return replicated(sample)


@session_cache
def send_rate(p: float, b: int) -> tuple[float, float, float]:
    """Packets per second of Reno without SACK with a timeout of 400 ms, as above; and the mean RTT."""
    rtts = []

    def sample(seed: int) -> float:
        output, measured = lossy(p, b, {"recovery": "reno", "min_rto": 400_000_000}, seed)
        rtts.append(float(output.flows["mean_rtt_s"][0]))
        return float(output.flows["sent_segments"][0]) / measured

    return (*replicated(sample), sum(rtts) / len(rtts))


@session_cache
def utilisation(room: int) -> float:
    """Of a link of 200 packets per RTT by one Reno flow, with room for so many waiting packets."""
    service_ns = 500_000
    link = {
        "rate_bps": WIRE * 8 * 10**9 // service_ns,
        # The round trip of an empty path, transmission included, is 200 transmissions.
        "rtt_s": RTT_S - service_ns * 1e-9,
        "overhead_bytes": WIRE - MSS - 52,
        "queue": {"kind": "droptail", "limit_packets": room, "limit_includes_service": False},
    }
    output = run(link, {"tcp": {"delayed_ack": 1}, "cc": {"name": "reno"}}, (200, 400))
    return float(output.links["utilisation"][0])


PRODUCT = 200
"""Bandwidth-delay product of `utilisation`, packets."""
ROOMS = (2, 10, 20, 50, 100, 150, 200, 300)
MATHIS = tuple((p, b) for b in (1, 2) for p in (1e-4, 1e-3, 1e-2))
OTT = ((1e-4, 1), (1e-4, 2))
PADHYE = ((0.01, 1), (0.03, 1), (0.1, 1), (0.01, 2), (0.03, 2))

MATHIS_ACCURACY = 0.10
"""The constant is 1.22 for evenly spaced losses and 1.31 for independent ones: 7 %. The rest is for what the formula
leaves out and the smallest of these windows feels: the round trip in recovery, whole packets, a lost retransmission."""
OTT_ACCURACY = 0.03
"""The limit for p towards 0; a recovery of one round trip in a sawtooth of 50 to 130 is what is left."""
PADHYE_ACCURACY = 0.10
"""The model assumes that a loss takes the rest of its round with it; these losses are independent."""
SAWTOOTH_ACCURACY = 0.005
"""A recovery is a round trip of 100 to 200."""


def flow_name(b: int) -> str:
    """How acknowledgments are said to be delayed."""
    return "each segment acknowledged" if b == 1 else "delayed ACK 2"


def random_losses() -> Iterator[Figure]:
    """Mathis' and Padhye's formulas."""
    for p, b in MATHIS:
        ours, ci = mean_window(p, b)
        yield figure("Mathis", f"p = {p:g}, {flow_name(b)}", "mean window", (ours, mathis(p, b)), MATHIS_ACCURACY + ci)
    for p, b in OTT:
        ours, ci = mean_window(p, b)
        yield figure("Ott", f"p = {p:g}, {flow_name(b)}", "mean window", (ours, ott(p, b)), OTT_ACCURACY + ci)
    for p, b in PADHYE:
        ours, ci, rtt = send_rate(p, b)
        pair = (ours, padhye(p, rtt, 0.4, b))
        yield figure("Padhye", f"p = {p:g}, {flow_name(b)}", "packets/s", pair, PADHYE_ACCURACY + ci)


def one_flow() -> Iterator[Figure]:
    """The utilisation of a link by one Reno flow."""
    for room in ROOMS:
        pair = (utilisation(room), sawtooth(PRODUCT, room))
        yield figure("saw-tooth", f"buffer {room / PRODUCT:g} BDP", "utilisation", pair, SAWTOOTH_ACCURACY)


@session_cache
def filled(seconds: int) -> tuple[float, float]:
    """Payload bytes that arrive from a sender without window over an empty path, and what arithmetic says."""
    rate, rtt = 10_000_000, 0.04
    tcp = {"handshake": False, "iw": 10_000, "iw_bound": "none"}
    link = {"rate_bps": rate, "rtt_s": rtt, "overhead_bytes": WIRE - MSS - 52}
    output = run(link, {"tcp": tcp, "cc": {"name": "reno"}}, (0, seconds))
    on_the_link = round((seconds - rtt / 2) * rate / 8)
    return float(output.flows["goodput_bytes"][0]), float(on_the_link // WIRE * MSS)


@session_cache
def limited(segments: int) -> tuple[float, float]:
    """Payload bytes in 100 round trips with a receive window of so many segments, and what arithmetic says."""
    rate, rtt = 10_000_000, 0.04
    service_ns = WIRE * 8 * 10**9 // rate
    round_trip = rtt + service_ns * 1e-9
    tcp = {"delayed_ack": 1, "receive_buffer": segments * MSS}
    link = {"rate_bps": rate, "rtt_s": rtt, "overhead_bytes": WIRE - MSS - 52}
    output = run(link, {"tcp": tcp, "cc": {"name": "reno"}}, (2, 100 * round_trip))
    return float(output.flows["goodput_bytes"][0]), float(100 * segments * MSS)


def exact() -> Iterator[Figure]:
    """What follows from arithmetic alone."""
    for seconds in (1, 5):
        ours, theirs = filled(seconds)
        name = f"10 Mbit/s filled for {seconds} s"
        yield Figure("arithmetic", name, "payload bytes", ours, theirs, relative(ours, theirs), 0)
    for segments in (1, 8, 25):
        ours, theirs = limited(segments)
        name = f"receive window of {segments} segments, 100 RTT"
        yield Figure("arithmetic", name, "payload bytes", ours, theirs, relative(ours, theirs), 0)


def figures() -> Iterator[Figure]:
    """Everything that is compared with a formula."""
    yield from random_losses()
    yield from one_flow()
    yield from exact()
