"""Every figure draws from a frame of a few rows, names intact, without a row limit or a warning."""

import json
import re

import altair as alt
import polars as pl
import pytest
import vl_convert

from gamut_analysis.charts import dots, grids, parts
from gamut_analysis.vocabulary import TIER_LABELS, TIERS, VERDICTS

NAMES = ["a.b", "c[d]", 'it\'s: "quoted"', "模型", "a-very-long-model-name/with-a-path:free-2026-12-01-preview-final"]


def board() -> pl.DataFrame:
    scores = [0.6, 0.5, 0.4, 0.1, -0.2]
    return pl.DataFrame(
        {
            "name": NAMES,
            "estimate": scores,
            "low": [score - 0.05 for score in scores],
            "high": [score + 0.05 for score in scores],
            "n": [10] * 5,
            "group": ["a", "a", "b", "c", "d"],
            "published": [0.61, None, 0.4, 0.1, -0.2],
        }
    )


def strips() -> pl.DataFrame:
    rows = [
        (m, name, 0.1 * i, 0.05, 0.3, i == 0, "points") for m in ("Score", "Omission") for i, name in enumerate(NAMES)
    ]
    return pl.DataFrame(rows, schema=["measure", "name", "value", "low", "high", "is_focus", "unit"], orient="row")


def against() -> pl.DataFrame:
    frame = board().select(part="name", own="estimate", low="low", high="high", n="n")
    return frame.with_columns(median=pl.lit(0.3), difference=pl.col("own") - 0.3, is_small=pl.col("own") < 0)


def losses() -> pl.DataFrame:
    rows = [(tier, verdict, 0.05) for tier in TIERS for verdict in VERDICTS[1:]]
    return pl.DataFrame(rows, schema=["tier", "verdict", "estimate"], orient="row")


def shares() -> pl.DataFrame:
    rows = [(name, verdict, 0.25) for name in NAMES for verdict in VERDICTS]
    return pl.DataFrame(rows, schema=["name", "verdict", "share"], orient="row")


def cells() -> pl.DataFrame:
    rows = [(a, b, 0.1 * i - 0.2) for i, a in enumerate(NAMES) for b in NAMES]
    return pl.DataFrame(rows, schema=["row", "column", "value"], orient="row")


def spread() -> pl.DataFrame:
    return pl.DataFrame({"name": NAMES, "q05": -0.3, "q25": 0.1, "q50": 0.4, "q75": 0.7, "q95": 1.0, "negative": 0.12})


def profile() -> pl.DataFrame:
    rows = [(name, label, 0.1 * i) for name in NAMES for i, label in enumerate(TIER_LABELS.values())]
    return pl.DataFrame(rows, schema=["name", "tier_label", "estimate"], orient="row")


FIGURES = {
    "field": lambda: dots.field(board(), focus=NAMES[1], reference="published"),
    "strips": lambda: dots.strips(strips()),
    "against_field": lambda: dots.against_field(against(), part="part", title="Points"),
    "judges": lambda: dots.judges(board().rename({"name": "judge"})),
    "verdict_shares": lambda: parts.verdict_shares(shares(), order=NAMES, focus=NAMES[2]),
    "waterfall": lambda: parts.waterfall(losses(), score=0.55),
    "heat": lambda: grids.heat(
        cells(), row="row", column="column", value="value", rows=NAMES, columns=NAMES, title="P"
    ),
    "spread": lambda: grids.spread(spread(), order=NAMES),
    "tiers": lambda: grids.tiers(profile(), order=NAMES),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_draws_marks_and_full_names(name):
    chart = FIGURES[name]()
    svg = vl_convert.vegalite_to_svg(json.loads(chart.to_json()))
    assert svg.count("<path") + svg.count("<text") > 10
    if name != "waterfall" and name != "strips":
        assert "模型" in svg


@pytest.mark.parametrize("name", FIGURES)
def test_the_same_frame_gives_the_same_picture(name):
    first, second = (vl_convert.vegalite_to_svg(FIGURES[name]().to_dict()) for _ in range(2))
    assert first == second


def test_a_waterfall_ends_at_a_score_below_zero_too():
    lost = losses().with_columns(estimate=pl.lit(0.15))
    chart = parts.waterfall(lost, score=1 - 9 * 0.15)
    rows = next(iter(chart.to_dict()["datasets"].values()))
    assert rows[-1]["points"] == pytest.approx(-35.0)
    assert isinstance(chart, alt.LayerChart)


LONG = [f"meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8-{place:02d}-context" for place in range(30)]


def width_of(chart) -> float:
    """The width of a figure as it is drawn."""
    return float(re.search(r'<svg[^>]*? width="([\d.]+)"', vl_convert.vegalite_to_svg(chart.to_dict()))[1])


@pytest.mark.parametrize("columns", [LONG, [str(place) for place in range(1, 31)], [name[11:25] for name in LONG]])
@pytest.mark.parametrize("rows", [LONG, [name[-14:] for name in LONG]])
def test_a_grid_of_thirty_columns_fits_the_page(rows, columns):
    filled = pl.DataFrame({"row": rows, "column": columns, "value": 0.5})
    chart = grids.heat(filled, row="row", column="column", value="value", rows=rows, columns=columns, title="P")
    assert width_of(chart) <= 720


def test_letters_of_tied_groups_have_room_beyond_the_longest_interval():
    # All that is drawn spans 90 points, −25 to 65, and a pixel is at most a 400th of it: 40 and nine times 7 pixels.
    lettered = board().with_columns(group=pl.lit("abcdefghi"))
    scale = dots.field(lettered).to_dict()["layer"][0]["encoding"]["x"]["scale"]
    assert scale["domain"][1] == pytest.approx(65 + 90 / 400 * (40 + 9 * 7))
    assert scale["domain"][0] == pytest.approx(-25 - 90 / 400 * 24)


def test_a_difference_without_an_interval_has_its_number_beside_it():
    rows = pl.DataFrame(
        {"part": ["a"], "estimate": [1.0], "n": [1], "verdict": [None]}, schema_overrides={"verdict": pl.String}
    )
    rows = rows.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))
    chart = dots.around_zero(rows, part="part", title="Points")
    assert ">+100.0<" in vl_convert.vegalite_to_svg(chart.to_dict())
