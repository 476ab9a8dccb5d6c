"""Rules of the package itself."""

from __future__ import annotations

import json
import subprocess
import sys

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


def test_every_public_name_is_there() -> None:
    assert all(hasattr(ackclock, name) for name in ackclock.__all__)
    assert dir(ackclock) == sorted(ackclock.__all__)


def test_series_are_those_of_the_engine() -> None:
    from ackclock import _ackclock
    from ackclock.scenario.settings import FLOW_SERIES, LINK_SERIES

    known = json.loads(_ackclock.describe())
    assert known["flow_series"] == list(FLOW_SERIES)
    assert known["link_series"] == list(LINK_SERIES)
