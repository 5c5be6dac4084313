"""Do rank sets, paired tests and intervals for agreement between judges hold what they promise?

Worlds are GAMUT-like: 14 models with the published scores, questions whose difficulty all models share, judges with a
leaning of their own for each model. Means of scores are close to normal from some hundred questions on; what rests on
means alone is therefore drawn as means, with the covariance that questions would give them.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from gamut_analysis import concordance, intervals, orders, ranking

PUBLISHED = np.array([58.7, 57.9, 53.1, 51.8, 50.5, 42.6, 41.5, 34.2, 33.0, 18.3, 14.1, 13.7, 11.8, 5.1]) / 100
SPREAD, SHARED = 0.36, 0.5
COVERAGE_BAND, LEVEL_BAND = (0.935, 0.965), (0.035, 0.065)
AT_LEAST, AT_MOST = (0.935, 1.0), (0.0, 0.065)


def result(
    measured: float, worlds: int, target: float = 0.95, band: tuple[float, float] = COVERAGE_BAND
) -> dict[str, Any]:
    return {"measured": float(measured), "target": target, "low": band[0], "high": band[1], "worlds": worlds}


def scores(rng: np.random.Generator, questions: int, means: np.ndarray, spread: float = SPREAD) -> np.ndarray:
    """(questions, models): part of the spread is the question's own, skewed to the easy side; the rest the model's."""
    common = 1 - rng.gamma(2, 1 / np.sqrt(2), size=(questions, 1)) + (np.sqrt(2) - 1)
    own = rng.normal(size=(questions, len(means)))
    return means + spread * (np.sqrt(SHARED) * common + np.sqrt(1 - SHARED) * own)


def _tied(means: np.ndarray) -> np.ndarray:
    """The published scores with three groups of equal models."""
    tied = means.copy()
    tied[2:5], tied[5:7], tied[10:13] = tied[3], tied[5], tied[11]
    return tied


def rank_sets(kind: str, means: np.ndarray, questions: int = 300, worlds: int = 2000, seed: int = 11) -> dict[str, Any]:
    """How often the sets hold the true ranks: all at once, or averaged over models for the marginal ones."""
    rng = np.random.default_rng(seed)
    truth = orders.competition_ranks(means)
    ending, held = "_marginal" if kind == "marginal" else "", []
    for world in range(worlds):
        drawn = scores(rng, questions, means)
        covariance = np.cov(drawn.T) / questions
        sets = ranking.rank_confidence_sets(
            drawn.mean(axis=0), covariance, degrees=questions - 1, replicates=2000, seed=world
        )
        low, high = (sets[f"rank_{end}{ending}"].to_numpy() for end in ("low", "high"))
        inside = (low <= truth) & (truth <= high)
        held.append(inside.mean() if kind == "marginal" else inside.all())
    return result(np.mean(held), worlds, band=AT_LEAST)


def top_set(k: int = 3, questions: int = 300, worlds: int = 2000, seed: int = 12) -> dict[str, Any]:
    """How often the set for the best k holds all of them."""
    rng = np.random.default_rng(seed)
    held = []
    for world in range(worlds):
        drawn = scores(rng, questions, PUBLISHED)
        sets = ranking.rank_confidence_sets(
            drawn.mean(axis=0), np.cov(drawn.T) / questions, degrees=questions - 1, replicates=2000, seed=world
        )
        held.append((sets["rank_low"].to_numpy()[:k] <= k).all())
    return result(np.mean(held), worlds, band=AT_LEAST)


def _pairs(rng: np.random.Generator, means: np.ndarray, questions: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.triu_indices(len(means), 1)
    drawn = scores(rng, questions, means)
    return drawn[:, first] - drawn[:, second], means[first] - means[second]


def family_error(means: np.ndarray, questions: int = 150, worlds: int = 1000, seed: int = 13) -> dict[str, Any]:
    """How often max-T tells apart any two models that are equal."""
    rng = np.random.default_rng(seed)
    found = []
    for world in range(worlds):
        gaps, truth = _pairs(rng, means, questions)
        tests = ranking._sign_flip_tests(gaps, None, np.zeros(gaps.shape[1], dtype=bool), 0.95, world, 999)
        found.append((tests["p_adjusted"].to_numpy()[truth == 0] <= 0.05).any())
    everyone = len(set(means.tolist())) == 1
    return result(np.mean(found), worlds, 0.05, LEVEL_BAND if everyone else AT_MOST)


def simultaneous_differences(questions: int = 150, worlds: int = 1000, seed: int = 14) -> dict[str, Any]:
    """How often the simultaneous intervals hold all 91 true differences."""
    rng = np.random.default_rng(seed)
    held = []
    for world in range(worlds):
        gaps, truth = _pairs(rng, PUBLISHED, questions)
        rows = intervals.mean_intervals(gaps)
        tests = ranking._sign_flip_tests(gaps, None, np.zeros(gaps.shape[1], dtype=bool), 0.95, world, 999)
        miss = np.abs(rows["estimate"].to_numpy() - truth) / rows["standard_error"].to_numpy()
        held.append((miss <= tests["critical"].to_numpy()).all())
    return result(np.mean(held), worlds)


def single_difference(questions: int = 150, worlds: int = 2000, seed: int = 15) -> dict[str, Any]:
    """The interval of one pair, as often as it holds, averaged over the 91 pairs."""
    rng = np.random.default_rng(seed)
    held = []
    for _ in range(worlds):
        gaps, truth = _pairs(rng, PUBLISHED, questions)
        rows = intervals.mean_intervals(gaps)
        held.append(((rows["low"].to_numpy() <= truth) & (truth <= rows["high"].to_numpy())).mean())
    return result(np.mean(held), worlds)


# --- two judges


def _judge_worlds(
    leaning: float, questions: int, worlds: int, seed: int
) -> Iterator[tuple[list[np.ndarray], list[np.ndarray]]]:
    """True means and scores of two judges, each with a leaning for each model and noise of its own."""
    rng = np.random.default_rng(seed)
    for _ in range(worlds):
        truths = [PUBLISHED + rng.normal(0, leaning, size=14) for _ in range(2)]
        base = scores(rng, questions, np.zeros(14))
        yield truths, [truth + base + rng.normal(0, 0.15, size=base.shape) for truth in truths]


@cache
def judge_statistics(leaning: float, questions: int = 300, worlds: int = 1000, seed: int = 16) -> pl.DataFrame:
    """Coverage and mean width of the interval of each statistic; the truth is that of the judges' true means."""
    rows = []
    shared = concordance._Shared(0, 1000)
    for truths, matrices in _judge_worlds(leaning, questions, worlds, seed):
        panel = concordance._Panel(list("abcdefghijklmn"), [str(at) for at in range(questions)], matrices, None)
        table = concordance._judge_pair(panel, shared, 0.95)
        sides = [concordance._Side.of(matrix, None, 0.95) for matrix in matrices]
        truth = concordance._judge_statistics(sides, [means[:, None] for means in truths])
        rows.append(table.with_columns(truth=pl.Series([values[0] for values in truth.values()])))
    slack = 1e-6
    inside = (pl.col("low") - slack <= pl.col("truth")) & (pl.col("truth") <= pl.col("high") + slack)
    width = (pl.col("high") - pl.col("low")).mean().alias("width")
    return pl.concat(rows).group_by("statistic", maintain_order=True).agg(inside.mean().alias("covered"), width)


