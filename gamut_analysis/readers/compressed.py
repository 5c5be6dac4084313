"""Bytes of a file, unpacked by what it holds rather than by what it is called."""

import gzip
import zlib
from pathlib import Path

import zstandard

from gamut_analysis.errors import InputError

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPED = tuple(bytes([0x50 + i, 0x2A, 0x4D, 0x18]) for i in range(16))
_PACKED = (".gz", ".zst")
# The marks of UTF-32 come first: one of them begins with a mark of UTF-16.
_MARKS = {
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"\xef\xbb\xbf": "utf-8-sig",
}


def read_bytes(path: Path) -> bytes:
    """The whole content, through gzip (all members) or zstd (all frames).

    Raises InputError for a file that is cut off or damaged.
    """
    raw = path.read_bytes()
    if not raw and path.suffix.lower() in _PACKED:
        raise InputError(f"{path}: the file is empty, and even an empty packed file is not; get it again")
    if raw.startswith(_GZIP):
        return _gunzip(path, raw)
    if raw.startswith((_ZSTD, *_ZSTD_SKIPPED)):
        return _unzstd(path, raw)
    return raw


def read_utf8(path: Path) -> bytes:
    """The content as UTF-8 without a byte order mark; UTF-16 and UTF-32 with a mark are turned into UTF-8."""
    raw = read_bytes(path)
    for mark, encoding in _MARKS.items():
        if raw.startswith(mark):
            return raw.removeprefix(mark) if encoding == "utf-8-sig" else _recoded(path, raw, encoding)
    if b"\x00" in raw[:4]:
        raise InputError(f"{path}: not text in UTF-8 (it has NUL bytes at its start); save the file as UTF-8")
    return raw


def _recoded(path: Path, raw: bytes, encoding: str) -> bytes:
    try:
        return raw.decode(encoding).encode()
    except UnicodeError as error:
        raise InputError(f"{path}: starts as {encoding.upper()} but is not ({error}); save it as UTF-8") from error


def _gunzip(path: Path, raw: bytes) -> bytes:
    try:
        return gzip.decompress(raw)
    except EOFError as error:
        raise InputError(f"{path}: the gzip file is cut off; get it again") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}: the gzip file is damaged ({error}); get it again") from error


def _unzstd(path: Path, raw: bytes) -> bytes:
    parts: list[bytes] = []
    try:
        while raw:
            frame = zstandard.ZstdDecompressor().decompressobj()
            parts.append(frame.decompress(raw))
            if not frame.eof:
                raise InputError(f"{path}: the zstd file is cut off; get it again")
            raw = frame.unused_data
    except zstandard.ZstdError as error:
        raise InputError(f"{path}: the zstd file is damaged ({error}); get it again") from error
    return b"".join(parts)
