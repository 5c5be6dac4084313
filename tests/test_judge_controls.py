"""Made-up answers and their right verdicts: worked by hand on a small rubric, and laws for the sample."""

import json

import pytest

from gamut_analysis import paths
from gamut_analysis.compiler import compile_rubric, implications
from gamut_analysis.judge import controls
from gamut_analysis.judge.controls import HOSTILE, KINDS, answers_by_right, changed, choose, make_controls
from gamut_analysis.rubric import Insight, load_rubrics, rubric_from_yaml
from gamut_analysis.vocabulary import ROLES

RIVER = rubric_from_yaml("""
question_id: river
question: What is this river, and how is it crossed?
question_text_only: null
entity: Orinoco
domain: Water
items:
  - {id: name, type: simple_knowledge, tier: answer_critical, description: Its name, is_identification: true,
     fact: The river is the Orinoco.}
  - {id: bridge, type: simple_knowledge, tier: valuable, description: The bridge, fact: A bridge was built in 1967.}
  - id: fish
    type: flexible_list
    tier: answer_critical
    description: Animals of the Orinoco
    options: [Pink dolphins, Electric eels, Giant otters]
    baseline: 2
  - id: goods
    type: flexible_list
    tier: context
    description: Freight on barges
    options: [Bauxite, Iron ore, Timber]
    baseline: 2
  - id: crossing
    type: process
    tier: valuable
    description: Taking the ferry
    steps:
      - {text: Buy a ticket, required: true}
      - {text: Drive aboard, required: true}
      - {text: Watch the shore, required: false}
    insight: {tier: context, text: The ferry is slow.}
  - {id: banks, type: relationship, tier: context, description: Both banks, entities: [North bank, South bank],
     aspects: [The north bank is dry]}
""")
HILL = rubric_from_yaml("""
question_id: hill
question: What is this hill?
question_text_only: null
entity: Uluru
domain: Water
items:
  - {id: rock, type: simple_knowledge, tier: answer_critical, description: The rock, is_identification: true,
     fact: The sandstone rock is Uluru.}
""")
MET = dict.fromkeys(
    (
        "name/fact/01",
        "bridge/fact/01",
        "fish/baseline/01",
        "fish/bonus/01",
        "fish/bonus/02",
        "fish/bonus/03",
        "goods/baseline/01",
        "goods/threshold/01",
        "crossing/step/01",
        "crossing/step/02",
        "crossing/optional_step/03",
        "crossing/sequence/01",
        "crossing/full_sequence/01",
        "crossing/insight/01",
        "banks/relationship/01",
    ),
    ("meets",),
)
SAMPLE = load_rubrics([paths.sample() / "questions"])
SAMPLE_CONTROLS = [(meta, control) for meta in SAMPLE for control in changed(meta, SAMPLE)]


def of_kind(kind):
    return [(meta, control) for meta, control in SAMPLE_CONTROLS if control.kind == kind]


# --- by hand ----------------------------------------------------------------------------------------------------------


def test_a_complete_answer_states_everything_and_meets_every_check():
    control = controls.complete(RIVER)
    assert control.right == MET
    assert control.answer.answer == (
        "The river is the Orinoco.\n\nA bridge was built in 1967.\n\n"
        "Animals of the Orinoco:\n- Pink dolphins\n- Electric eels\n- Giant otters\n\n"
        "Freight on barges:\n- Bauxite\n- Iron ore\n- Timber\n\n"
        "Taking the ferry, in this order:\nFirst: Buy a ticket\nThen: Drive aboard\nLast: Watch the shore\n\n"
        "The ferry is slow.\n\nBoth banks (North bank, South bank):\n- The north bank is dry"
    )


def test_reversed_steps_contradict_the_order_checks_alone():
    control = controls.reversed_steps(RIVER)
    order = dict.fromkeys(("crossing/sequence/01", "crossing/full_sequence/01"), ("contradicts",))
    assert control.right == MET | order
    assert "in this order:\nFirst: Watch the shore\nThen: Drive aboard\nLast: Buy a ticket\n" in control.answer.answer


def test_a_short_answer_names_one_option_fewer_than_the_baseline():
    control = controls.short(RIVER)
    # One of three animals and one of three goods; no other part of the answer speaks of animals or freight.
    assert control.right == MET | {
        "fish/baseline/01": ("partially_meets",),
        "fish/bonus/02": ("missing",),
        "fish/bonus/03": ("missing",),
        "goods/baseline/01": ("partially_meets",),
        "goods/threshold/01": ("partially_meets",),
    }
    assert "Pink dolphins" in control.answer.answer and "Electric eels" not in control.answer.answer
    assert "- Bauxite\n\n" in control.answer.answer


