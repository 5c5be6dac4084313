"""Do judges agree on checks, on scores and on the order of models; who is lenient, favours itself, is coherent."""

from typing import Any

import polars as pl

from gamut_analysis import agreement, coherence, leniency, paths, ranking
from gamut_analysis.chapters.common import BENCHMARK, cannot, captioned, no_published, titled
from gamut_analysis.charts import bands, grids, lines
from gamut_analysis.display import (
    Figure,
    Table,
    Text,
    count,
    format_names,
    format_points,
    interval,
    number,
    p_value,
    percent,
    text,
)
from gamut_analysis.study import REFERENCE_JUDGE, Study
from gamut_analysis.vocabulary import ROLE_LABELS, TIER_LABELS, VARIANT_LABELS, VERDICT_LABELS, VERDICTS

COEFFICIENTS = {
    "percent": "Same verdict",
    "alpha_ordinal": "Krippendorff alpha, ordinal",
    "alpha_nominal": "Krippendorff alpha, nominal",
    "ac1": "Gwet AC1",
    "ac2_linear": "Gwet AC2, linear",
    "kappa_quadratic": "Kappa, quadratic",
}
_SHOWN = ("alpha_ordinal", "ac1")
_ONE = "One judge alone graded this data, so there is no agreement to measure."


def judge_names(study: Study) -> dict[str, str]:
    """Display names by judge."""
    return dict(study.judges.select("judge", "name").iter_rows())


def placed_verdicts(study: Study) -> pl.DataFrame:
    """Every verdict of the variant with the tier and role of its check and the domain of its question."""
    verdicts = study.relation("verdicts", variant=study.variant).drop("rationale", "extra")
    placed = verdicts.join(
        study.checks.select("question_id", "check_id", "tier", "role"), on=["question_id", "check_id"]
    )
    return placed.join(study.questions.select("question_id", "domain"), on="question_id")


def patterns(study: Study) -> pl.DataFrame:
    """What the judges gave, counted by question, tier, role and domain: the sums behind every coefficient."""
    return agreement.verdict_patterns(placed_verdicts(study), by=["model", "tier", "role", "domain"])


def several(study: Study) -> bool:
    """Whether more than one judge graded this variant."""
    return study.coverage.filter(variant=study.variant)["judge"].n_unique() > 1


# --- scores by judge --------------------------------------------------------------------------------------------------


def boards(study: Study) -> pl.DataFrame:
    """Every model's mean under every judge, over the questions that all of them have a score on."""
    common = ranking.common_questions(study.scores, variant=study.variant)
    means = common.group_by("model", "judge", maintain_order=True).agg(
        pl.col("score").mean().alias("estimate"), pl.len().alias("n")
    )
    names = study.judges.select("judge", pl.col("name").alias("judge_name"))
    return means.join(study.models.select("model", "name"), on="model").join(names, on="judge").sort("judge", "name")


def rank_lines(study: Study, boards: pl.DataFrame) -> Figure | Text:
    """Each model's score under each judge, joined by a line: crossing lines are changes of order."""
    if boards["judge"].n_unique() < 2:
        return cannot(
            "rank-lines", _ONE if not several(study) else ("No question was scored for every model by every judge.")
        )
    names = judge_names(study)
    order = [names[study.judge], *(name for judge, name in names.items() if judge != study.judge)]
    order = [name for name in order if name in boards["judge_name"].to_list()]
    chart = lines.slopes(boards, at="judge_name", order=order)
    spread = boards.group_by("model", maintain_order=True).agg(pl.col("estimate").max() - pl.col("estimate").min())
    title = (
        f"The same answer scores up to {format_points(spread.select(pl.col('estimate').max()).item())} points "
        f"apart, by judge"
    )
    caption = captioned(
        study, (f"Mean scores over the {boards['n'][0]} questions that every judge scored for every model.")
    )
    subtitle = f"Score in points; {VARIANT_LABELS[study.variant]} questions"
    return Figure("rank-lines", titled(study, chart, title, subtitle), caption, title, boards)


