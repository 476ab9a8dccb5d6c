"""The tables of docs/validation.md about the Linux kernel, and what `ackclock cc` says of them.

The file for `ackclock cc`, python/ackclock/data/validation.json, is one object: a controller's name to

    cells   recorded paths on which it was compared with Linux's module; 0 where there are none
    agree   those on which goodput and mean RTT of every flow agree
    note    a sentence: how closely, and which paths do not agree; without cells what it was compared with instead
    limited where it was compared with an application that limits the sender: `cells` and `agree` of these, and `off`,
            the names of those that do not
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Iterator

import kernel_figures as figures
import kernel_records as records
import limited_figures
import limited_records
import peer_figures
from ackclock.engine import catalogue
from agreement import Figure, relative
from generate import table
from kernel_figures import Compared
from peer_runs import FLOWS

SCENARIOS = (
    *("single10", "shallow20", "loss20", "drop200", "pair10", "vsreno10", "fine10"),
    *records.HELD_OUT,
    *("mid50", "half10", "fast100", "drop500", "rtt2", "tiny4", "pair4"),
)
"""The columns of the overview; the last ones are recorded for some controllers only."""

CELL_METRICS = {"goodput": ("goodput, Mbit/s", 1e-6), "mean RTT": ("mean RTT, ms", 1e3)}
OTHER_METRICS = {
    "mean queue": "mean queue",
    "retransmissions": "retransmitted",
    "epochs": "epochs",
    "mean window": "mean window",
}

Verdict = Callable[[Figure], str]


def built() -> list[str]:
    """The records that are compared: by controller in the catalogue's order, then by scenario."""
    order = {name: position for position, name in enumerate(catalogue().controllers)}
    names = [name for name in records.names() if records.built(name)]
    return sorted(names, key=lambda n: (order[records.controller_of(n)], SCENARIOS.index(records.scenario_of(n))))


def controllers() -> list[str]:
    """The controllers with records, in the catalogue's order."""
    return list(dict.fromkeys(records.controller_of(name) for name in built()))


def short(value: float) -> str:
    """Three significant digits; counts as they are."""
    if value == int(value) and abs(value) < 10_000:
        return f"{value:.0f}"
    return f"{float(f'{value:.3g}'):g}" if abs(value) >= 100 else f"{value:#.3g}".rstrip(".")


def percent(value: float, digits: int = 1) -> str:
    """A signed difference."""
    text = f"{100 * value:+.{digits}f} %"
    return "0" if float(text[:-2]) == 0 else text


def with_interval(value: float, width: float | None, factor: float = 1.0) -> str:
    """A mean and its confidence interval, where there is one."""
    return short(value * factor) + (f" ± {width * factor:.2g}" if width else "")


def overview() -> str:
    """Controller by scenario: `ok`, `noise` where only that makes it agree, or what is off and how far."""
    scenarios = [s for s in SCENARIOS if any(records.scenario_of(name) == s for name in built())]

    def text(controller: str, scenario: str) -> str:
        module = next(module for module, ours in records.CONTROLLERS.items() if ours == controller)
        name = f"{scenario}_{module}"
        if name not in built():
            return ""
        cell = figures.cell(name)
        if cell.agrees:
            return "ok" if close(name) else "noise"
        worst = max(cell.off, key=lambda item: abs(item.difference))
        return f"{worst.metric.replace('mean ', '')} {percent(worst.difference, 0)}"

    rows = ([f"`{name}`", *(text(name, scenario) for scenario in scenarios)] for name in controllers())
    return table(["controller", *(f"{s}*" if s in records.HELD_OUT else s for s in scenarios)], rows)


def cells(names: Iterable[str]) -> tuple[int, int]:
    """How many records, and how many of them agree."""
    found = [figures.cell(name).agrees for name in names]
    return len(found), sum(found)


def close(name: str) -> bool:
    """Whether a record agrees without an allowance for noise."""
    plain = {"goodput": figures.GOODPUT, "mean RTT": figures.RTT}
    judged = [item for item in figures.of(name) if item.metric.split(",")[0] in plain]
    return all(abs(item.difference) <= plain[item.metric.split(",")[0]] for item in judged)


def held_out() -> list[str]:
    """The records that nothing was developed with."""
    return [name for name in built() if records.scenario_of(name) in records.HELD_OUT]


