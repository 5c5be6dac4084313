"""Every page that is written, opened from its file with the network off: in light and dark, on paper, by keyboard."""

import re
import subprocess
import sys
from collections import defaultdict

import odd_names
import pytest
from delivered import built
from executed import database, execute, values_for
from nbformat import NotebookNode
from nbformat.v4 import new_notebook
from tabs import chromium, needs_browser, tabs

from gamut_analysis import page, paths, report, sensitivity
from gamut_analysis.chapters import common, questions, sensitivities
from gamut_analysis.display import Text
from gamut_analysis.live.lab import framed
from gamut_analysis.study import Study
from gamut_analysis.vocabulary import VERDICT_LABELS

NOTEBOOKS = [path.stem for path in sorted(paths.notebooks().glob("*.ipynb"))]
INDEXES = ["index", "front", "gallery"]
FIGURE = 'data-component="chart">'
SQUARE = '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="1200"><rect width="400" height="1200"/></svg>'
PAPER = (658, 979)  # pixels of an A4 page within its margins, 96 to the inch
LEGIBLE = 4.5  # the contrast of WCAG 2 for text

CHARTS = """() => [...document.querySelectorAll('figure[data-component="chart"]')].map((figure) => ({
  name: figure.id,
  state: figure.dataset.state,
  marks: figure.querySelectorAll('svg .role-mark > *').length,
  told: figure.querySelector('[role="img"]')?.getAttribute('aria-label') ?? '',
}))"""

# The contrast of each text with what it stands on, the least first. Colours are painted to be read as numbers.
CONTRASTS = """() => {
  const brush = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    brush.clearRect(0, 0, 1, 1);
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 1, 1);
    return [...brush.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const part = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const under = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const contrast = (node, property) => {
    const [a, b] = [rgba(getComputedStyle(node)[property]), under(node)].map(light);
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  const shown = (node) => node.checkVisibility() && node.textContent.trim();
  const told = (node, property) => [contrast(node, property), node.textContent.trim().slice(0, 40), node.className];
  const texts = 'main p, main th, main td, main li, main small, figcaption, h1, h2, nav a';
  const words = [...document.querySelectorAll(texts)];
  const labels = [...document.querySelectorAll('svg .role-axis-label text, svg .role-axis-title text')];
  return [
    ...words.filter(shown).map((node) => told(node, 'color')),
    ...labels.map((node) => told(node, 'fill')),
  ].sort((one, other) => one[0] - other[0]).slice(0, 3);
}"""

FAINT = """() => [...document.querySelectorAll('svg .role-axis-label text')]
  .map((label) => getComputedStyle(label))
  .filter((style) => Number(style.fillOpacity) < 1 || Number(style.opacity) < 1).length"""

# What is wider or higher than the paper. Tables are measured as they are, charts as they are set.
OVERFLOWS = """([width, height]) => [...document.querySelectorAll('main table, main .chart svg, main img, main pre')]
  .filter((node) => node.checkVisibility())
  .filter((node) => {
    const box = node.getBoundingClientRect();
    return box.right > width + 1 || (node.tagName !== 'TABLE' && node.tagName !== 'PRE' && box.height > height);
  })
  .map((node) => [node.tagName, node.closest('[id]').id, node.getBoundingClientRect().right])"""


# The last tooltip of each chart, after a walk over its first marks.
HOVERED = """() => [...document.querySelectorAll('.chart')].map((chart) => {
  for (const mark of [...chart.querySelectorAll('svg .role-mark path')].slice(0, 12)) {
    const box = mark.getBoundingClientRect();
    const place = { clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true };
    for (const kind of ['pointerover', 'pointermove', 'mousemove']) mark.dispatchEvent(new MouseEvent(kind, place));
  }
  return document.querySelector('#vg-tooltip-element')?.textContent ?? '';
})"""


@pytest.fixture(scope="module")
def study(request, tmp_path_factory) -> Study:
    return Study(database("sample", request, tmp_path_factory))


@pytest.fixture(scope="module")
def pages(study, tmp_path_factory):
    """The HTML of a page by its name; each is made once."""
    made: dict[str, str] = {}
    ran: dict[str, NotebookNode] = {}

    def executed(name: str) -> NotebookNode:
        if name not in ran:
            ran[name] = execute(paths.notebooks() / f"{name}.ipynb", values_for(name, study.path))
        return ran[name]

    def index() -> str:
        links = {model: f"{paths.slug(model)}.html" for model in study.models["model"]}
        linked = new_notebook(cells=[report._linked_leaderboard(study, links)])
        return page.to_html(linked, title="Reports", band=common.band(study))

    def front() -> str:
        slugs = {model: paths.slug(model) for model in study.models["model"]}
        shown = report._front(study, slugs, {"00_start_here": executed("00_start_here")})
        return page.to_html(shown, title="Site", band=common.band(study))

    def gallery() -> str:
        node, folder = executed("01_leaderboard"), tmp_path_factory.mktemp("drawn")
        for stem, output in report._exhibits("01_leaderboard", node):
            if output.metadata["gamut"]["kind"] == "figure":
                (folder / f"{stem}.svg").write_text(SQUARE, encoding="utf-8")
        return report._gallery(study, {"01_leaderboard": node}, folder, defaultdict(str))

    def make(name: str) -> str:
        if name not in made:
            own = {"index": index, "front": front, "gallery": gallery}.get(name)
            made[name] = own() if own else report._page_of(executed(name), name, common.band(study))
        return made[name]

    return make


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture
def opened(browser, tmp_path):
    with tabs(browser, tmp_path) as open_page:
        yield open_page


