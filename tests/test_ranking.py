"""Rankings of models, against hand-worked cases, oracles and SciPy."""

import json
from itertools import permutations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranked import WHERE, frame_of, three_judges, with_copies, world

from gamut_analysis import concordance, intervals, ranking
from gamut_analysis.errors import UnknownName
from tests.coverage import ranking as coverage


@pytest.fixture(name="three_judges")
def scores_of_three_judges():
    return three_judges()


# --- leaderboard


def test_a_leaderboard_by_hand():
    # Differences per question 0.3, 0.1: mean 0.2; a = (0.9, 0.5), b = (0.6, 0.4).
    board = ranking.leaderboard(frame_of([[0.9, 0.6], [0.5, 0.4]]), **WHERE, replicates=2000)
    assert board["model"].to_list() == ["a", "b"]
    assert board["rank"].to_list() == [1, 2]
    assert board["estimate"].to_list() == pytest.approx([0.7, 0.5])
    # sd of (0.9, 0.5) is 0.2828, over root 2: 0.2.
    assert board["standard_error"].to_list() == pytest.approx([0.2, 0.1])
    assert board["n"].to_list() == board["asked"].to_list() == [2, 2]
    assert board["warning"][0].startswith("2 questions")


def case_45(shared):
    """Case 45 as scores: all checks meets or missing in one tier, so a score is the share of checks met."""
    folder = shared / "cases" / "45-partial-run-leaderboard"
    verdicts = pl.read_ndjson(folder / "verdicts.jsonl")
    keys = ["model", "judge", "variant", "question_id"]
    scores = verdicts.group_by(keys).agg(score=(pl.col("verdict") == "meets").mean())
    return scores, json.loads((folder / "expected.json").read_text())["expect"]


def test_a_partial_run_stands_apart(shared):
    scores, expected = case_45(shared)
    board = ranking.leaderboard(scores, judge="judge-a", variant="multimodal", replicates=2000)
    rows = {row["model"]: row for row in board.to_dicts()}
    assert board["model"].to_list() == [*expected["ranked"], "gamma"]
    for model, score in expected["score_full"].items():
        assert rows[model]["estimate"] == pytest.approx(score, abs=1e-6)
    assert {model: [row["n"], row["asked"]] for model, row in rows.items()} == expected["coverage"]
    gamma = rows["gamma"]
    assert gamma["estimate"] == pytest.approx(expected["gamma_own_mean"], abs=1e-6)
    assert (gamma["complete"], gamma["rank"], gamma["rank_low"], gamma["group"]) == (False, None, None, None)
    assert gamma["reason"] == "scored 3 of 6 questions: not ranked beside complete models"


def test_all_models_on_their_common_questions(shared):
    scores, expected = case_45(shared)
    board = ranking.common_leaderboard(scores, judge="judge-a", variant="multimodal", replicates=2000)
    common = expected["common"]
    rows = {row["model"]: row for row in board.to_dicts()}
    for model in ("alpha", "beta", "gamma"):
        assert rows[model]["estimate"] == pytest.approx(common[model], abs=1e-6)
        assert rows[model]["n"] == len(common["questions"])
        assert rows[model]["coverage"] == 0.5
    assert [rows[model]["rank"] for model in ("alpha", "beta", "gamma")] == [1, 2, 2]
    kept = concordance.common_questions(scores, variant="multimodal")
    assert sorted(kept["question_id"].unique()) == common["questions"]


def test_no_common_question_is_said():
    scores = frame_of([[0.5, np.nan], [np.nan, 0.5]])
    board = ranking.common_leaderboard(scores, **WHERE)
    assert board["estimate"].to_list() == [None, None]
    assert set(board["reason"]) == {"no question is scored for every model"}
    assert concordance.common_questions(scores, variant="multimodal").is_empty()


