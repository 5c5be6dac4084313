"""Rates, points lost and items, against exact rationals, statsmodels-checked errors and cases worked by hand."""

import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamut_analysis import failures
from gamut_analysis.errors import UnknownName
from gamut_analysis.scoring import LOSSES, Scoring
from gamut_analysis.vocabulary import ROLES, TIERS, VARIANTS, VERDICTS, as_tier

SERIES = {"judge": "judge-a", "variant": "multimodal"}
LETTERS = {"AC": "answer_critical", "V": "valuable", "C": "context"}
ONE = {"model": "m", **SERIES}


def typed(frame: pl.DataFrame) -> pl.DataFrame:
    enums = {"variant": VARIANTS, "tier": TIERS, "role": ROLES, "verdict": VERDICTS}
    return frame.with_columns(
        pl.col(name).cast(pl.Enum(words)) for name, words in enums.items() if name in frame.columns
    )


def counts_of(answers: dict[str, dict[str, dict]], replicate: int = 0) -> pl.DataFrame:
    """Counts from model -> question -> tier (or (tier, role)) -> (meets, partially_meets, missing, contradicts)."""
    rows = []
    for model, questions in answers.items():
        for question, tiers in questions.items():
            for tier, four in tiers.items():
                tier, role = tier if isinstance(tier, tuple) else (tier, "fact")
                where = {
                    "model": model,
                    **SERIES,
                    "question_id": question,
                    "replicate": replicate,
                    "tier": tier,
                    "role": role,
                }
                rows.append({**where, **dict(zip(VERDICTS, four, strict=True)), "ungraded": 0, "checks": sum(four)})
    return typed(pl.DataFrame(rows))


def spelt(tiers: dict[str, list[int]]) -> dict[str, tuple[int, ...]]:
    return {LETTERS[tier]: tuple(four) for tier, four in tiers.items()}


@st.composite
def worlds(draw: st.DrawFn) -> pl.DataFrame:
    """Two models on up to four questions, with two roles in a tier at most; some tiers empty."""
    four = st.tuples(*[st.integers(0, 3)] * 4).filter(any)
    cells = st.dictionaries(st.tuples(st.sampled_from(TIERS), st.sampled_from(ROLES[:2])), four, min_size=1, max_size=5)
    questions = [f"q{i}" for i in range(draw(st.integers(1, 4)))]
    return counts_of({model: {question: draw(cells) for question in questions} for model in ("a", "b")})


def verdict_frame(table: dict[str, dict[str, str | None]], judge: str = "judge-a") -> pl.DataFrame:
    """Verdicts from model -> check -> verdict, all on question q."""
    return typed(
        pl.DataFrame(
            [
                {
                    "model": model,
                    **SERIES,
                    "judge": judge,
                    "question_id": "q",
                    "check_id": check,
                    "replicate": 0,
                    "verdict": verdict,
                }
                for model, verdicts in table.items()
                for check, verdict in verdicts.items()
            ],
            schema_overrides={"verdict": pl.String},
        )
    )


# --- rates ------------------------------------------------------------------------------------------------------------


def test_micro_and_macro_rates_equal_the_exact_ones(oracle):
    case = oracle("gamut_benchmark_mean_vs_pooled")
    answers = {
        model: {
            f"q{i}": {tier: four for tier, four in spelt(tiers).items() if any(four)}
            for i, tiers in enumerate(questions)
        }
        for model, questions in case["data"]["models"].items()
    }
    rates = failures.verdict_rates(counts_of(answers))
    scores = Scoring().questions(counts_of(answers))
    for model, expected in case["expected"].items():
        if model == "paired_difference":
            continue
        for rate in failures.RATES:
            found = dict(rates.filter(model=model, rate=rate).select("verdict", "estimate").iter_rows())
            assert found == pytest.approx(expected[f"{rate}_rates"], abs=case["tolerance"])
        own = scores.filter(model=model).sort("question_id")["score"]
        assert own.to_list() == pytest.approx(expected["question_scores"], abs=case["tolerance"])


