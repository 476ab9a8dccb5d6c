"""ackclock: a laboratory for TCP congestion control.

>>> import ackclock
>>> result = ackclock.run("scenarios/high-bdp.toml", set={"cc": ["reno", "cubic"]})
>>> result.summary()

Names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from ackclock.results import drawer

TYPE_CHECKING = False  # what typing says, which takes time to load
if TYPE_CHECKING:
    from typing import Any

    from ackclock import metrics, stats, study
    from ackclock._ackclock import Ack, Cx, Interval, Lost, RateSample, Restart, Signal, Undo
    from ackclock.comparison.compare import Comparison, compare
    from ackclock.controllers.agent import Agent, Decision
    from ackclock.controllers.base import ByWindow, CongestionControl, WindowBased
    from ackclock.drawing.figures import save as plot
    from ackclock.engine import catalogue
    from ackclock.engines.agree import Agreement, agree
    from ackclock.errors import AckclockError, ControllerError, EngineError, InputError, Interrupted
    from ackclock.events import Control, Event, load_events, record_events, replay, save_events
    from ackclock.pcaps.analyse import pcap
    from ackclock.ranking.ranking import Ranking, rank
    from ackclock.results.query import query
    from ackclock.results.result import Result
    from ackclock.scenario.model import Scenario
    from ackclock.scenario.plan import Plan, load
    from ackclock.simulation import Simulation
    from ackclock.sweeps.captures import Capture, capture
    from ackclock.sweeps.precision import Precision
    from ackclock.sweeps.run import run
    from ackclock.sweeps.sweep import sweep

    __version__: str

__all__ = [
    "Ack",
    "AckclockError",
    "Agent",
    "Agreement",
    "ByWindow",
    "Capture",
    "Comparison",
    "CongestionControl",
    "Control",
    "ControllerError",
    "Cx",
    "Decision",
    "EngineError",
    "Event",
    "InputError",
    "Interrupted",
    "Interval",
    "Lost",
    "Plan",
    "Precision",
    "Ranking",
    "RateSample",
    "Restart",
    "Result",
    "Scenario",
    "Signal",
    "Simulation",
    "Undo",
    "WindowBased",
    "__version__",
    "agree",
    "capture",
    "catalogue",
    "compare",
    "load",
    "load_events",
    "metrics",
    "pcap",
    "plot",
    "query",
    "rank",
    "record_events",
    "replay",
    "run",
    "save_events",
    "stats",
    "study",
    "sweep",
]

_HOMES = {
    "Ack": ("ackclock._ackclock", "Ack"),
    "AckclockError": ("ackclock.errors", "AckclockError"),
    "Agent": ("ackclock.controllers.agent", "Agent"),
    "Agreement": ("ackclock.engines.agree", "Agreement"),
    "ByWindow": ("ackclock.controllers.base", "ByWindow"),
    "Capture": ("ackclock.sweeps.captures", "Capture"),
    "Comparison": ("ackclock.comparison.compare", "Comparison"),
    "CongestionControl": ("ackclock.controllers.base", "CongestionControl"),
    "Control": ("ackclock.events", "Control"),
    "ControllerError": ("ackclock.errors", "ControllerError"),
    "Decision": ("ackclock.controllers.agent", "Decision"),
    "Cx": ("ackclock._ackclock", "Cx"),
    "Event": ("ackclock.events", "Event"),
    "EngineError": ("ackclock.errors", "EngineError"),
    "InputError": ("ackclock.errors", "InputError"),
    "Interrupted": ("ackclock.errors", "Interrupted"),
    "Interval": ("ackclock._ackclock", "Interval"),
    "Lost": ("ackclock._ackclock", "Lost"),
    "Plan": ("ackclock.scenario.plan", "Plan"),
    "Precision": ("ackclock.sweeps.precision", "Precision"),
    "Ranking": ("ackclock.ranking.ranking", "Ranking"),
    "RateSample": ("ackclock._ackclock", "RateSample"),
    "Restart": ("ackclock._ackclock", "Restart"),
    "Result": ("ackclock.results.result", "Result"),
    "Scenario": ("ackclock.scenario.model", "Scenario"),
    "Signal": ("ackclock._ackclock", "Signal"),
    "Simulation": ("ackclock.simulation", "Simulation"),
    "Undo": ("ackclock._ackclock", "Undo"),
    "WindowBased": ("ackclock.controllers.base", "WindowBased"),
    "agree": ("ackclock.engines.agree", "agree"),
    "capture": ("ackclock.sweeps.captures", "capture"),
    "catalogue": ("ackclock.engine", "catalogue"),
    "compare": ("ackclock.comparison.compare", "compare"),
    "load": ("ackclock.scenario.plan", "load"),
    "load_events": ("ackclock.events", "load_events"),
    "pcap": ("ackclock.pcaps.analyse", "pcap"),
    "plot": ("ackclock.drawing.figures", "save"),
    "query": ("ackclock.results.query", "query"),
    "rank": ("ackclock.ranking.ranking", "rank"),
    "record_events": ("ackclock.events", "record_events"),
    "replay": ("ackclock.events", "replay"),
    "run": ("ackclock.sweeps.run", "run"),
    "save_events": ("ackclock.events", "save_events"),
    "sweep": ("ackclock.sweeps.sweep", "sweep"),
}

_PARTS = ("metrics", "stats", "study")
"""Parts of the package that are public themselves. Whoever imports them has them as attributes from then on."""


def _drawer() -> Any:
    import importlib

    return importlib.import_module("ackclock.drawing.plot").plot


drawer.use(_drawer)


def __getattr__(name: str) -> Any:
    import importlib

    if name == "__version__":
        from importlib.metadata import version

        return version("ackclock")
    if name in _PARTS:
        return importlib.import_module(f"ackclock.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'ackclock' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
