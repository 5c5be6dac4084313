"""A folder of delivered files: which file holds what, read whole, into one text frame a table."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from gamut_analysis.errors import InputError, ManifestError
from gamut_analysis.readers import delimited, inspect_file, inspect_log, json, jsonl, nested, parquet, release, replies
from gamut_analysis.readers.delivery import (
    FIELDS,
    NEEDED,
    TABLES,
    Delivery,
    Reject,
    Rows,
    Source,
    delivered_schema,
    source_of,
)
from gamut_analysis.readers.joined import expand
from gamut_analysis.readers.manifest import NAME, Manifest, TableSpec, find
from gamut_analysis.readers.naming import BASE, check_needed, naming, under_our_names, without_misformed
from gamut_analysis.vocabulary import as_variant

Reader = Callable[[Path], Rows]
Progress = Callable[[str, int, int], None]
READERS: dict[str, tuple[str, Reader]] = {
    ".parquet": ("parquet", parquet.read),
    ".csv": ("csv", delimited.read),
    ".tsv": ("tsv", delimited.read),
    ".json": ("json", json.read),
    ".jsonl": ("jsonl", jsonl.read),
    ".ndjson": ("jsonl", jsonl.read),
}
_PACKED = (".gz", ".zst")
_PRIMARY = ("verdicts", "replies", "checks")
# What a file of rubrics may be called by those who do not know that it is one.
_OF_RUBRICS = ("questions", "checks")
_WITH_VARIANT = ("verdicts", "answers", "questions", "checks")


@dataclass(frozen=True)
class _Piece:
    """What one file gave: its source, its rejects, and its rows by table."""

    source: Source
    rejects: tuple[Reject, ...]
    frames: list[tuple[str, pl.DataFrame]]


def read_folder(folder: Path, manifest: Path | None = None, progress: Progress | None = None) -> Delivery:
    """Read all tables that a folder delivers: verdicts, or at least the checks of a rubric.

    Files are found by name (``verdicts.parquet``, ``checks-00001.jsonl.gz``, ``verdicts/part-3.csv``) or by the
    folder's ``gamut.toml``; those of the public release and logs of Inspect by what they hold. Raises InputError or
    ManifestError; rows that cannot be used are listed, never dropped.
    """
    plan, released, logs, told = _plan(folder, manifest)
    pieces: list[_Piece] = []
    for number, (table, path) in enumerate(plan, 1):
        if progress:
            progress(path.name, number, len(plan))
        pieces.append(_read_file(folder, path, table, told.spec(table), number, _needed(table, plan, logs)))
    found = release.read(
        released, root=folder, first_source_id=len(plan) + 1, infer_roles=told.dataset.get("infer_roles", True)
    )
    pieces += _found_pieces(found)
    logged = inspect_log.read(logs, told, folder, len(pieces) + 1)
    pieces += _found_pieces(_without_told_questions(logged, pieces))
    _check_any(folder, pieces)
    own = found.dataset if released else {}
    delivery = Delivery(
        dataset={"name": folder.resolve().name, "simulated": False, **own, **told.dataset},
        tables=expand({table: _gathered(table, pieces, told) for table in TABLES}),
        sources=[piece.source for piece in pieces],
        rejects=[(piece.source.source_id, reject) for piece in pieces for reject in piece.rejects],
        labels=dict(told.labels),
        tiers=dict(told.tiers),
        profiles=[str(profile) for profile in found.profiles],
        unused=_unused(folder, [*released, *logs, *(path for _, path in plan)]),
        notes=[*found.notes, *logged.notes],
    )
    delivery.rejects += replies.graded(delivery.tables, delivery.labels)
    _check_default_judge(delivery, told)
    _fill_in(delivery)
    sources = [source.source_id for source in logged.sources]
    delivery.rejects += inspect_log.spread_failures(delivery.tables, sources)
    return delivery


def read_table(path: Path, table: str, constants: Mapping[str, str]) -> tuple[pl.DataFrame, tuple[Reject, ...]]:
    """One file as one table under our names, and what of it could not be used; constants fill in what it lacks.

    A ``gamut.toml`` beside the file tells of it as it does in a folder of verdicts.
    """
    told = find(path.parent, None).spec(table)
    given = {name: value for name, value in constants.items() if value}
    spec = TableSpec(columns=told.columns, constants={**given, **told.constants})
    piece = _read_file(path.parent, path, table, spec, 1, NEEDED[table])
    empty = pl.DataFrame(schema=delivered_schema(table) | {BASE: pl.String})
    return pl.concat([empty, *(frame for _, frame in piece.frames)], how="diagonal"), piece.rejects


def inputs(folder: Path, manifest: Path | None = None) -> list[Path]:
    """The files that a build of this folder depends on, the manifest included."""
    plan, released, logs, told = _plan(folder, manifest)
    return sorted({path for _, path in plan} | {*released, *logs} | ({told.path} if told.path else set()))


def _plan(folder: Path, manifest: Path | None) -> tuple[list[tuple[str, Path]], list[Path], list[Path], Manifest]:
    """The files to read, each with its table, those of the release, the logs, and the manifest that tells of them."""
    if not folder.is_dir():
        raise InputError(f"{folder}: {'a file; a folder is needed' if folder.exists() else 'there is no such folder'}")
    told = find(folder, manifest)
    try:
        plan = [(table, path) for table in TABLES for path in _files(folder, told, table)]
        plan, logs = _without_logs(folder, told, plan)
        plan, released = _without_release(folder, plan, logs)
        if not released and not logs and not any(table in _PRIMARY for table, _ in plan):
            raise InputError(_nothing_found(folder))
    except OSError as error:
        raise InputError(f"{folder}: not readable ({error.strerror})") from error
    return plan, released, logs, told


def _without_logs(
    folder: Path, told: Manifest, plan: Sequence[tuple[str, Path]]
) -> tuple[list[tuple[str, Path]], list[Path]]:
    """The plan, and the logs: those in the folder itself, or those that the manifest names."""
    patterns = told.inspect.files
    logs = inspect_log.find(folder) if patterns is None else _named(folder, told, "inspect", patterns)
    named = [(table, path) for table, path in plan if path not in logs]
    logs += [path for _, path in named if inspect_file.is_log(path)]
    return [(table, path) for table, path in named if path not in logs], list(dict.fromkeys(logs))


def _without_release(
    folder: Path, plan: Sequence[tuple[str, Path]], logs: Sequence[Path]
) -> tuple[list[tuple[str, Path]], list[Path]]:
    """The plan, and the files of the release: rubrics by any name, answers where no name tells a table."""
    held = release.find(folder, but=[*logs, *(path for table, path in plan if table not in _OF_RUBRICS)])
    named = [(table, path) for table, path in plan if held.get(path) != "rubrics"]
    taken = {path for _, path in named}
    return named, [path for path in held if path not in taken]


def _found_pieces(found: release.Release | inspect_log.Found) -> list[_Piece]:
    """What each file gave of those that were read together."""
    return [
        _Piece(
            source,
            tuple(reject for source_id, reject in found.rejects if source_id == source.source_id),
            [(table, frame.filter(source_id=source.source_id)) for table, frame in found.tables.items()],
        )
        for source in found.sources
    ]


def _without_told_questions(logged: inspect_log.Found, pieces: Sequence[_Piece]) -> inspect_log.Found:
    """What logs gave, less the questions that another file tells of."""
    told = [frame["question_id"] for piece in pieces for table, frame in piece.frames if table == "questions"]
    questions = logged.tables.get("questions")
    if not told or questions is None:
        return logged
    untold = questions.filter(~pl.col("question_id").is_in(pl.concat(told).drop_nulls().implode()))
    return replace(logged, tables=logged.tables | {"questions": untold})


def _files(folder: Path, told: Manifest, table: str) -> list[Path]:
    patterns = told.spec(table).files
    if patterns is None:
        return [path for path in _candidates(folder) if _table_of(folder, path) == table]
    return _named(folder, told, table, patterns)


def _named(folder: Path, told: Manifest, table: str, patterns: Sequence[str]) -> list[Path]:
    """The files that the manifest names. Raises ManifestError for a name or pattern that nothing matches."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        matches = _matches(folder, pattern)
        if not matches:
            raise ManifestError(f"{told.path}: [{table}] files: nothing in {folder} matches {pattern!r}")
        found.update(dict.fromkeys(matches))
    return list(found)


