"""Figures of rubrics: which structures come together, and how much flexible lists ask for."""

from typing import Any

import altair as alt
import polars as pl

from gamut_analysis.charts import theme

# Pixels of the figure of combinations, from the left and from the top.
_STEP = 22
_SIZES = 88
_NAMES = 108
_BARS = 150
_HEAD = 18


def upset(
    combinations: pl.DataFrame, sizes: pl.DataFrame, *, sets: dict[str, str], count: str = "questions"
) -> alt.LayerChart | alt.FacetChart:
    """Which sets come together: bars of how many have just this combination over a grid of what is in it.

    combinations: a boolean column a set, `combination` in words, and `count`, in the order to be shown; sizes: rows of
    `structure` (a set) and `count`, bars that grow to the left; sets: columns and what they are called, from the top
    row down. All is placed in pixels, so that the three parts line up.
    """
    left, top = _SIZES + _NAMES, _HEAD + _BARS
    columns = combinations.with_row_index("place").with_columns(x=left + _STEP * (pl.col("place") + 0.5))
    most = max(int(columns[count].max() or 1), 1)  # type: ignore[arg-type]
    columns = columns.with_columns(base=pl.lit(top), tip=top - _BARS * pl.col(count) / most)
    cells = _cells(columns, sets, top)
    inside = cells.filter(pl.col("has"))
    spans = inside.group_by("place", "x", maintain_order=True).agg(
        pl.col("y").min().alias("upper"), pl.col("y").max().alias("lower")
    )
    rows = _set_rows(sizes, sets, count, top)
    width, height = left + _STEP * columns.height, top + _STEP * len(sets)
    tooltip = [alt.Tooltip("combination:N", title=""), alt.Tooltip(f"{count}:Q", title=count.capitalize())]
    bars = alt.Chart(columns).encode(x=_across("x", width))
    names = alt.Chart(rows).encode(y=_down("y", height))
    grid = {"x": _across("x", width), "y": _down("y", height)}
    return alt.layer(
        bars.mark_rule(strokeWidth=13, color=theme.FOCUS).encode(y=_down("base", height), y2="tip:Q", tooltip=tooltip),
        bars.mark_text(dy=-8, fontSize=10.5).encode(y=_down("tip", height), text=f"{count}:Q"),
        names.mark_rule(strokeWidth=12, color=theme.FIELD).encode(x=_across("base", width), x2="tip:Q"),
        names.mark_text(align="right", dx=-5).encode(x=_across("tip", width), text=alt.Text(f"{count}:Q", format=",")),
        names.mark_text(align="left").encode(x=_across("name_at", width), text="label:N"),
        alt.Chart(cells).mark_circle(size=70, color=theme.RULE, opacity=1).encode(**grid),
        alt.Chart(spans)
        .mark_rule(strokeWidth=2, color=theme.FOCUS)
        .encode(x=_across("x", width), y=_down("upper", height), y2="lower:Q"),
        alt.Chart(inside)
        .mark_circle(size=70, color=theme.FOCUS, opacity=1)
        .encode(**grid, tooltip=[alt.Tooltip("combination:N", title="")]),
    ).properties(width=width, height=height)


def _across(field: str, width: int) -> alt.X:
    return alt.X(f"{field}:Q", axis=None, scale=alt.Scale(domain=[0, width], nice=False, zero=False))


