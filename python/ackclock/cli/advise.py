"""``ackclock advise``: the options of what is asked for advice about."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from ackclock.cli.examples import of as example
from ackclock.cli.options import Json, repeatable
from ackclock.errors import InputError, Problem
from ackclock.scenario.values.units import DURATION, RATE, SIZE, Quantity, parse_fraction

if TYPE_CHECKING:
    from ackclock.advice.case import Case
    from ackclock.advice.observed import Observed

advise_app = App(
    name="advise",
    help="Advice from models and runs of the simulator.",
    help_epilogue=example("advise"),
)

_MOST_LOSS = 0.5
_LEAST_WINDOW, _MOST_WINDOW = 1448, 2**30
"""Bytes: a segment, so that one can be sent, and what the window scale of TCP can say (RFC 7323 §2.2)."""
_LEAST_RTT = 1000
"""Nanoseconds: of a shorter one nothing is left for the quarters of the way."""
_NUMBERS = "--rtt-core, --rtt-access and --rate"
_OPTIONS = {
    r"flows\.0\.cc": "--cc",
    r"flows\.0\.iw": "--iw",
    r"flows\.0\.tcp\.receive_buffer": "--window",
    r"flows\.0\.app\.size": "--sizes",
    r"relays\.\d+\.buffer": "--buffer",
    r"relays\.\d+\.sink\.iw": "--iw-proxy",
    r"relays\.\d+\.source\.tcp\.receive_buffer": "--proxy-window",
    r"topology\.hops\.\d+\.queue\.limit": "--queue",
    r"run\.replications": "--replications",
}
"""Of keys of the scenario that is played: the option that they come from."""


def _whole(number: float, option: str) -> int:
    if number < 1:
        raise InputError(f"{number:g} is too few", "give 1 or more", key=option)
    return int(number)


def _quantity(option: str, text: str, quantity: Quantity) -> int:
    try:
        return quantity.parse(text, zero=False)
    except Problem as problem:
        raise InputError(problem.problem, problem.remedy, key=option) from None


def _share(option: str, text: str) -> float:
    try:
        share = parse_fraction(text)
    except Problem as problem:
        raise InputError(problem.problem, problem.remedy, key=option) from None
    if share > _MOST_LOSS:
        raise InputError(f"'{text}' is more than any connection stands", f"give {_MOST_LOSS} at most", key=option)
    return share


def _window(option: str, text: str | None) -> int | None:
    """What a receiver offers, bytes: as much as a scenario takes."""
    if text is None:
        return None
    size = _quantity(option, text, SIZE)
    if not _LEAST_WINDOW <= size <= _MOST_WINDOW:
        raise InputError(f"'{text}' is no window of TCP", f"give {_LEAST_WINDOW} B to 1 GiB", key=option)
    return size


def _refuse(given: Mapping[str, object], known: Set[str], problem: str, remedy: str) -> None:
    """Raise :class:`InputError` for options that would have no effect."""
    for option, value in given.items():
        if value is not None and option not in known:
            raise InputError(problem, remedy, key=option)


def _named(error: InputError, given: Set[str]) -> InputError:
    """What is wrong with a scenario that options have made, by the option if it is one that was given."""
    for key, option in _OPTIONS.items():
        if option in given and error.source == "scenario" and re.fullmatch(key, error.key or ""):
            remedy = "give fewer" if option == "--replications" else error.remedy
            return InputError(error.problem, remedy, key=option)
    return error


def _calibrated(seen: Observed, cc: str | None) -> tuple[Case, dict[str, Any]]:
    """A capture's path after its calibration, and what ``--json`` has of both. Raises ``RefusedError``."""
    from ackclock.advice.calibration import settle

    found = settle(seen.path, seen.otherwise, seen.transfer, cc, at_receiver=seen.at_receiver)
    fields = {
        "link": {**seen.link.to_json(), "estimated": seen.rated},
        "calibration": [fit.to_json() for fit in found.fits],
        "cc": found.fit.cc,
    }
    return found.path.case(seen.place, (*seen.notes, *found.notes), found.otherwise), fields


