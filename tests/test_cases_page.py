"""Cases of pages and figures: odd names, many rows, and figures that everybody can read."""

import html
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import odd_names
import polars as pl
import pytest
import vl_convert
from delivered import built
from executed import execute, shown_in, values_for

from gamut_analysis import datasets, page, paths, report
from gamut_analysis.chapters import common
from gamut_analysis.charts import dots, lines, parts
from gamut_analysis.display import CHART
from gamut_analysis.study import Study
from gamut_analysis.vocabulary import VERDICTS

NOTEBOOKS = [path.stem for path in sorted(paths.notebooks().glob("*.ipynb"))]
MOST_ROWS = 5000  # what Altair puts into a chart
MIB = 2**20
HEAVY = ("model_report", "01_leaderboard", "04_omissions_and_contradictions", "08_how_many_are_enough")


def charts(notebook: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The charts of a notebook that has run, by name."""
    return ((shown.metadata.gamut.name, shown.data[CHART]) for shown in shown_in(notebook) if CHART in shown.data)


def drawn(spec: dict[str, Any]) -> str:
    return vl_convert.vegalite_to_svg(spec, vl_version=page.VEGALITE)


def words(svg: str) -> list[str]:
    """The texts of a picture, lines of one text joined."""
    texts = re.findall(r"<text[^>]*>(.*?)</text>", svg, flags=re.DOTALL)
    return [html.unescape(re.sub("<[^>]*>", "", text)) for text in texts]


def names_in(spec: dict[str, Any]) -> set[str]:
    """The names of models that the data of a chart holds."""
    values = {value for rows in spec["datasets"].values() for row in rows for value in row.values()}
    return {value for value in values if isinstance(value, str) and value in odd_names.MODELS}


def legends(svg: str) -> list[list[str]]:
    """What the symbols of each legend look like."""
    symbol = r'role-legend-symbol"[^>]*><path transform="[^"]*" ([^>]*)/>'
    return [re.findall(symbol, legend) for legend in svg.split('aria-roledescription="legend"')[1:]]


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    return built(odd_names.write(tmp_path_factory.mktemp("odd") / "odd"))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_28_48_52_every_figure_holds_every_name_in_full_and_no_legend_repeats_itself(odd, name):
    done = execute(paths.notebooks() / f"{name}.ipynb", values_for(name, odd))
    assert page.complaints(done) == []
    for figure, spec in charts(done):
        svg = drawn(spec)
        told = " ".join(words(svg)).replace(" ", "")
        labelled = names_in(spec) if figure not in UNNAMED else set()
        assert {model for model in labelled if model.replace(" ", "") not in told} == set(), figure
        assert [legend for legend in legends(svg) if max(Counter(legend).values(), default=0) > 1] == [], figure
        assert re.search(r'<rect width="\d+(\.\d+)?" height="\d+(\.\d+)?" fill="(white|#fff|#ffffff)"/>', svg), figure


# Figures in which models are grey dots, or in which some alone are named at their marks.
UNNAMED = {
    "strips",
    "pairs-turned",
    "differences",
    "by-tier",
    "by-role",
    "by-domain",
    "domains",
    "levels",
    "leniency-by-quality",
    "items",
}


@pytest.mark.parametrize("name", odd_names.SYNTAX)
def test_28_a_name_of_any_syntax_is_drawn_with_both_of_its_marks(name):
    wide = {series: [0.1 * place, 0.1 * place + 0.1] for place, series in enumerate(odd_names.SYNTAX, 1)}
    rows = [
        {"name": series, "question": f"q{place}", "estimate": value, "low": value, "high": value, "rank": 1, "n": 2}
        for series, values in wide.items()
        for place, value in enumerate(values, 1)
    ]
    svg = drawn(lines.slopes(pl.DataFrame(rows), at="question", order=["q1", "q2"], focus=name).to_dict())
    assert len(re.findall('aria-roledescription="(?:circle|point)"', svg)) == 12
    assert set(odd_names.SYNTAX) <= set(words(svg))


def test_52_the_legend_of_the_verdicts_has_four_symbols_that_differ():
    rows = [("a", verdict, 0.25) for verdict in VERDICTS]
    shares = pl.DataFrame(rows, schema=["name", "verdict", "share"], orient="row")
    (symbols,) = legends(drawn(parts.verdict_shares(shares, order=["a"], focus=None).to_dict()))
    assert len(set(symbols)) == len(symbols) == len(VERDICTS)


def test_52_two_long_names_that_differ_at_the_end_are_told_apart():
    frame = pl.DataFrame({"name": odd_names.LONG, "estimate": [0.3, 0.25], "group": ["a", "a"], "n": [9, 9]})
    board = frame.with_columns(low=pl.col("estimate") - 0.1, high=pl.col("estimate") + 0.1)
    assert set(odd_names.LONG) <= set(words(drawn(dots.field(board).to_dict())))


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """The verdicts of 14 models on 1,813 questions of 15 checks: 380,730 rows."""
    folder = tmp_path_factory.mktemp("many") / "many"
    folder.mkdir()
    chance = np.random.default_rng(7)
    models, questions, checks = 14, 1813, 15
    labels = [
        chance.choice(VERDICTS, size=questions * checks, p=np.array([5 - m / 4, 1.5, 2 + m / 4, 0.5]) / 9)
        for m in range(models)
    ]
    grid = pl.DataFrame({"model": [f"model-{m:02}" for m in range(models)]})
    grid = grid.join(pl.DataFrame({"question_id": [f"q{q}" for q in range(questions)]}), how="cross")
    grid = grid.join(pl.DataFrame({"check_id": [f"c{c}" for c in range(checks)]}), how="cross")
    rows = grid.with_columns(judge=pl.lit("judge-a"), verdict=pl.Series(np.concatenate(labels)))
    rows.write_parquet(folder / "verdicts.parquet")
    return datasets.build(folder, folder.parent / "many.duckdb").database


@pytest.mark.parametrize("name", HEAVY)
def test_29_many_rows_make_a_small_page(many, name):
    done = execute(paths.notebooks() / f"{name}.ipynb", values_for(name, many))
    held = {figure: sum(map(len, spec["datasets"].values())) for figure, spec in charts(done)}
    assert held
    assert {figure: rows for figure, rows in held.items() if rows > MOST_ROWS} == {}
    written = report._page_of(done, name, common.band(Study(many)))
    assert len(written.encode()) < 15 * MIB
    assert written.count(page.runtime()) == 1
