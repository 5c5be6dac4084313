"""Judges that rank models, against hand-worked cases, oracles and SciPy."""

import json
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranked import WHERE, frame_of, three_judges, with_copies, world

from gamut_analysis import concordance, intervals, orders
from tests.coverage import ranking as coverage

TIED_SERIES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=9)


@pytest.fixture(name="three_judges")
def scores_of_three_judges():
    return three_judges()


# --- two rankings


def test_equal_scores_share_a_rank_whatever_the_order_of_rows(shared):
    folder = shared / "cases" / "39-ties-in-ranks"
    expected = json.loads((folder / "expected.json").read_text())["expect"]
    table = pl.read_csv(folder / "scores.csv")
    for judge in ("a", "b"):
        ranks = orders.competition_ranks(table[f"judge_{judge}"].to_numpy())
        assert dict(zip(table["model"], ranks.tolist(), strict=True)) == expected[f"rank_{judge}"]
    for order in ([0, 1, 2, 3, 4], [4, 2, 0, 1, 3]):
        rows = table[order]
        found = concordance.rank_correlations(rows["judge_a"].to_numpy(), rows["judge_b"].to_numpy())
        tau, rho = found.row(0, named=True), found.row(1, named=True)
        assert tau["estimate"] == pytest.approx(expected["tau_b"], abs=1e-6)
        assert tau["p"] == pytest.approx(expected["tau_b_p"], abs=1e-6)
        assert tau["note"] == "ties present"
        assert rho["estimate"] == pytest.approx(expected["spearman"], abs=1e-6)
    constant = concordance.rank_correlations(np.array([0.5, 0.5, 0.5]), np.array([0.1, 0.2, 0.3]))
    assert constant["estimate"].to_list() == [None] * 4
    assert set(constant["reason"]) == {"all scores on one side are equal"}
    two = concordance.rank_correlations(np.array([0.5, 0.6]), np.array([0.1, 0.2])).row(0, named=True)
    assert (two["estimate"], two["n"], two["p"], two["reason"]) == (1.0, 2, None, "two models: no p")


def test_pairs_and_correlations_with_ties(oracle):
    known = oracle("kendall_tau_b_ties")
    names = {
        "C": "concordant",
        "D": "discordant",
        "ties_x_only": "tied_x",
        "ties_y_only": "tied_y",
        "ties_both": "tied_both",
    }
    statistics = {"tau_b": "kendall_tau_b", "spearman": "spearman", "weighted_tau_rankTrue": "weighted_tau"}
    for case, series in known["data"]["cases"].items():
        expected, x, y = known["expected"][case], np.array(series["x"]), np.array(series["y"])
        counts = concordance.pair_counts(x, y)
        assert {name: counts[ours] for name, ours in names.items()} == {name: expected[name] for name in names}
        found = dict(concordance.rank_correlations(x, y).select("statistic", "estimate").iter_rows())
        for name in statistics.keys() & expected.keys():
            assert found[statistics[name]] == pytest.approx(expected[name], abs=known["tolerance"])


def test_swaps_in_the_published_ranking(oracle):
    known = oracle("gamut_published_ranking_tau")
    for case, scores in known["data"]["alternatives"].items():
        expected = known["expected"][case]
        found = dict(
            concordance.rank_correlations(known["data"]["scores"], scores).select("statistic", "estimate").rows()
        )
        assert found["kendall_tau_b"] == pytest.approx(expected["tau"], abs=known["tolerance"])
        assert found["spearman"] == pytest.approx(expected["spearman"], abs=known["tolerance"])
        discordant = concordance.pair_counts(known["data"]["scores"], scores)["discordant"]
        assert discordant == expected["discordant_pairs"]


