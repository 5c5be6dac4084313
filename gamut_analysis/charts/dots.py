"""Dots with intervals: one row a model, a domain or a judge; one model in colour, the field in grey."""

import altair as alt
import polars as pl

from gamut_analysis.charts import theme
from gamut_analysis.charts.units import in_points, on_scale
from gamut_analysis.display import format_points

_LETTER = 7
_NUMBER = 40  # pixels of the number beyond an interval
_PLOT = 400  # pixels that intervals have, at least


def field(
    board: pl.DataFrame,
    *,
    focus: str | None = None,
    name: str = "name",
    title: str = "Score, points",
    reference: str | None = None,
) -> alt.LayerChart | alt.FacetChart:
    """Means with intervals, best first; the focus in colour; tied groups as letters; published values as open diamonds.

    board: one row a model with `name`, `estimate`, `low`, `high`, and optionally `group` and a column of
    published scores named by `reference`.
    """
    frame = on_scale(in_points(board, "estimate", "low", "high", reference or "")).with_columns(
        is_focus=pl.col(name) == (focus or "")
    )
    order = frame.sort("estimate", descending=True, nulls_last=True)[name].to_list()
    y = alt.Y(f"{name}:N", sort=order, title=None)
    colour = (
        alt.condition("datum.is_focus", alt.value(theme.FOCUS), alt.value(theme.FIELD))
        if focus
        else alt.value(theme.FOCUS)
    )
    base = alt.Chart(frame)
    letters = max(map(len, frame["group"].drop_nulls()), default=0) if "group" in frame.columns else 0
    shown = ["left", "right", "estimate", *([reference] if reference else [])]
    x = alt.X("left:Q", title=title, scale=_scale(frame.select(shown), 24, _NUMBER + _LETTER * letters))
    tooltip = _tooltip(frame, name)
    layers = [
        base.mark_rule(strokeWidth=1.6).encode(x=x, x2="right:Q", y=y, color=colour),
        base.mark_circle(size=62, opacity=1).encode(x="estimate:Q", y=y, color=colour, tooltip=tooltip),
        base.mark_text(align="left", dx=6).encode(
            x="right:Q", y=y, text=alt.Text("estimate:Q", format=".1f"), color=colour
        ),
    ]
    if "group" in frame.columns and frame["group"].null_count() < frame.height:
        layers.append(
            base.mark_text(align="left", dx=40, fontStyle="italic", color=theme.FIELD).encode(
                x="right:Q", y=y, text="group:N"
            )
        )
    if reference is not None and frame[reference].null_count() < frame.height:
        layers.append(
            base.mark_point(shape="diamond", size=60, filled=False, strokeWidth=1.6, color=theme.RIVAL).encode(
                x=f"{reference}:Q",
                y=y,
                tooltip=[
                    alt.Tooltip(f"{name}:N", title=""),
                    alt.Tooltip(f"{reference}:Q", title="Published", format=".1f"),
                ],
            )
        )
    return theme.fitted(alt.layer(*layers))


def strips(measures: pl.DataFrame, *, name: str = "name") -> alt.VConcatChart:
    """Each measure on a strip of its own: the field as grey ticks, the model in colour with its value beside it.

    measures: rows of `measure`, `name`, `value`, `low`, `high`, `is_focus`, `unit`, in the order to be shown.
    """
    frame = in_points(measures, "value", "low", "high")
    parts = frame.partition_by("measure", maintain_order=True, as_dict=True)
    return alt.vconcat(*(_strip(part, str(measure), name) for (measure,), part in parts.items()), spacing=4)


def _strip(part: pl.DataFrame, measure: str, name: str) -> alt.LayerChart | alt.FacetChart:
    unit = part["unit"][0]
    base = alt.Chart(part)
    x = alt.X(
        "value:Q",
        title=None,
        scale=alt.Scale(zero=False, padding=12),
        axis=alt.Axis(tickCount=5, grid=False, domain=False),
    )
    y = alt.Y("measure:N", title=None, axis=alt.Axis(minExtent=150, maxExtent=150))
    tooltip = [alt.Tooltip(f"{name}:N", title=""), alt.Tooltip("value:Q", title=f"{measure}, {unit}", format=".1f")]
    others = base.transform_filter("!datum.is_focus").mark_circle(size=46, opacity=0.55, color=theme.FIELD)
    own = base.transform_filter("datum.is_focus")
    return alt.layer(
        others.encode(x=x, y=y, tooltip=tooltip),
        own.mark_rule(strokeWidth=2, color=theme.FOCUS).encode(x="low:Q", x2="high:Q", y=y),
        own.mark_circle(size=95, opacity=1, color=theme.FOCUS).encode(x="value:Q", y=y, tooltip=tooltip),
        own.mark_text(dy=-12, color=theme.FOCUS, fontWeight="bold").encode(
            x="value:Q", y=y, text=alt.Text("value:Q", format=".1f")
        ),
    ).properties(width=theme.WIDTH - 150, height=34)


