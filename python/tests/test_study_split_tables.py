"""Numbers in the README of the split-TCP study that no claim has: what is varied, and what lies beyond the trial."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock import study
from ackclock.study.runner import Loaded

ALL = 20
"""Replications of `window`, `loss`, `rates` and `gone` in full; in `modern` and `proxy` only the start is drawn."""
WHOLE = {"52.5 ms": "S1", "7.5 ms": "S2"}
"""Servers by the delay of the hop before the radio."""

Rates = dict[tuple[Any, ...], float]


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return study.load("split-tcp")


@pytest.fixture(scope="module")
def page(loaded: Loaded) -> str:
    return (loaded.study.folder / "README.md").read_text(encoding="utf-8")


def played(loaded: Loaded, name: str, changes: dict[str, Any]) -> ackclock.Result:
    return ackclock.run(loaded.study.folder / f"{name}.toml", set=changes, jobs=1)


def rates(result: ackclock.Result, keys: list[str]) -> Rates:
    """Mbit/s of the downloads, the mean over replications."""
    assert result.transfers["fct_s"].null_count() == 0, "a download has not ended"
    rate = (8e-6 * pl.col("bytes") / pl.col("fct_s")).mean()
    rows = result.transfers.group_by(keys, maintain_order=True).agg(rate).rows()
    return {row[:-1]: row[-1] for row in rows}


def rows(page: str, head: str) -> dict[str, list[list[str]]]:
    """A table by the first cell of its rows; what a cell has between commas, without the half of an interval."""
    (lines,) = re.findall(rf"^\|(?: \|)? {re.escape(head)} \|.*\n\|[-|]+\n((?:\|.*\n)+)", page, re.MULTILINE)
    cells = [re.sub(r" ± [\d.]+", "", line).strip("| ").split(" | ") for line in lines.splitlines()]
    return {first: [cell.split(", ") for cell in others] for first, *others in cells}


def numbers(page: str, sentence: str) -> tuple[str, ...]:
    """What a sentence of the page has where this one has a #."""
    words = [re.escape(word).replace(r"\#", r"(\d+(?:\.\d+)?)") for word in sentence.split()]
    (found,) = re.finditer(r"\s+".join(words), page)
    return found.groups()


def is_shown(text: str, value: float | None) -> bool:
    """Whether a text is the value, with as many digits as it has."""
    assert value is not None
    half = 0.5001 / 10.0 ** len(text.partition(".")[2])
    return abs(float(text) - value) <= half


def test_windows_give_the_rates_that_the_readme_has(loaded: Loaded, page: str) -> None:
    result = played(loaded, "window", {"run.duration": "24 s", "run.replications": ALL})
    found = rates(result, ["topology.rtt", "tcp.receive_buffer", "relay"])
    table = rows(page, "phone's window")
    windows = dict.fromkeys(window for _, window, _ in found)
    for name, rtt in {"S1": "105 ms", "S2": "15 ms"}.items():
        for window, (off, on) in zip(windows, table[f"{name}, off and on"], strict=True):
            assert is_shown(off, found[rtt, window, "none"]), (name, window)
            assert is_shown(on, found[rtt, window, "pep"]), (name, window)


def test_losses_in_their_place_give_the_rates_that_it_has(loaded: Loaded, page: str) -> None:
    result = played(loaded, "loss", {"run.duration": "60 s", "run.replications": ALL})
    delay, loss = "topology.hops.0.delay", "topology.hops.0.loss"
    found = rates(result, [delay, loss, "relay"])
    table = rows(page, "lost")
    losses = dict.fromkeys(loss for _, loss, _ in found)
    for where, name in WHOLE.items():
        for each, cell in zip(losses, table[f"{name}, off and on"], strict=True):
            for text, relay in zip(cell, ("none", "pep"), strict=True):
                assert is_shown(text, found[where, each, relay]), (name, each, relay)
    again = 100 * pl.col("retransmitted_bytes") / pl.col("sent_bytes")
    off = result.flows.filter(relay="none", **{delay: "52.5 ms"}).group_by(loss, maintain_order=True).agg(again.mean())
    for (each, value), (text,) in zip(off.rows(), table["sent again, off, %"], strict=True):
        assert is_shown(text, value), each


