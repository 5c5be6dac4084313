"""What rubrics are made of: checks and tiers, structures and how they combine, and what a flat checklist would change.

Frames: ``questions`` (a row a question and variant), ``items`` (a row an item of a meta-rubric) and ``checks`` (a row a
check and variant), as compiled or as delivered. Where only checks were delivered ``items_of`` infers what they tell of
their items. Every number stands beside its denominator: questions, items or checks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from gamut_analysis.errors import InputError
from gamut_analysis.intervals import LEVEL, mean_interval, mean_intervals, question_clusters, wilson_interval
from gamut_analysis.scoring import ANSWER, Scoring
from gamut_analysis.vocabulary import ITEM_TYPE_LABELS, ITEM_TYPES, TIERS, VERDICTS

# A flexible list of so many options or more gets coverage thresholds instead of a bonus for each option.
LONG_LIST = 8
STRUCTURES = ITEM_TYPES[1:]
DEMOTED = ("bonus", "threshold", "optional_step", "full_sequence")
RUBRICS = ("as compiled", "without tiers", "without demotion", "all list items required")

_SETS = (*STRUCTURES, "insight")
_SET_LABELS = {**ITEM_TYPE_LABELS, "insight": "Insight"}
_PROMOTED = dict(zip(TIERS, (TIERS[0], *TIERS[:-1]), strict=True))
_REPLICATE = [*ANSWER, "replicate"]


# --- one value with its interval --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Value:
    """One computed statistic: its interval where it is an estimate, what n counts, and why it may be absent."""

    kind: str
    ours: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    of: str | None = None
    reason: str | None = None


def _absent(reason: str) -> _Value:
    return _Value("absent", reason=reason)


def _count(value: int, of: str) -> _Value:
    return _Value("count", float(value), n=value, of=of)


def _maximum(values: pl.Series, of: str) -> _Value:
    if not len(values):
        return _absent(f"no {of}")
    return _Value("maximum", float(np.max(values.to_numpy())), n=len(values), of=of)


def _share(holds: pl.Series, of: str, level: float) -> _Value:
    """A share in percent with Wilson's interval."""
    n = len(holds)
    if not n:
        return _absent(f"no {of}")
    low, high = wilson_interval(int(holds.sum()), n, level=level)
    return _Value("share", 100 * int(holds.sum()) / n, 100 * float(low), 100 * float(high), n, of)


def _mean(values: pl.Series, of: str, level: float, clusters: np.ndarray | None) -> _Value:
    if not len(values):
        return _absent(f"no {of}")
    row = mean_interval(values.cast(pl.Float64).to_numpy(), clusters=clusters, level=level)
    return _Value("mean", row["estimate"], row["low"], row["high"], row["n"], of, row["reason"])


def _median(values: pl.Series, of: str, level: float) -> _Value:
    known = values.drop_nulls()
    if not len(known):
        return _absent(f"no {of}" if not len(values) else f"the size of the {of} is not known")
    ours, low, high = median_interval(known.cast(pl.Float64).to_numpy(), level=level)
    reason = None if low is not None else f"{len(known)} values: too few for an interval at this level"
    return _Value("median", ours, low, high, len(known), of, reason)


def median_interval(values: np.ndarray, *, level: float = LEVEL) -> tuple[float, float | None, float | None]:
    """Median with its exact binomial interval: order statistics k and n + 1 - k.

    k is the largest with P(Binomial(n, 1/2) < k) <= (1 - level)/2, so that the interval covers at least at its level,
    and more where values are tied. None for the bounds where even the extremes do not reach it (n < 6 at 95 %).

    >>> median_interval(np.arange(1.0, 11.0))
    (5.5, 2.0, 9.0)
    """
    from scipy.special import bdtr

    ordered = np.sort(values)
    n = len(ordered)
    below = bdtr(np.arange(n), n, 0.5)
    k = int(np.searchsorted(below, (1 - level) / 2, side="right"))
    median = float(np.median(ordered))
    return (median, None, None) if k == 0 else (median, float(ordered[k - 1]), float(ordered[n - k]))


# --- the published statistics -----------------------------------------------------------------------------------------


