"""Sensitivity to the constants: the grid of settings and the flip thresholds, against scoring again from the counts.

Each function times one task and its peer on the same counts and asserts that both give the same numbers. A peer that
would take minutes is measured on a part and scaled; the row says so.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from scipy.optimize import brentq

from gamut_analysis import sensitivity
from gamut_analysis.scoring import Scoring
from gamut_analysis.vocabulary import TIERS, VARIANTS, VERDICTS

MODELS, QUESTIONS, SAMPLE = 14, 1813, 40
CELL = {"judge": "judge", "variant": "multimodal"}
GRID = {"lambdas": np.linspace(0, 1, 21), "mus": -np.arange(1, 21) / 4, "weights": sensitivity.weight_simplex(20)}


def paper_counts(seed: int = 0) -> pl.DataFrame:
    """Counts of the paper's size, one judge: 14 models, 1,813 questions, one question in six without Context checks."""
    generator = np.random.default_rng(seed)
    sizes = np.stack([1 + generator.poisson(mean, QUESTIONS) for mean in (4.9, 4.8, 3.2)], axis=1)
    sizes[generator.random(QUESTIONS) < 1 / 6, 2] = 0
    quality = generator.normal(0, 0.5, (MODELS, 1, 1)) + generator.normal(0, 1, (1, QUESTIONS, 1))
    met = 1 / (1 + np.exp(-quality - generator.normal(0, 0.5, (MODELS, QUESTIONS, 3))))
    shares = np.stack([0.85 * met, 0.15 * met, 0.85 * (1 - met), 0.15 * (1 - met)], axis=-1)
    counts = generator.multinomial(np.broadcast_to(sizes, met.shape), shares).reshape(-1, 4)
    model, question, tier = (axis.ravel() for axis in np.indices(met.shape))
    frame = pl.DataFrame(
        {
            "model": pl.Series([f"model {i:02d}" for i in range(MODELS)])[model],
            "judge": "judge",
            "variant": pl.Series(["multimodal"] * len(model), dtype=pl.Enum(VARIANTS)),
            "question_id": pl.Series([f"q{i:04d}" for i in range(QUESTIONS)])[question],
            "replicate": pl.zeros(len(model), dtype=pl.Int32, eager=True),
            "tier": pl.Series(TIERS, dtype=pl.Enum(TIERS))[tier],
            **{verdict: counts[:, i].astype(np.int32) for i, verdict in enumerate(VERDICTS)},
            "ungraded": pl.zeros(len(model), dtype=pl.Int32, eager=True),
            "checks": counts.sum(axis=1).astype(np.int32),
        }
    )
    return frame.filter(pl.col("checks") > 0)


def dense(counts: pl.DataFrame) -> np.ndarray:
    """(models, questions, tiers, verdicts): what the peer scores from."""
    models, questions = sorted(counts["model"].unique()), sorted(counts["question_id"].unique())
    table = np.zeros((len(models), len(questions), len(TIERS), len(VERDICTS)))
    where = [
        counts[name].cast(pl.String).cast(pl.Enum(names)).to_physical().to_numpy()
        for name, names in (("model", models), ("question_id", questions), ("tier", TIERS))
    ]
    table[tuple(where)] = counts.select(VERDICTS).to_numpy()
    return table


def score_again(table: np.ndarray, lambda_: float, mu: float, weights: np.ndarray) -> np.ndarray:
    """The peer: every answer scored anew under one setting."""
    meets, partially, missing, contradicts = np.moveaxis(table, -1, 0)
    size = meets + partially + missing - mu * contradicts
    graded = size > 0
    tiers = np.divide(meets + lambda_ * partially + mu * contradicts, size, out=np.zeros_like(size), where=graded)
    weight = graded * weights
    return ((weight * tiers).sum(-1) / weight.sum(-1)).mean(axis=1)


def median_seconds(task: Callable[[], Any], repeats: int = 7) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def row(task: str, ours: float, peer_name: str, peer: float, equal: bool) -> dict[str, Any]:
    return {"task": task, "ours": ours, "peer_name": peer_name, "peer": peer, "ratio": peer / ours, "equal": equal}


def grid(counts: pl.DataFrame) -> dict[str, Any]:
    """71,820 settings: first, gap and tau of each, from the counts."""
    found = sensitivity.ranking_grid(counts, **CELL, **GRID)
    ours = median_seconds(lambda: sensitivity.ranking_grid(counts, **CELL, **GRID))
    table = dense(counts)
    sample = found.with_row_index().sample(SAMPLE, seed=0)
    settings = [(r[1], r[2], np.array(r[3:6])) for r in sample.iter_rows()]
    again: list[np.ndarray] = []
    start = time.perf_counter()
    again.extend(score_again(table, *setting) for setting in settings)
    peer = (time.perf_counter() - start) * found.height / SAMPLE
    names = sorted(counts["model"].unique())
    gaps = [np.diff(np.sort(scores)[-2:]).item() for scores in again]
    equal = sample["first"].to_list() == [names[scores.argmax()] for scores in again]
    equal = equal and np.allclose(sample["gap"].to_numpy(), gaps, atol=1e-12)
    assert equal, "the grid and scoring again disagree"
    return row(
        f"ranking grid, {found.height:,} settings",
        ours,
        f"numpy, scored again ({SAMPLE} settings, scaled)",
        peer,
        equal,
    )


def flips(counts: pl.DataFrame) -> dict[str, Any]:
    """Thresholds in lambda, mu and three weights for 91 pairs; the peer finds mu by Brent's method, scoring again."""
    found = sensitivity.flip_thresholds(counts, **CELL)
    ours = median_seconds(lambda: sensitivity.flip_thresholds(counts, **CELL), repeats=3)
    table = dense(counts)
    names = sorted(counts["model"].unique())
    roots = found.filter(constant="mu").drop_nulls("threshold").sort(pl.col("shift").abs()).head(3)
    start = time.perf_counter()
    again = [
        _brent(table[[names.index(r["leader"]), names.index(r["other"])]], r["threshold"])
        for r in roots.iter_rows(named=True)
    ]
    peer = (time.perf_counter() - start) / len(again) * found.height
    equal = np.allclose(roots["threshold"].to_numpy(), again, atol=1e-9)
    assert equal, "the thresholds and Brent's method on scores from the counts disagree"
    name = f"scipy brentq, scored again ({len(again)} roots in mu, scaled)"
    return row(f"flip thresholds, {found.height} rows for 91 pairs", ours, name, peer, equal)


def _brent(pair: np.ndarray, near: float) -> float:
    default = Scoring()
    weights = np.array(default.weights)

    def gap(mu: float) -> float:
        first, second = score_again(pair, default.lambda_, mu, weights)
        return first - second

    return brentq(gap, near * 1.02, near * 0.98, xtol=1e-13)


def rows() -> list[dict[str, Any]]:
    """Every benchmark of this file: task, ours and peer in seconds, ratio, equal."""
    counts = paper_counts()
    return [grid(counts), flips(counts)]


if __name__ == "__main__":
    for result in rows():
        print(result)
