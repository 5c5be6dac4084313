"""Small studies of judges J and K, for tests of what chapters say of them."""

from types import SimpleNamespace
from typing import Any

import polars as pl


def boards(scores: dict[str, dict[str, float]]) -> pl.DataFrame:
    """Scores by judge and model as the chapters have them."""
    rows = [(model, judge, score) for judge, column in scores.items() for model, score in column.items()]
    frame = pl.DataFrame(rows, schema=["model", "judge", "estimate"], orient="row")
    return frame.with_columns(name=pl.col("model").str.to_uppercase())


def named(**more: Any) -> SimpleNamespace:
    """A study of two judges, of whom j is the model a."""
    names = pl.DataFrame({"judge": ["j", "k"], "name": ["Judge J", "Judge K"], "model": ["a", None]})
    return SimpleNamespace(judges=names, judge="j", judge_name="Judge J", variant="multimodal", **more)
