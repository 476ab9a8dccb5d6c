"""A study small enough for tests, one flow for three seconds, twice; and the plans of published ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ackclock.scenario.plan import Plan
from ackclock.study.model import Study
from ackclock.study.runner import plans

_planned: dict[tuple[int, bool], tuple[Study, Mapping[str, Plan]]] = {}


def cached_plans(study: Study, *, quick: bool = False) -> Mapping[str, Plan]:
    """The plans of a study, made once for each study that a process has loaded: thousands of runs take seconds."""
    _, found = _planned.setdefault((id(study), quick), (study, {}))
    if not found:
        found = plans(study, quick=quick)
        _planned[id(study), quick] = study, found
    return found


STUDY = """\
title = "A small study"
summary = "Two controllers on a short path."

[citation]
authors = ["A. Author", "B. Author"]
title = "On short paths"
year = "2020"

[[scenarios]]
id = "one"
title = "alone"
file = "one.toml"
set = { "run.seed" = 3 }
quick = { "run.duration" = "2 s", "run.replications" = 2 }

[[tables]]
id = "main"
title = "Goodput"
paper = "table 1"
references = { paper = "expected.csv" }
columns = [{ measure = "goodput", label = "goodput, Mbit/s", scale = 1e-6, digits = 2 }]
rows = [
  { label = "reno", scenario = "one", where = { cc = "reno" } },
  { scenario = "one", each = ["cc"] },
]

[[figures]]
id = "window"
title = "Windows"
kind = "time"
x = { label = "time (s)", from = 0 }
y = { label = "cwnd (kB)", scale = 1e-3 }
series = [{ scenario = "one", data = "cwnd", by = "cc" }, { label = "rate", scenario = "one", data = "goodput" }]
marks = [{ label = "paper", y = 30 }]

[[figures]]
id = "goodput"
title = "Goodput"
kind = "sweep"
x = { label = "controller" }
y = { label = "Mbit/s", scale = 1e-6 }
series = [{ label = "goodput", scenario = "one", data = "goodput", over = "cc" }]
"""

SCENARIO = """\
[topology]
kind = "dumbbell"
rate = "10 Mbit/s"
rtt = "20 ms"
queue = "1 BDP"

[[flows]]
cc = ["reno", "cubic"]
start = { uniform = ["0 s", "100 ms"] }

[run]
duration = "3 s"
replications = 3

[probes]
interval = "50 ms"
"""

CLAIMS = '''\
"""Claims of the small study."""

from ackclock.study import Results, Run, Verdict, at_least, claim, labelled, measure


@measure
def goodput(run: Run) -> float:
    """Goodput of the flow, bit/s."""
    return float(run.flow()["goodput_bps"])


@claim("A1", "Both fill the path. Value: goodput, Mbit/s.", paper=9.5, tolerance="at least 5.0")
def a1(results: Results) -> Verdict:
    return labelled("both", at_least(results["one"].interval(goodput).scaled(1e-6), LIMIT))


@claim("A2", "Reno is a thousand times faster.", paper="much", soft=True)
def a2(results: Results) -> Verdict:
    runs = results["one"]
    return at_least(runs.where(cc="reno").ratio(goodput, runs.where(cc="cubic")), 1000.0)
'''

EXPECTED = "# Of the paper.\nrow,goodput\nreno,9300000\ncubic,\n"


def write_study(folder: Path, *replacements: tuple[str, str], limit: str = "5.0") -> Path:
    """Write the small study into `folder`, with texts of its study.toml replaced, and return its directory."""
    text = STUDY
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    place = folder / "small"
    place.mkdir(parents=True, exist_ok=True)
    (place / "study.toml").write_text(text, encoding="utf-8")
    (place / "one.toml").write_text(SCENARIO, encoding="utf-8")
    (place / "claims.py").write_text(CLAIMS.replace("LIMIT", limit), encoding="utf-8")
    (place / "expected.csv").write_text(EXPECTED, encoding="utf-8")
    return place