def test_an_incomplete_model_changes_nothing_for_the_others():
    whole = world()
    partial = np.column_stack([whole, np.where(np.arange(80) < 30, 0.95, np.nan)])
    columns = ["model", "rank", "estimate", "low", "high", "rank_low", "rank_high", "rank_low_marginal", "group"]
    alone = ranking.leaderboard(frame_of(whole), **WHERE, replicates=5000).select(columns)
    beside = ranking.leaderboard(frame_of(partial), **WHERE, replicates=5000).select(columns)
    assert beside.head(5).equals(alone)
    tests = ["model_a", "model_b", "p", "p_adjusted", "low_simultaneous", "verdict"]
    pairs = ranking.paired_differences(frame_of(whole), **WHERE, replicates=2000).select(tests)
    more = ranking.paired_differences(frame_of(partial), **WHERE, replicates=2000).select(tests)
    assert more.filter(pl.col("model_a") != "f", pl.col("model_b") != "f").equals(pairs)


def test_a_question_that_nobody_has_a_score_on_makes_nobody_incomplete():
    board = ranking.leaderboard(frame_of([[0.5, 0.4], [np.nan, np.nan], [0.6, 0.3]]), **WHERE, replicates=500)
    assert board["complete"].to_list() == [True, True]
    assert board["coverage"].to_list() == pytest.approx([2 / 3, 2 / 3])


def test_one_question_ranks_and_gives_no_set():
    board = ranking.leaderboard(frame_of([[0.5, 0.7]]), **WHERE)
    assert board["rank"].to_list() == [1, 2]
    assert board["rank_low"].to_list() == board["group"].to_list() == [None, None]
    assert set(board["reason"]) == {"one question: no interval"}


def test_one_model_is_first_for_sure():
    board = ranking.leaderboard(frame_of([[0.5], [0.7]]), **WHERE)
    assert board.select("rank", "rank_low", "rank_high", "group").row(0) == (1, 1, 1, "a")


def test_a_constant_difference_is_told_apart_and_a_copy_is_not():
    base = world(means=(0.5,))
    board = ranking.leaderboard(frame_of(np.hstack([base, base, base - 0.25])), **WHERE, replicates=500)
    assert board["rank"].to_list() == [1, 1, 3]
    assert board["group"].to_list() == ["a", "a", "b"]
    assert board["rank_high"].to_list() == [2, 2, 3]


def test_unknown_names_are_refused():
    with pytest.raises(UnknownName, match="unknown judge 'k'"):
        ranking.leaderboard(frame_of([[0.5]]), judge="k", variant="multimodal")
    with pytest.raises(UnknownName, match="unknown model 'z'"):
        ranking.compare_models(frame_of(world()), "a", "z", **WHERE, replicates=200)


# --- groups and rank sets


def test_a_model_between_two_groups_carries_both_letters():
    # a-c, a-d and b-d are told apart: groups {a, b}, {b, c}, {c, d}.
    apart = np.zeros((4, 4), dtype=bool)
    for one, other in ((0, 2), (0, 3), (1, 3)):
        apart[one, other] = apart[other, one] = True
    assert ranking.tied_groups(np.array([4.0, 3.0, 2.0, 1.0]), apart) == ["a", "ab", "bc", "c"]


@settings(max_examples=50, deadline=None)
@given(data=st.data(), k=st.integers(2, 6))
def test_models_share_a_letter_just_when_they_are_not_told_apart(data, k):
    pairs = list(zip(*np.triu_indices(k, 1), strict=True))
    apart = np.zeros((k, k), dtype=bool)
    for one, other in pairs:
        apart[one, other] = apart[other, one] = data.draw(st.booleans())
    values = np.arange(k, 0, -1.0)
    letters = ranking.tied_groups(values, apart)
    assert all(bool(set(letters[a]) & set(letters[b])) != apart[a, b] for a, b in pairs)
    order = np.array(data.draw(st.permutations(range(k))))
    shuffled = ranking.tied_groups(values[order], apart[np.ix_(order, order)])
    assert shuffled == [letters[place] for place in order]


