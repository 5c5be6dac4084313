"""What the files of a release give together: rows by table, and everything that is to be said about them."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from gamut_analysis.readers.delivery import BLANKS, Reject, Source, as_text, delivered_schema
from gamut_analysis.readers.release_files import SUFFIXES, Content
from gamut_analysis.readers.release_profile import KEPT, NOT_READ, Profile
from gamut_analysis.vocabulary import VARIANT_LABELS

TABLES = ("questions", "checks", "items", "answers")
_SHOWN = 120


@dataclass(frozen=True)
class File:
    """One file of the release, the folder that its name is given relative to, and its number among the sources."""

    path: Path
    root: Path | None
    source_id: int

    @property
    def name(self) -> str:
        """The name by which people know it."""
        if self.root is None or not self.path.is_relative_to(self.root):
            return self.path.name
        return str(self.path.relative_to(self.root))

    @property
    def stem(self) -> str:
        """The name without what tells format and packing: ``gpt-4.1.jsonl.gz`` is ``gpt-4.1``."""
        name = self.path.name
        while name.lower().endswith(SUFFIXES):
            name = name.rpartition(".")[0]
        return name

    def source(self, table: str, content: Content, mapped: str | None) -> Source:
        """The file as a source of the delivery."""
        with self.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        modified = datetime.fromtimestamp(self.path.stat().st_mtime, UTC).isoformat(timespec="seconds")
        return Source(self.source_id, self.name, table, digest, content.reader, modified, content.rows_read, mapped)


@dataclass
class Gathered:
    """Rows of all tables as they come. ``first`` tells where the question of a variant and an id was read first."""

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    first: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    files_of: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    sources: list[Source] = field(default_factory=list)
    rejects: list[tuple[int, Reject]] = field(default_factory=list)
    profiles: list[Profile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_file(self, file: File, table: str, content: Content, mapped: str | None, profile: Profile) -> None:
        """Add a file that has been read, with the lines of it that could not be."""
        self.sources.append(file.source(table, content, mapped))
        self.rejects += [(file.source_id, reject) for reject in content.rejects]
        self.profiles.append(profile)
        said = f"{'; '.join(profile.decisions)}. Read as: {mapped or 'named'}."
        for use in (KEPT, NOT_READ):
            names = [column.name for column in profile.columns if column.use == use]
            said += f" {use[0].upper()}{use[1:]}: {', '.join(names)}." if names else ""
        self.notes.append(f"{file.name}: {content.rows_read:,} {profile.holds}; {said}")
        self.notes += [f"{file.name}: {oddity}." for oddity in profile.oddities]

    def frames(self) -> dict[str, pl.DataFrame]:
        """The rows as delivered tables."""
        return {table: self._frame(table) for table in TABLES}

    def _frame(self, table: str) -> pl.DataFrame:
        schema = delivered_schema(table)
        return pl.DataFrame({name: [row.get(name) for row in self.rows[table]] for name in schema}, schema=schema)


def mapped_columns(columns: Mapping[str, str]) -> str | None:
    """The fields that were read from columns of another name, for people."""
    return ", ".join(f"{field} = {name}" for field, name in columns.items() if field != name) or None


def spoken(variant: str) -> str:
    """A variant in a sentence."""
    return VARIANT_LABELS.get(variant, variant).lower()


def clean(value: Any) -> str | None:
    """An id or a short field as text, without the blanks around it."""
    is_plain = value is None or isinstance(value, str | int | float | dict | list)
    text = as_text(value if is_plain else str(value))
    return (text.strip(BLANKS) or None) if text is not None else None


def prose(value: Any) -> str | None:
    """What people wrote, to the letter; blank is null."""
    text = as_text(value)
    return text if text is not None and text.strip(BLANKS) else None


def short(value: Any) -> str | None:
    """The start of a value, for the list of rejects."""
    text = as_text(value)
    return text if text is None or len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def as_json(content: Mapping[str, Any]) -> str | None:
    """What has no column of its own, as JSON without nulls; null when there is nothing."""
    kept = {key: value for key, value in content.items() if value is not None}
    return as_text(kept) if kept else None
