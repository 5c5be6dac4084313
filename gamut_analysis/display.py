"""What a notebook cell ends in: a figure, a table or a paragraph, with every number formatted by one rule.

The rule: a number is rounded once, here, half to even on its exact value (as Python's ``format`` does), from the
unrounded number and never from a rounded one. There is no ``-0.0``. Points and shares say ``100.0`` for 100 alone
(99.96 is ``> 99.9``), and a share says ``0.0`` for nothing alone (0.02 % is ``< 0.1``). Shares are rounded one by
one; where neighbouring shares make a whole and their printed digits do not, the table says so in a note. An undefined
value is an en dash with its reason, never 0 and never blank.

Everything that comes from data is hostile text and is escaped here. Each object carries its raw numbers beside what
it shows, so that ``numbers.json`` holds the numbers and not the digits.
"""

import json
import math
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from html import escape
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import quote

import polars as pl

from gamut_analysis.errors import NotebookError, UnknownName
from gamut_analysis.vocabulary import (
    ITEM_TYPE_LABELS,
    ROLE_LABELS,
    TIER_LABELS,
    VARIANT_LABELS,
    VERDICT_LABELS,
    VERDICTS,
)

CHART = "application/vnd.vegalite.v5+json"
NUMBERS = "application/vnd.gamut.numbers+json"
# What JupyterLab alone shows: a page and a PDF set the caption of a figure themselves.
CAPTION = "caption"
SORTABLE_FROM = 16

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"
_NONE = "undefined"
SHARES_NOTE = "Shares are rounded one by one and may not add to 100."

_LABELS: dict[str, Mapping[str, str]] = {
    "verdict": VERDICT_LABELS,
    "tier": TIER_LABELS,
    "variant": VARIANT_LABELS,
    "role": ROLE_LABELS,
    "item_type": ITEM_TYPE_LABELS,
}
_SCALES = {"points": 100, "percent": 100, "number": 1}
_UNITS = {"points": "points", "percent": "%"}
_NUMERIC = {*_SCALES, "count", "p", "interval", "ordinal", "ranks"}
_INTERVALS = {"interval": "points", "percent_interval": "percent", "number_interval": "number"}
_KINDS = {"text", "names", *_NUMERIC, *_LABELS}
# Sums and means of floats miss a whole by this much, not by more.
_NOISE = Fraction(1, 10**9)

# JupyterLab draws a bare table; the page has a style sheet of its own and drops this one.
LAB_STYLE = (
    "<style>.gamut-table{border-collapse:collapse}.gamut-table caption{text-align:left;padding-bottom:.4em}"
    ".gamut-table th,.gamut-table td{text-align:left!important;vertical-align:top}"
    ".gamut-table .number{text-align:right!important;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".gamut-table small{display:block;font-weight:400;opacity:.7}"
    ".gamut-caption{max-width:54em;font-size:.92em;opacity:.8}"
    ".gamut-hidden{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}</style>"
)


# Numbers ---------------------------------------------------------------------------------------------------------


def format_number(value: float, digits: int = 2, *, signed: bool = False) -> str:
    """A number as it is, with a true minus.

    >>> format_number(0.125), format_number(58.65, 1), format_number(-0.04, 1), format_number(1813, 0)
    ('0.12', '58.6', '0.0', '1,813')
    """
    return _decimal(_exact(value), digits, signed)


def format_points(score: float, digits: int = 1, *, signed: bool = False) -> str:
    """A score, or a difference of scores, in [-1, 1] as points.

    >>> format_points(0.342), format_points(-0.019), format_points(0.019, signed=True), format_points(0.9996)
    ('34.2', '−1.9', '+1.9', '> 99.9')
    """
    return _below_hundred(_exact(score) * 100, digits, signed)


