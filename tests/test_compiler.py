"""Compiling: every rule worked by hand on two examples, and the laws that hold for any meta-rubric."""

import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rubric_strategies import EXAMPLES, meta_rubrics

from gamut_analysis.compiler import (
    CHECKS_SCHEMA,
    IMPLICATIONS,
    ITEMS_SCHEMA,
    QUESTIONS_SCHEMA,
    Implication,
    ItemStructure,
    checks_frame,
    compile_rubric,
    decompile,
    drop,
    implications,
    items_frame,
    questions_frame,
    structure_of,
    tier_counts,
    variants,
)
from gamut_analysis.errors import RubricError, UnknownName
from gamut_analysis.rubric import FlexibleList, MetaRubric, Process, SimpleKnowledge, Step, load_rubrics
from gamut_analysis.vocabulary import ITEM_TYPES, ROLES, TIERS, VARIANTS

AC, V, C = TIERS
# Drawing a rubric takes longer than compiling it, and each law draws its own.
LAW = settings(max_examples=40, deadline=None)


@pytest.fixture(scope="module")
def jollof():
    return load_rubrics([EXAMPLES / "jollof.yaml"])[0]


@pytest.fixture(scope="module")
def sancai():
    return load_rubrics([EXAMPLES / "sancai.yaml"])[0]


def rubric_of(*items, **fields):
    """A rubric of these items, with whatever else it needs."""
    common = {
        "question_id": "q",
        "question": "What is this?",
        "question_text_only": "What is a pear?",
        "entity": "Pear",
        "domain": "Food",
    }
    return MetaRubric(**{**common, **fields}, items=items)


def flexible(n, baseline, tier=AC, **fields):
    options = tuple(f"option {number}" for number in range(1, n + 1))
    return FlexibleList(
        id="list", type="flexible_list", tier=tier, description="List", options=options, baseline=baseline, **fields
    )


def process(required, tier=AC):
    """A process from a string of r (required) and o (optional)."""
    steps = tuple(Step(text=f"step {number}", required=mark == "r") for number, mark in enumerate(required, 1))
    return Process(id="way", type="process", tier=tier, description="Way", steps=steps)


def outline(item):
    return [(check.role, check.tier, check.position, check.needed) for check in compile_rubric(rubric_of(item))]


# --------------------------------------------------------------------------------------------------------------------
# The two examples


def test_jollof_demotes_its_list_and_orders_its_steps_twice(jollof):
    # The list is short and answer-critical: its five options become bonuses one tier lower. The process has three
    # required steps and two optional ones: both order checks. The Context list has thresholds: with top = 6 and
    # baseline = 2, k = min(3, 4) = 3: 2 + ceil(4/3), 2 + ceil(8/3), 2 + 4 = 4, 5, 6.
    assert [(check.check_id, check.tier) for check in compile_rubric(jollof)] == [
        ("name/fact/01", AC),
        ("sauce/baseline/01", AC),
        ("sauce/bonus/01", V),
        ("sauce/bonus/02", V),
        ("sauce/bonus/03", V),
        ("sauce/bonus/04", V),
        ("sauce/bonus/05", V),
        ("cooking/optional_step/01", V),
        ("cooking/step/02", AC),
        ("cooking/step/03", AC),
        ("cooking/step/04", AC),
        ("cooking/optional_step/05", V),
        ("cooking/sequence/01", AC),
        ("cooking/full_sequence/01", V),
        ("cooking/insight/01", V),
        ("countries/baseline/01", C),
        ("countries/threshold/01", C),
        ("countries/threshold/02", C),
        ("countries/threshold/03", C),
    ]
    assert tier_counts(compile_rubric(jollof)) == {AC: 6, V: 9, C: 4}
    assert [check.needed for check in compile_rubric(jollof) if check.needed] == [3, 2, 4, 5, 6]


