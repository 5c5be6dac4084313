"""The figures of text-only gains draw from a few rows, hostile names intact, the same way every time."""

import polars as pl
import pytest
import vl_convert

from gamut_analysis.charts import fields, variants

NAMES = ["a.b", "c[d]", 'it\'s: "quoted"', "模型", "a-very-long-model-name/with-a-path:free-2026-12-01-preview-final"]


def gains() -> pl.DataFrame:
    estimates = [0.2, 0.15, 0.1, 0.05, -0.02]
    return pl.DataFrame(
        {
            "name": NAMES,
            "estimate": estimates,
            **{
                end: [estimate + reach for estimate in estimates]
                for end, reach in (
                    ("low", -0.02),
                    ("high", 0.02),
                    ("low_all", -0.04),
                    ("high_all", 0.04),
                    ("naive", 0.05),
                )
            },
            "n": [10] * 5,
        }
    )


def levels() -> tuple[pl.DataFrame, pl.DataFrame]:
    points = [
        (panel, name, 0.1 * i, 0.2 - 0.03 * i, name) for panel in ("Score", "Mean") for i, name in enumerate(NAMES)
    ]
    lines = [(panel, "fitted", x, 0.2 - 0.3 * x) for panel in ("Score", "Mean") for x in (0.0, 0.4)]
    lines += [("Score", "expected", x, 0.14) for x in (0.0, 0.4)]
    return (
        pl.DataFrame(points, schema=["panel", "name", "level", "gain", "label"], orient="row").with_columns(
            is_focus=pl.col("name") == NAMES[1]
        ),
        pl.DataFrame(lines, schema=["panel", "kind", "level", "gain"], orient="row"),
    )


def parts(measures: tuple[tuple[str, str], ...]) -> tuple[pl.DataFrame, pl.DataFrame]:
    rows = [
        (part, measure, unit, name, 0.1 * i, 0.1 * i - 0.05, 0.1 * i + 0.05, i == 1)
        for measure, unit in measures
        for part in NAMES
        for i, name in enumerate(NAMES)
    ]
    frame = pl.DataFrame(
        rows, schema=["part", "measure", "unit", "name", "value", "low", "high", "is_focus"], orient="row"
    )
    return frame, frame.group_by("part", "measure", "unit", maintain_order=True).agg(pl.col("value").median())


def domains() -> object:
    rows, middle = parts((("Gain", "points"),))
    return fields.by_part(rows, middle.with_columns(low=pl.lit(0.1), high=pl.lit(0.3)), order=NAMES)


FIGURES = {
    "gains": lambda: variants.gains(gains(), mean=0.1, focus=NAMES[1]),
    "gains of no one": lambda: variants.gains(gains()),
    "levels": lambda: variants.levels(*levels(), mean=0.1),
    "by_part": lambda: fields.by_part(*parts((("Missing", "% of checks"), ("Lost", "points"))), order=NAMES),
    "domains": domains,
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_draws_marks_and_full_names(name):
    svg = vl_convert.vegalite_to_svg(FIGURES[name]().to_dict())
    assert svg.count("<path") + svg.count("<text") > 10
    assert "模型" in svg
    assert "a-very-long-model-name/" in svg


@pytest.mark.parametrize("name", FIGURES)
def test_the_same_frame_gives_the_same_picture(name):
    first, second = (vl_convert.vegalite_to_svg(FIGURES[name]().to_dict()) for _ in range(2))
    assert first == second


def test_measures_of_one_unit_share_an_axis_that_starts_at_zero():
    rows, middle = parts((("Missing", "% of checks"), ("Contradicts", "% of checks"), ("Lost", "points")))
    rows = rows.with_columns(value=pl.when(pl.col("measure") == "Missing").then(0.7).otherwise(pl.col("value")))
    panels = fields.by_part(rows, middle, order=NAMES).to_dict()["hconcat"]
    domains = [panel["layer"][0]["encoding"]["x"]["scale"]["domain"] for panel in panels]
    # The focus is the second name, whose interval in Missing still ends at 15 points: 70 is the largest dot.
    assert domains[0] == domains[1] == [0.0, pytest.approx(70)]
    assert domains[2] == [0.0, pytest.approx(40)]


def test_a_panel_without_spread_still_has_an_axis():
    flat = gains().with_columns(pl.lit(0.0).alias(name) for name in ("estimate", "low", "high", "low_all", "high_all"))
    assert "模型" in vl_convert.vegalite_to_svg(variants.gains(flat).to_dict())
