"""Every notebook is an essay that keeps the contract, is stored without outputs, and runs on very different data."""

import re
from pathlib import Path

import nbformat
import pytest

from gamut_analysis import page, report

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))
PARAMETERS = ("database", "model", "judge", "variant", "seed")
NAMES = [path.stem for path in NOTEBOOKS]


@pytest.fixture(params=NOTEBOOKS, ids=NAMES)
def path(request) -> Path:
    return request.param


@pytest.fixture
def node(path):
    return nbformat.read(path, as_version=4)


def test_the_parameters_are_the_same_everywhere_and_each_is_explained(path, node):
    names = report.parameters(node, path.name)
    assert names[: len(PARAMETERS)] == PARAMETERS
    cell = next(cell for cell in node.cells if "parameters" in cell.metadata.get("tags", []))
    assert all("  # " in line for line in cell.source.splitlines())


def test_notebooks_are_stored_without_outputs(node):
    code = [cell for cell in node.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)


def test_a_code_cell_is_a_few_lines_without_definitions_loops_or_sql(node):
    for cell in node.cells:
        if cell.cell_type != "code" or {"parameters", "setup"} & set(cell.metadata.get("tags", [])):
            continue
        assert len(cell.source.splitlines()) <= 3
        assert not re.search(r"^\s*(def|class|for|while)\b|\bselect\b", cell.source, re.MULTILINE)


def test_prose_holds_no_typed_results(node):
    for cell in node.cells:
        if cell.cell_type == "markdown":
            assert not re.search(r"\d+\.\d", cell.source), "numbers come from cells"


def test_a_notebook_opens_with_its_question(node):
    first = node.cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")
    assert "?" in first.source


@pytest.mark.parametrize("data", ["small_database", "bare_database"])
def test_every_notebook_runs_on_rich_and_on_bare_data(path, data, request):
    database = request.getfixturevalue(data)
    model = {"small_database": "gpt-4o", "bare_database": "beta"}[data] if path.stem == "model_report" else ""
    done = report.run(path, {"database": str(database), "model": model})
    assert page.complaints(done) == []
    assert page.numbers(done)
