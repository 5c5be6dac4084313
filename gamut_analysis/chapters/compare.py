"""Two models against each other on the questions that both have: frames, figures, tables and sentences."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from gamut_analysis import ranking, tables
from gamut_analysis.chapters.common import SAMPLING, board, cannot, captioned, titled, view_of
from gamut_analysis.chapters.model import facing
from gamut_analysis.charts import dots, grids
from gamut_analysis.charts.links import linked
from gamut_analysis.display import (
    Figure,
    Table,
    Text,
    count,
    format_percent,
    format_points,
    interval,
    p_value,
    points,
    text,
)
from gamut_analysis.errors import UnknownName
from gamut_analysis.intervals import LEVEL, holm
from gamut_analysis.study import Study
from gamut_analysis.vocabulary import TIER_LABELS, TIERS, VERDICT_LABELS

QUESTIONS = 10  # of the questions on which two models differ most, in each direction
_SHORT = VERDICT_LABELS | {"partially_meets": "Partial"}
_ANSWER = ["question_id", "check_id", "replicate"]


def two(study: Study, other: str) -> tuple[Study, str]:
    """The study of one model, and the model that it is compared with.

    Where one is not named it is the best of the board that is left, or the first where there is no ranking; `other` is
    empty where the data has one model only. Raises UnknownName for a model that is not there, or named twice.
    """
    replace(study, model=other)  # which knows the names
    if other and other == study.model:
        raise UnknownName(f"a model is compared with another one, not with itself: {other!r}")
    ranked = [] if study.model and other else board(study)["model"].to_list()
    left = [model for model in dict.fromkeys([*ranked, *study.models["model"]]) if model not in (study.model, other)]
    first = study.model or (left.pop(0) if left else other)
    second = other or next(iter(left), "")
    return replace(study, model=first), "" if second == first else second


def comparison(study: Study, other: str) -> pl.DataFrame:
    """The study's model minus another on the questions that both have: the score, each tier, each domain, paired."""
    rows = [_paired(study, other, "score", "Score").with_columns(part=pl.lit("all"))]
    rows += [_paired(study, other, tier, TIER_LABELS[tier]).with_columns(part=pl.lit("tier")) for tier in TIERS]
    domains = study.questions["domain"].drop_nulls().unique().sort().to_list()
    for domain in domains:
        ids = study.questions.filter(domain=domain)["question_id"]
        rows.append(_paired(study, other, "score", domain, ids).with_columns(part=pl.lit("domain")))
    return pl.concat(rows, how="diagonal_relaxed")


def _paired(study: Study, other: str, value: str, label: str, ids: pl.Series | None = None) -> pl.DataFrame:
    both = study.own_scores.filter(pl.col("model").is_in([study.model, other])).with_columns(score=pl.col(value))
    if ids is not None:
        both = both.filter(pl.col("question_id").is_in(ids.implode()))
    if both["model"].n_unique() < 2:
        return _nothing(label)
    row = ranking.paired_differences(
        both, judge=study.judge, variant=study.variant, questions=study.questions, seed=study.seed
    )
    return facing(row.with_columns(name_a=pl.lit(""), name_b=pl.lit("")), study.model).with_columns(
        figure=pl.lit(label)
    )


def _nothing(label: str) -> pl.DataFrame:
    """The row of a pair without a common question."""
    empty = dict.fromkeys(("estimate", "low", "high", "p"), pl.Float64) | {"verdict": pl.String}
    reason = "the two have no question in common here"
    return pl.DataFrame(
        {"figure": [label], "n": [0], "reason": [reason]}, schema_overrides={"n": pl.Int64}
    ).with_columns(pl.lit(None, kind).alias(name) for name, kind in empty.items())


