"""``ackclock cc``: the algorithms by name, with their sources, parameters and validation, and how one behaves."""

from __future__ import annotations

import dataclasses
import importlib.resources
import inspect
import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.cli import console, terminal
from ackclock.cli.exit_codes import OK
from ackclock.controllers import loading
from ackclock.engine import DEFAULT_PROFILE, Algorithm, Option, catalogue
from ackclock.errors import InputError, Problem, unknown
from ackclock.scenario.values.options import show


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line."""

    name: str | None
    tcp: bool
    queues: bool
    as_json: bool
    profile: str | None
    changes: Sequence[str]
    plot: Path | None


def describe(request: Request) -> int:
    """List everything, describe one algorithm, or list the TCP options or the queues."""
    if request.tcp + request.queues + (request.name is not None) > 1:
        raise InputError("one thing is shown at a time", "give a name, --tcp or --queues")
    if request.name is None and (request.plot or request.profile or request.changes):
        raise InputError("there is nothing to show it of", "name a controller: ackclock cc cubic --profile linux")
    if request.tcp:
        _tcp(as_json=request.as_json)
    elif request.queues:
        _queues(as_json=request.as_json)
    elif request.name is None:
        _list(as_json=request.as_json)
    else:
        _one(request, request.name)
    return OK


def _list(*, as_json: bool) -> None:
    known = catalogue()
    checked = _validation()
    if as_json:
        console.print_json(
            {
                "controllers": [_algorithm(item, checked) for item in known.controllers.values()],
                "slow_starts": [_algorithm(item, checked) for item in known.slow_starts.values()],
            }
        )
        return
    out = console.stdout()
    for title, items in (("Controllers", known.controllers), ("Slow starts", known.slow_starts)):
        out.print(f"{title}\n", markup=False)
        for item in items.values():
            reacts = f", reacts to {item.family}" if item.family else ""
            out.print(f"{item.name}: {item.summary}", markup=False)
            lines = [f"{item.source}{reacts}"]
            if item.params:
                lines.append(
                    "parameters: " + ", ".join(f"{each.name}={_default(each)}" for each in item.params.values())
                )
            lines.extend(_notes(item, checked))
            for line in lines:
                indented = textwrap.fill(line, out.width - 1, initial_indent="    ", subsequent_indent="    ")
                console.say(out, indented)
        out.print()
    out.print("ackclock cc NAME shows one, with its parameters explained and its window in a standard test.")


def _one(request: Request, name: str) -> None:
    from ackclock.cli import response

    item, key, written = _find(name)
    checked = _validation()
    choice: dict[str, Any] = {written: name}
    flow = {key: choice} if key == "cc" else {key: choice, "cc": "reno"}
    params, profile = list(item.params), request.profile or DEFAULT_PROFILE
    measured = response.measure(flow, params, profile, request.changes, marking=_works_with_marks(item))
    if request.plot is not None:
        from ackclock.drawing.figures import save_file

        save_file(measured.result, request.plot)
    if request.as_json:
        console.print_json({**_algorithm(item, checked), "response": measured.to_json()})
        return
    out = console.stdout()
    console.say(out, f"{item.name}: {item.summary} ({item.source})")
    for note in _notes(item, checked):
        console.say(out, note)
    out.print()
    out.print(_parameters(item.params) if item.params else "It has no parameters.")
    out.print()
    _draw(measured, out)
    if request.plot is not None:
        console.say(out, f"figure: {request.plot}")


def _draw(measured: Any, out: Any) -> None:
    """The window over time, and a line of figures."""
    resolved = measured.result.resolved()
    link, flow = resolved["links"][0], resolved["flows"][0]
    queue = link["queue"]["limit_packets"]
    size = f", queue {queue} packets" if queue else ""
    above = link["queue"].get("mark_above_packets")
    size += f" that marks above {above}" if above else ""
    rate = f"{link['rate_bps'] / 1e6:g} Mbit/s" if link["rate_bps"] else "no rate"
    rtt = sum(item["delay_ns"] for item in resolved["links"]) / 1e6
    title = f"cwnd (segments), profile {flow['profile']}: {rate}, {rtt:g} ms, BDP {measured.bdp:.0f} segments{size}"
    console.say(out, title)
    braille = "utf" in (getattr(sys.stdout, "encoding", None) or "").lower()
    width = min(out.width, 100) - 1
    end = resolved["duration_ns"] / 1e9
    for line in terminal.plot(measured.time, measured.cwnd, width=width, end=end, braille=braille):
        out.print(line, soft_wrap=True, markup=False)
    figures = measured.summary()
    rtt_ms = "-" if figures["mean_rtt_s"] is None else f"{1e3 * figures['mean_rtt_s']:.1f} ms"
    used = "-" if figures["utilisation"] is None else f"{100 * figures['utilisation']:.1f} %"
    out.print(
        f"goodput {figures['goodput_bps'] / 1e6:.2f} Mbit/s, utilisation {used}, mean RTT {rtt_ms}, mean cwnd "
        f"{figures['mean_cwnd_segments']:.1f} segments, mean queue {figures['mean_queue_packets']:.1f} packets, "
        f"{figures['recoveries']} recoveries, {figures['timeouts']} timeouts",
        soft_wrap=True,
        markup=False,
    )


def _find(name: str) -> tuple[Algorithm, str, str]:
    """An algorithm by name, the key of a flow that takes it, and the key of its name there."""
    known = catalogue()
    if name.startswith(loading.PREFIX):
        try:
            return _class(loading.find(name)), "cc", "name"
        except Problem as problem:
            raise InputError(problem.problem, problem.remedy) from None
    if name in known.named:
        return known.named[name], "cc", "name"
    if name in known.slow_starts:
        return known.slow_starts[name], "slow_start", "kind"
    guess = unknown("controller or slow start", name, [*known.controllers, *known.slow_starts])
    raise InputError(guess.problem, guess.remedy)


def _class(found: loading.Found) -> Algorithm:
    """A controller in Python as the catalogue would describe it."""
    params = {
        key: Option(key, "python", None if item.default is item.empty else item.default, None, None, _annotation(item))
        for key, item in found.params.items()
        if item.kind is not item.VAR_KEYWORD
    }
    summary = inspect.cleandoc(found.cls.__doc__ or "a controller in Python").partition("\n")[0].rstrip(".")
    source = found.cls.__module__ + (f", {found.source[:19]}" if found.source else "")
    return Algorithm(found.name, "python", source, summary, params, "", found.cls.kind != "law")


def _works_with_marks(item: Algorithm) -> bool:
    if item.family == "python":
        return loading.find(item.name).cls.ecn != "classic"
    return item.family == "marks"


def _annotation(item: inspect.Parameter) -> str:
    if item.annotation is item.empty:
        return ""
    return item.annotation if isinstance(item.annotation, str) else inspect.formatannotation(item.annotation)


def _notes(item: Algorithm, checked: Mapping[str, Any]) -> list[str]:
    """What else there is to say: differences from the source, validation, slow start."""
    lines = []
    if item.differences:
        lines.append(f"Linux, ns-3: {item.differences}")
    status = _status(item.name, checked)
    if status:
        lines.append(status)
    if item.own_start:
        lines.append("It starts by itself and takes no slow start.")
    return lines


def _status(name: str, checked: Mapping[str, Any]) -> str:
    """Validation in one line; empty where nothing is known."""
    entry = checked.get(name)
    if not isinstance(entry, Mapping):
        return ""
    cells, agree, note = entry.get("cells", 0), entry.get("agree", 0), entry.get("note") or ""
    if not cells:  # the note says what it was compared with instead
        return f"validation: {note or 'no recorded kernel runs to compare with.'}"
    counted = f"on {agree} of {cells} recorded paths goodput and mean RTT agree with the Linux kernel's"
    remark = f" ({note.rstrip('.')})" if note else ""
    return f"validation: {counted}{remark}{_limited(entry.get('limited'))}."


def _limited(found: Any) -> str:
    """The same of senders that their applications limit."""
    if not isinstance(found, Mapping) or not found.get("cells"):
        return ""
    off = found.get("off") or []
    but = f", not {' and '.join(map(str, off))}" if off else ""
    speeds = "completion time or goodput, and mean RTT"
    return (
        f"; of {found['cells']} applications that limit the sender {found.get('agree', 0)} agree, too ({speeds}{but})"
    )


def _validation() -> Mapping[str, Any]:
    """What the conformance suite found, if it has been written down."""
    try:
        text = importlib.resources.files("ackclock").joinpath("data", "validation.json").read_text(encoding="utf-8")
        found = json.loads(text)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, Mapping) else {}


def _tcp(*, as_json: bool) -> None:
    known = catalogue()
    if as_json:
        entries = [dataclasses.asdict(option) for option in known.tcp_options.values()]
        for entry in entries:
            del entry["default"]  # it is that of a profile, and all profiles are listed
        console.print_json({"profiles": known.profiles, "tcp_options": entries})
        return
    rows = [["option", "kind", *known.profiles, "values", ""]]
    for option in known.tcp_options.values():
        defaults = [show(option, option.defaults[profile]) for profile in known.profiles]
        rows.append([option.name, option.kind, *defaults, _values(option), option.doc])
    words: list[console.Justify] = ["left"] * len(rows[0])
    # What it means stays: a value without its meaning says little.
    least = ["values", "kind", *(name for name in reversed(known.profiles) if name != DEFAULT_PROFILE)]
    console.print_table(console.stdout(), rows, words, least=[rows[0].index(name) for name in least])


def _queues(*, as_json: bool) -> None:
    known = catalogue().queues
    if as_json:
        entries = [dataclasses.asdict(item) for item in known.values()]
        for entry in entries:
            entry["params"] = list(entry["params"].values())
        console.print_json({"queues": entries})
        return
    out = console.stdout()
    for item in known.values():
        limit = "a limit must be given" if item.default_limit is None else f"limit {item.default_limit} packets"
        console.say(out, f"{item.name}: {item.summary} ({item.source}); {limit}")
        if item.params:
            out.print(_parameters(item.params))
        out.print()
    out.print('A scenario takes them with their parameters as keys: queue = { kind = "codel", target = "10 ms" }.')


def _parameters(params: Mapping[str, Option]) -> Any:
    """A table of parameters."""
    rows = [["parameter", "kind", "default", "values", ""]]
    rows.extend([each.name, each.kind, _default(each), _values(each), each.doc] for each in params.values())
    return console.table(rows, ["left"] * 5)


def _default(option: Option) -> str:
    return "" if option.kind == "python" and option.default is None else show(option, option.default)


def _values(option: Option) -> str:
    if option.choices:
        return ", ".join(option.choices)
    if option.range is None:
        return ""
    unit = {"duration": " s", "bytes": " B"}.get(option.kind, "")
    low, high = ("" if bound is None else f"{bound:.10g}" for bound in option.range)
    return f"{low} to {high}{unit}"


def _algorithm(item: Algorithm, checked: Mapping[str, Any]) -> dict[str, Any]:
    fields = {key: getattr(item, key) for key in ("name", "family", "source", "summary", "differences", "own_start")}
    params = [dataclasses.asdict(option) for option in item.params.values()]
    return {**fields, "params": params, "validation": checked.get(item.name)}
