"""What a study has as code, in its `claims.py`: measures turn a run into a number, claims judge them.

@measure
def settling_time(run: Run) -> float | None:
    "Seconds from the start of the flow until ..."

@claim("E5", "The estimate lets a flow settle three times as fast", unit="times", paper=3.1)
def settles_faster(results: Results) -> Verdict:
    runs = results["single"]
    return at_least(runs.where(slow_start="standard").ratio(settling_time, runs.where(slow_start="blbe")), 3)
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import overload

from ackclock.errors import InputError, one_line, unknown
from ackclock.study.kinds import KINDS, Kind
from ackclock.study.runs import Quantity, Results, Run
from ackclock.study.times import Censored
from ackclock.study.verdict import Verdict, soft

FILE = "claims.py"

SHORT = 56
"""Characters that a short statement has at most: 80 less an indent and the paper's value."""


@dataclass(frozen=True)
class Measure:
    """A number that a run has, or has not. Its kind says how several are summed up.

    `most` is the largest value that a run can have, where the kind does not say: of a throughput, the link's rate.
    """

    name: str
    doc: str
    function: Quantity
    kind: Kind = "number"
    most: Quantity | None = None

    def __call__(self, run: Run) -> float | None:
        """The number of a run; it is looked for once."""
        if self.name not in run.measured:
            run.measured[self.name] = self._of(run)
        return run.measured[self.name]

    def _of(self, run: Run) -> float | None:
        """The number. Whatever the code raises becomes one line that names the measure."""
        try:
            value = self.function(run)
            return value if value is None or isinstance(value, Censored) else float(value)
        except InputError as error:
            raise InputError(error.problem, error.remedy, source=FILE, key=self.name) from error
        except Exception as error:  # whatever the code of a study raises
            problem = f"it raised {type(error).__name__}: {one_line(str(error))}"
            raise InputError(problem, "correct the measure", source=FILE, key=self.name) from error


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, in our words, and what decides whether it holds here.

    `paper` is the paper's value of what is measured, in the same `unit`, or in words what it says instead;
    `tolerance` says how close is close. `origin` says where the paper has it: its text, a table, or a figure read off
    by eye. `short` is the statement in :data:`SHORT` characters, for a line of a terminal.
    """

    id: str
    statement: str
    paper: float | str | None
    tolerance: str
    soft: bool
    check: Callable[[Results], Verdict]
    unit: str = ""
    short: str = ""
    origin: str = ""

    def judge(self, results: Results) -> Verdict:
        """The verdict. A soft claim never fails: what contradicts it makes it inconclusive."""
        verdict = self.check(results)
        return soft(verdict) if self.soft and isinstance(verdict, Verdict) else verdict


@dataclass(frozen=True)
class Code:
    """The measures and claims of a study."""

    measures: Mapping[str, Measure]
    claims: tuple[Claim, ...]


@overload
def measure(function: Quantity, /) -> Measure: ...


@overload
def measure(*, kind: Kind = ..., most: Quantity | None = ...) -> Callable[[Quantity], Measure]: ...


def measure(
    function: Quantity | None = None, /, *, kind: Kind = "number", most: Quantity | None = None
) -> Measure | Callable[[Quantity], Measure]:
    """Make a measure of a function; its docstring says what it measures, and in which unit.

    `kind` decides which value stands for several runs, and where its interval ends: docs/studies.md. `most` gives the
    largest value that a run can have, where the interval ends as well. Raises :class:`InputError` for a kind that is
    not there.
    """
    if kind not in KINDS:
        found = unknown("kind", kind, KINDS)
        raise InputError(found.problem, found.remedy, source=FILE)
    if most is not None and (not callable(most) or kind == "time"):
        problem = "a time has no largest value" if kind == "time" else f"{most!r} is no function of a run"
        raise InputError(problem, "give most a function, as in most=link_rate", source=FILE, key="most")

    def made(own: Quantity) -> Measure:
        name = getattr(own, "__name__", "measure")
        return Measure(name, one_line(own.__doc__ or ""), own, kind, most)

    return made if function is None else made(function)


def claim(
    name: str,
    statement: str,
    *,
    short: str = "",
    unit: str = "",
    paper: float | str | None = None,
    origin: str = "",
    tolerance: str = "",
    soft: bool = False,
) -> Callable[[Callable[[Results], Verdict]], Claim]:
    """Make a claim of the function that checks it.

    `unit` is that of the value that it measures, and of `paper`: "kbit/s", "%", "times" for a ratio. A `paper` in words
    is of another quantity, or of none. `origin` says where the paper has the sentence and the number: "text of section
    4.2", "table 3", "figure 2, read off by eye". `short` says the statement in one line of a terminal, where it is
    longer. Raises :class:`InputError` for one that is too long itself.
    """
    if len(short) > SHORT:
        problem = f"claim '{name}': short has {len(short)} characters"
        raise InputError(problem, f"say it in {SHORT} or fewer", source=FILE)

    def made(check: Callable[[Results], Verdict]) -> Claim:
        return Claim(name, one_line(statement), paper, tolerance, soft, check, unit, one_line(short), one_line(origin))

    return made


def load(folder: Path) -> Code:
    """The measures and claims in a study's `claims.py`, claims in order of their ids. Raises :class:`InputError`."""
    path = folder / FILE
    if not path.is_file():
        raise InputError(f"there is no {FILE}", "write one, with a @claim for each sentence", source=str(folder))
    found = values(folder, path)
    claims = tuple(sorted(dict.fromkeys(item for item in found if isinstance(item, Claim)), key=_by_number))
    if not claims:
        raise InputError("has no claim", "write at least one, with @claim", source=str(path))
    ids = [item.id for item in claims]
    for index, item in enumerate(ids):
        if item in ids[:index]:
            raise InputError(f"claim '{item}' is there twice", "give each its own id", source=str(path))
    return Code({item.name: item for item in found if isinstance(item, Measure)}, claims)


def _by_number(item: Claim) -> tuple[str, int, str]:
    """Letters, then the number, whichever file of the study a claim is in: A2 comes before A10, and A before E."""
    found = re.fullmatch(r"(\D*)(\d*)(.*)", item.id)
    letters, number, rest = found.groups() if found else (item.id, "", "")
    return letters, int(number or 0), rest


def values(folder: Path, path: Path) -> list[object]:
    """Everything that a file of a study has, and what it imports of the same directory. Raises :class:`InputError`."""
    return [item for module in _imported(folder, path) for item in vars(module).values()]


def _imported(folder: Path, path: Path) -> list[ModuleType]:
    """`claims.py` and what it imports of the same directory, which is a package of its own for the purpose.

    The package's name is no directory's, so that a study needs no name that Python could import.
    """
    package = "ackclock_study_" + re.sub(r"\W", "_", folder.name)
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        del sys.modules[name]  # of another study of the same name, or of this one before it was changed
    parent = ModuleType(package)
    parent.__path__ = [str(folder)]
    sys.modules[package] = parent
    importlib.invalidate_caches()
    try:
        importlib.import_module(f"{package}.{path.stem}")
    except Exception as error:  # whatever the code of a study raises
        line = _line(error, path)
        problem = f"cannot be imported ({type(error).__name__}: {one_line(str(error))})"
        raise InputError(problem, "correct it", source=str(path), line=line) from error
    return [module for name, module in sys.modules.items() if name.startswith(f"{package}.")]


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
