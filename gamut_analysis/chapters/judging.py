"""The same answers graded again, by the same judge and by an older one; and how answers were graded at all."""

from itertools import combinations
from typing import Any

import polars as pl

from gamut_analysis import agreement, concordance, leniency, repeats, tables
from gamut_analysis.chapters import gradings
from gamut_analysis.chapters.common import ESTIMATE, cannot, captioned, once, titled
from gamut_analysis.chapters.judges import COEFFICIENTS, judge_names, placed_verdicts, several
from gamut_analysis.charts import grids
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
    percent,
    text,
)
from gamut_analysis.study import Study
from gamut_analysis.vocabulary import ROLE_LABELS, TIER_LABELS, VARIANT_LABELS, VERDICT_LABELS, VERDICTS

_ENOUGH = 20  # checks below which a tier or role is left out
_GROUPS = {"tier": TIER_LABELS, "role": ROLE_LABELS}
_ENDS = ("judge_a", "judge_b")


# --- the same judge, asked again --------------------------------------------------------------------------------------


def repeated(study: Study) -> bool:
    """Whether the judge graded some answers of this variant more than once."""
    return bool((study.coverage.filter(judge=study.judge, variant=study.variant)["replicates"] > 1).any())


@once
def placed(study: Study) -> pl.DataFrame:
    """Every verdict of the variant with the tier and role of its check."""
    return placed_verdicts(study)


@once
def again(study: Study) -> pl.DataFrame:
    """The judge's verdicts on the checks that it graded more than once."""
    times = pl.col("verdict").count().over("model", "question_id", "check_id")
    return placed(study).filter(judge=study.judge).filter(times > 1)


@once
def by_grading(study: Study) -> pl.DataFrame:
    """Question scores of every single grading by the judge; the column `judge` says which grading, from 1."""
    counts = study.own_counts.with_columns(judge=(pl.col("replicate") + 1).cast(pl.String))
    return study.scoring.questions(counts)


@once
def moves(study: Study) -> pl.DataFrame:
    """How far each model's question scores move between gradings: a row a model and statistic."""
    return repeats.score_repeats(by_grading(study), questions=study.questions)


@once
def orders(study: Study) -> pl.DataFrame:
    """How alike each two gradings rank the models: a row a pair of gradings."""
    return _orders(study, by_grading(study))


def _orders(study: Study, scores: pl.DataFrame) -> pl.DataFrame:
    """How alike each two graders rank the models that all of them scored, a row a pair, each statistic with its ends.

    A question that some grader did not score for some model is left out for all.
    """
    scored = scores.drop_nulls("score")
    everyone = scored.group_by("model").agg(pl.col("judge").n_unique().alias("graders"))
    kept = everyone.filter(pl.col("graders") == scored["judge"].n_unique())
    common = concordance.common_questions(scores.join(kept, on="model", how="semi"), variant=study.variant)
    rows = concordance.judge_rankings(common, variant=study.variant, questions=study.questions, seed=study.seed)
    wide = rows.pivot("statistic", index=[*_ENDS, "n", "models"], values=list(ESTIMATE), maintain_order=True)
    return wide.rename({name: name.removeprefix("estimate_") for name in wide.columns})


def again_text(study: Study) -> Text:
    """How far the judge is from itself in verdicts, scores and the order of models; or how it could be told."""
    if not repeated(study):
        return _not_repeated(study)
    changed = repeats.changed_verdicts(again(study), questions=study.questions).to_dicts()
    values: dict[str, Any] = {"judge": study.judge_name, **(changed[0] if changed else {"n": 0, "changed": 0})}
    if not values["changed"]:
        return Text("again-text", "Asked again, **{judge} gives all {n:count} checks the same verdict.**", values)
    values["often"] = _triple(values)
    values["change"] = moves(study).filter(statistic="change")["estimate"].mean()
    values["error"] = moves(study).filter(statistic="error")["estimate"].max()
    template = (
        "Asked again, {judge} changes its verdict on **{often:percent_interval} %** of checks, and the score of an "
        "answer moves by {change:points} points on average. In a model's mean that is a standard error of "
        "{error:points} points at most, when each answer is graded once. "
    )
    return Text("again-text", template + _turned(study, values), values)


