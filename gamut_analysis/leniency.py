"""How generous a judge is, to whom, and whether most of all to itself.

On checks, tables of two judges (mart ``judge_pairs``) say whether both hand out the four verdicts alike, and who
gives the better one where they differ. On scores, it is the gap of a judge to the others, by model and by quality of
the model. On itself, it is a judge's gap on its own model against its gap on models that are no relation of its.

Standard errors are linearised and clustered by question; intervals are Student's with clusters - 1 degrees of freedom.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from gamut_analysis.intervals import (
    LEVEL,
    PAIR,
    Clusters,
    cluster_codes,
    cluster_sums,
    clusters_of,
    each_pair_once,
    few_clusters_warning,
    mean_intervals,
    no_interval_reason,
    of_variant,
    score_matrix,
    scored_means,
    t_interval,
)
from gamut_analysis.scoring import Scoring
from gamut_analysis.vocabulary import VERDICTS

Q = len(VERDICTS)
POINTS = Scoring().values
MARGIN = 0.01

# A logit or a standard error beyond this is a likelihood without a maximum, whatever the optimiser says.
_IMPLAUSIBLE = 15.0
_UNBOUNDED = "all differing checks go one way, or there is none: the odds have no bound"


# --- checks: do two judges hand out the verdicts alike? ---------------------------------------------------------------


def marginal_homogeneity(
    tables: pl.DataFrame, *, by: Sequence[str] = (), questions: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Test whether two judges use the four verdicts equally often, with checks clustered by question.

    tables: both orders of every pair, n_00 ... n_33 (`judge_pairs`, which pairs gradings by their number); questions:
    question_id and cluster, where some share one. With D_c the differences of the two margins in cluster c and D their
    sum, the statistic is D' V^- D: `stuart_maxwell` has V = sum D_c D_c' (the variance under homogeneity), `bhapkar` V
    = sum R_c R_c' with R_c = D_c - n_c D / n (the Wald form); both chi-squared with df the rank of V. `hotelling` is
    Bhapkar's as F(df, clusters - df). With one check a cluster they are the tests of Stuart 1955, Maxwell 1970 and
    Bhapkar 1966.
    A row a group, pair (names in order) and method: statistic, df, p, n (checks), clusters, warning, reason.
    Measured at 5 %, 1,000 worlds: 3.2, 7.7 and 4.4 % with 40 questions, 5.0, 5.6 and 5.1 % with 150: trust `hotelling`
    where questions are few.

    >>> table = {"question_id": "q1", "judge_a": ["a", "b"], "judge_b": ["b", "a"]} | {
    ...     f"n_{i}{j}": [0, 0] for i in range(4) for j in range(4)}
    >>> marginal_homogeneity(pl.DataFrame(table | {"n_00": [5, 5]}))["reason"][0]
    'the judges never differ'
    """
    keys = [*by, *PAIR]
    rows = _by_cluster(each_pair_once(tables), keys, questions).with_columns(
        n=pl.sum_horizontal(_cells()), **{f"d_{k}": _margin(k) for k in range(Q)}
    )
    names = ["n", *(f"d_{k}" for k in range(Q))]
    products = [(pl.col(a) * pl.col(b)).sum().alias(f"{a} {b}") for a in names for b in names]
    sums = rows.group_by(keys).agg(*products, pl.col(names).sum(), pl.len().alias("clusters")).sort(keys)
    tests = [test for row in sums.to_dicts() for test in _homogeneity_tests(row, names)]
    schema = {
        "method": pl.String,
        "statistic": pl.Float64,
        "df": pl.Int64,
        "p": pl.Float64,
        "n": pl.Int64,
        "clusters": pl.Int64,
        "warning": pl.String,
        "reason": pl.String,
    }
    repeated = sums.select(keys)[np.repeat(np.arange(len(sums)), 3)]
    return pl.concat([repeated, pl.DataFrame(tests, schema=schema, orient="row")], how="horizontal")


def _homogeneity_tests(row: dict[str, Any], names: list[str]) -> list[dict[str, Any]]:
    from scipy.special import chdtrc, fdtrc

    n, clusters = int(row["n"]), int(row["clusters"])
    shift = np.array([row[name] for name in names[1:]], dtype=np.float64)
    square = np.array([[row[f"{a} {b}"] for b in names] for a in names], dtype=np.float64)
    mean = shift / max(n, 1)
    cross = np.outer(mean, square[0, 1:])
    null = square[1:, 1:]
    wald = null - cross - cross.T + square[0, 0] * np.outer(mean, mean)
    base: dict[str, Any] = {"n": n, "clusters": clusters, "warning": few_clusters_warning(clusters), "reason": None}
    tests: list[dict[str, Any]] = []
    for method, variance in (("stuart_maxwell", null), ("bhapkar", wald), ("hotelling", wald)):
        statistic, df = _quadratic_test(shift, variance)
        reason = _no_test(null, df, clusters)
        if reason:
            tests.append(base | {"method": method, "warning": None, "reason": reason})
        elif method == "hotelling":
            f = statistic * (clusters - df) / (df * clusters)
            tests.append(base | {"method": method, "statistic": f, "df": df, "p": float(fdtrc(df, clusters - df, f))})
        else:
            tests.append(base | {"method": method, "statistic": statistic, "df": df, "p": float(chdtrc(df, statistic))})
    return tests


