"""Does the order of the models hang on the constants of the score? Frames, exhibits and sentences of chapter 7."""

from dataclasses import replace
from typing import Any

import polars as pl

from gamut_analysis import sensitivity
from gamut_analysis.chapters import common
from gamut_analysis.chapters.common import cannot, captioned, titled, view_of
from gamut_analysis.charts import maps
from gamut_analysis.charts.links import linked
from gamut_analysis.display import (
    Column,
    Figure,
    Table,
    Text,
    count,
    format_count,
    format_names,
    format_number,
    format_ordinal,
    interval,
    number,
    points,
    text,
)
from gamut_analysis.live.sliders import Sliders
from gamut_analysis.scoring import Scoring
from gamut_analysis.study import Study
from gamut_analysis.vocabulary import TIER_LABELS, TIERS

LAMBDAS = tuple(round(0.05 * step, 2) for step in range(21))
MUS = tuple(round(-0.25 * step, 2) for step in range(1, 21))
STEPS = 20
CONSTANTS = {"lambda_": "λ", "mu": "μ"} | {f"w_{tier}": f"Weight of {label}" for tier, label in TIER_LABELS.items()}
_AXES = {"x_title": "λ, worth of a partially met check", "y_title": "μ, worth of a contradicted check"}
_COLOURS = 5
_NOTHING = 1e-12
_LEVEL = "several share first place"
_OTHER = "another model"
_KINDS = {
    "sampling": "Other questions",
    "specification": "Other constants",
    "both": "Both",
}


def compared(study: Study) -> list[str]:
    """The models of the ranking: those scored on every question; where fewer than two are, all that have a score."""
    scored = study.own_scores.drop_nulls("score")
    asked = scored["question_id"].n_unique()
    counted = scored.group_by("model", maintain_order=True).len()
    complete = counted.filter(pl.col("len") == asked)
    return sorted((complete if complete.height > 1 else counted)["model"])


def why_not(study: Study) -> str:
    """Why nothing can be ranked anew; empty where it can."""
    models = compared(study)
    if len(models) < 2:
        return "Fewer than two models have a score here, so there is no order that the constants could change."
    scored = study.own_scores.drop_nulls("score").filter(pl.col("model").is_in(models))
    shared = scored.group_by("question_id", maintain_order=True).len().filter(pl.col("len") == len(models))
    return "" if shared.height else "No question is scored for every model, so no ranking can be made anew."


# Frames -----------------------------------------------------------------------------------------------------------


def grid(study: Study) -> pl.DataFrame:
    """Who is first, and how many pairs stand in the other order, over a grid of lambda and mu."""
    return _settings(study, lambdas=LAMBDAS, mus=MUS)


def weights(study: Study) -> pl.DataFrame:
    """The same over all weights that are multiples of a twentieth."""
    return _settings(study, weights=sensitivity.weight_simplex(STEPS))


def _settings(study: Study, **axes: Any) -> pl.DataFrame:
    if why_not(study):
        return pl.DataFrame()
    rows = sensitivity.ranking_grid(study.counts, study.scoring, **_view(study), **axes)
    start = dict(zip(sensitivity.SETTINGS, _constants(study.scoring), strict=True))
    default = pl.all_horizontal((pl.col(name) - value).abs() < 1e-9 for name, value in start.items())
    return rows.with_columns(default.alias("is_default"), pl.col("first").replace(study.names).alias("first_name"))


def _constants(scoring: Scoring) -> list[float]:
    """lambda, mu and the weights as shares of one."""
    whole = sum(scoring.weights)
    return [scoring.lambda_, scoring.mu, *(weight / whole for weight in scoring.weights)]


def _view(study: Study) -> dict[str, Any]:
    return {"judge": study.judge, "variant": study.variant, "models": compared(study)}


