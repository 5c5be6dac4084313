"""The scores of one judge as a grid, and the order that means put models in.

A model is complete when it has a score on every question that any model has one on. Means come as (k models, draws) and
pair signs as (pairs, draws), so that whole rows of resamples are worked on at once.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from gamut_analysis.intervals import EQUAL, TIE, cluster_codes, clusters_of, score_matrix

# --- the grid of one judge --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Grid:
    """Scores (questions, models) of one judge and variant, NaN for unscored, with what is resampled together."""

    models: list[str]
    questions: list[str]
    scores: np.ndarray
    clusters: np.ndarray | None

    @property
    def scored(self) -> np.ndarray:
        return ~np.isnan(self.scores)

    @property
    def complete(self) -> np.ndarray:
        """Which models have a score on every question that any model has one on."""
        scored = self.scored
        return np.asarray((scored | ~scored.any(axis=1, keepdims=True)).all(axis=0) & scored.any())

    @property
    def units(self) -> int:
        """How many clusters the questions fall into."""
        return cluster_codes(len(self.questions), self.clusters)[1]

    def rows(self, keep: np.ndarray) -> "Grid":
        """The same models on some of the questions."""
        clusters = None if self.clusters is None else self.clusters[keep]
        questions = [question for question, kept in zip(self.questions, keep, strict=True) if kept]
        return Grid(self.models, questions, self.scores[keep], clusters)

    def on_common(self) -> "Grid":
        """The same models on the questions on which each of them has a score."""
        return self.rows(np.asarray(self.scored.all(axis=1)))

    def columns(self, keep: np.ndarray) -> "Grid":
        """Some of the models on the questions on which each of them has a score."""
        models = [model for model, kept in zip(self.models, keep, strict=True) if kept]
        part = Grid(models, self.questions, self.scores[:, keep], self.clusters)
        return part.on_common()


def score_grid(scores: pl.DataFrame, judge: str, variant: str, questions: pl.DataFrame | None) -> Grid:
    """The grid of one judge and variant, clustered as a frame of question_id and cluster says."""
    models, question_ids, matrix = score_matrix(scores, judge=judge, variant=variant)
    return Grid(models, question_ids, matrix, clusters_of(questions, question_ids))


# --- ranks and pairs --------------------------------------------------------------------------------------------------


def competition_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks of the "1 1 3" kind, best first: one more than the number of values that are larger.

    Differences below 1e-12 are rounding of sums, and tie.

    >>> competition_ranks(np.array([0.6, 0.6, 0.45, 0.3, 0.3])).tolist()
    [1, 1, 3, 4, 4]
    """
    values = np.asarray(values, dtype=np.float64)
    return 1 + (values[None, :] > values[:, None] + EQUAL).sum(axis=1)


def order_signs(values: np.ndarray) -> np.ndarray:
    """The sign of each pair's difference for one series, as (pairs,)."""
    return pair_signs(np.asarray(values, dtype=np.float64)[:, None], EQUAL)[:, 0]


def pair_gaps(means: np.ndarray) -> np.ndarray:
    """The difference of each pair of models, first minus second."""
    first, second = np.triu_indices(len(means), 1)
    return means[first] - means[second]


def pair_signs(means: np.ndarray, slack: float | np.ndarray = TIE) -> np.ndarray:
    """Which of each pair is higher: +1 the first, -1 the second, 0 within the slack."""
    gaps = pair_gaps(means)
    return (gaps > slack).astype(np.float32) - (gaps < -slack)


def incidence(models: int) -> np.ndarray:
    """(models, pairs): +1 where the model is first in the pair, -1 where it is second."""
    first, second = np.triu_indices(models, 1)
    matrix = np.zeros((models, len(first)), dtype=np.float32)
    pairs = np.arange(len(first))
    matrix[first, pairs], matrix[second, pairs] = 1, -1
    return matrix


def ahead_and_tied(signs: np.ndarray, models: int) -> tuple[np.ndarray, np.ndarray]:
    """For each model and draw: how many are ahead of it, and how many (itself too) share its place."""
    signed = incidence(models)
    tied = np.ones((models, signs.shape[1]), dtype=np.intp)
    if not signs.all():
        tied += (np.abs(signed) @ (signs == 0).astype(np.float32)).astype(np.intp)
    return ((models - tied - (signed @ signs)) / 2).astype(np.intp), tied
