"""Kernels for virtual time without one: what is built of what, what they are called, what is said where one is missing.

What needs such a kernel is in kernel_vt.py (make test-kernel-vt); what such runs have given is compared with the
simulator in conformance/test_virtual_time.py.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import kernel
from ackclock.cli.app import main
from ackclock.errors import EngineError, InputError
from ackclock.virtual import build, guest, kept, patches, sources
from ackclock.virtual.kept import Kernel

RUN: dict[str, Any] = {
    "topology": {
        "kind": "dumbbell",
        "rate": "1 Mbit/s",
        "rtt": "9 ms",
        "queue": {"kind": "droptail", "limit": "9 packets"},
    },
    "flows": [{"cc": "reno"}],
    "run": {"duration": "1 s", "engine": "kernel-vt"},
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACKCLOCK_KERNELS", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


BETA = """--- a/net/ipv4/tcp_cubic.c
+++ b/net/ipv4/tcp_cubic.c
@@ -1 +1 @@
-static int beta = 717;
+static int beta = 900;
"""


def tree(folder: Path) -> Path:
    """What looks like sources of Linux to who reads only a little of them."""
    for path, text in {
        "Makefile": "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 99\n",
        "Kbuild": "",
        "arch/um/kernel/time.c": "int a;\n",
        "arch/arm/kernel/time.c": "int b;\n",
        "arch/arm/Kconfig": "config ARM\n",
        "drivers/gpu/big.c": "int c;\n",
        "net/ipv4/tcp_cubic.c": "static int beta = 717;\n",
        "net/ipv4/tcp_cubic.o": "built",
        ".git/HEAD": "ref",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def one(name: str, created: float = 1.0, digest: str = "0" * 64) -> Kernel:
    return Kernel(name, "6.12.1", digest, "linux", "gcc", "1" * 64, created, 1.0)


def kept_kernel(tmp_path: Path, kernel: Kernel) -> None:
    (tmp_path / "image").write_bytes(b"\x7fELF")
    (tmp_path / "config").write_text("CONFIG_HZ=1000\n", encoding="utf-8")
    kept.keep(kernel, tmp_path / "image", tmp_path / "config")


def test_the_newest_kernel_is_meant_where_none_is_named(tmp_path: Path) -> None:
    for name, created in (("a", 1.0), ("b", 3.0), ("c", 2.0)):
        kept_kernel(tmp_path, one(name, created))
    assert [kernel.name for kernel in kept.all_of_them()] == ["b", "c", "a"]
    assert kept.named(None).name == "b"
    assert kept.named("a").image.read_bytes() == b"\x7fELF"
    assert kept.remove("b").name == "b"
    assert kept.named(None).name == "c"
    with pytest.raises(
        InputError, match=re.escape("no kernel 'b' is built for engine kernel-vt; there is c, a; or: ackclock kernel b")
    ):
        kept.named("b")
    with pytest.raises(InputError, match=r"no kernel '\.\./b' is built for engine kernel-vt; there is c, a$"):
        kept.named("../b")  # which none could be called


def test_where_kernels_differ_one_has_to_be_named(tmp_path: Path) -> None:
    kept_kernel(tmp_path, one("original"))
    kept_kernel(tmp_path, one("patched", created=2.0, digest="2" * 64))
    with pytest.raises(
        InputError, match=r"several kernels are built .* \(patched, original\); say which: --kernel original"
    ):
        kept.named(None)
    assert kept.named("patched").digest == "2" * 64


def test_a_kernel_replaces_one_of_its_name_and_a_broken_one_counts_as_none(tmp_path: Path, place: Path) -> None:
    kept_kernel(tmp_path, one("a", digest="2" * 64))
    kept_kernel(tmp_path, one("a", digest="3" * 64))
    assert [kernel.digest for kernel in kept.all_of_them()] == ["3" * 64]
    (place / "a" / kept.RECORD).write_text("{}", encoding="utf-8")
    assert kept.all_of_them() == []


@pytest.mark.parametrize("name", ["", "../a", ".a", "a/b", "a b", "x" * 65])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(InputError, match="is no name for a kernel"):
        kept.checked(name)


def test_a_scenario_without_its_kernel_gets_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        InputError, match=r"run\.engine: no kernel is built for engine kernel-vt; build one with: ackclock kernel b"
    ):
        ackclock.run(RUN)
    file = tmp_path / "a.toml"
    path = 'rate = "1 Mbit/s"\nrtt = "9 ms"\nqueue = { kind = "droptail", limit = "9 packets" }\n'
    text = f'[topology]\nkind = "dumbbell"\n{path}[[flows]]\ncc = "reno"\n[run]\nduration = "1 s"\n'
    file.write_text(f'{text}engine = "kernel-vt"\n', encoding="utf-8")
    for command in ("run", "show", "sweep"):
        assert main([command, str(file)]) == 2, "nothing was played"
        (said,) = capsys.readouterr().err.splitlines()
        assert said.startswith(
            f"ackclock: {file}: run.engine: no kernel is built for engine kernel-vt (line 10); build one with: "
        )
    file.write_text(text, encoding="utf-8")
    kept_kernel(tmp_path, one("a"))
    assert main(["run", str(file), "--engine", "kernel-vt", "--kernel", "mine"]) == 2
    said = capsys.readouterr().err
    assert "no kernel 'mine' is built for engine kernel-vt; there is a; or: ackclock kernel build --name mine" in said
    assert said.count("\n") == 1


def test_where_no_guest_can_begin_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept_kernel(tmp_path, one("a"))
    monkeypatch.setattr(guest, "unable", lambda: "ptrace is not allowed; give the container the right to trace")
    with pytest.raises(InputError, match=r"run\.engine: ptrace is not allowed; give the container the right to trace"):
        ackclock.run(RUN)

    def missing() -> str:
        raise EngineError("engine kernel: its program ackclock-emu is not there; make build")

    monkeypatch.setattr(guest, "unable", lambda: None)
    monkeypatch.setattr(kernel, "program", missing)
    with pytest.raises(InputError, match=r"run\.engine: its program ackclock-emu is not there; make build"):
        ackclock.run(RUN)


def test_a_kernel_that_is_gone_by_then_fails_its_run(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="engine kernel-vt: no kernel is built for engine kernel-vt; build one with"):
        guest.asked_for({"engine": {"kernel": ["a", "0" * 64]}})


def test_what_a_build_lacks_is_said_with_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    lines = build.missing()
    assert len(lines) == len(build.TOOLS)
    assert "flex is missing: apt-get install flex" in lines
    assert "ld is missing: apt-get install binutils" in lines
    with pytest.raises(InputError, match="a kernel cannot be built here; gcc is missing: apt-get install gcc; make"):
        build.build(build.Request(source=tree(tmp_path / "linux")), lambda _: None)


@pytest.mark.parametrize("lacking", ["no tracing here", "the guest ended without results", None])
def test_a_kernel_that_is_built_is_asked_what_it_has(
    lacking: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that scenarios are refused when they are read; one that cannot be started here is built all the same."""
    asked: list[str] = []

    def facts(kernel: Kernel) -> dict[str, Any]:
        asked.append(kernel.name)
        if lacking is not None:
            raise EngineError(lacking)
        return {}

    monkeypatch.setattr(build, "build", lambda *_: (one("a"), True))
    monkeypatch.setattr(guest, "unable", lambda: lacking if lacking and "here" in lacking else None)
    monkeypatch.setattr(guest, "facts", facts)
    assert main(["kernel", "build"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("kernel a: Linux 6.12.1, built in 1 s")
    assert asked == ([] if lacking and "here" in lacking else ["a"])
    assert (f"ackclock: it is built, and was not started here: {lacking}" in said.err) == (lacking is not None)


def test_what_are_no_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "missing", list)
    for request, said in (
        (build.Request(source=tmp_path), "no sources of Linux are there"),
        (
            build.Request(package="linux-source-1.2.3"),
            "the package linux-source-1.2.3 is not installed; apt-get install",
        ),
        (build.Request(package="../etc"), "'../etc' is no package of sources"),
        (build.Request(source=tmp_path, package="linux-source-6.12"), "give one of them"),
    ):
        with pytest.raises(InputError, match=re.escape(said)):
            build.build(request, lambda _: None)


def test_what_a_kernel_is_made_of(tmp_path: Path) -> None:
    linux = tree(tmp_path / "linux")
    assert sources.version(linux) == "6.12.99"
    assert list(sources.files(linux)) == [
        "Kbuild",
        "Makefile",
        "arch/arm/Kconfig",
        "arch/um/kernel/time.c",
        "net/ipv4/tcp_cubic.c",
    ]
    before = sources.together(sources.digests(linux))
    (linux / "arch/arm/kernel/time.c").write_text("int changed;", encoding="utf-8")
    assert sources.together(sources.digests(linux)) == before, "it is no part of it"
    (linux / "net/ipv4/tcp_cubic.c").write_text("static int beta = 900;\n", encoding="utf-8")
    assert sources.together(sources.digests(linux)) != before


def test_a_copy_follows_the_sources_and_touches_nothing_else(tmp_path: Path) -> None:
    linux, copy = tree(tmp_path / "linux"), tmp_path / "work" / "source"
    copy.parent.mkdir()
    patched = {"arch/um/kernel/time.c"}
    found = sources.digests(linux)
    assert sources.follow(linux, found, copy, patched), "it has to be patched"
    (copy / "arch/um/kernel/time.c").write_text("patched", encoding="utf-8")
    sources.remember(copy, found)
    untouched = (copy / "Kbuild").stat().st_mtime_ns
    (linux / "net/ipv4/tcp_cubic.c").write_text("static int beta = 900;\n", encoding="utf-8")
    (linux / "net/ipv4/tcp_new.c").write_text("new", encoding="utf-8")
    found = sources.digests(linux)
    assert not sources.follow(linux, found, copy, patched)
    assert (copy / "net/ipv4/tcp_cubic.c").read_text(encoding="utf-8").endswith("900;\n")
    assert (copy / "arch/um/kernel/time.c").read_text(encoding="utf-8") == "patched"
    assert (copy / "Kbuild").stat().st_mtime_ns == untouched
    (linux / "net/ipv4/tcp_new.c").unlink()
    (linux / "arch/um/kernel/time.c").write_text("other", encoding="utf-8")
    assert sources.follow(linux, sources.digests(linux), copy, patched)
    assert (copy / "arch/um/kernel/time.c").read_text(encoding="utf-8") == "other"
    assert not (copy / "net/ipv4/tcp_new.c").exists()


def test_the_patch_is_marked_and_says_what_it_changes() -> None:
    patch = (patches.OWN / "virtual-time.patch").read_text(encoding="utf-8")
    assert patch.startswith("SPDX-License-Identifier: GPL-2.0-only\n")
    assert "GPL-2.0-only" in (patches.OWN / "README.md").read_text(encoding="utf-8")
    changed = patches.files(patch)
    assert "arch/um/kernel/time.c" in changed
    assert all(file.startswith("arch/") for file in changed)
    assert all(word in patch for word in ("ttclock=", "ttfail=", "ttsys=", "umseed=", "12288", "TIMER_MULTIPLIER 1\n"))


def test_a_patch_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "missing", list)
    linux, patch = tree(tmp_path / "linux"), tmp_path / "mine.patch"
    patch.write_text("beta = 900", encoding="utf-8")
    for request, said in (
        (build.Request(source=linux, patch=patch), "sources that are unpacked are built as they are"),
        (build.Request(patch=patch), "it names no file below a/ and b/"),
        (build.Request(patch=tmp_path / "none"), "cannot be read"),
        (build.Request(config=tmp_path / "none"), "cannot be read"),
    ):
        with pytest.raises(InputError, match=said):
            build.build(request, pytest.fail)  # before anything is unpacked
    for wrong, where in (
        (BETA.replace("717", "718"), "tcp_cubic"),
        (BETA.replace("tcp_cubic", "tcp_none"), "tcp_none"),
    ):
        with pytest.raises(InputError) as found:
            patches.apply_given(wrong, linux, patch, "linux-source-6.12")
        remedy = "make it of these sources, as diff -u or git diff writes it"
        said = f"{patch}: --patch: it does not fit linux-source-6.12 in net/ipv4/{where}.c; {remedy}"
        assert str(found.value) == said
    patches.apply(BETA, linux, "mine.patch does not fit")
    assert (linux / "net/ipv4/tcp_cubic.c").read_text(encoding="utf-8") == "static int beta = 900;\n"


