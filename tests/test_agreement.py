"""Agreement on checks, against hand-worked cases, oracles, other packages and published data."""

import json
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamut_analysis import agreement
from gamut_analysis.agreement import tally_ratings, tally_table
from gamut_analysis.errors import InputError
from gamut_analysis.vocabulary import TIERS, VERDICTS
from tests.coverage import agreement as coverage

REAL_LABELS = {
    "Entailment": "meets",
    "Neutral": "missing",
    "Contradiction": "contradicts",
    "present": "meets",
    "not_present": "missing",
    "FULL_COVERAGE": "meets",
    "PARTIAL_COVERAGE": "partially_meets",
    "NO_COVERAGE": "missing",
}


def coded(rows, labels):
    return np.array([[np.nan if label is None else labels.index(label) for label in row] for row in rows], dtype=float)


def verdicts_of(ratings):
    """Verdicts of judges on the checks of one question: {judge: [label or None, ...]}."""
    return pl.DataFrame(
        [
            {"question_id": "q1", "check_id": f"c{i}", "judge": judge, "verdict": label}
            for judge, labels in ratings.items()
            for i, label in enumerate(labels)
        ],
        schema={"question_id": pl.String, "check_id": pl.String, "judge": pl.String, "verdict": pl.String},
    )


def pair_tables(tables_by_question):
    """Tables in the shape of the mart from {question: 4 x 4}, judges a and b."""
    frames = []
    for question, table in tables_by_question.items():
        for names, oriented in ((("a", "b"), np.asarray(table)), (("b", "a"), np.asarray(table).T)):
            cells = dict(zip(agreement.TABLE_COLUMNS, oriented.ravel().tolist(), strict=True))
            frames.append({"question_id": question, "judge_a": names[0], "judge_b": names[1]} | cells)
    return pl.DataFrame(frames)


def estimates(report):
    return dict(report.select("coefficient", "estimate").rows())


@pytest.fixture(scope="module")
def world():
    """Verdicts of three judges on two models and 30 questions, some ungraded."""
    rng = np.random.default_rng(5)
    rows = []
    for model in ("m1", "m2"):
        for q in range(30):
            for c in range(rng.integers(2, 6)):
                truth = rng.integers(4)
                for judge in ("a", "b", "c"):
                    code = truth if rng.random() < 0.7 else rng.integers(4)
                    verdict = VERDICTS[code] if rng.random() < 0.9 else None
                    rows.append((model, "multimodal", f"q{q:02d}", f"c{c}", judge, verdict))
    names = ["model", "variant", "question_id", "check_id", "judge", "verdict"]
    return pl.DataFrame(rows, schema=names, orient="row")


# --- textbook data


COEFFICIENTS = {
    "percent": agreement.percent_agreement,
    "kappa": agreement.kappa,
    "conger": agreement.kappa,
    "conger_kappa": agreement.kappa,
    "fleiss": agreement.fleiss_kappa,
    "fleiss_kappa": agreement.fleiss_kappa,
    "scott": agreement.fleiss_kappa,
    "krippendorff_nominal": agreement.krippendorff_alpha,
    "krippendorff_alpha_nominal": agreement.krippendorff_alpha,
    "ac": agreement.gwet_ac,
    "gwet_ac1": agreement.gwet_ac,
    "gwet_ac1_q4": agreement.gwet_ac,
    "bp": agreement.brennan_prediger,
    "brennan_prediger": agreement.brennan_prediger,
    "brennan_prediger_q4": agreement.brennan_prediger,
}


def test_edge_cases_with_four_labels_are_exact_and_undefined_ones_are_nan(oracle):
    known = oracle("agreement_edge_cases")
    for case, rows in known["data"]["cases"].items():
        tallies = tally_ratings(coded(rows, known["data"]["categories"]))
        for name, value in known["expected"][case].items():
            expected = np.nan if value is None else value
            assert COEFFICIENTS[name](tallies) == pytest.approx(expected, abs=known["tolerance"], nan_ok=True), (
                case,
                name,
            )


def test_fleiss_1971(oracle):
    known = oracle("fleiss1971_psychiatric")
    tallies = tally_ratings(coded(known["data"]["ratings"], known["data"]["categories"]), q=5)
    for name, value in known["expected"].items():
        assert COEFFICIENTS[name](tallies) == pytest.approx(value, abs=known["tolerance"]), name


