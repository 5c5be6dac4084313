"""What the chapter on omission and contradiction says is what the verdicts say, by checks and by points."""

import dataclasses
from types import SimpleNamespace

import polars as pl
import pytest
from delivered import built, check, put, verdict

from gamut_analysis.chapters import common, losses
from gamut_analysis.display import Figure, Table, Text
from gamut_analysis.study import Study


@pytest.fixture(scope="module")
def bare(bare_database):
    return Study(bare_database)


@pytest.fixture(scope="module")
def small(small_database):
    return Study(small_database)


@pytest.fixture(scope="module")
def told(small):
    split = losses.answer_losses(small)
    return common.board(small), split, losses.lost(small, split), losses.ratios(small, split), losses.items(small)


def test_ratios_by_hand(bare):
    # beta has one missing and one contradicted check on q1 and q2. D = 1 + 2 = 3: the omission costs 1/3, the
    # contradiction 4/3. alpha omits nothing.
    ratios = losses.ratios(bare, losses.answer_losses(bare))
    found = {(row["model"], row["measure"]): row["estimate"] for row in ratios.to_dicts()}
    assert found["beta", "counts"] == pytest.approx(1)
    assert found["beta", "points"] == pytest.approx(1 / 4)
    assert found["alpha", "counts"] == 0


def test_the_answer_tells_both_ways_of_counting(bare):
    split = losses.answer_losses(bare)
    shown = str(losses.answer(bare, losses.lost(bare, split), losses.ratios(bare, split)))
    assert shown.startswith("Counted by checks, from 0.0 (alpha) to 1.0 (beta) checks are missing")
    # Of beta's loss of 5/3 the contradictions take 4/5, of alpha's all.
    assert "contradiction takes 80 to 100 % of the loss" in shown


def test_without_contradictions_there_is_no_ratio_to_tell(tmp_path):
    put(tmp_path / "mild", "verdicts.csv", [verdict(question_id=q, verdict="missing") for q in ("q1", "q2")])
    study = Study(built(tmp_path / "mild"))
    split = losses.answer_losses(study)
    lost, ratios = losses.lost(study, split), losses.ratios(study, split)
    assert "no ratio of omission to contradiction" in str(losses.answer(study, lost, ratios))
    assert isinstance(losses.ratio_dots(study, common.board(study), ratios), Text)


def test_each_panel_of_the_two_currencies_is_a_whole(small, told):
    board, _, lost, _, _ = told
    figure = losses.currencies(small, board, lost)
    wholes = figure.numbers.group_by("panel", "name").agg(pl.col("share").sum())["share"]
    assert len(wholes) == 2 * board.height
    assert wholes.to_list() == pytest.approx([1.0] * len(wholes))


def test_contradictions_weigh_more_in_points_than_in_checks(small, told):
    board, _, lost, _, _ = told
    rows = losses.currencies(small, board, lost).numbers.filter(pl.col("verdict") == "contradicts")
    wide = rows.pivot("panel", index="name", values="share")
    assert (wide[losses.PANELS["points"]] > wide[losses.PANELS["checks"]]).all()


@pytest.mark.parametrize("part", ["tier", "role"])
def test_points_of_tiers_and_roles_add_up_to_what_the_verdicts_cost(small, told, part):
    _, split, lost, _, _ = told
    rows = losses.by_part(small, split, part)
    for measure, word in (("Lost to omission", "missing"), ("Lost to contradiction", "contradicts")):
        summed = rows.filter(measure=measure).group_by("name").agg(pl.col("value").sum()).sort("name")["value"]
        whole = lost.filter(pl.col("verdict") == word).sort("name")["estimate"]
        assert summed.to_list() == pytest.approx(whole.to_list(), abs=1e-12)


def test_points_of_a_domain_are_lost_on_its_own_questions(small, told):
    split = told[1]
    rows = losses.by_part(small, split, "domain")
    domain = rows["part"][0]
    ids = small.questions.filter(domain=domain)["question_id"].to_list()
    own = split.filter(pl.col("question_id").is_in(ids), model="gpt-4o")
    found = rows.filter(part=domain, measure="Lost to omission", model="gpt-4o")["value"].item()
    assert found == pytest.approx(own["lost_missing"].sum() / own["question_id"].n_unique())


