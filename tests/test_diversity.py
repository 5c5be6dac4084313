"""Variety of questions: openings, words, neighbours and topics, against worked values and a slow reference."""

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamut_analysis import datasets, diversity, tables
from gamut_analysis.errors import InputError


def words(*texts: str) -> pl.Series:
    return pl.Series([text.split() for text in texts], dtype=pl.List(pl.String))


@pytest.fixture
def five(oracle):
    return oracle("text_diversity_five_questions")


# --- the oracles ------------------------------------------------------------------------------------------------------


def test_measures_of_words_agree_with_their_peers(five):
    expected, close = five["expected"], five["tolerance"]
    texts = five["data"]["texts"]
    split = words(*texts)
    flat = [word for text in split.to_list() for word in text]
    for n in (1, 2, 3):
        assert diversity.distinct(split, n) == pytest.approx(expected[f"distinct_{n}"], abs=close)
    assert diversity.distinct(split, 1) == pytest.approx(expected["ttr"], abs=close)
    assert diversity.self_bleu(split).mean() == pytest.approx(expected["self_bleu4_mean"], abs=close)
    assert diversity.mtld(flat) == pytest.approx(expected["mtld"], abs=close)
    assert diversity.compression_ratio(texts) == pytest.approx(expected["compression_ratio_zlib9"], abs=1e-2)


def test_openings_agree_with_their_peers(five):
    expected = five["expected"]
    heads = diversity.openings(words(*five["data"]["texts"]))
    two = diversity.opening_coverage(heads["first_two_words"])
    assert two["opening"][0] == expected["opening_2_top"]
    assert two["covered"][0] == expected["opening_2_top1_coverage"]
    assert diversity.opening_coverage(heads["first_word"]).height == expected["opening_1_unique"]
    assert heads["words"].median() == expected["median_words"]


@pytest.mark.parametrize("name", ["identity4", "ones4", "two_pairs", "corr"])
def test_vendi_scores_agree_with_their_source(oracle, name):
    worked = oracle("vendi_score")
    score = diversity.vendi_score(np.array(worked["data"][name]))
    assert score == pytest.approx(worked["expected"][name], abs=worked["tolerance"])


# --- openings ---------------------------------------------------------------------------------------------------------

TRICKY = [
    "What’s THIS — a plant?",
    "what's this, a plant?",
    "Isn't it well-known that 3.5 l is enough?",
    "  Tell me: why?",
    "这 是 什么?",
    "…?!",
    "- How - come?",
    "Don't",
    "I'd like to know which",
]


def test_words_and_openings_are_those_of_the_database(tmp_path):
    """The relation question_words is made in SQL; nothing may drift between the two."""
    texts = [*TRICKY, *(f"{word.title()} then?" for word in diversity.INTERROGATIVES), "Why's that?", "Whatever next?"]
    ids = [f"q{place:03d}" for place in range(len(texts))]
    folder = tmp_path / "worded"
    folder.mkdir()
    verdicts = pl.DataFrame({"question_id": ids}).with_columns(
        model=pl.lit("alpha"), judge=pl.lit("j"), check_id=pl.lit("c"), verdict=pl.lit("meets")
    )
    verdicts.write_csv(folder / "verdicts.csv")
    pl.DataFrame({"question_id": ids, "question": texts}).write_csv(folder / "questions.csv")
    database = datasets.build(folder, tmp_path / "worded.duckdb").database
    counted = tables.read(database, "question_words").sort("question_id")
    told = tables.read(database, "questions").sort("question_id").filter(pl.col("question").is_not_null())
    ours = diversity.openings(diversity.words_of(told["question"])).with_columns(question_id=told["question_id"])
    both = ours.filter(pl.col("words") > 0)
    assert both.height >= len(texts) - 1
    names = ["words", "first_word", "first_two_words", "first_three_words", "opens_with_interrogative"]
    theirs = counted.filter(pl.col("words") > 0)
    assert both.select("question_id", *names).rows() == theirs.select("question_id", *names).rows()


def test_coverage_counts_from_the_most_common_opening_down():
    rows = diversity.opening_coverage(pl.Series(["how do", "what is", "what is", None, "how do", "what is", "why"]))
    assert rows.select("opening", "questions").rows() == [("what is", 3), ("how do", 2), ("why", 1)]
    assert rows["covered"].to_list() == pytest.approx([3 / 6, 5 / 6, 1])
    assert rows["n"].to_list() == [6, 6, 6]


