"""Curves over numbers of questions: what more of them buys."""

import altair as alt
import polars as pl

from gamut_analysis.charts import theme
from gamut_analysis.charts.units import in_points

_HEIGHT = 300


def by_questions(rows: pl.DataFrame, *, value: str, group: str, order: list[str]) -> alt.LayerChart | alt.FacetChart:
    """A value in points over the number of questions, one line a group.

    rows: `questions`, the value and the group.
    """
    base = alt.Chart(in_points(rows, value))
    x = alt.X(
        "questions:Q",
        title="Questions",
        scale=alt.Scale(type="log", nice=False, padding=10),
        axis=_round(rows["questions"]),
    )
    y = alt.Y(f"{value}:Q", title=None)
    colour = alt.Color(
        f"{group}:N",
        sort=order,
        title=None,
        scale=alt.Scale(domain=order, range=list(theme.JUDGE_COLOURS[: len(order)])),
    )
    tooltip = [
        alt.Tooltip(f"{group}:N", title=""),
        alt.Tooltip("questions:Q", title="Questions", format=",d"),
        alt.Tooltip(f"{value}:Q", title="Points", format=".2f"),
    ]
    return theme.fitted(
        alt.layer(
            base.mark_line().encode(x=x, y=y, color=colour),
            base.mark_circle(size=36).encode(x=x, y=y, color=colour, tooltip=tooltip),
        ),
        height=_HEIGHT,
    )


def _round(numbers: pl.Series) -> alt.Axis:
    """Ticks of an axis of ratios at 1, 2 and 5 times the powers of ten that its numbers reach over."""
    low, high = (float(end) for end in (numbers.drop_nulls().min() or 1, numbers.drop_nulls().max() or 1))  # type: ignore[arg-type]
    ticks = [factor * 10**power for power in range(8) for factor in (1, 2, 5)]
    shown = [tick for tick in ticks if low <= tick <= high]
    return alt.Axis(values=shown, format=",d")


def by_gap(rows: pl.DataFrame, *, group: str, order: list[str]) -> alt.LayerChart | alt.FacetChart:
    """Questions needed over the size of the gap, one line a group. rows: `gap`, `questions` and the group."""
    base = alt.Chart(in_points(rows, "gap"))
    x = alt.X("gap:Q", title="True gap, points")
    y = alt.Y("questions:Q", title=None, scale=alt.Scale(type="log", nice=False), axis=_round(rows["questions"]))
    colour = alt.Color(
        f"{group}:N",
        sort=order,
        title=None,
        scale=alt.Scale(domain=order, range=list(theme.JUDGE_COLOURS[: len(order)])),
    )
    tooltip = [
        alt.Tooltip(f"{group}:N", title=""),
        alt.Tooltip("gap:Q", title="Gap, points", format=".1f"),
        alt.Tooltip("questions:Q", title="Questions", format=",.0f"),
    ]
    return theme.fitted(
        alt.layer(
            base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
            base.mark_circle(size=30, opacity=0).encode(x=x, y=y, color=colour, tooltip=tooltip),
        ),
        height=_HEIGHT,
    )
