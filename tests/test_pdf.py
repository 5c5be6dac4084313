"""The report on paper: its blocks, hostile and foreign texts as they stand, pages and bytes."""

import json
import re
import sys
import zlib

import altair as alt
import nbformat
import polars as pl
import pytest

from gamut_analysis import drawn, pdf
from gamut_analysis.charts import theme
from gamut_analysis.display import Figure, Table, Text, points, text
from gamut_analysis.errors import PartMissing

BAND = {
    "text": "SIMULATED: nobody was asked.",
    "simulated": True,
    "facts": {"judge": "J", "questions": "3"},
    "details": {"Files": ["a.csv, SHA-256 " + "0" * 64], "Versions": "1.0"},
}
HOSTILE = [
    "#panic()",
    '#read("/etc/passwd")',
    "$x^2$ `raw` *bold* _it_ <label> @ref",
    "</script><script>window.PWNED=1</script>",
    '"] ] ) } \\',
    "https://example.org/#a //comment /* x */",
    "= heading",
    "50%_off & R#1",
]


def cell(*shown):
    """A code cell that has shown these objects."""
    outputs = []
    for one in shown:
        data, metadata = one._repr_mimebundle_()
        outputs.append(nbformat.v4.new_output("display_data", data, metadata=metadata))
    return nbformat.v4.new_code_cell(outputs=outputs)


def notebook(*cells):
    return nbformat.v4.new_notebook(cells=list(cells))


def document(*cells, title="A title"):
    return pdf.document(notebook(*cells), title=title, band=BAND)


def table(names, name="scores"):
    frame = pl.DataFrame({"name": names, "score": [0.342] * len(names)})
    return Table(name, frame, {"name": text("Model"), "score": points("Score")}, "Scores of all.")


def figure(names, name="dots"):
    frame = pl.DataFrame({"model": names, "score": [float(n) for n in range(len(names))]})
    chart = theme.fitted(alt.Chart(frame).mark_point().encode(x="score:Q", y="model:N")).properties(title="A finding")
    return Figure(name, chart, "What it shows.", "Dots that rise.")


def pages(content):
    """How many pages a PDF has."""
    return int(re.search(rb"/Type/Pages/Count (\d+)", content)[1])


def test_the_blocks_follow_the_notebook():
    markdown = nbformat.v4.new_markdown_cell("## A *section*\n\nLook for `x`.\n\n- one\n- two [here](https://a.org)")
    shown = document(markdown, cell(Text("t", "It is **{n:count}** {what}.", {"n": 3, "what": "<b>"}), table(["a"])))
    heading, look, one, two, said, scores = shown["blocks"]
    assert (heading["kind"], heading["level"]) == ("heading", 2)
    assert heading["spans"] == [{"text": "A "}, {"text": "section", "italic": True}]
    assert look["spans"] == [{"text": "Look for "}, {"text": "x", "code": True}, {"text": "."}]
    assert [block["kind"] for block in (one, two)] == ["item", "item"]
    assert two["spans"][-1] == {"text": "here", "link": "https://a.org"}
    assert "".join(span["text"] for span in said["spans"]) == "It is 3 <b>."
    assert [span["text"] for span in said["spans"] if span.get("bold")] == ["3"]
    assert said["leads"] and "leads" not in look
    assert scores["columns"][1] == {"label": "Score", "unit": "points", "numeric": True}
    assert [[one["text"] for one in row] for row in scores["rows"]] == [["a", "34.2"]]


def test_a_long_table_is_shortened_and_says_so():
    (shown,) = document(cell(table([f"m{n}" for n in range(1234)])))["blocks"]
    assert len(shown["rows"]) == pdf.MOST_ROWS
    assert shown["notes"] == ["The first 40 of 1,234 rows; the HTML page has all of them."]


def test_a_high_figure_fits_a_page():
    (shown,) = document(cell(figure([f"m{n}" for n in range(60)])))["blocks"]
    width, height = drawn.size(shown["picture"])
    wide, high = pdf._PAGE
    assert shown["share"] * wide * height / width == pytest.approx(high, abs=1)


