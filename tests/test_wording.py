"""Roles from wording: lists as people write them, and each rule of the compiler read back from its texts alone."""

from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rubric_strategies import meta_rubrics

from gamut_analysis import paths
from gamut_analysis.compiler import compile_rubric, variants
from gamut_analysis.readers.wording import FACT, Inferred, infer
from gamut_analysis.rubric import load_rubrics
from gamut_analysis.vocabulary import ROLES, TIERS

AC, V, C = TIERS
# Roles whose texts are single statements: nothing in the wording tells them from a fact.
STATEMENTS = ("fact", "list_item", "relationship", "insight")
COVERAGE = "The sauce. Names at least 2 of the following 3: (1) Tomatoes; (2) Red peppers; (3) Onions."


def of_one(text, tier=AC):
    return infer([(tier, text)])[0]


def roles(*checks):
    return [check.role for check in infer(checks)]


# --- lists as people write them


@pytest.mark.parametrize(
    ("text", "needed", "members"),
    [
        (COVERAGE, 2, ("Tomatoes", "Red peppers", "Onions")),
        (
            "At least three of the following signs:\n- Fever\n- Rash\n- Cough\n\nOthers do not count.",
            3,
            "Fever Rash Cough",
        ),
        ("Mentions at least two (2) of these: fever, rash and cough.", 2, "fever rash cough"),
        ("Gives 2 or more of the following: a) wind; b) rain and c) sun", 2, "wind rain sun"),
        ("Names any 2 of the following (salt, pepper, or oil).", 2, "salt pepper oil"),
        ("A minimum of 1 from the list below:\n1. wind\n2. rain\nAnything else passes.", 1, "wind rain"),
        ("At least 1 out of the 3 listed: • wind • rain • sun. Extra valid ones do not count.", 1, "wind rain sun"),
        ("It names at least one (1) of the following: (1) wind; (2) rain. It passes if one is named.", 1, "wind rain"),
        ("Names **at least 2 of the following**: **1.** wind, **2.** rain", 2, "wind rain"),
        ("In any order, at least 2 of the following: [1] wind [2] rain", 2, "wind rain"),
        ("at least 2 of the following：1. 苹果；2. 香蕉；3. 梨。", 2, "苹果 香蕉 梨"),
        ("At least 1 of the following: (a) wind (of the north, or of the east); (b) rain", 1, None),
    ],
)
def test_a_coverage_check_tells_how_many_of_which(text, needed, members):
    wanted = ("wind (of the north, or of the east)", "rain") if members is None else members
    wanted = tuple(wanted.split()) if isinstance(wanted, str) else wanted
    assert of_one(text) == Inferred("baseline", "list-01", "flexible_list", needed, wanted)


def test_an_abbreviation_does_not_end_a_member_and_a_sentence_does():
    text = "At least 1 of the following: (1) St. Peter; (2) St. Paul. Valid ones beyond these neither count nor hurt."
    assert of_one(text).members == ("St. Peter", "St. Paul")


def test_members_of_several_sentences_stay_whole():
    text = "At least 1 of the following:\n1. First it rains. Then it pours\n2. It snows"
    assert of_one(text).members == ("First it rains. Then it pours", "It snows")


@pytest.mark.parametrize(
    "text",
    [
        "Bake at least 20 minutes of the first hour at full heat.",
        "Says that at least two of the towers still stand.",
        "The correct order of the planets is known.",
        "Names all 2 of the following: (1) wind; (2) rain.",
        "",
        None,
    ],
)
def test_what_speaks_of_no_list_is_a_fact(text):
    assert of_one(text) == FACT


@pytest.mark.parametrize(
    "text",
    [
        "Names at least 3 of the following.",
        "At least 3 of the following: (1) wind; (2) rain.",
        "At least 0 of the following: a, b",
    ],
)
def test_a_list_that_cannot_be_read_leaves_the_role_open(text):
    assert of_one(text) == Inferred(None)