def test_krippendorff_2011_with_missing_ratings(oracle):
    known = oracle("krippendorff2011_canonical")
    tallies = tally_ratings(coded(known["data"]["raters_by_units"], [1, 2, 3, 4, 5]).T, q=5)
    values = np.arange(1, 6)
    ratio = (np.subtract.outer(values, values) / np.add.outer(values, values)) ** 2
    for name, value in known["expected"].items():
        metric = ratio if name == "ratio" else name
        assert agreement.krippendorff_alpha(tallies, metric) == pytest.approx(value, abs=known["tolerance"]), name


def test_gwet_4_raters_with_missing_ratings_and_a_declared_fifth_label(oracle):
    known = oracle("gwet_4raters_12subjects")
    tallies = tally_ratings(coded(known["data"]["ratings"], known["data"]["categories"]), q=5)
    for kind, values in known["expected"].items():
        weights = agreement.agreement_weights("nominal" if kind == "identity" else kind, 5)
        for name in ("percent", "ac", "fleiss", "conger", "bp"):
            value = COEFFICIENTS[name](tallies, weights)
            assert value == pytest.approx(values[name], abs=known["tolerance"]), (kind, name)


def linearised_error(table, coefficient):
    """Standard error with each check a cluster, without the factor n / (n - 1): as irrCAC has it for tables."""
    q = len(table)
    units = np.repeat(np.eye(q * q), np.asarray(table).ravel(), axis=0).T.reshape(q, q, -1)
    influence = coefficient(tally_table(units.sum(axis=2, keepdims=True) + 1e-20j * units)).imag / 1e-20
    return np.sqrt((influence**2).sum())


def test_gwet_table_of_two_raters_with_standard_errors(oracle):
    known = oracle("gwet_3x3_abstractors")
    table = np.array(known["data"]["table"])
    for kind, values in known["expected"].items():
        weights = agreement.agreement_weights("nominal" if kind == "identity" else kind, 3)
        for name in ("percent", "kappa", "ac", "scott", "bp"):
            value = COEFFICIENTS[name](tally_table(table), weights)
            assert value == pytest.approx(values[name], abs=known["tolerance"]), (kind, name)
        for name, coefficient in (("se_kappa", agreement.kappa), ("se_ac", agreement.gwet_ac)):
            error = linearised_error(table, lambda tallies, f=coefficient, w=weights: f(tallies, w))
            assert error == pytest.approx(values[name], abs=known["tolerance"]), (kind, name)


def test_cicchetti_allison_weighted_kappas(oracle):
    known = oracle("cicchetti_allison_sas_skin_4x4")
    tallies, tolerance = tally_table(np.array(known["data"]["table"])), known["tolerance"]
    assert agreement.kappa(tallies) == pytest.approx(known["expected"]["kappa"], abs=tolerance)
    assert agreement.kappa(tallies, "linear") == pytest.approx(known["expected"]["linear"], abs=tolerance)
    assert agreement.kappa(tallies, "quadratic") == pytest.approx(known["expected"]["quadratic"], abs=tolerance)
    error = linearised_error(known["data"]["table"], agreement.kappa)
    assert error == pytest.approx(known["expected"]["se"], abs=tolerance)


def test_cohen_1968_with_weights_of_its_own(oracle):
    known = oracle("cohen1968_weighted_kappa")
    tallies = tally_table(np.array(known["data"]["counts"]))
    weights = 1 - np.array(known["data"]["disagreement_weights"]) / 6
    assert agreement.kappa(tallies) == pytest.approx(known["expected"]["kappa"], abs=known["tolerance"])
    assert agreement.kappa(tallies, weights) == pytest.approx(
        known["expected"]["weighted_kappa"], abs=known["tolerance"]
    )


def test_vision_kappas(oracle):
    known = oracle("stuart_maxwell_vision")
    tallies = tally_table(np.array(known["data"]["table"]))
    for name, kind in (("kappa", "nominal"), ("kappa_lin", "linear"), ("kappa_quad", "quadratic")):
        assert agreement.kappa(tallies, kind) == pytest.approx(known["expected"][name], abs=known["tolerance"])


