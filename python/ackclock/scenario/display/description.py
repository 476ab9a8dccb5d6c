"""The parts of a resolved run in words, for tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ackclock import engine
from ackclock.controllers import loading
from ackclock.scenario.values.units import DURATION, RATE, SIZE

Document = Mapping[str, Any]


def rate(link: Document) -> str | None:
    """The rate of a link, or what it varies between; ``None`` if it is unlimited."""
    if trace := link.get("trace"):
        mean = 8000 * len(trace["times_ms"]) * trace["opportunity_bytes"] // trace["times_ms"][-1]
        return f"trace of {RATE.format(mean)}"
    if schedule := link.get("schedule"):
        rates = sorted({each for _, each in schedule["steps"]})
        low, high = (RATE.format(each) if each else "off" for each in (rates[0], rates[-1]))
        return f"{low} to {high}" if low != high else high
    return RATE.format(link["rate_bps"]) if link["rate_bps"] else None


def queue(link: Document) -> str | None:
    """Discipline and limit of the queue of a link; ``None`` if it is a plain one without a limit."""
    held = link["queue"]
    if held["limit_packets"] is not None:
        return f"{held['kind']} {held['limit_packets']} packets"
    if held["limit_bytes"] is not None:
        return f"{held['kind']} {SIZE.format(held['limit_bytes'])}"
    return None if held["kind"] == "droptail" else f"{held['kind']} unlimited"


def loss(link: Document) -> str | None:
    """The loss at the output of a link, if there is one."""
    medium = link["loss"]
    if medium is None:
        return None
    match medium["kind"]:
        case "bernoulli":
            return f"{100 * medium['p']:g} %"
        case "every":
            return f"every {medium['n']} packets"
        case "scripted":
            return f"{len(medium['drops'])} chosen packets"
        case "bit_errors":
            return f"bit errors {medium['ber']:g}"
        case "gilbert_elliott":
            return f"bursts p = {medium['p']:g}, r = {medium['r']:g}"
        case other:
            return str(other)


def others(link: Document) -> list[str]:
    """What else a link does to packets."""
    buckets = (
        f"{name} {RATE.format(link[name]['rate_bps'])}, {SIZE.format(link[name]['burst_bytes'])}"
        for name in ("shaper", "policer")
        if link.get(name)
    )
    named = (f"{link[name]['kind']} {name}" for name in ("jitter",) if link.get(name))
    shares = []
    if link.get("reorder"):
        shares.append(f"reorders {100 * link['reorder']['probability']:g} %")
    if link.get("duplicate"):
        shares.append(f"duplicates {100 * link['duplicate']:g} %")
    events = len(link.get("events", ()))
    return [*buckets, *named, *shares, *([f"{events} event{'s'[: events > 1]}"] if events else [])]


def link(document: Document) -> tuple[str, ...]:
    """A link in lines: rate and delay, queue, and what happens to packets besides."""
    lost = loss(document)
    lines = [
        ", ".join(part for part in (rate(document), DURATION.format(document["delay_ns"])) if part),
        queue(document),
        f"loss: {lost}" if lost else None,
        *others(document),
    ]
    return tuple(line for line in lines if line)


def route(hops: Sequence[Document], whose: str = "") -> str:
    """The hops of a flow: ``5 ms, hop0, hop1``; `whose` is said of the cell that they pass: ``users 0 to 4``."""
    return ", ".join(hop["link"] if "link" in hop else _passed(hop, whose) for hop in hops)


def _passed(hop: Document, whose: str) -> str:
    if "element" in hop:
        return f"{hop['element']['id']} ({whose or 'port ' + str(hop['element']['port'])})"
    return _delay(hop)


def sends(flow: Document) -> str:
    """What the source of a flow sends."""
    app = flow["app"]
    match app["kind"]:
        case "cbr" | "on_off" as kind:
            each = "packets" if app["transport"] == "udp" else "writes"
            on = " while on" if kind == "on_off" else ""
            return f"{RATE.format(app['rate_bps'])}{on} in {each} of {SIZE.format(app['packet_bytes'])}"
        case "files":
            arrivals = app["arrivals"]
            every = arrivals.get("every_ns")
            when = f"{arrivals['poisson_per_s']:g} per second" if every is None else f"every {DURATION.format(every)}"
            return f"files of {_size(app['size'])}, {when}{_most(app['count'])}"
        case "request_response":
            return f"answers of {_size(app['response'])}{_most(app['count'])}"
        case "web":
            return _web(app)
        case "video":
            rates = dict.fromkeys(RATE.format(app["bitrates_bps"][end]) for end in (0, -1))
            chunks = f" in chunks of {DURATION.format(app['chunk_ns'])}"
            return f"video of {' to '.join(rates)}{chunks}{_most(app['chunks'])}"
        case _:
            size = "without end" if app["bytes"] is None else SIZE.format(app["bytes"])
            return f"{size}, read at {RATE.format(app['read_bps'])}" if "read_bps" in app else size


def marking(flow: Document) -> str | None:
    """How a flow uses ECN: what its packets carry, and how the receiver tells of marks; ``None`` if it does not."""
    if "cc" not in flow or flow["app"].get("transport") == "udp":
        return "ECT(0)" if flow["app"].get("ect") else None
    name, params = flow["cc"]["name"], flow["cc"].get("params", {})
    wants, ect1 = _wants(name)
    asked = engine.tcp_options(flow["profile"], flow.get("tcp", {}), name)["ecn"]
    if wants == "classic" and asked == "off":
        return None
    field = "ECT(1)" if params.get("ect1", ect1) else "ECT(0)"
    if "accurate" in (wants, asked):
        return f"{field}, counts"
    return f"{field}, echo of each" if wants == "dctcp" else f"{field}, echo"


def _wants(name: str) -> tuple[str, bool]:
    """What a controller wants of ECN, and whether it sends ECT(1)."""
    if name.startswith(loading.PREFIX):
        ecn = loading.find(name).cls.ecn
        return ("accurate", True) if ecn == "l4s" else (ecn, False)
    found = engine.catalogue().named[name]
    return found.ecn, found.ect1


def _web(app: Document) -> str:
    objects = f"{len(app['page'])} objects" if "page" in app else "drawn objects"
    lines = {"http1.0": "HTTP/1.0", "http1.1": "HTTP/1.1"}.get(app["protocol"])
    most = app.get("connections", 1)
    few = "" if app.get("policy", "fixed") == "fixed" else "up to "
    over = "one connection for all objects" if lines is None else f"{lines}, {few}{most} connection{'s' * (most != 1)}"
    pages = "pages" if app["count"] is None else f"at most {app['count']} pages"
    return f"{pages} of {objects} over {over}"


def _most(count: int | None) -> str:
    return "" if count is None else f", at most {count}"


def _size(distribution: Document) -> str:
    kind = distribution["kind"]
    if kind == "constant":
        return SIZE.format(int(distribution["value"]))
    if "mean" in distribution:
        return f"{SIZE.format(round(distribution['mean']))} on average ({kind})"
    return f"{kind} size"


def _delay(hop: Document) -> str:
    if "uniform_ns" in hop:
        return " to ".join(map(DURATION.format, hop["uniform_ns"]))
    return DURATION.format(hop["delay_ns"])
