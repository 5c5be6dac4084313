"""Do intervals for agreement, leniency, self-preference and variance components cover; do tests keep their level?

Checks belong to questions: an easy question is easy for all judges, and a clear one is judged alike. Judges see one
latent degree through their own noise and leniency; the truth of a coefficient is its value in a world without end.
"""

import json
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from gamut_analysis import agreement, leniency, variance
from gamut_analysis.vocabulary import VERDICTS

COVERAGE_BAND, LEVEL_BAND = (0.935, 0.965), (0.035, 0.065)
REPLICATES = 1000
JUDGES = ("a", "b", "c")
_CUTS = np.array([-0.1, 0.3, 1.7])
_TEXTS = [json.dumps(dict(zip(JUDGES, labels, strict=True))) for labels in product(VERDICTS, repeat=len(JUDGES))]


def result(
    measured: float, worlds: int, target: float = 0.95, band: tuple[float, float] = COVERAGE_BAND
) -> dict[str, Any]:
    return {"measured": float(measured), "target": target, "low": band[0], "high": band[1], "worlds": worlds}


# --- checks


def verdict_world(rng: np.random.Generator, questions: int, lenient: float = 0.1) -> pl.DataFrame:
    """Patterns of three judges on 4 to 23 checks a question; judge b is stricter by `lenient`, c by twice that."""
    sizes = rng.integers(4, 24, size=questions)
    question = np.repeat(np.arange(questions), sizes)
    n = len(question)
    latent = 0.7 * rng.normal(size=questions)[question] + rng.normal(size=n)
    noise = np.exp(-1.2 + 0.32 * rng.normal(size=questions))[question]
    seen = latent[:, None] + noise[:, None] * rng.normal(size=(n, 3)) + lenient * np.arange(3)
    codes = np.searchsorted(_CUTS, seen)
    pattern = codes @ np.array([16, 4, 1])
    counts = np.bincount(question * 64 + pattern, minlength=questions * 64).reshape(questions, 64)
    row, kind = np.nonzero(counts)
    return pl.DataFrame(
        {"question_id": np.char.mod("q%06d", row), "pattern": np.array(_TEXTS)[kind], "checks": counts[row, kind]}
    )


@cache
def _verdict_truth() -> dict[str, float]:
    patterns = verdict_world(np.random.default_rng(99), 60_000)
    tables = agreement.pattern_tables(patterns)
    frames = [
        agreement.agreement(patterns, replicates=2).select(name="coefficient", truth="estimate"),
        agreement.pair_agreement(tables, replicates=2)
        .filter(judge_a="a", judge_b="b")
        .select(name="pair " + pl.col("coefficient"), truth="estimate"),
        agreement.verdict_agreement(patterns, replicates=2).select(
            name=pl.format("{} {}", "verdict", "coefficient"), truth="estimate"
        ),
        leniency.verdict_leniency(tables).filter(judge_a="a", judge_b="b").select(name="effect", truth="estimate"),
    ]
    return dict(pl.concat(frames).rows())


@cache
def _verdict_coverage(questions: int, worlds: int = 1000, seed: int = 1) -> dict[str, float]:
    """The share of worlds in which each interval holds the truth; an interval that is not given does not."""
    rng = np.random.default_rng(seed)
    truth = _verdict_truth()
    held = dict.fromkeys(truth, 0)
    for _ in range(worlds):
        patterns = verdict_world(rng, questions)
        tables = agreement.pattern_tables(patterns)
        frames = [
            agreement.agreement(patterns, replicates=REPLICATES).select("low", "high", name="coefficient"),
            agreement.pair_agreement(tables, replicates=REPLICATES)
            .filter(judge_a="a", judge_b="b")
            .select("low", "high", name="pair " + pl.col("coefficient")),
            agreement.verdict_agreement(patterns, replicates=REPLICATES).select(
                "low", "high", name=pl.format("{} {}", "verdict", "coefficient")
            ),
            leniency.verdict_leniency(tables).filter(judge_a="a", judge_b="b").select("low", "high", name="effect"),
        ]
        for low, high, name in pl.concat(frames).rows():
            held[name] += low is not None and low <= truth[name] <= high
    return {name: count / worlds for name, count in held.items()}


def verdict_coverage(name: str, questions: int, worlds: int = 1000, band: Any = COVERAGE_BAND) -> dict[str, Any]:
    return result(_verdict_coverage(questions, worlds)[name], worlds, band=band)


@cache
def _homogeneity_levels(questions: int, worlds: int = 1000, seed: int = 2) -> dict[str, float]:
    """How often each test rejects at 5 % when all judges use the verdicts alike."""
    rng = np.random.default_rng(seed)
    found = dict.fromkeys(("stuart_maxwell", "bhapkar", "hotelling"), 0)
    for _ in range(worlds):
        tables = agreement.pattern_tables(verdict_world(rng, questions, lenient=0.0))
        tests = leniency.marginal_homogeneity(tables).filter(judge_a="a", judge_b="b")
        for method, p in tests.select("method", "p").rows():
            found[method] += p < 0.05
    return {method: count / worlds for method, count in found.items()}