def test_every_resample_of_three_questions_gives_the_exact_bootstrap_variance(oracle):
    known = oracle("clustered_agreement_bootstrap_exact")
    tables = np.zeros((4, 4, 3))
    for question, pairs in enumerate(known["data"]["questions"]):
        for first, second in pairs:
            tables[VERDICTS.index(first), VERDICTS.index(second), question] += 1
    draws = np.array(list(np.ndindex(3, 3, 3)))
    weights = np.stack([(draws == question).sum(axis=1) for question in range(3)])
    for name, coefficient in (
        ("percent", agreement.percent_agreement),
        ("kappa", agreement.kappa),
        ("ac1", agreement.gwet_ac),
    ):
        assert coefficient(tally_table(tables.sum(axis=2))) == pytest.approx(
            known["expected"]["point"][name], abs=1e-12
        )
        resampled = coefficient(tally_table(tables @ weights))
        assert resampled.var() == pytest.approx(known["expected"]["boot_var"][name], abs=known["tolerance"])
    # The report multiplies by G / (G - 1) = 3/2 under the root; the oracle is without it.
    report = agreement.pair_agreement(
        pair_tables({f"q{i}": tables[:, :, i].astype(int) for i in range(3)}), replicates=50
    )
    error = report.filter(coefficient="percent")["standard_error"][0]
    assert error * np.sqrt(2 / 3) == pytest.approx(known["expected"]["se_percent_linearised"], abs=known["tolerance"])


# --- other packages


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_krippendorff_package_agrees_with_missing_ratings(seed):
    krippendorff = pytest.importorskip("krippendorff")
    rng = np.random.default_rng(seed)
    ratings = rng.integers(0, 4, size=(12, 4)).astype(float)
    ratings[rng.random(ratings.shape) < 0.2] = np.nan
    for metric in ("nominal", "ordinal", "interval"):
        expected = krippendorff.alpha(ratings.T, level_of_measurement=metric, value_domain=[0, 1, 2, 3])
        assert agreement.krippendorff_alpha(tally_ratings(ratings), metric) == pytest.approx(expected, abs=1e-9)


def test_scikit_learn_and_statsmodels_agree():
    from sklearn.metrics import cohen_kappa_score
    from statsmodels.stats.inter_rater import fleiss_kappa

    rng = np.random.default_rng(3)
    ratings = rng.integers(0, 4, size=(200, 3))
    ratings[:, 1] = np.where(rng.random(200) < 0.6, ratings[:, 0], ratings[:, 1])
    pair = tally_ratings(ratings[:, :2])
    for ours, theirs in (("nominal", None), ("linear", "linear"), ("quadratic", "quadratic")):
        expected = cohen_kappa_score(ratings[:, 0], ratings[:, 1], weights=theirs)
        assert agreement.kappa(pair, ours) == pytest.approx(expected, abs=1e-12)
    counts = np.stack([(ratings == k).sum(axis=1) for k in range(4)], axis=1)
    assert agreement.fleiss_kappa(tally_ratings(ratings)) == pytest.approx(fleiss_kappa(counts), abs=1e-12)


# --- weights and verdicts


def test_points_weights_are_one_minus_the_gap_in_worth_over_three():
    # Worth 1, .5, 0, -2: meets and contradicts are 3 apart, partial and missing .5, missing and contradicts 2.
    weights = agreement.agreement_weights("points")
    assert weights[0, 3] == 0
    assert weights[1, 2] == pytest.approx(1 - 0.5 / 3)
    assert weights[2, 3] == pytest.approx(1 / 3)
    assert (weights == weights.T).all()


def test_unknown_weights_and_metrics_are_refused_with_the_legal_ones():
    with pytest.raises(ValueError, match="nominal, linear, quadratic, ordinal or points"):
        agreement.agreement_weights("cubic")
    with pytest.raises(ValueError, match="nominal, ordinal, interval"):
        agreement.krippendorff_alpha(tally_table(np.eye(4)), "cubic")


