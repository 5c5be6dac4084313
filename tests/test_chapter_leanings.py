"""What the chapter on the leanings of judges says: both readings of each sentence, and case 24 by hand."""

import shutil

import polars as pl
import pytest
from boards import boards, named
from delivered import built

from gamut_analysis.chapters import judges, leanings
from gamut_analysis.study import Study


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(-0.3, -0.1, "lifts weak models"), (0.1, 0.3, "lifts strong models"), (-0.1, 0.3, "no judge is shown")],
)
def test_a_slope_of_leniency_is_told_by_its_interval(monkeypatch, low, high, told):
    slopes = pl.DataFrame({"judge": ["j"], "estimate": [(low + high) / 2], "low": [low], "high": [high]})
    monkeypatch.setattr(leanings.leniency, "leniency_slope", lambda *_, **__: slopes)
    coverage = pl.DataFrame({"variant": ["multimodal"] * 2, "judge": ["j", "k"]})
    said = str(leanings.leniency_text(named(coverage=coverage, scores=None, questions=None)))
    assert told in said


def test_a_judge_that_is_a_model_stands_with_and_without_its_own_verdict():
    # By all: a (0.9 + 0.3) / 2 = 0.6 before b 0.55; without its own a has 0.3 and falls behind b.
    scores = self_scores({"j": {"a": 0.9, "b": 0.5}, "k": {"a": 0.3, "b": 0.6}})
    row = scores.row(0, named=True)
    assert (row["name"], row["by_itself"], row["by_others"]) == ("A", 0.9, 0.3)
    assert row["difference"] == pytest.approx(0.6)
    assert (row["place_all"], row["place_others"]) == (1, 2)
    assert scores.height == 1


def self_scores(scores):
    return leanings.self_scores(named(), boards(scores))


def test_the_judge_of_the_benchmark_case_that_is_a_model(shared, tmp_path):
    folder = tmp_path / "case"
    shutil.copytree(next((shared / "cases").glob("24-*")), folder, ignore=shutil.ignore_patterns("expected.json"))
    study = Study(built(folder), judge="judge-b")
    rows = leanings.self_scores(study, judges.boards(study))
    assert rows.select("model", "by_itself", "by_others", "difference").rows() == [("judge-a", 1.0, 0.75, 0.25)]
    found = leanings.agreement_without_self(study)
    percent = found.frame.filter(pl.col("label") == "Same verdict")
    assert percent.select("estimate_all", "estimate_rest", "n_all", "n_rest").row(0) == (0.875, 1.0, 16, 8)
