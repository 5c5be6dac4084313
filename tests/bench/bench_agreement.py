"""Agreement, leniency and variance components, against krippendorff, scikit-learn, statsmodels and pandas.

A world of the paper's size: 14 models, three judges, 1,813 questions, some 27,600 checks, 1.16 M verdicts. Each
function times tasks and their peers on the same data and asserts that both give the same numbers. A peer that would
take hours is measured on a part and scaled; its name says so.
"""

import json
import statistics
import time
from collections.abc import Callable
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from gamut_analysis import agreement, leniency, variance
from gamut_analysis.vocabulary import VERDICTS

MODELS, JUDGES, QUESTIONS = 14, 3, 1813
# Resamples that a looped peer is timed on.
PART = 3


@cache
def codes() -> tuple[np.ndarray, np.ndarray]:
    """The question of each check, and the code that each judge gave: (judges, models, checks)."""
    rng = np.random.default_rng(0)
    question = np.repeat(np.arange(QUESTIONS), rng.poisson(13.2, QUESTIONS) + 2)
    shares = [[skill, 0.13, 0.82 - skill, 0.05] for skill in np.linspace(0.7, 0.4, MODELS)]
    truth = np.stack([rng.choice(4, len(question), p=share) for share in shares])
    slips = rng.random((JUDGES, *truth.shape)) < np.array([0.1, 0.15, 0.25])[:, None, None]
    return question, np.where(slips, rng.integers(0, 4, slips.shape), truth)


@cache
def verdicts() -> pl.DataFrame:
    question, given = codes()
    judge, model, check = np.indices(given.shape).reshape(3, -1)
    names = {
        "model": ("model", MODELS, model),
        "judge": ("judge", JUDGES, judge),
        "question_id": ("q", QUESTIONS, question[check]),
    }
    columns = {
        column: np.array([f"{stem}-{i:04d}" for i in range(count)])[index]
        for column, (stem, count, index) in names.items()
    }
    numbers = np.arange(len(question)) - np.searchsorted(question, question)
    ids = np.array([f"check-{i:03d}" for i in range(numbers.max() + 1)])[numbers[check]]
    label = pl.Series("verdict", np.array(VERDICTS)[given.ravel()], dtype=pl.Enum(VERDICTS))
    frame = pl.DataFrame(columns).with_columns(variant=pl.lit("multimodal"), check_id=pl.Series(ids), verdict=label)
    return frame.sample(fraction=1, shuffle=True, seed=1)


@cache
def patterns() -> pl.DataFrame:
    return agreement.verdict_patterns(verdicts())


@cache
def tables() -> pl.DataFrame:
    return agreement.pattern_tables(patterns())


@cache
def scores() -> pl.DataFrame:
    """Score-like means of each answer: worth of the verdicts over its checks."""
    question, given = codes()
    worth = np.array([1, 0.5, 0, -2])[given]
    sizes = np.bincount(question)
    means = np.stack([[np.bincount(question, row) / sizes for row in judge] for judge in worth])
    judge, model, asked = np.indices(means.shape).reshape(3, -1)
    return pl.DataFrame(
        {
            "model": np.char.mod("model-%04d", model),
            "judge": np.char.mod("judge-%04d", judge),
            "variant": "multimodal",
            "question_id": np.char.mod("q-%04d", asked),
            "score": means.ravel(),
        }
    )


