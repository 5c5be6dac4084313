"""Parts of a whole: verdict shares of a field of models, and where one model's points go."""

from typing import Any

import altair as alt
import polars as pl

from gamut_analysis.charts import theme
from gamut_analysis.charts.literals import quoted
from gamut_analysis.charts.units import in_points
from gamut_analysis.vocabulary import TIER_LABELS, VERDICT_COLOURS, VERDICT_LABELS, VERDICTS


def verdict_shares(
    shares: pl.DataFrame, *, order: list[str], name: str = "name", focus: str | None = None
) -> alt.LayerChart | alt.FacetChart:
    """Shares of the four verdicts as stacked bars, one a model, in the given order; the focus model's name is bold.

    shares: rows of `name`, `verdict` and `share` of all checks.
    """
    frame = in_points(shares, "share").with_columns(
        label=pl.col("verdict").cast(pl.String).replace_strict(VERDICT_LABELS),
        place=pl.col("verdict")
        .cast(pl.String)
        .replace_strict({v: i for i, v in enumerate(VERDICTS)}, return_dtype=pl.Int32),
    )
    frame = stacked(frame, "share", by=name)
    weight: Any = "normal"
    if focus is not None:
        weight = alt.condition(f"datum.value === ({quoted(focus)})", alt.value("bold"), alt.value("normal"))
    y = alt.Y(f"{name}:N", sort=order, title=None, axis=alt.Axis(labelFontWeight=weight))
    colour = alt.Color(
        "label:N",
        title=None,
        sort=list(VERDICT_LABELS.values()),
        scale=alt.Scale(domain=list(VERDICT_LABELS.values()), range=list(VERDICT_COLOURS.values())),
    )
    base = alt.Chart(frame)
    bars = base.mark_bar(stroke=theme.PAPER, strokeWidth=0.6).encode(
        x=alt.X("start:Q", title="Share of all checks, %", scale=alt.Scale(domain=[0, 100])),
        x2="end:Q",
        y=y,
        color=colour,
        tooltip=[
            alt.Tooltip(f"{name}:N", title=""),
            alt.Tooltip("label:N", title="Verdict"),
            alt.Tooltip("share:Q", title="%", format=".1f"),
        ],
    )
    return theme.fitted(bars)


def stacked(rows: pl.DataFrame, value: str, *, by: str) -> pl.DataFrame:
    """The rows in the order of `place`, with `start` and `end` of each part of a bar.

    Vega's own stack looks names up among what JavaScript's objects inherit, and draws no bar called `constructor`.
    """
    end = pl.col(value).fill_null(0).cum_sum().over(by)
    return rows.sort("place").with_columns(start=end - pl.col(value).fill_null(0), end=end)


def waterfall(losses: pl.DataFrame, *, score: float) -> alt.LayerChart | alt.FacetChart:
    """From 100 points down to the score: what partial, missing and contradicted checks of each tier cost.

    losses: rows of `verdict`, `tier` and `estimate` (each >= 0), which add up to 1 - score.
    """
    score = 100 * score
    lost = losses.with_columns(points=pl.col("estimate") * 100)
    steps = lost.with_columns(
        step=pl.col("tier").cast(pl.String).replace_strict(TIER_LABELS)
        + " · "
        + pl.col("verdict").cast(pl.String).replace_strict(VERDICT_LABELS),
        verdict_label=pl.col("verdict").cast(pl.String).replace_strict(VERDICT_LABELS),
        end=100 - pl.col("points").cum_sum(),
    ).with_columns(start=pl.col("end") + pl.col("points"))
    frame = pl.concat(
        [
            _whole("Complete answer", 0.0, 100.0),
            steps.select("step", "verdict_label", "start", "end", "points"),
            _whole("Score", min(score, 0.0), max(score, 0.0)).with_columns(points=pl.lit(score)),
        ],
        how="vertical_relaxed",
    )
    domain = [*VERDICT_LABELS.values(), "whole"]
    colours = [*VERDICT_COLOURS.values(), theme.FOCUS]
    y = alt.Y("step:N", sort=frame["step"].to_list(), title=None)
    base = alt.Chart(frame.with_columns(label_at=pl.max_horizontal("start", "end")))
    bars = base.mark_bar(height=13).encode(
        x=alt.X("start:Q", title="Points", scale=alt.Scale(zero=True)),
        x2="end:Q",
        y=y,
        color=alt.Color("verdict_label:N", legend=None, scale=alt.Scale(domain=domain, range=colours)),
        tooltip=[alt.Tooltip("step:N", title=""), alt.Tooltip("points:Q", title="Points", format=".1f")],
    )
    text = base.mark_text(align="left", dx=5).encode(x="label_at:Q", y=y, text=alt.Text("points:Q", format=".1f"))
    return theme.fitted(alt.layer(bars, text))


def _whole(step: str, start: float, end: float) -> pl.DataFrame:
    return pl.DataFrame(
        {"step": [step], "verdict_label": ["whole"], "start": [start], "end": [end], "points": [end - start]}
    )
