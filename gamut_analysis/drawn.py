"""A chart as a file: SVG, PNG or PDF, as large as its medium asks, the same bytes whenever the chart is the same.

vl-convert draws with the fonts that it carries and with those of the system. It numbers the gradients and clippings of
all charts of a process in one row, and lists the fonts of a PDF in no order; both are set right here.
"""

import copy
import itertools
import re
import unicodedata
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any
from xml.etree import ElementTree

from gamut_analysis.charts import theme
from gamut_analysis.page import VEGALITE

Spec = Mapping[str, Any]

# The least share of a narrow figure that is left to what it draws, beside its labels.
_LEAST_PLOT = 0.5
_BOLD = 1.07  # how much wider the letters are
_PADDING = 4
_REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
_NAMED = re.compile(rb"(?: +/[a-z]+\d+ \d+ 0 R\n){2,}")
_WIDTHS = (
    ("ijl'", 0.222),
    (" ftI.,:;/![]|·", 0.278),
    ("r-()`", 0.333),
    ("cksvxyzJ", 0.5),
    ("+<>=~−", 0.584),
    ("FTZ", 0.611),
    ("ABEKPSVXY&", 0.667),
    ("CDHNRUw", 0.722),
    ("GOQ", 0.778),
    ("mM", 0.833),
    ("%", 0.889),
    ("W…", 0.944),
)
# A text that seems to reach beyond its picture by less than this does not: letters are kerned.
_SLACK = 1
# What XML cannot hold: to measure such a letter ends vl-convert, and the process with it.
_UNDRAWABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_CLIP = re.compile(r'(?<=id=")[a-z]+_?\d+(?=")|(?<=url\(#)[a-z]+_?\d+(?=\))')


def sized(spec: Spec, profile: theme.Profile) -> dict[str, Any]:
    """The chart as the medium shows it: one column wide where that suits it, its titles in lines that fit."""
    whole = _titled(spec, profile.width)
    if profile.column is None or (spec.get("autosize") or {}).get("type") != "fit-x" or "width" in spec:
        return whole
    narrow = _titled(spec, profile.column) | {"width": profile.column}
    narrow["config"] = {
        **narrow.get("config", {}),
        "legend": {**narrow.get("config", {}).get("legend", {}), "columns": 2},
    }
    return narrow if _suits(narrow) else whole


def svg(spec: Spec, scale: float = 1) -> str:
    """The chart as SVG; a pixel of its width and height is 1/96 inch."""
    import vl_convert

    drawn = vl_convert.vegalite_to_svg(_drawable(spec), vl_version=VEGALITE)
    return _scaled(re.sub("<[^>]*>", _Renumbering(drawn), drawn), scale)


def _drawable(spec: Any) -> Any:
    """The chart with a mark in the place of each letter that no picture can hold."""
    if isinstance(spec, str):
        return _UNDRAWABLE.sub("\N{REPLACEMENT CHARACTER}", spec)
    if isinstance(spec, Mapping):
        return {_drawable(key): _drawable(value) for key, value in spec.items()}
    return [_drawable(value) for value in spec] if isinstance(spec, list) else spec


def png(picture: str) -> bytes:
    """An SVG picture as PNG, with the dots that print needs."""
    import vl_convert

    return vl_convert.svg_to_png(picture, scale=theme.PNG_SCALE)


def pdf(picture: str) -> bytes:
    """An SVG picture as a PDF of the same size."""
    import vl_convert

    return _ordered(vl_convert.svg_to_pdf(_scaled(picture, theme.POINT)))


def size(picture: str) -> tuple[float, float]:
    """The width and height of an SVG picture, in pixels."""
    root = ElementTree.fromstring(picture)
    return float(root.get("width", 0)), float(root.get("height", 0))


def shown(picture: str) -> str:
    """All that is written in an SVG picture."""
    return unescape("".join(re.findall(r"<(?:text|tspan)[^>]*>([^<]+)", picture)))


# Titles ----------------------------------------------------------------------------------------------------------


def _titled(spec: Spec, width: int) -> dict[str, Any]:
    """The chart with its title and subtitle broken into lines of that width."""
    title = copy.deepcopy(spec.get("title"))
    if not title:
        return dict(spec)
    parts = dict(title) if isinstance(title, Mapping) else {"text": title}
    sizes = spec.get("config", {}).get("title", {})
    for part, named, wider in (("text", "fontSize", _BOLD), ("subtitle", "subtitleFontSize", 1)):
        if isinstance(parts.get(part), str):
            parts[part] = lines(parts[part], (width - 2 * _PADDING) / (wider * sizes.get(named, 12)))
    return {**spec, "title": parts}


def lines(text: str, width: float) -> list[str]:
    """A text in the fewest lines of so many font sizes, about as long as each other, where its words allow."""
    filled = _filled(text, width)
    narrower = (_filled(text, width * part / 20) for part in range(10, 20))
    return next((shorter for shorter in narrower if len(shorter) == len(filled)), filled)


def _filled(text: str, width: float) -> list[str]:
    """Lines filled one after the other; a per cent sign stays with its number."""
    broken: list[str] = []
    for word in re.split(" (?!%)", text):
        if broken and _span(f"{broken[-1]} {word}") <= width:
            broken[-1] += f" {word}"
        else:
            broken.append(word)
    return broken


# Sizes -----------------------------------------------------------------------------------------------------------


def _suits(spec: Spec) -> bool:
    """Whether a chart keeps to its width, cuts no word, and leaves enough of its width to what it draws."""
    picture = svg(spec)
    plot = re.search(r'd="M0\.?5?,0\.?5?h([\d.]+)', picture)
    roomy = plot is None or float(plot[1]) >= _LEAST_PLOT * spec["width"]
    return roomy and size(picture)[0] <= spec["width"] + 1 and not cut(picture)


