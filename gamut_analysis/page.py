"""An executed notebook as one page that needs nothing else: no network, no folder beside it, no kernel.

nbconvert walks the cells with the template ``gamut``; this module says what each of them becomes. The page carries a
content security policy that names its own scripts by their hash and allows no other, and no address at all: whatever
text the data holds, it can neither run nor call out. The same notebook gives the same bytes.
"""

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from html import escape, unescape
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import mistune
import nbformat
from nbconvert.exporters.templateexporter import TemplateExporter
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from gamut_analysis import paths
from gamut_analysis.charts.links import links_of
from gamut_analysis.charts.theme import DARK
from gamut_analysis.display import CAPTION, CHART, LAB_STYLE, NUMBERS, format_number
from gamut_analysis.errors import NotebookError
from gamut_analysis.live import COMPONENTS, LIVE

VEGALITE = "6.4"
# A figure's numbers stand under it as a table as long as a person would read them.
MOST_ROWS = 100
# How the frame begins in which JupyterLab shows a live part.
FRAME = '<iframe class="gamut-frame"'


class Heading(NamedTuple):
    """A heading of the page; the text is HTML."""

    level: int
    id: str
    text: str


class Band(NamedTuple):
    """What the strip at the head says the data is, and what the foot says about its making."""

    text: str
    simulated: bool
    facts: list[tuple[str, str]]
    details: list[tuple[str, list[str]]]


def to_html(notebook: nbformat.NotebookNode, *, title: str, band: Mapping[str, Any] | None = None) -> str:
    """One self-contained page.

    band: ``text`` (what the data is), ``simulated`` (whether it is drawn from a model), ``facts`` (label -> value:
    judge, variant, questions, coverage), ``details`` (label -> value or list of values: files, hashes, versions).

    Raises NotebookError when a cell failed, naming the cell.
    """
    _refuse_failed(notebook)
    return _render(notebook, Page(title, _band(band) if band else None))


def _render(notebook: nbformat.NotebookNode, page: "Page") -> str:
    exporter = TemplateExporter(
        template_name="gamut", extra_template_basedirs=[str(paths.PAGE)], file_extension=".html"
    )
    html, _ = exporter.from_notebook_node(notebook, resources={"page": page})
    return html


def numbers(notebook: nbformat.NotebookNode) -> dict[str, Any]:
    """Every number that the page shows, unrounded, under the name of its figure, table or text.

    Raises NotebookError when two outputs share a name.
    """
    found: dict[str, Any] = {}
    for place, output in _outputs(notebook):
        if held := output.get("data", {}).get(NUMBERS):
            if held["name"] in found:
                raise NotebookError(f"cell {place}: the name {held['name']!r} is taken by an earlier cell")
            found[held["name"]] = {key: value for key, value in held.items() if key != "name"}
    return found


def complaints(notebook: nbformat.NotebookNode) -> list[str]:
    """What cells wrote to stderr (warnings, mostly): it is for whoever runs the notebook, not for the page."""
    return [
        f"cell {place}: {output['text'].strip()}"
        for place, output in _outputs(notebook)
        if output["output_type"] == "stream" and output["name"] == "stderr"
    ]


def _outputs(notebook: nbformat.NotebookNode) -> Iterator[tuple[int, Any]]:
    """Each output with the number of its cell, counted from 1."""
    for place, cell in enumerate(notebook.cells, start=1):
        yield from ((place, output) for output in cell.get("outputs", []))


def _refuse_failed(notebook: nbformat.NotebookNode) -> None:
    for place, output in _outputs(notebook):
        if output["output_type"] == "error":
            source = notebook.cells[place - 1].source.strip().splitlines() or [""]
            raise NotebookError(f"cell {place} failed: {output['ename']}: {output['evalue']}\n  {source[0]}")


def _band(band: Mapping[str, Any]) -> Band:
    facts = [(str(label), str(value)) for label, value in band.get("facts", {}).items()]
    details = [
        (str(label), [str(value)] if not isinstance(value, (list, tuple)) else [str(one) for one in value])
        for label, value in band.get("details", {}).items()
    ]
    return Band(str(band["text"]), bool(band.get("simulated")), facts, details)


