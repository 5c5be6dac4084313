"""The figures of omission and contradiction draw from a few rows, hostile names intact, the same way every time."""

import polars as pl
import pytest
import vl_convert

from gamut_analysis.charts import losses
from gamut_analysis.vocabulary import VERDICT_COLOURS, VERDICTS

NAMES = ["a.b", "c[d]", 'it\'s: "quoted"', "模型", "a-very-long-model-name/with-a-path:free-2026-12-01-preview-final"]


def currencies() -> pl.DataFrame:
    rows = [
        (panel, name, verdict, share)
        for panel in ("Checks, %", "Points, %")
        for name in NAMES
        for verdict, share in zip(VERDICTS[1:], (0.2, 0.5, 0.3), strict=True)
    ]
    return pl.DataFrame(rows, schema=["panel", "name", "verdict", "share"], orient="row")


def ratios() -> pl.DataFrame:
    rows = [
        (name, measure, ratio, ratio / 2, ratio * 2)
        for name in NAMES
        for measure, ratio in (("counts", 8.0), ("points", 2.0))
    ]
    return pl.DataFrame(rows, schema=["name", "measure", "estimate", "low", "high"], orient="row")


def items() -> pl.DataFrame:
    rows = [(0, True, 10), (0, False, 5), (1, False, 20), (2, True, 5)]
    frame = pl.DataFrame(rows, schema=["models", "is_dead", "checks"], orient="row")
    return frame.with_columns(share=pl.col("checks") / pl.col("checks").sum())


FIGURES = {
    "currencies": lambda: losses.currencies(currencies(), order=NAMES),
    "ratios": lambda: losses.ratios(ratios(), order=NAMES),
    "items": lambda: losses.items(items()),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_draws_marks(name):
    svg = vl_convert.vegalite_to_svg(FIGURES[name]().to_dict())
    assert svg.count("<path") + svg.count("<text") > 10


@pytest.mark.parametrize("name", ["currencies", "ratios"])
def test_names_stand_in_full(name):
    svg = vl_convert.vegalite_to_svg(FIGURES[name]().to_dict())
    assert "模型" in svg
    assert "a-very-long-model-name/" in svg


@pytest.mark.parametrize("name", FIGURES)
def test_the_same_frame_gives_the_same_picture(name):
    first, second = (vl_convert.vegalite_to_svg(FIGURES[name]().to_dict()) for _ in range(2))
    assert first == second


def test_both_currencies_have_the_colours_of_the_verdicts():
    panels = losses.currencies(currencies(), order=NAMES).to_dict()["hconcat"]
    for panel in panels:
        assert panel["layer"][0]["encoding"]["color"]["scale"]["range"] == [VERDICT_COLOURS[v] for v in VERDICTS[1:]]


def test_a_ratio_that_is_undefined_or_zero_is_not_drawn_on_a_scale_of_ratios():
    rows = ratios().with_columns(
        estimate=pl.when(pl.col("name") == NAMES[0])
        .then(None)
        .when(pl.col("name") == NAMES[1])
        .then(0.0)
        .otherwise(2.0)
    )
    svg = vl_convert.vegalite_to_svg(losses.ratios(rows, order=NAMES).to_dict())
    assert "模型" in svg
    assert NAMES[0] not in svg
