"""What every reader hands over: delivered rows as text, with the file and the line that each came from."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
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
        "position": (),
        "needed": (),
        "members": (),
        "is_identification": (),
    },
    "questions": {
        "question_id": ("session_id",),
        "variant": (),
        "question": ("question_text", "prompt"),
        "domain": (),
        "entity": (),
        "cluster": (),
        "image_id": (),
        "image": ("images",),
    },
    "answers": {
        "model": (),
        "variant": (),
        "question_id": ("session_id",),
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
        "tier": ("importance",),
        "description": (),
        "is_identification": (),
        "n_members": (),
        "n_required": (),
        "baseline": (),
        "cap": (),
        "n_thresholds": (),
        "has_insight": (),
        "insight_tier": (),
        "n_citations": (),
    },
}
TABLES = tuple(FIELDS)
# Columns without which a row of the table says nothing.
NEEDED: dict[str, tuple[str, ...]] = {
    "verdicts": ("model", "judge", "question_id", "check_id"),
    "checks": ("question_id", "check_id", "tier"),
    "questions": ("question_id",),
    "answers": ("model", "question_id"),
    "models": ("model",),
    "judges": ("judge",),
    "items": ("question_id", "item_id", "item_type", "tier"),
}
# Where a file keeps a list of verdicts in each row: the name of the list, and what its members call a check.
NESTED = "verdicts"
NESTED_FIELDS = {"id": "check_id"}


@dataclass(frozen=True)
class Reject:
    """One value or line that could not be used: where it stands, what it is and why."""

    row: int | None
    field: str
    value: str | None
    reason: str


@dataclass(frozen=True)
class Rows:
    """The rows of one file: text columns under the file's own names, and ``row`` (line or record, from 1)."""

    frame: pl.DataFrame
    rows_read: int
    rejects: tuple[Reject, ...] = ()


@dataclass(frozen=True)
class Source:
    """One file that was read."""

    source_id: int
    file: str
    table_name: str
    sha256: str
    reader: str
    modified_at: str
    rows_read: int


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
    notes: list[str] = field(default_factory=list)


def delivered_schema(table: str) -> dict[str, Any]:
    """The explicit schema of a delivered table: every field is text; file and row say where it stands."""
    return {name: pl.String for name in FIELDS[table]} | {"extra": pl.String, "source_id": pl.Int32, "row": pl.Int64}


def as_text(value: Any) -> str | None:
    """One delivered value as text: a whole number loses its ``.0``, a non-finite one is no value.

    >>> as_text(1.0), as_text("01"), as_text(True), as_text(float("nan"))
    ('1', '01', 'true', None)
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return str(int(value)) if value.is_integer() and abs(value) < 2**63 else repr(value)
    if isinstance(value, int | Decimal):
        return str(value)
    if isinstance(value, date | time):
        return value.isoformat()
    return json.dumps(without_nonfinite(value), ensure_ascii=False, default=str)


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
    """A text column from decoded values; the usual all-text column costs no loop."""
    try:
        return pl.Series(name, values, dtype=pl.String, strict=True)
    except (TypeError, pl.exceptions.PolarsError):
        return pl.Series(name, [as_text(value) for value in values], dtype=pl.String)


def records_frame(records: Iterable[dict[str, Any]], rows: Sequence[int]) -> pl.DataFrame:
    """Records of any keys as text columns, in order of first appearance, with their row numbers."""
    records = list(records)
    names = dict.fromkeys(name for record in records for name in record)
    columns = [text_series(name, [record.get(name) for record in records]) for name in names]
    return pl.DataFrame([*columns, pl.Series("row", rows, dtype=pl.Int64)])