def format_percent(share: float, digits: int = 1, *, signed: bool = False) -> str:
    """A share in [0, 1] as per cent, without the sign: the unit stands in the head or in the sentence.

    A difference of shares that is too small for its digits keeps its side of nothing.

    >>> format_percent(1 / 3), format_percent(0), format_percent(0.0002), format_percent(-0.0002), format_percent(1)
    ('33.3', '0.0', '< 0.1', '> −0.1', '100.0')
    """
    exact = _exact(share) * 100
    least = Fraction(1, 10**digits)
    if abs(exact) > _NOISE and round(exact / least) == 0:
        return f"< {_decimal(least, digits, False)}" if exact > 0 else f"> {_decimal(-least, digits, False)}"
    return _below_hundred(exact, digits, signed)


def format_count(count: int) -> str:
    """A count, with thousands set off.

    >>> format_count(1813)
    '1,813'
    """
    return f"{count:,}".replace("-", MINUS)


def format_p(p: float) -> str:
    """A p-value to three digits, with no claim beyond them.

    >>> format_p(0.00302), format_p(0.0001), format_p(1)
    ('0.003', '< 0.001', '1.000')
    """
    if p < 0.001:
        return "< 0.001"
    if p < 1 and round(_exact(p) * 1000) == 1000:
        return "> 0.999"
    return _decimal(_exact(p), 3, signed=False)


def format_interval(
    estimate: float,
    low: float | None,
    high: float | None,
    digits: int = 1,
    *,
    of: str = "points",
    signed: bool = False,
) -> str:
    """An estimate with its interval; ``of`` is what all three are: points, percent or number.

    >>> format_interval(0.342, 0.331, 0.353)
    '34.2 (33.1 to 35.3)'
    """
    if not _defined(estimate):
        return _NONE
    shown = _format(of, estimate, digits, signed)
    if not (_defined(low) and _defined(high)):
        return f"{shown} ({DASH})"
    return f"{shown} ({_format(of, low, digits, signed)} to {_format(of, high, digits, signed)})"


def format_ordinal(rank: int) -> str:
    """A place.

    >>> [format_ordinal(rank) for rank in (1, 2, 3, 8, 11, 22, 113)]
    ['1st', '2nd', '3rd', '8th', '11th', '22nd', '113th']
    """
    suffix = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank:,}{suffix}"


def format_ranks(first: int, last: int) -> str:
    """A set of places.

    >>> format_ranks(3, 3), format_ranks(8, 9), format_ranks(7, 9)
    ('3rd', '8th or 9th', '7th to 9th')
    """
    if first == last:
        return format_ordinal(first)
    return f"{format_ordinal(first)} {'or' if last == first + 1 else 'to'} {format_ordinal(last)}"


