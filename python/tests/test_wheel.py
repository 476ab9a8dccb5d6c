"""A wheel has the program of the engine ``kernel``, and what is installed from it finds the program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ackclock import kernel
from ackclock.errors import EngineError

ROOT = Path(__file__).resolve().parents[2]
SEPARATE = ROOT / "target/wheel"
"""Built apart: what is left there makes the next time short, and changes nothing that others build."""


def test_what_is_installed_from_a_wheel_has_the_program(tmp_path: Path) -> None:
    quick = {"CARGO_TARGET_DIR": str(SEPARATE), "CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_PROFILE_PROGRAM_OPT_LEVEL": "0"}
    environment = os.environ | quick | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    made = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--config-settings=build-args=--profile dev"]
    subprocess.run([*made, "--wheel-dir", str(tmp_path), str(ROOT)], check=True, env=environment)
    (wheel,) = tmp_path.glob("ackclock-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (inside,) = (item for item in archive.infolist() if item.filename.endswith(f".data/scripts/{kernel.PROGRAM}"))
        assert inside.file_size > 100_000
    assert not (ROOT / "ackclock._ackclock.data").exists(), "nothing is left in the checkout"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    there = tmp_path / "venv/bin/python"
    subprocess.run([*pip, "--python", str(there), "install", "--no-deps", "--no-index", str(wheel)], check=True)
    code = "import json; from ackclock import kernel; print(json.dumps([kernel.program(), kernel.probe()]))"
    without = {key: value for key, value in os.environ.items() if key not in ("PATH", "PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([str(there), "-c", code], capture_output=True, text=True, check=True, env=without)
    program, found = json.loads(done.stdout)
    assert program == str(tmp_path / "venv/bin" / kernel.PROGRAM)
    assert found["kernel"] == os.uname().release


def test_on_other_systems_the_engine_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(EngineError, match=r"^engine kernel: it is the TCP of Linux, and this is darwin") as refused:
        kernel.program()
    assert "\n" not in str(refused.value)