def _quadratic_test(shift: np.ndarray, variance: np.ndarray) -> tuple[float, int]:
    """D' V^- D and the rank of V; a label that never differs adds nothing to either."""
    scale = np.abs(variance).max()
    if scale == 0:
        return 0.0, 0
    inverse = np.linalg.pinv(variance, rcond=1e-10, hermitian=True)
    return float(shift @ inverse @ shift), int(np.linalg.matrix_rank(variance, tol=1e-10 * scale, hermitian=True))


def _no_test(null: np.ndarray, df: int, clusters: int) -> str | None:
    if not null.any():
        return "the judges never differ"
    if df == 0 or clusters <= df + 1:
        return f"{clusters} questions or clusters are too few for a test of the margins"
    return None


def verdict_leniency(
    tables: pl.DataFrame,
    *,
    by: Sequence[str] = (),
    questions: pl.DataFrame | None = None,
    values: Sequence[float] = POINTS,
    level: float = LEVEL,
) -> pl.DataFrame:
    """How much better the verdicts of judge_a are than those of judge_b on the same checks.

    tables, questions: as in `marginal_homogeneity`; values: the worth of the four verdicts. Effects, positive where a
    is the more lenient: `value_shift`, the mean difference in worth a check; `log_odds`, log(n_above / n_below) over
    the checks on which they differ; `log_odds_meets`, `..._partially_meets`, `..._missing`, the same across the cut
    between that verdict or a better one and all worse (the cumulative logit of matched pairs: Agresti 2013, section
    12.2). A row a group, ordered pair and effect: estimate, low, high, standard_error, p (against 0), n (checks for
    the shift, differing checks for odds), clusters, warning, reason.

    >>> table = {"question_id": ["q1", "q1", "q2", "q2"], "judge_a": ["a", "b"] * 2, "judge_b": ["b", "a"] * 2} | {
    ...     f"n_{i}{j}": [0] * 4 for i in range(4) for j in range(4)}
    >>> tables = pl.DataFrame(table | {"n_00": [2, 2, 2, 2], "n_02": [2, 0, 1, 1], "n_20": [0, 2, 1, 1]})
    >>> verdict_leniency(tables).filter(judge_a="a").select("effect", pl.col("estimate").round(3), "n").rows()[:2]
    [('value_shift', 0.25, 8), ('log_odds', 1.099, 4)]
    """
    keys = [*by, *PAIR]
    rows = _by_cluster(tables, keys, questions)
    worth = pl.sum_horizontal((values[i] - values[j]) * pl.col(f"n_{i}{j}") for i in range(Q) for j in range(Q))
    parts = {"value_shift": (worth, pl.sum_horizontal(_cells())), "log_odds": (_above(), _below())}
    for k, verdict in enumerate(VERDICTS[:-1]):
        parts[f"log_odds_{verdict}"] = (_above(k), _below(k))
    effects = [
        _linearised(rows.with_columns(above=above.cast(pl.Float64), below=below.cast(pl.Float64)), keys, effect)
        for effect, (above, below) in parts.items()
    ]
    order = pl.Enum(list(parts))
    stacked = pl.concat(effects).with_columns(pl.col("effect").cast(order)).sort(*keys, "effect")
    return _finish(stacked.with_columns(pl.col("effect").cast(pl.String)), level, clustered=questions is not None)


def _linearised(rows: pl.DataFrame, keys: list[str], effect: str) -> pl.DataFrame:
    """Estimate and clustered standard error of a ratio or of log odds from the sums above and below of each cluster."""
    above, below = pl.col("above"), pl.col("below")
    if effect == "value_shift":
        estimate, n = above.sum() / below.sum(), below.sum()
        influence = (above - above.sum() / below.sum() * below) / below.sum()
    else:
        estimate, n = (above.sum() / below.sum()).log(), above.sum() + below.sum()
        influence = above / above.sum() - below / below.sum()
    return rows.group_by(keys).agg(
        pl.lit(effect).alias("effect"),
        estimate.alias("estimate"),
        (pl.len() / (pl.len() - 1) * influence.pow(2).sum()).sqrt().alias("standard_error"),
        n.cast(pl.Int64).alias("n"),
        pl.len().cast(pl.Int64).alias("clusters"),
        _missing_side(effect, above.sum(), below.sum()).alias("problem"),
    )


def _missing_side(effect: str, above: pl.Expr, below: pl.Expr) -> pl.Expr:
    if effect == "value_shift":
        return pl.when(below == 0).then(pl.lit("no check was judged by both"))
    return pl.when((above == 0) | (below == 0)).then(pl.lit(_UNBOUNDED))


