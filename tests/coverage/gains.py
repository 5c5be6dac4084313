"""Do the intervals of gains, rates and points lost cover, and do their tests keep their level?

Each study draws worlds from a fixed population of questions whose truth is known exactly: skewed scores, long rubrics
harder than short ones, contradictions rare and bunched. Where a statistic is computed for one model at a time, every
world enters one call as a model of its own.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from gamut_analysis import failures, gains
from gamut_analysis.scoring import Scoring
from gamut_analysis.vocabulary import TIERS, VARIANTS, VERDICTS

POPULATION, MODELS = 50_000, 5
NOMINAL, COVERAGE_BAND, LEVEL_BAND = 0.95, (0.935, 0.965), (0.035, 0.065)
JUDGE = "judge"


@cache
def population() -> dict[str, np.ndarray]:
    """Counts (questions, models, verdicts), multimodal and text-only scores (questions, models) of the population."""
    generator = np.random.default_rng(20)
    checks = 4 + generator.negative_binomial(3, 0.22, POPULATION)
    hard = generator.normal(0, 1, (POPULATION, 1)) + 0.04 * (checks[:, None] - 15)
    mistaken = generator.random((POPULATION, MODELS)) < 0.15
    quality = np.linspace(-0.4, 0.6, MODELS) - hard + generator.normal(0, 0.6, (POPULATION, MODELS))
    text = quality + generator.normal(0, 0.3, quality.shape)
    counts = _counts(generator, checks, quality - 1.2 * mistaken, np.where(mistaken, 0.5, 0.06))
    return {
        "counts": counts,
        "multimodal": _score(counts),
        "text": _score(_counts(generator, checks, text, np.full(text.shape, 0.06))),
    }


def _counts(generator: np.random.Generator, checks: np.ndarray, quality: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    met = 1 / (1 + np.exp(-quality))
    shares = np.stack([0.85 * met, 0.15 * met, (1 - met) * (1 - wrong), (1 - met) * wrong], axis=-1)
    return generator.multinomial(np.broadcast_to(checks[:, None], met.shape), shares)


def _score(counts: np.ndarray) -> np.ndarray:
    meets, partially, missing, contradicts = np.moveaxis(counts, -1, 0).astype(float)
    return (meets + 0.5 * partially - 2 * contradicts) / (meets + partially + missing + 2 * contradicts)


def draws(worlds: int, questions: int, seed: int) -> np.ndarray:
    """Which questions of the population each world holds: (worlds, questions)."""
    return np.random.default_rng(seed).integers(0, POPULATION, (worlds, questions))


def score_frame(values: np.ndarray, variant: str) -> pl.DataFrame:
    """Scores (models, questions) as the canonical frame; NaN is unscored."""
    model, question = (axis.ravel() for axis in np.indices(values.shape))
    return pl.DataFrame(
        {
            "model": pl.Series([f"m{i:05d}" for i in range(len(values))])[model],
            "judge": JUDGE,
            "variant": pl.Series([variant] * len(model), dtype=pl.Enum(VARIANTS)),
            "question_id": pl.Series([f"q{i:05d}" for i in range(values.shape[1])])[question],
            "score": pl.Series(values.ravel()).fill_nan(None),
        }
    )


def count_frame(counts: np.ndarray) -> pl.DataFrame:
    """Counts (models, questions, verdicts) as the canonical frame, all in one tier."""
    model, question = (axis.ravel() for axis in np.indices(counts.shape[:2]))
    return pl.DataFrame(
        {
            "model": pl.Series([f"m{i:05d}" for i in range(len(counts))])[model],
            "judge": JUDGE,
            "variant": pl.Series(["multimodal"] * len(model), dtype=pl.Enum(VARIANTS)),
            "question_id": pl.Series([f"q{i:05d}" for i in range(counts.shape[1])])[question],
            "replicate": pl.zeros(len(model), dtype=pl.Int32, eager=True),
            "tier": pl.Series([TIERS[0]] * len(model), dtype=pl.Enum(TIERS)),
            **{verdict: counts[..., i].ravel().astype(np.int32) for i, verdict in enumerate(VERDICTS)},
            "ungraded": pl.zeros(len(model), dtype=pl.Int32, eager=True),
            "checks": counts.sum(axis=-1).ravel().astype(np.int32),
        }
    )


def _result(measured: float, worlds: int, *, level: bool = False) -> dict[str, Any]:
    low, high = LEVEL_BAND if level else COVERAGE_BAND
    return {
        "target": 1 - NOMINAL if level else NOMINAL,
        "measured": float(measured),
        "low": low,
        "high": high,
        "worlds": worlds,
    }


def _covered(table: pl.DataFrame, truth: float) -> float:
    return table.select(pl.lit(float(truth)).is_between("low", "high").mean()).item()


def gain_part(part: str, worlds: int = 2000, questions: int = 120) -> dict[str, Any]:
    """One part of the gain of one model; one text-only question in twenty does not exist."""
    people = population()
    picked = draws(worlds, questions, seed=1)
    multimodal, text = people["multimodal"][picked, 2], people["text"][picked, 2]
    absent = picked % 20 == 0
    scores = pl.concat(
        [score_frame(multimodal, "multimodal"), score_frame(np.where(absent, np.nan, text), "text_only")]
    )
    matched = score_frame(np.where(absent, np.nan, multimodal), "multimodal")
    everyone, here = people["multimodal"][:, 2], np.arange(POPULATION) % 20 != 0
    common = people["text"][here, 2].mean() - everyone[here].mean()
    truths = {"matched": common, "naive": people["text"][here, 2].mean() - everyone.mean()}
    truths["question_set"] = truths["naive"] - common
    table = gains.gain_parts(scores, matched, judge=JUDGE).filter(part=part)
    return _result(_covered(table, truths[part]), worlds)


def clustered_gain(worlds: int = 2000, clusters: int = 60) -> dict[str, Any]:
    """Questions in threes that share what makes them hard: the interval must know."""
    people = population()
    picked = draws(worlds, clusters, seed=2)
    shared = np.repeat((people["text"] - people["multimodal"])[picked, 1], 3, axis=1)
    own = (people["text"] - people["multimodal"])[draws(worlds, 3 * clusters, seed=3), 2]
    difference = (shared + own) / 2
    gap = people["text"] - people["multimodal"]
    zero = score_frame(np.zeros_like(difference), "multimodal")
    questions = pl.DataFrame({"question_id": [f"q{i:05d}" for i in range(3 * clusters)]}).with_columns(
        (pl.int_range(pl.len()) // 3).cast(pl.String).alias("cluster")
    )
    scores = pl.concat([zero, score_frame(difference, "text_only")])
    table = gains.gain_parts(scores, zero, judge=JUDGE, questions=questions).filter(part="matched")
    return _result(_covered(table, (gap[:, 1].mean() + gap[:, 2].mean()) / 2), worlds)


def rate(verdict: str, kind: str, worlds: int = 2000, questions: int = 120) -> dict[str, Any]:
    """A pooled or a mean verdict rate of one model."""
    counts = population()["counts"][:, 2]
    code = VERDICTS.index(verdict)
    truth = counts[:, code].sum() / counts.sum() if kind == "micro" else (counts[:, code] / counts.sum(axis=1)).mean()
    table = failures.verdict_rates(count_frame(counts[draws(worlds, questions, seed=4)])).filter(
        verdict=verdict, rate=kind
    )
    return _result(_covered(table, truth), worlds)


def below_zero(worlds: int = 2000, questions: int = 120) -> dict[str, Any]:
    """Share of questions with a negative score."""
    scores = population()["multimodal"][:, 2]
    frame = score_frame(scores[draws(worlds, questions, seed=5)], "multimodal")
    return _result(_covered(failures.negative_share(frame), (scores < 0).mean()), worlds)


def lost(verdict: str, worlds: int = 2000, questions: int = 120) -> dict[str, Any]:
    """Points lost to one verdict."""
    counts = population()["counts"][:, 2]
    table = failures.points_lost(Scoring().losses(count_frame(counts[draws(worlds, questions, seed=6)])))
    return _result(_covered(table.filter(verdict=verdict), _losses(counts)[VERDICTS.index(verdict) - 1].mean()), worlds)


def _losses(counts: np.ndarray) -> np.ndarray:
    size = counts.sum(axis=1) + counts[:, 3]
    return np.stack([0.5 * counts[:, 1], counts[:, 2], 4 * counts[:, 3]]) / size


def ratio(measure: str, worlds: int = 2000, questions: int = 120) -> dict[str, Any]:
    """Omissions for one contradiction."""
    counts = population()["counts"][:, 2]
    _, missing, contradicted = _losses(counts)
    truths = {"counts": counts[:, 2].sum() / counts[:, 3].sum(), "points": missing.sum() / contradicted.sum()}
    frame = count_frame(counts[draws(worlds, questions, seed=7)])
    table = failures.omission_ratio(frame, Scoring().losses(frame)).filter(measure=measure)
    return _result(_covered(table, truths[measure]), worlds)


def text_scores(equal: bool) -> np.ndarray:
    """Text-only scores of the population: no model gains on average, or some gain three times as much as others."""
    people = population()
    gap = people["text"] - people["multimodal"]
    gain = gap - gap.mean(axis=0) if equal else gap * np.linspace(0.5, 1.5, MODELS)
    return people["multimodal"] + gain


def _worlds_of_models(
    worlds: int, questions: int, seed: int, equal: bool
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """The frames of one world after another, all models on the same questions."""
    multimodal, text = population()["multimodal"], text_scores(equal)
    for picked in draws(worlds, questions, seed):
        before, after = multimodal[picked], text[picked]
        zero = score_frame(before.T, "multimodal")
        yield pl.concat([zero, score_frame(after.T, "text_only")]), zero


def homogeneity_level(worlds: int = 1000, questions: int = 120) -> dict[str, Any]:
    """How often the test of equal gains rejects when they are equal."""
    tables = [
        gains.gain_homogeneity(*world, judge=JUDGE) for world in _worlds_of_models(worlds, questions, 8, equal=True)
    ]
    return _result(np.mean([table["p"].item() <= 0.05 for table in tables]), worlds, level=True)


def spread(worlds: int = 1000, questions: int = 1000) -> dict[str, Any]:
    """The standard deviation of the true gains."""
    truth = (text_scores(equal=False) - population()["multimodal"]).mean(axis=0).std(ddof=1)
    tables = [
        gains.gain_homogeneity(*world, judge=JUDGE) for world in _worlds_of_models(worlds, questions, 9, equal=False)
    ]
    return _result(_covered(pl.concat(tables), truth), worlds)


def simultaneous(worlds: int = 1000, questions: int = 1000) -> dict[str, Any]:
    """The intervals of all models' gains hold at once."""
    truth = (text_scores(equal=False) - population()["multimodal"]).mean(axis=0)
    held = []
    for world in _worlds_of_models(worlds, questions, 10, equal=False):
        table = gains.gain_tests(*world, judge=JUDGE, replicates=1000)
        held.append(bool(((table["low_all"].to_numpy() <= truth) & (truth <= table["high_all"].to_numpy())).all()))
    return _result(np.mean(held), worlds)


