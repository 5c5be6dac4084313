"""Variance components, D-studies and agreement on scores, against hand-worked cases, oracles and statsmodels."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamut_analysis import variance
from gamut_analysis.errors import InputError, UnknownName
from tests.coverage import agreement as coverage

NAMES = {"m": "model", "q": "question", "j": "judge", "m:q": "model x question", "m:j": "model x judge"}
NAMES |= {"q:j": "question x judge", "m:q:j": "residual", "m:q:j,e": "residual"}


def scores_of(cube):
    """A scores frame from (models, questions, judges), NaN for no score."""
    model, question, judge = np.indices(cube.shape).reshape(3, -1)
    frame = pl.DataFrame(
        {
            "model": np.char.mod("m%02d", model),
            "judge": np.char.mod("j%d", judge),
            "variant": "multimodal",
            "question_id": np.char.mod("q%04d", question),
            "score": cube.ravel(),
        }
    )
    return frame.with_columns(pl.col("score").fill_nan(None))


def raw(report):
    return dict(report.select("component", "raw").rows())


@pytest.fixture
def random_scores():
    rng = np.random.default_rng(8)
    shapes = ((5, 1, 1), (1, 40, 1), (1, 1, 3), (5, 40, 1), (5, 1, 3), (1, 40, 3), (5, 40, 3))
    return scores_of(
        sum(rng.normal(size=shape) * size for shape, size in zip(shapes, (3, 2, 1, 2, 0.5, 0.7, 1), strict=True))
    )


# --- components


@pytest.fixture
def balanced(oracle):
    known = oracle("gtheory_model_question_judge")
    rows = known["data"]["rows"]
    scores = pl.DataFrame(
        {"model": rows["m"], "question_id": rows["q"], "judge": rows["j"], "score": np.array(rows["y"], dtype=float)}
    )
    return known, scores


def test_mean_squares_and_components_of_a_balanced_grid(balanced):
    known, scores = balanced
    squares, df = variance.mean_squares(scores["score"].to_numpy().reshape(4, 5, 3))
    expected = {NAMES[name]: value for name, value in known["expected"]["MS"].items()}
    assert dict(zip(variance.MODEL_QUESTION_JUDGE, squares, strict=True)) == pytest.approx(
        expected, abs=known["tolerance"]
    )
    assert df.tolist() == [3, 4, 2, 12, 6, 8, 24]
    expected = {NAMES[name]: value for name, value in known["expected"]["varcomp"].items()}
    assert raw(variance.variance_components(scores)) == pytest.approx(expected, abs=known["tolerance"])


def test_d_study_of_a_balanced_grid(balanced):
    known, scores = balanced
    components = variance.variance_components(scores)
    for size, expected in known["expected"]["dstudy"].items():
        questions, judges = (int(number) for number in size.split("x"))
        row = variance.d_study(components, questions=[questions], judges=[judges]).row(0, named=True)
        assert row["relative_variance"] == pytest.approx(expected["rel_err"], abs=known["tolerance"])
        assert row["absolute_variance"] == pytest.approx(expected["abs_err"], abs=known["tolerance"])
        assert row["erho2"] == pytest.approx(expected["Erho2"], abs=known["tolerance"])
        assert row["phi"] == pytest.approx(expected["Phi"], abs=known["tolerance"])
        assert row["se_mean"] == pytest.approx(expected["abs_err"] ** 0.5)


def test_nested_design_of_brennan(oracle):
    known = oracle("brennan2001_table3_2_p_x_r_in_t")
    effects = {
        "p": ("person",),
        "t": ("task",),
        "r:t": ("task", "rater"),
        "pt": ("person", "task"),
        "pr:t": ("person", "task", "rater"),
    }
    report = variance.variance_components(pl.DataFrame(known["data"]), effects=effects)
    assert raw(report) == pytest.approx(known["expected"]["varcomp"], abs=known["tolerance"])
    assert report["reason"].is_not_null().all()


def test_henderson_equals_mean_squares_on_a_full_grid(random_scores):
    full = variance.variance_components(random_scores)
    # A harmless renaming of an effect sends the same data through the other method.
    effects = {f"{name} ": columns for name, columns in variance.MODEL_QUESTION_JUDGE.items()}
    other = variance.variance_components(random_scores, effects=effects)
    assert (full["method"][0], other["method"][0]) == ("expected mean squares", "Henderson I")
    assert full["raw"].to_list() == pytest.approx(other["raw"].to_list(), abs=1e-10)


def test_missing_cells_leave_the_components_unbiased():
    truth = coverage.TRUE_COMPONENTS
    rng = np.random.default_rng(3)
    shapes = ((14, 1, 1), (1, 60, 1), (1, 1, 3), (14, 60, 1), (14, 1, 3), (1, 60, 3), (14, 60, 3))
    found = []
    for _ in range(40):
        cube = sum(rng.normal(size=shape) * value**0.5 for shape, value in zip(shapes, truth.values(), strict=True))
        cube[rng.random(cube.shape) < 0.25] = np.nan
        found.append(variance.variance_components(scores_of(cube))["raw"].to_list())
    error = np.std(found, axis=0) / np.sqrt(40)
    assert (np.abs(np.mean(found, axis=0) - list(truth.values())) < 4 * error).all()


def test_reml_agrees_on_a_balanced_grid(balanced):
    # lme4, another optimiser, is itself within .002 of the exact values.
    known, scores = balanced
    expected = {NAMES[name]: value for name, value in known["expected"]["varcomp"].items()}
    assert raw(variance.reml_components(scores)) == pytest.approx(expected, abs=0.01)


def test_reml_says_when_it_has_nothing_to_fit(random_scores):
    report = variance.reml_components(random_scores.head(60).with_columns(score=pl.lit(0.5)))
    assert report["estimate"].is_null().all()
    assert set(report["reason"]) == {"all values are equal: nothing to fit"}


def test_reml_on_a_sample_says_so(random_scores):
    report = variance.reml_components(random_scores, questions=6)
    assert set(report["warning"]) == {"fitted to 6 of 40 questions"}
    assert dict(report.select("component", "n").rows())["question"] == 6


def test_negative_components_are_set_to_zero_and_said():
    # Judges that differ less than chance would have them: the same column three times but for the residual.
    rng = np.random.default_rng(0)
    cube = rng.normal(size=(4, 10, 1)) + 0.5 * rng.normal(size=(4, 10, 3))
    cube -= cube.mean(axis=(0, 1))
    report = variance.variance_components(scores_of(cube))
    row = report.filter(component="judge").row(0, named=True)
    assert row["estimate"] == 0
    assert row["raw"] < 0
    assert row["warning"].startswith("negative estimate -")
    assert report["share"].sum() == pytest.approx(1)


def test_one_judge_does_not_tell_the_components_apart():
    report = variance.variance_components(scores_of(np.random.default_rng(0).normal(size=(3, 5, 1))))
    assert report["estimate"].is_null().all()
    assert set(report["reason"]) == {"the cells do not tell the components apart"}


def test_a_repeated_cell_and_an_absent_column_are_refused(random_scores):
    with pytest.raises(InputError, match="two values"):
        variance.variance_components(pl.concat([random_scores, random_scores.head(1)]))
    with pytest.raises(InputError, match="no column judge"):
        variance.variance_components(random_scores.drop("judge"))


@given(st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_row_order_and_names_do_not_matter_and_scale_squares(seed):
    scores = scores_of(np.random.default_rng(seed).normal(size=(3, 6, 2)))
    renamed = scores.with_columns("x" + pl.col("judge"), pl.col("model").replace({"m00": "z"}))
    shuffled = renamed.sample(fraction=1, shuffle=True, seed=seed).with_columns(pl.col("score") * 2 + 5)
    first, second = (variance.variance_components(frame)["raw"].to_numpy() for frame in (scores, shuffled))
    assert np.allclose(second, 4 * first)


# --- how many are enough


def test_numbers_needed_bring_the_error_just_below_the_precision(random_scores):
    components = variance.variance_components(random_scores)
    needed = variance.questions_needed(components, precision=0.8, judges=[3, 10])
    for row in needed.drop_nulls("questions").to_dicts():
        enough, short = (
            variance.d_study(components, questions=[row["questions"] - less], judges=[row["judges"]])[row["measure"]][0]
            for less in (0, 1)
        )
        assert enough <= 0.8 < short


def test_what_no_number_of_questions_can_do_is_said_with_its_floor():
    components = pl.DataFrame(
        {"component": ["model x question", "model x judge", "judge"], "estimate": [0.06, 0.0005, 0.001]}
    )
    row = variance.questions_needed(components, precision=0.01, judges=[3]).filter(measure="se_mean").row(0, named=True)
    # (.0005 + .001) / 3 = .0005: the judges alone have an error of .0224.
    assert (row["questions"], row["floor"]) == (None, pytest.approx(0.0005**0.5))
    assert row["reason"] == "with 3 judges the error stays at 0.0224 or above"
    judges = variance.judges_needed(components, precision=0.01, questions=[1000]).filter(measure="se_mean")
    # .0001 - .06/1000 = .00004 is left for .0015 / nj.
    assert judges["judges"].to_list() == [38]


def test_unknown_components_give_null_numbers():
    components = pl.DataFrame(
        {"component": ["model x question"], "estimate": [None]}, schema={"component": pl.String, "estimate": pl.Float64}
    )
    assert variance.questions_needed(components, precision=0.1)["questions"].is_null().all()
    assert variance.d_study(components, questions=[10], judges=[3])["erho2"].to_list() == [None]


# --- agreement on scores


def test_shrout_fleiss_intraclass_correlations_and_components(oracle):
    known = oracle("shrout_fleiss1979_icc")
    ratings = np.array(known["data"]["ratings"], dtype=float)
    found = variance.intraclass_correlations(variance.moments(ratings))
    names = {
        "icc_1": "ICC1",
        "icc_a1": "ICC2",
        "icc_c1": "ICC3",
        "icc_1k": "ICC1k",
        "icc_ak": "ICC2k",
        "icc_ck": "ICC3k",
    }
    for ours, theirs in names.items():
        assert found[ours] == pytest.approx(known["expected"]["icc"][theirs], abs=known["tolerance"])
    squares = variance.target_mean_squares(variance.moments(ratings))
    for value, name in zip(squares, ("BMS", "JMS", "EMS", "WMS"), strict=True):
        assert value == pytest.approx(known["expected"]["MS"][name], abs=known["tolerance"])
    target, judge = np.indices(ratings.shape).reshape(2, -1)
    frame = pl.DataFrame({"target": target, "judge": judge, "score": ratings.ravel()})
    effects = {"model": ("target",), "judge": ("judge",), "model x judge": ("target", "judge")}
    components = variance.variance_components(frame, effects=effects)
    expected = known["expected"]["varcomp"]
    assert components["raw"].to_list() == pytest.approx(
        [expected["p"], expected["r"], expected["pr_e"]], abs=known["tolerance"]
    )
    for size, values in known["expected"]["dstudy"].items():
        row = variance.d_study(components, questions=[1], judges=[int(size.removeprefix("nr="))]).row(0, named=True)
        assert (row["erho2"], row["phi"]) == pytest.approx((values["Erho2"], values["Phi"]), abs=known["tolerance"])


def test_bland_altman_1986(oracle):
    known = oracle("bland_altman1986_pefr")
    summed = variance.moments(np.column_stack([known["data"]["wright"], known["data"]["mini"]]).astype(float))
    expected, tolerance = known["expected"], known["tolerance"]
    for multiple, name in ((variance._NORMAL, "loa_196"), (2, "loa_2sd")):
        found = variance.bland_altman(summed, multiple=multiple)
        assert found["mean_difference"] == pytest.approx(expected["mean_diff"], abs=tolerance)
        assert found["sd_difference"] == pytest.approx(expected["sd_diff"], abs=tolerance)
        assert [found["limit_low"], found["limit_high"]] == pytest.approx(expected[name], abs=tolerance)
    assert variance.lin_ccc(summed) == pytest.approx(expected["lin_ccc"], abs=tolerance)


def test_answer_agreement_uses_the_answers_that_every_judge_scored():
    # Four answers; on the last judge j2 gave no score. Levels 0, 1, 2; judge j1 is one higher, j2 one lower.
    cube = np.array([[[0.0, 1.0, -1.0], [1.0, 2.0, 0.0], [2.0, 3.0, 1.0], [9.0, 9.0, np.nan]]])
    report = variance.answer_agreement(scores_of(cube))
    found = dict(report.select("statistic", "estimate").rows())
    assert set(report["n"]) == {3}
    # Between targets 3, between judges 3, error 0: consistent, and (3 - 0) / (3 + 0 + 3 (3 - 0) / 3) = .5 in agreement.
    assert found["icc_c1"] == pytest.approx(1)
    assert found["icc_a1"] == pytest.approx(0.5)
    pairs = variance.pair_answer_agreement(scores_of(cube))
    assert pairs.filter(judge_a="j0", judge_b="j1")["n"].unique().to_list() == [4]
    assert pairs.filter(judge_a="j1", judge_b="j2", statistic="mean_difference")["estimate"].to_list() == [
        pytest.approx(2)
    ]


def test_errors_of_intraclass_correlations_are_those_of_resampling_questions(random_scores):
    report = variance.answer_agreement(random_scores).filter(pl.col("statistic").is_in(["icc_a1", "icc_c1"]))
    cube = random_scores["score"].to_numpy().reshape(5, 40, 3)
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(600):
        sample = cube[:, rng.integers(0, 40, 40)].reshape(-1, 3)
        found = variance.intraclass_correlations(variance.moments(sample))
        draws.append([found["icc_a1"], found["icc_c1"]])
    assert report["standard_error"].to_list() == pytest.approx(np.std(draws, axis=0).tolist(), rel=0.2)
    assert ((report["low"] < report["estimate"]) & (report["estimate"] < report["high"])).all()


def test_model_agreement_is_that_of_the_model_means(random_scores):
    report = variance.model_agreement(random_scores, variant="multimodal")
    means = random_scores["score"].to_numpy().reshape(5, 40, 3).mean(axis=1)
    expected = variance.intraclass_correlations(variance.moments(means))
    panel = dict(report.filter(pl.col("judge_a").is_null()).select("statistic", "estimate").rows())
    assert panel == pytest.approx({name: float(value) for name, value in expected.items()})
    pearson = report.filter(judge_a="j0", judge_b="j2", statistic="pearson").row(0, named=True)
    assert pearson["estimate"] == pytest.approx(np.corrcoef(means[:, 0], means[:, 2])[0, 1])
    assert (pearson["n"], pearson["clusters"]) == (5, 40)


def test_by_model_and_shuffled_rows(random_scores):
    shuffled = random_scores.sample(fraction=1, shuffle=True, seed=1)
    report = variance.answer_agreement(shuffled, by=["model"])
    assert report.equals(variance.answer_agreement(random_scores, by=["model"]))
    alone = variance.answer_agreement(random_scores.filter(model="m03"))
    assert report.filter(model="m03")["estimate"].to_list() == pytest.approx(alone["estimate"].to_list())


def test_a_marked_copy_of_every_question_changes_no_interval(random_scores):
    copies = random_scores.with_columns(pl.col("question_id") + "-copy")
    ids = sorted(random_scores["question_id"].unique())
    questions = pl.DataFrame({"question_id": ids + [f"{name}-copy" for name in ids], "cluster": ids * 2})
    once = variance.model_agreement(random_scores, variant="multimodal")
    twice = variance.model_agreement(pl.concat([random_scores, copies]), variant="multimodal", questions=questions)
    columns = ["estimate", "low", "high"]
    assert np.allclose(once.select(columns).to_numpy(), twice.select(columns).to_numpy(), equal_nan=True)


def test_one_judge_and_equal_scores_have_no_correlation():
    lone = variance.answer_agreement(scores_of(np.random.default_rng(0).normal(size=(2, 5, 1))))
    assert lone["estimate"].is_null().all()
    assert set(lone["reason"]) == {"scores do not vary, or one judge"}
    assert variance.pair_answer_agreement(scores_of(np.zeros((2, 5, 1)))).is_empty()
    same = variance.answer_agreement(scores_of(np.full((2, 5, 2), 0.5)))
    assert same["estimate"].is_null().all()


def test_unbalanced_and_sparse_scores_of_realsumm(shared):
    votes = pl.read_parquet(shared / "real" / "realsumm" / "verdicts.parquet")
    scores = (
        votes.group_by("model", "judge", "question_id")
        .agg(score=(pl.col("verdict") == "present").mean())
        .with_columns(variant=pl.lit("multimodal"))
    )
    report = variance.answer_agreement(scores)
    assert (report["judges"] == 4).all()
    assert report["clusters"][0] <= 100
    assert len(variance.pair_answer_agreement(scores)) == 6 * 8
    components = variance.variance_components(scores)
    assert components["method"][0] == "Henderson I"
    assert components["estimate"].is_not_null().all()


# --- the worth of a panel


def test_independent_errors_are_worth_every_judge_and_equal_ones_a_single_judge():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=(6, 400, 1))
    apart = np.concatenate([truth, truth + rng.normal(size=(6, 400, 3))], axis=2)
    same = np.concatenate([truth, np.repeat(truth + rng.normal(size=(6, 400, 1)), 3, axis=2)], axis=2)
    for cube, expected in ((apart, 3), (same, 1)):
        row = variance.effective_judges(scores_of(cube), variant="multimodal", reference="j0").row(0, named=True)
        assert row["estimate"] == pytest.approx(expected, abs=0.1)
        assert (row["judges"], row["reference"], row["n"]) == (3, "j0", 2400)


def test_without_a_reference_being_right_together_counts_as_redundancy():
    rng = np.random.default_rng(1)
    cube = rng.normal(size=(6, 400, 1)) + rng.normal(size=(6, 400, 3))
    row = variance.effective_judges(scores_of(cube), variant="multimodal").row(0, named=True)
    # Correlation .5: 3 / (1 + 2 * .5).
    assert row["estimate"] == pytest.approx(1.5, abs=0.06)
    with pytest.raises(UnknownName, match="unknown judge"):
        variance.effective_judges(scores_of(cube), variant="multimodal", reference="nobody")


def test_intervals_of_components_hold_the_truth_about_as_often_as_they_say():
    found = coverage._component_coverage(questions=30, worlds=100, seed=9)
    assert min(found.values()) >= 0.88
