"""Who is ahead, and how sure is the order: frames, figures, tables and sentences of the leaderboard."""

from typing import Any

import polars as pl

from gamut_analysis.chapters.common import (
    UNSCORED,
    board,
    cannot,
    captioned,
    domain_scores,
    field,
    pairs,
    published_note,
    rank_odds,
    shares,
    tier_scores,
    titled,
    view_of,
)
from gamut_analysis.chapters.model import comparable
from gamut_analysis.charts import grids
from gamut_analysis.charts.links import linked
from gamut_analysis.display import (
    Column,
    Figure,
    Table,
    Text,
    count,
    format_names,
    format_percent,
    interval,
    p_value,
    percent,
    points,
    ranks,
    text,
)
from gamut_analysis.study import Study
from gamut_analysis.vocabulary import TIER_LABELS, VERDICT_LABELS

__all__ = ["board", "field", "pairs"]

_PAIR = ("model_a", "model_b")
_SURE = 0.95


def leader(study: Study, board: pl.DataFrame, pairs: pl.DataFrame) -> Text:
    """Who leads, who cannot be told apart from the leader, and how many gaps of the table are noise."""
    ranked = board.drop_nulls("rank")
    if ranked.is_empty():
        return Text(
            "leader",
            "None of the {models:count} models is scored on every question, so there is no ranking; their means stand "
            "on different questions and do not compare.",
            {"models": board.height},
        )
    first = ranked.row(0, named=True)
    rivals = ranked.filter((pl.col("rank_low") == 1) & (pl.col("model") != first["model"]))["name"].to_list()
    tested = pairs.drop_nulls("verdict")
    values: dict[str, Any] = {
        "name": first["name"],
        "score": first,
        "rivals": format_names(rivals),
        "models": ranked.height,
        "apart": tested.filter(pl.col("verdict") != "not told apart").height,
        "pairs": tested.height,
        "partial": board.height - ranked.height,
    }
    alone = "alone on the first place" if not rivals else "and may share the first place with {rivals}"
    template = (
        "**{name}** leads {models:count} models with **{score:interval} points**, "
        + alone
        + ". Of {pairs:count} pairs of models "
        "{apart:count} are told apart by these questions; the other gaps in the table may be noise."
    )
    if values["partial"]:
        template += " {partial:count} models are not scored on every question and stand apart, without a rank."
    return Text("leader", template, values)


def scores_text(board: pl.DataFrame, pairs: pl.DataFrame) -> Text:
    """How many models are told apart from the next one on the list."""
    order = board.drop_nulls("rank")["model"].to_list()
    beside = pl.DataFrame({"model_a": order[:-1], "model_b": order[1:]}, schema=dict.fromkeys(_PAIR, pl.String))
    tested = beside.join(pairs, on=list(_PAIR)).drop_nulls("verdict")
    if tested.is_empty():
        return cannot("field-text", "There are no two complete models side by side.")
    values = {"n": tested.height, "apart": tested.filter(pl.col("verdict") != "not told apart").height}
    template = (
        "More than noise: **{apart:count} of the {n:count}** steps down this list; the others may turn round."
        if values["apart"]
        else "**None** of the {n:count} steps down this list is more than noise: only models further apart differ."
    )
    return Text("field-text", template, values)


def published_scores_note(study: Study, board: pl.DataFrame) -> Text:
    """How many of the paper's scores lie in our intervals, or why there are none."""
    rows = board.drop_nulls("published")
    beside = rows.with_columns(
        inside=pl.when(pl.col("published").is_between("low", "high"))
        .then(pl.lit("inside"))
        .otherwise(pl.lit("outside"))
    )
    return published_note(study, beside)


def question_spread(study: Study) -> pl.DataFrame:
    """Percentiles of every model's question scores, and the percent of questions below zero."""
    level = {f"q{int(p * 100):02d}": p for p in (0.05, 0.25, 0.5, 0.75, 0.95)}
    scored = study.own_scores.drop_nulls("score").join(study.models.select("model", "name"), on="model")
    return scored.group_by("model", "name", maintain_order=True).agg(
        *(pl.col("score").quantile(p, "linear").alias(name) for name, p in level.items()),
        (pl.col("score") < 0).mean().alias("negative"),
        pl.len().alias("n"),
    )


