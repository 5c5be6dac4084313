"""A file of the release as decoded columns, and its beginning; of pictures the path alone, never the bytes."""

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from gamut_analysis.errors import InputError
from gamut_analysis.readers import json as json_reader
from gamut_analysis.readers import jsonl
from gamut_analysis.readers.compressed import read_bytes
from gamut_analysis.readers.delivery import Reject, Rows, as_text
from gamut_analysis.readers.parquet import MAGIC
from gamut_analysis.readers.release_shape import PICTURE_NAMES, is_text_column, plain, structure

SUFFIXES = (".parquet", ".jsonl", ".ndjson", ".json", ".gz", ".zst")
# What readers of packed and Parquet files raise when a file is cut off or damaged.
BROKEN = (pa.ArrowException, zstandard.ZstdError, zlib.error, gzip.BadGzipFile, EOFError)
SAMPLE = 100
_HEAD = 4 * 2**20
_BATCH = 512
_GAP = re.compile(r"[ \t\r\n,]*")
# Without one of these in its beginning, a file that does not begin with whole records is not read on.
_TELLING = ("critical", "valuable", "ingredient", "answer", "response", "prediction", "output")
# What pictures that were written as text begin with: a data address, PNG and JPEG in base64, bytes beside a path.
_PICTURE_DATA = re.compile(r'data:image/|iVBORw0KGgo|/9j/|\{\s*"bytes"\s*:\s*"|[A-Za-z0-9+/]{2000}')


@dataclass(frozen=True)
class Content:
    """Columns of decoded values, the type of each as the file has it, and the number of each row.

    pictures: for each column of pictures and each row the path, an empty text for a picture without one, null for none.
    unread: columns that hold nothing but bytes.
    """

    reader: str
    columns: Mapping[str, Sequence[Any]]
    kinds: Mapping[str, str]
    numbers: Sequence[int]
    rows_read: int
    rejects: tuple[Reject, ...] = ()
    pictures: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    def records(self, n: int | None = None) -> list[dict[str, Any]]:
        """The first rows, or all of them, as records."""
        rows = zip(*(values[:n] for values in self.columns.values()), strict=True)
        return [dict(zip(self.columns, row, strict=True)) for row in rows]


def load(path: Path) -> Content:
    """The whole file. Raises InputError where it cannot be read as what it is."""
    try:
        parquet = _parquet(path)
        if parquet is not None:
            return _from_parquet(parquet)
        lines = {suffix.lower() for suffix in path.suffixes} & {".jsonl", ".ndjson"}
        reader, read = ("jsonl", jsonl.read) if lines else ("json", json_reader.read)
        return _from_rows(reader, read(path))
    except BROKEN as error:
        raise InputError(f"{path}: not a whole file ({str(error).splitlines()[0]}); get it again") from error
    except OSError as error:
        raise InputError(f"{path}: not readable ({error.strerror or error})") from error


def beginning(path: Path) -> list[dict[str, Any]]:
    """The first records of a file, read without the rest where its form allows."""
    parquet = _parquet(path)
    if parquet is not None:
        wanted = _wanted(parquet)
        batch = next(parquet.iter_batches(batch_size=SAMPLE, columns=wanted), None) if wanted else None
        return [_decoded(record) for record in batch.to_pylist(maps_as_pydicts="lossy")] if batch is not None else []
    head = _head(path, _HEAD)
    text = head.decode("utf-8-sig", "ignore")
    records = _first_records(text)
    is_wide = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    if not records and (is_wide or any(word in text.casefold() for word in _TELLING)):
        return load(path).records(SAMPLE)
    return records


def _head(path: Path, size: int) -> bytes:
    """The beginning of a file, through its packing."""
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(0)
        if start.startswith(b"\x1f\x8b"):
            with gzip.open(file) as unpacked:
                return unpacked.read(size)
        if start == b"\x28\xb5\x2f\xfd":
            return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read(size)
        return file.read(size)


# --- JSON -------------------------------------------------------------------------------------------------------------


def _from_rows(reader: str, rows: Rows) -> Content:
    columns = {series.name: series.to_list() for series in rows.frame}
    kinds = {name: _json_kind(values) for name, values in columns.items()}
    unread = tuple(name for name, values in columns.items() if not _is_known(name) and _is_picture_data(values))
    pictures = {name: [_path_of(structure(value)) for value in columns[name]] for name in columns if _is_picture(name)}
    kept = {name: values for name, values in columns.items() if name not in unread}
    numbers = rows.numbers.to_list()
    return Content(reader, kept, kinds, numbers, rows.rows_read, rows.rejects, pictures, unread)


def _json_kind(values: Iterable[str | None]) -> str:
    first = next((value for value in values if value), None)
    return "empty" if first is None else {"{": "object", "[": "list"}.get(first[0], "text")


def _is_known(name: str) -> bool:
    return _is_picture(name) or is_text_column(name)


def _is_picture_data(values: Sequence[str | None]) -> bool:
    return any(value and _PICTURE_DATA.match(value) for value in values)


