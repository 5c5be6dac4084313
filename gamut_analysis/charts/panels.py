"""Small multiples: the same rows or the same axis in several panels side by side."""

import altair as alt
import polars as pl

from gamut_analysis.charts import theme
from gamut_analysis.charts.literals import literal

_ROW = 20
_GAP = 22
_LETTER = 6.6
_LABELS = 60
_WORDS = 40


def dot_panels(
    rows: pl.DataFrame,
    *,
    panel: str,
    panels: list[str],
    row: str,
    order: list[str],
    titles: dict[str, str],
    focus: str | None = None,
    mark: str | None = None,
    zero: bool = False,
    shared: bool = False,
    digits: int = 1,
) -> alt.HConcatChart:
    """Dots with intervals, one row a name and one panel a measure.

    rows: `panel`, `row`, estimate, low, high, n, and the column `mark` of words to stand right of the panel where it
    is named; titles: the title of each panel's axis; zero: whether a dotted line marks no difference;
    shared: whether all panels have one axis, which measures in one unit need.
    """
    gap = _GAP if mark is None else 2 * _GAP + _WORDS
    own = max(_LABELS, round(_LETTER * min(theme.NAME_LETTERS, max(map(len, order), default=0))))
    width = theme.panel_width(len(panels), labels=own + gap - _GAP, gap=gap)
    frame = rows.drop_nulls("estimate").with_columns(is_focus=pl.col(row) == (focus or ""))
    low, high = pl.min_horizontal("low", "estimate").min(), pl.max_horizontal("high", "estimate").max()
    ends = frame.select(low.alias("low"), high.alias("high"))
    scale = alt.Scale(zero=False, nice=True, domain=list(ends.row(0))) if shared else alt.Scale(zero=False, nice=True)
    charts = []
    for place, name in enumerate(panels):
        part = frame.filter(pl.col(panel) == name)
        axis = alt.Axis(labels=place == 0)
        y = alt.Y(f"{row}:N", sort=None, title=None, axis=axis, scale=alt.Scale(domain=order))
        layers = _dots(part, row, y, alt.X("low:Q", title=titles[name], scale=scale), focus, digits)
        if mark is not None:
            words = alt.Chart(part).mark_text(align="left", dx=4, color=theme.MUTED)
            layers.append(words.encode(x=alt.value("width"), y=y, text=f"{mark}:N"))
        if zero:
            origin = pl.DataFrame({"zero": [0]})
            layers.insert(0, alt.Chart(origin).mark_rule(strokeDash=[3, 3]).encode(x="zero:Q"))
        charts.append(alt.layer(*layers).properties(width=width, height=_ROW * len(order), title=_heading(name)))
    return alt.hconcat(*charts, spacing=gap, bounds="flush")


def _heading(name: str) -> alt.TitleParams:
    """The name of a panel, over its left edge."""
    return alt.TitleParams(literal(name), fontSize=12, offset=6, frame="group")


def _dots(part: pl.DataFrame, row: str, y: alt.Y, x: alt.X, focus: str | None, digits: int) -> list[alt.Chart]:
    colour = (
        alt.condition("datum.is_focus", alt.value(theme.FOCUS), alt.value(theme.FIELD))
        if focus
        else alt.value(theme.FOCUS)
    )
    form = f".{digits}f"
    tooltip = [
        alt.Tooltip(f"{row}:N", title=""),
        alt.Tooltip("estimate:Q", title="Estimate", format=form),
        alt.Tooltip("low:Q", title="Low", format=form),
        alt.Tooltip("high:Q", title="High", format=form),
        alt.Tooltip("n:Q", title="Questions"),
    ]
    base = alt.Chart(part)
    return [
        base.mark_rule(strokeWidth=1.6).encode(x=x.axis(tickCount=3), x2="high:Q", y=y, color=colour),
        base.mark_circle(size=56, opacity=1).encode(x="estimate:Q", y=y, color=colour, tooltip=tooltip),
    ]


def bar_panels(
    rows: pl.DataFrame,
    *,
    panel: str,
    panels: list[str],
    x: str,
    count: str,
    x_title: str,
    count_title: str,
    colours: dict[str, str] | None = None,
    marks: pl.DataFrame | None = None,
    height: int = 62,
) -> alt.VConcatChart:
    """Counts of whole numbers as bars from zero, one panel above the other on one shared axis.

    rows: `panel`, the whole number `x` and its `count`; marks: `panel` and `value`, where a line stands with `label`.
    """
    low, high = (int(value or 0) for value in rows.select(pl.col(x).min(), pl.col(x).max().alias("high")).row(0))
    scale = alt.Scale(domain=[low - 0.5, high + 0.5], nice=False)
    edges = {"left": pl.col(x) - 0.42, "right": pl.col(x) + 0.42, "zero": pl.lit(0)}
    charts = []
    for place, name in enumerate(panels):
        last = place == len(panels) - 1
        axis = alt.Axis(title=x_title if last else None, labels=last, grid=False, tickMinStep=1, format="d")
        part = rows.filter(pl.col(panel) == name).with_columns(**edges)
        roof = 1.25 * max(int(part[count].max() or 1), 1)  # type: ignore[arg-type]
        upright = alt.Axis(tickCount=3, tickMinStep=1, format="d", minExtent=28, maxExtent=28)
        bars = (
            alt.Chart(part)
            .mark_bar(color=(colours or {}).get(name, theme.FIELD))
            .encode(
                x=alt.X("left:Q", scale=scale, axis=axis),
                x2="right:Q",
                y=alt.Y(
                    f"{count}:Q",
                    title=count_title if place == 0 else None,
                    axis=upright,
                    scale=alt.Scale(domain=[0, roof], nice=False),
                ),
                y2="zero:Q",
                tooltip=[alt.Tooltip(f"{x}:Q", title=x_title), alt.Tooltip(f"{count}:Q", title=count_title)],
            )
        )
        layers: list[alt.Chart] = [bars]
        if marks is not None:
            own = alt.Chart(marks.filter(pl.col(panel) == name))
            layers += [
                own.mark_rule(strokeWidth=2, color=theme.FOCUS).encode(x="value:Q"),
                own.mark_text(align="left", dx=5, y=3, color=theme.FOCUS).encode(x="value:Q", text="label:N"),
            ]
        charts.append(alt.layer(*layers).properties(width=theme.WIDTH - 60, height=height, title=_heading(name)))
    return alt.vconcat(*charts, spacing=8)
