"""Pictures of topologies: what is drawn, where, and the same every time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import generate
from ackclock import InputError, load
from ackclock.cli.app import main
from ackclock.cli.exit_codes import BAD_INPUT
from ackclock.drawing import topology
from ackclock.scenario.display.sketch import Sketch, sketch
from shared import ROOT

Raw = dict[str, Any]


def drawn(raw: Raw) -> Sketch:
    return sketch(load(raw).points[0].scenario)


def network(*links: tuple[str, str], ends: tuple[str, str], **keys: Any) -> Raw:
    common = {"rate": "10 Mbit/s", "delay": "5 ms", "both": True} | keys
    return {
        "topology": {"kind": "network", "links": [{"from": a, "to": b} | common for a, b in links]},
        "flows": [{"from": ends[0], "to": ends[1]}],
        "run": {"duration": "3 s"},
    }


def test_a_network_goes_from_left_to_right() -> None:
    found = drawn(network(("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ends=("a", "d")))
    at = {place.name: place.at for place in found.places}
    assert at["a"][0] < at["b"][0] < at["d"][0]
    assert at["c"] != at["b"]
    assert len(set(at.values())) == 4
    assert [place.name for place in found.places if place.host] == ["a", "d"]
    assert found.routes[0].stops == ("a", "b", "d")


def test_relays_have_their_places() -> None:
    raw = network(("a", "b"), ("b", "d"), ends=("a", "d"))
    raw |= {"relays": [{"name": "pep", "position": "b"}]}
    assert drawn(raw).routes[0].stops == ("a", "b", "d"), "no flow has it"
    raw["flows"][0]["relay"] = "pep"
    found = drawn(raw)
    assert found.routes[0].stops == ("a", "b-(relay-pep)", "d")
    assert {line.ends for line in found.lines} == {("a", "b-(relay-pep)"), ("b-(relay-pep)", "d")}
    chain = load(ROOT / "scenarios" / "split-tcp.toml", set={"flows.0.relay": "pep", "app.size": "1 MB"})
    row = sketch(chain.points[0].scenario)
    assert row.routes[0].stops == ("sender 0", "router 0", "relay-pep", "router 2", "receiver 0")
    assert {place.name for place in row.places} == set(row.routes[0].stops)
    cell = {"topology": {"kind": "hspa_cell", "rtt": "40 ms"}, "relays": [{"name": "pep"}], "run": {"duration": "1 s"}}
    (words, *_) = (line.words for line in drawn(cell | {"flows": [{"relay": "pep"}]}).lines)
    assert words[-1] == "relay pep in the core"


def test_a_link_that_passes_a_node_goes_around_it() -> None:
    raw = network(("a", "b"), ("b", "c"), ("a", "c"), ends=("a", "c"))
    raw["flows"].append({"from": "a", "to": "c", "via": ["b"]})
    found = drawn(raw)
    (long,) = (line for line in found.lines if line.ends == ("a", "c"))
    at = {place.name: place.at for place in found.places}
    assert len(long.bends) == 1
    assert long.bends[0][0] == at["b"][0]
    assert long.bends[0] != at["b"]


def test_flows_against_each_other_are_drawn() -> None:
    raw = network(("a", "b"), ("b", "c"), ends=("a", "c"))
    raw["flows"].append({"from": "c", "to": "a"})
    assert [route.stops for route in drawn(raw).routes] == [("a", "b", "c"), ("c", "b", "a")]


def test_words_of_links_that_differ_on_the_way_back(raw: Raw) -> None:
    raw["topology"]["reverse"] = {"rate": "1 Mbit/s", "queue": "7 packets"}
    raw["topology"]["loss"] = 0.01
    raw["flows"].append({"rtt": "50 ms"})
    found = drawn(raw)
    (shared,) = (line for line in found.lines if not line.delay)
    assert shared.words == ("bottleneck", "10 Mbit/s, 10 ms", "droptail 17 packets", "loss: 1 %")
    assert shared.back == ("back: 1 Mbit/s, 10 ms", "droptail 7 packets")
    assert [line.words for line in found.lines if line.delay] == [(), (), ("+30 ms RTT",), ()]


@pytest.mark.parametrize("name", ["network", "parking-lot", "asymmetric", "rtt-fairness"])
def test_the_same_topology_gives_the_same_file(name: str, tmp_path: Path) -> None:
    picture = sketch(load(ROOT / "scenarios" / f"{name}.toml").points[0].scenario)
    first, second = (topology.save(picture, tmp_path / f"{copy}.svg").read_bytes() for copy in "ab")
    assert first == second
    assert b"<dc:date>" not in first
    assert topology.save(picture, tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").glob("*.toml")), ids=lambda path: path.stem)
def test_every_scenario_can_be_drawn(path: Path) -> None:
    found = sketch(load(path).points[0].scenario)
    names = {place.name for place in found.places}
    joined = {line.ends for line in found.lines}
    for route in found.routes:
        assert set(route.stops) <= names
        pairs = zip(route.stops, route.stops[1:], strict=False)
        assert all(ends in joined or ends[::-1] in joined for ends in pairs)


@pytest.mark.parametrize("name", sorted(generate.PICTURES))
def test_pictures_of_the_documentation_are_up_to_date(name: str) -> None:
    committed = (ROOT / name).read_text(encoding="utf-8")
    fresh = generate.picture(generate.PICTURES[name])
    assert generate.structure(committed) == generate.structure(fresh), "run: make docs"
    assert len(generate.structure(committed)) > 8
    assert name.removeprefix("docs/") in (ROOT / "docs" / "topologies.md").read_text(encoding="utf-8")
    assert f"`{generate.PICTURES[name]}`" in (ROOT / "docs" / "topologies.md").read_text(encoding="utf-8")


def test_show_draws(
    scenario_file: Callable[..., Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = scenario_file()
    monkeypatch.chdir(path.parent)
    assert main(["show", str(path), "--plot"]) == 0
    assert "topology: scenario-plots/topology.svg, scenario-plots/topology.png" in capsys.readouterr().out
    assert main(["show", str(path), "--plot", "other.pdf", "--set", 'topology.rtt=["20 ms", "40 ms"]']) == 0
    assert "topology of point 0: other.pdf" in capsys.readouterr().out
    assert main(["show", str(path), "--json", "--plot", "json.svg"]) == 0
    assert capsys.readouterr().out.startswith("{")
    assert {item.name for item in path.parent.iterdir()} == {"scenario.toml", "scenario-plots", "other.pdf", "json.svg"}
    assert {item.name for item in (path.parent / "scenario-plots").iterdir()} == {"topology.svg", "topology.png"}
    assert main(["show", str(path), "--plot", "picture.gif"]) == BAD_INPUT
    assert "'picture.gif' is no figure; end its name with .png" in capsys.readouterr().err


def test_show_says_what_flows_cross(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(ROOT / "scenarios" / "network.toml")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "2 video->east, east->orbit, 120 ms, west->home home->west, west->east, east->video" in said
    assert main(["show", str(ROOT / "scenarios" / "asymmetric.toml")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "0 to 1 7 ms, bottleneck, receiver0 receiver0-reverse, reverse, 7 ms" in said
    assert "receiver1 " not in said


def test_a_figure_of_another_kind_is_refused(raw: Raw, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no figure"):
        topology.save(drawn(raw), tmp_path / "picture")


def test_a_figure_makes_no_directory(raw: Raw, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such directory"):
        topology.save(drawn(raw), tmp_path / "no" / "picture.svg")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"rate": "5 Mbit/s"}, ("5 Mbit/s, 3 ms",)),
        ({"rate": "unlimited"}, ("3 ms",)),
        ({"rate": {"on": "1 s", "off": "1 s", "rate": "5 Mbit/s"}}, ("off to 5 Mbit/s, 3 ms",)),
        ({"loss": {"every": 9}}, ("9 Mbit/s, 3 ms", "loss: every 9 packets")),
        ({"loss": {"ber": 1e-6}}, ("9 Mbit/s, 3 ms", "loss: bit errors 1e-06")),
        ({"loss": {"drops": [{"flow": "0", "nth": 1}]}}, ("9 Mbit/s, 3 ms", "loss: 1 chosen packets")),
        ({"queue": {"kind": "codel", "limit": "64 kB"}}, ("9 Mbit/s, 3 ms", "codel 64 kB")),
        ({"queue": {"kind": "drr", "limit": "unlimited"}}, ("9 Mbit/s, 3 ms", "drr unlimited")),
        ({"policer": {"rate": "1 Mbit/s", "burst": "9 kB"}}, ("9 Mbit/s, 3 ms", "policer 1 Mbit/s, 9 kB")),
        ({"duplicate": 0.01}, ("9 Mbit/s, 3 ms", "duplicates 1 %")),
        ({"events": [{"at": "1 s", "delay": "9 ms"}]}, ("9 Mbit/s, 3 ms", "1 event")),
    ],
)
def test_words_say_what_a_link_does(keys: Raw, words: tuple[str, ...]) -> None:
    raw = network(("a", "b"), ends=("a", "b"), **({"rate": "9 Mbit/s", "delay": "3 ms"} | keys))
    assert drawn(raw).lines[0].words == words
