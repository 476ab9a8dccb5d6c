"""``ackclock advise``: the options of what is asked for advice about."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from ackclock.cli.examples import of as example
from ackclock.cli.options import Json, repeatable
from ackclock.errors import InputError, Problem
from ackclock.scenario.values.units import DURATION, RATE, SIZE, Quantity, parse_fraction

advise_app = App(
    name="advise",
    help="Advice from models and runs of the simulator.",
    help_epilogue=example("advise"),
)

_MOST_LOSS = 0.5
_NUMBERS = "--rtt-core, --rtt-access and --rate"


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


@advise_app.command(name="split", help_epilogue=example("advise split"))
def split_command(
    scenario: Annotated[
        Path | None, Parameter(help="A scenario in TOML: what relays make of downloads on the way of its first flows.")
    ] = None,
    /,
    *,
    from_capture: Annotated[Path | None, Parameter(help="Or a capture: of its connection with most data.")] = None,
    rtt_core: Annotated[
        str | None, Parameter(help="Or numbers: the round trip between server and proxy, without queues.")
    ] = None,
    rtt_access: Annotated[str | None, Parameter(help="That between proxy and client.")] = None,
    rate: Annotated[str | None, Parameter(help="Rate of the line on the client's side.")] = None,
    rate_core: Annotated[str | None, Parameter(help="Rate on the server's side. Default: no limit.")] = None,
    loss_core: Annotated[str, Parameter(help="Share of packets that the server's side loses: 0.1 %.")] = "0",
    loss_access: Annotated[str, Parameter(help="The same of the client's side.")] = "0",
    window: Annotated[
        str | None, Parameter(help="What the client offers, or the server's buffer if less. Default: 6 MB.")
    ] = None,
    sizes: Annotated[str, Parameter(help="Downloads, by commas.")] = "100 kB, 1 MB, 10 MB",
    buffer: Annotated[
        str | None, Parameter(help="The proxy's, of each direction. Default: 4 MB, or the scenario's.")
    ] = None,
    proxy_window: Annotated[str, Parameter(help="What the proxy offers the server; no more than its buffer.")] = "6 MB",
    iw: Annotated[int, Parameter(help="The server's initial window, segments.")] = 10,
    iw_proxy: Annotated[int, Parameter(help="The proxy's.")] = 10,
    queue: Annotated[float, Parameter(help="Length of queues, in the product of rate and whole round trip.")] = 1.0,
    opening: Annotated[
        Literal["accepted", "transparent", "lazy"],
        Parameter(
            help="The server is asked when the client's handshake is done, at its begin, or before it is answered."
        ),
    ] = "accepted",
    cc: Annotated[str, Parameter(help="Controller of server and proxy.")] = "cubic",
    changes: Annotated[tuple[str, ...], repeatable("Change a key of the scenario. Repeatable.", name="--set")] = (),
    replications: Annotated[int | None, Parameter(help="Runs of each, where something is random. Default: 30.")] = None,
    json: Json = False,
) -> int:
    """Does a proxy that splits connections pay, where, and with which buffer: by a model and by runs."""
    from ackclock.advice import observed, resolved
    from ackclock.advice.answer import advise
    from ackclock.advice.path import Path as Way
    from ackclock.advice.path import Piece, Proxy
    from ackclock.cli import advised, console

    numbers = {"--rtt-core": rtt_core, "--rtt-access": rtt_access}
    asked = (scenario is not None) + (from_capture is not None) + any(value is not None for value in numbers.values())
    if asked != 1:
        problem = "there is nothing to give advice about" if asked == 0 else "advice is about one thing"
        raise InputError(problem, f"give one of a scenario, --from-capture, or {_NUMBERS}")
    wanted = tuple(_quantity("--sizes", text.strip(), SIZE) for text in sizes.split(","))
    held = None if buffer is None else _quantity("--buffer", buffer, SIZE)
    if held is not None and held < 65_535:
        raise InputError(
            f"a buffer of {held} B is less than a SYN may promise", "give at least 65535 B", key="--buffer"
        )
    if not 0 < queue < math.inf:
        raise InputError(f"{queue:g} is no length of a queue", "give a number above 0", key="--queue")
    proxy = Proxy(held or 4_000_000, _quantity("--proxy-window", proxy_window, SIZE), _whole(iw_proxy, "--iw-proxy"),
                  opening)  # fmt: skip
    line = None if rate is None else float(_quantity("--rate", rate, RATE))
    offered = None if window is None else _quantity("--window", window, SIZE)
    if scenario is not None:
        case = resolved.case(scenario, changes, held)
    elif from_capture is not None:
        seen = observed.path(from_capture, rate=line, window=offered, proxy=proxy, queue=queue)
        case = seen.path.case(seen.place, seen.notes, seen.otherwise)
    else:
        missing = [name for name, value in {**numbers, "--rate": rate}.items() if value is None]
        if missing:
            raise InputError(f"{' and '.join(missing)} is not given", f"give {_NUMBERS}")
        core = Piece(_seconds("--rtt-core", rtt_core), math.inf if rate_core is None else
                     float(_quantity("--rate-core", rate_core, RATE)), _share("--loss-core", loss_core))  # fmt: skip
        access = Piece(_seconds("--rtt-access", rtt_access), line or math.inf, _share("--loss-access", loss_access))
        parts = core.parts()
        places = {f"{number}/{len(parts)} of the way there": number for number in range(1, len(parts))}
        way = Way((*parts, access), {**places, "at the border": len(parts)}, offered or 6_000_000,
                  _whole(iw, "--iw"), queue, cc, proxy)  # fmt: skip
        case = way.case("at the border")
    advice = advise(case, wanted, replications=None if replications is None else _whole(replications, "--replications"))
    if json:
        console.print_json(advice.to_json())
    else:
        advised.show(advice)
    return 0


def _seconds(option: str, text: str | None) -> float:
    return _quantity(option, text or "", DURATION) / 1e9