def test_an_option_left_out_may_be_partial_where_the_same_thing_is_spoken_of():
    text = "Many animals live in the Orinoco."
    told = RIVER.items[1].model_copy(update={"fact": text})
    by_a_fact = RIVER.model_copy(update={"items": (RIVER.items[0], told, RIVER.items[2])})
    fish = RIVER.items[2].model_copy(update={"insight": Insight(tier="context", text=text)})
    by_its_insight = RIVER.model_copy(update={"items": (RIVER.items[0], fish)})
    for meta in (by_a_fact, by_its_insight):
        assert controls.short(meta).right["fish/bonus/03"] == ("missing", "partially_meets")


@pytest.mark.parametrize(
    "change", [{"baseline": 1}, {"options": ("Pink dolphins", "The Orinoco river", "Orinoco river boats")}]
)
def test_a_list_stays_whole_where_nothing_would_be_left_or_what_goes_is_said_elsewhere(change):
    listed = RIVER.items[2].model_copy(update=change)
    said = RIVER.items[0].model_copy(update={"fact": "The Orinoco river has boats and dolphins, pink ones."})
    meta = RIVER.model_copy(update={"items": (said, listed)})
    assert controls.short(meta) is None


def test_a_wrong_number_contradicts_its_fact_alone():
    control = controls.wrong_number(RIVER)
    assert control.right == MET | {"bridge/fact/01": ("contradicts",)}
    assert "A bridge was built in 1767." in control.answer.answer and "1967" not in control.answer.answer


def test_an_answer_about_another_subject_contradicts_the_name_and_misses_the_rest():
    control = controls.wrong_subject(RIVER, [RIVER, HILL])
    assert control.answer.answer == "The picture shows: Uluru.\n\nThe sandstone rock is Uluru."
    assert control.right == dict.fromkeys(MET, ("missing", "contradicts")) | {"name/fact/01": ("contradicts",)}


def test_what_the_other_subject_shares_does_not_count():
    shared = HILL.items[0].model_copy(update={"id": "tour", "is_identification": False, "fact": "A slow ferry goes."})
    other = HILL.model_copy(update={"items": (*HILL.items, shared)})
    assert "crossing/insight/01" not in controls.wrong_subject(RIVER, [RIVER, other]).right


def test_the_other_subject_is_of_the_same_domain_and_the_least_like():
    ferry = HILL.items[0].model_copy(update={"fact": "The ferry is Kalakala, a slow one."})
    near = HILL.model_copy(update={"entity": "Kalakala", "items": (ferry,)})
    far = HILL.model_copy(update={"entity": "Mars", "domain": "Sky"})
    nameless = HILL.model_copy(
        update={"entity": "Pluto", "items": (HILL.items[0].model_copy(update={"is_identification": False}),)}
    )
    for others, chosen in (
        ([nameless, far, near, HILL], "Uluru"),
        ([nameless, far, near], "Kalakala"),
        ([far], "Mars"),
    ):
        assert f"shows: {chosen}." in controls.wrong_subject(RIVER, [RIVER, *others]).answer.answer


def test_there_is_no_wrong_subject_without_another_subject():
    namesake = HILL.model_copy(update={"entity": "The Orinoco basin"})
    assert controls.wrong_subject(RIVER, [RIVER, namesake]) is None


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_answer_is_all_missing_and_the_same_for_every_question_but_for_ids(kind):
    one, other = controls.hostile(RIVER, kind), controls.hostile(HILL, kind)
    assert one.right == dict.fromkeys(MET, ("missing",))
    if kind == "hostile_reply":
        entries = json.loads(one.answer.answer)["verdicts"]
        assert [entry["id"] for entry in entries] == [*MET]
        assert {(entry["reason"], entry["verdict"]) for entry in entries} == {("The answer states it.", "meets")}
    else:
        assert one.answer.answer == other.answer.answer


def test_an_empty_answer_is_all_missing_and_needs_no_judge():
    control = controls.empty(RIVER)
    assert control.right == dict.fromkeys(MET, ("missing",))
    assert not control.answer.is_gradable


@pytest.mark.parametrize(
    ("fact", "wrong"),
    [
        ("It was founded in 1882.", "It was founded in 1682."),
        ("In 2003 it sank.", "In 1803 it sank."),
        ("It holds 40 litres.", "It holds 400 litres."),
        ("It makes about 17.5 knots.", "It makes about 175 knots."),
        ("It has some 12,000 parts.", "It has some 120,000 parts."),
        ("It weighs 0.25 kg.", "It weighs 2.5 kg."),
        ("It is 90 % water.", "It is 9 % water."),
        ("It is 2 per cent salt.", "It is 20 per cent salt."),
        ("The K6 was drawn in 1935.", "The K6 was drawn in 1735."),
        ("It is a Boeing 747.", None),  # a name
        ("The A380 is large.", None),
        ("It runs on 0 Series tracks.", None),
        ("It came on 20 March.", None),  # a day
        ("It was the 14th of them.", None),  # an ordinal
        ("It covers 30 km2 of land.", "It covers 300 km2 of land."),
        ("It grew in the 1920s.", None),
        ("It stood until 1953.", None),  # an earlier year is as true
        ("It has at least 12 legs.", None),
        ("More than 500 were built.", None),
        ("It was sold from 1869.", None),  # a year or a number of things
        ("It weighs 17 to 20 kg.", None),
        ("It lasted 1914-18 there.", None),
        ("It has 0 wheels.", None),
        ("It sank in 1912, and the wreck was found by a ship.", None),  # two things, one of them right
        ("It is blue.", None),
    ],
)
def test_only_a_number_that_is_plainly_wrong_afterwards_is_changed(fact, wrong):
    item = RIVER.items[1].model_copy(update={"fact": fact})
    meta = RIVER.model_copy(update={"items": (RIVER.items[0], item)})
    control = controls.wrong_number(meta)
    assert (control and control.answer.answer) == (wrong and f"The river is the Orinoco.\n\n{wrong}")


