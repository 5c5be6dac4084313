"""The warehouse: build the DuckDB file by running ``sql/`` in order, and read its relations as Polars frames.

A build is all or nothing. It writes a new file beside the old one, checks it, and renames it over the old one; killed
at any moment, the previous database is intact. Everything that reads opens the file read-only.
"""

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from gamut_analysis import __version__, paths
from gamut_analysis.errors import BuildError, DatabaseBusy, DatabaseMissing, InputError, RejectedRows, UnknownName
from gamut_analysis.readers.delivery import Delivery
from gamut_analysis.vocabulary import (
    ITEM_TYPES,
    ROLES,
    TIERS,
    VARIANTS,
    VERDICTS,
    as_item_type,
    as_role,
    as_tier,
    as_variant,
    as_verdict,
    normalise_label,
)

LABELS = {"verdict": VERDICTS, "tier": TIERS, "variant": VARIANTS, "role": ROLES, "item_type": ITEM_TYPES}
_MEANING: dict[str, Callable[[str], str | None]] = {
    "verdict": as_verdict,
    "tier": as_tier,
    "variant": as_variant,
    "role": as_role,
    "item_type": as_item_type,
}
# Where delivered tables carry a label of each kind, and an id of each kind.
_LABEL_COLUMNS = {
    "verdict": (("verdicts", "verdict"),),
    "tier": (("verdicts", "tier"), ("checks", "tier"), ("items", "tier"), ("items", "insight_tier")),
    "variant": tuple((table, "variant") for table in ("verdicts", "checks", "questions", "answers", "gradings")),
    "role": (("checks", "role"),),
    "item_type": (("checks", "item_type"), ("items", "item_type")),
}
_ID_COLUMNS = {
    "model": (("verdicts", "model"), ("answers", "model")),
    "judge": (("verdicts", "judge"),),
    "question": tuple((table, "question_id") for table in ("checks", "questions", "answers", "items")),
    "check": (("checks", "check_id"),),
}
STAGING = ("stg_variants", "stg_verdicts", "stg_checks", "stg_questions", "stg_items", "stg_answers", "stg_gradings")
# In order of dependence; the ones in SCRATCH are not kept.
CORE = (
    "dataset",
    "models",
    "judges",
    "checks",
    "questions",
    "items",
    "answers",
    "attempts",
    "rivals",
    "verdicts",
    "gradings",
    "duplicates",
    "faults",
    "rejects",
    "sources",
)
SCRATCH = ("attempts", "rivals", "faults")
MARTS = ("verdict_counts", "coverage", "judge_pairs", "rubric_profile", "question_words", "judging")
RELATIONS = (*(name for name in CORE if name not in SCRATCH), *MARTS)
KEYS: dict[str, tuple[str, ...]] = {
    "models": ("model",),
    "judges": ("judge",),
    "questions": ("variant", "question_id"),
    "items": ("question_id", "item_id"),
    "checks": ("variant", "question_id", "check_id"),
    "answers": ("model", "variant", "question_id"),
    "verdicts": ("model", "judge", "variant", "question_id", "check_id", "replicate"),
    "gradings": ("model", "judge", "variant", "question_id", "replicate"),
    "sources": ("source_id",),
    "verdict_counts": ("model", "judge", "variant", "question_id", "replicate", "tier"),
    "coverage": ("model", "judge", "variant"),
    "judge_pairs": ("model", "variant", "question_id", "judge_a", "judge_b"),
    "rubric_profile": ("variant", "question_id"),
    "question_words": ("variant", "question_id"),
    "judging": ("model", "judge", "variant"),
}
_IDENTITIES = {
    "verdict counts add up to the checks": """
        select count(*) from verdict_counts
        where meets + partially_meets + missing + contradicts + ungraded <> checks or ungraded < 0
    """,
    "every verdict is null with a reason, or not null without one": """
        select count(*) from verdicts where (verdict is null) <> (ungraded_reason is not null)
    """,
    "every delivered verdict stands, is a duplicate, or is rejected": """
        select
            (select count(*) from attempts)
            - (select count(*) from attempts where fault is not null)
            - (select count(*) from verdicts)
            - (select count(*) from rivals where place > 1)
    """,
    "rows read are kept or rejected": """
        select count(*) from sources where rows_kept + rows_rejected <> rows_read or rows_kept < 0
    """,
    "judge pairs mirror each other": """
        select (select coalesce(sum(n_01), 0) from judge_pairs) <> (select coalesce(sum(n_10), 0) from judge_pairs)
    """,
}
_DESCRIBED = (
    "grid",
    "models",
    "judges",
    "judging",
    "questions",
    "sources",
    "rejects",
    "duplicates",
    "ungraded",
    "without_checks",
    "lookalikes",
)
_FOLDERS = {"staging": STAGING, "core": CORE, "marts": MARTS}
_BATCH = 122_880
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Built:
    """What a build did: where the database is, how many rows each relation has, how many rows were rejected."""

    database: Path
    rows: dict[str, int]
    rejected: int


