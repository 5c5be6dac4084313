"""What the chapter on judges says: both readings of each sentence, and case 24 by hand."""

import shutil
from types import SimpleNamespace

import polars as pl
import pytest
from delivered import built

from gamut_analysis.chapters import judges
from gamut_analysis.display import Table
from gamut_analysis.study import Study


def with_frames(**frames):
    """A study whose frames are given instead of computed."""
    kept = {getattr(judges, name).__wrapped__: frame for name, frame in frames.items()}
    return SimpleNamespace(frames=kept, judge="j", judge_name="Judge J", variant="multimodal")


def boards(scores):
    rows = [(model, judge, score) for judge, column in scores.items() for model, score in column.items()]
    frame = pl.DataFrame(rows, schema=["model", "judge", "estimate"], orient="row")
    return frame.with_columns(name=pl.col("model").str.to_uppercase())


def named(**more):
    names = pl.DataFrame({"judge": ["j", "k"], "name": ["Judge J", "Judge K"], "model": ["a", None]})
    return SimpleNamespace(judges=names, judge="j", judge_name="Judge J", variant="multimodal", **more)


def test_pairs_that_change_their_order_are_counted_and_none_is_said():
    turned = boards({"j": {"a": 0.9, "b": 0.5, "c": 0.1}, "k": {"a": 0.5, "b": 0.9, "c": 0.1}})
    assert "1 of 3 pairs of models stand in the other order under Judge K" in str(judges.order_text(named(), turned))
    alike = boards({"j": {"a": 0.9, "b": 0.5}, "k": {"a": 0.7, "b": 0.6}})
    assert str(judges.order_text(named(), alike)).startswith("No pair of the 1 changes")
    assert "no two models and two judges" in str(judges.order_text(named(), boards({"j": {"a": 0.9}})))


def close(narrow, ceiling):
    rows = [("k", 0.02, narrow, 4, narrow / 4, ceiling), ("k", 2.0, 9, 10, 0.9, 0.95)]
    return pl.DataFrame(rows, schema=["judge", "margin", "same", "pairs", "estimate", "ceiling"], orient="row")


@pytest.mark.parametrize(("same", "told"), [(1, "the judges add to the doubt"), (3, "they are simply close")])
def test_close_pairs_are_held_against_what_questions_alone_would_leave(same, told):
    said = str(judges.close_text(with_frames(close_orders=close(same, 0.5))))
    assert f"Of the pairs within 2.0 points {same * 25}.0 %" in said
    assert "of all pairs 90.0 %" in said
    assert told in said


def test_without_close_pairs_or_a_second_judge_the_text_says_so():
    far = close(1, 0.5).with_columns(estimate=pl.when(pl.col("margin") > 1).then("estimate"))
    assert "No two models lie close" in str(judges.close_text(with_frames(close_orders=far)))
    assert "One judge alone" in str(judges.close_text(with_frames(close_orders=far.clear())))


@pytest.mark.parametrize(("near", "far", "told"), [(6, 2, "a matter of degree"), (2, 6, "more often a matter of fact")])
def test_verdicts_differ_by_degree_or_in_fact(near, far, told):
    counts = {f"n_{i}{j}": [0] for i in range(4) for j in range(4)} | {"n_00": [92], "n_01": [near], "n_30": [far]}
    pairs = pl.DataFrame({"judge_a": ["j"], "judge_b": ["k"]} | counts)
    said = str(judges.verdict_grid_text(named(relation=lambda *_, **__: pairs)))
    assert "8.0 % of the checks get two different verdicts" in said
    assert told in said


@pytest.mark.parametrize(
    ("ends", "told"),
    [((0.5, 0.6, 0.7, 0.8), "by more than both intervals by tier."), ((0.5, 0.75, 0.7, 0.8), "By tier the intervals")],
)
def test_groups_are_apart_only_where_their_intervals_do_not_meet(ends, told):
    low, high, other_low, other_high = ends
    rows = {"by": ["tier"] * 2, "group": ["x", "y"], "coefficient": ["alpha_ordinal"] * 2, "estimate": [0.55, 0.76]}
    groups = pl.DataFrame(rows | {"low": [low, other_low], "high": [high, other_high]})
    study = with_frames(grouped=groups)
    study.coverage = pl.DataFrame({"variant": ["multimodal"] * 2, "judge": ["j", "k"]})
    assert told in str(judges.agreement_text(study))


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(-0.3, -0.1, "lifts weak models"), (0.1, 0.3, "lifts strong models"), (-0.1, 0.3, "no judge is shown")],
)
def test_a_slope_of_leniency_is_told_by_its_interval(monkeypatch, low, high, told):
    slopes = pl.DataFrame({"judge": ["j"], "estimate": [(low + high) / 2], "low": [low], "high": [high]})
    monkeypatch.setattr(judges.leniency, "leniency_slope", lambda *_, **__: slopes)
    coverage = pl.DataFrame({"variant": ["multimodal"] * 2, "judge": ["j", "k"]})
    said = str(judges.leniency_text(named(coverage=coverage, scores=None, questions=None)))
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
    return judges.self_scores(named(), boards(scores))


def test_the_judge_of_the_benchmark_case_that_is_a_model(shared, tmp_path):
    folder = tmp_path / "case"
    shutil.copytree(next((shared / "cases").glob("24-*")), folder, ignore=shutil.ignore_patterns("expected.json"))
    study = Study(built(folder), judge="judge-b")
    rows = judges.self_scores(study, judges.boards(study))
    assert rows.select("model", "by_itself", "by_others", "difference").rows() == [("judge-a", 1.0, 0.75, 0.25)]
    found = judges.agreement_without_self(study)
    percent = found.frame.filter(pl.col("label") == "Same verdict")
    assert percent.select("estimate_all", "estimate_rest", "n_all", "n_rest").row(0) == (0.875, 1.0, 16, 8)


def test_the_tables_of_a_small_world_hold_every_pair(small_database):
    study = Study(small_database)
    close_pairs = judges.close_pairs(study)
    assert isinstance(close_pairs, Table)
    # Five models make ten pairs, and two judges face the reference.
    assert close_pairs.frame.filter(pl.col("within") == "all pairs")["pairs"].to_list() == [10, 10]
    ranks, gaps = judges.rank_agreement(study), judges.rank_gaps(study)
    assert ranks.frame.height == gaps.frame.height == 3
    turned = judges.boards(study).pivot("judge", index="model", values="estimate")
    widest = (turned["gemini-3.1-pro"] - turned["qwen3-vl-235b"]).abs().max()
    held = gaps.frame.filter(pl.col("pair").str.contains("Gemini") & pl.col("pair").str.contains("Qwen"))
    assert held["max_abs_gap"].item() == pytest.approx(widest)
