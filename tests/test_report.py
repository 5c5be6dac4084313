"""Notebooks run with parameters: the contract, exact values, failures that are named, and nothing lost."""

import json
import re
import sys
from urllib.parse import unquote

import altair as alt
import nbformat
import polars as pl
import pytest
from delivered import built, put

from gamut_analysis import paths, report
from gamut_analysis.display import Figure, Table, points
from gamut_analysis.errors import NotebookError, PartMissing, UnknownName
from gamut_analysis.study import Study

EXACT = ["4.0", "1e5", "1E10", "1_000", "007", "nan", "inf", "None", "True", "٣", " 5", "it's", 'a"b', "{x}", "$HOME"]


def notebook(*cells: str, tags: tuple[tuple[str, ...], ...] = (("parameters",),), kernel: str = "python3"):
    node = nbformat.v4.new_notebook()
    for place, source in enumerate(cells):
        cell = nbformat.v4.new_code_cell(source)
        cell.metadata["tags"] = list(tags[place]) if place < len(tags) else []
        node.cells.append(cell)
    node.metadata["kernelspec"] = {"display_name": kernel, "language": "python", "name": kernel}
    return node


@pytest.fixture
def saved(tmp_path):
    def save(node) -> object:
        path = tmp_path / "tried.ipynb"
        nbformat.write(node, path)
        return path

    return save


def showing(*shown):
    """A notebook that has shown these objects."""
    outputs = []
    for one in shown:
        data, metadata = one._repr_mimebundle_()
        outputs.append(nbformat.v4.new_output("display_data", data, metadata=metadata))
    title = nbformat.v4.new_markdown_cell("# 9. Names")
    return nbformat.v4.new_notebook(cells=[title, nbformat.v4.new_code_cell(outputs=outputs)])


def printed(node) -> str:
    return "".join(output.get("text", "") for cell in node.cells for output in cell.get("outputs", []))


def test_a_notebook_without_a_parameters_cell_is_refused(saved):
    path = saved(notebook("model = 'default'", "print(model)", tags=()))
    with pytest.raises(NotebookError, match="no cell is tagged 'parameters'"):
        report.run(path, {"model": "wanted"})


def test_a_notebook_with_two_parameters_cells_is_refused(saved):
    path = saved(notebook("model = 'a'", "model = 'b'", tags=(("parameters",), ("parameters",))))
    with pytest.raises(NotebookError, match="2 cells are tagged"):
        report.run(path, {"model": "wanted"})


def test_a_misspelt_parameter_is_refused_and_named(saved):
    path = saved(notebook("model = 'default'", "print(model)"))
    with pytest.raises(UnknownName, match=r"no parameter 'modle'; it has model"):
        report.run(path, {"modle": "x"})


def test_a_foreign_kernel_runs_in_this_environment_and_every_value_is_the_very_text(saved, capfd):
    path = saved(notebook("values = []", "print(values)", kernel="some-conda-env"))
    assert printed(report.run(path, {"values": EXACT})).strip() == repr(EXACT)
    assert capfd.readouterr().err == ""


def test_a_failing_cell_is_named_with_its_place_and_first_line(saved):
    path = saved(notebook("model = 'x'", "print('fine')", "raise ValueError('no such thing')"))
    with pytest.raises(NotebookError, match=r"tried\.ipynb, cell 4 \(raise ValueError.*no such thing"):
        report.run(path, {"model": "y"})


def test_a_file_that_is_no_notebook_is_refused(tmp_path):
    path = tmp_path / "page.ipynb"
    path.write_text("<html>", encoding="utf-8")
    with pytest.raises(NotebookError, match="not a notebook"):
        report.run(path, {})


@pytest.fixture(scope="module")
def written(small_database, tmp_path_factory):
    """The report of one model of the small world, in a project folder of its own."""
    home = tmp_path_factory.mktemp("home")
    (home / "notebooks").symlink_to(paths.notebooks())
    (home / "data").symlink_to(paths.data())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GAMUT_HOME", str(home))
        page = report.model_report(Study(small_database, "gpt-4o"))
    return home, page


