"""An executed notebook as a report on A4, set by typst from the same outputs as the page.

The document is data: a list of blocks (headings, paragraphs, figures, tables) that a fixed template,
``template/report.typ``, reads as JSON. No text of the data or of a notebook ever becomes part of the template, so
nothing in it can be markup or code. The same notebook gives the same bytes.
"""

import json
import re
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import mistune
import nbformat

from gamut_analysis import drawn, paths
from gamut_analysis.charts import theme
from gamut_analysis.display import CAPTION, CHART, NUMBERS, Column, Table, format_count, format_points
from gamut_analysis.errors import PartMissing
from gamut_analysis.live import LIVE

TEMPLATE = "report.typ"
# A longer table is shortened: paper cannot be sorted or searched.
MOST_ROWS = 40
# The costliest questions that are shown, and the costliest checks of each.
QUESTIONS, CHECKS = 5, 6
# A4 with its margins, in pixels of a figure that is as wide as the text.
_PAGE = (theme.WIDTH, round(theme.WIDTH * 232 / 166))
# How much of the text's width a figure takes: letters stay above 7 pt, and two figures of usual height share a page.
_WIDEST = 0.9
_ELSEWHERE = "This part is worked by hand in the HTML page and does not stand on paper."

Block = dict[str, Any]


def document(notebook: nbformat.NotebookNode, *, title: str, band: Mapping[str, Any]) -> dict[str, Any]:
    """All that the template prints, as data, with the figures drawn.

    band: as for ``page.to_html``: text, simulated, facts, details.
    """
    blocks = [block for cell in notebook.cells for block in _cell(cell)]
    details = {label: value if isinstance(value, list) else [value] for label, value in band["details"].items()}
    return {
        "title": title,
        "band": {
            "text": band["text"],
            "simulated": bool(band["simulated"]),
            "facts": [[label, str(value)] for label, value in band["facts"].items()],
            "details": [[label, [breakable(str(line)) for line in lines]] for label, lines in details.items()],
        },
        "blocks": list(_led(blocks)),
    }


def typeset(document: Mapping[str, Any]) -> bytes:
    """The document as PDF. Raises PartMissing where typst is not installed."""
    try:
        import typst
    except ImportError:
        raise PartMissing(
            "a PDF is set by typst, which is not installed: pip install 'gamut-analysis[pdf]', or pip install typst"
        ) from None
    with tempfile.TemporaryDirectory(prefix="gamut-pdf-") as folder:
        root = Path(folder)
        (root / TEMPLATE).write_bytes((paths.PAGE / TEMPLATE).read_bytes())
        (root / "report.json").write_text(_settable(_drawn(document, root)), encoding="utf-8")
        return typst.compile(str(root / TEMPLATE), root=folder, format="pdf")


def _settable(document: Mapping[str, Any]) -> str:
    """The document as JSON, a box in the place of each letter without a glyph: one would take its neighbours along."""
    written = json.dumps(document, ensure_ascii=False)
    return written.translate(dict.fromkeys(map(ord, theme.without_glyph(written)), "\N{WHITE SQUARE}"))


def glyph_warning(document: Mapping[str, Any]) -> str:
    """One sentence that names the characters of the document that no installed font has, if there are any."""
    return theme.glyph_warning(json.dumps(document, ensure_ascii=False))


