"""What a page tells: the frames that its tables and figures show, and the sentences that its numbers make.

Analyses give estimates; here they are joined with names, sorted as a reader wants them, and turned into prose. Scores stay in
[-1, 1] and shares in [0, 1]: points and percent are made where they are shown. A sentence that is not true of the data is not printed: where two are possible, both
stand here and the true one is chosen. Nothing is computed that an analysis could compute.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from gamut_analysis import failures, gains, paths, ranking, tables
from gamut_analysis.intervals import mean_intervals, question_clusters, score_matrix
from gamut_analysis.study import REFERENCE_JUDGE, Study
from gamut_analysis.vocabulary import ROLE_LABELS, TIER_LABELS, TIERS, VERDICT_LABELS, VERDICTS

BENCHMARK = "gamut"  # the only one whose published numbers may stand beside ours
NEIGHBOURS = 3
SMALL = 30  # questions or checks below which a part of the data is marked as small
_ESTIMATE = ("estimate", "low", "high")


# --- the field --------------------------------------------------------------------------------------------------------


def board(study: Study) -> pl.DataFrame:
    """The leaderboard, with display names, the published score where there is one, and `place` in words."""
    ranked = ranking.leaderboard(
        study.scores, judge=study.judge, variant=study.variant, questions=study.questions, seed=study.seed
    )
    asked = study.coverage.filter(judge=study.judge, variant=study.variant).select("model", "questions_asked")
    return (
        ranked.join(study.models.select("model", "name", "maker", "family"), on="model", maintain_order="left")
        .join(asked, on="model", how="left", maintain_order="left")
        .join(published(study).select("model", "published"), on="model", how="left", maintain_order="left")
        .with_columns(
            place=pl.when(pl.col("rank_low") == pl.col("rank_high"))
            .then(pl.col("rank_low").cast(pl.String))
            .otherwise(pl.format("{} to {}", "rank_low", "rank_high"))
        )
    )


def published(study: Study) -> pl.DataFrame:
    """The paper's row of each model that it prints for this judge and variant, by model id; empty for other data."""
    empty = pl.DataFrame(schema={"model": pl.String, "published": pl.Float64})
    if study.dataset.get("benchmark") != BENCHMARK or study.judge != REFERENCE_JUDGE:
        return empty
    slugs = pl.read_csv(paths.published() / "models.csv").select(
        pl.col("model").alias("name"), pl.col("slug").alias("model")
    )
    if study.variant == "multimodal":
        table = pl.read_csv(paths.published() / "table1_multimodal.csv").rename({"model": "name", "gamut": "published"})
    else:
        table = pl.read_csv(paths.published() / "table3_text_only.csv")
        table = table.select(pl.col("model").alias("name"), pl.col("text_only").alias("published"))
    printed = [name for name in table.columns if name != "name"]
    return slugs.join(table, on="name").drop("name").with_columns(pl.col(printed) / 100)


def no_published(study: Study) -> str:
    """Why the paper's numbers do not stand beside ours, in one line; empty where they do."""
    if study.dataset.get("benchmark") != BENCHMARK:
        return "This data is not GAMUT's, so the paper has no numbers to stand beside these."
    if study.judge != REFERENCE_JUDGE:
        return f"The paper prints its tables for the judge {REFERENCE_JUDGE}; this page is about another one."
    return "" if published(study).height else "The paper prints no row for these models."


def shares(study: Study) -> pl.DataFrame:
    """Verdict shares of every model: `micro` (pooled over checks) with interval, and `macro`."""
    rates = failures.verdict_rates(study.own_counts, questions=study.questions)
    wide = rates.pivot("rate", index=["model", "verdict"], values=[*_ESTIMATE, "checks"])
    named = wide.join(study.models.select("model", "name"), on="model")
    return named.select(
        "model",
        "name",
        "verdict",
        pl.col("estimate_micro").alias("share"),
        pl.col("low_micro").alias("low"),
        pl.col("high_micro").alias("high"),
        pl.col("estimate_macro").alias("macro"),
        pl.col("checks_micro").alias("checks"),
    ).sort("name", "verdict")


def tier_scores(study: Study) -> pl.DataFrame:
    """Mean tier score of every model with its interval, over the questions that have the tier."""
    parts = []
    for tier in TIERS:
        models, ids, matrix = score_matrix(study.scores, judge=study.judge, variant=study.variant, value=tier)
        rows = mean_intervals(matrix, clusters=question_clusters(study.questions, ids))
        parts.append(
            rows.with_columns(model=pl.Series(models), tier=pl.lit(tier), tier_label=pl.lit(TIER_LABELS[tier]))
        )
    frame = pl.concat(parts).join(study.models.select("model", "name"), on="model")
    return frame.with_columns(tier=pl.col("tier").cast(pl.Enum(TIERS)))


def question_spread(study: Study) -> pl.DataFrame:
    """Percentiles of every model's question scores, and the percent of questions below zero."""
    level = {f"q{int(p * 100):02d}": p for p in (0.05, 0.25, 0.5, 0.75, 0.95)}
    scored = study.own_scores.drop_nulls("score").join(study.models.select("model", "name"), on="model")
    return scored.group_by("model", "name", maintain_order=True).agg(
        *(pl.col("score").quantile(p, "linear").alias(name) for name, p in level.items()),
        (pl.col("score") < 0).mean().alias("negative"),
        pl.len().alias("n"),
    )