def build(delivery: Delivery, database: Path, *, strict: bool = False, progress: Progress | None = None) -> Built:
    """Build the database of a delivery at the given path.

    Raises RejectedRows when ``strict`` and any row was rejected, InputError when not one verdict can be used, and
    BuildError when a promise does not hold; in all cases, and when the process is killed, the previous database stays.
    """
    _prepare(database)
    fresh = database.with_name(f".{database.name}.building-{os.getpid()}")
    try:
        with _writer(fresh) as connection:
            _load(connection, delivery)
            connection.execute("set enable_external_access = false")
            connection.execute("set lock_configuration = true")
            _run(connection, progress)
            _verify(connection)
            rows = {name: _scalar(connection, f"select count(*) from {name}") for name in RELATIONS}
            if rows["rejects"] and delivery.tables["verdicts"].height and not rows["verdicts"]:
                raise InputError(_nothing_usable(connection, delivery.tables["verdicts"].height))
            if strict and rows["rejects"]:
                raise RejectedRows(_rejects_message(connection, rows["rejects"]))
            connection.execute("checkpoint")
        _publish(fresh, database)
    except (OSError, duckdb.Error) as error:
        raise BuildError(f"{database}: could not be built, and what was there before stays: {error}") from error
    finally:
        _discard(fresh)
    return Built(database, rows, rows["rejects"])


