"""Our LTE cell beside that of ns-3, run by run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from statistics import fmean

from agreement import Deviation, Figure, figure
from lte_runs import NAMES, Run, document, other_scheme, played, recorded

BLOCKS = "resource blocks used"
DATA = "blocks with data"
TIME = "load time, geometric mean"

CONTROL = (
    "In ns-3's cell a block is lost when the control channels that announce it are not decoded: 0.3 % at -1.4 dB, 2 % "
    "at -3 dB and 4 % at -3.7 dB, without HARQ, as nobody answers. RLC UM does not send it again, TCP does: users at "
    "the edge wait for timeouts of a second and more, and leave the cell to others meanwhile. Ours has no such "
    "channels. The same runs of ns-3 in which they never fail agree."
)
STATUS = (
    "With RLC AM ns-3's base station reports in the downlink what came in the uplink. A report is a block of its own, "
    "and a block takes all resource blocks of a TTI; TTIs in which nothing is left to be sent are taken as well. "
    "Without these blocks the number of blocks agrees. Data wait for them. Ours takes nothing for reports."
)
SWITCH = (
    "Our thresholds `lena` are within 0.125 dB of where ns-3's link adaptation switches. A user in between has the "
    "next scheme, which is slower or faster by a tenth to a half."
)

BOUNDS = {
    CONTROL: {BLOCKS: 0.30, TIME: 0.60},
    STATUS: {BLOCKS: 0.26, TIME: 0.40},
    SWITCH: {BLOCKS: 0.08, DATA: 0.13, TIME: 0.15},
}
"""Of what each mechanism explains, by metric. Pages of users at the edge are several times as slow in ns-3."""


def mode(name: str) -> str:
    """RLC of a run."""
    return "am" if "--rlc=am" in document(name)["command"] else "um"


def fails(name: str) -> bool:
    """Whether control channels may fail there."""
    return "--control-errors=1" in document(name)["command"]


def known(name: str, metric: str) -> Deviation | None:
    """What sets a run apart, if anything does."""
    mechanism = None
    if mode(name) == "am" and metric != DATA:
        mechanism = STATUS
    elif mode(name) == "um" and any(user.undecoded for user in recorded(name).users):
        mechanism = CONTROL
    elif other_scheme(name):
        mechanism = SWITCH
    return Deviation(mechanism, BOUNDS[mechanism][metric]) if mechanism else None


def common(name: str) -> Iterator[tuple[float, float]]:
    """Load times of pages that ours and ns-3 both completed."""
    ours, theirs = played(name).pages, recorded(name).pages
    for key, load in theirs.items():
        mine = ours[key].seconds if key in ours else None
        if mine is not None and load.seconds is not None:
            yield mine, load.seconds


def geometric(values: Iterable[float]) -> float:
    """Their geometric mean."""
    return math.exp(fmean(map(math.log, values)))


def compared(name: str) -> Iterator[Figure]:
    """What one run shows."""
    ours, theirs = played(name), recorded(name)
    users, seed = name.split("-")[1:3]
    scenario = f"{users} users, places {seed}"
    algorithm = ", ".join(described(name))
    yield figure(scenario, algorithm, BLOCKS, (ours.rho, theirs.rho), 0.01, known(name, BLOCKS))
    if mode(name) == "am":
        yield figure(scenario, algorithm, DATA, (with_data(ours), with_data(theirs)), 0.01, known(name, DATA))
    times = list(common(name))
    pair = (geometric(mine for mine, _ in times), geometric(load for _, load in times))
    yield figure(scenario, algorithm, TIME, pair, 0.05, known(name, TIME))


def described(name: str) -> Iterator[str]:
    """The options of a run in words."""
    options = dict(option[2:].split("=") for option in document(name)["command"] if option.startswith("--"))
    yield f"RLC {options['rlc'].upper()}"
    if not fails(name):
        yield "no control errors"
    if options["connections"] != "1":
        yield f"{options['connections']} connections"
    if options["rtt-ms"] != "10":
        yield f"{options['rtt-ms']} ms"


def with_data(run: Run) -> float:
    """Transport blocks that brought data."""
    return sum(user.blocks - user.without_data for user in run.users)


def figures() -> Iterator[Figure]:
    """Everything that is compared."""
    for name in NAMES:
        yield from compared(name)
