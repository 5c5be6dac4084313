"""Do the intervals for means and rates cover, and does the sign-flip test keep its level?

Scores are GAMUT-like: in [-1, 1], skewed, in lumps. Every world enters one call as a column, and all worlds share one
matrix of resample counts or signs.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gamut_analysis import intervals

COVERAGE_BAND, LEVEL_BAND = (0.935, 0.965), (0.035, 0.065)


def scores(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Question scores: one question in eight goes badly wrong, the others lean towards high scores in steps of 1/12."""
    good = rng.beta(4, 2.2, size=shape)
    wrong = rng.uniform(-0.9, 0.2, size=shape)
    return np.round(12 * np.where(rng.random(shape) < 1 / 8, wrong, good)) / 12


@cache
def _truth() -> float:
    return float(np.mean([scores(np.random.default_rng(99 + part), (1_000_000,)).mean() for part in range(8)]))


def result(
    measured: float, worlds: int, target: float = 0.95, band: tuple[float, float] = COVERAGE_BAND
) -> dict[str, Any]:
    return {"measured": float(measured), "target": target, "low": band[0], "high": band[1], "worlds": worlds}


def _share(low: np.ndarray, high: np.ndarray, truth: float | np.ndarray) -> float:
    return float(np.mean((low <= truth) & (truth <= high)))


def mean_t(questions: int, worlds: int = 10_000, seed: int = 1) -> dict[str, Any]:
    """The t interval of a mean, questions independent."""
    rows = intervals.mean_intervals(scores(np.random.default_rng(seed), (questions, worlds)))
    return result(_share(rows["low"].to_numpy(), rows["high"].to_numpy(), _truth()), worlds)


def clustered_mean(clusters: int, worlds: int = 4000, seed: int = 2, band: Any = COVERAGE_BAND) -> dict[str, Any]:
    """The clustered t interval: clusters of one to six questions, half of whose variance is the cluster's."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(clusters), rng.integers(1, 7, size=clusters))
    values = (scores(rng, (clusters, worlds))[labels] + scores(rng, (len(labels), worlds))) / 2
    rows = intervals.mean_intervals(values, clusters=labels)
    return result(_share(rows["low"].to_numpy(), rows["high"].to_numpy(), _truth()), worlds, band=band)


def unclustered_mean(clusters: int = 60, worlds: int = 4000, seed: int = 2) -> dict[str, Any]:
    """What happens when clusters are not marked: far too few worlds are covered."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(clusters), rng.integers(1, 7, size=clusters))
    values = (scores(rng, (clusters, worlds))[labels] + scores(rng, (len(labels), worlds))) / 2
    rows = intervals.mean_intervals(values)
    return result(_share(rows["low"].to_numpy(), rows["high"].to_numpy(), _truth()), worlds, band=(0.0, 0.90))


def mean_bootstrap(
    kind: str, questions: int, worlds: int = 2000, seed: int = 3, replicates: int = 4000, band: Any = COVERAGE_BAND
) -> dict[str, Any]:
    """Percentile and BCa intervals of a mean."""
    values = scores(np.random.default_rng(seed), (questions, worlds))
    draws = intervals.resample_means(values, intervals.resample_counts(questions, replicates=replicates))
    if kind == "percentile":
        low, high = intervals.percentile_interval(draws)
    else:
        low, high = intervals.bca_interval(values.mean(axis=0), draws, intervals.jackknife_means(values))
    return result(_share(low, high, _truth()), worlds, band=band)


