"""Text-only against multimodal: what every model gains, and whether the gain depends on how good the model is."""

from typing import Any

import altair as alt
import polars as pl

from gamut_analysis.charts import theme
from gamut_analysis.charts.units import in_points

_HEIGHT = 280
_LETTERS = 24


def gains(
    rows: pl.DataFrame, *, mean: float | None = None, focus: str | None = None, name: str = "name"
) -> alt.LayerChart | alt.FacetChart:
    """Matched gains with two intervals, the largest first; plain differences as open diamonds; a line at the mean gain.

    rows: one row a model with `name`, `estimate`, `low`, `high` (of this model alone), `low_all`, `high_all` (of all
    models at once), `naive` and `n`. mean: in the units of the estimates.
    """
    ends = ("low", "high", "low_all", "high_all")
    frame = in_points(rows, "estimate", *ends, "naive").with_columns(is_focus=pl.col(name) == (focus or ""))
    order = frame.sort("estimate", descending=True, nulls_last=True)[name].to_list()
    y = alt.Y(f"{name}:N", sort=order, title=None)
    colour = (
        alt.condition("datum.is_focus", alt.value(theme.FOCUS), alt.value(theme.FIELD))
        if focus
        else alt.value(theme.FOCUS)
    )
    tooltip = [
        alt.Tooltip(f"{name}:N", title=""),
        alt.Tooltip("estimate:Q", title="Matched gain", format="+.1f"),
        alt.Tooltip("low:Q", title="Low", format="+.1f"),
        alt.Tooltip("high:Q", title="High", format="+.1f"),
        alt.Tooltip("naive:Q", title="Plain difference", format="+.1f"),
        alt.Tooltip("n:Q", title="Questions"),
    ]
    base = alt.Chart(frame)
    x = alt.X("low_all:Q", title="Gain, points", scale=alt.Scale(zero=True))
    layers = [
        base.mark_rule(strokeWidth=1).encode(x=x, x2="high_all:Q", y=y, color=colour),
        base.mark_rule(strokeWidth=3).encode(x="low:Q", x2="high:Q", y=y, color=colour),
        base.mark_circle(size=70).encode(x="estimate:Q", y=y, color=colour, tooltip=tooltip),
        base.mark_point(shape="diamond", size=60, filled=False, strokeWidth=1.6, color=theme.RIVAL).encode(
            x="naive:Q", y=y, tooltip=tooltip
        ),
        base.mark_text(dy=-11).encode(x="estimate:Q", y=y, text=alt.Text("estimate:Q", format="+.1f"), color=colour),
    ]
    if mean is not None:
        layers.insert(0, _mean_rule(mean, "x"))
    return theme.fitted(alt.layer(*layers))


def levels(
    points: pl.DataFrame, lines: pl.DataFrame, *, mean: float, name: str = "name"
) -> alt.HConcatChart | alt.VConcatChart:
    """Gain against two measures of level, side by side on one scale of gains, with a fitted line in each.

    points: rows of `panel` (the title of the axis), `name`, `level`, `gain`, `is_focus`, and `label`, the name where it
    stands at the mark and else empty. lines: rows of `panel`, `kind` (fitted or expected), `level`, `gain`, two a line.
    """
    panels = points["panel"].unique(maintain_order=True).to_list()
    shown, fits = in_points(points, "level", "gain"), in_points(lines, "level", "gain")
    middle = (pl.col("level").min() + pl.col("level").max()).over("panel") / 2
    shown = shown.with_columns(is_right=pl.col("level") > middle)
    reach = pl.concat([shown["gain"], fits["gain"]])
    room = (float(reach.max()) - float(reach.min())) * 0.08 or 1.0  # type: ignore[arg-type]
    domain = [min(float(reach.min()) - room, 0.0), float(reach.max()) + room]  # type: ignore[arg-type]
    width = theme.panel_width(len(panels), labels=60)
    parts = [
        _panel(
            shown.filter(panel=panel), fits.filter(panel=panel), panel, domain, mean, name, is_first=place == 0
        ).properties(width=width, height=_HEIGHT)
        for place, panel in enumerate(panels)
    ]
    return alt.hconcat(*parts, spacing=20)


def _panel(
    points: pl.DataFrame,
    lines: pl.DataFrame,
    title: str,
    domain: list[float],
    mean: float,
    name: str,
    *,
    is_first: bool,
) -> alt.LayerChart | alt.FacetChart:
    y = alt.Y(
        "gain:Q",
        title="Gain, points" if is_first else None,
        scale=alt.Scale(domain=domain, nice=False),
        axis=alt.Axis(labels=is_first),
    )
    levels = [*points["level"], *lines["level"]]
    # Told, because a layer of labels may hold no row to find it from.
    x = alt.X("level:Q", title=title, scale=alt.Scale(domain=[min(levels), max(levels)], nice=True))
    base = alt.Chart(points)
    colour = alt.condition("datum.is_focus", alt.value(theme.FOCUS), alt.value(theme.FIELD))
    dash = alt.StrokeDash("kind:N", legend=None, scale=alt.Scale(domain=["fitted", "expected"], range=[[1, 0], [3, 3]]))
    tooltip = [
        alt.Tooltip(f"{name}:N", title=""),
        alt.Tooltip("level:Q", title=title, format=".1f"),
        alt.Tooltip("gain:Q", title="Gain, points", format="+.1f"),
    ]
    return alt.layer(
        _mean_rule(mean, "y"),
        alt.Chart(lines).mark_line(color=theme.FOCUS, strokeWidth=1.6).encode(x=x, y=y, strokeDash=dash),
        base.mark_circle(size=50).encode(x=x, y=y, color=colour, tooltip=tooltip),
        _label(base.transform_filter("!datum.is_right"), x, y, is_right=False),
        _label(base.transform_filter("datum.is_right"), x, y, is_right=True),
    )


def _label(marked: alt.Chart, x: alt.X, y: alt.Y, *, is_right: bool) -> alt.Chart:
    """Names beside their marks, towards the middle of the panel."""
    lined = marked.transform_filter("datum.label").transform_calculate(lines=theme.wrapped(_LETTERS))
    side: dict[str, Any] = {"align": "right", "dx": -8} if is_right else {"align": "left", "dx": 8}
    return lined.mark_text(**side).encode(x=x, y=y, text="lines:N")


def _mean_rule(mean: float, axis: str) -> alt.Chart:
    """A line at the mean gain: where every model would lie if the gain were one and the same."""
    frame = in_points(pl.DataFrame({"mean": [mean]}), "mean")
    return alt.Chart(frame).mark_rule(color=theme.FIELD_SOFT, strokeWidth=1.2).encode(**{axis: "mean:Q"})
