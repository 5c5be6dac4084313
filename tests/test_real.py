"""Real verdicts of other benchmarks: every published figure is recomputed from the built database."""

import csv
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau

from gamut_analysis import tables
from gamut_analysis.readers.folder import read_folder
from gamut_analysis.vocabulary import VERDICTS

MANIFESTS = Path(__file__).parent / "real"
SHARED = Path(__file__).resolve().parents[2] / "shared"
FIGURES = SHARED / "real" / "published_figures.csv"
WORTH = {"meets": 1.0, "partially_meets": 0.5, "missing": 0.0}


def published() -> list[dict[str, str]]:
    """The figures as published, one a row; none where the folder beside the checkout is absent."""
    if not FIGURES.is_file():
        return []
    with FIGURES.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="session")
def database(shared, tmp_path_factory) -> Callable[[str], Path]:
    """The database of a real dataset, built when it is first asked for."""
    place = tmp_path_factory.mktemp("real")

    @cache
    def build(name: str) -> Path:
        folder = shared / "real" / name.removesuffix("_rubric")
        delivery = read_folder(folder, MANIFESTS / f"{name}.toml")
        return tables.build(delivery, place / f"{name}.duckdb", strict=True).database

    return build


@pytest.fixture(scope="session")
def figures(database, shared) -> Callable[[str], dict[str, float | str]]:
    """Our value of every figure of a dataset, by its id."""
    recipes = {"summhay": summhay_figures, "realsumm": realsumm_figures, "kqa": kqa_figures}

    @cache
    def compute(name: str) -> dict[str, float | str]:
        return recipes[name](database, shared / "real" / name)

    return compute


@pytest.mark.parametrize("row", published(), ids=lambda row: f"{row['dataset']}-{row['figure_id']}")
def test_a_published_figure_comes_out(figures, row):
    ours = figures(row["dataset"])[row["figure_id"]]
    if isinstance(ours, str):
        assert ours == row["ours"]
        return
    decimals = len(row["published"].partition(".")[2])
    assert round(ours, decimals) == float(row["published"])
    assert ours == pytest.approx(float(row["ours"]), abs=1e-9)


# --- SummHay -----------------------------------------------------------------------------------------------------


def summhay_figures(database: Callable[[str], Path], folder: Path) -> dict[str, float | str]:
    verdicts = tables.read(database("summhay"), "verdicts").with_columns(
        pl.col("verdict").cast(pl.String).replace_strict(WORTH, return_dtype=pl.Float64).alias("worth"),
        pl.col("extra").str.json_path_match("$.bullet_id").alias("bullet"),
    )
    pair = ["model", "question_id", "check_id"]
    human = verdicts.filter(judge="human").select(*pair, human="worth", human_bullet="bullet")
    judged = verdicts.filter(pl.col("judge") != "human").join(human, on=pair)
    both = judged.drop_nulls(["bullet", "human_bullet"])
    found: dict[str, float | str] = {}
    for (judge,), part in judged.group_by("judge"):
        found[f"T1.corr.{judge}"] = np.corrcoef(part["worth"], part["human"])[0, 1]
    for (judge,), part in both.group_by("judge"):
        found[f"T1.link.{judge}"] = (part["bullet"] == part["human_bullet"]).mean()
    answer = ["judge", "model", "question_id"]
    deltas = (
        judged.group_by(answer)
        .agg(pl.col("worth", "human").mean())
        .with_columns(delta=pl.col("worth") - pl.col("human"))
    )
    models = deltas.group_by("judge", "model").agg(pl.col("delta").mean())
    found |= {f"T4.{model}.{judge}": delta for judge, model, delta in models.iter_rows()}
    over_models = models.group_by("judge").agg(pl.col("delta").mean())
    found |= {f"T4.AVG over 9 models.{judge}": delta for judge, delta in over_models.iter_rows()}
    size = [
        pl.col("extra").str.json_path_match(f"$.{name}").cast(pl.Float64).alias(name)
        for name in ("n_words", "n_bullets")
    ]
    answers = tables.read(database("summhay"), "answers").with_columns(size)
    lengths = answers.select("model", "question_id", words=pl.col("n_words") / pl.col("n_bullets"))
    for (judge,), part in deltas.join(lengths, on=["model", "question_id"]).group_by("judge"):
        found[f"T4.corr(words per bullet, delta).{judge}"] = np.corrcoef(part["words"], part["delta"])[0, 1]
        found[f"T4.corr(words per bullet, judge score).{judge}"] = np.corrcoef(part["words"], part["worth"])[0, 1]
    return found


# --- REALSumm ----------------------------------------------------------------------------------------------------

