"""What rubrics are made of, and what a flat checklist would have said of the same answers."""

from functools import cache
from typing import Any

import polars as pl

from gamut_analysis import paths, structure, tables
from gamut_analysis.chapters.common import BENCHMARK, cannot, captioned, titled, view_of
from gamut_analysis.charts import panels, rubrics
from gamut_analysis.charts.links import linked
from gamut_analysis.charts.units import in_points
from gamut_analysis.display import (
    Figure,
    Table,
    Text,
    count,
    format_count,
    format_names,
    format_number,
    format_ordinal,
    format_percent,
    interval,
    number,
    points,
    text,
)
from gamut_analysis.study import Study
from gamut_analysis.vocabulary import ITEM_TYPE_LABELS, TIER_COLOURS, TIER_LABELS, TIERS, VARIANT_LABELS

SETS = {name: ITEM_TYPE_LABELS[name] for name in structure.STRUCTURES} | {"insight": "Insight"}
_FLAT = {name: name.capitalize() for name in structure.RUBRICS[1:]}
_KEYS = ("tiers", "demotion", "required")
_LEADS = dict(zip(_FLAT, ("Without tiers", "Without demotion", "With all list items required"), strict=True))
_MOST_COMBINATIONS = 20
_MEMBERS = {
    "strict_list": "elements of strict lists",
    "flexible_list": "options of flexible lists",
    "process": "steps of processes",
    "relationship": "aspects of relationships",
}
_NO_ITEMS = "The checks of this data do not say which items of a rubric they come from."
_NO_MULTIMODAL = "The paper describes rubrics of multimodal questions, and this data has none."
_ALL = "All tiers"

# What each published statistic is called, in the order of the paper's sections.
STATISTICS = {
    "questions_multimodal": "Multimodal questions",
    "questions_text_only": "Text-only questions",
    "questions_before_rubric_cleanup": "Questions before rubrics were cleaned up",
    "source_images": "Images to begin with",
    "domains": "Domains",
    "checks_per_question_mean": "Checks a question, mean",
    "checks_per_question_median": "Checks a question, median",
    "checks_per_question_max": "Checks a question, most",
    "answer_critical_checks_mean": "Answer-Critical checks a question, mean",
    "valuable_checks_mean": "Valuable checks a question, mean",
    "context_checks_mean": "Context checks a question, mean",
    "questions_with_structure": "Questions with any structure",
    "questions_with_flexible_list": "Questions with a flexible list",
    "questions_with_strict_list": "Questions with a strict list",
    "questions_with_process": "Questions with a process",
    "questions_with_relationship": "Questions with a relationship",
    "questions_with_meta_insight": "Questions with an insight",
    "structure_types_per_question_mean": "Structure types a question, mean",
    "meta_insights": "Insights",
    "flexible_list_options_median": "Options of a flexible list, median",
    "flexible_lists_long": "Flexible lists of eight options or more",
    "flexible_lists_long_share": "Flexible lists of eight options or more, share",
    "strict_list_items_median": "Elements of a strict list, median",
    "relationship_entities_median": "Entities of a relationship, median",
    "relationships_multi_entity_share": "Relationships of two entities or more",
    "processes": "Processes",
    "processes_mixed_steps": "Processes that mix required and optional steps",
    "processes_mixed_steps_share": "Processes that mix them, share",
    "process_steps_median": "Steps of a process, median",
    "snippets_per_question_mean": "Pages read for a question, mean",
    "distinct_pages_cited": "Different pages cited",
    "meta_items_cited": "Items with a citation",
    "checks_cited": "Checks with a citation",
    "egocentric_images": "Images taken from the wearer's eyes",
}


# --- frames -----------------------------------------------------------------------------------------------------------


def items(study: Study) -> pl.DataFrame:
    """The items of all meta-rubrics, as delivered, else as far as the checks tell of them."""
    delivered = study.relation("items")
    return delivered if delivered.height else structure.items_of(study.relation("checks"))