def questions(study: Study, other: str) -> pl.DataFrame:
    """The questions that both have a score on, with both scores and their difference, the largest first."""
    scored = study.own_scores.drop_nulls("score")
    ours, theirs = (
        scored.filter(model=model).select("question_id", pl.col("score").alias(name))
        for model, name in ((study.model, "score_a"), (other, "score_b"))
    )
    told = study.questions.select("question_id", pl.coalesce("question", "question_id").alias("question"))
    return (
        ours.join(theirs, on="question_id")
        .join(told, on="question_id")
        .with_columns(difference=pl.col("score_a") - pl.col("score_b"))
        .sort("difference", "question_id", descending=[True, False])
    )


def crossed(study: Study, other: str) -> pl.DataFrame:
    """How often each verdict of the one met each verdict of the other on the same check: verdicts, checks, share."""
    ours, theirs = (
        _verdicts(study, model).rename({"verdict": name})
        for model, name in ((study.model, "verdict_a"), (other, "verdict_b"))
    )
    met = (
        ours.join(theirs, on=_ANSWER)
        .group_by("verdict_a", "verdict_b", maintain_order=True)
        .agg(pl.len().alias("checks"))
    )
    return met.with_columns(share=pl.col("checks") / pl.col("checks").sum()).sort("verdict_a", "verdict_b")


def _verdicts(study: Study, model: str) -> pl.DataFrame:
    where: dict[str, str | Sequence[str]] = {"judge": study.judge, "variant": study.variant, "model": model}
    return tables.read(study.path, "verdicts", where=where, columns=[*_ANSWER, "verdict"]).drop_nulls("verdict")


def headline(study: Study, other: str, comparison: pl.DataFrame) -> Text:
    """Ahead, behind or not told apart, with the difference, its interval and p."""
    if not other:
        return Text("headline", "This data has one model only, so there is nothing to compare it with.", {})
    row = comparison.row(0, named=True)
    values: dict[str, Any] = {"a": study.model_name, "b": study.names[other], "gap": row, "n": row["n"], "p": row["p"]}
    if row["estimate"] is None:
        values["reason"] = row["reason"]
        return Text("headline", "**{a}** and **{b}** cannot be compared: {reason}.", values)
    template = "The difference is **{gap:+interval} points** on the {n:count} questions that both have"
    if row["verdict"] is None:
        values["reason"] = row["reason"] or "there are too few questions for a test"
        return Text(
            "headline", "**{a}** against **{b}**: " + template[0].lower() + template[1:] + "; {reason}.", values
        )
    words = {
        "ahead": "**{a}** is ahead of **{b}**. ",
        "behind": "**{a}** is behind **{b}**. ",
        "not told apart": "**{a}** and **{b}** are not told apart. ",
    }
    return Text("headline", words[row["verdict"]] + template + " ({p:p}).", values)


def difference_dots(study: Study, other: str, comparison: pl.DataFrame) -> Figure | Text:
    """The paired difference of the score, of each tier and of each domain, around zero."""
    shown = comparison.drop_nulls("estimate")
    if shown.is_empty():
        return cannot("differences", "The two models have no question in common.")
    parts = shown.filter(pl.col("part") != "all")
    title = f"{study.model_name} is higher in {parts.filter(pl.col('estimate') > 0).height} of {parts.height} parts"
    caption = captioned(
        study,
        f"{study.model_name} minus {study.names[other]}, paired by question: the score, then tiers, then domains.",
        "Right of zero the first is higher. Hollow: not told apart at 5 % by the sign-flip test, each row by itself; "
        "the lines are t intervals, so at the edge the two may disagree.",
        SAMPLING,
    )
    alt_text = "; ".join(f"{row['figure']} {format_points(row['estimate'], signed=True)}" for row in shown.to_dicts())
    placed = shown.with_columns(domain=pl.when(pl.col("part") == "domain").then("figure"))
    chart = linked(dots.around_zero(placed, part="figure", title="Difference, points"), domain="domain")
    return Figure("differences", titled(study, chart, title, view_of(study)), caption, alt_text, shown)


