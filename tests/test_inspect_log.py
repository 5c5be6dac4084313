"""Logs of Inspect AI, as archives and as JSON: every verdict once, nothing that failed counted as missing."""

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from delivered import built, check, put, relation, verdict
from hypothesis import given
from hypothesis import strategies as st

from gamut_analysis import tables
from gamut_analysis.errors import InputError, ManifestError
from gamut_analysis.readers import inspect_file, manifest
from gamut_analysis.readers.folder import inputs, read_folder
from gamut_analysis.readers.inspect_scores import judged

STORED, DEFLATED, ZSTANDARD = 0, 8, 93
LABELS = ["c1", "c2"]


def sample(number: int = 1, value: Any = None, **fields: Any) -> dict[str, Any]:
    """One sample of a plain task: its id is the question, and one scorer graded two checks."""
    value = {"c1": "meets", "c2": "missing"} if value is None else value
    score = {"value": value, "answer": "A fern.", "explanation": "graded", "metadata": {"judge": "judge-a"}}
    usual = {
        "id": f"q{number}",
        "epoch": 1,
        "input": f"What is in picture {number}?",
        "output": {"model": "m", "completion": "A fern.", "choices": [{"message": {"content": "A fern."}}]},
        "scores": {"rubric": score},
        "uuid": f"u{number}",
        "completed_at": f"2026-07-01T09:0{number}:00+00:00",
        "total_time": 2.5,
    }
    return usual | fields


def log(*samples: dict[str, Any], status: str = "success", asked: Any = None, **run: Any) -> dict[str, Any]:
    """A log of these samples, as Inspect writes it."""
    ids = list(dict.fromkeys(each["id"] for each in samples)) if asked is None else asked
    usual = {"eval_id": "e1", "task": "plain", "task_id": "t1", "model": "alpha", "config": {"epochs": 1}}
    dataset = {"samples": len(ids), "sample_ids": ids}
    return {"version": 2, "status": status, "eval": usual | {"dataset": dataset} | run, "samples": list(samples)}


def packed(content: bytes, method: int) -> bytes:
    """Content as a member of a zip archive; Zstandard in two frames, as a writer in pieces leaves it."""
    if method == DEFLATED:
        packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        return packer.compress(content) + packer.flush()
    if method == ZSTANDARD:
        half = len(content) // 2
        return b"".join(zstandard.ZstdCompressor().compress(part) for part in (content[:half], content[half:]))
    return content


def archive(members: dict[str, bytes], method: int = ZSTANDARD) -> bytes:
    """A zip archive by hand: the standard library does not write every method."""
    body, directory = b"", b""
    for name, content in members.items():
        data = packed(content, method)
        sizes = struct.pack("<IIIHH", zlib.crc32(content), len(data), len(content), len(name), 0)
        fixed = struct.pack("<HHHHH", 20, 0, method, 0, 0)
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + fixed + sizes
        directory += struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + name.encode()
        body += b"PK\x03\x04" + fixed + sizes + name.encode() + data
    count = len(members)
    return body + directory + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(body), 0)


def members(content: dict[str, Any], header: str = "header.json") -> dict[str, bytes]:
    """The members of a `.eval` archive that hold a log."""
    head = {name: value for name, value in content.items() if name != "samples"}
    samples = {f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in content["samples"]}
    return {
        name: json.dumps(value).encode() for name, value in ({"summaries.json": []} | samples | {header: head}).items()
    }


def as_json(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode()


def as_eval(content: dict[str, Any], method: int = ZSTANDARD) -> bytes:
    return archive(members(content), method)


def frames(folder: Path) -> dict[str, pl.DataFrame]:
    return tables.read_all(built(folder), tables.RELATIONS)


def verdicts(folder: Path, *columns: str) -> list[tuple[Any, ...]]:
    return relation(folder, "verdicts").select(columns or ("question_id", "check_id", "verdict")).rows()


def notes(folder: Path) -> list[str]:
    return read_folder(folder).notes


# --- archives and documents ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("stored.eval", lambda content: as_eval(content, STORED)),
        ("deflated.eval", lambda content: as_eval(content, DEFLATED)),
        ("zstandard.EVAL", as_eval),
        ("anything.json", as_json),
        ("verdicts.json", as_json),
        ("marked.json", lambda content: b"\xef\xbb\xbf" + as_json(content)),
        ("samples-first.json", lambda content: as_json({"samples": content["samples"], **content})),
    ],
)
def test_a_log_gives_the_same_in_every_form(tmp_path, name, write):
    put(tmp_path, name, write(log(sample(1), sample(2, {"c1": "contradicts"}))))
    assert verdicts(tmp_path) == [("q1", "c1", "meets"), ("q1", "c2", "missing"), ("q2", "c1", "contradicts")]
    (source,) = relation(tmp_path, "sources").rows(named=True)
    assert (source["file"], source["table_name"], source["reader"], source["rows_kept"]) == (
        name,
        "verdicts",
        "inspect",
        2,
    )


