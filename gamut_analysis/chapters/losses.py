"""Omission and contradiction, by checks and by points; where a model's points go; checks that tell nothing apart."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from gamut_analysis import failures, tables
from gamut_analysis.chapters.common import (
    SAMPLING,
    cannot,
    captioned,
    no_published,
    published,
    published_note,
    shares,
    titled,
    view_of,
)
from gamut_analysis.chapters.model import verdict_shares, where_points_go
from gamut_analysis.charts import dots, fields, parts
from gamut_analysis.charts import losses as charts
from gamut_analysis.charts.links import linked
from gamut_analysis.display import (
    Column,
    Figure,
    Table,
    Text,
    count,
    format_count,
    format_number,
    format_percent,
    format_points,
    interval,
    number,
    percent,
    points,
    role,
    text,
    tier,
    verdict,
)
from gamut_analysis.scoring import ANSWER
from gamut_analysis.study import Study
from gamut_analysis.vocabulary import ROLE_LABELS, TIER_LABELS, VERDICTS

__all__ = ["verdict_shares"]

TOP = 12
PANELS = {"checks": "Of the checks that are not met, %", "points": "Of the points that are lost, %"}
_MEASURES = {
    ("missing", "share"): ("Missing", "% of checks"),
    ("contradicts", "share"): ("Contradicts", "% of checks"),
    ("missing", "lost"): ("Lost to omission", "points"),
    ("contradicts", "lost"): ("Lost to contradiction", "points"),
}
_READINGS = {
    "additive": "As the score adds up",
    "shapley": "Shared over all orders of mending (Shapley)",
    "one_at_a_time": "If that kind alone were mended",
    "contradictions_to_missing": "If every contradiction were an omission",
}
_SILENT = "contradictions_to_missing"
_ALONE = "No check was graded for two models, so none can tell models apart."
_NONE = "No answer is graded in full, so nothing can be said of points."


# --- frames -----------------------------------------------------------------------------------------------------------


def answer_losses(study: Study) -> pl.DataFrame:
    """What partial, missing and contradicted checks cost every scored answer, by tier."""
    return study.scoring.losses(study.own_counts)


def lost(study: Study, losses: pl.DataFrame) -> pl.DataFrame:
    """What each verdict costs every model: points and share of the loss; empty where nothing is scored."""
    if losses.is_empty():
        return pl.DataFrame()
    rows = failures.points_lost(losses, questions=study.questions)
    return rows.join(study.models.select("model", "name"), on="model").sort("name", "verdict")


def ratios(study: Study, losses: pl.DataFrame) -> pl.DataFrame:
    """Omissions for each contradiction of every model, in checks and in points; empty where nothing is scored."""
    if losses.is_empty():
        return pl.DataFrame()
    rows = failures.omission_ratio(study.own_counts, losses, questions=study.questions)
    return rows.join(study.models.select("model", "name"), on="model").sort("name", "measure")


def by_part(study: Study, losses: pl.DataFrame, part: str) -> pl.DataFrame:
    """Shares of checks and points lost, by tier, role or domain, for every model; empty where there are no such parts.

    One row a model, part and measure, in the words of the figure. Points of tiers and roles are what the part takes
    from the score; those of domains are lost on the domain's own questions.
    """
    if losses.is_empty():
        return pl.DataFrame()
    counts, split = _parted(study, losses, part)
    present = counts[part].drop_nulls().n_unique() if part in counts.columns else 0
    if present < 2:
        return pl.DataFrame()
    rates = failures.verdict_rates(counts, by=[part], questions=study.questions).filter(pl.col("rate") == "micro")
    within = [part] if part == "domain" else []
    by = [] if part == "domain" else [part]
    taken = failures.points_lost(split, by=by, within=within, questions=study.questions)
    shown = []
    for (word, kind), (measure, unit) in _MEASURES.items():
        frame = (rates if kind == "share" else taken).filter(pl.col("verdict").cast(pl.String) == word)
        shown.append(
            frame.select(
                "model",
                pl.col(part).cast(pl.String).alias("part"),
                pl.lit(measure).alias("measure"),
                pl.lit(unit).alias("unit"),
                pl.col("estimate").alias("value"),
                "low",
                "high",
                "n",
            )
        )
    labels = {"tier": TIER_LABELS, "role": ROLE_LABELS}.get(part, {})
    named = pl.concat(shown).join(study.models.select("model", "name"), on="model", maintain_order="left")
    return named.drop_nulls(["part", "value"]).with_columns(pl.col("part").replace(labels))


def _parted(study: Study, losses: pl.DataFrame, part: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The counts and the losses of the same answers at a grain that has the part."""
    if part == "tier":
        return study.own_counts, losses
    if part == "domain":
        placed = study.questions.select("question_id", "domain").drop_nulls("domain")
        return study.own_counts.join(placed, on="question_id"), losses.join(placed, on="question_id")
    graded = study.role_counts.drop_nulls("role")
    if graded.is_empty():
        return graded, losses
    return graded, failures.attributed_losses(study.role_counts, study.scoring, grain=["role"])


def part_order(rows: pl.DataFrame, part: str) -> list[str]:
    """Tiers in their own order; roles and domains from the most omission on."""
    if part == "tier":
        present = set(rows["part"].to_list())
        return [label for label in TIER_LABELS.values() if label in present]
    middle = _medians(rows).filter(measure=_MEASURES["missing", "share"][0])
    return middle.sort("value", "part", descending=[True, False])["part"].to_list()


