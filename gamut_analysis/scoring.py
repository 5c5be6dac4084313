"""The GAMUT score: verdict counts in, tier, question and model scores out.

The formula stands here once (arXiv 2607.19322, section 3.3). SQL hands over counts; nothing else in the project knows
lambda, mu or the weights. Scores are in [-1, 1]; points (times 100) are a matter of display.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import polars as pl

from gamut_analysis.errors import ScoringError
from gamut_analysis.vocabulary import TIERS, VERDICTS

ANSWER = ["model", "judge", "variant", "question_id"]
_REPLICATE = [*ANSWER, "replicate"]
LOSSES = ("lost_partially_meets", "lost_missing", "lost_contradicts")


@dataclass(frozen=True)
class Scoring:
    """The constants of the score and what follows from them.

    For one question and tier with M, P, S, C the numbers of meets, partially_meets, missing and contradicts::

        s = (M + lambda P + mu C) / (M + P + S + |mu| C)

    The score of a question is the weighted mean of its tier scores; a tier without graded checks gives its weight to
    the others in proportion. The score of a model is the mean over its questions.

    lambda_: worth of a partially met check, in [0, 1]. mu: worth of a contradicted one, below 0. weights: of the
    tiers Answer-Critical, Valuable, Context; non-negative, not all zero. min_coverage: the share of an answer's checks
    that must be graded for the answer to have a score, in [0, 1].

    Raises ScoringError for constants outside these ranges.

    >>> round(Scoring().question_score({"answer_critical": (3, 1, 1, 1), "valuable": (0, 0, 4, 0)}), 6)
    0.142857
    """

    lambda_: float = 0.5
    mu: float = -2
    weights: tuple[float, float, float] = (0.6, 0.3, 0.1)
    min_coverage: float = 1.0

    def __post_init__(self) -> None:
        weights = tuple(self.weights) if isinstance(self.weights, Iterable) else ()
        sound = len(weights) == len(TIERS) and all(_is_number(w) and w >= 0 for w in weights) and any(weights)
        _require(_is_share(self.lambda_), "lambda_", self.lambda_, "a number in [0, 1] is needed")
        _require(_is_number(self.mu) and self.mu < 0, "mu", self.mu, "a number below 0 is needed")
        _require(sound, "weights", self.weights, "three non-negative numbers are needed, one a tier, not all zero")
        _require(_is_share(self.min_coverage), "min_coverage", self.min_coverage, "a number in [0, 1] is needed")
        object.__setattr__(self, "weights", weights)

    @property
    def values(self) -> tuple[float, float, float, float]:
        """What each verdict adds to the numerator, in the order of VERDICTS."""
        return (1, self.lambda_, 0, self.mu)

    @property
    def is_default(self) -> bool:
        """Whether these are the paper's constants and its rule of full coverage."""
        return self == Scoring()

    def tier_score(self, counts: Sequence[Any]) -> Any:
        """Score of one tier from its four counts, None when nothing is graded; exact for exact numbers."""
        meets, partially, missing, contradicts = counts
        size = meets + partially + missing - self.mu * contradicts
        return (meets + self.lambda_ * partially + self.mu * contradicts) / size if size else None

    def question_score(self, tiers: Mapping[str, Sequence[Any]]) -> Any:
        """Score of one fully graded answer from its counts by tier: the scalar form that the vectorised one equals."""
        scores = [self.tier_score(tiers.get(tier, (0, 0, 0, 0))) for tier in TIERS]
        scored = [(weight, score) for weight, score in zip(self.weights, scores, strict=True) if score is not None]
        total = sum(weight for weight, _ in scored)
        return sum(weight * score for weight, score in scored) / total if total else None

    def questions(self, counts: pl.DataFrame) -> pl.DataFrame:
        """Score every answer of a verdict-count frame.

        counts: one row per model, judge, variant, question_id, replicate and tier (or finer), with the four verdict
        counts and ``checks``. Returns one row per model, judge, variant and question_id, in order of appearance:
        ``score``, the three tier scores, ``coverage`` (graded share of the checks) and ``reason`` (why there is no
        score). Replicates are scored one by one and averaged.
        """
        scored = self._scored(counts).select(*_REPLICATE, "score", *TIERS, "coverage", "reason").collect()
        return _average_replicates(scored).select(*ANSWER, "score", *TIERS, "coverage", "reason")

    def models(self, scores: pl.DataFrame) -> pl.DataFrame:
        """Mean over questions for every model, judge and variant.

        Returns ``score``, the tier columns (mean over the questions that have the tier), ``standard_error`` of the
        score (sample SD / sqrt n), ``n`` scored questions, ``answers`` seen and ``reason`` (why there is no score).
        """
        score = pl.col("score")
        return (
            scores.group_by(ANSWER[:3], maintain_order=True)
            .agg(
                pl.col("score", *TIERS).mean(),
                (score.std() / score.count().sqrt()).alias("standard_error"),
                score.count().cast(pl.Int64).alias("n"),
                pl.len().cast(pl.Int64).alias("answers"),
            )
            .with_columns(pl.when(score.is_null()).then(pl.lit("no answer has a score")).alias("reason"))
            .sort(ANSWER[:3])
        )

    def losses(self, counts: pl.DataFrame) -> pl.DataFrame:
        """Split what each scored answer falls short of 1 into partial, missing and contradicts, by tier.

        With D = M + P + S + |mu| C and w the effective weight of the tier, the parts are w (1 - lambda) P / D,
        w S / D and w (|mu| - mu) C / D; over tiers and verdicts they add up exactly to 1 - score
        (counterfactuals such as "all contradictions mended" do not). Replicates are averaged. Returns one row per
        scored answer and tier with graded checks.
        """
        costs = (1 - self.lambda_, 1, -2 * self.mu)
        scored = self._scored(counts).filter(pl.col("score").is_not_null())
        parts = []
        for position, (tier, weight) in enumerate(zip(TIERS, self.weights, strict=True)):
            worth = weight / pl.col("weight") / self._size(tier)
            lost = [
                (cost * worth * pl.col(f"{verdict} {tier}")).alias(name)
                for name, verdict, cost in zip(LOSSES, VERDICTS[1:], costs, strict=True)
            ]
            label = pl.lit(tier).cast(counts.schema["tier"]).alias("tier")
            graded = scored.filter(_graded(tier) > 0)
            parts.append(graded.select(*_REPLICATE, label, *lost, "place", pl.lit(position).alias("position")))
        scored_replicates = scored.group_by(ANSWER).agg(pl.len().alias("replicates"))
        return (
            pl.concat(parts)
            .group_by(*ANSWER, "tier")
            .agg(pl.col(LOSSES).sum(), pl.col("place", "position").min())
            .join(scored_replicates, on=ANSWER)
            .with_columns(pl.col(LOSSES) / pl.col("replicates"))
            .sort("place", "position")
            .select(*ANSWER, "tier", *LOSSES)
            .collect()
        )

    def _scored(self, counts: pl.DataFrame) -> pl.LazyFrame:
        """One row per answer and replicate: its counts by tier, its scores, and why there is none."""
        tiers = dict(zip(TIERS, self.weights, strict=True))
        answers = _spread(counts)
        scores = [pl.when(_graded(tier) > 0).then(self._points(tier) / self._size(tier)).alias(tier) for tier in TIERS]
        graded = sum((_graded(tier) for tier in TIERS), start=pl.lit(0)).alias("graded")
        answers = answers.with_columns(*scores, graded).with_columns(
            pl.when(pl.col("checks") > 0).then(pl.col("graded") / pl.col("checks")).alias("coverage"),
            sum((pl.col(t).is_not_null() * w for t, w in tiers.items()), start=pl.lit(0.0)).alias("weight"),
            sum((pl.col(t).fill_null(0) * w for t, w in tiers.items()), start=pl.lit(0.0)).alias("weighted"),
        )
        answers = answers.with_columns(self._reason().alias("reason"))
        has_score = pl.col("reason").is_null()
        return answers.with_columns(
            pl.when(has_score).then(pl.col("weighted") / pl.col("weight")).alias("score"),
            *(pl.when(has_score).then(pl.col(tier)).alias(tier) for tier in TIERS),
        )

    def _size(self, tier: str) -> pl.Expr:
        return _graded(tier) + (-self.mu - 1) * pl.col(f"contradicts {tier}")

    def _points(self, tier: str) -> pl.Expr:
        meets, partially, _, contradicts = (pl.col(f"{verdict} {tier}") for verdict in VERDICTS)
        return meets + self.lambda_ * partially + self.mu * contradicts

    def _reason(self) -> pl.Expr:
        return (
            pl.when(pl.col("answer_error"))
            .then(pl.lit("the answer could not be had"))
            .when(pl.col("graded") == 0)
            .then(pl.lit("no check graded"))
            .when(pl.col("coverage") < self.min_coverage)
            .then(pl.format("{} of {} checks graded", "graded", "checks"))
            .when(pl.col("weight") == 0)
            .then(pl.lit("the graded tiers have no weight"))
        )