def test_a_report_is_one_page_and_its_numbers(written):
    home, page = written
    assert page == home / "reports" / "gpt-4o" / "gpt-4o.html"
    assert sorted(path.name for path in page.parent.iterdir()) == ["gpt-4o.html", "numbers.json"]


def test_a_pdf_stands_beside_its_page_and_goes_with_it(tmp_path, monkeypatch):
    pytest.importorskip("typst", reason="the extra `pdf` is not installed")
    monkeypatch.setenv("GAMUT_HOME", str(tmp_path))
    node = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Title\n\nWords.")])
    head = {"title": "T", "band": {"text": "Real.", "simulated": False, "facts": {"judge": "j"}, "details": {}}}
    page = report.write(node, "gemini-3.1-pro", **head, form="pdf")
    files = {path.name for path in page.parent.iterdir()}
    assert files == {"gemini-3.1-pro.html", "gemini-3.1-pro.pdf", "numbers.json"}
    assert (page.parent / "gemini-3.1-pro.pdf").read_bytes().startswith(b"%PDF")
    report.write(node, "gemini-3.1-pro", **head)
    assert {path.name for path in page.parent.iterdir()} == files - {"gemini-3.1-pro.pdf"}


def test_without_typst_the_page_is_written_and_the_error_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "typst", None)
    monkeypatch.setenv("GAMUT_HOME", str(tmp_path))
    node = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("Words.")])
    head = {"title": "T", "band": {"text": "Real.", "simulated": False, "facts": {}, "details": {}}}
    with pytest.raises(PartMissing, match=r"typst.*the page is there: .*m\.html"):
        report.write(node, "m", **head, form="pdf")
    assert (tmp_path / "reports" / "m" / "m.html").is_file()


def test_a_report_calls_simulated_data_simulated_at_its_head(written):
    html = written[1].read_text(encoding="utf-8")
    assert 'class="band simulated"' in html
    assert html.count("SIMULATED") > 5


def test_the_numbers_are_strict_json_and_hold_the_parts_of_the_loss(written):
    def refuse(constant):
        raise AssertionError(constant)

    numbers = json.loads((written[1].parent / "numbers.json").read_text(encoding="utf-8"), parse_constant=refuse)
    lost = sum(row["estimate"] for row in numbers["where-points-go"]["rows"])
    score = numbers["headline"]["values"]["score"]["estimate"]
    assert lost == pytest.approx(1 - score, abs=1e-12)


def test_a_report_that_fails_leaves_the_previous_one(written, small_database, monkeypatch):
    home, page = written
    before = page.read_bytes()
    monkeypatch.setenv("GAMUT_HOME", str(home))
    monkeypatch.setattr(report.page, "numbers", lambda notebook: {"bad": float("nan")} and 1 / 0)
    with pytest.raises(ZeroDivisionError):
        report.model_report(Study(small_database, "gpt-4o"))
    assert page.read_bytes() == before
    assert sorted(path.name for path in page.parent.iterdir()) == ["gpt-4o.html", "numbers.json"]


@pytest.fixture(scope="module")
def drawn(small_database, tmp_path_factory):
    """The figures and tables of one notebook on the small world, twice."""
    study = Study(small_database)
    ran = {"01_leaderboard": report.run(paths.notebooks() / "01_leaderboard.ipynb", {"database": str(small_database)})}
    homes = [tmp_path_factory.mktemp("figures") for _ in range(2)]
    for home in homes:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(report.paths, "reports", lambda home=home: home)
            report._write_figures(study, ran)
    return homes


def test_each_figure_is_written_in_three_formats_and_each_table_in_two(drawn):
    figures = {path.suffix for path in (drawn[0] / "figures").glob("01-field.*")}
    tables = {path.suffix for path in (drawn[0] / "tables").glob("01-leaderboard.*")}
    assert (figures, tables) == ({".svg", ".png", ".pdf"}, {".csv", ".tex"})
    assert (drawn[0] / "figures" / "index.html").is_file()


