"""Text-only against multimodal, against exact rationals, scipy's paired tests and slopes worked by hand."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamut_analysis import gains
from gamut_analysis.errors import UnknownName
from gamut_analysis.vocabulary import VARIANTS
from tests.coverage import gains as coverage

JUDGE = "judge-a"
Table = dict[str, dict[str, float | None]]


def scores_of(table: Table, variant: str) -> pl.DataFrame:
    """Question scores from model -> question -> score."""
    rows = [
        {"model": model, "judge": JUDGE, "question_id": question, "score": score}
        for model, questions in table.items()
        for question, score in questions.items()
    ]
    frame = pl.DataFrame(rows, schema_overrides={"score": pl.Float64})
    return frame.with_columns(pl.lit(variant, dtype=pl.Enum(VARIANTS)).alias("variant"))


def both(multimodal: Table, text: Table) -> pl.DataFrame:
    return pl.concat([scores_of(multimodal, "multimodal"), scores_of(text, "text_only")])


def named(values: np.ndarray) -> Table:
    """A table from an array (models, questions)."""
    return {f"m{i}": {f"q{j:03d}": float(value) for j, value in enumerate(row)} for i, row in enumerate(values)}


def world(models: int = 4, questions: int = 80, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Scores of both variants; the matched checks lower the multimodal ones a little."""
    generator = np.random.default_rng(seed)
    before = np.clip(generator.normal(0.3, 0.4, (models, questions)) + np.linspace(0, 0.3, models)[:, None], -1, 1)
    after = np.clip(before + generator.normal(0.1, 0.2, before.shape), -1, 1)
    return both(named(before), named(after)), scores_of(named(before - 0.05), "multimodal")


