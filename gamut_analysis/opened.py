"""Questions that a reader can open: the text, and every check with each judge's verdict and reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import polars as pl

from gamut_analysis.display import NUMBERS, Table, format_points, plain, table_html, text, tier, verdict

_VERDICT = "verdict_{}"
_REASON = "reason_{}"


@dataclass(frozen=True)
class Opened:
    """A list of questions, each closed until it is opened.

    questions: rows of question_id, question, domain, score and lost, in the order to be shown. checks: by question id,
    rows of judge, check_id, tier, role, text, verdict, rationale and ungraded_reason. judges: display names by judge.
    """

    name: str
    questions: pl.DataFrame
    checks: Mapping[str, pl.DataFrame]
    judges: Mapping[str, str]

    def html(self) -> str:
        """The list; all that comes from data is escaped."""
        rows = list(self.questions.iter_rows(named=True))
        return f'<div class="gamut-opened" id="opened-{self.name}">{"".join(self._question(row) for row in rows)}</div>'

    def _question(self, row: Mapping[str, Any]) -> str:
        question = escape(row["question"] or row["question_id"])
        place = f"{escape(row['domain'])} · " if row["domain"] else ""
        head = (
            f'<summary><span class="value">{format_points(row["score"])}</span> {question}'
            f"<small>{place}{escape(row['question_id'])}</small></summary>"
        )
        table = self._table(row["question_id"])
        return f"<details>{head}{table_html(table) if table else '<p>No check was graded.</p>'}</details>"

    def _table(self, question_id: str) -> Table | None:
        checks = self.checks.get(question_id)
        if checks is None or checks.is_empty():
            return None
        columns = {"text": text("Check", sub="role_label"), "tier": tier()}
        for number, name in enumerate(self._present(checks)):
            columns[_VERDICT.format(number)] = verdict(self.judges[name], sub=_REASON.format(number))
        return Table("checks", self._wide(checks), columns)

    def _present(self, checks: pl.DataFrame) -> Sequence[str]:
        seen = set(checks["judge"].to_list())
        return [judge for judge in self.judges if judge in seen]

    def _wide(self, checks: pl.DataFrame) -> pl.DataFrame:
        """One row a check, a verdict and a reason for each judge; of replicates the first."""
        frame = checks.unique("check_id", keep="first", maintain_order=True).select(
            "check_id", "text", "tier", pl.col("role").cast(pl.String).str.replace_all("_", " ").alias("role_label")
        )
        for number, judge in enumerate(self._present(checks)):
            own = checks.filter(judge=judge).unique("check_id", keep="first", maintain_order=True)
            reason = pl.coalesce("ungraded_reason", "rationale").alias(_REASON.format(number))
            frame = frame.join(
                own.select("check_id", pl.col("verdict").alias(_VERDICT.format(number)), reason),
                on="check_id",
                how="left",
                maintain_order="left",
            )
        return frame

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        numbers = {"name": self.name, "kind": "questions", "rows": plain(self.questions.to_dicts())}
        shown = "\n".join(
            f"{format_points(row['score'])}  {row['question']}" for row in self.questions.iter_rows(named=True)
        )
        data = {"text/html": self.html(), NUMBERS: numbers, "text/plain": shown}
        return data, {"gamut": {"kind": "questions", "name": self.name}}
