"""What every reader hands over: delivered rows as text, with the file and the line that each came from."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

# For each table, its columns and the other names under which files in the wild carry them.
FIELDS: dict[str, dict[str, tuple[str, ...]]] = {
    "verdicts": {
        "model": (),
        "judge": ("grader", "rater"),
        "variant": (),
        "question_id": ("session_id",),
        "check_id": (),
        "replicate": ("epoch",),
        "verdict": ("label",),
        "rationale": ("reason", "explanation"),
        "judged_at": ("timestamp", "created_at"),
        "error": (),
        "tier": ("importance",),
        "text": ("check_text",),
    },
    "checks": {
        "question_id": ("session_id",),
        "variant": (),
        "check_id": (),
        "tier": ("importance",),
        "text": ("check_text", "criterion"),
        "role": (),
        "role_inferred": (),
        "item_id": (),
        "item_type": (),
        "item_position": (),
        "position": (),
        "needed": (),
        "members": (),
        "is_identification": (),
    },
    "questions": {
        "question_id": ("session_id", "id"),
        "variant": (),
        "question": ("question_text", "prompt"),
        "domain": (),
        "entity": (),
        "cluster": (),
        "image_id": (),
        "image": ("images",),
        "n_snippets": (),
    },
    "answers": {
        "model": (),
        "variant": (),
        "question_id": ("session_id", "id"),
        "answer": ("answer_text", "response", "output", "prediction"),
        "error": (),
        "answered_at": (),
    },
    "models": {"model": ("slug",), "name": (), "maker": (), "family": (), "weights": ()},
    "judges": {"judge": ("slug",), "name": (), "kind": (), "model": ()},
    "items": {
        "question_id": ("session_id",),
        "item_id": (),
        "item_type": ("type",),
        "item_position": (),
        "tier": ("importance",),
        "description": (),
        "is_identification": (),
        "n_members": (),
        "n_required": (),
        "n_entities": (),
        "baseline": (),
        "cap": (),
        "n_thresholds": (),
        "has_insight": (),
        "insight_tier": (),
        "n_citations": (),
    },
    "gradings": {
        "model": (),
        "judge": ("grader", "rater"),
        "variant": (),
        "question_id": ("session_id",),
        "replicate": ("epoch",),
        "prompt": (),
        "prompt_hash": (),
        "checks_per_call": (),
        "calls": (),
        "input_tokens": (),
        "output_tokens": (),
        "cost_usd": (),
        "seconds": (),
        "run_status": (),
        "judged_at": ("timestamp", "created_at"),
    },
    "replies": {
        "model": (),
        "judge": ("grader", "rater"),
        "variant": (),
        "question_id": ("session_id",),
        "replicate": ("epoch",),
        "reply": ("completion", "raw", "output"),
        "stop_reason": ("finish_reason",),
        "judged_at": ("timestamp", "created_at"),
        "error": (),
    },
}
TABLES = tuple(FIELDS)
# Columns without which a row of the table says nothing; of a group in one string, one is enough.
NEEDED: dict[str, tuple[str, ...]] = {
    "verdicts": ("model", "judge", "question_id", "check_id", "verdict error"),
    "checks": ("question_id", "check_id", "tier"),
    "questions": ("question_id",),
    "answers": ("model", "question_id", "answer error"),
    "models": ("model",),
    "judges": ("judge",),
    "items": ("question_id", "item_id", "item_type", "tier"),
    "gradings": ("model", "judge", "question_id"),
    "replies": ("model", "judge", "question_id", "reply error"),
}
# What people wrote, and names that people gave: kept to the letter. Everything else loses the blanks around it.
LONG = frozenset({"text", "question", "description", "answer", "rationale", "reply", "error"})
PROSE = LONG | {"model", "judge", "name", "verdict", "image"}
# An empty answer is an answer, an empty reply a reply; an empty picture is a picture without a path. A blank in any
# other field is no value.
BLANK_COUNTS = frozenset({"answer", "reply", "image"})
# What a field must look like where it is not text of any kind, and how to say so.
_WHOLE = (r"^[0-9]{1,9}$", "a whole number")
_DECIMAL = (r"^[0-9]{1,12}(\.[0-9]+)?([eE][-+]?[0-9]{1,2})?$", "a number that is not negative")
_TRUTH = (r"(?i)^(true|false|yes|no|1|0)$", "true or false")
FORMS: dict[str, tuple[str, str]] = {
    "item_position": _WHOLE,
    "position": _WHOLE,
    "needed": _WHOLE,
    "members": (r"(?s)^\[.*\]$", "a list"),
    "role_inferred": _TRUTH,
    "is_identification": _TRUTH,
    "n_members": _WHOLE,
    "n_required": _WHOLE,
    "n_entities": _WHOLE,
    "n_snippets": _WHOLE,
    "baseline": _WHOLE,
    "cap": _WHOLE,
    "n_thresholds": _WHOLE,
    "has_insight": _TRUTH,
    "n_citations": _WHOLE,
    "checks_per_call": _WHOLE,
    "calls": _WHOLE,
    "input_tokens": _WHOLE,
    "output_tokens": _WHOLE,
    "cost_usd": _DECIMAL,
    "seconds": _DECIMAL,
}
# The column in which a file keeps a list of verdicts in each row.
NESTED = "verdicts"
# Blanks of every script, and the marks without width that editors and spreadsheets leave at the ends of an id.
BLANKS = "".join(chr(code) for code in range(0x3001) if chr(code).isspace()) + "\u200b\u2060\ufeff"


@dataclass(frozen=True)
class Reject:
    """One value or line that could not be used: where it stands, what it is and why."""

    row: int | None
    field: str
    value: str | None
    reason: str


@dataclass(frozen=True)
class Rows:
    """The rows of one file: text columns under the file's own names, and the line or record number of each, from 1."""

    frame: pl.DataFrame
    numbers: pl.Series
    rows_read: int
    rejects: tuple[Reject, ...] = ()