def test_one_verdict_against_the_rest_is_the_folded_table():
    # Folded on contradicts: both 2, only a 1, only b 3, neither 14; specific agreement 4 / (4 + 4) = .5.
    table = np.array([[6, 1, 0, 2], [0, 3, 0, 0], [1, 0, 3, 1], [0, 1, 0, 2]])
    folded = tally_table(np.array([[2, 1], [3, 14]]))
    report = agreement.pair_verdict_agreement(
        pair_tables({"q1": table, "q2": table * 0 + np.diag([0, 0, 0, 0])}), replicates=20
    )
    found = estimates(report.filter(verdict="contradicts"))
    assert found["specific"] == pytest.approx(0.5)
    assert found["kappa"] == pytest.approx(float(agreement.kappa(folded)))
    assert found["alpha"] == pytest.approx(float(agreement.krippendorff_alpha(folded)))
    # q = 2: the verdict or another one.
    assert found["ac1"] == pytest.approx(float(agreement.gwet_ac(folded)))


# --- patterns and tables


def test_patterns_and_tables_count_checks_not_ungraded_ones():
    verdicts = verdicts_of(
        {"a": ["meets", "meets", "missing"], "b": ["meets", "missing", None], "c": [None, None, "missing"]}
    )
    patterns = agreement.verdict_patterns(verdicts, by=())
    assert dict(patterns.select("pattern", "checks").rows()) == {
        '{"a": "meets", "b": "meets"}': 1,
        '{"a": "meets", "b": "missing"}': 1,
        '{"a": "missing", "c": "missing"}': 1,
    }
    tables = agreement.verdict_tables(verdicts, by=())
    assert tables.filter(judge_a="a", judge_b="b").select("n_00", "n_02", "n_22").row(0) == (1, 1, 0)
    assert tables.filter(judge_a="b", judge_b="a").select("n_00", "n_02", "n_20").row(0) == (1, 0, 1)
    assert tables.filter(judge_a="c", judge_b="a")["n_22"].to_list() == [1]
    assert tables.filter(judge_a="b", judge_b="c").is_empty()


def test_tables_are_transposes_of_each_other(world):
    tables = agreement.verdict_tables(world)
    turned = {f"n_{i}{j}": f"n_{j}{i}" for i in range(4) for j in range(4)}
    swapped = tables.rename({"judge_a": "judge_b", "judge_b": "judge_a"} | turned).select(tables.columns)
    keys = ["model", "variant", "question_id", "judge_a", "judge_b"]
    assert swapped.sort(keys).equals(tables.sort(keys))


def test_two_verdicts_of_one_judge_on_one_check_are_refused():
    verdicts = pl.concat([verdicts_of({"a": ["meets"], "b": ["meets"]}), verdicts_of({"a": ["missing"]})])
    with pytest.raises(InputError, match="two verdicts of one judge"):
        agreement.verdict_patterns(verdicts, by=())


def test_tables_with_one_order_only_are_refused():
    tables = pair_tables({"q1": np.eye(4, dtype=int)})
    with pytest.raises(InputError, match="both orders"):
        agreement.pair_agreement(tables.filter(judge_a="a"))


def test_a_pattern_with_a_label_that_is_no_verdict_is_refused():
    patterns = pl.DataFrame({"question_id": ["q1"], "pattern": ['{"a": "yes"}'], "checks": [1]})
    with pytest.raises(InputError, match="no verdict"):
        agreement.agreement(patterns)


# --- reports


def test_pairs_from_tables_equal_pairs_from_ratings(world):
    report = agreement.pair_agreement(agreement.verdict_tables(world), replicates=20)
    wide = world.pivot(on="judge", index=["model", "question_id", "check_id"], values="verdict")
    for a, b in combinations("abc", 2):
        tallies = tally_ratings(coded(wide.select(a, b).drop_nulls().rows(), list(VERDICTS)))
        found = estimates(report.filter(judge_a=a, judge_b=b))
        for name, coefficient in agreement.coefficients().items():
            assert found[name] == pytest.approx(float(coefficient(tallies)), abs=1e-12), name


def test_all_judges_from_patterns_equal_the_ratings_with_missing_ones(world):
    found = estimates(agreement.agreement(agreement.verdict_patterns(world), replicates=20))
    wide = world.pivot(on="judge", index=["model", "question_id", "check_id"], values="verdict")
    tallies = tally_ratings(coded(wide.select("a", "b", "c").rows(), list(VERDICTS)))
    for name, coefficient in agreement.coefficients().items():
        assert found[name] == pytest.approx(float(coefficient(tallies)), abs=1e-12), name


