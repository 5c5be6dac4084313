"""The first steps with a study: small tables that show what the calls give."""

from dataclasses import replace

import polars as pl

from gamut_analysis.chapters import common
from gamut_analysis.chapters.common import captioned, view_of
from gamut_analysis.display import Table, Text, count, points, text
from gamut_analysis.study import Study

SHOWN = 5


def first_questions(study: Study, questions: pl.DataFrame) -> Table:
    """The first rows of the relation of questions."""
    labels = {"question_id": "Id", "question": "Question", "domain": "Domain"}
    columns = {name: text(label) for name, label in labels.items() if questions[name].null_count() < questions.height}
    caption = f"The first {min(SHOWN, questions.height)} of {questions.height:,} questions."
    return Table("questions", questions.head(SHOWN), columns, captioned(study, caption))


def score_means(study: Study, scores: pl.DataFrame) -> Table:
    """The mean score of each model, and on how many questions it stands."""
    means = study.scoring.models(scores).join(study.models.select("model", "name"), on="model")
    means = means.sort("score", "name", descending=[True, False], nulls_last=True)
    columns = {"name": text("Model"), "score": points("Mean score"), "n": count("Questions")}
    return Table("means", means, columns, captioned(study, f"{view_of(study)}. {scores.height:,} scores."))


def report_command(study: Study, board: pl.DataFrame) -> Text:
    """The command that writes the report of the study's model, or of the first of the board where it has none."""
    about = study if study.model else replace(study, model=board["model"].to_list()[0])
    return Text("report", "{command}", common.again(about).values)