def test_jollof_writes_its_checks_so_that_each_stands_alone(jollof):
    text = {check.check_id: check.text for check in compile_rubric(jollof)}
    assert text["name/fact/01"] == "The dish is jollof rice, a one-pot rice dish of West Africa."
    assert text["sauce/baseline/01"] == (
        "What goes into its red sauce. Names at least 3 of the following 5: (1) Tomatoes; (2) Red peppers; (3) Onions; "
        "(4) Hot chillies; (5) Tomato paste. Valid ones beyond these neither count nor hurt."
    )
    assert text["sauce/bonus/04"] == "What goes into its red sauce. Names: Hot chillies"
    assert text["cooking/step/02"] == "How it is cooked. Gives the step: Blend tomatoes and peppers with onion"
    assert text["cooking/sequence/01"] == (
        "How it is cooked. Those of the numbered steps that are given keep this relative order; missing steps do not "
        "fail this check, an inversion does: (1) Blend tomatoes and peppers with onion; (2) Fry the blend in oil until "
        "it thickens; (3) Simmer the rice in the sauce and stock."
    )
    assert "(1) Rinse the rice; (2) Blend" in text["cooking/full_sequence/01"]
    assert "(5) Let the bottom catch" in text["cooking/full_sequence/01"]


def test_sancai_uses_all_five_types_and_an_insight_inside_a_strict_list(sancai):
    # The long list is Valuable with 9 options, baseline 2: 2 + ceil(7/3), 2 + ceil(14/3), 2 + 7 = 5, 7, 9.
    assert [(check.check_id, check.tier, check.needed) for check in compile_rubric(sancai)] == [
        ("name/fact/01", AC, None),
        ("glaze-colours/list_item/01", AC, None),
        ("glaze-colours/list_item/02", AC, None),
        ("glaze-colours/list_item/03", AC, None),
        ("glaze-colours/insight/01", C, None),
        ("tomb-company/baseline/01", V, 2),
        ("tomb-company/threshold/01", C, 5),
        ("tomb-company/threshold/02", C, 7),
        ("tomb-company/threshold/03", C, 9),
        ("making/step/01", V, None),
        ("making/step/02", V, None),
        ("making/step/03", V, None),
        ("making/step/04", V, None),
        ("making/sequence/01", V, None),
        ("rank/relationship/01", C, None),
        ("rank/relationship/02", C, None),
    ]
    text = {check.check_id: check.text for check in compile_rubric(sancai)}
    assert text["glaze-colours/list_item/02"] == "The three colours of the glaze. Includes: Green"
    assert text["rank/relationship/02"].startswith(
        "Figures and rank. On Tomb figures and The rank of the dead: Families"
    )


def test_text_only_leaves_out_the_name(jollof):
    assert compile_rubric(jollof, "text_only") == compile_rubric(jollof)[1:]


# --------------------------------------------------------------------------------------------------------------------
# Each rule at its edges


def test_tiers_drop_by_one_and_the_lowest_stays():
    assert [drop(tier) for tier in TIERS] == [V, C, C]


@pytest.mark.parametrize(("n", "role"), [(7, "bonus"), (8, "threshold")])
def test_seven_options_give_bonuses_and_eight_give_thresholds(n, role):
    roles = {check.role for check in compile_rubric(rubric_of(flexible(n, 1)))}
    assert roles == {"baseline", role}


@pytest.mark.parametrize(
    ("n", "baseline", "cap", "expected"),
    [
        (8, 7, None, [8]),  # k = 1
        (8, 6, None, [7, 8]),  # k = 2
        (8, 5, None, [6, 7, 8]),  # k = 3
        (8, 3, None, [5, 7, 8]),  # 3 + ceil(5/3), 3 + ceil(10/3), 3 + 5
        (10, 3, None, [6, 8, 10]),  # 3 + ceil(7/3), 3 + ceil(14/3), 3 + 7
        (10, 3, 5, [4, 5]),  # the cap bounds: top = 5, k = 2
        (10, 3, 3, []),  # the cap is the baseline
        (8, 8, None, []),  # all are asked for anyway
        (12, 1, None, [5, 9, 12]),  # 1 + ceil(11/3), 1 + ceil(22/3), 1 + 11
    ],
)
def test_thresholds_are_spread_from_the_baseline_to_the_top(n, baseline, cap, expected):
    assert [row for row in outline(flexible(n, baseline, cap=cap)) if row[0] == "threshold"] == [
        ("threshold", V, position, needed) for position, needed in enumerate(expected, 1)
    ]


