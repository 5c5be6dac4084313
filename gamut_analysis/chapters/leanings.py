"""Who is lenient, favours itself or contradicts itself: what sets one judge apart from the others."""

import polars as pl

from gamut_analysis import agreement, coherence, leniency
from gamut_analysis.chapters.common import ESTIMATE, cannot, captioned, titled
from gamut_analysis.chapters.judges import COEFFICIENTS, ONE_JUDGE, judge_names, overall, patterns, several
from gamut_analysis.charts import lines
from gamut_analysis.charts.links import linked
from gamut_analysis.display import (
    Column,
    Figure,
    Table,
    Text,
    count,
    format_points,
    interval,
    p_value,
    points,
    text,
)
from gamut_analysis.study import Study
from gamut_analysis.vocabulary import VARIANT_LABELS

_READINGS = ("percent", "alpha_ordinal", "ac1")


# --- leniency ---------------------------------------------------------------------------------------------------------


def gaps(study: Study) -> pl.DataFrame:
    """How much higher each judge scores than the others do, by model and over all, with the others' mean score."""
    rows = leniency.judge_gaps(study.scores, variant=study.variant, questions=study.questions)
    scored = study.scores.filter(variant=study.variant).drop_nulls("score")
    means = scored.group_by("model", "judge", maintain_order=True).agg(pl.col("score").mean().alias("mean"))
    others = means.join(means, on="model", suffix="_other").filter(pl.col("judge") != pl.col("judge_other"))
    quality = others.group_by("model", "judge", maintain_order=True).agg(pl.col("mean_other").mean().alias("quality"))
    named = rows.join(quality, on=["model", "judge"], how="left").join(
        study.models.select("model", "name"), on="model", how="left"
    )
    return named.join(study.judges.select("judge", pl.col("name").alias("judge_name")), on="judge")


def leniency_table(study: Study, gaps: pl.DataFrame) -> Table | Text:
    """Each judge's leniency over all models, and how it changes with the quality of the model."""
    overall = gaps.filter(pl.col("model").is_null())
    if overall.height < 2:
        return cannot("leniency", ONE_JUDGE)
    slopes = leniency.leniency_slope(study.scores, variant=study.variant, questions=study.questions)
    named = overall.join(
        slopes.select("judge", slope="estimate", slope_low="low", slope_high="high"), on="judge", how="left"
    )
    columns = {
        "judge_name": text("Judge"),
        "estimate": interval("Scores above the others", signed=True),
        "slope": interval(
            "per point of quality", low="slope_low", high="slope_high", of="number", digits=2, signed=True
        ),
        "n": count("Questions"),
    }
    return Table(
        "leniency",
        named,
        columns,
        ("Mean gap of each judge to the others on the same answers, and its slope on the quality of the model."),
    )


def leniency_scatter(study: Study, gaps: pl.DataFrame) -> Figure | Text:
    """Leniency against quality: a judge that lifts the weak compresses the leaderboard."""
    by_model = gaps.drop_nulls(["model", "estimate"])
    if by_model["judge"].n_unique() < 2:
        return cannot("leniency-by-quality", ONE_JUDGE)
    chart = lines.scatter(
        by_model,
        x="quality",
        y="estimate",
        group="judge_name",
        x_title=("Mean score by the other judges, points"),
        y_title="Gap to them, points",
    )
    widest = by_model.sort(pl.col("estimate").abs(), descending=True).row(0, named=True)
    title = (
        f"{widest['judge_name']} differs most from the others on {widest['name']}: "
        f"{format_points(widest['estimate'], signed=True)} points"
    )
    caption = captioned(
        study, ("Each mark is a model under a judge: its mean gap to the other judges on the same answers.")
    )
    return Figure(
        "leniency-by-quality",
        titled(
            study,
            linked(chart, model="name"),
            title,
            f"Gap to the other judges in points; {VARIANT_LABELS[study.variant]} questions",
        ),
        caption,
        title,
        by_model,
    )


def leniency_text(study: Study) -> Text:
    """Whether some judge is more lenient to weak or to strong models."""
    if not several(study):
        return cannot("leniency-text", ONE_JUDGE)
    slopes = leniency.leniency_slope(study.scores, variant=study.variant, questions=study.questions)
    known = slopes.drop_nulls(["estimate", "low", "high"])
    if known.is_empty():
        return cannot("leniency-text", "There are too few models and judges to tell whom a judge is lenient to.")
    steepest = known.sort(pl.col("estimate").abs(), descending=True).row(0, named=True)
    values = {"judge": judge_names(study)[steepest["judge"]], "slope": steepest}
    told = "{judge} has the steepest line, {slope:+number_interval} points of gap for each point of quality: "
    if steepest["high"] < 0:
        told += "**it lifts weak models more than strong ones**, which makes them look closer than they are."
    elif steepest["low"] > 0:
        told += "**it lifts strong models more than weak ones**, which makes them look further apart than they are."
    else:
        told += "**no judge is shown to treat weak and strong models differently**."
    return Text("leniency-text", told, values)


# --- a judge on itself ------------------------------------------------------------------------------------------------


def selves(study: Study) -> dict[str, str]:
    """The model that a judge is, by judge."""
    return dict(study.judges.drop_nulls("model").select("judge", "model").iter_rows())


