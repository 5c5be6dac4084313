"""Estimates of several kinds side by side: coefficients by group, parts by model."""

import altair as alt
import polars as pl

from gamut_analysis.charts import theme

_ROW = 16  # pixels of one estimate


def dots_by_group(
    rows: pl.DataFrame, *, group: str, kind: str, order: list[str], kinds: list[str], title: str
) -> alt.LayerChart | alt.FacetChart:
    """For each group one line of dots with intervals, a kind by shape and hue.

    rows: `group`, `kind`, estimate, low, high, n; undefined ones are left out.
    """
    base = alt.Chart(rows.drop_nulls("estimate"))
    y = alt.Y(f"{group}:N", sort=order, title=None)
    offset = alt.YOffset(f"{kind}:N", sort=kinds)
    colour = alt.Color(
        f"{kind}:N",
        sort=kinds,
        title=None,
        scale=alt.Scale(domain=kinds, range=list(theme.JUDGE_COLOURS[: len(kinds)])),
    )
    shape = alt.Shape(
        f"{kind}:N", sort=kinds, title=None, scale=alt.Scale(domain=kinds, range=list(theme.JUDGE_SHAPES[: len(kinds)]))
    )
    tooltip = [
        alt.Tooltip(f"{group}:N", title=""),
        alt.Tooltip(f"{kind}:N", title=""),
        alt.Tooltip("estimate:Q", title="Estimate", format=".3f"),
        alt.Tooltip("low:Q", title="Low", format=".3f"),
        alt.Tooltip("high:Q", title="High", format=".3f"),
        alt.Tooltip("n:Q", title="n"),
    ]
    return theme.fitted(
        alt.layer(
            base.mark_rule(strokeWidth=1.4).encode(
                x=alt.X("low:Q", title=title, scale=alt.Scale(zero=False)),
                x2="high:Q",
                y=y,
                yOffset=offset,
                color=colour,
            ),
            base.mark_point(size=50, filled=True).encode(
                x="estimate:Q", y=y, yOffset=offset, color=colour, shape=shape, tooltip=tooltip
            ),
        ).properties(height=alt.Step(_ROW))
    )