def _first_records(text: str) -> list[dict[str, Any]]:
    """The whole records at the beginning of JSON lines, of a list of records, or of a list that an object holds."""
    decoder = json.JSONDecoder()
    records: list[dict[str, Any]] = []
    place = len(text) - len(text.lstrip(" \t\r\n["))
    while len(records) < SAMPLE and place < len(text):
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            break
        records += [value] if isinstance(value, dict) else []
        gap = _GAP.match(text, place)
        place = gap.end() if gap else place
    lists = list(records[0].values()) if len(records) == 1 else []
    if len(lists) == 1 and isinstance(lists[0], list):
        return [record for record in lists[0][:SAMPLE] if isinstance(record, dict)]
    return records


# --- Parquet ----------------------------------------------------------------------------------------------------------


def _parquet(path: Path) -> pq.ParquetFile | None:
    """The file as Parquet when it is that, packed or not."""
    if _head(path, len(MAGIC)) != MAGIC:
        return None
    with path.open("rb") as file:
        is_plain = file.read(len(MAGIC)) == MAGIC
    return pq.ParquetFile(path if is_plain else io.BytesIO(read_bytes(path)))


def _leaves(file: pq.ParquetFile) -> list[Any]:
    return [file.schema.column(place) for place in range(len(file.schema))]


def _wanted(file: pq.ParquetFile) -> list[str]:
    return [leaf.path for leaf in _leaves(file) if not _holds_bytes(leaf)]


def _holds_bytes(leaf: Any) -> bool:
    """Whether a leaf holds bytes that are not text; writers that mark no text do so in columns whose names we know."""
    is_bytes = leaf.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY") and leaf.logical_type.type == "NONE"
    return is_bytes and leaf.converted_type == "NONE" and not is_text_column(_column_of(leaf))


def _column_of(leaf: Any) -> str:
    return leaf.path.split(".", 1)[0]


def _from_parquet(file: pq.ParquetFile) -> Content:
    """All columns, leaf by leaf, so that the bytes of pictures stay where they are."""
    columns: dict[str, list[Any]] = {field.name: [] for field in file.schema_arrow}
    wanted = _wanted(file)
    for batch in file.iter_batches(batch_size=_BATCH, columns=wanted) if wanted else ():
        for name in batch.schema.names:
            columns[name] += map(_decoded, batch.column(name).to_pylist(maps_as_pydicts="lossy"))
    height = file.metadata.num_rows
    of_bytes = {_column_of(leaf): leaf for leaf in _leaves(file) if _holds_bytes(leaf)}
    pictures = {
        name: _pictures(file, leaf.path, columns[name])
        for name, leaf in of_bytes.items()
        if leaf.path != name or _is_picture(name)
    }
    pictures |= {
        name: [_path_of(value) for value in values]
        for name, values in columns.items()
        if _is_picture(name) and name not in of_bytes
    }
    unread = tuple(name for name in of_bytes if name not in pictures)
    kept = {name: values or [None] * height for name, values in columns.items() if name not in unread}
    kinds = {field.name: _shortened(str(field.type)) for field in file.schema_arrow}
    return Content("parquet", kept, kinds, range(1, height + 1), height, (), pictures, unread)


def _decoded(value: Any) -> Any:
    """Bytes that are text after all as text, at any depth."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict):
        return {key: _decoded(inner) for key, inner in value.items()}
    return [_decoded(inner) for inner in value] if isinstance(value, list) else value


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


# --- pictures ---------------------------------------------------------------------------------------------------------


def _is_picture(name: str) -> bool:
    return plain(name) in PICTURE_NAMES


def _path_of(value: Any) -> str | None:
    """What a value says of a picture's path; a list stands for its first picture."""
    first = next(iter(value), None) if isinstance(value, list) else value
    if isinstance(first, Mapping):
        path = as_text(first.get("path"))
        is_there = "bytes" not in first or first["bytes"] is not None
        return path or ("" if is_there else None)
    text = as_text(first)
    if text is None or not text.strip():
        return None
    return "" if _PICTURE_DATA.match(text) else text


def _pictures(file: pq.ParquetFile, leaf: str, values: Sequence[Any]) -> list[str | None]:
    """The paths of a column of pictures; for rows without a path, whether there are bytes."""
    paths: list[str | None] = [_path_of(value) for value in values] if values else [""] * file.metadata.num_rows
    if "" not in paths or ".list." in leaf:
        return paths
    return [path if path or there else None for path, there in zip(paths, _present(file, leaf), strict=True)]


def _present(file: pq.ParquetFile, leaf: str) -> list[bool]:
    """Which rows hold bytes. The file's own counts tell where all or none do; only elsewhere are bytes passed by."""
    place = next(place for place, other in enumerate(_leaves(file)) if other.path == leaf)
    present: list[bool] = []
    for group in range(file.metadata.num_row_groups):
        chunk = file.metadata.row_group(group).column(place)
        counts = chunk.statistics
        filled = counts.num_values if counts is not None and counts.has_null_count else None
        if filled in (0, chunk.num_values):
            present += [filled != 0] * chunk.num_values
            continue
        for batch in file.iter_batches(batch_size=_BATCH, row_groups=[group], columns=[leaf]):
            present += _is_there(batch.column(0)).to_pylist()
    return present


def _is_there(column: pa.Array) -> pa.Array:
    return _is_there(column.flatten()[0]) if pa.types.is_struct(column.type) else column.is_valid()
