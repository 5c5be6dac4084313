"""A small world that was graded three times by one judge and once by an older one, drawn from a seed."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from delivered import check, grading, put, verdict

from gamut_analysis.vocabulary import ROLES, TIERS, VERDICTS

MODELS = ("alpha", "beta", "gamma", "delta")
QUESTIONS, CHECKS, REPLICATES = 30, 6, 3
OLD, NEW = "grader", "grader (grade-2 0a1b2c3d)"
HASHES = {OLD: "f" * 64, NEW: "0a1b2c3d" + "e" * 56}
START = datetime(2026, 3, 1, tzinfo=UTC)


def rejudged(folder: Path, seed: int = 1) -> Path:
    """Write the world: the newer judge turns one verdict in ten from grading to grading, and is the stricter one."""
    rng = np.random.default_rng(seed)
    checks = [
        check(question_id=f"q{q:02}", check_id=f"c{c}", tier=TIERS[c % 3], role=ROLES[c % 3], text=f"Fact {c} of {q}")
        for q in range(QUESTIONS)
        for c in range(CHECKS)
    ]
    shape = (len(MODELS), QUESTIONS, CHECKS)
    truth = rng.choice(4, shape, p=(0.5, 0.2, 0.25, 0.05)) - (
        rng.random(shape) < np.array([0.4, 0.2, 0.1, 0.0])[:, None, None]
    )
    truth = np.clip(truth, 0, 3)
    rows, told = [], []
    for judge, replicates, harsher, day in ((OLD, 1, 0.0, 0), (NEW, REPLICATES, 0.15, 30)):
        strict = np.clip(truth + (rng.random(shape) < harsher), 0, 3)
        for replicate in range(replicates):
            given = np.where(rng.random(shape) < 0.1, rng.integers(0, 4, shape), strict)
            at = (START + timedelta(days=day, hours=replicate)).isoformat()
            for (m, q, c), code in np.ndenumerate(given):
                rows.append(_verdict(judge, MODELS[m], q, c, replicate, VERDICTS[code], at))
            told += [_grading(judge, model, q, replicate, at) for model in MODELS for q in range(QUESTIONS)]
    put(folder, "checks.jsonl", checks)
    put(folder, "verdicts.jsonl", rows)
    put(folder, "gradings.jsonl", told)
    return folder


def _verdict(judge: str, model: str, q: int, c: int, replicate: int, label: str, at: str) -> dict[str, Any]:
    place = {"question_id": f"q{q:02}", "check_id": f"c{c}", "replicate": replicate}
    return verdict(judge=judge, model=model, verdict=label, judged_at=at, **place)


def _grading(judge: str, model: str, q: int, replicate: int, at: str) -> dict[str, Any]:
    cost = {"calls": 1, "input_tokens": 800, "output_tokens": 200, "cost_usd": 0.002, "seconds": 1.5}
    protocol = {"prompt": "grade-2" if judge == NEW else "grade-1", "prompt_hash": HASHES[judge], "checks_per_call": 0}
    place = {"question_id": f"q{q:02}", "replicate": replicate, "judged_at": at, "run_status": "success"}
    return grading(judge=judge, model=model, **place, **protocol, **cost)