@pytest.mark.parametrize("write", [as_eval, as_json])
def test_bare_nan_and_infinity_are_read(tmp_path, write):
    odd = sample(1, {"c1": float("nan"), "c2": "meets"}, total_time=float("inf"), metadata={"x": float("-inf")})
    put(tmp_path, "log.eval" if write is as_eval else "log.json", write(log(odd)))
    assert verdicts(tmp_path, "check_id", "verdict", "ungraded_reason") == [
        ("c1", None, "no verdict"),
        ("c2", "meets", None),
    ]
    assert relation(tmp_path, "gradings")["seconds"].to_list() == [None]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (as_eval(log(sample()))[:-30], "the log is cut off or damaged"),
        (b"", "the log is cut off or damaged"),
        (as_eval(log(sample())).replace(b"PK\x03\x04", b"PK\x03\x05"), r"header\.json: the log is damaged"),
        (
            as_eval(log(sample()), STORED).replace(b"A fern", b"A frog"),
            r"samples/q1_epoch_1\.json: the member is damaged",
        ),
        (
            as_eval(log(sample())).replace(b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfe"),
            r"header\.json: the member is damaged",
        ),
        (
            archive({"header.json": b"{}"}, 12),
            r"header\.json: packed in a way that is not known here \(zip method 12\)",
        ),
        (archive({"other.json": b"{}"}), "no log of Inspect"),
        (archive({"header.json": b"{}"}), r"header\.json: not a log of Inspect that can be read"),
        (archive(members(log(sample())) | {"samples/x.json": b"{"}), r"samples/x\.json: not a log of Inspect"),
        (archive(members(log(sample())) | {"samples/x.json": b"[" * 9999}), r"samples/x\.json: not a log of Inspect"),
    ],
)
def test_a_damaged_log_is_an_error_that_names_file_and_member(tmp_path, content, words):
    put(tmp_path, "run.eval", content)
    with pytest.raises(InputError, match=rf"run\.eval: {words}"):
        read_folder(tmp_path)


def test_a_log_whose_run_was_killed_has_no_header_yet(tmp_path):
    put(tmp_path, "run.eval", archive(members(log(sample(), asked=["q1", "q2"]), "_journal/start.json")))
    put(tmp_path, "checks.jsonl", [check()])
    assert relation(tmp_path, "gradings")["run_status"].to_list() == ["success"]
    head = {name: value for name, value in log(sample(), asked=["q1", "q2"]).items() if name != "status"}
    put(tmp_path, "run.eval", archive(members(head, "_journal/start.json")))
    assert relation(tmp_path, "gradings")["run_status"].to_list() == ["started"]
    assert "The run of alpha was not finished: 1 of 2 questions." in notes(tmp_path)


@pytest.mark.parametrize(
    ("document", "is_log"),
    [
        (log(sample()), True),
        ([verdict()], False),
        ({"verdicts": [verdict()]}, False),
        ({"metadata": {"eval": {}}, "verdicts": []}, False),
        ({"samples": [], "eval": {}}, True),
        ({"eval": {"x": 1}}, False),
        ({"status": "success", "eval": 1}, False),
    ],
)
def test_json_is_a_log_by_what_it_holds(tmp_path, document, is_log):
    assert inspect_file.is_log(put(tmp_path, "x.json", as_json(document))) == is_log


def test_verdicts_beside_a_log_and_files_that_are_none_are_read_as_ever(tmp_path):
    put(tmp_path, "verdicts.json", [verdict(question_id="q7", check_id="c1")])
    put(tmp_path, "expected.json", as_json({"eval": "not a log"}))
    put(tmp_path, "run.json", as_json(log(sample())))
    found = frames(tmp_path)
    assert set(found["verdicts"]["question_id"]) == {"q1", "q7"}
    assert found["dataset"]["unused_files"].to_list() == ["expected.json"]