def statistics(study: Study, items: pl.DataFrame) -> pl.DataFrame:
    """Every statistic that the paper prints of its rubrics: ours with its interval, printed, difference."""
    published = _printed().with_columns(pl.col("value").cast(pl.Float64))
    rows = structure.structure_statistics(study.all_questions, items, study.relation("checks"), published)
    printed = _printed().select("statistic", pl.col("value").alias("printed"))
    label = pl.col("statistic").replace(STATISTICS)
    return rows.join(printed, on="statistic", maintain_order="left").with_columns(label=label)


@cache
def _printed() -> pl.DataFrame:
    """The paper's numbers as it prints them."""
    return pl.read_csv(paths.published() / "structure.csv", infer_schema=False)


def comparable(study: Study) -> bool:
    """Whether the paper's numbers may stand beside ours: for GAMUT, and for the sample, which has its shape."""
    is_sample = study.dataset["simulated"] and study.dataset["name"] == "sample"
    return study.dataset.get("benchmark") == BENCHMARK or is_sample


def tier_sizes(study: Study) -> pl.DataFrame:
    """How many questions have how many checks, in all and in each tier: panel, checks, questions."""
    by_tier = structure.checks_by_tier(study.checks).with_columns(
        panel=pl.col("tier").cast(pl.String).replace_strict(TIER_LABELS)
    )
    whole = _sizes(study).with_columns(panel=pl.lit(_ALL))
    each = pl.concat([part.select("panel", "checks") for part in (whole, by_tier)])
    used = each.group_by("panel", maintain_order=True).agg(pl.col("checks").sum()).filter(pl.col("checks") > 0)["panel"]
    counted = each.group_by("panel", "checks", maintain_order=True).agg(pl.len().alias("questions"))
    return counted.filter(pl.col("panel").is_in(used.to_list())).sort("panel", "checks")


def _sizes(study: Study) -> pl.DataFrame:
    """How many checks each question has: question_id, checks."""
    by_tier = structure.checks_by_tier(study.checks)
    return by_tier.group_by("question_id", maintain_order=True).agg(pl.col("checks").sum())


def rescored(study: Study) -> pl.DataFrame:
    """Scores, ranks and changes of the complete models under other rubrics; empty where checks have no roles."""
    counts = tables.item_role_counts(study.path, variant=study.variant, judge=study.judge)
    scored = study.own_scores.group_by("model", maintain_order=True).agg(
        pl.col("score").is_not_null().all().alias("complete")
    )
    kept = counts.filter(pl.col("model").is_in(scored.filter("complete")["model"].to_list()))
    if kept["role"].null_count() == kept.height:
        return pl.DataFrame()
    rows = structure.rescored(kept, study.scoring, questions=study.questions)
    return rows.join(study.models.select("model", "name"), on="model", maintain_order="left")


def _not_rescored(study: Study) -> str:
    """Why no other rubric can be made."""
    if study.checks["role"].null_count() == study.checks.height:
        return "The checks of this data have no roles, so no other rubric can be made from them."
    return "No model is graded in full, so no other rubric can be compared with the compiled one."


# --- what rubrics are made of -----------------------------------------------------------------------------------------


def answer(study: Study, statistics: pl.DataFrame, rescored: pl.DataFrame) -> Text:
    """How much a rubric asks and in what form, and what would change if it were a flat list."""
    rows = {row["statistic"]: row for row in statistics.to_dicts()}
    checks, structured = rows["checks_per_question_mean"], rows["questions_with_structure"]
    if checks["ours"] is None:
        return _sizes_alone(study)
    values: dict[str, Any] = {"checks": (checks["ours"], checks["low"], checks["high"])}
    template = "**A question is graded by {checks:number_interval.1} checks on average**"
    if structured["ours"] is not None:
        values["structured"] = [structured[name] / 100 for name in ("ours", "low", "high")]
        template += ", and {structured:percent_interval.0} % of the questions ask for more than single facts: lists, "
        template += "processes or relationships"
    template += "."
    flat = _flat_values(rescored)
    if flat and not any(flat[key] for key in _KEYS):
        template += " **No simpler rubric would move any of {models:count} models** on the same verdicts."
    elif flat:
        template += (
            " **Without tiers, the same verdicts would put {tiers:count} of {models:count} models on another place**; "
            "with every option of a list required, {required:count}; without demotion, {demotion:count}."
        )
    return Text("answer", template, values | flat)