def homogeneity_level(method: str, questions: int, worlds: int = 1000, band: Any = LEVEL_BAND) -> dict[str, Any]:
    return result(_homogeneity_levels(questions, worlds)[method], worlds, target=0.05, band=band)


# --- scores


MODELS = tuple(f"m{i:02d}" for i in range(14))
SELVES = {"a": "m01", "b": "m04", "c": "m10"}


def score_world(
    rng: np.random.Generator, questions: int, *, slope: float = 0.1, taste: float = 0.0, own: float = 0.0
) -> pl.DataFrame:
    """Scores of 14 models by three judges that are models: leniency that follows quality, tastes, self-liking."""
    quality = np.linspace(0.2, -0.25, 14)
    answers = 0.2 * rng.normal(size=(questions, 1)) + 0.25 * rng.normal(size=(questions, 14)) + quality
    lenient = np.array([0.0, 0.02, -0.03]) + slope * np.outer(quality, [1, -1, 0]) + taste * rng.normal(size=(14, 3))
    for j, model in enumerate(SELVES.values()):
        lenient[MODELS.index(model), j] += own
    noise = 0.05 * rng.normal(size=(questions, 1, 3)) + 0.12 * rng.normal(size=(questions, 14, 3))
    return _score_frame(answers[:, :, None] + lenient + noise)


def _score_frame(cube: np.ndarray) -> pl.DataFrame:
    question, model, judge = np.indices(cube.shape).reshape(3, -1)
    return pl.DataFrame(
        {
            "model": np.array(MODELS)[model],
            "judge": np.array(JUDGES)[judge],
            "variant": "multimodal",
            "question_id": np.char.mod("q%05d", question),
            "score": cube.ravel(),
        }
    )


@cache
def _self_preference(
    questions: int, slope: float, taste: float, own: float, worlds: int, seed: int = 3
) -> pl.DataFrame:
    """All rows of `self_preference` in all worlds."""
    rng = np.random.default_rng(seed)
    frames = [
        leniency.self_preference(
            score_world(rng, questions, slope=slope, taste=taste, own=own), variant="multimodal", selves=SELVES
        )
        for _ in range(worlds)
    ]
    return pl.concat(frames)


def self_found(
    method: str,
    *,
    own: float,
    slope: float = 0.1,
    taste: float = 0.0,
    judge: str | None = None,
    worlds: int = 1000,
    band: Any = LEVEL_BAND,
) -> dict[str, Any]:
    """How often the effect of a judge, or of all together, is found at 5 %."""
    rows = _self_preference(150, slope, taste, own, worlds)
    rows = rows.filter(pl.col("judge").eq_missing(judge), method=method)
    return result((rows["p"] < 0.05).to_numpy().mean(), worlds, target=0.05 if own == 0 else 1.0, band=band)


def self_covered(
    method: str, *, own: float, slope: float = 0.1, taste: float = 0.0, worlds: int = 1000
) -> dict[str, Any]:
    rows = _self_preference(150, slope, taste, own, worlds).filter(judge="a", method=method)
    return result(((rows["low"] <= own) & (rows["high"] >= own)).to_numpy().mean(), worlds)


def equivalence_level(worlds: int = 1000) -> dict[str, Any]:
    """An effect at the very margin (1 point) must seldom be called none; with this much noise hardly ever."""
    rows = _self_preference(150, 0.1, 0.002, 0.01, worlds).filter(pl.col("judge").is_null(), method="slope_adjusted")
    return result((rows["p_equivalence"] < 0.05).to_numpy().mean(), worlds, target=0.05, band=(0.0, 0.065))


@cache
def _score_truth() -> dict[str, float]:
    scores = score_world(np.random.default_rng(98), 20_000)
    return _score_values(scores)


def _score_reports(scores: pl.DataFrame) -> pl.DataFrame:
    return pl.concat(
        [
            variance.answer_agreement(scores).select("estimate", "low", "high", name="statistic"),
            variance.pair_answer_agreement(scores)
            .filter(judge_a="a", judge_b="b")
            .select("estimate", "low", "high", name="pair " + pl.col("statistic")),
            leniency.leniency_slope(scores, variant="multimodal")
            .filter(judge="a")
            .select("estimate", "low", "high", name=pl.lit("leniency slope")),
            leniency.judge_gaps(scores, variant="multimodal")
            .filter(pl.col("model").is_null(), judge="a")
            .select("estimate", "low", "high", name=pl.lit("judge gap")),
            variance.effective_judges(scores, variant="multimodal").select(
                "estimate", "low", "high", name=pl.lit("effective judges")
            ),
        ]
    )