def _not_repeated(study: Study) -> Text:
    coverage = study.coverage.filter(variant=study.variant).filter(pl.col("replicates") > 1)
    others = sorted({judge_names(study)[judge] for judge in coverage["judge"]})
    template = (
        "{judge} graded every answer once, so it cannot be held against itself; gamut judge with --replicates 3 has "
        "each answer graded three times."
    )
    template += " {others:names} graded more than once: open this page for that judge." if others else ""
    return Text("again-text", template, {"judge": study.judge_name, "others": others})


def _triple(row: dict[str, Any]) -> tuple[float, float | None, float | None]:
    return row["estimate"], row["low"], row["high"]


def _turned(study: Study, values: dict[str, Any]) -> str:
    """Whether models change places between gradings; adds the numbers that it speaks of."""
    pairs = orders(study).drop_nulls("discordant_pairs")
    if pairs.is_empty() or pairs["models"][0] < 2:
        return "There are no two models whose order could be compared."
    values |= {"turned": int(pairs["discordant_pairs"].to_numpy().max()), "pairs": _pairs(pairs["models"][0])}
    if values["turned"]:
        return (
            "From one grading to another up to **{turned:count} of {pairs:count}** pairs of models swap their places."
        )
    return "**No pair** of models swaps its places from one grading to another, of {pairs:count}."


def _pairs(models: int) -> int:
    return models * (models - 1) // 2


def again_agreement(study: Study) -> Table | None:
    """Agreement of the judge's gradings with each other on checks; nothing where there is one."""
    if not repeated(study):
        return None
    graders = again(study).with_columns(judge=(pl.col("replicate") + 1).cast(pl.String)).drop("replicate")
    rows = agreement.agreement(
        agreement.verdict_patterns(graders, by=[]),
        questions=study.questions,
        values=study.scoring.values,
        seed=study.seed,
    )
    kept = rows.filter(pl.col("coefficient").is_in(list(COEFFICIENTS)))
    columns = {
        "label": text("Coefficient"),
        "estimate": interval("Estimate", of="number", digits=3),
        "n": count("Checks"),
        **{verdict: percent(label) for verdict, label in VERDICT_LABELS.items()},
    }
    caption = (
        f"Agreement of {study.judge_name} with itself on the checks that it graded more than once, its gradings taken "
        "as raters; with the share of each verdict. Intervals over questions."
    )
    named = kept.with_columns(label=pl.col("coefficient").replace(COEFFICIENTS))
    return Table("again-agreement", named, columns, captioned(study, caption))


def again_by(study: Study) -> Table | None:
    """Where the judge changes its verdicts: over all, by tier and by role."""
    return _changes(study, "again-by", again(study), "replicate", "graded more than once") if repeated(study) else None


def _changes(study: Study, name: str, verdicts: pl.DataFrame, apart: str, which: str) -> Table:
    """The share of checks whose verdict changes, over all and by tier and role, the most changed first."""
    parts = [
        repeats.changed_verdicts(verdicts, again=apart, questions=study.questions).with_columns(
            label=pl.lit("All"), kind=pl.lit(None, pl.String)
        )
    ]
    for by, labels in _GROUPS.items():
        rows = _changed_by(study, verdicts, apart, by)
        parts.append(rows.with_columns(label=pl.col(by).cast(pl.String).replace(labels), kind=pl.lit(by)).drop(by))
    shown = pl.concat([part.select("label", "kind", pl.exclude("label", "kind")) for part in parts])
    columns = {
        "label": text("Checks", sub="kind"),
        "estimate": interval("Verdict changes", of="percent"),
        "changed": count("Changed"),
        "n": count("of checks"),
    }
    caption = captioned(study, f"Checks {which} whose verdict is not the same each time. Intervals over questions.")
    note = f"Tiers and roles with at least {_ENOUGH} checks, the most changed first."
    return Table(name, shown, columns, caption, note)


def _changed_by(study: Study, verdicts: pl.DataFrame, apart: str, by: str) -> pl.DataFrame:
    rows = repeats.changed_verdicts(verdicts.drop_nulls(by), again=apart, by=[by], questions=study.questions)
    return rows.filter(pl.col("n") >= _ENOUGH).sort("estimate", by, descending=[True, False])