def no_gain_level(worlds: int = 1000, questions: int = 1000) -> dict[str, Any]:
    """How often any model is found to gain when none does (family-wise, corrected p)."""
    tables = [
        gains.gain_tests(*world, judge=JUDGE, replicates=1000)
        for world in _worlds_of_models(worlds, questions, 11, equal=True)
    ]
    return _result(np.mean([table["p_adjusted"].min() <= 0.05 for table in tables]), worlds, level=True)


def against_level(method: str, worlds: int = 1000, questions: int = 400) -> dict[str, Any]:
    """Slopes and correlation of gain with level, for these models."""
    x, y = population()["multimodal"].mean(axis=0), text_scores(equal=False).mean(axis=0)
    gain, middle = y - x, (x + y) / 2
    s_xx, s_yy, s_xy = np.var(x), np.var(y), np.cov(x, y, ddof=0)[0, 1]
    truths = {
        "naive_slope": s_xy / s_xx - 1,
        "oldham_slope": np.cov(gain, middle, ddof=0)[0, 1] / np.var(middle),
        "deming_slope": (s_yy - s_xx + np.hypot(s_yy - s_xx, 2 * s_xy)) / (2 * s_xy),
        "spread_ratio": np.sqrt(s_yy / s_xx),
    }
    tables = [
        gains.gain_against_level(*world, judge=JUDGE, replicates=1000).filter(method=method)
        for world in _worlds_of_models(worlds, questions, 12, equal=False)
    ]
    return _result(_covered(pl.concat(tables), truths[method]), worlds)


def studies() -> list[tuple[str, Callable[[], dict[str, Any]]]]:
    """Every study of this file by name."""
    return [
        *(
            (f"gain part: {part}", lambda part=part: gain_part(part, questions=600))
            for part in ("matched", "naive", "question_set")
        ),
        ("matched gain, questions in clusters of three", clustered_gain),
        *(
            (f"{kind} rate of {verdict}", lambda verdict=verdict, kind=kind: rate(verdict, kind))
            for verdict in ("meets", "missing", "contradicts")
            for kind in failures.RATES
        ),
        ("share of questions below zero", below_zero),
        *((f"points lost to {verdict}", lambda verdict=verdict: lost(verdict)) for verdict in VERDICTS[1:]),
        *((f"omissions per contradiction, in {m}", lambda m=m: ratio(m)) for m in failures.MEASURES),
        ("simultaneous intervals of all gains", simultaneous),
        ("no gain: family-wise error of max-T", no_gain_level),
        ("equal gains: level of the Wald test", homogeneity_level),
        ("spread of the true gains", spread),
        *(
            (f"gain against level: {m}", lambda m=m: against_level(m))
            for m in gains.METHODS
            if m != "oldham_correlation"
        ),
    ]
