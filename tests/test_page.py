"""The page: what it holds, what it refuses, and how it behaves in a browser without a network."""

import json
import random
import re
import subprocess
import sys

import altair as alt
import polars as pl
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from tabs import chromium, needs_browser, tabs

from gamut_analysis import page
from gamut_analysis.charts import fields, grids, theme
from gamut_analysis.charts.theme import DARK
from gamut_analysis.display import (
    Figure,
    Table,
    Text,
    count,
    format_number,
    format_percent,
    format_points,
    points,
    text,
)
from gamut_analysis.errors import NotebookError

BAND = {
    "text": "SIMULATED: no model was asked.",
    "simulated": True,
    "facts": {"Judge": "judge-a", "Questions": "1,813"},
    "details": {"Files": ["verdicts.parquet, SHA-256 5f70bf18", "answers.parquet"], "Versions": "gamut-analysis 0.1.0"},
}
HOSTILE = [
    "</script><script>window.PWNED=1</script>",
    '<img src=x onerror="window.PWNED=1">',
    "<svg/onload=window.PWNED=1>",
    "<!-- unclosed",
    "{{7*7}} {% raw %}",
    "]]>",
    "<table><tr><td>",
]
LONG = "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8-long-context"
MODELS = [f"model-{number:02}" for number in range(12)] + [LONG, LONG.replace("long", "short")]


def cell(*shown, source="study"):
    """A code cell that has run and ends in these objects."""
    bundles = [one._repr_mimebundle_() for one in shown]
    return new_code_cell(
        source, outputs=[new_output("display_data", data=data, metadata=about) for data, about in bundles]
    )


def dots(frame, title="Dots"):
    theme.enable()
    chart = alt.Chart(frame).mark_point().encode(x="x:Q", y=alt.Y("model:N", title=None), tooltip=["model", "x"])
    return theme.fitted(chart).properties(title=alt.Title(title, subtitle="One row a model"))


def grid(frame):
    """A heat map beside bars: a composite, with colours that are interpolated."""
    theme.enable()
    bars = alt.Chart(frame).mark_bar().encode(x="x:Q", y=alt.Y("model:N", title=None)).properties(width=200)
    heat = alt.Chart(frame).mark_rect().encode(color="x:Q", y=alt.Y("model:N", title=None)).properties(width=200)
    return alt.hconcat(bars, heat)


def field(models=MODELS):
    return pl.DataFrame({"model": models, "x": [float(number) for number in range(len(models))]})


def long_table():
    chance = random.Random(1)
    scores = [None if row == 7 else chance.uniform(-1, 1) for row in range(60)]
    frame = pl.DataFrame({"question": [f"q-{row:02}" for row in range(60)], "score": scores})
    return Table(
        "long",
        frame.with_columns(reason=pl.lit("not graded")),
        {"question": text("Question"), "score": points("Score")},
        "Sixty questions",
    )


def hostile_cells():
    frame = field(HOSTILE)
    return [
        cell(Figure("hostile-dots", dots(frame, HOSTILE[0]), HOSTILE[1], HOSTILE[0] + '"')),
        cell(Table("hostile-table", frame, {"model": text("Model"), "x": count(HOSTILE[1])}, HOSTILE[0], HOSTILE[2])),
        cell(Text("hostile-text", "Named {names:names}.", {"names": HOSTILE})),
        new_code_cell("print(x)", outputs=[new_output("stream", name="stdout", text=HOSTILE[0])]),
    ]


def notebook(*more):
    return new_notebook(
        cells=[
            new_markdown_cell("# A model"),
            cell(Text("headline", "It scores **{x:points}**.", {"x": 0.342}), source="text  # the headline"),
            new_markdown_cell("## First part\n\nWords, and $s = \\frac{M}{N}$.\n\n## 模型 & more"),
            cell(Figure("dots", dots(field()), "Caption.", "Fourteen dots.")),
            cell(Figure("grid", grid(field()), "Caption.", "Bars and a heat map.")),
            cell(long_table()),
            *more,
        ]
    )


