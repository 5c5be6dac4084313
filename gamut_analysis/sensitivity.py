"""Where the ranking turns when lambda, mu, the weights of the tiers or the reading of an empty tier change.

Nothing here scores an answer twice. A model's score is linear in lambda, and for answers with the same non-empty
tiers linear in the weights; it depends on mu only through the number of contradicted checks of a tier and the number
of the others. So for every model, pattern of non-empty tiers, tier and pair of those two numbers, the sums of meets and
partially meets and the number of answers give the exact score under every (lambda, mu, weights): see ``Cells``.

All models of one call are compared on the questions that are scored for every one of them; ``n`` says how many.
"""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from gamut_analysis.errors import InputError, ScoringError, UnknownName
from gamut_analysis.intervals import (
    LEVEL,
    REPLICATES,
    SEED,
    cluster_codes,
    clusters_of,
    few_clusters_warning,
    mean_intervals,
    no_interval_reason,
    percentile_interval,
    resample_counts,
    resample_means,
    wilson_interval,
)
from gamut_analysis.scoring import Scoring
from gamut_analysis.vocabulary import TIERS, VERDICTS

READINGS = ("proportional", "equal")
WEIGHTS = tuple(f"w_{tier}" for tier in TIERS)
SETTINGS = ("lambda_", "mu", *WEIGHTS)
SOURCES = ("sampling", "specification", "both")
MU_RANGE = (-10.0, -0.01)
SPREAD = {
    "low": pl.Float64,
    "high": pl.Float64,
    "standard_deviation": pl.Float64,
    "rank_low": pl.Int64,
    "rank_high": pl.Int64,
    "first": pl.Float64,
}

# Scores closer than this are tied: sums of thousands of fractions agree to 1e-15, distinct ones do not come near.
_TIE = 1e-12
_PATTERNS = 2 ** len(TIERS)
_PRESENT = np.arange(_PATTERNS)[:, None] >> np.arange(len(TIERS)) & 1


