"""What rankings and comparisons of captures advise: to take more of them, as nothing is played."""

from __future__ import annotations

from pathlib import Path

import pytest

import ackclock
import pcaps
from ackclock import InputError
from ackclock.drawing import plot
from ackclock.drawing.request import Request

GOAL = "goodput_bps up"


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    folder = tmp_path_factory.mktemp("pcap")
    return {
        label: [
            pcaps.download(folder / f"{label}{seed}.pcapng", run__seed=seed, flows__0__bytes="300 kB")
            for seed in range(first, first + 3)
        ]
        for label, first in (("off", 1), ("on", 11))
    }


def test_one_capture_of_each_label_is_said_to_tell_nothing(captures: dict[str, list[Path]]) -> None:
    found = ackclock.pcap(labels={label: files[0] for label, files in captures.items()})
    said = ackclock.rank(found, goal=GOAL).sentence
    assert said.endswith("; one capture of each label cannot tell that from chance: analyse several.")


def test_few_captures_ask_for_more_of_them(captures: dict[str, list[Path]]) -> None:
    ranked = ackclock.rank(ackclock.pcap(labels=captures), goal=GOAL)
    assert ranked.notes[-1] == (
        "3 captures of each label make wide intervals and no probability of being best; analyse 10 or more"
    )
    assert "replication" not in f"{ranked.sentence} {' '.join(ranked.notes)}"


def test_captures_without_a_partner_are_left_out_as_captures(captures: dict[str, list[Path]]) -> None:
    found = ackclock.pcap(labels={"off": captures["off"], "on": captures["on"][:2]})
    assert ackclock.rank(found, goal=GOAL).notes[0].startswith("of up to 3 captures the 2 count")
    notes = ackclock.compare(found, by="label", metrics=["goodput_bps"]).notes
    assert notes == ("1 capture left out: pairs are of the first captures, of the second ones and so on",)


def test_a_single_label_asks_for_another(captures: dict[str, list[Path]]) -> None:
    found = ackclock.pcap(labels={"off": captures["off"]})
    for asked in (lambda: ackclock.rank(found, goal=GOAL), lambda: ackclock.compare(found, by="label")):
        with pytest.raises(InputError, match=r"has one value, off.*; analyse captures of several"):
            asked()


def test_figures_are_means_of_captures(captures: dict[str, list[Path]]) -> None:
    said = plot.specify(ackclock.pcap(labels=captures), Request("box")).says
    assert said.endswith(": runs, means of 3 captures with 95 % intervals")
