"""The one step between scores in [-1, 1] and shares in [0, 1], and the points and percent that axes show."""

import polars as pl


def in_points(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """The frame with the named columns, where it has them, times 100."""
    return frame.with_columns(pl.col(name) * 100 for name in columns if name in frame.columns)
