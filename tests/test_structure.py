"""What rubrics are made of, on a world of three questions whose items and checks fit in a comment."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamut_analysis import structure
from gamut_analysis.errors import InputError
from gamut_analysis.scoring import Scoring
from gamut_analysis.vocabulary import ITEM_TYPES, ROLES, TIERS, VARIANTS, VERDICTS

AC, V, C = TIERS
ENUMS = {"variant": VARIANTS, "tier": TIERS, "role": ROLES, "item_type": ITEM_TYPES, "insight_tier": TIERS}


def typed(rows: list[dict], **dtypes: pl.DataType) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema_overrides=dtypes)
    return frame.with_columns(pl.col(n).cast(pl.Enum(w)) for n, w in ENUMS.items() if n in frame.columns)


# q1: a fact, a flexible list of nine options (baseline 2, three thresholds) with an insight.
# q2: a strict list of two, a process of two required steps and an optional one. q3: a fact alone, no text-only variant.
ITEMS = typed(
    [
        {
            "question_id": "q1",
            "item_id": "name",
            "item_type": "simple_knowledge",
            "tier": AC,
            "n_members": 1,
            "n_citations": 1,
        },
        {
            "question_id": "q1",
            "item_id": "signs",
            "item_type": "flexible_list",
            "tier": V,
            "n_members": 9,
            "baseline": 2,
            "n_thresholds": 3,
            "has_insight": True,
            "insight_tier": C,
            "n_citations": 2,
        },
        {
            "question_id": "q2",
            "item_id": "parts",
            "item_type": "strict_list",
            "tier": AC,
            "n_members": 2,
            "n_required": 2,
        },
        {
            "question_id": "q2",
            "item_id": "repot",
            "item_type": "process",
            "tier": V,
            "n_members": 3,
            "n_required": 2,
            "n_citations": 1,
        },
        {
            "question_id": "q3",
            "item_id": "fact",
            "item_type": "simple_knowledge",
            "tier": AC,
            "n_members": 1,
            "n_citations": 0,
        },
    ],
    n_required=pl.Int32,
    n_citations=pl.Int32,
    baseline=pl.Int32,
    n_thresholds=pl.Int32,
    has_insight=pl.Boolean,
    insight_tier=pl.String,
).with_columns(pl.col("has_insight").fill_null(False), pl.col("n_citations").fill_null(0))

_CHECKS = {
    "q1": [
        ("name", "simple_knowledge", [("fact", AC)]),
        (
            "signs",
            "flexible_list",
            [("baseline", V), ("threshold", C), ("threshold", C), ("threshold", C), ("insight", C)],
        ),
    ],
    "q2": [
        ("parts", "strict_list", [("list_item", AC), ("list_item", AC)]),
        ("repot", "process", [("step", V), ("step", V), ("optional_step", C), ("sequence", V), ("full_sequence", C)]),
    ],
    "q3": [("fact", "simple_knowledge", [("fact", AC)])],
}
CHECKS = typed(
    [
        {
            "question_id": question,
            "variant": variant,
            "check_id": f"{item}-{i}",
            "item_id": item,
            "item_type": kind,
            "role": role,
            "tier": tier,
        }
        for variant in VARIANTS
        for question, items in _CHECKS.items()
        for item, kind, made in items
        for i, (role, tier) in enumerate(made)
        if variant == "multimodal" or question != "q3"
    ]
)
QUESTIONS = typed(
    [
        {"question_id": question, "variant": variant, "domain": "Cars" if question == "q3" else "Plants"}
        for variant in VARIANTS
        for question in ("q1", "q2", "q3")
        if variant == "multimodal" or question != "q3"
    ]
)


def published(shared) -> pl.DataFrame:
    return pl.read_csv(shared / "published" / "structure.csv", schema_overrides={"value": pl.Float64})


def statistics(frame: pl.DataFrame) -> dict[str, dict]:
    return {row["statistic"]: row for row in frame.iter_rows(named=True)}


def test_every_published_statistic_is_computed_or_says_why_not(shared):
    printed = published(shared)
    table = structure.structure_statistics(QUESTIONS, ITEMS, CHECKS, printed)
    assert table["statistic"].to_list() == printed["statistic"].to_list()
    assert table.filter(pl.col("ours").is_null())["reason"].null_count() == 0
    assert "no rule for this statistic" not in table["reason"].to_list()
    absent = table.filter(pl.col("ours").is_null())["statistic"].to_list()
    assert absent == [
        "questions_before_rubric_cleanup",
        "source_images",
        "relationship_entities_median",
        "relationships_multi_entity_share",
        "snippets_per_question_mean",
        "distinct_pages_cited",
        "egocentric_images",
    ]


def test_the_statistics_by_hand(shared):
    by = statistics(structure.structure_statistics(QUESTIONS, ITEMS, CHECKS, published(shared)))
    # Checks: 6, 7, 1. Answer-Critical 1, 2, 1; Valuable 1, 3, 0; Context 4, 2, 0.
    wanted = {
        "questions_multimodal": 3,
        "questions_text_only": 2,
        "domains": 2,
        "checks_per_question_mean": 14 / 3,
        "checks_per_question_median": 6,
        "checks_per_question_max": 7,
        "answer_critical_checks_mean": 4 / 3,
        "valuable_checks_mean": 4 / 3,
        "context_checks_mean": 2,
        "questions_with_structure": 200 / 3,
        "questions_with_flexible_list": 100 / 3,
        "questions_with_strict_list": 100 / 3,
        "questions_with_process": 100 / 3,
        "questions_with_relationship": 0,
        "questions_with_meta_insight": 100 / 3,
        "structure_types_per_question_mean": 1,
        "meta_insights": 1,
        "flexible_list_options_median": 9,
        "flexible_lists_long": 1,
        "flexible_lists_long_share": 100,
        "strict_list_items_median": 2,
        "processes": 1,
        "processes_mixed_steps": 1,
        "processes_mixed_steps_share": 100,
        "process_steps_median": 3,
        "meta_items_cited": 60,
        # The fact and the list of q1, 1 + 5 checks, and the process, 5; of 14.
        "checks_cited": 1100 / 14,
    }
    assert {name: by[name]["ours"] for name in wanted} == pytest.approx(wanted)
    share = by["questions_with_structure"]
    # Wilson for 2 of 3 with z^2 = 3.8415: (0.66667 + 0.64024 -+ 1.95996 sqrt(0.07407 + 0.10671)) / (1 + 1.28049).
    assert (share["low"], share["high"]) == pytest.approx((20.7655, 93.8508), abs=1e-3)
    assert share["difference"] == pytest.approx(200 / 3 - 98)
    assert not share["inside"]
    assert by["questions_multimodal"]["low"] is None
    assert by["checks_per_question_median"]["reason"] == "3 values: too few for an interval at this level"
    assert (by["meta_items_cited"]["n"], by["meta_items_cited"]["of"]) == (5, "items")


def test_entities_and_snippets_are_used_where_the_frames_have_them(shared):
    related = ITEMS.with_columns(
        pl.when(pl.col("item_id") == "parts")
        .then(pl.lit("relationship"))
        .otherwise(pl.col("item_type").cast(pl.String))
        .alias("item_type"),
        pl.when(pl.col("item_id") == "parts").then(2).alias("n_entities"),
    )
    asked = QUESTIONS.with_columns(pl.lit(10).alias("n_snippets"))
    by = statistics(structure.structure_statistics(asked, related, CHECKS, published(shared)))
    assert by["relationship_entities_median"]["ours"] == 2
    assert by["relationships_multi_entity_share"]["ours"] == 100
    assert by["snippets_per_question_mean"]["ours"] == 10
    assert by["snippets_per_question_mean"]["inside"]


def test_items_are_inferred_from_checks_where_no_rubric_was_delivered(shared):
    inferred = structure.items_of(CHECKS)
    assert inferred.select("item_id", "n_members", "n_required", "n_thresholds", "has_insight").rows() == [
        ("name", 1, None, 0, False),
        ("signs", None, None, 3, True),
        ("parts", 2, 2, 0, False),
        ("repot", 3, 2, 0, False),
        ("fact", 1, None, 0, False),
    ]
    by = statistics(structure.structure_statistics(QUESTIONS, ITEMS.clear(), CHECKS, published(shared)))
    assert by["questions_with_process"]["ours"] == pytest.approx(100 / 3)
    assert by["flexible_lists_long_share"]["reason"] == "n_members of some flexible lists is not known"
    assert by["flexible_list_options_median"]["reason"] == "the size of the flexible lists is not known"
    assert by["checks_cited"]["reason"] == "the items do not say what they cite"


def test_the_median_interval_is_made_of_order_statistics():
    # P(B(20, 1/2) <= 5) = 0.0207 and <= 6 = 0.0577: the 6th and the 15th value.
    assert structure.median_interval(np.arange(1.0, 21.0)) == (10.5, 6.0, 15.0)
    assert structure.median_interval(np.arange(5.0)) == (2.0, None, None)


@given(st.integers(6, 60), st.integers(0, 2**32 - 1))
def test_the_median_lies_in_its_interval(n, seed):
    values = np.random.default_rng(seed).integers(0, 9, n).astype(float)
    median, low, high = structure.median_interval(values)
    assert low <= median <= high


def test_combinations_of_structures():
    table = structure.structure_combinations(ITEMS)
    assert table.select("combination", "questions", "estimate", "n").rows() == [
        ("Facts alone", 1, pytest.approx(1 / 3), 3),
        ("Flexible list + Insight", 1, pytest.approx(1 / 3), 3),
        ("Strict list + Process", 1, pytest.approx(1 / 3), 3),
    ]
    assert table["questions"].sum() == 3
    sizes = structure.structure_sizes(ITEMS)
    assert dict(sizes.select("structure", "questions").iter_rows()) == {
        "strict_list": 1,
        "flexible_list": 1,
        "process": 1,
        "relationship": 0,
        "insight": 1,
    }


def test_lengths_thresholds_and_empty_tiers():
    lengths = structure.member_lengths(ITEMS)
    assert lengths.select("item_type", "n_members", "items", "estimate").rows() == [
        ("strict_list", 2, 1, 1),
        ("flexible_list", 9, 1, 1),
        ("process", 3, 1, 1),
    ]
    lists = structure.baseline_thresholds(ITEMS)
    assert lists.select("n_members", "baseline", "n_thresholds", "is_long", "lists").rows() == [(9, 2, 3, True, 1)]
    tiers = structure.checks_by_tier(CHECKS).filter(question_id="q3", variant="multimodal")
    assert tiers.select("tier", "checks").rows() == [(AC, 1), (V, 0), (C, 0)]


# --- other rubrics ----------------------------------------------------------------------------------------------------


def counts_of(cells: dict[str, dict[tuple[str, str], tuple[int, ...]]]) -> pl.DataFrame:
    """Counts by role from model -> (tier, role) -> four verdicts, on question q."""
    return typed(
        [
            {
                "model": model,
                "judge": "j",
                "variant": "multimodal",
                "question_id": "q",
                "replicate": 0,
                "tier": tier,
                "role": role,
                **dict(zip(VERDICTS, four, strict=True)),
                "ungraded": 0,
                "checks": sum(four),
            }
            for model, roles in cells.items()
            for (tier, role), four in roles.items()
        ]
    )


# a: the baseline of an Answer-Critical list of three met, one bonus met, two missing. b: a fact met, nothing else.
WORLD = {
    "a": {(AC, "fact"): (0, 0, 1, 0), (AC, "baseline"): (1, 0, 0, 0), (V, "bonus"): (1, 0, 2, 0)},
    "b": {(AC, "fact"): (1, 0, 0, 0), (AC, "baseline"): (0, 0, 1, 0), (V, "bonus"): (0, 0, 3, 0)},
}


def test_scores_under_other_rubrics_by_hand():
    table = structure.rescored(counts_of(WORLD))
    found = {(row["rubric"], row["model"]): row["score"] for row in table.iter_rows(named=True)}
    # As compiled: a 2/3 * 1/2 + 1/3 * 1/3 = 4/9, b 2/3 * 1/2 = 1/3. Without tiers: a 2/5, b 1/5; so too without
    # demotion, since all is Answer-Critical then. All list items required: the baseline goes: a 1/4, b 1/4.
    assert found == pytest.approx(
        {
            ("as compiled", "a"): 4 / 9, ("as compiled", "b"): 1 / 3,
            ("without tiers", "a"): 2 / 5, ("without tiers", "b"): 1 / 5,
            ("without demotion", "a"): 2 / 5, ("without demotion", "b"): 1 / 5,
            ("all list items required", "a"): 1 / 4, ("all list items required", "b"): 1 / 4,
        }
    )  # fmt: skip
    required = table.filter(rubric="all list items required")
    assert required.select("model", "rank", "shift", "n").rows() == [("a", 1, 0, 1), ("b", 1, 1, 1)]
    assert required["estimate"].to_list() == pytest.approx([1 / 4 - 4 / 9, 1 / 4 - 1 / 3])
    assert set(table["reason"]) == {"one question: no interval"}


def test_the_tier_of_the_item_is_used_where_it_is_known():
    # A Context list: its thresholds are Context as well, and stay there.
    counts = counts_of({"a": {(C, "threshold"): (1, 0, 0, 0)}})
    promoted = structure.counterfactual_counts(counts, "without demotion")
    assert promoted["tier"].to_list() == [V]
    known = structure.counterfactual_counts(counts.with_columns(pl.lit(C).alias("item_tier")), "without demotion")
    assert known["tier"].to_list() == [C]


def test_the_rubric_as_compiled_gives_the_score():
    counts = counts_of(WORLD)
    whole = structure.counterfactual_counts(counts, "as compiled")
    table = structure.rescored(counts).filter(rubric="as compiled").sort("model")
    assert table["score"].to_list() == pytest.approx(Scoring().questions(whole).sort("model")["score"].to_list())
    assert table["estimate"].to_list() == [0, 0]


def test_no_rubric_loses_or_makes_a_check_but_for_the_baselines():
    counts = counts_of(WORLD)
    for rubric in structure.RUBRICS:
        kept = structure.counterfactual_counts(counts, rubric)["checks"].sum()
        baselines = counts.filter(pl.col("role") == "baseline")["checks"].sum()
        assert kept == counts["checks"].sum() - (baselines if rubric == "all list items required" else 0)


def test_counts_without_roles_and_unknown_rubrics_are_refused():
    with pytest.raises(InputError, match="no column role"):
        structure.counterfactual_counts(counts_of(WORLD).drop("role"), "without tiers")
    with pytest.raises(InputError, match="as compiled, without tiers"):
        structure.counterfactual_counts(counts_of(WORLD), "flat")
