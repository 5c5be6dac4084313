"""Sentences that are true of the data, frames that add up, and one line where something cannot be told."""

import polars as pl
import pytest

from gamut_analysis.chapters import common, leaderboard, model
from gamut_analysis.display import Figure, Table, Text
from gamut_analysis.study import Study


@pytest.fixture(scope="module")
def bare(bare_database):
    return Study(bare_database, "beta")


@pytest.fixture(scope="module")
def small(small_database):
    return Study(small_database, "gpt-4o")


def test_a_model_that_is_not_complete_is_scored_but_not_ranked(bare):
    # Each of beta's answers has one missing and one contradicted check: (0 - 2) / (1 + 2) = -2/3 on 2 of 3 questions.
    board = common.board(bare)
    row = common.row_of(board, "beta")
    assert row["estimate"] == pytest.approx(-2 / 3)
    assert row["rank"] is None
    told = str(model.headline(bare, board, model.omission_ratios(bare)))
    assert told.startswith("beta completes −66.7 (")
    assert "on the 2 of 3 questions that it was scored on" in told


def test_a_complete_model_is_told_with_its_place(bare_database):
    # alpha meets one of two checks and contradicts the other: (1 - 2) / (1 + 2) = -1/3 on each of 3 questions.
    study = Study(bare_database, "alpha")
    told = str(model.headline(study, common.board(study), model.omission_ratios(study)))
    assert "−33.3" in told
    assert "it is 1st of 1 models" in told
    assert "omission" not in told, "alpha omits nothing, so there is no ratio to tell"


def test_the_loss_of_a_model_is_told_by_its_largest_part(bare_database):
    # alpha: all of the loss is contradiction, 4/3 of 1 point a question.
    study = Study(bare_database, "alpha")
    told = str(model.where_points_go(study, model.losses(study)))
    assert "133.3 are lost, which leaves −33.3" in told
    assert "The most goes to contradiction" in told


def test_the_losses_of_a_model_add_up_to_what_it_lacks(small):
    lost = model.losses(small)["estimate"].sum()
    assert lost == pytest.approx(1 - common.row_of(common.board(small), "gpt-4o")["estimate"], abs=1e-12)
    by_role = model.role_losses(small)["estimate"].sum()
    assert by_role == pytest.approx(lost, abs=1e-12)


def test_neighbours_are_seen_from_the_models_own_side(small):
    board, pairs = common.board(small), common.pairs(small)
    near = model.neighbours(small, board, pairs)
    place = {row["model"]: row["estimate"] for row in board.to_dicts()}
    for row in near.to_dicts():
        assert row["estimate"] == pytest.approx(place["gpt-4o"] - place[row["model"]], abs=1e-12)
        assert row["low"] <= row["estimate"] <= row["high"]


@pytest.mark.parametrize(
    ("exhibit", "line"),
    [
        (lambda s: model.domain_dots(s, model.domains(s)), "no domain"),
        (lambda s: model.role_dots(s, model.roles(s)), "no roles"),
        (lambda s: model.role_table(s, model.role_losses(s)), "no roles"),
        (lambda s: model.gain_table(s, common.gain_parts(s)), "one variant only"),
        (lambda s: model.judge_dots(s, model.by_judge(s)), "One judge alone"),
        (lambda s: leaderboard.domain_grid(s, common.board(s)), "no domain"),
    ],
)
def test_what_the_data_does_not_allow_is_one_line_that_says_why(bare, exhibit, line):
    shown = exhibit(bare)
    assert isinstance(shown, Text)
    assert line in str(shown)


def test_published_numbers_stand_beside_gamut_data_alone(small, bare):
    assert common.published(small).height == 14
    assert common.published(bare).is_empty()
    assert "not GAMUT's" in str(common.published_note(bare, pl.DataFrame()))


def test_every_figure_of_simulated_data_says_so(small):
    board = common.board(small)
    shown = [common.field(small, board), model.strips(small, board), model.waterfall(small, model.losses(small))]
    for figure in shown:
        assert isinstance(figure, Figure)
        assert figure.caption.startswith("SIMULATED data.")
        assert figure.chart.to_dict()["title"]["subtitle"].startswith("SIMULATED")


def test_the_leaderboard_tables_have_the_papers_columns(small):
    board = common.board(small)
    shown = [leaderboard.leaderboard_table(small, board), leaderboard.verdict_table(small, board)]
    assert all(isinstance(table, Table) for table in shown)
    wanted = {"estimate", "answer_critical", "valuable", "context", "meets", "missing", "contradicts"}
    assert wanted <= {name for table in shown for name in table.columns}


def test_assumptions_of_the_build_are_told(bare):
    assert "every check counts as Answer-Critical" in str(common.kind_of_data(bare))
