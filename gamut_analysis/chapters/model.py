"""One model in full: frames, figures, tables and sentences of its report."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from gamut_analysis import failures
from gamut_analysis.chapters.common import (
    ESTIMATE,
    SAMPLING,
    UNSCORED,
    cannot,
    captioned,
    domain_scores,
    field,
    gain_parts,
    published,
    row_of,
    shares,
    tier_scores,
    titled,
    view_of,
)
from gamut_analysis.chapters.questions import explorer
from gamut_analysis.charts import dots, parts
from gamut_analysis.charts.links import linked
from gamut_analysis.display import (
    Figure,
    Table,
    Text,
    count,
    format_count,
    format_names,
    format_points,
    format_ranks,
    interval,
    p_value,
    percent,
    points,
    text,
)
from gamut_analysis.intervals import mean_intervals
from gamut_analysis.study import Study
from gamut_analysis.vocabulary import ROLE_LABELS, TIER_LABELS, TIERS, VARIANT_LABELS, VERDICT_LABELS, VERDICTS

__all__ = ["explorer", "field"]

NEIGHBOURS = 3
SMALL = 30  # questions below which a part of the data is marked as small
FEWEST = 6  # with five questions no pattern of signs has a p below 2 / 2**5, which is 0.0625
TOO_FEW = f"fewer than {FEWEST} questions or images are too few to compare"
_CUT = "Intervals are drawn as far as the scale of scores goes."


def headline(study: Study, board: pl.DataFrame, ratios: pl.DataFrame) -> Text:
    """The sentence that a person could quote: the score, the place, and what omission costs beside contradiction."""
    row = row_of(board, study.model)
    values: dict[str, Any] = {
        "name": row["name"],
        "score": row,
        "n": row["n"],
        "asked": row["questions_asked"] or row["asked"],
    }
    if row["estimate"] is None:
        values["reason"] = row["reason"] or "no answer of it is graded in full"
        return Text("headline", "**{name}** has no score here: {reason}.", values)
    template = "**{name}** completes **{score:interval} points** out of 100"
    if row["rank"] is not None:
        template += "; it is **{place}** of {models:count} models"
        values |= {"place": _place(row), "models": board["rank"].count()}
    elif row["n"] < (values["asked"] or row["n"]):
        template += (
            " on the {n:count} of {asked:count} questions that it was scored on, so it is not ranked beside "
            "complete models"
        )
    by_measure = {str(r["measure"]): r for r in ratios.iter_rows(named=True)}
    ratio = by_measure.get("points", {}).get("estimate")
    if ratio:
        larger, smaller = ("omission", "contradiction") if ratio >= 1 else ("contradiction", "omission")
        template += "; it loses {ratio:number.1} points to {larger} for each point lost to {smaller}"
        values |= {"ratio": max(ratio, 1 / ratio), "larger": larger, "smaller": smaller}
    return Text("headline", template + ".", values)


def _place(row: Mapping[str, Any]) -> str:
    if row["rank_low"] is None:
        return format_ranks(row["rank"], row["rank"])
    return format_ranks(row["rank_low"], row["rank_high"])


def coverage_note(study: Study) -> Text:
    """What of this model's grid is not there, in one sentence for each kind; says so when nothing is lacking."""
    rows = study.coverage.filter(model=study.model, judge=study.judge, variant=study.variant)
    if rows.is_empty():
        return Text("coverage", "The judge {judge} graded nothing of this model.", {"judge": study.judge_name})
    row = rows.row(0, named=True)
    values = {**row, "lacking": row["questions_asked"] - row["questions_graded"]}
    told = ["{questions_graded:count} of {questions_asked:count} questions are graded in full."]
    kinds = {
        "no_response": "{no_response:count} answers are empty and count as all missing (no response).",
        "answer_errors": "{answer_errors:count} answers could not be had and have no score.",
        "checks_ungraded": (
            "{checks_ungraded:count} checks have no verdict because the judge failed or gave no usable label."
        ),
        "checks_extra": "{checks_extra:count} verdicts on checks that the rubric does not have are left out.",
        "repeats": "{repeats:count} verdicts were delivered twice and count once.",
        "superseded": "{superseded:count} verdicts gave way to later ones.",
        "conflicting": (
            "{conflicting:count} verdicts contradict each other without a time to go by, so none of them counts."
        ),
    }
    told += [sentence for name, sentence in kinds.items() if row[name]]
    return Text("coverage", " ".join(told), values)