def _matches(folder: Path, pattern: str) -> list[Path]:
    """The files of one name or pattern; a file whose very name it is comes before any pattern."""
    if (folder / pattern).is_file():
        return [folder / pattern]
    if Path(pattern).is_absolute():
        return []
    return sorted(path for path in folder.glob(pattern) if path.is_file())


def _candidates(folder: Path) -> list[Path]:
    """Readable files of the folder and of the folders in it that are called like a table."""
    folders = [path for path in folder.iterdir() if path.is_dir() and path.name.lower() in TABLES]
    files = [path for place in (folder, *folders) for path in place.iterdir()]
    return sorted(path for path in files if not path.name.startswith(".") and _extension(path) and path.is_file())


def _extension(path: Path) -> str | None:
    """The file's format by its extension, through one of a packer."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _PACKED:
        suffixes.pop()
    return suffixes[-1] if suffixes and suffixes[-1] in READERS else None


def _table_of(folder: Path, path: Path) -> str | None:
    """The table that a file's name says it holds: its stem, or the name of the folder that it lies in."""
    stem = re.split(r"[-_. ]", path.name.lower(), maxsplit=1)[0]
    if path.parent != folder:
        stem = path.parent.name.lower()
    return stem if stem in TABLES else None


def _unused(folder: Path, used: Sequence[Path]) -> list[str]:
    places = {folder, *(path.parent for path in used if path.is_relative_to(folder))}
    others = {path for place in places for path in place.iterdir() if path.is_file()} - set(used)
    return sorted(str(path.relative_to(folder)) for path in others if path.name != NAME and path.name[0] != ".")