def test_the_index_of_figures_shows_every_figure_and_table_with_all_of_its_files(drawn):
    index = drawn[0] / "figures" / "index.html"
    html = index.read_text(encoding="utf-8")
    assert 'class="band simulated"' in html
    assert '<h2 id="the-leaderboard">' in html
    linked = {(index.parent / unquote(link)).resolve() for link in re.findall(r'href="(?!data:|#)([^"]+)"', html)}
    written = {path.resolve() for path in drawn[0].rglob("0*.*")}
    assert linked == written
    assert html.count('<img src="data:image/svg+xml;base64,') == len(list(index.parent.glob("*.svg")))


def test_the_same_data_gives_the_same_bytes(drawn):
    kinds = (".svg", ".png", ".pdf", ".csv", ".tex", ".html", ".json")
    first, second = ({p.name: p.read_bytes() for p in home.rglob("*") if p.suffix in kinds} for home in drawn)
    assert first == second


def test_no_word_of_a_figure_is_cut_and_none_is_too_small(drawn):
    for path in (drawn[0] / "figures").glob("*.svg"):
        picture = path.read_text(encoding="utf-8")
        assert not report.drawn.cut(picture), path.name
        assert min(map(float, re.findall(r'font-size="([\d.]+)px"', picture))) * 72 / 96 >= 7, path.name


def test_characters_that_no_font_has_are_named_once_and_beside_the_figure(small_database, tmp_path, monkeypatch):
    spec = alt.Chart(pl.DataFrame({"model": ["模型"], "score": [1.0]})).mark_bar().encode(x="score:Q", y="model:N")
    table = Table("names", pl.DataFrame({"name": ["模型", "λ"]}), {"name": "Name"})
    shown = [Figure(name, spec, "Said.", "Bars.") for name in ("one", "two")] + [table]
    monkeypatch.setattr(report.theme, "_glyphs", lambda: (range(0x20, 0x400),))
    monkeypatch.setattr(report.paths, "reports", lambda: tmp_path)
    heard = []
    index = report._write_figures(Study(small_database), {"09_names": showing(*shown)}, heard.append)
    assert heard == [
        "09-names.tex: Needs LuaLaTeX or XeLaTeX and a font that has 型 (U+578B), 模 (U+6A21)",
        "09-one, 09-two: No installed font has 型 (U+578B), 模 (U+6A21): boxes stand in their place.",
    ]
    assert index.read_text(encoding="utf-8").count("Said. No installed font has 型") == 2


def test_the_settings_of_sliders_are_written_as_a_table_too(small_database, tmp_path, monkeypatch):
    from gamut_analysis import sensitivity
    from gamut_analysis.live.sliders import Sliders

    study = Study(small_database)
    cells = sensitivity.score_cells(study.own_counts, judge=study.judge, variant=study.variant)
    settings = Table(
        "settings", pl.DataFrame({"name": ["a"], "score": [0.5]}), {"name": "Model", "score": points("Score")}
    )
    sliders = Sliders("ranking-by-hand", cells, study.names, study.scoring, settings)
    monkeypatch.setattr(report.paths, "reports", lambda: tmp_path)
    report._write_figures(study, {"07_sensitivity": showing(sliders)})
    assert (tmp_path / "tables" / "07-ranking-by-hand.csv").read_text(encoding="utf-8") == "name,score\na,0.5\n"
    assert (tmp_path / "tables" / "07-ranking-by-hand.tex").is_file()


@pytest.mark.parametrize(
    ("database", "expected"), [("small_database", "SIMULATED data. Close."), ("bare_database", "Close.")]
)
def test_a_table_file_calls_simulated_data_simulated(database, expected, request, tmp_path, monkeypatch):
    node = showing(Table("close-pairs", pl.DataFrame({"name": ["a"]}), {"name": "Name"}, "Close."))
    monkeypatch.setattr(report.paths, "reports", lambda: tmp_path)
    report._write_figures(Study(request.getfixturevalue(database)), {"01_one": node})
    written = (tmp_path / "tables" / "01-close-pairs.tex").read_text(encoding="utf-8")
    assert rf"\caption{{{expected}}}" in written


