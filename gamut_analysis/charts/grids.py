"""Grids of models: who beats whom, which rank is likely, which domain is hard; and how question scores spread."""

import json

import altair as alt
import polars as pl

from gamut_analysis.charts import theme
from gamut_analysis.charts.units import in_points
from gamut_analysis.vocabulary import TIER_COLOURS, TIER_LABELS

_CELL = 24
_NARROW = 16  # a cell that still holds a number of two digits
_WIDEST = 720  # pixels of a page, into which a grid of many columns goes
_LABELS = 140  # pixels that the names of rows are given at least
_LETTER = 6.6
_LEAN = 0.71  # of the length of a label that leans by 45 degrees, along its axis


def heat(
    cells: pl.DataFrame,
    *,
    row: str,
    column: str,
    value: str,
    rows: list[str],
    columns: list[str],
    title: str,
    text: str = ".0f",
) -> alt.LayerChart | alt.FacetChart:
    """Values of a grid as shade and number; diverging and centred at zero when they have both signs.

    cells: one row a cell with the names of its row and column and a value, a score or a share.
    """
    cells = in_points(cells, value)
    low, high = cells.select(pl.col(value).min().alias("low"), pl.col(value).max().alias("high")).row(0)
    diverging = low is not None and low < 0 < high
    reach = max(abs(low or 0), abs(high or 0)) or 1
    scale = (
        alt.Scale(domain=[-reach, reach], range=list(theme.DIVERGING), interpolate="lab")
        if diverging
        else alt.Scale(domain=[0, reach], range=list(theme.SEQUENTIAL), interpolate="lab")
    )
    longest = max(map(len, rows), default=0)
    labels = _LETTER * min(longest, theme.NAME_LETTERS) + 10
    step, angle = _columns(columns, theme.WIDTH - max(round(labels), _LABELS))
    base = alt.Chart(cells).encode(
        x=alt.X(
            f"{column}:N",
            sort=columns,
            title=None,
            axis=alt.Axis(labelAngle=angle, labelExpr="datum.label", orient="top"),
        ),
        y=alt.Y(f"{row}:N", sort=rows, title=None),
    )
    dark = f"abs(datum[{json.dumps(value)}]) > {0.6 * reach}"
    return alt.layer(
        base.mark_rect(stroke=theme.PAPER, strokeWidth=1).encode(
            color=alt.Color(f"{value}:Q", title=title, scale=scale, legend=None),
            tooltip=[
                alt.Tooltip(f"{row}:N", title=""),
                alt.Tooltip(f"{column}:N", title=""),
                alt.Tooltip(f"{value}:Q", title=title, format=".1f"),
            ],
        ),
        base.mark_text(fontSize=10 if step >= _CELL else 9.5).encode(
            text=alt.Text(f"{value}:Q", format=text),
            color=alt.condition(dark, alt.value(theme.PAPER), alt.value(theme.INK)),
        ),
    ).properties(width=alt.Step(step), height=alt.Step(_CELL if longest <= theme.NAME_LETTERS else theme.current().row))


def _columns(names: list[str], room: float) -> tuple[int, int]:
    """The width of a column and the angle of its label, all within the room.

    Labels that fit stand over their columns; longer ones lean, each on one line, for a second would lie in a cell.
    Where the last of them would lean too far out of the figure they stand upright.
    """
    number = max(len(names), 1)
    longest = _LETTER * max(map(len, names), default=0)
    wide, leaning = int(room // number), int((room - _LEAN * longest) // number)
    narrow = min(max(_NARROW, int((room + _WIDEST - theme.WIDTH) // number)), _CELL)
    level = wide if wide >= _CELL else narrow
    if longest <= level:
        return level, 0
    return (leaning, -45) if leaning >= _CELL else (narrow, -90)


def spread(quantiles: pl.DataFrame, *, order: list[str], name: str = "name") -> alt.LayerChart | alt.FacetChart:
    """How question scores spread: whiskers from the 5th to the 95th percentile, a bar over the middle half, the median.

    quantiles: rows of `name`, q05, q25, q50, q75, q95 and `negative`, the share of questions below zero.
    """
    y = alt.Y(f"{name}:N", sort=order, title=None)
    base = alt.Chart(in_points(quantiles, "q05", "q25", "q50", "q75", "q95", "negative"))
    zero = alt.Chart(pl.DataFrame({"zero": [0]})).mark_rule(strokeDash=[3, 3], color=theme.FIELD).encode(x="zero:Q")
    tooltip = [
        alt.Tooltip(f"{name}:N", title=""),
        alt.Tooltip("q50:Q", title="Median", format=".1f"),
        alt.Tooltip("negative:Q", title="% below zero", format=".1f"),
    ]
    return theme.fitted(
        alt.layer(
            zero,
            base.mark_rule(strokeWidth=1, color=theme.FIELD).encode(
                x=alt.X("q05:Q", title="Question score, points"), x2="q95:Q", y=y
            ),
            base.mark_rule(strokeWidth=5, color=theme.FIELD_SOFT).encode(x="q25:Q", x2="q75:Q", y=y),
            base.mark_circle(size=55, color=theme.FOCUS, opacity=1).encode(x="q50:Q", y=y, tooltip=tooltip),
            base.mark_text(align="left", dx=5, color=theme.FIELD).encode(
                x="q95:Q", y=y, text=alt.Text("negative:Q", format=".0f")
            ),
        )
    )


def tiers(profile: pl.DataFrame, *, order: list[str], name: str = "name") -> alt.LayerChart | alt.FacetChart:
    """Tier scores of each model on one line, from Answer-Critical to Context. Rows of name, tier_label and estimate."""
    y = alt.Y(f"{name}:N", sort=order, title=None)
    base = alt.Chart(in_points(profile, "estimate"))
    labels, colours = list(TIER_LABELS.values()), list(TIER_COLOURS.values())
    return theme.fitted(
        alt.layer(
            base.mark_line(strokeWidth=1, color=theme.FIELD_SOFT).encode(
                x=alt.X("estimate:Q", title="Tier score, points", scale=alt.Scale(zero=False)), y=y, detail=f"{name}:N"
            ),
            base.mark_point(size=60, filled=True, opacity=1).encode(
                x="estimate:Q",
                y=y,
                color=alt.Color("tier_label:N", sort=labels, title=None, scale=alt.Scale(domain=labels, range=colours)),
                shape=alt.Shape(
                    "tier_label:N",
                    sort=labels,
                    title=None,
                    scale=alt.Scale(domain=labels, range=["circle", "square", "triangle-up"]),
                ),
                tooltip=[
                    alt.Tooltip(f"{name}:N", title=""),
                    alt.Tooltip("tier_label:N", title="Tier"),
                    alt.Tooltip("estimate:Q", title="Points", format=".1f"),
                ],
            ),
        )
    )