def test_logs_are_inputs_and_those_of_folders_within_are_not(tmp_path):
    run = put(tmp_path, "run.eval", as_eval(log(sample())))
    put(tmp_path, "logs/other.eval", as_eval(log(sample(2), eval_id="e2")))
    put(tmp_path, "logs/other.json", as_json(log(sample(3), eval_id="e3")))
    assert inputs(tmp_path) == [run]
    assert {row[0] for row in verdicts(tmp_path)} == {"q1"}
    assert {row[0] for row in verdicts(tmp_path / "logs")} == {"q2", "q3"}


# --- logs of our own judge -----------------------------------------------------------------------------------------


def own(**metadata: Any) -> dict[str, Any]:
    """A sample of our own judge: everything stands in the metadata of the score."""
    told = {
        "model": "gpt-4o",
        "variant": "text_only",
        "question_id": "q7",
        "replicate": 1,
        "judge": "grader",
        "prompt": "grade-1",
        "prompt_hash": "ab12",
        "checks_per_call": 0,
        "calls": 2,
        "input_tokens": 1200,
        "output_tokens": 300,
        "cost_usd": 0.0125,
        "seconds": 3.5,
        "reasons": {"c1": "It names the fern."},
        "ungraded": {"c2": "cut off"},
    }
    score = {"value": {"c1": "meets", "c2": None}, "answer": "It is a fern.", "metadata": told | metadata}
    usage = {"grader/x": {"input_tokens": 9, "output_tokens": 9}}
    return sample(1, id="any-1", scores={"gamut": score}, model_usage=usage)


def test_our_own_log_tells_everything_in_the_metadata_of_its_scores(tmp_path):
    put(tmp_path, "run.eval", as_eval(log(own(), task="gamut", model="none/none")))
    found = frames(tmp_path)
    columns = (
        "model",
        "judge",
        "variant",
        "question_id",
        "replicate",
        "check_id",
        "verdict",
        "ungraded_reason",
        "rationale",
    )
    key = ("gpt-4o", "grader", "text_only", "q7", 1)
    assert found["verdicts"].select(columns).rows() == [
        (*key, "c1", "meets", None, "It names the fern."),
        (*key, "c2", None, "error: cut off", None),
    ]
    (grading,) = found["gradings"].drop("judged_at", "extra", "source_id").rows()
    assert grading == (*key, "grade-1", "ab12", 0, 2, 1200, 300, 0.0125, 3.5, "success", 0, 1)
    assert found["answers"].select("model", "variant", "question_id", "answer").rows() == [
        ("gpt-4o", "text_only", "q7", "It is a fern.")
    ]
    assert found["questions"].select("question_id", "question").rows() == [("q7", None)]
    assert found["models"]["model"].to_list() == ["gpt-4o"]


def test_an_empty_answer_in_our_own_log_is_no_response(tmp_path):
    silent = own(ungraded={}, calls=0)
    silent["scores"]["gamut"] |= {"answer": "", "value": {"c1": "missing", "c2": "missing"}}
    put(tmp_path, "run.json", as_json(log(silent, task="gamut")))
    assert relation(tmp_path, "answers")["status"].to_list() == ["no_response"]
    assert relation(tmp_path, "verdict_counts")["missing"].to_list() == [2]


def test_a_sample_of_our_own_that_failed_belongs_to_its_answer_and_judge(tmp_path):
    failed = own() | {"id": "any-2", "uuid": "u2", "scores": {}, "error": {"message": "429"}}
    failed["metadata"] = {"model": "gpt-4o", "variant": "text_only", "question_id": "q8", "replicate": 0}
    failed["output"] = {"completion": "", "choices": []}
    put(
        tmp_path,
        "run.eval",
        as_eval(log(own(), failed, status="error", task="gamut", asked=["any-1", "any-2", "any-3"])),
    )
    put(tmp_path, "checks.jsonl", [check(question_id=q, check_id=c) for q in ("q7", "q8") for c in LABELS])
    found = frames(tmp_path)
    columns = ("question_id", "check_id", "judge", "verdict", "ungraded_reason")
    assert found["verdicts"].filter(question_id="q8").select(columns).rows() == [
        ("q8", "c1", "grader", None, "error: 429"),
        ("q8", "c2", "grader", None, "error: 429"),
    ]
    assert found["answers"]["question_id"].to_list() == ["q7"]
    assert found["gradings"].select("question_id", "run_status").rows() == [("q7", "error"), ("q8", "error")]
    assert notes(tmp_path) == ["The run of the judge grader ended with an error: 1 of 3 answers."]


