"""What the chapter on questions tells: worked by hand on a dozen, on stand-ins for placeholders, and on none."""

from dataclasses import replace
from types import SimpleNamespace

import polars as pl
import pytest

from gamut_analysis import datasets
from gamut_analysis.chapters import diversity_of_questions as chapter
from gamut_analysis.display import Figure, Table, Text, number
from gamut_analysis.errors import InputError
from gamut_analysis.study import Study

TEXTS = [
    *(f"What is this bird number{place} called" for place in range(6)),  # six words each
    *(f"How do I mend a bicycle part{place} at home" for place in range(5)),  # nine words each
    "How do I mend a bicycle part4 at home",
]


@pytest.fixture(scope="module")
def worded_database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("worded") / "worded"
    folder.mkdir()
    ids = [f"q{place:02d}" for place in range(12)]
    domains = ["Birds"] * 6 + ["Bicycles & more"] * 6
    pl.DataFrame({"question_id": ids, "question": TEXTS, "domain": domains}).write_csv(folder / "questions.csv")
    verdicts = pl.DataFrame({"question_id": ids}).with_columns(
        model=pl.lit("alpha"), judge=pl.lit("j"), check_id=pl.lit("c"), verdict=pl.lit("meets")
    )
    verdicts.write_csv(folder / "verdicts.csv")
    return datasets.build(folder, folder.parent / "worded.duckdb").database


@pytest.fixture(scope="module")
def worded(worded_database):
    return Study(worded_database)


@pytest.fixture(scope="module")
def small(small_database):
    return Study(small_database)


@pytest.fixture(scope="module")
def bare(bare_database):
    return Study(bare_database)


def test_the_answer_is_worked_by_hand(worded):
    # Six texts of 6 words and six of 9: median 7.5. Two two-word openings cover all. q10 and q11 are one text.
    texts = chapter.texts(worded)
    openings, cosine = chapter.openings(texts), chapter.cosines(worded, texts)
    told = str(chapter.answer(worded, texts, openings, chapter.variety(worded, texts, cosine), cosine))
    assert told.startswith("Half of the questions have 7.5 (6.0 to 9.0) words or more")
    assert "begin 100 % of them; 0 (0 to 24) % begin with no interrogative" in told


def test_near_duplicates_are_shown_first(worded):
    texts = chapter.texts(worded)
    cosine = chapter.cosines(worded, texts)
    table = chapter.closest(worded, texts, cosine)
    assert isinstance(table, Table)
    first = table.frame.row(0, named=True)
    assert (first["question_a"], first["question_b"], first["similarity"]) == ("q10", "q11", pytest.approx(1.0))


def test_the_figures_are_of_these_questions(worded):
    texts = chapter.texts(worded)
    openings = chapter.openings(texts)
    assert chapter.lengths(worded, openings).numbers.rows() == [(6, 6), (9, 6)]
    tree = chapter.tree(worded, openings).numbers
    assert tree.filter(depth=3)["path"].to_list() == ["how do i", "what is this"]
    assert "What follows" not in str(chapter.source_note(worded, texts))


def test_data_that_is_not_gamuts_has_no_printed_numbers_beside_it(worded):
    openings = chapter.openings(chapter.texts(worded))
    assert chapter.beside_published(worded, openings).is_empty()
    assert chapter.published_table(worded, pl.DataFrame()) is None
    assert "not GAMUT's" in str(chapter.published_note(worded, pl.DataFrame()))
    assert "printed" not in chapter.domains_table(worded).specs


def test_too_few_questions_for_topics_say_so(worded):
    texts = chapter.texts(worded)
    told = str(chapter.topic_grid(worded, chapter.topics(worded, texts)))
    assert told == "No topics: 12 questions: fewer than 40, too few to find topics in."
    assert "has 6 questions: fewer than 40" in str(chapter.topics_table(worded, chapter.domain_topics(worded, texts)))


def test_embeddings_beside_the_database_take_the_place_of_words(worded_database, worded):
    file = worded_database.with_suffix(".embeddings.parquet")
    texts = chapter.texts(worded)
    # Each question points its own way but for q00 and q07, which point together.
    place = [0 if one == 7 else one for one in range(12)]
    rows = [[1.0 if axis == one else 0.0 for axis in range(12)] for one in place]
    frame = pl.DataFrame({"question_id": texts["question_id"], "variant": "multimodal", "embedding": rows})
    try:
        frame.write_parquet(file)
        pairs = chapter.closest(worded, texts, chapter.cosines(worded, texts)).frame
        assert pairs.select("question_a", "question_b").row(0) == ("q00", "q07")
        assert "cosine of embeddings" in str(chapter.source_note(worded, texts))
        frame.head(11).write_parquet(file)
        with pytest.raises(InputError, match="no embedding for question 'q11'"):
            chapter.cosines(worded, texts)
    finally:
        file.unlink(missing_ok=True)