def median_seconds(task: Callable[[], Any], repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def row(task: str, ours: float, peer_name: str, peer: float, equal: bool) -> dict[str, Any]:
    assert equal, f"{task}: not what {peer_name} gives"
    return {"task": task, "ours": ours, "peer_name": peer_name, "peer": peer, "ratio": peer / ours, "equal": equal}


def _estimate(report: pl.DataFrame, name: str, **where: Any) -> float:
    return report.filter(coefficient=name, **where)["estimate"][0]


def points() -> list[dict[str, Any]]:
    """All coefficients of all judges, no interval, against one coefficient of a package at a time."""
    import krippendorff
    from sklearn.metrics import cohen_kappa_score
    from statsmodels.stats.inter_rater import fleiss_kappa

    flat = codes()[1].reshape(JUDGES, -1)
    ours = median_seconds(lambda: agreement.agreement(patterns(), replicates=1))
    report = agreement.agreement(patterns(), replicates=1)
    pairs = agreement.pair_agreement(tables(), replicates=1)
    rows = []
    for metric in ("nominal", "ordinal", "interval"):
        start = time.perf_counter()
        alpha = krippendorff.alpha(flat, level_of_measurement=metric, value_domain=[0, 1, 2, 3])
        peer = time.perf_counter() - start
        equal = bool(np.isclose(alpha, _estimate(report, f"alpha_{metric}"), atol=1e-9))
        rows.append(row("13 coefficients, points", ours, f"krippendorff {metric} alone", peer, equal))
    start = time.perf_counter()
    fleiss = fleiss_kappa(np.stack([(flat == k).sum(axis=0) for k in range(4)], axis=1))
    peer = time.perf_counter() - start
    rows.append(
        row(
            "13 coefficients, points",
            ours,
            "statsmodels fleiss alone",
            peer,
            bool(np.isclose(fleiss, _estimate(report, "fleiss"), atol=1e-9)),
        )
    )
    start = time.perf_counter()
    kappas = [cohen_kappa_score(flat[a], flat[b], weights="quadratic") for a, b in combinations(range(JUDGES), 2)]
    peer = time.perf_counter() - start
    found = pairs.filter(coefficient="kappa_quadratic")["estimate"].to_list()
    ours = median_seconds(lambda: agreement.pair_agreement(tables(), replicates=1))
    rows.append(
        row(
            "13 coefficients x 3 pairs, points",
            ours,
            "scikit-learn quadratic kappa alone",
            peer,
            bool(np.allclose(kappas, found, atol=1e-9)),
        )
    )
    return rows


def resamples() -> list[dict[str, Any]]:
    """10,000 resamples of questions: all coefficients, pooled and by model, against a loop over one coefficient."""
    import krippendorff

    question, given = codes()
    flat = given.transpose(0, 2, 1)
    rng = np.random.default_rng(0)
    members = [np.flatnonzero(question == q) for q in range(QUESTIONS)]

    def loop(replicates: int) -> list[float]:
        drawn = (np.concatenate([members[q] for q in rng.integers(0, QUESTIONS, QUESTIONS)]) for _ in range(replicates))
        return [
            krippendorff.alpha(
                flat[:, rows].reshape(JUDGES, -1), level_of_measurement="ordinal", value_domain=[0, 1, 2, 3]
            )
            for rows in drawn
        ]

    start = time.perf_counter()
    values = loop(PART)
    peer = (time.perf_counter() - start) / PART * 10_000
    pooled = median_seconds(lambda: agreement.agreement(patterns()), 3)
    report = agreement.agreement(patterns()).filter(coefficient="alpha_ordinal").row(0, named=True)
    # A handful of the loop's draws cannot but lie within six standard errors of the estimate.
    near = bool(np.all(np.abs(np.array(values) - report["estimate"]) < 6 * report["standard_error"]))
    rows = [
        row(
            "13 coefficients, 10,000 resamples, pooled",
            pooled,
            f"krippendorff ordinal loop (x{10_000 // PART})",
            peer,
            near,
        )
    ]
    by_model = median_seconds(lambda: agreement.agreement(patterns(), by=["model"]), 3)
    single = agreement.agreement(patterns(), by=["model"], replicates=1)
    alpha = krippendorff.alpha(given[:, 0], level_of_measurement="ordinal", value_domain=[0, 1, 2, 3])
    same = bool(np.isclose(alpha, _estimate(single, "alpha_ordinal", model="model-0000"), atol=1e-9))
    rows.append(row("the same by model", by_model, f"krippendorff ordinal loop (x{10_000 // PART})", peer, same))
    pairs = median_seconds(lambda: agreement.pair_agreement(tables()), 3)
    rows.append(row("13 coefficients x 3 pairs, 10,000 resamples", pairs, "krippendorff ordinal loop", peer, near))
    return rows


def counting() -> list[dict[str, Any]]:
    """From 1.16 M verdicts to 4 x 4 tables, against pandas crosstab of one pair."""
    import pandas as pd

    ours = median_seconds(lambda: agreement.verdict_patterns(verdicts()), 3)
    flat = codes()[1].reshape(JUDGES, -1)
    start = time.perf_counter()
    table = pd.crosstab(flat[0], flat[1]).to_numpy()
    peer = time.perf_counter() - start
    found = tables().filter(judge_a="judge-0000", judge_b="judge-0001").select(agreement.TABLE_COLUMNS).sum()
    rows = [
        row(
            "patterns of 386,000 checks x 3 judges",
            ours,
            "pandas crosstab of two coded columns",
            peer,
            bool((found.to_numpy().reshape(4, 4) == table).all()),
        )
    ]
    by_hand = median_seconds(lambda: agreement.pattern_tables(patterns()), 3)
    rows.append(row("3 x 2 x 25,382 tables from patterns", by_hand, "pandas crosstab of two coded columns", peer, True))
    return rows


def judges_apart() -> list[dict[str, Any]]:
    """Leniency and self-preference, against statsmodels on the same rows."""
    import statsmodels.api as sm

    ours = median_seconds(lambda: leniency.verdict_leniency(tables()), 3)
    question, given = codes()
    worth = np.array([1, 0.5, 0, -2])
    shift = (worth[given[0]] - worth[given[1]]).ravel()
    groups = np.tile(question, MODELS)
    start = time.perf_counter()
    fit = sm.OLS(shift, np.ones_like(shift)).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
    )
    peer = time.perf_counter() - start
    found = leniency.verdict_leniency(tables()).filter(judge_a="judge-0000", judge_b="judge-0001", effect="value_shift")
    error = found["standard_error"][0] / np.sqrt(QUESTIONS / (QUESTIONS - 1))
    equal = bool(np.isclose(found["estimate"][0], fit.params[0]) and np.isclose(error, fit.bse[0]))
    rows = [row("5 leniency effects x 6 ordered pairs", ours, "statsmodels clustered OLS, one of them", peer, equal)]
    selves = {"judge-0000": "model-0001", "judge-0001": "model-0004"}
    ours = median_seconds(lambda: leniency.self_preference(scores(), variant="multimodal", selves=selves), 3)
    wide = scores().pivot(on="judge", index=["question_id", "model"], values="score")
    report = leniency.self_preference(scores(), variant="multimodal", selves=selves)
    start = time.perf_counter()
    y = wide.select(pl.col("^judge.*$")).to_numpy()
    own = np.stack([(wide["model"] == selves.get(judge, "")).to_numpy() for judge in wide.columns[2:]], axis=1)
    design = np.stack([own, *(np.broadcast_to(np.eye(JUDGES)[j], own.shape) for j in (1, 2))], axis=-1).astype(float)
    within = design - design.mean(axis=1, keepdims=True)
    fit = sm.OLS((y - y.mean(axis=1, keepdims=True)).ravel(), within.reshape(-1, 3)).fit(
        cov_type="cluster", cov_kwds={"groups": np.repeat(wide["question_id"].rank("dense").to_numpy(), JUDGES)}
    )
    peer = time.perf_counter() - start
    estimate = report.filter(pl.col("judge").is_null(), method="did")["estimate"][0]
    rows.append(
        row(
            "self-preference, both methods, placebos",
            ours,
            "statsmodels within OLS, one effect",
            peer,
            bool(np.isclose(estimate, fit.params[0])),
        )
    )
    return rows


