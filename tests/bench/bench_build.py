"""The warehouse and the score: how fast verdicts become a database, a database a leaderboard, and that a report.

Everything runs on the paper world: 14 models, three judges, 1,813 and 1,806 questions, 2.2 M verdicts. Builds and
reports run in a process of their own, so that memory is theirs alone.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl

from gamut_analysis import paths, simulate, tables
from gamut_analysis.scoring import ANSWER, Scoring
from gamut_analysis.vocabulary import TIERS, VERDICTS

BUILD = """
import json, resource, sys, time
from pathlib import Path
from gamut_analysis import tables
from gamut_analysis.readers.folder import read_folder
start = time.perf_counter()
delivery = read_folder(Path(sys.argv[1]))
read = time.perf_counter() - start
rows = tables.build(delivery, Path(sys.argv[2])).rows
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "read": read,
    "all": time.perf_counter() - start,
    "cpu": usage.ru_utime + usage.ru_stime,
    "peak": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    "rows": rows["verdicts"] + rows["duplicates"],
}))
"""
REPORT_MODEL = "gemini-3.1-pro"


def median_seconds(task: Callable[[], Any], repeats: int = 5) -> float:
    """Median wall time of a task that has run once before."""
    task()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def build(folder: Path, database: Path, task: str) -> dict[str, Any]:
    """Time a build in a process of its own."""
    command = [sys.executable, "-c", textwrap.dedent(BUILD), str(folder), str(database)]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    note = (
        f"{told['rows'] / told['all']:,.0f} rows/s; reading {told['read']:.1f} s; 1.5 M in "
        f"{1.5e6 * told['all'] / told['rows']:.1f} s; CPU {told['cpu']:.1f} s; peak {told['peak'] / 1e9:.2f} GB"
    )
    return {"task": f"{task}, {told['rows'] / 1e6:.2f} M verdicts", "ours": told["all"], "note": note}


def scoring(database: Path) -> list[dict[str, Any]]:
    """Time the scores of all answers, against two readings of the formula from verdict rows."""
    counts = tables.read(database, "verdict_counts")
    frames = tables.read_all(database, ("verdicts", "checks"))
    key = ["variant", "question_id", "check_id"]
    rows = frames["verdicts"].join(frames["checks"].select(*key, "tier"), on=key).select(*ANSWER, "tier", "verdict")
    frame = rows.to_pandas()
    ours = Scoring().questions(counts)
    plain, by_pandas = polars_scores(rows), pandas_scores(frame)
    assert same(ours, plain)
    assert same(ours, by_pandas)
    seconds = median_seconds(lambda: Scoring().questions(counts))
    task = f"score {ours.height:,} answers from the marts"
    peers = {
        "Polars from verdict rows": median_seconds(lambda: polars_scores(rows), 3),
        "pandas groupby from verdict rows": median_seconds(lambda: pandas_scores(frame), 1),
    }
    found = [
        {"task": task, "ours": seconds, "peer_name": name, "peer": peer, "ratio": peer / seconds, "equal": True}
        for name, peer in peers.items()
    ]
    one = counts.filter(variant="multimodal")
    multimodal = median_seconds(lambda: Scoring().questions(one))
    found.append({"task": f"score {14 * 3 * 1813:,} multimodal answers", "ours": multimodal, "note": "aim: 50 ms"})
    reading = median_seconds(lambda: tables.read(database, "verdict_counts"))
    losses = median_seconds(lambda: Scoring().losses(counts))
    found.append({"task": f"read the {counts.height:,} counts from the database", "ours": reading})
    found.append({"task": "split what all answers lost by verdict and tier", "ours": losses})
    return found


def polars_scores(rows: pl.DataFrame) -> pl.DataFrame:
    """The formula, read plainly from verdict rows with Polars."""
    counts = rows.group_by(*ANSWER, "tier").agg(
        (pl.col("verdict") == verdict).sum().alias(verdict) for verdict in VERDICTS
    )
    meets, partially, missing, contradicts = (pl.col(verdict).cast(pl.Int64) for verdict in VERDICTS)
    score = (meets + 0.5 * partially - 2 * contradicts) / (meets + partially + missing + 2 * contradicts)
    weight = pl.col("tier").cast(pl.String).replace_strict(dict(zip(TIERS, (0.6, 0.3, 0.1), strict=True)))
    tiers = counts.with_columns(score=score, weight=weight)
    return tiers.group_by(ANSWER).agg(score=(pl.col("score") * pl.col("weight")).sum() / pl.col("weight").sum())


def pandas_scores(frame: pd.DataFrame) -> pl.DataFrame:
    """The formula, read plainly from verdict rows with pandas."""
    counts = frame.groupby([*ANSWER, "tier", "verdict"], observed=True).size().unstack("verdict", fill_value=0)
    counts = counts.reindex(columns=list(VERDICTS), fill_value=0)
    meets, partially, missing, contradicts = (counts[verdict] for verdict in VERDICTS)
    score = (meets + 0.5 * partially - 2 * contradicts) / (meets + partially + missing + 2 * contradicts)
    weight = counts.index.get_level_values("tier").map(dict(zip(TIERS, (0.6, 0.3, 0.1), strict=True))).astype(float)
    parts = (
        pd.DataFrame({"part": score * weight, "weight": weight}, index=counts.index)
        .groupby(ANSWER, observed=True)
        .sum()
    )
    return pl.from_pandas((parts["part"] / parts["weight"]).rename("score").reset_index())


def same(ours: pl.DataFrame, theirs: pl.DataFrame) -> bool:
    """Whether two frames of question scores hold the same numbers."""
    names = [pl.col(ANSWER).cast(pl.String), "score"]
    joined = ours.select(names).join(theirs.select(names), on=ANSWER, how="full", suffix="_theirs")
    return joined.height == ours.height and bool(((joined["score"] - joined["score_theirs"]).abs() < 1e-12).all())


def reports() -> list[dict[str, Any]]:
    """Time a report of the sample from nothing and once more, through the command line, in a home of its own."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        (home / "data").mkdir()
        for folder in ("notebooks", "data/sample", "data/published"):
            (home / folder).symlink_to(paths.root() / folder)
        return [_report(home, state) for state in ("cold (draw, build, report)", "warm")]