def test_tiers_stand_in_their_own_order_and_roles_from_the_most_omission_on(small, told):
    split = told[1]
    tiers = losses.part_order(losses.by_part(small, split, "tier"), "tier")
    assert tiers == ["Answer-Critical", "Valuable", "Context"]
    roles = losses.by_part(small, split, "role")
    medians = roles.filter(measure="Missing").group_by("part").agg(pl.col("value").median())
    order = losses.part_order(roles, "role")
    values = dict(medians.iter_rows())
    assert [values[role] for role in order] == sorted(values.values(), reverse=True)


def test_the_model_taken_apart_is_the_studys_own_or_the_best(bare):
    board = common.board(bare)
    assert losses.subject(bare, board) == "alpha", "alpha has -1/3, beta -2/3"
    assert losses.subject(dataclasses.replace(bare, model="beta"), board) == "beta"
    assert losses.subject(bare, board.with_columns(estimate=pl.lit(None, dtype=pl.Float64))) == ""


def test_the_steps_of_the_waterfall_lead_to_the_score(small, told):
    board, split, _, _, _ = told
    steps = losses.tier_losses(small, split, "gpt-4o")
    assert 1 - steps["estimate"].sum() == pytest.approx(common.row_of(board, "gpt-4o")["estimate"], abs=1e-12)
    assert losses.waterfall(small, steps, "gpt-4o").chart.to_dict()["title"]["text"].startswith("GPT-4o: from 100")


def test_readings_that_add_up_give_the_loss_and_the_others_give_no_sum(small, told):
    steps = losses.tier_losses(small, told[1], "gpt-4o")
    rows = losses.reading_table(small, "gpt-4o").frame
    assert rows["total"].to_list()[:2] == pytest.approx([steps["estimate"].sum()] * 2)
    assert rows["total"].to_list()[2:] == [None, None]


def test_dead_checks_by_hand(bare):
    # Judge a graded six checks, the two of q3 for alpha alone, which leaves four: c2 of q1 and q2 is contradicted by
    # both models, c1 is met by alpha and missing in beta.
    items = losses.items(bare)
    row = losses.dead_table(bare, items).frame.row(0, named=True)
    assert (row["label"], row["checks"]) == ("All", 4)
    assert (row["met by all"], row["failed by all"]) == (0, pytest.approx(1 / 2))
    figure = losses.item_histogram(bare, items)
    assert figure.chart.to_dict()["title"]["text"].startswith("50.0 % of the checks")
    assert figure.numbers.select("models", "is_dead", "checks").rows() == [(0, True, 2), (1, False, 2)]
    assert "2 checks that one model alone had are left out" in figure.caption


def test_a_check_of_one_model_cannot_tell_models_apart(tmp_path):
    # As in data where each question has one answer: every check is met by all or failed by all, and that says nothing.
    put(tmp_path / "own", "verdicts.csv", [verdict(model=m, question_id=m) for m in ("a", "b", "c")])
    study = Study(built(tmp_path / "own"))
    items = losses.items(study)
    shown = [
        losses.item_histogram(study, items),
        losses.item_text(items),
        losses.dead_table(study, items),
        losses.hardest_table(study, items),
    ]
    assert all("No check was graded for two models" in str(exhibit) for exhibit in shown)


def test_bars_of_the_histogram_add_up_to_all_checks(small, told):
    items = told[4]
    rows = losses.item_histogram(small, items).numbers
    assert rows["checks"].sum() == items.height == small.checks.height
    assert rows["models"].is_between(0, 5).all()


def test_what_all_contradict_comes_first_among_doubtful_checks(bare):
    shown = losses.hardest_table(bare, losses.items(bare)).frame
    assert shown["credit"].to_list() == [-2.0, -2.0]


def test_the_costliest_check_is_the_contradicted_one(bare):
    # beta: a contradiction costs 4/3 of its question, an omission 1/3; the omission is met by half of the models.
    split, items = losses.answer_losses(bare), losses.items(bare)
    rows = losses.costliest(bare, split, items, "beta")
    assert rows["verdict"].cast(pl.String).to_list() == ["contradicts", "contradicts", "missing", "missing"]
    assert rows["lost"].to_list() == pytest.approx([4 / 3, 4 / 3, 1 / 3, 1 / 3])
    assert rows["difficulty"].to_list() == [0, 0, 0.5, 0.5]