def test_a_pooled_rate_has_the_linearised_error(oracle):
    case = oracle("ratio_of_sums_vs_mean_of_ratios")
    data, expected = case["data"], case["expected"]
    answers = {
        "m": {
            f"q{i}": {TIERS[0]: (a, 0, d - a, 0)} for i, (a, d) in enumerate(zip(data["num"], data["den"], strict=True))
        }
    }
    rates = failures.verdict_rates(counts_of(answers)).filter(verdict="meets")
    micro, macro = (rates.row(by_predicate=pl.col("rate") == rate, named=True) for rate in failures.RATES)
    assert micro["estimate"] == pytest.approx(expected["ratio_of_sums"], abs=case["tolerance"])
    assert macro["estimate"] == pytest.approx(expected["mean_of_ratios"], abs=case["tolerance"])
    # The authority has no G/(G-1): three questions.
    error = expected["se_ratio_linearised"] * math.sqrt(3 / 2)
    assert micro["standard_error"] == pytest.approx(error, abs=case["tolerance"])


def test_case_43_no_verdicts_are_not_zero_percent(shared):
    case = shared / "cases" / "43-percentages-and-rounding"
    table = json.loads((case / "counts.json").read_text())
    expected = json.loads((case / "expected.json").read_text())["expect"]["shares"]
    answers = {model: {"q": {TIERS[0]: tuple(four[v] for v in VERDICTS)}} for model, four in table.items()}
    rates = failures.verdict_rates(counts_of(answers)).filter(rate="micro")
    for model in ("alpha", "beta"):
        found = dict(rates.filter(model=model).select("verdict", "estimate").iter_rows())
        assert found == pytest.approx(expected[model], abs=1e-9)
    gamma = rates.filter(model="gamma")
    assert gamma["estimate"].null_count() == 4
    assert set(gamma["reason"]) == {"no graded check"}


def test_case_44_rates_are_pooled_and_the_ranking_is_not(shared):
    case = shared / "cases" / "44-micro-versus-macro"
    expected = json.loads((case / "expected.json").read_text())["expect"]
    verdicts = typed(pl.read_ndjson(case / "verdicts.jsonl")).with_columns(pl.lit(0, dtype=pl.Int32).alias("replicate"))
    nothing = [pl.lit(None, dtype=pl.String).alias(name) for name in ("role", "item_id", "item_type")]
    tier = pl.col("tier").map_elements(as_tier, return_dtype=pl.String)
    checks = typed(
        pl.read_ndjson(case / "checks.jsonl").with_columns(tier, pl.lit("multimodal").alias("variant"), *nothing)
    )
    counts = failures.check_counts(verdicts, checks)
    micro = failures.verdict_rates(counts).filter(rate="micro")
    for verdict, name in (("meets", "meets_rate"), ("missing", "omission_rate")):
        found = dict(micro.filter(verdict=verdict).select("model", "estimate").iter_rows())
        assert found == pytest.approx(expected[name], abs=1e-9)
    by_tier = counts.group_by("model", "judge", "variant", "question_id", "replicate", "tier").agg(
        pl.col(*VERDICTS, "ungraded", "checks").sum()
    )
    scores = Scoring().models(Scoring().questions(by_tier)).sort("score", descending=True)
    assert scores["model"].to_list() == expected["rank_by_score"]
    assert dict(scores.select("model", "score").iter_rows()) == pytest.approx(expected["score"], abs=1e-9)


def test_the_interval_of_a_rate_is_wilsons_with_the_effective_number_of_checks():
    # 40 questions of one check each, 10 met: SE^2 = p(1-p)/39, so 39 trials, times (1.96/t_39)^2 = 0.9390.
    answers = {"m": {f"q{i}": {TIERS[0]: (int(i < 10), 0, int(i >= 10), 0)} for i in range(40)}}
    row = failures.verdict_rates(counts_of(answers)).row(
        by_predicate=(pl.col("verdict") == "meets") & (pl.col("rate") == "micro"), named=True
    )
    trials = 39 * (1.959964 / 2.022691) ** 2
    middle, square = (0.25 + 1.959964**2 / (2 * trials)), 1.959964**2
    half = 1.959964 * math.sqrt(0.25 * 0.75 / trials + square / (4 * trials**2))
    wanted = [(middle - half) / (1 + square / trials), (middle + half) / (1 + square / trials)]
    assert [row["low"], row["high"]] == pytest.approx(wanted, abs=1e-6)


