"""JSON lines: one record a line, whatever its fields; a bad line costs only itself."""

import json
import keyword
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from gamut_analysis.readers.compressed import read_utf8
from gamut_analysis.readers.delivery import Reject, Rows, records_frame, text_series

CHUNK = 50_000
_SHOWN = 120


def read(path: Path, fields: Sequence[str] = ()) -> Rows:
    """Read every line; ``fields`` are the usual ones, whose lines take a fast way that gives the same result."""
    return read_lines(read_utf8(path), fields)


def read_lines(data: bytes, fields: Sequence[str] = ()) -> Rows:
    """Rows and rejected lines of JSON-lines text; blank lines are no rows."""
    lines = data.split(b"\n")
    numbers = [number for number, line in enumerate(lines, 1) if not line.isspace() and line]
    if len(numbers) != len(lines):
        lines = [lines[number - 1] for number in numbers]
    frames: list[pl.DataFrame] = []
    rejects: list[Reject] = []
    fields = [name for name in fields if name.isidentifier() and not keyword.iskeyword(name)]
    usual = _usual_decoder(fields)
    for start in range(0, len(lines), CHUNK):
        frame, bad = _read_chunk(lines[start : start + CHUNK], numbers[start : start + CHUNK], usual, fields)
        frames.append(frame)
        rejects.extend(bad)
    frame = pl.concat(frames, how="diagonal") if frames else pl.DataFrame(schema={"row": pl.Int64})
    return Rows(frame, len(lines), tuple(rejects))


def _usual_decoder(fields: Sequence[str]) -> msgspec.json.Decoder[Any]:
    """A decoder of lines that hold text in the usual fields and nothing else; other lines make it raise."""
    record = msgspec.defstruct("Record", [(name, str | None, None) for name in fields], forbid_unknown_fields=True)
    return msgspec.json.Decoder(record)


def _read_chunk(
    lines: list[bytes], numbers: list[int], usual: msgspec.json.Decoder[Any], fields: Sequence[str]
) -> tuple[pl.DataFrame, list[Reject]]:
    try:
        records = list(map(usual.decode, lines))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _read_any(lines, numbers)
    columns = [text_series(name, [getattr(record, name) for record in records]) for name in fields]
    present = [column for column in columns if column.null_count() < len(column)]
    return pl.DataFrame([*present, pl.Series("row", numbers, dtype=pl.Int64)]), []


def _read_any(lines: list[bytes], numbers: list[int]) -> tuple[pl.DataFrame, list[Reject]]:
    records: list[dict[str, Any]] = []
    rows: list[int] = []
    rejects: list[Reject] = []
    for line, number in zip(lines, numbers, strict=True):
        try:
            record = decode(line)
        except ValueError as error:
            rejects.append(Reject(number, "line", _shown(line), f"not valid JSON ({error})"))
            continue
        if isinstance(record, dict):
            records.append(record)
            rows.append(number)
        else:
            rejects.append(Reject(number, "line", _shown(line), "a JSON object is needed on each line"))
    return records_frame(records, rows), rejects


def decode(text: bytes) -> Any:
    """One JSON value; NaN and infinities, which Python writers emit, are read too. Raises ValueError."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            return json.loads(text.decode("utf-8"))
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "backslashreplace")
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