def leaderboard_table(study: Study, board: pl.DataFrame) -> Table:
    """The leaderboard: score with interval and place, tier scores, and how much of the questions stands behind them."""
    tiers = tier_scores(study).pivot("tier", index="model", values="estimate")
    wide = board.join(tiers, on="model", how="left", maintain_order="left")
    wide = wide.with_columns(scored=pl.format("{} of {}", "n", pl.coalesce("questions_asked", "asked")))
    columns: dict[str, Column | str] = {
        "name": text("Model", sub="maker") if wide["maker"].null_count() < wide.height else text("Model"),
        "rank_low": ranks("Place", high="rank_high"),
        "estimate": interval("Score"),
        **{tier: points(label) for tier, label in TIER_LABELS.items() if tier in wide.columns},
        "scored": text("Scored", align="right"),
    }
    caption = (
        f"Leaderboard. {view_of(study)}. Score: mean over questions; tiers: mean over the questions that have the tier."
    )
    return Table("leaderboard", wide, columns, captioned(study, caption))


def verdict_table(study: Study, board: pl.DataFrame) -> Table:
    """How each model's checks are graded: shares pooled over checks, and averaged over questions."""
    rows = shares(study)
    pooled, averaged = (rows.pivot("verdict", index="model", values=value) for value in ("share", "macro"))
    averaged = averaged.select("model", macro_missing="missing", macro_contradicts="contradicts")
    wide = board.select("model", "name").join(pooled, on="model", how="left", maintain_order="left")
    wide = wide.join(averaged, on="model", how="left", maintain_order="left")
    columns: dict[str, Column | str] = {
        "name": text("Model"),
        **{verdict: percent(label) for verdict, label in VERDICT_LABELS.items()},
        "macro_missing": percent("Missing, by question"),
        "macro_contradicts": percent("Contradicts, by question"),
    }
    caption = (
        "Verdicts: share of all graded checks, pooled; in the last two columns the mean of the shares within questions."
    )
    return Table("verdicts", wide, columns, captioned(study, caption))


def orders_text(study: Study, board: pl.DataFrame) -> Text | None:
    """Whether met checks alone, or the essentials alone, would put the models in another order than the score does."""
    ranked = board.drop_nulls("rank").select("model", "estimate")
    if ranked.height < 2:
        return None
    met = shares(study).filter(pl.col("verdict") == "meets").select("model", met="share")
    tiers = tier_scores(study).drop_nulls("estimate")
    critical = tiers.filter(tier="answer_critical").select("model", critical="estimate")
    both = ranked.join(met, on="model", how="left").join(critical, on="model", how="left")
    places = both.select(pl.exclude("model").rank("min", descending=True))
    moved = {key: places.filter(pl.col(key) != pl.col("estimate")).height for key in ("met", "critical")}
    values = {**moved, "models": ranked.height, "tier": TIER_LABELS["answer_critical"]}
    template = f"Ordered by the share of checks that they meet, {_moved('met', moved)}"
    if tiers["tier"].n_unique() > 1 and not both["critical"].null_count():
        template += f"; ordered by {{tier}} checks alone, {_moved('critical', moved)}"
    return Text("verdicts-text", template + ".", values)


def _moved(key: str, moved: dict[str, int]) -> str:
    """How many models would stand elsewhere, in words."""
    if not moved[key]:
        return "every model would keep its place"
    return f"{{{key}:count}} of {{models:count}} models would stand on another place"


def rank_table(study: Study, board: pl.DataFrame) -> Table:
    """Score, place, rank sets and tied groups: the leaderboard as a paper would print it."""
    columns = {
        "name": text("Model"),
        "rank": count("Rank"),
        "estimate": interval("Score"),
        "rank_low": ranks("Rank set", high="rank_high"),
        "rank_low_marginal": ranks("of this model alone", high="rank_high_marginal"),
        "group": text("Not told apart"),
        "n": count("Questions"),
    }
    caption = (
        f"{view_of(study)}. Rank sets: simultaneous and marginal, at 95 %. Models that share a letter are not "
        f"told apart."
    )
    return Table("ranking", board, columns, captioned(study, caption))