@once
def others(study: Study) -> pl.DataFrame:
    """How often the judge agrees with itself and with each other judge on the same checks: a row an other judge."""
    rows = repeats.against_others(placed(study), judge=study.judge, questions=study.questions)
    return rows.pivot("statistic", index=["judge", "n"], values=list(ESTIMATE), maintain_order=True)


def again_and_others(study: Study) -> Table | None:
    """The judge's agreement with itself beside that with each other judge."""
    if not repeated(study) or others(study).is_empty():
        return None
    named = others(study).with_columns(label=pl.col("judge").replace(judge_names(study)))
    labels = {"itself": "Itself again", "other": "The other judge", "difference": "Difference"}
    columns: dict[str, Column] = {"label": text("Other judge")}
    for name, label in labels.items():
        low, high = f"low_{name}", f"high_{name}"
        columns[f"estimate_{name}"] = interval(label, low=low, high=high, of="percent", signed=name == "difference")
    caption = captioned(
        study, f"Checks on which {study.judge_name} gives the verdict that it, or another judge, gave before."
    )
    note = (
        "Per cent of the pairs of gradings of a check that give the same verdict: two by the judge, and one by each of "
        "the two judges, on the same checks; the difference is paired by check. Intervals over questions."
    )
    return Table("again-and-others", named, columns | {"n": count("Checks")}, caption, note)


def again_and_others_text(study: Study) -> Text | None:
    """Whether another judge is further from this one than this one is from itself."""
    if not repeated(study):
        return None
    if others(study).is_empty():
        return cannot(
            "again-and-others-text", "No other judge graded these checks, so there is nothing to hold this against."
        )
    nearest = others(study).sort("estimate_other", "judge", descending=[True, False]).row(0, named=True)
    values = {
        "judge": study.judge_name,
        "other": judge_names(study)[nearest["judge"]],
        "itself": nearest["estimate_itself"],
        "with_other": nearest["estimate_other"],
        "gap": tuple(nearest[f"{end}_difference"] for end in ESTIMATE),
    }
    template = (
        "On the same checks {judge} agrees **with itself on {itself:percent} %, with {other} on {with_other:percent} "
        "%**: {gap:+percent_interval} points, and with no other judge more often. "
    )
    low = nearest["low_difference"]
    template += (
        "The judges differ by more than one judge's own wavering."
        if low is not None and low > 0
        else "The other judge is not shown to be further from it than it is from itself."
    )
    return Text("again-and-others-text", template, values)


def again_scores(study: Study) -> Table | None:
    """How far each model's scores move between gradings, and what that is worth in its mean."""
    if not repeated(study) or moves(study).is_empty():
        return None
    wide = moves(study).pivot("statistic", index=["model", "n"], values=list(ESTIMATE), maintain_order=True)
    named = wide.join(study.models.select("model", "name"), on="model").sort(
        "estimate_error", "name", descending=[True, False]
    )
    labels = {"sd": "SD of a question's score", "change": "Mean change", "error": "Error of the mean"}
    columns: dict[str, Column] = {"name": text("Model")}
    for name, label in labels.items():
        columns[f"estimate_{name}"] = interval(label, low=f"low_{name}", high=f"high_{name}")
    columns["estimate_share"] = interval("Share of its variance", low="low_share", high="high_share", of="percent")
    caption = captioned(
        study, "How far scores move from one grading to the next, and what that is worth in a model's mean."
    )
    note = (
        "SD of a question's score over its gradings; mean absolute change of two gradings; the standard error that "
        "grading alone gives a model's mean when each answer is graded once, SD / √n; and its part of the variance of "
        "that mean. Intervals over questions hold this part already; k gradings of each answer divide it by k."
    )
    return Table("again-scores", named, columns | {"n": count("Questions")}, caption, note)


