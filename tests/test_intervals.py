"""Intervals and tests over questions, against hand-worked cases, oracles, SciPy and statsmodels."""

import json
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gamut_analysis import intervals
from gamut_analysis.errors import InputError, UnknownName
from tests.coverage import intervals as coverage

SCORES = hnp.arrays(np.float64, st.tuples(st.integers(2, 12), st.integers(1, 4)), elements=st.floats(-1, 1, width=32))


@pytest.fixture
def skewed():
    return np.random.default_rng(7).beta(5, 2, size=(60, 3)) * 2 - 1


# --- resampling


def test_counts_are_float32_and_each_row_draws_n_questions():
    counts = intervals.resample_counts(17, replicates=120)
    assert counts.shape == (120, 17)
    assert counts.dtype == np.float32
    assert (counts.sum(axis=1) == 17).all()


def test_counts_follow_the_multinomial_distribution():
    # Each count is binomial(n, 1/n): mean 1, variance 1 - 1/n; two counts of a row have covariance -1/n.
    counts = intervals.resample_counts(5, replicates=40_000)
    covariance = np.cov(counts.T)
    assert np.allclose(np.diag(covariance), 0.8, atol=0.03)
    assert np.allclose(covariance[np.triu_indices(5, 1)], -0.2, atol=0.03)


def test_the_same_seed_gives_the_same_counts_and_another_seed_others():
    first, again = (intervals.resample_counts(9, replicates=60, seed=3) for _ in range(2))
    assert (first == again).all()
    assert (first != intervals.resample_counts(9, replicates=60, seed=4)).any()


def test_more_replicates_begin_with_the_fewer():
    few, many = (intervals.resample_counts(9, replicates=count) for count in (100, 150))
    assert (many[:100] == few).all()


def test_members_of_a_cluster_share_their_count():
    counts = intervals.resample_counts(5, replicates=80, clusters=["x", "y", "x", "z", "y"])
    assert (counts[:, 0] == counts[:, 2]).all()
    assert (counts[:, 1] == counts[:, 4]).all()
    # Three clusters are drawn three times.
    assert (counts[:, [0, 1, 3]].sum(axis=1) == 3).all()


def test_names_of_clusters_play_no_part():
    one, other = (intervals.resample_counts(4, replicates=50, clusters=list(names)) for names in ("abab", "zyzy"))
    assert (one == other).all()


def test_a_sample_beyond_sixteen_bits_is_drawn_from_all_its_questions():
    counts = intervals.resample_counts(70_000, replicates=1)
    assert counts.sum() == 70_000
    assert counts[0, 66_000:].sum() > 0


def test_no_question_and_labels_of_another_length_are_refused():
    with pytest.raises(ValueError, match="n is 0"):
        intervals.resample_counts(0)
    with pytest.raises(ValueError, match="one label for each of 3"):
        intervals.resample_counts(3, clusters=["a", "b"])


def test_means_of_resamples_equal_a_plain_loop(skewed):
    skewed[[3, 8], 0] = np.nan
    weights = intervals.resample_counts(60, replicates=40)
    drawn = [np.repeat(np.arange(60), row.astype(int)) for row in weights]
    by_hand = np.array([np.nanmean(skewed[rows], axis=0) for rows in drawn])
    assert np.allclose(intervals.resample_means(skewed, weights), by_hand, atol=1e-6)


def test_a_replicate_without_a_scored_question_is_undefined():
    weights = np.array([[2.0, 0.0], [1.0, 1.0]], dtype=np.float32)
    means = intervals.resample_means(np.array([[np.nan], [0.5]]), weights)
    assert np.isnan(means[0, 0])
    assert means[1, 0] == 0.5


def test_all_resamples_of_three_questions_give_the_exact_variance(oracle):
    known = oracle("bootstrap_exact_enumeration_n3")
    # A = 1, 1/2, 0; B = 3/4, 1/2, 1/4: all 27 ways to draw three of three questions.
    values = np.array([[1.0, 0.75], [0.5, 0.5], [0.0, 0.25]])
    weights = np.array([np.bincount(drawn, minlength=3) for drawn in product(range(3), repeat=3)], dtype=np.float32)
    means = intervals.resample_means(values, weights)
    differences = means[:, 0] - means[:, 1]
    expected = known["expected"]
    assert means.var(axis=0) == pytest.approx([expected["var_A"], expected["var_B"]], abs=known["tolerance"])
    assert differences.var() == pytest.approx(expected["var_diff_paired"], abs=known["tolerance"])


