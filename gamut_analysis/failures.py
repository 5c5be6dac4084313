"""Omission and contradiction: how often each verdict falls, and the score that each costs.

Rates come in two kinds, always labelled: *micro* pools all graded checks, so that questions with long rubrics count
more; *macro* is the mean over questions of the share within the question. Points lost are additive: over verdicts,
tiers and roles (or any finer grain) they add up exactly to 1 - score. What is sampled is questions, never checks:
every interval is clustered by question, or by the ``cluster`` of a ``questions`` frame.

A grouping (``by``) names columns of the frame itself (tier, role, check_id) or of ``questions`` (domain, entity).
"""

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from gamut_analysis.errors import UnknownName
from gamut_analysis.intervals import (
    LEVEL,
    cluster_sums,
    clustered_error,
    clusters_of,
    few_clusters_warning,
    mean_intervals,
    no_interval_reason,
    ratio_intervals,
    share_intervals,
    t_interval,
)
from gamut_analysis.scoring import ANSWER, LOSSES, Scoring
from gamut_analysis.vocabulary import VERDICTS

RATES = ("micro", "macro")
READINGS = ("additive", "shapley", "one_at_a_time", "contradictions_to_missing")
MEASURES = ("counts", "points")
DEAD = ("met by all", "failed by all")

_SERIES = ["model", "judge", "variant"]
_VERDICT = pl.Enum(VERDICTS)
_LOST = dict(zip(LOSSES, VERDICTS[1:], strict=True))
_INTERVAL = ("estimate", "low", "high", "n", "standard_error", "warning", "reason")


# --- rates ------------------------------------------------------------------------------------------------------------


def verdict_rates(
    counts: pl.DataFrame, *, by: Sequence[str] = (), questions: pl.DataFrame | None = None, level: float = LEVEL
) -> pl.DataFrame:
    """Share of each verdict among the graded checks, pooled over checks and averaged over questions.

    counts: verdict counts at any grain that has the four verdicts and question_id. Returns one row a model, judge,
    variant, group of ``by``, verdict and ``rate``: ``micro`` = sum of the verdict / sum of graded checks (a ratio
    estimator), ``macro`` = mean over questions of the share within the question; ``estimate, low, high, n`` (questions
    with a graded check), ``checks`` graded, ``ungraded``, ``standard_error`` (linearised, clustered), ``warning``,
    ``reason``.

    The interval is Wilson's with the effective number of checks p(1 - p)/SE^2, shrunk by (z/t)^2 for few clusters: it
    stays in [0, 1] and does not collapse at a rate of 0, where every question counts as one check.

    Source: Cochran 1977, section 6.4; Korn and Graubard 1998 for the effective sample size. Measured coverage at 95 %:
    see ``tests/coverage``. A group without a graded check has null rates and says so.

    >>> counts = pl.DataFrame({"model": "m", "judge": "j", "variant": "multimodal", "question_id": ["q1", "q2"],
    ...     "meets": [1, 0], "partially_meets": 0, "missing": [0, 3], "contradicts": 0, "ungraded": 0})
    >>> rates = verdict_rates(counts).filter(verdict="meets")
    >>> dict(rates.select("rate", "estimate").iter_rows())
    {'micro': 0.25, 'macro': 0.5}
    """
    keys = [*_SERIES, *by]
    rows = _with_columns(counts, by, questions)
    graded = pl.sum_horizontal(VERDICTS).alias("checks")
    totals = rows.with_columns(graded).group_by(*keys, "question_id").agg(pl.col(*VERDICTS, "checks", "ungraded").sum())
    return _by_series(totals, keys, lambda part: _rates(part, keys, questions, level), ["verdict", "rate"])