def _finish(frame: pl.DataFrame, level: float, *, clustered: bool) -> pl.DataFrame:
    """Add interval, p, warning and reason to rows of estimate, standard_error, n, clusters and problem."""
    from scipy.special import stdtr

    estimate, error, clusters = (frame[name].to_numpy() for name in ("estimate", "standard_error", "clusters"))
    undefined = frame["problem"].is_not_null().to_numpy()
    estimate = np.where(undefined, np.nan, estimate)
    error = np.where(undefined | ~(error > 0) | (clusters < 2), np.nan, error)
    low, high = t_interval(estimate, error, clusters, level=level)
    with np.errstate(invalid="ignore"):
        p = 2 * stdtr(np.maximum(clusters - 1, 1), -np.abs(estimate / error))
    none = [
        problem
        or _one_cluster(c, clustered)
        or ("no variation between questions: no interval" if np.isnan(e) else None)
        for problem, c, e in zip(frame["problem"], clusters, error, strict=True)
    ]
    warning = [few_clusters_warning(c) if reason is None else None for c, reason in zip(clusters, none, strict=True)]
    numbers = {"estimate": estimate, "low": low, "high": high, "standard_error": error, "p": p}
    kept = frame.drop("estimate", "standard_error", "n", "clusters", "problem")
    added = (
        pl.DataFrame(numbers)
        .fill_nan(None)
        .with_columns(
            frame["n"],
            frame["clusters"],
            pl.Series("warning", warning, pl.String),
            pl.Series("reason", none, pl.String),
        )
    )
    return pl.concat([kept, added], how="horizontal")


def _one_cluster(clusters: int, clustered: bool) -> str | None:
    """Why so many clusters allow no interval; where questions were not clustered each is one."""
    return no_interval_reason(clusters + clustered, clusters)


def _cells() -> list[str]:
    return [f"n_{i}{j}" for i in range(Q) for j in range(Q)]


def _margin(k: int) -> pl.Expr:
    """How many more verdicts k the first judge gave than the second."""
    others = [j for j in range(Q) if j != k]
    return pl.sum_horizontal(f"n_{k}{j}" for j in others) - pl.sum_horizontal(f"n_{j}{k}" for j in others)


def _above(cut: int | None = None) -> pl.Expr:
    """Checks on which the first judge gave the better verdict (a lower code), across the cut where there is one."""
    pairs = [(i, j) for i in range(Q) for j in range(i + 1, Q) if cut is None or i <= cut < j]
    return pl.sum_horizontal(f"n_{i}{j}" for i, j in pairs)


def _below(cut: int | None = None) -> pl.Expr:
    pairs = [(i, j) for i in range(Q) for j in range(i + 1, Q) if cut is None or i <= cut < j]
    return pl.sum_horizontal(f"n_{j}{i}" for i, j in pairs)


def _by_cluster(tables: pl.DataFrame, keys: Sequence[str], questions: pl.DataFrame | None) -> pl.DataFrame:
    """Sums of the tables by `keys` and cluster, in a fixed order."""
    ids = tables["question_id"].cast(pl.String)
    clusters = clusters_of(questions, ids)
    labelled = tables.with_columns(cluster=ids if clusters is None else pl.Series(clusters))
    cells = pl.col(_cells()).cast(pl.Int64).sum()
    return labelled.group_by(*keys, "cluster").agg(cells).sort(*keys, "cluster")


# --- scores: the gap of a judge to the others -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Grid:
    """Scores (questions, models, judges) of one variant, NaN for unscored, and what is resampled together."""

    questions: list[str]
    models: list[str]
    judges: list[str]
    scores: np.ndarray
    clusters: Clusters

    @cached_property
    def reference(self) -> np.ndarray:
        """The mean of the other judges that scored the answer, NaN where there is none or the judge itself did not."""
        scored = ~np.isnan(self.scores)
        sums = np.where(scored, self.scores, 0.0)
        others = scored.sum(axis=2, keepdims=True) - scored
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (sums.sum(axis=2, keepdims=True) - sums) / others
        return np.where(scored & (others > 0), mean, np.nan)

    @cached_property
    def gaps(self) -> np.ndarray:
        """How much higher each judge scores an answer than the others do."""
        return self.scores - self.reference


def _grid(scores: pl.DataFrame, variant: str, value: str, questions: pl.DataFrame | None) -> _Grid:
    chosen = of_variant(scores, variant)
    judges, models, ids = (
        sorted(chosen[column].cast(pl.String).unique().to_list()) for column in ("judge", "model", "question_id")
    )
    cube = np.full((len(ids), len(models), len(judges)), np.nan)
    for j, judge in enumerate(judges):
        judged, asked, matrix = score_matrix(scores, judge=judge, variant=variant, value=value)
        cube[np.ix_(np.searchsorted(ids, asked), np.searchsorted(models, judged), np.array([j]))] = matrix[:, :, None]
    return _Grid(ids, models, judges, cube, clusters_of(questions, ids))


