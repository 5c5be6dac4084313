"""Numbers of questions and judges under the reader's hand, and the gap between two models that they would show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from gamut_analysis.display import LAB_STYLE, NUMBERS, Table, plain, table_html, table_text
from gamut_analysis.live import LIVE


@dataclass(frozen=True)
class Design:
    """What numbers of questions and judges that the reader sets would show.

    error: the variances behind a difference of two models, which is 2 (question / n + judge / k + both / (n k)) with n
    questions and k judges. pairs: ``name_a``, ``name_b``, ``estimate``, ``spread`` (the variance of their difference
    over questions) of every pair, the upper model first. factors: how many standard errors a gap must have to be found,
    by the kind of test. questions, judges: the numbers to choose from. asked: how many questions there are. settings:
    a few settings as a table, which stands in where no script runs.
    """

    name: str
    error: Mapping[str, float]
    pairs: pl.DataFrame
    factors: Mapping[str, float]
    questions: Sequence[int]
    judges: Sequence[int]
    asked: int
    judge: str
    settings: Table

    def data(self) -> dict[str, Any]:
        """What the page's script reads: a few numbers, and two for every pair of models."""
        models = list(dict.fromkeys([*self.pairs["name_a"], *self.pairs["name_b"]]))
        place = {name: number for number, name in enumerate(models)}
        return {
            "models": models,
            "pairs": {
                "a": [place[name] for name in self.pairs["name_a"]],
                "b": [place[name] for name in self.pairs["name_b"]],
                "gap": self.pairs["estimate"].to_list(),
                "spread": self.pairs["spread"].to_list(),
            },
            "error": dict(self.error),
            "tests": list(self.factors),
            "factors": list(self.factors.values()),
            "questions": list(self.questions),
            "judges": list(self.judges),
            "asked": self.asked,
            "judge": self.judge,
        }

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        data = {
            LIVE: {"component": "design", "name": self.name, "data": self.data()},
            "text/html": LAB_STYLE + table_html(self.settings),
            NUMBERS: {"name": self.name, "kind": "design", "rows": plain(self.settings.frame.to_dicts())},
            "text/plain": table_text(self.settings),
        }
        return data, {"gamut": {"kind": "design", "name": self.name, **self.settings.about}}
