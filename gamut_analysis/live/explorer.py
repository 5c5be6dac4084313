"""Every question of one model, to be filtered and opened: the rubric, each judge's verdicts and reasons, the answer.

The page holds every verdict; it holds every text too, as long as they fit. Where they do not, the texts of the
costliest questions are kept and the page says how many.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any, ClassVar

import polars as pl

from gamut_analysis.display import (
    DASH,
    LAB_STYLE,
    NUMBERS,
    Table,
    format_count,
    format_points,
    plain,
    points,
    table_html,
    text,
    tier,
    verdict,
)
from gamut_analysis.live import LIVE
from gamut_analysis.vocabulary import (
    ITEM_TYPE_LABELS,
    ITEM_TYPES,
    ROLE_LABELS,
    ROLES,
    TIER_LABELS,
    TIERS,
    VERDICT_LABELS,
    VERDICTS,
)

BUDGET = 11_000_000  # bytes of text, so that a page stays below 15 MB
LAB_BUDGET = 1_000_000  # so that a notebook, which holds them twice, stays small
OPENED = 12  # questions that are written out without a script
_NO_VERDICT = "."
# What is written with five bytes more in a script element, and with one more in JSON.
_SCRIPT, _JSON = "[<>&]", r'["\\\n\r\t]'


@dataclass(frozen=True)
class Explorer:
    """The questions of one model with all that is known of their grading, the costliest first.

    questions: a row a question with question_id, question, domain, score, reason (why there is no score) and answer,
    in the order to be shown. checks: question_id, check_id, text, tier, role, item_id, item_type, item (its
    description) and cost (the points of the question's score that it takes), in the order of the rubric. said: judge,
    replicate, question_id, check_id, verdict and note (the reason that the judge gave, or why there is no verdict).
    judges: display names by judge, first the one that the scores are by. budget: bytes of text to hold.
    """

    name: str
    questions: pl.DataFrame
    checks: pl.DataFrame
    said: pl.DataFrame
    judges: Mapping[str, str]
    budget: int = BUDGET

    SAID: ClassVar[tuple[str, ...]] = ("judge", "replicate", "question_id", "check_id", "verdict", "note")

    @cached_property
    def raters(self) -> list[tuple[str, int]]:
        """Each judge with each of its gradings, in the order of ``judges``."""
        place = {judge: number for number, judge in enumerate(self.judges)}
        given = self.said.select("judge", "replicate").unique().rows()
        return sorted(given, key=lambda rater: (place[rater[0]], rater[1]))

    @property
    def rater_names(self) -> list[str]:
        """What stands above the verdicts of each rater; gradings of one judge are numbered."""
        several = self.said["replicate"].n_unique() > 1
        return [self.judges[judge] + (f" · {replicate + 1}" if several else "") for judge, replicate in self.raters]

    @property
    def in_lab(self) -> "Explorer":
        """The same questions with the texts of fewer of them."""
        return replace(self, budget=min(self.budget, LAB_BUDGET))

    # The page -------------------------------------------------------------------------------------------------------

    def data(self) -> dict[str, Any]:
        """What the page's script reads: columns of codes, and each text once."""
        placed = self._placed()
        texts, notes = self._kept(placed)
        book = _Book()
        checks = placed.filter(pl.col("number") < texts)
        items = checks.select("number", "group", "item", "item_type").unique(["number", "group"], maintain_order=True)
        return {
            "judges": self.rater_names,
            "verdicts": list(VERDICT_LABELS.values()),
            "tiers": list(TIER_LABELS.values()),
            "roles": [ROLE_LABELS[role] for role in ROLES],
            "types": [ITEM_TYPE_LABELS[kind] for kind in ITEM_TYPES],
            **self._question_columns(notes),
            "checks": {
                "size": _sizes(placed, self.questions.height),
                "group": placed["group"].to_list(),
                "tier": _codes(placed["tier"], TIERS),
                "role": _codes(placed["role"], ROLES),
                "cost": book.codes(placed["cost"].to_list()),
                "text": book.codes(checks["text"].to_list()),
            },
            "items": {
                "size": _sizes(items, texts),
                "text": book.codes(items["item"].to_list()),
                "type": _codes(items["item_type"], ITEM_TYPES),
            },
            "said": [self._marks(placed, rater) for rater in self.raters],
            "notes": [self._notes(placed, rater, notes, book) for rater in self.raters],
            "kept": {"texts": texts, "notes": notes},
            "book": book.entries,
        }

    def _question_columns(self, notes: int) -> dict[str, Any]:
        domains = sorted(self.questions["domain"].drop_nulls().unique())
        return {
            "domains": domains,
            "questions": {
                "id": self.questions["question_id"].to_list(),
                "text": self.questions["question"].to_list(),
                "domain": _codes(self.questions["domain"], domains),
                "score": plain(self.questions["score"]),
                "reason": self.questions["reason"].to_list(),
                "answer": self.questions["answer"].head(notes).to_list(),
            },
        }

    def _placed(self) -> pl.DataFrame:
        """The checks question by question, with the numbers of their question and, within it, of their item."""
        asked = self.questions.select("question_id").with_row_index("number")
        placed = self.checks.join(asked, on="question_id", maintain_order="left").sort("number", maintain_order=True)
        item = pl.col("item_id").fill_null("")
        changed = (item != item.shift().over("number")).fill_null(True)
        group = changed.cast(pl.Int32).cum_sum().over("number") - 1
        return placed.with_columns(group.alias("group")).with_row_index("place")

    def _kept(self, placed: pl.DataFrame) -> tuple[int, int]:
        """How many questions keep the texts of their rubric, and how many their reasons and answers too."""
        asked = self.questions.with_row_index("number")
        every = int(_bytes(asked, "question", "question_id", "reason")["bytes"].sum())
        rubric = self._sizes_of(_bytes(placed, "text", "item"))
        reasons = self._sizes_of(_bytes(self._noted(placed), "note"))
        answers = self._sizes_of(_bytes(asked, "answer"))
        texts = _fitting(rubric, self.budget - every)
        left = self.budget - every - sum(rubric[:texts])
        notes = _fitting([a + b for a, b in zip(reasons, answers, strict=True)], left)
        return texts, min(texts, notes)

    def _sizes_of(self, rows: pl.DataFrame) -> list[int]:
        """The bytes of each question."""
        summed = dict(rows.group_by("number").agg(pl.col("bytes").sum()).iter_rows())
        return [summed.get(number, 0) for number in range(self.questions.height)]

    def _noted(self, placed: pl.DataFrame) -> pl.DataFrame:
        """What was said with a reason, in the order of the checks."""
        where = placed.select("question_id", "check_id", "number", "place")
        return self.said.drop_nulls("note").join(where, on=["question_id", "check_id"]).sort("place")

    def _marks(self, placed: pl.DataFrame, rater: tuple[str, int]) -> str:
        """The verdicts of one rater, a character a check."""
        own = self._of(self.said, rater).select("question_id", "check_id", "verdict")
        given = placed.join(own, on=["question_id", "check_id"], how="left", maintain_order="left")["verdict"]
        digits = {name: str(code) for code, name in enumerate(VERDICTS)}
        return "".join(digits.get(name, _NO_VERDICT) for name in given.cast(pl.String))

    def _notes(self, placed: pl.DataFrame, rater: tuple[str, int], kept: int, book: "_Book") -> dict[str, list[int]]:
        """The reasons of one rater: the checks that have one, and which."""
        rows = self._of(self._noted(placed), rater).filter(pl.col("number") < kept)
        return {"at": rows["place"].to_list(), "text": book.codes(rows["note"].to_list())}

    @staticmethod
    def _of(said: pl.DataFrame, rater: tuple[str, int]) -> pl.DataFrame:
        return said.filter(judge=rater[0], replicate=rater[1])

    # Without a script -----------------------------------------------------------------------------------------------

    def html(self) -> str:
        """The costliest questions written out and the others in a table; all that comes from data is escaped."""
        opened = "".join(self._question(row) for row in self.questions.head(OPENED).iter_rows(named=True))
        return f'<div class="gamut-opened">{opened}</div>{self._others()}'

    def _others(self) -> str:
        if self.questions.height <= OPENED:
            return ""
        columns = {"question": text("Question", sub="question_id"), "score": points("Score", reason="reason")}
        if self.questions["domain"].null_count() < self.questions.height:
            columns["domain"] = text("Domain")
        shown = self.questions.with_columns(question=pl.coalesce("question", "question_id"))
        title = f"The scores of all {format_count(self.questions.height)} questions"
        return _folded(title, table_html(Table("scores", shown, columns)))

    def _question(self, row: Mapping[str, Any]) -> str:
        place = f"{escape(row['domain'])} · " if row["domain"] else ""
        head = (
            f'<summary><span class="value">{_score(row)}</span> {escape(row["question"] or row["question_id"])}'
            f"<small>{place}{escape(row['question_id'])}</small></summary>"
        )
        reason = f'<p class="gamut-note">No score: {escape(row["reason"])}.</p>' if row["reason"] else ""
        answer = _folded("The answer", f'<div class="answer">{escape(row["answer"])}</div>') if row["answer"] else ""
        table = self._table(row["question_id"])
        rubric = table_html(table) if table.frame.height else "<p>The rubric has no checks.</p>"
        return f"<details>{head}{reason}{answer}{rubric}</details>"

    def _table(self, question_id: str) -> Table:
        """The rubric of one question as a table: a check a row, its item beneath it, a verdict and a note a rater."""
        own = self.checks.filter(question_id=question_id)
        role = pl.col("role").cast(pl.String).replace(ROLE_LABELS)
        kind = pl.col("item_type").cast(pl.String).replace(ITEM_TYPE_LABELS)
        frame = own.with_columns(pl.concat_str(role, kind, "item", separator=" · ", ignore_nulls=True).alias("part"))
        columns = {"text": text("Check", sub="part"), "tier": tier(), "cost": points("Cost")}
        for number, (rater, label) in enumerate(zip(self.raters, self.rater_names, strict=True)):
            named = (
                self._of(self.said, rater)
                .filter(question_id=question_id)
                .select(
                    "check_id", pl.col("verdict").alias(f"verdict_{number}"), pl.col("note").alias(f"note_{number}")
                )
            )
            frame = frame.join(named, on="check_id", how="left", maintain_order="left")
            columns[f"verdict_{number}"] = verdict(label, sub=f"note_{number}")
        return Table("checks", frame, columns)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        scores = self.questions.select("question_id", "score", "reason").to_dicts()
        first = self.questions.head(OPENED).iter_rows(named=True)
        shown = "\n".join(f"{_score(row):>6}  {row['question'] or row['question_id']}" for row in first)
        data = {
            LIVE: {"component": "explorer", "name": self.name, "data": self.data()},
            "text/html": LAB_STYLE + self.html(),
            NUMBERS: {"name": self.name, "kind": "questions", "rows": plain(scores)},
            "text/plain": f"{format_count(self.questions.height)} questions, the costliest first\n{shown}",
        }
        return data, {"gamut": {"kind": "questions", "name": self.name}}


class _Book:
    """Texts and numbers that are written once and named by their place; None is 0."""

    def __init__(self) -> None:
        self.entries: list[Any] = [None]
        self._places: dict[Any, int] = {None: 0}

    def codes(self, values: Sequence[Any]) -> list[int]:
        """The places of the values."""
        return [self._place(value) for value in values]

    def _place(self, value: Any) -> int:
        if value not in self._places:
            self._places[value] = len(self.entries)
            self.entries.append(value)
        return self._places[value]


def _codes(values: pl.Series, known: Sequence[str]) -> list[int]:
    """The place of each value among the known ones; -1 where there is none."""
    places = {name: place for place, name in enumerate(known)}
    return [places.get(value, -1) for value in values.cast(pl.String)]


def _sizes(rows: pl.DataFrame, questions: int) -> list[int]:
    """How many rows each question has."""
    counted = dict(rows.group_by("number").len().iter_rows())
    return [counted.get(number, 0) for number in range(questions)]


def _bytes(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """The frame with the bytes that the texts of each row take in the page."""
    texts = [pl.col(name).str for name in columns]
    sizes = [t.len_bytes() + 5 * t.count_matches(_SCRIPT) + t.count_matches(_JSON) for t in texts]
    return frame.with_columns(pl.sum_horizontal(size.cast(pl.Int64).fill_null(0) for size in sizes).alias("bytes"))


def _fitting(sizes: Sequence[int], budget: int) -> int:
    """How many of the first sizes stay within the budget together."""
    for number, size in enumerate(sizes):
        budget -= size
        if budget < 0:
            return number
    return len(sizes)


def _folded(title: str, html: str) -> str:
    return f"<details><summary>{title}</summary>{html}</details>"


def _score(row: Mapping[str, Any]) -> str:
    return DASH if row["score"] is None else format_points(row["score"])