def test_rank_sets_of_the_published_scores_are_those_of_csranks(oracle):
    known = oracle("csranks_gamut_published_assumed_cov")
    sets = ranking.rank_confidence_sets(np.array(known["data"]["score"]), np.array(known["data"]["Sigma"]))
    expected = known["expected"]
    assert sets["rank"].to_list() == expected["rank"]
    for kind, end in (("simultaneous", ""), ("marginal", "_marginal")):
        assert sets[f"rank_low{end}"].to_list() == expected[kind]["L"]
        assert sets[f"rank_high{end}"].to_list() == expected[kind]["U"]


def test_rank_sets_of_the_pisa_countries_are_those_of_csranks(oracle):
    known = oracle("csranks_pisa2018")
    scores, covariance = np.array(known["data"]["score"]), np.diag(np.square(known["data"]["se"]))
    expected = known["expected"]
    # Its marginal bounds come from 20,000 draws, whose 95 % quantile stands for a level within 0.95 +- 0.003 (two
    # standard errors): ours at the two ends must enclose them. The simultaneous ones, from 100,000, agree exactly.
    narrow, sets, wide = (
        ranking.rank_confidence_sets(scores, covariance, level=level, replicates=40_000)
        for level in (0.947, 0.95, 0.953)
    )
    assert sets["rank"].to_list() == expected["rank"]
    assert sets["rank_low"].to_list() == expected["simultaneous"]["L"]
    assert sets["rank_high"].to_list() == expected["simultaneous"]["U"]
    low, high = (np.array(expected["marginal"][end]) for end in "LU")
    assert ((wide["rank_low_marginal"] <= low) & (narrow["rank_low_marginal"] >= low)).all()
    assert ((wide["rank_high_marginal"] >= high) & (narrow["rank_high_marginal"] <= high)).all()
    board = sets.with_columns(model=pl.Series(known["data"]["jurisdiction"]))
    best = set(ranking.top_sets(board).filter(k=5)["models"][0])
    assert best == {name for name, held in zip(board["model"], expected["top5_set"], strict=True) if held}


def test_marginal_sets_lie_within_simultaneous_ones():
    sets = ranking.rank_confidence_sets(np.arange(8.0), np.eye(8), replicates=20_000)
    assert (sets["rank_low"] <= sets["rank_low_marginal"]).all()
    assert (sets["rank_high"] >= sets["rank_high_marginal"]).all()
    assert sets["rank"].is_between(sets["rank_low_marginal"], sets["rank_high_marginal"]).all()


def test_few_degrees_of_freedom_widen_the_sets():
    estimates, covariance = np.arange(6.0) * 2.2, np.eye(6)
    widths = [
        (sets["rank_high"] - sets["rank_low"]).sum()
        for sets in (ranking.rank_confidence_sets(estimates, covariance, degrees=df) for df in (None, 3))
    ]
    assert widths[0] < widths[1]


# --- probability of each rank


def test_two_tied_models_share_the_first_rank_by_halves(oracle):
    known = oracle("bootstrap_exact_enumeration_n3")
    values = np.array([[1.0, 0.75], [0.5, 0.5], [0.0, 0.25]])
    weights = np.array([np.bincount(drawn, minlength=3) for drawn in product(range(3), repeat=3)], dtype=np.float32)
    means = intervals.resample_means(values, weights)
    expected, tolerance = known["expected"], known["tolerance"]
    strict, tie = (means[:, 0] > means[:, 1] + 1e-9).mean(), (np.abs(means[:, 0] - means[:, 1]) < 1e-9).mean()
    assert strict == pytest.approx(expected["P_A_rank1_strict"], abs=tolerance)
    assert tie == pytest.approx(expected["P_tie"], abs=tolerance)
    assert ranking.rank_distribution(means)[0, 0] == pytest.approx(expected["P_A_rank1_half_ties"], abs=tolerance)


