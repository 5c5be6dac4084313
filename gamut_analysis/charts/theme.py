"""How every figure looks: sizes, fonts and colours, registered once as the Altair theme ``gamut``.

A pixel is 1/96 inch, so a chart that is ``WIDTH`` pixels wide fills two columns of the paper, and 12 pixels are 9 pt.
Figures are drawn on opaque white with dark ink. The page replaces each colour of ``DARK`` by a variable of its style
sheet, so the same chart follows the reader's light or dark setting and turns light again on paper.
"""

import shutil
import subprocess
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import altair as alt

from gamut_analysis.display import CHART
from gamut_analysis.errors import UnknownName
from gamut_analysis.vocabulary import TIER_COLOURS, VERDICT_COLOURS

INCH = 96
POINT = 72 / INCH
COLUMN = round(3.3 * INCH)
WIDTH = round(6.9 * INCH)
SLIDE = 10 * INCH
PNG_SCALE = 300 / INCH

NAME_LETTERS = 34

PAPER = "#ffffff"
INK = "#1c1f23"
MUTED = "#5a6169"
RULE = "#e3e6e9"
FIELD = "#8b929a"
FIELD_SOFT = "#c3c8cd"
FOCUS = "#8c2f6c"
RIVAL = "#a87100"

# Judges are told apart by shape as well as by hue; variants by a filled and an open mark.
JUDGE_COLOURS = ("#00785a", "#b87a00", "#5b5ea6", "#b5517f", "#3d4a54")
JUDGE_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
DIVERGING = (VERDICT_COLOURS["contradicts"], "#f2f0ec", VERDICT_COLOURS["meets"])
SEQUENTIAL = ("#eaf0f4", TIER_COLOURS["answer_critical"])

# Helvetica's measures on every system (Arial, Liberation Sans), then whatever has the other scripts.
FONT = (
    "'Helvetica Neue', Arial, 'Liberation Sans', 'Noto Sans', 'DejaVu Sans', 'Noto Sans CJK SC', 'Noto Sans CJK JP', "
    "'Noto Sans CJK KR', 'Noto Sans Arabic', 'PingFang SC', 'Hiragino Sans', 'Microsoft YaHei', sans-serif"
)

# The last letter that every font has.
LATIN = "\u017f"

# Light colour -> the colour that has its part on a dark page. Tiers keep their order: the strongest stands out most.
DARK: Mapping[str, str] = MappingProxyType(
    {
        PAPER: "#15181b",
        INK: "#e7e9eb",
        MUTED: "#a3abb3",
        RULE: "#30363c",
        FIELD: "#8b929a",
        FIELD_SOFT: "#4d545b",
        FOCUS: "#e58cc4",
        RIVAL: "#dfa63a",
        VERDICT_COLOURS["meets"]: "#3d9bd6",
        VERDICT_COLOURS["partially_meets"]: "#9ad2f4",
        VERDICT_COLOURS["missing"]: "#6d757d",
        VERDICT_COLOURS["contradicts"]: "#f07f35",
        TIER_COLOURS["answer_critical"]: "#bfdcf0",
        TIER_COLOURS["valuable"]: "#6da5cc",
        TIER_COLOURS["context"]: "#3b617c",
        DIVERGING[1]: "#2a2e32",
        SEQUENTIAL[0]: "#222b32",
        JUDGE_COLOURS[0]: "#3fb894",
        JUDGE_COLOURS[1]: "#dba23c",
        JUDGE_COLOURS[2]: "#979be0",
        JUDGE_COLOURS[3]: "#e58fb4",
        JUDGE_COLOURS[4]: "#b9c2ca",
    }
)


@dataclass(frozen=True)
class Profile:
    """The sizes of one medium, in pixels; ``scale`` enlarges what is drawn as a whole, ``column`` is half a page."""

    width: int
    text: float
    title: float
    scale: float = 1
    column: int | None = None

    @property
    def row(self) -> int:
        """The height of a row: room for a name on two lines."""
        return round(self.text * 2.5)


# The theme's text is 7.9 pt in print, and 13 pt on a slide of 10 inches, which is the screen's figure enlarged; the
# smallest numbers of a figure, in the cells of a grid, are 7.5 and 10.9 pt.
PROFILES = {
    "paper": Profile(WIDTH, 10.5, 12, column=COLUMN),
    "screen": Profile(WIDTH, 12, 14),
    "slides": Profile(WIDTH, 12, 14, scale=SLIDE / WIDTH),
}

_current = [PROFILES["screen"]]


def wrapped(letters: int = NAME_LETTERS) -> str:
    """A label expression that breaks long names after a mark of punctuation: full names, never cut ones."""
    pattern = f"(?=.{{{letters + 1}}})(.{{1,{letters - 1}}}(?:[-_/: ]|\\\\.(?!\\\\d))|.{{{letters}}})"
    return f"split(replace(datum.label, regexp('{pattern}', 'g'), '$1\\n'), '\\n')"


def fitted(chart: Any, width: int | None = None, height: int | None = None) -> Any:
    """A single or layered chart that is so wide with its labels; by default as wide as the profile says."""
    sizes = {name: size for name, size in (("width", width), ("height", height)) if size is not None}
    return chart.properties(autosize=alt.AutoSizeParams(type="fit-x", contains="padding"), **sizes)


def panel_width(panels: int, *, labels: int = 0, width: int = WIDTH, gap: int = 20) -> int:
    """The width of each of some panels side by side that share their row labels, which take ``labels`` pixels."""
    return (width - labels - gap * (panels - 1)) // panels


