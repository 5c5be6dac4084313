"""The score: exact oracles through the scalar form, and the vectorised form equal to the scalar one."""

import itertools
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamut_analysis.errors import ScoringError
from gamut_analysis.scoring import ANSWER, LOSSES, Scoring
from gamut_analysis.vocabulary import TIERS, VERDICTS

SHORT = dict(zip(("AC", "V", "C"), TIERS, strict=True))
WEIGHTS = (Fraction(6, 10), Fraction(3, 10), Fraction(1, 10))
EXACT = Scoring(Fraction(1, 2), Fraction(-2), WEIGHTS)


def named(tiers: dict) -> dict:
    """Counts under the oracle's short tier names, under ours."""
    return {SHORT[short]: counts for short, counts in tiers.items()}


def counts_frame(answers: dict, *, replicate: int = 0, status: str = "answered", ungraded: int = 0) -> pl.DataFrame:
    """A verdict-count frame: {(model, question): {tier: (M, P, S, C)}}; ungraded checks are added to each tier."""
    rows = [
        {
            "model": model,
            "judge": "judge",
            "variant": "multimodal",
            "question_id": question,
            "replicate": replicate,
            "tier": tier,
            **dict(zip(VERDICTS, counts, strict=True)),
            "ungraded": ungraded,
            "checks": sum(counts) + ungraded,
            "answer_status": status,
        }
        for (model, question), tiers in answers.items()
        for tier, counts in tiers.items()
    ]
    schema = {"tier": pl.Enum(TIERS), "replicate": pl.Int32, **dict.fromkeys((*VERDICTS, "checks"), pl.Int32)}
    return pl.DataFrame(rows, schema_overrides=schema)


def one(tiers: dict, **options) -> dict:
    """The scored row of a single answer."""
    return Scoring().questions(counts_frame({("m", "q"): tiers}, **options)).row(0, named=True)


# --- oracles -----------------------------------------------------------------------------------------------------


