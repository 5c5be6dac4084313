"""Figures of question texts: how they open, how long they are, what lies near what."""

from textwrap import wrap

import altair as alt
import polars as pl

from gamut_analysis.charts import theme
from gamut_analysis.charts.literals import literal
from gamut_analysis.charts.units import in_points
from gamut_analysis.vocabulary import TIER_COLOURS

_TREE_HEIGHT = 640
_LINE = 12
_PANELS = 5
_LETTER = 7  # pixels of a letter over a panel
_RANKS = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500)


def coverage(
    curves: pl.DataFrame, *, kinds: list[str], top: int, reference: float | None = None
) -> alt.LayerChart | alt.FacetChart:
    """How many questions the most common openings cover together, one curve a length of opening.

    curves: rows of `kind`, `rank` and `covered`; a dotted line stands at `top` openings, and an open diamond on it at
    the `reference` share.
    """
    frame = in_points(curves, "covered")
    shades = dict(zip(kinds, TIER_COLOURS.values(), strict=False))
    base = alt.Chart(frame)
    most = int(frame["rank"].max() or 1)  # type: ignore[arg-type]
    x = alt.X(
        "rank:Q",
        title="Openings, the most common first",
        scale=alt.Scale(type="log", domain=[1, max(most, top)], nice=False),
        axis=alt.Axis(values=[n for n in _RANKS if n <= max(most, top)]),
    )
    y = alt.Y("covered:Q", title="Questions covered, %", scale=alt.Scale(domain=[0, 100]))
    colour = alt.Color(
        "kind:N", legend=None, scale=alt.Scale(domain=kinds, range=[shades.get(kind, theme.FIELD) for kind in kinds])
    )
    tooltip = [
        alt.Tooltip("opening:N", title=""),
        alt.Tooltip("rank:Q", title="Rank"),
        alt.Tooltip("questions:Q", title="Questions"),
        alt.Tooltip("covered:Q", title="Covered, %", format=".1f"),
    ]
    named = frame.filter(pl.col("rank") <= top).sort("rank").group_by("kind", maintain_order=True).last()
    share = pl.col("covered").round(0).cast(pl.Int64).cast(pl.String)
    named = named.with_columns(told=pl.col("kind") + " " + share + " %")
    mark = pl.DataFrame({"top": [top], "share": [None if reference is None else 100 * reference]})
    layers = [
        alt.Chart(mark).mark_rule(strokeDash=[3, 3]).encode(x=alt.X("top:Q")),
        base.mark_line(interpolate="step-after", strokeWidth=2).encode(x=x, y=y, color=colour, detail="kind:N"),
        base.mark_circle(size=14).encode(x=x, y=y, color=colour, tooltip=tooltip),
        # Above each curve and left of the line is free, but for the lowest one, which has free room below it.
        alt.Chart(named.filter(pl.col("kind") != kinds[-1]))
        .mark_text(align="right", dx=-8, dy=-8, fontSize=11)
        .encode(x=x, y=y, text="told:N"),
        alt.Chart(named.filter(pl.col("kind") == kinds[-1]))
        .mark_text(align="left", dx=8, dy=13, fontSize=11)
        .encode(x=x, y=y, text="told:N"),
    ]
    if reference is not None:
        layers.append(
            alt.Chart(mark)
            .mark_point(shape="diamond", size=70, filled=False, strokeWidth=1.6, color=theme.RIVAL)
            .encode(x="top:Q", y="share:Q", tooltip=[alt.Tooltip("share:Q", title="Published, below")])
        )
    return theme.fitted(alt.layer(*layers), height=300)


def tree(branches: pl.DataFrame) -> alt.LayerChart | alt.FacetChart:
    """The first words of all questions: a column a word, each branch as tall as its share and beside its parent.

    branches: rows of `depth`, `path`, `word`, `questions`, `share`, `start` and `end`. Branches too thin for a line of
    text have none; the tooltip says what they are.
    """
    deepest = int(branches["depth"].max() or 1)  # type: ignore[arg-type]
    frame = branches.with_columns(
        left=pl.col("depth") - 1,
        right=pl.col("depth"),
        middle=(pl.col("start") + pl.col("end")) / 2,
        label=pl.col("word") + " " + (100 * pl.col("share")).round(0).cast(pl.Int64).cast(pl.String) + " %",
        is_rest=pl.col("word") == "…",
    )
    x = alt.X("left:Q", axis=None, scale=alt.Scale(domain=[0, deepest], nice=False))
    y = alt.Y("start:Q", axis=None, scale=alt.Scale(domain=[1, 0], nice=False))
    tooltip = [alt.Tooltip("path:N", title=""), alt.Tooltip("questions:Q", title="Questions")]
    # One hue that fades from word to word: the page swaps the hue in the dark, and opacities stay.
    fade = alt.Opacity("depth:O", legend=None, scale=alt.Scale(domain=[1, 2, 3], range=[0.75, 0.45, 0.25]))
    middle = alt.Y("middle:Q", scale=alt.Scale(domain=[1, 0], nice=False), axis=None)
    named = pl.col("share") * _TREE_HEIGHT >= _LINE
    own, rest = frame.filter(~pl.col("is_rest")), frame.filter(pl.col("is_rest"))
    layers = [
        alt.Chart(own)
        .mark_rect(color=TIER_COLOURS["context"])
        .encode(x=x, x2="right:Q", y=y, y2="end:Q", opacity=fade, tooltip=tooltip),
        alt.Chart(rest).mark_rect(color=theme.RULE).encode(x=x, x2="right:Q", y=y, y2="end:Q", tooltip=tooltip),
        alt.Chart(frame).mark_rule(color=theme.PAPER, strokeWidth=1.2).encode(x=x, x2="right:Q", y=y),
    ]
    for part, ink in ((own, theme.INK), (rest, theme.MUTED)):
        words = alt.Chart(part.filter(named)).mark_text(align="left", baseline="middle", dx=6, fontSize=11, color=ink)
        layers.append(words.encode(x=x, y=middle, text="label:N"))
    return theme.fitted(alt.layer(*layers), height=_TREE_HEIGHT)


