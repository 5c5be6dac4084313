"""Do judges agree on checks, on scores and on the order of models, and does the paper say the same of its judges."""

from typing import Any

import numpy as np
import polars as pl

from gamut_analysis import agreement, concordance, paths
from gamut_analysis.chapters.common import (
    BENCHMARK,
    ESTIMATE,
    cannot,
    captioned,
    no_published,
    once,
    published_note,
    titled,
)
from gamut_analysis.charts import bands, grids, lines
from gamut_analysis.charts.links import linked
from gamut_analysis.display import (
    Column,
    Figure,
    Table,
    Text,
    count,
    format_names,
    format_points,
    interval,
    number,
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
ONE_JUDGE = "One judge alone graded this data, so there is no agreement to measure."
_SHOWN = ("alpha_ordinal", "ac1")
_TAU = ("kendall_tau_b", "low_kendall_tau_b", "high_kendall_tau_b")
# How the paper's statements on gaps between two judges begin, and the extreme over models that each is about.
_EXTREMES = {
    "largest per-model score difference": "max_abs_gap",
    "smallest per-model leniency": "smallest",
    "largest per-model leniency": "largest",
}
_NOT_TOGETHER = "The paper's judges did not grade this data together."
_ALL_PAIRS = concordance.MARGINS[-1]
_AGREEMENT = (
    "Agreement of all judges on checks, with the share of each verdict beside it: where contradictions are rare, kappa "
    "and alpha fall and AC1 rises, so neither may stand alone. Intervals over questions."
)


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


@once
def patterns(study: Study) -> pl.DataFrame:
    """What the judges gave, counted by question, tier, role and domain: the sums behind every coefficient."""
    return agreement.verdict_patterns(placed_verdicts(study), by=["model", "tier", "role", "domain"])


@once
def overall(study: Study) -> pl.DataFrame:
    """Agreement of all judges on all checks, every coefficient."""
    return agreement.agreement(patterns(study), questions=study.questions, seed=study.seed)


@once
def grouped(study: Study) -> pl.DataFrame:
    """Agreement of all judges on the checks of each tier, role and domain: `by` says which, `group` which one."""
    labels = {"tier": TIER_LABELS, "role": ROLE_LABELS, "domain": {}}
    parts = []
    for by, spelt in labels.items():
        present = patterns(study).drop_nulls(by)
        if present.is_empty():
            continue
        rows = agreement.agreement(present, by=[by], questions=study.questions, seed=study.seed)
        parts.append(rows.with_columns(group=pl.col(by).cast(pl.String).replace(spelt), by=pl.lit(by)).drop(by))
    return pl.concat(parts) if parts else pl.DataFrame()


def several(study: Study) -> bool:
    """Whether more than one judge graded this variant."""
    return study.coverage.filter(variant=study.variant)["judge"].n_unique() > 1


# --- scores by judge --------------------------------------------------------------------------------------------------


def boards(study: Study) -> pl.DataFrame:
    """Every model's mean under every judge, over the questions that all of them have a score on."""
    common = concordance.common_questions(study.scores, variant=study.variant)
    means = common.group_by("model", "judge", maintain_order=True).agg(
        pl.col("score").mean().alias("estimate"), pl.len().alias("n")
    )
    names = study.judges.select("judge", pl.col("name").alias("judge_name"))
    return means.join(study.models.select("model", "name"), on="model").join(names, on="judge").sort("judge", "name")


def rank_lines(study: Study, boards: pl.DataFrame) -> Figure | Text:
    """Each model's score under each judge, joined by a line: crossing lines are changes of order."""
    if boards["judge"].n_unique() < 2:
        return cannot(
            "rank-lines",
            ONE_JUDGE if not several(study) else ("No question was scored for every model by every judge."),
        )
    names = judge_names(study)
    order = [names[study.judge], *(name for judge, name in names.items() if judge != study.judge)]
    order = [name for name in order if name in boards["judge_name"].to_list()]
    chart = linked(lines.slopes(boards, at="judge_name", order=order), model="name")
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
    """How alike the judges rank the models."""
    label = {
        "kendall_tau_b": "Kendall tau-b",
        "spearman": "Spearman rho",
        "soft_pairwise_accuracy": "Soft pairwise accuracy",
    }
    columns = {name: _wide(name, title, of="number", digits=2) for name, title in label.items()}
    caption = "How alike two judges rank the models; intervals over questions, the same resample for both."
    return _rank_table(study, "rank-agreement", columns, caption)


def rank_gaps(study: Study) -> Table | Text:
    """What an agreement of ranks hides: pairs that change their order, and the largest gap of a model's two scores."""
    columns = {
        "discordant_pairs": _wide("discordant_pairs", "Pairs of models in the other order", of="number", digits=0),
        "max_abs_gap": _wide("max_abs_gap", "Largest gap of a model's two scores", of="points"),
    }
    caption = "What two judges differ in, whatever their correlation."
    return _rank_table(study, "rank-gaps", columns, caption)


@once
def rankings(study: Study) -> pl.DataFrame:
    """How alike each two judges rank the models: a row a pair, the ends of each statistic's interval beside it."""
    rows = concordance.judge_rankings(study.scores, variant=study.variant, questions=study.questions, seed=study.seed)
    keys = ["judge_a", "judge_b", "n"]
    wide = rows.pivot("statistic", index=keys, values=list(ESTIMATE), maintain_order=True)
    return _pair_names(study, wide.rename({name: name.removeprefix("estimate_") for name in wide.columns}))


def _wide(name: str, title: str, **more: Any) -> Column:
    return interval(title, low=f"low_{name}", high=f"high_{name}", **more)


def _rank_table(study: Study, name: str, columns: dict[str, Column], caption: str) -> Table | Text:
    rows = rankings(study)
    if rows.is_empty():
        return cannot(name, ONE_JUDGE)
    return Table(name, rows, {"pair": text("Judges"), **columns, "n": count("Questions")}, captioned(study, caption))


def order_text(study: Study, boards: pl.DataFrame) -> Text:
    """How many pairs of models change their order from the reference judge to each other one."""
    if boards["judge"].n_unique() < 2 or boards["model"].n_unique() < 2:
        return cannot("rank-lines-text", "There are no two models and two judges whose order could be compared.")
    wide = boards.pivot("judge", index="model", values="estimate")
    own, names = wide[study.judge].to_numpy(), judge_names(study)
    turned = {
        names[judge]: concordance.pair_counts(own, wide[judge].to_numpy())["discordant"]
        for judge in boards["judge"].unique().sort()
        if judge != study.judge
    }
    most = max(turned, key=lambda name: turned[name])
    values = {
        "judge": study.judge_name,
        "pairs": wide.height * (wide.height - 1) // 2,
        "other": most,
        "turned": turned[most],
    }
    template = (
        "Against {judge}, **{turned:count} of {pairs:count}** pairs of models stand in the other order under {other}, "
        "and no other judge turns more."
        if turned[most]
        else "**No pair** of the {pairs:count} changes its order from {judge} to another judge: the lines do not cross."
    )
    return Text("rank-lines-text", template, values)


@once
def close_orders(study: Study) -> pl.DataFrame:
    """Whether the other judges keep the order of models that the reference judge puts close together."""
    return concordance.close_pair_agreement(
        study.scores, variant=study.variant, judge=study.judge, questions=study.questions
    )


def close_pairs(study: Study) -> Table | Text:
    """The pairs of models by their gap, and how many of them other judges order alike."""
    rows = close_orders(study)
    if rows.is_empty():
        return cannot("close-pairs", ONE_JUDGE)
    known = rows.with_columns(
        label=pl.col("judge").replace(judge_names(study)),
        within=pl.when(pl.col("margin") >= _ALL_PAIRS)
        .then(pl.lit("all pairs"))
        .otherwise(pl.format("up to {} points", (100 * pl.col("margin")).round(0).cast(pl.Int64))),
    )
    columns = {
        "label": text("Judge", sub="within"),
        "same": count("In the same order"),
        "pairs": count("of pairs"),
        "estimate": percent("Share"),
        "ceiling": percent("Two samples of questions"),
    }
    caption = (
        f"Pairs of models by the gap of their scores under {study.judge_name}: how many stand in the same order under "
        f"another judge. Last column: how many would under {study.judge_name} again, with other questions. Pairs share "
        "models, so the shares have no intervals."
    )
    return Table("close-pairs", known, columns, captioned(study, caption))


def close_text(study: Study) -> Text:
    """Whether judges agree less on close pairs than questions alone would let them."""
    rows = close_orders(study).drop_nulls("estimate")
    close = rows.filter(pl.col("margin") < _ALL_PAIRS)
    if close.is_empty():
        return cannot("close-pairs-text", ONE_JUDGE if rows.is_empty() else "No two models lie close together here.")
    narrow = close.filter(pl.col("margin") == close["margin"].min())
    whole = rows.filter(pl.col("margin") >= _ALL_PAIRS)
    values = {
        "margin": float(narrow["margin"][0]),
        "close": float(np.average(narrow["estimate"], weights=narrow["pairs"])),
        "all": float(np.average(whole["estimate"], weights=whole["pairs"])),
        "ceiling": float(np.average(narrow["ceiling"], weights=narrow["pairs"])),
    }
    template = (
        "Of the pairs within {margin:points} points **{close:percent} %** stand in the same order under another judge, "
        "of all pairs {all:percent} %. "
    )
    template += (
        "That is less than other questions alone would leave ({ceiling:percent} %): the judges add to the doubt."
        if values["close"] < values["ceiling"]
        else "That is no less than other questions alone would leave ({ceiling:percent} %): they are simply close."
    )
    return Text("close-pairs-text", template, values)


def ceiling(study: Study) -> Table:
    """What two samples of questions under one judge would agree on: no second judge need do better."""
    rows = concordance.noise_ceiling(
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
        return cannot("verdict-grid", ONE_JUDGE)
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


def verdict_grid_text(study: Study) -> Text:
    """Whether the judges differ by degree or in fact."""
    facing = study.relation("judge_pairs", variant=study.variant).filter(judge_a=study.judge)
    places = range(len(VERDICTS))
    counts = {(i, j): int(facing[f"n_{i}{j}"].sum()) for i in places for j in places}
    apart = sum(n for (i, j), n in counts.items() if i != j)
    if not apart:
        return cannot(
            "verdict-grid-text", ONE_JUDGE if facing.is_empty() else "The judges give every check one verdict."
        )
    near = sum(n for (i, j), n in counts.items() if abs(i - j) == 1) / apart
    values = {
        "judge": study.judge_name,
        "apart": apart / sum(counts.values()),
        "near": near,
        "far": (counts[0, 3] + counts[3, 0]) / apart,
    }
    template = (
        "Over all judges beside {judge}, {apart:percent} % of the checks get two different verdicts. Of these "
        "**{near:percent} %** are one step apart and {far:percent} % put meets against contradicts: "
    )
    template += "mostly a matter of degree." if near > 1 / 2 else "more often a matter of fact than of degree."
    return Text("verdict-grid-text", template, values)


def agreement_table(study: Study) -> Table | Text:
    """Agreement of all judges on checks, several coefficients beside each other."""
    if not several(study):
        return cannot("agreement", ONE_JUDGE)
    return Table("agreement", _labelled(overall(study)), _coefficient_columns("Coefficient", "label"), _AGREEMENT)


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


def agreement_by(study: Study, by: str) -> Figure | Text:
    """Agreement by tier, role or domain: alpha and AC1 beside each other."""
    name = f"agreement-by-{by}"
    if not several(study):
        return cannot(name, ONE_JUDGE)
    rows = grouped(study)
    if rows.is_empty() or rows.filter(by=by).is_empty():
        return cannot(name, f"This data has no {by}s.")
    shown = _labelled(rows.filter(pl.col("coefficient").is_in(list(_SHOWN)), by=by))
    if shown["estimate"].null_count() == shown.height:
        return cannot(name, "No check has a verdict of two judges, or all verdicts are the same.")
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
        titled(
            study,
            linked(chart, domain="group" if by == "domain" else ()),
            title,
            f"{VARIANT_LABELS[study.variant]} questions, all judges",
        ),
        caption,
        title,
        shown,
    )


def agreement_text(study: Study) -> Text:
    """Whether agreement differs between tiers, roles and domains by more than its intervals."""
    name = "agreement-by-text"
    if not several(study) or grouped(study).is_empty():
        return cannot(name, "There are no two groups of checks whose agreement could be compared.")
    parts = grouped(study).filter(coefficient="alpha_ordinal").partition_by("by", maintain_order=True)
    apart = [part["by"][0] for part in parts if _differs(part)]
    kept = [part["by"][0] for part in parts if part["by"][0] not in apart]
    template = (
        "Where the judges agree most and where they agree least, ordinal alpha lies apart by more than both intervals "
        "**by {apart:names}**" + ("; by {kept:names} the intervals of both ends overlap." if kept else ".")
        if apart
        else "By {kept:names} the intervals of both ends overlap: **no group is shown to be harder to agree on.**"
    )
    return Text(name, template, {"apart": apart, "kept": kept})


def _differs(alpha: pl.DataFrame) -> bool:
    """Whether the highest and the lowest estimate of some groups have intervals that do not meet."""
    known = alpha.drop_nulls(list(ESTIMATE)).sort("estimate")
    return known.height > 1 and bool((known["high"].head(1) < known["low"].tail(1)).item())


def verdict_agreement_table(study: Study, patterns: pl.DataFrame) -> Table | Text:
    """Agreement on each verdict by itself, which a single coefficient hides."""
    if not several(study):
        return cannot("verdict-agreement", ONE_JUDGE)
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


# --- the answer -------------------------------------------------------------------------------------------------------


def answer(study: Study, boards: pl.DataFrame, gaps: pl.DataFrame) -> Text:
    """Whether the judges agree on the order, and how far apart their levels are."""
    judges = boards["judge"].unique().sort().to_list()
    if len(judges) < 2:
        return Text("answer", "{reason}", {"reason": ONE_JUDGE})
    wide = boards.pivot("judge", index="model", values="estimate")
    firsts = {judge: wide.sort(judge, descending=True)["model"][0] for judge in judges}
    taus = concordance.judge_rankings(
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
        "How far their rankings agree is not defined: there is no order of models in them. "
        if values["low"] is None
        else "Their rankings agree with Kendall tau from {low:number.3} to {high:number.3}; the level differs more "
        "than the order: "
    )
    template += "{lenient} scores {gap:interval} points above the others on the same answers."
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


# --- ours beside the published ----------------------------------------------------------------------------------------


@once
def statements(study: Study) -> pl.DataFrame:
    """What the paper says of its judges beside the same quantity here, in the paper's unit; empty for other data."""
    judged = study.scores.filter(variant=study.variant)["judge"].unique().to_list()
    told = pl.read_csv(paths.published() / "judges.csv").drop_nulls("value").filter(pl.col("slug").is_in(judged))
    if study.dataset.get("benchmark") != BENCHMARK or REFERENCE_JUDGE not in judged or told.is_empty():
        return told.clear()
    ours = [_statement(study, *row) for row in told.select("slug", "statement").iter_rows()]
    inside = pl.when(pl.col("value").is_between("low", "high")).then(pl.lit("inside")).otherwise(pl.lit("outside"))
    return told.hstack(pl.DataFrame(ours, schema=dict.fromkeys(ESTIMATE, pl.Float64))).with_columns(
        named=pl.format("{}: {}", "judge", "statement"), inside=pl.when(pl.col("low").is_not_null()).then(inside)
    )


def _statement(study: Study, judge: str, statement: str) -> dict[str, float | None]:
    """Our value of a statement on a judge, with its interval; nulls for a statement that is not known."""
    if statement.startswith("ranking identical"):
        first, second = sorted((judge, REFERENCE_JUDGE))
        tau = rankings(study).filter(judge_a=first, judge_b=second).row(0, named=True)
        return dict(zip(ESTIMATE, (tau[name] for name in _TAU), strict=True))
    for start, statistic in _EXTREMES.items():
        if statement.startswith(start):
            return _extreme(study, judge, statistic, None)
    if statement.startswith("largest difference between a judge's score of itself"):
        return _extreme(study, judge, "max_abs_gap", (judge, REFERENCE_JUDGE))
    return dict.fromkeys(ESTIMATE)


def _extreme(study: Study, judge: str, statistic: str, models: tuple[str, ...] | None) -> dict[str, float | None]:
    """An extreme over models of how far a judge scores above the reference judge, in points."""
    found = concordance.gap_extremes(
        study.scores,
        variant=study.variant,
        judge=judge,
        reference=REFERENCE_JUDGE,
        models=models,
        questions=study.questions,
        seed=study.seed,
    ).row(by_predicate=pl.col("statistic") == statistic, named=True)
    return {name: None if found[name] is None else 100 * found[name] for name in ESTIMATE}


def published_statements(study: Study) -> Table | Text:
    """Every statement of the paper on its judges, ours beside it, and whether the paper's lies in our interval."""
    rows = statements(study)
    if rows.is_empty():
        return cannot("published-judges", no_published(study) or _NOT_TOGETHER)
    columns = {
        "named": text("Statement of the paper"),
        "estimate": interval("Ours", of="number", digits=2, sub="unit"),
        "value": number("Published", 1, sub="unit"),
        "inside": text("Published lies"),
    }
    caption = (
        "What the paper says of its judges; its full table is not known. Intervals over questions, the same resample "
        "for both judges; those of a smallest or largest gap rest on intervals that hold for all models at once."
    )
    return Table("published-judges", rows, columns, captioned(study, caption))


def statements_note(study: Study) -> Text:
    """How many of the paper's statements lie in our intervals, or why there are none."""
    if statements(study).is_empty():
        return cannot("published", no_published(study) or _NOT_TOGETHER)
    tested = statements(study).drop_nulls("inside")
    if tested.is_empty():
        return cannot("published", "There is no interval here that the paper's numbers could lie in.")
    return published_note(study, tested)
