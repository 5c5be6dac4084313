"""The figures and tables of the notebooks: a frame of the story, drawn or tabulated, with title, caption and alt text.

Titles say a finding in words made from the data; captions say what is drawn, what the interval is and what n is.
"""

import polars as pl

from gamut_analysis import story
from gamut_analysis.charts import dots, grids, parts
from gamut_analysis.display import (
    Column,
    Figure,
    Table,
    Text,
    count,
    format_percent,
    format_points,
    interval,
    p_value,
    percent,
    points,
    ranks,
    text,
)
from gamut_analysis.opened import Opened
from gamut_analysis.study import Study
from gamut_analysis.vocabulary import TIER_LABELS, VARIANT_LABELS

_SAMPLING = "Lines are 95 % intervals over questions, clustered where questions share an image."
_SIMULATED = "SIMULATED data. "


def _caption(study: Study, *sentences: str) -> str:
    """The sentences of a caption; simulated data is called so on every figure."""
    return (_SIMULATED if study.dataset["simulated"] else "") + " ".join(sentences)


def _titled(study: Study, chart, title: str, subtitle: str):
    """A chart under its finding and what is drawn."""
    shown = f"SIMULATED · {subtitle}" if study.dataset["simulated"] else subtitle
    return chart.properties(title={"text": title, "subtitle": shown})


def _view(study: Study) -> str:
    return f"{VARIANT_LABELS[study.variant]} questions, judge {study.judge_name}"


# --- the field --------------------------------------------------------------------------------------------------------


def field(study: Study, board: pl.DataFrame) -> Figure:
    """Every model's score with its interval, tied groups as letters, published scores beside ours."""
    scored = board.drop_nulls("estimate")
    focus = study.model_name if study.model else None
    has_published = scored["published"].null_count() < scored.height
    chart = dots.field(scored, focus=focus, reference="published" if has_published else None)
    first = scored.sort("estimate", descending=True).row(0, named=True)
    title = f"{first['name']} scores highest, with {format_points(first['estimate'])} points"
    told = ["Models that share a letter are not told apart.", _SAMPLING]
    told += ["Open diamonds: the paper's printed scores."] if has_published else []
    alt_text = "Scores from the highest: " + "; ".join(
        f"{row['name']} {format_points(row['estimate'])}" for row in scored.sort("estimate", descending=True).to_dicts()
    )
    columns = ["model", "name", "estimate", "low", "high", "n", "group", "published"]
    return Figure("field", _titled(study, chart, title, _view(study)), _caption(study, *told), alt_text, scored.select(columns))


def leaderboard_table(study: Study, board: pl.DataFrame) -> Table:
    """The leaderboard in the paper's columns: score with interval and place, tiers, verdict shares, coverage."""
    tiers = story.tier_scores(study).pivot("tier", index="model", values="estimate")
    shares = story.shares(study).pivot("verdict", index="model", values="share")
    wide = board.join(tiers, on="model", how="left").join(shares, on="model", how="left")
    wide = wide.with_columns(scored=pl.format("{} of {}", "n", pl.coalesce("questions_asked", "asked")))
    columns: dict[str, Column | str] = {
        "name": text("Model", sub="maker") if wide["maker"].null_count() < wide.height else text("Model"),
        "rank_low": ranks("Place", high="rank_high"),
        "estimate": interval("Score"),
        **{tier: points(label) for tier, label in TIER_LABELS.items() if tier in wide.columns},
        "meets": percent("Meets"),
        "partially_meets": percent("Partially"),
        "missing": percent("Missing"),
        "contradicts": percent("Contradicts"),
        "scored": text("Scored", align="right"),
    }
    caption = f"Leaderboard. {_view(study)}. Score: mean over questions; tiers: mean over questions that have the tier; verdicts: share of all checks, pooled."
    return Table("leaderboard", wide, columns, caption)


def tier_profile(study: Study, board: pl.DataFrame) -> Figure:
    """Tier scores of every model."""
    profile = story.tier_scores(study).drop_nulls("estimate")
    order = board.drop_nulls("estimate")["name"].to_list()
    falling = _falling(profile)
    title = f"{format_percent(falling, 0)} % of the models do better on Answer-Critical checks than on Context"
    alt_text = "Tier scores of every model, from Answer-Critical to Context."
    chart = _titled(study, grids.tiers(profile, order=order), title, _view(study))
    return Figure("tiers", chart, _caption(study, "Each mark is the mean over the questions that have the tier."), alt_text, profile)