def against_field(parts: pl.DataFrame, *, part: str, title: str) -> alt.LayerChart | alt.FacetChart:
    """A model beside the field's median, part by part, sorted by the difference; small parts hollow.

    parts: rows of the part, `own`, `low`, `high`, `median`, `difference`, `n`, `is_small`.
    """
    order = parts.sort("difference", descending=True, nulls_last=True)[part].to_list()
    y = alt.Y(f"{part}:N", sort=order, title=None)
    base = alt.Chart(on_scale(in_points(parts, "own", "low", "high", "median", "difference")))
    tooltip = [
        alt.Tooltip(f"{part}:N", title=""),
        alt.Tooltip("own:Q", title="This model", format=".1f"),
        alt.Tooltip("median:Q", title="Median of the field", format=".1f"),
        alt.Tooltip("difference:Q", title="Difference", format="+.1f"),
        alt.Tooltip("n:Q", title="Questions"),
    ]
    fill = alt.condition("datum.is_small", alt.value("transparent"), alt.value(theme.FOCUS))
    return theme.fitted(
        alt.layer(
            base.mark_rule(strokeWidth=1.6, color=theme.FOCUS).encode(
                x=alt.X("left:Q", title=title, scale=alt.Scale(zero=False)), x2="right:Q", y=y
            ),
            base.mark_tick(thickness=3, size=15, color=theme.FIELD).encode(x="median:Q", y=y, tooltip=tooltip),
            base.mark_point(size=62, strokeWidth=1.6, filled=True, stroke=theme.FOCUS).encode(
                x="own:Q", y=y, fill=fill, tooltip=tooltip
            ),
        )
    )


def around_zero(rows: pl.DataFrame, *, part: str, title: str) -> alt.LayerChart | alt.FacetChart:
    """Differences with their intervals around zero, in the order given; those that may be noise hollow.

    rows: one row a part with `estimate`, `low`, `high`, `n` and `verdict`.
    """
    y = alt.Y(f"{part}:N", sort=rows[part].to_list(), title=None)
    frame = in_points(rows, "estimate", "low", "high").with_columns(
        is_apart=pl.col("verdict").is_in(["ahead", "behind"]).fill_null(False),
        label=pl.Series([format_points(value, signed=True) for value in rows["estimate"]], dtype=pl.String),
        edge=pl.coalesce(pl.when(pl.col("estimate") < 0).then("low").otherwise("high"), "estimate"),
    )
    base = alt.Chart(frame)
    zero = alt.Chart(pl.DataFrame({"zero": [0]})).mark_rule(strokeDash=[3, 3], color=theme.FIELD).encode(x="zero:Q")
    fill = alt.condition("datum.is_apart", alt.value(theme.FOCUS), alt.value(theme.PAPER))
    tooltip = _tooltip(rows, part)
    # Labels stand on the far side of zero, so its line crosses none.
    ends = frame.select("low", "high", "estimate", zero=pl.lit(0.0))
    x = alt.X("low:Q", title=title, scale=_scale(ends, _NUMBER, _NUMBER))
    return theme.fitted(
        alt.layer(
            zero,
            base.mark_rule(strokeWidth=1.6, color=theme.FOCUS).encode(x=x, x2="high:Q", y=y),
            base.mark_point(size=62, strokeWidth=1.6, filled=True, opacity=1, stroke=theme.FOCUS).encode(
                x="estimate:Q", y=y, fill=fill, tooltip=tooltip
            ),
            base.mark_text(
                align=alt.expr("datum.estimate < 0 ? 'right' : 'left'"), dx=alt.expr("datum.estimate < 0 ? -6 : 6")
            ).encode(x="edge:Q", y=y, text="label:N"),
        )
    )


def judges(board: pl.DataFrame, *, title: str = "Score, points") -> alt.LayerChart | alt.FacetChart:
    """One model's score by judge with intervals, each judge by shape and hue: judge, estimate, low, high and n."""
    order = board.sort("estimate", descending=True)["judge"].to_list()
    y = alt.Y("judge:N", sort=order, title=None)
    colour = alt.Color("judge:N", sort=order, legend=None, scale=alt.Scale(range=list(theme.JUDGE_COLOURS)))
    base = alt.Chart(on_scale(in_points(board, "estimate", "low", "high")))
    return theme.fitted(
        alt.layer(
            base.mark_rule(strokeWidth=1.6).encode(
                x=alt.X("left:Q", title=title, scale=alt.Scale(zero=False)), x2="right:Q", y=y, color=colour
            ),
            base.mark_point(size=80, filled=True, opacity=1).encode(
                x="estimate:Q",
                y=y,
                color=colour,
                shape=alt.Shape("judge:N", sort=order, legend=None),
                tooltip=_tooltip(board, "judge"),
            ),
            base.mark_text(align="left", dx=6).encode(x="right:Q", y=y, text=alt.Text("estimate:Q", format=".1f")),
        )
    )


def _scale(drawn: pl.DataFrame, left: float, right: float) -> alt.Scale:
    """A scale of all that is drawn, with so many pixels of room at its ends.

    Said in numbers: room in pixels moves the ends, and with them the last label of the axis, while a chart is fitted.
    """
    values = [value for column in drawn.get_columns() for value in column.drop_nulls()]
    low, high = min(values, default=0.0), max(values, default=1.0)
    pixel = (high - low or 1.0) / _PLOT
    return alt.Scale(domain=[low - left * pixel, high + right * pixel], nice=True)


def _tooltip(frame: pl.DataFrame, name: str) -> list[alt.Tooltip]:
    shown = [
        alt.Tooltip(f"{name}:N", title=""),
        alt.Tooltip("estimate:Q", title="Points", format=".1f"),
        alt.Tooltip("low:Q", title="Low", format=".1f"),
        alt.Tooltip("high:Q", title="High", format=".1f"),
    ]
    return [*shown, alt.Tooltip("n:Q", title="Questions")] if "n" in frame.columns else shown
