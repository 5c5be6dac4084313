"""A file's columns under our names, clean at the door; what has no name of ours is kept as JSON in ``extra``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from gamut_analysis.errors import InputError, ManifestError
from gamut_analysis.readers.delivery import BLANK_COUNTS, BLANKS, FIELDS, FORMS, LONG, PROSE, Reject, Rows
from gamut_analysis.readers.manifest import NAME, TableSpec
from gamut_analysis.vocabulary import normalise_label

BASE = "base_id"  # of a joined question id: the id of the question that it rests on
JOINT = "|"


@dataclass(frozen=True)
class Naming:
    """Which columns of a file hold which fields of a table; ``spec`` gives constants and takes precedence."""

    table: str
    spec: TableSpec
    columns: tuple[str, ...]
    parts: dict[str, tuple[str, ...]]

    @property
    def mapped(self) -> str | None:
        """The fields that were read from columns of another name, for people."""
        pairs = [(field, " | ".join(parts)) for field, parts in self.parts.items() if parts and parts != (field,)]
        return ", ".join(f"{field} = {column}" for field, column in pairs) or None

    def gives(self, field: str) -> bool:
        """Whether the file or the manifest has this field."""
        return bool(self.parts[field]) or field in self.spec.constants


def naming(columns: Sequence[str], table: str, spec: TableSpec, path: Path) -> Naming:
    """Find the fields of a table among a file's columns: as the manifest says, else by name, else by known others.

    Case, blanks and hyphens of a column's name do not matter. Raises ManifestError for a column that is not there,
    InputError where two columns could be meant.
    """
    parts = {field: _parts(columns, table, field, spec, path) for field in FIELDS[table]}
    return Naming(table, spec, tuple(columns), parts)


def check_needed(named: Naming, needed: Sequence[str], path: Path) -> None:
    """Raise InputError when a field is absent without which a row says nothing."""
    for group in needed:
        fields = group.split()
        if any(named.gives(field) for field in fields):
            continue
        words = " or ".join(name for field in fields for name in (field, *FIELDS[named.table][field]))
        raise InputError(
            f"{path}: the {named.table} need a column {words}; the file has: {', '.join(named.columns)}. Name it in "
            f'{NAME}: [{named.table}] columns = {{ {fields[0]} = "..." }}, or constants for one value that holds for '
            f"every row"
        )


def under_our_names(rows: Rows, named: Naming, source_id: int) -> pl.DataFrame:
    """The rows with the fields of a table, blanks cleaned, and ``extra``, ``source_id`` and ``row``."""
    columns = [_field(rows.frame, named, field) for field in FIELDS[named.table]]
    joined = named.parts.get("question_id", ())
    if len(joined) > 1:
        columns.append(_clean(rows.frame[joined[0]], "question_id").alias(BASE))
    taken = {part for parts in named.parts.values() for part in parts}
    left = [column for column in named.columns if column not in taken]
    extra = pl.struct(*left).struct.json_encode() if left else pl.lit(None, dtype=pl.String)
    source = pl.lit(source_id, dtype=pl.Int32).alias("source_id")
    return rows.frame.select(*columns, extra.alias("extra"), source, rows.numbers)


def without_misformed(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Reject]]:
    """The rows without the values that do not have their field's form, and those values; the rows themselves stay."""
    rejects: list[Reject] = []
    for field, (form, wanted) in FORMS.items():
        if field not in frame.columns:
            continue
        misformed = pl.col(field).is_not_null() & ~pl.col(field).str.contains(form)
        found = frame.filter(misformed).select("row", field).iter_rows()
        rejects.extend(
            Reject(row, field, value, f"{wanted} is needed; the row is kept without it") for row, value in found
        )
        frame = frame.with_columns(pl.when(~misformed).then(pl.col(field)).alias(field))
    return frame, rejects


def _parts(columns: Sequence[str], table: str, field: str, spec: TableSpec, path: Path) -> tuple[str, ...]:
    if field in spec.columns:
        return _told(columns, table, field, spec, path)
    names = (field, *FIELDS[table][field])
    for name in names:
        if name in columns:
            return (name,)
    for name in names:
        alike = [column for column in columns if normalise_label(column) == name]
        if len(alike) > 1:
            choices = ", ".join(map(repr, alike))
            raise InputError(f"{path}: {choices} could all be {table}.{field}; say in {NAME} which one is")
        if alike:
            return (alike[0],)
    return ()


def _told(columns: Sequence[str], table: str, field: str, spec: TableSpec, path: Path) -> tuple[str, ...]:
    parts = spec.columns[field]
    if absent := [part for part in parts if part not in columns]:
        have = ", ".join(columns)
        raise ManifestError(f"{path}: no column {absent[0]!r} for {table}.{field}; the file has: {have}")
    return parts


def _field(frame: pl.DataFrame, named: Naming, field: str) -> pl.Series:
    parts = [_clean(frame[part], field) for part in named.parts[field]]
    constant = pl.lit(named.spec.constants.get(field), dtype=pl.String)
    if not parts:
        return pl.select(constant.repeat_by(frame.height).explode()).to_series().alias(field)
    whole = pl.concat_str(*parts, separator=JOINT) if len(parts) > 1 else pl.lit(parts[0])
    return frame.select(pl.coalesce(whole, constant).alias(field)).to_series()


def _clean(values: pl.Series, field: str) -> pl.Series:
    """A column without the blanks around its values; prose and names keep theirs, and all-blank values are null."""
    if field in BLANK_COUNTS:
        return values
    if field not in LONG:
        # Ids and labels repeat: what one of each shows is enough, and mostly nothing is to be done.
        distinct = values.unique()
        if _without_blanks(distinct, field).equals(distinct):
            return values
    return _without_blanks(values, field)


def _without_blanks(values: pl.Series, field: str) -> pl.Series:
    stripped = values.str.strip_chars(BLANKS)
    kept = values if field in PROSE else stripped
    return kept.set(stripped == "", None)
