"""The one step between scores in [-1, 1] and shares in [0, 1], and the points and percent that axes show."""

import polars as pl


def in_points(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """The frame with the named columns, where it has them, times 100."""
    return frame.with_columns(pl.col(name) * 100 for name in columns if name in frame.columns)


def on_scale(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with `left` and `right`: its interval of scores in points, `low` to `high`, as far as scores go.

    A t interval knows nothing of the ends of the scale; from a handful of questions it may run beyond 100 points.
    """
    return frame.with_columns(left=pl.col("low").clip(-100, 100), right=pl.col("high").clip(-100, 100))
