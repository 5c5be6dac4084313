"""Sentences that a page prints, each made from numbers and true of the data, or not printed at all."""

import shlex
from collections.abc import Mapping
from typing import Any

import polars as pl

from gamut_analysis import __version__, datasets, paths
from gamut_analysis.display import Text, format_names, format_ranks
from gamut_analysis.story import SMALL, no_published, row_of
from gamut_analysis.study import Study
from gamut_analysis.vocabulary import TIER_LABELS, VARIANT_LABELS


def kind_of_data(study: Study) -> Text:
    """What and whose data a page is about; simulated data is called so first."""
    coverage = study.coverage.filter(judge=study.judge, variant=study.variant)
    values = {
        "title": study.dataset["title"],
        "judge": study.judge_name,
        "variant": VARIANT_LABELS[study.variant].lower(),
        "models": study.models.height,
        "asked": int(coverage["questions_asked"].max() or 0),
        "verdicts": int(coverage["checks_graded"].sum()),
        "files": study.sources.height,
        "read": int(study.sources["rows_read"].sum()),
        "rejected": int(study.sources["rows_rejected"].sum()),
        "assumptions": study.dataset["assumptions"] or "",
        "note": study.dataset["note"] or "",
    }
    lead = (
        "**SIMULATED DATA.** No model was asked and no judge graded: {title}."
        if study.dataset["simulated"]
        else "**{title}.**"
    )
    lines = [
        lead,
        "Judge {judge}, {variant} questions: {asked:count} questions, {models:count} models, {verdicts:count} verdicts; "
        "{read:count} rows read from {files:count} files, {rejected:count} of them rejected.",
    ]
    lines += ["{note}"] if values["note"] else []
    lines += ["{assumptions}"] if values["assumptions"] else []
    if not study.scoring.is_default:
        lines.append(
            "The score is not the paper's: lambda {lambda:number}, mu {mu:number}, weights {w0:number}, {w1:number}, {w2:number}, "
            "an answer is scored when {coverage:percent} % of its checks are graded."
        )
        values |= {
            "lambda": float(study.scoring.lambda_),
            "mu": float(study.scoring.mu),
            "coverage": float(study.scoring.min_coverage),
        }
        values |= {f"w{place}": float(weight) for place, weight in enumerate(study.scoring.weights)}
    return Text("kind-of-data", " ".join(lines), values)


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
        template += " on the {n:count} of {asked:count} questions that it was scored on, so it is not ranked beside complete models"
    by_measure = {str(r["measure"]): r for r in ratios.iter_rows(named=True)}
    points = by_measure.get("points", {}).get("estimate")
    if points is not None:
        template += "; it loses {ratio:number.1} points to omission for each point lost to contradiction"
        values["ratio"] = points
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
        "checks_ungraded": "{checks_ungraded:count} checks have no verdict because the judge failed or gave no usable label.",
        "checks_extra": "{checks_extra:count} verdicts on checks that the rubric does not have are left out.",
        "repeats": "{repeats:count} verdicts were delivered twice and count once.",
        "superseded": "{superseded:count} verdicts gave way to later ones.",
        "conflicting": "{conflicting:count} verdicts contradict each other without a time to go by, so none of them counts.",
    }
    told += [sentence for name, sentence in kinds.items() if row[name]]
    return Text("coverage", " ".join(told), values)


def where_points_go(study: Study, losses: pl.DataFrame) -> Text:
    """Which verdict and which tier cost most; the parts add up."""
    total = float(losses["estimate"].sum())
    if total <= 0:
        return Text("where-points-go", "Nothing is lost: every answer is complete.", {})
    by_verdict = losses.group_by("verdict").agg(pl.col("estimate").sum()).sort("estimate", "verdict", descending=True)
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
        "Of 100 points **{total:points}** are lost, which leaves {score:points}; the parts below add up exactly. The most "
        "goes to **{verdict}** ({cost:points} points, {share:percent} % of the loss); the largest single part is {kind} in "
        "{tier} checks ({part:points} points)."
    )
    return Text("where-points-go", template, values)