def format_names(names: Iterable[object]) -> str:
    """Names as a sentence lists them.

    >>> format_names(["a"]), format_names(["a", "b"]), format_names(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    *front, last = [str(name) for name in names] or [DASH]
    return f"{', '.join(front)} and {last}" if front else last


def _exact(value: float) -> Fraction:
    """The number that a float really is; other numbers (NumPy's, decimals) through their float."""
    return Fraction(float(value))


def _decimal(exact: Fraction, digits: int, signed: bool) -> str:
    """A decimal text of an exact number. Integers all the way, so zero has no sign."""
    unit = round(exact * 10**digits)
    whole, part = divmod(abs(unit), 10**digits)
    sign = MINUS if unit < 0 else "+" if signed and unit > 0 else ""
    return f"{sign}{whole:,}.{part:0{digits}d}" if digits else f"{sign}{whole:,}"


def _below_hundred(exact: Fraction, digits: int, signed: bool) -> str:
    """A number out of 100, which is 100 only when it is."""
    last = Fraction(100) - Fraction(1, 10**digits)
    if abs(exact) < 100 - _NOISE and round(abs(exact) * 10**digits) == 100 * 10**digits:
        return f"> {_decimal(last, digits, signed)}" if exact > 0 else f"< {_decimal(-last, digits, signed)}"
    return _decimal(exact, digits, signed)


def _defined(value: Any) -> bool:
    """Whether there is a value to show."""
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def _format(kind: str, value: Any, digits: int, signed: bool) -> str:
    """One defined value as its kind is shown; ``interval`` and ``ranks`` take their parts in order."""
    match kind:
        case "points":
            return format_points(value, digits, signed=signed)
        case "percent":
            return format_percent(value, digits, signed=signed)
        case "number":
            return format_number(value, digits, signed=signed)
        case "count":
            return format_count(value)
        case "p":
            return format_p(value)
        case "ordinal":
            return format_ordinal(value)
        case "ranks":
            return format_ranks(*value)
        case "names":
            return format_names(value)
        case "text":
            return str(value)
    return _LABELS[kind].get(value, str(value))


# Columns ---------------------------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """What stands in a cell: its text, what it sorts by, the small text under it, why it is undefined, its address."""

    text: str
    order: float | None = None
    sub: str = ""
    reason: str = ""
    link: str = ""


@dataclass(frozen=True)
class Column:
    """How one column of a table is shown.

    kind: text, names, points, percent, number, count, p, interval, ordinal, ranks, verdict, tier, variant, role,
    item_type. unit: stands small under the label. help: a sentence for the head. The others name columns of the
    frame: sub, the text that stands small under the value; link, the address that the value leads to; low, high,
    what completes an interval or a set of ranks; reason, why a value is undefined. of: what an interval is made of.
    """

    label: str
    kind: str = "text"
    digits: int = 1
    align: str | None = None
    unit: str | None = None
    sub: str | None = None
    link: str | None = None
    help: str | None = None
    signed: bool = False
    low: str | None = None
    high: str | None = None
    of: str = "points"
    reason: str = "reason"

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise UnknownName(f"column {self.label!r}: no kind {self.kind!r}; known: {', '.join(sorted(_KINDS))}")

    @property
    def numeric(self) -> bool:
        """Whether the column is set to the right, in tabular figures."""
        return (self.align or ("right" if self.kind in _NUMERIC else "left")) == "right"

    @property
    def head_unit(self) -> str:
        """The unit that the head shows."""
        return self.unit if self.unit is not None else _UNITS.get(self.of if self.kind == "interval" else self.kind, "")

    def fields(self, key: str, frame: pl.DataFrame) -> list[str]:
        """The columns of the frame that this one reads; refuses names that the frame does not have."""
        needed = [name for name in (key, self.low, self.high, self.sub, self.link) if name]
        if missing := [name for name in needed if name not in frame.columns]:
            raise UnknownName(f"table column {self.label!r}: no {missing} in the frame; it has {frame.columns}")
        return [*needed, self.reason] if self.reason in frame.columns else needed

    def cell(self, key: str, row: Mapping[str, Any]) -> Cell:
        """The cell of one row."""
        value = row[key]
        sub = str(row[self.sub]) if self.sub and row[self.sub] is not None else ""
        reason = str(row.get(self.reason) or _NONE)
        if not _defined(value):
            return Cell(DASH, None, sub, reason)
        link = row[self.link] or "" if self.link else ""
        return Cell(self._text(value, row), self._order(value), sub, reason if self._half_defined(row) else "", link)

    def _half_defined(self, row: Mapping[str, Any]) -> bool:
        """Whether the estimate stands without its interval."""
        return self.kind == "interval" and not all(_defined(row[end]) for end in (self.low, self.high) if end)

    def _text(self, value: Any, row: Mapping[str, Any]) -> str:
        if self.kind == "interval":
            low, high = (row[end] if end else None for end in (self.low, self.high))
            return format_interval(value, low, high, self.digits, of=self.of, signed=self.signed)
        if self.kind == "ranks":
            return format_ranks(value, row[self.high] if self.high else value)
        return _format(self.kind, value, self.digits, self.signed)

    def _order(self, value: Any) -> float | None:
        """What the cell sorts by: the raw number, or the place in the vocabulary."""
        if self.kind in _LABELS:
            return list(_LABELS[self.kind]).index(value) if value in _LABELS[self.kind] else None
        return value if self.kind in _NUMERIC else None


def text(label: str, **more: Any) -> Column:
    """A column of names or other words."""
    return Column(label, **more)


def points(label: str, **more: Any) -> Column:
    """A column of scores or differences of scores, shown times 100."""
    return Column(label, "points", **more)


def percent(label: str, **more: Any) -> Column:
    """A column of shares, shown as per cent."""
    return Column(label, "percent", **more)


def number(label: str, digits: int = 2, **more: Any) -> Column:
    """A column of numbers, shown as they are."""
    return Column(label, "number", digits, **more)


def count(label: str, **more: Any) -> Column:
    """A column of counts."""
    return Column(label, "count", **more)


def p_value(label: str = "p", **more: Any) -> Column:
    """A column of p-values."""
    return Column(label, "p", **more)


def interval(label: str, *, low: str = "low", high: str = "high", of: str = "points", **more: Any) -> Column:
    """A column of estimates with the ends of their intervals from two other columns."""
    return Column(label, "interval", low=low, high=high, of=of, **more)


def ranks(label: str, *, high: str, **more: Any) -> Column:
    """A column of first places, with the last places from another column: a set of ranks."""
    return Column(label, "ranks", high=high, **more)


def verdict(label: str = "Verdict", **more: Any) -> Column:
    """A column of verdicts."""
    return Column(label, "verdict", **more)


def tier(label: str = "Tier", **more: Any) -> Column:
    """A column of tiers."""
    return Column(label, "tier", **more)


def variant(label: str = "Variant", **more: Any) -> Column:
    """A column of variants."""
    return Column(label, "variant", **more)


def role(label: str = "Role", **more: Any) -> Column:
    """A column of the roles that checks have in their rubric."""
    return Column(label, "role", **more)


def item_type(label: str = "Structure", **more: Any) -> Column:
    """A column of the item types of a rubric."""
    return Column(label, "item_type", **more)


def _column(key: str, column: Column | str, frame: pl.DataFrame) -> Column:
    """A column spec, from a bare label too where the type leaves no doubt."""
    if isinstance(column, Column):
        return column
    dtype = frame.schema.get(key)
    if dtype is not None and dtype.is_float():
        raise NotebookError(f"table column {key!r} holds decimals: say points(...), percent(...) or number(...)")
    return Column(column, "count" if dtype is not None and dtype.is_integer() else "text")


# What a cell ends in ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """A chart with its caption, the sentence that stands for it, and the numbers that it draws."""

    name: str
    chart: Any
    caption: str
    alt: str
    numbers: pl.DataFrame | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)

    def rows(self) -> list[dict[str, Any]]:
        """The raw numbers of the figure; those of the chart itself where none are named."""
        if self.numbers is not None:
            return plain(self.numbers.to_dicts())
        return plain(next(iter(self.chart.to_dict().get("datasets", {}).values()), []))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        data = {
            CHART: plain(_spelt_out(self.chart.to_dict())),
            NUMBERS: {"name": self.name, "kind": "figure", "rows": self.rows()},
            "text/plain": f"{self.alt}\n{self.caption}",
        }
        return data, _metadata("figure", self.name, caption=self.caption, alt=self.alt)

    def _ipython_display_(self) -> None:
        """The chart, and its caption as an output of its own, because JupyterLab draws a chart and nothing else."""
        from IPython.display import publish_display_data

        publish_display_data(*self._repr_mimebundle_())
        if self.caption:
            caption = f'{LAB_STYLE}<p class="gamut-caption">{escape(self.caption)}</p>'
            publish_display_data({"text/html": caption}, _metadata(CAPTION, self.name))