def clustered_bootstrap(clusters: int = 100, worlds: int = 2000, seed: int = 4) -> dict[str, Any]:
    """The percentile interval with whole clusters drawn."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(clusters), rng.integers(1, 7, size=clusters))
    values = (scores(rng, (clusters, worlds))[labels] + scores(rng, (len(labels), worlds))) / 2
    counts = intervals.resample_counts(len(labels), replicates=4000, clusters=labels)
    return result(_share(*intervals.percentile_interval(intervals.resample_means(values, counts)), _truth()), worlds)


def pooled_rate(
    questions: int, rate: float, worlds: int = 4000, seed: int = 5, band: Any = COVERAGE_BAND
) -> dict[str, Any]:
    """The linearised interval of a pooled rate: 4 to 40 checks a question, bunched, long rubrics with higher rates."""
    rng = np.random.default_rng(seed)
    checks = rng.integers(4, 41, size=(questions, worlds))
    own = rate * checks / 22
    hits = rng.binomial(checks, rng.beta(2 * own, 2 * (1 - own)))
    # E[checks * rate * checks / 22] / E[checks], checks uniform on 4..40: mean 22, mean square 598.
    truth = rate * 598 / 22**2
    rows = intervals.ratio_intervals(hits, checks)
    return result(_share(rows["low"].to_numpy(), rows["high"].to_numpy(), truth), worlds, band=band)


def wilson(n: int = 200, worlds: int = 200_000, seed: int = 6) -> dict[str, Any]:
    """The Wilson interval of a share of independent things, over shares from 2 to 60 %."""
    rng = np.random.default_rng(seed)
    share = rng.uniform(0.02, 0.6, size=worlds)
    low, high = intervals.wilson_interval(rng.binomial(n, share), n)
    return result(_share(low, high, share), worlds)


def sign_flip_level(questions: int, clusters: int | None = None, worlds: int = 4000, seed: int = 7) -> dict[str, Any]:
    """How often the two-sided sign-flip test finds a difference between two models of one mean and unequal spread."""
    rng = np.random.default_rng(seed)
    labels = None if clusters is None else np.repeat(np.arange(clusters), -(-questions // clusters))[:questions]
    one = scores(rng, (questions, worlds))
    other = _truth() + 1.6 * (scores(rng, (questions, worlds)) - _truth())
    if labels is not None:
        one = (one + scores(rng, (clusters, worlds))[labels]) / 2
        other = (other + scores(rng, (clusters, worlds))[labels]) / 2
    sums = intervals.cluster_sums(one - other, labels)
    unit = sums / np.sqrt((sums**2).sum(axis=0))
    draws = intervals.signs_for(len(sums), replicates=1999) @ unit.astype(np.float32)
    p = intervals.permutation_p(np.abs(unit.sum(axis=0)), np.abs(draws))
    return result((p <= 0.05).mean(), worlds, 0.05, LEVEL_BAND)


def studies() -> list[tuple[str, Callable[[], dict[str, Any]]]]:
    """Every study of this file by name."""
    return [
        *((f"mean, t interval, {n} questions", lambda n=n: mean_t(n)) for n in (100, 300, 1813)),
        *((f"mean, clustered t interval, {n} clusters", lambda n=n: clustered_mean(n)) for n in (60, 300)),
        *(
            (f"mean, clustered t interval, {n} clusters (few)", lambda n=n: clustered_mean(n, band=(0.87, 0.965)))
            for n in (5, 10, 30)
        ),
        ("mean, clusters not marked (must fail)", unclustered_mean),
        *(
            (f"mean, {kind} bootstrap, {n} questions", lambda kind=kind, n=n: mean_bootstrap(kind, n))
            for kind in ("percentile", "BCa")
            for n in (100, 400)
        ),
        ("mean, percentile bootstrap, 100 clusters", clustered_bootstrap),
        *((f"pooled rate of {r}, 300 questions", lambda r=r: pooled_rate(300, r)) for r in (0.05, 0.4)),
        ("share of 200, Wilson", wilson),
        *((f"sign-flip test, {n} questions, level", lambda n=n: sign_flip_level(n)) for n in (12, 100, 400)),
        ("sign-flip test, 240 questions in 60 clusters, level", lambda: sign_flip_level(240, 60)),
    ]
