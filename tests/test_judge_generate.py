"""Asking a model the questions: with or without pictures, resumed, and taken on by the judge."""

import base64
import json
from dataclasses import replace

import pytest

from gamut_analysis.errors import InputError, UnknownName
from gamut_analysis.judge.account import Watch
from gamut_analysis.judge.generate import Questions, generate_answers
from gamut_analysis.judge.inputs import read_answers
from tests.openai_server import GENERATED, serve

# The smallest picture there is: one transparent point.
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def rubrics(tmp_path):
    """Three questions in both variants; two of them have a picture."""
    folder = tmp_path / "rubrics"
    folder.mkdir()
    texts = {"multimodal": "What is this?", "text_only": "What is the Nile?"}
    questions = [
        {
            "question_id": f"q{n}",
            "variant": variant,
            "question": f"{text} {n}",
            "image_id": None if n == 2 else f"pic-{n}",
        }
        for variant, text in texts.items()
        for n in range(3)
    ]
    checks = [{"question_id": f"q{n}", "check_id": "c1", "tier": "valuable", "text": "Names it."} for n in range(3)]
    for name, rows in (("questions", questions), ("checks", checks)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for n in range(2):
        (folder / f"pic-{n}.png").write_bytes(PICTURE)
    return folder


def asked(server):
    return [call["request"]["messages"][-1]["content"] for call in server.calls()]


def test_without_pictures_the_text_only_wording_is_asked_and_nothing_else_is_said(rubrics, tmp_path):
    with serve() as server:
        order = Questions("scripted", tmp_path / "out", str(rubrics), base_url=server.url)
        outcome = generate_answers(order)
        assert sorted(asked(server)) == ["What is the Nile? 0", "What is the Nile? 1", "What is the Nile? 2"]
        assert [len(call["request"]["messages"]) for call in server.calls()] == [1, 1, 1]
        assert generate_answers(order).calls == 0
        assert len(server.calls()) == 3
    assert (outcome.calls, outcome.left, outcome.stopped) == (3, 0, "")
    answers = read_answers(tmp_path / "out" / "answers.jsonl")
    assert {(one.model, one.variant, one.answer) for one in answers} == {("scripted", "text_only", GENERATED)}


def test_with_pictures_each_question_is_sent_with_its_own(rubrics, pictures, tmp_path):
    (pictures / "pic-1.png").write_bytes(PICTURE + b"\x00")
    with serve() as server:
        order = Questions("scripted", tmp_path / "out", str(rubrics), images=pictures, limit=2, base_url=server.url)
        generate_answers(order)
        shown = [call["request"]["messages"][0]["content"] for call in server.calls()]
    pictured = {parts[0]["text"]: parts[1]["image_url"]["url"] for parts in shown}
    assert set(pictured) == {"What is this? 0", "What is this? 1"}
    assert base64.b64decode(pictured["What is this? 0"].partition(",")[2]) == PICTURE
    assert base64.b64decode(pictured["What is this? 1"].partition(",")[2]) == PICTURE + b"\x00"


def test_pictures_are_known_by_what_they_hold_whatever_they_are_called(rubrics, pictures, tmp_path):
    (pictures / "pic-0.png").rename(pictures / "PIC-0.JPG")
    (pictures / "pic-1.png").write_bytes(b"GIF89a...")
    order = Questions("scripted", tmp_path / "out", str(rubrics), images=pictures, limit=2)
    with serve() as server:
        generate_answers(replace(order, base_url=server.url))
        shown = [call["request"]["messages"][0]["content"] for call in server.calls()]
    kinds = {parts[0]["text"][-1]: parts[1]["image_url"]["url"].partition(";")[0] for parts in shown}
    assert kinds == {"0": "data:image/png", "1": "data:image/gif"}
    (pictures / "pic-1.png").write_bytes(b"<svg/>")
    with pytest.raises(InputError, match=r"pic-1\.png: no JPEG, PNG, WebP or GIF"):
        generate_answers(replace(order, base_url="http://127.0.0.1:9/v1"))


def test_a_question_whose_picture_is_absent_is_not_asked_blindly(rubrics, pictures, tmp_path):
    order = Questions("scripted", tmp_path / "out", str(rubrics), images=pictures, base_url="http://127.0.0.1:9/v1")
    with pytest.raises(InputError, match=r"1 of 3 questions have no picture \(q2, \.\.\.\)"):
        generate_answers(order)
    with pytest.raises(InputError, match="--variant text_only asks without"):
        generate_answers(
            Questions("scripted", tmp_path / "out", str(rubrics), variant="multimodal", base_url="http://x")
        )


def test_an_image_id_cannot_lead_out_of_the_folder(rubrics, pictures, tmp_path):
    (tmp_path / "secret.png").write_bytes(PICTURE)
    text = (rubrics / "questions.jsonl").read_text("utf-8").replace("pic-0", "../secret")
    (rubrics / "questions.jsonl").write_text(text, "utf-8")
    order = Questions(
        "scripted", tmp_path / "out", str(rubrics), images=pictures, limit=1, base_url="http://127.0.0.1:9/v1"
    )
    with pytest.raises(InputError, match="no picture"):
        generate_answers(order)


def test_a_call_that_failed_is_an_answer_with_an_error_and_is_asked_again(rubrics, tmp_path, monkeypatch):
    monkeypatch.setattr("gamut_analysis.judge.calling.RETRIES", 0)
    path = tmp_path / "out" / "answers.jsonl"
    with serve(faults=["always:500"]) as server:
        failed = generate_answers(Questions("scripted", tmp_path / "out", str(rubrics), base_url=server.url))
    assert (failed.calls, failed.left) == (0, 3)
    assert {one.error for one in read_answers(path)} == {"HTTP 500"}
    with serve() as server:
        mended = generate_answers(Questions("scripted", tmp_path / "out", str(rubrics), base_url=server.url))
    assert (mended.calls, mended.left) == (3, 0)
    assert {one.answer for one in read_answers(path)} == {GENERATED}


def test_an_empty_answer_and_a_refusal_are_answers(rubrics, tmp_path):
    with serve(faults=["always:empty"]) as server:
        generate_answers(Questions("mute", tmp_path / "mute", str(rubrics), limit=1, base_url=server.url))
    with serve(faults=["always:refusal"]) as server:
        generate_answers(Questions("shy", tmp_path / "shy", str(rubrics), limit=1, base_url=server.url))
    (mute,), (shy,) = (read_answers(tmp_path / name / "answers.jsonl") for name in ("mute", "shy"))
    assert (mute.answer, mute.error) == ("", None)
    assert (shy.answer, shy.error) == ("I cannot help with that.", None)


def test_the_estimate_comes_first(rubrics, tmp_path):
    told = []
    with serve() as server:
        order = Questions("scripted", tmp_path / "out", str(rubrics), base_url=server.url, max_tokens=50)
        outcome = generate_answers(order, Watch(estimate=lambda name, estimate: bool(told.append(estimate))))
        assert server.calls() == []
    assert (told[0].todo, told[0].calls, told[0].output_tokens) == (3, 3, 150)
    assert outcome.stopped == "not started"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("option", "value"), [("variant", "video"), ("limit", -1), ("connections", 0), ("max_tokens", 0)]
)
def test_options_that_mean_nothing_are_refused(option, value):
    with pytest.raises(UnknownName):
        Questions("scripted", **{option: value})