def test_for_placeholders_the_written_sample_stands_in_and_the_page_says_so(small):
    texts = chapter.texts(small)
    assert texts.height == 100
    told = str(chapter.source_note(small, texts))
    assert "placeholders that the simulator wrote" in told
    assert "the 100 multimodal questions of the sample" in told
    assert "not simulated" in told
    domains = chapter.domains_table(small)
    assert domains.frame["questions"].sum() == small.questions.height == 40


def test_every_part_is_told_of_a_hundred_questions(small):
    texts = chapter.texts(small)
    openings, cosine = chapter.openings(texts), chapter.cosines(small, texts)
    figures = [
        chapter.lengths(small, openings),
        chapter.coverage(small, openings),
        chapter.tree(small, openings),
        chapter.first_words(small, openings),
        chapter.by_domain(small, texts, cosine),
        chapter.topic_grid(small, chapter.topics(small, texts)),
        chapter.question_map(small, texts),
    ]
    for figure in figures:
        assert isinstance(figure, Figure)
        assert figure.caption.startswith("SIMULATED data.")
        assert "whose texts are not simulated" in figure.chart.to_dict()["title"]["subtitle"]
    variety = chapter.variety(small, texts, cosine)
    assert isinstance(chapter.variety_table(small, variety), Table)
    assert isinstance(chapter.wordings_table(small, texts), Table)
    # The larger a collection, the smaller its share of different words.
    assert (variety.filter(measure="distinct_1")["whole"] < variety.filter(measure="distinct_1")["low"]).all()


def test_printed_numbers_are_compared_with_their_intervals(small):
    beside = chapter.beside_published(small, chapter.openings(chapter.texts(small)))
    assert beside.height == 5
    assert set(beside["inside"]) <= {"inside", "outside", "holds", "does not hold", "not told"}
    assert "nothing follows about GAMUT" in str(chapter.published_note(small, beside))


def test_printed_topics_stand_in_their_order_of_size(small):
    own = pl.DataFrame({"topic": [1, 2], "name": ["leaf", "soil"], "estimate": [0.6, 0.4], "low": [0.5, 0.3]})
    own = own.with_columns(high=pl.lit(0.7), stability=pl.lit(0.9), n=pl.lit(50), domain=pl.lit("Plants & Gardening"))
    table = chapter.topics_table(small, own.with_columns(reason=pl.lit(None, dtype=pl.String)))
    assert table.frame.select("name", "printed_name").rows()[:2] == [("leaf", "habitat"), ("soil", "traits")]
    assert table.frame["name"].null_count() == table.frame.height - 2 > 0


def test_where_no_domain_has_enough_questions_one_line_stands_for_the_table(small):
    told = str(chapter.topics_table(small, chapter.domain_topics(small, chapter.texts(small))))
    assert "the largest domain, has" in told
    assert "too few to find topics in" in told


def test_text_only_wordings_are_not_set_against_the_papers_multimodal_ones(small_database):
    study = Study(small_database, variant="text_only")
    assert "text-only wordings" in str(chapter.published_note(study, pl.DataFrame()))


def test_without_texts_each_part_is_one_line(bare):
    texts = chapter.texts(bare)
    assert texts.is_empty()
    openings, cosine = chapter.openings(texts), chapter.cosines(bare, texts)
    variety, topics = chapter.variety(bare, texts, cosine), chapter.topics(bare, texts)
    parts = [
        chapter.source_note(bare, texts),
        chapter.answer(bare, texts, openings, variety, cosine),
        chapter.lengths(bare, openings),
        chapter.coverage(bare, openings),
        chapter.openings_text(bare, openings),
        chapter.tree(bare, openings),
        chapter.first_words(bare, openings),
        chapter.variety_table(bare, variety),
        chapter.wordings_table(bare, texts),
        chapter.by_domain(bare, texts, cosine),
        chapter.closest(bare, texts, cosine),
        chapter.closest_text(bare, texts, cosine),
        chapter.topic_grid(bare, topics),
        chapter.topics_table(bare, chapter.domain_topics(bare, texts)),
        chapter.question_map(bare, texts),
    ]
    assert {str(part) for part in parts} == {chapter._NONE}
    assert all(isinstance(part, Text) for part in parts)
    assert "no domain" in str(chapter.domains_table(bare))


def test_sentences_after_the_figures_are_worked_by_hand(worded):
    texts = chapter.texts(worded)
    openings = chapter.openings(texts)
    assert str(chapter.lengths_text(worded, openings)) == (
        "One length stands out: 50 % of the questions have 6 words. Questions run from 6 to 9 words, in 2 different "
        "lengths."
    )
    assert str(chapter.tree_text(worded, openings)) == (
        "“how do i” is a stock phrase: it opens 50 % of the questions; 0 % open with three words that no other "
        "question opens with."
    )
    assert "which is not told apart from “what”" in str(chapter.first_words_text(worded, openings))
    # Of 11 others 5 are of the own domain.
    assert "more often than chance would have it (45 %)" in str(chapter.map_text(worded, texts))


