"""Run notebooks with parameters and write what they show: one page a report, and every number beside it.

A notebook that breaks the contract, a parameter that it does not have, a cell that fails: each stops the run with the
place named, and the previous report stays where it is.
"""

import ast
import atexit
import base64
import copy
import functools
import itertools
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbformat
import polars as pl

from gamut_analysis import drawn, page, paths, pdf
from gamut_analysis.chapters import common
from gamut_analysis.charts import theme
from gamut_analysis.display import CHART, Table, beyond_pdflatex, plain, table_html, to_csv, to_latex
from gamut_analysis.errors import GamutError, NotebookError, PartMissing, UnknownName
from gamut_analysis.study import Study

KERNEL = "gamut"
TAG = "parameters"
WORKERS = 2
FORMATS = ("html", "pdf")
NUMBERED = "[0-9][1-9]_*.ipynb"  # the notebooks that figures are taken from
_KERNEL_SPEC = {
    "argv": [
        *(sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"),
        *("--log-level=ERROR", "--HistoryManager.enabled=False"),
    ],
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
    _own_kernel()
    return _execute(path, dict(values), progress)


def _read(path: Path) -> nbformat.NotebookNode:
    try:
        return nbformat.read(path, as_version=4)
    except FileNotFoundError as error:
        raise NotebookError(f"{path}: there is no such notebook") from error
    except (nbformat.reader.NotJSONError, nbformat.ValidationError, ValueError) as error:
        raise NotebookError(f"{path}: not a notebook ({str(error).splitlines()[0]})") from error


def _execute(path: Path, values: dict[str, Any], progress: bool) -> nbformat.NotebookNode:
    import papermill
    from papermill.exceptions import PapermillExecutionError

    try:
        return papermill.execute_notebook(
            str(path),
            None,  # papermill would write the whole notebook anew after every cell
            parameters=values,
            kernel_name=KERNEL,
            language="python",
            progress_bar={"desc": path.stem, "leave": False} if progress else False,
            log_output=False,
            shutdown_kernel="immediate",  # a graceful end begins with an interrupt, of which an idle kernel complains
        )
    except PapermillExecutionError as error:
        raise NotebookError(_failure(path, error)) from error


def _failure(path: Path, error: Any) -> str:
    """The failing cell as a person would name it: its place, its first line, and what went wrong."""
    first = next((line for line in error.source.splitlines() if line.strip()), "")
    return f"{path.name}, cell {error.cell_index + 1} ({first.strip()}): {error.ename}: {error.evalue}"


@functools.cache
def _own_kernel() -> None:
    """A kernel of this very Python under a name of its own, wherever the machine's other kernels point."""
    folder = Path(tempfile.mkdtemp(prefix="gamut-kernel-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    spec = folder / "kernels" / KERNEL / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps(_KERNEL_SPEC), encoding="utf-8")
    os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, (str(folder), os.environ.get("JUPYTER_PATH"))))


def _unheard(warning: str) -> None:
    """Warnings go nowhere."""


def model_report(
    study: Study,
    *,
    label: str = "",
    form: str = "html",
    progress: bool = False,
    warn: Callable[[str], None] = _unheard,
) -> Path:
    """The report of the study's model; returns the page that was written.

    form: pdf sets a PDF of the same name beside the page. warn: what hears of characters that no font has.
    """
    values = _view_of(study) | {"model": study.model}
    notebook = run(paths.notebooks() / "model_report.ipynb", values, progress=progress)
    slug, band = paths.slug(label or study.model), common.band(study)
    return write(notebook, slug, title=study.model_name, band=band, form=form, warn=warn)


def compare_report(
    study: Study,
    other: str,
    *,
    label: str,
    form: str = "html",
    progress: bool = False,
    warn: Callable[[str], None] = _unheard,
) -> Path:
    """The study's model against another; returns the page that was written. form and warn as for ``model_report``."""
    values = _view_of(study) | {"model": study.model, "other": other}
    notebook = run(paths.notebooks() / "compare_models.ipynb", values, progress=progress)
    title, band = f"{study.model_name} and {study.names[other]}", common.band(replace(study, model=""))
    return write(notebook, paths.slug(label), title=title, band=band, form=form, warn=warn)


def write(
    notebook: nbformat.NotebookNode,
    slug: str,
    *,
    title: str,
    band: Mapping[str, Any],
    form: str = "html",
    warn: Callable[[str], None] = _unheard,
) -> Path:
    """Write the page of a notebook that has run, and its numbers beside it, under ``reports/<slug>/``.

    Both are complete before either takes the place of what stood there; a PDF that stood there is of an older page
    and goes. form: pdf sets a new one. Raises PartMissing, with the page written, where nothing can set it.
    """
    folder = paths.reports() / slug
    texts = {
        f"{slug}.html": _page_of(notebook, title, band),
        "numbers.json": _strict_json(page.numbers(notebook)),
    }
    _replace(folder, {name: text.encode() for name, text in texts.items()})
    (folder / f"{slug}.pdf").unlink(missing_ok=True)
    if form == "pdf":
        _write_pdf(folder / f"{slug}.pdf", pdf.document(_for_page(notebook), title=title, band=band), warn)
    return folder / f"{slug}.html"


def _write_pdf(target: Path, document: Mapping[str, Any], warn: Callable[[str], None]) -> None:
    try:
        content = pdf.typeset(document)
    except PartMissing as error:
        raise PartMissing(f"{error}; the page is there: {target.parent / (target.stem + '.html')}") from None
    _replace(target.parent, {target.name: content})
    if warning := pdf.glyph_warning(document):
        warn(f"{target.name}: {warning}")


def _replace(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files whole: all are complete before any takes the place of what stood there."""
    _made(folder)
    for name, content in contents.items():
        (folder / f".{name}.new").write_bytes(content)
    for name in contents:
        (folder / f".{name}.new").replace(folder / name)


def _page_of(notebook: nbformat.NotebookNode, title: str, band: Mapping[str, Any]) -> str:
    return page.to_html(_for_page(notebook), title=title, band=band)


def _for_page(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook without what the page's own head says: its title, and the cell that tells what the data is."""
    shown = copy.deepcopy(notebook)
    shown.cells = [
        cell for cell in shown.cells if not {"band", "injected-parameters"} & set(cell.metadata.get("tags", []))
    ]
    first = shown.cells[0]
    first.source = "\n".join(line for line in first.source.splitlines() if not line.startswith("# ")).strip()
    return shown


def all_reports(
    study: Study,
    labels: Mapping[str, str],
    *,
    done: Callable[[], None],
    form: str = "html",
    warn: Callable[[str], None] = _unheard,
) -> Path:
    """The report of every model, two at a time, and ``reports/index.html`` that lists them.

    labels: the report's name by model. A report that fails does not stop the others and stands in the index without a
    link; all failures are raised together.
    form and warn as for ``model_report``.
    """
    failed: list[str] = []
    pages: dict[str, Path] = {}
    with ThreadPoolExecutor(WORKERS) as pool:
        jobs = {pool.submit(_one_report, study, model, label, form, warn): model for model, label in labels.items()}
        for job in as_completed(jobs):
            try:
                pages[jobs[job]] = job.result()
            except GamutError as error:
                failed.append(f"{jobs[job]}: {error}")
            done()
    index = _write_index(study, pages) if pages else paths.reports() / "index.html"
    if failed:
        raise NotebookError("\n".join(sorted(failed)))
    return index


def _one_report(study: Study, model: str, label: str, form: str, warn: Callable[[str], None]) -> Path:
    return model_report(replace(study, model=model), label=label, form=form, warn=warn)


def _write_index(study: Study, pages: Mapping[str, Path]) -> Path:
    """One page that links the reports, in the order of the leaderboard."""
    target = _made(paths.reports()) / "index.html"
    addresses = {model: path.relative_to(paths.reports()).as_posix() for model, path in pages.items()}
    notebook = nbformat.v4.new_notebook(cells=[_linked_leaderboard(study, addresses)])
    body = page.to_html(notebook, title=f"Reports · {study.dataset['title']}", band=common.band(study))
    target.write_text(body, encoding="utf-8")
    return target


def _linked_leaderboard(study: Study, addresses: Mapping[str, str]) -> nbformat.NotebookNode:
    """A cell that shows the leaderboard; each model leads to the address of its report."""
    from gamut_analysis.chapters.leaderboard import leaderboard_table

    board = common.board(study)
    table = leaderboard_table(study, board)
    links = pl.Series([addresses.get(model) for model in board["model"]], dtype=pl.String)
    linked = replace(
        table,
        frame=table.frame.with_columns(address=links),
        columns={**table.columns, "name": replace(table.specs["name"], link="address")},
    )
    data, metadata = linked._repr_mimebundle_()
    return nbformat.v4.new_code_cell(outputs=[nbformat.v4.new_output("display_data", data, metadata=metadata)])


# --- figures and tables -----------------------------------------------------------------------------------------------


def all_figures(
    study: Study, *, progress: Callable[[str, int, int], None], warn: Callable[[str], None] = _unheard
) -> Path:
    """Every figure and table of the notebooks, as files: SVG, PNG and PDF, CSV and LaTeX, and a page that shows them.

    A figure is lifted from the cell that shows it and named after its notebook and itself; it is sized for the medium
    that the theme is set for. warn: what hears of characters that the fonts, or pdfLaTeX, cannot set.
    """
    return _write_figures(study, _run_all(study, sorted(paths.notebooks().glob(NUMBERED)), progress), warn)


def _run_all(
    study: Study, notebooks: Sequence[Path], progress: Callable[[str, int, int], None]
) -> dict[str, nbformat.NotebookNode]:
    """Several notebooks, two at a time, by name in the order given."""
    values = _view_of(study)
    with ThreadPoolExecutor(WORKERS) as pool:
        jobs = {pool.submit(run, path, values): path.stem for path in notebooks}
        ran = {}
        for number, job in enumerate(as_completed(jobs), 1):
            ran[jobs[job]] = job.result()
            progress(jobs[job], number, len(jobs))
    return {path.stem: ran[path.stem] for path in notebooks}


def _view_of(study: Study) -> dict[str, Any]:
    return {"database": str(study.path.resolve()), "judge": study.judge, "variant": study.variant, "seed": study.seed}


def _write_figures(
    study: Study, ran: Mapping[str, nbformat.NotebookNode], warn: Callable[[str], None] = _unheard
) -> Path:
    """Write all files into fresh folders and put them in the place of the old ones."""
    with tempfile.TemporaryDirectory(prefix=".figures-", dir=_made(paths.reports())) as scratch:
        figures, tables = _made(Path(scratch) / "figures"), _made(Path(scratch) / "tables")
        warnings = {}
        for stem, output in itertools.chain.from_iterable(_exhibits(name, node) for name, node in ran.items()):
            if output.metadata["gamut"]["kind"] == "figure":
                warnings[stem] = _write_figure(output.data[CHART], figures / stem)
            else:
                warnings[f"{stem}.tex"] = _write_table(_named(study, output, stem), tables / stem)
        numbers = {name: page.numbers(node) for name, node in ran.items()}
        (figures / "numbers.json").write_text(_strict_json(numbers), encoding="utf-8")
        (figures / "index.html").write_text(_gallery(study, ran, figures, warnings), encoding="utf-8")
        for folder in (figures, tables):
            target = paths.reports() / folder.name
            shutil.rmtree(target, ignore_errors=True)
            folder.replace(target)
    for warning in sorted(set(warnings.values()) - {""}):
        warn(f"{', '.join(stem for stem, said in warnings.items() if said == warning)}: {warning}")
    return paths.reports() / "figures" / "index.html"


def _exhibits(notebook: str, node: nbformat.NotebookNode) -> Iterator[tuple[str, Any]]:
    """Every figure and table of a notebook, each with the name of its files."""
    for output in _lifted(node):
        yield f"{notebook.split('_')[0]}-{output.metadata['gamut']['name']}", output


def _named(study: Study, output: Any, stem: str) -> Table:
    """The table of an output as its files hold it: under their name, and called simulated where it is."""
    table = Table.from_output(output)
    said = "SIMULATED" in table.caption or not study.dataset["simulated"]
    return replace(table, name=stem, caption=table.caption if said else common.captioned(study, table.caption))


def _gallery(study: Study, ran: Mapping[str, nbformat.NotebookNode], figures: Path, warnings: Mapping[str, str]) -> str:
    """A page of all figures and tables, by notebook, each with links to the files that hold it."""
    v4 = nbformat.v4
    cells = []
    for name, node in ran.items():
        shown = [
            _drawn_figure(stem, output.metadata["gamut"], (figures / f"{stem}.svg").read_bytes(), warnings[stem])
            if output.metadata["gamut"]["kind"] == "figure"
            else _set_table(_named(study, output, stem), warnings[f"{stem}.tex"])
            for stem, output in _exhibits(name, node)
        ]
        outputs = [v4.new_output("display_data", {"text/html": html}) for html in shown]
        cells += [v4.new_markdown_cell(f"## {_title(node)}"), v4.new_code_cell(outputs=outputs)]
    title = f"Figures and tables · {study.dataset['title']}"
    return page.to_html(v4.new_notebook(cells=cells), title=title, band=common.band(study))


def _drawn_figure(stem: str, about: Mapping[str, Any], picture: bytes, warning: str) -> str:
    """A figure as it was drawn, as HTML."""
    source = f"data:image/svg+xml;base64,{base64.b64encode(picture).decode()}"
    caption = escape(f"{about['caption']} {warning}".strip())
    return (
        f'<figure class="gamut-figure" id="{escape(stem)}">'
        f'<img src="{source}" alt="{escape(about["alt"])}" style="width: auto; max-width: 100%">'
        f"<figcaption>{caption} {_files(stem, stem, ('svg', 'pdf', 'png'))}</figcaption></figure>"
    )


def _set_table(table: Table, warning: str) -> str:
    """A table as HTML."""
    files = _files(table.name, f"../tables/{table.name}", ("csv", "tex"))
    return f'{table_html(table, escape(table.name))}<p class="gamut-note">{escape(warning)} {files}</p>'


def _files(stem: str, address: str, kinds: Sequence[str]) -> str:
    """The files of a figure or table as links."""
    links = " ".join(f'<a href="{escape(quote(address))}.{kind}">{kind.upper()}</a>' for kind in kinds)
    return f"{escape(stem)}: {links}"


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _lifted(notebook: nbformat.NotebookNode) -> list[Any]:
    """The outputs of a notebook that are figures or hold a table of ours."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    told = [(output, output.get("metadata", {}).get("gamut", {})) for output in outputs]
    return [output for output, about in told if about.get("kind") == "figure" or "columns" in about]


def _write_figure(spec: dict[str, Any], stem: Path) -> str:
    """One figure in three formats; returns what must be said about its characters."""
    profile = theme.current()
    picture = drawn.svg(drawn.sized(spec, profile), profile.scale)
    stem.with_suffix(".svg").write_text(picture, encoding="utf-8")
    stem.with_suffix(".png").write_bytes(drawn.png(picture))
    stem.with_suffix(".pdf").write_bytes(drawn.pdf(picture))
    return theme.glyph_warning(drawn.shown(picture))


def _write_table(table: Table, stem: Path) -> str:
    """One table in two formats; returns what must be said about its characters."""
    stem.with_suffix(".csv").write_text(to_csv(table), encoding="utf-8")
    stem.with_suffix(".tex").write_text(to_latex(table), encoding="utf-8")
    return beyond_pdflatex(table)


def _strict_json(value: Any) -> str:
    return json.dumps(plain(value), indent=1, ensure_ascii=False, allow_nan=False)


# --- a site -----------------------------------------------------------------------------------------------------------


def site(
    study: Study,
    labels: Mapping[str, str],
    *,
    progress: Callable[[str, int, int], None],
    warn: Callable[[str], None] = _unheard,
) -> Path:
    """Everything in one folder that any host of files can serve: ``reports/site/``; returns its first page.

    It holds the report of every model, every other notebook as a page, and all figures and tables.
    labels: the report's name by model. warn as for ``all_figures``.
    """
    notebooks = [path for path in sorted(paths.notebooks().glob("*.ipynb")) if path.stem != "model_report"]
    steps, of = itertools.count(1), len(labels) + len(notebooks)
    all_reports(study, labels, done=lambda: progress("reports", next(steps), of))
    ran = _run_all(study, notebooks, lambda name, *_: progress(name, next(steps), of))
    _write_figures(study, {path.stem: ran[path.stem] for path in notebooks if path.match(NUMBERED)}, warn)
    return _write_site(study, {model: paths.slug(label) for model, label in labels.items()}, ran)


def _write_site(study: Study, slugs: Mapping[str, str], ran: Mapping[str, nbformat.NotebookNode]) -> Path:
    """Gather pages and files in a fresh folder and put it in the place of the old one."""
    band, target = common.band(study), paths.reports() / "site"
    with tempfile.TemporaryDirectory(prefix=".site-", dir=paths.reports()) as scratch:
        fresh = _made(Path(scratch) / "site")
        for folder in (*slugs.values(), "figures", "tables"):
            shutil.copytree(paths.reports() / folder, fresh / folder)
        for name, notebook in ran.items():
            (fresh / f"{name}.html").write_text(_page_of(notebook, _title(notebook), band), encoding="utf-8")
        front = page.to_html(_front(study, slugs, ran), title=study.dataset["title"], band=band)
        (fresh / "index.html").write_text(front, encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        fresh.replace(target)
    return target / "index.html"


def _title(notebook: nbformat.NotebookNode) -> str:
    """A notebook's title, without its number."""
    return re.sub(r"^# (\d+\. )?", "", str(notebook.cells[0].source).splitlines()[0])


def _front(study: Study, slugs: Mapping[str, str], ran: Mapping[str, nbformat.NotebookNode]) -> nbformat.NotebookNode:
    """The first page of a site: the notebooks, and the leaderboard with a link to each model's report."""
    addresses = {model: f"{slug}/{slug}.html" for model, slug in slugs.items()}
    pages = [f"- [{_title(notebook)}]({name}.html)" for name, notebook in ran.items()]
    pages.append("- [All figures and tables](figures/index.html)")
    v4 = nbformat.v4
    cells = [
        v4.new_markdown_cell("Each model leads to its report."),
        _linked_leaderboard(study, addresses),
        v4.new_markdown_cell("## More\n\n" + "\n".join(pages)),
    ]
    return v4.new_notebook(cells=cells)
