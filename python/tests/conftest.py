"""What the tests share: a small scenario, and files to put scenarios into."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from shared import SMALL

# Examples are not kept between runs, and a busy computer is no failure.
settings.register_profile("ackclock", database=None, deadline=None)
settings.load_profile("ackclock")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine", choices=["kernel", "kernel-vt"], default="kernel", help="what plays test_kernel_timed.py"
    )


_RAW: dict[str, Any] = {
    "topology": {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": {"limit": "1 BDP"}},
    "flows": [{"cc": "cubic"}],
    "run": {"duration": "3 s"},
}


@pytest.fixture
def raw() -> dict[str, Any]:
    """A minimal scenario as plain data, to be changed by the test."""
    return copy.deepcopy(_RAW)


@pytest.fixture
def scenario_file(tmp_path: Path) -> Callable[..., Path]:
    """Write the small scenario, with texts replaced, and return its path."""

    def write(*replacements: tuple[str, str], text: str = SMALL) -> Path:
        for old, new in replacements:
            assert old in text, old
            text = text.replace(old, new)
        path = tmp_path / "scenario.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write
