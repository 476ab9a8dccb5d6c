"""Settings without effect: a warning with key and remedy, by `show` and by `run`; what cannot be meant is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import load
from ackclock.cli.app import main
from ackclock.cli.exit_codes import OK
from ackclock.engine import catalogue
from ackclock.errors import InputError
from ackclock.scenario.topology.queue import WEIGHTED
from ackclock.sweeps.engines import played_by

Raw = dict[str, Any]
Write = Callable[..., Path]
QUEUE = 'queue = { kind = "droptail", limit = "1 BDP" }'
FLOW = 'cc = "cubic"\ncount = 2\nstart = { uniform = ["0 s", "100 ms"] }\n'
LATE = "it has no effect; give an earlier time, or a longer run.duration"


def queue(text: str) -> tuple[str, str]:
    """Another queue."""
    return QUEUE, f"queue = {{ {text} }}"


CASES = [
    (
        (FLOW, f'{FLOW}profile = "rfc"\niw = 32\n'),
        ["flows.0.tcp.iw: iw_bound rfc6928 of 'rfc' makes 32 segments 14600 bytes; write tcp = { iw_bound"],
    ),
    ((FLOW, f'{FLOW}profile = "rfc"\niw = 10\n'), []),
    ((FLOW, f'{FLOW}profile = "rfc"\niw = 32\ntcp = {{ iw_bound = "none" }}\n'), []),
    (
        (FLOW, f'{FLOW}iw = 5\nmss = "1460 B"\ntcp = {{ iw_bound = "rfc5681" }}\n'),
        ["flows.0.tcp.iw: iw_bound rfc5681 of 'linux' makes 5 segments 4380 bytes; write tcp = { iw_bound"],
    ),
    ((FLOW, f"{FLOW}iw = 1000\n"), []),
    (
        queue('limit = "1 BDP", weights = [1, 2]'),
        ["topology.queue.weights: 'droptail' does not share by weight; remove"],
    ),
    (queue('kind = "codel", weights = [1, 2]'), ["topology.queue.weights: 'codel' does not share by weight; remove"]),
    (queue('kind = "drr", limit = "1 BDP", weights = [1, 2]'), []),
    (
        queue('kind = "red", limit = "4 packets"'),
        ["topology.queue: RED acts from an average of 5 packets on (min) and the queue holds 4 packets: it never"],
    ),
    (queue('kind = "red", limit = "5 packets"'), []),
    (
        queue('kind = "red", limit = "20 packets", min = 30, max = 90'),
        ["topology.queue: RED acts from an average of 30 packets on (min) and the queue holds 20 packets: it never"],
    ),
    (
        queue('kind = "red", limit = "4500 B", mode = "bytes", min = 6000, max = 9000'),
        ["topology.queue: RED acts from an average of 6000 B on (min) and the queue holds 4500 B: it never"],
    ),
    (queue('kind = "red", limit = "4 packets", preset = "ared"'), []),
    (
        (QUEUE, f'{QUEUE}\nevents = [{{ at = "1 s", delay = "9 ms" }}, {{ at = "3 s", rate = "1 Mbit/s" }}]'),
        [f"topology.events.1: it comes at 3 s and the run ends at 3 s: {LATE}"],
    ),
    (
        (QUEUE, f'{QUEUE}\naccess = {{ delay = "1 ms", rate = "1 Gbit/s", events = [{{ at = "9 s", loss = 0.1 }}] }}'),
        [f"topology.access.events.0: it comes at 9 s and the run ends at 3 s: {LATE}"],
    ),
    (
        ('"10 Mbit/s"', '{ steps = [{ at = "0 s", rate = "5 Mbit/s" }, { at = "5 s", rate = "off" }] }'),
        [f"topology.rate: it changes at 5 s and the run ends at 3 s: {LATE}"],
    ),
    (
        ('"10 Mbit/s"', '{ on = "10 s", off = "1 s", rate = "5 Mbit/s" }'),
        [f"topology.rate: it changes at 10 s and the run ends at 3 s: {LATE}"],
    ),
    (('"10 Mbit/s"', '{ on = "1 s", off = "1 s", rate = "5 Mbit/s" }'), []),
    (
        (FLOW, 'app = { kind = "cbr", rate = "1 Mbit/s" }\ncc = "reno"\nmss = "1 kB"\ntcp = { iw = 3 }\n'),
        [
            f"flows.0.{key}: datagrams take no notice of it; remove it, or give the app transpor"
            for key in ("cc", "mss", "tcp")
        ],
    ),
    ((FLOW, 'app = { kind = "cbr", rate = "1 Mbit/s" }\n'), []),
    (
        (FLOW, 'app = { kind = "cbr", rate = "1 Mbit/s", transport = "tcp", ect = true }\n'),
        ['flows.0.app.ect: it is for datagrams; remove it, or give the app transport = "udp"'],
    ),
    (
        (FLOW, 'app = { kind = "cbr", rate = "1 Mbit/s", transfers = true }\n'),
        ['flows.0.app.transfers: it is for writes; remove it, or give the app transport = "tcp"'],
    ),
    (
        (FLOW, 'app = { kind = "files", size = "10 kB", arrivals = { poisson = 2 }, until = "5 s" }\n'),
        [f"flows.0.app.until: it is at 5 s and the run ends at 3 s: {LATE}"],
    ),
    (
        (FLOW, 'stop = "5 s"\nactive = [{ begin = "1 s", end = "2 s" }, { begin = "4 s" }]\n'),
        [
            f"flows.0.stop: it is at 5 s and the run ends at 3 s: {LATE}",
            f"flows.0.active.1: it begins at 4 s and the run ends at 3 s: {LATE}",
        ],
    ),
    ((FLOW, 'stop = "3 s"\n'), []),
    (
        # 9 Mbit/s for 3 s are 3.375 MB.
        (FLOW, 'app = { kind = "bulk", read = "1 Mbit/s" }\n'),
        [
            "flows.0.app.read: the receiver leaves at most 3375 kB unread and its buffer holds 1073741823 B: it is "
            'never full; give tcp = { receive_buffer = "64 kB" }, or what it has'
        ],
    ),
    (
        (FLOW, 'app = { kind = "bulk", read = "1 Mbit/s" }\nbytes = "30 kB"\ntcp = { receive_buffer = "64 kB" }\n'),
        ["flows.0.app.read: the receiver leaves at most 30 kB unread and its buffer holds 64 kB: it is never full; "],
    ),
    ((FLOW, 'app = { kind = "bulk", read = "1 Mbit/s" }\ntcp = { receive_buffer = "64 kB" }\n'), []),
    ((FLOW, 'app = { kind = "bulk", read = "20 Mbit/s" }\n'), []),
    (
        (FLOW, 'cc = "external"\n'),
        ["flows.0.cc: nobody decides in a plain run: it holds its first window; drive it with ackclock.Simulation or"],
    ),
]


@pytest.mark.parametrize(("change", "lines"), CASES, ids=[case[0][1][-50:].strip() for case in CASES])
def test_is_warned_of(
    scenario_file: Write, capsys: pytest.CaptureFixture[str], change: tuple[str, str], lines: list[str]
) -> None:
    path = scenario_file(change)
    assert main(["show", str(path)]) == OK
    said = capsys.readouterr().err.splitlines()
    assert len(said) == len(lines), said
    for line, words in zip(said, lines, strict=True):
        assert line.startswith(f"ackclock: {words}")
        assert "; " in line


def test_a_run_repeats_it_once_for_all_replications(raw: Raw) -> None:
    raw["topology"]["queue"] = {"limit": "1 BDP", "weights": [1.0, 2.0]}
    result = ackclock.run(raw, replications=3, jobs=1)
    assert [line for line in result.warnings if "weight" in line] == [
        "topology.queue.weights: 'droptail' does not share by weight; remove weights, "
        "or use one of scfq, wfq, wf2q, fq, drr"
    ]


def test_a_change_meant_for_all_flows_is_none(raw: Raw) -> None:
    raw["flows"].append({"app": {"kind": "cbr", "rate": "1 Mbit/s"}})
    assert load(raw, set=["cc=reno"]).points[0].warnings == ()
    raw["flows"][1]["cc"] = "reno"
    assert len(load(raw).points[0].warnings) == 1


OF_ENGINES = {"kernel": "linux-6.12", "wall_limit": "5 min", "pin": 0, "allow_late": True, "offload": True, "ip": 6}


@pytest.mark.parametrize("key", OF_ENGINES)
def test_a_key_that_another_engine_knows(raw: Raw, key: str) -> None:
    plain = load(raw).points[0].warnings
    raw["run"][key] = OF_ENGINES[key]
    [line] = load(raw).points[0].warnings
    assert line.startswith(f"run.{key}: engine sim takes no notice of it; choose engine kernel")
    # Whoever chose the simulator for a file that was made for another engine knows it.
    assert load(raw, set=["run.engine=sim"]).points[0].warnings == plain == ()
    # Whoever gives both together means something by it.
    assert load(raw, set={f"run.{key}": OF_ENGINES[key], "run.engine": "sim"}).points[0].warnings == (line,)
    assert played_by(load(raw), "kernel").points[0].warnings == (), (
        "it is for the engine that plays, if that is another"
    )


def test_kernels_that_nobody_plays_on_and_a_key_that_is_there_for_another_point(raw: Raw) -> None:
    raw["run"]["kernel"] = ["a", "b"]
    for warnings in warned(raw):
        assert warnings[0].startswith("run.kernel: engine sim takes no notice of it; choose engine kernel-vt")
        assert warnings[1].startswith("run.kernel: none of its values makes a difference")
    raw["run"] |= {"kernel": "a", "engine": ["sim", "kernel"]}
    assert all(line[0].startswith("run.kernel: engine ") for line in warned(raw))
    raw["run"] |= {"pin": 0}
    assert not any("run.pin" in line for warnings in warned(raw) for line in warnings)


@pytest.mark.parametrize("key", ["cc", "flows.0.cc"])
def test_an_agent_that_is_not_there_is_missed_wherever_it_was_named(raw: Raw, key: str) -> None:
    (warning,) = load(raw, set={key: "external"}).points[0].warnings
    assert warning.startswith("flows.0.cc: nobody decides in a plain run")
    assert warning in ackclock.run(raw, set={key: "external"}, replications=1, jobs=1).warnings


@pytest.mark.parametrize("profile", catalogue().profiles)
def test_a_reader_that_is_warned_of_hardly_slows_its_sender(raw: Raw, profile: str) -> None:
    raw["flows"] = [{"profile": profile, "tcp": {"receive_buffer": "8 MB"}}]
    usual = ackclock.run(raw, replications=1, jobs=1)
    raw["flows"][0]["app"] = {"kind": "bulk", "read": "1 Mbit/s"}
    slow = ackclock.run(raw, replications=1, jobs=1)
    assert any(line.startswith("flows.0.app.read: ") for line in slow.warnings)
    # Linux enlarges its window with what is read: at first it is in the way all the same.
    within = 0.01 if profile == "linux" else 0
    assert slow.flows["goodput_bytes"].item() == pytest.approx(usual.flows["goodput_bytes"].item(), rel=within)
    raw["flows"][0]["tcp"] = {"receive_buffer": "64 kB"}
    slow = ackclock.run(raw, replications=1, jobs=1)
    assert slow.warnings == []
    assert slow.flows["goodput_bytes"].item() < 0.5 * usual.flows["goodput_bytes"].item()


def test_a_scenario_made_of_objects_has_no_keys_that_were_not_given(raw: Raw) -> None:
    raw["flows"] = [{"app": {"kind": "cbr", "rate": "1 Mbit/s"}}]
    assert load(load(raw).points[0].scenario).points[0].warnings == ()


def served(kind: str, weights: list[float]) -> list[float]:
    """What two sources, each as fast as the link, get of it with these weights of their classes."""
    app = {"kind": "cbr", "rate": "10 Mbit/s", "phase": "0 s"}
    result = ackclock.run(
        {
            "topology": {
                "kind": "dumbbell",
                "rate": "10 Mbit/s",
                "rtt": "1 ms",
                "queue": {"kind": kind, "limit": "20 packets", "weights": weights},
            },
            "flows": [{"app": app}, {"app": app, "class": 1}],
            "run": {"duration": "1 s"},
        },
        jobs=1,
    )
    return result.flows["goodput_bps"].to_list()


@pytest.mark.parametrize("kind", catalogue().queues)
def test_who_shares_by_weight(kind: str) -> None:
    assert (served(kind, [1.0, 1.0]) != served(kind, [1.0, 3.0])) == (kind in WEIGHTED)


def warned(raw: Raw) -> list[tuple[str, ...]]:
    """The warnings of each point."""
    return [point.warnings for point in load(raw).points]


def test_a_swept_key_that_changes_nothing(raw: Raw) -> None:
    raw["topology"] |= {"rtt": ["10 ms", "20 ms"], "queue": {"limit": "20 packets"}}
    raw["flows"] = [{"rtt": "30 ms", "cc": ["reno", "cubic"]}]
    text = "topology.rtt: none of its values makes a difference to any run; leave it out, or set what it acts on"
    assert warned(raw) == [(text,)] * 4
    raw["flows"] = [{"cc": ["reno", "cubic"]}]
    assert warned(raw) == [()] * 4


def test_points_that_are_the_same_run(raw: Raw) -> None:
    raw["topology"]["rtt"] = ["10 ms", "20 ms", "0.02 s"]
    assert warned(raw) == [
        (),
        (),
        ("the same run as point 1: topology.rtt makes no difference there; leave one of them out",),
    ]
    raw["topology"]["rtt"] = "10 ms"
    raw["flows"][0]["cc"] = ["reno", "cubic", "reno", "reno"]
    assert warned(raw)[2] == (
        "the same run as point 0: it has the same values (and 1 more such points); leave one of them out",
    )


def test_other_seeds_are_other_runs(raw: Raw) -> None:
    raw["run"]["seed"] = [1, 2, 3]
    assert warned(raw) == [()] * 3


BIG = 'app = { kind = "cbr", rate = "1 Mbit/s", packet = "4 kB" }'


@pytest.mark.parametrize(
    ("keys", "key", "room"),
    [
        (f'{QUEUE}\npolicer = {{ rate = "1 Mbit/s", burst = "2 kB" }}', "policer.burst", 2000),
        (f'{QUEUE}\nshaper = {{ rate = "1 Mbit/s", burst = "4027 B" }}', "shaper.burst", 4027),
        ('queue = "3 kB"', "queue", 3000),
    ],
)
def test_datagrams_that_never_pass_are_refused(scenario_file: Write, keys: str, key: str, room: int) -> None:
    path = scenario_file((QUEUE, keys), ("[[flows]]", f"[[flows]]\n{BIG}\n[[flows]]"))
    with pytest.raises(InputError) as caught:
        load(path)
    words = f"topology.{key}: {room} B never hold a datagram of 4028 B, as flows.0 sends them (line "
    assert words in str(caught.value)
    assert str(caught.value).endswith('; give at least "4028 B"')


def test_what_does_not_cross_a_bucket_need_not_fit(raw: Raw) -> None:
    hop = {"rate": "10 Mbit/s", "delay": "1 ms"}
    raw["topology"] = {
        "kind": "parking-lot",
        "hops": [hop, hop | {"policer": {"rate": "1 Mbit/s", "burst": "2 kB"}}],
    }
    raw["flows"] = [{"over": 1}, {"over": 0, "app": {"kind": "cbr", "rate": "1 Mbit/s", "packet": "4 kB"}}]
    load(raw)
    raw["flows"][1]["over"] = 1
    with pytest.raises(InputError, match=r"topology\.hops\.1\.policer\.burst: 2000 B never hold a datagram of 4028 B"):
        load(raw)


def section(name: str) -> str:
    """What `docs/controllers.md` says of a controller."""
    text = (Path(__file__).parents[2] / "docs" / "controllers.md").read_text(encoding="utf-8")
    return text.partition(f"\n## `{name}`\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("profile", [None, "linux", "rfc", "ns3", "ns2"])
@pytest.mark.parametrize("cc", catalogue().controllers)
def test_a_profile_that_distorts_a_controller_is_warned_of(raw: Raw, cc: str, profile: str | None) -> None:
    """As `docs/controllers.md` says: who keeps the window through losses needs more than counts of duplicates."""
    raw["flows"][0] = {"cc": cc} | ({} if profile is None else {"profile": profile})
    of_profile = [line for line in load(raw).points[0].warnings if line.startswith("flows.0.profile")]
    documented = "A sender that does not reduce its window on loss meets that often" in section(cc)
    rack = profile in (None, "linux") or (profile == "rfc" and cc in ("bbr1", "bbr3"))
    assert bool(of_profile) == (documented and not rack)
    assert all("rack" in line and "linux" in line for line in of_profile)


@pytest.mark.parametrize(
    ("cc", "rest", "warned"),
    [
        ("bbr1", {"profile": "rfc"}, True),
        ("bbr1", {"profile": "rfc", "tcp": {"app_limited": "write"}}, False),
        ("bbr1", {"profile": "linux"}, False),
        ("bbr3", {"profile": "rfc"}, False),
        ("cubic", {"profile": "rfc"}, False),
    ],
)
def test_a_profile_that_keeps_bbr_in_start_up_is_warned_of(raw: Raw, cc: str, rest: Raw, *, warned: bool) -> None:
    raw["flows"][0] = {"cc": cc, "app": {"kind": "request-response", "response": "300 kB"}} | rest
    lines = [line for line in load(raw).points[0].warnings if line.startswith("flows.0.profile")]
    assert bool(lines) == warned
    assert all("app_limited" in line and "linux" in line for line in lines)


def test_who_names_no_profile_gets_linux(raw: Raw) -> None:
    assert [flow["profile"] for flow in ackclock.run(raw, jobs=1).resolved()["flows"]] == ["linux"]


def with_relays(raw: Raw, *names: str) -> Raw:
    """Over two hops, with relays between them."""
    hop = {"rate": "10 Mbit/s", "delay": "5 ms", "queue": {"limit": "50 packets"}}
    raw["topology"] = {"kind": "chain", "hops": [hop, hop]}
    raw["relays"] = [{"name": name, "position": 1} for name in names]
    return raw


def test_a_relay_that_no_flow_has(raw: Raw) -> None:
    with_relays(raw, "pep", "other")
    raw["flows"][0]["relay"] = "other"
    (line,) = load(raw).points[0].warnings
    assert line == 'relays.0: no flow has it, and it splits nothing; write relay = "pep" in a flow, or remove it'
    raw["relays"][0]["position"] = 99  # which is not on the way of anybody
    assert load(raw).points[0].warnings == (line,)
    assert line in ackclock.run(raw, jobs=1).warnings


def test_a_relay_that_a_point_of_a_sweep_has_is_one_in_all_of_them(raw: Raw) -> None:
    with_relays(raw, "pep", "other")
    raw["flows"][0]["relay"] = ["none", "pep"]
    for point in load(raw).points:
        assert [line.partition(":")[0] for line in point.warnings] == ["relays.1"]
    raw["flows"].append({"relay": "other"})
    assert {point.warnings for point in load(raw).points} == {()}


@pytest.mark.parametrize("change", ["relay=none", "flows.0.relay=none"])
def test_a_relay_that_a_change_leaves_out_on_purpose(raw: Raw, change: str) -> None:
    with_relays(raw, "pep")
    raw["flows"][0]["relay"] = "pep"
    assert load(raw, set=[change]).points[0].warnings == ()