def test_of_equally_costly_checks_the_one_that_most_models_meet_comes_first(small, told):
    rows = losses.costliest(small, told[1], told[4], "gpt-4o")
    tied = rows.filter(pl.col("lost") == pl.col("lost").max())
    assert tied["difficulty"].to_list() == sorted(tied["difficulty"].to_list(), reverse=True)
    assert rows.height == losses.TOP


def test_costs_of_checks_add_up_to_the_models_loss(small, told, monkeypatch):
    # All checks, not the first dozen: what they take from the model's score is what the waterfall takes.
    monkeypatch.setattr(losses, "TOP", 10_000)
    rows = losses.costliest(small, told[1], told[4], "gpt-4o")
    assert rows["points"].sum() == pytest.approx(losses.tier_losses(small, told[1], "gpt-4o")["estimate"].sum())


def test_judges_that_agree_split_no_check(bare):
    # Both judges give alpha's answers the same verdicts.
    shown = losses.split_table(bare, losses.splits(bare))
    assert "the same verdict" in str(shown)
    assert "never differ" in str(losses.split_text(losses.splits(bare)))


def test_the_share_of_disagreement_on_the_most_split_tenth_by_hand():
    # Ten checks of ten pairs: one differs on 6, one on 4. 10 of 100 pairs; the first tenth is one check: 6 of 10.
    rows = pl.DataFrame({"disagreement": [0.6, 0.4, *[0.0] * 8], "n": [10] * 10})
    shown = str(losses.split_text(rows))
    assert "10.0 % of all pairs" in shown
    assert "80.0 % of the checks" in shown
    assert "holds 60.0 %" in shown


def test_every_answer_of_the_bare_data_is_below_zero(bare):
    figure = losses.negative_dots(bare, losses.negative(bare))
    assert figure.numbers["negative"].to_list() == figure.numbers["n"].to_list()


def test_no_answer_below_zero_is_said_so(small):
    rows = losses.negative(small).with_columns(negative=pl.lit(0), estimate=pl.lit(0.0))
    assert losses.negative_dots(small, rows).chart.to_dict()["title"]["text"] == "No answer scores below zero"


def test_published_shares_stand_beside_ours_in_the_order_of_the_board(small, told):
    board = told[0]
    beside = losses.beside_published(small, board)
    assert beside["name"].unique(maintain_order=True).to_list() == board["name"].to_list()
    assert beside.height == 4 * board.height
    assert beside.filter(name="GPT-4o", verdict="missing")["published"].item() == pytest.approx(0.543)
    assert isinstance(losses.published_table(small, beside), Table)


def test_text_only_shares_have_no_published_number(small_database):
    study = Study(small_database, variant="text_only")
    beside = losses.beside_published(study, common.board(study))
    assert "multimodal questions only" in str(losses.beside_note(study, beside))


@pytest.mark.parametrize("part", ["tier", "role", "domain"])
def test_parts_that_the_data_does_not_have_are_told_in_one_line(bare, part):
    rows = losses.by_part(bare, losses.answer_losses(bare), part)
    assert isinstance(losses.part_figure(bare, rows, part), Text)
    assert isinstance(losses.part_text(rows, part), Text)


def test_answers_that_are_not_graded_in_full_lose_no_points(tmp_path):
    put(tmp_path / "torn", "verdicts.csv", [verdict(model=m, question_id=q) for m in ("a", "b") for q in ("q1", "q2")])
    put(tmp_path / "torn", "checks.csv", [check(question_id=q, check_id=c) for q in ("q1", "q2") for c in ("c1", "c2")])
    study = Study(built(tmp_path / "torn"))
    board, split = common.board(study), losses.answer_losses(study)
    about, items = losses.subject(study, board), losses.items(study)
    lost, ratios = losses.lost(study, split), losses.ratios(study, split)
    steps = losses.tier_losses(study, split, about)
    exhibits = [
        losses.answer(study, lost, ratios),
        losses.currencies(study, board, lost),
        losses.ratio_dots(study, board, ratios),
        losses.ratio_table(study, board, ratios),
        losses.negative_dots(study, losses.negative(study)),
        losses.waterfall(study, steps, about),
        losses.steps_text(study, steps),
        losses.reading_table(study, about),
        losses.costliest_table(study, losses.costliest(study, split, items, about), about),
    ]
    assert all(isinstance(exhibit, Text) for exhibit in exhibits)