def _sizes_alone(study: Study) -> Text:
    """How many checks a question has, where no multimodal rubric is there to be described."""
    sizes = _sizes(study)
    if not sizes["checks"].sum():
        return cannot("answer", "The questions of this data have no checks, so no rubric can be shown.")
    median, low, high = structure.median_interval(sizes["checks"].cast(pl.Float64).to_numpy())
    kind, value = ("number", median) if low is None else ("number_interval", (median, low, high))
    values = {"checks": value, "variant": VARIANT_LABELS[study.variant].lower(), "why": _NO_MULTIMODAL}
    return Text(
        "answer", f"**Half of the {{variant}} questions have {{checks:{kind}.1}} checks or more.** {{why}}", values
    )


def _flat_values(rescored: pl.DataFrame) -> dict[str, int]:
    """How many models each other rubric moves."""
    if rescored.is_empty() or rescored["model"].n_unique() < 2:
        return {}
    moved = [rescored.filter(pl.col("rubric") == rubric, pl.col("shift") != 0).height for rubric in _FLAT]
    return {**dict(zip(_KEYS, moved, strict=True)), "models": rescored["model"].n_unique()}


def tiers(study: Study) -> Figure:
    """How many checks questions have, in all and by tier."""
    sizes = tier_sizes(study)
    order = [name for name in (_ALL, *TIER_LABELS.values()) if name in sizes["panel"].to_list()]
    medians = _medians(study, order)
    colours = {TIER_LABELS[tier]: TIER_COLOURS[tier] for tier in TIERS}
    chart = panels.bar_panels(
        sizes,
        panel="panel",
        panels=order,
        x="checks",
        count="questions",
        x_title="Checks of a question",
        count_title="Questions",
        colours=colours,
        marks=medians,
    )
    whole = sizes.filter(panel=_ALL)
    low, high = min(whole["checks"].to_list()), max(whole["checks"].to_list())
    title = (
        f"From {low} to {high} checks a question, "
        f"{format_number(medians.filter(panel=_ALL)['value'][0], 0)} in the middle"
    )
    caption = captioned(
        study,
        f"Number of questions by number of checks; line: median. n = {int(whole['questions'].sum())} questions.",
        *_assumed(study),
    )
    subtitle = f"{VARIANT_LABELS[study.variant]} questions"
    return Figure("checks-by-tier", titled(study, chart, title, subtitle), caption, title, sizes)


def _assumed(study: Study) -> list[str]:
    return [study.dataset["assumptions"]] if study.dataset["assumptions"] else []


def _medians(study: Study, order: list[str]) -> pl.DataFrame:
    by_tier = structure.checks_by_tier(study.checks).with_columns(
        panel=pl.col("tier").cast(pl.String).replace_strict(TIER_LABELS)
    )
    whole = _sizes(study).with_columns(panel=pl.lit(_ALL))
    each = pl.concat([part.select("panel", "checks") for part in (whole, by_tier)])
    rows = (
        each.group_by("panel", maintain_order=True)
        .agg(pl.col("checks").median().alias("value"))
        .filter(pl.col("panel").is_in(order))
    )
    shown = [f"median {format_number(value, 0 if value == round(value) else 1)}" for value in rows["value"]]
    return rows.with_columns(label=pl.Series(shown, dtype=pl.String))


