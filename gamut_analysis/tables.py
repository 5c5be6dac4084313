"""The warehouse: build the DuckDB file by running ``sql/`` in order, and read its relations as Polars frames.

A build is all or nothing. It writes a new file beside the old one, checks it, and renames it over the old one; killed
at any moment, the previous database is intact. Everything that reads opens the file read-only.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from gamut_analysis import __version__, paths
from gamut_analysis.errors import BuildError, DatabaseBusy, DatabaseMissing, RejectedRows, UnknownName
from gamut_analysis.readers.delivery import TABLES, Delivery
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
)

ENUMS = {"verdict": VERDICTS, "tier": TIERS, "variant": VARIANTS, "role": ROLES, "item_type": ITEM_TYPES}
STAGING = ("stg_variants", "stg_questions", "stg_checks", "stg_items", "stg_answers", "stg_verdicts")
# In order of dependence; the ones in SCRATCH are not kept.
CORE = (
    "models",
    "judges",
    "checks",
    "questions",
    "items",
    "answers",
    "check_numbers",
    "attempts",
    "rivals",
    "resolved",
    "verdicts",
    "duplicates",
    "extras",
    "rejects",
    "sources",
)
SCRATCH = ("check_numbers", "attempts", "rivals", "resolved", "extras")
# Views are read more than once only where that is cheaper than writing them down.
_KINDS = {name: "temp view" if name == "resolved" else "temp table" for name in SCRATCH}
MARTS = ("verdict_counts", "coverage", "judge_pairs", "rubric_profile", "question_words")
RELATIONS = ("dataset", *(name for name in CORE if name not in SCRATCH), *MARTS)
KEYS: dict[str, tuple[str, ...]] = {
    "models": ("model",),
    "judges": ("judge",),
    "questions": ("variant", "question_id"),
    "items": ("question_id", "item_id"),
    "checks": ("variant", "question_id", "check_id"),
    "answers": ("model", "variant", "question_id"),
    "verdicts": ("model", "judge", "variant", "question_id", "check_id", "replicate"),
    "sources": ("source_id",),
    "verdict_counts": ("model", "judge", "variant", "question_id", "replicate", "tier"),
    "coverage": ("model", "judge", "variant"),
    "judge_pairs": ("model", "variant", "question_id", "judge_a", "judge_b"),
    "rubric_profile": ("variant", "question_id"),
    "question_words": ("variant", "question_id"),
}
# Relations whose key is checked while they are built: unique by construction would be too long to wait for twice.
_IDENTITIES = {
    "verdict counts add up to the checks": """
        select count(*) from verdict_counts
        where meets + partially_meets + missing + contradicts + ungraded <> checks or ungraded < 0
    """,
    "every verdict is null with a reason, or not null without one": """
        select count(*) from verdicts where (verdict is null) <> (ungraded_reason is not null)
    """,
    "rows read are kept or rejected": """
        select count(*) from sources where rows_kept + rows_rejected <> rows_read or rows_kept < 0
    """,
    "judge pairs mirror each other": """
        select (select coalesce(sum(n_01), 0) from judge_pairs) <> (select coalesce(sum(n_10), 0) from judge_pairs)
    """,
}
_MEMORY_LIMIT = "8GB"
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Built:
    """What a build did: where the database is, how many rows each relation has, how many rows were rejected."""

    database: Path
    rows: dict[str, int]
    rejected: int


def build(delivery: Delivery, database: Path, *, strict: bool = False, progress: Progress | None = None) -> Built:
    """Build the database of a delivery at the given path.

    Raises RejectedRows when ``strict`` and any row was rejected, BuildError when a promise does not hold; in both
    cases, and when the process is killed, the previous database stays.
    """
    database.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(database)
    fresh = database.with_name(f".{database.name}.building-{os.getpid()}")
    try:
        with _writer(fresh) as connection:
            _load(connection, delivery)
            connection.execute("set enable_external_access = false")
            connection.execute("set lock_configuration = true")
            _run(connection, progress)
            _verify(connection)
            rows = {name: _scalar(connection, f"select count(*) from {name}") for name in RELATIONS}
            if strict and rows["rejects"]:
                raise RejectedRows(_rejects_message(connection, rows["rejects"]))
            connection.execute("checkpoint")
        _publish(fresh, database)
    finally:
        for leftover in (fresh, fresh.with_name(fresh.name + ".wal")):
            leftover.unlink(missing_ok=True)
    return Built(database, rows, rows["rejects"])


@contextlib.contextmanager
def connect(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A read-only connection that cannot reach other files. Raises DatabaseMissing or DatabaseBusy."""
    if not database.is_file():
        raise DatabaseMissing(f"{database}: there is no database; `make data` (or `gamut build`) builds it")
    config: dict[str, Any] = {"enable_external_access": False, "autoinstall_known_extensions": False}
    try:
        connection = duckdb.connect(str(database), read_only=True, config=config)
    except duckdb.Error as error:
        raise _opening_error(database, error) from error
    try:
        connection.execute("set timezone = 'UTC'")
        connection.execute("set lock_configuration = true")
        yield connection
    finally:
        connection.close()