def _down(field: str, height: int) -> alt.Y:
    return alt.Y(f"{field}:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False, zero=False))


def _cells(columns: pl.DataFrame, sets: dict[str, str], top: int) -> pl.DataFrame:
    """Every set of every combination, and where it stands."""
    place = {name: row for row, name in enumerate(sets)}
    return columns.unpivot(
        list(sets), index=["place", "x", "combination"], variable_name="structure", value_name="has"
    ).with_columns(y=top + _STEP * (pl.col("structure").replace_strict(place, return_dtype=pl.Int64) + 0.5))


def _set_rows(sizes: pl.DataFrame, sets: dict[str, str], count: str, top: int) -> pl.DataFrame:
    """Every set with its size, and where its name and its bar stand."""
    rows = pl.DataFrame({"structure": list(sets), "label": list(sets.values()), "row": list(range(len(sets)))})
    placed = rows.join(sizes.select(pl.col("structure").cast(pl.String), count), on="structure")
    most = max(int(placed[count].max() or 1), 1)  # type: ignore[arg-type]
    return placed.with_columns(
        y=top + _STEP * (pl.col("row") + 0.5),
        base=pl.lit(_SIZES),
        tip=_SIZES - (_SIZES - 34) * pl.col(count) / most,
        name_at=pl.lit(_SIZES + 10),
    )


def baselines(lists: pl.DataFrame, *, long: int) -> alt.LayerChart | alt.FacetChart:
    """How many of its options a flexible list asks for at least: a cell a pair with the number of such lists.

    lists: rows of `n_members`, `baseline` and `lists`. A dotted line stands before the length `long`, from which on
    coverage thresholds take the place of a bonus for each option.
    """
    cells = (
        lists.group_by("n_members", "baseline", maintain_order=True)
        .agg(pl.col("lists").sum())
        .sort("n_members", "baseline")
    )
    cells = cells.with_columns(
        left=pl.col("n_members") - 0.5,
        right=pl.col("n_members") + 0.5,
        low=pl.col("baseline") - 0.5,
        high=pl.col("baseline") + 0.5,
    )
    shortest, longest, most, reach = (
        int(value or 1)
        for value in cells.select(
            pl.col("n_members").min(),
            pl.col("n_members").max().alias("longest"),
            pl.col("baseline").max().alias("most"),
            pl.col("lists").max().alias("reach"),
        ).row(0)
    )
    is_split = shortest < long <= longest
    roof = most + (1.1 if is_split else 0.5)
    whole: dict[str, Any] = {"format": "d", "grid": False}
    across: dict[str, Any] = {
        "title": "Options of the list",
        "scale": alt.Scale(domain=[shortest - 0.5, longest + 0.5], nice=False, zero=False),
        "axis": alt.Axis(values=list(range(shortest, longest + 1)), **whole),
    }
    upwards: dict[str, Any] = {
        "title": "Options that the baseline asks for",
        "scale": alt.Scale(domain=[0.5, roof], nice=False, zero=False),
        "axis": alt.Axis(values=list(range(1, most + 1)), **whole),
    }
    base = alt.Chart(cells)
    tooltip = [
        alt.Tooltip("n_members:Q", title="Options"),
        alt.Tooltip("baseline:Q", title="Asked for at least"),
        alt.Tooltip("lists:Q", title="Lists"),
    ]
    line = alt.Chart(pl.DataFrame({"at": [long - 0.5], "top": [roof]}))
    layers = [
        base.mark_rect(stroke=theme.PAPER, strokeWidth=1).encode(
            x=alt.X("left:Q", **across),
            x2="right:Q",
            y=alt.Y("low:Q", **upwards),
            y2="high:Q",
            color=alt.Color("lists:Q", legend=None, scale=alt.Scale(domain=[0, reach], range=list(theme.SEQUENTIAL))),
            tooltip=tooltip,
        ),
        base.mark_text(fontSize=11).encode(
            x=alt.X("n_members:Q", **across),
            y=alt.Y("baseline:Q", **upwards),
            text="lists:Q",
            color=alt.condition(f"datum.lists > {0.6 * reach}", alt.value(theme.PAPER), alt.value(theme.INK)),
        ),
    ]
    if is_split:
        layers.append(line.mark_rule(strokeDash=[3, 3]).encode(x=alt.X("at:Q", **across)))
        words = line.mark_text(align="left", baseline="top", dx=6, dy=4, text="with coverage thresholds")
        layers.append(words.encode(x=alt.X("at:Q", **across), y=alt.Y("top:Q", **upwards)))
    return theme.fitted(alt.layer(*layers), height=round(34 * roof))
