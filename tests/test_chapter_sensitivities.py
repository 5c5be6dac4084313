"""The chapter on the constants: hand-worked turns, and one line where nothing can be ranked anew."""

import polars as pl
import pytest
from delivered import built, check, put, verdict

from gamut_analysis.chapters import sensitivities as chapter
from gamut_analysis.display import Figure, Table, Text
from gamut_analysis.live.sliders import Sliders
from gamut_analysis.study import Study


@pytest.fixture(scope="module")
def small(small_database):
    return Study(small_database)


@pytest.fixture(scope="module")
def bare(bare_database):
    return Study(bare_database)


@pytest.fixture(scope="module")
def alone(bare_database):
    """The judge b graded one model only."""
    return Study(bare_database, judge="b")


@pytest.fixture(scope="module")
def turning(tmp_path_factory):
    """one meets 1 of 4 checks and misses 3: 1/4. half meets all 4 in part: lambda. They change places at 1/4."""
    folder = tmp_path_factory.mktemp("turning") / "turning"
    names = [f"c{number}" for number in range(4)]
    questions = ("q1", "q2")
    put(folder, "checks.jsonl", [check(question_id=q, check_id=c) for q in questions for c in names])
    given = {"one": ["meets", "missing", "missing", "missing"], "half": ["partially_meets"] * 4}
    put(
        folder,
        "verdicts.jsonl",
        [
            verdict(model=model, question_id=q, check_id=c, verdict=v)
            for model, labels in given.items()
            for q in questions
            for c, v in zip(names, labels, strict=True)
        ],
    )
    return Study(built(folder))


def test_two_models_change_places_where_their_scores_cross(turning):
    flips = chapter.flips(turning)
    table = chapter.flip_table(turning, flips)
    assert isinstance(table, Table)
    assert table.frame.select("leader_name", "other_name").row(0) == ("half", "one")
    assert table.frame["lambda_"].item() == pytest.approx(0.25)
    assert "mu" not in table.specs
    told = str(chapter.flips_note(flips))
    assert "λ turns 1." in told
    assert "half and one, 25.0 points apart, change places when λ goes from 0.50 to 0.25" in told


def test_the_answer_counts_the_settings_that_keep_the_first_place(turning):
    # half leads for lambda above 1/4: of 0, 0.05 ... 1 the 15 from 0.30 on, at each of 20 values of mu.
    told = chapter.answer(turning, chapter.grid(turning), chapter.weights(turning), chapter.flips(turning))
    assert str(told).startswith("half is first under the paper's constants, and stays first in 300 of 420 settings")
    assert "171 of 171 settings of the weights" in str(told)
    assert "Of 1 pairs of models 1 can be made to change places" in str(told)
    assert "25.0 points apart" in str(told)


def test_a_map_names_who_else_is_first_and_where_the_tie_is(turning):
    shown = chapter.first_map(turning, chapter.grid(turning))
    # At lambda = 1/4 they share the place: one value of 21, at 20 of mu; one is first at the five below.
    assert "half is first in 300 of 420 settings" in shown.alt
    assert "one in 100 and several share first place in 20" in shown.alt


def test_a_few_settings_show_scores_and_places(turning):
    shown = chapter.settings_table(turning)
    row = {record["name"]: record for record in shown.frame.to_dicts()}
    assert (row["half"]["score_0"], row["half"]["rank_0"]) == (0.5, "1st")
    assert (row["half"]["score_1"], row["half"]["rank_1"]) == (0.0, "2nd")
    assert row["half"]["score_2"] == 1.0
    assert row["one"]["score_1"] == 0.25


def test_without_a_turn_it_says_so(bare):
    # alpha (1 + mu) / (1 - mu) against beta mu / (1 - mu): the difference 1 / (1 - mu) is never 0.
    flips = chapter.flips(bare)
    assert "No two models change places" in str(chapter.flip_table(bare, flips))
    assert chapter.flips_note(flips) is None
    told = str(chapter.answer(bare, chapter.grid(bare), chapter.weights(bare), flips))
    assert "alpha is first under the paper's constants, and stays first in 420 of 420" in told
    assert told.endswith("No two models change places whatever one constant is set to.")


def test_models_that_are_not_complete_are_compared_on_what_they_share_when_no_two_are_complete(bare):
    assert chapter.compared(bare) == ["alpha", "beta"]
    assert chapter.sliders(bare).data()["questions"] == 2


