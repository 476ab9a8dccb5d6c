"""A radio cell of LTE: one base station, its users, and the Internet behind it."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from ackclock.errors import Problem
from ackclock.scenario.topology.cell_profiles import PROFILES
from ackclock.scenario.topology.queue import Queue, QueueField
from ackclock.scenario.topology.rate import Rate
from ackclock.scenario.values.base import Model, shared_default
from ackclock.scenario.values.physical import LENGTH, RATIO, Frequency, Length, Level, Ratio, Speed
from ackclock.scenario.values.types import Count, Duration, Headers, PositiveDuration, Probability

MOST_USERS = 10_000
"""Of a cell: what the engine has room for."""

_Flag = Annotated[bool, Field(strict=True)]


class Place(Model):
    """Where a user is: its distance, or its SNR."""

    distance: Length | None = None
    """From the base station."""
    snr: Ratio | None = None
    """SNR of the downlink over the whole band, in place of distance, power and path loss."""
    up_snr: Ratio | None = None
    """SNR of the uplink if all power went into one resource block. Default: `snr`."""
    speed: Speed | None = None
    """Of this user, for fading. Default: that of `fading`."""
    queue: QueueField | None = None
    """Its queue at the base station. Default: that of the cell."""

    @model_validator(mode="after")
    def _one(self) -> "Place":
        if (self.distance is None) == (self.snr is None):
            remedy = f'write {{ distance = "{LENGTH.example}" }} or {{ snr = "{RATIO.example}" }}'
            raise Problem("a user has a distance or an SNR", remedy)
        if self.up_snr is not None and self.snr is None:
            raise Problem("up_snr belongs to a user with an SNR", "give snr too", "up_snr")
        return self


class Fading(Model):
    """Fast fading of all users, each on its own."""

    profile: Literal["epa", "eva", "etu"] = "epa"
    """Delays and powers of the paths: extended pedestrian A, vehicular A or typical urban (3GPP TS 36.104)."""
    speed: Speed = Field(default="3 km/h", validate_default=True)
    """How fast users move; it makes the fading, not the place."""


class Cqi(Model):
    """What users report of their channel."""

    period: PositiveDuration = Field(default="5 ms", validate_default=True)
    """Between two reports; whole milliseconds."""
    delay: Duration = Field(default="4 ms", validate_default=True)
    """From a report to its use; whole milliseconds."""
    quantised: _Flag = True
    """Whether schemes follow the 15 values of the CQI; otherwise all 29 are chosen from the SINR."""
    subband: _Flag = False
    """Whether there is a CQI for every group of resource blocks; it needs `fading`."""
    penalty: Ratio = Field(default="0 dB", validate_default=True)
    """Taken from the effective SINR of a band that is not flat."""
    min_mcs0: _Flag = True
    """Whether users below CQI 1 are served with the slowest scheme, and its errors; otherwise not at all."""


class Harq(Model):
    """Block errors and retransmissions on the air."""

    errors: Literal["bler", "none", "fixed"] = "bler"
    """How blocks get lost: by SINR and scheme, not at all, or with the probabilities `first` and `further`."""
    first: Probability = 0.1
    """Share of first transmissions that fail, with errors = "fixed"."""
    further: Probability = 0.01
    """Share of retransmissions that fail, with errors = "fixed"."""
    retransmissions: Annotated[int, Field(strict=True, ge=0, le=7)] = 3
    """Of a block, at most."""
    slope: Ratio = Field(default="0.5 dB", validate_default=True)
    """Standard deviation of the normal distribution that the error rate follows over SINR."""

    @model_validator(mode="after")
    def _fits(self) -> "Harq":
        for name in ("first", "further"):
            if name in self.model_fields_set and self.errors != "fixed":
                raise Problem(f"'{name}' belongs to fixed probabilities", 'write errors = "fixed" beside it', name)
        return self


class Rlc(Model):
    """Radio link control. Left out, a timer has the usual value of the mode."""

    mode: Literal["um", "am"] = "um"
    """Whether packets of lost blocks are lost (um) or sent again until they arrive (am)."""
    reordering: PositiveDuration | None = None
    """t-Reordering: how long a receiver waits for a missing block. Default: 100 ms (um), 35 ms (am)."""
    status_prohibit: Duration | None = None
    """t-StatusProhibit: least time between two status reports (am). Default: 10 ms."""
    poll_retransmit: PositiveDuration | None = None
    """t-PollRetransmit (am). Default: 20 ms."""
    block_overhead: Headers = Field(default="7 B", validate_default=True)
    """Headers per transport block."""
    packet_overhead: Headers = Field(default="2 B", validate_default=True)
    """Headers per packet."""


RlcField = Annotated[Rlc, BeforeValidator(lambda value: {"mode": value} if isinstance(value, str) else value)]


class PowerControl(Model):
    """Open-loop power control: users transmit no stronger than p0 + alpha times path loss, per resource block."""

    alpha: Probability = 0.8
    """Share of the path loss that is made up for."""
    p0: Level = Field(default="-80 dBm", validate_default=True)
    """Power per resource block that is wanted."""


class Promotion(Model):
    """Users without traffic become idle, and are served late when there is some again. All are idle at the start."""

    after: Duration = Field(default="10 s", validate_default=True)
    """Without a packet in either direction for so long a user is idle; whole milliseconds."""
    delay: Duration = Field(default="100 ms", validate_default=True)
    """From its next packet on it takes so long until it is served; whole milliseconds."""


class Uplink(Model):
    """From the users to the base station."""

    carrier: Frequency = Field(default="1930 MHz", validate_default=True)
    """Carrier frequency."""
    power: Level = Field(default="23 dBm", validate_default=True)
    """Most power of a user; it goes into the resource blocks it was granted."""
    noise: Ratio = Field(default="5 dB", validate_default=True)
    """Noise figure of the base station."""
    power_control: PowerControl | None = None
    """Open-loop power control. Default: off."""
    qam64: _Flag = True
    """Whether users may send with 64QAM; otherwise with 16QAM at most."""
    delay: PositiveDuration = Field(default="1 ms", validate_default=True)
    """From the begin of a transmission until the packet is out; whole milliseconds."""
    sr_period: Duration = Field(default="10 ms", validate_default=True)
    """Between two opportunities of a user to ask for resources; zero: at every TTI."""
    grant_delay: PositiveDuration = Field(default="4 ms", validate_default=True)
    """From a request to the grant, and from a grant to the transmission; 1 to 8 ms."""
    min_grant: Count = 3
    """Least resource blocks of a grant."""
    background: Probability = 0.0
    """Share of the TTIs that belong to others."""
    queue: QueueField = Field(default="unlimited", validate_default=True)
    """Queue of each user."""


_HOW_MANY = Annotated[int, Field(strict=True, ge=1, le=MOST_USERS)]


class LteCell(Model):
    """A cell of LTE with its users, and a server in the Internet that all flows begin at."""

    kind: Literal["lte_cell"]
    """The topology."""
    profile: Literal["near", "mid", "far"] | None = None
    """A user of a commercial network near the base station, half way, or at the edge of the cell: other defaults."""
    users: _HOW_MANY | None = None
    """How many users there are. Default: one, or as many as `places`."""
    places: tuple[Place, ...] = ()
    """Where each user is. Default: each replication draws them, uniformly over a disc."""
    radius: Length = Field(default="500 m", validate_default=True)
    """Radius of that disc."""
    min_distance: Length = Field(default="20 m", validate_default=True)
    """Users that are nearer to the base station have the channel of this distance."""
    rtt: PositiveDuration | None = None
    """Propagation RTT between server and core network, half each way. Default: that of each flow."""
    server_rate: Rate = Field(default="10 Gbit/s", validate_default=True)
    """Rate of the link of the server, in both directions, or "unlimited"."""
    core_delay: Duration = Field(default="0 s", validate_default=True)
    """Delay of the core network, one way, besides the RTT."""
    bandwidth: Frequency = Field(default="20 MHz", validate_default=True)
    """Of each direction: 1.4, 3, 5, 10, 15 or 20 MHz."""
    carrier: Frequency = Field(default="2120 MHz", validate_default=True)
    """Carrier frequency of the downlink."""
    power: Level = Field(default="31 dBm", validate_default=True)
    """Power of the base station over the whole band."""
    noise: Ratio = Field(default="9 dB", validate_default=True)
    """Noise figure of the users."""
    gain: Ratio = Field(default="0 dB", validate_default=True)
    """Gain of the antennas of both ends together."""
    path_loss: Literal["okumura_hata", "cost231", "cost231_lena"] = "cost231"
    """Formula of the path loss; `cost231_lena` is that of ns-3 for large cities."""
    area: Literal["medium_city", "large_city", "suburban", "open"] = "medium_city"
    """What surrounds the users; `cost231_lena` does not look at it."""
    base_height: Length = Field(default="30 m", validate_default=True)
    """Height of the antenna of the base station."""
    user_height: Length = Field(default="1.5 m", validate_default=True)
    """Height of the users' antennas."""
    shadowing: Ratio = Field(default="0 dB", validate_default=True)
    """Standard deviation of lognormal shadowing, drawn once per user and replication."""
    fading: Fading | None = None
    """Fast fading. Default: none."""
    thresholds: Literal["miesm", "linklevel", "gap", "lena"] = "miesm"
    """The SINR above which each CQI is reported."""
    cqi: Cqi = Field(default_factory=shared_default(Cqi))
    """What users report."""
    harq: Harq = Field(default_factory=shared_default(Harq))
    """Errors on the air, and retransmissions."""
    rlc: RlcField = Field(default_factory=shared_default(Rlc))
    """Radio link control: "um", "am" or a table."""
    scheduler: Literal["pf", "rr", "max_rate"] = "pf"
    """Who is served: proportional fairness, round robin, or the highest rate."""
    fair_ttis: Annotated[float, Field(strict=True, ge=2, le=1e6)] = 99.0
    """Length of the average of proportional fairness, TTIs."""
    fit: _Flag = True
    """Whether a user gets no more resource blocks than its queue needs; otherwise all that are free, as in ns-3."""
    queue: QueueField = Field(default={"limit": "unlimited", "max_age": "300 ms"}, validate_default=True)
    """Queue of each user at the base station. Default: without limit, dropping what is older than 300 ms."""
    delay: PositiveDuration = Field(default="4 ms", validate_default=True)
    """From the begin of a transmission of the base station until the packet is out; whole milliseconds."""
    background: Probability = 0.0
    """Share of the TTIs of the downlink that belong to others."""
    promotion: Promotion | None = None
    """What idle users wait for. Default: nobody becomes idle."""
    uplink: Uplink = Field(default_factory=shared_default(Uplink))
    """From the users to the base station."""

    @model_validator(mode="before")
    @classmethod
    def _of_profile(cls, value: Any) -> Any:
        """What is not written is that of the profile."""
        if isinstance(value, dict) and isinstance(name := value.get("profile"), str) and name in PROFILES:
            return {**PROFILES[name], **value}
        return value

    @model_validator(mode="after")
    def _consistent(self) -> "LteCell":
        if self.users is not None and self.places and self.users != len(self.places):
            problem = f"{self.users} users and {len(self.places)} places"
            raise Problem(problem, "give each user a place, or leave one of both out", "places")
        if self.radius == 0:
            raise Problem("a disc without area", f'give a radius such as "{LENGTH.example}"', "radius")
        for key, queue in self.queues():
            if queue.limit.unit == "bdp" or (queue.mark_above is not None and queue.mark_above.unit == "bdp"):
                name = "limit" if queue.limit.unit == "bdp" else "mark_above"
                remedy = f"give a {name} in packets or bytes"
                raise Problem("a user of a cell has no fixed rate, so no BDP", remedy, *key, name)
        return self

    @property
    def count(self) -> int:
        """How many users there are."""
        return self.users or len(self.places) or 1

    def queues(self) -> list[tuple[tuple[str | int, ...], Queue]]:
        """Every queue and the key it is written at."""
        own = [(("places", i, "queue"), place.queue) for i, place in enumerate(self.places) if place.queue is not None]
        return [(("queue",), self.queue), (("uplink", "queue"), self.uplink.queue), *own]