def _verdict_noun(verdict: str) -> str:
    return {"partially_meets": "partial answers", "missing": "omission", "contradicts": "contradiction"}[verdict]


def against_the_field(study: Study, neighbours: pl.DataFrame) -> Text:
    """Which neighbours the model is told apart from, and which not."""
    tested = neighbours.drop_nulls("verdict")
    if tested.is_empty():
        reason = next(iter(neighbours["reason"].drop_nulls()), "there is no other model to compare with")
        return Text("neighbours", "No neighbour can be compared: {reason}.", {"reason": reason})
    groups = {word: tested.filter(verdict=word)["name"].to_list() for word in ("ahead", "behind", "not told apart")}
    told, values = [], {"name": study.model_name}
    words = {"behind": "behind {behind}", "not told apart": "not told apart from {same}", "ahead": "ahead of {ahead}"}
    keys = {"ahead": "ahead", "behind": "behind", "not told apart": "same"}
    for word, phrase in words.items():
        if groups[word]:
            told.append(phrase)
            values[keys[word]] = format_names(groups[word])
    return Text("neighbours", "Among its neighbours {name} is " + "; ".join(told) + ".", values)


def strong_and_weak(parts: pl.DataFrame, *, part: str, name: str) -> Text:
    """Where the model stands furthest above and below the field's median; small parts do not count."""
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
        "Against the median of the field it stands best on **{best}** ({up:+points} points) and worst on **{worst}** ({down:+points} points).",
        values,
    )


def picture_costs(study: Study, gains: pl.DataFrame) -> Text:
    """What naming the subject instead of showing it changes, and which part of the plain difference is that."""
    rows = gains.filter(model=study.model) if gains.height else gains
    parts = {str(row["part"]): row for row in rows.iter_rows(named=True)}
    matched = parts.get("matched", {}).get("estimate")
    if matched is None:
        reason = next((row["reason"] for row in parts.values() if row.get("reason")), "this data has one variant only")
        return Text("picture", "What the picture costs cannot be told: {reason}.", {"reason": reason})
    values = {name: row for name, row in parts.items()}
    word = "gains" if matched > 0 else "loses"
    template = (
        f"Asked in words, with the subject named, the model {word} **{{matched:interval}} points** on the same questions and "
        "checks. The plain difference of the two scores is {naive:interval}: {dropped_checks:interval} of it come from leaving out "
        "the checks that name the subject, {question_set:interval} from questions that only one variant has."
    )
    return Text("picture", template, values)


def judges_on_it(study: Study, by_judge: pl.DataFrame) -> Text:
    """How far the judges' scores of the model lie apart."""
    rows = by_judge.drop_nulls("estimate").sort("estimate")
    if rows.height < 2:
        return Text("judges", "One judge alone has graded this model in full, so there is nothing to compare.", {})
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
        "The strictest judge of this model is {strict} ({low:points} points), the most lenient {lenient} ({high:points}): "
        "**{gap:points} points** lie between them.",
        values,
    )


def published_note(study: Study, beside: pl.DataFrame) -> Text:
    """How many of the paper's numbers lie in our intervals, or why there are none to compare with."""
    if beside.is_empty():
        return Text(
            "published", "{reason}", {"reason": no_published(study) or "The paper prints no row for this model."}
        )
    inside = beside.filter(inside="inside").height
    template = "**{inside:count} of {n:count}** of the paper's numbers lie inside our intervals."
    if study.dataset["simulated"]:
        template += " The data is simulated and calibrated to the paper, so this says how well it was calibrated and nothing else."
    return Text("published", template, {"inside": inside, "n": beside.height})


