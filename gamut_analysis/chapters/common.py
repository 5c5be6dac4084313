"""What several notebooks tell: the frames of the field, captions, and what the data is."""

import functools
import shlex
from collections.abc import Callable
from typing import Any

import polars as pl

from gamut_analysis import __version__, datasets, failures, gains, paths, ranking
from gamut_analysis.chapters import gradings
from gamut_analysis.charts import dots
from gamut_analysis.charts.links import linked
from gamut_analysis.display import Figure, Text, format_count, format_points
from gamut_analysis.intervals import mean_intervals, question_clusters, score_matrix
from gamut_analysis.study import REFERENCE_JUDGE, Study
from gamut_analysis.vocabulary import TIER_LABELS, TIERS, VARIANT_LABELS

BENCHMARK = "gamut"  # the only one whose published numbers may stand beside ours
SAMPLING = "Lines are 95 % intervals over questions, clustered where questions share an image."
ESTIMATE = ("estimate", "low", "high")


def once(frame: Callable[[Study], pl.DataFrame]) -> Callable[[Study], pl.DataFrame]:
    """Make a frame of a study once: several figures and sentences rest on it, and none changes it."""

    @functools.wraps(frame)
    def kept(study: Study) -> pl.DataFrame:
        frames = study.__dict__.setdefault("frames", {})
        if frame not in frames:
            frames[frame] = frame(study)
        return frames[frame]

    return kept