def flips(study: Study) -> pl.DataFrame:
    """For every pair of models and constant, the values at which the two change places."""
    if why_not(study):
        return pl.DataFrame()
    found = sensitivity.flip_thresholds(study.counts, study.scoring, **_view(study))
    named = [pl.col(role).replace(study.names).alias(f"{role}_name") for role in ("leader", "other")]
    return found.with_columns(named)


def stability(study: Study) -> pl.DataFrame:
    """How often another model is first when the weights are drawn."""
    if why_not(study):
        return pl.DataFrame()
    rows = sensitivity.top_stability(study.counts, study.scoring, **_view(study), seed=study.seed)
    return rows.with_columns(
        pl.col("first", "rival").replace(study.names),
        pl.Series("label", [_prior(alpha) for alpha in rows["alpha"]]),
    )


def _prior(alpha: pl.Series) -> str:
    """A prior in words: the spread that it gives the weight of the first tier."""
    if set(alpha) == {1.0}:
        return "Every three weights alike"
    total = float(alpha.sum())
    share = float(alpha[0]) / total
    spread = (share * (1 - share) / (total + 1)) ** 0.5
    return f"Around the weights used; {TIER_LABELS[TIERS[0]]} {format_number(share)} ± {format_number(spread)}"


def spreads(study: Study) -> pl.DataFrame:
    """Where each model's score and rank lie under other questions, under other constants, and under both."""
    if why_not(study):
        return pl.DataFrame()
    rows = sensitivity.uncertainty_sources(
        study.counts, study.scoring, **_view(study), questions=study.questions, seed=study.seed
    )
    return rows.with_columns(
        pl.col("model").replace(study.names).alias("name"),
        pl.col("source").cast(pl.String).replace(_KINDS).alias("kind"),
    )


def readings(study: Study) -> pl.DataFrame:
    """Scores when the weight of an empty tier goes to the others in proportion, and when it goes in equal parts."""
    if why_not(study):
        return pl.DataFrame()
    rows = sensitivity.empty_tier_readings(study.counts, study.scoring, **_view(study), questions=study.questions)
    return rows.with_columns(pl.col("model").replace(study.names).alias("name")).sort("rank_proportional", "name")


def at_settings(study: Study) -> dict[str, pl.DataFrame]:
    """Scores and ranks at the start and under a few other constants, by what they are."""
    start = study.scoring
    others = {
        "λ = 0": replace(start, lambda_=0),
        "λ = 1": replace(start, lambda_=1),
        "μ = −1": replace(start, mu=-1),
        "μ = −4": replace(start, mu=-4),
        "Equal weights": replace(start, weights=(1, 1, 1)),
        f"{TIER_LABELS[TIERS[0]]} alone": replace(start, weights=(1, 0, 0)),
    }
    return {
        label: sensitivity.score_grid(
            study.counts,
            start,
            **_view(study),
            lambdas=[scoring.lambda_],
            mus=[scoring.mu],
            weights=[scoring.weights],
        ).select("model", "score", "rank")
        for label, scoring in {"As used": start, **others}.items()
    }


# The answer and the sliders -----------------------------------------------------------------------------------------


def answer(study: Study, grid: pl.DataFrame, weights: pl.DataFrame, flips: pl.DataFrame) -> Text:
    """Whether the first place and the order hang on the constants, in two sentences."""
    if grid.is_empty():
        return cannot("headline", why_not(study))
    turning = flips.filter("attainable")
    first = _first(study)
    values: dict[str, Any] = {
        "constants": _whose(study),
        "holds": grid.filter(pl.col("first_name") == pl.lit(first)).height if first else 0,
        "settings": grid.height,
        "weighted": weights.filter(pl.col("first_name") == pl.lit(first)).height if first else 0,
        "weights": weights.height,
        "turned": turning.select("leader", "other").unique().height,
        "pairs": flips.select("leader", "other").unique().height,
        "first": first,
        "shared": _LEVEL,
    }
    lead = (
        "**{first}** is first under {constants}, and stays first in {holds:count} of {settings:count} settings of λ "
        "and μ and in {weighted:count} of {weights:count} settings of the weights."
        if first
        else "Under {constants} {shared}."
    )
    order = "No two models change places whatever one constant is set to."
    if values["turned"]:
        order = (
            "Of {pairs:count} pairs of models {turned:count} can be made to change places by moving one constant "
            "alone; the widest of them is {gap:points} points apart."
        )
        values["gap"] = turning.select(pl.col("difference").max()).item()
    return Text("headline", f"{lead} {order}", values)


