"""Leniency and self-preference, against hand-worked cases, oracles, statsmodels and published data."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamut_analysis import leniency
from gamut_analysis.errors import InputError, UnknownName
from tests.coverage import agreement as coverage

CELLS = [f"n_{i}{j}" for i in range(4) for j in range(4)]


def pair_tables(tables, model="m", names=("a", "b")):
    """Both orders of 4 x 4 tables, one a question, in the shape of the mart."""
    rows = []
    for q, table in enumerate(tables):
        for pair, oriented in ((names, np.asarray(table)), (names[::-1], np.asarray(table).T)):
            cells = dict(zip(CELLS, oriented.ravel().tolist(), strict=True))
            rows.append({"model": model, "question_id": f"q{q:05d}", "judge_a": pair[0], "judge_b": pair[1]} | cells)
    return pl.DataFrame(rows)


def table(**cells):
    """A 4 x 4 table from n_ij = count."""
    return np.array([[cells.get(f"n_{i}{j}", 0) for j in range(4)] for i in range(4)])


def scores_of(cube, models=None, judges=None):
    """A scores frame from (questions, models, judges), NaN for no score."""
    question, model, judge = np.indices(cube.shape).reshape(3, -1)
    models = models or [f"m{i:02d}" for i in range(cube.shape[1])]
    judges = judges or [f"j{i}" for i in range(cube.shape[2])]
    frame = pl.DataFrame(
        {
            "model": np.array(models)[model],
            "judge": np.array(judges)[judge],
            "variant": "multimodal",
            "question_id": np.char.mod("q%04d", question),
            "score": cube.ravel(),
        }
    )
    return frame.with_columns(pl.col("score").fill_nan(None))


@pytest.fixture(scope="module")
def random_tables():
    rng = np.random.default_rng(2)
    return pair_tables(rng.poisson(np.eye(4) * 3 + 0.5, size=(40, 4, 4)))


# --- marginal homogeneity


def test_one_check_a_question_gives_stuart_maxwell_and_bhapkar(oracle):
    known = oracle("stuart_maxwell_vision")
    counts = np.array(known["data"]["table"])
    single = np.repeat(np.eye(16, dtype=int), counts.ravel(), axis=0)
    base = {"question_id": np.char.mod("q%05d", np.arange(len(single)))}
    order = [f"n_{i}{j}" for i in range(4) for j in range(4)]
    ab = pl.DataFrame(base | {"judge_a": "l", "judge_b": "r"} | dict(zip(order, single.T, strict=True)))
    turned = {f"n_{i}{j}": f"n_{j}{i}" for i in range(4) for j in range(4)}
    ba = ab.rename(turned | {"judge_a": "judge_b", "judge_b": "judge_a"}).select(ab.columns)
    report = {row["method"]: row for row in leniency.marginal_homogeneity(pl.concat([ab, ba])).to_dicts()}
    expected, tolerance = known["expected"], known["tolerance"]
    assert report["stuart_maxwell"]["statistic"] == pytest.approx(expected["stuart_maxwell"], abs=tolerance)
    assert report["stuart_maxwell"]["p"] == pytest.approx(expected["p_sm"], abs=tolerance)
    assert report["bhapkar"]["statistic"] == pytest.approx(expected["bhapkar"], abs=tolerance)
    assert report["bhapkar"]["p"] == pytest.approx(expected["p_bh"], abs=tolerance)
    assert (report["bhapkar"]["df"], report["bhapkar"]["n"]) == (3, 7477)


def test_hotelling_is_bhapkar_with_finite_clusters(random_tables):
    report = {row["method"]: row for row in leniency.marginal_homogeneity(random_tables).to_dicts()}
    wald, f = report["bhapkar"], report["hotelling"]
    assert f["statistic"] == pytest.approx(wald["statistic"] * (40 - 3) / (3 * 40))
    assert f["p"] > wald["p"]


def test_judges_that_never_differ_and_a_single_question_have_no_test():
    same = leniency.marginal_homogeneity(pair_tables([table(n_00=4), table(n_22=3)]))
    assert set(same["reason"]) == {"the judges never differ"}
    alone = leniency.marginal_homogeneity(pair_tables([table(n_00=4, n_02=1)]))
    assert set(alone["reason"]) == {"1 questions or clusters are too few for a test of the margins"}
    few = leniency.marginal_homogeneity(pair_tables([table(n_00=4, n_02=1), table(n_20=1, n_01=2)]))
    assert few["p"].is_null().all()


# --- verdicts


def test_value_shift_and_log_odds_by_hand():
    # a better than b: 3 checks meets/missing (+1 each), 1 check missing/contradicts (+2);
    # worse: 1 check partially/meets (-.5), over 10 checks. Shift (3 + 2 - .5) / 10; odds 4 : 1.
    tables = pair_tables([table(n_00=3, n_02=2, n_23=1), table(n_22=2, n_02=1, n_10=1)])
    rows = {row["effect"]: row for row in leniency.verdict_leniency(tables).filter(judge_a="a").to_dicts()}
    assert rows["value_shift"]["estimate"] == pytest.approx(0.45)
    assert rows["value_shift"]["n"] == 10
    # Residuals by question: 4 - .45*6 = 1.3 and .5 - .45*4 = -1.3; sqrt(2 * 2 * 1.69) / 10.
    assert rows["value_shift"]["standard_error"] == pytest.approx(np.sqrt(2 * 2 * 1.69) / 10)
    assert rows["log_odds"]["estimate"] == pytest.approx(np.log(4))
    # Influence: 3/4 - 0 and 1/4 - 1.
    assert rows["log_odds"]["standard_error"] == pytest.approx(np.sqrt(2 * 2 * 0.75**2))
    # Across meets against worse: 3 above, 1 below; across missing against contradicts: 1 above, none below.
    assert rows["log_odds_meets"]["estimate"] == pytest.approx(np.log(3))
    assert rows["log_odds_missing"]["estimate"] is None
    assert "no bound" in rows["log_odds_missing"]["reason"]


def test_turning_a_pair_round_turns_the_sign(random_tables):
    report = leniency.verdict_leniency(random_tables)
    forth, back = (report.filter(judge_a=name) for name in "ab")
    assert np.allclose(forth["estimate"].to_numpy(), -back["estimate"].to_numpy())
    assert np.allclose(forth["low"].to_numpy(), -back["high"].to_numpy())
    assert np.allclose(forth["p"].to_numpy(), back["p"].to_numpy())


def test_shift_error_is_the_clustered_one_of_statsmodels(random_tables):
    import statsmodels.api as sm

    once = random_tables.filter(judge_a="a")
    worth = np.array([1, 0.5, 0, -2])
    gain = np.subtract.outer(worth, worth).ravel()
    counts = once.select(CELLS).to_numpy()
    y = np.concatenate([np.repeat(gain, row) for row in counts])
    groups = np.repeat(np.arange(len(once)), counts.sum(axis=1))
    fit = sm.OLS(y, np.ones_like(y)).fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    row = leniency.verdict_leniency(random_tables).filter(judge_a="a", effect="value_shift").row(0, named=True)
    assert row["estimate"] == pytest.approx(fit.params[0])
    assert row["standard_error"] == pytest.approx(fit.bse[0] * np.sqrt(40 / 39))


@given(st.integers(0, 1000))
@settings(max_examples=8, deadline=None)
def test_row_order_and_marked_copies_change_no_test(seed):
    rng = np.random.default_rng(seed)
    tables = pair_tables(rng.poisson(np.eye(4) * 2 + 0.5, size=(12, 4, 4)))
    shuffled = tables.sample(fraction=1, shuffle=True, seed=seed)
    assert leniency.verdict_leniency(shuffled).equals(leniency.verdict_leniency(tables))
    copies = tables.with_columns(pl.col("question_id") + "-copy")
    ids = sorted(tables["question_id"].unique())
    questions = pl.DataFrame({"question_id": ids + [f"{name}-copy" for name in ids], "cluster": ids * 2})
    both = pl.concat([tables, copies])
    columns = ["estimate", "low", "high", "p"]
    once = leniency.verdict_leniency(tables).select(columns).to_numpy()
    assert np.allclose(once, leniency.verdict_leniency(both, questions=questions).select(columns).to_numpy())
    tests = leniency.marginal_homogeneity(tables), leniency.marginal_homogeneity(both, questions=questions)
    assert np.allclose(tests[0]["p"].to_numpy(), tests[1]["p"].to_numpy())


def test_tables_with_one_order_only_are_refused(random_tables):
    with pytest.raises(InputError, match="both orders"):
        leniency.marginal_homogeneity(random_tables.filter(judge_a="a"))


# --- scores


def test_gaps_by_hand_with_a_judge_that_missed_an_answer():
    # Two questions, one model, three judges; on the second question judge c gave no score.
    cube = np.array([[[0.6, 0.4, 0.2]], [[0.5, 0.1, np.nan]]])
    report = leniency.judge_gaps(scores_of(cube, judges=["a", "b", "c"]), variant="multimodal")
    rows = {row["judge"]: row for row in report.filter(model="m00").to_dicts()}
    assert rows["a"]["estimate"] == pytest.approx(((0.6 - 0.3) + 0.4) / 2)
    assert rows["c"]["estimate"] == pytest.approx(0.2 - 0.5)
    assert (rows["a"]["n"], rows["c"]["n"]) == (2, 1)
    assert rows["c"]["reason"] == "one question: no interval"


def test_unknown_variant_and_a_lone_judge_are_said():
    scores = scores_of(np.random.default_rng(0).normal(size=(5, 2, 1)))
    assert set(leniency.judge_gaps(scores, variant="multimodal")["reason"]) == {
        "no answer was scored by this judge and another one"
    }
    with pytest.raises(UnknownName):
        leniency.judge_gaps(scores, variant="text_only")


def noisy_models(rng, questions):
    """Scores of six models by a judge with a slope of .2 and another one: (questions, models, judges)."""
    answers = np.linspace(-0.3, 0.3, 6) + 0.3 * rng.normal(size=(questions, 6))
    seen = answers[:, :, None] + 0.3 * rng.normal(size=(questions, 6, 2))
    seen[:, :, 0] += 0.2 * np.linspace(-0.3, 0.3, 6)
    return seen


def test_slope_is_not_pulled_down_by_sampling_error():
    rng = np.random.default_rng(4)
    cubes = [noisy_models(rng, 80) for _ in range(150)]
    found = [leniency.leniency_slope(scores_of(cube), variant="multimodal").row(0, named=True) for cube in cubes]
    slopes = np.array([row["estimate"] for row in found])
    plain = [np.polyfit(b, a - b, 1)[0] for a, b in (cube.mean(axis=0).T for cube in cubes)]
    # Least squares expects (.2 * .252 - 5 * .09/80) / (.252 + 5 * .18/80) = .17 of the true .2.
    assert np.mean(plain) == pytest.approx(0.17, abs=0.035)
    assert slopes.mean() == pytest.approx(0.2, abs=0.035)
    assert slopes.mean() - np.mean(plain) > 0.02
    assert np.mean([row["standard_error"] for row in found]) == pytest.approx(slopes.std(), rel=0.2)
    assert (found[0]["n"], found[0]["clusters"]) == (6, 80)


def test_models_that_differ_by_chance_alone_have_no_slope():
    cube = np.random.default_rng(1).normal(size=(30, 6, 2))
    report = leniency.leniency_slope(scores_of(cube), variant="multimodal")
    assert set(report["reason"]) == {"models differ by no more than sampling error: no slope"}


def test_two_models_have_no_slope():
    report = leniency.leniency_slope(scores_of(np.random.default_rng(0).normal(size=(9, 2, 3))), variant="multimodal")
    assert set(report["reason"]) == {"fewer than three models: no slope"}


# --- self-preference


@pytest.fixture
def constructed(oracle):
    known = oracle("self_preference_did")
    rows = known["data"]["rows"]
    scores = pl.DataFrame(
        {
            "model": [f"m{i}" for i in rows["m"]],
            "question_id": [f"q{i}" for i in rows["q"]],
            "judge": [f"j{i}" for i in rows["j"]],
            "variant": "multimodal",
            "score": np.array(rows["y"], dtype=float),
        }
    )
    return known, scores


def test_fixed_effects_regression_gives_the_known_effect(constructed):
    known, scores = constructed
    report = leniency.self_preference(scores, variant="multimodal", selves={"j0": "m0", "j1": "m1"})
    row = report.filter(pl.col("judge").is_null(), method="did").row(0, named=True)
    assert row["estimate"] == pytest.approx(known["expected"]["twfe_self"], abs=known["tolerance"])
    # The oracle counts the 24 answer effects as parameters; they lie within the clusters, so here 3 of 72 are counted.
    error = row["standard_error"] * np.sqrt(69 / 45)
    assert error == pytest.approx(known["expected"]["cluster_se_by_question_CR1_df"], abs=known["tolerance"])
    assert row["df"] == 5


def test_one_effect_for_each_judge_matches_statsmodels(constructed):
    import statsmodels.api as sm

    _, scores = constructed
    cell = (scores["model"] + scores["question_id"]).rank("dense").to_numpy().astype(int) - 1
    columns = [np.eye(24)[cell]]
    columns += [(scores["judge"] == judge).to_numpy()[:, None] for judge in ("j1", "j2")]
    for judge, model in (("j0", "m0"), ("j1", "m1")):
        columns.append(((scores["judge"] == judge) & (scores["model"] == model)).to_numpy()[:, None])
    fit = sm.OLS(scores["score"].to_numpy(), np.hstack(columns).astype(float)).fit()
    report = leniency.self_preference(scores, variant="multimodal", selves={"j0": "m0", "j1": "m1"})
    found = report.filter(pl.col("judge").is_not_null(), method="did")["estimate"].to_list()
    assert found == pytest.approx(fit.params[-2:].tolist())


def test_slope_adjusted_effect_is_the_distance_from_the_line_of_neutral_models():
    cube = coverage.score_world(np.random.default_rng(1), 80, slope=0.1, taste=0.01, own=0.05)
    report = leniency.self_preference(cube, variant="multimodal", selves=coverage.SELVES)
    row = report.filter(judge="a", method="slope_adjusted").row(0, named=True)
    wide = cube.pivot(on="judge", index=["model", "question_id"], values="score")
    means = wide.group_by("model").agg(pl.col("a", "b", "c").mean()).sort("model")
    quality = ((means["b"] + means["c"]) / 2).to_numpy()
    gap = means["a"].to_numpy() - quality
    neutral = ~np.isin(means["model"].to_numpy(), list(coverage.SELVES.values()))
    import statsmodels.api as sm

    fit = sm.OLS(gap[neutral], sm.add_constant(quality[neutral])).fit()
    own = means["model"].to_list().index("m01")
    forecast = fit.get_prediction([[1.0, quality[own]]])
    assert row["estimate"] == pytest.approx(gap[own] - forecast.predicted_mean[0])
    assert row["high"] - row["low"] == pytest.approx(np.diff(forecast.conf_int(obs=True)[0])[0])
    assert (row["df"], row["placebos"]) == (9, 11)
    assert row["placebo_p"] >= 1 / 12


def test_families_are_kept_out_of_the_neutral_models_and_reported():
    scores = coverage.score_world(np.random.default_rng(2), 60, own=0.05)
    families = {"m01": "A", "m02": "A", "m03": "A", "m04": "B"}
    report = leniency.self_preference(scores, variant="multimodal", selves=coverage.SELVES, families=families)
    family = report.filter(effect="family")
    assert family["judge"].to_list() == [None, "a", None, "a"]
    # 14 models less three that judges are, less two relatives of judge a.
    assert family.filter(judge="a")["placebos"].to_list() == [9, 9]
    assert report.filter(judge="b", effect="self", method="did")["placebos"].to_list() == [11]


def test_a_judge_of_the_models_name_is_that_model():
    names = [f"m{i:02d}" for i in range(8)]
    cube = np.random.default_rng(3).normal(size=(40, 8, 3)) * 0.1
    cube[:, 2, 0] += 0.3
    scores = scores_of(cube, models=names, judges=["m02", "x", "y"])
    report = leniency.self_preference(scores, variant="multimodal")
    assert set(report["judge"].drop_nulls()) == {"m02"}
    assert report.filter(judge="m02", method="did")["estimate"][0] == pytest.approx(0.3, abs=0.1)


def test_self_minus_other_of_the_case(shared):
    folder = shared / "cases" / "24-judge-is-model"
    expected = json.loads((folder / "expected.json").read_text())["expect"]
    rows = [
        {"model": model, "judge": judge, "variant": "multimodal", "question_id": q, "score": score}
        for judge, scores in expected["scores"].items()
        for model, score in scores.items()
        for q in ("q1", "q2")
    ]
    gaps = leniency.judge_gaps(pl.DataFrame(rows), variant="multimodal")
    own = gaps.filter(judge="judge-a", model="judge-a")["estimate"][0]
    assert own == pytest.approx(expected["self_minus_other"]["judge-a"])
    # The other model is scored alike by both, so the difference in differences is the same.
    report = leniency.self_preference(pl.DataFrame(rows), variant="multimodal")
    assert report.filter(judge="judge-a", method="did")["estimate"][0] == pytest.approx(0.25)
    assert report.filter(judge="judge-a", method="slope_adjusted")["reason"][0] == "1 neutral models: a line needs four"


def test_effect_without_neutral_models_is_not_identified():
    scores = scores_of(np.random.default_rng(0).normal(size=(10, 1, 2)), models=["j0"])
    report = leniency.self_preference(scores, variant="multimodal")
    assert report.filter(method="did")["reason"].str.contains("no neutral model").all()


def test_no_judge_is_a_model_gives_an_empty_report():
    scores = scores_of(np.random.default_rng(0).normal(size=(10, 3, 2)))
    assert leniency.self_preference(scores, variant="multimodal").is_empty()


def test_preference_of_zero_is_seldom_found_and_one_of_three_points_is():
    for own, low, high in ((0.0, 0, 9), (0.03, 33, 40)):
        report = coverage._self_preference(60, 0.1, 0.0, own, 40, seed=21)
        rows = report.filter(pl.col("judge").is_null(), method="slope_adjusted")
        assert low <= (rows["p"] < 0.05).sum() <= high


def test_equivalence_needs_a_margin_wider_than_the_noise():
    p = leniency.equivalence_p(np.array([0.0, 0.0]), np.array([0.001, 0.02]), np.array([30, 30]), margin=0.01)
    assert p[0] < 0.001
    assert p[1] > 0.3


def test_renaming_models_and_judges_changes_no_effect():
    scores = coverage.score_world(np.random.default_rng(6), 40, own=0.02)
    renamed = scores.with_columns(
        pl.col("model").replace({f"m{i:02d}": f"z{13 - i:02d}" for i in range(14)}),
        pl.col("judge").replace({"a": "c", "b": "a", "c": "b"}),
    ).sample(fraction=1, shuffle=True, seed=1)
    first = leniency.self_preference(scores, variant="multimodal", selves={"a": "m01"})
    second = leniency.self_preference(renamed, variant="multimodal", selves={"c": "z12"})
    numbers = [column for column, kind in first.schema.items() if kind == pl.Float64]
    assert np.allclose(first.select(numbers).to_numpy(), second.select(numbers).to_numpy(), equal_nan=True)


# --- discordant checks


def test_odds_ratio_by_hand():
    # On its own model judge a wins 6 of 8 differing checks against b, on the neutral one 4 of 8: ratio 3.
    own = pair_tables([table(n_02=4, n_20=1), table(n_02=2, n_20=1)], model="a")
    other = pair_tables([table(n_02=3, n_20=2), table(n_02=1, n_20=2)], model="m")
    report = leniency.discordant_odds(pl.concat([own, other]))
    row = report.filter(judge="a").row(0, named=True)
    assert row["estimate"] == pytest.approx(np.log(3))
    assert (row["odds_self"], row["odds_other"], row["n"]) == (3.0, 1.0, 8)
    # Influence: 4/6 - 1/2 - 3/4 + 2/4 and its opposite.
    assert row["standard_error"] == pytest.approx(np.sqrt(2 * 2) * abs(4 / 6 - 1 / 2 - 3 / 4 + 1 / 2))
    assert report["judge"].to_list() == [None, "a"]


def test_odds_without_a_loss_have_no_bound_and_no_number():
    own = pair_tables([table(n_02=4), table(n_02=2)], model="a")
    report = leniency.discordant_odds(own)
    assert report["estimate"].to_list() == [None]
    assert report["odds_self"].to_list() == [None]
    assert "no bound" in report["reason"][0]


# --- cumulative link


@pytest.fixture
def wine(oracle):
    known = oracle("ordinal_clm_wine")
    return known, pl.DataFrame(known["data"]["wine"])


def test_cumulative_link_model_of_the_wine_data(wine):
    known, frame = wine
    report = leniency.cumulative_link(frame, response="rating", terms=["temp", "contact"], cluster="judge")
    found = dict(report.select("term", "estimate").rows())
    assert found["temp"] == pytest.approx(known["expected"]["clm"]["tempwarm"], abs=known["tolerance"])
    assert found["contact"] == pytest.approx(known["expected"]["clm"]["contactyes"], abs=known["tolerance"])
    assert report["log_likelihood"][0] == pytest.approx(known["expected"]["clm_ll"], abs=known["tolerance"])
    assert report["reason"].is_null().all()


def test_separated_responses_are_reported_not_printed():
    frame = pl.DataFrame({"question_id": [f"q{i}" for i in range(40)], "judge": ["a"] * 20 + ["b"] * 20})
    frame = frame.with_columns(
        verdict=pl.when(pl.col("judge") == "a").then(pl.lit("meets")).otherwise(pl.lit("missing"))
    )
    report = leniency.cumulative_link(frame)
    assert report["estimate"].to_list() == [None]
    assert report["reason"][0].startswith(("implausible fit", "degenerate fit", "the fit did not converge"))


def test_collinear_terms_and_a_single_response_are_refused(wine):
    _, frame = wine
    doubled = frame.with_columns(again=pl.col("temp"))
    report = leniency.cumulative_link(doubled, response="rating", terms=["temp", "again"], cluster="judge")
    assert set(report["reason"]) == {"the terms determine each other: no unique fit"}
    same = leniency.cumulative_link(
        frame.with_columns(rating=pl.lit("3")), response="rating", terms=["temp"], cluster="judge"
    )
    assert set(same["reason"]) == {"only one response occurs: nothing to fit"}


# --- published


def test_leniency_of_summhay_judges_against_the_human(shared):
    folder = shared / "real"
    figures = pl.read_csv(folder / "published_figures.csv").filter(pl.col("dataset") == "summhay")
    published = {figure: float(value) for figure, value in figures.select("figure_id", "ours").rows()}
    worth = {"FULL_COVERAGE": 1.0, "PARTIAL_COVERAGE": 0.5, "NO_COVERAGE": 0.0}
    answers = (
        pl.read_parquet(folder / "summhay" / "verdicts.parquet")
        .with_columns(pl.col("verdict").replace_strict(worth).alias("worth"))
        .group_by("model", "judge", question_id=pl.concat_str("question_id", "retriever", separator="|"))
        .agg(score=pl.col("worth").mean())
        .with_columns(variant=pl.lit("multimodal"))
    )
    checked = 0
    for judge in answers["judge"].unique():
        pair = answers.filter(pl.col("judge").is_in(["human", judge]))
        gaps = leniency.judge_gaps(pair, variant="multimodal").filter(judge=judge).drop_nulls("model")
        for model, gap in gaps.select("model", "estimate").rows():
            if f"T4.{model}.{judge}" in published:
                assert gap == pytest.approx(published[f"T4.{model}.{judge}"], abs=1e-9)
                checked += 1
    assert checked == 27