def tiers_text(study: Study) -> Text:
    """How the checks fall on the tiers, and how many questions lack one."""
    by_tier = structure.checks_by_tier(study.checks)
    total = int(by_tier["checks"].sum())
    if not total:
        return cannot("checks-by-tier-text", "This data has no checks.")
    counts = {tier: int(by_tier.filter(tier=tier)["checks"].sum()) for tier in TIERS}
    used = [tier for tier in TIERS if counts[tier]]
    if len(used) == 1:
        alone = {"total": total, "tier": TIER_LABELS[used[0]]}
        return Text("checks-by-tier-text", "All {total:count} checks are of one tier, {tier}.", alone)
    values: dict[str, Any] = {"total": total} | {tier: counts[tier] / total for tier in used}
    verbs = (" are", "", "")
    told = [f"{{{tier}:percent.0}} %{verb} {TIER_LABELS[tier]}" for tier, verb in zip(used, verbs, strict=False)]
    template = "Of {total:count} checks " + format_names(told) + "."
    lacking = {tier: by_tier.filter((pl.col("tier") == tier) & (pl.col("checks") == 0)).height for tier in used}
    if any(lacking.values()):
        without = [f"{format_count(number)} without {TIER_LABELS[tier]}" for tier, number in lacking.items() if number]
        values["lacking"] = format_names(without)
        template += " Not every question has them all ({lacking}): the weight of the tier then goes to the others."
    return Text("checks-by-tier-text", template, values)


def combinations(study: Study, items: pl.DataFrame) -> Figure | Text:
    """Which structures come together in a question: an UpSet plot."""
    if items.is_empty():
        return cannot("structure-combinations", _NO_ITEMS)
    rows = structure.structure_combinations(items)
    sizes = structure.structure_sizes(items)
    shown = rows.head(_MOST_COMBINATIONS)
    first = rows.row(0, named=True)
    title = f"Most often: {first['combination']}, in {format_percent(first['estimate'], 0)} % of the questions"
    told = ["Bars above: questions with exactly this combination; bars at the left: questions with this structure."]
    if rows.height > shown.height:
        told.append(f"The {rows.height - shown.height} rarest combinations are left out.")
    told.append(f"n = {first['n']} questions.")
    chart = rubrics.upset(shown, sizes, sets=SETS)
    alt_text = "; ".join(f"{row['combination']} {row['questions']}" for row in shown.to_dicts())
    return Figure(
        "structure-combinations",
        titled(study, chart, title, "Structures of the meta-rubrics"),
        captioned(study, *told),
        alt_text,
        rows.select("combination", "questions", "estimate", "low", "high", "n"),
    )


def combinations_text(items: pl.DataFrame) -> Text:
    """How many structures a question mixes."""
    if items.is_empty():
        return cannot("structure-combinations-text", _NO_ITEMS)
    rows = structure.structure_combinations(items).with_columns(
        types=pl.sum_horizontal(pl.col(name).cast(pl.Int64) for name in structure.STRUCTURES)
    )
    asked = int(rows["questions"].sum())
    several = int(rows.filter(pl.col("types") >= 2)["questions"].sum())
    alone = int(rows.filter(pl.col("types") == 0)["questions"].sum())
    return Text(
        "structure-combinations-text",
        "**{several:percent.0} %** of the questions mix two structures or more, {alone:percent.0} % hold none; "
        "{kinds:count} different combinations occur in {asked:count} questions.",
        {"several": several / asked, "alone": alone / asked, "kinds": rows.height, "asked": asked},
    )


def lengths(study: Study, items: pl.DataFrame) -> Figure | Text:
    """How long lists, processes and relationships are."""
    rows = structure.member_lengths(items) if items.height else pl.DataFrame()
    if rows.is_empty():
        return cannot("structure-lengths", _NO_ITEMS if items.is_empty() else "These rubrics hold single facts alone.")
    label = pl.col("item_type").cast(pl.String).replace_strict(ITEM_TYPE_LABELS)
    named = rows.with_columns(panel=label, members=pl.col("n_members"))
    order = [
        ITEM_TYPE_LABELS[name] for name in structure.STRUCTURES if ITEM_TYPE_LABELS[name] in named["panel"].to_list()
    ]
    chart = panels.bar_panels(
        named,
        panel="panel",
        panels=order,
        x="members",
        count="items",
        x_title="Elements, options, steps or aspects",
        count_title="Items",
    )
    longest = rows.sort("n_members", descending=True).row(0, named=True)
    title = f"Most structures are short; the longest has {longest['n_members']} members"
    return Figure(
        "structure-lengths",
        titled(study, chart, title, "Members of the structures in the meta-rubrics"),
        captioned(study, f"Number of items by length. n = {rows['items'].sum()} items."),
        title,
        rows.select("item_type", "n_members", "items", "estimate", "low", "high", "n"),
    )