def _whose(study: Study) -> str:
    return "the paper's constants" if study.scoring.is_default else "the constants of this study"


def _first(study: Study) -> str | None:
    """The model that is first as things are; None where several are."""
    now = sensitivity.ranking_grid(study.counts, study.scoring, **_view(study))
    first = now["first"].item()
    return study.names[first] if first else None


def sliders(study: Study) -> Sliders | Text:
    """The ranking under constants that the reader sets."""
    if reason := why_not(study):
        return cannot("ranking-by-hand", reason)
    cells = sensitivity.score_cells(study.counts, study.scoring, **_view(study))
    return Sliders("ranking-by-hand", cells, study.names, study.scoring, settings_table(study), study.model)


def settings_table(study: Study) -> Table:
    """Scores and places under a few settings of the constants."""
    frames = at_settings(study)
    wide = pl.DataFrame({"model": compared(study)})
    columns: dict[str, Column | str] = {"name": text("Model")}
    for place, (label, frame) in enumerate(frames.items()):
        ordinal = pl.Series([format_ordinal(rank) if rank else "" for rank in frame["rank"]], dtype=pl.String)
        named = frame.select("model", pl.col("score").alias(f"score_{place}"), ordinal.alias(f"rank_{place}"))
        wide = wide.join(named, on="model", how="left", maintain_order="left")
        columns[f"score_{place}"] = points(label, sub=f"rank_{place}")
    shown = wide.with_columns(pl.col("model").replace(study.names).alias("name"))
    caption = (
        f"Scores and places under a few settings, one constant changed at a time. {view_of(study)}; questions that are "
        "scored for every model here."
    )
    return Table(
        "settings", shown.sort("score_0", "name", descending=[True, False]), columns, captioned(study, caption)
    )


# Where two models change places ------------------------------------------------------------------------------------


def flip_table(study: Study, flips: pl.DataFrame) -> Table | Text:
    """The pairs that change places when one constant moves, and at which value of it."""
    if flips.is_empty():
        return cannot("flips", why_not(study))
    turning = flips.filter("attainable")
    if turning.is_empty():
        return cannot("flips", "No two models change places at any value of any one constant.")
    nearest = turning.unique(["leader", "other", "constant"], keep="first", maintain_order=True)
    pairs = ["leader_name", "other_name", "difference"]
    wide = nearest.pivot("constant", index=pairs, values="threshold").sort("difference", "leader_name", "other_name")
    default = dict(turning.select("constant", "default").iter_rows())
    columns: dict[str, Column | str] = {
        "leader_name": text("Model", unit="ahead of", sub="other_name"),
        "difference": points("Gap"),
        **{
            name: number(label.removeprefix("Weight of "), unit=f"now {format_number(default[name])}")
            for name, label in CONSTANTS.items()
            if name in wide.columns
        },
    }
    caption = (
        "At which value of λ, of μ or of the weight of one tier two models change places, the other constants as they "
        "are; when one weight moves, the other two keep their proportion. The closest pairs first."
    )
    note = "A dash: no value in the range does (λ from 0 to 1, μ from −10 to −0.01, a weight from 0 to 1)."
    return Table("flips", wide, columns, captioned(study, caption), note)