def test_no_complete_model_has_no_probabilities():
    assert ranking.rank_probabilities(frame_of([[0.5, np.nan], [np.nan, 0.5]]), **WHERE).is_empty()


def test_three_tied_models_share_three_ranks_by_thirds():
    shares = ranking.rank_distribution(np.array([[0.9, 0.2, 0.2, 0.2]]))
    assert shares == pytest.approx(np.array([[1, 0, 0, 0], *[[0, 1 / 3, 1 / 3, 1 / 3]] * 3]))


def test_rank_probabilities_add_up_over_ranks_and_over_models():
    table = ranking.rank_probabilities(frame_of(world()), **WHERE, replicates=800)
    for over in ("model", "rank"):
        sums = table.group_by(over).agg(pl.col("probability").sum())["probability"]
        assert sums.to_list() == pytest.approx([1.0] * 5)
    assert table["model"].unique(maintain_order=True).to_list() == ["a", "b", "c", "d", "e"]
    expected = table.group_by("model").agg(mean=(pl.col("rank") * pl.col("probability")).sum()).sort("model")
    shown = table.group_by("model").agg(pl.col("expected_rank").first()).sort("model")
    assert expected["mean"].to_list() == pytest.approx(shown["expected_rank"].to_list())


# --- paired differences


def test_the_paired_difference_of_the_benchmark_case(oracle):
    known = oracle("gamut_benchmark_mean_vs_pooled")
    scores = np.array([known["expected"][model]["question_scores"] for model in ("m1", "m2")]).T
    row = ranking.paired_differences(frame_of(scores), **WHERE).row(0, named=True)
    pair = known["expected"]["paired_difference"]
    assert row["estimate"] == pytest.approx(pair["mean"], abs=known["tolerance"])
    assert row["standard_error"] ** 2 == pytest.approx(pair["se2"], abs=known["tolerance"])


def test_p_is_exact_for_few_questions_and_that_of_scipy(oracle):
    from scipy import stats

    differences = np.array(oracle("darwin_fisher_paired_permutation")["data"]["differences"], dtype=float) / 100
    scores = np.column_stack([differences, np.zeros(15)])
    row = ranking.paired_differences(frame_of(scores), **WHERE, replicates=2**15).row(0, named=True)
    exact = stats.permutation_test(
        (differences, np.zeros(15)), lambda x, y, axis: (x - y).mean(axis=axis), permutation_type="samples",
        vectorized=True, n_resamples=np.inf,
    )  # fmt: skip
    assert row["p"] == pytest.approx(1726 / 2**15, abs=1e-12)
    assert row["p"] == pytest.approx(exact.pvalue, abs=1e-12)
    assert row["p_adjusted"] == row["p"]


def test_random_signs_come_close_to_the_exact_p(oracle):
    differences = np.array(oracle("darwin_fisher_paired_permutation")["data"]["differences"], dtype=float) / 100
    row = ranking.paired_differences(frame_of(np.column_stack([differences, np.zeros(15)])), **WHERE)
    assert row["p"][0] == pytest.approx(1726 / 2**15, abs=0.01)


def test_adjusted_p_lies_between_p_and_bonferroni():
    pairs = ranking.paired_differences(frame_of(world()), **WHERE, replicates=4000)
    assert pairs["family"].unique().to_list() == [10]
    assert (pairs["p_adjusted"] >= pairs["p"]).all()
    assert (pairs["p_adjusted"] <= (10 * pairs["p"]).clip(0, 1) + 1e-3).all()
    assert (pairs["low_simultaneous"] < pairs["low"]).all()


def test_verdicts_follow_the_adjusted_p():
    pairs = ranking.paired_differences(frame_of(world()), **WHERE, replicates=4000)
    assert set(pairs["verdict"]) == {"ahead", "not told apart"}
    assert ((pairs["p_adjusted"] <= 0.05) == (pairs["verdict"] == "ahead")).all()


