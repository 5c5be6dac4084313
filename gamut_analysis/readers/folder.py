"""A folder of delivered files: which file holds what, read whole, into one text frame a table."""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from gamut_analysis.errors import InputError, ManifestError
from gamut_analysis.readers import delimited, json, jsonl, parquet
from gamut_analysis.readers.delivery import (
    FIELDS,
    NEEDED,
    NESTED,
    NESTED_FIELDS,
    TABLES,
    Delivery,
    Reject,
    Rows,
    Source,
    as_text,
    delivered_schema,
    records_frame,
)
from gamut_analysis.readers.manifest import NAME, Manifest, TableSpec, find

Reader = Callable[[Path, tuple[str, ...]], Rows]
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
_BASE = "base_id"
_JOINT = "|"


def read_folder(folder: Path, manifest: Path | None = None, progress: Progress | None = None) -> Delivery:
    """Read all tables that a folder delivers.

    Files are found by name (``verdicts.parquet``, ``checks-00001.jsonl.gz``, ``verdicts/part-3.csv``) or by the
    folder's ``gamut.toml``. Raises InputError or ManifestError; rows that cannot be used are listed, never dropped.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder")
    told = find(folder, manifest)
    plan = [(table, path) for table in TABLES for path in _files(folder, told, table)]
    if not any(table == "verdicts" for table, _ in plan):
        raise InputError(_nothing_found(folder))
    delivery = Delivery(dataset=_dataset(folder, told), tables={}, labels=dict(told.labels), tiers=dict(told.tiers))
    frames: dict[str, list[pl.DataFrame]] = {table: [] for table in TABLES}
    for number, (table, path) in enumerate(plan, 1):
        if progress:
            progress(path.name, number, len(plan))
        _read_file(delivery, frames, folder, path, table, told.spec(table), number)
    _add_named(frames, told)
    empty = {table: pl.DataFrame(schema=delivered_schema(table)) for table in TABLES}
    bases = _bases(frames)
    delivery.tables = {
        table: _expanded(pl.concat([empty[table], *frames[table]], how="diagonal"), table, bases) for table in TABLES
    }
    delivery.unused = _unused(folder, [path for _, path in plan])
    _without_tiers(delivery)
    return delivery


def _without_tiers(delivery: Delivery) -> None:
    """Data that knows neither a rubric nor tiers: every check counts as Answer-Critical, and the database says so."""
    verdicts = delivery.tables["verdicts"]
    if delivery.tables["checks"].is_empty() and verdicts["tier"].null_count() == verdicts.height:
        delivery.tables["verdicts"] = verdicts.with_columns(tier=pl.lit("answer_critical"))
        delivery.notes.append("The data names no tiers: every check counts as Answer-Critical.")


def inputs(folder: Path, manifest: Path | None = None) -> list[Path]:
    """The files that a build of this folder depends on, the manifest included."""
    told = find(folder, manifest)
    files = {path for table in TABLES for path in _files(folder, told, table)}
    return sorted(files | ({told.path} if told.path else set()))


def _dataset(folder: Path, told: Manifest) -> dict[str, Any]:
    return {"name": folder.resolve().name, "simulated": False, **told.dataset}


def _files(folder: Path, told: Manifest, table: str) -> list[Path]:
    patterns = told.spec(table).files
    if patterns is None:
        return sorted(path for path in _candidates(folder) if _table_of(folder, path) == table)
    found: list[Path] = []
    for pattern in patterns:
        matches = sorted(path for path in folder.glob(pattern) if path.is_file())
        if not matches:
            raise ManifestError(f"{told.path}: [{table}] files: nothing in {folder} matches {pattern!r}")
        found.extend(path for path in matches if path not in found)
    return found


def _candidates(folder: Path) -> list[Path]:
    return [path for path in (*folder.glob("*"), *folder.glob("*/*")) if path.is_file() and _format(path)]


def _format(path: Path) -> str | None:
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
    others = [path for path in folder.rglob("*") if path.is_file() and path not in used and path.name != NAME]
    return sorted(str(path.relative_to(folder)) for path in others if not path.name.startswith("."))


def _nothing_found(folder: Path) -> str:
    here = sorted(path.name for path in folder.iterdir())
    listed = ", ".join(here[:12]) or "nothing"
    return (
        f"{folder}: no verdicts here. A file `verdicts.*` ({', '.join(READERS)}; also .gz, .zst) is needed, or a "
        f"{NAME} that says which file holds them. The folder holds: {listed}"
    )


def _read_file(
    delivery: Delivery,
    frames: dict[str, list[pl.DataFrame]],
    folder: Path,
    path: Path,
    table: str,
    spec: TableSpec,
    source_id: int,
) -> None:
    kind = _format(path)
    if kind is None:
        raise InputError(f"{path}: the format is told by the extension, one of {', '.join(READERS)} (also .gz, .zst)")
    reader, read = READERS[kind]
    rows = read(path, _usual_fields(table, spec))
    nested = table == "verdicts" and NESTED in rows.frame.columns
    if nested:
        frames["answers"].append(_outer_answers(rows.frame, spec, source_id))
        rows = _unnest(rows)
    frames[table].append(_named(rows.frame, table, spec, path, source_id))
    delivery.rejects.extend((source_id, reject) for reject in rows.rejects)
    name = path.relative_to(folder) if path.is_relative_to(folder) else path.name
    modified = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    delivery.sources.append(Source(source_id, str(name), table, _sha256(path), reader, modified, rows.rows_read))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _usual_fields(table: str, spec: TableSpec) -> tuple[str, ...]:
    """Names of columns that lines of this table usually carry, under our names and the ones that the manifest gives."""
    names: dict[str, None] = dict.fromkeys(FIELDS[table])
    for aliases in FIELDS[table].values():
        names.update(dict.fromkeys(aliases))
    for column in spec.columns.values():
        names.update(dict.fromkeys((column,) if isinstance(column, str) else column))
    return tuple(names)


def _named(frame: pl.DataFrame, table: str, spec: TableSpec, path: Path, source_id: int) -> pl.DataFrame:
    """The file's columns under our names; what has no name of ours goes to ``extra`` as JSON."""
    taken: set[str] = set()
    columns: list[pl.Expr] = []
    for name in FIELDS[table]:
        parts = _parts(frame, table, name, spec, path)
        taken.update(parts)
        columns.append(_joined(parts, spec.constants.get(name)).alias(name))
        if name == "question_id" and len(parts) > 1:
            columns.append(pl.col(parts[0]).alias(_BASE))
    left = [name for name in frame.columns if name not in taken and name != "row"]
    columns.append(_extra(left).alias("extra"))
    named = frame.select(*columns, pl.lit(source_id, dtype=pl.Int32).alias("source_id"), "row")
    _check_needed(named, frame, table, spec, path)
    return named