def test_groups_are_reported_apart_with_their_own_numbers(world):
    patterns = agreement.verdict_patterns(world)
    by_model = agreement.agreement(patterns, by=["model"], replicates=200)
    for model in ("m1", "m2"):
        alone = agreement.agreement(patterns.filter(model=model), replicates=200)
        rows = by_model.filter(model=model)
        # Both models were asked the same questions, so the resamples are the same too.
        columns = ["estimate", "low", "high", "standard_error", "n", "clusters", "judges", *VERDICTS]
        assert np.allclose(rows.select(columns).to_numpy(), alone.select(columns).to_numpy(), atol=1e-6)


def test_intervals_surround_the_estimate_and_marginals_stand_beside_it(world):
    report = agreement.agreement(agreement.verdict_patterns(world), replicates=500)
    assert ((report["low"] < report["estimate"]) & (report["estimate"] < report["high"])).all()
    assert report.select(pl.sum_horizontal(VERDICTS)).to_series().to_list() == pytest.approx([1.0] * len(report))
    assert (report["judges"] == 3).all()
    assert report["warning"].is_null().all()
    pairs = agreement.pair_agreement(agreement.verdict_tables(world), replicates=50)
    sides = [pl.sum_horizontal(f"{side}_{verdict}" for verdict in VERDICTS).alias(side) for side in "ab"]
    assert np.allclose(pairs.select(sides).to_numpy(), 1)


def test_bootstrap_and_linearised_errors_tell_the_same(world):
    report = agreement.agreement(agreement.verdict_patterns(world), replicates=4000)
    half_width = ((report["high"] - report["low"]) / 2 / 2.05).to_numpy()
    assert np.allclose(half_width, report["standard_error"].to_numpy(), rtol=0.15)


def test_estimates_and_errors_match_a_loop_over_resamples():
    # Three questions by hand: two judges agree on 3 of 4, 1 of 2 and 2 of 2 checks; po = 6/8.
    tables = {
        "q1": np.diag([2, 0, 1, 0]) + np.array([[0, 0, 1, 0]] + [[0] * 4] * 3),
        "q2": np.array([[0, 0, 0, 1], [0, 1, 0, 0], [0] * 4, [0] * 4]),
        "q3": np.diag([1, 0, 1, 0]),
    }
    report = agreement.pair_agreement(pair_tables(tables), replicates=2000)
    row = report.filter(coefficient="percent").row(0, named=True)
    assert row["estimate"] == 0.75
    # Linearised: residuals 3 - .75*4 = 0, 1 - .75*2 = -.5, 2 - .75*2 = .5; sqrt(3/2 * .5) / 8.
    assert row["standard_error"] == pytest.approx(np.sqrt(1.5 * 0.5) / 8)
    assert (row["n"], row["clusters"]) == (8, 3)
    assert row["warning"] == "3 questions or clusters: fewer than 30, the interval may be too narrow"


def test_slices_keep_the_order_of_tiers_and_a_missing_role_is_a_group(world):
    tiers = pl.Enum(TIERS)
    sliced = world.with_columns(
        tier=pl.col("check_id").replace_strict({"c0": TIERS[2], "c1": TIERS[0]}, default=TIERS[1], return_dtype=tiers),
        role=pl.when(pl.col("check_id") != "c0").then(pl.lit("fact")),
    )
    patterns = agreement.verdict_patterns(sliced, by=["tier", "role"])
    report = agreement.agreement(patterns, by=["tier", "role"], replicates=50).filter(coefficient="percent")
    assert report.select("tier", "role").rows() == [(TIERS[0], "fact"), (TIERS[1], "fact"), (TIERS[2], None)]
    assert report["n"].sum() == agreement.agreement(patterns, replicates=2)["n"][0]


def test_a_domain_with_one_question_has_no_interval_beside_one_with_many(world):
    sliced = world.with_columns(
        domain=pl.when(pl.col("question_id") == "q00").then(pl.lit("rare")).otherwise(pl.lit("wide"))
    )
    report = agreement.agreement(agreement.verdict_patterns(sliced, by=["domain"]), by=["domain"], replicates=200)
    rare, wide = (report.filter(domain=name, coefficient="percent").row(0, named=True) for name in ("rare", "wide"))
    assert (rare["low"], rare["reason"]) == (None, "one question: no interval")
    assert wide["low"] < wide["estimate"] < wide["high"]
    assert wide["warning"] == "29 questions or clusters: fewer than 30, the interval may be too narrow"