def self_scores(study: Study, boards: pl.DataFrame) -> pl.DataFrame:
    """Scores and places of models that are judges, with and without what they gave themselves."""
    own = selves(study)
    judged = boards.with_columns(itself=pl.col("judge").replace_strict(own, default=None) == pl.col("model"))
    judged = judged.with_columns(itself=pl.col("itself").fill_null(False))
    means = judged.group_by("model", "name", maintain_order=True).agg(
        pl.col("estimate").filter("itself").mean().alias("by_itself"),
        pl.col("estimate").filter(~pl.col("itself")).mean().alias("by_others"),
        pl.col("estimate").mean().alias("by_all"),
    )
    places = {
        f"place_{name}": pl.col(f"by_{name}").rank("min", descending=True).cast(pl.Int64) for name in ("all", "others")
    }
    known = means.with_columns(**places, difference=pl.col("by_itself") - pl.col("by_others"))
    return known.drop_nulls("difference").sort("difference", "name", descending=[True, False])


def self_table(study: Study, boards: pl.DataFrame) -> Table | Text:
    """What a judge that is a model gives itself beside what the others give it, and its place with and without."""
    rows = self_scores(study, boards)
    if rows.is_empty():
        return cannot("self-scores", "No judge of this data is one of its models, or it is the only judge.")
    columns = {
        "name": text("Judge and model"),
        "by_itself": points("By itself"),
        "by_others": points("By the other judges"),
        "difference": points("Difference", signed=True),
        "place_all": Column("Place by all judges", "ordinal"),
        "place_others": Column("without its own", "ordinal"),
    }
    caption = (
        "Scores of models that are judges too, over the questions that every judge scored for every model. The "
        "difference holds the leniency of the judge; the table of self-preference takes it out."
    )
    return Table("self-scores", rows, columns, captioned(study, caption))


def agreement_without_self(study: Study) -> Table | Text:
    """Agreement on checks with all verdicts, and without those of a judge on itself."""
    own = selves(study)
    if not own or not several(study):
        return cannot("agreement-without-self", "No judge of this data is one of its models.")
    rest = agreement.patterns_without_self(patterns(study), own)
    without = agreement.agreement(rest, questions=study.questions, seed=study.seed)
    wide = _named_by("all", overall(study)).join(_named_by("rest", without), on="coefficient", maintain_order="left")
    columns = {
        "label": text("Coefficient"),
        "estimate_all": interval("All verdicts", low="low_all", high="high_all", of="number", digits=3),
        "estimate_rest": interval("Without those on itself", low="low_rest", high="high_rest", of="number", digits=3),
        "n_all": count("Checks"),
        "n_rest": count("without"),
    }
    named = wide.with_columns(label=pl.col("coefficient").replace(COEFFICIENTS))
    caption = "Agreement of all judges on checks, with and without what a judge gave to the model that it is."
    return Table("agreement-without-self", named, columns, captioned(study, caption))


def _named_by(reading: str, rows: pl.DataFrame) -> pl.DataFrame:
    """A few coefficients with the reading in the names of their numbers."""
    kept = rows.filter(pl.col("coefficient").is_in(list(_READINGS)))
    return kept.select("coefficient", *(pl.col(name).alias(f"{name}_{reading}") for name in (*ESTIMATE, "n")))


def preference_table(study: Study) -> Table | Text:
    """Whether judges favour the model that they are, and its family, beyond their leniency to others."""
    own = selves(study)
    if not own or not several(study):
        return cannot(
            "self-preference", ("No judge of this data is one of its models, so self-preference cannot be asked.")
        )
    kin = study.models.drop_nulls("family").select("model", "family")
    rows = leniency.self_preference(
        study.scores, variant=study.variant, selves=own, families=dict(kin.iter_rows()), questions=study.questions
    )
    names = judge_names(study)
    method = {"did": "difference in differences", "slope_adjusted": "beside its line of leniency"}
    named = rows.with_columns(
        judge_name=pl.col("judge").replace(names).fill_null("All judges together"),
        method=pl.col("method").cast(pl.String).replace(method),
    )
    columns = {
        "judge_name": text("Judge", sub="method"),
        "effect": text("favours its"),
        "estimate": interval("by", signed=True),
        "p": p_value("p"),
        "placebo_p": p_value("p, placebo"),
        "p_equivalence": p_value("p, no more than 1 point"),
    }
    caption = (
        "Self- and family preference in points. 'p, no more than 1 point' is the equivalence test: small means that "
        "the effect was "
        "shown to be negligible; that nothing was found does not show that."
    )
    return Table("self-preference", named, columns, caption)


# --- a judge against itself -------------------------------------------------------------------------------------------


def coherence_table(study: Study) -> Table | Text:
    """How often each judge's verdicts contradict what the compiled checks imply about each other."""
    checks = study.checks
    if checks["role"].null_count() == checks.height:
        return cannot("coherence", "The checks of this data have no roles, so nothing is implied between them.")
    verdicts = study.relation("verdicts", variant=study.variant)
    rows = coherence.broken_implications(verdicts, checks, by=["judge"], questions=study.questions)
    label = {
        "threshold_lower": "A met threshold, a lower one not",
        "threshold_baseline": "A met threshold, the baseline not",
        "bonuses_baseline": "Enough bonuses met, the baseline not",
        "baseline_bonuses": "The baseline met, too few bonuses",
        "full_sequence_sequence": "The order of all steps met, that of the required ones not",
    }
    named = rows.filter(pl.col("opportunities") > 0).with_columns(
        judge_name=pl.col("judge").replace(judge_names(study)),
        label=pl.col("implication").cast(pl.String).replace(label),
    )
    columns = {
        "judge_name": text("Judge"),
        "label": text("Contradiction"),
        "estimate": interval("Rate", of="percent"),
        "broken": count("Broken"),
        "opportunities": count("of"),
    }
    inferred = "Roles were inferred from wording." if rows["role_inferred"].any() else ""
    return Table(
        "coherence",
        named,
        columns,
        ("Verdicts that contradict each other: a measure of a judge that needs no human labels."),
        inferred,
    )
