"""Bootstrap, permutation and rank sets at the paper's size, against SciPy and plain loops.

Each function times one task and its peer on the same scores and asserts that both give the same numbers, or the same up
to what two sets of random draws may differ by. A peer that would take minutes is measured on a part and scaled.
"""

import statistics
import time
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from gamut_analysis import concordance, intervals, orders, ranking

MODELS, JUDGES, QUESTIONS, REPLICATES, DRAWS = 14, 3, 1813, 10_000, 100_000
PUBLISHED = np.array([58.7, 57.9, 53.1, 51.8, 50.5, 42.6, 41.5, 34.2, 33.0, 18.3, 14.1, 13.7, 11.8, 5.1]) / 100


def paper_scores(seed: int = 0) -> np.ndarray:
    """(judges, questions, models): the published means, difficulty shared by models, noise and leanings of judges."""
    rng = np.random.default_rng(seed)
    base = PUBLISHED + 0.25 * rng.normal(size=(QUESTIONS, 1)) + 0.25 * rng.normal(size=(QUESTIONS, MODELS))
    leaning = rng.normal(0, 0.02, size=(JUDGES, 1, MODELS))
    return np.clip(base + leaning + rng.normal(0, 0.15, size=(JUDGES, QUESTIONS, MODELS)), -1, 1)


def median_seconds(task: Callable[[], Any], repeats: int = 7) -> float:
    """The median wall time of a task that has run once before."""
    task()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def timed(task: Callable[[], Any]) -> tuple[Any, float]:
    """What a task gives, and the seconds that it took."""
    start = time.perf_counter()
    return task(), time.perf_counter() - start


def row(task: str, ours: float, peer_name: str, peer: float, equal: bool) -> dict[str, Any]:
    """One line of the table; a peer that disagrees stops the benchmark."""
    assert equal, f"{task}: ours and {peer_name} disagree"
    return {"task": task, "ours": ours, "peer_name": peer_name, "peer": peer, "ratio": peer / ours, "equal": equal}


def bootstrap_means(scores: np.ndarray) -> dict[str, Any]:
    """10,000 resamples of 42 means with percentile intervals."""
    series = np.hstack(list(scores))

    def ours() -> tuple[np.ndarray, np.ndarray]:
        weights = intervals.resample_counts(QUESTIONS, replicates=REPLICATES)
        return intervals.percentile_interval(intervals.resample_means(series, weights))

    part = series[:, :6]
    theirs, seconds = timed(
        lambda: stats.bootstrap((part,), np.mean, method="percentile", n_resamples=REPLICATES, batch=100, rng=1)
    )
    bounds, error = ours(), series.std(axis=0) / QUESTIONS**0.5
    gaps = [np.abs(end[:6] - there) / error[:6] for end, there in zip(bounds, theirs.confidence_interval, strict=True)]
    # Two such endpoints differ by 0.038 standard errors, one standard deviation.
    return row(
        "bootstrap of 42 means, 10,000 resamples",
        median_seconds(ours),
        "scipy.stats.bootstrap, percentile (6 series, scaled)",
        seconds * series.shape[1] / 6,
        bool(np.max(gaps) < 0.2),
    )


def bootstrap_rankings(scores: np.ndarray) -> dict[str, Any]:
    """The same with tau-b for three pairs of judges and the probability of every rank for each judge."""
    series, count = np.hstack(list(scores)), 400

    def ours(replicates: int = REPLICATES) -> tuple[list[np.ndarray], list[np.ndarray]]:
        means = intervals.resample_means(series, intervals.resample_counts(QUESTIONS, replicates=replicates))
        intervals.percentile_interval(means)
        judges = np.split(means, JUDGES, axis=1)
        signs = [orders.pair_signs(np.ascontiguousarray(judge.T)) for judge in judges]
        taus = [concordance._tau_b(signs[one], signs[other]) for one, other in combinations(range(JUDGES), 2)]
        return taus, [ranking.rank_distribution(judge) for judge in judges]

    def peer() -> tuple[np.ndarray, np.ndarray]:
        weights = intervals.resample_counts(QUESTIONS, replicates=count)
        taus, ranks = np.empty((3, count)), np.zeros((JUDGES, MODELS, MODELS))
        for at, drawn in enumerate(weights.astype(np.intp)):
            means = scores[:, np.repeat(np.arange(QUESTIONS), drawn)].mean(axis=1)
            for pair, (one, other) in enumerate(combinations(range(JUDGES), 2)):
                taus[pair, at] = stats.kendalltau(means[one], means[other]).statistic
            for judge in range(JUDGES):
                ranks[judge, np.arange(MODELS), stats.rankdata(-means[judge]).astype(int) - 1] += 1 / count
        return taus, ranks

    (taus, ranks), seconds = timed(peer)
    found, shares = ours(count)
    # Means within 1e-6 of each other, less than one draw in a thousand, tie in ours and not in double precision.
    equal = (np.abs(np.array(found) - taus) < 1e-9).mean() > 0.995 and np.abs(shares - ranks).max() < 0.005
    return row(
        "bootstrap of 42 means, intervals, 3 taus and rank probabilities",
        median_seconds(ours),
        f"numpy loop, scipy kendalltau and rankdata ({count} resamples, scaled)",
        seconds * REPLICATES / count,
        bool(equal),
    )


