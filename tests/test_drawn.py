"""Charts as files: sized for their medium, nothing cut, the same bytes whenever the chart is the same."""

import hashlib
import itertools
import re

import altair as alt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamut_analysis import drawn
from gamut_analysis.charts import theme

WORDS = "A title of many words that no column of a paper could ever hold in one line without being cut at its end"


@pytest.fixture(autouse=True)
def themed():
    yield
    theme.enable()


def chart(profile="screen", *, legend=0, title=WORDS, **properties):
    """Three models on a line, with a legend of so many entries, as the medium draws them."""
    theme.enable(profile)
    names = ["alpha", "beta", "gamma"] if not legend else [f"a judge of the name {n}" for n in range(legend)]
    frame = pl.DataFrame({"model": names, "score": [float(n) for n in range(len(names))]})
    marks = alt.Chart(frame).mark_point().encode(x="score:Q", y=alt.Y("model:N", title=None))
    marks = marks.encode(color="model:N") if legend else marks
    return theme.fitted(marks, **properties).properties(title={"text": title, "subtitle": title}).to_dict()


def shades():
    """A chart whose legend is a gradient, which vl-convert numbers anew at every drawing."""
    frame = pl.DataFrame({"x": [0, 1], "value": [0.0, 1.0]})
    return alt.Chart(frame).mark_rect(clip=True).encode(x="x:O", color="value:Q").to_dict()


def inches(picture):
    """A pixel of an SVG is 1/96 inch."""
    return drawn.size(picture)[0] / 96


def points(picture):
    """The size of the smallest text of an SVG at its final size, in points."""
    box = float(re.search(r'viewBox="0 0 ([\d.]+)', picture)[1])
    enlarged = drawn.size(picture)[0] / box
    return min(map(float, re.findall(r'font-size="([\d.]+)px"', picture))) * enlarged * 72 / 96


@pytest.mark.parametrize(("name", "width", "text"), [("screen", 6.9, 9), ("slides", 10, 12), ("paper", 3.3, 7)])
def test_a_figure_is_as_wide_as_its_medium_and_its_text_large_enough(name, width, text):
    profile = theme.PROFILES[name]
    picture = drawn.svg(drawn.sized(chart(name), profile), profile.scale)
    assert inches(picture) == pytest.approx(width, abs=0.01)
    assert points(picture) >= text
    assert not drawn.cut(picture)


def test_a_figure_whose_legend_does_not_fit_a_column_takes_two():
    profile = theme.PROFILES["paper"]
    assert inches(drawn.svg(drawn.sized(chart("paper", legend=4), profile))) == pytest.approx(6.9, abs=0.01)


def test_a_figure_of_a_width_of_its_own_keeps_it():
    profile = theme.PROFILES["paper"]
    assert drawn.size(drawn.svg(drawn.sized(chart("paper", width=400, title="Short"), profile)))[0] == 400


def test_a_word_beyond_the_side_is_found():
    # In Helvetica "Wide" is 0.944 + 0.222 + 0.556 + 0.556 font sizes wide: 22.8 pixels here, from 77 to 100.
    def picture(x, anchor="start", turned=""):
        text = f'<text font-size="10px" text-anchor="{anchor}" transform="translate(2,9){turned}">Wide</text>'
        head = '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="40" viewBox="0 0 100 20">'
        return f'{head}<g transform="translate({x},0)">{text}</g></svg>'

    assert [drawn.cut(picture(x)) for x in (75, 78)] == [[], ["Wide"]]
    assert [drawn.cut(picture(x, "end")) for x in (21, 18)] == [[], ["Wide"]]
    assert [drawn.cut(picture(x, "middle")) for x in (87, 90)] == [[], ["Wide"]]
    assert drawn.cut(picture(95, turned=" rotate(-45)")) == []


def test_lines_hold_what_fits_and_keep_a_per_cent_sign_with_its_number():
    # In Helvetica "aaaa" is 4 x 0.556 = 2.22 font sizes wide, and a blank 0.278.
    assert drawn.lines("aaaa aaaa aaaa", 5) == ["aaaa aaaa", "aaaa"]
    assert drawn.lines("aa 57 % bb", 3) == ["aa", "57 %", "bb"]
    assert drawn.lines("模型 模型", 4) == ["模型", "模型"]


@given(st.text(alphabet="ab %", max_size=40), st.floats(0.1, 20))
def test_lines_lose_no_letter(text, width):
    assert " ".join(drawn.lines(text, width)) == text


@pytest.mark.parametrize("make", [chart, shades])
def test_two_drawings_of_one_chart_are_the_same_bytes(make):
    spec = make()
    pictures = [drawn.svg(spec) for _ in range(3)]
    assert len(set(pictures)) == 1
    files = [(drawn.png(picture), drawn.pdf(picture)) for picture in pictures * 3]
    assert len({hashlib.sha256(b"".join(both)).digest() for both in files}) == 1


def test_parts_of_a_picture_are_named_from_one_and_still_meant():
    picture = drawn.svg(shades())
    named, meant = re.findall(r' id="([^"]+)"', picture), re.findall(r"url\(#([^)]+)\)", picture)
    assert sorted(set(named)) == sorted(set(meant)) == [f"part{n}" for n in range(1, len(set(named)) + 1)]


def test_a_pdf_is_as_large_as_its_picture_and_its_table_of_places_is_true():
    picture = drawn.svg(chart())
    document = drawn.pdf(picture)
    width, height = drawn.size(picture)
    box = [float(number) for number in re.search(rb"/MediaBox \[([^\]]+)\]", document)[1].split()]
    assert box == pytest.approx([0, 0, width * 0.75, height * 0.75], abs=0.01)
    start = int(document.rsplit(b"startxref", 1)[1].split()[0])
    assert document[start:].startswith(b"xref\n")
    entries = re.findall(rb"(\d{10}) 00000 n", document[start:])
    for number, place in enumerate(map(int, entries), 1):
        assert document[place:].startswith(b"%d 0 obj" % number)
    references = {int(number) for number in re.findall(rb"\b(\d+) 0 R", document)}
    assert references == set(range(1, len(entries) + 1))


def test_any_order_of_the_objects_gives_the_same_pdf():
    import vl_convert

    raw = vl_convert.svg_to_pdf(drawn.svg(chart()))
    objects, trailer = drawn._objects(raw)
    reached = drawn._reached(objects, trailer)
    for order in itertools.islice(itertools.permutations(objects), 0, 40, 13):
        renamed = dict(zip(objects, order, strict=True))
        shuffled = {renamed[old]: drawn._renumbered(content, renamed) for old, content in objects.items()}
        again = drawn._reached(shuffled, drawn._renumbered(trailer, renamed))
        assert {renamed[old]: new for old, new in reached.items()} == again


def test_letters_that_xml_cannot_hold_are_replaced():
    frame = pl.DataFrame({"model": ["a\x07b", "<&>"], "score": [1.0, 2.0]})
    picture = drawn.svg(theme.fitted(alt.Chart(frame).mark_point().encode(x="score:Q", y="model:N")).to_dict())
    assert drawn.png(picture).startswith(b"\x89PNG")
    assert "a\N{REPLACEMENT CHARACTER}b" in drawn.shown(picture)
    assert "<&>" in drawn.shown(picture)