@once
def board(study: Study) -> pl.DataFrame:
    """The leaderboard, with display names, the published score where there is one, and `place` in words."""
    ranked = ranking.leaderboard(
        study.own_scores, judge=study.judge, variant=study.variant, questions=study.questions, seed=study.seed
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


@once
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


@once
def shares(study: Study) -> pl.DataFrame:
    """Verdict shares of every model: `micro` (pooled over checks) with interval, and `macro`."""
    rates = failures.verdict_rates(study.own_counts, questions=study.questions)
    wide = rates.pivot("rate", index=["model", "verdict"], values=[*ESTIMATE, "checks"])
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


@once
def tier_scores(study: Study) -> pl.DataFrame:
    """Mean tier score of every model with its interval, over the questions that have the tier."""
    parts = []
    for tier in TIERS:
        models, ids, matrix = score_matrix(study.own_scores, judge=study.judge, variant=study.variant, value=tier)
        rows = mean_intervals(matrix, clusters=question_clusters(study.questions, ids))
        parts.append(
            rows.with_columns(model=pl.Series(models), tier=pl.lit(tier), tier_label=pl.lit(TIER_LABELS[tier]))
        )
    frame = pl.concat(parts).join(study.models.select("model", "name"), on="model")
    return frame.with_columns(tier=pl.col("tier").cast(pl.Enum(TIERS)))


@once
def pairs(study: Study) -> pl.DataFrame:
    """All paired differences, with display names; the upper model first."""
    differences = ranking.paired_differences(
        study.own_scores, judge=study.judge, variant=study.variant, questions=study.questions, seed=study.seed
    )
    names = study.models.select("model", "name")
    return differences.join(
        names.rename({"model": "model_a", "name": "name_a"}), on="model_a", maintain_order="left"
    ).join(names.rename({"model": "model_b", "name": "name_b"}), on="model_b", maintain_order="left")


@once
def domain_scores(study: Study) -> pl.DataFrame:
    """Mean score of every model on every domain; empty where questions have no domain."""
    domains = study.questions.select("question_id", "domain").drop_nulls()
    return (
        study.own_scores.drop_nulls("score")
        .join(domains, on="question_id")
        .join(study.models.select("model", "name"), on="model")
        .group_by("model", "name", "domain", maintain_order=True)
        .agg(pl.col("score").mean(), pl.len().alias("n"))
        .sort("domain", "name")
    )


@once
def rank_odds(study: Study) -> pl.DataFrame:
    """How often each model takes each rank over resampled questions."""
    odds = ranking.rank_probabilities(
        study.own_scores, judge=study.judge, variant=study.variant, questions=study.questions, seed=study.seed
    )
    return odds.join(study.models.select("model", "name"), on="model")


def row_of(frame: pl.DataFrame, model: str) -> dict[str, Any]:
    """The row of one model as a mapping."""
    return frame.filter(model=model).row(0, named=True)


@once
def gain_parts(study: Study) -> pl.DataFrame:
    """The naive gain of every model and its exact parts; empty where there is only one variant."""
    if study.scores.filter(judge=study.judge)["variant"].n_unique() < 2:
        return pl.DataFrame()
    parts = gains.gain_parts(study.scores, study.matched_scores, judge=study.judge, questions=study.all_questions)
    return parts.join(study.models.select("model", "name"), on="model")


UNSCORED = "No answer was graded in full, so there is no score to show."


def field(study: Study, board: pl.DataFrame) -> Figure | Text:
    """Every model's score with its interval, tied groups as letters, published scores beside ours."""
    scored = board.drop_nulls("estimate")
    if scored.is_empty():
        return cannot("field", UNSCORED)
    focus = study.model_name if study.model else None
    has_published = scored["published"].null_count() < scored.height
    chart = linked(dots.field(scored, focus=focus, reference="published" if has_published else None), model="name")
    first = scored.sort("estimate", descending=True).row(0, named=True)
    title = f"{first['name']} scores highest, with {format_points(first['estimate'])} points"
    told = ["Models that share a letter are not told apart.", SAMPLING]
    told += ["Open diamonds: the paper's printed scores."] if has_published else []
    alt_text = "Scores from the highest: " + "; ".join(
        f"{row['name']} {format_points(row['estimate'])}" for row in scored.sort("estimate", descending=True).to_dicts()
    )
    columns = ["model", "name", "estimate", "low", "high", "n", "group", "published"]
    return Figure(
        "field", titled(study, chart, title, view_of(study)), captioned(study, *told), alt_text, scored.select(columns)
    )


def captioned(study: Study, *sentences: str) -> str:
    """The sentences of a caption; simulated data is called so on every figure."""
    return ("SIMULATED data. " if study.dataset["simulated"] else "") + " ".join(sentences)


def titled(study: Study, chart: Any, title: str, subtitle: str) -> Any:
    """A chart under its finding and what is drawn."""
    shown = f"SIMULATED · {subtitle}" if study.dataset["simulated"] else subtitle
    return chart.properties(title={"text": title, "subtitle": shown})


def view_of(study: Study) -> str:
    return f"{VARIANT_LABELS[study.variant]} questions, judge {study.judge_name}"


def cannot(name: str, reason: str) -> Text:
    """A part that the data does not allow, in one line."""
    return Text(name, "{reason}", {"reason": reason})


def kind_of_data(study: Study) -> Text:
    """What and whose data a page is about; simulated data is called so first."""
    coverage = study.coverage.filter(judge=study.judge, variant=study.variant)
    values = {
        "title": study.dataset["title"],
        "judge": study.judge_name,
        "variant": VARIANT_LABELS[study.variant].lower(),
        "models": study.models.height,
        "asked": _most(coverage["questions_asked"]),
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
        "Judge {judge}, {variant} questions: {asked:count} questions, {models:count} models, {verdicts:count} "
        "verdicts; "
        "{read:count} rows read from {files:count} files, {rejected:count} of them rejected.",
    ]
    lines += ["{note}"] if values["note"] else []
    lines += ["{assumptions}"] if values["assumptions"] else []
    if not study.scoring.is_default:
        lines.append(
            "The score is not the paper's: lambda {lambda:number}, mu {mu:number}, weights {w0:number}, {w1:number}, "
            "{w2:number}, "
            "an answer is scored when {coverage:percent} % of its checks are graded."
        )
        values |= {
            "lambda": float(study.scoring.lambda_),
            "mu": float(study.scoring.mu),
            "coverage": float(study.scoring.min_coverage),
        }
        values |= {f"w{place}": float(weight) for place, weight in enumerate(study.scoring.weights)}
    return Text("kind-of-data", " ".join(lines), values)


def _most(counts: pl.Series) -> int:
    """The largest of some counts, 0 of none."""
    return max(counts.to_list(), default=0)


def band(study: Study) -> dict[str, Any]:
    """The strip at the head of a page and the notes at its foot: what the data is, and what the page was made of."""
    coverage = study.coverage.filter(judge=study.judge, variant=study.variant)
    simulated = study.dataset["simulated"]
    own = coverage.filter(model=study.model) if study.model else coverage
    graded, asked = int(own["questions_graded"].sum()), int(own["questions_asked"].sum())
    facts = {
        "judge": study.judge_name,
        "variant": VARIANT_LABELS[study.variant],
        "questions": format_count(_most(coverage["questions_asked"])),
        "graded in full": f"{format_count(graded)} of {format_count(asked)} answers",
        **gradings.head_facts(study),
    }
    details = {
        "Data": [
            line for line in (study.dataset["title"], study.dataset["note"], study.dataset["assumptions"]) if line
        ],
        "Versions": [f"gamut-analysis {__version__}", f"DuckDB {study.dataset['duckdb']}", *_commit()],
        "Files": [f"{row['file']}, SHA-256 {row['sha256']}" for row in study.sources.to_dicts()],
    }
    if prompts := gradings.prompt_lines(study):
        details["Prompt of the judge"] = prompts
    text = (
        "SIMULATED: no model was asked and no judge graded." if simulated else f"Real data: {study.dataset['title']}."
    )
    return {"text": text, "simulated": simulated, "facts": facts, "details": details}


def _commit() -> list[str]:
    """The commit of the checkout, where there is one."""
    head = paths.root() / ".git" / "HEAD"
    try:
        ref = head.read_text(encoding="ascii").strip()
        if ref.startswith("ref: "):
            ref = (head.parent / ref.removeprefix("ref: ")).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return []
    return [f"commit {ref[:12]}"]


def published_note(study: Study, beside: pl.DataFrame) -> Text:
    """How many of the paper's numbers lie in our intervals, or why there are none to compare with."""
    if beside.is_empty():
        return Text(
            "published", "{reason}", {"reason": no_published(study) or "The paper prints no row for this model."}
        )
    inside = beside.filter(inside="inside").height
    template = "**{inside:count} of {n:count}** of the paper's numbers lie inside our intervals."
    if study.dataset["simulated"]:
        template += (
            " The data is simulated and calibrated to the paper, so this says how well it was calibrated and "
            "nothing else."
        )
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
        "A judge gives every check of an answer one of four verdicts. With M, P, S and C the numbers of meets, "
        "partially meets, "
        "missing and contradicts in a tier, its score is s = (M + λP + μC) / (M + P + S + |μ|C), with λ = "
        "{lambda:number} and "
        "μ = {mu:number}. A question's score is the mean of its tier scores with weights {w0:number} "
        "(Answer-Critical), "
        "{w1:number} (Valuable) and {w2:number} (Context); a tier without graded checks gives its weight to the "
        "others in "
        "proportion. A model's score is the mean over its questions, in points out of 100, and can be negative."
        "\n\n"
        "An answer is scored only when every check of its rubric has a verdict. An empty answer counts as all "
        "missing; an answer "
        "that could not be had, and a judge that failed, are not verdicts and count as nothing."
        "\n\n"
        "Intervals are at 95 %. Questions are what is sampled: intervals of means are t intervals clustered by image "
        "or question; "
        "shares of checks are ratio estimates clustered the same way. Differences of models are paired by question "
        "and tested by "
        "sign-flip permutation, corrected for all pairs together (step-down max-T). Rank sets hold for all models at "
        "once "
        "(Mogstad, Romano, Shaikh and Wilhelm 2023). Points lost are split exactly: a partial check costs (1 − λ)/D, "
        "a missing one "
        "1/D, a contradicted one (|μ| − μ)/D of its tier's weight, with D the denominator of s."
        "\n\n"
        "gamut-analysis {version}, seed {seed}, database {database}.",
        values,
    )


