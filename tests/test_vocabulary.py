"""The words: whole labels are read in any dress, and nothing is read into a label."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamut_analysis import vocabulary as words

READ = {
    "verdict": (words.as_verdict, words.VERDICTS),
    "tier": (words.as_tier, words.TIERS),
    "variant": (words.as_variant, words.VARIANTS),
    "role": (words.as_role, words.ROLES),
    "item_type": (words.as_item_type, words.ITEM_TYPES),
}


@pytest.mark.parametrize("kind", READ)
def test_every_word_reads_as_itself(kind):
    read, values = READ[kind]
    assert [read(value) for value in values] == list(values)


@pytest.mark.parametrize("values", [words.VERDICTS, words.TIERS, words.VARIANTS, words.ROLES, words.ITEM_TYPES])
def test_words_of_a_kind_differ(values):
    assert len(set(values)) == len(values)


@pytest.mark.parametrize(
    ("labels", "values"),
    [
        (words.VERDICT_LABELS, words.VERDICTS),
        (words.TIER_LABELS, words.TIERS),
        (words.VARIANT_LABELS, words.VARIANTS),
        (words.ROLE_LABELS, words.ROLES),
        (words.ITEM_TYPE_LABELS, words.ITEM_TYPES),
        (words.VERDICT_COLOURS, words.VERDICTS),
        (words.TIER_COLOURS, words.TIERS),
    ],
)
def test_labels_and_colours_cover_the_words_in_reporting_order(labels, values):
    assert tuple(labels) == values


@pytest.mark.parametrize("labels", [words.VERDICT_LABELS, words.TIER_LABELS, words.VARIANT_LABELS, words.ROLE_LABELS])
def test_labels_that_people_see_read_as_their_words(labels):
    read = next(read for read, values in READ.values() if set(values) == set(labels))
    assert {word: read(label) for word, label in labels.items()} == {word: word for word in labels}


@pytest.mark.parametrize(
    "label",
    [
        "Partially meets",
        "PARTIALLY_MEETS",
        "partially-meets",
        " partially  meets\t",
        "**Partially Meets**",
        "`partially_meets`",
        "“Partially meets.”",
        "partially‑meets",  # non-breaking hyphen
        "partially – meets",
        "partially\u00a0meets",
        "par\u00adtially \u200bmeets",
        "partiallyMeets",
        "ｐａｒｔｉａｌｌｙ　ｍｅｅｔｓ",
        "\u200epartially meets\u200f",
        "Partially meets!",
        "__partially_meets__",
        "partially\r\nmeets",
    ],
)
def test_dress_is_ignored(label):
    assert words.as_verdict(label) == "partially_meets"


@pytest.mark.parametrize(
    "label",
    [
        "",
        "   ",
        "does not meet",
        "not meets",
        "meets, mostly",
        "meets / missing",
        "meets missing",
        "meet",
        "met",
        "partial",
        "partiallymeetss",
        "miss ing",
        "meets?",
        "(meets)",
        "1",
        "contradict",
        "мeets",  # a Cyrillic letter
        "meets" * 20_000,
    ],
)
def test_no_label_is_guessed(label):
    assert words.as_verdict(label) is None


@pytest.mark.parametrize(
    "label", ["Answer-Critical", "Answer_Critical", "answer critical", "Critical", "AnswerCritical"]
)
def test_tier_names_in_use_are_one_tier(label):
    assert words.as_tier(label) == "answer_critical"


@pytest.mark.parametrize("label", ["Text-only", "text_only", "text only", "TEXT", "textonly", "Text Only"])
def test_variant_names_in_use_are_one_variant(label):
    assert words.as_variant(label) == "text_only"


dress = st.tuples(
    st.sampled_from(["", " ", "**", "`", "_", "\u200b", '"']), st.sampled_from(["upper", "title", "lower"])
)


@given(st.sampled_from(words.VERDICTS), dress, st.sampled_from(["_", " ", "-", "  ", " - ", "\u00a0"]))
def test_a_dressed_label_reads_as_its_word(word, dress, joint):
    around, case = dress
    assert words.as_verdict(around + getattr(word.replace("_", joint), case)() + around) == word


@given(st.text(min_size=1, max_size=10).filter(lambda text: any(letter.isalnum() for letter in text)))
def test_a_label_with_another_word_beside_it_is_unknown(other):
    if words.as_verdict(f"meets {other}") is not None:
        assert words.normalise_label(other).strip("_") == ""