@pytest.fixture(scope="module")
def html():
    return page.to_html(notebook(*hostile_cells()), title="A model", band=BAND)


# What the page holds


def test_the_same_notebook_gives_the_same_bytes(html):
    assert page.to_html(notebook(*hostile_cells()), title="A model", band=BAND) == html


def test_nothing_is_fetched(html, tmp_path, shared):
    report = tmp_path / "page.html"
    report.write_text(html, encoding="utf-8")
    checker = shared / "cases/31-offline-html/check_offline.py"
    told = subprocess.run([sys.executable, checker, report], capture_output=True, text=True, check=False)
    assert (told.stdout.strip(), told.returncode) == ("", 0)


def test_the_chart_runtime_is_there_once_and_only_for_charts(html):
    assert html.count(page.runtime()) == 1
    plain = page.to_html(new_notebook(cells=[new_markdown_cell("# Words"), cell(long_table())]), title="Words")
    assert page.runtime() not in plain
    assert len(plain.encode()) < 60_000
    assert len(html.encode()) < 1_200_000


def test_the_policy_names_both_scripts_and_no_address(html):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("sha256-") == 2
    assert "http" not in policy


def test_the_contents_are_the_headings_in_order(html):
    rail = html.split('<nav class="rail"')[1].split("</nav>")[0]
    assert re.findall(r'<a href="#([^"]*)">(.*?)</a>', rail) == [
        ("first-part", "First part"),
        ("模型-more", "模型 &amp; more"),
    ]
    assert html.count("<section>") == 2
    assert html.count("<h1") == 1


def test_equal_headings_get_addresses_of_their_own():
    cells = [new_markdown_cell("## Again\n\n## Again\n\n## again!")]
    shown = page.to_html(new_notebook(cells=cells), title="T")
    assert re.findall(r'<h2 id="([^"]*)"', shown) == ["again", "again-2", "again-3"]
    assert "<h1>T</h1>" in shown


def test_every_id_is_unique(html):
    ids = re.findall(r'\sid="([^"]*)"', html.replace(page.runtime(), ""))
    assert len(ids) == len(set(ids))


def test_the_band_says_what_the_data_is_and_the_foot_how_the_page_was_made(html):
    assert '<aside class="band simulated"' in html
    assert "SIMULATED: no model was asked." in html
    assert html.count("<dd>") == 3
    bare = page.to_html(new_notebook(), title="T")
    assert "<aside" not in bare
    assert "<footer" not in bare


def test_formulas_are_mathml_and_pictures_cannot_be_fetched(html):
    assert "<mfrac>" in html
    with pytest.raises(NotebookError, match="picture"):
        page.to_html(new_notebook(cells=[new_markdown_cell("![](https://example.org/x.png)")]), title="T")


def test_links_between_notebooks_become_links_between_pages():
    shown = page.to_html(new_notebook(cells=[new_markdown_cell("[all](01_leaderboard.ipynb#top)")]), title="T")
    assert 'href="01_leaderboard.html#top"' in shown


def test_the_title_of_a_chart_is_text_of_the_page(html):
    assert '<p class="figure-title">Dots</p>' in html
    spec = json.loads(re.search(r'id="figure-dots".*?<script type="application/json">(.*?)</script>', html, re.S)[1])
    assert "title" not in spec
    assert 'aria-label="Fourteen dots."' in html


def test_the_numbers_of_a_figure_are_under_it_unless_there_are_too_many():
    cells = [cell(Figure("few", dots(field()), "", "")), cell(Figure("many", dots(field(["a"] * 101)), "", ""))]
    shown = page.to_html(new_notebook(cells=cells), title="T")
    assert shown.count("<summary>The numbers</summary>") == 1