def test_a_judge_that_was_stopped_and_went_on_in_another_run_is_complete(tmp_path):
    second = own(question_id="q8") | {"id": "any-2", "uuid": "u2"}
    put(tmp_path, "a.eval", as_eval(log(own(), status="cancelled", task="gamut", asked=["any-1", "any-2"])))
    assert "The run of the judge grader was cancelled: 1 of 2 answers." in notes(tmp_path)
    put(tmp_path, "b.eval", as_eval(log(second, task="gamut", task_id="t2", eval_id="e2")))
    assert not any("cancelled" in note for note in notes(tmp_path))


def test_a_log_that_tells_neither_who_answered_nor_who_graded_is_passed_over_and_named(tmp_path):
    put(tmp_path, "run.eval", as_eval(log(own(), task="gamut")))
    put(tmp_path, "other.eval", as_eval(log(sample(5, scores=None), model="none/none", status="cancelled")))
    found = frames(tmp_path)
    assert (found["questions"].height, found["answers"].height, found["rejects"].height) == (1, 1, 0)
    assert "other.eval names no model and holds no scores: nothing of it was read." in notes(tmp_path)
    assert not any("cancelled" in note for note in notes(tmp_path))


def test_costs_that_are_no_numbers_are_listed_and_the_grading_is_kept_without_them(tmp_path):
    put(tmp_path, "run.json", as_json(log(own(cost_usd="dear", calls=-1), task="gamut")))
    found = frames(tmp_path)
    assert found["gradings"].select("cost_usd", "calls", "input_tokens").rows() == [(None, None, 1200)]
    assert set(found["rejects"].select("field", "value").rows()) == {("cost_usd", "dear"), ("calls", "-1")}


# --- plain tasks ---------------------------------------------------------------------------------------------------


def test_epochs_are_replicates_and_the_first_answer_that_holds_something_is_kept(tmp_path):
    silent = sample(1, output={"completion": "", "choices": [{"message": {"content": ""}}]})
    second = sample(1, epoch=2, uuid="v", output={"completion": "", "choices": [{"message": {"content": "Moss."}}]})
    third = sample(1, epoch=3, uuid="w")
    put(tmp_path, "run.eval", as_eval(log(silent, second, third, config={"epochs": 3})))
    found = frames(tmp_path)
    assert found["verdicts"].filter(check_id="c1")["replicate"].to_list() == [0, 1, 2]
    assert found["answers"]["answer"].to_list() == ["Moss."]
    assert found["rejects"].is_empty()
    assert "run.eval: 1 other answers to the same questions are not kept." in notes(tmp_path)


@pytest.mark.parametrize("value", [float("nan"), None, "unscored"])
@pytest.mark.parametrize(
    ("says", "reason"),
    [
        ({}, "error: unscored"),
        ({"explanation": "\n no verdicts \nat all"}, "error: no verdicts"),
        ({"reason": "grade_not_found", "explanation": "x"}, "error: grade_not_found"),
    ],
)
def test_an_answer_without_a_score_is_ungraded_in_every_check_and_its_judge_is_the_others_judge(
    tmp_path, value, says, reason
):
    put(tmp_path, "run.eval", as_eval(log(sample(1), sample(2, scores={"rubric": {"value": value, **says}}))))
    put(tmp_path, "checks.jsonl", [check(question_id=q, check_id=c) for q in ("q1", "q2") for c in LABELS])
    found = relation(tmp_path, "verdicts").filter(question_id="q2")
    assert found.select("judge", "check_id", "verdict", "ungraded_reason").rows() == [
        ("judge-a", "c1", None, reason),
        ("judge-a", "c2", None, reason),
    ]
    assert relation(tmp_path, "verdict_counts").filter(question_id="q2").select("missing", "ungraded").rows() == [
        (0, 2)
    ]


def test_failures_stand_for_the_checks_of_their_variant(tmp_path):
    failed = sample(1, scores={"rubric": {"value": None}}, metadata={"variant": "Text only"})
    put(tmp_path, "run.json", as_json(log(failed, sample(2, metadata={"variant": "multimodal"}))))
    rows = [check(check_id=c, variant=v) for c, v in (("c1", "text-only"), ("c2", "multimodal"), ("c3", None))]
    put(tmp_path, "checks.jsonl", [*rows, check(question_id="q2")])
    found = relation(tmp_path, "verdicts").filter(question_id="q1")
    assert found.select("variant", "check_id").rows() == [("text_only", "c1"), ("text_only", "c3")]