@dataclass(frozen=True)
class Source:
    """One file that was read. ``columns`` tells which of its columns were read under another name of ours."""

    source_id: int
    file: str
    table_name: str
    sha256: str
    reader: str
    modified_at: str
    rows_read: int
    columns: str | None = None


@dataclass
class Delivery:
    """All that a folder delivered: one text frame a table, its sources, and what was rejected while reading."""

    dataset: dict[str, Any]
    tables: dict[str, pl.DataFrame]
    sources: list[Source] = field(default_factory=list)
    rejects: list[tuple[int, Reject]] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    tiers: dict[str, str] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    profiles: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def source_of(
    source_id: int, path: Path, root: Path, table: str, reader: str, rows_read: int, columns: str | None = None
) -> Source:
    """A file as a source, called by its name within the folder."""
    name = str(path.relative_to(root)) if path.is_relative_to(root) else path.name
    modified = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Source(source_id, name, table, digest, reader, modified, rows_read, columns)


def delivered_schema(table: str) -> dict[str, Any]:
    """The explicit schema of a delivered table: every field is text; file and row say where it stands."""
    return dict.fromkeys(FIELDS[table], pl.String) | {"extra": pl.String, "source_id": pl.Int32, "row": pl.Int64}


def rows_of(columns: Mapping[str, Sequence[Any]], numbers: Sequence[int], rows_read: int, rejects=()) -> Rows:
    """Rows from decoded columns of any values."""
    frame = pl.DataFrame({name: text_series(name, values) for name, values in columns.items()})
    return Rows(frame, pl.Series("row", numbers, dtype=pl.Int64), rows_read, tuple(rejects))


def rows_of_records(
    records: Sequence[Mapping[str, Any]], numbers: Sequence[int], rows_read: int, rejects: Sequence[Reject] = ()
) -> Rows:
    """Rows from records of any keys: one column for each, in order of first appearance."""
    names = dict.fromkeys(name for record in records for name in record)
    columns = {name: [record.get(name) for record in records] for name in names}
    return rows_of(columns, numbers, rows_read, rejects)


def as_text(value: Any) -> str | None:
    """One delivered value as text: a whole number loses its ``.0``, a non-finite one is no value.

    >>> as_text(1.0), as_text("01"), as_text(True), as_text(float("nan"))
    ('1', '01', 'true', None)
    """
    if value is None:
        return None
    if isinstance(value, str):
        return _writable(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float | Decimal):
        if not math.isfinite(value):
            return None
        whole = int(value)
        return str(whole) if value == whole and abs(whole) < 2**63 else str(value)
    if isinstance(value, date | time):
        return value.isoformat()
    return _writable(json.dumps(without_nonfinite(value), ensure_ascii=False, default=str))


def _writable(text: str) -> str:
    """The text with a mark in place of each lone half of a surrogate pair, which no encoding can write."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def without_nonfinite(value: Any) -> Any:
    """A JSON value with NaN and infinities replaced by null, so that what is written parses everywhere."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: without_nonfinite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_nonfinite(item) for item in value]
    return value


def text_series(name: str, values: Sequence[Any]) -> pl.Series:
    """A text column from decoded values; the usual columns, all text or all whole numbers, cost no loop."""
    kinds = set(map(type, values)) - {type(None)}
    try:
        if kinds <= {str}:
            return pl.Series(name, values, dtype=pl.String, strict=True)
        if kinds == {int}:
            return pl.Series(name, values, dtype=pl.Int64, strict=True).cast(pl.String)
    except (UnicodeError, OverflowError, TypeError, pl.exceptions.PolarsError):
        pass  # half a surrogate pair, or a number that no column holds
    return pl.Series(name, [as_text(value) for value in values], dtype=pl.String)