def test_jackknife_leaves_out_each_question_and_each_cluster():
    values = np.array([[0.0], [1.0], [0.5]])
    # Without the first (1 + 0.5)/2, without the second 0.5/2, without the third 1/2.
    assert intervals.jackknife_means(values)[:, 0].tolist() == [0.75, 0.25, 0.5]
    # Without cluster x, the first two: 0.5; without y: 0.5.
    assert intervals.jackknife_means(values, clusters=["x", "x", "y"])[:, 0].tolist() == [0.5, 0.5]


# --- intervals


def test_percentiles_are_those_of_numpy_column_by_column(skewed):
    low, high = intervals.percentile_interval(skewed, level=0.9)
    assert low == pytest.approx(np.quantile(skewed, 0.05, axis=0))
    assert high == pytest.approx(np.quantile(skewed, 0.95, axis=0))


def test_undefined_draws_are_left_out_and_a_column_of_them_is_undefined(skewed):
    skewed[:30, 0], skewed[:, 1] = np.nan, np.nan
    low, _ = intervals.percentile_interval(skewed)
    assert low[0] == pytest.approx(np.quantile(skewed[30:, 0], 0.025))
    assert np.isnan(low[1])


def test_bca_equals_scipy_on_the_same_draws(skewed):
    from scipy import stats

    column = skewed[:, :1]
    theirs = stats.bootstrap((column[:, 0],), np.mean, n_resamples=3000, method="BCa", rng=np.random.default_rng(1))
    draws = theirs.bootstrap_distribution[:, None]
    low, high = intervals.bca_interval(column.mean(axis=0), draws, intervals.jackknife_means(column))
    assert low[0] == pytest.approx(theirs.confidence_interval.low, abs=1e-9)
    assert high[0] == pytest.approx(theirs.confidence_interval.high, abs=1e-9)


@pytest.mark.filterwarnings("error")
def test_bca_without_a_known_jackknife_value_is_undefined_and_warns_of_nothing():
    low, high = intervals.bca_interval(np.array([0.5]), np.linspace(0, 1, 50)[:, None], np.full((9, 1), np.nan))
    assert np.isnan([low, high]).all()


def test_bca_of_a_constant_is_undefined():
    low, high = intervals.bca_interval(np.array([0.5]), np.full((50, 1), 0.5), np.full((9, 1), 0.5))
    assert np.isnan([low[0], high[0]]).all()


def test_t_interval_is_that_of_scipy():
    from scipy import stats

    low, high = intervals.t_interval(np.array([0.2, 0.4]), np.array([0.1, 0.3]), np.array([8, 100]), level=0.9)
    for place, (centre, error, n) in enumerate([(0.2, 0.1, 8), (0.4, 0.3, 100)]):
        assert (low[place], high[place]) == pytest.approx(stats.t.interval(0.9, n - 1, centre, error))


def test_clustered_standard_error_is_millers_with_the_small_sample_factor(oracle):
    known = oracle("miller2024_clustered_se")
    scores, labels = np.array(known["data"]["s"]), known["data"]["cluster"]
    clustered, alone = intervals.mean_interval(scores, clusters=labels), intervals.mean_interval(scores)
    expected, tolerance = known["expected"], known["tolerance"]
    assert clustered["estimate"] == pytest.approx(expected["mean"], abs=tolerance)
    assert clustered["standard_error"] == pytest.approx(expected["se_clustered_CR1"], abs=tolerance)
    # Miller's own has no G/(G - 1), five clusters, nor his unclustered one n/(n - 1), 17 questions.
    assert clustered["standard_error"] * (4 / 5) ** 0.5 == pytest.approx(expected["se_clustered"], abs=tolerance)
    assert clustered["standard_error"] ** 2 * 4 / 5 == pytest.approx(expected["var_clustered"], abs=tolerance)
    assert alone["standard_error"] == pytest.approx(expected["se_clt_n_minus_1"], abs=tolerance)
    assert alone["standard_error"] * (16 / 17) ** 0.5 == pytest.approx(expected["se_clt_n"], abs=tolerance)
    effect = (clustered["standard_error"] ** 2 * 4 / 5) / (alone["standard_error"] ** 2 * 16 / 17)
    assert effect == pytest.approx(expected["design_effect"], abs=tolerance)