def where_points_go(study: Study, losses: pl.DataFrame) -> Text:
    """Which verdict and which tier cost most; the parts add up."""
    total = float(losses["estimate"].sum())
    if total <= 0:
        return Text("where-points-go-text", "Nothing is lost: every answer is complete.", {})
    by_verdict = (
        losses.group_by("verdict", maintain_order=True)
        .agg(pl.col("estimate").sum())
        .sort("estimate", "verdict", descending=True)
    )
    worst = losses.sort("estimate", descending=True).row(0, named=True)
    verdict = by_verdict.row(0, named=True)
    values = {
        "total": total,
        "score": 1 - total,
        "verdict": _verdict_noun(str(verdict["verdict"])),
        "cost": float(verdict["estimate"]),
        "share": float(verdict["estimate"]) / total,
        "tier": TIER_LABELS[str(worst["tier"])],
        "kind": _verdict_noun(str(worst["verdict"])),
        "part": float(worst["estimate"]),
    }
    template = (
        "Of 100 points **{total:points}** are lost, which leaves {score:points}; the parts add up exactly. The "
        "most "
        "goes to **{verdict}** ({cost:points} points, {share:percent} % of the loss); the largest single part is "
        "{kind} in "
        "{tier} checks ({part:points} points)."
    )
    return Text("where-points-go-text", template, values)


def _verdict_noun(verdict: str) -> str:
    return {"partially_meets": "partial answers", "missing": "omission", "contradicts": "contradiction"}[verdict]


def against_the_field(study: Study, neighbours: pl.DataFrame) -> Text | None:
    """Which neighbours the model is told apart from, and which not."""
    if neighbours.is_empty():
        return None
    tested = neighbours.drop_nulls("verdict")
    if tested.is_empty():
        reason = next(iter(neighbours["reason"].drop_nulls()), "there are too few questions for a test")
        return Text("neighbours-text", "No neighbour can be compared: {reason}.", {"reason": reason})
    groups = {word: tested.filter(verdict=word)["name"].to_list() for word in ("ahead", "behind", "not told apart")}
    told, values = [], {"name": study.model_name}
    words = {"behind": "behind {behind}", "not told apart": "not told apart from {same}", "ahead": "ahead of {ahead}"}
    keys = {"ahead": "ahead", "behind": "behind", "not told apart": "same"}
    for word, phrase in words.items():
        if groups[word]:
            told.append(phrase)
            values[keys[word]] = format_names(groups[word])
    return Text("neighbours-text", "Among its neighbours {name} is " + "; ".join(told) + ".", values)


def strong_and_weak(parts: pl.DataFrame, *, part: str, name: str) -> Text | None:
    """Where the model stands furthest above and below the field's median; small parts do not count."""
    if parts.is_empty():
        return None
    ranked = parts.filter(~pl.col("is_small")).drop_nulls("difference").sort("difference", descending=True)
    if ranked.height < 2:
        return Text(
            name,
            "Too few {part}s have {small:count} questions or more to say where it is strong.",
            {"part": part, "small": SMALL},
        )
    best, worst = ranked.row(0, named=True), ranked.row(-1, named=True)
    values = {"best": best[part], "up": best["difference"], "worst": worst[part], "down": worst["difference"]}
    return Text(
        name,
        "Against the median of the field it stands best on **{best}** ({up:+points} points) and worst on **{worst}** "
        "({down:+points} points).",
        values,
    )


