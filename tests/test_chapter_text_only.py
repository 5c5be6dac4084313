"""What the chapter on text-only gains says is what the verdicts say, and one line where nothing can be said."""

import dataclasses

import polars as pl
import pytest
from delivered import built, check, put, verdict

from gamut_analysis.chapters import text_only
from gamut_analysis.display import Figure, Table, Text
from gamut_analysis.study import Study

# Three questions, the third without a text-only wording; the check `name` asks what the picture shows and is left out
# in words. Alpha never names the subject; beta says nothing at all of the first two questions unless it is named.
ANSWERS = {
    "alpha": {"multimodal": {"name": "missing", "care": "meets"}, "text_only": {"care": "meets"}},
    "beta": {"multimodal": {"name": "missing", "care": "missing"}, "text_only": {"care": "meets"}},
}


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    rows = [
        verdict(model=model, variant=variant, question_id=question, check_id=name, verdict=word)
        for model, variants in ANSWERS.items()
        for variant, checks in variants.items()
        for question in ("q1", "q2")
        for name, word in checks.items()
    ]
    rows += [verdict(model=model, question_id="q3", check_id=name) for model in ANSWERS for name in ("name", "care")]
    checks = [
        check(variant="multimodal", question_id=q, check_id=c, text=c)
        for q in ("q1", "q2", "q3")
        for c in ("name", "care")
    ]
    checks += [check(variant="text_only", question_id=q, check_id="care", text="care") for q in ("q1", "q2")]
    folder = tmp_path_factory.mktemp("pair") / "pair"
    put(folder, "verdicts.csv", rows)
    put(folder, "checks.csv", checks)
    return Study(built(folder))


@pytest.fixture(scope="module")
def small(small_database):
    return Study(small_database)


@pytest.fixture(scope="module")
def told(small):
    gains = text_only.gains(small)
    return gains, text_only.equality(small, gains), text_only.levels(small, gains), text_only.shifts(small, gains)


def test_the_plain_difference_is_taken_apart_by_hand(pair):
    # alpha, multimodal: 1/2 on q1 and q2, 1 on q3, so 2/3; text-only: 1. Plain difference 1/3.
    #   other questions: (1 - 1) + (1/2 - 2/3) = -1/6; dropped checks: 1 - 1/2 = 1/2; matched: 1 - 1 = 0.
    # beta: 0, 0, 1, so 1/3; text-only: 1. Plain difference 2/3: -1/3 + 0 + 1.
    gains = text_only.gains(pair)
    rows = {row["model"]: row for row in gains.to_dicts()}
    expected = {"alpha": (1 / 3, -1 / 6, 1 / 2, 0.0), "beta": (2 / 3, -1 / 3, 0.0, 1.0)}
    for model, numbers in expected.items():
        found = [rows[model][name] for name in ("naive", "question_set", "dropped_checks", "estimate")]
        assert found == pytest.approx(numbers, abs=1e-12)
    assert gains["model"].to_list() == ["beta", "alpha"], "the largest gain first"


def test_parts_of_every_model_add_up_to_the_plain_difference(told):
    gains = told[0]
    total = gains["question_set"] + gains["dropped_checks"] + gains["estimate"]
    assert total.to_list() == pytest.approx(gains["naive"].to_list(), abs=1e-12)


def test_the_answer_names_the_ends_and_what_cannot_be_tested(pair):
    gains = text_only.gains(pair)
    shown = str(text_only.answer(pair, gains, text_only.equality(pair, gains), text_only.levels(pair, gains)))
    assert "0.0 (0.0 to 0.0) points (alpha) to 100.0 (100.0 to 100.0) (beta)" in shown
    assert "too few for the test" in shown


def test_the_answer_prints_the_sentence_that_is_true(small, told):
    gains, equality, levels, _ = told
    refuted = equality | {"p": 0.001}
    falling = levels.with_columns(low=pl.lit(-0.2), high=pl.lit(-0.1))
    flat = levels.with_columns(low=pl.lit(-0.2), high=pl.lit(0.1))
    assert "better models gain less" in str(text_only.answer(small, gains, refuted, falling))
    assert "without a trend" in str(text_only.answer(small, gains, refuted, flat))
    assert "cannot tell that from one constant tax" in str(text_only.answer(small, gains, equality | {"p": 0.4}, flat))


