"""Run notebooks with parameters and write what they show: one page a report, and every number beside it.

A notebook that breaks the contract, a parameter that it does not have, a cell that fails: each stops the run with the
place named, and the previous report stays where it is.
"""

import ast
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat

from gamut_analysis import page, paths
from gamut_analysis.errors import NotebookError, UnknownName
from gamut_analysis.readers.delivery import without_nonfinite
from gamut_analysis.study import Study

KERNEL = "gamut"
TAG = "parameters"
_KERNEL_SPEC = {
    "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=ERROR"],
    "display_name": "gamut-analysis",
    "language": "python",
}


def parameters(notebook: nbformat.NotebookNode, name: str) -> tuple[str, ...]:
    """The names that a notebook's parameters cell sets. Raises NotebookError unless exactly one cell is tagged."""
    tagged = [cell for cell in notebook.cells if TAG in cell.metadata.get("tags", [])]
    if not tagged:
        raise NotebookError(
            f"{name}: no cell is tagged {TAG!r}, so no parameter would reach it; tag the cell that sets them"
        )
    if len(tagged) > 1:
        raise NotebookError(f"{name}: {len(tagged)} cells are tagged {TAG!r}, and it must be one")
    language = notebook.metadata.get("kernelspec", {}).get("language", "python")
    if language != "python":
        raise NotebookError(f"{name}: its kernel's language is {language!r}, and only python runs here")
    return _assigned(tagged[0].source, name)


def _assigned(source: str, name: str) -> tuple[str, ...]:
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise NotebookError(
            f"{name}: the parameters cell is not valid Python, line {error.lineno}: {error.msg}"
        ) from error
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    targets += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    return tuple(target.id for target in targets if isinstance(target, ast.Name))


def run(path: Path, values: Mapping[str, Any], *, progress: bool = False) -> nbformat.NotebookNode:
    """Run a notebook with the given parameters in this environment's Python and return it with its outputs.

    Values reach the notebook with the type that they have here; nothing is parsed. Raises NotebookError for a broken
    contract, an unknown parameter or a failing cell, which is named.
    """
    notebook = _read(path)
    known = parameters(notebook, path.name)
    if unknown := sorted(set(values) - set(known)):
        raise UnknownName(f"{path.name} has no parameter {unknown[0]!r}; it has {', '.join(known)}")
    with tempfile.TemporaryDirectory(prefix="gamut-") as scratch, _own_kernel(Path(scratch)):
        return _execute(path, dict(values), Path(scratch) / "run.ipynb", progress)


def _read(path: Path) -> nbformat.NotebookNode:
    try:
        return nbformat.read(path, as_version=4)
    except FileNotFoundError as error:
        raise NotebookError(f"{path}: there is no such notebook") from error
    except (nbformat.reader.NotJSONError, nbformat.ValidationError, ValueError) as error:
        raise NotebookError(f"{path}: not a notebook ({str(error).splitlines()[0]})") from error


def _execute(path: Path, values: dict[str, Any], output: Path, progress: bool) -> nbformat.NotebookNode:
    import papermill
    from papermill.exceptions import PapermillExecutionError

    try:
        return papermill.execute_notebook(
            str(path),
            str(output),
            parameters=values,
            kernel_name=KERNEL,
            language="python",
            cwd=str(paths.root()),
            progress_bar={"desc": path.stem, "leave": False} if progress else False,
            log_output=False,
        )
    except PapermillExecutionError as error:
        raise NotebookError(_failure(path, error)) from error


def _failure(path: Path, error: Any) -> str:
    """The failing cell as a person would name it: its place, its first line, and what went wrong."""
    first = next((line for line in error.source.splitlines() if line.strip()), "")
    return f"{path.name}, cell {error.cell_index + 1} ({first.strip()}): {error.ename}: {error.evalue}"


@contextlib.contextmanager
def _own_kernel(scratch: Path) -> Iterator[None]:
    """A kernel of this very Python, wherever the machine's other kernels point."""
    spec = scratch / "kernels" / KERNEL / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps(_KERNEL_SPEC), encoding="utf-8")
    before = os.environ.get("JUPYTER_PATH")
    os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, (str(scratch), before)))
    try:
        yield
    finally:
        if before is None:
            del os.environ["JUPYTER_PATH"]
        else:
            os.environ["JUPYTER_PATH"] = before


def model_report(study: Study, *, label: str = "", progress: bool = False) -> Path:
    """The report of the study's model; returns the page that was written."""
    values = {
        "database": str(study.database),
        "model": study.model,
        "judge": study.judge,
        "variant": study.variant,
        "seed": study.seed,
    }
    notebook = run(paths.notebooks() / "model_report.ipynb", values, progress=progress)
    return write(notebook, paths.slug(label or study.model), title=f"{study.model_name} · GAMUT")


def write(notebook: nbformat.NotebookNode, slug: str, *, title: str) -> Path:
    """Write the page of a notebook that has run, and its numbers beside it, under ``reports/<slug>/``.

    Both are complete before either takes the place of what stood there.
    """
    folder = paths.reports() / slug
    texts = {
        f"{slug}.html": page.to_html(notebook, title=title),
        "numbers.json": json.dumps(
            without_nonfinite(page.numbers(notebook)), indent=1, ensure_ascii=False, allow_nan=False
        ),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f".{name}.new").write_text(text, encoding="utf-8")
    for name in texts:
        (folder / f".{name}.new").replace(folder / name)
    return folder / f"{slug}.html"
