"""What a cell ends in: one rule of rounding, escaping everywhere, raw numbers beside what is shown."""

import json
import math
import re
from decimal import ROUND_HALF_EVEN, Decimal

import altair as alt
import polars as pl
import pytest
import vl_convert
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_notebook, new_output

from gamut_analysis import page, pdf
from gamut_analysis.charts import dots, theme
from gamut_analysis.display import (
    CHART,
    NUMBERS,
    SHARES_NOTE,
    Figure,
    Table,
    Text,
    count,
    format_interval,
    format_number,
    format_p,
    format_percent,
    format_points,
    format_ranks,
    interval,
    latex,
    number,
    p_value,
    percent,
    plain,
    points,
    ranks,
    table_html,
    table_text,
    text,
    to_csv,
    to_latex,
    verdict,
)
from gamut_analysis.errors import NotebookError, UnknownName

FRAME = pl.DataFrame(
    {
        "model": ["alpha", "beta", "gamma"],
        "maker": ["A & Co", None, "C"],
        "estimate": [0.342, 0.1, None],
        "low": [0.331, None, None],
        "high": [0.353, None, None],
        "n": [1813, 1, 0],
        "reason": [None, "one question: no interval", "nothing graded"],
    }
)
COLUMNS = {"model": text("Model", sub="maker"), "estimate": interval("Score"), "n": count("Questions")}
NAMED = pl.DataFrame({"name": ["if", "b"], "estimate": [0.1, 0.2], "low": [0.0, 0.1], "high": [0.2, 0.3], "n": [3, 3]})


def table(frame=FRAME, columns=COLUMNS, **more):
    return Table("scores", frame, columns, **more)


class Chart:
    """As much of an Altair chart as a figure asks for."""

    def to_dict(self):
        return {"mark": "point", "datasets": {"data": [{"x": 1.0}, {"x": float("nan")}]}}


# Rounding


@given(st.floats(-1e6, 1e6), st.integers(0, 4))
def test_rounding_is_half_even_on_the_exact_value_without_negative_zero(value, digits):
    exact = Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN)
    shown = format_number(value, digits)
    assert Decimal(shown.replace("−", "-").replace(",", "")) == exact
    assert not re.fullmatch(r"−0(\.0+)?", shown)


@given(st.floats(-1, 1))
def test_points_say_a_hundred_for_a_hundred_alone(score):
    says_hundred = format_points(score).lstrip("−") == "100.0"
    assert says_hundred == (abs(score) > 1 - 1e-11)


@given(st.floats(0, 1))
def test_a_share_says_zero_for_nothing_alone(share):
    assert (format_percent(share) == "0.0") == (share < 1e-11)


def test_the_rule_on_the_values_where_two_rules_part(shared):
    values = json.loads((shared / "cases/43-percentages-and-rounding/values.json").read_text())
    assert values == [0.125, 58.65, 0.5, 1.5, 2.5, -0.05, 99.96]
    assert format_number(0.125, 2) == "0.12"
    assert format_points(0.5865) == "58.7"  # 0.5865 is a little more than itself as a float, 58.65 a little less
    assert format_number(58.65, 1) == "58.6"
    assert [format_number(value, 0) for value in (0.5, 1.5, 2.5)] == ["0", "2", "2"]
    assert format_number(-0.05, 1) == "−0.1"
    assert format_number(-0.04, 1) == "0.0"
    assert format_percent(0.9996) == "> 99.9"
    assert format_points(-0.9996) == "< −99.9"


def test_signs_are_shown_on_demand_and_never_on_zero():
    assert [format_points(gap, signed=True) for gap in (0.019, -0.019, 0.0001)] == ["+1.9", "−1.9", "0.0"]


def test_p_values_claim_no_more_than_three_digits():
    assert [format_p(p) for p in (0.0001, 0.001, 0.003, 0.0496, 0.9996, 1)] == [
        "< 0.001",
        "0.001",
        "0.003",
        "0.050",
        "> 0.999",
        "1.000",
    ]


def test_an_interval_without_ends_says_so():
    assert format_interval(0.342, 0.331, 0.353) == "34.2 (33.1 to 35.3)"
    assert format_interval(0.8, 0.75, 0.85, 2, of="number") == "0.80 (0.75 to 0.85)"
    assert format_interval(0.1, None, math.nan) == "10.0 (–)"


def test_rank_sets_read_as_words():
    assert [format_ranks(*pair) for pair in ((1, 1), (1, 2), (11, 13), (21, 22))] == [
        "1st",
        "1st or 2nd",
        "11th to 13th",
        "21st or 22nd",
    ]


# Tables