def structure_statistics(
    questions: pl.DataFrame,
    items: pl.DataFrame,
    checks: pl.DataFrame,
    published: pl.DataFrame,
    *,
    level: float = LEVEL,
) -> pl.DataFrame:
    """Every published statistic of the rubrics, computed from these, beside the printed value.

    published: columns statistic, value, unit. Returns its rows in their order with ``kind`` (count, share, mean,
    median, maximum), ``ours, low, high, n``, ``of`` (what n counts), ``published``, ``difference`` (ours - published),
    ``inside`` (the printed value, taken to half a unit of its last digit, lies in the interval), ``unit`` and
    ``reason``. Shares are in percent with Wilson's interval, means by t over questions (clustered where questions
    share one), medians by the exact binomial interval; counts and maxima are not estimates and have none. What these
    frames cannot tell is null and says why.
    """
    facts = _Facts(questions, items if items.height else items_of(checks), checks, level)
    rows = []
    for statistic, value, unit in published.select("statistic", "value", "unit").iter_rows():
        compute = _STATISTICS.get(statistic)
        found = compute(facts) if compute else _absent("no rule for this statistic")
        rows.append(
            {
                "statistic": statistic,
                "kind": found.kind,
                "ours": found.ours,
                "low": found.low,
                "high": found.high,
                "n": found.n,
                "of": found.of,
                "published": float(value),
                "difference": None if found.ours is None else found.ours - float(value),
                "inside": _inside(found, float(value)),
                "unit": unit,
                "reason": found.reason,
            }
        )
    floats = dict.fromkeys(("ours", "low", "high", "published", "difference"), pl.Float64)
    texts = dict.fromkeys(("statistic", "kind", "of", "unit", "reason"), pl.String)
    return pl.DataFrame(rows, schema_overrides={**floats, **texts, "n": pl.Int64, "inside": pl.Boolean})


def _inside(found: _Value, printed: float) -> bool | None:
    """Whether the interval reaches what was rounded to the printed value."""
    if found.low is None or found.high is None:
        return None
    half = 0.5 if printed == round(printed) else 0.05
    return found.low <= printed + half and found.high >= printed - half


@dataclass(frozen=True)
class _Facts:
    """The three frames with what the statistics ask of them."""

    questions: pl.DataFrame
    items: pl.DataFrame
    checks: pl.DataFrame
    level: float

    def asked(self, variant: str) -> pl.DataFrame:
        return (
            self.questions.filter(pl.col("variant").cast(pl.String) == variant)
            .unique("question_id")
            .sort("question_id")
        )

    @property
    def multimodal(self) -> pl.DataFrame:
        return self.checks.filter(pl.col("variant").cast(pl.String) == "multimodal")

    def of_type(self, item_type: str) -> pl.DataFrame:
        return self.items.filter(pl.col("item_type").cast(pl.String) == item_type)

    def clusters(self, question_ids: pl.Series) -> np.ndarray | None:
        if "cluster" not in self.questions.columns:
            return None
        return question_clusters(self.questions, question_ids.to_list())

    def checks_per_question(self, tier: str | None = None) -> pl.DataFrame:
        """Checks of every question, 0 where it has none of the tier."""
        number = pl.len() if tier is None else (pl.col("tier").cast(pl.String) == tier).sum()
        return (
            self.multimodal.group_by("question_id", maintain_order=True).agg(number.alias("checks")).sort("question_id")
        )

    def mean_checks(self, tier: str | None = None) -> _Value:
        table = self.checks_per_question(tier)
        return _mean(table["checks"], "questions", self.level, self.clusters(table["question_id"]))

    def with_any(self, holds: pl.Expr) -> _Value:
        """Share of questions with an item that holds."""
        return _share(
            self.items.group_by("question_id", maintain_order=True).agg(holds.any().alias("any"))["any"],
            "questions",
            self.level,
        )

    def with_type(self, item_type: str) -> _Value:
        return self.with_any(pl.col("item_type").cast(pl.String) == item_type)

    def types_per_question(self) -> _Value:
        structured = pl.col("item_type").cast(pl.String).is_in(STRUCTURES)
        table = self.items.group_by("question_id", maintain_order=True).agg(
            pl.col("item_type").filter(structured).n_unique().alias("types")
        )
        table = table.sort("question_id")
        return _mean(table["types"], "questions", self.level, self.clusters(table["question_id"]))

    def median_members(self, item_type: str, of: str) -> _Value:
        return _median(self.of_type(item_type)["n_members"], of, self.level)

    def share_of_type(self, item_type: str, of: str, holds: pl.Expr, needed: str) -> _Value:
        rows = self.of_type(item_type)
        if rows.height and rows[needed].null_count():
            return _absent(f"{needed} of some {of} is not known")
        return _share(rows.select(holds.alias("holds"))["holds"], of, self.level)

    def count_of_type(self, item_type: str, of: str, holds: pl.Expr, needed: str) -> _Value:
        rows = self.of_type(item_type)
        if rows.height and rows[needed].null_count():
            return _absent(f"{needed} of some {of} is not known")
        return _count(rows.filter(holds).height, of)

    def entities(self, summary: Callable[[pl.Series], _Value]) -> _Value:
        rows = self.of_type("relationship")
        if "n_entities" not in rows.columns or (rows.height and rows["n_entities"].null_count()):
            return _absent("the items do not say how many entities a relationship joins")
        return summary(rows["n_entities"])

    def snippets(self) -> _Value:
        if "n_snippets" not in self.questions.columns:
            return _absent("the questions do not say how many pages were read for them")
        table = self.asked("multimodal").drop_nulls("n_snippets")
        return _mean(table["n_snippets"], "questions", self.level, self.clusters(table["question_id"]))

    def cited_items(self) -> _Value:
        if self.items["n_citations"].null_count() == self.items.height:
            return _absent("the items do not say what they cite")
        return _share(self.items["n_citations"].fill_null(0) > 0, "items", self.level)

    def cited_checks(self) -> _Value:
        if self.items["n_citations"].null_count() == self.items.height:
            return _absent("the items do not say what they cite")
        cited = self.items.select("question_id", "item_id", (pl.col("n_citations").fill_null(0) > 0).alias("cited"))
        joined = self.multimodal.join(cited, on=["question_id", "item_id"])
        return _share(joined["cited"], "checks", self.level)

    def insights(self) -> _Value:
        return _count(int(self.items["has_insight"].sum()), "insights")