def _rates(totals: pl.DataFrame, keys: list[str], questions: pl.DataFrame | None, level: float) -> pl.DataFrame:
    groups, ids, table = _spread(totals, keys, [*VERDICTS, "checks", "ungraded"])
    clusters = clusters_of(questions, ids)
    checks = np.where(table["checks"] > 0, table["checks"], np.nan)
    sizes = groups.with_columns(
        pl.Series("checks", np.nansum(table["checks"], axis=0)).cast(pl.Int64),
        pl.Series("ungraded", np.nansum(table["ungraded"], axis=0)).cast(pl.Int64),
    )
    parts = []
    for verdict in VERDICTS:
        micro = ratio_intervals(table[verdict], checks, clusters=clusters, level=level)
        macro = mean_intervals(table[verdict] / checks, clusters=clusters, level=level)
        for rate, result in zip(RATES, (micro, macro), strict=True):
            labels = [
                pl.lit(verdict, dtype=_VERDICT).alias("verdict"),
                pl.lit(rate, dtype=pl.Enum(RATES)).alias("rate"),
            ]
            parts.append(
                pl.concat([sizes.with_columns(labels), share_intervals(result, level=level)], how="horizontal")
            )
    unknown = pl.when(pl.col("checks") == 0).then(pl.lit("no graded check")).otherwise("reason").alias("reason")
    return (
        pl.concat(parts)
        .select(*keys, "verdict", "rate", *_INTERVAL[:4], "checks", "ungraded", *_INTERVAL[4:])
        .with_columns(unknown)
    )


def negative_share(
    scores: pl.DataFrame, *, by: Sequence[str] = (), questions: pl.DataFrame | None = None, level: float = LEVEL
) -> pl.DataFrame:
    """Share of scored questions whose score is below zero: answers that do more harm than saying nothing.

    scores: one row a model, judge, variant and question_id. Returns one row a model, judge, variant and group with
    ``negative`` (how many), ``estimate, low, high, n`` and the interval of ``verdict_rates``.
    """
    keys = [*_SERIES, *by]
    scored = _with_columns(scores, by, questions).drop_nulls("score")
    below = scored.select(*keys, "question_id", (pl.col("score") < 0).cast(pl.Float64).alias("below"))

    def shares(part: pl.DataFrame) -> pl.DataFrame:
        groups, ids, table = _spread(part, keys, ["below"])
        result = mean_intervals(table["below"], clusters=clusters_of(questions, ids), level=level)
        negative = pl.Series("negative", np.nansum(table["below"], axis=0)).cast(pl.Int64)
        return pl.concat([groups.with_columns(negative), share_intervals(result, level=level)], how="horizontal")

    return _by_series(below, keys, shares, []).select(*keys, "negative", *_INTERVAL)


# --- points -----------------------------------------------------------------------------------------------------------


def check_counts(verdicts: pl.DataFrame, checks: pl.DataFrame) -> pl.DataFrame:
    """Verdict counts at the grain of single checks: what ``attributed_losses`` splits losses by role or check from.

    verdicts: one row a model, judge, variant, question_id, check_id and replicate with a verdict or null. checks:
    tier, role and item of every variant, question_id and check_id. Returns the verdicts with the columns of ``checks``
    and the four counts, ``ungraded`` and ``checks``, each 0 or 1.
    """
    placed = verdicts.select(*ANSWER, "check_id", "replicate", "verdict").join(
        checks.select("question_id", "variant", "check_id", "tier", "role", "item_id", "item_type"),
        on=["question_id", "variant", "check_id"],
        how="inner",
    )
    verdict = pl.col("verdict").cast(pl.String)
    return placed.with_columns(
        *((verdict == name).fill_null(False).cast(pl.Int32).alias(name) for name in VERDICTS),
        verdict.is_null().cast(pl.Int32).alias("ungraded"),
        pl.lit(1, dtype=pl.Int32).alias("checks"),
    ).drop("verdict")


def attributed_losses(counts: pl.DataFrame, scoring: Scoring | None = None, *, grain: Sequence[str]) -> pl.DataFrame:
    """Split the points lost of every answer and tier further, by role, item type or single check.

    counts: verdict counts with the columns of ``grain`` beside tier. Within a question and tier every check costs what
    its verdict costs there, with D and w of the whole tier: (1 - lambda) w / D partially met, w / D missing,
    (|mu| - mu) w / D contradicted. Returns one row a model, judge, variant, question_id, tier and grain with the three
    losses of ``Scoring.losses``; over the grain they add up to those, and over everything to 1 - score.
    """
    scoring = scoring or Scoring()
    parts = [_attributed(part, scoring, list(grain)) for part in counts.partition_by("replicate")]
    split = pl.concat(parts)
    scored = split.group_by(ANSWER).agg(pl.col("replicate").n_unique().alias("replicates"))
    return (
        split.group_by(*ANSWER, "tier", *grain)
        .agg(pl.col(LOSSES).sum())
        .join(scored, on=ANSWER)
        .with_columns(pl.col(LOSSES) / pl.col("replicates"))
        .drop("replicates")
        .sort(*ANSWER, "tier", *grain)
    )


