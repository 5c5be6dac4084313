"""What the chapter on numbers says: both readings of each sentence, worked by hand."""

import polars as pl
import pytest

from gamut_analysis.chapters import enough
from gamut_analysis.ranking import minimum_detectable_effect
from gamut_analysis.study import Study

PAIRS = {"model_a": ["a", "a", "b"], "model_b": ["b", "c", "c"], "n": [100, 100, 100]}


def components(question, judge):
    return pl.DataFrame({"component": ["model x question", "model x judge"], "estimate": [question, judge]})


@pytest.mark.parametrize(
    ("question", "judge", "told"), [(1.0, 0.0001, "the questions help more"), (0.01, 0.01, "the judge helps more")]
)
def test_a_second_judge_is_weighed_against_twice_the_questions(question, judge, told):
    text = enough.surface_text(components(question, judge), pl.DataFrame(PAIRS))
    assert told in str(text)
    # 2 (mq / n + mj / k) is the variance of a difference.
    assert text.values["now"] == pytest.approx((2 * (question / 100 + judge)) ** 0.5)
    assert text.values["judge"] == pytest.approx((2 * (question / 100 + judge / 2)) ** 0.5)
    assert text.values["questions"] == pytest.approx((2 * (question / 200 + judge)) ** 0.5)


def test_the_gaps_that_these_questions_are_enough_for_are_counted():
    some = pl.DataFrame(PAIRS).with_columns(questions_needed=pl.Series([50, 100, 101]))
    assert "enough for 2 of 3 pairs; half of the pairs need 100 or fewer" in str(enough.pair_text(some))
    none = some.with_columns(questions_needed=pl.Series([500, 900, 1000]))
    assert "enough for none of the 3 pairs; half of them need more than 900" in str(enough.pair_text(none))
    lone = some.with_columns(questions_needed=pl.lit(None, pl.Int64))
    assert "no two models" in str(enough.pair_text(lone))


def test_what_no_number_of_questions_brings_down_is_said_in_words():
    table = enough.needed_table(components(0.04, 0.01))
    assert table.notes() == ["Undefined (–): judges alone leave an error above one point, as the last column says."]


def test_numbers_without_two_judges_or_models_are_refused_in_one_line(bare_database):
    study = Study(bare_database, judge="b")
    nothing = pl.DataFrame({"standard_error": [None], "n": [0]}, schema={"standard_error": pl.Float64, "n": pl.Int64})
    assert "no two models" in str(enough.design(study, pl.DataFrame(), nothing))
    assert "Without components" in str(enough.surface_text(pl.DataFrame(), nothing))


def test_a_correction_for_all_pairs_asks_for_a_wider_gap():
    factors = enough._factors(10)
    single, strict = factors.values()
    assert single == pytest.approx(1.959964 + 0.841621, abs=1e-5)
    assert strict == pytest.approx(float(minimum_detectable_effect(1.0, level=0.995)))
    assert list(enough._factors(1)) == ["one pair by itself"]