def _spelt_out(spec: Any) -> Any:
    """The spec with what Vega would take amiss said in another way.

    An order of values is told by the scale: a value named like a word of Vega's breaks a sort list. An axis with values
    of its own has as many ticks: the theme's number of ticks would thin them out.
    """
    if isinstance(spec, list):
        return [_spelt_out(part) for part in spec]
    if not isinstance(spec, dict):
        return spec
    told = {key: _spelt_out(part) for key, part in spec.items()}
    if isinstance(told.get("sort"), list) and "field" in told:
        told |= {"scale": {"domain": told["sort"], **(told.get("scale") or {})}, "sort": None}
    if isinstance(told.get("axis"), dict) and isinstance(told["axis"].get("values"), list):
        told["axis"] = {"tickCount": len(told["axis"]["values"]), **told["axis"]}
    return told


@dataclass(frozen=True)
class Table:
    """A frame as a reader sees it; ``columns`` says which columns, in which order, shown how."""

    name: str
    frame: pl.DataFrame
    columns: Mapping[str, Column | str]
    caption: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        _check_name(self.name)
        columns = {key: _column(key, column, self.frame) for key, column in self.columns.items()}
        fields = [field for key, column in columns.items() for field in column.fields(key, self.frame)]
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "frame", self.frame.select(*dict.fromkeys(fields)))

    @classmethod
    def from_output(cls, output: Mapping[str, Any]) -> "Table":
        """The table that an executed cell holds, so that it can be written as CSV or LaTeX without running again."""
        about = output["metadata"]["gamut"]
        rows = output["data"][NUMBERS]["rows"]
        frame = pl.DataFrame(rows, infer_schema_length=None) if rows else pl.DataFrame(schema=about["fields"])
        columns = {key: Column(**column) for key, column in about["columns"].items()}
        return cls(about["name"], frame, columns, about["caption"], about["note"])

    @property
    def specs(self) -> dict[str, Column]:
        """The columns, all spelt out."""
        return {key: column for key, column in self.columns.items() if isinstance(column, Column)}

    def cells(self) -> Iterator[list[Cell]]:
        """The cells, row by row."""
        for row in self.frame.iter_rows(named=True):
            yield [column.cell(key, row) for key, column in self.specs.items()]

    def notes(self) -> list[str]:
        """What must be said under the table: the author's note, why cells are undefined, shares that do not add up."""
        reasons = list(
            dict.fromkeys(cell.reason for row in self.cells() for cell in row if cell.reason not in ("", _NONE))
        )
        said = [self.note] if self.note else []
        if reasons:
            said.append(f"Undefined ({DASH}): {_listed(reasons)}.")
        if _shares_drift(self):
            said.append(SHARES_NOTE)
        return said

    @property
    def about(self) -> dict[str, Any]:
        """What ``from_output`` needs beside the rows."""
        return {
            "caption": self.caption,
            "note": self.note,
            "fields": self.frame.columns,
            "columns": {key: asdict(column) for key, column in self.specs.items()},
        }

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        data = {
            "text/html": LAB_STYLE + table_html(self, f"table-{self.name}"),
            NUMBERS: {"name": self.name, "kind": "table", "rows": plain(self.frame.to_dicts())},
            "text/plain": table_text(self),
        }
        return data, _metadata("table", self.name, **self.about)