def _falling(profile: pl.DataFrame) -> float:
    wide = profile.with_columns(pl.col("tier").cast(pl.String)).pivot("tier", index="model", values="estimate")
    if not {"answer_critical", "context"} <= set(wide.columns):
        return 0.0
    return float((wide["answer_critical"] > wide["context"]).mean() or 0.0)


def verdict_shares(study: Study, board: pl.DataFrame) -> Figure:
    """How every model's checks are graded, as parts of a whole."""
    shares = story.shares(study).drop_nulls("share")
    order = board["name"].to_list()
    missing = shares.filter(pl.col("verdict") == "missing")["share"]
    contradicts = shares.filter(pl.col("verdict") == "contradicts")["share"]
    title = (
        f"Omission outweighs contradiction in {int((missing.to_numpy() > contradicts.to_numpy()).sum())} of "
        f"{len(missing)} models, counted by checks"
    )
    chart = _titled(study, parts.verdict_shares(shares, order=order, focus=study.model_name if study.model else None), title, _view(study))
    alt_text = "Shares of the four verdicts for each model, in the order of the leaderboard."
    return Figure("verdict-shares", chart, _caption(study, "Shares of all graded checks, pooled over questions."), alt_text, shares)


def spread(study: Study, board: pl.DataFrame) -> Figure:
    """How question scores spread around their mean, and how many are below zero."""
    quantiles = story.question_spread(study)
    order = board.drop_nulls("estimate")["name"].to_list()
    worst = quantiles.sort("negative", descending=True).row(0, named=True)
    title = f"Up to {format_percent(worst['negative'], 0)} % of the questions score below zero ({worst['name']})"
    chart = _titled(study, grids.spread(quantiles, order=order), title, _view(study))
    caption = _caption(
        study, "Dot: median question; thick line: middle half; thin line: 5th to 95th percentile; number: per cent of questions below zero."
    )
    return Figure("spread", chart, caption, "Spread of question scores for each model.", quantiles)


def domain_grid(study: Study, board: pl.DataFrame) -> Figure | Text:
    """Mean score of every model on every domain."""
    cells = story.domain_scores(study)
    if cells.is_empty():
        return _cannot("domains", "The questions of this data have no domain.")
    rows = board.drop_nulls("estimate")["name"].to_list()
    means = cells.group_by("domain").agg(pl.col("score").mean()).sort("score", descending=True)
    columns = means["domain"].to_list()
    chart = grids.heat(cells, row="name", column="domain", value="score", rows=rows, columns=columns, title="Points")
    title = f"{columns[0]} is the easiest domain on average, {columns[-1]} the hardest"
    return Figure(
        "domains",
        _titled(study, chart, title, _view(study)),
        _caption(study, "Mean score in points; domains from the easiest on, models in the order of the leaderboard."),
        "Mean score of each model on each domain.",
        cells,
    )


def rank_grid(study: Study, board: pl.DataFrame) -> Figure | Text:
    """How often each model takes each rank when the questions are drawn again."""
    odds = story.rank_odds(study).filter(pl.col("probability") >= 0.005)
    if odds.is_empty():
        return _cannot("rank-odds", "No model has a complete grid, so there are no ranks.")
    rows = board.drop_nulls("rank")["name"].to_list()
    cells = odds.with_columns(pl.col("rank").cast(pl.String))
    chart = grids.heat(cells, row="name", column="rank", value="probability", rows=rows, columns=[str(r) for r in range(1, len(rows) + 1)], title="Per cent")
    sure = odds.filter(pl.col("probability") > 0.95).height
    title = f"{sure} of {len(rows)} places are all but certain; the others depend on which questions are asked"
    return Figure(
        "rank-odds",
        _titled(study, chart, title, _view(study)),
        _caption(study, "Per cent of 10,000 resamples of the questions in which a model takes a rank; below 0.5 not shown. It describes sampling, and is not a confidence level."),
        "Probability of each rank for each model.",
        odds,
    )


def pair_grid(study: Study, board: pl.DataFrame, pairs: pl.DataFrame) -> Figure | Text:
    """Who beats whom: the paired difference of every two models, shown only where it is more than noise."""
    tested = pairs.drop_nulls("verdict")
    if tested.is_empty():
        return _cannot("pairs", "There are no two models with questions in common to test.")
    apart = tested.filter(pl.col("verdict") != "not told apart")
    names = board.drop_nulls("estimate")["name"].to_list()
    chart = grids.heat(apart, row="name_a", column="name_b", value="estimate", rows=names, columns=names, title="Points")
    title = f"{apart.height} of {tested.height} pairs of models are told apart"
    return Figure(
        "pairs",
        _titled(study, chart, title, _view(study)),
        _caption(study, "Row minus column in points, paired by question; empty: not told apart at 5 % after correction for all pairs (step-down max-T over 10,000 sign flips)."),
        f"{apart.height} of {tested.height} pairs are told apart.",
        tested,
    )


