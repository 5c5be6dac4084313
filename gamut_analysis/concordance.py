"""Whether two judges put the models in the same order, and what agreement the questions alone would leave.

Judges are compared on the same models, those that are complete under each, and the same questions. Single values come
from SciPy; vectorised forms exist for what is resampled.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from gamut_analysis import intervals
from gamut_analysis.intervals import EQUAL, LEVEL, REPLICATES, SEED, TIE
from gamut_analysis.orders import (
    Grid,
    ahead_and_tied,
    competition_ranks,
    incidence,
    order_signs,
    pair_gaps,
    pair_signs,
    score_grid,
)

PERSISTENCE = 0.9
MARGINS = (0.02, 0.05, 0.1, 2.0)  # how close two models may be; the last one takes all pairs
JUDGE_STATISTICS = (
    "kendall_tau_b",
    "spearman",
    "weighted_tau",
    "rbo",
    "discordant_pairs",
    "max_abs_gap",
    "pair_accuracy",
    "soft_pairwise_accuracy",
)
GAP_STATISTICS = ("smallest", "largest", "max_abs_gap")
COEFFICIENTS = ("pearson", "spearman", "kendall_tau_b")
_SAMPLES = ("independent", "halves")
_TESTS = ("estimate", "p", "p_models", "p_questions")


# --- two rankings of the same models ----------------------------------------------------------------------------------


def pair_counts(x: np.ndarray, y: np.ndarray) -> dict[str, int]:
    """How two series order the pairs of the same k things: concordant, discordant, tied_x, tied_y (only), tied_both.

    >>> pair_counts(np.array([3, 3, 2, 1]), np.array([4, 3, 2, 2]))
    {'concordant': 4, 'discordant': 0, 'tied_x': 1, 'tied_y': 1, 'tied_both': 0}
    """
    one, other = order_signs(x), order_signs(y)
    return {
        "concordant": int((one * other > 0).sum()),
        "discordant": int((one * other < 0).sum()),
        "tied_x": int(((one == 0) & (other != 0)).sum()),
        "tied_y": int(((one != 0) & (other == 0)).sum()),
        "tied_both": int(((one == 0) & (other == 0)).sum()),
    }


def pair_accuracy(x: np.ndarray, y: np.ndarray) -> float | None:
    """Share of pairs that two series order alike, a tie being an answer of its own; None for fewer than two things.

    Formula: acc_eq = (C + T_xy)/(C + D + T_x + T_y + T_xy). Source: Deutsch, Foster & Freitag 2023 (EMNLP), eq. 9.

    >>> round(pair_accuracy(np.array([3, 3, 2, 1]), np.array([4, 3, 2, 2])), 4)
    0.6667
    """
    if len(x) < 2:
        return None
    return float((order_signs(x) == order_signs(y)).mean())


def rank_correlations(x: np.ndarray, y: np.ndarray) -> pl.DataFrame:
    """Kendall tau-b, Spearman's rho, Vigna's weighted tau and RBO_ext of two score series over the same k models.

    Columns: statistic, estimate, p (against no association, over models; null where none exists), n (models), note
    (ties), reason. Tau and rho are those of SciPy, weighted tau has hyperbolic weights averaged over both orders, RBO
    is that of `rank_biased_overlap` with ties by variant b. A constant series leaves all four undefined.
    Source: Kendall 1945; Spearman 1904; Vigna 2015 (WWW); Webber, Moffat & Zobel 2010; Corsi & Urbano 2024.

    >>> rank_correlations(np.array([0.6, 0.6, 0.45, 0.3, 0.3]), np.array([0.66, 0.61, 0.5, 0.38, 0.35])).select(
    ...     "statistic", pl.col("estimate").round(4), pl.col("p").round(4), "note").row(0)
    ('kendall_tau_b', 0.8944, 0.0367, 'ties present')
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    values = _scipy_correlations(x, y) | {"rbo": (_rbo_of_scores(x, y), None)}
    counts = pair_counts(x, y)
    tied = counts["tied_x"] + counts["tied_y"] + counts["tied_both"]
    rows = [
        {
            "statistic": name,
            "estimate": estimate,
            "p": p if len(x) > 2 else None,
            "n": len(x),
            "note": "ties present" if tied else None,
            "reason": _correlation_reason(x, y) if estimate is None else _no_p_reason(name, len(x)),
        }
        for name, (estimate, p) in values.items()
    ]
    kinds = {"statistic": pl.String, "estimate": pl.Float64, "p": pl.Float64, "n": pl.Int64, "note": pl.String}
    return pl.DataFrame(rows, schema={**kinds, "reason": pl.String})


def _scipy_correlations(x: np.ndarray, y: np.ndarray) -> dict[str, tuple[float | None, float | None]]:
    """Estimate and p of the three SciPy correlations; None where they are undefined."""
    from scipy import stats

    names = ("kendall_tau_b", "spearman", "weighted_tau")
    if _correlation_reason(x, y):
        return dict.fromkeys(names, (None, None))
    # Ranks in place of scores: all three see nothing else, and ties are then exact.
    one, other = -competition_ranks(x), -competition_ranks(y)
    tau, rho = stats.kendalltau(one, other), stats.spearmanr(one, other)
    weighted = stats.weightedtau(one, other)
    values = ((tau.statistic, tau.pvalue), (rho.statistic, rho.pvalue), (weighted.statistic, None))
    return {name: (float(e), None if p is None else float(p)) for name, (e, p) in zip(names, values, strict=True)}


