"""A JSON document: a list of records, an object that holds one, or JSON lines under the wrong name."""

from pathlib import Path
from typing import Any

from gamut_analysis.errors import InputError
from gamut_analysis.readers import jsonl
from gamut_analysis.readers.compressed import read_utf8
from gamut_analysis.readers.delivery import Reject, Rows, records_frame


def read(path: Path, fields: tuple[str, ...] = ()) -> Rows:
    """Read the records of a document; a row is the record's place in the list, from 1."""
    data = read_utf8(path)
    try:
        document = jsonl.decode(data)
    except ValueError as error:
        lines = jsonl.read_lines(data, fields)
        if lines.frame.height:
            return lines
        raise InputError(f"{path}: neither a JSON document nor JSON lines ({error})") from error
    return _rows(path, document)


def _rows(path: Path, document: Any) -> Rows:
    records = _records(path, document)
    usable = [(row, record) for row, record in enumerate(records, 1) if isinstance(record, dict)]
    rejects = [
        Reject(row, "record", str(record)[:120], "a JSON object is needed for each record")
        for row, record in enumerate(records, 1)
        if not isinstance(record, dict)
    ]
    frame = records_frame((record for _, record in usable), [row for row, _ in usable])
    return Rows(frame, len(records), tuple(rejects))


def _records(path: Path, document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    if isinstance(document, dict):
        lists = [
            value for value in document.values() if isinstance(value, list) and value and isinstance(value[0], dict)
        ]
        return lists[0] if len(document) == 1 and lists else [document]
    raise InputError(f"{path}: a list of records is needed, and this is {type(document).__name__}")