@pytest.mark.parametrize(
    "text", ["at least " * 20_000, "(1) " * 20_000, "at least 2 of the following: " + "," * 20_000, "\n- " * 20_000]
)
def test_hostile_texts_are_read_in_passing(text):
    assert of_one(text).role in (None, "fact", "baseline")


# --- each rule


def test_the_lowest_number_for_a_list_is_the_baseline_and_higher_ones_are_thresholds():
    options = "; ".join(f"({n}) option {n}" for n in range(1, 10))
    texts = [f"Names at least {n} of the following 9: {options}." for n in (7, 3, 9)]
    every = f"Names all of the following: {options}."
    found = infer([(C, texts[0]), (V, texts[1]), (C, texts[2]), (V, "Names at least 1 of these: a; b"), (C, every)])
    assert [(one.role, one.item_id, one.needed) for one in found] == [
        ("threshold", "list-01", 7),
        ("baseline", "list-01", 3),
        ("threshold", "list-01", 9),
        ("baseline", "list-02", 1),
        ("threshold", "list-01", 9),
    ]


def test_a_short_check_that_names_one_option_one_tier_lower_is_a_bonus():
    found = infer([(AC, COVERAGE), (V, "Mentions the red peppers."), (V, "Names: Tomato"), (V, "It is red.")])
    assert found[1] == Inferred("bonus", "list-01", "flexible_list", None, ("Red peppers",))
    assert found[2].members == ("Tomatoes",)
    assert found[3] == FACT


@pytest.mark.parametrize(
    "check",
    [
        (AC, "Mentions tomatoes."),  # the tier of the list itself
        (C, "Mentions tomatoes."),  # two tiers lower
        (V, "Mentions tomatoes and onions."),  # two options
        (V, "Tomatoes reached the coast of Africa with Portuguese traders during the sixteenth century."),  # says more
    ],
)
def test_what_only_touches_on_an_option_is_a_fact(check):
    assert roles((AC, COVERAGE), check) == ["baseline", "fact"]


def test_each_option_is_named_by_one_check_the_tersest():
    assert roles((AC, COVERAGE), (V, "Tomatoes came from America."), (V, "Names: Tomatoes")) == [
        "baseline",
        "fact",
        "bonus",
    ]


def test_a_context_list_a_long_list_and_one_with_thresholds_give_no_bonuses():
    options = "; ".join(f"({n}) colour{n}" for n in range(1, 9))
    long = f"At least 2 of the following: {options}."
    assert roles((AC, long), (V, "Names colour1.")) == ["baseline", "fact"]
    assert roles((C, COVERAGE), (C, "Names: Onions")) == ["baseline", "fact"]
    higher = COVERAGE.replace("least 2", "least 3")
    assert roles((AC, COVERAGE), (V, higher), (V, "Names: Onions")) == ["baseline", "threshold", "fact"]


REQUIRED = (
    "Evaluate the relative order of the matching mandatory steps against this master list: 1. Start at a high heat, "
    "2. Bake for 5 to 7 minutes, 3. Reduce the heat. Missing steps or extra unlisted steps do not fail this element."
)
ALL = (
    "Evaluate the relative order of all matching steps against this master list: 1. Start at a high heat, "
    "2. Bake for 5 to 7 minutes, 3. Turn the tray, 4. Reduce the heat. Missing steps do not fail this element."
)


def test_order_checks_on_fewer_and_on_all_steps_are_one_process():
    found = infer([(AC, "States to bake for 5 to 7 minutes."), (AC, REQUIRED), (V, ALL), (V, "Says to turn the tray.")])
    assert [(one.role, one.item_id) for one in found] == [
        ("step", "process-01"),
        ("sequence", "process-01"),
        ("full_sequence", "process-01"),
        ("optional_step", "process-01"),
    ]
    assert found[1].members == ("Start at a high heat", "Bake for 5 to 7 minutes", "Reduce the heat")
    assert found[2].members[2] == "Turn the tray"
    assert found[1].needed is None