def test_the_other_readings_are_printed_where_they_are_true(small):
    texts = chapter.texts(small)
    openings = chapter.openings(texts)
    assert str(chapter.lengths_text(small, openings)).startswith("No length stands out")
    assert str(chapter.tree_text(small, openings)).startswith("There is no stock phrase")
    topics = chapter.topics(small, texts)
    firm = topics.with_columns(stability=pl.lit(0.95))
    assert "are found again from other starts (adjusted Rand 0.95)" in str(chapter.topics_text(small, firm))
    loose = topics.with_columns(stability=pl.lit(0.4))
    assert "one grouping among several" in str(chapter.topics_text(small, loose))


def test_without_texts_each_sentence_is_one_line(bare):
    texts = chapter.texts(bare)
    openings = chapter.openings(texts)
    variety = chapter.variety(bare, texts, chapter.cosines(bare, texts))
    told = [
        chapter.lengths_text(bare, openings),
        chapter.tree_text(bare, openings),
        chapter.first_words_text(bare, openings),
        chapter.variety_text(bare, variety),
        chapter.topics_text(bare, chapter.topics(bare, texts)),
        chapter.map_text(bare, texts),
    ]
    assert all(len(str(line)) < 100 and str(line).endswith(".") for line in told)


def test_the_two_wordings_differ_by_intervals_that_lie_apart_or_do_not():
    # Text-only: above where more is varied, below where more is alike, below where more is varied, and overlapping.
    rows = [
        ("a", "varied", 0.1, 0.2, 0.3, 0.4),
        ("b", "alike", 0.5, 0.6, 0.3, 0.4),
        ("c", "varied", 0.5, 0.6, 0.3, 0.4),
        ("d", "alike", 0.1, 0.3, 0.2, 0.4),
    ]
    ends = [f"{end}_{variant}" for variant in ("multimodal", "text_only") for end in ("low", "high")]
    frame = pl.DataFrame(rows, schema=["label", "more", *ends], orient="row")
    table = Table("wordings", frame, {name: "" if name in ("label", "more") else number("") for name in frame.columns})
    assert str(chapter.wordings_text(table)) == (
        "By 2 of 4 measures the text-only wordings are more varied, by 1 less; by the others the intervals overlap."
    )
    alike = replace(table, frame=pl.concat([frame.tail(1)] * 2))
    assert str(chapter.wordings_text(alike)) == "By each of the 2 measures the intervals of the two wordings overlap."
    assert chapter.wordings_text(Text("wordings", "None.", {})) is None


def test_openings_are_counted_by_hand(worded):
    # "What is this" and "How do I": two openings of each length, which cover all twelve.
    told = str(chapter.openings_text(worded, chapter.openings(chapter.texts(worded))))
    assert told == (
        "12 questions open with 2 different first words, 2 different first two words and 2 different first three "
        "words; the 25 commonest begin 100 %, 100 % and 100 % of the questions."
    )


@pytest.mark.parametrize(
    ("domains", "told"),
    [
        (["a", "a", "a", "b"], "a holds more than half of the questions, 75 %"),
        (["a", "a", "b", "c"], "largest, a, has 50 %, 2.0 times as many as c."),
        (["a", "b"], "largest, a, has 50 %; all domains are of one size."),
    ],
)
def test_one_domain_holds_most_questions_or_none_does(domains, told):
    study = SimpleNamespace(questions=pl.DataFrame({"domain": domains}))
    assert told in str(chapter.domains_text(study))
    assert chapter.domains_text(SimpleNamespace(questions=pl.DataFrame({"domain": ["a"]}))) is None


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (0.9, "In 2 of 2 domains other starts find much the same topics (stability of 0.8 or more)."),
        (0.3, "In 1 of 2 domains other starts find much the same topics (stability of 0.8 or more); where they do not"),
    ],
)
def test_topics_of_domains_are_found_again_or_are_not(second, told):
    topics = pl.DataFrame({"domain": ["a", "a", "b", "c"], "stability": [0.8, 0.8, second, None]})
    assert str(chapter.found_again_text(topics)).startswith(told)
    none = topics.with_columns(pl.col("stability") / 2)
    assert str(chapter.found_again_text(none)).startswith("In none of the 2 domains other starts")
    assert chapter.found_again_text(pl.DataFrame()) is None


def test_domains_at_the_ends_lie_apart_or_do_not():
    ends = {"estimate": [0.4, 0.6, 0.4, 0.6], "low": [0.3, 0.5, 0.3, 0.45], "high": [0.45, 0.7, 0.5, 0.7]}
    shown = Figure("x", None, "", "", pl.DataFrame({"panel": ["MTLD", "MTLD", "Self-BLEU", "Self-BLEU"], **ends}))
    assert str(chapter.by_domain_text(shown)) == (
        "By 1 of 2 measures (MTLD) the intervals of the two domains at the ends lie apart."
    )
    level = replace(shown, numbers=shown.numbers.filter(panel="Self-BLEU"))
    assert str(chapter.by_domain_text(level)).startswith("By none of the 1 measures")
    assert chapter.by_domain_text(Text("x", "None.", {})) is None
