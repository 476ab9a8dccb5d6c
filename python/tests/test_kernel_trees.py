"""Trees of Linux and what `ackclock kernel build` makes of them without compiling: patch, settings, what is refused.

Kernels of real trees, which take minutes to build, are played by scripts/kernel_trees.py.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from ackclock.cli.app import main
from ackclock.errors import EngineError, InputError
from ackclock.virtual import build, kept, patches, settings, sources

MAKE = """#!/bin/sh
# In place of make: a kernel knows the settings that KNOWN lists.
for word; do case "$word" in O=*) out=${word#O=} ;; linux | allnoconfig | olddefconfig) goal=$word ;; esac; done
case $goal in
  allnoconfig) : > "$out/.config" ;;
  olddefconfig) grep -f "$KNOWN" "$out/.config" > "$out/new"; mv "$out/new" "$out/.config" ;;
  linux) echo compiled; echo kernel > "$out/linux" ;;
esac
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACKCLOCK_KERNELS", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the kernels of a program in place of make know: patterns of lines, all at first."""
    tools, file = tmp_path / "tools", tmp_path / "known"
    tools.mkdir()
    (tools / "make").write_text(MAKE.replace("$KNOWN", str(file)), encoding="utf-8")
    (tools / "make").chmod(0o755)
    file.write_text(".\n", encoding="utf-8")
    monkeypatch.setattr(build, "missing", list)
    monkeypatch.setattr(build, "compiler", lambda: "a compiler")
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    return file


def before(part: str) -> str:
    """A file that a part of a patch applies to: what its hunks expect, at their lines, and nothing else."""
    lines: list[str] = []
    for start, hunk in re.findall(r"^@@ -(\d+)\S* \S+ @@.*\n((?:[ +-].*\n|\n)*)", part, re.MULTILINE):
        lines += [f"// {number}" for number in range(len(lines) + 1, int(start))]
        lines += [line[1:] for line in hunk.splitlines() if not line.startswith("+")]
    return "\n".join(lines) + "\n"


def tree(folder: Path, patched_as: str, version: str) -> Path:
    """What looks like sources of `version`, to whoever reads only what the patch for `patched_as` changes."""
    files = {path: before(part) for path, part in patches._apart(patches.of(patched_as))[1].items()}
    numbers = (*version.split("."), "0")
    files |= {
        "Makefile": "".join(
            f"{name} = {number}\n" for name, number in zip(("VERSION", "PATCHLEVEL", "SUBLEVEL"), numbers, strict=False)
        ),
        "net/ipv4/Kconfig": "config TCP_CONG_NV\n\ttristate\nmenuconfig NET_MENU\n\tbool\n",
        "net/ipv4/tcp_nv.c": "int nv;\n",
    }
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def built(folder: Path, config: Path | None = None) -> tuple[kept.Kernel, list[str]]:
    said: list[str] = []
    kernel, new = build.build(build.Request(source=folder, config=config), said.append)
    assert new
    return kernel, said


@pytest.mark.parametrize(
    ("like", "version"),
    [("6.1", "6.1.192"), ("6.1", "6.6.3"), ("6.12", "6.12.117"), ("6.12", "6.9.0")],
)
def test_the_patch_that_fits_is_taken_whatever_the_version(like: str, version: str, tmp_path: Path) -> None:
    linux = tree(tmp_path / "linux", like, version)
    unchanged = content(linux)
    assert patches.fitting(linux, version) == patches.of(like)
    assert content(linux) == unchanged


def test_every_patch_makes_the_same_changes_but_for_what_its_version_has_already() -> None:
    assert patches.known() == ["6.1", "6.12"]
    whole = patches.files(patches.of("6.12"))
    assert patches.files(patches.of("6.1")) == whole | {"init/do_mounts.c"}
    for version in patches.known():
        text = patches.of(version)
        assert all(
            word in text for word in ("EXITKILL", "ttclock=", "umseed=", 'int "Timer frequency"', "MULTIPLIER 1\n")
        )
    for file in patches.OWN.glob("*.patch"):
        assert file.read_text(encoding="utf-8").startswith("SPDX-License-Identifier: GPL-2.0-only\n")