@advise_app.command(name="split", help_epilogue=example("advise split"))
def split_command(
    scenario: Annotated[
        Path | None, Parameter(help="A scenario in TOML: what relays make of downloads on the way of its first flows.")
    ] = None,
    /,
    *,
    from_capture: Annotated[Path | None, Parameter(help="Or a capture: of its connection with most data.")] = None,
    connection: Annotated[
        str | None, Parameter(help="Of a capture this connection, as ackclock pcap numbers them: 1.1. It alone counts.")
    ] = None,
    rtt_core: Annotated[
        str | None, Parameter(help="Or numbers: the round trip between server and proxy, without queues.")
    ] = None,
    rtt_access: Annotated[str | None, Parameter(help="That between proxy and client.")] = None,
    rate: Annotated[str | None, Parameter(help="Rate of the line on the client's side.")] = None,
    rate_core: Annotated[str | None, Parameter(help="Rate on the server's side. Default: no limit.")] = None,
    loss_core: Annotated[
        str | None, Parameter(help="Share of packets that the server's side loses: 0.1 %. Default: none.")
    ] = None,
    loss_access: Annotated[str | None, Parameter(help="The same of the client's side.")] = None,
    window: Annotated[
        str | None, Parameter(help="What the client offers, or the server's buffer if less. Default: 6 MB.")
    ] = None,
    sizes: Annotated[str, Parameter(help="Downloads, by commas.")] = "100 kB, 1 MB, 10 MB",
    buffer: Annotated[
        str | None, Parameter(help="The proxy's, of each direction. Default: 4 MB, or the scenario's.")
    ] = None,
    proxy_window: Annotated[
        str | None, Parameter(help="What the proxy offers the server; no more than its buffer. Default: 6 MB.")
    ] = None,
    iw: Annotated[int | None, Parameter(help="The server's initial window, segments. Default: 10.")] = None,
    iw_proxy: Annotated[int | None, Parameter(help="The proxy's. Default: 10.")] = None,
    queue: Annotated[
        float | None,
        Parameter(
            help="Length of queues, in the product of rate and whole round trip. Default: 1, or what a capture shows."
        ),
    ] = None,
    opening: Annotated[
        Literal["accepted", "transparent", "lazy"] | None,
        Parameter(
            help="The server is asked when the client's handshake is done (accepted, the default), at its begin, or "
            "before it is answered."
        ),
    ] = None,
    cc: Annotated[
        str | None,
        Parameter(help="Controller of server and proxy. Default: cubic; of a capture the one that is recognised."),
    ] = None,
    changes: Annotated[tuple[str, ...], repeatable("Change a key of the scenario. Repeatable.", name="--set")] = (),
    replications: Annotated[int | None, Parameter(help="Runs of each, where something is random. Default: 30.")] = None,
    json: Json = False,
) -> int:
    """Does a proxy that splits connections pay, where, and with which buffer: by a model and by runs."""
    from ackclock.advice import observed, resolved
    from ackclock.advice.answer import advise
    from ackclock.advice.calibration import RefusedError
    from ackclock.advice.case import LEAST_BUFFER
    from ackclock.advice.path import Path as Way
    from ackclock.advice.path import Piece, Proxy
    from ackclock.cli import advised, console

    numbers = {"--rtt-core": rtt_core, "--rtt-access": rtt_access}
    asked = (scenario is not None) + (from_capture is not None) + any(value is not None for value in numbers.values())
    if asked != 1:
        problem = "there is nothing to give advice about" if asked == 0 else "advice is about one thing"
        raise InputError(problem, f"give one of a scenario, --from-capture, or {_NUMBERS}")
    given = {
        "--rate": rate, "--rate-core": rate_core, "--loss-core": loss_core, "--loss-access": loss_access,
        "--window": window, "--proxy-window": proxy_window, "--iw": iw, "--iw-proxy": iw_proxy, "--queue": queue,
        "--opening": opening, "--cc": cc, "--set": changes or None, "--connection": connection,
    }  # fmt: skip
    if from_capture is None:
        _refuse(given, set(given) - {"--connection"}, "there is no capture to choose from", "give --from-capture, too")
    if scenario is None:
        _refuse(given, set(given) - {"--set"}, "there is no scenario to change", "leave it out")
    if scenario is not None:
        _refuse(given, {"--set"}, "a scenario says it itself", "write it there or change it with --set")
    elif from_capture is not None:
        known = {"--rate", "--window", "--proxy-window", "--iw-proxy", "--queue", "--opening", "--set", "--connection",
                 "--cc"}  # fmt: skip
        _refuse(given, known, "of a capture it is what the capture says", f"leave it out, or give {_NUMBERS} instead")
    wanted = tuple(dict.fromkeys(_quantity("--sizes", text.strip(), SIZE) for text in sizes.split(",")))
    held = None if buffer is None else _quantity("--buffer", buffer, SIZE)
    if held is not None and held < LEAST_BUFFER:
        raise InputError(
            f"a buffer of {held} B is less than a SYN may promise", f"give at least {LEAST_BUFFER} B", key="--buffer"
        )
    if queue is not None and not 0 < queue < math.inf:
        raise InputError(f"{queue:g} is no length of a queue", "give a number above 0", key="--queue")
    proxy = Proxy(held or 4_000_000, _window("--proxy-window", proxy_window) or 6_000_000,
                  _whole(10 if iw_proxy is None else iw_proxy, "--iw-proxy"), opening or "accepted")  # fmt: skip
    capture: Mapping[str, Any] | None = None
    line = None if rate is None else float(_quantity("--rate", rate, RATE))
    offered = _window("--window", window)
    if scenario is not None:
        case = resolved.case(scenario, changes, held)
    elif from_capture is not None:
        seen = observed.path(from_capture, rate=line, window=offered, proxy=proxy, queue=queue, connection=connection)
        try:
            case, capture = _calibrated(seen, cc)
        except RefusedError as refused:
            if json:
                console.print_json(refused.to_json())
            print(f"ackclock: {from_capture}: {refused}", file=sys.stderr)
            return 1
    else:
        missing = [name for name, value in {**numbers, "--rate": rate}.items() if value is None]
        if missing:
            is_not = "is not" if len(missing) == 1 else "are not"
            raise InputError(f"{' and '.join(missing)} {is_not} given", f"give {_NUMBERS}")
        before = math.inf if rate_core is None else float(_quantity("--rate-core", rate_core, RATE))
        core = Piece(_seconds("--rtt-core", rtt_core), before, _share("--loss-core", loss_core or "0"))
        access = Piece(_seconds("--rtt-access", rtt_access), line or math.inf,
                       _share("--loss-access", loss_access or "0"))  # fmt: skip
        parts = core.parts()
        places = {f"{number}/{len(parts)} of the way there": number for number in range(1, len(parts))}
        way = Way((*parts, access), {**places, "at the border": len(parts)}, offered or 6_000_000,
                  _whole(10 if iw is None else iw, "--iw"), queue or 1.0, cc or "cubic", proxy)  # fmt: skip
        case = way.case("at the border")
    often = None if replications is None else _whole(replications, "--replications")
    chosen = {**given, "--buffer": buffer, "--replications": replications}
    known = {option for option, value in chosen.items() if value is not None} | {"--sizes"}
    try:
        advice = replace(advise(case, wanted, replications=often), capture=capture)
    except InputError as error:
        raise _named(error, known) from None
    if json:
        console.print_json(advice.to_json())
    else:
        advised.show(advice)
    return 0


def _seconds(option: str, text: str | None) -> float:
    time = _quantity(option, text or "", DURATION)
    if time < _LEAST_RTT:
        raise InputError(f"'{text}' is too short", f"give {DURATION.format(_LEAST_RTT)} or more", key=option)
    return time / 1e9
