"""The command line: a thin skin over the package. ``gamut --help`` lists the commands.

Options that are not given are taken from the environment (``GAMUT_MODEL`` for ``--model``), where the Makefile puts the
very text that was typed.
"""

import io
import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from gamut_analysis import cli_judge, datasets, paths, tables
from gamut_analysis.errors import GamutError, InputError, UnknownName
from gamut_analysis.terminal import bar, err, out, print_frame
from gamut_analysis.typed import typed
from gamut_analysis.vocabulary import VARIANTS

if TYPE_CHECKING:
    from gamut_analysis.study import Study

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
app.add_typer(cli_judge.app)

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
Format = Annotated[str | None, typer.Option("--format", help="html, or pdf for a PDF beside the page")]
Profile = Annotated[str | None, typer.Option(help="what figures are sized for: screen, paper or slides")]
Strict = Annotated[bool, typer.Option("--strict", help="fail if any row is rejected")]
Database = Annotated[Path, typer.Argument(help="a database file")]


def _whole(name: str, text: str) -> int:
    try:
        return int(text or "0")
    except ValueError:
        raise InputError(f"{name} = {text!r}: a whole number is needed") from None


def _ready(data: str, manifest: str, strict: bool = False) -> Path:
    """The database of the data, built if need be, with a bar while that takes."""
    with bar() as shown:
        task = shown.add_task("data", total=None)
        return datasets.database_of(
            data,
            manifest,
            strict=strict,
            progress=lambda step, n, of: shown.update(task, description=step, completed=n, total=of),
        )


def _study(
    data: str | None, manifest: str | None, judge: str | None, variant: str | None, seed: str | None, model: str = ""
) -> "Study":
    """The data through one judge and variant, from options or what make was given; of one model, or of none."""
    from gamut_analysis.study import Study

    seed_number = _whole("SEED", typed("SEED", seed))
    database = _ready(typed("DATA", data), typed("MANIFEST", manifest))
    return Study(database, model, typed("JUDGE", judge), typed("VARIANT", variant), seed_number)


def _form(given: str | None) -> str:
    """The format of a report: the page alone, or a PDF beside it."""
    from gamut_analysis.report import FORMATS

    form = typed("FORMAT", given) or "html"
    _one_of("FORMAT", form, FORMATS)
    return form


def _use_profile(given: str | None) -> None:
    """Size figures for a medium, here and in the kernels that this process starts."""
    profile = typed("PROFILE", given) or "screen"
    os.environ.pop("GAMUT_PROFILE", None)
    from gamut_analysis.charts import theme

    theme.enable(profile)
    os.environ["GAMUT_PROFILE"] = profile


def _warn(warning: str) -> None:
    err.print(Text(warning), soft_wrap=True)


def _tell(page: Path, form: str) -> None:
    """Print where a report is."""
    written = [page] if form == "html" else [page, page.parent / f"{page.stem}.{form}"]
    out.print(Text("\n".join(map(str, written))), soft_wrap=True)


@app.command()
def build(data: Data = None, manifest: Manifest = None, strict: Strict = False) -> None:
    """Build the database of the data that ships, or of a folder, if it is not there yet or out of date."""
    strict = strict or bool(typed("STRICT"))
    database = _ready(typed("DATA", data), typed("MANIFEST", manifest), strict)
    out.print(_summary(database), soft_wrap=True)


@app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(help="the folder that holds the files")],
    into: Annotated[Path | None, typer.Option(help="where to put the database")] = None,
    manifest: Manifest = None,
    strict: Strict = False,
) -> None:
    """Read a folder of verdicts into a database; tells what was read, rejected and left unread."""
    target = into or datasets.default_database(str(folder))
    with bar() as shown:
        task = shown.add_task("import", total=None)
        datasets.build(
            folder,
            target,
            manifest=manifest or "",
            strict=strict,
            progress=lambda step, n, of: shown.update(task, description=step, completed=n, total=of),
            tell=lambda profile: out.print(Text(profile), soft_wrap=True),
        )
    out.print(_summary(target), soft_wrap=True)
    _print_rejects(target, limit=20)


@app.command()
def describe(database: Database) -> None:
    """What a database holds: the grid, the coverage, what was rejected and what could not be graded."""
    for name, frame in tables.describe(database).items():
        print_frame(name.replace("_", " "), frame)


@app.command()
def report(
    model: Model = None,
    data: Data = None,
    manifest: Manifest = None,
    judge: Judge = None,
    variant: Variant = None,
    seed: Seed = None,
    form: Format = None,
) -> None:
    """Write the report of one model as one self-contained page, and as a PDF if that is asked for."""
    from gamut_analysis.report import model_report

    wanted = typed("MODEL", model)
    if not wanted.strip():
        raise UnknownName("MODEL is missing: make report MODEL=gemini-3.1-pro (or gamut report --model ...)")
    form = _form(form)
    study = _study(data, manifest, judge, variant, seed, wanted)
    label = _labels(study, [study.model], typed("DATA", data))[study.model]
    _tell(model_report(study, label=label, form=form, progress=err.is_terminal, warn=_warn), form)