def picture_costs(study: Study, gains: pl.DataFrame) -> Text:
    """What naming the subject instead of showing it changes, and which part of the plain difference is that."""
    rows = gains.filter(model=study.model) if gains.height else gains
    parts = {str(row["part"]): row for row in rows.iter_rows(named=True)}
    matched = parts.get("matched", {}).get("estimate")
    if matched is None:
        reasons = [row["reason"] for row in parts.values() if row.get("reason")]
        why = ": {reason}." if reasons else "."
        return Text("picture", "What the picture costs cannot be told" + why, {"reason": next(iter(reasons), None)})
    values = dict(parts)
    template = (
        "Asked in words, with the subject named, the model's score changes by **{matched:+interval} points** on the "
        "same questions and checks. The plain difference of the two scores is {naive:+interval}: "
        "{dropped_checks:+interval} of it come from leaving out the checks that name the subject, "
        "{question_set:+interval} from questions that only one variant has."
    )
    return Text("picture", template, values)


def judges_on_it(study: Study, by_judge: pl.DataFrame) -> Text:
    """How far the judges' scores of the model lie apart."""
    rows = by_judge.drop_nulls("estimate").sort("estimate") if by_judge.height else by_judge
    if rows.height < 2:
        told = "One judge alone" if rows.height else "No judge"
        return cannot("judges", f"{told} has graded this model in full, so there is nothing to compare.")
    low, high = rows.row(0, named=True), rows.row(-1, named=True)
    values = {
        "strict": low["judge"],
        "lenient": high["judge"],
        "gap": high["estimate"] - low["estimate"],
        "low": low["estimate"],
        "high": high["estimate"],
    }
    return Text(
        "judges",
        "The strictest judge of this model is {strict} ({low:points} points), the most lenient {lenient} "
        "({high:points}): "
        "**{gap:points} points** lie between them.",
        values,
    )


def measures(study: Study, board: pl.DataFrame) -> pl.DataFrame:
    """The numbers of every model for the strips: score, tiers, omission, contradiction, and the gain where known."""
    parts = [
        board.select(
            "model", "name", pl.lit("Score").alias("measure"), pl.col("estimate").alias("value"), "low", "high"
        )
    ]
    parts += [
        part.select(
            "model",
            "name",
            pl.lit(TIER_LABELS[tier]).alias("measure"),
            pl.col("estimate").alias("value"),
            "low",
            "high",
        )
        for tier in TIERS
        if (part := tier_scores(study).filter(tier=tier, n=pl.col("n")).drop_nulls("estimate")).height
    ]
    for verdict, label in (("missing", "Omission"), ("contradicts", "Contradiction")):
        part = shares(study).filter(pl.col("verdict") == verdict)
        parts.append(
            part.select("model", "name", pl.lit(label).alias("measure"), pl.col("share").alias("value"), "low", "high")
        )
    gain = text_only_gains(study)
    if gain.height:
        parts.append(
            gain.select(
                "model",
                "name",
                pl.lit("Text-only gain").alias("measure"),
                pl.col("estimate").alias("value"),
                "low",
                "high",
            )
        )
    rates = ["Omission", "Contradiction"]
    return pl.concat(parts, how="vertical_relaxed").with_columns(
        is_focus=pl.col("model") == study.model,
        unit=pl.when(pl.col("measure").is_in(rates)).then(pl.lit("% of checks")).otherwise(pl.lit("points")),
    )


def losses(study: Study) -> pl.DataFrame:
    """What partial, missing and contradicted checks of each tier cost the model; adds up to 100 - score."""
    split = study.scoring.losses(study.own_counts.filter(model=study.model))
    lost = failures.points_lost(split, by=["tier"], questions=study.questions)
    return lost.sort("tier", "verdict")


def omission_ratios(study: Study) -> pl.DataFrame:
    """How many omissions stand against one contradiction of the model, in counts and in points."""
    own = study.own_counts.filter(model=study.model)
    return failures.omission_ratio(own, study.scoring.losses(own), questions=study.questions)


def role_losses(study: Study) -> pl.DataFrame:
    """The same loss by the rule that made the check; empty where checks have no role."""
    own = study.role_counts.filter(model=study.model).drop_nulls("role")
    if own.is_empty():
        return pl.DataFrame()
    split = failures.attributed_losses(own, study.scoring, grain=["role"])
    lost = failures.points_lost(split, by=["role"], questions=study.questions)
    label = pl.col("role").cast(pl.String).replace_strict(ROLE_LABELS)
    return lost.with_columns(label=label)