def test_a_table_is_one_semantic_table():
    html = table_html(table(caption="Scores"))
    assert html.count("<table") == html.count("</table>") == 1
    assert "<caption><span>Scores</span></caption>" in html
    assert html.count('<th scope="col"') == 3
    assert html.count('<th scope="row"') == 3
    assert '<td class="number" data-sort="0.342">34.2 (33.1 to 35.3)</td>' in html
    assert "<small>A &amp; Co</small>" in html
    assert "<small>points</small>" in html


def test_undefined_is_a_dash_with_its_reason_for_eye_ear_and_print():
    html = table_html(table())
    assert '<abbr title="nothing graded">–</abbr><span class="gamut-hidden">: nothing graded</span>' in html
    assert "Undefined (–): one question: no interval; nothing graded." in html


def test_nan_is_undefined_too():
    frame = pl.DataFrame({"model": ["a"], "x": [float("nan")]})
    shown = table(frame, {"model": "Model", "x": points("X")})
    assert "nan" not in table_html(shown).lower()
    assert shown._repr_mimebundle_()[0][NUMBERS]["rows"] == [{"model": "a", "x": None}]


def test_long_tables_alone_can_be_sorted_and_searched():
    frame = pl.DataFrame({"model": [str(i) for i in range(16)]})
    assert "data-component" in table_html(table(frame, {"model": "Model"}))
    assert "data-component" not in table_html(table(frame.head(15), {"model": "Model"}))


def test_shares_that_do_not_add_up_are_explained_and_those_that_do_are_not(shared):
    counts = json.loads((shared / "cases/43-percentages-and-rounding/counts.json").read_text())
    rows = []
    for model, verdicts in counts.items():
        total = sum(verdicts.values())
        rows.append({"model": model, **{name: n / total if total else None for name, n in verdicts.items()}})
    columns = {"model": text("Model"), **{name: percent(name) for name in counts["alpha"]}}
    frame = pl.DataFrame(rows).with_columns(reason=pl.lit("no verdicts"))

    whole = table(frame, columns)
    cells = {row[0].text: [cell.text for cell in row[1:]] for row in whole.cells()}
    assert cells == {
        "alpha": ["33.3", "33.3", "33.3", "0.0"],
        "beta": ["90.5", "8.5", "1.0", "0.0"],
        "gamma": ["–", "–", "–", "–"],
    }
    assert SHARES_NOTE in whole.notes()
    assert SHARES_NOTE not in table(frame.filter(model="beta"), columns).notes()


def test_a_bare_label_serves_where_the_type_leaves_no_doubt():
    shown = table(FRAME, {"model": "Model", "n": "Questions"})
    assert shown.specs["n"] == count("Questions")
    with pytest.raises(NotebookError, match="points"):
        table(FRAME, {"estimate": "Score"})


def test_a_column_that_the_frame_lacks_is_refused_with_those_it_has():
    with pytest.raises(UnknownName, match=r"scroe.*model"):
        table(FRAME, {"scroe": points("Score")})
    with pytest.raises(UnknownName, match="points"):
        text("Model", kind="pionts")


def test_verdicts_sort_by_the_vocabulary_and_carry_their_mark():
    html = table_html(table(pl.DataFrame({"v": ["contradicts", "meets"]}), {"v": verdict()}))
    assert '<span class="verdict contradicts">Contradicts</span>' in html
    assert re.findall(r'data-sort="(\d)"', html) == ["3", "0"]


def test_values_can_lead_somewhere():
    frame = pl.DataFrame({"model": ["a"], "to": ["a b/x.html"]})
    assert '<a href="a%20b/x.html">a</a>' in table_html(table(frame, {"model": text("Model", link="to")}))


def test_a_table_is_rebuilt_from_the_cell_that_shows_it():
    data, metadata = table(caption="Scores")._repr_mimebundle_()
    output = json.loads(json.dumps({"data": data, "metadata": metadata}))
    again = Table.from_output(output)
    assert to_latex(again) == to_latex(table(caption="Scores"))
    assert to_csv(again) == to_csv(table())


def test_an_empty_table_is_rebuilt_too():
    data, metadata = table(FRAME.clear())._repr_mimebundle_()
    assert to_csv(Table.from_output({"data": data, "metadata": metadata})) == to_csv(table(FRAME.clear()))


def test_csv_holds_raw_numbers_and_text_as_it_was():
    frame = pl.DataFrame({"model": ['it\'s "q", yes'], "x": [1 / 3], "of": [["a", "b"]]})
    shown = table(frame, {"model": text("Model"), "x": points("X"), "of": text("Of", kind="names")})
    assert to_csv(shown) == 'model,x,of\n"it\'s ""q"", yes",0.3333333333333333,"[""a"", ""b""]"\n'


