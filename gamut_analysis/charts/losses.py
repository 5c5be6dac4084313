"""Omission and contradiction counted twice: by checks and by points; and checks by how many models meet them."""

from textwrap import wrap

import altair as alt
import polars as pl

from gamut_analysis.charts import theme
from gamut_analysis.charts.parts import stacked
from gamut_analysis.charts.units import in_points
from gamut_analysis.vocabulary import VERDICT_COLOURS, VERDICT_LABELS, VERDICTS

_ROW = 28
_PAIR = 34  # a row of two lines
_LETTER = 6.6
_NUMBER = 34  # pixels of a number beside a bar
_WORDS = 20  # letters of a line over a panel
_LOST = VERDICTS[1:]
_KINDS = ("counts", "points")
_RATIOS = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128]


def currencies(rows: pl.DataFrame, *, order: list[str], name: str = "name") -> alt.HConcatChart | alt.VConcatChart:
    """What falls short, split by verdict, in one panel of checks and one of points: the same bars in two currencies.

    rows: `panel` (its title), `name`, `verdict` and `share` of the whole of that panel. The number is the share of
    contradictions.
    """
    labels = [VERDICT_LABELS[verdict] for verdict in _LOST]
    place = {verdict: number for number, verdict in enumerate(_LOST)}
    verdict = pl.col("verdict").cast(pl.String)
    frame = in_points(rows, "share").with_columns(
        label=verdict.replace_strict(VERDICT_LABELS), place=verdict.replace_strict(place, return_dtype=pl.Int32)
    )
    panels = frame["panel"].unique(maintain_order=True).to_list()
    room = round(min(max(map(len, order)), theme.NAME_LETTERS) * _LETTER) + 10
    width = theme.panel_width(len(panels), labels=room + _NUMBER, gap=50)
    colour = alt.Color(
        "label:N",
        sort=labels,
        scale=alt.Scale(domain=labels, range=[VERDICT_COLOURS[verdict] for verdict in _LOST]),
    )
    parts = [
        _bars(frame.filter(panel=panel), panel, order, colour, name, is_first=number == 0).properties(
            width=width, height=_ROW * len(order)
        )
        for number, panel in enumerate(panels)
    ]
    return alt.hconcat(*parts, spacing=50)


def _bars(
    rows: pl.DataFrame, title: str, order: list[str], colour: alt.Color, name: str, *, is_first: bool
) -> alt.LayerChart | alt.FacetChart:
    y = alt.Y(f"{name}:N", sort=order, title=None, axis=alt.Axis(labels=is_first))
    x = alt.X("start:Q", title=wrap(title, _WORDS), scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(orient="top"))
    base = alt.Chart(stacked(rows, "share", by=name))
    tooltip = [
        alt.Tooltip(f"{name}:N", title=""),
        alt.Tooltip("label:N", title="Verdict"),
        alt.Tooltip("share:Q", title="%", format=".1f"),
    ]
    bars = base.mark_bar(stroke=theme.PAPER, strokeWidth=0.6).encode(
        x=x, x2="end:Q", y=y, color=colour, tooltip=tooltip
    )
    number = (
        base.transform_filter(alt.FieldEqualPredicate(field="label", equal=VERDICT_LABELS[_LOST[-1]]))
        .mark_text(align="left", dx=4)
        .encode(x=alt.datum(100), y=y, text=alt.Text("share:Q", format=".1f"))
    )
    return alt.layer(bars, number)


def ratios(rows: pl.DataFrame, *, order: list[str], name: str = "name") -> alt.LayerChart | alt.FacetChart:
    """Omissions for each contradiction on a scale of ratios, in checks and in points; the line is as many as one.

    rows: `name`, `measure` (counts or points), `estimate`, `low`, `high`.
    """
    labels = {"counts": "In checks", "points": "In points"}
    frame = rows.drop_nulls("estimate").filter(pl.col("estimate") > 0)
    frame = frame.with_columns(kind=pl.col("measure").cast(pl.String).replace_strict(labels))
    kinds = [labels[kind] for kind in _KINDS]
    y = alt.Y(f"{name}:N", sort=order, title=None)
    scale = alt.Scale(domain=kinds, range=[theme.FIELD, theme.FOCUS])
    colour = alt.Color("kind:N", sort=kinds, title=None, scale=scale)
    shape = alt.Shape("kind:N", sort=kinds, title=None, scale=alt.Scale(domain=kinds, range=["circle", "diamond"]))
    offset = alt.YOffset("kind:N", sort=kinds)
    base = alt.Chart(frame)
    x = alt.X(
        "low:Q",
        title="Omissions for each contradiction",
        scale=alt.Scale(type="log", nice=False, padding=16),
        axis=alt.Axis(values=_RATIOS, format="~g"),
    )
    tooltip = [
        alt.Tooltip(f"{name}:N", title=""),
        alt.Tooltip("kind:N", title=""),
        alt.Tooltip("estimate:Q", title="Ratio", format=".1f"),
        alt.Tooltip("low:Q", title="Low", format=".1f"),
        alt.Tooltip("high:Q", title="High", format=".1f"),
    ]
    even = alt.Chart(pl.DataFrame({"even": [1.0]})).mark_rule(strokeDash=[3, 3], color=theme.FIELD)
    return theme.fitted(
        alt.layer(
            even.encode(x="even:Q"),
            base.mark_rule(strokeWidth=1.6).encode(x=x, x2="high:Q", y=y, yOffset=offset, color=colour),
            base.mark_point(size=64, filled=True).encode(
                x="estimate:Q", y=y, yOffset=offset, color=colour, shape=shape, tooltip=tooltip
            ),
            base.mark_text(align="left", dx=6).encode(
                x="high:Q", y=y, yOffset=offset, text=alt.Text("estimate:Q", format=".1f"), color=colour
            ),
        ),
        height=max(_PAIR * frame[name].n_unique(), 80),
    )


def items(rows: pl.DataFrame) -> alt.LayerChart | alt.FacetChart:
    """How many checks are met by how many models; the dead ones, which tell no two models apart, in colour.

    rows: `models` (how many meet the check), `checks`, `share` of all checks, `is_dead`.
    """
    frame = in_points(rows, "share")
    base = alt.Chart(frame)
    x = alt.X("models:O", title="Models that meet the check", axis=alt.Axis(labelAngle=0))
    colour = alt.condition("datum.is_dead", alt.value(theme.FOCUS), alt.value(theme.FIELD_SOFT))
    bars = base.mark_bar().encode(
        x=x,
        y=alt.Y("share:Q", title="Checks, %", stack="zero"),
        color=colour,
        order=alt.Order("is_dead:Q", sort="descending"),
        tooltip=[
            alt.Tooltip("models:O", title="Models that meet it"),
            alt.Tooltip("checks:Q", title="Checks", format=",d"),
            alt.Tooltip("share:Q", title="%", format=".1f"),
        ],
    )
    return theme.fitted(alt.layer(bars), width=theme.WIDTH, height=240)