def test_the_share_of_the_commonest_openings_has_an_interval_around_it():
    # 10 questions begin alike, 30 each in their own way: the 5 commonest cover 10 + 4 of 40.
    openings = pl.Series(["what is"] * 10 + [f"opening {place}" for place in range(30)])
    row = diversity.top_share(openings, top=5)
    assert (row["estimate"], row["openings"], row["n"]) == (14 / 40, 31, 40)
    assert row["low"] < 14 / 40 < row["high"]


def test_where_half_of_the_questions_hold_no_more_openings_there_is_no_interval():
    row = diversity.top_share(pl.Series(["what", "how"] * 20), top=25)
    assert (row["estimate"], row["low"], row["openings"]) == (1.0, None, 2)
    assert "no more than 25 openings" in row["reason"]
    assert diversity.top_share(pl.Series([], dtype=pl.String))["reason"] == "no question has a text"


def test_the_tree_nests_each_branch_in_its_parent_and_gathers_the_rare_ones():
    tree = diversity.opening_tree(
        pl.Series(["what is this", "what is that", "what is this", "what are these", "how do i", "why"]), least=2
    )
    assert tree.select("depth", "path", "questions").rows() == [
        (1, "what", 4),
        (1, "…", 2),
        (2, "what is", 3),
        (2, "what …", 1),
        (3, "what is this", 2),
        (3, "what is …", 1),
    ]
    what_are = tree.filter(path="what …").row(0, named=True)
    assert (what_are["start"], what_are["end"]) == (pytest.approx(3 / 6), pytest.approx(4 / 6))


def test_first_words_say_which_of_them_ask():
    rows = diversity.first_words(diversity.openings(words("what now", "what then", "tell me", "is it")))
    assert rows.select("first_word", "is_interrogative", "questions").rows() == [
        ("what", True, 2),
        ("is", True, 1),
        ("tell", False, 1),
    ]
    assert rows["estimate"].to_list() == [0.5, 0.25, 0.25]


# --- words ------------------------------------------------------------------------------------------------------------


def slow_self_bleu(texts: list[list[str]]) -> list[float]:
    """Self-BLEU as its definition says: every text against all the others."""
    scores = []
    for place, text in enumerate(texts):
        others = texts[:place] + texts[place + 1 :]
        precisions = []
        for n in range(1, 5):
            own = Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1))
            most: Counter = Counter()
            for other in others:
                most |= Counter(tuple(other[i : i + n]) for i in range(len(other) - n + 1))
            matched = sum((own & most).values())
            precisions.append((matched if matched or n == 1 else 0.1) / max(1, sum(own.values())))
        nearest = min((abs(len(other) - len(text)), len(other)) for other in others)[1]
        brevity = 1.0 if len(text) >= nearest else math.exp(1 - nearest / len(text))
        scores.append(brevity * math.prod(precisions) ** 0.25)
    return scores


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=9), min_size=2, max_size=7))
def test_self_bleu_equals_its_definition(texts):
    assert diversity.self_bleu(pl.Series(texts)).tolist() == pytest.approx(slow_self_bleu(texts), abs=1e-12)


def test_a_single_text_has_no_others_to_be_like():
    assert np.isnan(diversity.self_bleu(words("what is this"))).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=7), min_size=1, max_size=6), st.integers(1, 4))
def test_runs_of_words_are_counted_as_by_hand(texts, n):
    runs = [[tuple(text[i : i + n]) for i in range(len(text) - n + 1)] for text in texts]
    every = [run for own in runs for run in own]
    series = pl.Series(texts, dtype=pl.List(pl.String))
    if not every:
        assert diversity.distinct(series, n) is None
        assert diversity.repeated(series, n) is None
        return
    holders = Counter(run for own in runs for run in set(own))
    shared = sum(any(holders[run] > 1 for run in own) for own in runs)
    assert diversity.distinct(series, n) == pytest.approx(len(set(every)) / len(every))
    assert diversity.repeated(series, n) == pytest.approx(shared / len(texts))


def test_mtld_is_undefined_where_no_word_repeats():
    assert diversity.mtld(["every", "word", "here", "is", "another", "one"]) is None
    # Forwards: a, a -> ratio 1/2 <= 0.72, one run; b is left, ratio 1, adds nothing: 3 / 1. Backwards: b, a, a -> 2/3.
    assert diversity.mtld(["a", "a", "b"]) == 3.0


def test_repeated_texts_compress_better():
    varied = ["what is this bird", "how deep does a lake get", "tell me why trains tilt", "can salt spoil"]
    assert diversity.compression_ratio(varied) < diversity.compression_ratio(["what is this bird"] * 4)
    assert diversity.compression_ratio([]) is None


