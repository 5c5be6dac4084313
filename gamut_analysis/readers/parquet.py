"""Parquet: any column type becomes text under one rule; pictures leave only their path."""

import io
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from gamut_analysis.errors import InputError
from gamut_analysis.readers.compressed import read_bytes
from gamut_analysis.readers.delivery import FIELDS, Rows, text_series

MAGIC = b"PAR1"
# Some writers leave text without saying that it is text. Bytes under any other name are not loaded.
_TEXT = {name for fields in FIELDS.values() for field, others in fields.items() for name in (field, *others)}
_TEXT -= {"image", "images"}

_CAST = (pl.String, pl.Binary, pl.Boolean, pl.Categorical, pl.Enum, pl.Null, pl.Date)


def read(path: Path) -> Rows:
    """Read one shard; a row's number counts from 1. Raises InputError for a file that is not whole."""
    try:
        source = path if _starts(path) == MAGIC else read_bytes(path)
        file = pq.ParquetFile(source if isinstance(source, Path) else io.BytesIO(source))
        schema, height = file.schema_arrow, file.metadata.num_rows
        wanted = [field.name for field in schema if field.name in _TEXT or not _is_binary(field.type)]
        # A name is a name: blanks, brackets and `=` in a path are no pattern and no partition.
        frame = pl.read_parquet(source, columns=wanted, glob=False, hive_partitioning=False)
        columns = [_as_text(frame[name], schema.field(name).type) for name in wanted]
    except (pa.ArrowException, OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(f"{path}: not a whole Parquet file ({str(error).splitlines()[0]}); get it again") from error
    return Rows(pl.DataFrame(columns), pl.int_range(1, height + 1, eager=True).alias("row"), height)


def _starts(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(MAGIC))


def _is_binary(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)


def _as_text(column: pl.Series, kind: pa.DataType) -> pl.Series:
    if _holds_pictures(kind):
        return pl.Series(column.name, [_picture(value) for value in column.to_list()], dtype=pl.String)
    if column.dtype.is_float():
        return _float_text(column)
    if isinstance(column.dtype, pl.Datetime):
        return column.dt.to_string("iso:strict")
    if column.dtype.is_integer() or column.dtype in _CAST:
        return column.cast(pl.String)
    if column.dtype.is_nested() and _is_plain(column.dtype):
        return _json_text(column)
    return text_series(column.name, column.to_list())


def _is_plain(kind: Any) -> bool:
    """Whether a nested type holds nothing but text, numbers and truth values."""
    if isinstance(kind, pl.List | pl.Array):
        return _is_plain(kind.inner)
    if isinstance(kind, pl.Struct):
        return all(_is_plain(field.dtype) for field in kind.fields)
    return kind in (pl.String, pl.Boolean, pl.Null) or (kind.is_numeric() and not kind.is_decimal())


def _json_text(column: pl.Series) -> pl.Series:
    """Nested values as JSON, encoded as the one field of a record whose frame is then taken off."""
    value = pl.col(column.name)
    record = pl.struct(value.alias("x")).struct.json_encode()
    inner = record.str.slice(len('{"x":')).str.head(-1)
    return column.to_frame().select(pl.when(value.is_not_null()).then(inner).alias(column.name)).to_series()


def _float_text(column: pl.Series) -> pl.Series:
    """Whole numbers without their ``.0``; non-finite ones are no value."""
    value = pl.col(column.name)
    whole = (value == value.floor()) & (value.abs() < 2**63)
    text = pl.when(whole).then(value.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(value.cast(pl.String))
    return column.to_frame().select(pl.when(value.is_finite()).then(text).alias(column.name)).to_series()


def _holds_pictures(kind: pa.DataType) -> bool:
    """Whether the type is the usual picture column: a struct of bytes and path, or a list of them."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = kind.value_type
    return pa.types.is_struct(kind) and any(_is_binary(kind.field(i).type) for i in range(kind.num_fields))


def _picture(value: object) -> str | None:
    """The path of a picture, an empty text for one without a path, null for none; never its bytes."""
    first = next(iter(value), None) if isinstance(value, list) else value
    return (first.get("path") or "") if isinstance(first, dict) else None