def fraction(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


def test_worked_cases_hold_exactly(oracle):
    content = oracle("gamut_scoring_cases")
    for name, told in content["expected_exact"].items():
        tiers = content["data"]["cases"][name]
        for short, text in told["tiers"].items():
            assert EXACT.tier_score(tiers[short]) == fraction(text), (name, short)
        assert EXACT.question_score(named(tiers)) == fraction(told["overall"]), name


def test_worked_cases_hold_in_the_vectorised_form(oracle):
    content = oracle("gamut_scoring_cases")
    frame = counts_frame({("m", name): named(tiers) for name, tiers in content["data"]["cases"].items()})
    scores = {row["question_id"]: row for row in Scoring().questions(frame).iter_rows(named=True)}
    for name, told in content["expected"].items():
        ours = scores[name]
        wanted = {"score": told["overall"]} | {SHORT[short]: value for short, value in told["tiers"].items()}
        assert {key: ours[key] for key in wanted} == pytest.approx(wanted, abs=content["tolerance"]), name
        assert (ours["reason"] is None) == (told["overall"] is not None), name


def test_effective_weights_are_those_of_the_worked_cases(oracle):
    content = oracle("gamut_scoring_cases")
    for name, told in content["expected_exact"].items():
        tiers = content["data"]["cases"][name]
        scored = {short: EXACT.tier_score(counts) for short, counts in tiers.items() if any(counts)}
        mean = sum((Fraction(told["effective_weights"][short]) * score for short, score in scored.items()), Fraction(0))
        assert EXACT.question_score(named(tiers)) == (mean if scored else None), name


def test_lambda_mu_grid_holds_exactly_and_mu_zero_is_refused(oracle):
    content = oracle("gamut_scoring_lambda_mu_grid")
    compared = 0
    for name, settings_ in content["expected_exact"].items():
        tiers = content["data"]["cases"][name]
        for setting, told in settings_.items():
            lambda_, mu = (Fraction(part.split("=")[1]) for part in setting.split(","))
            if mu == 0:  # a contradiction that costs nothing is outside the paper's range
                with pytest.raises(ScoringError, match="below 0"):
                    Scoring(lambda_, mu, WEIGHTS)
                continue
            scoring = Scoring(lambda_, mu, WEIGHTS)
            assert scoring.question_score(named(tiers)) == fraction(told["overall"]), (name, setting)
            for short, text in told["tiers"].items():
                assert scoring.tier_score(tiers[short]) == fraction(text), (name, setting, short)
                compared += 1
    assert compared > 40


def test_enumeration_of_small_tiers_has_the_known_properties(oracle):
    content = oracle("gamut_scoring_properties")
    largest = content["data"]["max_checks"]
    tiers = [c for c in itertools.product(range(largest + 1), repeat=4) if 1 <= sum(c) <= largest]
    scores = {counts: EXACT.tier_score(counts) for counts in tiers}
    assert len(tiers) == content["expected"]["n"]
    assert min(scores.values()) == Fraction(content["expected_exact"]["min"])
    assert max(scores.values()) == Fraction(content["expected_exact"]["max"])
    better = [(2, 3), (1, 2), (0, 1)]  # contradicts to missing, missing to partial, partial to meets
    worse = 0
    for counts, (to, of) in itertools.product(tiers, better):
        if counts[of]:
            moved = list(counts)
            moved[of] -= 1
            moved[to] += 1
            worse += EXACT.tier_score(moved) <= scores[counts]
    assert worse == content["expected"]["monotone_violations"]
    one_more_missing = {c: EXACT.tier_score((c[0], c[1], c[2] + 1, c[3])) for c in tiers}
    assert sum((one_more_missing[c] > scores[c]) != (scores[c] < 0) for c in tiers) == 0


def test_model_score_is_the_mean_of_questions_and_neither_pooled_nor_weighted(oracle):
    content = oracle("gamut_benchmark_mean_vs_pooled")
    for model, questions in content["data"]["models"].items():
        told, exact = content["expected"][model], content["expected_exact"][model]
        scores = [EXACT.question_score(named(tiers)) for tiers in questions]
        assert scores == [Fraction(text) for text in exact["question_scores"]]
        assert sum(scores) / len(scores) == Fraction(exact["benchmark_score"])
        frame = counts_frame({(model, f"q{i}"): named(tiers) for i, tiers in enumerate(questions)})
        row = Scoring().models(Scoring().questions(frame)).row(0, named=True)
        assert row["score"] == pytest.approx(told["benchmark_score"], abs=1e-12)
        assert row["standard_error"] ** 2 == pytest.approx(told["se2_n_minus_1"], abs=1e-12)
        assert row["score"] != pytest.approx(told["pooled_score"], abs=1e-3)
        pooled = frame.select(pl.col(VERDICTS).sum()).row(0, named=True)
        shares = {verdict: count / sum(pooled.values()) for verdict, count in pooled.items()}
        assert shares == pytest.approx(told["micro_rates"], abs=1e-12)


def test_losses_are_those_of_the_worked_decomposition(oracle):
    content = oracle("gamut_loss_decomposition")
    frame = counts_frame({("m", name): named(tiers) for name, tiers in content["data"]["cases"].items()})
    losses = {(r["question_id"], r["tier"]): r for r in Scoring().losses(frame).iter_rows(named=True)}
    scores = dict(Scoring().questions(frame).select("question_id", "score").iter_rows())
    for name, told in content["expected"]["cases"].items():
        ours = {
            f"{short}.{loss.removeprefix('lost_')}": losses[name, tier][loss]
            for short, tier in SHORT.items()
            if (name, tier) in losses
            for loss in LOSSES
        }
        assert ours == pytest.approx(told["points_lost"], abs=content["tolerance"]), name
        assert sum(ours.values()) == pytest.approx(told["total_lost"], abs=content["tolerance"])
        assert 1 - scores[name] == pytest.approx(told["one_minus_score"], abs=content["tolerance"])


def test_losses_are_the_additive_shares_and_not_counterfactuals(oracle):
    content = oracle("gamut_loss_attribution_compare")
    losses = Scoring().losses(counts_frame({("m", "q"): named(content["data"]["counts"])})).select(pl.col(LOSSES).sum())
    told = content["expected"]["additive"]
    assert losses.row(0) == pytest.approx((told["P"], told["S"], told["C"]), abs=content["tolerance"])


# --- by hand -----------------------------------------------------------------------------------------------------


def test_the_worked_example_of_the_rules():
    # AC (3,1,1,1): (3 + 0.5 - 2) / (3 + 1 + 1 + 2) = 1.5/7; V (0,0,4,0): 0; C empty: (0.6 * 1.5/7) / 0.9 = 1/7
    row = one({"answer_critical": (3, 1, 1, 1), "valuable": (0, 0, 4, 0)})
    assert row["answer_critical"] == pytest.approx(1.5 / 7)
    assert row["valuable"] == 0
    assert row["context"] is None
    assert row["score"] == pytest.approx(1 / 7)
    assert (row["coverage"], row["reason"]) == (1.0, None)


def test_a_tier_with_rows_and_no_checks_is_as_good_as_absent():
    with_row = one({"answer_critical": (1, 0, 1, 0), "context": (0, 0, 0, 0)})
    assert with_row == one({"answer_critical": (1, 0, 1, 0)})


def test_an_answer_without_checks_has_neither_score_nor_coverage():
    row = one({"answer_critical": (0, 0, 0, 0)})
    assert (row["score"], row["coverage"], row["reason"]) == (None, None, "no check graded")


def test_an_answer_that_is_not_fully_graded_has_no_score_but_a_reason():
    row = one({"answer_critical": (2, 0, 0, 0), "valuable": (1, 0, 0, 0)}, ungraded=1)
    assert row["score"] is None
    assert [row[tier] for tier in TIERS] == [None, None, None]
    assert row["coverage"] == pytest.approx(3 / 5)
    assert row["reason"] == "3 of 5 checks graded"


def test_min_coverage_scores_from_the_graded_checks():
    counts = counts_frame({("m", "q"): {"answer_critical": (1, 0, 1, 0)}}, ungraded=1)  # 2 of 3 graded
    assert Scoring(min_coverage=2 / 3).questions(counts)["score"].to_list() == [0.5]
    assert Scoring(min_coverage=0.67).questions(counts)["score"].to_list() == [None]


def test_no_graded_check_is_never_a_score_whatever_the_coverage():
    counts = counts_frame({("m", "q"): {"answer_critical": (0, 0, 0, 0)}}, ungraded=3)
    row = Scoring(min_coverage=0).questions(counts).row(0, named=True)
    assert (row["score"], row["reason"]) == (None, "no check graded")


def test_an_answer_that_could_not_be_had_says_so():
    counts = counts_frame({("m", "q"): {"answer_critical": (0, 0, 0, 0)}}, ungraded=3, status="error")
    assert Scoring().questions(counts)["reason"].to_list() == ["the answer could not be had"]


def test_graded_tiers_without_weight_give_no_score():
    counts = counts_frame({("m", "q"): {"context": (1, 0, 0, 0)}})
    row = Scoring(weights=(1, 1, 0)).questions(counts).row(0, named=True)
    assert (row["score"], row["reason"]) == (None, "the graded tiers have no weight")
    assert Scoring(weights=(1, 1, 0)).question_score({"context": (1, 0, 0, 0)}) is None


def test_replicates_are_scored_one_by_one_and_averaged():
    # replicate 0: 1; replicate 1: -1. Pooled counts (1,0,0,1) would give (1 - 2) / 3.
    frame = pl.concat(
        [
            counts_frame({("m", "q"): {"answer_critical": (1, 0, 0, 0)}}, replicate=0),
            counts_frame({("m", "q"): {"answer_critical": (0, 0, 0, 1)}}, replicate=1),
        ]
    )
    assert Scoring().questions(frame)["score"].to_list() == [0.0]
    assert Scoring().losses(frame).select(pl.sum_horizontal(LOSSES)).to_series().to_list() == [1.0]


def test_a_replicate_without_score_leaves_the_mean_to_the_others():
    frame = pl.concat(
        [
            counts_frame({("m", "q"): {"answer_critical": (1, 0, 1, 0)}}, replicate=0),
            counts_frame({("m", "q"): {"answer_critical": (0, 0, 1, 0)}}, replicate=1, ungraded=1),
        ]
    )
    row = Scoring().questions(frame).row(0, named=True)
    assert (row["score"], row["reason"]) == (0.5, None)
    assert row["coverage"] == pytest.approx(0.75)
    assert Scoring().losses(frame)["lost_missing"].to_list() == [0.5]


def test_finer_rows_give_the_score_of_their_sums():
    # The same tier told by role: (2,0,0,0) and (0,0,1,1) are (2,0,1,1).
    finer = pl.concat(
        [
            counts_frame({("m", "q"): {"answer_critical": (2, 0, 0, 0)}}),
            counts_frame({("m", "q"): {"answer_critical": (0, 0, 1, 1)}}),
        ]
    )
    whole = counts_frame({("m", "q"): {"answer_critical": (2, 0, 1, 1)}})
    assert Scoring().questions(finer).equals(Scoring().questions(whole))


def test_model_means_leave_out_what_has_no_score_and_count_it():
    frame = pl.concat(
        [
            counts_frame({("m", "q1"): {"answer_critical": (1, 0, 0, 0)}, ("m", "q2"): {"valuable": (1, 0, 1, 0)}}),
            counts_frame(
                {("m", "q3"): {"answer_critical": (0, 0, 0, 0)}, ("n", "q1"): {"context": (0,) * 4}}, ungraded=1
            ),
        ]
    )
    models = Scoring().models(Scoring().questions(frame))
    assert models["model"].to_list() == ["m", "n"]
    assert models["score"].to_list() == [0.75, None]
    assert models["answer_critical"].to_list() == [1.0, None]
    assert models["n"].to_list() == [2, 0]
    assert models["answers"].to_list() == [3, 1]
    assert models["reason"].to_list() == [None, "no answer has a score"]
    assert models["standard_error"].to_list() == [pytest.approx(0.25), None]


def test_an_empty_frame_is_scored_as_an_empty_frame():
    empty = counts_frame({("m", "q"): {"answer_critical": (1, 0, 0, 0)}}).clear()
    assert Scoring().questions(empty).height == Scoring().losses(empty).height == 0
    assert Scoring().models(Scoring().questions(empty)).height == 0


def test_counts_by_hand_need_no_status_and_no_enum():
    frame = counts_frame({("m", "q"): {"answer_critical": (1, 0, 0, 0)}}).drop("answer_status", "ungraded")
    assert Scoring().questions(frame.with_columns(pl.col("tier").cast(pl.String)))["score"].to_list() == [1.0]


def test_scores_keep_the_order_in_which_answers_appear():
    frame = counts_frame({("b", "q2"): {"context": (1, 0, 0, 0)}, ("a", "q1"): {"context": (0, 0, 1, 0)}})
    assert Scoring().questions(frame).select("model", "score").rows() == [("b", 1.0), ("a", 0.0)]


@pytest.mark.parametrize(
    ("constants", "name"),
    [
        ({"lambda_": -0.1}, "lambda_"),
        ({"lambda_": 1.1}, "lambda_"),
        ({"lambda_": float("nan")}, "lambda_"),
        ({"lambda_": "0.5"}, "lambda_"),
        ({"lambda_": True}, "lambda_"),
        ({"mu": 0}, "mu"),
        ({"mu": 2}, "mu"),
        ({"mu": float("-inf")}, "mu"),
        ({"mu": None}, "mu"),
        ({"weights": (0, 0, 0)}, "weights"),
        ({"weights": (0.6, 0.4)}, "weights"),
        ({"weights": (0.6, 0.5, -0.1)}, "weights"),
        ({"weights": (0.6, 0.3, float("nan"))}, "weights"),
        ({"weights": 0.5}, "weights"),
        ({"weights": "abc"}, "weights"),
        ({"min_coverage": 1.5}, "min_coverage"),
        ({"min_coverage": -1}, "min_coverage"),
    ],
)
def test_constants_outside_their_range_are_refused_by_name(constants, name):
    with pytest.raises(ScoringError, match=rf"^{name} = .* needed"):
        Scoring(**constants)


def test_constants_are_frozen_and_know_the_default():
    assert Scoring().is_default
    assert Scoring(weights=[0.6, 0.3, 0.1]).is_default
    assert not Scoring(min_coverage=0.5).is_default
    assert Scoring(lambda_=0.25, mu=-3).values == (1, 0.25, 0, -3)
    with pytest.raises(AttributeError):
        Scoring().mu = -1


# --- laws --------------------------------------------------------------------------------------------------------

tier_counts = st.tuples(*[st.integers(0, 6)] * 4)
answers = st.dictionaries(
    st.tuples(st.sampled_from("mn"), st.sampled_from(["q1", "q2", "q3"])),
    st.dictionaries(st.sampled_from(TIERS), tier_counts, min_size=1),
    min_size=1,
)
constants = st.builds(
    Scoring,
    st.floats(0, 1),
    st.floats(-5, -0.1),
    st.tuples(*[st.floats(0.01, 1)] * 3),
)


@settings(deadline=None)
@given(answers, constants)
def test_vectorised_scores_equal_the_scalar_form(world, scoring):
    scored = scoring.questions(counts_frame(world))
    assert scored.select(ANSWER).is_unique().all()
    for row in scored.iter_rows(named=True):
        tiers = world[row["model"], row["question_id"]]
        assert row["score"] == pytest.approx(scoring.question_score(tiers), abs=1e-12, nan_ok=False)
        for tier in TIERS:
            assert row[tier] == pytest.approx(scoring.tier_score(tiers.get(tier, (0, 0, 0, 0))), abs=1e-12)


@settings(deadline=None)
@given(answers, constants)
def test_losses_add_up_to_what_is_missing_from_one(world, scoring):
    frame = counts_frame(world)
    total = scoring.losses(frame).group_by(ANSWER).agg(pl.sum_horizontal(LOSSES).sum().alias("lost"))
    both = scoring.questions(frame).drop_nulls("score").join(total, on=ANSWER, how="full", coalesce=True)
    assert both["lost"].null_count() == both["score"].null_count() == 0
    assert (both["lost"] - (1 - both["score"])).abs().max() in (None, pytest.approx(0, abs=1e-12))


@settings(deadline=None)
@given(answers, constants)
def test_scores_lie_between_minus_one_and_one(world, scoring):
    scores = scoring.questions(counts_frame(world)).select("score", *TIERS).unpivot()["value"].drop_nulls()
    assert scores.is_between(-1 - 1e-12, 1 + 1e-12).all()
    assert not scores.is_nan().any()
