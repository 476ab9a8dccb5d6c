"""What the engine refuses, said of the scenario's own key and line: some mistakes only the engine can see."""

from __future__ import annotations

import re
import tomllib

from ackclock.errors import InputError
from ackclock.scenario import compile as compiler
from ackclock.scenario import sweep
from ackclock.scenario.diagnose import trim
from ackclock.scenario.lines import line_of
from ackclock.scenario.plan import Plan, Point

_NAMES = {"burst_bytes": "burst", "rate_bps": "rate", "delay_ns": "delay", "schedule": "rate", "trace": "rate"}
"""Keys of a link in the resolved run that have another name in a scenario."""


def refused(plan: Plan, point: Point, message: str) -> InputError:
    """The error for `message`, which the engine says of `point`."""
    found = re.fullmatch(r"links\.(\d+)((?:\.\w+)*): (?:'\w+': )?(.*)", message, re.DOTALL)
    if found is None:
        return InputError(f"the engine refuses it: {message}", "see docs/scenario.md", source=plan.source)
    inner = [_NAMES.get(part, part) for part in found[2].split(".")[1:] if part != "params"]
    key = (*compiler.link_key(point.scenario, int(found[1])), *inner)
    problem, *rest = re.split(r"[:;] ", found[3], maxsplit=1)
    remedy = rest[0] if rest else "see docs/queues.md and docs/links.md"
    key = trim(key, tomllib.loads(plan.text)) if plan.text else key
    line = line_of(plan.text, key) if plan.text else None
    return InputError(problem, remedy, source=plan.source, key=sweep.dotted(key) or None, line=line)