def differences_text(comparison: pl.DataFrame) -> Text:
    """Whether the difference has a place: the tiers and domains on which the two are told apart."""
    parts = comparison.filter(pl.col("part") != "all").drop_nulls("verdict")
    if parts.is_empty():
        return cannot("differences-text", "There are no parts on which the two can be tested.")
    apart = parts.filter(pl.col("verdict") != "not told apart")
    widest = parts.sort(pl.col("estimate").abs(), "figure", descending=[True, False]).row(0, named=True)
    values = {
        "parts": parts.height,
        "apart": apart.height,
        "names": apart["figure"].to_list(),
        "widest": widest["figure"],
        "gap": widest,
        "chance": 0.05 * parts.height,
    }
    template = (
        "The two are told apart on **{apart:count} of {parts:count}** tiers and domains ({names:names}); about "
        "{chance:number.1} of so many would be by chance alone. "
        if apart.height
        else "On none of {parts:count} tiers and domains are the two told apart. "
    )
    return Text("differences-text", template + "The widest gap is on {widest}: {gap:+interval} points.", values)


def compare_table(study: Study, other: str, comparison: pl.DataFrame) -> Table:
    """Two models side by side: what the first has over the second, paired by question."""
    if comparison["n"].max():
        comparison = comparison.filter((pl.col("part") != "tier") | (pl.col("n") > 0))
    columns = {
        "figure": text("On"),
        "estimate": interval("Difference", signed=True),
        "n": count("Common questions"),
        "p": p_value("p"),
        "verdict": text(f"{study.model_name} is"),
    }
    minus = f"{study.model_name} minus {study.names[other]}. " if other else ""
    caption = (
        f"{minus}{view_of(study)}. p by sign-flip permutation, each row by itself: the rows below the first are for "
        "exploring."
    )
    return Table("comparison", comparison, columns, captioned(study, caption))


def comparison_text(comparison: pl.DataFrame) -> Text | None:
    """How many of the rows would still be told apart if they were corrected for one another."""
    tested = comparison.drop_nulls("verdict")
    if tested.height < 2:
        return None
    values = {"rows": tested.height, "left": int((holm(tested["p"].to_numpy()) <= 1 - LEVEL).sum())}
    template = (
        "Corrected for one another (Holm), the tests still tell the two apart on **{left:count} of these "
        "{rows:count}** rows."
        if values["left"]
        else "Corrected for one another (Holm), the tests tell the two apart on **none** of these {rows:count} rows."
    )
    return Text("comparison-text", template, values)


def questions_text(study: Study, other: str, questions: pl.DataFrame) -> Text:
    """On how many questions each of the two is higher."""
    if questions.is_empty():
        return cannot("questions-text", "There is no question that both have a score on.")
    gap = questions["difference"]
    values = {
        "a": study.model_name,
        "b": study.names[other],
        "n": questions.height,
        "up": int((gap > 0).sum()),
        "down": int((gap < 0).sum()),
        "same": int((gap == 0).sum()),
    }
    template = (
        "Of {n:count} questions {a} is higher on **{up:count}**, {b} on **{down:count}**; on {same:count} the two "
        "have the same score."
    )
    return Text("questions-text", template, values)


def questions_of(study: Study, other: str, questions: pl.DataFrame, *, ahead: bool) -> Table | Text:
    """The questions on which the first is furthest ahead of the second, or furthest behind it."""
    name, word = ("furthest-ahead", "ahead of") if ahead else ("furthest-behind", "behind")
    sided = questions.filter(pl.col("difference") > 0 if ahead else pl.col("difference") < 0)
    sided = sided.sort("difference", "question_id", descending=[ahead, False]).head(QUESTIONS)
    if sided.is_empty():
        return cannot(name, f"There is no question on which the first is {word} the second.")
    columns = {
        "question": text("Question", sub="question_id"),
        "score_a": points(study.model_name),
        "score_b": points(study.names[other]),
        "difference": points("Difference", signed=True),
    }
    caption = f"Where {study.model_name} is furthest {word} {study.names[other]}. {view_of(study)}."
    return Table(name, sided, columns, captioned(study, caption))