def _medians(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by("part", "measure", "unit", maintain_order=True).agg(pl.col("value").median())


def negative(study: Study) -> pl.DataFrame:
    """The share of every model's answers that score below zero; empty where nothing is scored."""
    if study.own_scores["score"].null_count() == study.own_scores.height:
        return pl.DataFrame()
    rows = failures.negative_share(study.own_scores, questions=study.questions)
    return rows.join(study.models.select("model", "name"), on="model")


def subject(study: Study, board: pl.DataFrame) -> str:
    """The model that the study is about, else the best one; empty where no model has a score."""
    if study.model:
        return study.model
    return next(iter(board.drop_nulls("estimate").sort("estimate", descending=True)["model"]), "")


def tier_losses(study: Study, losses: pl.DataFrame, model: str) -> pl.DataFrame:
    """What partial, missing and contradicted checks of each tier cost a model; adds up to 1 - score."""
    own = losses.filter(model=model)
    if own.is_empty():
        return own
    return failures.points_lost(own, by=["tier"], questions=study.questions).sort("tier", "verdict")


def items(study: Study) -> pl.DataFrame:
    """Every check of this variant with how many models meet it and how it goes with the rest; its text and place."""
    verdicts = _verdicts(study, judge=study.judge)
    if verdicts["verdict"].null_count() == verdicts.height:
        return pl.DataFrame()
    rows = failures.item_analysis(verdicts, study.scoring, judge=study.judge, variant=study.variant)
    return rows.join(_texts(study), on=["question_id", "check_id"], how="left", maintain_order="left")


def splits(study: Study) -> pl.DataFrame:
    """How far every check splits the judges; empty with one judge."""
    if study.coverage.filter(variant=study.variant)["judge"].n_unique() < 2:
        return pl.DataFrame()
    # A million verdicts are grouped by these ids: as codes that takes half the time, and less memory.
    ids = ["model", "judge", "question_id", "check_id"]
    coded = _verdicts(study).with_columns(pl.col(ids).cast(pl.Categorical))
    rows = failures.judge_splits(coded, study.scoring, variant=study.variant)
    rows = rows.with_columns(pl.col("question_id", "check_id").cast(pl.String))
    return rows.join(_texts(study), on=["question_id", "check_id"], how="left", maintain_order="left")


def costliest(study: Study, losses: pl.DataFrame, items: pl.DataFrame, model: str) -> pl.DataFrame:
    """The checks that cost a model most; of equal ones first those that most other models meet."""
    own = losses.filter(model=model).select(ANSWER).unique()
    if own.is_empty() or items.is_empty():
        return pl.DataFrame()
    verdicts = _verdicts(study, judge=study.judge, model=model).join(own, on=ANSWER, how="semi")
    counts = failures.check_counts(verdicts, study.checks)
    split = failures.attributed_losses(counts, study.scoring, grain=["check_id"])
    rows = failures.costliest_checks(
        split, model=model, judge=study.judge, variant=study.variant, top=max(split.height, 1)
    )
    known = items.select("question_id", "check_id", "difficulty", "n", "check", "question", "role")
    placed = rows.join(known, on=["question_id", "check_id"], how="left", maintain_order="left")
    return placed.sort("lost", "difficulty", descending=True, nulls_last=True, maintain_order=True).head(TOP)


def _verdicts(study: Study, **where: str) -> pl.DataFrame:
    """Verdicts of this variant without their reasons, which are long."""
    columns = [*ANSWER, "check_id", "replicate", "verdict"]
    return tables.read(study.path, "verdicts", where={"variant": study.variant, **where}, columns=columns)


def _texts(study: Study) -> pl.DataFrame:
    """What a reader must see of a check: its text, tier, role and question."""
    told = study.questions.select("question_id", pl.coalesce("question", "question_id").alias("question"))
    return study.checks.select(
        "question_id", "check_id", "tier", "role", pl.coalesce("text", "check_id").alias("check")
    ).join(told, on="question_id", how="left")


def beside_published(study: Study, board: pl.DataFrame) -> pl.DataFrame:
    """Every verdict share beside the paper's, and whether the paper's lies in the interval; empty for other data."""
    printed = published(study)
    if not set(VERDICTS) <= set(printed.columns):
        return pl.DataFrame()
    long = printed.select("model", *VERDICTS).unpivot(
        VERDICTS, index="model", variable_name="verdict", value_name="published"
    )
    ours = shares(study).with_columns(pl.col("verdict").cast(pl.String)).drop_nulls("share")
    place = {model: position for position, model in enumerate(board["model"])}
    rows = ours.join(long, on=["model", "verdict"], maintain_order="left").sort(
        pl.col("model").replace_strict(place, return_dtype=pl.Int64), maintain_order=True
    )
    return rows.with_columns(
        difference=pl.col("share") - pl.col("published"),
        inside=pl.when(pl.col("published").is_between("low", "high"))
        .then(pl.lit("inside"))
        .otherwise(pl.lit("outside")),
    )


# --- the answer -------------------------------------------------------------------------------------------------------


def answer(study: Study, lost: pl.DataFrame, ratios: pl.DataFrame) -> Text:
    """How far omission outweighs contradiction, by checks and by points."""
    if ratios.is_empty():
        return cannot("answer", _NONE)
    ends = {}
    for measure in failures.MEASURES:
        known = ratios.filter(pl.col("measure") == measure).drop_nulls("estimate").sort("estimate")
        if known.is_empty():
            return cannot(
                "answer", "No model contradicts a single check, so there is no ratio of omission to contradiction."
            )
        ends[measure] = (known.row(0, named=True), known.row(-1, named=True))
    contradicted = lost.filter(pl.col("verdict") == "contradicts").drop_nulls("share")["share"].sort()
    values: dict[str, Any] = {
        "few": ends["counts"][0],
        "many": ends["counts"][1],
        "least": ends["points"][0],
        "most": ends["points"][1],
        "low": contradicted[0],
        "high": contradicted[-1],
    }
    counted = "{few:number_interval.1} checks are missing for each one that is contradicted"
    weighed = "{least:number_interval.1} points are lost to omission for each one lost to contradiction"
    if ratios["model"].n_unique() > 1:
        counted = (
            "from {few[estimate]:number.1} ({few[name]}) to {many[estimate]:number.1} ({many[name]}) checks are "
            "missing for each one that is contradicted"
        )
        weighed = (
            "from {least[estimate]:number.1} ({least[name]}) to {most[estimate]:number.1} ({most[name]}) points are "
            "lost to omission for each one lost to contradiction; contradiction takes {low:percent.0} to "
            "{high:percent.0} % of the loss"
        )
    return Text("answer", f"**Counted by checks**, {counted}. **Counted by points**, {weighed}.", values)


def shares_text(study: Study) -> Text:
    """Whether the model that leaves out most is also the one that is wrong most often."""
    known = shares(study).drop_nulls("share")
    if known["model"].n_unique() < 2:
        return cannot("verdict-shares-text", "With one model there is nothing to compare.")
    values: dict[str, Any] = {}
    for word in ("missing", "contradicts"):
        ranked = known.filter(pl.col("verdict") == word).sort("share", "name")
        values |= {f"{word}_least": ranked.row(0, named=True), f"{word}_most": ranked.row(-1, named=True)}
    if not values["contradicts_most"]["share"]:
        template = "From {missing_least[share]:percent.0} to **{missing_most[share]:percent.0} %** of the checks are "
        template += "missing ({missing_most[name]} leaves out most), and none is contradicted."
        return Text("verdict-shares-text", template, values)
    same = values["missing_most"]["name"] == values["contradicts_most"]["name"]
    template = (
        "**{missing_most[name]}** both leaves out most ({missing_most[share]:percent.0} % of the checks) and "
        "contradicts most ({contradicts_most[share]:percent} %)"
        if same
        else "**{missing_most[name]}** leaves out most ({missing_most[share]:percent.0} % of the checks), "
        "**{contradicts_most[name]}** contradicts most ({contradicts_most[share]:percent} %)"
    )
    least = "; the least are {missing_least[share]:percent.0} % ({missing_least[name]}) and "
    least += "{contradicts_least[share]:percent} % ({contradicts_least[name]})."
    return Text("verdict-shares-text", template + least, values)


# --- counts against points --------------------------------------------------------------------------------------------


def currencies(study: Study, board: pl.DataFrame, lost: pl.DataFrame) -> Figure | Text:
    """What falls short, in checks and in points: the same verdicts side by side in two currencies."""
    if lost.is_empty():
        return cannot("currencies", _NONE)
    failed = shares(study).filter(pl.col("verdict") != "meets").drop_nulls("share")
    whole = pl.col("share").sum().over("name")
    checks = failed.filter(whole > 0).select(
        pl.lit(PANELS["checks"]).alias("panel"), "name", "verdict", (pl.col("share") / whole).alias("share")
    )
    taken = lost.drop_nulls("share").select(pl.lit(PANELS["points"]).alias("panel"), "name", "verdict", "share")
    rows = pl.concat([checks, taken])
    if rows.is_empty():
        return cannot("currencies", "Every check is met, so there is nothing to split.")
    order = [name for name in board["name"] if name in set(rows["name"])]
    chart = linked(charts.currencies(rows, order=order), model="name")
    contradicted = (
        rows.filter(pl.col("verdict") == "contradicts")
        .group_by("panel", maintain_order=True)
        .agg(pl.col("share").median())
    )
    middle = dict(contradicted.iter_rows())
    low, high = (format_percent(middle.get(title, 0.0), 0) for title in PANELS.values())
    title = f"Contradictions are {low} % of what is not met and {high} % of what it costs, for the median model"
    caption = captioned(
        study,
        "Number: per cent that are contradictions. Left: checks that are not fully met, pooled over questions. "
        "Right: points lost, which add up to 100 less the score. Within a tier of a question a contradicted check "
        f"costs {_worst(study)} times what a missing one does.",
    )
    return Figure("currencies", titled(study, chart, title, view_of(study)), caption, title, rows)


def currencies_text(lost: pl.DataFrame) -> Text:
    """Whose loss comes most from contradiction, and whose least."""
    known = lost.filter(pl.col("verdict") == "contradicts").drop_nulls("share") if lost.height else lost
    if known.is_empty():
        return cannot("currencies-text", _NONE)
    ranked = known.sort("share", "name")
    least, most = ranked.row(0, named=True), ranked.row(-1, named=True)
    if not most["share"]:
        return Text("currencies-text", "No point is lost to contradiction.", {})
    if known.height == 1:
        return Text("currencies-text", "Contradiction takes **{share:percent.0} %** of the points lost.", most)
    template = (
        "Contradiction takes **{most[share]:percent.0} %** of the points that {most[name]} loses, the largest part of "
        "all models, and {least[share]:percent.0} % of those of {least[name]}, the smallest."
    )
    return Text("currencies-text", template, {"most": most, "least": least})


def _worst(study: Study) -> str:
    """What a contradicted check costs, in missing ones of the same tier and question."""
    return f"{-2 * study.scoring.mu:g}"


def ratio_dots(study: Study, board: pl.DataFrame, ratios: pl.DataFrame) -> Figure | Text:
    """Omissions for each contradiction of every model, in checks and in points."""
    known = ratios.drop_nulls(["estimate", "low", "high"]) if ratios.height else ratios
    if known.is_empty():
        return cannot("ratios", "No model both omits and contradicts, so there is no ratio to draw.")
    order = [name for name in board["name"] if name in set(known["name"])]
    chart = linked(charts.ratios(known, order=order), model="name")
    in_points = known.filter(pl.col("measure") == "points")
    near = in_points.filter(pl.col("estimate") < 2).height
    title = f"In points, omission costs less than twice as much as contradiction in {near} of {in_points.height} models"
    caption = captioned(study, SAMPLING, "Scale of ratios; dotted line: as much lost to the one as to the other.")
    return Figure("ratios", titled(study, chart, title, view_of(study)), caption, title, known)


def ratios_text(ratios: pl.DataFrame) -> Text:
    """For how many models it is sure that omission costs more points than contradiction."""
    known = ratios.filter(pl.col("measure") == "points").drop_nulls("low") if ratios.height else ratios
    if known.is_empty():
        return cannot("ratios-text", "No model both omits and contradicts, so there is no ratio to read.")
    values = {
        "n": known.height,
        "omission": known.filter(pl.col("low") > 1).height,
        "contradiction": known.filter(pl.col("high") < 1).height,
    }
    template = "In **{omission:count} of {n:count}** models the whole interval says that omission costs more points"
    if values["contradiction"]:
        template += ", in {contradiction:count} that contradiction does"
    if values["omission"] + values["contradiction"] < known.height:
        template += "; for the others these questions cannot tell"
    return Text("ratios-text", template + ".", values)


def ratio_table(study: Study, board: pl.DataFrame, ratios: pl.DataFrame) -> Table | Text:
    """The same as numbers: per question, missing and contradicted checks, and points lost to either."""
    if ratios.is_empty():
        return cannot("counts-and-points", _NONE)
    keys = {"omission": "omission", "contradiction": "contradiction", "estimate": "ratio", "low": "low", "high": "high"}
    sides = [
        ratios.filter(pl.col("measure") == measure).select(
            "model", "name", *(pl.col(key).alias(f"{label}_{measure}") for key, label in keys.items()), "reason"
        )
        for measure in failures.MEASURES
    ]
    wide = sides[0].join(sides[1].drop("name", "reason"), on="model")
    place = {model: position for position, model in enumerate(board["model"])}
    rows = wide.sort(pl.col("model").replace_strict(place, return_dtype=pl.Int64))
    columns: dict[str, Column | str] = {
        "name": text("Model"),
        "omission_counts": number("Missing", unit="checks a question"),
        "contradiction_counts": number("Contradicted", unit="checks a question"),
        "ratio_counts": interval("Ratio in checks", low="low_counts", high="high_counts", of="number"),
        "omission_points": points("Omission"),
        "contradiction_points": points("Contradiction"),
        "ratio_points": interval("Ratio in points", low="low_points", high="high_points", of="number"),
    }
    caption = f"{view_of(study)}. Scored answers alone; ratios of sums, with intervals over questions."
    return Table("counts-and-points", rows, columns, captioned(study, caption))


def rate_table(study: Study, board: pl.DataFrame) -> Table:
    """Omission and contradiction as shares of checks, pooled and averaged over questions: both kinds of rate."""
    wide = shares(study).filter(pl.col("verdict").is_in(["missing", "contradicts"]))
    sides = [
        wide.filter(pl.col("verdict") == name).select(
            "name", "checks", *(pl.col(key).alias(f"{name}_{key}") for key in ("share", "low", "high", "macro"))
        )
        for name in ("missing", "contradicts")
    ]
    rows = sides[0].join(sides[1].drop("checks"), on="name")
    place = {name: position for position, name in enumerate(board["name"])}
    rows = rows.sort(pl.col("name").replace_strict(place, return_dtype=pl.Int64))
    columns: dict[str, Column | str] = {
        "name": text("Model"),
        **{
            key: column
            for name, label in (("missing", "Missing"), ("contradicts", "Contradicts"))
            for key, column in (
                (f"{name}_share", interval(label, low=f"{name}_low", high=f"{name}_high", of="percent")),
                (f"{name}_macro", percent("mean over questions")),
            )
        },
        "checks": count("Checks"),
    }
    caption = (
        f"{view_of(study)}. Pooled over all graded checks, as the paper prints it, and averaged over questions, "
        "where long rubrics do not count more."
    )
    return Table("rates", rows, columns, captioned(study, caption))


def rates_text(study: Study) -> Text | None:
    """Whether it matters that long rubrics count more when checks are pooled."""
    known = shares(study).filter(pl.col("verdict").is_in(["missing", "contradicts"])).drop_nulls(["share", "macro"])
    if known["model"].n_unique() < 2:
        return None
    gaps = known.with_columns(gap=(pl.col("macro") - pl.col("share")).abs())
    most = gaps.sort("gap", "name", descending=[True, False]).row(0, named=True)
    missing = known.filter(pl.col("verdict") == "missing").select(pl.col("share", "macro").rank("min"))
    moved = missing.filter(pl.col("share") != pl.col("macro")).height
    values = {"gap": most["gap"], "name": most["name"], "moved": moved, "models": missing.height}
    template = "Averaged over questions instead of pooled, no share moves by more than **{gap:points} points** ({name})"
    order = (
        ", and by omission {moved:count} of {models:count} models change places."
        if moved
        else ", and the order of the models by omission stays as it is."
    )
    return Text("rates-text", template + order, values)


def ratio_table_text(ratios: pl.DataFrame) -> Text | None:
    """Whether the model that omits most for each contradiction by checks is also the one by points."""
    known = ratios.drop_nulls("estimate").filter(pl.col("estimate") > 0) if ratios.height else ratios
    if known.is_empty() or known["model"].n_unique() < 2:
        return None
    ranked = known.sort("estimate", "name", descending=[True, False])
    top = {kind: ranked.filter(pl.col("measure") == kind).row(0, named=True) for kind in failures.MEASURES}
    counts, points_ = top["counts"], top["points"]
    wide = known.pivot("measure", index="model", values="estimate").drop_nulls()
    values = {"counts": counts, "points": points_, "factor": (wide["counts"] / wide["points"]).median()}
    template = "**{counts[name]}** omits most for each contradiction by checks ({counts[estimate]:number.1})"
    template += (
        " and by points ({points[estimate]:number.1})"
        if counts["name"] == points_["name"]
        else "; by points it is **{points[name]}** ({points[estimate]:number.1})"
    )
    template += ". In the middle the ratio in checks is {factor:number.1} times the one in points."
    return Text("counts-and-points-text", template, values)


# --- by tier, role and domain -----------------------------------------------------------------------------------------


def part_figure(study: Study, rows: pl.DataFrame, part: str) -> Figure | Text:
    """Omission and contradiction by tier, role or domain, in checks and in points."""
    name = f"by-{part}"
    if rows.is_empty():
        return cannot(name, f"This data does not have two {part}s to compare.")
    order = part_order(rows, part)
    middle = _medians(rows)
    shown = rows.with_columns(is_focus=pl.col("model") == study.model)
    chart = fields.by_part(shown, middle, order=order)
    chart = linked(chart, model="name", domain="part" if part == "domain" else ())
    title = _part_title(middle, order)
    taken = f"points that the {part} takes from the score" if part != "domain" else "points lost on its own questions"
    told = [f"Grey dots: models; dark tick: median of the models. Shares of all checks of the {part}; {taken}."]
    told += [f"In colour: {study.model_name} with its 95 % interval."] if study.model else []
    return Figure(name, titled(study, chart, title, view_of(study)), captioned(study, *told), title, middle)


def _part_title(middle: pl.DataFrame, order: Sequence[str]) -> str:
    """Where the median model omits most, and where it contradicts most."""
    worst = {
        word: middle.filter(measure=_MEASURES[word, "share"][0])
        .sort("value", "part", descending=[True, False])
        .row(0, named=True)
        for word in ("missing", "contradicts")
    }
    missing, wrong = worst["missing"], worst["contradicts"]
    where = "" if missing["part"] != wrong["part"] else ", too"
    return (
        f"The median model omits most on {missing['part']} ({format_percent(missing['value'], 0)} %) and contradicts "
        f"most on {wrong['part']}{where} ({format_percent(wrong['value'])} %)"
    )


def part_text(rows: pl.DataFrame, part: str) -> Text:
    """Whether the part that costs most in points is the one that fails most in checks."""
    name = f"by-{part}-text"
    if rows.is_empty():
        return cannot(name, f"Without {part}s there is nothing to compare.")
    top = {}
    for key, (measure, _) in _MEASURES.items():
        ranked = _medians(rows).filter(measure=measure).sort("value", "part", descending=[True, False])
        top[key] = (ranked.row(0, named=True), ranked.row(-1, named=True))
    values = {
        "omitted": top["missing", "share"][0],
        "kept": top["missing", "share"][1],
        "costly": top["missing", "lost"][0],
        "wrong": top["contradicts", "lost"][0],
    }
    these, those = ("of the {omitted[part]} checks", "of the {kept[part]} checks")
    if part == "domain":
        these, those = ("of the checks on {omitted[part]}", "of those on {kept[part]}")
    costs = (
        "Both omission and contradiction cost most on **{costly[part]}** ({costly[value]:points} and "
        "{wrong[value]:points} points)."
        if values["costly"]["part"] == values["wrong"]["part"]
        else "Omission costs most on **{costly[part]}** ({costly[value]:points} points), contradiction on "
        "**{wrong[part]}** ({wrong[value]:points} points)."
    )
    missing = f"{{omitted[value]:percent}} % {these} are missing, and {{kept[value]:percent}} % {those}"
    return Text(name, f"Medians over the models: {missing}. {costs}", values)


def negative_dots(study: Study, negative: pl.DataFrame) -> Figure | Text:
    """The share of answers that do more harm than saying nothing."""
    if negative.is_empty():
        return cannot("below-zero", _NONE)
    known = negative.drop_nulls("estimate")
    chart = dots.field(known, focus=study.model_name if study.model else None, title="Answers below zero, %")
    chart = linked(chart, model="name")
    ranked = known.sort("estimate", descending=True)
    worst, best = ranked.row(0, named=True), ranked.row(-1, named=True)
    many = (
        f"From {format_percent(best['estimate'], 0)} % ({best['name']}) to {format_percent(worst['estimate'], 0)} % "
        f"({worst['name']}) of the answers score below zero"
        if known.height > 1
        else f"{format_percent(worst['estimate'], 0)} % of the answers of {worst['name']} score below zero"
    )
    title = many if worst["negative"] else "No answer scores below zero"
    caption = captioned(study, "An empty answer scores zero, so these do more harm than saying nothing.", SAMPLING)
    columns = ["model", "name", "negative", "estimate", "low", "high", "n"]
    return Figure("below-zero", titled(study, chart, title, view_of(study)), caption, title, known.select(columns))


def negative_text(negative: pl.DataFrame) -> Text:
    """Whether the models at both ends differ by more than the questions would bring about."""
    known = negative.drop_nulls(["estimate", "low", "high"]) if negative.height else negative
    if known.height < 2:
        return cannot("below-zero-text", "With one model there is nothing to compare.")
    ranked = known.sort("estimate", "name")
    best, worst = ranked.row(0, named=True), ranked.row(-1, named=True)
    if not worst["negative"]:
        return Text("below-zero-text", "No answer would have been better left empty.", {})
    apart = worst["low"] > best["high"]
    template = (
        "An empty answer would have been better than **{worst:percent_interval.0} %** of the answers of {worst[name]} "
        "and than {best:percent_interval.0} % of those of {best[name]}"
    )
    template += "; the two intervals lie apart." if apart else "; the two intervals overlap."
    return Text("below-zero-text", template, {"worst": worst, "best": best})


# --- one model --------------------------------------------------------------------------------------------------------


def waterfall(study: Study, losses: pl.DataFrame, model: str) -> Figure | Text:
    """From 100 points down to the score of one model."""
    if losses.is_empty():
        return cannot("where-points-go", _NONE)
    name, score = study.names[model], 1 - float(losses["estimate"].sum())
    chart = parts.waterfall(losses, score=score)
    largest = losses.sort("estimate", descending=True).row(0, named=True)
    title = (
        f"{name}: from 100 points to {format_points(score)}, the largest step is "
        f"{format_points(largest['estimate'])} points"
    )
    caption = captioned(
        study,
        f"Points lost by tier and verdict; they add up to {format_points(1 - score)}, which is 100 less the score. "
        f"n = {format_count(losses['n'][0])} questions.",
    )
    return Figure("where-points-go", titled(study, chart, title, view_of(study)), caption, title, losses)


def steps_text(study: Study, losses: pl.DataFrame) -> Text:
    """Which verdict and which tier cost the model most."""
    if losses.is_empty():
        return cannot("where-points-go-text", _NONE)
    return where_points_go(study, losses)


def reading_table(study: Study, model: str) -> Table | Text:
    """The same loss read in four ways, two of which add up and two of which do not."""
    own = study.own_counts.filter(model=model)
    scored = study.own_scores.filter(model=model).drop_nulls("score")
    if scored.is_empty():
        return cannot("readings", _NONE)
    rows = failures.loss_readings(own, study.scoring, questions=study.questions)
    wide = rows.with_columns(pl.col("verdict").cast(pl.String)).pivot("verdict", index="reading", values="estimate")
    adds_up = pl.col("reading").cast(pl.String).is_in(["additive", "shapley"])
    named = wide.with_columns(
        label=pl.col("reading").cast(pl.String).replace_strict(_READINGS),
        total=pl.when(adds_up).then(pl.sum_horizontal("partially_meets", "missing", "contradicts")),
        reason=pl.when(adds_up)
        .then(None)
        .otherwise(pl.lit("what mending one kind brings does not add up: contradictions enlarge the divisor")),
    )
    columns: dict[str, Column | str] = {
        "label": text("Reading"),
        "partially_meets": points("Partially met"),
        "missing": points("Missing"),
        "contradicts": points("Contradicts"),
        "total": points("Together"),
    }
    return Table("readings", named, columns, captioned(study, f"What {study.names[model]} loses, read in four ways."))


def reading_text(study: Study, model: str) -> Text | None:
    """What silence in place of every contradiction would have brought."""
    own = study.own_counts.filter(model=model)
    if study.own_scores.filter(model=model).drop_nulls("score").is_empty():
        return None
    rows = failures.loss_readings(own, study.scoring, questions=study.questions)
    wrong = rows.filter(pl.col("verdict").cast(pl.String) == "contradicts")
    costs = dict(wrong.select(pl.col("reading").cast(pl.String), "estimate").iter_rows())
    values = {"name": study.names[model], "cost": costs["additive"], "silence": costs[_SILENT]}
    if not costs["additive"]:
        return Text("readings-text", "{name} contradicts nothing, so silence would have brought nothing.", values)
    values["share"] = costs[_SILENT] / costs["additive"]
    template = (
        "Silence in place of every contradiction would have brought {name} **{silence:points} points**, "
        "{share:percent.0} % of what contradiction costs as the score adds up; the rest would be lost to omission."
    )
    return Text("readings-text", template, values)


def costliest_table(study: Study, rows: pl.DataFrame, model: str) -> Table | Text:
    """The checks that cost one model most."""
    if rows.is_empty():
        return cannot("costliest-checks", "No graded check costs this model anything.")
    columns: dict[str, Column | str] = {
        "check": text("Check", sub="question"),
        "tier": tier(),
        **_roles(rows),
        "verdict": verdict(),
        "lost": points("Lost", unit="points of its question"),
        "difficulty": percent("Met by", unit="% of models"),
        "n": count("Models"),
    }
    caption = (
        f"Checks that cost {study.names[model]} most, each from its question's 100 points; of equal ones first those "
        "that most models meet."
    )
    return Table("costliest-checks", rows, columns, captioned(study, caption))


def costliest_text(study: Study, rows: pl.DataFrame, model: str) -> Text | None:
    """How many of the costliest checks are the model's own gap, and how many are hard for all."""
    known = rows.filter(pl.col("n") > 1).drop_nulls("difficulty") if rows.height else rows
    if known.is_empty():
        return None
    values = {
        "name": study.names[model],
        "n": known.height,
        "own": known.filter(pl.col("difficulty") > 0.5).height,
        "wrong": known.filter(pl.col("verdict").cast(pl.String) == "contradicts").height,
    }
    whose = (
        "**{own:count} of these {n:count}** checks are met by more than half of the models, so they are gaps of "
        "{name}'s own"
        if values["own"]
        else "None of these {n:count} checks is met by more than half of the models, so they are hard, or doubtful"
    )
    return Text("costliest-checks-text", f"{whose}; {{wrong:count}} of the {{n:count}} are contradicted.", values)


def _roles(rows: pl.DataFrame) -> dict[str, Column | str]:
    return {"role": role()} if rows["role"].null_count() < rows.height else {}


# --- checks -----------------------------------------------------------------------------------------------------------


def item_histogram(study: Study, items: pl.DataFrame) -> Figure | Text:
    """How many checks are met by how many models; those that all meet or all fail tell nothing."""
    shared = _shared(items)
    if shared.is_empty():
        return cannot("items", _ALONE)
    models = int(shared["n"].to_numpy().max())
    placed = shared.with_columns(
        models=(pl.col("difficulty") * models).round().cast(pl.Int64), is_dead=pl.col("dead").is_not_null()
    )
    rows = (
        placed.group_by("models", "is_dead", maintain_order=True)
        .agg(pl.len().alias("checks"))
        .sort("models", "is_dead")
    )
    rows = rows.with_columns(share=pl.col("checks") / shared.height)
    title = f"{format_percent(shared['dead'].count() / shared.height)} % of the checks tell none of these models apart"
    told = [
        f"{format_count(shared.height)} checks by how many of {models} models meet them. In colour: met by all, or "
        "failed by all, which is met by none, not even in part."
    ]
    if shared["n"].n_unique() > 1:
        told.append("Checks that some models were not graded on stand at their share of models.")
    if items.height > shared.height:
        told.append(f"{format_count(items.height - shared.height)} checks that one model alone had are left out.")
    caption = captioned(study, *told)
    return Figure("items", titled(study, charts.items(rows), title, view_of(study)), caption, title, rows)


def _shared(items: pl.DataFrame) -> pl.DataFrame:
    """The checks that two models or more were graded on: others cannot tell models apart, whatever they are."""
    return items.filter(pl.col("n") > 1) if items.height else items


def dead_table(study: Study, items: pl.DataFrame) -> Table | Text:
    """The share of dead checks overall, by tier and by role."""
    shared = _shared(items)
    if shared.is_empty():
        return cannot("dead-checks", _ALONE)
    parts = [_dead(study, shared, [])]
    parts += [_dead(study, shared, [part]) for part in ("tier", "role") if shared[part].drop_nulls().n_unique() > 1]
    columns: dict[str, Column | str] = {
        "label": text("Checks"),
        "checks": count("Number"),
        "met by all": interval("Met by all", low="low_met", high="high_met", of="percent"),
        "failed by all": interval("Failed by all", low="low_failed", high="high_failed", of="percent"),
    }
    caption = (
        "Checks that every model meets, and checks that no model meets even in part: they raise or lower all models "
        "alike. Intervals over questions, these models."
    )
    return Table("dead-checks", pl.concat(parts), columns, captioned(study, caption))


def _dead(study: Study, items: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """One row a group with both kinds of dead checks."""
    kept = items.select("question_id", "check_id", "dead", "n")
    rows = failures.dead_share(kept, study.checks, variant=study.variant, by=by)
    key = by[0] if by else "group"
    labels = {"tier": TIER_LABELS, "role": ROLE_LABELS}.get(key, {"all": "All"})
    met, failed = (
        rows.filter(pl.col("dead") == kind).select(
            pl.col(key).cast(pl.String).replace(labels).alias("label"),
            "checks",
            pl.col("estimate").alias(kind),
            pl.col("low").alias(f"low_{short}"),
            pl.col("high").alias(f"high_{short}"),
        )
        for kind, short in zip(failures.DEAD, ("met", "failed"), strict=True)
    )
    return met.join(failed.drop("checks"), on="label", maintain_order="left").drop_nulls("label")


def dead_text(study: Study, items: pl.DataFrame) -> Text | None:
    """Which tier has the most checks that no model meets, and whether that is more than noise."""
    shared = _shared(items)
    if shared.is_empty() or shared["tier"].drop_nulls().n_unique() < 2:
        return None
    ranked = _dead(study, shared, ["tier"]).sort(failures.DEAD[1], "label", descending=[True, False])
    most, least = ranked.row(0, named=True), ranked.row(-1, named=True)
    keys = {"estimate": failures.DEAD[1], "low": "low_failed", "high": "high_failed", "label": "label"}
    values = {
        name: {key: row[column] for key, column in keys.items()} for name, row in (("most", most), ("least", least))
    }
    if not most[failures.DEAD[1]]:
        return Text("dead-checks-text", "No tier has a check that all models fail.", {})
    known = all(row[end] is not None for row in (most, least) for end in ("low_failed", "high_failed"))
    apart = known and most["low_failed"] > least["high_failed"]
    template = (
        "Checks that all models fail are most common in **{most[label]}** ({most:percent_interval} %) and least in "
        "{least[label]} ({least:percent_interval} %)"
    )
    return Text(
        "dead-checks-text", template + ("; the intervals lie apart." if apart else "; the intervals overlap."), values
    )


def item_text(items: pl.DataFrame) -> Text:
    """How many checks go the wrong way, with what that is worth."""
    shared = _shared(items)
    if shared.is_empty():
        return cannot("items-text", _ALONE)
    known = shared.drop_nulls("discrimination")
    values: dict[str, Any] = {
        "checks": shared.height,
        "met": shared.filter(dead=failures.DEAD[0]).height / shared.height,
        "failed": shared.filter(dead=failures.DEAD[1]).height / shared.height,
    }
    template = (
        "Of {checks:count} checks {met:percent} % are met by every model and {failed:percent} % by none, not even in "
        "part."
    )
    if known.is_empty():
        values["reason"] = next(iter(shared["reason"].drop_nulls()), "nothing varies")
        return Text("items-text", template + " How any of them goes with the rest cannot be told: {reason}.", values)
    models = int(known["n"].to_numpy().max())
    values |= {
        "known": known.height,
        "wrong": known.filter(pl.col("discrimination") < 0).height / known.height,
        "median": float(known["discrimination"].median()),  # type: ignore[arg-type]
        "models": models,
        "noise": min(2 / models**0.5, 1.0),
    }
    template += (
        " Of the {known:count} checks that can be correlated with the others, {wrong:percent} % go the wrong way: the "
        "worse models do better on them; the median correlation is {median:number.2}. With at most {models:count} "
        "models one such correlation is known to about ±{noise:number.1}, so this screens checks and convicts none."
    )
    return Text("items-text", template, values)


def hardest_table(study: Study, items: pl.DataFrame) -> Table | Text:
    """The checks that the models contradict most: an error that all make, or a rubric that is wrong."""
    shared = _shared(items)
    if shared.is_empty():
        return cannot("contradicted-most", _ALONE)
    worst = shared.filter(pl.col("credit") < 0).sort("credit", "question_id", "check_id").head(TOP)
    if worst.is_empty():
        return cannot("contradicted-most", "No check is contradicted so often that its mean worth is below zero.")
    columns: dict[str, Column | str] = {
        "check": text("Check", sub="question"),
        "tier": tier(),
        **_roles(worst),
        "credit": number("Mean worth"),
        "difficulty": percent("Met by", unit="% of models"),
        "n": count("Models"),
    }
    best, worst_possible = (format_number(study.scoring.values[place], 0) for place in (0, -1))
    caption = (
        f"Mean worth over the models, from {best} (all meet it) to {worst_possible} (all contradict it). "
        " What nearly all models contradict is a common error or an error of the rubric: read it before it is "
        "counted."
    )
    return Table("contradicted-most", worst, columns, captioned(study, caption))


def hardest_text(items: pl.DataFrame) -> Text | None:
    """How many of the most contradicted checks no model meets: those to be read first."""
    shared = _shared(items)
    worst = shared.filter(pl.col("credit") < 0).sort("credit", "question_id", "check_id") if shared.height else shared
    if worst.is_empty():
        return None
    shown = worst.head(TOP)
    values = {"all": worst.height, "n": shown.height, "never": shown.filter(pl.col("difficulty") == 0).height}
    template = "{all:count} checks have a mean worth below zero. "
    template += (
        "**{never:count} of the {n:count}** shown are met by no model: read these first."
        if values["never"]
        else "Each of the {n:count} shown is met by some model, so it can be met."
    )
    return Text("contradicted-most-text", template, values)


def split_table(study: Study, splits: pl.DataFrame) -> Table | Text:
    """The checks on which judges of the same answer differ most."""
    if splits.is_empty():
        return cannot("judge-splits", "One judge alone graded this data, so no check can split judges.")
    rows = splits.filter(pl.col("disagreement") > 0).head(TOP)
    if rows.is_empty():
        return cannot("judge-splits", "The judges give every check of every answer the same verdict.")
    columns: dict[str, Column | str] = {
        "check": text("Check", sub="question"),
        "tier": tier(),
        **_roles(rows),
        "disagreement": percent("Differ", unit="% of pairs"),
        "points": number("Distance", unit="in worth, mean"),
        "n": count("Pairs"),
    }
    caption = (
        "Pairs of judges who graded the same answer, over all models; a check that splits them may be worded unclearly."
    )
    return Table("judge-splits", rows, columns, captioned(study, caption))


def split_text(splits: pl.DataFrame) -> Text:
    """How much of the disagreement sits on how few checks."""
    if splits.is_empty():
        return cannot("judge-splits-text", "With one judge there is no disagreement to place.")
    ranked = splits.with_columns(differing=pl.col("disagreement") * pl.col("n"))
    total = float(ranked["differing"].sum())
    if not total:
        return cannot("judge-splits-text", "The judges never differ.")
    tenth = max(ranked.height // 10, 1)
    values = {
        "never": ranked.filter(pl.col("disagreement") == 0).height / ranked.height,
        "tenth": float(ranked.sort("differing", descending=True).head(tenth)["differing"].sum()) / total,
        "overall": total / float(ranked["n"].sum()),
    }
    return Text(
        "judge-splits-text",
        "Judges differ on {overall:percent} % of all pairs of verdicts. They never differ on {never:percent} % of "
        "the checks, and the tenth of the checks that split them most holds **{tenth:percent} %** of all their "
        "differences.",
        values,
    )


# --- beside the paper -------------------------------------------------------------------------------------------------


def published_table(study: Study, beside: pl.DataFrame) -> Table | None:
    """Verdict shares beside the paper's."""
    if beside.is_empty():
        return None
    columns: dict[str, Column | str] = {
        "name": text("Model"),
        "verdict": verdict(),
        "share": interval("Ours", of="percent"),
        "published": percent("Published"),
        "difference": points("Difference", signed=True),
        "inside": text("Published lies"),
    }
    caption = "Shares of all checks, pooled, beside the verdict columns of the paper's table 1."
    return Table("beside-published", beside, columns, captioned(study, caption))


def beside_note(study: Study, beside: pl.DataFrame) -> Text:
    """How many of the paper's shares lie in our intervals, or why there are none."""
    if beside.is_empty() and not no_published(study):
        return cannot("published", "The paper prints verdict shares for the multimodal questions only.")
    return published_note(study, beside)


def limits(study: Study) -> Text:
    """What omission and contradiction do not show."""
    told = [
        "A check is missing when the answer does not speak of it: whether the model did not know or chose not to "
        "say cannot be told. What a verdict costs follows from the constants of the score; with another price of "
        "contradiction the points, though not the counts, would be others.",
        "Checks are not drawn at random: intervals speak of other questions of the same kind, with rubrics made in "
        "the same way. What is said of single checks rests on a handful of models and one judge.",
    ]
    if study.dataset["simulated"]:
        told.append("The data is simulated: nothing here is a finding about any model.")
    return Text("limits", " ".join(told), {})