def test_a_rate_of_zero_keeps_an_interval_and_one_question_has_none():
    answers = {"m": {f"q{i}": {TIERS[0]: (2, 0, 0, 0)} for i in range(50)}, "k": {"q0": {TIERS[0]: (2, 0, 1, 0)}}}
    rates = failures.verdict_rates(counts_of(answers)).filter(verdict="contradicts")
    for row in rates.filter(model="m").iter_rows(named=True):
        assert row["low"] == 0
        assert 0.05 < row["high"] < 0.09
    assert set(rates.filter(model="k")["reason"]) == {"one question: no interval"}
    assert rates.filter(model="k")["high"].null_count() == 2


def test_copies_in_one_cluster_change_no_interval():
    answers = {"m": {f"q{i}": {TIERS[0]: (i % 4, 1, 2, i % 2), TIERS[2]: (1, 0, i % 3, 0)} for i in range(12)}}
    once = counts_of(answers)
    twice = pl.concat([once, once.with_columns(pl.col("question_id") + "-copy")])
    questions = (
        twice.select("question_id")
        .unique()
        .with_columns(pl.col("question_id").str.strip_suffix("-copy").alias("cluster"))
    )
    bounds = ["estimate", "low", "high", "standard_error"]
    pairs = [
        (failures.verdict_rates(once), failures.verdict_rates(twice, questions=questions)),
        (
            failures.points_lost(Scoring().losses(once)),
            failures.points_lost(Scoring().losses(twice), questions=questions),
        ),
        (
            failures.omission_ratio(once, Scoring().losses(once)),
            failures.omission_ratio(twice, Scoring().losses(twice), questions=questions),
        ),
    ]
    for single, double in pairs:
        np.testing.assert_allclose(
            double.select(bounds).to_numpy().astype(float), single.select(bounds).to_numpy().astype(float), atol=1e-12
        )


def test_rates_by_domain_take_the_column_from_the_questions():
    counts = counts_of({"m": {"q1": {TIERS[0]: (1, 0, 1, 0)}, "q2": {TIERS[0]: (1, 0, 0, 0)}}})
    questions = pl.DataFrame({"question_id": ["q1", "q2"], "domain": ["Cars", "Animals"]})
    rates = failures.verdict_rates(counts, by=["domain"], questions=questions).filter(verdict="meets", rate="micro")
    assert rates.select("domain", "estimate").rows() == [("Animals", 1.0), ("Cars", 0.5)]
    with pytest.raises(UnknownName, match="domain"):
        failures.verdict_rates(counts, by=["domain"])


def test_share_of_questions_below_zero():
    # Scores -1, 1, 1/2: one of three.
    counts = counts_of(
        {"m": {"q1": {TIERS[0]: (0, 0, 0, 1)}, "q2": {TIERS[0]: (1, 0, 0, 0)}, "q3": {TIERS[0]: (1, 0, 1, 0)}}}
    )
    row = failures.negative_share(Scoring().questions(counts)).row(0, named=True)
    assert (row["negative"], row["n"]) == (1, 3)
    assert row["estimate"] == pytest.approx(1 / 3)
    assert 0 < row["low"] < 1 / 3 < row["high"] < 1
    assert row["warning"].startswith("3 questions")


# --- points -----------------------------------------------------------------------------------------------------------


def test_points_lost_equal_the_exact_decomposition(oracle):
    case = oracle("gamut_loss_decomposition")
    for name, tiers in case["data"]["cases"].items():
        expected = case["expected"]["cases"][name]
        counts = counts_of({"m": {"q": {tier: four for tier, four in spelt(tiers).items() if any(four)}}})
        lost = failures.points_lost(Scoring().losses(counts), by=["tier"])
        found = {(row["tier"], row["verdict"]): row["estimate"] for row in lost.iter_rows(named=True)}
        wanted = {
            (LETTERS[key.split(".")[0]], key.split(".")[1]): value for key, value in expected["points_lost"].items()
        }
        assert found == pytest.approx(wanted, abs=case["tolerance"])
        assert sum(found.values()) == pytest.approx(expected["total_lost"], abs=case["tolerance"])
        score = Scoring().questions(counts)["score"].item()
        assert 1 - score == pytest.approx(expected["one_minus_score"], abs=case["tolerance"])