def method(study: Study) -> Text:
    """How the numbers of a page come about, in ten lines."""
    scoring = study.scoring
    values = {
        "lambda": float(scoring.lambda_),
        "mu": float(scoring.mu),
        "w0": float(scoring.weights[0]),
        "w1": float(scoring.weights[1]),
        "w2": float(scoring.weights[2]),
        "version": __version__,
        "seed": study.seed,
        "database": study.path.name,
    }
    return Text(
        "method",
        "A judge gives every check of an answer one of four verdicts. With M, P, S and C the numbers of meets, partially meets, "
        "missing and contradicts in a tier, its score is s = (M + λP + μC) / (M + P + S + |μ|C), with λ = {lambda:number} and "
        "μ = {mu:number}. A question's score is the mean of its tier scores with weights {w0:number} (Answer-Critical), "
        "{w1:number} (Valuable) and {w2:number} (Context); a tier without graded checks gives its weight to the others in "
        "proportion. A model's score is the mean over its questions, in points out of 100, and can be negative."
        "\n\n"
        "An answer is scored only when every check of its rubric has a verdict. An empty answer counts as all missing; an answer "
        "that could not be had, and a judge that failed, are not verdicts and count as nothing."
        "\n\n"
        "Intervals are at 95 %. Questions are what is sampled: intervals of means are t intervals clustered by image or question; "
        "shares of checks are ratio estimates clustered the same way. Differences of models are paired by question and tested by "
        "sign-flip permutation, corrected for all pairs together (step-down max-T). Rank sets hold for all models at once "
        "(Mogstad, Romano, Shaikh and Wilhelm 2023). Points lost are split exactly: a partial check costs (1 − λ)/D, a missing one "
        "1/D, a contradicted one (|μ| − μ)/D of its tier's weight, with D the denominator of s."
        "\n\n"
        "gamut-analysis {version}, seed {seed}, database {database}.",
        values,
    )


def limits(study: Study) -> Text:
    """What a page does not show."""
    told = [
        "The intervals speak of other questions of the same kind. They do not cover another answer of the same model to the same "
        "question, nor another grading by the same judge."
    ]
    if study.judges.height < 2:
        told.append("One judge graded: how much of this is the judge's own taste cannot be told.")
    else:
        told.append("All numbers but those by judge rest on one judge; another may be more lenient by several points.")
    if study.dataset["simulated"]:
        told.append("The data is simulated: nothing here is a finding about any model.")
    return Text("limits", " ".join(told), {})


def again(study: Study) -> Text:
    """The one command that makes the page again."""
    given = {
        "MODEL": study.model,
        "JUDGE": study.judge,
        "VARIANT": study.variant,
        "SEED": str(study.seed),
        "DATA": _data(study),
    }
    command = " ".join(["make report", *(shlex.quote(f"{name}={value}") for name, value in given.items())])
    return Text("again", "To make this page again: {command}", {"command": command})


def _data(study: Study) -> str:
    """The database as the command names it; a path outside the project is the reader's own business."""
    path = study.path.resolve()
    if path.parent == paths.warehouse().resolve() and path.stem in datasets.SHIPPED:
        return path.stem
    home = paths.root().resolve()
    return str(path.relative_to(home)) if path.is_relative_to(home) else path.name


def leader(study: Study, board: pl.DataFrame, pairs: pl.DataFrame) -> Text:
    """Who leads, who cannot be told apart from the leader, and how many gaps of the table are noise."""
    ranked = board.drop_nulls("rank")
    if ranked.is_empty():
        values = {"models": board.height}
        return Text(
            "leader",
            "None of the {models:count} models is scored on every question, so there is no ranking; their means stand on different "
            "questions and do not compare.",
            values,
        )
    first = ranked.row(0, named=True)
    rivals = ranked.filter((pl.col("rank_low") == 1) & (pl.col("model") != first["model"]))["name"].to_list()
    tested = pairs.drop_nulls("verdict")
    values = {
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
        "**{name}** leads {models:count} models with **{score:interval} points**, " + alone + ". Of {pairs:count} pairs of models "
        "{apart:count} are told apart by these questions; the other gaps in the table may be noise."
    )
    if values["partial"]:
        template += " {partial:count} models are not scored on every question and stand apart, without a rank."
    return Text("leader", template, values)


def published_scores_note(study: Study, board: pl.DataFrame) -> Text:
    """How many of the paper's scores lie in our intervals, or why there are none."""
    rows = board.drop_nulls("published")
    beside = rows.with_columns(
        inside=pl.when(pl.col("published").is_between("low", "high")).then(pl.lit("inside")).otherwise(pl.lit("outside"))
    )
    return published_note(study, beside)
