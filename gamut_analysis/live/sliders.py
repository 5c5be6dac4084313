"""The constants of the score under the reader's hand: lambda, mu and the weights, and the ranking that they make.

The page's script scores every model anew from ``sensitivity.score_cells``, exactly, at every move of a slider.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from gamut_analysis.display import LAB_STYLE, NUMBERS, Table, plain, table_html, table_text
from gamut_analysis.live import LIVE
from gamut_analysis.scoring import Scoring
from gamut_analysis.vocabulary import TIER_LABELS, TIERS

_CELL = ("others", "contradicted")


@dataclass(frozen=True)
class Sliders:
    """The ranking of some models under constants that the reader sets.

    cells: from ``sensitivity.score_cells``. names: display names by model. scoring: where the sliders start, and what
    changes are told against. settings: a few settings as a table, which stands in where no script runs. focus: the
    model to be shown in colour, if any.
    """

    name: str
    cells: pl.DataFrame
    names: Mapping[str, str]
    scoring: Scoring
    settings: Table
    focus: str = ""

    def data(self) -> dict[str, Any]:
        """What the page's script reads: the sums of ``score_cells``, with each pair of counts and each model once."""
        models = self.cells["model"].unique().sort().to_list()
        pairs = self.cells.select(_CELL).unique().sort(_CELL).with_row_index("cell")
        rows = self.cells.join(pairs, on=_CELL, maintain_order="left")
        place = {model: number for number, model in enumerate(models)}
        return {
            "models": [self.names[model] for model in models],
            "focus": place.get(self.focus, -1),
            "tiers": list(TIER_LABELS.values()),
            "default": {key: value for key, value in asdict(self.scoring).items() if key != "min_coverage"},
            "isPapers": self.scoring.is_default,
            "questions": rows["n"].max() or 0,
            "cells": {name: pairs[name].to_list() for name in _CELL},
            "rows": {
                "model": [place[model] for model in rows["model"]],
                "tier": [TIERS.index(tier) for tier in rows["tier"]],
                **{name: rows[name].to_list() for name in ("pattern", "cell", "meets", "partially_meets", "answers")},
            },
        }

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        data = {
            LIVE: {"component": "sliders", "name": self.name, "data": self.data()},
            "text/html": LAB_STYLE + table_html(self.settings),
            NUMBERS: {"name": self.name, "kind": "sliders", "rows": plain(self.settings.frame.to_dicts())},
            "text/plain": table_text(self.settings),
        }
        return data, {"gamut": {"kind": "sliders", "name": self.name, **self.settings.about}}