def read(
    database: Path, relation: str, *, where: dict[str, str | Sequence[str]] | None = None, columns: Sequence[str] = ()
) -> pl.DataFrame:
    """One relation as a frame, whole or where columns have the given values.

    ENUM columns come as Polars Enums in reporting order. Raises UnknownName for a relation or column that there is not.
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
    return _query(database, "role_counts", {"variant": variant, "judge": judge})


def matched_counts(database: Path, *, judge: str) -> pl.DataFrame:
    """Multimodal verdict counts of one judge on the checks that the text-only rubric has too, shaped like verdict_counts."""
    return _query(database, "matched_counts", {"judge": judge})


def check_verdicts(database: Path, *, model: str, variant: str) -> pl.DataFrame:
    """Every verdict on one model's answers with the check's text, tier and role: what a reader opens to see why."""
    return _query(database, "check_verdicts", {"variant": variant, "model": model})


def _query(database: Path, name: str, params: dict[str, str]) -> pl.DataFrame:
    text = (paths.SQL / "queries" / f"{name}.sql").read_text(encoding="utf-8")
    with connect(database) as connection:
        return _with_enums(connection.sql(text, params=params))


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
    return _with_enums(connection.sql(sql, params=values or None))


def _with_enums(relation: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """The relation as a frame, its ENUM columns in reporting order."""
    enums = {
        name: pl.Enum(kind.children[0][1])
        for name, kind in zip(relation.columns, relation.types, strict=True)
        if kind.id == "enum"
    }
    return relation.pl().with_columns(pl.col(name).cast(kind) for name, kind in enums.items())


@contextlib.contextmanager
def _writer(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    path.unlink(missing_ok=True)
    config: dict[str, Any] = {"autoinstall_known_extensions": False, "memory_limit": _MEMORY_LIMIT}
    connection = duckdb.connect(str(path), config=config)
    try:
        connection.execute("set timezone = 'UTC'")
        with contextlib.suppress(duckdb.InvalidInputException):  # in a notebook there is no bar to switch off
            connection.execute("set enable_progress_bar = false")
        yield connection
    finally:
        connection.close()


def _load(connection: duckdb.DuckDBPyConnection, delivery: Delivery) -> None:
    """Put everything that was delivered within reach of the SQL, under explicit schemas."""
    for name, values in ENUMS.items():
        connection.execute(f"create type {name}_enum as enum ({', '.join(repr(value) for value in values)})")
    for table in TABLES:
        connection.register(f"delivered_{table}", delivery.tables[table].to_arrow())
    connection.register("delivered_sources", _sources_frame(delivery).to_arrow())
    connection.register("delivered_rejects", _rejects_frame(delivery).to_arrow())
    tables = delivery.tables
    tiers = [
        tables["verdicts"]["tier"],
        tables["checks"]["tier"],
        tables["items"]["tier"],
        tables["items"]["insight_tier"],
    ]
    variants = [tables[name]["variant"] for name in ("verdicts", "checks", "questions", "answers")]
    labels = {
        "verdict": _read_labels([tables["verdicts"]["verdict"]], as_verdict, delivery.labels),
        "tier": _read_labels(tiers, as_tier, delivery.tiers),
        "variant": _read_labels(variants, as_variant, {}),
        "role": _read_labels([tables["checks"]["role"]], as_role, {}),
        "item_type": _read_labels([tables["checks"]["item_type"], tables["items"]["item_type"]], as_item_type, {}),
    }
    for kind, frame in labels.items():
        connection.register(f"given_{kind}", frame.to_arrow())
        connection.execute(
            f"create temp table {kind}_labels as select given, cast(label as {kind}_enum) as {kind} from given_{kind}"
        )
    connection.register("dataset_row", _dataset_frame(delivery).to_arrow())


def _read_labels(
    columns: Sequence[pl.Series], meaning: Callable[[str], str | None], told: dict[str, str]
) -> pl.DataFrame:
    """The delivered spellings that mean one of our words: as the manifest says, else as whole labels."""
    given = pl.concat([column.rename("given").unique() for column in columns]).unique().drop_nulls().sort().to_list()
    pairs = [(text, told.get(text) or told.get(text.strip()) or meaning(text)) for text in given]
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
        "gamut_analysis": __version__,
        "duckdb": duckdb.__version__,
    }
    schema = {name: pl.Boolean if name == "simulated" else pl.String for name in row}
    return pl.DataFrame([row], schema=schema)


def _run(connection: duckdb.DuckDBPyConnection, progress: Progress | None) -> None:
    steps = (
        [("staging", name) for name in STAGING]
        + [("core", name) for name in CORE]
        + [("marts", name) for name in MARTS]
    )
    connection.execute(
        "create table dataset as "
        "select name, title, benchmark, simulated, seed, note, licence, url, default_judge, assumptions, gamut_analysis, duckdb "
        "from dataset_row"
    )
    for number, (folder, name) in enumerate(steps, 1):
        if progress:
            progress(name, number, len(steps))
        kind = _KINDS.get(name) or ("temp view" if folder == "staging" else "table")
        body = (paths.SQL / folder / f"{name}.sql").read_text(encoding="utf-8")
        connection.execute(f"create {kind} {name} as\n{body}")


def _verify(connection: duckdb.DuckDBPyConnection) -> None:
    """Hold the promises of the database: keys are unique, identities add up."""
    for relation, key in KEYS.items():
        if relation == "verdicts":
            continue  # unique because `resolved` is: its key names the verdict, and is checked instead of six text columns
        columns = ", ".join(key)
        repeated = f"select count(*) from (select 1 from {relation} group by {columns} having count(*) > 1)"
        _promise(connection, f"{relation} is unique by {columns}", repeated)
    _promise(connection, "verdicts are unique by key", "select count(*) - count(distinct key) from resolved")
    for promise, violations in _IDENTITIES.items():
        _promise(connection, promise, violations)


def _promise(connection: duckdb.DuckDBPyConnection, promise: str, violations: str) -> None:
    if found := _scalar(connection, violations):
        raise BuildError(f"the build breaks a promise ({promise}): {found} violations; the previous database stays")


def _scalar(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = connection.sql(sql).fetchall()[0]
    return int(row[0])


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


def _publish(fresh: Path, database: Path) -> None:
    """Put the new file in the place of the old one; readers that are open keep the old one."""
    with fresh.open("rb") as file:
        os.fsync(file.fileno())
    database.with_name(database.name + ".wal").unlink(missing_ok=True)
    fresh.replace(database)


def _remove_leftovers(database: Path) -> None:
    """Delete what builds that were killed left behind; those of living processes stay."""
    pattern = re.compile(re.escape(f".{database.name}.building-") + r"(\d+)(\.wal)?$")
    for path in database.parent.glob(f".{database.name}.building-*"):
        match = pattern.fullmatch(path.name)
        if match and not Path(f"/proc/{match[1]}").exists():
            path.unlink(missing_ok=True)


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