# --- what is undefined


@pytest.fixture
def edge_cases(shared):
    folder = shared / "cases" / "38-agreement-edge-cases"
    return json.loads((folder / "ratings.json").read_text()), json.loads((folder / "expected.json").read_text())[
        "expect"
    ]


def panel(ratings):
    return agreement.agreement(agreement.verdict_patterns(verdicts_of(ratings), by=()), replicates=20)


def test_one_label_leaves_kappa_and_alpha_undefined_with_a_reason(edge_cases):
    ratings, _ = edge_cases
    report = panel(ratings["one_category"])
    found = estimates(report)
    assert found["percent"] == 1.0
    assert found["ac1"] == 1.0
    for name in ("kappa", "kappa_quadratic", "fleiss", "alpha_nominal", "alpha_ordinal", "alpha_interval"):
        row = report.filter(coefficient=name).row(0, named=True)
        assert row["estimate"] is None
        assert row["reason"] == "only one verdict occurs: chance agreement is complete"


def test_perfect_agreement_on_two_labels_is_one(edge_cases):
    ratings, expected = edge_cases
    found = estimates(panel(ratings["perfect"]))
    assert found["kappa"] == expected["perfect"]["kappa"]
    assert found["alpha_nominal"] == expected["perfect"]["alpha"]


def test_missing_labels_are_no_fifth_label(edge_cases):
    ratings, expected = edge_cases
    report = panel(ratings["missing_labels"])
    row = report.filter(coefficient="alpha_nominal").row(0, named=True)
    assert row["estimate"] == expected["missing_labels"]["alpha_nominal"]
    assert row["n"] == expected["missing_labels"]["units_used"]
    pairs = agreement.pair_agreement(
        agreement.verdict_tables(verdicts_of(ratings["missing_labels"]), by=()), replicates=20
    )
    undefined = pairs.filter(judge_a="a", judge_b="b", coefficient="kappa").row(0, named=True)
    assert (undefined["estimate"], undefined["n"]) == (None, 2)


def test_one_judge_and_judges_that_share_no_check_have_no_coefficient(edge_cases):
    ratings, _ = edge_cases
    alone, apart = panel(ratings["one_judge"]), panel(ratings["no_overlap"])
    assert alone["estimate"].is_null().all()
    assert set(alone["reason"]) == {"one judge: agreement needs two"}
    assert apart["estimate"].is_null().all()
    assert set(apart["reason"]) == {"no check was judged twice"}


def test_skewed_labels_show_low_kappa_beside_high_agreement_and_the_shares(edge_cases):
    ratings, expected = edge_cases
    report = panel(ratings["skewed"])
    found = estimates(report)
    assert found["percent"] == pytest.approx(expected["skewed"]["percent_agreement"], abs=1e-6)
    assert found["kappa"] == pytest.approx(expected["skewed"]["kappa"], abs=1e-6)
    assert found["alpha_nominal"] == pytest.approx(expected["skewed"]["alpha"], abs=1e-6)
    assert report["missing"][0] == pytest.approx(0.95)


def test_one_question_has_an_estimate_but_no_interval():
    report = panel({"a": ["meets", "missing", "meets"], "b": ["meets", "missing", "missing"]})
    assert report["estimate"].is_not_null().all()
    assert report["low"].is_null().all()
    assert set(report["reason"]) == {"one question: no interval"}


def test_judges_that_never_differ_have_no_interval_and_say_so():
    tables = pair_tables({"q1": np.diag([2, 0, 1, 0]), "q2": np.diag([1, 1, 0, 0])})
    row = agreement.pair_agreement(tables, replicates=50).filter(coefficient="percent").row(0, named=True)
    assert (row["estimate"], row["low"], row["high"]) == (1.0, None, None)
    assert row["reason"] == "every resample gives the same value: no interval"


def test_no_table_holds_nan(world):
    report = agreement.verdict_agreement(agreement.verdict_patterns(world), by=["model"], replicates=50)
    assert not report.select(pl.col(pl.Float64).is_nan().any()).row(0).count(True)


