"""Bytes of a file, unpacked by what it holds rather than by what it is called."""

import gzip
import zlib
from pathlib import Path

import zstandard

from gamut_analysis.errors import InputError

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_BOM = b"\xef\xbb\xbf"


def read_bytes(path: Path) -> bytes:
    """The whole content, through gzip (all members) or zstd (all frames). Raises InputError for a file that is cut off."""
    raw = path.read_bytes()
    if raw.startswith(_GZIP):
        return _gunzip(path, raw)
    if raw.startswith(_ZSTD):
        return _unzstd(path, raw)
    return raw


def read_utf8(path: Path) -> bytes:
    """The content as UTF-8 without a byte order mark; UTF-16 with a mark is turned into UTF-8."""
    raw = read_bytes(path)
    if encoding := _UTF16.get(raw[:2]):
        try:
            return raw[2:].decode(encoding).encode()
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: starts as UTF-16 but is not ({error}); save it as UTF-8") from error
    return raw.removeprefix(_BOM)


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