def _parts(frame: pl.DataFrame, table: str, name: str, spec: TableSpec, path: Path) -> tuple[str, ...]:
    told = spec.columns.get(name)
    if told is None:
        return next(((alias,) for alias in (name, *FIELDS[table][name]) if alias in frame.columns), ())
    parts = (told,) if isinstance(told, str) else told
    if absent := [part for part in parts if part not in frame.columns]:
        have = ", ".join(column for column in frame.columns if column != "row")
        raise ManifestError(f"{path}: no column {absent[0]!r} for {table}.{name}; the file has: {have}")
    return parts


def _joined(parts: tuple[str, ...], constant: str | None) -> pl.Expr:
    if not parts:
        return pl.lit(constant, dtype=pl.String)
    column = pl.col(parts[0]) if len(parts) == 1 else pl.concat_str(*(pl.col(part) for part in parts), separator=_JOINT)
    return column if constant is None else column.fill_null(constant)


def _extra(names: Sequence[str]) -> pl.Expr:
    return pl.struct(*names).struct.json_encode() if names else pl.lit(None, dtype=pl.String)


def _check_needed(named: pl.DataFrame, frame: pl.DataFrame, table: str, spec: TableSpec, path: Path) -> None:
    if frame.height == 0:
        return
    for name in NEEDED[table]:
        if named[name].null_count() == named.height and not _delivered(frame, table, name, spec):
            have = ", ".join(column for column in frame.columns if column != "row")
            words = " or ".join((name, *FIELDS[table][name]))
            raise InputError(
                f"{path}: the {table} need a column {words}; the file has: {have}. Name it in {NAME}: "
                f'[{table}] columns = {{ {name} = "..." }}, or constants for one value that holds for every row'
            )