def test_a_failure_on_a_question_of_which_no_check_is_known_is_listed(tmp_path):
    put(tmp_path, "run.json", as_json(log(sample(1), sample(2, scores={"rubric": {"value": None}}))))
    found = frames(tmp_path)
    assert set(found["verdicts"]["question_id"]) == {"q1"}
    (reject,) = found["rejects"].rows(named=True)
    assert (reject["file"], reject["row"], reject["field"]) == ("run.json", 2, "error")
    assert "no check of its question is known" in reject["reason"]


def test_empty_answers_errors_of_the_model_and_errors_of_the_judge_are_told_apart(tmp_path):
    empty = {"completion": "", "choices": [{"message": {"content": ""}}]}
    none = {"completion": "", "choices": []}
    error = {"message": "no route"}
    put(
        tmp_path,
        "run.eval",
        as_eval(
            log(
                sample(1, output=empty),
                sample(2, output=none, scores={}, error=error),
                sample(3, scores={}, error=error),
                sample(4, output=empty | {"error": "filtered"}),
                sample(5, invalidation={"author": "me"}),
                sample(6, error=error),
            )
        ),
    )
    put(tmp_path, "checks.jsonl", [check(question_id=f"q{n}", check_id=c) for n in range(1, 7) for c in LABELS])
    found = frames(tmp_path)
    assert dict(found["answers"].select("question_id", "status").rows()) == {
        "q1": "no_response",
        "q2": "error",
        "q3": "answered",
        "q4": "error",
        "q5": "answered",
        "q6": "answered",
    }
    counts = found["verdict_counts"].select("question_id", "meets", "missing", "ungraded")
    assert counts.rows() == [
        ("q1", 0, 2, 0),
        ("q2", 0, 0, 2),
        ("q3", 0, 0, 2),
        ("q4", 0, 0, 2),
        ("q5", 0, 0, 2),
        ("q6", 0, 0, 2),
    ]
    reasons = found["verdicts"].filter(check_id="c1").select("question_id", "ungraded_reason").rows()
    assert dict(reasons)["q3"] == "error: no route"
    assert dict(reasons)["q5"] == "error: the sample was invalidated"
    assert "q2" not in set(found["gradings"]["question_id"])


def test_a_cancelled_run_is_marked_and_its_questions_are_known(tmp_path):
    put(tmp_path, "run.eval", as_eval(log(sample(1), status="cancelled", asked=["q1", "q2", "q3"])))
    found = frames(tmp_path)
    assert found["gradings"]["run_status"].to_list() == ["cancelled"]
    assert found["judging"].select("gradings", "runs_finished", "runs_cancelled", "runs_failed").rows() == [
        (1, 0, 1, 0)
    ]
    assert found["questions"].select("question_id", "question").rows() == [
        ("q1", "What is in picture 1?"),
        ("q2", None),
        ("q3", None),
    ]
    assert "The run of alpha was cancelled: 1 of 3 questions." in found["dataset"]["assumptions"].item()


def test_a_cancelled_run_counts_samples_where_every_question_was_begun(tmp_path):
    put(tmp_path, "run.eval", as_eval(log(sample(1), sample(2), status="cancelled", config={"epochs": 2})))
    assert "The run of alpha was cancelled: 2 of 4 samples." in notes(tmp_path)


def test_a_log_tells_of_questions_that_no_other_file_tells_of(tmp_path):
    said = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "image", "image": "x.png"}, {"type": "text", "text": "Which fern?"}]},
    ]
    put(tmp_path, "run.json", as_json(log(sample(1), sample(2, input=said), sample(3))))
    put(tmp_path, "questions.jsonl", [{"question_id": "q1", "question": "Ours?", "domain": "plants"}])
    found = relation(tmp_path, "questions").select("question_id", "question", "domain").rows()
    assert found == [("q1", "Ours?", "plants"), ("q2", "Which fern?", None), ("q3", "What is in picture 3?", None)]
    assert relation(tmp_path, "rejects").is_empty()


def test_what_a_grading_took_is_charged_to_the_models_that_graded(tmp_path):
    usage = {
        "alpha": {"input_tokens": 1000, "output_tokens": 1000},
        "grader/x": {"input_tokens": 10, "input_tokens_cache_read": 5, "output_tokens": 3, "total_cost": 0.5},
        "grader/y": {"input_tokens": 20, "output_tokens": 4},
    }
    roles = {"grader": {"input_tokens": 7, "output_tokens": 2}}
    own_only = {"alpha": usage["alpha"]}
    put(
        tmp_path,
        "run.json",
        as_json(
            log(
                sample(1, model_usage=usage),
                sample(2, model_usage=usage, role_usage=roles),
                sample(3, model_usage=own_only),
            )
        ),
    )
    columns = ("question_id", "input_tokens", "output_tokens", "cost_usd", "seconds", "calls")
    assert relation(tmp_path, "gradings").select(columns).rows() == [
        ("q1", 35, 7, 0.5, 2.5, None),
        ("q2", 7, 2, None, 2.5, None),
        ("q3", None, None, None, 2.5, None),
    ]


