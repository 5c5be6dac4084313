"""The GAMUT score: verdict counts in, tier, question and model scores out.

The formula stands here once (arXiv 2607.19322, section 3.3). SQL hands over counts; nothing else in the project knows
lambda, mu or the weights. Scores are in [-1, 1]; points (times 100) are a matter of display.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
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
        object.__setattr__(self, "weights", tuple(self.weights))
        _require(0 <= self.lambda_ <= 1, "lambda_", self.lambda_, "a number in [0, 1]")
        _require(self.mu < 0 and math.isfinite(self.mu), "mu", self.mu, "a number below 0")
        _require(len(self.weights) == len(TIERS), "weights", self.weights, f"{len(TIERS)} numbers, one a tier")
        legal = all(weight >= 0 and math.isfinite(weight) for weight in self.weights) and any(self.weights)
        _require(legal, "weights", self.weights, "non-negative numbers, not all zero")
        _require(0 <= self.min_coverage <= 1, "min_coverage", self.min_coverage, "a number in [0, 1]")

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
        size = meets + partially + missing + -self.mu * contradicts
        return (meets + self.lambda_ * partially + self.mu * contradicts) / size if size else None

    def question_score(self, tiers: dict[str, Sequence[Any]]) -> Any:
        """Score of one fully graded answer from its counts by tier: the scalar form that the vectorised one equals."""
        scored = [
            (w, self.tier_score(tiers[tier])) for tier, w in zip(TIERS, self.weights, strict=True) if tier in tiers
        ]
        scored = [(weight, score) for weight, score in scored if score is not None]
        total = sum(weight for weight, _ in scored)
        return sum(weight * score for weight, score in scored) / total if total else None

    def questions(self, counts: pl.DataFrame) -> pl.DataFrame:
        """Score every answer of a verdict-count frame.

        counts: one row per model, judge, variant, question_id, replicate and tier, with the four verdict counts,
        ``ungraded`` and ``checks``. Returns one row per model, judge, variant and question_id: ``score``, the three
        tier scores, ``coverage`` (graded share of the checks) and ``reason`` (why there is no score). Replicates are
        scored one by one and averaged.
        """
        tiers = counts.lazy().with_columns(
            self._tier_score().alias("s"), self._weight().alias("w"), _graded().alias("g")
        )
        by_tier = [pl.col("s").filter(pl.col("tier") == tier).first().alias(tier) for tier in TIERS]
        answers = tiers.group_by(_REPLICATE, maintain_order=True).agg(
            (pl.col("s") * pl.col("w")).sum().alias("weighted"),
            pl.col("w").sum(),
            pl.col("g").sum(),
            pl.col("checks").sum(),
            *by_tier,
            *_status(counts),
        )
        scored = answers.with_columns((pl.col("g") / pl.col("checks")).alias("coverage")).with_columns(
            self._reason().alias("reason")
        )
        unscored = pl.col("reason").is_not_null()
        hidden = [pl.when(~unscored).then(pl.col(name)).alias(name) for name in TIERS]
        result = scored.with_columns(
            pl.when(~unscored).then(pl.col("weighted") / pl.col("w")).alias("score"), *hidden
        ).collect()
        return _average_replicates(result).select(*ANSWER, "score", *TIERS, "coverage", "reason")

    def models(self, scores: pl.DataFrame) -> pl.DataFrame:
        """Mean over questions for every model, judge and variant.

        Returns ``score``, the tier columns (mean over the questions that have the tier), ``standard_error`` of the
        score (sample SD / sqrt n), ``n`` scored questions and ``answers`` seen.
        """
        return (
            scores.group_by(ANSWER[:3], maintain_order=True)
            .agg(
                pl.col("score", *TIERS).mean(),
                (pl.col("score").std() / pl.col("score").count().sqrt()).alias("standard_error"),
                pl.col("score").count().cast(pl.Int64).alias("n"),
                pl.len().cast(pl.Int64).alias("answers"),
            )
            .sort(ANSWER[:3])
        )

    def losses(self, counts: pl.DataFrame) -> pl.DataFrame:
        """Split what each scored answer falls short of 1 into partial, missing and contradicts, by tier.

        With D = M + P + S + |mu| C and w the effective weight of the tier, the parts are w (1 - lambda) P / D,
        w S / D and w (|mu| - mu) C / D; over tiers and verdicts they add up exactly to 1 - score
        (counterfactuals such as "all contradictions mended" do not). Replicates are averaged.
        """
        size = self._size()
        parts = {
            LOSSES[0]: (1 - self.lambda_) * pl.col("partially_meets"),
            LOSSES[1]: pl.col("missing"),
            LOSSES[2]: (abs(self.mu) - self.mu) * pl.col("contradicts"),
        }
        scored = self.questions(counts).filter(pl.col("score").is_not_null()).select(ANSWER)
        tiers = counts.join(scored, on=ANSWER, how="semi").with_columns(self._weight().alias("w"))
        tiers = tiers.with_columns(
            _graded().sum().over(_REPLICATE).alias("g"), pl.col("checks").sum().over(_REPLICATE).alias("n")
        )
        complete = (pl.col("g") > 0) & (pl.col("g") >= self.min_coverage * pl.col("n"))
        share = pl.col("w") / pl.col("w").sum().over(_REPLICATE)
        return (
            tiers.filter(complete)
            .with_columns(*((share * part / size).fill_nan(0.0).alias(name) for name, part in parts.items()))
            .with_columns(pl.col("replicate").n_unique().over(ANSWER).alias("replicates"))
            .group_by(*ANSWER, "tier", maintain_order=True)
            .agg(*(pl.col(name).sum() / pl.col("replicates").first() for name in LOSSES))
        )

    def _size(self) -> pl.Expr:
        meets, partially, missing, contradicts = (pl.col(verdict) for verdict in VERDICTS)
        return meets + partially + missing + abs(self.mu) * contradicts

    def _tier_score(self) -> pl.Expr:
        numerator = pl.col("meets") + self.lambda_ * pl.col("partially_meets") + self.mu * pl.col("contradicts")
        return pl.when(_graded() > 0).then(numerator / self._size())

    def _weight(self) -> pl.Expr:
        weight = pl.lit(0.0)
        for tier, value in zip(TIERS, self.weights, strict=True):
            weight = pl.when(pl.col("tier") == tier).then(pl.lit(float(value))).otherwise(weight)
        return pl.when(_graded() > 0).then(weight).otherwise(0.0)

    def _reason(self) -> pl.Expr:
        short = pl.format("{} of {} checks graded", pl.col("g"), pl.col("checks"))
        return (
            pl.when(pl.col("answer_status") == "error")
            .then(pl.lit("the answer could not be had"))
            .when(pl.col("g") == 0)
            .then(pl.lit("no check graded"))
            .when(pl.col("coverage") < self.min_coverage)
            .then(short)
            .when(pl.col("w") == 0)
            .then(pl.lit("the graded tiers have no weight"))
        )


def _graded() -> pl.Expr:
    return pl.sum_horizontal(*VERDICTS)


def _status(counts: pl.DataFrame) -> list[pl.Expr]:
    """The answer's status where the frame carries it; counts made by hand need not."""
    known = "answer_status" in counts.columns
    return [pl.col("answer_status").first() if known else pl.lit(None, dtype=pl.String).alias("answer_status")]


def _average_replicates(answers: pl.DataFrame) -> pl.DataFrame:
    """Mean over the scored replicates of a question; a reason stays only where none is scored."""
    if answers["replicate"].n_unique() < 2:
        return answers
    return (
        answers.group_by(ANSWER, maintain_order=True)
        .agg(pl.col("score", *TIERS, "coverage").mean(), pl.col("reason").first())
        .with_columns(pl.when(pl.col("score").is_null()).then(pl.col("reason")).alias("reason"))
    )


def _require(holds: bool, name: str, value: object, legal: str) -> None:
    if not holds:
        raise ScoringError(f"{name} = {value!r}: {legal} is needed")
