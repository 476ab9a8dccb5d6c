"""Mistakes in topologies: one line with file, key, line, problem and remedy, and exit code 2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ackclock.cli.app import main
from ackclock.cli.exit_codes import BAD_INPUT

Write = Callable[..., Path]

NETWORK = """\
[topology]
kind = "network"
nodes = [{ name = "a" }, { name = "router" }, { name = "b" }, { name = "c" }]

[[topology.links]]
from = "a"
to = "router"
rate = "unlimited"
delay = "1 ms"
both = true

[[topology.links]]
from = "router"
to = "b"
rate = "10 Mbit/s"
delay = "10 ms"
queue = "1 BDP"
both = true

[[flows]]
from = "a"
to = "b"

[run]
duration = "3 s"
"""

LOT = """\
[topology]
kind = "parking-lot"

[[topology.hops]]
count = 2
rate = "10 Mbit/s"
delay = "10 ms"
queue = "1 BDP"

[[flows]]
over = 1

[run]
duration = "3 s"
"""

DUMBBELL = """\
[topology]
kind = "dumbbell"
rate = "10 Mbit/s"
rtt = "20 ms"
queue = "1 BDP"
access = { rate = "100 Mbit/s", delay = "1 ms" }

[[flows]]
cc = "cubic"

[run]
duration = "3 s"
"""

CASES = [
    (NETWORK, 'kind = "network"', 'kind = "netwrk"', "topology.kind: unknown topology 'netwrk' (line 2); did you mean"),
    (
        NETWORK,
        'to = "b"\nrate',
        'to = "bb"\nrate',
        "topology.links.1.to: unknown node 'bb' (line 14); did you mean 'b'?",
    ),
    (NETWORK, 'to = "router"', 'to = "roter"', "links.0.to: unknown node 'roter' (line 7); did you mean 'router'?"),
    (NETWORK, 'to = "router"', 'to = "a"', "topology.links.0.to: a link from 'a' to itself (line 7); name another"),
    (NETWORK, 'from = "router"\nto = "b"', 'from = "router"\nto = "a"', "links.1: a second link from 'router' to 'a'"),
    (NETWORK, 'name = "c"', 'name = "a"', "topology.nodes.3.name: there are two nodes 'a' (line 3); remove one"),
    (NETWORK, 'name = "c"', 'name = "c d"', "nodes.3.name: 'c d' is no name for a node (line 3); use letters"),
    (NETWORK, 'delay = "1 ms"\nboth', "both", "topology.links.0.delay: missing key 'delay' (line 5); add delay ="),
    (NETWORK, 'from = "router"\n', "", "topology.links.1.from: missing key 'from' (line 12); add from = \"a\""),
    (
        NETWORK,
        "both = true\n\n[[f",
        "bth = true\n\n[[f",
        "links.1.bth: unknown key 'bth' (line 18); did you mean 'both'?",
    ),
    (NETWORK, "both = true\n\n[[f", "cost = 0\n\n[[f", "topology.links.1.cost: 0 is out of range (line 18); give at"),
    (NETWORK, 'to = "b"\n\n', 'to = "d"\n\n', "flows.0.to: unknown node 'd' (line 22); known: a, router, b, c"),
    (NETWORK, 'to = "b"\n\n', "\n", "flows.0.to: missing key 'to' (line 20); add the node it sends to"),
    (NETWORK, 'to = "b"\n\n', 'to = "a"\n\n', "flows.0.to: the flow sends from 'a' to itself (line 22); name another"),
    (
        NETWORK,
        'to = "b"\n\n',
        'to = "c"\n\n',
        "flows.0.to: no route from 'a' to 'c': it leads to router, b (line 22); add a link from one of them",
    ),
    (NETWORK, 'from = "a"\nto = "b"\n\n', 'from = "c"\nto = "b"\n\n', "no link leads from 'c', so 'b' cannot be"),
    (
        NETWORK,
        "both = true\n\n[[f",
        "\n[[f",
        "flows.0.from: no link leads from 'b', so 'a' cannot be reached (line 20); add a link from 'b'",
    ),
    (NETWORK, 'to = "b"\n\n', 'to = "b"\nvia = ["rooter"]\n', "flows.0.via.0: unknown node 'rooter' (line 23); did"),
    (NETWORK, 'to = "b"\n\n', 'to = "b"\nvia = ["c"]\n', "flows.0.via.0: no route from 'a' to 'c': it leads to"),
    (
        NETWORK,
        'to = "b"\n\n',
        'to = "router"\nvia = ["b"]\n',
        "flows.0.via: the route passes 'router' twice: a, router",
    ),
    (NETWORK, 'to = "b"\n\n', 'to = "b"\nover = 1\n', "flows.0.over: 'over' does not belong to a network (line 23)"),
    (NETWORK, 'to = "b"\n\n', 'to = "b"\nrtt = "2 ms"\n', "flows.0.rtt: the links alone take 22 ms there and back"),
    (NETWORK, 'rate = "10 Mbit/s"', 'rate = "unlimited"', "topology.links.1.queue: a BDP fraction needs a rate"),
    (LOT, "over = 1", "over = 2", "flows.0.over: there is no hop 2 (line 11); they are numbered from 0 to 1"),
    (LOT, "over = 1", "over = [1, 0]", "flows.0.over: hop 1 is behind hop 0 (line 11); write the first one first"),
    (LOT, "over = 1", 'over = "first"', "flows.0.over: 'first' says no hops (line 11); write \"all\", the number"),
    (LOT, "over = 1", "over = [0, 1, 1]", "flows.0.over: [0, 1, 1] says no hops (line 11)"),
    (LOT, "over = 1", 'from = "a"', "flows.0.from: 'from' does not belong to a parking-lot (line 11); remove it, or"),
    (LOT, "over = 1", 'rtt = "30 ms"', "flows.0.rtt: the links alone take 40 ms there and back (line 11); give"),
    (
        LOT,
        'kind = "parking-lot"',
        'kind = "chain"',
        "flows.0.over: 'over' does not belong to a chain (line 11); remove",
    ),
    (LOT, 'kind = "parking-lot"', 'kind = "parking-lot"\nrtt = "3 ms"', "topology.rtt: the links alone take 20 ms"),
    (LOT, "count = 2", "count = 500", "topology.hops: a row of 500 links (line 4); give at most 127"),
    (
        LOT,
        'rate = "10 Mbit/s"\ndelay = "10 ms"\nqueue = "1 BDP"',
        'rate = "unlimited"\ndelay = "0 s"',
        "flows.0: nothing",
    ),
    (LOT, "count = 2", "count = 0", "topology.hops.0.count: 0 is out of range (line 5); give at least 1"),
    (DUMBBELL, 'cc = "cubic"', 'rtt = "3 ms"', "flows.0.rtt: the links alone take 4 ms there and back (line 9); give"),
    (DUMBBELL, '"1 ms"', '"9 ms"', "topology.rtt: the links alone take 36 ms there and back (line 4); give at least"),
    (
        DUMBBELL,
        '"1 BDP"',
        '"1 BDP"\nreverse = { delay = "17 ms" }',
        "topology.reverse.delay: the way back takes longer",
    ),
    (DUMBBELL, '"1 ms"', '"1 ms", side = "left"', "topology.access.side: unknown side 'left' (line 6); known: both"),
    (DUMBBELL, '"1 ms"', '"1 ms", queue = "10 B"', "topology.access.queue: a queue of 10 B never holds"),
    (DUMBBELL, '"1 ms"', '"1 ms", rat = 1', "topology.access.rat: unknown key 'rat' (line 6); did you mean 'rate'?"),
    (
        DUMBBELL,
        'cc = "cubic"',
        'access = { rate = "1 Mbit/s", reverse = { rate = "unlimited", queue = "1 BDP" } }',
        "flows.0.access.reverse.queue: a BDP fraction needs a rate (line 9); give a rate",
    ),
]


@pytest.mark.parametrize(("text", "old", "new", "words"), CASES, ids=[case[3][:50] for case in CASES])
def test_is_refused(
    scenario_file: Write, capsys: pytest.CaptureFixture[str], text: str, old: str, new: str, words: str
) -> None:
    path = scenario_file((old, new), text=text)
    assert main(["show", str(path)]) == BAD_INPUT
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"ackclock: {path}: ")
    assert said.err.count("\n") == 1
    assert words in said.err
    assert "; " in said.err


@pytest.mark.parametrize("text", [NETWORK, LOT, DUMBBELL])
def test_is_fine_without_the_mistake(scenario_file: Write, text: str) -> None:
    assert main(["show", str(scenario_file(text=text))]) == 0


def test_set_reaches_links_and_ends(scenario_file: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario_file(text=NETWORK)
    assert main(["show", str(path), "--set", "to=router", "--set", "topology.links.1.rate=1 Mbit/s"]) == 0
    assert "1 Mbit/s" in capsys.readouterr().out
    assert main(["show", str(path), "--set", "form=b"]) == BAD_INPUT
    assert "did you mean 'from'?" in capsys.readouterr().err