def test_a_lone_order_check_is_what_its_words_or_its_steps_say():
    plain = "Keeps the relative order; missing steps do not fail: (1) soak; (2) boil."
    assert roles((V, REQUIRED)) == ["sequence"]
    assert roles((V, ALL)) == ["full_sequence"]
    assert roles((V, plain)) == ["sequence"]
    # A required step stands in the item's own tier, above that of the order of all steps.
    assert roles((AC, "Says to soak."), (V, plain), (V, "Says to boil.")) == ["step", "full_sequence", "optional_step"]


def test_an_order_that_does_not_matter_is_no_order_check():
    assert of_one("The order does not matter; at least 1 of the following: (1) soak; (2) boil").role == "baseline"


# --- what the compiler writes, read back


def compiled(meta, variant):
    return sorted(compile_rubric(meta, variant), key=lambda check: TIERS.index(check.tier))


def as_compiled(check):
    return check.text


def in_other_words(check):
    """The same check as another writer would put it, without the item's description."""
    members = ", ".join(f"{number}. {member}" for number, member in enumerate(check.members, 1))
    order = f"{members}. Missing steps or extra unlisted steps do not fail this element."
    single = f"{check.members[0][:1].lower()}{check.members[0][1:]}."
    texts = {
        "baseline": f"The answer mentions at least {check.needed} of the following: {members}.",
        "threshold": f"The answer mentions at least {check.needed} of the following: {members}.",
        "sequence": f"Evaluate the relative order of the matching mandatory steps against this master list: {order}",
        "full_sequence": f"Evaluate the relative order of all steps that are given against this list: {order}",
        "bonus": f"Mentions {single}",
        "step": f"States that one should {single}",
        "optional_step": f"States that one should {single}",
    }
    return texts.get(check.role, check.text)


@pytest.mark.parametrize("wording", [as_compiled, in_other_words])
def test_the_roles_of_the_sample_are_found_again(wording):
    confusion = Counter()
    for meta in load_rubrics([paths.sample() / "questions"]):
        for variant in variants(meta):
            checks = compiled(meta, variant)
            found = infer([(check.tier, wording(check)) for check in checks])
            confusion.update((check.role, one.role) for check, one in zip(checks, found, strict=True))
    for role in ROLES:
        asked = sum(n for (true, _), n in confusion.items() if true == role)
        right = confusion[role, "fact" if role in STATEMENTS else role]
        assert right >= 0.98 * asked, (role, confusion)


def test_the_items_of_the_sample_are_found_again():
    for meta in load_rubrics([paths.sample() / "questions"]):
        checks = compiled(meta, "multimodal")
        items = defaultdict(set)
        for check, one in zip(checks, infer([(check.tier, check.text) for check in checks]), strict=True):
            if one.item_id and one.role == check.role:
                items[one.item_id].add(check.item_id)
                assert one.needed == check.needed
                assert one.members == tuple(member.strip(" .,;:") for member in check.members)
        assert all(len(true) == 1 for true in items.values()), meta.question_id


@given(meta_rubrics())
@settings(max_examples=25)
def test_any_rubric_keeps_the_number_of_its_checks_and_every_bonus_has_a_baseline(meta):
    checks = compiled(meta, "multimodal")
    found = infer([(check.tier, check.text) for check in checks])
    assert len(found) == len(checks)
    lists = {one.item_id for one in found if one.role == "baseline"}
    assert {one.item_id for one in found if one.role in ("bonus", "threshold")} <= lists


@given(st.lists(st.tuples(st.sampled_from([*TIERS, "Nice to have"]), st.none() | st.text(max_size=200)), max_size=8))
def test_any_texts_are_read(checks):
    found = infer(checks)
    assert len(found) == len(checks)
    assert all(one.role is None or one.role in ROLES for one in found)