def lengths_text(items: pl.DataFrame) -> Text:
    """The median length of each structure with its exact interval."""
    known = items.drop_nulls("n_members") if items.height else items
    told: list[str] = []
    values: dict[str, Any] = {}
    for name, words in _MEMBERS.items():
        own = known.filter(pl.col("item_type").cast(pl.String) == name) if known.height else known
        if own.height:
            median, low, high = structure.median_interval(own["n_members"].cast(pl.Float64).to_numpy())
            told.append(f"{{{name}:number_interval.0}} {words}" if low is not None else f"{{{name}:number.0}} {words}")
            values[name] = {"estimate": median, "low": low, "high": high} if low is not None else median
    if not told:
        return cannot(
            "structure-lengths-text", _NO_ITEMS if items.is_empty() else "These rubrics hold single facts alone."
        )
    return Text(
        "structure-lengths-text", f"In the middle there are {format_names(told)} (median, 95 % interval).", values
    )


def thresholds(study: Study, items: pl.DataFrame) -> Figure | Text:
    """How much of a flexible list an answer must name, and where coverage thresholds begin."""
    lists = _lists(items)
    if lists.is_empty():
        return cannot("list-baselines", "The data does not say how many options its flexible lists have and ask for.")
    chart = rubrics.baselines(lists, long=structure.LONG_LIST)
    wanted = (
        lists.group_by("n_members", "baseline", maintain_order=True)
        .agg(pl.col("lists").sum())
        .sort("lists", descending=True)
    )
    first = wanted.row(0, named=True)
    title = f"The commonest flexible list asks for {first['baseline']} of {first['n_members']} options"
    caption = captioned(
        study,
        f"Number of flexible lists by length and baseline. n = {lists['lists'].sum()} lists. Lists of "
        f"{structure.LONG_LIST} options or more, and lists of the tier Context, have coverage thresholds above their "
        f"baseline in place of a bonus for each option.",
    )
    shown = titled(study, chart, title, "Flexible lists of the meta-rubrics")
    return Figure("list-baselines", shown, caption, title, lists)


def _lists(items: pl.DataFrame) -> pl.DataFrame:
    return structure.baseline_thresholds(items).drop_nulls("baseline") if items.height else pl.DataFrame()


def thresholds_text(items: pl.DataFrame) -> Text:
    """What share of its options a flexible list asks for, and how many lists have thresholds."""
    lists = _lists(items)
    if lists.is_empty():
        return cannot("list-baselines-text", "No flexible list says what it asks for.")
    weight = pl.col("lists") / pl.col("lists").sum()
    row = lists.select(
        asked=(pl.col("baseline") / pl.col("n_members") * weight).sum(),
        graded=((pl.col("n_thresholds") > 0) * weight).sum(),
        long=(pl.col("is_long") * weight).sum(),
    ).row(0, named=True)
    return Text(
        "list-baselines-text",
        "To meet the baseline an answer must name **{asked:percent.0} %** of a list's options on average; whoever "
        "names them all gets more, one tier lower: by a bonus for each option, or in {graded:percent.0} % of the lists "
        "by coverage thresholds. {long:percent.0} % of the lists have {limit:count} options or more.",
        {**row, "limit": structure.LONG_LIST},
    )


# --- a flat checklist -------------------------------------------------------------------------------------------------


