"""Rules of the package itself."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import ackclock

PACKAGE = Path(ackclock.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))


def test_importing_it_is_light() -> None:
    heavy = "{'polars', 'numpy', 'scipy', 'matplotlib', 'pydantic', 'rich'}"
    code = f"import ackclock, sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_reading_a_scenario_needs_no_tables() -> None:
    code = "import ackclock, sys; ackclock.load; print(sorted({'polars', 'scipy', 'matplotlib'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_public_name_is_there() -> None:
    assert all(hasattr(ackclock, name) for name in ackclock.__all__)
    assert dir(ackclock) == sorted(ackclock.__all__)


def test_only_one_module_knows_the_extension() -> None:
    users = [path.relative_to(PACKAGE).as_posix() for path in SOURCES if "_ackclock" in _imported(path)]
    assert users == ["engine.py"]


def test_series_are_those_of_the_engine() -> None:
    from ackclock import _ackclock
    from ackclock.scenario.settings import FLOW_SERIES, LINK_SERIES

    known = json.loads(_ackclock.describe())
    assert known["flow_series"] == list(FLOW_SERIES)
    assert known["link_series"] == list(LINK_SERIES)


def test_nothing_below_the_command_line_depends_on_it() -> None:
    for path in SOURCES:
        inside = path.relative_to(PACKAGE).parts[0]
        if inside not in ("cli", "__main__.py"):
            assert not any(name.startswith("ackclock.cli") for name in _imported(path)), path


def test_figures_need_results_only() -> None:
    for path in (PACKAGE / "plot").glob("*.py"):
        names = _imported(path)
        assert not names & {"ackclock.engine", "ackclock.api", "ackclock.execution"}, path


def _imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
            names.update(alias.name for alias in node.names)
    return names