def domains(study: Study) -> pl.DataFrame:
    """The model's mean score by domain against the median of the field, the strongest difference first."""
    own = study.own_scores.filter(model=study.model).drop_nulls("score")
    placed = own.join(study.questions.select("question_id", "domain", "cluster"), on="question_id").drop_nulls("domain")
    rows = [
        mean_intervals(part["score"].to_numpy()[:, None], clusters=part["cluster"].to_numpy()).with_columns(
            domain=pl.lit(name)
        )
        for (name,), part in placed.partition_by("domain", as_dict=True).items()
    ]
    if not rows:
        return pl.DataFrame()
    others = domain_scores(study).filter(pl.col("model") != study.model)
    median = others.group_by("domain", maintain_order=True).agg(pl.col("score").median().alias("median"))
    return _beside_median(pl.concat(rows), median, "domain")


def roles(study: Study) -> pl.DataFrame:
    """The share of checks that the model meets by role against the median of the field,."""
    graded = study.role_counts.drop_nulls("role")
    if graded.is_empty():
        return pl.DataFrame()
    rates = failures.verdict_rates(graded, by=["role"], questions=study.questions)
    met = rates.filter((pl.col("verdict") == "meets") & (pl.col("rate") == "micro"))
    met = met.with_columns(role=pl.col("role").cast(pl.String).replace_strict(ROLE_LABELS))
    others = met.filter(pl.col("model") != study.model)
    median = others.group_by("role", maintain_order=True).agg(pl.col("estimate").median().alias("median"))
    return _beside_median(met.filter(model=study.model), median, "role")


def _beside_median(own: pl.DataFrame, median: pl.DataFrame, part: str) -> pl.DataFrame:
    return (
        own.join(median, on=part, how="left")
        .with_columns(
            own=pl.col("estimate"), difference=pl.col("estimate") - pl.col("median"), is_small=pl.col("n") < SMALL
        )
        .sort("difference", part, descending=[True, False], nulls_last=True)
    )


