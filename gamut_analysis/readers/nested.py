"""Rows that hold a list of verdicts each: one record for an answer, one member for a check."""

from typing import Any

import polars as pl

from gamut_analysis.readers import jsonl
from gamut_analysis.readers.delivery import FIELDS, NESTED, Reject, Rows, rows_of_records
from gamut_analysis.readers.manifest import TableSpec

_JUDGE = ("judge", *FIELDS["verdicts"]["judge"])
_CHECK = {"id": "check_id"}
_ANSWER = ["model", "variant", "question_id", "answer", "error"]


def is_nested(rows: Rows) -> bool:
    """Whether each row holds a list of verdicts."""
    return NESTED in rows.frame.columns


def members(rows: Rows, spec: TableSpec) -> Rows:
    """One row for each member of the lists, with the fields of its record where it has none of its own.

    An error of a record that names its judge is the judge's, and holds for all verdicts of the record; otherwise it is
    the answer's, and no concern of the verdicts.
    """
    records: list[dict[str, Any]] = []
    numbers: list[int] = []
    rejects = list(rows.rejects)
    error = _error_column(rows, spec)
    kept = rows.frame.drop(NESTED, *([] if _names_judge(rows, spec) else [error]), strict=False)
    for record, text, number in zip(kept.iter_rows(named=True), rows.frame[NESTED], rows.numbers, strict=True):
        found, bad = _members(text)
        rejects.extend(Reject(number, NESTED, value, reason) for value, reason in bad)
        records.extend({**record, **_own(member, spec)} for member in found)
        numbers.extend([number] * len(found))
        if record.get(error) and not found:
            rejects.append(Reject(number, error, record[error], "the judge failed, and the record has no verdicts"))
    return rows_of_records(records, numbers, rows.rows_read, rejects)


def answers(rows: Rows, spec: TableSpec) -> Rows:
    """The records without their lists: the answers, so that one without verdicts is still known."""
    judges_error = [_error_column(rows, spec)] if _names_judge(rows, spec) else []
    return Rows(rows.frame.drop(NESTED, *judges_error, strict=False), rows.numbers, 0)


def once(frame: pl.DataFrame) -> pl.DataFrame:
    """Answers of nested records once each: several judges make several records of one answer."""
    return frame.unique(_ANSWER, keep="first", maintain_order=True)


def _names_judge(rows: Rows, spec: TableSpec) -> bool:
    return any(name in rows.frame.columns for name in (*spec.columns.get("judge", ()), *_JUDGE))


def _error_column(rows: Rows, spec: TableSpec) -> str:
    return spec.columns.get("error", ("error",))[0]


def _own(member: dict[str, Any], spec: TableSpec) -> dict[str, Any]:
    """The fields of a member that have a value; an ``id`` there is the check's, unless the manifest says otherwise."""
    named = member if "check_id" in spec.columns else {_CHECK.get(name, name): value for name, value in member.items()}
    return {name: value for name, value in named.items() if value is not None}


def _members(text: str | None) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """The members of one list, and what of it cannot be used, with the reason."""
    if text is None:
        return [], []
    try:
        content = jsonl.decode(text.encode())
    except ValueError as error:
        return [], [(text, f"not valid JSON ({error})")]
    if isinstance(content, dict):
        content = [_keyed(check_id, value) for check_id, value in content.items()]
    if not isinstance(content, list):
        return [], [(text, "a list of objects, one a check, is needed")]
    bad = [(str(member), "an object is needed for each check") for member in content if not isinstance(member, dict)]
    return [member for member in content if isinstance(member, dict)], bad


def _keyed(check_id: str, value: Any) -> Any:
    """A member of an object whose keys are checks: its fields, or its label alone."""
    if isinstance(value, dict):
        return {"check_id": check_id, **value}
    return {"check_id": check_id, "verdict": value} if isinstance(value, str) else value
