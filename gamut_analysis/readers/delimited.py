"""CSV and TSV: every field is text; a line that breaks the form costs only itself."""

import csv
import io
from pathlib import Path

from gamut_analysis.errors import InputError
from gamut_analysis.readers.compressed import read_utf8
from gamut_analysis.readers.delivery import Reject, Rows, rows_of
from gamut_analysis.readers.jsonl import shown

_BIG_FIELD = 2**31 - 1
_DELIMITERS = (",", "\t", ";")


def read(path: Path) -> Rows:
    """Read a delimited file with a head; a row's number is the line on which it begins."""
    try:
        text = read_utf8(path).decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InputError(f"{path}:{line}: not UTF-8 ({error.reason}); save the file as UTF-8") from error
    csv.field_size_limit(_BIG_FIELD)
    lines = list(io.StringIO(text, newline=""))
    delimiter = _delimiter(lines)
    head, start = _head(path, lines, delimiter)
    return _rows(lines, start, head, delimiter)


def _delimiter(lines: list[str]) -> str:
    first = next((line for line in lines if line.strip()), "")
    return max(_DELIMITERS, key=first.count)


def _head(path: Path, lines: list[str], delimiter: str) -> tuple[list[str], int]:
    """The names of the columns and the place of the line after them."""
    reader = csv.reader(iter(lines), delimiter=delimiter, strict=True)
    try:
        head = next((record for record in reader if record), [])
    except csv.Error as error:
        raise InputError(f"{path}:1: the head is not readable as delimited text ({error})") from error
    names = [name.strip() for name in head]
    if not any(names):
        raise InputError(f"{path}: empty; a head with column names is needed")
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"{path}:1: the column {repeated[0]!r} stands twice in the head")
    return names, reader.line_num


def _rows(lines: list[str], start: int, head: list[str], delimiter: str) -> Rows:
    records: list[list[str]] = []
    numbers: list[int] = []
    rejects: list[Reject] = []
    while start < len(lines):
        left = map(lines.__getitem__, range(start, len(lines)))
        reader = csv.reader(left, delimiter=delimiter, strict=True)
        used, reason = _read_whole(reader, len(head), start, records, numbers)
        start += used
        if reason:
            rejects.append(Reject(start + 1, "row", shown(lines[start].encode().rstrip(b"\r\n")), reason))
            start += 1
    columns = zip(*records, strict=True) if records else ([] for _ in head)
    return rows_of(dict(zip(head, columns, strict=True)), numbers, len(records) + len(rejects), rejects)


def _read_whole(reader, width: int, start: int, records: list[list[str]], numbers: list[int]) -> tuple[int, str | None]:
    """Read on while rows are whole: how many lines that took, and what is wrong with the next one, if any is left.

    Reading starts again at the line after a broken one, so that a quote left open does not swallow its successors.
    """
    while True:
        used = reader.line_num
        try:
            record = next(reader)
        except StopIteration:
            return used, None
        except csv.Error as error:
            return used, f"not readable as delimited text ({error}); is a quote left open?"
        if not record:
            continue
        if len(record) != width:
            return used, f"{len(record)} fields, and the head names {width}"
        records.append(record)
        numbers.append(start + used + 1)
