"""A field of models part by part: tiers, roles or domains as rows, one panel a measure."""

import altair as alt
import polars as pl

from gamut_analysis.charts import theme
from gamut_analysis.charts.units import in_points

_ROW = 28
_LETTER = 6.6
_TICK = 60  # pixels between two ticks, at least


def by_part(
    rows: pl.DataFrame, centres: pl.DataFrame, *, order: list[str], name: str = "name"
) -> alt.HConcatChart | alt.VConcatChart:
    """Every model as a grey dot in each part, the middle of the field as a tick, the focus in colour.

    rows: `part`, `measure`, `unit`, `name`, `value`, `low`, `high`, `is_focus`. centres: `part`, `measure`, `unit`,
    `value`, and `low` and `high` where they have an interval. Measures of one unit share an axis from zero; parts stand
    in `order`. The middle has its interval drawn if it has one, else the focus has.
    """
    frame = in_points(rows, "value", "low", "high")
    middle = in_points(centres, "value", "low", "high")
    measures = frame.select("measure", "unit").unique(maintain_order=True)
    labels = round(min(max(map(len, order)), theme.NAME_LETTERS) * _LETTER) + 10
    width = theme.panel_width(measures.height, labels=labels)
    panels = [
        _panel(
            frame.filter(measure=measure),
            middle.filter(measure=measure),
            f"{measure}, {unit}",
            _domain(frame.filter(unit=unit), middle.filter(unit=unit)),
            order,
            name,
            width,
            is_first=place == 0,
        ).properties(width=width, height=_ROW * len(order))
        for place, (measure, unit) in enumerate(measures.iter_rows())
    ]
    return alt.hconcat(*panels, spacing=20)


def _domain(rows: pl.DataFrame, centres: pl.DataFrame) -> list[float]:
    """One axis for all measures of a unit, which shows zero, every dot and every interval that is drawn."""
    drawn = [rows["value"], centres["value"]]
    spans = centres if _has_interval(centres) else rows.filter("is_focus")
    drawn += [spans["low"], spans["high"]]
    values = [0.0, *pl.concat(drawn).drop_nulls().to_list()]
    return [min(values), max(values) or 1.0]


def _has_interval(centres: pl.DataFrame) -> bool:
    return {"low", "high"} <= set(centres.columns)


def _panel(
    rows: pl.DataFrame,
    centres: pl.DataFrame,
    title: str,
    domain: list[float],
    order: list[str],
    name: str,
    width: int,
    *,
    is_first: bool,
) -> alt.LayerChart | alt.FacetChart:
    y = alt.Y("part:N", sort=order, title=None, axis=alt.Axis(labels=is_first))
    head = [title.rpartition(", ")[0], title.rpartition(", ")[2]]
    x = alt.X(
        "value:Q",
        title=head,
        scale=alt.Scale(domain=domain, nice=True, zero=True),
        axis=alt.Axis(orient="top", tickCount=max(3, width // _TICK)),
    )
    tooltip = [
        alt.Tooltip(f"{name}:N", title=""),
        alt.Tooltip("part:N", title=""),
        alt.Tooltip("value:Q", title=title, format=".1f"),
    ]
    base, own, middle = alt.Chart(rows), alt.Chart(rows.filter("is_focus")), alt.Chart(centres)
    layers = [
        base.mark_circle(size=30, opacity=0.55, color=theme.FIELD).encode(x=x, y=y, tooltip=tooltip),
        middle.mark_tick(thickness=2.5, size=16, color=theme.INK, opacity=1).encode(x=x, y=y),
        own.mark_circle(size=70, color=theme.FOCUS).encode(x=x, y=y, tooltip=tooltip),
    ]
    # Two intervals on one line would hide each other: the middle's goes first, where it has one.
    if _has_interval(centres):
        span = middle.mark_rule(strokeWidth=1.6, color=theme.INK)
    else:
        span = own.mark_rule(strokeWidth=1.6, color=theme.FOCUS)
    layers.insert(1, span.encode(x="low:Q", x2="high:Q", y=y))
    return alt.layer(*layers)
