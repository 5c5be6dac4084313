"""Notebooks run with parameters: the contract, exact values, failures that are named, and nothing lost."""

import json
import re
from urllib.parse import unquote

import nbformat
import pytest

from gamut_analysis import paths, report
from gamut_analysis.errors import NotebookError, UnknownName
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


def test_a_foreign_kernel_runs_in_this_environment_and_every_value_is_the_very_text(saved):
    path = saved(notebook("values = []", "print(values)", kernel="some-conda-env"))
    assert printed(report.run(path, {"values": EXACT})).strip() == repr(EXACT)


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


def test_the_same_data_gives_the_same_bytes(drawn):
    kinds = (".svg", ".png", ".csv", ".tex", ".html", ".json")
    first, second = ({p.name: p.read_bytes() for p in home.rglob("*") if p.suffix in kinds} for home in drawn)
    assert first == second


def test_no_half_written_figures_are_left(drawn):
    assert {path.name for path in drawn[0].iterdir()} == {"figures", "tables"}


def test_a_site_holds_reports_notebooks_and_figures_and_its_links_lead_somewhere(bare_database, tmp_path, monkeypatch):
    # Two small notebooks and ready reports stand for the real ones, which other tests run.
    home = tmp_path / "home"
    (home / "notebooks").mkdir(parents=True)
    for name, title in (("00_first", "# 0. First"), ("01_second", "# 1. Second")):
        node = notebook('database = ""\njudge = ""\nvariant = ""\nseed = 0')
        node.cells.insert(0, nbformat.v4.new_markdown_cell(title))
        nbformat.write(node, home / "notebooks" / f"{name}.ipynb")
    monkeypatch.setenv("GAMUT_HOME", str(home))

    def ready(study, *, label):
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