def neighbours(study: Study, board: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """The models around this one: the model minus each of them, with interval, corrected p and a plain word."""
    order = board["model"].to_list()
    here = order.index(study.model)
    near = order[max(here - NEIGHBOURS, 0) : here + NEIGHBOURS + 1]
    around = facing(pairs, study.model).filter(pl.col("model").is_in(near))
    place = {model: position for position, model in enumerate(order)}
    return around.sort(pl.col("model").replace_strict(place, return_dtype=pl.Int64))


def facing(pairs: pl.DataFrame, model: str) -> pl.DataFrame:
    """The pairs of one model, seen from its side."""
    pairs = comparable(pairs)
    columns = ["estimate", "low", "high", "n", "p", "p_adjusted", "verdict", "reason"]
    forward = pairs.filter(model_a=model).select(
        pl.col("model_b").alias("model"), pl.col("name_b").alias("name"), *columns
    )
    turned = {"ahead": "behind", "behind": "ahead"}
    backward = pairs.filter(model_b=model).select(
        pl.col("model_a").alias("model"),
        pl.col("name_a").alias("name"),
        -pl.col("estimate"),
        (-pl.col("high")).alias("low"),
        (-pl.col("low")).alias("high"),
        "n",
        "p",
        "p_adjusted",
        pl.col("verdict").replace(turned),
        "reason",
    )
    return pl.concat([forward, backward])


def comparable(pairs: pl.DataFrame) -> pl.DataFrame:
    """The pairs of models without interval, p and verdict where so few questions could never tell them apart."""
    few = pl.col("clusters") < FEWEST
    shown = [pl.when(~few).then(name).alias(name) for name in ("low", "high", "p", "p_adjusted", "verdict")]
    return pairs.with_columns(*shown, reason=pl.coalesce("reason", pl.when(few).then(pl.lit(TOO_FEW))))


def text_only_gains(study: Study) -> pl.DataFrame:
    """Text-only minus multimodal of every model, matched on questions and checks; empty with one variant."""
    parts = gain_parts(study)
    return parts.filter(pl.col("part") == "matched") if parts.height else parts


def by_judge(study: Study) -> pl.DataFrame:
    """The model's mean score by judge, each over the questions that the judge graded in full."""
    own = study.scores.filter(model=study.model, variant=study.variant).drop_nulls("score")
    placed = own.join(study.questions.select("question_id", "cluster"), on="question_id")
    names = dict(study.judges.select("judge", "name").iter_rows())
    rows = [
        mean_intervals(part["score"].to_numpy()[:, None], clusters=part["cluster"].to_numpy()).with_columns(
            judge=pl.lit(names[judge])
        )
        for (judge,), part in placed.partition_by("judge", as_dict=True).items()
    ]
    return pl.concat(rows) if rows else pl.DataFrame()


def beside_published(study: Study, board: pl.DataFrame) -> pl.DataFrame:
    """The model's own numbers beside the paper's or percent, and whether the paper's lies in the interval."""
    rows = published(study).filter(model=study.model)
    if rows.is_empty():
        return pl.DataFrame()
    ours = {"GAMUT score": ("published", row_of(board, study.model))}
    for tier in TIERS:
        if tier in rows.columns:
            ours[TIER_LABELS[tier]] = (tier, row_of(tier_scores(study).filter(tier=tier), study.model))
    for verdict in VERDICTS:
        if verdict in rows.columns:
            row = row_of(shares(study).filter(pl.col("verdict") == verdict), study.model)
            ours[f"{VERDICT_LABELS[verdict]}, share of checks"] = (verdict, row | {"estimate": row["share"]})
    printed = rows.row(0, named=True)
    frame = pl.DataFrame(
        [
            {"figure": label, "published": float(printed[column]), **{name: row[name] for name in ESTIMATE}}
            for label, (column, row) in ours.items()
        ]
    )
    return frame.with_columns(
        difference=pl.col("estimate") - pl.col("published"),
        inside=pl.when(pl.col("published").is_between("low", "high"))
        .then(pl.lit("inside"))
        .otherwise(pl.lit("outside")),
    )


def verdict_shares(study: Study, board: pl.DataFrame) -> Figure | Text:
    """How every model's checks are graded, as parts of a whole."""
    graded = shares(study).drop_nulls("share")
    if graded.is_empty():
        return cannot("verdict-shares", "No check was graded, so there are no shares to show.")
    order = board["name"].to_list()
    missing = graded.filter(pl.col("verdict") == "missing")["share"]
    contradicts = graded.filter(pl.col("verdict") == "contradicts")["share"]
    title = (
        f"Omission outweighs contradiction in {int((missing.to_numpy() > contradicts.to_numpy()).sum())} of "
        f"{len(missing)} models, counted by checks"
    )
    chart = titled(
        study,
        linked(
            parts.verdict_shares(graded, order=order, focus=study.model_name if study.model else None), model="name"
        ),
        title,
        view_of(study),
    )
    alt_text = "Shares of the four verdicts for each model, in the order of the leaderboard."
    return Figure(
        "verdict-shares",
        chart,
        captioned(study, "Shares of all graded checks, pooled over questions."),
        alt_text,
        graded,
    )


def strips(study: Study, board: pl.DataFrame) -> Figure | Text:
    """The model's numbers, each on a strip of its own among the field."""
    shown = measures(study, board).drop_nulls("value")
    if shown.is_empty():
        return cannot("strips", UNSCORED)
    own = shown.filter("is_focus")
    alt_text = "; ".join(f"{row['measure']} {format_points(row['value'])}" for row in own.to_dicts())
    caption = captioned(
        study,
        "Grey dots: the other models. Line: 95 % interval. Scores in points, omission and contradiction in per cent "
        "of checks.",
    )
    title = f"{study.model_name} among {board.height} models"
    chart = titled(study, linked(dots.strips(shown), model="name"), title, view_of(study))
    return Figure("strips", chart, caption, alt_text, shown)


def strips_text(study: Study, board: pl.DataFrame) -> Text | None:
    """On which of its numbers the model is better than the median of the other models."""
    shown = measures(study, board).drop_nulls("value")
    others = (
        shown.filter(~pl.col("is_focus")).group_by("measure", maintain_order=True).agg(median=pl.col("value").median())
    )
    own = shown.filter("is_focus").join(others, on="measure", maintain_order="left")
    own = own.filter(pl.col("measure") != "Text-only gain")
    if own.is_empty():
        return None
    lower = pl.col("measure").is_in(["Omission", "Contradiction"])
    better = own.filter(
        pl.when(lower).then(pl.col("value") < pl.col("median")).otherwise(pl.col("value") > pl.col("median"))
    )
    values = {"name": study.model_name, "n": own.height, "better": format_names(m.lower() for m in better["measure"])}
    if better.height == own.height:
        template = "{name} is better than the median of the others on all {n:count} of these."
    elif better.is_empty():
        template = "{name} is better than the median of the others on none of these {n:count}."
    else:
        template = "{name} is better than the median of the others on **{better}**, and not on the rest."
    return Text("strips-text", template, values)


def waterfall(study: Study, losses: pl.DataFrame) -> Figure | Text:
    """From 100 points down to the score."""
    if losses.is_empty():
        return cannot("where-points-go", UNSCORED)
    score = 1 - float(losses["estimate"].sum())
    largest = losses.sort("estimate", descending=True).row(0, named=True)
    part = f"{VERDICT_LABELS[str(largest['verdict'])]}, {TIER_LABELS[str(largest['tier'])]}"
    title = f"From 100 points to {format_points(score)}: {part} takes most, {format_points(largest['estimate'])}"
    chart = titled(study, parts.waterfall(losses, score=score), title, view_of(study))
    caption = captioned(
        study,
        f"Points lost by tier and verdict; they add up to {format_points(1 - score)}, which is 100 less the score. "
        f"n = {format_count(losses['n'][0])} questions.",
    )
    return Figure("where-points-go", chart, caption, caption, losses)


def role_table(study: Study, losses: pl.DataFrame) -> Table | Text:
    """The loss by the rule that made the check."""
    if losses.is_empty():
        return cannot("loss-by-role", "The checks of this data have no roles, so the loss cannot be split by them.")
    wide = losses.pivot("verdict", index="label", values="estimate").with_columns(
        total=pl.sum_horizontal("partially_meets", "missing", "contradicts")
    )
    wide = wide.sort("total", descending=True).with_columns(share=pl.col("total") / pl.col("total").sum())
    columns = {
        "label": text("Role of the check"),
        "partially_meets": points("Partial"),
        "missing": points("Missing"),
        "contradicts": points("Contradicts"),
        "total": points("Lost"),
        "share": percent("Share of the loss"),
    }
    return Table(
        "loss-by-role",
        wide,
        columns,
        "Points lost by the role of the check; the column Lost adds up to 100 less the score.",
    )


def role_losses_text(losses: pl.DataFrame) -> Text | None:
    """On checks of which roles the model loses more by contradiction than by omission."""
    if losses.is_empty():
        return None
    wide = losses.pivot("verdict", index="label", values="estimate").sort("contradicts", "label", descending=True)
    wrong = wide.filter(pl.col("contradicts") > pl.col("missing"))["label"].to_list()
    if not wrong:
        return Text(
            "loss-by-role-text", "On checks of every role omission costs at least as much as contradiction.", {}
        )
    values = {"roles": format_names(label.lower() for label in wrong)}
    template = "Contradiction costs more than omission on checks of the role **{roles}**"
    return Text("loss-by-role-text", template + ("." if len(wrong) == wide.height else ", and on no others."), values)


def verdict_shares_text(study: Study) -> Text | None:
    """How many of the other models omit less, and how many contradict less."""
    known = shares(study).drop_nulls("share")
    own = dict(known.filter(model=study.model).select(pl.col("verdict").cast(pl.String), "share").iter_rows())
    others = known.filter(pl.col("model") != study.model)
    if not own or others.is_empty():
        return None
    less = {
        word: others.filter(pl.col("verdict") == word, pl.col("share") < own[word]).height
        for word in ("missing", "contradicts")
    }
    values = {"name": study.model_name, "n": others["model"].n_unique(), **less}
    told = (
        "Of the {n:count} other models {missing:count} omit less than {name}, and {contradicts:count} contradict less"
    )
    if not any(less.values()):
        told = "No other model omits less than {name}, and none contradicts less"
    return Text("verdict-shares-text", told + ".", values)


def neighbours_table(study: Study, neighbours: pl.DataFrame) -> Table | Text:
    """The neighbours in the ranking and whether the difference is more than noise."""
    if neighbours.is_empty():
        return cannot("neighbours", "There is no other model to compare with.")
    columns = {
        "name": text("Neighbour"),
        "estimate": interval(f"{study.model_name} minus it", signed=True),
        "n": count("Common questions"),
        "p_adjusted": p_value("p, corrected"),
        "verdict": text("It is", reason="reason"),
    }
    caption = (
        "Paired differences on the questions that both have, from the best neighbour down. The interval is that of "
        "the pair alone; p is by sign-flip permutation and corrected for all pairs of models, so a pair may not be "
        "told apart although its interval leaves zero out. 'behind' means that this model is behind the neighbour."
    )
    return Table("neighbours", neighbours, columns, caption)


def domain_dots(study: Study, domains: pl.DataFrame) -> Figure | Text:
    """The model by domain against the median of the field."""
    if domains.is_empty():
        return cannot("by-domain", "The questions of this data have no domain.")
    chart = linked(dots.against_field(domains, part="domain", title="Score, points"), domain="domain")
    above = domains.filter(pl.col("difference") > 0).height
    title = f"Above the median of the field in {above} of {domains.height} domains"
    return _against(study, "by-domain", chart, title, domains, "questions")


def role_dots(study: Study, roles: pl.DataFrame) -> Figure | Text:
    """The share of checks met by role against the median of the field."""
    if roles.is_empty():
        return cannot("by-role", "The checks of this data have no roles.")
    chart = dots.against_field(roles, part="role", title="Checks met, %")
    above = roles.filter(pl.col("difference") > 0).height
    title = f"Meets more than the median of the field in {above} of {roles.height} roles"
    return _against(study, "by-role", chart, title, roles, "questions")


def _against(study: Study, name: str, chart, title: str, frame: pl.DataFrame, unit: str) -> Figure:
    caption = captioned(
        study,
        f"Dot: this model with its 95 % interval; grey tick: median of the other models; hollow: fewer than {SMALL} "
        f"{unit}.",
        *([_CUT] if (frame.select(pl.max_horizontal(-pl.col("low"), "high").max()).item() or 0) > 1 else []),
    )
    return Figure(name, titled(study, chart, title, view_of(study)), caption, title, frame)


def gain_table(study: Study, gains: pl.DataFrame) -> Table | Text:
    """Text-only minus multimodal for this model, and its parts."""
    if gains.is_empty():
        return cannot("gain-parts", "This data has one variant only.")
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
        return cannot("by-judge", "One judge alone has graded this model in full.")
    chart = dots.judges(by_judge)
    gap = by_judge.select(pl.col("estimate").max() - pl.col("estimate").min()).item()
    title = f"The judges lie {format_points(gap)} points apart"
    caption = captioned(study, "Each judge over the questions that it graded in full.", SAMPLING)
    subtitle = f"{study.model_name}, {VARIANT_LABELS[study.variant].lower()} questions"
    return Figure("by-judge", titled(study, chart, title, subtitle), caption, title, by_judge)


def published_table(beside: pl.DataFrame) -> Table | None:
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
    return Table(
        "beside-published",
        beside,
        columns,
        "Our numbers with their 95 % intervals beside the paper's printed ones, in points or per cent.",
    )


def sources_table(study: Study) -> Table:
    """The files that were read."""
    rows = study.sources.with_columns(
        sha=pl.col("sha256").str.head(12), kind=pl.when("simulated").then(pl.lit("SIMULATED")).otherwise(pl.lit("real"))
    )
    columns = {
        "file": text("File", sub="sha"),
        "table_name": text("Holds"),
        "kind": text("Data"),
        "rows_read": count("Rows read"),
        "rows_kept": count("kept"),
        "rows_rejected": count("rejected"),
    }
    return Table("sources", rows, columns, "Files read, with the first digits of their SHA-256.")