_LONG = pl.col("n_members") >= LONG_LIST
_MIXED = (pl.col("n_required") > 0) & (pl.col("n_required") < pl.col("n_members"))
_STRUCTURED = pl.col("item_type").cast(pl.String).is_in(STRUCTURES)

_STATISTICS: dict[str, Callable[[_Facts], _Value]] = {
    "questions_multimodal": lambda facts: _count(facts.asked("multimodal").height, "questions"),
    "questions_text_only": lambda facts: _count(facts.asked("text_only").height, "questions"),
    "questions_before_rubric_cleanup": lambda facts: _absent("questions that were removed leave no trace in the data"),
    "source_images": lambda facts: _absent("images that became no question leave no trace in the data"),
    "domains": lambda facts: _count(facts.questions["domain"].drop_nulls().n_unique(), "domains"),
    "checks_per_question_mean": lambda facts: facts.mean_checks(),
    "checks_per_question_median": lambda facts: _median(
        facts.checks_per_question()["checks"], "questions", facts.level
    ),
    "checks_per_question_max": lambda facts: _maximum(facts.checks_per_question()["checks"], "questions"),
    "answer_critical_checks_mean": lambda facts: facts.mean_checks("answer_critical"),
    "valuable_checks_mean": lambda facts: facts.mean_checks("valuable"),
    "context_checks_mean": lambda facts: facts.mean_checks("context"),
    "questions_with_structure": lambda facts: facts.with_any(_STRUCTURED),
    "questions_with_flexible_list": lambda facts: facts.with_type("flexible_list"),
    "questions_with_strict_list": lambda facts: facts.with_type("strict_list"),
    "questions_with_process": lambda facts: facts.with_type("process"),
    "questions_with_relationship": lambda facts: facts.with_type("relationship"),
    "questions_with_meta_insight": lambda facts: facts.with_any(pl.col("has_insight")),
    "structure_types_per_question_mean": lambda facts: facts.types_per_question(),
    "meta_insights": lambda facts: facts.insights(),
    "flexible_list_options_median": lambda facts: facts.median_members("flexible_list", "flexible lists"),
    "flexible_lists_long": lambda facts: facts.count_of_type("flexible_list", "flexible lists", _LONG, "n_members"),
    "flexible_lists_long_share": lambda facts: facts.share_of_type(
        "flexible_list", "flexible lists", _LONG, "n_members"
    ),
    "strict_list_items_median": lambda facts: facts.median_members("strict_list", "strict lists"),
    "relationship_entities_median": lambda facts: facts.entities(lambda n: _median(n, "relationships", facts.level)),
    "relationships_multi_entity_share": lambda facts: facts.entities(
        lambda n: _share(n >= 2, "relationships", facts.level)
    ),
    "processes": lambda facts: _count(facts.of_type("process").height, "processes"),
    "processes_mixed_steps": lambda facts: facts.count_of_type("process", "processes", _MIXED, "n_required"),
    "processes_mixed_steps_share": lambda facts: facts.share_of_type("process", "processes", _MIXED, "n_required"),
    "process_steps_median": lambda facts: facts.median_members("process", "processes"),
    "snippets_per_question_mean": lambda facts: facts.snippets(),
    "distinct_pages_cited": lambda facts: _absent("the addresses of cited pages are not in these frames"),
    "meta_items_cited": lambda facts: facts.cited_items(),
    "checks_cited": lambda facts: facts.cited_checks(),
    "egocentric_images": lambda facts: _absent("the data does not say how an image was taken"),
}


