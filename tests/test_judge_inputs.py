"""Answers and rubrics at the door of the judge: what is read, matched and refused."""

import json

import pytest

from gamut_analysis.errors import InputError, UnknownName
from gamut_analysis.judge.inputs import Answer, matched, read_answers, read_rubrics


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


ROW = {"model": "m", "variant": "text_only", "question_id": "q1", "answer": "The Nile."}


def test_answers_are_read_under_the_usual_names(tmp_path):
    path = write(
        tmp_path / "a.jsonl", [{"session_id": "q1", "response": " kept  ", "model": "m", "variant": "Text-Only"}]
    )
    assert read_answers(path) == [Answer("m", "text_only", "q1", " kept  ")]


def test_a_file_that_does_not_say_who_answered_how_is_told(tmp_path):
    path = write(tmp_path / "a.jsonl", [{"question_id": "q1", "answer": "x"}])
    with pytest.raises(InputError, match="model"):
        read_answers(path)
    with pytest.raises(InputError, match=r"a\.jsonl:1: no variant; --variant"):
        read_answers(path, model="m")
    assert read_answers(path, model="m", variant="multimodal") == [Answer("m", "multimodal", "q1", "x")]
    with pytest.raises(UnknownName, match="multimodal, text_only"):
        read_answers(path, model="m", variant="audio")


def test_the_options_do_not_overrule_the_file(tmp_path):
    path = write(tmp_path / "a.jsonl", [ROW])
    assert read_answers(path, model="other", variant="multimodal")[0] == Answer("m", "text_only", "q1", "The Nile.")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([ROW, {**ROW, "answer": "The Amazon."}], r"a\.jsonl:2: m gives another answer to q1 at .*a\.jsonl:1"),
        ([ROW, {**ROW, "question_id": None}], r"a\.jsonl:2: no question_id"),
        ([ROW, {**ROW, "model": " "}], r"a\.jsonl:2: no model"),
        ([ROW, {**ROW, "variant": "video"}], r"a\.jsonl:2: variant 'video'"),
    ],
)
def test_rows_that_cannot_be_used_are_named_and_nothing_is_graded(tmp_path, rows, message):
    with pytest.raises(InputError, match=message):
        read_answers(write(tmp_path / "a.jsonl", rows))


def test_a_line_that_is_no_json_is_named(tmp_path):
    path = write(tmp_path / "a.jsonl", [ROW])
    path.write_text(path.read_text("utf-8") + "{oops\n", "utf-8")
    with pytest.raises(InputError, match=r"a\.jsonl:2"):
        read_answers(path)


def test_a_manifest_beside_the_file_tells_of_its_columns(tmp_path):
    path = write(tmp_path / "ours.jsonl", [{"task": "q1", "text": "The Nile.", "system": "m"}])
    manifest = '[answers]\ncolumns = { question_id = "task", answer = "text", model = "system" }\n'
    (tmp_path / "gamut.toml").write_text(manifest + 'constants = { variant = "text_only" }\n', "utf-8")
    assert read_answers(path) == [Answer("m", "text_only", "q1", "The Nile.")]


def test_equal_rows_are_one_answer(tmp_path):
    assert len(read_answers(write(tmp_path / "a.jsonl", [ROW, ROW]))) == 1


def test_what_there_is_to_grade():
    # Case 25: empty without an error is an answer with nothing in it; one with an error could not be had.
    assert Answer("m", "multimodal", "q", "text").is_gradable
    assert not Answer("m", "multimodal", "q", " \n\t").is_gradable
    assert not Answer("m", "multimodal", "q", "").is_gradable
    assert not Answer("m", "multimodal", "q", None, "timeout").is_gradable


def test_an_empty_answer_stays_and_an_absent_one_is_an_error(tmp_path):
    rows = [{**ROW, "answer": ""}, {**ROW, "question_id": "q2", "answer": None, "error": "timeout after 600 s"}]
    empty, failed = read_answers(write(tmp_path / "a.jsonl", rows))
    assert (empty.answer, empty.error) == ("", None)
    assert (failed.answer, failed.error) == (None, "timeout after 600 s")


def test_a_folder_gives_its_files_of_answers(tmp_path):
    write(tmp_path / "answers-1.jsonl", [ROW])
    write(tmp_path / "answers-2.jsonl", [{**ROW, "question_id": "q2"}])
    write(tmp_path / "notes.jsonl", [{"a": 1}])
    assert [answer.question_id for answer in read_answers(tmp_path)] == ["q1", "q2"]


def test_an_absent_file_and_an_empty_folder_say_what_is_needed(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_answers(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="folder without a file of answers"):
        read_answers(tmp_path)


def test_the_sample_is_the_rubric_unless_another_is_named():
    rubrics = read_rubrics()
    place = ("text_only", "animals-001")
    assert rubrics.question_of[place].startswith("Is there a sure way to tell an eastern coral snake")
    texts = dict(rubrics.checks_of[place])
    assert texts["mimic/fact/01"].startswith("The coral snake's harmless double is the scarlet kingsnake")
    # The check that names the subject is not asked of a question that names it.
    assert "snake/fact/01" not in texts
    assert "snake/fact/01" in dict(rubrics.checks_of["multimodal", "animals-001"])


def test_rubrics_of_a_folder_of_verdicts_are_its_checks(tmp_path):
    folder = tmp_path / "ours"
    folder.mkdir()
    write(folder / "checks.jsonl", [{"question_id": "q1", "check_id": "c1", "tier": "valuable", "text": "Names it."}])
    write(folder / "questions.jsonl", [{"question_id": "q1", "variant": "text_only", "question": "Which?"}])
    rubrics = read_rubrics(str(folder))
    assert rubrics.checks_of == {("text_only", "q1"): [("c1", "Names it.")]}
    assert rubrics.question_of == {("text_only", "q1"): "Which?"}


def test_checks_without_a_text_cannot_be_graded_against(tmp_path):
    folder = tmp_path / "ours"
    folder.mkdir()
    write(folder / "checks.jsonl", [{"question_id": "q1", "check_id": "c1", "tier": "valuable"}])
    with pytest.raises(InputError, match="q1 / c1: no text"):
        read_rubrics(str(folder))


def test_answers_to_other_questions_are_left_out_and_told():
    rubrics = read_rubrics()
    mine = Answer("m", "text_only", "animals-001", "x")
    stray = Answer("m", "text_only", "nowhere-001", "x")
    assert matched([mine, stray], rubrics) == ([mine], [stray])
    with pytest.raises(InputError, match="nowhere-001"):
        matched([stray], rubrics)


def test_where_the_sample_is_not_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("GAMUT_HOME", str(tmp_path))
    with pytest.raises(InputError, match="the sample is not here; name your own rubrics"):
        read_rubrics()


def test_answers_in_another_variant_than_the_rubrics_are_told_so(tmp_path):
    write(
        tmp_path / "checks.jsonl",
        [{"question_id": "q1", "check_id": "c", "variant": "multimodal", "tier": "valuable", "text": "Says."}],
    )
    rubrics = read_rubrics(str(tmp_path))
    with pytest.raises(InputError, match=r"speak of q1 \(text_only\); the rubrics of q1 \(multimodal\); --rubrics"):
        matched([Answer("m", "text_only", "q1", "x")], rubrics)


def test_a_table_is_no_folder_of_rubrics(tmp_path):
    (tmp_path / "checks.csv").write_text("question_id,check_id,text\nq1,c,Says.\n", "utf-8")
    with pytest.raises(InputError, match="name the folder that holds it"):
        read_rubrics(str(tmp_path / "checks.csv"))