def judge_gaps(
    scores: pl.DataFrame,
    *,
    variant: str,
    value: str = "score",
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
) -> pl.DataFrame:
    """How much higher each judge scores than the others do, on the same answers: by model and over all of them.

    scores: a row a model, judge, variant and question_id. Gap of an answer: the judge's score minus the mean of the
    other judges' scores of it. A row a judge and model, and one with model null for all models: the mean over
    questions of the mean gap over models. estimate, low, high, standard_error, p (against 0), n (questions),
    clusters, warning, reason.

    >>> scores = pl.DataFrame({"model": "m", "judge": ["a", "b"] * 2, "variant": "multimodal",
    ...                        "question_id": ["q1", "q1", "q2", "q2"], "score": [0.5, 0.25, 0.75, 0.25]})
    >>> judge_gaps(scores, variant="multimodal").filter(judge="a").select("model", "estimate", "n").rows()
    [(None, 0.375, 2), ('m', 0.375, 2)]
    """
    grid = _grid(scores, variant, value, questions)
    columns = [scored_means(grid.gaps, axis=1)[:, None, :], grid.gaps]
    names = [{"judge": judge, "model": model} for judge in grid.judges for model in (None, *grid.models)]
    gaps = np.concatenate(columns, axis=1).transpose(0, 2, 1).reshape(len(grid.questions), -1)
    table = mean_intervals(gaps, clusters=grid.clusters, level=level)
    problem = pl.when(pl.col("n") == 0).then(pl.lit("no answer was scored by this judge and another one"))
    frame = pl.concat([pl.DataFrame(names, schema={"judge": pl.String, "model": pl.String}), table], how="horizontal")
    rows = frame.select("judge", "model", "estimate", "standard_error", "n", "clusters", problem=problem)
    return _finish(rows, level, clustered=questions is not None)


def leniency_slope(
    scores: pl.DataFrame,
    *,
    variant: str,
    value: str = "score",
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
) -> pl.DataFrame:
    """How a judge's leniency changes with the quality of the model: gap gained for each point of quality.

    For each judge the slope, over models, of its mean gap to the other judges on their mean score. Both means have
    sampling error, which would pull a plain least-squares slope towards that of the noise; the (co)variance of that
    error is taken out: (Sxy - Cxy) / (Sxx - Cxx), the C clustered by question (Fuller 1987, section 1.2). The interval
    is over questions, for these models; `residual_sd` is how far models lie from the line, in score units.
    A row a judge: estimate, low, high, standard_error, p (against 0), n (models), clusters, residual_sd, warning,
    reason. Null where models differ by no more than sampling error.
    """
    grid = _grid(scores, variant, value, questions)
    rows = [_slope(grid, j) for j in range(len(grid.judges))]
    schema = {
        "judge": pl.String,
        "estimate": pl.Float64,
        "standard_error": pl.Float64,
        "n": pl.Int64,
        "clusters": pl.Int64,
    }
    frame = pl.DataFrame(rows, schema=schema | {"residual_sd": pl.Float64, "problem": pl.String})
    finished = _finish(frame.drop("residual_sd"), level, clustered=questions is not None)
    return finished.insert_column(finished.columns.index("clusters") + 1, frame["residual_sd"])


def _slope(grid: _Grid, j: int) -> dict[str, Any]:
    gaps, quality = grid.gaps[:, :, j], grid.reference[:, :, j]
    clusters = int((cluster_sums((~np.isnan(gaps)).sum(axis=1), grid.clusters) > 0).sum())
    y, x = scored_means(gaps, axis=0), scored_means(quality, axis=0)
    known = ~np.isnan(y)
    row = {"judge": grid.judges[j], "n": int(known.sum()), "clusters": clusters, "problem": None}
    if known.sum() < 3:
        return row | {"problem": "fewer than three models: no slope"}
    y, x, gaps, quality = y[known], x[known], gaps[:, known], quality[:, known]
    across, along = x - x.mean(), y - y.mean()
    dx, dy = (_moves(part, mean, grid.clusters) for part, mean in ((quality, x), (gaps, y)))
    factor = clusters / max(clusters - 1, 1)
    noise, signal = factor * (dx**2).sum(), (across**2).sum()
    if not signal > 2 * noise:
        return row | {"problem": "models differ by no more than sampling error: no slope"}
    slope = (across @ along - factor * (dx * dy).sum()) / (signal - noise)
    influence = (dy @ across + dx @ (along - 2 * slope * across)) / (signal - noise)
    residual = along - slope * across
    return row | {
        "estimate": float(slope),
        "standard_error": float(np.sqrt(factor * (influence**2).sum())),
        "residual_sd": float(np.sqrt((residual**2).sum() / (known.sum() - 2))),
    }


def _moves(values: np.ndarray, means: np.ndarray, clusters: Clusters) -> np.ndarray:
    """How far each cluster moves the mean of each model from the mean of all: (clusters, models)."""
    scored = ~np.isnan(values)
    moves = cluster_sums(np.where(scored, values - means, 0.0) / scored.sum(axis=0), clusters)
    return moves - moves.mean(axis=1, keepdims=True)


# --- a judge on itself ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Kin:
    """Which model each judge is, and which are its family: (models, judges) each; neutral to a judge is neither.

    A model that another judge is, is not neutral either: that judge's preference would enter the comparison.
    """

    own: np.ndarray
    family: np.ndarray
    neutral: np.ndarray


def _kin(
    models: Sequence[str],
    judges: Sequence[str],
    selves: Mapping[str, str] | None,
    families: Mapping[str, str] | None,
) -> _Kin:
    selves = {judge: judge for judge in judges} if selves is None else selves
    families = families or {}
    own = np.array([[selves.get(judge) == model for judge in judges] for model in models]).reshape(len(models), -1)
    house = [families.get(judge, families.get(selves.get(judge, judge), selves.get(judge, judge))) for judge in judges]
    related = np.array([[families.get(model, model) == name for name in house] for model in models]).reshape(own.shape)
    return _Kin(own, related & ~own, ~related & ~own.any(axis=1, keepdims=True))


