"""Scores for tests of rankings: frames from matrices, and worlds of models and judges."""

from typing import Any

import numpy as np
import polars as pl

WHERE = {"judge": "j", "variant": "multimodal"}


def frame_of(scores: Any, *, judge: str = "j", models: Any = "abcdefghijklmn") -> pl.DataFrame:
    """Rows of scores from (questions, models); NaN becomes null."""
    n, k = np.shape(scores)
    return pl.DataFrame(
        {
            "model": list(models[:k]) * n,
            "judge": [judge] * (n * k),
            "variant": ["multimodal"] * (n * k),
            "question_id": np.repeat([f"q{at:04d}" for at in range(n)], k),
            "score": np.asarray(scores, dtype=float).ravel(),
        }
    ).with_columns(pl.col("score").fill_nan(None))


def world(
    n: int = 80, means: tuple[float, ...] = (0.6, 0.55, 0.3, 0.28, 0.1), seed: int = 0, spread: float = 0.3
) -> np.ndarray:
    """Scores of models that share the difficulty of their questions."""
    rng = np.random.default_rng(seed)
    return np.array(means) + rng.normal(0, spread, size=(n, 1)) + rng.normal(0, spread, size=(n, len(means)))


def three_judges() -> pl.DataFrame:
    """Scores of six models under three judges, who differ by noise alone."""
    rng = np.random.default_rng(3)
    base = world(n=120, means=(0.6, 0.5, 0.45, 0.3, 0.28, 0.1))
    return pl.concat([frame_of(base + rng.normal(0, 0.1, size=base.shape), judge=judge) for judge in ("x", "y", "z")])


def with_copies(scores: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The scores with a copy of every question, and the clusters that put each copy beside its question."""
    doubled = pl.concat([scores, scores.with_columns(question_id=pl.col("question_id") + "-copy")])
    ids = doubled["question_id"].unique().to_list()
    clusters = [name.removesuffix("-copy") for name in ids]
    return doubled, pl.DataFrame({"question_id": ids, "cluster": clusters})
