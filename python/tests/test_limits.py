"""What is too much is refused before work: each case in a process with limits on memory and CPU time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ackclock import files
from ackclock.scenario.reading import expansion, ranges

HEAD = '[topology]\nkind = "dumbbell"\nrate = "10 Mbit/s"\nrtt = "20 ms"\nqueue = "1 BDP"\n'
FLOW = '[[flows]]\ncc = "cubic"\n'
RUN = '[run]\nduration = "1 s"\n'
LINK = 'rate = "10 Mbit/s"\ndelay = "1 ms"\nqueue = "100 packets"\n'
MANY = 10**9
DEEP, DEEPER = ".".join(["a"] * 1000), ".".join(["a"] * 10_000)


def scenario(flow: str = "", run: str = "", head: str = HEAD, more: str = "") -> str:
    return f"{head}{FLOW}{flow}\n{RUN}{run}\n{more}"


def of_rate(rate: str) -> str:
    return scenario(head=HEAD.replace('"10 Mbit/s"', rate))


def network(links: int) -> str:
    return '[topology]\nkind = "network"\n' + "".join(
        f'[[topology.links]]\nfrom = "n{number}"\nto = "n{number + 1}"\nboth = true\n{LINK}' for number in range(links)
    )


FINE = "{ range = [0.1, 0.9, 1e-6] }"
HOPS = f'[topology]\nkind = "chain"\n[[topology.hops]]\n{LINK}count = '

SCENARIOS: dict[str, tuple[str, str]] = {
    # Sweeps: all points, or the values of one key, would fill the memory or take minutes.
    "a sweep of 20 million runs": (
        scenario(
            'iw = { range = [1, 100, 1] }\nmss = ["1448 B", "1000 B"]',
            "seed = { range = [1, 100, 1] }\nreplications = 1000",
        ),
        "run.replications: 20000000 runs are more than one result can hold (line 13); sweep less or replicate less: "
        "at most 1000000 runs",
    ),
    "zipped keys": (
        scenario(
            "iw = { range = [1, 100000, 1] }",
            "seed = { range = [1, 100000, 1] }\nreplications = 1000",
            more='[sweep]\nzip = [["iw", "run.seed"]]',
        ),
        "run.replications: 100000000 runs are more than",
    ),
    "swept replications": (
        scenario(run="replications = [1, 1000000]\nseed = { range = [1, 1000, 1] }"),
        "run.replications: 1000001000 runs are more than",
    ),
    "lists in a list": (
        scenario().replace('"cubic"', f'[{{ name = "cubic", beta = {FINE}, c = {FINE} }}]'),
        "sweep: the sweep has 640001600001 points; at most 1000000",
    ),
    "two long ranges": (
        scenario("iw = { range = [1, 1000000, 1] }", "seed = { range = [1, 1000000, 1] }"),
        "sweep: the sweep has 1000000000000 points",
    ),
    "20,000 swept keys": (
        HEAD + '[[flows]]\ncc = ["cubic", "reno"]\n' * 20_000 + RUN,
        "sweep: the sweep has more than 1000000000000000000 points",
    ),
    "a range of 10^9": (
        scenario(run=f"seed = {{ range = [1, {MANY}, 1] }}"),
        "run.seed.range: the range has 1000000000 values (line 11); give a larger step, for at most 1000000",
    ),
    "a range of 10^9999": (
        scenario('rtt = { range = ["1 s", "1e9999 s", "1 s"] }'),
        "flows.0.rtt.range: '1e9999 s' is too large",
    ),
    "a range of 4000 digits": (
        scenario(run=f"seed = {{ range = [1, 1{'0' * 4000}, 1] }}"),
        "run.seed.range: the number is too large",
    ),
    "a logrange of 10^9": (
        scenario(run=f"seed = {{ logrange = [1, 100, {MANY}] }}"),
        f"run.seed.logrange: {MANY} is not a number of values",
    ),
    "a logrange to 10^9999": (
        scenario('rtt = { logrange = ["1 s", "1e9999 s", 5] }'),
        "flows.0.rtt.logrange: '1e9999 s' is too large",
    ),
    "a logrange to 10^40": (scenario(run=f"seed = {{ logrange = [1, 1{'0' * 40}, 5] }}"), "run.seed.logrange: 1000"),
    "10^12 replications": (
        scenario(run="replications = 1000000000000"),
        "run.replications: 1000000000000 runs are more than",
    ),
    "replications of 3000 digits": (
        scenario(run=f"replications = 1{'0' * 3000}"),
        "run.replications: more than 1000000000000000000 runs are more than",
    ),
    # Numbers of things.
    "10^9 flows": (scenario(f"count = {MANY}"), "flows: too many flows (line 6); a run takes at most 100000"),
    "10^9 hops": (
        scenario(head=f"{HOPS}{MANY}\n"),
        "topology.hops: a row of 1000000000 links (line 3); give at most 127",
    ),
    "many flows over many hops": (
        scenario("count = 100000", head=f"{HOPS}100\n"),
        "flows: the routes of all flows have 20000000 links and delays (line 8); at most 2000000 are possible",
    ),
    "20,000 nodes": (
        scenario('from = "n0"\nto = "n1"', head=network(20_000)),
        "topology.links: a network of 20001 nodes (line 3); at most 10000 are possible",
    ),
    "10^9 users": (
        scenario(head=f'[topology]\nkind = "lte_cell"\nusers = {MANY}\n'),
        "topology.users: 1000000000 is out of range",
    ),
    "10^9 users of HSPA": (
        scenario(head=f'[topology]\nkind = "hspa_cell"\nusers = {MANY}\n'),
        "topology.users: 1000000000 is out of range",
    ),
    "10^9 connections of a page": (
        scenario(f'app = {{ kind = "web", connections = {MANY} }}'),
        "flows.0.app.connections: 1000000000 is out",
    ),
    "a run of 30 years": (
        scenario().replace('"1 s"', '"1e9 s"'),
        "run.duration: '1e9 s' is too large (line 10); the most is 87840 h",
    ),
    # Text that is nested.
    "a key of 1,000 parts": (
        f"{scenario()}{DEEP} = 1",
        "the key 'a.a.a.a.a.a.a.a.a.a....' has 1000 parts (line 12); at most 32",
    ),
    "a key of 10,000 parts": (f"{DEEPER} = 1\n{scenario()}", "has 10000 parts (line 1); at most 32 are possible"),
    "a table of 1,000 parts": (f"[{DEEP}]\n{scenario()}", "has 1000 parts (line 1); at most 32 are possible"),
    "an array of 1,000 parts": (f"[[{DEEP}]]\n{scenario()}", "has 1000 parts (line 1); at most 32 are possible"),
    "an inline key of 1,000 parts": (f"x = {{ {DEEP} = 1 }}\n{scenario()}", "has 1000 parts (line 1); at most 32"),
    "inline tables of short keys": (
        "x = " + "{ a.b.c.d.e.f.g.h = " * 200 + "1" + " }" * 200,
        "brackets are nested too deeply",
    ),
    "brackets": (f"x = {'[' * 100_000}", "brackets are nested too deeply; correct it: at most 32 levels"),
    # Files that have no end, or nearly so.
    "an endless trace": (
        of_rate('{ trace = "/dev/zero" }'),
        "topology.rate.trace: cannot read '/dev/zero' (not a regular file) (line 3)",
    ),
    "a trace that is a pipe": (
        of_rate('{ trace = "pipe" }'),
        "topology.rate.trace: cannot read 'pipe' (not a regular file)",
    ),
    "a trace of 1 GB": (
        of_rate('{ trace = "large" }'),
        "cannot read 'large' (larger than 67,108,864 bytes) (line 3); give a file",
    ),
    "an endless page": (
        scenario('app = { kind = "web", page = "/dev/zero" }'),
        "flows.0.app.page: cannot read '/dev/zero' (not a regular",
    ),
    "a page that is a pipe": (
        scenario('app = { kind = "web", page = "pipe" }'),
        "cannot read 'pipe' (not a regular file)",
    ),
    "a page of 1 GB": (
        scenario('app = { kind = "web", page = "large" }'),
        "cannot read 'large' (larger than 8,388,608 bytes) (line 8)",
    ),
    "a page of deep JSON": (
        scenario('app = { kind = "web", page = "deep.json" }'),
        "'deep.json': brackets are nested too deeply (line 8)",
    ),
    "a page of deep TOML": (
        scenario('app = { kind = "web", page = "deep.toml" }'),
        "'deep.toml', line 2: the key 'a.a.a.a.a.a.a.a.a.a....'",
    ),
    "a page of objects in a circle": (
        scenario('app = { kind = "web", page = "circle.json" }'),
        "objects wait for each other (o0 -> o1 -> o2",
    ),
    "a page that names nothing": (scenario('app = { kind = "web", page = "missing.json" }'), "unknown object 'x'"),
}

CAMPAIGN = '[campaign]\nname = "a"\nserver = "192.0.2.1:5301"\n[[lines]]\nname = "b"\n'
THREE = ("run.seed={range=[1,1000,1]}", "iw={range=[1,1000,1]}", 'mss=["1 kB","2 kB"]')
CASES: dict[str, tuple[str, list[Any], str]] = {
    **{name: ("load", [f"{number}.toml"], words) for number, (name, (_, words)) in enumerate(SCENARIOS.items())},
    "an endless scenario": ("load", ["/dev/zero"], "/dev/zero: not a regular file; give the path of a scenario file"),
    "a scenario that is a pipe": ("load", ["pipe"], "pipe: not a regular file; give the path of a scenario file"),
    "a scenario of 1 GB": ("load", ["large"], "large: larger than 8,388,608 bytes; give the path of a scenario file"),
    "content": ("content", [5000], "scenario: brackets are nested too deeply"),
    "changes": ("set", ["good.toml", 5000], "brackets are nested too deeply"),
    "a change of 1,000 parts": (
        "load",
        ["good.toml", {f"topology.{DEEP}": 1}],
        "has 1001 parts; at most 32 are possible",
    ),
    "--set of 1,000 parts": (
        "command",
        ["show", "good.toml", "--set", f"topology.{DEEP}=1"],
        "has 1001 parts; at most 32",
    ),
    "--set of a deep value": ("command", ["show", "good.toml", "--set", f"cc={{ {DEEP} = 1 }}"], "unknown controller"),
    "several --set": (
        "command",
        ["show", "good.toml", *(f"--set={each}" for each in THREE)],
        "sweep: the sweep has 2000000 points; at most 1000000; shorten its lists",
    ),
    "--replications": (
        "command",
        ["run", "good.toml", "--replications", str(10**12)],
        "1000000000000 runs are more than",
    ),
    "samples": ("command", ["run", "probes.toml"], "probes: one run needs about 720 TB of memory"),
    "a campaign of a deep key": (
        "campaign",
        ["deep-campaign.toml"],
        "has 1000 parts (line 6); at most 32 are possible",
    ),
    "a campaign of many tests": (
        "campaign",
        ["many-campaign.toml"],
        "campaign.repetitions: 100000000 tests are too many (line 4); at most",
    ),
    "an endless campaign": ("campaign", ["/dev/zero"], "/dev/zero: not a regular file; give a campaign"),
    "a study of a deep key": ("study", ["study"], "has 1000 parts (line 1); at most 32 are possible"),
    "a result of a deep manifest": ("manifest", ["result"], "is not readable"),
}


def write(folder: Path) -> None:
    for number, (text, _) in enumerate(SCENARIOS.values()):
        (folder / f"{number}.toml").write_text(text, encoding="utf-8")
    objects = 50_000
    plain = [{"name": f"o{number}", "size": "1 B"} for number in range(objects)]
    circle = [{**each, "parents": [f"o{(number + 1) % objects}"]} for number, each in enumerate(plain)]
    main = {"name": "main", "size": "1 B"}
    texts = {
        "good.toml": scenario(),
        "probes.toml": scenario(more='[probes]\ninterval = "1 ns"\n').replace("1 s", "1000 s"),
        "deep.toml": f"\n{DEEPER} = 1",
        "deep.json": "[" * 200_000,
        "circle.json": json.dumps({"objects": [main, *circle]}),
        "missing.json": json.dumps({"objects": [main, *plain, {"name": "y", "size": "1 B", "parents": ["x"]}]}),
        "deep-campaign.toml": f"{CAMPAIGN}{DEEP} = 1",
        "many-campaign.toml": CAMPAIGN.replace("[[", "repetitions = 10000\n[[")
        + "[test]\nmss = { range = [1, 10000, 1] }\n",
        "study/study.toml": f"[{DEEP}]",
        "result/manifest.json": "[" * 200_000,
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    os.mkfifo(folder / "pipe")
    with (folder / "large").open("wb") as stream:
        stream.truncate(1 << 30)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("limits")
    write(folder)
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("resource_limits.py"))],
        input=json.dumps([case[:2] for case in CASES.values()]),
        capture_output=True,
        text=True,
        cwd=folder,
        check=True,
    )
    return dict(zip(CASES, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_is_refused_in_one_line(outcomes: dict[str, dict[str, Any]], name: str) -> None:
    found, words = outcomes[name], CASES[name][2]
    assert found["raised"] == "InputError", found
    assert words in found["text"]
    assert "\n" not in found["text"]
    assert len(found["text"]) < 6000


KEY = ".".join(["a"] * (files.MOST_PARTS + 1))


@pytest.mark.parametrize(
    "text",
    [
        f"{KEY[2:]} = 1",
        f"x = 1 # {KEY} = 1",
        f'x = "{KEY}"',
        f'x = "\\" {KEY} = 1"',
        f"x = '{KEY}'",
        f'x = """\n{KEY} = 1\n\\"""\n{KEY} = 1\n"""',
        f"x = '''\n{KEY} = 1\n'''",
        f'x = """"""\ny = "{KEY}"',
        f'"{KEY}" = 1',
        "x = [" + "0.5, " * 1000 + "]",
    ],
)
def test_points_that_are_no_key_are_left_alone(text: str) -> None:
    assert files.parse_toml(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{KEY} = 1", 1),
        (f"[{KEY}]", 1),
        (f"x = {{ y = 1, {KEY} = 1 }}", 1),
        (KEY.replace(".", " .\t") + " = 1", 1),
        ('"a.b" . ' + KEY.replace("a", "'a'") + " = 1", 1),
        (f'x = """\n{KEY}"""""\n{KEY} = 1', 3),
        (f"x = '''\n''{KEY}'''\n\n{KEY} = 1", 4),
        (f'x = "\\"" # "\n{KEY} = 1', 2),
        (f'x = ""\ny = \'\'\n{KEY} = 1', 3),
    ],
)  # fmt: skip
def test_a_key_of_too_many_parts_is_found(text: str, line: int) -> None:
    with pytest.raises(files.NestedTooDeeply) as error:
        files.parse_toml(text)
    assert error.value.line == line


