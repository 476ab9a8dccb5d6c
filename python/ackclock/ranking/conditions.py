"""Which swept keys are choices, and which are conditions that a choice has to meet: only choices are ranked."""

from __future__ import annotations

from collections.abc import Iterable

from ackclock.comparison.pairing import SEED
from ackclock.errors import InputError
from ackclock.ranking.played import ENGINE, KERNEL

_CHOSEN = frozenset({"queue", "shaper", "policer"})
"""Parts of the keys of a path that somebody chooses: how a queue is managed and limited."""

_MET = frozenset(
    {
        "rtt", "rtt_spread", "over", "from", "to", "via", "via_back", "access", "app", "start", "stop", "bytes",
        "active", "count",
    }
)  # fmt: skip
"""Keys of flows that say where, when and how much is sent."""


_CLIENT = frozenset({"connections", "protocol", "preopen", "assignment", "responses"})
"""Keys of an application that its programs decide on: how pages are fetched, not what they are."""


def is_condition(key: str) -> bool:
    """Whether the values of a key are what is met, as RTTs are, and not what is chosen, as a controller is."""
    parts = [part for part in key.split(".") if not part.isdigit()]
    if parts[0] == "topology":
        return _CHOSEN.isdisjoint(parts)
    own = parts[1:] if parts[0] == "flows" and parts[1:] else parts
    if own[0] == "app" and not _CLIENT.isdisjoint(own[1:2]):
        return False
    return (parts[0] in ("run", "probes") and key != KERNEL) or own[0] in _MET


def refused(key: str, keys: Iterable[str], source: str) -> InputError:
    """The error for the values of a condition, that says what to do instead."""
    choices = sorted((name for name in keys if not is_condition(name)), key=lambda name: not name.endswith("cc"))
    if key == SEED:
        remedy = f"rank a choice, --by {choices[0]}" if choices else "sweep a choice, such as cc"
        return InputError("a swept seed makes replications, which are no choice", remedy, source=source, key="by")
    if key == ENGINE:
        first = f"rank a choice on each, --by {choices[0]}" if choices else "sweep a choice, such as cc"
        remedy = f"{first}; whether engines agree: ackclock agree FILE, or compare DIR --by engine"
        return InputError("an engine is who plays, not what is played", remedy, source=source, key="by")
    first = f"rank a choice over all of them, --by {choices[0]}" if choices else "sweep a choice, such as cc"
    see = f"see what it does: ackclock plot DIR --x {key}, or compare DIR --by {key}"
    problem = f"{key} is a condition that is met, not a choice, so that no value of it is the best"
    return InputError(problem, f"{first}; {see}", source=source, key="by")