def close_pairs(study: Study, pairs: pl.DataFrame) -> Table:
    """The pairs that are not told apart, the widest gap first: gaps on the leaderboard that are noise."""
    near = pairs.filter(verdict="not told apart").sort("estimate", descending=True)
    columns = {
        "name_a": text("Model"),
        "name_b": text("ahead of"),
        "estimate": interval("Difference", signed=True),
        "n": count("Questions"),
        "p_adjusted": p_value("p, corrected"),
    }
    return Table("close-pairs", near, columns, "Pairs that this many questions do not tell apart, the widest gap first.")


# --- one model --------------------------------------------------------------------------------------------------------


def strips(study: Study, board: pl.DataFrame) -> Figure:
    """The model's numbers, each on a strip of its own among the field."""
    measures = story.measures(study, board).drop_nulls("value")
    own = measures.filter("is_focus")
    alt_text = "; ".join(f"{row['measure']} {format_points(row['value'])}" for row in own.to_dicts())
    caption = _caption(study, "Grey dots: the other models. Line: 95 % interval. Scores in points, omission and contradiction in per cent of checks.")
    title = f"{study.model_name} among {board.height} models"
    return Figure("strips", _titled(study, dots.strips(measures), title, _view(study)), caption, alt_text, measures)


def waterfall(study: Study, losses: pl.DataFrame) -> Figure:
    """From 100 points down to the score."""
    score = 1 - float(losses["estimate"].sum())
    largest = losses.sort("estimate", descending=True).row(0, named=True)
    title = f"From 100 points to {format_points(score)}: the largest part is {format_points(largest['estimate'])} points"
    chart = _titled(study, parts.waterfall(losses, score=score), title, _view(study))
    caption = _caption(
        study,
        f"Points lost by tier and verdict; they add up to {format_points(1 - score)}, which is 100 less the score. "
        f"n = {losses['n'][0]} questions.",
    )
    return Figure("where-points-go", chart, caption, caption, losses)


def role_table(study: Study, losses: pl.DataFrame) -> Table | Text:
    """The loss by the rule that made the check."""
    if losses.is_empty():
        return _cannot("loss-by-role", "The checks of this data have no roles, so the loss cannot be split by them.")
    wide = losses.pivot("verdict", index="label", values="estimate").with_columns(total=pl.sum_horizontal("partially_meets", "missing", "contradicts"))
    wide = wide.sort("total", descending=True).with_columns(share=pl.col("total") / pl.col("total").sum())
    columns = {
        "label": text("Role of the check"),
        "partially_meets": points("Partial"),
        "missing": points("Missing"),
        "contradicts": points("Contradicts"),
        "total": points("Lost"),
        "share": percent("Share of the loss"),
    }
    return Table("loss-by-role", wide, columns, "Points lost by the role of the check; the column Lost adds up to 100 less the score.")


def neighbours_table(study: Study, neighbours: pl.DataFrame) -> Table:
    """The neighbours in the ranking and whether the difference is more than noise."""
    columns = {
        "name": text("Neighbour"),
        "estimate": interval(f"{study.model_name} minus it", signed=True),
        "n": count("Common questions"),
        "p_adjusted": p_value("p, corrected"),
        "verdict": text("It is", reason="reason"),
    }
    caption = (
        "Paired differences on the questions that both have, from the best neighbour down; p by sign-flip permutation, corrected "
        "for all pairs of models. 'behind' means that this model is behind the neighbour."
    )
    return Table("neighbours", neighbours, columns, caption)


def domain_dots(study: Study, domains: pl.DataFrame) -> Figure | Text:
    """The model by domain against the median of the field."""
    if domains.is_empty():
        return _cannot("by-domain", "The questions of this data have no domain.")
    chart = dots.against_field(domains, part="domain", title="Score, points")
    above = domains.filter(pl.col("difference") > 0).height
    title = f"Above the median of the field in {above} of {domains.height} domains"
    return _against(study, "by-domain", chart, title, domains, "questions")


def role_dots(study: Study, roles: pl.DataFrame) -> Figure | Text:
    """The share of checks met by role against the median of the field."""
    if roles.is_empty():
        return _cannot("by-role", "The checks of this data have no roles.")
    chart = dots.against_field(roles, part="role", title="Checks met, %")
    above = roles.filter(pl.col("difference") > 0).height
    title = f"Meets more than the median of the field in {above} of {roles.height} roles"
    return _against(study, "by-role", chart, title, roles, "questions")