def test_additive_shapley_and_counterfactual_readings(oracle):
    case = oracle("gamut_loss_attribution_compare")
    expected = case["expected"]
    counts = counts_of({"m": {"q": spelt(case["data"]["counts"])}})
    readings = failures.loss_readings(counts)
    found = {(row["reading"], row["verdict"]): row["estimate"] for row in readings.iter_rows(named=True)}
    short = {"P": "partially_meets", "S": "missing", "C": "contradicts"}
    wanted = {(reading, short[key]): expected[reading][key] for reading in ("additive", "shapley") for key in short}
    single = expected["one_at_a_time"]
    wanted |= {
        ("one_at_a_time", "partially_meets"): single["fix_partials"],
        ("one_at_a_time", "missing"): single["fix_missing"],
        ("one_at_a_time", "contradicts"): single["fix_contradictions_to_meets"],
        ("contradictions_to_missing", "contradicts"): single["contradictions_to_missing"],
    }
    assert found == pytest.approx(wanted, abs=case["tolerance"])
    assert Scoring().questions(counts)["score"].item() == pytest.approx(expected["score"], abs=case["tolerance"])


@settings(max_examples=25, deadline=None)
@given(worlds(), st.floats(0, 1), st.floats(-5, -0.5))
def test_losses_by_role_add_up_to_one_minus_the_score(counts, lam, mu):
    scoring = Scoring(lam, mu)
    by_role = failures.attributed_losses(counts, scoring, grain=["role"])
    whole = counts.group_by("model", "judge", "variant", "question_id", "replicate", "tier").agg(
        pl.col(*VERDICTS, "ungraded", "checks").sum()
    )
    scores = scoring.questions(whole)
    total = by_role.group_by("model", "question_id").agg(pl.sum_horizontal(LOSSES).sum().alias("lost"))
    joined = scores.join(total, on=["model", "question_id"])
    assert joined["lost"].to_list() == pytest.approx((1 - joined["score"]).to_list(), abs=1e-12)
    parts = failures.points_lost(by_role, by=["tier", "role"]).group_by("model").agg(pl.col("estimate", "share").sum())
    means = scores.group_by("model").agg(pl.col("score").mean()).join(parts, on="model")
    assert means["estimate"].to_list() == pytest.approx((1 - means["score"]).to_list(), abs=1e-12)


def test_each_check_of_a_role_costs_what_its_verdict_costs():
    # One tier, D = 2 + 1 + 1 + 2 = 6. fact: 2 met, 1 contradicted -> 4/6. bonus: 1 partial (0.5/6), 1 missing (1/6).
    cells = {(TIERS[1], "fact"): (2, 0, 0, 1), (TIERS[1], "bonus"): (0, 1, 1, 0)}
    losses = failures.attributed_losses(counts_of({"m": {"q": cells}}), grain=["role"])
    assert losses.select("role", *LOSSES).rows() == [
        ("fact", 0, 0, pytest.approx(4 / 6)),
        ("bonus", pytest.approx(0.5 / 6), pytest.approx(1 / 6), 0),
    ]


def test_replicates_of_losses_are_averaged():
    first = counts_of({"m": {"q": {(TIERS[0], "fact"): (1, 0, 1, 0), (TIERS[0], "bonus"): (0, 0, 2, 0)}}})
    second = counts_of({"m": {"q": {(TIERS[0], "fact"): (2, 0, 0, 0), (TIERS[0], "bonus"): (1, 0, 1, 0)}}}, replicate=1)
    losses = failures.attributed_losses(pl.concat([first, second]), grain=["role"])
    # fact: (1/4 + 0)/2; bonus: (2/4 + 1/4)/2.
    assert dict(losses.select("role", "lost_missing").iter_rows()) == pytest.approx({"fact": 1 / 8, "bonus": 3 / 8})


def test_a_domain_has_its_own_denominator_only_within():
    counts = counts_of(
        {"m": {"q1": {TIERS[0]: (0, 0, 1, 0)}, "q2": {TIERS[0]: (1, 0, 1, 0)}, "q3": {TIERS[0]: (1, 0, 0, 0)}}}
    )
    questions = pl.DataFrame({"question_id": ["q1", "q2", "q3"], "domain": ["A", "A", "B"]})
    losses = Scoring().losses(counts)
    added = failures.points_lost(losses, by=["domain"], questions=questions).filter(verdict="missing")
    own = failures.points_lost(losses, within=["domain"], questions=questions).filter(verdict="missing")
    assert added.select("domain", "estimate", "n").rows() == [("A", pytest.approx(0.5), 3), ("B", 0, 3)]
    assert own.select("domain", "estimate", "n").rows() == [("A", pytest.approx(0.75), 2), ("B", 0, 1)]