def rank_grid(study: Study, board: pl.DataFrame) -> Figure | Text:
    """How often each model takes each rank when the questions are drawn again."""
    odds = rank_odds(study).filter(pl.col("probability") >= 0.005)
    if odds.is_empty():
        return cannot("rank-odds", "No model has a complete grid, so there are no ranks.")
    rows = board.drop_nulls("rank")["name"].to_list()
    cells = odds.with_columns(pl.col("rank").cast(pl.String))
    chart = grids.heat(
        cells,
        row="name",
        column="rank",
        value="probability",
        rows=rows,
        columns=[str(r) for r in range(1, len(rows) + 1)],
        title="Per cent",
    )
    sure = odds.filter(pl.col("probability") > 0.95).height
    title = f"{sure} of {len(rows)} places are all but certain; the others depend on which questions are asked"
    return Figure(
        "rank-odds",
        titled(study, linked(chart, model="name"), title, view_of(study)),
        captioned(
            study,
            "Per cent of 10,000 resamples of the questions in which a model takes a rank; below 0.5 not shown. It "
            "describes sampling, and is not a confidence level.",
        ),
        "Probability of each rank for each model.",
        odds,
    )


def rank_text(study: Study) -> Text:
    """Whose place is the surest, and whose the least sure."""
    odds = rank_odds(study)
    best = odds.group_by("name", maintain_order=True).agg(
        pl.col("probability").max(), pl.col("rank").sort_by("probability").last()
    )
    if best.is_empty():
        return cannot("rank-odds-text", "No model has a complete grid, so there are no ranks.")
    ranked = best.sort("probability", descending=True)
    surest, least = ranked.row(0, named=True), ranked.row(-1, named=True)
    values = {"surest": surest["name"], "place": surest["rank"], "odds": surest["probability"]} | {
        "least": least["name"],
        "least_place": least["rank"],
        "least_odds": least["probability"],
    }
    template = "{surest} has the surest place: {place:ordinal} in **{odds:percent.0} %** of the resamples. "
    template += (
        "{least} has the least sure one: even its likeliest, {least_place:ordinal}, comes up in only "
        "{least_odds:percent.0} %."
        if least["probability"] < _SURE
        else "Even the least sure, {least} on the {least_place:ordinal} place, has it in {least_odds:percent.0} %."
    )
    return Text("rank-odds-text", template, values)


def pair_grid(study: Study, board: pl.DataFrame, pairs: pl.DataFrame) -> Figure | Text:
    """Who beats whom: the paired difference of every two models, shown only where it is more than noise."""
    tested = pairs.drop_nulls("verdict")
    if tested.is_empty():
        return cannot("pairs", "There are no two models with questions in common to test.")
    apart = tested.filter(pl.col("verdict") != "not told apart")
    if apart.is_empty():
        return cannot("pairs", f"None of the {tested.height} pairs of models is told apart by these questions.")
    names = board.drop_nulls("estimate")["name"].to_list()
    chart = grids.heat(
        apart, row="name_a", column="name_b", value="estimate", rows=names, columns=names, title="Points"
    )
    title = f"{apart.height} of {tested.height} pairs of models are told apart"
    return Figure(
        "pairs",
        titled(study, linked(chart, model=("name_a", "name_b")), title, view_of(study)),
        captioned(
            study,
            "Row minus column in points, paired by question; empty: not told apart at 5 % after correction for all "
            "pairs (step-down max-T over 10,000 sign flips).",
        ),
        f"{apart.height} of {tested.height} pairs are told apart.",
        tested,
    )


def pairs_text(pairs: pl.DataFrame) -> Text:
    """The smallest gap that is more than noise, and the widest that may be noise."""
    tested = pairs.drop_nulls("verdict").with_columns(size=pl.col("estimate").abs()).sort("size")
    apart = tested.filter(pl.col("verdict") != "not told apart")
    near = tested.filter(pl.col("verdict") == "not told apart")
    if tested.is_empty():
        return cannot("pairs-text", "There are no two models with questions in common to test.")
    values: dict[str, Any] = {}
    told = []
    if apart.height:
        first = apart.row(0, named=True)
        values |= {"a": first["name_a"], "b": first["name_b"], "least": first["size"]}
        told.append("The smallest gap that is told apart is **{least:points} points** ({a} and {b}).")
    if near.height:
        last = near.row(-1, named=True)
        values |= {"c": last["name_a"], "d": last["name_b"], "widest": last["size"]}
        told.append("The widest that is not is **{widest:points} points** ({c} and {d}).")
    told.append(
        "Every pair is told apart." if not near.height else "No pair is told apart." if not apart.height else ""
    )
    return Text("pairs-text", " ".join(told).strip(), values)


