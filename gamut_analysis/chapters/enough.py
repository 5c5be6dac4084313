"""How many questions and judges are enough: what varies, what more of each would buy, which gaps can be seen."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from gamut_analysis import ranking, variance
from gamut_analysis.chapters.common import cannot, captioned, titled, view_of
from gamut_analysis.charts import curves
from gamut_analysis.display import (
    Column,
    Figure,
    Table,
    Text,
    count,
    format_count,
    format_points,
    interval,
    percent,
    points,
    text,
)
from gamut_analysis.intervals import LEVEL
from gamut_analysis.live.design import Design
from gamut_analysis.study import Study
from gamut_analysis.vocabulary import VARIANT_LABELS

QUESTIONS = (25, 50, 100, 200, 300, 500, 750, 1000, 1500, 1813, 2500, 4000)
JUDGES = (1, 2, 3, 5, 10)
GAPS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1)
PRECISION = 0.01
STEPS = (20, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000, 1500, 2000, 3000, 4000, 5000, 7500, 10000)
_DIFFERENCE = {"question": "model x question", "judge": "model x judge", "both": "residual"}
_LABELS = {
    "model": "Models differ",
    "question": "Questions differ in difficulty",
    "judge": "Judges differ in level",
    "model x question": "Models differ from question to question",
    "model x judge": "Judges differ in their order of models",
    "question x judge": "Judges differ from question to question",
    "residual": "The rest: everything together, and chance",
}


def components(study: Study) -> pl.DataFrame:
    """What the scores of this variant vary with: models, questions, judges and their mixtures."""
    scored = study.scores.filter(variant=study.variant).drop_nulls("score")
    if scored["judge"].n_unique() < 2 or scored["model"].n_unique() < 2 or scored["question_id"].n_unique() < 2:
        return pl.DataFrame()
    return variance.variance_components(scored)


def component_table(components: pl.DataFrame) -> Table | Text:
    """The components of variance, as standard deviations in points and shares."""
    if components.is_empty():
        return cannot("components", "Two models, two questions and two judges at least are needed to part what varies.")
    named = components.with_columns(
        label=pl.col("component").cast(pl.String).replace(_LABELS), deviation=pl.col("estimate").sqrt()
    )
    columns: dict[str, Column | str] = {
        "label": text("Source"),
        "deviation": points("Standard deviation"),
        "share": percent("Share of the variance"),
        "n": count("Levels"),
    }
    caption = (
        "Components of variance of single scores, from sums of squares: models, questions and judges taken as drawn "
        "from "
        "many like them."
    )
    return Table("components", named, columns, caption, _warnings(components))


def _warnings(components: pl.DataFrame) -> str:
    return " ".join(dict.fromkeys(components["warning"].drop_nulls().to_list()))


def surface(study: Study, components: pl.DataFrame) -> Figure | Text:
    """The standard error of a difference of two models, by numbers of questions and judges."""
    if components.is_empty():
        return cannot("d-study", "Without components of variance there is no design to study.")
    rows = variance.d_study(components, questions=QUESTIONS, judges=JUDGES).drop_nulls("se_difference")
    if rows.is_empty():
        return cannot("d-study", "The components of variance are undefined for this data.")
    shown = rows.with_columns(panel=pl.format("{} judges", "judges").replace("1 judges", "1 judge"))
    order = [f"{k} judge" if k == 1 else f"{k} judges" for k in JUDGES]
    chart = curves.by_questions(shown, value="se_difference", group="panel", order=order)
    more, fewer = (
        rows.filter((pl.col("questions") == 1000) & (pl.col("judges") == k))["se_difference"][0] for k in (3, 1)
    )
    title = (
        f"With 1,000 questions a second and third judge lower the error of a difference from {format_points(fewer)} to "
        f"{format_points(more)} points"
    )
    caption = captioned(
        study,
        "Standard error of a difference of two models whose judges and questions are drawn anew, from the components "
        "above. "
        "What judges add does not shrink with more questions.",
    )
    subtitle = f"Standard error in points; {VARIANT_LABELS[study.variant]} questions, judges like these"
    return Figure("d-study", titled(study, chart, title, subtitle), caption, title, rows)


def surface_text(components: pl.DataFrame, detectable: pl.DataFrame) -> Text:
    """Whether a second judge or twice as many questions would help more, from where the study stands."""
    if components.is_empty() or components["estimate"].null_count() or detectable["n"].max() is None:
        return cannot("d-study-text", "Without components of variance there is nothing to weigh against each other.")
    asked = max(detectable["n"].drop_nulls().to_list())
    rows = variance.d_study(components, questions=[asked, 2 * asked], judges=[1, 2])
    now, judge, questions = (
        rows.filter(questions=n, judges=k)["se_difference"].item() for n, k in ((asked, 1), (asked, 2), (2 * asked, 1))
    )
    values = {"asked": asked, "now": now, "judge": judge, "questions": questions}
    template = (
        "From {asked:count} questions and one judge (error {now:points.2} points), a second judge leaves "
        "{judge:points.2} and twice the questions {questions:points.2}: "
    )
    template += "**the judge helps more.**" if judge < questions else "**the questions help more.**"
    return Text("d-study-text", template, values)


def needed_table(components: pl.DataFrame) -> Table | Text:
    """How many questions bring the standard error of a difference down to one point, by number of judges."""
    if components.is_empty():
        return cannot("questions-needed", "Without components of variance the numbers cannot be told.")
    rows = variance.questions_needed(components, precision=PRECISION, judges=JUDGES)
    label = {"se_difference": "a difference of two models", "se_mean": "the level of one model"}
    stays = pl.lit("judges alone leave an error above one point, as the last column says")
    named = rows.with_columns(
        label=pl.col("measure").cast(pl.String).replace(label),
        reason=pl.when(pl.col("floor").is_not_null() & pl.col("reason").is_not_null()).then(stays).otherwise("reason"),
    )
    columns: dict[str, Column | str] = {
        "label": text("Standard error of"),
        "judges": count("Judges"),
        "questions": count("Questions for one point"),
        "floor": points("Error with endless questions"),
    }
    return Table("questions-needed", named, columns, "How many questions bring a standard error down to one point.")


def detectable(study: Study, pairs: pl.DataFrame) -> pl.DataFrame:
    """What each pair of models could show with these questions, and what its own gap would need."""
    names = pairs.select("model_a", "model_b", "name_a", "name_b")
    found = ranking.detectable_differences(pairs.drop("name_a", "name_b"))
    return found.join(names, on=["model_a", "model_b"], maintain_order="left")


def neighbours_needed(study: Study, board: pl.DataFrame, detectable: pl.DataFrame) -> Table | Text:
    """For models that stand side by side: the gap, what could be seen, and how many questions it would take."""
    order = board.drop_nulls("rank")["model"].to_list()
    beside = pl.DataFrame(
        {"model_a": order[:-1], "model_b": order[1:]}, schema={"model_a": pl.String, "model_b": pl.String}
    )
    rows = beside.join(detectable, on=["model_a", "model_b"], how="inner", maintain_order="left")
    if rows.is_empty():
        return cannot("neighbours-needed", "There are no two complete models side by side.")
    columns: dict[str, Column | str] = {
        "name_a": text("Model"),
        "name_b": text("above"),
        "estimate": points("Gap", signed=True),
        "minimum_detectable_effect": points("Could be seen"),
        "n": count("Questions"),
        "questions_needed": count("Questions for a gap like this"),
    }
    caption = (
        "Models that stand side by side. 'Could be seen': the smallest true gap that a test of this pair alone finds "
        "with a "
        "power of 80 %. Last column: questions that a true gap as large as this one would need. Which models stand "
        "side by side "
        "was chosen by the data: the numbers are for planning, not for testing."
    )
    return Table("neighbours-needed", rows, columns, caption)


def pair_curve(study: Study, detectable: pl.DataFrame) -> Figure | Text:
    """How many questions tell a typical pair apart, by the size of its gap."""
    spread = _pair_variances(detectable)
    if not spread.size:
        return cannot("questions-by-gap", "There are no two models with questions in common.")
    grid = [0.001 * step for step in range(5, 121)]
    bands = {
        "a typical pair": float(np.median(spread)),
        "an easy pair": float(np.quantile(spread, 0.1)),
        "a hard pair": float(np.quantile(spread, 0.9)),
    }
    rows = [
        {"gap": gap, "pair": name, "questions": float(ranking.questions_needed(gap, between))}
        for name, between in bands.items()
        for gap in grid
    ]
    frame = pl.DataFrame(rows)
    typical = frame.filter((pl.col("pair") == "a typical pair") & (pl.col("gap").round(3) == 0.02))["questions"][0]
    chart = curves.by_gap(frame, group="pair", order=list(bands))
    title = f"A gap of two points takes about {format_count(round(typical))} questions"
    caption = captioned(
        study,
        "Questions for a power of 80 % at 5 %, one pair by itself; pairs whose differences spread less need fewer. "
        "Point at the "
        "lines to read them.",
    )
    subtitle = f"Questions needed; {view_of(study)}"
    return Figure("questions-by-gap", titled(study, chart, title, subtitle), caption, title, frame)


def pair_text(detectable: pl.DataFrame) -> Text:
    """How many of the gaps at hand these questions are enough for."""
    known = detectable.drop_nulls("questions_needed")
    if known.is_empty():
        return cannot("questions-by-gap-text", "There are no two models with questions in common.")
    values = {
        "pairs": known.height,
        "enough": known.filter(pl.col("questions_needed") <= pl.col("n")).height,
        "median": int(known["questions_needed"].median() or 0),  # type: ignore[arg-type]
        "n": max(known["n"].to_list()),
    }
    template = (
        "If every observed gap were the true one, {n:count} questions would be enough for **{enough:count} of "
        "{pairs:count}** pairs; half of the pairs need {median:count} or fewer."
        if values["enough"]
        else "If every observed gap were the true one, {n:count} questions would be enough for **none** of the "
        "{pairs:count} pairs; half of them need more than {median:count}."
    )
    return Text("questions-by-gap-text", template, values)


def _pair_variances(pairs: pl.DataFrame) -> np.ndarray:
    """How much the difference of each pair varies from question to question."""
    known = pairs.drop_nulls("standard_error")
    return known["standard_error"].to_numpy() ** 2 * known["n"].to_numpy()


def design(study: Study, components: pl.DataFrame, detectable: pl.DataFrame) -> Design | Text:
    """The gap that the reader's own numbers of questions and judges would show, and what a pair would need."""
    spread = _pair_variances(detectable)
    if not spread.size:
        return cannot("design", "There are no two models with questions in common.")
    parts = _difference_components(components, spread)
    error = {name: sum(parts.filter(component=part)["estimate"]) for name, part in _DIFFERENCE.items()}
    judges = range(1, max(JUDGES) + 1) if parts.height > 1 else (1,)
    asked = max(detectable["n"].to_list())
    return Design(
        "design",
        error,
        detectable.drop_nulls("standard_error").with_columns(spread=pl.Series(spread)),
        _factors(detectable.height),
        sorted({*STEPS, asked}),
        judges,
        asked,
        study.judge_name,
        _settings_table(study, parts, sorted({100, 300, 1000, 3000, asked}), judges[:3]),
    )