def without_text(questions: pl.DataFrame, *, ahead: bool) -> Text | None:
    """What would be left of the difference without the questions at one of its ends."""
    name = "furthest-ahead-text" if ahead else "furthest-behind-text"
    ranked = questions.sort("difference", "question_id", descending=[ahead, False])["difference"]
    end = min(int((ranked > 0).sum() if ahead else (ranked < 0).sum()), QUESTIONS)
    if not end or end == len(ranked):
        return None
    gap, rest = float(ranked.to_numpy().mean()), float(ranked.to_numpy()[end:].mean())
    kept = "stays on" if gap * rest > 0 else "does not stay on"
    template = (
        "Without these {end:count} questions the difference would be **{rest:+points} points** instead of "
        f"{{gap:+points}}: it {kept} its side of zero."
    )
    return Text(name, template, {"end": end, "rest": rest, "gap": gap})


def verdict_grid(study: Study, other: str, crossed: pl.DataFrame) -> Figure | Text:
    """Each verdict of the one against each verdict of the other, as shares of the checks that both have."""
    if crossed.is_empty():
        return cannot("verdicts", "There is no check that both have a verdict on.")
    labelled = crossed.with_columns(
        pl.col(name).cast(pl.String).replace_strict(_SHORT) for name in ("verdict_a", "verdict_b")
    )
    labels = list(_SHORT.values())
    chart = grids.heat(
        labelled,
        row="verdict_a",
        column="verdict_b",
        value="share",
        rows=labels,
        columns=labels,
        title="Per cent of checks",
        text=".1f",
    )
    same = _same(crossed)
    caption = captioned(
        study,
        f"Rows: the verdict on {study.model_name}; columns: on {study.names[other]}. Per cent of the "
        f"{crossed['checks'].sum():,} checks that both have a verdict on; empty: never.",
    )
    title = f"The two get the same verdict on {format_percent(same, 0)} % of the checks"
    subtitle = f"Rows: {study.model_name}; columns: {study.names[other]}; {view_of(study)}"
    return Figure("verdicts", titled(study, chart, title, subtitle), caption, title, labelled)


def _same(crossed: pl.DataFrame) -> float:
    return float(crossed.filter(pl.col("verdict_a") == pl.col("verdict_b"))["share"].sum())


def verdicts_text(study: Study, other: str, crossed: pl.DataFrame) -> Text:
    """How often one meets a check that the other does not, and what both leave out."""
    if crossed.is_empty():
        return cannot("verdicts-text", "There is no check that both have a verdict on.")
    ours, theirs = pl.col("verdict_a") == "meets", pl.col("verdict_b") == "meets"
    missed = (pl.col("verdict_a") == "missing") & (pl.col("verdict_b") == "missing")
    values = {
        "a": study.model_name,
        "b": study.names[other],
        **{
            name: float(crossed.filter(where)["share"].sum())
            for name, where in (("up", ours & ~theirs), ("down", theirs & ~ours), ("both", missed))
        },
    }
    template = (
        "On **{up:percent} %** of the checks {a} meets what {b} does not meet in full, on **{down:percent} %** it is "
        "the other way round; {both:percent} % are missing from both answers."
    )
    return Text("verdicts-text", template, values)


def limits(study: Study, other: str) -> Text:
    """What a comparison of two models does not show."""
    told = [
        "One pair is tested here by itself; whoever picks it from many because it looks large should read the "
        "corrected p of the leaderboard instead.",
        "Rows by tier and domain are for exploring: with so many of them some are told apart by chance.",
        "The questions at both ends are picked because they are extreme, and asked again they would differ less.",
        "That two answers get the same verdict does not mean that they say the same.",
    ]
    if study.judge in (study.model, other):
        told.append("The judge is one of the two models and may favour its own answers.")
    if study.dataset["simulated"]:
        told.append("The data is simulated: nothing here is a finding about any model.")
    return Text("limits", " ".join(told), {})
