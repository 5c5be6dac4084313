"""`gamut.toml`: what the files of a folder hold, told in a few lines; files that use our words need none."""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gamut_analysis.errors import ManifestError
from gamut_analysis.readers.delivery import FIELDS, TABLES
from gamut_analysis.vocabulary import TIERS, VERDICTS

NAME = "gamut.toml"
DATASET = ("name", "title", "benchmark", "simulated", "seed", "note", "licence", "url", "default_judge")
_SECTIONS = ("data", "labels", "tiers", "models", "judges", *TABLES)
_TABLE_KEYS = ("files", "columns", "constants")
_NAMED = {"models": ("name", "maker", "family", "weights"), "judges": ("name", "kind", "model")}


@dataclass(frozen=True)
class TableSpec:
    """One table of a manifest: its files (patterns), the names of its columns, and values that hold for every row.

    A column given as a list of names is joined with ``|``; what belongs to the first name alone (the text of a
    question, its checks) then holds for every joined id.
    """

    files: tuple[str, ...] | None = None
    columns: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """A folder's description; everything has a default."""

    dataset: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, TableSpec] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    tiers: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    judges: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    path: Path | None = None

    def spec(self, table: str) -> TableSpec:
        """What the manifest says of one table."""
        return self.tables.get(table, TableSpec())


def find(folder: Path, given: Path | None) -> Manifest:
    """The manifest that was given, else the folder's own, else an empty one."""
    if given is not None:
        return load(given)
    own = folder / NAME
    return load(own) if own.is_file() else Manifest()


def load(path: Path) -> Manifest:
    """Read and check a manifest. Raises ManifestError with the key, its value and the legal ones."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        content = tomllib.loads(text)
    except FileNotFoundError as error:
        raise ManifestError(f"{path}: there is no such manifest") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ManifestError(f"{path}: not readable as TOML: {error}") from error
    for section, value in content.items():
        _legal(path, "section", section, _SECTIONS)
        _is_table(path, section, value)
    return Manifest(
        dataset=_dataset(path, content.get("data", {})),
        tables={t: _table(path, t, content[t]) for t in TABLES if _describes_files(content.get(t))},
        labels=_mapping(path, "labels", content.get("labels", {}), VERDICTS),
        tiers=_mapping(path, "tiers", content.get("tiers", {}), TIERS),
        models=_names(path, "models", content.get("models", {})),
        judges=_names(path, "judges", content.get("judges", {})),
        path=path,
    )


def _describes_files(section: Any) -> bool:
    return isinstance(section, dict) and bool(set(section) & set(_TABLE_KEYS))


def _dataset(path: Path, section: dict[str, Any]) -> dict[str, Any]:
    for key, value in section.items():
        _legal(path, "key of [data]", key, DATASET)
        if key == "simulated" and not isinstance(value, bool):
            raise ManifestError(f"{path}: [data] simulated = {value!r}: true or false is needed")
    return section


def _table(path: Path, table: str, section: dict[str, Any]) -> TableSpec:
    known = _TABLE_KEYS + tuple(key for key, value in section.items() if isinstance(value, dict) and table in _NAMED)
    for key in section:
        _legal(path, f"key of [{table}]", key, known)
    files = section.get("files")
    patterns = None if files is None else tuple([files] if isinstance(files, str) else files)
    columns = {name: _column(path, table, name, value) for name, value in section.get("columns", {}).items()}
    constants = section.get("constants", {})
    for name in (*columns, *constants):
        _legal(path, f"field of [{table}]", name, tuple(FIELDS[table]))
    for name, value in constants.items():
        if not isinstance(value, str):
            raise ManifestError(f"{path}: [{table}] constants.{name} = {value!r}: a text in quotes is needed")
    return TableSpec(patterns, columns, constants)


def _column(path: Path, table: str, name: str, value: Any) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise ManifestError(f"{path}: [{table}] columns.{name} = {value!r}: a column name, or a list of them, is needed")


def _mapping(path: Path, section: str, pairs: dict[str, Any], legal: tuple[str, ...]) -> dict[str, str]:
    for given, meaning in pairs.items():
        if meaning not in legal:
            raise ManifestError(f"{path}: [{section}] {given!r} = {meaning!r}: one of {', '.join(legal)} is needed")
    return pairs


def _names(path: Path, section: str, entries: dict[str, Any]) -> dict[str, dict[str, str]]:
    """The named models or judges of a section, which may also describe files."""
    named = {name: value for name, value in entries.items() if name not in _TABLE_KEYS}
    for name, value in named.items():
        _is_table(path, f"{section}.{name}", value)
        for key in value:
            _legal(path, f"key of [{section}.{name}]", key, _NAMED[section])
    return named


def _is_table(path: Path, name: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise ManifestError(f"{path}: {name} = {value!r}: a section in brackets, [{name}], is needed")


def _legal(path: Path, what: str, given: str, legal: tuple[str, ...]) -> None:
    if given in legal:
        return
    near = difflib.get_close_matches(given, legal, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ManifestError(f"{path}: {given!r} is no {what}; {hint}legal: {', '.join(legal)}")
