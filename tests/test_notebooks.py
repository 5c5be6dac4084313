"""Every notebook is an essay that keeps the contract, is stored without outputs, and runs on very different data."""

import re
from pathlib import Path

import duckdb
import nbformat
import pytest
from executed import WORLDS, database, execute, faults, shown_in, values_for

from gamut_analysis import page, paths, report
from gamut_analysis.errors import DatabaseMissing

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


@pytest.mark.parametrize("world", WORLDS)
def test_every_notebook_runs_on_every_world_and_what_it_shows_is_whole(path, world, request, tmp_path_factory):
    done = execute(path, values_for(path.stem, database(world, request, tmp_path_factory)))
    assert page.numbers(done)
    assert faults(done) == []


def broken(folder: Path, kind: str) -> Path:
    """A database that is not there, not whole, not a database, or of an older version."""
    path = folder / f"{kind}.duckdb"
    if kind == "empty":
        path.touch()
    elif kind == "foreign":
        path.write_text("question_id,verdict\n", encoding="utf-8")
    elif kind == "older":
        with duckdb.connect(str(path)) as connection:
            connection.execute("create table verdicts (model text)")
    return path


@pytest.mark.parametrize("kind", ["absent", "empty", "foreign", "older"])
def test_the_first_notebook_says_what_builds_a_database_that_is_absent_or_broken(tmp_path, kind):
    path = broken(tmp_path, kind)
    with pytest.raises(DatabaseMissing, match=rf"{kind}\.duckdb: .*`make data`"):
        execute(paths.notebooks() / "00_start_here.ipynb", {"database": str(path)})


@pytest.mark.parametrize("name", ["02_judge_agreement", "06_question_diversity"])
def test_a_kernel_shows_what_this_process_shows(name, bare_database):
    path = paths.notebooks() / f"{name}.ipynb"
    values = {"database": str(bare_database)}
    by_kernel, here = (
        [(shown.metadata, shown.data) for shown in shown_in(run(path, values))] for run in (report.run, execute)
    )
    assert by_kernel == here
