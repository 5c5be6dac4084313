"""How every figure looks: what a drawn picture must hold, whatever it shows."""

import csv
import itertools
import json
import re

import altair as alt
import polars as pl
import pytest
import vl_convert

from gamut_analysis.charts import theme
from gamut_analysis.display import CHART
from gamut_analysis.errors import UnknownName
from gamut_analysis.vocabulary import TIER_COLOURS, VERDICT_COLOURS


@pytest.fixture(autouse=True)
def themed():
    theme.enable()


def svg(chart):
    return vl_convert.vegalite_to_svg(chart.to_dict(), vl_version="6.4")


def dots(frame, **properties):
    chart = alt.Chart(frame).mark_point().encode(x="score:Q", y=alt.Y("model:N", title=None))
    return theme.fitted(chart, **properties)


def luminance(colour):
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def leaderboard(shared):
    path = shared / "cases/52-figures-legible/leaderboard.csv"
    return pl.DataFrame([{"model": row["model"], "score": float(row["score"])} for row in csv.DictReader(path.open())])


@pytest.mark.parametrize("profile", ["paper", "screen", "slides"])
def test_a_fitted_chart_is_as_wide_as_its_medium_with_its_labels(profile, shared):
    theme.enable(profile)
    assert re.search(r'<svg[^>]* width="662"', svg(dots(leaderboard(shared))))
    assert re.search(r'<svg[^>]* width="317"', svg(dots(leaderboard(shared), width=theme.COLUMN)))


@pytest.mark.parametrize(("name", "width", "text"), [("paper", 6.9, 7), ("screen", 6.9, 9), ("slides", 10, 12)])
def test_a_medium_has_its_inches_and_its_least_points(name, width, text):
    profile = theme.PROFILES[name]
    assert profile.width * profile.scale / theme.INCH == pytest.approx(width, abs=0.01)
    assert profile.text * profile.scale * theme.POINT >= text


def test_the_profile_that_was_set_is_the_current_one():
    theme.enable("slides")
    assert theme.current() is theme.PROFILES["slides"]


def test_an_unknown_profile_lists_those_there_are():
    with pytest.raises(UnknownName, match="paper, screen, slides"):
        theme.enable("poster")


def test_long_names_are_broken_and_never_cut(shared):
    frame = leaderboard(shared)
    drawn = svg(dots(frame))
    labels = ["".join(re.findall(r"<tspan[^>]*>([^<]*)", label) or [label]) for label in label_texts(drawn)]
    assert set(frame["model"]) <= set(labels)
    assert "…" not in drawn


def label_texts(drawn):
    """What stands in each text element of a picture."""
    return [re.sub(r"<title>.*?</title>", "", text) for text in re.findall(r"<text[^>]*>(.*?)</text>", drawn, re.S)]


def test_names_in_other_scripts_reach_the_picture_as_text(shared):
    frame = pl.read_csv(shared / "cases/37-non-latin-figures-and-pdf/leaderboard.csv")
    drawn = svg(dots(frame))
    assert all(name in drawn for name in frame["model"])


def test_characters_without_a_glyph_are_named_once(monkeypatch):
    monkeypatch.setattr(theme, "_glyphs", lambda: (range(0x20, 0x400), range(0x2212, 0x2213)))
    assert theme.without_glyph("gemini-3.1-pro é −\u200b\u2028") == set()
    assert theme.glyph_warning("gemini-3.1-pro") == ""
    warning = theme.glyph_warning("模型 and 模型")
    assert warning == "No installed font has 型 (U+578B), 模 (U+6A21): boxes stand in their place."
    assert theme.glyph_warning("".join(map(chr, range(0x4E00, 0x4E20)))).count("U+") == 20


def test_the_glyphs_are_those_of_the_installed_fonts(monkeypatch):
    theme._glyphs.cache_clear()
    monkeypatch.setattr(theme.shutil, "which", lambda name: "/bin/fc-list")
    listed = theme.subprocess.CompletedProcess([], 0, stdout="20-7e 400 4e00-4e01 20-7e ")
    monkeypatch.setattr(theme.subprocess, "run", lambda *_, **__: listed)
    assert theme.without_glyph("Ѐ一丁丂") == {"丂"}
    theme._glyphs.cache_clear()
    monkeypatch.setattr(theme.shutil, "which", lambda name: None)
    assert theme.without_glyph("丂") == set()
    theme._glyphs.cache_clear()