def judge_statistic(name: str, leaning: float, questions: int, worlds: int = 1000, seed: int = 16) -> dict[str, Any]:
    """Coverage of one statistic. Orders move in steps, so their intervals may cover more often than they say."""
    table = judge_statistics(leaning, questions, worlds, seed)
    return result(table.filter(statistic=name)["covered"][0], worlds, band=AT_LEAST)


def gap_extreme(name: str, leaning: float, questions: int = 300, worlds: int = 1000, seed: int = 20) -> dict[str, Any]:
    """How often the interval of the smallest or the largest gap of two judges holds that of their true means."""
    held = []
    models = list("abcdefghijklmn")
    for world, (truths, matrices) in enumerate(_judge_worlds(leaning, questions, worlds, seed)):
        panel = concordance._Panel(models, [str(at) for at in range(questions)], matrices, None)
        row = concordance._gap_extremes(panel, models, concordance._Shared(world, 1000), 0.95).row(
            by_predicate=pl.col("statistic") == name, named=True
        )
        gaps = truths[0] - truths[1]
        held.append(row["low"] - 1e-6 <= (gaps.min() if name == "smallest" else gaps.max()) <= row["high"] + 1e-6)
    return result(np.mean(held), worlds, band=AT_LEAST)


@cache
def expected_accuracies(leaning: float, questions: int, judges: int, worlds: int, seed: int) -> pl.DataFrame:
    """Do the intervals of the two accuracies hold what is to be expected of that many questions?"""
    rng, shared, held = np.random.default_rng(seed), concordance._Shared(0, 500), []
    names = ["pair_accuracy", "soft_pairwise_accuracy"]
    for _ in range(judges):
        truths = [PUBLISHED + rng.normal(0, leaning, size=14) for _ in range(2)]
        tables = []
        for _ in range(worlds):
            base = scores(rng, questions, np.zeros(14))
            matrices = [truth + base + rng.normal(0, 0.15, size=base.shape) for truth in truths]
            panel = concordance._Panel(list("abcdefghijklmn"), [str(at) for at in range(questions)], matrices, None)
            tables.append(concordance._judge_pair(panel, shared, 0.95).filter(pl.col("statistic").is_in(names)))
        inside = pl.col("estimate").mean().is_between(pl.col("low"), pl.col("high")).mean()
        held.append(pl.concat(tables).group_by("statistic").agg(inside.alias("covered")))
    return pl.concat(held).group_by("statistic").agg(pl.col("covered").mean())


