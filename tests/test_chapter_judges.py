"""What the chapter on judges says: both readings of each sentence, and the paper's statements by hand."""

from types import SimpleNamespace

import polars as pl
import pytest
from boards import boards, named

from gamut_analysis.chapters import judges
from gamut_analysis.display import Table
from gamut_analysis.study import Study


def with_frames(**frames):
    """A study whose frames are given instead of computed."""
    kept = {getattr(judges, name).__wrapped__: frame for name, frame in frames.items()}
    return SimpleNamespace(frames=kept, judge="j", judge_name="Judge J", variant="multimodal")


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


# --- ours beside the published


def judged(gaps, judges=("gemini-3.1-pro", "claude-opus-4.8", "qwen3-vl-235b")):
    """A study of three models, whose scores lie so far above the reference judge's, question by question."""
    own = {"gemini-3.1-pro": 0.5, "claude-opus-4.8": 0.4, "x": 0.1}
    rows = [
        (model, judge, "multimodal", f"q{at}", level + ease + gaps.get((judge, model), (0, 0, 0))[at])
        for judge in judges
        for model, level in own.items()
        for at, ease in enumerate((0.0, 0.1, 0.3))
    ]
    schema = ["model", "judge", "variant", "question_id", "score"]
    return SimpleNamespace(
        scores=pl.DataFrame(rows, schema=schema, orient="row"),
        judges=pl.DataFrame({"judge": judges, "name": judges}),
        judge="gemini-3.1-pro",
        dataset={"benchmark": "gamut", "simulated": False},
        questions=None,
        variant="multimodal",
        seed=0,
    )


GAPS = {
    # Claude's largest gap is 2 points, on x; on itself and on Gemini 0.5. The order stays as it is.
    ("claude-opus-4.8", "x"): (-0.02, -0.02, -0.02),
    ("claude-opus-4.8", "claude-opus-4.8"): (0.005, 0.005, 0.005),
    # Qwen's smallest gap is 4 points in the mean, with a spread, its largest 20.
    ("qwen3-vl-235b", "x"): (0.02, 0.04, 0.06),
    ("qwen3-vl-235b", "claude-opus-4.8"): (0.1, 0.1, 0.1),
    ("qwen3-vl-235b", "gemini-3.1-pro"): (0.2, 0.2, 0.2),
}


def test_the_papers_statements_on_judges_stand_beside_ours_by_hand():
    study = judged(GAPS)
    found = judges.published_statements(study).frame
    assert found["estimate"].to_list() == pytest.approx([2.0, 1.0, 0.5, 4.0, 20.0])
    assert found["value"].to_list() == [1.8, 1.0, 0.3, 4.0, 11.0]
    # Gaps that are the same on every question leave no room; that of 4 points has some.
    assert (found["high"] - found["low"] > 1e-3).to_list() == [False, False, False, True, False]
    assert found["inside"].to_list() == ["outside", "inside", "outside", "inside", "outside"]
    assert str(judges.statements_note(study)) == "2 of 5 of the paper's numbers lie inside our intervals."


def test_statements_without_an_interval_are_neither_inside_nor_outside():
    study = judged(GAPS)
    study.scores = study.scores.filter(pl.col("question_id") == "q0")
    found = judges.published_statements(study).frame
    assert found["estimate"].to_list() == pytest.approx([2.0, 1.0, 0.5, 2.0, 20.0])
    assert found["inside"].null_count() == found.height == 5
    assert "no interval" in str(judges.statements_note(study))


def test_a_judge_that_did_not_grade_has_no_statement():
    one = judged(GAPS, ("gemini-3.1-pro", "qwen3-vl-235b"))
    assert judges.statements(one)["slug"].unique().to_list() == ["qwen3-vl-235b"]


@pytest.mark.parametrize(
    ("present", "benchmark", "told"),
    [
        (("claude-opus-4.8", "qwen3-vl-235b"), "gamut", "did not grade this data together"),
        (("gemini-3.1-pro",), "gamut", "did not grade this data together"),
        (("gemini-3.1-pro", "claude-opus-4.8"), "other", "This data is not GAMUT's"),
    ],
)
def test_without_the_papers_judges_or_its_benchmark_both_parts_say_why(monkeypatch, present, benchmark, told):
    study = judged(GAPS, present)
    study.dataset["benchmark"] = benchmark
    study.models = pl.DataFrame({"model": ["gemini-3.1-pro"]})
    assert told in str(judges.published_statements(study))
    assert told in str(judges.statements_note(study))
