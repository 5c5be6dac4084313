"""Real verdicts of other benchmarks: every published figure is recomputed from the built database."""

import csv
from collections.abc import Callable
from functools import cache
from itertools import combinations
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


def families() -> list[tuple[str, str]]:
    """The figures in families, one a table of its paper: dataset and the first part of the figure's id."""
    return list(dict.fromkeys((row["dataset"], row["figure_id"].split(".")[0]) for row in published()))


@pytest.mark.parametrize(("dataset", "family"), families())
def test_published_figures_come_out(database, shared, dataset, family):
    rows = [row for row in published() if (row["dataset"], row["figure_id"].split(".")[0]) == (dataset, family)]
    ours = RECIPES[dataset, family](database, shared / "real" / dataset)
    assert set(ours) == {row["figure_id"] for row in rows}
    for row in rows:
        value = ours[row["figure_id"]]
        if isinstance(value, str):
            assert value == row["ours"], row["figure_id"]
            continue
        decimals = len(row["published"].partition(".")[2])
        assert round(value, decimals) == float(row["published"]), row["figure_id"]
        assert value == pytest.approx(float(row["ours"]), abs=1e-9), row["figure_id"]


def test_every_published_figure_has_a_recipe():
    assert set(families()) in (set(), set(RECIPES))
    assert len(published()) in (0, 74)


# --- SummHay -----------------------------------------------------------------------------------------------------


Figures = dict[str, float | str]
Databases = Callable[[str], Path]


def summhay_pairs(database: Databases) -> pl.DataFrame:
    """Every verdict of a model beside the human one on the same check of the same answer."""
    verdicts = tables.read(database("summhay"), "verdicts").with_columns(
        pl.col("verdict").cast(pl.String).replace_strict(WORTH, return_dtype=pl.Float64).alias("worth"),
        pl.col("extra").str.json_path_match("$.bullet_id").alias("bullet"),
    )
    key = ["model", "question_id", "check_id"]
    human = verdicts.filter(judge="human").select(*key, human="worth", human_bullet="bullet")
    return verdicts.filter(pl.col("judge") != "human").join(human, on=key)


def summhay_agreement(database: Databases, folder: Path) -> Figures:
    """Table 1: how well judges agree with people on coverage, and on the bullet that covers."""
    pairs = summhay_pairs(database)
    linked = pairs.drop_nulls(["bullet", "human_bullet"])
    found: Figures = {}
    for (judge,), part in pairs.group_by("judge"):
        found[f"T1.corr.{judge}"] = np.corrcoef(part["worth"], part["human"])[0, 1]
    for (judge,), part in linked.group_by("judge"):
        found[f"T1.link.{judge}"] = (part["bullet"] == part["human_bullet"]).mean()
    return found


def summhay_leniency(database: Databases, folder: Path) -> Figures:
    """Table 4: three judges less people, by answering model, and whether the length of bullets plays a part."""
    pairs = summhay_pairs(database).filter(pl.col("judge").is_in(["gpt-4o", "claude3-opus", "gemini-1.5-pro"]))
    means = pairs.group_by("judge", "model", "question_id").agg(pl.col("worth", "human").mean())
    answers = means.with_columns(delta=pl.col("worth") - pl.col("human"))
    models = answers.group_by("judge", "model").agg(pl.col("delta").mean())
    found: Figures = {f"T4.{model}.{judge}": delta for judge, model, delta in models.iter_rows()}
    over_models = models.group_by("judge").agg(pl.col("delta").mean())
    found |= {f"T4.AVG over 9 models.{judge}": delta for judge, delta in over_models.iter_rows()}
    words, bullets = (pl.col("extra").str.json_path_match(f"$.{n}").cast(pl.Float64) for n in ("n_words", "n_bullets"))
    lengths = tables.read(database("summhay"), "answers").select("model", "question_id", words=words / bullets)
    for (judge,), part in answers.join(lengths, on=["model", "question_id"]).group_by("judge"):
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


def realsumm_recall(database: Databases, folder: Path) -> Figures:
    """The mean of the published recall, which comes from no verdict."""
    return {"mean_recall": pl.read_parquet(folder / "published_scores.parquet")["pub_litepyramid_recall"].mean()}


def realsumm_answers(database: Databases, folder: Path) -> Figures:
    """The recall of each answer: its checks that a strict majority of workers finds present."""
    verdicts = tables.read(database("realsumm"), "verdicts")
    present = (pl.col("verdict") == "meets").mean() > 0.5
    checks = verdicts.group_by("model", "question_id", "check_id").agg(present.alias("ours"))
    answers = checks.group_by("model", "question_id").agg(pl.col("ours").mean())
    told = pl.read_parquet(folder / "published_scores.parquet").filter(pl.col("model") != "abs_bart_out")
    compared = told.join(answers, on=["model", "question_id"])
    equal = compared.filter((pl.col("ours") - pl.col("pub_litepyramid_recall")).abs() < 1e-9).height
    return {"per_answer": f"{equal}/{compared.height}"}


def realsumm_correlations(database: Databases, folder: Path) -> Figures:
    """Published metrics against each other, document by document; they come from no verdict either."""
    scores = pl.read_parquet(folder / "published_scores.parquet")
    documents = [part.sort("model") for _, part in scores.group_by("question_id")]
    found: Figures = {}
    ignored = 0
    for first, second in combinations(METRICS, 2):
        results = [kendalltau(part[f"pub_{first}"], part[f"pub_{second}"]) for part in documents]
        kept = [result.statistic for result in results if result.pvalue <= 0.05]
        ignored += len(results) - len(kept)
        found[f"tau.{first}~{second}"] = float(np.mean(kept))
    return found | {"tau.ignored": ignored}


# --- K-QA --------------------------------------------------------------------------------------------------------


def kqa_rubric(database: Databases, folder: Path) -> Figures:
    """The size of the whole rubric."""
    checks = tables.read(database("kqa_rubric"), "checks")
    return {"n_statements": f"{checks.height} / {checks['question_id'].n_unique()}"}


def kqa_majority(database: Databases, folder: Path) -> Figures:
    """The majority of the three physicians against the majority as delivered."""
    verdicts = tables.read(database("kqa"), "verdicts").with_columns(pl.col("verdict").cast(pl.String))
    key = ["model", "question_id", "check_id"]
    votes = verdicts.filter(pl.col("judge").str.starts_with("physician")).group_by(*key, "verdict").len()
    most = votes.sort("len", descending=True).unique(key, keep="first", maintain_order=True)
    told = verdicts.filter(judge="majority").join(most, on=key, suffix="_of_slots")
    equal = told.filter(pl.col("verdict") == pl.col("verdict_of_slots")).height
    return {"majority": f"{equal}/{told.height}"}


RECIPES: dict[tuple[str, str], Callable[[Databases, Path], Figures]] = {
    ("summhay", "T1"): summhay_agreement,
    ("summhay", "T4"): summhay_leniency,
    ("realsumm", "mean_recall"): realsumm_recall,
    ("realsumm", "per_answer"): realsumm_answers,
    ("realsumm", "tau"): realsumm_correlations,
    ("kqa", "n_statements"): kqa_rubric,
    ("kqa", "majority"): kqa_majority,
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
