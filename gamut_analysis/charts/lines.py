"""Lines between positions: how a model's place changes from judge to judge, or from one variant to the other."""

import textwrap

import altair as alt
import numpy as np
import polars as pl
from scipy.optimize import isotonic_regression

from gamut_analysis.charts import theme
from gamut_analysis.charts.units import in_points

_HEIGHT = 22
_LABEL = 16  # pixels that a name needs
_LETTERS = 10  # the longest name of a variant
_NAME = 28  # letters of a model's name in one line
_LETTER = 7.2  # pixels
_AXIS = 40  # pixels beside the first position


def slopes(
    positions: pl.DataFrame, *, at: str, order: list[str], name: str = "name", focus: str | None = None
) -> alt.LayerChart | alt.FacetChart:
    """Each model's score at every judge or variant, joined by a line; names stand at the last position.

    positions: rows of `name`, the column `at` and `estimate`; order: its values from left to right.
    """
    frame = in_points(positions, "estimate").with_columns(is_focus=pl.col(name) == (focus or ""))
    lines = {shown: textwrap.wrap(shown, _NAME) or [shown] for shown in frame[name].unique()}
    room = round(max(len(line) for parts in lines.values() for line in parts) * _LETTER) + 12
    colour = alt.condition("datum.is_focus", alt.value(theme.FOCUS), alt.value(theme.FIELD))
    base = alt.Chart(frame)
    x = alt.X(
        f"{at}:N",
        sort=order,
        title=None,
        axis=alt.Axis(labelColor=theme.INK, labelExpr=theme.wrapped(_LETTERS)),
        scale=alt.Scale(padding=0, range=[_AXIS, alt.ExprRef(f"max(width - {room}, width / 2)")]),
    )
    y = alt.Y("estimate:Q", title=None, scale=alt.Scale(zero=False))
    tooltip = [
        alt.Tooltip(f"{name}:N", title=""),
        alt.Tooltip(f"{at}:N", title=""),
        alt.Tooltip("estimate:Q", title="Points", format=".1f"),
    ]
    tallest = max(map(len, lines.values()))
    height = max(240, _HEIGHT * len(lines) * tallest)
    ends = frame.filter(pl.col(at) == order[-1]).with_columns(
        lines=pl.col(name).replace_strict({shown: "\n".join(parts) for shown, parts in lines.items()})
    )
    last = alt.Chart(_spread_labels(ends, height, _LABEL * tallest + (tallest > 1) * _LABEL // 2))
    middle = alt.expr("-7 * (length(split(datum.lines, '\\n')) - 1)")
    return theme.fitted(
        alt.layer(
            base.mark_line(strokeWidth=1.4).encode(x=x, y=y, detail=f"{name}:N", color=colour),
            base.mark_circle(size=40).encode(x=x, y=y, color=colour, tooltip=tooltip),
            last.mark_text(align="left", dx=9, dy=middle, lineBreak="\n").encode(
                x=x, y="label_at:Q", text="lines:N", color=colour
            ),
        ),
        width=theme.WIDTH,
        height=height,
    )


def _spread_labels(last: pl.DataFrame, height: int, label: int) -> pl.DataFrame:
    """Heights for the names, moved apart as little as keeps them legible, in the order of the values."""
    ordered = last.sort("estimate")
    values = ordered["estimate"].to_numpy()
    apart = (values.max() - values.min() or 1.0) / height * label * np.arange(len(values))
    # Least squares under "each at least one label above the one below": isotonic regression of values less their gaps.
    labels = isotonic_regression(values - apart).x + apart
    return ordered.with_columns(label_at=pl.Series(labels))


def scatter(
    frame: pl.DataFrame,
    *,
    x: str,
    y: str,
    group: str,
    x_title: str,
    y_title: str,
    name: str = "name",
) -> alt.LayerChart | alt.FacetChart:
    """Two scores of each model against each other, told apart by a group of shape and hue; the line marks equality."""
    points = in_points(frame, x, y)
    groups = points[group].unique(maintain_order=True).to_list()
    is_wide = sum(len(name) * _LETTER + _AXIS for name in groups) > theme.WIDTH
    base = alt.Chart(points)
    zero = alt.Chart(pl.DataFrame({"zero": [0]})).mark_rule(strokeDash=[3, 3]).encode(y="zero:Q")
    marks = base.mark_point(size=60, filled=True).encode(
        x=alt.X(f"{x}:Q", title=x_title, scale=alt.Scale(zero=False)),
        y=alt.Y(f"{y}:Q", title=None),
        color=alt.Color(
            f"{group}:N",
            sort=groups,
            title=None,
            legend=alt.Legend(columns=1) if is_wide else alt.Legend(),
            scale=alt.Scale(domain=groups, range=list(theme.JUDGE_COLOURS[: len(groups)])),
        ),
        shape=alt.Shape(
            f"{group}:N",
            sort=groups,
            title=None,
            scale=alt.Scale(domain=groups, range=list(theme.JUDGE_SHAPES[: len(groups)])),
        ),
        tooltip=[
            alt.Tooltip(f"{name}:N", title=""),
            alt.Tooltip(f"{group}:N", title=""),
            alt.Tooltip(f"{x}:Q", title=x_title, format=".1f"),
            alt.Tooltip(f"{y}:Q", title=y_title, format="+.1f"),
        ],
    )
    return theme.fitted(alt.layer(zero, marks), height=320)