def test_plain_text_is_aligned_and_carries_the_units():
    assert table_text(table()).splitlines()[:2] == [
        "Model       Score (points)  Questions",
        "alpha  34.2 (33.1 to 35.3)      1,813",
    ]


# LaTeX


def test_a_difference_of_shares_keeps_its_side_of_nothing():
    assert [format_percent(share, signed=True) for share in (0.0002, -0.0002, 0.002, 0)] == [
        "< 0.1",
        "> −0.1",
        "+0.2",
        "0.0",
    ]


def test_the_letters_of_statistics_need_no_other_latex():
    letters = table(pl.DataFrame({"name": ["λ, μ, κ ≥ 0.5"]}), {"name": text("Constant")})
    assert r"\ensuremath{\lambda}, \ensuremath{\mu}, \ensuremath{\kappa} \ensuremath{\geq} 0.5" in to_latex(letters)
    assert not to_latex(letters).startswith("%")


def test_latex_prints_the_names_as_they_are(shared):
    folder = shared / "cases/51-latex-escaping"
    models = json.loads((folder / "leaderboard.json").read_text())
    expected = json.loads((folder / "expected.json").read_text())["expect"]
    assert {name: latex(name) for name in expected["escaped"]} == expected["escaped"]

    source = to_latex(table(pl.DataFrame(models), {"model": text("Model"), "score": points("Score")}))
    rows = source.split("\\midrule\n")[1].split("\\bottomrule")[0].splitlines()
    assert len(rows) == expected["rows"] == 12
    assert all(len(re.findall(r"(?<!\\)&", row)) == 1 and row.endswith(r" \\") for row in rows)
    assert all(not re.search(r"(?<!\\)[%#$]", row) for row in rows)
    assert source.startswith("% Needs LuaLaTeX")
    assert "模 (U+6A21)" in source.splitlines()[0]


@pytest.mark.parametrize(("name", "printed"), [("--dash", "-{}-dash"), ("[x]", "{[}x]"), ("*", "{*}"), ("a\nb", "a b")])
def test_latex_escapes_what_only_bites_in_a_row(name, printed):
    assert latex(name) == printed


@given(st.text())
def test_latex_never_lets_a_name_end_its_cell(name):
    escaped = latex(name)
    assert not re.search(r"(?<!\\)[&%#$_]", escaped.replace("$-$", ""))
    assert "\\\\" not in escaped
    assert "\n" not in escaped


# Text


def test_placeholders_are_filled_by_kind():
    values = {"m": "alpha", "s": (0.342, 0.331, 0.353), "r": (8, 9), "n": 1813, "gap": -0.019, "p": 0.0001, "q": 0.02}
    shown = Text(
        "head", "{m}: {s:interval} %, {r:ranks} of {n}; {gap:+points}, {p:p}, {q:p}; {gap:number.3}; {l:names}",
        {**values, "l": ["a", "b"]},
    )  # fmt: skip
    assert (
        str(shown) == "alpha: 34.2 (33.1 to 35.3) %, 8th or 9th of 1,813; −1.9, p < 0.001, p = 0.020; −0.019; a and b"
    )


def test_only_the_template_can_mark_up():
    shown = Text("head", "**{name}** & more\n\nNext.", {"name": "<b>**\n\nx"}).html()
    assert shown.count("<p ") == shown.count("</p>") == 2
    assert '<strong><span class="value">&lt;b&gt;**' in shown
    assert "&amp; more" in shown


def test_text_carries_the_numbers_that_it_uses_and_no_others():
    row = {"estimate": 0.342, "low": None, "high": math.nan}
    bundle, metadata = Text("head", "{row:interval}", {"row": row, "unused": 1})._repr_mimebundle_()
    assert bundle[NUMBERS]["values"] == {"row": {"estimate": 0.342, "low": None, "high": None}}
    assert bundle["text/plain"] == "34.2 (–)"
    assert metadata["gamut"]["kind"] == "text"


def test_an_undefined_value_is_a_word_in_a_sentence():
    assert str(Text("head", "{x:points}; {y:interval}", {"x": None, "y": (None, None, None)})) == "undefined; undefined"


@pytest.mark.parametrize(
    ("template", "values", "message"),
    [
        ("{x}", {"x": 0.5}, "decimal"),
        ("{x:pionts}", {"x": 0.5}, "pionts"),
        ("**x", {}, "not closed"),
    ],
)
def test_a_template_that_is_wrong_says_what_would_be_right(template, values, message):
    with pytest.raises(NotebookError, match=message):
        Text("head", template, values).html()


def test_a_missing_value_lists_those_that_are_there():
    with pytest.raises(UnknownName, match="score"):
        str(Text("head", "{x}", {"score": 1}))


@pytest.mark.parametrize("name", ["", "Two words", "a/b", "<b>", "ü"])
def test_names_are_fit_for_files_and_addresses(name):
    with pytest.raises(NotebookError):
        Text(name, "x", {})