def shifts(study: Study, rescored: pl.DataFrame) -> Figure | Text:
    """What each other rubric does to every model's score, and who changes place."""
    if rescored.is_empty():
        return cannot("flat-checklist", _not_rescored(study))
    order = rescored.filter(pl.col("rubric") == structure.RUBRICS[0]).sort("score", descending=True)["name"].to_list()
    changed = rescored.filter(pl.col("rubric") != structure.RUBRICS[0]).with_columns(
        panel=pl.col("rubric").cast(pl.String).replace_strict(_FLAT),
        place=pl.when(pl.col("shift") > 0)
        .then(pl.format("up {}", "shift"))
        .when(pl.col("shift") < 0)
        .then(pl.format("down {}", pl.col("shift").abs()))
        .otherwise(pl.lit("")),
    )
    chart = panels.dot_panels(
        in_points(changed, "estimate", "low", "high"),
        panel="panel",
        panels=list(_FLAT.values()),
        row="name",
        order=order,
        titles=dict.fromkeys(_FLAT.values(), "Change, points"),
        mark="place",
        zero=True,
        shared=True,
        focus=study.model_name if study.model else None,
    )
    chart = linked(chart, model="name")
    moved = changed.filter(pl.col("shift") != 0)["model"].n_unique()
    title = (
        f"Another rubric would move {moved} of {len(order)} models" if moved else "No other rubric would move a model"
    )
    caption = captioned(
        study,
        "The same verdicts counted by other rules; change of the score against the rubric as compiled, with 95 % "
        "intervals over questions; words: places gained or lost. Models from the highest score down.",
        f"n = {changed['n'].to_list()[0]} questions.",
    )
    shown = changed.select(
        "rubric", "model", "name", "score", "rank", "shift", "estimate", "low", "high", "n", "reason"
    )
    return Figure("flat-checklist", titled(study, chart, title, view_of(study)), caption, title, shown)


def shifts_text(study: Study, rescored: pl.DataFrame) -> Text:
    """For each other rubric: how many models move, who moves most, and how the level changes."""
    if rescored.is_empty():
        return cannot("flat-checklist-text", _not_rescored(study))
    told: list[str] = []
    values: dict[str, Any] = {}
    for key, (rubric, label) in zip(_KEYS, _LEADS.items(), strict=True):
        rows = rescored.filter(pl.col("rubric") == rubric)
        moved = rows.filter(pl.col("shift") != 0)
        values |= {f"{key}_mean": rows["estimate"].mean(), f"{key}_moved": moved.height}
        sentence = f"**{label}**, scores change by {{{key}_mean:+points}} points on average"
        if moved.height:
            most = moved.sort(pl.col("shift").abs(), "name", descending=[True, False]).row(0, named=True)
            values |= {f"{key}_who": most["name"], f"{key}_from": format_ordinal(most["rank"] + most["shift"])}
            values[f"{key}_to"] = format_ordinal(most["rank"])
            sentence += f" and {{{key}_moved:count}} models move, {{{key}_who}} furthest, from {{{key}_from}} to "
            sentence += f"{{{key}_to}}"
        else:
            sentence += " and no model moves"
        told.append(sentence + ".")
    return Text("flat-checklist-text", " ".join(told), values)


def shifts_table(study: Study, rescored: pl.DataFrame) -> Table | Text:
    """Scores and places under each rubric."""
    if rescored.is_empty():
        return cannot("flat-checklist-scores", _not_rescored(study))
    keys = dict(zip(structure.RUBRICS, ("compiled", *_KEYS), strict=True))
    wide = rescored.with_columns(key=pl.col("rubric").cast(pl.String).replace_strict(keys)).pivot(
        "key", index=["model", "name"], values=["score", "rank"]
    )
    columns: dict[str, Any] = {"name": text("Model")}
    for rubric, key in keys.items():
        columns |= {f"score_{key}": points(rubric.capitalize(), sub=f"place_{key}")}
    places = [pl.Series(f"place_{key}", map(format_ordinal, wide[f"rank_{key}"]), pl.String) for key in keys.values()]
    shown = wide.with_columns(places).sort("rank_compiled", "name")
    caption = captioned(study, f"Scores and places of the complete models by rubric. {view_of(study)}.")
    return Table("flat-checklist-scores", shown, columns, caption)