def test_no_verdict_at_all_is_an_empty_report_with_a_reason():
    verdicts = verdicts_of({"a": [None], "b": [None]})
    assert agreement.verdict_patterns(verdicts, by=()).is_empty()
    report = agreement.agreement(agreement.verdict_patterns(verdicts, by=()))
    assert report["estimate"].is_null().all()
    assert agreement.verdict_tables(verdicts, by=()).is_empty()


# --- laws


@given(st.permutations(["a", "b", "c"]), st.integers(0, 1000))
@settings(max_examples=8, deadline=None)
def test_renaming_judges_and_shuffling_rows_change_nothing(names, seed):
    verdicts = pl.DataFrame(
        {
            "question_id": np.repeat([f"q{i}" for i in range(6)], 12),
            "check_id": np.tile(np.repeat(["c1", "c2", "c3", "c4"], 3), 6),
            "judge": np.tile(["a", "b", "c"], 24),
            "verdict": np.array(VERDICTS)[np.random.default_rng(seed).integers(0, 4, 72)],
        }
    )
    renamed = verdicts.with_columns(pl.col("judge").replace(dict(zip("abc", names, strict=True))))
    shuffled = renamed.sample(fraction=1, shuffle=True, seed=seed)
    first, second = (
        agreement.agreement(agreement.verdict_patterns(frame, by=()), replicates=100) for frame in (verdicts, shuffled)
    )
    assert first.drop(pl.col(pl.Float64)).equals(second.drop(pl.col(pl.Float64)))
    numbers = first.select(pl.col(pl.Float64)).to_numpy(), second.select(pl.col(pl.Float64)).to_numpy()
    assert np.allclose(*numbers, rtol=0, atol=1e-6)


def test_row_order_never_matters(world):
    shuffled = world.sample(fraction=1, shuffle=True, seed=1)
    assert agreement.verdict_patterns(shuffled).equals(agreement.verdict_patterns(world))
    assert agreement.verdict_tables(shuffled).equals(agreement.verdict_tables(world))
    tables = agreement.verdict_tables(world)
    mixed = tables.sample(fraction=1, shuffle=True, seed=2)
    assert agreement.pair_agreement(mixed, replicates=100).equals(agreement.pair_agreement(tables, replicates=100))


def test_a_copy_of_every_question_in_its_cluster_changes_no_interval(world):
    copies = world.with_columns(pl.col("question_id") + "-copy")
    names = sorted(world["question_id"].unique())
    questions = pl.DataFrame({"question_id": names + [f"{name}-copy" for name in names], "cluster": names * 2})
    once = agreement.agreement(agreement.verdict_patterns(world), replicates=300)
    twice = agreement.agreement(
        agreement.verdict_patterns(pl.concat([world, copies])), questions=questions, replicates=300
    )
    kept = once["coefficient"].str.starts_with("alpha").not_()  # alpha has n - 1 in it
    columns = ["estimate", "low", "high", "standard_error"]
    assert np.allclose(
        once.filter(kept).select(columns).to_numpy(), twice.filter(kept).select(columns).to_numpy(), atol=1e-6
    )
    assert twice["clusters"].to_list() == once["clusters"].to_list()
    assert (twice["n"] == 2 * once["n"]).all()


# --- judges that are models


def test_self_judged_rows_are_marked_and_agreement_stands_with_and_without_them(shared):
    folder = shared / "cases" / "24-judge-is-model"
    verdicts = pl.read_ndjson(folder / "verdicts.jsonl")
    expected = json.loads((folder / "expected.json").read_text())["expect"]
    marked = verdicts.filter(agreement.self_judged(verdicts)).group_by("model", "judge").len()
    assert [list(row) for row in marked.rows()] == expected["self_judged"]
    rest = agreement.patterns_without_self(agreement.verdict_patterns(verdicts))
    alike = agreement.agreement(rest, replicates=100).filter(coefficient="percent")
    assert (alike["estimate"].item(), alike["n"].item()) == (expected["exact_agreement"]["without_self_judged"], 8)
    stacked = agreement.with_and_without_self(verdicts)
    tables = agreement.verdict_tables(stacked, by=["self_judged", "model"])
    report = agreement.pair_agreement(tables, by=["self_judged"], replicates=20).filter(coefficient="percent")
    found = dict(report.select("self_judged", "estimate").rows())
    assert found["with"] == expected["exact_agreement"]["all"]
    assert found["without"] == expected["exact_agreement"]["without_self_judged"]