def _delivered(frame: pl.DataFrame, table: str, name: str, spec: TableSpec) -> bool:
    return name in spec.columns or any(alias in frame.columns for alias in (name, *FIELDS[table][name]))


def _unnest(rows: Rows) -> Rows:
    """One row for each member of the lists of verdicts; members' fields stand before the outer row's."""
    outer = rows.frame.drop([name for name in (NESTED, "error") if name in rows.frame.columns])
    records: list[dict[str, Any]] = []
    numbers: list[int] = []
    rejects = list(rows.rejects)
    for record, text in zip(outer.iter_rows(named=True), rows.frame[NESTED], strict=True):
        members, reason = _members(text)
        if reason:
            rejects.append(Reject(record["row"], NESTED, text, reason))
        for member in members:
            inner = {NESTED_FIELDS.get(name, name): as_text(value) for name, value in member.items()}
            records.append({name: value for name, value in record.items() if name != "row"} | inner)
            numbers.append(record["row"])
    return Rows(records_frame(records, numbers), rows.rows_read, tuple(rejects))


def _members(text: str | None) -> tuple[list[dict[str, Any]], str | None]:
    if text is None:
        return [], None
    try:
        members = jsonl.decode(text.encode())
    except ValueError as error:
        return [], f"not valid JSON ({error})"
    if isinstance(members, dict):
        members = [value | {"check_id": key} for key, value in members.items() if isinstance(value, dict)]
    if not isinstance(members, list) or not all(isinstance(member, dict) for member in members):
        return [], "a list of objects, one a check, is needed"
    return members, None


def _outer_answers(frame: pl.DataFrame, spec: TableSpec, source_id: int) -> pl.DataFrame:
    """The answers that rows with lists of verdicts speak of, so that one without verdicts is still listed."""
    outer = TableSpec(
        columns={name: column for name, column in spec.columns.items() if name in FIELDS["answers"]},
        constants={name: value for name, value in spec.constants.items() if name in FIELDS["answers"]},
    )
    answers = _named(frame.drop(NESTED), "answers", outer, Path("verdicts"), source_id)
    return answers.unique(["model", "variant", "question_id"], keep="first", maintain_order=True)


def _add_named(frames: dict[str, list[pl.DataFrame]], told: Manifest) -> None:
    """Models and judges that the manifest names, as rows of their tables."""
    for table, key, entries in (("models", "model", told.models), ("judges", "judge", told.judges)):
        rows = [
            {name: None for name in delivered_schema(table)} | dict(entry) | {key: slug}
            for slug, entry in entries.items()
        ]
        if rows:
            frames[table].append(pl.DataFrame(rows, schema=delivered_schema(table)))


def _bases(frames: dict[str, list[pl.DataFrame]]) -> pl.DataFrame | None:
    """Joined question ids with the id of the question that they rest on."""
    joined = [
        frame.select("question_id", _BASE).unique()
        for table in ("verdicts", "answers")
        for frame in frames[table]
        if _BASE in frame.columns
    ]
    return pl.concat(joined).unique().sort("question_id") if joined else None


def _expanded(frame: pl.DataFrame, table: str, bases: pl.DataFrame | None) -> pl.DataFrame:
    """Questions and checks of a base question, once for each joined id; joined ids of one base share a cluster."""
    if bases is None or table not in ("questions", "checks", "items"):
        return frame.drop(_BASE, strict=False)
    if _BASE in frame.columns:
        return frame.with_columns(_cluster(table)).drop(_BASE)
    renamed = bases.rename({_BASE: "question_id", "question_id": "joined"})
    expanded = frame.join(renamed, on="question_id", how="left", maintain_order="left_right")
    expanded = expanded.with_columns(
        pl.col("question_id").alias(_BASE), pl.coalesce("joined", "question_id").alias("question_id")
    )
    if table == "questions":
        expanded = expanded.filter(pl.col("joined").is_not_null() | ~pl.col(_BASE).is_in(bases[_BASE].implode()))
    return expanded.with_columns(_cluster(table)).select(delivered_schema(table))


def _cluster(table: str) -> Iterable[pl.Expr]:
    return [pl.coalesce("cluster", _BASE).alias("cluster")] if table == "questions" else []