def document(**changes: Any) -> dict[str, Any]:
    engine = {"kind": "kernel-vt", "kernel": ["a", "0" * 64], "ip": 4}
    link = {"rate_bps": 10_000_000}
    return {"seed": 1, "run": 0, "duration_ns": 10**10, "links": [link], "flows": [{}], "engine": engine} | changes


def test_seeds_and_limits() -> None:
    seeds = {guest.seed(document(seed=seed, run=run)) for seed in (1, 2) for run in range(50)}
    assert len(seeds) == 100
    assert all(0 <= number < 2**63 for number in seeds)
    assert guest.limit_s(document()) == 120 + 10 * 30
    assert guest.limit_s(document(links=[{"rate_bps": 1_200_000_000}])) == 120 + 10 * 100
    assert guest.limit_s(document(links=[{"rate_bps": None}])) == pytest.approx(120 + 10 * 83.3, rel=0.01)
    limited = document()["engine"] | {"limit_ns": 7_000_000_000}
    assert guest.limit_s(document(engine=limited)) == 7
    lines = [guest.command_line(number) for number in (1, 2)]
    assert [a for a, b in zip(*lines, strict=True) if a != b] == ["umseed=1"]


def test_a_guest_of_many_flows_has_more_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [guest.memory(document(flows=[{}] * flows)) for flows in (200, 201)] == ["768M", "1536M"]
    script(tmp_path, monkeypatch, "echo 'Out of memory: Killed process 1 (init)'; echo \"$@\" > line; exit 1")
    with pytest.raises(EngineError, match="the guest ran out of its 1536MB of memory"):
        guest.play(json.dumps(document(flows=[{}] * 500)))


