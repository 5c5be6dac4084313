"""Pages and figures of the sample by hand: what one waits for at the command line, start of Python and all.

The aims on two cores: every figure in less than 90 seconds, and a report, its database standing, in less than 10.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gamut_analysis import datasets, paths

REPORT_MODEL = "gemini-3.1-pro"


def seconds(home: Path, *command: str) -> float:
    """How long a command of ``gamut`` takes in a process of its own, in that project folder."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GAMUT_")}
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", "from gamut_analysis.cli import main; main()", *command],
        check=True,
        capture_output=True,
        env=environment | {"GAMUT_HOME": str(home)},
    )
    return time.perf_counter() - start


def project(home: Path) -> Path:
    """A project folder with the notebooks and the data that ships, and nothing built."""
    (home / "data").mkdir(parents=True)
    (home / "notebooks").symlink_to(paths.notebooks())
    for folder in (paths.sample(), paths.published()):
        (home / "data" / folder.name).symlink_to(folder)
    return home


def row(task: str, took: float, note: str) -> dict[str, Any]:
    return {"task": task, "ours": took, "note": note}


def rows() -> list[dict[str, Any]]:
    """All rows of this file."""
    data = ("--data", datasets.DEFAULT)
    report = ("report", "--model", REPORT_MODEL, *data)
    with tempfile.TemporaryDirectory(prefix="gamut-bench-") as folder:
        home = project(Path(folder) / "home")
        found = [row("all figures and tables, cold", seconds(home, "figures", *data), "data made and read first")]
        count = len(list((home / "reports" / "figures").glob("*.svg")))
        found.append(row("all figures and tables, warm", seconds(home, "figures", *data), f"{count} figures"))
        seconds(home, *report)
        found.append(row("a model report, warm", seconds(home, *report), REPORT_MODEL))
        found.append(row("a model report as PDF too, warm", seconds(home, *report, "--format", "pdf"), REPORT_MODEL))
        return found