def explorer():
    """Two questions: of the first, one check is missing and one contradicts."""
    from gamut_analysis.live.explorer import Explorer

    questions = pl.DataFrame(
        {
            "question_id": ["q1", "q2"],
            "question": ["#panic() What?", "Which?"],
            "domain": ["Food", None],
            "score": [-0.5, 1.0],
            "reason": [None, None],
            "answer": ["", ""],
        },
        schema_overrides={"reason": pl.String},
    )
    checks = pl.DataFrame(
        {
            "question_id": ["q1", "q1", "q1", "q2"],
            "check_id": ["c1", "c2", "c3", "c1"],
            "text": ["Names it.", "Says how.", "Is right.", "Fine."],
            "tier": ["answer_critical", "valuable", "answer_critical", "context"],
            "role": ["fact", "fact", "fact", "fact"],
            "item_id": ["i1", "i2", "i3", "i1"],
            "item_type": [None] * 4,
            "item": [None] * 4,
            "cost": [0.5, 0.0, 1.0, 0.0],
        },
        schema_overrides={"item_type": pl.String, "item": pl.String},
    )
    verdicts = ["missing", "meets", "contradicts", "meets"]
    said = checks.select("question_id", "check_id").with_columns(
        judge=pl.lit("j"), replicate=pl.lit(0), verdict=pl.Series(verdicts), note=pl.lit(None, pl.String)
    )
    return Explorer("questions", questions, checks, said, {"j": "Judge J"})


def test_the_costliest_checks_of_the_costliest_questions_are_told():
    note, first, second = document(cell(explorer()))["blocks"]
    assert (first["score"], first["text"], first["place"]) == ("−50.0", "#panic() What?", "Food · q1")
    assert first["checks"] == [
        ["Is right.", "Answer-Critical", "Contradicts", "100.0"],
        ["Names it.", "Answer-Critical", "Missing", "50.0"],
    ]
    assert (second["place"], second["checks"]) == ("q2", [])
    assert note["text"].startswith("2 of 2 questions")


def test_paper_does_not_tell_how_to_open_a_question():
    how = nbformat.v4.new_markdown_cell("## Questions\n\nPick a domain.")
    kinds = [block["kind"] for block in document(how, cell(explorer()))["blocks"]]
    assert kinds == ["heading", "questions", "question", "question"]


def test_long_words_of_tables_may_be_parted_and_short_ones_may_not():
    assert pdf.breakable("f" * 30) == "\u200b".join(["f" * 12, "f" * 12, "f" * 6])
    assert pdf.breakable("gemini-3.1-pro (34.2 to 35.3)") == "gemini-3.1-pro (34.2 to 35.3)"


def test_characters_without_a_glyph_are_named(monkeypatch):
    monkeypatch.setattr(theme, "_glyphs", lambda: (range(0x20, 0x2100), range(0x2200, 0x2300)))
    shown = document(cell(table(["通义", "Модель"]), figure(["モ"])))
    warning = pdf.glyph_warning(shown)
    assert re.findall(r"U\+(\w+)", warning) == ["30E2", "4E49", "901A"]
    assert pdf.glyph_warning(document(cell(table(["plain"])))) == ""


def test_a_letter_without_a_glyph_is_a_box_and_its_neighbours_stay(monkeypatch):
    monkeypatch.setattr(theme, "_glyphs", lambda: (range(0x20, 0x2700), range(0x4E00, 0xA000)))
    assert json.loads(pdf._settable({"text": 'a "b"\n🌿通义🌿'})) == {"text": 'a "b"\n□通义□'}


def test_a_name_in_arabic_does_not_turn_the_numbers_after_it():
    (said,) = document(
        cell(Text("t", "{judge} ({score:points}) and {other}", {"judge": "حكم", "score": 0.2, "other": "b"}))
    )["blocks"]
    assert "".join(span["text"] for span in said["spans"]) == "حكم\u200e (20.0) and b"


def test_without_typst_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(PartMissing, match=r"pip install 'gamut-analysis\[pdf\]'"):
        pdf.typeset(document(cell(table(["a"]))))


@pytest.fixture(scope="module")
def typst():
    return pytest.importorskip("typst", reason="the extra `pdf` is not installed")