def rank_agreement(study: Study) -> Table | Text:
    """How alike the judges rank the models, with what hides behind it: gaps and discordant pairs."""
    rows = ranking.judge_rankings(study.scores, variant=study.variant, questions=study.questions, seed=study.seed)
    if rows.is_empty():
        return cannot("rank-agreement", _ONE)
    label = {
        "kendall_tau_b": "Kendall tau-b",
        "spearman": "Spearman rho",
        "soft_pairwise_accuracy": "Soft pairwise accuracy",
        "discordant_pairs": "Pairs of models in the other order",
        "max_abs_gap": "Largest gap of a model's two scores",
    }
    rows = rows.filter(pl.col("statistic").cast(pl.String).is_in(list(label)))
    named = _pair_names(study, rows).with_columns(label=pl.col("statistic").cast(pl.String).replace(label))
    columns = {
        "pair": text("Judges"),
        "label": text("Statistic"),
        "estimate": interval("Estimate", of="number", digits=3),
        "n": count("Questions"),
    }
    return Table(
        "rank-agreement",
        named,
        columns,
        ("How alike two judges rank the models; intervals over questions, the same resample for both."),
    )


def ceiling(study: Study) -> Table:
    """What two samples of questions under one judge would agree on: no second judge need do better."""
    rows = ranking.noise_ceiling(
        study.scores, judge=study.judge, variant=study.variant, questions=study.questions, seed=study.seed
    )
    label = {"independent": "Two samples as large as this one", "halves": "The questions dealt into two halves"}
    named = rows.filter(pl.col("statistic") == "kendall_tau_b").with_columns(label=pl.col("sample").replace(label))
    columns = {"label": text("Two samples of questions"), "estimate": interval("Kendall tau-b", of="number", digits=3)}
    return Table(
        "ceiling",
        named,
        columns,
        ("Agreement of a judge with itself when only the questions differ: the mean, and the middle 95 % of samples."),
    )


def _pair_names(study: Study, rows: pl.DataFrame) -> pl.DataFrame:
    names = judge_names(study)
    ends = [pl.col(end).cast(pl.String).replace(names) for end in ("judge_a", "judge_b")]
    return rows.with_columns(pair=pl.concat_str(*ends, separator=" and "))


# --- verdicts ---------------------------------------------------------------------------------------------------------


def verdict_grid(study: Study) -> Figure | Text:
    """The 4 x 4 table of the reference judge against each other one, in per cent of checks."""
    pairs = study.relation("judge_pairs", variant=study.variant)
    facing = pairs.filter(judge_a=study.judge)
    if facing.is_empty():
        return cannot("verdict-grid", _ONE)
    rival = (
        facing.group_by("judge_b", maintain_order=True)
        .agg(pl.len())
        .sort("len", "judge_b", descending=[True, False])["judge_b"][0]
    )
    own = facing.filter(judge_b=rival)
    cells = [
        {"own": VERDICT_LABELS[a], "other": VERDICT_LABELS[b], "checks": int(own[f"n_{i}{j}"].sum())}
        for i, a in enumerate(VERDICTS)
        for j, b in enumerate(VERDICTS)
    ]
    frame = pl.DataFrame(cells).with_columns(share=pl.col("checks") / pl.col("checks").sum())
    labels = list(VERDICT_LABELS.values())
    names = judge_names(study)
    same = frame.filter(pl.col("own") == pl.col("other")).select(pl.col("share").sum()).item()
    title = f"{names[study.judge]} and {names[rival]} give the same verdict on {format_points(same)} % of checks"
    chart = grids.heat(
        frame, row="own", column="other", value="share", rows=labels, columns=labels, title="Per cent", text=".1f"
    )
    caption = captioned(
        study, (f"Rows: {names[study.judge]}; columns: {names[rival]}. Per cent of the checks that both graded.")
    )
    return Figure(
        "verdict-grid",
        titled(study, chart, title, (f"{VARIANT_LABELS[study.variant]} questions")),
        caption,
        title,
        frame,
    )


def agreement_table(study: Study, patterns: pl.DataFrame) -> Table | Text:
    """Agreement of all judges on checks, several coefficients beside each other."""
    if not several(study):
        return cannot("agreement", _ONE)
    rows = agreement.agreement(patterns, questions=study.questions, seed=study.seed)
    return Table("agreement", _labelled(rows), _coefficient_columns("Coefficient", "label"), _agreement_caption(rows))


