"""Data at the edge of what makes sense: every notebook still says what can be said, and why the rest cannot."""

import pytest

from gamut_analysis import datasets, paths
from gamut_analysis.study import Study
from tests.delivered import put
from tests.executed import execute, faults

TIERS = ("answer_critical", "valuable", "context")
NOTEBOOKS = sorted(path.stem for path in paths.notebooks().glob("*.ipynb"))


def rows(models=3, questions=4, checks=3, verdict=lambda m, q, c: "meets", judges=("j",), **fields):
    """Verdicts of a grid; ``verdict`` gives the label, or an error where it gives none."""
    found = []
    for judge in judges:
        for m in range(models):
            for q in range(questions):
                for c in range(checks):
                    label = verdict(m, q, c)
                    told = {"verdict": label} if label else {"error": "refused"}
                    place = {"model": f"m{m}", "judge": judge, "question_id": f"q{q}", "check_id": f"c{c}"}
                    found.append({**place, "variant": "multimodal", "tier": TIERS[c % 3], **told, **fields})
    return found


def mixed(m, q, c):
    """A label that differs by model, question and check."""
    return ("meets", "missing", "partially_meets", "contradicts")[(m + 2 * q + 3 * c + q * c) % 4]


WORLDS = {
    "one model": rows(models=1, verdict=mixed),
    "two models": rows(models=2, verdict=mixed),
    "one question": rows(questions=1, verdict=mixed),
    "one check": rows(checks=1, verdict=mixed),
    "all equal": rows(judges=("j", "k")),
    "all wrong": rows(verdict=lambda m, q, c: "contradicts"),
    "nobody graded": rows(verdict=lambda m, q, c: None),
    "one model ungraded": rows(verdict=lambda m, q, c: None if m == 0 else mixed(m, q, c)),
    "one cell": rows(models=1, questions=1, checks=1),
    "two judges that share nothing": [
        *rows(models=2, questions=2, verdict=mixed),
        *[row | {"judge": "k", "question_id": "z" + row["question_id"]} for row in rows(models=2, verdict=mixed)],
    ],
}


@pytest.fixture(scope="module", params=sorted(WORLDS))
def world(request, tmp_path_factory):
    """The database of a world."""
    folder = tmp_path_factory.mktemp("odd") / "odd"
    put(folder, "verdicts.jsonl", WORLDS[request.param])
    return datasets.build(folder, folder.parent / "odd.duckdb").database


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_notebook_holds_on_the_oddest_data(notebook, world):
    model = Study(world).models["model"][0] if notebook == "model_report" else ""
    done = execute(paths.notebooks() / f"{notebook}.ipynb", {"database": str(world), "model": model})
    assert faults(done) == []
