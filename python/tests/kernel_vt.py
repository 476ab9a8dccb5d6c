"""Runs on a kernel in virtual time: make test-kernel-vt. Without such a kernel they fail, and say so.

They are no part of make test, for a kernel takes minutes to build; what such runs gave is compared there.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
import guides
import split_runs
import virtual_time
from ackclock.cli.app import main
from ackclock.errors import EngineError, InputError
from ackclock.virtual import guest, kept
from studies import write_study
from virtual_kernels import able as able  # a fixture of the module

PATH: dict[str, Any] = {
    "kind": "dumbbell",
    "rate": "10 Mbit/s",
    "rtt": "40 ms",
    "link_overhead": "14 B",
    "queue": {"kind": "droptail", "limit": "33 packets"},
}


ALL = kept.folder()
"""Where the kernels of this computer are."""


def scenario(*flows: dict[str, Any], **run: Any) -> dict[str, Any]:
    more = {"duration": "10 s", "engine": "kernel-vt"} | run
    return {"topology": PATH, "flows": list(flows or ({"cc": "reno"},)), "run": more}


def tables(result: ackclock.Result) -> list[bytes]:
    return [table.write_csv().encode() for table in result.tables.values() if table.width]


@pytest.mark.parametrize(
    ("cc", "mbit", "repeated"),
    [pytest.param("reno", 9.5304, 110, marks=pytest.mark.smoke), ("cubic", 9.547, 27), ("bbr1", 9.367, 72)],
)
def test_a_minute_is_that_of_a_kernel_on_the_same_path(cc: str, mbit: float, repeated: int) -> None:
    """Figures of Linux 6.12 endpoints over netem with a clock of 256 ns, made apart from this engine."""
    result = ackclock.run(scenario({"cc": cc}, duration="60 s"))
    flow = result.flows.row(0, named=True)
    assert flow["goodput_bps"] == pytest.approx(mbit * 1e6, rel=3e-4)
    assert flow["retransmitted_segments"] == repeated
    (run,) = result.manifest["runs"]
    emulation = run["emulation"]
    assert emulation["virtual"]["name"] == kept.named(None).name
    late = dict(emulation["links"])["bottleneck"]
    assert late["p99_s"] <= 1e-6
    assert late["worst_s"] <= 1e-6
    assert emulation["valid"]
    assert not emulation["problems"]


AGAIN: list[virtual_time.Cell] = [
    *((path, cc) for path in ("slow", "ecn", "files") for cc in ("reno", "cubic", "bbr1")),
    ("two-hop", "bbr1"),
]
"""Of every kind of path some: marks, files that arrive at random, two bottlenecks."""


@pytest.mark.parametrize("cell", AGAIN)
def test_what_was_recorded_is_played_again(cell: virtual_time.Cell) -> None:
    """Nearly, as the record is of another computer; that one computer repeats itself to the byte is tested below.

    What another version of Linux, of the program within or of the path changes is recorded anew: the record is what the
    simulator is compared with wherever no kernel is built (conformance/test_virtual_time.py).
    """
    of, here = json.loads(virtual_time.RECORD.read_text(encoding="utf-8"))["kernel"], kept.named(None)
    played, known = virtual_time.figures(virtual_time.on_the_kernel(cell)), virtual_time.recorded()[cell]
    apart = f"recorded of {of['linux']}, played on {here.version}: python conformance/virtual_time.py --record"
    assert played.flows == pytest.approx(known.flows, rel=0.001), apart
    # On a second host slow, bbr1 is 0.062 packets of 6.11 away from the record; why is not known.
    assert played.mean_queue == pytest.approx(known.mean_queue, rel=0.01, abs=0.1), apart
    assert (played.retransmitted, played.drops) == pytest.approx((known.retransmitted, known.drops), rel=0.05), apart
    assert played.marks == pytest.approx(known.marks, rel=0.2), apart


def test_how_long_a_guest_takes_to_be_ready_moves_nothing() -> None:
    """Flows that begin in the last moment are hosts to be made before the run; of packets they have one each."""
    asked = virtual_time.scenario(("ecn", "cubic"))
    asked["run"] |= {"engine": "kernel-vt", "duration": "10 s"}
    late = {"cc": "cubic", "start": "9999.999 ms"}
    alone, beside = (ackclock.run(asked | {"flows": [*asked["flows"], *[late] * more]}) for more in (0, 3))
    assert alone.flows["goodput_bps"][0] == beside.flows["goodput_bps"][0]
    queues = [virtual_time.figures(result).mean_queue for result in (alone, beside)]
    assert queues[0] == pytest.approx(queues[1], abs=1e-6)


def test_the_same_run_gives_the_same_bytes_also_under_load() -> None:
    alone = [tables(ackclock.run(scenario({"cc": "cubic"}, {"cc": "bbr1"}))) for _ in range(3)]
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        loaded = tables(ackclock.run(scenario({"cc": "cubic"}, {"cc": "bbr1"})))
    finally:
        for process in load:
            process.kill()
            process.wait()
    assert alone[0] == alone[1] == alone[2] == loaded


def test_replications_have_seeds_of_their_own_and_come_in_parallel() -> None:
    noisy = scenario({"cc": "reno"}, replications=3, duration="4 s")
    noisy["topology"] = PATH | {"loss": 0.01}
    one, two = ackclock.run(noisy, jobs=1), ackclock.run(noisy, jobs=2)
    assert tables(one) == tables(two)
    seeds = [run["emulation"]["virtual"]["seed"] for run in one.manifest["runs"]]
    assert len(set(seeds)) == 3
    assert one.flows["goodput_bytes"].n_unique() == 3


def test_what_its_sender_says_over_time_is_what_a_simulated_one_does() -> None:
    names = ("unacked", "acknowledged", "in_flight", "lost", "ca_state", "delivered", "sent", "retransmitted")
    probes = dict.fromkeys(names, "10 ms")
    found = [
        ackclock.run(scenario({"cc": "reno"}, engine=engine) | {"probes": probes})
        .series.with_columns(pl.col("time_s").round(2))
        .pivot(on="metric", index="time_s", values="value")
        for engine in ("kernel-vt", "sim")
    ]
    both = found[0].join(found[1], on="time_s", suffix=" simulated")
    assert both.height == 1000
    for name in names:
        apart = (both[name] - both[f"{name} simulated"]).abs()
        # A timer of the other end may come a moment later.
        assert (apart == 0).mean() > 0.99, name
        assert apart.max() <= 1448, name
    assert both["lost"].max() > 30 * 1448
    reported = both["acknowledged"] + both["unacked"] - (both["sent"] - both["retransmitted"])
    assert reported.min() == 0
    assert reported.max() > 30 * 1448
    short = scenario({"cc": "reno", "bytes": "1 MB"}, duration="3 s") | {"probes": {"acknowledged": "100 ms"}}
    assert ackclock.run(short).series["value"][-1] == 1_000_000


def test_engines_are_compared_and_what_was_played_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "small.toml", tmp_path / "out"
    file.write_text(
        '[topology]\nkind = "dumbbell"\nrate = "5 Mbit/s"\nrtt = "20 ms"\n'
        'queue = { kind = "droptail", limit = "2 BDP" }\n[[flows]]\ncc = "reno"\n[run]\nduration = "8 s"\n'
    )
    command = ["agree", str(file), "--engines", "sim,kernel-vt", "--out", str(out), "--replications", "2", "--json"]
    assert main(command) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["agrees"]
    assert [engine["name"] for engine in answer["engines"]] == ["sim", "kernel-vt"]
    journal = out / "kernel-vt" / "runs.journal"
    before, pages = journal.read_bytes(), tables(ackclock.Result.load(out / "kernel-vt"))
    assert main(command) == 0
    assert journal.read_bytes() == before, "played again although it was there"
    # As what was ended while it wrote the second run.
    journal.write_bytes(before[:-100])
    assert main(command) == 0
    assert journal.read_bytes() != before[:-100]
    assert tables(ackclock.Result.load(out / "kernel-vt")) == pages


def test_kernels_are_swept_in_one_run_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same program under another name and digest: nothing may differ but who is said to have played."""
    found = kept.named(None)
    image, place = found.image, tmp_path / "kernels"
    place.mkdir()
    (place / found.name).symlink_to(image.parent)
    monkeypatch.setenv("ACKCLOCK_KERNELS", str(place))
    kept.keep(dataclasses.replace(found, name="other", digest="2" * 64), image, image.parent / "config")
    file, out = tmp_path / "both.toml", tmp_path / "out"
    file.write_text(
        '[topology]\nkind = "dumbbell"\nrate = "5 Mbit/s"\nrtt = "20 ms"\nqueue = "1 BDP"\n'
        '[[flows]]\ncc = "cubic"\nstart = { uniform = ["0 s", "1 s"] }\n'
        f'[run]\nduration = "4 s"\nreplications = 2\nengine = "kernel-vt"\nkernel = ["{found.name}", "other"]\n'
    )
    assert main(["run", str(file), "--out", str(out)]) == 0
    runs = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["runs"]
    assert [run["emulation"]["virtual"]["name"] for run in runs] == [found.name] * 2 + ["other"] * 2
    capsys.readouterr()
    assert main(["compare", str(out), "--by", "kernel", "--metric", "goodput_bps", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (row,) = answer["rows"]
    assert (row["n"], row["paired"]) == (2, True)
    assert row["mean_a"] == row["mean_b"]
    assert not [note for note in answer["notes"] if "differ" in note], "who plays is what is compared"


def test_as_many_flows_as_a_run_may_have() -> None:
    """Two hosts each, and of bulk sources that fill their buffers."""
    played = ackclock.run(scenario({"cc": "cubic", "count": 500}, duration="1 s"))
    assert played.runs["valid"].to_list() == [True]
    assert played.flows.height == 500


def test_version_6_and_what_a_kernel_has_not() -> None:
    six = ackclock.run(scenario(ip=6, duration="4 s"))
    assert six.flows["goodput_bps"][0] > 9e6
    assert six.manifest["runs"][0]["emulation"]["ip"] == 6
    with pytest.raises(InputError, match=r"the kernel here.* has no controller 'copa'"):
        ackclock.run(scenario({"cc": "copa"}))


ESCAPE = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
    int done;
    mkdir("/out", 0700);
    done = mount("none", "/out", "hostfs", 0, "/../../../../../../../..");
    FILE *tried = fopen("/tried", "w");
    fprintf(tried, "mount %d\n", done);
    int file = open("/outMARK", O_WRONLY | O_CREAT, 0600);
    fprintf(tried, "open %d\n", file < 0 ? -1 : 0);
    if (file >= 0)
        fprintf(tried, "write %zd\n", write(file, "guest\n", 6));
    fclose(tried);
    sync();
    reboot(RB_POWER_OFF);
    return 0;
}
"""
"""A first process that has the whole file system mounted again, above its root, and writes to the file MARK there."""


@pytest.mark.parametrize("shut_in", [True, False])
def test_root_of_a_guest_cannot_change_anything_outside(shut_in: bool, tmp_path: Path) -> None:
    """Begun without being shut in, the same guest does write there: the attempt is one."""
    mark, folder = tmp_path / "mark", tmp_path / "guest"
    mark.touch()
    folder.mkdir()
    guest.furnish(folder, kept.named(None), "{}")
    (tmp_path / "escape.c").write_text(ESCAPE.replace("MARK", str(mark)), encoding="utf-8")
    subprocess.run(["gcc", "-static", "-o", folder / "init", tmp_path / "escape.c"], check=True)
    if shut_in:
        guest.boot(folder, None, guest.command_line(1), 60)
    else:
        environment = {"PATH": os.environ["PATH"], "TMPDIR": "/dev/shm"}
        command = [str(folder / "linux"), *guest.command_line(1)]
        subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    tried = (folder / "tried").read_text(encoding="utf-8").split()
    assert tried[:2] == ["mount", "0"]
    if shut_in:
        assert tried[2:] == ["open", "-1"]
        assert mark.read_bytes() == b""
    else:
        assert tried[2:] == ["open", "0", "write", "6"]
        assert mark.read_bytes() == b"guest\n"


def test_nothing_is_left_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = ackclock.run(scenario(duration="1 s"))
    assert result.manifest["runs"][0]["emulation"]["virtual"]["shut_in"]
    assert [entry.name for entry in tmp_path.iterdir()] == [f"ackclock-processors-{os.getuid()}"]
    # Another guest that begins just now has one, too, for a moment.
    until(lambda: not list(Path("/dev/shm").glob("vm_file-*")), "what User-Mode Linux calls its memory")


FORBIDDEN = 'echo 0 > /proc/sys/user/max_mnt_namespaces && exec "$@"'
"""Of a shell in a namespace of users: no file system of its own for anybody in there."""


def test_where_namespaces_are_forbidden_runs_are_the_same_and_say_so(tmp_path: Path) -> None:
    asked = scenario({"cc": "cubic"}, duration="3 s")
    result = ackclock.run(asked)
    script = tmp_path / "run.py"
    script.write_text(
        f"import ackclock\nresult = ackclock.run({asked!r})\nresult.flows.write_csv({str(tmp_path / 'flows')!r})\n"
        "print(result.manifest['runs'][0]['emulation']['virtual']['shut_in'])\n",
        encoding="utf-8",
    )
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", FORBIDDEN, "sh", sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    assert (tmp_path / "flows").read_bytes() == result.flows.write_csv().encode()


def guests(seed: int) -> set[int]:
    """The processes of the guests that play the first run of scenarios with this seed."""
    number, found = f"umseed={guest.seed({'seed': seed, 'run': 0})}".encode(), set()
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if number in process.read_bytes().split(b"\0"):
                found.add(int(process.parent.name))
        except OSError:  # it has ended
            continue
    return found


def leads(process: int) -> bool:
    """Whether this process leads its session, as a guest's first does; one that has ended meanwhile does not."""
    try:
        return os.getsid(process) == process
    except ProcessLookupError:
        return False


def until(condition: Any, what: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def test_a_run_that_takes_too_long_is_ended_with_all_that_belongs_to_it() -> None:
    seed = secrets.randbits(31)
    with pytest.raises(EngineError, match=r"the run did not end within 1 s; .*run\.wall_limit"):
        ackclock.run(scenario(duration="10000 s", wall_limit="1 s", seed=seed))
    until(lambda: not guests(seed), "processes of the guest are there")


@pytest.mark.parametrize("number", range(10))
def test_nothing_is_left_when_it_is_killed(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever began it at five moments, as it begins or while the guest is there, and the guest's kernel at five."""
    draws, by_itself, beginning = random.Random(number), number % 2 == 0, number % 4 == 0
    seed, place = secrets.randbits(31), tmp_path / "place"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    script = tmp_path / "run.py"
    script.write_text(f"import ackclock\nackclock.run({scenario(duration='10000 s', seed=seed)!r})\n", encoding="utf-8")
    process = subprocess.Popen([sys.executable, str(script)], stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        if not beginning:
            until(lambda: len(guests(seed)) > 1, "the guest has not begun")
        leaders = [each for each in guests(seed) if leads(each)]
        kill, victim = (os.killpg, process.pid) if by_itself else (os.kill, leaders[0])
        threading.Timer(draws.uniform(0, 2), kill, (victim, signal.SIGKILL)).start()
        assert process.wait(60) != 0
        until(lambda: not guests(seed), "processes of the guest are there")
    finally:
        process.kill()
        process.wait()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    left = len(list(place.glob("ackclock-guest-*")))
    assert left <= 1 if beginning else left == (1 if by_itself else 0)
    ackclock.run(scenario(duration="1 s"))
    assert not list(place.glob("ackclock-guest-*")), "the next run removes what nobody could"


def test_a_real_proxy_gains_what_a_simulated_relay_does_and_the_same_each_time() -> None:
    """Window and slow start of split-tcp.toml, with a relay that opens as programs do.

    To the millisecond, but for a short file through the program, which takes 9 ms of 372 more: why is not known.
    """
    path = Path(__file__).parents[2] / "scenarios" / "split-tcp.toml"
    changes = {"app.size": ["100 kB", "5 MB"], "run.duration": "6 s", "relays.0.opening": "accepted"}
    kernel, again = (ackclock.run(path, set=changes | {"run.engine": "kernel-vt"}, jobs=jobs) for jobs in (1, 2))
    assert tables(kernel) == tables(again)
    model = ackclock.run(path, set=changes)
    seconds = [dict(zip(each.transfers.select("relay", "app.size").iter_rows(), each.transfers["fct_s"], strict=True))
               for each in (model, kernel)]  # fmt: skip
    short = ("pep", "100 kB")
    assert seconds[1].pop(short) == pytest.approx(seconds[0].pop(short), abs=0.01)
    assert seconds[1] == pytest.approx(seconds[0], abs=0.001)
    assert kernel.warnings == model.warnings
    assert kernel.legs["completed"].all()


def test_the_study_of_split_tcp_has_the_rates_that_were_recorded(tmp_path: Path, capsys: Any) -> None:
    """Of a copy with few runs: the record is of Linux 6.12.117 (conformance/split_kernel.py)."""
    place, out = split_runs.small(tmp_path), tmp_path / "out"
    assert main(["study", "run", str(place), "--quick", "--engine", "kernel-vt", "--out", str(out)]) == 1
    said = capsys.readouterr().err
    assert "kernel-vt: 138 runs of lte, hspa, mean, outages without a result: measured by captures" in said
    assert "kernel-vt: 2 runs of modern without a result: flows.0.cc: the kernel here" in said
    rows = pl.read_csv(out / "tables" / "modern.csv").drop_nulls("value")
    assert rows["row"].to_list() == [f"S1, 1 MB, 25 Mbit/s, cubic, {relay}" for relay in ("none", "pep")]
    assert rows["value"].to_list() == pytest.approx(rows["Linux"].to_list(), rel=1e-3)


@pytest.mark.parametrize("page", guides.KERNELS, ids=lambda page: page.stem)
def test_every_block_of_a_page_runs_and_shows_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACKCLOCK_KERNELS", str(ALL))  # it names its own, and need not compile them again
    assert guides.check(page, tmp_path) >= 3


def test_of_a_study_what_a_kernel_has_is_played_and_the_rest_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_study(tmp_path)
    scenario_file = folder / "one.toml"
    text = scenario_file.read_text().replace('["reno", "cubic"]', '["reno", "cubic", "fast"]')
    scenario_file.write_text(text.replace("replications = 3", "replications = 2"))
    out = tmp_path / "out"
    name = kept.named(None).name
    command = ["study", "run", str(folder), "--quick", "--engine", "kernel-vt", "--kernel", name]
    assert main([*command, "--out", str(out), "--json"]) == 1
    shown = capsys.readouterr()
    lines = [line for line in shown.err.splitlines() if "kernel-vt: 2 runs of one without a result: flows.0.cc" in line]
    assert len(lines) == 1
    assert "has no controller 'fast', but reno" in lines[0]
    assert {failure["params"]["cc"] for failure in json.loads(shown.out)["failed"]} == {"fast"}
    manifest = json.loads((out / "runs" / "one" / "manifest.json").read_text())
    assert [run["emulation"]["valid"] for run in manifest["runs"]] == [True] * 4
    assert {run["emulation"]["virtual"]["name"] for run in manifest["runs"]} == {name}
