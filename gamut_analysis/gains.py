"""What a model gains when the question names its subject: text-only against multimodal, paired by question.

Every function takes two frames of question scores: ``scores`` (both variants) and ``matched``, the multimodal answers
scored on those checks alone that the text-only rubric has too. Gain means text-only minus multimodal; the *matched*
gain compares the same questions under the same checks. What is sampled is questions (or the ``cluster`` of a
``questions`` frame); the models are fixed, and few: what is said about them as a group says so.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from gamut_analysis.intervals import (
    LEVEL,
    REPLICATES,
    SEED,
    bca_interval,
    cluster_codes,
    cluster_sums,
    clustered_error,
    clusters_of,
    few_clusters_warning,
    jackknife_means,
    max_t,
    mean_covariance,
    mean_intervals,
    no_interval_reason,
    percentile_interval,
    permutation_p,
    resample_counts,
    resample_means,
    score_matrix,
    scored_means,
    signs_for,
    t_interval,
)

MULTIMODAL, TEXT_ONLY = "multimodal", "text_only"
# Each part as a sum of means: over all questions of a variant, or over the common ones.
PARTS = {
    "naive": {"all text": 1, "all multimodal": -1},
    "question_set": {"all text": 1, "text": -1, "multimodal": 1, "all multimodal": -1},
    "dropped_checks": {"matched": 1, "multimodal": -1},
    "matched": {"text": 1, "matched": -1},
}
METHODS = ("naive_slope", "oldham_slope", "oldham_correlation", "deming_slope", "spread_ratio")
_NULLS = {"naive_slope": 0.0, "oldham_slope": 0.0, "oldham_correlation": 0.0, "deming_slope": 1.0, "spread_ratio": 1.0}
_READINGS = {
    "naive_slope": "gain on multimodal score: mathematically coupled, so noise alone makes it negative",
    "oldham_slope": "gain on the mean of both scores: 0 if the gain does not depend on the level",
    "oldham_correlation": "of gain and mean of both scores; noise in the gains pulls it to 0; p by Pitman-Morgan",
    "deming_slope": "text-only on multimodal, both with error: 1 if the gain does not depend on the level",
    "spread_ratio": "standard deviation of the models, text-only to multimodal: 1 if both spread them alike",
}
_TIE = 1e-9
_FEW_MODELS = "fewer than three models"


@dataclass(frozen=True)
class _Paired:
    """Scores (questions, models) of both variants and of the matched checks, NaN where there is none."""

    models: list[str]
    questions: list[str]
    multimodal: np.ndarray
    matched: np.ndarray
    text: np.ndarray
    clusters: np.ndarray | None

    @property
    def common(self) -> np.ndarray:
        """Which model has a question scored in all three ways."""
        return ~np.isnan(self.multimodal + self.matched + self.text)

    @property
    def gains(self) -> np.ndarray:
        """Matched gain of every common question, NaN elsewhere."""
        return np.where(self.common, self.text - self.matched, np.nan)

    def of_all_models(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Matched and text-only scores and clusters of the questions that every model has."""
        rows = self.common.all(axis=1)
        return self.matched[rows], self.text[rows], None if self.clusters is None else self.clusters[rows]