def close_pairs(study: Study, pairs: pl.DataFrame) -> Table | Text:
    """The pairs that are not told apart, the widest gap first: gaps on the leaderboard that are noise."""
    pairs = comparable(pairs)
    near = pairs.filter(verdict="not told apart").sort("estimate", descending=True)
    if near.is_empty():
        none = pairs.drop_nulls("verdict").is_empty()
        return cannot("close-pairs", "No two models can be tested." if none else "Every pair of models is told apart.")
    columns = {
        "name_a": text("Model"),
        "name_b": text("ahead of"),
        "estimate": interval("Difference", signed=True),
        "n": count("Questions"),
        "p_adjusted": p_value("p, corrected"),
    }
    caption = (
        "Pairs that this many questions do not tell apart, the widest gap first. The interval is that of the pair "
        "alone; p is corrected for all pairs, so an interval may leave zero out."
    )
    return Table("close-pairs", near, columns, captioned(study, caption))


def close_pairs_text(pairs: pl.DataFrame) -> Text | None:
    """How many of the pairs that are not told apart would be, if nobody had looked at the others."""
    near = comparable(pairs).filter(verdict="not told apart").drop_nulls(["low", "high"])
    if near.is_empty():
        return None
    values = {"n": near.height, "alone": near.filter((pl.col("low") > 0) | (pl.col("high") < 0)).height}
    template = (
        "The intervals, which are for one pair alone, leave out zero in **{alone:count} of these {n:count}** pairs: "
        "whoever had asked about one of them only would call it told apart."
        if values["alone"]
        else "None of these {n:count} pairs would be told apart even if it had been asked about alone."
    )
    return Text("close-pairs-text", template, values)


def tier_profile(study: Study, board: pl.DataFrame) -> Figure | Text:
    """Tier scores of every model."""
    profile = tier_scores(study).drop_nulls("estimate")
    order = board.drop_nulls("estimate")["name"].to_list()
    if profile.is_empty():
        return cannot("tiers", UNSCORED)
    falling = _falling(profile)
    title = f"{format_percent(falling, 0)} % of the models do better on Answer-Critical checks than on Context"
    alt_text = "Tier scores of every model, from Answer-Critical to Context."
    chart = titled(study, linked(grids.tiers(profile, order=order), model="name"), title, view_of(study))
    return Figure(
        "tiers",
        chart,
        captioned(study, "Each mark is the mean over the questions that have the tier."),
        alt_text,
        profile,
    )


def tiers_text(study: Study) -> Text:
    """Whether models know the essentials better than the background, and who departs from it most."""
    known = tier_scores(study).with_columns(pl.col("tier").cast(pl.String)).drop_nulls("estimate")
    wide = known.pivot("tier", index="name", values="estimate")
    if not {"answer_critical", "context"} <= set(wide.columns):
        return cannot("tiers-text", "The rubrics of this data have no tiers.")
    gaps = wide.select("name", gap=pl.col("answer_critical") - pl.col("context")).drop_nulls().sort("gap")
    if gaps.is_empty():
        return cannot("tiers-text", "No model has scores in both tiers.")
    values = {
        "mean": float(gaps["gap"].to_numpy().mean()),
        "most": gaps["name"][-1],
        "gap": gaps["gap"][-1],
        "least": gaps["name"][0],
        "small": gaps["gap"][0],
    }
    template = (
        "On average the essentials score **{mean:points} points** above the background"
        if values["mean"] > 0
        else "On average the essentials score **no higher** than the background ({mean:+points} points)"
    )
    return Text(
        "tiers-text", template + "; most with {most} ({gap:+points}), least with {least} ({small:+points}).", values
    )


def _falling(profile: pl.DataFrame) -> float:
    wide = profile.with_columns(pl.col("tier").cast(pl.String)).pivot("tier", index="model", values="estimate")
    if not {"answer_critical", "context"} <= set(wide.columns):
        return 0.0
    return float(wide.select((pl.col("answer_critical") > pl.col("context")).mean()).item() or 0.0)