score = st.none() | st.floats(-1, 1)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Three models on up to six questions, each score present or not."""
    questions = [f"q{i}" for i in range(draw(st.integers(1, 6)))]
    tables = [{m: {question: draw(score) for question in questions} for m in "abc"} for _ in range(3)]
    return both(tables[0], tables[1]), scores_of(tables[2], "multimodal")


# --- parts ------------------------------------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None)
@given(worlds())
def test_the_parts_add_up_to_the_naive_gain(frames):
    table = gains.gain_parts(*frames, judge=JUDGE).pivot(on="part", index="model", values="estimate")
    for row in table.drop_nulls().iter_rows(named=True):
        parts = row["question_set"] + row["dropped_checks"] + row["matched"]
        assert parts == pytest.approx(row["naive"], abs=1e-12)


def test_each_part_by_hand():
    # Common: q1, q2. All multimodal 0.5, common 0.3, matched 0.2; text-only 0.6.
    scores = both({"m": {"q1": 0.2, "q2": 0.4, "q3": 0.9}}, {"m": {"q1": 0.5, "q2": 0.7, "q3": None}})
    matched = scores_of({"m": {"q1": 0.1, "q2": 0.3}}, "multimodal")
    table = gains.gain_parts(scores, matched, judge=JUDGE)
    found = dict(table.select("part", "estimate").iter_rows())
    assert found == pytest.approx({"naive": 0.1, "question_set": -0.2, "dropped_checks": -0.1, "matched": 0.4})
    assert dict(table.select("part", "n").iter_rows()) == {
        "naive": 3,
        "question_set": 3,
        "dropped_checks": 2,
        "matched": 2,
    }
    # Naive: influence of q1 (0.5 - 0.6)/2 - (0.2 - 0.5)/3 = 0.05, q2 0.05 + 0.1/3 = 0.0833.., q3 -0.4/3.
    error = math.sqrt(1.5 * (0.05**2 + (0.05 + 0.1 / 3) ** 2 + (0.4 / 3) ** 2))
    assert table.filter(part="naive")["standard_error"].item() == pytest.approx(error)
    # Matched gains are 0.4 on both questions: no spread.
    assert table.filter(part="matched")["standard_error"].item() == pytest.approx(0, abs=1e-12)


def test_a_paired_gain_has_the_error_of_the_difference(oracle):
    case = oracle("gamut_benchmark_mean_vs_pooled")
    first, second = ({f"q{i}": s for i, s in enumerate(case["expected"][m]["question_scores"])} for m in ("m1", "m2"))
    # m1 in the part of the text-only answer, m2 of the multimodal one.
    scores, matched = both({"m": second}, {"m": first}), scores_of({"m": second}, "multimodal")
    row = gains.gain_parts(scores, matched, judge=JUDGE).filter(part="matched").row(0, named=True)
    expected = case["expected"]["paired_difference"]
    assert row["estimate"] == pytest.approx(expected["mean"], abs=case["tolerance"])
    assert row["standard_error"] ** 2 * 3 == pytest.approx(3 * expected["se2"], abs=case["tolerance"])
    assert row["warning"].startswith("3 questions")


def test_a_model_without_text_only_answers_says_so():
    scores = both({"a": {"q1": 0.2}, "b": {"q1": 0.4}}, {"a": {"q1": 0.5}})
    matched = scores.filter(variant="multimodal")
    table = gains.gain_parts(scores, matched, judge=JUDGE)
    b = table.filter(model="b")
    assert b["estimate"].null_count() == 4
    assert set(b["reason"]) == {"not scored in both variants"}
    assert set(table.filter(model="a")["reason"]) == {"one question: no interval"}
    tests = gains.gain_tests(scores, matched, judge=JUDGE).filter(model="b").row(0, named=True)
    assert (tests["p_adjusted"], tests["reason"]) == (None, "no question is scored in both variants")


def test_a_set_without_a_second_variant_is_all_reasons():
    scores = scores_of({"a": {"q1": 0.2}, "b": {"q1": 0.4}, "c": {"q1": 0.4}}, "multimodal")
    assert gains.gain_parts(scores, scores, judge=JUDGE)["estimate"].null_count() == 12
    for analyse in (gains.gain_homogeneity, gains.gain_against_level, gains.rank_preservation):
        table = analyse(scores, scores, judge=JUDGE)
        assert table["estimate"].null_count() == table.height
        assert set(table["reason"]) == {"no question has both variants for every model"}
    with pytest.raises(UnknownName, match=JUDGE):
        gains.gain_parts(scores, scores, judge="other")


# --- tests over models ------------------------------------------------------------------------------------------------


def test_sign_flips_give_fishers_exact_p(oracle):
    case = oracle("darwin_fisher_paired_permutation")
    differences = np.array(case["data"]["d"] if "d" in case["data"] else case["data"]["differences"], dtype=float)
    table = named(differences[None] / 100)
    zero = scores_of(named(np.zeros((1, len(differences)))), "multimodal")
    scores = pl.concat([zero, scores_of(table, "text_only")])
    row = gains.gain_tests(scores, zero, judge=JUDGE, replicates=40_000).row(0, named=True)
    # All 2^15 sign patterns are listed, so p is exact: 1726 / 32768.
    assert row["p"] == pytest.approx(1726 / 32768, abs=1e-9)
    assert row["p_adjusted"] == row["p"]


def test_intervals_for_all_models_are_wider_than_for_one():
    table = gains.gain_tests(*world(), judge=JUDGE, replicates=2000)
    for row in table.iter_rows(named=True):
        assert row["low_all"] < row["low"] < row["estimate"] < row["high"] < row["high_all"]
        assert row["p"] <= row["p_adjusted"]
        assert row["statistic"] == pytest.approx(row["estimate"] / row["standard_error"])
    one = gains.gain_tests(*(frame.filter(model="m0") for frame in world()), judge=JUDGE).row(0, named=True)
    assert (one["low_all"], one["high_all"]) == pytest.approx((one["low"], one["high"]), abs=0.003)


def test_two_models_are_compared_as_by_a_paired_t_test():
    from scipy.stats import ttest_rel

    frames = world(models=2)
    row = gains.gain_homogeneity(*frames, judge=JUDGE).row(0, named=True)
    wide = frames[0].pivot(on="variant", index=["model", "question_id"], values="score").sort("question_id")
    gain = wide.with_columns((pl.col("text_only") - pl.col("multimodal")).alias("gain"))
    result = ttest_rel(*(gain.filter(model=m)["gain"].to_numpy() for m in ("m0", "m1")))
    assert row["statistic"] == pytest.approx(result.statistic**2)
    assert row["p"] == pytest.approx(result.pvalue)
    assert (row["df1"], row["df2"], row["n"]) == (1, 79, 80)


def test_the_spread_of_true_gains_is_free_of_noise():
    frames = world(questions=200)
    row = gains.gain_homogeneity(*frames, judge=JUDGE).row(0, named=True)
    wide = frames[0].pivot(on="variant", index=["model", "question_id"], values="score").sort("model", "question_id")
    gain = (wide["text_only"] - wide["multimodal"] + 0.05).to_numpy().reshape(4, 200)
    # The variance of the observed means less the mean noise variance, free of what the models share.
    noise = np.cov(gain) / 200
    variance = gain.mean(axis=1).var(ddof=1) - (np.trace(noise) - noise.sum() / 4) / 3
    assert row["estimate"] == pytest.approx(math.sqrt(max(variance, 0)))
    assert row["low"] <= row["estimate"] <= row["high"]
    assert row["gain"] == pytest.approx(gain.mean())


def test_gains_that_move_together_are_not_tested():
    noise = np.tile([0.1, -0.1], 20)
    after = np.stack([0.1 + noise, 0.3 + noise, 0.2 + noise * 0.5])
    zero = named(np.zeros_like(after))
    row = gains.gain_homogeneity(both(zero, named(after)), scores_of(zero, "multimodal"), judge=JUDGE).row(
        0, named=True
    )
    assert (row["p"], row["reason"]) == (None, "the gains of some models move exactly together")


def test_too_few_questions_for_the_test_are_said():
    row = gains.gain_homogeneity(*world(models=4, questions=4), judge=JUDGE).row(0, named=True)
    assert (row["p"], row["reason"]) == (None, "4 questions or clusters for 4 models: too few for the test")


def level_table(x: list[float], y: list[float]) -> dict[str, dict]:
    """Gain against level for models with these mean scores (two questions around each)."""
    before, after = (np.stack([np.array(v) - 0.01, np.array(v) + 0.01], axis=1) for v in (x, y))
    scores, matched = both(named(before), named(after)), scores_of(named(before), "multimodal")
    table = gains.gain_against_level(scores, matched, judge=JUDGE, replicates=200)
    return {row["method"]: row for row in table.iter_rows(named=True)}


def test_a_constant_gain_has_no_slope():
    by = level_table([0, 0.2, 0.4], [0.1, 0.3, 0.5])
    found = {name: row["estimate"] for name, row in by.items()}
    assert found["oldham_correlation"] is None
    assert by["oldham_correlation"]["reason"] == "the models' scores, or their gains, do not differ"
    for name in ("naive_slope", "oldham_slope", "deming_slope", "spread_ratio"):
        assert found[name] == pytest.approx(by[name]["null"], abs=1e-9)


def test_slopes_by_hand():
    # x = 0, 0.2, 0.4; y = 0.5 x + 0.3: s_xx = 0.08, s_xy = 0.04, s_yy = 0.02. Gain 0.3 - 0.5 x on 0.75 x + 0.15: -2/3.
    # Deming: (-0.06 + sqrt(0.0036 + 0.0064)) / 0.08 = 0.5.
    by = level_table([0, 0.2, 0.4], [0.3, 0.4, 0.5])
    wanted = {
        "naive_slope": -0.5,
        "oldham_slope": -2 / 3,
        "oldham_correlation": -1,
        "deming_slope": 0.5,
        "spread_ratio": 0.5,
    }
    assert {name: row["estimate"] for name, row in by.items()} == pytest.approx(wanted, abs=1e-9)
    assert by["naive_slope"]["reading"].startswith("gain on multimodal score: mathematically coupled")


def test_pitman_morgan_is_the_t_test_of_the_correlation():
    from scipy.stats import pearsonr

    x, y = np.array([0.1, 0.25, 0.3, 0.42, 0.6]), np.array([0.35, 0.33, 0.5, 0.52, 0.66])
    by = level_table(x.tolist(), y.tolist())
    result = pearsonr(y - x, y + x)
    assert by["oldham_correlation"]["estimate"] == pytest.approx(result.statistic)
    assert by["oldham_correlation"]["p"] == by["spread_ratio"]["p"] == pytest.approx(result.pvalue)
    assert by["oldham_correlation"]["low"] is None
    assert by["naive_slope"]["p"] is None


def test_the_naive_slope_is_negative_when_there_is_nothing_but_noise():
    # Twelve equal models, ten questions, scores all independent: what differs is noise, and the naive slope is -1.
    slopes = []
    for before, after in np.random.default_rng(4).normal(0.3, 0.3, (30, 2, 12, 10)):
        scores, matched = both(named(before), named(after)), scores_of(named(before), "multimodal")
        slopes.append(gains.gain_against_level(scores, matched, judge=JUDGE, replicates=20)["estimate"].to_list())
    mean = dict(zip(gains.METHODS, np.mean(slopes, axis=0), strict=True))
    assert mean["naive_slope"] == pytest.approx(-1, abs=0.2)
    assert mean["oldham_slope"] == pytest.approx(0, abs=0.4)


def test_ranks_that_hold_and_ranks_that_turn():
    from scipy.stats import kendalltau, spearmanr

    before = np.array([[0.1, 0.1], [0.2, 0.3], [0.4, 0.4], [0.5, 0.7]])
    after = before[[1, 0, 2, 3]] + 0.2
    scores, matched = both(named(before), named(after)), scores_of(named(before), "multimodal")
    kendall, spearman = gains.rank_preservation(scores, matched, judge=JUDGE, replicates=200).iter_rows(named=True)
    assert kendall["estimate"] == pytest.approx(kendalltau(before.mean(1), after.mean(1)).statistic)
    assert spearman["estimate"] == pytest.approx(spearmanr(before.mean(1), after.mean(1)).statistic)
    assert (kendall["discordant"], kendall["n"], kendall["questions"]) == (1, 4, 2)
    # Gains: 0.35, 0.05, 0.2, 0.2.
    assert kendall["largest_gap"] == pytest.approx(0.3)
    shifts = gains.rank_shifts(scores, matched, judge=JUDGE)
    assert shifts.select("model", "rank_multimodal", "rank_text_only", "shift").rows() == [
        ("m3", 1, 1, 0),
        ("m2", 2, 2, 0),
        ("m1", 3, 4, -1),
        ("m0", 4, 3, 1),
    ]


def test_gains_by_domain():
    scores = both(
        {"a": {"q1": 0, "q2": 0, "q3": 0}, "b": {"q1": 0, "q2": 0, "q3": 0}},
        {"a": {"q1": 0.2, "q2": 0.4, "q3": 0.1}, "b": {"q1": 0.4, "q2": 0.4, "q3": None}},
    )
    matched = scores.filter(variant="multimodal")
    questions = pl.DataFrame({"question_id": ["q1", "q2", "q3"], "domain": ["Food", "Food", "Cars"]})
    table = gains.domain_gains(scores, matched, questions, judge=JUDGE)
    assert table.select("domain", "model", "estimate", "n").rows() == [
        ("Cars", "a", 0.1, 1),
        ("Cars", "b", None, 0),
        ("Food", "a", pytest.approx(0.3), 2),
        ("Food", "b", 0.4, 2),
    ]
    assert table["reason"][1] == "no question is scored in both variants"
    means = gains.domain_mean_gains(scores, matched, questions, judge=JUDGE)
    assert means.select("domain", "estimate", "n").rows() == [("Cars", None, 0), ("Food", pytest.approx(0.35), 2)]


# --- laws -------------------------------------------------------------------------------------------------------------

ANALYSES = {
    "parts": lambda scores, matched, questions: gains.gain_parts(scores, matched, judge=JUDGE, questions=questions),
    "tests": lambda scores, matched, questions: gains.gain_tests(
        scores, matched, judge=JUDGE, questions=questions, replicates=300
    ),
    "homogeneity": lambda scores, matched, questions: gains.gain_homogeneity(
        scores, matched, judge=JUDGE, questions=questions
    ),
    "level": lambda scores, matched, questions: gains.gain_against_level(
        scores, matched, judge=JUDGE, questions=questions, replicates=300
    ),
    "ranks": lambda scores, matched, questions: gains.rank_preservation(
        scores, matched, judge=JUDGE, questions=questions, replicates=300
    ),
}


def numbers(table: pl.DataFrame) -> np.ndarray:
    dropped = [name for name in ("n", "questions", "df2") if name in table.columns]
    return table.drop(dropped).select(pl.selectors.numeric()).cast(pl.Float64).fill_null(float("nan")).to_numpy()


@pytest.mark.parametrize("name", ANALYSES)
def test_a_copy_of_every_question_in_its_cluster_changes_nothing(name):
    frames = world()
    doubled = [pl.concat([f, f.with_columns(pl.col("question_id") + "-copy")]) for f in frames]
    clusters = (
        doubled[0]
        .select("question_id")
        .unique()
        .with_columns(pl.col("question_id").str.strip_suffix("-copy").alias("cluster"))
    )
    once, twice = ANALYSES[name](*frames, None), ANALYSES[name](*doubled, clusters)
    np.testing.assert_allclose(numbers(twice), numbers(once), atol=2e-6)


@pytest.mark.parametrize("name", ANALYSES)
def test_order_of_rows_does_not_matter_and_names_only_rename(name):
    frames = world()
    names = {"m0": "m3", "m3": "m0", "m1": "m1", "m2": "m2"}
    mixed = [f.sample(fraction=1, shuffle=True, seed=3).with_columns(pl.col("model").replace(names)) for f in frames]
    straight, again = ANALYSES[name](*frames, None), ANALYSES[name](*mixed, None)
    if "model" in again.columns:
        order = [column for column in ("model", "part") if column in again.columns]
        again = again.with_columns(pl.col("model").replace(names)).sort(order)
    np.testing.assert_allclose(numbers(again), numbers(straight), atol=2e-6)


# --- do they cover? (the full studies run with the coverage command) --------------------------------------------------


@pytest.mark.parametrize(
    "study",
    [
        ("gain_part", "matched"),
        ("rate", "contradicts", "micro"),
        ("rate", "missing", "macro"),
        ("lost", "contradicts"),
        ("ratio", "points"),
    ],
    ids=" ".join,
)
def test_intervals_cover(study):
    # 600 worlds: standard error 0.9 points around 95 %.
    name, *arguments = study
    measured = getattr(coverage, name)(*arguments, worlds=600)["measured"]
    assert 0.92 < measured < 0.98


def test_equal_gains_are_rarely_called_unequal():
    # 100 worlds: standard error 2.2 points around 5 %.
    assert coverage.homogeneity_level(worlds=100)["measured"] < 0.13
