"""A wheel has the programs of the engine ``kernel`` and of the proxy, and what is installed from it finds them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ackclock import kernel, proxy
from ackclock.errors import EngineError

ROOT = Path(__file__).resolve().parents[2]


def test_what_is_installed_from_a_wheel_has_the_programs(tmp_path: Path) -> None:
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        # What `make build` has built, so that nothing is compiled twice.
        "MATURIN_PEP517_ARGS": "--locked --profile ci",
    }
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    made = [*pip, "wheel", "--no-deps", "--no-build-isolation"]
    subprocess.run([*made, "--wheel-dir", str(tmp_path), str(ROOT)], check=True, env=environment)
    (wheel,) = tmp_path.glob("ackclock-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in (kernel.PROGRAM, proxy.PROGRAM):
            (inside,) = (item for item in archive.infolist() if item.filename.endswith(f".data/scripts/{name}"))
            assert inside.file_size > 100_000
    assert not (ROOT / "ackclock._ackclock.data").exists(), "nothing is left in the checkout"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    there = tmp_path / "venv/bin/python"
    subprocess.run([*pip, "--python", str(there), "install", "--no-deps", "--no-index", str(wheel)], check=True)
    code = "import json; from ackclock import kernel as k, proxy as p; "
    code += "print(json.dumps([k.program(), k.probe(), p.program(), p.probe()]))"
    without = {key: value for key, value in os.environ.items() if key not in ("PATH", "PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([str(there), "-c", code], capture_output=True, text=True, check=True, env=without)
    program, found, of_proxy, can = json.loads(done.stdout)
    assert program == str(tmp_path / "venv/bin" / kernel.PROGRAM)
    assert found["kernel"] == os.uname().release
    assert of_proxy == str(tmp_path / "venv/bin" / proxy.PROGRAM)
    assert can["descriptors"] > 0


def test_on_other_systems_the_engine_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(EngineError, match=r"^engine kernel: it is the TCP of Linux, and this is darwin") as refused:
        kernel.program()
    assert "\n" not in str(refused.value)
