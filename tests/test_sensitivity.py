"""Sensitivity to the constants, against exact rationals, the scalar score and probabilities worked by hand."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamut_analysis import sensitivity
from gamut_analysis.errors import InputError, ScoringError, UnknownName
from gamut_analysis.scoring import Scoring
from gamut_analysis.vocabulary import TIERS, VARIANTS, VERDICTS

CELL = {"judge": "judge-a", "variant": "multimodal"}
LETTERS = {"AC": "answer_critical", "V": "valuable", "C": "context"}
TWO_TIERS = {"answer_critical": (1, 0, 0, 0), "context": (0, 0, 1, 0)}


def counts_of(answers: dict[str, dict[str, dict[str, tuple[int, ...]]]], replicate: int = 0) -> pl.DataFrame:
    """A verdict-count frame from model -> question -> tier -> (meets, partially_meets, missing, contradicts)."""
    rows = [
        {
            "model": model,
            **CELL,
            "question_id": question,
            "replicate": replicate,
            "tier": tier,
            **dict(zip(VERDICTS, counts, strict=True)),
            "ungraded": 0,
            "checks": sum(counts),
            "answer_status": "answered",
        }
        for model, questions in answers.items()
        for question, tiers in questions.items()
        for tier, counts in tiers.items()
    ]
    enums = {"variant": pl.Enum(VARIANTS), "tier": pl.Enum(TIERS), "replicate": pl.Int32}
    return pl.DataFrame(rows).with_columns(pl.col(name).cast(dtype) for name, dtype in enums.items())


def spelt(tiers: dict[str, list[int]]) -> dict[str, tuple[int, ...]]:
    return {LETTERS[tier]: tuple(counts) for tier, counts in tiers.items()}


@st.composite
def worlds(draw: st.DrawFn) -> pl.DataFrame:
    """Up to four models on up to five questions; tiers may be empty, but the same ones for every model."""
    models = [f"m{i}" for i in range(draw(st.integers(2, 4)))]
    four = st.tuples(*[st.integers(0, 4)] * 4).filter(any)
    shapes = draw(st.lists(st.sets(st.sampled_from(TIERS), min_size=1), min_size=1, max_size=5))
    return counts_of(
        {m: {f"q{i}": {tier: draw(four) for tier in sorted(shape)} for i, shape in enumerate(shapes)} for m in models}
    )


def by_scoring(counts: pl.DataFrame, scoring: Scoring) -> dict[str, float]:
    table = scoring.models(scoring.questions(counts))
    return dict(zip(table["model"], table["score"], strict=True))


def test_flips_equal_the_exact_thresholds(oracle):
    case = oracle("gamut_rank_flip_thresholds")
    counts = counts_of({model: {"q1": spelt(case["data"][model])} for model in ("a", "b")})
    flips = sensitivity.flip_thresholds(counts, **CELL)
    found = {row["constant"]: row for row in flips.iter_rows(named=True) if row["threshold"] is not None}
    expected = case["expected"]
    for constant, name in [("lambda_", "lambda_star"), ("mu", "mu_star"), ("w_answer_critical", "w_AC_star")]:
        assert found[constant]["threshold"] == pytest.approx(expected[name], abs=case["tolerance"])
    assert (found["mu"]["leader"], found["mu"]["other"]) == ("b", "a")
    assert found["mu"]["difference"] == pytest.approx(expected["score_b"] - expected["score_a"], abs=1e-12)
    # lambda* = -7/64 lies outside [0, 1]: reported, and marked as beyond reach.
    assert not found["lambda_"]["attainable"]
    assert found["mu"]["attainable"]


def test_the_grid_equals_the_exact_scores_of_every_constant(oracle):
    case = oracle("gamut_scoring_lambda_mu_grid")
    number = {"1/2": 0.5, "-1/2": -0.5}
    checked = 0
    for name, tiers in case["data"]["cases"].items():
        counts = counts_of({"m": {"q1": spelt(tiers)}})
        for key, expected in case["expected"][name].items():
            lam, mu = (number.get(part.split("=")[1]) or float(part.split("=")[1]) for part in key.split(","))
            if mu == 0:
                continue
            weights = [(0.6, 0.3, 0.1), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
            grid = sensitivity.score_grid(counts, **CELL, lambdas=[lam], mus=[mu], weights=weights)
            wanted = [expected["overall"], *(expected["tiers"][letter] for letter in LETTERS)]
            assert grid["score"].to_list() == pytest.approx(wanted, abs=case["tolerance"])
            checked += len(wanted)
    assert checked == 72


def test_both_readings_of_an_empty_tier():
    # Case 46: q2 has no Valuable check (AC 1, C 0): 6/7 in proportion, 0.6 + 0.15 = 0.75 in equal parts.
    # q3 has no Answer-Critical one (V 1/2, C -1): (0.3/2 - 0.1)/0.4 = 0.125, and 0.6/2 - 0.4 = -0.1.
    tiers = (
        {"answer_critical": (1, 0, 0, 0), "context": (0, 0, 1, 0)},
        {"valuable": (0, 1, 0, 0), "context": (0, 0, 0, 1)},
    )
    row = sensitivity.empty_tier_readings(counts_of({"m": {"q2": tiers[0], "q3": tiers[1]}}), **CELL).row(0, named=True)
    assert row["proportional"] == pytest.approx((6 / 7 + 0.125) / 2)
    assert row["equal"] == pytest.approx((0.75 - 0.1) / 2)
    assert row["estimate"] == pytest.approx(row["equal"] - row["proportional"])
    assert row["affected"] == 1
    assert row["low"] < row["estimate"] < row["high"]


@settings(max_examples=15, deadline=None)
@given(worlds(), st.floats(0, 1), st.floats(-6, -0.1), st.tuples(*[st.floats(0.05, 1)] * 3))
def test_any_setting_equals_scoring_the_answers_again(counts, lam, mu, weights):
    grid = sensitivity.score_grid(counts, **CELL, lambdas=[lam], mus=[mu], weights=[weights])
    expected = by_scoring(counts, Scoring(lam, mu, weights))
    assert dict(zip(grid["model"], grid["score"], strict=True)) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=15, deadline=None)
@given(worlds())
def test_models_are_tied_at_their_thresholds(counts):
    flips = sensitivity.flip_thresholds(counts, **CELL).filter(pl.col("attainable"))
    for row in flips.iter_rows(named=True):
        constants = {"lambda_": 0.5, "mu": -2.0, "weights": (0.6, 0.3, 0.1)}
        if row["constant"].startswith("w_"):
            tier = TIERS.index(row["constant"][2:])
            others = 1 - constants["weights"][tier]
            rest = [w * (1 - row["threshold"]) / others for w in constants["weights"]]
            constants["weights"] = tuple(row["threshold"] if i == tier else w for i, w in enumerate(rest))
        else:
            constants[row["constant"]] = row["threshold"]
        scores = by_scoring(counts, Scoring(**constants))
        assert scores[row["leader"]] == pytest.approx(scores[row["other"]], abs=1e-9)


@settings(max_examples=10, deadline=None)
@given(worlds(), st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter_and_names_only_rename(counts, random):
    order = list(range(counts.height))
    random.shuffle(order)
    grid = {"lambdas": [0, 0.5, 1], "mus": [-1, -2], "weights": sensitivity.weight_simplex(4)}
    straight = sensitivity.ranking_grid(counts, **CELL, **grid)
    assert sensitivity.ranking_grid(counts[order], **CELL, **grid).equals(straight)
    renamed = counts.with_columns((pl.lit("z") + pl.col("model").str.reverse()).alias("model"))
    again = sensitivity.ranking_grid(renamed, **CELL, **grid)
    assert again["first"].to_list() == [first and "z" + first[::-1] for first in straight["first"]]
    for column in ("gap", "tau", "discordant"):
        assert again[column].to_list() == pytest.approx(straight[column].to_list(), abs=1e-12)


def test_who_is_first_changes_where_the_partial_credit_does():
    # a: 5 of 10 met -> 1/2 whatever lambda. b: 4 met, 4 partially -> 0.4 + 0.4 lambda. Tied at 1/4.
    tier = "answer_critical"
    counts = counts_of({"a": {"q": {tier: (5, 0, 5, 0)}}, "b": {"q": {tier: (4, 4, 2, 0)}}})
    grid = sensitivity.ranking_grid(counts, **CELL, lambdas=[0, 0.25, 1])
    assert grid["first"].to_list() == ["a", None, "b"]
    assert grid["gap"].to_list() == pytest.approx([0.1, 0, 0.3])
    assert grid["tau"].to_list() == [-1, None, 1]
    assert grid["discordant"].to_list() == [1, 0, 0]
    assert grid["reason"].to_list() == [None, "2 models share first place", None]
    flips = sensitivity.flip_thresholds(counts, **CELL)
    assert flips.filter(constant="lambda_")["threshold"].to_list() == pytest.approx([0.25])
    assert flips.filter(constant="mu")["reason"].to_list() == ["no flip from -10 to -0.01"]


def test_tau_counts_ties_as_tau_b_does():
    # Scores at the default 1, 1/2, 1/2, 0; at lambda = 0 they are 1, 1/2, 0, 0: of six pairs four stay as they are, one
    # tie opens, another closes: tau-b = 4 / sqrt(5 * 5) = 0.8.
    tier = "answer_critical"
    answers = {"a": (2, 0, 0, 0), "b": (1, 0, 1, 0), "c": (0, 2, 0, 0), "d": (0, 0, 2, 0)}
    counts = counts_of({model: {"q": {tier: four}} for model, four in answers.items()})
    assert sensitivity.ranking_grid(counts, **CELL, lambdas=[0])["tau"].item() == pytest.approx(0.8)


def test_a_pair_may_flip_more_than_once():
    # Twice a - b = (20 - 3k)/(20 + 3k) - (1 - k)/(1 + k) - 1/3 in k = |mu|: -1/3 at 0, +0.41 at 1, -1/3 in the limit.
    tier = "answer_critical"
    a = {"q1": {tier: (20, 0, 0, 3)}, "q2": {tier: (0, 0, 1, 0)}}
    b = {"q1": {tier: (1, 0, 0, 1)}, "q2": {tier: (4, 0, 8, 0)}}
    flips = sensitivity.flip_thresholds(counts_of({"a": a, "b": b}), **CELL, mu_range=(-1000, -0.001))
    roots = flips.filter(constant="mu")
    assert roots.height == 2
    for root in roots["threshold"]:
        near = [by_scoring(counts_of({"a": a, "b": b}), Scoring(mu=root * factor)) for factor in (0.999, 1.001)]
        assert (near[0]["a"] - near[0]["b"]) * (near[1]["a"] - near[1]["b"]) < 0
    assert roots["shift"].abs().is_sorted()


def test_identical_models_have_no_threshold():
    counts = counts_of({model: {"q": {"valuable": (2, 1, 1, 1)}} for model in ("a", "b")})
    flips = sensitivity.flip_thresholds(counts, **CELL)
    assert flips["threshold"].null_count() == flips.height == 5
    assert set(flips["reason"]) == {"tied at every value"}


def test_probability_of_another_leader_under_a_flat_prior():
    # a scores w_AC, b scores 1 - w_AC. Flat on the simplex P(w_AC < 1/2) = 1 - (1/2)^2 = 3/4.
    nothing, all_of_it = (0, 0, 1, 0), (1, 0, 0, 0)
    a = dict(zip(TIERS, (all_of_it, nothing, nothing), strict=True))
    b = dict(zip(TIERS, (nothing, all_of_it, all_of_it), strict=True))
    table = sensitivity.top_stability(counts_of({"a": {"q": a}, "b": {"q": b}}), **CELL, concentrations=[1e6])
    flat, tight = table.iter_rows(named=True)
    assert flat["low"] < 0.75 < flat["high"]
    assert flat["high"] - flat["low"] < 0.02
    assert (flat["first"], flat["rival"], flat["n"]) == ("a", "b", 10_000)
    assert (tight["estimate"], tight["rival"], tight["tau"]) == (0, None, 1)


def test_sources_of_uncertainty_separate_questions_from_constants():
    # No contradictions and no partial ones, one tier: the constants cannot matter, the questions can.
    generator = np.random.default_rng(1)
    meets = generator.integers(0, 11, size=(2, 200))
    answers = {
        f"m{i}": {f"q{j}": {"valuable": (int(m), 0, 10 - int(m), 0)} for j, m in enumerate(row)}
        for i, row in enumerate(meets)
    }
    table = sensitivity.uncertainty_sources(counts_of(answers), **CELL, replicates=4000)
    by = {(row["model"], row["source"]): row for row in table.iter_rows(named=True)}
    for i in range(2):
        scores = meets[i] / 10
        error = scores.std(ddof=1) / np.sqrt(200)
        sampled, specified, both = (by[f"m{i}", source] for source in sensitivity.SOURCES)
        assert specified["standard_deviation"] == pytest.approx(0, abs=1e-12)
        assert specified["low"] == pytest.approx(specified["estimate"]) == pytest.approx(scores.mean())
        for row in (sampled, both):
            assert row["standard_deviation"] == pytest.approx(error, rel=0.06)
            assert (row["low"], row["high"]) == pytest.approx(
                (scores.mean() - 1.96 * error, scores.mean() + 1.96 * error), abs=0.006
            )
    assert sum(by[f"m{i}", "sampling"]["first"] for i in range(2)) == pytest.approx(1)


def test_questions_of_one_cluster_are_resampled_together():
    answers = {"a": {f"q{i}": {"valuable": (i % 3, 0, 2, 0)} for i in range(6)}}
    twice = counts_of({"a": {**answers["a"], **{q + "-copy": tiers for q, tiers in answers["a"].items()}}})
    clusters = pl.DataFrame({"question_id": twice["question_id"].unique()}).with_columns(
        pl.col("question_id").str.strip_suffix("-copy").alias("cluster")
    )
    once = sensitivity.uncertainty_sources(counts_of(answers), **CELL, replicates=500)
    again = sensitivity.uncertainty_sources(twice, **CELL, questions=clusters, replicates=500)
    for column in ("low", "high", "standard_deviation"):
        assert again[column].to_list() == pytest.approx(once[column].to_list(), abs=1e-6)
    assert again["warning"][0].startswith("6 questions or clusters")


def test_one_question_gives_no_interval():
    table = sensitivity.uncertainty_sources(counts_of({"a": {"q": TWO_TIERS}}), **CELL, replicates=50)
    sampled = table.filter(pl.col("source") != "specification")
    assert sampled["low"].null_count() == 2
    assert set(sampled["reason"]) == {"one question: no interval"}


def test_replicates_are_averaged_as_scoring_does():
    first, second = ((1, 1, 2, 1), (4, 0, 1, 0)), ((2, 1, 2, 0), (3, 0, 1, 1))
    frames = [
        counts_of({"a": {"q1": {TIERS[0]: one[0], TIERS[2]: one[1]}, "q2": {TIERS[1]: one[1]}}}, replicate)
        for replicate, one in enumerate((first, second))
    ]
    counts = pl.concat(frames)
    grid = sensitivity.score_grid(counts, **CELL)
    assert grid["score"].item() == pytest.approx(by_scoring(counts, Scoring())["a"], abs=1e-12)


def test_models_are_compared_on_their_common_questions():
    # c lacks q2 (one check ungraded), so all are compared on q1 alone; leaving c out brings q2 back.
    full = {"q1": {TIERS[0]: (1, 0, 1, 0)}, "q2": {TIERS[0]: (2, 0, 0, 0)}}
    counts = counts_of(dict.fromkeys("abc", full))
    short = (pl.col("model") == "c") & (pl.col("question_id") == "q2")
    counts = counts.with_columns(
        pl.when(short).then(1).otherwise("meets").alias("meets"), pl.when(short).then(1).otherwise(0).alias("ungraded")
    )
    grid = sensitivity.score_grid(counts, **CELL)
    assert (grid["score"].to_list(), grid["n"].to_list()) == ([0.5] * 3, [1] * 3)
    grid = sensitivity.score_grid(counts, **CELL, models=["b", "a"])
    assert (grid["model"].to_list(), grid["score"].to_list(), grid["n"].to_list()) == (["a", "b"], [0.75] * 2, [2] * 2)


def test_no_common_question_is_said_not_computed():
    counts = counts_of({"a": {"q1": TWO_TIERS}, "b": {"q2": TWO_TIERS}})
    row = sensitivity.ranking_grid(counts, **CELL).row(0, named=True)
    assert (row["first"], row["tau"], row["n"]) == (None, None, 0)
    assert row["reason"] == "no question is scored for every model"
    assert set(sensitivity.flip_thresholds(counts, **CELL)["reason"]) == {"no question is scored for every model"}
    assert sensitivity.top_stability(counts, **CELL)["estimate"].null_count() == 5
    assert sensitivity.empty_tier_readings(counts, **CELL)["estimate"].null_count() == 2
    with pytest.raises(InputError, match="leave out those with gaps"):
        sensitivity.uncertainty_sources(counts, **CELL)


def test_cells_rebuild_the_score_by_their_formula():
    answers = {"a": {"q1": spelt({"AC": [3, 1, 1, 1], "V": [0, 0, 4, 0]}), "q2": spelt({"C": [1, 1, 0, 2]})}}
    cells = sensitivity.score_cells(counts_of(answers), **CELL)
    share = {0b011: {"answer_critical": 2 / 3, "valuable": 1 / 3}, 0b100: {"context": 1}}
    total = sum(
        share[row["pattern"]][row["tier"]]
        * (row["meets"] + 0.5 * row["partially_meets"] - 2 * row["contradicted"] * row["answers"])
        / (row["others"] + 2 * row["contradicted"])
        for row in cells.iter_rows(named=True)
    )
    # q1: 1/7 (worked in rubrics); q2: (1 + 0.5 - 4) / (2 + 4) = -2.5/6.
    assert total / cells["n"][0] == pytest.approx((1 / 7 - 2.5 / 6) / 2)


def test_constants_outside_their_domain_are_refused():
    counts = counts_of({"a": {"q": TWO_TIERS}})
    for axes in ({"mus": [-1, 0]}, {"lambdas": [1.2]}, {"weights": [(1, 0)]}, {"weights": [(0, 0, 0)]}):
        with pytest.raises(ScoringError):
            sensitivity.ranking_grid(counts, **CELL, **axes)
    with pytest.raises(ScoringError):
        sensitivity.flip_thresholds(counts, **CELL, mu_range=(-1, 1))
    with pytest.raises(UnknownName, match="proportional, equal"):
        sensitivity.score_grid(counts, **CELL, split="even")


def test_unknown_names_list_the_nearest():
    counts = counts_of({"alpha": {"q": TWO_TIERS}})
    with pytest.raises(UnknownName, match="judge-a"):
        sensitivity.score_grid(counts, judge="judge-b", variant="multimodal")
    with pytest.raises(UnknownName, match="alpha"):
        sensitivity.score_grid(counts, **CELL, models=["alfa"])


def test_the_simplex_has_the_171_triples_of_twentieths():
    simplex = sensitivity.weight_simplex(20)
    assert simplex.shape == (171, 3)
    assert np.allclose(simplex.sum(axis=1), 1)
    assert simplex.min() == pytest.approx(0.05)