def items_of(checks: pl.DataFrame) -> pl.DataFrame:
    """What multimodal checks tell of the items that they were compiled from, for data without meta-rubrics.

    One row a question_id and item_id with the columns of ``items``; null where checks do not tell it: the options of a
    flexible list whose members are not delivered, citations, insights that were left out.
    """
    rows = checks.filter(pl.col("variant").cast(pl.String) == "multimodal").drop_nulls(["item_id", "item_type"])
    role = pl.col("role").cast(pl.String)

    def roles(*names: str) -> pl.Expr:
        return role.is_in(names).sum().cast(pl.Int32)

    kind = pl.col("item_type").cast(pl.String)
    options = (
        pl.col("members").list.len().filter(role == "baseline").first().cast(pl.Int32)
        if "members" in rows.columns
        else pl.lit(None, dtype=pl.Int32)
    )
    counted = rows.group_by("question_id", "item_id", maintain_order=True).agg(
        pl.col("item_type").first(),
        roles("list_item").alias("elements"),
        roles("step", "optional_step").alias("steps"),
        roles("relationship").alias("aspects"),
        roles("bonus").alias("bonuses"),
        roles("step").alias("required"),
        roles("threshold").alias("n_thresholds"),
        (roles("insight") > 0).alias("has_insight"),
        options.alias("options"),
    )
    bonuses = pl.when(pl.col("bonuses") > 0).then(pl.col("bonuses"))
    members = (
        pl.when(kind == "strict_list")
        .then(pl.col("elements"))
        .when(kind == "process")
        .then(pl.col("steps"))
        .when(kind == "relationship")
        .then(pl.col("aspects"))
        .when(kind == "flexible_list")
        .then(pl.coalesce("options", bonuses))
        .otherwise(1)
    )
    required = pl.when(kind == "process").then(pl.col("required")).when(kind == "strict_list").then(pl.col("elements"))
    return counted.select(
        "question_id",
        "item_id",
        "item_type",
        members.cast(pl.Int32).alias("n_members"),
        required.alias("n_required"),
        pl.lit(None, dtype=pl.Int32).alias("baseline"),
        "n_thresholds",
        "has_insight",
        pl.lit(None, dtype=pl.Int32).alias("n_citations"),
    ).sort("question_id", "item_id")


# --- shapes -----------------------------------------------------------------------------------------------------------


def checks_by_tier(checks: pl.DataFrame) -> pl.DataFrame:
    """Checks of every question and tier, tiers without checks as 0: question_id, variant, tier, checks."""
    asked = checks.select("question_id", "variant").unique()
    tiers = pl.DataFrame({"tier": pl.Series(TIERS, dtype=pl.Enum(TIERS))})
    counted = checks.group_by("question_id", "variant", pl.col("tier").cast(pl.Enum(TIERS)), maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("checks")
    )
    return (
        asked.join(tiers, how="cross")
        .join(counted, on=["question_id", "variant", "tier"], how="left")
        .with_columns(pl.col("checks").fill_null(0))
        .sort("variant", "question_id", "tier")
    )