def test_texts_cannot_end_the_script_that_holds_them():
    held = page.to_script({"a": "</script><!--\u2028&"})
    assert not re.search("[<>&\u2028]", held)
    assert json.loads(held) == {"a": "</script><!--\u2028&"}


def test_colours_of_charts_are_variables_for_light_and_dark():
    colours = page.chart_colours()
    assert all(colours.count(f"--c-{colour[1:].lower()}:") == 2 for colour in DARK)


def test_a_picture_is_held_as_data_and_cannot_run():
    output = new_output("display_data", data={"image/svg+xml": "<svg onload='window.PWNED=1'/>"})
    shown = page.to_html(new_notebook(cells=[new_code_cell("x", outputs=[output])]), title="T")
    assert "PWNED" not in shown
    assert '<img src="data:image/svg+xml;base64,' in shown


# What the page refuses, and what it reports


def test_a_failed_cell_is_named():
    error = new_output("error", ename="KeyError", evalue="'x'", traceback=[])
    with pytest.raises(NotebookError, match=r"cell 2 failed: KeyError: 'x'\n  boom\(\)"):
        page.to_html(new_notebook(cells=[cell(), new_code_cell("boom()\n1", outputs=[error])]), title="T")


def test_warnings_are_reported_and_not_shown():
    warned = new_code_cell("x", outputs=[new_output("stream", name="stderr", text="UserWarning: odd\n")])
    told = new_notebook(cells=[cell(), warned])
    assert page.complaints(told) == ["cell 2: UserWarning: odd"]
    assert "odd" not in page.to_html(told, title="T")


def test_numbers_are_collected_raw_by_name():
    found = page.numbers(notebook())
    assert list(found) == ["headline", "dots", "grid", "long"]
    assert found["headline"] == {"kind": "text", "values": {"x": 0.342}}
    assert found["dots"]["rows"][1] == {"model": "model-01", "x": 1.0}
    with pytest.raises(NotebookError, match="'headline' is taken"):
        page.numbers(notebook(cell(Text("headline", "x", {}))))


# In a browser, without a network


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened_browser:
        yield opened_browser


@pytest.fixture
def opened(browser, html, tmp_path):
    """Open a page, by default the one of this module, with the network off."""
    with tabs(browser, tmp_path) as open_page:
        yield lambda content=html, **view: open_page(content, **view)


def marks(tab, figure, kind="point"):
    return tab.locator(f'#figure-{figure} svg [aria-roledescription="{kind}"]').count()


@needs_browser
def test_charts_are_drawn_with_the_network_off(opened):
    tab = opened()
    assert marks(tab, "dots") == len(MODELS)
    assert marks(tab, "grid", "bar") == marks(tab, "grid", "rect mark") == len(MODELS)
    assert tab.locator('[data-state="failed"]').count() == 0


@needs_browser
@pytest.mark.parametrize("width", [420, 800, 1280])
def test_the_page_fits_its_window_and_names_stay_whole(opened, width):
    tab = opened(width=width)
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    wide = "[...document.querySelectorAll('.chart')].map((c) => [c.clientWidth, c.querySelector('svg').clientWidth])"
    assert all(room - 3 <= drawn <= room for room, drawn in tab.evaluate(wide))
    labels = tab.evaluate(
        "[...document.querySelectorAll('#figure-dots .role-axis-label text')].map((label) => label.textContent)"
    )
    assert {LONG, LONG.replace("long", "short")} <= set(labels)


@needs_browser
@pytest.mark.parametrize(("width", "rows"), [(420, 2), (1280, 1)])
def test_four_panels_stand_in_two_named_rows_where_there_is_little_room(opened, width, rows):
    measures = ["Missing", "Contradicts", "Omission", "Contradiction"]
    parts = pl.DataFrame({"part": ["Food", "Plants"], "name": "A", "value": [0.2, 0.4], "low": 0.1, "high": 0.5})
    frame = pl.concat([parts.with_columns(measure=pl.lit(name), unit=pl.lit("%")) for name in measures])
    chart = fields.by_part(frame.with_columns(is_focus=False), frame, order=["Food", "Plants"])
    tab = opened(page.to_html(new_notebook(cells=[cell(Figure("parts", chart, "", "Parts"))]), title="T"), width=width)
    labels = tab.locator("#figure-parts .role-axis-label text").all_text_contents()
    assert labels.count("Food") == labels.count("Plants") == rows
    assert tab.evaluate("document.querySelector('.chart').scrollWidth") <= width