METRICS = (
    "bert_recall_score",
    "mover_score",
    "rouge_1_recall",
    "rouge_2_recall",
    "rouge_l_recall",
    "js-2",
    "litepyramid_recall",
)


def realsumm_figures(database: Callable[[str], Path], folder: Path) -> dict[str, float | str]:
    scores = pl.read_parquet(folder / "published_scores.parquet")  # the metrics are published, not graded
    recall = "pub_litepyramid_recall"
    verdicts = tables.read(database("realsumm"), "verdicts")
    present = (pl.col("verdict") == "meets").mean() > 0.5
    graded = verdicts.group_by("model", "question_id", "check_id").agg(present.alias("present"))
    ours = graded.group_by("model", "question_id").agg(pl.col("present").mean())
    compared = ours.join(scores, on=["model", "question_id"]).filter(pl.col("model") != "abs_bart_out")
    equal = compared.filter((pl.col("present") - pl.col(recall)).abs() < 1e-9).height
    found: dict[str, float | str] = {
        "mean_recall": scores[recall].mean(),
        "per_answer": f"{equal}/{compared.height}",
    }
    documents = [part.sort("model") for _, part in scores.group_by("question_id")]
    ignored = 0
    for position, first in enumerate(METRICS):
        for second in METRICS[position + 1 :]:
            results = [kendalltau(d[f"pub_{first}"], d[f"pub_{second}"]) for d in documents]
            kept = [result.statistic for result in results if result.pvalue <= 0.05]
            ignored += len(results) - len(kept)
            found[f"tau.{first}~{second}"] = float(np.mean(kept))
    found["tau.ignored"] = ignored
    return found


# --- K-QA --------------------------------------------------------------------------------------------------------


def kqa_figures(database: Callable[[str], Path], folder: Path) -> dict[str, float | str]:
    checks = tables.read(database("kqa_rubric"), "checks")
    verdicts = tables.read(database("kqa"), "verdicts").with_columns(pl.col("verdict").cast(pl.String))
    slots = verdicts.filter(pl.col("judge").str.starts_with("physician"))
    votes = slots.group_by("model", "question_id", "check_id", "verdict").len().sort("len", descending=True)
    most = votes.unique(["model", "question_id", "check_id"], keep="first", maintain_order=True)
    told = verdicts.filter(judge="majority").join(most, on=["model", "question_id", "check_id"], suffix="_of_slots")
    equal = told.filter(pl.col("verdict") == pl.col("verdict_of_slots")).height
    return {
        "n_statements": f"{checks.height} / {checks['question_id'].n_unique()}",
        "majority": f"{equal}/{told.height}",
    }


# --- the databases themselves ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "models", "judges", "questions", "checks", "verdicts"),
    [
        ("summhay", 9, 7, 29, 195, 9933),
        ("kqa", 4, 4, 50, 399, 1596),
        ("realsumm", 25, 4, 100, 1056, 81581),
    ],
)
def test_everything_that_was_delivered_is_there(database, name, models, judges, questions, checks, verdicts):
    frames = tables.read_all(database(name), ("models", "judges", "questions", "checks", "verdicts", "rejects"))
    assert (frames["models"].height, frames["judges"].height) == (models, judges)
    assert frames["questions"]["cluster"].n_unique() == questions
    assert frames["checks"]["text"].drop_nulls().len() == frames["checks"].height
    assert frames["checks"].unique("check_id").height == checks
    assert frames["verdicts"]["verdict"].drop_nulls().len() == verdicts
    assert frames["rejects"].height == 0


def test_an_answer_of_summhay_is_one_model_with_one_retriever(database):
    questions = tables.read(database("summhay"), "questions")
    assert questions.select(pl.col("question_id").str.split("|").list.first() == pl.col("cluster")).to_series().all()
    answers = tables.read(database("summhay"), "answers")
    assert (answers.height, answers["status"].unique().to_list()) == (200, ["answered"])


def test_labels_of_the_real_data_read_as_said(database):
    for name, seen in {
        "summhay": VERDICTS[:3],
        "kqa": (VERDICTS[0], *VERDICTS[2:]),
        "realsumm": (VERDICTS[0], VERDICTS[2]),
    }.items():
        found = tables.read(database(name), "verdicts")["verdict"].cast(pl.String).unique()
        assert sorted(found) == sorted(seen), name


def test_a_rubric_without_verdicts_is_a_database(database):
    frames = tables.read_all(database("kqa_rubric"), tables.RELATIONS)
    assert frames["questions"].height == 201
    assert frames["rubric_profile"]["checks"].sum() == 1589
    assert frames["question_words"].height == 201
    assert frames["verdicts"].height == frames["verdict_counts"].height == frames["judge_pairs"].height == 0
