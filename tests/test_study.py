"""One database through one judge and one variant: defaults, and names that the data does not have."""

import pytest

from gamut_analysis.errors import DatabaseMissing, UnknownName
from gamut_analysis.study import Study


def test_the_reference_judge_and_the_multimodal_variant_are_the_default(small_database):
    study = Study(small_database)
    assert (study.judge, study.variant) == ("gemini-3.1-pro", "multimodal")


def test_data_without_the_reference_judge_takes_the_one_that_graded_most(bare_database):
    assert Study(bare_database).judge == "a"


def test_an_unknown_model_lists_the_nearest_known_ones(small_database):
    with pytest.raises(UnknownName, match=r"no model 'gpt-4'.*nearest: gpt-4o"):
        Study(small_database, "gpt-4")


@pytest.mark.parametrize(("judge", "variant"), [("nobody", ""), ("", "spoken")])
def test_an_unknown_judge_or_variant_is_refused(small_database, judge, variant):
    with pytest.raises(UnknownName, match="all: "):
        Study(small_database, "", judge, variant)


def test_a_variant_that_the_data_lacks_is_refused(bare_database):
    with pytest.raises(UnknownName, match="no variant 'text_only' in this data"):
        Study(bare_database, "", "", "text_only")


def test_a_missing_database_says_what_builds_it(tmp_path):
    with pytest.raises(DatabaseMissing, match="make data"):
        Study(tmp_path / "none.duckdb")