def agreement() -> str:
    """The sentence at the head of the page."""
    total, agree = cells(built())
    plain = sum(map(close, built()))
    return (
        f"**{plain} of {total} cells** (a cell is one controller on one path) agree with the Linux kernel as they\n"
        "are, the goodput of every flow within 5 % and its mean RTT within 10 %. With the allowance for noise where\n"
        f"something is drawn it is {agree} of {total}: {agree - plain} cannot be told from the kernel's, which is\n"
        "less than agreement."
    )


def paths() -> str:
    """What the names of the scenarios mean."""
    rows = []
    for scenario in SCENARIOS:
        run = records.record(f"{scenario}_cubic")
        path, flows = run["scenario"], run["flows"]
        trips = [path["fwd_delay_ms"] + flow["ack_delay_ms"] for flow in flows]
        product = path["rate_bps"] * trips[0] / 1e3 / 8 / path["frame_bytes"]
        queue = f"{path['queue_pkts']}" + (f" ({path['queue_pkts'] / product:.1f} BDP)" if len(set(trips)) == 1 else "")
        modules = {name.split("_")[1] for name in records.names() if records.scenario_of(name) == scenario}
        remarks = []
        if len(flows) > 1:
            first = "Reno and one of the controller" if flows[0]["cc"] != flows[1]["cc"] else "two of the controller"
            starts = " and ".join(f"{flow['start']:g}" for flow in flows)
            remarks.append(f"{first}, starting at {starts} s" if starts != "0 and 0" else f"{first}, both at 0 s")
        if path.get("loss"):
            remarks.append(f"{100 * path['loss']:g} % random loss")
        if path.get("drop_every"):
            remarks.append(f"every {path['drop_every']}th packet lost")
        if path["sample_ms"] != 10:
            remarks.append(f"sampled every {path['sample_ms']:g} ms")
        if len(modules) < len(records.CONTROLLERS):
            remarks.append(f"only {' and '.join(sorted(modules))}")
        trip = " and ".join(f"{trip:g}" for trip in dict.fromkeys(trips))
        name = f"{scenario}*" if scenario in records.HELD_OUT else scenario
        rows.append([name, f"{path['rate_bps'] / 1e6:g}", trip, queue, f"{path['duration']:g}", "; ".join(remarks)])
    return table(["scenario", "rate, Mbit/s", "RTT, ms", "queue, packets", "length, s", "besides"], rows)


def share() -> str:
    """The cells that agree, of all."""
    rows = []
    for label, names in (
        ("all", built()),
        ("of them held out (*)", held_out()),
        ("of them with several flows", [name for name in built() if len(records.record(name)["flows"]) > 1]),
    ):
        total, agree = cells(names)
        plain = sum(map(close, names))
        rows.append([label, str(total), str(plain), str(agree - plain), str(total - agree)])
    head = [
        "cells (controller, scenario)",
        "number",
        "agree within 5 % and 10 %",
        "not distinguishable (noise)",
        "differ",
    ]
    return table(head, rows)


def _both(name: str) -> Iterator[tuple[str, float, float]]:
    """Metric, our difference and ns-3's, of the goodputs and RTTs of a record that ns-3 has, too."""
    for item in figures.compared(name):
        metric = item.figure.metric.split(",")[0]
        if metric in CELL_METRICS and item.ns3 is not None:
            yield metric, abs(item.figure.difference), abs(relative(item.ns3, item.figure.reference))


def closeness() -> str:
    """Controller by controller: how far ours and ns-3 are from Linux on the same paths."""
    rows = []
    groups = [
        (f"`{each}`", [name for name in built() if records.controller_of(name) == each]) for each in controllers()
    ]
    for label, names in [*groups, ("all", built()), ("held out (*)", held_out())]:
        triples = [triple for name in names for triple in _both(name)]
        if not triples:
            continue
        row = [label, *map(str, cells(names))]
        for metric in CELL_METRICS:
            means = (statistics.fmean(t[column] for t in triples if t[0] == metric) for column in (1, 2))
            row += [f"{100 * mean:.1f} %" for mean in means]
        closer = sum(ours <= theirs for _, ours, theirs in triples)
        rows.append([*row, f"{closer} of {len(triples)}"])
    head = ["controller", "cells", "agree", "goodput, ours", "ns-3", "mean RTT, ours", "ns-3", "ours at least as close"]
    return table(head, rows)


def _by_flow(name: str) -> Iterator[tuple[str, dict[str, Compared]]]:
    """The rows of a record: `` for the whole, then `flow 0`, ...; with its figures by metric."""
    rows: dict[str, dict[str, Compared]] = {}
    for item in figures.compared(name):
        metric, _, flow = item.figure.metric.partition(", ")
        rows.setdefault(flow, {})[metric] = item
    yield from rows.items()


