"""The questions of one model with all that is known of their grading: the frames of the explorer."""

import polars as pl

from gamut_analysis import failures, tables
from gamut_analysis.chapters.common import cannot
from gamut_analysis.display import Text
from gamut_analysis.live.explorer import Explorer
from gamut_analysis.scoring import ANSWER, LOSSES
from gamut_analysis.study import Study
from gamut_analysis.vocabulary import VERDICTS

_KEY = ["question_id", "check_id"]
_SILENT = {
    "no_response": "The answer is empty, so the check counts as missing.",
    "error": "The answer could not be had.",
}


def explorer(study: Study) -> Explorer | Text:
    """Every question that the model was asked, to be filtered and opened."""
    shown = questions(study)
    if shown.is_empty():
        return cannot("questions", "No question of this model was graded.")
    said = verdicts(study)
    names = dict(study.judges.select("judge", "name").iter_rows())
    own_first = {study.judge: names[study.judge]} | names
    return Explorer("questions", shown, checks(study, said), said.select(Explorer.SAID), own_first)


def questions(study: Study) -> pl.DataFrame:
    """The questions put to the model with score, text and answer, the costliest first, those without a score last."""
    asked = _own(study).select("question_id").unique()
    scores = study.own_scores.filter(model=study.model).select("question_id", "score", "reason")
    answers = study.relation("answers", model=study.model, variant=study.variant).select("question_id", "answer")
    told = study.questions.select("question_id", "question", "domain")
    ungraded = pl.lit(f"{study.judge_name} graded nothing of it")
    return (
        asked.join(scores, on="question_id", how="left")
        .join(told, on="question_id", how="left")
        .join(answers, on="question_id", how="left")
        .with_columns(pl.when(pl.col("score").is_null()).then(pl.col("reason").fill_null(ungraded)).alias("reason"))
        .sort("score", "question_id", nulls_last=True)
    )


def verdicts(study: Study) -> pl.DataFrame:
    """What counts for every check of the model's answers, by judge and grading, with the reason given for it.

    A check of an answer that is empty counts as missing, one of an answer that could not be had as not graded, whatever
    a judge said of it.
    """
    graded = _own(study).select("judge", "question_id", "replicate", "tier", "answer_status", "ungraded")
    # An empty answer whose grading failed is not graded; a judge failed on it as a whole.
    silent = pl.col("answer_status").is_in(list(_SILENT))
    empty = (pl.col("answer_status") == "no_response") & (pl.col("ungraded") == 0)
    given = tables.check_verdicts(study.path, model=study.model, variant=study.variant)
    given = given.select(
        "judge", *_KEY, "replicate", "verdict", pl.coalesce("ungraded_reason", "rationale").alias("note")
    )
    return (
        graded.join(study.checks.select(*_KEY, "tier"), on=["question_id", "tier"])
        .join(given, on=["judge", *_KEY, "replicate"], how="left")
        .with_columns(
            pl.when(empty)
            .then(pl.lit("missing"))
            .when(~silent)
            .then("verdict")
            .cast(pl.Enum(VERDICTS))
            .alias("verdict"),
            pl.when(silent & (empty | (pl.col("answer_status") == "error")))
            .then(pl.col("answer_status").replace(_SILENT))
            .otherwise("note")
            .alias("note"),
        )
        .sort("judge", "replicate", *_KEY)
    )


def checks(study: Study, verdicts: pl.DataFrame) -> pl.DataFrame:
    """The rubrics of the model's questions, item by item, with what each check takes from the question's score."""
    items = study.relation("items").select("question_id", "item_id", pl.col("description").alias("item"))
    asked = verdicts.select("question_id").unique()
    return (
        study.checks.join(asked, on="question_id", how="semi", maintain_order="left")
        .join(items, on=["question_id", "item_id"], how="left", maintain_order="left")
        .join(costs(study, verdicts), on=_KEY, how="left", maintain_order="left")
        .with_columns(pl.coalesce("text", "check_id").alias("text"), pl.coalesce("item", "item_id").alias("item"))
        .with_columns(_rubric_order())
        .sort("question_id", "item_tier", "item_place", "tier", "place")
        .select(*_KEY, "text", "tier", "role", "item_id", "item_type", "item", "cost")
    )


def _rubric_order() -> list[pl.Expr]:
    """Items by their highest tier, then as a person would number them; within an item the rubric's own order."""
    item = pl.col("item_id").fill_null("")
    numbered = item.str.replace_all(r"(\d+)", "000000$1").str.replace_all(r"0+(\d{7})", "$1")
    within = ["question_id", item]
    return [
        pl.col("tier").to_physical().min().over(within).alias("item_tier"),
        numbered.alias("item_place"),
        pl.int_range(pl.len()).alias("place"),
    ]


def costs(study: Study, verdicts: pl.DataFrame) -> pl.DataFrame:
    """What each check takes from its question's score by the study's judge; together they take 1 - score."""
    own = verdicts.filter(judge=study.judge).with_columns(model=pl.lit(study.model), variant=pl.lit(study.variant))
    counted = own.select(
        *ANSWER,
        "replicate",
        "tier",
        "check_id",
        "answer_status",
        *((pl.col("verdict") == name).fill_null(False).cast(pl.Int32).alias(name) for name in VERDICTS),
        pl.col("verdict").is_null().cast(pl.Int32).alias("ungraded"),
        pl.lit(1, dtype=pl.Int32).alias("checks"),
    )
    if counted.is_empty():
        return counted.select(*_KEY, pl.lit(None, dtype=pl.Float64).alias("cost"))
    lost = failures.attributed_losses(counted, study.scoring, grain=["check_id"])
    return lost.select(*_KEY, pl.sum_horizontal(LOSSES).alias("cost"))


def _own(study: Study) -> pl.DataFrame:
    """The counts of the model's answers to this variant, by every judge."""
    return study.counts.filter(model=study.model, variant=study.variant)
