"""Fixtures that every test may use: the shared folder beside the checkout, its oracles and its cases."""

import json
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of oracles, cases and real data beside the checkout; the test is skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("needs the folder `shared` beside the checkout (oracles, cases, real data)")
    return SHARED


@pytest.fixture(scope="session")
def oracle(shared):
    """Read one worked statistic with its known answer: ``oracle("fleiss1971_psychiatric")``."""

    def read(name: str) -> dict[str, Any]:
        return json.loads((shared / "oracles" / f"{name}.json").read_text(encoding="utf-8"))

    return read


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory) -> Path:
    """The files of a small simulated world: 40 questions, 5 models, 3 judges, both variants."""
    from gamut_analysis import simulate

    models = ("gemini-3.1-pro", "claude-opus-4.8", "gpt-4o", "qwen3-vl-235b", "llama-3.2-11b")
    folder = tmp_path_factory.mktemp("small") / "small"
    simulate.write(simulate.paper_world(questions=40, models=models), folder)
    return folder


@pytest.fixture(scope="session")
def small_database(small_folder) -> Path:
    """The database of the small simulated world."""
    from gamut_analysis import datasets

    return datasets.build(small_folder, small_folder.parent / "small.duckdb").database


@pytest.fixture(scope="session")
def bare_database(tmp_path_factory) -> Path:
    """A database of the least that can be delivered: two judges, one variant, no tiers, domains, roles or names.

    alpha is complete; beta lacks question q3; the judge b graded alpha alone.
    """
    from gamut_analysis import datasets

    rows = ["model,judge,question_id,check_id,verdict"]
    grid = [("alpha", "a", "q1 q2 q3"), ("beta", "a", "q1 q2"), ("alpha", "b", "q1 q2 q3")]
    for model, judge, questions in grid:
        for question in questions.split():
            met = "meets" if model == "alpha" else "missing"
            rows += [f"{model},{judge},{question},c1,{met}", f"{model},{judge},{question},c2,contradicts"]
    folder = tmp_path_factory.mktemp("bare") / "bare"
    folder.mkdir()
    (folder / "verdicts.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return datasets.build(folder, folder.parent / "bare.duckdb").database
