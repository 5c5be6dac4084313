"""Who is ahead, and how sure that is.

Models are compared on the same questions. A model is complete when it has a score on every question that any model has
one on; the others stand apart, and change nothing for the complete ones. Scores are in [-1, 1].
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from gamut_analysis import intervals
from gamut_analysis.errors import UnknownName
from gamut_analysis.intervals import EQUAL, LEVEL, REPLICATES, SEED
from gamut_analysis.orders import Grid, ahead_and_tied, competition_ranks, pair_signs, score_grid

RANK_DRAWS = 100_000
POWER = 0.8

# Draws handled at once, so that a block of all models stays in the processor's cache.
_BLOCK = 8192


# --- leaderboard ------------------------------------------------------------------------------------------------------


def leaderboard(
    scores: pl.DataFrame,
    *,
    judge: str,
    variant: str,
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = RANK_DRAWS,
) -> pl.DataFrame:
    """One row a model: mean score with interval, rank with its confidence sets, and the groups that are not told apart.

    scores: rows of model, judge, variant, question_id, score; questions: optional frame of question_id and cluster.
    Columns: model, rank (1 1 3 style, from unrounded means), estimate, low, high (clustered t interval), n (questions
    scored), asked, coverage (n of asked), complete, standard_error, rank_low, rank_high (simultaneous confidence set),
    rank_low_marginal, rank_high_marginal (for that model alone), group (models that share a letter are not told apart
    by the simultaneous sets), warning, reason. Complete models come first, best first; a model that is not complete has
    null in every rank column, and does not touch those of the others.
    Source: Miller 2024 (arXiv:2411.00640) for the interval; `rank_confidence_sets` for the sets; letters: Piepho 2004.
    Raises UnknownName for a judge or variant without scores.

    >>> frame = pl.DataFrame({"model": ["m"] * 3 + ["k"] * 3, "judge": "j", "variant": "multimodal",
    ...                       "question_id": ["q1", "q2", "q3"] * 2, "score": [0.9, 0.8, 1.0, 0.1, 0.2, 0.0]})
    >>> board = leaderboard(frame, judge="j", variant="multimodal", replicates=1000)
    >>> board.select("model", "rank", pl.col("estimate").round(3)).rows()
    [('m', 1, 0.9), ('k', 2, 0.1)]
    """
    return _leaderboard(score_grid(scores, judge, variant, questions), level, seed, replicates)


def common_leaderboard(
    scores: pl.DataFrame,
    *,
    judge: str,
    variant: str,
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = RANK_DRAWS,
) -> pl.DataFrame:
    """The leaderboard on the questions that all models have a score on, incomplete models included.

    Columns as in `leaderboard`; n is the number of common questions. When no question is common to all models, every
    estimate is null and the reason says so.
    """
    grid = score_grid(scores, judge, variant, questions)
    common = grid.on_common()
    board = _leaderboard(common, level, seed, replicates)
    asked = len(grid.questions)
    board = board.with_columns(asked=pl.lit(asked, pl.Int64), coverage=pl.col("n") / asked)
    if common.questions:
        return board
    return board.with_columns(reason=pl.lit("no question is scored for every model"))


def _leaderboard(grid: Grid, level: float, seed: int, replicates: int) -> pl.DataFrame:
    complete = grid.complete
    rows = intervals.mean_intervals(grid.scores, clusters=grid.clusters, level=level).drop("clusters")
    rows = rows.insert_column(0, pl.Series("model", grid.models, dtype=pl.String)).with_columns(
        asked=pl.lit(len(grid.questions), pl.Int64),
        coverage=pl.col("n") / max(len(grid.questions), 1),
        complete=pl.Series(complete),
    )
    apart = pl.format("scored {} of {} questions: not ranked beside complete models", "n", "asked")
    rows = rows.with_columns(reason=pl.when("complete").then("reason").otherwise(pl.coalesce("reason", apart)))
    ranks = _ranks(grid.columns(complete), level, seed, replicates)
    order = ["model", "rank", "estimate", "low", "high", "n", "asked", "coverage", "complete", "standard_error"]
    order += ["rank_low", "rank_high", "rank_low_marginal", "rank_high_marginal", "group", "warning", "reason"]
    joined = rows.join(ranks, on="model", how="left")
    # Equal up to the order of summation is equal: such models are listed by name.
    best_first = (pl.col("complete").not_(), "rank", -pl.col("estimate").round(12), "model")
    return joined.sort(*best_first, nulls_last=True).select(order)


def _ranks(grid: Grid, level: float, seed: int, replicates: int) -> pl.DataFrame:
    """Ranks, rank sets and groups of complete models; sets and groups are null when there are no two clusters."""
    schema = {
        "model": pl.String,
        "rank": pl.Int64,
        "rank_low": pl.Int64,
        "rank_high": pl.Int64,
        "rank_low_marginal": pl.Int64,
        "rank_high_marginal": pl.Int64,
        "group": pl.String,
    }
    if not grid.models or not grid.questions:
        return pl.DataFrame(schema=schema)
    means = grid.scores.mean(axis=0)
    units = grid.units
    ranks = pl.DataFrame({"model": grid.models, "rank": competition_ranks(means)})
    if units < 2:
        return pl.concat([ranks, pl.DataFrame(schema=schema)], how="diagonal")
    covariance = intervals.mean_covariance(grid.scores, clusters=grid.clusters)
    draws = _RankDraws.of(means, covariance, units - 1, seed, replicates)
    above = draws.separated(level)
    low, high = draws.marginal(level)
    return ranks.with_columns(
        *_bounds(above),
        pl.Series("rank_low_marginal", low),
        pl.Series("rank_high_marginal", high),
        pl.Series("group", tied_groups(means, above | above.T)),
    ).select(*schema)


def tied_groups(values: np.ndarray, separated: np.ndarray) -> list[str]:
    """Letters of the groups that are not told apart, from the best group on: models that share a letter are tied.

    values (k,) order the groups, separated (k, k) says which pairs are told apart. The groups are the largest sets
    without a separated pair; a model between two groups carries both letters. The order of the rows plays no part.
    Source: Piepho 2004, J. Comput. Graph. Stat. 13:456 (insert and absorb).

    >>> apart = np.array([[False, False, True], [False, False, False], [True, False, False]])
    >>> tied_groups(np.array([0.9, 0.8, 0.7]), apart)
    ['a', 'ab', 'b']
    """
    ranks = competition_ranks(values)
    groups = [frozenset(range(len(ranks)))]
    for one, other in np.argwhere(np.triu(separated)).tolist():
        split = [group for group in groups if not {one, other} <= group]
        for group in (group for group in groups if {one, other} <= group):
            split += [group - {one}, group - {other}]
        groups = [group for group in dict.fromkeys(split) if not any(group < larger for larger in split)]
    groups.sort(key=lambda group: sorted(ranks[list(group)].tolist()))
    return ["".join(_letter(at) for at, group in enumerate(groups) if model in group) for model in range(len(ranks))]


def _letter(position: int) -> str:
    """a ... z, then a2 ... z2 and so on."""
    again, letter = divmod(position, 26)
    return chr(ord("a") + letter) + (str(again + 1) if again else "")


# --- rank confidence sets ---------------------------------------------------------------------------------------------


def rank_confidence_sets(
    estimates: np.ndarray,
    covariance: np.ndarray,
    *,
    degrees: int | None = None,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = RANK_DRAWS,
) -> pl.DataFrame:
    """Confidence sets for the ranks of k means, from their full covariance, in the order given.

    estimates (k,) and covariance (k, k) of the estimates (not of single questions). Columns: rank, rank_low, rank_high
    (all k sets hold together with probability `level`), rank_low_marginal, rank_high_marginal (one model's set does).
    rank_low is one more than the number of models that are significantly better. Models that may be among the best t
    are those with rank_low <= t, again simultaneously.
    Method: for directed pairs (j, l), reject m_j <= m_l when (m_j - m_l)/se_jl exceeds the `level` quantile of the
    largest (Z_j - Z_l)/se_jl over pairs not yet rejected, Z ~ N(0, covariance); repeat until nothing is rejected. With
    `degrees` Z is multivariate t, for covariances estimated from few questions.
    Source: Mogstad, Romano, Shaikh & Wilhelm 2023, REStud 91:476, as in the R package csranks 1.2.3.
    Measured at 95 %, 14 models, 300 questions (2,000 worlds): all ranks at once are held in 99.9 % of worlds with the
    published scores, 99.5 with three groups of equal models, 94.5 when all are equal; 99.7 with 40 questions. Marginal
    sets hold in 99.9, 99.7 and 97.6 %.

    >>> sets = rank_confidence_sets(np.array([3.0, 1.0, 0.9]), np.eye(3) * 0.01)
    >>> sets.select("rank", "rank_low", "rank_high").rows()
    [(1, 1, 1), (2, 2, 3), (3, 2, 3)]
    """
    estimates = np.asarray(estimates, dtype=np.float64)
    draws = _RankDraws.of(estimates, np.asarray(covariance, dtype=np.float64), degrees, seed, replicates)
    low, high = draws.marginal(level)
    marginal = [pl.Series("rank_low_marginal", low), pl.Series("rank_high_marginal", high)]
    ranks = pl.DataFrame({"rank": competition_ranks(estimates)})
    return ranks.with_columns(*_bounds(draws.separated(level)), *marginal)


def top_sets(board: pl.DataFrame) -> pl.DataFrame:
    """For each k, the models that may be among the best k: a simultaneous set that holds all of the true best k.

    board: output of `leaderboard`. Columns: k, models (list, in the order of the board), size.
    Source: Mogstad et al. 2023, section 3.4: those whose simultaneous lower rank bound is at most k.

    >>> top_sets(pl.DataFrame({"model": ["m", "k", "j"], "rank_low": [1, 1, 3]})).rows()
    [(1, ['m', 'k'], 2), (2, ['m', 'k'], 2), (3, ['m', 'k', 'j'], 3)]
    """
    ranked = board.drop_nulls("rank_low").select("model", "rank_low")
    levels = pl.DataFrame({"k": pl.int_range(1, ranked.height + 1, eager=True)})
    pairs = levels.join(ranked, how="cross", maintain_order="left_right").filter(pl.col("rank_low") <= pl.col("k"))
    sets = pairs.group_by("k", maintain_order=True).agg(pl.col("model").alias("models"))
    return sets.with_columns(size=pl.col("models").list.len().cast(pl.Int64))


@dataclass(frozen=True)
class _RankDraws:
    """Differences of means in units of their standard error, and draws of what chance alone would make of them.

    Models are kept best first, whatever order they came in, so that the draws do not hang on their names. `gaps` (k, k)
    is row minus column, `precision` one over its standard error (0 where the difference is constant), `noise` (k, R).
    """

    order: np.ndarray
    gaps: np.ndarray
    precision: np.ndarray
    noise: np.ndarray

    @classmethod
    def of(
        cls, means: np.ndarray, covariance: np.ndarray, degrees: int | None, seed: int, replicates: int
    ) -> "_RankDraws":
        order = np.argsort(-means.round(12), kind="stable")
        means, covariance = means[order], covariance[np.ix_(order, order)]
        variances = np.diag(covariance)
        spread = variances[:, None] + variances[None, :] - 2 * covariance
        # A variance that is rounding alone belongs to a constant difference, which is told apart unless it is zero.
        errors = np.sqrt(np.where(spread > 1e-12 * variances.max(), spread, 0.0))
        differences = means[:, None] - means[None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = np.where(errors > 0, 1 / errors, 0.0)
        gaps = np.where(errors > 0, differences * precision, np.where(differences > EQUAL, np.inf, -np.inf))
        return cls(order, gaps, precision.astype(np.float32), _noise(covariance, degrees, seed, replicates))

    def separated(self, level: float) -> np.ndarray:
        """(k, k): row model significantly above column model, all pairs at once; in the order the models came in."""
        above = np.empty(self.gaps.shape, dtype=bool)
        above[np.ix_(self.order, self.order)] = self._step_down(np.ones(self.gaps.shape, dtype=bool), level)
        return above

    def marginal(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Bounds of each model's own rank set, from the pairs that it is part of alone."""
        count = len(self.gaps)
        low, high = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        for place, model in enumerate(self.order):
            own = np.zeros(self.gaps.shape, dtype=bool)
            own[place], own[:, place] = True, True
            above = self._step_down(own, level)
            low[model], high[model] = 1 + above[:, place].sum(), count - above[place].sum()
        return low, high

    def _step_down(self, family: np.ndarray, level: float) -> np.ndarray:
        """Reject directed pairs of the family against the largest draw of those left, until none is rejected."""
        above = family & np.isposinf(self.gaps)
        active = family & (self.precision > 0)
        while active.any():
            rejected = active & (self.gaps > np.quantile(self._maxima(active), level))
            if not rejected.any():
                break
            above |= rejected
            active &= ~rejected
        return above

    def _maxima(self, active: np.ndarray) -> np.ndarray:
        """The largest studentised difference over the active directed pairs, in each draw."""
        largest = np.full(self.noise.shape[1], -np.inf, dtype=np.float32)
        pairs = np.argwhere(np.triu(active | active.T)).tolist()
        for start in range(0, len(largest), _BLOCK):
            noise, best = self.noise[:, start : start + _BLOCK], largest[start : start + _BLOCK]
            for one, other in pairs:
                gap = (noise[one] - noise[other]) * self.precision[one, other]
                if active[one, other] and active[other, one]:
                    np.abs(gap, out=gap)
                elif active[other, one]:
                    np.negative(gap, out=gap)
                np.maximum(best, gap, out=best)
        return largest


def _noise(covariance: np.ndarray, degrees: int | None, seed: int, replicates: int) -> np.ndarray:
    """Draws (k, replicates) of a centred normal with the covariance, or of a multivariate t with so many degrees."""
    rng = np.random.default_rng(seed)
    values, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    noise = root.astype(np.float32) @ rng.standard_normal((len(covariance), replicates), dtype=np.float32)
    if degrees is not None:
        noise /= np.sqrt(rng.chisquare(degrees, size=replicates) / degrees).astype(np.float32)
    return noise


def _bounds(above: np.ndarray) -> list[pl.Series]:
    """Rank bounds from the directed pairs that are told apart."""
    return [pl.Series("rank_low", 1 + above.sum(axis=0)), pl.Series("rank_high", len(above) - above.sum(axis=1))]


# --- probability of each rank -----------------------------------------------------------------------------------------


def rank_probabilities(
    scores: pl.DataFrame,
    *,
    judge: str,
    variant: str,
    questions: pl.DataFrame | None = None,
    seed: int = SEED,
    replicates: int = REPLICATES,
) -> pl.DataFrame:
    """How often each complete model takes each rank when the questions are drawn again.

    Columns: model, rank, probability (over the replicates), expected_rank, n (questions). A tie is shared: m models
    tied for the ranks r .. r + m - 1 take each of them with probability 1/m, so two tied models get one half each.
    These describe the resamples; they are not confidence levels (see `rank_confidence_sets`).
    Source: bootstrap distribution of the rank, Efron & Tibshirani 1993, ch. 6; Neuhof & Benjamini 2026.

    >>> frame = pl.DataFrame({"model": ["m"] * 2 + ["k"] * 2, "judge": "j", "variant": "multimodal",
    ...                       "question_id": ["q1", "q2"] * 2, "score": [0.9, 0.8, 0.1, 0.2]})
    >>> rank_probabilities(frame, judge="j", variant="multimodal").select("model", "rank", "probability").rows()
    [('m', 1, 1.0), ('m', 2, 0.0), ('k', 1, 0.0), ('k', 2, 1.0)]
    """
    grid = score_grid(scores, judge, variant, questions)
    grid = grid.columns(grid.complete)
    kinds = {"model": pl.String, "rank": pl.Int64, "probability": pl.Float64, "expected_rank": pl.Float64}
    if not grid.models:
        return pl.DataFrame(schema={**kinds, "n": pl.Int64})
    shares = rank_distribution(intervals.resample_means(grid.scores, _weights(grid, seed, replicates)))
    listed, ranks = _board_order(grid), np.arange(1, len(grid.models) + 1)
    columns = {
        "model": [grid.models[at] for at in listed for _ in ranks],
        "rank": np.tile(ranks, len(ranks)),
        "probability": shares[listed].ravel(),
        "expected_rank": np.repeat((shares @ ranks)[listed], len(ranks)),
    }
    return pl.DataFrame(columns, schema=kinds).with_columns(n=pl.lit(len(grid.questions), pl.Int64))


def rank_distribution(means: np.ndarray) -> np.ndarray:
    """Share of draws in which each model takes each rank: means (replicates, k) -> (k models, k ranks).

    A tie of m models is shared by the m ranks that they span, 1/m each (a half each for two). Rows and columns add up
    to 1. Means within 1e-6 tie: they come from single-precision products.

    >>> rank_distribution(np.array([[0.5, 0.2], [0.3, 0.3]])).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    count = means.shape[1]
    signs = pair_signs(np.ascontiguousarray(means.T))
    ahead, tied = ahead_and_tied(signs, count)
    # Each draw adds 1/m to ranks ahead .. ahead + m - 1: a step up, a step down, and the running sum between them.
    steps = np.zeros((count, count + 1))
    for model in range(count):
        share = 1 / tied[model]
        steps[model] += np.bincount(ahead[model], weights=share, minlength=count + 1)
        steps[model] -= np.bincount(ahead[model] + tied[model], weights=share, minlength=count + 1)
    return np.cumsum(steps, axis=1)[:, :count] / means.shape[0]


def _weights(grid: Grid, seed: int, replicates: int) -> np.ndarray:
    return intervals.resample_counts(len(grid.questions), replicates=replicates, seed=seed, clusters=grid.clusters)


# --- paired differences -----------------------------------------------------------------------------------------------


def paired_differences(
    scores: pl.DataFrame,
    *,
    judge: str,
    variant: str,
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = REPLICATES,
) -> pl.DataFrame:
    """All pairs of models, each on the questions that both have a score on.

    Columns: model_a, model_b (a stands above b on the leaderboard; incomplete models last), estimate (a minus b), low,
    high (t interval of this pair), low_simultaneous, high_simultaneous (all intervals of the family hold together; null
    when the questions allow too few sign patterns), n (common questions), clusters, standard_error, p (two-sided
    sign-flip permutation), p_adjusted (step-down max-T), family (how many pairs were corrected for together), verdict
    ('ahead', 'behind', 'not told apart'; null without a test), warning, reason.
    Test: D_c the sum of a pair's differences in cluster c, one sign a cluster common to all pairs, statistic
    |sum_c D_c| / sqrt(sum_c D_c^2), which is Student's t in another scale; p = (1 + b)/(1 + B), exact when all 2^G sign
    patterns are no more than the replicates. Pairs of complete models are one family, pairs with an incomplete model
    another, so that a partial run changes no p of the others.
    Source: Miller 2024 (arXiv:2411.00640) section 4; Fisher 1935, section 21; Westfall & Young 1993.
    Measured at 95 %, 91 pairs, 150 questions (1,000 worlds): one interval holds in 94.7 %, all at once in 94.6; max-T
    tells equal models apart in 4.1 % of worlds when all are equal, in 1.2 when three groups are.

    >>> frame = pl.DataFrame({"model": ["m"] * 3 + ["k"] * 3, "judge": "j", "variant": "multimodal",
    ...                       "question_id": ["q1", "q2", "q3"] * 2, "score": [0.9, 0.8, 1.0, 0.1, 0.2, 0.0]})
    >>> row = paired_differences(frame, judge="j", variant="multimodal").row(0, named=True)
    >>> row["model_a"], round(row["estimate"], 3), row["n"], row["p"], row["verdict"]
    ('m', 0.8, 3, 0.25, 'not told apart')
    """
    grid = score_grid(scores, judge, variant, questions)
    order = _board_order(grid)
    first, second = np.triu_indices(len(order), 1)
    first, second = order[first], order[second]
    differences = grid.scores[:, first] - grid.scores[:, second]
    rows = intervals.mean_intervals(differences, clusters=grid.clusters, level=level)
    names = np.array(grid.models, dtype=object)
    rows.insert_column(0, pl.Series("model_a", names[first].tolist(), dtype=pl.String))
    rows.insert_column(1, pl.Series("model_b", names[second].tolist(), dtype=pl.String))
    apart = ~(grid.complete[first] & grid.complete[second])
    tests = _sign_flip_tests(differences, grid.clusters, apart, level, seed, replicates)
    return _judged(pl.concat([rows, tests], how="horizontal"), level)


def compare_models(
    scores: pl.DataFrame,
    model_a: str,
    model_b: str,
    *,
    judge: str,
    variant: str,
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = REPLICATES,
) -> pl.DataFrame:
    """The row of `paired_differences` for one pair, as model_a minus model_b; p_adjusted is still that of all pairs.

    Raises UnknownName for a model that the judge has no scores for.
    """
    options: dict[str, Any] = {"questions": questions, "level": level, "seed": seed, "replicates": replicates}
    pairs = paired_differences(scores, judge=judge, variant=variant, **options)
    known = sorted({*pairs["model_a"], *pairs["model_b"]})
    for name in (model_a, model_b):
        if name not in known:
            raise UnknownName(f"unknown model {name!r} under judge {judge!r}, {variant}; known: {', '.join(known)}")
    row = pairs.filter(pl.col("model_a").is_in([model_a, model_b]), pl.col("model_b").is_in([model_a, model_b]))
    return row if row["model_a"].to_list() == [model_a] else _turned(row, level)


def _turned(row: pl.DataFrame, level: float) -> pl.DataFrame:
    """The same comparison seen from the other model."""
    turned = row.with_columns(
        model_a="model_b",
        model_b="model_a",
        estimate=-pl.col("estimate"),
        low=-pl.col("high"),
        high=-pl.col("low"),
        low_simultaneous=-pl.col("high_simultaneous"),
        high_simultaneous=-pl.col("low_simultaneous"),
    )
    return _judged(turned, level)


def _board_order(grid: Grid) -> np.ndarray:
    """Positions of the models as the leaderboard lists them: complete ones first, best first, then by name."""
    means = intervals.mean_intervals(grid.scores)["estimate"].fill_null(-np.inf).to_numpy()
    return np.lexsort((np.arange(len(means)), -means.round(12), ~grid.complete))


def _sign_flip_tests(
    differences: np.ndarray,
    clusters: np.ndarray | None,
    apart: np.ndarray,
    level: float,
    seed: int,
    replicates: int,
) -> pl.DataFrame:
    """p, p_adjusted, family and simultaneous bounds for the columns of differences (n, pairs), NaN for not common."""
    scored = ~np.isnan(differences)
    sums = intervals.cluster_sums(np.where(scored, differences, 0.0), clusters)
    sizes = intervals.cluster_sums(scored.astype(np.float64), clusters)
    units = (sizes > 0).sum(axis=0)
    signs = intervals.signs_for(len(sums), replicates=replicates, seed=seed)
    observed, draws = map(np.abs, intervals.flipped_sums(sums, signs))
    observed = np.where(units > 1, observed, np.nan)
    # Tests flip the differences as they are, intervals what is left about the mean: a true difference common to many
    # pairs would make them move together more than their estimates do.
    spread = np.abs(
        intervals.flipped_sums(sums - sizes * sums.sum(axis=0) / np.maximum(sizes.sum(axis=0), 1), signs)[1]
    )
    adjusted, critical = np.full(len(units), np.nan), np.full(len(units), np.nan)
    family = np.zeros(len(units), dtype=np.int64)
    for members in (np.flatnonzero(~apart & (units > 1)), np.flatnonzero(apart & (units > 1))):
        if members.size:
            adjusted[members] = intervals.max_t(observed[members], draws[:, members])
            critical[members] = np.quantile(spread[:, members].max(axis=1), level, method="higher")
            family[members] = len(members)
    return _test_frame(intervals.permutation_p(observed, draws), adjusted, family, _as_student(critical, units))


def _as_student(statistic: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Turn |sum D| / sqrt(sum D^2) into the t that it is a scale of; NaN where no t is large enough."""
    room = units - statistic**2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(room > 1e-6, statistic * np.sqrt((units - 1) / room), np.nan)


def _test_frame(p: np.ndarray, adjusted: np.ndarray, family: np.ndarray, critical: np.ndarray) -> pl.DataFrame:
    frame = pl.DataFrame({"p": p, "p_adjusted": adjusted, "family": family, "critical": critical})
    return frame.with_columns(pl.col("p", "p_adjusted", "critical").fill_nan(None))


def _judged(rows: pl.DataFrame, level: float) -> pl.DataFrame:
    """Add simultaneous bounds and the verdict in words, and put the columns in order."""
    if "critical" in rows.columns:
        half = pl.col("critical") * pl.col("standard_error")
        rows = rows.with_columns(
            low_simultaneous=pl.col("estimate") - half, high_simultaneous=pl.col("estimate") + half
        )
    told_apart = pl.col("p_adjusted") <= 1 - level + EQUAL
    side = pl.when(pl.col("estimate") > 0).then(pl.lit("ahead")).otherwise(pl.lit("behind"))
    verdict = pl.when(told_apart).then(side).when(pl.col("p_adjusted").is_not_null()).then(pl.lit("not told apart"))
    order = ["model_a", "model_b", "estimate", "low", "high", "low_simultaneous", "high_simultaneous", "n", "clusters"]
    order += ["standard_error", "p", "p_adjusted", "family", "verdict", "warning", "reason"]
    return rows.with_columns(verdict=verdict).select(order)


# --- how many questions -----------------------------------------------------------------------------------------------


def questions_needed(
    effect: float | np.ndarray,
    between: float | np.ndarray,
    *,
    within_a: float = 0.0,
    answers_a: int = 1,
    within_b: float = 0.0,
    answers_b: int = 1,
    power: float = POWER,
    level: float = LEVEL,
) -> np.ndarray:
    """How many questions tell two models apart that truly differ by `effect`, with probability `power`.

    between: variance over questions of the paired difference of expected scores; within_a, within_b: variance of a
    single answer's score about its expectation, with answers_a, answers_b answers a question. NaN where effect is 0.
    Formula: n = (z_{(1+level)/2} + z_power)^2 (between + within_a/answers_a + within_b/answers_b) / effect^2.
    Source: Miller 2024 (arXiv:2411.00640) section 5, eq. 9.

    >>> round(float(questions_needed(0.03, 1 / 9)))
    969
    """
    variance = between + within_a / answers_a + within_b / answers_b
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = _normal_sum(power, level) ** 2 * variance / np.asarray(effect, dtype=np.float64) ** 2
    return np.where(np.asarray(effect) == 0, np.nan, needed)


def minimum_detectable_effect(
    standard_error: float | np.ndarray, *, power: float = POWER, level: float = LEVEL
) -> np.ndarray:
    """The true difference that a two-sided test at 1 - level finds with probability `power`, given its standard error.

    Formula: (z_{(1+level)/2} + z_power) * standard error. Source: Miller 2024 section 5; Bloom 1995.

    >>> round(float(minimum_detectable_effect((1 / 9 / 1813) ** 0.5)), 4)
    0.0219
    """
    return _normal_sum(power, level) * np.asarray(standard_error, dtype=np.float64)


def detectable_differences(differences: pl.DataFrame, *, power: float = POWER, level: float = LEVEL) -> pl.DataFrame:
    """What each pair could show: the smallest difference found with `power`, and the questions that its own would need.

    differences: output of `paired_differences`. Columns: model_a, model_b, estimate, n, standard_error,
    minimum_detectable_effect, questions_needed (for a true difference as large as the estimate, with the same spread),
    reason. Both take one pair on its own; correcting for many pairs needs more.
    """
    errors = differences["standard_error"].fill_null(float("nan")).to_numpy()
    spread = errors**2 * differences["n"].to_numpy()
    estimates = differences["estimate"].fill_null(float("nan")).to_numpy()
    told = np.where(np.abs(estimates) < EQUAL, 0.0, estimates)
    needed = np.ceil(questions_needed(told, spread, power=power, level=level))
    rows = differences.select("model_a", "model_b", "estimate", "n", "standard_error", "reason")
    rows = rows.with_columns(
        pl.Series("minimum_detectable_effect", minimum_detectable_effect(errors, power=power, level=level)),
        pl.Series("questions_needed", needed),
    ).with_columns(pl.col("minimum_detectable_effect", "questions_needed").fill_nan(None))
    equal = pl.when(pl.col("estimate").abs() < EQUAL).then(
        pl.lit("equal means: no number of questions tells them apart")
    )
    order = ["model_a", "model_b", "estimate", "n", "standard_error", "minimum_detectable_effect", "questions_needed"]
    return rows.select(
        *order[:-1], pl.col("questions_needed").cast(pl.Int64), pl.coalesce("reason", equal).alias("reason")
    )


def _normal_sum(power: float, level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2) + ndtri(power))