def config(profile: Profile) -> dict[str, Any]:
    """The Vega-Lite configuration of a profile."""
    text, title = profile.text, profile.title
    axis = {
        "domain": False,
        "ticks": False,
        "grid": False,
        "labelColor": MUTED,
        "labelFontSize": text,
        "labelLimit": 0,
        "labelPadding": 6,
        "titleColor": MUTED,
        "titleFontSize": text,
        "titleFontWeight": "normal",
        "titleLimit": 0,
        "titlePadding": 10,
        "gridColor": RULE,
    }
    # Vega sets the first line of a label at the tick: lines move up until their middle is there.
    lift = {"test": "true", "expr": f"{-0.6 * text} * (length({wrapped()}) - 1)"}
    names = {
        "labelColor": INK,
        "labelExpr": wrapped(),
        "labelLineHeight": 1.2 * text,
        "labelOffset": {"condition": lift, "value": 0},
    }
    return {
        "background": PAPER,
        "font": FONT,
        "padding": 4,
        "view": {"stroke": None, "continuousWidth": profile.width, "continuousHeight": 280, "step": profile.row},
        "title": {
            "anchor": "start",
            "frame": "bounds",
            "color": INK,
            "fontSize": title,
            "fontWeight": "bold",
            "limit": 0,
            "offset": 12,
            "subtitleColor": MUTED,
            "subtitleFontSize": text,
            "subtitlePadding": 4,
        },
        "axis": axis,
        "axisQuantitative": {"grid": True, "labelFlush": False, "tickCount": 6},
        "axisTemporal": {"grid": True},
        "axisXQuantitative": {"titleAnchor": "start"},
        "axisY": {
            "titleAngle": 0,
            "titleAlign": "left",
            "titleAnchor": "end",
            "titleY": -12,
            "titleBaseline": "bottom",
        },
        "axisXBand": {"labelAngle": 0, "labelExpr": wrapped(14), "labelLineHeight": 1.2 * text},
        "axisXPoint": {"labelAngle": 0, "labelExpr": wrapped(14), "labelLineHeight": 1.2 * text},
        "axisYBand": names,
        "axisYPoint": names,
        "header": {
            "labelAnchor": "start",
            "labelColor": INK,
            "labelFontSize": text,
            "labelFontWeight": "bold",
            "labelLimit": 0,
            "title": None,
        },
        "legend": {
            "orient": "top",
            "direction": "horizontal",
            "labelColor": INK,
            "labelFontSize": text,
            "labelLimit": 0,
            "symbolLimit": 0,
            "title": None,
            "titleColor": MUTED,
            "titleFontSize": text,
            "titleFontWeight": "normal",
            "offset": 8,
            "padding": 0,
        },
        "mark": {"color": FIELD},
        "point": {"filled": True, "size": 64, "opacity": 1},
        "circle": {"size": 64, "opacity": 1},
        "rule": {"color": FIELD, "strokeWidth": 1.5},
        "line": {"strokeWidth": 1.5},
        "bar": {"cornerRadius": 0},
        "text": {"color": INK, "fontSize": text, "font": FONT},
        "range": {
            "category": list(JUDGE_COLOURS),
            "ordinal": list(SEQUENTIAL),
            "ramp": list(SEQUENTIAL),
            "heatmap": list(SEQUENTIAL),
            "diverging": list(DIVERGING),
        },
        "scale": {"barBandPaddingInner": 0.3, "rectBandPaddingInner": 0.04},
        "customFormatTypes": False,
        "locale": {"number": {"decimal": ".", "thousands": ",", "grouping": [3], "currency": ["", ""], "minus": "−"}},
    }


def without_glyph(text: str) -> set[str]:
    """The characters that no installed font has, which a drawn figure would show as boxes.

    Fontconfig is asked; where it is absent nothing can be said, and the set is empty.
    """
    held = _glyphs()
    shown = {character for character in text if character > LATIN and unicodedata.category(character)[0] not in "CZ"}
    return {c for c in shown if not any(ord(c) in run for run in held)} if held else set()


@cache
def _glyphs() -> tuple[range, ...]:
    """The runs of characters that the installed fonts have."""
    if shutil.which("fc-list") is None:
        return ()
    query = ["fc-list", "--format", "%{charset} "]
    listed = subprocess.run(query, capture_output=True, check=False, text=True).stdout.split()
    ends = {tuple(int(end, 16) for end in run.split("-")) for run in listed}
    return tuple(range(run[0], run[-1] + 1) for run in sorted(ends))


def glyph_warning(text: str, most: int = 20) -> str:
    """One sentence that names the characters of a text that would be drawn as boxes; empty if there are none."""
    lacking = sorted(without_glyph(text))
    if not lacking:
        return ""
    named = ", ".join(f"{character} (U+{ord(character):04X})" for character in lacking[:most])
    more = f" and {len(lacking) - most} more" if len(lacking) > most else ""
    return f"No installed font has {named}{more}: boxes stand in their place."


def current() -> Profile:
    """The profile that figures are drawn for."""
    return _current[0]


def enable(profile: str = "screen") -> None:
    """Make the theme and the offline renderer Altair's own; ``profile`` is paper, screen or slides."""
    if profile not in PROFILES:
        raise UnknownName(f"no figure profile {profile!r}; known: {', '.join(PROFILES)}")
    _current[0] = PROFILES[profile]
    settings = alt.theme.ThemeConfig(config=config(PROFILES[profile]))  # type: ignore[typeddict-item]
    alt.theme.register("gamut", enable=True)(lambda: settings)
    alt.renderers.register("gamut", mime_bundle)
    alt.renderers.enable("gamut")


def mime_bundle(spec: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A chart as JupyterLab and the page draw it without a network."""
    return {CHART: spec, "text/plain": "<chart>"}