def test_omissions_against_contradictions_in_counts_and_in_points():
    # q1: one tier (1,0,2,1), D = 5: missing 2/5, contradicted 4/5. q2: (0,0,3,0), D = 3: missing 1.
    counts = counts_of({"m": {"q1": {TIERS[0]: (1, 0, 2, 1)}, "q2": {TIERS[0]: (0, 0, 3, 0)}}})
    counted, points = failures.omission_ratio(counts, Scoring().losses(counts)).iter_rows(named=True)
    assert (counted["measure"], counted["estimate"], counted["omission"]) == ("counts", 5, 2.5)
    assert points["estimate"] == pytest.approx(1.4 / 0.8)
    # log error: z = (2/5 - 1, 3/5 - 0), SE^2 = 2/1 * (0.36 + 0.36), t_1 = 12.7062.
    half = 12.706205 * math.sqrt(2 * 0.72)
    assert math.log(counted["high"] / 5) == pytest.approx(half, abs=1e-4)


def test_no_contradiction_gives_no_ratio():
    counts = counts_of({"m": {"q1": {TIERS[0]: (1, 0, 2, 0)}, "q2": {TIERS[0]: (0, 0, 3, 0)}}})
    ratios = failures.omission_ratio(counts, Scoring().losses(counts))
    assert ratios["estimate"].to_list() == [None, None]
    assert set(ratios["reason"]) == {"no contradiction"}


def test_costliest_questions_and_checks_come_first():
    counts = counts_of(
        {"m": {"q1": {TIERS[0]: (1, 0, 1, 0)}, "q2": {TIERS[0]: (0, 0, 0, 1)}, "q3": {TIERS[0]: (1, 1, 0, 0)}}}
    )
    top = failures.costliest_questions(Scoring().losses(counts), **ONE, top=2)
    assert top.select("question_id", "lost", "score").rows() == [("q2", 2, -1), ("q1", 0.5, 0.5)]
    assert top["points"].to_list() == pytest.approx([2 / 3, 0.5 / 3])
    verdicts = verdict_frame({"m": {"c1": "contradicts", "c2": "missing", "c3": "meets"}})
    checks = typed(
        pl.DataFrame(
            {
                "question_id": "q",
                "variant": "multimodal",
                "check_id": ["c1", "c2", "c3"],
                "tier": TIERS[0],
                "role": "fact",
                "item_id": "i",
                "item_type": "simple_knowledge",
            }
        )
    )
    losses = failures.attributed_losses(failures.check_counts(verdicts, checks), grain=["role", "check_id"])
    worst = failures.costliest_checks(losses, **ONE)
    # D = 1 + 1 + 2 = 4: the contradiction costs 4/4, the omission 1/4.
    assert worst.select("check_id", "verdict", "lost").rows() == [("c1", "contradicts", 1), ("c2", "missing", 0.25)]
    with pytest.raises(UnknownName, match="known: m"):
        failures.costliest_checks(losses, model="x", judge="judge-a", variant="multimodal")


