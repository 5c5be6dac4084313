"""One log of Inspect AI as it lies on disk, an archive (`.eval`) or a JSON document: of each sample what is used."""

import codecs
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec
import zstandard

from gamut_analysis.errors import InputError
from gamut_analysis.readers.compressed import read_utf8

ARCHIVE = ".eval"
# What a log says of its run while it is still written, and what it says for ever if the run is killed.
STARTED = "started"
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_LOCAL = struct.Struct("<4s22xHH")
_LOCAL_MARK = b"PK\x03\x04"
_SAMPLES = "samples/"
_HEADER = "header.json"
_START = "_journal/start.json"
_HEAD = 1024
_FIRST_KEY = re.compile(
    rb'\s*\{\s*"(version|status|eval|plan|results|stats|error|invalidated|log_updates|tags|metadata|samples|reductions)"'
)
# How Inspect itself begins one.
_BEGINNING = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"\w+"\s*,\s*"eval"\s*:\s*\{')
_T = TypeVar("_T")


class Output(msgspec.Struct):
    """What the model wrote last."""

    completion: Any = None
    choices: list[Any] = []
    error: Any = None


class Usage(msgspec.Struct):
    """Tokens that went to a model and came from it, and their cost."""

    input_tokens: int = 0
    input_tokens_cache_write: int | None = None
    input_tokens_cache_read: int | None = None
    output_tokens: int = 0
    total_cost: float | None = None

    @property
    def all_input(self) -> int:
        """Tokens of the input, those of the cache included."""
        return self.input_tokens + (self.input_tokens_cache_write or 0) + (self.input_tokens_cache_read or 0)


class Sample(msgspec.Struct):
    """One sample of a log; what it holds beside this (events, messages, attachments) is passed over."""

    id: Any
    epoch: int = 1
    input: Any = None
    output: Output | None = None
    scores: dict[str, dict[str, Any]] | None = None
    metadata: dict[str, Any] | None = None
    model_usage: dict[str, Usage] | None = None
    role_usage: dict[str, Usage] | None = None
    error: dict[str, Any] | None = None
    invalidation: Any = None
    uuid: str | None = None
    completed_at: str | None = None
    total_time: float | None = None


class Dataset(msgspec.Struct):
    """What was to be asked."""

    samples: int | None = None
    sample_ids: list[Any] | None = None


class Scorer(msgspec.Struct):
    """One scorer of a run."""

    name: str


class Config(msgspec.Struct):
    """How often each sample was to be asked."""

    epochs: int | None = None


class Eval(msgspec.Struct):
    """What was run, on what."""

    task: str = ""
    task_id: str = ""
    eval_id: str = ""
    run_id: str = ""
    created: str = ""
    model: str | None = None
    dataset: Dataset = msgspec.field(default_factory=Dataset)
    config: Config = msgspec.field(default_factory=Config)
    scorers: list[Scorer] | None = None


class Log(msgspec.Struct):
    """A log: its run, how that ended, and its samples in the order of the file."""

    eval: Eval
    status: str = STARTED
    samples: list[Sample] | None = None


def is_log(path: Path) -> bool:
    """Whether the file is a log: by its extension, or for JSON by what it holds."""
    suffix = path.suffix.lower()
    try:
        return suffix == ARCHIVE or (suffix == ".json" and _is_json_log(path))
    except (InputError, OSError):
        return False


def read(path: Path) -> Log:
    """Read a log. Raises InputError, with the member of an archive, where it is damaged or no log."""
    try:
        if zipfile.is_zipfile(path) or path.suffix.lower() == ARCHIVE:
            return _read_archive(path)
        return _decoded(read_utf8(path), Log, f"{path}")
    except OSError as error:
        raise InputError(f"{path}: not readable ({error.strerror or error})") from error


def _is_json_log(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(_HEAD).removeprefix(codecs.BOM_UTF8)
    if not _FIRST_KEY.match(head):
        return False
    if _BEGINNING.match(head):
        return True
    try:
        document = _value(read_utf8(path), dict[str, Any])
    except ValueError:
        return False
    return isinstance(document.get("eval"), dict) and bool({"samples", "status", "version"} & set(document))


def _read_archive(path: Path) -> Log:
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            members = {info.filename: info for info in archive.infolist()}
            head = next((members[name] for name in (_HEADER, _START) if name in members), None)
            if head is None:
                raise InputError(f"{path}: no log of Inspect: the archive has no {_HEADER}")
            log = _decoded(_content(path, file, head), Log, f"{path}: {head.filename}")
            log.samples = list(_samples(path, file, members))
            return log
    except zipfile.BadZipFile as error:
        raise InputError(f"{path}: the log is cut off or damaged ({error}); get it again") from error


def _samples(path: Path, file: BinaryIO, members: dict[str, zipfile.ZipInfo]) -> Iterator[Sample]:
    for name, info in members.items():
        if name.startswith(_SAMPLES) and name.endswith(".json"):
            yield _decoded(_content(path, file, info), Sample, f"{path}: {name}")


def _content(path: Path, file: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    """The content of one member, by hand: `zipfile` does not know Zstandard before Python 3.14."""
    place = f"{path}: {info.filename}"
    file.seek(info.header_offset)
    local = file.read(_LOCAL.size)
    if len(local) < _LOCAL.size or not local.startswith(_LOCAL_MARK):
        raise InputError(f"{place}: the log is damaged (no member where one should be); get it again")
    _, name, extra = _LOCAL.unpack(local)
    file.seek(name + extra, 1)
    packed = file.read(info.compress_size)
    try:
        content = _unpacked(info.compress_type, packed)
    except (zlib.error, zstandard.ZstdError) as error:
        raise InputError(f"{place}: the member is damaged ({error}); get it again") from error
    if content is None:
        raise InputError(f"{place}: packed in a way that is not known here (zip method {info.compress_type})")
    if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
        raise InputError(f"{place}: the member is damaged (its checksum differs); get it again")
    return content


def _unpacked(method: int, packed: bytes) -> bytes | None:
    if method == _STORED:
        return packed
    if method == _DEFLATED:
        return zlib.decompress(packed, wbits=-zlib.MAX_WBITS)
    if method != _ZSTANDARD:
        return None
    parts: list[bytes] = []
    while packed:
        frame = zstandard.ZstdDecompressor().decompressobj()
        parts.append(frame.decompress(packed))
        packed = frame.unused_data
    return b"".join(parts)


def _decoded(data: bytes, kind: type[_T], place: str) -> _T:
    try:
        return _value(data, kind)
    except ValueError as error:
        raise InputError(f"{place}: not a log of Inspect that can be read ({error})") from error


def _value(data: bytes, kind: type[_T]) -> _T:
    """The value of a JSON text, at once where it is strict, else (bare NaN) the slow way. Raises ValueError."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError:
        raise
    except (ValueError, RecursionError):
        pass
    try:
        return msgspec.convert(json.loads(data), kind)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
