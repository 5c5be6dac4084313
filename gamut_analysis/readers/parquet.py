"""Parquet: any column type becomes text under one rule; pictures leave only their path."""

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from gamut_analysis.errors import InputError
from gamut_analysis.readers.delivery import Rows, text_series


def read(path: Path, fields: tuple[str, ...] = ()) -> Rows:
    """Read one shard; a row's number counts from 1. Binary columns are not loaded."""
    try:
        schema = pq.read_schema(path)
        wanted = [field.name for field in schema if not _is_binary(field.type)]
        frame = pl.read_parquet(path, columns=wanted) if wanted else pl.DataFrame()
        height = pq.read_metadata(path).num_rows
    except (pa.ArrowException, OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: not a whole Parquet file ({error})") from error
    columns = [_as_text(frame[name], schema.field(name).type) for name in wanted]
    return Rows(pl.DataFrame([*columns, pl.Series("row", range(1, height + 1), dtype=pl.Int64)]), height)


def _is_binary(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)


def _as_text(column: pl.Series, kind: pa.DataType) -> pl.Series:
    if column.dtype == pl.String:
        return column
    if _holds_pictures(kind):
        return pl.Series(column.name, [_picture(value) for value in column.to_list()], dtype=pl.String)
    if column.dtype.is_integer() or column.dtype in (pl.Categorical, pl.Enum, pl.Null, pl.Boolean):
        return column.cast(pl.String)
    return text_series(column.name, column.to_list())


def _holds_pictures(kind: pa.DataType) -> bool:
    """Whether the type is the usual picture column: a struct of bytes and path, or a list of them."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = kind.value_type
    return pa.types.is_struct(kind) and any(_is_binary(kind.field(i).type) for i in range(kind.num_fields))


def _picture(value: object) -> str | None:
    """The path of a picture, an empty text for one without a path, null for none; never its bytes."""
    first = next(iter(value), None) if isinstance(value, list) else value
    return (first.get("path") or "") if isinstance(first, dict) else None