def test_the_same_notebook_gives_the_same_pages(typst):
    cells = [nbformat.v4.new_markdown_cell("## More"), *(cell(figure(["a", "b"], f"f{n}")) for n in range(12))]
    first, second = (pdf.typeset(document(*cells)) for _ in range(2))
    assert first == second
    assert pages(first) > 2
    assert b"CreationDate" not in first and b"ModDate" not in first


def test_every_kind_of_block_is_set(typst):
    markdown = nbformat.v4.new_markdown_cell("## A\n\n### B\n\nText\n\n1. one\n\n```\ncode\n```\n\n> said")
    stream = nbformat.v4.new_code_cell(outputs=[nbformat.v4.new_output("stream", name="stdout", text="printed")])
    shown = document(markdown, stream, cell(explorer(), table(["a"]), figure(["a"])))
    assert {block["kind"] for block in shown["blocks"]} == {
        "heading",
        "paragraph",
        "item",
        "code",
        "questions",
        "question",
        "table",
        "figure",
    }
    assert pages(pdf.typeset(shown)) >= 1


def headings(typst, shown, folder):
    """The words of each heading, as typst understood them."""

    def words(body):
        return body.get("text", "") + "".join(words(child) for child in body.get("children", []))

    (folder / pdf.TEMPLATE).write_bytes((pdf.paths.PAGE / pdf.TEMPLATE).read_bytes())
    (folder / "report.json").write_text(json.dumps(pdf._drawn(shown, folder)), encoding="utf-8")
    found = json.loads(typst.query(str(folder / pdf.TEMPLATE), "heading", root=str(folder)))
    return [words(heading["body"]) for heading in found]


def test_hostile_texts_are_words_and_nothing_else(typst, tmp_path):
    said = [cell(Text(f"t{n}", "{bad}", {"bad": bad})) for n, bad in enumerate(HOSTILE)]
    shown = document(*said, cell(table(HOSTILE), figure(HOSTILE)), title=HOSTILE[0])
    paragraphs = [block for block in shown["blocks"] if block["kind"] == "paragraph"]
    assert ["".join(span["text"] for span in block["spans"]) for block in paragraphs] == HOSTILE
    shown["blocks"] += [{**block, "kind": "heading", "level": 2} for block in paragraphs]
    assert headings(typst, shown, tmp_path) == HOSTILE


def test_the_least_there_is_makes_a_page(typst):
    bare = {"text": "Real.", "simulated": False, "facts": {}, "details": {}}
    shown = pdf.document(notebook(cell(table([]))), title="", band=bare)
    assert pages(pdf.typeset(shown)) == 1


def test_a_short_table_is_not_parted_between_pages(typst):
    names = [f"m{n}" for n in range(15)]
    shown = document(*(cell(table(names, f"t{n}")) for n in range(20)))
    # About 2.5 such tables fill a page: two stand on each.
    assert pages(pdf.typeset(shown)) == 10


@pytest.mark.parametrize("place", ["text", "check"])
def test_a_text_longer_than_a_page_goes_on_on_the_next(typst, place):
    shown = document(cell(explorer()))
    long, first = "What is it? " * 3000, shown["blocks"][1]
    changed = {"text": long} if place == "text" else {"checks": [[long, "Context", "Missing", "1.0"]]}
    assert pages(pdf.typeset({**shown, "blocks": [{**first, **changed}]})) >= 4


def test_names_of_the_cases_are_set(typst, shared):
    names = json.loads((shared / "cases/51-latex-escaping/leaderboard.json").read_text(encoding="utf-8"))
    foreign = pl.read_csv(shared / "cases/37-non-latin-figures-and-pdf/leaderboard.csv")["model"].to_list()
    every = [row["model"] for row in names] + foreign
    shown = document(cell(table(every), figure(every)))
    assert pages(pdf.typeset(shown)) >= 1
    assert [row[0]["text"] for row in shown["blocks"][0]["rows"]] == every


def test_a_picture_keeps_the_sentence_that_stands_for_it(typst):
    content = pdf.typeset(document(cell(figure(["a"]))))
    streams = [zlib.decompress(part) for part in re.findall(rb"stream\n(x.*?)\nendstream", content, re.S)]
    everything = b"".join([content, *streams])
    assert b"Dots that rise." in everything or "Dots that rise.".encode("utf-16-be") in everything