@dataclass(frozen=True)
class Text:
    """Sentences with their numbers.

    template: paragraphs parted by a blank line, ``**bold**``, and placeholders such as ``{score:interval}``,
    ``{gap:+points}``, ``{kappa:number.2}``, ``{row[model]}``: a kind of Column, a plus to show the sign, a point and
    digits. ``p`` comes with its sign (``p = 0.003``, ``p < 0.001``). An interval is three numbers, or a mapping with
    estimate, low, high (``interval`` in points, ``percent_interval``, ``number_interval``); ranks are two.
    """

    name: str
    template: str
    values: Mapping[str, Any]

    def __post_init__(self) -> None:
        _check_name(self.name)

    def parts(self) -> Iterator[tuple[str, str | None]]:
        """Pieces of the template, each with the text that fills the place after it."""
        for literal, field, spec, _ in string.Formatter().parse(self.template):
            filled = None if field is None else _fill(self._value(field), spec or "", field)
            # A line break would part paragraphs.
            yield literal, filled and re.sub(r"\s*\n\s*", " ", filled)

    def _value(self, field: str) -> Any:
        try:
            return string.Formatter().get_field(field, (), self.values)[0]
        except KeyError:
            raise UnknownName(f"text {self.name!r}: no value for {{{field}}}; it has {sorted(self.values)}") from None

    def html(self) -> str:
        """Paragraphs; only the template can mark up, values cannot."""
        pieces, bold = [], False
        for literal, value in self.parts():
            first, *rest = escape(literal).replace(" %", "\N{NO-BREAK SPACE}%").split("**")
            pieces.append(first)
            for piece in rest:
                bold = not bold
                pieces.append(f"<{'' if bold else '/'}strong>{piece}")
            if value is not None:
                pieces.append(f'<span class="value">{escape(value)}</span>')
        if bold:
            raise NotebookError(f"text {self.name!r}: a ** is not closed")
        paragraphs = re.split(r"\n\s*\n", "".join(pieces).strip())
        return "\n".join(f'<p class="gamut-text">{paragraph}</p>' for paragraph in paragraphs)

    def __str__(self) -> str:
        return "".join(literal.replace("**", "") + (value or "") for literal, value in self.parts()).strip()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        fields = (field for _, field, _, _ in string.Formatter().parse(self.template) if field is not None)
        values = {
            key: plain(self.values[key]) for key in dict.fromkeys(re.split(r"[.\[]", field)[0] for field in fields)
        }
        data = {
            "text/html": self.html(),
            NUMBERS: {"name": self.name, "kind": "text", "values": values},
            "text/plain": str(self),
        }
        return data, _metadata("text", self.name)