def test_every_figure_of_simulated_data_says_so(small, told):
    board, split, lost, ratios, items = told
    figures = [
        losses.verdict_shares(small, board),
        losses.currencies(small, board, lost),
        losses.ratio_dots(small, board, ratios),
        losses.negative_dots(small, losses.negative(small)),
        losses.item_histogram(small, items),
        losses.waterfall(small, losses.tier_losses(small, split, "gpt-4o"), "gpt-4o"),
        *(losses.part_figure(small, losses.by_part(small, split, part), part) for part in ("tier", "role", "domain")),
    ]
    for figure in figures:
        assert isinstance(figure, Figure)
        assert figure.caption.startswith("SIMULATED data.")


def test_sentences_after_the_figures_are_worked_by_hand(bare):
    # alpha meets one check and contradicts one; beta misses one and contradicts one, and loses 4/5 to contradiction.
    split = losses.answer_losses(bare)
    assert str(losses.shares_text(bare)) == (
        "beta both leaves out most (50 % of the checks) and contradicts most (50.0 %); the least are 0 % (alpha) and "
        "50.0 % (alpha)."
    )
    assert str(losses.currencies_text(losses.lost(bare, split))) == (
        "Contradiction takes 100 % of the points that alpha loses, the largest part of all models, and 80 % of those "
        "of beta, the smallest."
    )


def test_whose_interval_is_sure_is_counted():
    rows = [("points", 1.2, 3.0), ("points", 0.4, 0.9), ("points", 0.8, 1.4), ("counts", 9.0, 10.0)]
    ratios = pl.DataFrame(rows, schema=["measure", "low", "high"], orient="row")
    assert str(losses.ratios_text(ratios)) == (
        "In 1 of 3 models the whole interval says that omission costs more points, in 1 that contradiction does; for "
        "the others these questions cannot tell."
    )


@pytest.mark.parametrize(("low", "told"), [(0.3, "lie apart"), (0.1, "overlap")])
def test_answers_that_do_harm_are_told_with_their_intervals(low, told):
    ends = [("a", 1, 0.1, 0.05, 0.2), ("b", 4, 0.4, low, 0.5)]
    negative = pl.DataFrame(ends, schema=["name", "negative", "estimate", "low", "high"], orient="row")
    text = str(losses.negative_text(negative))
    assert text.startswith("An empty answer would have been better than 40 (")
    assert text.endswith(f"of those of a; the two intervals {told}.")


def test_without_harm_one_line_says_so(tmp_path):
    rows = [verdict(question_id=q, model=m, verdict="missing") for q in ("q1", "q2") for m in ("a", "b")]
    put(tmp_path / "mild", "verdicts.csv", rows)
    study = Study(built(tmp_path / "mild"))
    split = losses.answer_losses(study)
    assert str(losses.shares_text(study)).endswith("and none is contradicted.")
    assert str(losses.currencies_text(losses.lost(study, split))) == "No point is lost to contradiction."
    assert "No model both omits and contradicts" in str(losses.ratios_text(losses.ratios(study, split)))
    assert str(losses.negative_text(losses.negative(study))) == "No answer would have been better left empty."


def shared(*rows):
    names = ["name", "verdict", "share", "macro"]
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(model="name")
    return SimpleNamespace(frames={common.shares.__wrapped__: frame})


@pytest.mark.parametrize(
    ("macro", "told"),
    [(0.35, "by omission 2 of 2 models change places."), (0.25, "order of the models by omission stays as it is.")],
)
def test_a_mean_over_questions_moves_the_order_or_leaves_it(macro, told):
    rows = [("a", "missing", 0.2, macro), ("b", "missing", 0.3, 0.3), ("a", "contradicts", 0.1, 0.1)]
    said = str(losses.rates_text(shared(*rows)))
    assert f"no share moves by more than {100 * (macro - 0.2):.1f} points (a)" in said
    assert said.endswith(told)
    assert losses.rates_text(shared(rows[0], rows[2])) is None