@contextlib.contextmanager
def connect(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A read-only connection that cannot reach other files. Raises DatabaseMissing or DatabaseBusy."""
    if not database.is_file():
        raise DatabaseMissing(f"{database}: there is no database; `make data` (or `gamut build`) builds it")
    # Attached to a fresh instance, so that a file that was replaced meanwhile is never read from the old one's cache.
    connection = duckdb.connect(":memory:", config={"autoinstall_known_extensions": False})
    try:
        _settle(connection)
        _attach(connection, database)
        connection.execute("set enable_external_access = false")
        connection.execute("set lock_configuration = true")
        yield connection
    except duckdb.IOException as error:  # the file opened, and is not whole further in
        raise _opening_error(database, error) from error
    finally:
        connection.close()


def _attach(connection: duckdb.DuckDBPyConnection, database: Path) -> None:
    name = str(database).replace("'", "''")
    try:
        connection.execute(f"attach '{name}' as gamut (type duckdb, read_only)")
        connection.execute("use gamut")
    except duckdb.Error as error:
        raise _opening_error(database, error) from error
    found = {row[0] for row in connection.sql("select table_name from duckdb_tables()").fetchall()}
    if not found.issuperset(RELATIONS):
        raise DatabaseMissing(f"{database}: not a database of this version; build it again with `make data`")


def read(
    database: Path, relation: str, *, where: dict[str, str | Sequence[str]] | None = None, columns: Sequence[str] = ()
) -> pl.DataFrame:
    """One relation as a frame, whole or where columns have the given values.

    Labels come as Enums in reporting order, ids as text. Raises UnknownName for a relation or column that there is not.
    """
    with connect(database) as connection:
        return _select(connection, relation, where or {}, columns)


def read_all(database: Path, relations: Iterable[str]) -> dict[str, pl.DataFrame]:
    """Several relations as frames through one connection."""
    with connect(database) as connection:
        return {relation: _select(connection, relation, {}, ()) for relation in relations}


def tier_role_counts(database: Path, *, variant: str, judge: str) -> pl.DataFrame:
    """Verdict counts of one judge and variant at the finer grain of tier and role, shaped like verdict_counts.

    Checks of answers that are empty or could not be had are counted as the mart counts them.
    """
    return _counts(database, "placed_by_role", variant=variant, judge=judge).drop("item_tier")


def item_role_counts(database: Path, *, variant: str, judge: str) -> pl.DataFrame:
    """Verdict counts of one judge and variant by tier, role and the tier of the item that the check was made from."""
    return _counts(database, "placed_by_item", variant=variant, judge=judge)


def matched_counts(database: Path, *, judge: str) -> pl.DataFrame:
    """Multimodal counts of one judge on the checks that the text-only rubric has too, shaped like verdict_counts."""
    return _counts(database, "placed_in_both", variant="multimodal", judge=judge).drop("role", "item_tier")


def check_verdicts(database: Path, *, model: str, variant: str) -> pl.DataFrame:
    """Every verdict on one model's answers with the check's text, tier and role: what a reader opens to see why."""
    with connect(database) as connection:
        params = {"variant": variant, "model": model}
        return _as_frame(connection.sql(_sql("queries", "check_verdicts"), params=params))


def describe(database: Path) -> dict[str, pl.DataFrame]:
    """What is in a database, as frames for people: the data, the grid, the coverage, and all that was set aside.

    dataset, grid, models, judges, judging (what grading took), questions, sources, coverage, rejects (by reason),
    duplicates (by kind), ungraded (by reason), without_checks (questions that cannot be scored), lookalikes (names that
    may mean the same).
    """
    with connect(database) as connection:
        told = _select(connection, "dataset", {}, ()).row(0, named=True)
        known = [(name, str(value)) for name, value in told.items() if value is not None]
        frames = {"dataset": pl.DataFrame(known, schema={"what": pl.String, "value": pl.String}, orient="row")}
        for name in _DESCRIBED:
            frames[name] = _as_frame(connection.sql(_sql("describe", name)))
        frames["coverage"] = _select(connection, "coverage", {}, ())
        return frames


def _sql(folder: str, name: str) -> str:
    return (paths.SQL / folder / f"{name}.sql").read_text(encoding="utf-8")


def _counts(database: Path, placed: str, *, variant: str, judge: str) -> pl.DataFrame:
    """Verdict counts of one judge and variant over the checks that a query places."""
    with connect(database) as connection:
        connection.execute(f"create temp table placed as\n{_sql('queries', placed)}", {"variant": variant})
        return _as_frame(connection.sql(_sql("queries", "counts"), params={"variant": variant, "judge": judge}))


def _select(
    connection: duckdb.DuckDBPyConnection, relation: str, where: dict[str, str | Sequence[str]], columns: Sequence[str]
) -> pl.DataFrame:
    if relation not in RELATIONS:
        raise UnknownName(f"{relation!r} is no relation; there are {', '.join(RELATIONS)}")
    known = connection.table(relation).columns
    for name in (*where, *columns):
        if name not in known:
            raise UnknownName(f"{relation} has no column {name!r}; it has {', '.join(known)}")
    values = {name: [value] if isinstance(value, str) else list(value) for name, value in where.items()}
    tests = " and ".join(f'list_contains(${name}, cast("{name}" as varchar))' for name in values)
    selected = ", ".join(f'"{name}"' for name in columns) or "*"
    sql = f"select {selected} from {relation}" + (f" where {tests}" if tests else "")
    return _as_frame(connection.sql(sql, params=values or None))


def _as_frame(relation: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """The relation as a frame: labels as Enums in reporting order, ids as text."""
    kinds: dict[str, Any] = {}
    for name, kind in zip(relation.columns, relation.types, strict=True):
        if kind.id == "enum":
            labels: Any = kind.children[0][1]
            values = tuple(labels)
            kinds[name] = pl.Enum(values) if values in LABELS.values() else pl.String
    return relation.pl().with_columns(pl.col(name).cast(kind) for name, kind in kinds.items())


def _settle(connection: duckdb.DuckDBPyConnection) -> None:
    """Times in UTC, whatever the machine; and no bar on standard output when a query takes long."""
    connection.execute("set timezone = 'UTC'")
    with contextlib.suppress(duckdb.InvalidInputException):  # in a notebook there is no bar to switch off
        connection.execute("set enable_progress_bar = false")


@contextlib.contextmanager
def _writer(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect(str(path), config={"autoinstall_known_extensions": False})
    try:
        _settle(connection)
        yield connection
    finally:
        connection.close()


def _load(connection: duckdb.DuckDBPyConnection, delivery: Delivery) -> None:
    """Put everything that was delivered within reach of the SQL, under explicit schemas."""
    frames = {table: _coded(table, frame) for table, frame in delivery.tables.items()}
    for table, frame in frames.items():
        _register(connection, f"delivered_{table}", frame)
    _register(connection, "delivered_sources", _sources_frame(delivery))
    _register(connection, "delivered_rejects", _rejects_frame(delivery))
    _register(connection, "delivered_dataset", _dataset_frame(delivery))
    told = {"verdict": delivery.labels, "tier": delivery.tiers}
    for kind, values in LABELS.items():
        connection.execute(f"create type {kind}_enum as enum ({', '.join(map(repr, values))})")
        given = _distinct(frames, _LABEL_COLUMNS[kind])
        _register(connection, f"given_{kind}", _read_labels(given, _MEANING[kind], told.get(kind, {})))
        connection.execute(
            f"create temp table {kind}_labels as select given, cast(label as {kind}_enum) as {kind} from given_{kind}"
        )
    for kind, columns in _ID_COLUMNS.items():
        _register(connection, f"given_{kind}", _distinct(frames, columns).to_frame())
        connection.execute(f"create type {kind}_enum as enum (select given from given_{kind})")


def _coded(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with its labels and ids as codes: each spelling is then read once, not once a row."""
    columns = {
        column for pairs in (*_LABEL_COLUMNS.values(), *_ID_COLUMNS.values()) for t, column in pairs if t == table
    }
    columns |= {"question_id", "check_id"} & set(frame.columns)
    return frame.with_columns(frame[name].cast(pl.Enum(frame[name].unique().drop_nulls())) for name in columns)


def _register(connection: duckdb.DuckDBPyConnection, name: str, frame: pl.DataFrame) -> None:
    """Hand over a frame without copying it, in pieces, so that all threads can read it."""
    table = frame.to_arrow(compat_level=pl.CompatLevel.newest())
    pieces = [batch.slice(start, _BATCH) for batch in table.to_batches() for start in range(0, len(batch), _BATCH)]
    connection.register(name, pa.Table.from_batches(pieces, schema=table.schema))


def _distinct(frames: dict[str, pl.DataFrame], columns: Iterable[tuple[str, str]]) -> pl.Series:
    """The values that stand in some coded columns, sorted."""
    kinds: list[Any] = [frames[table][column].dtype for table, column in columns]
    values = [kind.categories.alias("given") for kind in kinds]
    return pl.concat(values).unique().sort()


def _read_labels(given: pl.Series, meaning: Callable[[str], str | None], told: dict[str, str]) -> pl.DataFrame:
    """The delivered spellings that mean one of our words: as the manifest says, else as whole labels."""
    spellings = [normalise_label(label) for label in told]
    loose = {text: word for text, word in zip(spellings, told.values(), strict=True) if spellings.count(text) == 1}
    pairs = [(text, told.get(text) or meaning(text) or loose.get(normalise_label(text))) for text in given]
    known = [pair for pair in pairs if pair[1] is not None]
    return pl.DataFrame(known, schema={"given": pl.String, "label": pl.String}, orient="row")


def _sources_frame(delivery: Delivery) -> pl.DataFrame:
    rows = [(*_values(source), bool(delivery.dataset.get("simulated"))) for source in delivery.sources]
    schema = {
        "source_id": pl.Int32,
        "file": pl.String,
        "table_name": pl.String,
        "sha256": pl.String,
        "reader": pl.String,
        "modified_at": pl.String,
        "rows_read": pl.Int64,
        "columns": pl.String,
        "simulated": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _values(source: Any) -> tuple[Any, ...]:
    return tuple(getattr(source, name) for name in source.__dataclass_fields__)


def _rejects_frame(delivery: Delivery) -> pl.DataFrame:
    rows = [(source_id, r.row, r.field, r.value, r.reason) for source_id, r in delivery.rejects]
    schema = {"source_id": pl.Int32, "row": pl.Int64, "field": pl.String, "value": pl.String, "reason": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _dataset_frame(delivery: Delivery) -> pl.DataFrame:
    told = delivery.dataset
    text = {
        name: str(told[name]) if told.get(name) is not None else None
        for name in ("name", "benchmark", "note", "licence", "url", "seed", "default_judge")
    }
    row = {
        **text,
        "title": str(told.get("title") or told["name"]),
        "simulated": bool(told.get("simulated")),
        "assumptions": "\n".join(delivery.notes) or None,
        "unused_files": "\n".join(delivery.unused) or None,
        "gamut_analysis": __version__,
        "duckdb": duckdb.__version__,
    }
    schema = {name: pl.Boolean if name == "simulated" else pl.String for name in row}
    return pl.DataFrame([row], schema=schema)


def _run(connection: duckdb.DuckDBPyConnection, progress: Progress | None) -> None:
    """Run the SQL files in order; only the largest staging relation, which is read once, is not written down."""
    steps = [(folder, name) for folder, names in _FOLDERS.items() for name in names]
    for number, (folder, name) in enumerate(steps, 1):
        if progress:
            progress(name, number, len(steps))
        kind = "temp view" if name == "stg_verdicts" else "table" if name in RELATIONS else "temp table"
        connection.execute(f"create {kind} {name} as\n{_sql(folder, name)}")


def _verify(connection: duckdb.DuckDBPyConnection) -> None:
    """Hold the promises of the database: keys are unique, identities add up."""
    for relation, key in KEYS.items():
        columns = ", ".join(key)
        repeated = f"select count(*) from (select 1 from {relation} group by {columns} having count(*) > 1)"
        _promise(connection, f"{relation} is unique by {columns}", repeated)
    for promise, violations in _IDENTITIES.items():
        _promise(connection, promise, violations)


def _promise(connection: duckdb.DuckDBPyConnection, promise: str, violations: str) -> None:
    if found := _scalar(connection, violations):
        raise BuildError(f"the build breaks a promise ({promise}): {found} violations; the previous database stays")


def _scalar(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = connection.sql(sql).fetchall()[0]
    return int(row[0])


def _nothing_usable(connection: duckdb.DuckDBPyConnection, count: int) -> str:
    first = connection.sql("select file, row, field, value, reason from rejects order by file, row limit 1").fetchall()
    return f"not one of the {count} delivered verdicts can be used; the first fault: {describe_reject(*first[0])}"


def _rejects_message(connection: duckdb.DuckDBPyConnection, count: int) -> str:
    rows = connection.sql("select file, row, field, value, reason from rejects limit 20").fetchall()
    lines = [f"{count} rows were rejected, and --strict allows none:", *(f"  {describe_reject(*row)}" for row in rows)]
    if count > len(rows):
        lines.append(f"  and {count - len(rows)} more")
    return "\n".join(lines)


def describe_reject(file: str, row: int | None, field: str, value: str | None, reason: str) -> str:
    """One rejected value as a line for people: file, line, field, value, reason."""
    place = f"{file}:{row}" if row is not None else file
    shown = "" if value is None else f" = {value!r}"
    return f"{place}: {field}{shown}: {reason}"


def _prepare(database: Path) -> None:
    """Make the place where the database goes, and sweep it. Raises BuildError where it cannot go."""
    if database.is_dir():
        raise BuildError(f"{database}: a folder; the name of a file is needed, such as {database / 'verdicts.duckdb'}")
    if "?" in str(database.absolute()):
        raise BuildError(f"{database}: DuckDB takes what follows a `?` in a path for options; another place is needed")
    try:
        database.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(database)
    except OSError as error:
        raise BuildError(f"{database}: {error.strerror} ({error.filename}); another place is needed") from error


def _publish(fresh: Path, database: Path) -> None:
    """Put the new file in the place of the old one; readers that are open keep the old one."""
    with fresh.open("rb") as file:
        os.fsync(file.fileno())
    database.with_name(database.name + ".wal").unlink(missing_ok=True)
    fresh.replace(database)


def _discard(fresh: Path) -> None:
    """Delete an unpublished database with all that it keeps beside it."""
    for path in (fresh, fresh.with_name(fresh.name + ".wal")):
        path.unlink(missing_ok=True)
    shutil.rmtree(fresh.with_name(fresh.name + ".tmp"), ignore_errors=True)


def _remove_leftovers(database: Path) -> None:
    """Delete what builds that were killed left behind; those of living processes stay."""
    pattern = re.compile(re.escape(f".{database.name}.building-") + r"(\d+)")
    for path in database.parent.iterdir():
        match = pattern.match(path.name)
        if match and not _is_alive(int(match[1])):
            _discard(database.with_name(match[0]))


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _opening_error(database: Path, error: duckdb.Error) -> Exception:
    text = str(error)
    if "lock" in text.lower():
        holder = re.search(r"PID (\d+)", text)
        who = f"process {holder[1]}" if holder else "another process"
        return DatabaseBusy(
            f"{database}: {who} holds the database open for writing. Close it there (in a notebook: shut down its "
            f"kernel) and try again; reports and notebooks of this project open it read-only and never block"
        )
    return DatabaseMissing(
        f"{database}: not a database that this version reads ({text.splitlines()[0]}); build it again with `make data`"
    )
