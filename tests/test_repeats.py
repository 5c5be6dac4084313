"""The same answers graded again, worked by hand, against textbooks, and by laws."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gamut_analysis.repeats import STATISTICS, against_others, changed_verdicts, score_repeats

MEETS, PARTLY, MISSING, WRONG = "meets", "partially_meets", "missing", "contradicts"
# Shrout & Fleiss 1979, Psychological Bulletin 86:420, table 2: six targets, four ratings each; ICC(1,1) is 0.17.
SHROUT_FLEISS = [(9, 2, 5, 8), (6, 1, 3, 2), (8, 4, 6, 8), (7, 1, 2, 6), (10, 5, 6, 9), (6, 2, 4, 7)]


def graded(**checks):
    """Verdicts from ``judge__question__check=[first grading, second, ...]``; None is ungraded."""
    rows = [
        (*name.split("__"), replicate, verdict)
        for name, given in checks.items()
        for replicate, verdict in enumerate(given)
    ]
    return pl.DataFrame(rows, schema=["judge", "question_id", "check_id", "replicate", "verdict"], orient="row")


def scored(*questions, model="m"):
    """Scores of one model: a question for each tuple of its gradings."""
    rows = [(model, f"q{q}", score) for q, given in enumerate(questions) for score in given]
    schema = {"model": pl.String, "question_id": pl.String, "score": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def estimates(frame):
    return dict(frame.select("statistic", "estimate").iter_rows())


def one(frame, **where):
    return frame.filter(**where).row(0, named=True)


# --- verdicts ---------------------------------------------------------------------------------------------------------


def test_a_check_changes_when_its_verdicts_are_not_all_the_same():
    verdicts = graded(
        a__q1__c1=[MEETS, MEETS, MISSING],  # changes
        a__q1__c2=[MEETS, MEETS, MEETS],
        a__q2__c1=[PARTLY, None, PARTLY],  # an ungraded check is no other verdict
        a__q2__c2=[WRONG, None, None],  # graded once
        a__q3__c1=[MISSING, WRONG, MISSING],  # changes
    )
    row = one(changed_verdicts(verdicts))
    assert (row["estimate"], row["changed"], row["n"], row["clusters"]) == (0.5, 2, 4, 3)


def test_changes_are_counted_in_each_group():
    verdicts = graded(a__q1__c1=[MEETS, MISSING], a__q1__c2=[MEETS, MEETS], a__q2__c1=[MEETS, MEETS])
    tiers = verdicts.with_columns(tier=pl.when(pl.col("check_id") == "c1").then(pl.lit("x")).otherwise(pl.lit("y")))
    rows = changed_verdicts(tiers, by=["tier"]).select("tier", "changed", "n").rows()
    assert rows == [("x", 1, 2), ("y", 0, 1)]


def test_judges_can_be_what_tells_the_gradings_apart():
    verdicts = graded(a__q1__c1=[MEETS, MISSING], b__q1__c1=[MEETS, MEETS], a__q2__c1=[MEETS])
    # Grading by grading: alike in the first, not in the second; the last check has one judge.
    row = one(changed_verdicts(verdicts, again="judge"))
    assert (row["changed"], row["n"]) == (1, 2)


def test_a_share_of_nothing_has_an_interval_from_its_clusters_alone():
    verdicts = graded(**{f"a__q{q}__c1": [MEETS, MEETS] for q in range(10)})
    row = one(changed_verdicts(verdicts))
    # Wilson's upper end at 0 of n is z^2 / (n + z^2), with n = 10 (z / t)^2: t^2 / (10 + t^2), t(9) = 2.262157.
    assert row["low"] == 0
    assert row["high"] == pytest.approx(2.262157**2 / (10 + 2.262157**2), abs=1e-6)


def test_one_check_a_question_is_a_simple_random_sample():
    given = {f"a__q{q}__c1": [MEETS, MISSING if q < 12 else MEETS] for q in range(40)}
    row = one(changed_verdicts(graded(**given)))
    # p = 0.3: the clustered variance is p (1 - p) / 39, so the effective number of trials is 39.
    assert row["standard_error"] == pytest.approx(np.sqrt(0.3 * 0.7 / 39))
    trials = 39 * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 39)) ** 2
    z = stats.norm.ppf(0.975)
    centre = (0.3 + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z * np.sqrt(0.21 / trials + z**2 / (4 * trials**2)) / (1 + z**2 / trials)
    assert (row["low"], row["high"]) == pytest.approx((centre - half, centre + half))


def test_questions_of_a_cluster_count_once():
    verdicts = graded(a__q1__c1=[MEETS, MISSING], a__q2__c1=[MEETS, MISSING])
    clusters = pl.DataFrame({"question_id": ["q1", "q2"], "cluster": ["fern", "fern"]})
    row = one(changed_verdicts(verdicts, questions=clusters))
    assert (row["clusters"], row["low"], row["reason"]) == (1, None, "one cluster: no interval")


def test_nothing_graded_twice_gives_no_row():
    verdicts = graded(a__q1__c1=[MEETS])
    assert changed_verdicts(verdicts).is_empty()
    assert changed_verdicts(verdicts.with_columns(tier=pl.lit("x")), by=["tier"]).is_empty()
    assert against_others(verdicts, judge="a").is_empty()


def test_a_judge_is_held_against_itself_and_others_on_the_same_checks():
    verdicts = graded(
        a__q1__c1=[MEETS, MEETS, MISSING],  # itself 2 / (3 * 2) = 1/3, with b 2 / 3
        b__q1__c1=[MEETS],
        a__q2__c1=[PARTLY, PARTLY, PARTLY],  # itself 1, with b 3 / (3 * 2) = 1/2
        b__q2__c1=[MISSING, PARTLY],
        a__q3__c1=[MEETS],  # graded once
        b__q3__c1=[MEETS],
        a__q4__c1=[MEETS, MISSING],  # not graded by b
    )
    rows = against_others(verdicts, judge="a")
    assert rows["judge"].unique().to_list() == ["b"]
    assert estimates(rows) == pytest.approx({"itself": 2 / 3, "other": 7 / 12, "difference": 1 / 12})
    assert set(rows["n"]) == {2}


def test_each_other_judge_has_its_own_checks():
    verdicts = graded(
        a__q1__c1=[MEETS, MEETS], a__q2__c1=[MEETS, WRONG], b__q1__c1=[MEETS], c__q2__c1=[WRONG], c__q1__c1=[WRONG]
    )
    rows = against_others(verdicts, judge="a").filter(statistic="difference")
    assert rows.select("judge", "estimate", "n").rows() == [("b", 0.0, 1), ("c", 0.25, 2)]


# --- scores -----------------------------------------------------------------------------------------------------------


def test_scores_that_move_worked_by_hand():
    rows = score_repeats(scored((0.1, 0.3), (0.6, 0.6), (0.2, 0.5, 0.8), (0.9,)))
    # s^2: 0.02, 0, 0.09, mean 0.11 / 3; changes: 0.2, 0, (0.3 + 0.3 + 0.6) / 3 = 0.4.
    # Means 0.2, 0.6, 0.5 vary by 0.13 / 3, of which (0.01 + 0 + 0.03) / 3 is grading: 0.03 is between questions.
    sd = np.sqrt(0.11 / 3)
    wanted = {"sd": sd, "change": 0.2, "error": sd / np.sqrt(3), "share": (0.11 / 3) / (0.11 / 3 + 0.03)}
    assert estimates(rows) == pytest.approx(wanted)
    assert set(rows["n"]) == {3}


def test_the_share_is_one_minus_the_intraclass_correlation_of_a_textbook():
    share = estimates(score_repeats(scored(*SHROUT_FLEISS)))["share"]
    assert 1 - share == pytest.approx(0.17, abs=0.005)
    f = stats.f_oneway(*SHROUT_FLEISS).statistic
    assert 1 - share == pytest.approx((f - 1) / (f + 4 - 1))


def test_the_interval_of_the_variance_is_that_of_a_mean():
    rows = score_repeats(scored((0.0, 0.2), (0.1, 0.5), (0.3, 0.3), (0.7, 0.1)))
    variances = np.array([0.02, 0.08, 0.0, 0.18])
    low, high = stats.t.interval(0.95, 3, variances.mean(), stats.sem(variances))
    row = one(rows, statistic="sd")
    assert (row["low"], row["high"]) == pytest.approx((np.sqrt(max(low, 0)), np.sqrt(high)))


def test_the_interval_of_the_share_is_a_jackknife():
    questions = [(0.0, 0.2), (0.9, 0.8), (0.3, 0.4), (0.6, 0.7), (0.1, 0.1)]
    whole = estimates(score_repeats(scored(*questions)))["share"]
    out = [estimates(score_repeats(scored(*questions[:q], *questions[q + 1 :])))["share"] for q in range(5)]
    error = np.sqrt(4 / 5 * ((np.array(out) - np.mean(out)) ** 2).sum())
    row = one(score_repeats(scored(*questions)), statistic="share")
    assert row["standard_error"] == pytest.approx(error)
    assert row["high"] == pytest.approx(whole + stats.t.ppf(0.975, 4) * error)


def test_no_variation_is_no_certainty():
    rows = score_repeats(scored((0.1, 0.1), (0.6, 0.6), (0.2, 0.2)))
    assert estimates(rows) == dict.fromkeys(STATISTICS, 0.0)
    assert set(rows["low"]) == {None}
    assert set(rows["reason"]) == {"nothing varies: no interval"}


@pytest.mark.parametrize(
    ("questions", "reason"),
    [([(0.1, 0.3)], "one question: no interval"), ([(0.5, 0.5), (0.5, 0.5)], "nothing varies: no interval")],
)
def test_a_share_without_variance_between_questions_is_undefined(questions, reason):
    row = one(score_repeats(scored(*questions)), statistic="share")
    assert (row["estimate"], row["reason"]) == (None, reason)


def test_two_questions_leave_a_share_without_an_interval():
    row = one(score_repeats(scored((0.1, 0.3), (0.6, 0.8))), statistic="share")
    assert row["estimate"] is not None
    assert (row["low"], row["high"]) == (None, None)
    assert row["reason"].startswith("two questions")


def test_each_model_stands_for_itself_and_unscored_gradings_are_left_out():
    frame = pl.concat([scored((0.1, 0.3), (0.5, 0.5)), scored((0.2, None, 0.2), (0.4, None), model="k")])
    rows = score_repeats(frame)
    assert rows.filter(statistic="change").select("model", "estimate", "n").rows() == [
        ("k", 0.0, 1),
        ("m", pytest.approx(0.1), 2),
    ]
    assert score_repeats(scored((0.1,), (0.2,))).is_empty()


GRADINGS = st.lists(
    st.lists(st.integers(-100, 100).map(lambda points: points / 100), min_size=2, max_size=4), min_size=2, max_size=6
)


@given(GRADINGS, st.integers(-50, 50), st.sampled_from([0.5, 2.0]))
def test_a_shift_changes_nothing_and_a_scale_all_but_the_share(questions, shift, scale):
    plain = estimates(score_repeats(scored(*questions)))
    moved = estimates(score_repeats(scored(*[[scale * x + shift / 100 for x in given] for given in questions])))
    for name in ("sd", "change", "error"):
        assert moved[name] == pytest.approx(scale * plain[name], abs=1e-6)
    if plain["share"] is not None and plain["sd"] > 1e-3:
        assert moved["share"] == pytest.approx(plain["share"], abs=1e-6)


@given(GRADINGS)
def test_the_order_of_gradings_and_questions_plays_no_part(questions):
    turned = [given[::-1] for given in questions]
    frame = scored(*turned)
    rows, back = score_repeats(scored(*questions)), score_repeats(frame.reverse())
    for name in ("estimate", "low", "high"):
        assert back[name].to_list() == pytest.approx(rows[name].to_list(), abs=1e-9)


@given(st.lists(st.lists(st.sampled_from([MEETS, PARTLY, MISSING]), min_size=2, max_size=3), min_size=2, max_size=5))
def test_a_changed_check_is_one_with_a_pair_that_disagrees(checks):
    verdicts = graded(**{f"a__q{q}__c1": given for q, given in enumerate(checks)})
    row = one(changed_verdicts(verdicts))
    assert row["changed"] == sum(len(set(given)) > 1 for given in checks)
    assert row["low"] - 1e-9 <= row["estimate"] <= row["high"] + 1e-9
    twin = verdicts.with_columns(judge=pl.lit("b"))
    both = estimates(against_others(pl.concat([verdicts, twin]), judge="a"))
    # With a twin every verdict also meets itself, so the twin agrees more often.
    assert both["other"] >= both["itself"] - 1e-9
