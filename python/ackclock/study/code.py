"""What a study has as code, in its `claims.py`: measures turn a run into a number, claims judge them.

@measure
def settling_time(run: Run) -> float | None:
    "Seconds from the start of the flow until ..."

@claim("E5", "The estimate lets a flow settle three times as fast", paper=3.1, tolerance="at least 3")
def settles_faster(results: Results) -> Verdict:
    runs = results["single"]
    return at_least(runs.where(slow_start="standard").ratio(settling_time, runs.where(slow_start="blbe")), 3)
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ackclock.errors import InputError, one_line
from ackclock.study.runs import Quantity, Results, Run
from ackclock.study.verdict import Verdict, soft

FILE = "claims.py"


@dataclass(frozen=True)
class Measure:
    """A number that a run has, or has not."""

    name: str
    doc: str
    function: Quantity

    def __call__(self, run: Run) -> float | None:
        """The number of a run; it is looked for once."""
        if self.name not in run.measured:
            value = self.function(run)
            run.measured[self.name] = None if value is None else float(value)
        return run.measured[self.name]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, in our words, and what decides whether it holds here.

    `paper` is the value the paper gives, in the unit that the statement names; `tolerance` says how close is close.
    """

    id: str
    statement: str
    paper: float | str | None
    tolerance: str
    soft: bool
    check: Callable[[Results], Verdict]

    def judge(self, results: Results) -> Verdict:
        """The verdict. A soft claim never fails: what contradicts it makes it inconclusive."""
        verdict = self.check(results)
        return soft(verdict) if self.soft else verdict


@dataclass(frozen=True)
class Code:
    """The measures and claims of a study."""

    measures: Mapping[str, Measure]
    claims: tuple[Claim, ...]


def measure(function: Quantity) -> Measure:
    """Make a measure of a function; its docstring says what it measures, and in which unit."""
    name = getattr(function, "__name__", "measure")
    return Measure(name, one_line(function.__doc__ or ""), function)


def claim(
    name: str, statement: str, *, paper: float | str | None = None, tolerance: str = "", soft: bool = False
) -> Callable[[Callable[[Results], Verdict]], Claim]:
    """Make a claim of the function that checks it."""

    def made(check: Callable[[Results], Verdict]) -> Claim:
        return Claim(name, one_line(statement), paper, tolerance, soft, check)

    return made


def load(folder: Path) -> Code:
    """The measures and claims in a study's `claims.py`, in their order there. Raises :class:`InputError`."""
    path = folder / FILE
    if not path.is_file():
        raise InputError(f"there is no {FILE}", "write one, with a @claim for each sentence", source=str(folder))
    name = f"ackclock_study_{folder.name}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError("cannot be imported", "correct it", source=str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and annotations look their module up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the code of a study raises
        line = _line(error, path)
        problem = f"cannot be imported ({type(error).__name__}: {one_line(str(error))})"
        raise InputError(problem, "correct it", source=str(path), line=line) from error
    found = vars(module).values()
    claims = tuple(item for item in found if isinstance(item, Claim))
    if not claims:
        raise InputError("has no claim", "write at least one, with @claim", source=str(path))
    ids = [item.id for item in claims]
    for index, item in enumerate(ids):
        if item in ids[:index]:
            raise InputError(f"claim '{item}' is there twice", "give each its own id", source=str(path))
    return Code({item.name: item for item in found if isinstance(item, Measure)}, claims)


def _line(error: Exception, path: Path) -> int | None:
    """The last line of the file that an exception passed through."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