def _correlation_reason(x: np.ndarray, y: np.ndarray) -> str | None:
    if len(x) < 2:
        return "fewer than two models"
    if not order_signs(x).any() or not order_signs(y).any():
        return "all scores on one side are equal"
    return None


def _no_p_reason(name: str, n: int) -> str | None:
    if name in ("weighted_tau", "rbo"):
        return "no p: its distribution without association is not known"
    return "two models: no p" if n == 2 else None


def rank_biased_overlap(
    first: Sequence[Any], second: Sequence[Any], *, p: float = PERSISTENCE
) -> dict[str, float | None]:
    """Rank-biased overlap of two lists without ties, of any length: ext, truncated and truncated_normalised.

    first, second: things, best first; p: persistence in (0, 1), the weight of a rank over the one before it. ext
    extrapolates the agreement to endless lists and is 1 for equal ones; truncated sums to the shorter length alone and
    stays below 1 even then. RBO has no chance level, and its floor for a reversed complete list is above 0.
    Source: Webber, Moffat & Zobel 2010, ACM TOIS 28:4, eq. 23 and 32. Raises ValueError for a p outside (0, 1).

    >>> round(rank_biased_overlap([1, 2, 3, 4, 5], [2, 3, 4, 1, 5])["ext"], 6)
    0.828
    """
    if not 0 < p < 1:
        raise ValueError(f"p is {p}; it must lie between 0 and 1")
    short, long = sorted((list(first), list(second)), key=len)
    if not short:
        return {"ext": None, "truncated": None, "truncated_normalised": None}
    depth = np.arange(1, len(long) + 1)
    place = {thing: at for at, thing in enumerate(long, start=1)}
    met = [max(at, place[thing]) for at, thing in enumerate(short, start=1) if thing in place]
    overlap = np.cumsum(np.bincount(np.array(met, dtype=np.intp), minlength=len(long) + 1)[1:])
    seen, weight = len(short), p**depth
    truncated = (1 - p) / p * (overlap / depth * weight)[:seen].sum()
    beyond = depth[seen:]
    guessed = overlap[seen - 1] * (beyond - seen) / (seen * beyond) * weight[seen:]
    body = (1 - p) / p * ((overlap / depth * weight).sum() + guessed.sum())
    tail = ((overlap[-1] - overlap[seen - 1]) / len(long) + overlap[seen - 1] / seen) * p ** len(long)
    return {
        "ext": float(body + tail),
        "truncated": float(truncated),
        "truncated_normalised": float(truncated / (1 - p**seen)),
    }


def kendall_w(ratings: np.ndarray) -> dict[str, float | int | str | None]:
    """Kendall's coefficient of concordance of m judges over n subjects, corrected for ties.

    ratings (n subjects, m judges). Returns estimate, chi2, p (n - 1 degrees of freedom), n, judges, reason.
    Formula: W = 12 S / (m^2 (n^3 - n) - m sum_j T_j), S the spread of the rank sums, T_j = sum (t^3 - t) over ties.
    Source: Kendall & Babington Smith 1939; Siegel & Castellan 1988, section 9.6.

    >>> kendall_w(np.array([[1, 1], [2, 2], [3, 3]]))["estimate"]
    1.0
    """
    from scipy import stats

    ratings = np.asarray(ratings, dtype=np.float64)
    n, judges = ratings.shape
    ranks = stats.rankdata(ratings, axis=0)
    spread = ((ranks.sum(axis=1) - ranks.sum(axis=1).mean()) ** 2).sum()
    # The sum of squared ranks falls by (t^3 - t)/12 for each tie of t.
    ties = n**3 - n - 12 * ((ranks - (n + 1) / 2) ** 2).sum(axis=0)
    room = judges**2 * (n**3 - n) - judges * ties.sum()
    if n < 2 or room <= EQUAL:
        return {"estimate": None, "chi2": None, "p": None, "n": n, "judges": judges, "reason": "every judge ties all"}
    concordance = float(12 * spread / room)
    chi2 = judges * (n - 1) * concordance
    p = float(stats.chi2.sf(chi2, n - 1))
    return {"estimate": concordance, "chi2": chi2, "p": p, "n": n, "judges": judges, "reason": None}


# --- rankings of resampled means, vectorised over the draws -----------------------------------------------------------
# Means come as (k models, draws), pair signs as (pairs, draws): whole rows are then worked on at once.


def _normalised_product(one: np.ndarray, other: np.ndarray, weights: np.ndarray | float = 1.0) -> np.ndarray:
    """Weighted cosine of the columns of two matrices; NaN where one of them is zero."""
    left = one * weights
    product, first, second = (
        sums.sum(axis=0, dtype=np.float64) for sums in (left * other, left * one, other * other * weights)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        return product / np.sqrt(first * second)


def _tau_b(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Kendall's tau-b of each draw, from the pair signs of both sides."""
    return _normalised_product(one, other)


def _spearman(one: np.ndarray, other: np.ndarray, models: int) -> np.ndarray:
    """Spearman's rho of each draw: twice a mid-rank about its centre is the balance of a model's pairs."""
    signed = incidence(models)
    return _normalised_product(signed @ one, signed @ other)


def _weighted_tau(one: np.ndarray, other: np.ndarray, models: int) -> np.ndarray:
    """Vigna's tau of each draw: hyperbolic weights by the order of one side, ties broken by the other, and averaged."""
    taus = []
    for leading, breaking in ((one, other), (other, one)):
        ahead, tied = ahead_and_tied(np.where(leading == 0, breaking, leading), models)
        # Models tied on both sides share the mean of the weights 1/(rank + 1) that they span.
        harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, models + 1))])
        weight = (harmonic[ahead + tied] - harmonic[ahead]) / tied
        taus.append(_normalised_product(one, other, np.abs(incidence(models)).T @ weight))
    return (taus[0] + taus[1]) / 2