def self_preference(
    scores: pl.DataFrame,
    *,
    variant: str,
    selves: Mapping[str, str] | None = None,
    families: Mapping[str, str] | None = None,
    value: str = "score",
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
    margin: float = MARGIN,
) -> pl.DataFrame:
    """How much higher a judge scores its own model, and its family, than its leniency to others would have it.

    scores: a row a model, judge, variant and question_id; selves: judge to the model that it is (without it, the model
    of its name); families: judge or model to family. Two methods, for each judge that is a model and (judge null) for
    all of them together:

    - `did`, difference in differences: y = (model x question) effect + judge effect + gamma self + delta family, gamma
      with a standard error clustered by question (CR1). It takes a judge's leniency to be the same for all models.
    - `slope_adjusted`: the judge's gap on its own model, minus the line of its gaps over the quality (the other judges'
      mean) of neutral models; interval for one more model (t, neutral - 2 degrees of freedom), so that the judge's
      likes and dislikes among models it is no relation of are part of the uncertainty. Believe this one where the two
      differ.

    placebo_p: the rank of the studentised statistic among those of the neutral models, each put in the judge's place;
    never below 1 / (placebos + 1). p_equivalence: two one-sided tests that the effect lies within +- margin
    (Schuirmann 1987); that nothing was found does not show that there is nothing, this does. Columns: judge, effect
    (self, family), method, estimate, low, high, standard_error, df, p, placebo_p, placebos, p_equivalence, n
    (questions), clusters, warning, reason. Measured at 5 % with 150 questions, 14 models, three judges, 1,000 worlds
    in which leniency follows quality: `slope_adjusted` finds an effect of 0 in 3.9 % (4.3 % when judges have tastes
    too) and one of 3 points in 96 %; `did` finds one in 70 % where there is none. Source: Angrist & Pischke 2009,
    chapter 5; Spiliopoulou et al. 2025 (arXiv:2508.06709).
    """
    grid = _grid(scores, variant, value, questions)
    kin = _kin(grid.models, grid.judges, selves, families)
    targets = _targets(kin)
    rows = [_did(grid, kin, targets), _slope_adjusted(grid, kin, targets)]
    return _preference_frame([row for part in rows for row in part], grid, level, margin)


Targets = dict[tuple[str, int | None], np.ndarray]


def _targets(kin: _Kin) -> Targets:
    """The (models, judges) cells of each effect, for all judges (None) and for each judge that has such a model."""
    targets: Targets = {}
    for effect, member in (("self", kin.own), ("family", kin.family)):
        if member.any():
            targets[effect, None] = member
            judges = np.arange(member.shape[1])
            targets |= {(effect, int(j)): member & (judges == j) for j in judges[member.any(axis=0)]}
    return targets


def _did(grid: _Grid, kin: _Kin, targets: Targets) -> list[dict[str, Any]]:
    """The fixed-effects regression, once with one effect for all judges and once with one for each."""
    together = [key for key in targets if key[1] is None]
    each = [key for key in targets if key[1] is not None]
    fits = [fit for keys in (together, each) if keys for fit in _fixed_effects(grid, [targets[key] for key in keys])]
    rows = []
    for key, fit in zip([*together, *each], fits, strict=True):
        ranked = {} if key[1] is None else _placebo(grid, kin, key[1], targets[key], sloped=False)
        rows.append({"key": key, "method": "did"} | fit | ranked)
    return rows


def _fixed_effects(grid: _Grid, members: list[np.ndarray]) -> list[dict[str, Any]]:
    """Least squares with an effect for every answer, every judge and every set of (model, judge) cells."""
    judges = np.broadcast_to(np.eye(len(grid.judges))[1:, None, :], (len(grid.judges) - 1, *members[0].shape))
    used = ~np.isnan(grid.gaps)
    y = _within(np.where(used, grid.scores, 0.0)[..., None], used)[..., 0]
    x = _within(np.stack([*members, *judges], axis=-1) * used[..., None], used)
    gram = np.einsum("qmja,qmjb->ab", x, x, optimize=True)
    inverse = np.linalg.pinv(gram, rcond=1e-10, hermitian=True)
    beta = inverse @ np.einsum("qmja,qmj->a", x, y, optimize=True)
    influence = np.einsum("qmja,qmj->qa", x, y - x @ beta, optimize=True) @ inverse
    clusters = int((cluster_sums(used.sum(axis=(1, 2)), grid.clusters) > 0).sum())
    # The effects of answers lie within the clusters and are not counted as parameters (Cameron & Miller 2015, III.B).
    factor = clusters / max(clusters - 1, 1) * (used.sum() - 1) / max(used.sum() - len(beta), 1)
    error = np.sqrt(factor * (cluster_sums(influence, grid.clusters) ** 2).sum(axis=0))
    identified = np.isclose(inverse @ gram, np.eye(len(beta)), atol=1e-6).all(axis=1)
    return [
        {"estimate": beta[i], "standard_error": error[i], "df": clusters - 1.0}
        if identified[i]
        else {"problem": "no neutral model tells this apart from the judges' leniency"}
        for i in range(len(members))
    ]