def _score_values(scores: pl.DataFrame) -> dict[str, float]:
    return dict(_score_reports(scores).select("name", "estimate").rows())


@cache
def _score_coverage(questions: int, worlds: int = 1000, seed: int = 4) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    truth = _score_truth()
    held = dict.fromkeys(truth, 0)
    for _ in range(worlds):
        for name, _, low, high in (
            _score_reports(score_world(rng, questions)).select("name", "estimate", "low", "high").rows()
        ):
            held[name] += low is not None and low <= truth[name] <= high
    return {name: count / worlds for name, count in held.items()}


def score_coverage(name: str, questions: int, worlds: int = 1000) -> dict[str, Any]:
    return result(_score_coverage(questions, worlds)[name], worlds)


# --- variance components


TRUE_COMPONENTS = {
    "model": 0.02,
    "question": 0.04,
    "judge": 0.001,
    "model x question": 0.06,
    "model x judge": 0.0005,
    "question x judge": 0.003,
    "residual": 0.015,
}


@cache
def _component_coverage(questions: int = 60, worlds: int = 2000, seed: int = 5) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    shapes = {
        "model": (1, 14, 1),
        "question": (questions, 1, 1),
        "judge": (1, 1, 3),
        "model x question": (questions, 14, 1),
        "model x judge": (1, 14, 3),
        "question x judge": (questions, 1, 3),
        "residual": (questions, 14, 3),
    }
    held = dict.fromkeys(shapes, 0)
    frame = _score_frame(np.zeros((questions, 14, 3)))
    for _ in range(worlds):
        cube = sum(np.sqrt(TRUE_COMPONENTS[name]) * rng.normal(size=shape) for name, shape in shapes.items())
        rows = variance.variance_components(frame.with_columns(score=np.asarray(cube).ravel()))
        for name, low, high in rows.select("component", "low", "high").rows():
            held[name] += low <= TRUE_COMPONENTS[name] <= high
    return {name: count / worlds for name, count in held.items()}


def component_coverage(name: str, worlds: int = 2000) -> dict[str, Any]:
    return result(_component_coverage(worlds=worlds)[name], worlds)


# What forty questions cannot give, as the docstrings say: a rare verdict, and chi-squared for so few clusters.
_RARE = (0.905, 0.965)
_LEVELS = {("stuart_maxwell", 40): (0.015, 0.05), ("bhapkar", 40): (0.05, 0.10)}


def studies() -> list[tuple[str, Callable[[], dict[str, Any]]]]:
    checks = ("percent", "percent_points", "kappa", "kappa_quadratic", "fleiss", "alpha_ordinal", "ac1", "ac2_linear")
    others = (
        "pair kappa_linear",
        "meets specific",
        "contradicts specific",
        "contradicts kappa",
        "value_shift",
        "log_odds",
    )
    rare = ("contradicts specific", "contradicts kappa")
    scores = ("icc_a1", "icc_c1", "pair lin_ccc", "pair limit_high", "leniency slope", "judge gap", "effective judges")
    listed: list[tuple[str, Callable[[], dict[str, Any]]]] = [
        (
            f"{name}, {n} questions",
            partial(verdict_coverage, name, n, band=_RARE if n == 40 and name in rare else COVERAGE_BAND),
        )
        for n in (40, 150)
        for name in (*checks, *others)
    ]
    listed += [
        (
            f"{method} keeps its level, {n} questions",
            partial(homogeneity_level, method, n, band=_LEVELS.get((method, n), LEVEL_BAND)),
        )
        for n in (40, 150)
        for method in ("stuart_maxwell", "bhapkar", "hotelling")
    ]
    listed += [(f"{name}, {n} questions", partial(score_coverage, name, n)) for n in (40, 150) for name in scores]
    listed += [
        ("self-preference of 0 is not found, slope-adjusted", partial(self_found, "slope_adjusted", own=0.0)),
        (
            "self-preference of 0 is not found, judges have tastes",
            partial(self_found, "slope_adjusted", own=0.0, taste=0.01),
        ),
        ("self-preference of 0 is not found, differences, no slope", partial(self_found, "did", own=0.0, slope=0.0)),
        (
            "differences alone take a slope for self-preference",
            partial(self_found, "did", own=0.0, judge="a", band=(0.2, 1.0)),
        ),
        ("self-preference of 3 points is found", partial(self_found, "slope_adjusted", own=0.03, band=(0.95, 1.0))),
        ("self-preference of 3 points is covered", partial(self_covered, "slope_adjusted", own=0.03)),
        ("an effect at the margin is seldom called none", equivalence_level),
    ]
    return listed + [(f"variance of {name}", partial(component_coverage, name)) for name in TRUE_COMPONENTS]
