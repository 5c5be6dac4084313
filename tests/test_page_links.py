"""One choice for the whole page: what is picked in a chart, a table or the list is picked everywhere."""

import polars as pl
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from tabs import chromium, needs_browser, tabs

from gamut_analysis import page
from gamut_analysis.charts import dots, grids, maps, words
from gamut_analysis.charts.links import linked
from gamut_analysis.display import Figure, Table, points, text

HOSTILE = ["if", "__proto__", 'it\'s: "q"', "a.b[c]", "</script><img src=x onerror=window.PWNED=1>"]
DOMAINS = ["Plants", "constructor"]


def board():
    scores = [0.6, 0.5, 0.4, 0.3, 0.2]
    columns = {"name": HOSTILE, "estimate": scores, "low": [s - 0.1 for s in scores], "high": [s + 0.1 for s in scores]}
    return pl.DataFrame(columns)


def by_domain():
    rows = [(name, domain, 0.1 * place) for place, name in enumerate(HOSTILE) for domain in DOMAINS]
    return pl.DataFrame(rows, schema=["name", "domain", "score"], orient="row")


def pairs():
    rows = [(one, other, 0.1) for one in HOSTILE for other in HOSTILE if one != other]
    return pl.DataFrame(rows, schema=["one", "other", "gap"], orient="row")


def steps():
    """Each name over the next one of the first three."""
    return pl.DataFrame({"one": HOSTILE[:2], "other": HOSTILE[1:3], "gap": [0.1, 0.1]})


def by_setting():
    """Who is first at four settings: twice the first name, once the second, once nobody alone."""
    first = [HOSTILE[0], HOSTILE[0], HOSTILE[1], None]
    columns = {"x": [0.0, 0.5, 0.0, 0.5], "y": [1.0, 1.0, 2.0, 2.0], "first_name": first, "gap": [0.1, 0.2, 0.1, 0.0]}
    return pl.DataFrame(columns).with_columns(first=pl.col("first_name").fill_null("several"), is_default=False)


def questions():
    places = [(-0.5, -0.5, DOMAINS[0]), (0.5, 0.5, DOMAINS[1]), (0.5, -0.5, DOMAINS[1]), (0.0, 0.0, None)]
    rows = [(x, y, domain, f"Question {place}") for place, (x, y, domain) in enumerate(places)]
    return pl.DataFrame(rows, schema=["x", "y", "domain", "question"], orient="row")


def shown():
    grid = grids.heat(
        by_domain(), row="name", column="domain", value="score", rows=HOSTILE, columns=DOMAINS, title="Points"
    )
    first = maps.first(by_setting(), x="x", y="y", x_title="X", y_title="Y", order=[*HOSTILE[:2], "several"])
    parts = [
        Figure("field", linked(dots.field(board()), model="name"), "", "Field", board()),
        Figure("grid", linked(grid, model="name", domain="domain"), "", "Grid", by_domain()),
        Figure("alone", dots.field(board()), "", "A chart by itself", board().clear()),
        Figure("first", linked(first, model="first_name"), "", "Who is first", by_setting()),
        Figure("map", linked(words.map_of(questions(), groups=DOMAINS), domain="domain"), "", "A map", questions()),
        Table("short", board(), {"name": text("Model"), "estimate": points("Score")}),
        Table("over", steps(), {"one": text("Model", unit="ahead of", sub="other"), "gap": points("Gap")}),
        Table("long", pairs(), {"one": text("Model"), "other": text("Other"), "gap": points("Gap")}),
    ]
    bundles = [part._repr_mimebundle_() for part in parts]
    outputs = [new_output("display_data", data=data, metadata=about) for data, about in bundles]
    return page.to_html(new_notebook(cells=[new_code_cell("parts", outputs=outputs)]), title="T")


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened_browser:
        yield opened_browser


@pytest.fixture
def tab(browser, tmp_path):
    with tabs(browser, tmp_path) as open_page:
        yield open_page(shown())


def choice(tab, label):
    return tab.get_by_role("combobox", name=label, exact=True)


def standing(tab, figure, fields=("name",)):
    """The names of chosen and of faded marks of a chart, read from the data that is bound to them."""
    rows = tab.evaluate(
        """([figure, fields]) => [...document.querySelectorAll(`#figure-${figure} .mark-rect path, `
            + `#figure-${figure} .role-mark.mark-symbol path`)].map((mark) => [mark.classList.contains('chosen'),
            mark.classList.contains('faded'), ...fields.map((field) => mark.__data__.datum[field])])""",
        [figure, list(fields)],
    )
    chosen = {tuple(names) for is_chosen, _, *names in rows if is_chosen}
    faded = {tuple(names) for _, is_faded, *names in rows if is_faded}
    return chosen, faded


def visible(tab, table):
    rows = f"[...document.querySelectorAll('#table-{table} tbody tr:not([hidden])')]"
    return tab.evaluate(f"{rows}.map((row) => row.cells[0].textContent)")


def faded_rows(tab, table):
    return tab.locator(f"#table-{table} tbody tr.faded").count()


