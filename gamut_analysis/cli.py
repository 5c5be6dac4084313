"""The command line: a thin skin over the package. ``gamut --help`` lists the commands.

Options that are not given are taken from the environment (``GAMUT_MODEL`` for ``--model``), where the Makefile puts the
very text that was typed.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from gamut_analysis import datasets, paths, tables
from gamut_analysis.errors import GamutError, InputError, UnknownName

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

Data = Annotated[
    str | None, typer.Option(help="sample or paper (what ships), a folder of verdicts, or a database file")
]
Manifest = Annotated[
    str | None, typer.Option(help="a gamut.toml that describes the folder, where it has none of its own")
]
Model = Annotated[str | None, typer.Option(help="the model, as the data spells it")]
Judge = Annotated[str | None, typer.Option(help="the judge whose verdicts count; the data's own default if not given")]
Variant = Annotated[str | None, typer.Option(help="multimodal or text_only")]
Seed = Annotated[str | None, typer.Option(help="seed of every random draw, a whole number")]
Strict = Annotated[bool, typer.Option("--strict", help="fail if any row is rejected")]
Database = Annotated[Path, typer.Argument(help="a database file")]


def typed(name: str, option: str | None = None) -> str:
    """A value exactly as the user typed it: the option, else what make was given, else the environment.

    make drops blanks in front of a value; where the system shows make's own command line, they are found there.
    """
    if option is not None:
        return option
    value = os.environ.get(f"GAMUT_{name}", "")
    command_line = Path(f"/proc/{os.environ.get('GAMUT_MAKE_PID', 'none')}/cmdline")
    try:
        words = command_line.read_bytes().decode(errors="surrogateescape").split("\0")
    except OSError:
        return value
    given = [word.removeprefix(f"{name}=") for word in words if word.startswith(f"{name}=")]
    return given[-1] if given and given[-1].lstrip() == value else value


def _whole(name: str, text: str) -> int:
    try:
        return int(text or "0")
    except ValueError:
        raise InputError(f"{name} = {text!r}: a whole number is needed") from None


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )


def _ready(data: str, manifest: str, strict: bool = False) -> Path:
    """The database of the data, built if need be, with a bar while that takes."""
    with _bar() as bar:
        task = bar.add_task("data", total=None)
        return datasets.database_of(
            data,
            manifest,
            strict=strict,
            progress=lambda step, n, of: bar.update(task, description=step, completed=n, total=of),
        )


@app.command()
def build(data: Data = None, manifest: Manifest = None, strict: Strict = False) -> None:
    """Build the database of the data that ships, or of a folder, if it is not there yet or out of date."""
    strict = strict or bool(typed("STRICT"))
    database = _ready(typed("DATA", data), typed("MANIFEST", manifest), strict)
    out.print(_summary(database))


@app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(help="the folder that holds the files")],
    into: Annotated[Path | None, typer.Option(help="where to put the database")] = None,
    manifest: Manifest = None,
    strict: Strict = False,
) -> None:
    """Read a folder of verdicts into a database; tells what was read, rejected and left unread."""
    target = into or datasets.default_database(str(folder))
    with _bar() as bar:
        task = bar.add_task("import", total=None)
        datasets.build(
            folder,
            target,
            manifest=manifest or "",
            strict=strict,
            progress=lambda step, n, of: bar.update(task, description=step, completed=n, total=of),
        )
    out.print(_summary(target))
    _print_rejects(target, limit=20)


@app.command()
def describe(database: Database) -> None:
    """What a database holds: the grid, the coverage, what was rejected and what could not be graded."""
    for name, frame in tables.describe(database).items():
        _print_frame(name.replace("_", " "), frame)


@app.command()
def report(
    model: Model = None,
    data: Data = None,
    manifest: Manifest = None,
    judge: Judge = None,
    variant: Variant = None,
    seed: Seed = None,
) -> None:
    """Write the report of one model as one self-contained page."""
    from gamut_analysis.report import model_report
    from gamut_analysis.study import Study

    wanted = typed("MODEL", model)
    data_text = typed("DATA", data)
    if not wanted.strip():
        raise UnknownName("MODEL is missing: make report MODEL=gemini-3.1-pro (or gamut report --model ...)")
    seed_number = _whole("SEED", typed("SEED", seed))
    database = _ready(data_text, typed("MANIFEST", manifest))
    judge_text, variant_text = typed("JUDGE", judge), typed("VARIANT", variant)
    study = Study(database, wanted, judge_text, variant_text, seed_number)
    label = _label(study, data_text, judge_text, variant_text)
    page = model_report(study, label=label, progress=err.is_terminal)
    out.print(Text(str(page)))


def _label(study, data: str, judge: str, variant: str) -> str:
    """The report's name: the model, after the data where it is not the default, before a judge or variant if chosen."""
    shown = [] if data in ("", datasets.DEFAULT) else [Path(data).name or data]
    return "--".join([*shown, study.model, *filter(None, (judge, variant))])


@app.command()
def clean() -> None:
    """Delete what is generated: databases, simulated worlds, reports."""
    for folder in (paths.warehouse(), paths.data() / "simulated"):
        shutil.rmtree(folder, ignore_errors=True)
    for path in paths.reports().glob("*"):
        if path.is_dir():
            shutil.rmtree(path)


def _summary(database: Path) -> Text:
    frames = tables.read_all(database, ("dataset", "sources", "rejects", "models", "judges", "questions", "coverage"))
    told = frames["dataset"].row(0, named=True)
    kind = "SIMULATED" if told["simulated"] else "real"
    graded = frames["coverage"]["checks_graded"].sum()
    lines = [
        f"{database}: {told['title']} ({kind} data)",
        f"  {frames['models'].height} models, {frames['judges'].height} judges, {frames['questions'].height} questions, {graded:,} verdicts",
        f"  {frames['sources'].height} files, {frames['rejects'].height} rejected values",
    ]
    if told["assumptions"]:
        lines.extend(f"  {line}" for line in told["assumptions"].splitlines())
    return Text("\n".join(lines))


def _print_rejects(database: Path, limit: int) -> None:
    rejects = tables.read(database, "rejects")
    for row in rejects.head(limit).iter_rows():
        err.print(Text(tables.describe_reject(*row)))
    if rejects.height > limit:
        err.print(f"... and {rejects.height - limit} more: gamut describe {database}")


def _print_frame(title: str, frame: pl.DataFrame) -> None:
    if frame.is_empty():
        out.print(f"{title}: none")
        return
    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for name, kind in frame.schema.items():
        table.add_column(name, justify="right" if kind.is_numeric() else "left", overflow="fold")
    for row in frame.iter_rows():
        table.add_row(*(Text("" if value is None else str(value)) for value in row))
    out.print(table)


def main() -> None:
    """Run the command line; an error that the user can mend is its message and status 1."""
    try:
        app()
    except GamutError as error:
        err.print(Text(f"gamut: {error}"), soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        err.print("gamut: stopped; what was there before is untouched")
        sys.exit(130)
