"""What a model gains when the question names its subject, and whether the picture is a constant tax."""

from typing import Any

import polars as pl

from gamut_analysis import gains as analysis
from gamut_analysis import paths
from gamut_analysis.chapters.common import cannot, captioned, gain_parts, no_published, published_note, titled
from gamut_analysis.charts import fields, lines, variants
from gamut_analysis.charts.links import linked
from gamut_analysis.display import (
    Column,
    Figure,
    Table,
    Text,
    count,
    format_count,
    format_points,
    interval,
    number,
    p_value,
    points,
    text,
)
from gamut_analysis.intervals import mean_intervals, question_clusters, score_matrix
from gamut_analysis.study import Study
from gamut_analysis.vocabulary import VARIANT_LABELS, VARIANTS

ALPHA = 0.05
_NO_DOMAINS = "The questions of this data have no domain."
_LEVELS = {"multimodal": "Multimodal score, points", "middle": "Mean of both scores, points"}
_METHODS = {
    "naive_slope": "Naive slope: gain on multimodal score",
    "oldham_slope": "Oldham slope: gain on the mean of both scores",
    "oldham_correlation": "Oldham correlation of gain and mean of both",
    "deming_slope": "Deming slope: text-only on multimodal score",
    "spread_ratio": "Spread of the models, text-only to multimodal",
}


# --- frames -----------------------------------------------------------------------------------------------------------


def gains(study: Study) -> pl.DataFrame:
    """The matched gain of every model with its exact parts, intervals for one and for all, and corrected p.

    One row a model, the largest gain first; empty where there is only one variant.
    """
    parts = gain_parts(study)
    if parts.is_empty():
        return pl.DataFrame()
    wide = parts.pivot("part", index="model", values="estimate").select(
        "model", "naive", "question_set", "dropped_checks"
    )
    tests = analysis.gain_tests(
        study.scores, study.matched_scores, judge=study.judge, questions=study.all_questions, seed=study.seed
    )
    named = tests.join(wide, on="model", how="left").join(study.models.select("model", "name"), on="model", how="left")
    return named.sort("estimate", "name", descending=[True, False], nulls_last=True)


def equality(study: Study, gains: pl.DataFrame) -> dict[str, Any]:
    """Whether the gain is one and the same for every model: test and spread, or the reason why neither can be told."""
    if lack := _lack(gains):
        return {"p": None, "reason": lack}
    return analysis.gain_homogeneity(
        study.scores, study.matched_scores, judge=study.judge, questions=study.all_questions
    ).row(0, named=True)


def levels(study: Study, gains: pl.DataFrame) -> pl.DataFrame:
    """Whether better models gain less, by several methods; empty where there are no gains."""
    if _lack(gains):
        return pl.DataFrame()
    rows = analysis.gain_against_level(
        study.scores, study.matched_scores, judge=study.judge, questions=study.all_questions, seed=study.seed
    )
    return rows.with_columns(label=pl.col("method").cast(pl.String).replace_strict(_METHODS))


def shifts(study: Study, gains: pl.DataFrame) -> pl.DataFrame:
    """Score and rank of every model in both variants on what all models have in common; empty where nothing is."""
    if _lack(gains):
        return pl.DataFrame()
    rows = analysis.rank_shifts(study.scores, study.matched_scores, judge=study.judge)
    scored = rows.drop_nulls(["multimodal", "text_only"])
    return scored.join(study.models.select("model", "name"), on="model", maintain_order="left")