def flips_note(flips: pl.DataFrame) -> Text | None:
    """How many pairs each constant can turn, and which pair turns first."""
    turning = flips.filter("attainable") if flips.height else flips
    if turning.is_empty():
        return None
    turned = turning.unique(["leader", "other", "constant"])["constant"].value_counts()
    by_constant = dict(turned.iter_rows())
    labels = {name: label.replace("Weight", "the weight") for name, label in CONSTANTS.items()}
    told = [f"{label} turns {format_count(by_constant[name])}" for name, label in labels.items() if name in by_constant]
    nearest = (
        turning.with_columns(relative=pl.col("shift").abs() / pl.col("default").abs())
        .sort("relative")
        .row(0, named=True)
    )
    values = {
        "told": format_names(told),
        "leader": nearest["leader_name"],
        "other": nearest["other_name"],
        "constant": labels[nearest["constant"]],
        "threshold": nearest["threshold"],
        "default": nearest["default"],
        "difference": nearest["difference"],
    }
    return Text(
        "flips-text",
        "Counted by pairs, {told}. The least it takes, measured by the constant's own size: {leader} and {other}, "
        "{difference:points} points apart, change places when {constant} goes from {default:number} to "
        "**{threshold:number}**.",
        values,
    )


# Maps ---------------------------------------------------------------------------------------------------------------


def first_map(study: Study, grid: pl.DataFrame) -> Figure | Text:
    """Who is first under each lambda and mu."""
    return _first_map(study, grid, "first-by-lambda-mu", "lambda_", "mu", _AXES, "settings of λ and μ")


def weights_map(study: Study, weights: pl.DataFrame) -> Figure | Text:
    """Who is first under each three weights; what the two axes leave is the third."""
    titles = {"x_title": CONSTANTS["w_answer_critical"], "y_title": CONSTANTS["w_valuable"]}
    return _first_map(
        study, weights, "first-by-weights", "w_answer_critical", "w_valuable", titles, "settings of the weights"
    )


def _first_map(
    study: Study, settings: pl.DataFrame, name: str, x: str, y: str, titles: dict[str, str], what: str
) -> Figure | Text:
    if settings.is_empty():
        return cannot(name, why_not(study))
    shown = _grouped(settings)
    counted = shown["first"].value_counts(sort=True).sort("count", "first", descending=[True, False])
    (first, most), *others = counted.iter_rows()
    title = f"{first} is first in all {format_count(settings.height)} {what}"
    if others:
        told = format_names(f"{name} in {format_count(times)}" for name, times in others)
        title = f"{first} is first in {format_count(most)} of {format_count(settings.height)} {what}, {told}"
    chart = linked(maps.first(shown, x=x, y=y, order=counted["first"].to_list(), **titles), model="first_name")
    caption = captioned(
        study,
        "Colour: who is first; the fainter, the smaller the lead."
        + (" Ring: the constants as used." if shown["is_default"].any() else ""),
        "What the two axes leave of 1 is the weight of Context." if x.startswith("w_") else "",
    ).strip()
    numbers = shown.select(x, y, "first", "gap")
    return Figure(name, titled(study, chart, title, view_of(study)), caption, title, numbers)


def first_note(settings: pl.DataFrame, name: str) -> Text | None:
    """How far one must go from the constants as used until another model is first; else where the lead is least."""
    known = settings.drop_nulls("first_name") if settings.height else settings
    if known.is_empty() or not known["is_default"].any():
        return None
    start = known.filter("is_default").row(0, named=True)
    moving = [key for key in CONSTANTS if known[key].n_unique() > 1]
    others = known.filter(pl.col("first") != start["first"])
    if others.is_empty():
        closest = known.sort("gap", *moving).row(0, named=True)
        steady = known.select((pl.col("gap").max() - pl.col("gap").min()) < _NOTHING).item()
        template = (
            "**{first}** is first in all of them, always by {gap:points} points."
            if steady
            else "**{first}** is first in all of them; its lead is least, {gap:points} points, at {where}."
        )
    else:
        steps = ((pl.col(key) - start[key]).abs() / _width(known, key) for key in moving)
        closest = others.sort(pl.sum_horizontal(steps), *moving).row(0, named=True)
        template = (
            "The nearest setting with another model first, {other}, lies at {where}; {first} leads as things are."
        )
    values = {"first": start["first_name"], "other": closest["first_name"], "gap": closest["gap"]}
    return Text(f"{name}-text", template, values | {"where": _place(closest, moving)})


