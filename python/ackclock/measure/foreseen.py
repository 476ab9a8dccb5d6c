"""What would end a campaign before its first test, as far as can be seen on this computer with nothing sent."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ackclock.errors import InputError, Problem
from ackclock.measure import costs, interfaces, iperf3, refusals, secret, sockets
from ackclock.measure.campaign import Campaign, Line
from ackclock.scenario.plan import load
from ackclock.scenario.reading.line_numbers import line_of
from ackclock.sweeps import shell


def check_paths(campaign: Campaign) -> None:
    """Refuse a line whose scenario is not there, or no path of one line. Raises :class:`InputError`."""
    for number, line in enumerate(campaign.lines):
        if line.via is not None and not (campaign.folder / line.via).is_file():
            key = ("lines", str(number), "via")
            raise InputError(
                f"there is no file '{campaign.folder / line.via}'",
                "give a scenario, seen from the campaign file",
                source=campaign.source,
                key=".".join(key),
                line=line_of(campaign.text, key),
            )
        if line.via is not None:
            shell.single(load(campaign.folder / line.via))


def check_options(campaign: Campaign, lines: Sequence[Line], done: Collection[int] = ()) -> None:
    """Refuse options that this computer's kernel does not take for its own end. Raises :class:`InputError`.

    Of a line behind a path another kernel may be asked, and iperf3 sets its options itself. Runs that are done count
    no more.
    """
    repetitions = range(campaign.header.repetitions)
    for point in campaign.points:
        left = any(campaign.run(point, each) not in done for each in repetitions)
        if left and point.line in lines and point.line.via is None and point.tool != iperf3.TOOL:
            _check(campaign, point.asked.options)


def lacking(campaign: Campaign) -> list[str]:
    """A line for each thing that is not here, and may be by the time that it is needed."""
    return [*_token(campaign), *_interfaces(campaign), *_controllers(campaign), *_options(campaign)]


def to_be_asked(campaign: Campaign) -> list[str]:
    """A line if somebody has to say yes to what a campaign costs, which an option of ``measure run`` does."""
    try:
        costs.check(campaign, campaign.lines)
    except InputError as error:
        return [f"measure run will ask: {error}"]
    return []


def _token(campaign: Campaign) -> list[str]:
    if campaign.header.token is None or all(line.via is not None for line in campaign.lines):
        return []
    try:
        secret.read(campaign.folder / campaign.header.token)
    except InputError as error:
        return [f"measure run will need the token: {error}"]
    return []


def _interfaces(campaign: Campaign) -> list[str]:
    there = interfaces.names()
    wanted = dict.fromkeys(line.interface for line in campaign.lines if line.interface is not None)
    return [
        f"there is no interface '{name}' now; there are: {', '.join(there)}"
        for name in wanted
        if there and name not in there
    ]


def _controllers(campaign: Campaign) -> list[str]:
    """Of controllers that this kernel has not. A server's may differ, and so may the one that plays in virtual time."""
    there = sockets.available()
    wanted: dict[str, bool] = {}
    for point in campaign.points:
        if point.asked.options.cc is not None:
            wanted[point.asked.options.cc] = point.line.via is not None
    return [
        f"this computer's kernel has no controller '{name}' (it has: {', '.join(there)});"
        f" measure run needs it {'in the kernel that plays the path' if behind else 'at both ends'}"
        for name, behind in wanted.items()
        if there and name not in there
    ]


def _options(campaign: Campaign) -> list[str]:
    """Of all options but the controller, which a kernel may load until then: the first that is refused of each kind."""
    found: dict[str | None, str] = {}
    for point in campaign.points:
        if point.line.via is None and point.tool != iperf3.TOOL:
            try:
                _check(campaign, point.asked.options.model_copy(update={"cc": None}))
            except InputError as error:
                found.setdefault(error.key, str(error))
    return list(found.values())


def _check(campaign: Campaign, options: sockets.Options) -> None:
    try:
        sockets.check(options)
    except Problem as problem:
        key = ("test", str(problem.key[0]))
        raise refusals.at(campaign, key, f"this computer: {problem.problem}", problem.remedy) from None