def test_written_thresholds_replace_the_usual_ones():
    assert [row[3] for row in outline(flexible(9, 2, thresholds=(4, 9)))] == [2, 4, 9]


def test_a_context_list_has_thresholds_however_short():
    assert outline(flexible(3, 1, tier=C)) == [("baseline", C, 1, 1), ("threshold", C, 1, 2), ("threshold", C, 2, 3)]


@pytest.mark.parametrize(
    ("steps", "order_checks"),
    [
        ("rr", [("sequence", AC)]),
        ("ro", [("full_sequence", V)]),
        ("rro", [("sequence", AC), ("full_sequence", V)]),
        ("oo", [("full_sequence", V)]),
        ("orr", [("sequence", AC), ("full_sequence", V)]),
    ],
)
def test_order_checks_need_two_steps_of_their_kind(steps, order_checks):
    rows = outline(process(steps))
    assert [row[:2] for row in rows if "sequence" in row[0]] == order_checks
    assert [row[:3] for row in rows if "step" in row[0]] == [
        ("step", AC, position) if mark == "r" else ("optional_step", V, position)
        for position, mark in enumerate(steps, 1)
    ]


def test_order_checks_hold_their_steps_in_order():
    checks = {check.role: check for check in compile_rubric(rubric_of(process("rorr")))}
    assert checks["sequence"].members == ("step 1", "step 3", "step 4")
    assert checks["full_sequence"].members == ("step 1", "step 2", "step 3", "step 4")


@pytest.mark.parametrize(
    ("description", "opening"),
    [("how it is made:", "How it is made. "), ("Why?", "Why? "), ("kinds.", "Kinds. "), ("État", "État. ")],
)
def test_a_check_opens_with_a_clean_description(description, opening):
    item = flexible(2, 1).model_copy(update={"description": description})
    assert all(check.text.startswith(opening) for check in compile_rubric(rubric_of(item)))


def test_an_option_that_ends_a_sentence_does_not_end_it_twice():
    item = flexible(2, 1).model_copy(update={"options": ("One.", "Two.")})
    assert "(2) Two. Valid ones" in compile_rubric(rubric_of(item))[0].text


def test_a_question_without_text_only_wording_has_one_variant(jollof):
    blind = jollof.model_copy(update={"question_text_only": None})
    assert variants(jollof) == VARIANTS
    assert variants(blind) == ("multimodal",)
    with pytest.raises(RubricError, match="question jollof-rice: has no text-only variant"):
        compile_rubric(blind, "text_only")
    with pytest.raises(UnknownName, match="multimodal or text_only"):
        compile_rubric(jollof, "text-only")


# --------------------------------------------------------------------------------------------------------------------
# Laws


@given(meta_rubrics())
@LAW
def test_compiling_twice_gives_the_same(meta):
    assert repr(compile_rubric(meta)) == repr(compile_rubric(meta.model_copy(deep=True)))


@given(meta_rubrics())
@LAW
def test_check_ids_are_unique_and_made_of_item_role_and_position(meta):
    checks = compile_rubric(meta)
    assert len({check.check_id for check in checks}) == len(checks)
    assert all(
        check.check_id.rsplit("/", 2) == [check.item_id, check.role, f"{check.position:02d}"] for check in checks
    )


@given(meta_rubrics())
@LAW
def test_every_role_has_the_tier_that_its_rule_says(meta):
    items = {item.id: item for item in meta.items}
    lowered = {"bonus", "threshold", "optional_step", "full_sequence"}
    for check in compile_rubric(meta):
        item = items[check.item_id]
        if check.role == "insight":
            assert check.tier == item.insight.tier
        else:
            assert check.tier == (drop(item.tier) if check.role in lowered else item.tier)
        assert (check.item_type, check.item_tier) == (item.type, item.tier)
        assert check.role in ROLES


