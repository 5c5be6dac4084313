"""Replies that nobody has read yet, in a folder: they become verdicts, and what they lack is ungraded."""

import json

import polars as pl
import pytest

from gamut_analysis import datasets, tables
from gamut_analysis.errors import InputError
from gamut_analysis.scoring import Scoring

CHECKS = [{"question_id": "q1", "check_id": f"c{n}", "tier": "valuable", "text": f"Says {n}."} for n in (1, 2)]
ROW = {"question_id": "q1", "variant": "multimodal", "model": "m", "judge": "j"}
BOTH = '{"verdicts": [{"id": "c1", "verdict": "meets", "reason": "There."}, {"id": "c2", "verdict": "missing"}]}'


@pytest.fixture
def build(tmp_path):
    """A database of replies, and of checks where they are given."""

    def built(replies, checks=CHECKS, manifest=""):
        folder = tmp_path / "ours"
        folder.mkdir()
        for name, rows in (("replies", replies), ("checks", checks)):
            if rows:
                (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        if manifest:
            (folder / "gamut.toml").write_text(manifest, "utf-8")
        return datasets.build(folder, tmp_path / "ours.duckdb").database

    return built


def verdicts(database, *columns):
    return tables.read(database, "verdicts").select(pl.col(columns).cast(pl.String)).rows()


def test_a_reply_is_the_verdicts_that_it_holds(build):
    database = build([ROW | {"reply": f"```json\n{BOTH}\n```"}])
    assert verdicts(database, "check_id", "verdict", "rationale") == [
        ("c1", "meets", "There."),
        ("c2", "missing", None),
    ]


def test_what_a_reply_lacks_is_ungraded_with_its_reason(build):
    replies = [
        ROW | {"model": "half", "reply": BOTH.replace("c2", "c9")},
        ROW | {"model": "cut", "reply": BOTH[:80], "stop_reason": "max_tokens"},
        ROW | {"model": "failed", "error": "HTTP 500"},
        ROW | {"model": "refused", "reply": "I'm sorry, I can't help with that."},
        ROW | {"model": "mute", "reply": ""},
    ]
    database = build(replies)
    told = {
        (model, check): reason for model, check, reason in verdicts(database, "model", "check_id", "ungraded_reason")
    }
    assert told == {
        ("half", "c1"): None,
        ("half", "c2"): "error: not in the reply",
        ("cut", "c1"): None,
        ("cut", "c2"): "error: cut off",
        ("failed", "c1"): "error: HTTP 500",
        ("failed", "c2"): "error: HTTP 500",
        ("refused", "c1"): "error: refusal",
        ("refused", "c2"): "error: refusal",
        ("mute", "c1"): "error: empty reply",
        ("mute", "c2"): "error: empty reply",
    }
    (extra,) = tables.read(database, "rejects").filter(field="check_id").to_dicts()
    assert (extra["row"], extra["value"], extra["reason"]) == (1, "q1 / c9", "not a check of the rubric")


def test_labels_of_the_manifest_count(build):
    replies = [ROW | {"reply": '{"c1": "FULL", "c2": "nothing"}'}]
    database = build(replies, manifest='[labels]\n"FULL" = "meets"\n')
    assert verdicts(database, "verdict", "ungraded_reason") == [
        ("meets", None),
        (None, "error: unknown label: nothing"),
    ]


def test_a_variant_has_its_own_checks(build):
    checks = [CHECKS[0] | {"variant": "text_only"}, CHECKS[1] | {"variant": "multimodal"}]
    replies = [ROW | {"variant": "Text-Only", "reply": BOTH}, ROW | {"reply": BOTH}]
    database = build(replies, checks)
    assert verdicts(database, "variant", "check_id") == [("multimodal", "c2"), ("text_only", "c1")]


def test_a_reply_to_a_question_without_checks_is_listed(build):
    database = build([ROW | {"reply": BOTH}, ROW | {"question_id": "q9", "reply": BOTH}])
    (lost,) = tables.read(database, "rejects").to_dicts()
    assert (lost["file"], lost["row"], lost["value"]) == ("replies.jsonl", 2, "q9")


def test_replies_alone_cannot_be_read(build):
    with pytest.raises(InputError, match="a file `checks"):
        build([ROW | {"reply": BOTH}], checks=[])


@pytest.fixture
def case(shared, tmp_path):
    """The database of a case, and what is expected of it."""

    def of(name):
        folder = shared / "cases" / name
        expected = json.loads((folder / "expected.json").read_text("utf-8"))["expect"]
        return datasets.build(folder, tmp_path / "case.duckdb").database, expected

    return of


def test_01_twelve_wrappings_are_twelve_equal_scores(case):
    database, expected = case("01-fenced-replies")
    scores = Scoring().questions(tables.read(database, "verdict_counts"))
    assert scores["model"].cast(pl.String).sort().to_list() == sorted(expected["models"])
    assert scores["score"].to_list() == pytest.approx([expected["score_each"]] * expected["usable_replies"])


def test_04_no_verdict_comes_out_of_a_reasoning_block(case):
    database, expected = case("04-think-block-draft")
    told = {}
    for model, check, verdict, reason in verdicts(database, "model", "check_id", "verdict", "ungraded_reason"):
        told.setdefault(model, {})[check] = verdict or reason.removeprefix("error: ")
    for model, wanted in expected["verdicts"].items():
        assert told[model] == wanted
    for model, reason in expected["unusable"].items():
        assert set(told[model].values()) == {reason}


def test_06_a_judge_that_failed_is_no_zero(case):
    database, expected = case("06-judge-failure-not-missing")
    scores = Scoring().questions(tables.read(database, "verdict_counts")).with_columns(pl.col("model").cast(pl.String))
    for model, score in expected["score"].items():
        own = scores.filter(model=model)["score"]
        assert own.mean() == pytest.approx(score)
        assert [own.count(), own.len()] == expected["coverage"][model]
    kinds = tables.read(database, "verdicts").drop_nulls("ungraded_reason")["ungraded_reason"].cast(pl.String)
    assert {kind.split(": ")[1] for kind in kinds} == set(expected["failure_kinds"])