def _attributed(counts: pl.DataFrame, scoring: Scoring, grain: list[str]) -> pl.DataFrame:
    """The losses of one replicate, each tier's shared out by the number of verdicts of that kind."""
    sums = [*VERDICTS, "ungraded", "checks"]
    status = [pl.col("answer_status").first()] if "answer_status" in counts.columns else []
    whole = counts.group_by(*ANSWER, "replicate", "tier").agg(pl.col(sums).sum(), *status)
    fine = counts.group_by(*ANSWER, "replicate", "tier", *grain).agg(pl.col(VERDICTS).sum())
    lost = scoring.losses(whole).join(whole.select(*ANSWER, "tier", *VERDICTS), on=[*ANSWER, "tier"])
    joined = fine.join(lost, on=[*ANSWER, "tier"], suffix="_tier")
    shares = [
        pl.when(pl.col(verdict) > 0)
        .then(pl.col(name) * pl.col(verdict) / pl.col(f"{verdict}_tier"))
        .otherwise(0.0)
        .alias(name)
        for name, verdict in _LOST.items()
    ]
    return joined.select(*ANSWER, "replicate", "tier", *grain, *shares)


def points_lost(
    losses: pl.DataFrame,
    *,
    by: Sequence[str] = (),
    within: Sequence[str] = (),
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
) -> pl.DataFrame:
    """What each verdict costs the score of a model, split by any columns: the parts add up exactly to 1 - score.

    losses: from ``Scoring.losses`` or ``attributed_losses``. Returns one row a model, judge, variant, ``within``,
    ``by`` and verdict: ``estimate`` = sum of the losses / number of scored questions, with a clustered t interval,
    ``n`` and ``share`` of the whole loss. ``by`` splits the model's loss (by=["domain"]: what each domain adds to it);
    ``within`` gives each of its groups its own denominator (within=["domain"]: the loss on that domain's questions,
    adding up to 1 - the domain's score).

    Formula: with D = M + P + S + |mu| C and effective tier weight w a question loses w (1 - lambda) P / D, w S / D and
    w (|mu| - mu) C / D. This split is exact and additive; counterfactuals are not: see ``loss_readings``.

    >>> losses = pl.DataFrame({"model": "m", "judge": "j", "variant": "multimodal", "question_id": ["q1", "q2"],
    ...     "tier": "valuable", "lost_partially_meets": 0.0, "lost_missing": [0.5, 0.1],
    ...     "lost_contradicts": [0.0, 0.8]})
    >>> points_lost(losses)["estimate"].round(6).to_list()
    [0.0, 0.3, 0.4]
    """
    series, keys = [*_SERIES, *within], [*_SERIES, *within, *by]
    rows = _with_columns(losses, [*within, *by], questions)
    totals = rows.group_by(*keys, "question_id").agg(pl.col(LOSSES).sum())
    return _by_series(totals, keys, lambda part: _lost(part, series, keys, questions, level), ["verdict"])


def _lost(
    totals: pl.DataFrame, series: list[str], keys: list[str], questions: pl.DataFrame | None, level: float
) -> pl.DataFrame:
    groups, ids, table = _spread(totals, keys, list(LOSSES))
    clusters = clusters_of(questions, ids)
    owners, _, scored = _spread(
        totals.select(*series, "question_id").unique().with_columns(pl.lit(1.0).alias("scored")), series, ["scored"]
    )
    owner = groups.join(owners.with_row_index("owner"), on=series, how="left", maintain_order="left", nulls_equal=True)[
        "owner"
    ]
    asked = ~np.isnan(scored["scored"])[:, owner.to_numpy()]
    parts = []
    for name, verdict in _LOST.items():
        # A scored question without checks of a group loses nothing there, and still counts.
        values = np.where(asked, np.nan_to_num(table[name]), np.nan)
        result = mean_intervals(values, clusters=clusters, level=level).select(_INTERVAL)
        parts.append(
            pl.concat([groups.with_columns(pl.lit(verdict, dtype=_VERDICT).alias("verdict")), result], how="horizontal")
        )
    whole = pl.col("estimate").sum().over(series)
    share = pl.when(whole > 0).then(pl.col("estimate") / whole).alias("share")
    return pl.concat(parts).with_columns(share).select(*keys, "verdict", *_INTERVAL[:4], "share", *_INTERVAL[4:])