def test_a_log_of_answers_alone_gives_answers(tmp_path):
    put(tmp_path, "run.eval", as_eval(log(sample(1, scores=None), sample(2, scores=None, output=None))))
    put(tmp_path, "verdicts.jsonl", [verdict()])
    found = frames(tmp_path)
    assert found["answers"].select("model", "question_id", "answer").rows() == [("alpha", "q1", "A fern.")]
    assert found["gradings"].is_empty()
    assert found["sources"]["table_name"].to_list() == ["verdicts", "answers"]


# --- several files of one run --------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_uuid", [True, False])
def test_one_run_in_two_forms_counts_once(tmp_path, has_uuid):
    content = log(sample(1), sample(2))
    if not has_uuid:
        for each in content["samples"]:
            del each["uuid"]
    put(tmp_path, "run.eval", as_eval(content))
    put(tmp_path, "run.json", as_json(content))
    found = frames(tmp_path)
    assert found["verdicts"].height == 4
    assert found["duplicates"].is_empty()
    assert found["gradings"]["superseded"].to_list() == [0, 0]
    assert found["sources"].select("file", "rows_read").rows() == [("run.eval", 2), ("run.json", 0)]
    assert "run.json repeats 2 samples of run.eval, which count once." in notes(tmp_path)


def test_a_retried_run_is_put_together_by_sample(tmp_path):
    failed = sample(2, scores={}, error={"message": "429"})
    first = log(sample(1), failed, sample(3), status="error", asked=["q1", "q2", "q3", "q4"])
    again = sample(2, uuid="u9", completed_at="2026-07-01T10:00:00+00:00")
    retry = log(sample(1), again, status="cancelled", asked=["q1", "q2", "q3", "q4"], eval_id="e2")
    put(tmp_path, "a.eval", as_eval(first))
    put(tmp_path, "b.eval", as_eval(retry))
    found = frames(tmp_path)
    assert set(found["verdicts"].filter(pl.col("verdict").is_not_null())["question_id"]) == {"q1", "q2", "q3"}
    assert found["duplicates"].select("question_id", "kind").unique().rows() == [("q2", "failed_attempt")]
    assert found["gradings"].select("question_id", "superseded").rows() == [("q1", 0), ("q2", 1), ("q3", 0)]
    assert found["rejects"].is_empty()
    said = found["dataset"]["assumptions"].item()
    assert "b.eval repeats 1 sample of a.eval, which counts once." in said
    assert "The run of alpha ended with an error: 3 of 4 questions." in said


def test_a_run_that_its_retry_completed_is_complete(tmp_path):
    put(tmp_path, "a.eval", as_eval(log(sample(1), status="error", asked=["q1", "q2"])))
    put(tmp_path, "b.eval", as_eval(log(sample(2), asked=["q1", "q2"], eval_id="e2")))
    assert not any("ended with" in note for note in notes(tmp_path))


def test_a_log_that_was_scored_again_keeps_both_judges(tmp_path):
    again = sample(1)
    again["scores"]["second"] = {"value": {"c1": "contradicts"}, "metadata": {"judge": "judge-b"}}
    put(tmp_path, "a.eval", as_eval(log(sample(1))))
    put(tmp_path, "b.eval", as_eval(log(again)))
    assert set(verdicts(tmp_path, "judge", "check_id", "verdict")) == {
        ("judge-a", "c1", "meets"),
        ("judge-a", "c2", "missing"),
        ("judge-b", "c1", "contradicts"),
    }


# --- other people's scorers ----------------------------------------------------------------------------------------


def foreign(grades: Any, **score: Any) -> dict[str, Any]:
    metadata = {"grades": grades, "by": {"name": "their-judge"}}
    return sample(1, scores={"quality": {"value": 0.5, "explanation": "half", "metadata": metadata, **score}})


TOLD = """
[inspect]
scorer = "quality"
verdicts = "metadata.grades"
judge = "metadata.by.name"
[labels]
yes = "meets"
no = "missing"
"""