def _against(study: Study, name: str, chart, title: str, frame: pl.DataFrame, unit: str) -> Figure:
    caption = _caption(
        study,
        f"Dot: this model with its 95 % interval; grey tick: median of the other models; hollow: fewer than {story.SMALL} {unit}.",
    )
    return Figure(name, _titled(study, chart, title, _view(study)), caption, title, frame)


def gain_table(study: Study, gains: pl.DataFrame) -> Table | Text:
    """Text-only minus multimodal for this model, and its parts."""
    if gains.is_empty():
        return _cannot("gain-parts", "This data has one variant only.")
    label = {
        "naive": "Plain difference of the two scores",
        "question_set": "of it: questions that only one variant has",
        "dropped_checks": "of it: checks that name the subject left out",
        "matched": "of it: the same questions and checks (matched gain)",
    }
    own = gains.filter(model=study.model).with_columns(label=pl.col("part").cast(pl.String).replace_strict(label))
    columns = {"label": text("Part"), "estimate": interval("Gain", signed=True), "n": count("Questions")}
    return Table("gain-parts", own, columns, "Text-only minus multimodal; the parts add up exactly.")


def judge_dots(study: Study, by_judge: pl.DataFrame) -> Figure | Text:
    """The model's score by judge."""
    if by_judge.height < 2:
        return _cannot("by-judge", "One judge alone has graded this model in full.")
    chart = dots.judges(by_judge)
    gap = by_judge["estimate"].max() - by_judge["estimate"].min()
    title = f"The judges lie {format_points(gap)} points apart"
    caption = _caption(study, "Each judge over the questions that it graded in full.", _SAMPLING)
    subtitle = f"{study.model_name}, {VARIANT_LABELS[study.variant].lower()} questions"
    return Figure("by-judge", _titled(study, chart, title, subtitle), caption, title, by_judge)


def costliest(study: Study) -> Opened | Text:
    """The questions that cost the model most, to be opened."""
    rows = story.costliest(study)
    if rows.is_empty():
        return _cannot("costliest", "No answer of this model is graded in full.")
    checks = story.opened(study, rows["question_id"].to_list())
    judges = dict(study.judges.select("judge", "name").iter_rows())
    own_first = {study.judge: judges[study.judge]} | judges
    return Opened("costliest", rows, checks, own_first)


def beside_published(beside: pl.DataFrame) -> Table | None:
    """Ours beside the published, and whether the paper's number lies inside our interval."""
    if beside.is_empty():
        return None
    columns = {
        "figure": text("Figure"),
        "estimate": interval("Ours"),
        "published": points("Published"),
        "difference": points("Difference", signed=True),
        "inside": text("Published lies"),
    }
    return Table("beside-published", beside, columns, "Our numbers with their 95 % intervals beside the paper's printed ones, in points or per cent.")


# --- the data ---------------------------------------------------------------------------------------------------------


def sources_table(study: Study) -> Table:
    """The files that were read."""
    rows = study.sources.with_columns(sha=pl.col("sha256").str.head(12), kind=pl.when("simulated").then(pl.lit("SIMULATED")).otherwise(pl.lit("real")))
    columns = {
        "file": text("File", sub="sha"),
        "table_name": text("Holds"),
        "kind": text("Data"),
        "rows_read": count("Rows read"),
        "rows_kept": count("kept"),
        "rows_rejected": count("rejected"),
    }
    return Table("sources", rows, columns, "Files read, with the first digits of their SHA-256.")


def published_scores(board: pl.DataFrame) -> Table | None:
    """Every model's score beside the paper's."""
    rows = board.drop_nulls("published")
    if rows.is_empty():
        return None
    rows = rows.with_columns(
        difference=pl.col("estimate") - pl.col("published"),
        inside=pl.when(pl.col("published").is_between("low", "high")).then(pl.lit("inside")).otherwise(pl.lit("outside")),
    )
    columns = {
        "name": text("Model"),
        "estimate": interval("Ours"),
        "published": points("Published"),
        "difference": points("Difference", signed=True),
        "inside": text("Published lies"),
    }
    return Table("published-scores", rows, columns, "Scores beside the paper's printed ones.")


def _cannot(name: str, reason: str) -> Text:
    """A part that the data does not allow, in one line."""
    return Text(name, "{reason}", {"reason": reason})