def test_clustered_standard_error_is_that_of_statsmodels(skewed):
    import statsmodels.api as sm

    groups = np.random.default_rng(1).integers(0, 14, size=60)
    rows = intervals.mean_intervals(skewed, clusters=groups)
    for place, error in enumerate(rows["standard_error"]):
        fit = sm.OLS(skewed[:, place], np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": groups})
        assert error == pytest.approx(fit.bse[0], abs=1e-12)
    assert rows["clusters"].to_list() == [len(np.unique(groups))] * 3


def test_standard_errors_of_the_benchmark_case(oracle):
    known = oracle("gamut_benchmark_mean_vs_pooled")
    m1, m2 = (known["expected"][model] for model in ("m1", "m2"))
    scores = np.array([m1["question_scores"], m2["question_scores"]]).T
    rows = intervals.mean_intervals(np.column_stack([scores, scores[:, 0] - scores[:, 1]]))
    pair = known["expected"]["paired_difference"]
    means, squares = [m["benchmark_score"] for m in (m1, m2)], [m["se2_n_minus_1"] for m in (m1, m2)]
    assert rows["estimate"].to_list() == pytest.approx([*means, pair["mean"]], abs=known["tolerance"])
    assert (rows["standard_error"] ** 2).to_list() == pytest.approx([*squares, pair["se2"]], abs=known["tolerance"])


def test_pooled_rates_of_the_benchmark_case_are_ratios_of_sums(oracle):
    known = oracle("gamut_benchmark_mean_vs_pooled")
    verdicts = ("meets", "partially_meets", "missing", "contradicts")
    for model, questions in known["data"]["models"].items():
        counts = np.array([np.sum(list(tiers.values()), axis=0) for tiers in questions], dtype=float)
        checks = np.repeat(counts.sum(axis=1, keepdims=True), 4, axis=1)
        micro = dict(zip(verdicts, intervals.ratio_intervals(counts, checks)["estimate"], strict=True))
        macro = dict(zip(verdicts, intervals.mean_intervals(counts / checks)["estimate"], strict=True))
        assert micro == pytest.approx(known["expected"][model]["micro_rates"], abs=known["tolerance"])
        assert macro == pytest.approx(known["expected"][model]["macro_rates"], abs=known["tolerance"])


def test_ratio_has_cochrans_linearised_error(oracle):
    known = oracle("ratio_of_sums_vs_mean_of_ratios")
    above, below = (np.array(known["data"][part], dtype=float) for part in ("num", "den"))
    (row,) = intervals.ratio_intervals(above[:, None], below[:, None]).to_dicts()
    mean = intervals.mean_interval(above / below)
    expected, tolerance = known["expected"], known["tolerance"]
    assert row["estimate"] == pytest.approx(expected["ratio_of_sums"], abs=tolerance)
    assert mean["estimate"] == pytest.approx(expected["mean_of_ratios"], abs=tolerance)
    assert row["estimate"] - mean["estimate"] == pytest.approx(expected["cov_over_meanD"], abs=tolerance)
    # Cochran's sum has no n/(n - 1); there are three questions.
    assert row["standard_error"] * (2 / 3) ** 0.5 == pytest.approx(expected["se_ratio_linearised"], abs=tolerance)


def test_a_question_without_denominator_is_left_out_of_a_ratio():
    above, below = np.array([1.0, 0.0, np.nan, 2.0]), np.array([2.0, 0.0, 3.0, 4.0])
    (row,) = intervals.ratio_intervals(above[:, None], below[:, None]).to_dicts()
    assert (row["estimate"], row["n"]) == (0.5, 2)


def test_wilson_is_that_of_statsmodels():
    from statsmodels.stats.proportion import proportion_confint

    low, high = intervals.wilson_interval(np.array([0, 3, 10]), np.array([10, 10, 10]))
    theirs = proportion_confint(np.array([0, 3, 10]), 10, method="wilson")
    assert low == pytest.approx(theirs[0], abs=1e-12)
    assert high == pytest.approx(theirs[1], abs=1e-12)


def test_wilson_of_nothing_is_undefined():
    assert np.isnan(intervals.wilson_interval(0, 0)).all()


# --- few clusters


def test_three_questions_of_forty_checks_are_three_not_a_hundred_and_twenty(shared):
    folder = shared / "cases" / "41-few-clusters"
    expected = json.loads((folder / "expected.json").read_text())["expect"]
    verdicts = pl.read_ndjson(folder / "verdicts.jsonl")
    # Only meets and missing occur, in one tier: a question's score is its share of checks that are met.
    scores = verdicts.group_by("question_id").agg(score=(pl.col("verdict") == "meets").mean()).sort("question_id")
    row = intervals.mean_interval(scores["score"].to_numpy())
    assert row["estimate"] == pytest.approx(expected["score"], abs=1e-6)
    assert row["standard_error"] == pytest.approx(expected["se_over_questions"], abs=1e-6)
    assert row["clusters"] == expected["clusters"]
    assert row["low"] < row["estimate"] < row["high"]
    assert row["warning"].startswith("3 questions")
    # The same from the checks, when they are marked as clusters.
    met = (verdicts["verdict"] == "meets").cast(pl.Float64).to_numpy()
    clustered = intervals.mean_interval(met, clusters=verdicts["question_id"])
    assert clustered["standard_error"] == pytest.approx(expected["se_over_questions"], abs=1e-6)
    assert intervals.mean_interval(met)["standard_error"] == pytest.approx(expected["se_over_checks_wrong"], abs=1e-3)


def test_one_question_has_a_mean_and_no_interval():
    row = intervals.mean_interval(np.array([0.9]))
    assert row["estimate"] == 0.9
    assert (row["low"], row["high"], row["standard_error"]) == (None, None, None)
    assert row["reason"] == "one question: no interval"


def test_one_cluster_has_no_interval():
    row = intervals.mean_interval(np.array([0.9, 0.1]), clusters=["same", "same"])
    assert (row["low"], row["reason"]) == (None, "one cluster: no interval")


def test_no_scored_question_has_no_mean():
    row = intervals.mean_interval(np.array([np.nan, np.nan]))
    assert (row["estimate"], row["n"], row["reason"]) == (None, 0, "no scored question")


def test_the_warning_ends_at_thirty_clusters():
    assert intervals.few_clusters_warning(29) is not None
    assert intervals.few_clusters_warning(30) is None


def test_equal_scores_have_an_interval_of_no_width():
    row = intervals.mean_interval(np.full(40, 0.25))
    assert (row["low"], row["estimate"], row["high"]) == (0.25, 0.25, 0.25)


# --- permutation and multiplicity


def test_darwins_maize_has_fishers_counts(oracle):
    known = oracle("darwin_fisher_paired_permutation")
    differences = np.array(known["data"]["differences"], dtype=float)
    total, sums = differences.sum(), intervals.every_sign_flip(15) @ differences
    expected, tolerance = known["expected"], known["tolerance"]
    one, two = intervals.permutation_p(total, sums), intervals.permutation_p(np.abs(total), np.abs(sums))
    assert total == expected["sum"]
    assert one * 2**15 == expected["count_ge"]
    assert two * 2**15 == expected["count_abs"]
    assert (one, two) == pytest.approx((expected["p_one"], expected["p_two"]), abs=tolerance)
    row = intervals.mean_interval(differences)
    assert row["estimate"] / row["standard_error"] == pytest.approx(expected["t"], abs=tolerance)


def test_sign_patterns_are_common_to_a_cluster_and_about_balanced():
    signs = intervals.sign_flips(4, replicates=4000, clusters=["x", "y", "x", "y"])
    assert (signs[:, 0] == signs[:, 2]).all()
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert abs(signs.mean()) < 0.05


def test_every_pattern_but_the_unchanged_one_is_listed_once():
    patterns = intervals.every_sign_flip(4)
    assert patterns.shape == (15, 4)
    assert len(np.unique(patterns, axis=0)) == 15
    assert not (patterns == 1).all(axis=1).any()


def test_few_questions_get_every_pattern_and_many_get_random_ones():
    assert intervals.signs_for(4, replicates=100).shape == (15, 4)
    assert intervals.signs_for(10, replicates=100).shape == (100, 10)


def test_too_many_patterns_are_refused():
    with pytest.raises(ValueError, match="use sign_flips"):
        intervals.every_sign_flip(21)


def test_a_permutation_p_is_never_zero_and_counts_ties():
    assert intervals.permutation_p(np.array(9.0), np.zeros(99)).item() == 0.01
    assert intervals.permutation_p(np.array(0.0), np.zeros(99)).item() == 1.0


def test_adjusted_p_of_the_fifteen_trials(oracle):
    known = oracle("benjamini_hochberg1995_15p")
    p, expected = np.array(known["data"]["p"]), known["expected"]
    adjusted = {"holm": intervals.holm(p), "BH": intervals.benjamini_hochberg(p)}
    for name, values in adjusted.items():
        assert values == pytest.approx(expected[name], abs=known["tolerance"])
        assert (values <= 0.05).sum() == expected["rejections_at_.05"][name]


@pytest.mark.parametrize(("ours", "name"), [(intervals.holm, "holm"), (intervals.benjamini_hochberg, "fdr_bh")])
def test_adjusted_p_are_those_of_statsmodels_in_any_order(ours, name):
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(5).uniform(size=40) ** 3
    assert ours(p) == pytest.approx(multipletests(p, method=name)[1], abs=1e-12)


def test_an_undefined_p_leaves_the_family():
    assert intervals.holm(np.array([0.02, np.nan, 0.5])).tolist()[::2] == [0.04, 0.5]
    assert np.isnan(intervals.benjamini_hochberg(np.array([0.02, np.nan]))[1])


def test_max_t_by_hand():
    # Tests 3.0 > 2.0 > 1.0 against four draws. Largest first, over all three columns the maxima are 3.5, 2.5, 1.5, 0.5:
    # one reaches 3.0, p = 2/5. Without the first column 0.2, 2.5, 1.5, 0.5: one reaches 2.0, p = 2/5. The last alone
    # 0.2, 0.3, 1.5, 0.5: one reaches 1.0, p = 2/5.
    draws = np.array([[3.5, 0.1, 0.2], [0.1, 2.5, 0.3], [0.1, 0.4, 1.5], [0.1, 0.4, 0.5]])
    assert intervals.max_t(np.array([3.0, 2.0, 1.0]), draws).tolist() == [0.4, 0.4, 0.4]


def test_max_t_leaves_out_an_undefined_test():
    draws = np.array([[1.0, 99.0], [0.5, 99.0], [0.1, 99.0]])
    adjusted = intervals.max_t(np.array([2.0, np.nan]), draws)
    assert adjusted[0] == 0.25
    assert np.isnan(adjusted[1])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000))