def domain_grid(study: Study, board: pl.DataFrame) -> Figure | Text:
    """Mean score of every model on every domain."""
    cells = domain_scores(study)
    if cells.is_empty():
        return cannot("domains", "The questions of this data have no domain.")
    rows = board.drop_nulls("estimate")["name"].to_list()
    means = cells.group_by("domain", maintain_order=True).agg(pl.col("score").mean()).sort("score", descending=True)
    columns = means["domain"].to_list()
    chart = grids.heat(cells, row="name", column="domain", value="score", rows=rows, columns=columns, title="Points")
    title = f"{columns[0]} is the easiest domain on average, {columns[-1]} the hardest"
    return Figure(
        "domains",
        titled(study, linked(chart, model="name", domain="domain"), title, view_of(study)),
        captioned(study, "Mean score in points; domains from the easiest on, models in the order of the leaderboard."),
        "Mean score of each model on each domain.",
        cells,
    )


def domains_text(study: Study) -> Text | None:
    """Whether one model is first in every domain."""
    cells = domain_scores(study)
    if cells.is_empty():
        return None
    firsts = cells.sort("score", descending=True).group_by("domain", maintain_order=True).first()
    tally = firsts.group_by("name", maintain_order=True).len().sort("len", "name", descending=[True, False])
    means = cells.group_by("domain").agg(pl.col("score").mean())["score"].to_numpy()
    values = {
        "domains": firsts.height,
        "first": tally["name"][0],
        "most": tally["len"][0],
        "leaders": tally.height,
        "apart": float(means.max() - means.min()),
    }
    template = (
        "**{first}** has the highest mean in all {domains:count} domains"
        if tally.height == 1
        else "**{leaders:count} models** are first somewhere, {first} in {most:count} of {domains:count} domains"
    )
    return Text(
        "domains-text", template + "; the hardest domain scores {apart:points} points below the easiest.", values
    )


def spread_text(study: Study) -> Text:
    """How much answers differ within a model, beside how much models differ."""
    quantiles = question_spread(study)
    if quantiles.is_empty():
        return cannot("spread-text", "No answer of this data has a score.")
    middle = float((quantiles["q75"] - quantiles["q25"]).to_numpy().mean())
    medians = quantiles["q50"].to_numpy()
    values: dict[str, Any] = {
        "half": middle,
        "apart": float(medians.max() - medians.min()),
        "negative": quantiles["negative"].median(),
    }
    template = "The middle half of a model's answers spans **{half:points} points** on average, "
    template += (
        "more than the {apart:points} points between the best and the worst median: which question is asked matters "
        "more than who answers."
        if values["half"] > values["apart"]
        else "less than the {apart:points} points between the best and the worst median: who answers matters more."
    )
    return Text("spread-text", template + " The median model is below zero on {negative:percent} % of them.", values)


def spread(study: Study, board: pl.DataFrame) -> Figure | Text:
    """How question scores spread around their mean, and how many are below zero."""
    quantiles = question_spread(study)
    if quantiles.is_empty():
        return cannot("spread", UNSCORED)
    order = board.drop_nulls("estimate")["name"].to_list()
    worst = quantiles.sort("negative", descending=True).row(0, named=True)
    title = f"Up to {format_percent(worst['negative'], 0)} % of the questions score below zero ({worst['name']})"
    chart = titled(study, linked(grids.spread(quantiles, order=order), model="name"), title, view_of(study))
    caption = captioned(
        study,
        "Dot: median question; thick line: middle half; thin line: 5th to 95th percentile; number: per cent of "
        "questions below zero.",
    )
    return Figure("spread", chart, caption, "Spread of question scores for each model.", quantiles)


def published_scores(board: pl.DataFrame) -> Table | None:
    """Every model's score beside the paper's."""
    rows = board.drop_nulls("published")
    if rows.is_empty():
        return None
    rows = rows.with_columns(
        difference=pl.col("estimate") - pl.col("published"),
        inside=pl.when(pl.col("published").is_between("low", "high"))
        .then(pl.lit("inside"))
        .otherwise(pl.lit("outside")),
    )
    columns = {
        "name": text("Model"),
        "estimate": interval("Ours"),
        "published": points("Published"),
        "difference": points("Difference", signed=True),
        "inside": text("Published lies"),
    }
    return Table("published-scores", rows, columns, "Scores beside the paper's printed ones.")
