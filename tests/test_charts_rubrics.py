"""Figures of rubrics draw from a few rows: every combination, every name, parts that line up."""

import polars as pl
import pytest
import vl_convert

from gamut_analysis.charts import panels, rubrics

NAMES = ["a.b", "c[d]", 'it\'s: "quoted"', "模型", "if"]
SETS = {"strict_list": "Strict list", "process": "Process", "insight": "Insight"}


def combinations() -> pl.DataFrame:
    rows = [
        (True, False, False, "Strict list", 7),
        (True, True, False, "Strict list + Process", 2),
        (False, False, False, "Facts alone", 1),
    ]
    return pl.DataFrame(rows, schema=[*SETS, "combination", "questions"], orient="row")


def sizes() -> pl.DataFrame:
    return pl.DataFrame({"structure": [*SETS, "relationship"], "questions": [9, 2, 0, 5]})


def lists() -> pl.DataFrame:
    rows = [(4, 2, 0, 5, False), (9, 4, 3, 2, True), (9, 4, 2, 1, True)]
    return pl.DataFrame(rows, schema=["n_members", "baseline", "n_thresholds", "lists", "is_long"], orient="row")


def changes() -> pl.DataFrame:
    rows = [
        (rubric, name, 0.5 * i, 0.5 * i - 1, 0.5 * i + 1, 10, "") for rubric in "xy" for i, name in enumerate(NAMES)
    ]
    return pl.DataFrame(rows, schema=["panel", "name", "estimate", "low", "high", "n", "place"], orient="row")


def bars() -> pl.DataFrame:
    return pl.DataFrame({"panel": ["one", "one", "two"], "members": [2, 5, 3], "items": [4, 1, 7]})


def dots():
    titles = dict.fromkeys("xy", "Points")
    options = {"mark": "place", "zero": True, "shared": True, "focus": NAMES[1]}
    return panels.dot_panels(
        changes(), panel="panel", panels=["x", "y"], row="name", order=NAMES, titles=titles, **options
    )


def histogram():
    columns = {"panel": "panel", "x": "members", "count": "items"}
    marks = pl.DataFrame({"panel": ["one"], "value": [3.5], "label": ["median 3.5"]})
    return panels.bar_panels(
        bars(), panels=["one", "two"], x_title="Members", count_title="Items", marks=marks, **columns
    )


FIGURES = {
    "upset": lambda: rubrics.upset(combinations(), sizes(), sets=SETS),
    "baselines": lambda: rubrics.baselines(lists(), long=8),
    "baselines_short": lambda: rubrics.baselines(lists().head(1), long=8),
    "dot_panels": dots,
    "bar_panels": histogram,
}


def drawn(name: str) -> str:
    return vl_convert.vegalite_to_svg(FIGURES[name]().to_dict())


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_draws_marks_and_the_same_each_time(name):
    svg = drawn(name)
    assert svg.count("<path") + svg.count("<text") > 5
    assert svg == drawn(name)


def test_every_model_is_named_whatever_it_is_called():
    svg = drawn("dot_panels")
    for name in ("模型", ">if<", "a.b", "c[d]"):
        assert name in svg


def test_a_combination_has_a_dot_for_each_of_its_structures():
    data = FIGURES["upset"]().to_dict()["datasets"].values()
    cells = next(rows for rows in data if "has" in rows[0] and len(rows) == 9)
    assert [(row["structure"], row["x"]) for row in cells if row["has"]] == [
        ("strict_list", cells[0]["x"]),
        ("strict_list", cells[1]["x"]),
        ("process", cells[1]["x"]),
    ]


def test_sizes_of_sets_that_are_not_shown_are_left_out():
    labels = [
        row["label"] for rows in FIGURES["upset"]().to_dict()["datasets"].values() for row in rows if "label" in row
    ]
    assert labels == list(SETS.values())


def test_lists_of_one_length_and_baseline_share_a_cell():
    rows = next(rows for rows in FIGURES["baselines"]().to_dict()["datasets"].values() if "lists" in rows[0])
    assert [(row["n_members"], row["baseline"], row["lists"]) for row in rows] == [(4, 2, 5), (9, 4, 3)]


def test_the_line_of_thresholds_stands_only_where_there_are_long_lists():
    assert "with coverage thresholds" in drawn("baselines")
    assert "with coverage thresholds" not in drawn("baselines_short")


def test_bars_stand_on_zero():
    rows = [row for rows in FIGURES["bar_panels"]().to_dict()["datasets"].values() for row in rows if "zero" in row]
    assert {row["zero"] for row in rows} == {0}
    assert len(rows) == 3
