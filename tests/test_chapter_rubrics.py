"""What the chapter on rubrics tells: numbers worked by hand, and one line where the data does not allow a part."""

import polars as pl
import pytest

from gamut_analysis import datasets
from gamut_analysis.chapters import rubrics as chapter
from gamut_analysis.display import Figure, Table, Text
from gamut_analysis.study import Study

# q1 asks for one fact and a list of three, which gives a baseline and three bonuses; q2 for one fact and a list of
# background, whose threshold cannot fall any lower.
CHECKS = [
    ("q1", "fact", "answer_critical", "fact", "f", "simple_knowledge"),
    ("q1", "base", "answer_critical", "baseline", "l", "flexible_list"),
    ("q1", "one", "valuable", "bonus", "l", "flexible_list"),
    ("q1", "two", "valuable", "bonus", "l", "flexible_list"),
    ("q1", "three", "valuable", "bonus", "l", "flexible_list"),
    ("q2", "fact", "answer_critical", "fact", "f", "simple_knowledge"),
    ("q2", "base", "context", "baseline", "b", "flexible_list"),
    ("q2", "more", "context", "threshold", "b", "flexible_list"),
]
UNMET = {"alpha": {"base"}, "beta": {"two", "three"}}


@pytest.fixture(scope="module")
def listed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("listed") / "listed"
    folder.mkdir()
    names = ["question_id", "check_id", "tier", "role", "item_id", "item_type"]
    checks = pl.DataFrame(CHECKS, schema=names, orient="row")
    checks.with_columns(text=pl.lit("something"), position=pl.int_range(pl.len()) + 1).write_csv(folder / "checks.csv")
    rows = [
        (model, "j", question, check, "missing" if question == "q1" and check in unmet else "meets")
        for model, unmet in UNMET.items()
        for question, check, *_ in CHECKS
    ]
    verdicts = pl.DataFrame(rows, schema=["model", "judge", "question_id", "check_id", "verdict"], orient="row")
    verdicts.write_csv(folder / "verdicts.csv")
    return Study(datasets.build(folder, folder.parent / "listed.duckdb").database)


@pytest.fixture(scope="module")
def small(small_database):
    return Study(small_database, "gpt-4o")


@pytest.fixture(scope="module")
def bare(bare_database):
    return Study(bare_database)


def test_other_rubrics_score_the_same_verdicts_as_worked_by_hand(listed):
    # As compiled, q1 is (2 AC + V) / 3. alpha: AC 1/2, V 1 -> 2/3; beta: AC 1, V 1/3 -> 7/9; q2 is 1 for both.
    # In one tier, or with bonuses in the tier of their list: 4/5 and 3/5. All options required, no baseline: 1 and 2/4.
    # The threshold of the Context list on q2 stays where it is, so q2 is 1 throughout.
    rows = chapter.rescored(listed)
    scores = {(row["rubric"], row["model"]): (row["score"], row["rank"]) for row in rows.to_dicts()}
    assert scores["as compiled", "alpha"] == (pytest.approx((2 / 3 + 1) / 2), 2)
    assert scores["as compiled", "beta"] == (pytest.approx((7 / 9 + 1) / 2), 1)
    for rubric in ("without tiers", "without demotion"):
        assert scores[rubric, "alpha"] == (pytest.approx(0.9), 1)
        assert scores[rubric, "beta"] == (pytest.approx(0.8), 2)
    assert scores["all list items required", "alpha"] == (pytest.approx(1.0), 1)
    assert scores["all list items required", "beta"] == (pytest.approx(0.75), 2)


def test_who_moves_is_told_in_words(listed):
    rescored = chapter.rescored(listed)
    told = str(chapter.shifts_text(listed, rescored))
    # alpha gains 0.9 - 5/6 and beta loses 8/9 - 0.8, on average -1.1 points.
    assert "Without tiers, scores change by −1.1 points on average and 2 models move" in told
    figure = chapter.shifts(listed, rescored)
    assert isinstance(figure, Figure)
    assert figure.chart.to_dict()["title"]["text"] == "Another rubric would move 2 of 2 models"


def test_the_answer_is_built_from_numbers(listed):
    # 5 and 3 checks; both questions have a list.
    told = str(chapter.answer(listed, chapter.statistics(listed, chapter.items(listed)), chapter.rescored(listed)))
    assert told.startswith("A question is graded by 4.0 (")
    assert "100 (34 to 100) % of the questions ask for more than single facts" in told
    assert "put 2 of 2 models on another place" in told


def test_items_are_inferred_where_only_checks_were_delivered(listed):
    items = chapter.items(listed)
    assert sorted(items.select("question_id", "item_type").rows()) == [
        ("q1", "flexible_list"),
        ("q1", "simple_knowledge"),
        ("q2", "flexible_list"),
        ("q2", "simple_knowledge"),
    ]
    assert "items were inferred from their checks" in str(chapter.limits(listed, items))