# --- neighbours -------------------------------------------------------------------------------------------------------

NEAR = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]])


def test_each_question_has_a_nearest_other_one():
    rows = diversity.nearest(NEAR, ["a", "b", "c"])
    assert rows.rows() == [("a", "b", 0.9), ("b", "a", 0.9), ("c", "b", 0.2)]
    assert diversity.closest_pairs(NEAR, ["a", "b", "c"], most=2).rows() == [("a", "b", 0.9), ("b", "c", 0.2)]


def test_near_duplicates_are_those_at_the_threshold():
    row = diversity.near_duplicates(NEAR, ["a", "b", "c"], threshold=0.9)
    assert (row["questions"], row["estimate"]) == (2, pytest.approx(2 / 3))
    assert diversity.near_duplicates(NEAR[:1, :1], ["a"])["reason"] == "fewer than two questions"


def test_neighbours_at_home_stand_beside_chance():
    # a and b are nearest to each other and of one group; c is not. By chance: 2 x 1 of 3 x 2 ordered pairs.
    row = diversity.neighbours_at_home(NEAR, ["x", "x", "y"])
    assert (row["estimate"], row["chance"]) == (pytest.approx(2 / 3), pytest.approx(1 / 3))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 8), st.integers(0, 10))
def test_a_vendi_score_lies_between_one_and_the_number_of_texts(n, seed):
    rows = np.random.default_rng(seed).random((n, 5)) + 1e-3
    score = diversity.vendi_score(diversity.similarity(rows))
    assert 1 - 1e-9 <= score <= n + 1e-9


def test_texts_without_terms_are_like_nothing_but_themselves():
    vectors, names = diversity.tfidf(words("", ""))
    assert names == [""]
    assert diversity.similarity(vectors).tolist() == [[1.0, 0.0], [0.0, 1.0]]


# --- the measures together --------------------------------------------------------------------------------------------


def framed(texts: list[str]) -> tuple[pl.DataFrame, np.ndarray]:
    frame = pl.DataFrame({"question_id": [f"q{place:03d}" for place in range(len(texts))], "question": texts})
    frame = frame.with_columns(diversity.words_of(frame["question"]))
    return frame, diversity.similarity(diversity.tfidf(frame["words"])[0])


def test_a_collection_of_one_text_is_as_alike_as_can_be():
    frame, cosine = framed(["what is this old plant"] * 20)
    rows = {row["measure"]: row for row in diversity.diversity(frame, cosine, replicates=20).to_dicts()}
    # Five different words among the five of each of 20 texts, and of each of 10.
    assert (rows["distinct_1"]["whole"], rows["distinct_1"]["estimate"]) == (pytest.approx(0.05), pytest.approx(0.1))
    for name in ("self_bleu", "repeated_4", "mean_similarity", "vendi_score"):
        assert rows[name]["whole"] == pytest.approx(1.0)
        assert (rows[name]["low"], rows[name]["high"]) == (pytest.approx(1.0), pytest.approx(1.0))
    assert {row["size"] for row in rows.values()} == {10}


def test_more_of_the_same_questions_look_less_varied_as_a_whole_and_the_same_at_one_size():
    topics = [f"what makes item{place} differ from item{place + 1} in use" for place in range(40)]
    small, large = (
        diversity.diversity(*framed(texts), size=10, replicates=50).filter(measure="distinct_1")
        for texts in (topics[:20], topics)
    )
    assert large["whole"][0] < small["whole"][0]
    assert large["estimate"][0] == pytest.approx(small["estimate"][0], abs=0.05)


def test_few_questions_cannot_tell_how_varied_they_are():
    rows = diversity.diversity(*framed(["what is this", "why is that"]))
    assert rows["estimate"].null_count() == rows.height == len(diversity.MEASURES)
    assert rows["reason"][0] == "2 questions: too few to tell how varied they are"


def test_groups_are_compared_at_half_of_the_smallest():
    texts = [f"what is thing{place} good for" for place in range(40)]
    frame, cosine = framed(texts)
    frame = frame.with_columns(domain=pl.Series(["large"] * 24 + ["small"] * 12 + ["tiny"] * 4))
    rows = diversity.diversity_by(frame, cosine, "domain", replicates=20)
    assert sorted(rows["domain"].unique()) == ["large", "small"]
    assert rows["size"].unique().to_list() == [6]
    assert diversity.diversity_by(frame.head(5), cosine[:5, :5], "domain").is_empty()


