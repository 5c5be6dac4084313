"""CSV and TSV: every field is text; a row with too few or too many fields costs only itself."""

import csv
import io
from pathlib import Path

import polars as pl

from gamut_analysis.errors import InputError
from gamut_analysis.readers.compressed import read_utf8
from gamut_analysis.readers.delivery import Reject, Rows

_BIG_FIELD = 2**31 - 1
_DELIMITERS = (",", "\t", ";")


def read(path: Path, fields: tuple[str, ...] = ()) -> Rows:
    """Read a delimited file with a head; a row's number is the line on which it ends."""
    try:
        text = read_utf8(path).decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InputError(f"{path}:{line}: not UTF-8 ({error.reason}); save the file as UTF-8") from error
    csv.field_size_limit(_BIG_FIELD)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    head = [name.strip() for name in next(reader, [])]
    if not head:
        raise InputError(f"{path}: empty; a head with column names is needed")
    if repeated := sorted({name for name in head if head.count(name) > 1}):
        raise InputError(f"{path}:1: the column {repeated[0]!r} stands twice in the head")
    return _rows(reader, head)


def _delimiter(text: str) -> str:
    head = text.split("\n", 1)[0]
    return max(_DELIMITERS, key=head.count)


def _rows(reader, head: list[str]) -> Rows:
    records: list[list[str]] = []
    numbers: list[int] = []
    rejects: list[Reject] = []
    read_rows = 0
    while True:
        first = reader.line_num + 1
        try:
            record = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            read_rows += 1
            reason = f"lines {first} to {reader.line_num} are not readable as delimited text ({error}); is a quote left open?"
            rejects.append(Reject(first, "row", None, reason))
            continue
        if not record:
            continue
        read_rows += 1
        if len(record) == len(head):
            records.append(record)
            numbers.append(reader.line_num)
        else:
            reason = f"{len(record)} fields, and the head names {len(head)}"
            rejects.append(Reject(reader.line_num, "row", ",".join(record)[:120], reason))
    columns = [
        pl.Series(name, values, dtype=pl.String) for name, values in zip(head, zip(*records, strict=True), strict=True)
    ]
    columns = columns or [pl.Series(name, [], dtype=pl.String) for name in head]
    return Rows(pl.DataFrame([*columns, pl.Series("row", numbers, dtype=pl.Int64)]), read_rows, tuple(rejects))