def test_a_tier_that_is_always_empty_changes_nothing(bare):
    readings = chapter.readings(bare)
    assert readings["affected"].to_list() == [1.0, 1.0]
    assert "give these models the same scores" in str(chapter.readings_table(bare, readings))
    assert chapter.readings_note(readings) is None


@pytest.mark.parametrize(
    "exhibit",
    [
        lambda s: chapter.answer(s, chapter.grid(s), chapter.weights(s), chapter.flips(s)),
        chapter.sliders,
        lambda s: chapter.flip_table(s, chapter.flips(s)),
        lambda s: chapter.first_map(s, chapter.grid(s)),
        lambda s: chapter.weights_map(s, chapter.weights(s)),
        lambda s: chapter.order_map(s, chapter.grid(s)),
        lambda s: chapter.stability_table(s, chapter.stability(s)),
        lambda s: chapter.spread_figure(s, chapter.spreads(s)),
        lambda s: chapter.readings_table(s, chapter.readings(s)),
    ],
)
def test_one_model_alone_is_told_in_one_line(alone, exhibit):
    shown = exhibit(alone)
    assert isinstance(shown, Text)
    assert "Fewer than two models have a score" in str(shown)


def test_what_cannot_be_told_once_is_not_told_twice(alone):
    assert chapter.flips_note(chapter.flips(alone)) is None
    assert chapter.stability_note(chapter.stability(alone)) is None
    assert chapter.spread_note(chapter.spreads(alone)) is None
    assert chapter.readings_note(chapter.readings(alone)) is None


def test_figures_of_simulated_data_say_so(small):
    grid = chapter.grid(small)
    shown = [
        chapter.first_map(small, grid),
        chapter.order_map(small, grid),
        chapter.weights_map(small, chapter.weights(small)),
        chapter.spread_figure(small, chapter.spreads(small)),
    ]
    for figure in shown:
        assert isinstance(figure, Figure)
        assert figure.caption.startswith("SIMULATED data.")
        assert figure.chart.to_dict()["title"]["subtitle"].startswith("SIMULATED")


def test_the_uncertainty_of_scores_and_of_places_is_told_apart(small):
    spreads = chapter.spreads(small)
    told = str(chapter.spread_note(spreads))
    deviation = spreads.filter(source="sampling").select(pl.col("standard_deviation").median()).item()
    assert f"by other questions by {deviation * 100:.1f}" in told
    fixed = spreads.filter(pl.col("rank_low") == pl.col("rank_high"), pl.col("source") == "specification").height
    assert f"under other constants {fixed} of 5 models keep one and the same place" in told


def test_the_sliders_start_at_the_studys_constants_with_the_studys_model_in_focus(small_database):
    part = chapter.sliders(Study(small_database, "gpt-4o"))
    assert isinstance(part, Sliders)
    data = part.data()
    assert data["default"] == {"lambda_": 0.5, "mu": -2, "weights": (0.6, 0.3, 0.1)}
    assert data["models"][data["focus"]] == "GPT-4o"
    assert sum(data["rows"]["answers"]) > 0


def test_the_nearest_setting_with_another_first_is_named(turning):
    # half leads by lambda - 1/4; of the steps of 0.05 the first below 1/4 is 0.20, and mu plays no part.
    note = str(chapter.first_note(chapter.grid(turning), "first-by-lambda-mu"))
    assert note == (
        "The nearest setting with another model first, one, lies at λ = 0.20 and μ = −2.00; half leads as things are."
    )
    # All checks are of one tier, so its weight is all there is.
    assert str(chapter.first_note(chapter.weights(turning), "first-by-weights")) == (
        "half is first in all of them, always by 25.0 points."
    )


def test_the_least_lead_is_named_where_one_model_is_always_first(small):
    grid = chapter.grid(small)
    note = chapter.first_note(grid, "first-by-lambda-mu")
    assert grid["first"].n_unique() == 1
    assert f"its lead is least, {100 * grid['gap'].min():.1f} points" in str(note)


def test_how_much_of_the_order_outlasts_the_constants(turning, bare):
    # lambda below 1/4, at 5 of its 21 values, turns the one pair that there is; at 1/4 the two are level.
    told = str(chapter.order_note(turning, chapter.grid(turning)))
    assert told.endswith("never falls below −1.00; 320 of 420 settings leave the order as it is.")
    assert str(chapter.order_note(bare, chapter.grid(bare))).startswith("All 420 settings")