def test_pairs_that_change_their_order_are_counted():
    # a leads b and c in the picture; in words c leads a: a-c and b-c turn, a-b stays.
    shifts = pl.DataFrame({"model": ["a", "b", "c"], "multimodal": [0.3, 0.2, 0.1], "text_only": [0.5, 0.4, 0.6]})
    assert text_only._discordant(shifts) == 2


def levels_of(naive: float | None, ratio: float | None) -> pl.DataFrame:
    return pl.DataFrame({"method": ["naive_slope", "spread_ratio"], "estimate": [naive, ratio]})


def test_the_coupling_is_what_a_correlation_below_one_makes_of_the_naive_slope():
    # Multimodal 0, 1, 2, 3 and text-only 0, 2, 1, 3: equal spreads, s_xy / s_xx = 4 / 5. The naive slope is -1/5 on the
    # multimodal score and +1/5 on the text-only one, though neither variant spreads the models more.
    found = text_only.coupling(levels_of(-0.2, 1.0))
    assert found == pytest.approx({"naive": -0.2, "correlation": 0.8, "expected": -0.2, "turned": 0.2})
    assert "the opposite sign" in str(text_only.why_naive_misleads(levels_of(-0.2, 1.0)))


def test_a_direction_that_survives_being_turned_round_is_no_artefact():
    # r = 1 and q = 0.8: slopes 0.8 - 1 = -0.2 and 1 - 1/0.8 = -0.25.
    assert text_only.coupling(levels_of(-0.2, 0.8))["turned"] == pytest.approx(-0.25)
    assert "not an artefact" in str(text_only.why_naive_misleads(levels_of(-0.2, 0.8)))


def test_an_undefined_slope_has_no_coupling():
    assert text_only.coupling(levels_of(None, 1.0)) is None
    assert text_only.coupling(pl.DataFrame()) is None


def test_domains_are_tested_together():
    # Weights 100 each, mean 0.2: Q = (0.1 / 0.1)^2 + (0.1 / 0.1)^2 = 2 on 1 degree of freedom, p = 0.1573.
    mean = pl.DataFrame({"estimate": [0.1, 0.3], "standard_error": [0.1, 0.1]})
    found = text_only.domains_differ(mean)
    assert (found["statistic"], found["df"], found["centre"]) == pytest.approx((2, 1, 0.2))
    assert found["p"] == pytest.approx(0.1573, abs=1e-4)
    assert text_only.domains_differ(mean.head(1)) is None


def test_no_domain_is_called_dear_on_noise(small, told):
    gains = told[0]
    single, mean = text_only.domain_gains(small, gains)
    same = mean.with_columns(estimate=pl.lit(0.1), standard_error=pl.lit(0.05))
    shown = text_only.domain_figure(small, gains, (single, same))
    assert shown.chart.to_dict()["title"]["text"].startswith("No domain is shown to pay more")


def test_published_numbers_stand_in_the_papers_order_with_all_three_figures(small, told):
    beside = text_only.published_gains(small, told[0])
    # The small world has four of the five models of the paper's table.
    names = beside["name"].unique(maintain_order=True).to_list()
    assert names == ["Gemini 3.1 Pro", "Claude Opus 4.8", "GPT-4o", "Llama 3.2 11B"]
    assert beside.filter(name="GPT-4o")["published"].to_list() == pytest.approx([0.342, 0.581, 0.239])
    gain = beside.filter(name="GPT-4o", what="gain")["estimate"].item()
    assert gain == pytest.approx(told[0].filter(model="gpt-4o")["naive"].item(), abs=1e-12)
    assert isinstance(text_only.published_table(small, beside), Table)


