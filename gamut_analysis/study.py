"""One database seen through one judge and one variant: the frames that every notebook starts from."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from gamut_analysis import datasets, tables
from gamut_analysis.errors import UnknownName
from gamut_analysis.scoring import Scoring
from gamut_analysis.vocabulary import VARIANTS

REFERENCE_JUDGE = "gemini-3.1-pro"  # the judge of the paper's tables
_NEAREST = 5


@dataclass(frozen=True)
class Study:
    """What a notebook is about: a database, a judge, a variant and, where there is one, a model.

    database: path of the DuckDB file; empty for the data that ships. judge, variant: empty for the data's own
    default. Names are checked at once: UnknownName lists the nearest known ones. Frames are read when first asked for.
    """

    database: str | Path = ""
    model: str = ""
    judge: str = ""
    variant: str = ""
    seed: int = 0
    scoring: Scoring = field(default_factory=Scoring)

    def __post_init__(self) -> None:
        path = Path(self.database) if str(self.database) else datasets.database_of()
        object.__setattr__(self, "database", path)
        object.__setattr__(self, "variant", self.variant or self._default_variant())
        object.__setattr__(self, "judge", self.judge or self._default_judge())
        _known("variant", self.variant, VARIANTS)
        _known("variant", self.variant, self.coverage["variant"].unique().to_list())
        _known("judge", self.judge, self.judges["judge"].to_list())
        if self.model:
            _known("model", self.model, self.models["model"].to_list())

    @property
    def path(self) -> Path:
        """The database file."""
        return Path(self.database)

    def relation(self, name: str, **where: str | Sequence[str]) -> pl.DataFrame:
        """One relation of the database, whole or where columns have the given values."""
        return tables.read(self.path, name, where=dict(where) or None)

    @cached_property
    def dataset(self) -> dict[str, Any]:
        """What the data is: name, title, simulated or not, assumptions, versions."""
        return self.relation("dataset").row(0, named=True)

    @cached_property
    def sources(self) -> pl.DataFrame:
        """The files that were read."""
        return self.relation("sources")

    @cached_property
    def models(self) -> pl.DataFrame:
        """The models that answered."""
        return self.relation("models")

    @cached_property
    def judges(self) -> pl.DataFrame:
        """The judges that graded."""
        return self.relation("judges")

    @cached_property
    def questions(self) -> pl.DataFrame:
        """The questions of this variant."""
        return self.relation("questions", variant=self.variant)

    @cached_property
    def checks(self) -> pl.DataFrame:
        """The checks of this variant."""
        return self.relation("checks", variant=self.variant)

    @cached_property
    def coverage(self) -> pl.DataFrame:
        """What was asked and graded, by model, judge and variant."""
        return self.relation("coverage")

    @cached_property
    def counts(self) -> pl.DataFrame:
        """Verdict counts of every judge and variant."""
        return self.relation("verdict_counts")

    @cached_property
    def role_counts(self) -> pl.DataFrame:
        """Verdict counts of this judge and variant by tier and role."""
        return tables.tier_role_counts(self.path, variant=self.variant, judge=self.judge)

    @cached_property
    def scores(self) -> pl.DataFrame:
        """Question scores of every judge and variant."""
        return self.scoring.questions(self.counts)

    @cached_property
    def all_questions(self) -> pl.DataFrame:
        """The questions of every variant."""
        return self.relation("questions")

    @cached_property
    def matched_scores(self) -> pl.DataFrame:
        """Multimodal scores of this judge on the checks that the text-only rubric has too."""
        return self.scoring.questions(tables.matched_counts(self.path, judge=self.judge))

    @cached_property
    def own_counts(self) -> pl.DataFrame:
        """Verdict counts of this judge and variant."""
        return self.counts.filter(judge=self.judge, variant=self.variant)

    @cached_property
    def own_scores(self) -> pl.DataFrame:
        """Question scores of this judge and variant."""
        return self.scores.filter(judge=self.judge, variant=self.variant)

    @cached_property
    def names(self) -> dict[str, str]:
        """Display names of models."""
        return dict(self.models.select("model", "name").iter_rows())

    @property
    def model_name(self) -> str:
        """Display name of the model that the study is about."""
        return self.names[self.model]

    @property
    def judge_name(self) -> str:
        """Display name of the judge."""
        return str(self.judges.filter(judge=self.judge)["name"].item())

    def _default_variant(self) -> str:
        present = self.coverage["variant"].unique().to_list()
        return next((variant for variant in VARIANTS if variant in present), VARIANTS[0])

    def _default_judge(self) -> str:
        """The data's own default, else the paper's reference judge, else the one that graded the most checks."""
        graded = self.coverage.filter(variant=self.variant).group_by("judge").agg(pl.col("checks_graded").sum())
        ranked = graded.sort("checks_graded", "judge", descending=[True, False])["judge"].to_list()
        wanted = (self.dataset["default_judge"], REFERENCE_JUDGE, *ranked)
        return next((judge for judge in wanted if judge in ranked), "")


def _known(kind: str, given: str, known: Sequence[str]) -> None:
    if given in known:
        return
    near = difflib.get_close_matches(given, known, n=_NEAREST, cutoff=0.4)
    hint = f"the nearest: {', '.join(near)}; " if near else ""
    raise UnknownName(f"no {kind} {given!r} in this data; {hint}all: {', '.join(sorted(known))}")