@pytest.mark.parametrize("text", ['x = """a', "x = '''a", 'x = "a\ny = 1', "x = 'a"])
def test_a_string_without_an_end_is_left_to_the_library(text: str) -> None:
    with pytest.raises(ValueError, match=r"at line|at end"):
        files.parse_toml(f"{text} {KEY}")


@pytest.mark.parametrize("last", [2, 5, 100, 5000])
@pytest.mark.parametrize("number", [2, 3, 57, 500, 2000])
def test_values_of_a_logrange_are_counted_without_making_them(last: int, number: int) -> None:
    for bounds in ([1, last], ["1 ms", f"{last} ms"]):
        node = {"logrange": [*bounds, number]}
        assert ranges.number(node, ("x",)) == len(ranges.values(node, ("x",)))


def test_a_sweep_is_counted_as_its_points_are_made() -> None:
    raw: dict[str, Any] = {
        "flows": [{"cc": ["reno", {"name": "cubic", "beta": [0.6, 0.7]}], "iw": {"range": [1, 5, 2]}}],
        "run": {"seed": {"logrange": [1, 10, 100]}, "replications": [1, 2, 3]},
        "sweep": {"zip": [["iw", "run.replications"]]},
    }
    made = list(expansion.points(raw))
    assert expansion.foreseen(raw) == expansion.counts(raw) == (len(made), 180)
    assert len(made) == 3 * 3 * 10