def _difference_components(components: pl.DataFrame, spread: np.ndarray) -> pl.DataFrame:
    """The components behind a difference of two models; under one judge all that a typical pair varies by."""
    if not components.is_empty() and not components["estimate"].null_count():
        return components.select(pl.col("component").cast(pl.String), "estimate")
    return pl.DataFrame({"component": ["model x question"], "estimate": [float(np.median(spread)) / 2]})


def _factors(pairs: int) -> dict[str, float]:
    """How many standard errors a gap must have to be found: by itself, and with Bonferroni's correction."""
    levels = {"one pair by itself": LEVEL}
    if pairs > 1:
        levels[f"corrected for all {pairs} pairs"] = 1 - (1 - LEVEL) / pairs
    return {label: float(ranking.minimum_detectable_effect(1.0, level=level)) for label, level in levels.items()}


def _settings_table(study: Study, parts: pl.DataFrame, questions: Sequence[int], judges: Sequence[int]) -> Table:
    """The gap that can be seen with a few numbers of questions and judges."""
    rows = variance.d_study(parts, questions=questions, judges=judges)
    effects = ranking.minimum_detectable_effect(rows["se_difference"].to_numpy())
    wide = rows.with_columns(effect=pl.Series(effects)).pivot("judges", index="questions", values="effect")
    columns: dict[str, Column | str] = {
        "questions": count("Questions"),
        **{str(k): points(f"{k} judge" if k == 1 else f"{k} judges") for k in judges},
    }
    caption = f"The smallest true gap of two models found with a power of 80 %, one pair by itself. {view_of(study)}."
    return Table("settings", wide, columns, captioned(study, caption))