def legible(tab) -> None:
    least = tab.evaluate(CONTRASTS)
    assert least and least[0][0] >= LEGIBLE, least
    assert tab.evaluate(FAINT) == 0


@needs_browser
@pytest.mark.parametrize("name", [*NOTEBOOKS, *INDEXES])
def test_a_page_stands_on_a_screen_in_the_dark_and_on_paper(pages, opened, name):
    html = pages(name)
    tab = opened(html)
    charts = tab.evaluate(CHARTS)
    assert len(charts) == html.count(FIGURE)
    assert html.count(page.runtime()) == int(FIGURE in html)
    assert len(html.encode()) < 15 * 2**20
    assert [chart for chart in charts if chart["state"] != "drawn" or not chart["marks"]] == []
    assert [chart["name"] for chart in charts if not chart["told"]] == []
    assert tab.locator("main img:not([alt])").count() == 0
    assert tab.evaluate("[...document.images].every((picture) => picture.naturalWidth > 0)")
    assert bool(tab.locator("main img").count()) == (name == "gallery")
    legible(tab)
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_function("() => document.documentElement.dataset.theme === 'dark'")
    legible(tab)
    tab.set_viewport_size({"width": 420, "height": 900})
    assert tab.evaluate("document.documentElement.scrollWidth") == 420
    tab.set_viewport_size({"width": PAPER[0], "height": PAPER[1]})
    tab.emulate_media(media="print", color_scheme="dark")
    assert tab.evaluate(OVERFLOWS, list(PAPER)) == []


@needs_browser
def test_a_page_prints_on_a4_without_controls(pages, opened):
    tab = opened(pages("model_report"))
    printed = tab.pdf(prefer_css_page_size=True)
    sizes = {tuple(map(float, box.split())) for box in re.findall(rb"/MediaBox \[([^\]]*)\]", printed)}
    assert {tuple(map(round, size)) for size in sizes} == {(0, 0, 595, 842)}


@needs_browser
def test_keys_lead_through_the_contents_to_a_table_that_they_sort(pages, opened):
    tab = opened(pages("01_leaderboard"))
    for _ in range(12):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.closest('#contents') !== null"):
            break
    address = tab.evaluate("document.activeElement.hash")
    assert address.startswith("#")
    tab.keyboard.press("Enter")
    assert tab.evaluate("location.hash") == address
    sort = tab.locator('table[data-component="table"] button.sort').first
    sort.focus()
    tab.keyboard.press("Enter")
    head = sort.locator("xpath=ancestor::th")
    assert head.get_attribute("aria-sort") == "ascending"
    firsts = sort.locator("xpath=ancestor::table").locator("tbody tr th:first-child").all_inner_texts()
    assert [text[:3].lower() for text in firsts] == sorted(text[:3].lower() for text in firsts)


@needs_browser
def test_each_link_of_the_contents_leads_to_a_heading(pages, opened):
    tab = opened(pages("model_report"))
    addresses = "[...document.querySelectorAll('#contents a')].map((link) => decodeURIComponent(link.hash.slice(1)))"
    assert len(tab.evaluate(addresses)) > 5
    assert tab.evaluate(f"{addresses}.filter((id) => !document.getElementById(id))") == []


@needs_browser
def test_jupyterlab_shows_the_sliders_in_a_frame_and_the_page_without_one(pages, opened, study):
    part = sensitivities.sliders(study)
    shown = framed(part)._repr_mimebundle_()[0]["text/html"]
    tab = opened(f'<!doctype html><html data-state="ready"><body>{shown}</body></html>')
    frame = tab.frame_locator("iframe")
    frame.locator('[data-constant="lambda_"]').evaluate("(i) => { i.value = 1; i.dispatchEvent(new Event('input')); }")
    assert frame.locator("output").first.inner_text() == "1.00"
    assert frame.locator(".live-board tbody tr").count() == len(study.names)
    assert page.FRAME not in pages("07_sensitivity")
    assert framed(Text("none", "Nothing to move.", {})) == Text("none", "Nothing to move.", {})