def test_a_tree_that_no_patch_fits_is_refused_before_anything_is_copied(
    tmp_path: Path, known: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    linux = tree(tmp_path / "linux", "6.12", "9.1.0")
    process = linux / "arch/um/os-Linux/skas/process.c"
    process.write_text("int rewritten;\n", encoding="utf-8")
    assert main(["kernel", "build", "--source", str(linux)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(
        "linux: no patch for virtual time fits Linux 9.1.0; of that for 6.12 not arch/um/os-Linux/skas/process.c; "
        "take Linux 6.1 or 6.12, which were tried, or fit uml/ of ackclock to this one"
    )
    process.unlink()
    with pytest.raises(InputError, match=r"no patch for virtual time fits Linux 9\.1\.0"):
        built(linux)
    assert list((place / kept.WORK).iterdir()) == []


@pytest.mark.parametrize("left", [".config", "include/config/auto.conf", "arch/um/include/generated/a.h"])
def test_sources_in_which_a_kernel_was_built_are_refused(left: str, tmp_path: Path, known: Path) -> None:
    linux = tree(tmp_path / "linux", "6.12", "6.12.1")
    (linux / left).parent.mkdir(parents=True, exist_ok=True)
    (linux / left).write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"linux: a kernel was built in these sources \(.*\); make mrproper there"):
        built(linux)


def test_a_tree_that_is_given_stays_as_it_was(tmp_path: Path, known: Path, place: Path) -> None:
    linux = tree(tmp_path / "linux", "6.1", "6.1.192")
    unchanged = content(linux)
    kernel, _ = built(linux)
    assert content(linux) == unchanged
    assert (kernel.version, kernel.name, kernel.source) == ("6.1.192", "linux", "linux")
    (copy,) = place.glob(".work/*/source")
    process = "arch/um/os-Linux/skas/process.c"
    assert (copy / process).read_text(encoding="utf-8").count("EXITKILL") == 2
    # A change to another file is followed, and what the patch changes is not patched twice.
    (linux / "net/ipv4/tcp_nv.c").write_text("int changed;\n", encoding="utf-8")
    again, _ = built(linux)
    assert again.digest != kernel.digest
    assert (copy / process).read_text(encoding="utf-8").count("EXITKILL") == 2
    assert (copy / "net/ipv4/tcp_nv.c").read_text(encoding="utf-8") == "int changed;\n"


def test_settings_of_a_file_are_in_the_kernel_and_win_over_ours(tmp_path: Path, known: Path, place: Path) -> None:
    linux, more = tree(tmp_path / "linux", "6.12", "6.12.1"), tmp_path / "more.config"
    more.write_text(
        '#\n\nCONFIG_TCP_CONG_NV=y\nCONFIG_LOCALVERSION="-b"\nCONFIG_NAME="a b"\n# CONFIG_TCP_CONG_BIC is not set\n',
        encoding="utf-8",
    )
    plain, _ = built(linux)
    kernel, said = built(linux, more)
    assert kernel.digest != plain.digest
    assert len(list(place.glob(".work/*/build"))) == 1, "what is compiled is of use to the other"
    # What make keeps of a setting that comes twice is the last; the program in its place keeps both.
    has = settings.taken((place / kernel.name / "config").read_text(encoding="utf-8"))
    assert (has["TCP_CONG_NV"], has["LOCALVERSION"], has["NAME"], has["TCP_CONG_BIC"]) == ("y", '"-b"', '"a b"', "n")
    assert has["UML_TIME_TRAVEL_SUPPORT"] == "y"
    assert not any("without" in line for line in said)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("CONFIG_TCP_CONG_NEW=y", "Linux 6.12.1 has no setting CONFIG_TCP_CONG_NEW (line 2); leave the line out"),
        ("CONFIG_TCP_CONG_NV=y", "CONFIG_TCP_CONG_NV=y has no effect: it is n in the kernel (line 2); add what it"),
        ("CONFIG_NET_MENU=y", "CONFIG_NET_MENU=y has no effect: it is n in the kernel (line 2); add what it"),
        ("CONFIG_TCP_CONG_NV=m", "would be a module, and such a kernel loads none (line 2); write CONFIG_TCP_CONG_NV"),
        ("CONFIG_HZ=250", "no run can be played on a kernel with CONFIG_HZ=250 (line 2); leave it out: it is 1000"),
        ("TCP_CONG_NV=y", "'TCP_CONG_NV=y' is no setting (line 2); write CONFIG_NAME=y"),
    ],
)
def test_a_setting_that_a_kernel_does_not_take_is_told_before_it_is_compiled(
    line: str, said: str, tmp_path: Path, known: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linux, more = tree(tmp_path / "linux", "6.12", "6.12.1"), tmp_path / "more.config"
    more.write_text(f"# mine\n{line}\n", encoding="utf-8")
    lines = (settings.own() + more.read_text("utf-8")).splitlines()
    known.write_text("".join(f"^{text}$\n" for text in lines if text.startswith("CONFIG") and text != line), "utf-8")
    with pytest.raises(InputError) as raised:
        built(linux, more)
    assert f"{more}: --config: " in str(raised.value)
    assert said in str(raised.value)
    assert kept.all_of_them() == []
    assert not list(place.glob(".work/*/build/linux"))


def test_a_setting_that_the_sources_have_since_is_looked_for_again(tmp_path: Path, known: Path, place: Path) -> None:
    linux, more = tree(tmp_path / "linux", "6.12", "6.12.1"), tmp_path / "more.config"
    more.write_text("CONFIG_TCP_CONG_MINE=y\n", encoding="utf-8")
    known.write_text("^CONFIG_[^T]\n^CONFIG_T[^C]\n", encoding="utf-8")
    with pytest.raises(InputError, match="has no setting CONFIG_TCP_CONG_MINE"):
        built(linux, more)
    known.write_text(".\n", encoding="utf-8")
    built(linux, more)
    plain, _ = built(linux)
    has = settings.taken((place / plain.name / "config").read_text(encoding="utf-8"))
    assert "TCP_CONG_MINE" not in has


def test_what_runs_need_must_be_there_and_what_they_may_ask_for_is_told(tmp_path: Path, known: Path) -> None:
    linux = tree(tmp_path / "linux", "6.12", "6.12.1")
    text = settings.own()
    known.write_text("^CONFIG_[^T]\n^CONFIG_T[^C]\n", encoding="utf-8")
    _, said = built(linux)
    (line,) = [line for line in said if "without" in line]
    assert line.startswith("Linux 6.12.1 is built without CONFIG_TCP_CONG_ADVANCED, CONFIG_TCP_CONG_BIC, ")
    for name in settings.NEEDED:
        assert f"CONFIG_{name}=" in text
    with pytest.raises(EngineError, match=r"Linux 6\.1 cannot be built for virtual time: it does not take CONFIG_HZ$"):
        settings.check(None, text.replace("CONFIG_HZ=1000", "CONFIG_HZ=100"), linux, "6.1")


def test_the_package_of_another_version_can_be_asked_for(
    tmp_path: Path, known: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sources, "_PACKAGES", tmp_path)
    tree(tmp_path / "linux-source-6.1", "6.1", "6.1.192")
    shutil.make_archive(str(tmp_path / "linux-source-6.1"), "xztar", tmp_path, "linux-source-6.1")
    assert main(["kernel", "build", "--package", "linux-source-6.1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["built"], answer["name"], answer["source"]) == (True, "6.1.192", "linux-source-6.1")
