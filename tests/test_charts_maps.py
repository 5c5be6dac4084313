"""The figures of the constants draw from a few rows, names intact, without a warning."""

import json

import polars as pl
import pytest
import vl_convert

from gamut_analysis.charts import maps

NAMES = ["a.b", "c[d]", 'it\'s: "quoted"', "模型", "a-very-long-model-name/with-a-path:free-2026-12-01-preview-final"]
LAMBDAS, MUS = (0.0, 0.5, 1.0), (-3.0, -2.0, -1.0)
_TITLES = {"x_title": "λ, worth of a partially met check", "y_title": "μ, worth of a contradicted check"}


def settings(names=NAMES):
    rows = [(a, m, names[i % len(names)], 0.01 * i, i, (a, m) == (0.5, -2.0)) for i, (a, m) in enumerate(_grid())]
    return pl.DataFrame(rows, schema=["lambda_", "mu", "first", "gap", "discordant", "is_default"], orient="row")


def _grid():
    return [(a, m) for a in LAMBDAS for m in MUS]


def spreads():
    rows = [
        (name, kind, 0.1 * i, 0.1 * i - 0.02, 0.1 * i + 0.02, 1, 3)
        for i, name in enumerate(NAMES)
        for kind in ("Other questions", "Other constants", "Both")
    ]
    return pl.DataFrame(rows, schema=["name", "kind", "estimate", "low", "high", "rank_low", "rank_high"], orient="row")


FIGURES = {
    "first": lambda: maps.first(settings(), x="lambda_", y="mu", order=NAMES, **_TITLES),
    "turned": lambda: maps.turned(settings(), x="lambda_", y="mu", most=8, **_TITLES),
    "sources": lambda: maps.sources(spreads(), order=NAMES, kinds=["Other questions", "Other constants", "Both"]),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_draws_marks_and_full_names(name):
    svg = vl_convert.vegalite_to_svg(json.loads(FIGURES[name]().to_json()))
    assert svg.count("<path") + svg.count("<text") > 10
    if name != "turned":
        assert "模型" in svg
        assert "c[d]" in svg


@pytest.mark.parametrize("name", FIGURES)
def test_the_same_frame_gives_the_same_picture(name):
    first, second = (vl_convert.vegalite_to_svg(FIGURES[name]().to_dict()) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("draw", ["first", "turned"])
def test_the_default_is_ringed_once_where_the_grid_has_it(draw):
    ring = FIGURES[draw]().to_dict()["layer"][1]
    assert ring["mark"]["filled"] is False
    assert ring["transform"] == [{"filter": "datum.is_default"}]
    assert settings()["is_default"].sum() == 1


def test_one_name_needs_no_legend():
    drawn = maps.first(settings(NAMES[:1]), x="lambda_", y="mu", order=NAMES[:1], **_TITLES).to_dict()
    assert drawn["layer"][0]["encoding"]["color"]["legend"] is None


def test_axes_name_round_values():
    axis = FIGURES["first"]().to_dict()["layer"][0]["encoding"]
    assert axis["x"]["axis"]["values"] == [0.0, 0.5, 1.0]
    assert axis["y"]["axis"]["values"] == [-3.0, -2.0, -1.0]