def test_a_kernel_that_was_built_again_is_another(tmp_path: Path) -> None:
    kept_kernel(tmp_path, one("a", digest="2" * 64))
    with pytest.raises(EngineError, match="the kernel 'a' was built again since this run was asked for"):
        guest.play(json.dumps(document()))


def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A program in place of ackclock-emu that begins no guest, but ends as one may."""
    program = tmp_path / kernel.PROGRAM
    program.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(kernel, "program", lambda: str(program))
    # What a kernel has it can say no more than this one.
    monkeypatch.setattr(guest, "facts", lambda chosen: {})
    monkeypatch.setattr(kernel, "refusal", lambda document, of: None)
    kept_kernel(tmp_path, one("a"))


def test_what_a_guest_leaves_is_taken_with_what_played_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path, monkeypatch, """printf '{"output":{},"emulation":{"kernel":"6"}}' > played.json; ls > names""")
    played = json.loads(guest.play(json.dumps(document())))
    assert played["emulation"]["kernel"] == "6"
    assert played["emulation"]["virtual"]["name"] == "a"
    assert played["emulation"]["virtual"]["seed"] == guest.seed(document())


def test_what_a_kernel_has_is_asked_of_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tmp_path / "asked"
    real = guest.facts
    script(
        tmp_path,
        monkeypatch,
        f"""test -e probe && echo >> {asked}; printf '{{"controllers":["reno"]}}' > played.json""",
    )
    for _ in range(2):
        assert real(kept.named(None)) == {"controllers": ["reno"]}
    assert asked.read_text(encoding="utf-8") == "\n"
    # Of another program, or a kernel that was built again, it is not known.
    monkeypatch.setattr(guest, "identity", lambda: "another")
    real(kept.named(None))
    assert asked.read_text(encoding="utf-8") == "\n\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo the kernel has no controller x > failed", "^the kernel has no controller x$"),
        ("echo 'ptrace: Operation not permitted'; exit 1", "without results: ptrace: Operation not permitted; see ack"),
        ("exit 0", "the guest ended without results: it says nothing"),
        (
            # As Linux 6.12 says it: the last line, which is no more than that it ends, is not the reason.
            "echo 'Out of memory: Killed process 1 (init) total-vm:9kB'; echo 'Kernel panic - not syncing: System is "
            "deadlocked on memory'; exit 1",
            r"^engine kernel-vt: the guest ran out of its 768MB of memory; use fewer flows at a time, smaller windows",
        ),
        ("sleep 100", r"the run did not end within 0\.5 s; give it longer: run\.wall_limit$"),
    ],
)
def test_how_a_guest_may_fail(text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path, monkeypatch, text)
    limited = document()["engine"] | {"limit_ns": 500_000_000}
    with pytest.raises(EngineError, match=said):
        guest.play(json.dumps(document(engine=limited)))


def test_guests_at_the_same_time_have_processors_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    cores = os.sched_getaffinity(0)
    held = [guest.processor() for _ in range(len(cores) + 1)]
    got = [one.__enter__() for one in held]
    assert set(got[:-1]) == cores
    assert got[-1] is None
    for one_held in held:
        one_held.__exit__(None, None, None)


def test_kernels_are_listed_and_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernel", "list"]) == 0
    assert "no kernel is built; build one with: ackclock kernel build" in capsys.readouterr().out
    kept_kernel(tmp_path, one("mine"))
    assert main(["kernel", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kernels"][0]["name"] == "mine"
    assert main(["kernel", "remove", "mine", "--work"]) == 0
    assert capsys.readouterr().out.splitlines() == ["kernel mine is removed", "builds have left nothing"]
    assert kept.all_of_them() == []
    for words, said in (
        (["mine"], "ackclock: no kernel 'mine' is built; there is none\n"),
        ([], "ackclock: nothing is named that is to be removed; give a name of ackclock kernel list, or --work\n"),
    ):
        assert main(["kernel", "remove", *words]) == 2
        assert capsys.readouterr().err == said
    kept_kernel(tmp_path, one("other"))
    assert main(["kernel", "remove", "mine"]) == 2
    assert capsys.readouterr().err == "ackclock: no kernel 'mine' is built; there is other\n"


def test_two_builds_of_one_kernel_wait_for_each_other(tmp_path: Path) -> None:
    order: list[str] = []
    asked = threading.Event()

    def second() -> None:
        def say(text: str) -> None:
            order.append(text)
            asked.set()

        with build.alone(tmp_path, say):
            order.append("second")

    with build.alone(tmp_path, order.append):
        other = threading.Thread(target=second)
        other.start()
        assert asked.wait(60)
        order.append("first")
    other.join(60)
    assert order == ["waiting for another build of this kernel", "first", "second"]


def test_what_a_killed_build_leaves_behind_keeps_the_lock(tmp_path: Path) -> None:
    with build.alone(tmp_path, print) as lock:
        compiler = subprocess.Popen(["sleep", "600"], pass_fds=(lock,))
    try:
        with (tmp_path / ".lock").open("w") as own, pytest.raises(BlockingIOError):
            fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        compiler.kill()
        compiler.wait()
    with build.alone(tmp_path, print):
        pass