def _spread(counts: pl.DataFrame) -> pl.LazyFrame:
    """The counts with one row per answer and replicate, and a column for each verdict and tier."""
    cells = [
        pl.when(pl.col("tier") == tier).then(pl.col(verdict)).otherwise(0).alias(f"{verdict} {tier}")
        for tier in TIERS
        for verdict in VERDICTS
    ]
    # Counts that are made by hand need not carry the answer's status.
    known = "answer_status" in counts.columns
    error = (pl.col("answer_status") == "error") if known else pl.lit(False)
    return (
        counts.lazy()
        .select(*_REPLICATE, *cells, "checks", error.fill_null(False).alias("answer_error"))
        .group_by(_REPLICATE, maintain_order=True)
        .agg(pl.exclude("answer_error").sum(), pl.col("answer_error").any())
        .with_row_index("place")
    )


def _graded(tier: str) -> pl.Expr:
    return pl.sum_horizontal(f"{verdict} {tier}" for verdict in VERDICTS)


def _average_replicates(answers: pl.DataFrame) -> pl.DataFrame:
    """Mean over the scored replicates of a question; a reason stays only where none is scored."""
    if answers["replicate"].n_unique() < 2:
        return answers
    return (
        answers.group_by(ANSWER, maintain_order=True)
        .agg(pl.col("score", *TIERS, "coverage").mean(), pl.col("reason").drop_nulls().first())
        .with_columns(pl.when(pl.col("score").is_null()).then(pl.col("reason")).alias("reason"))
    )


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _require(holds: bool, name: str, value: object, legal: str) -> None:
    if not holds:
        raise ScoringError(f"{name} = {value!r}: {legal}")