def test_a_tie_is_an_answer_of_its_own(oracle):
    known = oracle("pairwise_accuracy_with_ties")
    expected, (h, m) = known["expected"], (np.array(known["data"][side]) for side in "hm")
    counts = concordance.pair_counts(h, m)
    names = {"C": "concordant", "D": "discordant", "T_h": "tied_x", "T_m": "tied_y", "T_hm": "tied_both"}
    assert {name: counts[ours] for name, ours in names.items()} == {name: expected[name] for name in names}
    assert concordance.pair_accuracy(h, m) == pytest.approx(expected["acc_eq"], abs=known["tolerance"])
    assert concordance.rank_correlations(h, m)["estimate"][0] == pytest.approx(
        expected["tau_b"], abs=known["tolerance"]
    )


def test_rank_biased_overlap_of_lists(oracle):
    known = oracle("rbo_examples")
    for case, lists in known["data"]["cases"].items():
        found = concordance.rank_biased_overlap(lists["S"], lists["T"], p=lists["p"])
        assert found == pytest.approx(known["expected"][case], abs=known["tolerance"])


def test_overlap_of_scores_without_ties_is_that_of_their_lists():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=14), rng.normal(size=14)
    lists = [np.argsort(-scores).tolist() for scores in (x, y)]
    found = concordance.rank_correlations(x, y)["estimate"][3]
    assert found == pytest.approx(concordance.rank_biased_overlap(*lists)["ext"], abs=1e-9)


def test_overlap_with_ties_by_hand():
    # Lists (a b) c and a b c, p = 0.9. Depth 1: a and b are each inside with chance 1/2; overlap 1/2 over
    # sqrt(1/4 + 1/4) * sqrt(1) = 0.70711. Depths 2 and 3: equal sets, 1. RBO = 0.1 (0.70711 + 0.9 + 0.81) + 0.9^3.
    found = concordance.rank_correlations(np.array([2.0, 2.0, 1.0]), np.array([3.0, 2.0, 1.0]))["estimate"][3]
    assert found == pytest.approx(0.1 * (0.5**0.5 + 0.9 + 0.81) + 0.729, abs=1e-12)


def test_overlap_with_many_ties_is_that_of_its_authors():
    # a (b c d) e (f g) against (a c) b e (d f) g: the implementation of Corsi & Urbano 2024, variant b, gives this.
    one, other = [7, 4, 4, 4, 3, 1, 1], [7, 5, 7, 2, 4, 2, 1]
    found = concordance.rank_correlations(np.array(one, float), np.array(other, float))["estimate"][3]
    assert found == pytest.approx(0.9205248802718922, abs=1e-12)


def test_a_persistence_outside_its_range_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        concordance.rank_biased_overlap([1], [1], p=1.0)


def test_concordance_of_three_raters_of_anxiety(oracle):
    known = oracle("kendall_w_anxiety")
    found, expected = concordance.kendall_w(np.array(known["data"]["raters"]).T), known["expected"]
    assert found["estimate"] == pytest.approx(expected["W_ties"], abs=known["tolerance"])
    assert found["chi2"] == pytest.approx(expected["chisq"], abs=known["tolerance"])
    assert found["p"] == pytest.approx(expected["p"], abs=known["tolerance"])


def test_concordance_of_raters_who_tie_all_is_undefined():
    assert concordance.kendall_w(np.ones((4, 3)))["estimate"] is None


