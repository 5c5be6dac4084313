"""Sentences that are true of the data, frames that add up, and one line where something cannot be told."""

from types import SimpleNamespace

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


@pytest.mark.parametrize(
    ("score", "omission", "told"),
    [
        (0.5, 0.2, "better than the median of the others on all 2 of these."),
        (0.5, 0.4, "better than the median of the others on score, and not on the rest."),
        (0.2, 0.4, "better than the median of the others on none of these 2."),
    ],
)
def test_where_the_model_is_better_than_the_median_of_the_others(monkeypatch, small, score, omission, told):
    # Medians of the others: 0.4 and 0.3. Less omission is better, and the gain is neither.
    rows = [
        ("Score", score, 0.3, 0.4, 0.6),
        ("Omission", omission, 0.2, 0.3, 0.5),
        ("Text-only gain", 0.9, 0.1, 0.1, 0.1),
    ]
    long = [(name, value, not place) for name, *values in rows for place, value in enumerate(values)]
    frame = pl.DataFrame(long, schema=["measure", "value", "is_focus"], orient="row")
    monkeypatch.setattr(model, "measures", lambda *_: frame)
    assert str(model.strips_text(small, pl.DataFrame())) == f"GPT-4o is {told}"


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (0.1, "Contradiction costs more than omission on checks of the role fact, and on no others."),
        (0.3, "Contradiction costs more than omission on checks of the role step and fact."),
    ],
)
def test_roles_on_which_contradiction_costs_more_than_omission(step, told):
    rows = [
        ("Fact", "missing", 0.1),
        ("Fact", "contradicts", 0.2),
        ("Step", "missing", 0.2),
        ("Step", "contradicts", step),
    ]
    losses = pl.DataFrame(rows, schema=["label", "verdict", "estimate"], orient="row")
    assert str(model.role_losses_text(losses)) == told
    mild = losses.with_columns(estimate=pl.when(verdict="contradicts").then(0.0).otherwise("estimate"))
    assert (
        str(model.role_losses_text(mild)) == "On checks of every role omission costs at least as much as contradiction."
    )
    assert model.role_losses_text(pl.DataFrame()) is None


@pytest.mark.parametrize(
    ("missing", "contradicts", "told"),
    [
        (0.3, 0.2, "Of the 2 other models 1 omit less than GPT-4o, and 2 contradict less."),
        (0.1, 0.0, "No other model omits less than GPT-4o, and none contradicts less."),
    ],
)
def test_how_many_models_omit_and_contradict_less(missing, contradicts, told):
    shares = {"gpt-4o": (missing, contradicts), "b": (0.2, 0.1), "c": (0.4, 0.1)}
    rows = [(m, v, s) for m, own in shares.items() for v, s in zip(("missing", "contradicts"), own, strict=True)]
    frame = pl.DataFrame(rows, schema=["model", "verdict", "share"], orient="row")
    study = SimpleNamespace(model="gpt-4o", model_name="GPT-4o", frames={common.shares.__wrapped__: frame})
    assert str(model.verdict_shares_text(study)) == told
    study.frames = {common.shares.__wrapped__: frame.filter(model="gpt-4o")}
    assert model.verdict_shares_text(study) is None


def test_intervals_that_leave_the_scale_are_drawn_as_far_as_it_goes_and_the_caption_says_so(small):
    rows = {"domain": ["Food", "Local"], "estimate": [0.9, 0.5], "low": [0.4, 0.3], "high": [1.4, 0.7], "n": [4, 9]}
    domains = pl.DataFrame(rows).with_columns(
        own="estimate", median=0.5, difference=pl.col("estimate") - 0.5, is_small=True
    )
    figure = model.domain_dots(small, domains)
    drawn = next(iter(figure.chart.to_dict()["datasets"].values()))
    assert [row["right"] for row in drawn] == pytest.approx([100, 70])
    assert figure.numbers["high"].to_list() == [1.4, 0.7], "the number itself stays"
    assert figure.caption.endswith("drawn as far as the scale of scores goes.")
    inside = domains.with_columns(high=pl.lit(0.95))
    assert "as far as" not in model.domain_dots(small, inside).caption


def test_what_the_picture_costs_is_told_with_its_sign(small):
    gain = pl.DataFrame({"part": ["matched", "naive", "dropped_checks", "question_set"], "model": "gpt-4o"})
    gain = gain.with_columns(estimate=pl.Series([-0.131, -0.1, 0.03, 0.001]), reason=pl.lit(None, pl.String))
    told = str(
        model.picture_costs(small, gain.with_columns(low=pl.col("estimate") - 0.01, high=pl.col("estimate") + 0.01))
    )
    assert "score changes by −13.1 (−14.1 to −12.1) points" in told
    assert "+3.0 (+2.0 to +4.0) of it come from leaving out" in told


def test_a_waterfall_names_the_part_that_takes_most(bare_database):
    # alpha loses all of its 133.3 points by contradiction, and every check counts as Answer-Critical.
    study = Study(bare_database, "alpha")
    title = model.waterfall(study, model.losses(study)).chart.to_dict()["title"]["text"]
    assert title == "From 100 points to −33.3: Contradicts, Answer-Critical takes most, 133.3"


def pair(clusters: int) -> pl.DataFrame:
    row = {"model_a": "beta", "model_b": "alpha", "name_a": "Beta", "name_b": "Alpha", "estimate": 0.2, "low": -1.6}
    row |= {"high": 2.0, "n": clusters, "clusters": clusters, "p": 0.5, "p_adjusted": 0.5, "verdict": "not told apart"}
    return pl.DataFrame([row]).with_columns(reason=pl.lit(None, pl.String))


def test_pairs_that_no_test_could_tell_apart_have_no_interval_and_say_why():
    # Five questions have 2**5 patterns of signs, so that p is 2/32 = 0.0625 at the least; six have 2/64 = 0.031.
    few, enough = (model.facing(pair(clusters), "alpha").row(0, named=True) for clusters in (5, 6))
    assert (few["estimate"], few["low"], few["p_adjusted"], few["verdict"]) == (-0.2, None, None, None)
    assert few["reason"] == "fewer than 6 questions or images are too few to compare"
    assert (enough["low"], enough["high"], enough["verdict"], enough["reason"]) == (-2.0, 1.6, "not told apart", None)


def test_neighbours_are_told_in_one_line_where_there_are_none_or_too_few(bare):
    near = model.facing(pair(3), "alpha")
    assert str(model.against_the_field(bare, near)).startswith("No neighbour can be compared: fewer than 6 questions")
    assert str(model.neighbours_table(bare, near.clear())) == "There is no other model to compare with."
    assert model.against_the_field(bare, near.clear()) is None


def test_domains_of_one_question_have_no_interval_and_are_drawn(small):
    rows = {"domain": ["Food"], "estimate": [0.9], "low": [None], "high": [None], "n": [1]}
    domains = pl.DataFrame(rows, schema_overrides=dict.fromkeys(("low", "high"), pl.Float64))
    shown = model.domain_dots(small, domains.with_columns(own="estimate", median=0.5, difference=0.4, is_small=True))
    assert "as far as" not in shown.caption


def test_where_there_are_no_domains_nothing_is_said_twice():
    assert model.strong_and_weak(pl.DataFrame(), part="domain", name="domains-text") is None