@needs_browser
@pytest.mark.parametrize("name", HOSTILE)
def test_a_model_of_any_name_is_followed_through_charts_and_tables(tab, name):
    choice(tab, "Highlight a model").select_option(label=name)
    rest = {(other,) for other in HOSTILE if other != name}
    assert standing(tab, "field") == standing(tab, "grid") == ({(name,)}, rest)
    assert standing(tab, "alone") == (set(), set())
    # A short table fades the others, a long one leaves them out: of 20 pairs 8 hold the model.
    assert visible(tab, "short") == HOSTILE
    assert faded_rows(tab, "short") == 4
    assert len(visible(tab, "long")) == 8
    assert "8 of 20 rows" in tab.locator("#table-long output").inner_text()
    assert tab.locator(".selection").inner_text().startswith(f"Showing {name}")
    assert tab.evaluate("window.PWNED") is None


@needs_browser
def test_a_domain_and_a_model_together_leave_one_cell(tab):
    choice(tab, "Highlight a domain").select_option(label="constructor")
    assert standing(tab, "grid", ["domain"]) == ({("constructor",)}, {("Plants",)})
    # What knows no domain is about none.
    assert standing(tab, "field") == (set(), set())
    choice(tab, "Highlight a model").select_option(label="if")
    assert standing(tab, "grid", ["name", "domain"])[0] == {("if", "constructor")}
    assert tab.locator(".selection").inner_text().startswith("Showing if in constructor")


@needs_browser
def test_a_click_on_a_mark_a_label_or_a_row_picks_it_and_a_second_one_lets_go(tab):
    for where, name in (
        ("#figure-field .mark-symbol path", "if"),
        ("#figure-grid .role-axis-label text >> text=a.b[c]", "a.b[c]"),
        ("#table-short tbody tr >> nth=2", HOSTILE[2]),
        ("#table-long tbody tr >> nth=0 >> td >> nth=0", "__proto__"),
    ):
        place = tab.locator(where).first
        place.click()
        assert choice(tab, "Highlight a model").input_value() == name
        assert standing(tab, "field")[0] == {(name,)}
        place.click()
        assert standing(tab, "field") == (set(), set())
        assert not tab.locator(".selection").is_visible()


@needs_browser
def test_a_domain_keeps_its_colour_on_the_map_and_the_grey_dots_stay_grey(tab):
    choice(tab, "Highlight a domain").select_option(label="constructor")
    assert standing(tab, "map", ["domain", "question"]) == (
        {("constructor", "Question 1"), ("constructor", "Question 2")},
        {("Plants", "Question 0")},
    )


@needs_browser
def test_the_name_in_a_legend_stands_for_its_model_and_what_names_none_for_nobody(tab):
    legend = tab.locator("#figure-first .role-legend-label text")
    legend.get_by_text(HOSTILE[1], exact=True).click()
    assert choice(tab, "Highlight a model").input_value() == HOSTILE[1]
    assert standing(tab, "first", ["first_name"]) == ({(HOSTILE[1],)}, {(HOSTILE[0],)})
    legend.get_by_text("several", exact=True).dispatch_event("click")
    assert choice(tab, "Highlight a model").input_value() == HOSTILE[1]


@needs_browser
def test_the_small_words_under_a_name_are_a_name_too(tab):
    choice(tab, "Highlight a model").select_option(label=HOSTILE[2])
    chosen = tab.locator("#table-over tbody tr.chosen")
    assert chosen.all_inner_texts() == [f"{HOSTILE[1]}\n{HOSTILE[2]}\n\t10.0"]


@needs_browser
def test_the_keyboard_walks_rows_picks_and_clears(tab):
    tab.locator("#table-short tbody tr").first.focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowUp")
    tab.keyboard.press("Enter")
    assert choice(tab, "Highlight a model").input_value() == HOSTILE[1]
    assert tab.locator("#table-short tr[aria-current=true]").count() == 1
    # One stop a table, wherever the reader stands in it.
    assert tab.locator("#table-short tr[tabindex='0']").count() == 1
    tab.keyboard.press("Escape")
    assert standing(tab, "field") == (set(), set())
    assert len(visible(tab, "long")) == 20
    choice(tab, "Highlight a model").select_option(label="if")
    tab.get_by_role("button", name="Clear").click()
    assert faded_rows(tab, "short") == 0


@needs_browser
def test_a_choice_outlives_a_change_of_light_and_of_width_and_is_told_on_paper(tab):
    choice(tab, "Highlight a model").select_option(label="if")
    tab.get_by_role("button", name="Dark page").click()
    tab.set_viewport_size({"width": 420, "height": 900})
    tab.wait_for_function("() => document.querySelector('#figure-field svg').clientWidth < 420")
    tab.wait_for_function("() => document.querySelector('#figure-field .mark-symbol path.chosen')")
    assert standing(tab, "field")[0] == standing(tab, "grid")[0] == {("if",)}
    tab.emulate_media(media="print")
    assert tab.locator(".selection").is_visible()
    assert not tab.get_by_role("button", name="Clear").is_visible()
    tab.keyboard.press("Escape")
    assert not tab.locator(".selection").is_visible()


def test_a_page_without_ties_holds_no_script_for_them():
    figure = Figure("alone", dots.field(board()), "", "A chart by itself", board())
    data, about = figure._repr_mimebundle_()
    output = new_output("display_data", data=data, metadata=about)
    alone = page.to_html(new_notebook(cells=[new_code_cell("part", outputs=[output])]), title="T")
    assert "gamut-choice" in shown()
    assert "Or click a mark" not in alone
    assert "Or click a mark" in shown()