def test_tables_of_one_name_in_two_notebooks_have_labels_of_their_own(small_database, tmp_path, monkeypatch):
    node = showing(Table("close-pairs", pl.DataFrame({"name": ["a"]}), {"name": "Name"}))
    monkeypatch.setattr(report.paths, "reports", lambda: tmp_path)
    report._write_figures(Study(small_database), {"01_one": node, "02_two": node})
    labels = [re.findall(r"\\label\{(.*)\}", path.read_text(encoding="utf-8")) for path in tmp_path.rglob("*.tex")]
    assert sorted(labels) == [["tab:01-close-pairs"], ["tab:02-close-pairs"]]


def test_no_half_written_figures_are_left(drawn):
    assert {path.name for path in drawn[0].iterdir()} == {"figures", "tables"}


@pytest.fixture
def namesakes(tmp_path):
    """A database of two models, a and b, that are shown under one name."""
    rows = "model,judge,question_id,check_id,verdict\na,j,q1,c1,meets\nb,j,q1,c1,missing\n"
    put(tmp_path / "same", "verdicts.csv", rows)
    put(tmp_path / "same", "models.csv", "model,name\na,Same\nb,Same\n")
    return built(tmp_path / "same")


def test_the_index_of_reports_leads_to_each_model_and_tells_which_report_failed(namesakes, tmp_path, monkeypatch):
    monkeypatch.setenv("GAMUT_HOME", str(tmp_path))

    def written(study, *, label, **_):
        if study.model in broken:
            raise NotebookError("no cell")
        return paths.reports() / label / f"{label}.html"

    monkeypatch.setattr(report, "model_report", written)
    labels, broken = {"a": "a", "b": "b"}, set()
    index = report.all_reports(Study(namesakes), labels, done=lambda: None)
    links = re.compile(r'href="(?!data:)([^"#]+)"[^>]*>Same')
    assert links.findall(index.read_text(encoding="utf-8")) == ["a/a.html", "b/b.html"]
    broken.add("a")
    with pytest.raises(NotebookError, match="a: no cell"):
        report.all_reports(Study(namesakes), labels, done=lambda: None)
    assert links.findall(index.read_text(encoding="utf-8")) == ["b/b.html"]


def test_a_site_holds_reports_notebooks_and_figures_and_its_links_lead_somewhere(bare_database, tmp_path, monkeypatch):
    # Two small notebooks and ready reports stand for the real ones, which other tests run.
    home = tmp_path / "home"
    (home / "notebooks").mkdir(parents=True)
    for name, title in (("00_first", "# 0. First"), ("01_second", "# 1. Second")):
        node = notebook('database = ""\njudge = ""\nvariant = ""\nseed = 0')
        node.cells.insert(0, nbformat.v4.new_markdown_cell(title))
        nbformat.write(node, home / "notebooks" / f"{name}.ipynb")
    monkeypatch.setenv("GAMUT_HOME", str(home))

    def ready(study, *, label, **_):
        page = paths.reports() / paths.slug(label) / f"{paths.slug(label)}.html"
        page.parent.mkdir(parents=True)
        page.write_text(study.model, encoding="utf-8")
        return page

    monkeypatch.setattr(report, "model_report", ready)
    steps = []
    index = report.site(
        Study(bare_database), {"alpha": "alpha", "beta": "be/ta"}, progress=lambda *step: steps.append(step)
    )
    assert index == home / "reports" / "site" / "index.html"
    assert [step[1:] for step in steps] == [(number, 4) for number in (1, 2, 3, 4)]
    links = re.findall(r'href="(?!data:)([^"#]+)"', index.read_text(encoding="utf-8"))
    assert {"00_first.html", "01_second.html", "figures/index.html", "alpha/alpha.html"} <= set(links)
    assert len(links) == 5
    assert all((index.parent / unquote(link)).is_file() for link in links)
    assert "First" in (index.parent / "00_first.html").read_text(encoding="utf-8")
