"""What commands write to a terminal: results to one stream, remarks and progress bars to the other."""

import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    import polars as pl

WIDE = 160  # columns of a table that no terminal limits

out = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
err = Console(stderr=True, highlight=False)


def bar(*, time_left: bool = False) -> Progress:
    """A progress bar that goes away when it is done, and is not drawn where nobody looks."""
    left = [TimeRemainingColumn()] if time_left else []
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        *left,
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )


def print_frame(title: str, frame: "pl.DataFrame") -> None:
    """Print a frame as a table, numbers to the right; a frame without rows is said to be none."""
    if frame.is_empty():
        out.print(f"{title}: none")
        return
    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for name, kind in frame.schema.items():
        table.add_column(name, justify="right" if kind.is_numeric() else "left", overflow="fold")
    for row in frame.iter_rows():
        table.add_row(*(Text("" if value is None else str(value)) for value in row))
    out.print(table)
