"""How long to run, how often, and what to record over time."""

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from ackclock.errors import Problem
from ackclock.scenario.values.base import Model, Written
from ackclock.scenario.values.types import Count, Duration, PositiveDuration, RunLength
from ackclock.scenario.values.units import DURATION
from ackclock.series import CELL, LINK, OF_INTERVAL, SERIES, USER


def _place(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(r"(flows|links)(\.\S+)?", value):
        return value
    remedy = 'write "flows", "links", or one of them such as "flows.0" or "links.bottleneck"'
    raise Problem(f"{value!r} is no place where packets can be captured", remedy)


Place = Annotated[
    str,
    BeforeValidator(_place),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^(flows|links)(\.\S+)?$",
            "description": "where packets are looked at: flows, links, flows.NUMBER or links.NAME",
            "examples": ["flows", "links.bottleneck"],
        }
    ),
]
"""A place where packets are captured."""


class Run(Model):
    """Length, repetition and randomness of a run."""

    duration: RunLength
    """Simulated time."""
    warmup: Duration = Field(default="0 s", validate_default=True)
    """Rates, means and percentiles leave out this much of the beginning."""
    replications: Count = 1
    """How often each swept point is run, with other random draws."""
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63)] = 1
    """Master seed; every random draw follows from it and the replication number."""
    packet_delays: Annotated[bool, Field(strict=True)] = True
    """Takes the one-way delay of every packet, for percentiles of each flow; without it runs are 4 % cheaper."""

    engine: Literal["sim", "kernel", "kernel-vt"] = "sim"
    """Who plays it: ``sim``, the simulator; ``kernel``, the TCP of this computer's kernel over the same path in real
    time; ``kernel-vt``, that of a kernel built for it, in virtual time (docs/engines.md)."""
    kernel: Annotated[str, Field(strict=True, min_length=1)] | None = None
    """With engine kernel-vt: which of the kernels that ``ackclock kernel list`` shows; needed where they differ."""
    wall_limit: PositiveDuration | None = None
    """With engine kernel-vt: time of the computer after which a run counts as stuck. Without it ten times what it
    should take, by its rates, and two minutes at least."""
    pin: Annotated[int, Field(strict=True, ge=0)] | None = None
    """With engine kernel: the processor that drives the path; the applications get the others."""
    allow_late: Annotated[bool, Field(strict=True)] = False
    """With engine kernel: a run with which the computer did not keep up (docs/engines.md) counts as valid."""
    offload: Annotated[bool, Field(strict=True)] = False
    """With engine kernel and kernel-vt: hosts leave segmentation to the path, as to a network card (TSO, GRO): less
    work for the processor, and packets in bursts (docs/engines.md)."""
    ip: Literal[4, 6] = 4
    """With engine kernel and kernel-vt: the version of the Internet protocol."""

    capture: Annotated[
        tuple[Place, ...], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
    ] = ()
    """Where ``ackclock run --capture FILE`` looks at packets: "flows" (both ends of each), "flows.0" for one, "links"
    (input and output of each), "links.bottleneck" for one. Without it at both ends of each flow."""

    @model_validator(mode="after")
    def _consistent(self) -> "Run":
        if self.warmup >= self.duration:
            raise Problem("the warm-up is not shorter than the run", "shorten it or lengthen run.duration", "warmup")
        return self


def in_real_time(run: Run) -> float:
    """How long a run takes whatever computer plays it, s: 0 of one in virtual time."""
    return run.duration / 1e9 if run.engine == "kernel" else 0.0


_TIME = rf"\d+(\.\d*)?([eE][+-]?\d+)? *({'|'.join(DURATION.units)})"


def _sampling(value: Any) -> int | str | None:
    words = {"on change": "on_change", "every event": "every_event", "off": "off"}
    if value is None or value in words.values():
        return value  # type: ignore[no-any-return]
    if isinstance(value, str) and value in words:
        return words[value]
    try:
        return DURATION.parse(value, zero=False)
    except Problem as problem:
        remedy = 'write an interval such as "100 ms", "on change", "every event" or "off"'
        raise Problem(problem.problem, remedy) from None


def _interval(value: Any) -> Any:
    if isinstance(value, str) and value.replace("_", " ") in ("on change", "every event", "off"):
        remedy = f'write a time such as "100 ms"; single series can be recorded so: cwnd = "{value}"'
        raise Problem(f"'{value}' is no interval", remedy)
    return value


Interval = Annotated[PositiveDuration, BeforeValidator(_interval)]
"""A time that several series are recorded at; events are for single ones."""


def _shown(value: int | str | None) -> str | None:
    return DURATION.format(value) if isinstance(value, int) else value and value.replace("_", " ")