def permutation(scores: np.ndarray) -> dict[str, Any]:
    """91 pairs, 10,000 sign flips, with step-down max-T and simultaneous bounds."""
    first, second = np.triu_indices(MODELS, 1)
    gaps, apart = scores[0][:, first] - scores[0][:, second], np.zeros(len(first), dtype=bool)

    def ours() -> pl.DataFrame:
        return ranking._sign_flip_tests(gaps, None, apart, 0.95, 0, REPLICATES)

    def peer(pair: int) -> float:
        return stats.permutation_test(
            (gaps[:, pair],),
            lambda x, axis: x.mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=REPLICATES,
            batch=200,
            rng=1,
        ).pvalue

    found = ours()["p"].to_numpy()
    # The three pairs that are hardest to tell apart: their p says most.
    pairs = np.argsort(-found)[:3].tolist()
    theirs, seconds = timed(lambda: np.array([peer(pair) for pair in pairs]))
    error = np.sqrt(2 * found[pairs] * (1 - found[pairs]) / REPLICATES)
    return row(
        "91 pairs, 10,000 permutations with max-T",
        median_seconds(ours),
        "scipy.stats.permutation_test, no max-T (3 pairs, scaled)",
        seconds * len(first) / 3,
        bool((np.abs(found[pairs] - theirs) < 5 * error + 2 / REPLICATES).all()),
    )


def rank_sets(scores: np.ndarray) -> dict[str, Any]:
    """Simultaneous and marginal rank sets from 100,000 draws; the peer is csranks' own algorithm, written plainly."""
    means, covariance = scores[0].mean(axis=0), np.cov(scores[0].T) / QUESTIONS

    def ours() -> pl.DataFrame:
        return ranking.rank_confidence_sets(means, covariance, replicates=DRAWS)

    found = ours()
    theirs, seconds = timed(lambda: plain_rank_sets(means, covariance, DRAWS))
    names = ("rank_low", "rank_high", "rank_low_marginal", "rank_high_marginal")
    off = [np.abs(found[name].to_numpy() - bound).max() for name, bound in zip(names, theirs, strict=True)]
    # Other draws may move the bound of a borderline pair by one.
    return row(
        "rank sets of 14 models, 100,000 draws",
        median_seconds(ours),
        "numpy, csranks' algorithm pair by pair",
        seconds,
        bool(max(off) <= 1),
    )


def plain_rank_sets(means: np.ndarray, covariance: np.ndarray, draws: int) -> list[np.ndarray]:
    """Mogstad et al. 2023 with every directed pair held in memory."""
    noise = np.random.default_rng(1).multivariate_normal(np.zeros(len(means)), covariance, size=draws)
    one, other = np.nonzero(~np.eye(len(means), dtype=bool))
    error = np.sqrt(np.diag(covariance)[one] + np.diag(covariance)[other] - 2 * covariance[one, other])
    gaps, chance = (means[one] - means[other]) / error, (noise[:, one] - noise[:, other]) / error

    def rejected(family: np.ndarray) -> np.ndarray:
        left = family.copy()
        while left.any():
            out = left & (gaps > np.quantile(chance[:, left].max(axis=1), 0.95))
            if not out.any():
                break
            left &= ~out
        return family & ~left

    count = len(means)
    every = rejected(np.ones(len(one), dtype=bool))
    own = [rejected((one == at) | (other == at)) for at in range(count)]
    bounds = [
        [1 + every[other == at].sum() for at in range(count)],
        [count - every[one == at].sum() for at in range(count)],
    ]
    bounds.append([1 + own[at][other == at].sum() for at in range(count)])
    bounds.append([count - own[at][one == at].sum() for at in range(count)])
    return [np.array(bound) for bound in bounds]


def rows() -> list[dict[str, Any]]:
    """Every benchmark of this file: task, ours and peer in seconds, ratio, equal."""
    scores = paper_scores()
    return [task(scores) for task in (bootstrap_means, bootstrap_rankings, permutation, rank_sets)]


if __name__ == "__main__":
    for result in rows():
        print(result)