def omission_ratio(
    counts: pl.DataFrame,
    losses: pl.DataFrame,
    *,
    by: Sequence[str] = (),
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
) -> pl.DataFrame:
    """How many omissions stand against one contradiction, in counts and in points of the score.

    counts and losses of the same answers (losses decide which are scored) with the columns of ``by``. Returns one row
    a model, judge, variant, group and ``measure``: ``counts`` = missing checks / contradicted checks, ``points`` =
    points lost to the ones / points lost to the others; with ``omission`` and ``contradiction`` (the two totals, per
    scored question), ``estimate, low, high, n``.

    Formula: R = sum a / sum b; interval exp(log R +- t SE) with SE^2 = G/(G-1) sum_c (sum_{i in c} a_i / sum a - b_i /
    sum b)^2 (delta method, clustered). Null, with the reason, where one of the totals is 0.

    Source: Cochran 1977, section 6.4, on the logarithm. A contradiction costs up to four times an omission at the
    default constants, so the two measures differ by about that factor: name the one that is meant.
    """
    keys = [*_SERIES, *by]
    scored = losses.select(ANSWER).unique()
    sources = {
        "counts": (counts.join(scored, on=ANSWER, how="semi"), ("missing", "contradicts")),
        "points": (losses, ("lost_missing", "lost_contradicts")),
    }
    tables = []
    for measure, (frame, columns) in sources.items():
        rows = _with_columns(frame, by, questions)
        totals = rows.group_by(*keys, "question_id").agg(pl.col(columns).sum())
        label = pl.lit(measure, dtype=pl.Enum(MEASURES)).alias("measure")

        def ratios(part: pl.DataFrame, columns: tuple[str, str] = columns, label: pl.Expr = label) -> pl.DataFrame:
            return _ratios(part, keys, columns, questions, level).with_columns(label)

        tables.append(_by_series(totals, keys, ratios, []))
    return pl.concat(tables).sort(*keys, "measure").select(*keys, "measure", "omission", "contradiction", *_INTERVAL)


def _ratios(
    totals: pl.DataFrame, keys: list[str], columns: tuple[str, str], questions: pl.DataFrame | None, level: float
) -> pl.DataFrame:
    groups, ids, table = _spread(totals, keys, list(columns))
    clusters = clusters_of(questions, ids)
    used = ~np.isnan(table[columns[0]])
    above, below = (np.nan_to_num(table[name]) for name in columns)
    units = (cluster_sums(used.astype(np.int64), clusters) > 0).sum(axis=0)
    n, above_sum, below_sum = used.sum(axis=0), above.sum(axis=0), below.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        log = np.log(above_sum / below_sum)
        error = clustered_error(cluster_sums(above / above_sum - below / below_sum, clusters), units)
        low, high = t_interval(log, error, units, level=level)
        estimate = np.where(below_sum > 0, above_sum / below_sum, np.nan)
        bounds = [np.where((above_sum > 0) & (below_sum > 0), np.exp(bound), np.nan) for bound in (low, high)]
    reasons = [
        "no contradiction" if not b else "no omission: no interval" if not a else no_interval_reason(int(k), int(u))
        for a, b, k, u in zip(above_sum, below_sum, n, units, strict=True)
    ]
    return groups.with_columns(
        pl.Series("omission", above_sum / np.maximum(n, 1)),
        pl.Series("contradiction", below_sum / np.maximum(n, 1)),
        pl.Series("estimate", estimate).fill_nan(None),
        pl.Series("low", bounds[0]).fill_nan(None),
        pl.Series("high", bounds[1]).fill_nan(None),
        pl.Series("n", n).cast(pl.Int64),
        pl.Series("standard_error", np.where(np.isfinite(error), estimate * error, np.nan)).fill_nan(None),
        pl.Series("warning", [few_clusters_warning(int(unit)) for unit in units], dtype=pl.String),
        pl.Series("reason", reasons, dtype=pl.String),
    )


