"""Curves over numbers of questions, estimates of several kinds, lines between positions, grids: each from ten rows."""

import json
import re

import polars as pl
import pytest
import vl_convert

from gamut_analysis.charts import bands, curves, grids, lines, panels, parts
from gamut_analysis.charts.links import linked, links_of
from gamut_analysis.charts.literals import literal, quoted
from gamut_analysis.display import CHART, Figure
from gamut_analysis.vocabulary import VERDICTS

NAMES = ["a.b", "c[d]", 'it\'s: "quoted"', "模型", "if", "constructor"]
# Every text that Vega or JavaScript knows as a function.
WORDS = ["if", "constructor", "hasOwnProperty", "isPrototypeOf", "toString", "valueOf", "toLocaleString", "__proto__"]
JUDGES = ["one", "two"]


def by_judge():
    rows = [(name, judge, 0.1 * place) for place, name in enumerate(NAMES) for judge in JUDGES]
    frame = pl.DataFrame(rows, schema=["name", "judge", "estimate"], orient="row")
    return frame.with_columns(low=pl.col("estimate") - 0.05, high=pl.col("estimate") + 0.05, n=pl.lit(7))


def by_number():
    rows = [(n, judge, 0.5 / n**0.5) for n in (20, 90, 400, 2000, 9000) for judge in JUDGES]
    return pl.DataFrame(rows, schema=["questions", "judge", "error"], orient="row")


def by_gap():
    rows = [(gap, judge, 1 / gap**2) for gap in (0.01, 0.02, 0.04, 0.08, 0.1) for judge in JUDGES]
    return pl.DataFrame(rows, schema=["gap", "judge", "questions"], orient="row")


def square(names):
    rows = [(row, column, 0.1 * place - 0.2) for place, row in enumerate(names) for column in names[:2]]
    return pl.DataFrame(rows, schema=["row", "column", "value"], orient="row")


def heat(names):
    return grids.heat(
        square(names), row="row", column="column", value="value", rows=names, columns=names[:2], title="P"
    )


FIGURES = {
    "dots_by_group": lambda: bands.dots_by_group(
        by_judge(), group="name", kind="judge", order=NAMES, kinds=JUDGES, title="Agreement"
    ),
    "by_questions": lambda: curves.by_questions(by_number(), value="error", group="judge", order=JUDGES),
    "by_gap": lambda: curves.by_gap(by_gap(), group="judge", order=JUDGES),
    "slopes": lambda: lines.slopes(by_judge(), at="judge", order=JUDGES),
    "scatter": lambda: lines.scatter(by_judge(), x="estimate", y="low", group="judge", x_title="Score", y_title="Gap"),
    "heat": lambda: heat(NAMES),
    "dot_panels": lambda: panels.dot_panels(
        by_judge(), panel="judge", panels=JUDGES, row="name", order=NAMES, titles=dict.fromkeys(JUDGES, "Points")
    ),
}


def drawn(chart):
    """The picture of a chart as a figure shows it."""
    bundle, _ = Figure("figure", chart, "", "")._repr_mimebundle_()
    return vl_convert.vegalite_to_svg(bundle[CHART], vl_version="6.4")


def marks(svg):
    return len(re.findall(r'aria-roledescription="(?:point|circle|line mark|rect mark|rule)"', svg))


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_draws_its_ten_rows_with_full_names(name):
    svg = drawn(FIGURES[name]())
    assert marks(svg) >= 10
    held = NAMES if name in ("dots_by_group", "slopes", "heat", "dot_panels") else JUDGES
    texts = re.sub(r'aria-label="[^"]*"', "", svg)
    assert all(part in texts for name in held for part in re.split(r'[: "]+', name) if part.isalnum())


def ticks(chart, axis):
    """The labels of an axis."""
    part = re.search(rf'aria-label="{axis}-axis titled.*?role-axis-title', drawn(chart), re.DOTALL)[0]
    return [text for text in re.findall(r"<text[^>]*>([^<]*)</text>", part) if text]


def test_an_axis_of_ratios_has_round_numbers_and_no_others():
    labels = ticks(FIGURES["by_questions"](), "X")
    assert labels == ["20", "50", "100", "200", "500", "1,000", "2,000", "5,000"]


def test_labels_of_columns_lean_only_where_they_do_not_fit():
    def angle(names):
        return heat(names).to_dict()["layer"][0]["encoding"]["x"]["axis"]["labelAngle"]

    assert angle(["1", "2"]) == 0
    assert angle(["x" * 60, "2"]) == -45


def test_each_estimate_has_a_row_of_its_own_height():
    rows = FIGURES["dots_by_group"]().to_dict()["height"]
    assert rows == {"step": 16}


@pytest.mark.parametrize("word", WORDS)
def test_names_that_vega_knows_as_words_are_drawn_as_names(word):
    rows = pl.DataFrame({"panel": [word] * 3, "size": [1, 2, 3], "count": [4, 5, 6]})
    titled = panels.bar_panels(
        rows, panel="panel", panels=[word], x="size", count="count", x_title="Size", count_title="Count"
    )
    svg = drawn(titled)
    assert svg.count('aria-roledescription="bar"') == 3
    assert f">{word}</text>" in svg
    shares = pl.DataFrame({"name": [word] * 4, "verdict": VERDICTS, "share": [0.25] * 4})
    svg = drawn(parts.verdict_shares(shares, order=[word], focus=word))
    assert svg.count('aria-roledescription="bar"') == 4
    assert re.search(rf'font-weight="bold"[^>]*>{word}</text>', svg)


def test_only_words_of_vega_are_taken_apart():
    assert literal("iffy") == "iffy"
    assert quoted('a"b') == json.dumps('a"b')


def test_a_tie_is_a_note_that_changes_no_picture():
    plain = FIGURES["slopes"]()
    tied = linked(plain, model="name", domain=("one", "two"))
    assert links_of(tied.to_dict()) == {"model": ["name"], "domain": ["one", "two"]}
    assert links_of(plain.to_dict()) == links_of(linked(plain).to_dict()) == {}
    assert drawn(tied) == drawn(plain)


def test_long_names_beside_slopes_are_wrapped_and_end_inside_the_figure():
    names = [f"meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8-{place}-context" for place in "ab"]
    rows = [(name, judge, 0.1 * place) for place, name in enumerate(names) for judge in ("j", "k", "l")]
    chart = lines.slopes(
        pl.DataFrame(rows, schema=["name", "judge", "estimate"], orient="row"), at="judge", order=["j", "k", "l"]
    )
    held = next(rows for rows in chart.to_dict()["datasets"].values() if "lines" in rows[0])
    assert all("".join(row["lines"].split()) == row["name"] for row in held)
    longest = max(len(line) for row in held for line in row["lines"].split("\n"))
    assert longest <= 28
    room = int(re.search(r"width - (\d+)", json.dumps(chart.to_dict()))[1])
    assert room >= 7 * longest


def test_a_legend_of_long_names_has_a_line_for_each():
    groups = ["j", "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8-long-context", "an-even-longer-name-of-a-judge"]
    for names, columns in ((groups, 1), (["j", "k"], None)):
        frame = pl.DataFrame({"name": "m", "judge": names, "x": 0.1, "y": 0.2})
        chart = lines.scatter(frame, x="x", y="y", group="judge", x_title="", y_title="").to_dict()
        assert chart["layer"][1]["encoding"]["color"]["legend"].get("columns") == columns
