"""The tutorial as a notebook: what is committed runs in a kernel, cell by cell, and shows what it says."""

from __future__ import annotations

import os
import tomllib
import warnings
from typing import Any

import pytest

import guides
from shared import ROOT

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of Jupyter's own libraries
    import nbclient
    import nbformat

NOTEBOOK = ROOT / "docs" / "tutorial.ipynb"
PAGE = ROOT / "docs" / "tutorial.md"


@pytest.fixture(scope="module")
def committed() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The committed notebook after a run of all its cells; a cell that raises ends the test."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    folder = tmp_path_factory.mktemp("notebook")
    environment = {**os.environ, "IPYTHONDIR": str(folder / "ipython"), "JUPYTER_RUNTIME_DIR": str(folder / "runtime")}
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        for key, value in environment.items():
            patch.setenv(key, value)
        client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
        client.execute()
    return notebook


def shown(notebook: Any, beginning: str) -> dict[str, Any]:
    """What the last value of the cell with a line that begins so was shown as, by kind."""
    cell = next(cell for cell in notebook.cells if any(line.startswith(beginning) for line in cell.source.split("\n")))
    return next(output.data for output in cell.outputs if output.output_type == "execute_result")


def test_it_is_committed_without_outputs(committed: Any) -> None:
    nbformat.validate(committed)
    for cell in committed.cells:
        if cell.cell_type == "code":
            assert not cell.outputs
            assert cell.execution_count is None


def test_every_cell_shows_something(executed: Any) -> None:
    code = [cell for cell in executed.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert all(any(output.output_type == "execute_result" for output in cell.outputs) for cell in code)
    assert not [output for cell in code for output in cell.outputs if output.output_type in ("error", "stream")]


def test_results_are_tables_with_charts_and_progress_is_shown(executed: Any) -> None:
    for beginning in ("result = ", "ackclock.rank(", "low_delay = ", "ackclock.compare("):
        html = shown(executed, beginning)["text/html"]
        assert "<table>" in html
        assert "<svg" in html
    played = next(cell for cell in executed.cells if "ackclock.run(" in cell.source and cell.cell_type == "code")
    bars = [output.data["text/html"] for output in played.outputs if output.output_type == "display_data"]
    assert len(bars) == 1
    assert bars[0].startswith("120 runs, ")


def test_the_figure_is_a_picture(executed: Any) -> None:
    assert "image/png" in shown(executed, "figure = ")


def test_the_notebook_is_the_page(executed: Any) -> None:
    """The same scenario, and the same sentences."""
    code = next(cell.source for cell in executed.cells if cell.source.startswith("import ackclock"))
    names: dict[str, Any] = {}
    exec(code.partition("plan =")[0], names)
    scenario = next(block.text for block in guides.blocks(PAGE) if block.file == "my-path.toml")
    raw = tomllib.loads(scenario)
    assert names["path"] == raw
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    for beginning in ("ackclock.rank(", "low_delay = "):
        html = shown(executed, beginning)["text/html"]
        assert html.partition("<strong>")[2].partition("</strong>")[0] in text