@needs_browser
@pytest.mark.parametrize("width", [420, 1280])
def test_a_grid_fills_the_column_and_its_cells_keep_room_for_their_numbers(opened, width):
    names = [f"Model {number}" for number in range(9)]
    cells = field(names).join(field(names), how="cross", suffix="_other").with_columns(score=pl.col("x") / 10)
    chart = grids.heat(
        cells, row="model", column="model_other", value="score", rows=names, columns=names, title="Points"
    )
    tab = opened(page.to_html(new_notebook(cells=[cell(Figure("heat", chart, "", "Grid"))]), title="T"), width=width)
    room, drawn = tab.evaluate("['.chart', '.chart svg'].map((part) => document.querySelector(part).clientWidth)")
    assert room - 12 <= drawn <= room
    boxes = [mark.bounding_box() for mark in tab.locator("#figure-heat .mark-rect path").all()]
    assert len(boxes) == 81
    assert min(box["width"] for box in boxes) >= 18


@needs_browser
def test_hostile_texts_are_read_and_do_nothing(opened):
    tab = opened()
    for mark in tab.locator("#figure-hostile-dots svg .mark-symbol path").all()[: len(HOSTILE)]:
        mark.hover(force=True)
    assert tab.evaluate("window.PWNED") is None
    assert tab.locator("main img, main svg script, main script:not([type])").count() == 0
    words = tab.locator("main").inner_text()
    assert all(payload in words for payload in HOSTILE)
    rows = tab.locator("#table-hostile-table tbody tr")
    assert rows.count() == len(HOSTILE)
    assert all(len(row.locator("th, td").all()) == 2 for row in rows.all())


@needs_browser
def test_even_markup_that_slipped_through_cannot_run(opened):
    output = new_output("display_data", data={"text/html": f"{HOSTILE[1]}<script>window.PWNED = 1</script>"})
    slipped = new_notebook(cells=[new_code_cell("x", outputs=[output])])
    tab = opened(page.to_html(slipped, title="T"), allowed=("error: ", "request "))
    tab.wait_for_timeout(100)
    assert tab.evaluate("window.PWNED") is None


@needs_browser
def test_a_long_table_is_cut_sorted_and_searched(opened):
    tab = opened()
    shown = (
        "[...document.querySelectorAll('#table-long tbody tr:not([hidden])')].map((row) => row.cells[0].textContent)"
    )
    scores = "[...document.querySelectorAll('#table-long tbody td')].map((cell) => cell.dataset.sort ?? null)"
    assert len(tab.evaluate(shown)) == 20
    tab.get_by_role("button", name="Show all 60 rows").click()
    assert len(tab.evaluate(shown)) == 60

    by_score = tab.get_by_role("button", name="Sort by Score")
    raw = [row[1].order for row in long_table().cells()]
    known = sorted((value for value in raw if value is not None), reverse=True)
    for direction, expected in (("descending", known), ("ascending", known[::-1])):
        by_score.click()
        assert tab.locator("#table-long th[aria-sort]").get_attribute("aria-sort") == direction
        *sorted_scores, last = tab.evaluate(scores)
        assert [float(score) for score in sorted_scores] == expected
        assert last is None
    by_score.click()
    assert tab.evaluate(shown)[:2] == ["q-00", "q-01"]

    tab.get_by_role("searchbox").fill("Q-1")
    assert tab.evaluate(shown) == [f"q-{row}" for row in range(10, 20)]
    assert "10 of 60 rows" in tab.locator("#table-long output").inner_text()