def gain_parts(
    scores: pl.DataFrame,
    matched: pl.DataFrame,
    *,
    judge: str,
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
) -> pl.DataFrame:
    """The naive gain of every model taken apart: question set + dropped checks + matched gain, exactly.

    Returns one row a model and ``part`` with ``estimate, low, high, n`` (questions that enter), ``standard_error``,
    ``warning`` and ``reason``:

    - ``naive``: mean of all text-only scores - mean of all multimodal scores;
    - ``question_set``: what comes from questions that only one variant has;
    - ``dropped_checks``: on the common questions, what leaving out the checks that the text-only rubric lacks does;
    - ``matched``: on the common questions and the common checks, text-only - multimodal.

    The standard error is that of a difference of means over overlapping sets of questions (linearised, clustered),
    paired by question; t interval. A model without one of the variants has nulls and the reason.

    >>> frame = pl.DataFrame({"model": "m", "judge": "j", "question_id": ["q1", "q2", "q3", "q1", "q2"],
    ...     "variant": ["multimodal"] * 3 + ["text_only"] * 2, "score": [0.2, 0.4, 0.9, 0.6, 0.6]})
    >>> dropped = frame.filter(variant="multimodal").with_columns(pl.col("score") - 0.1).head(2)
    >>> parts = gain_parts(frame, dropped, judge="j")
    >>> dict(parts.select("part", pl.col("estimate").round(6)).iter_rows())
    {'naive': 0.1, 'question_set': -0.2, 'dropped_checks': -0.1, 'matched': 0.4}
    """
    pairs = _paired(scores, matched, judge, questions)
    tables = {
        "all text": pairs.text,
        "all multimodal": pairs.multimodal,
        **{
            name: np.where(pairs.common, values, np.nan)
            for name, values in (("text", pairs.text), ("multimodal", pairs.multimodal), ("matched", pairs.matched))
        },
    }
    means = {name: scored_means(values) for name, values in tables.items()}
    influence = {name: _influence(values, means[name]) for name, values in tables.items()}
    rows = []
    for part, signs in PARTS.items():
        estimate = sum(sign * means[name] for name, sign in signs.items())
        deviation = sum(sign * influence[name] for name, sign in signs.items())
        entering = np.any([~np.isnan(tables[name]) for name in signs], axis=0)
        labels = pl.DataFrame(
            {"model": pairs.models, "part": pl.Series([part] * len(pairs.models), dtype=pl.Enum(list(PARTS)))}
        )
        table = _mean_rows(np.asarray(estimate), np.asarray(deviation), entering, pairs.clusters, level)
        rows.append(pl.concat([labels, table], how="horizontal"))
    return pl.concat(rows).sort("model", "part")


