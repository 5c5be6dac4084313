"""Run every ``bench_*.py`` of this folder and print their rows as one table.

Each of them has a function ``rows() -> list[dict]`` with ``task``, ``ours`` (seconds), and where there is a peer
``peer_name``, ``peer`` (seconds), ``ratio`` and ``equal`` (whether both gave the same numbers); ``note`` is free. Names
on the command line select: ``python -m tests.bench build ranking``.
"""

import importlib
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

HEAD = ("task", "ours", "peer", "peer takes", "ratio", "equal", "note")
_PACKAGES = ("polars", "duckdb", "numpy", "pandas")


def main(names: Sequence[str]) -> None:
    """Print the table of the named benchmarks, or of all."""
    found = {path.stem.removeprefix("bench_"): path.stem for path in sorted(Path(__file__).parent.glob("bench_*.py"))}
    if unknown := [name for name in names if name not in found]:
        sys.exit(f"no benchmark {unknown[0]!r}; there are {', '.join(found)}")
    cells: list[tuple[str, ...]] = []
    for name in names or found:
        print(f"{name} ...", file=sys.stderr, flush=True)
        cells += [_cells(row) for row in importlib.import_module(f"tests.bench.{found[name]}").rows()]
    print(_machine())
    print()
    print(*_table(cells), sep="\n")


def _machine() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    busy = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"Python {platform.python_version()}, {packages}; {os.cpu_count()} cores{busy}."


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    ratio = row.get("ratio")
    return (
        row["task"],
        _seconds(row["ours"]),
        row.get("peer_name") or "",
        _seconds(row.get("peer")),
        "" if ratio is None else f"{ratio:,.1f} x",
        {True: "yes", False: "NO"}.get(row.get("equal"), ""),
        row.get("note") or "",
    )


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value * 1000:,.1f} ms" if value < 1 else f"{value:,.2f} s"


def _table(cells: Iterable[tuple[str, ...]]) -> list[str]:
    """The rows as an aligned markdown table."""
    rows = [HEAD, *cells]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEAD))]
    numbers = (1, 3, 4)
    lines = [
        "| " + " | ".join(_aligned(cell, widths[place], place in numbers) for place, cell in enumerate(row)) + " |"
        for row in rows
    ]
    rule = (
        "|"
        + "|".join("-" * (width + 1) + (":" if place in numbers else "-") for place, width in enumerate(widths))
        + "|"
    )
    return [lines[0], rule, *lines[1:]]


def _aligned(cell: str, width: int, is_number: bool) -> str:
    return cell.rjust(width) if is_number else cell.ljust(width)


if __name__ == "__main__":
    main(sys.argv[1:])