def domain_scores(study: Study) -> pl.DataFrame:
    """Mean score of every model on every domain; empty where questions have no domain."""
    domains = study.questions.select("question_id", "domain").drop_nulls()
    return (
        study.own_scores.drop_nulls("score")
        .join(domains, on="question_id")
        .join(study.models.select("model", "name"), on="model")
        .group_by("model", "name", "domain")
        .agg(pl.col("score").mean(), pl.len().alias("n"))
        .sort("domain", "name")
    )


def rank_odds(study: Study) -> pl.DataFrame:
    """How often each model takes each rank over resampled questions,."""
    odds = ranking.rank_probabilities(
        study.scores, judge=study.judge, variant=study.variant, questions=study.questions, seed=study.seed
    )
    return odds.join(study.models.select("model", "name"), on="model")


def pairs(study: Study) -> pl.DataFrame:
    """All paired differences, with display names; the upper model first."""
    differences = ranking.paired_differences(
        study.scores, judge=study.judge, variant=study.variant, questions=study.questions, seed=study.seed
    )
    names = study.models.select("model", "name")
    return differences.join(
        names.rename({"model": "model_a", "name": "name_a"}), on="model_a", maintain_order="left"
    ).join(names.rename({"model": "model_b", "name": "name_b"}), on="model_b", maintain_order="left")


# --- one model --------------------------------------------------------------------------------------------------------


def row_of(frame: pl.DataFrame, model: str) -> dict[str, Any]:
    """The row of one model as a mapping."""
    return frame.filter(model=model).row(0, named=True)


def measures(study: Study, board: pl.DataFrame) -> pl.DataFrame:
    """Six numbers of every model for the strips: the score, three tiers, omission and contradiction; gains where known."""
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
    median = others.group_by("domain").agg(pl.col("score").median().alias("median"))
    return _against(pl.concat(rows), median, "domain")


def roles(study: Study) -> pl.DataFrame:
    """The share of checks that the model meets by role against the median of the field,."""
    graded = study.role_counts.drop_nulls("role")
    if graded.is_empty():
        return pl.DataFrame()
    rates = failures.verdict_rates(graded, by=["role"], questions=study.questions)
    met = rates.filter((pl.col("verdict") == "meets") & (pl.col("rate") == "micro"))
    met = met.with_columns(role=pl.col("role").cast(pl.String).replace_strict(ROLE_LABELS))
    others = met.filter(pl.col("model") != study.model)
    median = others.group_by("role").agg(pl.col("estimate").median().alias("median"))
    return _against(met.filter(model=study.model), median, "role")


def _against(own: pl.DataFrame, median: pl.DataFrame, part: str) -> pl.DataFrame:
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
    facing = _facing(pairs, study.model).filter(pl.col("model").is_in(near))
    place = {model: position for position, model in enumerate(order)}
    return facing.sort(pl.col("model").replace_strict(place, return_dtype=pl.Int64))


def _facing(pairs: pl.DataFrame, model: str) -> pl.DataFrame:
    """The pairs of one model, seen from its side."""
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


def text_only_gains(study: Study) -> pl.DataFrame:
    """Text-only minus multimodal of every model, matched on questions and checks; empty with one variant."""
    parts = gain_parts(study)
    return parts.filter(pl.col("part") == "matched") if parts.height else parts


def gain_parts(study: Study) -> pl.DataFrame:
    """The naive gain of every model and its exact parts; empty where there is only one variant."""
    if study.scores.filter(judge=study.judge)["variant"].n_unique() < 2:
        return pl.DataFrame()
    parts = gains.gain_parts(study.scores, study.matched_scores, judge=study.judge, questions=study.all_questions)
    return parts.join(study.models.select("model", "name"), on="model")


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


def costliest(study: Study, top: int = 12) -> pl.DataFrame:
    """The questions that cost the model most, with their text and domain; losses of the question's score."""
    split = study.scoring.losses(study.own_counts.filter(model=study.model))
    rows = failures.costliest_questions(split, model=study.model, judge=study.judge, variant=study.variant, top=top)
    told = study.questions.select("question_id", "question", "domain")
    return rows.join(told, on="question_id", how="left", maintain_order="left")


def opened(study: Study, question_ids: Sequence[str]) -> dict[str, pl.DataFrame]:
    """The checks of some questions with every judge's verdict and rationale, by question id."""
    rows = tables.check_verdicts(study.path, model=study.model, variant=study.variant)
    chosen = rows.filter(pl.col("question_id").is_in(list(question_ids)))
    return {key[0]: part for key, part in chosen.partition_by("question_id", as_dict=True).items()}


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
            {"figure": label, "published": float(printed[column]), **{name: row[name] for name in _ESTIMATE}}
            for label, (column, row) in ours.items()
        ]
    )
    return frame.with_columns(
        difference=pl.col("estimate") - pl.col("published"),
        inside=pl.when(pl.col("published").is_between("low", "high"))
        .then(pl.lit("inside"))
        .otherwise(pl.lit("outside")),
    )