def gain_tests(
    scores: pl.DataFrame,
    matched: pl.DataFrame,
    *,
    judge: str,
    questions: pl.DataFrame | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pl.DataFrame:
    """Matched gains of all models together: intervals that hold for all of them at once, and corrected p-values.

    Returns one row a model: ``estimate, low, high, n`` (t interval of this model alone), ``low_all, high_all``
    (simultaneous), ``statistic`` (clustered t), ``p`` (two-sided, no gain) and ``p_adjusted`` (step-down max-T).

    p: studentised sign flips of the per-question gains, signs common to all models; (1 + b)/(1 + B). Simultaneous
    intervals: the quantile of the largest |t| over models when the signs of the centred gains flip (wild bootstrap).
    Source: Westfall and Young 1993; Romano and Wolf 2005. Measured error and coverage: see ``tests/coverage``.
    """
    pairs = _paired(scores, matched, judge, questions)
    gains = pairs.gains
    table = mean_intervals(gains, clusters=pairs.clusters, level=level)
    sums, sizes = _cluster_tables(gains, pairs.clusters)
    estimate, error = (table[name].fill_null(float("nan")).to_numpy() for name in ("estimate", "standard_error"))
    signs = signs_for(len(sums), replicates=replicates, seed=seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = estimate / error
        flipped = np.abs(_flipped_t(sums, sizes, signs))
        centred = np.abs(_flipped_t(sums - sizes * estimate, sizes, signs))
    known = np.isfinite(statistic)
    critical = np.quantile(centred[:, known].max(axis=1), level) if known.any() else np.nan
    observed = np.where(known, np.abs(statistic), np.nan)
    columns = {
        "low_all": estimate - critical * error,
        "high_all": estimate + critical * error,
        "statistic": np.where(known, statistic, np.nan),
        "p": permutation_p(observed, flipped),
        "p_adjusted": max_t(observed, np.where(known, flipped, np.nan)),
    }
    return table.select(
        pl.Series("model", pairs.models, dtype=pl.String),
        "estimate",
        "low",
        "high",
        "n",
        *(pl.Series(name, values).fill_nan(None) for name, values in columns.items()),
        "standard_error",
        "warning",
        _unpaired(pl.coalesce("reason", pl.when(pl.col("standard_error") == 0).then(pl.lit("every gain is the same")))),
    )


def gain_homogeneity(
    scores: pl.DataFrame,
    matched: pl.DataFrame,
    *,
    judge: str,
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
) -> pl.DataFrame:
    """Is the gain the same for every model? A clustered Wald test, and how far the true gains differ.

    Uses the questions that all models have. Returns one row: ``statistic`` (F), ``df1``, ``df2``, ``p``; ``estimate,
    low, high``: the standard deviation of the true gains over the models at hand, sampling noise taken off; ``gain``,
    their mean; ``models``, ``n`` questions, ``warning``, ``reason``.

    Formula: with the mean gains d, their clustered covariance V over G clusters and contrasts L between models,
    W = (L d)' (L V L')^-1 (L d), and F = W (G - m + 1) / ((G - 1)(m - 1)) has m - 1 and G - m + 1 degrees of freedom.
    Spread: sigma^2 = (d' C d - tr CV) / (m - 1), C the centring matrix, negative values shown as 0; its interval holds
    every sigma under which d' C d is not extreme as a non-central chi-squared, scaled by d' C V C d / d' C d.

    Source: Hotelling 1931 for F; Cochran 1954 for the spread; Satterthwaite 1946 for the scale. Measured level and
    coverage: see ``tests/coverage``. With no true spread the interval starts at 0 and covers more often than its level.
    """
    pairs = _paired(scores, matched, judge, questions)
    before, after, clusters = pairs.of_all_models()
    gains = after - before
    n, count = gains.shape
    units = cluster_codes(n, clusters)[1]
    reason = None
    if count < 2:
        reason = "one model: nothing to compare"
    elif n == 0:
        reason = "no question has both variants for every model"
    elif units <= count:
        reason = f"{units} questions or clusters for {count} models: too few for the test"
    mean = gains.mean(axis=0) if reason is None else np.zeros(count)
    covariance = mean_covariance(gains, clusters=clusters) if reason is None else np.eye(count)
    contrast = (np.eye(count) - 1 / max(count, 1))[:-1]
    middle = contrast @ covariance @ contrast.T
    if reason is None and np.linalg.cond(middle) > 1e12:
        reason = "the gains of some models move exactly together"
    row = {"n": n, "models": count, "warning": few_clusters_warning(units), "reason": reason}
    if reason is not None:
        return _homogeneity_row(row)
    row |= _wald(contrast @ mean, middle, units)
    row |= _spread_of(mean, covariance, level)
    return _homogeneity_row({**row, "gain": float(mean.mean())})


def gain_against_level(
    scores: pl.DataFrame,
    matched: pl.DataFrame,
    *,
    judge: str,
    questions: pl.DataFrame | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pl.DataFrame:
    """Do better models gain less? Oldham, Pitman-Morgan and Deming, and beside them the naive slope that misleads.

    Uses the questions that all models have. Returns one row a ``method``: ``estimate, low, high`` (BCa bootstrap over
    questions: these models, other questions), ``null`` (the value if the gain does not depend on the level), ``p``
    (of Pitman and Morgan, beside the correlation and the ratio that it tests: t with m - 2 degrees of freedom, the
    models taken as a sample), ``n`` models, ``questions``, ``reading``, ``warning``, ``reason``.

    With x the multimodal (matched) and y the text-only mean score of each model: ``naive_slope`` of y - x on x
    (coupled: x stands on both sides); ``oldham_slope`` and ``oldham_correlation`` of y - x with (x + y)/2;
    ``deming_slope`` (s_yy - s_xx + sqrt((s_yy - s_xx)^2 + 4 s_xy^2)) / (2 s_xy); ``spread_ratio`` sqrt(s_yy / s_xx).
    The correlation has no interval: where gains hardly differ it is mostly noise, and a bootstrap around it covers
    less than half the time.

    Source: Oldham 1962; Pitman 1939 and Morgan 1939; Deming 1943; Blomqvist 1977 on the coupling. Measured coverage of
    the slopes and the ratio: see ``tests/coverage``.
    """
    pairs = _paired(scores, matched, judge, questions)
    before, after, clusters = pairs.of_all_models()
    n, count = before.shape
    units = cluster_codes(n, clusters)[1]
    reason = _FEW_MODELS if count < 3 else "no question has both variants for every model" if n == 0 else None
    rows = {"n": count, "questions": n, "warning": few_clusters_warning(units)}
    if reason is not None:
        return _level_frame({}, {}, rows, [reason] * len(METHODS))
    observed = _level_statistics(before.mean(axis=0)[None], after.mean(axis=0)[None])
    estimate = {name: values[0] for name, values in observed.items()}
    weights = resample_counts(n, replicates=replicates, seed=seed, clusters=clusters)
    table = np.hstack([before, after])
    draws = _level_statistics(*np.split(resample_means(table, weights), 2, axis=1))
    left_out = _level_statistics(*np.split(jackknife_means(table, clusters=clusters), 2, axis=1))
    no_interval = no_interval_reason(n, units)
    bounds = {
        name: _bounds(observed[name], draws[name], left_out[name], level)
        for name in METHODS
        if name != "oldham_correlation"
    }
    undefined = "the models' scores, or their gains, do not differ"
    reasons = [undefined if np.isnan(estimate[name]) else no_interval for name in METHODS]
    return _level_frame(estimate, {} if no_interval else bounds, rows, reasons)


def rank_preservation(
    scores: pl.DataFrame,
    matched: pl.DataFrame,
    *,
    judge: str,
    questions: pl.DataFrame | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pl.DataFrame:
    """Do the two variants rank the models alike? Kendall's tau-b and Spearman's rho with intervals over questions.

    Uses the questions that all models have. Returns one row a ``coefficient`` (``kendall``, ``spearman``): ``estimate,
    low, high`` (percentile bootstrap with the same questions for both variants), ``discordant`` pairs of models,
    ``largest_gap`` (the largest difference of two gains: what a perfect tau can hide), ``n`` models, ``questions``,
    ``warning``, ``reason``. At 1 the interval reaches down only, and covers less often than its level says.
    """
    pairs = _paired(scores, matched, judge, questions)
    before, after, clusters = pairs.of_all_models()
    n, count = before.shape
    units = cluster_codes(n, clusters)[1]
    reason = (
        "fewer than two models" if count < 2 else "no question has both variants for every model" if n == 0 else None
    )
    columns: dict[str, Any] = {"coefficient": ["kendall", "spearman"]}
    values: dict[str, list[float | None]] = {name: [None, None] for name in ("estimate", "low", "high")}
    discordant, largest = None, None
    if reason is None:
        means = np.hstack([before, after]).mean(axis=0)[None]
        first, second = np.split(means, 2, axis=1)
        values["estimate"] = [_number(_tau(first, second)[0]), _number(_rho(first, second)[0])]
        order = _pair_signs(first) * _pair_signs(second)
        discordant, largest = int((order < 0).sum()), float(np.ptp(second - first))
        reason = no_interval_reason(n, units)
        if reason is None:
            weights = resample_counts(n, replicates=replicates, seed=seed, clusters=clusters)
            draws = np.split(resample_means(np.hstack([before, after]), weights), 2, axis=1)
            low, high = percentile_interval(np.stack([_tau(*draws), _rho(*draws)], axis=1), level=level)
            values["low"], values["high"] = [_number(x) for x in low], [_number(x) for x in high]
    undefined = "all models have the same score in one of the variants"
    reasons = [reason or (undefined if estimate is None else None) for estimate in values["estimate"]]
    return pl.DataFrame(
        {
            **columns,
            **{name: pl.Series(numbers, dtype=pl.Float64) for name, numbers in values.items()},
            "discordant": pl.Series([discordant] * 2, dtype=pl.Int64),
            "largest_gap": pl.Series([largest] * 2, dtype=pl.Float64),
            "n": pl.Series([count] * 2, dtype=pl.Int64),
            "questions": pl.Series([n] * 2, dtype=pl.Int64),
            "warning": pl.Series([few_clusters_warning(units)] * 2, dtype=pl.String),
            "reason": pl.Series(reasons, dtype=pl.String),
        }
    )


def rank_shifts(scores: pl.DataFrame, matched: pl.DataFrame, *, judge: str) -> pl.DataFrame:
    """Score and rank of every model in both variants, on the questions and checks that all have in common.

    Returns one row a model, the best multimodal first: ``multimodal``, ``text_only``, their ranks (tied models share
    the better one), ``shift`` (ranks gained by naming the subject) and ``n`` questions.
    """
    pairs = _paired(scores, matched, judge, None)
    before, after, _ = pairs.of_all_models()
    means = {name: scored_means(values) for name, values in ((MULTIMODAL, before), (TEXT_ONLY, after))}
    table = pl.DataFrame(
        {"model": pairs.models, **{name: pl.Series(values).fill_nan(None) for name, values in means.items()}}
    )
    ranks = [pl.col(name).rank("min", descending=True).cast(pl.Int64).alias(f"rank_{name}") for name in means]
    return (
        table.with_columns(ranks)
        .with_columns(
            (pl.col("rank_multimodal") - pl.col("rank_text_only")).alias("shift"),
            pl.lit(len(before), dtype=pl.Int64).alias("n"),
        )
        .sort("rank_multimodal", "model", nulls_last=True)
    )


def domain_gains(
    scores: pl.DataFrame, matched: pl.DataFrame, questions: pl.DataFrame, *, judge: str, level: float = LEVEL
) -> pl.DataFrame:
    """Matched gain of every model in every domain, each with its own t interval, unadjusted: exploratory.

    questions: question_id and domain, and cluster if questions share one. Returns one row a domain and model with
    ``estimate, low, high, n, standard_error, warning, reason``. Domains hold a tenth of the questions: intervals are
    about three times as wide as overall.
    """
    pairs = _paired(scores, matched, judge, questions)
    return _by_domain(pairs, pairs.gains, questions, pairs.models, level)


def domain_mean_gains(
    scores: pl.DataFrame, matched: pl.DataFrame, questions: pl.DataFrame, *, judge: str, level: float = LEVEL
) -> pl.DataFrame:
    """Matched gain of every domain, averaged over the models: these models, other questions of the domain.

    Uses the questions that all models have. Returns one row a domain with ``estimate, low, high, n, standard_error,
    warning, reason``.
    """
    pairs = _paired(scores, matched, judge, questions)
    complete = pairs.common.all(axis=1, keepdims=True)
    mean = np.where(complete, np.where(complete, pairs.gains, 0).mean(axis=1, keepdims=True), np.nan)
    return _by_domain(pairs, mean, questions, ["all models"], level).drop("model")


def _by_domain(
    pairs: _Paired, values: np.ndarray, questions: pl.DataFrame, names: list[str], level: float
) -> pl.DataFrame:
    placed = pl.DataFrame({"question_id": pairs.questions}, schema={"question_id": pl.String}).join(
        questions.select("question_id", "domain").unique("question_id", keep="first"),
        on="question_id",
        how="left",
        maintain_order="left",
    )
    parts = []
    for domain in sorted(placed["domain"].drop_nulls().unique()):
        rows = (placed["domain"] == domain).fill_null(False).to_numpy()
        clusters = None if pairs.clusters is None else pairs.clusters[rows]
        table = mean_intervals(values[rows], clusters=clusters, level=level).drop("clusters")
        labels = pl.DataFrame({"domain": [domain] * len(names), "model": names})
        parts.append(pl.concat([labels, table.with_columns(_unpaired(pl.col("reason")))], how="horizontal"))
    return pl.concat(parts)


# --- pairing ----------------------------------------------------------------------------------------------------------


def _paired(scores: pl.DataFrame, matched: pl.DataFrame, judge: str, questions: pl.DataFrame | None) -> _Paired:
    """Put the three scores of every question and model side by side, once, for all functions."""
    own = scores.filter(pl.col("judge").cast(pl.String) == judge)
    tables = [
        _matrix(scores, own, judge, MULTIMODAL),
        _matrix(matched, own, judge, MULTIMODAL),
        _matrix(scores, own, judge, TEXT_ONLY),
    ]
    models = sorted({name for names, _, _ in tables for name in names})
    ids = sorted({question for _, asked, _ in tables for question in asked})
    aligned = []
    for names, asked, values in tables:
        full = np.full((len(ids), len(models)), np.nan)
        full[np.ix_(np.searchsorted(ids, asked), np.searchsorted(models, names))] = values
        aligned.append(full)
    return _Paired(models, ids, aligned[0], aligned[1], aligned[2], clusters_of(questions, ids))


def _matrix(
    frame: pl.DataFrame, own: pl.DataFrame, judge: str, variant: str
) -> tuple[list[str], list[str], np.ndarray]:
    """Scores of one judge and variant; none at all where the judge is known but graded nothing of the variant."""
    rows = frame.filter(pl.col("judge").cast(pl.String) == judge, pl.col("variant").cast(pl.String) == variant)
    if rows.is_empty() and not own.is_empty():
        return [], [], np.zeros((0, 0))
    return score_matrix(frame, judge=judge, variant=variant)


def _unpaired(reason: pl.Expr) -> pl.Expr:
    return (
        pl.when(reason == "no scored question")
        .then(pl.lit("no question is scored in both variants"))
        .otherwise(reason)
        .alias("reason")
    )


# --- means ------------------------------------------------------------------------------------------------------------


def _influence(values: np.ndarray, means: np.ndarray) -> np.ndarray:
    """What each question contributes to the error of the mean of its column: (v - mean)/n, 0 where unscored."""
    scored = ~np.isnan(values)
    return np.where(scored, values - means, 0.0) / np.maximum(scored.sum(axis=0), 1)


def _mean_rows(
    estimate: np.ndarray, deviation: np.ndarray, entering: np.ndarray, clusters: np.ndarray | None, level: float
) -> pl.DataFrame:
    """Estimate, clustered interval, counts and remarks of a sum of means, one row a model."""
    n = entering.sum(axis=0)
    units = (cluster_sums(entering.astype(np.int64), clusters) > 0).sum(axis=0)
    error = np.where(np.isnan(estimate), np.nan, clustered_error(cluster_sums(deviation, clusters), units))
    low, high = t_interval(estimate, error, units, level=level)
    missing = "not scored in both variants"
    reasons = [
        missing if np.isnan(value) else no_interval_reason(int(questions), int(unit))
        for value, questions, unit in zip(estimate, n, units, strict=True)
    ]
    return pl.DataFrame(
        {
            "estimate": estimate,
            "low": low,
            "high": high,
            "n": pl.Series(n, dtype=pl.Int64),
            "standard_error": error,
            "warning": pl.Series([few_clusters_warning(int(unit)) for unit in units], dtype=pl.String),
            "reason": pl.Series(reasons, dtype=pl.String),
        }
    ).with_columns(pl.col("estimate", "low", "high", "standard_error").fill_nan(None))


def _cluster_tables(values: np.ndarray, clusters: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Sums and numbers of the scored questions of each cluster: (clusters, models) both."""
    scored = ~np.isnan(values)
    return cluster_sums(np.where(scored, values, 0.0), clusters), cluster_sums(scored.astype(float), clusters)


def _flipped_t(sums: np.ndarray, sizes: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Clustered t of every model under every row of signs: (replicates, models)."""
    total = sizes.sum(axis=0)
    units = (sizes > 0).sum(axis=0)
    mean = signs @ sums.astype(np.float32) / total
    cross = signs @ (sums * sizes).astype(np.float32)
    square = (sums**2).sum(axis=0) - 2 * mean * cross + mean**2 * (sizes**2).sum(axis=0)
    return mean / np.sqrt(units / (units - 1) * np.maximum(square, 0)) * total


# --- homogeneity ------------------------------------------------------------------------------------------------------


def _wald(difference: np.ndarray, covariance: np.ndarray, units: int) -> dict[str, float]:
    from scipy.special import fdtrc

    contrasts = len(difference)
    wald = float(difference @ np.linalg.solve(covariance, difference))
    degrees = units - contrasts
    statistic = wald * degrees / ((units - 1) * contrasts)
    return {"statistic": statistic, "df1": contrasts, "df2": degrees, "p": float(fdtrc(contrasts, degrees, statistic))}


def _spread_of(mean: np.ndarray, covariance: np.ndarray, level: float) -> dict[str, float]:
    """Standard deviation of the true gains, its interval from the non-central chi-squared law of the observed one."""
    from scipy.special import chndtrinc

    count = len(mean)
    centring = np.eye(count) - 1 / count
    noise = centring @ covariance
    total, observed = np.trace(noise), mean @ centring @ mean
    # The noise along the differences at hand: it is what moves them when they are large.
    scale = mean @ noise @ centring @ mean / observed if observed else total / (count - 1)
    squares = {
        "estimate": observed - total,
        "low": scale * chndtrinc(observed / scale, total / scale, (1 + level) / 2),
        "high": scale * chndtrinc(observed / scale, total / scale, (1 - level) / 2),
    }
    return {name: float(np.sqrt(max(value, 0) / (count - 1))) for name, value in squares.items()}


def _homogeneity_row(row: dict[str, Any]) -> pl.DataFrame:
    schema = {
        **dict.fromkeys(("statistic", "df1", "df2", "p", "estimate", "low", "high", "gain"), pl.Float64),
        "n": pl.Int64,
        "models": pl.Int64,
        "warning": pl.String,
        "reason": pl.String,
    }
    return pl.DataFrame([{name: row.get(name) for name in schema}], schema=schema)


# --- gain against level, ranks ----------------------------------------------------------------------------------------


def _level_statistics(before: np.ndarray, after: np.ndarray) -> dict[str, np.ndarray]:
    """The five statistics of each row of model means (replicates, models)."""
    x, y = (values - values.mean(axis=1, keepdims=True) for values in (before, after))
    s_xx, s_yy, s_xy = ((a * b).sum(axis=1) for a, b in ((x, x), (y, y), (x, y)))
    gain, middle = y - x, (x + y) / 2
    cross, s_gain, s_middle = ((a * b).sum(axis=1) for a, b in ((gain, middle), (gain, gain), (middle, middle)))
    with np.errstate(invalid="ignore", divide="ignore"):
        statistics = {
            "naive_slope": s_xy / s_xx - 1,
            "oldham_slope": cross / s_middle,
            "oldham_correlation": cross / np.sqrt(s_gain * s_middle),
            "deming_slope": (s_yy - s_xx + np.sqrt((s_yy - s_xx) ** 2 + 4 * s_xy**2)) / (2 * s_xy),
            "spread_ratio": np.sqrt(s_yy / s_xx),
        }
    # A gain that is the same for all models has no correlation with anything, whatever rounding leaves of it.
    flat = s_gain <= _TIE**2 * np.maximum(s_middle, _TIE**2)
    statistics["oldham_correlation"] = np.where(flat, np.nan, statistics["oldham_correlation"])
    return {name: np.where(np.isfinite(values), values, np.nan) for name, values in statistics.items()}


def _bounds(
    observed: np.ndarray, draws: np.ndarray, left_out: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """BCa interval of one statistic; percentiles where nothing varies and BCa is undefined."""
    corrected = bca_interval(observed, draws[:, None], left_out[:, None], level=level)
    plain = percentile_interval(draws[:, None], level=level)
    low, high = (np.where(np.isnan(b), p, b) for b, p in zip(corrected, plain, strict=True))
    return low, high


def _pitman_morgan_p(correlation: float, models: int) -> float:
    from scipy.special import stdtr

    with np.errstate(divide="ignore"):
        t = correlation * np.sqrt((models - 2) / np.maximum(1 - correlation**2, 0))
    return float(2 * stdtr(models - 2, -abs(t)))


def _level_frame(
    estimate: dict[str, float],
    bounds: dict[str, tuple[np.ndarray, np.ndarray]],
    rows: dict[str, Any],
    reasons: list[str | None],
) -> pl.DataFrame:
    correlation = estimate.get("oldham_correlation", np.nan)
    p = _number(_pitman_morgan_p(correlation, rows["n"])) if np.isfinite(correlation) else None
    return pl.DataFrame(
        {
            "method": pl.Series(METHODS, dtype=pl.Enum(METHODS)),
            "estimate": pl.Series([_number(estimate.get(name, np.nan)) for name in METHODS], dtype=pl.Float64),
            "low": pl.Series(
                [_number(bounds[name][0][0]) if name in bounds else None for name in METHODS], dtype=pl.Float64
            ),
            "high": pl.Series(
                [_number(bounds[name][1][0]) if name in bounds else None for name in METHODS], dtype=pl.Float64
            ),
            "null": pl.Series(list(_NULLS.values())),
            "p": pl.Series(
                [p if name in ("oldham_correlation", "spread_ratio") else None for name in METHODS], dtype=pl.Float64
            ),
            **{name: pl.Series([rows[name]] * len(METHODS), dtype=pl.Int64) for name in ("n", "questions")},
            "reading": list(_READINGS.values()),
            "warning": pl.Series([rows["warning"]] * len(METHODS), dtype=pl.String),
            "reason": pl.Series(reasons, dtype=pl.String),
        }
    )


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _pair_signs(means: np.ndarray) -> np.ndarray:
    """Which of every two models is ahead in each row of means: (replicates, pairs) of -1, 0, 1."""
    one, two = np.triu_indices(means.shape[1], k=1)
    gap = means[:, one] - means[:, two]
    return (gap > _TIE).astype(np.int8) - (gap < -_TIE).astype(np.int8)


def _tau(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Kendall's tau-b of each row."""
    first, second = _pair_signs(before), _pair_signs(after)
    product = (first * second).sum(axis=1, dtype=np.int64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return product / np.sqrt((first != 0).sum(axis=1).astype(float) * (second != 0).sum(axis=1))


def _rho(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Spearman's rho of each row, tied models at their mean rank."""
    from scipy.stats import rankdata

    x, y = (rankdata(np.round(values, 9), axis=1) for values in (before, after))
    x, y = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (x, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        return (x * y).sum(axis=1) / np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
