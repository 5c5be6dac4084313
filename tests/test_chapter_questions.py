"""The frames of the explorer: what counts for each check, what it costs, and in which order a rubric is read."""

import polars as pl
import pytest
from delivered import built, check, put, verdict

from gamut_analysis.chapters import questions
from gamut_analysis.display import Text
from gamut_analysis.live.explorer import Explorer
from gamut_analysis.study import Study


@pytest.fixture(scope="module")
def small(small_database):
    return Study(small_database, "gpt-4o")


@pytest.fixture(scope="module")
def uneven(tmp_path_factory):
    """One model, two judges: q1 graded by both, q2 an empty answer, q3 an answer that could not be had."""
    folder = tmp_path_factory.mktemp("uneven") / "uneven"
    rubric = [
        {"check_id": "list-2", "tier": "valuable"},
        {"check_id": "list-10", "tier": "valuable"},
        {"check_id": "name"},
    ]
    put(folder, "checks.jsonl", [check(question_id=q, **one) for q in ("q1", "q2", "q3") for one in rubric])
    graded = {"name": "meets", "list-2": "missing", "list-10": "contradicts"}
    rows = [verdict(question_id="q1", check_id=c, verdict=v, rationale=f"as {c} says") for c, v in graded.items()]
    rows += [verdict(question_id="q1", check_id="name", judge="judge-b", verdict="partially_meets")]
    put(folder, "verdicts.jsonl", rows)
    answers = {"q1": "A fern.", "q2": "", "q3": None}
    put(
        folder,
        "answers.jsonl",
        [
            {"model": "alpha", "question_id": q, "answer": a, "error": "timeout" if a is None else None}
            for q, a in answers.items()
        ],
    )
    return Study(built(folder), "alpha", "judge-a")


def test_costs_of_checks_add_up_to_what_each_question_lacks(small):
    said = questions.verdicts(small)
    lost = questions.checks(small, said).group_by("question_id").agg(pl.col("cost").sum())
    both = lost.join(questions.questions(small), on="question_id")
    assert both.height == 40
    assert both.select((pl.col("cost") + pl.col("score") - 1).abs().max()).item() < 1e-12


def test_every_judge_has_a_word_on_every_check(small):
    said = questions.verdicts(small)
    assert said.height == small.checks.height * small.judges.height
    assert said["verdict"].null_count() == 0


def test_questions_stand_from_the_costliest_on_and_those_without_a_score_last(uneven):
    # q1: Answer-Critical 1, Valuable (0 - 2) / (1 + 2) = -2/3: (0.6 - 0.2) / 0.9 = 4/9. q2: all missing, 0.
    shown = questions.questions(uneven)
    assert shown["question_id"].to_list() == ["q2", "q1", "q3"]
    assert shown["score"].to_list() == [0.0, pytest.approx(4 / 9), None]
    assert shown["reason"].to_list()[2] == "the answer could not be had"
    assert shown["answer"].to_list()[1] == "A fern."


def test_checks_of_empty_answers_count_as_missing_and_those_of_absent_ones_as_not_graded(uneven):
    said = questions.verdicts(uneven).filter(judge="judge-a")
    empty, absent = (said.filter(question_id=question) for question in ("q2", "q3"))
    assert set(empty["verdict"].cast(pl.String)) == {"missing"}
    assert "counts as missing" in empty["note"][0]
    assert absent["verdict"].null_count() == 3
    assert absent["note"][0] == "The answer could not be had."


def test_a_check_costs_what_its_verdict_takes_from_the_score(uneven):
    # Of 5/9: Valuable has D = 1 + 2 = 3 and weight 1/3: missing 1/3 * 1/3 = 1/9, contradicts 1/3 * 4/3 = 4/9.
    rubric = questions.checks(uneven, questions.verdicts(uneven)).filter(question_id="q1")
    costs = dict(rubric.select("check_id", "cost").iter_rows())
    assert costs == {"name": 0, "list-2": pytest.approx(1 / 9), "list-10": pytest.approx(4 / 9)}


def test_what_a_judge_did_not_grade_is_without_a_verdict(uneven):
    other = questions.verdicts(uneven).filter(judge="judge-b", question_id="q1")
    assert dict(other.select("check_id", pl.col("verdict").cast(pl.String)).iter_rows()) == {
        "name": "partially_meets",
        "list-2": None,
        "list-10": None,
    }


def test_items_are_read_by_tier_and_then_by_number(small):
    rubric = questions.checks(small, questions.verdicts(small))
    for _, own in rubric.group_by("question_id"):
        items = own.group_by("item_id", maintain_order=True).agg(pl.col("tier").to_physical().min())
        assert items["tier"].is_sorted()
        kinds = own.filter(pl.col("item_id").str.starts_with("simple-knowledge"))["item_id"].unique(maintain_order=True)
        by_tier = (
            own.group_by("item_id", maintain_order=True)
            .agg(pl.col("tier").first())
            .filter(pl.col("item_id").is_in(kinds.implode()))
        )
        for _, same in by_tier.group_by("tier"):
            numbers = [int(name.rsplit("-", 1)[1]) for name in same["item_id"]]
            assert numbers == sorted(numbers)


def test_the_explorer_has_the_studys_judge_first(small):
    shown = questions.explorer(small)
    assert isinstance(shown, Explorer)
    assert next(iter(shown.judges)) == small.judge
    assert shown.rater_names[0] == small.judge_name
    assert shown.data()["kept"] == {"texts": 40, "notes": 40}


def test_bare_data_can_be_explored_too(bare_database):
    study = Study(bare_database, "beta")
    shown = questions.explorer(study)
    assert shown.questions["question_id"].to_list() == ["q1", "q2"]
    assert shown.data()["domains"] == []
    assert "q1" in shown.html()


def test_a_model_without_questions_in_a_variant_is_told_in_one_line(uneven):
    nothing = Study(uneven.path, "alpha", "judge-a")
    object.__setattr__(nothing, "counts", uneven.counts.clear())
    assert isinstance(questions.explorer(nothing), Text)
