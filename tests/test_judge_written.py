"""The folder that a run leaves: verdicts, gradings and judges worked out from calls, and what may not be mixed."""

import polars as pl
import pytest

from gamut_analysis import datasets, tables
from gamut_analysis.errors import InputError
from gamut_analysis.judge.inputs import Answer, Rubrics
from gamut_analysis.judge.written import bare, beside, gradings_of, judges_of, settle, verdicts_of, write_tables
from gamut_analysis.scoring import Scoring
from tests.judging import CHECKS, a_grading, a_judge, a_reply, answered

TEXTS = {("multimodal", "q1"): list(CHECKS)}
ALL = {"c1": "meets", "c2": "missing", "c3": "contradicts"}


@pytest.fixture
def rubrics():
    checks = pl.DataFrame(
        [("multimodal", "q1", check_id, "answer_critical", text) for check_id, text in CHECKS],
        schema=["variant", "question_id", "check_id", "tier", "text"],
        orient="row",
    )
    questions = pl.DataFrame({"question_id": ["q1"], "variant": ["multimodal"], "question": ["Which river?"]})
    return Rubrics(
        questions, checks, pl.DataFrame(schema={"question_id": pl.String}), {"title": "answers about rivers"}
    )


def test_verdicts_carry_reason_time_and_protocol():
    judge = a_judge(checks_per_call=2)
    calls = answered(judge, a_grading(), [a_reply({"c1": "meets", "c2": "missing"}), a_reply({"c3": "meets"})])
    rows = verdicts_of(calls).to_dicts()
    assert [(row["check_id"], row["verdict"]) for row in rows] == [("c1", "meets"), ("c2", "missing"), ("c3", "meets")]
    assert rows[0] == {
        "model": "alpha",
        "judge": "judge-a",
        "variant": "multimodal",
        "question_id": "q1",
        "replicate": 0,
        "check_id": "c1",
        "verdict": "meets",
        "rationale": "about c1",
        "error": None,
        "judged_at": "2026-03-01T12:00:00.000+00:00",
        "prompt": "grade-1",
        "prompt_hash": judge.prompt.hash,
        "checks_per_call": 2,
    }


def test_a_grading_adds_up_what_its_replies_took():
    # One failed call (free), one reply that left two checks open, one that gave them.
    replies = [None, a_reply({"c1": "meets"}), a_reply({"c2": "meets", "c3": "meets"})]
    row = gradings_of(answered(a_judge(), a_grading(), replies), TEXTS).row(0, named=True)
    assert (row["calls"], row["input_tokens"], row["output_tokens"]) == (2, 200, 40)
    assert (row["cost_usd"], row["seconds"], row["run_status"]) == (0.5, 3.0, "success")


def test_a_grading_that_did_not_reach_every_check_is_cancelled():
    calls = answered(a_judge(checks_per_call=2), a_grading(), [a_reply({"c1": "meets", "c2": "meets"})])
    assert gradings_of(calls, TEXTS)["run_status"].to_list() == ["cancelled"]
    assert gradings_of(answered(a_judge(), a_grading(), [None]), TEXTS)["run_status"].to_list() == ["cancelled"]
    assert gradings_of(answered(a_judge(), a_grading(), ["?"] * 3), TEXTS)["run_status"].to_list() == ["success"]


def test_a_judge_that_is_one_of_the_models_is_named_as_it():
    calls = answered(a_judge(name="mine", model="openai/alpha"), a_grading(), [a_reply(ALL)])
    assert judges_of(calls, ["alpha", "beta"]).row(0) == ("mine", "mine", "model", "alpha")
    assert judges_of(calls, ["beta"]).row(0) == ("mine", "mine", "model", None)
    assert bare("none") == "none"


def test_a_folder_of_verdicts_becomes_a_database(tmp_path, rubrics):
    # Case 25 beside a graded answer: one empty, one that could not be had, all of them answers to q1.
    answers = [
        Answer("alpha", "multimodal", "q1", "The Nile."),
        Answer("beta", "multimodal", "q1", " "),
        Answer("gamma", "multimodal", "q1", None, "timeout"),
    ]
    folder = tmp_path / "rivers"
    held = beside(folder, answers, rubrics)
    settle(folder, held, rubrics, simulated=True)
    calls = answered(a_judge(), a_grading(), [a_reply(ALL)])
    write_tables(folder, calls, held, rubrics)
    database = datasets.build(folder, tmp_path / "rivers.duckdb").database
    told = tables.read(database, "dataset").row(0, named=True)
    assert (told["simulated"], told["title"]) == (True, "SIMULATED verdicts on answers about rivers")
    scores = Scoring().questions(tables.read(database, "verdict_counts"))
    # alpha: one of each of meets, missing, contradicts: (1 - 2) / (1 + 1 + 2); beta: all missing; gamma: not had.
    assert dict(scores.select(pl.col("model").cast(pl.String), "score").iter_rows()) == {
        "alpha": -0.25,
        "beta": 0.0,
        "gamma": None,
    }


def test_a_second_model_joins_the_folder(tmp_path, rubrics):
    settle(tmp_path, [Answer("alpha", "multimodal", "q1", "The Nile.")], rubrics, simulated=False)
    held = beside(tmp_path, [Answer("beta", "multimodal", "q1", "The Po.\n")], rubrics)
    assert [(answer.model, answer.answer) for answer in held] == [("alpha", "The Nile."), ("beta", "The Po.\n")]


def test_another_answer_or_another_rubric_is_refused(tmp_path, rubrics):
    answer = Answer("alpha", "multimodal", "q1", "The Nile.")
    settle(tmp_path, [answer], rubrics, simulated=False)
    with pytest.raises(InputError, match="another answer of alpha to q1"):
        beside(tmp_path, [Answer("alpha", "multimodal", "q1", "The Amazon.")], rubrics)
    changed = Rubrics(rubrics.questions, rubrics.checks.head(2), rubrics.items, rubrics.dataset)
    with pytest.raises(InputError, match="other rubrics"):
        beside(tmp_path, [answer], changed)


def test_a_manifest_that_people_changed_is_kept(tmp_path, rubrics):
    (tmp_path / "gamut.toml").write_text('[data]\ntitle = "Mine"\n', encoding="utf-8")
    settle(tmp_path, [Answer("alpha", "multimodal", "q1", "x")], rubrics, simulated=False)
    assert (tmp_path / "gamut.toml").read_text("utf-8") == '[data]\ntitle = "Mine"\n'


def test_hostile_titles_stay_inside_the_manifest(tmp_path, rubrics):
    import tomllib

    title = 'a"b\\c\n[data]\x7f\x00😀'
    named = Rubrics(rubrics.questions, rubrics.checks, rubrics.items, {"title": title})
    settle(tmp_path, [Answer("alpha", "multimodal", "q1", "x")], named, simulated=False)
    told = tomllib.loads((tmp_path / "gamut.toml").read_text("utf-8"))
    assert told["data"]["title"] == f"Verdicts on {title}"


def test_simulated_data_does_not_hide_beside_other_data(tmp_path, rubrics):
    answer = Answer("alpha", "multimodal", "q1", "x")
    settle(tmp_path, [answer], rubrics, simulated=False)
    with pytest.raises(InputError, match="holds data that is not simulated"):
        settle(tmp_path, [answer], rubrics, simulated=True)
    settle(tmp_path / "new", [answer], rubrics, simulated=True)
    settle(tmp_path / "new", [answer], rubrics, simulated=True)