@dataclass(frozen=True)
class Cells:
    """All that is left of the counts when every (lambda, mu, weights) must still give exact scores.

    ``meets``, ``partially`` and ``answers`` have the shape (models, 8 patterns, 3 tiers, cells): sums over the answers
    of a cell, those with ``contradicted`` contradicted checks and ``others`` that are not. ``questions`` (models, 8)
    counts the questions of a pattern, bit t of which tells that tier t is not empty.
    """

    models: list[str]
    others: np.ndarray
    contradicted: np.ndarray
    meets: np.ndarray
    partially: np.ndarray
    answers: np.ndarray
    questions: np.ndarray

    @property
    def n(self) -> int:
        """Number of common questions."""
        return round(self.questions[0].sum()) if self.models else 0

    def tables(self, mus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums of tier scores at lambda = 0 and their slopes in lambda, each (mus, models, 8, 3)."""
        contradicted = self.contradicted[:, None]
        share = 1 / (self.others[:, None] + contradicted * np.abs(mus))
        base = self.meets @ share + self.answers @ (contradicted * mus * share)
        return np.moveaxis(base, -1, 0), np.moveaxis(self.partially @ share, -1, 0)

    def mean(self, sums: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Tier sums (..., models, 8, 3) under effective weights (k, 8, 3) as model scores (..., models, k)."""
        flat = weights.reshape(len(weights), -1)
        scored = self.questions @ (weights.sum(-1) > 0).T
        totals = sums.reshape(*sums.shape[:-2], -1) @ flat.T
        return np.divide(totals, scored, out=np.full(totals.shape, np.nan), where=scored > 0)

    def scores(self, scoring: Scoring, split: str = "proportional") -> np.ndarray:
        """Score of every model under one setting."""
        base, slope = self.tables(np.array([scoring.mu]))
        weights = effective_weights(scoring.weights, split)
        return self.mean(base[0] + scoring.lambda_ * slope[0], weights)[:, 0]


@dataclass(frozen=True)
class _Answers:
    """The common scored answers of one judge and variant, one entry for every answer and non-empty tier."""

    models: list[str]
    questions: list[str]
    model: np.ndarray
    question: np.ndarray
    tier: np.ndarray
    pattern: np.ndarray
    counts: np.ndarray
    share: np.ndarray

    def question_scores(self, scoring: Scoring, split: str = "proportional") -> np.ndarray:
        """Scores of (questions, models); NaN where the graded tiers have no weight."""
        weights = effective_weights(scoring.weights, split)[0]
        meets, partially, missing, contradicts = self.counts.T
        size = meets + partially + missing - scoring.mu * contradicts
        tier_scores = (meets + scoring.lambda_ * partially + scoring.mu * contradicts) / size
        parts = weights[self.pattern, self.tier] * self.share * tier_scores
        shape = (len(self.questions), len(self.models))
        key = self.question * shape[1] + self.model
        totals = np.bincount(key, parts, minlength=shape[0] * shape[1])
        weightless = weights.sum(-1) == 0
        if weightless[self.pattern].any():
            totals[key[weightless[self.pattern]]] = np.nan
        return totals.reshape(shape)

    @cached_property
    def cells(self) -> Cells:
        meets, partially, missing, contradicts = self.counts.T
        width = int(contradicts.max(initial=0)) + 1
        code = ((meets + partially + missing) * width + contradicts).astype(np.int64)
        depth = int(code.max(initial=0)) + 1
        shape = (len(self.models), _PATTERNS, len(TIERS), depth)
        key = np.ravel_multi_index((self.model, self.pattern, self.tier, code), shape)
        used = np.bincount(code, minlength=depth) > 0

        def total(values: np.ndarray) -> np.ndarray:
            return np.bincount(key, values * self.share, minlength=int(np.prod(shape))).reshape(shape)[..., used]

        one_tier = self.tier == np.argmax(_PRESENT, axis=1)[self.pattern]
        flat = self.model[one_tier] * _PATTERNS + self.pattern[one_tier]
        questions = np.bincount(flat, self.share[one_tier], minlength=shape[0] * _PATTERNS)
        others, contradicted = np.divmod(np.flatnonzero(used), width)
        return Cells(
            self.models,
            others.astype(float),
            contradicted.astype(float),
            total(meets),
            total(partially),
            total(np.ones(len(code))),
            questions.reshape(shape[0], _PATTERNS),
        )


def effective_weights(weights: Sequence[float] | np.ndarray, split: str = "proportional") -> np.ndarray:
    """What each tier weighs under each pattern of non-empty tiers: (k, 8, 3) for k rows of three weights.

    ``split`` is the reading of an empty tier: its weight goes to the others in proportion to theirs, or in equal parts.

    >>> effective_weights((0.6, 0.3, 0.1))[0, 0b101].round(4).tolist()
    [0.8571, 0.0, 0.1429]
    >>> effective_weights((0.6, 0.3, 0.1), "equal")[0, 0b101].round(4).tolist()
    [0.75, 0.0, 0.25]
    """
    if split not in READINGS:
        raise UnknownName(f"split = {split!r}: one of {', '.join(READINGS)} is needed")
    rows = np.atleast_2d(np.asarray(weights, dtype=float))
    kept = (rows / rows.sum(axis=1, keepdims=True))[:, None, :] * _PRESENT
    total = kept.sum(axis=-1, keepdims=True)
    if split == "equal":
        members = np.maximum(_PRESENT.sum(axis=1), 1)[:, None]
        return kept + _PRESENT * (1 - total) / members
    return np.divide(kept, total, out=np.zeros_like(kept), where=total > 0)


def weight_simplex(steps: int = 20) -> np.ndarray:
    """Every triple of positive weights that are multiples of 1 / steps and add up to 1: 171 for 20 steps.

    >>> weight_simplex(4).tolist()
    [[0.25, 0.25, 0.5], [0.25, 0.5, 0.25], [0.5, 0.25, 0.25]]
    """
    first, second = np.meshgrid(np.arange(1, steps - 1), np.arange(1, steps - 1), indexing="ij")
    third = steps - first - second
    return np.stack([first, second, third], axis=-1)[third > 0] / steps


def score_cells(
    counts: pl.DataFrame,
    scoring: Scoring | None = None,
    *,
    judge: str,
    variant: str,
    models: Sequence[str] | None = None,
) -> pl.DataFrame:
    """The sufficient statistics as a table, for re-scoring elsewhere (the sliders of a page).

    One row for every model, pattern of non-empty tiers (bit t: tier t has checks), tier, number of ``others`` and of
    ``contradicted`` checks: sums of ``meets`` and ``partially_meets`` and the number of ``answers``. With the effective
    weight w of the tier under the pattern, a model's score is the sum over its rows of
    ``w (meets + lambda partially_meets + mu contradicted answers) / (others + |mu| contradicted)`` over ``n``.
    """
    cells = _answers(counts, scoring or Scoring(), judge, variant, models).cells
    model, pattern, tier, cell = np.nonzero(cells.answers)
    where = (model, pattern, tier, cell)
    return pl.DataFrame(
        {
            "model": _names(cells.models, model),
            "pattern": pattern,
            "tier": pl.Series(np.array(TIERS, dtype=object)[tier], dtype=pl.Enum(TIERS)),
            "others": cells.others[cell].astype(int),
            "contradicted": cells.contradicted[cell].astype(int),
            "meets": cells.meets[where],
            "partially_meets": cells.partially[where],
            "answers": cells.answers[where],
            "n": np.full(len(model), cells.n),
        }
    )


def score_grid(
    counts: pl.DataFrame,
    scoring: Scoring | None = None,
    *,
    judge: str,
    variant: str,
    models: Sequence[str] | None = None,
    lambdas: Sequence[float] | np.ndarray | None = None,
    mus: Sequence[float] | np.ndarray | None = None,
    weights: Sequence[Sequence[float]] | np.ndarray | None = None,
    split: str = "proportional",
) -> pl.DataFrame:
    """Score and rank of every model under every combination of the constants.

    A constant that is not given stays at its value in ``scoring``. Returns one row a setting and model: the five
    constants, ``model``, ``score``, ``rank`` (1 is best; tied models share the better rank) and ``n`` common questions.
    Raises ScoringError for constants outside their domain.
    """
    scoring = scoring or Scoring()
    cells = _answers(counts, scoring, judge, variant, models).cells
    axes = _axes(scoring, lambdas, mus, weights)
    scores = _grid(cells, *axes, split)
    settings = _settings(*axes)
    count = len(cells.models)
    return pl.DataFrame(
        {
            **{name: np.repeat(settings[name].to_numpy(), count) for name in SETTINGS},
            "model": _names(cells.models, np.tile(np.arange(count), settings.height)),
            "score": pl.Series(scores.T.ravel()).fill_nan(None),
            "rank": _ranks(scores).T.ravel(),
            "n": np.full(settings.height * count, cells.n),
        }
    )


def ranking_grid(
    counts: pl.DataFrame,
    scoring: Scoring | None = None,
    *,
    judge: str,
    variant: str,
    models: Sequence[str] | None = None,
    lambdas: Sequence[float] | np.ndarray | None = None,
    mus: Sequence[float] | np.ndarray | None = None,
    weights: Sequence[Sequence[float]] | np.ndarray | None = None,
    split: str = "proportional",
) -> pl.DataFrame:
    """Who is first and how far the ranking moves from the default, under every combination of the constants.

    A constant that is not given stays at its value in ``scoring``, whose own setting is the default that rankings are
    compared with. Returns one row a setting: the five constants, ``first`` (null when first place is shared), ``gap``
    (score of the first minus the second), ``tau`` (Kendall's tau-b to the default ranking), ``discordant`` (pairs of
    models in the other order), ``n`` common questions and ``reason``. It describes the specification alone:
    ``uncertainty_sources`` sets the sampling of questions beside it.

    Source: a multiverse in the sense of Steegen, Tuerlinckx, Gelman and Vanpaemel 2016; Kendall 1945 for tau-b.
    Raises ScoringError for constants outside their domain.
    """
    scoring = scoring or Scoring()
    cells = _answers(counts, scoring, judge, variant, models).cells
    axes = _axes(scoring, lambdas, mus, weights)
    scores = _grid(cells, *axes, split)
    tau, discordant = _concordance(scores, cells.scores(scoring, split))
    first, gap, tied = _leaders(scores)
    unscored = "no question is scored for every model" if not cells.n else "the graded tiers have no weight"
    return (
        _settings(*axes)
        .with_columns(
            _names(cells.models, first).alias("first"),
            pl.Series("gap", gap).fill_nan(None),
            pl.Series("tau", tau).fill_nan(None),
            pl.Series("discordant", discordant),
            pl.lit(cells.n, dtype=pl.Int64).alias("n"),
            pl.Series("tied", tied),
        )
        .with_columns(pl.when(pl.col("tied") == 1).then(pl.col("first")).alias("first"))
        .with_columns(
            pl.when(pl.col("tied") == 0)
            .then(pl.lit(unscored))
            .when(pl.col("tied") > 1)
            .then(pl.format("{} models share first place", pl.col("tied")))
            .when(pl.col("tau").is_null())
            .then(pl.lit("a ranking without two distinct scores has no tau"))
            .alias("reason")
        )
        .drop("tied")
    )


def flip_thresholds(
    counts: pl.DataFrame,
    scoring: Scoring | None = None,
    *,
    judge: str,
    variant: str,
    models: Sequence[str] | None = None,
    split: str = "proportional",
    mu_range: tuple[float, float] = MU_RANGE,
) -> pl.DataFrame:
    """For every pair of models, the value of each constant at which the two change places.

    One constant moves, the others stay as in ``scoring``; when the weight of one tier moves, the other two keep their
    proportion. lambda is solved exactly, since scores are linear in it; mu and the weights by the roots of the
    difference, bracketed on a fine grid and refined to machine precision (two flips within one step of the grid, 1.4 %
    of mu or 0.001 of a weight, cancel each other and are not listed).

    Returns one row a pair, constant (``lambda_``, ``mu``, ``w_answer_critical``, ``w_valuable``, ``w_context``) and
    root: ``leader`` (ahead at the default), ``other``, ``default``, ``threshold``, ``shift`` (threshold minus default),
    ``attainable`` (inside the constant's domain or the range searched), ``difference`` (leader minus other at the
    default), ``n`` and ``reason`` when there is no threshold. The nearest threshold of a pair and constant comes first.
    """
    scoring = scoring or Scoring()
    cells = _answers(counts, scoring, judge, variant, models).cells
    scores = cells.scores(scoring, split)
    one, two = np.triu_indices(len(cells.models), k=1)
    swap = scores[one] < scores[two]
    pairs = np.where(swap, two, one), np.where(swap, one, two)
    found = [
        _lambda_flips(cells, scoring, split, pairs),
        _mu_flips(cells, scoring, split, pairs, mu_range),
        *(_weight_flips(cells, scoring, split, pairs, tier) for tier in range(len(TIERS))),
    ]
    difference = scores[pairs[0]] - scores[pairs[1]]
    names = pl.DataFrame(
        {
            "pair": np.arange(len(one)),
            "leader": _names(cells.models, pairs[0]),
            "other": _names(cells.models, pairs[1]),
            "difference": difference,
        },
        schema_overrides={"pair": pl.Int64, "leader": pl.String, "other": pl.String, "difference": pl.Float64},
    )
    nothing = pl.lit("no question is scored for every model") if not cells.n else pl.col("reason")
    return (
        pl.concat(found)
        .join(names, on="pair", how="left")
        .with_columns(
            pl.col("difference").fill_nan(None),
            (pl.col("threshold") - pl.col("default")).alias("shift"),
            pl.lit(cells.n, dtype=pl.Int64).alias("n"),
            nothing.alias("reason"),
        )
        .sort("pair", "order", pl.col("shift").abs(), maintain_order=True)
        .select(
            "leader", "other", "constant", "default", "threshold", "shift", "attainable", "difference", "n", "reason"
        )
    )


def top_stability(
    counts: pl.DataFrame,
    scoring: Scoring | None = None,
    *,
    judge: str,
    variant: str,
    models: Sequence[str] | None = None,
    concentrations: Sequence[float] = (3, 10, 30, 100),
    split: str = "proportional",
    draws: int = 10_000,
    seed: int = SEED,
    level: float = LEVEL,
) -> pl.DataFrame:
    """Probability that another model is first when the weights are drawn from a Dirichlet prior.

    One row a prior: ``flat`` (every triple of weights alike) and, for each concentration k, Dirichlet(k w) around the
    weights w of ``scoring`` (standard deviation of a weight sqrt(w (1 - w) / (k + 1))). ``estimate`` is the share of
    draws whose first model is not the default's, shared first places counted as changed; ``low`` and ``high`` bound the
    error of drawing ``n`` times (Wilson), not that of the questions. ``rival`` is first instead most often, ``tau`` is
    the mean tau-b to the default.
    """
    scoring = scoring or Scoring()
    cells = _answers(counts, scoring, judge, variant, models).cells
    centre = np.asarray(scoring.weights) / sum(scoring.weights)
    default = cells.scores(scoring, split)
    first, _, tied = _leaders(default[:, None])
    base, slope = cells.tables(np.array([scoring.mu]))
    sums = base[0] + scoring.lambda_ * slope[0]
    rows = []
    for name, alpha in [("flat", np.ones(len(TIERS))), *((f"concentration {k:g}", k * centre) for k in concentrations)]:
        scores = cells.mean(sums, effective_weights(_dirichlet(alpha, draws, seed), split))
        rows.append({"prior": name, "alpha": alpha.tolist(), **_changes(scores, default, cells.models, level)})
    reason = "no question is scored for every model" if not cells.n else "first place is shared at the default"
    undefined = pl.lit(not cells.n or tied[0] != 1)
    blank = [pl.when(~undefined).then(pl.col(name)).alias(name) for name in ("estimate", "low", "high", "rival", "tau")]
    return pl.DataFrame(rows, schema_overrides={"rival": pl.String, "tau": pl.Float64}).with_columns(
        *blank,
        pl.lit(cells.models[first[0]] if tied[0] == 1 else None, dtype=pl.String).alias("first"),
        pl.when(undefined).then(pl.lit(reason)).alias("reason"),
    )


def draw_settings(
    scoring: Scoring | None = None,
    *,
    specifications: int = 200,
    concentration: float = 10,
    lambdas: tuple[float, float] = (0.25, 0.75),
    mus: tuple[float, float] = (-3.0, -1.0),
    seed: int = SEED,
) -> pl.DataFrame:
    """Plausible constants: lambda and mu uniform in their ranges, weights Dirichlet around those of ``scoring``.

    Returns one row a specification with the columns of SETTINGS. What counts as plausible is a judgement: say which
    ranges were used beside every number that comes from them.
    """
    scoring = scoring or Scoring()
    generator = np.random.default_rng(seed)
    centre = np.asarray(scoring.weights) / sum(scoring.weights)
    weights = _dirichlet(concentration * centre, specifications, seed)
    return pl.DataFrame(
        {
            "lambda_": generator.uniform(*lambdas, specifications),
            "mu": generator.uniform(*mus, specifications),
            **dict(zip(WEIGHTS, weights.T, strict=True)),
        }
    )


def uncertainty_sources(
    counts: pl.DataFrame,
    scoring: Scoring | None = None,
    *,
    judge: str,
    variant: str,
    models: Sequence[str] | None = None,
    questions: pl.DataFrame | None = None,
    settings: pl.DataFrame | None = None,
    split: str = "proportional",
    replicates: int = REPLICATES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pl.DataFrame:
    """How much of a model's place hangs on the questions drawn, and how much on the constants chosen.

    Three sources side by side for every model: ``sampling`` (questions resampled, constants as in ``scoring``),
    ``specification`` (the questions as they are, the constants of ``settings``, by default ``draw_settings(scoring)``),
    ``both`` (each bootstrap replicate under one of the settings). ``questions`` may give a ``cluster`` to resample
    together.

    Returns ``estimate`` (score at the default), ``low`` and ``high`` (percentiles), ``standard_deviation``,
    ``rank``, ``rank_low``, ``rank_high`` (percentiles of the rank; tied models share the better one), ``first``
    (share of the draws in which the model is first; shared places count in part), ``n`` questions and ``reason``. The
    sampling rows are bootstrap statements; the specification rows describe the settings and have no error rate.
    """
    scoring = scoring or Scoring()
    answers = _answers(counts, scoring, judge, variant, models)
    settings = draw_settings(scoring, seed=seed) if settings is None else settings
    if not answers.questions:
        raise InputError(
            f"no question is scored for each of {', '.join(answers.models)}: leave out those with gaps (models=...)"
        )
    specified = [
        answers.question_scores(_scoring(row, scoring), split) for row in settings.select(SETTINGS).iter_rows()
    ]
    default = answers.question_scores(scoring, split)
    clusters = clusters_of(questions, answers.questions)
    resamples = resample_counts(len(default), replicates=replicates, seed=seed, clusters=clusters)
    blocks = np.array_split(resamples, len(specified))
    draws = {
        "sampling": resample_means(default, resamples),
        "specification": np.stack([np.nanmean(scores, axis=0) for scores in specified]),
        "both": np.concatenate([resample_means(*pair) for pair in zip(specified, blocks, strict=True) if len(pair[1])]),
    }
    estimate = np.nanmean(default, axis=0)
    units = cluster_codes(len(default), clusters)[1]
    every = _names(answers.models, np.arange(len(answers.models)))
    tables = [_source_rows(name, draws[name], estimate, level, len(default), units) for name in SOURCES]
    return pl.concat([table.select(every.alias("model"), pl.all()) for table in tables])


def empty_tier_readings(
    counts: pl.DataFrame,
    scoring: Scoring | None = None,
    *,
    judge: str,
    variant: str,
    models: Sequence[str] | None = None,
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
) -> pl.DataFrame:
    """What the other reading of an empty tier would change: equal parts instead of proportional ones.

    Returns one row a model: ``proportional`` and ``equal`` scores with their ranks, ``estimate`` (equal minus
    proportional, a mean over questions) with its interval ``low, high``, ``affected`` (share of questions with an empty
    tier), ``n`` questions and ``reason``.
    """
    scoring = scoring or Scoring()
    answers = _answers(counts, scoring, judge, variant, models)
    scores = [answers.question_scores(scoring, split) for split in READINGS]
    cells = answers.cells
    clusters = clusters_of(questions, answers.questions)
    table = mean_intervals(scores[1] - scores[0], clusters=clusters, level=level)
    with np.errstate(invalid="ignore"):
        affected = 1 - cells.questions[:, -1] / cells.n if cells.n else np.full(len(cells.models), np.nan)
    means = {split: cells.scores(scoring, split) for split in READINGS}
    return pl.DataFrame(
        {
            "model": pl.Series(cells.models, dtype=pl.String),
            **{split: pl.Series(values).fill_nan(None) for split, values in means.items()},
            **{f"rank_{split}": _ranks(values[:, None])[:, 0] for split, values in means.items()},
            **{name: table[name] for name in ("estimate", "low", "high")},
            "affected": pl.Series(affected).fill_nan(None),
            **{name: table[name] for name in ("n", "warning", "reason")},
        }
    )


def _answers(
    counts: pl.DataFrame, scoring: Scoring, judge: str, variant: str, models: Sequence[str] | None
) -> _Answers:
    """Code the answers that every model has a score for; replicates of an answer share its weight."""
    chosen = _chosen(counts, judge, variant, models)
    rows = _scored(chosen, scoring)
    names = sorted(chosen["model"].unique())
    everything = sorted(rows["question_id"].unique())
    model, question = _codes(rows["model"], names), _codes(rows["question_id"], everything)
    seen = np.zeros((len(names), len(everything)), dtype=bool)
    seen[model, question] = True
    common = np.asarray(seen.all(axis=0))
    kept = common[question]
    rows, model, question = rows.filter(kept), model[kept], (np.cumsum(common) - 1)[question[kept]]
    tier = _codes(rows["tier"], list(TIERS))
    replicate = rows["replicate"].to_numpy().astype(np.int64)
    same = model * common.sum() + question
    answer = (replicate - replicate.min(initial=0)) * seen.size + same
    pattern = np.bincount(answer, 2.0**tier, minlength=1)[answer].astype(np.int64)
    once = tier == np.argmax(_PRESENT, axis=1)[pattern]
    share = 1 / np.bincount(same[once], minlength=1)[same]
    tallies = rows.select(pl.col(VERDICTS).cast(pl.Float64)).to_numpy()
    questions = [name for name, wanted in zip(everything, common, strict=True) if wanted]
    return _Answers(names, questions, model, question, tier, pattern, tallies, share)


def _chosen(counts: pl.DataFrame, judge: str, variant: str, models: Sequence[str] | None) -> pl.DataFrame:
    """The counts of one judge and variant; names that the frame does not have are refused with the nearest ones."""
    for column, name in (("judge", judge), ("variant", variant)):
        _require_known(column, name, counts[column])
    rows = counts.filter((pl.col("judge") == judge) & (pl.col("variant") == variant))
    if models is None:
        return rows
    for model in models:
        _require_known("model", model, rows["model"])
    return rows.filter(pl.col("model").is_in(list(models)))


def _require_known(column: str, name: str, values: pl.Series) -> None:
    known = sorted(values.unique().cast(pl.String))
    if name not in known:
        nearest = difflib.get_close_matches(name, known, n=5, cutoff=0.0)
        raise UnknownName(f"unknown {column} {name!r}; known: {', '.join(nearest) or 'none'}")


def _scored(counts: pl.DataFrame, scoring: Scoring) -> pl.DataFrame:
    """Rows with checks of the answers that have a score; any graded tier makes one, whatever its weight."""
    graded = counts.filter(pl.sum_horizontal(VERDICTS) > 0)
    if not _gaps(graded):
        return graded
    every = replace(scoring, weights=(1, 1, 1))
    key = ["model", "question_id"]
    parts = [
        part.join(every.questions(part).filter(pl.col("score").is_not_null()).select(key), on=key, how="semi")
        for part in counts.partition_by("replicate")
    ]
    return pl.concat(parts).filter(pl.sum_horizontal(VERDICTS) > 0)


def _gaps(counts: pl.DataFrame) -> bool:
    """Whether any answer could lack a score; most grids are complete, and then need not be scored to know it."""
    failed = "answer_status" in counts.columns and (counts["answer_status"] == "error").any()
    return failed or not (counts["ungraded"] == 0).all()


def _codes(values: pl.Series, names: list[str]) -> np.ndarray:
    """The position of each entry among the names."""
    return values.cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int64)


def _names(names: list[str], codes: np.ndarray) -> pl.Series:
    return pl.Series(names, dtype=pl.String)[codes]


def _axes(
    scoring: Scoring,
    lambdas: Sequence[float] | np.ndarray | None,
    mus: Sequence[float] | np.ndarray | None,
    weights: Sequence[Sequence[float]] | np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The three axes of a grid, checked; what is not given stays at its default."""
    axes = (
        np.atleast_1d(np.asarray(scoring.lambda_ if lambdas is None else lambdas, dtype=float)),
        np.atleast_1d(np.asarray(scoring.mu if mus is None else mus, dtype=float)),
        np.atleast_2d(np.asarray(scoring.weights if weights is None else weights, dtype=float)),
    )
    if not (np.all(axes[0] >= 0) and np.all(axes[0] <= 1)):
        raise ScoringError(f"lambdas from {axes[0].min():g} to {axes[0].max():g}: numbers in [0, 1] are needed")
    if not np.all(axes[1] < 0):
        raise ScoringError(
            f"mus up to {axes[1].max():g}: numbers below 0 are needed (at 0 a tier of contradictions is 0/0)"
        )
    if axes[2].shape[1] != len(TIERS) or np.any(axes[2] < 0) or not np.all(axes[2].sum(axis=1) > 0):
        raise ScoringError(
            f"weights of shape {axes[2].shape}: rows of three non-negative numbers, not all zero, are needed"
        )
    return axes


def _settings(lambdas: np.ndarray, mus: np.ndarray, weights: np.ndarray) -> pl.DataFrame:
    shape = (len(lambdas), len(mus), len(weights))
    grids = {
        "lambda_": np.broadcast_to(lambdas[:, None, None], shape),
        "mu": np.broadcast_to(mus[None, :, None], shape),
        **{name: np.broadcast_to(column, shape) for name, column in zip(WEIGHTS, weights.T, strict=True)},
    }
    return pl.DataFrame({name: grid.ravel() for name, grid in grids.items()})


def _grid(cells: Cells, lambdas: np.ndarray, mus: np.ndarray, weights: np.ndarray, split: str) -> np.ndarray:
    """Scores of (models, settings), lambda varying slowest."""
    base, slope = (cells.mean(sums, effective_weights(weights, split)) for sums in cells.tables(mus))
    base, slope = (np.ascontiguousarray(np.moveaxis(values, 1, 0)) for values in (base, slope))
    scores = lambdas[None, :, None, None] * slope[:, None] + base[:, None]
    return scores.reshape(len(cells.models), -1)


def _ranks(scores: np.ndarray) -> np.ndarray:
    """Rank of each model (axis 0), 1 for the best, tied models sharing the better rank; 0 where unscored."""
    ahead = np.ones(scores.shape, dtype=np.int16)
    for other in scores:
        ahead += other > scores + _TIE
    return np.where(np.isnan(scores), 0, ahead)


def _leaders(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each setting: the first model, its gap to the second, and how many share first place (0: unscored)."""
    if not len(scores):
        return (
            np.zeros(scores.shape[1], dtype=int),
            np.full(scores.shape[1], np.nan),
            np.zeros(scores.shape[1], dtype=int),
        )
    first = scores.argmax(axis=0)
    best = scores.max(axis=0)
    tied = (scores >= best - _TIE).sum(axis=0)
    rest = scores.copy()
    rest[first, np.arange(scores.shape[1])] = -np.inf
    second = rest.max(axis=0)
    gap = np.where(np.isfinite(second), best - second, np.nan)
    return first, np.where(tied > 1, 0.0, gap), tied


def _concordance(scores: np.ndarray, default: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Kendall's tau-b of every setting to the default and the number of pairs in the other order."""
    agree, disagree, unranked = np.zeros((3, scores.shape[1]), dtype=np.int16)
    gap, apart = np.empty(scores.shape[1]), np.empty(scores.shape[1], dtype=bool)
    pairs = 0
    for one, two in zip(*np.triu_indices(len(scores), k=1), strict=True):
        np.subtract(scores[one], scores[two], out=gap)
        order = _sign(default[one] - default[two])
        pairs += order != 0
        for bound, direction in ((np.greater, 1), (np.less, -1)):
            bound(gap, direction * _TIE, out=apart)
            tally = unranked if order == 0 else agree if order == direction else disagree
            tally += apart
    distinct = (agree + disagree + unranked).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (agree - disagree) / np.sqrt(pairs * distinct), disagree.astype(np.int64)


def _sign(gap: float) -> int:
    return int(gap > _TIE) - int(gap < -_TIE)


Pairs = tuple[np.ndarray, np.ndarray]


def _lambda_flips(cells: Cells, scoring: Scoring, split: str, pairs: Pairs) -> pl.DataFrame:
    weights = effective_weights(scoring.weights, split)
    base, slope = (cells.mean(sums[0], weights)[:, 0] for sums in cells.tables(np.array([scoring.mu])))
    gap, turn = (values[pairs[0]] - values[pairs[1]] for values in (base, slope))
    parallel = np.abs(turn) <= _TIE
    threshold = np.divide(-gap, turn, out=np.full(len(gap), np.nan), where=~parallel)
    reason = np.where(np.abs(gap) <= _TIE, "tied at every value", "lambda moves both scores alike").astype(object)
    reason[~parallel] = None
    return _flip_rows("lambda_", 0, scoring.lambda_, np.arange(len(gap)), threshold, reason, (0, 1))


def _mu_flips(cells: Cells, scoring: Scoring, split: str, pairs: Pairs, mu_range: tuple[float, float]) -> pl.DataFrame:
    if not mu_range[0] < mu_range[1] < 0:
        raise ScoringError(f"mu_range = {mu_range}: two increasing numbers below 0 are needed")
    weights = effective_weights(scoring.weights, split)
    flat = [values[:, None] * weights[..., None] for values in (cells.meets, cells.partially, cells.answers)]
    scored = cells.questions @ (weights[0].sum(-1) > 0)
    meets, partially, answers = (np.einsum("mkptu->mu", values) / np.maximum(scored, 1)[:, None] for values in flat)

    def scores(mus: np.ndarray) -> np.ndarray:
        contradicted = cells.contradicted[:, None]
        share = 1 / (cells.others[:, None] + contradicted * np.abs(mus))
        return ((meets + scoring.lambda_ * partially) @ share + answers @ (contradicted * mus * share)).T

    return _root_rows("mu", 1, scoring.mu, scores, -np.geomspace(-mu_range[0], -mu_range[1], 500), pairs)


def _weight_flips(cells: Cells, scoring: Scoring, split: str, pairs: Pairs, tier: int) -> pl.DataFrame:
    centre = np.asarray(scoring.weights, dtype=float) / sum(scoring.weights)
    others = np.delete(centre, tier)
    name, order = WEIGHTS[tier], 2 + tier
    if not others.sum():
        nothing = np.full(len(pairs[0]), np.nan)
        reason = np.full(len(nothing), "the other two weights are 0: no proportion to keep", dtype=object)
        return _flip_rows(name, order, centre[tier], np.arange(len(nothing)), nothing, reason, (0, 1))
    base, slope = (sums[0] for sums in cells.tables(np.array([scoring.mu])))

    def scores(values: np.ndarray) -> np.ndarray:
        rest = (1 - values)[:, None] * others / others.sum()
        return cells.mean(
            base + scoring.lambda_ * slope, effective_weights(np.insert(rest, tier, values, axis=1), split)
        ).T

    # The ends are left out: there a question whose other tiers are empty has no weight left.
    return _root_rows(name, order, centre[tier], scores, np.linspace(0, 1, 1001)[1:-1], pairs)


def _root_rows(
    name: str, order: int, default: float, scores: Callable[[np.ndarray], np.ndarray], grid: np.ndarray, pairs: Pairs
) -> pl.DataFrame:
    """The flips of every pair along one constant: all roots found, or one row that says why there is none."""
    values = scores(grid)
    gap = values[:, pairs[0]] - values[:, pairs[1]]
    pair, roots = _roots(scores, grid, gap, pairs)
    bare = np.setdiff1d(np.arange(gap.shape[1]), pair)
    tied = (np.abs(gap[:, bare]) <= _TIE).all(axis=0)
    reason = np.where(tied, "tied at every value", f"no flip from {grid.min():g} to {grid.max():g}")
    threshold = np.concatenate([roots, np.full(len(bare), np.nan)])
    reasons = np.concatenate([np.full(len(roots), None), reason.astype(object)])
    return _flip_rows(name, order, default, np.concatenate([pair, bare]), threshold, reasons, (grid.min(), grid.max()))


def _roots(
    scores: Callable[[np.ndarray], np.ndarray], grid: np.ndarray, gap: np.ndarray, pairs: Pairs
) -> tuple[np.ndarray, np.ndarray]:
    """Where each pair's gap (grid, pairs) changes its sign, refined between the grid's points."""
    from scipy.optimize.elementwise import find_root

    sign = np.where(np.abs(gap) <= _TIE, 0, np.sign(gap))
    # A gap that touches 0 flips only when it leaves on the other side: compare with the last sign that was not 0.
    last = np.maximum.accumulate(np.where(sign != 0, np.arange(len(grid))[:, None], 0), axis=0)
    step, pair = np.nonzero(sign[1:] * np.take_along_axis(sign, last, axis=0)[:-1] < 0)
    if not len(pair):
        return pair, np.zeros(0)

    def difference(x: np.ndarray, one: np.ndarray, two: np.ndarray) -> np.ndarray:
        values = scores(x)
        row = np.arange(len(x))
        return values[row, one.astype(int)] - values[row, two.astype(int)]

    bracket = grid[last[step, pair]], grid[step + 1]
    found = find_root(difference, bracket, args=(pairs[0][pair], pairs[1][pair]))
    return pair, found.x


def _flip_rows(
    name: str,
    order: int,
    default: float,
    pair: np.ndarray,
    threshold: np.ndarray,
    reason: np.ndarray,
    domain: tuple[float, float],
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "pair": pl.Series(pair, dtype=pl.Int64),
            "order": pl.Series(np.full(len(pair), order), dtype=pl.Int64),
            "constant": pl.Series([name] * len(pair), dtype=pl.String),
            "default": pl.Series(np.full(len(pair), default), dtype=pl.Float64),
            "threshold": pl.Series(threshold, dtype=pl.Float64).fill_nan(None),
            "attainable": (threshold >= domain[0]) & (threshold <= domain[1]),
            "reason": pl.Series(reason.tolist(), dtype=pl.String),
        }
    )


def _dirichlet(alpha: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """Weights drawn from a Dirichlet prior; a tier without weight keeps none."""
    generator = np.random.default_rng(seed)
    weights = np.zeros((draws, len(alpha)))
    weights[:, alpha > 0] = generator.dirichlet(alpha[alpha > 0], draws)
    return weights


def _changes(scores: np.ndarray, default: np.ndarray, models: list[str], level: float) -> dict[str, object]:
    """How often the first model of (models, draws) is not the default's, and who is first instead."""
    first, _, tied = _leaders(scores)
    champion = int(np.argmax(default)) if len(default) else 0
    changed = (first != champion) | (tied != 1)
    rivals = np.bincount(first[changed & (first != champion)], minlength=len(models))
    low, high = wilson_interval(int(changed.sum()), len(changed), level=level)
    tau = _concordance(scores, default)[0]
    return {
        "estimate": float(changed.mean()),
        "low": float(low),
        "high": float(high),
        "n": len(changed),
        "rival": models[int(rivals.argmax())] if rivals.any() else None,
        "tau": float(tau.mean()) if len(models) > 1 and not np.isnan(tau).any() else None,
    }


def _scoring(row: tuple[float, ...], scoring: Scoring) -> Scoring:
    lambda_, mu, answer_critical, valuable, context = row
    return replace(scoring, lambda_=lambda_, mu=mu, weights=(answer_critical, valuable, context))


def _source_rows(
    name: str, draws: np.ndarray, estimate: np.ndarray, level: float, n: int, clusters: int
) -> pl.DataFrame:
    """One row a model: where its score and its rank lie in the draws of one source."""
    low, high = percentile_interval(draws, level=level)
    ranks = _ranks(draws.T).T
    rank_low, rank_high = np.quantile(ranks, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf")
    leading = draws >= draws.max(axis=1, keepdims=True) - _TIE
    sampled = name != "specification"
    reason = no_interval_reason(n, clusters) if sampled else None
    spread = {
        "low": low,
        "high": high,
        "standard_deviation": draws.std(axis=0),
        "rank_low": rank_low.astype(np.int64),
        "rank_high": rank_high.astype(np.int64),
        "first": (leading / leading.sum(axis=1, keepdims=True)).mean(axis=0),
    }
    if reason is not None:
        spread = {column: pl.Series([None] * len(estimate), dtype=SPREAD[column]) for column in SPREAD}
    return pl.DataFrame(
        {
            "source": pl.Series([name] * len(estimate), dtype=pl.Enum(SOURCES)),
            "estimate": estimate,
            "rank": _ranks(estimate[:, None])[:, 0].astype(np.int64),
            **spread,
            "n": pl.Series([n] * len(estimate), dtype=pl.Int64),
            "warning": pl.Series(
                [few_clusters_warning(clusters) if sampled else None] * len(estimate), dtype=pl.String
            ),
            "reason": pl.Series([reason] * len(estimate), dtype=pl.String),
        }
    )