def loss_readings(
    counts: pl.DataFrame, scoring: Scoring | None = None, *, questions: pl.DataFrame | None = None, level: float = LEVEL
) -> pl.DataFrame:
    """The same loss read in other ways: exact additive parts, Shapley values, and one-at-a-time counterfactuals.

    Returns one row a model, judge, variant, ``reading`` and verdict with ``estimate, low, high, n``: ``additive`` (the
    parts of ``points_lost``) and ``shapley`` (mean gain from mending that verdict over all six orders of mending) both
    add up to 1 - score; ``one_at_a_time`` (gain if that verdict alone became meets) and ``contradictions_to_missing``
    (gain if every contradiction had been an omission) do not, because a contradiction also enlarges the denominator.
    """
    scoring = scoring or Scoring()
    mended = {kinds: _score(_mended(counts, kinds), scoring, f"v{i}") for i, kinds in enumerate(_coalitions())}
    values = {kinds: f"v{i}" for i, kinds in enumerate(_coalitions())}
    softer = counts.with_columns(
        (pl.col("missing") + pl.col("contradicts")).alias("missing"), pl.lit(0, dtype=pl.Int32).alias("contradicts")
    )
    parts = scoring.losses(counts).group_by(ANSWER).agg(pl.col(LOSSES).sum())
    wide = parts.join(_score(softer, scoring, "softer"), on=ANSWER)
    for frame in mended.values():
        wide = wide.join(frame, on=ANSWER)
    columns = {
        **{("additive", verdict): pl.col(name) for name, verdict in _LOST.items()},
        **{("shapley", verdict): _shapley(verdict, values) for verdict in VERDICTS[1:]},
        **{("one_at_a_time", verdict): pl.col(values[verdict,]) - pl.col(values[()]) for verdict in VERDICTS[1:]},
        ("contradictions_to_missing", "contradicts"): pl.col("softer") - pl.col(values[()]),
    }
    named = wide.select(
        *ANSWER, *(value.alias(f"{reading} {verdict}") for (reading, verdict), value in columns.items())
    )

    def means(part: pl.DataFrame) -> pl.DataFrame:
        groups, ids, table = _spread(part, _SERIES, [f"{reading} {verdict}" for reading, verdict in columns])
        clusters = clusters_of(questions, ids)
        return pl.concat(
            pl.concat(
                [
                    groups.with_columns(
                        pl.lit(reading, dtype=pl.Enum(READINGS)).alias("reading"),
                        pl.lit(verdict, dtype=_VERDICT).alias("verdict"),
                    ),
                    mean_intervals(table[f"{reading} {verdict}"], clusters=clusters, level=level).select(_INTERVAL),
                ],
                how="horizontal",
            )
            for reading, verdict in columns
        )

    return _by_series(named, _SERIES, means, ["reading", "verdict"])


def _coalitions() -> list[tuple[str, ...]]:
    return [tuple(kind for i, kind in enumerate(VERDICTS[1:]) if code >> i & 1) for code in range(8)]


def _mended(counts: pl.DataFrame, kinds: tuple[str, ...]) -> pl.DataFrame:
    """The counts with every verdict of these kinds turned into meets."""
    gone = [pl.lit(0, dtype=pl.Int32).alias(kind) for kind in kinds]
    return counts.with_columns(pl.sum_horizontal("meets", *kinds).alias("meets"), *gone)


def _score(counts: pl.DataFrame, scoring: Scoring, name: str) -> pl.DataFrame:
    return scoring.questions(counts).drop_nulls("score").select(*ANSWER, pl.col("score").alias(name))


def _shapley(verdict: str, values: dict[tuple[str, ...], str]) -> pl.Expr:
    """Mean marginal gain of mending one of three verdicts, over the orders of mending (1/3, 1/6, 1/6, 1/3)."""
    total = pl.lit(0.0)
    for before, column in values.items():
        if verdict not in before:
            after = tuple(kind for kind in VERDICTS[1:] if kind in (*before, verdict))
            weight = 1 / 6 if len(before) == 1 else 1 / 3
            total = total + weight * (pl.col(values[after]) - pl.col(column))
    return total