def accuracy(name: str, leaning: float, questions: int = 300, judges: int = 20, worlds: int = 60) -> dict[str, Any]:
    """Coverage of the interval of one accuracy, over judges and worlds."""
    table = expected_accuracies(leaning, questions, judges, worlds, seed=17)
    return result(table.filter(statistic=name)["covered"][0], judges * worlds, band=(0.925, 1.0))


def correlation_difference(
    coefficient: str, questions: int = 300, worlds: int = 1000, seed: int = 18
) -> dict[str, Any]:
    """The interval of a difference between two judges' correlations with a third."""
    rng, held = np.random.default_rng(seed), []
    for _ in range(worlds):
        truths = [PUBLISHED + rng.normal(0, leaning, size=14) for leaning in (0.02, 0.06, 0.02)]
        base = scores(rng, questions, np.zeros(14))
        matrices = [truth + base + rng.normal(0, 0.15, size=base.shape) for truth in truths]
        panel = concordance._Panel(list("abcdefghijklmn"), [str(at) for at in range(questions)], matrices, None)
        means = concordance._resampled(panel, concordance._Shared(0, 1000))
        one, other = concordance._reference_correlations(means, coefficient)
        at = [matrix.mean(axis=0)[:, None] for matrix in matrices]
        a, b = concordance._reference_correlations(at, coefficient)
        low, high = concordance._percentile_bounds({"r": float(a[0] - b[0])}, {"r": one - other}, 0.95)["r"]
        a, b = concordance._reference_correlations([truth[:, None] for truth in truths], coefficient)
        held.append(low - 1e-6 <= a[0] - b[0] <= high + 1e-6)
    return result(np.mean(held), worlds, band=AT_LEAST)


def perm_both_level(
    key: str, coefficient: str, leaning: float, questions: int = 80, worlds: int = 4000, seed: int = 19
) -> dict[str, Any]:
    """How often a swap test finds a difference between two judges that are alike, models and questions drawn anew."""
    rng, found = np.random.default_rng(seed), []
    for world in range(worlds):
        base = rng.normal(0.35, 0.2, size=14) + scores(rng, questions, np.zeros(14))
        noise = rng.normal(0, leaning, size=(3, 1, 14)) + rng.normal(0, 0.3, size=(3, *base.shape))
        p = concordance.perm_both(*(base + noise), coefficient=coefficient, seed=world, replicates=399)
        found.append(p[key] is not None and p[key] <= 0.05)
    return result(np.mean(found), worlds, 0.05, AT_MOST)


def studies() -> list[tuple[str, Callable[[], dict[str, Any]]]]:
    """Every study of this file by name."""
    worlds = {
        "published scores": PUBLISHED,
        "three groups of equal models": _tied(PUBLISHED),
        "all equal": PUBLISHED * 0,
    }
    return [
        *(
            (f"rank sets, {kind}, {name}", lambda kind=kind, means=means: rank_sets(kind, means))
            for kind in ("simultaneous", "marginal")
            for name, means in worlds.items()
        ),
        ("rank sets, simultaneous, 40 questions", lambda: rank_sets("simultaneous", PUBLISHED, 40)),
        ("best three", top_set),
        *((f"max-T, family-wise error, {n}", lambda m=m: family_error(m)) for n, m in list(worlds.items())[1:]),
        ("differences of 91 pairs at once", simultaneous_differences),
        ("difference of one pair", single_difference),
        *(
            (f"judges, {name}, leaning {lean}", lambda name=name, lean=lean: judge_statistic(name, lean, 300))
            for lean in (0.0, 0.02, 0.05)
            for name in concordance.JUDGE_STATISTICS[:-2]
        ),
        *(
            (f"judges, {name}, leaning {lean}", lambda name=name, lean=lean: accuracy(name, lean))
            for lean in (0.0, 0.02)
            for name in concordance.JUDGE_STATISTICS[-2:]
        ),
        *(
            (f"judges, {name} gap, leaning {lean}", lambda name=name, lean=lean: gap_extreme(name, lean))
            for lean in (0.0, 0.02, 0.05)
            for name in concordance.GAP_STATISTICS[:2]
        ),
        *((f"two judges and a third, {c}", lambda c=c: correlation_difference(c)) for c in concordance.COEFFICIENTS),
        *(
            (f"PERM-BOTH, level, {c}, no leanings", lambda c=c: perm_both_level("p", c, 0.0))
            for c in concordance.COEFFICIENTS
        ),
        *(
            (f"PERM-SYSTEMS, level, {c}, leanings", lambda c=c: perm_both_level("p_models", c, 0.08))
            for c in concordance.COEFFICIENTS
        ),
    ]