def test_tiers_are_counted_and_missing_ones_told(listed):
    # 3 Answer-Critical, 3 Valuable and 2 Context checks of 8; q1 has no Context, q2 nothing Valuable.
    told = str(chapter.tiers_text(listed))
    assert told.startswith("Of 8 checks 38 % are Answer-Critical, 38 % Valuable and 25 % Context.")
    assert "(1 without Valuable and 1 without Context)" in told


def test_bare_checks_give_counts_and_one_line_for_each_part_that_needs_more(bare):
    items, rescored = chapter.items(bare), chapter.rescored(bare)
    assert items.is_empty()
    assert rescored.is_empty()
    told = str(chapter.answer(bare, chapter.statistics(bare, items), rescored))
    assert told == "A question is graded by 2.0 (2.0 to 2.0) checks on average."
    parts = [
        chapter.combinations(bare, items),
        chapter.combinations_text(items),
        chapter.lengths(bare, items),
        chapter.lengths_text(items),
        chapter.thresholds(bare, items),
        chapter.thresholds_text(items),
        chapter.shifts(bare, rescored),
        chapter.shifts_text(bare, rescored),
        chapter.shifts_table(bare, rescored),
    ]
    assert all(isinstance(part, Text) for part in parts)
    assert "have no roles" in str(parts[-1])
    assert str(chapter.tiers_text(bare)) == "All 6 checks are of one tier, Answer-Critical."
    sizes = chapter.tier_sizes(bare)
    assert sizes.rows() == [("All tiers", 2, 3), ("Answer-Critical", 2, 3)]


def test_printed_statistics_stand_beside_gamut_data_alone(small, bare):
    ours = chapter.statistics(small, chapter.items(small))
    assert ours.height == len(chapter.STATISTICS)
    assert set(ours["label"]) == set(chapter.STATISTICS.values())
    assert {"printed", "difference"} <= set(chapter.estimates_table(small, ours).specs)
    assert "lie inside our intervals" in str(chapter.published_note(small, ours))
    theirs = chapter.statistics(bare, chapter.items(bare))
    assert "printed" not in chapter.estimates_table(bare, theirs).specs
    assert "not GAMUT's" in str(chapter.published_note(bare, theirs))


def test_what_cannot_be_told_has_its_reason_in_the_table(small):
    table = chapter.counts_table(small, chapter.statistics(small, chapter.items(small)))
    assert any("leave no trace in the data" in note for note in table.notes())


def test_every_figure_of_simulated_rubrics_says_so(small):
    items, rescored = chapter.items(small), chapter.rescored(small)
    shown = [
        chapter.tiers(small),
        chapter.combinations(small, items),
        chapter.lengths(small, items),
        chapter.thresholds(small, items),
        chapter.shifts(small, rescored),
    ]
    for figure in shown:
        assert isinstance(figure, Figure)
        assert figure.caption.startswith("SIMULATED data.")
        assert figure.chart.to_dict()["title"]["subtitle"].startswith("SIMULATED")
    assert isinstance(chapter.shifts_table(small, rescored), Table)


def test_combinations_add_up_to_all_questions(small):
    figure = chapter.combinations(small, chapter.items(small))
    assert figure.numbers["questions"].sum() == small.questions.height


def test_data_without_multimodal_questions_is_told_by_its_own_checks(tmp_path):
    # Three checks, one and two: the median is 2, and three questions give no interval.
    sizes = {"q1": 3, "q2": 1, "q3": 2}
    rows = [
        {"model": "a", "judge": "j", "variant": "text_only", "question_id": q, "check_id": f"c{n}", "verdict": "meets"}
        for q, size in sizes.items()
        for n in range(size)
    ]
    folder = tmp_path / "worded"
    folder.mkdir()
    pl.DataFrame(rows).write_csv(folder / "verdicts.csv")
    study = Study(datasets.build(folder, tmp_path / "worded.duckdb").database)
    statistics = chapter.statistics(study, chapter.items(study))
    told = str(chapter.answer(study, statistics, chapter.rescored(study)))
    assert told.startswith("Half of the text-only questions have 2.0 checks or more.")
    for table in (chapter.estimates_table(study, statistics), chapter.counts_table(study, statistics)):
        assert str(table) == "The paper describes rubrics of multimodal questions, and this data has none."


def test_the_first_place_hangs_on_the_rubric_or_does_not(listed):
    # Worked above: beta is first as compiled; without tiers and without demotion alpha is, with 4/5 against 3/5.
    rescored = chapter.rescored(listed)
    assert str(chapter.firsts_text(rescored)) == (
        "beta is first by the rubrics as compiled; it would be alpha without tiers, alpha without demotion and alpha "
        "with all list items required."
    )
    settled = rescored.with_columns(rank=pl.when(pl.col("model") == "beta").then(1).otherwise(2))
    said = "beta is first by the rubrics as compiled, and by each of the simpler ones."
    assert str(chapter.firsts_text(settled)) == said
    assert chapter.firsts_text(rescored.filter(model="beta")) is None