def components() -> list[dict[str, Any]]:
    """Seven variance components of 76,146 scores, against group-by means in pandas; correlations against pandas too."""
    ours = median_seconds(lambda: variance.variance_components(scores()))
    found = variance.variance_components(scores())
    frame = scores().to_pandas()
    start = time.perf_counter()
    raw = _pandas_components(frame)
    peer = time.perf_counter() - start
    rows = [
        row(
            "variance components, balanced",
            ours,
            "pandas group-by sums of squares",
            peer,
            bool(np.allclose(found["raw"].to_numpy(), raw)),
        )
    ]
    ours = median_seconds(lambda: variance.pair_answer_agreement(scores()))
    start = time.perf_counter()
    wide = frame.pivot(index=["model", "question_id"], columns="judge", values="score")
    correlation = wide.corr().to_numpy()
    peer = time.perf_counter() - start
    pearson = variance.pair_answer_agreement(scores()).filter(statistic="pearson")["estimate"].to_numpy()
    same = bool(np.allclose(pearson, correlation[np.triu_indices(JUDGES, 1)]))
    rows.append(row("8 statistics x 3 pairs with clustered errors", ours, "pandas corr alone", peer, same))
    return rows


def _pandas_components(frame: Any) -> np.ndarray:
    """Expected mean squares by group-by means: the textbook way."""
    names = ["model", "question_id", "judge"]
    n = {name: frame[name].nunique() for name in names}
    centred = frame.assign(score=frame["score"] - frame["score"].mean())
    size = len(frame)
    squares = {}
    for k in (1, 2, 3):
        for group in combinations(names, k):
            means = centred.groupby(list(group))["score"].mean()
            inner = sum(value for other, value in squares.items() if set(other) < set(group))
            squares[group] = (means**2).sum() * size / len(means) - inner
    free = {group: np.prod([n[name] - 1 for name in group]) for group in squares}
    m, q, j, mq, mj, qj, mqj = (squares[group] / free[group] for group in squares)
    models, questions, judges = n.values()
    return np.array(
        [
            (m - mq - mj + mqj) / (questions * judges),
            (q - mq - qj + mqj) / (models * judges),
            (j - mj - qj + mqj) / (models * questions),
            (mq - mqj) / judges,
            (mj - mqj) / questions,
            (qj - mqj) / models,
            mqj,
        ]
    )


def rows() -> list[dict[str, Any]]:
    return [found for task in (points, resamples, counting, judges_apart, components) for found in task()]


if __name__ == "__main__":
    print(json.dumps(rows(), indent=1))