def _drawn(document: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """The document with its pictures written to files, which it then names."""
    blocks = []
    for place, block in enumerate(document["blocks"]):
        shown = dict(block)
        if picture := shown.pop("picture", None):
            shown["file"] = f"figure-{place}.pdf"
            (root / shown["file"]).write_bytes(drawn.pdf(picture))
        blocks.append(shown)
    return {**document, "blocks": blocks}


# Cells -----------------------------------------------------------------------------------------------------------


def _cell(cell: nbformat.NotebookNode) -> Iterator[Block]:
    if cell.cell_type == "markdown":
        yield from _from_html(str(_MARKDOWN(cell.source)))
    for output in cell.get("outputs", []):
        yield from _output(output)


def _led(blocks: list[Block]) -> Iterator[Block]:
    """The blocks, each paragraph that leads to a figure or table marked: it stays on the page of what follows.

    A paragraph before questions tells how to open them, which paper cannot: it is left out.
    """
    for block, following in zip(blocks, [*(block["kind"] for block in blocks[1:]), ""], strict=True):
        if block["kind"] != "paragraph" or following not in ("figure", "table", "questions"):
            yield block
        elif following != "questions":
            yield {**block, "leads": True}


def _output(output: Mapping[str, Any]) -> Iterator[Block]:
    """An output of a cell, by the first of its forms that paper can hold."""
    data, about = output.get("data", {}), output.get("metadata", {}).get("gamut", {})
    if about.get("kind") == CAPTION:
        return
    if CHART in data:
        yield _figure(data[CHART], about)
    elif LIVE in data and data[LIVE]["component"] == "explorer":
        yield from _questions(data[LIVE]["data"])
    elif "columns" in about and NUMBERS in data:
        yield _table(Table.from_output(output))
    elif LIVE in data:
        yield {"kind": "note", "text": _ELSEWHERE}
    elif "text/html" in data:
        yield from _from_html(data["text/html"])
    elif output["output_type"] == "stream" and output["name"] == "stdout":
        yield {"kind": "code", "text": output["text"].rstrip()}


def _figure(spec: Mapping[str, Any], about: Mapping[str, Any]) -> Block:
    """A chart, nearly as wide as the text unless it would be higher than a page."""
    picture = drawn.svg(drawn.sized(spec, theme.PROFILES["screen"]))
    width, height = drawn.size(picture)
    share = min(_WIDEST, max(width, theme.COLUMN) / _PAGE[0], _PAGE[1] / height * width / _PAGE[0])
    return {
        "kind": "figure",
        "picture": picture,
        "share": round(share, 4),
        "caption": about.get("caption", ""),
        "alt": about.get("alt", ""),
    }


def _table(table: Table) -> Block:
    columns = list(table.specs.values())
    rows = [[{"text": breakable(cell.text), "sub": cell.sub} for cell in cells] for cells in table.cells()]
    shortened = len(rows) > MOST_ROWS
    more = (
        f"The first {MOST_ROWS} of {format_count(len(rows))} rows; the HTML page has all of them." if shortened else ""
    )
    return {
        "kind": "table",
        "columns": [_head(column) for column in columns],
        "rows": rows[:MOST_ROWS],
        "caption": table.caption,
        "notes": [note for note in (more, *table.notes()) if note],
    }


def _head(column: Column) -> dict[str, Any]:
    return {"label": column.label, "unit": column.head_unit, "numeric": column.numeric}


def _questions(data: Mapping[str, Any]) -> Iterator[Block]:
    """The costliest questions of an explorer, each with the checks that cost most."""
    questions, total = data["questions"], len(data["questions"]["id"])
    shown = min(QUESTIONS, data["kept"]["texts"])
    yield {
        "kind": "questions",
        "text": f"{shown} of {format_count(total)} questions, the costliest first, and of each the checks that cost "
        "most. The HTML page opens every question with all of its checks, each judge's verdict and reason, and the "
        "answer if it was kept.",
    }
    for number in range(shown):
        score = questions["score"][number]
        domain = data["domains"][questions["domain"][number]] if questions["domain"][number] >= 0 else ""
        yield {
            "kind": "question",
            "score": "" if score is None else format_points(score),
            "text": questions["text"][number] or questions["id"][number],
            "place": " · ".join(filter(None, (domain, questions["id"][number]))),
            "judge": data["judges"][0] if data["judges"] else "",
            "checks": _costliest(data, number),
        }


def _costliest(data: Mapping[str, Any], number: int) -> list[list[str]]:
    """The text, tier, verdict and cost of the checks of a question that cost most."""
    checks, book = data["checks"], data["book"]
    start = sum(checks["size"][:number])
    places = range(start, start + checks["size"][number])
    costs = {place: book[checks["cost"][place]] or 0 for place in places}
    ordered = sorted((place for place in places if costs[place] > 0), key=lambda place: -costs[place])
    return [
        [
            book[checks["text"][place]] or "",
            data["tiers"][checks["tier"][place]] if checks["tier"][place] >= 0 else "",
            data["verdicts"][int(mark)] if (mark := data["said"][0][place]).isdigit() else "",
            format_points(costs[place]),
        ]
        for place in ordered[:CHECKS]
    ]


def breakable(text: str) -> str:
    """A text whose longest words may be parted, so that a hash or an address stays in its column."""
    return re.sub(r"\S{25,}", lambda word: "\u200b".join(re.findall(r".{1,12}", word[0])), text)


# Words with their markup -----------------------------------------------------------------------------------------

_MARKDOWN = mistune.create_markdown(escape=True, plugins=["table", "strikethrough"])
_BLOCKS = {"p", "li", "pre", "blockquote", "td", "th", *(f"h{level}" for level in range(1, 7))}
_STYLES = {"strong": "bold", "b": "bold", "em": "italic", "i": "italic", "code": "code", "pre": "code"}


def _from_html(html: str) -> list[Block]:
    """The paragraphs, headings and lists of a piece of HTML of ours; what else there is stays as its text."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader.end_block()
    return reader.blocks


class _Reader(HTMLParser):
    """Gathers blocks of spans: each span is a text with its styles and, perhaps, its address."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[Block] = []
        self._spans: list[dict[str, Any]] = []
        self._open: list[tuple[str, str]] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("style", "script"):
            self._silent += 1
        elif tag in _BLOCKS:
            self.end_block()
        elif tag == "br":
            self._spans.append({"text": "\n"})
            return
        self._open.append((tag, dict(attrs).get("href") or ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("style", "script"):
            self._silent -= 1
        elif tag in _BLOCKS:
            self.end_block()
        for place in reversed(range(len(self._open))):
            if self._open[place][0] == tag:
                del self._open[place:]
                return

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        code = any(tag == "pre" for tag, _ in self._open)
        span: dict[str, Any] = {"text": _closed(data if code else re.sub(r"[ \t\r\n]+", " ", data))}
        for tag, address in self._open:
            if tag in _STYLES:
                span[_STYLES[tag]] = True
            if address.startswith(("https://", "http://")):
                span["link"] = address
        self._spans.append(span)

    def end_block(self) -> None:
        """What was gathered becomes a block of the innermost kind that is open."""
        spans, self._spans = _trimmed(self._spans), []
        if not spans:
            return
        tags = [tag for tag, _ in self._open]
        heading = next((tag for tag in tags if re.fullmatch("h[1-6]", tag)), None)
        if heading:
            self.blocks.append({"kind": "heading", "level": int(heading[1]), "spans": spans})
        elif "pre" in tags:
            self.blocks.append({"kind": "code", "text": "".join(span["text"] for span in spans)})
        elif "li" in tags:
            self.blocks.append({"kind": "item", "spans": spans, "depth": tags.count("li")})
        else:
            self.blocks.append({"kind": "paragraph", "spans": spans})


def _closed(text: str) -> str:
    """A text that keeps its direction to itself: a number after a name in Arabic stays where the sentence has it."""
    leftward = any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in text)
    return f"{text}\N{LEFT-TO-RIGHT MARK}" if leftward else text


def _trimmed(spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The spans without the white at their ends."""
    while spans and not spans[0]["text"].strip():
        spans = spans[1:]
    while spans and not spans[-1]["text"].strip():
        spans = spans[:-1]
    return spans
