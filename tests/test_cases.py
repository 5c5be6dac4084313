"""The case folders: real problems of people who analyse judges' verdicts come out as their `expected.json` says."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from delivered import built

from gamut_analysis import tables
from gamut_analysis.errors import InputError, RejectedRows
from gamut_analysis.readers import delimited, jsonl
from gamut_analysis.readers import json as json_reader
from gamut_analysis.readers.folder import read_folder
from gamut_analysis.scoring import Scoring
from gamut_analysis.vocabulary import TIERS, VERDICTS, as_tier, as_verdict

RELATIONS = (
    "dataset",
    "verdicts",
    "questions",
    "answers",
    "gradings",
    "duplicates",
    "rejects",
    "coverage",
    "verdict_counts",
    "judge_pairs",
)


@pytest.fixture
def case(shared, tmp_path):
    """The expectations of a case, and its files under names that the product knows, in a folder of their own."""

    def take(number: int, names: dict[str, str] | None = None, manifest: str = "") -> tuple[dict[str, Any], Path]:
        (source,) = (shared / "cases").glob(f"{number:02d}-*")
        expected = json.loads((source / "expected.json").read_text(encoding="utf-8"))
        folder = tmp_path / source.name
        folder.mkdir(exist_ok=True)
        for name in names or dict.fromkeys(expected["files"]):
            shutil.copyfile(source / name, folder / ((names or {}).get(name) or name))
        if manifest:
            (folder / "gamut.toml").write_text(manifest, encoding="utf-8")
        return expected["expect"], folder

    return take


def read(folder: Path) -> dict[str, pl.DataFrame]:
    return tables.read_all(built(folder), RELATIONS)


def scored(frames: dict[str, pl.DataFrame]) -> pl.DataFrame:
    return Scoring().questions(frames["verdict_counts"])


def by_question(scores: pl.DataFrame, **where: str) -> dict[str, float | None]:
    return dict(scores.filter(**where).select("question_id", "score").iter_rows())


def labels(frame: pl.DataFrame) -> dict[str, int]:
    return dict(frame.drop_nulls("verdict")["verdict"].cast(pl.String).value_counts().iter_rows())


def test_07_labels_and_tiers_in_every_dress(case):
    expected, folder = case(7)
    given = jsonl.read(folder / "labels.jsonl").frame["verdict"]
    ours = [None if label is None else as_verdict(label) for label in given]
    assert ours == [label for _, label in expected["labels"]]
    assert ours.count(None) == expected["unusable_labels"]
    tiers = [as_tier(tier) for tier in jsonl.read(folder / "tiers.jsonl").frame["tier"]]
    assert tiers == [None if tier is None else as_tier(tier) for _, tier in expected["tiers"]]


def test_07_unusable_labels_are_listed_by_row_and_never_counted_as_missing(case):
    told = """
    [verdicts]
    columns = { check_id = "row" }
    constants = { model = "alpha", judge = "judge-a", question_id = "q1" }
    """
    expected, folder = case(7, {"labels.jsonl": "verdicts.jsonl"}, told)
    frames = read(folder)
    ours = frames["verdicts"].with_columns(pl.col("check_id").cast(pl.Int64)).sort("check_id")
    assert ours.select("check_id", "verdict").rows() == [tuple(pair) for pair in expected["labels"]]
    unusable = [row for row, label in expected["labels"] if label is None]
    listed = frames["rejects"].filter(field="verdict")["row"].to_list()
    blank = ours.filter(ungraded_reason="no verdict")["check_id"].to_list()
    assert sorted(listed + blank) == unusable


def test_10_ids_are_text(case):
    expected, folder = case(10)
    frames = read(folder)
    assert set(frames["questions"]["question_id"]) == set(expected["question_ids"])
    graded = dict(frames["verdicts"].drop_nulls("verdict")["model"].value_counts().iter_rows())
    assert graded == expected["joined"]
    for model, scores in expected["scores"].items():
        assert by_question(scored(frames), model=model) == pytest.approx(scores)
    assert {"01", "1", "1e5"} <= set(frames["verdicts"]["check_id"])


def test_12_marks_line_ends_and_blank_lines(case):
    expected, folder = case(12)
    readers = {"questions.jsonl": jsonl, "questions.csv": delimited, "questions.json": json_reader}
    for name, count in expected["rows"].items():
        rows = readers[name].read(folder / name)
        assert (rows.frame.height, rows.frame["question_id"][0]) == (count, expected["first_id"])
        assert rows.frame.columns == expected["columns"]
        assert rows.rejects == ()
    utf16 = jsonl.read(folder / "questions_utf16.jsonl")
    assert utf16.frame["question_id"].to_list() == ["q1", "q2", "q3"]


@pytest.mark.parametrize("name", ["late_values.jsonl.gz", "late_id.jsonl.gz"])
def test_13_fields_that_change_late_in_the_file(case, name):
    expected, folder = case(13, {name: "verdicts.jsonl.gz"})
    frames = read(folder)
    verdicts = frames["verdicts"]
    assert frames["duplicates"].height + verdicts.height == expected["rows"][name]
    rows = jsonl.read(folder / "verdicts.jsonl.gz").frame
    assert rows.height == expected["rows"][name]
    if name == "late_id.jsonl.gz":
        assert rows.filter(check_id="3b").height == expected["late_id"]["check_id_3b"]
        return
    assert dict(rows["verdict"].value_counts().iter_rows()) == expected["labels"]
    told = expected["late_values"]
    assert rows["reason"].drop_nulls().len() == told["rows_with_reason"]
    assert verdicts["rationale"].drop_nulls().len() == told["rows_with_reason"]
    assert dict(rows["confidence"].value_counts().iter_rows()) == told["confidence_kept"]
    kept = verdicts["extra"].str.json_path_match("$.confidence")
    assert dict(kept.value_counts().iter_rows()) == told["confidence_kept"]


def test_14_nan_and_infinity(case):
    expected, folder = case(14)
    frames = read(folder)
    verdicts = frames["verdicts"]
    assert verdicts.height == expected["rows"]
    counted = labels(verdicts) | {"unusable": verdicts["verdict"].null_count()}
    assert counted == expected["labels"]
    confidence = verdicts["extra"].str.json_path_match("$.confidence").cast(pl.Float64)
    assert confidence.mean() == pytest.approx(expected["mean_confidence"])
    assert dict(verdicts.select("check_id", "rationale").iter_rows())["c4"] == expected["reason_c4"]
    assert scored(frames).filter(pl.col("score").is_null())["question_id"].to_list() == expected["unscored"]
    for text in verdicts["extra"]:
        json.loads(text, parse_constant=pytest.fail)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_17_null_typed_and_nested_shards(case, order):
    names = {f"shard-{number}.parquet": f"verdicts-{place}.parquet" for number, place in enumerate(order)}
    expected, folder = case(17, names, '[verdicts]\nconstants = { judge = "judge-a" }\n')
    assert read_folder(folder).tables["answers"].height == expected["rows"]
    frames = read(folder)
    assert frames["verdicts"].height == expected["verdict_rows"]
    assert dict(frames["verdicts"].select("question_id", "verdict").iter_rows()) == expected["labels"]
    assert dict(frames["verdicts"].select("question_id", "replicate").iter_rows()) == expected["epoch"]
    errors = frames["answers"].drop_nulls("error")
    assert dict(errors.select("question_id", "error").iter_rows()) == expected["errors"]
    judged = set(frames["verdicts"]["question_id"])
    assert sorted(set(frames["answers"]["question_id"]) - judged) == expected["empty_answers_listed"]


def test_18_pictures(case):
    expected, folder = case(18)
    (folder / "checks.csv").write_text("question_id,check_id,tier\nq1,c1,context\n", encoding="utf-8")
    database = built(folder)
    questions = tables.read(database, "questions")
    assert questions.height == expected["rows"]
    assert dict(questions.select("question_id", "image_path").iter_rows()) == expected["image_path"]
    assert dict(questions.select("question_id", "has_image").iter_rows()) == expected["has_image"]
    everything = questions.write_json()
    assert ("PNG" in everything or "iVBOR" in everything) == expected["image_bytes_in_tables"]
    assert b"IHDR" not in database.read_bytes()


def test_19_packed_files(case):
    expected, folder = case(19)
    for name, count in expected["rows"].items():
        assert jsonl.read(folder / name).frame.height == count, name
    with pytest.raises(InputError, match=r"cut\.jsonl\.gz: the gzip file is cut off"):
        jsonl.read(folder / "cut.jsonl.gz")
    shutil.copyfile(folder / "cut.jsonl.gz", folder / "verdicts.jsonl.gz")
    with pytest.raises(InputError, match=r"verdicts\.jsonl\.gz: the gzip file is cut off"):
        read_folder(folder)


def test_20_bad_lines_and_a_cut_tail(case):
    expected, folder = case(20)
    database = built(folder)
    assert tables.read(database, "verdicts").height == expected["good_rows"]
    rejects = tables.read(database, "rejects")
    assert rejects["row"].to_list() == expected["bad_lines"]
    shown = [tables.describe_reject(*row) for row in rejects.iter_rows()]
    assert shown[0].startswith(expected["message_like"])
    with pytest.raises(RejectedRows, match=expected["message_like"]):
        built(folder, strict=True)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_21_retries_by_instant(case, monkeypatch, turned, zone):
    expected, folder = case(21)
    monkeypatch.setenv("TZ", zone)
    path = folder / "verdicts.jsonl"
    if turned:
        path.write_text("\n".join(reversed(path.read_text(encoding="utf-8").splitlines())), encoding="utf-8")
    frames = read(folder)
    final = {
        f"{q}/{m}/{c}": v
        for q, m, c, v in frames["verdicts"].select("question_id", "model", "check_id", "verdict").iter_rows()
    }
    assert final == expected["final"]
    coverage = frames["coverage"].select("superseded", "repeats", "failed_attempts").sum().row(0)
    assert coverage == (expected["superseded"], expected["exact_repeats"], expected["failed_attempts"])
    conflicts = frames["verdicts"].filter(ungraded_reason="conflict").select("question_id", "model", "check_id")
    assert [list(row) for row in conflicts.iter_rows()] == expected["conflicts_without_time"]


@pytest.mark.parametrize(
    "files", [["gamut_demo.eval"], ["gamut_demo.json"], ["gamut_demo.eval", "gamut_demo.json", "gamut_cancelled.json"]]
)
def test_22_logs_of_inspect_in_both_forms_and_together(case, files):
    expected, folder = case(22, dict.fromkeys(["checks.jsonl", *files], ""))
    frames = read(folder)
    model = {"model": expected["model"]}
    scores = scored(frames).filter(**model)
    assert frames["questions"]["question_id"].n_unique() == expected["questions"]
    means = dict(scores.group_by("question_id").agg(pl.col("score").mean()).iter_rows())
    assert means == pytest.approx(expected["per_question"])
    (row,) = Scoring().models(scores).rows(named=True)
    assert row["score"] == pytest.approx(expected["model_score"])
    ungraded = frames["verdict_counts"].filter(pl.col("ungraded") > 0, **model)
    assert ungraded.select("question_id", pl.col("replicate") + 1).rows() == [tuple(x) for x in expected["unscored"]]
    assert ungraded["missing"].to_list() == [0]
    assert frames["verdicts"].filter(**model).n_unique(["question_id", "replicate"]) == expected["samples"]


def test_22_a_cancelled_run_is_flagged_with_what_it_covers(case):
    expected, folder = case(22)
    frames = read(folder)
    cancelled = {"model": expected["cancelled"]["model"]}
    coverage = frames["coverage"].filter(**cancelled).row(0, named=True)
    assert [coverage["questions_graded"], coverage["questions_asked"]] == expected["cancelled"]["coverage"]
    assert set(frames["gradings"].filter(**cancelled)["run_status"]) == {"cancelled"}
    assert "The run of mockllm/other was cancelled: 1 of 3 questions." in frames["dataset"]["assumptions"].item()


def test_25_empty_refused_and_failed_answers(case):
    expected, folder = case(25)
    frames = read(folder)
    status = dict(frames["answers"].select("question_id", "status").iter_rows())
    assert {q: text.split(" (")[0].replace(" ", "_") for q, text in expected["status"].items()} == status
    assert by_question(scored(frames)) == expected["scores"]
    (model,) = Scoring().models(scored(frames)).rows(named=True)
    assert model["score"] == pytest.approx(expected["model_score"])
    coverage = frames["coverage"].row(0, named=True)
    assert [coverage["questions_graded"], coverage["questions_asked"]] == expected["coverage"]
    assert (coverage["no_response"], coverage["answer_errors"]) == (expected["no_response"], expected["errors"])


def test_43_shares_from_counts(case):
    expected, folder = case(43)
    counts = json.loads((folder / "counts.json").read_text(encoding="utf-8"))
    frame = pl.DataFrame([{"model": model, **row} for model, row in counts.items()])
    total = pl.sum_horizontal(VERDICTS)
    shares = frame.select("model", *(pl.when(total > 0).then(pl.col(v) / total).alias(v) for v in VERDICTS))
    ours = {row.pop("model"): row for row in shares.iter_rows(named=True)}
    for model, told in expected["shares"].items():
        if isinstance(told, str):
            assert set(ours[model].values()) == {None}
        else:
            assert ours[model] == pytest.approx(told, abs=1e-9)


def test_44_questions_are_averaged_and_verdicts_pooled(case):
    expected, folder = case(44)
    frames = read(folder)
    models = Scoring().models(scored(frames))
    assert dict(models.select("model", "score").iter_rows()) == pytest.approx(expected["score"])
    assert models.sort("score", descending=True)["model"].to_list() == expected["rank_by_score"]
    pooled = frames["verdict_counts"].group_by("model").agg(pl.col("meets", "missing", "checks").sum())
    rates = pooled.select("model", pl.col("meets", "missing") / pl.col("checks"))
    assert dict(rates.select("model", "meets").iter_rows()) == pytest.approx(expected["meets_rate"])
    assert dict(rates.select("model", "missing").iter_rows()) == pytest.approx(expected["omission_rate"])


def test_45_a_partial_run(case):
    expected, folder = case(45)
    frames = read(folder)
    scores = scored(frames)
    means = dict(Scoring().models(scores).select("model", "score").iter_rows())
    assert means == pytest.approx(expected["score_full"] | {"gamma": expected["gamma_own_mean"]})
    graded = frames["coverage"].select("model", "questions_graded", "questions_asked")
    assert {model: [done, asked] for model, done, asked in graded.iter_rows()} == expected["coverage"]
    complete = graded.filter(pl.col("questions_graded") == pl.col("questions_asked"))["model"].to_list()
    ranked = sorted(complete, key=lambda model: -means[model])
    assert ranked == expected["ranked"]
    common = scores.filter(pl.col("model").n_unique().over("question_id") == len(means))
    assert sorted(set(common["question_id"])) == expected["common"].pop("questions")
    assert dict(Scoring().models(common).select("model", "score").iter_rows()) == pytest.approx(expected["common"])


def test_46_empty_tiers(case):
    expected, folder = case(46)
    database = built(folder)
    scores = Scoring().questions(tables.read(database, "verdict_counts"))
    assert by_question(scores) == pytest.approx(expected["question_scores"])
    for row in scores.iter_rows(named=True):
        told = {as_tier(tier): score for tier, score in expected["tier_scores"][row["question_id"]].items()}
        assert {tier: row[tier] for tier in TIERS if row[tier] is not None} == pytest.approx(told)
    assert Scoring().models(scores)["score"].to_list() == pytest.approx([expected["model_score"]])
    assert scores["score"].is_between(*expected["range"]).all()
    assert tables.describe(database)["without_checks"]["question_id"].to_list() == ["q7"]


def test_packed_and_plain_files_of_one_case_agree(case):
    _, folder = case(44)
    plain = read(folder)
    packed = gzip.compress((folder / "verdicts.jsonl").read_bytes())
    (folder / "verdicts.jsonl").unlink()
    (folder / "verdicts.jsonl.gz").write_bytes(packed)
    assert read(folder)["verdict_counts"].equals(plain["verdict_counts"])