def domain_table(study: Study, pairs: pl.DataFrame) -> Table | Text:
    """The smallest gap that each domain alone could show."""
    domains = study.questions.select("question_id", "domain").drop_nulls()
    sizes = (
        domains.group_by("domain", maintain_order=True)
        .agg(pl.len().alias("n"))
        .sort("n", "domain", descending=[True, False])
    )
    spread = _pair_variances(pairs)
    if sizes.is_empty() or not spread.size:
        return cannot("by-domain", "This data has no domains, or no two models in common.")
    errors = np.sqrt(np.median(spread) / sizes["n"].to_numpy())
    shown = sizes.with_columns(effect=pl.Series(ranking.minimum_detectable_effect(errors)))
    columns: dict[str, Column | str] = {
        "domain": text("Domain"),
        "n": count("Questions"),
        "effect": points("Could be seen"),
    }
    return Table(
        "by-domain",
        shown,
        columns,
        ("The smallest true gap of a typical pair that a domain alone finds with a power of 80 %."),
    )


def effective(study: Study) -> Table | Text:
    """How many judges with independent errors the panel is worth."""
    if study.scores.filter(variant=study.variant)["judge"].n_unique() < 2:
        return cannot("effective-judges", "One judge alone graded this data.")
    rows = variance.effective_judges(study.scores, variant=study.variant, questions=study.questions)
    columns: dict[str, Column | str] = {
        "judges": count("Judges"),
        "estimate": interval("worth", of="number", digits=2),
        "n": count("Answers"),
    }
    caption = (
        "How many judges with independent errors the panel is worth, at least: judges that are right together "
        "count as redundant here."
    )
    return Table("effective-judges", rows, columns, caption)