@needs_browser
def test_jupyterlab_shows_the_explorer_in_a_frame_where_questions_are_found_and_opened(opened, study):
    model = values_for("model_report", study.path)["model"]
    part = questions.explorer(Study(study.path, model))
    shown = framed(part)._repr_mimebundle_()[0]["text/html"]
    frame = opened(f'<!doctype html><html data-state="ready"><body>{shown}</body></html>').frame_locator("iframe")
    first = part.questions.row(0, named=True)
    frame.get_by_role("searchbox", name="Search").fill(first["question"])
    found = frame.locator(f'.gamut-opened > details[data-question="{first["question_id"]}"]')
    found.locator("summary").click()
    assert found.locator(".rubric tbody th").count() > 0


@needs_browser
def test_the_sliders_of_the_page_rank_as_the_analysis_does(pages, opened, study):
    tab = opened(pages("07_sensitivity"))
    tab.locator('[data-constant="mu"]').evaluate("(i) => { i.value = -4; i.dispatchEvent(new Event('input')); }")
    rows = "[...document.querySelectorAll('.live-board tbody tr')]"
    shown = tab.evaluate(f"{rows}.map((row) => [row.querySelector('th').textContent, Number(row.dataset.score)])")
    view = {"judge": study.judge, "variant": study.variant}
    grid = sensitivity.score_grid(
        study.counts, study.scoring, **view, lambdas=[0.5], mus=[-4], weights=[(0.6, 0.3, 0.1)]
    )
    expected = {study.names[model]: score for model, score in grid.select("model", "score").iter_rows()}
    assert dict(shown) == pytest.approx(expected, abs=1e-9)
    assert [score for _, score in shown] == pytest.approx(sorted(expected.values(), reverse=True), abs=1e-9)


@needs_browser
def test_the_explorer_of_a_report_finds_the_questions_that_the_data_has(pages, opened, study):
    model = values_for("model_report", study.path)["model"]
    own = study.relation("verdicts", model=model, judge=study.judge, variant=study.variant)
    asked = own["question_id"].n_unique()
    tab = opened(pages("model_report"))
    status = tab.locator(".gamut-live [role=status]")
    assert status.inner_text().startswith(f"{asked} of {asked} questions")
    for place, verdict in enumerate(VERDICT_LABELS):
        having = own.filter(verdict=verdict)
        tab.get_by_role("combobox", name="Verdict", exact=True).select_option(str(place))
        found = f"{having['question_id'].n_unique()} of {asked} questions · {having.height} checks match"
        assert status.inner_text().startswith(found)


@pytest.fixture(scope="module")
def odd(tmp_path_factory) -> Study:
    return Study(built(odd_names.write(tmp_path_factory.mktemp("odd") / "odd")), odd_names.MODELS[0])


@needs_browser
@pytest.mark.parametrize("name", ["model_report", "compare_models", "01_leaderboard", "06_question_diversity"])
def test_48_hostile_names_and_texts_are_read_and_do_nothing(opened, odd, name):
    values = {"database": str(odd.path), "model": odd.model if name == "model_report" else ""}
    done = execute(paths.notebooks() / f"{name}.ipynb", values)
    tab = opened(report._page_of(done, odd.model_name, common.band(odd)))
    tooltips = tab.evaluate(HOVERED)
    assert len(tooltips) == tab.locator(".chart").count()
    assert any(tooltips)
    for button in tab.locator("main button.sort").all():
        button.click()
    for summary in tab.locator(".gamut-opened > details > summary").all()[:12]:
        summary.click()
    assert tab.evaluate("window.PWNED") is None
    assert tab.locator("main img, main svg script, main a[href^='javascript'], main script:not([type])").count() == 0
    words = tab.locator("main").inner_text() + " ".join(tab.locator("main").all_text_contents())
    assert [payload for payload in WRITTEN[name] if payload not in words] == []
    ragged = """() => [...document.querySelectorAll('main table')].filter((table) =>
      new Set([...table.tBodies[0].rows].filter((row) => row.cells.length > 1).map((row) => row.cells.length)).size > 1)
      .length"""
    assert tab.evaluate(ragged) == 0


# The payloads that a page shows: of all questions and answers, of the names of models, of domains.
WRITTEN = {
    "model_report": odd_names.PAYLOADS,
    "compare_models": odd_names.PAYLOADS[:1],
    "01_leaderboard": odd_names.PAYLOADS[:4],
    "06_question_diversity": odd_names.PAYLOADS[:1],
}


@pytest.mark.parametrize("name", ["model_report", *INDEXES])
def test_31_no_page_names_anything_to_load(pages, shared, tmp_path, name):
    path = tmp_path / "page.html"
    path.write_text(pages(name), encoding="utf-8")
    (checker,) = (shared / "cases").glob("31-*/check_offline.py")
    told = subprocess.run([sys.executable, checker, path], capture_output=True, text=True, check=False)
    assert (told.stdout.strip(), told.returncode) == ("", 0)