@pytest.mark.parametrize(
    ("grades", "rationale"),
    [
        ({"c1": "yes", "c2": "no"}, None),
        ({"c1": {"verdict": "yes", "reason": "seen"}, "c2": {"label": "no"}}, "seen"),
        ([{"id": "c1", "verdict": "yes", "explanation": "seen"}, {"check_id": "c2", "verdict": "no"}], "seen"),
    ],
)
def test_a_manifest_says_where_the_verdicts_of_a_foreign_scorer_are(tmp_path, grades, rationale):
    put(tmp_path, "run.eval", as_eval(log(foreign(grades))))
    put(tmp_path, "gamut.toml", TOLD)
    assert verdicts(tmp_path, "judge", "check_id", "verdict", "rationale") == [
        ("their-judge", "c1", "meets", rationale),
        ("their-judge", "c2", "missing", None),
    ]


def test_a_manifest_may_name_the_fields_of_members_and_what_holds_for_all(tmp_path):
    put(tmp_path, "run.eval", as_eval(log(foreign([{"point": "c1", "grade": "yes"}]))))
    told = '[verdicts]\ncolumns = { check_id = "point", verdict = "grade" }\nconstants = { variant = "text_only" }\n'
    put(tmp_path, "gamut.toml", TOLD + told)
    assert verdicts(tmp_path, "variant", "check_id", "verdict") == [("text_only", "c1", "meets")]


def test_paths_reach_into_the_sample_as_well(tmp_path):
    put(tmp_path, "run.eval", as_eval(log(sample(1, metadata={"item": "d1", "said": "Moss."}))))
    put(tmp_path, "gamut.toml", '[inspect]\nquestion_id = "metadata.item"\nanswer = "metadata.said"\n')
    assert {row[0] for row in verdicts(tmp_path)} == {"d1"}
    assert relation(tmp_path, "answers")["answer"].to_list() == ["Moss."]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ('scorer = "quantity"', r"\[inspect\] scorer = 'quantity': the scorers of run\.eval are quality"),
        (
            'scorer = "quality"\nverdicts = "metadata.verdicts"',
            r"verdicts = 'metadata\.verdicts': no score of run\.eval has it; they have "
            r"value, explanation, metadata\.grades\.c1, metadata\.by\.name",
        ),
        ('judges = "x"', r"'judges' is no key of \[inspect\]; did you mean 'judge'\?"),
        ("model = 1", r"\[inspect\] model = 1: a text in quotes is needed"),
        ('files = "none.eval"', r"\[inspect\] files: nothing in .* matches 'none\.eval'"),
    ],
)
def test_a_manifest_that_points_at_nothing_is_an_error_that_says_what_there_is(tmp_path, told, words):
    put(tmp_path, "run.eval", as_eval(log(foreign({"c1": "yes"}))))
    put(tmp_path, "gamut.toml", f"[inspect]\n{told}\n")
    with pytest.raises(ManifestError, match=words):
        read_folder(tmp_path)


def test_a_score_of_one_value_is_an_error_that_says_what_to_write(tmp_path):
    put(tmp_path, "run.eval", as_eval(log(foreign({"c1": "yes"}, value="C"))))
    with pytest.raises(InputError, match=r'\[inspect\] scorer = "quality" and \[labels\] "C" = "\.\.\."'):
        read_folder(tmp_path)


def test_a_score_of_one_value_is_a_verdict_on_one_check_where_the_manifest_says_so(tmp_path):
    second = sample(2, scores={"match": {"value": "I"}})
    put(tmp_path, "run.eval", as_eval(log(sample(1, scores={"match": {"value": "C", "explanation": "same"}}), second)))
    put(tmp_path, "gamut.toml", '[inspect]\nscorer = "match"\n[labels]\nC = "meets"\nI = "missing"\n')
    assert verdicts(tmp_path, "judge", "question_id", "check_id", "verdict", "rationale") == [
        ("match", "q1", "match", "meets", "same"),
        ("match", "q2", "match", "missing", None),
    ]


def test_scores_of_one_value_beside_verdicts_are_passed_over_and_named(tmp_path):
    both = sample(1)
    both["scores"]["accuracy"] = {"value": 1.0}
    put(tmp_path, "run.eval", as_eval(log(both)))
    assert {row[1] for row in verdicts(tmp_path)} == {"c1", "c2"}
    assert "run.eval: the scores of accuracy are no verdicts and were not read." in notes(tmp_path)


def test_a_value_among_verdicts_by_check_is_ungraded_never_guessed(tmp_path):
    put(tmp_path, "run.eval", as_eval(log(sample(1), sample(2, "I"))))
    put(tmp_path, "checks.jsonl", [check(question_id=q, check_id=c) for q in ("q1", "q2") for c in LABELS])
    found = relation(tmp_path, "verdicts").filter(question_id="q2")
    assert set(found["ungraded_reason"]) == {"error: the score is 'I', not verdicts by check"}


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["meets", "missing"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["c1", "id", "verdict", "x"]), inner),
    max_leaves=8,
)