def again_orders(study: Study) -> Table | None:
    """How alike two gradings by the judge rank the models."""
    if not repeated(study) or orders(study).drop_nulls("discordant_pairs").is_empty():
        return None
    named = orders(study).with_columns(pair=pl.format("{} and {}", *_ENDS))
    columns = {
        "pair": text("Gradings"),
        "kendall_tau_b": _ends("Kendall tau-b", "kendall_tau_b", digits=2),
        "discordant_pairs": _ends("Pairs of models in the other order", "discordant_pairs", digits=0),
        "max_abs_gap": interval("Largest gap of a model's two scores", low="low_max_abs_gap", high="high_max_abs_gap"),
        "n": count("Questions"),
    }
    caption = "How alike two gradings of the same answers by the same judge rank the models; intervals over questions."
    return Table("again-orders", named, columns, captioned(study, caption))


def _ends(label: str, name: str, *, digits: int) -> Column:
    return interval(label, low=f"low_{name}", high=f"high_{name}", of="number", digits=digits)


# --- old judge against new --------------------------------------------------------------------------------------------


@once
def beginnings(study: Study) -> pl.DataFrame:
    """When each judge began to grade this variant, the earliest first; judges without a time are left out."""
    verdicts, judging = (
        tables.read(study.path, name, where={"variant": study.variant}, columns=("judge", time))
        for name, time in (("verdicts", "judged_at"), ("judging", "first_at"))
    )
    times = pl.concat([verdicts.rename({"judged_at": "at"}), judging.rename({"first_at": "at"})])
    return times.drop_nulls("at").group_by("judge").agg(pl.col("at").min()).sort("at", "judge")


def succession(study: Study) -> tuple[str, str] | None:
    """The older and the newer of two judges of the same checks: the judge and its predecessor, else the two latest.

    Judges follow each other by the time of their first grading; without times, by the version of the prompt where one
    model graded with two. Of several predecessors one of the same model comes first, then the latest.
    """
    at = dict(beginnings(study).iter_rows())
    met = set(study.relation("judge_pairs", variant=study.variant).select(_ENDS).unique().iter_rows())
    for new in [judge for judge in (study.judge, *reversed(at)) if judge in at]:
        older = [judge for judge in at if at[judge] < at[new] and (judge, new) in met]
        if older:
            return max(older, key=lambda judge: (_same_model(study, judge, new), at[judge], judge)), new
    prompts = {row["judge"]: row for row in gradings.told(study).to_dicts() if row["prompt_hashes"]}
    for old, new in combinations(sorted(prompts, key=lambda judge: (prompts[judge]["prompts"], judge)), 2):
        other_prompt = prompts[old]["prompts"] != prompts[new]["prompts"]
        if other_prompt and (old, new) in met and _same_model(study, old, new):
            return old, new
    return None


def _same_model(study: Study, one: str, other: str) -> bool:
    """Whether two judges are one model under two protocols: by what the data says, else by the name before brackets."""
    models = {row["judge"]: row["model"] or row["judge"].partition(" (")[0] for row in study.judges.to_dicts()}
    return bool(models[one] == models[other])


def _no_succession(study: Study) -> str:
    if not several(study):
        return "One judge alone graded this data, so there is no older judge to hold it against."
    if beginnings(study).height < 2:
        return "The data does not say when the judges graded, so none of them is the older one."
    return "No two judges graded the same checks one after the other."


@once
def shifts(study: Study) -> pl.DataFrame:
    """How much higher the newer judge scores than the older one on the same answers: by model, and null for all."""
    pair = succession(study)
    if pair is None:
        return pl.DataFrame()
    rows = leniency.judge_gaps(_of_pair(study, pair), variant=study.variant, questions=study.questions)
    return rows.filter(judge=pair[1])


def _of_pair(study: Study, pair: tuple[str, str]) -> pl.DataFrame:
    return study.scores.filter(pl.col("judge").is_in(list(pair)), pl.col("variant") == study.variant)


@once
def transitions(study: Study) -> pl.DataFrame:
    """What the newer judge makes of each verdict of the older one: a row a pair of verdicts, share of all checks.

    Gradings are paired by their number: where one judge graded more often, its later gradings are left out.
    """
    pair = succession(study)
    if pair is None:
        return pl.DataFrame()
    facing = study.relation("judge_pairs", variant=study.variant).filter(judge_a=pair[0], judge_b=pair[1])
    cells = [
        {"old": VERDICT_LABELS[a], "new": VERDICT_LABELS[b], "checks": int(facing[f"n_{i}{j}"].sum())}
        for i, a in enumerate(VERDICTS)
        for j, b in enumerate(VERDICTS)
    ]
    return pl.DataFrame(cells).with_columns(share=pl.col("checks") / pl.col("checks").sum())