def structure_combinations(items: pl.DataFrame, *, level: float = LEVEL) -> pl.DataFrame:
    """How structures combine in questions: one row a combination, the most common first.

    Returns a boolean column for each structure type and for ``insight``, ``combination`` in words, ``questions``, and
    the share of all questions with items: ``estimate, low, high`` (Wilson), ``n``. What an UpSet plot shows.
    """
    has = [(pl.col("item_type").cast(pl.String) == name).any().alias(name) for name in STRUCTURES]
    sets = items.group_by("question_id", maintain_order=True).agg(*has, pl.col("has_insight").any().alias("insight"))
    counted = sets.group_by(_SETS, maintain_order=True).agg(pl.len().cast(pl.Int64).alias("questions"))
    words = [pl.when(pl.col(name)).then(pl.lit(_SET_LABELS[name])) for name in _SETS]
    label = pl.concat_str(words, separator=" + ", ignore_nulls=True)
    return _with_share(
        counted.with_columns(pl.when(label == "").then(pl.lit("Facts alone")).otherwise(label).alias("combination")),
        "questions",
        sets.height,
        level,
    ).sort("questions", "combination", descending=[True, False])


def structure_sizes(items: pl.DataFrame, *, level: float = LEVEL) -> pl.DataFrame:
    """How common each structure is: ``items``, ``questions`` that have it, and their share with Wilson's interval."""
    total = items["question_id"].n_unique()
    rows = []
    for name in _SETS:
        holds = pl.col("has_insight") if name == "insight" else pl.col("item_type").cast(pl.String) == name
        own = items.filter(holds)
        rows.append({"structure": name, "items": own.height, "questions": own["question_id"].n_unique()})
    return _with_share(pl.DataFrame(rows), "questions", total, level)


def member_lengths(items: pl.DataFrame, *, level: float = LEVEL) -> pl.DataFrame:
    """Lengths of lists, processes and relationships: ``items`` a length and their share of the type (Wilson)."""
    rows = items.filter(_STRUCTURED).drop_nulls("n_members")
    counted = rows.group_by("item_type", "n_members", maintain_order=True).agg(pl.len().cast(pl.Int64).alias("items"))
    total = pl.col("items").sum().over("item_type")
    return _with_share(counted, "items", total, level).sort("item_type", "n_members")


def baseline_thresholds(items: pl.DataFrame) -> pl.DataFrame:
    """How demanding flexible lists are: number of ``lists`` a combination of length, baseline and thresholds."""
    rows = items.filter(pl.col("item_type").cast(pl.String) == "flexible_list").drop_nulls("n_members")
    keys = ["n_members", "baseline", "n_thresholds"]
    return (
        rows.group_by(keys, maintain_order=True)
        .agg(pl.len().cast(pl.Int64).alias("lists"))
        .with_columns(_LONG.alias("is_long"))
        .sort(keys)
    )


def _with_share(table: pl.DataFrame, count: str, total: int | pl.Expr, level: float) -> pl.DataFrame:
    """Add estimate, low, high (Wilson) and n to a table of counts out of a total."""
    whole = (pl.lit(total) if isinstance(total, int) else total).cast(pl.Int64).alias("n")
    counted = table.with_columns(whole)
    low, high = wilson_interval(counted[count].to_numpy(), counted["n"].to_numpy(), level=level)
    return counted.with_columns(
        (pl.col(count) / pl.col("n")).alias("estimate"), pl.Series("low", low), pl.Series("high", high)
    ).select(*table.columns, "estimate", "low", "high", "n")


# --- other rubrics ----------------------------------------------------------------------------------------------------