def limits(study: Study) -> Text:
    """What a page does not show."""
    told = [
        "The intervals speak of other questions of the same kind. They do not cover another answer of the same model "
        "to the same "
        "question, nor another grading by the same judge."
    ]
    if study.judges.height < 2:
        told.append("One judge graded: how much of this is the judge's own taste cannot be told.")
    else:
        told.append("All numbers but those by judge rest on one judge; another may be more lenient by several points.")
    if study.dataset["simulated"]:
        told.append("The data is simulated: nothing here is a finding about any model.")
    return Text("limits", " ".join(told), {})


def again(study: Study, other: str = "") -> Text:
    """The one command that makes the page again: of a model, of a model against another, or of the whole field."""
    target = "compare" if other else "report" if study.model else "figures"
    models = {"A": study.model, "B": other} if other else {"MODEL": study.model} if study.model else {}
    given = models | {
        "JUDGE": study.judge,
        "VARIANT": study.variant,
        "SEED": str(study.seed),
        "DATA": _data(study),
    }
    command = " ".join([f"make {target}", *(shlex.quote(f"{name}={value}") for name, value in given.items())])
    return Text("again", "To make this page again: {command}", {"command": command})


def _data(study: Study) -> str:
    """The database as the command names it; a path outside the project is the reader's own business."""
    path = study.path.resolve()
    if path.parent == paths.warehouse().resolve() and path.stem in datasets.SHIPPED:
        return path.stem
    home = paths.root().resolve()
    return str(path.relative_to(home)) if path.is_relative_to(home) else path.name
