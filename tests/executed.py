"""Notebooks run in this process on very different data, without the start of a kernel."""

import ast
import json
import re
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat
import pytest
import vl_convert
from nbformat.v4 import new_output

from gamut_analysis import datasets, page, paths, rubric, simulate
from gamut_analysis.display import CAPTION, CHART, NUMBERS
from gamut_analysis.study import Study

# What a number or a name looks like that was never made into words.
ODD = re.compile(r"(?<![\w.\-/])(nan|NaN|None(?!\s+of)|inf|Infinity)(?![\w\-])")
MARK = re.compile(r'aria-roledescription="(circle|rect mark|text mark|rule mark|bar|point|tick|line mark|area mark)"')
REAL = ("summhay", "kqa", "realsumm")
WORLDS = ("sample", "paper", "bare_database", *REAL)
MANIFESTS = Path(__file__).parent / "real"


def database(world: str, request: pytest.FixtureRequest, factory: pytest.TempPathFactory) -> Path:
    """The database of a world, built when it is first asked for: the sample, 60 questions of the paper's, a real set.

    Any other name is the fixture that gives it.
    """
    if world not in ("sample", "paper", *REAL):
        return Path(request.getfixturevalue(world))
    place = factory.getbasetemp() / "worlds"
    target = place / f"{world}.duckdb"
    if target.is_file():
        return target
    place.mkdir(exist_ok=True)
    if world in REAL:
        folder = Path(request.getfixturevalue("shared")) / "real" / world
        return datasets.build(folder, target, manifest=str(MANIFESTS / f"{world}.toml"), strict=True).database
    drawn = (
        simulate.paper_world(questions=60)
        if world == "paper"
        else simulate.sample_world(rubric.load_rubrics([paths.sample() / "questions"]))
    )
    simulate.write(drawn, place / world)
    return datasets.build(place / world, target).database


def values_for(notebook: str, database: Path) -> dict[str, Any]:
    """The parameters that a notebook needs: only a report is about a model."""
    model = Study(database).models["model"][0] if notebook == "model_report" else ""
    return {"database": str(database), "model": model}


def execute(path: Path, values: dict[str, Any]) -> nbformat.NotebookNode:
    """The notebook with its outputs; values take the place of what its parameters cell sets.

    What a cell ends in is an output, sent as JSON as a kernel would. So is a warning; an error is raised.
    """
    notebook = nbformat.read(path, as_version=4)
    space: dict[str, Any] = {}
    for number, cell in enumerate((cell for cell in notebook.cells if cell.cell_type == "code"), 1):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", UserWarning)
            shown = _run(cell.source, space)
        if "parameters" in cell.metadata.get("tags", []):
            space |= values
        cell.execution_count = number
        cell.outputs = [new_output("stream", name="stderr", text=f"{one.message}\n") for one in warned]
        cell.outputs += [] if shown is None else _outputs(shown, number)
    return notebook


def _run(source: str, space: dict[str, Any]) -> Any:
    """Run a cell; what its last expression is worth."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), space)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), space)


def _outputs(shown: Any, number: int) -> list[nbformat.NotebookNode]:
    """What a kernel would send of it: all that it publishes, or else the one form that it has."""
    if not hasattr(shown, "_ipython_display_"):
        return [new_output("execute_result", execution_count=number, **_sent(*shown._repr_mimebundle_()))]
    published: list[tuple[Any, Any]] = []
    with patch("IPython.display.publish_display_data", lambda data, metadata: published.append((data, metadata))):
        shown._ipython_display_()
    return [new_output("display_data", **_sent(data, metadata)) for data, metadata in published]


def _sent(data: Any, metadata: Any) -> dict[str, Any]:
    return json.loads(json.dumps({"data": data, "metadata": metadata}, allow_nan=False))


def shown_in(notebook: nbformat.NotebookNode) -> list[Any]:
    """The outputs of a notebook that are exhibits of ours."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    told = [(output, output.get("metadata", {}).get("gamut", {})) for output in outputs]
    return [output for output, about in told if about and about["kind"] != CAPTION]


def faults(notebook: nbformat.NotebookNode) -> list[str]:
    """What a reader would stumble over: complaints, empty charts and tables, numbers that are not words yet."""
    found = [str(complaint) for complaint in page.complaints(notebook)]
    for shown in shown_in(notebook):
        name = shown.metadata.gamut.name
        texts = [_words(shown)]
        if CHART in shown.data:
            drawn = vl_convert.vegalite_to_svg(shown.data[CHART], vl_version=page.VEGALITE)
            texts += re.findall(r"<text[^>]*>([^<]*)", drawn)
            found += [] if MARK.search(drawn) else [f"{name}: no mark is drawn"]
        if shown.metadata.gamut.kind == "table" and not shown.data[NUMBERS]["rows"]:
            found.append(f"{name}: a table without rows")
        found += [f"{name}: {odd[0]} in {text[:80]!r}" for text in texts if (odd := ODD.search(text))]
    return found


def _words(shown: Any) -> str:
    """What a reader of an exhibit reads."""
    html = re.sub(r"<style>.*?</style>", "", shown.data.get("text/html", ""), flags=re.DOTALL)
    return " ".join([shown.data["text/plain"], re.sub("<[^>]*>", " ", html), shown.metadata.gamut.get("caption", "")])