def test_every_figure_of_simulated_data_says_so(small, told):
    gains, equality, levels, shifts = told
    for figure in (
        text_only.slopes(small, gains, shifts),
        text_only.gain_dots(small, gains, equality),
        text_only.level_figure(small, gains, shifts, levels),
        text_only.domain_figure(small, gains, text_only.domain_gains(small, gains)),
    ):
        assert isinstance(figure, Figure)
        assert figure.caption.startswith("SIMULATED data.")


def test_the_models_own_colour_follows_the_study(small, told):
    gains, _, _, shifts = told
    about = dataclasses.replace(small, model="claude-opus-4.8")
    shown = text_only.slopes(about, gains, shifts).chart.to_dict()
    rows = [row for data in shown["datasets"].values() for row in data if row.get("is_focus")]
    assert {row["name"] for row in rows} == {"Claude Opus 4.8"}


def test_one_variant_is_told_in_one_line_everywhere(bare_database):
    study = Study(bare_database)
    gains = text_only.gains(study)
    equality, levels, shifts = (
        text_only.equality(study, gains),
        text_only.levels(study, gains),
        text_only.shifts(study, gains),
    )
    domains = text_only.domain_gains(study, gains)
    exhibits = [
        text_only.answer(study, gains, equality, levels),
        text_only.slopes(study, gains, shifts),
        text_only.gain_dots(study, gains, equality),
        text_only.part_table(study, gains),
        text_only.parts_text(gains),
        text_only.tax(gains, equality),
        text_only.level_figure(study, gains, shifts, levels),
        text_only.level_table(study, gains, levels),
        text_only.why_naive_misleads(levels),
        text_only.rank_table(study, gains, shifts),
        text_only.rank_text(study, gains),
        text_only.domain_figure(study, gains, domains),
        text_only.beside_note(study, gains, text_only.published_gains(study, gains)),
    ]
    assert all(isinstance(exhibit, Text) and "\n" not in str(exhibit) for exhibit in exhibits)
    assert text_only.domain_text(domains) is None, "the figure's line has said it"
    assert "one variant only" in str(exhibits[0])


def test_rubrics_without_a_common_check_have_no_gain(tmp_path):
    rows = [verdict(model=m, variant=v, check_id=v) for m in ("a", "b") for v in ("multimodal", "text_only")]
    put(tmp_path / "apart", "verdicts.csv", rows)
    put(tmp_path / "apart", "checks.csv", [check(variant=v, check_id=v, text=v) for v in ("multimodal", "text_only")])
    study = Study(built(tmp_path / "apart"))
    gains = text_only.gains(study)
    assert str(text_only.gain_dots(study, gains, text_only.equality(study, gains))).startswith(
        "No gain can be measured"
    )


def test_who_moves_furthest_between_the_variants_is_told_or_that_nobody_does():
    columns = {"name": ["a", "b", "c"], "rank_multimodal": [1, 2, 3], "rank_text_only": [3, 2, 1], "shift": [-2, 0, 2]}
    shifts = pl.DataFrame(columns)
    said = "1 of 3 models keep their place; a moves furthest, from the 1st to the 3rd."
    assert str(text_only.places_text(shifts)) == said
    still = shifts.with_columns(rank_text_only="rank_multimodal", shift=pl.lit(0))
    assert str(text_only.places_text(still)) == "All 3 models keep their place."
    assert text_only.places_text(shifts.head(1)) is None


def test_intervals_of_the_methods_hold_no_dependence_or_leave_it_out():
    # The naive slope does not count, and a method without an interval says nothing.
    rows = [
        ("naive_slope", 0.0, -0.5, -0.2),
        ("oldham_slope", 0.0, -0.3, 0.1),
        ("oldham_correlation", 0.0, None, None),
        ("deming_slope", 1.0, 0.7, 1.2),
    ]
    levels = pl.DataFrame(rows, schema=["method", "null", "low", "high"], orient="row")
    assert str(text_only.methods_text(levels)).startswith("Without the naive slope, each of the 2 intervals holds")
    steep = levels.with_columns(high=pl.when(method="deming_slope").then(0.9).otherwise("high"))
    assert str(text_only.methods_text(steep)).startswith("Without the naive slope, 1 of 2 intervals leave out")
    assert text_only.methods_text(levels.head(1)) is None