def test_rates_of_3g_give_what_it_says(loaded: Loaded, page: str) -> None:
    several = ["1 Mbit/s", "4 Mbit/s", "8 Mbit/s", "16 Mbit/s"]
    changes = {"topology.rtt": ["105 ms"], "topology.rate": several, "run.duration": "90 s", "run.replications": ALL}
    found = rates(played(loaded, "rates", changes), ["topology.rate", "relay"])
    said = numbers(page, "10 MB, S1): # to # Mbit/s at a rate of 1 Mbit/s, # to # at 4, # to # at 8, # to # at 16.")
    for text, key in zip(said, [(rate, relay) for rate in several for relay in ("none", "pep")], strict=True):
        assert is_shown(text, found[key]), key


def test_what_is_gained_without_a_window_that_limits_is_what_it_has(loaded: Loaded, page: str) -> None:
    changes = {"run.replications": 1, "run.duration": "15 s", "topology.hops.1.rate": ["25 Mbit/s", "1 Gbit/s"]}
    found = rates(
        played(loaded, "modern", changes),
        ["topology.hops.0.delay", "cc", "app.size", "topology.hops.1.rate", "relay"],
    )
    columns = [(where, cc) for where in WHOLE for cc in ("cubic", "bbr3")]
    table = rows(page, "S1, CUBIC")
    assert list(table) == ["1 MB", "5 MB", "20 MB"]
    for size, cells in table.items():
        for (where, cc), cell in zip(columns, cells, strict=True):
            for text, rate in zip(cell, ("25 Mbit/s", "1 Gbit/s"), strict=True):
                on, off = (found[where, cc, size, rate, relay] for relay in ("pep", "none"))
                assert is_shown(text, 100 * (on / off - 1)), (size, where, cc, rate)


def test_places_buffers_and_controllers_of_the_proxy_give_what_it_says(loaded: Loaded, page: str) -> None:
    found = rates(played(loaded, "proxy", {"run.replications": 1, "run.duration": "20 s"}), ["relay"])
    said = numbers(
        page,
        "144 KiB): # Mbit/s without, # a third of the way, # at two thirds, # in the operator's core; "
        "# if it asks the server at the phone's SYN, # with an initial window of 32, "
        "# and # with BBR (versions 3 and 1) to the phone, # and # with them to the server. "
        "With a buffer of 100 kB it **harms**: #, as",
    )
    relays = (
        "none", "third", "two-thirds", "pep", "transparent", "iw-32", "bbr3", "bbr1", "bbr3-server", "bbr1-server",
        "buffer-100k",
    )  # fmt: skip
    for relay, number in zip(relays, said, strict=True):
        assert is_shown(number, found[relay,]), relay
    assert found["buffer-400k",] == pytest.approx(found["pep",], rel=1e-4), "400 kB are enough"


def test_what_a_phone_that_leaves_takes_with_it_is_what_it_says(loaded: Loaded, page: str) -> None:
    result = played(loaded, "gone", {"run.replications": ALL})
    has = dict(result.flows.group_by("relay", maintain_order=True).agg(1e-6 * pl.col("goodput_bytes").mean()).rows())
    lost = result.measures.filter(name="acked_undelivered_bytes").join(result.runs, on="run")
    of = dict(lost.group_by("relay", maintain_order=True).agg(1e-6 * pl.col("value").mean()).rows())
    said = numbers(
        page,
        "loses it: # MB with a buffer of 4 MB (the server believes # MB delivered, the phone has #), "
        "# MB with 1 MB, # MB with 400 kB. Without a proxy the phone has # MB by then",
    )
    values = (of["pep"], has["pep"] + of["pep"], has["pep"], of["buffer-1m"], of["buffer-400k"], has["none"])
    for text, value in zip(said, values, strict=True):
        assert is_shown(text, value), text
