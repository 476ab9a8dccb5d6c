"""What ``ackclock doctor --measure`` shows: up to which rates this computer's kernel is in time."""

from __future__ import annotations

from collections.abc import Sequence

from ackclock.cli import console
from ackclock.sweeps import real_time
from ackclock.sweeps.real_time import Measured
from ackclock.sweeps.real_time import as_json as as_json

WHAT = (
    f"measured: engine kernel, one flow of cubic for {real_time.DURATION_S} s at each rate over {real_time.RTT}; "
    "valid: no packet was handed on later than rate and RTT tolerate"
)
"""What the table is of."""


def measured() -> list[Measured]:
    """Measure it, and keep it for the warnings of runs to come."""
    with console.progress() as progress:
        found = real_time.measure(progress)
    real_time.keep(found)
    return found


def show(found: Sequence[Measured]) -> None:
    """Print a row for each run, and what follows."""
    out = console.stdout()
    rows = [["Mbit/s", "offload", "valid", "packets/s", "p99 late", "worst", "processor", "per packet", "goodput"]]
    rows.extend(
        [
            str(item.mbps),
            "yes" if item.offload else "no",
            "yes" if item.valid else "no",
            f"{item.packets_per_s:.0f}",
            _micros(item.late_p99_s),
            _micros(item.late_worst_s),
            f"{100 * item.cpu_share:.0f} %",
            f"{item.cpu_per_packet_s * 1e6:.2f} us",
            f"{item.goodput_mbps:.4g}",
        ]
        for item in found
    )
    out.print()
    console.say(out, WHAT)
    sides: list[console.Justify] = ["right", "left", "left", "right", "right", "right", "right", "right", "right"]
    out.print(console.table(rows, sides))
    for line in lines(found):
        console.say(out, line)


def lines(found: Sequence[Measured]) -> list[str]:
    """In words: how far it goes without and with offload, and what keeps it from going further."""
    words = []
    able = real_time.able(found)
    for name, offload, called in (("plain", False, "without offload"), ("offload", True, "with --offload")):
        of = [item for item in found if item.offload == offload]
        best = real_time.up_to(found, offload=offload)
        if best is None:
            words.append(f"{called}: not even {of[0].mbps} Mbit/s is valid here now: {of[0].problems[0]}")
            continue
        further = next((item for item in of if item.mbps > best.mbps), None)
        why = "" if further is None else f"; at {further.mbps}: {further.problems[0]}"
        packets = f"about {int(float(f'{able[name]:.2g}'))} packets a second in time"
        words.append(f"{called}: valid up to {best.mbps} Mbit/s, {packets}{why}")
    return [*words, _to_do(found)]


def _to_do(found: Sequence[Measured]) -> str:
    """What follows for whoever wants to play runs."""
    plain, offload = (real_time.up_to(found, offload=each) for each in (False, True))
    beyond = "engine kernel-vt plays any rate, without being late"
    if plain is None and offload is None:
        rest = "give this computer rest and measure again (its clock, above, says what else helps)"
        return f"so: no run on engine kernel is to be trusted here now; {rest}, or {beyond}"
    kept = "runs that ask for more are warned of"
    if plain is None and offload is not None:
        return f"so: engine kernel only with --offload, up to {offload.mbps} Mbit/s; {kept}; {beyond}"
    more = "to which --offload adds nothing"
    if plain is not None and offload is not None and offload.mbps > plain.mbps:
        more = f"with --offload up to {offload.mbps} Mbit/s"
    upto = 0 if plain is None else plain.mbps
    return f"so: engine kernel for up to {upto} Mbit/s, {more}; {kept}; {beyond}"


def _micros(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} us"