def _nothing_found(folder: Path) -> str:
    here = sorted(path.name for path in folder.iterdir())
    more = f" and {len(here) - 12} more" if len(here) > 12 else ""
    return (
        f"{folder}: no verdicts here. A file `verdicts.*` ({', '.join(READERS)}; also .gz, .zst) or a log "
        f"of Inspect ({inspect_file.ARCHIVE}) is needed, or a {NAME} that says which file holds them. The folder "
        f"holds: {', '.join(here[:12]) or 'nothing'}{more}"
    )


def _needed(table: str, plan: Sequence[tuple[str, Path]], logs: Sequence[Path]) -> tuple[str, ...]:
    """The fields that a table must have; where no verdict refers to them, checks are numbered for want of an id."""
    if table == "checks" and not logs and not any(other in ("verdicts", "replies") for other, _ in plan):
        return tuple(name for name in NEEDED[table] if name != "check_id")
    return NEEDED[table]


def _gathered(table: str, pieces: Sequence[_Piece], told: Manifest) -> pl.DataFrame:
    """The rows of one table from all files; what the manifest says of models and judges comes first."""
    schema = delivered_schema(table) | {BASE: pl.String}
    entries = {"models": told.models, "judges": told.judges}.get(table, {})
    named = [{**entry, table.removesuffix("s"): name} for name, entry in entries.items()]
    frames = [frame for piece in pieces for kind, frame in piece.frames if kind == table]
    return pl.concat([pl.DataFrame(named, schema=schema), *frames], how="diagonal")


def _read_file(
    folder: Path, path: Path, table: str, spec: TableSpec, source_id: int, needed: tuple[str, ...]
) -> _Piece:
    """The tables that one file holds: the one that it is said to, and for nested verdicts their answers as well."""
    reader, rows = _rows_of(path)
    frames: list[tuple[str, pl.DataFrame]] = []
    misformed: list[Reject] = []
    if table == "verdicts" and nested.is_nested(rows):
        frames = _nested_answers(rows, spec, path, source_id)
        rows = nested.members(rows, spec)
    named = naming(rows.frame.columns, table, spec, path)
    if rows.numbers.len():
        check_needed(named, needed, path)
        frame, misformed = without_misformed(under_our_names(rows, named, source_id))
        frames.append((table, frame))
    source = source_of(source_id, path, folder, table, reader, rows.rows_read, named.mapped)
    return _Piece(source, (*rows.rejects, *misformed), frames)


def _rows_of(path: Path) -> tuple[str, Rows]:
    """The rows of a file, by what it holds where that can be told, else by its extension."""
    extension = _extension(path)
    try:
        with path.open("rb") as file:
            if file.read(len(parquet.MAGIC)) == parquet.MAGIC:
                extension = ".parquet"
        if extension is None:
            known = ", ".join(READERS)
            raise InputError(f"{path}: the format is told by the extension, one of {known} (also .gz, .zst)")
        name, read = READERS[extension]
        return name, read(path)
    except OSError as error:
        raise InputError(f"{path}: not readable ({error.strerror or error})") from error


