"""Every key of a scenario with values that are too large, too small or of the wrong kind: it is read, or refused in one
line that names the key in the words of the scenario. Nothing reaches the user raw, from pydantic or from the engine.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ackclock import load
from ackclock.engine import catalogue
from ackclock.errors import InputError
from ackclock.scenario.reading.expansion import Path
from ackclock.scenario.topology.link import LinkKeys

Raw = dict[str, Any]

VALUES: list[Any] = [
    "1e6 TB", "999999 TB", "4294967296 B", "1 B", "0 B", "1e9 s", "999999999 s", "1 ns", "0 s", "1e3 Tbit/s", "1 bit/s",
    "1e12 packets", "1e12 segments", "100 %", 2**63 - 1, 2**63, 10**30, -1, 0, 1e308, 1e-320, float("inf"),
    float("nan"), True, "", "x", "x" * 5000, "9" * 5000, [], {}, [[1]], None,
]  # fmt: skip

HERE = object()
"""Where a value is put into."""

KNOWN = catalogue()
FILES = {"kind": "files", "size": "10 kB", "arrivals": {"poisson": 1.0}}
CBR = {"kind": "cbr", "rate": "1 Mbit/s"}
STEP = {"at": "0 s", "rate": "1 Mbit/s"}
BUCKET = {"rate": "1 Mbit/s", "burst": "3 kB"}

LINK: dict[str, list[Any]] = {
    "queue": [
        {"kind": queue.name, "limit": "50 packets", key: HERE}
        for queue in KNOWN.queues.values()
        for key in (*queue.params, "kind", "limit", "mark_above", "weights", "limit_includes_service")
    ],
    "rate": [
        *({"on": "1 s", "off": "1 s", "rate": "1 Mbit/s", key: HERE} for key in ("on", "off", "rate")),
        {"steps": HERE},
        {"steps": [STEP, {"at": "1 s", "rate": HERE}]},
        {"steps": [STEP, {"at": HERE, "rate": "1 Mbit/s"}]},
        {"steps": [STEP], "repeat": HERE},
        {"trace": HERE},
    ],
    "jitter": [
        *({"kind": "uniform", "low": "0 s", "high": "1 ms", key: HERE} for key in ("low", "high", "kind")),
        *({"kind": "normal", "mean": "0 s", "sd": "1 ms", key: HERE} for key in ("mean", "sd", "preserve_order")),
        {"kind": "exponential", "mean": HERE},
        {"kind": "pareto", "scale": "1 ms", "shape": HERE},
        {"kind": "pareto", "scale": HERE, "shape": 2},
        {"kind": "empirical", "values": [HERE]},
    ],
    "reorder": [{"p": HERE, "extra": "1 ms"}, {"p": 0.1, "extra": HERE}],
    "events": [
        [{"at": HERE, "rate": "1 Mbit/s"}],
        *([{"at": "1 s", key: HERE}] for key in ("rate", "delay", "loss", "jitter", "reorder", "duplicate")),
    ],
    "shaper": [{**BUCKET, key: HERE} for key in BUCKET],
    "policer": [{**BUCKET, key: HERE} for key in BUCKET],
    "loss": [
        *({key: HERE} for key in ("p", "every", "ber", "drops", "gilbert_elliott")),
        *({"gilbert_elliott": {"p": 0.1, "r": 0.1, key: HERE}} for key in ("p", "r", "h", "k")),
        *({"drops": [{"flow": "0", "nth": 1, key: HERE}]} for key in ("flow", "nth")),
    ],
    "link_overhead": [],
    "duplicate": [],
}

FLOW: dict[str, list[Any]] = {
    "app": [
        *({**CBR, key: HERE} for key in ("kind", "rate", "packet", "headers", "phase", "jitter", "ect", "transport")),
        *({**CBR, "kind": "on-off", key: HERE} for key in ("on", "off")),
        *({**FILES, key: HERE} for key in ("size", "arrivals", "most", "until", "request")),
        *({**FILES, "arrivals": {key: HERE}} for key in ("poisson", "every")),
        *(
            {**FILES, "size": {"kind": "pareto", "shape": 2, "min": "1 kB", key: HERE}}
            for key in ("shape", "min", "max")
        ),
        *({**FILES, "size": {"kind": "lognormal", "mean": "1 kB", "sd": "1 kB", key: HERE}} for key in ("mean", "sd")),
        {**FILES, "size": {"kind": HERE, "points": [{"value": "1 kB", "p": 1}]}},
        {**FILES, "size": {"kind": "empirical", "points": [{"value": HERE, "p": 1}]}},
        {**FILES, "size": {"kind": "empirical", "points": [{"value": "1 kB", "p": HERE}]}},
        *(
            {"kind": "request-response", "response": "1 kB", key: HERE}
            for key in ("request", "response", "think", "most")
        ),
    ],
    "cc": [{"name": item.name, key: HERE} for item in KNOWN.controllers.values() for key in ("name", *item.params)],
    "slow_start": [{"kind": item.name, key: HERE} for item in KNOWN.slow_starts.values() for key in item.params],
    "tcp": [{key: HERE} for key in KNOWN.tcp_options],
    "start": [{"at": HERE}, {"uniform": HERE}, {"uniform": ["0 s", HERE]}],
    "active": [[{"begin": HERE}], [{"begin": "0 s", "end": HERE}]],
    "access": [{key: HERE} for key in ("rate", "delay", "queue", "side", "loss", "reverse")],
    **{
        key: []
        for key in (
            "mss",
            "iw",
            "min_rto",
            "delayed_ack",
            "recovery",
            "profile",
            "count",
            "bytes",
            "stop",
            "rtt",
            "class",
        )
    },
    **{key: [] for key in ("over", "via", "via_back", "from", "to")},
}

TABLES: dict[Path, dict[str, list[Any]]] = {
    ("topology",): {
        **LINK,
        "rtt": [],
        "kind": [],
        "reverse": [{key: HERE} for key in ("rate", "delay", "queue", "loss")],
    },
    ("flows", 0): FLOW,
    ("run",): {"duration": [], "warmup": [], "seed": [], "replications": []},
    ("probes",): {"interval": [], "cwnd": [], "queue": [], "drops": []},
    (): {"topology": [], "flows": [], "run": [], "probes": [], "sweep": [{"zip": HERE}, {"zip": [[HERE]]}]},
}


def filled(template: Any, value: Any) -> Any:
    """`template` with `value` in its place."""
    if template is HERE:
        return copy.deepcopy(value)
    if isinstance(template, dict):
        return {key: filled(item, value) for key, item in template.items()}
    return [filled(item, value) for item in template] if isinstance(template, list) else template


@pytest.mark.parametrize(("place", "key"), [(place, key) for place, keys in TABLES.items() for key in keys])
def test_is_read_or_refused_in_one_line(raw: Raw, place: Path, key: str) -> None:
    raw["topology"]["queue"] = {"limit": "50 packets"}
    for template in (HERE, *TABLES[place][key]):
        for value in VALUES:
            changed = copy.deepcopy(raw)
            changed.setdefault("probes", {})
            table: Any = changed
            for part in place:
                table = table[part]
            table[key] = filled(template, value)
            try:
                load(changed)
            except InputError as error:
                said = str(error)
                assert said.startswith("scenario: "), said
                assert "; " in said, said
                assert "\n" not in said, said
                assert len(said) < 600, said
                for raw_words in (
                    "engine refuses",
                    "nput should",
                    "_ns",
                    "_bps",
                    "links.0",
                    "line 1 column",
                ):
                    assert raw_words not in said.partition("; ")[0], said


def test_every_key_of_a_link_is_tried() -> None:
    assert set(LINK) == set(LinkKeys.model_fields)
