"""What the constants of the score decide: who is first under them, how the order moves, and how far scores spread."""

from typing import Any

import altair as alt
import polars as pl

from gamut_analysis.charts import theme
from gamut_analysis.charts.units import in_points

_SIDE = 17
_ROW = 36
# The first of the field in the colour of a focus, then the one that may take its place.
_FIRST = (theme.FOCUS, theme.RIVAL, theme.JUDGE_COLOURS[0], theme.JUDGE_COLOURS[2], theme.FIELD)
# Legends stand above the title of the upright axis.
_ABOVE = 30
_SHADES = 6


def first(
    settings: pl.DataFrame, *, x: str, y: str, x_title: str, y_title: str, order: list[str]
) -> alt.LayerChart | alt.FacetChart:
    """Who is first under each pair of two constants, fainter where the lead is small; the default is ringed.

    settings: one row a setting with the two constants, `first` (a display name), `gap` (score of the first minus the
    second) and `is_default`. order: the names, the most frequent first.
    """
    base = _grid(in_points(settings, "gap"), x, y, x_title, y_title)
    scale = alt.Scale(domain=order, range=list(_FIRST[: len(order)]))
    # One name needs no legend: the title has it.
    legend = alt.Legend(columns=2, symbolType="square", offset=_ABOVE) if len(order) > 1 else None
    cells = base.mark_rect().encode(
        color=alt.Color("first:N", sort=order, title=None, scale=scale, legend=legend),
        opacity=alt.Opacity("gap:Q", legend=None, scale=alt.Scale(range=[0.35, 1])),
        tooltip=[*_constants(x, y, x_title, y_title), alt.Tooltip("first:N", title="First"), _gap("gap")],
    )
    return _with_default(cells, base, rows=settings[y].n_unique())


def turned(
    settings: pl.DataFrame, *, x: str, y: str, x_title: str, y_title: str, most: int
) -> alt.LayerChart | alt.FacetChart:
    """How many pairs of models stand in the other order than at the default, under each pair of two constants.

    settings: one row a setting with the two constants, `discordant` (pairs) and `is_default`. most: the largest number
    that could be.
    """
    base = _grid(settings, x, y, x_title, y_title)
    scale = alt.Scale(domain=[0, max(most, 1)], range=list(theme.SEQUENTIAL))
    shown = list(range(0, most + 1, max(1, -(-most // _SHADES))))
    legend = alt.Legend(type="symbol", symbolType="square", symbolStrokeWidth=0, values=shown, offset=_ABOVE)
    cells = base.mark_rect().encode(
        color=alt.Color("discordant:Q", title="Pairs", scale=scale, legend=legend),
        tooltip=[*_constants(x, y, x_title, y_title), alt.Tooltip("discordant:Q", title="Pairs in the other order")],
    )
    return _with_default(cells, base, rows=settings[y].n_unique())


def _grid(settings: pl.DataFrame, x: str, y: str, x_title: str, y_title: str) -> alt.Chart:
    """Two constants as the axes of a grid."""
    return alt.Chart(settings).encode(
        x=alt.X(f"{x}:O", title=x_title, axis=_axis(settings[x]), scale=alt.Scale(padding=0)),
        y=alt.Y(f"{y}:O", title=y_title, axis=_axis(settings[y]), sort="descending", scale=alt.Scale(padding=0)),
    )


def _axis(values: pl.Series) -> alt.Axis:
    """An axis that names round values only."""
    low, high = min(values), max(values)
    every = 1 if high - low > 2 else 0.25 if high - low >= 1 else 0.1
    named = [value for value in sorted(set(values)) if abs(value / every - round(value / every)) < 1e-6]
    return alt.Axis(values=named, format=".2~f", labelExpr="datum.label", labelAngle=0, ticks=False, domain=False)


def _with_default(cells: alt.Chart, base: alt.Chart, rows: int) -> alt.LayerChart | alt.FacetChart:
    ring = base.transform_filter("datum.is_default").mark_point(
        shape="circle", size=90, filled=False, stroke=theme.INK, strokeWidth=2.2
    )
    return theme.fitted(alt.layer(cells, ring), height=_SIDE * rows)


def _constants(x: str, y: str, x_title: str, y_title: str) -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{name}:Q", title=title, format=".2f") for name, title in ((x, x_title), (y, y_title))]


def _gap(name: str) -> alt.Tooltip:
    return alt.Tooltip(f"{name}:Q", title="Points ahead", format=".1f")


def sources(spreads: pl.DataFrame, *, order: list[str], kinds: list[str], name: str = "name") -> alt.LayerChart:
    """For each model the spread of its score from several sources, a line each, around a dot at its score.

    spreads: rows of `name`, `kind`, estimate, low, high, rank_low and rank_high.
    """
    base = alt.Chart(in_points(spreads, "estimate", "low", "high"))
    y = alt.Y(f"{name}:N", sort=order, title=None)
    told: dict[str, Any] = {
        "sort": kinds,
        "title": None,
        "legend": alt.Legend(symbolType="stroke", symbolStrokeWidth=3),
    }
    colours = alt.Scale(domain=kinds, range=[theme.JUDGE_COLOURS[0], theme.FOCUS, theme.FIELD])
    dashes = alt.Scale(domain=kinds, range=[[1, 0], [1, 0], [4, 2]])
    offset = alt.YOffset("kind:N", sort=kinds)
    tooltip = [
        alt.Tooltip(f"{name}:N", title=""),
        alt.Tooltip("kind:N", title="Source"),
        alt.Tooltip("low:Q", title="Low", format=".1f"),
        alt.Tooltip("high:Q", title="High", format=".1f"),
        alt.Tooltip("rank_low:Q", title="Best rank"),
        alt.Tooltip("rank_high:Q", title="Worst rank"),
    ]
    lines = base.mark_rule(strokeWidth=2.4).encode(
        x=alt.X("low:Q", title="Score, points", scale=alt.Scale(zero=False)),
        x2="high:Q",
        y=y,
        yOffset=offset,
        color=alt.Color("kind:N", scale=colours, **told),
        strokeDash=alt.StrokeDash("kind:N", scale=dashes, **told),
        tooltip=tooltip,
    )
    dots = base.mark_circle(size=26, color=theme.INK, opacity=1).encode(x="estimate:Q", y=y, yOffset=offset)
    return theme.fitted(alt.layer(lines, dots)).properties(height=alt.Step(_ROW, **{"for": "position"}))