@given(
    score=st.fixed_dictionaries(
        {},
        optional={
            "value": anything,
            "explanation": anything,
            "metadata": anything | st.fixed_dictionaries({"reasons": anything, "ungraded": anything}),
        },
    ),
    error=st.none() | st.just({"message": "429"}),
    scorer=st.none() | st.just("rubric"),
)
def test_no_score_makes_the_reader_fail_and_none_that_failed_holds_a_verdict(score, error, scorer):
    told = manifest.Manifest(inspect=manifest.InspectSpec(scorer=scorer))
    found = list(judged("rubric", score, inspect_file.Sample("q1", scores={"rubric": score}, error=error), told))
    assert found
    for each in found:
        assert each.verdict is None or not (error or each.error)
        assert (
            each.verdict is None or each.verdict in json.dumps(score, ensure_ascii=False) or not each.verdict.isalpha()
        )
        assert not error or each.error == "429"


def test_the_manifest_may_keep_logs_out(tmp_path):
    put(tmp_path, "verdicts.jsonl", [verdict()])
    put(tmp_path, "run.eval", as_eval(log(sample(2))))
    put(tmp_path, "gamut.toml", "[inspect]\nfiles = []\n")
    assert {row[0] for row in verdicts(tmp_path)} == {"q1"}
    assert manifest.load(tmp_path / "gamut.toml").inspect.files == ()


# --- logs as Inspect itself writes them ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    """Two forms of a run of Inspect's mock model, one folder each: an answer, an empty one, and a judge that fails."""
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, scorer

    @scorer(metrics=[])
    def rubric():
        async def score(state, target):
            if state.sample_id == "q3":
                raise RuntimeError("the judge is down")
            value = {"c1": "meets", "c2": None}
            told = {"judge": "judge-a", "ungraded": {"c2": "refused"}, "reasons": {"c1": "seen " * 100}}
            return Score(value=value, answer=state.output.completion, metadata=told)

        return score

    def output(text: str) -> ModelOutput:
        made = ModelOutput.from_content("mockllm/model", text)
        made.usage = ModelUsage(input_tokens=3, output_tokens=2, total_tokens=5)
        return made

    home = tmp_path_factory.mktemp("written")
    questions = MemoryDataset(
        [Sample(id=f"q{n}", input=f"What is in picture {n}? " + "Look. " * 50) for n in (1, 2, 3)]
    )
    for form in ("eval", "json"):
        model = get_model("mockllm/model", custom_outputs=[output(text) for text in ("A fern. " * 50, "", "Moss.")])
        task = inspect_ai.Task(dataset=questions, scorer=rubric(), name="plain")
        inspect_ai.eval(
            task,
            model=model,
            log_dir=str(home / form),
            log_format=form,
            display="none",
            fail_on_error=False,
            max_samples=1,
        )
        put(home / form, "checks.jsonl", [check(question_id=f"q{n}", check_id=c) for n in (1, 2, 3) for c in LABELS])
    return home


@pytest.mark.parametrize("form", ["eval", "json"])
def test_a_log_that_inspect_wrote_is_read(written, form):
    found = frames(written / form)
    columns = ("model", "judge", "question_id", "check_id", "verdict", "ungraded_reason")
    assert found["verdicts"].select(columns).rows() == [
        ("mockllm/model", "judge-a", "q1", "c1", "meets", None),
        ("mockllm/model", "judge-a", "q1", "c2", None, "error: refused"),
        ("mockllm/model", "judge-a", "q2", "c1", "meets", None),
        ("mockllm/model", "judge-a", "q2", "c2", None, "error: refused"),
        ("mockllm/model", "judge-a", "q3", "c1", None, "error: RuntimeError('the judge is down')"),
        ("mockllm/model", "judge-a", "q3", "c2", None, "error: RuntimeError('the judge is down')"),
    ]
    assert found["answers"].select("answer", "status").rows() == [
        ("A fern. " * 50, "answered"),
        ("", "no_response"),
        ("Moss.", "answered"),
    ]
    assert found["verdicts"]["rationale"][0] == "seen " * 100
    assert found["questions"]["question"][0] == "What is in picture 1? " + "Look. " * 50
    assert found["gradings"]["run_status"].unique().to_list() == ["success"]
    assert found["rejects"].is_empty()