def counterfactual_counts(counts: pl.DataFrame, rubric: str) -> pl.DataFrame:
    """Verdict counts as another rubric would have had them, from counts by role (and item tier, if there is one).

    ``as compiled`` changes nothing; ``without tiers`` puts all checks into one; ``without demotion`` gives bonuses,
    thresholds, optional steps and full sequences the tier of their item; ``all list items required`` does so for
    bonuses and thresholds and drops the baselines, so that a flexible list asks for each of its options (a long one
    for its thresholds, since its options were not graded one by one).

    The tier of the item is taken from ``item_tier`` where the counts have it; else a demoted check goes up by one,
    which is too much for the few that a Context item has. Raises InputError for counts without roles, or another
    rubric.
    """
    if "role" not in counts.columns or rubric not in RUBRICS:
        problem = "counts have no column role" if "role" not in counts.columns else f"rubric {rubric!r} is not known"
        raise InputError(f"{problem}: counts by role and one of {', '.join(RUBRICS)} are needed")
    role, tier = pl.col("role").cast(pl.String), pl.col("tier").cast(pl.String)
    own = pl.col("item_tier").cast(pl.String) if "item_tier" in counts.columns else tier.replace_strict(_PROMOTED)
    rows, placed = counts, tier
    if rubric == "without tiers":
        placed = pl.lit(TIERS[0])
    elif rubric == "without demotion":
        placed = pl.when(role.is_in(DEMOTED)).then(own).otherwise(tier)
    elif rubric == "all list items required":
        rows = counts.filter((role != "baseline").fill_null(True))
        placed = pl.when(role.is_in(DEMOTED[:2])).then(own).otherwise(tier)
    status = [pl.col("answer_status").first()] if "answer_status" in counts.columns else []
    return (
        rows.with_columns(placed.cast(pl.Enum(TIERS)).alias("tier"))
        .group_by(*_REPLICATE, "tier", maintain_order=True)
        .agg(pl.col(*VERDICTS, "ungraded", "checks").sum(), *status)
    )


def rescored(
    counts: pl.DataFrame, scoring: Scoring | None = None, *, questions: pl.DataFrame | None = None, level: float = LEVEL
) -> pl.DataFrame:
    """What other rubrics would have said of the same answers: who would move, and by how much.

    counts: by role, see ``counterfactual_counts``. Returns one row a judge, variant, ``rubric`` and model: ``score``,
    ``rank``, ``shift`` (ranks gained against the rubric as compiled), and the change of the score, paired by question:
    ``estimate, low, high`` (clustered t), ``n`` questions, ``warning``, ``reason``.
    """
    scoring = scoring or Scoring()
    key = [*ANSWER]
    real = scoring.questions(counterfactual_counts(counts, RUBRICS[0])).select(*key, pl.col("score").alias("real"))
    parts = []
    for rubric in RUBRICS:
        scores = scoring.questions(counterfactual_counts(counts, rubric)).select(*key, "score")
        both = real.join(scores, on=key).drop_nulls(["score", "real"])
        for group, rows in both.group_by("judge", "variant", "model", maintain_order=True):
            ordered = rows.sort("question_id")
            parts.append(
                {
                    **dict(zip(("judge", "variant", "model"), group, strict=True)),
                    "rubric": rubric,
                    **_change(ordered, questions, level),
                }
            )
    table = pl.DataFrame(
        parts,
        schema_overrides={
            "variant": pl.String,
            "warning": pl.String,
            "reason": pl.String,
            "low": pl.Float64,
            "high": pl.Float64,
        },
    )
    among = ["judge", "variant", "rubric"]
    ranked = table.with_columns(
        pl.col("rubric").cast(pl.Enum(RUBRICS)),
        pl.col("score").round(12).rank("min", descending=True).over(among).cast(pl.Int64).alias("rank"),
    ).sort("judge", "variant", "rubric", "rank", "model")
    first = pl.col("rank").filter(pl.col("rubric") == RUBRICS[0]).first().over("judge", "variant", "model")
    return ranked.with_columns((first - pl.col("rank")).alias("shift")).select(
        *among, "model", "score", "rank", "shift", "estimate", "low", "high", "n", "warning", "reason"
    )


def _change(rows: pl.DataFrame, questions: pl.DataFrame | None, level: float) -> dict[str, Any]:
    clustered = questions is not None and "cluster" in questions.columns
    clusters = (
        question_clusters(questions, rows["question_id"].to_list()) if clustered and questions is not None else None
    )
    change = (rows["score"] - rows["real"]).to_numpy().reshape(-1, 1)
    result = mean_intervals(change, clusters=clusters, level=level).row(0, named=True)
    return {
        "score": rows["score"].mean(),
        **{name: result[name] for name in ("estimate", "low", "high", "n", "warning", "reason")},
    }