def answer(study: Study, components: pl.DataFrame, detectable: pl.DataFrame) -> Text:
    """What these questions can tell apart, and whether more questions or more judges would help."""
    effects = detectable.drop_nulls("minimum_detectable_effect")
    if effects.is_empty():
        return Text(
            "answer", ("There are no two models with questions in common, so nothing can be told apart here."), {}
        )
    values: dict[str, Any] = effects.select(
        pl.col("n").max(), pl.col("minimum_detectable_effect").median().alias("effect")
    ).row(0, named=True)
    template = (
        "**{n:count} questions find a true gap of {effect:points} points** between a typical pair of models "
        "four times in five."
    )
    if not components.is_empty() and components["estimate"].null_count() == 0:
        by = dict(components.select(pl.col("component").cast(pl.String), "estimate").iter_rows())
        values |= {"judge": by.get("model x judge", 0.0) ** 0.5, "question": by.get("model x question", 0.0) ** 0.5}
        template += (
            " Answers differ from question to question by {question:points} points beyond what models and questions "
            "explain, and "
            "judges differ in their order of models by {judge:points}: the first shrinks with more questions, the "
            "second only "
            "with more judges."
        )
    return Text("answer", template, values)


def limits(study: Study) -> Text:
    """What planning from these numbers does not cover."""
    return Text(
        "limits",
        "The numbers speak of questions and judges like these. One answer and one verdict a cell: that a model would "
        "answer "
        "otherwise tomorrow, or a judge grade otherwise, is inside the rest and cannot be told apart from it. "
        "{judges:count} judges "
        "say little about judges at large.",
        {"judges": study.judges.height},
    )