def _fill(value: Any, spec: str, field: str) -> str:
    """The text of one placeholder."""
    match = re.fullmatch(r"(\+?)([a-z_]*)(?:\.(\d))?", spec)
    if not match or match[2] not in {"", *_INTERVALS, *_KINDS}:
        known = ", ".join(sorted({*_INTERVALS, *_KINDS}))
        raise NotebookError(f"placeholder {{{field}:{spec}}}: not a kind; known: {known}")
    if not _defined(value):
        return _NONE
    kind = match[2] or ("count" if isinstance(value, int) and not isinstance(value, bool) else "text")
    if kind == "text" and isinstance(value, float):
        raise NotebookError(f"placeholder {{{field}}} is a decimal: say {{{field}:points}}, :percent or :number")
    digits, signed = int(match[3] or (2 if kind.startswith("number") else 1)), bool(match[1])
    if kind in _INTERVALS:
        ends = [value[end] for end in ("estimate", "low", "high")] if isinstance(value, Mapping) else value
        estimate, low, high = ends
        return format_interval(estimate, low, high, digits, of=_INTERVALS[kind], signed=signed)
    shown = _format(kind, value, digits, signed)
    return (f"p {shown}" if shown[0] in "<>" else f"p = {shown}") if kind == "p" else shown


def _check_name(name: str) -> None:
    """A name is a file name and an address in the page."""
    if not re.fullmatch(r"[a-z0-9]+([_-][a-z0-9]+)*", name):
        raise NotebookError(f"{name!r} cannot name a figure, table or text: small letters, digits, _ and - only")


def _metadata(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"gamut": {"kind": kind, "name": name, **more}}


def _listed(reasons: list[str], most: int = 4) -> str:
    """A few reasons, and how many more there are."""
    shown = "; ".join(reasons[:most])
    return f"{shown}; and {len(reasons) - most} other reasons" if len(reasons) > most else shown