def test_names_are_not_broken_inside_a_number():
    frame = pl.DataFrame({"model": ["An Assistant With A Long Name 4.8"], "score": [1.0]})
    drawn = svg(
        alt.Chart(frame).mark_point().encode(x="score:Q", y=alt.Y("model:N", axis={"labelExpr": theme.wrapped(32)}))
    )
    assert "4.8" in re.sub(r"</tspan>", "|", drawn)


def test_names_with_marks_of_the_field_syntax_are_drawn(shared):
    folder = shared / "cases/28-chart-field-names"
    expected = json.loads((folder / "expected.json").read_text())["expect"]
    wide = list(csv.DictReader((folder / "wide.csv").open()))
    long = [{"model": key, "score": float(row[key])} for row in wide for key in row if key != "question_id"]
    drawn = svg(dots(pl.DataFrame(long)))
    assert drawn.count('aria-roledescription="point"') == expected["marks_drawn"]
    shown = drawn.replace("&quot;", '"').replace("&apos;", "'")
    assert all(name in shown for name in expected["names_in_svg"])


def test_a_figure_is_opaque_and_its_words_stand_out():
    assert f'fill="{theme.PAPER}"' in svg(dots(pl.DataFrame({"model": ["a"], "score": [1.0]})))
    for paper, dress in ((theme.PAPER, lambda colour: colour), (theme.DARK[theme.PAPER], theme.DARK.get)):
        assert all(contrast(paper, dress(colour)) >= 4.5 for colour in (theme.INK, theme.MUTED, theme.FOCUS))
        assert all(contrast(paper, dress(colour)) >= 3 for colour in (theme.FIELD, theme.RIVAL, *theme.JUDGE_COLOURS))


def test_every_colour_has_its_part_on_a_dark_page():
    named = {theme.PAPER, theme.INK, theme.MUTED, theme.RULE, theme.FIELD, theme.FIELD_SOFT, theme.FOCUS, theme.RIVAL}
    used = {*named, *theme.JUDGE_COLOURS, *theme.DIVERGING, *theme.SEQUENTIAL}
    assert {*used, *VERDICT_COLOURS.values(), *TIER_COLOURS.values()} == set(theme.DARK)


def test_tiers_keep_their_order_of_strength_on_a_dark_page():
    light = [contrast(colour, theme.PAPER) for colour in TIER_COLOURS.values()]
    dark = [contrast(theme.DARK[colour], theme.DARK[theme.PAPER]) for colour in TIER_COLOURS.values()]
    assert light == sorted(light, reverse=True)
    assert dark == sorted(dark, reverse=True)


# Viénot, Brettel and Mollon (1999): what a reader without one kind of cone sees, in linear RGB.
SIGHTS = {
    "protanopia": ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0)),
    "deuteranopia": ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0)),
    "greyscale": ((0.2126, 0.7152, 0.0722),) * 3,
}


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("dark", [False, True])
def test_neighbouring_verdicts_stay_apart_for_every_reader(sight, dark):
    colours = [theme.DARK[colour] if dark else colour for colour in VERDICT_COLOURS.values()]
    seen = [lightness_and_hue(colour, SIGHTS[sight]) for colour in colours]
    # In grey, hue is gone: the paper's two light colours differ by less, and their fixed order tells them apart.
    least = 5 if sight == "greyscale" else 10
    for one, other in itertools.pairwise(seen):
        assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 > least


def lightness_and_hue(colour, sight):
    """CIELAB of a colour as it is seen."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    red, green, blue = (max(sum(a * b for a, b in zip(row, linear, strict=True)), 0) for row in sight)
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    fx, fy, fz = (value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def test_a_bare_chart_shows_without_a_network():
    bundle = dots(pl.DataFrame({"model": ["a"], "score": [1.0]}))._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert set(data) == {CHART, "text/plain"}


def test_panels_share_the_width():
    assert theme.panel_width(3, labels=100, width=662, gap=20) == 174