def openers(words: pl.DataFrame) -> alt.LayerChart | alt.FacetChart:
    """Share of questions by their first word with intervals; open marks are words that ask nothing by themselves.

    words: rows of `first_word`, `is_interrogative`, estimate, low, high, questions.
    """
    frame = in_points(words.with_row_index("place"), "estimate", "low", "high").with_columns(
        kind=pl.when("is_interrogative").then(pl.lit("interrogative")).otherwise(pl.lit("other"))
    )
    # Sorted by number: in a list of values to sort by, Vega takes the word `if` for its own.
    y = alt.Y("first_word:N", sort=alt.EncodingSortField("place", op="min"), title=None)
    base = alt.Chart(frame)
    kinds = ["interrogative", "other"]
    return theme.fitted(
        alt.layer(
            base.mark_rule(strokeWidth=1.6, color=theme.FIELD).encode(
                x=alt.X("low:Q", title="Share of questions, %", scale=alt.Scale(zero=True)), x2="high:Q", y=y
            ),
            base.mark_point(size=62, strokeWidth=1.8, stroke=theme.FOCUS, filled=True).encode(
                x="estimate:Q",
                y=y,
                fill=alt.Fill(
                    "kind:N",
                    title="First word",
                    scale=alt.Scale(domain=kinds, range=[theme.FOCUS, theme.PAPER]),
                    legend=alt.Legend(symbolStrokeColor=theme.FOCUS, symbolStrokeWidth=1.8, symbolType="circle"),
                ),
                tooltip=[
                    alt.Tooltip("first_word:N", title=""),
                    alt.Tooltip("questions:Q", title="Questions"),
                    alt.Tooltip("estimate:Q", title="%", format=".1f"),
                ],
            ),
        )
    )


def map_of(
    points: pl.DataFrame, *, groups: list[str], group: str = "domain", text: str = "question"
) -> alt.VConcatChart:
    """Questions on a plane, one panel a group: its own in colour, all the others in grey behind them.

    points: rows of x, y, `group` and `text`; like questions lie near each other, the axes mean nothing.
    """
    across = min(_PANELS, len(groups))
    width = theme.panel_width(across, gap=10)
    size = 26 if points.height <= 400 else 7
    placed = points.select("x", "y", group, text)
    behind = alt.Chart(points.select("x", "y"))
    panels = [_panel(behind, placed.filter(pl.col(group) == name), name, text, width, size) for name in groups]
    rows = [alt.hconcat(*panels[first : first + across], spacing=10) for first in range(0, len(panels), across)]
    return alt.vconcat(*rows, spacing=12)


def _panel(
    behind: alt.Chart, own: pl.DataFrame, name: str, text: str, width: int, size: int
) -> alt.LayerChart | alt.FacetChart:
    edge = alt.Scale(domain=[-1.06, 1.06], nice=False)
    x, y = alt.X("x:Q", axis=None, scale=edge), alt.Y("y:Q", axis=None, scale=edge)
    lines = wrap(name, width // _LETTER) or [name]
    text_of = literal(name) if len(lines) == 1 else lines
    title = alt.TitleParams(text_of, fontSize=11, offset=4, anchor="start")
    return alt.layer(
        behind.mark_circle(size=size * 0.6, color=theme.FIELD_SOFT, opacity=1).encode(x=x, y=y),
        alt.Chart(own)
        .mark_circle(size=size, color=theme.FOCUS, opacity=1)
        .encode(x=x, y=y, tooltip=[alt.Tooltip(f"{text}:N", title="")]),
    ).properties(width=width, height=width, title=title, view=alt.ViewConfig(stroke=theme.RULE))