def costliest_questions(losses: pl.DataFrame, *, model: str, judge: str, variant: str, top: int = 20) -> pl.DataFrame:
    """The questions on which a model loses most, with what it loses by verdict.

    Returns one row a question, the costliest first (ties by question id): the three losses, ``lost`` (their sum, 1 -
    score), ``score`` and ``points``, what the question takes from the model's score (lost / n).
    """
    rows = _one_series(losses, model, judge, variant)
    totals = (
        rows.group_by("question_id").agg(pl.col(LOSSES).sum()).with_columns(pl.sum_horizontal(LOSSES).alias("lost"))
    )
    return (
        totals.with_columns((1 - pl.col("lost")).alias("score"), (pl.col("lost") / totals.height).alias("points"))
        .sort("lost", "question_id", descending=[True, False])
        .head(top)
    )


def costliest_checks(losses: pl.DataFrame, *, model: str, judge: str, variant: str, top: int = 20) -> pl.DataFrame:
    """The single checks that cost a model most, from losses at the grain of checks (grain=["check_id", ...]).

    Returns one row a check, the costliest first (ties by ids): the columns of the grain, ``verdict`` (the one that
    cost most), ``lost`` (from the question's score) and ``points`` (from the model's: lost / n questions).
    """
    rows = _one_series(losses, model, judge, variant)
    verdict = pl.concat_list(LOSSES).list.arg_max().replace_strict(dict(enumerate(VERDICTS[1:])), return_dtype=_VERDICT)
    ranked = rows.with_columns(verdict.alias("verdict"), pl.sum_horizontal(LOSSES).alias("lost"))
    points = (pl.col("lost") / rows["question_id"].n_unique()).alias("points")
    return (
        ranked.filter(pl.col("lost") > 0)
        .with_columns(points)
        .drop(*_SERIES, *LOSSES)
        .sort("lost", "question_id", "check_id", descending=[True, False, False])
        .head(top)
    )


# --- checks as items --------------------------------------------------------------------------------------------------


def item_analysis(verdicts: pl.DataFrame, scoring: Scoring | None = None, *, judge: str, variant: str) -> pl.DataFrame:
    """Every check as an item of a test that the models sit: how hard it is and whether it tells them apart.

    Returns one row a question_id and check_id: ``difficulty`` (share of models that meet it), ``credit`` (mean worth
    of the verdicts, 1 / lambda / 0 / mu), ``discrimination`` (corrected item-total correlation: Pearson's, over
    models, of the worth of the check with the mean worth of all the model's other checks), ``dead`` ("met by all",
    "failed by all": none meets it, not even in part; of two models at least, for one alone is told from nobody), ``n``
    models graded, ``reason``. Replicates are averaged.

    With a dozen models these are screens, not estimates: a correlation over 14 models is known to about +-0.5. Source:
    classical test theory (Lord and Novick 1968). Undefined for a check on which all models have the same worth, or
    with fewer than three models.
    """
    scoring = scoring or Scoring()
    chosen = _chosen_verdicts(verdicts, variant).filter(pl.col("judge").cast(pl.String) == judge)
    if chosen.is_empty():
        known = ", ".join(sorted(verdicts["judge"].cast(pl.String).unique()))
        raise UnknownName(f"no verdicts of judge {judge!r} on {variant}; known judges: {known}")
    cells = chosen.group_by("model", "question_id", "check_id").agg(
        _worth(scoring).mean().alias("worth"),
        (pl.col("verdict") == "meets").mean().alias("met"),
        pl.col("verdict").is_in(["meets", "partially_meets"]).any().alias("earned"),
    )
    keys = cells.select("question_id", "check_id").unique().sort("question_id", "check_id")
    models = sorted(cells["model"].unique())
    row = cells.join(keys.with_row_index("row"), on=["question_id", "check_id"], maintain_order="left")[
        "row"
    ].to_numpy()
    worth = np.full((keys.height, len(models)), np.nan)
    worth[row, cells["model"].cast(pl.Enum(models)).to_physical().to_numpy()] = cells["worth"].to_numpy()
    discrimination, n = _item_rest_correlation(worth)
    shares = cells.group_by("question_id", "check_id").agg(
        pl.col("met").mean().alias("difficulty"),
        pl.col("worth").mean().alias("credit"),
        pl.when(pl.len() < 2)
        .then(None)
        .when(pl.col("met").min() == 1)
        .then(pl.lit(DEAD[0]))
        .when(~pl.col("earned").any())
        .then(pl.lit(DEAD[1]))
        .alias("dead"),
    )
    return (
        keys.with_columns(pl.Series("discrimination", discrimination).fill_nan(None), pl.Series("n", n).cast(pl.Int64))
        .join(shares, on=["question_id", "check_id"], maintain_order="left")
        .with_columns(
            pl.when(pl.col("n") < 3)
            .then(pl.lit("fewer than three models"))
            .when(pl.col("discrimination").is_null())
            .then(pl.lit("all models have the same worth on it, or on the rest"))
            .alias("reason")
        )
        .select("question_id", "check_id", "difficulty", "credit", "discrimination", "dead", "n", "reason")
    )