Sampling = Annotated[
    int | str | None,
    Written(
        _sampling,
        _shown,
        {
            "type": "string",
            "pattern": rf"^{_TIME}$|^(on change|every event|off)$",
            "description": 'how often to record: an interval, "on change", "every event" or "off"',
            "examples": ["100 ms", "on change"],
        },
    ),
]


LinkSampling = Annotated[
    int | str | None,
    Written(
        _sampling,
        _shown,
        {
            "type": "string",
            "pattern": rf"^{_TIME}$|^off$",
            "description": 'how often to record: an interval or "off"',
            "examples": ["100 ms"],
        },
    ),
]
"""Of what a link counts all the time, so that there is no event to follow."""


class Probes(Model):
    """What is recorded over time, and how often. Nothing unless asked for."""

    interval: Interval | None = None
    """Records cwnd, srtt, delivered and queue at this interval, where they are not given on their own."""
    cwnd: Sampling = None
    """Congestion window of each flow, bytes."""
    ssthresh: Sampling = None
    """Slow-start threshold of each flow, bytes."""
    srtt: Sampling = None
    """Smoothed RTT of each flow, seconds."""
    in_flight: Sampling = None
    """Bytes each flow has in flight."""
    delivered: Sampling = None
    """Payload bytes delivered in order to each flow's receiver, from the start."""
    sent: Sampling = None
    """Payload bytes each flow has sent, from the start, retransmissions included."""
    retransmitted: Sampling = None
    """Payload bytes each flow has retransmitted, from the start."""
    recoveries: Sampling = None
    """Fast recoveries each flow has entered, from the start."""
    timeouts: Sampling = None
    """Retransmission timeouts of each flow, from the start."""
    pacing_rate: Sampling = None
    """Payload bit/s at which segments of each flow leave; infinite while they are not paced."""
    min_rtt: Sampling = None
    """Smallest RTT of each flow, seconds, over the window of its filter; 0 before the first."""
    lost: Sampling = None
    """Bytes of each flow that its sender holds for lost and that have not been acknowledged yet, sent again or not."""
    delivery_rate: LinkSampling = None
    """With engine kernel: the last sample of the rate at which data of each flow reached its receiver, bit/s."""
    ca_state: Sampling = None
    """State of each sender: 0 open, 1 disorder, 2 reduction (ECN), 3 recovery, 4 loss."""
    busy: LinkSampling = None
    """With engine kernel: seconds in which each flow had data under way, from the start."""
    rwnd_limited: LinkSampling = None
    """With engine kernel: seconds of them in which the window of its receiver held it back."""
    sndbuf_limited: LinkSampling = None
    """With engine kernel: seconds of them in which its send buffer held it back."""
    unacked: Sampling = None
    """Bytes of each flow that were sent and are not acknowledged cumulatively."""
    acknowledged: Sampling = None
    """Payload bytes of each flow that its sender knows to have arrived, by acknowledgments and SACK, from the start."""
    queue: Sampling = None
    """Packets in the queue of each link."""
    queue_bytes: LinkSampling = None
    """Bytes in the queue of each link."""
    link_sent: LinkSampling = None
    """Bytes each link has sent, from the start."""
    drops: LinkSampling = None
    """Packets the queue of each link has refused, from the start."""
    rho_rb: LinkSampling = None
    """Share of the resource blocks of a cell's downlink that were used in each interval."""
    rho_tti: LinkSampling = None
    """Share of the TTIs of its downlink that were used in each interval."""
    up_rho_rb: LinkSampling = None
    """Share of the resource blocks of its uplink that were used in each interval."""
    user_rate: LinkSampling = None
    """What came out of the downlink of each user of a cell in each interval, bit/s."""
    user_up_rate: LinkSampling = None
    """What came out of its uplink in each interval, bit/s."""
    user_rb_share: LinkSampling = None
    """Its share of the resource blocks of the downlink in each interval."""
    user_queue_age: LinkSampling = None
    """Age of the oldest packet that left its queue at the base station in each interval, seconds."""
    user_queue_bytes: LinkSampling = None
    """Bytes in that queue at the end of each interval."""
    user_sinr: LinkSampling = None
    """SNR of its downlink at the end of each interval, dB."""

    @model_validator(mode="after")
    def _possible(self) -> "Probes":
        for name in (*LINK[1:], *CELL, *USER):
            if getattr(self, name) in ("on_change", "every_event"):
                raise Problem(f"'{name}' cannot follow events", 'give an interval such as "100 ms"', name)
        return self

    def resolved(self) -> dict[str, Any]:
        """The probes as the engine wants them."""
        result: dict[str, Any] = {}
        for name in SERIES:
            sampling = getattr(self, name)
            if sampling is None and name in OF_INTERVAL:
                sampling = self.interval
            if sampling is not None and sampling != "off":
                result[name] = {"every_ns": sampling} if isinstance(sampling, int) else sampling
        return result