def _shares_drift(table: Table) -> bool:
    """Whether neighbouring shares make a whole in some row while their printed digits do not."""
    neighbours = groupby(table.specs.items(), key=lambda item: item[1].kind)
    runs = [list(run) for kind, run in neighbours if kind == "percent"]
    spans = [run[i:j] for run in runs for i in range(len(run)) for j in range(i + 2, len(run) + 1)]
    return any(_drifts(row, span) for row in table.frame.iter_rows(named=True) for span in spans)


def _drifts(row: Mapping[str, Any], span: list[tuple[str, Column]]) -> bool:
    values = [row[key] for key, _ in span]
    if not all(map(_defined, values)) or abs(sum(values) - 1) > 1e-9:
        return False
    printed = sum(round(_exact(row[key]) * 100 * 10**column.digits) / 10**column.digits for key, column in span)
    return abs(printed - 100) > 1e-9


def plain(value: Any) -> Any:
    """A value as strict JSON can hold it: no NaN, no infinity, no types of ours.

    >>> plain({"a": float("nan"), "b": (1, 2.5)})
    {'a': None, 'b': [1, 2.5]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, pl.DataFrame):
        return plain(value.to_dicts())
    if isinstance(value, (list, tuple, set, pl.Series)):
        return [plain(inner) for inner in (sorted(value) if isinstance(value, set) else value)]
    if hasattr(value, "item"):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


# Written out -----------------------------------------------------------------------------------------------------


def table_html(table: Table, address: str = "") -> str:
    """A semantic table: caption, heads with units, row heads, raw values to sort by, notes."""
    columns = list(table.specs.values())
    head = "".join(_head(column) for column in columns)
    body = "\n".join(f"<tr>{_row(columns, cells)}</tr>" for cells in table.cells())
    caption = f"<caption><span>{escape(table.caption)}</span></caption>" if table.caption else ""
    sortable = ' data-component="table"' if table.frame.height >= SORTABLE_FROM else ""
    anchor = f' id="{address}"' if address else ""
    notes = "".join(f'<p class="gamut-note">{escape(note)}</p>' for note in table.notes())
    return (
        f'<div class="gamut-block"{anchor}><table class="gamut-table"{sortable}>{caption}\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>{notes}</div>"
    )


def _head(column: Column) -> str:
    unit = f"<small>{escape(column.head_unit)}</small>" if column.head_unit else ""
    title = f' title="{escape(column.help)}"' if column.help else ""
    return f'<th scope="col"{_class(column)}{title}>{escape(column.label)}{unit}</th>'


def _row(columns: Sequence[Column], cells: Sequence[Cell]) -> str:
    first = _data(columns[0], cells[0], "td" if columns[0].numeric else "th")
    return first + "".join(_data(column, cell, "td") for column, cell in zip(columns[1:], cells[1:], strict=True))


def _data(column: Column, cell: Cell, tag: str) -> str:
    """One cell; the first of a row is its head."""
    scope = ' scope="row"' if tag == "th" else ""
    order = f' data-sort="{cell.order}"' if cell.order is not None else ""
    sub = f"<small>{escape(cell.sub)}</small>" if cell.sub else ""
    return f"<{tag}{scope}{_class(column)}{order}>{_content(column, cell)}{sub}</{tag}>"


def _content(column: Column, cell: Cell) -> str:
    """The text of a cell; an undefined one says why to whoever points at it, and to a screen reader."""
    shown = escape(cell.text)
    if cell.reason:
        reason = escape(cell.reason)
        return f'<abbr title="{reason}">{shown}</abbr><span class="gamut-hidden">: {reason}</span>'
    if column.kind == "verdict" and cell.order is not None:
        return f'<span class="verdict {VERDICTS[int(cell.order)]}">{shown}</span>'
    if cell.link:
        return f'<a href="{escape(quote(cell.link))}">{shown}</a>'
    return shown


def _class(column: Column) -> str:
    return ' class="number"' if column.numeric else ""


def table_text(table: Table) -> str:
    """The table for a terminal."""
    columns = list(table.specs.values())
    rows = [_text_heads(columns), *([cell.text for cell in cells] for cells in table.cells())]
    widths = [max(len(row[place]) for row in rows) for place in range(len(columns))]
    lines = [
        "  ".join(f"{t:>{w}}" if c.numeric else f"{t:<{w}}" for c, t, w in zip(columns, row, widths, strict=True))
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in [*lines, *table.notes()])


def to_csv(table: Table) -> str:
    """The raw numbers under the names of the frame: for computing with, so nothing is rounded or renamed."""
    nested = [name for name, dtype in table.frame.schema.items() if dtype.is_nested()]
    as_json = [pl.Series(name, [json.dumps(plain(v)) for v in table.frame[name]], pl.String) for name in nested]
    return table.frame.with_columns(as_json).write_csv()


_LATEX = {
    **{character: f"\\{character}" for character in "%&#$_{}"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    # After the end of a row these two would be read as its options.
    "[": "{[}",
    "*": "{*}",
    MINUS: "$-$",
    "λ": r"\ensuremath{\lambda}",
    "μ": r"\ensuremath{\mu}",
    "κ": r"\ensuremath{\kappa}",
    "τ": r"\ensuremath{\tau}",
    "ρ": r"\ensuremath{\rho}",
    "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}",
    DASH: "--",
    "-": "-{}",
    "\N{NO-BREAK SPACE}": "~",
}
_LATEX_SETS = re.compile("[\x20-\x7e\u00a1-\u017f\u2018-\u201e\u2026−–\u00a0]")


def latex(text: str) -> str:
    r"""A text that LaTeX prints as it stands.

    >>> print(latex("50%_off & R#1"))
    50\%\_off \& R\#1
    """
    # Only a hyphen that another one follows is matched: together they would print as a dash.
    return re.sub("-(?=-)|[^-]", lambda found: _LATEX.get(found[0], found[0]), " ".join(text.split()))


def to_latex(table: Table) -> str:
    """A booktabs table with a caption and a label; characters that pdfLaTeX cannot set are named in a comment."""
    columns = list(table.specs.values())
    heads = _text_heads(columns)
    rows = [[cell.text for cell in cells] for cells in table.cells()]
    caption = " ".join([table.caption, *table.notes()]).strip()
    lines = [
        *([f"% {needs}"] if (needs := beyond_pdflatex(table)) else []),
        r"\begin{table}",
        r"\centering",
        *([f"\\caption{{{latex(caption)}}}"] if caption else []),
        f"\\label{{tab:{table.name}}}",
        f"\\begin{{tabular}}{{{''.join('r' if column.numeric else 'l' for column in columns)}}}",
        r"\toprule",
        _latex_row(heads),
        r"\midrule",
        *map(_latex_row, rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_row(texts: Iterable[str]) -> str:
    return " & ".join(map(latex, texts)) + r" \\"


def beyond_pdflatex(table: Table) -> str:
    """What a table needs beyond pdfLaTeX, by the characters that it holds; empty if nothing."""
    texts = [table.caption, *table.notes(), *_text_heads(table.specs.values())]
    shown = "".join(texts + [cell.text for cells in table.cells() for cell in cells])
    unset = [f"{c} (U+{ord(c):04X})" for c in sorted(set(shown)) if _is_unset(c)]
    return f"Needs LuaLaTeX or XeLaTeX and a font that has {', '.join(unset)}" if unset else ""


def _is_unset(character: str) -> bool:
    return character.isprintable() and character not in _LATEX and not _LATEX_SETS.match(character)


def _text_heads(columns: Iterable[Column]) -> list[str]:
    """Labels with their units, where no markup can set the unit apart."""
    return [f"{column.label} ({column.head_unit})" if column.head_unit else column.label for column in columns]
