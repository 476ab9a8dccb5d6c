"""``ackclock pcap``.

Plain captures are shown without making a table of them, and without loading what makes tables, which takes longer than
reading a capture of some hundred thousand packets.
"""

from __future__ import annotations

from ackclock.cli import captured, lines
from ackclock.cli.exit_codes import FAILED, OK
from ackclock.errors import InputError
from ackclock.pcaps import digest, inputs
from ackclock.pcaps.reading import Options

TYPE_CHECKING = False  # what typing says, which takes time to load
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ackclock.cli.captured_figure import Asked, Figure
    from ackclock.pcaps.analyse import Session


class Request:
    """What was asked for on the command line; the defaults are those of its options."""

    def __init__(
        self,
        files: Sequence[str],
        tables: Sequence[str] = (),
        out: Path | None = None,
        labels: Sequence[str] = (),
        base: str | None = None,
        weights: str | None = None,
        most: int = 8,
        options: Options | None = None,
        anonymise: bool = False,
        as_json: bool = False,
        check: bool = False,
        truth: Path | None = None,
        plot: Asked | None = None,
    ) -> None:
        self.files = files
        self.tables = tables
        self.out = out
        self.labels = labels
        self.base = base
        self.weights = weights
        self.most = most
        self.options = options or Options()
        self.anonymise = anonymise
        self.as_json = as_json
        self.check = check
        self.truth = truth
        self.plot = plot

    @property
    def plain(self) -> bool:
        """Whether nothing but a summary is asked for."""
        return not (self.tables or self.out or self.labels or self.as_json or self.check or self.plot)


def run(request: Request) -> int:
    """Analyse, print, keep. The exit code is 1 if a check finds what is not as it was."""
    if len(request.files) == 1 and (there := _opened(request.files[0])) is not None:
        return _again(there, request)
    found = inputs.collected(request.files, inputs.labelled(request.labels))
    _fits(request, found)
    if request.plot is not None:
        request.plot.fits()
    if request.check:
        return _check(request, found)
    if request.plain and found[0].label is None and (unread := _digested(request, found)) is not None:
        return FAILED if unread else OK
    return FAILED if _tabled(request, found) else OK


def show(done: Session, *, as_json: bool = False) -> None:
    """Print a result of captures, as the command did that wrote it."""
    _print(done, Request((), as_json=as_json))


def _opened(folder: str) -> Session | None:
    """What was kept in a folder, if there is such a thing."""
    if not inputs.is_folder(folder):
        return None
    from ackclock.pcaps.analyse import opened

    return opened(folder)


def _again(done: Session, request: Request) -> int:
    """Print what was kept."""
    if request.plot is not None:
        request.plot.fits()
    if request.out is not None or request.labels or request.check:
        problem, remedy = "is a result of captures, which is only shown", "give captures to analyse"
        raise InputError(problem, remedy, source=request.files[0])
    analysis = [
        name for name in ("merge_interfaces", "sort", "max_bytes", "checksums") if getattr(request.options, name)
    ]
    if request.anonymise or analysis:
        # What was kept is as it was analysed: addresses above all would be taken for replaced ones.
        option = ("anonymise" if request.anonymise else analysis[0]).replace("_", "-")
        problem = f"--{option} is for captures, and this is a result of them, which is shown as it was kept"
        raise InputError(problem, f"give captures to analyse: ackclock pcap FILE --{option}", source=request.files[0])
    _print(done, request)
    return OK


def _digested(request: Request, found: Sequence[inputs.Input]) -> bool | None:
    """Print a summary without tables, if they are not needed for it; whether packets were left out and no TCP found."""
    if len(found) == 1:
        own = digest.digest(found, request.options, request.most, anonymise=request.anonymise)
    else:
        from ackclock.cli.progress import progress

        with progress() as report:
            own = digest.digest(found, request.options, request.most, anonymise=request.anonymise, report=report)
    if own is None:
        return None
    captured.files(own.captures)
    captured.largest(own, request.most)
    for warning in own.warnings:
        lines.warn(warning)
    return own.unread


def _tabled(request: Request, found: Sequence[inputs.Input]) -> bool:
    """Make tables and print what is asked for of them; whether packets were left out and no TCP found."""
    from contextlib import ExitStack

    from ackclock.cli.progress import progress
    from ackclock.pcaps.analyse import session

    with ExitStack() as until:
        with progress() as report:
            options = request.options
            if request.plot is not None and request.out is None and not request.tables:
                options = request.plot.narrowed(options, found)
            own = session(found, options, out=request.out, anonymise=request.anonymise, report=report)
            done = until.enter_context(own)
            report(len(found), len(found))
        _print(done, request)
        return done.unread


def _print(done: Session, request: Request) -> None:
    from ackclock.cli import captured_tables as tables
    from ackclock.results import warnings

    figure = _drawn(done, request)
    if request.tables and request.out is None:
        tables.rows(done, request.tables[0], as_json=request.as_json)
    elif request.as_json:
        tables.everything(done, request.base, request.weights, figure)
    else:
        tables.summary(done, request.most, request.base, request.weights)
        if request.out is not None:
            kept = [name for name in ("series", "events") if getattr(request.options, name)]
            lines.say(f"\nkept in {request.out}: flows, captures{''.join(f', {name}' for name in kept)}")
        if figure is not None:
            figure.say()
    for warning in (*warnings.of(done.manifest), *(figure.notes if figure is not None else ())):
        lines.warn(warning)


def _drawn(done: Session, request: Request) -> Figure | None:
    if request.plot is None:
        return None
    from ackclock.cli.captured_figure import drawn

    return drawn(done.result, request.plot)


def _fits(request: Request, found: Sequence[inputs.Input]) -> None:
    """Refuse what does not go together, before anything is read."""
    if len(request.tables) > 1 and request.out is None:
        raise InputError("one table is printed at a time", "give one of them, or keep them: --out DIR", key="--flows")
    if request.truth is not None and not request.check:
        raise InputError("is what a capture is checked against", "say that too: --check", key="--truth")
    if request.most < 1:
        raise InputError(f"{request.most} connections cannot be shown", "give a number above 0", key="--most")
    labels = {source.label for source in found}
    if request.base is not None and request.base not in labels:
        known = ", ".join(str(label) for label in labels if label is not None)
        raise InputError(
            f"no captures have the label '{request.base}'", f"there are {known or 'no labels'}", key="--base"
        )
    if request.weights is not None:
        from ackclock.pcaps import weights

        weights.read(request.weights)
        if labels == {None}:
            raise InputError("they are of groups", "give groups: --label off=FOLDER --label on=FOLDER", key="--weights")


def _check(request: Request, found: Sequence[inputs.Input]) -> int:
    """Hold what the analysis says against what the simulator wrote beside the packets."""
    from ackclock.pcaps import check
    from ackclock.results.result import Result

    truth = None if request.truth is None else Result.load(request.truth)
    checks = [check.check(source, request.options, truth) for source in found]
    if request.as_json:
        lines.print_json({"checks": [own.to_json() for own in checks]})
    else:
        for own in checks:
            for line in own.lines():
                lines.say(line)
    return OK if all(own.agrees for own in checks) else FAILED