def _labelled(rows: pl.DataFrame) -> pl.DataFrame:
    kept = rows.filter(pl.col("coefficient").is_in(list(COEFFICIENTS)))
    return kept.with_columns(label=pl.col("coefficient").replace(COEFFICIENTS))


def _coefficient_columns(label: str, key: str) -> dict[str, Any]:
    return {
        key: text(label),
        "estimate": interval("Estimate", of="number", digits=3),
        "n": count("Checks"),
        "meets": percent("Meets"),
        "partially_meets": percent("Partially"),
        "missing": percent("Missing"),
        "contradicts": percent("Contradicts"),
    }


def _agreement_caption(rows: pl.DataFrame) -> str:
    return (
        "Agreement of all judges on checks, with the share of each verdict beside it: where contradictions are rare, "
        "kappa and "
        "alpha fall and AC1 rises, so neither may stand alone. Intervals over questions."
    )


def agreement_by(study: Study, patterns: pl.DataFrame, by: str) -> Figure | Text:
    """Agreement by tier, role or domain: alpha and AC1 beside each other."""
    name = f"agreement-by-{by}"
    if not several(study):
        return cannot(name, _ONE)
    present = patterns.drop_nulls(by)
    if present.is_empty():
        return cannot(name, f"This data has no {by}s.")
    rows = agreement.agreement(present, by=[by], questions=study.questions, seed=study.seed)
    labels = {"tier": TIER_LABELS, "role": ROLE_LABELS}.get(by, {})
    shown = _labelled(rows.filter(pl.col("coefficient").is_in(list(_SHOWN)))).with_columns(
        group=pl.col(by).cast(pl.String).replace(labels)
    )
    alpha = shown.filter(coefficient="alpha_ordinal").sort("estimate", descending=True, nulls_last=True)
    order = alpha["group"].to_list()
    title = (
        (f"Judges agree most on {order[0]} and least on {order[-1]}") if len(order) > 1 else f"Agreement on {order[0]}"
    )
    chart = bands.dots_by_group(
        shown, group="group", kind="label", order=order, kinds=[COEFFICIENTS[c] for c in _SHOWN], title="Agreement"
    )
    caption = captioned(study, "Lines are 95 % intervals over questions. Sorted by ordinal alpha.")
    return Figure(
        name,
        titled(study, chart, title, (f"{VARIANT_LABELS[study.variant]} questions, all judges")),
        caption,
        title,
        shown,
    )


def verdict_agreement_table(study: Study, patterns: pl.DataFrame) -> Table | Text:
    """Agreement on each verdict by itself, which a single coefficient hides."""
    if not several(study):
        return cannot("verdict-agreement", _ONE)
    rows = agreement.verdict_agreement(patterns, questions=study.questions, seed=study.seed)
    kept = rows.filter(pl.col("coefficient") == "specific").with_columns(
        label=pl.col("verdict").cast(pl.String).replace(VERDICT_LABELS)
    )
    columns = {
        "label": text("Verdict"),
        "estimate": interval("Specific agreement", of="number", digits=3),
        "n": count("Checks"),
    }
    return Table("verdict-agreement", kept, columns, "Given that one judge gives the verdict, how often another does.")


# --- leniency, preference, coherence ----------------------------------------------------------------------------------


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
        return cannot("leniency", _ONE)
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
        return cannot("leniency-by-quality", _ONE)
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
        titled(study, chart, title, (f"Gap to the other judges in points; {VARIANT_LABELS[study.variant]} questions")),
        caption,
        title,
        by_model,
    )


