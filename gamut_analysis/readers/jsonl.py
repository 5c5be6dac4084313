"""JSON lines: one record a line, whatever its fields; a bad line costs only itself."""

import json
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from gamut_analysis.readers.compressed import read_utf8
from gamut_analysis.readers.delivery import Reject, Rows, rows_of, rows_of_records

CHUNK = 50_000
_SAMPLE = 100
_SHOWN = 120


def read(path: Path) -> Rows:
    """Read every line; a row's number is its line."""
    return read_lines(read_utf8(path))


def read_lines(data: bytes) -> Rows:
    """Rows and rejected lines of JSON-lines text; blank lines are no rows."""
    lines = data.split(b"\n")
    numbers = [number for number, line in enumerate(lines, 1) if line and not line.isspace()]
    if len(numbers) != len(lines):
        lines = [lines[number - 1] for number in numbers]
    starts = range(0, len(lines), CHUNK)
    chunks = [_read_chunk(lines[start : start + CHUNK], numbers[start : start + CHUNK]) for start in starts]
    if not chunks:
        return rows_of({}, [], 0)
    return Rows(
        pl.concat([chunk.frame for chunk in chunks], how="diagonal"),
        pl.concat([chunk.numbers for chunk in chunks]),
        len(lines),
        tuple(reject for chunk in chunks for reject in chunk.rejects),
    )


def _read_chunk(lines: list[bytes], numbers: list[int]) -> Rows:
    """The lines as rows: at once where all of them have the fields of the first ones, else one by one."""
    try:
        return _read_alike(lines, numbers)
    except (ValueError, RecursionError):
        return _read_any(lines, numbers)


def _read_alike(lines: list[bytes], numbers: list[int]) -> Rows:
    """Decode lines that share their fields. Raises ValueError where one has another field or is not valid."""
    names = list(dict.fromkeys(name for line in lines[:_SAMPLE] for name in msgspec.json.decode(line, type=dict)))
    if not names:
        raise ValueError("no fields")
    keys = [f"f{position}" for position in range(len(names))]
    record = msgspec.defstruct(
        "Record",
        [(key, Any, None) for key in keys],
        rename=dict(zip(keys, names, strict=True)),
        forbid_unknown_fields=True,
        gc=False,
    )
    decode = msgspec.json.Decoder(record).decode
    records = [decode(line) for line in lines]
    columns = {name: list(map(attrgetter(key), records)) for key, name in zip(keys, names, strict=True)}
    return rows_of(columns, numbers, len(lines))


def _read_any(lines: list[bytes], numbers: list[int]) -> Rows:
    records: list[dict[str, Any]] = []
    rows: list[int] = []
    rejects: list[Reject] = []
    for line, number in zip(lines, numbers, strict=True):
        try:
            record = decode(line)
        except ValueError as error:
            rejects.append(Reject(number, "line", shown(line), f"not valid JSON ({error})"))
            continue
        if isinstance(record, dict):
            records.append(record)
            rows.append(number)
        else:
            rejects.append(Reject(number, "line", shown(line), "a JSON object is needed on each line"))
    return rows_of_records(records, rows, len(lines), rejects)


def decode(text: bytes) -> Any:
    """One JSON value; NaN and infinities, which Python writers emit, are read too. Raises ValueError."""
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(text.decode("utf-8"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def shown(line: bytes | Sequence[str]) -> str:
    """The start of a line that cannot be used, for the list of rejects."""
    text = line.decode("utf-8", "backslashreplace") if isinstance(line, bytes) else ",".join(line)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