@settings(max_examples=150, deadline=None)
@given(pairs=TIED_SERIES)
def test_vectorised_correlations_equal_scipy(pairs):
    x, y = np.array(pairs, dtype=float).T / 4
    expected = concordance.rank_correlations(x, y)["estimate"].to_list()
    one, other = (orders.pair_signs(side[:, None]) for side in (x, y))
    found = [float(values[0]) for values in concordance._order_statistics(one, other, len(x))]
    if expected[0] is None:
        assert np.isnan(found[:3]).all()
    else:
        assert found == pytest.approx(expected, abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(pairs=TIED_SERIES, seed=st.integers(0, 99))
def test_correlations_do_not_depend_on_the_order_of_models(pairs, seed):
    x, y = np.array(pairs, dtype=float).T
    order = np.random.default_rng(seed).permutation(len(x))
    one, other = (concordance.rank_correlations(*sides) for sides in ((x, y), (x[order], y[order])))
    for left, right in zip(one["estimate"], other["estimate"], strict=True):
        assert left == pytest.approx(right, abs=1e-12)


# --- two judges


def test_soft_pairwise_accuracy_is_exact_on_five_questions(oracle):
    known = oracle("soft_pairwise_accuracy_exact")
    h, m = (np.array([[float(Fraction(s)) for s in row] for row in known["data"][side]]).T for side in "HM")
    signs, expected, tolerance = intervals.every_sign_flip(5), known["expected"], known["tolerance"]
    for side, name in ((h, "p_h"), (m, "p_m")):
        p = concordance._one_sided_p(side, signs, None)[:, 0]
        assert p == pytest.approx([expected[name][pair] for pair in ("01", "02", "12")], abs=tolerance)
    assert concordance.soft_pairwise_accuracy(h, m) == pytest.approx(expected["spa"], abs=tolerance)


def test_swapping_models_questions_or_both(oracle):
    known = oracle("perm_both_exact_4x3")
    x, y, z = (np.array(known["data"][side]).T for side in "XYZ")
    found, expected = concordance.perm_both(x, y, z), known["expected"]
    assert found["estimate"] == pytest.approx(expected["observed"], abs=known["tolerance"])
    p = {"systems": found["p_models"], "inputs": found["p_questions"], "both": found["p"]}
    assert p == pytest.approx(expected["p_two_sided"], abs=known["tolerance"])


def test_random_swaps_come_close_to_the_exact_p(oracle):
    known = oracle("perm_both_exact_4x3")
    x, y, z = (np.array(known["data"][side]).T for side in "XYZ")
    # 126 patterns are fewer than all 127, so they are drawn at random.
    draws = [concordance.perm_both(x, y, z, seed=seed, replicates=126)["p"] for seed in range(12)]
    assert np.mean(draws) == pytest.approx(0.125, abs=0.03)


def test_an_unknown_coefficient_is_refused():
    with pytest.raises(ValueError, match="must be one of pearson"):
        concordance.perm_both(*[np.zeros((2, 2))] * 3, coefficient="tau")


def test_judges_are_compared_by_eight_statistics(three_judges):
    table = concordance.judge_rankings(three_judges, variant="multimodal", replicates=400)
    assert table.height == 3 * 8
    assert table["statistic"].unique(maintain_order=True).to_list() == list(concordance.JUDGE_STATISTICS)
    assert (table["low"] <= table["estimate"]).all()
    assert (table["high"] >= table["estimate"]).all()
    assert table.select(pl.col("n", "models").unique()).rows() == [(120, 6)]
    x, y = (three_judges.filter(judge=judge).group_by("model").agg(pl.col("score").mean()) for judge in "xy")
    both = x.join(y, on="model").sort("model")
    gap = (both["score"] - both["score_right"]).abs().max()
    assert table.filter(judge_a="x", judge_b="y", statistic="max_abs_gap")["estimate"][0] == pytest.approx(gap)


def test_a_judge_agrees_with_a_copy_of_itself(three_judges):
    copy = three_judges.filter(judge="x").with_columns(judge=pl.lit("x2"))
    table = concordance.judge_rankings(
        pl.concat([three_judges, copy]), variant="multimodal", judges=["x", "x2"], replicates=300
    )
    by_name = {row["statistic"]: row for row in table.to_dicts()}
    for name in ("kendall_tau_b", "spearman", "weighted_tau", "rbo", "pair_accuracy"):
        assert by_name[name]["estimate"] == pytest.approx(1.0, abs=1e-9)
    assert by_name["discordant_pairs"]["estimate"] == by_name["max_abs_gap"]["estimate"] == 0
    assert set(table["warning"]) == {"full agreement is not excluded: the interval is one-sided"}


def test_full_agreement_is_excluded_only_by_a_pair_shown_to_be_discordant():
    # Models a and b swap places under y. With a spread of 0.02 over 50 questions both orders are beyond doubt, with 2.0
    # neither is.
    rng = np.random.default_rng(0)
    for spread, excluded in ((0.02, True), (2.0, False)):
        noise = rng.normal(0, spread, size=(50, 3))
        judges = {"x": np.array([0.6, 0.5, 0.1]), "y": np.array([0.5, 0.6, 0.1])}
        scores = pl.concat([frame_of(means + noise - noise.mean(axis=0), judge=name) for name, means in judges.items()])
        tau = concordance.judge_rankings(scores, variant="multimodal", replicates=500).row(0, named=True)
        assert tau["estimate"] == pytest.approx(1 / 3)
        assert (tau["high"] < 1) == excluded


def test_judges_are_compared_on_what_both_have_scored(three_judges):
    # Judge y lacks ten questions of all models, and model f altogether on half of the others.
    ids = sorted(three_judges["question_id"].unique())
    gone = (pl.col("judge") == "y") & pl.col("question_id").is_in(ids[:10])
    partial = (pl.col("judge") == "y") & (pl.col("model") == "f") & pl.col("question_id").is_in(ids[10:60])
    table = concordance.judge_rankings(
        three_judges.filter(~(gone | partial)), variant="multimodal", judges=["x", "y"], replicates=200
    )
    assert table.select(pl.col("n", "models").unique()).rows() == [(110, 5)]


def test_judges_without_two_complete_models_are_not_compared():
    scores = pl.concat([frame_of([[0.1, np.nan], [np.nan, 0.2]], judge=judge) for judge in ("x", "y")])
    table = concordance.judge_rankings(scores, variant="multimodal")
    assert table["estimate"].to_list() == [None] * 8
    assert table["reason"][0].startswith("fewer than two models are complete")


def test_one_judge_has_nothing_to_be_compared_with():
    table = concordance.judge_rankings(frame_of(world()), variant="multimodal")
    assert table.is_empty()
    assert table.columns[:4] == ["judge_a", "judge_b", "statistic", "estimate"]


def test_judges_are_compared_on_one_question_without_an_interval():
    scores = pl.concat([frame_of([[0.1, 0.4]], judge="x"), frame_of([[0.2, 0.3]], judge="y")])
    rows = {row["statistic"]: row for row in concordance.judge_rankings(scores, variant="multimodal").to_dicts()}
    assert rows["kendall_tau_b"]["estimate"] == pytest.approx(1.0)
    assert rows["pair_accuracy"]["estimate"] is None
    assert {(row["low"], row["reason"]) for row in rows.values()} == {(None, "one question: no interval")}


def test_a_judge_without_spread_leaves_its_tau_undefined():
    base = np.tile([[0.2, 0.5]], (40, 1)) + np.random.default_rng(0).normal(size=(40, 1)) * 0.1
    scores = pl.concat([frame_of(base, judge="x"), frame_of(base[:, [0, 0]], judge="y")])
    row = concordance.judge_rankings(scores, variant="multimodal", replicates=200).row(0, named=True)
    assert (row["estimate"], row["low"], row["reason"]) == (None, None, "all means of one judge are equal")


def test_the_noise_ceiling_of_more_questions_is_higher():
    taus = []
    for n in (20, 400):
        table = concordance.noise_ceiling(frame_of(world(n=n)), **WHERE, replicates=600)
        assert table["sample"].unique(maintain_order=True).to_list() == ["independent", "halves"]
        taus.append(table.filter(statistic="kendall_tau_b")["estimate"].to_list())
    assert taus[0][0] < taus[1][0] <= 1
    assert taus[0][1] < taus[1][1] <= 1


def test_two_judges_against_a_reference(three_judges):
    row = concordance.correlation_difference(
        three_judges, judge_a="x", judge_b="y", reference="z", variant="multimodal", replicates=400
    ).row(0, named=True)
    assert row["estimate"] == pytest.approx(row["correlation_a"] - row["correlation_b"])
    assert row["low"] <= row["estimate"] <= row["high"]
    assert (row["n"], row["models"]) == (120, 6)
    assert 0 < row["p"] <= 1


def gaps_of(one, other, **options):
    scores = pl.concat([frame_of(one, judge="x"), frame_of(other, judge="y")])
    found = concordance.gap_extremes(scores, variant="multimodal", judge="x", reference="y", replicates=500, **options)
    assert found["statistic"].to_list() == list(concordance.GAP_STATISTICS)
    return found


def test_extremes_of_gaps_that_never_vary_are_known_exactly():
    # Judge x scores a 0.1 below y, b 0.3 above, and c as y does, on every question.
    base = world(n=30, means=(0.5, 0.4, 0.3))
    found = gaps_of(base + np.array([-0.1, 0.3, 0.0]), base)
    assert found.select("n", "models").unique().rows() == [(30, 3)]
    for column in ("estimate", "low", "high"):
        assert found[column].to_list() == pytest.approx([-0.1, 0.3, 0.3], abs=1e-6)
    of_a = gaps_of(base + np.array([-0.1, 0.3, 0.0]), base, models=["a", "nobody"])
    assert of_a["estimate"].to_list() == pytest.approx([-0.1, -0.1, 0.1])


def test_one_gap_has_the_normal_interval_of_its_mean():
    rng = np.random.default_rng(5)
    gaps, base = rng.normal(0.05, 0.2, size=(400, 2)), world(n=400, means=(0.5, 0.4))
    found = gaps_of(base + gaps, base, models=["a"]).row(by_predicate=pl.col("statistic") == "largest", named=True)
    half = 1.96 * gaps[:, 0].std(ddof=1) / 20
    assert found["estimate"] == pytest.approx(gaps[:, 0].mean())
    # 500 resamples give the half width to about 6 %.
    assert found["high"] - found["estimate"] == pytest.approx(half, rel=0.2)
    assert found["estimate"] - found["low"] == pytest.approx(half, rel=0.2)


def test_judges_that_change_places_turn_their_gaps_round(three_judges):
    one, other = (
        concordance.gap_extremes(three_judges, variant="multimodal", judge=a, reference=b, replicates=300)
        for a, b in (("x", "y"), ("y", "x"))
    )
    turned = {"smallest": "largest", "largest": "smallest"}
    for row in one.filter(pl.col("statistic") != "max_abs_gap").to_dicts():
        back = other.row(by_predicate=pl.col("statistic") == turned[row["statistic"]], named=True)
        ends = [-back["estimate"], -back["high"], -back["low"]]
        assert [row["estimate"], row["low"], row["high"]] == pytest.approx(ends, abs=1e-6)
    table = concordance.judge_rankings(three_judges, variant="multimodal", judges=["x", "y"], replicates=300)
    known = table.filter(statistic="max_abs_gap").select("estimate", "low", "high").row(0)
    assert one.filter(statistic="max_abs_gap").select("estimate", "low", "high").row(0) == pytest.approx(known)


def test_gaps_without_a_model_or_a_common_question_are_undefined():
    base = world(n=5, means=(0.5, 0.4))
    assert set(gaps_of(base, base, models=["nobody"])["reason"]) == {"none of these models is complete under both"}
    half = np.array([[0.1, np.nan], [np.nan, 0.2]])
    apart = gaps_of(half, half)
    assert apart["estimate"].null_count() == 3
    assert apart["reason"][0].startswith("fewer than two models")
    never = gaps_of(np.vstack([base, np.full((5, 2), np.nan)]), np.vstack([np.full((5, 2), np.nan), base]))
    assert never["estimate"].null_count() == 3
    assert set(never["reason"]) == {"no question is scored by every judge"}


# --- pairs of models that lie close


def test_the_order_of_close_pairs_by_hand():
    # Means by j: a 0.60, b 0.58, c 0.30; by k: b before a, c last. Only a and b lie within 5 points.
    j = [[0.7, 0.6, 0.4], [0.5, 0.6, 0.2], [0.6, 0.54, 0.3]]
    k = [[0.5, 0.6, 0.1], [0.5, 0.6, 0.1], [0.5, 0.6, 0.1]]
    scores = pl.concat([frame_of(j, judge="j"), frame_of(k, judge="k")])
    rows = concordance.close_pair_agreement(scores, variant="multimodal", judge="j", margins=(0.01, 0.05, 2.0))
    assert rows.select("judge", "margin", "same", "pairs", "estimate", "n").rows() == [
        ("k", 0.01, 0, 0, None, 3),
        ("k", 0.05, 0, 1, 0.0, 3),
        ("k", 2.0, 2, 3, pytest.approx(2 / 3), 3),
    ]
    assert rows["reason"].to_list() == ["no two models lie so close", None, None]
    # a - b: 0.1, -0.1, 0.06, with the mean 0.02 and the standard error s / sqrt 3.
    gap = np.array([0.1, -0.1, 0.06])
    ahead = NormalDist().cdf(0.02 / (gap.std(ddof=1) / 3**0.5))
    assert rows["ceiling"][1] == pytest.approx(ahead**2 + (1 - ahead) ** 2)


def test_close_pairs_need_a_second_judge_and_complete_models():
    alone = concordance.close_pair_agreement(frame_of([[0.1, 0.2]]), variant="multimodal", judge="j")
    assert alone.is_empty()
    half = pl.concat([frame_of([[0.1, 0.2]]), frame_of([[0.1, None]], judge="k")])
    rows = concordance.close_pair_agreement(half, variant="multimodal", judge="j")
    assert rows["estimate"].null_count() == rows.height == len(concordance.MARGINS)
    assert all("fewer than two models" in reason for reason in rows["reason"])


# --- laws


def test_the_order_of_rows_plays_no_part(three_judges):
    shuffled = three_judges.sample(fraction=1, shuffle=True, seed=1)
    one, other = (
        (
            concordance.judge_rankings(scores, variant="multimodal", replicates=200),
            concordance.noise_ceiling(scores, judge="x", variant="multimodal", replicates=200),
        )
        for scores in (three_judges, shuffled)
    )
    assert all(frame.equals(same) for frame, same in zip(one, other, strict=True))


def test_other_names_for_the_models_change_nothing_else(three_judges):
    names = dict(zip("abcdef", "ucbzka", strict=True))
    renamed = three_judges.with_columns(pl.col("model").replace_strict(names))
    taus, other = (
        concordance.judge_rankings(scores, variant="multimodal", replicates=300)
        .select("estimate", "low", "high")
        .to_numpy()
        for scores in (three_judges, renamed)
    )
    assert np.allclose(taus, other, atol=1e-6)
    tests = [
        concordance.correlation_difference(
            scores, judge_a="x", judge_b="y", reference="z", variant="multimodal", replicates=300
        )["p"][0]
        for scores in (three_judges, renamed)
    ]
    assert tests[0] == tests[1]


def test_a_copy_of_every_question_in_its_cluster_changes_no_interval_and_no_p(three_judges):
    doubled, table = with_copies(three_judges)
    kept = ["estimate", "low", "high"]
    one = concordance.judge_rankings(three_judges, variant="multimodal", replicates=300)
    other = concordance.judge_rankings(doubled, variant="multimodal", questions=table, replicates=300)
    assert np.allclose(one.select(kept).to_numpy(), other.select(kept).to_numpy(), atol=1e-5)
    one, other = (
        concordance.correlation_difference(
            scores, judge_a="x", judge_b="y", reference="z", variant="multimodal", questions=questions, replicates=300
        )
        for scores, questions in ((three_judges, None), (doubled, table))
    )
    assert np.allclose(
        one.select("low", "high", "p").to_numpy(), other.select("low", "high", "p").to_numpy(), atol=1e-6
    )


# --- coverage, small: four standard errors about what the full studies measure


def test_swaps_keep_their_level():
    measured = coverage.perm_both_level("p", "kendall_tau_b", 0.0, questions=40, worlds=100)["measured"]
    assert measured < 0.14


def test_tau_intervals_hold_the_true_tau():
    table = coverage.judge_statistics(0.05, questions=100, worlds=25).filter(statistic="kendall_tau_b")
    assert table["covered"][0] > 0.75