def test_max_t_does_not_depend_on_the_order_of_the_tests(seed):
    rng = np.random.default_rng(seed)
    observed, draws = np.abs(rng.normal(size=6)), np.abs(rng.normal(size=(80, 6)))
    order = rng.permutation(6)
    assert (intervals.max_t(observed, draws)[order] == intervals.max_t(observed[order], draws[:, order])).all()


# --- laws


@settings(max_examples=60, deadline=None)
@given(values=SCORES)
def test_a_copy_of_every_question_in_its_cluster_changes_no_interval(values):
    n = len(values)
    doubled, labels = np.repeat(values, 2, axis=0), np.repeat(np.arange(n), 2)
    columns = ["estimate", "low", "high", "standard_error", "clusters"]
    alone, copied = intervals.mean_intervals(values), intervals.mean_intervals(doubled, clusters=labels)
    assert np.allclose(alone.select(columns).to_numpy(), copied.select(columns).to_numpy(), atol=1e-9)
    draws = intervals.resample_means(values, intervals.resample_counts(n, replicates=60))
    again = intervals.resample_means(doubled, intervals.resample_counts(2 * n, replicates=60, clusters=labels))
    assert np.allclose(draws, again, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(values=SCORES, seed=st.integers(0, 100))
def test_the_order_of_questions_changes_no_clustered_interval(values, seed):
    rng = np.random.default_rng(seed)
    order, labels = rng.permutation(len(values)), rng.integers(0, 3, size=len(values))
    columns = ["estimate", "standard_error"]
    one = intervals.mean_intervals(values, clusters=labels).select(columns).fill_null(-9).to_numpy()
    other = intervals.mean_intervals(values[order], clusters=labels[order]).select(columns).fill_null(-9).to_numpy()
    assert np.allclose(one, other, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(values=SCORES, shift=st.floats(-1, 1), scale=st.floats(0.1, 3))
def test_intervals_move_and_stretch_with_the_scores(values, shift, scale):
    plain, moved = intervals.mean_intervals(values), intervals.mean_intervals(values * scale + shift)
    for column in ("estimate", "low", "high"):
        assert np.allclose(plain[column].to_numpy() * scale + shift, moved[column].to_numpy(), atol=1e-9)


# --- frames


def score_frame(rows):
    schema = ["model", "judge", "variant", "question_id", "score"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_a_score_matrix_is_sorted_and_holds_nan_for_what_is_not_scored():
    frame = score_frame([("m", "j", "multimodal", "q2", 0.5), ("k", "j", "multimodal", "q1", None)])
    models, questions, matrix = intervals.score_matrix(frame, judge="j", variant="multimodal")
    assert (models, questions) == (["k", "m"], ["q1", "q2"])
    assert np.isnan(matrix).tolist() == [[True, True], [True, False]]


def test_the_order_of_rows_plays_no_part_in_a_score_matrix():
    rows = [(model, "j", "multimodal", f"q{at}", at / 9) for model in "km" for at in range(9)]
    shuffled = [rows[at] for at in np.random.default_rng(0).permutation(len(rows))]
    one, other = (intervals.score_matrix(score_frame(r), judge="j", variant="multimodal") for r in (rows, shuffled))
    assert one[:2] == other[:2]
    assert (one[2] == other[2]).all()


def test_an_unknown_judge_is_refused_with_the_known_ones():
    frame = score_frame([("m", "claude-judge", "multimodal", "q1", 0.5)])
    with pytest.raises(UnknownName, match="unknown judge 'claude'; known: claude-judge"):
        intervals.score_matrix(frame, judge="claude", variant="multimodal")


def test_two_rows_for_one_model_and_question_are_refused():
    frame = score_frame([("m", "j", "multimodal", "q1", 0.5)] * 2)
    with pytest.raises(InputError, match="1 repeated rows"):
        intervals.score_matrix(frame, judge="j", variant="multimodal")


def test_a_question_without_a_cluster_is_its_own():
    table = pl.DataFrame({"question_id": ["q1", "q2", "q3"], "cluster": ["fern", "fern", None]})
    assert intervals.question_clusters(table, ["q3", "q1", "q4"]).tolist() == ["q3", "fern", "q4"]


# --- coverage, small: four standard errors about what the full studies measure


@pytest.mark.parametrize(
    "study",
    [
        lambda: coverage.mean_t(100, worlds=2000),
        lambda: coverage.clustered_mean(60, worlds=1000),
        lambda: coverage.mean_bootstrap("BCa", 100, worlds=500, replicates=1000),
        lambda: coverage.pooled_rate(300, 0.4, worlds=1000),
        lambda: coverage.wilson(worlds=5000),
    ],
    ids=["t", "clustered t", "BCa", "pooled rate", "Wilson"],
)
def test_intervals_cover_about_as_often_as_they_say(study):
    measured = study()
    error = (0.05 * 0.95 / measured["worlds"]) ** 0.5
    assert measured["low"] - 4 * error < measured["measured"] < measured["high"] + 4 * error


def test_unmarked_clusters_make_intervals_too_narrow():
    assert coverage.unclustered_mean(worlds=500)["measured"] < 0.9


def test_sign_flips_keep_their_level():
    assert coverage.sign_flip_level(60, worlds=800)["measured"] == pytest.approx(0.05, abs=0.031)
