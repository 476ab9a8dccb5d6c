"""What builds wheels and source distributions: maturin, and before it the programs of engine ``kernel`` and proxy.

pip calls these functions (PEP 517, PEP 660). They travel as scripts of the wheel, so that they come to lie
beside ``python``, where ``ackclock`` looks for them first. They are linked statically where the toolchain can do that
(rustup target add x86_64-unknown-linux-musl): then they run whatever the C library of the computer is. On systems other
than Linux there are no such programs.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import maturin
from maturin import (  # noqa: F401
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = {"ackclock-emu": "ci", "ackclock-get": "ci", "ackclock-proxy": "release"}
"""Each with its profile of `Cargo.toml`: programs that wait for the system nearly all their time need no optimisation
at link time. `--profile` among maturin's arguments (MATURIN_PEP517_ARGS) takes the place of all: then a wheel is packed
out of what `make build` has built, and nothing is compiled again."""
SCRIPTS = ROOT / "ackclock._ackclock.data/scripts"
"""Where maturin takes scripts from: a folder beside `pyproject.toml` that has the name of the extension."""

Settings = Mapping[str, Any] | None


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    """A wheel with the programs in it; its name."""
    with _programs_in_place(config_settings):
        return str(maturin.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """A wheel that leads to this folder, with the programs in it; its name."""
    with _programs_in_place(config_settings):
        return str(maturin.build_editable(wheel_directory, config_settings, metadata_directory))


@contextmanager
def _programs_in_place(settings: Settings) -> Iterator[None]:
    if sys.platform != "linux":
        yield
        return
    joined = _join_workspace(ROOT / "Cargo.toml")
    profiles = _profiles(maturin.get_maturin_pep517_args(settings))
    # In a source distribution Cargo.lock lacks the members that have just joined.
    built = _build(profiles, [] if joined else ["--locked"])
    SCRIPTS.mkdir(parents=True, exist_ok=True)
    try:
        for program, profile in profiles.items():
            shutil.copy(built / profile / program, SCRIPTS / program)
        yield
    finally:
        shutil.rmtree(SCRIPTS.parent)


def _profiles(arguments: Sequence[str]) -> dict[str, str]:
    """The profile of each program."""
    if "--profile" not in arguments:
        return PROGRAMS
    return dict.fromkeys(PROGRAMS, arguments[arguments.index("--profile") + 1])


def _join_workspace(manifest: Path) -> bool:
    """In a source distribution the workspace has only what the extension needs: adds the programs; whether it did."""
    joined = False
    text = manifest.read_text(encoding="utf-8")
    for member in (f"crates/{program}" for program in PROGRAMS):
        if member not in text:
            text = text.replace("members = [", f'members = ["{member}", ', 1)
            manifest.write_text(text, encoding="utf-8")
            joined = True
    return joined


def _build(profiles: Mapping[str, str], options: Sequence[str]) -> Path:
    """Builds the programs; the folder that has one for each profile."""
    target = f"{platform.machine()}-unknown-linux-musl"
    static = ["--target", target] if _has(target) else []
    for profile in sorted(set(profiles.values())):
        # One call for all programs of a profile: cargo then compiles what they share once, with the features of all.
        packages = [word for program, of in profiles.items() if of == profile for word in ("-p", program)]
        subprocess.run(["cargo", "build", "--profile", profile, *packages, *static, *options], cwd=ROOT, check=True)
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return folder / (target if static else "")


def _has(target: str) -> bool:
    """Whether the toolchain in use can build for `target`: its standard library is there."""
    asked = ["rustc", "--print", "target-libdir", "--target", target]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode == 0 and Path(done.stdout.strip()).is_dir()