def firsts_text(rescored: pl.DataFrame) -> Text | None:
    """Whether the first place hangs on the rubric."""
    if rescored.is_empty() or rescored["model"].n_unique() < 2:
        return None
    names = rescored.with_columns(rubric=pl.col("rubric").cast(pl.String)).filter(pl.col("rank") == 1)
    first = {
        rubric: format_names(names.filter(rubric=rubric).sort("name")["name"].to_list()) for rubric in structure.RUBRICS
    }
    compiled = first[structure.RUBRICS[0]]
    others = [f"{first[rubric]} {lead.lower()}" for rubric, lead in _LEADS.items() if first[rubric] != compiled]
    template = "**{compiled}** is first by the rubrics as compiled, and by each of the simpler ones."
    if others:
        template = "**{compiled}** is first by the rubrics as compiled; it would be {others}."
    return Text("flat-checklist-scores-text", template, {"compiled": compiled, "others": format_names(others)})


# --- beside the paper -------------------------------------------------------------------------------------------------


def estimates_table(study: Study, statistics: pl.DataFrame) -> Table | Text:
    """Shares, means and medians with their intervals, beside the printed ones."""
    if statistics.filter(pl.col("kind") == "mean").is_empty():
        return cannot("structure-estimates", _NO_MULTIMODAL)
    rows = statistics.filter(pl.col("kind").is_in(["share", "mean", "median"])).with_columns(
        lies=pl.when("inside").then(pl.lit("inside")).when(~pl.col("inside")).then(pl.lit("outside"))
    )
    columns: dict[str, Any] = {
        "label": text("Statistic", sub="unit"),
        "ours": interval("Ours", of="number"),
        "n": count("n", sub="of"),
    }
    if comparable(study):
        columns |= {
            "printed": text("Published", align="right"),
            "difference": number("Difference", digits=1, signed=True),
            "lies": text("Published lies"),
        }
    caption = (
        "What rubrics are made of, with 95 % intervals: shares by Wilson, means by t over questions, medians by order "
        "statistics. A printed number counts as inside when what rounds to it does."
    )
    return Table("structure-estimates", rows, columns, captioned(study, caption))


def counts_table(study: Study, statistics: pl.DataFrame) -> Table | Text:
    """Counts and maxima, which grow with the number of questions, and what this data cannot tell."""
    if statistics.filter(pl.col("kind") == "mean").is_empty():
        return cannot("structure-counts", _NO_MULTIMODAL)
    rows = statistics.filter(pl.col("kind").is_in(["count", "maximum", "absent"])).with_columns(
        whole=pl.col("ours").cast(pl.Int64), gap=pl.col("difference").cast(pl.Int64)
    )
    columns: dict[str, Any] = {"label": text("Count"), "whole": count("Ours")}
    if comparable(study):
        columns |= {
            "printed": text("Published", align="right"),
            "gap": count("Difference", signed=True),
        }
    caption = "Counts of the data as it is; they are no estimates and have no interval."
    return Table("structure-counts", rows, columns, captioned(study, caption))


def published_note(study: Study, statistics: pl.DataFrame) -> Text:
    """How many printed statistics lie in our intervals, or why none stands beside ours."""
    if not comparable(study):
        return cannot("published", "This data is not GAMUT's, so the paper has no numbers to stand beside these.")
    tested = statistics.drop_nulls("inside")
    template = "**{inside:count} of {n:count}** printed statistics lie inside our intervals."
    if study.dataset.get("benchmark") != BENCHMARK:
        template += (
            " These rubrics are the project's own sample, written to have the shape that the paper reports: the "
            "comparison says how well that was done, and nothing about GAMUT."
        )
    elif study.dataset["simulated"]:
        template += " The rubrics are simulated to these very numbers, so this says how well that was done."
    return Text("published", template, {"inside": tested.filter("inside").height, "n": tested.height})


def limits(study: Study, items: pl.DataFrame) -> Text:
    """What the shape of rubrics does not show."""
    told = [
        "Counts of checks say how finely an answer is graded, not whether the right things are asked. The other "
        "rubrics re-use verdicts on the checks as compiled: a judge who saw a flat list might have graded otherwise, "
        "and the options of a long list were never graded one by one. A model that changes place with one that these "
        "questions do not tell it apart from has not moved by much."
    ]
    if study.relation("items").is_empty() and items.height:
        told.append("No meta-rubrics were delivered; items were inferred from their checks.")
    return Text("limits", " ".join(told), {})