def _report(home: Path, state: str) -> dict[str, Any]:
    command = [sys.executable, "-c", "from gamut_analysis.cli import main; main()", "report", "--model", REPORT_MODEL]
    place = {"GAMUT_HOME": str(home), "PYTHONPATH": str(paths.PACKAGE.parent)}
    start = time.perf_counter()
    done = subprocess.run(command, env=os.environ | place, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    note = "aim when warm: 10 s" if done.returncode == 0 else f"FAILED: {done.stderr.strip().splitlines()[-1][:80]}"
    return {"task": f"report of {REPORT_MODEL}, {state}", "ours": seconds, "note": note}


@contextmanager
def paper_folders() -> Iterator[tuple[Path, Path, Path]]:
    """The paper world as Parquet and as JSON lines, and a place for databases."""
    with tempfile.TemporaryDirectory() as place:
        parquet, lines = Path(place) / "parquet", Path(place) / "lines"
        simulate.write(simulate.paper_world(), parquet)
        lines.mkdir()
        for path in parquet.iterdir():
            (lines / path.name).write_bytes(path.read_bytes())
        pl.read_parquet(lines / "verdicts.parquet").write_ndjson(lines / "verdicts.jsonl")
        (lines / "verdicts.parquet").unlink()
        yield parquet, lines, Path(place)


def rows() -> list[dict[str, Any]]:
    """All rows of this file."""
    with paper_folders() as (parquet, lines, place):
        database = place / "paper.duckdb"
        found = [
            build(parquet, database, "build from Parquet"),
            build(lines, place / "lines.duckdb", "build from JSON lines"),
        ]
        return [*found, *scoring(database), *reports()]
