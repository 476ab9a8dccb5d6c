"""ackclock: a laboratory for TCP congestion control.

>>> import ackclock
>>> result = ackclock.run("scenarios/high-bdp.toml", set={"cc": ["reno", "cubic"]})
>>> result.summary()

Names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ackclock.api import run
    from ackclock.engine import catalogue
    from ackclock.errors import AckclockError, EngineError, InputError, Interrupted
    from ackclock.plot.figures import save as plot
    from ackclock.results.result import Result
    from ackclock.scenario.model import Scenario
    from ackclock.scenario.plan import Plan, load

    __version__: str

__all__ = [
    "AckclockError",
    "EngineError",
    "InputError",
    "Interrupted",
    "Plan",
    "Result",
    "Scenario",
    "__version__",
    "catalogue",
    "load",
    "plot",
    "run",
]

_HOMES = {
    "AckclockError": ("ackclock.errors", "AckclockError"),
    "EngineError": ("ackclock.errors", "EngineError"),
    "InputError": ("ackclock.errors", "InputError"),
    "Interrupted": ("ackclock.errors", "Interrupted"),
    "Plan": ("ackclock.scenario.plan", "Plan"),
    "Result": ("ackclock.results.result", "Result"),
    "Scenario": ("ackclock.scenario.model", "Scenario"),
    "catalogue": ("ackclock.engine", "catalogue"),
    "load": ("ackclock.scenario.plan", "load"),
    "plot": ("ackclock.plot.figures", "save"),
    "run": ("ackclock.api", "run"),
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("ackclock")
    if name not in _HOMES:
        raise AttributeError(f"module 'ackclock' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