def succession_text(study: Study) -> Text:
    """Whether the newer judge is stricter than the older one, and what it changes; or why there is none."""
    pair = succession(study)
    if pair is None:
        return cannot("succession-text", _no_succession(study))
    names, shift = judge_names(study), shifts(study).filter(pl.col("model").is_null()).row(0, named=True)
    values: dict[str, Any] = {"old": names[pair[0]], "new": names[pair[1]], "changed": _changed_share(study)}
    if not values["changed"]:
        template = "**{new} gives the verdict of {old}**, its predecessor, on every check that both graded."
        return Text("succession-text", template, values)
    told = [_shift_words(shift, values), "{changed:percent} % of the verdicts change."]
    told += [_swap_words(study, pair, values), _role_words(study, pair, values)]
    return Text("succession-text", " ".join(told).strip(), values)


def _shift_words(shift: dict[str, Any], values: dict[str, Any]) -> str:
    estimate, low, high = values["shift"] = _triple(shift)
    if low is not None and high is not None and (low > 0 or high < 0):
        if high < 0:
            values["shift"] = -estimate, -high, -low
        word = "stricter" if high < 0 else "more lenient"
        return f"**{{new}} is {{shift:interval}} points {word} than {{old}}**, its predecessor, on the same answers."
    return (
        "**{new} is not shown to be stricter or more lenient than {old}**, its predecessor: {shift:+interval} points "
        "on the same answers."
    )


def _changed_share(study: Study) -> float:
    return float(transitions(study).filter(pl.col("old") != pl.col("new"))["share"].sum())


def _swap_words(study: Study, pair: tuple[str, str], values: dict[str, Any]) -> str:
    """Whether models change places from one judge to the other; adds the numbers that it speaks of."""
    rows = _orders(study, _of_pair(study, pair)).drop_nulls("discordant_pairs").to_dicts()
    if not rows or rows[0]["models"] < 2:
        return "There are no two models whose order could be compared."
    row = rows[0]
    values |= {"swaps": int(row["discordant_pairs"]), "pairs": _pairs(row["models"])}
    values["tau"] = row["kendall_tau_b"], row["low_kendall_tau_b"], row["high_kendall_tau_b"]
    told = (
        "It swaps **{swaps:count} of {pairs:count}** pairs of models"
        if values["swaps"]
        else "It swaps **no pair** of {pairs:count}"
    )
    told += " (Kendall tau {tau:number_interval})"
    own = orders(study)["discordant_pairs"].drop_nulls() if pair[1] == study.judge and repeated(study) else pl.Series()
    if own.is_empty():
        return f"{told}."
    values["own"] = int(own.to_numpy().max())
    return told + (
        "; asked again, it swaps up to {own:count} by itself." if values["own"] else "; asked again, it swaps none."
    )


def _role_words(study: Study, pair: tuple[str, str], values: dict[str, Any]) -> str:
    """Which role's checks changed most, where several have enough checks."""
    roles = _changed_by(study, _verdicts_of(study, pair), "judge", "role")
    if roles.height < 2:
        return ""
    values |= {"role": ROLE_LABELS[str(roles["role"][0])], "most": roles["estimate"][0]}
    return "Most verdicts change on checks of the role {role}: {most:percent} %."


def _verdicts_of(study: Study, pair: tuple[str, str]) -> pl.DataFrame:
    return placed(study).filter(pl.col("judge").is_in(list(pair)))


def succession_grid(study: Study) -> Figure | None:
    """What became of the older judge's verdicts under the newer one, in per cent of checks."""
    pair = succession(study)
    if pair is None:
        return None
    old, new = (judge_names(study)[judge] for judge in pair)
    frame, labels = transitions(study), list(VERDICT_LABELS.values())
    title = f"{new} changes {format_points(_changed_share(study))} % of the verdicts of {old}"
    chart = grids.heat(
        frame, row="old", column="new", value="share", rows=labels, columns=labels, title="Per cent", text=".1f"
    )
    caption = captioned(
        study,
        f"Rows: {old}, the older judge; columns: {new}, the newer one. Per cent of the "
        f"{format_count(int(frame['checks'].sum()))} checks that both graded; the diagonal is what did not change.",
    )
    return Figure(
        "succession-grid",
        titled(study, chart, title, f"{VARIANT_LABELS[study.variant]} questions"),
        caption,
        title,
        frame,
    )