def _label(name: str, flow: str) -> str:
    return records.scenario_of(name) + (f", {flow}" if flow else "")


def _judged(figure: Figure, plain: float, verdict: Verdict) -> str:
    """The verdict; where only noise makes a figure agree, that it cannot be told apart."""
    if figure.agrees and abs(figure.difference) > plain:
        return f"not distinguishable (noise ± {100 * figure.tolerance:.0f} %)"
    return verdict(figure)


def comparison(verdict: Verdict) -> str:
    """Goodput and mean RTT: ours, Linux, ns-3, difference, verdict."""
    rows = []
    for name in built():
        for flow, found in _by_flow(name):
            row = [f"`{records.controller_of(name)}`", _label(name, flow)]
            for metric, (_, factor) in CELL_METRICS.items():
                item = found[metric]
                row += [
                    with_interval(item.figure.ours, item.intervals[0], factor),
                    with_interval(item.figure.reference, item.intervals[1], factor),
                    "" if item.ns3 is None else short(item.ns3 * factor),
                    percent(item.figure.difference),
                    _judged(item.figure, figures.GOODPUT if metric == "goodput" else figures.RTT, verdict),
                ]
            rows.append(row)
    head = ["controller", "scenario"]
    for heading, _ in CELL_METRICS.values():
        head += [heading, "Linux", "ns-3", "difference", "verdict"]
    return table(head, rows)


def others(verdict: Verdict) -> str:
    """The other metrics: `ours / Linux / ns-3`, and a verdict where they do not agree."""
    rows = []
    for name in built():
        for flow, found in _by_flow(name):
            row = [f"`{records.controller_of(name)}`", _label(name, flow)]
            remarks = []
            for metric in OTHER_METRICS:
                item = found.get(metric)
                if item is None:
                    row.append("")
                    continue
                peer = "–" if item.ns3 is None else short(item.ns3)
                row.append(f"{short(item.figure.ours)} / {short(item.figure.reference)} / {peer}")
                if not item.figure.agrees:
                    remarks.append(
                        f"{OTHER_METRICS[metric]} {percent(item.figure.difference, 0)}: {verdict(item.figure)}"
                    )
            rows.append([*row, "; ".join(remarks) or "agrees"])
    return table(["controller", "scenario", *OTHER_METRICS.values(), "verdict"], rows)


def _peer_note(name: str) -> str:
    """What a controller without recorded runs in the table was compared with."""
    marked = sorted((records.RECORDS / "ecn").glob(f"*_{name}.json.gz"))
    if marked:
        where = "conformance/kernel/ecn, test_ecn.py"
        return f"compared with the Linux kernel on {len(marked)} paths whose queue marks ({where}), not on others."
    found = [
        figure
        for peer, variants in FLOWS.items()
        for variant, flow in variants.items()
        if flow["cc"]["name"] == name
        for figure in peer_figures.figures(peer)
        if figure.algorithm == variant
    ]
    if not found:
        return "no recorded kernel runs to compare with; tested with formulas and numbers of its source only."
    agree = sum(figure.agrees for figure in found)
    return f"no recorded kernel runs to compare with; {agree} of {len(found)} figures agree with ns-2 and ns-3."


def _limited(controller: str) -> dict[str, object]:
    """How many applications that limit the sender agree, and those that do not."""
    names = [name for name in limited_records.names() if records.controller_of(name) == controller]
    off = [records.scenario_of(name) for name in names if not limited_figures.cell(name).agrees]
    return {"cells": len(names), "agree": len(names) - len(off), "off": off}


def status() -> str:
    """The text of python/ackclock/data/validation.json."""
    found: dict[str, dict[str, object]] = {}
    for controller in catalogue().controllers:
        names = [name for name in built() if records.controller_of(name) == controller]
        if not names:
            found[controller] = {"cells": 0, "agree": 0, "note": _peer_note(controller)}
            continue
        off = [f"{records.scenario_of(name)} ({cell})" for name in names if not (cell := figures.cell(name)).agrees]
        total, agree = cells(names)
        plain = sum(map(close, names))
        note = "6.12, to 5 % and 10 %"
        if plain < agree:
            note += f", or, on {agree - plain}, not distinguishable for noise"
        found[controller] = {
            "cells": total,
            "agree": agree,
            "note": f"{note}; not on {', '.join(o.split(' (')[0] for o in off)}." if off else f"{note}.",
            "limited": _limited(controller),
        }
    return json.dumps(found, indent=2) + "\n"