def test_verdicts_of_a_judge_on_itself_leave_the_counts_by_its_name_or_by_what_is_said():
    rows = {"model": ["a", "b", "a"], "question_id": "q", "checks": [3, 2, 1]}
    texts = ['{"a": "meets", "b": "missing"}', '{"a": "meets", "b": "missing"}', '{"a": "meets"}']
    patterns = pl.DataFrame(rows).with_columns(pattern=pl.Series(texts))
    kept = agreement.patterns_without_self(patterns)
    # Of model a only b's verdicts stay, of model b only a's; the check that a alone graded goes.
    assert kept.select("model", "checks", "pattern").rows() == [
        ("a", 3, '{"b": "missing"}'),
        ("b", 2, '{"a": "meets"}'),
    ]
    assert agreement.patterns_without_self(patterns, {}).equals(patterns)
    named = agreement.patterns_without_self(patterns, {"b": "a"})
    assert named["pattern"].to_list() == ['{"a": "meets"}', texts[1], texts[2]]


def test_a_judge_may_be_a_model_under_another_name():
    frame = pl.DataFrame({"model": ["gpt-5", "gpt-5"], "judge_a": ["openai", "other"], "judge_b": ["other", "third"]})
    assert agreement.self_judged(frame, {"openai": "gpt-5"}).to_list() == [True, False]
    assert agreement.self_judged(frame).to_list() == [False, False]


# --- real data


def real(shared, name, *columns):
    frame = pl.read_parquet(shared / "real" / name / "verdicts.parquet")
    return frame.select(
        "model",
        "question_id",
        pl.col("check_id").cast(pl.String),
        "judge",
        *columns,
        pl.col("verdict").replace_strict(REAL_LABELS),
    )


def test_physicians_of_kqa_give_the_known_figures(shared):
    verdicts = real(shared, "kqa").filter(pl.col("judge").str.starts_with("physician"))
    found = estimates(agreement.agreement(agreement.verdict_patterns(verdicts, by=()), replicates=50))
    assert found["fleiss"] == pytest.approx(0.7189, abs=5e-5)
    assert found["alpha_nominal"] == pytest.approx(0.7191, abs=5e-5)
    pairs = agreement.pair_agreement(agreement.verdict_tables(verdicts, by=()), replicates=50).filter(
        coefficient="kappa"
    )
    assert pairs["estimate"].to_list() == pytest.approx([0.670, 0.761, 0.732], abs=5e-4)


def test_four_crowd_workers_of_realsumm_with_missing_ratings(shared):
    verdicts = real(shared, "realsumm")
    report = agreement.agreement(agreement.verdict_patterns(verdicts, by=["model"]), replicates=50)
    assert estimates(report)["alpha_nominal"] == pytest.approx(0.7195, abs=5e-5)
    assert (report["judges"] == 4).all()
    assert report["clusters"][0] == 100
    by_model = agreement.agreement(agreement.verdict_patterns(verdicts, by=["model"]), by=["model"], replicates=20)
    assert by_model["model"].n_unique() == 25


def test_seven_judges_on_the_sparse_grid_of_summhay(shared):
    verdicts = pl.read_parquet(shared / "real" / "summhay" / "verdicts.parquet").select(
        pl.concat_str("model", "retriever", separator="|").alias("model"),
        "question_id",
        "check_id",
        "judge",
        pl.col("verdict").replace_strict(REAL_LABELS),
    )
    tables = agreement.verdict_tables(verdicts, by=["model"])
    pairs = agreement.pair_agreement(tables, replicates=50)
    assert pairs.select("judge_a", "judge_b").n_unique() == 21
    assert (pairs["n"] == 1419).all()


# --- coverage, small


def test_intervals_cover_about_as_often_as_they_say():
    # 120 worlds: four standard errors of a coverage of .95 are .08, and thirteen coefficients are looked at.
    truth = estimates(agreement.agreement(coverage.verdict_world(np.random.default_rng(99), 20_000), replicates=2))
    rng, held = np.random.default_rng(11), dict.fromkeys(truth, 0)
    for _ in range(120):
        report = agreement.agreement(coverage.verdict_world(rng, 60), replicates=300)
        for name, low, high in report.select("coefficient", "low", "high").rows():
            held[name] += low <= truth[name] <= high
    assert min(held.values()) >= 0.87 * 120