def _nested_answers(rows: Rows, spec: TableSpec, path: Path, source_id: int) -> list[tuple[str, pl.DataFrame]]:
    records = nested.answers(rows, spec)
    there, known = set(records.frame.columns), FIELDS["answers"]
    of_answers = TableSpec(
        columns={name: column for name, column in spec.columns.items() if name in known and there.issuperset(column)},
        constants={name: value for name, value in spec.constants.items() if name in known},
    )
    named = naming(records.frame.columns, "answers", of_answers, path)
    if not (records.numbers.len() and named.gives("model") and named.gives("question_id")):
        return []
    return [("answers", nested.once(under_our_names(records, named, source_id)))]


def _check_any(folder: Path, pieces: Sequence[_Piece]) -> None:
    """Raise InputError when the files that matter are there and hold nothing that can be used."""
    for table in _PRIMARY:
        told = [piece for piece in pieces if piece.source.table_name == table]
        if not told or any(frame.height for piece in told for _, frame in piece.frames):
            continue
        files = ", ".join(piece.source.file for piece in told[:5])
        bad = next((f" ({p.source.file}:{p.rejects[0].row}: {p.rejects[0].reason})" for p in told if p.rejects), "")
        raise InputError(f"{folder}: there is not one row of {table} that can be read in {files}{bad}")


def _check_default_judge(delivery: Delivery, told: Manifest) -> None:
    wanted = told.dataset.get("default_judge")
    judges = delivery.tables["verdicts"]["judge"].unique().drop_nulls().sort().to_list()
    if wanted is None or not judges or wanted in judges:
        return
    near = difflib.get_close_matches(wanted, judges, n=3, cutoff=0.3) or judges[:5]
    raise ManifestError(f"{told.path}: [data] default_judge = {wanted!r} graded nothing; judges: {', '.join(near)}")


def _fill_in(delivery: Delivery) -> None:
    """Fill in what the data leaves open, and say so."""
    tables, say = delivery.tables, delivery.notes.append
    if tables["checks"].is_empty():
        tables["checks"] = _checks_of(tables["verdicts"])
        say("There is no rubric: the checks are those that the verdicts speak of.")
        if tables["checks"]["tier"].null_count() == tables["checks"].height:
            tables["checks"] = tables["checks"].with_columns(tier=pl.lit("answer_critical"))
            say("The data names no tiers: every check counts as Answer-Critical.")
    checks = tables["checks"]
    if tables["verdicts"].is_empty() and checks["check_id"].null_count() == checks.height:
        number = pl.int_range(1, pl.len() + 1).over("question_id", "variant")
        tables["checks"] = checks.with_columns(check_id=pl.format("c{}", number.cast(pl.String).str.zfill(3)))
        say("The checks have no ids: they are numbered within each question.")
    if all(tables[table]["variant"].null_count() == tables[table].height for table in _WITH_VARIANT):
        say("The data names no variant: every question counts as multimodal.")
    for table, key, users in (("models", "model", ("verdicts", "answers")), ("judges", "judge", ("verdicts",))):
        seen = {name for user in users for name in tables[user][key].unique()}
        if absent := sorted(set(tables[table][key].drop_nulls()) - seen):
            say(f"Named but not in the data: the {table} {', '.join(absent)}.")


def _checks_of(verdicts: pl.DataFrame) -> pl.DataFrame:
    """The checks that verdicts speak of, each with the first line that does; a tier that one line gives is enough."""
    key = ["question_id", "variant", "check_id"]
    checks = verdicts.unique([*key, "tier"], keep="first", maintain_order=True).drop_nulls(["question_id", "check_id"])
    if len({as_variant(text) for text in checks["variant"].unique().drop_nulls()} - {None}) > 1:
        checks = checks.drop_nulls("variant")
    checks = checks.filter(pl.col("tier").is_not_null() | (pl.col("tier").count().over(key) == 0))
    empty = pl.DataFrame(schema=delivered_schema("checks"))
    return pl.concat([empty, checks.select(*key, "tier", "text", "source_id", "row")], how="diagonal")