def _rbo(one: np.ndarray, other: np.ndarray, models: int) -> np.ndarray:
    """RBO_ext of two complete rankings in each draw; draws with ties by variant b of Corsi & Urbano 2024."""
    places = [ahead_and_tied(signs, models) for signs in (one, other)]
    depth = np.arange(1, models + 1)
    weight = (1 - PERSISTENCE) * PERSISTENCE ** (depth - 1)
    # A model joins the overlap at the deeper of its two ranks, and counts 1/d at every depth from there on.
    gain = np.cumsum((weight / depth)[::-1])[::-1]
    values = gain[np.maximum(places[0][0], places[1][0])].sum(axis=0)
    ties = np.flatnonzero((places[0][1] > 1).any(axis=0) | (places[1][1] > 1).any(axis=0))
    if ties.size:
        inside = [_inside(ahead[:, ties], tied[:, ties], depth) for ahead, tied in places]
        agreement = _normalised_product(inside[0].swapaxes(0, 1), inside[1].swapaxes(0, 1))
        values[ties] = weight @ agreement
    return values + PERSISTENCE**models


def _inside(ahead: np.ndarray, tied: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """(depths, models, draws): the chance that a model is among the first d when ties are broken at random."""
    return np.clip((depth[:, None, None] - ahead) / tied, 0.0, 1.0)


def _rbo_of_scores(x: np.ndarray, y: np.ndarray) -> float | None:
    if _correlation_reason(x, y):
        return None
    return float(_rbo(order_signs(x)[:, None], order_signs(y)[:, None], len(x))[0])


# --- two judges -------------------------------------------------------------------------------------------------------


def common_questions(scores: pl.DataFrame, *, variant: str) -> pl.DataFrame:
    """The scores of one variant on those questions alone that every model has a score on, under every judge.

    Returns rows of `scores`; none when no question is common to all.

    >>> frame = pl.DataFrame({"model": ["m", "m", "k"], "judge": "j", "variant": "multimodal",
    ...                       "question_id": ["q1", "q2", "q1"], "score": [0.5, 1.0, 0.2]})
    >>> common_questions(frame, variant="multimodal")["question_id"].to_list()
    ['q1', 'q1']
    """
    chosen = scores.filter(pl.col("variant").cast(pl.String) == variant)
    cells = chosen.select("model", "judge").n_unique()
    scored = (
        chosen.drop_nulls("score").group_by("question_id").agg(pl.struct("model", "judge").n_unique().alias("cells"))
    )
    common = scored.filter(pl.col("cells") == cells)
    return chosen.join(common, on="question_id", how="semi", maintain_order="left")


@dataclass(frozen=True)
class _Panel:
    """Scores (questions, models) of several judges on the same models and questions, all scored."""

    models: list[str]
    questions: list[str]
    scores: list[np.ndarray]
    clusters: np.ndarray | None

    @property
    def units(self) -> int:
        """How many clusters the questions fall into."""
        return intervals.cluster_codes(len(self.questions), self.clusters)[1]

    @property
    def reason(self) -> str | None:
        if len(self.models) < 2:
            return "fewer than two models are complete under every judge; see common_questions"
        return None if self.questions else "no question is scored by every judge"


def _panel(grids: Sequence[Grid], questions: pl.DataFrame | None) -> _Panel:
    """What several judges have in common: models complete under each, questions that each scored for all of them."""
    complete = [{model for model, whole in zip(grid.models, grid.complete, strict=True) if whole} for grid in grids]
    models = sorted(set.intersection(*complete))
    parts = [grid.columns(np.isin(grid.models, models)) for grid in grids]
    common = sorted(set.intersection(*(set(part.questions) for part in parts))) if models else []
    matrices = [part.scores[np.isin(part.questions, common)] for part in parts]
    return _Panel(models, common, matrices, intervals.clusters_of(questions, common))


def judge_rankings(
    scores: pl.DataFrame,
    *,
    variant: str,
    judges: Sequence[str] | None = None,
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = REPLICATES,
) -> pl.DataFrame:
    """How far two judges rank the models alike: eight statistics for every pair of judges, with intervals.

    Columns: judge_a, judge_b, statistic, estimate, low, high, n (questions that both judges scored for all models),
    models, warning, reason. Models that are not complete under both judges are left out; see `common_questions`.
    Statistics: kendall_tau_b (primary), spearman, weighted_tau, rbo (see `rank_correlations`); discordant_pairs and
    max_abs_gap (largest difference of a model's two means, which tau = 1 can hide); pair_accuracy (share of pairs with
    the same answer, a tie being a difference within the t interval at `level`); soft_pairwise_accuracy.
    Intervals come from one resample of questions for both judges; the standard errors behind a tie or a soft p are
    those of the full sample. Agreement on these models is estimated, not on models at large.
    - tau, rho, weighted tau, rbo, discordant_pairs: percentile. Noise makes two rankings less alike, in every resample
      once more, so percentiles alone would shut out full agreement where it is true (of tau = 1 they covered 88 % at
      300 questions and 0 % at 60); they are carried to the bound unless some pair is shown to be discordant, each
      judge's difference lying beyond its t interval on opposite sides.
    - max_abs_gap: from intervals of all models' gaps at once. The two accuracies depend on how many questions there
      are: theirs are normal intervals for what is to be expected of that many.
    Measured at 95 %, 300 questions, judges that lean for single models by 0, 2 and 5 points, one standard deviation
    (1,000 worlds each): tau 100, 99.5, 97.2; rho 100, 99.9, 96.9; weighted tau 100, 98.3, 94.5; rbo 100, 97.9, 95.6;
    max_abs_gap 94.5, 99.8, 99.6. At 0 and 2 points pair accuracy 98.4, 94.8, soft accuracy 98.9, 95.8.
    Source: statistics named in `rank_correlations`, `pair_accuracy`, `soft_pairwise_accuracy`.
    """
    present = scores.filter(pl.col("variant").cast(pl.String) == variant)["judge"].cast(pl.String)
    chosen = list(judges) if judges is not None else sorted(present.unique().to_list())
    grids = {judge: score_grid(scores, judge, variant, questions) for judge in chosen}
    shared = _Shared(seed, replicates)
    frames = [_named(_statistic_rows({}, {}, _Panel([], [], [], None)), "", "")]
    for one, other in combinations(chosen, 2):
        rows = _judge_pair(_panel([grids[one], grids[other]], questions), shared, level)
        frames.append(_named(rows, one, other))
    return pl.concat(frames)


def gap_extremes(
    scores: pl.DataFrame,
    *,
    variant: str,
    judge: str,
    reference: str,
    models: Sequence[str] | None = None,
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = REPLICATES,
) -> pl.DataFrame:
    """How far one judge scores models above another at the least and at the most, on the same questions.

    models: those to look at, all by default. Three rows, statistic: smallest and largest (of the judge's mean minus the
    reference's) and max_abs_gap, as in `judge_rankings`; estimate, low, high, n, models, warning, reason.
    The ends are the smallest and largest ends of intervals that hold for all these models at once (studentised, from
    one resample of questions for both judges): an extreme of noisy gaps lies further out than that of the true ones, so
    percentiles of resampled extremes would lie further out still. Measured at 95 %, 300 questions, judges that lean for
    single models by 0, 2 and 5 points (1,000 worlds each): smallest 97.6, 99.8, 99.5; largest 97.0, 99.6, 99.6.

    >>> scores = pl.DataFrame({"model": ["m", "k"] * 4, "judge": ["a"] * 4 + ["b"] * 4, "variant": "multimodal",
    ...     "question_id": ["q1", "q1", "q2", "q2"] * 2, "score": [0.5, 0.4, 0.7, 0.2, 0.4, 0.5, 0.4, 0.5]})
    >>> found = gap_extremes(scores, variant="multimodal", judge="a", reference="b")
    >>> found.select("statistic", pl.col("estimate").round(3)).rows()
    [('smallest', -0.2), ('largest', 0.2), ('max_abs_gap', 0.2)]
    """
    panel = _panel([score_grid(scores, name, variant, questions) for name in (judge, reference)], questions)
    return _gap_extremes(panel, panel.models if models is None else models, _Shared(seed, replicates), level)


def _gap_extremes(panel: _Panel, models: Sequence[str], shared: "_Shared", level: float) -> pl.DataFrame:
    """The extremes of the gaps of two judges on some of the models of a panel, as rows."""
    looked_at = np.isin(panel.models, list(models))
    if panel.reason or not looked_at.any():
        nothing = pl.coalesce(pl.lit(panel.reason, pl.String), pl.lit("none of these models is complete under both"))
        return _statistic_rows(dict.fromkeys(GAP_STATISTICS), {}, panel).with_columns(reason=nothing)
    one, other = (matrix.mean(axis=0)[looked_at] for matrix in panel.scores)
    means = _resampled(panel, shared)
    gaps, draws = one - other, (means[0] - means[1])[looked_at]
    reach = _simultaneous_reach(gaps, draws, level)
    low, high = gaps - reach, gaps + reach
    estimates = (float(gaps.min()), float(gaps.max()), float(np.abs(gaps).max()))
    bounds = ((low.min(), high.min()), (low.max(), high.max()), _largest_gap_bounds(gaps, draws, level))
    named = dict(zip(GAP_STATISTICS, estimates, strict=True))
    return _statistic_rows(named, dict(zip(GAP_STATISTICS, bounds, strict=True)), panel)


def _named(rows: pl.DataFrame, judge_a: str, judge_b: str) -> pl.DataFrame:
    return rows.select(pl.lit(judge_a).alias("judge_a"), pl.lit(judge_b).alias("judge_b"), pl.all())


@dataclass
class _Shared:
    """Resample counts and signs of the last panel: panels with as many questions and the same clusters share them."""

    seed: int
    replicates: int
    key: Any = None
    counts: np.ndarray | None = None
    flips: np.ndarray | None = None

    def _renew(self, panel: "_Panel") -> None:
        codes, units = intervals.cluster_codes(len(panel.questions), panel.clusters)
        key = (units, codes.tobytes())
        if key != self.key:
            self.key, self.counts, self.flips = key, None, None

    def weights(self, panel: "_Panel") -> np.ndarray:
        self._renew(panel)
        if self.counts is None:
            self.counts = intervals.resample_counts(
                len(panel.questions), replicates=self.replicates, seed=self.seed, clusters=panel.clusters
            )
        return self.counts

    def signs(self, panel: "_Panel") -> np.ndarray:
        """Signs of whole clusters, in the order of `intervals.cluster_sums`."""
        self._renew(panel)
        if self.flips is None:
            self.flips = intervals.signs_for(panel.units, replicates=self.replicates, seed=self.seed)
        return self.flips


@dataclass(frozen=True)
class _Side:
    """One judge's means, and for each pair of models the standard error of the gap and how large a tie may be."""

    means: np.ndarray
    errors: np.ndarray
    limits: np.ndarray

    @classmethod
    def of(cls, matrix: np.ndarray, clusters: np.ndarray | None, level: float) -> "_Side":
        first, second = np.triu_indices(matrix.shape[1], 1)
        rows = intervals.mean_intervals(matrix[:, first] - matrix[:, second], clusters=clusters, level=level)
        errors = rows["standard_error"].fill_null(float("nan")).to_numpy()
        half = (rows["high"] - rows["estimate"]).fill_null(float("inf")).to_numpy()
        return cls(matrix.mean(axis=0), errors[:, None], np.maximum(half, TIE)[:, None])


def _judge_pair(panel: _Panel, shared: _Shared, level: float) -> pl.DataFrame:
    """The eight statistics of one pair of judges, as rows."""
    if panel.reason:
        return _statistic_rows(dict.fromkeys(JUDGE_STATISTICS), {}, panel)
    sides = [_Side.of(matrix, panel.clusters, level) for matrix in panel.scores]
    whole = _judge_statistics(sides, [side.means[:, None] for side in sides])
    estimates = {name: _number(values[0]) for name, values in whole.items()}
    single = _scipy_correlations(sides[0].means, sides[1].means)
    estimates |= {name: estimate for name, (estimate, _) in single.items()}
    p = (_one_sided_p(matrix, shared.signs(panel), panel.clusters) for matrix in panel.scores)
    estimates["soft_pairwise_accuracy"] = _soft_accuracy(*p).item()
    if panel.units < 2:
        estimates |= {"pair_accuracy": None, "soft_pairwise_accuracy": None}
    means = _resampled(panel, shared)
    draws = _judge_statistics(sides, means)
    bounds = _percentile_bounds(estimates, draws, level)
    if not _shown_discordant(sides):
        bounds |= {name: (bounds[name][0], 1.0) for name in JUDGE_STATISTICS[:4]}
        bounds["discordant_pairs"] = 0.0, bounds["discordant_pairs"][1]
    bounds["max_abs_gap"] = _largest_gap_bounds(sides[0].means - sides[1].means, means[0] - means[1], level)
    for name in ("pair_accuracy", "soft_pairwise_accuracy"):
        bounds[name] = _normal_bounds(estimates[name], draws[name], level)
    return _statistic_rows(estimates, bounds, panel)


def _shown_discordant(sides: Sequence[_Side]) -> bool:
    """Whether the two judges order any pair of models oppositely, each beyond the t interval of its difference."""
    one, other = (pair_signs(side.means[:, None], side.limits) for side in sides)
    return bool((one * other < 0).any())


def _resampled(panel: _Panel, shared: _Shared) -> list[np.ndarray]:
    """Means (models, draws) of each judge of the panel, from the same resamples."""
    weights = shared.weights(panel)
    return [np.ascontiguousarray(intervals.resample_means(matrix, weights).T) for matrix in panel.scores]


def _judge_statistics(sides: Sequence[_Side], means: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """The eight statistics in each draw of the means (models, draws) of two judges."""
    models = len(means[0])
    one, other = (pair_signs(side) for side in means)
    verdicts = [pair_signs(drawn, side.limits) for side, drawn in zip(sides, means, strict=True)]
    soft = [_normal_p(drawn, side.errors) for side, drawn in zip(sides, means, strict=True)]
    values = (
        *_order_statistics(one, other, models),
        (one * other < 0).sum(axis=0).astype(np.float64),
        np.abs(means[0] - means[1]).max(axis=0),
        (verdicts[0] == verdicts[1]).mean(axis=0),
        _soft_accuracy(*soft),
    )
    return dict(zip(JUDGE_STATISTICS, values, strict=True))


def _order_statistics(one: np.ndarray, other: np.ndarray, models: int) -> tuple[np.ndarray, ...]:
    """Tau-b, rho, weighted tau and RBO of each draw, from the pair signs of both sides."""
    return (
        _tau_b(one, other),
        _spearman(one, other, models),
        _weighted_tau(one, other, models),
        _rbo(one, other, models),
    )


def _percentile_bounds(
    estimates: Mapping[str, float | None], draws: Mapping[str, np.ndarray], level: float
) -> dict[str, tuple[Any, Any]]:
    """Percentile intervals, widened where they would leave out their own estimate, as they can near a bound."""
    bounds = {}
    for name, drawn in draws.items():
        low, high = intervals.percentile_interval(drawn, level=level)
        estimate = estimates[name]
        known = np.nan if estimate is None else estimate
        bounds[name] = np.fmin(low, known), np.fmax(high, known)
    return bounds


def _largest_gap_bounds(gaps: np.ndarray, draws: np.ndarray, level: float) -> tuple[float, float]:
    """Bounds of the largest absolute gap, from intervals that hold for all models at once; never too narrow at 0."""
    reach = _simultaneous_reach(gaps, draws, level)
    return max(float((np.abs(gaps) - reach).max()), 0.0), float((np.abs(gaps) + reach).max())


def _simultaneous_reach(gaps: np.ndarray, draws: np.ndarray, level: float) -> np.ndarray:
    """How far intervals that hold for all models at once reach about their gaps (models,), draws (models, draws)."""
    errors = draws.std(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        studentised = np.nan_to_num(np.abs(draws - gaps[:, None]) / errors[:, None])
    return np.quantile(studentised.max(axis=0), level) * errors


def _normal_bounds(estimate: float | None, draws: np.ndarray, level: float) -> tuple[float, float]:
    """Normal interval of a share from the spread of its draws."""
    from scipy.special import ndtri

    if estimate is None:
        return np.nan, np.nan
    reach = float(ndtri((1 + level) / 2) * draws.std(ddof=1))
    return max(estimate - reach, 0.0), min(estimate + reach, 1.0)


def _statistic_rows(
    estimates: Mapping[str, float | None], bounds: Mapping[str, tuple[Any, Any]], panel: _Panel
) -> pl.DataFrame:
    """Rows statistic, estimate, low, high, n, models, warning, reason."""
    single = panel.reason or intervals.no_interval_reason(len(panel.questions), panel.units)
    rows = []
    for name, estimate in estimates.items():
        low, high = (None, None) if estimate is None or single else map(_number, bounds[name])
        rows.append({"statistic": name, "estimate": estimate, "low": low, "high": high})
    kinds = {"statistic": pl.String, "estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    undefined = pl.when(pl.col("estimate").is_null()).then(pl.lit("all means of one judge are equal"))
    least = pl.col("statistic").is_in(["discordant_pairs", "max_abs_gap"])
    most = pl.col("statistic").is_in(JUDGE_STATISTICS) & least.not_()
    ends = (least & (pl.col("low") < TIE)) | (most & (pl.col("high") > 1 - TIE))
    bound = pl.when(ends).then(pl.lit("full agreement is not excluded: the interval is one-sided"))
    few = pl.lit(intervals.few_clusters_warning(panel.units), pl.String)
    warning = pl.concat_str(bound, few, separator="; ", ignore_nulls=True)
    return pl.DataFrame(rows, schema=kinds).with_columns(
        n=pl.lit(len(panel.questions), pl.Int64),
        models=pl.lit(len(panel.models), pl.Int64),
        warning=pl.when(warning != "").then(warning),
        reason=pl.coalesce(pl.lit(single, pl.String), undefined),
    )


def _number(value: float | np.ndarray) -> float | None:
    return None if np.isnan(value) else float(value)


# --- soft pairwise accuracy -------------------------------------------------------------------------------------------


def soft_pairwise_accuracy(
    a: np.ndarray, b: np.ndarray, *, clusters: intervals.Clusters = None, seed: int = SEED, replicates: int = REPLICATES
) -> float | None:
    """How alike two judges are in how sure they are about each pair of models; None for fewer than two models.

    a, b (n questions, k models): all scores of two judges on the same questions. 1 is full agreement.
    Formula: 1 - mean over pairs |p_a - p_b|, p the one-sided sign-flip p that the first model is not better, the same
    signs for both judges. Exactly equal models have p = 1 under either order.
    Source: Thompson, Mathur, Deutsch & Khayrallah 2024 (arXiv:2409.09598), eq. 3.

    >>> scores = np.array([[0.8, 0.2], [0.9, 0.3], [0.7, 0.1]])
    >>> soft_pairwise_accuracy(scores, scores[:, ::-1])
    0.125
    """
    if a.shape[1] < 2 or not len(a):
        return None
    units = intervals.cluster_codes(len(a), clusters)[1]
    signs = intervals.signs_for(units, replicates=replicates, seed=seed)
    return _soft_accuracy(*(_one_sided_p(matrix, signs, clusters) for matrix in (a, b))).item()


def _one_sided_p(matrix: np.ndarray, signs: np.ndarray, clusters: intervals.Clusters) -> np.ndarray:
    """(pairs, 1): p that the first model of each pair is not better, by flipping the signs of whole clusters."""
    first, second = np.triu_indices(matrix.shape[1], 1)
    observed, draws = intervals.flipped_sums(
        intervals.cluster_sums(matrix[:, first] - matrix[:, second], clusters), signs
    )
    return intervals.permutation_p(observed, draws)[:, None]


def _normal_p(means: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """The same p by the normal distribution, for draws: (pairs, draws); 1 where two models are always equal."""
    from scipy.special import ndtr

    gaps = pair_gaps(means)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((errors <= TIE) & (np.abs(gaps) <= TIE), 1.0, ndtr(-gaps / errors))


def _soft_accuracy(p_a: np.ndarray, p_b: np.ndarray) -> np.ndarray:
    return 1 - np.abs(p_a - p_b).mean(axis=0)


# --- pairs of models that lie close -----------------------------------------------------------------------------------


def close_pair_agreement(
    scores: pl.DataFrame,
    *,
    variant: str,
    judge: str,
    margins: Sequence[float] = MARGINS,
    questions: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Whether other judges keep the order of the pairs of models that one judge puts close together.

    margins: in score units; a pair is close when the judge's two means differ by no more, so 2 takes all pairs. A row
    an other judge and margin: judge, margin, same (pairs in the same order), pairs, estimate (their share), ceiling
    (the share that two samples of questions under the judge itself would agree on), n (questions), reason (why there
    is no estimate). Pairs share models and say nothing of each other's models, so the share has no interval.
    Formula: ceiling = mean over the pairs of P^2 + (1 - P)^2 with P = Phi(gap / standard error); the observed gap is
    taken for the true one, which makes it a little too high.
    """
    present = sorted(scores.filter(pl.col("variant").cast(pl.String) == variant)["judge"].cast(pl.String).unique())
    grids = {name: score_grid(scores, name, variant, questions) for name in present}
    rows: list[dict[str, Any]] = []
    for other in (name for name in present if name != judge):
        panel = _panel([grids[judge], grids[other]], questions)
        found = _kept_orders(panel, margins) if not panel.reason else [{"margin": margin} for margin in margins]
        rows += [{"judge": other, **row, "n": len(panel.questions), "reason": panel.reason} for row in found]
    whole = {"judge": pl.String, "margin": pl.Float64, "same": pl.Int64, "pairs": pl.Int64}
    kinds = whole | {"estimate": pl.Float64, "ceiling": pl.Float64, "n": pl.Int64, "reason": pl.String}
    none = pl.when(pl.col("pairs") == 0).then(pl.lit("no two models lie so close"))
    return pl.DataFrame(rows, schema=kinds).with_columns(reason=pl.coalesce("reason", none))


def _kept_orders(panel: _Panel, margins: Sequence[float]) -> list[dict[str, Any]]:
    """Pairs in the same order under both judges of a panel, among those that the first puts within each margin."""
    first, second = (_Side.of(matrix, panel.clusters, LEVEL) for matrix in panel.scores)
    same = (pair_signs(first.means[:, None]) == pair_signs(second.means[:, None]))[:, 0]
    ahead = 1 - _normal_p(first.means[:, None], first.errors)[:, 0]
    again = ahead**2 + (1 - ahead) ** 2
    gaps = np.abs(pair_gaps(first.means[:, None]))[:, 0]
    rows = []
    for margin in margins:
        close = gaps <= margin + TIE
        share = {"estimate": float(same[close].mean()), "ceiling": float(again[close].mean())} if close.any() else {}
        rows.append({"margin": margin, "same": int(same[close].sum()), "pairs": int(close.sum())} | share)
    return rows


# --- noise ceiling ----------------------------------------------------------------------------------------------------


def noise_ceiling(
    scores: pl.DataFrame,
    *,
    judge: str,
    variant: str,
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = REPLICATES,
) -> pl.DataFrame:
    """How alike two rankings by one judge are when only the questions differ: no second judge need do better.

    Columns: judge, sample, statistic (kendall_tau_b, spearman, weighted_tau, rbo), estimate (mean over pairs of
    samples), low, high (the range of `level` of such pairs), n (questions), models, warning, reason. sample:
    'independent', two bootstrap samples of n questions each; 'halves', the questions dealt into two disjoint halves.
    Two judges who rank the same questions share their noise, so a tau above the ceiling is no sign of a better judge.
    Source: split-half reliability, Spearman 1910; the ceiling is this project's reading of it for rankings.
    """
    panel = _panel([score_grid(scores, judge, variant, questions)], questions)
    if panel.reason:
        rows = [_statistic_rows(dict.fromkeys(JUDGE_STATISTICS[:4]), {}, panel)] * len(_SAMPLES)
    else:
        rows = [_ceiling_rows(*means, panel, level) for means in _two_samples(panel, seed, replicates // 2)]
    labels = (pl.lit(judge).alias("judge"), pl.lit("").alias("sample"))
    return pl.concat(
        part.select(*labels, pl.all()).with_columns(sample=pl.lit(sample))
        for sample, part in zip(_SAMPLES, rows, strict=True)
    )


def _two_samples(panel: _Panel, seed: int, pairs: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Means (models, pairs) of two samples of questions under one judge, for each way of taking them."""
    means = _resampled(panel, _Shared(seed, 2 * pairs))[0]
    yield means[:, :pairs], means[:, pairs:]
    matrix = panel.scores[0]
    heads = intervals.sign_flips(len(matrix), replicates=pairs, seed=seed, clusters=panel.clusters) > 0
    halves = (intervals.resample_means(matrix, half.astype(np.float32)).T for half in (heads, ~heads))
    yield next(halves), next(halves)


def _ceiling_rows(one: np.ndarray, other: np.ndarray, panel: _Panel, level: float) -> pl.DataFrame:
    signs = [pair_signs(np.ascontiguousarray(side)) for side in (one, other)]
    draws = dict(zip(JUDGE_STATISTICS[:4], _order_statistics(signs[0], signs[1], len(panel.models)), strict=True))
    means = {name: _number(np.nanmean(drawn)) if np.isfinite(drawn).any() else None for name, drawn in draws.items()}
    return _statistic_rows(means, _percentile_bounds(means, draws, level), panel)


# --- two judges against a reference -----------------------------------------------------------------------------------


def perm_both(
    x: np.ndarray,
    y: np.ndarray,
    z: np.ndarray,
    *,
    coefficient: str = "pearson",
    clusters: intervals.Clusters = None,
    seed: int = SEED,
    replicates: int = REPLICATES,
) -> dict[str, float | None]:
    """Is judge x closer to the reference z than judge y is? Permutation test of r(x, z) - r(y, z) over model means.

    x, y, z (n questions, k models), all scored; x and y are standardised first. coefficient: one of COEFFICIENTS.
    Returns estimate and three two-sided p: p_models (PERM-SYSTEMS: all scores of a model swapped between x and y),
    p_questions (PERM-INPUTS: all scores of a question) and p (PERM-BOTH: a score is swapped when its model or its
    question is, but not both). Exact when the patterns are no more than the replicates. With 14 models power is low: a
    large p is no sign of equal judges.
    PERM-BOTH asks whether single scores could be swapped, so lasting leanings of a judge for some models count as a
    difference; p_models asks whether the judges would differ on other models. Measured at 5 %, 80 questions (4,000
    worlds): PERM-BOTH finds a difference in 5.9 % (pearson), 4.4 (spearman), 3.7 (tau) when scores can be swapped, and
    in about 42 when two judges of one kind lean by 8 points for models of their own, where p_models stays at 4.6.
    Source: Deutsch, Dror & Roth 2021 (TACL 9:1132), section 4.
    Raises ValueError for an unknown coefficient.

    >>> z = np.array([[1.0, 0.5, 0.2, 0.0], [0.8, 0.6, 0.1, 0.1]])
    >>> perm_both(z, z, z)["p"]
    1.0
    """
    if coefficient not in COEFFICIENTS:
        raise ValueError(f"coefficient is {coefficient!r}; it must be one of {', '.join(COEFFICIENTS)}")
    # Best models first, so that no random sign hangs on the order that they came in.
    order = np.argsort(-z.mean(axis=0).round(12), kind="stable")
    x, y = (_standardised(scores)[:, order] for scores in (x, y))
    reference = z.mean(axis=0)[order, None]
    half = intervals.cluster_sums((x - y) / 2, clusters) / len(x)
    middle = (x.mean(axis=0) + y.mean(axis=0))[:, None] / 2
    estimate = _reference_gap(middle, half.sum(axis=0)[:, None], reference, coefficient)[0]
    p = {}
    units, models = half.shape
    for name, (rows, columns) in _swaps(models, units, seed, replicates).items():
        swapped = rows.T * (half.T.astype(np.float32) @ columns.T)
        gaps = _reference_gap(middle, swapped, reference, coefficient)
        p[name] = _number(intervals.permutation_p(np.abs(estimate), np.abs(gaps)))
    return {"estimate": _number(estimate), **p}


def _standardised(scores: np.ndarray) -> np.ndarray:
    spread = scores.std()
    return (scores - scores.mean()) / (spread if spread > 0 else 1.0)


def _swaps(models: int, units: int, seed: int, replicates: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Signs of models and of question clusters for each kind of swap: a cell is swapped where their product is -1."""
    rows = intervals.signs_for(models, replicates=replicates, seed=seed + 1)
    columns = intervals.signs_for(units, replicates=replicates, seed=seed)
    if models + units <= 20 and 2 ** (models + units) - 1 <= replicates:
        every = intervals.every_sign_flip(models + units)
        both = every[:, :models], every[:, models:]
    else:
        both = (
            intervals.sign_flips(models, replicates=replicates, seed=seed + 1),
            intervals.sign_flips(units, replicates=replicates, seed=seed),
        )
    unswapped = np.ones((1, 1), dtype=np.float32)
    return {"p": both, "p_models": (rows, np.repeat(unswapped, units, axis=1)), "p_questions": (unswapped, columns)}


def _reference_gap(middle: np.ndarray, half: np.ndarray, reference: np.ndarray, coefficient: str) -> np.ndarray:
    """r(x, z) - r(y, z) in each draw, from the means (models, draws) of the two judges' middle and half difference."""
    one, other = (_correlation(middle + side * half, reference, coefficient) for side in (1, -1))
    return one - other


def _correlation(means: np.ndarray, reference: np.ndarray, coefficient: str) -> np.ndarray:
    """A coefficient between each column of means (models, draws) and the reference (models, 1 or draws)."""
    if coefficient == "pearson":
        return _normalised_product(means - means.mean(axis=0), reference - reference.mean(axis=0))
    one, other = pair_signs(means), pair_signs(reference)
    if coefficient == "kendall_tau_b":
        return _tau_b(one, other)
    return _spearman(one, other, len(means))


def correlation_difference(
    scores: pl.DataFrame,
    *,
    judge_a: str,
    judge_b: str,
    reference: str,
    variant: str,
    coefficient: str = "kendall_tau_b",
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = REPLICATES,
) -> pl.DataFrame:
    """Does judge_a rank the models more like the reference judge than judge_b does? One row.

    Columns: judge_a, judge_b, reference, coefficient, correlation_a, correlation_b, estimate (a minus b), low, high
    (BOOT-INPUTS: questions drawn again for all three, the models held fixed), p (PERM-BOTH), p_models, p_questions, n,
    models, warning, reason. See `perm_both`; the correlations are those of the means as they are, not standardised.
    Source: Deutsch, Dror & Roth 2021 (TACL 9:1132).
    Measured at 95 %, 300 questions (1,000 worlds): 95.2 (pearson), 96.6 (spearman), 97.7 (tau).
    """
    grids = [score_grid(scores, judge, variant, questions) for judge in (judge_a, judge_b, reference)]
    panel = _panel(grids, questions)
    name, bounds = "correlation_difference", {}
    values: dict[str, float | None] = dict.fromkeys(("correlation_a", "correlation_b", *_TESTS))
    if not panel.reason:
        one, other = _reference_correlations([matrix.mean(axis=0)[:, None] for matrix in panel.scores], coefficient)
        values = perm_both(
            *panel.scores, coefficient=coefficient, clusters=panel.clusters, seed=seed, replicates=replicates
        )
        values |= {"correlation_a": _number(one[0]), "correlation_b": _number(other[0])}
        values["estimate"] = _number(one[0] - other[0])
        one, other = _reference_correlations(_resampled(panel, _Shared(seed, replicates)), coefficient)
        bounds = _percentile_bounds({name: values["estimate"]}, {name: one - other}, level)
    row = _statistic_rows({name: values["estimate"]}, bounds, panel)
    names = {"judge_a": judge_a, "judge_b": judge_b, "reference": reference, "coefficient": coefficient}
    filled = row.with_columns(
        **{column: pl.lit(name) for column, name in names.items()},
        **{column: pl.lit(value, pl.Float64) for column, value in values.items() if column != "estimate"},
    )
    order = [*names, "correlation_a", "correlation_b", "estimate", "low", "high", *_TESTS[1:]]
    return filled.select(*order, "n", "models", "warning", "reason")


def _reference_correlations(means: Sequence[np.ndarray], coefficient: str) -> list[np.ndarray]:
    """Correlations of the first two judges' means (models, draws) with those of the third, draw by draw."""
    return [_correlation(side, means[2], coefficient) for side in means[:2]]