def _width(settings: pl.DataFrame, key: str) -> float:
    """How far the settings reach along one constant."""
    return float(settings.select(pl.col(key).max() - pl.col(key).min()).item())


def _place(setting: dict[str, Any], moving: list[str]) -> str:
    """The constants of a setting as a sentence names them."""
    if "lambda_" in moving:
        return format_names(f"{CONSTANTS[key]} = {format_number(setting[key])}" for key in moving)
    labels = {f"w_{tier}": label for tier, label in TIER_LABELS.items()}
    return "the weights " + format_names(f"{format_number(setting[key])} ({labels[key]})" for key in moving)


def _grouped(settings: pl.DataFrame) -> pl.DataFrame:
    """The settings with as many names of first models as there are colours; the rarer ones are one."""
    named = settings.with_columns(pl.col("first_name").fill_null(_LEVEL).alias("first"))
    common_names = named["first"].value_counts(sort=True).sort("count", "first", descending=[True, False])["first"]
    if len(common_names) <= _COLOURS:
        return named
    kept = common_names.head(_COLOURS - 1).to_list()
    return named.with_columns(
        pl.when(pl.col("first").is_in(kept)).then("first").otherwise(pl.lit(_OTHER)).alias("first")
    )


def order_map(study: Study, grid: pl.DataFrame) -> Figure | Text:
    """How many pairs stand in the other order under each lambda and mu."""
    if grid.is_empty():
        return cannot("pairs-turned", why_not(study))
    models = len(compared(study))
    most = int(grid.select(pl.col("discordant").max()).item())
    pairs = models * (models - 1) // 2
    furthest = grid.sort("discordant", "lambda_", "mu", descending=[True, False, True]).row(0, named=True)
    title = (
        f"Up to {most} of {pairs} pairs of models change places, at λ = {format_number(furthest['lambda_'])}, "
        f"μ = {format_number(furthest['mu'])}"
        if most
        else f"None of {pairs} pairs of models changes places at any of these λ and μ"
    )
    chart = maps.turned(grid, x="lambda_", y="mu", most=most, **_AXES)
    caption = captioned(
        study,
        "Shade: pairs of models in the other order than under the constants as used (ring), the weights as they are.",
    )
    numbers = grid.select("lambda_", "mu", "discordant", "tau")
    return Figure("pairs-turned", titled(study, chart, title, view_of(study)), caption, title, numbers)


def order_note(study: Study, grid: pl.DataFrame) -> Text | None:
    """How much of the order outlasts the constants."""
    if grid.is_empty():
        return None
    models = len(compared(study))
    known = grid["tau"].drop_nulls()
    if known.is_empty():
        reason = "All scores are equal under these constants, so there is no order that could change."
        return cannot("pairs-turned-text", reason)
    values = {
        "tau": float(known.min()),  # type: ignore[arg-type]
        "same": grid.filter(pl.col("discordant") == 0).height,
        "settings": grid.height,
        "middle": float(grid.select(pl.col("discordant").median()).item()),
        "pairs": models * (models - 1) // 2,
    }
    template = (
        "In half of the settings no more than {middle:number.0} of {pairs:count} pairs are turned, and Kendall's tau "
        "to the order as used never falls below **{tau:number}**; {same:count} of {settings:count} settings leave the "
        "order as it is."
        if values["same"] < values["settings"]
        else "All {settings:count} settings leave the order of the models **as it is**."
    )
    return Text("pairs-turned-text", template, values)


