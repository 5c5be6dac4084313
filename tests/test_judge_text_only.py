"""Text-only wordings: proposed in a file for a person, never applied."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamut_analysis import paths
from gamut_analysis.errors import InputError, UnknownName
from gamut_analysis.judge.text_only import Rewrite, Wordings, read_rewrite, remark, rewrite_questions
from gamut_analysis.rubric import load_rubrics
from tests.openai_server import serve

SAMPLE = paths.sample() / "questions"


@pytest.fixture(scope="module")
def snake():
    return load_rubrics([SAMPLE / "animals-001.yaml"])[0]


@pytest.mark.parametrize(
    ("reply", "rewrite"),
    [
        ('{"reason": "r", "needs_image": false, "question": " Q? "}', Rewrite("r", False, "Q?")),
        ('```json\n{"reason": "r", "needs_image": false, "question": "Q?"}\n```', Rewrite("r", False, "Q?")),
        ('Sure: {"reason": "r", "needs_image": true, "question": ""}', Rewrite("r", True, "")),
        ('{"reason": "r", "needs_image": true, "question": "Left in?"}', Rewrite("r", True, "")),
        ('{"needs_image": true}', Rewrite("", True, "")),
        ('{"needs_image": "no", "question": "Q?"}', Rewrite(fault="needs_image is neither true nor false")),
        ('{"needs_image": false, "question": " "}', Rewrite(fault="no question, though none needs the picture")),
        ("[true]", Rewrite(fault="no JSON object")),
        ("", Rewrite(fault="no JSON object")),
        (None, Rewrite(fault="no JSON object")),
    ],
)
def test_replies_are_read_or_said_to_be_no_rewrite(reply, rewrite):
    assert read_rewrite(reply) == rewrite


@given(st.text())
def test_no_reply_makes_it_raise(reply):
    read_rewrite(reply)
    read_rewrite("{" + reply + "}")


@pytest.mark.parametrize(
    ("rewrite", "told"),
    [
        (Rewrite("r", False, "How far should I back off from Micrurus fulvius?"), ""),
        (Rewrite("r", False, "How far should I back off?"), "does not name the subject"),
        (Rewrite("r", False, "What does the image of Micrurus show?"), "still speaks of a picture"),
        (Rewrite("r", True, ""), "sorted out; the rubric has a text-only wording"),
        (Rewrite(fault="no JSON object"), "no rewrite: no JSON object"),
    ],
)
def test_a_person_is_told_what_to_look_at_twice(snake, rewrite, told):
    assert remark(snake, rewrite) == told


def sheet(folder):
    with (folder / "text-only.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_the_sheet_holds_every_question_and_the_rubrics_stay_as_they_are(tmp_path):
    before = {path: path.read_bytes() for path in SAMPLE.glob("animals-*.yaml")}
    with serve() as server:
        order = Wordings("scripted", sorted(before), tmp_path, base_url=server.url)
        outcome = rewrite_questions(order)
        assert rewrite_questions(order).calls == 0
        assert len(server.calls()) == len(before) == outcome.calls
    rows = sheet(tmp_path)
    metas = load_rubrics(sorted(before))
    assert [row["question_id"] for row in rows] == [meta.question_id for meta in metas]
    for row, meta in zip(rows, metas, strict=True):
        assert (row["question"], row["written"], row["accept"]) == (meta.question, meta.question_text_only or "", "")
        wanted = "" if row["needs_image"] == "true" else f"{meta.entity}: {meta.question}"
        assert row["proposed"] == wanted
    assert {row["needs_image"] for row in rows} == {"true", "false"}
    assert {path: path.read_bytes() for path in SAMPLE.glob("animals-*.yaml")} == before


def test_a_fault_is_told_to_the_model_and_one_that_stays_is_in_the_sheet(tmp_path):
    paths_ = [SAMPLE / "animals-001.yaml"]
    with serve(faults=["labels"]) as server:
        assert rewrite_questions(Wordings("scripted", paths_, tmp_path / "once", base_url=server.url)).calls == 2
        assert "no JSON object" in server.calls()[-1]["request"]["messages"][-1]["content"]
    with serve(faults=["always:labels"]) as server:
        outcome = rewrite_questions(Wordings("scripted", paths_, tmp_path / "ever", base_url=server.url))
    assert (outcome.calls, outcome.left, outcome.ungraded) == (3, 0, 1)
    (row,) = sheet(tmp_path / "ever")
    assert (row["proposed"], row["needs_image"], row["remark"]) == ("", "", "no rewrite: no JSON object")


def test_no_text_is_a_formula_in_a_spreadsheet(tmp_path):
    text = (SAMPLE / "animals-001.yaml").read_text("utf-8")
    hostile = tmp_path / "hostile.yaml"
    hostile.write_text(text.replace("entity: Micrurus fulvius", "entity: '=HYPERLINK(\"http://x\")'"), "utf-8")
    with serve() as server:
        rewrite_questions(Wordings("scripted", [hostile], tmp_path / "out", base_url=server.url))
    (row,) = sheet(tmp_path / "out")
    assert row["entity"].startswith("'=")
    assert not any(value.startswith(("=", "+", "-", "@")) for value in row.values())


@pytest.mark.parametrize("option", ["limit", "connections"])
def test_numbers_that_mean_nothing_are_refused(option):
    with pytest.raises(UnknownName, match=f"--{option}"):
        Wordings("scripted", **{option: -1})


def test_rubrics_that_are_not_there_are_named(tmp_path):
    with pytest.raises(InputError, match="nowhere: there is no such file or folder"):
        rewrite_questions(Wordings("scripted", [tmp_path / "nowhere"], tmp_path / "out", base_url="http://x"))