def _within(values: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Deviations (questions, models, judges, k) from the mean over the judges that scored the answer, 0 for others."""
    count = np.maximum(used.sum(axis=2, keepdims=True), 1)[..., None]
    return used[..., None] * (values - values.sum(axis=2, keepdims=True) / count)


def _slope_adjusted(grid: _Grid, kin: _Kin, targets: Targets) -> list[dict[str, Any]]:
    rows = []
    for effect, j in targets:
        if j is None:
            parts = [
                _above_line(grid, kin, k, cells)
                for (name, k), cells in targets.items()
                if name == effect and k is not None
            ]
            rows.append({"key": (effect, None), "method": "slope_adjusted"} | _average(parts))
        else:
            fit = _above_line(grid, kin, j, targets[effect, j])
            ranked = _placebo(grid, kin, j, targets[effect, j], sloped=True)
            rows.append({"key": (effect, j), "method": "slope_adjusted"} | fit | ranked)
    return rows


def _above_line(grid: _Grid, kin: _Kin, j: int, cells: np.ndarray) -> dict[str, Any]:
    gap, quality = scored_means(grid.gaps[:, :, j], axis=0), scored_means(grid.reference[:, :, j], axis=0)
    known = ~np.isnan(gap)
    target, base = cells[:, j] & known, kin.neutral[:, j] & known
    if not target.any():
        return {"problem": "no answer of that model was scored by this judge and another one"}
    if base.sum() < 4:
        return {"problem": f"{base.sum()} neutral models: a line needs four"}
    estimate, error = _prediction(gap, quality, target, base, sloped=True)
    return {"estimate": estimate, "standard_error": error, "df": float(base.sum() - 2)}


def _prediction(
    gap: np.ndarray, quality: np.ndarray, target: np.ndarray, base: np.ndarray, *, sloped: bool
) -> tuple[float, float]:
    """Mean distance of the target models from the line (or mean) of the base models, and its prediction error."""
    y, x = gap[base], quality[base]
    across = (x - x.mean()) * sloped
    spread = (across**2).sum()
    slope = across @ y / spread if spread > 1e-12 else 0.0
    away = quality[target].mean() - x.mean()
    residual = y - y.mean() - slope * across
    variance = (residual**2).sum() / max(len(y) - 1 - sloped, 1)
    leverage = 1 / target.sum() + 1 / len(y) + (away**2 / spread if sloped and spread > 1e-12 else 0.0)
    return float(gap[target].mean() - y.mean() - slope * away), float(np.sqrt(variance * leverage))


def _average(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The mean of independent estimates, with Welch and Satterthwaite's degrees of freedom."""
    known = [part for part in parts if "estimate" in part]
    if not known:
        return {"problem": parts[0]["problem"]}
    variance = np.array([part["standard_error"] ** 2 for part in known])
    df = np.array([part["df"] for part in known])
    return {
        "estimate": float(np.mean([part["estimate"] for part in known])),
        "standard_error": float(np.sqrt(variance.sum()) / len(known)),
        "df": float(variance.sum() ** 2 / (variance**2 / df).sum()) if variance.any() else float(df.sum()),
    }


def _placebo(grid: _Grid, kin: _Kin, j: int, cells: np.ndarray, *, sloped: bool) -> dict[str, Any]:
    """Rank the absolute studentised distance of the target among those of the neutral models, each left out in turn."""
    gap, quality = scored_means(grid.gaps[:, :, j], axis=0), scored_means(grid.reference[:, :, j], axis=0)
    known = ~np.isnan(gap)
    target, base = cells[:, j] & known, kin.neutral[:, j] & known
    placebos = np.flatnonzero(base)
    if not target.any() or len(placebos) < 5:
        return {"placebos": len(placebos)}
    one = np.arange(len(gap))
    observed = _studentised(gap, quality, target, base, sloped=sloped)
    drawn = np.array([_studentised(gap, quality, one == m, base & (one != m), sloped=sloped) for m in placebos])
    return {
        "placebos": len(placebos),
        "placebo_p": float((1 + (drawn >= observed - 1e-12).sum()) / (1 + len(placebos))),
    }


def _studentised(gap: np.ndarray, quality: np.ndarray, target: np.ndarray, base: np.ndarray, *, sloped: bool) -> float:
    estimate, error = _prediction(gap, quality, target, base, sloped=sloped)
    return abs(estimate) / error if error > 0 else (np.inf if abs(estimate) > 1e-12 else 0.0)


def equivalence_p(estimate: np.ndarray, standard_error: np.ndarray, df: np.ndarray, *, margin: float) -> np.ndarray:
    """Two one-sided t tests that an effect lies within +- margin: the larger p (Schuirmann 1987).

    >>> round(float(equivalence_p(np.array(0.0), np.array(0.5), np.array(30), margin=1.0)), 4)
    0.0273
    """
    from scipy.special import stdtr

    with np.errstate(invalid="ignore", divide="ignore"):
        return np.maximum(
            stdtr(df, -(estimate + margin) / standard_error), stdtr(df, (estimate - margin) / standard_error)
        )


def _preference_frame(rows: list[dict[str, Any]], grid: _Grid, level: float, margin: float) -> pl.DataFrame:
    from scipy.special import stdtr, stdtrit

    empty = {"problem": None, "placebos": None, "placebo_p": None}
    rows = [empty | {"estimate": np.nan, "standard_error": np.nan, "df": np.nan} | row for row in rows]
    estimate, error, df = (
        np.array([row[name] for row in rows], dtype=np.float64) for name in ("estimate", "standard_error", "df")
    )
    error = np.where((error > 1e-12) & (df > 0), error, np.nan)
    half = stdtrit(np.where(df > 0, df, np.nan), (1 + level) / 2) * error
    _, clusters = cluster_codes(len(grid.questions), grid.clusters)
    effects = [row["key"][0] for row in rows]
    judges = [None if row["key"][1] is None else grid.judges[row["key"][1]] for row in rows]
    one = no_interval_reason(len(grid.questions), clusters)
    numbers = {
        "estimate": estimate,
        "low": estimate - half,
        "high": estimate + half,
        "standard_error": error,
        "df": df,
        "p": 2 * stdtr(df, -np.abs(estimate / error)),
    }
    reasons = [
        row["problem"] or ((one or "no variation: no interval") if np.isnan(e) else None)
        for row, e in zip(rows, error, strict=True)
    ]
    frame = pl.DataFrame(
        {"judge": judges, "effect": effects, "method": [row["method"] for row in rows]},
        schema={"judge": pl.String, "effect": pl.String, "method": pl.String},
    ).with_columns(pl.Series(name, column, pl.Float64) for name, column in numbers.items())
    return frame.with_columns(
        pl.Series("placebo_p", [row["placebo_p"] for row in rows], pl.Float64),
        pl.Series("placebos", [row["placebos"] for row in rows], pl.Int64),
        pl.Series("p_equivalence", equivalence_p(estimate, error, df, margin=margin), pl.Float64),
        pl.lit(len(grid.questions)).cast(pl.Int64).alias("n"),
        pl.lit(clusters).cast(pl.Int64).alias("clusters"),
        pl.lit(few_clusters_warning(clusters)).cast(pl.String).alias("warning"),
        pl.Series("reason", reasons, pl.String),
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def discordant_odds(
    tables: pl.DataFrame,
    *,
    selves: Mapping[str, str] | None = None,
    families: Mapping[str, str] | None = None,
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
) -> pl.DataFrame:
    """Where two judges differ on a check, how much likelier is it that a judge favours the model that it is itself?

    tables: at the grain of models, both orders of every pair (`judge_pairs`); selves, families: as in
    `self_preference`. For each judge, the odds that it gives the better of two differing verdicts, on its own model
    over those on neutral models: the log of the odds ratio, so that a judge lenient to all has 0. A row a judge, and
    judge null for their mean: estimate, low, high, standard_error, p, odds_self, odds_other, n (differing checks of
    the own models), clusters, warning, reason. Leniency that varies with quality is not taken out here;
    `self_preference` does that.
    """
    models, judges = (sorted(tables[name].cast(pl.String).unique().to_list()) for name in ("model", "judge_a"))
    kin = _kin(models, judges, selves, families)
    owners = [judge for k, judge in enumerate(judges) if kin.own[:, k].any()]
    kinds = [
        (model, judge, 0 if kin.own[i, k] else 1)
        for i, model in enumerate(models)
        for k, judge in enumerate(judges)
        if judge in owners and (kin.own[i, k] or kin.neutral[i, k])
    ]
    named = pl.DataFrame(kinds, schema={"model": pl.String, "judge_a": pl.String, "kind": pl.Int64}, orient="row")
    joined = tables.with_columns(pl.col("model", "judge_a").cast(pl.String)).join(named, on=["model", "judge_a"])
    rows = _by_cluster(joined, ["judge_a", "kind"], questions)
    sides = rows.select("judge_a", "kind", "cluster", above=_above(), below=_below())
    return _odds_frame(sides, owners, level, clustered=questions is not None)


def _odds_frame(rows: pl.DataFrame, owners: list[str], level: float, *, clustered: bool) -> pl.DataFrame:
    """Log odds ratios from rows of judge, kind (0 own models, 1 neutral ones), cluster, above and below."""
    cluster = rows["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
    sums = np.zeros((len(owners), 2, 2, cluster.max(initial=-1) + 1))
    judge = np.searchsorted(owners, rows["judge_a"].to_numpy()) if len(rows) else cluster
    for side, name in enumerate(("above", "below")):
        sums[judge, rows["kind"].to_numpy(), side, cluster] = rows[name].to_numpy()
    total = sums.sum(axis=3)
    with np.errstate(invalid="ignore", divide="ignore"):
        odds = total[:, :, 0] / total[:, :, 1]
        share = sums / total[..., None]
        influence = (share[:, 0, 0] - share[:, 0, 1]) - (share[:, 1, 0] - share[:, 1, 1])
        estimate = np.log(odds[:, 0] / odds[:, 1])
    bounded = (total > 0).all(axis=(1, 2))
    parts = [
        _odds_row(name, estimate[k], influence[k], sums[k], None if bounded[k] else _UNBOUNDED) | _finite_odds(odds[k])
        for k, name in enumerate(owners)
    ]
    if bounded.any():
        together = estimate[bounded].mean(), influence[bounded].mean(axis=0), sums[bounded].sum(axis=0)
        parts.insert(0, _odds_row(None, *together, None))
    schema = {"judge": pl.String, "odds_self": pl.Float64, "odds_other": pl.Float64, "estimate": pl.Float64}
    schema |= {"standard_error": pl.Float64, "n": pl.Int64, "clusters": pl.Int64, "problem": pl.String}
    return _finish(pl.DataFrame(parts, schema=schema), level, clustered=clustered)


def _odds_row(
    judge: str | None, estimate: float, influence: np.ndarray, sums: np.ndarray, problem: str | None
) -> dict[str, Any]:
    clusters = int(sums.any(axis=(0, 1)).sum())
    return {
        "judge": judge,
        "estimate": float(estimate),
        "standard_error": float(np.sqrt(clusters / max(clusters - 1, 1) * (influence**2).sum())),
        "n": int(sums[0].sum()),
        "clusters": clusters,
        "problem": problem,
    }


def _finite_odds(odds: np.ndarray) -> dict[str, float | None]:
    names = ("odds_self", "odds_other")
    return {name: float(value) if np.isfinite(value) else None for name, value in zip(names, odds, strict=True)}


# --- the ordinal reading ----------------------------------------------------------------------------------------------


def cumulative_link(
    frame: pl.DataFrame,
    *,
    response: str = "verdict",
    terms: Sequence[str] = ("judge",),
    cluster: str = "question_id",
    level: float = LEVEL,
) -> pl.DataFrame:
    """Fit a cumulative logit model by maximum likelihood: how far each category of each term shifts the response up.

    frame: a row an observation; response: an Enum, or a column whose sorted values are its order (of VERDICTS the last
    is the worst, so up is worse); terms: categorical columns, whose first category in sorted order is the reference.
    A row a category: term, category, estimate (log odds of a higher response), low, high, standard_error (clustered),
    p, n, clusters, log_likelihood, warning, reason. A fit that did not converge, or with a coefficient or an error that
    is not finite or beyond 15 logits (separation), is reported as such, without numbers: the optimiser's own word is
    not enough. Slow beyond some ten thousand rows. Source: McCullagh 1980; statsmodels OrderedModel.
    """
    names = [(term, category) for term in terms for category in frame[term].unique().sort().to_list()[1:]]
    labels = frame[response].unique().sort().cast(pl.String)
    codes = frame[response].cast(pl.String).cast(pl.Enum(labels)).to_physical().to_numpy().astype(np.int64)
    groups = frame[cluster].rank("dense").to_numpy().astype(np.int64)
    design = np.column_stack([(frame[term] == category).to_numpy() for term, category in names] or [[]]).astype(
        np.float64
    )
    rows = pl.DataFrame({"term": [t for t, _ in names], "category": [str(c) for _, c in names]})
    estimate, error, likelihood, problem = _fit_ordered(codes, design, groups)
    fitted = rows.with_columns(
        pl.Series("estimate", estimate, pl.Float64),
        pl.Series("standard_error", error, pl.Float64),
        pl.lit(len(frame)).cast(pl.Int64).alias("n"),
        pl.lit(len(np.unique(groups))).cast(pl.Int64).alias("clusters"),
        pl.lit(problem).cast(pl.String).alias("problem"),
    )
    finished = _finish(fitted, level, clustered=cluster != "question_id")
    return finished.insert_column(
        finished.columns.index("warning"), pl.Series("log_likelihood", [likelihood] * len(rows))
    )


def _fit_ordered(
    codes: np.ndarray, design: np.ndarray, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float | None, str | None]:
    """Coefficients, their clustered errors, log-likelihood, and what is wrong with the fit."""
    import warnings

    from statsmodels.miscmodels.ordinal_model import OrderedModel

    k = design.shape[1]
    nothing = np.full(k, np.nan)
    if codes.max(initial=0) == 0:
        return nothing, nothing, None, "only one response occurs: nothing to fit"
    if np.linalg.matrix_rank(design - design.mean(axis=0)) < k:
        return nothing, nothing, None, "the terms determine each other: no unique fit"
    with warnings.catch_warnings():
        # Its warnings are turned into the reason below.
        warnings.simplefilter("ignore")
        fit = OrderedModel(codes, design, distr="logit").fit(
            method="bfgs", disp=False, maxiter=500, gtol=1e-6, cov_type="cluster", cov_kwds={"groups": groups}
        )
    estimate, error = fit.params[:k], fit.bse[:k]
    if not fit.mle_retvals["converged"]:
        return nothing, nothing, None, "the fit did not converge"
    if not (np.isfinite(fit.params).all() and np.isfinite(fit.bse).all() and (fit.bse > 0).all()):
        return nothing, nothing, None, "degenerate fit: a standard error is not finite"
    if max(np.abs(estimate).max(), error.max()) > _IMPLAUSIBLE:
        return nothing, nothing, None, "implausible fit: a coefficient or its error is beyond 15 logits (separation)"
    return estimate, error, float(fit.llf), None