@pytest.mark.parametrize(("points", "told"), [(4.0, "(9.0) and by points (4.0)."), (1.0, "; by points it is b (2.0).")])
def test_the_most_omission_by_checks_is_the_most_by_points_or_is_not(points, told):
    # Ratios in checks are 9 / points and 4 / 2 times those in points.
    rows = [("a", "counts", 9.0), ("b", "counts", 4.0), ("a", "points", points), ("b", "points", 2.0)]
    ratios = pl.DataFrame(rows, schema=["name", "measure", "estimate"], orient="row").with_columns(model="name")
    said = str(losses.ratio_table_text(ratios))
    assert told in said
    assert f"is {(9 / points + 2) / 2:.1f} times the one in points" in said
    assert losses.ratio_table_text(ratios.filter(name="a")) is None


def test_what_silence_would_have_brought_is_worked_by_hand(bare, tmp_path):
    # beta on each question: (0 - 2) / (1 + 2) = -2/3; with both checks missing 0. Contradiction costs 4/3 of its loss.
    assert str(losses.reading_text(bare, "beta")) == (
        "Silence in place of every contradiction would have brought beta 66.7 points, 50 % of what contradiction costs "
        "as the score adds up; the rest would be lost to omission."
    )
    put(tmp_path / "mild", "verdicts.csv", [verdict(question_id=q, verdict="missing") for q in ("q1", "q2")])
    mild = Study(built(tmp_path / "mild"))
    assert str(losses.reading_text(mild, "alpha")).startswith("alpha contradicts nothing")


def test_the_costliest_checks_are_the_models_own_gaps_or_hard_for_all(bare):
    rows = losses.costliest(bare, losses.answer_losses(bare), losses.items(bare), "beta")
    assert str(losses.costliest_text(bare, rows, "beta")) == (
        "None of these 4 checks is met by more than half of the models, so they are hard, or doubtful; 2 of the 4 are "
        "contradicted."
    )
    easy = rows.with_columns(difficulty=pl.when(pl.col("difficulty") > 0).then(0.9).otherwise(0.0))
    assert str(losses.costliest_text(bare, easy, "beta")).startswith(
        "2 of these 4 checks are met by more than half of the models, so they are gaps of beta's own"
    )
    assert losses.costliest_text(bare, rows.with_columns(n=pl.lit(1)), "beta") is None


@pytest.mark.parametrize(("low", "told"), [(0.2, "the intervals lie apart."), (0.1, "the intervals overlap.")])
def test_the_tier_with_the_most_checks_that_all_fail(monkeypatch, low, told):
    rows = [("Context", 0.3, low, 0.4), ("Valuable", 0.1, 0.05, 0.15)]
    dead = pl.DataFrame(rows, schema=["label", losses.failures.DEAD[1], "low_failed", "high_failed"], orient="row")
    monkeypatch.setattr(losses, "_dead", lambda *_: dead)
    items = pl.DataFrame({"n": [2, 2], "tier": ["context", "valuable"]})
    said = str(losses.dead_text(None, items))
    assert said.startswith("Checks that all models fail are most common in Context (30.0 (")
    assert said.endswith(told)
    monkeypatch.setattr(losses, "_dead", lambda *_: dead.with_columns(pl.lit(0.0).alias(losses.failures.DEAD[1])))
    assert str(losses.dead_text(None, items)) == "No tier has a check that all models fail."
    assert losses.dead_text(None, items.head(1)) is None


def test_contradicted_checks_that_no_model_meets_are_to_be_read_first():
    items = pl.DataFrame({"n": [4, 4, 4], "credit": [-1.0, -0.5, 0.5], "difficulty": [0.0, 0.25, 0.5]}).with_columns(
        question_id=pl.lit("q"), check_id=pl.Series(["c1", "c2", "c3"])
    )
    assert str(losses.hardest_text(items)) == (
        "2 checks have a mean worth below zero. 1 of the 2 shown are met by no model: read these first."
    )
    met = items.with_columns(difficulty=pl.lit(0.25))
    assert str(losses.hardest_text(met)).endswith("Each of the 2 shown is met by some model, so it can be met.")
    assert losses.hardest_text(items.tail(1)) is None