# Figures


def test_a_figure_is_a_chart_with_its_words_and_strict_numbers():
    data, metadata = Figure("dots", Chart(), "A caption.", "Two dots.")._repr_mimebundle_()
    assert data[CHART]["datasets"]["data"] == [{"x": 1.0}, {"x": None}]
    assert data[NUMBERS] == {"name": "dots", "kind": "figure", "rows": [{"x": 1.0}, {"x": None}]}
    assert metadata["gamut"] == {"kind": "figure", "name": "dots", "caption": "A caption.", "alt": "Two dots."}
    json.dumps(data, allow_nan=False)


def test_jupyterlab_gets_the_caption_under_the_chart_and_page_and_pdf_leave_it(monkeypatch):
    sent = []
    monkeypatch.setattr("IPython.display.publish_display_data", lambda data, about: sent.append((data, about)))
    figure = Figure("field", dots.field(NAMED), "Lines & <b>dots</b>.", "Two dots.")
    figure._ipython_display_()
    assert sent[0] == figure._repr_mimebundle_()
    assert "Lines &amp; &lt;b&gt;dots&lt;/b&gt;." in sent[1][0]["text/html"]
    outputs = [new_output("display_data", data=data, metadata=about) for data, about in sent]
    both, alone = (new_notebook(cells=[new_code_cell("figure", outputs=kept)]) for kept in (outputs, outputs[:1]))
    band = {"text": "Data", "simulated": False, "facts": {}, "details": {}}
    for made in (page.to_html, pdf.document):
        assert made(both, title="T", band=band) == made(alone, title="T", band=band)


def test_a_figure_without_a_caption_is_a_chart_alone(monkeypatch):
    sent = []
    monkeypatch.setattr("IPython.display.publish_display_data", lambda data, about: sent.append(data))
    Figure("dots", Chart(), "", "Two dots.")._ipython_display_()
    assert [CHART in data for data in sent] == [True]


def test_an_axis_shows_each_of_its_values_whatever_the_theme_says():
    theme.enable()
    values = list(range(1, 14))
    marks = alt.Chart(pl.DataFrame({"x": values})).mark_point().encode(x=alt.X("x:Q", axis=alt.Axis(values=values)))
    shown = Figure("axis", marks.properties(width=500), "", "")._repr_mimebundle_()[0][CHART]
    assert shown["encoding"]["x"]["axis"]["tickCount"] == len(values)
    assert re.findall(r">(\d+)</text>", vl_convert.vegalite_to_svg(shown)) == [str(value) for value in values]


def test_a_figure_prefers_the_numbers_it_is_given():
    assert Figure("dots", Chart(), "", "", pl.DataFrame({"y": [2]})).rows() == [{"y": 2}]


# Hostile text


@pytest.fixture
def payloads(shared):
    lines = (shared / "cases/48-html-injection/answers.jsonl").read_text().splitlines()
    return [value for line in lines for value in (json.loads(line)["model"], json.loads(line)["answer"])]


def test_hostile_texts_stay_text_wherever_they_stand(payloads):
    for payload in payloads:
        frame = pl.DataFrame({"a": [payload], "b": [None], "reason": [payload]}, schema_overrides={"b": pl.Float64})
        columns = {"a": text(payload, help=payload, unit=payload, sub="a"), "b": points(payload)}
        shown = [
            table_html(Table("t", frame, columns, payload, payload)),
            Text("t", "{x} **{x}** {y:names}", {"x": payload, "y": [payload]}).html(),
        ]
        for html in shown:
            tags = set(re.findall(r"</?([a-z]+)", html))
            assert tags <= {
                *("div", "table", "caption", "span", "thead", "tbody", "tr", "th", "td", "small", "abbr", "p", "strong")
            }
            assert "<!" not in html


def test_plain_values_are_strict_json():
    value = {"a": [float("inf"), {1, 2}], "b": pl.Series([1.5, None]), 3: pl.DataFrame({"x": [1]})}
    assert plain(value) == {"a": [None, [1, 2]], "b": [1.5, None], "3": [{"x": 1}]}


def test_kinds_have_builders_that_set_their_look():
    assert [column.numeric for column in (text("a"), points("a"), p_value(), number("a"), ranks("a", high="b"))] == [
        False,
        True,
        True,
        True,
        True,
    ]
    assert points("a", unit="").head_unit == ""
    assert interval("a", of="percent").head_unit == "%"


def test_a_name_that_is_a_word_of_vegas_language_is_drawn():
    spec = Figure("field", dots.field(NAMED), "", "")._repr_mimebundle_()[0][CHART]
    assert ">if<" in vl_convert.vegalite_to_svg(spec)
