"""Rules of the package itself."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import ackclock


def test_importing_it_is_light() -> None:
    heavy = "{'polars', 'numpy', 'scipy', 'matplotlib', 'pydantic', 'rich'}"
    code = f"import ackclock, sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_reading_a_scenario_needs_no_tables() -> None:
    code = "import ackclock, sys; ackclock.load; print(sorted({'polars', 'scipy', 'matplotlib'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_saved_result_opens_without_the_models_of_a_scenario(
    scenario_file: Callable[..., Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    probes = {"probes.cwnd": "50 ms", "probes.delivered": "50 ms", "probes.queue": "50 ms"}
    ackclock.run(scenario_file(), set={"cc": ["reno", "cubic"], **probes}, replications=2, jobs=1, out=out)
    code = f"""
import ackclock, sys
result = ackclock.Result.load({str(out)!r})
assert result.summary("group").height == 2 and "cubic" in result._repr_html_() and result.series.height
assert ackclock.query({str(out)!r}, "select count(*) from flows").rows == [(result.flows.height,)]
from ackclock import metrics
assert metrics.of(result).height == 4
assert ackclock.compare(result, by="cc").frame.height
ackclock.plot(result, {str(out)!r})
print(sorted(name for name in sys.modules if name.startswith(("pydantic", "ackclock.scenario", "ackclock._ackclock"))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_every_public_name_is_there() -> None:
    assert all(hasattr(ackclock, name) for name in ackclock.__all__)
    assert dir(ackclock) == sorted(ackclock.__all__)


def test_public_parts_are_there_without_an_import_of_their_own() -> None:
    code = (
        "import sys, ackclock\n"
        "assert not any(f'ackclock.{name}' in sys.modules for name in ('study', 'stats', 'metrics'))\n"
        "assert ackclock.stats.mean_interval([1.0, 2.0]).n == 2\n"
        "assert 'ackclock.study' not in sys.modules\n"
        "assert ackclock.study.names() and ackclock.metrics.of\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_says_what_a_controller_is_given_and_in_which_unit() -> None:
    from ackclock import _ackclock

    stub = ast.parse(Path(ackclock.__file__).with_name("_ackclock.pyi").read_text(encoding="utf-8"))
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    for name in ("Cx", "Ack", "RateSample", "Signal", "Undo", "Lost", "Restart"):
        given = getattr(_ackclock, name)
        for item in classes[name].body:
            if isinstance(item, ast.FunctionDef) and item.decorator_list:
                assert getattr(given, item.name).__doc__ == ast.get_docstring(item), (name, item.name)
    assert "seconds" in _ackclock.Cx.srtt.__doc__
    assert "bytes" in _ackclock.Cx.mss.__doc__


def test_the_stub_names_what_the_extension_has() -> None:
    from ackclock import _ackclock

    stub = ast.parse(Path(ackclock.__file__).with_name("_ackclock.pyi").read_text(encoding="utf-8"))
    stated = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    present = {name for name in dir(_ackclock) if not name.startswith("_")}
    assert set(stated) == present
    for name, node in stated.items():
        if isinstance(node, ast.ClassDef):
            members = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            assert members <= set(dir(getattr(_ackclock, name))), name


def test_series_are_those_of_the_engine() -> None:
    from ackclock import _ackclock
    from ackclock.series import FLOW, LINK

    known = json.loads(_ackclock.describe())
    assert known["flow_series"] == list(FLOW)
    assert known["link_series"] == list(LINK)


def test_public_functions_stay_what_they_are_whatever_is_imported() -> None:
    """No part of the package has the name of a public function: importing it would take the function's place."""
    parts = {item.stem for item in Path(ackclock.__file__).parent.iterdir()}
    assert not parts & {name for name in ackclock.__all__ if callable(getattr(ackclock, name))}