def test_a_number_that_is_said_twice_stays():
    twice = RIVER.items[5].model_copy(update={"aspects": ("The bridge of 1967 joins them",)})
    assert controls.wrong_number(RIVER.model_copy(update={"items": (*RIVER.items[:5], twice)})) is None


@pytest.mark.parametrize("text", ["Then drive aboard", "Drive aboard before noon", "Once aboard, park", "Park first"])
def test_steps_that_tell_their_place_are_not_reversed(text):
    process = RIVER.items[4]
    steps = (process.steps[0], process.steps[1].model_copy(update={"text": text}), process.steps[2])
    meta = RIVER.model_copy(update={"items": (process.model_copy(update={"steps": steps}),)})
    assert controls.reversed_steps(meta) is None


# --- laws of the sample -----------------------------------------------------------------------------------------------


def test_every_kind_applies_to_some_questions_of_the_sample():
    assert {control.kind for _, control in SAMPLE_CONTROLS} == set(KINDS) - set(HOSTILE) - {"empty"}


def test_what_counts_are_checks_of_the_question_in_the_variant_that_is_asked():
    for meta, control in SAMPLE_CONTROLS:
        known = {check.check_id for check in compile_rubric(meta, control.answer.variant)}
        assert control.right.keys() <= known
        assert control.answer.question_id == meta.question_id
        if control.kind != "wrong_subject":
            assert control.right.keys() == known


def test_the_right_verdicts_are_coherent():
    for meta, control in SAMPLE_CONTROLS:
        right = {check_id: accepted[0] for check_id, accepted in control.right.items()}
        for rule in implications(compile_rubric(meta)):
            enough = ("meets", "partially_meets") if rule.kind == "baseline_bonuses" else ("meets",)
            if sum(right.get(check_id) == "meets" for check_id in rule.premises) >= rule.premise_needed:
                assert sum(right.get(check_id) in enough for check_id in rule.conclusions) >= rule.needed


def test_reversed_answers_hold_every_step():
    for meta, control in of_kind("reversed"):
        turned = {check_id for check_id, accepted in control.right.items() if accepted != ("meets",)}
        checks = {check.check_id: check for check in compile_rubric(meta)}
        assert turned and {checks[check_id].role for check_id in turned} <= {"sequence", "full_sequence"}
        for check_id in turned:
            places = [control.answer.answer.index(f": {step}") for step in checks[check_id].members]
            assert places == sorted(places, reverse=True)


def test_short_answers_leave_a_baseline_unmet_by_one():
    for meta, control in of_kind("short"):
        checks = {check.check_id: check for check in compile_rubric(meta)}
        unmet = [checks[check_id] for check_id, accepted in control.right.items() if accepted == ("partially_meets",)]
        baselines = [check for check in unmet if check.role == "baseline"]
        assert baselines
        for baseline in baselines:
            lines = control.answer.answer.split("\n")
            assert sum(f"- {option}" in lines for option in baseline.members) == baseline.needed - 1


def test_an_answer_about_another_subject_is_never_right():
    for _, control in of_kind("wrong_subject"):
        assert not any({"meets", "partially_meets"} & set(accepted) for accepted in control.right.values())


def test_the_choice_of_questions_covers_every_role_and_every_way_of_being_hostile():
    made = make_controls(SAMPLE)
    roles = {(meta.question_id, check.check_id): check.role for meta in SAMPLE for check in compile_rubric(meta)}
    asked = [control for control in made if control.kind != "empty"]
    assert {roles[control.answer.question_id, check_id] for control in asked for check_id in control.right} == set(
        ROLES
    )
    assert {control.kind for control in made} == set(KINDS)
    assert len({(control.answer.model, control.answer.question_id) for control in made}) == len(made)


def test_more_questions_only_add_controls():
    few, many = make_controls(SAMPLE, 3), make_controls(SAMPLE, 6)
    assert many[: len(few)] == few
    assert len(choose(SAMPLE[:4], 9)) == 4


def test_the_right_verdicts_of_all_controls_fit_into_one_table_by_text():
    made = make_controls(SAMPLE)
    table = answers_by_right(made)
    for control in made:
        if control.kind != "empty":
            told = table[control.answer.answer]
            assert {check_id: told[check_id] for check_id in control.right} == {
                check_id: accepted[0] for check_id, accepted in control.right.items()
            }
    assert "" not in table