def _labels(study: "Study", models: Iterable[str], data: str) -> dict[str, str]:
    """A report's name by model: the model, after the data and before the judge and the variant that are not default."""
    plain = replace(study, model="", judge="")
    others = [
        *([study.judge] if study.judge != plain.judge else []),
        *([study.variant] if study.variant != replace(plain, variant="").variant else []),
    ]
    shown = [] if data in ("", datasets.DEFAULT) else [Path(data).name.removesuffix(".duckdb") or data]
    return {model: "--".join([*shown, model, *others]) for model in models}


@app.command()
def reports(
    data: Data = None,
    manifest: Manifest = None,
    judge: Judge = None,
    variant: Variant = None,
    seed: Seed = None,
    form: Format = None,
) -> None:
    """Write the report of every model, two at a time, and an index of them."""
    from gamut_analysis.report import all_reports

    form = _form(form)
    study = _study(data, manifest, judge, variant, seed)
    labels = _labels(study, study.models["model"], typed("DATA", data))
    with bar() as shown:
        task = shown.add_task("reports", total=len(labels))
        index = all_reports(study, labels, done=lambda: shown.advance(task), form=form, warn=_warn)
    out.print(Text(str(index)), soft_wrap=True)


@app.command()
def figures(
    data: Data = None,
    manifest: Manifest = None,
    judge: Judge = None,
    variant: Variant = None,
    seed: Seed = None,
    profile: Profile = None,
) -> None:
    """Run the notebooks and write every figure (SVG, PNG, PDF) and table (CSV, LaTeX) of theirs."""
    _use_profile(profile)
    from gamut_analysis.report import all_figures

    study = _study(data, manifest, judge, variant, seed)
    with bar() as shown:
        task = shown.add_task("figures", total=None)
        index = all_figures(
            study, progress=lambda step, n, of: shown.update(task, description=step, completed=n, total=of), warn=_warn
        )
    out.print(Text(str(index)), soft_wrap=True)


@app.command()
def site(
    data: Data = None,
    manifest: Manifest = None,
    judge: Judge = None,
    variant: Variant = None,
    seed: Seed = None,
    profile: Profile = None,
) -> None:
    """Write all reports, notebooks and figures into one folder that any host of files can serve."""
    _use_profile(profile)
    from gamut_analysis.report import site as written

    study = _study(data, manifest, judge, variant, seed)
    labels = _labels(study, study.models["model"], typed("DATA", data))
    with bar() as shown:
        task = shown.add_task("site", total=None)
        index = written(
            study,
            labels,
            progress=lambda step, n, of: shown.update(task, description=step, completed=n, total=of),
            warn=_warn,
        )
    out.print(Text(str(index)), soft_wrap=True)


@app.command()
def rank(
    data: Data = None, manifest: Manifest = None, judge: Judge = None, variant: Variant = None, seed: Seed = None
) -> None:
    """The leaderboard with intervals, rank sets and tied groups, as a table for a paper."""
    from gamut_analysis.chapters import common, leaderboard
    from gamut_analysis.display import table_text

    study = _study(data, manifest, judge, variant, seed)
    out.print(Text(table_text(leaderboard.rank_table(study, common.board(study)))), soft_wrap=True)


@app.command()
def compare(
    model_a: Annotated[str, typer.Argument(help="a model")],
    model_b: Annotated[str, typer.Argument(help="another")],
    data: Data = None,
    manifest: Manifest = None,
    judge: Judge = None,
    variant: Variant = None,
    seed: Seed = None,
) -> None:
    """Two models on the questions that both have: paired differences with intervals and p, as a table for a paper."""
    from gamut_analysis.chapters import compare as chapter
    from gamut_analysis.display import table_text

    study, other = chapter.two(_study(data, manifest, judge, variant, seed, model_a), model_b)
    out.print(Text(table_text(chapter.compare_table(study, other, chapter.comparison(study, other)))), soft_wrap=True)


@app.command("compare-report")
def compare_report(
    a: Annotated[str | None, typer.Option("--a", help="a model; the best that is left if not given")] = None,
    b: Annotated[str | None, typer.Option("--b", help="another; the best that is left if not given")] = None,
    data: Data = None,
    manifest: Manifest = None,
    judge: Judge = None,
    variant: Variant = None,
    seed: Seed = None,
    form: Format = None,
) -> None:
    """Write two models against each other as one self-contained page, and as a PDF if that is asked for."""
    from gamut_analysis.chapters.compare import two
    from gamut_analysis.report import compare_report as written

    form = _form(form)
    study, other = two(_study(data, manifest, judge, variant, seed, typed("A", a)), typed("B", b))
    if not other:
        raise UnknownName(f"this data has one model only: {study.model!r}")
    pair = f"{study.model}--vs--{other}"
    label = _labels(study, [pair], typed("DATA", data))[pair]
    _tell(written(study, other, label=label, form=form, progress=err.is_terminal, warn=_warn), form)