def preference_table(study: Study) -> Table | Text:
    """Whether judges favour the model that they are, and its family, beyond their leniency to others."""
    selves = {judge: model for judge, model in study.judges.select("judge", "model").iter_rows() if model is not None}
    if not selves or not several(study):
        return cannot(
            "self-preference", ("No judge of this data is one of its models, so self-preference cannot be asked.")
        )
    kin = study.models.drop_nulls("family").select("model", "family")
    rows = leniency.self_preference(
        study.scores, variant=study.variant, selves=selves, families=dict(kin.iter_rows()), questions=study.questions
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


# --- the answer -------------------------------------------------------------------------------------------------------


def answer(study: Study, boards: pl.DataFrame, gaps: pl.DataFrame) -> Text:
    """Whether the judges agree on the order, and how far apart their levels are."""
    judges = boards["judge"].unique().sort().to_list()
    if len(judges) < 2:
        return Text("answer", "{reason}", {"reason": _ONE})
    wide = boards.pivot("judge", index="model", values="estimate")
    firsts = {judge: wide.sort(judge, descending=True)["model"][0] for judge in judges}
    taus = ranking.judge_rankings(
        study.scores, variant=study.variant, questions=study.questions, seed=study.seed, replicates=1000
    ).filter(pl.col("statistic") == "kendall_tau_b")
    overall = gaps.filter(pl.col("model").is_null()).sort("estimate", descending=True, nulls_last=True)
    lenient = overall.row(0, named=True)
    values: dict[str, Any] = {
        "judges": len(judges),
        "low": taus["estimate"].min(),
        "high": taus["estimate"].max(),
        "lenient": lenient["judge_name"],
        "gap": lenient,
        "first": format_names([study.names[model] for model in dict.fromkeys(firsts.values())]),
    }
    agree = len(set(firsts.values())) == 1
    template = (
        ("**All {judges:count} judges put {first} first.** ")
        if agree
        else "**The judges disagree on the first place ({first}).** "
    )
    template += (
        "Their rankings agree with Kendall tau from {low:number.3} to {high:number.3}; the level differs more than "
        "the order: "
        "{lenient} scores {gap:interval} points above the others on the same answers."
    )
    return Text("answer", template, values)


def limits(study: Study) -> Text:
    """What agreement between judges does not show."""
    return Text(
        "limits",
        "Judges that agree may be wrong together: nothing here compares them with people. Judges of the same answers "
        "share the "
        "answers' noise, so a tau above the ceiling is no sign of a better judge. With {models:count} models, "
        "differences between "
        "two correlations are hard to tell.",
        {"models": study.models.height},
    )


def published_statements(study: Study, boards: pl.DataFrame, gaps: pl.DataFrame) -> Table | Text:
    """What the paper says of its judges, beside the same quantity here."""
    judges = set(boards["judge"].to_list())
    told = pl.read_csv(paths.published() / "judges.csv").drop_nulls("value").filter(pl.col("slug").is_in(list(judges)))
    if study.dataset.get("benchmark") != BENCHMARK or REFERENCE_JUDGE not in judges or told.is_empty():
        return cannot("published-judges", no_published(study) or "The paper's judges did not grade this data together.")
    wide = boards.pivot("judge", index="model", values="estimate")
    ours = [_statement(study, wide, row["slug"], row["statement"]) for row in told.to_dicts()]
    shown = told.with_columns(ours=pl.Series(ours, dtype=pl.Float64), named=pl.format("{}: {}", "judge", "statement"))
    columns = {
        "named": text("Statement of the paper"),
        "ours": number("Ours", 2, sub="unit"),
        "value": number("Published", 1, sub="unit"),
    }
    return Table("published-judges", shown, columns, "What the paper says of its judges; its full table is not known.")


def _statement(study: Study, wide: pl.DataFrame, judge: str, statement: str) -> float | None:
    """Our value of one of the statements on a judge, in its own unit; None for a statement that is not known."""
    difference = (wide[judge] - wide[REFERENCE_JUDGE]) * 100
    if statement.startswith("largest per-model score difference"):
        return float(difference.abs().to_numpy().max())
    if statement.startswith("ranking identical"):
        return float(ranking.rank_correlations(wide[judge].to_numpy(), wide[REFERENCE_JUDGE].to_numpy())["estimate"][0])
    if statement.startswith("largest difference between a judge's score of itself"):
        own = difference.filter(wide["model"].is_in([judge, REFERENCE_JUDGE]))
        return float(own.abs().to_numpy().max()) if own.len() else None
    if statement.startswith("smallest per-model leniency"):
        return float(difference.to_numpy().min())
    return float(difference.to_numpy().max()) if statement.startswith("largest per-model leniency") else None