def succession_shifts(study: Study) -> Table | None:
    """Each model's score under the older and the newer judge, and the difference on the same answers."""
    pair = succession(study)
    if pair is None:
        return None
    old, new = pair
    scored = _of_pair(study, pair).drop_nulls("score").select("model", "question_id", "judge", "score")
    both = scored.filter(judge=old).join(scored.filter(judge=new), on=["model", "question_id"], suffix="_new")
    means = both.group_by("model").agg(pl.col("score").mean().alias("old"), pl.col("score_new").mean().alias("new"))
    rows = (
        shifts(study).drop_nulls("model").join(means, on="model").join(study.models.select("model", "name"), on="model")
    )
    names = judge_names(study)
    columns = {
        "name": text("Model"),
        "old": Column(names[old], "points"),
        "new": Column(names[new], "points"),
        "estimate": interval("Shift", signed=True),
        "n": count("Questions"),
    }
    caption = (
        "Scores by the older and the newer judge over the questions that both scored; the shift is paired by question."
    )
    return Table("succession-shifts", rows.sort("estimate", "name"), columns, captioned(study, caption))


def succession_by(study: Study) -> Table | None:
    """Where the newer judge changes verdicts: over all, by tier and by role."""
    pair = succession(study)
    if pair is None:
        return None
    return _changes(study, "succession-by", _verdicts_of(study, pair), "judge", "that both judges graded")


# --- how it was judged ------------------------------------------------------------------------------------------------


def how_judged(study: Study) -> Table | Text:
    """Prompt, checks a call, tokens, cost, time and state of the run of each judge; or that the data does not say."""
    frame = gradings.told(study)
    rows = frame.to_dicts()
    if not rows:
        return cannot("how-judged", "The data does not say how it was judged (prompt, tokens, cost).")
    shown = frame.with_columns(
        pl.col("judge").replace(judge_names(study)).alias("label"),
        pl.Series("protocol", [gradings.prompt_words(row) or "prompt not told" for row in rows], pl.String),
        pl.Series("portion", [gradings.checks_words(row) for row in rows], pl.String),
        pl.Series("run", [gradings.run_words(row) for row in rows], pl.String),
        pl.when(pl.col("calls") > 0).then(pl.col("seconds") / pl.col("calls")).alias("pace"),
        minutes=pl.col("seconds") / 60,
        reason=pl.lit("the data does not say"),
    )
    columns = {
        "label": text("Judge", sub="protocol"),
        "portion": text("Checks a call", align="right"),
        "gradings": count("Gradings"),
        "calls": count("Calls"),
        "input_tokens": count("Tokens in"),
        "output_tokens": count("Tokens out"),
        "cost_usd": number("Cost", 2 if max(row["cost_usd"] or 0 for row in rows) >= 1 else 4, unit="USD"),
        "pace": number("A call", 1, unit="seconds"),
        "minutes": number("In all", 1, unit="minutes"),
        "run": text("Run"),
    }
    caption = captioned(study, "How answers were graded, and what it took, as far as the data tells.")
    return Table("how-judged", shown, columns, caption, _told_in_part(rows))


def _told_in_part(rows: list[dict[str, Any]]) -> str:
    """What the columns mean, and what the sums leave out because single gradings do not tell it, or were replaced."""
    total = sum(row["gradings"] for row in rows)
    said = [
        "A grading is one pass of a judge over an answer. Under the judge: the version of its prompt and the first "
        "digits of that prompt's hash. Times are added up over gradings, though these may run side by side."
    ]
    for column, what in (("with_tokens", "Tokens are"), ("with_cost", "The cost is")):
        known = sum(row[column] for row in rows)
        if 0 < known < total:
            said.append(f"{what} told of {format_count(known)} of {format_count(total)} gradings.")
    if replaced := sum(row["superseded"] for row in rows):
        said.append(f"Earlier gradings that were replaced and are not counted: {format_count(replaced)}.")
    return " ".join(said)