def _item_rest_correlation(worth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Correlation over models (columns) of each item (row) with the mean of the others, and the models it rests on."""
    graded = ~np.isnan(worth)
    filled = np.where(graded, worth, 0.0)
    others = graded.sum(axis=0) - graded
    rest = np.divide(filled.sum(axis=0) - filled, others, out=np.full(worth.shape, np.nan), where=others > 0)
    used = graded & ~np.isnan(rest)
    n = used.sum(axis=1)

    def centred(values: np.ndarray) -> np.ndarray:
        values = np.where(used, values, 0.0)
        return np.where(used, values - (values.sum(axis=1) / np.maximum(n, 1))[:, None], 0.0)

    item, total = centred(filled), centred(rest)
    spread = np.sqrt((item**2).sum(axis=1) * (total**2).sum(axis=1))
    known = (n >= 3) & (spread > 1e-12)
    return np.divide((item * total).sum(axis=1), spread, out=np.full(len(worth), np.nan), where=known), graded.sum(
        axis=1
    )


def dead_share(
    items: pl.DataFrame, checks: pl.DataFrame, *, variant: str, by: Sequence[str] = (), level: float = LEVEL
) -> pl.DataFrame:
    """Share of checks that all models meet, and of checks that all fail: they cannot tell models apart.

    items: from ``item_analysis``; checks give tier, role and item type for ``by``. Checks that one model alone was
    graded on are left out. Returns one row a group and kind of ``dead``: ``estimate`` (pooled over checks), ``low,
    high`` clustered by question as in ``verdict_rates``, ``n`` questions, ``checks``.
    """
    keys = list(by) or ["group"]
    placed = checks.filter(pl.col("variant").cast(pl.String) == variant).with_columns(pl.lit("all").alias("group"))
    shared = items.filter(pl.col("n") > 1)
    rows = shared.join(placed.select("question_id", "check_id", *keys), on=["question_id", "check_id"])
    kinds = [(pl.col("dead") == kind).sum().alias(kind) for kind in DEAD]
    totals = rows.group_by(*keys, "question_id").agg(pl.len().alias("checks"), *kinds)
    groups, _, table = _spread(totals, keys, ["checks", *DEAD])
    size = pl.Series("checks", np.nansum(table["checks"], axis=0)).cast(pl.Int64)
    parts = [
        pl.concat(
            [
                groups.with_columns(pl.lit(kind, dtype=pl.Enum(DEAD)).alias("dead"), size),
                share_intervals(ratio_intervals(table[kind], table["checks"], level=level), level=level),
            ],
            how="horizontal",
        )
        for kind in DEAD
    ]
    shares = pl.concat(parts).sort(*keys, "dead", nulls_last=True)
    return shares.select(*keys, "dead", *_INTERVAL[:4], "checks", *_INTERVAL[4:])


def judge_splits(verdicts: pl.DataFrame, scoring: Scoring | None = None, *, variant: str) -> pl.DataFrame:
    """How far each check splits the judges who graded the same answer to it.

    Returns one row a question_id and check_id graded by two judges or more: ``disagreement`` (share of judge pairs,
    over all models, with different verdicts), ``points`` (their mean distance in worth, 1 / lambda / 0 / mu), ``n``
    pairs; the most split first (ties by ids).
    """
    values = (scoring or Scoring()).values
    cell = ["question_id", "check_id", "model", "replicate"]
    tallies = (
        _chosen_verdicts(verdicts, variant)
        .group_by(cell)
        .agg(*((pl.col("verdict") == verdict).sum().cast(pl.Int64).alias(verdict) for verdict in VERDICTS))
    )
    pairs = [(a, b) for i, a in enumerate(VERDICTS) for b in VERDICTS[i + 1 :]]
    worth = dict(zip(VERDICTS, values, strict=True))
    judges = pl.sum_horizontal(VERDICTS)
    apart = pl.sum_horizontal([pl.col(a) * pl.col(b) for a, b in pairs])
    distance = pl.sum_horizontal([pl.col(a) * pl.col(b) * abs(worth[a] - worth[b]) for a, b in pairs])
    return (
        tallies.select(
            "question_id",
            "check_id",
            (judges * (judges - 1) // 2).alias("n"),
            apart.alias("apart"),
            distance.alias("points"),
        )
        .group_by("question_id", "check_id")
        .agg(pl.col("n", "apart", "points").sum())
        .filter(pl.col("n") > 0)
        .select(
            "question_id",
            "check_id",
            (pl.col("apart") / pl.col("n")).alias("disagreement"),
            pl.col("points") / pl.col("n"),
            pl.col("n").cast(pl.Int64),
        )
        .sort("disagreement", "points", "question_id", "check_id", descending=[True, True, False, False])
    )


def _chosen_verdicts(verdicts: pl.DataFrame, variant: str) -> pl.DataFrame:
    """The graded checks of one variant, verdicts as text."""
    chosen = verdicts.filter(pl.col("variant").cast(pl.String) == variant).drop_nulls("verdict")
    return chosen.with_columns(pl.col("verdict").cast(pl.String))


def _worth(scoring: Scoring) -> pl.Expr:
    worth = dict(zip(VERDICTS, map(float, scoring.values), strict=True))
    return pl.col("verdict").replace_strict(worth, return_dtype=pl.Float64)


# --- shared -----------------------------------------------------------------------------------------------------------


def _with_columns(frame: pl.DataFrame, names: Sequence[str], questions: pl.DataFrame | None) -> pl.DataFrame:
    """The frame with the named columns, those that it lacks taken from the questions."""
    lacking = [name for name in names if name not in frame.columns]
    known = [] if questions is None else questions.columns
    for name in lacking:
        if name not in known:
            raise UnknownName(f"no column {name!r} to group by; known: {', '.join(sorted({*frame.columns, *known}))}")
    if questions is None or not lacking:
        return frame
    one_each = questions.select("question_id", *lacking).unique("question_id", keep="first", maintain_order=True)
    return frame.join(one_each, on="question_id", how="left")


def _by_series(
    frame: pl.DataFrame, keys: list[str], analyse: Callable[[pl.DataFrame], pl.DataFrame], order: list[str]
) -> pl.DataFrame:
    """Analyse each judge and variant apart, which keeps the matrices small, and sort what comes out."""
    parts = [analyse(part) for part in frame.partition_by("judge", "variant") or [frame]]
    return pl.concat(parts).sort(*keys, *order, nulls_last=True)


def _spread(
    frame: pl.DataFrame, keys: list[str], columns: list[str]
) -> tuple[pl.DataFrame, list[str], dict[str, np.ndarray]]:
    """Groups (a row each), question ids, and a matrix (questions, groups) a column, NaN where there is no row."""
    groups = frame.select(keys).unique().sort(keys, nulls_last=True)
    ids = sorted(frame["question_id"].unique())
    indexed = frame.join(groups.with_row_index("column"), on=keys, how="left", maintain_order="left", nulls_equal=True)
    where = (
        frame["question_id"].cast(pl.Enum(ids)).to_physical().to_numpy(),
        indexed["column"].to_numpy(),
    )
    tables = {}
    for column in columns:
        tables[column] = np.full((len(ids), groups.height), np.nan)
        tables[column][where] = frame[column].cast(pl.Float64).to_numpy()
    return groups, ids, tables


def _one_series(frame: pl.DataFrame, model: str, judge: str, variant: str) -> pl.DataFrame:
    for column, name in zip(_SERIES, (model, judge, variant), strict=True):
        known = sorted(frame[column].cast(pl.String).unique())
        if name not in known:
            raise UnknownName(f"unknown {column} {name!r}; known: {', '.join(known)}")
    return frame.filter(model=model, judge=judge, variant=variant)
