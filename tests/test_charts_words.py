"""Figures of question texts draw from a few rows, whatever the words are."""

import polars as pl
import pytest
import vl_convert

from gamut_analysis import diversity
from gamut_analysis.charts import words

OPENINGS = pl.Series(["what is this", "what is that", "if only </script>", "if only we", "模型 is what", "a.b c[d] e"])
DOMAINS = ["a.b", 'it\'s: "quoted"', "模型", "c[d] </script>"]


def curves() -> pl.DataFrame:
    return diversity.opening_coverage(OPENINGS).with_columns(kind=pl.lit("3 words"))


def openers() -> pl.DataFrame:
    return diversity.first_words(diversity.openings(diversity.words_of(OPENINGS)))


def points() -> pl.DataFrame:
    rows = [(0.1 * i, -0.1 * i, DOMAINS[i % 4], f"question {i}") for i in range(8)]
    return pl.DataFrame(rows, schema=["x", "y", "domain", "question"], orient="row")


FIGURES = {
    "coverage": lambda: words.coverage(curves(), kinds=["3 words"], top=25, reference=0.6),
    "coverage_bare": lambda: words.coverage(curves(), kinds=["3 words"], top=2),
    "tree": lambda: words.tree(diversity.opening_tree(OPENINGS)),
    "openers": lambda: words.openers(openers()),
    "map": lambda: words.map_of(points(), groups=DOMAINS),
}


def drawn(name: str) -> str:
    return vl_convert.vegalite_to_svg(FIGURES[name]().to_dict())


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_draws_marks_and_the_same_each_time(name):
    svg = drawn(name)
    assert svg.count("<path") + svg.count("<text") > 5
    assert svg == drawn(name)


def test_words_that_a_program_would_take_for_its_own_are_drawn_as_words():
    assert ">if<" in drawn("openers")
    assert ">模型<" in drawn("openers")
    assert ">if 33 %<" in drawn("tree")


def test_the_share_of_the_commonest_openings_stands_at_its_line():
    # The two commonest of six openings cover 2 of 6 questions.
    assert "3 words 33 %" in drawn("coverage_bare")


def test_each_domain_has_a_panel_with_its_own_questions_in_colour():
    spec = FIGURES["map"]().to_dict()
    assert [panel["title"]["text"] for row in spec["vconcat"] for panel in row["hconcat"]] == DOMAINS
    named = [{row["domain"] for row in rows} for rows in spec["datasets"].values() if "domain" in rows[0]]
    assert sorted(named, key=min) == [{domain} for domain in sorted(DOMAINS)]
    assert len(spec["datasets"]) == 1 + len(DOMAINS), "all panels share one copy of the grey dots behind them"


def test_a_question_of_no_shown_domain_stays_grey():
    spec = words.map_of(points(), groups=DOMAINS[:2]).to_dict()
    assert sorted(len(rows) for rows in spec["datasets"].values()) == [2, 2, len(points())]


def test_a_long_name_over_a_panel_is_wrapped_into_its_width():
    names = [f"Plants, animals and other living things of the {place}" for place in range(5)]
    rows = points().head(5).with_columns(domain=pl.Series(names))
    titles = [panel["title"]["text"] for panel in words.map_of(rows, groups=names).to_dict()["vconcat"][0]["hconcat"]]
    assert [" ".join(lines) for lines in titles] == names
    assert max(len(line) for lines in titles for line in lines) <= 17