@needs_browser
def test_numbers_of_the_browser_follow_the_rule_of_python(opened):
    chance = random.Random(7)
    values = [0.125, 0.5865, 0.9996, -0.9996, 1, -1, 0, -0.0004, 0.0002, 0.99999999999999]
    values += [chance.uniform(0, 1) for _ in range(300)] + [number / 2000 for number in range(0, 2000, 7)]
    tab = opened()
    for name, rule in (("points", format_points), ("percent", format_percent)):
        shares = values if name == "points" else [abs(value) for value in values]
        told = tab.evaluate(f"(values) => values.map((value) => Gamut.format.{name}(value))", shares)
        assert told == [rule(value) for value in shares]
    told = tab.evaluate("(values) => values.map((value) => Gamut.format.number(value * 4096, 2))", values)
    assert told == [format_number(value * 4096, 2) for value in values]


@needs_browser
def test_dark_and_light_dress_text_and_charts_alike(opened):
    tab = opened(dark=True)
    paint = """() => ['html', '#figure-dots svg', '#figure-dots .role-axis-label text']
      .map((where) => getComputedStyle(document.querySelector(where)))
      .map((style, place) => place < 2 ? style.backgroundColor : style.fill)"""
    dark = tab.evaluate(paint)
    assert dark[0] == dark[1] == rgb(DARK[theme.PAPER])
    assert dark[2] == rgb(DARK[theme.MUTED])
    tab.get_by_role("button", name="Light page").click()
    assert tab.evaluate(paint) == [rgb(theme.PAPER), rgb(theme.PAPER), rgb(theme.MUTED)]
    tab.reload()
    tab.wait_for_function("() => document.documentElement.dataset.state === 'ready'")
    assert tab.evaluate("document.documentElement.dataset.theme") == "light"


def rgb(colour):
    return f"rgb({', '.join(str(int(colour[place : place + 2], 16)) for place in (1, 3, 5))})"


@needs_browser
def test_paper_is_light_whole_and_without_controls(opened):
    tab = opened(dark=True)
    tab.emulate_media(media="print", color_scheme="dark")
    assert tab.evaluate("getComputedStyle(document.documentElement).backgroundColor") == rgb(theme.PAPER)
    assert not tab.locator(".rail").is_visible()
    assert not tab.get_by_role("searchbox").is_visible()
    assert all(row.is_visible() for row in tab.locator("#table-long tbody tr").all())
    assert tab.pdf(format="A4").startswith(b"%PDF")


@needs_browser
def test_code_is_folded_away_until_it_is_asked_for(opened):
    tab = opened()
    assert not tab.locator("pre.code").first.is_visible()
    tab.get_by_role("button", name="Show code").click()
    assert tab.locator("pre.code").first.is_visible()
    assert "# the headline" in tab.locator("pre.code").first.inner_text()


@needs_browser
def test_the_keyboard_reaches_the_text_first_and_the_contents_fold_on_a_small_screen(opened):
    tab = opened(width=420)
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to the text"
    assert not tab.locator("#contents").is_visible()
    tab.get_by_role("button", name="Contents").click()
    assert tab.locator("#contents").is_visible()


@needs_browser
def test_a_chart_that_cannot_be_drawn_leaves_its_words_and_numbers(opened):
    class Broken:
        def to_dict(self):
            return {"mark": "nonsense", "data": {"values": []}, "encoding": {}}

    figure = Figure("broken", Broken(), "Caption.", "What it would have shown.", field().head(2))
    tab = opened(page.to_html(notebook(cell(figure)), title="T"), allowed=("error: figure-broken",))
    assert tab.locator("#figure-broken .chart").inner_text() == "What it would have shown."
    assert tab.locator("#figure-broken details.numbers table").is_visible()
    assert marks(tab, "dots") == len(MODELS)