@settings(max_examples=10, deadline=None)
@given(worlds(), st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter_and_names_only_rename(counts, random):
    order = list(range(counts.height))
    random.shuffle(order)
    shuffled = counts[order].with_columns(pl.col("model").replace({"a": "b", "b": "a"}))
    for analyse in (
        lambda frame: failures.verdict_rates(frame, by=["tier"]),
        lambda frame: failures.points_lost(failures.attributed_losses(frame, grain=["role"]), by=["role"]),
        lambda frame: failures.omission_ratio(frame, failures.attributed_losses(frame, grain=["role"])),
    ):
        straight, again = analyse(counts), analyse(shuffled).with_columns(pl.col("model").replace({"a": "b", "b": "a"}))
        keys = [name for name in straight.columns if straight.schema[name] not in (pl.Float64, pl.Int64)]
        both = straight.join(again, on=keys, nulls_equal=True, suffix="_again")
        assert both.height == straight.height
        for column in ("estimate", "low", "high"):
            a, b = (both[name].cast(pl.Float64).fill_null(-9).to_numpy() for name in (column, f"{column}_again"))
            np.testing.assert_allclose(a, b, atol=1e-12)


# --- checks as items --------------------------------------------------------------------------------------------------

TABLE = {
    "m1": {"c1": "meets", "c2": "meets", "c3": "missing", "c4": "meets"},
    "m2": {"c1": "meets", "c2": "missing", "c3": "missing", "c4": "partially_meets"},
    "m3": {"c1": "meets", "c2": "missing", "c3": "contradicts", "c4": "missing"},
    "m4": {"c1": "meets", "c2": "meets", "c3": "missing", "c4": None},
}


def test_items_have_difficulty_and_a_corrected_correlation():
    items = failures.item_analysis(verdict_frame(TABLE), **SERIES)
    by = {row["check_id"]: row for row in items.iter_rows(named=True)}
    assert [by[c]["difficulty"] for c in ("c1", "c2", "c3")] == [1, 0.5, 0]
    assert (by["c1"]["dead"], by["c2"]["dead"], by["c3"]["dead"]) == ("met by all", None, "failed by all")
    assert by["c3"]["credit"] == -0.5
    # Rest of c2: mean worth of c1, c3, c4: 2/3, 1.5/3, -1/3 and, without c4, 1/2.
    wanted = np.corrcoef([1, 0, 0, 1], [2 / 3, 0.5, -1 / 3, 0.5])[0, 1]
    assert by["c2"]["discrimination"] == pytest.approx(wanted)
    assert by["c4"]["n"] == 3
    assert by["c1"]["discrimination"] is None
    assert by["c1"]["reason"] == "all models have the same worth on it, or on the rest"
    few = failures.item_analysis(verdict_frame({m: TABLE[m] for m in ("m1", "m2")}), **SERIES)
    assert set(few["reason"]) == {"fewer than three models"}


def test_a_check_that_one_model_alone_was_graded_on_is_neither_dead_nor_alive():
    graded = {"m1": {"c1": "meets", "c2": "meets"}, "m2": {"c1": "meets", "c2": None}}
    items = failures.item_analysis(verdict_frame(graded), **SERIES)
    assert items.select("check_id", "dead", "n").rows() == [("c1", "met by all", 2), ("c2", None, 1)]
    checks = {"question_id": "q", "variant": "multimodal", "check_id": ["c1", "c2"], "tier": TIERS[0]}
    shares = failures.dead_share(items, typed(pl.DataFrame(checks)), variant="multimodal")
    # Of the one check that can tell: met by all.
    assert shares.select("dead", "estimate", "checks").rows() == [("met by all", 1, 1), ("failed by all", 0, 1)]


def test_dead_checks_are_counted_by_tier():
    items = failures.item_analysis(verdict_frame(TABLE), **SERIES)
    checks = typed(
        pl.DataFrame(
            {
                "question_id": "q",
                "variant": "multimodal",
                "check_id": ["c1", "c2", "c3", "c4"],
                "tier": [TIERS[0], TIERS[0], TIERS[1], TIERS[1]],
            }
        )
    )
    shares = failures.dead_share(items, checks, variant="multimodal", by=["tier"])
    assert shares.select("tier", "dead", "estimate", "checks").rows() == [
        (TIERS[0], "met by all", 0.5, 2),
        (TIERS[0], "failed by all", 0, 2),
        (TIERS[1], "met by all", 0, 2),
        (TIERS[1], "failed by all", 0.5, 2),
    ]
    assert failures.dead_share(items, checks, variant="multimodal")["estimate"].to_list() == [0.25, 0.25]


def test_checks_that_split_the_judges():
    second = {"m1": {"c1": "meets", "c2": "contradicts"}, "m2": {"c1": "meets", "c2": "missing"}}
    third = {"m1": {"c1": "partially_meets", "c2": "meets"}}
    frames = [verdict_frame(table, judge) for judge, table in (("j1", TABLE), ("j2", second), ("j3", third))]
    splits = failures.judge_splits(pl.concat(frames), variant="multimodal")
    # c2: m1 meets, contradicts, meets: 2 of 3 pairs apart, 3 + 3 points; m2 missing twice: 0 of 1.
    # c1: m1 meets, meets, partially: 2 of 3 apart, 1/2 + 1/2; m2 0 of 1.
    assert splits.select("check_id", "disagreement", "points", "n").rows() == [
        ("c2", 0.5, 1.5, 4),
        ("c1", 0.5, 0.25, 4),
    ]


def test_an_unknown_judge_lists_the_known():
    with pytest.raises(UnknownName, match="judge-a"):
        failures.item_analysis(verdict_frame(TABLE), judge="x", variant="multimodal")
