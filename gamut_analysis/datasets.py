"""Which data the user means: what ships, a folder of their own, or a database; built when its inputs have changed."""

import hashlib
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from gamut_analysis import __version__, paths, tables
from gamut_analysis.errors import InputError
from gamut_analysis.readers.folder import inputs, read_folder
from gamut_analysis.tables import Built, Progress

DEFAULT = "sample"
SHIPPED = ("sample", "paper")
_DATABASE_SUFFIXES = (".duckdb", ".db")
# Code that decides what a build holds: a change of it makes a database stale.
_BUILDERS = ("readers/*.py", "sql/*/*.sql", "tables.py", "vocabulary.py")
_SIMULATORS = ("simulate.py", "compiler.py", "rubric.py", "calibration/*")


def database_of(data: str = "", manifest: str = "", *, strict: bool = False, progress: Progress | None = None) -> Path:
    """The database of the data that is meant, built first if it is absent or older than its inputs.

    data: ``sample`` or ``paper`` (what ships; the default is the sample), a folder of verdicts, or a database file.
    Raises InputError for anything else.
    """
    path = Path(data or DEFAULT)
    if path.suffix in _DATABASE_SUFFIXES and not path.is_dir():
        return path
    folder = folder_of(data, progress)
    target = default_database(data)
    stamp = _stamp(folder, Path(manifest) if manifest else None)
    if strict or not target.is_file() or _read(_stamp_file(target)) != stamp:
        build(folder, target, manifest=manifest, strict=strict, progress=progress)
    return target


def build(
    folder: Path,
    target: Path,
    *,
    manifest: str = "",
    strict: bool = False,
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
) -> Built:
    """Read a folder and build its database, and note what it was built from; ``tell`` gets the profile of a release."""
    told = Path(manifest) if manifest else None
    stamp = _stamp(folder, told)
    delivery = read_folder(folder, told, progress)
    if tell:
        for profile in delivery.profiles:
            tell(profile)
    built = tables.build(delivery, target, strict=strict, progress=progress)
    _stamp_file(target).write_text(stamp, encoding="utf-8")
    return built


def folder_of(data: str = "", progress: Progress | None = None) -> Path:
    """The folder that holds the data; what ships is simulated into it the first time."""
    name = data or DEFAULT
    if name in SHIPPED:
        return _simulated(name, progress)
    folder = Path(name)
    if not folder.is_dir():
        raise InputError(f"{name!r}: no such folder or database; {' and '.join(SHIPPED)} ship with the project")
    return folder


def default_database(data: str = "") -> Path:
    """Where the database of some data is kept; folders of one name in two places do not share one."""
    name = data or DEFAULT
    if name in SHIPPED:
        return paths.warehouse() / f"{name}.duckdb"
    folder = Path(name).resolve()
    place = hashlib.sha256(str(folder).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return paths.warehouse() / f"{paths.slug(folder.name)}-{place}.duckdb"


def _simulated(name: str, progress: Progress | None) -> Path:
    """The folder of a simulated world, drawn again when the simulator or the rubrics have changed."""
    folder = paths.data() / "simulated" / name
    stamp = _digest([*_code(_SIMULATORS), *(_rubrics() if name == "sample" else [])])
    if _read(folder / ".stamp") == stamp:
        return folder
    if progress:
        progress(f"drawing the simulated {name} world", 1, 1)
    _draw(name, folder)
    (folder / ".stamp").write_text(stamp, encoding="utf-8")
    return folder


def _draw(name: str, folder: Path) -> None:
    from gamut_analysis import rubric, simulate  # late: only the first run needs them

    shutil.rmtree(folder, ignore_errors=True)
    world = simulate.paper_world() if name == "paper" else simulate.sample_world(rubric.load_rubrics(_rubrics()))
    simulate.write(world, folder)


def _rubrics() -> list[Path]:
    return sorted((paths.sample() / "questions").glob("*.yaml"))


def _stamp(folder: Path, manifest: Path | None) -> str:
    """What a build depends on, as one text: the files by name, size and time, and the code that reads them."""
    files = "\n".join(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in inputs(folder, manifest))
    return f"{__version__} {_digest(_code(_BUILDERS))}\n{files}\n"


def _code(patterns: Iterable[str]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(paths.PACKAGE.glob(pattern)) if path.is_file()]


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _stamp_file(database: Path) -> Path:
    return database.with_name(database.name + ".inputs")


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
