"""Question ids that are joined from several columns: what is told of the first column's id holds for each of them."""

from collections.abc import Iterable

import polars as pl

from gamut_analysis.errors import ManifestError
from gamut_analysis.readers.delivery import delivered_schema
from gamut_analysis.readers.naming import BASE, JOINT

_OF_QUESTIONS = ("questions", "checks", "items")


def expand(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The tables with every question, check and item of a base id once for each id that is joined from it.

    Joined ids of one base share a cluster: they are resampled together.
    """
    used = [tables[table].select("question_id", BASE) for table in ("verdicts", "answers")]
    bases = pl.concat(used).drop_nulls().unique().sort("question_id", BASE)
    _check_unambiguous(bases)
    return {table: _expanded(frame, table, bases) for table, frame in tables.items()}


def _check_unambiguous(bases: pl.DataFrame) -> None:
    repeated = bases.filter(pl.col("question_id").is_duplicated())["question_id"]
    if repeated.len():
        raise ManifestError(
            f"two different ids join to {repeated[0]!r}: the columns of a joined question_id may not contain {JOINT!r}"
        )


def _expanded(frame: pl.DataFrame, table: str, bases: pl.DataFrame) -> pl.DataFrame:
    if table not in _OF_QUESTIONS:
        return frame.drop(BASE)
    joined = bases.rename({BASE: "question_id", "question_id": "joined"})
    own_base = pl.coalesce(BASE, "question_id").alias(BASE)
    frame = frame.join(joined, on="question_id", how="left", maintain_order="left_right").with_columns(own_base)
    frame = frame.with_columns(pl.coalesce("joined", "question_id").alias("question_id"), *_cluster(table))
    return frame.select(*delivered_schema(table))


def _cluster(table: str) -> Iterable[pl.Expr]:
    return [pl.coalesce("cluster", BASE).alias("cluster")] if table == "questions" else []