@given(meta_rubrics())
@LAW
def test_coverage_checks_write_out_every_option(meta):
    items = {item.id: item for item in meta.items}
    for check in compile_rubric(meta):
        if check.role in {"baseline", "threshold"}:
            options = items[check.item_id].options
            assert check.members == options
            assert all(f"({number}) {option}" in check.text for number, option in enumerate(options, 1))
            assert f"at least {check.needed} of the following {len(options)}" in check.text


@given(meta_rubrics())
@LAW
def test_thresholds_increase_strictly_from_the_baseline_to_the_top(meta):
    for item in meta.items:
        if item.type != "flexible_list":
            continue
        needed = [check.needed for check in compile_rubric(meta) if check.item_id == item.id and check.needed]
        assert needed == sorted(set(needed))
        assert needed[0] == item.baseline
        long = len(item.options) > 7 or item.tier == C
        if long and item.thresholds is None:
            assert needed[-1] == item.top
            assert len(needed) - 1 == min(3, item.top - item.baseline)


@given(meta_rubrics())
@LAW
def test_no_order_check_speaks_of_fewer_than_two_steps(meta):
    for check in compile_rubric(meta):
        if check.role in {"sequence", "full_sequence"}:
            assert len(check.members) >= 2
            assert "missing steps do not fail this check, an inversion does" in check.text


@given(meta_rubrics())
@LAW
def test_text_only_is_multimodal_without_identification(meta):
    if "text_only" in variants(meta):
        kept = tuple(check for check in compile_rubric(meta) if not check.is_identification)
        assert compile_rubric(meta, "text_only") == kept


@given(meta_rubrics(), st.randoms(use_true_random=False))
@LAW
def test_the_structure_is_rebuilt_from_provenance_alone(meta, shuffler: random.Random):
    # Neither texts nor ids nor the order of the checks may be needed.
    blank = [check._replace(text="", check_id="") for check in compile_rubric(meta)]
    shuffler.shuffle(blank)
    assert decompile(blank) == tuple(structure_of(item) for item in meta.items)


@given(meta_rubrics())
@LAW
def test_each_item_gives_as_many_checks_as_its_type_says(meta):
    for item in meta.items:
        checks = [check for check in compile_rubric(meta) if check.item_id == item.id]
        insight = getattr(item, "insight", None) is not None
        if item.type == "flexible_list":
            short = len(item.options) <= 7 and item.tier != C
            expected = 1 + (len(item.options) if short else len(structure_of(item).thresholds))
        elif item.type == "process":
            required = sum(step.required for step in item.steps)
            expected = len(item.steps) + (required >= 2) + (required < len(item.steps))
        else:
            expected = len(structure_of(item).members)
        assert len(checks) == expected + insight


# --------------------------------------------------------------------------------------------------------------------
# Provenance worked by hand


def test_the_decompiler_returns_the_example(jollof):
    assert decompile(compile_rubric(jollof)) == (
        ItemStructure("name", "simple_knowledge", AC, True, (jollof.items[0].fact,)),
        ItemStructure("sauce", "flexible_list", AC, False, jollof.items[1].options, (), 3),
        ItemStructure(
            "cooking",
            "process",
            AC,
            False,
            tuple(step.text for step in jollof.items[2].steps),
            (False, True, True, True, False),
            insight_tier=V,
        ),
        ItemStructure("countries", "flexible_list", C, False, jollof.items[3].options, (), 2, (4, 5, 6)),
    )