def domain_gains(study: Study, gains: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The matched gain by domain: of every model, and averaged over them; empty without domains."""
    if _lack(gains) or study.all_questions["domain"].null_count() == study.all_questions.height:
        return pl.DataFrame(), pl.DataFrame()
    placed = study.all_questions
    single = analysis.domain_gains(study.scores, study.matched_scores, placed, judge=study.judge)
    mean = analysis.domain_mean_gains(study.scores, study.matched_scores, placed, judge=study.judge)
    named = single.join(study.models.select("model", "name"), on="model")
    return named.drop_nulls("estimate"), mean.drop_nulls("estimate").sort("estimate", descending=True)


def coupling(levels: pl.DataFrame) -> dict[str, float] | None:
    """What the naive slope would be if the gain had nothing to do with the level, and the slope turned round.

    With r the correlation of the two scores and q the ratio of their spreads, the slope of the gain on the multimodal
    score is r q - 1 and on the text-only score 1 - r / q; with equal spreads they are r - 1 and 1 - r, whatever the
    gains are.
    """
    if levels.is_empty():
        return None
    found = dict(levels.select(pl.col("method").cast(pl.String), "estimate").iter_rows())
    naive, ratio = found["naive_slope"], found["spread_ratio"]
    if naive is None or not ratio:
        return None
    correlation = (1 + naive) / ratio
    return {
        "naive": naive,
        "correlation": correlation,
        "expected": correlation - 1,
        "turned": 1 - correlation / ratio,
    }


def published_gains(study: Study, gains: pl.DataFrame) -> pl.DataFrame:
    """Our scores in both variants and the plain gain beside the paper's, where it prints them; empty elsewhere."""
    if no_published(study) or _lack(gains):
        return pl.DataFrame()
    slugs = pl.read_csv(paths.published() / "models.csv").select("model", "slug")
    printed = pl.read_csv(paths.published() / "table3_text_only.csv").join(slugs, on="model")
    ours = pl.concat([_variant_means(study), _naive(study)])
    named = ours.join(study.models.select("model", "name"), on="model")
    long = printed.unpivot(["multimodal", "text_only", "gain"], index="slug", variable_name="what", value_name="points")
    beside = long.select(pl.col("slug").alias("model"), "what", pl.col("points") / 100).join(
        named, on=["model", "what"], maintain_order="left"
    )
    order = {name: place for place, name in enumerate(printed["slug"])}
    return (
        beside.rename({"points": "published"})
        .drop_nulls("estimate")
        .with_columns(
            difference=pl.col("estimate") - pl.col("published"),
            inside=pl.when(pl.col("published").is_between("low", "high"))
            .then(pl.lit("inside"))
            .otherwise(pl.lit("outside")),
            place=pl.col("model").replace_strict(order, return_dtype=pl.Int32),
        )
        .sort("place", maintain_order=True)
        .drop("place")
    )


def _variant_means(study: Study) -> pl.DataFrame:
    """The mean score of every model in each variant, over all its questions."""
    parts = []
    for variant in VARIANTS:
        models, ids, matrix = score_matrix(study.scores, judge=study.judge, variant=variant)
        rows = mean_intervals(matrix, clusters=question_clusters(study.all_questions, ids))
        parts.append(
            rows.select(
                pl.Series("model", models, dtype=pl.String), pl.lit(variant).alias("what"), "estimate", "low", "high"
            )
        )
    return pl.concat(parts)


def _naive(study: Study) -> pl.DataFrame:
    parts = gain_parts(study).filter(part="naive")
    return parts.select("model", pl.lit("gain").alias("what"), "estimate", "low", "high")


def _lack(gains: pl.DataFrame) -> str:
    """Why there are no gains, in one line; empty where there are."""
    if gains.is_empty():
        return "This data has one variant only, so there is no gain to measure."
    if gains["estimate"].null_count() == gains.height:
        reason = next(iter(gains["reason"].drop_nulls()), "nothing is scored in both variants")
        return f"No gain can be measured: {reason}."
    return ""


# --- the answer -------------------------------------------------------------------------------------------------------


def answer(study: Study, gains: pl.DataFrame, equality: dict[str, Any], levels: pl.DataFrame) -> Text:
    """How much naming the subject adds, and whether it adds the same to every model."""
    if lack := _lack(gains):
        return cannot("answer", lack)
    known = gains.drop_nulls("estimate")
    most, least = known.row(0, named=True), known.row(-1, named=True)
    up = known.filter((pl.col("estimate") > 0) & (pl.col("p_adjusted") < ALPHA)).height
    values: dict[str, Any] = {"up": up, "models": known.height, "most": most, "least": least}
    if known.height == 1:
        return Text(
            "answer", "Asked in words, with the subject named, {most[name]} gains **{most:interval} points**.", values
        )
    who = (
        "every one of the {models:count} models scores"
        if up == known.height
        else "{up:count} of {models:count} models {verb} shown to score"
    )
    values["verb"] = "is" if up == 1 else "are"
    template = (
        f"Asked in words, with the subject named, {who} higher: on the same questions and checks the gain runs from "
        "**{least:interval}** points ({least[name]}) to **{most:interval}** ({most[name]}). "
    )
    return Text("answer", template + _constant(equality, levels, values), values)


def _constant(equality: dict[str, Any], levels: pl.DataFrame, values: dict[str, Any]) -> str:
    """The sentence on whether the tax is constant; adds its numbers to the values."""
    if equality["p"] is None:
        values["reason"] = equality["reason"]
        return "Whether that is one constant tax cannot be tested: {reason}."
    values |= {"p": equality["p"], "spread": equality}
    if equality["p"] >= ALPHA:
        return (
            "These questions cannot tell that from one constant tax ({p:p}); the true gains may still differ with a "
            "standard deviation of {spread:interval} points."
        )
    template = (
        "It is **no constant tax**: the true gains differ with a standard deviation of {spread:interval} points ({p:p})"
    )
    slope = _method(levels, "oldham_slope")
    if slope is None or slope["low"] is None:
        return template + "."
    if slope["high"] < 0:
        return template + ", and better models gain less."
    if slope["low"] > 0:
        return template + ", and better models gain more."
    return template + ", without a trend from weak models to strong ones."


def _method(levels: pl.DataFrame, method: str) -> dict[str, Any] | None:
    rows = levels.filter(pl.col("method").cast(pl.String) == method) if levels.height else levels
    return rows.row(0, named=True) if rows.height else None


# --- the gains --------------------------------------------------------------------------------------------------------


def slopes(study: Study, gains: pl.DataFrame, shifts: pl.DataFrame) -> Figure | Text:
    """Every model from its multimodal score to its text-only one, on the same questions and checks."""
    if shifts.is_empty():
        return cannot("slopes", _lack(gains) or "No question is scored in both variants for every model.")
    positions = shifts.unpivot(
        ["multimodal", "text_only"], index=["model", "name", "n"], variable_name="variant", value_name="estimate"
    ).with_columns(variant_label=pl.col("variant").replace_strict(VARIANT_LABELS))
    most = shifts.sort(pl.col("text_only") - pl.col("multimodal"), descending=True).row(0, named=True)
    focus = study.model_name if study.model else most["name"]
    chart = lines.slopes(positions, at="variant_label", order=list(VARIANT_LABELS.values()), focus=focus)
    chart = linked(chart, model="name")
    lifts = most["text_only"] > most["multimodal"]
    title = f"Naming the subject lifts {most['name']} most" if lifts else "Naming the subject lifts no model"
    if shifts.height > 1:
        title += f"; {_discordant(shifts)} of {_pairs(shifts)} pairs of models change order"
    caption = captioned(
        study,
        f"Mean scores over the {format_count(shifts['n'][0])} questions that every model has in both variants, on the "
        "checks that both rubrics have. Parallel lines would be a constant tax.",
    )
    return Figure("slopes", titled(study, chart, title, f"Score in points; {_view(study)}"), caption, title, shifts)


def _discordant(shifts: pl.DataFrame) -> int:
    """Pairs of models that stand in one order in one variant and in the other order in the other."""
    pairs = shifts.join(shifts, how="cross", suffix="_other").filter(pl.col("model") < pl.col("model_other"))
    before, after = (pl.col(name) - pl.col(f"{name}_other") for name in ("multimodal", "text_only"))
    return pairs.filter(before * after < 0).height


def _pairs(shifts: pl.DataFrame) -> int:
    return shifts.height * (shifts.height - 1) // 2


def _view(study: Study) -> str:
    return f"same questions and checks, judge {study.judge_name}"


def gain_dots(study: Study, gains: pl.DataFrame, equality: dict[str, Any]) -> Figure | Text:
    """The matched gain of every model with two intervals, beside the plain difference."""
    if lack := _lack(gains):
        return cannot("gains", lack)
    known = gains.drop_nulls("estimate")
    chart = variants.gains(known, mean=equality.get("gain"), focus=study.model_name if study.model else None)
    chart = linked(chart, model="name")
    over = known.select((pl.col("naive") - pl.col("estimate")).abs().max()).item()
    title = f"The plain difference of two scores misses the matched gain by up to {format_points(over)} points"
    told = [
        "Dot: matched gain; thick line: 95 % interval of this model alone; thin line: intervals that hold for all "
        "models at once; open diamond: plain difference of the two scores.",
    ]
    if equality.get("gain") is not None:
        told.append("Upright line: the mean gain, where all would lie if the tax were constant.")
    alt_text = "; ".join(f"{row['name']} {format_points(row['estimate'], signed=True)}" for row in known.to_dicts())
    columns = ["model", "name", "estimate", "low", "high", "low_all", "high_all", "naive", "n"]
    return Figure(
        "gains",
        titled(study, chart, title, f"Text-only minus multimodal; {_view(study)}"),
        captioned(study, *told),
        f"Matched gains: {alt_text}",
        known.select(columns),
    )


def part_table(study: Study, gains: pl.DataFrame) -> Table | Text:
    """The plain difference of every model and its exact parts, and the corrected p of the matched one."""
    if lack := _lack(gains):
        return cannot("gain-parts", lack)
    columns: dict[str, Column | str] = {
        "name": text("Model"),
        "naive": points("Plain difference", signed=True),
        "question_set": points("other questions", signed=True, help="questions that only one variant has"),
        "dropped_checks": points("dropped checks", signed=True, help="checks that name the subject, left out in words"),
        "estimate": interval("matched gain", signed=True),
        "p_adjusted": p_value("p, corrected"),
        "n": count("Questions"),
    }
    caption = (
        "The plain difference of the text-only and the multimodal score is the sum of three parts: questions that "
        "only one variant has, checks that only the multimodal rubric has, and the matched gain. p: no gain, by sign "
        "flips, corrected for all models together (step-down max-T)."
    )
    return Table("gain-parts", gains, columns, captioned(study, caption))


def parts_text(gains: pl.DataFrame) -> Text:
    """What of the plain difference is no gain at all, on average over the models."""
    if _lack(gains):
        return cannot("parts", "There are no parts to tell.")
    known = gains.drop_nulls(["estimate", "naive"])
    values = {
        name: float(known[name].to_numpy().mean()) for name in ("naive", "estimate", "dropped_checks", "question_set")
    }
    template = (
        "On average over the models {dropped_checks:+points} points of the plain difference of {naive:+points} come "
        "from leaving out the checks that name the subject, {question_set:+points} from other questions; "
        "**{estimate:+points}** are matched gain, on the same questions and checks."
    )
    if values["dropped_checks"] > 0:
        template += " The left-out checks are hard ones: without them the multimodal answers score higher too."
    return Text("parts", template, values)


# --- a constant tax? --------------------------------------------------------------------------------------------------


def tax(gains: pl.DataFrame, equality: dict[str, Any]) -> Text:
    """The test of equal gains, and how far the true gains differ."""
    if equality["p"] is None:
        return cannot("tax", str(equality["reason"]).rstrip(".") + ".")
    values = {
        **{name: equality[name] for name in ("statistic", "p", "gain", "models", "n")},
        "df1": int(equality["df1"]),
        "df2": int(equality["df2"]),
        "spread": equality,
    }
    verdict = (
        "One gain for all is refuted"
        if equality["p"] < ALPHA
        else "One gain for all cannot be refuted by these questions, which does not show that it is one"
    )
    return Text(
        "tax",
        f"{verdict}: "
        "F = {statistic:number.1} with {df1:count} and {df2:count} degrees of freedom, {p:p}, over the "
        "{n:count} questions that all {models:count} models have in both variants. Around the mean gain of "
        "{gain:points} points the true gains of these models differ with a standard deviation of "
        "**{spread:interval} points**, sampling noise taken off.",
        values,
    )


def level_figure(study: Study, gains: pl.DataFrame, shifts: pl.DataFrame, levels: pl.DataFrame) -> Figure | Text:
    """Gain against level twice: on the multimodal score, which misleads, and on the mean of both scores."""
    naive, oldham, coupled = _method(levels, "naive_slope"), _method(levels, "oldham_slope"), coupling(levels)
    if naive is None or oldham is None or coupled is None or oldham["estimate"] is None:
        reason = next(iter(levels["reason"].drop_nulls()), "") if levels.height else ""
        return cannot("levels", _lack(gains) or f"Gain and level cannot be compared: {reason or 'no model has both'}.")
    known = shifts.with_columns(
        gain=pl.col("text_only") - pl.col("multimodal"), middle=(pl.col("text_only") + pl.col("multimodal")) / 2
    )
    ranked = known.sort("gain")["name"]
    marks = pl.concat(
        known.select(
            pl.lit(title).alias("panel"),
            "name",
            pl.col(column).alias("level"),
            "gain",
            pl.when(pl.col("name").is_in([ranked[0], ranked[-1]])).then("name").otherwise(pl.lit("")).alias("label"),
            is_focus=pl.col("model") == study.model,
        )
        for column, title in _LEVELS.items()
    )
    fits = [
        _line(known, "multimodal", naive["estimate"], "fitted"),
        _line(known, "multimodal", coupled["expected"], "expected"),
        _line(known, "middle", oldham["estimate"], "fitted"),
    ]
    chart = variants.levels(marks, pl.concat(fits), mean=float(known["gain"].to_numpy().mean()))
    chart = linked(chart, model="name")
    trend = (
        "Better models gain less"
        if (oldham["high"] or 0) < 0
        else "Better models gain more"
        if (oldham["low"] or 0) > 0
        else "No trend of the gain with the level can be told"
    )
    title = f"{trend}: {format_points(oldham['estimate'] / 10, signed=True)} points of gain for ten points of level"
    caption = captioned(
        study,
        "One mark a model. Left: the multimodal score stands on both axes, so the fitted line (solid) is pulled "
        "down even where the gain has nothing to do with the level (dashed: how far). Right: Oldham's remedy, the "
        "mean of both scores. Grey line: the mean gain.",
        *([f"In colour: {study.model_name}."] if study.model else []),
    )
    return Figure("levels", titled(study, chart, title, f"Matched gain; {_view(study)}"), caption, title, marks)


def _line(known: pl.DataFrame, column: str, slope: float, kind: str) -> pl.DataFrame:
    """Two ends of the line of a slope through the means."""
    level, gain = known[column].to_numpy(), known["gain"].to_numpy()
    ends = [float(level.min()), float(level.max())]
    return pl.DataFrame(
        {
            "panel": [_LEVELS[column]] * 2,
            "kind": [kind] * 2,
            "level": ends,
            "gain": [float(gain.mean() + slope * (end - level.mean())) for end in ends],
        }
    )


def level_table(study: Study, gains: pl.DataFrame, levels: pl.DataFrame) -> Table | Text:
    """Every method's answer beside the value that a gain without dependence on the level would give."""
    if levels.is_empty():
        return cannot("level-methods", _lack(gains))
    found = coupling(levels)
    expected = pl.lit(found["expected"] if found else None, dtype=pl.Float64)
    method = pl.col("method").cast(pl.String)
    rows = levels.with_columns(
        null=pl.when(method == "naive_slope").then(expected).otherwise("null"),
        no_p=pl.lit("Pitman and Morgan test the correlation and the ratio of spreads alone"),
        reason=pl.when(method == "oldham_correlation")
        .then(pl.coalesce("reason", pl.lit("noise in the gains pulls the correlation to 0, so it has no interval")))
        .otherwise("reason"),
    )
    columns: dict[str, Column | str] = {
        "label": text("Method"),
        "estimate": interval("Estimate", of="number", digits=2),
        "null": number("If unrelated"),
        "p": p_value("p, over models", reason="no_p"),
    }
    row = levels.row(0, named=True)
    caption = (
        f"Does the gain depend on the level? {format_count(row['n'])} models; intervals over "
        f"{format_count(row['questions'])} questions (BCa), the models as they are; p by Pitman and Morgan, which "
        "takes the models as a sample."
    )
    return Table("level-methods", rows, columns, captioned(study, caption))


def methods_text(levels: pl.DataFrame) -> Text | None:
    """Whether any method but the naive one tells that the gain depends on the level."""
    known = levels.drop_nulls(["low", "high"]) if levels.height else levels
    known = known.filter(pl.col("method").cast(pl.String) != "naive_slope") if known.height else known
    if known.is_empty():
        return None
    apart = known.filter(~pl.col("null").is_between("low", "high")).height
    template = (
        "Without the naive slope, **{apart:count} of {n:count}** intervals leave out the value that stands for no "
        "dependence."
        if apart
        else "Without the naive slope, each of the {n:count} intervals holds the value that stands for no dependence."
    )
    return Text("level-methods-text", template, {"apart": apart, "n": known.height})


def why_naive_misleads(levels: pl.DataFrame) -> Text:
    """What of the naive slope is made by the coupling alone, and whether its direction survives being turned round."""
    found = coupling(levels)
    if found is None:
        return cannot("naive", "Without a slope there is nothing that could mislead.")
    template = (
        "The naive slope is {naive:+number.2}, but the multimodal score stands on both of its sides: with the "
        "correlation of {correlation:number.3} that the two scores have here, it would be {expected:+number.2} even "
        "if the gain had nothing to do with the level. "
    )
    if (found["naive"] < 0) == (found["turned"] < 0):
        template += (
            "Taken on the text-only score instead it is {turned:+number.2}: the same sign, so the direction itself "
            "is not an artefact of the coupling here."
        )
    else:
        template += (
            "Taken on the text-only score instead it is {turned:+number.2}, **the opposite sign**: from the naive "
            "slope alone one would conclude one thing or its contrary, by the choice of the axis."
        )
    return Text("naive", template, found)


# --- ranks ------------------------------------------------------------------------------------------------------------


def rank_table(study: Study, gains: pl.DataFrame, shifts: pl.DataFrame) -> Table | Text:
    """Score and rank of every model in both variants."""
    if shifts.is_empty():
        return cannot("ranks", _lack(gains) or "No question is scored in both variants for every model.")
    columns: dict[str, Column | str] = {
        "name": text("Model"),
        "multimodal": points("Multimodal"),
        "text_only": points("Text-only"),
        "rank_multimodal": count("Rank, multimodal"),
        "rank_text_only": count("Rank, text-only"),
        "shift": number("Places won", 0, signed=True),
    }
    caption = (
        f"{format_count(shifts['n'][0])} questions that every model has in both variants, on the checks that both have."
    )
    return Table("ranks", shifts, columns, captioned(study, caption))


def places_text(shifts: pl.DataFrame) -> Text | None:
    """How many models keep their place, and which one moves furthest."""
    if shifts.height < 2:
        return None
    most = shifts.sort(pl.col("shift").abs(), "name", descending=[True, False]).row(0, named=True)
    values = {
        "kept": shifts.filter(pl.col("shift") == 0).height,
        "models": shifts.height,
        "name": most["name"],
        "first": most["rank_multimodal"],
        "then": most["rank_text_only"],
    }
    template = "{kept:count} of {models:count} models keep their place; **{name}** moves furthest, from the "
    template += "{first:ordinal} to the {then:ordinal}."
    if not most["shift"]:
        template = "All {models:count} models keep their place."
    return Text("ranks-text", template, values)


def rank_text(study: Study, gains: pl.DataFrame) -> Text:
    """How alike the variants rank the models, and what a rank correlation hides."""
    if lack := _lack(gains):
        return cannot("rank-preservation", lack)
    rows = analysis.rank_preservation(
        study.scores, study.matched_scores, judge=study.judge, questions=study.all_questions, seed=study.seed
    )
    kendall, spearman = rows.row(0, named=True), rows.row(1, named=True)
    if kendall["estimate"] is None:
        return cannot("rank-preservation", f"The two rankings cannot be compared: {kendall['reason']}.")
    values = {
        "tau": kendall,
        "rho": spearman,
        "discordant": kendall["discordant"],
        "pairs": kendall["n"] * (kendall["n"] - 1) // 2,
        "gap": kendall["largest_gap"],
    }
    kept = (
        "keeps the order of all models"
        if not kendall["discordant"]
        else "turns {discordant:count} of {pairs:count} pairs"
    )
    return Text(
        "rank-preservation",
        f"Naming the subject {kept}: "
        "Kendall's tau is {tau:number_interval.2}, Spearman's rho {rho:number_interval.2}. A high tau does not mean "
        "an equal tax: two gains differ by up to **{gap:points} points**.",
        values,
    )


# --- domains ----------------------------------------------------------------------------------------------------------


def domain_figure(study: Study, gains: pl.DataFrame, domains: tuple[pl.DataFrame, pl.DataFrame]) -> Figure | Text:
    """The matched gain by domain, for every model and on average."""
    single, mean = domains
    if mean.is_empty():
        return cannot("domains", _lack(gains) or _NO_DOMAINS)
    label = {"measure": pl.lit("Matched gain"), "unit": pl.lit("points")}
    value = {"part": pl.col("domain"), "value": pl.col("estimate")}
    rows = single.select("low", "high", "name", **value, **label, is_focus=pl.col("model") == study.model)
    centres = mean.select("low", "high", **value, **label)
    chart = linked(fields.by_part(rows, centres, order=mean["domain"].to_list()), model="name", domain="part")
    first, last = mean.row(0, named=True), mean.row(-1, named=True)
    ends = f"from {format_points(last['estimate'])} points ({last['domain']}) to {format_points(first['estimate'])}"
    differ = domains_differ(mean)
    title = (
        f"The picture does not cost the same everywhere: {ends} ({first['domain']})"
        if differ is not None and differ["p"] < ALPHA
        else f"No domain is shown to pay more than another: {ends} ({first['domain']})"
    )
    caption = captioned(
        study,
        "Dark tick and line: mean over the models with its 95 % interval over questions; grey dots: single models. "
        f"{_span(mean['n'])} questions a domain.",
        *([f"In colour: {study.model_name}."] if study.model else []),
    )
    return Figure("domains", titled(study, chart, title, _view(study)), caption, title, mean)


def _span(counts: pl.Series) -> str:
    """The least and the largest of some counts, once where they are the same."""
    ends = dict.fromkeys(format_count(int(end)) for end in (counts.to_numpy().min(), counts.to_numpy().max()))
    return " to ".join(ends)


def domains_differ(mean: pl.DataFrame) -> dict[str, float] | None:
    """Cochran's test that the mean gain is the same in every domain; None where fewer than two have a standard error.

    Q is the sum of squared distances to the weighted mean in standard errors, chi-squared with one degree of freedom
    less than there are domains; domains share no question, so their means are independent.
    """
    from scipy.special import chdtrc

    known = mean.filter(pl.col("standard_error") > 0)
    if known.height < 2:
        return None
    gain, weight = known["estimate"].to_numpy(), known["standard_error"].to_numpy() ** -2.0
    centre = float((weight * gain).sum() / weight.sum())
    statistic = float((weight * (gain - centre) ** 2).sum())
    return {
        "statistic": statistic,
        "df": known.height - 1,
        "centre": centre,
        "p": float(chdtrc(known.height - 1, statistic)),
    }


def domain_text(domains: tuple[pl.DataFrame, pl.DataFrame]) -> Text | None:
    """Whether the domains differ by more than the questions at hand would bring about."""
    mean = domains[1]
    if mean.is_empty():
        return None
    differ = domains_differ(mean)
    if differ is None:
        return cannot("domains-text", "There are not two domains with an interval to compare.")
    values = {"first": mean.row(0, named=True), "last": mean.row(-1, named=True), **differ}
    verdict = (
        "The domains differ by more than sampling would bring about"
        if differ["p"] < ALPHA
        else "The domains do not differ by more than sampling would bring about"
    )
    return Text(
        "domains-text",
        "The mean gain is largest on {first[domain]} ({first:interval} points) and smallest on {last[domain]} "
        f"({{last:interval}}). {verdict}: Cochran's Q = {{statistic:number.1}} with {{df:count}} degrees of "
        f"freedom, {{p:p}}.",
        values,
    )


# --- beside the paper -------------------------------------------------------------------------------------------------


def published_table(study: Study, beside: pl.DataFrame) -> Table | None:
    """Both scores and the plain gain beside the paper's."""
    if beside.is_empty():
        return None
    label = {**VARIANT_LABELS, "gain": "Gain"}
    rows = beside.with_columns(label=pl.col("what").replace_strict(label))
    columns: dict[str, Column | str] = {
        "name": text("Model"),
        "label": text("Figure"),
        "estimate": interval("Ours"),
        "published": points("Published"),
        "difference": points("Difference", signed=True),
        "inside": text("Published lies"),
    }
    caption = (
        "The paper's text-only table: scores over all questions of each variant, and their plain difference, which "
        "is what the paper prints as the gain."
    )
    return Table("beside-published", rows, columns, captioned(study, caption))


def beside_note(study: Study, gains: pl.DataFrame, beside: pl.DataFrame) -> Text:
    """How many of the paper's numbers lie in our intervals, or why there are none."""
    if lack := _lack(gains):
        return cannot("published", no_published(study) or lack)
    return published_note(study, beside)


def limits(study: Study) -> Text:
    """What the gain does not show."""
    told = [
        "The gain is what naming the subject brings, not what seeing costs in general: the text-only question is "
        "also worded anew, and it hands over the answer to the step that the picture asks for first. A model that "
        "gains little may see well, or know little even when told.",
        "The models are these models; what is said of all of them together is not about others. A gain is bounded "
        "by what is lacking, so points are not the only scale on which a tax could be constant.",
    ]
    if study.dataset["simulated"]:
        told.append("The data is simulated: nothing here is a finding about any model.")
    return Text("limits", " ".join(told), {})