# How sure the top is ------------------------------------------------------------------------------------------------


def stability_table(study: Study, stability: pl.DataFrame) -> Table | Text:
    """How often another model is first when the weights are drawn from a prior."""
    if stability.is_empty():
        return cannot("top-stability", why_not(study))
    draws = int(stability["n"][0])
    columns: dict[str, Column | str] = {
        "label": text("Weights drawn"),
        "estimate": interval("Another is first", of="percent"),
        "rival": text("Most often"),
        "tau": number("Mean tau to the order as used"),
    }
    caption = (
        f"How often another model than {stability['first'][0] or 'the one that is'} is first when the three weights "
        f"are drawn {format_count(draws)} times, from a Dirichlet distribution. The interval bounds the error of "
        "drawing, not that of the questions."
    )
    return Table("top-stability", stability, columns, captioned(study, caption))


def stability_note(stability: pl.DataFrame) -> Text | None:
    """Whether drawn weights would put another model first."""
    known = stability.drop_nulls("estimate") if stability.height else stability
    if known.is_empty():
        return None
    flat = known.row(0, named=True)
    if not flat["estimate"]:
        template = "Of {n:count} weights drawn without any preference none puts another model before **{first}**."
    else:
        template = (
            "Weights drawn without any preference put another model before **{first}** in {estimate:percent} % of the "
            "draws, most often {rival}."
        )
    return Text("top-stability-text", template, flat)


def spread_figure(study: Study, spreads: pl.DataFrame) -> Figure | Text:
    """Every model's score under other questions, other constants and both."""
    known = spreads.drop_nulls("low") if spreads.height else spreads
    if known.is_empty():
        return cannot("uncertainty", why_not(study) or "Too few questions to say how far their drawing moves a score.")
    order = known.sort("estimate", "name", descending=[True, False])["name"].unique(maintain_order=True).to_list()
    wider = _wider(known)
    title = f"The choice of constants moves {wider} of {len(order)} scores more than the choice of questions"
    chart = linked(maps.sources(known, order=order, kinds=list(_KINDS.values())), model="name")
    caption = captioned(
        study,
        "Dot: the score; lines: 95 % of resampled questions under the constants as used; 95 % of 200 settings of the "
        "constants on these questions (λ from 0.25 to 0.75, μ from −3 to −1, weights from a Dirichlet distribution of "
        "concentration 10 around those used); both together. The second is a choice of ours and has no error rate.",
    )
    numbers = known.select("name", "kind", "estimate", "low", "high", "rank_low", "rank_high", "n")
    return Figure("uncertainty", titled(study, chart, title, view_of(study)), caption, title, numbers)


def _wider(spreads: pl.DataFrame) -> int:
    """How many models' scores spread more over constants than over questions."""
    wide = _by_source(spreads, "standard_deviation")
    if not {"specification", "sampling"} <= set(wide.columns):
        return 0
    return wide.filter(pl.col("specification") > pl.col("sampling")).height


def _by_source(spreads: pl.DataFrame, value: str) -> pl.DataFrame:
    named = spreads.with_columns(pl.col("source").cast(pl.String))
    return named.pivot("source", index="model", values=value)