def test_pairs_of_an_incomplete_model_use_the_common_questions():
    scores = world(n=60)
    scores[:25, 4] = np.nan
    pairs = ranking.paired_differences(frame_of(scores), **WHERE, replicates=1000)
    with_e = pairs.filter(model_b="e")
    assert with_e["n"].to_list() == [35] * 4
    assert with_e["family"].to_list() == [4] * 4
    gap = (scores[25:, 0] - scores[25:, 4]).mean()
    assert with_e.filter(model_a="a")["estimate"][0] == pytest.approx(gap)


def test_a_pair_without_a_common_question_has_no_test():
    scores = np.array([[0.1, np.nan], [0.2, np.nan], [np.nan, 0.3], [np.nan, 0.4]])
    row = ranking.paired_differences(frame_of(scores), **WHERE).row(0, named=True)
    assert (row["n"], row["estimate"], row["p"], row["p_adjusted"], row["verdict"]) == (0, None, None, None, None)
    assert row["reason"] == "no scored question"


def test_equal_models_have_a_p_of_one():
    base = world(means=(0.5,))
    row = ranking.paired_differences(frame_of(np.hstack([base, base])), **WHERE, replicates=300).row(0, named=True)
    assert (row["estimate"], row["p"], row["p_adjusted"], row["verdict"]) == (0.0, 1.0, 1.0, "not told apart")


def test_one_model_has_no_pairs():
    assert ranking.paired_differences(frame_of([[0.5], [0.6]]), **WHERE).is_empty()


def test_a_comparison_turned_round_changes_only_its_signs():
    scores = frame_of(world())
    forth = ranking.compare_models(scores, "a", "c", **WHERE, replicates=1000).row(0, named=True)
    back = ranking.compare_models(scores, "c", "a", **WHERE, replicates=1000).row(0, named=True)
    assert (forth["verdict"], back["verdict"]) == ("ahead", "behind")
    for one, other in (("estimate", "estimate"), ("low", "high"), ("low_simultaneous", "high_simultaneous")):
        assert forth[one] == -back[other]
    assert forth["p_adjusted"] == back["p_adjusted"]


# --- how many questions


def test_sample_size_of_miller(oracle):
    known = oracle("miller2024_sample_size")
    expected, between, tolerance = known["expected"], 1 / 9, known["tolerance"]
    assert ranking.questions_needed(0.03, between) == pytest.approx(expected["n"], abs=tolerance)
    for answers in (1, 10):
        needed = ranking.questions_needed(
            0.03, between, within_a=1 / 6, answers_a=answers, within_b=1 / 6, answers_b=answers
        )
        assert needed == pytest.approx(expected[f"n_sigma_1_6_K{answers}"], abs=tolerance)
    smallest = ranking.minimum_detectable_effect((between / 1813) ** 0.5)
    assert smallest == pytest.approx(expected["mde_n1813"], abs=tolerance)


def test_needed_questions_and_detectable_effect_are_inverse():
    pairs = ranking.paired_differences(frame_of(world()), **WHERE, replicates=300)
    table = ranking.detectable_differences(pairs)
    enough = table["questions_needed"] <= table["n"]
    assert (enough == (table["minimum_detectable_effect"] <= table["estimate"].abs())).all()


def test_equal_means_need_no_number_of_questions():
    base = world(means=(0.5,))
    pairs = ranking.paired_differences(frame_of(np.hstack([base, base])), **WHERE, replicates=300)
    row = ranking.detectable_differences(pairs).row(0, named=True)
    assert row["questions_needed"] is None
    assert row["reason"].startswith("equal means")
    # The same scores summed in another order differ in the last digit.
    nearly = ranking.detectable_differences(pairs.with_columns(estimate=pl.lit(1e-17))).row(0, named=True)
    assert (nearly["questions_needed"], nearly["reason"]) == (None, row["reason"])


# --- laws


