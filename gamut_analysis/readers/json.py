"""A JSON document: a list of records, an object that holds one, or JSON lines under the wrong name."""

from pathlib import Path
from typing import Any

from gamut_analysis.errors import InputError
from gamut_analysis.readers import jsonl
from gamut_analysis.readers.compressed import read_utf8
from gamut_analysis.readers.delivery import Reject, Rows, rows_of_records


def read(path: Path) -> Rows:
    """Read the records of a document; a row is the record's place in the list, from 1."""
    data = read_utf8(path)
    try:
        document = jsonl.decode(data)
    except ValueError as error:
        if _is_object(data.lstrip().split(b"\n", 1)[0]):
            return jsonl.read_lines(data)
        raise InputError(f"{path}: not a whole JSON document ({error})") from error
    return _rows(_records(path, document))


def _is_object(line: bytes) -> bool:
    """Whether one line is a whole JSON object, as in JSON lines."""
    try:
        return isinstance(jsonl.decode(line), dict)
    except ValueError:
        return False


def _rows(records: list[Any]) -> Rows:
    usable = {row: record for row, record in enumerate(records, 1) if isinstance(record, dict)}
    rejects = [
        Reject(row, "record", str(record)[:120], "a JSON object is needed for each record")
        for row, record in enumerate(records, 1)
        if row not in usable
    ]
    return rows_of_records(list(usable.values()), list(usable), len(records), rejects)


def _records(path: Path, document: Any) -> list[Any]:
    """The list of records: the document itself, or the list that is all it holds; any other object is one record."""
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        raise InputError(f"{path}: a list of records is needed, and this is one {type(document).__name__}")
    values = list(document.values())
    wraps = len(values) == 1 and isinstance(values[0], list) and all(isinstance(value, dict) for value in values[0])
    return values[0] if wraps else [document]