def test_samples_hold_no_question_twice_and_the_seed_decides_them():
    rows = diversity.samples(9, 4, replicates=50, seed=3)
    assert all(len(set(row)) == 4 for row in rows.tolist())
    assert (rows == diversity.samples(9, 4, replicates=50, seed=3)).all()
    with pytest.raises(InputError, match="samples of 10 out of 9"):
        diversity.samples(9, 10)


def test_the_sampling_interval_of_a_mean_is_as_wide_as_its_standard_error():
    # Half-samples of n values: deviations have the variance S^2 / n, so the interval is 1.96 S / sqrt(n) either way.
    values = np.random.default_rng(1).normal(size=200)
    rows = diversity.samples(200, 100, replicates=4000, seed=2)
    low, high = diversity.sampling_interval(values.mean(), values[rows].mean(axis=1), size=100, n=200)
    width = 1.96 * values.std(ddof=1) / math.sqrt(200)
    assert (high - low) / 2 == pytest.approx(width, rel=0.06)
    rows = diversity.samples(200, 20, replicates=4000, seed=2)
    low, high = diversity.sampling_interval(values.mean(), values[rows].mean(axis=1), size=20, n=200)
    assert (high - low) / 2 == pytest.approx(width, rel=0.06)


def test_evenness_counts_groups_of_one_size():
    assert diversity.evenness(pl.Series(["a"] * 5 + [None]))["effective"] == pytest.approx(1.0)
    assert diversity.evenness(pl.Series([], dtype=pl.String))["effective"] is None


# --- topics and the map -----------------------------------------------------------------------------------------------

VOCABULARIES = {
    "garden": ["soil", "leaf", "root", "prune", "seed", "bloom"],
    "road": ["engine", "tyre", "brake", "clutch", "petrol", "gearbox"],
    "kitchen": ["oven", "butter", "flour", "yeast", "dough", "bake"],
}


@pytest.fixture(scope="module")
def three_topics() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        (f"{group}-{place:02d}", f"what does {' '.join(rng.choice(terms, 4, replace=False))} do", group)
        for group, terms in VOCABULARIES.items()
        for place in range(30 - 5 * list(VOCABULARIES).index(group))
    ]
    frame = pl.DataFrame(rows, schema=["question_id", "question", "group"], orient="row")
    return frame.with_columns(diversity.words_of(frame["question"]))


def test_topics_are_found_named_by_their_words_and_independent_of_the_seed(three_topics):
    found = diversity.topics(three_topics, number=3)
    joined = found.join(three_topics, on="question_id")
    assert joined.group_by("topic").agg(pl.col("group").n_unique())["group"].to_list() == [1, 1, 1]
    assert diversity.topic_shares(found)["questions"].to_list() == [30, 25, 20]
    assert set(found.filter(topic=1)["name"][0].split(", ")) <= set(VOCABULARIES["garden"])
    assert found["stability"][0] == pytest.approx(1.0)
    again = diversity.topics(three_topics, number=3, seed=7)
    assert again.select("topic", "name").equals(found.select("topic", "name"))


def test_topics_of_few_questions_are_not_told(three_topics):
    found = diversity.topics(three_topics.head(39))
    assert found["topic"].null_count() == 39
    assert found["reason"][0] == "39 questions: fewer than 40, too few to find topics in"
    assert diversity.topic_shares(found).is_empty()


def test_a_question_without_shared_words_has_no_topic(three_topics):
    odd = pl.DataFrame({"question_id": ["odd"], "words": [["zygote", "quark"]]})
    found = diversity.topics(pl.concat([three_topics.select("question_id", "words"), odd]), number=3)
    row = found.filter(question_id="odd").row(0, named=True)
    assert (row["topic"], row["reason"]) == (None, "it shares no content word with another question")


def test_the_map_keeps_like_questions_together_and_is_the_same_each_time(three_topics):
    cosine = diversity.similarity(diversity.tfidf(three_topics["words"], without=diversity.content_words())[0])
    places = diversity.layout(cosine)
    assert places.shape == (75, 2)
    assert np.abs(places).max() == pytest.approx(1.0)
    assert (places == diversity.layout(cosine)).all()
    apart = ((places[:, None] - places[None]) ** 2).sum(axis=-1) + 9 * np.eye(75)
    group = three_topics["group"].to_numpy()
    assert (group[apart.argmin(axis=1)] == group).mean() > 0.95


def test_a_handful_of_questions_has_no_map():
    assert diversity.layout(NEAR).tolist() == [[0.0, 0.0]] * 3
