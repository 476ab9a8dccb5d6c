"""Advice as a terminal shows it: what limits a long download, what a proxy makes of each size, where, and its cost."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ackclock.advice.answer import WORTH, Advice, At, Download
from ackclock.cli import console
from ackclock.scenario.values.units import SIZE

_BY = {
    "window": "the receivers' windows",
    "start": "handshake and slow start",
    "losses": "losses that are repaired over a leg",
    "nothing": "",
}


def show(advice: Advice) -> None:
    """Print everything."""
    out = console.stdout()
    at = advice.shown
    legs = f"{_ms(at.place.source.rtt)} to the server, {_ms(at.place.sink.rtt)} to the client"
    console.say(out, f"proxy {at.place.name}: {legs}; without it {_ms(advice.rtt_s)}\n")
    console.print_table(
        out, [["bound of a long download", "without\nMbit/s", "with\nMbit/s"], *_bounds(advice, at)], ["left"]
    )
    console.say(out, "")
    console.print_table(out, [_HEADER, *(_row(found) for found in at.downloads)], _SIDES)
    console.say(out, f"\n{_sentence(advice)}")
    if advice.link_uncertain:
        console.say(out, "The rate of the link is not certain, so the gains are not either; a note says what would "
                         "make it certain.")  # fmt: skip
    if len(advice.places) > 1:
        console.say(out, "\nplaces, gains in the runs:\n")
        sizes = [f"{SIZE.format(found.size)}" for found in at.downloads]
        rows = [["proxy", "to server\nms", "to client\nms", *sizes, "buffer\nMB"], *map(_place, advice.places)]
        console.print_table(out, rows, ["left"])
        if advice.best.score > -math.inf:
            console.say(out, f"best by the geometric mean over the downloads: {advice.best.place.name}")
    console.say(out, f"\n{_cost(at)}")
    for note in advice.notes:
        console.say(out, f"note: {note}")


_SIDES: list[console.Justify] = [*(["right"] * 7), "left"]  # type: ignore[list-item]
_HEADER = ["download", "model\nwithout, s", "with, s", "gain", "runs\nwithout, s", "with, s", "gain", "by"]


def _bounds(advice: Advice, at: At) -> list[list[str]]:
    """What limits on either side; the least of each is the rate."""
    terms = {name: (value, math.inf) for name, value in advice.whole.items()}
    rows = [(f"whole way, {name}", *pair) for name, pair in terms.items()]
    rows += [(name, math.inf, value) for name, value in at.terms.items()]
    shown = [[name, _rate(off), _rate(on)] for name, off, on in rows if min(off, on) < math.inf]
    least = (_least(advice.whole), _least(at.terms))
    return [*shown, ["least", *(f"{_rate(value)}" for _, value in least)]]


def _least(terms: Mapping[str, float]) -> tuple[str, float]:
    return min(terms.items(), key=lambda item: item[1])


def _row(found: Download) -> list[str]:
    return [
        SIZE.format(found.size),
        _seconds(found.off_s),
        _seconds(found.on_s),
        _percent(found.gain),
        _seconds(found.played_off_s.value),
        _seconds(found.played_on_s.value),
        _gain(found),
        _by(found),
    ]


def _sentence(advice: Advice) -> str:
    at = advice.shown
    known = [found for found in at.downloads if found.played_gain.value is not None]
    if not known:
        return "No download came to its end in the runs: nothing can be said."
    best = max(known, key=lambda found: (found.gains, found.played_gain.value or 0.0))
    size, gain = SIZE.format(best.size), _gain(best)
    without, limit = _least(advice.whole), _least(at.terms)
    rates = (f"long downloads are bound by the {without[0]} without it ({_rate(without[1])} Mbit/s), "
             f"by {limit[0]} with it ({_rate(limit[1])} Mbit/s)")  # fmt: skip
    if advice.uncertain and advice.otherwise is not None:
        other = max(_gains(advice.otherwise), default=0.0)
        read = "the medium's" if advice.whole["losses"] == math.inf else "a full queue's"
        pays = ("it pays", "it does not") if advice.pays else ("it does not pay", "it does")
        return (f"Whether a proxy pays here is uncertain: {pays[0]} as reckoned, the largest gain being {gain}, of "
                f"{size}; {pays[1]} if the losses are {read}, the largest then being {_percent(other)}. A longer "
                f"capture, or one at another time of day, may tell; {rates}.")  # fmt: skip
    worst = [found for found in known if found.loses]
    if worst and not best.gains:
        return f"A proxy harms here: the gain of {_listed(worst)}; {rates}."
    if not best.gains:
        return f"A proxy does not pay here: the largest gain is {gain}, of {size}; {rates}."
    why = f", by {_by(best)}" if _by(best) else ""
    faster = f"{size} are {gain} faster{why}"
    if worst:
        return f"A proxy does not pay here for everything: {faster}, but the gain of {_listed(worst)}; {rates}."
    others = [found for found in known if not found.gains]
    shorter = ", ".join(f"{SIZE.format(found.size)} by {_gain(found)}" for found in others)
    but = f"; by less than {100 * WORTH:.0f} %, or not for sure: {shorter}" if others else ""
    return f"A proxy pays here: {faster}{but}; {rates}."


def _listed(downloads: list[Download]) -> str:
    return ", of ".join(f"{SIZE.format(found.size)} is {_gain(found)}" for found in downloads)


def _by(found: Download) -> str:
    """What a gain is due to; where there is none in the runs, to nothing."""
    value = found.played_gain.value
    return "" if value is not None and value <= 0 else _BY[found.by]


def _gains(advice: Advice) -> list[float]:
    found = (each.played_gain.value for each in advice.shown.downloads)
    return [gain for gain in found if gain is not None]


def _place(at: At) -> list[str]:
    gains = [_percent(found.played_gain.value) for found in at.downloads]
    legs = [f"{1e3 * leg.rtt:.4g}" for leg in (at.place.source, at.place.sink)]
    return [at.place.name, *legs, *gains, _mega(at.buffer_needed)]


def _cost(at: At) -> str:
    if at.buffer_needed == math.inf:
        return "cost: any buffer limits a download, for nothing else here does"
    had = at.terms["buffer"] * (at.place.source.rtt + at.place.sink.rtt) / 8
    most = f", held {_mega(at.most_buffered)} of its {_mega(had)} MB at most in the runs" if at.most_buffered else ""
    return (
        f"cost: a buffer of {_mega(at.buffer_needed)} MB for each download at a time (twice the rate for both round "
        f"trips){most}; what it holds when a client goes away is acknowledged and not delivered. So is what the "
        "proxy's two sockets hold beside it, which may be far more: --server rcvbuf and --client sndbuf of ackclock "
        "proxy limit it"
    )


def _mega(value: float) -> str:
    return f"{value / 1e6:.3g}"


def _ms(value: float) -> str:
    return f"{1e3 * value:.4g} ms"


def _rate(value: float) -> str:
    return "" if value == math.inf else f"{value / 1e6:.3g}"


def _seconds(value: float | None) -> str:
    return "not over" if value is None else f"{value:.3g}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:+.3g} %" if abs(value) >= 5e-4 else "0 %"


def _gain(download: Download) -> str:
    found = download.played_gain
    ends = "" if found.low is None or found.high is None else f" ({100 * found.low:.3g} to {100 * found.high:.3g})"
    return f"{_percent(found.value)}{ends}"
