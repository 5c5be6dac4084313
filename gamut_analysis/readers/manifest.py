"""`gamut.toml`: what the files of a folder hold, told in a few lines; files that use our words need none."""

import difflib
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gamut_analysis.errors import ManifestError
from gamut_analysis.readers.delivery import FIELDS, TABLES
from gamut_analysis.vocabulary import TIERS, VARIANTS, VERDICTS, as_tier, as_variant

NAME = "gamut.toml"
DATASET = ("name", "title", "benchmark", "simulated", "seed", "note", "licence", "url", "default_judge", "infer_roles")
_SECTIONS = ("data", "labels", "tiers", "inspect", *TABLES)
_TABLE_KEYS = ("files", "columns", "constants")
# Where the scores of a foreign log hold what, as dotted paths.
_PATHS = ("verdicts", "model", "judge", "variant", "question_id", "replicate", "answer")
# Sections that may also hold one table for each name: [models."gpt-4o"].
_NAMED = {"models": ("name", "maker", "family", "weights"), "judges": ("name", "kind", "model")}


@dataclass(frozen=True)
class TableSpec:
    """One table of a manifest: its files (patterns), the names of its columns, and values that hold for every row.

    A column given as a list of names is joined with ``|``; what belongs to the first name alone (the text of a
    question, its checks) then holds for every joined id.
    """

    files: tuple[str, ...] | None = None
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class InspectSpec:
    """Logs of Inspect: which files, whose scores, and dotted paths to what a score (or its sample) holds."""

    files: tuple[str, ...] | None = None
    scorer: str | None = None
    paths: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """A folder's description; everything has a default."""

    dataset: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, TableSpec] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    tiers: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    judges: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    inspect: InspectSpec = field(default_factory=InspectSpec)
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
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise ManifestError(f"{path}: there is no such manifest") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ManifestError(f"{path}: not readable as TOML: {error}") from error
    for section, value in content.items():
        _legal(path, "section", section, _SECTIONS)
        _is_section(path, section, value)
    tiers = _mapping(path, "tiers", content.get("tiers", {}), TIERS)
    return Manifest(
        dataset=_dataset(path, content.get("data", {})),
        tables={table: _table(path, table, content[table], tiers) for table in TABLES if table in content},
        labels=_mapping(path, "labels", content.get("labels", {}), VERDICTS),
        tiers=tiers,
        models=_names(path, "models", content.get("models", {})),
        judges=_names(path, "judges", content.get("judges", {})),
        inspect=_inspect(path, content.get("inspect", {})),
        path=path,
    )


def _dataset(path: Path, section: dict[str, Any]) -> dict[str, Any]:
    for key, value in section.items():
        _legal(path, "key of [data]", key, DATASET)
        kinds, wanted = _DATASET_KINDS.get(key, (str, "a text in quotes"))
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise ManifestError(f"{path}: [data] {key} = {value!r}: {wanted} is needed")
    return section


_DATASET_KINDS: dict[str, tuple[Any, str]] = {
    "simulated": (bool, "true or false"),
    "infer_roles": (bool, "true or false"),
    "seed": ((int, str), "a whole number"),
}


def _table(path: Path, table: str, section: dict[str, Any], tiers: Mapping[str, str]) -> TableSpec:
    names = [key for key, value in section.items() if table in _NAMED and key not in _TABLE_KEYS and _is_dict(value)]
    for key in section:
        _legal(path, f"key of [{table}]", key, (*_TABLE_KEYS, *names), shown=_TABLE_KEYS)
    columns, constants = section.get("columns", {}), section.get("constants", {})
    for key, value in (("columns", columns), ("constants", constants)):
        if not _is_dict(value):
            raise ManifestError(f'{path}: [{table}] {key} = {value!r}: pairs in braces are needed, {{ field = "..." }}')
        for name in value:
            _legal(path, f"field of [{table}]", name, tuple(FIELDS[table]))
    return TableSpec(
        files=_files(path, table, section.get("files")),
        columns={name: _texts(path, f"[{table}] columns.{name}", v, "a column name") for name, v in columns.items()},
        constants={name: _constant(path, table, name, value, tiers) for name, value in constants.items()},
    )


def _inspect(path: Path, section: dict[str, Any]) -> InspectSpec:
    for key, value in section.items():
        _legal(path, "key of [inspect]", key, ("files", "scorer", *_PATHS))
        if key != "files" and not (isinstance(value, str) and value):
            raise ManifestError(f"{path}: [inspect] {key} = {value!r}: a text in quotes is needed")
    paths = {key: value for key, value in section.items() if key in _PATHS}
    return InspectSpec(_files(path, "inspect", section.get("files")), section.get("scorer"), paths)


def _files(path: Path, table: str, value: Any) -> tuple[str, ...] | None:
    """The files of a table: None where they are found by name, none at all for an empty list."""
    if value is None:
        return None
    return () if value == [] else _texts(path, f"[{table}] files", value, "a file name")


def _texts(path: Path, place: str, value: Any, what: str) -> tuple[str, ...]:
    """One text, or a list of some."""
    texts = [value] if isinstance(value, str) else value
    if isinstance(texts, list) and texts and all(isinstance(text, str) and text for text in texts):
        return tuple(texts)
    raise ManifestError(f"{path}: {place} = {value!r}: {what} in quotes, or a list of them, is needed")


def _constant(path: Path, table: str, name: str, value: Any, tiers: Mapping[str, str]) -> str:
    if not isinstance(value, str):
        raise ManifestError(f"{path}: [{table}] constants.{name} = {value!r}: a text in quotes is needed")
    known: dict[str, tuple[Callable[[str], str | None], Iterable[str]]] = {
        "tier": (lambda text: tiers.get(text) or as_tier(text), TIERS),
        "variant": (as_variant, VARIANTS),
    }
    if name in known and not known[name][0](value):
        legal = ", ".join(known[name][1])
        raise ManifestError(f"{path}: [{table}] constants.{name} = {value!r}: one of {legal} is needed")
    return value


def _mapping(path: Path, section: str, pairs: dict[str, Any], legal: tuple[str, ...]) -> dict[str, str]:
    for given, meaning in pairs.items():
        if meaning not in legal:
            raise ManifestError(f"{path}: [{section}] {given!r} = {meaning!r}: one of {', '.join(legal)} is needed")
    return pairs


def _names(path: Path, section: str, entries: dict[str, Any]) -> dict[str, dict[str, str]]:
    """The named models or judges of a section, which may also describe files."""
    named = {name: value for name, value in entries.items() if name not in _TABLE_KEYS}
    for name, entry in named.items():
        for key, value in entry.items():
            _legal(path, f"key of [{section}.{name}]", key, _NAMED[section])
            if not isinstance(value, str):
                raise ManifestError(f"{path}: [{section}.{name}] {key} = {value!r}: a text in quotes is needed")
    return named


def _is_section(path: Path, name: str, value: Any) -> None:
    if not _is_dict(value):
        raise ManifestError(f"{path}: {name} = {value!r}: a section in brackets, [{name}], is needed")


def _is_dict(value: Any) -> bool:
    return isinstance(value, dict)


def _legal(path: Path, what: str, given: str, legal: tuple[str, ...], shown: tuple[str, ...] = ()) -> None:
    if given in legal:
        return
    near = difflib.get_close_matches(given, legal, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ManifestError(f"{path}: {given!r} is no {what}; {hint}legal: {', '.join(shown or legal)}")