def test_the_order_of_rows_plays_no_part(three_judges):
    shuffled = three_judges.sample(fraction=1, shuffle=True, seed=1)
    where = {"judge": "x", "variant": "multimodal"}
    for frames in zip(
        *(
            (
                ranking.leaderboard(scores, **where, replicates=2000),
                ranking.paired_differences(scores, **where, replicates=500),
                ranking.rank_probabilities(scores, **where, replicates=500),
            )
            for scores in (three_judges, shuffled)
        ),
        strict=True,
    ):
        assert frames[0].equals(frames[1])


def test_other_names_for_the_models_change_nothing_else(three_judges):
    names = dict(zip("abcdef", "ucbzka", strict=True))
    renamed = three_judges.with_columns(pl.col("model").replace_strict(names))
    where = {"judge": "x", "variant": "multimodal"}
    back = pl.col("^model.*$").replace_strict({new: old for old, new in names.items()})
    board, other = (ranking.leaderboard(scores, **where, replicates=2000) for scores in (three_judges, renamed))
    assert other.with_columns(back).equals(board)
    pairs, other = (ranking.paired_differences(scores, **where, replicates=500) for scores in (three_judges, renamed))
    assert other.with_columns(back).equals(pairs)


def test_a_copy_of_every_question_in_its_cluster_changes_no_interval_and_no_p(three_judges):
    doubled, table = with_copies(three_judges)
    where = {"judge": "x", "variant": "multimodal"}
    kept = ["estimate", "low", "high", "standard_error", "rank_low", "rank_high", "rank_high_marginal"]
    one = ranking.leaderboard(three_judges, **where, replicates=5000)
    other = ranking.leaderboard(doubled, **where, questions=table, replicates=5000)
    assert np.allclose(one.select(kept).to_numpy(), other.select(kept).to_numpy(), atol=1e-9)
    kept = ["estimate", "low", "high", "low_simultaneous", "high_simultaneous", "clusters", "p", "p_adjusted"]
    one = ranking.paired_differences(three_judges, **where, replicates=500)
    other = ranking.paired_differences(doubled, **where, questions=table, replicates=500)
    assert np.allclose(one.select(kept).to_numpy(), other.select(kept).to_numpy(), atol=1e-6)


def test_questions_in_clusters_have_wider_intervals_when_they_move_together():
    rng = np.random.default_rng(4)
    shared_part = np.repeat(rng.normal(0, 0.3, size=(30, 3)), 4, axis=0)
    scores = frame_of(np.array([0.5, 0.4, 0.3]) + shared_part + rng.normal(0, 0.1, size=(120, 3)))
    ids = scores["question_id"].unique().sort()
    table = pl.DataFrame({"question_id": ids, "cluster": np.repeat(np.arange(30), 4).astype(str)})
    plain = ranking.leaderboard(scores, **WHERE, replicates=1000)
    clustered = ranking.leaderboard(scores, **WHERE, questions=table, replicates=1000)
    assert (clustered["standard_error"] > 1.5 * plain["standard_error"]).all()


def test_every_order_of_four_models_gives_the_same_leaderboard():
    scores = world(n=40, means=(0.5, 0.45, 0.3, 0.1))
    boards = [
        ranking.leaderboard(
            frame_of(scores[:, order], models=np.array(list("wxyz"))[list(order)]), **WHERE, replicates=800
        )
        for order in permutations(range(4))
    ]
    assert all(board.equals(boards[0]) for board in boards)


# --- coverage, small: four standard errors about what the full studies measure


def test_rank_sets_hold_the_ranks_of_equal_models():
    assert coverage.rank_sets("simultaneous", np.zeros(6), questions=60, worlds=200)["measured"] > 0.88
    assert coverage.rank_sets("marginal", np.zeros(6), questions=60, worlds=200)["measured"] > 0.90


def test_max_t_keeps_its_level_over_a_family():
    assert coverage.family_error(np.zeros(6), questions=60, worlds=200)["measured"] < 0.115


def test_simultaneous_intervals_hold_all_differences():
    assert coverage.simultaneous_differences(questions=60, worlds=100)["measured"] > 0.85