def test_what_the_example_implies(jollof):
    bonuses = tuple(f"sauce/bonus/{number:02d}" for number in range(1, 6))
    first, second, third = (f"countries/threshold/{number:02d}" for number in (1, 2, 3))
    baseline = ("countries/baseline/01",)
    assert implications(compile_rubric(jollof)) == [
        Implication("bonuses_baseline", "sauce", bonuses, 3, ("sauce/baseline/01",), 1),
        Implication("baseline_bonuses", "sauce", ("sauce/baseline/01",), 1, bonuses, 3),
        Implication("full_sequence_sequence", "cooking", ("cooking/full_sequence/01",), 1, ("cooking/sequence/01",), 1),
        Implication("threshold_baseline", "countries", (first,), 1, baseline, 1),
        Implication("threshold_lower", "countries", (second,), 1, (first,), 1),
        Implication("threshold_baseline", "countries", (second,), 1, baseline, 1),
        Implication("threshold_lower", "countries", (third,), 1, (first, second), 2),
        Implication("threshold_baseline", "countries", (third,), 1, baseline, 1),
    ]


@given(meta_rubrics())
@LAW
def test_implications_name_checks_that_exist_and_can_be_fulfilled(meta):
    known = {check.check_id for check in compile_rubric(meta)}
    for each in implications(compile_rubric(meta)):
        assert each.kind in IMPLICATIONS
        assert known.issuperset(each.premises + each.conclusions)
        assert 1 <= each.premise_needed <= len(each.premises)
        assert 1 <= each.needed <= len(each.conclusions)


# --------------------------------------------------------------------------------------------------------------------
# Frames


def test_frames_hold_one_row_for_each_check_item_and_question(jollof, sancai):
    blind = sancai.model_copy(update={"question_text_only": None})
    checks = checks_frame([jollof, blind])
    assert (checks.height, checks.schema) == (19 + 16, CHECKS_SCHEMA)
    assert checks_frame([jollof, blind], "text_only").height == 18
    sauce = checks.row(1, named=True)
    assert sauce["members"] == list(jollof.items[1].options)
    assert (sauce["role"], sauce["needed"], sauce["role_inferred"]) == ("baseline", 3, False)

    items = items_frame([jollof, sancai])
    assert (items.height, items.schema) == (9, ITEMS_SCHEMA)
    shown = items.select("n_members", "n_required", "baseline", "n_thresholds", "has_insight", "insight_tier").rows()
    assert shown[1:4] == [(5, None, 3, 0, False, None), (5, 3, None, 0, True, V), (6, None, 2, 3, False, None)]
    assert items["thresholds"].to_list()[2:4] == [[], [4, 5, 6]]
    assert items["n_entities"].to_list()[-1] == 2

    questions = questions_frame([jollof, blind])
    assert questions.schema == QUESTIONS_SCHEMA
    assert questions.select("question_id", "variant", "n_snippets").rows() == [
        ("jollof-rice", "multimodal", 1),
        ("jollof-rice", "text_only", 1),
        ("sancai-horse", "multimodal", 2),
    ]
    assert questions["question"][1] == jollof.question_text_only


def test_frames_of_nothing_keep_their_columns():
    assert checks_frame([]).schema == CHECKS_SCHEMA
    assert items_frame([]).schema == ITEMS_SCHEMA
    assert questions_frame([]).schema == QUESTIONS_SCHEMA


def test_an_unknown_variant_is_refused_by_the_frame_too(jollof):
    with pytest.raises(UnknownName):
        checks_frame([jollof], "textonly")


def test_questions_that_share_an_image_or_an_entity_share_a_cluster():
    fact = SimpleKnowledge(id="a", type="simple_knowledge", tier=AC, description="A", fact="A.")
    ties = [
        ("q1", "Pear", "i1"),
        ("q2", "Apple", "i2"),
        ("q3", "apple ", "i1"),
        ("q4", "Plum", None),
        ("q5", "Fig", None),
    ]
    metas = [rubric_of(fact, question_id=name, entity=entity, image_id=image) for name, entity, image in ties]
    # q3 shares its image with q1 and its entity with q2: one cluster of three.
    frame = questions_frame(metas).filter(pl.col("variant") == "multimodal")
    assert frame["cluster"].to_list() == ["q1", "q1", "q1", "q4", "q5"]


def test_types_and_thresholds_of_the_vocabulary_are_used(sancai):
    assert [item.item_type for item in decompile(compile_rubric(sancai))] == list(ITEM_TYPES)