def spread_note(spreads: pl.DataFrame) -> Text | None:
    """What the constants do to scores, and what they do to places."""
    known = spreads.drop_nulls("low") if spreads.height else spreads
    if known.is_empty() or known["source"].n_unique() < len(_KINDS):
        return None
    deviation = _by_source(known, "standard_deviation")
    medians = deviation.select(pl.col(_KINDS).median()).row(0, named=True)
    fixed = known.with_columns(fixed=pl.col("rank_low") == pl.col("rank_high"))
    kept = dict(
        fixed.group_by(pl.col("source").cast(pl.String), maintain_order=True).agg(pl.col("fixed").sum()).iter_rows()
    )
    values = {
        "specification": medians["specification"],
        "sampling": medians["sampling"],
        "models": deviation.height,
        "by_constants": kept["specification"],
        "by_questions": kept["sampling"],
    }
    if values["specification"] < _NOTHING:
        template = "No choice of constants moves these scores; other questions move one by **{sampling:points} points**"
        return Text("uncertainty-text", f"{template} (standard deviation, median over models).", values)
    lead = (
        "But constants move scores together, so that places outlast them better"
        if values["by_constants"] > values["by_questions"]
        else "Places do not outlast them better"
    )
    return Text(
        "uncertainty-text",
        "By other constants a score moves by **{specification:points} points** (standard deviation, median over "
        f"models), by other questions by {{sampling:points}}. {lead}: under other constants "
        "{by_constants:count} of {models:count} models keep one and the same place, under other questions "
        "{by_questions:count}.",
        values,
    )


# Empty tiers ---------------------------------------------------------------------------------------------------------


def readings_table(study: Study, readings: pl.DataFrame) -> Table | Text:
    """The two readings of an empty tier side by side."""
    if readings.is_empty():
        return cannot("empty-tiers", why_not(study))
    if _reads_alike(readings):
        return cannot("empty-tiers", "Both readings of an empty tier give these models the same scores.")
    columns: dict[str, Column | str] = {
        "name": text("Model"),
        "proportional": points("In proportion"),
        "rank_proportional": count("Place"),
        "equal": points("In equal parts"),
        "rank_equal": count("Place"),
        "estimate": interval("Difference", signed=True, digits=2),
    }
    caption = (
        "Scores when the weight of a tier without checks goes to the other tiers in proportion to their weights (as "
        "used), and when it goes in equal parts. 95 % intervals over questions."
    )
    return Table("empty-tiers", readings, columns, captioned(study, caption))


def _reads_alike(readings: pl.DataFrame) -> bool:
    """Whether nothing hangs on the reading: no tier is empty, or those that are leave one other alone."""
    return bool(readings.select((pl.col("estimate").abs() < _NOTHING).all()).item())


def readings_note(readings: pl.DataFrame) -> Text | None:
    """How much hangs on the reading."""
    if readings.is_empty() or _reads_alike(readings):
        return None
    moved = readings.filter(pl.col("rank_proportional") != pl.col("rank_equal")).height
    values = {
        "affected": readings.select(pl.col("affected").mean()).item(),
        "most": readings.select(pl.col("estimate").abs().max()).item(),
        "moved": moved,
        "models": readings.height,
    }
    places = "{moved:count} of {models:count} models change their place" if moved else "no model changes its place"
    return Text(
        "empty-tiers-text",
        "{affected:percent} % of the questions lack a tier. The paper's words allow both readings; the other one would "
        f"move a score by at most **{{most:points.2}} points**, and {places}.",
        values,
    )


def beside_published(study: Study) -> Text:
    """What of this chapter could stand beside the paper's numbers."""
    return Text(
        "published",
        common.no_published(study)
        or "The paper's printed tables hold scores under one setting of the constants, so there is nothing of this "
        "kind to set beside ours; the scores under that setting stand beside the paper's in the first notebook.",
        {},
    )


def limits(study: Study) -> Text:
    """What the chapter does not show."""
    left_out = study.own_scores.drop_nulls("score")["model"].n_unique() - len(compared(study))
    told = (
        "What ranges of the constants are plausible is a judgement, and other ranges would give other shares. A table "
        "of single thresholds does not show what two constants do together; the maps and the sliders do. Judges were "
        "asked for one of four verdicts: a judge that knew the constants might draw the lines between them elsewhere."
    )
    if left_out:
        told += " {left_out:count} models that are not scored on every question are left out."
    if study.dataset["simulated"]:
        told += " The data is simulated: nothing here is a finding about any model."
    return Text("limits", told, {"left_out": left_out})
