"""Small deliveries for tests: rows with defaults, written as files of any format, built into a database."""

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl

from gamut_analysis import tables
from gamut_analysis.readers.folder import read_folder


def verdict(**fields: Any) -> dict[str, Any]:
    """One delivered verdict, as most files have it."""
    usual = {"model": "alpha", "judge": "judge-a", "variant": "multimodal", "question_id": "q1", "check_id": "c1"}
    return usual | {"verdict": "meets"} | fields


def check(**fields: Any) -> dict[str, Any]:
    """One delivered check."""
    return {"question_id": "q1", "check_id": "c1", "tier": "answer_critical", "text": "It is a fern"} | fields


def grading(**fields: Any) -> dict[str, Any]:
    """One delivered grading of the answer that `verdict` is about."""
    usual = {"model": "alpha", "judge": "judge-a", "variant": "multimodal", "question_id": "q1", "replicate": 0}
    return usual | fields


def put(folder: Path, name: str, rows: list[dict[str, Any]] | str | bytes) -> Path:
    """Write rows into a file of the format that its name says, or text and bytes as they are."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(rows, bytes):
        path.write_bytes(rows)
    elif isinstance(rows, str):
        path.write_bytes(rows.encode())
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    elif path.suffix == ".parquet":
        pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    else:
        _put_csv(path, rows)
    return path


def _put_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
        writer.writeheader()
        writer.writerows(rows)


def built(folder: Path, manifest: Path | None = None, **options: Any) -> Path:
    """The database of a folder, beside it."""
    return tables.build(read_folder(folder, manifest), folder.with_suffix(".duckdb"), **options).database


def relation(folder: Path, name: str, **options: Any) -> pl.DataFrame:
    """One relation of the database of a folder, built anew."""
    return tables.read(built(folder, **options), name)