class Page:
    """What the template asks for, cell by cell; it gathers headings, and what scripts the page needs."""

    def __init__(self, title: str, band: Band | None) -> None:
        self.title = title
        self.band = band
        self.headings: list[Heading] = []
        self.has_code = False
        self.has_charts = False
        self.style = f"{chart_colours()}\n{_file('style.css')}"
        self.script = _file("page.js")
        self._has_links = False
        self._live: set[str] = set()
        self._charts = 0
        self._markdown = mistune.create_markdown(renderer=_Markdown(self), plugins=["table", "strikethrough", "math"])

    def scripts(self) -> list[str]:
        """The scripts at the end of the page: what draws charts and what works its live parts, where it has any."""
        parts = sorted(self._live | ({"links"} if self._has_links else set()))
        return [*([runtime()] if self.has_charts else []), *(_file(f"{name}.js") for name in parts)]

    def policy(self) -> str:
        """What the page may do: run its own scripts, and nothing else."""
        hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in (self.script, *self.scripts()))
        return (
            f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
            "base-uri 'none'; form-action 'none'"
        )

    def markdown(self, source: str) -> str:
        """A markdown cell."""
        return f"{self._markdown(source)}\n"

    def code(self, source: str) -> str:
        """A code cell, which the reader may unfold."""
        if not source.strip():
            return ""
        self.has_code = True
        coloured = highlight(source, PythonLexer(), _FORMATTER).rstrip()
        return f'<pre class="code" tabindex="0"><code>{coloured}</code></pre>\n'

    def output(self, output: Mapping[str, Any]) -> str:
        """An output of a cell, by the first of its forms that a page can hold."""
        if output["output_type"] == "stream":
            return _pre(output["text"]) if output["name"] == "stdout" else ""
        data = output["data"]
        if output["metadata"].get("gamut", {}).get("kind") == CAPTION:
            return ""
        if CHART in data:
            return self._figure(output)
        if LIVE in data:
            return self._live_part(data)
        if "text/html" in data:
            return _html(data)
        for mime in ("image/svg+xml", "image/png", "image/jpeg"):
            if mime in data:
                return _picture(mime, _text(data[mime]))
        return _pre(_text(data.get("text/plain", "")))

    def _live_part(self, data: Mapping[str, Any]) -> str:
        """A part that a script works: its data, and the HTML that stands there until the script takes over."""
        component, name = data[LIVE]["component"], data[LIVE]["name"]
        if component not in COMPONENTS:
            raise NotebookError(f"{component!r}: a page has no such part; it has {', '.join(COMPONENTS)}")
        self._live.add(component)
        return (
            f'<div class="gamut-live" id="{component}-{escape(name)}" data-component="{component}">\n{_html(data)}'
            f'<script type="application/json">{to_script(data[LIVE]["data"])}</script>\n</div>\n'
        )

    def heading(self, level: int, text: str) -> str:
        """A heading with an address of its own."""
        words = re.sub(r"[^\w]+", "-", unescape(re.sub(r"<[^>]+>", "", text)).lower()).strip("-") or "section"
        taken = {heading.id for heading in self.headings}
        ids = (words, *(f"{words}-{number}" for number in range(2, len(taken) + 3)))
        address = next(one for one in ids if one not in taken)
        self.headings.append(Heading(level, address, text))
        return f'<h{level} id="{escape(address)}">{text}</h{level}>\n'

    def sections(self, cells: str) -> str:
        """The rendered cells as a head and one section for each heading of level 2."""
        head, *parts = re.split(r"(?=^<h2 id=)", cells, flags=re.MULTILINE)
        if not any(heading.level == 1 for heading in self.headings):
            head = f"<h1>{escape(self.title)}</h1>\n{head}"
        sections = (f"<section>\n{part}</section>\n" for part in parts)
        return f'<header class="head">\n{head}</header>\n{"".join(sections)}'

    def _figure(self, output: Mapping[str, Any]) -> str:
        """A chart: title, picture with the sentence that stands for it, caption, numbers."""
        self.has_charts = True
        self._charts += 1
        about = output["metadata"].get("gamut", {})
        name = about.get("name", f"chart-{self._charts}")
        title, subtitle, spec = _lift_title(output["data"][CHART])
        self._has_links = self._has_links or bool(links_of(spec))
        alt = about.get("alt") or title or "Chart"
        rows = output["data"].get(NUMBERS, {}).get("rows", [])
        return (
            f'<figure class="gamut-figure" id="figure-{escape(name)}" data-component="chart">\n'
            + (f'<p class="figure-title">{escape(title)}</p>\n' if title else "")
            + (f'<p class="figure-subtitle">{escape(subtitle)}</p>\n' if subtitle else "")
            + f'<div class="chart" role="img" aria-label="{escape(alt)}"><p>{escape(alt)}</p></div>\n'
            + f'<script type="application/json">{to_script(spec)}</script>\n'
            + (f"<figcaption>{escape(about['caption'])}</figcaption>\n" if about.get("caption") else "")
            + _numbers_table(rows)
            + "</figure>\n"
        )