def cut(picture: str) -> list[str]:
    """The level texts of an SVG picture that reach beyond its sides, by the widths of Helvetica's letters."""
    root = ElementTree.fromstring(picture)
    width = float(root.get("viewBox", "0 0 0 0").split()[2])
    return [text for text, left, right in _extents(root, 0) if left < -_SLACK or right > width + _SLACK]


def _extents(element: ElementTree.Element, x: float) -> Iterator[tuple[str, float, float]]:
    """Every level text with its left and right end; ``x`` is where the element's own system begins."""
    transform = element.get("transform", "")
    if "rotate" in transform and "rotate(0)" not in transform:
        return
    moved = re.match(r"translate\(([-\d.e]+)", transform)
    x += float(moved[1]) if moved else 0
    if element.tag.endswith("}text"):
        bold = _BOLD if element.get("font-weight") == "bold" else 1
        for line in list(element.iter())[1:] or [element]:
            if line.text and line.tag.rsplit("}")[-1] in ("text", "tspan"):
                span = bold * float(element.get("font-size", "12px").removesuffix("px")) * _span(line.text)
                left = x - {"end": span, "middle": span / 2}.get(element.get("text-anchor", ""), 0)
                yield line.text, left, left + span
    else:
        for child in element:
            yield from _extents(child, x)


def _span(text: str) -> float:
    """How wide a text is, in font sizes."""
    return sum(map(_ems, text))


def _ems(letter: str) -> float:
    """How wide a letter of Helvetica is, in font sizes; about so for letters that are not in its Latin."""
    if unicodedata.east_asian_width(letter) in "WF":
        return 1
    return next((width for letters, width in _WIDTHS if letter in letters), 0.56)


def _scaled(drawn: str, scale: float) -> str:
    """The picture enlarged as a whole; its view box stays."""
    if scale == 1:
        return drawn
    head, rest = drawn.split(">", 1)
    sizes = re.sub(r'(?<= )(width|height)="([\d.]+)"', lambda at: f'{at[1]}="{float(at[2]) * scale:g}"', head)
    return f"{sizes}>{rest}"


# The same bytes --------------------------------------------------------------------------------------------------


class _Renumbering:
    """Names of gradients and clippings, counted from 1 in each picture."""

    def __init__(self, drawn: str) -> None:
        names = (name for tag in re.findall("<[^>]*>", drawn) for name in _CLIP.findall(tag))
        self._numbers = {name: str(number) for number, name in enumerate(dict.fromkeys(names), 1)}

    def __call__(self, tag: re.Match[str]) -> str:
        return _CLIP.sub(lambda name: f"part{self._numbers[name[0]]}", tag[0])


def _ordered(document: bytes) -> bytes:
    """A PDF whose objects are numbered as they are reached from its root, fonts in the order of their names."""
    objects, trailer = _objects(document)
    numbers = _reached(objects, trailer)
    body, places = bytearray(document[: document.index(b"\n\n") + 2]), []
    for number, new in numbers.items():
        places.append(len(body))
        body += b"%d 0 obj%b" % (new, _renumbered(objects[number], numbers))
    entries = b"".join(b"%010d 00000 n\r\n" % place for place in places)
    body += b"xref\n0 %d\n0000000000 65535 f\r\n%btrailer" % (len(places) + 1, entries)
    return bytes(body) + _renumbered(trailer, numbers) + b"startxref\n%d\n%%%%EOF" % body.rindex(b"xref\n0 ")


def _objects(document: bytes) -> tuple[dict[int, bytes], bytes]:
    """The objects of a PDF by number, each from its ``obj`` to the next one, and the dictionary at its end."""
    start = int(document.rsplit(b"startxref", 1)[1].split()[0])
    table, trailer = document[start:].split(b"startxref", 1)[0].split(b"trailer", 1)
    places = sorted(int(entry.split()[0]) for entry in table.splitlines()[3:] if entry.strip())
    objects = {}
    for place, following in itertools.pairwise([*places, start]):
        number, content = document[place:following].split(b" 0 obj", 1)
        objects[int(number)] = _in_order(content)
    return objects, trailer


def _in_order(content: bytes) -> bytes:
    """An object whose lists of named parts are sorted."""
    head, *stream = content.split(b"stream", 1)
    head = _NAMED.sub(lambda found: b"".join(sorted(found[0].splitlines(keepends=True))), head)
    return b"stream".join([head, *stream])


def _reached(objects: Mapping[int, bytes], trailer: bytes) -> dict[int, int]:
    """The new number of each object that the document uses, by its old one."""
    numbers: dict[int, int] = {}
    waiting = _references(trailer)
    while waiting:
        number = waiting.pop(0)
        if number not in numbers:
            numbers[number] = len(numbers) + 1
            waiting = _references(objects[number]) + waiting
    return numbers


def _references(content: bytes) -> list[int]:
    """The objects that one refers to."""
    return [int(number) for number in _REFERENCE.findall(content.split(b"stream", 1)[0])]


def _renumbered(content: bytes, numbers: Mapping[int, int]) -> bytes:
    """An object with its references under their new numbers; what a stream holds stays."""
    head, *stream = content.split(b"stream", 1)
    head = _REFERENCE.sub(lambda found: b"%d 0 R" % numbers[int(found[1])], head)
    return b"stream".join([re.sub(rb"(?<=/Size )\d+", b"%d" % (len(numbers) + 1), head), *stream])
