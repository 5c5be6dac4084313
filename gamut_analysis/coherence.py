"""What compiled checks imply about each other, and how often each judge breaks it; no human labels are needed.

For one judge, model and question a met `threshold` implies every lower one and the `baseline`; as many met bonuses as
the baseline asks for imply the baseline, and a met baseline that many bonuses met or partially met; a met
`full_sequence` implies the `sequence`. An implication *could be broken* where its premise is met and its conclusion is
graded far enough to tell. An order check that is met while fewer than two of its steps are mentioned says nothing: such
vacuous ones are counted apart. What is sampled is questions: every interval is clustered by question.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from gamut_analysis.intervals import LEVEL, clusters_of, ratio_intervals, share_intervals
from gamut_analysis.vocabulary import VARIANTS, VERDICTS

IMPLICATIONS = (
    "threshold_lower",
    "threshold_baseline",
    "bonuses_baseline",
    "baseline_bonuses",
    "full_sequence_sequence",
)
ORDERS = ("sequence", "full_sequence")
OUTCOMES = ("kept", "broken", "undecided")

# The order of two steps can be judged; that of one cannot.
STEPS_FOR_AN_ORDER = 2

_SERIES = ("model", "judge", "variant")
_QUESTION = ("variant", "question_id")
_ITEM = (*_QUESTION, "item")
_VARIANT, _VERDICT = pl.Enum(VARIANTS), pl.Enum(VERDICTS)
_KIND = pl.Enum((*IMPLICATIONS, *ORDERS))
# Which verdicts fulfil a conclusion.
_CREDIT = {
    "meets": ("meets",),
    "partially_meets": VERDICTS[:2],
    "mentioned": ("meets", "partially_meets", "contradicts"),
}


# --- rates ------------------------------------------------------------------------------------------------------------


def broken_implications(
    verdicts: pl.DataFrame,
    checks: pl.DataFrame,
    *,
    by: Sequence[str] = _SERIES,
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
) -> pl.DataFrame:
    """How often verdicts contradict what the checks imply about each other.

    verdicts: one row a model, judge, variant, question_id, check_id and replicate with a verdict or null. checks: one
    row a variant, question_id and check_id with role, item_id, needed and members. Returns one row a group of ``by``
    (by default model, judge, variant) and ``implication``: ``estimate`` = broken / opportunities, ``low, high, n``
    (questions with an opportunity), ``opportunities`` (premise met, conclusion decided), ``broken``, ``undecided`` (an
    ungraded check leaves it open), ``standard_error``, ``role_inferred`` (whether it rests on roles that were inferred
    from wording), ``warning``, ``reason`` (why something is null).

    Formula: ratio estimator over questions with linearised, clustered standard error (``questions`` names clusters);
    interval by Wilson with the effective number of opportunities p(1 - p)/SE^2, shrunk by (z/t)^2 for few clusters.
    Source: the compiler's rules; Cochran 1977, section 6.4; Korn and Graubard 1998.

    >>> checks = pl.DataFrame({"variant": "multimodal", "question_id": "q", "check_id": ["base", "all"],
    ...     "role": ["baseline", "threshold"], "item_id": "list", "needed": [1, 2], "members": [["a", "b"]] * 2})
    >>> verdicts = pl.DataFrame({"model": "m", "judge": "j", "variant": "multimodal", "question_id": "q",
    ...     "replicate": 0, "check_id": ["base", "all"], "verdict": ["missing", "meets"]})
    >>> broken_implications(verdicts, checks).filter(implication="threshold_baseline")["estimate"].to_list()
    [1.0]
    """
    outcomes = implication_outcomes(verdicts, checks)
    return _rates(outcomes, IMPLICATIONS, _groups(verdicts, by, IMPLICATIONS), questions, level)


def vacuous_orders(
    verdicts: pl.DataFrame,
    checks: pl.DataFrame,
    *,
    by: Sequence[str] = _SERIES,
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
) -> pl.DataFrame:
    """How many met order checks say nothing, because fewer than two of their steps are mentioned.

    A step is mentioned when its verdict is any but missing. Returns one row a group of ``by`` and ``order`` (sequence,
    full_sequence) with the columns of `broken_implications`; ``opportunities`` counts met order checks, ``vacuous`` is
    what ``broken`` is there.
    """
    outcomes = _outcomes(verdicts, _order_rules(checks))
    rates = _rates(outcomes, ORDERS, _groups(verdicts, by, ORDERS), questions, level)
    return rates.rename({"implication": "order", "broken": "vacuous"})


def implication_outcomes(verdicts: pl.DataFrame, checks: pl.DataFrame) -> pl.DataFrame:
    """Every implication that could be broken: kept, broken, or undecided because a check is ungraded.

    Returns one row a model, judge, variant, question_id, replicate and implication: ``item_id``, ``check_id`` (the
    coverage or order check that it is about), ``outcome``, ``role_inferred``.
    """
    return _outcomes(verdicts, _implication_rules(checks))


# --- which check implies which ----------------------------------------------------------------------------------------


def _known(checks: pl.DataFrame) -> pl.DataFrame:
    """Checks whose role and item are known; without an item id, coverage checks of the same members are one item."""
    inferred = pl.col("role_inferred").fill_null(False) if "role_inferred" in checks.columns else pl.lit(False)
    return checks.select(
        pl.col("variant").cast(pl.String).cast(_VARIANT),
        pl.col("question_id", "check_id", "item_id").cast(pl.String),
        pl.col("role").cast(pl.String),
        pl.col("needed").cast(pl.Int32),
        pl.coalesce(pl.col("item_id").cast(pl.String), pl.col("members").list.join("\n")).alias("item"),
        inferred.alias("role_inferred"),
    ).drop_nulls(["role", "item"])


def _by_item(known: pl.DataFrame) -> pl.DataFrame:
    """One row an item: its checks by role."""

    def of_role(*roles: str) -> pl.Expr:
        return pl.col("check_id").filter(pl.col("role").is_in(roles))

    return known.group_by(_ITEM).agg(
        pl.col("item_id").first(),
        of_role("baseline").first().alias("baseline"),
        pl.col("needed").filter(pl.col("role") == "baseline").first().alias("baseline_needed"),
        of_role("bonus").alias("bonuses"),
        of_role("sequence").first().alias("sequence"),
        of_role("full_sequence").first().alias("full_sequence"),
        of_role("step").alias("steps"),
        of_role("step", "optional_step").alias("all_steps"),
        pl.col("role_inferred").any(),
    )


def _implication_rules(checks: pl.DataFrame) -> pl.DataFrame:
    """One row an implication: when so many premises are met, so many conclusions are to be fulfilled."""
    known = _known(checks)
    items = _by_item(known)
    thresholds = known.filter(pl.col("role") == "threshold").select(*_ITEM, "check_id", "needed")
    listed = thresholds.join(items, on=_ITEM)
    lower = thresholds.select(*_ITEM, pl.col("check_id").alias("lower"), pl.col("needed").alias("lower_needed"))
    above = (
        listed.join(lower, on=_ITEM)
        .filter(pl.col("lower_needed") < pl.col("needed"))
        .group_by(*_ITEM, "item_id", "check_id", "role_inferred")
        .agg("lower")
    )
    based = listed.drop_nulls("baseline")
    short = items.filter(pl.col("bonuses").list.len() >= pl.col("baseline_needed"))
    ordered = items.drop_nulls(ORDERS)
    enough = pl.col("baseline_needed")
    return pl.concat(
        [
            _rules("threshold_lower", above, "check_id", ("check_id", "lower")),
            _rules("threshold_baseline", based, "check_id", ("check_id", "baseline")),
            _rules("bonuses_baseline", short, "baseline", ("bonuses", "baseline"), premise_needed=enough),
            _rules(
                "baseline_bonuses", short, "baseline", ("baseline", "bonuses"), needed=enough, credit="partially_meets"
            ),
            _rules("full_sequence_sequence", ordered, "full_sequence", ("full_sequence", "sequence")),
        ]
    )


def _order_rules(checks: pl.DataFrame) -> pl.DataFrame:
    """One row an order check: when it is met, at least two of its steps should be mentioned."""
    items, two = _by_item(_known(checks)), pl.lit(STEPS_FOR_AN_ORDER)
    parts = []
    for order, steps in zip(ORDERS, ("steps", "all_steps"), strict=True):
        judged = items.drop_nulls(order).filter(pl.col(steps).list.len() >= two)
        parts.append(_rules(order, judged, order, (order, steps), needed=two, credit="mentioned"))
    return pl.concat(parts)


def _rules(
    kind: str,
    frame: pl.DataFrame,
    check: str,
    sides: tuple[str, str],
    *,
    premise_needed: pl.Expr | None = None,
    needed: pl.Expr | None = None,
    credit: str = "meets",
) -> pl.DataFrame:
    """Rules of one kind in common columns; unless numbers are given, all premises and all conclusions are needed."""
    premises, conclusions = (
        pl.col(side) if frame.schema[side] == pl.List(pl.String) else pl.concat_list(side) for side in sides
    )
    return frame.select(
        pl.lit(kind, dtype=_KIND).alias("implication"),
        *_QUESTION,
        "item_id",
        pl.col(check).alias("check_id"),
        premises.alias("premises"),
        (premises.list.len() if premise_needed is None else premise_needed).cast(pl.Int32).alias("premise_needed"),
        conclusions.alias("conclusions"),
        (conclusions.list.len() if needed is None else needed).cast(pl.Int32).alias("needed"),
        pl.lit(credit, dtype=pl.Enum([*_CREDIT])).alias("credit"),
        "role_inferred",
    )


# --- verdicts against rules -------------------------------------------------------------------------------------------


def _outcomes(verdicts: pl.DataFrame, rules: pl.DataFrame) -> pl.DataFrame:
    """Count, for each answer and rule, premises met and conclusions fulfilled, and tell what follows."""
    rules = rules.sort(*_QUESTION, "implication", "check_id").with_row_index("rule")
    met = pl.col("verdict") == "meets"
    fulfilled = pl.any_horizontal(
        (pl.col("credit") == credit) & pl.col("verdict").is_in(allowed) for credit, allowed in _CREDIT.items()
    )
    premise = pl.col("is_premise")
    counted = (
        _coded(verdicts)
        .join(_members(rules), on=[*_QUESTION, "check_id"])
        .group_by("model", "judge", "replicate", "rule")
        .agg(
            (premise & met).sum().alias("premises_met"),
            (premise & pl.col("verdict").is_not_null()).sum().alias("premises_graded"),
            (~premise & fulfilled).sum().alias("fulfilled"),
            (~premise & pl.col("verdict").is_not_null()).sum().alias("conclusions_graded"),
        )
    )
    return (
        counted.join(rules, on="rule")
        .with_columns(_outcome())
        .drop_nulls("outcome")
        .select(
            pl.col("model", "judge").cast(pl.String),
            *_QUESTION,
            "replicate",
            "item_id",
            "implication",
            "check_id",
            "outcome",
            "role_inferred",
        )
        .sort("model", "judge", *_QUESTION, "replicate", "implication", "check_id")
    )


def _coded(verdicts: pl.DataFrame) -> pl.DataFrame:
    """The columns that count, with repeated text as codes: grouping millions of rows by text takes seconds."""
    return verdicts.select(
        pl.col("model", "judge").cast(pl.String).cast(pl.Categorical),
        pl.col("variant").cast(pl.String).cast(_VARIANT),
        pl.col("question_id", "check_id").cast(pl.String),
        "replicate",
        pl.col("verdict").cast(pl.String).cast(_VERDICT),
    )


def _members(rules: pl.DataFrame) -> pl.DataFrame:
    """One row a rule and check that it speaks of."""
    sides = [
        rules.select(
            "rule", *_QUESTION, "credit", pl.col(side).alias("check_id"), pl.lit(is_premise).alias("is_premise")
        )
        for side, is_premise in (("premises", True), ("conclusions", False))
    ]
    return pl.concat(sides).explode("check_id")


def _outcome() -> pl.Expr:
    """Kept, broken or undecided; null where the premise does not hold, so that nothing could be broken."""
    premises_open = pl.col("premises").list.len() - pl.col("premises_graded")
    conclusions_open = pl.col("conclusions").list.len() - pl.col("conclusions_graded")
    holds = pl.col("premises_met") >= pl.col("premise_needed")
    may_hold = pl.col("premises_met") + premises_open >= pl.col("premise_needed")
    kept = pl.col("fulfilled") >= pl.col("needed")
    lost = pl.col("fulfilled") + conclusions_open < pl.col("needed")
    return (
        pl.when(holds & kept)
        .then(pl.lit("kept"))
        .when(holds & lost)
        .then(pl.lit("broken"))
        .when(may_hold & ~kept)
        .then(pl.lit("undecided"))
        .cast(pl.Enum(OUTCOMES))
        .alias("outcome")
    )


# --- rates with intervals ---------------------------------------------------------------------------------------------


def _groups(verdicts: pl.DataFrame, by: Sequence[str], kinds: Sequence[str]) -> pl.DataFrame:
    """Every group beside every kind, so that what never could be broken has a row that says so."""
    named = verdicts.select(by).unique().with_columns(pl.col(name).cast(_plain(name)) for name in by)
    return named.join(pl.DataFrame({"implication": pl.Series(kinds, dtype=_KIND)}), how="cross").sort(
        *by, "implication"
    )


def _plain(name: str) -> pl.DataType:
    return _VARIANT if name == "variant" else pl.String()


def _rates(
    outcomes: pl.DataFrame, kinds: Sequence[str], groups: pl.DataFrame, questions: pl.DataFrame | None, level: float
) -> pl.DataFrame:
    """Ratio of broken to possible for each group and kind, over the questions that have a possibility."""
    keys = groups.columns
    outcome = pl.col("outcome")
    counted = (
        outcomes.group_by(*keys, "question_id")
        .agg(
            (outcome != "undecided").sum().alias("opportunities"),
            (outcome == "broken").sum().alias("broken"),
            (outcome == "undecided").sum().alias("undecided"),
            pl.col("role_inferred").any(),
        )
        .join(groups.with_row_index("column"), on=keys)
    )
    totals = counted.group_by(keys).agg(
        pl.col("opportunities", "broken", "undecided").sum().cast(pl.Int64), pl.col("role_inferred").any()
    )
    sized = groups.join(totals, on=keys, how="left", maintain_order="left").with_columns(
        pl.col("opportunities", "broken", "undecided").fill_null(0), pl.col("role_inferred").fill_null(False)
    )
    ids = counted["question_id"].unique().sort().to_list()
    above, below = (_spread(counted, ids, groups.height, name) for name in ("broken", "opportunities"))
    rates = ratio_intervals(above, below, clusters=clusters_of(questions, ids), level=level)
    result = share_intervals(rates, level=level)
    never = pl.when(pl.col("opportunities") == 0).then(
        pl.lit("nothing could be broken: no premise was met and decided")
    )
    return (
        pl.concat([sized, result], how="horizontal")
        .with_columns(never.otherwise("reason").alias("reason"))
        .select(
            *keys,
            *("estimate", "low", "high", "n"),
            *("opportunities", "broken", "undecided", "standard_error", "role_inferred", "warning", "reason"),
        )
    )


def _spread(counted: pl.DataFrame, ids: list[str], width: int, name: str) -> np.ndarray:
    """A count as a matrix: questions down, groups across."""
    matrix = np.zeros((len(ids), width))
    rows = counted["question_id"].cast(pl.Enum(ids)).to_physical().to_numpy()
    matrix[rows, counted["column"].to_numpy()] = counted[name].to_numpy()
    return matrix
