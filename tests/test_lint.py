"""The lint: every rule speaks when it should and is silent when it should be."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rubric_strategies import EXAMPLES, meta_rubrics

from gamut_analysis.lint import RULES, Finding, lint, lint_files
from gamut_analysis.rubric import InvalidRubric, MetaRubric, load_rubrics, parse_rubric, to_data

SAMPLE = Path(__file__).parents[1] / "data" / "sample" / "questions"


@pytest.fixture(scope="module")
def jollof():
    return load_rubrics([EXAMPLES / "jollof.yaml"])[0]


def with_fields(meta, **fields):
    """The rubric with some of its own fields changed, checked again."""
    return MetaRubric(**{**dict(meta), **fields})


def with_item(meta, place, **fields):
    """The rubric with some fields of one item changed, checked again."""
    items = [*meta.items]
    items[place] = type(items[place])(**{**dict(items[place]), **fields})
    return with_fields(meta, items=tuple(items))


def found(rule, *metas):
    return [finding for finding in lint(metas) if finding.rule == rule]


def test_the_examples_pass():
    assert lint_files([EXAMPLES]) == []


def test_the_sample_benchmark_passes():
    assert [str(finding) for finding in lint_files([SAMPLE])] == []


def test_a_finding_reads_as_one_line(jollof):
    (finding,) = lint([with_item(jollof, 1, id="Sauce_1")])
    assert finding == Finding(
        "jollof-rice", "Sauce_1", "id_style", "'Sauce_1' is not lower-case words joined by hyphens", "sauce-1"
    )
    assert str(finding) == (
        "jollof-rice, item Sauce_1: 'Sauce_1' is not lower-case words joined by hyphens [id_style]; better: sauce-1"
    )


def test_items_without_citations_are_no_fault(jollof):
    bare = with_fields(
        jollof, snippets=(), items=tuple(item.model_copy(update={"citations": ()}) for item in jollof.items)
    )
    assert lint([bare]) == []


@pytest.mark.parametrize(
    ("entity", "question", "given_away"),
    [
        ("Jollof rice", "How is this jollof made?", "'jollof'"),  # half of the name, pointed at
        ("Mango", "How do I cut a mango?", "'mango'"),  # the whole name
        ("Mangoes", "How do I cut one mango?", "'mango'"),
        ("Phở", "What goes into pho?", "'pho'"),  # accents do not hide a name
        ("Seven-spot ladybird larva", "What does this small ladybird eat?", "'ladybird'"),  # pointed at
        ("Domestic smoke alarm", "Why does the smoke alarm chirp?", "'alarm', 'smoke'"),  # two words of it
        ("The Ambassadors (Hans Holbein the Younger)", "Why did Holbein paint a skull?", "'holbein'"),  # a proper name
        ("Avocado (Persea americana)", "May I sprout the stone of an avocado?", "'avocado'"),
        ("Phalacrocorax carbo", "Why does the phalacrocorax spread its wings?", "'phalacrocorax'"),
        ("LNER Class A3 4472 Flying Scotsman", "Is that Scotsman still running?", "'scotsman'"),
    ],
)
def test_a_question_that_names_its_subject_is_leading(jollof, entity, question, given_away):
    text_only = f"{entity}: what about it?"
    (finding,) = found(
        "leading_question", with_fields(jollof, entity=entity, question=question, question_text_only=text_only)
    )
    assert f"gives away {given_away} of the entity" in finding.message


def test_the_everyday_name_of_a_latin_one_is_leading_too(jollof):
    named = with_item(jollof, 0, fact="It is a cormorant, a bird that dives for fish.")
    fields = {"entity": "Phalacrocorax carbo", "question_text_only": "Why does a cormorant spread its wings?"}
    (finding,) = found(
        "leading_question", with_fields(named, **fields, question="Why does the cormorant spread its wings?")
    )
    assert "gives away 'cormorant'" in finding.message
    assert (
        found("leading_question", with_fields(named, **fields, question="Why does this bird spread its wings?")) == []
    )


@pytest.mark.parametrize(
    ("entity", "question"),
    [
        ("Jollof rice", "How is this rice made?"),  # a kind of thing that anyone can see
        ("Cricket ball", "What is the ridge on this ball for?"),
        ("Carbon dioxide fire extinguisher", "May I use it when the television caught fire?"),  # one everyday word
        ("Spectacle frame size marking", "Does the frame really fit my face?"),
        ("Go (board game)", "How do I go about learning this board game?"),  # too short, and kinds of things
        ("Moka pot", "Why does this pot make bitter coffee?"),
        ("Concorde", "Explain why this airliner is gone."),
        ("Leaked alkaline cells", "What is this crust, and is it safe?"),
    ],
)
def test_a_question_that_only_sees_its_subject_is_not_leading(jollof, entity, question):
    assert found("leading_question", with_fields(jollof, entity=entity, question=question)) == []


def test_text_only_wording_must_differ_name_the_subject_and_leave_the_picture(jollof):
    same = with_fields(jollof, question_text_only=jollof.question.upper())
    assert "is the multimodal one" in found("text_only_wording", same)[0].message
    nameless = with_fields(jollof, question_text_only="How is it cooked, and why?")
    assert "does not name the entity" in found("text_only_wording", nameless)[0].message
    pointing = with_fields(jollof, question_text_only="How is the jollof rice in this photo made?")
    assert "points at a picture" in found("text_only_wording", pointing)[0].message
    nothing_left = with_fields(jollof, items=jollof.items[:1])
    assert "no check is left" in found("text_only_wording", nothing_left)[0].message


def test_text_only_wording_may_use_the_everyday_name_or_be_absent(jollof):
    # The identification item calls it "one-pot rice dish of West Africa".
    everyday = with_fields(jollof, question_text_only="How is West African rice cooked in one pot?")
    assert found("text_only_wording", everyday) == []
    assert found("text_only_wording", with_fields(jollof, question_text_only=None)) == []


@pytest.mark.parametrize(
    ("options", "relation"),
    [
        (("Tomatoes", "The tomato"), "is the same as"),
        (("Peppers", "Red peppers"), "is contained in"),
        (("Peppers", "Peppers of any colour"), "is contained in"),
        (("Smoked dried fish", "Dried fish"), "contains"),
        (("A slightly grey crust", "A slightly gray crust"), "is nearly the same as"),
        (("peppers, red", "Red peppers"), "is the same as"),
    ],
)
def test_options_that_overlap_are_found(jollof, options, relation):
    (finding,) = found("overlapping_options", with_item(jollof, 1, options=(*options, "Salt"), baseline=1))
    assert finding.item_id == "sauce"
    assert finding.message == f"{options[0]!r} {relation} {options[1]!r}"


@pytest.mark.parametrize(
    "options",
    [
        ("Red peppers", "Black pepper"),
        ("Tomatoes", "Tomato paste"),
        ("Leg cutter", "Off cutter"),
        ("The 3-3 point", "The 3-4 point"),
        ("-", "--"),
    ],
)
def test_options_that_only_share_a_word_are_not(jollof, options):
    assert found("overlapping_options", with_item(jollof, 1, options=options, baseline=1)) == []


def test_steps_may_share_their_words(jollof):
    steps = [{"text": "Stir", "required": True}, {"text": "Stir again", "required": True}]
    data = to_data(jollof)
    data["items"][2]["steps"] = steps
    assert found("overlapping_options", parse_rubric(data)) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Red rice", "is no statement"),
        ("It is what it is", "has no word that carries meaning"),
        ("It holds tomatoes, onions, etc.", "leaves open what counts ('etc')"),
        ("It holds tomatoes, onions and so on.", "leaves open what counts"),
        ("It holds many things that matter.", "leaves open what counts ('many things')"),
        ("It is cooked in various ways.", "leaves open what counts ('various')"),
        ("It is cooked with tomatoes...", "leaves open what counts ('...')"),
    ],
)
def test_a_vague_fact_is_found(jollof, text, reason):
    (finding,) = found("vague_check", with_item(jollof, 0, fact=text))
    assert finding.item_id == "name" and reason in finding.message


@pytest.mark.parametrize(
    "option", ["Some spices", "several other herbs", "Many things", "Onions and others", "Various"]
)
def test_a_vague_option_is_found(jollof, option):
    (finding,) = found("vague_check", with_item(jollof, 1, options=("Onions", option), baseline=1))
    assert finding.item_id == "sauce"


def test_a_vague_insight_is_found(jollof):
    (finding,) = found("vague_check", with_item(jollof, 2, insight={"tier": "context", "text": "It matters."}))
    assert finding.item_id == "cooking"


@pytest.mark.parametrize("option", ["Onions", "Some of the houses charge admission", "Salt for several hours in brine"])
def test_short_options_and_counted_ones_are_not_vague(jollof, option):
    assert found("vague_check", with_item(jollof, 1, options=("Garlic", option), baseline=1)) == []


def test_a_statement_that_counts_is_not_vague(jollof):
    assert found("vague_check", with_item(jollof, 0, fact="Some ten thousand gates line the many paths.")) == []


def test_thresholds_that_do_nothing_or_stop_short_are_found(jollof):
    (idle,) = found("idle_numbers", with_item(jollof, 1, thresholds=(4, 5)))
    assert "are not used" in idle.message
    (short,) = found("idle_numbers", with_item(jollof, 3, thresholds=(3, 5)))
    assert short.message == "the last threshold is 5, the top is 6"
    assert found("idle_numbers", with_item(jollof, 3, thresholds=(3, 6))) == []
    assert found("idle_numbers", with_item(jollof, 3, thresholds=(3, 5), cap=5)) == []


def test_a_snippet_that_nothing_cites_is_found(jollof):
    extra = jollof.snippets[0].model_copy(update={"id": "s2"})
    more = with_fields(jollof, snippets=(*jollof.snippets, extra))
    assert [finding.message for finding in found("unused_snippet", more)] == ["no item cites snippet 's2'"]
    cited = with_item(more, 2, insight={"tier": "context", "text": "The sauce comes first.", "citations": ["s2"]})
    assert found("unused_snippet", cited) == []


def test_a_rubric_that_leans_on_one_tier_is_found(jollof):
    tiers = {item.id: "context" for item in jollof.items}
    lean = with_fields(jollof, items=tuple(item.model_copy(update={"tier": tiers[item.id]}) for item in jollof.items))
    # Everything but the Valuable insight is Context: 1 + (1 + 2) + (5 + 2) + (1 + 3) checks, and the insight.
    messages = [finding.message for finding in found("tier_balance", lean)]
    assert messages == ["no check is Answer-Critical", "15 of 16 checks are Context"]
    assert found("tier_balance", jollof) == []


def test_the_share_of_a_tier_may_reach_three_quarters(jollof):
    fact = jollof.items[0]
    items = [
        fact.model_copy(update={"id": f"fact-{n}", "tier": "valuable" if n % 4 else "answer_critical"})
        for n in range(8)
    ]
    assert found("tier_balance", with_fields(jollof, items=tuple(items))) == []
    items[4] = items[4].model_copy(update={"tier": "valuable"})
    (finding,) = found("tier_balance", with_fields(jollof, items=tuple(items)))
    assert finding.message == "7 of 8 checks are Valuable"


@pytest.mark.parametrize(("n", "silent"), [(4, False), (5, True), (41, True), (42, False)])
def test_a_rubric_has_a_reasonable_number_of_checks(jollof, n, silent):
    items = tuple(jollof.items[0].model_copy(update={"id": f"fact-{number}"}) for number in range(n))
    assert (found("check_count", with_fields(jollof, items=items)) == []) is silent


def test_questions_in_almost_the_same_words_are_found(jollof):
    reworded = with_fields(
        jollof,
        question_id="jollof-2",
        question="How do people make this rice, and what do they argue about when it comes to it?",
        question_text_only="How do people make jollof rice, and what do they argue about?",
    )
    (finding,) = found("near_duplicate", jollof, reworded)
    assert finding.question_id == "jollof-2" and "close to that of jollof-rice" in finding.message


def test_different_questions_about_one_subject_are_not_duplicates(jollof):
    other = with_fields(
        jollof,
        question_id="jollof-2",
        question="Which wine would you serve with this dish to guests who dislike chillies?",
        question_text_only="Which wine would you serve with jollof rice to guests who dislike chillies?",
    )
    assert found("near_duplicate", jollof, other) == []
    assert found("near_duplicate", jollof) == []


def test_findings_come_in_the_order_of_the_questions(jollof):
    first, second = (with_item(with_fields(jollof, question_id=name), 1, id="X") for name in ("z", "a"))
    assert [finding.question_id for finding in lint([first, second]) if finding.rule == "id_style"] == ["z", "a"]


def test_files_with_faults_are_not_linted(tmp_path):
    (tmp_path / "bad.yaml").write_text("question_id: q\n")
    with pytest.raises(InvalidRubric):
        lint_files([tmp_path])


@given(st.lists(meta_rubrics(), max_size=3, unique_by=lambda meta: meta.question_id))
@settings(max_examples=25, deadline=None)
def test_any_rubrics_can_be_linted(metas):
    assert {finding.rule for finding in lint(metas)} <= set(RULES)