class _Markdown(mistune.HTMLRenderer):
    """Markdown of the notebook's author: raw HTML is allowed, pictures from elsewhere are not."""

    def __init__(self, page: Page) -> None:
        super().__init__(escape=False)
        self._page = page

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        return self._page.heading(level, text)

    def link(self, text: str, url: str, title: str | None = None) -> str:
        """A link; one to another notebook goes to its page."""
        return super().link(text, re.sub(r"\.ipynb(?=$|#)", ".html", url), title)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        if not url.startswith("data:"):
            raise NotebookError(f"picture {url!r}: a page holds its pictures, it does not load them")
        return super().image(text, url, title)

    def block_math(self, text: str) -> str:
        return f'<div class="math">{_mathml(text, "block")}</div>\n'

    def inline_math(self, text: str) -> str:
        return _mathml(text, "inline")


_FORMATTER = HtmlFormatter(nowrap=True, classprefix="c-")


def _mathml(formula: str, display: str) -> str:
    """A TeX formula as the browser itself can set it."""
    from latex2mathml.converter import convert

    return convert(formula, display=display)


def to_script(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _lift_title(spec: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """The title and subtitle of a chart, and the chart without them: as text they wrap and can be read aloud."""
    held = spec.get("title")
    parts = held if isinstance(held, Mapping) else {"text": held}
    title, subtitle = (_joined(parts.get(part)) for part in ("text", "subtitle"))
    if title is None:
        return "", "", dict(spec)
    return title, subtitle or "", {key: value for key, value in spec.items() if key != "title"}


def _joined(text: Any) -> str | None:
    """A title in one line; None for what is not a plain text."""
    if isinstance(text, list):
        return " ".join(map(str, text))
    return text if isinstance(text, str) else None


def _numbers_table(rows: list[dict[str, Any]]) -> str:
    """The numbers of a figure, folded away: for readers who cannot see it, or want to check it."""
    if not rows or len(rows) > MOST_ROWS:
        return ""
    keys = list(rows[0])
    numeric = [key for key in keys if any(isinstance(row.get(key), float) for row in rows)]
    head = "".join(f'<th scope="col"{_right(key, numeric)}>{escape(key.replace("_", " "))}</th>' for key in keys)
    body = "\n".join(
        "<tr>" + "".join(f"<td{_right(key, numeric)}>{escape(_short(row.get(key)))}</td>" for key in keys) + "</tr>"
        for row in rows
    )
    return (
        '<details class="numbers"><summary>The numbers</summary><div class="gamut-block"><table class="gamut-table">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div></details>\n"
    )


def _right(key: str, numeric: list[str]) -> str:
    return ' class="number"' if key in numeric else ""


def _short(value: Any) -> str:
    """A raw number to four digits; anything else as it is."""
    if isinstance(value, float):
        return format_number(value, 4)
    return "–" if value is None else str(value)


def _picture(mime: str, content: str) -> str:
    """A picture as data; an SVG too, because as an image it cannot run anything."""
    if mime == "image/svg+xml":
        content = base64.b64encode(content.encode()).decode()
    return f'<p><img src="data:{mime};base64,{"".join(content.split())}" alt=""></p>\n'


def _pre(text: str) -> str:
    return f'<pre class="output">{escape(text.rstrip())}</pre>\n' if text.strip() else ""


def _html(data: Mapping[str, Any]) -> str:
    """The HTML of an output without what JupyterLab needs: a style, and a frame around a live part."""
    framed = _text(data["text/html"])
    shown = framed.partition(">")[2].removesuffix("</iframe>") if framed.startswith(FRAME) else framed
    return f"{shown.removeprefix(LAB_STYLE)}\n"


def _text(value: str | list[str]) -> str:
    """A text that nbformat may hold as lines."""
    return value if isinstance(value, str) else "".join(value)


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _file(name: str) -> str:
    return (paths.PAGE / name).read_text(encoding="utf-8")


def chart_colours() -> str:
    """The colours of charts as variables: the light one everywhere, the dark one on a dark screen."""
    light, dark = (
        " ".join(f"--c-{key[1:].lower()}: {value};" for key, value in pairs)
        for pairs in (((key, key) for key in DARK), DARK.items())
    )
    return f":root {{ {light} }}\n@media screen {{ :root[data-theme=dark] {{ {dark} }} }}"


@cache
def runtime() -> str:
    """Vega, Vega-Lite and vega-embed in one script, kept beside the databases because bundling takes seconds."""
    import vl_convert

    kept = paths.warehouse() / f"charts-{version('vl-convert-python')}-{VEGALITE}.js"
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGALITE)
    # The one text that would end the script element.
    script = script.replace("</script", "<\\/script")
    _keep(kept, script)
    return script


def _keep(path: Path, text: str) -> None:
    """Write a file whole or not at all; a folder that cannot be written only costs the next run its time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError:
        return