Rubrics = Annotated[list[Path], typer.Argument(help="rubric files (.yaml, .json, .jsonl) or folders of .yaml files")]


@app.command("compile")
def compile_(
    rubrics: Rubrics,
    variant: Annotated[str, typer.Option(help="multimodal or text_only")] = "multimodal",
    form: Annotated[str, typer.Option("--format", help="table, jsonl or parquet")] = "table",
    into: Annotated[Path | None, typer.Option(help="write here instead of to the terminal")] = None,
) -> None:
    """Compile meta-rubrics into binary checks by the fixed rules."""
    from gamut_analysis.compiler import checks_frame
    from gamut_analysis.rubric import load_rubrics

    _one_of("--variant", variant, VARIANTS)
    _one_of("--format", form, ("table", "jsonl", "parquet"))
    checks = checks_frame(load_rubrics(rubrics), variant)
    if form == "table":
        print_frame("", checks.select("question_id", "check_id", "tier", "role", "text"))
    elif form == "jsonl":
        _write(checks.write_ndjson().encode(), into)
    else:
        buffer = io.BytesIO()
        checks.write_parquet(buffer)
        _write(buffer.getvalue(), into)


@app.command()
def explain(
    rubrics: Rubrics, variant: Annotated[str, typer.Option(help="multimodal or text_only")] = "multimodal"
) -> None:
    """Show meta-rubrics as trees with the checks that each item became, coloured by tier."""
    from gamut_analysis.explain import explain as explained
    from gamut_analysis.rubric import load_rubrics

    _one_of("--variant", variant, VARIANTS)
    for meta in load_rubrics(rubrics):
        out.print(explained(meta, variant))


@app.command()
def lint(rubrics: Rubrics) -> None:
    """Look for leading questions, overlapping options, vague checks, unbalanced tiers and near-duplicate questions."""
    from gamut_analysis.lint import lint_files

    findings = lint_files(rubrics)
    for finding in findings:
        out.print(Text(str(finding)), soft_wrap=True)
    out.print(f"{len(findings)} findings")
    if findings:
        raise typer.Exit(1)


@app.command()
def schema(into: Annotated[Path | None, typer.Option(help="write here instead of to the terminal")] = None) -> None:
    """The JSON Schema of a meta-rubric, for editors that complete and check."""
    from gamut_analysis.rubric import meta_rubric_schema

    _write((json.dumps(meta_rubric_schema(), indent=2, ensure_ascii=False) + "\n").encode(), into)


def _one_of(option: str, given: str, legal: Sequence[str]) -> None:
    if given not in legal:
        raise UnknownName(f"{option} {given!r}: one of {', '.join(legal)} is needed")


def _write(content: bytes, into: Path | None) -> None:
    if into is None:
        sys.stdout.buffer.write(content)
    else:
        into.write_bytes(content)


@app.command()
def clean() -> None:
    """Delete what is generated: databases, simulated worlds, reports."""
    for folder in (paths.warehouse(), paths.data() / "simulated"):
        shutil.rmtree(folder, ignore_errors=True)
    for path in paths.reports().glob("*"):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.suffix == ".html":
            path.unlink()


def _summary(database: Path) -> Text:
    frames = tables.read_all(database, ("dataset", "sources", "rejects", "models", "judges", "questions", "coverage"))
    told = frames["dataset"].row(0, named=True)
    kind = "SIMULATED" if told["simulated"] else "real"
    graded = frames["coverage"]["checks_graded"].sum()
    lines = [
        f"{database}: {told['title']} ({kind} data)",
        f"  {frames['models'].height} models, {frames['judges'].height} judges, "
        f"{frames['questions']['question_id'].n_unique():,} questions, {graded:,} verdicts",
        f"  {frames['sources'].height} files, {frames['rejects'].height} rejected values",
    ]
    if told["assumptions"]:
        lines.extend(f"  {line}" for line in told["assumptions"].splitlines())
    return Text("\n".join(lines))


def _print_rejects(database: Path, limit: int) -> None:
    rejects = tables.read(database, "rejects")
    for row in rejects.head(limit).iter_rows():
        err.print(Text(tables.describe_reject(*row)), soft_wrap=True)
    if rejects.height > limit:
        err.print(f"... and {rejects.height - limit} more: gamut describe {database}")


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
