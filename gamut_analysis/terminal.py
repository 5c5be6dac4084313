"""What commands write to a terminal: results to one stream, remarks and progress bars to the other."""

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

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
